"""How unlike the training rows a row is, one row and one node at a time.

``rows`` are always the distinct training rows with their weights, in canonical order (:func:`oracle.take_sample` over
the whole table); ``x`` the rows to judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.growth import Sample
from oracle.inference import children_of, fire, support_deficit

Floats = NDArray[np.float64]

LEAST_FIRING = 0.05  # a row that reaches a node with less is no example of its rows
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there
LEAST_SHARE = 0.05  # of a feature's variance over all rows: the least that its variance inside a leaf is taken to be


# --- What the rows of each node look like ----------------------------------------------------------------------------


def moments(tree: Any, rows: Sample) -> tuple[Floats, Floats]:
    """Mean and variance of every feature at every node, weighted by firing; both of shape (n_nodes, n_features)."""
    firing = fire(tree, rows.x, gated=False)
    mean, variance = (np.zeros((len(tree.parent), rows.x.shape[1])) for _ in range(2))
    for o, phi in enumerate(firing.T):
        weight = phi * rows.weight
        if weight.sum() > 0:
            mean[o] = np.average(rows.x, axis=0, weights=weight)
            variance[o] = np.average((rows.x - mean[o]) ** 2, axis=0, weights=weight)
    return mean, variance


def exemplars(tree: Any, rows: Sample, n_exemplars: int) -> list[Floats]:
    """For each node the first rows that reach it with more than a trifle."""
    firing = fire(tree, rows.x, gated=False)
    return [rows.x[phi > LEAST_FIRING][:n_exemplars] for phi in firing.T]


def speaking_for(tree: Any, kept: list[Floats], node: int) -> Floats:
    """The exemplars of a node, or of the nearest node above that has some."""
    while len(kept[node]) == 0:
        node = int(tree.parent[node])
    return kept[node]


def total_variance(rows: Sample) -> Floats:
    """Variance over all rows. A constant feature has that of its own magnitude, or of one where it is zero."""
    mean = np.average(rows.x, axis=0, weights=rows.weight)
    variance = np.average((rows.x - mean) ** 2, axis=0, weights=rows.weight)
    for j, column in enumerate(rows.x.T):
        if column.min() == column.max():
            variance[j] = column[0] ** 2 if column[0] != 0 else 1.0
    return np.asarray(variance)


def unit_of_distance(tree: Any, rows: Sample) -> Floats:
    """Standard deviation of each feature inside leaves, each leaf counting with its weight."""
    _, variance = moments(tree, rows)
    leaves = leaves_of(tree)
    weight = rows.weight @ fire(tree, rows.x, gated=False)[:, leaves]
    inside = np.average(variance[leaves], axis=0, weights=weight)
    return np.asarray(np.sqrt(np.maximum(inside, LEAST_SHARE * total_variance(rows))))


# --- Judging rows ----------------------------------------------------------------------------------------------------


def leaves_of(tree: Any) -> list[int]:
    return [o for o in range(len(tree.parent)) if not children_of(tree, o)]


def path_ends(tree: Any, x: Floats) -> NDArray[np.bool_]:
    """Where the paths of a row end, shape (n_rows, n_nodes): leaves, and words below which it fits none."""
    reached = fire(tree, x, gated=False) > 0
    ends = reached.copy()
    for o in range(len(tree.parent)):
        for child in children_of(tree, o):
            ends[:, o] &= ~reached[:, child]
    return ends


def neighbour_candidates(tree: Any, rows: Sample, x: Floats, n_exemplars: int) -> list[Floats]:
    """For each row and each exemplar it is compared with, what each feature adds to the distance.

    A list over the rows of arrays of shape (n_candidates, n_features). The distance itself is the sum, and the
    smallest counts.
    """
    kept, unit = exemplars(tree, rows, n_exemplars), unit_of_distance(tree, rows)
    parts = []
    for value, ends in zip(x, path_ends(tree, x), strict=True):
        candidates = np.vstack([speaking_for(tree, kept, int(o)) for o in np.flatnonzero(ends)])
        parts.append(np.abs(value - candidates) / unit / x.shape[1])
    return parts


def free_features(tree: Any, node: int, n_features: int) -> list[int]:
    """Features not tested on the path to a node; all of them where the path tests all."""
    tested = set()
    o = node
    while o > 0:
        tested.add(int(tree.feature[o]))
        o = int(tree.parent[o])
    free = [j for j in range(n_features) if j not in tested]
    return free or list(range(n_features))


def residual_parts(tree: Any, rows: Sample, x: Floats) -> Floats:
    """The paper's residual by feature, without the support deficit.

    The average over the leaves a row reaches, weighted by firing without gates, of the mean over the leaf's free
    features of (x - mean)^2 / variance. A row that fits no leaf is compared with the training rows as a whole.
    """
    mean, variance = moments(tree, rows)
    variance = np.maximum(variance, LEAST_SHARE * total_variance(rows))
    firing = fire(tree, x, gated=False)
    out = np.zeros_like(x)
    for i, phi in enumerate(firing):
        reached = [o for o in leaves_of(tree) if phi[o] > 0] or [0]
        for o in reached:
            free = free_features(tree, o, x.shape[1])
            share = phi[o] / phi[reached].sum()
            out[i, free] += share * (x[i, free] - mean[o, free]) ** 2 / variance[o, free] / len(free)
    return out


def residual_novelty(tree: Any, rows: Sample, x: Floats, margin: float = 1.0) -> Floats:
    """The residual measure of novelty by feature, for learned splits: the residual and the support that was lost."""
    return residual_parts(tree, rows, x) + LOST_MASS * support_deficit(tree, x, margin)
