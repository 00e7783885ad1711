"""An explanation from a model and a row: every reading of the tree is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl._read.certificate import CERTIFIED, check_scale, proven_radius
from ferl._read.evidence import evidence_of_rows
from ferl._read.explanation.counterfactual import nearest_changes
from ferl._read.explanation.ignorance import split_ignorance
from ferl._read.explanation.sources import fired_sources
from ferl._read.explanation.story import Certified, Explanation, FiredRule
from ferl._read.explanation.typical import NoveltyPart, is_unusual, novelty_parts, reached_rules, usual_values
from ferl._read.novelty import lost_support, total_spread, unit_of_distance
from ferl._read.rules import SimpleRules, category_names, column_names, feature_names, with_names, word_meanings
from ferl._sklearn import read_row
from ferl._tables import add_up_indicators
from ferl._tables.rows import OneRow
from ferl._util.arrays import Floats
from ferl._util.text import spoken

if TYPE_CHECKING:
    from ferl._read.evidence import Evidence
    from ferl.classifier import FERLClassifier


def explain(
    estimator: FERLClassifier, x: Any, *, feature_names: Sequence[str] | None = None, counterfactual: bool = True
) -> Explanation:
    """One row's story; see :meth:`ferl.FERLClassifier.explain`."""
    one = read_row(estimator, x)
    return explain_row(with_names(estimator, feature_names), one, counterfactual=counterfactual)


def explain_row(estimator: FERLClassifier, one: OneRow, *, counterfactual: bool = True) -> Explanation:
    """The story of a row that has been read.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    one : OneRow
        The row.
    counterfactual : bool
        Whether to search for the changes that would alter the label.

    Returns
    -------
    Explanation
    """
    row, names = one.values, feature_names(estimator)
    evidence = evidence_of_rows(estimator, row)
    place = int(evidence.pignistic[0].argmax())
    parts = _novelty(estimator, one, names)
    lost = add_up_indicators(lost_support(estimator, row), estimator.missing_features_)[0]
    values = row[0, : len(names)]
    rules = _fired_rules(estimator, row, evidence, place)
    changes = nearest_changes(estimator, row, place, one.unseen) if counterfactual else None
    return Explanation(
        label=evidence.classes.tolist()[place],
        classes=tuple(evidence.classes.tolist()),
        probability=_floats(evidence.pignistic[0]),
        belief=_floats(evidence.belief[0]),
        plausibility=_floats(evidence.plausibility[0]),
        in_set=tuple(map(bool, evidence.prediction_set()[0])),
        ignorance=float(evidence.ignorance[0]),
        conflict=float(evidence.conflict[0]),
        doubt=split_ignorance(estimator, row, evidence),
        rules=rules,
        novelty=float(sum(part.part for part in parts)),
        novelty_parts=parts,
        lost_support=tuple((names[f], float(lost[f])) for f in np.argsort(-lost, kind="stable") if lost[f] > 0),
        certified=_certified(estimator, row, evidence),
        changes=None if changes is None else changes.found,
        unproven=() if changes is None else changes.unproven,
        missing=tuple(names[f] for f in np.flatnonzero(np.isnan(values))),
        unseen=tuple((names[f], value) for f, value in sorted(one.unseen.items())),
        words=_words(estimator, rules),
    )


def _fired_rules(estimator: FERLClassifier, row: Floats, evidence: Evidence, place: int) -> tuple[FiredRule, ...]:
    tree = estimator.tree_
    firing = tree.fire(row, gated=bool(estimator.support_gate), gate_margin=estimator.gate_margin)[0]
    sources = fired_sources(estimator, firing)
    parts, without = sources.parts(evidence.belief[0]), sources.belief_without()
    simple, classes = SimpleRules(estimator), evidence.classes.tolist()
    order = np.lexsort((-sources.firing, -parts[:, place]))
    rules = []
    for k in order.tolist():
        node = int(sources.node[k])
        own = int(tree.consequent[node].argmax())
        rules.append(
            FiredRule(
                node=node,
                number=simple.number.get(node),
                conditions=simple.text(node),
                label=classes[own],
                confidence=float(tree.consequent[node, own]),
                firing=float(sources.firing[k]),
                support=float(tree.weight[node]),
                belief=_floats(parts[k]),
                belief_without=_floats(without[k]),
            )
        )
    return tuple(rules)


def _words(estimator: FERLClassifier, rules: tuple[FiredRule, ...]) -> tuple[str, ...]:
    """What the words of these rules mean."""
    tree = estimator.tree_
    asked = {int(tree.feature[node]) for rule in rules for node in tree.path(rule.node)}
    return tuple(word_meanings(estimator, [spoken(name) for name in column_names(estimator)], asked))


def _novelty(estimator: FERLClassifier, one: OneRow, names: list[str]) -> tuple[NoveltyPart, ...]:
    parts, levels = novelty_parts(estimator, one.values), category_names(estimator)
    usual = usual_values(estimator.tree_, reached_rules(estimator, one.values), len(names), levels)
    unit = unit_of_distance(estimator.tree_)  # what a feature varies by inside rules
    found = []
    for f in np.argsort(-parts, kind="stable").tolist():
        value = float(one.values[0, f])
        shown: Any = None if np.isnan(value) else value
        if f in one.unseen:
            shown = one.unseen[f]
        elif f in levels and shown is not None:
            shown = levels[f][int(value)]
        odd = f in one.unseen or is_unusual(value, usual[f], float(unit[f]))
        found.append(NoveltyPart(names[f], shown, float(parts[f]), usual[f], odd))
    return tuple(found)


def _certified(estimator: FERLClassifier, row: Floats, evidence: Evidence) -> Certified | None:
    if estimator.combination not in CERTIFIED:
        return None
    spread = total_spread(estimator.tree_)[: estimator.n_features_in_]
    return Certified(float(proven_radius(estimator, row, evidence, check_scale(estimator, spread))[0]))


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
