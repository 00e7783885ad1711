"""Every sentence that the library says of models and rows of tables that people know, and what no sentence may say."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import lru_cache
from html import unescape
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text

from estimators import classifier
from ferl import FERLClassifier, NoveltyDetector, export_graphviz, export_latex, export_text, overview, rules_frame
from ferl.editing import edit
from ferl.export import export_scorecard, reason_codes
from ferl.export.scorecard import Scorecard
from ferl.plot import (
    plot_contributions,
    plot_decision_regions,
    plot_evidence,
    plot_importance,
    plot_novelty,
    plot_novelty_of_rows,
    plot_shapes,
    plot_tree,
)
from ferl.report.content import summarise
from ferl.report.judged_table import JudgedTable
from ferl.report.writing import label_codes, render
from real_tables import real_table, rows_to_judge

MODELS = ("rules", "deep", "words", "compact")
N_STORIES = 6


@lru_cache
def fitted(name: str, kind: str) -> FERLClassifier:
    table = real_table(name)
    return classifier(kind, random_state=0).fit(table.frame, table.y, describe=table.describe)


@lru_cache
def stories(name: str, kind: str) -> list[Any]:
    """Stories of rows as they are, and of rows moved away from all others."""
    clf, table = fitted(name, kind), real_table(name)
    rows = rows_to_judge(table, 3, N_STORIES // 2)
    return [clf.explain(table.frame.iloc[k], details=True) for k in range(N_STORIES // 2)] + [
        clf.explain(rows.iloc[[k]], details=True) for k in range(len(rows))
    ]


def has_rules(clf: FERLClassifier) -> bool:
    return clf.model_.kind == "rules"


@lru_cache
def pages(name: str, kind: str) -> dict[str, str]:
    """Every text about the model and about some rows, by where it comes from."""
    clf, table = fitted(name, kind), real_table(name)
    last = table.frame.iloc[-1]
    result = {
        "export_text": export_text(clf, width=10_000),
        "rules_frame": "\n".join(rules_frame(clf)["conditions"]),
        "export_latex": export_latex(clf),
        "overview": overview(clf, table.frame, table.y).to_text(10_000),
        "explain": "\n".join(story.to_text(10_000) for story in stories(name, kind)),
        "what_if": "\n".join(
            clf.what_if(table.frame.iloc[0], {column: last[column]}).to_text(10_000)
            for column in table.frame.columns[:3]
        ),
        "certificate": str(clf.certificate(table.frame.iloc[[0]])),
        "stability": f"{clf.stability_report()}\n{clf.stability_report(table.frame.iloc[:10])}",
        "drift": repr(deepcopy(clf).partial_fit(table.frame[:100], table.y[:100]).drift_),
        "detector": "\n".join(detected(name, kind)),
        "report": report_of(name, kind),
    }
    if has_rules(clf):
        positive = clf.classes_[-1]
        reasons = reason_codes(clf, table.frame.iloc[:5], positive=positive)
        result["reasons"] = "\n".join(str(reason) for row in reasons for reason in row)
        result["scorecard"] = Scorecard(clf).text()
        result["scorecard lines"] = "\n".join(export_scorecard(clf)["when"])
        result["edit"] = str(edit(clf).drop(1).cost(table.frame[:100], table.y[:100]))
    else:
        result["export_graphviz"] = str(export_graphviz(clf))
    return result


def detected(name: str, kind: str) -> list[str]:
    """What a detector says of rows, and of a batch."""
    frame = real_table(name).frame
    detector = NoveltyDetector(fitted(name, kind), cv="prefit", alpha=0.1).fit(frame.iloc[:60])
    strange = rows_to_judge(real_table(name), 5, 10)
    return [*detector.explain(strange), str(detector.drift(frame.iloc[60:90])), str(detector.drift(strange))]


def report_of(name: str, kind: str) -> str:
    """What the report says of some rows, strange ones among them: all text of the page, each element in a line."""
    clf, table = fitted(name, kind), real_table(name)
    reading = JudgedTable(clf.model_, n_listed=3, n_first=3)
    for rows, labels in ((table.frame[:60], table.y[:60]), (rows_to_judge(table, 7, 20), table.y[60:80])):
        reading.add(clf._rows(rows), label_codes(clf.model_, labels, len(rows)))
    page = render(summarise(clf.model_, {}, reading, None, "table"))
    return unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", "\n", page, flags=re.DOTALL))


def pictures(name: str, kind: str) -> str:
    """All text of the pictures of a model and of a row."""
    clf, table = fitted(name, kind), real_table(name)
    row, some = table.frame.iloc[0], table.frame[:30]
    drawn = [
        draw(clf, *given, ax=Figure().subplots()).figure
        for draw, given in (
            (plot_importance, ()),
            (plot_evidence, (table.frame.iloc[:1],)),
            (plot_novelty, (row,)),
            (plot_novelty_of_rows, (some,)),
            (plot_decision_regions, (some, table.y[:30])),
        )
    ]
    if has_rules(clf):
        drawn += [plot_contributions(clf, row, ax=Figure().subplots()).figure, plot_shapes(clf, figure=Figure())]
    else:
        drawn.append(plot_tree(clf, max_rules=8, ax=Figure().subplots()).figure)
    for figure in drawn:
        figure.draw_without_rendering()  # ticks have text from here on
    return "\n".join(item.get_text() for figure in drawn for item in figure.findobj(Text))


NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
SHARE = r"(?: \(\d+%\))?"


def impossible_intervals(text: str) -> list[str]:
    """Intervals whose lower end is not below the upper one, and triangles whose top is not between their ends."""
    plain = text.replace("\u00a0", " ").replace("$", "").replace(r"\pm ", "±").replace("{-}", "-")
    result = [m[0] for m in re.finditer(rf"({NUMBER})\.\.({NUMBER})", plain) if not float(m[1]) <= float(m[2])]
    band = rf"({NUMBER})(?: ±{NUMBER})?{SHARE}"
    both = rf"{band} < [^<>±]+? < {band}"
    result += [m[0] for m in re.finditer(both, plain) if not float(m[1]) < float(m[2])]
    ramps = rf"around ({NUMBER}) \(above ({NUMBER})\.\.{NUMBER}{SHARE}, below {NUMBER}\.\.({NUMBER})"
    for m in (*re.finditer(ramps, plain), *re.finditer(rf"around ({NUMBER}) \(({NUMBER})\.\.({NUMBER})", plain)):
        top, low, high = map(float, m.groups())
        result += [] if low <= top <= high else [m[0]]
    between = rf"between {NUMBER}\.\.({NUMBER}) and ({NUMBER})\.\."
    return result + [m[0] for m in re.finditer(between, plain) if float(m[1]) > float(m[2])]


CLAIM = re.compile(r"ruled out|rules out|\bprove[sdn]?\b|\bproof\b|impossible|certainly|excluded", flags=re.IGNORECASE)


def unproven_claims(pages: dict[str, str]) -> list[tuple[str, str]]:
    """Lines that claim a proof beyond those that have one, with where they stand."""
    allowed = {
        # Radii and nearest changes are proven, and what is only searched says so.
        "explain": r"Proven: (the label stays|however far|no change of a single value)|Nothing is proven:|"
        r".* this is a search, not a proof\.",
        "stability": r"Proven: |Verdict: nothing is proven for all rows at once\.|"
        r"Verdict: [a-z ]+\. Half of the rows provably keep their label, ",
        "report": "A proof that the label stays the same",  # the glossary says what a certificate is
    }
    return [
        (source, line.strip())
        for source, text in pages.items()
        for line in text.splitlines()
        if CLAIM.search(line) and not re.match(allowed.get(source, "$"), line.strip())
    ]


TOKEN = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?(?![\w])")


def long_numbers(text: str) -> list[str]:
    """Numbers of more than four significant digits, but for ends of ramps that fewer digits would move."""
    needed = set()
    for low, high in re.findall(rf"({NUMBER})\.\.({NUMBER})", text):
        width = float(high) - float(low)
        needed |= {
            item.lstrip("-") for item in (low, high) if abs(float(f"{float(item):.4g}") - float(item)) > 0.01 * width
        }
    for theta, half_width in re.findall(rf"({NUMBER}) ±({NUMBER})", text):
        if abs(float(f"{float(theta):.4g}") - float(theta)) > 0.2 * float(half_width):
            needed.add(theta.lstrip("-"))
    return [
        item
        for item in TOKEN.findall(text)
        if item not in needed and len(item.split("e")[0].replace(".", "").lstrip("0")) > 4
    ]


def badly_written(text: str) -> list[str]:
    """Numbers with too many digits or a power of ten, and one of something in the plural."""
    plural = r"(?<![\d.])1 (?:standard deviations|points|rules|features|classes|rows|values|days)\b"
    return long_numbers(text) + re.findall(r"\d[eE]\+\d", text) + re.findall(plural, text)
