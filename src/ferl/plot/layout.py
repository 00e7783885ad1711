"""Where the nodes of a tree are drawn: columns by depth, rows by rule."""

from __future__ import annotations

from dataclasses import dataclass

from ferl.folding import Folded, fold
from ferl.tree import FuzzyTree


@dataclass(frozen=True)
class Layout:
    """Places of the nodes that are drawn.

    Attributes
    ----------
    folded : Folded
        Which these are.
    row : dict of int to float
        Place of each from the top, in rows.
    ends : tuple of int
        Nodes with a row of their own, from the top: they show what they hold.
    """

    folded: Folded
    row: dict[int, float]
    ends: tuple[int, ...]


def lay_out(tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None) -> Layout:
    """Places for a tree: of learned splits, or of words.

    Splits stand between their two sides, and rules are rows. In a tree of words every node is a source of evidence,
    so each has a row, its children below it.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth, max_rules : int, optional
        As in :func:`ferl.folding.fold`.

    Returns
    -------
    Layout
    """
    folded = fold(tree, max_depth, max_rules)
    shown, children = folded.nodes, folded.children
    has_words = bool(tree.word) and len(shown) > 1
    ends = tuple(node for node in shown if (node > 0 if has_words else node not in children))
    row: dict[int, float] = {node: float(place) for place, node in enumerate(ends)}
    for node in reversed(shown):  # children come before their parents
        if node not in row:
            row[node] = (row[children[node][0]] + row[children[node][-1]]) / 2
    return Layout(folded, row, ends)
