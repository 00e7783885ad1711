"""ferl fit, predict and inspect, as a user types them."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ferl import load_model
from ferl._cli.app import app
from ferl._tables import files

runner = CliRunner()

ROWS = 400
ANSWERS = ["label", "probability", "set", "ignorance", "novelty"]


def ferl(*arguments, code=0):
    result = runner.invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result


def people(n_rows: int = ROWS, seed: int = 0):
    """Names, numbers with holes, text, and integers that are categories."""
    rng = np.random.default_rng(seed)
    age, code = rng.integers(18, 90, n_rows), rng.choice([101, 202, 303], n_rows)
    city = rng.choice(["Oslo", "Bergen", "Rome, IT"], n_rows)
    x = rng.normal(size=n_rows).round(4)
    return {
        "name": [f"p{i}" for i in range(n_rows)],
        "age": ["" if i % 9 == 0 else str(age[i]) for i in range(n_rows)],
        "city": ["" if i % 11 == 0 else str(city[i]) for i in range(n_rows)],
        "code": [str(own) for own in code],
        "x": [str(own) for own in x],
        "y": np.where((x > 0) ^ (code == 101), "yes", "no").tolist(),
    }


def write_csv(path, columns, separator=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training table, a model of it, and a table to judge."""
    folder = tmp_path_factory.mktemp("models")
    write_csv(folder / "train.csv", people())
    write_csv(folder / "new.csv", {name: own for name, own in people(50, 1).items() if name != "y"})
    options = ["--target", "y", "--drop", "name", "--categorical", "code"]
    ferl("fit", folder / "train.csv", *options, "-o", folder / "model.json")
    return folder


# ---------------------------------------------------------------------------------------------------------------------
# fit
# ---------------------------------------------------------------------------------------------------------------------


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
    write_csv(tmp_path / "train.csv", table, ";")
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
        table = write_csv(tmp_path / "empty.csv", {"name": [], "x": []})
        message = "has no row with a 'name'"
    else:
        table = folder / "train.csv"
    result = ferl("fit", table, *options, "-o", tmp_path / "model.json", code=2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "model.json").exists()


# ---------------------------------------------------------------------------------------------------------------------
# predict
# ---------------------------------------------------------------------------------------------------------------------


def test_predict_gives_the_models_own_answers_and_keeps_the_columns(tmp_path, folder):
    ferl("predict", folder / "model.json", folder / "new.csv", "-o", tmp_path / "out.csv", "--all", "--guess")
    found, given = read_csv(tmp_path / "out.csv"), read_csv(folder / "new.csv")
    assert {name: found[name] for name in given} == given
    assert list(found)[len(given) : len(given) + 5] == ANSWERS
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
    expected = read_csv(tmp_path / "out.csv")
    assert list(expected) == ANSWERS
    ferl("predict", model, new, "-o", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["x"].type == pa.float64()
    assert table["name"].type == pa.string()
    assert [label or "" for label in table["label"].to_pylist()] == expected["label"]
    ferl("predict", model, tmp_path / "out.parquet", "-o", tmp_path / "again.csv", "--only-answers")
    assert read_csv(tmp_path / "again.csv") == expected
    lines = ferl("predict", model, new, "-o", "-", "--json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["novelty"] for row in rows] == list(map(float, expected["novelty"]))
    assert rows[0]["age"] is None
    assert rows[1]["age"] == table["age"][1].as_py()
    assert ferl("predict", model, new, "-o", "-", "--only-answers").stdout == (tmp_path / "out.csv").read_text()


def judged(folder, tmp_path, columns, *options):
    table = write_csv(tmp_path / "table.csv", columns)
    result = ferl("predict", folder / "model.json", table, "-o", tmp_path / "out.csv", *options)
    return read_csv(tmp_path / "out.csv"), result


def test_types_that_drift_between_batches_change_nothing(tmp_path, folder, monkeypatch):
    table = {name: own * 20 for name, own in people(50, 1).items() if name != "y"}
    expected, _ = judged(folder, tmp_path, table)
    monkeypatch.setattr(files, "BLOCK_BYTES", 512)  # some ten rows
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
    assert list(found)[-5:] == ANSWERS
    assert found["label"] == []
    ferl("predict", folder / "model.json", tmp_path / "table.csv", "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_answers_do_not_overwrite_columns(tmp_path, folder):
    table = {**{name: own for name, own in people(5, 1).items() if name != "y"}, "label": ["?"] * 5}
    path = write_csv(tmp_path / "table.csv", table)
    result = ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", code=2)
    assert "has a column 'label' already. Use --prefix ferl_" in result.stderr
    found, _ = judged(folder, tmp_path, table, "--prefix", "ferl_", "--no-novelty")
    assert found["label"] == ["?"] * 5
    assert list(found)[-4:] == ["ferl_label", "ferl_probability", "ferl_set", "ferl_ignorance"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "table.csv has no column 'age', which the model reads"),
        ({"age": None, "Age": ["1"] * 5}, "Did you mean 'Age'?"),
        ({"x": ["1", "2", "n/k", "4", "5"]}, "Column 'x' holds 'n/k', which is not a number"),
        ({"x": ["1", "inf", "3", "4", "5"]}, "Column 'x' holds infinity"),
    ],
)
def test_mistakes_in_tables_are_one_line_with_the_remedy(tmp_path, folder, change, message):
    table = {**{name: own for name, own in people(5, 1).items() if name != "y"}, **change}
    path = write_csv(tmp_path / "table.csv", {name: own for name, own in table.items() if own is not None})
    result = ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["table.csv"]
    if "n/k" in message:
        ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv", "--missing", "n/k")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty"),
        (b"\n\n", "It needs a header and rows."),
        (b"age,city,code,x\n1,2\n", "table.csv cannot be read: CSV parse error: Expected 4 columns, got 2"),
        (b"age,age,city,code,x\n1,1,2,3,4\n", "several columns called 'age'"),
        (b"age,city,code,x\n1,\xff\xfe,101,3\n", "Save it as UTF-8"),
        ("age,city,code,x\n1,2,3,4\n".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8 table.csv"),
        (b"age,city,code,x\n1,\x1b[31m2\n", "[31m2. Check the separator (--separator)"),
        (b"PAR1 no\n", "has no column 'age'"),
    ],
)
def test_odd_files_are_one_line(tmp_path, folder, content, message):
    (tmp_path / "table.csv").write_bytes(content)
    result = ferl("predict", folder / "model.json", tmp_path / "table.csv", "-o", tmp_path / "out.csv", code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert os.listdir(tmp_path) == ["table.csv"]


def test_mistakes_in_paths_are_one_line(tmp_path, folder):
    model, new = folder / "model.json", folder / "new.csv"
    for arguments, message in [
        (("predict", model, new, "-o", tmp_path / "out.xls"), "ends in none of .csv, .parquet"),
        (("predict", model, tmp_path / "no.csv", "-o", "-"), "no.csv is no file"),
        (("predict", tmp_path / "no.json", new, "-o", "-"), "no.json: No such file or directory. Check the path."),
        (("predict", tmp_path, new, "-o", "-"), "Is a directory. Name a file in it."),
        (("predict", model, new, "-o", "-", "--jobs", "0"), "n_jobs is 0"),
        (("predict", new, new, "-o", "-"), "new.csv: it is not JSON"),
        (("predict", model, new, "-o", tmp_path / "no" / "out.csv"), "does not exist; create it"),
        (("fit", folder / "train.csv", "--target", "y", "-o", tmp_path / "no" / "m.json"), "does not exist; create it"),
        (("inspect", new), "new.csv: it is not JSON"),
    ]:
        result = ferl(*arguments, code=2)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    odd = tmp_path / "no.parquet"
    odd.write_bytes(b"x")
    assert "no.parquet cannot be read" in ferl("predict", model, odd, "-o", "-", code=2).stderr
    debugged = runner.invoke(app, ["inspect", str(new), "--debug"])
    assert type(debugged.exception).__name__ == "ModelFileError"


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes differ")
@pytest.mark.parametrize(
    "command",
    [
        ("predict", "model.json", "new.csv", "--json"),
        ("report", "model.json", "new.csv"),
        ("fit", "train.csv", "--target", "y"),
        ("explain", "model.json", "new.csv", "--row", "1", "--html"),
        ("export", "model.json"),
        ("demo",),
    ],
)
def test_a_place_that_would_cost_a_file_is_refused_before_any_work(tmp_path, folder, command):
    for name in ("model.json", "new.csv", "train.csv"):
        shutil.copy(folder / name, tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    where = {"explain": (), "demo": ("--report",)}.get(command[0], ("-o",))
    arguments = [tmp_path / own if own in before else own for own in command]
    places = [(name, "would replace the file that is read") for name in command if name in before]
    places += [(".", "is a folder. Name a file in it."), ("pipe", "is no regular file")]
    for place, message in places:
        result = ferl(*arguments, *where, tmp_path / place, code=2)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path, folder, monkeypatch):
    # Not by the folder's mode: root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(tmp_path) != str(path))
    result = ferl("predict", folder / "model.json", folder / "new.csv", "-o", tmp_path / "out.csv", code=2)
    assert "You may not write into the folder" in result.stderr


def test_a_model_without_names_takes_columns_by_their_places(tmp_path):
    from ferl import FERLClassifier, save_model

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    save_model(FERLClassifier("deep", random_state=0).fit(X, X[:, 0] > 0), tmp_path / "model.json")
    table = write_csv(tmp_path / "table.csv", {"a": ["-2.0", "2.0"], "b": ["0", "0"]})
    ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv")["label"] == ["false", "true"]
    write_csv(table, {"a": ["-2.0"], "b": ["0"], "c": ["0"]})
    result = ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv", code=2)
    assert "has 3 columns; the model was fitted without names on 2 features" in result.stderr


def test_booleans_are_known_in_any_spelling(tmp_path):
    flags = [i % 2 == 0 for i in range(60)]
    labels = ["even" if own else "odd" for own in flags]
    pq.write_table(pa.table({"b": flags, "k": range(60), "y": labels}), tmp_path / "train.parquet")
    ferl("fit", tmp_path / "train.parquet", "--target", "y", "-o", tmp_path / "model.json")
    table = write_csv(tmp_path / "table.csv", {"b": ["true", "False", "TRUE", "0", "1"], "k": ["30"] * 5})
    ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv")["label"] == ["even", "odd", "even", "odd", "even"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_leaves_no_file_behind(tmp_path, folder):
    table = {name: own * 2000 for name, own in people(50, 1).items() if name != "y"}
    path = write_csv(tmp_path / "table.csv", table)
    # A first batch that takes long to write, so that the signal comes while the file is half written.
    program = (
        "import signal, time; from ferl._tables.files import CsvSink; write = CsvSink.write\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "def slow(self, prepared):\n"
        "    write(self, prepared); print('judging', flush=True); time.sleep(60)\n"
        "CsvSink.write = slow\n"
        "from ferl._cli.app import app; app()"
    )
    arguments = ["predict", str(folder / "model.json"), str(path), "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "judging\n"
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert errors.strip() == "Stopped. No answers were written."
    assert os.listdir(tmp_path) == ["table.csv"]


# ---------------------------------------------------------------------------------------------------------------------
# inspect, help
# ---------------------------------------------------------------------------------------------------------------------


def test_inspect_tells_what_is_in_a_model(folder):
    text = ferl("inspect", folder / "model.json", "--rules").output
    for part in ("wide", "no, yes", "training rows kept", "category", "101, 202, 303", "if ", "Evidence for yes"):
        assert part in text
    summary = json.loads(ferl("inspect", folder / "model.json", "--json", "--rules").stdout)
    assert summary["features"][2] == {
        "name": "code",
        "kind": "category",
        "categories": [101, 202, 303],
        "conditions": summary["features"][2]["conditions"],
    }
    model = load_model(folder / "model.json")
    assert summary["n_rules"] == model.n_rules_
    assert summary["training_weight"] == ROWS
    assert sum(own["conditions"] for own in summary["features"]) == model.tree_.n_nodes - 1
    assert any(line.lstrip().startswith("1. if") for line in summary["rules"])


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "report", "inspect", "export"])
def test_help_has_an_example(command):
    assert f"Example: ferl {command} " in help_of(command)


def test_help_shows_what_stands_in_brackets():
    assert 'pip install "ferl[onnx]"' in help_of("export")
    assert "[default: a comma; .tsv: a tab]" in help_of("predict")


def help_of(command):
    return " ".join(ferl(command, "--help").output.replace("│", " ").split())


def test_predicting_from_a_file_does_without_scikit_learn(tmp_path, folder):
    # Importing it takes longer than judging a hundred thousand rows.
    path = write_csv(tmp_path / "table.csv", {name: own for name, own in people(50, 1).items() if name != "y"})
    program = (
        "import sys; from ferl._cli.app import app; app(standalone_mode=False); sys.exit('sklearn' in sys.modules)"
    )
    arguments = ["predict", str(folder / "model.json"), str(path), "-o", str(tmp_path / "out.csv")]
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (run.returncode, (tmp_path / "out.csv").exists()) == (0, True), run.stderr


def test_several_jobs_write_the_same_bytes_as_one(tmp_path, folder, monkeypatch):
    monkeypatch.setattr("ferl._tables.files.BLOCK_BYTES", 4096)
    columns = {name: own * 40 for name, own in people(50, 1).items() if name != "y"}
    columns["city"] = [*columns["city"][:-3], "Atlantis", "Avalon", "Atlantis"]
    path = write_csv(tmp_path / "table.csv", columns)
    runs = [
        ferl("predict", folder / "model.json", path, "-o", tmp_path / f"{name}.csv", "--jobs", jobs)
        for name, jobs in (("one", 1), ("three", 3))
    ]
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "three.csv").read_bytes()
    assert runs[0].stderr.replace("one.csv", "three.csv") == runs[1].stderr
    assert "'Atlantis' (2), 'Avalon' (1)" in runs[0].stderr
