"""A model at a glance: how much each feature matters, rules, classes, how good it is, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import feature_importances, read_shapes
from ferl._models.tree_model import TreeModel
from ferl._tell.curves import COMPARED, curve_place, curve_summary
from ferl._tell.page import Readable, Section, Table, as_plain
from ferl._tell.statements import Statement, Style, statements, word_meanings
from ferl._tell.unusual import Usual, usual_values
from ferl._util.text import counted, listed, percent_text, plain, share_text, spoken, support_text

MAX_FEATURES = 15  # that are shown
MAX_RULES = 12
MAX_CLASSES = 20
MAX_NUMBERS = 8  # of rules that support a class
MAX_TYPICAL = 3  # features of a class profile, the most important ones


@dataclass(frozen=True)
class RuleSummary:
    """A rule in short.

    Attributes
    ----------
    number : int
        Its number among the rules, those that apply to most rows first.
    conditions : str
        What follows "if".
    label : object
        The class that it supports.
    confidence : float or None
        The share of this class behind it; None where weights add up.
    support : float
        Training weight behind it.
    share : float
        Share of the whole training weight.
    weight : float or None
        What it adds to the log-odds of its class against the class that it opposes most; None for trees.
    n_features : int
        Number of features that it uses.
    """

    number: int
    conditions: str
    label: Any
    confidence: float | None
    support: float
    share: float
    weight: float | None
    n_features: int


@dataclass(frozen=True)
class ClassProfile:
    """What a class looks like to the model.

    Attributes
    ----------
    label : object
        The class.
    share : float
        Its share of the training weight.
    rules : tuple of int
        Numbers of the rules that favour it.
    typical : tuple of (str, Usual)
        Usual values of the training rows of these rules, for each feature that matters, the most important first; empty
        where weights add up, since most rows fit rules in part.
    strongest : tuple of (str, str, float), or None
        Where weights add up: the feature, the value ("at 3", "from 3 to 5") that favours this class against all
        others, and its effect in log-odds compared with the average row; None where no value of a single feature
        supports the class.
    is_answered : bool
        Whether it is the most probable class of some training row that the model keeps; True if it keeps no rows.
    """

    label: Any
    share: float
    rules: tuple[int, ...]
    typical: tuple[tuple[str, Usual], ...]
    strongest: tuple[str, str, float] | None
    is_answered: bool


@dataclass(frozen=True)
class Overview(Readable):
    """A model at a glance.

    Attributes
    ----------
    variant : str
        Kind of tree.
    training_weight : float
        Of all training rows.
    importances : tuple of (str, float)
        Features that matter and their importance, largest first; as ``feature_importances_``.
    n_features : int
        Number of all features.
    rules : tuple of RuleSummary
        The rules, those that apply to most rows first.
    classes : tuple of ClassProfile
        The classes.
    curves : tuple of (str, str)
        Where weights add up: features with rules on them alone, the most important first, and the effects of their
        values.
    words : tuple of str
        What the words of the rules mean; empty where rules have none.
    accuracy : Accuracy or None
        Accuracy of the model on the given rows; None without rows.
    target : str
        Name of the target; "" where none was given.
    beside_rules : str
        What the model has beside rules, "12 curves (310 steps), 8 maps (620 cells)"; "": nothing.
    date_copies : str
        The sentence that names features which repeat parts of a date and are not read; "": none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, overview
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
    >>> print(overview(clf).to_text(width=112))
    3 rules on 2 of 4 features distinguish 3 classes; x2 matters most (56 %).
    Always predicting 0 would be right for 33.3 % of the training rows.
    <BLANKLINE>
    What matters
      feature  importance
      x2             56 %
      x3             44 %
    <BLANKLINE>
    Rules, by the number of rows that they apply to
      1. If x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06, then 1 (0.89). It applies to 52.6 rows, 35 % of the training rows.
      2. If x2 < 2.46 ±0.09, then 0 (0.98). It applies to 50.0 rows, 33 % of the training rows.
      3. If x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06, then 2 (0.94). It applies to 47.4 rows, 32 % of the training rows.
    <BLANKLINE>
    Classes
      0: 33 % of the training rows. Rule 2 favours this class; there x2 is usually 1.2 to 1.7 and x3 0.1 to 0.4.
      1: 33 % of the training rows. Rule 1 favours this class; there x2 is usually 3.5 to 5.1 and x3 1 to 1.6.
      2: 33 % of the training rows. Rule 3 favours this class; there x2 is usually 4.8 to 6.7 and x3 1.8 to 2.5.
    """

    variant: str
    training_weight: float
    importances: tuple[tuple[str, float], ...]
    n_features: int
    rules: tuple[RuleSummary, ...]
    classes: tuple[ClassProfile, ...]
    curves: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ()
    accuracy: Accuracy | None = None
    target: str = ""
    beside_rules: str = ""
    date_copies: str = ""

    @property
    def summary(self) -> str:
        """One sentence: how large the model is and what it looks at most."""
        named = f"{spoken(self.target)}: " if self.target else ""
        rules = f"{named}{', '.join(item for item in (counted(len(self.rules), 'rule'), self.beside_rules) if item)}"
        if not self.importances:
            if "known case" in self.beside_rules:
                return f"{rules}: the vote of similar cases alone decides."
            return f"{rules}, and no feature matters: all rows get the same answer."
        name, share = self.importances[0]
        n_used, n_all = len(self.importances), self.n_features
        all_used = "1 feature" if n_all == 1 else f"all {n_all} features"
        used = f"{n_used} of {n_all} features" if n_used < n_all else all_used
        verb = "distinguishes" if len(self.rules) == 1 and not self.beside_rules else "distinguish"
        most = f"{spoken(name)} matters most ({percent_text(share)})"
        return f"{rules} on {used} {verb} {len(self.classes)} classes; {most}."

    @property
    def baseline(self) -> tuple[Any, float]:
        """The commonest class and its share of the training weight: how often always predicting it would be right."""
        most = max(self.classes, key=lambda item: item.share)
        return most.label, most.share

    @property
    def warnings(self) -> tuple[str, ...]:
        """Classes that the model hardly ever answers, with what to do about it."""
        unanswered = [item for item in self.classes if self._is_unanswered(item)]
        return tuple(map(_warning, unanswered)) if len(self.classes) > 1 else ()

    def _is_unanswered(self, profile: ClassProfile) -> bool:
        return not profile.is_answered

    def _rule_sections(self) -> list[Section]:
        """The rules, in sentences."""
        raise NotImplementedError

    @cached_property
    def _sections(self) -> list[Section]:
        label, share = self.baseline
        compare = f"Always predicting {spoken(label)} would be right for {100 * share:.1f} % of the training rows."
        lead = [self.summary, compare, *([self.date_copies] if self.date_copies else [])]
        page = [Section("", tuple(lead), is_lead=True)]
        page += [] if self.accuracy is None else [self.accuracy.section]
        page += [
            Section("Warnings", _more(self.warnings, MAX_CLASSES, "classes")),
            self._what_matters(),
            *self._rule_sections(),
            Section("What the words mean", _more(self.words, MAX_FEATURES, "features")),
            Section("Classes", _more([_class_line(item) for item in self.classes], MAX_CLASSES, "classes")),
        ]
        return [section for section in page if section.blocks]

    def _what_matters(self) -> Section:
        if not self.importances:
            return Section("")
        rows = tuple((spoken(name), percent_text(share)) for name, share in self.importances[:MAX_FEATURES])
        hidden = len(self.importances) - MAX_FEATURES
        lines = (f"... and {hidden} more {'feature' if hidden == 1 else 'features'}.",) if hidden > 0 else ()
        return Section("What matters", (Table(("feature", "importance"), rows), *lines))

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "summary": self.summary,
            "variant": self.variant,
            "training_weight": self.training_weight,
            "n_features": self.n_features,
            "importances": [{"feature": name, "importance": share} for name, share in self.importances],
            "rules": as_plain(self.rules),
            "beside_rules": self.beside_rules,
            "date_copies": self.date_copies,
            "classes": [
                as_plain(item)
                | {"typical": [{"feature": name, "usual": as_plain(usual)} for name, usual in item.typical]}
                for item in self.classes
            ],
            "curves": [{"feature": name, "text": text} for name, text in self.curves],
            "words": list(self.words),
            "baseline": {"label": plain(self.baseline[0]), "share": self.baseline[1]},
            "warnings": list(self.warnings),
            "accuracy": as_plain(self.accuracy),
        }


class TreeOverview(Overview):
    """A tree at a glance."""

    def _is_unanswered(self, profile: ClassProfile) -> bool:
        return not profile.is_answered or not profile.rules

    def _rule_sections(self) -> list[Section]:
        lines = [
            f"{rule.number}. {f'If {rule.conditions}, then' if rule.conditions else 'Always'} {spoken(rule.label)} "
            f"({share_text(rule.confidence or 0.0)}). It applies to {support_text(rule.support)} rows, "
            f"{percent_text(rule.share)} of the training rows."
            for rule in self.rules[:MAX_RULES]
        ]
        lines += [""] * (len(self.rules) - len(lines))  # counted, not shown
        return [Section("Rules, by the number of rows that they apply to", _more(lines, MAX_RULES, "rules"))]


class RuleOverview(Overview):
    """Rules whose weights add up, at a glance: the curves that they add up to, and rules on several features.

    The prior supports classes as well, so a class may be predicted that no rule supports. Rules in words are listed one
    by one: a curve would hide the words.
    """

    def _rule_sections(self) -> list[Section]:
        texts = [
            f"Rule {rule.number} supports {spoken(rule.label)} by {rule.weight or 0.0:.2f} if {rule.conditions}."
            for rule in self.rules
            if self.words or rule.n_features > 1
        ]
        if self.words:
            return [Section("Rules", _more(texts, MAX_RULES, "rules"))]
        # A sentence that begins with the name of a column keeps the name as it is.
        sentences = [f"T{text[1:]}." if text.startswith(COMPARED) else f"{text}." for _, text in self.curves]
        to = f"the log-odds of {spoken(self.classes[1].label)}" if len(self.classes) == 2 else "the scores"
        return [
            Section(
                f"What each feature adds to {to}, compared with the average training row",
                _more(sentences, MAX_FEATURES, "features"),
            ),
            Section("Rules on several features", _more(texts, MAX_RULES, "rules")),
        ]


@singledispatch
def overview(model: Any) -> Overview:
    """A model at a glance; see :func:`ferl.overview`."""
    raise TypeError(f"A {type(model).__name__} has no overview.")


@overview.register
def _(model: TreeModel) -> Overview:
    style, names = _style(model), model.feature_names()
    rules = {
        statement.node: _summary(style, statement, confidence=float(statement.adds[statement.label]))
        for statement in statements(model)
    }
    shared = _shared(model, style)
    matter = np.argsort(-feature_importances(model), kind="stable")[: len(shared["importances"])].tolist()
    classes, answered, share = [], _answered(model), _shares(model)
    for c, label in enumerate(model.labels):
        speaking = {node: rule.number for node, rule in rules.items() if rule.label == label}
        nodes: NDArray[np.intp] = np.array(list(speaking), dtype=np.intp)
        usual = usual_values(model, nodes) if speaking else [None] * len(names)
        typical = tuple((names[f], values) for f in matter if (values := usual[f]) is not None)
        classes.append(ClassProfile(label, share[c], tuple(speaking.values()), typical, None, c in answered))
    return TreeOverview(**shared, rules=tuple(rules.values()), classes=tuple(classes), curves=())


@overview.register
def _(model: RuleModel) -> Overview:
    style, names = _style(model), model.column_names()
    rules = [_summary(style, statement, weight=float(np.ptp(statement.adds))) for statement in statements(model)]
    classes, answered, share = [], _answered(model), _shares(model)
    for c, label in enumerate(model.labels):
        speaking = tuple(rule.number for rule in rules if rule.label == label)
        classes.append(ClassProfile(label, share[c], speaking, (), _strongest(model, style, c), c in answered))
    curves = tuple((names[curve.feature], curve_summary(style, curve)) for curve in read_shapes(model).curves)
    return RuleOverview(**_shared(model, style), rules=tuple(rules), classes=tuple(classes), curves=curves)


def _style(model: Model) -> Style:
    return Style(model, [spoken(name) for name in model.column_names()], [spoken(label) for label in model.labels])


def _shared(model: Model, style: Style) -> dict[str, Any]:
    importance, names = feature_importances(model), model.feature_names()
    order = np.argsort(-importance, kind="stable").tolist()
    return {
        "variant": model.title,
        "training_weight": float(model.tree.weight[0]),
        "importances": tuple((names[f], float(importance[f])) for f in order if importance[f] > 0),
        "n_features": len(names),
        "words": tuple(word_meanings(model, style.names)),
        "target": model.schema.target.name,
        "beside_rules": model.size_beside_rules,
        "date_copies": model.date_copies_note,
    }


def _summary(
    style: Style, statement: Statement, confidence: float | None = None, weight: float | None = None
) -> RuleSummary:
    return RuleSummary(
        number=statement.number or 0,
        conditions=style.conditions(statement),
        label=style.model.labels[statement.label],
        confidence=confidence,
        support=statement.support,
        share=statement.share,
        weight=weight,
        n_features=len({condition.feature for condition in statement.conditions}),
    )


def _answered(model: Model) -> set[int]:
    """Classes that training rows get which the model keeps; all where it keeps none."""
    kept = model.tree.profile.exemplar_row
    return set(model.evidence(kept).probability.argmax(axis=1).tolist() if len(kept) else range(len(model.classes)))


def _shares(model: Model) -> list[float]:
    """The share of each class in the training weight."""
    shares: list[float] = (model.tree.class_weight[0] / model.tree.weight[0]).tolist()
    return shares


def _strongest(model: RuleModel, style: Style, c: int) -> tuple[str, str, float] | None:
    """The feature and the value that support a class most against all others; None without one."""
    result = None
    for curve in read_shapes(model).curves:
        evidence = curve.evidence - curve.mean
        margin = evidence[:, c] - np.delete(evidence, c, axis=1).max(axis=1, initial=-np.inf)
        corner = int(margin.argmax())
        if np.inf > margin[corner] > (0.0 if result is None else result[2]):
            result = model.column_names()[curve.feature], curve_place(style, curve, corner), float(margin[corner])
    return result


def _warning(profile: ClassProfile) -> str:
    """What is the matter with a class that the model hardly ever answers, and what to do about it."""
    label = spoken(profile.label)
    fact = f"{label} is predicted for none of the training rows that the model keeps"
    if not profile.rules:
        never = (
            "" if profile.is_answered else ", and it is predicted for none of the training rows that the model keeps"
        )
        fact = f"No rule favours {label} over the other classes{never}"
    return f'{fact}: fit with class_weight="balanced", or use predict(X, decision="balanced").'


def _class_line(profile: ClassProfile) -> str:
    start = f"{spoken(profile.label)}: {percent_text(profile.share)} of the training rows."
    if profile.strongest is not None:
        name, value, _ = profile.strongest  # the curve of the feature has the weight
        return f"{start} The strongest evidence for this class is {spoken(name)} {value}."
    if not profile.rules:
        return f"{start} No rule favours this class over the others."
    numbers = [str(number) for number in profile.rules[:MAX_NUMBERS]]
    hidden = len(profile.rules) - MAX_NUMBERS
    numbers += [f"{hidden} more"] * (hidden > 0)
    one = len(profile.rules) == 1
    rules = f"{'Rule' if one else 'Rules'} {listed(numbers)} {'favours' if one else 'favour'} this class"
    typical = [(spoken(name), usual.text) for name, usual in profile.typical[:MAX_TYPICAL]]
    words = [f"{name} {'is usually ' if index == 0 else ''}{text}" for index, (name, text) in enumerate(typical)]
    return f"{start} {rules}{f'; there {listed(words)}' if words else ''}."


def _more(lines: Sequence[str], most: int, what: str) -> tuple[str, ...]:
    """The first lines, and how many are left out."""
    return (*lines[:most], *([f"... and {len(lines) - most} more {what}."] if len(lines) > most else []))


@dataclass(frozen=True)
class Accuracy:
    """How often a model is right on some rows.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    accuracy : float
        Share of the rows that get their label.
    commonest : object
        The commonest label of these rows.
    baseline : float
        Its share: the accuracy of always predicting this label.
    recalls : tuple of (object, int, float)
        For each label, its number of rows and the share of them that get it.
    """

    n_rows: int
    accuracy: float
    commonest: Any
    baseline: float
    recalls: tuple[tuple[Any, int, float], ...]

    @property
    def section(self) -> Section:
        """In words."""
        rows = tuple((spoken(label), str(n), percent_text(recall)) for label, n, recall in self.recalls)
        line = (
            f"Accuracy is {100 * self.accuracy:.1f} % on {self.n_rows} rows. Always predicting "
            f"{spoken(self.commonest)} would be right for {100 * self.baseline:.1f} % of them."
        )
        return Section("How good it is", (Table(("class", "rows", "recall"), rows), line))

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        recalls = [{"label": plain(label), "n_rows": n, "recall": recall} for label, n, recall in self.recalls]
        return vars(self) | {"commonest": plain(self.commonest), "recalls": recalls}


def read_accuracy(labels: NDArray[Any], answers: NDArray[Any], named: Sequence[Any] = ()) -> Accuracy:
    """How often answers are the labels of their rows.

    Parameters
    ----------
    labels, answers : ndarray of shape (n_samples,)
        The true labels, and the predicted ones.
    named : sequence, default=()
        Labels that carry their name for sentences.

    Returns
    -------
    Accuracy
    """
    if len(labels) != len(answers) or not len(labels):
        raise ValueError(f"X has {len(answers)} rows and y has {len(labels)}; each row needs one label.")
    is_right = np.asarray(labels == answers)
    distinct, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    right = np.bincount(index, is_right)
    words = {label: label for label in named}  # a label equals the one that carries its name
    names = [words.get(label, label) for label in distinct.tolist()]
    return Accuracy(
        len(labels),
        float(is_right.mean()),
        names[int(counts.argmax())],
        float(counts.max() / len(labels)),
        tuple(zip(names, counts.tolist(), (right / counts).tolist(), strict=True)),
    )
