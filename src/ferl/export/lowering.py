"""The program of a model: the arithmetic of the compiled core in the same order, one function for each kind of part.

A kind of model, of term or of derived column has one function here, found by its type; other kinds are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.cases import Cases
from ferl._models.evidence import PRIOR_ROWS, SET_LEVEL, checked_level
from ferl._models.model import Model, feature_names
from ferl._models.rule_model import RuleModel
from ferl._models.terms import CurvesAndMaps, Rules, Terms
from ferl._models.tree_model import TreeModel
from ferl._tables import ColumnKind, Derived, Missing
from ferl._tables.derived import MOST_DAYS, CategoryEvidence, DateInRange, DatePart, DayEvidence, KnownDate
from ferl._util.arrays import Floats
from ferl._util.text import shown
from ferl.export.program import (
    MOST,
    NOTHING,
    Input,
    Nearest,
    Output,
    Program,
    Value,
    as_value,
    choose,
    count_below,
    entry,
    floor,
    is_missing,
    largest,
    smallest,
)

_LARGEST_EXACT = 2**53  # the integers up to here are doubles
_NOTHING_ADDED = 1e-9  # what a feature adds: less is no reason, and no difference
_FAR = 1e150  # in far distances; its square is still a number


@dataclass(frozen=True)
class Wanted:
    """What a program answers.

    Attributes
    ----------
    evidence : bool
        Whether the answers include sets, ignorance and, for rules, the number of rows behind them.
    reasons : int
        Number of features to name that added most to the score of the label; rules only.
    level : float or None
        The least sum of beliefs in a set; None: 2/3.
    feature_names : sequence of str or None
        Names of the columns of the table; None: the names in the training table.
    """

    evidence: bool = True
    reasons: int = 0
    level: float | None = None
    feature_names: Sequence[str] | None = None


def make_program(model: Model, wanted: Wanted) -> Program:
    """The program of a model."""
    names = list(map(str, wanted.feature_names or feature_names(model.schema)))
    if len(names) != model.n_features:
        raise ValueError(f"feature_names has {len(names)} names; the model has {model.n_features} features.")
    if not all(isinstance(label, str | bool | int | float) for label in model.classes.tolist()):
        raise ValueError(f"The labels are {shown(model.classes.tolist())}; text, numbers and booleans can be exported.")
    columns = zip(names, model.schema.categories, model.schema.kinds, strict=True)
    program = Program([_input(*item) for item in columns], tuple(model.classes.tolist()))
    add_answers(model, program, wanted)
    return program


def _input(name: str, categories: NDArray[Any] | None, kind: ColumnKind) -> Input:
    if categories is None and kind.is_ordered:
        is_text = any(isinstance(item, str) for item in kind.order)
        values = kind.order if is_text else tuple(map(float, kind.order))
        return Input(name, "ordered text" if is_text else "ordered number", values, kind.missing)
    if categories is None:
        return Input(name, "date" if kind.is_date else "number", is_zoned=kind.is_zoned)
    if categories.dtype.kind == "O":
        return Input(name, "text", tuple(categories.tolist()), kind.missing)
    if categories.dtype.kind == "b":
        return Input(name, "flag", tuple(categories.tolist()), kind.missing)
    if categories.dtype.kind == "i" and np.abs(categories.astype(object)).max() > _LARGEST_EXACT:
        raise ValueError(
            f"The column {name!r} holds integers beyond 2**53 as categories, such as {categories.tolist()[-1]}, which "
            "doubles cannot tell apart. Fit with the column as text."
        )
    return Input(name, "code", tuple(map(float, categories.tolist())), kind.missing)


# ---------------------------------------------------------------------------------------------------------------------
# Columns
# ---------------------------------------------------------------------------------------------------------------------


class Columns:
    """The columns that conditions read: features and derived ones.

    Parameters
    ----------
    model : Model
        The model.
    program : Program
        What steps are added to.
    """

    def __init__(self, model: Model, program: Program) -> None:
        self.model, self.program = model, program
        self.n = model.n_features + len(model.derived)

    def n_categories(self, column: int) -> int | None:
        """Number of categories; None: it holds numbers."""
        if column >= self.model.n_features:
            return 2 if isinstance(self.model.derived[column - self.model.n_features], Missing) else None
        item = self.program.inputs[column]
        return len(item.values) if item.is_category else None

    def value(self, column: int) -> Value:
        """A number that may be missing, or the place of a category."""
        if column < self.model.n_features:
            return self.program.input(column)
        item = self.model.derived[column - self.model.n_features]
        return self.program.keep(derived_value(item, self, self.value(item.feature)))

    def missing(self, column: int) -> Value | None:
        """Whether it has no value; None: it always has one."""
        n = self.n_categories(column)
        if n is None:
            derived = self.model.derived[column - self.model.n_features] if column >= self.model.n_features else None
            return None if isinstance(derived, CategoryEvidence) else is_missing(self.value(column))
        return None if column >= self.model.n_features else self.value(column).equals(n + 1.0)

    def unless_missing(self, column: int, if_missing: float, otherwise: Value | float) -> Value:
        """A value of a number, or another where it is missing."""
        missing = self.missing(column)
        return as_value(otherwise) if missing is None else choose(missing, if_missing, otherwise)


@singledispatch
def derived_value(item: Derived, columns: Columns, x: Value) -> Value:
    """A derived column from the value of its feature."""
    raise ValueError(f"A column of the kind {item.kind!r} has no form outside Python. Use the model in Python.")


@derived_value.register
def _(item: Missing, columns: Columns, x: Value) -> Value:
    missing = columns.missing(item.feature)
    return as_value(0.0) if missing is None else choose(missing, 1.0, 0.0)


@derived_value.register
def _(item: CategoryEvidence, columns: Columns, x: Value) -> Value:
    n = len(item.evidence) - 1
    return entry([*item.evidence[:n], 0.0, item.evidence[n]], x)


@derived_value.register
def _(item: KnownDate, columns: Columns, x: Value) -> Value:
    inside = choose(x < item.first, item.first, choose(x > item.last, item.last, x))
    return choose(is_missing(x), NOTHING, inside)


@derived_value.register
def _(item: DateInRange, columns: Columns, x: Value) -> Value:
    return choose(is_missing(x), NOTHING, choose(x < item.first, NOTHING, choose(x > item.last, NOTHING, x)))


@derived_value.register
def _(item: DatePart, columns: Columns, x: Value) -> Value:
    keep = columns.program.keep
    whole = keep(choose(_has_calendar(x), floor(x), NOTHING))
    if item.part == "hour":
        part = floor((x - whole) * 86_400.0 + 0.5) / 3600.0
    elif item.part == "weekday":
        part = _rest(whole + 3.0, 7.0)
    else:
        part = _of_year(keep, whole, item.part)
    return choose(is_missing(whole), NOTHING, part)


@derived_value.register
def _(item: DayEvidence, columns: Columns, x: Value) -> Value:
    keep = columns.program.keep
    whole = keep(choose(_has_calendar(x), floor(x), float(item.days[0]) - 1))
    place = keep(smallest([count_below(item.days, whole), len(item.days) - 1.0]))
    evidence = choose(entry(item.days, place).equals(whole), entry(item.evidence, place), 0.0)
    return choose(is_missing(x), NOTHING, evidence)


def _has_calendar(x: Value) -> Value:
    known = Value("not", (is_missing(x),))
    return Value("and", (known, Value("and", (x >= -MOST_DAYS, x <= MOST_DAYS))))


def _of_year(keep: Callable[[Value], Value], whole: Value, part: str) -> Value:
    """The month, or the day of the year; years begin in March here, so that leap days are last."""
    day = keep(whole + 719_468.0)  # since the first of March of year 0
    day = keep(_rest(day, 146_097.0))  # of an era of 400 years
    leaps = floor(day / 36_524.0) - floor(day / 1460.0)
    year = keep(floor(((day + leaps) - floor(day / 146_096.0)) / 365.0))
    day = keep(day - (year * 365.0 + (floor(year / 4.0) - floor(year / 100.0))))  # of the year, from 0
    if part == "month":
        return _rest(floor((day * 5.0 + 2.0) / 153.0) + 2.0, 12.0)  # March is 2
    divides = _rest(year, 4.0).equals(0.0), Value("not", (_rest(year, 100.0).equals(0.0),))
    is_leap = Value("or", (Value("and", divides), year.equals(0.0)))  # year: of an era
    # Before the first of March are January and February.
    return choose(day < 306.0, day + choose(is_leap, 61.0, 60.0), day - 305.0)


def _rest(item: Value, by: float) -> Value:
    return item - floor(item / by) * by


# ---------------------------------------------------------------------------------------------------------------------
# Conditions and gates
# ---------------------------------------------------------------------------------------------------------------------


class Nodes:
    """How far the nodes of a tree of conditions fire.

    Parameters
    ----------
    model : Model
        The model.
    columns : Columns
        Its columns.
    gated : bool
        Whether gates count.
    """

    def __init__(self, model: Model, columns: Columns, gated: bool) -> None:
        self.tree, self.core, self.columns, self.gated = model.tree, model.core, columns, gated
        self.result: dict[int, Value] = {0: as_value(1.0)}

    def fires(self, node: int) -> Value:
        """How far a node fires."""
        for o in self.tree.path(node):
            if o not in self.result:
                above, fits = self.result[int(self.tree.parent[o])], self._fits(o)
                item = fits if above.op == "number" else above * fits
                if self.gated and (opens := self._opens(o)).op != "number":
                    item = item * opens
                self.result[o] = self.columns.program.keep(item)
        return self.result[node]

    def _of_categories(self, node: int, column: int, seen: Floats, other: float, missing: float) -> Value:
        """A table of categories; categories without training rows at a node count as others."""
        n, known = self.columns.n_categories(column) or 0, self.tree.memberships(node)
        is_known = [code < len(known) and not math.isnan(known[code]) for code in range(n)]
        table = [float(seen[code]) if is_known[code] else other for code in range(n)]
        return entry([*table, other, missing], self.columns.value(column))

    def _fits(self, node: int) -> Value:
        column, share = int(self.tree.feature[node]), float(self.tree.share[node])
        if self.columns.n_categories(column) is not None:
            return self._of_categories(node, column, self.tree.memberships(node), share, share)
        x, sides = self.columns.value(column), []
        for (start, slope, base), sign in ((self.core.rise[node], 1.0), (self.core.fall[node], -1.0)):
            if base == 1 and slope == 0:
                continue  # no such side
            if math.isinf(slope):
                sides.append(choose(x > start if sign > 0 else x < start, 1.0, 0.0))
            else:
                sides.append(Value("ramp", (x,), (float(start), float(slope), sign)))
        return self.columns.unless_missing(column, share, smallest(sides) if sides else 1.0)

    def _opens(self, node: int) -> Value:
        column = int(self.tree.feature[node])
        n = self.columns.n_categories(column)
        if n is not None:
            return self._of_categories(node, column, np.ones(n), _core.UNSEEN_GATE, 1.0)
        return self.columns.unless_missing(column, 1.0, _gate(self.columns.value(column), self.core.gate[node]))


def _gate(x: Value, gate: Floats) -> Value:
    low, high, slope = map(float, gate)
    if not (math.isfinite(low) and math.isfinite(high)):
        return as_value(0.0)  # no training row had a value
    return Value("gate", (x,), (low, high, slope)) if slope != 0 else as_value(1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Terms
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term:
    """What one term adds.

    Attributes
    ----------
    columns : tuple of int
        The columns that it reads.
    to_class : callable
        What it adds to the score of a class, from its place.
    to_label : callable
        What it adds to the score of a class, from a value of its place.
    """

    columns: tuple[int, ...]
    to_class: Callable[[int], Value]
    to_label: Callable[[Value], Value]


@singledispatch
def block_terms(
    block: Terms, model: RuleModel, columns: Columns, nodes: Nodes
) -> tuple[list[Term], Callable[[], Value]]:
    """The terms of a block in the order in which the core adds them, and what the block adds to the leverage."""
    raise ValueError(
        f"The model has terms of the kind {type(block).__name__}, which have no form in SQL or plain code. Fit without "
        "them, or use the model in Python."
    )


@block_terms.register
def _(block: Cases, model: RuleModel, columns: Columns, nodes: Nodes) -> tuple[list[Term], Callable[[], Value]]:
    raise ValueError(
        "The model has known cases, whose vote has no form in SQL or plain code. Fit with cases=False, or strike the "
        "cases out: ferl.editing.edit(clf).strike()."
    )


@block_terms.register
def _(block: Rules, model: RuleModel, columns: Columns, nodes: Nodes) -> tuple[list[Term], Callable[[], Value]]:
    read, program, behind = block.columns(model.tree), columns.program, model.rows_behind
    firing = [nodes.fires(int(node)) for node in block.node]

    def term(rule: int) -> Term:
        phi, weight = firing[rule], block.weight[rule]
        return Term(read[rule], lambda c: phi * float(weight[c]), lambda label: phi * entry(weight, label))

    def leverage() -> Value:
        z = [program.keep((phi - m) * d) for phi, m, d in zip(firing, behind.mean, behind.per_deviation, strict=True)]
        sides = [
            program.keep(Value("sum", tuple(z[k] * float(factors[k]) for k in range(j + 1))))
            for j, factors in enumerate(behind.triangle)
        ]
        return program.total([item * item for item in sides])

    return [term(rule) for rule in np.argsort(block.node, kind="stable").tolist()], leverage


@block_terms.register
def _(block: CurvesAndMaps, model: RuleModel, columns: Columns, nodes: Nodes) -> tuple[list[Term], Callable[[], Value]]:
    program, n_classes = columns.program, len(model.classes)

    def cell(term: int) -> Value:
        result: Value | None = None
        axes = zip(block.term_columns[term], block.cuts(term), block.shape(term), strict=True)
        for column, cuts, size in axes:
            x, n = columns.value(column), columns.n_categories(column)
            if n is None:
                place = columns.unless_missing(column, 0.0, count_below(cuts, x) + 1.0)
            else:
                place = choose(x.equals(n + 1.0), 0.0, x + 1.0)
            place = program.keep(place)
            result = place if result is None else result * float(size) + place
        assert result is not None
        return program.keep(result)

    cells = [cell(term) for term in range(block.n_terms)]

    def term(index: int) -> Term:
        value, at = block.value[block.cells(index)], cells[index]
        # With two classes, a feature nearly always adds to one class what it takes from the other.
        is_opposite = n_classes == 2 and bool((value[:, 1] == -value[:, 0]).all())

        def to_class(c: int) -> Value:
            if is_opposite:
                first = program.keep(entry(value[:, 0], at))
                return first if c == 0 else first * -1.0
            return entry(value[:, c], at)

        return Term(
            block.term_columns[index],
            to_class,
            lambda label: entry(value.ravel(), program.keep(at * float(n_classes) + label)),
        )

    def leverage() -> Value:
        thin = [entry(1 / (1 + block.support[block.cells(k)]), cells[k]) for k in range(block.n_terms)]
        return program.keep(largest([0.0, *thin]))

    return [term(index) for index in range(block.n_terms)], leverage


# ---------------------------------------------------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------------------------------------------------


@singledispatch
def add_answers(model: Model, program: Program, wanted: Wanted) -> None:
    """Add the steps of a model and its answers to a program."""
    raise ValueError(f"A {type(model).__name__} has no form in SQL or plain code. Use it in Python.")


@add_answers.register
def _(model: RuleModel, program: Program, wanted: Wanted) -> None:
    columns, keep = Columns(model, program), program.keep
    nodes, classes = Nodes(model, columns, gated=False), range(len(model.classes))
    blocks = [block_terms(block, model, columns, nodes) for block in model.terms]
    terms = [term for item, _ in blocks for term in item]
    gates = [_column_gate(model, columns, k) for k in range(len(model.gated_columns))]
    fade = _product(program, gates[: model.n_fading])
    sums = [program.total([float(model.prior[c]), *(term.to_class(c) for term in terms)]) for c in classes]
    scores = [keep(sums[c] * fade + (1.0 - fade) * float(model.base[c])) for c in classes]
    probability = _softmax(program, scores)
    label = _argmax(program, probability)
    program.outputs.append(Output("label", label, None, program.classes))
    program.outputs += [Output("probability", item, c) for c, item in enumerate(probability)]
    program.outputs += [Output("score", item, c) for c, item in enumerate(scores)]
    if wanted.evidence:
        support, leverage = _product(program, gates), [item() for _, item in blocks]
        _add_evidence(model, columns, wanted, probability, support, leverage)
    if wanted.reasons:
        _add_reasons(model, columns, wanted.reasons, terms, label, fade)


def _column_gate(model: RuleModel, columns: Columns, k: int) -> Value:
    """How open the gate of a column is."""
    column = int(model.gated_columns[k])
    n = columns.n_categories(column)
    if n is not None:
        return columns.program.keep(choose(columns.value(column).equals(float(n)), _core.UNSEEN_GATE, 1.0))
    gate = _gate(columns.value(column), model.scores.gate[k])
    return columns.program.keep(columns.unless_missing(column, 1.0, gate))


def _product(program: Program, item: Sequence[Value]) -> Value:
    result = as_value(1.0)
    for factor in item:
        result = factor if result.op == "number" and result.data == 1.0 else result * factor
    return program.keep(result)


def _softmax(program: Program, scores: list[Value]) -> list[Value]:
    """As the core has it: centred, the largest subtracted, and bounded below."""
    keep = program.keep
    mean = keep(program.total(scores) / float(len(scores)))
    centred = [keep(item - mean) for item in scores]
    most = keep(largest([0.0, *centred]))
    power = [keep(choose(item.equals(most), 1.0, Value("exp", (item - most,)))) for item in centred]
    total = program.total(power)
    return [keep(item / total) for item in power]


def _argmax(program: Program, item: list[Value]) -> Value:
    """The place of the largest number, the first of equals."""
    most = program.keep(largest(item))
    return program.keep(_first([value.equals(most) for value in item[:-1]], len(item) - 1.0))


def _first(conditions: list[Value], otherwise: float) -> Value:
    """The place of the first condition that holds."""
    result = as_value(otherwise)
    for place in range(len(conditions) - 1, -1, -1):
        result = choose(conditions[place], float(place), result)
    return result


def _add_evidence(
    model: RuleModel,
    columns: Columns,
    wanted: Wanted,
    probability: list[Value],
    support: Value,
    leverage: list[Value],
) -> None:
    """The rows behind an answer, ignorance and the set."""
    program = columns.program
    keep = program.keep
    # The leverage of the rules comes last, as in the core.
    behind = 1.0 / program.total([float(model.rows_behind.least), *reversed(leverage)])
    most = [
        entry([*item[:-1], item[-1], MOST], columns.value(column))
        for column, item in model.most_rows_of_category.items()
    ]
    behind = keep(smallest([behind, *most]))
    if model.tree.profile.has_exemplars:
        search = _nearest(model, columns)
        away = keep(keep(Value("nearest", search.columns, search)) / model.neighbours.far)
        behind = keep(choose(away > _FAR, 0.0, behind * (1.0 / (away * away + 1.0))))
    reliability = keep(support * (behind / (behind + PRIOR_ROWS)))
    if len(probability) == 1:  # what lies on all classes lies on the only one
        reliability = as_value(1.0)
    least = (SET_LEVEL if wanted.level is None else checked_level(wanted.level)) - _core.TIE
    for c, item in enumerate(probability):
        others = [*probability[:c], *probability[c + 1 :]]
        above = [choose(other > item + _core.TIE, other, 0.0) for other in others]
        program.outputs.append(Output("in_set", reliability * program.total([*above, 0.0]) < least, c))
    program.outputs.append(Output("ignorance", 1.0 - reliability))
    program.outputs.append(Output("rows", support * behind))


def _nearest(model: RuleModel, columns: Columns) -> Nearest:
    kept, n_categories = model.familiar, [columns.n_categories(column) for column in range(columns.n)]
    order = sorted(range(columns.n), key=lambda column: n_categories[column] is not None)
    is_number = np.array([n_categories[column] is None for column in order])
    counts = ~np.isin(order, model.replaced)  # the others are read through derived columns alone
    centre, per_unit, rows = kept.centre[order], counts / kept.unit[order], kept.rows[:, order].copy()
    with np.errstate(over="ignore"):
        units = np.clip((rows - centre) * per_unit, -_core.FAR_AWAY, _core.FAR_AWAY)
    units = np.where(is_number, np.nan_to_num(units), np.where(np.isnan(rows), -1.0, rows)).astype(np.float32)
    rows = np.where(np.isnan(rows), np.where(is_number, centre, -1.0), rows)
    return Nearest(
        tuple(columns.value(column) for column in order),
        tuple(is_number.tolist()),
        tuple(n_categories[column] or 0 for column in order),
        tuple(order),
        centre,
        per_unit,
        units,
        rows,
        _core.FAR_AWAY,
    )


def _add_reasons(model: RuleModel, columns: Columns, n: int, terms: list[Term], label: Value, fade: Value) -> None:
    """The features that add most to the score of the label, compared with the average training row."""
    program = columns.program
    added: dict[int, list[Value]] = {}
    mean = model.share_among_features(model.mean_contributions[None])[0]
    for term in terms:
        part = program.keep(term.to_label(label) / float(len(term.columns)))
        for column in term.columns:
            added.setdefault(model.feature_of(column), []).append(part)
    features = sorted(added)
    names = tuple(item.name for item in program.inputs)
    result = [program.total(added[feature]) - entry(mean[feature], label) for feature in features]
    result = [program.keep(choose(fade > 0.0, item, 0.0)) for item in result]
    for place in range(n):
        if not result:
            chosen = as_value(-1.0)
        else:
            most = program.keep(largest(result))
            # Of features that add equally much the first one: their sums differ by rounding.
            least = program.keep(most - _NOTHING_ADDED)
            is_most = [Value("and", (item > least, item > _NOTHING_ADDED)) for item in result]
            first = program.keep(_first(is_most, -1.0))
            chosen = program.keep(choose(first < 0.0, -1.0, entry([*features], program.keep(largest([first, 0.0])))))
            result = [program.keep(choose(first.equals(float(k)), -1.0, item)) for k, item in enumerate(result)]
        program.outputs.append(Output("reason", chosen, place, names))


# ---------------------------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------------------------

_Masses = tuple[list[Value], Value]
"""On single classes, and on all of them."""


@add_answers.register
def _(model: TreeModel, program: Program, wanted: Wanted) -> None:
    if wanted.reasons:
        raise ValueError(
            f"reasons is {wanted.reasons}, but this is a tree, whose evidence does not add up. Set it to 0, or fit a "
            "FERLClassifier."
        )
    if wanted.level is not None:
        raise ValueError(f"level is {wanted.level!r}, but the sets of trees have no level. Leave it out.")
    columns, keep, n = Columns(model, program), program.keep, len(model.classes)
    nodes = Nodes(model, columns, model.reading.support_gate)
    belief, ignorance = _COMBINATIONS[model.reading.combination](model, program, nodes)
    probability = [keep(item + ignorance / float(n)) for item in belief]
    label, most = _argmax(program, probability), keep(largest(belief))
    if model.usual_class:  # else the first of equals, where nothing fires
        label = keep(choose(most > 0.0, label, float(model.usual_class)))
    program.outputs.append(Output("label", label, None, program.classes))
    program.outputs += [Output("probability", item, c) for c, item in enumerate(probability)]
    if not wanted.evidence:
        return
    for c, item in enumerate(belief):
        program.outputs.append(Output("in_set", item + ignorance >= most - _core.TIE, c))
    program.outputs.append(Output("ignorance", ignorance))
    program.outputs += [Output("belief", item, c) for c, item in enumerate(belief)]


def _believed(model: TreeModel, node: int, firing: Value) -> Value:
    trust = float(model.reliability[node])
    return firing if trust == 1 else firing * trust


def _dempster(model: TreeModel, program: Program, nodes: Nodes) -> _Masses:
    """Dempster's rule; leaves of splits share a row, and products of what they leave never underflow."""
    sources = np.flatnonzero(model.is_source).tolist()
    phi = [program.keep(_believed(model, node, nodes.fires(node))) for node in sources]
    consequent = model.tree.consequent[sources]
    if model.tree.word or len(sources) != len(model.tree.leaves):
        masses = [([item * float(p) for p in shares], 1.0 - item) for item, shares in zip(phi, consequent, strict=True)]
        return _normalised(program, _combined(program, masses))
    left = [program.keep(1.0 - item) for item in phi]
    frame = _long_product(program, left)
    of_class = [
        _long_product(program, [rest + item * float(p) for rest, item, p in zip(left, phi, shares, strict=True)])
        for shares in consequent.T
    ]
    return _normalised(program, ([largest([item - frame, 0.0]) for item in of_class], frame))


def _long_product(program: Program, item: list[Value]) -> Value:
    """A product, kept in pieces."""
    result = item[0]
    for first in range(1, len(item), 50):
        for factor in item[first : first + 50]:
            result = result * factor
        result = program.keep(result)
    return program.keep(result)


def _combined(program: Program, sources: list[_Masses]) -> _Masses:
    """Sources in pairs, then pairs of pairs, without subtractions; masses that are about to underflow are scaled up."""
    keep = program.keep
    while len(sources) > 1:
        result: list[_Masses] = []
        for (first, first_frame), (second, second_frame) in zip(sources[::2], sources[1::2], strict=False):
            frame, other = keep(first_frame), keep(second_frame)
            pairs = [(keep(one), keep(two)) for one, two in zip(first, second, strict=True)]
            masses = [keep(one * (two + other) + frame * two) for one, two in pairs]
            together = keep(frame * other)
            is_small = program.total([together, *masses]) < _core.LEAST_MASS
            scale = keep(choose(is_small, _core.MASS_SCALE, 1.0))
            result.append(([keep(item * scale) for item in masses], keep(together * scale)))
        sources = [*result, *sources[len(sources) // 2 * 2 :]]
    return sources[0]


def _normalised(program: Program, masses: _Masses) -> _Masses:
    """Sources that exclude each other entirely give no evidence together."""
    keep, frame = program.keep, program.keep(masses[1])
    item = [keep(mass) for mass in masses[0]]
    total = program.total([frame, *item])
    is_any = total > 0.0
    return [keep(choose(is_any, mass / total, 0.0)) for mass in item], keep(choose(is_any, frame / total, 1.0))


def _ratio(model: TreeModel, program: Program, node: int, firing: Value) -> Value:
    capped = program.keep(smallest([_believed(model, node, firing), _core.MOST_FIRING]))
    return program.keep(capped / (1.0 - capped))


def _cautious(model: TreeModel, program: Program, nodes: Nodes) -> _Masses:
    sources = np.flatnonzero(model.is_source).tolist()
    ratio = [_ratio(model, program, node, nodes.fires(node)) for node in sources]
    odds = [
        program.keep(largest([0.0, *(item * float(p) for item, p in zip(ratio, shares, strict=True))]))
        for shares in model.tree.consequent[sources].T
    ]
    total = program.total([1.0, *odds])
    return [program.keep(item / total) for item in odds], program.keep(1.0 / total)


def _chain(model: TreeModel, program: Program, nodes: Nodes) -> _Masses:
    """Cautious along each path, whose nodes all count as its end fires; Dempster across the paths."""
    sources: list[_Masses] = []
    for end in np.flatnonzero(model.is_source).tolist():
        path = [node for node in (model.tree.path(end) or [0]) if model.is_rule[node]]
        ratio = [_ratio(model, program, node, nodes.fires(end)) for node in path]
        odds = [
            program.keep(largest([0.0, *(item * float(p) for item, p in zip(ratio, shares, strict=True))]))
            for shares in model.tree.consequent[path].T
        ]
        share = program.keep(1.0 / program.total([1.0, *odds]))
        sources.append(([item * share for item in odds], share))
    return _normalised(program, _combined(program, sources))


def _vote(model: TreeModel, program: Program, nodes: Nodes) -> _Masses:
    sources = np.flatnonzero(model.is_source).tolist()
    phi = [program.keep(_believed(model, node, nodes.fires(node))) for node in sources]
    total = program.total([*phi, 0.0])
    scale = program.keep(largest([total, 1.0]))
    belief = [
        program.keep(program.total([item * float(p) for item, p in zip(phi, shares, strict=True)]) / scale)
        for shares in model.tree.consequent[sources].T
    ]
    return belief, program.keep(largest([1.0 - total, 0.0]))


_COMBINATIONS: dict[str, Callable[[TreeModel, Program, Nodes], _Masses]] = {
    "dempster": _dempster,
    "cautious": _cautious,
    "chain": _chain,
    "vote": _vote,
}


def label_names(program: Program) -> list[str]:
    """The labels as text, to name answers by; their places where two of them have the same text."""
    names = [str(label) for label in program.classes]
    return names if len(set(names)) == len(names) else [str(place) for place in range(len(names))]
