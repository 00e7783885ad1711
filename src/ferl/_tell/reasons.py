"""Reasons: the features that cost a row most on its way to a class, as lenders must state for adverse decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._models.model import Model, kept_by_model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve
from ferl._tell.curves import read_score_table
from ferl._tell.statements import Style, in_sentence, reader_names
from ferl._util.arrays import Floats, Ints
from ferl._util.text import category_text, cut, number_text, one_line, shown

AGAINST = ("average", "best")
POINTS_TO_DOUBLE = 20.0
MAX_TEXT, MAX_NAME, MAX_VALUE = 120, 45, 37  # characters of a reason, of its feature, of the value: together 120
_NOTHING = 1e-9  # a cost that is rounding


@dataclass(frozen=True)
class Reason:
    """A feature that cost a row points.

    Attributes
    ----------
    name : str
        The feature.
    value : str
        The row's value.
    lost : float
        What it cost, as a weight of evidence. Two classes: log-odds. Three and more without a rival: the evidence for
        one class, which is compared with the mean of all.
    points : float
        The same in points.
    text : str
        A sentence of at most 120 characters.
    """

    name: str
    value: str
    lost: float
    points: float
    text: str

    def __str__(self) -> str:
        return self.text


def read_reasons(
    model: RuleModel,
    rows: Floats,
    n: int,
    positive: Any = None,
    against: str = "average",
    points_to_double: float = POINTS_TO_DOUBLE,
    feature_names: Sequence[str] | None = None,
    rival: Any = None,
    supported: str = "",
) -> list[tuple[Reason, ...]]:
    """What cost each of the encoded rows most; see :func:`ferl.export.reason_codes`.

    With ``supported``, the name of the rival, sentences have what supports it: "31 points for late".
    """
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1.")
    if against not in AGAINST:
        raise ValueError(f"against is {against!r}; it must be {' or '.join(map(repr, AGAINST))}.")
    if not points_to_double > 0:
        raise ValueError(f"points_to_double is {points_to_double}; it must be above 0.")
    costs, (names, labels) = _Costs(model, *_compared(model, positive, rival)), reader_names(model, feature_names, None)
    style, unit = Style(model, names, [in_sentence(label) for label in labels]), points_to_double / math.log(2)
    lost = costs.beside_average(rows) if against == "average" else costs.beside_best(rows)
    lost = lost[:, : model.n_features]  # similar cases are no feature
    order = largest_first(lost, n)
    compared = f"for {supported}" if supported else "below average" if against == "average" else "below the best"
    return [
        tuple(
            _reason(style, f, float(row[f]), float(cost[f]), unit, compared)
            for f in chosen.tolist()
            if cost[f] > _NOTHING
        )
        for row, cost, chosen in zip(rows, lost, order, strict=True)
    ]


def largest_first(values: Floats, n: int) -> Ints:
    """Indices of the ``n`` largest values of each row; among values that differ by rounding, the first one is first.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_values)
        Values.
    n : int
        How many; at most all.

    Returns
    -------
    ndarray of shape (n_samples, n)
    """
    left, rows = values.copy(), np.arange(len(values))
    found = np.empty((len(values), min(n, values.shape[1])), dtype=np.int32)
    for place in found.T:
        place[:] = (left > left.max(axis=1, keepdims=True) - _NOTHING).argmax(axis=1)
        left[rows, place] = -np.inf
    return found


def _compared(model: RuleModel, positive: Any, rival: Any) -> tuple[int, int | None]:
    """Indices of the class that rows should have had, and of the one it is compared with; None: with none."""
    classes = model.classes.tolist()
    wished = classes[1] if positive is None and len(classes) == 2 else positive
    if wished not in classes:
        raise ValueError(
            f"positive is {shown(positive)}; name the class that rows should have had, one of {shown(classes)}."
        )
    index = classes.index(wished)
    if rival is None:
        return index, 1 - index if len(classes) == 2 else None
    others = [label for label in classes if label != wished]
    if rival not in others:
        raise ValueError(f"rival is {shown(rival)}; name a class other than positive, one of {shown(others)}.")
    return index, classes.index(rival)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What rows can be compared with the best of. The model keeps it, so it must not hold the model.

    Attributes
    ----------
    curves : tuple of Curve
        Sums of the rules on one feature, less their means.
    alone : list of int
        Indices of the rules that stand alone.
    weight : ndarray of shape (n_alone, n_classes)
        Their weights.
    maps : list of int
        Indices of maps, among all curves and maps.
    """

    curves: tuple[Curve, ...]
    alone: list[int]
    weight: Floats
    maps: list[int]


@kept_by_model
def _parts_of(model: RuleModel) -> _Parts:
    """Curves, rules and maps, read once: that takes ten times as long as judging a row."""
    table = read_score_table(model, Style(model, model.column_names(), model.labels))
    alone = list(table.alone)
    return _Parts(table.curves, alone, table.weight[alone], list(table.maps))


class _Costs:
    """What each feature costs rows on their way to a class.

    Parameters
    ----------
    model : RuleModel
        The model.
    positive : int
        Index of the class that rows should have had.
    rival : int or None
        Index of the class that it is compared with; None: the evidence of ``positive`` counts alone.
    """

    def __init__(self, model: RuleModel, positive: int, rival: int | None) -> None:
        self.model, self.positive, self.rival = model, positive, rival

    def _towards(self, evidence: Floats) -> Floats:
        return np.asarray(evidence[..., self.positive] - (0.0 if self.rival is None else evidence[..., self.rival]))

    def beside_average(self, rows: Floats) -> Floats:
        """What features lost beside the average training row, shape (n_samples, n_features)."""
        model = self.model
        usual = self._towards(model.share_among_features(model.mean_contributions[None])[0, :-1])
        return np.asarray(
            model.fading(rows)[:, None] * usual - self._towards(model.feature_contributions(rows)[:, :-1])
        )

    def beside_best(self, rows: Floats) -> Floats:
        """What features lost beside the most that any value could get; a rule on several is shared equally."""
        model, parts = self.model, _parts_of(self.model)
        lost = np.zeros((len(rows), model.n_features))

        def share(columns: Sequence[int], values: Floats) -> None:
            for column in columns:
                lost[:, model.feature_of(column)] += values / len(columns)

        for curve in parts.curves:
            share(
                [curve.feature], self._towards(curve.evidence).max() - self._towards(curve.at(rows[:, curve.feature]))
            )
        fits, weight = model.rules.activation(model.tree, rows)[:, parts.alone], self._towards(parts.weight)
        for k, rule in enumerate(parts.alone):
            share(model.term_columns[rule], np.maximum(weight[k], 0.0) - fits[:, k] * weight[k])
        if model.curves is not None:
            value, cells = self._towards(model.curves.value), model.curves.cells_of(rows)
            for term in parts.maps:
                behind = value[model.curves.cells(term)].max() - value[cells[:, term]]
                share(model.curves.term_columns[term], behind)
        return np.asarray(model.fading(rows)[:, None] * lost)


def _reason(style: Style, feature: int, value: float, lost: float, unit: float, compared: str) -> Reason:
    """One feature as a reason of one row, in a sentence of at most 120 characters."""
    points = unit * lost
    counted = "1 point" if 0.5 <= points < 1.5 else f"{points:.0f} points" if points >= 0.5 else "less than a point"
    name, words = style.names[feature], display_value(style.model, feature, value)
    text = f"{cut(one_line(name), MAX_NAME)} is {cut(one_line(words), MAX_VALUE)}: {counted} {compared}"
    return Reason(name, words, lost, points, cut(text, MAX_TEXT))


def display_value(model: Model, column: int, value: float) -> str:
    """A value of a column as sentences have it."""
    if math.isnan(value):
        return "missing"
    names = model.category_names.get(column)
    if names is None:
        return number_text(model.number(column, value))
    return category_text(names[int(value)]) if value < len(names) else "a category that training did not have"
