"""Firings of all nodes, and the evidence of all sources combined, in a graph: for all rows at once.

Values lie as (nodes, rows): a condition is a row of memory, so that taking some of them copies whole rows. Every number
is computed by the same operations as in the compiled core, in the same order, up to that of the factors of a product.

Dempster's rule is associative, so sources are combined in pairs, then pairs of pairs, and so on: as many steps as the
logarithm of their number. With ``A(c) = Q(c) - T`` two blocks give ``A = A1 (A2 + T2) + T1 A2`` and ``T = T1 T2``:
every term is non-negative, and nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.model import Model
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
    """One side of the trapezoids of some nodes, each an array of shape (n_nodes, 1); as Side in cpp/core/ramp.h.

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
    index : ndarray of shape (n_nodes,)
        Where in them each node stands; the root's is -1.
    """

    fit: Value
    gate: Value | None
    index: NDArray[np.int64]


def add_conditions(graph: Graph, tree: FuzzyTree, rows: Rows, gate_margin: float | None) -> Conditions:
    """Memberships and gates of all nodes but the root, of a tree with more than that. No margin: no gates."""
    nodes = np.concatenate(nodes_by_depth(tree.parent))
    sizes = np.zeros(tree.n_nodes, dtype=np.int64) if tree.categories is None else np.diff(tree.categories.start)
    numbers, categories = nodes[sizes[nodes] == 0], nodes[sizes[nodes] > 0]
    fits, gates = [], []
    if len(numbers):
        fits.append(number_fit(graph, tree, rows, numbers))
        if gate_margin is not None:
            gates.append(_number_gate(graph, tree, rows, numbers, gate_margin))
    if len(categories):
        fit, gate, at = category_tables(graph, tree, rows, categories)
        fits.append(graph("Gather", fit, at))
        if gate_margin is not None:
            gates.append(graph("Gather", gate, at))
    index = np.full(tree.n_nodes, -1, dtype=np.int64)
    index[np.concatenate([numbers, categories])] = np.arange(len(nodes))
    return Conditions(graph.join(fits), graph.join(gates) if gates else None, index)


def number_fit(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]) -> Value:
    """Memberships in the conditions of some nodes that ask for numbers, shape (n_nodes, n_rows)."""
    feature = tree.feature[nodes]
    x = graph.take(rows.values, feature)
    rise, fall = _side(tree.core.rise[nodes], -1), _side(tree.core.fall[nodes], 1)
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
    low, high, slope = tree.compiled(margin).gate[nodes].T
    is_empty = ~(low <= high)  # no row came here: closed to all values
    low, high = np.where(is_empty, _LARGEST, low), np.where(is_empty, -_LARGEST, high)
    slope = np.where(is_empty, 1.0, slope)
    own, which = np.unique(np.stack([tree.feature[nodes], low, high, slope]), axis=1, return_inverse=True)
    return graph.take(gate_openness(graph, rows, own[0], own[1:, :, None]), which.ravel())


def gate_openness(graph: Graph, rows: Rows, columns: NDArray[Any], gates: Floats) -> Value:
    """How open some gates are; ``gates``: low end, high end and slope of each, shape (3, n_gates, 1)."""
    x, (low, high, slope) = graph.take(rows.values, columns), gates
    outside = graph("Max", graph("Sub", low, x), graph("Sub", x, high))
    known = graph.between(graph("Sub", 1.0, graph("Mul", outside, slope)), 0.0, 1.0)
    return graph("Where", graph.take(rows.is_missing, columns), 1.0, known)


def category_tables(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]) -> tuple[Floats, Floats, Value]:
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
    index : ndarray of shape (n_nodes,)
        Where in it each node stands; the root comes first.
    """

    phi: Value
    index: NDArray[np.int64]

    def of(self, graph: Graph, nodes: NDArray[Any]) -> Value:
        """Firings of some nodes, shape (n, n_rows)."""
        return graph.take(self.phi, self.index[nodes])


def add_firings(graph: Graph, tree: FuzzyTree, rows: Rows, conditions: Conditions | None, gated: bool) -> Firings:
    """Firings of all nodes: that of the parent, times membership, times gate. No ``conditions``: the root alone."""
    n_rows = graph("Shape", graph.take(rows.values, [0]))
    found = [graph("Expand", np.ones((1, 1)), n_rows)]
    index = np.zeros(tree.n_nodes, dtype=np.int64)
    if conditions is None:
        return Firings(found[0], index)
    factor = conditions.fit
    if gated and conditions.gate is not None:
        factor = graph("Mul", factor, conditions.gate)
    above = np.zeros(tree.n_nodes, dtype=np.int64)  # indices among the nodes of one depth
    begin = 1
    for nodes in nodes_by_depth(tree.parent):
        parents = graph.take(found[-1], above[tree.parent[nodes]])
        found.append(graph("Mul", parents, graph.take(factor, conditions.index[nodes])))
        above[nodes] = np.arange(len(nodes))
        index[nodes] = begin + above[nodes]
        begin += len(nodes)
    return Firings(graph.join(found), index)


_LEAST_SUM = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Masses:
    """Masses of sources, or of blocks of them.

    Attributes
    ----------
    mass : Value
        On single classes, shape (n_sources, n_classes, n_rows).
    frame : Value
        On the whole frame, shape (n_sources, 1, n_rows).
    """

    mass: Value
    frame: Value


def add_evidence(graph: Graph, model: Model, firings: Firings) -> tuple[Value, Value]:
    """Belief, shape (n_classes, n_rows), and ignorance, shape (1, n_rows)."""
    combine = _COMBINATIONS[model.reading.combination]
    return combine(graph, model.tree, firings, np.flatnonzero(model.is_source), model.reliability)


def _phi(graph: Graph, firings: Firings, nodes: NDArray[np.intp], trust: Floats) -> Value:
    phi = firings.of(graph, nodes)
    return phi if (trust[nodes] == 1).all() else graph("Mul", phi, trust[nodes][:, None])


# ---------------------------------------------------------------------------------------------------------------------
# Dempster's rule
# ---------------------------------------------------------------------------------------------------------------------


def _dempster(
    graph: Graph, tree: FuzzyTree, firings: Firings, sources: NDArray[np.intp], trust: Floats
) -> tuple[Value, Value]:
    phi = graph.insert_axis(_phi(graph, firings, sources, trust), 1)
    masses = Masses(graph("Mul", phi, tree.consequent[sources][:, :, None]), graph("Sub", 1.0, phi))
    # Leaves of splits share a row, so the firings sum to one at most. Then max Q >= 1 / C, and nothing underflows.
    shares_rows = not tree.word and len(sources) == len(tree.leaves)
    return _normalised(graph, _combined(graph, masses, len(sources), rescale=not shares_rows))


def _combined(graph: Graph, masses: Masses, n_sources: int, rescale: bool) -> Masses:
    """All sources as one."""
    odd: list[Masses] = []  # blocks without a partner
    while n_sources > 1:
        half = n_sources // 2
        sizes = [half, half, 1] if n_sources % 2 else [half, half]
        parts = [
            Masses(mass, frame)
            for mass, frame in zip(
                graph.several("Split", len(sizes), masses.mass, np.array(sizes)),
                graph.several("Split", len(sizes), masses.frame, np.array(sizes)),
                strict=True,
            )
        ]
        masses, n_sources = _pairwise(graph, parts[0], parts[1], rescale), half
        odd += parts[2:]
    for block in odd:
        masses = _pairwise(graph, masses, block, rescale)
    return masses


def _pairwise(graph: Graph, one: Masses, other: Masses, rescale: bool) -> Masses:
    through = graph("Mul", one.mass, graph("Add", other.mass, other.frame))
    mass = graph("Add", through, graph("Mul", one.frame, other.mass))
    frame = graph("Mul", one.frame, other.frame)
    if not rescale:
        return Masses(mass, frame)
    # Sources that exclude each other have the sum 0 and keep it.
    total = graph("Max", graph("Add", frame, graph.total(mass, 1)), _LEAST_SUM)
    return Masses(graph("Div", mass, total), graph("Div", frame, total))


def _normalised(graph: Graph, masses: Masses) -> tuple[Value, Value]:
    """Belief and ignorance; sources that exclude each other say nothing together."""
    mass, frame = graph.remove_axis(masses.mass, 0), graph.remove_axis(masses.frame, 0)
    total = graph("Add", frame, graph.total(mass, 0))
    says_something = graph("Greater", total, 0.0)
    divisor = graph("Where", says_something, total, 1.0)
    return graph("Div", mass, divisor), graph("Where", says_something, graph("Div", frame, divisor), 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# The other rules
# ---------------------------------------------------------------------------------------------------------------------


def _odds(graph: Graph, tree: FuzzyTree, phi: Value, nodes: NDArray[np.intp]) -> Value:
    """Masses against that of the frame, e(c) = m(c) / m(frame), shape (n_nodes, n_classes, n_rows)."""
    capped = graph("Min", phi, _core.MOST_FIRING)
    ratio = graph("Div", capped, graph("Sub", 1.0, capped))
    return graph("Mul", graph.insert_axis(ratio, 1), tree.consequent[nodes][:, :, None])


def _cautious(
    graph: Graph, tree: FuzzyTree, firings: Firings, sources: NDArray[np.intp], trust: Floats
) -> tuple[Value, Value]:
    """The largest odds of each class over the sources."""
    odds = _odds(graph, tree, _phi(graph, firings, sources, trust), sources)
    largest = graph("ReduceMax", odds, axes=[0], keepdims=0)
    total = graph("Add", graph.total(largest, 0), 1.0)
    return graph("Div", largest, total), graph("Div", 1.0, total)


def _chain(
    graph: Graph, tree: FuzzyTree, firings: Firings, sources: NDArray[np.intp], trust: Floats
) -> tuple[Value, Value]:
    """Cautious along each path, whose nodes all speak as its end fires; Dempster across the paths."""
    paths = [tree.path(int(end)) or [0] for end in sources]
    phi, found = firings.of(graph, sources), []
    for step in range(max(map(len, paths))):
        # Shorter paths go on with their end, which changes no maximum.
        nodes = np.array([path[min(step, len(path) - 1)] for path in paths])
        believed = phi if (trust[nodes] == 1).all() else graph("Mul", phi, trust[nodes][:, None])
        found.append(_odds(graph, tree, believed, nodes))
    counted = graph("Max", *found)
    total = graph("Add", graph.total(counted, 1), 1.0)
    masses = Masses(graph("Div", counted, total), graph("Div", 1.0, total))
    return _normalised(graph, _combined(graph, masses, len(sources), rescale=True))


def _vote(
    graph: Graph, tree: FuzzyTree, firings: Firings, sources: NDArray[np.intp], trust: Floats
) -> tuple[Value, Value]:
    """The mixture of the sources' distributions."""
    phi, own = firings.of(graph, sources), trust[sources]
    # Trust is part of the constants: onnxruntime takes a single factor into the product behind it as a float32.
    total = graph("MatMul", own[None], phi)
    votes = graph("MatMul", (own[:, None] * tree.consequent[sources]).T, phi)
    return graph("Div", votes, graph("Max", total, 1.0)), graph("Max", graph("Sub", 1.0, total), 0.0)


_COMBINATIONS = {"dempster": _dempster, "cautious": _cautious, "chain": _chain, "vote": _vote}
