"""The frontier on tables of PMLB: ferl beside the defaults of well-known packages, with ranks and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ferl_bench.common_sets import common_sets_section
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.headline import against_best, against_partial
from ferl_bench.method import Method, packages_of
from ferl_bench.render import Report
from ferl_bench.rows import (
    Measure,
    Row,
    data_set_section,
    failure_notes,
    method_section,
    names_of,
    partial_rows,
    rows_json,
)
from ferl_bench.suites.page import (
    chosen,
    draw_ranks,
    on_common,
    pair_sections,
    rank,
    rank_sections,
    table_section,
    time_section,
)
from ferl_bench.suites.pmlb import NAMES, load_pmlb
from ferl_bench.suites.pmlb_methods import METHODS
from ferl_bench.suites.protocol import FrameJob
from ferl_bench.table import Request, Table

OURS = ("FERL-wide", "FERL-wide with cases")
ACCURACY, AUC = Measure("accuracy", "Acc %", 100), Measure("auc", "AUC %", 100)
LOSS, AURC = Measure("log_loss", "Log-loss", decimals=3), Measure("aurc", "AURC x100", 100)
COMPARED = ((ACCURACY, True), (AUC, True), (LOSS, False), (AURC, False))
ANSWERS = (*(measure for measure, _ in COMPARED), Measure("size", "Rules", 1, 1))
NOTES = (
    "Means over data sets of fold means. AUC: macro, one class against the others; log-loss in nats; AURC: area under "
    "the risk-coverage curve, lower is better.",
    "Every rival has the defaults of its package, with two exceptions: LightGBM has min_child_weight=1, since its loss "
    "diverges on krkopt with the default, and logistic regression has 2,000 iterations. Probabilities of the SVM come "
    "from CalibratedClassifierCV(SVC(), ensemble=False), as scikit-learn recommends.",
    "PMLB codes categories as numbers, and all methods read them as numbers. Forests, SVM and logistic regression get "
    "the median for a missing number; SVM and logistic regression get standardised numbers.",
    "ferl was developed on these tables: choices were made on calibration parts, never on test parts.",
)


def run_pmlb(request: Request, methods: Sequence[Method] = METHODS) -> Report:
    """Measure the methods on the tables; `request.names` and `request.methods` choose some of them."""
    if request.folder is None:
        raise BenchError("which folder? `--data DIR` has the tables of PMLB, or gets them by download")
    wanted = chosen(methods, request.methods)
    narrowed = replace(request, data_sets=load_pmlb(request.folder, request.names, request.console))
    rows = narrowed.rows(wanted, FrameJob)
    left_out = {
        "Tables": [name for name in NAMES if name not in {data.name for data in narrowed.data_sets}],
        "Methods": [method.name for method in methods if method not in wanted],
    }
    facts = narrowed.facts(packages_of(wanted), **request.limits.describe())
    return make_report(rows, narrowed.data_sets, facts, left_out)


def make_report(
    rows: Sequence[Row],
    data_sets: Sequence[DataSet],
    facts: Mapping[str, object],
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> Report:
    """Turn rows into the report; `left_out` names tables and methods of the suite that the run did not have."""
    missing = [
        f"{what} of the suite that this run left out: {', '.join(names)}."
        for what, names in (left_out or {}).items()
        if names
    ]
    measured = [row for row in rows if row.data_sets]
    ranks = rank(measured, COMPARED)
    common = on_common(measured)
    # Some methods lack a table: they have their ranks where they were measured.
    shared = rank(common, COMPARED) if partial_rows(measured) else {}
    return Report(
        name="frontier_pmlb",
        title="PMLB: FERL-wide, with and without cases, and the defaults of other packages",
        facts=facts,
        sections=[
            method_section("Answers", rows, ANSWERS, [*NOTES, *missing, *failure_notes(rows)]),
            *rank_sections(ranks),
            *rank_sections(shared, f"Mean ranks on the {len(names_of(common))} tables that these methods have"),
            *(section for ours in OURS for section in pair_sections(rows, ours, COMPARED)),
            *(section for ours in OURS for section in common_sets_section(rows, ours, COMPARED)),
            time_section(measured, *OURS),
            table_section(data_sets),
            *(data_set_section(measured, measure) for measure, _ in COMPARED),
        ],
        data=rows_json(rows),
        draw=(lambda figure: draw_ranks(figure, shared or ranks)) if shared or ranks else None,
        headlines=[
            headline
            for ours in OURS
            for against in (against_best, against_partial)
            for headline in against(rows, ours, COMPARED)
        ],
        failures=[*missing, *failure_notes(rows)],
    )


TABLE = Table(
    summary="FERL-wide, also with cases, and the defaults of other packages on 48 tables of PMLB: ranks, tests, times.",
    run=run_pmlb,
    chapter="Answers",
    minutes=600,
    needs_data=False,
    needs_suite=True,
    has_folder=True,
)
