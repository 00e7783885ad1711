"""The certificates table on data sets small enough to know by heart."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl_bench.attack import Attacker
from ferl_bench.command import app
from ferl_bench.data import load_folder
from ferl_bench.methods.ferl import MODELS, classifier_of
from ferl_bench.render import markdown
from ferl_bench.table import Request
from ferl_bench.tables.certificates import run_certificates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``blobs``: three classes of two numbers. ``gaps``: an infinite value."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    blobs = [f"{rng.normal(k, 0.5):.3f},{rng.normal(-k, 0.5):.3f},{k}" for k in [0, 1, 2] * 30]
    (data / "blobs.csv").write_text("\n".join(["x0,x1,class", *blobs]) + "\n")
    gaps = [*(f"{rng.normal(k):.3f},{k}" for k in [0, 1] * 20), "inf,0"]
    (data / "gaps.csv").write_text("\n".join(["x0,class", *gaps]) + "\n")
    return data


def test_the_table_reports_radii_attacks_and_failures(folder: Path, tmp_path: Path) -> None:
    report = run_certificates(Request(load_folder(folder), tmp_path / "out", Console(file=StringIO())))
    data = json.loads(json.dumps(report.data, allow_nan=False))
    (blobs,) = data["data_sets"]
    assert blobs["ratio"] >= 2
    assert blobs["local"] > blobs["lipschitz"] >= blobs["open"]
    assert data["n_successful"] == 0
    assert data["n_tried"] == blobs["n_tried"] > 3_000
    for name in ("vote", "dempster", "compact"):
        assert 0.5 < blobs[f"tightness_{name}"] <= 1
    assert 0.99 < blobs["tightness_wide"] <= 1
    assert data["n_successful_wide"] == 0
    assert data["n_tried_wide"] > 10_000
    assert "infinity" in data["failures"]["gaps"]
    text = markdown(report)
    assert "| blobs |" in text
    assert "| Median |" in text
    assert "0 of " in text
    assert "Failed on gaps" in text


def test_the_command_writes_all_files(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["certificates", "--data", str(folder), "--datasets", "blobs", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == [
        "certificates.json",
        "certificates.md",
        "certificates.png",
        "results.jsonl",
    ]
    missing = CliRunner().invoke(app, ["certificates", "--data", str(tmp_path / "none"), "--out", str(out)])
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr


@pytest.mark.parametrize("name", ["deep", "wide"])
def test_attacks_find_a_boundary_that_is_there(name: str) -> None:
    """An attacker that never succeeds would prove nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = classifier_of(MODELS[name], random_state=0).fit(X, X[:, 0] > 0)
    attacker, x = Attacker(model, np.ones(3)), np.array([0.5, 0.0, 0.0])
    nearest = attacker.smallest(x, 0.05, rng)
    assert 0.3 < nearest < 0.7
    result, n_tried = attacker.within(x, nearest, rng)
    assert len(result)
    assert n_tried > 100
    assert (model.predict(result) != model.predict([x])).all()
    assert (np.abs(result - x) <= nearest * (1 + 1e-12)).all()
    assert np.isnan(Attacker(model, np.array([0.0, 1e-3, 0.0])).smallest(x, 1e-6, rng))
