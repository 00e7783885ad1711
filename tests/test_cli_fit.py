"""ferl fit, as a user types it."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_examples import ferl, read_table, write_table
from cli_people import folder, people
from ferl import load_model

__all__ = ["folder"]  # a fixture


def test_fit_takes_a_raw_table_and_says_how_good_the_model_is(tmp_path, folder):
    options = [
        "--target",
        "y",
        "--model",
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


@pytest.mark.parametrize("labels", [("0", "1"), ("0.5", "1.5")])
def test_markers_among_numeric_labels_are_rows_without_a_label_in_every_command(tmp_path, labels):
    table = {name: own for name, own in people(200).items() if name != "name"}
    table["y"] = [labels[own == table["y"][0]] for own in table["y"]]
    marked = table | {"y": ["NA" if i < 3 else "?" if i < 5 else own for i, own in enumerate(table["y"])]}
    write_table(tmp_path / "rows.csv", marked)
    pq.write_table(pa.table(marked), tmp_path / "rows.parquet")
    kept = {name: own[5:] for name, own in table.items()}
    write_table(tmp_path / "kept.csv", kept)
    pq.write_table(pa.table(kept), tmp_path / "kept.parquet")
    told = "5 rows have no 'y' and are left out"
    for file in ("rows.csv", "rows.parquet"):
        assert told in ferl("fit", tmp_path / file, "--target", "y", "-o", tmp_path / "model.json").stderr
        assert list(map(str, load_model(tmp_path / "model.json").classes_.tolist())) == list(labels)
        found = ferl("evaluate", tmp_path / "model.json", tmp_path / file, "--target", "y")
        assert told in found.stderr
        alone = ferl("evaluate", tmp_path / "model.json", tmp_path / file.replace("rows", "kept"), "--target", "y")
        assert found.stdout == alone.stdout


def test_rows_of_one_group_are_fitted_on_or_tested_but_not_both(tmp_path, folder):
    rows = people() | {"clinic": [f"c{i % 20}" if i >= 10 else "" for i in range(400)]}
    table = write_table(tmp_path / "train.csv", rows)
    options = ["--target", "y", "--drop", "name", "--groups", "clinic", "-o", tmp_path / "m.json"]
    ferl("fit", table, *options, "--test", "0.3", "--held-out", tmp_path / "held.csv", "--set", "max_rules=3")
    held = read_table(tmp_path / "held.csv")
    kept = [clinic for name, clinic in zip(rows["name"], rows["clinic"], strict=True) if name not in held["name"]]
    assert not set(held["clinic"]) & set(kept) - {""}
    assert len(set(held["clinic"]) | set(kept)) == 21
    # A row without a clinic is a group of its own: 0.3 of 30 groups.
    assert len(set(held["clinic"]) - {""}) + held["clinic"].count("") == 9
    assert "clinic" not in load_model(tmp_path / "m.json").feature_names_in_
    assert "--groups clinic is about the rows that --test holds out" in ferl("fit", table, *options, code=2).stderr
    told = ferl("fit", table, *options, "--test", "0.99", code=2).stderr
    assert "--groups clinic: 30 groups are too few to hold out a share of 0.99 of them" in told
    marked = write_table(tmp_path / "marked.csv", rows | {"clinic": [own or "NA" for own in rows["clinic"]]})
    assert "21 groups" in ferl("fit", marked, *options, "--test", "0.99", code=2).stderr
    assert "30 groups" in ferl("fit", marked, *options, "--test", "0.99", "--missing", "NA", code=2).stderr
    told = ferl("fit", table, *options, "--test", "0.3", "--categorical", "clinic", code=2).stderr
    assert "--categorical clinic: the model does not read the column of the groups" in told
    rows["y"][10] = "other"  # its group is one of 30, so that some seed holds it out
    write_table(table, rows)
    told = [
        ferl("fit", table, *options, "--test", "0.9", "--seed", seed, "--set", "max_rules=1", code=2) for seed in (0, 1)
    ]
    assert all("all rows of class 'other' are in groups that are held out" in own.stderr for own in told)


def test_categories_that_no_row_has_are_no_groups(tmp_path):
    rows = {name: own for name, own in people(60).items() if name in ("x", "y")}
    clinics = pa.DictionaryArray.from_arrays(pa.array([i % 4 for i in range(60)]), [f"c{k}" for k in range(40)])
    pq.write_table(pa.table(rows | {"clinic": clinics}), tmp_path / "t.parquet")
    options = ["--target", "y", "--groups", "clinic", "-o", tmp_path / "m.json"]
    done = ferl("fit", tmp_path / "t.parquet", *options, "--test", "0.25", "--set", "max_rules=3")
    assert "of 15 rows" in done.output
    told = ferl("fit", tmp_path / "t.parquet", *options, "--test", "0.99", code=2).stderr
    assert "--groups clinic: 4 groups are too few" in told


def test_a_tree_with_fewer_rules_than_classes_says_so_before_the_fit(tmp_path):
    table = write_table(tmp_path / "t.csv", {"x": list(range(80)), "y": [f"k{i // 4}" for i in range(80)]})
    fit = ["fit", table, "--target", "y", "-o", tmp_path / "m.json"]
    told = ferl(*fit, "--model", "deep", "--set", "max_rules=5").stderr
    assert "note: 20 classes and at most 5 rules" in told
    assert "--set max_rules=40" in told
    assert "rare classes" not in told  # none is rarer than the others
    assert "at most" not in ferl(*fit, "--model", "deep", "--set", "max_rules=40").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "z"], "train.csv has no column 'z'. It has 'name', 'age'"),
        (["--target", "Y"], "no column 'Y'"),
        (["--target", "y", "--drop", "y"], "must be different columns"),
        (["--target", "y", "--set", "max_rule=3"], "no parameter has this name. The most similar one is 'max_rules'"),
        (["--target", "y", "--set", "max_rules"], "write name=value"),
        (["--target", "y", "--set", "max_rules=-3"], "max_rules"),
        (["--target", "y", "--test", "2"], "--test is 2; it must lie between 0 and 1"),
        (
            ["--target", "y", "--drop", "name", "--test", "0.9999"],
            "leaves none of 400 rows to fit. Choose a smaller share.",
        ),
        (["--target", "y", "--weights", "city"], "weights that are not numbers"),
        (["--target", "y", "--separator", ";"], "Leave the separator out."),
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


def test_a_marker_of_missing_values_in_a_text_column_is_noted(tmp_path):
    rng = np.random.default_rng(0)
    port, age = rng.choice(["Cork", "Kiel", "NA"], 120, p=[0.5, 0.4, 0.1]), rng.integers(20, 60, 120)
    columns = {
        "port": port.tolist(),
        "age": age.tolist(),
        "y": np.where(age + 9 * (port == "Cork") > 44, "a", "b").tolist(),
    }
    table = write_table(tmp_path / "table.csv", columns)
    n_marked = int((port == "NA").sum())
    told = ferl("fit", table, "--target", "y", "-o", tmp_path / "m.json").stderr
    assert (
        f"column 'port' has the category 'NA' in {n_marked} rows. If that stands for missing values, add --missing NA"
        in told
    )
    assert "'port'" not in ferl("fit", table, "--target", "y", "--missing", "NA", "-o", tmp_path / "m.json").stderr
