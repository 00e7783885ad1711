"""The content of a report, as a plain dict: the model, its rules, its tree, and the rows that are listed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._model.tree import FuzzyTree
from ferl._read.evidence import read_evidence
from ferl._read.explanation import Explanation, explain, feature_importances
from ferl._read.novelty import novelty_attribution
from ferl._read.rules import LEAST_LISTED, Bound, Condition, read_rules
from ferl._read.text import TextStyle, word_meanings
from ferl._tables import add_up_indicators
from ferl._tables.rows import OneRow
from ferl._util.arrays import Floats
from ferl._util.text import cut, number_text, shown_line, shown_names
from ferl.report.page_model import numbers, page_model, slider_step, training_range
from ferl.report.table_reading import NO_LABEL, OTHER_LABEL, Rows, TableReading, measures

MAX_CATEGORY_LETTERS = 30
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
        categories: dict[int, Sequence[Any]] = {
            j: shown_names(own, MAX_CATEGORY_LETTERS) for j, own in model.category_names.items()
        }
        weight = float(model.tree.weight[0])
        return cls(model, features, classes, TextStyle(columns, classes, weight, categories, shares=False))


def rule_rows(view: View) -> list[dict[str, Any]]:
    """The rules that speak, strongest support first, with the numbers that they have everywhere."""
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
        _kept_together(own.text(style.names[own.feature], categories=style.categories.get(own.feature)))
        for own in conditions
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
            "condition": "" if node == 0 else _spoken(view, (node_condition(tree, node),))[0],
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


def node_condition(tree: FuzzyTree, node: int) -> Condition:
    """The condition of a node, without those of the nodes above it."""
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


MAX_REASON = 600  # letters
MAX_PARTS = 4  # features that are named
LEAST_SHARE = 0.1  # of a row's novelty that a named feature makes


def listed_row(view: View, rows: Rows, index: int) -> dict[str, Any]:
    """One row of the table as the lists of abstained and novel rows show it.

    Parameters
    ----------
    view : View
        The model.
    rows : Rows
        Rows that were kept.
    index : int
        Which of them.

    Returns
    -------
    dict
    """
    model, row = view.model, rows.values[index : index + 1]
    evidence = read_evidence(model, row)
    inside = evidence.prediction_set()[0]
    label = int(evidence.probability[0].argmax())
    parts = novelty_attribution(model, row)[0]
    truth = int(rows.truth[index])
    return {
        "number": int(rows.number[index]) + 1,
        "truth": view.classes[truth] if truth >= 0 else "another label" if truth == OTHER_LABEL else None,
        "is_wrong": truth not in (label, NO_LABEL),
        "label": view.classes[label],
        "class": label,
        "probability": float(evidence.probability[0, label]),
        "set": [name for name, is_inside in zip(view.classes, inside, strict=True) if is_inside],
        "ignorance": float(evidence.ignorance[0]),
        "novelty": float(parts.sum()),
        "parts": _named_parts(view, row[0], parts),
        "reason": shown_line(_story(view, rows, index).summary, MAX_REASON),
    }


def _story(view: View, rows: Rows, index: int) -> Explanation:
    one = OneRow(rows.values[index : index + 1], rows.unseen[index])
    return explain(view.model, one, counterfactual=False)


def _named_parts(view: View, row: Floats, parts: Floats) -> list[dict[str, Any]]:
    """The features that make a row novel, the largest part first."""
    total = float(parts.sum())
    if not total > 0:
        return []
    order = [int(j) for j in np.argsort(-parts, kind="stable")[:MAX_PARTS] if parts[j] >= LEAST_SHARE * total]
    is_finite = math.isfinite(total)
    return [
        {
            "name": view.features[j],
            "value": value_text(view, j, row[j]),
            "share": float(parts[j] / total) if is_finite else None,
        }
        for j in order
    ]


def value_text(view: View, feature: int, value: float) -> str:
    """A value of a row, in words."""
    if math.isnan(value):
        return "missing"
    if view.model.schema.categories[feature] is None:
        return number_text(value)
    names = view.style.categories.get(feature, ())
    return str(names[int(value)]) if value < len(names) else "not in training"


def summarise(
    model: Model, parameters: dict[str, Any], reading: TableReading, title: str, table: str
) -> dict[str, Any]:
    """All that a report shows.

    Parameters
    ----------
    model : Model
        The model.
    parameters : dict
        Those that differ from the defaults.
    reading : TableReading
        The table, read by this model.
    title : str
        Heading of the report.
    table : str
        What the table is called.

    Returns
    -------
    dict
        ``title``, ``version``, ``table`` (counts), ``model``, ``classes``, ``features``, ``rules``, ``tree``,
        ``words`` (what those of a compact tree mean), ``measures`` (None without labels), ``abstained`` and ``novel``
        rows, and ``page``: the model and the rows for the what-if page. The same model and table give the same dict.
    """
    from ferl import __version__

    view = View.of(model)
    rules = rule_rows(view)
    features = _features(view)
    return {
        "title": shown_line(title),
        "version": __version__,
        "table": _table(reading, table),
        "model": _model(model, parameters),
        "classes": _classes(view),
        "features": features,
        "rules": rules,
        "tree": tree_rows(view, rules),
        "words": word_meanings(model, view.style.names),
        "measures": measures(reading, view.classes),
        "abstained": [listed_row(view, reading.abstained.rows, index) for index in range(len(reading.abstained.rows))],
        "novel": [listed_row(view, reading.novel.rows, index) for index in range(len(reading.novel.rows))],
        "page": {
            "model": page_model(model),
            "features": [_control(view, j, own) for j, own in enumerate(features)],
            "rules": [_source(rule) for rule in rules],
            "rows": _offered(view, reading),
        },
    }


def _table(reading: TableReading, name: str) -> dict[str, Any]:
    n = max(reading.n_rows, 1)
    sizes = np.arange(len(reading.set_sizes))
    return {
        "name": shown_line(name),
        "n_rows": reading.n_rows,
        "n_abstained": reading.n_abstained,
        "n_unsupported": reading.n_unsupported,
        "ignorance": reading.ignorance / n,
        "conflict": reading.conflict / n,
        "set_size": float(reading.set_sizes @ sizes / n),
        "determinacy": float(reading.set_sizes[1] / n),
        "most_novel": float(reading.novel.value[0]) if len(reading.novel.value) else 0.0,
    }


def _model(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    tree = model.tree
    return {
        "variant": model.variant,
        "n_rules": len(tree.leaves),
        "depth": int(tree.depth.max()),
        "n_features": model.n_features,
        "training_weight": float(tree.weight[0]),
        "n_kept_rows": len(tree.profile.exemplar_row),
        "measure": "neighbour" if tree.profile.has_exemplars else "residual",
        "combination": model.reading.combination,
        "support_gate": model.reading.support_gate,
        "parameters": {name: shown_line(value, 80) for name, value in parameters.items() if name != "n_jobs"},
    }


def _classes(view: View) -> list[dict[str, Any]]:
    weight = view.model.tree.class_weight[0]
    return [
        {"name": name, "share": float(weight[c] / weight.sum()), "full_name": shown_line(view.model.classes[c])}
        for c, name in enumerate(view.classes)
    ]


def _features(view: View) -> list[dict[str, Any]]:
    """The features: what they hold, how often rules ask for them, and how much that explains."""
    model, width = view.model, view.model.n_features
    asked = np.bincount(model.tree.feature[1:], minlength=width + len(model.missing_features))
    conditions = add_up_indicators(asked[None].astype(np.float64), model.missing_features)[0]
    importance = feature_importances(model)
    names = model.feature_names()
    return [
        {
            "name": view.features[j],
            "full_name": shown_line(names[j]),
            "kind": "number" if model.schema.categories[j] is None else "category",
            "n_categories": int(model.schema.n_categories[j]),
            "n_conditions": int(conditions[j]),
            "importance": float(importance[j]),
        }
        for j in range(width)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The what-if page
# ---------------------------------------------------------------------------------------------------------------------


def _control(view: View, j: int, feature: dict[str, Any]) -> dict[str, Any]:
    """What the page needs to offer values of a feature."""
    control = {key: feature[key] for key in ("name", "full_name", "kind", "n_conditions")}
    if feature["kind"] == "category":
        return {**control, "levels": view.style.categories.get(j, [])}
    tree = view.model.tree
    low, high = training_range(tree, j)
    known = tree.profile.exemplar_row[:, j]
    known = known[~np.isnan(known)]
    whole = len(known) > 0 and bool((known == np.floor(known)).all())
    return {**control, "low": low, "high": high, "step": slider_step(low, high, whole)}


def _source(rule: dict[str, Any]) -> dict[str, Any]:
    kept = ("number", "node", "is_leaf", "conditions", "label", "class", "confidence")
    return {key: rule[key] for key in kept}


def _offered(view: View, reading: TableReading) -> list[dict[str, Any]]:
    """Rows that the page can load: the first ones of the table, and those that are listed, in the table's order."""
    width = view.model.n_features
    found: dict[int, dict[str, Any]] = {}
    for rows in (reading.first.rows, reading.abstained.rows, reading.novel.rows):
        for index in range(len(rows)):
            found[int(rows.number[index])] = {
                "number": int(rows.number[index]) + 1,
                "values": numbers(rows.values[index, :width]),
                "truth": _truth(view, rows, index),
            }
    return [found[number] for number in sorted(found)]


def _truth(view: View, rows: Rows, index: int) -> str | None:
    code = int(rows.truth[index])
    return view.classes[code] if code >= 0 else None
