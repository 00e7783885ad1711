"""A wide model as a table of what adds up: one line for each interval of a curve, each category and each rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ferl._models.rule_model import RuleModel
from ferl._read.rules import read_rules
from ferl._read.shapes import Curve, read_shapes
from ferl._read.wide_text import WideStyle, is_binary, is_told_as_curve
from ferl._util.arrays import Floats


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
    """The table of a wide model.

    Attributes
    ----------
    model : RuleModel
        The model.
    base : ndarray of shape (n_classes,)
        What all rows begin with.
    curves : tuple of Curve
        Sums of the rules on one feature, less their means over the training rows, which are part of the base.
    rules : tuple of int
        Indices of the rules that stand alone.
    weight : ndarray of shape (n_alone, n_classes)
        Their weights.
    lines : tuple of ScoreLine
        Curves and rules line by line, the most important first.

    Where a table is scaled, ``n_classes`` stands for the number of columns of the scale.
    """

    model: RuleModel
    base: Floats
    curves: tuple[Curve, ...]
    rules: tuple[int, ...]
    weight: Floats
    lines: tuple[ScoreLine, ...]

    def total(self, rows: Floats) -> Floats:
        """What the table says of encoded rows whose gates are open, shape (n_samples, n_classes)."""
        firing = self.model.tree.fire(rows, gated=False)[:, self.model.rules.node[list(self.rules)]]
        out = self.base + np.einsum("ir,rc->ic", firing, self.weight)
        for curve in self.curves:
            out = out + curve.at(rows[:, curve.feature])
        return np.asarray(out)


def read_score_table(
    style: WideStyle,
    scale: Callable[[Floats], Floats] = np.asarray,
    scale_base: Callable[[Floats], Floats] | None = None,
) -> ScoreTable:
    """The table of a wide model.

    Parameters
    ----------
    style : WideStyle
        The model and how its parts are called.
    scale : callable, default=np.asarray
        From weights of evidence, shape (..., n_classes), to what the table holds: points, say.
    scale_base : callable, default=None
        The same for what all rows begin with; None: ``scale``.

    Returns
    -------
    ScoreTable
    """
    model = style.model
    shapes, rules = read_shapes(model), read_rules(model)
    base, lines = shapes.prior.copy(), []
    curves: list[Curve] = []
    alone: list[int] = []
    for shape in shapes.all:
        if isinstance(shape, Curve) and is_told_as_curve(model, shape):
            base += shape.mean
            curves.append(_scaled(shape, scale))
            lines += _curve_lines(style, curves[-1])
            continue
        for rule in shape.rules:
            own = scale(model.rules.weight[rule])
            conditions = style.conditions(rules[rule]) or "always"
            lines.append(ScoreLine(f"rule {rule + 1}", conditions, (rule,), np.nan, np.nan, own, own))
        alone += shape.rules
    weight = scale(model.rules.weight[alone])
    begin = (scale_base or scale)(base)
    return ScoreTable(model, begin, tuple(curves), tuple(alone), weight, tuple(lines))


def _scaled(curve: Curve, scale: Callable[[Floats], Floats]) -> Curve:
    """A curve less its mean, in another scale."""
    return replace(
        curve,
        evidence=scale(curve.evidence - curve.mean),
        missing=scale(curve.missing - curve.mean),
        unseen=None if curve.unseen is None else scale(curve.unseen - curve.mean),
        mean=0 * scale(curve.mean),
    )


def lines_of_rules(table: ScoreTable, max_rules: int | None) -> tuple[list[ScoreLine], int]:
    """The first lines, of at most so many rules in whole shapes, and of how many rules they are."""
    shown: list[ScoreLine] = []
    told: set[int] = set()
    for line in table.lines:
        if max_rules is not None and len(told | set(line.rules)) > max_rules:
            break
        shown.append(line)
        told |= set(line.rules)
    return shown, len(told)


def _curve_lines(style: WideStyle, curve: Curve) -> list[ScoreLine]:
    """The lines of a curve whose mean was taken off."""
    name, rules = style.names[curve.feature], curve.rules
    evidence, nan = curve.evidence, np.nan
    values = [style.value(curve, k) for k in range(len(evidence))]
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
        ends, when = (float(corners[k]), float(corners[k + 1])), f"{values[k]} to {values[k + 1]}"
        lines.append(ScoreLine(name, when, rules, *ends, evidence[k], evidence[k + 1]))
    lines.append(ScoreLine(name, f"from {values[-1]}", rules, float(corners[-1]), np.inf, evidence[-1], evidence[-1]))
    return lines
