"""The table of the rows behind an answer, on cases whose figures are known beforehand."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl._learn.rows_behind import RuleSums
from ferl_bench import scenes
from ferl_bench.cache import Result
from ferl_bench.command import app
from ferl_bench.simulation import SOFTMAX_KINDS, SoftmaxPopulation
from ferl_bench.table import Request
from ferl_bench.tables import rows_behind
from ferl_bench.tables.rows_behind import SoftmaxTable


def table_of(
    truth: np.ndarray, answer: np.ndarray, ignorance: np.ndarray, sets: np.ndarray | None = None
) -> SoftmaxTable:
    chosen = answer >= answer.max(axis=2, keepdims=True) if sets is None else sets
    return SoftmaxTable(truth.shape[1], "lines", 200, truth, answer, ignorance, ignorance, chosen)


@pytest.mark.parametrize("kind", SOFTMAX_KINDS)
def test_labels_are_drawn_with_the_true_probabilities(kind: str) -> None:
    population = SoftmaxPopulation.of(3, kind, 0)
    X, y = population.draw(40_000, np.random.default_rng(0))
    probability = population.probability(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    likely = probability[:, 0] > 0.5
    for rows in (likely, ~likely):
        share = np.bincount(y[rows], minlength=3) / rows.sum()
        np.testing.assert_allclose(share, probability[rows].mean(axis=0), atol=0.015)


def test_frequencies_of_n_rows_are_worth_n_rows() -> None:
    random = np.random.default_rng(0)
    truth = random.dirichlet(np.ones(4), size=30)
    for n in (20, 300):
        answer = np.array([[random.multinomial(n, p) / n for p in truth] for _ in range(400)])
        equivalent_rows = table_of(truth, answer, np.zeros((400, 30))).equivalent_rows
        np.testing.assert_allclose(equivalent_rows, n, rtol=0.4)
        assert np.median(equivalent_rows) == pytest.approx(n, rel=0.1)


def test_coverage_and_belief_by_hand() -> None:
    truth = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]])
    sets = np.array([[[True, False, False], [True, True, False]]])
    answer = np.array([[[0.9, 0.1, 0.0], [0.7, 0.2, 0.1]]])
    sure, unsure = (table_of(truth, answer, np.full((1, 2), item), sets) for item in (0.0, 0.3))
    assert sure.coverage == pytest.approx((0.7 + 0.8) / 2)
    assert sure.best_coverage == pytest.approx((0.7 + 0.8) / 2)
    assert sure.is_belief_above == [True]  # .8 believed, .6 right
    assert unsure.is_belief_above == [False]  # .56 believed


def test_rank_correlations_have_the_signs_that_are_told() -> None:
    random = np.random.default_rng(0)
    truth = np.full((100, 2), 0.5)
    error = np.linspace(0.01, 0.4, 100)
    answer = np.stack([np.array([0.5 + error, 0.5 - error]).T] * 2)
    ignorance = np.stack([error, error])
    result = rows_behind.rank_correlations([table_of(truth, answer, ignorance)])
    assert result["ignorance"] == result["novelty"] == pytest.approx(1)  # less ignorance where errors are small
    assert result["with doubt"] == result["p_max"] == pytest.approx(-1)  # whoever errs most is the surest here
    shuffled = rows_behind.rank_correlations([table_of(truth, answer, random.permutation(ignorance.T).T)])
    assert abs(shuffled["ignorance"]) < 0.3


def test_goals_can_be_missed() -> None:
    truth, answer = np.array([[0.6, 0.4]]), np.array([[[0.9, 0.1]]])
    tables = [
        SoftmaxTable(c, "lines", n, truth, answer, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 2), dtype=bool))
        for c in rows_behind.LEAST_COVERAGE
        for n in rows_behind.SIZES
    ]
    assert all(headline.is_behind for headline in rows_behind.coverage_section(tables).headlines)
    folds = [Result("one", fold, "FERL-wide", {"belief": 0.9, "accuracy": 0.8 + 0.2 * fold}) for fold in range(2)]
    result = rows_behind.belief_section(tables, [*folds, Result("two", 0, "FERL-wide", {}, error="failed")])
    assert [headline.ours for headline in result.headlines] == [100, 50]


def test_scenes_are_what_they_are_named_after() -> None:
    random = np.random.default_rng(0)
    sparse = scenes.sparse_region(random)
    assert (sparse.X[:, :2].sum(axis=1) > 4).mean() == pytest.approx(scenes.SPARSE_SHARE, abs=0.01)
    assert (sparse.usual[:, :2].sum(axis=1) > 4).mean() < 0.02 < 0.98 < (sparse.unusual[:, :2].sum(axis=1) > 4).mean()
    rare = scenes.rare_category(random)
    assert (rare.X["kind"] == "f").mean() == scenes.RARE_SHARE
    assert (rare.unusual["kind"] == "f").all()
    assert not (rare.usual["kind"] == "f").any()
    for make in (scenes.hole, scenes.hole_in_the_middle):
        table = make(random)
        centre = table.unusual[:, :2].mean(axis=0)
        assert np.hypot(*(table.X[:, :2] - centre).T).min() > 0.3
        assert (np.hypot(*(table.unusual[:, :2] - centre).T) < 0.5).all()
        assert (np.abs(table.unusual) <= 1).all()
    moved = scenes.one_feature_outside(random)
    outside = (moved.unusual < moved.X.min(axis=0)) | (moved.unusual > moved.X.max(axis=0))
    assert (outside.sum(axis=1) >= 1).all()
    assert ((moved.unusual != moved.usual).sum(axis=1) == 1).all()
    for left in scenes.left_out("iris", 0):
        assert (len(np.unique(left.y)), len(left.X), len(left.usual), len(left.unusual)) == (2, 70, 30, 15)


def test_a_region_without_rows_is_told_and_figures_are_of_the_right_rows() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    scene = scenes.Scene(
        X, (X[:, 0] > 0).astype(np.int64), random.normal(size=(50, 2)), random.normal(size=(20, 2)) + 50
    )
    result = rows_behind.scene_figures(scene, 0)
    assert result["ignorance"] > 99
    assert result["novelty"] > 99
    assert result["rows, unusual"] < 1 < result["rows, usual"]


def test_small_blobs_and_thin_cells_have_fewer_rows_behind() -> None:
    for result in (rows_behind.blob_figures(0), rows_behind.cell_figures(0)):
        assert result["thin, n"] < result["thick, n"]
        assert result["thin, rows"] < result["thick, rows"]
        assert result["thin, ignorance"] > result["thick, ignorance"]
    assert result["thin, n"] == rows_behind.N_THIN


def test_products_are_timed_and_the_learner_is_left_as_it_was() -> None:
    add = RuleSums.add
    X = np.random.default_rng(0).normal(size=(3000, 4))
    assert 0 < rows_behind.share_of_products(X, (X[:, 0] > 0).astype(np.int64)) < 0.9
    assert RuleSums.add is add


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"SIZES": (60, 120), "N_TESTED": 40, "N_SCENES": 1, "N_SPLITS": 1, "N_SMALL": 1, "N_CELL_TABLE": 500}
    small |= {"N_FITTED": 300, "N_PREDICTED": 300, "N_FEATURES": 6}
    for name, value in small.items():
        monkeypatch.setattr(rows_behind, name, value)
    monkeypatch.setattr(rows_behind, "TOYS", {"iris": scenes.load_iris})
    monkeypatch.setattr(rows_behind, "LEAST_COVERAGE", {2: 0.9, 3: 0.8})


@pytest.mark.usefixtures("short")
def test_the_table_has_every_section(tmp_path: Path) -> None:
    request = Request([], tmp_path, Console(file=StringIO()), repetitions=2)
    report = rows_behind.run_rows_behind(request)
    data = json.loads(json.dumps(report.data, allow_nan=False))
    assert list(data) == [
        "coverage",
        "correlation",
        "counts",
        "belief_above_accuracy",
        "few",
        "falling",
        "blobs",
        "cells",
        "cost",
    ]
    assert [row[0] for row in report.sections[0].rows] == ["2", "3"]
    assert data["few"]["left-out class"] == data["few"]["left-out class, iris"]
    assert len(report.headlines) == 2 + 2 + 1 + 4 + 1 + 5


@pytest.mark.usefixtures("short")
def test_data_sets_are_read_where_they_are_given(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(0)
    lines = [f"{random.normal(2 * k):.3f},{k}" for k in [0, 1] * 30]
    (folder / "one.csv").write_text("\n".join(["x,class", *lines]) + "\n")
    options = ["rows-behind", "--repetitions", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*options, "--data", str(folder)])
    assert done.exit_code == 0, done.output
    assert "folds of the data sets | 5 |" in (tmp_path / "out" / "rows_behind.md").read_text()
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert "folds of the data sets" not in (tmp_path / "out" / "rows_behind.md").read_text()
