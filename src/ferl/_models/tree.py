"""The fuzzy tree: a frozen set of parallel arrays, and what is computed from them alone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints

LEAST_VARIANCE = 1e-305  # the reciprocals of smaller ones overflow
LEAST_SHARE = 0.05  # of a feature's variance over all rows, that its variance inside a leaf is taken to be at least


@dataclass(frozen=True, eq=False, repr=False)
class Profile(FrozenArrays):
    """What the training rows of each node look like.

    Attributes
    ----------
    mean, variance : ndarray of shape (n_nodes, n_features)
        Mean and variance of the rows at each node, weighted by firing.
    exemplar : ndarray of shape (n_nodes, n_exemplars), int32
        Some of the rows that reach each node, as indices in ``exemplar_row``; -1 where a node has fewer.
    exemplar_row : ndarray of shape (n_kept, n_features)
        Training rows that are exemplars of some node.
    known_weight : ndarray of shape (n_nodes, n_features), or None
        Weight behind each mean and variance: the weight of the rows whose value is not missing. None: no value is
        missing, and it is the weight of the node.
    """

    mean: Floats
    variance: Floats
    exemplar: Ints
    exemplar_row: Floats
    known_weight: Floats | None = None

    def keep(self, kept: NDArray[np.bool_]) -> Profile:
        """Without the nodes that are not ``kept``, and without the rows that were exemplars of these alone."""
        exemplar = self.exemplar[kept]
        still = np.zeros(len(self.exemplar_row), dtype=bool)
        still[exemplar[exemplar >= 0]] = True
        index = np.append(np.cumsum(still, dtype=np.int32) - 1, np.int32(-1))  # the last one: for -1, no exemplar
        known = None if self.known_weight is None else self.known_weight[kept]
        return Profile(self.mean[kept], self.variance[kept], index[exemplar], self.exemplar_row[still], known)

    def weight_behind(self, weight: Floats) -> Floats:
        """Weight behind each mean and variance, shape (n_nodes, n_features); ``weight``: the weight of each node."""
        return np.broadcast_to(weight[:, None], self.mean.shape) if self.known_weight is None else self.known_weight

    @staticmethod
    def partly_known(known_weight: Floats, weight: Floats) -> Floats | None:
        """``known_weight``, or None if it equals the weight of the nodes, shape (n_nodes,), up to rounding."""
        return known_weight if (known_weight < (1 - 1e-9) * weight[:, None]).any() else None

    @property
    def has_exemplars(self) -> bool:
        """Whether any training row is kept."""
        return len(self.exemplar_row) > 0

    @property
    def total_variance(self) -> Floats:
        """Variance over all rows, shape (n_features,); never 0.

        The variance of a constant feature is taken to be the square of its value, or 1 where that is zero.
        """
        total, mean = self.variance[0], self.mean[0]
        return np.maximum(np.where(total > 0, total, np.where(mean != 0, mean**2, 1.0)), LEAST_VARIANCE)


def nodes_by_depth(parent: Ints) -> list[NDArray[np.intp]]:
    """Nodes by their depth, without the root: sums along paths go through them one depth at a time.

    Parameters
    ----------
    parent : ndarray of shape (n_nodes,)
        Parent of each node; -1 at the root.

    Returns
    -------
    list of ndarray
        Numbers of the nodes at depth 1, 2, ...
    """
    result: list[NDArray[np.intp]] = []
    inside = np.zeros(len(parent) + 1, dtype=bool)  # one more entry: the root's parent, -1
    inside[0] = True
    while (nodes := np.flatnonzero(inside[parent])).size:
        result.append(nodes)
        inside[:] = False
        inside[nodes] = True
    return result


@dataclass(frozen=True, eq=False, repr=False)
class Cuts(FrozenArrays):
    """Statistics of the bootstrap resamples for the split below each node; NaN at leaves.

    Attributes
    ----------
    interval : ndarray of shape (n_nodes, 2)
        Between which values of training rows the best cut lies, with about 90 % confidence: 5 % of the resamples' cuts
        lie further out on either side, at most; at least one is left out on either side, so that with fewer than 19
        resamples the confidence is less.
    share : ndarray of shape (n_nodes,)
        Share of the resamples whose cut lies inside the band of the split.
    """

    interval: Floats
    share: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Categories(FrozenArrays):
    """Conditions on features that are categories.

    Attributes
    ----------
    n_categories : ndarray of shape (n_features,), int32
        Number of categories of each feature; 0: it holds numbers. A category's value is its code, from 0; larger codes
        were not seen in training.
    start : ndarray of shape (n_nodes + 1,), int32
        Where the memberships of each node begin; a node with a condition on numbers has none.
    membership : ndarray of shape (n_memberships,)
        Membership of each category in the node's condition: the share of the resamples that put it there. NaN: none of
        the rows that grew the split had it.
    """

    n_categories: Ints
    start: Ints
    membership: Floats

    def of(self, node: int) -> Floats:
        """Memberships of a node."""
        return self.membership[self.start[node] : self.start[node + 1]]

    def keep(self, kept: Bools) -> Categories:
        """Without the nodes that are not ``kept``."""
        sizes = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int32)
        return Categories(self.n_categories, start, self.membership[np.repeat(kept, sizes)])


@dataclass(frozen=True, eq=False, repr=False)
class FuzzyTree(FrozenArrays):
    """A fuzzy rule tree. Nodes are in pre-order; every node but the root stores one condition.

    The firing of a node is the firing of its parent, times the membership of the row in the node's trapezoid, times
    the gate of the node. Everything else in the library is a reading of these arrays.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,), int32
        Number of the parent; -1 at the root.
    feature : ndarray of shape (n_nodes,), int32
        Feature the node's condition tests; -1 at the root.
    trapezoid : ndarray of shape (n_nodes, 4)
        The condition (a, b, c, d): full membership between b and c, none outside a and d, linear in between.
        Infinite ends are shoulders. The left side of a split is ``(-inf, -inf, theta - h, theta + h)``, the right side
        ``(theta - h, theta + h, inf, inf)``.
    support : ndarray of shape (n_nodes, 2)
        Range of the node's feature over the training rows that reached its parent: where the gate is open.
    class_weight : ndarray of shape (n_nodes, n_classes)
        Training weight of each class that reached the node.
    consequent : ndarray of shape (n_nodes, n_classes)
        Class distribution of the node, a smoothed form of ``class_weight``.
    gain : ndarray of shape (n_nodes,)
        Weighted Gini decrease of the split below the node on the rows it was grown on; 0 at leaves. For words: what
        the children gained by the criterion when they joined, times the weight of those rows.
    share : ndarray of shape (n_nodes,)
        Membership of a missing value: the share of the parent's weight that has a value and comes to the node.
    profile : Profile
        What the rows of each node look like, for novelty.
    word : tuple of str
        Word of each node's condition, "" at the root; empty where conditions are sides of learned splits.
    cuts : Cuts or None
        How sure the resamples are of each learned split; None where conditions are words.
    categories : Categories or None
        Conditions on categories; None where all features are numbers.
    """

    parent: Ints
    feature: Ints
    trapezoid: Floats
    support: Floats
    class_weight: Floats
    consequent: Floats
    gain: Floats
    share: Floats
    profile: Profile
    word: tuple[str, ...] = ()
    cuts: Cuts | None = None
    categories: Categories | None = None

    def __repr__(self) -> str:
        return f"<FuzzyTree: {self.n_nodes} nodes, {len(self.leaves)} rules, {self.n_classes} classes>"

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return len(self.parent)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.class_weight.shape[1])

    @cached_property
    def weight(self) -> Floats:
        """Training weight that reached each node."""
        return np.asarray(self.class_weight.sum(axis=1))

    @cached_property
    def is_leaf(self) -> Bools:
        """Whether a node ends a rule."""
        leaf = np.ones(self.n_nodes, dtype=bool)
        leaf[self.parent[1:]] = False
        return leaf

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """Numbers of the leaves, in pre-order: one for each rule."""
        return np.flatnonzero(self.is_leaf)

    @cached_property
    def depth(self) -> Ints:
        """Number of conditions on the path to each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for d, nodes in enumerate(nodes_by_depth(self.parent), start=1):
            depth[nodes] = d
        return depth

    @cached_property
    def tested_columns(self) -> list[int]:
        """Columns that conditions test, in ascending order."""
        return sorted(set(self.feature[1:].tolist()))

    @cached_property
    def whole_columns(self) -> frozenset[int]:
        """Columns that seem to hold whole numbers: all training rows that were kept do, and some has a value."""
        known = ~np.isnan(self.profile.exemplar_row)
        is_whole = np.where(known, self.profile.exemplar_row == np.floor(self.profile.exemplar_row), True)
        return frozenset(np.flatnonzero(is_whole.all(axis=0) & known.any(axis=0)).tolist())

    @property
    def slope(self) -> Floats:
        """Steepest slope of each node's membership: ``1 / (2 h)`` for a side of a band; 0 at the root."""
        a, b, c, d = self.trapezoid.T
        with np.errstate(divide="ignore", invalid="ignore"):
            rise, fall = np.where(np.isfinite(a), 1 / (b - a), 0.0), np.where(np.isfinite(d), 1 / (d - c), 0.0)
        return np.maximum(rise, fall)

    def n_categories(self, n_features: int) -> Ints:
        """Number of categories of each feature; 0: it holds numbers."""
        return np.zeros(n_features, dtype=np.int32) if self.categories is None else self.categories.n_categories

    def path(self, node: int) -> list[int]:
        """Nodes from just below the root to ``node``."""
        nodes: list[int] = []
        while node > 0:
            nodes.append(node)
            node = int(self.parent[node])
        return nodes[::-1]

    def columns_of(self, nodes: Ints) -> tuple[tuple[int, ...], ...]:
        """The features of the conditions from just below the root to each of some nodes."""
        return tuple(tuple(int(self.feature[step]) for step in self.path(node)) for node in nodes.tolist())

    @cached_property
    def lipschitz(self) -> float:
        """Lipschitz constant of the soft vote where the gates are open, max-norm to L1-norm.

        Learned splits: the largest sum of ``1 / h`` over the splits of a path (supplement of the paper, Prop. 3).
        Words: of the sum of all nodes' firings times their distributions; a node's firing changes at most by the slopes
        on its path.
        """
        total, slope = np.zeros(self.n_nodes), self.slope
        for nodes in nodes_by_depth(self.parent):
            total[nodes] = total[self.parent[nodes]] + slope[nodes]
        return float(total.sum() if self.word else 2 * total.max())

    def memberships(self, node: int) -> Floats:
        """Membership of each category in a node's condition; none where the condition is on numbers."""
        return np.zeros(0) if self.categories is None else self.categories.of(node)

    @cached_property
    def core(self) -> _core.Tree:
        """The compiled form of the tree, which fires rows; its gates are one range wide."""
        return self.compiled(1.0)

    def compiled(self, gate_margin: float) -> _core.Tree:
        """A compiled form of the tree with gates of this width."""
        start, membership = np.zeros(self.n_nodes + 1, dtype=np.int32), np.zeros(0)
        if self.categories is not None:
            start, membership = self.categories.start, self.categories.membership
        conditions = (self.parent, self.feature, self.trapezoid, self.share, start, membership)
        return _core.Tree(*conditions, self.support, gate_margin)

    @cached_property
    def unit_of_distance(self) -> Floats:
        """Standard deviation of each feature inside leaves, shape (n_features,)."""
        weight = self.weight[self.leaves]
        # Added up row by row, not as a product of matrices: how BLAS rounds depends on the processor.
        inside = np.ascontiguousarray(weight[:, None] * self.profile.variance[self.leaves]).sum(axis=0) / weight.sum()
        return np.asarray(np.sqrt(np.maximum(inside, LEAST_SHARE * self.profile.total_variance)))

    @cached_property
    def exemplar_group(self) -> Ints:
        """Node whose exemplars a row is compared with where its path ends at a node, shape (n_nodes,); -1: none.

        The two sides of a learned split share every row, so no path ends above them. If every row reaches a node only
        weakly, the node has no exemplars; the exemplars of the node above are used.
        """
        group = np.arange(self.n_nodes, dtype=np.int32)
        for node in range(1, self.n_nodes):  # parents come first
            if not self.profile.exemplar.shape[1] or self.profile.exemplar[node, 0] < 0:
                group[node] = group[self.parent[node]]
        return np.where(self.core.is_split, np.int32(-1), group)

    @cached_property
    def exemplars(self) -> _core.Exemplars:
        """The exemplars, laid out for the search of the nearest one."""
        profile = self.profile
        return _core.Exemplars(
            self.core,
            profile.exemplar_row,
            profile.exemplar,
            self.exemplar_group,
            profile.mean[0].copy(),
            1 / self.unit_of_distance,
            self.n_categories(profile.mean.shape[1]),
        )

    def fire(self, X: Floats, *, gated: bool = True, gate_margin: float = 1.0, n_threads: int = 1) -> Floats:
        """Firing of every node.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), float64
            Rows, in the column order of the training table.
        gated : bool, default=True
            Whether the gates act.
        gate_margin : float, default=1.0
            Width of a gate's slope, in ranges of its feature.
        n_threads : int, default=1
            Number of threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_samples, n_nodes)
        """
        out = np.zeros((len(X), self.n_nodes))
        core = self.core if gate_margin == 1.0 or not gated else self.compiled(gate_margin)
        core.fire(X, gated, n_threads, out)
        return out

    def keep(self, kept: Bools) -> FuzzyTree:
        """The tree without the nodes that are not ``kept``; a node may be kept only with its parent."""
        number = np.cumsum(kept) - 1
        parent = self.parent[kept]
        parent[1:] = number[parent[1:]]
        is_leaf = np.ones(len(parent), dtype=bool)
        is_leaf[parent[1:]] = False
        cuts = None
        if self.cuts is not None:
            interval, share = self.cuts.interval[kept], self.cuts.share[kept]
            interval[is_leaf] = share[is_leaf] = np.nan
            cuts = Cuts(interval, share)
        return FuzzyTree(
            parent.astype(np.int32),
            self.feature[kept],
            self.trapezoid[kept],
            self.support[kept],
            self.class_weight[kept],
            self.consequent[kept],
            np.where(is_leaf, 0.0, self.gain[kept]),
            self.share[kept],
            self.profile.keep(kept),
            tuple(word for word, stays in zip(self.word, kept, strict=True) if stays) if self.word else (),
            cuts,
            None if self.categories is None else self.categories.keep(kept),
        )


# ---------------------------------------------------------------------------------------------------------------------
# Which part of a large tree is shown, so that a reader can take it in
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folded:
    """The part of a tree that is shown.

    Attributes
    ----------
    children : dict of int to list of int
        Children of every node whose children are shown.
    n_hidden : dict of int to int
        Number of rules below each node whose children are hidden.
    """

    children: dict[int, list[int]]
    n_hidden: dict[int, int]

    @property
    def nodes(self) -> list[int]:
        """All nodes that are shown, in pre-order."""
        return [0, *sorted(child for item in self.children.values() for child in item)]


def fold(
    tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None, min_weight: float = 0.0
) -> Folded:
    """The part of a tree without what lies too deep, and without the lightest subtrees of the rest.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth : int, default=None
        The children of nodes at this depth are hidden; 0 is the root.
    max_rules : int, default=None
        At most this many ends of paths are shown; the children of the heaviest nodes are shown first.
    min_weight : float, default=0.0
        The children of nodes that have less than this share of the training weight are hidden.

    Returns
    -------
    Folded
    """
    if not 0 <= min_weight <= 1:
        raise ValueError(f"min_weight is {min_weight}; it must be a share of the training weight, from 0 to 1.")
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
        too_light = tree.weight[node] < min_weight * tree.weight[0]
        if too_deep or too_light or (max_rules is not None and n_ends + len(below[node]) - 1 > max_rules):
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
