"""The table of cuts: intervals of a threshold that is known."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ferl_bench.table import Request
from ferl_bench.tables import cuts


def test_intervals_of_a_clear_threshold_are_narrow_and_hold_it() -> None:
    result = cuts.measure(n_resamples=25, n_rows=300, flipped=0.0, repetitions=8)
    assert result.coverage >= 0.5
    assert 0 < result.width < 0.05
    assert result.error < 0.02
    assert 0 <= result.share <= 1


def test_the_table_has_a_line_for_each_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "N_ROWS", (100,))
    request = Request([], tmp_path, Console(file=StringIO()), repetitions=3)
    report = cuts.run_cuts(request)
    assert [row[:3] for row in report.sections[0].rows] == [
        [str(n_resamples), "100", f"{flipped:.0%}"] for n_resamples in cuts.N_RESAMPLES for flipped in cuts.FLIPPED
    ]
