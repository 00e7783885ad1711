"""What a report shows, as sections of a page: one function for each, and the data of the what-if form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from operator import add
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._tables import OneRow
from ferl._tables.values import finer_steps
from ferl._tell.explain import explain
from ferl._tell.explanation import Explanation
from ferl._tell.page import Block, Marked, Section, Table, piece_html
from ferl._tell.stability import deviations_text
from ferl._tell.statements import word_meanings
from ferl._tell.unusual import NoveltyScale, novelty_scale
from ferl._util.arrays import Floats
from ferl._util.text import counted, has_words, listed, percent_text, rows_text, shown_line, shown_names
from ferl.metrics.comparison import SMALL_GROUP, GroupMetrics
from ferl.report.charts import drawn, percent
from ferl.report.judged_table import NO_LABEL, Groups, JudgedTable, KeptRow, measures
from ferl.report.page_form import decision_form, numbers, page_form, slider_range, slider_step
from ferl.report.views import View, view_of, with_soft

MAX_NAMED = 4  # classes whose recall the sentence gives one by one
MAX_BARS = 12  # classes of the picture
MAX_OPEN = 8  # lines of a table that is not folded
MAX_CARDS = 3  # rows of a list that are not folded
MAX_RECALLS = 4  # classes whose recall by group has a column
MAX_REASON = 600  # letters
MAX_PARTS = 4  # features that are named
LEAST_SHARE = 0.1  # of a row's novelty that a named feature makes
MAX_CARD = 2000  # letters of what people write on the model card
Found = dict[str, Any] | None  # by measures


class ModelCard(NamedTuple):
    """What only people know of a model: what it is for, where it fails, and the date of the report ("": today)."""

    intended_use: str = ""
    limits: str = ""
    date: str = ""


NO_CARD = ModelCard()


def summarise(
    model: Model,
    parameters: dict[str, Any],
    judged: JudgedTable,
    title: str | None,
    table: str,
    groups: Groups | None = None,
    card: ModelCard = NO_CARD,
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
    card : ModelCard, default=ModelCard()
        What only people know of the model.

    Returns
    -------
    dict
        ``title``, ``subject`` (of what, judged on what), ``version``, ``sections``, ``n_kept_rows`` (training rows in
        the model) and ``page``: the model and the rows for the what-if page. The same model and table give the same
        dict.
    """
    from ferl import __version__

    view, scale, table = view_of(model), novelty_scale(model), shown_line(table)
    result, rows = measures(judged, view.classes), ShownRows(view, scale)
    page = {
        "model": page_form(model),
        "features": _controls(view),
        "rules": view.page_rules(),
        "novelty": {"training": numbers(scale.training), "usual": scale.usual},
        "remedies": view.remedies,
        "rows": rows.offered([*judged.first.rows, *judged.abstained.rows, *judged.novel.rows]),
        "target": view.target,
        "decision": decision_form(judged.decision, model),
        "glossary": view.glossary,
        **view.form(),
    }
    form = drawn("what_if", "form", page, view.classes, table, lambda text: Markup(piece_html(view.term(text))))
    heading = view.sentence("heading") if view.target is None else f"Predicting {view.target}"
    subject = view.sentence("subject", title=model.title, rules=model.size)
    return {
        "title": shown_line(heading if title is None else title),
        "subject": f"{subject}, judged on {table} ({counted(judged.n_rows, 'row')})",
        "version": __version__,
        "sections": [
            summary_section(view, judged, result, table),
            card_section(view, judged, table, parameters, card),
            Section("What if", (Marked(html=form),), name="what-if"),
            *view.sections(),
            metrics_section(view, judged, result, table),
            *groups_section(view, judged, groups),
            abstained_section(view, judged, rows),
            novel_section(view, judged, rows),
            glossary_section(view),
        ],
        "n_kept_rows": len(model.tree.profile.exemplar_row),
        "page": page,
    }


# ---------------------------------------------------------------------------------------------------------------------
# The report in half a minute
# ---------------------------------------------------------------------------------------------------------------------


def summary_section(view: View, judged: JudgedTable, result: Found, table: str) -> Section:
    """What a reader should see before all else."""
    blocks: list[Block] = [Marked(headline(view, judged, result, table), tone="lead")]
    if not judged.decision.is_usual:
        blocks.append(view.sentence("decision", "note", decision=judged.decision.text(view.classes)))
    blocks += [] if result is None else _outcomes(view, result)
    depth = counted(int(view.model.tree.depth.max()), "condition")
    beside = {f"n_{name}s": n or None for rule in view.model.beside_rules for n, name in rule}
    size = {"n_rules": view.model.n_rules, "depth": depth} | beside
    blocks.append(view.tiles("summary", judged.figures | (result or {}) | size))
    blocks.append(Section("", (_classes_part(view), _asked_part(view)), look="columns"))
    if words := word_meanings(view.model, view.columns):
        items = tuple(Marked(line, tone="item") for line in words)
        folded = Section(f"{counted(len(words), 'feature')} in words", items, look=_look(items))
        blocks.append(Section("What the words mean", (folded,), look="part"))
    return Section("In half a minute", tuple(blocks), name="summary")


def card_section(view: View, judged: JudgedTable, table: str, parameters: dict[str, Any], card: ModelCard) -> Section:
    """What the model is for, what it was learned from, and by what."""
    from ferl import __version__

    model, names = view.model, view.classes
    classes = listed(names) if len(names) <= MAX_BARS else f"{len(names)} classes"
    changed = ", ".join(f"{name} = {shown_line(value, 80)}" for name, value in parameters.items() if name != "n_jobs")
    n_kept = len(model.tree.profile.exemplar_row)
    weight = f"{float(model.tree.weight[0]):,.1f}".removesuffix(".0")
    entries = [
        ("Intended use", shown_line(card.intended_use, MAX_CARD) or "Not stated."),
        ("Limits", shown_line(card.limits, MAX_CARD) or "Not stated."),
        ("Predicts", f"{view.target}: {classes}" if view.target else classes),
        (
            "Model",
            f"{view.sentence('subject', title=model.title, rules=model.size)}, of "
            f"{counted(len(view.features), 'feature')}",
        ),
        ("Training rows", f"{weight}{f'; this file contains {n_kept:,} of them' if n_kept else ''}"),
        ("Test rows", f"{judged.n_rows:,}, {table}"),
        ("Settings", changed or "defaults"),
        *([("Changed by hand", _edits_text(model.history))] if model.history else []),
        ("Made", f"{card.date or date.today().isoformat()} by ferl {__version__}"),
    ]
    return Section("Model card", (Table((), tuple(entries), "ll", "words"),), name="card")


def _edits_text(history: Sequence[dict[str, Any]]) -> str:
    """The edits of a model in their order; the history of a file may hold anything."""
    texts = []
    for record in history[:MAX_BARS]:
        about, rules = record.get("feature", ""), record.get("rules", record.get("dropped"))
        if not about and isinstance(rules, list):
            about = f"rule {listed(list(map(str, rules)))}"
        texts.append(shown_line(f"{record.get('edit', 'edit')} {about}".strip(), MAX_CARD))
    return "; ".join(texts + [f"{len(history) - MAX_BARS} more"] * (len(history) > MAX_BARS))


def _outcomes(view: View, result: dict[str, Any]) -> list[Block]:
    """The outcomes of all rows and of the rows of each class; with many classes, the commonest ones first."""
    known = [item | {"share": item["recall"]} for item in result["by_class"] if item["n_rows"]]
    shown = known if len(known) <= MAX_BARS else sorted(known, key=lambda item: -item["n_rows"])[:MAX_BARS]
    everything = {"n_rows": result["n_rows"], "share": result["accuracy"], "parts": result["parts"]}
    guess = f"always {view.classes[result['commonest']]}|baseline"
    terms = [Markup(piece_html(view.term(item))) for item in ("no answer", guess)]
    figure = Marked(html=drawn("drawings", "outcomes", everything, shown, result["baseline"], *terms))
    return [figure] if len(shown) == len(known) else [figure, view.sentence("commonest", "note", n=len(shown))]


def _look(lines: Sequence[Any]) -> str:
    """Whether a part with this many lines is folded."""
    return "open" if len(lines) <= MAX_OPEN else ""


def _folded(table: Table, things: str) -> list[Block]:
    """A table; of many rows the first, and the others folded away."""
    if len(table.rows) <= MAX_OPEN:
        return [table]
    first, rest = (replace(table, rows=item) for item in (table.rows[: MAX_OPEN - 2], table.rows[MAX_OPEN - 2 :]))
    return [first, Section(f"{len(rest.rows)} more {things}", (rest,))]


def _classes_part(view: View) -> Section:
    full, shares = map(shown_line, view.model.classes), view.model.class_frequency.tolist()
    rows = tuple(
        (Marked(view.chip(c, title=item)), percent(share))
        for c, (item, share) in enumerate(zip(full, shares, strict=True))
    )
    return Section("Classes", tuple(_folded(Table(("Class", "Share in training"), rows), "classes")), look="part")


def _asked_part(view: View) -> Section:
    features = view.asked
    asked = sorted((feature for feature in features if feature["n_uses"]), key=lambda item: -item["importance"])
    bars = [
        Marked(percent(item["importance"], 0), html=drawn("drawings", "share_bar", item["importance"]))
        for item in asked
    ]
    names = [Marked(item["name"], title=item["full_name"]) for item in asked]
    uses = [name for name in view.model.uses if any(item["uses"][name] for item in asked)]
    rows = tuple(
        (name, bar, *(str(item["uses"][use]) for use in uses))
        for name, bar, item in zip(names, bars, asked, strict=True)
    )
    meaning = f"{view.sentence('importance')}, as a share of the sum over all features"
    heads = ("Feature", Marked("Importance", title=meaning), *map(str.capitalize, uses))
    table = Table(heads, rows, "ll" + "r" * len(uses))
    tables = _folded(table, "features") if asked else [view.sentence("nothing_asked", "soft")]
    note = view.sentence("asked", "note", n=len(asked), n_features=len(features))
    copies = view.model.date_copies_note
    notes = (note, Marked(copies, tone="note")) if copies else (note,)
    return Section("What the model reads", (*tables, *notes), look="part")


def headline(view: View, judged: JudgedTable, result: Found, table: str) -> str:
    """The report in a few short sentences."""
    names, target, n_rows, n_open = view.classes, view.target, judged.n_rows, judged.n_abstained
    rules = view.model.size if view.model.n_terms else "A model without rules"
    predicted = listed(names, "or") if len(names) <= MAX_NAMED else f"one of {len(names)} classes"
    asked = predicted if target is None else f"{target} ({predicted})"
    verb = "predicts" if view.model.n_terms <= 1 else "predict"
    subject = f"{rules[:1].upper()}{rules[1:]} {verb} {asked} for the {counted(n_rows, 'row')} of {table}."
    share = f"{counted(n_open, 'row')} ({100 * n_open / max(n_rows, 1):.1f} %)"
    answered = f"{share} {'gets' if n_open == 1 else 'get'} no answer." if n_open else "Every row gets an answer."
    if result is None:
        return f"{subject} {answered} There are no labels, so the accuracy is unknown."
    return f"{subject} {_quality(result, names)}. The model finds {_found(result)}. {answered}"


def _quality(measures: dict[str, Any], names: list[str]) -> str:
    """How many predictions are right, and how many would be right without a model."""
    accuracy, baseline = measures["accuracy"], measures["baseline"]
    guess = f"always predicting {names[measures['commonest']]}: {100 * baseline:.1f} %"
    known = "" if not measures["n_without_label"] else f" for the {measures['n_rows']:,} rows with a label"
    right = f"{100 * accuracy:.1f} % of the predictions{known} are right"
    if measures["costs"] is not None:
        cost, least = measures["costs"]
        return f"{right}. The mean cost of a row is {cost:.4g} (always predicting one class: at least {least:.4g})"
    if measures["is_for_recall"]:
        # Accuracy is not the aim: always predicting the commonest class is often right more often.
        recalls = [measure["recall"] for measure in measures["by_class"] if measure["recall"] is not None]
        mean = f"The mean recall of the classes is {100 * sum(recalls) / max(len(recalls), 1):.1f} %"
        return f"{right}. {mean} (always predicting one class: {100 / max(len(recalls), 1):.1f} %)"
    return f"{right} ({guess})" if accuracy > baseline else f"{right}, no better than guessing ({guess})"


def _found(measures: dict[str, Any]) -> str:
    """Recall of the classes, the worst first."""
    known = sorted(
        (measure for measure in measures["by_class"] if measure["recall"] is not None), key=lambda item: item["recall"]
    )
    rows = [f"the {counted(item['n_rows'], 'row')} of class {item['name']}" for item in known]
    texts = [f"{percent_text(item['recall'])} of {of_class}" for item, of_class in zip(known, rows, strict=True)]
    if len(texts) > MAX_NAMED:
        return f"from {texts[0]} to {texts[-1]}"
    return listed(texts) or "no row, since no label is a class of the model"


# ---------------------------------------------------------------------------------------------------------------------
# Metrics
# ---------------------------------------------------------------------------------------------------------------------


def metrics_section(view: View, judged: JudgedTable, result: Found, table: str) -> Section:
    """How good the answers are."""
    if result is None:
        unknown = view.sentence("no_labels", table=table)
        return Section("Metrics", (unknown, view.tiles("metrics", judged.figures)), name="metrics")
    tiles = view.tiles("metrics", judged.figures | result | {"guess": view.classes[result["commonest"]]})
    notes = [
        view.sentence(item, "note", n=result[f"n_{item}"])
        for item in ("without_label", "other_labels")
        if result[f"n_{item}"]
    ]
    charts = Section("", (_reliability_part(view, result), _risk_part(result)), look="columns")
    tables = Section("", (_by_class_part(view, result), _confusion_part(view, result)), look="columns")
    return Section("Metrics", (tiles, *notes, charts, tables), name="metrics")


def _reliability_part(view: View, result: dict[str, Any]) -> Section:
    chart = Marked(html=drawn("drawings", "reliability", result["reliability"], view.classes))
    note = view.sentence("reliability_2" if len(view.classes) == 2 else "reliability", "note")
    return Section("Are the probabilities right?", (chart, note), look="part")


def _risk_part(result: dict[str, Any]) -> Section:
    chart = Marked(html=drawn("drawings", "risk_coverage", result["risk_coverage"]))
    return Section("What abstaining saves", (chart,), look="part")


def _by_class_part(view: View, result: dict[str, Any]) -> Section:
    heads = ("Class", "Rows", "Predicted", view.term("Recall|recall"), view.term("Precision|precision"))
    chips = [Marked(view.chip(item["class"])) for item in result["by_class"]]
    counts = [(str(item["n_rows"]), str(item["n_predicted"])) for item in result["by_class"]]
    shares = [(percent(item["recall"]), percent(item["precision"])) for item in result["by_class"]]
    rows = tuple((chip, *count, *share) for chip, count, share in zip(chips, counts, shares, strict=True))
    named = f"Recall and precision of {len(rows)} {'class' if len(rows) == 1 else 'classes'}"
    table = Table(heads, rows, title="Recall and precision")
    return Section("By class", (Section(named, (table,), look=_look(rows)),), look="part")


def _confusion_part(view: View, result: dict[str, Any]) -> Section:
    names, counts = view.classes, result["confusion"]
    if counts is None:
        return Section("Confusion matrix", (view.sentence("no_matrix", "note", n=len(names)),), look="part")

    def cells(row: int, indices: list[int]) -> list[Marked]:
        tones = [f"s{min(5, 1 + int(4.999 * n / sum(indices)))}" if n else "" for n in indices]
        tones = [f"{tone} hit" if row == c else tone for c, tone in enumerate(tones)]
        return [Marked(str(n or "·"), tone=tone) for n, tone in zip(indices, tones, strict=True)]

    heads = [Marked(name, scope="row") for name in (*names, "other labels")]
    rows = tuple((heads[row], *cells(row, count)) for row, count in enumerate(counts))
    matrix = Table(("true, then predicted", *names), rows, "l" * (len(names) + 1), "matrix", "Confusion matrix")
    folded = Section("True classes down, predicted classes across", (matrix,), look=_look(names))
    return Section("Confusion matrix", (folded,), look="part")


def groups_section(view: View, judged: JudgedTable, groups: Groups | None) -> list[Section]:
    """How answers fare by the values of one column; no section where rows are not grouped."""
    if groups is None or not judged.n_rows:
        return []
    name, result, positive = judged.by_group(groups, view.features, view.classes)
    has_labels = any(item.n_labelled for item in result)
    rates = [_rates(view, item, positive, has_labels) for item in result]
    few = Marked(" (few rows)", tone="note small-group")
    names = [Marked(item.group, *[few] * item.is_small, scope="row") for item in result]
    rows = tuple((head, *rate.values()) for head, rate in zip(names, rates, strict=True))
    table = Table((name, *rates[0]), rows, look="rates", title=f"Rates by {name}")
    blocks: list[Block] = [Marked(_gap(view, result, has_labels), view.sentence("groups", name=name)), table]
    if any(item.is_small for item in result):
        labelled = "labelled " if has_labels else ""
        blocks.append(view.sentence("few_rows", "note", small=SMALL_GROUP, labelled=labelled))
    return [Section(f"By {name}", tuple(blocks), name="groups")]


def _rates(view: View, group_metrics: GroupMetrics, positive: int | None, has_labels: bool) -> dict[str, str]:
    """What is compared of a group, by the headings of the columns."""

    def rate(value: float | None, c: int) -> str:
        return with_soft(percent(value), f"of {group_metrics.n_by_class[c]:,}")

    labelled = (
        "" if group_metrics.n_labelled in (0, group_metrics.n_rows) else f"({group_metrics.n_labelled:,} labelled)"
    )
    cells: dict[str, str] = {"Rows": with_soft(f"{group_metrics.n_rows:,}", labelled)}
    if has_labels:
        ends = [f"{100 * end:.0f}" for end in group_metrics.accuracy_range or ()]
        between = f"({' to '.join(ends)})" if ends else ""
        cells[Marked(view.term("Accuracy|accuracy"), " (95 % interval)")] = with_soft(
            percent(group_metrics.accuracy), between
        )
    cells[view.term("No answer|no answer")] = percent(group_metrics.abstention)
    if positive is not None:
        cells[f"Predicted {view.classes[positive]}"] = percent(group_metrics.predicted[positive])
    if positive is not None and has_labels:
        for name, value, c in (
            ("positive", group_metrics.false_positive_rate, 0),
            ("negative", group_metrics.false_negative_rate, 1),
        ):
            term = view.term(f"False {name}s|false {name} rate")
            cells[Marked(term, f" ({view.classes[positive]})")] = rate(value, c)
    elif has_labels and len(view.classes) <= MAX_RECALLS:
        cells |= {
            Marked(view.term("Recall|recall"), f" of {label}"): rate(group_metrics.recall[c], c)
            for c, label in enumerate(view.classes)
        }
    return cells


def _gap(view: View, result: list[GroupMetrics], has_labels: bool) -> str:
    """How far the accuracies of groups are apart."""
    if not has_labels:
        return view.sentence("unlabelled")
    known = [
        (item.accuracy or 0.0, item.accuracy_range, item.group)
        for item in result
        if item.accuracy_range and not item.is_small
    ]
    if len(known) < 2:
        return ""
    low, high = (choose(known, key=lambda item: item[0]) for choose in (min, max))
    chance = view.sentence("overlap" if low[1][1] >= high[1][0] else "apart")
    return view.sentence(
        "gap", low=f"{percent(low[0])} ({low[2]})", high=f"{percent(high[0])} ({high[2]})", chance=chance
    )


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

    def cards(self, rows: list[KeptRow]) -> list[Section]:
        """Rows as the lists of abstained and novel rows show them, all but a few folded away."""
        explained, values = [self._explanation(row) for row in rows], np.stack([row.values for row in rows])
        reasons = self.view.reason_codes(values, [item.best for item in explained])
        parts = self.view.model.novelty_attribution(values)
        cards = [self._card(*item) for item in zip(rows, explained, parts, reasons, strict=True)]
        first, rest = (Section("", tuple(item), look="rows") for item in (cards[:MAX_CARDS], cards[MAX_CARDS:]))
        more = f"{len(cards) - MAX_CARDS} more {'row' if len(cards) == MAX_CARDS + 1 else 'rows'}"
        return [first, Section(more, (rest,))] if rest.blocks else [first]

    def _card(self, row: KeptRow, explanation: Explanation, parts: Floats, reasons: list[str]) -> Section:
        classes, truth, label, number = self.view.classes, row.truth, explanation.best, row.number + 1
        blocks: list[Block] = [shown_line(explanation.summary, MAX_REASON)]
        if truth != NO_LABEL:
            true = classes[truth] if truth >= 0 else "another label"
            is_wrong = truth != label and not explanation.abstains
            blocks.append(Marked(f"Its label is {true}{f', not {classes[label]}' if is_wrong else ''}.", tone="note"))
        named = ", ".join(self._named_parts(row, parts))
        unusual = unusual_text(self.scale, float(parts.sum()))
        unusual = f"{unusual[:1].upper()}{unusual[1:]}{named and f', in {named}'}."
        blocks.append(Marked(unusual, tone="parts"))
        if reasons:
            costs = tuple(f"{k}. {reason}" for k, reason in enumerate(reasons, 1))
            blocks.append(Section(f"Reason codes against {classes[1 - label]}", costs))
        button = f'<button type="button" class="small" data-row="{number}">Open in what if</button>'
        behind = "" if explanation.rows is None else f", rests on {rows_text(explanation.rows)}"
        title = Marked(f"Row {number} ", Marked(f"ignorance {explanation.ignorance:.2f}{behind}", tone="note num"))
        return Section(title, (*blocks, Marked(html=button)), look="card")

    def _named_parts(self, row: KeptRow, parts: Floats) -> list[str]:
        """The features that make a row novel, the largest part first."""
        total = float(parts.sum())
        order = np.argsort(-parts, kind="stable")[:MAX_PARTS].tolist() if total > 0 else []
        named = [j for j in order if parts[j] >= LEAST_SHARE * total]
        shares = [f" ({100 * parts[j] / total:.0f} %)" if math.isfinite(total) else "" for j in named]
        values = [f"{self.view.features[j]} {self.view.value(j, row.values[j])}" for j in named]
        return list(map(add, values, shares))

    def offered(self, rows: list[KeptRow]) -> list[dict[str, Any]]:
        """Rows that the page can load, in the table's order."""
        classes, result, n_features = self.view.classes, {row.number: row for row in rows}, len(self.view.features)
        values = numbers(np.array([result[number].values[:n_features] for number in sorted(result)]))
        return [
            {
                "number": number + 1,
                "values": value,
                "truth": classes[result[number].truth] if result[number].truth >= 0 else None,
                "sentence": shown_line(explanation.summary, MAX_REASON),
                "certified": None if explanation.certified is None else radius_text(explanation.certified.radius),
            }
            for number, value in zip(sorted(result), values, strict=True)
            if (explanation := self._explanation(result[number]))
        ]


def abstained_section(view: View, judged: JudgedTable, shown: ShownRows) -> Section:
    """The rows without an answer, the largest ignorance first."""
    rows, n, n_unsupported = judged.abstained.rows, judged.n_abstained, judged.n_unsupported
    title = "Rows without an answer"
    if not rows:
        return Section(title, (view.sentence("none_abstained"),), name="abstained")
    unsupported = view.sentence("unsupported", n=n_unsupported) if n_unsupported else ""
    most = view.sentence("most_ignorant", n=len(rows)) if n > len(rows) else ""
    parts = {"unsupported": unsupported, "causes": view.sentence("causes"), "listed": most}
    text = view.sentence("abstained", n=n, n_rows=judged.n_rows, **parts)
    return Section(title, (text, *shown.cards(rows)), name="abstained")


def novel_section(view: View, judged: JudgedTable, shown: ShownRows) -> Section:
    """The rows that are most unlike training."""
    rows, has_rows = judged.novel.rows, view.model.tree.profile.has_exemplars
    if not rows:
        return Section("Unusual rows", (view.sentence("no_rows"),), name="novel")
    measure = view.sentence("neighbour", distance=view.sentence("distance")) if has_rows else view.sentence("residual")
    return Section(
        "Unusual rows", (view.sentence("novel", n=len(rows), measure=measure), *shown.cards(rows)), name="novel"
    )


def glossary_section(view: View) -> Section:
    """Words that need an explanation."""
    words = view.glossary.items()
    entries = tuple((word, Marked(meaning, name=f"term-{word.replace(' ', '-')}")) for word, meaning in words)
    folded = Section(f"{len(entries)} words of this page", (Table((), entries, "ll", "words"),))
    return Section("Glossary", (folded,), name="glossary")


def radius_text(radius: float) -> str:
    """How far numbers may move without another label, with the digits that mean something.

    Examples
    --------
    >>> radius_text(1.0), radius_text(0.1234), radius_text(0.0)
    ('1 standard deviation', '0.12 standard deviations', '')
    """
    if math.isinf(radius):
        return "however far they move"
    return "" if radius <= 0 else deviations_text(radius)


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
        return "no rank among the training rows: the model keeps too few of them, or was edited"
    times = novelty / scale.usual
    return "beyond all numbers" if not math.isfinite(times) else f"{times:.2g} times the usual novelty"


# ---------------------------------------------------------------------------------------------------------------------
# The what-if page
# ---------------------------------------------------------------------------------------------------------------------


def _controls(view: View) -> list[dict[str, Any]]:
    """What the page needs to offer values of the features."""
    spread, kept = total_spread(view.model.tree), view.model.tree.profile.exemplar_row
    return [
        item
        | (
            {"levels": view.categories.get(j, [])}
            if item["kind"] == "category"
            else _number_control(view.model, j, float(spread[j]), kept[:, j])
        )
        for j, item in enumerate(view.asked)
    ]


def _number_control(model: Model, j: int, spread: float, kept: Floats) -> dict[str, Any]:
    kind, known = model.column_kinds[j], kept[~np.isnan(kept)]
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
        "words": shown_names(kind.display_order) if kind.is_ordered else words,
        "date": date if kind.is_date else None,
    }
