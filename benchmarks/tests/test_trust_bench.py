"""The tables about guarantees, calibration and their defaults, on problems small enough to know by heart."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.base import clone
from typer.testing import CliRunner

from ferl import FERLClassifier, FERLTreeClassifier
from ferl_bench.command import app
from ferl_bench.data import load_folder
from ferl_bench.remembering import remembering
from ferl_bench.render import markdown
from ferl_bench.simulation import make_population
from ferl_bench.table import Request
from ferl_bench.tables.calibration import TREATMENTS, TREATMENTS_OF_WIDE, run_calibration
from ferl_bench.tables.defaults_trust import ABSTENTION, SCORES, run_defaults_trust
from ferl_bench.tables.guarantees import Estimate, _binomial, edge_risk, make_report, run_guarantees


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``blobs``: three classes of two numbers. ``gaps``: an infinite value."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    blobs = [f"{rng.normal(k, 0.5):.3f},{rng.normal(-k, 0.5):.3f},{k}" for k in [0, 1, 2] * 30]
    (data / "blobs.csv").write_text("\n".join(["x0,x1,class", *blobs, "9,9,once"]) + "\n")
    gaps = [*(f"{rng.normal(k):.3f},{k}" for k in [0, 1] * 20), "inf,0"]
    (data / "gaps.csv").write_text("\n".join(["x0,class", *gaps]) + "\n")
    return data


def quiet() -> Console:
    return Console(file=StringIO())


def test_a_population_is_what_is_drawn_from() -> None:
    population = make_population(500, 0)
    drawn = population.draw(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(population.X[drawn].mean(axis=0), population.X.mean(axis=0), atol=0.05)
    tilted = population.draw(20_000, np.random.default_rng(0), (population.y == 1).astype(float))
    assert (population.y[tilted] == 1).all()
    sets = np.arange(3) == population.y[:, None]
    assert population.coverage(sets) == 1
    assert population.class_coverage(~sets) == [0, 0, 0]


def test_the_guarantees_table_has_every_line_and_a_verdict(tmp_path: Path) -> None:
    report = run_guarantees(Request([], tmp_path, quiet(), repetitions=2))
    data = json.loads(json.dumps(report.data, allow_nan=False))
    assert len(data["sets"]) == 25
    assert len(data["classes"]) == 18
    assert len(data["edge"]) == 9
    assert len(data["groups"]) == 9
    assert len(data["intervals"]) == 18
    assert sum(line["share"] for line in data["intervals"].values()) == pytest.approx(3)
    for line in data["sets"].values():
        assert 0.5 < line["coverage"] <= 1
    assert "learned, fixed sequence" in data["control"]
    assert markdown(report).count("holds") > 50


@pytest.mark.filterwarnings("ignore::ferl.abstention.UnmetRiskWarning")
def test_verdicts_can_fail() -> None:
    assert not Estimate.of([0.8, 0.82, 0.81]).holds(0.9)
    assert Estimate.of([0.8, 0.92, 0.95]).holds(0.9)
    assert _binomial([1.0] * 30 + [0.0] * 70)[2] is False
    assert _binomial([1.0] * 10 + [0.0] * 90)[2] is True
    result = [{key: 0.2 if "coverage" in key else value for key, value in line.items()} for line in _figures(2)]
    assert "BROKEN" in markdown(make_report(result, {}))


def _figures(n: int) -> list[dict[str, float]]:
    from ferl_bench.tables.guarantees import (
        measure_control,
        measure_edge,
        measure_groups,
        measure_intervals,
        measure_sets,
    )

    population = make_population(200, 0)
    lines = []
    for seed in range(n):
        random = np.random.default_rng(seed)
        sets = measure_sets(population, random, seed)
        lines.append({**sets, **measure_control(population, random, seed)[0], **measure_edge(random)})
        lines[-1] |= measure_groups(population, random, seed) | measure_intervals(population, random, seed)
    return lines


def test_the_calibration_table_keeps_accuracy(folder: Path, tmp_path: Path) -> None:
    report = run_calibration(Request(load_folder(folder), tmp_path / "out", quiet()))
    data = json.loads(json.dumps(report.data, allow_nan=False))
    assert "infinity" in data["failures"]["gaps"]
    lines = [line for line in data["means"] if line["variant"] == "deep"]
    assert [line["probabilities"] for line in lines] == list(TREATMENTS)
    assert len({line["accuracy"] for line in lines}) == 1
    wide = [line for line in data["means"] if line["variant"] == "wide"]
    assert [line["probabilities"] for line in wide] == list(TREATMENTS_OF_WIDE)
    assert wide[0]["accuracy"] == wide[1]["accuracy"]
    assert wide[0]["set_size"] > wide[1]["set_size"]  # no ignorance is left: only equals share a set
    assert all(0 <= line["ece"] <= 1 for line in lines)
    assert "Failed on gaps" in markdown(report)


def test_the_defaults_have_a_line_for_each_alternative(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {"SCORES": (*SCORES[:2], SCORES[-1]), "ABSTENTION": (ABSTENTION[0], *ABSTENTION[-2:])}
    for name, alternatives in some.items():
        monkeypatch.setattr(f"ferl_bench.tables.defaults_trust.{name}", alternatives)
    report = run_defaults_trust(Request(load_folder(folder, ["blobs"]), tmp_path / "out", quiet()))
    data = json.loads(json.dumps(report.data, allow_nan=False))
    assert list(data["sets"]) == [*(name for name, _ in some["SCORES"]), "native"]
    assert list(data["abstention"]) == [name for name, _ in some["ABSTENTION"]]
    assert all(0.6 < line["set_coverage"] <= 1 for line in data["sets"].values())


def test_the_commands_write_their_files(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["guarantees", "--repetitions", "2", "--out", str(out)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["calibration", "--data", str(folder), "--datasets", "blobs", "--out", str(out)])
    assert done.exit_code == 0, done.output
    names = ["calibration.json", "calibration.md", "guarantees.json", "guarantees.md", "results.jsonl"]
    assert sorted(path.name for path in out.iterdir()) == names
    failed = CliRunner().invoke(app, ["calibration", "--data", str(folder), "--datasets", "gaps", "--out", str(out)])
    assert failed.exit_code == 2
    assert "every data set failed; the first, gaps" in failed.stderr


def test_the_edge_cases_are_what_they_say() -> None:
    assert edge_risk("Flat at the risk", 0.3) > 0.1
    assert edge_risk("Worse, then better", 0.7) < 0.1 < edge_risk("Worse, then better", 0.4)
    assert edge_risk("Worse, then better", 0.31) > edge_risk("Worse, then better", 0.0)


def test_a_fit_is_remembered_for_equal_rows_and_parameters_only() -> None:
    population, template = make_population(80, 0), remembering(FERLTreeClassifier("medium", random_state=0))
    X, y = population.X, population.y
    tree = clone(template).fit(X, y).tree_
    assert clone(template).fit(X, y).tree_ is tree
    assert clone(template).set_params(random_state=1).fit(X, y).tree_ is not tree
    assert clone(template).fit(X[1:], y[1:]).tree_ is not tree
    assert clone(template).fit(X, y, np.ones(80)).tree_ is not tree
    assert remembering(FERLClassifier(random_state=0)).fit(X, y).n_rules_ > 0
