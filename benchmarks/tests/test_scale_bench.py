"""The scale table on small tables, its measurements in this process: sections, goals, and what is left out."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ferl_bench.subprocess_call import Measured
from ferl_bench.table import Request
from ferl_bench.tables import scale
from ferl_bench.thread_gain import YARDSTICK, Gain

SIZES = scale.Sizes(
    raced=3_000,
    streamed=(2_000, 3_000),
    samples=(500, None),
    threaded=1_500,
    few=1_200,
    whole=1_000,
    small=500,
    predicted=2_000,
    tested=500,
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Request:
    monkeypatch.setattr(scale, "subprocess_call", lambda call, *arguments: Measured(call(*arguments), 1.0, 10**8))
    monkeypatch.setattr(scale, "find_spec", lambda name: None)  # neither LightGBM nor Dask
    monkeypatch.setattr("ferl_bench.thread_gain.ROUNDS", 1)
    monkeypatch.setattr("ferl_bench.big_table.PART_ROWS", 1_000)
    return Request([], tmp_path, Console(file=StringIO(), width=200))


def test_the_scale_table_measures_what_it_says(small: Request) -> None:
    report = scale.run_scale(small, SIZES)
    data: Any = json.loads(json.dumps(report.data, allow_nan=False))
    race, samples, streams, threads = data.values()
    ours = [f"FERL-{variant}, {threads}" for variant in ("deep", "wide") for threads in ("one thread", "all cores")]
    smaller = [f"FERL-wide, {n_rules} rules, all cores" for n_rules in (50, 15, 10)]
    assert list(race) == ["CART, 150 leaves", *ours, *smaller]
    assert all(race[name]["rules"] <= n_rules for name, n_rules in zip(smaller, (50, 15, 10), strict=True))
    assert race["FERL-wide, one thread"]["accuracy"] == race["FERL-wide, all cores"]["accuracy"]
    ratio = race["FERL-wide, all cores"]["seconds"] / race["FERL-deep, all cores"]["seconds"]
    assert (ratio, scale.WIDE_TARGET) in [(one.ours, one.theirs) for one in report.headlines if "wide" in one.what]
    # Threads, files and rows in memory lead to the same tree.
    assert race["FERL-deep, one thread"]["accuracy"] == race["FERL-deep, all cores"]["accuracy"]
    deep = streams["deep"]
    assert deep["3000"]["accuracy"] == race["FERL-deep, all cores"]["accuracy"] == samples["all rows"]["accuracy"]
    assert streams["wide"]["3000"]["accuracy"] == race["FERL-wide, all cores"]["accuracy"]
    assert samples["500"]["accuracy"] != samples["all rows"]["accuracy"]
    assert deep["2000"]["gigabytes"] == 0.1
    assert len(threads) == 8
    assert all(thread["one"] > 0 and thread["two"] > 0 for thread in threads.values())
    assert report.failures == ["cluster: dask is not installed"]


def test_goals_of_threads_leave_out_the_yardstick(small: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    gains = {"Fit, x": Gain(3.0, 1.5), "predict_proba, y": Gain(2.0, 1.0), YARDSTICK: Gain(1.0, 1.0)}
    monkeypatch.setattr(scale, "gain_by_threads", lambda *arguments: gains)
    result = scale._threads(Path(), scale.Sizes(predicted=4_000_000), lambda text: None)
    assert [(goal.what, goal.ours, goal.is_behind) for goal in result.headlines] == [
        ("Fit, x: speed-up by a second thread", 2.0, False),
        ("predict_proba, y: speed-up by a second thread", 2.0, False),
        ("predict_proba on two threads, million rows/s", 4.0, False),
    ]
    assert result.section.rows[-1] == [YARDSTICK, "1.000", "1.000", "1.00"]


def test_a_cluster_is_compared_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {("deep", 1): 8.0, ("deep", 2): 4.0, ("wide", 2): 6.0}

    def measured(call: object, folder: Path, n_workers: int, variant: str) -> Measured:
        return Measured({"seconds": seconds[variant, n_workers]}, 1.0, 10**8)

    monkeypatch.setattr(scale, "subprocess_call", measured)
    result = scale._cluster(Path("rows-3000"), {"deep": 2.0, "wide": 6.0}, lambda text: None)
    assert [(goal.what, goal.ours, goal.is_behind) for goal in result.headlines] == [
        ("Dask, speed-up by a second worker", 2.0, False),
        ("FERL-deep: two Dask workers / stream", 2.0, True),
        ("FERL-wide: two Dask workers / stream", 1.0, False),
    ]
    assert result.section.rows == [
        ["FERL-deep, one worker", "8.0"],
        ["FERL-deep, 2 workers", "4.0"],
        ["FERL-wide, 2 workers", "6.0"],
    ]
