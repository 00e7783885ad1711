"""ferl fit --test --held-out: the rows that were held out, as they came, for a report on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from cli_examples import ferl
from ferl import FERLTreeClassifier, overview

HEADER = "name,x,city,y"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        f"p{i},{x:.3f},{rng.choice(['Oslo', ''])},{'yes' if x > 0 else 'no'}"
        for i, x in enumerate(rng.normal(size=200))
    ]
    lines[3] = "p3,0.5,Oslo,"  # without a label
    path = tmp_path / "table.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path


def fit(table: Path, *further: str | Path, code: int = 0) -> str:
    out = table.parent / "model.json"
    return " ".join(
        ferl("fit", table, "--target", "y", "--drop", "name", "-o", out, *further, code=code).output.split()
    )


def test_rows_held_out_are_written_as_they_came_and_can_be_reported_on(table: Path) -> None:
    held_out = table.parent / "held_out.csv"
    assert "held_out.csv" in fit(table, "--test", "0.25", "--held-out", held_out)
    lines = held_out.read_text(encoding="utf-8").splitlines()
    all_lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == HEADER
    assert len(lines) == 1 + 50
    assert [line for line in all_lines if line in set(lines)] == lines  # in their order, to the letter
    report = ferl("report", table.parent / "model.json", held_out, "--target", "y", "-o", table.parent / "r.html")
    assert "50 rows predicted" in report.output
    fit(table, "--test", "0.25", "--held-out", table.parent / "rows.parquet")
    assert pq.read_table(table.parent / "rows.parquet").num_rows == 50
    assert (
        csv.read_csv(held_out)["name"].to_pylist() == pq.read_table(table.parent / "rows.parquet")["name"].to_pylist()
    )


def test_a_place_for_rows_needs_rows_and_must_not_be_the_table(table: Path) -> None:
    needed = "error: --held-out is for the rows that --test holds out; add --test 0.25, say."
    assert fit(table, "--held-out", "rows.csv", code=2) == needed
    before = table.read_bytes()
    assert "would replace the file that is read" in fit(table, "--test", "0.25", "--held-out", table, code=2)
    assert table.read_bytes() == before


def test_names_can_be_given_to_explanations_of_models_without() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    clf = FERLTreeClassifier("medium", random_state=0).fit(X, X[:, 0] > 0)
    story = clf.explain(X[0], feature_names=["pressure", "age"])
    assert "pressure" in story.to_text()
    assert "x0" not in story.to_text()
    assert "x0" in clf.explain(X[0]).to_text()  # the model itself is not renamed
    assert "pressure" in overview(clf, feature_names=["pressure", "age"]).to_text()
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        clf.explain(X[0], feature_names=["pressure"])
