"""The tables of prediction sets, of selection and of shift, on data sets small enough to know by heart."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from bench_examples import quiet
from ferl.metrics import aurc
from ferl_bench import shift
from ferl_bench.command import app
from ferl_bench.curve import COVERAGES, RISKS, risk_at
from ferl_bench.data import load_folder
from ferl_bench.errors import BenchError
from ferl_bench.method import Method, get_method
from ferl_bench.protocol import evaluate
from ferl_bench.render import Report, markdown
from ferl_bench.table import Request
from ferl_bench.tables import credal, selective
from ferl_bench.tables.shift import run_shift

ABSENT = ("xgboost", "mapie")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``blobs``: three classes of two numbers. ``mixed``: a category. ``small``: too few rows for the shifts."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    blobs = [f"{rng.normal(2 * k):.3f},{rng.normal(-k):.3f},{k}" for k in [0, 1, 2] * 30]
    (data / "blobs.csv").write_text("\n".join(["x0,x1,class", *blobs]) + "\n")
    mixed = [f"{rng.normal(k):.3f},{rng.choice(['red', 'blue'])},{k}" for k in [0, 1] * 30]
    (data / "mixed.csv").write_text("\n".join(["x0,x1,class", *mixed]) + "\n")
    return data


@pytest.fixture
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here, the packages only the benchmark needs are not found."""
    for name in ABSENT:
        for module in [known for known in sys.modules if known.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)


def lines(report: Report) -> dict[str, list[str]]:
    """The table's rows by method."""
    return {row[0]: list(row[1:]) for section in report.sections[:2] for row in section.rows}


# ---------------------------------------------------------------------------------------------------------------------
# Prediction sets
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_extras")
def test_the_credal_table_has_native_and_conformal_rows_and_says_what_could_not_be_run(
    folder: Path, tmp_path: Path
) -> None:
    report = credal.run_credal(Request(load_folder(folder, ["blobs"]), tmp_path / "out", quiet()))
    assert [row[0] for row in report.sections[0].rows] == list(credal.NATIVE)
    # Rows that failed come last.
    assert [row[0] for row in report.sections[1].rows] == [
        "FERL-wide, 1 - p",
        "FERL-deep, 1 - Pl",
        "FERL-deep, 1 - p",
        "FERL-deep, APS",
        "MLP(64), APS",
        "MLP(64), 1 - p",
        "Random forest, 1 - p",
    ]
    cells = lines(report)
    assert cells["MLP(64), 1 - p"][0] == "failed"
    assert all("mapie is not installed" in note for note in report.sections[1].notes if "failed on" in note)
    assert sum("failed on" in note for note in report.sections[1].notes) == 2
    data = json.loads(json.dumps(report.data, allow_nan=False))
    by_method = {entry["method"]: entry for entry in data["methods"]}
    for name in ("FERL-deep, 1 - Pl", "FERL-deep, 1 - p", "FERL-deep, APS", "MLP(64), APS"):
        assert by_method[name]["measures"]["set_coverage"] > 0.8
    assert by_method["NCC"]["paper"]["accuracy"] == pytest.approx(0.7797)
    assert data["targets"]["FERL-wide"] == {"set_coverage": 0.935, "u65": 0.873, "u80": 0.900}
    assert any(note.startswith("FERL-wide, coverage: ") for note in report.sections[0].notes)
    u65 = by_method["FERL-deep"]["measures"]["u65"]
    verdict = "reached" if u65 >= 0.825 else "missed"
    assert f"FERL-deep, u65: {u65:.4f} (wanted: at least 0.825; {verdict})." in report.sections[0].notes
    text = markdown(report)
    assert "| NCC |" in text
    assert "[0.91]" in text
    assert "Columns: 1 FERL-wide; 2 FERL-wide with cases; 3 FERL-wide, 50 rules" in text
    assert "| blobs |" in text


# ---------------------------------------------------------------------------------------------------------------------
# Selection
# ---------------------------------------------------------------------------------------------------------------------


def test_risks_are_points_of_the_risk_coverage_curve() -> None:
    rng = np.random.default_rng(0)
    y, confidence = rng.integers(2, size=40), rng.integers(5, size=40) / 5
    label = np.where(rng.random(40) < 0.3, 1 - y, y)
    every = np.arange(1, 41) / 40
    assert risk_at(y, label, confidence, every).mean() == pytest.approx(aurc(y, label, confidence))
    assert risk_at(y, label, confidence, [1.0])[0] == pytest.approx(np.mean(y != label))
    # A fraction of the first row has the first row's risk.
    assert risk_at(y, label, confidence, [0.001])[0] == pytest.approx(risk_at(y, label, confidence, [1 / 40])[0])


def test_every_method_is_measured_on_the_common_grid(folder: Path) -> None:
    measured = evaluate(load_folder(folder, ["blobs"])[0], 0, get_method("Logistic regression"))
    assert len(RISKS) == len(COVERAGES) == 20
    assert measured["risk_at_100"] == pytest.approx(1 - measured["accuracy"])
    assert "size" not in measured


@pytest.mark.usefixtures("without_extras")
def test_the_selective_table_and_its_curves(folder: Path, tmp_path: Path) -> None:
    report = selective.run_selective(Request(load_folder(folder), tmp_path / "out", quiet()))
    assert [row[0] for row in report.sections[0].rows] == list(selective.METHODS)
    assert report.sections[0].rows[-1][1] == "failed"
    assert any(
        note.startswith("XGBoost: failed on 2 of 2 data sets") and "pip install './benchmarks[rivals]'" in note
        for note in report.sections[0].notes
    )
    data = json.loads(json.dumps(report.data, allow_nan=False))
    forest = next(entry for entry in data["methods"] if entry["method"] == "Random forest")
    assert forest["measures"]["augrc"] < forest["measures"]["aurc"]
    assert len(data["coverages"]) == 20
    assert "| Logistic regression |" in markdown(report)
    assert report.draw is not None
    figure = Figure()
    report.draw(figure)
    (axes,) = figure.axes
    curves = {line.get_label(): line for line in axes.get_lines()}
    assert set(curves) == set(selective.METHODS) - {"XGBoost"}
    assert curves["CART"].get_ydata()[-1] == pytest.approx(100 * (1 - _accuracy(data, "CART")))


def _accuracy(data: Any, method: str) -> float:
    entry = next(entry for entry in data["methods"] if entry["method"] == method)
    return float(entry["measures"]["accuracy"])


# ---------------------------------------------------------------------------------------------------------------------
# Shift
# ---------------------------------------------------------------------------------------------------------------------


def test_the_data_sets_of_the_shifts_follow_the_stated_rule(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_sets = load_folder(folder)
    assert shift.numeric_sets(data_sets) == []
    monkeypatch.setattr(shift, "MIN_ROWS", 50)
    assert [data.name for data in shift.numeric_sets(data_sets)] == ["blobs"]
    assert [data.name for data in shift.noise_sets(data_sets)] == ["blobs"]
    monkeypatch.setattr(shift, "MIN_CLASSES", 4)
    assert shift.noise_sets(data_sets) == []


def test_rows_are_divided_at_the_middle_of_the_range_of_the_evenest_feature(folder: Path) -> None:
    blobs = load_folder(folder, ["blobs"])[0]
    halves = shift.halve(blobs)
    values = blobs.numeric[:, halves.column]
    middle = (values.min() + values.max()) / 2
    assert values[halves.lower].max() <= middle < values[halves.upper].min()
    assert len(halves.lower) + len(halves.upper) == blobs.n_rows
    shares = [np.mean(column > (column.min() + column.max()) / 2) for column in blobs.numeric.T]
    assert abs(shares[halves.column] - 0.5) == min(abs(share - 0.5) for share in shares)


def test_the_shift_table(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift, "MIN_ROWS", 50)
    report = run_shift(Request(load_folder(folder), tmp_path / "out", quiet()))
    data = json.loads(json.dumps(report.data, allow_nan=False))
    assert data["noise"]["data_sets"] == ["blobs"]
    levels = data["noise"]["mean"]
    assert list(levels) == ["0", "0.25", "0.5", "1", "1.5", "2"]
    assert levels["0"]["ds_coverage"] > 0.8
    assert levels["2"]["accuracy"] < levels["0"]["accuracy"]
    assert levels["2"]["ignorance"] > levels["0"]["ignorance"]
    assert levels["2"]["ds_size"] > levels["0"]["ds_size"]
    for level in levels.values():  # an empty set gets the most probable class
        assert level["global_coverage"] >= level["textbook_coverage"]
        assert level["global_size"] >= max(level["textbook_size"], 1)
    half = data["half_range"]["by_data_set"]["blobs"]
    assert half["n_lower"] + half["n_upper"] == 90
    text = markdown(report)
    assert "## Noise on 1 data sets" in text
    assert "[77.3]" in text
    assert "| Mean |" in text
    assert "## Noise of level 2, by data set" in text
    assert report.draw is not None
    figure = Figure()
    report.draw(figure)
    assert len(figure.axes) == 2


def test_a_data_set_that_cannot_be_measured_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift, "MIN_ROWS", 20)
    rng = np.random.default_rng(0)
    gaps = [*(f"{rng.normal(k):.3f},{rng.normal():.3f},{k}" for k in [0, 1, 2] * 20), "inf,1,0"]
    (tmp_path / "gaps.csv").write_text("\n".join(["x0,x1,class", *gaps]) + "\n")
    with pytest.raises(BenchError, match=r"gaps .*infinity"):
        run_shift(Request(load_folder(tmp_path), tmp_path / "out", quiet()))


# ---------------------------------------------------------------------------------------------------------------------
# The commands
# ---------------------------------------------------------------------------------------------------------------------


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("table", ["credal", "selective"])
def test_the_commands_write_their_files_and_resume(
    folder: Path, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = {"credal": credal, "selective": selective}[table]
    few: tuple[str, ...] = ("FERL-deep", "CART")
    monkeypatch.setattr(module, "NATIVE" if table == "credal" else "METHODS", few)
    conformal: list[Method] = []
    monkeypatch.setattr(credal, "conformal_methods", lambda: conformal)
    out = tmp_path / "out"
    arguments = (table, "--data", folder, "--datasets", "mixed", "--jobs", 1, "--fold-minutes", 0, "--out", out)
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    expected = [f"{table}.json", f"{table}.md", *([f"{table}.png"] if table == "selective" else []), "results.jsonl"]
    assert sorted(path.name for path in out.iterdir()) == sorted(expected)
    assert "10 known" in invoke(*arguments).output


def test_the_shift_command(folder: Path, tmp_path: Path) -> None:
    result = invoke("shift", "--data", folder, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "no data set is numeric with at least 300 rows" in result.stderr
    assert invoke("shift", "--data", tmp_path / "none", "--out", tmp_path / "out").exit_code == 2
