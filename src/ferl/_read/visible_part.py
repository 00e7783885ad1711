"""Folding: which part of a large tree is shown, so that a reader can take it in."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ferl._model.tree import FuzzyTree


@dataclass(frozen=True)
class Folded:
    """The part of a tree that is shown.

    Attributes
    ----------
    children : dict of int to list of int
        Of every node that is shown with what follows it.
    n_hidden : dict of int to int
        Number of rules below each node that is shown without.
    """

    children: dict[int, list[int]]
    n_hidden: dict[int, int]

    @property
    def nodes(self) -> list[int]:
        """All nodes that are shown, in pre-order."""
        return [0, *sorted(child for own in self.children.values() for child in own)]


def fold(tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None) -> Folded:
    """Fold up what lies too deep, and of the rest the lightest subtrees.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth : int, optional
        Nodes at this depth are folded up; 0 is the root.
    max_rules : int, optional
        At most this many ends of paths are shown; the heaviest nodes are unfolded first.

    Returns
    -------
    Folded
    """
    for name, value, least in (("max_depth", max_depth, 0), ("max_rules", max_rules, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name} is {value}; it must be at least {least}, or None.")
    below: dict[int, list[int]] = {}
    for node in range(1, tree.n_nodes):
        below.setdefault(int(tree.parent[node]), []).append(node)
    children: dict[int, list[int]] = {}
    n_ends, waiting = 1, [(-float(tree.weight[0]), 0)]
    n_hidden: dict[int, int] = {}
    while waiting:
        _, node = heapq.heappop(waiting)
        if node not in below:
            continue
        too_deep = max_depth is not None and tree.depth[node] >= max_depth
        if too_deep or (max_rules is not None and n_ends + len(below[node]) - 1 > max_rules):
            n_hidden[node] = _n_rules(tree, node)
            continue
        children[node] = below[node]
        n_ends += len(below[node]) - 1
        for child in below[node]:
            heapq.heappush(waiting, (-float(tree.weight[child]), child))
    return Folded(children, n_hidden)


def _n_rules(tree: FuzzyTree, node: int) -> int:
    """Number of rules below a node; its subtree follows it, up to the next node that is not deeper."""
    end = node + 1
    while end < tree.n_nodes and tree.depth[end] > tree.depth[node]:
        end += 1
    return int(tree.is_leaf[node:end].sum())
