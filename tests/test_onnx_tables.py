"""Exported models of real tables: categories, known and unseen, and missing values, as in Python."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_examples import ferl
from estimators import classifier
from ferl import FERLTreeClassifier, save_model
from ferl.onnx import onnx_inputs, to_onnx
from onnx_examples import assert_answers, assert_exports, run, session_of
from table_examples import TABLE_LAW, fit_mixed, mixed_table, mixed_tables, rows_beside


@TABLE_LAW
@given(
    mixed_tables(),
    st.sampled_from(["deep", "compact"]),
    st.sampled_from(["dempster", "cautious", "chain", "vote"]),
    st.booleans(),
    st.sampled_from(["neighbour", "residual"]),
)
def test_tables_with_categories_and_holes_say_the_same(table, variant, combination, missing_conditions, measure):
    model = fit_mixed(table, kind=variant, combination=combination, missing_conditions=missing_conditions)
    assert_exports(model, rows_beside(table, 0), measure)


def people(n=200):
    """Text, booleans, whole numbers and fractions that are categories, and numbers; all with holes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "region": rng.choice(["north", "west", "süd"], n).astype(object),
            "smoker": rng.random(n) < 0.5,
            "code": rng.choice([101, 202, -303], n),
            "dose": rng.choice([0.1, 0.25, 1.5], n),
        }
    )
    y = np.where((table["age"] > 0) ^ (table["code"] == 101) ^ table["smoker"], "ill", "well")
    table = table.astype({"smoker": object, "code": float}).mask(rng.random(table.shape) < 0.1)
    return table, y


def fitted_people(kind="deep", **parameters):
    table, y = people()
    chosen = ["region", "smoker", "code", "dose"]
    return classifier(kind, random_state=0, categorical_features=chosen, **parameters).fit(table, y), table


def test_raw_columns_are_fed_without_ferl():
    model, table = fitted_people(missing_conditions=True)
    rows = table.iloc[:40].copy()
    rows.loc[:3, "region"] = "mars"
    rows.loc[2:6, "code"] = 999
    rows.loc[5:9, "dose"] = 0.100001
    # As someone does it who has no ferl: text with "" for a missing one, all else as doubles.
    feed = {name: rows[name].astype(float).to_numpy()[:, None] for name in ("age", "smoker", "code", "dose")}
    feed["region"] = rows["region"].fillna("").to_numpy(dtype=object)[:, None]
    assert_exports(model, rows, feed=feed)
    session = session_of(to_onnx(model))
    assert [(own.name, own.type, own.shape) for own in session.get_inputs()] == [
        ("age", "tensor(double)", ["n_rows", 1]),
        ("region", "tensor(string)", ["n_rows", 1]),
        ("smoker", "tensor(double)", ["n_rows", 1]),
        ("code", "tensor(double)", ["n_rows", 1]),
        ("dose", "tensor(double)", ["n_rows", 1]),
    ]


def test_a_frame_of_any_library_and_column_order_is_turned_into_inputs():
    model, table = fitted_people()
    rows = table.iloc[:30]
    expected = onnx_inputs(model, rows)
    shuffled = rows[["dose", "smoker", "age", "region", "code"]]
    # Through Python's values: pandas keeps booleans with holes as objects.
    frame = pl.DataFrame({name: shuffled[name].replace({np.nan: None}).tolist() for name in shuffled}, strict=False)
    for other in (shuffled, frame):
        found = onnx_inputs(model, other)
        assert list(found) == list(expected)
        for name, value in found.items():
            np.testing.assert_array_equal(value, expected[name])


def test_single_precision_leaves_categories_double():
    model, table = fitted_people()
    feed = onnx_inputs(model, table, dtype="float32")
    assert (feed["age"].dtype, feed["dose"].dtype) == (np.float32, np.float64)
    found = run(session_of(to_onnx(model, dtype="float32")), feed)
    rounded = table.assign(age=table["age"].astype(np.float32).astype(float))
    assert_answers(found, model, rounded, tolerance=1e-7)


def test_the_empty_text_can_be_a_category_and_then_another_one_is_missing():
    rows = [["", 1.0], ["a", 2.0], ["<missing>", 3.0], [None, 4.0]] * 20
    model = FERLTreeClassifier("deep", random_state=0).fit(rows, ["x", "y", "z", "x"] * 20)
    told = {own.key: own.value for own in to_onnx(model).metadata_props}
    assert json.loads(told["inputs"])["x0"] == 'category, as text; missing: "<<missing>>"'
    judged = [*rows[:4], ["b", 1.0], ["<<missing>>", 2.0]]
    feed = onnx_inputs(model, judged)
    assert feed["x0"].ravel().tolist()[:4] == ["", "a", "<missing>", "<<missing>>"]
    assert "<<missing>>" not in feed["x0"].ravel()[4:]  # there it is text like any other that training did not have
    assert_exports(model, judged)


def test_names_that_outputs_have_too_are_told_apart():
    mixed = mixed_table(np.random.default_rng(0), n_numbers=2)
    table = mixed.frame.set_axis(["label", "label_", "", "ferl/1"], axis=1)
    model = FERLTreeClassifier("deep", random_state=0, max_rules=5).fit(table, mixed.y)
    assert list(onnx_inputs(model, table)) == ["label_", "label__", "x2", "x3"]
    assert_exports(model, table)


def test_a_column_without_any_category_is_missing_everywhere():
    table = pd.DataFrame({"empty": pd.Series([None] * 60, dtype="string"), "c": ["a", "b", "c"] * 20})
    model = FERLTreeClassifier("deep", random_state=0).fit(table, [0, 1, 1] * 20)
    assert_exports(model, table)
    assert_exports(model, table.assign(empty="now there"))


def test_text_of_any_kind_goes_through():
    texts = ["a\0b", "a", " ", "日本", "\U0001f33b", 'q"uote', "line\nbreak"]
    model = FERLTreeClassifier("deep", random_state=0).fit([[text, 1.0] for text in texts * 10], texts * 10)
    found = assert_exports(model, [[text, 1.0] for text in [*texts, "A", "a\0"]])
    assert found["label"].tolist()[:7] == texts


def test_categories_that_doubles_cannot_tell_apart_are_refused():
    codes = np.array([2**53 + 1, 2**53 + 2] * 20)
    model = FERLTreeClassifier("deep", random_state=0, categorical_features=[0]).fit(codes[:, None], [0, 1] * 20)
    with pytest.raises(ValueError, match=r"Feature 0 holds integers beyond 2\*\*53 as categories"):
        to_onnx(model)


# ---------------------------------------------------------------------------------------------------------------------
# The command line and the page
# ---------------------------------------------------------------------------------------------------------------------


def test_export_writes_a_file_that_says_the_same(tmp_path):
    model, table = fitted_people()
    save_model(model, tmp_path / "model.json")
    told = ferl("export", tmp_path / "model.json", "-o", tmp_path / "model.onnx").output
    assert "inputs: age, region, smoker, code, dose" in told
    assert "outputs: label, pignistic, belief, plausibility, ignorance, set, novelty" in told
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert_answers(run(session, onnx_inputs(model, table)), model, table)
    ferl("export", tmp_path / "model.json", "-o", tmp_path / "lean.onnx", "--no-novelty", "--dtype", "float32")
    lean = onnxruntime.InferenceSession(tmp_path / "lean.onnx")
    assert [own.name for own in lean.get_outputs()][-1] == "set"
    assert lean.get_inputs()[0].type == "tensor(float)"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lean.onnx", "model.json", "model.onnx"]


def test_export_refuses_places_where_nothing_should_be_written(tmp_path, monkeypatch):
    model, _ = fitted_people()
    save_model(model, tmp_path / "model.json")
    before = (tmp_path / "model.json").read_bytes()
    assert "does not exist" in ferl("export", tmp_path / "model.json", "-o", tmp_path / "no" / "m.onnx", code=2).output
    told = ferl("export", tmp_path / "model.json", "-o", tmp_path / "model.json", code=2).output
    assert "would replace the file that is read" in told
    assert (tmp_path / "model.json").read_bytes() == before
    monkeypatch.setitem(sys.modules, "onnx", None)  # as if it were not installed
    told = ferl("export", tmp_path / "model.json", "-o", tmp_path / "m.onnx", code=2).output
    assert 'pip install "ferl[onnx]"' in told
