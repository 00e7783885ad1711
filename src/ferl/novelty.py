"""Novelty: how unlike the training rows a row is, and which features make it so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl.tree import FuzzyTree, Profile

Floats = NDArray[np.float64]

LEAST_SHARE = 0.05  # of a feature's variance over all rows, that its variance inside a leaf is taken to be at least


def neighbour_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """Distance to the nearest exemplar of the leaves a row reaches, by feature, shape of ``X``.

    The distance is the mean over features of ``|x - exemplar| / scale``, where a feature's scale is its standard
    deviation inside leaves.
    """
    profile, scale = _profile(tree), feature_scale(tree)
    place, distance = np.zeros(len(X), dtype=np.int32), np.zeros(len(X))
    tree.core().nearest(profile.exemplar_row, profile.exemplar, scale, X, n_threads, place, distance)
    return np.abs(X - profile.exemplar_row[place]) / scale / X.shape[1]


def neighbour_distance(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """Sum of :func:`neighbour_parts` over the features, shape (n_rows,)."""
    profile = _profile(tree)
    place, distance = np.zeros(len(X), dtype=np.int32), np.zeros(len(X))
    tree.core().nearest(profile.exemplar_row, profile.exemplar, feature_scale(tree), X, n_threads, place, distance)
    return distance


def residual_parts(tree: FuzzyTree, X: Floats, gate_margin: float = 1.0, n_threads: int = 1) -> Floats:
    """The paper's residual by feature, shape of ``X``.

    Over the leaves a row reaches, weighted by firing: the mean over free features (those not tested on the leaf's path)
    of ``(x - mean)^2 / variance``. A leaf that tests all features counts all of them as free.
    """
    profile = _profile(tree)
    free = np.ones(profile.mean.shape, dtype=bool)
    for leaf in tree.leaves:
        free[leaf, [tree.feature[node] for node in tree.path(int(leaf))]] = False
    free[~free.any(axis=1)] = True
    variance = np.maximum(profile.variance, LEAST_SHARE * _total_variance(profile))
    precision = free / variance / free.sum(axis=1, keepdims=True)
    out = np.zeros(X.shape)
    tree.core(gate_margin).residual(profile.mean, precision, X, n_threads, out)
    return out


def feature_scale(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature inside leaves, shape (n_features,)."""
    profile, weight = _profile(tree), tree.weight[tree.leaves]
    inside = weight @ profile.variance[tree.leaves] / weight.sum()
    return np.asarray(np.sqrt(np.maximum(inside, LEAST_SHARE * _total_variance(profile))))


def _total_variance(profile: Profile) -> Floats:
    """Variance over all rows. A constant feature has that of its own magnitude, or of one where it is zero."""
    total, mean = profile.variance[0], profile.mean[0]
    return np.where(total > 0, total, np.where(mean != 0, mean**2, 1.0))


def _profile(tree: FuzzyTree) -> Profile:
    if tree.profile is None:
        raise ValueError("The tree has no profile of its training rows; novelty needs a tree that was fitted.")
    return tree.profile
