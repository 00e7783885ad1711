"""Feature importance: what the conditions on each feature explain of the training labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._model.model import Model
from ferl._model.tree import FuzzyTree
from ferl._read.explanation.page import Readable, Section, Table
from ferl._read.explanation.sentences import usual_text
from ferl._read.explanation.story import usual_form
from ferl._read.explanation.typical import Usual, usual_values
from ferl._read.rules import rule_numbers
from ferl._read.text import rule_text
from ferl._tables import add_up_indicators
from ferl._util.arrays import Floats
from ferl._util.text import listed, plain, share_text, spoken


def feature_importances(model: Model) -> Floats:
    """Weighted Gini decrease of each feature's conditions, as shares of one, shape (n_features,).

    Every condition divides the training weight of the node above it into what fits and what does not. Its decrease is
    the Gini impurity times weight above, less those of the two parts. The two sides of a learned split say the same, so
    the shares are those of scikit-learn; a word of a compact tree counts by itself. A condition on a value being
    missing counts for its feature.

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
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y).feature_importances_.round(2)
    array([0.  , 0.  , 0.56, 0.44])
    """
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
    confidence : float
        The share of this class behind it.
    support : float
        Training weight behind it.
    share : float
        Of the whole training weight.
    """

    number: int
    conditions: str
    label: Any
    confidence: float
    support: float
    share: float


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
        What the training rows of these rules have in each feature that matters, the most important first.
    """

    label: Any
    share: float
    rules: tuple[int, ...]
    typical: tuple[tuple[str, Usual], ...]


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, overview
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y)
    >>> print(overview(clf).to_text(width=110))
    3 rules on 2 of 4 features tell 3 classes apart; x2 matters most (56%).
    <BLANKLINE>
    What matters
      feature  importance
      x2              56%
      x3              44%
    <BLANKLINE>
    Rules, strongest support first
      1. If x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06, then 1 (0.89). Support 52.6, 35% of the training rows.
      2. If x2 < 2.46 ±0.09, then 0 (0.98). Support 50.0, 33% of the training rows.
      3. If x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06, then 2 (0.94). Support 47.4, 32% of the training rows.
    <BLANKLINE>
    Classes
      0: 33% of the training rows. Rule 2 speaks for it; there x2 is usually 1.2 to 1.7 and x3 0.1 to 0.4.
      1: 33% of the training rows. Rule 1 speaks for it; there x2 is usually 3.5 to 5.1 and x3 1 to 1.6.
      2: 33% of the training rows. Rule 3 speaks for it; there x2 is usually 4.8 to 6.7 and x3 1.8 to 2.5.
    """

    variant: str
    training_weight: float
    importances: tuple[tuple[str, float], ...]
    n_features: int
    rules: tuple[RuleSummary, ...]
    classes: tuple[ClassProfile, ...]

    @property
    def summary(self) -> str:
        """One sentence: how large the model is and what it looks at most."""
        rules = f"{len(self.rules)} {'rule' if len(self.rules) == 1 else 'rules'}"
        if not self.importances:
            return f"{rules}, and no feature matters: all rows get the same answer."
        name, share = self.importances[0]
        used = f"{len(self.importances)} of {self.n_features} features"
        return f"{rules} on {used} tell {len(self.classes)} classes apart; {spoken(name)} matters most ({share:.0%})."

    @cached_property
    def _sections(self) -> list[Section]:
        page = [Section("", (self.summary,), is_lead=True), self._what_matters(), self._rule_lines()]
        page.append(Section("Classes", _more([_class_line(own) for own in self.classes], MAX_CLASSES, "classes")))
        return page

    def _what_matters(self) -> Section:
        rows = tuple((spoken(name), f"{share:.0%}") for name, share in self.importances[:MAX_FEATURES])
        hidden = len(self.importances) - MAX_FEATURES
        lines = (f"... and {hidden} more features.",) if hidden > 0 else ()
        return Section("What matters", lines, Table(("feature", "importance"), rows))

    def _rule_lines(self) -> Section:
        lines = [
            f"{rule.number}. {f'If {rule.conditions}, then' if rule.conditions else 'Always'} {spoken(rule.label)} "
            f"({share_text(rule.confidence)}). Support {rule.support:.1f}, {rule.share:.0%} of the training rows."
            for rule in self.rules[: MAX_RULES + 1]
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
                }
                for own in self.classes
            ],
        }


def overview(model: Model) -> Overview:
    """A model at a glance; see :func:`ferl.overview`."""
    tree, names = model.tree, model.feature_names()
    importance = feature_importances(model)
    matter = [f for f in np.argsort(-importance, kind="stable").tolist() if importance[f] > 0]
    rules = _rules(model)
    return Overview(
        variant=model.variant,
        training_weight=float(tree.weight[0]),
        importances=tuple((names[f], float(importance[f])) for f in matter),
        n_features=len(names),
        rules=tuple(rules.values()),
        classes=tuple(_profile(model, c, rules, matter) for c in range(tree.n_classes)),
    )


def _rules(model: Model) -> dict[int, RuleSummary]:
    """The rules by the nodes where they end, strongest support first."""
    tree, classes = model.tree, model.classes.tolist()
    found = {}
    for node, number in rule_numbers(model).items():
        own, support = int(tree.consequent[node].argmax()), float(tree.weight[node])
        confidence, share = float(tree.consequent[node, own]), support / float(tree.weight[0])
        found[node] = RuleSummary(number, rule_text(model, node), classes[own], confidence, support, share)
    return found


def _profile(model: Model, c: int, rules: dict[int, RuleSummary], matter: list[int]) -> ClassProfile:
    tree, names = model.tree, model.feature_names()
    label = model.classes.tolist()[c]
    speaking = {node: rule.number for node, rule in rules.items() if rule.label == label}
    typical: tuple[tuple[str, Usual], ...] = ()
    if speaking:
        nodes: NDArray[np.intp] = np.array(list(speaking), dtype=np.intp)
        usual = usual_values(tree, nodes, len(names), model.category_names)
        typical = tuple((names[f], own) for f in matter if (own := usual[f]) is not None)
    share = float(tree.class_weight[0, c] / tree.weight[0])
    return ClassProfile(label, share, tuple(speaking.values()), typical)


def _class_line(profile: ClassProfile) -> str:
    start = f"{spoken(profile.label)}: {profile.share:.0%} of the training rows."
    if not profile.rules:
        return f"{start} No rule speaks for it before other classes."
    numbers = [str(number) for number in profile.rules[:MAX_NUMBERS]]
    hidden = len(profile.rules) - MAX_NUMBERS
    numbers += [f"{hidden} more"] * (hidden > 0)
    one = len(profile.rules) == 1
    rules = f"{'Rule' if one else 'Rules'} {listed(numbers)} {'speaks' if one else 'speak'} for it"
    typical = [(spoken(name), usual_text(usual)) for name, usual in profile.typical[:MAX_TYPICAL]]
    words = [f"{name} {'is usually ' if index == 0 else ''}{text}" for index, (name, text) in enumerate(typical)]
    return f"{start} {rules}{f'; there {listed(words)}' if words else ''}."


def _more(lines: list[str], most: int, what: str) -> tuple[str, ...]:
    """The first lines, and how many are left out."""
    return tuple(lines[:most] + [f"... and {len(lines) - most} more {what}."] * (len(lines) > most))
