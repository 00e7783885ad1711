"""Reasons: what cost a row most on its way to a class, as lenders must say of adverse decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ferl._models.model import kept_by_model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, mean_firing
from ferl._tell.curves import evidence_of_values, read_score_table
from ferl._tell.statements import Style, in_sentence, reader_names, statements
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
        What it cost, as a weight of evidence: log-odds of two classes; of three and more without a rival the evidence
        for one class, which is compared with the mean of all.
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
    model: RuleModel,
    rows: Floats,
    n: int,
    positive: Any = None,
    against: str = "average",
    points_to_double: float = POINTS_TO_DOUBLE,
    feature_names: Sequence[str] | None = None,
    rival: Any = None,
) -> list[tuple[Reason, ...]]:
    """What cost each of the encoded rows most; see :func:`ferl.export.reason_codes`."""
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1.")
    if against not in AGAINST:
        raise ValueError(f"against is {against!r}; it must be {' or '.join(map(repr, AGAINST))}.")
    if not points_to_double > 0:
        raise ValueError(f"points_to_double is {points_to_double}; it must be above 0.")
    compared, (names, labels) = _compared(model, positive, rival), reader_names(model, feature_names, None)
    style = Style(model, names, [in_sentence(label) for label in labels], max_listed=None)
    candidates = _Candidates(model, style, *compared, against)
    return candidates.of(rows, n, points_to_double / math.log(2))


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
    """What can be a reason, for all classes. The model keeps it, so it must not hold the model.

    Attributes
    ----------
    curves : tuple of Curve
        Sums of the rules on one feature, less their means.
    alone : list of int
        Indices of the rules that stand alone.
    weight : ndarray of shape (n_alone, n_classes)
        Their weights.
    firing : ndarray of shape (n_alone,)
        How far the average training row fits them.
    maps : list of int
        Indices of maps, among all curves and maps.
    """

    curves: tuple[Curve, ...]
    alone: list[int]
    weight: Floats
    firing: Floats
    maps: list[int]


@kept_by_model
def _parts_of(model: RuleModel) -> _Parts:
    """What can be a reason, read once: that takes ten times as long as judging a row."""
    table = read_score_table(model, Style(model, model.column_names(), model.labels))
    alone = list(table.alone)
    return _Parts(table.curves, alone, table.weight[alone], mean_firing(model)[alone], list(table.maps))


class _Candidates:
    """All that can be a reason, and what each of them costs rows.

    Parameters
    ----------
    model : RuleModel
        The model.
    style : Style
        How its parts are called.
    positive : int
        Index of the class that rows should have had.
    rival : int or None
        Index of the class that it is compared with; None: the evidence of ``positive`` counts alone.
    against : {"average", "best"}
        What rows are compared with.
    """

    def __init__(self, model: RuleModel, style: Style, positive: int, rival: int | None, against: str) -> None:
        def towards(evidence: Floats) -> Floats:
            return evidence[..., positive] - (0.0 if rival is None else evidence[..., rival])

        def curve_towards(curve: Curve) -> Curve:
            unseen = None if curve.unseen is None else towards(curve.unseen)[..., None]
            evidence, missing = towards(curve.evidence)[..., None], towards(curve.missing)[..., None]
            return replace(curve, evidence=evidence, missing=missing, unseen=unseen)

        self.model, self.style, self.against, self.parts = model, style, against, _parts_of(model)
        self.curves = [curve_towards(curve) for curve in self.parts.curves]
        self.weight = towards(self.parts.weight)
        self.map_value = np.zeros(0) if model.curves is None else towards(model.curves.value)

    def of(self, rows: Floats, n: int, unit: float) -> list[tuple[Reason, ...]]:
        """The reasons of rows, those that cost most first."""
        parts, weight = self.parts, self.weight
        fits = self.model.rules.activation(self.model.tree, rows)[:, parts.alone]
        got = [curve.at(rows[:, curve.feature])[:, 0] for curve in self.curves]
        if self.against == "best":
            usual = [float(curve.evidence.max()) for curve in self.curves]
            expected = np.maximum(weight, 0.0)
            usual_maps = np.array([float(self.map_value[self._cells(term)].max()) for term in parts.maps])
        else:
            usual = [0.0] * len(self.curves)  # curves are told less their means
            expected = parts.firing * weight
            usual_maps = np.zeros(len(parts.maps))  # so are maps
        of_curves = np.array(usual) - np.reshape(got, (len(usual), len(rows))).T
        fading = self.model.fading(rows)[:, None]
        lost = np.asarray(fading * np.hstack([of_curves, expected - fits * weight, usual_maps - self._of_maps(rows)]))
        order = np.argsort(-lost, axis=1, kind="stable")[:, :n]
        return [
            tuple(self._reason(row, fit, k, float(costs[k]), unit) for k in chosen.tolist() if costs[k] > _NOTHING)
            for row, fit, costs, chosen in zip(rows, fits, lost, order, strict=True)
        ]

    def _cells(self, term: int) -> slice:
        assert self.model.curves is not None
        return self.model.curves.cells(term)

    def _of_maps(self, rows: Floats) -> Floats:
        """What maps add, shape (n_samples, n_maps)."""
        curves, maps = self.model.curves, self.parts.maps
        return np.zeros((len(rows), 0)) if curves is None else self.map_value[curves.cells_of(rows)[:, maps]]

    def _reason(self, row: Floats, fits: Floats, candidate: int, lost: float, unit: float) -> Reason:
        """A candidate as a reason of one row."""
        points = unit * lost
        compared = "the average row" if self.against == "average" else "the best"
        counted = "1 point" if 0.5 <= points < 1.5 else f"{points:.0f} points" if points >= 0.5 else "less than a point"
        cost = f"{counted} below {compared}"
        if candidate < len(self.curves):
            curve = self.curves[candidate]
            name = self.style.names[curve.feature]
            value = said_value(self.model, curve.feature, float(row[curve.feature]))
            feature = self.model.feature_of(curve.feature)
            if evidence_of_values(self.model, curve.feature) is not None:
                name = self.style.names[feature]
                value = f"{said_value(self.model, feature, float(row[feature]))} (evidence {value})"
            return Reason(name, value, lost, points, f"{name} is {value}: {cost}")
        alone = candidate - len(self.curves)
        if alone >= len(self.parts.alone):
            assert self.model.curves is not None
            columns = self.model.curves.term_columns[self.parts.maps[alone - len(self.parts.alone)]]
            names = [self.style.names[column] for column in columns]
            values = [said_value(self.model, column, float(row[column])) for column in columns]
            told = " and ".join(f"{name} is {value}" for name, value in zip(names, values, strict=True))
            return Reason(" and ".join(names), " and ".join(values), lost, points, f"{told}: {cost}")
        rule = self.parts.alone[alone]
        name, value = f"rule {self.model.numbers[rule]}", f"{fits[alone]:.0%}"
        conditions = self.style.conditions(statements(self.model)[rule])
        return Reason(name, value, lost, points, f"{conditions} ({name}) fits by {value}: {cost}")


def said_value(model: RuleModel, column: int, value: float) -> str:
    """A value of a column as sentences have it."""
    if math.isnan(value):
        return "missing"
    names = model.category_names.get(column)
    if names is None:
        return number_text(model.number(column, value))
    return category_text(names[int(value)]) if value < len(names) else "a category that training did not have"
