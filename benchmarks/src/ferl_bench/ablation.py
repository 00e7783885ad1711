"""Ablations: deep trees with one thing changed at a time, compared with the default on the test parts.

Nothing is chosen here: defaults come from the calibration parts (`ferl bench defaults`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ferl_bench.headline import Headline, against_paper
from ferl_bench.method import Method, get_method
from ferl_bench.methods.ferl import MODELS, ferl_method
from ferl_bench.render import Report, Section
from ferl_bench.rows import Measure, Row, data_set_section, failure_notes, method_section, rows_json, run_notes
from ferl_bench.statistics import Difference, holm, paired_difference
from ferl_bench.table import Request

DEFAULT = "FERL-deep"
ACCURACY = Measure("accuracy", "Acc %", 100)
AURC = Measure("aurc", "AURC x100", 100)
COLUMNS = (
    Measure("accuracy", "Acc %", 100, spread=1),
    Measure("aurc", "AURC x100", 100, spread=1),
    Measure("ece", "ECE x100", 100, 1),
    Measure("size", "Rules", 1, 1),
    Measure("conditions", "Conditions", 1, 1),
    Measure("determinacy", "Determ. %", 100, 1),
    Measure("set_coverage", "Set cov. %", 100, 1),
    Measure("set_size", "Set size"),
    Measure("u65", "u65 %", 100, 1),
    Measure("ignorance", "Ign. %", 100, 1),
    Measure("fit_seconds", "Fit ms", 1000, 1),
)
NOTES = (
    "In brackets: the paper's figure; ±: standard deviation over data sets; means over data sets of fold means.",
    "The first line is the default; each other line changes what it names. Defaults were not chosen on these rows: "
    "see `ferl bench defaults`.",
)
DIFFERENCE_NOTES = (
    "Line minus default, paired by data set (folds of one data set are not independent observations). In brackets: "
    "95 % bootstrap interval of the mean over data sets. Won: data sets on which the line is better / equal / worse.",
    "p: Wilcoxon's signed-rank test, two-sided, Holm-corrected over the lines of the table.",
)


@dataclass(frozen=True)
class Line:
    """An alternative: its name, the parameters it changes, and the paper's figures in the units of `COLUMNS`."""

    label: str
    change: Mapping[str, Any]
    paper: Mapping[str, float] = field(default_factory=dict)

    def method(self) -> Method:
        """Return it as a method; without a change it is the method of the other tables, whose results are shared."""
        if not self.change:
            return get_method(DEFAULT)
        return ferl_method(f"deep, {self.label}", {**MODELS["deep"], **self.change})


def run_lines(request: Request, lines: Sequence[Line]) -> list[Row]:
    """Measure the lines; each row has the line's name and the paper's figures."""
    rows = request.rows([line.method() for line in lines])
    return [named(row, line) for row, line in zip(rows, lines, strict=True)]


def named(row: Row, line: Line) -> Row:
    """Return a row under the name of its line."""
    return replace(row, method=replace(row.method, name=line.label, paper=line.paper))


def ablation_report(
    name: str, title: str, rows: Sequence[Row], facts: Mapping[str, object], notes: Sequence[str] = ()
) -> Report:
    """Compare rows with the first one, the default.

    Parameters
    ----------
    name, title : str
        Of the report.
    rows : sequence of Row
        The default first.
    facts : mapping
        Facts of the report.
    notes : sequence of str
        Further notes under the first table.

    Returns
    -------
    Report
    """
    shown = [column for column in COLUMNS if any(row.values(column.key) for row in rows)]
    differences = {measure.key: compare(rows, measure.key) for measure in (ACCURACY, AURC)}
    return Report(
        name=name,
        title=title,
        facts=facts,
        sections=[
            method_section("Means", rows, shown, [*NOTES, *notes, *run_notes(rows)]),
            difference_section(differences),
            data_set_section(rows, ACCURACY),
            data_set_section(rows, AURC),
        ],
        data={
            "differences": {
                key: {label: vars(difference) for label, difference in item.items()}
                for key, item in differences.items()
            },
            **rows_json(rows),
        },
        headlines=[
            *against_paper(rows[:1], [rows[0].method.name], [(ACCURACY, True), (AURC, False)]),
            *_against_alternatives(rows),
        ],
        failures=failure_notes(rows),
    )


def compare(rows: Sequence[Row], key: str) -> dict[str, Difference]:
    """Compare every row with the first one on the data sets that both could do."""
    default, *others = rows
    result = {}
    for row in others:
        shared = [name for name in default.data_sets if name in row.data_sets]
        if shared:
            pairs = [(row.data_sets[name][key], default.data_sets[name][key]) for name in shared]
            ours, theirs = zip(*pairs, strict=True)
            result[row.method.name] = paired_difference(ours, theirs)
    return result


def difference_section(differences: Mapping[str, Mapping[str, Difference]]) -> Section:
    """One line an alternative: its paired differences from the default in accuracy and AURC."""
    header, rows = ["Line"], [[label] for label in differences["accuracy"]]
    for measure, sign in ((ACCURACY, 1), (AURC, -1)):
        item = differences[measure.key]
        adjusted = holm([difference.p_value for difference in item.values()])
        header += [f"{measure.title}, difference", "Won", "p"]
        for row, difference, p in zip(rows, item.values(), adjusted, strict=True):
            counts = (difference.wins, difference.ties, difference.losses)[::sign]
            row += [interval(difference, measure), " / ".join(map(str, counts)), f"{p:.3g}"]
    return Section("Against the default", header, rows, DIFFERENCE_NOTES)


def interval(difference: Difference, measure: Measure) -> str:
    """Return a difference with its interval, in the units of a column."""
    mean, low, high = (measure.scale * value for value in (difference.mean, difference.low, difference.high))
    decimals = measure.decimals
    return f"{mean:+.{decimals}f} [{low:+.{decimals}f}, {high:+.{decimals}f}]"


def _against_alternatives(rows: Sequence[Row]) -> list[Headline]:
    """The default against the best of its alternatives: a default that is not the best is said to be so."""
    result = []
    for measure, more in ((ACCURACY, True), (AURC, False)):
        centres = {row.method.name: centre for row in rows if (centre := row.centre(measure.key)) is not None}
        default = rows[0].method.name
        others = {label: centre for label, centre in centres.items() if label != default}
        if default in centres and others:
            best = (max if more else min)(others, key=lambda label: others[label])
            ours, theirs = measure.scale * centres[default], measure.scale * others[best]
            result.append(Headline(f"Default: {measure.title}", ours, theirs, f"the line '{best}'", more))
    return result
