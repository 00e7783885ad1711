"""What features add: the waterfall of one row, and the importance of all features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl._answers import model_of
from ferl._read.explanation import feature_importances
from ferl._read.explanation.balance import Balance
from ferl._read.text import checked_class_names, shown_names
from ferl._read.wide_text import weight_text
from ferl._util.text import class_colours, percent_text, value_text
from ferl.plot.canvas import FAINT, INK, axes_for, bare, plain, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 30
_BAR = 0.62  # height


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

    Each bar starts where the one above it ends. It has the colour of the class that the feature speaks for, and is as
    long as what the feature adds beside what it adds on average. Of two classes the second label is weighed against the
    first one, of several the most probable class against the next, or against another. For wide models.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted with ``variant="wide"``.
    x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
        The row.
    against : object, default=None
        Of several classes: the label that the most probable one is weighed against; None: the next most probable.
    max_features : int, default=10
        The features that add least are drawn as one bar where there are more.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
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
    model = model_of(estimator, "plot_contributions")
    model.rule_weights  # noqa: B018 - an error for other models
    if max_features < 1:
        raise ValueError(f"max_features is {max_features}; it must be at least 1.")
    labels = [shortened(label, _LONGEST_NAME) for label in checked_class_names(model.labels, class_names)]
    story = estimator.explain(x, feature_names=feature_names, counterfactual=False)
    story = story if against is None else story.against(against)
    balance = story.balance
    assert balance is not None  # a wide model has one
    steps = _steps(balance, max_features)
    ax = axes_for("plot_contributions", ax, (6.2, 1.3 + 0.32 * (len(steps) + 2)))
    _draw_steps(ax, balance, steps, class_colours(len(labels)))
    _finish(ax, balance, steps, labels)
    answer = f"{labels[story.best]} ({percent_text(story.probability[story.best])})"
    ax.set_title(plain("no answer" if story.abstains else answer), loc="left", fontsize=10)
    return ax


def _steps(balance: Balance, most: int) -> list[tuple[str, float]]:
    """Features and what they add, the largest first; the smallest ones together."""
    steps = [
        (f"{shortened(part.feature, _LONGEST_NAME)} = {shortened(value_text(part.value), 14)}", balance.moves(part))
        for part in balance.features
    ]
    if len(steps) > most:
        rest = steps[most - 1 :]
        steps = [*steps[: most - 1], (f"{len(rest)} other features", sum(move for _, move in rest))]
    return steps


def _draw_steps(ax: Axes, balance: Balance, steps: list[tuple[str, float]], colours: list[str]) -> None:
    towards, against = balance.compared
    level = balance.apart(balance.base)
    ax.plot([level, level], [-0.4, 0.7], color=FAINT, linewidth=0.8)
    ax.text(level, 0, f" {weight_text(level)}", va="center", fontsize=8, color=INK)
    for position, (_, move) in enumerate(steps, 1):
        colour = colours[towards if move >= 0 else against]
        ax.barh(position, move, _BAR, left=level, color=colour, gid=f"step-{position}")
        # The weight stands behind the end of the bar, away from where it starts.
        side = "left" if move >= 0 else "right"
        ax.annotate(
            weight_text(move),
            (level + move, position),
            (3 if move >= 0 else -3, 0),
            textcoords="offset points",
            va="center",
            ha=side,
            fontsize=8,
            color=INK,
        )
        level += move
        ax.plot([level, level], [position + _BAR / 2, position + 1], color=FAINT, linewidth=0.8, zorder=0)
    ax.plot(level, len(steps) + 1, marker="D", markersize=5, markerfacecolor="white", markeredgecolor=INK)
    ax.annotate(
        weight_text(level),
        (level, len(steps) + 1),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK,
        fontweight="bold",
    )


def _finish(ax: Axes, balance: Balance, steps: list[tuple[str, float]], labels: list[str]) -> None:
    names, moves = [name for name, _ in steps], [move for _, move in steps]
    towards, against = (labels[c] for c in balance.compared)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names) + 2), ["average training row", *names, "this row"], fontsize=8.5)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) + 1.6, -0.6)
    levels = np.cumsum([balance.apart(balance.base), *moves])
    room = 0.14 * max(float(np.ptp([*levels, 0.0])), 0.1)  # for the weights behind the bars
    ax.set_xlim(min(0.0, float(levels.min())) - room, max(0.0, float(levels.max())) + room)
    ax.set_xlabel(f"log-odds of {towards} against {against}")
    bare(ax)


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
        At most this many bars; how many features are left out is said below.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
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
    if max_features < 1:
        raise ValueError(f"max_features is {max_features}; it must be at least 1.")
    names, _ = shown_names(model, feature_names, None)
    importance = feature_importances(model)
    order = [f for f in np.argsort(-importance, kind="stable").tolist() if importance[f] > 0]
    shown = order[:max_features]
    ax = axes_for("plot_importance", ax, (5.2, 0.9 + 0.28 * max(len(shown), 1)))
    ax.barh(range(len(shown)), importance[shown], _BAR, color="#5b7083")
    for position, feature in enumerate(shown):
        text = f" {percent_text(float(importance[feature]))}"
        ax.text(float(importance[feature]), position, text, va="center", fontsize=8, color=INK)
    ax.set_yticks(range(len(shown)), [shortened(names[f], _LONGEST_NAME) for f in shown], fontsize=8.5)
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.12)
    ax.set_xticks([])
    bare(ax)
    ax.spines["bottom"].set_visible(False)
    hidden = len(order) - len(shown)
    unused = len(importance) - len(order)
    notes = [f"{hidden} that matter less"] * (hidden > 0) + [f"{unused} that no rule asks"] * (unused > 0)
    missing = f" (not shown: {' and '.join(notes)})" if notes else ""
    ax.set_xlabel(f"importance, of 100 %{missing}", fontsize=8.5)
    return ax
