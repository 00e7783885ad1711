"""ferl predict: its answers are the model's own, whatever the file is like."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cli_examples import ferl, read_table, write_table
from cli_people import ANSWERS, folder, people
from ferl import load_model
from ferl._tables import table_files

__all__ = ["folder"]  # a fixture


def test_predict_gives_the_models_own_answers_and_keeps_the_columns(tmp_path, folder):
    ferl("predict", folder / "model.json", folder / "new.csv", "-o", tmp_path / "out.csv", "--all", "--guess")
    found, given = read_table(tmp_path / "out.csv"), read_table(folder / "new.csv")
    assert {name: found[name] for name in given} == given
    assert list(found)[len(given) : len(given) + 7] == ANSWERS
    model = load_model(folder / "model.json")
    rows = pa.table(
        {
            "age": pa.array([float(own) if own else None for own in given["age"]]),
            "city": pa.array([own or None for own in given["city"]]),
            "code": pa.array(list(map(int, given["code"]))).dictionary_encode(),
            "x": pa.array(list(map(float, given["x"]))),
        }
    )
    evidence = model.predict_evidence(rows)
    assert found["label"] == model.predict(rows).tolist()
    assert list(map(float, found["probability"])) == evidence.probability.max(axis=1).tolist()
    assert list(map(float, found["ignorance"])) == evidence.ignorance.tolist()
    assert list(map(float, found["novelty"])) == model.novelty(rows).tolist()
    sets = ["|".join(model.classes_[own]) for own in evidence.prediction_set()]
    assert found["set"] == sets
    for place, label in enumerate(model.classes_):
        assert list(map(float, found[f"probability({label})"])) == evidence.probability[:, place].tolist()
        assert list(map(float, found[f"belief({label})"])) == evidence.belief[:, place].tolist()
        assert list(map(float, found[f"plausibility({label})"])) == evidence.plausibility[:, place].tolist()
    assert os.listdir(tmp_path) == ["out.csv"]


def test_parquet_json_and_standard_output_say_the_same(tmp_path, folder):
    model, new = folder / "model.json", folder / "new.csv"
    ferl("predict", model, new, "-o", tmp_path / "out.csv", "--only-answers")
    expected = read_table(tmp_path / "out.csv")
    assert list(expected) == ANSWERS
    ferl("predict", model, new, "-o", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["x"].type == pa.float64()
    assert table["name"].type == pa.string()
    assert [label or "" for label in table["label"].to_pylist()] == expected["label"]
    ferl("predict", model, tmp_path / "out.parquet", "-o", tmp_path / "again.csv", "--only-answers")
    assert read_table(tmp_path / "again.csv") == expected
    lines = ferl("predict", model, new, "-o", "-", "--json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["novelty"] for row in rows] == list(map(float, expected["novelty"]))
    assert rows[0]["age"] is None
    assert rows[1]["age"] == table["age"][1].as_py()
    assert ferl("predict", model, new, "-o", "-", "--only-answers").stdout == (tmp_path / "out.csv").read_text()


def judged(folder, tmp_path, columns, *options):
    table = write_table(tmp_path / "table.csv", columns)
    result = ferl("predict", folder / "model.json", table, "-o", tmp_path / "out.csv", *options)
    return read_table(tmp_path / "out.csv"), result


def test_types_that_drift_between_batches_change_nothing(tmp_path, folder, monkeypatch):
    table = {name: own * 20 for name, own in people(50, 1).items() if name != "y"}
    expected, _ = judged(folder, tmp_path, table)
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 512)  # some ten rows
    again, _ = judged(folder, tmp_path, table)
    assert again == expected
    drifted = {**table, "code": [own if i < 300 else f"{own}.0" for i, own in enumerate(table["code"])]}
    drifted["x"] = [own if i % 3 else f" +{own}" if own[0] != "-" else own for i, own in enumerate(table["x"])]
    found, result = judged(folder, tmp_path, drifted)
    assert [found[name] for name in ANSWERS] == [expected[name] for name in ANSWERS]
    assert "note" not in result.stderr
    # Whole batches without any value, and text where categories were integers: unseen, and no other code changes.
    holes = {**table, "age": ["" if 200 < i < 400 else own for i, own in enumerate(table["age"])]}
    holes["code"] = ["" if 200 < i < 400 else "abc" if i >= 900 else own for i, own in enumerate(table["code"])]
    found, result = judged(folder, tmp_path, holes)
    assert found["label"][:200] == expected["label"][:200]
    assert found["novelty"][500:900] == expected["novelty"][500:900]
    assert "column 'code': 100 rows have a category that training did not have; 1 of them: 'abc' (100)" in result.stderr


def test_columns_in_another_order_and_columns_the_model_does_not_know(tmp_path, folder):
    table = {name: own for name, own in people(50, 1).items() if name != "y"}
    expected, _ = judged(folder, tmp_path, table)
    other = {"remark": ['a "quoted", remark\nof two lines'] * 50, **dict(reversed(table.items()))}
    found, _ = judged(folder, tmp_path, other)
    assert [found[name] for name in ANSWERS] == [expected[name] for name in ANSWERS]
    assert found["remark"] == other["remark"]


def test_unseen_categories_are_counted_and_named(tmp_path, folder):
    table = {name: own for name, own in people(50, 1).items() if name != "y"}
    table["city"] = ["Paris"] * 3 + ["Bonn"] + table["city"][4:]
    _, result = judged(folder, tmp_path, table)
    assert "column 'city': 4 rows have a category that training did not have; 2 of them: 'Paris' (3), 'Bonn' (1)" in (
        result.stderr
    )


def test_a_table_without_rows_gives_a_table_without_rows(tmp_path, folder):
    table = {name: [] for name in people(1) if name != "y"}
    found, _ = judged(folder, tmp_path, table)
    assert list(found)[-7:] == ANSWERS
    assert found["label"] == []
    ferl("predict", folder / "model.json", tmp_path / "table.csv", "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_answers_do_not_overwrite_columns(tmp_path, folder):
    table = {**{name: own for name, own in people(5, 1).items() if name != "y"}, "label": ["?"] * 5}
    path = write_table(tmp_path / "table.csv", table)
    result = ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", code=2)
    assert "has a column 'label' already. Use --prefix ferl_" in result.stderr
    found, _ = judged(folder, tmp_path, table, "--prefix", "ferl_", "--no-novelty")
    assert found["label"] == ["?"] * 5
    added = [f"ferl_{name}" for name in ANSWERS if name != "novelty"]
    assert list(found)[-6:] == added


def test_a_model_without_names_takes_columns_by_their_places(tmp_path):
    from ferl import FERLTreeClassifier, save_model

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    save_model(FERLTreeClassifier("deep", random_state=0).fit(X, X[:, 0] > 0), tmp_path / "model.json")
    table = write_table(tmp_path / "table.csv", {"a": ["-2.0", "2.0"], "b": ["0", "0"]})
    ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv")["label"] == ["false", "true"]
    write_table(table, {"a": ["-2.0"], "b": ["0"], "c": ["0"]})
    result = ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv", code=2)
    assert "has 3 columns; the model was fitted without names on 2 features" in result.stderr


def test_booleans_are_known_in_any_spelling(tmp_path):
    flags = [i % 2 == 0 for i in range(60)]
    labels = ["even" if own else "odd" for own in flags]
    pq.write_table(pa.table({"b": flags, "k": range(60), "y": labels}), tmp_path / "train.parquet")
    ferl("fit", tmp_path / "train.parquet", "--target", "y", "-o", tmp_path / "model.json")
    table = write_table(tmp_path / "table.csv", {"b": ["true", "False", "TRUE", "0", "1"], "k": ["30"] * 5})
    ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv")["label"] == ["even", "odd", "even", "odd", "even"]


def test_predicting_from_a_file_does_without_scikit_learn(tmp_path, folder):
    # Importing it takes longer than judging a hundred thousand rows.
    path = write_table(tmp_path / "table.csv", {name: own for name, own in people(50, 1).items() if name != "y"})
    program = (
        "import sys; from ferl._cli.app import app; app(standalone_mode=False); sys.exit('sklearn' in sys.modules)"
    )
    arguments = ["predict", str(folder / "model.json"), str(path), "-o", str(tmp_path / "out.csv")]
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (run.returncode, (tmp_path / "out.csv").exists()) == (0, True), run.stderr


def test_several_jobs_write_the_same_bytes_as_one(tmp_path, folder, monkeypatch):
    monkeypatch.setattr("ferl._tables.table_files.BLOCK_BYTES", 4096)
    columns = {name: own * 40 for name, own in people(50, 1).items() if name != "y"}
    columns["city"] = [*columns["city"][:-3], "Atlantis", "Avalon", "Atlantis"]
    path = write_table(tmp_path / "table.csv", columns)
    runs = [
        ferl("predict", folder / "model.json", path, "-o", tmp_path / f"{name}.csv", "--jobs", jobs)
        for name, jobs in (("one", 1), ("three", 3))
    ]
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "three.csv").read_bytes()
    assert runs[0].stderr.replace("one.csv", "three.csv") == runs[1].stderr
    assert "'Atlantis' (2), 'Avalon' (1)" in runs[0].stderr
