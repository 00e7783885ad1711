"""An explanation of one row: plain values, at most eight lines of text, and details on request."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from ferl._models.cases import CASES_NAME
from ferl._models.evidence import SET_LEVEL, IgnoranceCauses
from ferl._models.nearest import Change
from ferl._tell.notebook import MAX_BARS, effect_bars
from ferl._tell.page import Marked, Readable, Section, Table, as_html, as_plain, as_text
from ferl._tell.similar import SimilarCases
from ferl._tell.stability import deviations_text, rounded_down
from ferl._tell.unusual import UNUSUAL, VERY_UNUSUAL, NoveltyPart, novelty_verdict
from ferl._util.text import (
    difference_text,
    exact_text,
    has_words,
    is_meaning,
    listed,
    number_text,
    percent_text,
    plain,
    rows_text,
    share_text,
    spoken,
    value_text,
)

MAX_CLASSES = 12
MAX_FEATURES = 5
LEAST_CONFLICT = LEAST_IGNORANCE = 0.0005  # that three decimals show
LEAST_LOST, ALL_LOST = 0.005, 0.995  # that two decimals distinguish from nothing and from all
MAX_PROBABLE = 3  # classes that a summary names
MAX_SILENT = 3  # features in the line on values where no rule applies
NOVELTY_TITLE = "How unusual the row is"
WIDTH = 80  # columns of printed lines
MAX_LINES = 8  # of this width, of an explanation without details
MAX_ALSO = 3  # features for the answer, and as many against it, beside the main reason
LEAST_TOLD = math.log(1.05)  # effect on the odds that a sentence names
LEAST_SHOWN = 0.005  # effect, in log-odds, that a table shows
MAX_SHOWN = 8  # features whose effects a table shows; the others are summed
SECOND_REASON = 0.5  # of the main effect, that a feature has which is named beside it
MUCH_IGNORANCE = 0.1
# What to do about each concern. The first one that applies is the one that counts: an answer to a row unlike the
# training rows is a guess, and few rows do not show whether the classes are close.
REMEDIES = {
    "novelty": "What to do: do not use the model here; the row is unlike the training rows.",
    "ignorance": "What to do: collect rows like this one, since training has few of them.",
    "doubt": "What to do: get a second opinion, since no class is clearly ahead.",
}
# The parts of an explanation without details, the most important ones first.
PARTS = ("decision", "unlike", "remedy", "reason", "missing", "cases", "change", "others", "stable")
FEW_ROWS = 9  # and fewer leave that much ignorance
LITTLE_MARGIN = 0.01  # standard deviations


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired, or the beginning of one where beginnings are evidence too.

    Attributes
    ----------
    node : int
        The node of the tree where it ends.
    number : int or None
        Its number in :func:`ferl.export_text` and :func:`ferl.rules_frame`; None where it is no source of evidence by
        itself.
    conditions : str
        What follows "if"; one interval for each feature, with its band. "" for a tree without conditions.
    label : object
        The class that it supports.
    firing : float
        How strongly the row fires it, 0 to 1.
    support : float
        Training weight behind it.
    """

    node: int
    number: int | None
    conditions: str
    label: Any
    firing: float
    support: float


def value_clause(feature: str, value: Any) -> str:
    """The value of a feature as a clause; of similar cases what they were."""
    if feature == CASES_NAME:
        return f"the most similar known cases are {value}"
    return f"{spoken(feature)} is {value_text(value)}"


@dataclass(frozen=True)
class Effect:
    """What the value of a feature does to the odds of the most probable class, beside the average training row.

    Attributes
    ----------
    feature : str
        Its name.
    value : object
        The row's value; None where it is missing.
    average : float or None
        The mean over the training rows; None for categories.
    weight : float
        What it adds to the log-odds of the most probable class against the one it is compared with. Rules: what the
        feature adds here less what it adds on average over the training rows. Trees: the log-odds minus the log-odds of
        the same row without this value. Without the value the row takes both sides of a split, in the shares of the
        training rows.
    """

    feature: str
    value: Any
    average: float | None
    weight: float

    @property
    def clause(self) -> str:
        """The value beside the average: "LoyalCH is 0.95, higher than average"."""
        text = value_clause(self.feature, self.value)
        if self.average is None or not isinstance(self.value, float) or has_words(self.value):
            return text
        if number_text(self.value) == number_text(self.average):
            return f"{text}, about average"
        return f"{text}, {'higher' if self.value > self.average else 'lower'} than average"

    @property
    def text(self) -> str:
        """The value and its effect: "PriceCH 2.06 (/ 1.6)"."""
        return f"{spoken(self.feature)} {value_text(self.value)} ({odds_text(self.weight)})"


def odds_text(weight: float) -> str:
    """A weight in log-odds as what it multiplies or divides the odds by.

    Examples
    --------
    >>> odds_text(2.5), odds_text(-0.47), odds_text(0.02), odds_text(9.0), odds_text(0.001)
    ('x 12', '/ 1.6', 'x 1.02', 'x more than 1,000', 'x 1')
    """
    factor = math.exp(min(abs(weight), 20.0))
    if factor < 1.005:
        return "x 1"
    text = f"{factor:.2f}" if factor < 1.095 else f"{factor:.1f}" if factor < 9.95 else f"{float(f'{factor:.2g}'):.0f}"
    return f"{'x' if weight > 0 else '/'} {text if factor <= 1000 else 'more than 1,000'}"


def odds_value(weight: float) -> str:
    """Odds as a number of two digits."""
    odds = math.exp(max(-20.0, min(weight, 20.0)))
    if odds > 1000:
        return "more than 1,000"
    return "less than 0.001" if odds < 0.001 else number_text(float(f"{odds:.2g}"))


@dataclass(frozen=True)
class Certified:
    """How far all features may move at once without changing the label.

    Attributes
    ----------
    radius : float
        In standard deviations of each feature over the training rows; infinity: as far as they like.
    """

    radius: float

    def to_dict(self) -> dict[str, Any]:
        """In the types of JSON."""
        return {"radius": plain(self.radius), "is_unlimited": math.isinf(self.radius)}


@dataclass(frozen=True)
class Decided:
    """The label of a row by another decision than for the most probable class.

    Attributes
    ----------
    label : object
        The label.
    decision : str
        How it is chosen, in words.
    """

    label: Any
    decision: str


@dataclass(frozen=True)
class Explanation(Readable):
    """Why a row got its answer, and what would change it.

    ``print`` it for text, show it in a notebook for HTML, print it with rich for colours, or take :meth:`to_dict`. The
    text has at most eight lines of 80 columns, and more with ``details``; in HTML the details are folded.

    Attributes
    ----------
    label : object
        The most probable class, as ``predict`` returns it; None where the row gets no answer (:attr:`abstains`).
    classes : tuple
        The classes, in the order of the tuples below.
    probability, belief, plausibility : tuple of float
        For each class.
    in_set : tuple of bool
        Whether a class is in the prediction set.
    ignorance, conflict : float
        As in :class:`ferl.RuleEvidence` and :class:`ferl.Evidence`.
    ignorance_causes : IgnoranceCauses
        The ignorance by cause; the parts add up to it.
    rules : tuple of FiredRule
        The rules that fired, by descending effect. Trees: the change of the probability of the most probable class
        without the rule. Rules: the distance by which the rule separates the two classes that ``balance`` compares.
    novelty : float
        How unlike the training rows the row is.
    novelty_parts : tuple of NoveltyPart
        What each feature adds to it, largest first.
    lost_support : tuple of (str, float)
        Features at which gates closed, and the firing lost there, largest first.
    certified : Certified or None
        None where there is no label, or labels cannot be certified (``combination`` "cautious" and "chain").
    changes : tuple of Change or None
        Nearest change of each single feature that alters the label, nearest first; None if they were not requested, or
        there is no label.
    unproven : tuple of str
        Features without a known change, where the search did not prove that no change exists.
    missing : tuple of str
        Features whose value is missing.
    unseen : tuple of (str, object)
        Features whose category is not in the training rows, and the category.
    words : tuple of str
        What the words of the rules mean; empty where rules have none.
    balance : Balance or None
        What each feature adds to the scores of rules. None for trees.
    target : str
        Name of the target; "" where none was given.
    novelty_rank : float or None
        Share of the training rows that are less novel, in whole percents; None where the model does not store it.
    decided : Decided or None
        The label by another decision, where one was passed; everything else is about the most probable class.
    rows : float or None
        About how many training rows the answer of rules rests on. None for trees.
    effects : tuple of Effect
        What the value of each feature does to the odds of the most probable class, the largest effect first.
    rival : int or None
        Index of the class that the effects compare the most probable class with; None where there is only one class.
    details : bool
        Whether the text has the details.
    cases : tuple of str
        Sentences on similar known cases, which the text has before what would change the answer.
    similar : SimilarCases or None
        The most similar known cases, where the model has some; the details show them.
    level : tuple of str
        Features with a monotone constraint: a value outside the training range lowers belief and no probability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
    >>> story = clf.explain(X[70])
    >>> story.label, story.in_set
    (2, (False, False, True))
    >>> round(sum(rule.belief[2] for rule in story.rules) - story.belief[2], 12)
    0.0
    >>> [(change.feature, change.to, change.label) for change in story.changes]
    [('x3', 1.675, 1), ('x2', 2.4, 0)]
    """

    label: Any
    classes: tuple[Any, ...]
    probability: tuple[float, ...]
    belief: tuple[float, ...]
    plausibility: tuple[float, ...]
    in_set: tuple[bool, ...]
    ignorance: float
    conflict: float
    ignorance_causes: IgnoranceCauses
    rules: tuple[FiredRule, ...]
    novelty: float
    novelty_parts: tuple[NoveltyPart, ...]
    lost_support: tuple[tuple[str, float], ...]
    certified: Certified | None
    changes: tuple[Change, ...] | None
    unproven: tuple[str, ...]
    missing: tuple[str, ...]
    unseen: tuple[tuple[str, Any], ...]
    words: tuple[str, ...] = ()
    balance: Any = None
    target: str = ""
    novelty_rank: float | None = None
    decided: Decided | None = None
    rows: float | None = None
    effects: tuple[Effect, ...] = ()
    rival: int | None = None
    details: bool = False
    cases: tuple[str, ...] = ()
    similar: SimilarCases | None = None
    level: tuple[str, ...] = ()

    _width: ClassVar[int | None] = WIDTH

    # What explanations by rules and by trees call the same things.
    causes: ClassVar[dict[str, str]]
    """What each part of the ignorance means."""
    range_text: ClassVar[str]
    """What values are compared with: a tree keeps the ranges of its splits and of the rows it keeps alone."""
    _for_such_rows: ClassVar[str]
    _of_rules: ClassVar[str] = ""  # whose training range a value left
    _with_missing: ClassVar[str]

    @property
    def abstains(self) -> bool:
        """Whether the prediction set is the whole frame, of more than one class."""
        return len(self.classes) > 1 and all(self.in_set)

    @property
    def prediction_set(self) -> tuple[Any, ...]:
        """The classes in the prediction set."""
        return tuple(label for label, inside in zip(self.classes, self.in_set, strict=True) if inside)

    @property
    def best(self) -> int:
        """Index of the most probable class."""
        return self.probability.index(max(self.probability))

    @cached_property
    def class_order(self) -> list[int]:
        """Indices of the classes, the most probable first."""
        return sorted(range(len(self.classes)), key=lambda c: -self.probability[c])

    @cached_property
    def _labels(self) -> list[str]:
        """The classes as sentences call them."""
        return [spoken(label) for label in self.classes]

    # -----------------------------------------------------------------------------------------------------------------
    # What depends on the kind of the model
    # -----------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _reason_for_set(self) -> str:
        """Why the set has more than one class, in one clause."""

    @abstractmethod
    def _rules_section(self) -> Section:
        """The rules, and what they do."""

    @property
    @abstractmethod
    def _rows_behind(self) -> float | None:
        """The approximate number of training rows behind the answer; None where it is unknown."""

    @abstractmethod
    def _what_is_lost(self, feature: str) -> str:
        """What a value of the feature outside its training range takes away."""

    @abstractmethod
    def _outside(self, named: Collection[str] = ()) -> list[str]:
        """Clauses on values outside the training range, by descending cost; ``named`` features have one elsewhere."""

    @abstractmethod
    def _why_others(self) -> list[str]:
        """Why the set has other classes than the most probable one, or no smaller set does."""

    @abstractmethod
    def _ignorance(self) -> Section:
        """How much is not known, and why."""

    @abstractmethod
    def outside_lines(self, outside: tuple[tuple[str, Any, Any, Any], ...]) -> list[str]:
        """A title and a line for each value that lies outside of ``range_text``: an answer to it is a guess.

        ``outside``: features, their values, and the ends of the ranges.
        """

    def against(self, label: Any) -> Explanation:
        """The explanation of rules, as a comparison of the most probable class with this one.

        Parameters
        ----------
        label : object
            Another class.

        Returns
        -------
        Explanation
        """
        raise ValueError("Rules of a tree have no weights of evidence that add up; only stories of FERLClassifier do.")

    # -----------------------------------------------------------------------------------------------------------------
    # The answer
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def summary(self) -> str:
        """The label, the set or the abstention, and the main reason; then few training rows, where that matters."""
        answer = f"{spoken(self.target)}: {self.answer_text}" if self.target else self.answer_text
        if sum(self.in_set) > 1:
            return f"{answer}: {self._reason_for_set()}."
        reason, part = self._reason(), self._unlike
        if part is None:
            return f"{answer}{reason}.{self._few_rows()}"
        name, usual = spoken(part.feature), part.usual_text
        if f"{name} is {value_text(part.value)}" not in reason:
            return f"{answer}{reason}; but {self._unlike_text()}.{self._few_rows()}"
        is_known = usual and part.is_outside and not any(item == part.feature for item, _ in self.unseen)
        but = f"{name} is usually {usual}" if is_known else self._unlike_text()
        return f"{answer}{reason}; but {but}.{self._few_rows()}"

    def _few_rows(self) -> str:
        """A sentence on few training rows behind a label, where they matter."""
        return ""

    @cached_property
    def answer_text(self) -> str:
        """The classes of the set with their probabilities, or that there is no answer."""
        if self.abstains and self.ignorance == 1:
            return "No answer"
        named = [c for c in self.class_order if self.in_set[c]]
        words = [f"{self._labels[c]} ({percent_text(self.probability[c])})" for c in named]
        return f"No answer, {listed(words[:MAX_PROBABLE], 'or')}" if self.abstains else listed(words, "or")

    def _reason(self) -> str:
        """The features that matter most for the label, as a clause to follow it."""
        support = [effect for effect in self.effects if effect.weight >= LEAST_SHOWN]
        if not support:
            return ", as for the average training row" if self.rival is not None else ""
        named = [item for item in support[:2] if item.weight >= SECOND_REASON * support[0].weight]
        return f", because {listed([value_clause(item.feature, item.value) for item in named])}"

    @property
    def _sections(self) -> list[Section]:
        return [self._brief, *(self.detail_sections if self.details else [])]

    def to_html(self) -> str:
        """A fragment of HTML that needs nothing else, with the details folded; everything from the table is escaped."""
        parts = tuple([replace(section, look="ferl-detail") for section in self.detail_sections])
        shown = [effect for effect in self.effects if abs(effect.weight) >= LEAST_SHOWN][:MAX_BARS]
        rows = [
            (f"{spoken(item.feature)} {value_text(item.value)}", item.weight, odds_text(item.weight)) for item in shown
        ]
        is_drawn = bool(rows) and self.rival is not None
        drawn = [Section("", (f"Effects on the {self.compared_text}:", effect_bars(rows)))] if is_drawn else []
        return as_html([self._brief, *drawn, Section("", (Section("Details", parts),))])

    # -----------------------------------------------------------------------------------------------------------------
    # At most eight lines
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def _brief(self) -> Section:
        """At most eight lines; the details have what does not fit.

        The weakest of the other features are left out first. If that does not suffice, the least important part is left
        out, and the other features return as far as they fit.
        """
        lead, others = Marked(self._head, tone="ferl-lead"), self._other_effects()
        parts = {  # in the order of the text
            "decision": [self._decided_line] if self.decided is not None else [],
            "unlike": self._unlike_lines(),
            "remedy": [REMEDIES[self.concern]] if self.concern else [],
            "reason": self._main_reason(),
            "others": [],
            "missing": self._missing_names(),
            "cases": list(self.cases),
            "change": self._change_line(),
            "stable": self._stable_line(),
        }
        for n_parts, n_others in product(range(len(PARTS), -1, -1), range(max(len(others), 1), 0, -1)):
            parts["others"] = self._also(others[:n_others])
            section = Section("", (lead, *(line for name in parts if name in PARTS[:n_parts] for line in parts[name])))
            if len(as_text([section], WIDTH).splitlines()) <= MAX_LINES:
                break
        return section

    @property
    def _head(self) -> str:
        """The answer, what kind of case it is, and on how many rows the estimate rests."""
        answer = self.answer_text
        if sum(self.in_set) == 1:
            answer = f"{self._labels[self.best]}, {percent_text(self.probability[self.best])}"
        named = f"{spoken(self.target)}: " if self.target else ""
        article, kind = ("An", self.case) if self.case.startswith("un") and self.case != "usual" else ("A", self.case)
        behind, rests = self._rows_behind, ""
        if behind is not None:
            rests = (
                f"; the estimate rests on {'only ' if 0.5 <= behind <= FEW_ROWS else ''}{rows_text(behind, 'similar')}"
            )
        return f"{named}{answer}. {article} {kind} case{rests}."

    @cached_property
    def case(self) -> str:
        """What kind of case the row is, by all that is known of it: "usual", "novel", "unusual and doubtful", ..."""
        is_unusual = (self.novelty_rank or 0.0) >= UNUSUAL or self._unlike is not None
        words = ["novel"] * self._is_novel or ["unusual"] * is_unusual
        return " and ".join(words + ["doubtful"] * self._is_doubtful) or "usual"

    @property
    def concern(self) -> str:
        """Why the answer cannot be used as it is: "novelty", "ignorance", "doubt", the first that applies, or ""."""
        applies = {"novelty": self._is_novel, "ignorance": self._is_ignorant, "doubt": self._is_doubtful}
        return next((name for name in REMEDIES if applies[name]), "")

    @property
    def _is_novel(self) -> bool:
        return self.is_outside or (self.novelty_rank or 0.0) >= VERY_UNUSUAL

    @property
    def _is_ignorant(self) -> bool:
        return self.ignorance > MUCH_IGNORANCE

    @property
    def _is_doubtful(self) -> bool:
        return sum(self.in_set) > 1 or max(self.probability) < SET_LEVEL

    @property
    def is_outside(self) -> bool:
        """Whether a value lies outside the training range, so that it costs support, or is an unknown category."""
        return bool(self.unseen) or sum([lost for _, lost in self.lost_support]) >= LEAST_LOST

    @property
    def _decided_line(self) -> str:
        assert self.decided is not None
        return f"Decision: {spoken(self.decided.label)}, where the label is {self.decided.decision}."

    def _unlike_lines(self) -> list[str]:
        """What is unlike the training rows, where something is."""
        unseen = [
            f"{spoken(name)} is {value_text(value)}, a category that training did not have"
            for name, value in self.unseen[:MAX_ALSO]
        ]
        clauses = unseen + self._outside([name for name, _ in self.unseen])
        part = self._unlike
        if not clauses and part is not None:
            clauses = [self._unlike_text()]
        elif not clauses and (self.novelty_rank or 0.0) >= UNUSUAL:
            names = [f"{spoken(part.feature)} {value_text(part.value)}" for part in self.novelty_parts[:2] if part.part]
            clauses = [f"the combination of values, mainly {listed(names)}"] if names else []
        return [f"Unlike the training rows: {'; '.join(clauses)}."] if clauses else []

    @property
    def _value_effects(self) -> list[Effect]:
        """The effects of values; similar cases have a line of their own."""
        return [effect for effect in self.effects if effect.feature != CASES_NAME]

    def _main_reason(self) -> list[str]:
        """The feature with the largest effect for the answer; here the reference of all effects is named."""
        support = [effect for effect in self._value_effects if effect.weight >= LEAST_TOLD]
        if self.rival is None or self.ignorance == 1 or not any(effect.weight for effect in self.effects):
            return []
        best, than = self._labels[self.best], f"compared with {self._reference}"
        if not support and self.abstains:
            return []
        if not support:
            return [f"Main reason: none of the values; none raises the odds of {best} by 5 % or more, {than}."]
        odds = odds_text(support[0].weight)
        effect = f"odds of {best} {odds} {than}"
        if len(self.classes) > 2:
            effect = f"{odds} against {self._labels[self.rival]}, {than}"
        what = f"Strongest evidence for {best}" if self.abstains else "Main reason"
        return [f"{what}: {support[0].clause} ({effect})."]

    @property
    def _reference(self) -> str:
        """What effects compare the row with."""
        return "the average training row"

    def _other_effects(self) -> list[Effect]:
        """Other features for the answer, and features against it, the largest effects first."""
        if self.ignorance == 1:
            return []
        support = [effect for effect in self._value_effects if effect.weight >= LEAST_TOLD][1 : 1 + MAX_ALSO]
        oppose = [effect for effect in self._value_effects if effect.weight <= -LEAST_TOLD][:MAX_ALSO]
        return sorted(support + oppose, key=lambda effect: -abs(effect.weight))

    def _also(self, effects: Sequence[Effect]) -> list[str]:
        """Features for the answer, and features against it, in the order of their effects."""
        support = [effect.text for effect in effects if effect.weight > 0]
        oppose = [effect.text for effect in effects if effect.weight < 0]
        pairs = ((f"Also for {self._labels[self.best]}", support), ("Against", oppose))
        line = " ".join([f"{what}: {', '.join(item)}." for what, item in pairs if item])
        return [line] if line else []

    def _missing_names(self) -> list[str]:
        names = [spoken(name) for name in self.missing[:MAX_FEATURES]]
        names += [f"{len(self.missing) - len(names)} more"] * (len(self.missing) > len(names))
        return [f"Missing: {listed(names)}."] if names else []

    def _change_line(self) -> list[str]:
        """The nearest change of one value that alters the label."""
        if self.changes is None or self.abstains:
            return []
        result = [change for change in self.changes if not change.is_silent]
        if result:
            return [f"What would change it: {self._change_text(result[0])}, all else equal."]
        if self.unproven or self.changes:
            return [f"What would change it: no single value was found within the {self.range_text}."]
        return [f"What would change it: no single value within the {self.range_text}."]

    def _change_text(self, change: Change) -> str:
        name, to = spoken(change.feature), _number(change.to)
        then = f" (then {spoken(change.label)})" if len(self.classes) > 2 else ""
        if getattr(change.to, "step", ""):  # a date
            later = "later" if change.to > change.value else "earlier"
            return f"{name} {to}, {difference_text(change.to, change.value)} {later}{then}"
        return f"{name} {to} instead of {value_text(change.value)}{then}"

    def _stable_line(self) -> list[str]:
        """How far all numbers may move at once, rounded down."""
        if self.certified is None:
            return []
        radius = self.certified.radius
        if math.isinf(radius):
            return ["Stable: moving numbers cannot change it."]
        if radius < LITTLE_MARGIN:
            return ["Not stable: small changes of several numbers at once may change it."]
        far = number_text(rounded_down(radius, 2), digits=2)
        unit_text = "standard deviation" if far == "1" else "standard deviations"
        return [f"Stable: moving all numbers by up to {far} {unit_text} cannot change it."]

    # -----------------------------------------------------------------------------------------------------------------
    # Details
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def detail_sections(self) -> list[Section]:
        """The details: decision, evidence, effects, rules, ignorance, novelty, what would change the label."""
        page = [
            self._decision(),
            self._evidence(),
            self._prediction_set(),
            self.effects_section(),
            *([] if self.similar is None else self.similar._sections),
            self._rules_section(),
            Section("What the words mean", self.words),
            self._ignorance(),
            self._novelty(),
            self._stability(),
        ]
        return [section for section in page if section.blocks]

    @property
    def compared_text(self) -> str:
        """What the effects multiply: "odds of CH", "odds of A against B"."""
        best = self._labels[self.best]
        return (
            f"odds of {best}" if len(self.classes) <= 2 else f"odds of {best} against {self._labels[self.rival or 0]}"
        )

    def effects_section(self) -> Section:
        """The effect of each feature, and of all together."""
        shown = [effect for effect in self.effects if abs(effect.weight) >= LEAST_SHOWN]
        if self.rival is None or not shown:
            return Section("")
        rows = [
            (
                spoken(effect.feature),
                value_text(effect.value),
                "" if effect.average is None else number_text(effect.average),
                odds_text(effect.weight),
            )
            for effect in shown[:MAX_SHOWN]
        ]
        rest = [effect.weight for effect in self.effects if effect not in shown[:MAX_SHOWN]]
        if any(rest):
            rows.append(
                (f"{len(rest)} other {'feature' if len(rest) == 1 else 'features'}", "", "", self._rest_text(rest))
            )
        rows += self._more_effects()
        title = f"Effects on the {self.compared_text}, compared with the average training row"
        table = Table(("feature", "value", "average", "effect"), tuple(rows))
        return Section(title, (table, *self._about_effects()))

    def _rest_text(self, rest: list[float]) -> str:
        """The effects of the features that are not shown."""
        return odds_text(sum(rest))

    def _more_effects(self) -> list[tuple[str, str, str, str]]:
        """Rows for effects that belong to no feature."""
        return []

    @abstractmethod
    def _about_effects(self) -> list[str]:
        """What the effects mean together."""

    def _decision(self) -> Section:
        if self.decided is None:
            return Section("")
        label, best = spoken(self.decided.label), self._labels[self.best]
        lines = [f"{label}, where the label is {self.decided.decision}."]
        lines += [] if label == best else [f"All that follows is about {best}, the most probable class."]
        return Section("Decision", tuple(lines))

    def _evidence(self) -> Section:
        rows = tuple(
            (
                self._labels[c],
                f"{100 * self.probability[c]:.1f} %",
                f"{100 * self.belief[c]:.1f} to {100 * self.plausibility[c]:.1f} %",
                "in the set" if self.in_set[c] else "not in the set",
            )
            for c in self.class_order[:MAX_CLASSES]
        )
        hidden = len(self.classes) - MAX_CLASSES
        lines = [f"... and {hidden} more classes, each less probable."] if hidden > 0 else []
        return Section("Evidence", (Table(("class", "probability", "support", ""), rows), *lines))

    def _prediction_set(self) -> Section:
        """Why the set is not smaller."""
        lines = self._why_others() if sum(self.in_set) > 1 else ()
        return Section("Why other classes are in the set", tuple(lines))

    # -----------------------------------------------------------------------------------------------------------------
    # What is not known, and what is unlike the training rows
    # -----------------------------------------------------------------------------------------------------------------

    def _missing_line(self) -> list[str]:
        """Which values are missing, and what becomes of them."""
        names = [spoken(name) for name in self.missing[:MAX_FEATURES]]
        more = len(self.missing) - len(names)
        names += [f"{more} more"] * (more > 0)
        them = "it" if len(self.missing) == 1 else "them"
        return [f"Missing: {listed(names)}. {self._about_missing(them)}"] if names else []

    def _about_missing(self, them: str) -> str:
        """What becomes of missing values."""
        return self._with_missing.format(them=them)

    def _open_because(self) -> str:
        """The causes of the ignorance, the largest first, with the part of each where there are several."""
        parts = {name: getattr(self.ignorance_causes, name) for name in self.causes}
        shown = sorted((name for name in parts if parts[name] >= LEAST_IGNORANCE), key=lambda name: -parts[name])
        if len(shown) == 1:
            return self.causes[shown[0]]
        return listed([f"{parts[name]:.3f} because {self.causes[name]}" for name in shown]) or "from many small causes"

    def _what_lacks(self) -> str:
        """Which values are missing, to follow another clause."""
        names = [spoken(name) for name in self.missing]
        if len(names) > 3:
            return f", with {len(names)} values missing"
        return f", and {listed(names)} {'is' if len(names) == 1 else 'are'} missing" if names else ""

    @cached_property
    def _unlike(self) -> NoveltyPart | None:
        """What is most unlike the training rows, where something clearly is."""
        lost = [name for name, _ in self.lost_support]
        # A gate that closed names its feature, whatever else is unusual.
        if lost:
            return next((part for part in self.novelty_parts if part.feature == lost[0]), None)
        clearly = [part for part in self.novelty_parts if part.is_unusual]
        is_unusual = (self.novelty_rank or 0.0) >= UNUSUAL
        return next(iter(clearly or [part for part in self.novelty_parts if is_unusual and part.is_outside]), None)

    def _unlike_text(self) -> str:
        """The same as a clause; "" where nothing is clearly unlike the training rows."""
        part = self._unlike
        if part is None:
            return ""
        start = f"{spoken(part.feature)} is {value_text(part.value)}, "
        if any(name == part.feature for name, _ in self.unseen):
            return f"{start}a category that training did not have"
        if part.usual_text and part.is_outside:
            return f"{start}while {part.usual_text} is usual{self._for_such_rows}"
        return f"{start}outside the training range of a rule"

    def _novelty(self) -> Section:
        """Novelty by feature, beside what is usual."""
        if len(self.missing) == len(self.novelty_parts):
            return Section(NOVELTY_TITLE, ("Unknown, since all values are missing.",))
        if self.novelty == 0:
            return Section(NOVELTY_TITLE, ("Novelty is 0, the least possible.",))
        lines, is_finite = ["Novelty is too large to be written as a number."], math.isfinite(self.novelty)
        if is_finite:
            text = number_text(self.novelty if self.novelty < 100 else round(self.novelty), digits=3)
            rank = self.novelty_rank
            verdict = "" if rank is None else novelty_verdict(rank, self.is_outside)
            lines = [f"{verdict} (novelty {text})." if verdict else f"Novelty is {text}."]
        lines += [
            f"{spoken(name)} is {value_text(value)}, a category that training did not have."
            for name, value in self.unseen
        ]
        for name, lost in self.lost_support[:MAX_FEATURES]:
            if lost >= LEAST_LOST:
                is_all = lost >= ALL_LOST
                what = self._what_is_lost(name)
                part = f"{what} is lost".capitalize() if is_all else f"{share_text(lost)} of {what} is lost"
                lines.append(f"{part}, since {spoken(name)} lies outside the training range{self._of_rules}.")
        rows = tuple(
            (
                spoken(part.feature),
                value_text(part.value),
                part.usual_text,
                f"{100 * part.part / self.novelty:.0f} %" if is_finite else "",
            )
            for part in self._novelty_rows()
        )
        headings = ("feature", "value", f"usual{self._for_such_rows}", "share of novelty")
        return Section(NOVELTY_TITLE, (Table(headings, rows), *lines))

    def _novelty_rows(self) -> list[NoveltyPart]:
        """The largest parts of the novelty, and every feature that the explanation calls unlike the training rows."""
        named = {name for name, _ in (*self.unseen, *self.lost_support)}
        named |= set() if self._unlike is None else {self._unlike.feature}
        largest = [part.feature for part in self.novelty_parts if part.part >= 0.005 * self.novelty][:MAX_FEATURES]
        return [part for part in self.novelty_parts if part.feature in named.union(largest)]

    # -----------------------------------------------------------------------------------------------------------------
    # What would change the answer
    # -----------------------------------------------------------------------------------------------------------------

    def _stability(self) -> Section:
        if self.abstains:
            return Section("")  # there is no label to change
        lines, label = [], spoken(self.label)
        if self.certified is not None:
            radius = self.certified.radius
            if math.isinf(radius):
                lines.append(f"Proven: however far the numbers move, the label stays {label}.")
            elif radius > 0:
                lines.append(
                    f"Proven: the label stays {label} as long as no number moves by more than "
                    f"{deviations_text(radius)} of the training rows."
                )
            else:
                lines.append(f"Nothing is proven: {label} has no margin over other classes.")
        if self.changes is not None:
            lines += self._change_lines(self.changes, label)
        if self.missing:
            lines.append("Missing values are taken to stay missing.")
        return Section("What would change the label", tuple(lines))

    def _change_lines(self, changes: tuple[Change, ...], label: str) -> list[str]:
        searched = listed([spoken(name) for name in self.unproven[:MAX_FEATURES]])
        within, other = f"within the {self.range_text}", f"makes the label other than {label}"
        if not changes and not searched:
            return [f"Proven: no change of a single value {within} {other}."]
        telling = [change for change in changes if not change.is_silent]
        silent = [change for change in changes if change.is_silent]
        lines = [_change_line(change) for change in telling[:MAX_FEATURES]]
        if len(telling) > MAX_FEATURES:
            n_more = len(telling) - MAX_FEATURES
            lines.append(f"... and {n_more} more {'feature' if n_more == 1 else 'features'}, further away.")
        if any(isinstance(change.to, float) for change in telling):
            lines.append(f"Each number is the nearest {within}, rounded to few digits.")
        if changes and not telling:
            lines.append(f"No change of a single value {within} {other}.")
        if silent:
            texts = [f"{spoken(item.feature)} were {_number(item.to)}" for item in silent[:MAX_SILENT]]
            if (more := len(silent) - MAX_SILENT) > 0:
                texts.append(
                    f"one of {more} more features moved as far" if more > 1 else "one more feature moved as far"
                )
            lines.append(f"There would be no answer, because no rule applies there, if {listed(texts, 'or')}.")
        if searched:
            lines.append(
                f"No change of {searched} alone {within} was found that {other}; this is a search, not a proof."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON; what is no number, or infinite, is None."""
        names = [plain(label) for label in self.classes]
        by_class = zip(names, self.probability, self.belief, self.plausibility, self.in_set, strict=True)
        return {
            **({"target": self.target} if self.target else {}),
            "label": plain(self.label),
            **({} if self.decided is None else {"decided": as_plain(self.decided)}),
            "summary": self.summary,
            "abstains": self.abstains,
            "set": as_plain(self.prediction_set),
            "classes": [
                {"label": label, "probability": p, "belief": bel, "plausibility": pl, "in_set": inside}
                for label, p, bel, pl, inside in by_class
            ],
            "ignorance": {"total": self.ignorance, **vars(self.ignorance_causes)},
            "rows": self.rows,
            "case": self.case,
            "concern": self.concern,
            "rival": None if self.rival is None else names[self.rival],
            "effects": as_plain(self.effects),
            "conflict": self.conflict,
            "rules": as_plain(self.rules),
            "novelty": {
                "total": plain(self.novelty),
                "rank": self.novelty_rank,
                "features": as_plain(self.novelty_parts),
            },
            "lost_support": [{"feature": name, "firing": lost} for name, lost in self.lost_support],
            "certified": as_plain(self.certified),
            "changes": as_plain(self.changes),
            "unproven": list(self.unproven),
            "missing": list(self.missing),
            "unseen": [{"feature": name, "value": plain(value)} for name, value in self.unseen],
            "words": list(self.words),
            "balance": None,
        }


def _change_line(change: Change) -> str:
    name, answer = spoken(change.feature), spoken(change.label)
    if not isinstance(change.to, float) or is_meaning(change.to):
        return f"If {name} were {value_text(change.to)} instead of {value_text(change.value)}: {answer}."
    # With fewer digits than it has the value might no longer alter the label.
    to, now, is_up = exact_text(change.to), value_text(change.value), change.to > change.value
    now = exact_text(change.value) if now == to else now
    apart = difference_text(change.to, change.value)
    if getattr(change.to, "step", ""):  # a date
        apart += " later" if is_up else " earlier"
    else:
        apart = f"{'up' if is_up else 'down'} by {apart}"
    return f"If {name} were {to} instead of {now} ({apart}, {deviations_text(change.distance)}): {answer}."


def _number(value: Any) -> str:
    return exact_text(value) if isinstance(value, float) and not is_meaning(value) else value_text(value)
