"""Exported rules say under onnxruntime what they say in Python, to 1e-12."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._sklearn import check_rows
from ferl.onnx import onnx_inputs, to_onnx
from law_examples import LAW
from onnx_examples import WIDE_NAMES, assert_answers, run, session_of
from table_examples import mixed_table, rows_beside

TOLERANCE = 1e-12


def assert_exports(model, rows, measure=None):
    """Export a model, run it on rows, and compare all that it says."""
    session = session_of(to_onnx(model, novelty=measure or True, contributions=True))
    found = run(session, onnx_inputs(model, rows))
    assert list(found) == WIDE_NAMES
    assert_answers(found, model, rows, measure, tolerance=TOLERANCE)
    scores = model.model_.decision_scores(check_rows(model, rows))
    size = max(1.0, float(np.abs(model.contributions(rows)).sum(axis=1).max()))  # scores have no unit
    np.testing.assert_allclose(found["scores"], scores, rtol=0, atol=TOLERANCE * size)
    np.testing.assert_allclose(found["contributions"], model.contributions(rows), rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(found["contributions"].sum(axis=1), scores, rtol=0, atol=TOLERANCE * size)
    return found


@cache
def fitted(load, **options):
    X, y = load(return_X_y=True)
    return FERLClassifier(random_state=0, **options).fit(X, y), X


def rows_around(X, seed=0, n=300):
    """Rows of a table, near it, at its edges and far from it, with values missing; one without any value."""
    rng = np.random.default_rng(seed)
    step = rng.choice([0.0, 0.1, 1.0, 5.0], size=(n, 1)) * X.std(axis=0)
    rows = X[rng.integers(len(X), size=n)] + step * rng.normal(size=(n, X.shape[1]))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[0], rows[1], rows[2], rows[3] = np.nan, 1e6 * X.std(axis=0), X.max(axis=0), X.min(axis=0)
    return rows


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("options", [{}, {"support_gate": False}, {"gate_margin": 0.2}], ids=str)
def test_numbers_missing_values_and_gates_say_the_same(load, options):
    model, X = fitted(load)
    found = assert_exports(model.reading(**options), rows_around(X))
    if options.get("support_gate", True):
        assert (found["ignorance"] == 1).any(), "rows that nothing is said of"
        assert found["set"][found["ignorance"] == 1].all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("missing_conditions", [False, True])
def test_tables_with_categories_and_holes_say_the_same(n_classes, missing_conditions):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_classes=n_classes)
    model = FERLClassifier(random_state=0, missing_conditions=missing_conditions).fit(table.frame, table.y)
    assert_exports(model, rows_beside(table, 0, 200))
    assert_exports(model.reading(support_gate=False), rows_beside(table, 1, 50), "residual")
    assert_exports(model, rows_beside(table, 2, 50), "residual")


@st.composite
def problems(draw):
    """Small tables with ties, on any scale, of any number of classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from([(12, 1), (40, 2), (80, 3), (120, 5)]))
    X = rng.normal(size=(n, d)) if draw(st.booleans()) else rng.integers(4, size=(n, d)).astype(float)
    y = ((X[:, 0] > X[:, 0].mean()) * 2 + rng.integers(draw(st.integers(1, 4)), size=n)).astype(int)
    X = X * 10.0 ** draw(st.integers(-8, 8)) + draw(st.sampled_from([0.0, 1.0, -1e4]))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    return X, y, {"support_gate": draw(st.booleans()), "missing_conditions": draw(st.booleans())}


@LAW
@given(problems())
def test_small_rule_bases_of_any_kind_say_the_same(problem):
    X, y, options = problem
    model = FERLClassifier(random_state=0, max_rules=12, **options).fit(X, y)
    rng = np.random.default_rng(len(X))
    rows = X[rng.integers(len(X), size=30)]
    rows[10:] += np.nanstd(X, axis=0) * rng.normal(size=(20, X.shape[1])) * rng.choice([0.1, 1.0, 5.0], size=(20, 1))
    assert_exports(model, rows)


@pytest.mark.parametrize(
    ("X", "y"),
    [(np.zeros((20, 2)), np.arange(20) % 2), (np.arange(20.0)[:, None], ["only"] * 20)],
    ids=["no rule", "one class"],
)
def test_rule_bases_that_learned_little_say_the_same(X, y):
    model = FERLClassifier(random_state=0).fit(X, y)
    assert_exports(model, np.vstack([X, X + 7, np.full((1, X.shape[1]), np.nan)]))


def test_any_number_of_rows_goes_through_one_session():
    model, X = fitted(load_wine)
    session = session_of(to_onnx(model, contributions=True))
    rows = rows_around(X)
    whole = run(session, {"X": rows})
    for n in (0, 1, 7):
        for name, value in run(session, {"X": rows[:n]}).items():
            assert value.shape == (n, *whole[name].shape[1:])
            np.testing.assert_allclose(value, whole[name][:n], rtol=1e-12, atol=1e-12)


def test_infinity_is_far_away_and_says_nothing():
    model, _ = fitted(load_iris)
    found = run(session_of(to_onnx(model)), {"X": np.full((2, 4), [[np.inf], [-np.inf]])})
    assert found["ignorance"].tolist() == [1.0, 1.0]
    assert (found["scores"] == 0).all()
    assert found["set"].all()
    assert (found["novelty"] > 1e100).all()


def test_single_precision_is_that_of_inputs_and_outputs_alone():
    model, X = fitted(load_iris)
    rows = rows_around(X).astype(np.float32)
    exported = to_onnx(model, contributions=True, dtype="float32")
    found = run(session_of(exported), onnx_inputs(model, rows, dtype="float32"))
    assert {found[name].dtype.name for name in WIDE_NAMES if name not in ("label", "set")} == {"float32"}
    assert_answers(found, model, rows.astype(np.float64), tolerance=1e-6)


def test_a_feature_may_have_the_name_of_an_output():
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X[:, :3], columns=["scores", "set", "pignistic"])
    table["conflict"] = np.where(X[:, 3] > 1, "wide", "narrow")
    model = FERLClassifier(random_state=0).fit(table, y)
    assert list(onnx_inputs(model, table)) == ["scores_", "set_", "pignistic", "conflict_"]
    assert_exports(model, table)


def test_another_runtime_agrees():
    model, X = fitted(load_iris)
    rows = rows_around(X, n=40)
    found = ReferenceEvaluator(to_onnx(model, novelty="residual", contributions=True)).run(None, {"X": rows})
    assert_answers(dict(zip(WIDE_NAMES, found, strict=True)), model, rows, "residual", tolerance=TOLERANCE)


def test_the_file_says_what_it_is():
    model, _ = fitted(load_iris)
    exported = to_onnx(model)
    told = {own.key: own.value for own in exported.metadata_props}
    assert (told["model"], told["support_gate"]) == ("rules", "True")
    assert json.loads(told["classes"]) == [0, 1, 2]
    assert exported.SerializeToString() == to_onnx(model).SerializeToString()
    assert to_onnx(model, novelty=False, evidence=False).ByteSize() < exported.ByteSize() / 2


@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_evidence_can_be_left_out(kind):
    X, y = load_iris(return_X_y=True)
    model = classifier(kind, random_state=0).fit(X, y)
    for novelty in (True, False):
        exported = to_onnx(model, evidence=False, novelty=novelty)
        answers = run(session_of(exported), onnx_inputs(model, X))
        left = ["label", "probability", "conflict", "scores"] if kind == "rules" else ["label", "pignistic"]
        assert list(answers) == left + ["novelty"] * novelty
        np.testing.assert_allclose(answers[left[1]], model.predict_proba(X), rtol=0, atol=1e-11)
        np.testing.assert_array_equal(answers["label"], model.predict(X))


@pytest.mark.parametrize("novelty", [True, "residual", False])
@pytest.mark.parametrize("contributions", [True, False])
def test_every_operator_is_used(novelty, contributions):
    graph = to_onnx(fitted(load_iris)[0], novelty=novelty, contributions=contributions).graph
    left_out = ([] if novelty else ["novelty"]) + ([] if contributions else ["contributions"])
    assert [output.name for output in graph.output] == [name for name in WIDE_NAMES if name not in left_out]
    bodies = [own.g for node in graph.node for own in node.attribute if own.HasField("g")]
    used = {name for part in (graph, *bodies) for node in part.node for name in node.input}
    used |= {output.name for part in (graph, *bodies) for output in part.output}
    assert all(used & set(node.output) for part in (graph, *bodies) for node in part.node)
    assert {constant.name for part in (graph, *bodies) for constant in part.initializer} <= used


def test_trees_have_no_contributions():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="contributions=True needs rules"):
        to_onnx(FERLTreeClassifier("medium", random_state=0).fit(X, y), contributions=True)
