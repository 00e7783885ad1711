"""Rules that add up to curves, in words and as a table: sentences on curves, scorecards and their points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ferl._models.model import Model, kept_by_model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, Shape, read_shapes
from ferl._models.terms import CurvesAndMaps
from ferl._tables.derived import CategoryEvidence, DayEvidence
from ferl._tables.values import date_text
from ferl._tell.conditions import date_at, value_at
from ferl._tell.statements import Style, statements, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import category_text, has_words, number_text

COMPARED = ("the higher ", "the later ")  # how sentences on curves over numbers and over dates begin
OUTSIDE_CARD = (
    "A value that no line has counts as the nearest one; outside of what training saw, probabilities come closer to "
    "the class frequencies than the total does."
)
_LEVEL = 0.005  # weights that differ by less read the same
_NOTHING = 1e-9  # points
MOST_NAMED = 12  # values of a column of evidence that texts name

# ---------------------------------------------------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------------------------------------------------


def corner_text(corners: Floats, index: int, decimals: int | None = None) -> str:
    """A corner with the digits that tell it from its neighbours."""
    if len(corners) == 1:
        return number_text(float(corners[0]))
    return value_at(float(corners[index]), _gap(corners, index) / 2, decimals)


def _gap(corners: Floats, index: int) -> float:
    """How far a corner lies from its nearest neighbour; 0 where there is none."""
    gaps = np.diff(corners)[max(index - 1, 0) : index + 1]
    return float(gaps.min()) if len(gaps) else 0.0


def curve_value(style: Style, curve: Curve, index: int) -> str:
    """The value at a corner of a curve, or a category, as people write values of the column."""
    model, kind = style.model, style.model.column_kind(curve.feature)
    if curve.is_categorical:
        return category_text(model.category_names[curve.feature][index])
    value = float(curve.values[index])
    if kind.is_date:
        return date_at(value, _gap(curve.values, index), kind)
    said = kind.number(value)
    return category_text(said) if has_words(said) else corner_text(curve.values, index, style.decimals)


def curve_lines(style: Style, curve: Curve) -> list[str]:
    """What a curve says, less its mean over the training rows: a sentence, and the weights at its corners."""
    evidence, model = curve.evidence - curve.mean, style.model
    lines = [f"{style.names[curve.feature]} ({terms_text(curve)})"]
    values = [curve_value(style, curve, k) for k in range(len(evidence))]
    if curve.unseen is not None:
        alike: dict[str, list[str]] = {}  # categories whose weights read the same stand together
        for value, own in zip(values, evidence, strict=True):
            alike.setdefault(style.weight(own), []).append(value)
        told = [f"{', '.join(categories)}: {weight}" for weight, categories in alike.items()]
        told.append(f"any other: {style.weight(curve.unseen - curve.mean)}")
    elif _is_level(evidence):
        told = [f"any number: {style.weight(evidence[0])}"]
    else:
        told = [f"{value}: {style.weight(own)}" for value, own in zip(values, evidence, strict=True)]
        if not is_binary(model, curve):
            lines.append(f"     {_sentence(style, curve, evidence)}")
            # Of two corners and two classes the sentence has both ends.
            told = [] if style.is_two and len(evidence) == 2 else [f"at {text}" for text in told]
    if model.had_missing(curve.feature):
        told.append(f"missing: {style.weight(curve.missing - curve.mean)}")
    return [*lines, f"     {'; '.join(told)}"] if told else lines


@kept_by_model
def evidence_text(model: Model, column: int) -> str:
    """The evidence of the values that matter most by name, and of the others together; "" of other columns."""
    found = evidence_of_values(model, column)
    if found is None:
        return ""
    names, evidence = found
    order = np.argsort(-np.abs(evidence), kind="stable")
    if len(order) > MOST_NAMED:
        order = order[: MOST_NAMED - 1]
    named = sorted(order.tolist(), key=lambda k: -evidence[k])
    told = [f"{names[k]} {weight_text(evidence[k])}" for k in named]
    others = np.delete(evidence, order)
    if len(others):
        told.append(f"{len(others):,} others: between {weight_text(others.min())} and {weight_text(others.max())}")
    return f"{', '.join(told)}; any other: 0"


def evidence_of_values(model: Model, column: int) -> tuple[Sequence[str], Floats] | None:
    """The values that a column of evidence tells apart, and the evidence of each; None of other columns."""
    own = model.derived[column - model.n_features] if column >= model.n_features else None
    if isinstance(own, CategoryEvidence):
        names = [category_text(name) for name in model.category_names[own.feature]]
        has_missing = model.had_missing(own.feature)
        return [*names, "missing"][: len(names) + has_missing], own.evidence[: len(names) + has_missing]
    return ([date_text(float(day)) for day in own.days], own.evidence) if isinstance(own, DayEvidence) else None


def terms_text(shape: Shape) -> str:
    """The terms behind a shape: "rules 2, 7, curve", say."""
    numbers = ", ".join(str(rule + 1) for rule in shape.rules)
    rules = [f"rule{'s' if len(shape.rules) > 1 else ''} {numbers}"] if shape.rules else []
    return " and ".join(rules + ([("curve" if len(shape.features) == 1 else "map")] if shape.pictures else []))


def curve_summary(style: Style, curve: Curve) -> str:
    """What a curve says, in one clause; less its mean over the training rows."""
    evidence, name = curve.evidence - curve.mean, style.names[curve.feature]
    if _is_level(evidence):
        return f"{name} speaks alike whatever its value"
    if curve.is_categorical or is_binary(style.model, curve):
        return f"{name} {_extremes(style, curve, evidence)}"
    sentence = _sentence(style, curve, evidence)
    return sentence if sentence.startswith(COMPARED) else f"{name} {sentence}"


def is_told_as_curve(model: Model, curve: Curve) -> bool:
    """Whether rules on one feature are told as their sum; those that ask numbers by words are told one by one."""
    return not model.tree.word or curve.is_categorical


def is_binary(model: Model, curve: Curve) -> bool:
    """Whether a curve is told value by value: over 0 and 1, or over ordered categories."""
    if model.column_kind(curve.feature).is_ordered:
        return True
    return model.is_whole(curve.feature) and curve.seen == (0.0, 1.0) and curve.values.tolist() == [0.0, 1.0]


def _is_level(evidence: Floats) -> bool:
    return bool(np.ptp(evidence, axis=0).max() <= _LEVEL)


def _sentence(style: Style, curve: Curve, evidence: Floats) -> str:
    """How evidence that is not level changes with a number."""
    lines = evidence[:, 1:] - evidence[:, :1] if style.is_two else evidence
    rise = lines[-1] - lines[0]
    steps = np.diff(lines, axis=0)
    is_steady = np.asarray((steps >= -_LEVEL).all(axis=0) | (steps <= _LEVEL).all(axis=0))
    if not style.is_two:
        is_steady &= (np.ptp(lines, axis=0) > _LEVEL) & (np.abs(rise) > _LEVEL)
    steady = [c for c in np.argsort(-np.abs(rise), kind="stable").tolist() if is_steady[c]]
    if not steady:
        return _extremes(style, curve, evidence)
    moves = np.flatnonzero(np.abs(steps[:, steady]).max(axis=1) > 0)
    low, high = curve_value(style, curve, int(moves[0])), curve_value(style, curve, int(moves[-1]) + 1)
    spans = [f"from {weight_text(own[0])} to {weight_text(own[-1])}" for own in lines.T]
    compared = COMPARED[1 if style.model.column_kind(curve.feature).is_date else 0]
    start = f"{compared}{style.names[curve.feature]}, from {low} to {high}, the more it speaks"
    if style.is_two:
        return f"{start} for {style.classes[1 if rise[0] > 0 else 0]}: {spans[0]}"
    sides = (("for", 1), ("against", -1))
    moved = [(side, c) for side, sign in sides for c in [own for own in steady if sign * rise[own] > 0][:1]]
    return f"{start} {' and '.join(f'{side} {style.classes[c]} ({spans[c]})' for side, c in moved)}"


def _extremes(style: Style, curve: Curve, evidence: Floats) -> str:
    """Which values speak most for a class: for either of two, or for the one that the feature moves furthest."""
    if not style.is_two:
        c = int(np.ptp(evidence, axis=0).argmax())
        return f"speaks most for {style.classes[c]} at {curve_value(style, curve, int(evidence[:, c].argmax()))}"
    line = evidence[:, 1] - evidence[:, 0]
    ends = ((1, int(line.argmax())), (0, int(line.argmin())))
    told = [f"most for {style.classes[c]} at {curve_value(style, curve, k)} ({weight_text(line[k])})" for c, k in ends]
    return f"speaks {' and '.join(told)}"


# ---------------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreLine:
    """One line of the table.

    Attributes
    ----------
    name : str
        The feature, or "rule 7" for a rule on several features.
    when : str
        For which values the line counts.
    rules : tuple of int
        Indices of the rules behind it.
    low, high : float
        Ends of an interval of numbers; NaN where the line is about something else, infinite where an end is open.
    start, end : ndarray of shape (n_classes,)
        Weights of evidence at the two ends, linear in between; equal where the line is not about an interval. Those of
        a rule count in proportion to how far it fits.
    """

    name: str
    when: str
    rules: tuple[int, ...]
    low: float
    high: float
    start: Floats
    end: Floats


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A model of rules as a table of what adds up: a line for each interval of a curve, each category and each rule.

    Attributes
    ----------
    model : RuleModel
        The model.
    style : Style
        How its parts are called.
    base : ndarray of shape (n_classes,)
        What all rows begin with.
    shapes : tuple of (Curve or Shape)
        Curves, less their means over the training rows, which are part of the base; and others, whose rules and maps
        stand alone. The most important come first.
    weight : ndarray of shape (n_rules, n_classes)
        The weights of all rules.
    value : ndarray of shape (n_cells, n_classes) or None
        Values of the cells of all curves and maps; those of maps are read here.

    Where a table is scaled, ``n_classes`` stands for the number of columns of the scale.
    """

    model: RuleModel
    style: Style
    base: Floats
    shapes: tuple[Shape, ...]
    weight: Floats
    value: Floats | None

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Sums of the terms on one feature."""
        return tuple(shape for shape in self.shapes if isinstance(shape, Curve))

    @property
    def _others(self) -> list[Shape]:
        return [shape for shape in self.shapes if not isinstance(shape, Curve)]

    @property
    def alone(self) -> tuple[int, ...]:
        """Indices of the rules that stand alone."""
        return tuple(rule for shape in self._others for rule in shape.rules)

    @property
    def maps(self) -> tuple[int, ...]:
        """Indices of the maps, among all curves and maps."""
        return tuple(term for shape in self._others for term in shape.pictures)

    def total(self, rows: Floats) -> Floats:
        """What the table says of encoded rows whose gates are open, shape (n_samples, n_classes)."""
        alone = list(self.alone)
        firing = self.model.rules.activation(self.model.tree, rows)[:, alone]
        out = self.base + np.einsum("ir,rc->ic", firing, self.weight[alone])
        for curve in self.curves:
            out = out + curve.at(rows[:, curve.feature])
        if self.value is not None and self.model.curves is not None and self.maps:
            out = out + self.value[self.model.curves.cells_of(rows)[:, list(self.maps)]].sum(axis=1)
        return np.asarray(out)

    @cached_property
    def lines(self) -> tuple[ScoreLine, ...]:
        """Curves and rules line by line, the most important first."""
        told, found = statements(self.model), []
        for shape in self.shapes:
            if isinstance(shape, Curve):
                found += _curve_lines(self.style, shape)
                continue
            for rule in shape.rules:
                when, own = self.style.conditions(told[rule]) or "always", self.weight[rule]
                found.append(ScoreLine(f"rule {rule + 1}", when, (rule,), np.nan, np.nan, own, own))
            for term in shape.pictures:
                found += self._map_lines(term)
        return tuple(found)

    def _map_lines(self, term: int) -> list[ScoreLine]:
        """A line for each cell of a map in which training rows were."""
        curves = self.model.curves
        assert curves is not None
        assert self.value is not None
        columns, cells = curves.term_columns[term], curves.cells(term)
        name = " and ".join(self.style.names[column] for column in columns)
        first, second = (cell_texts(self.style, curves, term, axis) for axis in (0, 1))
        when = [f"{one}; {other}" for one in first for other in second]
        lines = zip(when, self.value[cells], curves.support[cells].tolist(), strict=True)
        return [ScoreLine(name, own, (), np.nan, np.nan, value, value) for own, value, weight in lines if weight > 0]

    def with_base(self) -> list[ScoreLine]:
        """The lines, below the one that all rows begin with."""
        return [ScoreLine("all rows", "always", (), math.nan, math.nan, self.base, self.base), *self.lines]


def read_score_table(
    model: RuleModel,
    style: Style,
    scale: Callable[[Floats], Floats] = np.asarray,
    scale_base: Callable[[Floats], Floats] | None = None,
) -> ScoreTable:
    """A model of rules as a table.

    Parameters
    ----------
    model : RuleModel
        The model.
    style : Style
        How its parts are called.
    scale : callable, default=np.asarray
        From weights of evidence, shape (..., n_classes), to what the table holds: points, say.
    scale_base : callable, default=None
        The same for what all rows begin with; None: ``scale``.

    Returns
    -------
    ScoreTable
    """
    base = model.prior.copy()
    found: list[Shape] = []
    for shape in read_shapes(model).all:
        if isinstance(shape, Curve) and is_told_as_curve(model, shape):
            base += shape.mean
            found.append(_scaled(shape, scale))
        else:
            found.append(Shape(shape.features, shape.rules, shape.pictures, shape.mean, shape.importance))
    value = None if model.curves is None else scale(model.curves.value)
    return ScoreTable(model, style, (scale_base or scale)(base), tuple(found), scale(model.rules.weight), value)


def cell_texts(style: Style, curves: CurvesAndMaps, term: int, axis: int) -> list[str]:
    """The cells of one axis of a curve or map: "missing", ranges of numbers or categories, "any other"."""
    column, cuts = curves.term_columns[term][axis], curves.cuts(term)[axis]
    model = style.model
    if curves.n_categories[column]:
        return ["missing", *map(category_text, model.category_names[column]), "any other"]
    kind = model.column_kind(column)
    if kind.is_date:
        ends = [date_at(float(own), _gap(cuts, k), kind) for k, own in enumerate(cuts)]
    else:
        told = [kind.number(float(own)) for own in cuts]
        ends = [
            category_text(own) if has_words(own) else corner_text(cuts, k, style.decimals) for k, own in enumerate(told)
        ]
    if not ends:
        return ["missing", "any number"]
    between = [f"above {low} to {high}" for low, high in pairwise(ends)]
    return ["missing", f"up to {ends[0]}", *between, f"above {ends[-1]}"]


def _scaled(curve: Curve, scale: Callable[[Floats], Floats]) -> Curve:
    """A curve less its mean, in another scale."""
    return replace(
        curve,
        evidence=scale(curve.evidence - curve.mean),
        missing=scale(curve.missing - curve.mean),
        unseen=None if curve.unseen is None else scale(curve.unseen - curve.mean),
        mean=0 * scale(curve.mean),
    )


def _curve_lines(style: Style, curve: Curve) -> list[ScoreLine]:
    """The lines of a curve whose mean was taken off."""
    name, rules = style.names[curve.feature], curve.rules
    evidence, nan = curve.evidence, np.nan
    values = [curve_value(style, curve, k) for k in range(len(evidence))]
    lines = []
    if curve.is_categorical or is_binary(style.model, curve):
        lines += [ScoreLine(name, text, rules, nan, nan, own, own) for text, own in zip(values, evidence, strict=True)]
    else:
        lines += _interval_lines(name, rules, curve.values, evidence, values)
    if curve.unseen is not None:
        lines.append(ScoreLine(name, "any other", rules, nan, nan, curve.unseen, curve.unseen))
    lines.append(ScoreLine(name, "missing", rules, nan, nan, curve.missing, curve.missing))
    return lines


def _interval_lines(
    name: str, rules: tuple[int, ...], corners: Floats, evidence: Floats, values: list[str]
) -> list[ScoreLine]:
    """Below the first corner, between neighbouring corners, above the last one."""
    if len(corners) == 1:
        return [ScoreLine(name, "any number", rules, -np.inf, np.inf, evidence[0], evidence[0])]
    lines = [ScoreLine(name, f"up to {values[0]}", rules, -np.inf, float(corners[0]), evidence[0], evidence[0])]
    for k in range(len(corners) - 1):
        if corners[k + 1] == np.nextafter(corners[k], np.inf):
            continue  # a step: no number lies between
        ends, when = (float(corners[k]), float(corners[k + 1])), f"{values[k]} to {values[k + 1]}"
        lines.append(ScoreLine(name, when, rules, *ends, evidence[k], evidence[k + 1]))
    lines.append(ScoreLine(name, f"from {values[-1]}", rules, float(corners[-1]), np.inf, evidence[-1], evidence[-1]))
    return lines


# ---------------------------------------------------------------------------------------------------------------------
# Points
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """How weights of evidence are counted in points.

    Attributes
    ----------
    base_points, base_odds, points_to_double : float, default=600, 50, 20
        A row whose odds are ``base_odds`` to one has ``base_points``, and ``points_to_double`` more double the odds.
    rounded : bool, default=False
        Whether points are whole numbers.
    """

    base_points: float = 600
    base_odds: float = 50
    points_to_double: float = 20
    rounded: bool = False

    @property
    def unit(self) -> float:
        """Points of a weight of evidence of one: a factor of e in the odds."""
        return self.points_to_double / math.log(2)

    @property
    def neutral(self) -> float:
        """Points of even odds."""
        return self.base_points - self.unit * math.log(self.base_odds)

    def scale(self, evidence: Floats, positive: int, offset: float = 0.0) -> Floats:
        """Weights of evidence in points, shape (..., 1) of two classes and (..., n_classes) of others.

        Parameters
        ----------
        evidence : ndarray of shape (..., n_classes)
            Weights of evidence.
        positive : int
            Of two classes, the index of the one that points speak for.
        offset : float, default=0.0
            Points to begin with.

        Returns
        -------
        ndarray
        """
        told = evidence
        if evidence.shape[-1] == 2:
            told = evidence[..., positive : positive + 1] - evidence[..., 1 - positive : 2 - positive]
        points = offset + self.unit * told
        # A weight that is rounding is none: 1e-15 points would make a table of powers of ten.
        return np.asarray(np.round(points) + 0.0 if self.rounded else np.where(np.abs(points) < _NOTHING, 0.0, points))

    def texts(self, line: ScoreLine) -> list[str]:
        """The points of a line, one text for each column."""
        decimals = 0 if self.rounded else 1

        def told(points: float) -> str:
            return f"{round(float(points), decimals) + 0.0:.{decimals}f}"  # adding makes 0 of -0

        pairs = [(told(low), told(high)) for low, high in zip(line.start, line.end, strict=True)]
        return [low if low == high else f"{low} to {high}" for low, high in pairs]

    def meaning(self, classes: list[str], positive: int) -> list[str]:
        """What totals mean, line by line."""
        if len(classes) != 2:
            return [
                f"Probabilities are in proportion to 2 to the power of points / {number_text(self.points_to_double)}."
            ]
        named = classes[positive]
        totals = [round(self.neutral + steps * self.points_to_double) for steps in range(-3, 4)]
        told = [f"{total}: {1 / (1 + math.exp((self.neutral - total) / self.unit)):.0%}" for total in totals]
        double = number_text(self.points_to_double)
        return [
            f"Total and probability of {named}: {', '.join(told)}.",
            f"{double} points more double the odds of {named}.",
        ]
