"""Packed results of rivals: what is packed, what is taken from the file, and a page that fits ours alone."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ferl_bench.cache import Result, ResultFile
from ferl_bench.command import app
from ferl_bench.errors import BenchError
from ferl_bench.packed import main, pack, unpack


def entry(key: str, method: str, **others: Any) -> dict[str, Any]:
    return {
        "fingerprint": key,
        "data_set": "wine",
        "fold": 0,
        "method": method,
        "measures": {"accuracy": 0.9},
        **others,
    }


def write(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return path


def test_rivals_are_packed_and_neither_ours_nor_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    over = entry("d", "CatBoost", error="over 10 minutes", limit_minutes=10.0)
    first = write(
        tmp_path / "a.jsonl", entry("a", "CART"), entry("b", "FERL-wide"), entry("c", "FERL with cases"), over
    )
    second = write(tmp_path / "b.jsonl", entry("a", "CART", seconds=2.0), entry("e", "EBM", error="ValueError"))
    with second.open("a") as file:
        file.write('{"fingerprint": "cut sho')
    target = tmp_path / "rivals.jsonl.xz"
    main([str(first), str(second), "--to", str(target)])
    assert "2 results" in capsys.readouterr().out
    kept = [json.loads(line) for line in lzma.decompress(target.read_bytes()).decode().splitlines()]
    assert [(one["fingerprint"], one.get("seconds")) for one in kept] == [("a", 2.0), ("d", None)]
    assert pack([target, first], target) == 2  # a packed file can be added to


def test_what_is_known_stays_and_a_line_cut_short_is_ended(tmp_path: Path) -> None:
    target = tmp_path / "rivals.jsonl.xz"
    pack([write(tmp_path / "a.jsonl", entry("a", "CART"), entry("b", "CART"))], target)
    results = tmp_path / "out" / "results.jsonl"
    assert unpack(target, results) == 2
    results.write_text(json.dumps(entry("a", "CART", seconds=7.0)) + '\n{"fingerprint": "cut')
    assert unpack(target, results) == 1
    with ResultFile(results) as file:
        assert file.get("a") == Result("wine", 0, "CART", {"accuracy": 0.9}, seconds=7.0)
        assert file.get("b") is not None
        assert file.n_unreadable == 1


def test_a_file_that_is_not_packed_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.xz").write_bytes(b"no")
    with pytest.raises(BenchError, match=r"other\.xz cannot be read"):
        unpack(tmp_path / "other.xz", tmp_path / "results.jsonl")


def test_a_page_is_made_again_with_our_fits_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for name in ("corral", "mux6"):
        y = rng.integers(0, 2, 80)
        pd.DataFrame({"size": rng.normal(size=80) + 3 * y, "target": y}).to_csv(
            tmp_path / "data" / f"{name}.csv.gz", index=False
        )
    methods = ["--methods", "FERL-wide,Logistic regression", "--datasets", "corral,mux6", "--fold-minutes", "0"]
    command = ["frontier", "--suite", "pmlb", "--data", str(tmp_path / "data"), "--jobs", "1", *methods]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "first")]).exit_code == 0
    target = tmp_path / "rivals.jsonl.xz"
    assert pack([tmp_path / "first" / "results.jsonl"], target) == 10
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "second"), "--known", str(target)])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "10 results that" in said
    assert "20 jobs: 10 known" in said
    pages = [(tmp_path / out / "frontier_pmlb.md").read_text() for out in ("first", "second")]
    answers = [page.partition("## Answers")[2].partition("## ")[0] for page in pages]
    assert answers[0] == answers[1]
    fresh = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "second"), "--known", str(target), "--fresh"])
    assert fresh.exit_code == 2
    assert "--known takes what is known" in fresh.stderr
    race = CliRunner().invoke(app, ["speed", "--data", str(tmp_path), "--known", str(target)])
    assert "--known do not apply to speed" in race.stderr
