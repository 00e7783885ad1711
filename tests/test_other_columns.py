"""Rows to judge may have further columns, and may lack those that no rule reads; rows to learn from may not."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_examples import ferl
from ferl import FERLClassifier, FERLTreeClassifier, OtherColumnsWarning, save_model
from ferl.streaming import predict_parquet

KINDS = {"rules": FERLClassifier, "trees": FERLTreeClassifier}


def table(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=400),
            "noise": rng.normal(size=400),
            "origin": rng.integers(0, 3, 400),
            "city": rng.choice(["Bergen", "Oslo", "Voss"], 400),
        }
    )
    return frame, np.where(frame.age + (frame.city == "Oslo") + 0.3 * rng.normal(size=400) > 0, "yes", "no")


@pytest.fixture(params=KINDS, scope="module")
def fitted(request):
    frame, y = table()
    model = KINDS[request.param](max_rules=4, random_state=0, categorical_features=["origin"]).fit(frame, y)
    unread = [name for j, name in enumerate(frame.columns) if j not in model.model_.read_features]
    assert "noise" in unread
    assert "age" not in unread
    assert model.categories_[2].tolist() == [0, 1, 2]
    assert model.categories_[3].tolist() == ["Bergen", "Oslo", "Voss"]
    return model, frame, y, unread


def test_further_columns_are_ignored_with_a_note(fitted):
    model, frame, _, _ = fitted
    expected = model.predict_proba(frame)
    for own in (frame.assign(name="Ann", more=1.0), pl.from_pandas(frame).with_columns(name=pl.lit("Ann"))):
        with pytest.warns(OtherColumnsWarning, match=r"columns that the model was not fitted on \('name'"):
            np.testing.assert_array_equal(model.predict_proba(own), expected)
    nested = pa.Table.from_pandas(frame).append_column("struct", pa.array([{"u": 1}] * len(frame)))
    with pytest.warns(OtherColumnsWarning, match="'struct'"):
        np.testing.assert_array_equal(model.predict_proba(nested), expected)


def test_columns_that_no_rule_reads_may_be_missing(fitted):
    model, frame, _, unread = fitted
    expected, some = model.predict_proba(frame), frame.drop(columns=unread)
    with pytest.warns(OtherColumnsWarning, match="no columns 'noise'.*which no rule reads"):
        np.testing.assert_array_equal(model.predict_proba(some), expected)
    one = some.iloc[3]
    for row in (one, one.to_dict()):
        with pytest.warns(OtherColumnsWarning):
            np.testing.assert_array_equal(model.predict_proba(row), expected[3:4])
        with pytest.warns(OtherColumnsWarning):
            np.testing.assert_array_equal(model.predictor().predict_proba(row), expected[3])
        with pytest.warns(OtherColumnsWarning):
            assert model.explain(row).probability == tuple(expected[3])
    with pytest.warns(OtherColumnsWarning, match="'name'"):
        model.predictor().predict({**frame.iloc[3].to_dict(), "name": "Ann"})


def test_columns_that_rules_read_are_needed(fitted):
    model, frame, y, _ = fitted
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- Age\n.*now missing:\n- age"):
        model.predict(frame.rename(columns={"age": "Age"}))
    with pytest.raises(ValueError, match="no value for 'age'"):
        model.predict(frame.drop(columns="age").iloc[0].to_dict())
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.partial_fit(frame.assign(more=1), y)


def test_files_may_lack_the_same_columns(fitted, tmp_path):
    model, frame, _, unread = fitted
    rows = pa.Table.from_pandas(frame.drop(columns=unread)).append_column("s", pa.array([{"u": 1}] * len(frame)))
    pq.write_table(rows, tmp_path / "rows.parquet")
    with pytest.warns(UserWarning, match=r"the file lacks .*'noise'.*, which no rule reads"):
        predict_parquet(model, tmp_path / "rows.parquet", tmp_path / "out.parquet", guess=True)
    assert pq.read_table(tmp_path / "out.parquet")["label"].to_pylist() == model.predict(frame).tolist()
    save_model(model, tmp_path / "model.json")
    told = ferl("predict", tmp_path / "model.json", tmp_path / "rows.parquet", "-o", tmp_path / "out.csv")
    assert "the file lacks" in told.stderr
    # A struct that the model does not read is text in CSV.
    assert pd.read_csv(tmp_path / "out.csv")["s"].iloc[0] == '{"u": 1}'
    pq.write_table(rows.drop_columns(["age"]), tmp_path / "less.parquet")
    told = ferl("predict", tmp_path / "model.json", tmp_path / "less.parquet", "-o", tmp_path / "o.csv", code=2)
    assert "has no column 'age'" in told.stderr


def test_a_complete_table_gives_no_note(fitted):
    model, frame, _, _ = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(frame[frame.columns[::-1]])
