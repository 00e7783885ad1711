"""A row along one feature: what the tree can answer while this one value moves through an interval.

Along one feature a firing is a constant times the memberships and gates of the conditions on that feature. Each of
these is monotone between its corners, so on an interval without corners it lies between its values at the two ends.
These values come from the core itself; bounds on firings, and on how far the label is ahead, follow from them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.model import Model
from ferl._model.tree import FuzzyTree, nodes_by_depth
from ferl._read.evidence import read_evidence
from ferl._util.arrays import Floats

FAR = 1e300  # beyond all corners: what holds there holds for larger values too
# Of one rounding, with room for products and sums that are formed in another order than the core's.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


class RowConditions:
    """How well a row fits every condition of a tree, shared by the lines along its features.

    Parameters
    ----------
    model : Model
        The model.
    row : ndarray of shape (1, n_columns)
        The row.
    """

    def __init__(self, model: Model, row: Floats) -> None:
        self.model, self.row = model, row
        self.tree: FuzzyTree = model.tree
        membership, gate = self.fits(row, np.arange(self.tree.n_nodes, dtype=np.int32))
        self.own = (membership * gate)[0]
        self.by_depth = nodes_by_depth(self.tree.parent)
        self.end = _ends(self.tree)

    def fits(self, rows: Floats, nodes: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Membership and gate of nodes' own conditions, whatever is above them, shape (n_rows, n_nodes) each."""
        membership, gate = np.empty((len(rows), len(nodes))), np.empty((len(rows), len(nodes)))
        self.model.core.conditions(rows, nodes, membership, gate)
        if not self.model.reading.support_gate:
            gate[:] = 1.0
        return membership, gate

    def moved(self, column: int, values: Floats) -> Floats:
        """The row with each of these values in a column, shape (n_values, n_columns)."""
        rows = np.repeat(self.row, len(values), axis=0)
        rows[:, column] = values
        return rows

    def base(self, column: int) -> Floats:
        """Firing of every node if its conditions on a column were met fully, shape (n_nodes,)."""
        firing = np.where(self.tree.feature == column, 1.0, self.own)
        firing[0] = 1.0
        for nodes in self.by_depth:
            firing[nodes] *= firing[self.tree.parent[nodes]]
        return firing

    def labels(self, column: int, values: Floats) -> NDArray[np.intp]:
        """Indices of the labels that ``predict`` gives when the column has these values, shape (n_values,)."""
        return np.asarray(read_evidence(self.model, self.moved(column, values)).pignistic.argmax(axis=1))


def _ends(tree: FuzzyTree) -> NDArray[np.intp]:
    """One past the last node of each node's subtree, shape (n_nodes,); nodes are in pre-order."""
    end = np.arange(1, tree.n_nodes + 1)
    for node in range(tree.n_nodes - 1, 0, -1):
        end[tree.parent[node]] = max(end[tree.parent[node]], end[node])
    return end


class Line:
    """A row along one column of numbers.

    Parameters
    ----------
    conditions : RowConditions
        Those of the row.
    column : int
        The column that moves.
    label : int
        Index of the row's label.

    Attributes
    ----------
    can_matter : bool
        Whether the column decides how strongly any source within reach of the row fires.
    """

    def __init__(self, conditions: RowConditions, column: int, label: int) -> None:
        tree = conditions.tree
        base = conditions.base(column)
        self._conditions, self._column, self._label = conditions, column, label
        self._tested = np.flatnonzero((tree.feature == column) & (base > 0)).astype(np.int32)
        speaks = conditions.model.is_source & (base > 0)
        self.can_matter = any(speaks[node : conditions.end[node]].any() for node in self._tested)
        if not self.can_matter:
            return
        self._nodes = np.flatnonzero((base > 0) & conditions.model.speaks)
        self._base = base[self._nodes] * conditions.model.reliability[self._nodes]
        self._below = [(self._nodes >= node) & (self._nodes < conditions.end[node]) for node in self._tested]

    def corners(self, value: float, outward: int) -> Floats:
        """Ends of the intervals to look at on one side of a value, nearest first; from the value to far away."""
        tree, margin = self._conditions.tree, self._conditions.model.reading.gate_margin
        support = tree.support[self._tested]
        reach = margin * (support[:, 1] - support[:, 0])
        ends = [tree.trapezoid[self._tested].ravel(), support.ravel(), support[:, 0] - reach, support[:, 1] + reach]
        points = np.unique(np.concatenate([*ends, [value]]))
        points = points[np.isfinite(points) & (outward * (points - value) >= 0)]
        # The last corner may be rounded to where a gate is not quite closed; a little further out it is.
        last = points[-1] if outward > 0 else points[0]
        behind = last + outward * 1e-9 * (abs(last) + float(reach.max(initial=0.0)) + np.finfo(np.float64).tiny)
        points = np.append(points, behind) if outward > 0 else np.insert(points, 0, behind)
        return np.append(points[::outward], outward * FAR)

    def keeps_label(self, one: Floats, other: Floats) -> NDArray[np.bool_]:
        """Whether the label is proven to be the same from ``one`` to ``other``, intervals without corners inside."""
        low, high = self._firings(one, other)
        p, c = self._conditions.tree.consequent[self._nodes], self._label
        combination = self._conditions.model.reading.combination
        if combination in ("dempster", "vote"):
            worst = np.where((p[:, c, None] > p)[None], low[:, :, None], high[:, :, None])
            ahead, magnitude = _sum_ahead(worst, p, c, combination)
        else:
            ahead, magnitude = self._ahead_in_odds(low, high, p)
        slack = _ROUNDING * (len(self._nodes) + p.shape[1] + 8.0) * (1 + magnitude)
        safe = ahead > slack
        # Where nothing that may fire speaks more for a class than for the label, the class is at most equal, to the
        # last bit: all sums, products and maxima are monotone. Of equals the first is the label.
        against = (p > p[:, c, None]).astype(np.float64)
        safe |= (self._may_count(high).astype(np.float64) @ against == 0) & (np.arange(p.shape[1]) >= c)
        return np.asarray(safe.all(axis=1))

    def _firings(self, one: Floats, other: Floats) -> tuple[Floats, Floats]:
        """Bounds on what each source is believed to, two arrays of shape (n_intervals, n_nodes)."""
        rows = self._conditions.moved(self._column, np.concatenate([one, other]))
        # Memberships and gates apart: they may move in opposite directions.
        pairs = [own.reshape(2, len(one), -1) for own in self._conditions.fits(rows, self._tested)]
        low, high = (np.prod([bound(own, axis=0) for own in pairs], axis=0) for bound in (np.min, np.max))
        lowest, highest = np.tile(self._base, (len(one), 1)), np.tile(self._base, (len(one), 1))
        for k, below in enumerate(self._below):
            lowest[:, below] *= low[:, k, None]
            highest[:, below] *= high[:, k, None]
        return lowest, highest

    def _ahead_in_odds(self, low: Floats, high: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Least advantage of the label where odds are maxima over paths, and its magnitude."""
        ratio = _odds(low), _odds(high)
        ahead, magnitude = np.zeros((len(low), p.shape[1])), np.zeros((len(low), p.shape[1]))
        for path in self._paths:
            least = _path_ahead(ratio[0][:, path], ratio[1][:, path], p[path], self._label)
            if self._conditions.model.reading.combination == "chain":  # a path counts only where its end fires at all
                fires, may_fire = low[:, path[-1:]] > 0, high[:, path[-1:]] > 0
                least = np.where(fires, least, np.where(may_fire, np.minimum(least, 0.0), 0.0))
            ahead += least
            magnitude += np.abs(least)
        return ahead, magnitude

    def _may_count(self, high: Floats) -> NDArray[np.bool_]:
        """Which sources may have a say, shape (n_intervals, n_nodes): on a path, only if its end may fire."""
        if self._conditions.model.reading.combination != "chain":
            return np.asarray(high > 0)
        counts = np.zeros(high.shape, dtype=bool)
        for path in self._paths:
            counts[:, path] |= high[:, path[-1:]] > 0
        return counts

    @cached_property
    def _paths(self) -> list[list[int]]:
        """Sources whose odds are compared with each other, by their indices; under the cautious rule all of them."""
        if self._conditions.model.reading.combination == "cautious":
            return [list(range(len(self._nodes)))]
        tree, index = self._conditions.tree, {int(node): k for k, node in enumerate(self._nodes)}
        leaves = self._nodes[tree.is_leaf[self._nodes]]
        return [[index[step] for step in tree.path(int(leaf))] for leaf in leaves]


def _path_ahead(low: Floats, high: Floats, p: Floats, c: int) -> Floats:
    """Least ``log(1 + E(c)) - log(1 + E(j))``, where E is the largest ``ratio * p`` over the sources of a path.

    The source whose odds for j are the largest has its own odds for c as well; so the advantage is at least that of
    the worst single source, with what is certain of E(c). Along its ratio this falls, then rises or falls: it is least
    at an end, or where its own odds for c reach what is certain.

    Parameters
    ----------
    low, high : ndarray of shape (n_intervals, n_sources)
        Bounds on the ratio of belief to ignorance of each source.
    p : ndarray of shape (n_sources, n_classes)
        Their distributions.
    c : int
        The class.

    Returns
    -------
    ndarray of shape (n_intervals, n_classes)
    """
    own = p[:, c]
    certain = (low * own).max(axis=1, keepdims=True)
    reached = np.divide(certain, own, out=np.full(low.shape, np.inf), where=own > 0)
    least = np.full((len(low), *p.shape), np.inf)
    for ratio in (low, high, np.clip(reached, low, high)):
        ahead = np.log1p(np.maximum(certain, ratio * own))[:, :, None] - np.log1p(ratio[:, :, None] * p)
        least = np.minimum(least, ahead)
    return np.asarray(least.min(axis=1))


def _odds(believed: Floats) -> Floats:
    capped = np.minimum(believed, _core.MOST_FIRING)
    return np.asarray(capped / (1 - capped))


def _sum_ahead(worst: Floats, p: Floats, c: int, combination: str) -> tuple[Floats, Floats]:
    """Sum over the sources of what each puts class c ahead of the others; each term at the worse of its bounds."""
    if combination == "vote":
        terms = worst * (p[:, c, None] - p)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.log((1 - worst + worst * p[:, c, None]) / (1 - worst + worst * p))
        terms = np.where(np.isnan(terms), -np.inf, terms)  # both excluded: nothing is proven
    finite = np.where(np.isfinite(terms), np.abs(terms), 0.0)
    with np.errstate(invalid="ignore"):
        total = terms.sum(axis=1)
    return np.where(np.isnan(total), -np.inf, total), finite.sum(axis=1)
