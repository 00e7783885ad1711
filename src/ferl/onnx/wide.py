"""Wide rules in a graph: memberships of all distinct conditions, firings of rules, scores, and the masses they mean.

Values lie as (conditions, rows) or (classes, rows). Scores are products of matrices, whose sums are taken in another
order than in the compiled core: they agree up to rounding. All else repeats ``cpp/rules/scores.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.rule_model import RuleModel, Rules
from ferl._models.tree import FuzzyTree
from ferl.onnx.evidence import Rows, category_tables, gate_openness, number_fit
from ferl.onnx.graph import Graph, Value


@dataclass(frozen=True)
class Scores:
    """Summed weights of evidence.

    Attributes
    ----------
    scores : Value
        For each class, shape (n_classes, n_rows).
    size : Value
        Sum of the absolute weights that went into them, shape (1, n_rows).
    support : Value or None
        How far the row lies in what training saw, shape (1, n_rows); None: there are no gates.
    firing : list of (ndarray, Value)
        Rules of one, two and three conditions: which they are, and their firings, shape (n, n_rows).
    """

    scores: Value
    size: Value
    support: Value | None
    firing: list[tuple[NDArray[np.intp], Value]]


def add_scores(graph: Graph, model: RuleModel, rows: Rows) -> Scores:
    """F = s (prior + sum of firing times weight), where s is the product of the gates."""
    weights = model.rules
    firing = _rule_firings(graph, model.tree, weights, rows) if len(weights.node) else []
    # The last row: the absolute weights of each rule, whose sum tells what cancelled.
    table = np.column_stack([weights.weight, np.abs(weights.weight).sum(axis=1)]).T
    prior = np.append(model.prior, np.abs(model.prior).sum())[:, None]
    sums = graph("Expand", prior, _shape(graph, rows, len(prior)))
    for rules, phi in firing:
        sums = graph("Add", sums, graph("MatMul", table[:, rules], phi))
    support = _add_support(graph, model, rows)
    if support is not None:
        sums = graph("Mul", sums, support)
    scores, size = graph.several("Split", 2, sums, np.array([len(prior) - 1, 1]))
    return Scores(scores, size, support, firing)


def _shape(graph: Graph, rows: Rows, n: int) -> Value:
    """The shape (n, n_rows)."""
    return graph.join([graph.constant(np.array([n])), rows.n_rows])


def _rule_firings(graph: Graph, tree: FuzzyTree, weights: Rules, rows: Rows) -> list[tuple[NDArray[np.intp], Value]]:
    """Firings of rules, those of as many conditions together."""
    numbers, categories, condition_of = _distinct_conditions(tree)
    fits = [number_fit(graph, tree, rows, numbers)] if len(numbers) else []
    if len(categories):
        table, _, at = category_tables(graph, tree, rows, categories)
        fits.append(graph("Gather", table, at))
    fit = graph.join(fits)
    paths = [condition_of[tree.path(int(node))] for node in weights.node]
    found = []
    for length in sorted({len(path) for path in paths}):
        rules = np.array([rule for rule, path in enumerate(paths) if len(path) == length])
        factors = np.array([paths[rule] for rule in rules]).T
        phi = graph.take(fit, factors[0])
        for factor in factors[1:]:
            phi = graph("Mul", phi, graph.take(fit, factor))
        found.append((rules, phi))
    return found


def _distinct_conditions(tree: FuzzyTree) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Nodes whose conditions differ, on numbers and on categories, and the index of each node's condition in both."""
    first: dict[tuple[Any, ...], int] = {}  # node of each condition
    same_as = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in range(1, tree.n_nodes):
        own = tree.trapezoid[node].tobytes(), tree.memberships(node).tobytes()
        same_as[node] = first.setdefault((tree.feature[node], tree.share[node], *own), node)
    nodes = sorted(first.values(), key=lambda node: (len(tree.memberships(node)) > 0, tree.feature[node], node))
    index = np.zeros(tree.n_nodes, dtype=np.intp)
    index[nodes] = np.arange(len(nodes))
    is_category = np.array([len(tree.memberships(node)) > 0 for node in nodes])
    return np.array(nodes)[~is_category], np.array(nodes)[is_category], index[same_as]


def _add_support(graph: Graph, model: RuleModel, rows: Rows) -> Value | None:
    """The product of one gate for each column that a rule asks, shape (1, n_rows)."""
    columns = model.gated_columns
    if not len(columns):
        return None
    n_categories = model.tree.n_categories(rows.n_columns)[columns]
    holds_numbers = n_categories == 0
    gates = []
    if holds_numbers.any():
        own = model.scores.gate[holds_numbers].T[:, :, None]
        gates.append(gate_openness(graph, rows, columns[holds_numbers], own))
    if not holds_numbers.all():
        columns, n_categories = columns[~holds_numbers], n_categories[~holds_numbers]
        is_seen = graph("Less", rows.values_of(columns), n_categories.astype(np.float64)[:, None])
        is_open = graph("Or", is_seen, rows.missing_in(columns))
        gates.append(graph("Where", is_open, 1.0, _core.UNSEEN_GATE))
    return graph.product(graph.join(gates), len(model.gated_columns))


# ---------------------------------------------------------------------------------------------------------------------
# Masses
# ---------------------------------------------------------------------------------------------------------------------


class WeighedMasses(NamedTuple):
    """What scores mean; of shape (n_classes, n_rows), the last two (1, n_rows)."""

    belief: Value
    plausibility: Value
    probability: Value
    ignorance: Value
    conflict: Value


def add_masses(graph: Graph, own: Scores, n_classes: int) -> WeighedMasses:
    """Dempster's rule of one simple mass function for each class; as ``masses_of`` in cpp/rules/scores.cpp."""
    if n_classes == 1:  # what lies on the whole frame lies on its only class
        nothing = graph("Mul", own.size, 0.0)
        sure = graph("Add", nothing, 1.0)
        return WeighedMasses(sure, sure, sure, nothing, nothing)
    weight = graph("Sub", own.scores, graph("Div", graph.total(own.scores, 0), float(n_classes)))
    speaks_for, is_against = graph("Greater", weight, 0.0), graph("Less", weight, 0.0)
    most = graph("Max", graph("ReduceMax", weight, axes=[0], keepdims=1), 0.0)
    against = graph.total(graph("Max", graph("Neg", weight), 0.0), 0)
    n_against = graph.total(graph.cast(is_against, "float64"), 0)
    unit = _exponential(graph, graph("Neg", most))
    power = _exponential(graph, graph("Sub", weight, most))
    total = graph("Add", unit, graph.total(graph("Where", speaks_for, graph("Sub", power, unit), 0.0), 0))
    stays = graph("Where", is_against, graph("Sub", 1.0, _exponential(graph, graph("Min", weight, 0.0))), 1.0)
    excluded = graph.product(stays, n_classes)
    # That all other classes are excluded is a mass on this one; two classes that nothing speaks against exclude it.
    is_alone = graph("Equal", n_against, float(n_classes - 1))
    rest = graph("Where", is_alone, graph("Mul", unit, graph("Sub", 1.0, excluded)), unit)
    lead = graph("Max", graph("Sub", power, rest), 0.0)
    plausibility = graph("Min", graph("Div", power, total), 1.0)
    belief = graph("Where", speaks_for, graph("Min", graph("Div", lead, total), plausibility), 0.0)
    said = _exponential(graph, graph("Neg", graph("Add", most, against)))
    ignorance = graph("Where", graph("Greater", against, 0.0), graph("Min", graph("Div", said, total), 1.0), 1.0)
    net = graph.total(graph("Abs", weight), 0)
    is_said = graph("Greater", own.size, 0.0)
    kept = graph("Div", net, graph("Where", is_said, own.size, 1.0))
    conflict = graph("Where", is_said, graph.between(graph("Sub", 1.0, kept), 0.0, 1.0), 0.0)
    return WeighedMasses(belief, plausibility, graph("Div", power, graph.total(power, 0)), ignorance, conflict)


def _exponential(graph: Graph, value: Value) -> Value:
    return graph("Exp", graph.between(value, -_core.LARGEST_EXPONENT, _core.LARGEST_EXPONENT))


def add_contributions(graph: Graph, model: RuleModel, own: Scores, rows: Rows) -> Value:
    """What each rule, and last the prior, adds to the scores, shape (n_rows, n_rules + 1, n_classes)."""
    always = graph("Expand", np.ones((1, 1)), _shape(graph, rows, 1))
    firing = graph.join([*(phi for _, phi in own.firing), always])
    if own.support is not None:
        firing = graph("Mul", firing, own.support)
    order = np.concatenate([*(rules for rules, _ in own.firing), [model.n_rules]])
    by_rule = graph("Transpose", graph.take(firing, np.argsort(order)), perm=[1, 0])
    return graph("Mul", graph.insert_axis(by_rule, 2), np.vstack([model.rules.weight, model.prior]))
