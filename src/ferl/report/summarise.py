"""What a report says, as a plain dict: text, numbers and lists, no HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl.explanation import feature_importances
from ferl.frames import add_up_indicators
from ferl.presets import changed_parameters
from ferl.report.measures import measures
from ferl.report.names import shown_line
from ferl.report.page_model import numbers, page_model, slider_step, training_range
from ferl.report.reasons import listed_row
from ferl.report.table_reading import Rows, TableReading
from ferl.report.tree_view import View, rule_rows, tree_rows
from ferl.rules import feature_names
from ferl.word_meanings import word_meanings

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Floats = NDArray[np.float64]


def summarise(estimator: FERLClassifier, reading: TableReading, title: str, table: str) -> dict[str, Any]:
    """All that a report shows.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    reading : TableReading
        The table, read by this estimator.
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

    view = View.of(estimator)
    rules = rule_rows(view)
    features = _features(view)
    return {
        "title": shown_line(title),
        "version": __version__,
        "table": _table(reading, table),
        "model": _model(estimator),
        "classes": _classes(view),
        "features": features,
        "rules": rules,
        "tree": tree_rows(view, rules),
        "words": word_meanings(estimator, view.style.names),
        "measures": measures(reading, view.classes),
        "abstained": [listed_row(view, reading.abstained.rows, place) for place in range(len(reading.abstained.rows))],
        "novel": [listed_row(view, reading.novel.rows, place) for place in range(len(reading.novel.rows))],
        "page": {
            "model": page_model(estimator),
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


def _model(estimator: FERLClassifier) -> dict[str, Any]:
    tree = estimator.tree_
    assert tree.profile is not None
    changed = changed_parameters(estimator)
    return {
        "variant": estimator.variant,
        "n_rules": estimator.n_rules_,
        "depth": int(tree.depth.max()),
        "n_features": estimator.n_features_in_,
        "training_weight": float(tree.weight[0]),
        "n_kept_rows": len(tree.profile.exemplar_row),
        "measure": "neighbour" if len(tree.profile.exemplar_row) else "residual",
        "combination": estimator.combination,
        "support_gate": bool(estimator.support_gate),
        "parameters": {name: shown_line(value, 80) for name, value in changed.items() if name != "n_jobs"},
    }


def _classes(view: View) -> list[dict[str, Any]]:
    weight = view.estimator.tree_.class_weight[0]
    return [
        {"name": name, "share": float(weight[c] / weight.sum()), "full_name": shown_line(view.estimator.classes_[c])}
        for c, name in enumerate(view.classes)
    ]


def _features(view: View) -> list[dict[str, Any]]:
    """The features: what they hold, how often rules ask for them, and how much that explains."""
    estimator, tree = view.estimator, view.estimator.tree_
    width = estimator.n_features_in_
    asked = np.bincount(tree.feature[1:], minlength=width + len(estimator.missing_features_))
    conditions = add_up_indicators(asked[None].astype(np.float64), estimator.missing_features_)[0]
    importance = feature_importances(estimator)
    names = feature_names(estimator)
    return [
        {
            "name": view.features[j],
            "full_name": shown_line(names[j]),
            "kind": "number" if estimator.columns_.levels[j] is None else "category",
            "n_levels": 0 if (levels := estimator.columns_.levels[j]) is None else len(levels),
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
        return {**control, "levels": view.style.levels.get(j, [])}
    tree = view.estimator.tree_
    assert tree.profile is not None
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
    width = view.estimator.n_features_in_
    found: dict[int, dict[str, Any]] = {}
    for rows in (reading.first.rows, reading.abstained.rows, reading.novel.rows):
        for place in range(len(rows)):
            found[int(rows.number[place])] = {
                "number": int(rows.number[place]) + 1,
                "values": numbers(rows.values[place, :width]),
                "truth": _truth(view, rows, place),
            }
    return [found[number] for number in sorted(found)]


def _truth(view: View, rows: Rows, place: int) -> str | None:
    code = int(rows.truth[place])
    return view.classes[code] if code >= 0 else None
