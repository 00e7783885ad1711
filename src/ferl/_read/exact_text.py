"""The whole model as text, with every digit: all that an answer depends on, for whoever wants to work it out.

Names, labels and categories stand in quotation marks, as JSON writes them, so that a program can read the text as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferl import _core
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._read.rules import rule_numbers
from ferl._util.arrays import Floats
from ferl._util.text import exact_text

_FITS = (
    "A rule fits by the product of its conditions. A number fits above 2..3 not at all up to 2, fully from 3 on, and"
    " in proportion between; below 2..3 the other way round; where both ends are the same number, that number fits. "
    "A category fits by the number behind it. What a missing value and any other category fit by stands behind the "
    "condition."
)
_RULES = {
    "dempster": (
        "Rules are combined by Dempster's rule. Of a rule that fits by f, multiply 1 - f + f times the share of a "
        "class over all rules: the class's product. Multiply 1 - f over all rules: what is left open. The belief in "
        "a class is its product less what is left open, the ignorance is what is left open, both divided by their "
        "sum; where the sum is 0 the ignorance is 1."
    ),
    "vote": (
        "Rules vote. The belief in a class is the sum of fit times share of the class over all rules, divided by the"
        " sum of all fits where that is above 1. The ignorance is 1 less the sum of all fits, or 0."
    ),
    "cautious": (
        "Of all rules the strongest counts. The odds of a class are the largest f / (1 - f) times share of the class"
        " over all rules that fit by f, at most {most}. The belief in a class is its odds, the ignorance 1, both "
        "divided by their sum."
    ),
    "chain": (
        "Along a path the strongest rule counts. A path is a rule that no longer rule begins with, together with all"
        " rules that it begins with, all of which speak as its longest rule fits. The odds of a class are the largest "
        "f / (1 - f) times share of the class over the rules of the path; f is the fit of the longest rule, at most "
        "{most}, discounted by the weight of the rule that speaks. "
        "Paths are combined by Dempster's rule. Multiply, over all paths, 1 plus the odds of a class: the class's "
        "product. The belief in a class is its product less 1, the ignorance is 1, both divided by their sum."
    ),
}


def exact_lines(model: Model, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    """All of a model, line by line.

    Parameters
    ----------
    model : Model
        The model.
    names : sequence of str
        Names of the columns, indicators of missing values among them.
    labels : sequence
        Names of the classes.

    Returns
    -------
    list of str
        What an answer is made of, then the rules with a line for each condition.
    """
    lines = _weights_head(model, names, labels) if isinstance(model, RuleModel) else _tree_head(model)
    lines += _coded_lines(model, names)
    for index, (node, number) in enumerate(rule_numbers(model).items()):
        path = model.tree.path(node)
        conditions = [_condition(model, step, names) for step in path] or ["always"]
        lines.append(f"{number:3d}. {'if ' if path else ''}{conditions[0]}")
        lines += [f"     and {own}" for own in conditions[1:]]
        lines.append(f"     then {_said(model, node, index, labels)}")
    return lines


def _weights_head(model: RuleModel, names: Sequence[str], labels: Sequence[Any]) -> list[str]:
    """How the weights of wide rules become an answer."""
    categories = model.category_names
    lines = [
        "Begin with the prior and add the weights of each rule times how far it fits; the probabilities are in "
        "proportion to exp(sum).",
        _FITS,
        f"prior: {_by_class(model.prior, labels)}",
    ]
    columns = model.gated_columns.tolist()
    numbers = [f"{_quoted(names[k])} {_range(model.ranges[k])}" for k in columns if k not in categories]
    if numbers:
        lines += [
            "The sums are multiplied by a gate for each of these numbers: 1 inside the range, less in proportion to "
            f"the distance outside, 0 from {exact_text(model.reading.gate_margin)} times the length of the range on.",
            f"seen: {'; '.join(numbers)}",
        ]
    if len(numbers) < len(columns):
        known = [f"{_quoted(names[k])} {_list(categories[k])}" for k in columns if k in categories]
        lines += [
            f"The sums are multiplied by {_core.UNSEEN_GATE} for each value that is none of these categories and is "
            "not missing.",
            f"categories: {'; '.join(known)}",
        ]
    return lines


def _tree_head(model: Any) -> list[str]:
    """How what the nodes of a tree say becomes an answer."""
    reading = model.reading
    lines = [_RULES[reading.combination].format(most=repr(_core.MOST_FIRING)), _FITS]
    lines.append("The probability of a class is its belief and an equal part of the ignorance.")
    if reading.support_gate:
        lines.append(
            "Each condition is multiplied by its gate: of numbers 1 inside the range that was seen, less in proportion "
            f"to the distance outside, 0 from {exact_text(reading.gate_margin)} times the length of the range on; "
            f"{_core.UNSEEN_GATE} for any other category; 1 for a missing value."
        )
    if reading.discount > 0:
        lines.append("How far a rule fits is multiplied by how far it is believed.")
    return lines


def _coded_lines(model: Model, names: Sequence[str]) -> list[str]:
    """Which numbers stand for dates and for ordered categories."""
    asked = [column for column in model.tree.tested_columns if column < model.n_features]
    dates = [_quoted(names[column]) for column in asked if model.column_kind(column).is_date]
    orders = [
        f"{_quoted(names[column])} {_list(model.column_kind(column).order)}"
        for column in asked
        if model.column_kind(column).is_ordered
    ]
    lines = (
        ["The number of a date is the days since the beginning of 1970.", f"dates: {'; '.join(dates)}"] if dates else []
    )
    if orders:
        lines += ["The number of an ordered category is its index, the first one's 0.", f"orders: {'; '.join(orders)}"]
    return lines


def _condition(model: Model, node: int, names: Sequence[str]) -> str:
    """The condition of one node, with what a missing value fits by and where its gate is open."""
    tree, feature = model.tree, int(model.tree.feature[node])
    name, missing = _quoted(names[feature]), exact_text(float(tree.share[node]))
    if feature in model.category_names:
        members = tree.memberships(node)
        known = zip(model.category_names[feature], members, strict=False)
        fits = [f"{_quoted(category)} {exact_text(float(own))}" for category, own in known if not math.isnan(own)]
        what = "is missing or known" if feature >= model.n_features else "is"
        return f"{name} {what} {', '.join(fits)} (missing or other {missing})"
    a, b, c, d = tree.trapezoid[node].tolist()
    sides = [f"above {_range((a, b))}"] if math.isfinite(a) else []
    sides += [f"below {_range((c, d))}"] if math.isfinite(d) else []
    is_gated = model.reading.support_gate and not isinstance(model, RuleModel)
    seen = f"seen {_range(tree.support[node])}, " if is_gated else ""
    return f"{name} {' and '.join(sides) or 'is any number'} ({seen}missing {missing})"


def _said(model: Model, node: int, index: int, labels: Sequence[Any]) -> str:
    """What a rule says, of wide rules by their index."""
    if isinstance(model, RuleModel):
        return _by_class(model.rules.weight[index], labels)
    said = _by_class(model.tree.consequent[node], labels)
    return f"{said}; believed by {exact_text(float(model.reliability[node]))}" if model.reading.discount > 0 else said


def _by_class(values: Floats, labels: Sequence[Any]) -> str:
    return ", ".join(f"{_quoted(label)} {exact_text(float(own))}" for label, own in zip(labels, values, strict=True))


def _range(ends: Floats | tuple[float, float]) -> str:
    return "..".join(exact_text(float(end)) for end in np.asarray(ends).tolist())


def _list(categories: Sequence[Any]) -> str:
    return ", ".join(map(_quoted, categories))


def _quoted(value: Any) -> str:
    return json.dumps(str(value), ensure_ascii=False)
