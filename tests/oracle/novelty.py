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
        for j in range(rows.x.shape[1]):
            if rows.n_categories[j]:
                variance[o, j] = chance_to_differ(rows, j) / 2
                continue
            known = ~np.isnan(rows.x[:, j])
            weight, value = (phi * rows.weight)[known], rows.x[known, j]
            if weight.sum() > 0:
                mean[o, j] = np.average(value, weights=weight)
                variance[o, j] = np.average((value - mean[o, j]) ** 2, weights=weight)
    return mean, variance


def chance_to_differ(rows: Sample, feature: int) -> float:
    """Chance that two rows, drawn with replacement from those that have a value, are of different categories."""
    known = ~np.isnan(rows.x[:, feature])
    weight = np.bincount(rows.x[known, feature].astype(int), rows.weight[known])
    return 1 - float(((weight / weight.sum()) ** 2).sum())


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
    variance = np.zeros(rows.x.shape[1])
    for j, column in enumerate(rows.x.T):
        known = ~np.isnan(column)
        value, weight = column[known], rows.weight[known]
        if value.min() == value.max():
            variance[j] = value[0] ** 2 if value[0] != 0 and not rows.n_categories[j] else 1.0
        elif rows.n_categories[j]:
            variance[j] = chance_to_differ(rows, j) / 2
        else:
            variance[j] = np.average((value - np.average(value, weights=weight)) ** 2, weights=weight)
    return variance


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
    centre = moments(tree, rows)[0][0]
    is_category = rows.n_categories > 0
    parts = []
    for value, ends in zip(x, path_ends(tree, x), strict=True):
        candidates = np.vstack([speaking_for(tree, kept, int(o)) for o in np.flatnonzero(ends)])
        filled = np.where(np.isnan(candidates) & ~is_category, centre, candidates)
        away = np.where(is_category, value != candidates, np.abs(value - filled))
        known = ~np.isnan(value)
        parts.append(np.where(known, away, 0.0) / unit / max(known.sum(), 1))
    return parts


def free_features(tree: Any, node: int, n_categories: Any) -> list[int]:
    """Numbers not tested on the path to a node; all of them where the path tests all."""
    tested = set()
    o = node
    while o > 0:
        tested.add(int(tree.feature[o]))
        o = int(tree.parent[o])
    numbers = [j for j, n in enumerate(n_categories) if n == 0]
    return [j for j in numbers if j not in tested] or numbers


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
            free = free_features(tree, o, rows.n_categories)
            share = phi[o] / phi[reached].sum()
            for j in free:
                if not np.isnan(x[i, j]):
                    out[i, j] += share * (x[i, j] - mean[o, j]) ** 2 / variance[o, j] / len(free)
    return out


def residual_novelty(tree: Any, rows: Sample, x: Floats, margin: float = 1.0) -> Floats:
    """The residual measure of novelty by feature, for learned splits: the residual and the support that was lost."""
    return residual_parts(tree, rows, x) + LOST_MASS * support_deficit(tree, x, margin)
