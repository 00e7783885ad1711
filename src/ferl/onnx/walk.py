"""Where the paths of rows end in a tree of splits, in a graph: the leaves that a row reaches, and no others.

A row reaches few of the nodes, so what is computed is a list of *pairs* of a row and a node. The standard operator for
trees takes every row down to the first split whose two sides it must take both, or whose gate is not open: inside the
band, beyond what training saw, missing, or a category. From there a loop goes on, one depth at a time, with the pairs
whose membership is above zero.

The operator knows thresholds of single precision alone. They are rounded so that it stops too early at worst; what a
stop means is computed in double precision, by the operations of the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Floats
from ferl.onnx.gates import bounded, closed_if_empty, openness
from ferl.onnx.graph import Graph, Value

_Nodes = NDArray[np.intp]


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
        The column that is asked.
    child : ndarray of shape (2, n_splits)
        New numbers of the left and of the right child.
    share : ndarray of shape (2, n_splits)
        What the two sides get where the value is missing.
    high, low, slope : ndarray
        The left side is ``clip((high - x) * slope)``, the right one ``clip((x - low) * slope)``.
    gate : ndarray of shape (3, n_splits), or None
        Low end, high end and slope; None: there are no gates.
    is_category : ndarray of bool
        Whether categories are asked for; the band and the gate then mean nothing.
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


def add_ends(graph: Graph, tree: FuzzyTree, splits: Splits, table: Value) -> Ends:
    """Where paths end.

    Parameters
    ----------
    graph : Graph
        Where to add it.
    tree : FuzzyTree
        The tree.
    splits : Splits
        Its splits.
    table : Value
        The rows, NaN where a value is missing, shape (n_rows, n_columns).

    Returns
    -------
    Ends
    """
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
    """The pairs at leaves, and those at inner nodes; without those that are not alive."""
    is_leaf = graph("Not", is_inner)
    if is_alive is not None:
        is_leaf, is_inner = graph("And", is_leaf, is_alive), graph("And", is_inner, is_alive)
    done, going = (graph.remove_axis(graph("NonZero", own), 0) for own in (is_leaf, is_inner))
    return [graph.look_up(own, done) for own in pairs], [graph.look_up(own, going) for own in pairs]


# ---------------------------------------------------------------------------------------------------------------------
# Down to the first stop
# ---------------------------------------------------------------------------------------------------------------------


class _Descent:
    """A tree of comparisons under construction, in the form of TreeEnsembleRegressor: each leaf's target is a node."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, str, float, int, int, int]] = []
        self.targets: list[tuple[int, float]] = []

    def leaf(self, node: int) -> int:
        """A leaf that says this node."""
        self.nodes.append((0, "LEAF", 0.0, 0, 0, 0))
        self.targets.append((len(self.nodes) - 1, float(node)))
        return len(self.nodes) - 1

    def at_most(self, column: int, limit: np.float32, missing_is: bool) -> int:
        """A comparison, whose two branches are still to be set."""
        self.nodes.append((column, "BRANCH_LEQ", float(limit), 0, 0, int(missing_is)))
        return len(self.nodes) - 1

    def set_branches(self, index: int, if_true: int, if_false: int) -> None:
        """Say where a comparison leads."""
        column, mode, limit, _, _, missing_is = self.nodes[index]
        self.nodes[index] = column, mode, limit, if_true, if_false, missing_is

    def attributes(self) -> dict[str, Any]:
        """What the operator takes."""
        column, mode, limit, if_true, if_false, missing_is = (list(own) for own in zip(*self.nodes, strict=True))
        leaf, target = (list(own) for own in zip(*self.targets, strict=True))
        return {
            "nodes_treeids": [0] * len(self.nodes),
            "nodes_nodeids": list(range(len(self.nodes))),
            "nodes_featureids": column,
            "nodes_modes": mode,
            "nodes_values": limit,
            "nodes_truenodeids": if_true,
            "nodes_falsenodeids": if_false,
            "nodes_missing_value_tracks_true": missing_is,
            "target_treeids": [0] * len(leaf),
            "target_nodeids": leaf,
            "target_ids": [0] * len(leaf),
            "target_weights": target,
            "n_targets": 1,
        }


def _first_stop(graph: Graph, splits: Splits, table: Value, n_rows: Value) -> Value:
    """The leaf that a row alone reaches, or the first node where it must take both sides; new numbers, (n_rows,)."""
    if splits.is_category[0]:
        return graph("Expand", np.zeros(1, dtype=np.int64), n_rows)
    attributes = _comparisons(splits).attributes()
    found = graph("TreeEnsembleRegressor", table, domain="ai.onnx.ml", **attributes)
    return graph.cast(graph.remove_axis(found, 1), "int64")


def _comparisons(splits: Splits) -> _Descent:
    """Up to four comparisons for each split: left of the band, inside it, and whether the gate is open."""
    descent, waiting = _Descent(), [(0, -1, False)]  # node; the comparison that leads to it, and by which branch
    branches: dict[int, dict[bool, int]] = {}

    def lead(to: int, comparison: int, branch: bool) -> None:
        if comparison >= 0:
            branches.setdefault(comparison, {})[branch] = to

    while waiting:
        node, comparison, branch = waiting.pop()
        if node >= splits.n_splits or splits.is_category[node]:
            lead(descent.leaf(node), comparison, branch)
            continue
        column, (left, right) = int(splits.column[node]), splits.child[:, node]
        is_left = descent.at_most(column, _below(splits.low[node]), False)
        lead(is_left, comparison, branch)
        is_inside = descent.at_most(column, _above(splits.high[node]), True)
        lead(is_inside, is_left, False)
        lead(descent.leaf(node), is_inside, True)
        to_left, to_right = (is_left, True), (is_inside, False)
        if splits.gate is not None and splits.gate[2, node] > 0:
            is_low = descent.at_most(column, _above(splits.gate[0, node]), True)
            lead(is_low, *to_left)
            lead(descent.leaf(node), is_low, True)
            is_not_high = descent.at_most(column, _below(splits.gate[1, node]), False)
            lead(is_not_high, *to_right)
            lead(descent.leaf(node), is_not_high, False)
            to_left, to_right = (is_low, False), (is_not_high, True)
        waiting += [(int(left), *to_left), (int(right), *to_right)]
    for index, both in branches.items():
        descent.set_branches(index, both[True], both[False])
    return descent


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
    body, proto = Graph(graph), graph.onnx.TensorProto
    types = [proto.INT64, proto.INT64, proto.DOUBLE] * 2
    count, condition = body.new_name("count"), body.new_name("condition")
    before = [body.new_name("state") for _ in types]
    row, node, phi = before[:3]
    sides = _sides(body, tree, splits, values, width, row, node)
    both = [
        body.join([row, row]),
        body.join([body.look_up(child, node) for child in splits.child]),
        body.join([body("Mul", phi, own.factor) for own in sides]),
    ]
    is_alive = body("Greater", body.join([own.fit for own in sides]), 0.0)
    reached, going_on = _parted(body, both, body("Less", both[1], np.array(splits.n_splits)), is_alive)
    after = [*going_on, *(body.join(list(own)) for own in zip(before[3:], reached, strict=True))]
    again = body("Greater", body("Size", going_on[0]), np.array(0))
    helper = graph.onnx.helper
    inner = helper.make_graph(
        body.nodes,
        graph.new_name("body"),
        [
            helper.make_tensor_value_info(count, proto.INT64, []),
            helper.make_tensor_value_info(condition, proto.BOOL, []),
            *(helper.make_tensor_value_info(name, kind, ["n"]) for name, kind in zip(before, types, strict=True)),
        ],
        [
            helper.make_tensor_value_info(again, proto.BOOL, []),
            *(helper.make_tensor_value_info(name, kind, ["n"]) for name, kind in zip(after, types, strict=True)),
        ],
        body.constants,
    )
    is_any = graph("Greater", graph("Size", going[0]), np.array(0))
    found = graph.several("Loop", 6, np.array(splits.depth), is_any, *going, *done, body=inner)
    # What a loop returns could have any number of dimensions, for all that a runtime knows.
    return [graph("Reshape", own, np.array([-1])) for own in found[3:]]


@dataclass(frozen=True)
class _Side:
    fit: Value  # membership
    factor: Value  # membership times gate


def _sides(
    body: Graph, tree: FuzzyTree, splits: Splits, values: Value, width: Value, row: Value, node: Value
) -> list[_Side]:
    """The two sides of the splits where pairs are."""
    at = body("Add", body("Mul", row, width), body.look_up(splits.column.astype(np.int64), node))
    raw = body.look_up(values, at)
    is_missing = body("IsNaN", raw)
    x = bounded(body, raw)

    def of_node(array: Floats) -> Value:
        return body.look_up(array, node)

    slope = of_node(splits.slope)
    climbs = body("Sub", of_node(splits.high), x), body("Sub", x, of_node(splits.low))
    fits = [body.between(body("Mul", climb, slope), 0.0, 1.0) for climb in climbs]
    fits = [body("Where", is_missing, of_node(own), fit) for own, fit in zip(splits.share, fits, strict=True)]
    factors = fits
    if splits.gate is not None:
        gate = openness(body, x, is_missing, *(of_node(own) for own in splits.gate))
        factors = [body("Mul", fit, gate) for fit in fits]
    if splits.is_category.any():
        return _with_categories(body, tree, splits, node, raw, is_missing, fits, factors)
    return [_Side(fit, factor) for fit, factor in zip(fits, factors, strict=True)]


def _with_categories(
    body: Graph,
    tree: FuzzyTree,
    splits: Splits,
    node: Value,
    raw: Value,
    is_missing: Value,
    fits: list[Value],
    factors: list[Value],
) -> list[_Side]:
    """Sides of which some ask for categories, and then look them up: those of the node, then unseen, then missing."""
    left, right = _children(tree)
    asked = np.flatnonzero(splits.is_category)
    sizes = np.zeros(splits.n_splits, dtype=np.int64)
    sizes[asked] = [len(tree.memberships(int(own))) + 2 for own in left[asked]]
    begin = np.cumsum(sizes) - sizes
    is_category = body.look_up(splits.is_category, node)
    code = body("Where", is_missing, body.look_up(sizes - 1.0, node), raw)
    # Pairs at numbers look at the first entry, and what they find is not used.
    at = body("Add", body.cast(body("Where", is_category, code, 0.0), "int64"), body.look_up(begin, node))
    at = body("Where", is_category, at, np.array(0))
    found = []
    for nodes, fit, factor in zip((left[asked], right[asked]), fits, factors, strict=True):
        table, gate = category_lists(tree, nodes)
        own = body("Where", is_category, body.look_up(np.concatenate(table), at), fit)
        if splits.gate is None:
            found.append(_Side(own, own))
            continue
        gated = np.concatenate(table) * np.concatenate(gate)
        found.append(_Side(own, body("Where", is_category, body.look_up(gated, at), factor)))
    return found


def category_lists(tree: FuzzyTree, nodes: _Nodes) -> tuple[list[Floats], list[Floats]]:
    """Memberships and gates of nodes that ask for categories: each category's, then of unseen, then of missing ones."""
    fits, gates = [], []
    for node in nodes:
        own, share = tree.memberships(int(node)), tree.share[node]
        is_seen = ~np.isnan(own)
        fits.append(np.array([*np.where(is_seen, own, share), share, share]))
        gates.append(np.array([*np.where(is_seen, 1.0, _core.UNSEEN_GATE), _core.UNSEEN_GATE, 1.0]))
    return fits, gates
