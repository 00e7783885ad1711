"""A prepared predictor answers as the classifier does, to the bit, and refuses what it refuses."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from estimators import classifier
from ferl import FERLClassifier, OtherColumnsWarning

VARIANTS = ("rules", "deep", "words")


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 400),
            "job": rng.choice(["clerk", "none", "nurse"], 400),
            "debt": np.where(rng.random(400) < 0.1, np.nan, rng.random(400)),
        }
    )
    return X, np.where(X.age / 80 + (X.job == "none") + rng.normal(0, 0.3, 400) > 1, "bad", "good")


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_as_dicts_have_the_bits_of_the_table(variant, table):
    X, y = table
    clf = classifier(variant, random_state=0).fit(X, y)
    ask, whole = clf.predictor(), clf.predict_proba(X)
    evidence = clf.predict_evidence(X)
    for k, row in enumerate(X.astype(object).to_dict("records")):
        np.testing.assert_array_equal(ask.predict_proba(row), whole[k])
        assert ask.predict_evidence(row).ignorance[0] == evidence.ignorance[k]
    assert [ask.predict(row) for row in X.iloc[:50].to_dict("records")] == clf.predict(X.iloc[:50]).tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_arrays_and_lists_go_by_the_order_of_the_features(variant):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    X[::7, 1] = np.nan
    clf = classifier(variant, random_state=0).fit(X, X[:, 0] > 0)
    ask, whole = clf.predictor(), clf.predict_proba(X)
    for k, row in enumerate(X):
        np.testing.assert_array_equal(ask.predict_proba(row), whole[k])
        np.testing.assert_array_equal(ask.predict_proba(row.tolist()), whole[k])


def test_other_forms_of_a_row_and_values_nobody_saw(table):
    X, y = table
    clf = FERLClassifier(random_state=0).fit(X, y)
    ask = clf.predictor()
    np.testing.assert_array_equal(ask.predict_proba(X.iloc[3]), clf.predict_proba(X.iloc[3:4])[0])
    np.testing.assert_array_equal(ask.predict_proba(X.iloc[3:4]), clf.predict_proba(X.iloc[3:4])[0])
    unseen = {"age": 30, "job": "pilot", "debt": None}
    frame = pd.DataFrame([unseen]).astype({"debt": float})
    np.testing.assert_array_equal(ask.predict_proba(unseen), clf.predict_proba(frame)[0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"age": 30, "debt": 0.5}, "job"),
        ({"age": 30, "jobs": "clerk", "debt": 0.5}, "job"),
        ({"age": "old", "job": "clerk", "debt": 0.5}, "age"),
        ({"age": math.inf, "job": "clerk", "debt": 0.5}, "infinity"),
        (np.zeros(3), "job"),
        ([30, "clerk"], "2"),
    ],
)
def test_a_wrong_row_is_refused(row, message, table):
    ask = FERLClassifier(random_state=0).fit(*table).predictor()
    with pytest.raises((ValueError, TypeError), match=message):
        ask.predict_proba(row)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "The rows have no columns 'debt', which no rule reads"),
        ({"dept": 0.5}, r"not fitted on \('dept'\) and no columns 'debt', which no rule reads"),
    ],
)
def test_a_row_without_a_column_that_no_rule_reads_is_answered_with_a_warning(more, message, table):
    clf = FERLClassifier(random_state=0).fit(*table)
    assert 2 not in clf.model_.read_features
    row, ask = {"age": 30, "job": "clerk"}, clf.predictor()
    with pytest.warns(OtherColumnsWarning, match=message):
        found = ask.predict_proba(row | more)
    np.testing.assert_array_equal(found, ask.predict_proba(row | {"debt": None}))
    np.testing.assert_array_equal(found, ask.predict_proba(row | {"debt": 0.5}))


def test_numbers_for_dates_and_ordered_words_are_refused_as_the_classifier_refuses_them():
    n = 60
    X = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=n), "size": np.arange(n) + 0.5})
    grade = pd.Categorical(np.where(X["size"] > 30, "high", "low"), categories=["low", "high"], ordered=True)
    for table in (X, X[["size"]].assign(grade=grade)):
        clf = FERLClassifier(random_state=0).fit(table, X["size"] > 30)
        with pytest.raises(ValueError, match="holds numbers"):
            clf.predictor().predict_proba(np.array([1.0, 18628.0]))


def test_a_row_that_is_a_field_of_records_is_read():
    X = np.random.default_rng(3).normal(size=(50, 2))
    clf = FERLClassifier(random_state=0).fit(X, X[:, 0] > 0)
    records = np.zeros(2, dtype=[("other", "i1"), ("value", "f8")])
    records["value"] = X[7]
    np.testing.assert_array_equal(clf.predictor().predict_proba(records["value"]), clf.predict_proba(X[7:8])[0])


def test_an_infinite_value_of_an_array_is_refused():
    X = np.random.default_rng(2).normal(size=(50, 2))
    ask = FERLClassifier(random_state=0).fit(X, X[:, 0] > 0).predictor()
    with pytest.raises(ValueError, match="infinity"):
        ask.predict_proba(np.array([np.inf, 0.0]))


def test_threads_share_a_predictor(table):
    X, y = table
    clf = FERLClassifier(random_state=0).fit(X, y)
    ask = clf.predictor()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask.predict_proba, X.astype(object).to_dict("records")))
    np.testing.assert_array_equal(np.array(found), clf.predict_proba(X))


def test_it_keeps_the_model_it_was_made_of(table):
    X, y = table
    clf = FERLClassifier(random_state=0).fit(X, y)
    ask, row = clf.predictor(), X.astype(object).iloc[0].to_dict()
    before = ask.predict_proba(row)
    clf.fit(X, y[::-1])
    np.testing.assert_array_equal(ask.predict_proba(row), before)
