"""What a report shows of a model, by its kind: rules, a tree, charts, a scorecard, reason codes.

:func:`view_of` gives the view of a model. A third kind of model needs a class here, a file ``templates/kind_*.html``
with its words and its list of rules, a form in ``page_form`` and an engine in ``static/ferl.js``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial, singledispatch
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel
from ferl._read.points import Points, with_base
from ferl._read.reasons import read_reasons
from ferl._read.rules import Condition, Rule, merged_conditions, read_rules
from ferl._read.score_table import ScoreTable, read_score_table
from ferl._read.shapes import mean_firing, read_shapes
from ferl._read.wide_text import WideStyle
from ferl._util.arrays import Floats
from ferl._util.text import cut, number_text, shown_line, shown_names
from ferl.report.charts import shape_charts
from ferl.report.page_form import numbers, slider_range

MAX_CATEGORY_LETTERS = 30
MAX_SHARES = 6  # classes of a bar; the rest is one part
MAX_CARD_CLASSES = 6  # columns of points that a page has room for
MAX_LETTERS = 300  # of what a line is about
N_REASONS = 4  # for each row; what lenders name at most
POINTS = Points()


class View:
    """A model with the names that readers see.

    Attributes
    ----------
    model : Model
        The model.
    features, columns, classes : list of str
        Names of the features, of the columns that conditions read, and of the classes.
    categories : dict
        Names of the categories of each column that has some.
    target : str or None
        Name of what is predicted; None: the model does not hold it.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.features, self.classes = shown_names(model.feature_names()), shown_names(model.labels)
        self.columns = self.features + [self.features[j] for j in model.missing_features]
        self.categories: dict[int, Sequence[Any]] = {
            j: shown_names(own, MAX_CATEGORY_LETTERS) for j, own in model.category_names.items()
        }
        self.target = shown_line(model.schema.target.name, 60) or None

    def parts(self) -> dict[str, Any]:
        """What the kind of the model has: ``rules``, ``tree``, ``shapes`` and ``card``; and for the form, ``page``."""
        raise NotImplementedError

    def reason_codes(self, rows: Floats, labels: list[int]) -> list[list[str]]:
        """What cost rows of these most probable classes most; empty lists where that cannot be told."""
        return [[] for _ in labels]

    def value(self, feature: int, value: float) -> str:
        """A value of a row, in words."""
        if math.isnan(value):
            return "missing"
        if self.model.schema.categories[feature] is None:
            return number_text(self.model.number(feature, value))
        names = self.categories.get(feature, ())
        return str(names[int(value)]) if value < len(names) else "not in training"

    def conditions(self, conditions: Sequence[Condition]) -> list[str]:
        """Conditions in words; a threshold stays with its band where a line wraps."""
        names, categories = self.columns, self.categories
        texts = [own.text(names[own.feature], categories=categories.get(own.feature)) for own in conditions]
        return [cut(text).replace(" ±", "\u00a0±") for text in texts]

    def _rule(self, rule: Rule, c: int) -> dict[str, Any]:
        """What rules of all kinds have; ``c`` is the class that it speaks for."""
        return {
            "number": rule.number,
            "node": rule.node,
            "conditions": self.conditions(rule.conditions),
            "class": c,
            "label": self.classes[c],
            "support": rule.support,
            "share": rule.support / float(self.model.tree.weight[0]),
        }


@singledispatch
def view_of(model: Model) -> View:
    """The view of a model."""
    raise TypeError(f"A report has no view of {type(model).__name__}.")


def class_shares(consequent: Floats) -> list[dict[str, Any]]:
    """Parts of a bar of classes, in their order; of many the largest, and the rest as one part of no class."""
    largest = np.argsort(-consequent, kind="stable")[:MAX_SHARES]
    kept = [c for c in sorted(largest.tolist()) if consequent[c] >= 0.005]
    parts: list[dict[str, Any]] = [{"class": c, "share": float(consequent[c])} for c in kept]
    rest = 1 - sum(part["share"] for part in parts)
    return [*parts, {"class": None, "share": rest}] if rest > 0.005 else parts


# ---------------------------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------------------------


@view_of.register(TreeModel)
class TreeView(View):
    """Of a tree: its rules, strongest support first, and its nodes."""

    model: TreeModel

    def __init__(self, model: TreeModel) -> None:
        super().__init__(model)

    def parts(self) -> dict[str, Any]:
        """Rules and tree; nodes are a flat list, since a template that called itself would be limited in depth."""
        tree, rules = self.model.tree, read_rules(self.model)
        number = {rule.node: rule.number for rule in rules}
        depth = [*tree.depth.tolist(), 0]
        ranges = [slider_range(self.model, feature) for feature in range(self.model.n_features)]
        label, confidence, weight = tree.consequent.argmax(axis=1), tree.consequent.max(axis=1), tree.weight
        listed = [
            self._rule(rule, rule.label)
            | {
                "is_leaf": bool(tree.is_leaf[rule.node]),
                "n_conditions": len(rule.conditions),
                "confidence": float(rule.consequent[rule.label]),
                "shares": class_shares(rule.consequent),
            }
            for rule in rules
        ]
        nodes = [
            {
                "node": node,
                "depth": depth[node],
                "is_leaf": bool(tree.is_leaf[node]),
                "n_closed": max(depth[node] - depth[node + 1], 0) if tree.is_leaf[node] else 0,
                "condition": self.conditions(merged_conditions(self.model, [node]))[0] if node else "",
                "band": self._band(node, ranges) if node else None,
                "rule": number.get(node),
                "label": self.classes[label[node]],
                "class": int(label[node]),
                "confidence": float(confidence[node]),
                "shares": class_shares(tree.consequent[node]),
                "support": float(weight[node]),
                "share": float(weight[node] / weight[0]),
            }
            for node in range(tree.n_nodes)
        ]
        page = {"usual": None, "reasons": None}
        return {"rules": listed, "tree": nodes, "shapes": None, "card": None, "page": page}

    def _band(self, node: int, ranges: list[tuple[float, float]]) -> str | None:
        """Membership over the range of training as the points of a polygon, 100 wide and 20 high."""
        tree = self.model.tree
        if len(tree.memberships(node)):
            return None
        low, high = ranges[tree.feature[node]]
        a, b, c, d = np.clip(tree.trapezoid[node], low, high)
        left = [(low, 1.0)] if not np.isfinite(tree.trapezoid[node, 0]) else [(a, 0.0), (b, 1.0)]
        right = [(high, 1.0)] if not np.isfinite(tree.trapezoid[node, 3]) else [(c, 1.0), (d, 0.0)]
        corners = [(low, 0.0), *left, *right, (high, 0.0)]
        return " ".join(f"{100 * (x - low) / (high - low):.4g},{20 - 18 * y:.4g}" for x, y in corners)


# ---------------------------------------------------------------------------------------------------------------------
# Rules that add up
# ---------------------------------------------------------------------------------------------------------------------


@view_of.register(RuleModel)
class RuleView(View):
    """Of rules that add up: the rules by the features that they ask, curves, maps, and a scorecard."""

    model: RuleModel

    def __init__(self, model: RuleModel) -> None:
        super().__init__(model)
        self.is_card = model.n_rules > 0 and len(model.classes) > 1

    @cached_property
    def style(self) -> WideStyle:
        """Puts curves and rules into words, by the names that readers see."""
        schema = self.model.schema
        own = [
            None if known is None else np.array(self.categories.get(j, ()), dtype=object)
            for j, known in enumerate(schema.categories)
        ]
        # Names have their units already, and categories their meanings.
        kinds = tuple(
            replace(kind, label="", unit="", values=kind.values if own[j] is None else {})
            for j, kind in enumerate(schema.kinds)
        )
        renamed = replace(schema, names=tuple(self.features), categories=tuple(own), kinds=kinds)
        return WideStyle(replace(self.model, schema=renamed), self.columns, self.classes, all_classes=False)

    def parts(self) -> dict[str, Any]:
        """Rules, the most important features first, charts, and the scorecard; ``page`` has averages and reasons."""
        model, rules, shapes = self.model, read_rules(self.model), read_shapes(self.style.model)
        weight, firing = model.rules.weight, mean_firing(model)
        most, least, apart = weight.argmax(axis=1), weight.argmin(axis=1), np.ptp(weight, axis=1)
        listed = [
            self._rule(rules[index], int(most[index]))
            | {
                "about": " and ".join(self.features[feature] for feature in shape.features),
                "group": group,
                "against": self.classes[least[index]],
                "weight": float(apart[index]),
            }
            for group, shape in enumerate(shapes.all)
            for index in shape.rules
        ]
        average = np.append(firing, 1.0)[:, None] * np.vstack([weight, model.prior])
        table = self._score_table() if self.is_card else None
        page = {
            "usual": numbers(model.share_among_features(average[None])[0]),
            "reasons": None
            if table is None
            else {
                "candidates": [{"feature": own.feature, "rules": list(own.rules)} for own in table.curves]
                + [{"feature": None, "rules": [rule]} for rule in table.rules],
                "usual": numbers(firing),
                "unit": POINTS.unit,
                "neutral": POINTS.neutral,
                "most": N_REASONS,
            },
        }
        return {
            "rules": listed,
            "tree": None,
            "shapes": shape_charts(self.style, shapes),
            "card": None if table is None or len(self.classes) > MAX_CARD_CLASSES else self._card(table),
            "page": page,
        }

    def _score_table(self) -> ScoreTable:
        scale = partial(POINTS.scale, positive=1)
        return read_score_table(self.style, scale, partial(scale, offset=POINTS.neutral))

    def _card(self, table: ScoreTable) -> dict[str, Any]:
        """The scorecard: ``heads`` of the columns of points, ``groups`` of lines, and ``meaning`` of totals."""
        groups: list[dict[str, Any]] = []
        for line in with_base(table.lines, table.base):
            if not groups or groups[-1]["name"] != line.name:
                groups.append({"name": line.name, "lines": []})
            groups[-1]["lines"].append({"when": cut(line.when, MAX_LETTERS), "points": POINTS.texts(line)})
        return {
            "heads": [f"Points for {self.classes[1]}"] if len(self.classes) == 2 else self.classes,
            "groups": groups,
            "meaning": POINTS.meaning(self.classes, 1),
        }

    def reason_codes(self, rows: Floats, labels: list[int]) -> list[list[str]]:
        """What cost each row most on its way to the less probable class, of two; others leave open which one."""
        found: list[list[str]] = [[] for _ in labels]
        if not self.is_card or len(self.classes) != 2:
            return found
        for wanted, name in enumerate(self.model.classes.tolist()):
            indices = [index for index, own in enumerate(labels) if own != wanted]
            if not indices:
                continue
            reasons = read_reasons(self.style.model, rows[indices], N_REASONS, name, feature_names=self.features)
            for index, own in zip(indices, reasons, strict=True):
                found[index] = [cut(reason.text, MAX_LETTERS) for reason in own]
        return found
