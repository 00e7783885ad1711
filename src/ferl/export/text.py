"""The rules of a fitted classifier as text and as data frames."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import pairwise, product
from typing import Any

import numpy as np

from ferl import _core
from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, Interaction, read_shapes
from ferl._models.terms import CurvesAndMaps
from ferl._models.tree import Cuts
from ferl._models.tree_model import TreeModel
from ferl._tables import Missing, data_frame
from ferl._tables.derived import DateInRange, DatePart, DayEvidence, KnownDate
from ferl._tell.curves import (
    MAX_RANGES,
    axis_texts,
    curve_lines,
    evidence_of_values,
    evidence_text,
    is_printed_as_curve,
    read_map,
)
from ferl._tell.overview import Overview, read_accuracy
from ferl._tell.overview import overview as read_overview
from ferl._tell.statements import (
    Statement,
    Style,
    in_sentence,
    path_statements,
    reader_names,
    statements,
    word_meanings,
)
from ferl._util.arrays import Floats
from ferl._util.text import exact_text, listed, number_text
from ferl.rules import FERLClassifier

SHOWN_CLASSES = 4  # with more classes, only the most affected ones are printed unless all are requested


def export_text(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    decimals: int | None = None,
    max_rules: int | None = None,
    shares: bool = True,
    all_classes: bool | None = None,
    exact: bool = False,
    width: int = 100,
) -> str:
    """Rules of a fitted classifier as sentences, those that apply to most rows first.

    A threshold is printed with its band: inside ``2.46 ±0.09`` both sides of a split fire, in shares. Where two bands
    overlap no value fits fully; the rule then names the value that fits best, the ends of both bands, and by how much
    it fits: ``around 0.35 (above 0.25..0.35, below 0.13..0.45, fits by at most 0.31)``. The percentage behind a band
    measures its stability: it is the share of the bootstrap resamples whose best cut lies inside the band. The words of
    a compact tree are defined below its rules. Confidence is the share of the class behind a rule, smoothed towards the
    shares on the path to the rule, so a pure rule does not claim certainty; the shares of other classes follow it.
    A rule applies to the training rows that fit it, each counted by how well it fits.

    Rules whose weights add up are grouped by feature, the most important first: all rules on one feature add up to one
    curve, which is printed by its corners, minus its average over the training rows. Rules on several features follow
    one by one. The text begins with the score that all rows start from, so an answer can be computed by hand.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    class_names : sequence of str, default=None
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    decimals : int, default=None
        Digits after the point of learned thresholds; by default enough digits for the half-width of the band.
    max_rules : int, default=None
        Print at most this many rules, and the number of omitted rules. Rules on one feature whose weights add up are
        printed together; all rules on the strongest feature are always printed.
    shares : bool, default=True
        Print the share of resamples behind each band of a tree.
    all_classes : bool, default=None
        Rules with weights for three and more classes: whether the weight of every class is printed, or only the weights
        of the most supported and the most opposed class. None: every class, if there are at most four.
    exact : bool, default=False
        Print everything that an answer depends on, with every digit: each condition of a path by itself, gates, the
        effect of missing values and unknown categories, and the combination of rules. Names are in quotation marks, so
        a program can read the text; answers computed from it agree with ``predict_proba`` up to rounding.
    width : int, default=100
        Longer lines are wrapped.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, FERLTreeClassifier, export_text
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> print(export_text(clf, feature_names=names, class_names=iris.target_names))
      1. if petal length > 2.46 ±0.09 (52%) and petal width < 1.68 ±0.06 (56%)
         then versicolor with confidence 0.89 (virginica: 0.10, setosa: 0.01), applies to 52.6 rows (35%)
      2. if petal length < 2.46 ±0.09 (52%)
         then setosa with confidence 0.98 (versicolor: 0.01, virginica: 0.01), applies to 50.0 rows (33%)
      3. if petal length > 2.46 ±0.09 (52%) and petal width > 1.68 ±0.06 (56%)
         then virginica with confidence 0.94 (versicolor: 0.05, setosa: 0.01), applies to 47.4 rows (32%)
    Rules are combined by Dempster's rule; exact=True prints everything that an answer depends on,
            with gates and all digits.
    (%): share of resamples whose best cut lies inside the band

    Rules whose weights add up:

    >>> X, y = iris.data[50:], iris.target[50:]
    >>> rules = FERLClassifier(max_rules=2, random_state=0).fit(X, y)
    >>> print(export_text(rules, feature_names=names, class_names=iris.target_names[1:], width=110))
    Evidence for virginica: begin with +0.36 and add what follows. The probability of virginica is 1 / (1
            + exp(-sum)).
    petal width (rule 1)
         the higher petal width, from 1 to 2.5, the more it supports virginica: from -5.81 to +7.08
    petal length (rule 2)
         the higher petal length, from 3 to 6.9, the more it supports virginica: from -8.21 to +8.59
    Between two numbers, weights change in proportion; beyond the first and the last they stay constant.
    Training range: petal length 3..6.9; petal width 1..2.5. A value outside it makes the whole sum count
            less, in proportion to its distance; one range away the sum counts nothing and the class
            frequencies remain.
    """
    model = model_of(estimator, "export_text")
    names, classes = reader_names(model, feature_names, class_names)
    if exact:
        for name, value in (("decimals", decimals), ("max_rules", max_rules)):
            if value is not None:
                raise ValueError(f"{name} is {value}; exact=True prints the whole model. Leave one of the two out.")
        lines = exact_lines(model, names, classes)
    else:
        check_counts(decimals=decimals, max_rules=max_rules)
        all_shown = len(classes) <= SHOWN_CLASSES if all_classes is None else all_classes
        style = Style(model, names, classes, decimals, all_shown, shares, ramps=True)
        lines = listing(model, style, max_rules)
    return "\n".join(part for line in lines for part in wrapped_lines(line, width))


def check_counts(**counts: int | None) -> None:
    """Raise an error where a count is negative."""
    for name, value in counts.items():
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it must be at least 0, or None.")


def wrapped_lines(line: str, width: int) -> list[str]:
    """A line as several of at most this width, those after the first indented."""
    # A threshold stays together with its band, and the band with its share.
    kept = re.sub(r" (?=±|\(\d+%\))", "\u00a0", line)
    indent = len(line) - len(line.lstrip())
    wrapped = textwrap.wrap(kept.strip(), width - 8, break_long_words=False)
    lines = [" " * (8 if index else indent) + part for index, part in enumerate(wrapped)]
    return [part.replace("\u00a0", " ") for part in lines]


# ---------------------------------------------------------------------------------------------------------------------
# The list of rules
# ---------------------------------------------------------------------------------------------------------------------


@singledispatch
def listing(model: Any, style: Style, max_rules: int | None = None) -> list[str]:
    """The rules of a model, line by line, and what a reader needs to apply them."""
    raise TypeError(f"A {type(model).__name__} has no list of rules.")


@listing.register
def _(model: TreeModel, style: Style, max_rules: int | None = None) -> list[str]:
    rules = statements(model)
    shown = rules[:max_rules]
    lines = [line for rule in shown for line in rule.lines(style)]
    if len(shown) < len(rules):
        lines.append(f"... and {len(rules) - len(shown)} more rules")
    if model.tree.n_nodes > 1:
        way = _COMBINED[model.reading.combination]
        lines.append(f"{way}; exact=True prints everything that an answer depends on, with gates and all digits.")
    conditions = [condition for rule in shown for condition in rule.conditions]
    if model.tree.word:
        meanings = word_meanings(model, style.names, {condition.feature for condition in conditions})
        lines += ["where", *(f"     {line}" for line in meanings)] if meanings else []
    elif (
        style.shares
        and model.tree.cuts is not None
        and any(condition.lower or condition.upper for condition in conditions)
    ):
        lines.append("(%): share of resamples whose best cut lies inside the band")
    return lines


_COMBINED = {
    "dempster": "Rules are combined by Dempster's rule",
    "vote": "Rules vote, each in proportion to how well it fits",
    "cautious": "The strongest of all rules counts, class by class",
    "chain": "Along a path the strongest rule counts, and paths are combined by Dempster's rule",
}


@listing.register
def _(model: RuleModel, style: Style, max_rules: int | None = None) -> list[str]:
    style = replace(style, classes=[in_sentence(str(label)) for label in style.classes], shares=False, max_listed=None)
    shapes, rules = read_shapes(model), statements(model)
    begin = f"begin with {style.weight(first_scores(model))}"
    lines = [
        f"Evidence for {(named := style.classes[1])}: {begin} and add what follows. The probability of {named} is "
        "1 / (1 + exp(-sum))."
        if style.is_two
        else f"Evidence for each class: {begin}, and add what follows. Probabilities are in proportion to exp(sum)."
    ]
    n_printed = 0
    for shape in shapes.all:
        numbers = shape.rules
        # Rules on one feature are printed together, so the first group may exceed the requested number.
        if max_rules is not None and n_printed + max(len(numbers), 1) > max_rules and (n_printed or not max_rules):
            break
        if isinstance(shape, Curve) and is_printed_as_curve(model, shape):
            lines += curve_lines(style, shape)
        else:
            numbers = numbers if max_rules is None else numbers[:max_rules]
            lines += [line for rule in numbers for line in rules[rule].lines(style)]
            lines += [line for term in shape.pictures for line in _map_lines(model, style, term)]
        n_printed += len(numbers)
    if n_printed < len(rules):
        lines.append(f"... and {len(rules) - n_printed} more rules")
    return lines + _how_to_apply(model, style, shapes.all)


def first_scores(model: RuleModel) -> Floats:
    """The scores that a list of rules begins with: the prior and the means of curves, which are printed less them."""
    shapes = read_shapes(model)
    curves = [shape for shape in shapes.curves if is_printed_as_curve(model, shape)]
    return np.asarray(shapes.prior + sum((curve.mean for curve in curves), np.zeros_like(shapes.prior)))


def _map_lines(model: RuleModel, style: Style, term: int) -> list[str]:
    """A map: one line for each range of the first feature, with the weights along the second."""
    curves = model.curves
    assert curves is not None
    names = [style.names[column] for column in curves.term_columns[term]]
    table = read_map(style, curves, term, curves.value)
    shown = sum(len(table.runs(row)) for row in range(len(table.rows)))
    part = f", on average over parts of its {table.n_cells} cells" if shown < table.n_cells else ""
    lines = [f"{' and '.join(names)} (map{part})"]
    for row, text in enumerate(table.rows):
        texts = [f"{table.column_text(run)}: {style.weight(table.value[row, run[0]])}" for run in table.runs(row)]
        lines += [f"     {names[0]} {text}; {names[1]} {'; '.join(texts)}"] if texts else []
    return lines


def _how_to_apply(model: RuleModel, style: Style, shapes: Sequence[Curve | Interaction]) -> list[str]:
    """What a reader needs to add up the lines above."""
    lines, in_words, categories = [], bool(model.tree.word), model.category_names
    if model.cases is not None:
        lines.append(
            f"The most similar of {model.cases.n_cases:,} known cases add their vote, which cannot be computed by "
            "hand: similar(X) returns them, and contributions(X) what they add, before the prior."
        )
    numbers = [shape for shape in shapes if isinstance(shape, Curve) and not shape.is_categorical]
    if any(not shape.pictures for shape in numbers) and not in_words:
        lines.append(
            "Between two numbers, weights change in proportion; beyond the first and the last they stay constant."
        )
    if model.curves is not None:
        lines.append(
            "A range such as 2 to 3 holds the numbers above 2 and up to 3. A curve or map with more than "
            f"{MAX_RANGES} ranges or cells is shortened: neighbours that differ least are merged into their mean. "
            "exact=True prints all of them."
        )
    if any(isinstance(shape, Interaction) and shape.rules for shape in shapes) or in_words:
        lines.append(
            "A rule counts in proportion to how well it fits, the product of its conditions: above 2..3 fits not at "
            "all up to 2 and fully from 3 on. A missing or unknown value fits by the share of training rows that fit."
        )
    if in_words:
        lines += ["where", *(f"     {line}" for line in word_meanings(model, style.names))]
    evidence = [(k, text) for k in model.condition_columns.tolist() if (text := evidence_text(model, k))]
    if evidence:
        lines.append(
            "The evidence of a value compares how often its training rows have the class with the average, as "
            "log-odds, shrunken where the rows are few:"
        )
        lines += [f"     {style.names[k]}: {text}" for k, text in evidence]
    if not style.all_classes:
        lines.append("Only the classes with the largest weights are shown; all_classes=True shows all of them.")
    gated = model.gated_columns[: model.n_fading].tolist()
    ranges = [
        f"{style.names[item]} {'..'.join(number_text(model.number(item, end)) for end in model.ranges[item].tolist())}"
        for item in gated
        if item not in categories
    ]
    if ranges:
        margin = model.reading.gate_margin
        far = "one range" if margin == 1 else f"{number_text(margin)} ranges"
        lines.append(
            f"Training range: {'; '.join(ranges)}. A value outside it makes the whole sum count less, in proportion to "
            f"its distance; {far} away the sum counts nothing and the class frequencies remain."
        )
    if any(column in categories for column in gated):
        lines.append("A category that training did not have halves the whole sum.")
    if level := model.gated_columns[model.n_fading :].tolist():
        text = listed([style.names[item] for item in level])
        lines.append(f"A value of {text} outside the training range counts as the nearest value inside it.")
    return lines


# ---------------------------------------------------------------------------------------------------------------------
# All that an answer depends on
# ---------------------------------------------------------------------------------------------------------------------

_FITS = (
    "A rule fits by the product of its conditions. A number fits above 2..3 not at all up to 2, fully from 3 on, and"
    " in proportion between; below 2..3 the other way round; where both ends are the same number, that number fits. "
    "A category fits by the number after it. How well a missing value and any other category fit is written after the "
    "condition."
)
_CELLS = (
    "Add as well one line of each curve and map: the one in whose range a number lies, above its first end and up to "
    "its last one, or that names the category; known is any value that is not missing."
)
_RULES = {
    "dempster": (
        "Rules are combined by Dempster's rule. A rule that fits by f has the factor 1 - f + f times the share of a "
        "class: multiply these over all rules, for each class. Multiply 1 - f over all rules: the open part. The "
        "belief in a class is its product less the open part, and the ignorance is the open part, all divided by their "
        "sum; where the sum is 0, the ignorance is 1."
    ),
    "vote": (
        "Rules vote. The belief in a class is the sum of fit times share of the class over all rules, divided by the"
        " sum of all fits where that is above 1. The ignorance is 1 less the sum of all fits, or 0."
    ),
    "cautious": (
        "The strongest of all rules counts. The odds of a class are the largest f / (1 - f) times share of the class"
        " over all rules that fit by f, at most {most}. The belief in a class is its odds, the ignorance 1, both "
        "divided by their sum."
    ),
    "chain": (
        "Along a path the strongest rule counts. A path is a rule that is not the beginning of a longer one, "
        "together with all rules that it begins with; all of them count as far as the longest one fits. The odds of a "
        "class are the largest f / (1 - f) times share of the class over the rules of the path; f is the fit of the "
        "longest rule, at most {most}, discounted by the weight of the rule itself. "
        "Paths are combined by Dempster's rule. Multiply, over all paths, 1 plus the odds of a class: the class's "
        "product. The belief in a class is its product less 1, the ignorance is 1, both divided by their sum."
    ),
}


@singledispatch
def exact_lines(model: Any, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    """All of a model with every digit: what an answer is made of, then the rules with a line for each condition.

    Names, labels and categories stand in quotation marks, as JSON writes them, so that a program can read the text.
    """
    raise TypeError(f"A {type(model).__name__} cannot be printed.")


@exact_lines.register
def _(model: RuleModel, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    categories = model.category_names
    lines = [
        "Begin with the prior and add the weights of each rule times how well it fits; the probabilities are in "
        "proportion to exp(sum).",
        *([_CELLS] if model.curves is not None else []),
        _FITS,
        f"prior: {_by_class(model.prior, labels)}",
    ]
    columns = model.gated_columns[: model.n_fading].tolist()
    if columns:
        lines += [
            "Each sum then counts by s and the base by 1 - s; s is a product of gates.",
            f"base: {_by_class(model.base, labels)}",
        ]
    numbers = [f"{_quoted(names[k])} {_range(model.ranges[k])}" for k in columns if k not in categories]
    if numbers:
        lines += [
            "There is a gate for each of these numbers: 1 inside the range, less in proportion to the distance outside,"
            f" 0 from {exact_text(model.reading.gate_margin)} times the length of the range on.",
            f"seen: {'; '.join(numbers)}",
        ]
    if len(numbers) < len(columns):
        known = [f"{_quoted(names[k])} {_list(categories[k])}" for k in columns if k in categories]
        lines += [
            f"s is multiplied by {_core.UNSEEN_GATE} for each value that is none of these categories and is not "
            "missing.",
            f"categories: {'; '.join(known)}",
        ]
    lines += [*_coded_lines(model, names), *_exact_pictures(model, names, labels)]
    return [*lines, *_exact_rules(model, names, labels)]


def _exact_pictures(model: RuleModel, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    """Curves and maps, a line for each of their cells."""
    curves, lines = model.curves, []
    for term in range(0 if curves is None else curves.n_terms):
        assert curves is not None
        columns = curves.term_columns[term]
        axes = [_exact_cells(model, curves, term, axis) for axis in range(len(columns))]
        lines.append(f"{'map' if len(axes) == 2 else 'curve'}: {' and '.join(_quoted(names[k]) for k in columns)}")
        for cell, item in zip(product(*axes), curves.value[curves.cells(term)], strict=True):
            if all(cell):
                lines.append(f"     at {' and '.join(cell)}: {_by_class(item, labels)}")
    return lines


def _exact_cells(model: RuleModel, curves: CurvesAndMaps, term: int, axis: int) -> list[str]:
    """The cells of an axis; "": no row is in it, since an indicator is itself never missing."""
    column = curves.term_columns[term][axis]
    if column >= model.n_features and isinstance(model.derived[column - model.n_features], Missing):
        return ["", "known", "missing", ""]
    if curves.n_categories[column]:
        return ["missing", *map(_quoted, model.category_names[column]), "other"]
    ends = [-math.inf, *curves.cuts(term)[axis].tolist(), math.inf]
    texts = [exact_text(end) if math.isfinite(end) else f"{end}" for end in ends]
    return ["missing", *(f"({low}, {high}]" for low, high in pairwise(texts))]


@exact_lines.register
def _(model: TreeModel, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    reading = model.reading
    lines = [_RULES[reading.combination].format(most=repr(_core.MOST_FIRING)), _FITS]
    lines.append("The probability of a class is its belief and an equal part of the ignorance.")
    if reading.support_gate:
        lines.append(
            "Each condition is multiplied by its gate: for numbers 1 inside the training range, less in proportion "
            f"to the distance outside, 0 from {exact_text(reading.gate_margin)} times the length of the range on; "
            f"{_core.UNSEEN_GATE} for any other category; 1 for a missing value."
        )
    if reading.discount > 0:
        lines.append("The fit of a rule is multiplied by how far it is believed.")
    believed = model.reliability if reading.discount > 0 else None
    rules = _exact_rules(model, names, labels, reading.support_gate, believed)
    return [*lines, *_coded_lines(model, names), *rules]


def _exact_rules(
    model: Model, names: Sequence[str], labels: Sequence[Any], gated: bool = False, believed: Floats | None = None
) -> list[str]:
    """Rules with a line for each condition; ``gated``: each condition has its gate; ``believed``: how far, by node."""
    lines = []
    for rule in statements(model):
        conditions = [_exact_condition(model, step, names, gated) for step in rule.path] or ["always"]
        lines.append(f"{rule.number:3d}. {'if ' if rule.path else ''}{conditions[0]}")
        lines += [f"     and {condition}" for condition in conditions[1:]]
        by = "" if believed is None else f"; believed by {exact_text(float(believed[rule.node]))}"
        lines.append(f"     then {_by_class(rule.adds, labels)}{by}")
    return lines


def _coded_lines(model: Model, names: Sequence[str]) -> list[str]:
    """Which numbers stand for dates and for ordered categories."""
    asked = model.condition_columns.tolist()
    dates = [_quoted(names[column]) for column in asked if model.column_kinds[column].is_date]
    orders = [
        f"{_quoted(names[column])} {_list(model.column_kinds[column].order)}"
        for column in asked
        if model.column_kinds[column].is_ordered
    ]
    lines = (
        ["The number of a date is the days since the beginning of 1970.", f"dates: {'; '.join(dates)}"] if dates else []
    )
    if orders:
        lines += ["The number of an ordered category is its index, the first one's 0.", f"orders: {'; '.join(orders)}"]
    return lines + _derived_lines(model, names)


def _derived_lines(model: Model, names: Sequence[str]) -> list[str]:
    """How columns that conditions read are computed from features."""
    lines = []
    for column in model.condition_columns.tolist():
        derived = model.derived[column - model.n_features] if column >= model.n_features else None
        if derived is None or isinstance(derived, Missing):
            continue
        start = f"{_quoted(names[column])} is computed from {_quoted(names[derived.feature])}: "
        if isinstance(derived, DateInRange):
            lines.append(f"{start}a date outside {_range((derived.first, derived.last))} counts as missing")
        elif isinstance(derived, KnownDate):
            lines.append(
                f"{start}a date before or after {_range((derived.first, derived.last))} counts as the nearest of both"
            )
        elif isinstance(derived, DatePart):
            lines.append(f"{start}its {derived.part}")
        else:
            values, evidence = evidence_of_values(model, column) or ((), ())
            pairs = zip(values, np.asarray(evidence).tolist(), strict=True)
            lines.append(start + ", ".join(f"{_quoted(value)} {exact_text(number)}" for value, number in pairs))
            lines[-1] += "; any other 0"
            lines[-1] += "; missing if the date is" if isinstance(derived, DayEvidence) else ""
    return lines


def _exact_condition(model: Model, node: int, names: Sequence[str], gated: bool) -> str:
    """The condition of one node, with what a missing value fits by and where its gate is open."""
    tree, feature = model.tree, int(model.tree.feature[node])
    name, missing = _quoted(names[feature]), exact_text(float(tree.share[node]))
    if feature in model.category_names:
        members = tree.memberships(node)
        known = zip(model.category_names[feature], members, strict=False)
        fits = [f"{_quoted(category)} {exact_text(float(item))}" for category, item in known if not math.isnan(item)]
        what = "is missing or known" if feature >= model.n_features else "is"
        return f"{name} {what} {', '.join(fits)} (missing or other {missing})"
    a, b, c, d = tree.trapezoid[node].tolist()
    sides = [f"above {_range((a, b))}"] if math.isfinite(a) else []
    sides += [f"below {_range((c, d))}"] if math.isfinite(d) else []
    seen = f"seen {_range(tree.support[node])}, " if gated else ""
    return f"{name} {' and '.join(sides) or 'is any number'} ({seen}missing {missing})"


def _by_class(values: Floats, labels: Sequence[Any]) -> str:
    return ", ".join(
        f"{_quoted(label)} {exact_text(float(value))}" for label, value in zip(labels, values, strict=True)
    )


def _range(ends: Floats | tuple[float, float]) -> str:
    return "..".join(exact_text(float(end)) for end in np.asarray(ends).tolist())


def _list(categories: Sequence[Any]) -> str:
    return ", ".join(map(_quoted, categories))


def _quoted(value: Any) -> str:
    return json.dumps(str(value), ensure_ascii=False)


# ---------------------------------------------------------------------------------------------------------------------
# Data frames
# ---------------------------------------------------------------------------------------------------------------------


def rules_frame(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    inner: bool | None = None,
    backend: str | None = None,
) -> Any:
    """Rules of a fitted classifier as a data frame with one row for each rule, those that apply to most rows first.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        As in :func:`export_text`.
    inner : bool, default=None
        Whether to list the beginnings of rules, which end at inner nodes. None: where they are sources of evidence of
        their own, as in a compact tree; the list is then all that an answer is made of.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Library of the returned data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``number`` (the number of the rule in all texts; 0: it is no source of evidence by itself);
        ``conditions`` (the text after "if"); ``label``; ``confidence``; ``support`` (training weight); ``share`` (of
        the whole training weight); ``n_conditions``; ``node`` (its index in ``tree_``); ``is_leaf`` (False for the
        beginning of a rule); and ``p(label)``, the share of each class.

        Rules of :class:`ferl.FERLClassifier` are in the order of ``evidence_weights_`` and have no ``confidence``,
        ``is_leaf`` and ``p(label)``. Instead ``v(label)`` is the weight of evidence for each class, ``label`` the class
        that a rule supports most, ``features`` the names of its features, and ``missing_fits`` the membership of a
        missing value in each of its conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, rules_frame
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> frame = rules_frame(clf, class_names=iris.target_names)
    >>> frame[["conditions", "label", "confidence"]].round(2)
                             conditions       label  confidence
    0  x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06  versicolor        0.89
    1                       x2 < 2.46 ±0.09      setosa        0.98
    2  x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06   virginica        0.94
    """
    model = model_of(estimator, "rules_frame")
    names, classes = reader_names(model, feature_names, class_names)
    return data_frame(_rule_columns(model, Style(model, names, classes), inner), backend)


@singledispatch
def _rule_columns(model: Any, style: Style, inner: bool | None) -> dict[str, list[Any]]:
    """The columns of :func:`rules_frame`."""
    raise TypeError(f"A {type(model).__name__} has no frame of rules.")


@_rule_columns.register
def _(model: TreeModel, style: Style, inner: bool | None) -> dict[str, list[Any]]:
    rules: Sequence[Statement] = statements(model) if inner is None else path_statements(model, inner)
    return {
        "number": [rule.number or 0 for rule in rules],
        "conditions": [style.conditions(rule) for rule in rules],
        "label": [style.classes[rule.label] for rule in rules],
        "confidence": [float(rule.adds[rule.label]) for rule in rules],
        "support": [rule.support for rule in rules],
        "share": [rule.share for rule in rules],
        "n_conditions": [len(rule.conditions) for rule in rules],
        "node": [rule.node for rule in rules],
        "is_leaf": [bool(model.tree.is_leaf[rule.node]) for rule in rules],
        **{f"p({label})": [float(rule.adds[c]) for rule in rules] for c, label in enumerate(style.classes)},
    }


@_rule_columns.register
def _(model: RuleModel, style: Style, inner: bool | None) -> dict[str, list[Any]]:
    if inner:
        raise ValueError("inner is True; only trees have beginnings of rules. Leave inner out for FERLClassifier.")
    rules, names, tree = statements(model), style.names, model.tree
    style = replace(style, max_listed=None)
    return {
        "number": [rule.number for rule in rules],
        "conditions": [style.conditions(rule) for rule in rules],
        "features": [", ".join(dict.fromkeys(names[tree.feature[node]] for node in rule.path)) for rule in rules],
        "label": [style.classes[rule.label] for rule in rules],
        "support": [rule.support for rule in rules],
        "share": [rule.share for rule in rules],
        "n_conditions": [len(rule.path) for rule in rules],
        "node": [rule.node for rule in rules],
        "missing_fits": [", ".join(f"{tree.share[node]:.6g}" for node in rule.path) for rule in rules],
        **{f"v({label})": [float(rule.adds[c]) for rule in rules] for c, label in enumerate(style.classes)},
    }


def curves_frame(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    backend: str | None = None,
) -> Any:
    """Curves and maps of a fitted classifier as a data frame with one row for each cell.

    A row lies in one cell of each curve and map, whose values add to the scores, as the weights of rules do.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted. Where it has neither curves nor maps, the frame is empty.
    feature_names, class_names : sequence of str, default=None
        As in :func:`export_text`.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Library of the returned data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``term`` (its number among the curves and maps, in the order of ``contributions``, from 1); ``kind``
        ("curve" or "map"); ``feature``; ``range`` (numbers, a category, "missing", or "any other" for categories that
        are not in the training rows); ``low`` and ``high`` (the cell holds numbers above ``low`` and up to ``high``;
        NaN for other cells); ``second_feature``, ``second_range``, ``second_low`` and ``second_high`` of maps (empty
        text and NaN for curves); ``support`` (weight of the rows that curves and maps were learned on); ``share`` (of
        the whole weight); and ``v(label)``, the weight of evidence for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl import FERLClassifier, curves_frame
    >>> X = np.random.default_rng(0).random((3000, 1))
    >>> clf = FERLClassifier(max_rules=4, random_state=0).fit(X, np.sin(40 * X[:, 0]) > 0)
    >>> curves_frame(clf, class_names=["down", "up"])[["range", "support", "v(up)"]].round(2).head(4)
                        range  support  v(up)
    0                 missing      0.0   0.00
    1            up to 0.0665    200.0   1.40
    2  above 0.0665 to 0.0787     40.0   0.72
    3  above 0.0787 to 0.1547    240.0  -2.24
    """
    model = model_of(estimator, "curves_frame", RuleModel, "rules_frame")
    style = Style(model, *reader_names(model, feature_names, class_names))
    curves = model.curves
    result: dict[str, list[Any]] = {name: [] for name in _CURVE_COLUMNS}
    value = np.zeros((0, len(style.classes))) if curves is None else curves.value
    for term in range(0 if curves is None else curves.n_terms):
        assert curves is not None
        columns = curves.term_columns[term]
        axes = [_axis_cells(style, curves, term, axis) for axis in range(len(columns))]
        support = curves.support[curves.cells(term)]
        for cell, item in zip(product(*axes), support.tolist(), strict=True):
            names = [style.names[column] for column in columns]
            first, second = (*zip(names, cell, strict=True), ("", ("", math.nan, math.nan)))[:2]
            entries = (term + 1, "map" if len(columns) == 2 else "curve", first[0], *first[1], second[0], *second[1])
            for name, entry in zip(_CURVE_COLUMNS, (*entries, item, item / support.sum()), strict=True):
                result[name].append(entry)
    weights = {f"v({label})": value[:, c].tolist() for c, label in enumerate(style.classes)}
    return data_frame({**result, **weights}, backend)


_CURVE_COLUMNS = (
    *("term", "kind", "feature", "range", "low", "high"),
    *("second_feature", "second_range", "second_low", "second_high", "support", "share"),
)


def _axis_cells(style: Style, curves: CurvesAndMaps, term: int, axis: int) -> list[tuple[str, float, float]]:
    """The cells of one axis of a curve or map: what they are called, and between which numbers they lie."""
    texts = axis_texts(style, curves, term, axis)
    n_cells = curves.shape(term)[axis]
    if texts.names:
        return [(texts.text([cell]), math.nan, math.nan) for cell in range(n_cells)]
    ends = [-math.inf, *curves.cuts(term)[axis].tolist(), math.inf]
    return [("missing", math.nan, math.nan), *((texts.text([k + 1]), *item) for k, item in enumerate(pairwise(ends)))]


def splits_frame(
    estimator: FERLClassifier, *, feature_names: Sequence[str] | None = None, backend: str | None = None
) -> Any:
    """Learned splits of a fitted classifier as a data frame, heaviest first.

    Every bootstrap resample yields its own cut of a split. The frame has an interval for the best cut and the share of
    resamples that agree with the band that was learned from them. Bootstrap intervals of a threshold are approximate;
    ``docs/results/cuts.md`` has their measured coverage.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, deep or medium. The words of a compact tree are not learned: its frame is empty.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Library of the returned data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``feature``; ``threshold`` and ``half_width`` of the band; ``low`` and ``high``, between which the best
        cut lies with about 90 % confidence; ``share`` of the resamples whose cut lies inside the band; ``support``
        (training weight that reached the split); ``gain`` (Gini decrease times weight); ``node`` (its index in
        ``tree_``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, splits_frame
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> splits_frame(clf)[["feature", "threshold", "half_width", "low", "high", "share"]].round(2)
      feature  threshold  half_width  low  high  share
    0      x2       2.46        0.09  1.9   3.0   0.52
    1      x3       1.68        0.06  1.5   1.8   0.56
    """
    model = model_of(estimator, "splits_frame", TreeModel, "rules_frame, whose rules have their corners")
    names, tree = reader_names(model, feature_names, None)[0], model.tree
    cuts = tree.cuts or Cuts(np.full((tree.n_nodes, 2), np.nan), np.full(tree.n_nodes, np.nan))
    splits = np.flatnonzero(~np.isnan(cuts.share))  # a split of categories has no threshold
    splits = splits[np.argsort(-tree.weight[splits], kind="stable")]
    low, high = tree.trapezoid[splits + 1, 2], tree.trapezoid[splits + 1, 3]  # a split's left side comes right after it
    columns = {
        "feature": [names[j] for j in tree.feature[splits + 1]],
        "threshold": ((low + high) / 2).tolist(),
        "half_width": ((high - low) / 2).tolist(),
        "low": cuts.interval[splits, 0].tolist(),
        "high": cuts.interval[splits, 1].tolist(),
        "share": cuts.share[splits].tolist(),
        "support": tree.weight[splits].tolist(),
        "gain": tree.gain[splits].tolist(),
        "node": splits.tolist(),
    }
    return data_frame(columns, backend)


def overview(
    estimator: FERLClassifier, X: Any = None, y: Any = None, *, feature_names: Sequence[str] | None = None
) -> Overview:
    """A model at a glance: what matters, its rules by support, and what each class looks like to it.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows that were not used for fitting. The page then shows the accuracy on these rows, the share of the most
        frequent label for comparison, and the recall of each class.
    y : array-like of shape (n_samples,), default=None
        Labels of these rows.
    feature_names : sequence of str, default=None
        Names to print; None: the names in the training table.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, overview
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    >>> print(overview(clf, X[1::2], y[1::2]).accuracy.section.lines[0])
    Accuracy is 94.7 % on 75 rows. Always predicting 0 would be right for 33.3 % of them.
    """
    page = read_overview(model_of(estimator, "overview").with_names(feature_names))
    if X is None and y is None:
        return page
    if X is None or y is None:
        raise ValueError(f"{'X' if X is None else 'y'} is None; give rows and their labels, or neither.")
    texts = [item.label for item in page.classes]
    return replace(page, accuracy=read_accuracy(np.asarray(y), estimator.predict(X), texts))
