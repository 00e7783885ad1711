"""Pipelines with a classifier of ferl, converted by skl2onnx, return what they return in Python."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from ferl import FERLClassifier, FERLTreeClassifier
from ferl.onnx import register_converters

skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
CLASSIFIERS = [
    FERLClassifier(random_state=0),
    FERLClassifier(words=True, random_state=0),
    FERLTreeClassifier("deep", random_state=0),
    FERLTreeClassifier("compact", combination="cautious", random_state=0),
]


@pytest.fixture(autouse=True)
def registered():
    register_converters()


def people(n=300, seed=0):
    """Two numbers, a category that decides together with one of them, and a column that no model reads."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "pay": rng.lognormal(size=n),
            "town": pd.Series(rng.choice(["Oslo", "Rome", "Lima"], n), dtype=object),
            "note": pd.Series(rng.choice(["a", "b"], n), dtype=object),
        }
    )
    return table, np.where((table["age"] > 40) ^ (table["town"] == "Rome"), "yes", "no")


def prepared():
    encode = OneHotEncoder(handle_unknown="ignore")
    steps = [("numbers", StandardScaler(), ["age", "pay"]), ("categories", encode, ["town"])]
    return ColumnTransformer(steps, sparse_threshold=0)


def answers(pipeline, rows, **options):
    """Convert by example rows, and run."""
    model = skl2onnx.to_onnx(pipeline, rows[:1], **options)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {own.name: rows[[own.name]].to_numpy() for own in session.get_inputs()}
    return session.run(None, feed)


@pytest.mark.parametrize("target_opset", [16, 18, None])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_answers_are_those_of_the_pipeline_with_a_column_to_spare(classifier, target_opset):
    X, y = people()
    pipeline = make_pipeline(prepared(), classifier).fit(X, y)
    rows = people(200, seed=1)[0]
    rows.loc[:5, "town"] = "Paris"
    label, probability = answers(pipeline, rows, options={"zipmap": False}, target_opset=target_opset)
    np.testing.assert_allclose(probability, pipeline.predict_proba(rows), rtol=0, atol=1e-12)
    assert label.tolist() == pipeline.predict(rows).tolist()


def test_dictionaries_and_columns_of_probabilities():
    X, y = people()
    pipeline = make_pipeline(prepared(), FERLClassifier(random_state=0)).fit(X, y)
    expected = pipeline.predict_proba(X)
    _, maps = answers(pipeline, X)
    np.testing.assert_allclose([[own["no"], own["yes"]] for own in maps], expected, atol=1e-6)
    _, no, yes = answers(pipeline, X, options={"zipmap": "columns"})
    np.testing.assert_allclose(np.column_stack([no, yes]), expected, atol=1e-12)


def test_single_precision_labels_that_are_numbers_and_missing_values():
    X, y = people()
    X.loc[::7, "pay"] = np.nan
    numbers = X[["age", "pay"]].astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), FERLClassifier(random_state=0)).fit(numbers, (y == "yes") + 3)
    label, probability = answers(pipeline, numbers, options={"zipmap": False})
    assert probability.dtype == np.float32
    assert set(label) <= {3, 4}
    assert np.mean(label == pipeline.predict(numbers)) > 0.98
    assert np.median(np.abs(probability - pipeline.predict_proba(numbers))) < 1e-5


def test_a_category_that_is_coded_stays_a_category():
    X, y = people()
    encode = OrdinalEncoder().set_output(transform="pandas")
    steps = [("numbers", StandardScaler(), ["age", "pay"]), ("town", encode, ["town"])]
    prepare = ColumnTransformer(steps, verbose_feature_names_out=False).set_output(transform="pandas")
    pipeline = make_pipeline(prepare, FERLClassifier(categorical_features=["town"], random_state=0)).fit(X, y)
    assert pipeline[-1].predict_proba(prepare.transform(X)[:1]).shape == (1, 2)
    label, probability = answers(pipeline, X, options={"zipmap": False})
    np.testing.assert_allclose(probability, pipeline.predict_proba(X), rtol=0, atol=1e-12)
    assert label.tolist() == pipeline.predict(X).tolist()


def test_a_vote_of_a_rule_list_and_a_regression():
    X, y = people()
    vote = VotingClassifier(
        [("rules", FERLClassifier(random_state=0)), ("line", LogisticRegression())],
        voting="soft",
        flatten_transform=False,
    )
    pipeline = make_pipeline(prepared(), vote).fit(X, y)
    label, probability = answers(pipeline, X, options={"zipmap": False})
    np.testing.assert_allclose(probability, pipeline.predict_proba(X), rtol=0, atol=1e-6)
    assert np.mean(label == pipeline.predict(X)) > 0.99


def test_mistakes_name_the_remedy(monkeypatch):
    X, y = people()
    pipeline = make_pipeline(prepared(), FERLClassifier(random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match=r"target_opset is 15; .* Convert with target_opset=16"):
        answers(pipeline, X, options={"zipmap": False}, target_opset=15)
    texts = make_pipeline(FERLClassifier(random_state=0)).fit(X[["town", "note"]], y)
    with pytest.raises(ValueError, match=r"town, note came to the classifier as text.*OneHotEncoder"):
        answers(texts, X[["town", "note"]], options={"zipmap": False})
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        register_converters()
