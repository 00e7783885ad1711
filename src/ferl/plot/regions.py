"""Decision regions over two features: where each label is given, how sure, and where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._answers import model_of
from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._read.explanation import feature_importances
from ferl._read.text import shown_names
from ferl._sklearn import encode_rows
from ferl._tables import with_indicators
from ferl._util.arrays import Floats
from ferl._util.text import class_colours, rgb, value_text
from ferl.plot.canvas import INK, axes_for, feature_index, plain, shortened, write_values
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STRENGTH = 0.6  # of a class's colour where there is no ignorance: points of that class still stand out
_MARGIN = 0.25  # of the rows' range, on each side: ignorance grows outside it
_MOST_HELD = 3  # features that the title names
_JITTER = 0.28  # of points around a category
_UNKNOWN = "not a class of training"


@dataclass(frozen=True)
class _Side:
    """One side of the picture: a feature, the values drawn, those the classifier is asked for, and where rows end."""

    feature: int
    name: str
    drawn: Floats
    asked: Floats
    categories: Sequence[Any] | None
    known: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.drawn[0]), float(self.drawn[-1])


def plot_decision_regions(
    estimator: FERLClassifier,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    features: tuple[int | str, int | str] = (0, 1),
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    n_steps: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Which label is given where, over two features.

    The colour is that of the label; it fades to white as ignorance grows. Lines cross where the prediction set has
    several classes, in both directions where it is the whole frame, an abstention. The picture reaches beyond the rows,
    where they end and ignorance begins.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows, drawn as points. Features that are not drawn have their median, or their most frequent category, as the
        title says, so that with more than two features the points need not lie in regions of their colour.
    y : array-like of shape (n_samples,), default=None
        Their labels, the colours of the points; labels that training did not have are crosses. None: no points.
    features : pair of int or str, default=(0, 1)
        Numbers or names of the features to the right and upwards; numbers or categories.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default those of the training table, and the labels.
    n_steps : int, default=200
        Number of values of each feature that are asked for.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> from ferl.plot import plot_decision_regions
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", random_state=0).fit(X[:, 2:], y)
    >>> ax = plot_decision_regions(clf, X[:, 2:], y, n_steps=50, ax=Figure().subplots())
    >>> ax.images[0].get_array().shape  # red, green, blue
    (50, 50, 3)
    """
    model = model_of(estimator, "plot_decision_regions")
    names, labels = shown_names(model, feature_names, class_names)
    if n_steps < 2:
        raise ValueError(f"n_steps is {n_steps}; it must be at least 2.")
    rows = encode_rows(estimator, model.schema, X)
    right, up = (_side(model, rows, names, feature, n_steps) for feature in features)
    if right.feature == up.feature:
        raise ValueError(f"features are {features!r}; name two different ones.")
    evidence = _evidence_on_grid(model, rows, right, up)
    ax = axes_for("plot_decision_regions", ax, (5.6, 4.4))
    colours = class_colours(len(labels))
    extent = (*right.limits, *up.limits)
    painted = region_colours(evidence, colours).reshape(len(up.drawn), len(right.drawn), 3)
    ax.imshow(painted, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    doubtful, has_range = _hatch(ax, evidence, right, up), _draw_range(ax, right, up)
    if y is not None:
        _draw_points(ax, model, rows, np.asarray(y), right, up, colours)
    _finish(ax, model, right, up)
    ax.set_title(plain(_held(model, _middle(model, rows), names, right, up)), loc="left", fontsize=8.5)
    _legend(ax, labels, colours, doubtful, has_range)
    return ax


def region_colours(evidence: Evidence, colours: Sequence[str]) -> Floats:
    """Colour of each row's label, white in the proportion of its ignorance; shape (n_samples, 3)."""
    label = np.array([rgb(colour) for colour in colours])[evidence.probability.argmax(axis=1)]
    strength = _STRENGTH * (1 - evidence.ignorance[:, None])
    return np.asarray(np.clip(1 + strength * (label - 1), 0.0, 1.0))


def _side(model: Model, rows: Floats, names: list[str], feature: int | str, n_steps: int) -> _Side:
    index = feature_index(feature, names[: model.n_features], model.feature_names())
    categories = model.category_names.get(index)
    if categories is not None:
        drawn = np.linspace(-0.5, len(categories) - 0.5, n_steps)
        return _Side(index, names[index], drawn, np.clip(np.round(drawn), 0, len(categories) - 1), categories)
    known = rows[:, index][~np.isnan(rows[:, index])]
    if not known.size:
        raise ValueError(f"Feature {names[index]!r} is missing in all rows of X; draw another one.")
    margin = _MARGIN * np.ptp(known) or 1.0
    drawn = np.linspace(known.min() - margin, known.max() + margin, n_steps)
    return _Side(index, names[index], drawn, drawn, None, (float(known.min()), float(known.max())))


def _evidence_on_grid(model: Model, rows: Floats, right: _Side, up: _Side) -> Evidence:
    """Evidence over the grid, upwards slowest, all other features held at their middle."""
    grid = np.tile(_middle(model, rows), (len(up.asked) * len(right.asked), 1))
    grid[:, right.feature] = np.tile(right.asked, len(up.asked))
    grid[:, up.feature] = np.repeat(up.asked, len(right.asked))
    return model.evidence(with_indicators(np.asfortranarray(grid), model.missing_features))


def _middle(model: Model, rows: Floats) -> Floats:
    """Median of each feature, or its most frequent category; missing where all are."""
    categories, middle = model.category_names, np.full(rows.shape[1], np.nan)
    for j, column in enumerate(rows.T):
        known = column[~np.isnan(column)]
        if known.size:
            middle[j] = np.bincount(known.astype(np.intp)).argmax() if j in categories else np.median(known)
    return middle


def _held(model: Model, middle: Floats, names: list[str], right: _Side, up: _Side) -> str:
    """What features are held at that matter and are not drawn, the most important first; "" where there are none."""
    importance = feature_importances(model)
    order = [f for f in np.argsort(-importance, kind="stable").tolist() if f not in (right.feature, up.feature)]
    told = []
    for f in (f for f in order if importance[f] > 0):
        value = None if np.isnan(middle[f]) else _value(model, f, float(middle[f]))
        told.append(f"{shortened(names[f], 20)} = {shortened(value_text(value), 16)}")
    if not told:
        return ""
    more = [f"{len(told) - _MOST_HELD} more at their middle"] * (len(told) > _MOST_HELD)
    return f"held: {', '.join([*told[:_MOST_HELD], *more])}"


def _value(model: Model, feature: int, number: float) -> Any:
    """A value as people write it: a category, a date, a number."""
    categories = model.category_names.get(feature)
    return model.value(feature, number) if categories is None else categories[int(number)]


def _draw_range(ax: Axes, right: _Side, up: _Side) -> bool:
    """Lines where the rows end; what is drawn beyond them no row has."""
    is_drawn = False
    for side, line in ((right, ax.axvline), (up, ax.axhline)):
        for end in side.known or ():
            line(end, color=INK, linewidth=0.8, linestyle=":")
            is_drawn = True
    return is_drawn


def _hatch(ax: Axes, evidence: Evidence, right: _Side, up: _Side) -> dict[str, str]:
    """Lines over the regions without a single answer; returns what they mean, for the legend."""
    size = evidence.prediction_set().sum(axis=1).reshape(len(up.drawn), len(right.drawn))
    n_classes = evidence.belief.shape[1]
    kinds = {"several classes": ((size > 1) & (size < n_classes), "////"), "no answer": (size == n_classes, "xxxx")}
    shown: dict[str, str] = {}
    for meaning, (region, hatch) in kinds.items():
        if region.any():
            shown[meaning] = hatch
            covered = ax.contourf(
                right.drawn, up.drawn, region.astype(float), [0.5, 1.5], colors="none", hatches=[hatch]
            )
            covered.set(edgecolor="#00000055", linewidth=0.0, label=meaning)
    return shown


def _draw_points(
    ax: Axes, model: Model, rows: Floats, y: NDArray[Any], right: _Side, up: _Side, colours: list[str]
) -> None:
    if len(y) != len(rows):
        raise ValueError(f"y has {len(y)} labels; X has {len(rows)} rows.")
    rng = np.random.default_rng(0)  # where points of a category lie beside each other says nothing
    x_y = rows[:, [right.feature, up.feature]].copy()
    for column, side in enumerate((right, up)):
        if side.categories is not None:
            x_y[:, column] += rng.uniform(-_JITTER, _JITTER, len(rows))
    for label, colour in zip(model.classes, colours, strict=True):
        own = x_y[y == label]  # a row with a missing value has no position and is left out by matplotlib
        ax.scatter(own[:, 0], own[:, 1], s=18, color=colour, edgecolor="white", linewidth=0.6, label=plain(label))
    unknown = ~np.isin(y, model.classes)
    if unknown.any():
        ax.scatter(x_y[unknown, 0], x_y[unknown, 1], s=22, color=INK, marker="x", linewidth=1, label=_UNKNOWN)


def _finish(ax: Axes, model: Model, right: _Side, up: _Side) -> None:
    for axis, side in ((ax.xaxis, right), (ax.yaxis, up)):
        write_values(axis, model.column_kind(side.feature))
        if side.categories is not None:
            axis.set_ticks(range(len(side.categories)), [shortened(category, 14) for category in side.categories])
    ax.set_xlabel(plain(right.name))
    ax.set_ylabel(plain(up.name))
    ax.set_xlim(*right.limits)
    ax.set_ylim(*up.limits)


def _legend(ax: Axes, labels: list[Any], colours: list[str], doubtful: dict[str, str], has_range: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, label=shortened(label, 20)) for label, colour in zip(labels, colours, strict=True)]
    patches += [
        Patch(facecolor="white", edgecolor=INK, hatch=hatch, label=meaning) for meaning, hatch in doubtful.items()
    ]
    patches.append(Patch(facecolor="white", edgecolor="#bbbbbb", label="ignorance: fades to white"))
    crosses = [own for own in ax.collections if own.get_label() == _UNKNOWN]
    ends = [Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="beyond it: no row")] * has_range
    ax.legend(
        handles=[*patches, *ends, *crosses], fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0)
    )
