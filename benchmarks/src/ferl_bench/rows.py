"""Methods as rows of a table: folds averaged by data set, measures as columns, published figures in brackets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from ferl_bench.cache import Result
from ferl_bench.errors import BenchError
from ferl_bench.method import Method
from ferl_bench.protocol import N_FOLDS
from ferl_bench.published import Published, brackets
from ferl_bench.render import Section


@dataclass(frozen=True)
class Measure:
    """A column: which measure, in which units, with how many decimals, and with how many of its spread, if at all."""

    key: str
    title: str
    scale: float = 1.0
    decimals: int = 2
    spread: int | None = None

    def write(self, value: float) -> str:
        """Return a value in the column's units."""
        return f"{self.scale * value:.{self.decimals}f}"


ANSWERS = (
    Measure("accuracy", "Acc %", 100, spread=1),
    Measure("aurc", "AURC x100", 100, spread=1),
    Measure("augrc", "AUGRC x100", 100),
    Measure("ece", "ECE x100", 100, 1),
    Measure("size", "Rules", 1, 1),
    Measure("fit_seconds", "Fit ms", 1000, 1),
)
LOG_LOSS = Measure("log_loss", "Log-loss", decimals=3)
SETS = (
    Measure("determinacy", "Determinacy"),
    Measure("set_coverage", "Coverage"),
    Measure("set_size", "Set size"),
    Measure("u65", "u65", decimals=3),
    Measure("u80", "u80", decimals=3),
)
PAPER_DATA_SETS = 30
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

    def on(self, names: Iterable[str]) -> Row:
        """Return the row of these data sets alone."""
        return replace(self, data_sets={name: self.data_sets[name] for name in names if name in self.data_sets})


def make_row(method: Method, results: Sequence[Result]) -> Row:
    """Average a method's folds; a data set counts when all of its folds could be measured."""
    of_method = [result for result in results if result.method == method.name]
    data_sets: dict[str, Measures] = {}
    for name in sorted({result.data_set for result in of_method}):
        folds = [result.measures for result in of_method if result.data_set == name and result.error is None]
        if len(folds) == N_FOLDS:
            data_sets[name] = {key: _centre(key, [fold[key] for fold in folds]) for key in folds[0]}
    return Row(method, data_sets, [result for result in of_method if result.error is not None])


def require_some(rows: Sequence[Row]) -> None:
    """Refuse to publish a table in which nothing worked."""
    if not any(row.data_sets for row in rows):
        first = next(failure for row in rows for failure in row.failures)
        raise BenchError(f"every job failed; the first, {first.method} on {first.data_set}: {first.error}")


def names_of(rows: Sequence[Row]) -> list[str]:
    """Return the data sets that any of the rows has, in alphabetical order."""
    return sorted({name for row in rows for name in row.data_sets})


def partial_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with some of the data sets, and not all that others have: their means do not compare."""
    n_all = len(names_of(rows))
    return [row for row in rows if 0 < len(row.data_sets) < n_all]


def method_section(
    title: str,
    rows: Sequence[Row],
    measures: Sequence[Measure],
    notes: Sequence[str] = (),
    authors: Mapping[str, Published] | None = None,
) -> Section:
    """One line a method, one column a measure; a row that has not all data sets says how many it has.

    `authors` are published results that stand after the paper's figures, by the name of the method.
    """
    few, n_all = partial_rows(rows), len(names_of(rows))
    names = {
        row.method.name: row.method.name + (f" ({len(row.data_sets)} of {n_all} sets)" if row in few else "")
        for row in rows
    }
    body = [
        [names[row.method.name], *(_cell(row, measure, authors or {}) for measure in measures)]
        for row in rows
        if row.data_sets
    ]
    body += [[row.method.name, "failed"] for row in rows if not row.data_sets]
    return Section(title, ["Method", *(measure.title for measure in measures)], body, notes)


def data_set_section(rows: Sequence[Row], measure: Measure) -> Section:
    """One line a data set, one column a method; for the files only."""
    names = names_of(rows)
    body = [[name, *(_format(row.data_sets.get(name, {}).get(measure.key), measure) for row in rows)] for name in names]
    header = ["Data set", *(row.method.name for row in rows)]
    return Section(f"{measure.title} by data set", header, body, in_terminal=False)


def run_notes(rows: Sequence[Row]) -> list[str]:
    """Say when the figures are not those of the paper's data sets, and which method could not be run, and why."""
    notes = []
    n_data_sets = len(names_of(rows))
    if n_data_sets != PAPER_DATA_SETS:
        notes.append(
            f"The paper's figures are over {PAPER_DATA_SETS} data sets, these over {n_data_sets}: not comparable."
        )
    return [*notes, *failure_notes(rows)]


def failure_notes(rows: Sequence[Row]) -> list[str]:
    """Say which method could not be run on which data sets, and why: it failed, was too slow, or its time was over."""
    notes = []
    for row in rows:
        n_sets = len({failure.data_set for failure in row.failures}.union(row.data_sets))
        failed = [one for one in row.failures if one.limit_minutes is None and one.budget_minutes is None]
        reasons = [
            *_stopped(row.failures, n_sets, "limit_minutes", "over {:g} minutes a fold"),
            *_stopped(row.failures, n_sets, "budget_minutes", "not started, its {:g} minutes were over,"),
        ]
        if failed:
            n_failed, first = len({failure.data_set for failure in failed}), failed[0]
            where = f"{first.data_set} fold {first.fold}: {first.error}"
            reasons.append(f"failed on {n_failed} of {n_sets} data sets, first {where}")
        if reasons:
            notes.append(f"{row.method.name}: {'; '.join(reasons)}")
    return notes


def _stopped(failures: Sequence[Result], n_sets: int, key: str, words: str) -> list[str]:
    """Say on how many data sets, and on which, the time was over."""
    result: dict[float, dict[str, None]] = {}
    for failure in failures:
        if (minutes := getattr(failure, key)) is not None:
            result.setdefault(minutes, {})[failure.data_set] = None
    return [
        f"{words.format(minutes)} on {len(names)} of {n_sets} data sets ({', '.join(sorted(names))})"
        for minutes, names in result.items()
    ]


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
                "paper": {key: value / scales.get(key, 1.0) for key, value in row.method.paper.items()},
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


def _centre(key: str, values: Sequence[float]) -> float:
    return median(values) if key in MEDIANS else fmean(values)


def _cell(row: Row, measure: Measure, authors: Mapping[str, Published]) -> str:
    values = row.values(measure.key)
    text = _format(row.centre(measure.key), measure)
    if measure.spread is not None and len(values) > 1:
        text += f"±{measure.scale * stdev(values):.{measure.spread}f}"
    stated = brackets(row.method.paper, authors.get(row.method.name), measure.key, measure.decimals)
    return f"{text} {stated}".strip()


def _format(value: float | None, measure: Measure) -> str:
    return "" if value is None else measure.write(value)
