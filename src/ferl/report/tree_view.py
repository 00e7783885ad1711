"""The tree and its rules, as a report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl._model.presets import setting
from ferl._model.tree import FuzzyTree
from ferl._read.rules import LEAST_LISTED, Bound, Condition, TextStyle, category_names, column_names, read_rules
from ferl._util.text import cut, shown_names
from ferl.report.page_model import training_range

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

MAX_LEVEL_LETTERS = 30
MAX_SHARES = 6  # classes of a bar; the rest is one part


@dataclass(frozen=True)
class View:
    """A fitted classifier with the names that readers see.

    Attributes
    ----------
    estimator : FERLClassifier
        Fitted.
    features : list of str
        Names of the features.
    classes : list of str
        Names of the classes.
    style : TextStyle
        Puts rules into words.
    """

    estimator: FERLClassifier
    features: list[str]
    classes: list[str]
    style: TextStyle

    @classmethod
    def of(cls, estimator: FERLClassifier) -> View:
        """The view of a fitted classifier."""
        features = shown_names(column_names(estimator)[: estimator.n_features_in_])
        classes = shown_names(estimator.classes_.tolist())
        columns = features + [features[j] for j in estimator.missing_features_]
        levels: dict[int, Sequence[Any]] = {
            j: shown_names(own, MAX_LEVEL_LETTERS) for j, own in category_names(estimator).items()
        }
        weight = float(estimator.tree_.weight[0])
        return cls(estimator, features, classes, TextStyle(columns, classes, weight, levels, shares=False))

    def is_source(self, node: int) -> bool:
        """Whether a node speaks on its own: every leaf does, and in some models every node but the root."""
        speaks = setting(self.estimator, "sources") == "all" or self.estimator.combination == "chain"
        return bool(self.estimator.tree_.is_leaf[node]) or (speaks and node > 0)


def rule_rows(view: View) -> list[dict[str, Any]]:
    """The rules, strongest support first, numbered; and where they speak on their own, the beginnings of rules."""
    tree = view.estimator.tree_
    rules = [rule for rule in read_rules(tree, inner=True) if view.is_source(rule.node)]
    total = float(tree.weight[0])
    return [
        {
            "number": number,
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
        for number, rule in enumerate(rules, 1)
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
    tree = view.estimator.tree_
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
