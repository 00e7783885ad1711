"""Refit: move the words of a fitted compact tree to where its rules describe the training rows best."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from ferl import _core
from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._models.words import LinguisticVariable
from ferl._sklearn import check_rows
from ferl._tables import codes_of, weights_and_factors
from ferl._util.arrays import NARROWEST, Floats
from ferl.partition.refit_loss import (
    LEAST_WIDTH,
    RampTable,
    RefitLoss,
    RefitRows,
    mean_drift,
    move_tree,
    move_variables,
    movement_bounds,
    read_ramps,
)
from ferl.rules import FERLClassifier

Loss = Callable[[Floats], tuple[float, Floats]]

# A round that lowers the cross-entropy by less was the last one.
_LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class RefitResult:
    """A tree whose words were moved.

    Attributes
    ----------
    estimator : FERLClassifier
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

    estimator: FERLClassifier
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
    estimator: FERLClassifier, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, max_iter: int = 300
) -> RefitResult:
    """Move the breakpoints of a compact tree's words; its rules and their consequents stay.

    The cross-entropy of ``predict_proba`` on the given rows, with the support gates open, is minimised by L-BFGS-B with
    exact gradients. A word keeps one meaning: all rules that use it use the same set, and where a set falls its
    neighbour rises, as before.

    Parameters
    ----------
    estimator : FERLClassifier
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
    >>> from ferl.partition import refit_partition
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("compact", random_state=0).fit(X, y)
    >>> result = refit_partition(clf, X, y)
    >>> result
    <RefitResult: cross-entropy from 0.124 to 0.098, drift 4.5 %>
    >>> moved = result.estimator  # a copy of clf that speaks in the moved words
    """
    model = model_of(estimator, "refit_partition", TreeModel, 'FERLTreeClassifier("compact")')
    _refuse_other_models(model)
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or max_iter < 0:
        raise ValueError(f"max_iter is {max_iter!r}; it must be an int of at least 0.")
    rows = _read_rows(estimator, X, y, sample_weight)
    tree, partition = model.tree, list(model.words or ())
    table = read_ramps(tree, partition, _has_room(rows))
    loss = RefitLoss(tree, table, rows, np.where(model.is_source, model.reliability, 0.0))
    low, width = (values[table.feature][:, None] for values in (rows.low, rows.width))
    start = (table.ends - low) / width
    found = _minimise(loss, table, start, int(max_iter))
    # By the distance moved and not by the value reached: what did not move stays to the last bit.
    ends = _ordered(table, table.ends + (found.ends - start) * width)
    moved_tree, moved = move_tree(tree, table, ends), move_variables(partition, table, ends)
    used = np.unique(tree.feature[1:]).tolist()
    fitted = copy(estimator)._take(replace(model, tree=_seen_again(moved_tree, rows), partition=moved))
    return RefitResult(
        estimator=fitted,
        partition=moved,
        tree=fitted.tree_,
        cross_entropy_before=found.before,
        cross_entropy_after=found.after,
        drift=mean_drift([(partition[j], moved[j], rows.width[j]) for j in used]),
        n_iterations=found.n_iterations,
        converged=found.converged,
        fixed=tuple(partition[j].name for j in used if j not in table.feature),
    )


def _refuse_other_models(model: TreeModel) -> None:
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


def _refuse_other_columns(model: Model, table: Floats) -> None:
    if model.schema.n_categories.any() or np.isnan(table).any():
        raise ValueError(
            "Words are refitted on numbers alone; this table has categories or missing values. Leave those columns or "
            "rows out."
        )


def _read_rows(estimator: FERLClassifier, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> RefitRows:
    model, table = estimator.model_, check_rows(estimator, X)
    codes = _codes(y, model.classes)
    _refuse_other_columns(model, table)
    if len(codes) != len(table):
        raise ValueError(f"X has {len(table)} rows and y {len(codes)} labels. Pass one label for each row of X.")
    weight, _ = weights_and_factors(sample_weight, estimator.class_weight, model.classes, codes)
    kept = weight > 0
    return RefitRows(table[kept], codes[kept], weight[kept])


def _codes(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.int32]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}; it needs one label per row.")
    codes = codes_of(labels, classes)
    if (codes < 0).any():
        unknown = labels.tolist()[int(np.argmin(codes))]
        raise ValueError(f"y holds the label {unknown!r}; the estimator was fitted on {classes.tolist()}.")
    return codes


def _has_room(rows: RefitRows) -> NDArray[np.bool_]:
    """Whether numbers are fine enough for the narrowest ramp in each feature's range."""
    finest = 8 * np.spacing(np.abs(rows.X).max(axis=0))
    return np.asarray(LEAST_WIDTH * rows.width > np.maximum(finest, NARROWEST))


@dataclass(frozen=True)
class _Minimum:
    ends: Floats
    before: float
    after: float
    n_iterations: int
    converged: bool


def _minimise(loss: Loss, table: RampTable, start: Floats, max_iter: int) -> _Minimum:
    """Go down in rounds, each within bounds around its start."""
    before = after = loss(start.ravel())[0]
    ends, left, gain = start, max_iter, np.inf
    while left > 0 and gain > _LEAST_GAIN and table.n_ramps:
        bounds = movement_bounds(table, ends).reshape(-1, 2)
        found = minimize(loss, ends.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": left})
        gain = after - float(found.fun)
        left -= int(found.nit)
        if gain > 0:
            ends, after = found.x.reshape(-1, 2), float(found.fun)
    return _Minimum(ends, before, after, max_iter - left, gain <= _LEAST_GAIN or not table.n_ramps)


def _ordered(table: RampTable, ends: Floats) -> Floats:
    """Ends that ascend to the last bit, in units of the features again."""
    ordered = ends.copy()
    for j in np.unique(table.feature):
        own = table.feature == j
        ordered[own] = np.maximum.accumulate(ends[own].ravel()).reshape(-1, 2)
    return ordered


def _seen_again(tree: FuzzyTree, rows: RefitRows) -> FuzzyTree:
    """The tree with the class weights and ranges that the rows give it now; its consequents stay."""
    firing = tree.fire(rows.X, gated=False)
    labels = np.zeros((len(rows.X), tree.n_classes))
    labels[np.arange(len(labels)), rows.codes] = rows.weight * (tree.weight[0] / rows.weight.sum())
    return replace(tree, class_weight=firing.T @ labels, support=_support(tree, rows, firing))


def _support(tree: FuzzyTree, rows: RefitRows, firing: Floats) -> Floats:
    """Range of each node's feature over the rows that reach its parent, as in growth; as it was where none does."""
    support = tree.support.copy()
    for node in range(1, tree.n_nodes):
        values = rows.X[firing[:, tree.parent[node]] > _core.NEGLIGIBLE_FIRING, tree.feature[node]]
        if values.size:
            support[node] = values.min(), values.max()
    return support
