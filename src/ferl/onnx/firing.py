"""Firings of all nodes in a graph: memberships and gates of all conditions at once, then products level by level.

Values lie as (nodes, rows): a condition is a row of memory, so that taking some of them copies whole rows. Every number
is computed by the same operations as in the compiled core, in the same order, up to that of the factors of a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.tree import FuzzyTree, nodes_by_depth
from ferl._util.arrays import Floats
from ferl.onnx.graph import Graph, Value

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Rows:
    """The rows to judge, as the tree reads them; all values have the shape (n_columns, n_rows).

    Attributes
    ----------
    values : Value
        Numbers and codes of categories; 0 where they are missing.
    is_missing : Value
        Where they are.
    n_columns : int
        Number of columns, indicators among them.
    """

    values: Value
    is_missing: Value
    n_columns: int


def add_rows(graph: Graph, encoded: Value, n_features: int, missing_features: Sequence[int]) -> Rows:
    """Rows from encoded columns, with an indicator for each of the ``missing_features``."""
    is_missing = graph("IsNaN", encoded)
    # Infinity, which Python refuses, is far away here; it would otherwise make NaN of a shoulder, which has slope 0.
    values = graph.between(graph("Where", is_missing, 0.0, encoded), -_LARGEST, _LARGEST)
    if missing_features:
        indicators = graph.take(is_missing, missing_features)
        values = graph.join([values, graph.cast(indicators, "float64")])
        is_missing = graph.join([is_missing, graph("Xor", indicators, indicators)])  # never missing themselves
    return Rows(values, is_missing, n_features + len(missing_features))


class Side(NamedTuple):
    """One side of the trapezoids of some nodes, each an array of shape (n_nodes, 1); as Side in cpp/ramp.h.

    The membership is ``clip(base + (x - start) * slope)``; of an upright side 1 where ``(x - start) * slope > 0``.
    """

    start: Floats
    slope: Floats
    base: Floats
    is_upright: NDArray[np.bool_]

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Whether the side is not a shoulder."""
        return np.asarray(self.base == 0)


def _side(compiled: Floats, outward: int) -> Side:
    """Sides of some nodes, from their start, slope and base in the compiled tree; those that fall have slopes below 0.

    An infinite slope is an upright side. A finite number stands for it: infinity times zero is NaN.
    """
    start, slope, base = (column[:, None] for column in compiled.T)
    is_upright = np.isinf(slope)
    return Side(start, -outward * np.where(is_upright, 1.0, slope), base, is_upright)


@dataclass(frozen=True)
class Conditions:
    """Memberships and gates of all nodes but the root.

    Attributes
    ----------
    fit : Value
        Memberships, shape (n_nodes - 1, n_rows).
    gate : Value or None
        How open the gates are, of the same shape; None: there are no gates.
    place : ndarray of shape (n_nodes,)
        Where in them each node stands; the root's is -1.
    """

    fit: Value
    gate: Value | None
    place: NDArray[np.int64]


def add_conditions(graph: Graph, tree: FuzzyTree, rows: Rows, gate_margin: float | None) -> Conditions:
    """Memberships and gates of all nodes but the root, of a tree with more than that. No margin: no gates."""
    nodes = np.concatenate(nodes_by_depth(tree.parent))
    sizes = np.zeros(tree.n_nodes, dtype=np.int64) if tree.categories is None else np.diff(tree.categories.start)
    numbers, categories = nodes[sizes[nodes] == 0], nodes[sizes[nodes] > 0]
    fits, gates = [], []
    if len(numbers):
        fits.append(_number_fit(graph, tree, rows, numbers))
        if gate_margin is not None:
            gates.append(_number_gate(graph, tree, rows, numbers, gate_margin))
    if len(categories):
        fit, gate, at = _category_tables(graph, tree, rows, categories)
        fits.append(graph("Gather", fit, at))
        if gate_margin is not None:
            gates.append(graph("Gather", gate, at))
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[np.concatenate([numbers, categories])] = np.arange(len(nodes))
    return Conditions(graph.join(fits), graph.join(gates) if gates else None, place)


def _number_fit(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]) -> Value:
    feature = tree.feature[nodes]
    x = graph.take(rows.values, feature)
    rise, fall = _side(tree.core().rise[nodes], -1), _side(tree.core().fall[nodes], 1)
    if (rise.is_there & fall.is_there).any():
        known = graph("Min", _side_fit(graph, x, rise), _side_fit(graph, x, fall))
    else:  # sides of splits: one operation does for both
        known = _side_fit(
            graph, x, Side(*(np.where(rise.is_there, up, down) for up, down in zip(rise, fall, strict=True)))
        )
    share = tree.share[nodes][:, None]
    return graph("Where", graph.take(rows.is_missing, feature), share, known)


def _side_fit(graph: Graph, x: Value, own: Side) -> Value:
    climb = graph("Mul", graph("Sub", x, own.start), own.slope)
    fit = graph.between(graph("Add", climb, own.base) if own.base.any() else climb, 0.0, 1.0)
    if own.is_upright.any():
        fit = graph("Where", own.is_upright, graph.cast(graph("Greater", climb, 0.0), "float64"), fit)
    return fit


def _number_gate(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp], margin: float) -> Value:
    """Gates; the two sides of a split have the same one, which is computed once."""
    low, high, slope = tree.core(margin).gate[nodes].T
    is_empty = ~(low <= high)  # no row came here: closed to all values
    low, high = np.where(is_empty, _LARGEST, low), np.where(is_empty, -_LARGEST, high)
    slope = np.where(is_empty, 1.0, slope)
    own, which = np.unique(np.stack([tree.feature[nodes], low, high, slope]), axis=1, return_inverse=True)
    feature, (low, high, slope) = own[0].astype(np.int64), own[1:, :, None]
    x = graph.take(rows.values, feature)
    outside = graph("Max", graph("Sub", low, x), graph("Sub", x, high))
    known = graph.between(graph("Sub", 1.0, graph("Mul", outside, slope)), 0.0, 1.0)
    return graph.take(graph("Where", graph.take(rows.is_missing, feature), 1.0, known), which.ravel())


def _category_tables(
    graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]
) -> tuple[Floats, Floats, Value]:
    """Memberships and gates as tables, and where each row looks: a node's categories, then unseen, then missing."""
    fits, gates, share = [], [], tree.share
    for node in nodes:
        own = tree.memberships(int(node))
        is_seen = ~np.isnan(own)
        fits.append([*np.where(is_seen, own, share[node]), share[node], share[node]])
        gates.append([*np.where(is_seen, 1.0, _core.UNSEEN_GATE), _core.UNSEEN_GATE, 1.0])
    sizes = np.array([len(own) for own in fits])
    begin = np.cumsum(sizes) - sizes
    feature = tree.feature[nodes]
    code = graph(
        "Where", graph.take(rows.is_missing, feature), (sizes - 1.0)[:, None], graph.take(rows.values, feature)
    )
    at = graph("Add", graph.cast(code, "int64"), begin[:, None])
    return np.concatenate(fits), np.concatenate(gates), at


@dataclass(frozen=True)
class Firings:
    """Firings of all nodes.

    Attributes
    ----------
    phi : Value
        Shape (n_nodes, n_rows), by depth.
    place : ndarray of shape (n_nodes,)
        Where in it each node stands; the root comes first.
    """

    phi: Value
    place: NDArray[np.int64]

    def of(self, graph: Graph, nodes: NDArray[Any]) -> Value:
        """Firings of some nodes, shape (n, n_rows)."""
        return graph.take(self.phi, self.place[nodes])


def add_firings(graph: Graph, tree: FuzzyTree, rows: Rows, conditions: Conditions | None, gated: bool) -> Firings:
    """Firings of all nodes: that of the parent, times membership, times gate. No ``conditions``: the root alone."""
    n_rows = graph("Shape", graph.take(rows.values, [0]))
    found = [graph("Expand", np.ones((1, 1)), n_rows)]
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    if conditions is None:
        return Firings(found[0], place)
    factor = conditions.fit
    if gated and conditions.gate is not None:
        factor = graph("Mul", factor, conditions.gate)
    above = np.zeros(tree.n_nodes, dtype=np.int64)  # places inside a level
    begin = 1
    for nodes in nodes_by_depth(tree.parent):
        parents = graph.take(found[-1], above[tree.parent[nodes]])
        found.append(graph("Mul", parents, graph.take(factor, conditions.place[nodes])))
        above[nodes] = np.arange(len(nodes))
        place[nodes] = begin + above[nodes]
        begin += len(nodes)
    return Firings(graph.join(found), place)
