"""The selective table: how the error falls when the least certain rows are set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ferl_bench.curve import COVERAGES, RISKS
from ferl_bench.headline import against_best
from ferl_bench.method import get_method
from ferl_bench.methods.ferl import WIDE
from ferl_bench.render import Report
from ferl_bench.rows import Measure, Row, data_set_section, failure_notes, method_section, rows_json, run_notes
from ferl_bench.table import Request, Table

METHODS = (*WIDE, "FERL-deep", "FERL-medium", "FERL-compact", "CART", "Logistic regression", "Random forest", "XGBoost")
COLUMNS = (
    Measure("accuracy", "Acc %", 100),
    Measure("aurc", "AURC x100", 100, spread=1),
    Measure("augrc", "AUGRC x100", 100, spread=1),
    Measure("risk_at_50", "Error % at 50 %", 100),
    Measure("risk_at_80", "Error % at 80 %", 100),
    Measure("risk_at_90", "Error % at 90 %", 100),
)
NOTES = (
    "In brackets: the paper's figure; ±: standard deviation over data sets; means over data sets of fold means.",
    "Confidence: the largest probability. Rows of equal confidence enter in random order; the expectation counts.",
    "AURC: mean error rate among the k most confident rows over all k. AUGRC: the same with errors as a share of all "
    "rows. Error at 80 %: among the 80 % most confident rows.",
)


def run_selective(request: Request) -> Report:
    """Measure risk against coverage of every method on every data set and fold."""
    rows = request.rows([get_method(name) for name in METHODS])
    return make_report(rows, request.facts(("numpy", "scikit-learn", "xgboost")))


def make_report(rows: Sequence[Row], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    risk = [Measure(key, f"{coverage:.0%}", 100, 1) for key, coverage in zip(RISKS, COVERAGES, strict=True)][1::2]
    return Report(
        name="selective",
        title="Selective classification: the error among the rows that are answered",
        facts=facts,
        sections=[
            method_section("Selection", rows, COLUMNS, [*NOTES, *run_notes(rows)]),
            method_section("Error % by the share of rows answered", rows, risk),
            data_set_section(rows, COLUMNS[1]),
            data_set_section(rows, COLUMNS[2]),
        ],
        data={"coverages": list(COVERAGES), **rows_json(rows)},
        draw=lambda figure: _draw(figure, rows),
        headlines=[
            headline
            for name in ("FERL-wide", "FERL-deep")
            for headline in against_best(rows, name, [(COLUMNS[2], False), (COLUMNS[4], False)])
        ],
        failures=failure_notes(rows),
    )


def _draw(figure: Any, rows: Sequence[Row]) -> None:
    """Plot the mean error rate among the answered rows against their share; ours with solid lines."""
    axes = figure.add_subplot()
    for number, row in enumerate(rows):
        if row.data_sets:
            curve = [100 * (row.centre(key) or 0.0) for key in RISKS]
            style, colour = "-" if row.method.is_ours else "--", f"C{number % 10}"
            axes.plot([100 * c for c in COVERAGES], curve, style, color=colour, linewidth=1.5, label=row.method.name)
    axes.set_xlabel("rows answered, most confident first, %")
    axes.set_ylabel("error among them, %")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, None)
    axes.set_title("Risk against coverage, mean over data sets", fontsize="medium")
    axes.grid(alpha=0.3)
    if rows:
        axes.legend(fontsize="small")


TABLE = Table(
    summary="How the error falls when the least certain rows are set aside.",
    run=run_selective,
    chapter="Sets, novelty and proofs",
    minutes=1,
)
