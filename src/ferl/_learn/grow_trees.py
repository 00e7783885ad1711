"""Growing the paper's trees, by learned splits or by words that are fixed before, and pruning them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ferl import _core
from ferl._learn.consequents import constrain
from ferl._learn.ground import UNBOUNDED, Ground
from ferl._learn.rows import Rows
from ferl._models.settings import TreeSettings
from ferl._models.tree import Cuts, FuzzyTree, nodes_by_depth
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Floats
from ferl._util.threads import count_bar, n_threads


def fit_tree(settings: TreeSettings, rows: Rows) -> TreeModel:
    """Grow a tree, prune it, and settle how its evidence is read."""
    tree, ground = grow_tree(settings, rows)
    facts = rows.facts
    return TreeModel(
        variant=settings.variant,
        tree=prune(tree, settings.ccp_alpha),
        reading=settings.reading,
        classes=facts.classes,
        schema=facts.schema,
        derived=facts.derived,
        words=ground.words,
        n_growth_rows=ground.sample.n_rows,
    )


def grow_tree(settings: TreeSettings, rows: Rows) -> tuple[FuzzyTree, Ground]:
    """The tree before it is pruned, and what it was grown on."""
    with count_bar("growing rules", settings.max_rules, settings.verbose > 0) as report:
        ground = Ground.prepared(settings, rows)
        grown = _splits(settings, ground, report) if ground.words is None else _words(settings, ground, report)
        found = grown.pop("cuts")
        cuts = Cuts(found[:, :2].copy(), found[:, 2].copy()) if ground.words is None else None
        kept = n_exemplars(settings)
        tree, _ = ground.summed(grown, kept, settings.consequents, settings.shrinkage, cuts, report)
        if ground.constraint is not None:
            tree = replace(tree, consequent=constrain(tree, ground.constraint))
        if report is not None:
            report(len(tree.leaves))
    return tree, ground


def n_exemplars(settings: TreeSettings) -> int:
    """Number of training rows that each node keeps."""
    return int(min(settings.n_exemplars, UNBOUNDED))


def _splits(settings: TreeSettings, ground: Ground, report: Any) -> dict[str, Any]:
    facts = ground.rows.facts
    n_columns = len(facts.names)
    options = _core.SplitOptions(
        **_limits(settings),
        criterion=settings.criterion,
        n_resamples=int(settings.n_resamples),
        band=settings.band,
        band_scale=float(settings.band_scale),
        two_mode=bool(settings.two_mode),
        n_exemplars=n_exemplars(settings),
        n_banded_features=min(settings.n_banded_features or n_columns, n_columns),
        # A class without weight has no rows; any unit will do.
        class_unit=np.where(facts.class_unit > 0, facts.class_unit, 1.0).tolist(),
        monotone=[] if ground.constraint is None else ground.constraint.tolist(),
    )
    return _core.grow_tree(ground.sample, options, report)


def _words(settings: TreeSettings, ground: Ground, report: Any) -> dict[str, Any]:
    found = ground.word_conditions
    assert found is not None
    options = _core.WordOptions(
        **_limits(settings),
        min_rule_worth=float(settings.min_rule_worth),
        soft_share=1.0 if settings.criterion == "consistent" else 0.0,
    )
    return _core.grow_words(ground.sample, found.feature, found.trapezoid, found.is_complement, options, report)


def _limits(settings: TreeSettings) -> dict[str, Any]:
    return {
        "max_rules": int(min(settings.max_rules, UNBOUNDED)),
        "max_depth": int(min(settings.max_depth, UNBOUNDED)),
        "min_leaf_weight": float(settings.min_leaf_weight),
        "min_gain": float(settings.min_gain),
        "patience": int(min(settings.patience, UNBOUNDED)),
        "min_coverage": float(settings.min_coverage),
        "n_threads": n_threads(settings.n_jobs),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Cost-complexity pruning: the nested sequence of subtrees that trade impurity for rules
# ---------------------------------------------------------------------------------------------------------------------


def _impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight."""
    weight = class_weight.sum(axis=1)
    squares = (class_weight**2).sum(axis=1)
    return np.asarray(weight - np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0))


def node_impurity(tree: FuzzyTree) -> Floats:
    """Gini impurity of each node times its share of the whole weight: what a node costs as a leaf."""
    return np.asarray(_impurity(tree.class_weight) / tree.weight[0])


def _rest(tree: FuzzyTree) -> Floats:
    """Class weights that reach a node and none of its children, shape (n_nodes, n_classes); nothing at leaves.

    Splits leave nothing. Words need not cover everything, and what they leave is still judged by the node itself.
    """
    rest = tree.class_weight.copy()
    np.subtract.at(rest, tree.parent[1:], tree.class_weight[1:])
    rest[tree.is_leaf] = 0.0
    return np.where(rest > 1e-9 * tree.weight[:, None], rest, 0.0)


def _own_share(tree: FuzzyTree) -> Floats:
    """Share of a node's weight that is counted at the node: children that overlap divide their parent's weight."""
    below = np.zeros(tree.n_nodes)
    np.add.at(below, tree.parent[1:], tree.weight[1:])
    overlap = np.divide(tree.weight, below, out=np.ones(tree.n_nodes), where=below > tree.weight * (1 + 1e-9))
    share = np.ones(tree.n_nodes)
    for nodes in nodes_by_depth(tree.parent):
        share[nodes] = share[tree.parent[nodes]] * overlap[tree.parent[nodes]]
    return share


class _Pruner:
    """Cuts the weakest link until none is left, keeping score of the subtree below each node.

    A subtree costs the impurity of its leaves, and of the rest that inner nodes keep to themselves; each counts as one
    region. For splits, regions are rules.
    """

    def __init__(self, tree: FuzzyTree) -> None:
        self.tree = tree
        share, rest = _own_share(tree), _rest(tree)
        self.as_leaf = node_impurity(tree) * share
        self.leaf = tree.is_leaf.copy()
        self.kept = np.ones(tree.n_nodes, dtype=bool)
        self.impurity = np.where(self.leaf, self.as_leaf, _impurity(rest) / tree.weight[0] * share)
        self.n_regions = (self.leaf | (rest.sum(axis=1) > 0)).astype(np.int64)
        for node in range(tree.n_nodes - 1, 0, -1):
            self.impurity[tree.parent[node]] += self.impurity[node]
            self.n_regions[tree.parent[node]] += self.n_regions[node]
        self.end = np.arange(1, tree.n_nodes + 1)
        for node in range(tree.n_nodes - 1, 0, -1):
            self.end[tree.parent[node]] = max(self.end[tree.parent[node]], self.end[node])

    def weakest(self) -> tuple[int, float]:
        """The internal node whose subtree saves the least impurity per region, and that saving (its alpha).

        A split always saves some, up to rounding; words that overlap may save none.
        """
        inner = np.flatnonzero(self.kept & ~self.leaf)
        alpha = (self.as_leaf[inner] - self.impurity[inner]) / np.maximum(self.n_regions[inner] - 1, 1)
        first = int(np.argmin(alpha))
        return int(inner[first]), max(0.0, float(alpha[first]))

    def cut(self, node: int) -> None:
        """Make a node a leaf."""
        self.kept[node + 1 : self.end[node]] = False
        self.leaf[node] = True
        more_impurity = self.as_leaf[node] - self.impurity[node]
        fewer_regions = self.n_regions[node] - 1
        while node >= 0:
            self.impurity[node] += more_impurity
            self.n_regions[node] -= fewer_regions
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
        # Links cut at the same alpha are one step. The whole tree has alpha 0 for itself, since `prune` keeps it at 0.
        alpha = max(alpha, float(np.finfo(np.float64).tiny))
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
        What one rule (words: one region) costs, in units of the impurity of the whole table. 0 keeps the tree as it is.

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
