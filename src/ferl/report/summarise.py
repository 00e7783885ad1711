"""The content of a report, as a plain dict: the model, its rules, its tree or curves, and the rows that are listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import feature_importances, mean_contributions, read_shapes
from ferl._tables import add_up_indicators
from ferl._tables.values import finer_steps
from ferl._tell.statements import word_meanings
from ferl._tell.unusual import NoveltyScale, novelty_scale
from ferl._util.arrays import Floats
from ferl._util.text import has_words, shown_line, shown_names
from ferl.report.card import reason_parts, scorecard
from ferl.report.glossary import glossary
from ferl.report.group_view import Groups, group_summary
from ferl.report.headline import heading, headline
from ferl.report.page_model import corners, numbers, page_model, slider_range, slider_step
from ferl.report.rule_lists import rule_rows, tree_rows
from ferl.report.shape_charts import shape_charts
from ferl.report.shown_rows import ShownRows, unusual_text
from ferl.report.table_reading import TableReading, measures
from ferl.report.view import View


def summarise(
    model: Model,
    parameters: dict[str, Any],
    reading: TableReading,
    title: str | None,
    table: str,
    groups: Groups | None = None,
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
    title : str or None
        Heading of the report; None: what is predicted.
    table : str
        What the table is called.
    groups : Groups, default=None
        What rows are grouped by; None: by nothing.

    Returns
    -------
    dict
        ``title``, ``version``, ``headline`` (the report in a sentence and a picture), ``decision`` (how labels are
        chosen), ``table`` (counts), ``model``, ``classes``, ``features``, ``rules``, ``tree`` (None for wide rules),
        ``shapes`` and ``card`` (charts and the scorecard of wide rules; None for trees), ``words`` (what words of rules
        mean), ``measures`` (None without labels), ``groups`` (None without a column to group by), ``abstained`` and
        ``novel`` rows, ``glossary``, and ``page``: the model and the rows for the what-if page. The same model and
        table give the same dict.
    """
    from ferl import __version__

    view = View.of(model)
    rules, features, classes = rule_rows(view), _features(view), _classes(view)
    scale = novelty_scale(model)
    rows = ShownRows(view, reading, scale)
    told, counts, found = _model(model, parameters), _table(reading, table, scale), measures(reading, view.classes)
    is_wide = isinstance(model, RuleModel)
    words = glossary(is_wide)
    return {
        "title": shown_line(heading(view.target) if title is None else title),
        "version": __version__,
        "headline": headline(told, counts, found, classes, view.target),
        "decision": reading.decision,
        "table": counts,
        "model": told,
        "classes": classes,
        "features": features,
        "rules": rules,
        "tree": None if is_wide else tree_rows(view, rules),
        "shapes": shape_charts(view.style, read_shapes(view.style.model)) if is_wide else None,
        "card": scorecard(view),
        "words": word_meanings(model, view.style.names),
        "measures": found,
        "groups": group_summary(view, reading, groups),
        "abstained": rows.listed(reading.abstained.rows),
        "novel": rows.listed(reading.novel.rows),
        "glossary": words,
        "page": {
            "model": page_model(model),
            "features": [_control(view, j, own) for j, own in enumerate(features)],
            "rules": [_source(rule) for rule in rules],
            "usual": numbers(_usual(model)) if is_wide else None,
            "reasons": reason_parts(view),
            "novelty": {"training": numbers(scale.training), "usual": scale.usual},
            "rows": rows.offered(),
            "target": view.target,
            "glossary": words,
        },
    }


def _table(reading: TableReading, name: str, scale: NoveltyScale) -> dict[str, Any]:
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
        "most_novel": unusual_text(scale, float(reading.novel.value[0])) if len(reading.novel.value) else None,
    }


def _model(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    tree = model.tree
    return {
        "variant": model.title,
        "is_wide": isinstance(model, RuleModel),
        "n_rules": model.n_rules,
        "depth": int(tree.depth.max()),
        "n_features": model.n_features,
        "training_weight": float(tree.weight[0]),
        "n_kept_rows": len(tree.profile.exemplar_row),
        "measure": "neighbour" if tree.profile.has_exemplars else "residual",
        "combination": getattr(model.reading, "combination", "weights"),
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
    control = {key: feature[key] for key in ("name", "full_name", "kind", "n_conditions", "importance")}
    if feature["kind"] == "category":
        return {**control, "levels": view.categories.get(j, [])}
    tree, kind = view.model.tree, view.model.column_kind(j)
    low, high = slider_range(view.model, j)
    known = tree.profile.exemplar_row[:, j]
    known = known[~np.isnan(known)]
    whole = len(known) > 0 and bool((known == np.floor(known)).all())
    return {
        **control,
        "low": low,
        "high": high,
        "seen": list(view.model.training_range(j)),
        "step": slider_step(low, high, whole),
        "is_whole": view.model.is_whole(j),
        "is_binary": kind.name == "binary",
        "spread": float(total_spread(tree)[j]),
        "corners": numbers(corners(view.model, j)),
        "words": _words(view.model, j),
        "date": {"has_time": kind.name == "time", "is_zoned": kind.is_zoned, "steps": list(finer_steps())}
        if kind.is_date
        else None,
    }


def _words(model: Model, j: int) -> list[str] | None:
    """What the values 0, 1, ... of a feature mean: ordered categories, and 0 and 1 where people said it."""
    kind = model.column_kind(j)
    if kind.is_ordered:
        return shown_names(kind.said_order)
    bits = [model.value(j, bit) for bit in (0.0, 1.0)] if kind.name == "binary" else []
    return shown_names(bits) if bits and all(map(has_words, bits)) else None


def _source(rule: dict[str, Any]) -> dict[str, Any]:
    kept = ("number", "node", "conditions", "label", "class", "confidence")
    return {key: rule[key] for key in kept if key in rule}


def _usual(model: RuleModel) -> Floats:
    """What each feature, and last the prior, says of the training rows on average, (n_features + 1, n_classes)."""
    return np.asarray(model.share_among_features(mean_contributions(model)[None])[0])
