"""A model at a glance: how much each feature matters, rules, classes, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.tree import FuzzyTree
from ferl._read.explanation.accuracy import Accuracy
from ferl._read.explanation.page import Readable, Section, Table
from ferl._read.explanation.story import usual_form
from ferl._read.explanation.typical import Usual, usual_values
from ferl._read.explanation.unlike import usual_text
from ferl._read.rules import rule_numbers
from ferl._read.shapes import Shapes, read_shapes, shape_importances
from ferl._read.text import rule_text, word_meanings
from ferl._read.wide_text import COMPARED, WideStyle, curve_summary
from ferl._tables import add_up_indicators
from ferl._util.arrays import Floats
from ferl._util.text import listed, percent_text, plain, share_text, spoken, support_text


def feature_importances(model: Model) -> Floats:
    """Weighted Gini decrease of each feature's conditions, as shares of one, shape (n_features,).

    Every condition divides the training weight of the node above it into what fits and what does not. Its decrease is
    the Gini impurity times weight above, less those of the two parts. The two sides of a learned split say the same, so
    the shares are those of scikit-learn; a word of a compact tree counts by itself. A condition on a value being
    missing counts for its feature.

    Wide models: how far what is said of a feature's values moves two classes apart, averaged over training rows (see
    :class:`ferl._read.shapes.Shape`); what rules say of several features is shared equally among them.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative, with sum one; all zero for a tree without conditions, or of conditions that explain nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y).feature_importances_.round(2)
    array([0.  , 0.  , 0.56, 0.44])
    """
    if isinstance(model, RuleModel):
        return shape_importances(model)
    tree = model.tree
    n_columns = model.n_features + len(model.missing_features)
    by_column = np.zeros((1, n_columns))
    np.add.at(by_column[0], tree.feature[1:], condition_decrease(tree)[1:])
    decrease = add_up_indicators(by_column, model.missing_features)[0]
    total = decrease.sum()
    return np.asarray(decrease / total if total > 0 else np.zeros(len(decrease)))


def condition_decrease(tree: FuzzyTree) -> Floats:
    """Decrease of impurity times weight by each node's own condition, shape (n_nodes,); 0 at the root."""
    above = tree.class_weight[np.maximum(tree.parent, 0)]
    rest = np.maximum(above - tree.class_weight, 0.0)
    decrease = _impurity(above) - _impurity(tree.class_weight) - _impurity(rest)
    decrease[0] = 0.0
    return np.maximum(decrease, 0.0)


def _impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight."""
    weight = class_weight.sum(axis=1)
    squares = (class_weight**2).sum(axis=1)
    return np.asarray(weight - np.divide(squares, weight, out=np.zeros(len(weight)), where=weight > 0))


MAX_FEATURES = 15  # that are shown
MAX_RULES = 12
MAX_CLASSES = 20
MAX_NUMBERS = 8  # of rules that speak for a class
MAX_TYPICAL = 3  # features of a class profile, the most important ones


@dataclass(frozen=True)
class RuleSummary:
    """A rule in short.

    Attributes
    ----------
    number : int
        Its number among the rules, strongest support first.
    conditions : str
        What follows "if".
    label : object
        The class that it speaks for.
    confidence : float or None
        The share of this class behind it; None for wide rules.
    support : float
        Training weight behind it.
    share : float
        Of the whole training weight.
    weight : float or None
        Of wide rules: what it adds to the log-odds of its class against the one that it speaks against most.
    n_features : int
        Number of features that it asks.
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
        Numbers of the rules that speak for it, strongest support first.
    typical : tuple of (str, Usual)
        What the training rows of these rules have in each feature that matters, the most important first; empty for
        wide rules, which most rows fit in part.
    strongest : tuple of (str, str, float), or None
        Of wide models: the feature and its value that speak most for the class before all others, and by how much, in
        log-odds beside what is usual; None where no value of a single feature does.
    is_answered : bool
        Whether it is the most probable class of some training row that the model keeps; True where it keeps none.
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
        The rules, strongest support first.
    classes : tuple of ClassProfile
        The classes.
    curves : tuple of (str, str)
        Of wide models: features that rules ask alone, the most important first, and what their values say.
    words : tuple of str
        What the words of the rules mean; empty where rules have none.
    accuracy : Accuracy or None
        How often the model is right on the rows that were given; None if none were.
    target : str
        Name of what the classes are classes of; "": nobody said.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, overview
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
    >>> print(overview(clf).to_text(width=112))
    3 rules on 2 of 4 features tell 3 classes apart; x2 matters most (56 %).
    Always answering 0 would be right for 33.3 % of the training rows.
    <BLANKLINE>
    What matters
      feature  importance
      x2             56 %
      x3             44 %
    <BLANKLINE>
    Rules, strongest support first
      1. If x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06, then 1 (0.89). Support 52.6, 35 % of the training rows.
      2. If x2 < 2.46 ±0.09, then 0 (0.98). Support 50.0, 33 % of the training rows.
      3. If x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06, then 2 (0.94). Support 47.4, 32 % of the training rows.
    <BLANKLINE>
    Classes
      0: 33 % of the training rows. Rule 2 speaks for this class; there x2 is usually 1.2 to 1.7 and x3 0.1 to 0.4.
      1: 33 % of the training rows. Rule 1 speaks for this class; there x2 is usually 3.5 to 5.1 and x3 1 to 1.6.
      2: 33 % of the training rows. Rule 3 speaks for this class; there x2 is usually 4.8 to 6.7 and x3 1.8 to 2.5.
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

    @property
    def summary(self) -> str:
        """One sentence: how large the model is and what it looks at most."""
        named = f"{spoken(self.target)}: " if self.target else ""
        rules = f"{named}{len(self.rules)} {'rule' if len(self.rules) == 1 else 'rules'}"
        if not self.importances:
            return f"{rules}, and no feature matters: all rows get the same answer."
        name, share = self.importances[0]
        n_used, n_all = len(self.importances), self.n_features
        used = (
            f"{n_used} of {n_all} features"
            if n_used < n_all
            else "1 feature"
            if n_all == 1
            else f"all {n_all} features"
        )
        tell = "tells" if len(self.rules) == 1 else "tell"
        most = f"{spoken(name)} matters most ({percent_text(share)})"
        return f"{rules} on {used} {tell} {len(self.classes)} classes apart; {most}."

    @property
    def _is_tree(self) -> bool:
        return any(rule.confidence is not None for rule in self.rules)

    @property
    def baseline(self) -> tuple[Any, float]:
        """The commonest class and its share of the training weight: how often always answering it would be right."""
        most = max(self.classes, key=lambda own: own.share)
        return most.label, most.share

    @property
    def warnings(self) -> tuple[str, ...]:
        """Classes that the model hardly ever answers, with what to do about it."""
        # Of wide rules the prior speaks as well, so that a class may be answered that no rule speaks for.
        doubtful = [own for own in self.classes if not own.is_answered or (self._is_tree and not own.rules)]
        return tuple(map(_warning, doubtful)) if len(self.classes) > 1 else ()

    @cached_property
    def _sections(self) -> list[Section]:
        label, share = self.baseline
        compare = f"Always answering {spoken(label)} would be right for {100 * share:.1f} % of the training rows."
        page = [Section("", (self.summary, compare), is_lead=True)]
        page += [] if self.accuracy is None else [self.accuracy.section]
        page += [Section("Warnings", _more(list(self.warnings), MAX_CLASSES, "classes"))] if self.warnings else []
        page += [self._what_matters()] if self.importances else []
        page += self._what_they_say()
        page += (
            [Section("What the words mean", _more(list(self.words), MAX_FEATURES, "features"))] if self.words else []
        )
        page.append(Section("Classes", _more([_class_line(own) for own in self.classes], MAX_CLASSES, "classes")))
        return page

    def _what_they_say(self) -> list[Section]:
        """The rules of a tree; of wide rules the curves that they add up to, and those on several features.

        Wide rules in words are told one by one: a curve would hide the words.
        """
        if self._is_tree:
            return [self._rule_lines()]
        if self.words:
            return [Section("Rules", _more([_joint_line(rule) for rule in self.rules], MAX_RULES, "rules"))]
        # A sentence that begins with the name of a column keeps the name as it is.
        sentences = [f"T{text[1:]}." if text.startswith(COMPARED) else f"{text}." for _, text in self.curves]
        joint = [_joint_line(rule) for rule in self.rules if rule.n_features > 1]
        found = [
            Section("What the features say", _more(sentences, MAX_FEATURES, "features")),
            Section("Rules on several features", _more(joint, MAX_RULES, "rules")),
        ]
        return [section for section in found if section.lines]

    def _what_matters(self) -> Section:
        rows = tuple((spoken(name), percent_text(share)) for name, share in self.importances[:MAX_FEATURES])
        hidden = len(self.importances) - MAX_FEATURES
        lines = (f"... and {hidden} more {'feature' if hidden == 1 else 'features'}.",) if hidden > 0 else ()
        return Section("What matters", lines, Table(("feature", "importance"), rows))

    def _rule_lines(self) -> Section:
        lines = [
            f"{rule.number}. {f'If {rule.conditions}, then' if rule.conditions else 'Always'} {spoken(rule.label)} "
            f"({share_text(rule.confidence)}). Support {support_text(rule.support)}, {percent_text(rule.share)} of "
            "the training rows."
            for rule in self.rules[: MAX_RULES + 1]
            if rule.confidence is not None
        ]
        lines += [""] * (len(self.rules) - len(lines))  # counted, not shown
        return Section("Rules, strongest support first", _more(lines, MAX_RULES, "rules"))

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "summary": self.summary,
            "variant": self.variant,
            "training_weight": self.training_weight,
            "n_features": self.n_features,
            "importances": [{"feature": name, "importance": share} for name, share in self.importances],
            "rules": [{key: plain(value) for key, value in vars(rule).items()} for rule in self.rules],
            "classes": [
                {
                    "label": plain(own.label),
                    "share": own.share,
                    "rules": list(own.rules),
                    "typical": [{"feature": name, "usual": usual_form(usual)} for name, usual in own.typical],
                    "strongest": None if own.strongest is None else list(own.strongest),
                    "is_answered": own.is_answered,
                }
                for own in self.classes
            ],
            "curves": [{"feature": name, "text": text} for name, text in self.curves],
            "words": list(self.words),
            "baseline": {"label": plain(self.baseline[0]), "share": self.baseline[1]},
            "warnings": list(self.warnings),
            "accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
        }


def overview(model: Model) -> Overview:
    """A model at a glance; see :func:`ferl.overview`."""
    tree, names = model.tree, model.feature_names()
    importance = feature_importances(model)
    matter = [f for f in np.argsort(-importance, kind="stable").tolist() if importance[f] > 0]
    shapes = None if not isinstance(model, RuleModel) else read_shapes(model)
    rules, style = _rules(model), WideStyle(model, [spoken(name) for name in model.column_names()], _labels(model))
    return Overview(
        variant=model.title,
        training_weight=float(tree.weight[0]),
        importances=tuple((names[f], float(importance[f])) for f in matter),
        n_features=len(names),
        rules=tuple(rules.values()),
        classes=tuple(_profile(model, c, rules, matter, shapes) for c in range(tree.n_classes)),
        curves=tuple((names[own.feature], curve_summary(style, own)) for own in (shapes.curves if shapes else ())),
        words=tuple(word_meanings(model, style.names)),
        target=model.schema.target.name,
    )


def _labels(model: Model) -> list[str]:
    return [spoken(label) for label in model.labels]


def _rules(model: Model) -> dict[int, RuleSummary]:
    """The rules by the nodes where they end, strongest support first."""
    tree, classes = model.tree, model.labels
    found = {}
    for index, (node, number) in enumerate(rule_numbers(model).items()):
        said = tree.consequent[node] if not isinstance(model, RuleModel) else model.rules.weight[index]
        own, support = int(said.argmax()), float(tree.weight[node])
        found[node] = RuleSummary(
            number=number,
            conditions=rule_text(model, node),
            label=classes[own],
            confidence=float(said[own]) if not isinstance(model, RuleModel) else None,
            support=support,
            share=support / float(tree.weight[0]),
            weight=None if not isinstance(model, RuleModel) else float(np.ptp(said)),
            n_features=len({int(tree.feature[step]) for step in tree.path(node)}),
        )
    return found


def _profile(
    model: Model, c: int, rules: dict[int, RuleSummary], matter: list[int], shapes: Shapes | None
) -> ClassProfile:
    tree, names = model.tree, model.feature_names()
    label = model.labels[c]
    speaking = {node: rule.number for node, rule in rules.items() if rule.label == label}
    typical: tuple[tuple[str, Usual], ...] = ()
    if speaking and shapes is None:
        nodes: NDArray[np.intp] = np.array(list(speaking), dtype=np.intp)
        usual = usual_values(model, nodes)
        typical = tuple((names[f], own) for f in matter if (own := usual[f]) is not None)
    kept = tree.profile.exemplar_row
    return ClassProfile(
        label=label,
        share=float(tree.class_weight[0, c] / tree.weight[0]),
        rules=tuple(speaking.values()),
        typical=typical,
        strongest=None if shapes is None else _strongest(model, shapes, c),
        is_answered=not len(kept) or bool((model.evidence(kept).probability.argmax(axis=1) == c).any()),
    )


def _strongest(model: Model, shapes: Shapes, c: int) -> tuple[str, str, float] | None:
    """The feature and the value that speak most for a class before all others, where one does."""
    style = WideStyle(model, model.column_names(), _labels(model))
    found = None
    for curve in shapes.curves:
        evidence = curve.evidence - curve.mean
        margin = evidence[:, c] - np.delete(evidence, c, axis=1).max(axis=1, initial=-np.inf)
        corner = int(margin.argmax())
        if np.inf > margin[corner] > (0.0 if found is None else found[2]):
            found = model.feature_names()[curve.feature], style.value(curve, corner), float(margin[corner])
    return found


def _joint_line(rule: RuleSummary) -> str:
    return f"Rule {rule.number} speaks for {spoken(rule.label)} by {rule.weight or 0.0:.2f} if {rule.conditions}."


def _warning(profile: ClassProfile) -> str:
    """What is the matter with a class that the model hardly ever answers, and what to do about it."""
    label = spoken(profile.label)
    said = f"No training row that the model keeps gets the answer {label}"
    if not profile.rules:
        never = "" if profile.is_answered else ", and no training row that the model keeps gets this answer"
        said = f"No rule speaks for {label} before other classes{never}"
    return f'{said}: fit with class_weight="balanced", or ask predict(X, decision="balanced").'


def _class_line(profile: ClassProfile) -> str:
    start = f"{spoken(profile.label)}: {percent_text(profile.share)} of the training rows."
    if profile.strongest is not None:
        name, value, weight = profile.strongest
        return f"{start} What speaks most for this class is {spoken(name)} at {value} ({weight:+.2f})."
    if not profile.rules:
        return f"{start} No rule speaks for this class before others."
    numbers = [str(number) for number in profile.rules[:MAX_NUMBERS]]
    hidden = len(profile.rules) - MAX_NUMBERS
    numbers += [f"{hidden} more"] * (hidden > 0)
    one = len(profile.rules) == 1
    rules = f"{'Rule' if one else 'Rules'} {listed(numbers)} {'speaks' if one else 'speak'} for this class"
    typical = [(spoken(name), usual_text(usual)) for name, usual in profile.typical[:MAX_TYPICAL]]
    words = [f"{name} {'is usually ' if index == 0 else ''}{text}" for index, (name, text) in enumerate(typical)]
    return f"{start} {rules}{f'; there {listed(words)}' if words else ''}."


def _more(lines: list[str], most: int, what: str) -> tuple[str, ...]:
    """The first lines, and how many are left out."""
    return tuple(lines[:most] + [f"... and {len(lines) - most} more {what}."] * (len(lines) > most))
