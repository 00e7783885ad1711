"""What a report shows of a model, by its kind: rules, a tree, charts, a scorecard, reason codes.

:func:`view_of` gives the view of a model. A third kind of model needs a class here, a file ``templates/kind_*.html``
with its words and its list of rules, a form in ``page_form`` and an engine in ``static/ferl.js``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import mean_contributions, mean_firing, read_shapes
from ferl._models.tree_model import TreeModel
from ferl._tell.conditions import Condition
from ferl._tell.curves import Points, ScoreTable, read_score_table
from ferl._tell.reasons import read_reasons
from ferl._tell.statements import Statement, Style, conditions_of, statements
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
    shown : Model
        The model with these names.
    style : Style
        Puts its statements into words.
    target : str or None
        Name of what is predicted; None: the model does not hold it.
    """

    def __init__(self, model: Model) -> None:
        self.model, schema = model, model.schema
        self.features, self.classes = shown_names(model.feature_names()), shown_names(model.labels)
        self.columns = model.column_names(self.features)
        self.categories = {j: shown_names(own, MAX_CATEGORY_LETTERS) for j, own in model.category_names.items()}
        self.target = shown_line(schema.target.name, 60) or None
        own = [
            None if known is None else np.array(self.categories.get(j, ()), dtype=object)
            for j, known in enumerate(schema.categories)
        ]
        # Names have their units already, and categories their meanings.
        kinds = [
            replace(kind, label="", unit="", values=kind.values if own[j] is None else {})
            for j, kind in enumerate(schema.kinds)
        ]
        renamed = replace(schema, names=tuple(self.features), categories=tuple(own), kinds=tuple(kinds))
        self.shown = replace(model, schema=renamed)
        self.style = Style(self.shown, self.columns, self.classes, all_classes=False)

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
        return [cut(own.text(self.columns[own.feature])).replace(" ±", "\u00a0±") for own in conditions]

    def _rule(self, rule: Statement) -> dict[str, Any]:
        """What rules of all kinds have."""
        return {
            "number": rule.number,
            "node": rule.node,
            "conditions": self.conditions(rule.conditions),
            "class": rule.label,
            "label": self.classes[rule.label],
            "support": rule.support,
            "share": rule.share,
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

    def parts(self) -> dict[str, Any]:
        """Rules and tree; nodes are a flat list, since a template that called itself would be limited in depth."""
        tree, rules = self.model.tree, statements(self.shown)
        number = {rule.node: rule.number for rule in rules}
        depth = [*tree.depth.tolist(), 0]
        ranges = [slider_range(self.model, feature) for feature in range(self.model.n_features)]
        label, confidence, weight = tree.consequent.argmax(axis=1), tree.consequent.max(axis=1), tree.weight
        listed = [
            self._rule(rule)
            | {
                "is_leaf": bool(tree.is_leaf[rule.node]),
                "confidence": float(rule.adds[rule.label]),
                "shares": class_shares(rule.adds),
            }
            for rule in rules
        ]
        nodes = [
            {
                "node": node,
                "depth": depth[node],
                "is_leaf": bool(tree.is_leaf[node]),
                "n_closed": max(depth[node] - depth[node + 1], 0) if tree.is_leaf[node] else 0,
                "condition": self.conditions(conditions_of(self.shown, [node]))[0] if node else "",
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
    shown: RuleModel

    def __init__(self, model: RuleModel) -> None:
        super().__init__(model)
        self.is_card = model.n_rules > 0 and len(model.classes) > 1

    def parts(self) -> dict[str, Any]:
        """Rules, the most important features first, charts, and the scorecard; ``page`` has averages and reasons."""
        rules, shapes = statements(self.shown), read_shapes(self.shown)
        listed = [
            self._rule(rules[index])
            | {
                "about": " and ".join(self.columns[column] for column in shape.features),
                "group": group,
                "against": self.classes[int(rules[index].adds.argmin())],
                "weight": float(np.ptp(rules[index].adds)),
            }
            for group, shape in enumerate(shapes.all)
            for index in shape.rules
        ]
        usual = self.model.share_among_features(mean_contributions(self.model)[None])[0]
        page, card = {"usual": numbers(usual), "reasons": None}, None
        if self.is_card:
            scale, style = partial(POINTS.scale, positive=1), replace(self.style, max_listed=None)
            table = read_score_table(self.shown, style, scale, partial(scale, offset=POINTS.neutral))
            candidates: list[dict[str, Any]] = [
                {"feature": self.model.feature_of(own.feature), "rules": list(own.rules)} for own in table.curves
            ]
            page["reasons"] = {
                "candidates": candidates + [{"feature": None, "rules": [rule]} for rule in table.alone],
                "usual": numbers(mean_firing(self.model)),
                "unit": POINTS.unit,
                "neutral": POINTS.neutral,
                "most": N_REASONS,
            }
            card = self._card(table) if len(self.classes) <= MAX_CARD_CLASSES else None
        charts = shape_charts(self.shown, self.style, shapes)
        return {"rules": listed, "tree": None, "shapes": charts, "card": card, "page": page}

    def _card(self, table: ScoreTable) -> dict[str, Any]:
        """The scorecard: ``heads`` of the columns of points, ``groups`` of lines, and ``meaning`` of totals."""
        groups: list[dict[str, Any]] = []
        for line in table.with_base():
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
            reasons = read_reasons(self.shown, rows[indices], N_REASONS, name, feature_names=self.features)
            for index, own in zip(indices, reasons, strict=True):
                found[index] = [cut(reason.text, MAX_LETTERS) for reason in own]
        return found
