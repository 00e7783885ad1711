"""ferl fit, as a user types it."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_examples import ferl, write_table
from cli_people import folder, people
from ferl import load_model

__all__ = ["folder"]  # a fixture


def test_fit_takes_a_raw_table_and_says_how_good_the_model_is(tmp_path, folder):
    options = [
        "--target",
        "y",
        "--variant",
        "medium",
        "--categorical",
        "code",
        "--test",
        "0.25",
        "--set",
        "max_rules=7",
    ]
    result = ferl("fit", folder / "train.csv", *options, "-o", tmp_path / "model.json")
    for part in ("rules", "training accuracy", "of 300 rows", "test accuracy", "of 100 rows", "AURC", "abstentions"):
        assert part in result.output
    assert "column 'name' has 400 categories" in result.stderr
    model = load_model(tmp_path / "model.json")
    assert model.n_rules_ <= 7
    assert [None if own is None else own.dtype.kind for own in model.categories_] == ["O", None, "O", "i", None]
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.random_state, model.n_jobs) == (0, None)
    assert os.listdir(tmp_path) == ["model.json"]


def test_fit_from_parquet_is_fit_from_csv(tmp_path, folder):
    train = people()
    table = pa.table(
        {
            "age": pa.array([None if own == "" else float(own) for own in train["age"]]),
            "city": pa.array([own or None for own in train["city"]]),
            "code": pa.array(list(map(int, train["code"]))),
            "x": pa.array(list(map(float, train["x"]))),
            "y": train["y"],
        }
    )
    pq.write_table(table, tmp_path / "train.parquet")
    ferl("fit", tmp_path / "train.parquet", "--target", "y", "--categorical", "code", "-o", tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == (folder / "model.json").read_bytes()


def test_weights_missing_spellings_separators_and_missing_labels(tmp_path):
    table = {name: own for name, own in people(200).items() if name != "name"}
    table["age"] = [own or "NA" for own in table["age"]]
    table["w"] = ["2" if i % 2 else "1" for i in range(200)]
    table["y"] = ["" if i < 5 else own for i, own in enumerate(table["y"])]
    write_table(tmp_path / "train.csv", table, ";")
    options = ["--target", "y", "-o", tmp_path / "model.json", "--separator", ";"]
    noted = ferl("fit", tmp_path / "train.csv", *options)
    told = "note: column 'age' holds numbers as text, with 'NA' for missing values, and is taken as numbers"
    assert told in noted.stderr
    assert load_model(tmp_path / "model.json").categories_[0] is None
    assert "5 rows have no 'y'" in noted.stderr
    ferl("fit", tmp_path / "train.csv", *options, "--weights", "w", "--missing", "NA,?")
    model = load_model(tmp_path / "model.json")
    assert model.tree_.weight[0] == pytest.approx(sum(1 + i % 2 for i in range(5, 200)))
    assert model.categories_[0] is None
    assert model.feature_names_in_.tolist() == ["age", "city", "code", "x"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "z"], "train.csv has no column 'z'. It has 'name', 'age'"),
        (["--target", "Y"], "no column 'Y'"),
        (["--target", "y", "--drop", "y"], "must be different columns"),
        (["--target", "y", "--set", "max_rule=3"], "no such parameter. The one most like it is 'max_rules'"),
        (["--target", "y", "--set", "max_rules"], "write name=value"),
        (["--target", "y", "--set", "max_rules=-3"], "max_rules"),
        (["--target", "y", "--test", "2"], "--test is 2.0; it must be a share"),
        (
            ["--target", "y", "--drop", "name", "--test", "0.9999"],
            "leaves none of 400 rows to fit. Choose a smaller share.",
        ),
        (["--target", "y", "--weights", "city"], "weights that are not numbers"),
        (["--target", "y", "--separator", ";"], "Leave --separator out."),
        (["--target", "y", "--separator", "ab"], "one character"),
        (["--target", "name"], ""),
    ],
)
def test_mistakes_in_fit_are_one_line_with_the_remedy(tmp_path, folder, options, message):
    if options == ["--target", "name"]:
        table = write_table(tmp_path / "empty.csv", {"name": [], "x": []})
        message = "has no row with a 'name'"
    else:
        table = folder / "train.csv"
    result = ferl("fit", table, *options, "-o", tmp_path / "model.json", code=2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "model.json").exists()
