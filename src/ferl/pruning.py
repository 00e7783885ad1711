"""Cost-complexity pruning: the nested sequence of subtrees that trade impurity for rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl.tree import FuzzyTree

Floats = NDArray[np.float64]


def node_impurity(tree: FuzzyTree) -> Floats:
    """Gini impurity of each node times its share of the whole weight: what a node costs as a leaf."""
    weight = tree.weight
    squares = (tree.class_weight**2).sum(axis=1)
    purity = np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray((weight - purity) / weight[0])


class _Pruner:
    """Cuts the weakest link until none is left, keeping score of the subtree below each node."""

    def __init__(self, tree: FuzzyTree) -> None:
        self.tree = tree
        self.as_leaf = node_impurity(tree)
        self.leaf = tree.is_leaf.copy()
        self.kept = np.ones(tree.n_nodes, dtype=bool)
        self.impurity = np.where(self.leaf, self.as_leaf, 0.0)
        self.n_leaves = self.leaf.astype(np.int64)
        for node in range(tree.n_nodes - 1, 0, -1):
            self.impurity[tree.parent[node]] += self.impurity[node]
            self.n_leaves[tree.parent[node]] += self.n_leaves[node]
        self.end = np.arange(1, tree.n_nodes + 1)
        for node in range(tree.n_nodes - 1, 0, -1):
            self.end[tree.parent[node]] = max(self.end[tree.parent[node]], self.end[node])

    def weakest(self) -> tuple[int, float]:
        """The internal node whose subtree saves the least impurity per rule, and that saving (its alpha)."""
        inner = np.flatnonzero(self.kept & ~self.leaf)
        alpha = (self.as_leaf[inner] - self.impurity[inner]) / (self.n_leaves[inner] - 1)
        first = int(np.argmin(alpha))
        return int(inner[first]), max(0.0, float(alpha[first]))  # below zero only by rounding

    def cut(self, node: int) -> None:
        """Make a node a leaf."""
        self.kept[node + 1 : self.end[node]] = False
        self.leaf[node] = True
        more_impurity = self.as_leaf[node] - self.impurity[node]
        fewer_leaves = self.n_leaves[node] - 1
        while node >= 0:
            self.impurity[node] += more_impurity
            self.n_leaves[node] -= fewer_leaves
            node = int(self.tree.parent[node])


def pruning_path(tree: FuzzyTree) -> tuple[Floats, Floats]:
    """Alphas at which the best subtree changes, and the impurity of each subtree.

    Parameters
    ----------
    tree : FuzzyTree
        A grown tree.

    Returns
    -------
    ccp_alphas, impurities : ndarray of shape (n_subtrees,)
        Ascending; the first pair is the whole tree, the last one the root alone.
    """
    pruner = _Pruner(tree)
    alphas, impurities = [0.0], [float(pruner.impurity[0])]
    while not pruner.leaf[0]:
        node, alpha = pruner.weakest()
        pruner.cut(node)
        # Links cut at the same alpha are one step.
        if alpha <= alphas[-1]:
            impurities[-1] = float(pruner.impurity[0])
        else:
            alphas.append(alpha)
            impurities.append(float(pruner.impurity[0]))
    return np.asarray(alphas), np.asarray(impurities)


def prune(tree: FuzzyTree, ccp_alpha: float) -> FuzzyTree:
    """The smallest subtree that minimises impurity + ccp_alpha * rules.

    Parameters
    ----------
    tree : FuzzyTree
        A grown tree.
    ccp_alpha : float
        What one rule costs, in units of the impurity of the whole table. 0 keeps the tree as it is.

    Returns
    -------
    FuzzyTree
    """
    if ccp_alpha == 0:
        return tree
    pruner = _Pruner(tree)
    while not pruner.leaf[0]:
        node, alpha = pruner.weakest()
        if alpha > ccp_alpha:
            break
        pruner.cut(node)
    return tree.keep(pruner.kept)
