"""Novelty in a graph: the distance to the nearest exemplar, as cpp/novelty/novelty.cpp searches it, and the residual.

A row is compared only with the exemplars of the nodes where its paths end, of which there are a few: these *pairs* of a
row and a node are listed, and their distances are summed up feature by feature. So memory grows with the pairs times
the exemplars of a node, and not with the features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.novelty import LOST_MASS, precision
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Floats
from ferl.onnx.graph import Conditions, Firings, Graph, Operand, Rows, Value

Singles = NDArray[np.float32]

_Step = Callable[[Graph, Sequence[Value], Sequence[Value]], Sequence[Value]]


@dataclass(frozen=True)
class Scale:
    """What distances are measured in; one entry a feature."""

    centre: Floats  # stands for a value that an exemplar lacks
    per_unit: Floats
    numbers: NDArray[np.intp]
    categories: NDArray[np.intp]

    @classmethod
    def of(cls, tree: FuzzyTree, unit: Floats) -> Scale:
        """The scale of a tree in these units of distance."""
        is_category = tree.n_categories(len(unit)) > 0
        return cls(tree.profile.mean[0], 1 / unit, np.flatnonzero(~is_category), np.flatnonzero(is_category))

    def units(self, rows: Floats) -> Singles:
        """Numbers of exemplars as the search compares them, shape (n_numbers, n_rows)."""
        away = (rows - self.centre) * self.per_unit
        units = np.clip(away[:, self.numbers].T, -_core.FAR_AWAY, _core.FAR_AWAY).astype(np.float32)
        return np.nan_to_num(units, nan=0.0)


class Pairs(NamedTuple):
    """Rows and the nodes where their paths end; all values have the shape (n_pairs,)."""

    row: Value
    group: Value


def pairs_of_firings(graph: Graph, tree: FuzzyTree, conditions: Conditions | None, ungated: Firings) -> Pairs:
    """Where paths end, by the firings of all nodes: a node fires, and no child fits."""
    groups = np.flatnonzero(tree.exemplar_group >= 0)
    is_end = graph("Greater", ungated.of(graph, groups), 0.0)
    if conditions is not None and not tree.is_leaf[groups].all():
        nodes = np.argsort(conditions.index)[1:]
        is_child = (tree.parent[nodes][None, :] == groups[:, None]).astype(np.float32)
        fits = graph.cast(graph("Greater", conditions.fit, 0.0), "float32")
        is_end = graph("And", is_end, graph("Less", graph("MatMul", is_child, fits), np.float32(0.5)))
    result = graph("NonZero", graph("Transpose", is_end, perm=[1, 0]))
    return Pairs(*(graph.remove_axis(item, 0) for item in graph.several("Split", 2, result, np.array([1, 1]))))


def add_neighbour_distance(graph: Graph, tree: FuzzyTree, rows: Rows, pairs: Pairs) -> Value:
    """Distance from the nearest exemplar of the nodes where a row's paths end, shape (n_samples,)."""
    kept, groups = tree.profile.exemplar_row, np.flatnonzero(tree.exemplar_group >= 0)
    scale = Scale.of(tree, tree.unit_of_distance)
    exemplar = _exemplars(tree, groups)
    distance = search(graph, rows, scale, kept, exemplar, pairs)
    nearest, is_any = _nearest(graph, distance, exemplar, pairs, rows.n_rows)
    return graph("Where", is_any, measured_distance(graph, rows, scale, kept, nearest), np.nan)


def _exemplars(tree: FuzzyTree, groups: NDArray[np.intp]) -> NDArray[np.int64]:
    """Exemplars that are compared with at each node, filled up with the last of them."""
    exemplars = tree.profile.exemplar[tree.exemplar_group[groups]].astype(np.int64)
    count = (exemplars >= 0).sum(axis=1)
    last = np.minimum(np.arange(count.max()), count[:, None] - 1)
    return np.asarray(np.take_along_axis(exemplars, last, axis=1))


# ---------------------------------------------------------------------------------------------------------------------
# The search, in single precision
# ---------------------------------------------------------------------------------------------------------------------


def search(graph: Graph, rows: Rows, scale: Scale, kept: Floats, exemplar: NDArray[np.int64], pairs: Pairs) -> Value:
    """Distances of pairs from each exemplar of their nodes, shape (n_pairs, n_exemplars).

    Even and odd numbers are summed apart, categories join the odd ones: the order of the core, so that near ties end
    alike.
    """
    is_known = graph.cast(graph("Not", rows.is_missing), "float32")
    shape = graph.join([graph("Shape", pairs.row), graph.constant(np.array([exemplar.shape[1]]))])
    even = odd = graph("Expand", np.zeros((1, 1), dtype=np.float32), shape)
    n_pairwise = len(scale.numbers) // 2 * 2
    if len(scale.numbers):
        away = graph("Sub", graph.take(rows.values, scale.numbers), scale.centre[scale.numbers][:, None])
        units = graph("Mul", away, scale.per_unit[scale.numbers][:, None])
        # What is missing counts nothing, but NaN would stay NaN.
        units = graph("Where", graph.take(rows.is_missing, scale.numbers), 0.0, units)
        units = graph.cast(graph.between(units, -_core.FAR_AWAY, _core.FAR_AWAY), "float32")
        known, lanes = graph.take(is_known, scale.numbers), scale.units(kept)[:, exemplar]

        def part(which: slice) -> tuple[Singles, Value, Value]:
            features = np.arange(len(lanes))[which]
            return lanes[which], graph.take(units, features), graph.take(known, features)

        if n_pairwise:
            parts: list[Operand] = [*part(slice(0, n_pairwise, 2)), *part(slice(1, n_pairwise, 2))]
            even, odd = graph.over([even, odd], parts, _adding(pairs, of_numbers=True))
        if n_pairwise < len(lanes):
            (even,) = graph.over([even], part(slice(n_pairwise, None)), _adding(pairs, of_numbers=True))
    if len(scale.categories):
        # A category that an exemplar lacks is like no other.
        lanes = np.nan_to_num(kept[:, scale.categories].T, nan=-1.0).astype(np.float32)[:, exemplar]
        codes = graph.cast(graph.take(rows.values, scale.categories), "float32")
        mismatch = scale.per_unit[scale.categories].astype(np.float32)[:, None]
        counted = graph("Mul", graph.take(is_known, scale.categories), mismatch)
        (odd,) = graph.over([odd], [lanes, codes, counted], _adding(pairs, of_numbers=False))
    return graph("Add", even, odd)


def _adding(pairs: Pairs, of_numbers: bool) -> _Step:
    """A step that adds the next of its features to each state; each has three rows."""

    def step(body: Graph, states: Sequence[Value], rows: Sequence[Value]) -> list[Value]:
        result = []
        for index, state in enumerate(states):
            exemplars, values, counted = rows[3 * index : 3 * index + 3]
            exemplar = body("Gather", exemplars, pairs.group)
            x, weight = (body.insert_axis(body("Gather", row, pairs.row), 1) for row in (values, counted))
            if of_numbers:
                away = body("Abs", body("Sub", exemplar, x))
            else:
                away = body.cast(body("Not", body("Equal", exemplar, x)), "float32")
            result.append(body("Add", state, body("Mul", away, weight)))
        return result

    return step


def _nearest(
    graph: Graph, distance: Value, exemplar: NDArray[np.int64], pairs: Pairs, n_rows: Value
) -> tuple[Value, Value]:
    """The nearest exemplar of each row, the first of equals, and whether there is any; shape (n_samples,) each."""
    least = graph("ReduceMin", distance, axes=[1], keepdims=0)
    lane = graph("ArgMin", distance, axis=1, keepdims=0)
    at = graph("Add", graph("Mul", pairs.group, np.array(exemplar.shape[1])), lane)
    number = graph.look_up(exemplar.ravel(), at)
    ends = graph.join([graph.insert_axis(item, 1) for item in (pairs.row, pairs.group)], axis=1)
    shape = graph.join([n_rows, graph.constant(np.array([len(exemplar)]))])
    by_group = graph("ScatterND", graph("Expand", np.full((1, 1), np.inf, dtype=np.float32), shape), ends, least)
    numbers = graph("ScatterND", graph("Expand", np.zeros((1, 1), dtype=np.int64), shape), ends, number)
    best = graph("ArgMin", by_group, axis=1, keepdims=1)
    is_any = graph("Less", graph("ReduceMin", by_group, axes=[1], keepdims=0), np.float32(np.inf))
    return graph.remove_axis(graph("GatherElements", numbers, best, axis=1), 1), is_any


# ---------------------------------------------------------------------------------------------------------------------
# The distance again, exactly
# ---------------------------------------------------------------------------------------------------------------------


def measured_distance(graph: Graph, rows: Rows, scale: Scale, kept: Floats, nearest: Value) -> Value:
    """Mean over known features of the distance from an exemplar, in double precision, shape (n_samples,)."""
    table = np.where(np.isnan(kept), scale.centre, kept)
    table[:, scale.categories] = np.nan_to_num(kept[:, scale.categories], nan=-1.0)
    away = graph("Abs", graph("Sub", graph("Transpose", rows.values, perm=[1, 0]), graph("Gather", table, nearest)))
    if len(scale.categories):  # codes that differ are one apart
        most = np.full(len(scale.centre), np.inf)
        most[scale.categories] = 1.0
        away = graph("Min", away, most)
    is_missing = graph("Transpose", rows.is_missing, perm=[1, 0])
    parts = graph("Where", is_missing, 0.0, graph("Mul", away, scale.per_unit))
    n_known = graph.total(graph.cast(graph("Not", is_missing), "float64"), 1, keepdims=False)
    return graph("Div", graph.total(parts, 1, keepdims=False), graph("Max", n_known, 1.0))


# Values further away than this, in standard deviations of all rows, are all equally far: their squares are finite.
_FAR_IN_SPREADS = 1e150


def residual(graph: Graph, tree: FuzzyTree, rows: Rows, firings: Firings) -> Value:
    """The squared distances from the leaves' means, averaged by firing; from the root's, where no leaf fires.

    As products of matrices: ``sum w (x - m)^2 = sum w x^2 - 2 sum w m x + sum w m^2``, the sums over known features.
    What cancels is small, since x and m count from the mean of all rows, in standard deviations of all rows, of which
    those inside leaves are at least a fixed share.
    """
    profile = tree.profile
    nodes = np.append(tree.leaves, 0)
    centre, unit = profile.mean[0][:, None], np.sqrt(profile.total_variance)[:, None]
    weight, mean = precision(tree)[nodes] * unit.T**2, (profile.mean[nodes] - centre.T) / unit.T
    is_known = graph("Not", rows.is_missing)
    away = graph("Div", graph("Sub", rows.values, centre), unit)
    away = graph("Where", is_known, graph.between(away, -_FAR_IN_SPREADS, _FAR_IN_SPREADS), 0.0)
    terms = graph.join([graph("Mul", away, away), away, graph.cast(is_known, "float64")])
    squares = graph("MatMul", np.hstack([weight, -2 * weight * mean, weight * mean**2]), terms)
    phi = firings.of(graph, tree.leaves)
    fits_nowhere = graph.cast(graph("Equal", graph.total(phi, 0), 0.0), "float64")
    phi = graph.join([phi, fits_nowhere])
    sums = graph.total(graph("Mul", phi, graph("Max", squares, 0.0)), 0, keepdims=False)
    return graph("Div", sums, graph.total(phi, 0, keepdims=False))


def lost_mass(graph: Graph, tree: FuzzyTree, conditions: Conditions, gate: Value, firings: Firings) -> Value:
    """What the routing mass that is lost at closed gates adds, shape (n_samples,)."""
    nodes = np.argsort(conditions.index)[1:]  # in the order of the conditions; the root's index is -1
    reaching = graph("Mul", firings.of(graph, tree.parent[nodes]), conditions.fit)
    lost = graph.total(graph("Mul", reaching, graph("Sub", 1.0, gate)), 0, keepdims=False)
    return graph("Mul", lost, LOST_MASS)
