"""Firings of all nodes, and the evidence of all sources combined, in a graph: for all rows at once.

Values lie as (nodes, rows): a condition is a row of memory, so that taking some of them copies whole rows. Every number
is computed by the same operations as in the compiled core, in the same order, up to that of the factors of a product.

Trees of splits whose leaves alone speak are read from the leaves that a row reaches (``walk.py``), without the others.

Dempster's rule is a product of what each source leaves to a class, Q(c), less what they leave to the frame, T. Where
such a product could underflow, sources are combined in pairs, then pairs of pairs, and scaled up: with
``A(c) = Q(c) - T`` two blocks give ``A = A1 (A2 + T2) + T1 A2`` and ``T = T1 T2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.tree import FuzzyTree, nodes_by_depth
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Floats
from ferl.onnx.gates import bounded, closed_if_empty, openness
from ferl.onnx.graph import Graph, Value
from ferl.onnx.walk import Ends, category_lists


@dataclass(frozen=True)
class Rows:
    """The rows to judge, column by column, as the tree reads them.

    Attributes
    ----------
    graph : Graph
        Where they are.
    taken : Value
        The columns that are needed, NaN where a value is missing, shape (n_taken, n_rows).
    index : ndarray of shape (n_columns,)
        Which of the taken columns each column is, indicators among them.
    """

    graph: Graph
    taken: Value
    index: NDArray[np.intp]

    @property
    def n_columns(self) -> int:
        """Number of columns, taken or not."""
        return len(self.index)

    @cached_property
    def n_rows(self) -> Value:
        """Number of rows, shape (1,)."""
        return self.graph.take(self.graph("Shape", self.taken), [1])

    @cached_property
    def values(self) -> Value:
        """Numbers and codes of categories, shape (n_taken, n_rows); where one is missing, any number or NaN."""
        return bounded(self.graph, self.taken)

    @cached_property
    def is_missing(self) -> Value:
        """Where values are missing, shape (n_taken, n_rows)."""
        return self.graph("IsNaN", self.taken)

    def values_of(self, columns: NDArray[Any]) -> Value:
        """Values of some columns, one after the other."""
        return self.graph.take(self.values, self.index[columns])

    def missing_in(self, columns: NDArray[Any]) -> Value:
        """Where values of some columns are missing."""
        return self.graph.take(self.is_missing, self.index[columns])


def add_table(graph: Graph, encoded: Value, missing_features: Sequence[int]) -> Value:
    """An encoded table with an indicator for each of the ``missing_features``, shape (n_rows, n_columns)."""
    if not missing_features:
        return encoded
    indicators = graph.cast(graph("IsNaN", graph.take(encoded, missing_features, axis=1)), "float64")
    return graph.join([encoded, indicators], axis=1)


def add_rows(graph: Graph, table: Value, n_columns: int, asked: NDArray[Any] | None = None) -> Rows:
    """Rows from a table; ``asked``: the columns to take, default=all of them."""
    index, taken = np.arange(n_columns), graph("Transpose", table, perm=[1, 0])
    if asked is not None and len(np.unique(asked)) < n_columns:
        columns = np.unique(asked) if len(asked) else np.array([0])  # one, since it tells how many rows there are
        index[:] = n_columns  # where there is nothing: a graph that asks for another column does not run
        index[columns] = np.arange(len(columns))
        taken = graph.take(taken, columns)
    return Rows(graph, taken, index)


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
    x = rows.values_of(feature)
    rise, fall = _side(tree.core.rise[nodes], -1), _side(tree.core.fall[nodes], 1)
    if (rise.is_there & fall.is_there).any():
        known = graph("Min", _side_fit(graph, x, rise), _side_fit(graph, x, fall))
    else:  # sides of splits: one operation does for both
        known = _side_fit(
            graph, x, Side(*(np.where(rise.is_there, up, down) for up, down in zip(rise, fall, strict=True)))
        )
    share = tree.share[nodes][:, None]
    return graph("Where", rows.missing_in(feature), share, known)


def _side_fit(graph: Graph, x: Value, own: Side) -> Value:
    climb = graph("Mul", graph("Sub", x, own.start), own.slope)
    fit = graph.between(graph("Add", climb, own.base) if own.base.any() else climb, 0.0, 1.0)
    if own.is_upright.any():
        fit = graph("Where", own.is_upright, graph.cast(graph("Greater", climb, 0.0), "float64"), fit)
    return fit


def _number_gate(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp], margin: float) -> Value:
    """Gates; the two sides of a split have the same one, which is computed once."""
    gates = closed_if_empty(tree.compiled(margin).gate[nodes])
    own, which = np.unique(np.column_stack([tree.feature[nodes], gates]).T, axis=1, return_inverse=True)
    return graph.take(gate_openness(graph, rows, own[0].astype(np.intp), own[1:, :, None]), which.ravel())


def gate_openness(graph: Graph, rows: Rows, columns: NDArray[Any], gates: Floats) -> Value:
    """How open some gates are; ``gates``: low end, high end and slope of each, shape (3, n_gates, 1)."""
    return openness(graph, rows.values_of(columns), rows.missing_in(columns), *gates)


def category_tables(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]) -> tuple[Floats, Floats, Value]:
    """Memberships and gates as tables, and where each row looks: a node's categories, then unseen, then missing."""
    fits, gates = category_lists(tree, nodes)
    sizes = np.array([len(own) for own in fits])
    begin = np.cumsum(sizes) - sizes
    feature = tree.feature[nodes]
    code = graph("Where", rows.missing_in(feature), (sizes - 1.0)[:, None], rows.values_of(feature))
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
    found = [graph("Expand", np.ones((1, 1)), graph.join([graph.constant(np.array([1])), rows.n_rows]))]
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


_LEAST_PRODUCT = -500.0  # the logarithm of what is far from underflow
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


def add_evidence(graph: Graph, model: TreeModel, firings: Firings) -> tuple[Value, Value]:
    """Belief, shape (n_classes, n_rows), and ignorance, shape (1, n_rows)."""
    combine = _COMBINATIONS[model.reading.combination]
    return combine(graph, model.tree, firings, np.flatnonzero(model.is_source), model.reliability)


def speaks_at_ends(model: TreeModel) -> bool:
    """Whether leaves alone speak, and :func:`add_evidence_of_ends` knows how they are combined."""
    return model.reading.combination in ("dempster", "vote") and bool((model.is_source == model.tree.is_leaf).all())


def add_evidence_of_ends(graph: Graph, model: TreeModel, ends: Ends) -> tuple[Value, Value]:
    """Belief and ignorance as :func:`add_evidence` gives them, of the pairs of a row and a leaf that it reaches alone.

    Splits share a row between their sides, so the firings of its leaves sum to one at most. Then ``max Q >= 1 / C``,
    and nothing underflows.
    """
    tree, leaves = model.tree, model.tree.leaves
    trust, phi = model.reliability[leaves], ends.phi
    if not (trust == 1).all():
        phi = graph("Mul", phi, graph.look_up(trust, ends.leaf))
    is_vote = model.reading.combination == "vote"
    # The last row is that of the frame: of Dempster's rule no class's mass, in a vote the sum of the firings.
    table = np.vstack([tree.consequent[leaves].T, np.full(len(leaves), float(is_vote))])
    n_lists = graph.constant(np.array([len(table)]))
    shape = graph.join([n_lists, graph("Shape", phi)])
    leaf, row = (graph("Expand", graph.insert_axis(own, 0), shape) for own in (ends.leaf, ends.row))
    said = graph("Mul", graph("GatherElements", table, leaf, axis=1), phi)
    if not is_vote:
        said = graph("Add", said, graph("Sub", 1.0, phi))
    start = graph("Expand", np.full((1, 1), float(not is_vote)), graph.join([n_lists, ends.n_rows]))
    combined = graph("ScatterElements", start, row, said, axis=1, reduction="add" if is_vote else "mul")
    if not is_vote:
        return _of_products(graph, combined, tree.n_classes)
    votes, total = graph.several("Split", 2, combined, np.array([tree.n_classes, 1]))
    return _mixture(graph, votes, total)


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
    consequent = tree.consequent[sources]
    if consequent.min() > 0 and np.log(consequent).sum(axis=0).max() > _LEAST_PRODUCT:
        return _of_products(graph, _product_of_commonalities(graph, phi, consequent), tree.n_classes)
    masses = Masses(graph("Mul", phi, tree.consequent[sources][:, :, None]), graph("Sub", 1.0, phi))
    # Leaves of splits share a row, so the firings sum to one at most. Then max Q >= 1 / C, and nothing underflows.
    shares_rows = not tree.word and len(sources) == len(tree.leaves)
    return _normalised(graph, _combined(graph, masses, len(sources), rescale=not shares_rows))


def _product_of_commonalities(graph: Graph, phi: Value, consequent: Floats) -> Value:
    """Products over the sources of what each leaves to a class, and last to the frame, (n_classes + 1, n_rows).

    A source leaves ``1 - phi (1 - p(c)) >= p(c)``, so that no product is below that of the consequents.
    """
    table = np.column_stack([consequent, np.zeros(len(consequent))])
    left = graph("Add", graph("Mul", phi, table[:, :, None]), graph("Sub", 1.0, phi))
    return graph.remove_axis(graph.product(left, len(table)), 0)


def _of_products(graph: Graph, products: Value, n_classes: int) -> tuple[Value, Value]:
    """Belief and ignorance of the products Q(c) and, in the last row, T, of which the largest is far from underflow.

    T is no larger than any Q(c), so that what cancels in ``Q(c) - T`` is rounding beside the largest.
    """
    classes, frame = graph.several("Split", 2, products, np.array([n_classes, 1]))
    mass = graph("Max", graph("Sub", classes, frame), 0.0)
    total = graph("Add", frame, graph.total(mass, 0))
    return graph("Div", mass, total), graph("Div", frame, total)


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
    return _mixture(graph, votes, total)


def _mixture(graph: Graph, votes: Value, total: Value) -> tuple[Value, Value]:
    return graph("Div", votes, graph("Max", total, 1.0)), graph("Max", graph("Sub", 1.0, total), 0.0)


_COMBINATIONS = {"dempster": _dempster, "cautious": _cautious, "chain": _chain, "vote": _vote}
