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
from ferl._models.shapes import Curve, Shape, kept_rows, read_shapes
from ferl._models.terms import CurvesAndMaps
from ferl._tables.derived import CategoryEvidence, DayEvidence
from ferl._tables.values import date_text
from ferl._tell.conditions import date_at, value_at
from ferl._tell.statements import Style, statements, weight_text
from ferl._util.arrays import Bools, Floats
from ferl._util.text import category_text, has_words, number_text

COMPARED = ("the higher ", "the later ")  # how sentences on curves over numbers and over dates begin
MAX_RANGES = 12  # of a curve, and cells of a map, that texts list one by one
MAX_TURNS = 6  # of a line whose course is described, including its ends
_TURN = 0.15  # share of the height of a line: smaller reversals are no turns
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
    """Distance of a corner to its nearest neighbour outside its own step; 0 without a neighbour."""
    gaps = np.abs(np.delete(corners, index) - corners[index])
    gaps = gaps[gaps > 2 * np.spacing(abs(corners[index]))]
    return float(gaps.min()) if len(gaps) else 0.0


def curve_value(style: Style, curve: Curve, index: int) -> str:
    """The value at a corner of a curve, or a category, as people write values of the column."""
    model, kind = style.model, style.model.column_kinds[curve.feature]
    if curve.is_categorical:
        return category_text(model.category_names[curve.feature][index])
    value = float(curve.values[index])
    if kind.is_date:
        return date_at(value, _gap(curve.values, index), kind)
    number = kind.number(value)
    return category_text(number) if has_words(number) else corner_text(curve.values, index, style.decimals)


def curve_lines(style: Style, curve: Curve) -> list[str]:
    """What a curve says, less its mean over the training rows: a sentence, and the weights at its corners."""
    evidence, model = curve.evidence - curve.mean, style.model
    lines = [f"{style.names[curve.feature]} ({terms_text(style.model, curve)})"]
    values = [curve_value(style, curve, k) for k in range(len(evidence))]
    if curve.unseen is not None:
        alike: dict[str, list[str]] = {}  # categories whose weights read the same stand together
        for value, item in zip(values, evidence, strict=True):
            alike.setdefault(style.weight(item), []).append(value)
        texts = [f"{', '.join(categories)}: {weight}" for weight, categories in alike.items()]
        texts.append(f"any other: {style.weight(curve.unseen - curve.mean)}")
    elif _is_level(evidence):
        texts = [f"any number: {style.weight(evidence[0])}"]
    elif is_binary(model, curve):
        texts = [f"{value}: {style.weight(item)}" for value, item in zip(values, evidence, strict=True)]
    else:
        lines.append(f"     {_sentence(style, curve, evidence)}")
        texts = _corner_texts(style, evidence, values) if not curve.pictures else _range_texts(style, curve)
    if model.had_missing(curve.feature):
        texts.append(f"missing: {style.weight(curve.missing - curve.mean)}")
    return [*lines, f"     {'; '.join(texts)}"] if texts else lines


@kept_by_model
def evidence_text(model: Model, column: int) -> str:
    """The evidence of the values that matter most by name, and of the others together; "" of other columns."""
    result = evidence_of_values(model, column)
    if result is None:
        return ""
    names, evidence = result
    order = np.argsort(-np.abs(evidence), kind="stable")
    if len(order) > MOST_NAMED:
        order = order[: MOST_NAMED - 1]
    named = sorted(order.tolist(), key=lambda k: -evidence[k])
    texts = [f"{names[k]} {weight_text(evidence[k])}" for k in named]
    others = np.delete(evidence, order)
    if len(others):
        texts.append(f"{len(others):,} others: between {weight_text(others.min())} and {weight_text(others.max())}")
    return f"{', '.join(texts)}; any other: 0"


def evidence_of_values(model: Model, column: int) -> tuple[Sequence[str], Floats] | None:
    """The values that a column of evidence tells apart, and the evidence of each; None of other columns."""
    derived = model.derived[column - model.n_features] if column >= model.n_features else None
    if isinstance(derived, CategoryEvidence):
        names = [category_text(name) for name in model.category_names[derived.feature]]
        has_missing = model.had_missing(derived.feature)
        return [*names, "missing"][: len(names) + has_missing], derived.evidence[: len(names) + has_missing]
    return (
        ([date_text(float(day)) for day in derived.days], derived.evidence)
        if isinstance(derived, DayEvidence)
        else None
    )


def _corner_texts(style: Style, evidence: Floats, values: list[str]) -> list[str]:
    """The weights at all corners; none where the sentence has both ends, of two corners and two classes."""
    if style.is_two and len(evidence) == 2:
        return []
    return [f"at {value}: {style.weight(item)}" for value, item in zip(values, evidence, strict=True)]


def _range_texts(style: Style, curve: Curve) -> list[str]:
    """The weights of ranges; if there are many, the most similar neighbours are merged first."""
    pieces = pieces_of(curve)
    shown = few_pieces(style.model, curve, pieces)
    texts = []
    for text, piece in zip(piece_texts(style, curve, shown), shown, strict=True):
        start, end = style.weight(piece.start - curve.mean), style.weight(piece.end - curve.mean)
        texts.append(f"{text}: {start if start == end else f'{start} to {end}'}")
    if len(shown) < len(pieces):
        texts[0] = f"on average, in {len(shown)} ranges of {len(pieces)}: {texts[0]}"
    return texts


def terms_text(model: Model, shape: Shape) -> str:
    """The terms behind a shape: "rules 2, 7, curve", say."""
    called = list(model.rule_numbers.values())
    numbers = ", ".join(str(called[rule]) for rule in shape.rules)
    rules = [f"rule{'s' if len(shape.rules) > 1 else ''} {numbers}"] if shape.rules else []
    return " and ".join(rules + ([("curve" if len(shape.features) == 1 else "map")] if shape.pictures else []))


def curve_summary(style: Style, curve: Curve) -> str:
    """What a curve says, in one clause; less its mean over the training rows."""
    evidence, name = curve.evidence - curve.mean, style.names[curve.feature]
    if _is_level(evidence):
        return f"{name} adds the same whatever its value"
    if curve.is_categorical or is_binary(style.model, curve):
        return f"{name} {_extremes(style, curve, evidence)}"
    sentence = _sentence(style, curve, evidence)
    if sentence.startswith(COMPARED):
        return sentence
    return f"{name}{'' if sentence.startswith('supports') else ':'} {sentence}"


def is_printed_as_curve(model: Model, curve: Curve) -> bool:
    """Whether rules on one feature are printed as their sum; rules in words are listed one by one."""
    return not model.tree.word or curve.is_categorical


def is_binary(model: Model, curve: Curve) -> bool:
    """Whether a curve is listed value by value: over 0 and 1, or over ordered categories."""
    if model.column_kinds[curve.feature].is_ordered:
        return True
    return model.is_whole(curve.feature) and curve.seen == (0.0, 1.0) and curve.values.tolist() == [0.0, 1.0]


def _is_level(evidence: Floats) -> bool:
    return bool(np.ptp(evidence, axis=0).max() <= _LEVEL)


def _sentence(style: Style, curve: Curve, evidence: Floats) -> str:
    """How evidence that is not level changes with a number."""
    lines = evidence[:, 1:] - evidence[:, :1] if style.is_two else evidence
    rise = lines[-1] - lines[0]
    # Many small steps back are a way back: a steady line never lies below what it has reached.
    back = [np.maximum.accumulate(item, axis=0) - item for item in (lines, -lines)]
    is_steady = np.asarray((back[0] <= _LEVEL).all(axis=0) | (back[1] <= _LEVEL).all(axis=0))
    if not style.is_two:
        is_steady &= (np.ptp(lines, axis=0) > _LEVEL) & (np.abs(rise) > _LEVEL)
    steady = [c for c in np.argsort(-np.abs(rise), kind="stable").tolist() if is_steady[c]]
    if not steady:
        return _course(style, curve, evidence, lines) if curve.pictures else _extremes(style, curve, evidence)
    moves = np.flatnonzero(np.abs(np.diff(lines, axis=0)[:, steady]).max(axis=1) > 0)
    low, high = curve_value(style, curve, int(moves[0])), curve_value(style, curve, int(moves[-1]) + 1)
    spans = [f"from {weight_text(item[0])} to {weight_text(item[-1])}" for item in lines.T]
    compared = COMPARED[1 if style.model.column_kinds[curve.feature].is_date else 0]
    between = f", from {low} to {high}," if low != high else ","
    start = f"{compared}{style.names[curve.feature]}{between} the more it"
    if style.is_two:
        return f"{start} supports {style.classes[1 if rise[0] > 0 else 0]}: {spans[0]}"
    sides = (("supports", 1), ("opposes", -1))
    moved = [(side, c) for side, sign in sides for c in [item for item in steady if sign * rise[item] > 0][:1]]
    return f"{start} {' and '.join(f'{side} {style.classes[c]} ({spans[c]})' for side, c in moved)}"


def _course(style: Style, curve: Curve, evidence: Floats, lines: Floats) -> str:
    """The ways up and down of a line that is not steady; of several classes, of the one that moves furthest."""
    c = int(np.ptp(lines, axis=0).argmax())
    line, named = lines[:, c], style.classes[1 if style.is_two else c]
    turns = _turns(line, _TURN * float(np.ptp(line)))
    if len(turns) > MAX_TURNS:
        return f"{_extremes(style, curve, evidence)}, with {len(turns) - 2} turns"
    ways = []
    for before, k in pairwise(turns):
        verb = "rises" if line[k] > line[before] else "falls"
        ways.append(f"{verb} to {weight_text(line[k])} ({curve_place(style, curve, k)})")
    mostly = "mostly " if len(ways) == 1 else ""
    return f"evidence for {named} begins at {weight_text(line[0])}, {mostly}{', '.join(ways)}"


def _turns(line: Floats, least: float) -> list[int]:
    """The first point of a line, the points where it turns by at least so much, and where its last way leads."""
    result, way, low, high = [0], 0, 0, 0  # the lowest and highest points since the last turn
    for k, value in enumerate(line.tolist()):
        low, high = (k if value < line[low] else low), (k if value > line[high] else high)
        is_down, is_up = way >= 0 and value < line[high] - least, way <= 0 and value > line[low] + least
        if is_down or is_up:
            # A small movement before the first large one is ignored.
            result += [high if is_down else low] if way else []
            way, low, high = (-1 if is_down else 1), k, k
    return [*dict.fromkeys([*result, high if way > 0 else low])]


def _extremes(style: Style, curve: Curve, evidence: Floats) -> str:
    """The values that support a class most: each of two classes, or the class that the feature moves furthest."""
    if not style.is_two:
        c = int(np.ptp(evidence, axis=0).argmax())
        return f"supports {style.classes[c]} most {curve_place(style, curve, int(evidence[:, c].argmax()))}"
    line = evidence[:, 1] - evidence[:, 0]
    ends = ((1, int(line.argmax())), (0, int(line.argmin())))
    texts = [f"{style.classes[c]} most {curve_place(style, curve, k)} ({weight_text(line[k])})" for c, k in ends]
    return f"supports {' and '.join(texts)}"


def curve_place(style: Style, curve: Curve, index: int) -> str:
    """Where a corner is: "at 3", or the level range that it belongs to, "from 3 to 5", "above 5"."""
    if curve.pictures and not curve.is_categorical and not is_binary(style.model, curve):
        value, pieces = float(curve.values[index]), pieces_of(curve)
        # Ranges end where steps end: the number behind a cut begins the next range.
        inside = [k for k, piece in enumerate(pieces) if piece.low < value <= piece.high and piece.is_level]
        if inside and len(pieces) > 1:
            text = piece_texts(style, curve, pieces)[inside[0]]
            return text if text.startswith(("up to", "above", "from")) else f"from {text}"
    return f"at {curve_value(style, curve, index)}"


# ---------------------------------------------------------------------------------------------------------------------
# Ranges
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Piece:
    """A range of numbers, above ``low`` and up to ``high``, over which a curve is straight, from start to end."""

    low: float
    high: float
    start: Floats
    end: Floats

    @property
    def is_level(self) -> bool:
        """Whether the curve has one value all over it."""
        return bool(np.abs(self.end - self.start).max() <= _NOTHING)


def pieces_of(curve: Curve) -> list[Piece]:
    """The ranges of a curve over numbers, neighbours of the same level as one."""
    values, evidence = curve.values, curve.evidence
    result = [Piece(-np.inf, float(values[0]), evidence[0], evidence[0])]
    for k in range(len(values)):
        low, high = float(values[k]), float(values[k + 1]) if k + 1 < len(values) else np.inf
        if high == np.nextafter(low, np.inf):
            continue  # a step: no number lies between
        is_behind_step = k > 0 and low == np.nextafter(values[k - 1], np.inf)
        piece = Piece(
            float(values[k - 1]) if is_behind_step else low, high, evidence[k], evidence[min(k + 1, len(values) - 1)]
        )
        last = result[-1]
        if last.is_level and piece.is_level and np.abs(piece.start - last.start).max() <= _NOTHING:
            result[-1] = replace(last, high=high)
        else:
            result.append(piece)
    return result


def piece_texts(style: Style, curve: Curve, pieces: Sequence[Piece]) -> list[str]:
    """Ranges as people write them: "up to 3", "3 to 5", "above 5", or "from 5" where the curve has no step at 5."""
    ends = np.array([piece.low for piece in pieces[1:]])
    if not len(ends):
        return ["any number"]
    edges = replace(curve, values=ends)
    texts = [curve_value(style, edges, k) for k in range(len(ends))]
    is_step = np.abs(pieces[-1].start - pieces[-2].end).max() > _NOTHING
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"{'above' if is_step else 'from'} {texts[-1]}"]


def few_pieces(model: Model, curve: Curve, pieces: list[Piece], most: int = MAX_RANGES) -> list[Piece]:
    """Limit the number of ranges: the most similar neighbours are merged, with their mean over the training rows."""
    if len(pieces) <= most:
        return pieces
    rows = kept_rows(model)[:, curve.feature]
    edges = [piece.high for piece in pieces[:-1]]
    # Ranges without rows count a little, so that they have a mean, too.
    counts = np.bincount(np.searchsorted(edges, rows[~np.isnan(rows)]), minlength=len(pieces))
    weight = np.asarray(counts + 1e-3, dtype=np.float64)
    value = np.array([(piece.start + piece.end) / 2 for piece in pieces])
    (groups, _), value = merged_cells(value[:, None], weight[:, None], most)
    return [
        Piece(pieces[group[0]].low, pieces[group[-1]].high, mean, mean)
        for group, mean in zip(groups, value[:, 0], strict=True)
    ]


def merged_cells(
    value: Floats, weight: Floats, most: int, apart: Sequence[Sequence[int]] = ((), ())
) -> tuple[list[list[list[int]]], Floats]:
    """Merge neighbouring rows and columns of a table, the most similar first.

    Parameters
    ----------
    value : ndarray of shape (n_first, n_second, n_classes)
        Weights of evidence.
    weight : ndarray of shape (n_first, n_second)
        Training weight of the cells, above zero.
    most : int
        The number of cells to stop at.
    apart : sequence of two sequences of int, default=((), ())
        Rows and columns that stay alone.

    Returns
    -------
    groups : list of two lists of lists of int
        The rows, and the columns, that became one.
    value : ndarray of shape (n_groups of rows, n_groups of columns, n_classes)
        Weighted means.
    """
    groups = [[[k] for k in range(n)] for n in weight.shape]
    total = value * weight[..., None]
    while len(groups[0]) * len(groups[1]) > most:
        costs = [_merging_costs(total, weight, axis, groups[axis], apart[axis]) for axis in (0, 1)]
        axis = int(np.argmin([cost.min(initial=np.inf) for cost in costs]))
        if not np.isfinite(costs[axis].min(initial=np.inf)):
            break
        k = int(costs[axis].argmin())
        starts = [0, *range(1, k + 1), *range(k + 2, len(groups[axis]))]
        total, weight = np.add.reduceat(total, starts, axis), np.add.reduceat(weight, starts, axis)
        groups[axis][k : k + 2] = [groups[axis][k] + groups[axis][k + 1]]
    return groups, total / weight[..., None]


def _merging_costs(total: Floats, weight: Floats, axis: int, groups: list[list[int]], apart: Sequence[int]) -> Floats:
    """What merging each row, or column, with the next one adds to the squared error."""
    total, weight = np.moveaxis(total, axis, 0), np.moveaxis(weight, axis, 0)
    mean = total / weight[..., None]
    shared = weight[1:] * weight[:-1] / (weight[1:] + weight[:-1])
    cost = (shared[..., None] * np.diff(mean, axis=0) ** 2).sum(axis=(1, 2))
    alone = np.array([group[0] in apart for group in groups])
    return np.where(alone[1:] | alone[:-1], np.inf, cost)


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
        The score that every row starts from.
    shapes : tuple of (Curve or Shape)
        Curves, less their means over the training rows, which are part of the base; and shapes on several features,
        whose rules and maps are listed one by one. The most important come first.
    weight : ndarray of shape (n_rules, n_classes)
        The weights of all rules.
    value : ndarray of shape (n_cells, n_classes) or None
        Values of the cells of all curves and maps; only the cells of maps are used here.

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
        """The scores of encoded rows whose gates are open, by the table, shape (n_samples, n_classes)."""
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
        return tuple(self.score_lines())

    def score_lines(self, most: int | None = None) -> list[ScoreLine]:
        """The lines, with a limit for each curve over numbers and each map; merged lines have the mean."""
        rules, result = statements(self.model), []
        for shape in self.shapes:
            if isinstance(shape, Curve):
                result += _curve_lines(self.style, shape, most)
                continue
            for rule in shape.rules:
                when, weight = self.style.conditions(rules[rule]) or "always", self.weight[rule]
                result.append(
                    ScoreLine(f"rule {self.model.numbers[rule]}", when, (rule,), np.nan, np.nan, weight, weight)
                )
            for term in shape.pictures:
                result += self._map_lines(term, most)
        return result

    def _map_lines(self, term: int, most: int | None) -> list[ScoreLine]:
        """A line for each cell of a map, neighbours with the same weights as one."""
        curves, result = self.model.curves, []
        assert curves is not None
        assert self.value is not None
        name = " and ".join(self.style.names[column] for column in curves.term_columns[term])
        table = read_map(self.style, curves, term, self.value, math.inf if most is None else most)
        for row, text in enumerate(table.rows):
            for run in table.runs(row):
                value = table.value[row, run[0]]
                when = f"{text}; {table.column_text(run)}"
                result.append(ScoreLine(name, when, (), np.nan, np.nan, value, value))
        return result

    def with_base(self) -> list[ScoreLine]:
        """The lines, below the one that all rows begin with."""
        return [ScoreLine("all rows", "always", (), math.nan, math.nan, self.base, self.base), *self.lines]


def outside_card(model: RuleModel) -> str:
    """What a card does not show of values outside the training range; "" where the model has no gates."""
    n_gates = len(model.gated_columns)
    if not n_gates:
        return ""
    fades = "Outside the training range, probabilities are closer to the class frequencies than the total implies"
    if not model.n_fading:
        fades = "Outside the range of features with a monotone constraint, belief falls and the probability stays"
    elif model.n_fading < n_gates:
        fades += ", except for features with a monotone constraint: there, only belief falls"
    return f"A value that is on no line counts as the nearest one. {fades}."


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
    result: list[Shape] = []
    for shape in read_shapes(model).all:
        if isinstance(shape, Curve) and is_printed_as_curve(model, shape):
            base += shape.mean
            result.append(_scaled(shape, scale))
        else:
            result.append(Shape(shape.features, shape.rules, shape.pictures, shape.mean, shape.importance))
    value = None if model.curves is None else scale(model.curves.value)
    return ScoreTable(model, style, (scale_base or scale)(base), tuple(result), scale(model.rules.weight), value)


@dataclass(frozen=True, eq=False)
class ToldMap:
    """A map as a table.

    Attributes
    ----------
    rows : list of str
        Values of the first feature.
    columns : list of list of int
        Cells of the second feature, those together that were merged.
    axis : AxisTexts
        What these are called.
    value : ndarray of shape (n_first, n_second, n_classes)
        What they add.
    is_known : ndarray of shape (n_first, n_second)
        Cells that training rows were in, or that add something.
    n_cells : int
        Number of cells before neighbours were merged.
    """

    rows: list[str]
    columns: list[list[int]]
    axis: AxisTexts
    value: Floats
    is_known: Bools
    n_cells: int

    def runs(self, row: int) -> list[list[int]]:
        """Neighbouring columns of a row that add the same, without unknown ones."""
        result: list[list[int]] = []
        for k in np.flatnonzero(self.is_known[row]).tolist():
            is_same = result and result[-1][-1] == k - 1 and self.axis.may_merge(self.columns[k - 1], self.columns[k])
            if is_same and np.abs(self.value[row, k] - self.value[row, k - 1]).max() <= _NOTHING:
                result[-1].append(k)
            else:
                result.append([k])
        return result

    def column_text(self, columns: Sequence[int]) -> str:
        """Some neighbouring columns."""
        return self.axis.text([cell for column in columns for cell in self.columns[column]])


@dataclass(frozen=True, eq=False)
class AxisTexts:
    """The cells of one axis of a curve or map: "missing", ranges of numbers or categories, "any other"."""

    names: tuple[str, ...]
    ends: tuple[str, ...]

    @property
    def apart(self) -> tuple[int, ...]:
        """Cells that are listed alone: missing values, and categories that are not in the training rows."""
        return (0, len(self.names) + 1) if self.names else (0,)

    def may_merge(self, *groups: Sequence[int]) -> bool:
        """Whether these cells may share one line."""
        return not any(cell in self.apart for group in groups for cell in group)

    def text(self, cells: Sequence[int]) -> str:
        """Some neighbouring cells."""
        first, last = cells[0], cells[-1]
        if first == 0:
            return "missing"
        if self.names:
            return ", ".join(self.names[cell - 1] for cell in cells) if last <= len(self.names) else "any other"
        if first == 1:
            return f"up to {self.ends[last - 1]}" if last <= len(self.ends) else "any number"
        low = self.ends[first - 2]
        return f"above {low} to {self.ends[last - 1]}" if last <= len(self.ends) else f"above {low}"


def axis_texts(style: Style, curves: CurvesAndMaps, term: int, axis: int) -> AxisTexts:
    """The texts of the cells of one axis of a curve or map."""
    column, cuts = curves.term_columns[term][axis], curves.cuts(term)[axis]
    model, kind = style.model, style.model.column_kinds[column]
    if curves.n_categories[column]:
        return AxisTexts(tuple(map(category_text, model.category_names[column])), ())
    if kind.is_date:
        return AxisTexts((), tuple(date_at(float(cut), _gap(cuts, k), kind) for k, cut in enumerate(cuts)))
    texts = [kind.number(float(cut)) for cut in cuts]
    ends = [
        category_text(item) if has_words(item) else corner_text(cuts, k, style.decimals) for k, item in enumerate(texts)
    ]
    return AxisTexts((), tuple(ends))


def read_map(style: Style, curves: CurvesAndMaps, term: int, value: Floats, most: float = MAX_RANGES) -> ToldMap:
    """A map as a table with a limited number of cells: the most similar neighbours are merged, with their mean.

    Parameters
    ----------
    style : Style
        How features and values are called.
    curves : CurvesAndMaps
        Curves and maps of the model.
    term : int
        Which of them.
    value : ndarray of shape (n_cells, n_columns)
        What the cells of all curves and maps add, in any unit.
    most : float, default=MAX_RANGES
        Number of cells, without the cells of missing values and unknown categories.

    Returns
    -------
    ToldMap
    """
    shape, axes = curves.shape(term), [axis_texts(style, curves, term, axis) for axis in (0, 1)]
    cells = value[curves.cells(term)].reshape(*shape, -1)
    support = curves.support[curves.cells(term)].reshape(shape)
    is_known = (support > 0) | (np.abs(cells).max(axis=-1) > _NOTHING)
    inside = [[k for k in range(n) if k not in axis.apart] for n, axis in zip(shape, axes, strict=True)]
    n_cells = len(inside[0]) * len(inside[1])
    if n_cells <= most:
        groups = [[[k] for k in range(n)] for n in shape]
    else:
        grid = np.ix_(*inside)
        result, _ = merged_cells(cells[grid], support[grid] + 1e-3, int(most))
        groups = [
            [[0], *([inside[axis][k] for k in group] for group in result[axis]), *([k] for k in axes[axis].apart[1:])]
            for axis in (0, 1)
        ]
    starts = [[group[0] for group in item] for item in groups]

    def summed(table: Floats) -> Floats:
        return np.asarray(np.add.reduceat(np.add.reduceat(table, starts[0], 0), starts[1], 1))

    weight = support + 1e-3 * is_known
    mean = summed(cells * weight[..., None]) / np.maximum(summed(weight), 1e-300)[..., None]
    rows = [axes[0].text(group) for group in groups[0]]
    return ToldMap(rows, groups[1], axes[1], mean, summed(is_known.astype(float)) > 0, n_cells)


def _scaled(curve: Curve, scale: Callable[[Floats], Floats]) -> Curve:
    """A curve less its mean, in another scale."""
    return replace(
        curve,
        evidence=scale(curve.evidence - curve.mean),
        missing=scale(curve.missing - curve.mean),
        unseen=None if curve.unseen is None else scale(curve.unseen - curve.mean),
        mean=0 * scale(curve.mean),
    )


def _curve_lines(style: Style, curve: Curve, most: int | None) -> list[ScoreLine]:
    """The lines of a centred curve; a stored curve over numbers has a limited number of them."""
    name, rules, nan = style.names[curve.feature], curve.rules, np.nan
    if curve.is_categorical or is_binary(style.model, curve):
        values = [curve_value(style, curve, k) for k in range(len(curve.evidence))]
        lines = [
            ScoreLine(name, text, rules, nan, nan, item, item)
            for text, item in zip(values, curve.evidence, strict=True)
        ]
    else:
        pieces = pieces_of(curve)
        if most is not None and curve.pictures:
            pieces = few_pieces(style.model, curve, pieces, most)
        texts = piece_texts(style, curve, pieces)
        lines = [
            ScoreLine(name, text, rules, piece.low, piece.high, piece.start, piece.end)
            for text, piece in zip(texts, pieces, strict=True)
        ]
    if curve.unseen is not None:
        lines.append(ScoreLine(name, "any other", rules, nan, nan, curve.unseen, curve.unseen))
    lines.append(ScoreLine(name, "missing", rules, nan, nan, curve.missing, curve.missing))
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
            With two classes, the index of the class that points support.
        offset : float, default=0.0
            Points to begin with.

        Returns
        -------
        ndarray
        """
        shown = evidence
        if evidence.shape[-1] == 2:
            shown = evidence[..., positive : positive + 1] - evidence[..., 1 - positive : 2 - positive]
        points = offset + self.unit * shown
        # Rounding errors count as zero: 1e-15 points would turn the table into powers of ten.
        return np.asarray(np.round(points) + 0.0 if self.rounded else np.where(np.abs(points) < _NOTHING, 0.0, points))

    def texts(self, line: ScoreLine) -> list[str]:
        """The points of a line, one text for each column."""
        decimals = 0 if self.rounded else 1

        def points_text(points: float) -> str:
            return f"{round(float(points), decimals) + 0.0:.{decimals}f}"  # adding makes 0 of -0

        pairs = [(points_text(low), points_text(high)) for low, high in zip(line.start, line.end, strict=True)]
        return [low if low == high else f"{low} to {high}" for low, high in pairs]

    def meaning(self, classes: list[str], positive: int) -> list[str]:
        """What totals mean, line by line."""
        if len(classes) != 2:
            return [
                f"Probabilities are in proportion to 2 to the power of points / {number_text(self.points_to_double)}."
            ]
        named = classes[positive]
        totals = [round(self.neutral + steps * self.points_to_double) for steps in range(-3, 4)]
        texts = [f"{total}: {1 / (1 + math.exp((self.neutral - total) / self.unit)):.0%}" for total in totals]
        double = number_text(self.points_to_double)
        return [
            f"Total and probability of {named}: {', '.join(texts)}.",
            f"{double} points more double the odds of {named}.",
        ]
