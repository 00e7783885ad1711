"""What the benchmark measures of wide rules: rows, their defaults, rare classes, and their races."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from ferl_bench import wide_race
from ferl_bench.data import as_tables, encode, load_folder
from ferl_bench.method import encode_for, get_method
from ferl_bench.protocol import evaluate, make_folds
from ferl_bench.rows import Row
from ferl_bench.table import Request
from ferl_bench.tables import defaults_wide, frontier, rare

WIDE = get_method("FERL-wide")


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    """``blobs``: 60, 60 and 3 rows of two numbers. ``pets``: a number and a category that decides, two classes."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], [60, 60, 3])
    blobs = [f"{rng.normal(ord(one) % 7, 1.5):.3f},{rng.normal():.3f},{one}" for one in labels]
    (data / "blobs.csv").write_text("\n".join(["x0,x1,class", *blobs]) + "\n")
    pets = [f"{rng.normal():.2f},{kind},{int(kind == 'cat')}" for kind in rng.choice(["cat", "dog", "hen"], 60)]
    (data / "pets.csv").write_text("\n".join(["x,kind,class", *pets]) + "\n")
    return Request(load_folder(data), tmp_path / "out", Console(file=StringIO(), width=200))


def as_json(report: Any) -> Any:
    return json.loads(json.dumps(report.data, allow_nan=False))


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


def test_wide_rules_are_given_categories_as_they_are_and_others_columns_of_numbers(request_of: Request) -> None:
    blobs, pets = request_of.data_sets
    rows, some = np.arange(pets.n_rows), np.arange(5)
    table, part = encode_for(WIDE, pets, rows, some)
    assert table.columns.tolist() == ["x0", "c0"]
    assert table["c0"].tolist() == pets.categorical[:, 0].tolist()
    assert table["x0"].mean() == pytest.approx(0, abs=1e-12)
    assert part.equals(table.iloc[some])
    assert encode_for(get_method("FERL-deep"), pets, rows)[0].shape == (60, 4)
    # Without categories both are the same numbers.
    rows = np.arange(blobs.n_rows)
    np.testing.assert_array_equal(as_tables(blobs, rows)[0], encode(blobs, rows)[0])


def test_rows_of_wide_rules_keep_their_promise_and_say_how_long_rules_are(request_of: Request) -> None:
    for data in request_of.data_sets:
        for method in (get_method("FERL-wide, 6 rules"), WIDE):
            result = evaluate(data, 0, method)
            assert result["size"] <= method.parameters.get("max_rules", 150)
            assert 1 <= result["conditions"] <= 3
            assert 1 <= result["features"] <= data.n_features
    assert result["accuracy"] == 1.0


def test_log_loss_is_scikit_learns(request_of: Request) -> None:
    data = request_of.data_sets[1]
    method, fold = get_method("Logistic regression"), make_folds(data.y)[0]
    X, X_test = encode(data, fold.fitting, fold.test)
    probability = method.fit(X, data.y[fold.fitting], 0).predict_proba(X_test)
    assert evaluate(data, 0, method)["log_loss"] == pytest.approx(log_loss(data.y[fold.test], probability))


def test_the_frontier_has_goals_and_a_line_of_wide_rules(request_of: Request) -> None:
    sizes = {"FERL-wide": 40.0, "FERL-wide, 10 rules": 10.0, "CART": 170.0}
    rows = [
        Row(get_method(name), {"one": {"accuracy": 0.8 + size / 1000, "size": size, "aurc": 0.1, "ece": 0.05}}, [])
        for name, size in sizes.items()
    ]
    rows.append(Row(get_method("EBM"), {"one": {"accuracy": 0.9, "aurc": 0.1, "ece": 0.05}}, []))
    report = frontier.make_report(rows, {})
    goals = {one.what: one.is_behind for one in report.headlines if one.whose == "the goal"}
    assert goals == {
        "FERL-wide: Acc %": True,
        "FERL-wide: AURC x100": True,
        "FERL-wide: ECE x100": False,
        "FERL-wide: Rules": False,
        "FERL-wide, 10 rules: Acc %": True,
    }
    figure = Figure()
    assert report.draw is not None
    report.draw(figure)
    (axes,) = figure.axes
    assert {"FERLClassifier()", "max_rules=10", "CART", "EBM"} <= {text.get_text() for text in axes.texts}
    assert [10.0, 40.0] in [list(line.get_xdata()) for line in axes.lines]
    assert axes.get_ylim()[0] < 81 < 90 < axes.get_ylim()[1]


# ---------------------------------------------------------------------------------------------------------------------
# Defaults
# ---------------------------------------------------------------------------------------------------------------------


def test_the_defaults_of_wide_rules_change_one_thing_a_line(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(len(change) == 1 for _, change in defaults_wide.CHANGES[1:])
    some = [line for line in defaults_wide.CHANGES if line[0] in ("wide", "max_rules=6", "max_conditions=1")]
    monkeypatch.setattr(defaults_wide, "CHANGES", some)
    data = as_json(defaults_wide.run_defaults_wide(request_of))
    assert list(data) == ["wide", "max_rules=6", "max_conditions=1"]
    assert data["max_rules=6"]["size"] <= 6
    assert all(line["log_loss"] > 0 for line in data.values())


# ---------------------------------------------------------------------------------------------------------------------
# Rare classes
# ---------------------------------------------------------------------------------------------------------------------


def test_the_smallest_class_with_rows_enough_becomes_as_rare_as_wanted(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rare, "MIN_ROWS", 5)
    blobs = request_of.data_sets[0]
    assert rare.rare_class(blobs, 0.1) == (0, 7)  # 63 others; class c has but 3 rows
    assert rare.rare_class(blobs, 0.05) is None
    thinned = rare.thin_out(blobs, 0, 7)
    assert np.bincount(thinned.y).tolist() == [7, 60, 3]
    assert np.mean(thinned.y == 0) == pytest.approx(0.1)
    np.testing.assert_array_equal(thinned.numeric[7:], blobs.numeric[60:])
    assert {tuple(row) for row in thinned.numeric[:7]} < {tuple(row) for row in blobs.numeric[:60]}
    np.testing.assert_array_equal(thinned.numeric, rare.thin_out(blobs, 0, 7).numeric)


def test_measures_of_a_rare_class_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 50, 10])
    probability = rng.dirichlet([2, 2, 1], 100)
    prior = np.array([0.4, 0.5, 0.1])
    result = rare.figures(y, probability, prior, 2)
    assert result["auc"] == pytest.approx(roc_auc_score(y == 2, probability[:, 2]))
    assert result["balanced"] == pytest.approx(balanced_accuracy_score(y, probability.argmax(axis=1)))
    by_prior = (probability / prior).argmax(axis=1)
    assert result["balanced_by_prior"] == pytest.approx(balanced_accuracy_score(y, by_prior))
    assert (result["predicted"], result["observed"]) == (pytest.approx(probability[:, 2].mean()), 0.1)


def test_a_probability_that_is_the_frequency_is_calibrated() -> None:
    y = np.repeat([0, 1], [90, 10])
    result = rare.figures(y, np.tile([0.9, 0.1], (100, 1)), np.array([0.9, 0.1]), 1)
    assert result["ece"] == pytest.approx(0)
    assert (result["auc"], result["balanced"]) == (0.5, 0.5)


def test_the_table_of_rare_classes(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MIN_ROWS": 6, "SHARES": (0.2, 0.1), "METHODS": (rare.OURS, rare.PEER)}.items():
        monkeypatch.setattr(rare, name, value)
    report = rare.run_rare(request_of)
    data = as_json(report)
    assert list(data["means"]) == ["0.2", "0.1"]
    assert [section.title for section in report.sections] == [
        "A class of 20% of the rows, 2 data sets",
        "A class of 10% of the rows, 1 data sets",
        "AUC % by data set, 20%",
        "AUC % by data set, 10%",
    ]
    pets = [line for line in data["data_sets"] if line["data_set"] == "pets"]
    assert {line["auc"] for line in pets} == {1.0}
    assert [(one.whose, one.theirs) for one in report.headlines][-1] == ("the goal", rare.GOAL_AUC)


# ---------------------------------------------------------------------------------------------------------------------
# Races
# ---------------------------------------------------------------------------------------------------------------------


def test_a_rival_that_is_not_installed_is_named_and_the_others_are_raced(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "interpret.glassbox", None)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    finding = wide_race.boosting_section(request_of.data_sets, 1, 0, lambda text: None)
    raced = ("FERL-wide", wide_race.SMALLER, "FERL-compact", "CART")
    assert finding.section.header == ["Data set", *(f"{name} ms" for name in raced), "FERL-compact / CART"]
    assert [note.partition(":")[0] for note in finding.section.notes[:2]] == ["XGBoost", "EBM"]
    assert set(finding.data["seconds"]) == {"blobs", "pets"}
    assert [headline.what for headline in finding.headlines] == ["FERL-compact / CART, fit"]


def test_smaller_tables_of_the_growth_race_are_parts_of_the_largest() -> None:
    finding = wide_race.wide_growth_section((60, 120), (6, 9), 60, 0, 0, lambda text: None)
    assert [row[0] for row in finding.section.rows] == [
        "60 rows",
        "120 rows",
        "exponent of rows",
        "6 features",
        "9 features",
        "exponent of features",
    ]
    X, y = wide_race._generate(200, 8, 0)
    informative = [abs(np.corrcoef(column, y)[0, 1]) for column in X.T]
    assert max(informative[: wide_race.N_INFORMATIVE]) > max(informative[wide_race.N_INFORMATIVE :])
