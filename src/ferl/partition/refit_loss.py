"""Cross-entropy of a tree of words as a function of where its ramps are, with its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ferl.partition.ramps import RampTable
from ferl.partition.sets import FuzzySet
from ferl.tree import FuzzyTree

Floats = NDArray[np.float64]

# Rows nearer to an end, in ranges of the feature, lie on it: a minimum at a kink is found to about this precision only.
ON_AN_END = 1e-6
LEAST_PROBABILITY = 1e-12  # a logarithm needs more than zero; growth uses the same


@dataclass(frozen=True)
class RefitRows:
    """Rows to refit on, each with some weight.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Values.
    codes : ndarray of shape (n_rows,), int32
        Place of each row's label among the classes.
    weight : ndarray of shape (n_rows,)
        How often each row counts.
    """

    X: Floats
    codes: NDArray[np.int32]
    weight: Floats

    @cached_property
    def low(self) -> Floats:
        """Lowest value of each feature."""
        return np.asarray(self.X.min(axis=0))

    @cached_property
    def width(self) -> Floats:
        """Range of each feature."""
        return np.asarray(self.X.max(axis=0) - self.low)


class RefitLoss:
    """Weighted mean of ``-log p(label)``, where p is the pignistic probability of Dempster's rule, gates open.

    A node that fires with phi and has the distribution p gives class c the plausibility ``1 - phi + phi p(c)``; the
    plausibilities of the nodes multiply. The share that all nodes leave open, the product of ``1 - phi``, is treated
    as one more class that no node supports.

    The gradient runs the same operations backwards: from the probability to the products, to the firings, along the
    paths to the memberships, and from these to the ramps that the words share.

    Parameters
    ----------
    tree : FuzzyTree
        Topology and consequents.
    table : RampTable
        Which ramps its words read.
    rows : RefitRows
        The rows.
    reliability : ndarray of shape (n_nodes,)
        How far each node is believed; 0 for nodes that are not sources.
    """

    def __init__(self, tree: FuzzyTree, table: RampTable, rows: RefitRows, reliability: Floats) -> None:
        low, width = rows.low[table.feature], rows.width[table.feature]
        self._parent, self._table = tree.parent, table
        self._x = np.ascontiguousarray(((rows.X[:, table.feature] - low) / width).T)
        self._label = (rows.codes, np.arange(len(rows.X)))
        self._weight = rows.weight / rows.weight.sum()
        self._reliability = reliability
        self._sources = np.flatnonzero(reliability).tolist()
        # The column of zeros is the open share.
        self._consequent = np.hstack([tree.consequent, np.zeros((tree.n_nodes, 1))])[:, :, None]
        self._fixed = _fixed_memberships(tree, table, rows.X)

    def __call__(self, ends: Floats) -> tuple[float, Floats]:
        """Loss and gradient.

        Parameters
        ----------
        ends : ndarray of shape (2 * n_ramps,)
            Start and end of each ramp, in ranges of its feature from the lowest value.

        Returns
        -------
        loss : float
        gradient : ndarray of shape (2 * n_ramps,)
        """
        start, end = ends.reshape(-1, 2).T[:, :, None]
        ramp = np.clip((self._x - start) / (end - start), 0.0, 1.0)
        membership = self._memberships(ramp)
        firing = self._fire(membership)
        products = self._combine(firing)
        loss, change = self._judge(products[-1])
        by_ramp = self._to_ramps(self._to_memberships(self._to_firings(change, products, firing), firing, membership))
        return loss, _to_ends(by_ramp, self._x, ramp, start, end)

    def _memberships(self, ramp: Floats) -> Floats:
        """Membership of each row in each node's word, shape (n_nodes, n_rows)."""
        membership = self._fixed.copy()
        for node in np.flatnonzero(self._table.is_movable):
            rise, fall = self._table.rise[node], self._table.fall[node]
            membership[node] = ramp[rise] if rise >= 0 else 1.0
            if fall >= 0:
                membership[node] -= ramp[fall]
        return membership

    def _fire(self, membership: Floats) -> Floats:
        firing = np.ones_like(membership)
        for node in range(1, len(firing)):
            firing[node] = firing[self._parent[node]] * membership[node]
        return firing

    def _factor(self, node: int, firing: Floats) -> Floats:
        """What a source multiplies the plausibility of each class and the open share with."""
        phi = self._reliability[node] * firing[node]
        return np.asarray(1.0 - phi * (1.0 - self._consequent[node]))

    def _combine(self, firing: Floats) -> list[Floats]:
        """Products of the factors, before the first source and after each, of shape (n_classes + 1, n_rows)."""
        products = [np.ones((self._consequent.shape[1], firing.shape[1]))]
        for node in self._sources:
            products.append(products[-1] * self._factor(node, firing))
        return products

    def _judge(self, product: Floats) -> tuple[float, Floats]:
        """Loss, and its derivatives by the plausibilities and the open share."""
        n_classes = len(product) - 1
        plausible, open_share = product[:-1], product[-1]
        own = plausible[self._label] - open_share * (1.0 - 1.0 / n_classes)
        total = plausible.sum(axis=0) - (n_classes - 1) * open_share
        # Sources that exclude each other entirely say nothing together.
        silent = total <= 0.0
        probability = np.where(silent, 1.0 / n_classes, own / np.where(silent, 1.0, total))
        loss = -float(self._weight @ np.log(np.maximum(probability, LEAST_PROBABILITY)))
        counts = np.where(silent | (probability <= LEAST_PROBABILITY), 0.0, self._weight)
        by_total = np.divide(counts, total, out=np.zeros_like(counts), where=counts > 0)
        by_own = -np.divide(counts, own, out=np.zeros_like(counts), where=counts > 0)
        change = np.tile(by_total, (n_classes + 1, 1))
        change[self._label] += by_own
        change[-1] = -(1.0 - 1.0 / n_classes) * by_own - (n_classes - 1) * by_total
        return loss, change

    def _to_firings(self, change: Floats, products: list[Floats], firing: Floats) -> Floats:
        by_firing = np.zeros_like(firing)
        for node, before in zip(self._sources[::-1], products[-2::-1], strict=True):
            slope = self._reliability[node] * (self._consequent[node] - 1.0)
            by_firing[node] = (slope * before * change).sum(axis=0)
            change = change * self._factor(node, firing)
        return by_firing

    def _to_memberships(self, by_firing: Floats, firing: Floats, membership: Floats) -> Floats:
        by_membership = np.zeros_like(firing)
        for node in range(len(firing) - 1, 0, -1):
            parent = self._parent[node]
            by_membership[node] = by_firing[node] * firing[parent]
            by_firing[parent] += by_firing[node] * membership[node]
        return by_membership

    def _to_ramps(self, by_membership: Floats) -> Floats:
        by_ramp = np.zeros_like(self._x)
        for node in np.flatnonzero(self._table.is_movable):
            rise, fall = self._table.rise[node], self._table.fall[node]
            if rise >= 0:
                by_ramp[rise] += by_membership[node]
            if fall >= 0:
                by_ramp[fall] -= by_membership[node]
        return by_ramp


def _fixed_memberships(tree: FuzzyTree, table: RampTable, X: Floats) -> Floats:
    """Memberships in words that do not move; 1 elsewhere."""
    fixed = ~table.is_movable
    fixed[0] = False
    membership = np.ones((tree.n_nodes, len(X)))
    for node in np.flatnonzero(fixed):
        membership[node] = FuzzySet("fixed", *tree.trapezoid[node].tolist()).membership(X[:, tree.feature[node]])
    return membership


def _to_ends(by_ramp: Floats, x: Floats, ramp: Floats, start: Floats, end: Floats) -> Floats:
    """Derivatives by the ends of the ramps, shape (2 * n_ramps,).

    Breakpoints of quantile partitions are values of the table, and there the loss has a kink: moving a start down
    lifts the rows that lie on it, moving it up leaves them where they are. Each end gets the derivative in the
    direction of steeper descent, and 0 where the loss rises in both.
    """
    slope = -by_ramp / (end - start)
    on = [np.abs(x - place) <= ON_AN_END for place in (start, end)]
    inside = (x > start) & (x < end) & ~on[0] & ~on[1]
    by_start, by_end = ((slope * inside * share).sum(axis=1) for share in (1.0 - ramp, ramp))
    on_start, on_end = ((slope * rows).sum(axis=1) for rows in on)
    return np.column_stack(
        [_steeper(by_start + on_start, by_start), _steeper(by_end, by_end + on_end)],
    ).ravel()


def _steeper(downwards: Floats, upwards: Floats) -> Floats:
    """Of the derivatives below and above a point, the one with the steeper descent; 0 where both lead up."""
    descent_down, descent_up = np.maximum(downwards, 0.0), np.maximum(-upwards, 0.0)
    return np.where(descent_up > descent_down, -descent_up, descent_down)
