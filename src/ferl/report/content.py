"""The content of a report, as a plain dict: a sentence, figures, the model, the rows that are listed, the form."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.shapes import feature_importances
from ferl._tables import OneRow, add_up_derived
from ferl._tables.values import finer_steps
from ferl._tell.explain import explain
from ferl._tell.explanation import Explanation
from ferl._tell.stability import spreads_text
from ferl._tell.statements import word_meanings
from ferl._tell.unusual import NoveltyScale, novelty_scale
from ferl._util.arrays import Floats
from ferl._util.text import has_words, listed, percent_text, shown_line, shown_names
from ferl.report.judged_table import NO_LABEL, OTHER_LABEL, Groups, JudgedTable, KeptRow, group_summary, measures
from ferl.report.page_form import numbers, page_form, slider_range, slider_step
from ferl.report.views import View, view_of

MAX_NAMED = 4  # classes whose recall the sentence gives one by one
MAX_BARS = 12  # classes of the picture
MAX_REASON = 600  # letters
MAX_PARTS = 4  # features that are named
LEAST_SHARE = 0.1  # of a row's novelty that a named feature makes


def summarise(
    model: Model,
    parameters: dict[str, Any],
    judged: JudgedTable,
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
    judged : JudgedTable
        The table, judged by this model.
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
        chosen), ``table`` (counts), ``model``, ``classes``, ``features``, ``rules``, ``tree`` (None for rules that add
        up), ``shapes`` and ``card`` (charts and the scorecard of rules that add up; None for trees), ``words`` (what
        words of rules mean), ``measures`` (None without labels), ``groups`` (None without a column to group by),
        ``abstained`` and ``novel`` rows, ``glossary``, and ``page``: the model and the rows for the what-if page. The
        same model and table give the same dict.
    """
    from ferl import __version__

    view, scale, words = view_of(model), novelty_scale(model), glossary(model.kind)
    features, classes, parts = _features(view), _classes(view), view.parts()
    rows, of_kind = ShownRows(view, scale), parts.pop("page")
    told, counts, found = _model(model, parameters), _table(judged, table), measures(judged, view.classes)
    heading = "Rules, evidence and doubt" if view.target is None else f"Predicting {view.target}"
    kept = ("number", "node", "conditions", "label", "class", "confidence")
    return parts | {
        "title": shown_line(heading if title is None else title),
        "version": __version__,
        "headline": headline(model.n_rules, counts, found, view.classes, view.target),
        "decision": judged.decision,
        "table": counts,
        "model": told,
        "classes": classes,
        "features": features,
        "words": word_meanings(model, view.columns),
        "measures": found,
        "groups": group_summary(judged, groups, view.features, view.classes),
        "abstained": rows.listed(judged.abstained.rows),
        "novel": rows.listed(judged.novel.rows),
        "glossary": words,
        "page": {
            "model": page_form(model),
            "features": _controls(view, features),
            "rules": [{key: rule[key] for key in kept if key in rule} for rule in parts["rules"]],
            "novelty": {"training": numbers(scale.training), "usual": scale.usual},
            "rows": rows.offered([*judged.first.rows, *judged.abstained.rows, *judged.novel.rows]),
            "target": view.target,
            "glossary": words,
            **of_kind,
        },
    }


def _table(judged: JudgedTable, name: str) -> dict[str, Any]:
    n, sizes = max(judged.n_rows, 1), judged.set_sizes
    return {
        "name": shown_line(name),
        "n_rows": judged.n_rows,
        "n_abstained": judged.n_abstained,
        "n_unsupported": judged.n_unsupported,
        "ignorance": judged.ignorance / n,
        "conflict": judged.conflict / n,
        "set_size": float(sizes @ np.arange(len(sizes)) / n),
    }


def _model(model: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    tree = model.tree
    return {
        "kind": model.kind,
        "title": model.title,
        "n_rules": model.n_rules,
        "depth": int(tree.depth.max()),
        "n_kept_rows": len(tree.profile.exemplar_row),
        "measure": "neighbour" if tree.profile.has_exemplars else "residual",
        "parameters": {name: shown_line(value, 80) for name, value in parameters.items() if name != "n_jobs"},
    }


def _classes(view: View) -> list[dict[str, Any]]:
    share = view.model.class_frequency.tolist()
    return [
        {"name": name, "share": share[c], "full_name": shown_line(view.model.classes[c])}
        for c, name in enumerate(view.classes)
    ]


def _features(view: View) -> list[dict[str, Any]]:
    """The features: what they hold, how often rules ask for them, and how much that explains."""
    model, schema = view.model, view.model.schema
    asked = np.bincount(model.tree.feature[1:], minlength=len(view.columns))
    conditions = add_up_derived(asked[None].astype(np.float64), model.derived)[0]
    importance, names = feature_importances(model), model.feature_names()
    return [
        {
            "name": name,
            "full_name": shown_line(names[j]),
            "kind": "number" if schema.categories[j] is None else "category",
            "n_conditions": int(conditions[j]),
            "importance": float(importance[j]),
        }
        for j, name in enumerate(view.features)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The report in half a minute
# ---------------------------------------------------------------------------------------------------------------------


def headline(
    n_rules: int, table: dict[str, Any], measures: dict[str, Any] | None, names: list[str], target: str | None
) -> dict[str, Any]:
    """What a reader should know before all else.

    Parameters
    ----------
    n_rules : int
        Number of rules.
    table, measures : dict, dict or None
        As the report has them.
    names : list of str
        Names of the classes.
    target : str or None
        Name of what is predicted; None: the model does not know it.

    Returns
    -------
    dict
        ``sentence``; and ``bars``, what becomes of the rows of each class, None without labels.
    """
    rules = _counted(n_rules, "rule") if n_rules else "a model without rules"
    predicted = listed(names, "or") if len(names) <= MAX_NAMED else f"one of {len(names)} classes"
    asked = predicted if target is None else f"{target} ({predicted})"
    n_rows, n_open = table["n_rows"], table["n_abstained"]
    subject = (
        f"For {_counted(n_rows, 'row')} of {table['name']}, {rules} {'predicts' if n_rules <= 1 else 'predict'} {asked}"
    )
    open_rows = f"{_counted(n_open, 'row')} ({100 * n_open / max(n_rows, 1):.1f} %) get no answer"
    answered = open_rows if n_open else "every row gets an answer"
    if measures is None:
        unknown = "no label is known, so nobody can say how many are right"
        return {"sentence": f"{subject}; {answered}; {unknown}.", "bars": None}
    finds = "it finds" if n_rules <= 1 else "they find"
    sentence = f"{subject}: {_quality(measures, names)}; {finds} {_found(measures)}; {answered}."
    return {"sentence": sentence, "bars": _bars(measures)}


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing if n == 1 else f'{thing}s'}"


def _quality(measures: dict[str, Any], names: list[str]) -> str:
    """How many predictions are right, and how many would be if there were no model."""
    accuracy, baseline = measures["accuracy"], measures["baseline"]
    guess = f"always saying {names[measures['commonest']]} would be right for {100 * baseline:.1f} %"
    known = "" if not measures["n_without_label"] else f" for the {measures['n_rows']:,} rows with a label"
    right = f"{100 * accuracy:.1f} % of the predictions{known} are right"
    if measures["decision"] == "balanced":
        # Accuracy is not what they aim at: always saying the commonest class is often right more often.
        recalls = [own["recall"] for own in measures["by_class"] if own["recall"] is not None]
        mean = f"the mean recall of the classes is {100 * sum(recalls) / max(len(recalls), 1):.1f} %"
        return f"{right}; {mean}, where always saying one class has {100 / max(len(recalls), 1):.1f} %"
    return f"{right}, where {guess}" if accuracy > baseline else f"{right}, no better than guessing: {guess}"


def _found(measures: dict[str, Any]) -> str:
    """Recall of the classes, the worst first."""
    known = sorted((own for own in measures["by_class"] if own["recall"] is not None), key=lambda own: own["recall"])
    rows = [f"the {_counted(own['n_rows'], 'row')} of class {own['name']}" for own in known]
    told = [f"{percent_text(own['recall'])} of {of_class}" for own, of_class in zip(known, rows, strict=True)]
    if len(told) > MAX_NAMED:
        return f"from {told[0]} to {told[-1]}"
    return listed(told) or "no row, since none has a class of the model"


def _bars(measures: dict[str, Any]) -> dict[str, Any]:
    """What becomes of all rows, and of those of each class, the commonest classes first where there are many."""
    known = [own | {"share": own["recall"]} for own in measures["by_class"] if own["n_rows"]]
    shown = known if len(known) <= MAX_BARS else sorted(known, key=lambda own: -own["n_rows"])[:MAX_BARS]
    everything = {"n_rows": measures["n_rows"], "share": measures["accuracy"], "parts": measures["parts"]}
    return {"all": everything, "classes": shown, "n_hidden": len(known) - len(shown)}


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


class ShownRows:
    """The rows of a table that a report shows; each is explained once."""

    def __init__(self, view: View, scale: NoveltyScale) -> None:
        self.view, self.scale = view, scale
        self._explained: dict[int, Explanation] = {}

    def _explanation(self, row: KeptRow) -> Explanation:
        if row.number not in self._explained:
            one = OneRow(row.values[None], row.unseen)
            self._explained[row.number] = explain(self.view.model, one, counterfactual=False)
        return self._explained[row.number]

    def listed(self, rows: list[KeptRow]) -> list[dict[str, Any]]:
        """Rows as the lists of abstained and novel rows show them."""
        if not rows:
            return []
        explained, values = [self._explanation(row) for row in rows], np.stack([row.values for row in rows])
        reasons = self.view.reason_codes(values, [own.best for own in explained])
        parts = self.view.model.novelty_attribution(values)
        return [self._listed(*own) for own in zip(rows, explained, parts, reasons, strict=True)]

    def _listed(self, row: KeptRow, told: Explanation, parts: Floats, reasons: list[str]) -> dict[str, Any]:
        classes, truth, label, is_open = self.view.classes, row.truth, told.best, told.abstains
        novelty = float(parts.sum())
        return {
            "number": row.number + 1,
            "truth": classes[truth] if truth >= 0 else "another label" if truth == OTHER_LABEL else None,
            "is_wrong": truth not in (label, NO_LABEL) and not is_open,
            "label": None if is_open else classes[label],
            "class": label,
            "ignorance": told.ignorance,
            "novelty": novelty,
            "unusual": unusual_text(self.scale, novelty),
            "parts": self._named_parts(row, parts, novelty),
            "reason": shown_line(told.summary, MAX_REASON),
            "reason_codes": reasons,
        }

    def _named_parts(self, row: KeptRow, parts: Floats, total: float) -> list[dict[str, Any]]:
        """The features that make a row novel, the largest part first."""
        order = np.argsort(-parts, kind="stable")[:MAX_PARTS].tolist() if total > 0 else []
        return [
            {
                "name": self.view.features[j],
                "value": self.view.value(j, row.values[j]),
                "share": float(parts[j] / total) if math.isfinite(total) else None,
            }
            for j in order
            if parts[j] >= LEAST_SHARE * total
        ]

    def offered(self, rows: list[KeptRow]) -> list[dict[str, Any]]:
        """Rows that the page can load, in the table's order."""
        classes, found, n_features = self.view.classes, {row.number: row for row in rows}, len(self.view.features)
        values = numbers(np.array([found[number].values[:n_features] for number in sorted(found)]))
        return [
            {
                "number": number + 1,
                "values": own,
                "truth": classes[found[number].truth] if found[number].truth >= 0 else None,
                "sentence": shown_line(told.summary, MAX_REASON),
                "certified": None if told.certified is None else radius_text(told.certified.radius),
            }
            for number, own in zip(sorted(found), values, strict=True)
            if (told := self._explanation(found[number]))
        ]


def radius_text(radius: float) -> str:
    """How far numbers may move without another label, with the digits that mean something.

    Examples
    --------
    >>> radius_text(1.0), radius_text(0.1234), radius_text(0.0)
    ('1 spread', '0.12 spreads', '')
    """
    if math.isinf(radius):
        return "however far they move"
    return "" if radius <= 0 else spreads_text(radius)


def unusual_text(scale: NoveltyScale, novelty: float) -> str:
    """How unusual a row is among the training rows; as ``unusualText`` in what_if.js.

    Examples
    --------
    >>> unusual_text(NoveltyScale(np.linspace(0, 1, 101), None), 0.975)
    'more unusual than 97 % of the training rows'
    >>> unusual_text(NoveltyScale(np.linspace(0, 1, 101), None), 0.005)
    'at least 99 % of the training rows are at least as unusual'
    >>> unusual_text(NoveltyScale(np.zeros(0), 2.0), 5.0)
    '2.5 times the usual novelty'
    """
    share = scale.share(novelty)
    if share is not None:
        if share == 1:
            return "more unusual than all training rows"
        if share == 0:
            return "at least 99 % of the training rows are at least as unusual"  # shares are rounded down
        return f"more unusual than {100 * share:.0f} % of the training rows"
    if scale.usual is None or not scale.usual > 0:
        return "nothing to compare with"
    times = novelty / scale.usual
    return "beyond all numbers" if not math.isfinite(times) else f"{times:.2g} times the usual novelty"


# ---------------------------------------------------------------------------------------------------------------------
# The what-if page
# ---------------------------------------------------------------------------------------------------------------------


def _controls(view: View, features: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page needs to offer values of the features."""
    spread, kept = total_spread(view.model.tree), view.model.tree.profile.exemplar_row
    shared = ("name", "full_name", "kind", "n_conditions", "importance")
    return [
        {key: own[key] for key in shared}
        | (
            {"levels": view.categories.get(j, [])}
            if own["kind"] == "category"
            else _number_control(view.model, j, float(spread[j]), kept[:, j])
        )
        for j, own in enumerate(features)
    ]


def _number_control(model: Model, j: int, spread: float, kept: Floats) -> dict[str, Any]:
    kind, known = model.column_kind(j), kept[~np.isnan(kept)]
    low, high = slider_range(model, j)
    date = {"has_time": kind.name == "time", "is_zoned": kind.is_zoned, "steps": list(finer_steps())}
    bits = [model.value(j, bit) for bit in (0.0, 1.0)] if kind.name == "binary" else []
    words = shown_names(bits) if bits and all(map(has_words, bits)) else None
    return {
        "low": low,
        "high": high,
        "seen": list(model.training_range(j)),
        "step": slider_step(low, high, whole=len(known) > 0 and bool((known == np.floor(known)).all())),
        "is_whole": model.is_whole(j),
        "is_binary": kind.name == "binary",
        "spread": spread,
        # What the values 0, 1, ... mean: ordered categories, and 0 and 1 where the table came with words for them.
        "words": shown_names(kind.said_order) if kind.is_ordered else words,
        "date": date if kind.is_date else None,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Words that need an explanation
# ---------------------------------------------------------------------------------------------------------------------


@cache
def glossary(kind: str) -> dict[str, str]:
    """Words of the page about a kind of model, "rules" or "trees", and what they mean, in alphabetical order."""
    words = json.loads((Path(__file__).parent / "templates" / "glossary.json").read_text(encoding="utf-8"))
    return dict(sorted((words["all"] | words[kind]).items(), key=lambda own: own[0].lower()))
