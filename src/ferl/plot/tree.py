"""The tree as a picture: columns by depth, rows by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._read.rules import LEAST_LISTED, Folded, fold, listed_categories, threshold_text
from ferl._read.text import probability_text, shown_names
from ferl._util.text import class_colours, tint
from ferl.plot.canvas import (
    BAND,
    FAINT,
    INK,
    Panel,
    axes_for,
    draw_band,
    draw_categories,
    draw_shares,
    draw_word,
    shortened,
)
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        As in :func:`ferl._read.rules.fold`.

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


# Sizes in inches at the default size of the figure; letters shrink with smaller Axes.
_ROW = {"splits": 0.31, "words": 0.36}
_LEVEL = 1.52  # from a split to the next
_INDENT = 0.34  # of a word below another one
_LETTER = 0.064  # of a condition in words
_LONGEST_CONDITION = 48
_PANEL = 1.08
_TOP = 0.36
_SHARES = 1.15
_NAME, _NUMBER = 8.0, 7.0  # points
_LONGEST_NAME = 20
_SMALLEST = 0.35  # size of the letters, beside that of the sheet
_MAX_LEGEND = 14


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
    class. Each row ends with the shares of the classes, the label with its confidence, and the support. In a tree of
    words every node is a source of evidence, so each has a row, indented below the one it continues.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default those of the training table, and the labels.
    max_depth : int, default=None
        Fold up what lies below this depth; 0 is the root alone.
    max_rules : int, default=50
        Draw at most this many ends of paths, the heaviest subtrees unfolded first; the others say how many rules they
        hold. None: all. On Axes that are too small for so many rows more is folded up, so that no texts overlap.
    min_weight : float, default=0.0
        Fold up subtrees that have less than this share of the training weight: 0.02 leaves out what a few rows decide.
    decimals : int, default=None
        Digits after the point of thresholds; by default as many as a band's half-width gives meaning to.
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
    names, labels = shown_names(model, feature_names, class_names)
    tree = model.tree
    layout = lay_out(tree, max_depth, max_rules, min_weight)
    sheet = _Sheet.for_layout(tree, layout, names, labels)
    while ax is not None and sheet.ratio_on(ax) < _SMALLEST and len(layout.ends) > 1:
        layout = lay_out(tree, max_depth, len(layout.ends) - 1, min_weight)
        sheet = _Sheet.for_layout(tree, layout, names, labels)
    scale = 1.0 if ax is None else sheet.scale_on(ax)
    ax = axes_for("plot_tree", ax, (sheet.width, sheet.height + 0.35))
    drawing = _Drawing(ax, sheet, layout, model, names, labels, decimals, scale)
    sheet.prepare(ax)
    if tree.word:
        drawing.draw_words()
    else:
        drawing.draw_splits()
    drawing.draw_table()
    drawing.draw_legend()
    return ax


@dataclass(frozen=True)
class _Sheet:
    """Sizes of the drawing, in inches."""

    row: float
    table: float
    label: float
    width: float
    height: float

    @classmethod
    def for_layout(cls, tree: FuzzyTree, layout: Layout, names: list[str], labels: list[Any]) -> _Sheet:
        row = _ROW["words" if tree.word else "splits"]
        depth = max(int(tree.depth[node]) for node in layout.row)
        if tree.word:
            letters = max((len(_condition_text(tree, node, names)) for node in layout.ends), default=0)
            table = 0.3 + _INDENT * max(depth - 1, 0) + _PANEL * 0.6 + _LETTER * letters
        else:
            table = 0.1 + _LEVEL * depth + 0.15
        label = _LETTER * max(len(shortened(label, _LONGEST_NAME)) for label in labels)
        width = table + _SHARES + label + (2.5 if layout.folded.n_hidden else 1.65)
        return cls(row, table, label, width, _TOP + row * len(layout.ends))

    def columns(self) -> dict[str, float]:
        """Where texts of the table begin (label, folded) or end (confidence, support)."""
        label = self.table + _SHARES + 0.1
        confidence = label + self.label + 0.8
        return {"label": label, "confidence": confidence, "support": confidence + 0.65, "folded": confidence + 0.8}

    def ratio_on(self, ax: Axes) -> float:
        """Size of Axes beside that of the sheet."""
        size = ax.get_position().size * cast("Figure", ax.figure).get_size_inches()
        return float(min(size[0] / self.width, size[1] / self.height))

    def scale_on(self, ax: Axes) -> float:
        """By how much letters shrink on Axes that are smaller than the sheet."""
        return float(np.clip(self.ratio_on(ax), _SMALLEST, 1.3))

    def y(self, row: float) -> float:
        return _TOP + self.row * (row + 0.5)

    def prepare(self, ax: Axes) -> None:
        ax.set_xlim(0, self.width)
        ax.set_ylim(self.height, 0)
        ax.axis("off")


class _Drawing:
    """One tree on one sheet."""

    def __init__(
        self,
        ax: Axes,
        sheet: _Sheet,
        layout: Layout,
        model: Model,
        names: list[str],
        labels: list[Any],
        decimals: int | None,
        scale: float,
    ) -> None:
        self.ax, self.sheet, self.layout = ax, sheet, layout
        self.tree, self.names, self.labels, self.decimals = model.tree, names, labels, decimals
        self.model, self.categories = model, model.category_names
        self.colours = class_colours(len(labels))
        self.scale = scale

    def text(self, x: float, y: float, text: str, size: float = _NAME, **style: Any) -> None:
        self.ax.text(x, y, text, fontsize=size * self.scale, **{"color": INK, "va": "center", **style})

    def draw_splits(self) -> None:
        for node, sides in self.layout.folded.children.items():
            left = 0.1 + _LEVEL * int(self.tree.depth[node])
            middle = self.sheet.y(self.layout.row[node])
            self._draw_split(node, left, middle)
            is_category = int(self.tree.feature[sides[0]]) in self.categories
            for side, sign in zip(sides, ("∈", "∉") if is_category else ("<", ">"), strict=True):
                self._draw_branch(left + _PANEL + 0.05, middle, side, sign)

    def _draw_split(self, node: int, left: float, middle: float) -> None:
        side = self.layout.folded.children[node][0]
        feature = int(self.tree.feature[side])
        seen = self.tree.support[side]
        panel = Panel(left, middle + 0.07, _PANEL, 0.2, float(seen[0]), float(seen[1]))
        if feature in self.categories:
            membership = self.tree.memberships(side)
            draw_categories(self.ax, panel, membership, node)
            below = self._listed(feature, membership)
        else:
            low, high = (float(end) for end in self.tree.trapezoid[side, 2:])
            draw_band(self.ax, panel, low, high, node)
            below = threshold_text(self.model.column_kind(feature), low, high, self.decimals)
        centre = left + _PANEL / 2
        name = shortened(self.names[feature], _LONGEST_NAME)
        self.text(centre, middle - 0.145, name, ha="center", va="bottom", fontweight="bold")
        self.text(centre, middle + 0.105, below, _NUMBER, ha="center", va="top", color="#555555")

    def _listed(self, feature: int, membership: Any) -> str:
        inside = tuple((code, float(own)) for code, own in enumerate(np.nan_to_num(membership)) if own >= LEAST_LISTED)
        return shortened(f"{{{listed_categories(inside, self.categories[feature])}}}", _LONGEST_NAME + 6)

    def _draw_branch(self, start: float, middle: float, side: int, sign: str) -> None:
        """An elbow from a split to the next one, or to the row where the path ends."""
        y, elbow = self.sheet.y(self.layout.row[side]), start + 0.12
        is_end = side not in self.layout.folded.children
        end = self.sheet.table - 0.04 if is_end else start - _PANEL - 0.05 + _LEVEL - 0.04
        dashed = (0, (3, 2)) if side in self.layout.folded.n_hidden else "solid"
        line = self.ax.plot([start, elbow, elbow, end], [middle, middle, y, y], gid=f"branch-{side}")[0]
        line.set(color=self._branch_colour(side), linewidth=self._thickness(side), linestyle=dashed)
        line.set(solid_joinstyle="round", zorder=1)
        away = -0.07 if y < middle else 0.07
        self.text(elbow + 0.05, y + away, sign, 6.5, color="#777777", gid=f"sign-{side}")

    def _branch_colour(self, node: int) -> str:
        share = self.tree.consequent[node]
        return tint(self.colours[int(np.argmax(share))], 0.3 + 0.6 * float(share.max()))

    def _thickness(self, node: int) -> float:
        return (0.7 + 4.5 * float(self.tree.weight[node] / self.tree.weight[0])) * self.scale

    def draw_words(self) -> None:
        for node in self.layout.ends:
            if node == 0:
                continue
            left = 0.1 + _INDENT * (int(self.tree.depth[node]) - 1)
            middle = self.sheet.y(self.layout.row[node])
            self._draw_stem(node, left, middle)
            self._draw_condition(node, left, middle)

    def _draw_stem(self, node: int, left: float, middle: float) -> None:
        parent = int(self.tree.parent[node])
        if parent > 0:
            x, top = left - _INDENT + 0.12, self.sheet.y(self.layout.row[parent]) + 0.13
            line = self.ax.plot([x, x, left - 0.03], [top, middle, middle], gid=f"branch-{node}")[0]
            line.set(color=self._branch_colour(node), linewidth=self._thickness(node), zorder=1)

    def _draw_condition(self, node: int, left: float, middle: float) -> None:
        feature, width = int(self.tree.feature[node]), _PANEL * 0.6
        seen = self.tree.support[node]
        panel = Panel(left, middle + 0.1, width, 0.2, float(seen[0]), float(seen[1]))
        if feature in self.categories:
            draw_categories(self.ax, panel, self.tree.memberships(node), node)
        else:
            draw_word(self.ax, panel, self.tree.trapezoid[node], node)
        self.text(left + width + 0.08, middle, _condition_text(self.tree, node, self.names))

    def draw_table(self) -> None:
        """Class shares, label and support of every row."""
        left, total, at = self.sheet.table, float(self.tree.weight[0]), self.sheet.columns()
        self.text(left, _TOP - 0.1, "shares of classes", _NUMBER, color=FAINT)
        self.text(at["label"], _TOP - 0.1, "label", _NUMBER, color=FAINT)
        self.text(at["confidence"], _TOP - 0.1, "confidence", _NUMBER, color=FAINT, ha="right")
        self.text(at["support"], _TOP - 0.1, "support", _NUMBER, color=FAINT, ha="right")
        for node in self.layout.ends:
            middle, shares = self.sheet.y(self.layout.row[node]), self.tree.consequent[node]
            draw_shares(self.ax, Panel(left, middle + 0.085, _SHARES, 0.17), shares, self.colours, node)
            best, support = int(np.argmax(shares)), float(self.tree.weight[node]) / total
            self.text(at["label"], middle, shortened(self.labels[best], _LONGEST_NAME), gid=f"label-{node}")
            self.text(at["confidence"], middle, probability_text(float(shares[best])), ha="right")
            self.text(at["support"], middle, f"{support:.0%}" if support >= 0.01 else "<1%", ha="right")
            if node in self.layout.folded.n_hidden:
                self.text(
                    at["folded"], middle, f"+ {self.layout.folded.n_hidden[node]} rules", _NUMBER, color="#777777"
                )

    def draw_legend(self) -> None:
        from matplotlib.patches import Patch

        shown = [
            Patch(color=colour, label=shortened(label, _LONGEST_NAME))
            for label, colour in zip(self.labels[:_MAX_LEGEND], self.colours, strict=False)
        ]
        if any(own.get_gid() == f"band-{node}" for node in self.layout.folded.children for own in self.ax.patches):
            shown.append(Patch(color=BAND, label="band: both branches fire"))
        if len(self.labels) > _MAX_LEGEND:
            shown.append(Patch(color="none", label=f"and {len(self.labels) - _MAX_LEGEND} more"))
        columns = max(1, min(len(shown), int(self.sheet.width / 1.4)))
        style: dict[str, Any] = {"frameon": False, "borderaxespad": 0.2, "handlelength": 1.2}
        self.ax.legend(
            handles=shown, ncols=columns, loc="upper left", bbox_to_anchor=(0, 0), fontsize=_NAME * self.scale, **style
        )


def _condition_text(tree: FuzzyTree, node: int, names: list[str]) -> str:
    """The condition of a node, in words."""
    if node == 0:
        return "always"
    beginning = "and" if tree.parent[node] > 0 else "if"
    return shortened(f"{beginning} {names[tree.feature[node]]} is {tree.word[node]}", _LONGEST_CONDITION)
