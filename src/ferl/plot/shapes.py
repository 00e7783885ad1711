"""Shapes of wide rules: a curve for each feature, a map for each pair, the most important first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._models.rule_model import RuleModel
from ferl._read.shapes import Curve, Interaction, kept_rows, read_shapes
from ferl._read.text import shown_names
from ferl._read.wide_text import corner_text, had_missing, weight_text
from ferl._sklearn import encode_rows
from ferl._tables import with_indicators
from ferl._util.arrays import Floats
from ferl._util.text import category_text, class_colours, has_words, rgb, value_text
from ferl.plot.canvas import FAINT, INK, PALE, bare, feature_index, plain, require_matplotlib, shortened, write_values
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_PANEL = 3.3, 2.5  # inches
_MOST_COLUMNS = 4
_MAX_CATEGORIES = 24
_N_STEPS = 80  # values of a number that a map asks for
_N_NAMED = 3  # lines of a curve of many classes that are named beside it
_MAX_POINTS = 500  # rows on a map
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
    """What wide rules say of every feature, and of features together.

    A curve is the sum of all rules on a feature, less what they say of the training rows on average: above zero a value
    speaks for a class more than usual. Dots are its corners, between which it is straight; categories are bars, or dots
    of several classes. Of two classes the curve is the log-odds of the second one, filled with the colour of the class
    that a value speaks for. The grey bars below are the rows.

    A map is the sum of the rules on two features: white where none of them fits, otherwise the colour of the class that
    is spoken for. Rules on three features are drawn where the third one has the value named in the title.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, of wide rules.
    features : sequence of int or str, default=None
        Draw only what is said of these features, by number or name, alone or together with others. None: all.
    max_features : int, default=12
        Draw at most so many curves and maps, the most important first.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows whose density is drawn. None: the training rows that the model keeps. Of a large table these are rows that
        cover the others, among which unusual rows are more frequent than among all rows.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default those of the training table, and the labels.
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
    model = model_of(estimator, "plot_shapes")
    names, labels = shown_names(model, feature_names, class_names)
    if max_features < 1:
        raise ValueError(f"max_features is {max_features}; it must be at least 1.")
    shapes = list(read_shapes(model).all)
    if features is not None:
        columns = model.feature_names()
        wished = {feature_index(feature, names[: model.n_features], columns) for feature in features}
        shapes = [shape for shape in shapes if wished & set(shape.features)]
    if not shapes:
        asked = sorted({names[f] for shape in read_shapes(model).all for f in shape.features})
        remedy = f"Choose among {', '.join(asked[:20])}." if asked else "The model has no rules at all."
        raise ValueError(f"No rule asks for these features. {remedy}")
    rows = kept_rows(model)
    if X is not None:
        rows = with_indicators(encode_rows(estimator, model.schema, X), model.missing_features)
    sheet = _Sheet(model, names, [plain(label) for label in labels], class_colours(len(labels)), rows)
    return _draw(sheet, shapes[:max_features], len(shapes), figure)


def _draw(sheet: _Sheet, shapes: list[Curve | Interaction], n_all: int, figure: Figure | None) -> Figure:
    require_matplotlib("plot_shapes")
    n_columns = min(_MOST_COLUMNS, len(shapes))
    n_lines = -(-len(shapes) // n_columns)
    if figure is None:
        from matplotlib import pyplot

        size = _PANEL[0] * n_columns, _PANEL[1] * n_lines + 0.6
        figure = pyplot.figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    reach = max(
        (np.abs(sheet.told(shape.evidence - shape.mean)).max() for shape in shapes if isinstance(shape, Curve)),
        default=1.0,
    )
    strongest = max((np.ptp(own.grid(), axis=-1).max() for own in shapes if isinstance(own, Interaction)), default=1.0)
    for ax, shape in zip(panels, shapes, strict=False):
        if isinstance(shape, Interaction) and len(shape.features) > 1:
            _draw_map(ax, sheet, shape, float(strongest))
        elif isinstance(shape, Interaction):
            _draw_product(ax, sheet, shape, float(reach))
        elif shape.is_categorical:
            _draw_categories(ax, sheet, shape, float(reach))
        else:
            _draw_curve(ax, sheet, shape, float(reach))
    for ax in panels[len(shapes) :]:
        ax.remove()
    lacking = any(
        had_missing(sheet.model, own.features[0]) for own in shapes if isinstance(own, Curve) and not own.is_categorical
    )
    _legend(
        figure,
        sheet,
        f" (the {len(shapes)} most important of {n_all} curves and maps)" * (len(shapes) < n_all),
        lacking,
    )
    return figure


@dataclass(frozen=True, eq=False)
class _Sheet:
    """What all panels share: the model, names, colours, and the rows whose density is drawn."""

    model: RuleModel
    names: list[str]
    labels: list[str]
    colours: list[str]
    rows: Floats

    @property
    def is_two(self) -> bool:
        return len(self.labels) == 2

    def told(self, evidence: Floats) -> Floats:
        """Weights as they are drawn, shape (..., 1) of two classes and (..., n_classes) of others."""
        return evidence[..., 1:] - evidence[..., :1] if self.is_two else evidence

    def known(self, feature: int) -> Floats:
        column = self.rows[:, feature]
        return np.asarray(column[~np.isnan(column)])


# ---------------------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------------------


def _draw_curve(ax: Axes, sheet: _Sheet, curve: Curve, reach: float) -> None:
    low, high = _range_of(sheet, curve.feature, curve.values)
    inside = curve.values[(curve.values > low) & (curve.values < high)]
    values = np.concatenate([[low], inside, [high]])
    lines = sheet.told(curve.at(values) - curve.mean)
    corners = sheet.told(curve.evidence - curve.mean)
    shown = (curve.values >= low) & (curve.values <= high)
    _draw_density(ax, sheet, curve, (low, high), reach)
    if sheet.is_two:
        line = lines[:, 0]
        for sign, colour in ((1, sheet.colours[1]), (-1, sheet.colours[0])):
            fine, height = _crossings(values, line)
            ax.fill_between(fine, 0, np.where(sign * height > 0, height, 0), color=colour, alpha=0.35, linewidth=0)
        ax.plot(values, line, color=INK, linewidth=1.6)
        ax.plot(curve.values[shown], corners[shown, 0], "o", color=INK, markersize=3.2)
    else:
        strong = _strongest(lines)
        for c, colour in enumerate(sheet.colours):
            width = 1.9 if c in strong else 0.8
            ax.plot(values, lines[:, c], color=colour, linewidth=width, alpha=1 if c in strong else 0.7)
            ax.plot(curve.values[shown], corners[shown, c], "o", color=colour, markersize=3 if c in strong else 1.8)
        _name_lines(ax, sheet, lines[-1], strong, reach)
    if had_missing(sheet.model, curve.feature):
        _draw_missing(ax, sheet, curve, (low, high))
    ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    if sheet.model.is_whole(curve.feature):
        ax.locator_params(axis="x", integer=True)
    write_values(ax.xaxis, sheet.model.column_kind(curve.feature))
    _finish_curve(ax, sheet, curve, reach)


def _crossings(values: Floats, line: Floats) -> tuple[Floats, Floats]:
    """The same line with a point wherever it crosses zero, so that areas end there."""
    turn = np.flatnonzero(line[:-1] * line[1:] < 0)
    share = line[turn] / (line[turn] - line[turn + 1])
    where = values[turn] + share * (values[turn + 1] - values[turn])
    return np.insert(values, turn + 1, where), np.insert(line, turn + 1, 0.0)


def _strongest(lines: Floats) -> list[int]:
    """Classes of which a curve says most; all of few classes."""
    n_classes = lines.shape[1]
    if n_classes <= _N_NAMED + 1:
        return list(range(n_classes))
    return [int(c) for c in np.argsort(-np.abs(lines).max(axis=0), kind="stable")[:_N_NAMED]]


def _name_lines(ax: Axes, sheet: _Sheet, ends: Floats, classes: list[int], reach: float) -> None:
    """Names of lines at their right ends, pushed apart where they would overlap."""
    step, level = 0.17 * reach, -np.inf
    for c in sorted(classes, key=lambda c: float(ends[c])):
        level = max(float(ends[c]), level + step)
        text = shortened(sheet.labels[c], 12)
        ax.annotate(
            text,
            (1.0, level),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            color=sheet.colours[c],
            fontsize=7,
            va="center",
            annotation_clip=False,
        )


def _draw_missing(ax: Axes, sheet: _Sheet, curve: Curve, span: tuple[float, float]) -> None:
    """What a missing value gets: a diamond at the left side."""
    told = sheet.told(curve.missing - curve.mean)
    for value, colour in zip(told, [INK] if sheet.is_two else sheet.colours, strict=True):
        ax.plot([span[0]], [value], marker="D", color=colour, markersize=4.5, fillstyle="none", clip_on=False, zorder=4)


def _draw_density(ax: Axes, sheet: _Sheet, curve: Curve, span: tuple[float, float], reach: float) -> None:
    """The rows, as grey bars along the bottom."""
    known = sheet.known(curve.feature)
    if known.size:
        counts, edges = np.histogram(known, bins=24, range=span)
        heights = 0.32 * reach * counts / max(counts.max(), 1)
        ax.bar(edges[:-1], heights, np.diff(edges), bottom=-1.3 * reach, align="edge", color=PALE, linewidth=0)


# ---------------------------------------------------------------------------------------------------------------------
# Categories
# ---------------------------------------------------------------------------------------------------------------------


def _draw_categories(ax: Axes, sheet: _Sheet, curve: Curve, reach: float) -> None:
    told = sheet.told(curve.evidence - curve.mean)
    chosen = np.arange(len(told))
    if len(told) > _MAX_CATEGORIES:
        chosen = np.sort(np.argsort(-np.abs(told).max(axis=1), kind="stable")[:_MAX_CATEGORIES])
    counts = np.bincount(sheet.known(curve.feature).astype(np.intp), minlength=len(told) + 1)[chosen]
    heights = 0.32 * reach * counts / max(counts.max(), 1)
    ax.bar(range(len(chosen)), heights, 0.9, bottom=-1.3 * reach, color=PALE, linewidth=0)
    for index, values in enumerate(told[chosen]):
        if sheet.is_two:
            ax.bar([index], values, 0.6, color=sheet.colours[1 if values[0] > 0 else 0], alpha=0.8)
        else:
            ax.plot([index, index], [values.min(), values.max()], color=FAINT, linewidth=0.7, zorder=1)
            ax.scatter([index] * len(values), values, s=16, color=sheet.colours, zorder=2)
    names = [category_text(sheet.model.category_names[curve.feature][code]) for code in chosen.tolist()]
    crowded = sum(len(name) + 2 for name in names) > 30
    texts = [shortened(name, 14) for name in names]
    ax.set_xticks(range(len(chosen)), texts, rotation=40 if crowded else 0, ha="right" if crowded else "center")
    ax.set_xlim(-0.6, len(chosen) - 0.4)
    _finish_curve(ax, sheet, curve, reach)
    if len(chosen) < len(told):
        ax.set_xlabel(f"{len(told) - len(chosen)} more, about which less is said", fontsize=7)


def _finish_curve(ax: Axes, sheet: _Sheet, shape: Curve | Interaction, reach: float) -> None:
    ax.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    ax.set_ylim(-1.3 * reach, 1.15 * reach)
    _title(ax, sheet.names[shape.features[0]], shape)
    bare(ax)


# ---------------------------------------------------------------------------------------------------------------------
# Maps
# ---------------------------------------------------------------------------------------------------------------------


def _draw_map(ax: Axes, sheet: _Sheet, shape: Interaction, strongest: float) -> None:
    """The sum of rules over the first two features; others are held where most is said."""
    grid = np.ptp(shape.grid(), axis=-1)
    most = np.unravel_index(int(grid.argmax()), grid.shape)
    right, up = (_side(sheet, shape, axis) for axis in (0, 1))
    held = [(axis, shape.corners[axis][most[axis]]) for axis in range(2, len(shape.features))]
    said = shape.grid(right.asked, up.asked, *(np.array([value]) for _, value in held))
    said = said.reshape(len(right.asked), len(up.asked), -1)
    painted = _painted(sheet, said, strongest).transpose(1, 0, 2)
    extent = (*right.limits, *up.limits)
    ax.imshow(painted, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    _draw_rows(ax, sheet, right, up)
    ways: list[tuple[_Side, Axis, Literal["x", "y"]]] = [(right, ax.xaxis, "x"), (up, ax.yaxis, "y")]
    for side, axis, which in ways:
        if side.categories:
            axis.set_ticks(range(len(side.categories)), [shortened(own, 10) for own in side.categories])
        elif sheet.model.is_whole(side.feature):
            ax.locator_params(axis=which, integer=True)
        if not side.categories:
            write_values(axis, sheet.model.column_kind(side.feature))
    ax.set_xlabel(shortened(sheet.names[right.feature], 34), fontsize=8, labelpad=1)
    ax.set_ylabel(shortened(sheet.names[up.feature], 26), fontsize=8, labelpad=1)
    where = [
        f" where {sheet.names[shape.features[axis]]} is {_value(sheet, shape, axis, value)}" for axis, value in held
    ]
    _title(ax, f"{_spoken(sheet, said)}{' and'.join(where)}", shape)


def _draw_product(ax: Axes, sheet: _Sheet, shape: Interaction, reach: float) -> None:
    """Rules that ask one feature twice: their conditions multiply, so that the line bends between corners too."""
    side = _side(sheet, shape, 0)
    lines = sheet.told(shape.at(side.asked))
    for line, colour in zip(lines.T, [INK] if sheet.is_two else sheet.colours, strict=True):
        ax.plot(side.asked, line, "o" if side.categories else "-", color=colour, linewidth=1.4)
    if side.categories:
        ax.set_xticks(range(len(side.categories)), [shortened(own, 10) for own in side.categories])
    _finish_curve(ax, sheet, shape, max(reach, float(np.abs(lines).max())))


@dataclass(frozen=True)
class _Side:
    """One feature of a map: values that are asked for, the limits of the picture, and names of categories."""

    feature: int
    asked: Floats
    limits: tuple[float, float]
    categories: list[str]


def _side(sheet: _Sheet, shape: Interaction, axis: int) -> _Side:
    feature = shape.features[axis]
    if feature in sheet.model.category_names:
        names = [category_text(own) for own in sheet.model.category_names[feature]]
        return _Side(feature, shape.corners[axis], (-0.5, len(names) - 0.5), names)
    low, high = _range_of(sheet, feature, shape.corners[axis])
    step = (high - low) / _N_STEPS
    return _Side(feature, np.asarray(low + step * (np.arange(_N_STEPS) + 0.5), dtype=np.float64), (low, high), [])


def _painted(sheet: _Sheet, said: Floats, strongest: float) -> Floats:
    """Colour of the class that is spoken for, white where nothing is said; shape (..., 3)."""
    label = np.array([rgb(colour) for colour in sheet.colours])[said.argmax(axis=-1)]
    strength = _STRENGTH * np.ptp(said, axis=-1)[..., None] / strongest
    return np.asarray(np.clip(1 + strength * (label - 1), 0.0, 1.0))


def _spoken(sheet: _Sheet, said: Floats) -> str:
    """The strongest weight on a map, and for which class."""
    flat = said.reshape(-1, said.shape[-1])
    told = flat[np.ptp(flat, axis=1).argmax()]
    best = int(told.argmax())
    weight = abs(told[1] - told[0]) if sheet.is_two else told[best]
    return f"{shortened(sheet.labels[best], 16)}: up to {weight_text(float(weight))}"


def _value(sheet: _Sheet, shape: Interaction, axis: int, value: float) -> str:
    """A value of a feature that is held."""
    feature, corners = shape.features[axis], shape.corners[axis]
    names = sheet.model.category_names.get(feature)
    if names is not None:
        return category_text(names[int(value)])
    said = sheet.model.number(feature, float(value))
    return value_text(said) if has_words(said) else corner_text(corners, int(np.searchsorted(corners, value)))


def _draw_rows(ax: Axes, sheet: _Sheet, right: _Side, up: _Side) -> None:
    """The rows, as small dots; those of a category lie beside each other in no order that means anything."""
    rng = np.random.default_rng(0)
    points = sheet.rows[:, [right.feature, up.feature]]
    for column, side in enumerate((right, up)):
        if side.categories:
            points[:, column] += rng.uniform(-0.3, 0.3, len(points))
    if len(points) > _MAX_POINTS:
        points = points[rng.choice(len(points), _MAX_POINTS, replace=False)]
    ax.plot(points[:, 0], points[:, 1], ".", color=INK, markersize=1.8, alpha=0.35)
    ax.set_xlim(*right.limits)
    ax.set_ylim(*up.limits)


# ---------------------------------------------------------------------------------------------------------------------
# What all panels share
# ---------------------------------------------------------------------------------------------------------------------


def _range_of(sheet: _Sheet, feature: int, corners: Floats) -> tuple[float, float]:
    """Values of a number to draw: what training saw, and the rows given."""
    seen = sheet.model.ranges[feature]
    known = [own for own in (*seen, *sheet.known(feature)) if np.isfinite(own)] or corners.tolist()
    low, high = float(min(known)), float(max(known))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _title(ax: Axes, text: str, shape: Curve | Interaction) -> None:
    ax.set_title(shortened(text, 52), fontsize=8.5, loc="left")
    ax.tick_params(labelsize=7)
    ax.set_gid(f"shape-{'-'.join(map(str, shape.features))}")


def _legend(figure: Figure, sheet: _Sheet, part: str, lacking: bool) -> None:
    """Colours of the classes, and what the numbers mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure.supylabel(
        f"log-odds of {sheet.labels[1]}" if sheet.is_two else "weight of evidence of each class", fontsize=8
    )
    pairs = zip(sheet.labels, sheet.colours, strict=True)
    handles: list[Patch | Line2D] = [Patch(color=colour, label=shortened(label, 20)) for label, colour in pairs]
    if lacking:
        handles.append(Line2D([], [], marker="D", color=INK, fillstyle="none", linewidth=0, label="a missing value"))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=min(len(handles), 10),
        frameon=False,
        fontsize=8,
        title=f"Speaks for{part}",
        title_fontsize=8,
        alignment="left",
    )
