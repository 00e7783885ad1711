"""An explanation from a model and a row: every reading of the tree is asked once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._read.certificate import CERTIFIED, check_scale, proven_radius
from ferl._read.evidence import Evidence, read_evidence
from ferl._read.explanation.counterfactual import nearest_changes
from ferl._read.explanation.ignorance import split_ignorance
from ferl._read.explanation.sentences import Explanation
from ferl._read.explanation.sources import fired_sources
from ferl._read.explanation.story import Certified, FiredRule
from ferl._read.explanation.typical import NoveltyPart, is_unusual, reached_rules, usual_values
from ferl._read.novelty import lost_support, novelty_attribution, total_spread
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
    evidence = read_evidence(model, row)
    best = int(evidence.pignistic[0].argmax())
    parts = _novelty(model, one, names)
    lost = add_up_indicators(lost_support(model, row), model.missing_features)[0]
    values = row[0, : len(names)]
    rules = _fired_rules(model, row, evidence, best)
    changes = nearest_changes(model, row, best, one.unseen) if counterfactual else None
    return Explanation(
        label=evidence.classes.tolist()[best],
        classes=tuple(evidence.classes.tolist()),
        probability=_floats(evidence.pignistic[0]),
        belief=_floats(evidence.belief[0]),
        plausibility=_floats(evidence.plausibility[0]),
        in_set=tuple(map(bool, evidence.prediction_set()[0])),
        ignorance=float(evidence.ignorance[0]),
        conflict=float(evidence.conflict[0]),
        doubt=split_ignorance(model, row, evidence),
        rules=rules,
        novelty=float(sum(part.part for part in parts)),
        novelty_parts=parts,
        lost_support=tuple((names[f], float(lost[f])) for f in np.argsort(-lost, kind="stable") if lost[f] > 0),
        certified=_certified(model, row, evidence),
        changes=None if changes is None else changes.found,
        unproven=() if changes is None else changes.unproven,
        missing=tuple(names[f] for f in np.flatnonzero(np.isnan(values))),
        unseen=tuple((names[f], value) for f, value in sorted(one.unseen.items())),
        words=_words(model, rules),
    )


def _fired_rules(model: Model, row: Floats, evidence: Evidence, best: int) -> tuple[FiredRule, ...]:
    tree = model.tree
    firing = model.fire(row)[0]
    sources = fired_sources(model, firing)
    parts, without = sources.parts(evidence.belief[0]), sources.belief_without()
    numbers, classes = rule_numbers(model), evidence.classes.tolist()
    order = np.lexsort((-sources.firing, -parts[:, best]))
    rules = []
    for k in order.tolist():
        node = int(sources.node[k])
        own = int(tree.consequent[node].argmax())
        rules.append(
            FiredRule(
                node=node,
                number=numbers.get(node),
                conditions=rule_text(model, node),
                label=classes[own],
                confidence=float(tree.consequent[node, own]),
                firing=float(sources.firing[k]),
                support=float(tree.weight[node]),
                belief=_floats(parts[k]),
                belief_without=_floats(without[k]),
            )
        )
    return tuple(rules)


def _words(model: Model, rules: tuple[FiredRule, ...]) -> tuple[str, ...]:
    """What the words of these rules mean."""
    tree = model.tree
    if not tree.word:
        return ()
    asked = {int(tree.feature[node]) for rule in rules for node in tree.path(rule.node)}
    return tuple(word_meanings(model, [spoken(name) for name in model.column_names()], asked))


def _novelty(model: Model, one: OneRow, names: list[str]) -> tuple[NoveltyPart, ...]:
    parts, categories = novelty_attribution(model, one.values)[0], model.category_names
    usual = usual_values(model.tree, reached_rules(model, one.values), len(names), categories)
    unit = model.tree.unit_of_distance  # what a feature varies by inside rules
    found = []
    for f in np.argsort(-parts, kind="stable").tolist():
        value = float(one.values[0, f])
        shown: Any = None if math.isnan(value) else value
        if f in one.unseen:
            shown = one.unseen[f]
        elif f in categories and shown is not None:
            shown = categories[f][int(value)]
        odd = f in one.unseen or is_unusual(value, usual[f], float(unit[f]))
        found.append(NoveltyPart(names[f], shown, float(parts[f]), usual[f], odd))
    return tuple(found)


def _certified(model: Model, row: Floats, evidence: Evidence) -> Certified | None:
    if model.reading.combination not in CERTIFIED:
        return None
    spread = total_spread(model.tree)[: model.n_features]
    return Certified(float(proven_radius(model, row, evidence, check_scale(model, spread))[0]))


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
