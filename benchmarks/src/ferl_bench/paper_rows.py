"""Every row of the paper's table of answers: ours, the paper's and the authors' figures, and why they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferl_bench.method import Method
from ferl_bench.published import AUTHORS, FAR, PAPER_ROWS, PROTOCOL, SOURCE, why
from ferl_bench.render import Section
from ferl_bench.rows import PAPER_DATA_SETS, Measure, Row

DIFFERENCES = (Measure("accuracy", "Acc %", 100), Measure("aurc", "AURC", 100))
"""What is compared, as points; a size is shown and not compared, since methods count different things."""
SHOWN = (*DIFFERENCES, Measure("size", "Size", decimals=0))
TITLE = "Every row of the paper, beside its rerun"


def paper_rows_section(rows: Sequence[Row]) -> list[Section]:
    """Return the section, one line for each row of the paper; nothing unless all of the paper's data sets were run.

    Parameters
    ----------
    rows : sequence of Row
        The rows of the frontier.

    Returns
    -------
    list of Section
        One section or none.
    """
    by_name = {row.method.name: row for row in rows}
    if max((len(row.data_sets) for row in rows), default=0) != PAPER_DATA_SETS:
        return []
    body = [
        [name, item, *_figures(by_name[item]), _remark(by_name[item])]
        for name, item in PAPER_ROWS.items()
        if item in by_name and by_name[item].data_sets
    ]
    columns = [f"{measure.title}: {whose}" for measure in SHOWN for whose in ("ours", "paper", "authors")]
    notes = [
        f"Authors: their published results, {SOURCE}; {PROTOCOL}.",
        f"Rows agree when neither accuracy nor AURC is more than {FAR:g} points from the paper's.",
        f"{len(body)} of the {len(PAPER_ROWS)} rows of the paper's table of accuracy and AURC are measured here.",
    ]
    return [Section(TITLE, ["The paper's row", "Here", *columns, "Why they differ"], body, notes)] if body else []


def _figures(row: Row) -> list[str]:
    authors = AUTHORS.get(row.method.name)
    published = {} if authors is None else authors.figures
    cells = []
    for measure in SHOWN:
        ours = row.centre(measure.key)
        cells += [
            "" if ours is None else measure.write(ours),
            _stated(row.method.paper, measure),
            _stated(published, measure),
        ]
    return cells


def _stated(figures: Mapping[str, float], measure: Measure) -> str:
    return f"{figures[measure.key]:.{measure.decimals}f}" if measure.key in figures else ""


def _remark(row: Row) -> str:
    """Say why a row is far from the paper's, or that it is not, or that the two do not compare."""
    if len(row.data_sets) != PAPER_DATA_SETS:
        return f"{len(row.data_sets)} of {PAPER_DATA_SETS} data sets: the means do not compare"
    return why(row.method.name) if any(abs(gap) > FAR for gap in _gaps(row.method, row)) else "they agree"


def _gaps(method: Method, row: Row) -> list[float]:
    result = []
    for measure in DIFFERENCES:
        ours = row.centre(measure.key)
        if ours is not None and measure.key in method.paper:
            result.append(measure.scale * ours - method.paper[measure.key])
    return result
