"""The CSV door of the command line: what files look like, what is asked about columns, and what is written."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from cli_examples import ferl, noisy, read_table, refused, write_lines, write_table
from ferl import FERLTreeClassifier, load_model, save_model
from ferl._learn.categories import category_order
from ferl._tables.table_files import FileForm, TableFile, text_as_numbers, unclosed_quote
from ferl._util.files import TableFileError
from ferl._util.text import near_name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "train.csv", noisy(300, 0))
    ferl("fit", folder / "train.csv", "--target", "kind", "--model", "medium", "-o", folder / "model.json")
    return folder


# ---------------------------------------------------------------------------------------------------------------------
# What a file is like
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_separator_is_recognised_by_the_header_and_commas_are_decimal_then(tmp_path, separator):
    path = write_lines(tmp_path / "t.csv", separator.join("xyz"), separator.join(["3,14", "-1", "1,5e2"]), "")
    file = TableFile(path, FileForm())
    assert file.names == ["x", "y", "z"]
    assert file.form.has_decimal_commas
    numbers = [text_as_numbers(column, True).to_pylist() for column in file.read().columns]
    assert numbers == [[3.14], [-1.0], [150.0]]


def test_decimal_commas_are_numbers_in_a_fit_and_in_answers(tmp_path):
    rows = noisy(200, 1)
    lines = [f"{str(x).replace('.', ',')};{g};{k}" for x, g, k in zip(*rows.values(), strict=True)]
    write_lines(tmp_path / "t.csv", "x;group;kind", *lines)
    write_table(tmp_path / "plain.csv", rows)
    for name in ("plain", "t"):
        ferl("fit", tmp_path / f"{name}.csv", "--target", "kind", "-o", tmp_path / f"{name}.json")
        ferl("predict", tmp_path / "plain.json", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}_out.csv")
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "plain.json").read_bytes()
    assert read_table(tmp_path / "t_out.csv")["label"] == read_table(tmp_path / "plain_out.csv")["label"]


def test_a_comma_is_no_decimal_comma_where_it_stands_between_fields_nor_beside_points():
    assert text_as_numbers(pa.chunked_array([["3,14"]])) is None
    assert text_as_numbers(pa.chunked_array([["1.234,5"]]), True) is None


def test_a_wrong_separator_is_named(tmp_path):
    comma = write_lines(tmp_path / "t.csv", "a,b", "1,2")
    with pytest.raises(TableFileError, match=r"no ';', the separator asked for, but a comma\. Leave the separator out"):
        TableFile(comma, FileForm(";"))
    mixed = write_lines(tmp_path / "m.csv", "a,b;c;d", "1;2;3", "4;5;6")
    with pytest.raises(TableFileError, match="seem to have ';' between them") as error:
        TableFile(mixed, FileForm()).read()
    assert (error.value.option, error.value.value) == ("separator", ";")
    assert "add --separator ';'" in refused("fit", mixed, "--target", "a", "-o", tmp_path / "model.json")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["a,b", '1,"x', "2,y", "3,z"], 2),
        (["a,b", "1,x", '2,"y'], 3),
        (["a,b", '1,"x', '2,"y"', "3,z"], None),
        (['a,"b', "1,2"], 1),
        (["a,b", '1,"x""', "2,y"], 2),
        (["a,b", '"1 ""x"" y",2', '3,5" pipe', '4,"two', 'lines"'], None),
    ],
)
def test_an_unclosed_quote_is_an_error_that_names_its_line(tmp_path, lines, line):
    path = write_lines(tmp_path / "t.csv", *lines)
    assert unclosed_quote(path, ",", "utf8") == line
    if line is None:
        assert TableFile(path, FileForm()).read().num_rows >= 2
        return
    with pytest.raises(TableFileError, match=rf"a quote \(\"\) begins in line {line} and never ends"):
        TableFile(path, FileForm()).read()


def test_an_unclosed_quote_in_a_long_file_is_named_and_leaves_no_answers(tmp_path, folder):
    rows = ["1.5,a"] * 200_000
    rows[70_000] = '1.5,"a'
    path = write_lines(tmp_path / "t.csv", "x,group", *rows)
    assert "begins in line 70,002 and never ends" in refused(
        "predict", folder / "model.json", path, "-o", tmp_path / "out.csv"
    )
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_header_without_a_new_line_is_a_table_without_rows(tmp_path, folder, start):
    path = write_lines(tmp_path / "t.csv", f"{start}x,group")
    ferl("predict", folder / "model.json", path, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "x,group,label,probability,set,ignorance,novelty,abstention\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end"])
def test_lines_may_end_as_on_any_system(tmp_path, encoding, end, last):
    path = tmp_path / "t.csv"
    path.write_bytes((end.join(["x;group", "0,5;a", "7;b"]) + end * bool(last)).encode(encoding))
    table = TableFile(path, FileForm())
    assert [own.to_pydict() for own in table.batches()] == [{"x": ["0,5", "7"], "group": ["a", "b"]}]


def test_a_long_name_is_read_without_rows_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x," + b"y" * 200_000)
    assert TableFile(path, FileForm()).names == ["x", "y" * 200_000]


def test_utf16_as_spreadsheets_write_it_is_read(tmp_path, folder):
    rows = ["x\tgroup", "0.5\ta", "-2\tb", "0.5\tä", ""]
    for encoding in ("utf-16", "utf-8"):
        write_lines(tmp_path / f"{encoding}.csv", *rows, encoding=encoding)
        out = tmp_path / f"{encoding}_out.csv"
        ferl("predict", folder / "model.json", tmp_path / f"{encoding}.csv", "-o", out)
    assert (tmp_path / "utf-16_out.csv").read_bytes() == (tmp_path / "utf-8_out.csv").read_bytes()
    assert len(read_table(tmp_path / "utf-8_out.csv")["label"]) == 3


# ---------------------------------------------------------------------------------------------------------------------
# What is asked about columns
# ---------------------------------------------------------------------------------------------------------------------


def test_targets_that_are_hardly_classes_are_asked_about_and_can_be_fitted_all_the_same(tmp_path):
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=120).round(3).tolist(), "price": (100 + 7 * np.arange(120) / 2).tolist()}
    rows |= {"name": [f"n{i}" for i in range(120)], "same": ["a"] * 120}
    table = write_table(tmp_path / "t.csv", rows)
    fit = ["fit", table, "-o", tmp_path / "m.json", "--set", "max_rules=2", "--target"]
    told = refused(*fit, "price")
    assert "price has 120 distinct values in 120 rows: is this a regression target?" in told
    assert "--allow-many-classes" in told
    assert "is this a name or an id?" in refused(*fit, "name")
    assert "same is 'a' in all 120 rows: is this the right column?" in refused(*fit, "same")
    assert "same is 'a'" in refused(*fit, "same", "--allow-many-classes")
    ferl(*fit, "name", "--allow-many-classes", "--model", "deep")
    assert len(load_model(tmp_path / "m.json").classes_) == 120


def test_few_numbers_and_many_names_of_kinds_are_classes(tmp_path):
    rng = np.random.default_rng(0)
    table = write_table(tmp_path / "t.csv", {"x": rng.normal(size=200).tolist(), "y": (np.arange(200) % 40).tolist()})
    ferl("fit", table, "--target", "y", "--model", "deep", "-o", tmp_path / "m.json")


def test_the_cost_of_many_classes_is_told_before_it_is_paid(capsys):
    from ferl._cli.fit import note_cost

    note_cost("rules", 20_000, 10, 1000)
    assert "1,000 classes in 20,000 rows: a fit of rules takes roughly 4 min" in capsys.readouterr().err
    note_cost("deep", 20_000, 10, 1000)
    note_cost("rules", 300, 4, 3)
    assert capsys.readouterr().err == ""


def test_the_order_of_categories_is_the_same_by_either_product():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 9, (6, 30)).astype(float)
    total, own = weights.sum(axis=0) / weights.sum(), weights.sum(axis=1)
    share = (weights + 5 * total) / (own + 5)[:, None]
    away = (share - total) * np.sqrt(own)[:, None]
    direction = np.linalg.svd(away.T @ away)[0][:, 0]
    direction *= np.sign(direction[np.argmax(np.abs(direction))])
    assert category_order(weights).tolist() == np.argsort(share @ direction).tolist()


def test_ids_are_told_with_a_hint_that_can_be_pasted(tmp_path):
    rows = noisy(60, 0)
    rows |= {"patient id": list(range(1000, 1060)), "code": [f"k{i}" for i in range(60)]}
    rows |= {"count": np.random.default_rng(0).choice(10**6, 60, replace=False).tolist()}
    table = write_table(tmp_path / "t.csv", rows)
    told = ferl("fit", table, "--target", "kind", "-o", tmp_path / "m.json").stderr
    assert "column 'patient id' has another whole number in nearly every row" in told
    assert "column 'code' has 60 categories in 60 rows, as ids have" in told
    assert "'count'" not in told
    drops = [shlex.split(line.rpartition("add ")[2]) for line in told.splitlines() if "--drop" in line]
    assert drops == [["--drop", "patient id"], ["--drop", "code"]]
    # What the shell does not see before the fit is told by the fit.
    write_table(table, noisy(60, 0) | {"k": rows["count"]})
    told = ferl("fit", table, "--target", "kind", "--categorical", "k", "-o", tmp_path / "m.json").stderr
    assert told.count("--drop") == told.count("column 'k' has another value in nearly every row and may be ids") == 1
    write_table(table, noisy(20, 0) | {"code": rows["code"][:20]})
    told = ferl("fit", table, "--target", "kind", "-o", tmp_path / "m.json").stderr
    assert told.count("to leave it out, add --drop code") == 1


def test_the_nearest_name_is_offered_whatever_its_case(tmp_path, folder):
    assert near_name("DIR", ["hir", "dir"]) == "dir"
    assert near_name("Loan-Amount", ["loan_amount", "amount"]) == "loan_amount"
    assert near_name("zzz", ["a"]) is None
    assert "Did you mean 'kind'?" in refused("fit", folder / "train.csv", "--target", "KIND", "-o", tmp_path / "m")
    write_lines(tmp_path / "t.csv", "X,group", "1,a", "")
    told = refused("predict", folder / "model.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    assert "no column 'x', which the model reads. Did you mean 'X'?" in told


def test_accuracy_stands_beside_the_baseline_and_the_recall_of_each_class(tmp_path, folder):
    options = ["--target", "kind", "--test", "0.5", "--held-out", tmp_path / "h.csv", "-o", tmp_path / "m.json"]
    told = ferl("fit", folder / "train.csv", *options).stdout
    held = read_table(tmp_path / "h.csv")["kind"]
    most = max(sorted(set(held)), key=held.count)
    assert f"of {len(held)} rows; always predicting {most} gives {held.count(most) / len(held):.1%}" in told
    rows = pa.csv.read_csv(tmp_path / "h.csv")
    label = load_model(tmp_path / "m.json").predict(rows.drop_columns(["kind"]))
    for kind in sorted(set(held)):
        own = np.array(held) == kind
        assert f"{kind} {(label[own] == kind).mean():.1%} of {own.sum()}" in told
    evaluated = ferl("evaluate", tmp_path / "m.json", tmp_path / "h.csv", "--target", "kind").stdout
    assert evaluated.splitlines() == [line for line in told.splitlines() if line.startswith("test")]


# ---------------------------------------------------------------------------------------------------------------------
# What is written
# ---------------------------------------------------------------------------------------------------------------------


def test_an_abstaining_row_has_no_label_unless_a_guess_is_asked_for(tmp_path, folder):
    write_lines(tmp_path / "t.csv", "x,group", "0.1,a", "900,b", "")
    model = folder / "model.json"
    ferl("predict", model, tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    answers = read_table(tmp_path / "out.csv")
    assert answers["set"][1] == "high|low|mid"
    assert (answers["label"][1], answers["probability"][1]) == ("", "")
    assert answers["label"][0] in ("low", "mid", "high")
    ferl("predict", model, tmp_path / "t.csv", "--guess", "-o", tmp_path / "guess.csv")
    rows = pa.table({"x": [0.1, 900.0], "group": ["a", "b"]})
    assert read_table(tmp_path / "guess.csv")["label"] == load_model(model).predict(rows).tolist()
    line = ferl("predict", model, tmp_path / "t.csv", "--json", "-o", "-").stdout.splitlines()[1]
    assert json.loads(line)["label"] is None


def test_json_has_null_for_what_is_no_number(tmp_path):
    X = pa.table({"x": np.arange(40.0)})
    save_model(FERLTreeClassifier("medium", random_state=0).fit(X, np.arange(40) > 19), tmp_path / "m.json")
    write_lines(tmp_path / "t.csv", "x,note", "NaN,inf", ",NaN", "3,b", "")

    def refuse(constant):
        raise AssertionError(constant)

    out = ferl("predict", tmp_path / "m.json", tmp_path / "t.csv", "--radius", "--json", "-o", "-").stdout
    rows = [json.loads(line, parse_constant=refuse) for line in out.splitlines()]
    assert [row["x"] for row in rows] == [None, None, 3.0]
    assert rows[0]["note"] == "inf"


def test_safe_csv_disarms_formulas_and_leaves_numbers(tmp_path, folder):
    lines = ["x,group,=note", "-1.5,a,=1+2", "2,b,@x", "1,c,-7", "1,c,+49 30", ""]
    write_lines(tmp_path / "t.csv", *lines)
    command = ["predict", folder / "model.json", tmp_path / "t.csv", "-o", tmp_path / "out.csv"]
    ferl(*command)
    assert read_table(tmp_path / "out.csv")["=note"] == ["=1+2", "@x", "-7", "+49 30"]  # as it came in
    ferl(*command, "--safe-csv")
    safe = read_table(tmp_path / "out.csv")
    assert safe["'=note"] == ["'=1+2", "'@x", "-7", "'+49 30"]
    assert safe["x"][0] == "-1.5"
    assert "--safe-csv is about CSV" in refused(*command[:-1], tmp_path / "out.parquet", "--safe-csv")


def test_two_outputs_to_one_path_are_refused(tmp_path, folder):
    both = tmp_path / "both.csv"
    fit = ["fit", folder / "train.csv", "--target", "kind", "--test", "0.5"]
    assert "named for two outputs" in refused(*fit, "--held-out", both, "-o", tmp_path / "." / "both.csv")
    assert "named for two outputs" in refused("demo", "--report", both, "--picture", both)
    assert "named for two outputs" in refused("export", folder / "model.json", "-o", both, "--scorecard", both)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ")
@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_a_reader_who_has_seen_enough_ends_a_command_quietly(tmp_path, folder, command):
    write_lines(tmp_path / "t.csv", "x,group", *["0.5,a"] * 50_000, "")
    arguments = {"predict": [tmp_path / "t.csv", "-o", "-"], "inspect": ["--rules"]}[command]
    program = [sys.executable, "-m", "ferl._cli.app", command, folder / "model.json", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert told == b""


def test_rules_come_page_by_page(folder):
    model = folder / "model.json"
    everything = ferl("inspect", model, "--rules").stdout
    first = ferl("inspect", model, "--rules", "--page", "1").stdout
    assert first.strip()
    assert first.strip() in everything
    assert "page" in refused("inspect", model, "--page", "99")
    top = json.loads(ferl("inspect", model, "--top", "1", "--json").stdout)["rules"]
    assert len(top) < len(json.loads(ferl("inspect", model, "--rules", "--json").stdout)["rules"])


def test_dates_of_a_csv_file_whose_days_settle_the_order_are_dates(tmp_path):
    days = [f"{day:02d}.{month:02d}.2019" for month in range(1, 7) for day in range(1, 29)]
    table = write_table(tmp_path / "t.csv", {"day": days, "kind": ["early"] * 84 + ["late"] * 84})
    told = ferl("fit", table, "--target", "kind", "-o", tmp_path / "model.json").stderr
    assert "holds dates as text, the day first, and is taken as dates" in told
    others = write_table(tmp_path / "o.csv", {"day": ["05.01.2019", "01.05.2019", "2019-01-05"]})
    ferl("predict", tmp_path / "model.json", others, "-o", tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv")["label"] == ["early", "late", "early"]


def test_a_field_of_three_megabytes_is_read(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=400)
    rows = {"x": numbers, "note": ["short"] * 400, "y": (numbers > 0).astype(int)}
    rows["note"][250] = "z" * 3_000_000
    table = write_table(tmp_path / "rows.csv", rows)
    ferl("fit", table, "--target", "y", "--drop", "note", "-o", tmp_path / "model.json")
    ferl("predict", tmp_path / "model.json", table, "-o", tmp_path / "out.csv", "--guess")
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert len(lines) == 401
    assert len(lines[251]) > 3_000_000
    assert [float(line.split(",")[0]) for line in lines[1:]] == numbers.tolist()


def test_a_safe_scorecard_has_no_formulas(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=300)
    table = write_table(tmp_path / "rows.csv", {"=cmd()": numbers, "y": (numbers > 0).astype(int)})
    ferl("fit", table, "--target", "y", "-o", tmp_path / "model.json")
    command = ["export", tmp_path / "model.json", "--scorecard", tmp_path / "points.csv"]
    ferl(*command)
    assert "\n=cmd()" in (tmp_path / "points.csv").read_text(encoding="utf-8")
    ferl(*command, "--safe-csv")
    text = (tmp_path / "points.csv").read_text(encoding="utf-8")
    assert "\n=cmd()" not in text
    assert "'=cmd()" in text
    assert "--safe-csv is about CSV" in refused(*command[:-1], tmp_path / "points.txt", "--safe-csv")
    assert "add --scorecard" in refused("export", tmp_path / "model.json", "-o", tmp_path / "m.onnx", "--safe-csv")


def test_a_compressed_file_is_called_so(tmp_path):
    (tmp_path / "rows.csv").write_bytes(gzip.compress(b"x,y\n1,2\n" * 50))
    assert "rows.csv is compressed. Unpack it first: gunzip" in refused(
        "fit", tmp_path / "rows.csv", "--target", "y", "-o", tmp_path / "model.json"
    )
    assert not (tmp_path / "model.json").exists()
