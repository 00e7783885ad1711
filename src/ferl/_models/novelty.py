"""Novelty: how unlike the training rows a row is, and on which scale that is read.

Two measures, both sums of one part for each feature:

- "neighbour": the distance to the nearest training row that the model keeps (an exemplar); a tree compares a row with
  those of the rules that it reaches, rules with all, in usual distances, and add half the entropy of the probabilities;
- "residual": the paper's, from means and variances alone: how far the row lies from the middle of its rules, in the
  features they do not test, plus nine times the support deficit.

The scale: a row that the model keeps is at distance 0 from itself, so it is left out of the kept rows before it is
measured. Kept rows are left out in a few parts, as in cross-validation. Kept rows are distinct; where all distinct rows
are kept, the rest of the training weight belongs to repeated rows, which are at distance 0 from their copies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ferl._models.tree import LEAST_SHARE, FuzzyTree
from ferl._util.arrays import Bools, Floats

MEASURES = ("neighbour", "residual")
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there
N_LEVELS = 101  # quantiles at whole percents
N_PARTS = 8  # in which kept rows are left out


def chosen_measure(tree: FuzzyTree, measure: str | None) -> str:
    """The given measure, or the one that a model of these rows has."""
    has_exemplars = tree.profile.has_exemplars
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


def residual_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """The paper's residual by column, shape (n_samples, n_columns).

    Over the leaves a row reaches, weighted by firing without gates: the mean over the leaf's free columns (those not
    tested on its path) of ``(x - mean)^2 / variance``. For a leaf that tests all columns they all count as free. A row
    that fits no leaf, which happens with words alone, is compared with the training rows as a whole.
    """
    out = np.zeros(X.shape)
    tree.core.residual(tree.profile.mean, precision(tree), X, n_threads, out)
    return out


def precision(tree: FuzzyTree) -> Floats:
    """What a squared distance from the mean of a node counts in the residual, shape (n_nodes, n_features)."""
    profile, free = tree.profile, _free_features(tree)
    variance = np.maximum(profile.variance, LEAST_SHARE * profile.total_variance)
    return np.asarray(free / variance / np.maximum(free.sum(axis=1, keepdims=True), 1))


def _free_features(tree: FuzzyTree) -> Bools:
    n_features = tree.profile.mean.shape[1]
    # Categories have no mean to be away from; where there is nothing else, no feature counts.
    numbers = tree.n_categories(n_features) == 0
    free = np.tile(numbers, (tree.n_nodes, 1))
    for leaf in tree.leaves:
        free[leaf, [tree.feature[node] for node in tree.path(int(leaf))]] = False
    free[~free.any(axis=1)] = numbers
    return free


def usual_residual(tree: FuzzyTree) -> float:
    """Mean of the paper's residual over new rows like the training rows, from means and variances alone.

    The mean of n rows is the nearest to these, not to others: the squared distance of another one is larger by
    ``(n + 1) / (n - 1)`` on average.
    """
    profile, leaves = tree.profile, tree.leaves
    known = profile.weight_behind(tree.weight)
    parts = known * precision(tree) * profile.variance * (known + 1) / np.maximum(known - 1, 1.0)
    return float(parts[leaves].sum() / tree.weight[leaves].sum())


def total_spread(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature over all training rows, shape (n_features,); never 0."""
    return np.sqrt(tree.profile.total_variance)


def quantiles(value: Floats, weight: Floats) -> Floats:
    """Quantiles at whole percents, shape (101,): the k-th is the least value that k percent of the weight reach.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))[[0, 25, 26, 75, 76, 100]]
    array([1., 1., 2., 2., 3., 3.])
    """
    order = np.argsort(value, kind="stable")
    share = np.cumsum(weight[order])
    level = np.linspace(0.0, 1.0, N_LEVELS) * share[-1] * (1 - 1e-12)  # rounding must not ask for the next value
    return np.asarray(value[order][np.searchsorted(share, level, side="left")])


def share_below(scale: Floats, novelty: Floats) -> Floats:
    """Share of the training rows that are less novel, in whole percents, shape (n_samples,).

    Parameters
    ----------
    scale : ndarray of shape (101,)
        Quantiles of the training rows.
    novelty : ndarray of shape (n_samples,)
        Of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        From 0 to 1; NaN where novelty is.

    Examples
    --------
    >>> import numpy as np
    >>> share_below(np.linspace(1, 2, 101), np.array([0.5, 1.0, 1.975, 3.0, np.nan]))
    array([0.  , 0.  , 0.97, 1.  ,  nan])
    """
    found = np.maximum(np.searchsorted(scale, novelty, side="left") - 1, 0) / (N_LEVELS - 1)
    return np.where(np.isnan(novelty), np.nan, found)


def tree_distances(tree: FuzzyTree) -> tuple[Floats, Floats] | None:
    """Distances of training rows from the exemplars of a tree, and the training weight that has each of them.

    None where the tree keeps too few rows to leave some out.
    """
    leaves, exemplar = tree.leaves, tree.profile.exemplar
    n_rows, n_most = len(tree.profile.exemplar_row), exemplar.shape[1]
    if n_rows < 2 * N_PARTS:
        return None
    stands_for, repeated = np.zeros(n_rows), np.zeros(n_rows)
    for leaf in leaves.tolist():
        own = exemplar[leaf][exemplar[leaf] >= 0]
        if len(own):
            weight = tree.weight[leaf]
            again = max(weight - len(own), 0.0) if len(own) < n_most else 0.0
            stands_for[own] += (weight - again) / len(own)
            repeated[own] += again / len(own)
    distance = np.empty(n_rows)
    for part in range(N_PARTS):
        is_out = np.arange(n_rows) % N_PARTS == part
        own = np.empty((int(is_out.sum()), 1))
        _without(tree, is_out).exemplars.distance(tree.profile.exemplar_row[is_out], 1, own)
        distance[is_out] = own[:, 0]
    known = ~np.isnan(distance) & (stands_for + repeated > 0)
    if not known.any():
        return None
    value = np.concatenate([distance[known], np.zeros(int(known.sum()))])
    return value, np.concatenate([stands_for[known], repeated[known]])


def _without(tree: FuzzyTree, is_out: Bools) -> FuzzyTree:
    """The tree whose nodes do not keep some of the rows."""
    profile = tree.profile
    stays = (profile.exemplar >= 0) & ~np.append(is_out, True)[profile.exemplar]
    order = np.argsort(~stays, axis=1, kind="stable")  # those that stay first, in their order
    exemplar = np.where(np.take_along_axis(stays, order, 1), np.take_along_axis(profile.exemplar, order, 1), -1)
    fewer = replace(tree, profile=replace(profile, exemplar=np.ascontiguousarray(exemplar, dtype=np.int32)))
    for name in ("core", "unit_of_distance"):  # which do not depend on the rows
        fewer.__dict__[name] = getattr(tree, name)
    return fewer
