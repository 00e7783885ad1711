"""Novelty: how unlike the training rows a row is, and which features make it so.

Two measures, both sums of one part for each feature:

- "neighbour": the distance to the nearest exemplar (a training row that was kept) of the rules a row reaches;
- "residual": the paper's, from means and variances alone: how far the row lies from the middle of its rules, in the
  features they do not test, plus nine times the support deficit.

``docs/novelty.md`` compares them with each other and with detectors that have no rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._model.tree import FuzzyTree, Profile
from ferl._read.evidence import Fitted
from ferl._tables import add_up_indicators
from ferl._util.arrays import Floats
from ferl._util.threads import n_threads as threads_of

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


MEASURES = ("neighbour", "residual")
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there
LEAST_VARIANCE = 1e-305  # the reciprocals of smaller ones overflow
LEAST_SHARE = 0.05  # of a feature's variance over all rows, that its variance inside a leaf is taken to be at least


def novelty(estimator: FERLClassifier, X: ArrayLike, measure: str | None = None) -> Floats:
    """Novelty of each row, shape (n_rows,); see :meth:`ferl.FERLClassifier.novelty`."""
    rows, measure = _checked(estimator, X, measure)
    return novelty_of_rows(estimator, rows, measure)


def novelty_of_rows(estimator: Fitted, rows: Floats, measure: str | None = None) -> Floats:
    """Novelty of rows as the tree reads them, shape (n_rows,)."""
    if chosen_measure(estimator, measure) == "residual":
        return np.asarray(_residual(estimator, rows).sum(axis=1))
    return neighbour_distance(estimator.tree_, rows, threads_of(estimator.n_jobs))


def novelty_attribution(estimator: FERLClassifier, X: ArrayLike, measure: str | None = None) -> Floats:
    """Novelty by feature, shape (n_rows, n_features); see :meth:`ferl.FERLClassifier.novelty_attribution`."""
    rows, measure = _checked(estimator, X, measure)
    if measure == "residual":
        parts = _residual(estimator, rows)
    else:
        parts = neighbour_parts(estimator.tree_, rows, threads_of(estimator.n_jobs))
    return add_up_indicators(parts, estimator.missing_features_)


def lost_support(estimator: Fitted, rows: Floats) -> Floats:
    """Routing mass lost at closed gates by feature; zero where the estimator has no gates."""
    lost = np.zeros(rows.shape)
    if estimator.support_gate:
        core = estimator.tree_.core(estimator.gate_margin)
        core.support_deficit(rows, threads_of(estimator.n_jobs), lost)
    return lost


def neighbour_distance(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """Sum of :func:`neighbour_parts` over the features, shape (n_rows,)."""
    return _neighbour(tree, X, 1, n_threads)[:, 0]


def neighbour_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """Distance to the nearest exemplar of the rules a row reaches, by feature.

    The distance is the mean over features of ``|x - exemplar| / unit``, where a feature's unit is its standard
    deviation inside rules.

    Parameters
    ----------
    tree : FuzzyTree
        With exemplars.
    X : ndarray of shape (n_rows, n_features)
        Rows.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
    """
    return _neighbour(tree, X, X.shape[1], n_threads)


def residual_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """The paper's residual by feature.

    Over the leaves a row reaches, weighted by firing without gates: the mean over the leaf's free features (those not
    tested on its path) of ``(x - mean)^2 / variance``. For a leaf that tests all features they all count as free. A row
    that fits no leaf, which happens with words alone, is compared with the training rows as a whole.

    Parameters
    ----------
    tree : FuzzyTree
        With a profile.
    X : ndarray of shape (n_rows, n_features)
        Rows.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
    """
    out = np.zeros(X.shape)
    tree.core().residual(profile_of(tree).mean, precision(tree), X, n_threads, out)
    return out


def precision(tree: FuzzyTree) -> Floats:
    """What a squared distance from the mean of a node counts in the residual, shape (n_nodes, n_features)."""
    profile, free = profile_of(tree), _free_features(tree)
    variance = np.maximum(profile.variance, LEAST_SHARE * total_variance(profile))
    return np.asarray(free / variance / np.maximum(free.sum(axis=1, keepdims=True), 1))


def usual_residual(tree: FuzzyTree) -> float:
    """Mean of the paper's residual over new rows like those of training, from means and variances alone.

    The mean of n rows is the nearest to these, not to others: the squared distance of another one is larger by
    ``(n + 1) / (n - 1)`` on average.
    """
    profile, leaves = profile_of(tree), tree.leaves
    known = tree.weight[:, None] if profile.known_weight is None else profile.known_weight
    parts = known * precision(tree) * profile.variance * (known + 1) / np.maximum(known - 1, 1.0)
    return float(parts[leaves].sum() / tree.weight[leaves].sum())


def unit_of_distance(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature inside leaves, shape (n_features,)."""
    profile, weight = profile_of(tree), tree.weight[tree.leaves]
    # Added up row by row, not as a product of matrices: how BLAS rounds depends on the processor.
    inside = np.ascontiguousarray(weight[:, None] * profile.variance[tree.leaves]).sum(axis=0) / weight.sum()
    return np.asarray(np.sqrt(np.maximum(inside, LEAST_SHARE * total_variance(profile))))


def total_spread(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature over all training rows, shape (n_features,); never 0."""
    return np.asarray(np.sqrt(total_variance(profile_of(tree))))


def _neighbour(tree: FuzzyTree, X: Floats, n_out: int, n_threads: int) -> Floats:
    profile = profile_of(tree)
    out = np.zeros((len(X), n_out))
    tree.core().neighbour_distance(
        profile.exemplar_row,
        profile.exemplar,
        profile.mean[0].copy(),
        1 / unit_of_distance(tree),
        tree.n_categories(X.shape[1]),
        X,
        n_threads,
        out,
    )
    return out


def _residual(estimator: Fitted, rows: Floats) -> Floats:
    lost = lost_support(estimator, rows)
    return residual_parts(estimator.tree_, rows, threads_of(estimator.n_jobs)) + LOST_MASS * lost


def _checked(estimator: FERLClassifier, X: ArrayLike, measure: str | None) -> tuple[Floats, str]:
    from sklearn.utils.validation import check_is_fitted  # which reading a model file does without

    from ferl._sklearn import check_rows

    check_is_fitted(estimator)
    measure = chosen_measure(estimator, measure)
    return check_rows(estimator, X), measure


def chosen_measure(estimator: Fitted, measure: str | None) -> str:
    """The measure asked for, or the one that this model has."""
    has_exemplars = len(profile_of(estimator.tree_).exemplar_row) > 0
    if measure is None:
        measure = "neighbour" if has_exemplars else "residual"
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it must be {' or '.join(map(repr, MEASURES))}, or None.")
    if measure == "neighbour" and not has_exemplars:
        raise ValueError(
            'measure="neighbour" compares with training rows, and this tree keeps none. Fit with n_exemplars > 0, or '
            'use measure="residual".'
        )
    return measure


def _free_features(tree: FuzzyTree) -> NDArray[np.bool_]:
    n_features = profile_of(tree).mean.shape[1]
    # Categories have no mean to be away from; where there is nothing else, no feature counts.
    numbers = tree.n_categories(n_features) == 0
    free = np.tile(numbers, (tree.n_nodes, 1))
    for leaf in tree.leaves:
        free[leaf, [tree.feature[node] for node in tree.path(int(leaf))]] = False
    free[~free.any(axis=1)] = numbers
    return free


def total_variance(profile: Profile) -> Floats:
    """Variance over all rows. A constant feature has that of its own magnitude, or of one where it is zero."""
    total, mean = profile.variance[0], profile.mean[0]
    return np.maximum(np.where(total > 0, total, np.where(mean != 0, mean**2, 1.0)), LEAST_VARIANCE)


def profile_of(tree: FuzzyTree) -> Profile:
    """What the training rows of the nodes look like, of a tree that knows."""
    if tree.profile is None:
        raise ValueError("The tree has no profile of its training rows; novelty needs a tree that was fitted.")
    return tree.profile
