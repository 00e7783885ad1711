"""Wide rules in words: a sentence and its corners for each curve, rules for several features, and the sum they go into.

Whoever has the text can work out an answer by hand: begin with the weight that all rows have, add what each curve says
of the row's value and what each rule says in proportion to how far the row fits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._models.rule_model import RuleModel
from ferl._read.kind_text import date_at
from ferl._read.rules import Rule, read_rules, value_at
from ferl._read.shapes import Curve, Interaction, read_shapes
from ferl._read.text import in_sentence, word_meanings, wrapped_lines
from ferl._util.arrays import Floats
from ferl._util.text import category_text, has_words, listed, number_text, support_text

SHOWN_CLASSES = 4  # where there are more, only the classes that are spoken of most are told unless all are asked for
COMPARED = ("the higher ", "the later ")  # how sentences on curves over numbers and over dates begin
_LEVEL = 0.005  # weights that differ by less read the same


@dataclass(frozen=True)
class WideStyle:
    """How wide rules are put into words: names of columns and classes, digits, and whether all classes are told."""

    model: RuleModel
    names: list[str]
    classes: list[str]
    decimals: int | None = None
    all_classes: bool = True

    @property
    def is_two(self) -> bool:
        """Whether evidence is told as log-odds of the second class."""
        return len(self.classes) == 2

    def weight(self, evidence: Floats) -> str:
        """Weights of evidence: for the second of two classes, otherwise class by class."""
        if self.is_two:
            return weight_text(evidence[1] - evidence[0])
        order = np.argsort(-evidence, kind="stable")
        if not self.all_classes:
            order = order[[0, -1]] if len(order) > 1 else order
        return ", ".join(f"{weight_text(evidence[c])} for {self.classes[c]}" for c in order)

    def conditions(self, rule: Rule) -> str:
        """What follows "if", with all of its categories."""
        categories = self.model.category_names
        return " and ".join(
            own.text(
                self.names[own.feature],
                self.decimals,
                categories=categories.get(own.feature),
                max_listed=None,
            )
            for own in rule.conditions
        )

    def value(self, curve: Curve, index: int) -> str:
        """The value at a corner of a curve, or a category."""
        if curve.is_categorical:
            return category_text(self.model.category_names[curve.feature][index])
        return self.number(curve.feature, curve.values, index)

    def number(self, column: int, corners: Floats, index: int) -> str:
        """A corner of a curve over numbers, as people write values of the column."""
        kind, value = self.model.column_kind(column), float(corners[index])
        if kind.is_date:
            return date_at(value, _gap(corners, index), kind)
        said = kind.number(value)
        return category_text(said) if has_words(said) else corner_text(corners, index, self.decimals)


def weight_text(value: float) -> str:
    """A weight of evidence with its sign and two decimals, or four digits where it is very large."""
    text = f"{value:+.2f}" if abs(value) < 100 else f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0f}"
    return "0" if text in ("+0.00", "-0.00") else text


def corner_text(corners: Floats, index: int, decimals: int | None = None) -> str:
    """A corner with the digits that tell it from its neighbours."""
    if len(corners) == 1:
        return number_text(float(corners[0]))
    return value_at(float(corners[index]), _gap(corners, index) / 2, decimals)


def _gap(corners: Floats, index: int) -> float:
    """How far a corner lies from its nearest neighbour; 0 where there is none."""
    gaps = np.diff(corners)[max(index - 1, 0) : index + 1]
    return float(gaps.min()) if len(gaps) else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------------------------------------------------


def curve_lines(style: WideStyle, curve: Curve) -> list[str]:
    """What a curve says, less its mean over the training rows: a sentence, and the weights at its corners."""
    numbers = ", ".join(str(rule + 1) for rule in curve.rules)
    title = f"{style.names[curve.feature]} (rule{'s' if len(curve.rules) > 1 else ''} {numbers})"
    evidence = curve.evidence - curve.mean
    is_level = bool(np.ptp(evidence, axis=0).max() <= _LEVEL)
    told = [f"{style.value(curve, k)}: {style.weight(own)}" for k, own in enumerate(evidence)]
    lines = [title]
    if curve.is_categorical:
        told = _categories_told(style, curve, evidence)
    if curve.unseen is not None:
        told.append(f"any other: {style.weight(curve.unseen - curve.mean)}")
    elif is_level:
        told = [f"any number: {style.weight(evidence[0])}"]
    elif not is_binary(style.model, curve):
        told = [f"at {text}" for text in told]
        lines.append(f"     {_sentence(style, curve, evidence)}")
        told = [] if style.is_two and len(evidence) == 2 else told  # the sentence has both ends
    if had_missing(style.model, curve.feature):
        told.append(f"missing: {style.weight(curve.missing - curve.mean)}")
    return [*lines, f"     {'; '.join(told)}"] if told else lines


def _categories_told(style: WideStyle, curve: Curve, evidence: Floats) -> list[str]:
    """Categories and their weights; those whose weights read the same together, at the first of them."""
    alike: dict[str, list[str]] = {}
    for k, own in enumerate(evidence):
        alike.setdefault(style.weight(own), []).append(style.value(curve, k))
    return [f"{', '.join(categories)}: {weight}" for weight, categories in alike.items()]


def is_told_as_curve(model: RuleModel, curve: Curve) -> bool:
    """Whether rules on one feature are told as their sum; those that ask numbers by words are told one by one."""
    return not model.tree.word or curve.is_categorical


def curve_summary(style: WideStyle, curve: Curve) -> str:
    """What a curve says, in one clause; less its mean over the training rows."""
    evidence = curve.evidence - curve.mean
    if np.ptp(evidence, axis=0).max() <= _LEVEL:
        return f"{style.names[curve.feature]} speaks alike whatever its value"
    if curve.is_categorical or is_binary(style.model, curve):
        return f"{style.names[curve.feature]} {_extremes(style, curve, evidence)}"
    sentence = _sentence(style, curve, evidence)
    return sentence if sentence.startswith(COMPARED) else f"{style.names[curve.feature]} {sentence}"


def is_binary(model: RuleModel, curve: Curve) -> bool:
    """Whether a curve is told value by value: over 0 and 1, or over ordered categories."""
    if model.column_kind(curve.feature).is_ordered:
        return True
    return model.is_whole(curve.feature) and curve.seen == (0.0, 1.0) and curve.values.tolist() == [0.0, 1.0]


def _sentence(style: WideStyle, curve: Curve, evidence: Floats) -> str:
    """How evidence that is not level changes with a number."""
    name = style.names[curve.feature]
    if style.is_two:
        return _direction(style, name, curve, evidence)
    rise = evidence[-1] - evidence[0]
    moving = [c for c in np.argsort(-np.abs(rise), kind="stable").tolist() if np.ptp(evidence[:, c]) > _LEVEL]
    steady = [c for c in moving if _is_monotone(evidence[:, c]) and abs(rise[c]) > _LEVEL]
    if not steady:
        return _extremes(style, curve, evidence)
    low, high = _moving_part(style, curve, evidence[:, steady])
    up, down = next((c for c in steady if rise[c] > 0), None), next((c for c in steady if rise[c] < 0), None)
    sides = (("for", up), ("against", down))
    parts = [f"{side} {style.classes[c]} ({_span(evidence[:, c])})" for side, c in sides if c is not None]
    return f"{_compared(style, curve)}{name}, from {low} to {high}, the more it speaks {' and '.join(parts)}"


def _direction(style: WideStyle, name: str, curve: Curve, evidence: Floats) -> str:
    """Two classes: which of them higher values speak for."""
    line = evidence[:, 1] - evidence[:, 0]
    if _is_monotone(line):
        towards = style.classes[1 if line[-1] > line[0] else 0]
        low, high = _moving_part(style, curve, line[:, None])
        return f"{_compared(style, curve)}{name}, from {low} to {high}, the more it speaks for {towards}: {_span(line)}"
    return _extremes(style, curve, evidence)


def _compared(style: WideStyle, curve: Curve) -> str:
    return COMPARED[1 if style.model.column_kind(curve.feature).is_date else 0]


def _extremes(style: WideStyle, curve: Curve, evidence: Floats) -> str:
    """Which values speak most for a class: for either of two, or for the one that the feature moves furthest."""
    if not style.is_two:
        c = int(np.ptp(evidence, axis=0).argmax())
        return f"speaks most for {style.classes[c]} at {style.value(curve, int(evidence[:, c].argmax()))}"
    line = evidence[:, 1] - evidence[:, 0]
    top, bottom = int(line.argmax()), int(line.argmin())
    return (
        f"speaks most for {style.classes[1]} at {style.value(curve, top)} ({weight_text(line[top])}) and most for "
        f"{style.classes[0]} at {style.value(curve, bottom)} ({weight_text(line[bottom])})"
    )


def _span(line: Floats) -> str:
    return f"from {weight_text(line[0])} to {weight_text(line[-1])}"


def _is_monotone(line: Floats) -> bool:
    steps = np.diff(line)
    return bool((steps >= -_LEVEL).all() or (steps <= _LEVEL).all())


def _moving_part(style: WideStyle, curve: Curve, evidence: Floats) -> tuple[str, str]:
    """The corners between which evidence changes."""
    moves = np.flatnonzero(np.abs(np.diff(evidence, axis=0)).max(axis=1) > 0)
    return style.value(curve, int(moves[0])), style.value(curve, int(moves[-1]) + 1)


def rule_lines(style: WideStyle, rule: Rule, evidence: Floats) -> list[str]:
    """A rule as a sentence of two lines."""
    tree, total = style.model.tree, float(style.model.tree.weight[0])
    lacking = [node for node in tree.path(rule.node) if had_missing(style.model, int(tree.feature[node]))]
    fits = [f"a missing {style.names[tree.feature[node]]} fits by {tree.share[node]:.2f}" for node in lacking]
    missing = f"; {listed(fits)}" if fits else ""
    return [
        f"{rule.number:3d}. if {style.conditions(rule)}" if rule.conditions else f"{rule.number:3d}. always",
        f"     then {style.weight(evidence)}, support {support_text(rule.support)} ({rule.support / total:.0%})"
        + missing,
    ]


def had_missing(model: RuleModel, column: int) -> bool:
    """Whether a column had missing values in training."""
    known = model.tree.profile.known_weight
    return known is not None and bool(known[0, column] < (1 - 1e-9) * model.tree.weight[0])


# ---------------------------------------------------------------------------------------------------------------------
# The whole text
# ---------------------------------------------------------------------------------------------------------------------


def wide_text(
    model: RuleModel,
    names: list[str],
    classes: Sequence[Any],
    decimals: int | None = None,
    max_rules: int | None = None,
    all_classes: bool | None = None,
    width: int = 100,
) -> str:
    """The rules of a wide model as sentences, grouped by feature; see :func:`ferl.export_text`."""
    for name, value in (("decimals", decimals), ("max_rules", max_rules)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it must be at least 0, or None.")
    told = len(classes) <= SHOWN_CLASSES if all_classes is None else all_classes
    style = WideStyle(model, names, [in_sentence(str(label)) for label in classes], decimals, told)
    shapes, rules = read_shapes(model), read_rules(model)
    curves = [shape for shape in shapes.curves if is_told_as_curve(model, shape)]
    base = shapes.prior + sum((curve.mean for curve in curves), np.zeros(len(classes)))
    lines, n_told = _beginning(style, base), 0
    for shape in shapes.all:
        own = shape.rules
        # Rules on one feature are told together, so that the first of them may be more than were asked for.
        if max_rules is not None and n_told + len(own) > max_rules and (n_told or not max_rules):
            break
        is_curve = isinstance(shape, Curve) and is_told_as_curve(model, shape)
        own = own if is_curve or max_rules is None else own[:max_rules]
        n_told += len(own)
        if isinstance(shape, Curve) and is_curve:
            lines += curve_lines(style, shape)
        else:
            lines += [line for rule in own for line in rule_lines(style, rules[rule], model.rules.weight[rule])]
    if n_told < len(rules):
        lines.append(f"... and {len(rules) - n_told} more rules")
    lines += _end(style, shapes.all)
    return "\n".join(part for line in lines for part in wrapped_lines(line, width))


def _beginning(style: WideStyle, base: Floats) -> list[str]:
    """What all rows begin with, and what their sums mean."""
    if style.is_two:
        named = style.classes[1]
        return [
            f"Evidence for {named}: begin with {weight_text(base[1] - base[0])} and add what follows. The probability "
            f"of {named} is 1 / (1 + exp(-sum))."
        ]
    return [
        f"Evidence for each class: begin with {style.weight(base)}, and add what follows. Probabilities are in "
        "proportion to exp(sum)."
    ]


def _end(style: WideStyle, shapes: Sequence[Curve | Interaction]) -> list[str]:
    """What a reader needs to apply the lines above."""
    model, lines = style.model, []
    in_words = bool(model.tree.word)
    if any(isinstance(shape, Curve) and not shape.is_categorical for shape in shapes) and not in_words:
        lines.append(
            "Between two values of a number weights change in proportion; beyond the first and last they stay."
        )
    if any(isinstance(shape, Interaction) for shape in shapes) or in_words:
        lines.append(
            "A rule counts in proportion to how far it fits, the product of its conditions: above 2..3 fits not at all "
            "up to 2 and fully from 3 on. A missing or unknown value fits by the share of training rows that did."
        )
    if in_words:
        lines += ["where", *(f"     {line}" for line in word_meanings(model, style.names))]
    if not style.all_classes:
        lines.append("Only the classes that are spoken of most are shown; all_classes=True shows all of them.")
    ranges = _ranges(style)
    if ranges:
        lines.append(
            f"Seen in training: {'; '.join(ranges)}. A value outside makes the whole sum count for less, in proportion "
            f"to its distance, and for nothing {_margin(model)} away."
        )
    if any(column in model.category_names for column in model.gated_columns.tolist()):
        lines.append("A category that training did not have halves the whole sum.")
    return lines


def _ranges(style: WideStyle) -> list[str]:
    """Ranges of the numbers whose gates close."""
    seen, categories = style.model.ranges, style.model.category_names
    columns = [column for column in style.model.gated_columns.tolist() if column not in categories]
    return [
        f"{style.names[own]} {'..'.join(number_text(style.model.number(own, end)) for end in seen[own].tolist())}"
        for own in columns
    ]


def _margin(model: RuleModel) -> str:
    margin = model.reading.gate_margin
    return "one range" if margin == 1 else f"{number_text(margin)} ranges"
