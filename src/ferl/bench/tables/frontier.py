"""The frontier table: what accuracy, and what knowledge of its own limits, for how many rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from rich.console import Console

from ferl.bench.cache import Result, ResultFile
from ferl.bench.data import load_folder
from ferl.bench.errors import BenchError
from ferl.bench.facts import n_cores, versions
from ferl.bench.method import Method, all_methods
from ferl.bench.not_yet import NOT_YET
from ferl.bench.protocol import DESCRIPTION, N_FOLDS
from ferl.bench.render import Report, Section
from ferl.bench.runner import plan, run


@dataclass(frozen=True)
class Measure:
    """A column: which measure, in which units, with how many decimals, and with how many of its spread, if at all."""

    key: str
    title: str
    scale: float = 1.0
    decimals: int = 2
    spread: int | None = None


ANSWERS = (
    Measure("accuracy", "Acc %", 100, spread=1),
    Measure("aurc", "AURC x100", 100, spread=1),
    Measure("augrc", "AUGRC x100", 100),
    Measure("ece", "ECE x100", 100, 1),
    Measure("size", "Rules", 1, 1),
    Measure("fit_seconds", "Fit ms", 1000, 1),
)
SETS = (
    Measure("determinacy", "Determinacy"),
    Measure("set_coverage", "Coverage"),
    Measure("set_size", "Set size"),
    Measure("u65", "u65", decimals=3),
    Measure("u80", "u80", decimals=3),
)
PAPER_DATA_SETS = 30
BY_DATA_SET = ("accuracy", "aurc", "size")
# Times have a long tail over data sets: their centre is the median, everything else is averaged.
MEDIANS = ("fit_seconds", "predict_seconds")

Measures = Mapping[str, float]


@dataclass(frozen=True)
class Row:
    """One method over all data sets: the fold means of each data set it could do, and what went wrong on the others."""

    method: Method
    data_sets: Mapping[str, Measures]
    failures: Sequence[Result]

    def centre(self, key: str) -> float | None:
        """Return the mean (times: the median) over data sets, or None for what the method does not offer."""
        values = self.values(key)
        return _centre(key, values) if values else None

    def values(self, key: str) -> list[float]:
        """Return the measure on each data set."""
        return [measures[key] for measures in self.data_sets.values() if key in measures]


def run_frontier(
    folder: Path,
    out: Path,
    *,
    names: Sequence[str] | None,
    n_processes: int,
    fresh: bool,
    console: Console,
    methods: Sequence[Method] | None = None,
) -> Report:
    """Measure every method on every data set and fold.

    Parameters
    ----------
    folder : Path
        Folder of CSV files.
    out : Path
        Folder of results; known results in it are used again.
    names : sequence of str, optional
        Data sets wanted; all by default.
    n_processes : int
        Number of parallel processes.
    fresh : bool
        Compute everything again.
    console : Console
        Where progress is shown.
    methods : sequence of Method, optional
        The rows; all registered methods by default.

    Returns
    -------
    Report
    """
    data_sets = load_folder(folder, names)
    chosen = all_methods() if methods is None else list(methods)
    with ResultFile(out / "results.jsonl", fresh=fresh) as cache:
        results = run(plan(data_sets, chosen), cache, n_processes=n_processes, console=console)
    facts = {
        **versions(),
        "cores": n_cores(),
        "processes": n_processes,
        "protocol": DESCRIPTION,
        "data sets": len(data_sets),
    }
    rows = [make_row(method, results) for method in chosen]
    require_some(rows)
    return make_report(rows, facts, NOT_YET if methods is None else {})


def require_some(rows: Sequence[Row]) -> None:
    """Refuse to publish a table in which nothing worked."""
    if not any(row.data_sets for row in rows):
        first = next(failure for row in rows for failure in row.failures)
        raise BenchError(f"every job failed; the first, {first.method} on {first.data_set}: {first.error}")


def make_row(method: Method, results: Sequence[Result]) -> Row:
    """Average a method's folds; a data set counts when all of its folds could be measured."""
    own = [result for result in results if result.method == method.name]
    data_sets: dict[str, Measures] = {}
    for name in sorted({result.data_set for result in own}):
        folds = [result.measures for result in own if result.data_set == name and result.error is None]
        if len(folds) == N_FOLDS:
            data_sets[name] = {key: _centre(key, [fold[key] for fold in folds]) for key in folds[0]}
    return Row(method, data_sets, [result for result in own if result.error is not None])


def make_report(
    rows: Sequence[Row], facts: Mapping[str, object], not_yet: Mapping[str, Mapping[str, float]] | None = None
) -> Report:
    """Turn rows into the report; `not_yet` are the paper's figures of methods that nobody has run here."""
    answers = method_section("Answers", rows, ANSWERS, _answer_notes(rows))
    waiting = [[name, *_not_yet_cells(paper)] for name, paper in (not_yet or {}).items()]
    with_sets = [row for row in rows if row.values("u65")]
    by_key = {measure.key: measure for measure in ANSWERS}
    return Report(
        name="frontier",
        title="Frontier: accuracy, selection and prediction sets against the number of rules",
        facts=facts,
        sections=[
            replace(answers, rows=[*answers.rows, *waiting]),
            *([method_section("Prediction sets", with_sets, SETS)] if with_sets else []),
            *(data_set_section(rows, by_key[key]) for key in BY_DATA_SET),
        ],
        data=rows_json(rows),
        draw=lambda figure: _draw(figure, rows),
    )


def _centre(key: str, values: Sequence[float]) -> float:
    return median(values) if key in MEDIANS else fmean(values)


def method_section(title: str, rows: Sequence[Row], measures: Sequence[Measure], notes: Sequence[str] = ()) -> Section:
    """One line a method, one column a measure."""
    body = [[row.method.name, *(_cell(row, measure) for measure in measures)] for row in rows if row.data_sets]
    body += [[row.method.name, "failed"] for row in rows if not row.data_sets]
    return Section(title, ["Method", *(measure.title for measure in measures)], body, notes)


def _cell(row: Row, measure: Measure) -> str:
    values = row.values(measure.key)
    text = _format(row.centre(measure.key), measure)
    if measure.spread is not None and len(values) > 1:
        text += f"±{measure.scale * stdev(values):.{measure.spread}f}"
    if measure.key in row.method.paper:
        text += f" [{row.method.paper[measure.key]:.{measure.decimals}f}]"
    return text.strip()


def _not_yet_cells(paper: Mapping[str, float]) -> list[str]:
    """Say in the first column that there is no figure of ours, and give the paper's."""
    cells = [f"[{paper[measure.key]:.{measure.decimals}f}]" if measure.key in paper else "" for measure in ANSWERS]
    return [f"not yet {cells[0]}", *cells[1:]]


def _format(value: float | None, measure: Measure) -> str:
    return "" if value is None else f"{measure.scale * value:.{measure.decimals}f}"


def _answer_notes(rows: Sequence[Row]) -> list[str]:
    notes = [
        "In brackets: the paper's figure; ±: standard deviation over data sets; means over data sets of fold means.",
        "Fit ms: median over data sets; other jobs may have run at the same time, `ferl bench speed` is the race.",
    ]
    return [*notes, *run_notes(rows)]


def run_notes(rows: Sequence[Row]) -> list[str]:
    """Say when the figures are not those of the paper's data sets, and which method could not be run, and why."""
    notes = []
    n_data_sets = len({name for row in rows for name in row.data_sets})
    if n_data_sets != PAPER_DATA_SETS:
        notes.append(
            f"The paper's figures are over {PAPER_DATA_SETS} data sets, these over {n_data_sets}: not comparable."
        )
    for row in rows:
        if row.failures:
            first = row.failures[0]
            n_failed = len({failure.data_set for failure in row.failures})
            notes.append(
                f"{row.method.name}: failed on {n_failed} of {n_failed + len(row.data_sets)} data sets, "
                f"first {first.data_set} fold {first.fold}: {first.error}"
            )
    return notes


def data_set_section(rows: Sequence[Row], measure: Measure) -> Section:
    """One line a data set, one column a method; for the files only."""
    names = sorted({name for row in rows for name in row.data_sets})
    body = [[name, *(_format(row.data_sets.get(name, {}).get(measure.key), measure) for row in rows)] for name in names]
    header = ["Data set", *(row.method.name for row in rows)]
    return Section(f"{measure.title} by data set", header, body, in_terminal=False)


def rows_json(rows: Sequence[Row]) -> dict[str, object]:
    """Return the unrounded figures of all rows."""
    scales = {measure.key: measure.scale for measure in (*ANSWERS, *SETS)}
    methods = []
    for row in rows:
        keys = {key: None for measures in row.data_sets.values() for key in measures}
        means = {key: row.centre(key) for key in keys}
        methods.append(
            {
                "method": row.method.name,
                "n_data_sets": len(row.data_sets),
                "measures": means,
                "standard_deviation": {key: stdev(row.values(key)) for key in keys if len(row.values(key)) > 1},
                "paper": {key: value / scales[key] for key, value in row.method.paper.items()},
            }
        )
    return {
        "methods": methods,
        "data_sets": [
            {"data_set": name, "method": row.method.name, **measures}
            for row in rows
            for name, measures in row.data_sets.items()
        ],
        "failures": [
            {"data_set": failure.data_set, "fold": failure.fold, "method": failure.method, "error": failure.error}
            for row in rows
            for failure in row.failures
        ],
    }


def _draw(figure: Any, rows: Sequence[Row]) -> None:
    """Plot accuracy against size: a filled mark is ours, a hollow one the paper's, with a line between the two."""
    axes = figure.add_subplot()
    marks: list[tuple[float, float]] = []
    names: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        size, accuracy, paper = row.centre("size"), row.centre("accuracy"), row.method.paper
        if size is None or accuracy is None:
            continue
        points = [(size, 100 * accuracy)]
        if "size" in paper and "accuracy" in paper:
            points.append((paper["size"], paper["accuracy"]))
        colour = f"C{number % 10}"
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=1, alpha=0.5)
        axes.scatter(*points[0], s=60, color=colour, zorder=3)
        axes.scatter(*points[-1], s=60, facecolors="none", edgecolors=colour)
        names[row.method.name] = points[0]
        marks += points
    axes.set_xscale("log")
    if marks:
        # Whole decades and whole percents around the marks: a short axis would make noise look like a difference.
        sizes, accuracies = zip(*marks, strict=True)
        axes.set_xlim(10 ** floor(log10(min(sizes))), 10 ** ceil(log10(max(sizes) + 1)))
        axes.set_ylim(floor(min(accuracies)) - 1, ceil(max(accuracies)) + 1)
    left, right = axes.get_xlim()
    for name, mark in names.items():
        # Towards the middle, where there is room for it.
        side = 1 if mark[0] ** 2 < left * right else -1
        place = {"xytext": (8 * side, 5), "textcoords": "offset points", "ha": "left" if side > 0 else "right"}
        axes.annotate(name, mark, fontsize="small", **place)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("rules or leaves (log scale)")
    axes.set_ylabel("accuracy, %")
    axes.set_title("Filled: measured here. Hollow: the paper's figure.", fontsize="medium")
    axes.grid(alpha=0.3)
