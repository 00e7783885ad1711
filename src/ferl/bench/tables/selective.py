"""The selective table: how the error falls when the least certain rows are set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ferl.bench.cache import ResultFile
from ferl.bench.curve import COVERAGES, RISKS
from ferl.bench.data import load_folder
from ferl.bench.facts import n_cores, versions
from ferl.bench.method import get_method
from ferl.bench.protocol import DESCRIPTION
from ferl.bench.render import Report
from ferl.bench.runner import plan, run
from ferl.bench.tables.frontier import (
    Measure,
    Row,
    data_set_section,
    make_row,
    method_section,
    require_some,
    rows_json,
    run_notes,
)

METHODS = (
    "FERL-deep",
    "FERL-medium",
    "FERL-compact",
    "CART",
    "Logistic regression",
    "Random forest",
    "XGBoost",
)
COLUMNS = (
    Measure("accuracy", "Acc %", 100),
    Measure("aurc", "AURC x100", 100, spread=1),
    Measure("augrc", "AUGRC x100", 100, spread=1),
    Measure("risk_at_50", "Error % at 50 %", 100),
    Measure("risk_at_80", "at 80 %", 100),
    Measure("risk_at_90", "at 90 %", 100),
)
NOTES = (
    "In brackets: the paper's figure; ±: standard deviation over data sets; means over data sets of fold means.",
    "Confidence: the largest probability. Rows of equal confidence enter in random order; the expectation counts.",
    "AURC: mean error rate among the k most confident rows over all k. AUGRC: the same with errors as a share of all "
    "rows. Error at 80 %: among the 80 % most confident rows.",
)


def run_selective(
    folder: Path, out: Path, *, names: Sequence[str] | None, n_processes: int, fresh: bool, console: Console
) -> Report:
    """Measure risk against coverage of every method on every data set and fold.

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

    Returns
    -------
    Report
    """
    data_sets = load_folder(folder, names)
    methods = [get_method(name) for name in METHODS]
    with ResultFile(out / "results.jsonl", fresh=fresh) as cache:
        results = run(plan(data_sets, methods), cache, n_processes=n_processes, console=console)
    rows = [make_row(method, results) for method in methods]
    require_some(rows)
    facts = {
        **versions(("numpy", "scikit-learn", "xgboost")),
        "cores": n_cores(),
        "processes": n_processes,
        "protocol": DESCRIPTION,
        "data sets": len(data_sets),
    }
    return make_report(rows, facts)


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
