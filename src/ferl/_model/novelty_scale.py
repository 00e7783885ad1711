"""The scale of novelty: how novel training rows are to a model that does not keep them.

A row that the model keeps is at distance 0 from itself, so it is left out of the kept rows before it is measured. Kept
rows are left out in a few parts, as in cross-validation. Kept rows are distinct; where all distinct rows are kept, the
rest of the training weight is that of rows which occur again, and these are at distance 0 from their copies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ferl._model.neighbours import Neighbours
from ferl._model.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, Ints

N_LEVELS = 101  # quantiles at whole percents
N_PARTS = 8  # in which kept rows are left out
MOST_MEASURED = 512  # rows of a wide model that are measured: a percent is about five of them
MOSTLY_ALL = 0.9  # of the training weight: kept rows of so many stand for all
_DIGITS = 5  # of a quantile in a file


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


def wide_distances(neighbours: Neighbours, rows: Floats) -> Floats:
    """Distance of each row from the nearest row that a wide model keeps, other than itself, in usual distances.

    Parameters
    ----------
    neighbours : Neighbours
        The rows that the model keeps.
    rows : ndarray of shape (n_samples, n_columns)
        Distinct training rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    kept = _kept_index(neighbours.rows, rows)
    out = np.empty((len(rows), 1))
    neighbours.search.distance(rows, 1, out)
    for part in range(N_PARTS):
        is_out = (kept >= 0) & (kept % N_PARTS == part)
        if is_out.any():
            own = np.empty((int(is_out.sum()), 1))
            neighbours.without(np.arange(len(neighbours.rows)) % N_PARTS == part).distance(rows[is_out], 1, own)
            out[is_out] = own
    return np.asarray(out[:, 0] / neighbours.usual)


def _kept_index(kept: Floats, rows: Floats) -> Ints:
    """Index of each row among the kept ones, -1 where it is not kept."""
    index = {own.tobytes(): k for k, own in enumerate(kept)}
    return np.array([index.get(own.tobytes(), -1) for own in rows], dtype=np.int32)


def wide_quantiles(neighbours: Neighbours, rows: Floats, weight: float, has_all: bool, unsure: Floats) -> Floats | None:
    """Quantiles of the novelty of training rows to wide rules, shape (101,).

    Parameters
    ----------
    neighbours : Neighbours
        The rows that the model keeps.
    rows : ndarray of shape (n_samples, n_columns)
        Distinct training rows, drawn at random.
    weight : float
        Of all training rows.
    has_all : bool
        Whether there are no other distinct rows.
    unsure : ndarray of shape (n_samples,)
        What the entropy of the probabilities adds to the novelty of each row.

    Returns
    -------
    ndarray of shape (101,) or None
        None where the model keeps too few rows to leave some out.
    """
    if len(neighbours.rows) < 2 * N_PARTS:
        return None
    repeated = max(weight - len(rows), 0.0) if has_all else 0.0
    value = np.concatenate([wide_distances(neighbours, rows) + unsure, unsure])
    found = quantiles(value, np.repeat([1.0, repeated / len(rows)], len(rows)))
    return np.array([float(f"{own:.{_DIGITS}g}") for own in found])
