"""Membership functions of one feature: its words, or the bands of a learned tree's splits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ferl._answers import model_of
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._models.words import LinguisticVariable
from ferl._read.rules import Bound
from ferl._read.text import shown_names
from ferl._util.text import class_colours, shown, tint
from ferl.plot.canvas import INK, axes_for, bare, feature_index, plain, shortened, write_values
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 18


def plot_memberships(
    estimator: FERLClassifier,
    feature: int | str,
    *,
    feature_names: Sequence[str] | None = None,
    max_splits: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """How much each value of a feature belongs to a word, or to the left side of a split.

    Models in words: a line for each word of the feature. Trees with learned splits: a line for each split on it, which
    falls from one to zero inside the band; where lines are many, those of the heaviest splits. Features that are
    categories: a group of bars for each category, of its memberships in the left sides of the splits (or in the words
    that rules use).

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature : int or str
        Its number or its name.
    feature_names : sequence of str, default=None
        Names of the features; by default those of the training table.
    max_splits : int, default=6
        Draw at most so many splits.
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
    >>> from ferl.plot import plot_memberships
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
    >>> ax = plot_memberships(clf, 2, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['below 2.46 ±0.09']
    """
    if max_splits < 1:
        raise ValueError(f"max_splits is {max_splits}; it must be at least 1.")
    model = model_of(estimator, "plot_memberships")
    if model.words is None:  # the ramps of wide rules are no splits
        model = model_of(estimator, "plot_memberships", TreeModel, "ferl.plot.plot_shapes")
    names, _ = shown_names(model, feature_names, None)
    index = feature_index(feature, names[: model.n_features], model.feature_names())
    tree = model.tree
    variable = model.words[index] if model.words is not None else None
    nodes = _conditions_on(tree, index)
    if variable is None and not nodes.size:
        used = [names[j] for j in np.unique(tree.feature[1:]) if j < model.n_features]
        asked = f"Choose one that they ask: {shown(used)}." if used else "They ask for none."
        raise ValueError(f"No rule asks for feature {shown(names[index])}. {asked}")
    ax = axes_for("plot_memberships", ax, (5.6, 3.0))
    categories = model.category_names.get(index)
    if categories is not None:
        _draw_categories(ax, tree, nodes[:max_splits], categories)
    elif variable is not None:
        _draw_words(ax, variable, _span(tree, index, [end for own in variable.sets for end in own.ends]))
    else:
        ends = tree.trapezoid[nodes, 2:].ravel().tolist()
        _draw_bands(ax, tree, nodes[:max_splits], _span(tree, index, ends))
    if categories is None and len(nodes) > max_splits and variable is None:
        ax.set_title(f"the {max_splits} heaviest of {len(nodes)} splits", fontsize=9, loc="right")
    unit = f" ({plain(variable.unit)})" if variable is not None and variable.unit else ""
    ax.set_xlabel(plain(names[index]) + unit)
    write_values(ax.xaxis, model.column_kind(index))
    ax.set_ylabel("membership")
    ax.set_ylim(0, 1.04)
    bare(ax)
    return ax


def _conditions_on(tree: FuzzyTree, feature: int) -> NDArray[np.intp]:
    """Nodes with a condition on the feature, heaviest parent first: of a split the left side, of words all, once each.

    Words may stand at several nodes; the first of those with the same word is enough.
    """
    nodes = np.flatnonzero(tree.feature == feature)
    if tree.word:
        first = {tree.word[node]: node for node in nodes[::-1]}
        return np.array(sorted(first.values()), dtype=np.intp)
    left = nodes[nodes == tree.parent[nodes] + 1]  # a split's left side comes right after it
    return np.asarray(left[np.argsort(-tree.weight[tree.parent[left]], kind="stable")])


def _span(tree: FuzzyTree, feature: int, ends: Sequence[float]) -> tuple[float, float]:
    """Values to draw: those that training rows had at any condition on the feature, and all ends of its sets."""
    seen = tree.support[tree.feature == feature].ravel()
    values = [value for value in (*seen.tolist(), *ends) if math.isfinite(value)]
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _draw_words(ax: Axes, variable: LinguisticVariable, span: tuple[float, float]) -> None:
    for own, colour in zip(variable.sets, class_colours(len(variable.sets)), strict=True):
        corners = sorted({span[0], span[1], *(end for end in own.ends if math.isfinite(end))})
        # Just outside an upright side the membership is zero: without these values it would be drawn as a slope.
        values = np.array([x for end in corners for x in (np.nextafter(end, -np.inf), end, np.nextafter(end, np.inf))])
        membership = own.membership(values)
        ax.plot(values, membership, color=colour, linewidth=1.8, label=plain(own.name))
        ax.fill_between(values, membership, color=colour, alpha=0.10, linewidth=0)
        core = (max(own.b, span[0]) + min(own.c, span[1])) / 2
        ax.text(core, 1.05, shortened(own.name, _LONGEST_NAME), color=colour, ha="center", va="bottom", fontsize=9)
    ax.set_xlim(*span)


def _draw_bands(ax: Axes, tree: FuzzyTree, nodes: NDArray[np.intp], span: tuple[float, float]) -> None:
    for node, colour in zip(nodes, class_colours(len(nodes)), strict=True):
        low, high = tree.trapezoid[node, 2:]
        bound = Bound((low + high) / 2, (high - low) / 2)
        ax.axvspan(low, high, color=tint(colour, 0.22), linewidth=0, zorder=0)
        ax.plot([span[0], low, high, span[1]], [1, 1, 0, 0], color=colour, linewidth=1.8, label=f"below {bound.text()}")
    ax.set_xlim(*span)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _draw_categories(ax: Axes, tree: FuzzyTree, nodes: NDArray[np.intp], categories: Sequence[object]) -> None:
    width = 0.8 / len(nodes)
    for turn, (node, colour) in enumerate(zip(nodes, class_colours(len(nodes)), strict=True)):
        membership = np.nan_to_num(tree.memberships(int(node)))
        shift = (turn - (len(nodes) - 1) / 2) * width
        name = tree.word[node] if tree.word else f"split of {tree.weight[tree.parent[node]]:.0f} rows"
        positions = np.arange(len(membership)) + shift
        ax.bar(positions, membership, width * 0.9, color=colour, label=shortened(name, 2 * _LONGEST_NAME))
    crowded = sum(len(str(category)) for category in categories) > 40
    named = [shortened(category, _LONGEST_NAME) for category in categories]
    ax.set_xticks(range(len(categories)), named, rotation=45 if crowded else 0, ha="right" if crowded else "center")
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
