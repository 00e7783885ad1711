"""All doors encode alike: a value is the same category in a data frame, a list, a dict, a Parquet or a CSV file."""

from __future__ import annotations

import csv
import datetime as dt
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv
from sklearn.base import clone
from typer.testing import CliRunner

from ferl import FERLTreeClassifier, load_model, save_model
from ferl._cli.app import app
from ferl._tables import Schema, read_row, table_files
from ferl._tables.table_files import FileForm, RowReader, TableFile
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.metrics import set_coverage
from ferl.report import write_report
from ferl.streaming import fit_parquet, predict_batches, predict_parquet
from ferl.words import mdlp_partition, quantile_partition, refit_partition, width_partition

NAN = float("nan")
SINGLE = pa.float32()

# Values of training, values that are given, and the index of the category of each of these.
CASES = {
    "single precision": (pa.array([0.1, 0.2, 0.7], SINGLE), pa.array([0.7, 0.1, None, 0.3], SINGLE), [2, 0, NAN, 3]),
    "single for double": (pa.array([0.1, 0.2, 0.7]), pa.array([0.7, 0.1, None, 0.3], SINGLE), [2, 0, NAN, 3]),
    "double for single": (pa.array([0.1, 0.2, 0.7], SINGLE), pa.array([0.7, 0.1, None, 0.3]), [2, 0, NAN, 3]),
    "single for text": (pa.array(["0.1", "0.7"]), pa.array([0.7, 0.1, None, 0.3], SINGLE), [1, 0, NAN, 2]),
    "NaN in floats": (pa.array([1.5, 2.5, NAN]), pa.array([2.5, NAN, 1.5, 9.5]), [1, NAN, 0, 2]),
    "NaN in integers": (pa.array([7, 5]), pa.array([NAN, 7.0, 9.0]), [NAN, 1, 2]),
    "integers as floats": (pa.array([7, 5]), pa.array([7.0, 5.0, None, 9.0, 5.5]), [1, 0, NAN, 2, 2]),
    "integers as text": (pa.array([7, 5]), pa.array(["7", "7.0", "007", None, "9", "nan"]), [1, 1, 1, NAN, 2, NAN]),
    "floats as text": (pa.array([1.5, 20.0]), pa.array(["1.50", "+20", " 2e1", "3"]), [0, 1, 1, 2]),
    "long integers as text": (pa.array([2**53, 2**53 + 1]), pa.array([str(2**53 + 1), str(2**53 + 2)]), [1, 2]),
    "text that spells numbers": (pa.array(["7", "08"]), pa.array(["7", "7.0", "8", "08", "9"]), [1, 1, 0, 0, 2]),
    "text for integers": (pa.array(["7", "08"]), pa.array([7, 8, None, 9]), [1, 0, NAN, 2]),
    "text for floats": (pa.array(["7", "08"]), pa.array([7.0, 8.0, NAN, 9.5]), [1, 0, NAN, 2]),
    "one number spelled twice": (pa.array(["7", "7.0"]), pa.array(["7", "7.0", "7.00"]), [0, 1, 2]),
    "numbers among text": (pa.array(["7", "x"]), pa.array([7, None]), [0, NAN]),
    "booleans as text": (pa.array([True, False]), pa.array(["True", "true", " FALSE", "0", "2"]), [1, 1, 0, 0, 2]),
    "booleans as numbers": (pa.array([True, False]), pa.array([1, 0, None, 2]), [1, 0, NAN, 2]),
    "text for booleans": (pa.array(["True", "False"]), pa.array([True, False, None]), [1, 0, NAN]),
    "dictionaries": (pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None]).dictionary_encode(), [0, NAN]),
    "numbers in dictionaries": (pa.array([7, 5]), pa.array([5.0, None, 7.0]).dictionary_encode(), [0, NAN, 1]),
}


def through_every_door(schema, table, folder):
    """The rows of a table as numbers, by the name of the way they came."""
    rows = [list(row.values()) for row in table.to_pylist()]
    yield "pandas", schema.encode(table.to_pandas())
    yield "pandas, objects", schema.encode(pd.DataFrame(rows, columns=table.column_names, dtype=object))
    yield "pandas, types of Arrow", schema.encode(table.to_pandas(types_mapper=pd.ArrowDtype))
    yield "polars", schema.encode(pl.from_arrow(table))
    yield "pyarrow", schema.encode(table)
    yield "rows", schema.encode(rows)
    yield "rows without names", replace(schema, names=None).encode(rows)
    yield "array of objects", schema.encode(np.array(rows, dtype=object))
    yield "dicts", np.vstack([read_row(schema, (), row).values for row in table.to_pylist()])
    pq.write_table(table, folder / "table.parquet")
    batches = pq.ParquetFile(folder / "table.parquet").iter_batches(2)
    yield "batches of Parquet", np.vstack([schema.encode(batch) for batch in batches])
    write_csv(pa.table({name: decoded(table[name]) for name in table.column_names}), folder / "table.csv")
    for name in ("table.parquet", "table.csv"):
        file = TableFile(folder / name, FileForm())
        reader = RowReader(schema, (), file.names, file.path, file.form)
        yield name, np.vstack([reader.read(batch).rows for batch in file.batches()])


def decoded(column):
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


@pytest.mark.parametrize("case", CASES)
def test_all_doors_encode_alike(case, tmp_path):
    training, given, expected = CASES[case]
    schema = Schema.learn(pa.table({"n": np.arange(len(training)), "x": training}), ["x"])
    table = pa.table({"n": np.arange(len(given)) + 0.5, "x": given})
    for door, encoded in through_every_door(schema, table, tmp_path):
        np.testing.assert_array_equal(encoded, np.column_stack([table["n"], expected]), err_msg=door)


DAYS = [dt.date(2019, 3, 1), dt.date(2020, 2, 29)]
MOMENTS = [dt.datetime(2019, 3, 1, 12, 30), None, dt.datetime(2020, 2, 29, 6)]
SIZES = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2]), pa.array(["low", "mid", "high"]), ordered=True)
# Values of training whose kind is not decided by a choice, values that are given, and the numbers of these.
KINDS = {
    "dates": (pa.array(DAYS), pa.array([DAYS[1], None, DAYS[0]]), [18321.0, NAN, 17956.0]),
    "dates as text": (pa.array(DAYS), pa.array(["2020-02-29", None, "2019-03-01"]), [18321.0, NAN, 17956.0]),
    "markers among dates": (pa.array(DAYS), pa.array(["2020-02-29", "NA"]), [18321.0, NAN]),
    "times": (pa.array(MOMENTS), pa.array(MOMENTS), [17956 + 12.5 / 24, NAN, 18321.25]),
    "times as text": (
        pa.array(MOMENTS),
        pa.array(["2019-03-01 12:30", "2020-02-29T06:00:00"]),
        [17956 + 12.5 / 24, 18321.25],
    ),
    "dates for times": (pa.array(MOMENTS), pa.array(DAYS), [17956.0, 18321.0]),
    "moments": (
        pa.array(MOMENTS, pa.timestamp("us", "Europe/Oslo")),
        pa.array(MOMENTS, pa.timestamp("ms", "UTC")),
        [17956 + 12.5 / 24, NAN, 18321.25],
    ),
    "ordered": (SIZES, SIZES, [1.0, 0.0, 2.0]),
    "ordered as text": (SIZES, pa.array(["high", "huge", None, "low"]), [2.0, NAN, NAN, 0.0]),
    "numbers beside a marker": (
        pa.array(["1.5", "NA", "2"]),
        pa.array(["1.5", "NA", "?", " 7 "]),
        [1.5, NAN, NAN, 7.0],
    ),
    "dates whose days settle the order": (
        pa.array(["13.01.2019", "02.01.2019"]),
        pa.array(["02.01.2019", "2019-01-02", None]),
        [17898.0, 17898.0, NAN],
    ),
    "numbers for such text": (pa.array(["1.5", "NA", "2"]), pa.array([1.5, None, 7.0]), [1.5, NAN, 7.0]),
}


@pytest.mark.filterwarnings("ignore::ferl.TableWarning")
@pytest.mark.parametrize("case", KINDS)
def test_all_doors_read_dates_ordered_categories_and_markers_alike(case, tmp_path):
    training, given, expected = KINDS[case]
    schema = Schema.learn(pa.table({"n": np.arange(len(training)), "x": training}))
    table = pa.table({"n": np.arange(len(given)) + 0.5, "x": given})
    for door, encoded in through_every_door(schema, table, tmp_path):
        np.testing.assert_allclose(encoded, np.column_stack([table["n"], expected]), rtol=1e-15, err_msg=door)


@pytest.mark.parametrize(
    ("training", "given", "message"),
    [
        ([5, 7], ["x", "y"], r"holds text .for example 'x'.; its categories in training were numbers .for example 5"),
        ([True, False], ["yes"], "its categories in training were booleans .for example False"),
        (["a", "7"], [8, 9], "holds numbers .for example 8.; its categories in training were text .for example '7'"),
    ],
)
def test_columns_none_of_whose_values_can_be_a_category_are_refused(training, given, message):
    schema = Schema.learn(pl.DataFrame({"x": training}), ["x"])
    for table in (pd.DataFrame({"x": given}), pl.DataFrame({"x": given}), [[value] for value in given]):
        with pytest.raises(ValueError, match=message):
            schema.encode(table)


@pytest.mark.parametrize("given", [pa.array([7.0, -np.inf]), pa.array(["7", "-inf"])])
def test_infinity_among_numeric_categories_is_refused(given, tmp_path):
    schema = Schema.learn(pl.DataFrame({"x": [1.5, 7.0]}), ["x"])
    table = pa.table({"x": given})
    for frame in (table.to_pandas(), pl.from_arrow(table), table):
        with pytest.raises(ValueError, match="Column 'x' holds infinity"):
            schema.encode(frame)
    pq.write_table(table, tmp_path / "table.parquet")
    write_csv(table, tmp_path / "table.csv")
    for name in ("table.parquet", "table.csv"):
        file = TableFile(tmp_path / name, FileForm())
        with pytest.raises(ValueError, match="Column 'x' holds infinity"):
            RowReader(schema, (), file.names, file.path, file.form).read(file.read())


def test_unseen_categories_do_not_list_other_spellings_of_known_ones():
    schema = Schema.learn(pl.DataFrame({"x": [5, 7]}), ["x"])
    assert schema.unseen(pl.DataFrame({"x": ["7.0", "8", "5", None]})) == {"x": ["8"]}


# ---------------------------------------------------------------------------------------------------------------------
# From fit to answers
# ---------------------------------------------------------------------------------------------------------------------


def single_precision(folder):
    """A Parquet file whose label is told by a category in single precision, some of them missing."""
    rng = np.random.default_rng(0)
    value = rng.choice(np.array([0.1, 0.2, 0.7, 1.3], dtype=np.float32), 400)
    y = np.where(np.isin(value, np.array([0.1, 0.7], dtype=np.float32)), "yes", "no")
    value[::40] = np.nan
    table = pa.table({"x": value, "noise": rng.normal(size=400), "y": y})
    pq.write_table(table, folder / "table.parquet")
    return table


def test_every_way_from_a_file_to_answers_gives_the_same_answers(tmp_path):
    table = single_precision(tmp_path)
    arguments = ["table.parquet", "--target", "y", "--categorical", "x", "-o", "model.json"]
    path = [str(tmp_path / own) if "." in own else own for own in arguments]
    assert CliRunner().invoke(app, ["fit", *path]).exit_code == 0
    model = load_model(tmp_path / "model.json")
    expected = model.predict_evidence(table.to_pandas()[["x", "noise"]])
    has_value = ~np.isnan(table["x"].to_numpy())
    assert (model.classes_[expected.pignistic.argmax(axis=1)] == table["y"].to_numpy())[has_value].all()
    estimator = clone(model).set_params(categorical_features=["x"])
    streamed = fit_parquet(tmp_path / "table.parquet", "y", estimator=estimator)
    assert streamed.columns_ == model.columns_
    np.testing.assert_array_equal(streamed.predict_evidence(table.drop(["y"])).belief, expected.belief)
    write_csv(table, tmp_path / "table.csv")
    for name in ("table.parquet", "table.csv"):
        arguments = [str(tmp_path / own) for own in ("model.json", name)]
        answers = tmp_path / "answers.parquet"
        assert CliRunner().invoke(app, ["predict", *arguments, "-o", str(answers)]).exit_code == 0
        assert pq.read_table(answers)["ignorance"].to_pylist() == expected.ignorance.tolist()
        assert predict_parquet(model, tmp_path / name, answers) == 400
        assert pq.read_table(answers)["ignorance"].to_pylist() == expected.ignorance.tolist()
    batches = (batch.select(["x", "noise"]) for batch in pq.ParquetFile(tmp_path / "table.parquet").iter_batches(90))
    found = np.vstack([evidence.belief for evidence in predict_batches(model, batches)])
    np.testing.assert_array_equal(found, expected.belief)


def test_unseen_categories_of_a_file_give_a_warning(tmp_path):
    X = pd.DataFrame({"x": ["a", "b"] * 30})
    model = FERLTreeClassifier("deep", random_state=0).fit(X, ["no", "yes"] * 30)
    pq.write_table(pa.table({"x": ["a", "c", "c"]}), tmp_path / "new.parquet")
    with pytest.warns(UserWarning, match="column 'x': 2 rows have a category that training did not have.*'c' .2."):
        predict_parquet(model, tmp_path / "new.parquet", tmp_path / "out.csv")


def test_thousands_of_columns_are_judged(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 5000)).round(3), columns=[f"c{j}" for j in range(5000)])
    model = FERLTreeClassifier("deep", random_state=0, max_rules=3, n_exemplars=0).fit(X, X["c7"] > 0)
    save_model(model, tmp_path / "model.json")
    with open(tmp_path / "new.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([X.columns, *X.to_numpy().tolist()])
    arguments = [str(tmp_path / own) for own in ("model.json", "new.csv")]
    result = CliRunner().invoke(app, ["predict", *arguments, "-o", str(tmp_path / "out.parquet"), "--only-answers"])
    assert result.exit_code == 0
    assert pq.read_table(tmp_path / "out.parquet")["label"].to_pylist() == model.predict(X).tolist()


def n_calls_of_predict(folder, n_columns, monkeypatch):
    """How many calls, of Python's functions and of others, judging 40 rows of a CSV file takes."""
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 1 << 13)  # far less than the file, as with 100,000 columns
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, n_columns)).round(3)).rename(columns="c{}".format)
    model = FERLTreeClassifier("deep", random_state=0, max_rules=3, n_exemplars=0).fit(X, X["c7"] > 0)
    save_model(model, folder / "m.json")
    X.to_csv(folder / "new.csv", index=False)
    n_calls = 0

    def count(frame, event, argument):
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    arguments = ["predict", str(folder / "m.json"), str(folder / "new.csv"), "-o", str(folder / "out.csv")]
    assert CliRunner().invoke(app, arguments).exit_code == 0  # what is imported late is imported now
    sys.setprofile(count)
    try:
        CliRunner().invoke(app, arguments)
    finally:
        sys.setprofile(None)
    return n_calls


def test_the_work_for_a_file_grows_with_its_columns_and_not_with_their_square(tmp_path, monkeypatch):
    n_calls = [n_calls_of_predict(tmp_path, n_columns, monkeypatch) for n_columns in (100, 300, 900)]
    assert n_calls[2] - n_calls[1] < 5 * (n_calls[1] - n_calls[0])  # 3 times in proportion, 9 times by the square


# ---------------------------------------------------------------------------------------------------------------------
# Partitions
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [quantile_partition, width_partition, mdlp_partition])
def test_builders_take_names_and_numbers_from_any_table(build):
    values = {"age": [20, 30, None, 50, 60, 70], "size": [1.5, 2.5, 3.5, None, 5.5, 6.5]}
    labels = ([0, 0, 0, 1, 1, 1],) if build is mdlp_partition else ()
    frame = pd.DataFrame(values)
    expected = build(frame.to_numpy(), *labels, feature_names=["age", "size"])
    tables = (frame, frame.convert_dtypes(), pl.DataFrame(values), pa.table(values), pa.RecordBatch.from_pandas(frame))
    for table in tables:
        assert build(table, *labels) == expected
    assert [own.name for own in build(frame.to_numpy(), *labels)] == ["x0", "x1"]
    with pytest.raises(ValueError, match=r"Column 'age' holds text .for example 'old'.; words describe numbers"):
        build(frame.assign(age="old"), *labels)


# ---------------------------------------------------------------------------------------------------------------------
# Layers
# ---------------------------------------------------------------------------------------------------------------------


def test_tables_import_utilities_alone():
    program = (
        "import importlib, pkgutil, sys, ferl._tables\n"
        "for own in pkgutil.iter_modules(ferl._tables.__path__): importlib.import_module(f'ferl._tables.{own.name}')\n"
        "layers = {name.split('.')[1] for name in sys.modules if name.startswith('ferl.')}\n"
        "assert layers <= {'_core', '_tables', '_util'}, layers\n"
        "assert not {'sklearn', 'typer', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_judging_a_file_does_not_import_the_command_line(tmp_path):
    model = FERLTreeClassifier("deep", random_state=0).fit(pd.DataFrame({"x": range(40)}), np.arange(40) > 20)
    save_model(model, tmp_path / "model.json")
    pq.write_table(pa.table({"x": [3, 30]}), tmp_path / "new.parquet")
    program = (
        "import sys; from ferl import load_model; from ferl.streaming import predict_parquet\n"
        "model = load_model('model.json'); assert predict_parquet(model, 'new.parquet', 'out.csv') == 2\n"
        "assert not {'ferl._cli', 'typer'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def labels_through_every_door(model, X, y, tmp_path):
    """The calls that take labels for a fitted model."""
    yield lambda: ConformalFERL(model).conformalize(X, y)
    yield lambda: RiskControlledFERL(model, risk=0.5).calibrate(X, y)
    yield lambda: CalibratedFERL(model).calibrate(X, y)
    yield lambda: refit_partition(model, X, y)
    yield lambda: write_report(model, X, y, path=tmp_path / "report.html")
    yield lambda: clone(model).fit(X, model.classes_[np.arange(len(y)) % 2]).partial_fit(X, y)
    yield lambda: set_coverage(y, model.predict_set(X), model.classes_)


def test_text_is_not_a_number_for_any_call_that_takes_labels(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    model = FERLTreeClassifier("compact", random_state=0).fit(X, y)
    for take_numbers in labels_through_every_door(model, X, y.astype(float), tmp_path):
        take_numbers()
    for take_text in labels_through_every_door(model, X, y.astype(str), tmp_path):
        with pytest.raises(ValueError, match=r"never equal|No label of y"):
            take_text()
