"""Rules that add up in a graph: how far terms apply, scores, the rows behind an answer, evidence and novelty.

Values lie as (terms, rows) or (classes, rows). Scores are products of matrices, whose sums are taken in another order
than in the compiled core: they agree up to rounding. All else repeats ``cpp/rules/scores.cpp`` and
``cpp/rules/rows_behind.cpp``. A new kind of term needs one function here, registered with :func:`add_terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.cases import N_NEAREST, Cases
from ferl._models.evidence import PRIOR_ROWS, SET_LEVEL
from ferl._models.novelty import ENTROPY_SHARE, LOST_MASS, Neighbours
from ferl._models.rule_model import RuleModel
from ferl._models.terms import CurvesAndMaps, Rules, Terms
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Floats, Ints
from ferl.onnx.graph import (
    Graph,
    Rows,
    Value,
    add_conditions,
    add_firings,
    add_rows,
    category_tables,
    gate_openness,
    number_fit,
)
from ferl.onnx.novelty import Pairs, Scale, measured_distance, residual, search

OUTPUTS = (
    "label",
    "probability",
    "belief",
    "plausibility",
    "ignorance",
    "rows",
    "conflict",
    "set",
    "scores",
    "contributions",
    "novelty",
)


class Added(NamedTuple):
    """What a block of terms adds to the scores and to the leverage of a row, gates open.

    Attributes
    ----------
    sums : Value or None
        For each class, and last the sum of all absolute weights, shape (n_classes + 1, n_rows); None: no terms.
    parts : callable
        Adds to the graph what each term adds, shape (n_rows, n_terms, n_classes).
    leverage : callable
        Adds to the graph what the block adds to the leverage, shape (1, n_rows).
    """

    sums: Value | None
    parts: Callable[[], Value]
    leverage: Callable[[], Value]


def rule_answers(
    graph: Graph, model: RuleModel, table: Value, evidence: bool, measure: str | None, contributions: bool
) -> dict[str, Value]:
    """Matrices, classes first, and values of each row, by the names of the outputs; no ``measure``: no novelty."""
    reads_all = measure is not None or (evidence and model.tree.profile.has_exemplars)
    rows, gated = add_rows(graph, table, model, reads_all), model.gated_columns
    added = [add_terms(block, graph, model, rows) for block in model.terms]
    fading, level = (_support(graph, model, rows, item) for item in (gated[: model.n_fading], gated[model.n_fading :]))
    support = graph("Mul", fading, level) if fading is not None and level is not None else fading or level
    sums, size = _scores(graph, model, rows, added, fading)
    scores = sums if fading is None else graph("Add", sums, _base(graph, model, fading))
    probability = _probability(graph, scores, len(model.classes))
    result = {
        "scores": scores,
        "conflict": _conflict(graph, sums, size, len(model.classes)),
        "probability": probability,
    }
    if evidence:
        n_behind = _rows_behind(graph, model, rows, added)
        result |= _evidence(graph, probability, n_behind, support, len(model.classes))
    if contributions:
        result["contributions"] = _contributions(graph, model, rows, added, fading)
    if measure == "neighbour":
        distance = graph("Div", _distance(graph, model, rows, model.neighbours), model.neighbours.usual)
        result["novelty"] = graph("Add", distance, graph("Mul", _entropy(graph, scores), ENTROPY_SHARE))
    elif measure is not None:
        result["novelty"] = _residual(graph, model, rows, support)
    return result


def _scores(graph: Graph, model: RuleModel, rows: Rows, added: list[Added], fading: Value | None) -> list[Value]:
    """Weights summed as far as gates are open, s (prior + what terms add); and all |weights|."""
    prior = np.append(model.prior, np.abs(model.prior).sum())[:, None]
    sums = graph("Expand", prior, rows.shape(len(prior)))
    for block in added:
        if block.sums is not None:
            sums = graph("Add", sums, block.sums)
    if fading is not None:
        sums = graph("Mul", sums, fading)
    return graph.several("Split", 2, sums, np.array([len(prior) - 1, 1]))


def _base(graph: Graph, model: RuleModel, fading: Value) -> Value:
    """What the class frequencies add as far as gates are closed, (1 - s) base."""
    return graph("Mul", graph("Sub", 1.0, fading), model.base[:, None])


def _contributions(graph: Graph, model: RuleModel, rows: Rows, added: list[Added], fading: Value | None) -> Value:
    """What each term, and last the prior, adds to the scores, shape (n_rows, n_terms + 1, n_classes)."""
    shape = graph.join([rows.n_rows, graph.constant(np.array([1, len(model.prior)]))])
    parts = [block.parts() for block in added if block.sums is not None]
    prior = graph("Expand", model.prior[None, None], shape)
    if fading is not None:
        fades = graph.insert_axis(graph("Transpose", fading, perm=[1, 0]), 2)
        parts, base = [graph("Mul", part, fades) for part in parts], graph("Sub", 1.0, fades)
        prior = graph("Add", graph("Mul", prior, fades), graph("Mul", base, model.base[None, None]))
    return graph.join([*parts, prior], axis=1)


def _support(graph: Graph, model: RuleModel, rows: Rows, columns: Ints) -> Value | None:
    """The product of the gates of some columns, shape (1, n_rows); None without gates."""
    n_gates = len(columns)
    if not n_gates:
        return None
    n_categories = model.tree.n_categories(rows.n_columns)[columns]
    holds_numbers = n_categories == 0
    gates = []
    if holds_numbers.any():
        ends = model.scores.gate[np.isin(model.gated_columns, columns[holds_numbers])].T[:, :, None]
        gates.append(gate_openness(graph, rows, columns[holds_numbers], ends))
    if not holds_numbers.all():
        columns, n_categories = columns[~holds_numbers], n_categories[~holds_numbers]
        is_seen = graph("Less", rows.values_of(columns), n_categories.astype(np.float64)[:, None])
        is_open = graph("Or", is_seen, rows.missing_in(columns))
        gates.append(graph("Where", is_open, 1.0, _core.UNSEEN_GATE))
    return graph.product(graph.join(gates), n_gates)


# ---------------------------------------------------------------------------------------------------------------------
# Terms
# ---------------------------------------------------------------------------------------------------------------------


@singledispatch
def add_terms(block: Terms, graph: Graph, model: RuleModel, rows: Rows) -> Added:
    """What the terms of a block of a model add to the scores and to the leverage of rows."""
    raise TypeError(f"A graph has no form of {type(block).__name__}.")


@add_terms.register
def _(block: Rules, graph: Graph, model: RuleModel, rows: Rows) -> Added:
    """Firings of rules times their weights; rules with the same number of conditions are computed together."""
    firings = _firings(block, graph, model.tree, rows)
    if not firings:
        return Added(None, lambda: "", lambda: "")
    table = np.column_stack([block.weight, np.abs(block.weight).sum(axis=1)]).T
    sums: Value | None = None
    for rules, phi in firings:
        part = graph("MatMul", table[:, rules], phi)
        sums = part if sums is None else graph("Add", sums, part)

    order = np.concatenate([rules for rules, _ in firings])

    def leverage() -> Value:
        joined, behind = graph.join([phi for _, phi in firings]), model.rows_behind
        # Deviations are part of the triangle: onnxruntime takes a single factor into a product behind it as a float32.
        triangle = (behind.triangle * behind.per_deviation)[:, order]
        lengths = graph("MatMul", triangle, graph("Sub", joined, behind.mean[order][:, None]))
        return graph.total(graph("Mul", lengths, lengths), 0)

    def parts() -> Value:
        applies = graph.take(graph.join([phi for _, phi in firings]), np.argsort(order))
        by_rule = graph("Transpose", applies, perm=[1, 0])
        return graph("Mul", graph.insert_axis(by_rule, 2), block.weight)

    return Added(sums, parts, leverage)


def _firings(block: Rules, graph: Graph, tree: FuzzyTree, rows: Rows) -> list[tuple[NDArray[np.intp], Value]]:
    """Rules of as many conditions together: which they are, and their firings, shape (n, n_rows)."""
    if not len(block.node):
        return []
    nodes, condition_of = _distinct_conditions(tree)
    is_category = np.array([len(tree.memberships(node)) > 0 for node in nodes])
    fits = [number_fit(graph, tree, rows, nodes[~is_category])] if not is_category.all() else []
    if is_category.any():
        table, _, at = category_tables(graph, tree, rows, nodes[is_category])
        fits.append(graph("Gather", table, at))
    fit = graph.join(fits)
    paths = [condition_of[tree.path(node)] for node in block.node.tolist()]
    result = []
    for length in sorted({len(path) for path in paths}):
        rules = np.array([rule for rule, path in enumerate(paths) if len(path) == length])
        factors = np.array([paths[rule] for rule in rules]).T
        phi = graph.take(fit, factors[0])
        for factor in factors[1:]:
            phi = graph("Mul", phi, graph.take(fit, factor))
        result.append((rules, phi))
    return result


@add_terms.register
def _(block: CurvesAndMaps, graph: Graph, model: RuleModel, rows: Rows) -> Added:
    """The values of the cells that rows are in, and the leverage of the thinnest of them."""
    bin_of = {column: _bins(block, graph, rows, column) for column in block.cuts_of_column}
    value = np.column_stack([block.value, np.abs(block.value).sum(axis=1)])
    result: list[Value] = []
    cells: list[Value] = []
    for term, columns in enumerate(block.term_columns):
        cell: Value | None = None
        for column, step in zip(columns, block.steps(term), strict=True):
            part = graph.look_up(step.astype(np.int64), bin_of[column])
            cell = part if cell is None else graph("Add", cell, part)
        assert cell is not None
        result.append(graph("Gather", value[block.cells(term)], cell, axis=0))
        cells.append(cell)
    total = result[0]
    for part in result[1:]:
        total = graph("Add", total, part)

    def parts() -> Value:
        every = graph.join([graph.insert_axis(item, 1) for item in result], axis=1)
        return graph.take(every, np.arange(block.value.shape[1]), axis=2)

    def leverage() -> Value:
        thinness = 1 / (1 + block.support)
        thin = [graph.look_up(thinness[block.cells(term)], cell) for term, cell in enumerate(cells)]
        return graph.insert_axis(graph("Max", *thin), 0)

    return Added(graph("Transpose", total, perm=[1, 0]), parts, leverage)


@add_terms.register
def _(block: Cases, graph: Graph, model: RuleModel, rows: Rows) -> Added:
    """The votes of the nearest cases."""
    places, n_classes = block.by_place[0], len(block.usual)
    n_near, table = min(max(N_NEAREST) + 1, len(places)), np.zeros((len(places), n_classes))
    np.add.at(table, (block.place_of_case, block.label), block.weight)
    distance = _case_distances(block, graph, rows)
    near, index = graph.several("TopK", 2, distance, np.array([n_near]), axis=1, largest=0)
    of_near = graph("Gather", table, index, axis=0)
    is_at_0 = graph.cast(graph("Equal", distance, 0.0), "float64")
    n_there = graph("Max", graph.total(is_at_0, 1), 1.0)
    there = graph("Div", graph("MatMul", is_at_0, table), n_there)  # of one place on average
    added = graph("Expand", np.zeros((1, n_classes)), graph.join([rows.n_rows, graph.constant(np.array([n_classes]))]))
    for n, strength in zip(N_NEAREST, block.strength.tolist(), strict=True):
        farthest = graph.take(near, [min(n, n_near - 1)], axis=1)
        is_there = graph("Equal", farthest, 0.0)
        share = graph("Div", near, graph("Where", is_there, 1.0, farthest))
        closeness = graph("Where", graph("Less", near, farthest), graph("Sub", 1.0, share), 0.0)
        vote = graph.total(graph("Mul", graph.insert_axis(closeness, 2), of_near), 1, keepdims=False)
        vote = graph("Where", is_there, graph("Mul", there, float(min(n, n_near - 1))), vote)
        most = graph("Add", graph("Div", vote, block.frequency[None]), 1.0)
        evidence = graph("Log", graph("Div", most, graph("Add", graph.total(vote, 1), 1.0)))
        mean = graph("Div", graph.total(evidence, 1), float(n_classes))
        added = graph("Add", added, graph("Mul", graph("Sub", evidence, mean), strength))
    by_class = graph("Transpose", added, perm=[1, 0])
    sums = graph.join([by_class, graph.total(graph("Abs", by_class), 0)])
    nothing = graph("Expand", np.zeros((1, 1)), rows.shape(1))
    return Added(sums, lambda: graph.insert_axis(added, 1), lambda: nothing)


def _case_distances(block: Cases, graph: Graph, rows: Rows) -> Value:
    """Distances of rows from all places, shape (n_rows, n_places), up to a factor of each row, column by column."""
    total: Value | None = None
    for column in block.read_columns:
        at, kept = np.array([column]), block.by_place[0][:, column]
        x = graph("Transpose", graph("Where", rows.missing_in(at), 0.0, rows.values_of(at)), perm=[1, 0])
        is_missing = graph("Transpose", rows.missing_in(at), perm=[1, 0])
        if block.n_categories[column]:
            kept = np.where(np.isnan(kept), -1.0, kept)
            away = graph("Where", graph("Equal", x, kept[None]), 0.0, 1.0)
        else:
            away = graph("Abs", graph("Sub", x, np.where(np.isnan(kept), block.centre[column], kept)[None]))
        part = graph("Where", is_missing, 0.0, graph("Mul", away, float(block.per_unit[column])))
        total = part if total is None else graph("Add", total, part)
    if total is None:
        shape = graph.join([rows.n_rows, graph.constant(np.array([len(block.by_place[0])]))])
        return graph("Expand", np.zeros((1, 1)), shape)
    return total


def _bins(block: CurvesAndMaps, graph: Graph, rows: Rows, column: int) -> Value:
    """The bin of each row's value among the cuts that all terms make in a column, shape (n_rows,)."""
    at = np.array([column])
    x, is_missing = graph.remove_axis(rows.values_of(at), 0), graph.remove_axis(rows.missing_in(at), 0)
    x = graph("Where", is_missing, 0.0, x)
    if n_categories := int(block.n_categories[column]):
        result = graph.cast(graph("Min", x, float(n_categories)), "int64")
    else:
        cuts = block.cuts_of_column[column]
        step = 1 << (len(cuts).bit_length() - 1) if len(cuts) else 0
        padded = np.append(cuts, np.full(max(2 * step - 1, 1) - len(cuts), np.inf))
        result = graph.cast(graph("Mul", x, 0.0), "int64")
        while step:  # a search by halves, in all rows together
            is_above = graph("Less", graph.look_up(padded, graph("Add", result, np.array(step - 1))), x)
            result = graph("Add", result, graph("Mul", graph.cast(is_above, "int64"), np.array(step)))
            step //= 2
    return graph("Where", is_missing, np.array(0), graph("Add", result, np.array(1)))


def _distinct_conditions(tree: FuzzyTree) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Nodes whose conditions differ, those on numbers first, and the index of each node's condition among them."""
    first: dict[tuple[Any, ...], int] = {}  # node of each condition
    same_as = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in range(1, tree.n_nodes):
        shape = tree.trapezoid[node].tobytes(), tree.memberships(node).tobytes()
        same_as[node] = first.setdefault((tree.feature[node], tree.share[node], *shape), node)
    nodes = sorted(first.values(), key=lambda node: (len(tree.memberships(node)) > 0, tree.feature[node], node))
    index = np.zeros(tree.n_nodes, dtype=np.intp)
    index[nodes] = np.arange(len(nodes))
    return np.array(nodes), index[same_as]


# ---------------------------------------------------------------------------------------------------------------------
# Evidence
# ---------------------------------------------------------------------------------------------------------------------


def _rows_behind(graph: Graph, model: RuleModel, rows: Rows, added: list[Added]) -> Value:
    """How many training rows the answers average, were all gates open, shape (1, n_rows)."""
    leverage = graph("Expand", np.array([[model.rows_behind.least]]), rows.shape(1))
    for block in added:
        if block.sums is not None:
            leverage = graph("Add", leverage, block.leverage())
    most = graph("Div", 1.0, leverage)
    for column, item in model.most_rows_of_category.items():
        most = graph("Min", most, graph.insert_axis(_most_rows(graph, rows, column, item), 0))
    if not model.tree.profile.has_exemplars:
        return most
    distance = _distance(graph, model, rows, model.familiar)
    away = graph("Div", graph.insert_axis(distance, 0), model.neighbours.far)
    return graph("Div", most, graph("Add", graph("Mul", away, away), 1.0))


def _most_rows(graph: Graph, rows: Rows, column: int, most: Floats) -> Value:
    """The most rows that an answer to each row's category rests on, shape (n_rows,); any where it is missing."""
    at = np.array([column])
    x, is_missing = graph.remove_axis(rows.values_of(at), 0), graph.remove_axis(rows.missing_in(at), 0)
    known = graph("Min", graph("Where", is_missing, 0.0, x), float(len(most) - 1))
    return graph("Where", is_missing, np.inf, graph.look_up(most, graph.cast(known, "int64")))


def _evidence(
    graph: Graph, probability: Value, n_behind: Value, support: Value | None, n_classes: int
) -> dict[str, Value]:
    """The probability as far as it is reliable; the rest lies on all classes."""
    n_rows, reliability = n_behind, graph("Div", n_behind, graph("Add", n_behind, PRIOR_ROWS))
    if support is not None:
        n_rows, reliability = graph("Mul", n_rows, support), graph("Mul", reliability, support)
    if n_classes == 1:  # what lies on all classes lies on the only one
        reliability = graph("Add", graph("Mul", n_behind, 0.0), 1.0)
    belief, ignorance = graph("Mul", probability, reliability), graph("Sub", 1.0, reliability)
    # Ranked by probability, the first class with which the level is reached is the most probable of those.
    ranked, _ = graph.several("TopK", 2, probability, np.array([n_classes]), axis=0)
    reached = graph("Mul", graph("CumSum", ranked, np.array(0)), reliability)
    is_reached = graph("GreaterOrEqual", reached, SET_LEVEL - _core.TIE)
    last = graph("ReduceMax", graph("Where", is_reached, ranked, -1.0), axes=[0], keepdims=1)
    return {
        "belief": belief,
        "plausibility": graph("Add", belief, ignorance),
        "ignorance": ignorance,
        "rows": n_rows,
        "set": graph("GreaterOrEqual", probability, graph("Sub", last, _core.TIE)),
    }


def _conflict(graph: Graph, sums: Value, size: Value, n_classes: int) -> Value:
    """The share of all weights that cancelled."""
    net = graph.total(graph("Abs", _centred(graph, sums, n_classes)), 0)
    has_weight = graph("Greater", size, 0.0)
    kept = graph("Div", net, graph("Where", has_weight, size, 1.0))
    return graph("Where", has_weight, graph.between(graph("Sub", 1.0, kept), 0.0, 1.0), 0.0)


def _centred(graph: Graph, scores: Value, n_classes: int) -> Value:
    return graph("Sub", scores, graph("Div", graph.total(scores, 0), float(n_classes)))


def _probability(graph: Graph, scores: Value, n_classes: int) -> Value:
    """The softmax of the scores."""
    weight = _centred(graph, scores, n_classes)
    most = graph("ReduceMax", weight, axes=[0], keepdims=1)
    power = graph("Exp", graph("Max", graph("Sub", weight, most), -_core.LARGEST_EXPONENT))
    return graph("Div", power, graph.total(power, 0))


# ---------------------------------------------------------------------------------------------------------------------
# Novelty
# ---------------------------------------------------------------------------------------------------------------------


def _distance(graph: Graph, model: RuleModel, rows: Rows, neighbours: Neighbours) -> Value:
    """The distance from the nearest of some training rows, shape (n_rows,)."""
    scale = Scale.of(model.tree, neighbours.unit)
    index = graph("Range", np.array(0), graph.remove_axis(rows.n_rows, 0), np.array(1))
    pairs = Pairs(index, graph("Expand", np.zeros(1, dtype=np.int64), rows.n_rows))
    distance = search(graph, rows, scale, neighbours.rows, np.arange(len(neighbours.rows))[None], pairs)
    nearest = graph("ArgMin", distance, axis=1, keepdims=0)
    return measured_distance(graph, rows, scale, neighbours.rows, nearest)


def _residual(graph: Graph, model: RuleModel, rows: Rows, support: Value | None) -> Value:
    """The residual, and what gates withhold, shape (n_rows,)."""
    tree = model.tree
    conditions = add_conditions(graph, tree, rows, None) if tree.n_nodes > 1 else None
    result = residual(graph, tree, rows, add_firings(graph, tree, rows, conditions, False))
    if support is None:
        return result
    lost = graph("Sub", 1.0, graph.remove_axis(support, 0))
    return graph("Add", result, graph("Mul", lost, LOST_MASS))


def _entropy(graph: Graph, scores: Value) -> Value:
    """Entropy of the probabilities that scores mean, shape (n_rows,); as ``entropy_of`` in cpp/rules/scores.cpp."""
    most = graph("ReduceMax", scores, axes=[0], keepdims=1)
    below = graph("Min", graph("Sub", most, scores), _core.LARGEST_EXPONENT)
    power = graph("Exp", graph("Neg", below))
    total = graph.total(power, 0, keepdims=False)
    fallen = graph.total(graph("Mul", power, below), 0, keepdims=False)
    return graph("Add", graph("Log", total), graph("Div", fallen, total))
