"""What speaks for and against the classes: what features and wide rules add to the scores of a row, exactly.

A feature is compared with what it adds on average over the training rows: a low value of a feature whose rules ask for
high ones adds nothing, and that is what speaks against. A rule is compared with its own silence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ferl._models.rule_model import RuleModel
from ferl._read.explanation.fired import WideRule
from ferl._read.rules import rule_numbers
from ferl._read.shapes import feature_of, mean_firing
from ferl._read.text import rule_text
from ferl._util.arrays import Floats
from ferl._util.text import plain


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
        What speaks for each class before any rule fires.
    features : tuple of FeatureWeight
        Features that rules ask, those first that move the compared classes furthest apart.
    compared : tuple of int
        Indices of two classes: what speaks for the first one, against the second. Of two classes the second label and
        the first one; of several the most probable class and the next.
    support : float
        How open the gates are, 0 to 1; all weights are multiplied by it.
    """

    scores: tuple[float, ...]
    prior: tuple[float, ...]
    features: tuple[FeatureWeight, ...]
    compared: tuple[int, int]
    support: float

    @property
    def base(self) -> tuple[float, ...]:
        """What is said of the training rows on average, for each class."""
        return tuple(prior + sum(part.usual[c] for part in self.features) for c, prior in enumerate(self.prior))

    def apart(self, weight: tuple[float, ...]) -> float:
        """How far weights move the compared classes apart, in log-odds."""
        towards, against = self.compared
        return weight[towards] - weight[against]

    def moves(self, part: FeatureWeight) -> float:
        """What a feature adds to the log-odds of the compared classes, beside what it usually adds."""
        return self.apart(part.weight) - self.apart(part.usual)

    def between(self, towards: int, against: int) -> Balance:
        """The same weights, by what they say of two other classes."""
        turned = replace(self, compared=(towards, against))
        return replace(turned, features=tuple(sorted(self.features, key=lambda part: -abs(turned.moves(part)))))

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
    """The scores of a row and what features add to them.

    Parameters
    ----------
    model : RuleModel
        Of wide rules.
    row : ndarray of shape (1, n_columns)
        The row.
    values : list
        Values of its features, as a reader knows them.

    Returns
    -------
    Balance
    """
    names = model.feature_names()
    scores, support = model.decision_scores(row)[0], float(model.supports(row).prod())
    average = np.append(mean_firing(model), 1.0)[:, None] * np.vstack([model.rules.weight, model.prior])
    said = model.share_among_features(np.stack([model.contributions(row)[0], support * average]))
    asked = sorted({feature_of(model, column) for column in model.tree.tested_columns})
    parts = [FeatureWeight(names[f], values[f], _floats(said[0, f]), _floats(said[1, f]), model.seen(f)) for f in asked]
    balance = Balance(_floats(scores), _floats(said[0, -1]), tuple(parts), (0, 0), support)
    return balance.between(*_compared(scores))


def _compared(scores: Floats) -> tuple[int, int]:
    """Which two classes are compared: the second label with the first one, or the most probable with the next."""
    if len(scores) <= 2:
        return len(scores) - 1, 0
    best, runner_up = np.argsort(-scores, kind="stable")[:2].tolist()
    return best, runner_up


def wide_rules(model: RuleModel, row: Floats, balance: Balance) -> tuple[WideRule, ...]:
    """The wide rules that a row fires, those first that move the compared classes furthest apart.

    Parameters
    ----------
    model : RuleModel
        Of wide rules.
    row : ndarray of shape (1, n_columns)
        The row.
    balance : Balance
        What is said of it.

    Returns
    -------
    tuple of WideRule
    """
    weights, numbers, labels = model.rules, rule_numbers(model), model.labels
    firing = balance.support * model.tree.fire(row, gated=False)[0, weights.node]
    scores, rules = np.array(balance.scores), []
    for rule in np.flatnonzero(firing > 0).tolist():
        node, said = int(weights.node[rule]), firing[rule] * weights.weight[rule]
        rules.append(
            WideRule(
                node=node,
                number=numbers[node],
                conditions=rule_text(model, node),
                label=labels[int(weights.weight[rule].argmax())],
                firing=float(firing[rule]),
                support=float(model.tree.weight[node]),
                weight=_floats(said),
                probability_without=_floats(_softmax(scores - said)),
            )
        )
    return tuple(sorted(rules, key=lambda own: -abs(balance.apart(own.weight))))


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum())


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
