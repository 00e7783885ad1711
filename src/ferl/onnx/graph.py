"""A graph under construction: operators and constants, each value with a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 16
"""Version of the operators of ai.onnx: the oldest that has all that is used, so that old runtimes read the file."""
ML_OPSET = 2
"""Version of the operators of ai.onnx.ml: one for categories that are text, one for learned splits."""
IR_VERSION = 8
"""Version of the file format, that of the same release as ``OPSET``."""

PREFIX = "ferl/"
"""What the names of all inner values begin with."""

Value = str
"""Name of a value in the graph."""
Operand = Value | NDArray[Any] | np.generic | float
"""A value, or a constant; a number is a constant of double precision."""


def onnx_module() -> Any:
    """The package onnx, or an error that says how to get it."""
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
        return self.several(operator, 1, *operands, **attributes)[0]

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
        # Names are optional, but onnxruntime 1.20 makes equal ones of those that lack, and then refuses the model.
        node = self.onnx.helper.make_node(operator, inputs, results, name=f"node {results[0]}", **attributes)
        self.nodes.append(node)

    def constant(self, value: NDArray[Any] | np.generic | float) -> Value:
        """A constant; equal ones are kept once."""
        array = np.asarray(value)
        if array.dtype.kind in "OUT":
            # Not kept once: labels alone are text.
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
        body, helper, single = Graph(self), self.onnx.helper, self.onnx.TensorProto.FLOAT
        before = [self.new_name("state") for _ in states]
        row = [self.new_name("row") for _ in rows]
        after = step(body, before, row)
        graph = helper.make_graph(
            body.nodes,
            self.new_name("body"),
            [helper.make_tensor_value_info(name, single, None) for name in (*before, *row)],
            [helper.make_tensor_value_info(name, single, None) for name in after],
            body.constants,
        )
        return self.several("Scan", len(states), *states, *rows, body=graph, num_scan_inputs=len(rows))
