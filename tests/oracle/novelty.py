"""How unlike the training rows a row is, one row and one node at a time.

``rows`` are always the distinct training rows with their weights, in canonical order (:func:`oracle.take_sample` over
the whole table); ``x`` the rows to judge. A fitted tree keeps of its training rows what novelty needs:
:func:`learn_profile` makes it from the rows, :func:`kept_profile` reads it from a tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle.growth import Sample
from oracle.inference import children_of, fire, leaves_of, support_deficit

Floats = NDArray[np.float64]

LEAST_FIRING = 0.05  # a row that reaches a node with less is no example of its rows
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there
LEAST_SHARE = 0.05  # of a feature's variance over all rows: the least that its variance inside a leaf is taken to be
FAR_AWAY = 1e15  # in units of distance: the search takes values further away to be equally far


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


class Profile(NamedTuple):
    """What the training rows of each node look like.

    Means and variances have the shape (n_nodes, n_features); the others one entry for each node or each feature.
    """

    mean: Floats
    variance: Floats
    exemplars: list[Floats]
    total_variance: Floats
    weight: Floats
    n_categories: Any

    def unit_of_distance(self, leaves: list[int]) -> Floats:
        """Standard deviation of each feature inside leaves, each leaf counting with its weight."""
        inside = np.average(self.variance[leaves], axis=0, weights=self.weight[leaves])
        return np.asarray(np.sqrt(np.maximum(inside, LEAST_SHARE * self.total_variance)))


def learn_profile(tree: Any, rows: Sample, n_exemplars: int = 0) -> Profile:
    """The profile of a tree, computed from the training rows."""
    weight = rows.weight @ fire(tree, rows.x, gated=False)
    kept = exemplars(tree, rows, n_exemplars)
    return Profile(*moments(tree, rows), kept, total_variance(rows), weight, rows.n_categories)


def kept_profile(tree: Any) -> Profile:
    """The profile that a fitted tree keeps."""
    own = tree.profile
    kept = [own.exemplar_row[numbers[numbers >= 0]] for numbers in own.exemplar]
    constant = np.where(own.mean[0] != 0, own.mean[0] ** 2, 1.0)
    total = np.where(own.variance[0] > 0, own.variance[0], constant)
    n_categories = np.zeros(len(total)) if tree.categories is None else tree.categories.n_categories
    return Profile(own.mean, own.variance, kept, total, tree.class_weight.sum(axis=1), n_categories)


def unit_of_distance(tree: Any, rows: Sample) -> Floats:
    """Standard deviation of each feature inside leaves, each leaf counting with its weight."""
    return learn_profile(tree, rows).unit_of_distance(leaves_of(tree))


# --- Judging rows ----------------------------------------------------------------------------------------------------


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
    profile = learn_profile(tree, rows, n_exemplars)
    compared, unit = _compared(tree, profile, x), profile.unit_of_distance(leaves_of(tree))
    return [_distances(profile, unit, value, own) for value, own in zip(x, compared, strict=True)]


def neighbour_parts(tree: Any, profile: Profile, x: Floats) -> Floats:
    """Distance to the nearest of the exemplars that a row is compared with, by feature."""
    compared = _compared(tree, profile, x)
    unit = profile.unit_of_distance(leaves_of(tree))
    scale = profile.mean[0], unit, np.asarray(profile.n_categories) > 0
    parts = [
        _distances(profile, unit, value, own)[nearest_candidate(value, own, *scale)]
        for value, own in zip(x, compared, strict=True)
    ]
    return np.array(parts)


def _compared(tree: Any, profile: Profile, x: Floats) -> list[Floats]:
    """The exemplars that each row is compared with: those of the nodes where its paths end."""
    return [
        np.vstack([speaking_for(tree, profile.exemplars, int(o)) for o in np.flatnonzero(ends)])
        for ends in path_ends(tree, x)
    ]


def _distances(profile: Profile, unit: Floats, value: Floats, candidates: Floats) -> Floats:
    is_category = np.asarray(profile.n_categories) > 0
    filled = np.where(np.isnan(candidates) & ~is_category, profile.mean[0], candidates)
    away = np.where(is_category, value != candidates, np.abs(value - filled))
    known = ~np.isnan(value)
    return np.where(known, away, 0.0) / unit / max(known.sum(), 1)


def nearest_candidate(
    value: Floats, candidates: Floats, centre: Floats, unit: Floats, is_category: NDArray[np.bool_]
) -> int:
    """Index of the nearest candidate, the first of equals.

    The search works in single precision, which decides between exemplars that are almost equally near: numbers at even
    and at odd positions are summed apart, and categories join the odd ones.
    """

    def in_units(rows: Floats) -> NDArray[np.float32]:
        away = (rows - centre)[..., ~is_category] / unit[~is_category]
        return np.clip(away, -FAR_AWAY, FAR_AWAY).astype(np.float32)

    away = np.nan_to_num(np.abs(np.nan_to_num(in_units(candidates)) - in_units(value)))
    differs = (value != candidates)[:, is_category] & ~np.isnan(value[is_category])
    mismatch = differs * (1 / unit[is_category]).astype(np.float32)
    distance = _sum_in_order(away[:, 0::2]) + _sum_in_order(np.hstack([away[:, 1::2], mismatch]))
    return int(distance.argmin())


def _sum_in_order(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums of rows, one column after the other: ``np.sum`` adds in an order of its own."""
    total = np.zeros(len(parts), dtype=np.float32)
    for column in parts.T:
        total += column
    return total


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
    """The paper's residual by feature, without the support deficit."""
    return residual_from(tree, learn_profile(tree, rows), x)


def residual_from(tree: Any, profile: Profile, x: Floats) -> Floats:
    """The paper's residual by feature, without the support deficit.

    The average over the leaves a row reaches, weighted by firing without gates, of the mean over the leaf's free
    features of (x - mean)^2 / variance. A row that fits no leaf is compared with the training rows as a whole.
    """
    mean, variance = profile.mean, np.maximum(profile.variance, LEAST_SHARE * profile.total_variance)
    firing = fire(tree, x, gated=False)
    out = np.zeros_like(x)
    for i, phi in enumerate(firing):
        reached = [o for o in leaves_of(tree) if phi[o] > 0] or [0]
        for o in reached:
            free = free_features(tree, o, profile.n_categories)
            share = phi[o] / phi[reached].sum()
            for j in free:
                if not np.isnan(x[i, j]):
                    out[i, j] += share * (x[i, j] - mean[o, j]) ** 2 / variance[o, j] / len(free)
    return out


def residual_novelty(tree: Any, rows: Sample, x: Floats, margin: float = 1.0) -> Floats:
    """The residual measure of novelty by feature: the residual and what the gates withheld."""
    return residual_parts(tree, rows, x) + LOST_MASS * support_deficit(tree, x, margin)
