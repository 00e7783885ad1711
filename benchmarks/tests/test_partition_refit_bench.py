"""The study of moved words: what it compares, what it sums up, and its files."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl_bench.cache import Result
from ferl_bench.command import app
from ferl_bench.data import load_folder
from ferl_bench.protocol import evaluate
from ferl_bench.table import Request
from ferl_bench.tables import partition_refit as study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two data sets: three classes of two numbers, and a number with a category."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    blobs = [f"{rng.normal(k, 1.0):.3f},{rng.normal(-k, 1.0):.3f},{k}" for k in [0, 1, 2] * 20]
    (data / "blobs.csv").write_text("\n".join(["x0,x1,class", *blobs]) + "\n")
    colours = rng.choice(["red", "blue"], 50)
    mixed = [f"{rng.normal():.3f},{colour},{int(colour == 'red' or rng.random() < 0.2)}" for colour in colours]
    (data / "mixed.csv").write_text("\n".join(["x0,x1,class", *mixed]) + "\n")
    return data


def run_study(folder: Path, out: Path) -> tuple[Any, str]:
    console = Console(file=StringIO(), width=200)
    report = study.run_partition_refit(Request(load_folder(folder), out, console))
    assert isinstance(console.file, StringIO)
    return report, console.file.getvalue()


def test_the_study_compares_each_fold_and_resumes(folder: Path, tmp_path: Path) -> None:
    report, printed = run_study(folder, tmp_path / "out")
    assert "20 to compute" in printed
    data = json.loads(json.dumps(report.data))
    assert data["failures"] == []
    assert [len(folds) for folds in data["folds"].values()] == [5, 5]
    blobs = load_folder(folder, ["blobs"])[0]
    compact = study.get_method(study.COMPACT_TREE)
    before, after = (evaluate(blobs, 3, method) for method in (compact, study.REFITTED))
    fold = data["folds"]["blobs"][3]
    assert fold["accuracy_change"] == pytest.approx(after["accuracy"] - before["accuracy"])
    assert fold["ece_change"] == pytest.approx(after["ece"] - before["ece"])
    assert fold["drift"] == after["drift"] > 0
    assert fold["cross_entropy_after"] < fold["cross_entropy_before"]
    second, printed = run_study(folder, tmp_path / "out")
    assert "20 known" in printed
    assert second.data == report.data


def test_the_summary_is_over_data_sets_beside_the_papers_figures(folder: Path, tmp_path: Path) -> None:
    report, _ = run_study(folder, tmp_path / "out")
    drifts = [np.mean([fold["drift"] for fold in folds]) for folds in report.data["folds"].values()]
    assert report.data["mean"]["drift"] == pytest.approx(np.mean(drifts))
    assert report.data["median"]["drift"] == pytest.approx(np.median(drifts))
    assert report.data["paper"]["mean"] == pytest.approx(
        {"accuracy_change": 0.0096, "ece_change": -0.002, "drift": 0.013}
    )
    rows = {row[0]: row[1:] for row in report.sections[0].rows}
    assert rows["Drift %"] == [f"{100 * np.mean(drifts):.2f} [1.30]", f"{100 * np.median(drifts):.2f} [0.20]"]
    assert rows["Acc change"][0].endswith(" [+0.96]")
    assert any("over 30 data sets, these over 2" in note for note in report.sections[0].notes)


def test_a_data_set_with_a_failed_fold_does_not_count() -> None:
    measures = dict.fromkeys(
        ["accuracy", "ece", "drift", "cross_entropy_before", "cross_entropy_after", "n_iterations", "converged"], 0.5
    )
    names = (study.COMPACT_TREE, study.REFITTED.name)
    good = [Result("good", fold, name, measures) for fold in range(5) for name in names]
    bad = [
        Result("bad", fold, name, measures, "no such luck" if fold == 2 else None)
        for fold in range(5)
        for name in names
    ]
    compared = study.compare([*good, *bad], names[0])
    assert list(compared) == ["good"]
    failures = [one for one in bad if one.error]
    notes = study.make_report(compared, failures, {}).sections[0].notes
    assert any("Failed on 1 data sets, first bad fold 2: no such luck" in note for note in notes)


def test_the_command_writes_all_files(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["partition-refit", "--data", str(folder), "--datasets", "blobs", "--jobs", "1", "--out", str(out)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == [
        "partition_refit.json",
        "partition_refit.md",
        "partition_refit.png",
        "results.jsonl",
    ]
    assert "| blobs 4 |" in (out / "partition_refit.md").read_text()
    missing = CliRunner().invoke(app, ["partition-refit", "--data", str(tmp_path / "none"), "--out", str(out)])
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr
