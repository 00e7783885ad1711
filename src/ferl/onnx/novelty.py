"""Novelty in a graph: both measures of :mod:`ferl.novelty`, for all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ferl.novelty import LOST_MASS, chosen_measure, precision, profile_of, total_variance
from ferl.onnx.firing import Conditions, Firings, Rows
from ferl.onnx.graph import Graph, Value
from ferl.onnx.neighbour import add_neighbour_distance
from ferl.tree import FuzzyTree

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Floats = NDArray[np.float64]

# Values further away than this, in standard deviations of all rows, are all equally far: their squares are finite.
_FAR_AWAY = 1e150


def add_novelty(
    graph: Graph,
    estimator: FERLClassifier,
    rows: Rows,
    conditions: Conditions | None,
    gated: Firings,
    ungated: Firings,
    measure: str | None,
) -> Value:
    """Novelty of each row, shape (n_rows,).

    Parameters
    ----------
    graph : Graph
        Where to add it.
    estimator : FERLClassifier
        The model.
    rows : Rows
        The rows.
    conditions : Conditions or None
        Of the nodes below the root; None: there are none.
    gated, ungated : Firings
        With and without gates; the same where the estimator has none.
    measure : {"neighbour", "residual"} or None
        As in :meth:`ferl.FERLClassifier.novelty`.

    Returns
    -------
    Value
    """
    tree = estimator.tree_
    if chosen_measure(estimator, measure) == "neighbour":
        return add_neighbour_distance(graph, tree, rows, conditions, ungated)
    residual = _residual(graph, tree, rows, ungated)
    if conditions is None or conditions.gate is None:
        return residual
    lost = _lost_mass(graph, tree, conditions, conditions.gate, gated)
    return graph("Add", residual, graph("Mul", lost, LOST_MASS))


def _residual(graph: Graph, tree: FuzzyTree, rows: Rows, firings: Firings) -> Value:
    """The squared distances from the leaves' means, averaged by firing; from the root's, where no leaf fires.

    As products of matrices: ``sum w (x - m)^2 = sum w x^2 - 2 sum w m x + sum w m^2``, the sums over known features.
    What cancels is small, since x and m count from the mean of all rows, in standard deviations of all rows, of which
    those inside leaves are at least a fixed share.
    """
    profile = profile_of(tree)
    nodes = np.append(tree.leaves, 0)
    centre, unit = profile.mean[0][:, None], np.sqrt(total_variance(profile))[:, None]
    weight, mean = precision(tree)[nodes] * unit.T**2, (profile.mean[nodes] - centre.T) / unit.T
    is_known = graph("Not", rows.is_missing)
    away = graph("Div", graph("Sub", rows.values, centre), unit)
    away = graph("Where", is_known, graph.between(away, -_FAR_AWAY, _FAR_AWAY), 0.0)
    terms = graph.join([graph("Mul", away, away), away, graph.cast(is_known, "float64")])
    squares = graph("MatMul", np.hstack([weight, -2 * weight * mean, weight * mean**2]), terms)
    phi = firings.of(graph, tree.leaves)
    fits_nowhere = graph.cast(graph("Equal", graph.total(phi, 0), 0.0), "float64")
    phi = graph.join([phi, fits_nowhere])
    sums = graph.total(graph("Mul", phi, graph("Max", squares, 0.0)), 0, keepdims=False)
    return graph("Div", sums, graph.total(phi, 0, keepdims=False))


def _lost_mass(graph: Graph, tree: FuzzyTree, conditions: Conditions, gate: Value, firings: Firings) -> Value:
    """Routing mass lost at closed gates, shape (n_rows,)."""
    nodes = np.argsort(conditions.place)[1:]  # in the order of the conditions; the root's place is -1
    reaching = graph("Mul", firings.of(graph, tree.parent[nodes]), conditions.fit)
    return graph.total(graph("Mul", reaching, graph("Sub", 1.0, gate)), 0, keepdims=False)
