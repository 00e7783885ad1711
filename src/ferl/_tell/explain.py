"""Explaining one row: what the rules that it fires do to its answer, by weights that add up or along a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np

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
    MAX_CLASSES,
    MAX_PROBABLE,
    Certified,
    Decided,
    Explanation,
    FiredRule,
)
from ferl._tell.page import Section, Table
from ferl._tell.statements import rule_text, rule_texts, weight_text, word_meanings
from ferl._tell.unusual import novelty_parts
from ferl._util.arrays import Floats
from ferl._util.text import listed, number_text, plain, rows_text, share_text, spoken, value_text

MAX_RULES = 6  # that are shown; the others are counted
MAX_WEIGHTS = 8  # features whose weights are shown; the others are summed
MAX_OUTSIDE = 3  # features that an answer blames
LEAST_SHOWN = 0.005  # weight that two decimals show
MUCH_IGNORANCE = 0.1  # that a summary names; below it a set of several classes of a tree comes from divided belief
MOSTLY_LOST = 0.5  # of the evidence, that values outside the training range cost
SECOND_REASON = 0.5  # of the first one, that a feature weighs which is named beside it
RULES_TITLE = "Rules that fired"
# What to do where a set has several classes.
REMEDIES = {
    "doubt": "This is doubt, the classes are close: get a second opinion.",
    "ignorance": "This is ignorance, few training rows are like this row: collect such rows.",
    "novelty": "This is novelty, the row is unlike the training rows: do not use the model here.",
}


@singledispatch
def explain(model: Any, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE) -> Explanation:
    """One row's story; see :meth:`ferl.FERLClassifier.explain`.

    Parameters
    ----------
    model : Model
        The model.
    one : OneRow
        The row.
    counterfactual : bool, default=True
        Whether to search for the changes that would alter the label.
    decision : Decision, default=Decision("probable")
        Another decision than for the most probable class, which the story has as well.

    Returns
    -------
    Explanation
    """
    raise TypeError(f"A {type(model).__name__} cannot explain rows.")


@explain.register
def _(model: RuleModel, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE) -> Explanation:
    values, evidence = model.values_of(one), model.evidence(one.values)
    balance = read_balance(model, one.values, values)
    rules = _weighed_rules(model, one.values, balance)
    story = _story(model, one, values, evidence, rules, counterfactual, decision)
    return RuleExplanation(**story, balance=balance, rows=float(evidence.rows[0]))


@explain.register
def _(model: TreeModel, one: OneRow, *, counterfactual: bool = True, decision: Decision = PROBABLE) -> Explanation:
    values, evidence = model.values_of(one), model.evidence(one.values)
    rules = _tree_rules(model, one.values, evidence)
    return TreeExplanation(**_story(model, one, values, evidence, rules, counterfactual, decision))


def _story(
    model: Model,
    one: OneRow,
    values: list[Any],
    evidence: Evidence,
    rules: Sequence[FiredRule],
    counterfactual: bool,
    decision: Decision,
) -> dict[str, Any]:
    """What all explanations hold."""
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
    belief : tuple of float
        Its share of the belief in each class, by the weights of evidence; over all rules this sums to the belief. What
        silencing it changes may differ from that in size and sign.
    belief_without : tuple of float
        Belief in each class if it were silent.
    probability_without : tuple of float
        Probability of each class if it were silent.
    """

    confidence: float
    belief: tuple[float, ...]
    belief_without: tuple[float, ...]
    probability_without: tuple[float, ...]


class TreeExplanation(Explanation):
    """Why a tree answers as it does: its rules that fired, in sentences."""

    rules: tuple[TreeRule, ...]

    causes: ClassVar[dict[str, str]] = {
        "weak_firing": "rules fire only in part",
        "thin_support": "few training rows are behind the rules",
        "lost_support": "values lie outside what the rules saw in training",
        "conflict": "rules contradict each other",
    }
    range_text: ClassVar[str] = "range that the model remembers"
    _for_such_rows: ClassVar[str] = " for such rows"
    _lost: ClassVar[tuple[str, str, str]] = ("the firing", "is", "rules")
    _with_missing: ClassVar[str] = "The row goes down both branches where a rule asks for {them}."

    def outside_lines(self, outside: tuple[tuple[str, Any, Any, Any], ...]) -> list[str]:
        """The ranges may be smaller than those of training, so that their ends are not told."""
        told = [f"{spoken(name)} {value_text(to)} lies outside the {self.range_text}." for name, to, _, _ in outside]
        return ["Outside what the model remembers", *told]

    def _reason(self) -> str:
        """The rule without which the answer would lose most."""
        most = min(self.rules, key=lambda rule: rule.probability_without[self.best], default=None)
        if most is None or most.probability_without[self.best] >= self.probability[self.best]:
            return ""
        return f", because {most.conditions}" if most.conditions else ""

    def _reason_for_set(self) -> str:
        lacks = self._what_lacks()
        if not self.rules:
            clause = self._unlike_text()
            return f"no rule covers the row{f', because {clause}' if clause else ''}{lacks}"
        if self.ignorance < MUCH_IGNORANCE:
            ranked = sorted(zip(self.belief, self._labels, strict=True), key=lambda own: -own[0])[:2]
            return f"belief is divided, {listed([f'{share_text(bel)} for {own}' for bel, own in ranked])}"
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
            lines.append(f"... and so it is with {len(others) - MAX_CLASSES} more classes.")
        return lines

    def _ignorance(self) -> Section:
        lines = ["Next to nothing: the rules leave no evidence open."]
        if self.ignorance >= LEAST_IGNORANCE:
            because = self._open_because()
            lines = [f"Ignorance is {self.ignorance:.3f}, from 0 (settled) to 1 (no evidence): {because}."]
        return Section("What is not known", (*lines, *self._missing_line()))

    def _reasons(self) -> list[Section]:
        """The rules that fired, and what the most probable class would have without each of them."""
        if not self.rules:
            return [Section(RULES_TITLE, ("None: no rule covers the row.",))]
        # A rule without which the shown probability stays says nothing in a line of its own.
        shown = [rule for rule in self.rules[:MAX_RULES] if len(set(self._shares(rule))) == 2] or self.rules[:1]
        lines = [self._rule_line(rule) for rule in shown]
        if n_more := len(self.rules) - len(shown):
            lines.append(f"... and {n_more} more, which {'matters' if n_more == 1 else 'matter'} less.")
        if any("±" in rule.conditions for rule in shown):
            lines.append("A condition such as < 5 ±1 fits fully up to 4 and not at all from 6 on.")
        return [Section(RULES_TITLE, tuple(lines))]

    def _rule_line(self, rule: TreeRule) -> str:
        name = "A beginning of rules" if rule.number is None else f"Rule {rule.number}"
        condition = f"if {rule.conditions}" if rule.conditions else "always"
        says = f"{spoken(rule.label)} with confidence {share_text(rule.confidence)}"
        then, now = self._shares(rule)
        change = f"would have {then} instead of {now}" if then != now else f"would still have {now}"
        return (
            f"{name} fires by {share_text(rule.firing)}: {condition}, then {says}. Without it "
            f"{self._labels[self.best]} {change}."
        )

    def _shares(self, rule: TreeRule) -> tuple[str, str]:
        """The probability of the most probable class without a rule, and with it."""
        return f"{100 * rule.probability_without[self.best]:.1f} %", f"{100 * self.probability[self.best]:.1f} %"


def _tree_rules(model: TreeModel, row: Floats, evidence: Evidence) -> list[TreeRule]:
    """The rules that a row fires, those first without which the most probable class would change most."""
    tree, best = model.tree, int(evidence.probability[0].argmax())
    sources = fired_sources(model, model.fire(row)[0])
    parts, (without, ignorance) = sources.parts(evidence.belief[0]), sources.belief_without()
    probability = without + ignorance[:, None] / without.shape[1]
    order = np.lexsort((-sources.firing, -np.abs(evidence.probability[0, best] - probability[:, best])))
    shares, rules = [own[order].tolist() for own in (parts, without, probability)], []
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
                *(tuple(own[k]) for own in shares),
            )
        )
    return rules


# ---------------------------------------------------------------------------------------------------------------------
# Rules
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeighedRule(FiredRule):
    """A rule that fired and whose weights of evidence add up with those of others.

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
    """

    feature: str
    value: Any
    weight: tuple[float, ...]
    usual: tuple[float, ...]
    seen: tuple[float, float] | None

    @property
    def text(self) -> str:
        """The value, as a clause."""
        return f"{spoken(self.feature)} is {value_text(self.value)}"


@dataclass(frozen=True)
class Balance:
    """The scores of a row and what they are made of.

    ``prior`` and the weights of all features add up to the scores; so do ``base`` and what each feature adds to its
    usual weight.

    Attributes
    ----------
    scores : tuple of float
        Of each class; their softmax is the probability.
    prior : tuple of float
        What speaks for each class before any rule fires, and where gates close the class frequencies.
    features : tuple of FeatureWeight
        Features that rules ask, those first that move the compared classes furthest apart.
    compared : tuple of int
        Indices of two classes: what speaks for the first one, against the second. Of two classes the second label and
        the first one; of several the most probable class and the next.
    support : float
        How open the gates are, 0 to 1; all weights are multiplied by it, and the class frequencies count for the rest.
    pictures : tuple of float
        What curves and maps add together, for each class; part of the weights of the features.
    """

    scores: tuple[float, ...]
    prior: tuple[float, ...]
    features: tuple[FeatureWeight, ...]
    compared: tuple[int, int]
    support: float
    pictures: tuple[float, ...] = ()

    @property
    def base(self) -> tuple[float, ...]:
        """What is said of the training rows on average, for each class."""
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
        return [(own, (own.weight[a] - own.weight[b]) - (own.usual[a] - own.usual[b])) for own in self.features]

    def between(self, towards: int, against: int) -> Balance:
        """The same weights, by what they say of two other classes."""
        turned = replace(self, compared=(towards, against))
        order = sorted(turned.moved, key=lambda own: -abs(own[1]))
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

    A feature is compared with what it adds on average over the training rows: a low value of a feature whose rules ask
    for high ones adds nothing, and that is what opposes. ``values``: as a reader knows them.
    """
    scores, support = model.decision_scores(row)[0], float(model.fading(row)[0])
    contributions = model.contributions(row)[0]
    said = model.share_among_features(np.stack([contributions, support * model.mean_contributions]))
    here, usual = said.tolist()
    parts = [FeatureWeight(name, values[f], tuple(here[f]), tuple(usual[f]), seen) for f, name, seen in _asked(model)]
    pictures = tuple(contributions[model.n_rules : -1].sum(axis=0).tolist())
    balance = Balance(tuple(scores.tolist()), tuple(here[-1]), tuple(parts), (0, 0), support, pictures)
    # The second label is compared with the first one, or the most probable with the next.
    compared = np.argsort(-scores, kind="stable")[:2].tolist() if len(scores) > 2 else (len(scores) - 1, 0)
    return balance.between(*compared)


@kept_by_model
def _asked(model: RuleModel) -> list[tuple[int, str, tuple[float, float] | None]]:
    """The features that rules ask: index, name, and range over the training rows."""
    asked = sorted({model.feature_of(column) for column in model.read_columns.tolist()})
    return [(f, model.feature_names()[f], model.seen(f)) for f in asked]


def _weighed_rules(model: RuleModel, row: Floats, balance: Balance) -> list[WeighedRule]:
    """The rules that a row fires, those first that move the compared classes furthest apart."""
    firing = balance.support * model.rules.activation(model.tree, row)[0]
    fired = np.flatnonzero(firing > 0)
    said = firing[fired, None] * model.rules.weight[fired]
    towards, against = balance.compared
    order = np.argsort(-np.abs(said[:, towards] - said[:, against]), kind="stable")
    rest = np.array(balance.scores) - said
    odds = np.exp(rest - rest.max(axis=1, keepdims=True, initial=-np.inf))
    without, weights = (odds / odds.sum(axis=1, keepdims=True))[order].tolist(), said[order].tolist()
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
    """Why rules answer as they do: weights of evidence that add up, in sentences."""

    rules: tuple[WeighedRule, ...]
    balance: Balance
    rows: float

    causes: ClassVar[dict[str, str]] = {
        "thin_support": "few training rows are like this row",
        "lost_support": "values lie outside the training range",
    }
    range_text: ClassVar[str] = "range seen in training"
    _for_such_rows: ClassVar[str] = ""
    _lost: ClassVar[tuple[str, str, str]] = ("the evidence", "is", "training")
    _with_missing: ClassVar[str] = "Rules on {them} fire as they do for the average training row."

    def against(self, label: Any) -> Explanation:
        """The story told by what supports the most probable class and opposes this one; see :class:`Explanation`."""
        others = [own for c, own in enumerate(self.classes) if c != self.best]
        if label not in others:
            raise ValueError(f"label is {label!r}; choose one of {listed([repr(own) for own in others], 'or')}.")
        balance = self.balance.between(self.best, self.classes.index(label))
        rules = sorted(self.rules, key=lambda rule: -abs(balance.apart(rule.weight)))
        return replace(self, balance=balance, rules=tuple(rules))

    def outside_lines(self, outside: tuple[tuple[str, Any, Any, Any], ...]) -> list[str]:
        """The ranges are those of training."""
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
            lines.append(f"Conflict is {self.conflict:.3f}, the share of all weights, for and against, that cancels.")
        return Section("What the answer rests on", (*lines, *self._missing_line()))

    def _few_rows(self) -> str:
        is_thin = self.ignorance_causes.thin_support >= MUCH_IGNORANCE
        return f" The answer rests on {rows_text(self.rows)}." if is_thin else ""

    def _why_others(self) -> list[str]:
        """What the set would lack without its least probable class, and what to do about it."""
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
        return [lack, REMEDIES[self._why_several]]

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

    def _reason(self) -> str:
        """The features that matter most for the label."""
        speaking = self._speaking_for(self.best)
        if not speaking:
            return ", as for the average training row"
        least = SECOND_REASON * abs(self.balance.moves(speaking[0]))
        named = [part.text for part in speaking[:2] if abs(self.balance.moves(part)) >= least]
        return f", because {listed(named)}"

    def _reason_for_set(self) -> str:
        balance, lacks = self.balance, self._what_lacks()
        if self._why_several == "novelty":
            believed = max(0.0, 1 - sum(lost for _, lost in self.lost_support))
            is_faded = math.isclose(believed, balance.support)
            counts = f"{'all weights count' if is_faded else 'belief counts'} by {share_text(believed)} only"
            return f"{counts if believed else 'no training row supports an answer'}, because {self._outside()}{lacks}"
        if self._why_several == "ignorance":
            return f"few training rows are like this row{lacks}. The answer rests on {rows_text(self.rows)}"
        clauses, base = [], balance.apart(balance.base)
        for c, sign in zip(balance.compared, (1, -1), strict=True):
            strongest = self._speaking_for(c)[:1]
            clauses += [f"{part.text}, which speaks for {self._labels[c]}" for part in strongest]
            if not strongest and sign * base >= LEAST_SHOWN:
                clauses.append(f"the average training row speaks for {self._labels[c]}")
        return f"{'; '.join(clauses) or 'little speaks for any class'}{lacks}"

    def _outside(self) -> str:
        """Which values lie outside the training range, those that cost most first."""
        parts = {part.feature: part for part in self.balance.features}
        names = [name for name, _ in self.lost_support]
        clauses = []
        for part in (parts[name] for name in names[:MAX_OUTSIDE]):
            low, high = ("", "") if part.seen is None else map(number_text, part.seen)
            seen = f" while the training rows have {low if low == high else f'{low} to {high}'}"
            clauses.append(part.text + (", which no training row has" if part.seen is None else seen))
        more = len(names) - MAX_OUTSIDE
        return listed(clauses + [f"{more} more {'value lies' if more == 1 else 'values lie'} outside"] * (more > 0))

    def _speaking_for(self, c: int) -> list[FeatureWeight]:
        """Features that speak for one of the compared classes, the strongest first."""
        sign = 1 if c == self.balance.compared[0] else -1
        return [part for part, moved in self.balance.moved if sign * moved >= LEAST_SHOWN]

    def _reasons(self) -> list[Section]:
        return [self.weights_section(), self._rules_section()] if self.balance.support > 0 else []

    def weights_section(self) -> Section:
        """What each feature adds, and what they add up to."""
        balance = self.balance
        towards, against = (self._labels[c] for c in balance.compared)
        shown = [own for own in balance.moved if abs(own[1]) >= LEAST_SHOWN][:MAX_WEIGHTS]
        hidden = [moved for part, moved in balance.moved if (part, moved) not in shown]
        rows = [("average training row", "", weight_text(balance.apart(balance.base)))]
        rows += [(spoken(part.feature), value_text(part.value), weight_text(moved)) for part, moved in shown]
        if hidden:
            others = f"{len(hidden)} other {'feature' if len(hidden) == 1 else 'features'}"
            rows.append((others, "", weight_text(sum(hidden))))
        rows.append(("sum", "", weight_text(balance.apart(balance.scores))))
        lines = [f"A weight of +0.69 doubles the odds of {towards} against {against}, one of -0.69 halves them."]
        if balance.support < 1:
            support = share_text(balance.support)
            lines.append(f"All weights count by {support}, since values lie outside the training range.")
        title = f"What speaks for {towards} (+) and for {against} (-)"
        return Section(title, (Table(("feature", "value", "weight"), tuple(rows)), *lines))

    def _rules_section(self) -> Section:
        """The rules that fired, and what each adds to the compared classes."""
        if not self.rules:
            return Section(RULES_TITLE, ("None: the row fits no rule.", *self._pictures_line()))
        shown, hidden = self.rules[:MAX_RULES], self.rules[MAX_RULES:]
        lines = [self._rule_line(rule) for rule in shown]
        if hidden:
            rest = sum(self.balance.apart(rule.weight) for rule in hidden)
            lines.append(f"... and {len(hidden)} more, which together add {weight_text(rest)}.")
        lines += self._pictures_line()
        lines.append(f"Before any rule the prior says {weight_text(self.balance.apart(self.balance.prior))}.")
        lines.append("Here a rule is compared with its own silence; above, a value with the average training row.")
        if any(".." in rule.conditions for rule in shown):
            lines.append("A condition such as above 2..3 fits not at all up to 2 and fully from 3 on.")
        return Section(RULES_TITLE, tuple(lines))

    def _about_missing(self, them: str) -> str:
        """Rules fire as usual; curves and maps have a weight for missing values."""
        more = " Curves and maps have a weight for missing values." if any(self.balance.pictures) else ""
        return super()._about_missing(them) + more

    def _pictures_line(self) -> list[str]:
        """What curves and maps add together, where the model has some."""
        added = self.balance.pictures
        return [f"Curves and maps add {weight_text(self.balance.apart(added))}."] if any(added) else []

    def _rule_line(self, rule: WeighedRule) -> str:
        weight = self.balance.apart(rule.weight)
        favoured = self._labels[self.balance.compared[0 if weight > 0 else 1]]
        # Of three and more classes a rule may move a third one further than the two that it moves apart: tell both.
        told = [self.best] if len(self.classes) <= 2 else list(self.balance.compared)
        names = [self._labels[c] for c in told]
        then, now = ([f"{100 * own[c]:.1f} %" for c in told] for own in (rule.probability_without, self.probability))
        change = f"{names[0]} would have {then[0]} instead of {now[0]}"
        if then == now:
            change = listed([f"{name} would still have {share}" for name, share in zip(names, now, strict=True)])
        elif len(told) == 2:
            change = f"{names[0]} would have {then[0]} and {names[1]} {then[1]}, instead of {now[0]} and {now[1]}"
        return (
            f"Rule {rule.number} fires by {share_text(rule.firing)} and adds {weight_text(weight)}, for {favoured}: if "
            f"{rule.conditions}. Without it {change}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON; what is no number, or infinite, is None."""
        return super().to_dict() | {"balance": self.balance.to_dict([plain(label) for label in self.classes])}
