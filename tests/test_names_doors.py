"""Kinds of columns and words of a table through files, streams, ONNX and reports."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import ferl
from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, TableWarning, load_model, save_model
from ferl.report import write_report
from ferl.saving import ModelFileError
from ferl.streaming import fit_batches, fit_parquet
from name_examples import SAID, SIZES, fitted, loans

__all__ = ["fitted"]  # a fixture


@pytest.mark.parametrize("variant", ["rules", "medium"])
def test_streams_learn_the_same_model_from_every_kind_of_column(variant, tmp_path):
    table, y = loans()
    table = table.assign(code=["NA" if i % 9 == 0 else str(i % 4) for i in range(len(table))])
    estimator = classifier(variant, random_state=0, missing_conditions=variant == "medium")
    with pytest.warns(TableWarning, match="Column 'code' holds numbers as text"):
        whole = clone(estimator).fit(table, y, describe=SAID)
    pq.write_table(pa.Table.from_pandas(table.assign(deny=y)), tmp_path / "table.parquet")
    batches = [(table[i : i + 77], y[i : i + 77]) for i in range(0, len(table), 77)]
    with pytest.warns(TableWarning, match="Column 'code' holds numbers as text"):
        streamed = [
            fit_parquet(tmp_path / "table.parquet", "deny", estimator=estimator, describe=SAID, batch_rows=64),
            fit_batches(batches, estimator=estimator, describe=SAID),
        ]
    for other in streamed:
        assert other.columns_ == whole.columns_
        assert other.model_.missing_features == whole.model_.missing_features
        assert other.model_.schema.target == whole.model_.schema.target
        np.testing.assert_array_equal(other.predict_proba(table), whole.predict_proba(table))
        assert str(other.explain(table.iloc[3])) == str(whole.explain(table.iloc[3]))


def test_batches_whose_kinds_differ_are_refused():
    y = [0, 1]
    for first, second, message in (
        (
            pd.Categorical(SIZES[:2], SIZES, ordered=True),
            pd.Categorical(SIZES[:2], SIZES[::-1], ordered=True),
            "same ord",
        ),
        (pd.to_datetime(["2019-03-01"] * 2), [1.0, 2.0], "holds dates in some batches and numbers in others"),
        (
            pd.to_datetime(["2019-03-01"] * 2),
            pd.to_datetime(["2019-03-01"] * 2, utc=True),
            "a time zone in some batches",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            fit_batches([(pd.DataFrame({"x": own}), y) for own in (first, second)])


def test_onnx_takes_days_and_indices_and_agrees(fitted):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx

    table, _ = loans()
    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString())
    feed = onnx_inputs(fitted, table)
    assert feed["admitted"][0, 0] == (table.admitted[0] - pd.Timestamp("1970-01-01")).days
    assert feed["size"][0, 0] == SIZES.index(table["size"][0])
    forms = {own.name: own.doc_string for own in to_onnx(fitted).graph.input}
    assert forms["admitted"] == "days since 1970-01-01; missing: NaN"
    assert forms["size"] == 'index, from 0, in ["low", "mid", "high"]; missing: NaN'
    [label] = session.run(["label"], feed)
    np.testing.assert_array_equal(label.ravel(), fitted.predict(table))


def test_onnx_takes_markers_of_missing_text():
    onnxruntime = pytest.importorskip("onnxruntime")
    from ferl.onnx import to_onnx

    table = pd.DataFrame({"x": ["a", "b", "?", "c"] * 30, "n": np.arange(120.0) % 60})
    clf = FERLTreeClassifier("medium", random_state=0).fit(table, table.x == "a", describe={"missing": ["?"]})
    session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    feed = {"x": np.array([["?"], [""]], dtype=object), "n": np.array([[3.0], [3.0]])}
    found = session.run(["pignistic"], feed)[0]
    np.testing.assert_allclose(found, clf.predict_proba(pd.DataFrame({"x": [None, "?"], "n": [3.0, 3.0]})))


def written(folder):
    table, y = loans(80)
    save_model(FERLTreeClassifier("medium", random_state=0).fit(table, y, describe=SAID), folder / "model.json")
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": []}, r"table\.columns has 0 entries; it must have 6"),
        ({"target": "deny"}, r"table\.target is 'deny'"),
        ({"target": {"name": 3}}, r"table\.target\.name is 3"),
        ({"target": {"name": "x" * 300}}, "at most 200 letters"),
        ({"more": 1}, "'more', which this version"),
        ({0: {"kind": "dates"}}, r"table\.columns\[0\]\.kind is 'dates'; it must be one of"),
        ({0: {"kind": "category"}}, "does not fit a column of numbers"),
        ({4: {"kind": "real"}}, "does not fit a column of categories"),
        ({1: {"kind": "ordered", "order": ["a", "a"]}}, "has a category twice"),
        ({1: {"kind": "ordered", "order": [[1]]}}, "must all be text, or all be numbers"),
        ({0: {"kind": "real", "order": ["a"]}}, "has none"),
        ({0: {"kind": "real", "is_zoned": True}}, "for times only"),
        ({0: {"kind": "real", "date_form": "d.m.y"}}, r"date_form: 'd\.m\.y' is not one of .*, of dates"),
        ({0: {"kind": "date", "date_form": ["y"]}}, r"date_form: \['y'\] is not one of d\.m\.y,"),
        ({0: {"kind": "real", "missing": [{}]}}, r"table\.columns\[0\]\.missing is \{\}"),
        ({0: {"kind": "real", "missing": ["x"] * 101}}, "at most 100"),
        ({0: {"kind": "real", "values": {"a": "\ud800"}}}, "not valid Unicode"),
        ({0: {"kind": "real", "values": 3}}, "must be an object"),
        ({0: {"kind": ["real"]}}, "must be one of"),
    ],
)
def test_hostile_words_in_a_file_are_refused(change, message, tmp_path):
    form = written(tmp_path)
    for key, value in change.items():
        (form["table"]["columns"] if isinstance(key, int) else form["table"])[key] = value
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model.json")


def test_a_file_without_the_field_loads_and_old_pickles_of_schemas_too(tmp_path):
    table, y = loans(80)
    numbers = table[["age", "glucose"]]
    clf = FERLClassifier(random_state=0).fit(numbers, y)
    save_model(clf, tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    del form["table"]
    (tmp_path / "model.json").write_text(json.dumps(form))
    old = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(old.predict_proba(numbers), clf.predict_proba(numbers))
    assert old.explain(numbers.iloc[0]).target == ""
    state = {"names": ("a",), "categories": (None,)}
    schema = object.__new__(type(clf.model_.schema))
    schema.__setstate__(state)
    assert schema.kinds[0].name == "unknown"
    assert schema.target.name == ""


def test_reports_and_other_exports_take_every_kind_of_column(fitted, tmp_path):
    table, y = loans()
    write_report(fitted, table, y, path=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "glucose (mg/dl)" in page
    assert "2018-" in page
    assert "glucose (mg/dl)" in ferl.export_latex(fitted)
