"""Bars: what the features of a row add to its answer and to its novelty, what they matter, and evidence by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._models.evidence import Evidence
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import feature_importances
from ferl._tell.explain import Balance
from ferl._tell.statements import reader_classes, reader_names, weight_text
from ferl._tell.unusual import novelty_verdict
from ferl._util.text import class_colours, percent_text, rows_text, tint, value_text
from ferl.calibration import CalibratedFERL
from ferl.plot.canvas import FAINT, INK, PALE, axes_for, check_least, name_bars, plain, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LONGEST_NAME = 30
_LONGEST_CLASS = 24
_MOST_CLASSES = 4  # that a title lists
_BAR = 0.62  # height
_ORDINARY, _ODD, _OUTSIDE = "#5b7083", "#c0562b", "#9a9a9a"


def plot_contributions(
    estimator: FERLClassifier,
    x: Any,
    *,
    against: Any = None,
    max_features: int = 10,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How the features of one row lead from the average training row to its answer: a waterfall of log-odds.

    Each bar starts where the one above it ends. It has the colour of the class that the feature supports, and its
    length is the effect of the feature compared with its average effect. Two classes: the second label is compared with
    the first. With three or more classes, the most probable class is compared with the next, or with ``against``. For
    rules.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
        The row.
    against : object, default=None
        With three or more classes, the label that the most probable one is compared with; None: the next most probable.
    max_features : int, default=10
        The features that add least are drawn as one bar where there are more.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    class_names : sequence of str, default=None
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_contributions
    >>> iris = load_iris()
    >>> clf = FERLClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_contributions(clf, iris.data[0], class_names=iris.target_names, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'log-odds of setosa against versicolor'
    """
    model = model_of(estimator, "plot_contributions", RuleModel, "ferl.plot.plot_evidence")
    check_least("max_features", max_features)
    labels = [shortened(label, _LONGEST_NAME) for label in reader_classes(model.labels, class_names)]
    story = estimator.explain(x, feature_names=feature_names, counterfactual=False)
    story = story if against is None else story.against(against)
    balance = story.balance
    assert balance is not None  # rules have one
    steps = _largest([(_feature_text(part), balance.moves(part)) for part in balance.features], max_features)
    ax = axes_for("plot_contributions", ax, (6.2, 1.3 + 0.32 * (len(steps) + 2)))
    levels = _draw_waterfall(ax, balance, [move for _, move in steps], class_colours(len(labels)))
    name_bars(ax, ["average training row", *(name for name, _ in steps), "this row"])
    ax.set_ylim(len(steps) + 1.6, -0.6)
    room = 0.14 * max(float(np.ptp([*levels, 0.0])), 0.1)  # for the weights behind the bars
    ax.set_xlim(min(0.0, *levels) - room, max(0.0, *levels) + room)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=0)
    towards, other = (labels[c] for c in balance.compared)
    ax.set_xlabel(f"log-odds of {towards} against {other}")
    answer = f"{labels[story.best]} ({percent_text(story.probability[story.best])})"
    ax.set_title(plain("no answer" if story.abstains else answer), loc="left", fontsize=10)
    return ax


def _feature_text(part: Any) -> str:
    return f"{shortened(part.feature, _LONGEST_NAME)} = {shortened(value_text(part.value), 14)}"


def _largest(parts: list[tuple[str, float]], most: int) -> list[tuple[str, float]]:
    """The first parts, and the sum of the others as one."""
    if len(parts) <= most:
        return parts
    rest = parts[most - 1 :]
    return [*parts[: most - 1], (f"{len(rest)} other features", sum(size for _, size in rest))]


def _draw_waterfall(ax: Axes, balance: Balance, moves: list[float], colours: list[str]) -> list[float]:
    """Bars that start where the one above ends; returns the ends."""
    number: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": INK}
    towards, against = balance.compared
    levels = [balance.apart(balance.base)]
    ax.plot([levels[0]] * 2, [-0.4, 0.7], color=FAINT, linewidth=0.8)
    ax.text(levels[0], 0, f" {weight_text(levels[0])}", va="center", fontsize=8, color=INK)
    for position, move in enumerate(moves, 1):
        start, end, is_for = levels[-1], levels[-1] + move, move >= 0
        colour = colours[towards if is_for else against]
        ax.barh(position, move, _BAR, left=start, color=colour, gid=f"step-{position}")
        # The weight stands behind the end of the bar, away from where it starts.
        side = "left" if is_for else "right"
        ax.annotate(weight_text(move), (end, position), (3 if is_for else -3, 0), ha=side, **number)
        ax.plot([end, end], [position + _BAR / 2, position + 1], color=FAINT, linewidth=0.8, zorder=0)
        levels.append(end)
    last = (levels[-1], len(moves) + 1)
    ax.plot(*last, marker="D", markersize=5, markerfacecolor="white", markeredgecolor=INK)
    ax.annotate(weight_text(levels[-1]), last, (6, 0), fontweight="bold", **number)
    return levels


def plot_importance(
    estimator: FERLClassifier,
    *,
    max_features: int = 15,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How much each feature matters: ``feature_importances_`` as bars, the largest first.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    max_features : int, default=15
        Largest number of bars; the number of omitted features is printed below.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_importance
    >>> iris = load_iris()
    >>> clf = FERLClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_importance(clf, feature_names=iris.feature_names, ax=Figure().subplots())
    >>> ax.get_yticklabels()[0].get_text()
    'petal length (cm)'
    """
    model = model_of(estimator, "plot_importance")
    check_least("max_features", max_features)
    names, _ = reader_names(model, feature_names, None)
    importance = feature_importances(model)
    order = [f for f in np.argsort(-importance, kind="stable").tolist() if importance[f] > 0]
    shown = order[:max_features]
    ax = axes_for("plot_importance", ax, (5.2, 0.9 + 0.28 * max(len(shown), 1)))
    for position, share in enumerate(importance[shown].tolist()):
        ax.barh(position, share, _BAR, color=_ORDINARY)
        ax.text(share, position, f" {percent_text(share)}", va="center", fontsize=8, color=INK)
    name_bars(ax, [shortened(names[f], _LONGEST_NAME) for f in shown])
    ax.margins(x=0.12)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    hidden, unused = len(order) - len(shown), len(importance) - len(order)
    notes = [f"{hidden} that matter less"] * (hidden > 0) + [f"{unused} that no rule reads"] * (unused > 0)
    missing = f"\nnot shown: {' and '.join(notes)}" if notes else ""
    ax.set_xlabel(f"importance, of 100 %{missing}", fontsize=8.5)
    return ax


def plot_novelty(
    estimator: FERLClassifier,
    x: Any,
    *,
    max_features: int = 10,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What each feature adds to the novelty of one row: bars, the largest first.

    A bar is red if the value is clearly unlike the values of the training rows around it; the usual values are printed
    behind it. The title has the share of training rows that are less novel.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
        The row.
    max_features : int, default=10
        The features that add least are drawn as one bar where there are more.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_novelty
    >>> iris = load_iris()
    >>> clf = FERLClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_novelty(clf, [5.0, 3.4, 1.5, 2.4], feature_names=iris.feature_names, ax=Figure().subplots())
    >>> print(ax.get_title(loc="left"))
    Very unusual:
    more unusual than all training rows that were compared
    """
    model_of(estimator, "plot_novelty")
    check_least("max_features", max_features)
    story = estimator.explain(x, feature_names=feature_names, counterfactual=False)
    if not np.isfinite(story.novelty):
        raise ValueError("The novelty of the row is too large to be drawn; a value is far beyond what can be measured.")
    parts = [part for part in story.novelty_parts if part.part > 0]
    bars = _largest([(_feature_text(part), part.part) for part in parts], max_features)
    colours = [_ODD if part.is_unusual else _ORDINARY for part in parts[: len(bars)]]
    if len(bars) < len(parts):
        colours[-1] = _ORDINARY
    ax = axes_for("plot_novelty", ax, (6.2, 1.3 + 0.32 * max(len(bars), 1)))
    for position, ((_, length), colour) in enumerate(zip(bars, colours, strict=True)):
        ax.barh(position, length, _BAR, color=colour, gid=f"part-{position}")
        ax.text(length, position, f" {length:.3g}", va="center", fontsize=8, color=INK)
    name_bars(ax, [name for name, _ in bars])
    ax.margins(x=0.14)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"novelty, {story.novelty:.3g} in all", fontsize=8.5)
    rank = story.novelty_rank
    title = "novelty by feature" if rank is None else novelty_verdict(rank, story.is_outside).replace(": ", ":\n")
    ax.set_title(title, loc="left", fontsize=10)
    return ax


def plot_evidence(
    estimator: FERLClassifier | CalibratedFERL,
    x: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Belief and plausibility of every class for one row.

    A bar is full up to the belief and pale from there to the plausibility. The pale part is the ignorance, equally long
    for all classes. The diamond is the probability, which the label maximises. A class outside the prediction set is
    grey. Trees: a class is in the set where its bar reaches the dashed line, the largest belief. Rules: the fewest most
    probable classes whose beliefs sum to 2/3 are in the set, and the axis has the number of training rows that the
    answer rests on.

    Parameters
    ----------
    estimator : FERLClassifier or CalibratedFERL
        Fitted.
    x : array-like of shape (n_features,) or (1, n_features), or data frame of one row
        The row.
    class_names : sequence of str, default=None
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    legend : bool, default=True
        Say below what the parts of the bars are.
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
    >>> from ferl.plot import plot_evidence
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_evidence(clf, iris.data[0], class_names=iris.target_names, ax=Figure().subplots())
    >>> ax.get_title(loc="left")
    'setosa'
    """
    if not hasattr(estimator, "predict_evidence"):
        raise TypeError(
            f"plot_evidence got a {type(estimator).__name__}; pass the fitted FERLClassifier inside it, for example "
            "pipeline[-1] or search.best_estimator_."
        )
    inner = getattr(estimator, "estimator_", estimator)  # the model inside has the meaning of the labels
    known = inner.model_.labels if hasattr(inner, "model_") else estimator.classes_
    names = [shortened(label, _LONGEST_CLASS) for label in reader_classes(known, class_names)]
    evidence = _of_one_row(estimator, x)
    ax = axes_for("plot_evidence", ax, (5.2, 1.1 + 0.36 * len(names)))
    belief, in_set, positions = evidence.belief[0], evidence.prediction_set()[0].tolist(), range(len(names))
    colours = [c if inside else _OUTSIDE for c, inside in zip(class_colours(len(names)), in_set, strict=True)]
    pale = [tint(colour, 0.35) for colour in colours]
    ax.barh(positions, 1.0, _BAR, color="#f4f4f4", label="_track")
    ax.barh(positions, evidence.plausibility[0] - belief, _BAR, left=belief, color=pale, label="plausibility")
    ax.barh(positions, belief, _BAR, color=colours, label="belief")
    rests, line = "", None
    if (rows := evidence.figures.get("rows")) is not None:
        rests = f"; rests on {rows_text(float(rows[0]))}"
    else:
        line = ax.axvline(float(belief.max()), color=INK, linestyle="--", linewidth=1, label="largest belief")
    diamond: dict[str, Any] = {"markersize": 4.5, "markerfacecolor": "white", "markeredgecolor": INK, "clip_on": False}
    (diamonds,) = ax.plot(evidence.probability[0], positions, "D", label="probability", **diamond)
    name_bars(ax, names, None)
    for text, inside in zip(ax.get_yticklabels(), in_set, strict=True):
        text.set_color(INK if inside else FAINT)
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"mass of evidence (ignorance {evidence.ignorance[0]:.2f}{rests})")
    ax.set_title(_answer(names, in_set), loc="left", fontsize=10)
    if legend:
        _draw_legend(ax, diamonds, line)
    return ax


def _of_one_row(estimator: FERLClassifier | CalibratedFERL, x: Any) -> Evidence:
    # As a list of one row: an array of one would turn numbers into text beside a category.
    is_bare = isinstance(x, list | tuple | np.ndarray) and np.ndim(np.asarray(x, dtype=object)) == 1
    evidence = estimator.predict_evidence([list(x)] if is_bare else x)
    if len(evidence) != 1:
        raise ValueError(f"plot_evidence is about one row; x has {len(evidence)}. Call it once for each.")
    return evidence


def _draw_legend(ax: Axes, diamonds: Line2D, line: Line2D | None) -> None:
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    # In points below the Axes, so that it clears the label of the axis whatever the height of the Axes.
    below = ax.transAxes + ScaledTranslation(0, -32 / 72, cast("Figure", ax.figure).dpi_scale_trans)
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": below}
    handles: list[Any] = [Patch(color="#666666"), Patch(color=PALE), diamonds, *([] if line is None else [line])]
    words = ["belief", "up to plausibility", "probability", "largest belief"][: len(handles)]
    ax.legend(handles, words, fontsize=7.5, frameon=False, ncols=4, columnspacing=1.2, handlelength=1.6, **place)


def _answer(names: list[str], in_set: list[bool]) -> str:
    """The prediction set in words."""
    chosen = [name for name, inside in zip(names, in_set, strict=True) if inside]
    if 1 < len(chosen) == len(names):
        return "no answer"
    more = f" and {len(chosen) - _MOST_CLASSES} more" if len(chosen) > _MOST_CLASSES else ""
    return " or ".join(chosen[:_MOST_CLASSES]) + more
