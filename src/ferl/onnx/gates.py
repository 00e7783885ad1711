"""How open the gates of numbers are, in a graph: 1 inside the range that training saw, less the further outside."""

from __future__ import annotations

import numpy as np

from ferl._util.arrays import Floats
from ferl.onnx.graph import Graph, Operand, Value

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
