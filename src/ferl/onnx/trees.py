"""Trees in a graph: the leaves that rows reach, and the evidence of all sources combined.

Trees of splits whose leaves alone speak are read from the leaves that a row reaches, without the others. A row reaches
few of the nodes, so what is computed is a list of *pairs* of a row and a node. The standard operator for trees takes
every row down to the first split whose two sides it must take both, or whose gate is not open: inside the band, beyond
what training saw, missing, or a category. From there a loop goes on, one depth at a time, with the pairs whose
membership is above zero. The operator has thresholds of single precision alone. They are rounded so that it stops too
early at worst; what a stop means is computed in double precision, by the operations of the compiled core.

Dempster's rule is a product of what each source leaves to a class, Q(c), less what they leave to the frame, T. Where
such a product could underflow, sources are combined in pairs, then pairs of pairs, and scaled up: with
``A(c) = Q(c) - T`` two blocks give ``A = A1 (A2 + T2) + T1 A2`` and ``T = T1 T2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Floats
from ferl.onnx.graph import (
    Firings,
    Graph,
    Value,
    add_conditions,
    add_firings,
    add_rows,
    bounded,
    category_lists,
    closed_if_empty,
    openness,
)
from ferl.onnx.novelty import Pairs, add_neighbour_distance, lost_mass, pairs_of_firings, residual

OUTPUTS = ("label", "pignistic", "belief", "plausibility", "ignorance", "set", "novelty")

_Nodes = NDArray[np.intp]
_Masses = tuple[Value, Value]
"""Of sources: on single classes, shape (n_sources, n_classes, n_rows); on the whole frame, (n_sources, 1, n_rows)."""
_Evidence = tuple[Value, Value]
"""Belief, shape (n_classes, n_rows), and ignorance, shape (1, n_rows)."""


def tree_answers(graph: Graph, model: TreeModel, table: Value, measure: str | None) -> dict[str, Value]:
    """Matrices, classes first, and values of each row, by the names of the outputs; no ``measure``: no novelty."""
    tree, gated = model.tree, model.reading.support_gate
    margin, result = model.reading.gate_margin if gated else None, {}
    if (splits := Splits.of(tree, margin) if _speaks_at_ends(model) else None) is not None:
        # By the leaves that a row reaches; only the residual needs all nodes.
        ends = _ends(graph, tree, splits, table)
        result = _outputs(graph, model, *_evidence_of_ends(graph, model, ends))
        if measure is None:
            return result
    rows = add_rows(graph, table, model, reads_all=measure is not None)
    if splits is not None and measure == "neighbour":
        return result | {"novelty": add_neighbour_distance(graph, tree, rows, Pairs(ends.row, ends.leaf))}
    conditions = add_conditions(graph, tree, rows, margin) if tree.n_nodes > 1 else None
    firings = add_firings(graph, tree, rows, conditions, gated)
    if not result:
        combine, sources = _COMBINATIONS[model.reading.combination], np.flatnonzero(model.is_source)
        result = _outputs(graph, model, *combine(graph, tree, firings, sources, model.reliability))
    if measure is None:
        return result
    ungated = add_firings(graph, tree, rows, conditions, False) if gated else firings
    if measure == "neighbour":
        pairs = pairs_of_firings(graph, tree, conditions, ungated)
        return result | {"novelty": add_neighbour_distance(graph, tree, rows, pairs)}
    novelty = residual(graph, tree, rows, ungated)
    if conditions is not None and conditions.gate is not None:
        novelty = graph("Add", novelty, lost_mass(graph, tree, conditions, conditions.gate, firings))
    return result | {"novelty": novelty}


def _outputs(graph: Graph, model: TreeModel, belief: Value, ignorance: Value) -> dict[str, Value]:
    return {
        "pignistic": graph("Add", belief, graph("Div", ignorance, float(model.tree.n_classes))),
        "belief": belief,
        "plausibility": graph("Add", belief, ignorance),
        "ignorance": ignorance,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Evidence
# ---------------------------------------------------------------------------------------------------------------------

_LEAST_PRODUCT = -500.0  # the logarithm of what is far from underflow
_LEAST_SUM = float(np.finfo(np.float64).tiny)


def _speaks_at_ends(model: TreeModel) -> bool:
    """Whether leaves are the only sources, and :func:`_evidence_of_ends` combines them."""
    return model.reading.combination in ("dempster", "vote") and bool((model.is_source == model.tree.is_leaf).all())


def _evidence_of_ends(graph: Graph, model: TreeModel, ends: Ends) -> _Evidence:
    """The evidence of the pairs of a row and a leaf that it reaches alone.

    Splits share a row between their sides, so the firings of its leaves sum to one at most. Then ``max Q >= 1 / C``,
    and nothing underflows.
    """
    tree, leaves = model.tree, model.tree.leaves
    trust, phi = model.reliability[leaves], ends.phi
    if not (trust == 1).all():
        phi = graph("Mul", phi, graph.look_up(trust, ends.leaf))
    is_vote = model.reading.combination == "vote"
    # The last row is for the frame: under Dempster's rule the mass of no class, in a vote the sum of the firings.
    table = np.vstack([tree.consequent[leaves].T, np.full(len(leaves), float(is_vote))])
    n_lists = graph.constant(np.array([len(table)]))
    shape = graph.join([n_lists, graph("Shape", phi)])
    leaf, row = (graph("Expand", graph.insert_axis(item, 0), shape) for item in (ends.leaf, ends.row))
    parts = graph("Mul", graph("GatherElements", table, leaf, axis=1), phi)
    if not is_vote:
        parts = graph("Add", parts, graph("Sub", 1.0, phi))
    start = graph("Expand", np.full((1, 1), float(not is_vote)), graph.join([n_lists, ends.n_rows]))
    combined = graph("ScatterElements", start, row, parts, axis=1, reduction="add" if is_vote else "mul")
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


def _dempster(graph: Graph, tree: FuzzyTree, firings: Firings, sources: _Nodes, trust: Floats) -> _Evidence:
    phi = graph.insert_axis(_phi(graph, firings, sources, trust), 1)
    consequent = tree.consequent[sources]
    if consequent.min() > 0 and np.log(consequent).sum(axis=0).max() > _LEAST_PRODUCT:
        return _of_products(graph, _product_of_commonalities(graph, phi, consequent), tree.n_classes)
    masses = graph("Mul", phi, consequent[:, :, None]), graph("Sub", 1.0, phi)
    # Leaves of splits share a row, so the firings sum to one at most. Then max Q >= 1 / C, and nothing underflows.
    shares_rows = not tree.word and len(sources) == len(tree.leaves)
    return _normalised(graph, _combined(graph, masses, len(sources), rescale=not shares_rows))


def _product_of_commonalities(graph: Graph, phi: Value, consequent: Floats) -> Value:
    """Products over the sources of what each leaves to a class, and last to the frame, (n_classes + 1, n_rows).

    A source leaves ``1 - phi (1 - p(c)) >= p(c)``, so no product is below the product of the consequents.
    """
    table = np.column_stack([consequent, np.zeros(len(consequent))])
    left = graph("Add", graph("Mul", phi, table[:, :, None]), graph("Sub", 1.0, phi))
    return graph.remove_axis(graph.product(left, len(table)), 0)


def _of_products(graph: Graph, products: Value, n_classes: int) -> _Evidence:
    """Belief and ignorance of the products Q(c) and, in the last row, T, of which the largest is far from underflow.

    T is no larger than any Q(c), so that what cancels in ``Q(c) - T`` is rounding beside the largest.
    """
    classes, frame = graph.several("Split", 2, products, np.array([n_classes, 1]))
    mass = graph("Max", graph("Sub", classes, frame), 0.0)
    total = graph("Add", frame, graph.total(mass, 0))
    return graph("Div", mass, total), graph("Div", frame, total)


def _combined(graph: Graph, masses: _Masses, n_sources: int, rescale: bool) -> _Masses:
    """All sources as one."""
    odd: list[_Masses] = []  # blocks without a partner
    while n_sources > 1:
        half = n_sources // 2
        sizes = [half, half, 1] if n_sources % 2 else [half, half]
        mass, frame = (graph.several("Split", len(sizes), mass, np.array(sizes)) for mass in masses)
        one, other, *alone = zip(mass, frame, strict=True)
        masses, n_sources = _pairwise(graph, one, other, rescale), half
        odd += alone
    for block in odd:
        masses = _pairwise(graph, masses, block, rescale)
    return masses


def _pairwise(graph: Graph, one: _Masses, other: _Masses, rescale: bool) -> _Masses:
    through = graph("Mul", one[0], graph("Add", *other))
    mass = graph("Add", through, graph("Mul", one[1], other[0]))
    frame = graph("Mul", one[1], other[1])
    if not rescale:
        return mass, frame
    # Sources that exclude each other have the sum 0 and keep it.
    total = graph("Max", graph("Add", frame, graph.total(mass, 1)), _LEAST_SUM)
    return graph("Div", mass, total), graph("Div", frame, total)


def _normalised(graph: Graph, masses: _Masses) -> _Evidence:
    """Belief and ignorance; sources that exclude each other give no evidence together."""
    mass, frame = (graph.remove_axis(mass, 0) for mass in masses)
    total = graph("Add", frame, graph.total(mass, 0))
    says_something = graph("Greater", total, 0.0)
    divisor = graph("Where", says_something, total, 1.0)
    return graph("Div", mass, divisor), graph("Where", says_something, graph("Div", frame, divisor), 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# The other rules
# ---------------------------------------------------------------------------------------------------------------------


def _odds(graph: Graph, tree: FuzzyTree, phi: Value, nodes: NDArray[np.intp]) -> Value:
    """Masses divided by the mass of the frame, e(c) = m(c) / m(frame), shape (n_nodes, n_classes, n_rows)."""
    capped = graph("Min", phi, _core.MOST_FIRING)
    ratio = graph("Div", capped, graph("Sub", 1.0, capped))
    return graph("Mul", graph.insert_axis(ratio, 1), tree.consequent[nodes][:, :, None])


def _cautious(graph: Graph, tree: FuzzyTree, firings: Firings, sources: _Nodes, trust: Floats) -> _Evidence:
    """The largest odds of each class over the sources."""
    odds = _odds(graph, tree, _phi(graph, firings, sources, trust), sources)
    largest = graph("ReduceMax", odds, axes=[0], keepdims=0)
    total = graph("Add", graph.total(largest, 0), 1.0)
    return graph("Div", largest, total), graph("Div", 1.0, total)


def _chain(graph: Graph, tree: FuzzyTree, firings: Firings, sources: _Nodes, trust: Floats) -> _Evidence:
    """Cautious along each path, whose nodes all count with the firing of its end; Dempster across the paths."""
    paths = [tree.path(int(end)) or [0] for end in sources]
    phi, result = firings.of(graph, sources), []
    for step in range(max(map(len, paths))):
        # Shorter paths go on with their end, which changes no maximum.
        nodes = np.array([path[min(step, len(path) - 1)] for path in paths])
        believed = phi if (trust[nodes] == 1).all() else graph("Mul", phi, trust[nodes][:, None])
        result.append(_odds(graph, tree, believed, nodes))
    counted = graph("Max", *result)
    total = graph("Add", graph.total(counted, 1), 1.0)
    masses = graph("Div", counted, total), graph("Div", 1.0, total)
    return _normalised(graph, _combined(graph, masses, len(sources), rescale=True))


def _vote(graph: Graph, tree: FuzzyTree, firings: Firings, sources: _Nodes, trust: Floats) -> _Evidence:
    """The mixture of the sources' distributions."""
    phi, trusted = firings.of(graph, sources), trust[sources]
    # Trust is part of the constants: onnxruntime takes a single factor into the product behind it as a float32.
    total = graph("MatMul", trusted[None], phi)
    votes = graph("MatMul", (trusted[:, None] * tree.consequent[sources]).T, phi)
    return _mixture(graph, votes, total)


def _mixture(graph: Graph, votes: Value, total: Value) -> _Evidence:
    return graph("Div", votes, graph("Max", total, 1.0)), graph("Max", graph("Sub", 1.0, total), 0.0)


_COMBINATIONS = {"dempster": _dempster, "cautious": _cautious, "chain": _chain, "vote": _vote}

# ---------------------------------------------------------------------------------------------------------------------
# The leaves that rows reach
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends:
    """Leaves that rows reach, each pair once; all values have the shape (n_pairs,).

    Attributes
    ----------
    row : Value
        Index of the row.
    leaf : Value
        Index of the leaf among the tree's leaves.
    phi : Value
        How far the leaf fires, with gates; 0 where a gate is closed.
    n_rows : Value
        Number of rows, shape (1,).
    """

    row: Value
    leaf: Value
    phi: Value
    n_rows: Value


@dataclass(frozen=True)
class Splits:
    """The inner nodes of a tree of splits: what a graph needs of each; arrays of shape (n_splits,).

    Nodes are numbered anew: inner nodes come first, then leaves, each in their order.

    Attributes
    ----------
    column : ndarray
        The column of the condition.
    child : ndarray of shape (2, n_splits)
        New numbers of the left and of the right child.
    share : ndarray of shape (2, n_splits)
        What the two sides get where the value is missing.
    high, low, slope : ndarray
        The left side is ``clip((high - x) * slope)``, the right one ``clip((x - low) * slope)``.
    gate : ndarray of shape (3, n_splits), or None
        Low end, high end and slope; None: there are no gates.
    is_category : ndarray of bool
        Whether the condition is on categories; the band and the gate then have no meaning.
    depth : int
        Number of conditions of the longest path.
    """

    column: NDArray[Any]
    child: NDArray[Any]
    share: Floats
    high: Floats
    low: Floats
    slope: Floats
    gate: Floats | None
    is_category: NDArray[np.bool_]
    depth: int

    @classmethod
    def of(cls, tree: FuzzyTree, gate_margin: float | None) -> Splits | None:
        """The splits of a tree; no margin: without gates. None: the tree has other nodes too, or none."""
        core = tree.compiled(1.0 if gate_margin is None else gate_margin)
        inner = np.flatnonzero(~tree.is_leaf)
        if not len(inner) or not core.is_split[inner].all():
            return None
        left, right = _children(tree)
        is_category = np.array([len(tree.memberships(int(node))) > 0 for node in left])
        high, slope, _ = np.where(is_category[:, None], 0.0, core.fall[left]).T
        low = np.where(is_category, 0.0, core.rise[right][:, 0])
        gate = np.where(is_category[:, None], 0.0, core.gate[left])
        if np.isinf(slope).any() or (gate != np.where(is_category[:, None], 0.0, core.gate[right])).any():
            return None  # a step, or two gates
        number = np.zeros(tree.n_nodes, dtype=np.int64)
        number[np.concatenate([inner, tree.leaves])] = np.arange(tree.n_nodes)
        return cls(
            tree.feature[left],
            number[np.stack([left, right])],
            tree.share[np.stack([left, right])],
            high,
            low,
            slope,
            None if gate_margin is None else closed_if_empty(gate).T,
            is_category,
            int(tree.depth.max()),
        )

    @property
    def n_splits(self) -> int:
        """Number of inner nodes."""
        return len(self.column)


def _children(tree: FuzzyTree) -> tuple[_Nodes, _Nodes]:
    """The left and the right children of all inner nodes, in the order of these."""
    nodes = np.arange(1, tree.n_nodes)
    by_parent = nodes[np.argsort(tree.parent[nodes], kind="stable")]
    return by_parent[::2], by_parent[1::2]


def _ends(graph: Graph, tree: FuzzyTree, splits: Splits, table: Value) -> Ends:
    """Where the paths of rows end; ``table``: NaN where a value is missing, shape (n_rows, n_columns)."""
    n_rows = graph.take(graph("Shape", table), [0])
    row = graph("Range", np.array(0), graph.remove_axis(n_rows, 0), np.array(1))
    node = _first_stop(graph, splits, table, n_rows)
    phi = graph("Expand", np.ones(1), n_rows)
    done, going = _parted(graph, [row, node, phi], graph("Less", node, np.array(splits.n_splits)), None)
    values = graph("Reshape", table, np.array([-1]))
    row, node, phi = _walked(graph, tree, splits, values, graph.take(graph("Shape", table), [1]), going, done)
    return Ends(row, graph("Sub", node, np.array(splits.n_splits)), phi, n_rows)


def _parted(
    graph: Graph, pairs: list[Value], is_inner: Value, is_alive: Value | None
) -> tuple[list[Value], list[Value]]:
    """The pairs at leaves, and the pairs at inner nodes; without dead pairs."""
    is_leaf = graph("Not", is_inner)
    if is_alive is not None:
        is_leaf, is_inner = graph("And", is_leaf, is_alive), graph("And", is_inner, is_alive)
    done, going = (graph.remove_axis(graph("NonZero", item), 0) for item in (is_leaf, is_inner))
    return [graph.look_up(pair, done) for pair in pairs], [graph.look_up(pair, going) for pair in pairs]


# ---------------------------------------------------------------------------------------------------------------------
# Down to the first stop
# ---------------------------------------------------------------------------------------------------------------------


def _first_stop(graph: Graph, splits: Splits, table: Value, n_rows: Value) -> Value:
    """The leaf that a row alone reaches, or the first node where it must take both sides; new numbers, (n_rows,)."""
    if splits.is_category[0]:
        return graph("Expand", np.zeros(1, dtype=np.int64), n_rows)
    nodes, targets = _comparisons(splits)
    column, mode, limit, if_true, if_false, missing_is = (list(item) for item in zip(*nodes, strict=True))
    result = graph(
        "TreeEnsembleRegressor",
        table,
        domain="ai.onnx.ml",
        nodes_treeids=[0] * len(nodes),
        nodes_nodeids=list(range(len(nodes))),
        nodes_featureids=column,
        nodes_modes=mode,
        nodes_values=limit,
        nodes_truenodeids=if_true,
        nodes_falsenodeids=if_false,
        nodes_missing_value_tracks_true=missing_is,
        target_treeids=[0] * len(targets),
        target_nodeids=list(targets),
        target_ids=[0] * len(targets),
        target_weights=list(targets.values()),
        n_targets=1,
    )
    return graph.cast(graph.remove_axis(result, 1), "int64")


def _comparisons(splits: Splits) -> tuple[list[list[Any]], dict[int, float]]:
    """Up to four comparisons for each split: left of the band, inside it, and whether the gate is open.

    Returns the nodes of a tree of comparisons, as column, mode, limit, the nodes behind both answers, and the answer of
    a missing value; and for its leaves the new number of the node that they stand for.
    """
    nodes: list[list[Any]] = []
    targets: dict[int, float] = {}

    def add(node: list[Any], comparison: int, branch: bool) -> int:
        """A node behind an answer to a comparison; -1: the first one."""
        nodes.append(node)
        if comparison >= 0:
            nodes[comparison][3 if branch else 4] = len(nodes) - 1
        return len(nodes) - 1

    def stop(node: int, comparison: int, branch: bool) -> None:
        targets[add([0, "LEAF", 0.0, 0, 0, 0], comparison, branch)] = float(node)

    waiting = [(0, -1, False)]  # node; the comparison that leads to it, and by which answer
    while waiting:
        node, comparison, branch = waiting.pop()
        if node >= splits.n_splits or splits.is_category[node]:
            stop(node, comparison, branch)
            continue
        (left, right), column = splits.child[:, node].tolist(), int(splits.column[node])

        def at_most(limit: np.float32, missing_is: bool, column: int = column) -> list[Any]:
            return [column, "BRANCH_LEQ", float(limit), 0, 0, int(missing_is)]

        is_left = add(at_most(_below(splits.low[node]), False), comparison, branch)
        is_inside = add(at_most(_above(splits.high[node]), True), is_left, False)
        stop(node, is_inside, True)
        to_left, to_right = (is_left, True), (is_inside, False)
        if splits.gate is not None and splits.gate[2, node] > 0:
            is_low = add(at_most(_above(splits.gate[0, node]), True), *to_left)
            stop(node, is_low, True)
            is_not_high = add(at_most(_below(splits.gate[1, node]), False), *to_right)
            stop(node, is_not_high, False)
            to_left, to_right = (is_low, False), (is_not_high, True)
        waiting += [(left, *to_left), (right, *to_right)]
    return nodes, targets


def _below(limit: float) -> np.float32:
    """The largest number of single precision below a limit."""
    with np.errstate(over="ignore"):
        near = np.float32(limit)
        return near if near < limit else np.nextafter(near, np.float32(-np.inf))


def _above(limit: float) -> np.float32:
    """The smallest number of single precision above a limit."""
    return -_below(-limit)


# ---------------------------------------------------------------------------------------------------------------------
# Both sides, one depth at a time
# ---------------------------------------------------------------------------------------------------------------------


def _walked(
    graph: Graph, tree: FuzzyTree, splits: Splits, values: Value, width: Value, going: list[Value], done: list[Value]
) -> list[Value]:
    """All pairs at leaves; row, new number of the node, firing."""
    body, types = Graph(graph), ["int64", "int64", "float64"] * 2
    count, condition = body.new_name("count"), body.new_name("condition")
    before = [body.new_name("state") for _ in types]
    row, node, phi = before[:3]
    fits, factors = _sides(body, tree, splits, values, width, row, node)
    both = [
        body.join([row, row]),
        body.join([body.look_up(child, node) for child in splits.child]),
        body.join([body("Mul", phi, factor) for factor in factors]),
    ]
    is_alive = body("Greater", body.join(fits), 0.0)
    reached, going_on = _parted(body, both, body("Less", both[1], np.array(splits.n_splits)), is_alive)
    after = [*going_on, *(body.join(list(item)) for item in zip(before[3:], reached, strict=True))]
    again = body("Greater", body("Size", going_on[0]), np.array(0))
    states, results = (
        [body.declared(name, kind, ["n"]) for name, kind in zip(names, types, strict=True)] for names in (before, after)
    )
    counts = [body.declared(count, "int64", []), body.declared(condition, "bool", [])]
    inner = body.proto(graph.new_name("body"), [*counts, *states], [body.declared(again, "bool", []), *results])
    is_any = graph("Greater", graph("Size", going[0]), np.array(0))
    result = graph.several("Loop", 6, np.array(splits.depth), is_any, *going, *done, body=inner)
    # A runtime cannot infer the number of dimensions of what a loop returns.
    return [graph("Reshape", item, np.array([-1])) for item in result[3:]]


def _sides(
    body: Graph, tree: FuzzyTree, splits: Splits, values: Value, width: Value, row: Value, node: Value
) -> tuple[list[Value], list[Value]]:
    """Memberships, and memberships times gates, of the two sides of the splits where pairs are."""
    at = body("Add", body("Mul", row, width), body.look_up(splits.column.astype(np.int64), node))
    raw = body.look_up(values, at)
    is_missing = body("IsNaN", raw)
    x = bounded(body, raw)

    def of_node(array: Floats) -> Value:
        return body.look_up(array, node)

    slope = of_node(splits.slope)
    climbs = body("Sub", of_node(splits.high), x), body("Sub", x, of_node(splits.low))
    fits = [body.between(body("Mul", climb, slope), 0.0, 1.0) for climb in climbs]
    fits = [body("Where", is_missing, of_node(item), fit) for item, fit in zip(splits.share, fits, strict=True)]
    factors = list(fits)
    if splits.gate is not None:
        gate = openness(body, x, is_missing, *(of_node(item) for item in splits.gate))
        factors = [body("Mul", fit, gate) for fit in fits]
    if not splits.is_category.any():
        return fits, factors
    # Conditions on categories use a table: the categories of the node, then unseen, then missing.
    left, right = _children(tree)
    asked = np.flatnonzero(splits.is_category)
    sizes = np.zeros(splits.n_splits, dtype=np.int64)
    sizes[asked] = [len(tree.memberships(int(item))) + 2 for item in left[asked]]
    begin = np.cumsum(sizes) - sizes
    is_category = body.look_up(splits.is_category, node)
    code = body("Where", is_missing, body.look_up(sizes - 1.0, node), raw)
    # Pairs at numbers look at the first entry, and what they find is not used.
    at = body("Add", body.cast(body("Where", is_category, code, 0.0), "int64"), body.look_up(begin, node))
    at = body("Where", is_category, at, np.array(0))
    for side, nodes in enumerate((left[asked], right[asked])):
        table, opens = (np.concatenate(one_list) for one_list in category_lists(tree, nodes))
        fits[side] = body("Where", is_category, body.look_up(table, at), fits[side])
        gated = table if splits.gate is None else table * opens
        factors[side] = body("Where", is_category, body.look_up(gated, at), factors[side])
    return fits, factors
