"""Decision regions over two features: where each label is predicted, how sure, and where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._answers import model_of
from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.shapes import feature_importances
from ferl._sklearn import encode_rows
from ferl._tables import with_derived
from ferl._tell.statements import reader_names
from ferl._util.arrays import Floats
from ferl._util.text import class_colours, value_text
from ferl.plot.canvas import INK, Side, axes_for, check_least, class_patches, draw_map, drawn_feature, plain, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

_STRENGTH = 0.6  # of a class's colour where there is no ignorance: points of that class still stand out
_MARGIN = 0.25  # of the rows' range, on each side: ignorance grows outside it
_MOST_HELD = 3  # features that the title names
_UNKNOWN = "not a class of training"


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

    The colour shows the label; it fades to white as ignorance grows. Regions are hatched where the prediction set has
    several classes, and cross-hatched where it has all classes, an abstention. The picture extends beyond the rows,
    where ignorance grows.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows, drawn as points. Features that are not drawn have their median, or their most frequent category, which the
        title lists. With more than two features the points therefore need not lie in regions of their colour.
    y : array-like of shape (n_samples,), default=None
        Their labels, the colours of the points; labels that training did not have are crosses. None: no points.
    features : pair of int or str, default=(0, 1)
        Numbers or names of the features to the right and upwards; numbers or categories.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    n_steps : int, default=200
        Number of values of each feature in the grid.
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
    names, labels = reader_names(model, feature_names, class_names)
    check_least("n_steps", n_steps, 2)
    right_index, up_index = (drawn_feature(model, feature, names) for feature in features)
    if right_index == up_index:
        raise ValueError(f"features are {features!r}; name two different ones.")
    rows = encode_rows(estimator, model.schema, X)
    if y is not None and len(np.asarray(y)) != len(rows):
        raise ValueError(f"y has {len(np.asarray(y))} labels; X has {len(rows)} rows.")
    right, up = (_side(model, rows, names, index, n_steps) for index in (right_index, up_index))
    middle = _middle(model, rows)
    evidence = _evidence_on_grid(model, middle, right, up)
    ax = axes_for("plot_decision_regions", ax, (5.6, 4.4))
    colours, shape = class_colours(len(labels)), (n_steps, n_steps)
    strength = _STRENGTH * (1 - evidence.ignorance).reshape(shape)
    draw_map(ax, model, right, up, evidence.probability.argmax(axis=1).reshape(shape), strength, colours)
    handles: list[Any] = class_patches(labels, colours) + _hatch(ax, evidence, right, up)
    handles += _draw_range(ax, rows, right, up)
    if y is not None:
        handles += _draw_points(ax, model, rows, np.asarray(y), right, up, colours)
    ax.set_xlabel(plain(names[right.feature]))
    ax.set_ylabel(plain(names[up.feature]))
    ax.set_xlim(*right.limits)
    ax.set_ylim(*up.limits)
    ax.set_title(plain(_held(model, middle, names, (right_index, up_index))), loc="left", fontsize=8.5)
    ax.legend(handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return ax


def _side(model: Model, rows: Floats, names: list[str], feature: int, n_steps: int) -> Side:
    categories = model.category_names.get(feature)
    if categories is not None:
        limits = -0.5, len(categories) - 0.5
        codes = np.clip(np.round(np.linspace(*limits, n_steps)), 0, len(categories) - 1)
        return Side(feature, codes, limits, categories)
    known = rows[:, feature][~np.isnan(rows[:, feature])]
    if not known.size:
        raise ValueError(f"Feature {names[feature]!r} is missing in all rows of X; draw another one.")
    margin = _MARGIN * np.ptp(known) or 1.0
    limits = float(known.min() - margin), float(known.max() + margin)
    return Side(feature, np.linspace(*limits, n_steps), limits)


def _evidence_on_grid(model: Model, middle: Floats, right: Side, up: Side) -> Evidence:
    """Evidence over the grid, upwards slowest, all other features held at their middle."""
    grid = np.tile(middle, (len(up.values) * len(right.values), 1))
    grid[:, right.feature] = np.tile(right.values, len(up.values))
    grid[:, up.feature] = np.repeat(up.values, len(right.values))
    return model.evidence(with_derived(np.asfortranarray(grid), model.derived))


def _middle(model: Model, rows: Floats) -> Floats:
    """Median of each feature, or its most frequent category; missing where all are."""
    categories, middle = model.category_names, np.full(rows.shape[1], np.nan)
    for j, column in enumerate(rows.T):
        known = column[~np.isnan(column)]
        if known.size:
            middle[j] = np.bincount(known.astype(np.intp)).argmax() if j in categories else np.median(known)
    return middle


def _held(model: Model, middle: Floats, names: list[str], drawn: tuple[int, int]) -> str:
    """Values of the features that matter and are not drawn, the most important first; "" without such features."""
    importance = feature_importances(model)
    held = [f for f in np.argsort(-importance, kind="stable").tolist() if importance[f] > 0 and f not in drawn]
    if not held:
        return ""
    texts = []
    for f in held[:_MOST_HELD]:
        value, categories = None if np.isnan(middle[f]) else float(middle[f]), model.category_names.get(f)
        if value is not None:
            value = model.value(f, value) if categories is None else categories[int(value)]
        texts.append(f"{shortened(names[f], 20)} = {shortened(value_text(value), 16)}")
    more = [f"{len(held) - _MOST_HELD} more at their middle"] * (len(held) > _MOST_HELD)
    return f"held: {', '.join([*texts, *more])}"


def _draw_range(ax: Axes, rows: Floats, right: Side, up: Side) -> list[Any]:
    """Lines where the rows end; returns their entry of the legend."""
    lines: list[Any] = []
    for side, draw in ((right, ax.axvline), (up, ax.axhline)):
        if not side.categories:
            for end in (np.nanmin(rows[:, side.feature]), np.nanmax(rows[:, side.feature])):
                lines.append(draw(end, color=INK, linewidth=0.8, linestyle=":", label="beyond it: no row"))
    return lines[:1]


def _hatch(ax: Axes, evidence: Evidence, right: Side, up: Side) -> list[Patch]:
    """Lines over the regions without a single answer; returns the entries of the legend."""
    from matplotlib.patches import Patch

    size = evidence.prediction_set().sum(axis=1).reshape(len(up.values), len(right.values))
    n_classes = evidence.belief.shape[1]
    x, y = (np.linspace(*side.limits, len(side.values)) for side in (right, up))
    entries = []
    regions = (("several classes", (size > 1) & (size < n_classes), "////"), ("no answer", size == n_classes, "xxxx"))
    for meaning, region, hatch in regions:
        if region.any():
            covered = ax.contourf(x, y, region.astype(float), [0.5, 1.5], colors="none", hatches=[hatch])
            covered.set(edgecolor="#00000055", linewidth=0.0, label=meaning)
            entries.append(Patch(facecolor="white", edgecolor=INK, hatch=hatch, label=meaning))
    return [*entries, Patch(facecolor="white", edgecolor="#bbbbbb", label="ignorance: fades to white")]


def _draw_points(
    ax: Axes, model: Model, rows: Floats, y: NDArray[Any], right: Side, up: Side, colours: list[str]
) -> list[Any]:
    """The rows in the colours of their labels; returns the entry of the legend for labels that are no classes."""
    rng = np.random.default_rng(0)
    across, upwards = (side.jitter(rows[:, side.feature], rng) for side in (right, up))
    for label, colour in zip(model.classes, colours, strict=True):
        of = y == label  # matplotlib leaves out rows with a missing value: they have no position
        ax.scatter(across[of], upwards[of], s=18, color=colour, edgecolor="white", linewidth=0.6, label=plain(label))
    unknown = ~np.isin(y, model.classes)
    if not unknown.any():
        return []
    return [ax.scatter(across[unknown], upwards[unknown], s=22, color=INK, marker="x", linewidth=1, label=_UNKNOWN)]
