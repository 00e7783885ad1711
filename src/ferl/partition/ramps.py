"""Ramps: the places where one word hands over to the next, which are all that can move in a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ferl.partition.sets import INFINITY, FuzzySet
from ferl.partition.variables import LinguisticVariable, Partition
from ferl.tree import FuzzyTree

Floats = NDArray[np.float64]

# A ramp may become a steep one but not a step, which has no gradient: least width, in ranges of the feature.
LEAST_WIDTH = 1e-3


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


def shared_ramps(variable: LinguisticVariable) -> list[tuple[float, float]] | None:
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
    place: dict[tuple[int, tuple[float, float]], int] = {}
    for j in np.unique(tree.feature[1:]).tolist():
        variable = partition[j]
        ramps = shared_ramps(variable) if variable is not None and may_move[j] else None
        for ramp in ramps or ():
            place[j, ramp] = len(ends)
            feature.append(j)
            ends.append(ramp)
    rise, fall = (_ramp_of_side(tree, columns, place) for columns in (slice(0, 2), slice(2, 4)))
    return RampTable(
        np.array(feature, dtype=np.intp),
        np.array(ends, dtype=np.float64).reshape(-1, 2),
        rise,
        fall,
        (rise >= 0) | (fall >= 0),
    )


def _ramp_of_side(
    tree: FuzzyTree, columns: slice, place: dict[tuple[int, tuple[float, float]], int]
) -> NDArray[np.intp]:
    sides = zip(tree.feature.tolist(), map(tuple, tree.trapezoid[:, columns].tolist()), strict=True)
    return np.array([place.get(side, -1) for side in sides], dtype=np.intp)


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
        Lowest and highest place of each end: half-way to its neighbours and inside the feature's range, so that the
        lowest value stays a full member of the first word, the highest of the last.
    """
    bounds = np.empty((*ends.shape, 2))
    bounds[:, 0, 0], bounds[:, 1, 1] = np.minimum(ends[:, 0], 0.0), np.maximum(ends[:, 1], 1.0)
    between = np.flatnonzero(table.feature[1:] == table.feature[:-1])
    bounds[between, 1, 1] = bounds[between + 1, 0, 0] = (ends[between, 1] + ends[between + 1, 0]) / 2
    middle, width = ends.mean(axis=1), ends[:, 1] - ends[:, 0]
    half = np.minimum(width, LEAST_WIDTH) / 2
    bounds[:, 0, 1], bounds[:, 1, 0] = middle - half, middle + half
    # Where an end stands is always allowed: rounding must not move it.
    bounds[:, :, 0], bounds[:, :, 1] = np.minimum(bounds[:, :, 0], ends), np.maximum(bounds[:, :, 1], ends)
    return bounds


def move_variables(partition: Partition, table: RampTable, ends: Floats) -> list[LinguisticVariable | None]:
    """The partition with its ramps at other places; names, words, units and ranges stay."""
    moved = list(partition)
    for j in np.unique(table.feature).tolist():
        variable = partition[j]
        assert variable is not None  # its ramps were read from it
        moved[j] = _with_ramps(variable, ends[table.feature == j])
    return moved


def _with_ramps(variable: LinguisticVariable, ramps: Floats) -> LinguisticVariable:
    infinite = [(-INFINITY, -INFINITY), *map(tuple, ramps.tolist()), (INFINITY, INFINITY)]
    words = zip(variable.sets, pairwise(infinite), strict=True)
    return replace(variable, sets=tuple(FuzzySet(one.name, *rise, *fall) for one, (rise, fall) in words))


def move_tree(tree: FuzzyTree, table: RampTable, ends: Floats) -> FuzzyTree:
    """The tree with its ramps at other places; topology, consequents and all that was counted stay."""
    trapezoid = tree.trapezoid.copy()
    for columns, side in ((slice(0, 2), table.rise), (slice(2, 4), table.fall)):
        nodes = np.flatnonzero(side >= 0)
        trapezoid[nodes, columns] = ends[side[nodes]]
    return replace(tree, trapezoid=trapezoid)


def mean_drift(moves: Sequence[tuple[LinguisticVariable, LinguisticVariable, float]]) -> float:
    """Mean over all sets of the mean movement of a set's finite ends, in ranges of its feature.

    Parameters
    ----------
    moves : sequence of (LinguisticVariable, LinguisticVariable, float)
        A variable before and after, and the range of its feature. Without a range it counts as not moved.

    Returns
    -------
    float
        0 for no variables.
    """
    drift = [
        float(np.abs(_finite(new) - _finite(old)).mean() / width) if width > 0 else 0.0
        for before, after, width in moves
        for old, new in zip(before.sets, after.sets, strict=True)
    ]
    return float(np.mean(drift)) if drift else 0.0


def _finite(one: FuzzySet) -> Floats:
    ends = np.array(one.ends)
    return np.asarray(ends[np.isfinite(ends)])
