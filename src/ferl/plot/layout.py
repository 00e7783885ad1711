"""Where the nodes of a tree are drawn: columns by depth, rows by rule; and which subtrees are folded up."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ferl.tree import FuzzyTree


@dataclass(frozen=True)
class Layout:
    """Places of the nodes that are drawn.

    Attributes
    ----------
    children : dict of int to list of int
        Of every node that is drawn unfolded.
    row : dict of int to float
        Place from the top, in rows, of every node that is drawn.
    ends : tuple of int
        Nodes with a row of their own, from the top: they show what they hold.
    n_folded : dict of int to int
        Number of rules below each end that is folded up.
    """

    children: dict[int, list[int]]
    row: dict[int, float]
    ends: tuple[int, ...]
    n_folded: dict[int, int]


def lay_out(tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None) -> Layout:
    """Places for a tree: of learned splits, or of words.

    Splits stand between their two sides, and rules are rows. In a tree of words every node is a source of evidence,
    so each has a row, its children below it.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth : int, optional
        Nodes at this depth are folded up.
    max_rules : int, optional
        At most this many ends of paths are drawn; the heaviest nodes are unfolded first.

    Returns
    -------
    Layout
    """
    children = _unfolded(tree, max_depth, max_rules)
    shown = [0, *sorted(child for own in children.values() for child in own)]  # pre-order, as in the tree
    ends = tuple(node for node in shown if (node > 0 if tree.word and len(shown) > 1 else node not in children))
    row: dict[int, float] = {node: float(place) for place, node in enumerate(ends)}
    for node in reversed(shown):  # children come before their parents
        if node not in row:
            row[node] = (row[children[node][0]] + row[children[node][-1]]) / 2
    folded = {node: _n_leaves(tree, node) for node in shown if node not in children and not tree.is_leaf[node]}
    return Layout(children, row, ends, folded)


def _unfolded(tree: FuzzyTree, max_depth: int | None, max_rules: int | None) -> dict[int, list[int]]:
    """Nodes that are drawn with their children, heaviest first, within the limits."""
    below: dict[int, list[int]] = {}
    for node in range(1, tree.n_nodes):
        below.setdefault(int(tree.parent[node]), []).append(node)
    unfolded: dict[int, list[int]] = {}
    n_ends, waiting = 1, [(-float(tree.weight[0]), 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        if node not in below or (max_depth is not None and tree.depth[node] >= max_depth):
            continue
        if max_rules is not None and n_ends + len(below[node]) - 1 > max_rules:
            continue
        unfolded[node] = below[node]
        n_ends += len(below[node]) - 1
        for child in below[node]:
            heapq.heappush(waiting, (-float(tree.weight[child]), child))
    return unfolded


def _n_leaves(tree: FuzzyTree, node: int) -> int:
    """Number of rules below a node; its subtree follows it, up to the next node that is not deeper."""
    end = node + 1
    while end < tree.n_nodes and tree.depth[end] > tree.depth[node]:
        end += 1
    return int(tree.is_leaf[node:end].sum())
