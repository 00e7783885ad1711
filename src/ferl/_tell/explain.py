"""Explaining one row by the effects of its values, beside the average training row, and by the rules behind them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np

from ferl._models.cases import CASES_NAME
from ferl._models.certificates import check_scale, proven_radius
from ferl._models.decision import PROBABLE, Decision
from ferl._models.evidence import SET_LEVEL, Evidence
from ferl._models.model import Model, kept_by_model
from ferl._models.nearest import nearest_changes
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel, fired_sources
from ferl._tables import OneRow, add_up_derived
from ferl._tell.explanation import (
    LEAST_CONFLICT,
    LEAST_IGNORANCE,
    LEAST_SHOWN,
    MAX_CLASSES,
    MAX_PROBABLE,
    MUCH_IGNORANCE,
    Certified,
    Decided,
    Effect,
    Explanation,
    FiredRule,
    odds_text,
    odds_value,
    value_clause,
)
from ferl._tell.page import Section
from ferl._tell.similar import case_line, nearest_classes, similar_cases
from ferl._tell.statements import rule_text, rule_texts, word_meanings
from ferl._tell.unusual import novelty_parts
from ferl._util.arrays import Floats
from ferl._util.text import listed, number_text, percent_text, plain, rows_text, share_text, spoken, value_text

MAX_RULES = 6  # that are shown; the others are counted
MAX_PARTS = 4  # parts of an effect that are shown; the others are summed
N_SIMILAR = 5  # known cases that the details show
MAX_DETAILED = 6  # features whose effects are shown part by part
MAX_OUTSIDE = 3  # features that an answer blames
MOSTLY_LOST = 0.5  # of the evidence, that values outside the training range cost
LEAST_PROBABILITY = 1e-12  # that odds are formed with
RULES_TITLE = "Rules that apply"
PARTS_TITLE = "What each effect is made of"


@singledispatch
def explain(
    model: Any, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE, details: bool = False
) -> Explanation:
    """The explanation of one row; see :meth:`ferl.FERLClassifier.explain`.

    Parameters
    ----------
    model : Model
        The model.
    one : OneRow
        The row.
    counterfactual : bool, default=True
        Whether to search for the changes that would alter the label.
    decision : Decision, default=Decision("probable")
        Another decision than for the most probable class, which the explanation has as well.
    details : bool, default=False
        Whether the text has the details.

    Returns
    -------
    Explanation
    """
    raise TypeError(f"A {type(model).__name__} cannot explain rows.")


@explain.register
def _(
    model: RuleModel, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE, details: bool = False
) -> Explanation:
    values, evidence = model.values_of(one), model.evidence(one.values)
    balance = read_balance(model, one.values, values)
    rules = _weighed_rules(model, one.values, balance)
    story = _story(model, one, values, evidence, rules, counterfactual, decision)
    best = story["probability"].index(max(story["probability"]))
    rival = next((c for c in balance.compared if c != best), None)
    return RuleExplanation(
        **story,
        balance=balance,
        rows=float(evidence.rows[0]),
        level=tuple([model.column_names()[column] for column in model.level_columns]),
        effects=_rule_effects(balance, best, rival),
        rival=rival,
        details=details,
        **_similar(model, one.values, balance, best, rival),
    )


def _similar(model: RuleModel, row: Floats, balance: Balance, best: int, rival: int | None) -> dict[str, Any]:
    """What the most similar known cases were, where the model has some."""
    if model.cases is None or rival is None or not model.cases.can_compare(row[0]):
        return {}
    added = next(item for part, item in balance.between(best, rival).moved if part.feature == CASES_NAME)
    return {"cases": (case_line(model, row, best, added),), "similar": similar_cases(model, row, N_SIMILAR, 1)}


@explain.register
def _(
    model: TreeModel, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE, details: bool = False
) -> Explanation:
    values, evidence = model.values_of(one), model.evidence(one.values)
    rules = _tree_rules(model, one.values, evidence)
    story = _story(model, one, values, evidence, rules, counterfactual, decision)
    best, *others = np.argsort(-evidence.probability[0], kind="stable").tolist()
    rival = others[0] if others else None
    effects = _tree_effects(model, one.values, values, best, rival)
    return TreeExplanation(**story, effects=effects, rival=rival, details=details)


def _story(
    model: Model,
    one: OneRow,
    values: list[Any],
    evidence: Evidence,
    rules: Sequence[FiredRule],
    counterfactual: bool,
    decision: Decision,
) -> dict[str, Any]:
    """What all explanations have."""
    row, names = one.values, model.feature_names()
    probability = evidence.probability[0]
    best, in_set = int(probability.argmax()), evidence.prediction_set()[0]
    has_answer = len(in_set) == 1 or not in_set.all()
    parts = novelty_parts(model, one, values)
    novelty = float(sum([part.part for part in parts]))
    rank = float(model.novelty_rank(np.array([novelty]))[0])
    lost = add_up_derived(model.lost_support(row), model.derived)[0]
    withheld = [f for f in np.argsort(-lost, kind="stable").tolist() if lost[f] > 0]
    certified = None
    if has_answer and not model.unproven:
        certified = Certified(float(proven_radius(model, row, evidence, check_scale(model, "spread"))[0]))
    changes = nearest_changes(model, row, best, one.unseen) if counterfactual and has_answer else None
    decided = None
    if not decision.is_usual:
        decided = Decided(model.labels[decision.codes(model, row, evidence)[0]], decision.text(model.labels))
    words = []
    if model.tree.word:
        asked = {int(model.tree.feature[node]) for rule in rules for node in model.tree.path(rule.node)}
        words = word_meanings(model, [spoken(name) for name in model.column_names()], asked)
    return {
        "label": model.labels[best] if has_answer else None,
        "classes": tuple(model.labels),
        "probability": tuple(probability.tolist()),
        "belief": tuple(evidence.belief[0].tolist()),
        "plausibility": tuple(evidence.plausibility[0].tolist()),
        "in_set": tuple(in_set.tolist()),
        "ignorance": float(evidence.ignorance[0]),
        "conflict": float(evidence.conflict[0]),
        "ignorance_causes": model.ignorance_causes(row, evidence),
        "rules": tuple(rules),
        "novelty": novelty,
        "novelty_parts": parts,
        "lost_support": tuple([(names[f], float(lost[f])) for f in withheld]),
        "certified": certified,
        "changes": None if changes is None else changes.found,
        "unproven": () if changes is None else changes.unproven,
        "missing": tuple([name for name, value in zip(names, values, strict=True) if value is None]),
        "unseen": tuple([(names[f], value) for f, value in sorted(one.unseen.items())]),
        "words": tuple(words),
        "target": model.schema.target.name,
        "novelty_rank": None if math.isnan(rank) else rank,
        "decided": decided,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeRule(FiredRule):
    """A rule of a tree that fired.

    Attributes
    ----------
    confidence : float
        The share of its class behind it.
    frequency : float
        The share of its class among all training rows.
    belief : tuple of float
        Its share of the belief in each class, by the weights of evidence; over all rules this sums to the belief. What
        silencing it changes may differ from that in size and sign.
    belief_without : tuple of float
        Belief in each class if it were silent.
    probability_without : tuple of float
        Probability of each class if it were silent.
    """

    confidence: float
    frequency: float
    belief: tuple[float, ...]
    belief_without: tuple[float, ...]
    probability_without: tuple[float, ...]


class TreeExplanation(Explanation):
    """The explanation of an answer of a tree."""

    rules: tuple[TreeRule, ...]

    causes: ClassVar[dict[str, str]] = {
        "weak_firing": "rules fire only in part",
        "thin_support": "few training rows are behind the rules",
        "lost_support": "values lie outside the training range of the rules",
        "conflict": "rules contradict each other",
    }
    range_text: ClassVar[str] = "range that the model keeps"
    _for_such_rows: ClassVar[str] = " for such rows"
    _of_rules: ClassVar[str] = " of the rules"
    _with_missing: ClassVar[str] = "The row follows both branches where a rule reads {them}."

    def outside_lines(self, outside: tuple[tuple[str, Any, Any, Any], ...]) -> list[str]:
        """The ranges may be smaller than the training ranges, so their ends are not printed."""
        texts = [f"{spoken(name)} {value_text(to)} lies outside the {self.range_text}." for name, to, _, _ in outside]
        return ["Outside the range that the model keeps", *texts]

    @property
    def _rows_behind(self) -> float | None:
        """The training rows of the rules that apply, on average, as far as they apply."""
        ends = [rule for rule in self.rules if rule.number is not None]
        return sum([rule.firing * rule.support for rule in ends]) / sum([rule.firing for rule in ends]) if ends else 0.0

    def _what_is_lost(self, feature: str) -> str:
        return "the firing"

    def _outside(self, named: Collection[str] = ()) -> list[str]:
        return [self._unlike_text()] if self.lost_support and not self.unseen and self._unlike is not None else []

    @property
    def _is_ignorant(self) -> bool:
        """More rows help where few are behind the rules, not where the row lies between rules."""
        return super()._is_ignorant and self.ignorance_causes.main == "thin_support"

    def _about_effects(self) -> list[str]:
        return [
            "An effect compares the row with the same row without the value; a row without a value follows both sides "
            "of a split, in the shares of the training rows. Effects of a tree do not multiply to a total."
        ]

    def _rest_text(self, rest: list[float]) -> str:
        return "smaller"

    def _reason_for_set(self) -> str:
        lacks = self._what_lacks()
        if not self.rules:
            clause = self._unlike_text()
            return f"no rule covers the row{f', because {clause}' if clause else ''}{lacks}"
        if self.ignorance < MUCH_IGNORANCE:
            ranked = sorted(zip(self.belief, self._labels, strict=True), key=lambda item: -item[0])[:2]
            return f"belief is divided, {listed([f'{share_text(bel)} for {item}' for bel, item in ranked])}"
        cause = self.ignorance_causes.main
        if cause == "weak_firing":
            strongest = max(rule.firing for rule in self.rules)
            return f"rules fire only in part, the strongest by {share_text(strongest)}{lacks}"
        clause = self._unlike_text() if cause == "lost_support" else ""
        return f"{clause or self.causes[cause]}{lacks}"

    def _why_others(self) -> list[str]:
        """The paper's rule: their plausibility reaches the largest belief."""
        if self.ignorance == 1:
            return []
        most = self.belief.index(max(self.belief))
        others = [c for c in range(len(self.classes)) if self.in_set[c] and c != self.best]
        others.sort(key=lambda c: -self.plausibility[c])
        least = f"that of {self._labels[most]} begins at {100 * self.belief[most]:.1f} %"
        lines = [
            f"The support of {self._labels[c]} reaches up to {100 * self.plausibility[c]:.1f} %, and {least}."
            for c in others[:MAX_CLASSES]
        ]
        if len(others) > MAX_CLASSES:
            lines.append(f"... and the same holds for {len(others) - MAX_CLASSES} more classes.")
        return lines

    def _ignorance(self) -> Section:
        lines = ["Almost nothing: the rules cover the row fully."]
        if self.ignorance >= LEAST_IGNORANCE:
            because = self._open_because()
            lines = [f"Ignorance is {self.ignorance:.3f}, from 0 (settled) to 1 (no evidence): {because}."]
        return Section("What is not known", (*lines, *self._missing_line()))

    def _rules_section(self) -> Section:
        """The rules that apply, and the class of each beside its share of all training rows."""
        if not self.rules:
            return Section(RULES_TITLE, ("None: no rule covers the row.",))
        shown = self.rules[:MAX_RULES]
        lines = [self._rule_line(rule) for rule in shown]
        if n_more := len(self.rules) - len(shown):
            lines.append(f"... and {n_more} more, which {'matters' if n_more == 1 else 'matter'} less.")
        if any("±" in rule.conditions for rule in shown):
            lines.append("A condition such as < 5 ±1 fits fully up to 4 and not at all from 6 on.")
        return Section(RULES_TITLE, tuple(lines))

    def _rule_line(self, rule: TreeRule) -> str:
        name = "The beginning of a rule" if rule.number is None else f"Rule {rule.number}"
        condition = f"if {rule.conditions}" if rule.conditions else "always"
        confidence, frequency = percent_text(rule.confidence), percent_text(rule.frequency)
        return (
            f"{name} (fit {share_text(rule.firing)}): {condition}, then {spoken(rule.label)} in {confidence} of its "
            f"rows ({frequency} of all training rows)."
        )


def _tree_effects(model: TreeModel, row: Floats, values: list[Any], best: int, rival: int | None) -> tuple[Effect, ...]:
    """What each value that the tree reads does to the log-odds of the most probable class against the next."""
    columns = model.read_columns.tolist()
    read = sorted({model.feature_of(column) for column in columns})
    if rival is None or not read:
        return ()
    rows = np.repeat(row, 1 + len(read), axis=0)
    for k, feature in enumerate(read, 1):
        rows[k, [column for column in range(rows.shape[1]) if model.feature_of(column) == feature]] = np.nan
    log = np.log(np.maximum(model.probabilities(rows), LEAST_PROBABILITY))
    odds = log[:, best] - log[:, rival]
    names = model.feature_names()
    effects = [
        Effect(names[f], values[f], average_of(model, f), float(odds[0] - odds[k])) for k, f in enumerate(read, 1)
    ]
    return tuple(sorted(effects, key=lambda item: -abs(item.weight)))


def average_of(model: Model, feature: int) -> float | None:
    """The mean of a feature over the training rows; None for categories, and for dates and other codes."""
    kind = model.column_kinds[feature]
    if feature in model.category_names or kind.is_ordered or kind.is_coded or kind.values:
        return None
    mean = float(model.tree.profile.mean[0, feature])
    return mean if math.isfinite(mean) else None


def _tree_rules(model: TreeModel, row: Floats, evidence: Evidence) -> list[TreeRule]:
    """The rules that a row fires, those first without which the most probable class would change most."""
    tree, best, frequency = model.tree, int(evidence.probability[0].argmax()), model.class_frequency.tolist()
    sources = fired_sources(model, model.fire(row)[0])
    parts, (without, ignorance) = sources.parts(evidence.belief[0]), sources.belief_without()
    probability = without + ignorance[:, None] / without.shape[1]
    order = np.lexsort((-sources.firing, -np.abs(evidence.probability[0, best] - probability[:, best])))
    shares, rules = [item[order].tolist() for item in (parts, without, probability)], []
    for k, (node, firing) in enumerate(zip(sources.node[order].tolist(), sources.firing[order].tolist(), strict=True)):
        label = int(tree.consequent[node].argmax())
        rules.append(
            TreeRule(
                node,
                model.rule_numbers.get(node),
                rule_text(model, node),
                model.labels[label],
                firing,
                float(tree.weight[node]),
                float(tree.consequent[node, label]),
                frequency[label],
                *(tuple(share[k]) for share in shares),
            )
        )
    return rules


# ---------------------------------------------------------------------------------------------------------------------
# Rules
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeighedRule(FiredRule):
    """A rule that fired, in a model whose weights of evidence add up.

    Attributes
    ----------
    weight : tuple of float
        What it adds to the score of each class: its firing times its weight of evidence. Over all rules, together with
        the prior, this sums to the scores.
    probability_without : tuple of float
        Probability of each class if it were silent.
    """

    weight: tuple[float, ...]
    probability_without: tuple[float, ...]


@dataclass(frozen=True)
class FeatureWeight:
    """What a feature adds to the scores.

    Attributes
    ----------
    feature : str
        Its name.
    value : object
        The row's value; None where it is missing.
    weight : tuple of float
        What it adds to the score of each class; a rule of several conditions is shared equally among them.
    usual : tuple of float
        What it adds on average over the training rows, where gates close as much as here.
    seen : tuple of float, or None
        Smallest and largest number in training; None for categories, and where training had no value.
    average : float or None
        The mean over the training rows; None for categories.
    """

    feature: str
    value: Any
    weight: tuple[float, ...]
    usual: tuple[float, ...]
    seen: tuple[float, float] | None
    average: float | None = None

    @property
    def text(self) -> str:
        """The value, as a clause."""
        return value_clause(self.feature, self.value)


@dataclass(frozen=True)
class EffectPart:
    """A term of a model of rules, and what it adds to the effect of one feature.

    Attributes
    ----------
    feature : str
        The feature.
    name : str
        The term: "Rule 7", "The curve", "The map with age".
    conditions : str
        What follows "if"; "" for curves and maps.
    share : float
        The part of the term that belongs to the feature: one half of a rule on two features.
    firing, usual : float or None
        How far a rule applies to the row, and to the training rows on average; None for curves and maps.
    weight : tuple of float
        What the share adds to the score of each class, less its average over the training rows. The parts of a feature
        add up to its effect.
    """

    feature: str
    name: str
    conditions: str
    share: float
    firing: float | None
    usual: float | None
    weight: tuple[float, ...]

    def line(self, weight: float) -> str:
        """The part in a sentence; ``weight``: what it adds to the log-odds."""
        fraction = _FRACTIONS.get(round(1 / self.share), f"{self.share:.2f} of its effect") if self.share < 1 else ""
        text = f"{self.name}: {odds_text(weight)}{fraction and f' ({fraction})'}"
        if self.firing is None or self.usual is None:
            return f"{text}."
        return f"{text}, if {self.conditions} (fit {share_text(self.firing)}, average {share_text(self.usual)})."


_FRACTIONS = {2: "half of its effect", 3: "a third of its effect", 4: "a quarter of its effect"}


@dataclass(frozen=True)
class Balance:
    """The scores of a row and what they are made of.

    ``prior`` and the weights of all features add up to the scores; so do ``base`` and what each feature adds to its
    usual weight.

    Attributes
    ----------
    scores : tuple of float
        Score of each class; their softmax is the probability.
    prior : tuple of float
        Score of each class before any rule applies; where gates close, the score of the class frequencies.
    features : tuple of FeatureWeight
        Features that rules use; the features that move the compared classes furthest apart come first.
    compared : tuple of int
        Indices of the class that the weights support and of the class that they oppose. Two classes: the second label
        and the first. With three or more classes: the most probable class and the next.
    support : float
        How open the gates are, 0 to 1; all weights are multiplied by it, and the class frequencies count for the rest.
    pictures : tuple of float
        The sum of curves and maps for each class; it is included in the weights of the features.
    average : tuple of float
        Mean scores over the training rows, for each class.
    parts : tuple of EffectPart
        The components of the effect of each feature.
    """

    scores: tuple[float, ...]
    prior: tuple[float, ...]
    features: tuple[FeatureWeight, ...]
    compared: tuple[int, int]
    support: float
    pictures: tuple[float, ...] = ()
    average: tuple[float, ...] = ()
    parts: tuple[EffectPart, ...] = ()

    @property
    def base(self) -> tuple[float, ...]:
        """The mean scores over the training rows, or as far as gates close the class frequencies."""
        return tuple([prior + sum([part.usual[c] for part in self.features]) for c, prior in enumerate(self.prior)])

    def apart(self, weight: tuple[float, ...]) -> float:
        """How far weights move the compared classes apart, in log-odds."""
        towards, against = self.compared
        return weight[towards] - weight[against]

    def moves(self, part: FeatureWeight) -> float:
        """What a feature adds to the log-odds of the compared classes, beside what it usually adds."""
        towards, against = self.compared
        return (part.weight[towards] - part.weight[against]) - (part.usual[towards] - part.usual[against])

    @cached_property
    def moved(self) -> list[tuple[FeatureWeight, float]]:
        """The features, and what each adds to the log-odds of the compared classes beside what it usually adds."""
        a, b = self.compared
        return [
            (feature, (feature.weight[a] - feature.weight[b]) - (feature.usual[a] - feature.usual[b]))
            for feature in self.features
        ]

    def between(self, towards: int, against: int) -> Balance:
        """The same weights, for a comparison of two other classes."""
        turned = replace(self, compared=(towards, against))
        order = sorted(turned.moved, key=lambda item: -abs(item[1]))
        return replace(turned, features=tuple([part for part, _ in order]))

    def to_dict(self, classes: list[Any]) -> dict[str, Any]:
        """The scores and their parts in the types of JSON."""
        towards, against = self.compared
        return {
            "scores": list(self.scores),
            "prior": list(self.prior),
            "base": list(self.base),
            "support": self.support,
            "towards": classes[towards],
            "against": classes[against],
            "features": [
                {
                    "feature": part.feature,
                    "value": plain(part.value),
                    "moves": self.moves(part),
                    "weight": list(part.weight),
                    "usual": list(part.usual),
                }
                for part in self.features
            ],
        }


def read_balance(model: RuleModel, row: Floats, values: list[Any]) -> Balance:
    """The scores of a row, shape (1, n_columns), and what features add to them.

    A feature is compared with what it adds on average over the training rows: a low value of a feature whose rules
    require high values adds nothing, and so opposes the class. ``values``: in the units and names of the training
    table.
    """
    scores, support = model.decision_scores(row)[0], float(model.fading(row)[0])
    contributions = model.contributions(row)[0]
    weights = model.share_among_features(np.stack([contributions, support * model.mean_contributions]))
    here, usual = weights.tolist()
    parts = [
        FeatureWeight(name, values[f], tuple(here[f]), tuple(usual[f]), seen, average)
        for f, name, seen, average in _read_features(model)
    ]
    if model.cases is not None:
        best = int(scores.argmax())
        count, n = nearest_classes(model, row, best)
        value = (
            f"{count} of {n} {spoken(model.labels[best])}" if model.cases.can_compare(row[0]) else "all equally near"
        )
        parts.append(FeatureWeight(CASES_NAME, value, tuple(here[-2]), tuple(usual[-2]), None, None))
    n_drawn = model.n_rules + model.n_curves + model.n_maps
    pictures = tuple(contributions[model.n_rules : n_drawn].sum(axis=0).tolist())
    average = tuple(model.mean_contributions.sum(axis=0).tolist())
    balance = Balance(
        tuple(scores.tolist()),
        tuple(here[-1]),
        tuple(parts),
        (0, 0),
        support,
        pictures,
        average,
        _effect_parts(model, row, contributions, support),
    )
    # The second label is compared with the first one, or the most probable with the next.
    compared = np.argsort(-scores, kind="stable")[:2].tolist() if len(scores) > 2 else (len(scores) - 1, 0)
    return balance.between(*compared)


@kept_by_model
def _read_features(model: RuleModel) -> list[tuple[int, str, tuple[float, float] | None, float | None]]:
    """The features that terms read: index, name, range and mean over the training rows."""
    read = sorted({model.feature_of(column) for column in model.read_columns.tolist()})
    return [(f, model.feature_names()[f], model.seen(f), average_of(model, f)) for f in read]


@kept_by_model
def _term_shares(model: RuleModel) -> list[tuple[int, str, str, str, float]]:
    """Each term and each feature that it reads: index of the term, the feature, name, conditions, and share."""
    names, texts, result = model.feature_names(), rule_texts(model), []
    for term, columns in enumerate(model.term_columns):
        if not columns:
            result.append((term, CASES_NAME, "Their vote", "", 1.0))
        features = [model.feature_of(column) for column in columns]
        for feature in dict.fromkeys(features):
            share = features.count(feature) / len(features)
            if term < model.n_rules:
                name, conditions = f"Rule {model.numbers[term]}", texts[term]
            else:
                others = [spoken(names[fromkey]) for fromkey in dict.fromkeys(features) if fromkey != feature]
                name, conditions = f"The map with {listed(others)}" if others else "The curve", ""
            result.append((term, names[feature], name, conditions, share))
    return result


def _effect_parts(model: RuleModel, row: Floats, contributions: Floats, support: float) -> tuple[EffectPart, ...]:
    """What the effect of each feature is made of: every term, less its average over the training rows."""
    centred = contributions[:-1] - support * model.mean_contributions[:-1]
    firing = (support * model.rules.activation(model.tree, row)[0]).tolist()
    usual = model.rules.mean_activation(model.tree).tolist()
    weights, n = centred.tolist(), model.n_rules
    return tuple(
        EffectPart(
            feature,
            name,
            conditions,
            share,
            firing[term] if term < n else None,
            usual[term] if term < n else None,
            tuple([share * weight for weight in weights[term]]),
        )
        for term, feature, name, conditions, share in _term_shares(model)
        if any(weights[term])
    )


def _rule_effects(balance: Balance, best: int, rival: int | None) -> tuple[Effect, ...]:
    if rival is None:
        return ()
    turned = balance.between(best, rival)
    return tuple([Effect(part.feature, part.value, part.average, moved) for part, moved in turned.moved])


def _weighed_rules(model: RuleModel, row: Floats, balance: Balance) -> list[WeighedRule]:
    """The rules that a row fires, those first that move the compared classes furthest apart."""
    firing = balance.support * model.rules.activation(model.tree, row)[0]
    fired = np.flatnonzero(firing > 0)
    added = firing[fired, None] * model.rules.weight[fired]
    towards, against = balance.compared
    order = np.argsort(-np.abs(added[:, towards] - added[:, against]), kind="stable")
    rest = np.array(balance.scores) - added
    odds = np.exp(rest - rest.max(axis=1, keepdims=True, initial=-np.inf))
    without, weights = (odds / odds.sum(axis=1, keepdims=True))[order].tolist(), added[order].tolist()
    texts, labels, rules = rule_texts(model), model.rules.weight.argmax(axis=1).tolist(), fired[order].tolist()
    nodes = model.rules.node[rules]
    numbers = model.numbers
    about = zip(rules, nodes.tolist(), firing[rules].tolist(), model.tree.weight[nodes].tolist(), strict=True)
    return [
        WeighedRule(
            node, numbers[k], texts[k], model.labels[labels[k]], fires, support, tuple(weight), tuple(probability)
        )
        for (k, node, fires, support), weight, probability in zip(about, weights, without, strict=True)
    ]


class RuleExplanation(Explanation):
    """The explanation of an answer of rules: effects that add up."""

    rules: tuple[WeighedRule, ...]
    balance: Balance
    rows: float

    causes: ClassVar[dict[str, str]] = {
        "thin_support": "few training rows are like this row",
        "lost_support": "values lie outside the training range",
    }
    range_text: ClassVar[str] = "training range"
    _for_such_rows: ClassVar[str] = ""
    _with_missing: ClassVar[str] = "Rules on {them} count as they do for the average training row."

    def against(self, label: Any) -> Explanation:
        """The same explanation by what supports the most probable class and opposes this one."""
        others = [item for c, item in enumerate(self.classes) if c != self.best]
        if label not in others:
            raise ValueError(f"label is {label!r}; choose one of {listed([repr(other) for other in others], 'or')}.")
        rival = self.classes.index(label)
        balance = self.balance.between(self.best, rival)
        rules = sorted(self.rules, key=lambda rule: -abs(balance.apart(rule.weight)))
        effects = _rule_effects(balance, self.best, rival)
        return replace(self, balance=balance, rules=tuple(rules), effects=effects, rival=rival)

    @property
    def _rows_behind(self) -> float | None:
        return self.rows

    @property
    def _reference(self) -> str:
        return f"the average training row, whose odds are {odds_value(self._turned.apart(self._turned.average))}"

    def outside_lines(self, outside: tuple[tuple[str, Any, Any, Any], ...]) -> list[str]:
        """The ranges are the training ranges."""
        return [
            "Outside training",
            *(
                f"{spoken(name)} {value_text(to)} lies outside the {self.range_text}, {value_text(low)} to "
                f"{value_text(high)}."
                for name, to, low, high in outside
            ),
        ]

    def _ignorance(self) -> Section:
        lines = [f"The answer rests on {rows_text(self.rows)}."]
        if self.ignorance >= LEAST_IGNORANCE:
            because = f": {self._open_because()}" if self.ignorance_causes.lost_support >= LEAST_IGNORANCE else ""
            lines.append(f"Ignorance is {self.ignorance:.3f}, from 0 (many such rows) to 1 (none){because}.")
        if self.conflict >= LEAST_CONFLICT:
            lines.append(f"Conflict is {self.conflict:.3f}, the share of all weights, for and against, that cancel.")
        return Section("What the answer rests on", (*lines, *self._missing_line()))

    def _few_rows(self) -> str:
        is_thin = self.ignorance_causes.thin_support >= MUCH_IGNORANCE
        return f" The answer rests on {rows_text(self.rows)}." if is_thin else ""

    def _why_others(self) -> list[str]:
        """What the set would lack without its least probable class."""
        total, needed = sum(self.belief), f"a set needs {100 * SET_LEVEL:.1f} %"
        *others, last = [c for c in self.class_order if self.in_set[c]]
        without = sum([self.belief[c] for c in others])
        if total < SET_LEVEL:
            lack = f"All classes together have a belief of {100 * total:.1f} %, and {needed}."
        elif without >= SET_LEVEL:  # a tie
            lack = f"{self._labels[last]} is as probable as {self._labels[others[-1]]}."
        else:
            names = [self._labels[c] for c in others[:MAX_PROBABLE]]
            names += [f"{len(others) - MAX_PROBABLE} more"] * (len(others) > MAX_PROBABLE)
            have = "has" if len(others) == 1 else "have"
            lack = f"{listed(names)} {have} a belief of {100 * without:.1f} %, and {needed}."
        return [lack]

    @cached_property
    def _why_several(self) -> str:
        """Why the set has several classes: "doubt", "ignorance" or "novelty"."""
        # With more rows like this one the set would be smaller: the best class is probable enough, or all together are
        # not believed enough.
        is_enough = max(self.probability) >= SET_LEVEL or 1 - self.ignorance < SET_LEVEL
        is_ignorant = is_enough and self.ignorance >= MUCH_IGNORANCE
        if self.ignorance_causes.main == "lost_support" and (
            is_ignorant or self.ignorance_causes.lost_support >= MUCH_IGNORANCE
        ):
            return "novelty"
        # Far outside the range no row is near, either: the range is the cause that names its features.
        if is_ignorant and sum([lost for _, lost in self.lost_support]) > MOSTLY_LOST:
            return "novelty"
        return "ignorance" if is_ignorant else "doubt"

    def _reason_for_set(self) -> str:
        balance, lacks = self.balance, self._what_lacks()
        if self._why_several == "novelty":
            believed = max(0.0, 1 - sum(lost for _, lost in self.lost_support))
            is_faded = math.isclose(believed, balance.support)
            counts = f"{'all weights count' if is_faded else 'belief counts'} by {share_text(believed)} only"
            start = counts if believed else "no training row supports an answer"
            return f"{start}, because {listed(self._outside())}{lacks}"
        if self._why_several == "ignorance":
            return f"few training rows are like this row{lacks}. The answer rests on {rows_text(self.rows)}"
        clauses, base = [], balance.apart(balance.base)
        for c, sign in zip(balance.compared, (1, -1), strict=True):
            strongest = self._supporting(c)[:1]
            clauses += [f"{part.text}, which supports {self._labels[c]}" for part in strongest]
            if not strongest and sign * base >= LEAST_SHOWN:
                clauses.append(f"the average training row supports {self._labels[c]}")
        return f"{'; '.join(clauses) or 'little supports any class'}{lacks}"

    def _what_is_lost(self, feature: str) -> str:
        """A feature with a monotone constraint keeps the probability of the nearest value, and loses belief."""
        return "the belief" if feature in self.level else "the evidence"

    def _outside(self, named: Collection[str] = ()) -> list[str]:
        parts = {part.feature: part for part in self.balance.features}
        names = [name for name, _ in self.lost_support if name not in named]
        clauses = []
        for part in (parts[name] for name in names[:MAX_OUTSIDE]):
            low, high = ("", "") if part.seen is None else map(number_text, part.seen)
            seen = f" while the training rows have {low if low == high else f'{low} to {high}'}"
            clauses.append(part.text + (", which no training row has" if part.seen is None else seen))
        more = len(names) - MAX_OUTSIDE
        return clauses + [f"{more} more {'value lies' if more == 1 else 'values lie'} outside"] * (more > 0)

    def _supporting(self, c: int) -> list[FeatureWeight]:
        """Features that support one of the compared classes, the strongest first."""
        sign = 1 if c == self.balance.compared[0] else -1
        return [part for part, moved in self.balance.moved if sign * moved >= LEAST_SHOWN]

    @cached_property
    def _turned(self) -> Balance:
        """The scores, for the comparison of the most probable class with its rival."""
        return self.balance.between(self.best, self.rival) if self.rival is not None else self.balance

    def _more_effects(self) -> list[tuple[str, str, str, str]]:
        """The pull of the class frequencies where values lie outside the training range."""
        turned = self._turned
        pull = turned.apart(turned.base) - turned.apart(turned.average)
        return [("values outside the training range", "", "", odds_text(pull))] if turned.support < 1 else []

    def _about_effects(self) -> list[str]:
        turned = self._turned
        odds = [odds_value(turned.apart(item)) for item in (turned.average, turned.scores)]
        lines = [
            f"The average training row has {self.compared_text} of {odds[0]}, and this row {odds[1]}: the ratio "
            "is the product of all effects."
        ]
        if turned.support < 1:
            lines.append(
                f"All effects count by {share_text(turned.support)}, since values lie outside the training range."
            )
        return lines

    def _rules_section(self) -> Section:
        """The parts of each effect: rules, curves and maps, each less its average over the training rows."""
        turned, shown = (
            self._turned,
            [effect for effect in self.effects if abs(effect.weight) >= LEAST_SHOWN][:MAX_DETAILED],
        )
        if self.rival is None or not shown:
            return Section("")
        parts: dict[str, list[tuple[float, EffectPart]]] = {}
        for part in turned.parts:
            parts.setdefault(part.feature, []).append((turned.apart(part.weight), part))
        blocks: list[Any] = []
        for item in shown:
            ranked = sorted(parts[item.feature], key=lambda pair: -abs(pair[0]))
            shown_parts = [pair for pair in ranked[:MAX_PARTS] if abs(pair[0]) >= LEAST_SHOWN]
            lines = [part.line(weight) for weight, part in shown_parts]
            if rest := [weight for weight, _ in ranked[len(shown_parts) :]]:
                lines.append(f"{len(rest)} more {'part' if len(rest) == 1 else 'parts'}: {odds_text(sum(rest))}.")
            title = f"{spoken(item.feature)} {value_text(item.value)}: {odds_text(item.weight)}, the product of"
            blocks.append(Section(title, tuple(lines), look="open"))
        if any(".." in part.conditions for part in turned.parts):
            blocks.append("A condition such as above 2..3 fits not at all up to 2 and fully from 3 on.")
        return Section(PARTS_TITLE, tuple(blocks))

    def _about_missing(self, them: str) -> str:
        """Rules fire as usual; curves and maps have a weight for missing values."""
        more = " Curves and maps have a weight for missing values." if any(self.balance.pictures) else ""
        return super()._about_missing(them) + more

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON; what is no number, or infinite, is None."""
        return super().to_dict() | {"balance": self.balance.to_dict([plain(label) for label in self.classes])}
