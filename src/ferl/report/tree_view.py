"""The tree and its rules, as a report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._model.tree import FuzzyTree
from ferl._read.rules import LEAST_LISTED, Bound, Condition, read_rules
from ferl._read.text import TextStyle
from ferl._util.text import cut, shown_names
from ferl.report.page_model import training_range

MAX_LEVEL_LETTERS = 30
MAX_SHARES = 6  # classes of a bar; the rest is one part


@dataclass(frozen=True)
class View:
    """A model with the names that readers see.

    Attributes
    ----------
    model : Model
        The model.
    features : list of str
        Names of the features.
    classes : list of str
        Names of the classes.
    style : TextStyle
        Puts rules into words.
    """

    model: Model
    features: list[str]
    classes: list[str]
    style: TextStyle

    @classmethod
    def of(cls, model: Model) -> View:
        """The view of a model."""
        features = shown_names(model.feature_names())
        classes = shown_names(model.classes.tolist())
        columns = features + [features[j] for j in model.missing_features]
        levels: dict[int, Sequence[Any]] = {
            j: shown_names(own, MAX_LEVEL_LETTERS) for j, own in model.category_names.items()
        }
        weight = float(model.tree.weight[0])
        return cls(model, features, classes, TextStyle(columns, classes, weight, levels, shares=False))


def rule_rows(view: View) -> list[dict[str, Any]]:
    """The rules, strongest support first, numbered; and where they speak on their own, the beginnings of rules."""
    tree = view.model.tree
    total = float(tree.weight[0])
    return [
        {
            "number": rule.number,
            "node": rule.node,
            "is_leaf": bool(tree.is_leaf[rule.node]),
            "conditions": _spoken(view, rule.conditions),
            "n_conditions": len(rule.conditions),
            "label": view.classes[rule.label],
            "class": rule.label,
            "confidence": float(rule.consequent[rule.label]),
            "shares": class_shares(rule.consequent),
            "support": rule.support,
            "share": rule.support / total,
        }
        for rule in read_rules(view.model)
    ]


def _spoken(view: View, conditions: tuple[Condition, ...]) -> list[str]:
    style = view.style
    return [
        _kept_together(own.text(style.names[own.feature], levels=style.levels.get(own.feature))) for own in conditions
    ]


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
            "condition": "" if node == 0 else _spoken(view, (own_condition(tree, node),))[0],
            "band": _band(tree, node, ranges),
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


def own_condition(tree: FuzzyTree, node: int) -> Condition:
    """What a node itself asks, whatever those above it ask."""
    feature = int(tree.feature[node])
    if tree.word:
        return Condition(feature, None, None, tree.word[node])
    if tree.categories is not None and len(own := tree.categories.of(node)):
        kept = np.flatnonzero(np.nan_to_num(own) >= LEAST_LISTED)
        return Condition(feature, None, None, categories=tuple((int(code), float(own[code])) for code in kept))
    a, b, c, d = tree.trapezoid[node].tolist()
    lower = Bound((a + b) / 2, (b - a) / 2) if np.isfinite(a) else None
    return Condition(feature, lower, Bound((c + d) / 2, (d - c) / 2) if np.isfinite(d) else None)


def _band(tree: FuzzyTree, node: int, ranges: dict[int, tuple[float, float]]) -> str | None:
    """Membership over the range of training as the points of a polygon, 100 wide and 20 high."""
    feature = int(tree.feature[node])
    if node == 0 or (tree.categories is not None and len(tree.categories.of(node))):
        return None
    low, high = ranges.setdefault(feature, training_range(tree, feature))
    a, b, c, d = np.clip(tree.trapezoid[node], low, high)
    left = [(low, 1.0)] if not np.isfinite(tree.trapezoid[node, 0]) else [(a, 0.0), (b, 1.0)]
    right = [(high, 1.0)] if not np.isfinite(tree.trapezoid[node, 3]) else [(c, 1.0), (d, 0.0)]
    corners = [(low, 0.0), *left, *right, (high, 0.0)]
    return " ".join(f"{100 * (x - low) / (high - low):.4g},{20 - 18 * y:.4g}" for x, y in corners)
