"""The evidence of all sources, combined in a graph: as cpp/evidence.cpp, for all rows at once.

Dempster's rule is associative, so sources are combined in pairs, then pairs of pairs, and so on: as many steps as the
logarithm of their number. With ``A(c) = Q(c) - T`` two blocks give ``A = A1 (A2 + T2) + T1 A2`` and ``T = T1 T2``:
every term is non-negative, and nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.model import Model
from ferl._model.tree import FuzzyTree, nodes_by_depth
from ferl._util.arrays import Floats
from ferl.onnx.firing import Firings
from ferl.onnx.graph import Graph, Value

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
    """Cautious along each path, Dempster across the paths that a row goes to the end: those of the sources."""
    ends, above = [], np.zeros(tree.n_nodes, dtype=np.int64)
    found: list[Value] = []
    odds: Value | None = None
    for nodes in nodes_by_depth(tree.parent) or [np.array([0])]:
        own = _odds(graph, tree, _phi(graph, firings, nodes, trust), nodes)
        odds = own if odds is None else graph("Max", own, graph.take(odds, above[tree.parent[nodes]]))
        above[nodes] = np.arange(len(nodes))
        at_end = nodes[np.isin(nodes, sources)]
        if len(at_end):
            ends.append(at_end)
            found.append(graph.take(odds, above[at_end]))
    is_reached = graph("Greater", firings.of(graph, np.concatenate(ends)), 0.0)
    counted = graph("Where", graph.insert_axis(is_reached, 1), graph.join(found), 0.0)
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
