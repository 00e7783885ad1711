"""ferl explain, as a user types it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ferl import FERLTreeClassifier, save_model
from ferl._cli.app import app
from ferl._tables import table_files

runner = CliRunner()
HEADER = ["age", "city", "ignored"]
ROWS = [["41", "Oslo", "a"], ["", "Rome", "b"], ["30.5", "nowhere", "c"]]


def ferl(*arguments, code=0):
    result = runner.invoke(app, ["explain", *map(str, arguments)], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    age, city = rng.integers(18, 90, 300), rng.choice(["Oslo", "Rome"], 300)
    train = pa.table({"age": age.astype(float), "city": city})
    y = np.where((age > 50) ^ (city == "Rome"), "yes", "no")
    save_model(FERLTreeClassifier("deep", random_state=0).fit(train, y), folder / "model.json")
    with open(folder / "new.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *ROWS])
    return folder


def test_explain_tells_the_row_that_was_asked_for(folder):
    first = ferl(folder / "model.json", folder / "new.csv", "--row", 1)
    assert "no, 98 %. A usual case" in first.output
    assert "What would change it: age 5" in first.output
    assert len(first.output.splitlines()) <= 8
    whole = ferl(folder / "model.json", folder / "new.csv", "--row", 1, "--details")
    assert "If city were Rome instead of Oslo: yes." in whole.output
    assert "Rules that apply" in whole.output
    second = ferl(folder / "model.json", folder / "new.csv", "--row", 2, "--plain")
    assert "Missing: age." in second.output
    third = ferl(folder / "model.json", folder / "new.csv", "--row", 3)
    assert "city is nowhere, a category that training did not have" in third.output


def test_json_is_the_story_of_the_same_row_in_any_file(folder):
    story = json.loads(ferl(folder / "model.json", folder / "new.csv", "--row", 1, "--json").stdout)
    assert story["label"] == "no"
    table = pa.table({"city": ["Oslo"], "age": [41.0]})
    pq.write_table(table, folder / "new.parquet")
    assert json.loads(ferl(folder / "model.json", folder / "new.parquet", "--row", 1, "--json").stdout) == story
    without = ferl(folder / "model.json", folder / "new.parquet", "--row", 1, "--json", "--no-changes").stdout
    assert json.loads(without) == story | {"changes": None}


def test_html_is_a_page_of_its_own(folder, tmp_path):
    result = ferl(folder / "model.json", folder / "new.csv", "--row", 1, "--html", tmp_path / "row.html")
    page = (tmp_path / "row.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "http" not in page
    assert "<script" not in page
    assert f"explanation written to {tmp_path / 'row.html'}" in result.stderr.replace("\n", "")


def test_mistakes_get_one_line_with_the_remedy(folder, tmp_path):
    def error(*arguments):
        result = ferl(folder / "model.json", folder / "new.csv", *arguments, code=2)
        assert len(result.stderr.splitlines()) == 1
        return result.stderr

    assert "--row is 4; new.csv has 3 rows. Choose one of them, counted from 1." in error("--row", 4)
    assert "--row is 0; rows are counted from 1, the header not among them." in error("--row", 0)
    assert "--json and --plain are both given" in error("--row", 1, "--json", "--plain")
    assert "does not exist; create it" in error("--row", 1, "--html", tmp_path / "no" / "x.html")


def test_a_long_file_is_read_only_as_far_as_needed(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "BATCH_ROWS", 10)
    pq.write_table(pa.table({"age": np.arange(100.0), "city": ["Oslo"] * 100}), tmp_path / "long.parquet")
    seen = []
    batches = table_files.TableFile.batches

    def counted(self, *arguments):
        for batch in batches(self, *arguments):
            seen.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(table_files.TableFile, "batches", counted)
    ferl(folder / "model.json", tmp_path / "long.parquet", "--row", 15)
    assert seen == [10, 10]
