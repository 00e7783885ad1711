"""Laws of what a model is exported to: it answers as the model does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import javascript
import onnx_examples
from cli_examples import ferl
from combine.case import Case
from combine.laws import NONE, ROUNDING, is_clear, law
from database_examples import DuckDB, SQLite, added_to_average, plain_rows
from ferl import export_text, rules_frame, save_model
from ferl.export import (
    curves_frame,
    export_c,
    export_graphviz,
    export_latex,
    export_python,
    export_scorecard,
    export_sql,
    overview,
    reason_codes,
    splits_frame,
)
from ferl.interop import PlainClassifier
from ferl.onnx import onnx_inputs, to_onnx
from ferl.report import write_report
from test_export_code import Compiled


@law()
def onnx_answers_as_python_does(case: Case) -> Any:
    if case.options.get("combination") == "cautious":
        return NONE  # has no graph
    session = onnx_examples.session_of(to_onnx(case.model))
    rows = case.rows[is_clear(case.model, case.rows) | ~case.model.predict_evidence(case.rows).belief.any(axis=1)]
    if not len(rows):
        return NONE
    onnx_examples.assert_answers(onnx_examples.run(session, onnx_inputs(case.model, rows)), case.model, rows)
    return None


@law(every=2)
def sql_answers_as_python_does(case: Case) -> Any:
    model = case.model
    rows = case.rows[is_clear(model, case.rows)].reset_index(drop=True)
    if case.has_cases:
        try:
            export_sql(model)
        except ValueError:
            return None
        raise AssertionError("SQL of a model with cases")
    if not len(rows):
        return NONE
    database = DuckDB() if case.seed % 4 == 0 else SQLite()
    found = database.answers(rows, export_sql(model, dialect=database.dialect, keep=["id"]))
    evidence = model.predict_evidence(rows)
    by_class = {name: [f"{name}_{label}" for label in model.classes_] for name in ("probability", "in_set")}
    np.testing.assert_allclose(found[by_class["probability"]], model.predict_proba(rows), rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(np.array(found["label"].tolist(), model.classes_.dtype), model.predict(rows))
    # SQLite has no single precision, in which the nearest kept row is found.
    rounding = 1e-4 if database.dialect == "sqlite" and case.is_rules else ROUNDING
    np.testing.assert_allclose(found["ignorance"].to_numpy(float), evidence.ignorance, rtol=0, atol=rounding)
    if rounding == ROUNDING:
        clear = is_far_from_a_border(case, evidence)
        np.testing.assert_array_equal(found[by_class["in_set"]].to_numpy(bool)[clear], model.predict_set(rows)[clear])
    if case.is_rules:
        assert_reasons(case, rows, found[["reason_1", "reason_2", "reason_3"]].to_numpy(object).tolist())
    return None


@law(every=2)
def plain_python_answers_as_the_classifier_does(case: Case) -> Any:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows)][:12]
    if case.has_cases or not len(rows):
        return NONE
    names: dict[str, Any] = {}
    exec(compile(export_python(model), "model.py", "exec"), names)
    found = [names["predict"](dict(zip(rows.columns, row, strict=True))) for row in plain_rows(rows)]
    evidence, probability = model.predict_evidence(rows), model.predict_proba(rows)
    own = np.array([[answer["probability"][label] for label in model.classes_.tolist()] for answer in found])
    np.testing.assert_allclose(own, probability, rtol=0, atol=0 if case.is_rules else 1e-12)
    np.testing.assert_allclose([answer["ignorance"] for answer in found], evidence.ignorance, rtol=0, atol=1e-11)
    np.testing.assert_array_equal([answer["label"] for answer in found], model.predict(rows))
    clear, sets = is_far_from_a_border(case, evidence), model.predict_set(rows)
    for answer, kept, is_sure in zip(found, sets, clear, strict=True):
        assert not is_sure or answer["set"] == model.classes_[kept].tolist()
    if case.is_rules:
        assert_reasons(case, rows, [answer["reasons"] for answer in found])
    return None


@law(every=4)
def the_page_of_the_report_answers_as_python_does(case: Case) -> None:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows) & (np.arange(len(case.rows)) < 15)]
    with tempfile.TemporaryDirectory() as folder:
        frame, y = case.two_rows()
        page = write_report(model, frame, y, Path(folder) / "report.html").read_text()
    assert "<title>" in page
    assert "NaN" not in page.split("<script", 1)[0]
    if len(rows):
        found = javascript.judge(model.model_, model._rows(rows)[:, : model.n_features_in_])
        evidence = model.predict_evidence(rows)
        expected = {"belief": evidence.belief, "ignorance": evidence.ignorance, "novelty": model.novelty(rows)}
        for name, own in expected.items():
            np.testing.assert_allclose(found[name], own, rtol=ROUNDING, atol=ROUNDING, err_msg=name)
        np.testing.assert_array_equal(model.classes_[found["label"]], model.predict(rows))


def is_far_from_a_border(case: Case, evidence: Any) -> Any:
    """Rows whose set is not decided by rounding."""
    if not case.is_rules:
        return (np.abs(evidence.plausibility - evidence.belief.max(axis=1, keepdims=True)) > ROUNDING).all(axis=1)
    return (np.abs(np.cumsum(-np.sort(-evidence.belief, axis=1), axis=1) - 2 / 3) > ROUNDING).all(axis=1)


def assert_reasons(case: Case, rows: Any, found: list[list[Any]]) -> None:
    """The features that add most to the score of the label, largest first; equal ones in the order of the columns."""
    added, names = added_to_average(case.model, rows), [str(name) for name in rows.columns]
    for row, label, own in zip(added, case.model.predict(rows).tolist(), found, strict=True):
        size = row[:, case.model.classes_.tolist().index(label)]
        told = [names.index(name) for name in own if isinstance(name, str)]
        assert len(set(told)) == len(told)
        order = np.argsort(-size, kind="stable")
        for place, (feature, expected) in enumerate(zip(told, order.tolist(), strict=False)):
            assert feature == expected or 0 < abs(size[feature] - size[expected]) < ROUNDING, (place, told, size)
        n = int((size > ROUNDING).sum())
        assert min(n, 3) <= len(told) <= min(3, int((size > -ROUNDING).sum()))


@law(every=3)
def the_command_line_answers_as_python_does(case: Case) -> Any:
    rows = case.rows[is_clear(case.model, case.rows)].reset_index(drop=True)
    if not len(rows):
        return NONE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(case.model, folder / "model.json")
        rows.to_parquet(folder / "rows.parquet", index=False)
        rows.to_csv(folder / "rows.csv", index=False)
        for suffix in ("parquet", "csv"):
            files = [folder / name for name in ("model.json", f"rows.{suffix}")]
            ferl("predict", *files, "-o", folder / "answers.csv", "--probabilities")
            found = pd.read_csv(folder / "answers.csv", dtype=str, keep_default_na=False)
            shown = found[[f"probability({label})" for label in case.model.classes_]].to_numpy(float)
            np.testing.assert_allclose(shown, case.model.predict_proba(rows), rtol=0, atol=1e-6, err_msg=suffix)
    return None


@law(every=20)
def c_answers_as_python_does(case: Case) -> Any:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows)][:12]
    if case.has_cases or not len(rows):
        return NONE
    with tempfile.TemporaryDirectory() as folder:
        compiled = Compiled(export_c(model), Path(folder))
        found = [compiled(dict(enumerate(row)))[1] for row in plain_rows(rows)]
    np.testing.assert_allclose(
        [list(answer.probability) for answer in found], model.predict_proba(rows), rtol=0, atol=1e-12
    )
    return None


@law(every=2)
def texts_are_made_of_every_model(case: Case) -> None:
    model = case.model
    assert len(export_text(model)) > 0
    assert len(rules_frame(model)) >= (model.n_rules_ if case.is_rules else 1)
    assert len(str(overview(model))) > 0
    frame, y = case.two_rows()
    assert len(str(overview(model, frame, y))) > 0
    for make in (export_latex, export_graphviz, export_scorecard, curves_frame, splits_frame):
        try:
            assert make(model) is not None
        except ValueError as error:  # refused, with a reason
            if len(str(error)) < 20:
                raise AssertionError(make.__name__) from error
    if case.is_rules and len(model.classes_) == 2:
        assert len(reason_codes(model, case.rows)) == len(case.rows)
    assert PlainClassifier(model).predict(case.rows).tolist() == model.predict(case.rows).tolist()
