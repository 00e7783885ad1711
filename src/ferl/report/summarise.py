"""The content of a report, as a plain dict: the model, its rules, its tree or curves, and the rows that are listed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._read.evidence import read_evidence, share_among_features
from ferl._read.explanation import Explanation, explain, feature_importances
from ferl._read.novelty import novelty_attribution
from ferl._read.shapes import mean_firing, read_shapes
from ferl._read.text import word_meanings
from ferl._tables import add_up_indicators
from ferl._tables.rows import OneRow
from ferl._util.arrays import Floats
from ferl._util.text import number_text, shown_line
from ferl.report.page_model import numbers, page_model, slider_step, training_range
from ferl.report.rule_lists import rule_rows, tree_rows
from ferl.report.shape_charts import shape_charts
from ferl.report.table_reading import NO_LABEL, OTHER_LABEL, Rows, TableReading, measures
from ferl.report.view import View

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
        return number_text(view.model.number(feature, value))
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
        ``title``, ``version``, ``table`` (counts), ``model``, ``classes``, ``features``, ``rules``, ``tree`` (None for
        wide rules), ``shapes`` (their charts; None for trees), ``words`` (what words of rules mean), ``measures`` (None
        without labels), ``abstained`` and ``novel`` rows, and ``page``: the model and the rows for the what-if page.
        The same model and table give the same dict.
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
        "tree": tree_rows(view, rules) if model.weights is None else None,
        "shapes": None if model.weights is None else shape_charts(view.wide_style, read_shapes(view.wide_style.model)),
        "words": word_meanings(model, view.style.names),
        "measures": measures(reading, view.classes),
        "abstained": [listed_row(view, reading.abstained.rows, index) for index in range(len(reading.abstained.rows))],
        "novel": [listed_row(view, reading.novel.rows, index) for index in range(len(reading.novel.rows))],
        "page": {
            "model": page_model(model),
            "features": [_control(view, j, own) for j, own in enumerate(features)],
            "rules": [_source(rule) for rule in rules],
            "usual": None if model.weights is None else numbers(_usual(model)),
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
        "is_wide": model.weights is not None,
        "n_rules": model.n_rules,
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
    low, high = training_range(view.model, j)
    known = tree.profile.exemplar_row[:, j]
    known = known[~np.isnan(known)]
    whole = len(known) > 0 and bool((known == np.floor(known)).all())
    return {**control, "low": low, "high": high, "step": slider_step(low, high, whole)}


def _source(rule: dict[str, Any]) -> dict[str, Any]:
    kept = ("number", "node", "conditions", "label", "class", "confidence")
    return {key: rule[key] for key in kept if key in rule}


def _usual(model: Model) -> Floats:
    """What each feature, and last the prior, says of the training rows on average, (n_features + 1, n_classes)."""
    weights = model.rule_weights
    average = np.append(mean_firing(model), 1.0)[:, None] * np.vstack([weights.weight, weights.prior])
    return np.asarray(share_among_features(model, average[None])[0])


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
