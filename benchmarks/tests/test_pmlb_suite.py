"""The suite of PMLB: files of a folder or of a server, the rows, and the page."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl_bench.cache import Result
from ferl_bench.command import app
from ferl_bench.errors import BenchError
from ferl_bench.protocol import make_folds
from ferl_bench.rows import Row, make_row
from ferl_bench.suites import pmlb
from ferl_bench.suites.page import on_common, pair_sections
from ferl_bench.suites.pmlb_methods import METHODS
from ferl_bench.suites.protocol import evaluate_frame
from ferl_bench.table import Request
from ferl_bench.tables import frontier_pmlb

NEEDED = {"CatBoost": "catboost", "XGBoost": "xgboost", "LightGBM": "lightgbm", "EBM (defaults)": "interpret.glassbox"}
BY_NAME = {method.name: method for method in METHODS}


def frame(n_rows: int = 80, seed: int = 0) -> pd.DataFrame:
    """Two numbers, one with holes, and a label that the first decides."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    table = pd.DataFrame({"size": rng.normal(size=n_rows) + 3 * y, "noise": rng.normal(size=n_rows), "target": y})
    table.loc[::9, "noise"] = np.nan
    return table


def write(folder: Path, name: str, separator: str = "\t", **options: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    ending = "tsv" if separator == "\t" else "csv"
    frame(**options).to_csv(folder / f"{name}.{ending}.gz", sep=separator, index=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three tables, one in each form."""
    write(tmp_path / "data", "mux6", ",", seed=1)
    write(tmp_path / "data", "corral", seed=2)
    write(tmp_path / "data" / "penguins", "penguins", seed=3)
    return tmp_path / "data"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Serve PMLB's folders with one table, and one file that is none; yields the requested paths."""
    write(tmp_path / "served" / "parity5+5", "parity5+5")
    (tmp_path / "served" / "yeast").mkdir()
    (tmp_path / "served" / "yeast" / "yeast.tsv.gz").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            asked.append(self.path)

    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "served")))
    thread = Thread(target=running.serve_forever)
    thread.start()
    monkeypatch.setattr(pmlb, "URL", f"http://127.0.0.1:{running.server_address[1]}")
    yield asked
    running.shutdown()
    thread.join()
    running.server_close()


def test_the_suite_has_48_tables() -> None:
    assert len(set(pmlb.NAMES)) == 48


def test_files_of_all_three_forms_are_read(folder: Path) -> None:
    tables = pmlb.load_pmlb(folder, ["penguins", "mux6", "corral"])
    assert [data.name for data in tables] == ["corral", "mux6", "penguins"]
    assert all(data.numeric.shape == (80, 2) and data.class_names == ("0", "1") for data in tables)
    assert np.isnan(tables[0].numeric[::9, 1]).all()


def test_a_table_that_the_folder_lacks_is_downloaded_once(tmp_path: Path, server: list[str]) -> None:
    string_i_o = StringIO()
    here = tmp_path / "new" / "folder"
    first = pmlb.load_pmlb(here, ["parity5+5"], Console(file=string_i_o, width=200))[0]
    assert server == ["/parity5%2B5/parity5%2B5.tsv.gz"]
    assert "Downloading 1 tables" in string_i_o.getvalue()
    assert [path.name for path in here.iterdir()] == ["parity5+5.tsv.gz"]
    assert pmlb.load_pmlb(here, ["parity5+5"])[0].digest == first.digest
    assert len(server) == 1


@pytest.mark.usefixtures("server")
def test_what_is_no_table_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"dna is not in .* gives no table \(HTTP Error 404"):
        pmlb.load_pmlb(tmp_path / "d", ["dna"])
    with pytest.raises(BenchError, match=r"yeast is not in .* gives no table"):  # a pointer in place of the file
        pmlb.load_pmlb(tmp_path / "d", ["yeast"])
    assert not (tmp_path / "d").exists()
    with pytest.raises(BenchError, match="unknown table nothing; available: GAMETES"):
        pmlb.load_pmlb(tmp_path, ["nothing"])
    with pytest.raises(BenchError, match="is a file; --data takes a folder"):
        pmlb.load_pmlb(tmp_path / "served" / "yeast" / "yeast.tsv.gz")


def test_a_file_without_labels_or_cut_short_is_named(tmp_path: Path) -> None:
    (tmp_path / "dna.tsv.gz").write_bytes(gzip.compress(b"a\tb\n1\t2\n"))
    with pytest.raises(BenchError, match="has no column 'target'; its columns are a, b"):
        pmlb.load_pmlb(tmp_path, ["dna"])
    write(tmp_path, "dis")
    (tmp_path / "dis.tsv.gz").write_bytes((tmp_path / "dis.tsv.gz").read_bytes()[:60])
    with pytest.raises(BenchError, match="remove it to download it again"):
        pmlb.load_pmlb(tmp_path, ["dis"])


@pytest.mark.filterwarnings("ignore::UserWarning")  # EBM advises on small tables
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_row_measures_a_table_with_holes(folder: Path, name: str) -> None:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason="pip install './benchmarks[rivals]'")
    measured = evaluate_frame(pmlb.load_pmlb(folder, ["mux6"])[0], 0, BY_NAME[name])
    assert measured["accuracy"] > 0.8
    assert np.isfinite(list(measured.values())).all()


def test_the_page_has_ranks_tests_times_and_a_picture(folder: Path, tmp_path: Path) -> None:
    options = ["--data", folder, "--datasets", "corral,mux6,penguins", "--out", tmp_path / "out", "--fold-minutes", "0"]
    methods = "FERL-wide,FERL-wide with cases,Random forest,Logistic regression"
    done = CliRunner().invoke(
        app, ["frontier", "--suite", "pmlb", *map(str, options), "--jobs", "1", "--methods", methods]
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "frontier_pmlb.md").read_text()
    pairs = ("FERL-wide in pairs", "FERL-wide with cases in pairs")
    for title in ("Answers", "Mean ranks", *pairs, "Fit time", "The tables", "AURC x100 by data set"):
        assert f"\n## {title}\n" in page
    assert "Mean ranks on the" not in page  # no method lacks a table
    assert "| Method | Sets | Sum, s | Ratio to FERL-wide | Ratio to FERL-wide with cases |" in page
    written = json.loads((tmp_path / "out" / "frontier_pmlb.json").read_text())["headlines"]
    named = {headline["what"].partition(":")[0] for headline in written}
    assert named == {"FERL-wide", "FERL-wide with cases"}
    assert "Wilcoxon's signed-rank test" in page
    assert "Critical difference: " in page
    assert "Methods of the suite that this run left out: CatBoost, XGBoost, " in page
    assert "Tables of the suite that this run left out: GAMETES" in page
    assert "| Random forest | 3 |" in page
    assert (tmp_path / "out" / "frontier_pmlb.png").stat().st_size > 5_000


def test_a_method_that_lacks_tables_is_not_ranked(folder: Path, tmp_path: Path) -> None:
    def fit_on_others(frame: pd.DataFrame, y: Any, seed: int) -> Any:
        if frame["x0"].to_numpy()[0] == first:
            raise ValueError("not this one")
        return BY_NAME["Logistic regression"].fit(frame, y, seed)

    tables = pmlb.load_pmlb(folder, ["corral", "mux6", "penguins"])
    first = tables[0].numeric[make_folds(tables[0].y)[0].fitting[0], 0]
    partly = replace(BY_NAME["Logistic regression"], name="Partly", fit=fit_on_others)
    names = ["FERL-wide", "Logistic regression", "Random forest"]
    request = Request([], tmp_path, Console(file=StringIO()), folder=folder, names=["corral", "mux6", "penguins"])
    report: Any = frontier_pmlb.run_pmlb(request, [*(BY_NAME[name] for name in names), partly])
    sections = {section.title: section for section in report.sections}
    assert {row[0] for row in sections["Mean ranks"].rows} == set(names)
    shared = sections["Mean ranks on the 2 tables that these methods have"]
    assert {row[0] for row in shared.rows} == {*names, "Partly"}
    assert sections["Answers"].rows[3][0] == "Partly (2 of 3 sets)"
    assert any("Partly: failed on 1 of 3 data sets" in note for note in sections["Answers"].notes)


def make_rows() -> list[Row]:
    """Ours twice and two rivals on twelve tables, the second rival on eleven of them."""
    rng = np.random.default_rng(0)
    keys = ("accuracy", "auc", "log_loss", "aurc", "fit_seconds")
    names = ("FERL-wide", "FERL-wide with cases", "CatBoost", "XGBoost")
    results = [
        Result(f"t{table}", fold, name, dict(zip(keys, rng.uniform(0.5, 1, len(keys)), strict=True)))
        for name in names
        for table in range(11 if name == "XGBoost" else 12)
        for fold in range(5)
    ]
    return [make_row(BY_NAME[name], results) for name in names]


def test_holm_corrects_over_rivals_and_each_of_ours_is_compared_with_all() -> None:
    rows = make_rows()
    for ours, other in (frontier_pmlb.OURS, frontier_pmlb.OURS[::-1]):
        section = pair_sections(rows, ours, frontier_pmlb.COMPARED)[0]
        assert [row[0] for row in section.rows] == [other, "CatBoost"] * 4
        assert all((row[-1] == "") == (row[0] == other) for row in section.rows)
        assert all(row[-1] == row[-2] for row in section.rows if row[0] == "CatBoost")  # one rival: no correction


def test_ranks_on_common_tables_leave_out_who_has_less_than_half() -> None:
    rows = make_rows()
    assert [len(row.data_sets) for row in on_common(rows)] == [11] * 4
    few = replace(rows[3], data_sets={name: rows[3].data_sets[name] for name in ("t1", "t2")})
    assert [len(row.data_sets) for row in on_common([*rows[:3], few])] == [12] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frontier", "--suite", "pmlb"), "which folder? `--data DIR`"),
        (("frontier", "--suite", "pmlb", "--data", "x", "--methods", "Oracle"), "unknown method Oracle in --methods"),
        (("frontier", "--suite", "pmlb", "--openml", "x"), "do not apply to frontier-pmlb"),
        (("ranks", "--suite", "pmlb"), "ranks has no suite 'pmlb'"),
        (("frontier", "--data", "x", "--methods", "CART"), "--methods do not apply to frontier"),
        (("all", "--suite", "pmlb", "--data", "x"), "all has no suite 'pmlb'"),
    ],
)
def test_a_mistake_is_one_line_and_code_two(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
