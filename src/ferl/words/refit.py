"""Refit: move the words of a fitted compact tree to where its rules describe the training rows best."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from ferl import _core
from ferl._answers import model_of
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._models.words import INFINITY, FuzzySet, LinguisticVariable, Partition
from ferl._sklearn import check_rows
from ferl._tables import codes_of, weights_and_factors
from ferl._util.arrays import NARROWEST, Floats
from ferl.trees import FERLTreeClassifier

# A round that lowers the cross-entropy by less was the last one.
_LEAST_GAIN = 1e-6
# A ramp may become a steep one but not a step, which has no gradient: least width, in ranges of the feature.
_LEAST_WIDTH = 1e-3
# Rows nearer to an end, in ranges of the feature, lie on it: a minimum at a kink is found to about this precision only.
_ON_AN_END = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class RefitResult:
    """A tree whose words were moved.

    Attributes
    ----------
    estimator : FERLTreeClassifier
        A copy of the fitted estimator, with the moved words.
    partition : list of LinguisticVariable or None
        The words of each feature, moved.
    tree : FuzzyTree
        The tree in these words: same topology and consequents; class weights and ranges are those of the given rows.
    cross_entropy_before, cross_entropy_after : float
        Mean of ``-log p(label)`` over the given rows, gates open.
    drift : float
        Mean over the sets of the variables that the tree uses, of the mean movement of a set's finite ends, as a
        fraction of the feature's range.
    n_iterations : int
        Number of steps taken.
    converged : bool
        Whether the last round changed next to nothing; False when ``max_iter`` came first.
    fixed : tuple of str
        Variables that the tree uses and that were left as they are: their sets do not hand over to each other on
        shared ramps (categories, upright sides, an expert's overlaps), or the rows hold a single value of the feature.
    """

    estimator: FERLTreeClassifier
    partition: list[LinguisticVariable | None]
    tree: FuzzyTree
    cross_entropy_before: float
    cross_entropy_after: float
    drift: float
    n_iterations: int
    converged: bool
    fixed: tuple[str, ...]

    def __repr__(self) -> str:
        change = f"from {self.cross_entropy_before:.3f} to {self.cross_entropy_after:.3f}"
        return f"<RefitResult: cross-entropy {change}, drift {100 * self.drift:.1f} %>"


def refit_partition(
    estimator: FERLTreeClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 300,
) -> RefitResult:
    """Move the breakpoints of a compact tree's words; its rules and their consequents stay.

    The cross-entropy of ``predict_proba`` on the given rows, with the support gates open, is minimised by L-BFGS-B with
    exact gradients. A word keeps one meaning: all rules that use it use the same set, and where a set falls its
    neighbour rises, as before.

    Parameters
    ----------
    estimator : FERLTreeClassifier
        A fitted compact tree (``criterion="consistent"`` or ``"cci"``) that combines by Dempster's rule. It is not
        changed.
    X : array-like or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.
    max_iter : int, default=300
        Largest number of steps; 0 moves nothing.

    Returns
    -------
    RefitResult

    Raises
    ------
    ValueError
        When the estimator is not compact or does not use Dempster's rule, or the rows do not fit it.

    Notes
    -----
    The parameters are the ends of the ramps themselves, in ranges of their feature, so that an end without influence
    stays where it is. (With a first end and gaps as parameters, moving one end would move all that follow.) Order is
    kept by bounds: in one round an end may move half-way to its neighbours, and within the feature's range. Rounds
    follow each other until one gains next to nothing, so an end can go further than that. Bounds allow gaps of zero,
    which triangles have and which the exponential of a parameter does not reach.

    Class weights and the ranges of the support gates are read again from the given rows, as they follow from the words.
    The consequents, and so the confidence that rules print, are those from before the move.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> from ferl.words import refit_partition
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("compact", random_state=0).fit(X, y)
    >>> result = refit_partition(clf, X, y)
    >>> result
    <RefitResult: cross-entropy from 0.124 to 0.098, drift 4.5 %>
    >>> moved = result.estimator  # a copy of clf that speaks in the moved words
    """
    model = model_of(estimator, "refit_partition", TreeModel, 'FERLTreeClassifier("compact")')
    _check(model, max_iter)
    rows = _read_rows(estimator, X, y, sample_weight)
    tree, partition = model.tree, list(model.words or ())
    table = read_ramps(tree, partition, _has_room(rows))
    loss = RefitLoss(tree, table, rows, np.where(model.is_source, model.reliability, 0.0))
    low, width = (values[table.feature][:, None] for values in (rows.low, rows.width))
    start = (table.ends - low) / width
    before = loss(start.ravel())[0]
    result, after, n_iterations, converged = _minimise(loss, table, start, before, int(max_iter))
    # By the distance moved and not by the value reached: what did not move stays to the last bit.
    ends = _ordered(table, table.ends + (result - start) * width)
    moved = _move_variables(partition, table, ends)
    used = np.unique(tree.feature[1:]).tolist()
    fitted = copy(estimator)._take(replace(model, tree=_seen_again(_move_tree(tree, table, ends), rows), words=moved))
    return RefitResult(
        estimator=fitted,
        partition=moved,
        tree=fitted.tree_,
        cross_entropy_before=before,
        cross_entropy_after=after,
        drift=_mean_drift([(partition[j], moved[j], rows.width[j]) for j in used]),
        n_iterations=n_iterations,
        converged=converged,
        fixed=tuple(partition[j].name for j in used if j not in table.feature),
    )


def _check(model: TreeModel, max_iter: object) -> None:
    if model.words is None:
        raise ValueError(
            f"The estimator is a {model.variant} tree, which learns its own splits; only the words of a compact tree "
            'can be refitted. Fit a FERLTreeClassifier("compact").'
        )
    if model.reading.combination != "dempster":
        raise ValueError(
            f"combination is {model.reading.combination!r}; words can be refitted for Dempster's rule only. Read the "
            'model with reading(combination="dempster").'
        )
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or max_iter < 0:
        raise ValueError(f"max_iter is {max_iter!r}; it must be an int of at least 0.")


def _read_rows(estimator: FERLTreeClassifier, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> RefitRows:
    model, table, labels = estimator.model_, check_rows(estimator, X), np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}; it needs one label per row.")
    codes = codes_of(labels, model.classes)
    if (codes < 0).any():
        unknown = labels.tolist()[int(np.argmin(codes))]
        raise ValueError(f"y holds the label {unknown!r}; the estimator was fitted on {model.classes.tolist()}.")
    if model.schema.n_categories.any() or np.isnan(table).any():
        raise ValueError(
            "Words are refitted on numbers alone; this table has categories or missing values. Leave those columns or "
            "rows out."
        )
    if len(codes) != len(table):
        raise ValueError(f"X has {len(table)} rows and y {len(codes)} labels. Pass one label for each row of X.")
    weight, _ = weights_and_factors(sample_weight, estimator.class_weight, model.classes, codes)
    kept = weight > 0
    return RefitRows(table[kept], codes[kept], weight[kept])


@dataclass(frozen=True)
class RefitRows:
    """Rows to refit on, each with some weight.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Values.
    codes : ndarray of shape (n_samples,), int32
        Index of each row's label among the classes.
    weight : ndarray of shape (n_samples,)
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


def _has_room(rows: RefitRows) -> NDArray[np.bool_]:
    """Whether numbers are fine enough for the narrowest ramp in each feature's range."""
    finest = 8 * np.spacing(np.abs(rows.X).max(axis=0))
    return np.asarray(_LEAST_WIDTH * rows.width > np.maximum(finest, NARROWEST))


def _minimise(
    loss: RefitLoss, table: RampTable, ends: Floats, value: float, max_iter: int
) -> tuple[Floats, float, int, bool]:
    """Go down in rounds, each within bounds around its start: ends, loss, number of steps, whether it converged."""
    left, gain = max_iter, np.inf
    while left > 0 and gain > _LEAST_GAIN and table.n_ramps:
        bounds = movement_bounds(table, ends).reshape(-1, 2)
        result = minimize(loss, ends.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": left})
        gain = value - float(result.fun)
        left -= int(result.nit)
        if gain > 0:
            ends, value = result.x.reshape(-1, 2), float(result.fun)
    return ends, value, max_iter - left, gain <= _LEAST_GAIN or not table.n_ramps


def _ordered(table: RampTable, ends: Floats) -> Floats:
    """Ends that ascend to the last bit, in units of the features again."""
    ordered = ends.copy()
    for j in np.unique(table.feature):
        of_feature = table.feature == j
        ordered[of_feature] = np.maximum.accumulate(ends[of_feature].ravel()).reshape(-1, 2)
    return ordered


def _seen_again(tree: FuzzyTree, rows: RefitRows) -> FuzzyTree:
    """The tree with the class weights and ranges that the rows give it now; its consequents stay."""
    firing = tree.fire(rows.X, gated=False)
    labels = np.zeros((len(rows.X), tree.n_classes))
    labels[np.arange(len(labels)), rows.codes] = rows.weight * (tree.weight[0] / rows.weight.sum())
    support = tree.support.copy()  # as it was where no row reaches the parent
    for node in range(1, tree.n_nodes):
        values = rows.X[firing[:, tree.parent[node]] > _core.NEGLIGIBLE_FIRING, tree.feature[node]]
        if values.size:
            support[node] = values.min(), values.max()
    return replace(tree, class_weight=firing.T @ labels, support=support)


# ---------------------------------------------------------------------------------------------------------------------
# Ramps: where one word hands over to the next
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RampTable:
    """The ramps that a tree's words share, feature by feature and ascending.

    A word's membership is its rising ramp minus its falling one, where a missing rise is 1 and a missing fall 0. So a
    word that falls and its neighbour that rises read the same ramp, a word and its complement too, and moving a ramp
    moves all of them.

    Attributes
    ----------
    feature : ndarray of shape (n_ramps,)
        Feature of each ramp.
    ends : ndarray of shape (n_ramps, 2)
        Start and end of each ramp: the lower word is full up to the start and gone at the end.
    rise, fall : ndarray of shape (n_nodes,)
        Ramp on which each node's word rises and falls; -1 where it does not.
    is_movable : ndarray of shape (n_nodes,), bool
        Whether the node's word is made of ramps; False at the root.
    """

    feature: NDArray[np.intp]
    ends: Floats
    rise: NDArray[np.intp]
    fall: NDArray[np.intp]
    is_movable: NDArray[np.bool_]

    @property
    def n_ramps(self) -> int:
        """Number of ramps."""
        return len(self.ends)


def read_ramps(tree: FuzzyTree, partition: Partition, may_move: NDArray[np.bool_]) -> RampTable:
    """The ramps of the variables that a tree uses.

    Parameters
    ----------
    tree : FuzzyTree
        A tree of words.
    partition : sequence of LinguisticVariable or None
        Its words.
    may_move : ndarray of shape (n_features,), bool
        False for features that are to be left as they are.

    Returns
    -------
    RampTable
    """
    feature: list[int] = []
    ends: list[tuple[float, float]] = []
    index: dict[tuple[int, tuple[float, float]], int] = {}
    for j in np.unique(tree.feature[1:]).tolist():
        variable = partition[j]
        ramps = _shared_ramps(variable) if variable is not None and may_move[j] else None
        for ramp in ramps or ():
            index[j, ramp] = len(ends)
            feature.append(j)
            ends.append(ramp)
    conditions = zip(tree.feature.tolist(), tree.trapezoid.tolist(), strict=True)
    sides = np.array([(index.get((j, (a, b)), -1), index.get((j, (c, d)), -1)) for j, (a, b, c, d) in conditions])
    rise, fall = sides.astype(np.intp).T
    movable = (rise >= 0) | (fall >= 0)
    return RampTable(np.array(feature, dtype=np.intp), np.array(ends, dtype=float).reshape(-1, 2), rise, fall, movable)


def _shared_ramps(variable: LinguisticVariable) -> list[tuple[float, float]] | None:
    """The ramps on which each set hands over to the next; None where sets do not share them.

    The builders' variables are made of shared ramps. An expert's sets may leave gaps, overlap in other ways or have
    upright sides; how such sets should move together nobody has said.
    """
    sets = variable.sets
    if sets[0].a != -INFINITY or sets[-1].d != INFINITY:
        return None
    if any((low.c, low.d) != (high.a, high.b) or low.c == low.d for low, high in pairwise(sets)):
        return None
    return [(one.c, one.d) for one in sets[:-1]]


def movement_bounds(table: RampTable, ends: Floats) -> Floats:
    """How far each end may move at once so that, whatever the others do, all of them stay in order.

    Parameters
    ----------
    table : RampTable
        The ramps.
    ends : ndarray of shape (n_ramps, 2)
        Where they are, in ranges of their feature from its lowest value.

    Returns
    -------
    ndarray of shape (n_ramps, 2, 2)
        Lowest and highest value of each end: half-way to its neighbours and inside the feature's range, so that the
        lowest value stays a full member of the first word, the highest of the last.
    """
    bounds = np.empty((*ends.shape, 2))
    bounds[:, 0, 0], bounds[:, 1, 1] = np.minimum(ends[:, 0], 0.0), np.maximum(ends[:, 1], 1.0)
    between = np.flatnonzero(table.feature[1:] == table.feature[:-1])
    bounds[between, 1, 1] = bounds[between + 1, 0, 0] = (ends[between, 1] + ends[between + 1, 0]) / 2
    middle, width = ends.mean(axis=1), ends[:, 1] - ends[:, 0]
    half = np.minimum(width, _LEAST_WIDTH) / 2
    bounds[:, 0, 1], bounds[:, 1, 0] = middle - half, middle + half
    # Where an end stands is always allowed: rounding must not move it.
    bounds[:, :, 0], bounds[:, :, 1] = np.minimum(bounds[:, :, 0], ends), np.maximum(bounds[:, :, 1], ends)
    return bounds


def _move_variables(partition: Partition, table: RampTable, ends: Floats) -> list[LinguisticVariable | None]:
    """The partition with its ramps moved; names, words, units and ranges stay."""
    moved = list(partition)
    for j in np.unique(table.feature).tolist():
        if (variable := partition[j]) is not None:
            ramps = [(-INFINITY, -INFINITY), *map(tuple, ends[table.feature == j].tolist()), (INFINITY, INFINITY)]
            words = zip(variable.sets, pairwise(ramps), strict=True)
            sets = tuple(FuzzySet(one.name, *rise, *fall) for one, (rise, fall) in words)
            moved[j] = replace(variable, sets=sets)
    return moved


def _move_tree(tree: FuzzyTree, table: RampTable, ends: Floats) -> FuzzyTree:
    """The tree with its ramps moved; topology, consequents and all that was counted stay."""
    trapezoid = tree.trapezoid.copy()
    for columns, side in ((slice(0, 2), table.rise), (slice(2, 4), table.fall)):
        nodes = np.flatnonzero(side >= 0)
        trapezoid[nodes, columns] = ends[side[nodes]]
    return replace(tree, trapezoid=trapezoid)


def _mean_drift(moves: Sequence[tuple[LinguisticVariable, LinguisticVariable, float]]) -> float:
    """Mean over all sets of the mean movement of a set's finite ends, in ranges of its feature; 0 for no variables.

    Each move is a variable before and after, and the range of its feature. Without a range it counts as not moved.
    """
    drift = [
        float(np.mean([abs(b - a) for a, b in zip(old.ends, new.ends, strict=True) if np.isfinite(a)]) / width)
        if width > 0
        else 0.0
        for before, after, width in moves
        for old, new in zip(before.sets, after.sets, strict=True)
    ]
    return float(np.mean(drift)) if drift else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# The loss that moving ramps lowers
# ---------------------------------------------------------------------------------------------------------------------


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
        membership, firing = self._fire(ramp)
        products = self._combine(firing)
        loss, change = self._judge(products[-1])
        by_ramp = self._to_ramps(self._to_firings(change, products, firing), firing, membership)
        return loss, _to_ends(by_ramp, self._x, ramp, start, end)

    def _fire(self, ramp: Floats) -> tuple[Floats, Floats]:
        """Membership of each row in each node's word, and firing of the nodes; both of shape (n_nodes, n_rows)."""
        membership = self._fixed.copy()
        for node in np.flatnonzero(self._table.is_movable).tolist():
            rise, fall = self._table.rise[node], self._table.fall[node]
            membership[node] = (ramp[rise] if rise >= 0 else 1.0) - (ramp[fall] if fall >= 0 else 0.0)
        firing = np.ones_like(membership)
        for node in range(1, len(firing)):
            firing[node] = firing[self._parent[node]] * membership[node]
        return membership, firing

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
        mass = plausible[self._label] - open_share * (1.0 - 1.0 / n_classes)
        total = plausible.sum(axis=0) - (n_classes - 1) * open_share
        # Sources that exclude each other entirely say nothing together.
        silent = total <= 0.0
        probability = np.where(silent, 1.0 / n_classes, mass / np.where(silent, 1.0, total))
        loss = -float(self._weight @ np.log(np.maximum(probability, _core.LEAST_PROBABILITY)))
        counts = np.where(silent | (probability <= _core.LEAST_PROBABILITY), 0.0, self._weight)
        by_total = np.divide(counts, total, out=np.zeros_like(counts), where=counts > 0)
        by_mass = -np.divide(counts, mass, out=np.zeros_like(counts), where=counts > 0)
        change = np.tile(by_total, (n_classes + 1, 1))
        change[self._label] += by_mass
        change[-1] = -(1.0 - 1.0 / n_classes) * by_mass - (n_classes - 1) * by_total
        return loss, change

    def _to_firings(self, change: Floats, products: list[Floats], firing: Floats) -> Floats:
        by_firing = np.zeros_like(firing)
        for node, before in zip(self._sources[::-1], products[-2::-1], strict=True):
            slope = self._reliability[node] * (self._consequent[node] - 1.0)
            by_firing[node] = (slope * before * change).sum(axis=0)
            change = change * self._factor(node, firing)
        return by_firing

    def _to_ramps(self, by_firing: Floats, firing: Floats, membership: Floats) -> Floats:
        by_membership = np.zeros_like(firing)
        for node in range(len(firing) - 1, 0, -1):
            parent = self._parent[node]
            by_membership[node] = by_firing[node] * firing[parent]
            by_firing[parent] += by_firing[node] * membership[node]
        by_ramp = np.zeros_like(self._x)
        for node in np.flatnonzero(self._table.is_movable).tolist():
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
    on = [np.abs(x - point) <= _ON_AN_END for point in (start, end)]
    inside = (x > start) & (x < end) & ~on[0] & ~on[1]
    by_start, by_end = ((slope * inside * share).sum(axis=1) for share in (1.0 - ramp, ramp))
    on_start, on_end = ((slope * rows).sum(axis=1) for rows in on)
    return np.column_stack([_steeper(by_start + on_start, by_start), _steeper(by_end, by_end + on_end)]).ravel()


def _steeper(downwards: Floats, upwards: Floats) -> Floats:
    """Of the derivatives below and above a point, the one with the steeper descent; 0 where both lead up."""
    descent_down, descent_up = np.maximum(downwards, 0.0), np.maximum(-upwards, 0.0)
    return np.where(descent_up > descent_down, -descent_up, descent_down)
