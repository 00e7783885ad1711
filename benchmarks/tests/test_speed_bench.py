"""Races: fair turns, and the table of speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_examples import quiet, small_data_sets
from ferl_bench import render
from ferl_bench.data import load_folder
from ferl_bench.instruction_race import ENTRIES
from ferl_bench.memory import DEEP_ON_ALL, WIDE_ON_ALL
from ferl_bench.race import growth_exponent, race
from ferl_bench.table import Request
from ferl_bench.tables.speed import Sizes, run_speed
from ferl_bench.wide_race import SMALLER


def test_race_takes_turns_and_drops_the_warm_up() -> None:
    order: list[str] = []
    times = race({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=2)
    assert order == ["a", "b"] * 3
    assert all(seconds >= 0 for seconds in times.values())


def test_growth_exponent_of_a_power_law() -> None:
    assert growth_exponent([5, 10, 40], [2 * n**1.5 for n in (5, 10, 40)]) == pytest.approx(1.5)


def test_speed_report_has_every_section_with_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferl_bench.wide_race.BOOSTED", {"XGBoost": 1.0})  # EBM takes its time
    sizes = Sizes(
        6, 300, 500, 200, 300, 2_000, growth_rows=(100, 200), growth_features=(6, 8), growth_features_rows=100
    )
    report = run_speed(Request(load_folder(small_data_sets(tmp_path)), tmp_path, quiet(), repetitions=1), sizes)
    data = json.loads(json.dumps(report.data))
    assert {name: part.get("error") for name, part in data.items()} == dict.fromkeys(
        ("fit", *ENTRIES, "boosting", "predict", "ONNX", "one row", "memory", "growth", "wide growth")
    )
    assert set(data["fit"]["seconds"]) == {"blobs", "mixed"}
    boosting = data["boosting"]
    assert set(boosting["sum_seconds"]) >= {"FERL-wide", SMALLER, "FERL-compact", "CART"}
    assert "FERL-compact / CART" in boosting["ratio_of_sums"]
    for pair, ratio in boosting["ratio_of_sums"].items():
        ours, other = pair.split(" / ")
        assert ratio == pytest.approx(boosting["sum_seconds"][ours] / boosting["sum_seconds"][other])
    assert list(data["wide growth"]["rows"]["seconds"]) == ["100", "200"]
    for name, entry in ENTRIES.items():
        sets = data[name]
        assert list(sets["sum_seconds"]["all"]) == entry.names + ([entry.peer] if entry.peer else [])
        assert list(sets["gains"]) == entry.names[1:]
        assert sets["small"] == []  # tables of 62 and 50 rows are smaller than small ones
    assert data["ONNX"]["ratios"].keys() == {"FERL-deep", "FERL-medium", "FERL-wide"}
    assert data["memory"]["multiples"].keys() == {"CART", "FERL-deep", DEEP_ON_ALL, WIDE_ON_ALL}
    text = render.markdown(report)
    n_ratios = len(boosting["ratio_of_sums"]) + len(data["ONNX"]["ratios"])
    assert text.count("target <=") == 20 + n_ratios  # two of them: deep on folds and on whole data sets
    assert text.count("target >=") == sum(len(entry.names) - 1 for entry in ENTRIES.values())
