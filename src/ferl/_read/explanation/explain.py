"""An explanation from a model and a row: every reading of the tree is asked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.rule_model import RuleModel
from ferl._read.certificate import check_scale, proven_radius
from ferl._read.explanation.balance import read_balance, wide_rules
from ferl._read.explanation.counterfactual import nearest_changes
from ferl._read.explanation.fired import FiredRule, TreeRule
from ferl._read.explanation.ignorance import split_ignorance
from ferl._read.explanation.sentences import Explanation
from ferl._read.explanation.sources import fired_sources
from ferl._read.explanation.story import Certified
from ferl._read.explanation.typical import NoveltyPart, is_unusual, reached_rules, usual_values
from ferl._read.rules import rule_numbers
from ferl._read.text import rule_text, word_meanings
from ferl._tables import OneRow, add_up_indicators
from ferl._util.arrays import Floats
from ferl._util.text import spoken


def explain(model: Model, one: OneRow, *, counterfactual: bool = True) -> Explanation:
    """One row's story; see :meth:`ferl.FERLClassifier.explain`.

    Parameters
    ----------
    model : Model
        The model.
    one : OneRow
        The row.
    counterfactual : bool, default=True
        Whether to search for the changes that would alter the label.

    Returns
    -------
    Explanation
    """
    row, names = one.values, model.feature_names()
    evidence = model.evidence(row)
    probability = evidence.probability[0]
    best, in_set = int(probability.argmax()), evidence.prediction_set()[0]
    has_answer = len(in_set) == 1 or not in_set.all()
    values = shown_values(model, one)
    parts = _novelty(model, one, values)
    novelty = float(sum(part.part for part in parts))
    lost = add_up_indicators(model.lost_support(row), model.missing_features)[0]
    balance = None if not isinstance(model, RuleModel) else read_balance(model, row, values)
    rules = _tree_rules(model, row, evidence, best) if balance is None else wide_rules(model, row, balance)
    changes = nearest_changes(model, row, best, one.unseen) if counterfactual and has_answer else None
    return Explanation(
        label=model.labels[best] if has_answer else None,
        classes=tuple(model.labels),
        probability=_floats(probability),
        belief=_floats(evidence.belief[0]),
        plausibility=_floats(evidence.plausibility[0]),
        in_set=tuple(map(bool, in_set)),
        ignorance=float(evidence.ignorance[0]),
        conflict=float(evidence.conflict[0]),
        doubt=split_ignorance(model, row, evidence),
        rules=rules,
        novelty=novelty,
        novelty_parts=parts,
        lost_support=tuple((names[f], float(lost[f])) for f in np.argsort(-lost, kind="stable") if lost[f] > 0),
        certified=_certified(model, row, evidence) if has_answer else None,
        changes=None if changes is None else changes.found,
        unproven=() if changes is None else changes.unproven,
        missing=tuple(name for name, value in zip(names, values, strict=True) if value is None),
        unseen=tuple((names[f], value) for f, value in sorted(one.unseen.items())),
        words=_words(model, rules),
        target=model.schema.target.name,
        balance=balance,
        novelty_rank=_rank(model, novelty),
    )


def _rank(model: Model, novelty: float) -> float | None:
    rank = float(model.novelty_rank(np.array([novelty]))[0])
    return None if math.isnan(rank) else rank


def shown_values(model: Model, one: OneRow) -> list[Any]:
    """Values of the features as a reader knows them: numbers, categories, None where they are missing."""
    categories, found = model.category_names, []
    for f, value in enumerate(one.values[0, : model.n_features].tolist()):
        if f in one.unseen or math.isnan(value):
            found.append(one.unseen.get(f))
        else:
            found.append(categories[f][int(value)] if f in categories else model.value(f, value))
    return found


def _tree_rules(model: Model, row: Floats, evidence: Evidence, best: int) -> tuple[TreeRule, ...]:
    tree = model.tree
    firing = model.fire(row)[0]
    sources = fired_sources(model, firing)
    parts, (without, ignorance) = sources.parts(evidence.belief[0]), sources.belief_without()
    probability = without + ignorance[:, None] / without.shape[1]
    numbers, classes = rule_numbers(model), model.labels
    matters = np.abs(evidence.probability[0, best] - probability[:, best])
    rules = []
    for k in np.lexsort((-sources.firing, -matters)).tolist():
        node = int(sources.node[k])
        own = int(tree.consequent[node].argmax())
        rules.append(
            TreeRule(
                node=node,
                number=numbers.get(node),
                conditions=rule_text(model, node),
                label=classes[own],
                firing=float(sources.firing[k]),
                support=float(tree.weight[node]),
                confidence=float(tree.consequent[node, own]),
                belief=_floats(parts[k]),
                belief_without=_floats(without[k]),
                probability_without=_floats(probability[k]),
            )
        )
    return tuple(rules)


def _words(model: Model, rules: Sequence[FiredRule]) -> tuple[str, ...]:
    """What the words of these rules mean."""
    tree = model.tree
    if not tree.word:
        return ()
    asked = {int(tree.feature[node]) for rule in rules for node in tree.path(rule.node)}
    return tuple(word_meanings(model, [spoken(name) for name in model.column_names()], asked))


def _novelty(model: Model, one: OneRow, values: list[Any]) -> tuple[NoveltyPart, ...]:
    parts, names = model.novelty_attribution(one.values)[0], model.feature_names()
    usual = usual_values(model, reached_rules(model, one.values))
    unit = model.tree.unit_of_distance  # what a feature varies by inside rules
    found = []
    for f in np.argsort(-parts, kind="stable").tolist():
        odd = f in one.unseen or is_unusual(float(one.values[0, f]), usual[f], float(unit[f]))
        found.append(NoveltyPart(names[f], values[f], float(parts[f]), usual[f], odd))
    return tuple(found)


def _certified(model: Model, row: Floats, evidence: Evidence) -> Certified | None:
    if bool(model.unproven):
        return None
    spread = total_spread(model.tree)[: model.n_features]
    return Certified(float(proven_radius(model, row, evidence, check_scale(model, spread))[0]))


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
