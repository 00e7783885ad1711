"""Trees: the whole tree as a picture, and the membership functions of one feature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.tree import Folded, FuzzyTree, fold
from ferl._models.tree_model import TreeModel
from ferl._models.words import LinguisticVariable
from ferl._tell.conditions import LEAST_LISTED, Bound, listed_categories, threshold_text
from ferl._tell.statements import probability_text, reader_names
from ferl._util.arrays import Floats
from ferl._util.text import class_colours, shown, tint
from ferl.plot.canvas import (
    FAINT,
    INK,
    PALE,
    axes_for,
    bare,
    check_least,
    class_patches,
    drawn_feature,
    plain,
    shortened,
    write_categories,
    write_values,
)
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Sizes in inches at the default size of the figure; letters shrink with smaller Axes.
_ROW, _ROW_OF_WORDS = 0.31, 0.36
_LEVEL = 1.52  # from a split to the next
_INDENT = 0.34  # of a word below another one
_LETTER = 0.064  # of a condition in words
_PANEL = 1.08  # width of the picture of a split
_HEIGHT = 0.2  # of a membership of one
_TOP = 0.36
_SHARES = 1.15
_NAME, _NUMBER = 8.0, 7.0  # points
_LONGEST_NAME, _LONGEST_CONDITION = 20, 48
_SMALLEST = 0.35  # size of the letters, relative to the sheet
_MAX_LEGEND = 14
_BAND = "#8f9ba5"  # where both sides of a split fire: no colour, since those are classes
_SIDE = "#d5dbe0"  # membership of the left side, or of a word
_GREY = "#777777"


@dataclass(frozen=True)
class Layout:
    """Positions of the nodes that are drawn.

    Attributes
    ----------
    folded : Folded
        Which these are.
    row : dict of int to float
        Position of each from the top, in rows.
    ends : tuple of int
        Nodes that have a row, from the top: they show what they hold.
    """

    folded: Folded
    row: dict[int, float]
    ends: tuple[int, ...]


def lay_out(
    tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None, min_weight: float = 0.0
) -> Layout:
    """Positions for a tree: of learned splits, or of words.

    Splits stand between their two sides, and rules are rows. In a tree of words every node is a source of evidence,
    so each has a row, its children below it.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth, max_rules, min_weight : default=None, None, 0.0
        As in :func:`ferl._models.tree.fold`.

    Returns
    -------
    Layout
    """
    folded = fold(tree, max_depth, max_rules, min_weight)
    shown, children = folded.nodes, folded.children
    has_words = bool(tree.word) and len(shown) > 1
    ends = tuple(node for node in shown if (node > 0 if has_words else node not in children))
    row: dict[int, float] = {node: float(index) for index, node in enumerate(ends)}
    for node in reversed(shown):  # children come before their parents
        if node not in row:
            row[node] = (row[children[node][0]] + row[children[node][-1]]) / 2
    return Layout(folded, row, ends)


def plot_tree(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    max_rules: int | None = 50,
    min_weight: float = 0.0,
    decimals: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The tree from left to right, a row for each rule.

    A learned split shows the range that its rows had and the membership of its upper branch (below the threshold),
    which falls inside the band, coloured: there both branches fire. Categories are small bars of their membership in
    the upper branch. A branch is as thick as the training weight that takes it, and has the colour of its most probable
    class. Each row ends with the shares of the classes, the label with its confidence, and the share of the training
    weight. In a tree of words every node is a source of evidence, so each has a row, indented below the one it
    continues.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    max_depth : int, default=None
        Fold up what lies below this depth; 0 is the root alone.
    max_rules : int, default=50
        Draw at most this many ends of paths, the heaviest subtrees unfolded first; folded subtrees show their number of
        rules. None: all. On small Axes more subtrees are folded, so no texts overlap.
    min_weight : float, default=0.0
        Fold up subtrees that have less than this share of the training weight.
    decimals : int, default=None
        Digits after the point of thresholds; by default enough digits for the half-width of the band.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure, which is as large as the tree needs.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Artists carry ids, which matplotlib also writes into SVG files: ``band-0`` is the band of the split at node 0 of
    ``tree_``, ``share-3-1`` the part of the second class in the bar of node 3.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, plot_tree
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_tree(clf, class_names=iris.target_names, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts if "±" in text.get_text()]
    ['2.46 ±0.09', '1.68 ±0.06']
    """
    if decimals is not None and decimals < 0:
        raise ValueError(f"decimals is {decimals}; it must be at least 0, or None.")
    model = model_of(estimator, "plot_tree", TreeModel, "ferl.plot.plot_shapes")
    names, labels = reader_names(model, feature_names, class_names)
    drawing = _Drawing(model, names, labels, decimals, lay_out(model.tree, max_depth, max_rules, min_weight))
    while ax is not None and drawing.ratio_on(ax) < _SMALLEST and len(drawing.layout.ends) > 1:
        fewer = len(drawing.layout.ends) - 1
        drawing = _Drawing(model, names, labels, decimals, lay_out(model.tree, max_depth, fewer, min_weight))
    scale = 1.0 if ax is None else float(np.clip(drawing.ratio_on(ax), _SMALLEST, 1.3))
    ax = axes_for("plot_tree", ax, (drawing.width, drawing.height + 0.35))
    drawing.draw(ax, scale)
    return ax


class _Drawing:
    """One tree on one sheet."""

    ax: Axes
    scale: float

    def __init__(self, model: Model, names: list[str], labels: list[Any], decimals: int | None, layout: Layout) -> None:
        self.model, self.tree, self.categories = model, model.tree, model.category_names
        self.names, self.labels, self.decimals, self.layout = names, labels, decimals, layout
        self.colours = class_colours(len(labels))
        depth = max(int(self.tree.depth[node]) for node in layout.row)
        if self.tree.word:
            letters = max(len(self._condition_text(node)) for node in layout.ends)
            self.table = 0.3 + _INDENT * max(depth - 1, 0) + _PANEL * 0.6 + _LETTER * letters
        else:
            self.table = 0.1 + _LEVEL * depth + 0.15
        self.row = _ROW_OF_WORDS if self.tree.word else _ROW
        self.label = self.table + _SHARES + 0.1
        self.confidence = self.label + 0.8 + _LETTER * max(len(shortened(label, _LONGEST_NAME)) for label in labels)
        self.width = self.confidence + (1.6 if layout.folded.n_hidden else 0.75)
        self.height = _TOP + self.row * len(layout.ends)

    def ratio_on(self, ax: Axes) -> float:
        """Size of Axes relative to the sheet."""
        size = ax.get_position().size * cast("Figure", ax.figure).get_size_inches()
        return float(min(size[0] / self.width, size[1] / self.height))

    def draw(self, ax: Axes, scale: float) -> None:
        """Draw everything, with letters scaled by this factor."""
        self.ax, self.scale = ax, scale
        ax.set_xlim(0, self.width)
        ax.set_ylim(self.height, 0)
        ax.axis("off")
        if self.tree.word:
            for node in self.layout.ends:
                self._draw_word(node)
        else:
            for node, sides in self.layout.folded.children.items():
                self._draw_split(node, sides)
        self._draw_table()
        self._draw_legend()

    def _y(self, node: int) -> float:
        return _TOP + self.row * (self.layout.row[node] + 0.5)

    def _text(self, x: float, y: float, text: str, size: float = _NAME, **style: Any) -> None:
        self.ax.text(x, y, text, fontsize=size * self.scale, **{"color": INK, "va": "center", **style})

    def _rectangle(
        self, left: float, base: float, width: float, height: float, colour: str, gid: str, **style: Any
    ) -> None:
        from matplotlib.patches import Rectangle

        style = {"edgecolor": "none", "linewidth": 0, **style}
        self.ax.add_patch(Rectangle((left, base - height), width, height, facecolor=colour, gid=gid, **style))

    def _draw_split(self, node: int, sides: Sequence[int]) -> None:
        side, left, middle = sides[0], 0.1 + _LEVEL * int(self.tree.depth[node]), self._y(node)
        feature, base, signs = int(self.tree.feature[side]), middle + 0.07, ("<", ">")
        if feature in self.categories:
            membership, signs = np.nan_to_num(self.tree.memberships(side)), ("∈", "∉")
            self._draw_categories(left, base, _PANEL, membership, node)
            inside = tuple((code, float(item)) for code, item in enumerate(membership) if item >= LEAST_LISTED)
            below = shortened(f"{{{listed_categories(inside, self.categories[feature])}}}", _LONGEST_NAME + 6)
        else:
            low, high = (float(end) for end in self.tree.trapezoid[side, 2:])
            place = self._draw_membership(left, base, _PANEL, side, [(low, 1.0), (high, 0.0)], f"side-{node}")
            # Over the membership; a narrow band stays visible by its outline.
            style = {"edgecolor": _BAND, "linewidth": 0.8, "alpha": 0.7}
            self._rectangle(place(low), base, place(high) - place(low), _HEIGHT, _BAND, f"band-{node}", **style)
            below = threshold_text(self.model.column_kinds[feature], low, high, self.decimals)
        centre, name = left + _PANEL / 2, shortened(self.names[feature], _LONGEST_NAME)
        self._text(centre, middle - 0.145, name, ha="center", va="bottom", fontweight="bold")
        self._text(centre, middle + 0.105, below, _NUMBER, ha="center", va="top", color="#555555")
        for branch, sign in zip(sides, signs, strict=True):
            self._draw_branch(left + _PANEL + 0.05, middle, branch, sign)

    def _draw_membership(
        self, left: float, base: float, width: float, node: int, corners: list[tuple[float, float]], gid: str
    ) -> Callable[[float], float]:
        """A membership over the range of its rows, level beyond its corners; returns where a value is drawn."""
        from matplotlib.patches import Polygon

        low, high = (float(end) for end in self.tree.support[node])

        def place(value: float) -> float:
            share = (min(max(value, low), high) - low) / (high - low) if high > low else 0.5
            return left + width * share

        values, heights = zip(*corners, strict=True)
        # On an upright side a value is a member.
        ends = [
            (end, max((h for x, h in corners if x == end), default=float(np.interp(end, values, heights))))
            for end in (low, high)
        ]
        points = [ends[0], *(corner for corner in corners if low < corner[0] < high), ends[1]]
        line = np.array([(place(value), base - _HEIGHT * height) for value, height in points])
        area = np.array([(place(low), base), *line, (place(high), base)])
        self.ax.add_patch(Polygon(area, closed=True, facecolor=_SIDE, edgecolor="none", gid=f"{gid}-area"))
        self.ax.plot(*line.T, color=INK, linewidth=0.9, gid=gid, solid_joinstyle="round")
        self.ax.plot([left, left + width], [base, base], color=FAINT, linewidth=0.6)
        return place

    def _draw_categories(self, left: float, base: float, width: float, membership: Floats, node: int) -> None:
        """A bar for each category: its membership in the left side of a split, or in a word."""
        step = width / len(membership)
        for code, value in enumerate(membership.tolist()):
            start = left + step * (code + 0.1)
            self._rectangle(start, base, 0.8 * step, _HEIGHT, PALE, f"track-{node}-{code}")
            self._rectangle(start, base, 0.8 * step, _HEIGHT * value, "#7b8a96", f"category-{node}-{code}")
        self.ax.plot([left, left + width], [base, base], color=FAINT, linewidth=0.6)

    def _draw_branch(self, start: float, middle: float, side: int, sign: str) -> None:
        """An elbow from a split to the next one, or to the row where the path ends."""
        y, elbow = self._y(side), start + 0.12
        is_end = side not in self.layout.folded.children
        end = self.table - 0.04 if is_end else start - _PANEL - 0.05 + _LEVEL - 0.04
        style = (0, (3, 2)) if side in self.layout.folded.n_hidden else "solid"
        self._draw_line([start, elbow, elbow, end], [middle, middle, y, y], side, linestyle=style)
        away = -0.07 if y < middle else 0.07
        self._text(elbow + 0.05, y + away, sign, 6.5, color=_GREY, gid=f"sign-{side}")

    def _draw_line(self, x: list[float], y: list[float], node: int, **style: Any) -> None:
        """A branch: the colour of the most probable class, as thick as the training weight."""
        share = self.tree.consequent[node]
        colour = tint(self.colours[int(np.argmax(share))], 0.3 + 0.6 * float(share.max()))
        width = (0.7 + 4.5 * float(self.tree.weight[node] / self.tree.weight[0])) * self.scale
        style = {"color": colour, "linewidth": width, "solid_joinstyle": "round", "zorder": 1, **style}
        self.ax.plot(x, y, gid=f"branch-{node}", **style)

    def _draw_word(self, node: int) -> None:
        if node == 0:
            return
        feature, parent, width = int(self.tree.feature[node]), int(self.tree.parent[node]), _PANEL * 0.6
        left, middle = 0.1 + _INDENT * (int(self.tree.depth[node]) - 1), self._y(node)
        if parent > 0:
            x = left - _INDENT + 0.12
            self._draw_line([x, x, left - 0.03], [self._y(parent) + 0.13, middle, middle], node)
        if feature in self.categories:
            membership = np.nan_to_num(self.tree.memberships(node))
            self._draw_categories(left, middle + 0.1, width, membership, node)
        else:
            ends = zip(self.tree.trapezoid[node].tolist(), (0.0, 1.0, 1.0, 0.0), strict=True)
            corners = [corner for corner in ends if math.isfinite(corner[0])]
            self._draw_membership(left, middle + 0.1, width, node, corners, f"word-{node}")
        self._text(left + width + 0.08, middle, self._condition_text(node))

    def _condition_text(self, node: int) -> str:
        """The condition of a node, in words."""
        if node == 0:
            return "always"
        beginning = "and" if self.tree.parent[node] > 0 else "if"
        name, word = self.names[self.tree.feature[node]], self.tree.word[node]
        return shortened(f"{beginning} {name} is {word}", _LONGEST_CONDITION)

    def _draw_table(self) -> None:
        """Class shares, label and share of the training weight of every row."""
        left, weight = self.table, self.confidence + 0.65
        columns = (left, "shares of classes", "left"), (self.label, "label", "left")
        for x, name, side in (*columns, (self.confidence, "confidence", "right"), (weight, "weight", "right")):
            self._text(x, _TOP - 0.1, name, _NUMBER, color=FAINT, ha=side)
        for node in self.layout.ends:
            y, shares = self._y(node), self.tree.consequent[node]
            ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())]) * _SHARES
            for c, colour in enumerate(self.colours):
                self._rectangle(left + ends[c], y + 0.085, ends[c + 1] - ends[c], 0.17, colour, f"share-{node}-{c}")
            best, share = int(np.argmax(shares)), float(self.tree.weight[node] / self.tree.weight[0])
            self._text(self.label, y, shortened(self.labels[best], _LONGEST_NAME), gid=f"label-{node}")
            self._text(self.confidence, y, probability_text(float(shares[best])), ha="right")
            self._text(weight, y, f"{share:.0%}" if share >= 0.01 else "<1%", ha="right")
            n_hidden = self.layout.folded.n_hidden.get(node)
            if n_hidden is not None:
                self._text(weight + 0.15, y, f"+ {n_hidden} rules", _NUMBER, color=_GREY)

    def _draw_legend(self) -> None:
        from matplotlib.patches import Patch

        entries = class_patches(self.labels[:_MAX_LEGEND], self.colours[:_MAX_LEGEND])
        if any(str(patch.get_gid()).startswith("band-") for patch in self.ax.patches):
            entries.append(Patch(color=_BAND, label="band: both branches fire"))
        if len(self.labels) > _MAX_LEGEND:
            entries.append(Patch(color="none", label=f"and {len(self.labels) - _MAX_LEGEND} more"))
        style: dict[str, Any] = {"frameon": False, "borderaxespad": 0.2, "handlelength": 1.2}
        style |= {"ncols": max(1, min(len(entries), int(self.width / 1.4))), "fontsize": _NAME * self.scale}
        self.ax.legend(handles=entries, loc="upper left", bbox_to_anchor=(0, 0), **style)


# ---------------------------------------------------------------------------------------------------------------------
# Memberships of one feature
# ---------------------------------------------------------------------------------------------------------------------


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
    falls from one to zero inside the band; with many splits, only the heaviest ones are drawn. Categorical features: a
    group of bars for each category, with its memberships in the left sides of the splits (or in the words that rules
    use).

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature : int or str
        Number or name of the feature.
    feature_names : sequence of str, default=None
        Names of the features; by default the names in the training table.
    max_splits : int, default=6
        Largest number of splits to draw.
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
    check_least("max_splits", max_splits)
    model = model_of(estimator, "plot_memberships")
    if model.words is None:  # the ramps of rules are no splits
        model = model_of(estimator, "plot_memberships", TreeModel, "ferl.plot.plot_shapes")
    names, _ = reader_names(model, feature_names, None)
    index = drawn_feature(model, feature, names)
    tree = model.tree
    variable = None if model.words is None else model.words[index]
    nodes = _conditions_on(tree, index)
    if variable is None and not nodes.size:
        used = [names[j] for j in np.unique(tree.feature[1:]) if j < model.n_features]
        asked = f"Choose one that they read: {shown(used)}." if used else "They read none."
        raise ValueError(f"No rule reads feature {shown(names[index])}. {asked}")
    ax = axes_for("plot_memberships", ax, (5.6, 3.0))
    categories = model.category_names.get(index)
    unit = ""
    if categories is not None:
        _draw_bars(ax, tree, nodes[:max_splits], categories)
    elif variable is not None:
        ends = [end for one_set in variable.sets for end in one_set.ends]
        _draw_words(ax, variable, _span(tree, index, ends))
        unit = f" ({plain(variable.unit)})" if variable.unit else ""
    else:
        _draw_bands(ax, tree, nodes[:max_splits], _span(tree, index, tree.trapezoid[nodes, 2:].ravel().tolist()))
        if len(nodes) > max_splits:
            ax.set_title(f"the {max_splits} heaviest of {len(nodes)} splits", fontsize=9, loc="right")
    if variable is None or categories is not None:
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    ax.set_xlabel(plain(names[index]) + unit)
    if categories is None:
        write_values(ax.xaxis, model, index)
    ax.set_ylabel("membership")
    ax.set_ylim(0, 1.04)
    bare(ax)
    return ax


def _conditions_on(tree: FuzzyTree, feature: int) -> NDArray[np.intp]:
    """Nodes with a condition on the feature, heaviest parent first: of a split the left side, of words one of each."""
    nodes = np.flatnonzero(tree.feature == feature)
    if tree.word:
        first = {tree.word[node]: node for node in nodes[::-1]}
        return np.array(sorted(first.values()), dtype=np.intp)
    left = nodes[nodes == tree.parent[nodes] + 1]  # a split's left side comes right after it
    return np.asarray(left[np.argsort(-tree.weight[tree.parent[left]], kind="stable")])


def _span(tree: FuzzyTree, feature: int, ends: Sequence[float]) -> tuple[float, float]:
    """Values to draw: the values of training rows at any condition on the feature, and all ends of its sets."""
    seen = tree.support[tree.feature == feature].ravel()
    values = [value for value in (*seen.tolist(), *ends) if math.isfinite(value)]
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _draw_words(ax: Axes, variable: LinguisticVariable, span: tuple[float, float]) -> None:
    for one_set, colour in zip(variable.sets, class_colours(len(variable.sets)), strict=True):
        corners = sorted({*span, *(end for end in one_set.ends if math.isfinite(end))})
        # Just outside an upright side the membership is zero: without these values it would be drawn as a slope.
        values = np.array([x for end in corners for x in (np.nextafter(end, -np.inf), end, np.nextafter(end, np.inf))])
        membership = one_set.membership(values)
        ax.plot(values, membership, color=colour, linewidth=1.8, label=plain(one_set.name))
        ax.fill_between(values, membership, color=colour, alpha=0.10, linewidth=0)
        core = (max(one_set.b, span[0]) + min(one_set.c, span[1])) / 2
        ax.text(core, 1.05, shortened(one_set.name, 18), color=colour, ha="center", va="bottom", fontsize=9)
    ax.set_xlim(*span)


def _draw_bands(ax: Axes, tree: FuzzyTree, nodes: NDArray[np.intp], span: tuple[float, float]) -> None:
    for node, colour in zip(nodes, class_colours(len(nodes)), strict=True):
        low, high = tree.trapezoid[node, 2:]
        bound = Bound((low + high) / 2, (high - low) / 2)
        ax.axvspan(low, high, color=tint(colour, 0.22), linewidth=0, zorder=0)
        ax.plot([span[0], low, high, span[1]], [1, 1, 0, 0], color=colour, linewidth=1.8, label=f"below {bound.text()}")
    ax.set_xlim(*span)


def _draw_bars(ax: Axes, tree: FuzzyTree, nodes: NDArray[np.intp], categories: Sequence[object]) -> None:
    width = 0.8 / len(nodes)
    for turn, (node, colour) in enumerate(zip(nodes, class_colours(len(nodes)), strict=True)):
        name = tree.word[node] if tree.word else f"split of {tree.weight[tree.parent[node]]:.0f} rows"
        membership = np.nan_to_num(tree.memberships(int(node)))
        positions = np.arange(len(membership)) + (turn - (len(nodes) - 1) / 2) * width
        ax.bar(positions, membership, width * 0.9, color=colour, label=shortened(name, 36))
    write_categories(ax, categories, 18, most_letters=40)
    ax.axhline(0, color=INK, linewidth=0.8)
