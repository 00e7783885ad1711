"""The rules of a model and the nodes of a tree, as the lists of a report show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import read_shapes
from ferl._tell.conditions import Condition
from ferl._tell.statements import conditions_of, statements
from ferl._util.text import cut
from ferl.report.page_model import slider_range
from ferl.report.view import View

MAX_SHARES = 6  # classes of a bar; the rest is one part


def rule_rows(view: View) -> list[dict[str, Any]]:
    """The rules that speak, strongest support first, with the numbers that they have everywhere."""
    if isinstance(view.model, RuleModel):
        return wide_rule_rows(view)
    tree = view.model.tree
    return [
        {
            "number": rule.number,
            "node": rule.node,
            "is_leaf": bool(tree.is_leaf[rule.node]),
            "conditions": _spoken(view, rule.conditions),
            "n_conditions": len(rule.conditions),
            "label": view.classes[rule.label],
            "class": rule.label,
            "confidence": float(rule.adds[rule.label]),
            "shares": class_shares(rule.adds),
            "support": rule.support,
            "share": rule.share,
        }
        for rule in statements(view.style.model)
    ]


def wide_rule_rows(view: View) -> list[dict[str, Any]]:
    """Wide rules by the features that they ask, the most important features first."""
    rules, found = statements(view.style.model), []
    for group, shape in enumerate(read_shapes(view.style.model).all):
        about = " and ".join(view.features[feature] for feature in shape.features)
        for index in shape.rules:
            rule, evidence = rules[index], rules[index].adds
            found.append(
                {
                    "number": rule.number,
                    "node": rule.node,
                    "about": about,
                    "group": group,
                    "conditions": _spoken(view, rule.conditions),
                    "class": int(evidence.argmax()),
                    "label": view.classes[int(evidence.argmax())],
                    "against": view.classes[int(evidence.argmin())],
                    "weight": float(np.ptp(evidence)),
                    "support": rule.support,
                    "share": rule.share,
                }
            )
    return found


def _spoken(view: View, conditions: tuple[Condition, ...]) -> list[str]:
    return [_kept_together(own.text(view.style.names[own.feature])) for own in conditions]


def _kept_together(text: str) -> str:
    """A threshold stays with its band where a line wraps."""
    return cut(text).replace(" ±", "\u00a0±")


def class_shares(consequent: Any) -> list[dict[str, Any]]:
    """Parts of a bar of classes, in their order; of many the largest, and the rest as one part of no class."""
    largest = np.argsort(-consequent, kind="stable")[:MAX_SHARES]
    kept = [c for c in sorted(largest.tolist()) if consequent[c] >= 0.005]
    parts: list[dict[str, Any]] = [{"class": c, "share": float(consequent[c])} for c in kept]
    rest = 1 - sum(part["share"] for part in parts)
    return [*parts, {"class": None, "share": rest}] if rest > 0.005 else parts


def tree_rows(view: View, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nodes in pre-order, each with what it asks and the number of lists that end behind it.

    A flat list: a template that called itself would be limited in depth.
    """
    tree = view.model.tree
    number = {rule["node"]: rule["number"] for rule in rules}
    depth = [*tree.depth.tolist(), 0]
    ranges: dict[int, tuple[float, float]] = {}
    return [
        {
            "node": node,
            "depth": depth[node],
            "is_leaf": bool(tree.is_leaf[node]),
            "n_closed": max(depth[node] - depth[node + 1], 0) if tree.is_leaf[node] else 0,
            "condition": "" if node == 0 else _spoken(view, conditions_of(view.style.model, [node]))[0],
            "band": _band(view.model, node, ranges),
            "rule": number.get(node),
            "label": view.classes[int(np.argmax(tree.consequent[node]))],
            "class": int(np.argmax(tree.consequent[node])),
            "confidence": float(tree.consequent[node].max()),
            "shares": class_shares(tree.consequent[node]),
            "support": float(tree.weight[node]),
            "share": float(tree.weight[node] / tree.weight[0]),
        }
        for node in range(tree.n_nodes)
    ]


def _band(model: Model, node: int, ranges: dict[int, tuple[float, float]]) -> str | None:
    """Membership over the range of training as the points of a polygon, 100 wide and 20 high."""
    tree = model.tree
    feature = int(tree.feature[node])
    if node == 0 or (tree.categories is not None and len(tree.categories.of(node))):
        return None
    low, high = ranges.setdefault(feature, slider_range(model, feature))
    a, b, c, d = np.clip(tree.trapezoid[node], low, high)
    left = [(low, 1.0)] if not np.isfinite(tree.trapezoid[node, 0]) else [(a, 0.0), (b, 1.0)]
    right = [(high, 1.0)] if not np.isfinite(tree.trapezoid[node, 3]) else [(c, 1.0), (d, 0.0)]
    corners = [(low, 0.0), *left, *right, (high, 0.0)]
    return " ".join(f"{100 * (x - low) / (high - low):.4g},{20 - 18 * y:.4g}" for x, y in corners)
