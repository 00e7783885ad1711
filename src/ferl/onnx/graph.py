"""A graph under construction, and what models of all kinds have in one: rows, conditions, gates and firings.

Values lie as (nodes, rows): a condition is a row of memory, so that taking some of them copies whole rows. Every number
is computed by the same operations as in the compiled core, in the same order, except for the order of factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.model import Model
from ferl._models.tree import FuzzyTree, nodes_by_depth
from ferl._util.arrays import Floats

OPSET = 16
"""Version of the operators of ai.onnx: the oldest that has all that is used, so that old runtimes read the file."""
ML_OPSET = 2
"""Version of the operators of ai.onnx.ml: one for categories that are text, one for learned splits."""
IR_VERSION = 8
"""Version of the file format, from the same release as ``OPSET``."""

PREFIX = "ferl/"
"""What the names of all inner values begin with."""

Value = str
"""Name of a value in the graph."""
Operand = Value | NDArray[Any] | np.generic | float
"""A value, or a constant; a number is a constant of double precision."""


_NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0}


def _looks_neutral(operator: str, operand: Operand) -> bool:
    """Whether onnxruntime would leave the operator out: it compares single constants in single precision."""
    if isinstance(operand, str) or np.size(operand) != 1:
        return False
    value, neutral = np.asarray(operand, dtype=np.float64).item(), _NEUTRAL[operator]
    with np.errstate(over="ignore"):
        return value != neutral and bool(np.float32(value) == neutral)


def onnx_module() -> Any:
    """The package onnx, or an error with the command that installs it."""
    try:
        return import_module("onnx")
    except ImportError as error:
        raise ImportError('ferl.onnx needs the package onnx: pip install "ferl[onnx]".') from error


class Graph:
    """Operators in the order in which they run.

    ``graph("Add", x, 1.0)`` adds an operator and returns the name of its result.

    Parameters
    ----------
    outer : Graph, default=None
        The graph that this one is the body of a loop in; names are unique in both.
    """

    def __init__(self, outer: Graph | None = None) -> None:
        self.onnx = onnx_module()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._numbers: count[int] = count() if outer is None else outer._numbers

    def __call__(self, operator: str, *operands: Operand, **attributes: Any) -> Value:
        """Add an operator with one result."""
        if operator in _NEUTRAL:
            first, second = operands
            if operator in ("Add", "Mul") and _looks_neutral(operator, first):
                first, second = second, first
            if _looks_neutral(operator, second):
                return self._with_hidden_constant(operator, first, np.asarray(second))
        return self.several(operator, 1, *operands, **attributes)[0]

    def _with_hidden_constant(self, operator: str, value: Operand, constant: NDArray[Any]) -> Value:
        """The same result, to the last bit, by an operator that onnxruntime does not leave out."""
        if operator in ("Add", "Sub"):
            return self("Neg", self("Sub", -constant if operator == "Add" else constant, value))
        return self("Mul", self(operator, value, constant * 2.0 if operator == "Mul" else constant / 2.0), 0.5)

    def several(
        self, operator: str, n_results: int, *operands: Operand, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """Add an operator with several results."""
        results = [self.new_name(operator) for _ in range(n_results)]
        inputs = [operand if isinstance(operand, str) else self.constant(operand) for operand in operands]
        self._add_node(operator, inputs, results, domain=domain, **attributes)
        return results

    def name(self, value: Value, name: str) -> None:
        """Give a value a name that users see."""
        self._add_node("Identity", [value], [name])

    def _add_node(self, operator: str, inputs: list[Value], results: list[Value], **attributes: Any) -> None:
        # Names are optional, but onnxruntime 1.20 gives equal names to unnamed nodes, and then refuses the model.
        node = self.onnx.helper.make_node(operator, inputs, results, name=f"node {results[0]}", **attributes)
        self.nodes.append(node)

    def constant(self, value: NDArray[Any] | np.generic | float) -> Value:
        """A constant; equal ones are kept once."""
        array = np.asarray(value)
        if array.dtype.kind in "OUT":
            # Equal texts are not shared: only labels are text.
            return self._add(self.onnx.numpy_helper.from_array(array.astype(object), self.new_name("text")))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self._add(
                self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), self.new_name("c"))
            )
        return self._known[key]

    def _add(self, tensor: Any) -> Value:
        self.constants.append(tensor)
        return str(tensor.name)

    def new_name(self, stem: str) -> Value:
        """A name that no other value has."""
        return f"{PREFIX}{stem}_{next(self._numbers)}"

    def cast(self, value: Value, dtype: str) -> Value:
        """A value in another type, by its name in NumPy."""
        return self("Cast", value, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def take(self, value: Value, indices: Sequence[int] | NDArray[Any], axis: int = 0) -> Value:
        """Some indices of a value along an axis."""
        return self("Gather", value, np.asarray(indices, dtype=np.int64), axis=axis)

    def look_up(self, table: Operand, indices: Value) -> Value:
        """Entries of a table of one dimension; onnxruntime's Gather takes ten times as long for single numbers."""
        return self("GatherElements", table, indices, axis=0)

    def join(self, values: Sequence[Value], axis: int = 0) -> Value:
        """Values side by side along an axis."""
        return values[0] if len(values) == 1 else self("Concat", *values, axis=axis)

    def total(self, value: Value, axis: int, keepdims: bool = True) -> Value:
        """Sum along an axis."""
        return self("ReduceSum", value, np.array([axis]), keepdims=int(keepdims))

    def product(self, factors: Value, n: int) -> Value:
        """The product of ``n`` values along the first axis, by halves: ReduceProd takes one number after the other."""
        while n > 1:
            half = n // 2
            sizes = [half, half, 1] if n % 2 else [half, half]
            parts = self.several("Split", len(sizes), factors, np.array(sizes))
            factors, n = self.join([self("Mul", parts[0], parts[1]), *parts[2:]]), half + n % 2
        return factors

    def insert_axis(self, value: Value, axis: int) -> Value:
        """A value with one more axis, of length one."""
        return self("Unsqueeze", value, np.array([axis]))

    def remove_axis(self, value: Value, axis: int) -> Value:
        """A value without an axis, which has length one."""
        return self("Squeeze", value, np.array([axis]))

    def between(self, value: Value, low: float, high: float) -> Value:
        """Numbers cut off at two ends."""
        return self("Clip", value, low, high)

    def over(
        self,
        states: Sequence[Value],
        rows: Sequence[Operand],
        step: Callable[[Graph, Sequence[Value], Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Go through the first axis of some values, one index after the other, and return the last states.

        Parameters
        ----------
        states : sequence of Value
            What is carried along, to begin with; single precision.
        rows : sequence of Value or ndarray
            What is gone through; single precision.
        step : callable
            Gets the body's graph, the states and one index of each of the rows; returns the next states. It may use
            values of this graph.

        Returns
        -------
        list of Value
        """
        body = Graph(self)
        before = [self.new_name("state") for _ in states]
        row = [self.new_name("row") for _ in rows]
        after = step(body, before, row)
        inputs, outputs = (
            [body.declared(name, "float32", None) for name in names] for names in ([*before, *row], after)
        )
        proto = body.proto(self.new_name("body"), inputs, outputs)
        return self.several("Scan", len(states), *states, *rows, body=proto, num_scan_inputs=len(rows))

    def declared(self, name: str, dtype: Any, shape: Sequence[str | int] | None, form: str = "") -> Any:
        """Name, type and shape of an input or output; None: of any shape."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape, doc_string=form)

    def proto(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The graph in the form of the package onnx."""
        return self.onnx.helper.make_graph(self.nodes, name, inputs, outputs, self.constants)


# ---------------------------------------------------------------------------------------------------------------------
# Rows and gates
# ---------------------------------------------------------------------------------------------------------------------


LARGEST = float(np.finfo(np.float64).max)


def bounded(graph: Graph, x: Value) -> Value:
    """Values with infinity, which Python refuses, as a number far away: times a slope of 0 it would become NaN."""
    return graph.between(x, -LARGEST, LARGEST)


def closed_if_empty(gate: Floats) -> Floats:
    """Gates as low end, high end and slope, shape (n_gates, 3); where no training row came, closed to all values."""
    is_empty = ~(gate[:, 0] <= gate[:, 1])
    return np.where(is_empty[:, None], [LARGEST, -LARGEST, 1.0], gate)


def openness(graph: Graph, x: Value, is_missing: Value, low: Operand, high: Operand, slope: Operand) -> Value:
    """How open gates are to values, from 0 to 1; 1 to a missing one."""
    outside = graph("Max", graph("Sub", low, x), graph("Sub", x, high))
    known = graph.between(graph("Sub", 1.0, graph("Mul", outside, slope)), 0.0, 1.0)
    return graph("Where", is_missing, 1.0, known)


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

    def shape(self, n: int) -> Value:
        """The shape (n, n_rows)."""
        return self.graph.join([self.graph.constant(np.array([n])), self.n_rows])

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


def add_rows(graph: Graph, table: Value, model: Model, reads_all: bool) -> Rows:
    """Rows from a table with all columns of a model; columns without conditions are read only if ``reads_all``."""
    n_columns, asked = model.n_features + len(model.derived), model.read_columns
    index, taken = np.arange(n_columns), graph("Transpose", table, perm=[1, 0])
    if not reads_all and len(asked) < n_columns:
        columns = asked if len(asked) else np.array([0])  # one, for the number of rows
        index[:] = n_columns  # an invalid index: a graph that reads another column does not run
        index[columns] = np.arange(len(columns))
        taken = graph.take(taken, columns)
    return Rows(graph, taken, index)


# ---------------------------------------------------------------------------------------------------------------------
# Conditions and firings
# ---------------------------------------------------------------------------------------------------------------------


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
    """Sides of some nodes, from their start, slope and base in the compiled tree; falling sides have slopes below 0.

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
    """Memberships in the conditions of some nodes on numbers, shape (n_nodes, n_rows)."""
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


def _side_fit(graph: Graph, x: Value, side: Side) -> Value:
    climb = graph("Mul", graph("Sub", x, side.start), side.slope)
    fit = graph.between(graph("Add", climb, side.base) if side.base.any() else climb, 0.0, 1.0)
    if side.is_upright.any():
        fit = graph("Where", side.is_upright, graph.cast(graph("Greater", climb, 0.0), "float64"), fit)
    return fit


def _number_gate(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp], margin: float) -> Value:
    """Gates; the two sides of a split have the same one, which is computed once."""
    gates = closed_if_empty(tree.compiled(margin).gate[nodes])
    distinct, which = np.unique(np.column_stack([tree.feature[nodes], gates]).T, axis=1, return_inverse=True)
    return graph.take(gate_openness(graph, rows, distinct[0].astype(np.intp), distinct[1:, :, None]), which.ravel())


def gate_openness(graph: Graph, rows: Rows, columns: NDArray[Any], gates: Floats) -> Value:
    """How open some gates are; ``gates``: low end, high end and slope of each, shape (3, n_gates, 1)."""
    return openness(graph, rows.values_of(columns), rows.missing_in(columns), *gates)


def category_tables(graph: Graph, tree: FuzzyTree, rows: Rows, nodes: NDArray[np.intp]) -> tuple[Floats, Floats, Value]:
    """Memberships and gates as tables, and where each row looks: a node's categories, then unseen, then missing."""
    fits, gates = category_lists(tree, nodes)
    sizes = np.array([len(fit) for fit in fits])
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
    """Firings of all nodes: parent's firing times membership times gate. No ``conditions``: the root alone."""
    result = [graph("Expand", np.ones((1, 1)), rows.shape(1))]
    index = np.zeros(tree.n_nodes, dtype=np.int64)
    if conditions is None:
        return Firings(result[0], index)
    factor = conditions.fit
    if gated and conditions.gate is not None:
        factor = graph("Mul", factor, conditions.gate)
    above = np.zeros(tree.n_nodes, dtype=np.int64)  # indices among the nodes of one depth
    begin = 1
    for nodes in nodes_by_depth(tree.parent):
        parents = graph.take(result[-1], above[tree.parent[nodes]])
        result.append(graph("Mul", parents, graph.take(factor, conditions.index[nodes])))
        above[nodes] = np.arange(len(nodes))
        index[nodes] = begin + above[nodes]
        begin += len(nodes)
    return Firings(graph.join(result), index)


def category_lists(tree: FuzzyTree, nodes: NDArray[np.intp]) -> tuple[list[Floats], list[Floats]]:
    """Memberships and gates of nodes on categories: for each category, then for unseen, then for missing ones."""
    fits, gates = [], []
    for node in nodes:
        memberships, share = tree.memberships(int(node)), tree.share[node]
        is_seen = ~np.isnan(memberships)
        fits.append(np.array([*np.where(is_seen, memberships, share), share, share]))
        gates.append(np.array([*np.where(is_seen, 1.0, _core.UNSEEN_GATE), _core.UNSEEN_GATE, 1.0]))
    return fits, gates
