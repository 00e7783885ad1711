"""Reasons: what cost a row most on its way to a class, as lenders must say of adverse decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._read.evidence import supports
from ferl._read.rules import read_rules
from ferl._read.score_table import read_score_table
from ferl._read.shapes import Curve, mean_firing
from ferl._read.text import in_sentence, shown_names
from ferl._read.wide_text import WideStyle
from ferl._util.arrays import Floats
from ferl._util.text import category_text, number_text, shown

AGAINST = ("average", "best")
POINTS_TO_DOUBLE = 20.0
_NOTHING = 1e-9  # a cost that is rounding


@dataclass(frozen=True)
class Reason:
    """Something that cost a row points.

    Attributes
    ----------
    name : str
        A feature, or "rule 7" for a rule on several features.
    value : str
        The row's value of the feature; of a rule, by how much the row fits it.
    lost : float
        What it cost, as a weight of evidence: log-odds of two classes.
    points : float
        The same in points.
    text : str
        A sentence.
    """

    name: str
    value: str
    lost: float
    points: float
    text: str

    def __str__(self) -> str:
        return self.text


def read_reasons(
    model: Model,
    rows: Floats,
    n: int,
    positive: Any = None,
    against: str = "average",
    points_to_double: float = POINTS_TO_DOUBLE,
    feature_names: Sequence[str] | None = None,
) -> list[tuple[Reason, ...]]:
    """What cost each of the encoded rows most; see :func:`ferl.export.reason_codes`."""
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1.")
    if against not in AGAINST:
        raise ValueError(f"against is {against!r}; it must be {' or '.join(map(repr, AGAINST))}.")
    if not points_to_double > 0:
        raise ValueError(f"points_to_double is {points_to_double}; it must be above 0.")
    own, unit = _positive(model, positive), points_to_double / math.log(2)
    candidates = _candidates(model, tuple(shown_names(model, feature_names, None)[0]), own, against)
    lost = candidates.lost(rows)
    order = np.argsort(-lost, axis=1, kind="stable")[:, :n]
    return [
        tuple(candidates.reason(row, int(k), float(costs[k]), unit) for k in chosen if costs[k] > _NOTHING)
        for row, costs, chosen in zip(rows, lost, order, strict=True)
    ]


# A service asks the same of one model again and again: reading its curves takes ten times as long as judging a row.
@lru_cache(maxsize=4)
def _candidates(model: Model, names: tuple[str, ...], own: int, against: str) -> _Candidates:
    style = WideStyle(model, list(names), [in_sentence(label) for label in model.labels])
    return _Candidates(style, own, against)


def _positive(model: Model, positive: Any) -> int:
    """Index of the class that rows should have had."""
    classes = model.classes.tolist()
    if positive is None and len(classes) == 2:
        return 1
    if positive not in classes:
        raise ValueError(
            f"positive is {shown(positive)}; name the class that rows should have had, one of {shown(classes)}."
        )
    return int(classes.index(positive))


class _Candidates:
    """All that can be a reason, and what each of them costs rows.

    Parameters
    ----------
    style : WideStyle
        The model and how its parts are called.
    own : int
        Index of the class that rows should have had.
    against : {"average", "best"}
        What rows are compared with.
    """

    def __init__(self, style: WideStyle, own: int, against: str) -> None:
        def towards(evidence: Floats) -> Floats:
            return evidence[..., own] - evidence[..., 1 - own] if evidence.shape[-1] == 2 else evidence[..., own]

        self.style, self.against = style, against
        self.table = read_score_table(style, lambda evidence: towards(evidence)[..., None])
        self.rules = read_rules(style.model)
        self.mean = mean_firing(style.model)[list(self.table.rules)]

    def lost(self, rows: Floats) -> Floats:
        """What each candidate costs each row, shape (n_samples, n_candidates); curves come first, then rules."""
        table, model = self.table, self.style.model
        weight = table.weight[:, 0]
        firing = model.tree.fire(rows, gated=False)[:, model.rule_weights.node[list(table.rules)]]
        got = [curve.at(rows[:, curve.feature])[:, 0] for curve in table.curves]
        if self.against == "best":
            usual = [float(curve.evidence.max()) for curve in table.curves]
            expected = np.maximum(weight, 0.0)
        else:
            usual = [0.0] * len(table.curves)  # curves are told less their means
            expected = self.mean * weight
        of_curves = np.array(usual) - np.reshape(got, (len(usual), len(rows))).T
        of_rules = expected - firing * weight
        support = supports(model, rows).prod(axis=1)[:, None]
        return np.asarray(support * np.hstack([of_curves, of_rules]))

    def reason(self, row: Floats, candidate: int, lost: float, unit: float) -> Reason:
        """A candidate as a reason of one row."""
        points = unit * lost
        compared = "the average row" if self.against == "average" else "the best"
        counted = "1 point" if 0.5 <= points < 1.5 else f"{points:.0f} points" if points >= 0.5 else "less than a point"
        cost = f"{counted} below {compared}"
        if candidate < len(self.table.curves):
            curve = self.table.curves[candidate]
            name, value = self.style.names[curve.feature], self._value(curve, float(row[curve.feature]))
            return Reason(name, value, lost, points, f"{name} is {value}: {cost}")
        index = self.table.rules[candidate - len(self.table.curves)]
        node = int(self.style.model.rule_weights.node[index])
        fits = float(self.style.model.tree.fire(row[None], gated=False)[0, node])
        value = f"{fits:.0%}"
        conditions = self.style.conditions(self.rules[index])
        return Reason(
            f"rule {index + 1}", value, lost, points, f"{conditions} (rule {index + 1}) fits by {value}: {cost}"
        )

    def _value(self, curve: Curve, value: float) -> str:
        if math.isnan(value):
            return "missing"
        if not curve.is_categorical:
            return number_text(self.style.model.number(curve.feature, value))
        names = self.style.model.category_names[curve.feature]
        return category_text(names[int(value)]) if value < len(names) else "a category that training did not have"
