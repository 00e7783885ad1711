"""Shapes of rules: a curve for each feature, a map for each pair, the most important first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, Interaction, cell_edges, is_supported, kept_rows, read_shapes
from ferl._sklearn import encode_rows
from ferl._tables import with_derived
from ferl._tell.curves import corner_text
from ferl._tell.statements import reader_names, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import category_text, class_colours, has_words, value_text
from ferl.plot.canvas import (
    FAINT,
    INK,
    PALE,
    Side,
    bare,
    check_least,
    class_patches,
    draw_map,
    drawn_feature,
    plain,
    require_matplotlib,
    shortened,
    write_categories,
    write_values,
)
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = 3.3, 2.5  # inches
_MOST_COLUMNS = 4
_MAX_CATEGORIES = 24
_N_STEPS = 80  # values of a number that a map is computed for
_N_NAMED = 3  # lines of a curve of many classes that are named beside it
_MAX_POINTS = 500  # rows on a map
_PALER = 0.35  # cells of a map without training rows, beside others
_STRENGTH = 0.85  # of a class's colour where a map is strongest


def plot_shapes(
    estimator: FERLClassifier,
    *,
    features: Sequence[int | str] | None = None,
    max_features: int = 12,
    X: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    figure: Figure | None = None,
) -> Figure:
    """What rules add for every feature, and for features together.

    A curve is the sum of all rules on a feature and of its learned curve, minus their average over the training rows:
    above zero a value supports a class more than the average row does. Dots are the corners of rules, between which the
    curve is straight; learned curves are steps. Categories are bars, or dots for several classes. With two classes the
    curve shows the log-odds of the second class, filled with the colour of the class that a value supports. The grey
    bars below show the density of the rows.

    A map is the sum of the rules and the learned map on two features: white where they add nothing, otherwise the
    colour of the class that it supports, paler in cells of a learned map without training rows. Rules on three
    features are drawn where the third one has the value named in the title.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    features : sequence of int or str, default=None
        Draw only curves and maps of these features, by number or name, alone or together with others. None: all.
    max_features : int, default=12
        Largest number of curves and maps, the most important first.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows whose density is drawn. None: the training rows that the model keeps. For a large table these rows are
        chosen to cover the others, so unusual rows are more frequent among them than among all rows.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    figure : matplotlib Figure, default=None
        Where to draw; by default a new one.

    Returns
    -------
    matplotlib Figure
        With one Axes for each curve and map.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_shapes
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(max_conditions=1, random_state=0).fit(X, y)
    >>> figure = plot_shapes(clf, figure=Figure())
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['x2', 'x3', 'x1', 'x0']
    """
    model = model_of(estimator, "plot_shapes", RuleModel, "ferl.plot_tree")
    names, labels = reader_names(model, feature_names, class_names)
    check_least("max_features", max_features)
    known = read_shapes(model).all
    wished = {drawn_feature(model, feature, names) for feature in (() if features is None else features)}
    shapes = [item for item in known if features is None or wished & set(map(model.feature_of, item.features))]
    if not shapes:
        asked = sorted({names[model.feature_of(f)] for shape in known for f in shape.features})
        remedy = f"Choose among {', '.join(asked[:20])}." if asked else "The model has no rules at all."
        raise ValueError(f"No rule reads these features. {remedy}")
    rows = kept_rows(model)
    if X is not None:
        rows = with_derived(encode_rows(estimator, model.schema, X), model.derived)
    require_matplotlib("plot_shapes")
    drawn = shapes[:max_features]
    n_columns = min(_MOST_COLUMNS, len(drawn))
    n_lines = -(-len(drawn) // n_columns)
    if figure is None:
        from matplotlib import pyplot

        size = _PANEL[0] * n_columns, _PANEL[1] * n_lines + 0.6
        figure = pyplot.figure(figsize=size, layout="constrained")
    sheet = _Sheet(model, names, [plain(label) for label in labels], class_colours(len(labels)), rows, drawn)
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for ax, shape in zip(panels, drawn, strict=False):
        sheet.draw(ax, shape)
    for ax in panels[len(drawn) :]:
        ax.remove()
    part = f" (the {len(drawn)} most important of {len(shapes)} curves and maps)" * (len(drawn) < len(shapes))
    sheet.draw_legend(figure, f"Supports{part}")
    return figure


@dataclass(frozen=True, eq=False)
class _Sheet:
    """What all panels share: the model, names, colours, the rows whose density is drawn, and the scale."""

    model: RuleModel
    names: list[str]
    labels: list[str]
    colours: list[str]
    rows: Floats
    shapes: list[Curve | Interaction]

    @cached_property
    def reach(self) -> float:
        """The largest weight of a curve, which the scale of all of them fits."""
        curves = [shape for shape in self.shapes if isinstance(shape, Curve)]
        return max((float(np.abs(self.lines(curve.evidence - curve.mean)).max()) for curve in curves), default=1.0)

    @cached_property
    def strongest(self) -> float:
        """The largest difference of two classes on a map."""
        maps = [shape for shape in self.shapes if isinstance(shape, Interaction)]
        return max((float(np.ptp(shape.grid(), axis=-1).max()) for shape in maps), default=1.0)

    @property
    def line_colours(self) -> list[str]:
        """Two classes: one line in ink. With three or more classes, a line of each."""
        return [INK] if len(self.labels) == 2 else self.colours

    def lines(self, evidence: Floats) -> Floats:
        """Weights of evidence, or with two classes the log-odds of the second; shape (..., n_lines)."""
        return evidence[..., 1:] - evidence[..., :1] if len(self.labels) == 2 else evidence

    def known(self, feature: int) -> Floats:
        """Values of the rows."""
        column = self.rows[:, feature]
        return np.asarray(column[~np.isnan(column)])

    def limits(self, feature: int, corners: Floats) -> tuple[float, float]:
        """The range of a number, over the training rows and those given."""
        seen = self.model.ranges[feature]
        values = [value for value in (*seen, *self.known(feature)) if np.isfinite(value)] or corners.tolist()
        low, high = float(min(values)), float(max(values))
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def draw(self, ax: Axes, shape: Curve | Interaction) -> None:
        """One panel."""
        title = self.names[shape.features[0]]
        if isinstance(shape, Interaction) and len(shape.features) > 1:
            title = self._draw_map(ax, shape)
        else:
            reach = self.reach
            if isinstance(shape, Interaction):
                reach = self._draw_product(ax, shape)
            elif shape.is_categorical:
                self._draw_categories(ax, shape)
            else:
                self._draw_curve(ax, shape)
            ax.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
            ax.set_ylim(-1.3 * reach, 1.15 * reach)
            bare(ax)
        ax.set_title(shortened(title, 52), fontsize=8.5, loc="left")
        ax.tick_params(labelsize=7)
        ax.set_gid(f"shape-{'-'.join(map(str, shape.features))}")

    def _draw_curve(self, ax: Axes, curve: Curve) -> None:
        low, high = self.limits(curve.feature, curve.values)
        inside = curve.values[(curve.values > low) & (curve.values < high)]
        values = np.array([low, *inside, high])
        lines, corners = self.lines(curve.at(values) - curve.mean), self.lines(curve.evidence - curve.mean)
        shown = (curve.values >= low) & (curve.values <= high)
        counts, edges = np.histogram(self.known(curve.feature), bins=24, range=(low, high))
        self._draw_density(ax, edges[:-1], counts, np.diff(edges), align="edge")
        strong = _strongest(lines)
        if len(self.labels) == 2:
            _fill(ax, values, lines[:, 0], self.colours)
        else:
            self._name_lines(ax, lines[-1], strong)
        for c, colour in enumerate(self.line_colours):
            width, alpha, size = (1.8, 1.0, 3.0) if c in strong else (0.8, 0.7, 1.8)
            ax.plot(values, lines[:, c], color=colour, linewidth=width, alpha=alpha)
            if not curve.pictures:  # the corners of steps say nothing more
                ax.plot(curve.values[shown], corners[shown, c], "o", color=colour, markersize=size)
        if self.model.had_missing(curve.feature):
            missing = self.lines(curve.missing - curve.mean)
            style: dict[str, Any] = {"markersize": 4.5, "fillstyle": "none", "clip_on": False, "zorder": 4}
            for value, colour in zip(missing, self.line_colours, strict=True):
                ax.plot([low], [value], marker="D", color=colour, **style)
        ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        write_values(ax.xaxis, self.model, curve.feature)

    def _draw_density(self, ax: Axes, at: Any, counts: Any, width: Any, align: Literal["edge", "center"]) -> None:
        """The rows, as grey bars along the bottom."""
        heights = 0.32 * self.reach * counts / max(counts.max(), 1)
        ax.bar(at, heights, width, bottom=-1.3 * self.reach, align=align, color=PALE, linewidth=0)

    def _name_lines(self, ax: Axes, ends: Floats, classes: list[int]) -> None:
        """Names of lines at their right ends, pushed apart where they would overlap."""
        style: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        step, level = 0.17 * self.reach, -np.inf
        for c in sorted(classes, key=lambda c: float(ends[c])):
            level = max(float(ends[c]), level + step)
            text = ax.annotate(shortened(self.labels[c], 12), (1.0, level), (3, 0), va="center", fontsize=7, **style)
            text.set(color=self.colours[c], annotation_clip=False)

    def _draw_categories(self, ax: Axes, curve: Curve) -> None:
        lines = self.lines(curve.evidence - curve.mean)
        chosen = np.sort(np.argsort(-np.abs(lines).max(axis=1), kind="stable")[:_MAX_CATEGORIES])
        counts = np.bincount(self.known(curve.feature).astype(np.intp), minlength=len(lines) + 1)[chosen]
        self._draw_density(ax, range(len(chosen)), counts, 0.9, align="center")
        for index, values in enumerate(lines[chosen]):
            if len(self.labels) == 2:
                ax.bar([index], values, 0.6, color=self.colours[1 if values[0] > 0 else 0], alpha=0.8)
            else:
                ax.plot([index, index], [values.min(), values.max()], color=FAINT, linewidth=0.7, zorder=1)
                ax.scatter([index] * len(values), values, s=16, color=self.colours, zorder=2)
        names = self._categories(curve.feature)
        write_categories(ax, [names[code] for code in chosen], 14, most_letters=30 - 2 * len(chosen))
        ax.set_xlim(-0.6, len(chosen) - 0.4)
        if len(chosen) < len(lines):
            ax.set_xlabel(f"{len(lines) - len(chosen)} more with smaller weights", fontsize=7)

    def _draw_product(self, ax: Axes, shape: Interaction) -> float:
        """Rules with two conditions on one feature: conditions multiply, so the line bends between corners too."""
        side = self._side(shape, 0)
        lines = self.lines(shape.at(side.values))
        for line, colour in zip(lines.T, self.line_colours, strict=True):
            ax.plot(side.values, line, "o" if side.categories else "-", color=colour, linewidth=1.4)
        if side.categories:
            write_categories(ax, side.categories, 10, most_letters=30)
        return max(self.reach, float(np.abs(lines).max()))

    def _draw_map(self, ax: Axes, shape: Interaction) -> str:
        """The sum of rules over the first two features, others held where it is strongest; returns the title."""
        right, up = (self._side(shape, axis) for axis in (0, 1))
        grid = np.ptp(shape.grid(), axis=-1)
        most = np.unravel_index(int(grid.argmax()), grid.shape)
        held = [(axis, float(shape.corners[axis][most[axis]])) for axis in range(2, len(shape.features))]
        evidence = shape.grid(right.values, up.values, *(np.array([value]) for _, value in held))
        evidence = evidence.reshape(len(right.values), len(up.values), -1).transpose(1, 0, 2)
        apart = np.ptp(evidence, axis=-1)
        strength = np.minimum(_STRENGTH * apart / max(self.strongest, 1e-12), 1.0)
        if len(shape.features) == 2:
            strength = strength * np.where(is_supported(self.model, shape, right.values, up.values).T, 1.0, _PALER)
        draw_map(ax, self.model, right, up, evidence.argmax(axis=-1), strength, self.colours)
        rng = np.random.default_rng(0)
        points = np.column_stack([side.jitter(self.rows[:, side.feature], rng) for side in (right, up)])
        if len(points) > _MAX_POINTS:
            points = points[rng.choice(len(points), _MAX_POINTS, replace=False)]
        ax.plot(*points.T, ".", color=INK, markersize=1.8, alpha=0.35)
        ax.set_xlim(*right.limits)
        ax.set_ylim(*up.limits)
        ax.set_xlabel(shortened(self.names[right.feature], 34), fontsize=8, labelpad=1)
        ax.set_ylabel(shortened(self.names[up.feature], 26), fontsize=8, labelpad=1)
        strongest = evidence[np.unravel_index(int(apart.argmax()), apart.shape)]
        best = int(strongest.argmax())
        weight = float(abs(self.lines(strongest)[0]) if len(self.labels) == 2 else strongest[best])
        where = [f" where {self.names[shape.features[axis]]} is {self._value(shape, axis, at)}" for axis, at in held]
        return f"{shortened(self.labels[best], 16)}: up to {weight_text(weight)}{' and'.join(where)}"

    def _categories(self, feature: int) -> list[str]:
        return [category_text(category) for category in self.model.category_names.get(feature, ())]

    def _side(self, shape: Interaction, axis: int) -> Side:
        feature, corners = shape.features[axis], shape.corners[axis]
        names = self._categories(feature)
        if names:
            return Side(feature, corners, (-0.5, len(names) - 0.5), names)
        low, high = self.limits(feature, corners)
        if shape.pictures:
            edges = cell_edges(self.model, shape, axis, low, high, _N_STEPS)
            return Side(feature, (edges[:-1] + edges[1:]) / 2, (low, high), edges=edges)
        step = (high - low) / _N_STEPS
        return Side(feature, np.asarray(low + step * (np.arange(_N_STEPS) + 0.5), dtype=np.float64), (low, high))

    def _value(self, shape: Interaction, axis: int, value: float) -> str:
        """A value of a feature that is held."""
        feature, corners = shape.features[axis], shape.corners[axis]
        names = self._categories(feature)
        if names:
            return names[int(value)]
        number = self.model.number(feature, value)
        return value_text(number) if has_words(number) else corner_text(corners, int(np.searchsorted(corners, value)))

    def draw_legend(self, figure: Figure, title: str) -> None:
        """Colours of the classes, and what the numbers mean."""
        from matplotlib.lines import Line2D

        is_two = len(self.labels) == 2
        figure.supylabel(f"log-odds of {self.labels[1]}" if is_two else "weight of evidence of each class", fontsize=8)
        handles: list[Any] = class_patches(self.labels, self.colours)
        numbers = [shape for shape in self.shapes if isinstance(shape, Curve) and not shape.is_categorical]
        if any(self.model.had_missing(curve.feature) for curve in numbers):
            handles.append(Line2D([], [], marker="D", color=INK, fillstyle="none", lw=0, label="a missing value"))
        place: dict[str, Any] = {"loc": "outside upper left", "ncols": min(len(handles), 10), "alignment": "left"}
        figure.legend(handles=handles, frameon=False, fontsize=8, title=title, title_fontsize=8, **place)


def _fill(ax: Axes, values: Floats, line: Floats, colours: list[str]) -> None:
    """Fill a line down to zero: above it with the colour of the second class, below it with the colour of the first."""
    turn = np.flatnonzero(line[:-1] * line[1:] < 0)  # where it crosses zero: areas end there
    share = line[turn] / (line[turn] - line[turn + 1])
    values = np.insert(values, turn + 1, values[turn] + share * (values[turn + 1] - values[turn]))
    line = np.insert(line, turn + 1, 0.0)
    for area, colour in ((np.maximum(line, 0), colours[1]), (np.minimum(line, 0), colours[0])):
        ax.fill_between(values, 0, area, color=colour, alpha=0.35, linewidth=0)


def _strongest(lines: Floats) -> list[int]:
    """Lines that get furthest from zero; all of few."""
    order: list[int] = np.argsort(-np.abs(lines).max(axis=0), kind="stable").tolist()
    return order if len(order) <= _N_NAMED + 1 else order[:_N_NAMED]
