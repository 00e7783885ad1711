"""Laws of learned curves and maps, in combination with all that a table may hold and all that reads a model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import javascript
from ferl import FERLClassifier, ModelFileError, export_text, load_model, save_model
from ferl._models.form import json_text
from ferl._models.model_file import model_to_form
from ferl._sklearn import check_rows
from ferl.export import Scorecard
from ferl.onnx import onnx_inputs, to_onnx
from ferl.saving import _contents
from ferl.streaming import fit_batches
from onnx_examples import assert_answers, run, session_of
from printed_model import PrintedModel
from stream_examples import in_batches
from test_report_engine import assert_same


def table(n=1500, seed=0, n_classes=2):
    """Numbers, a sentinel, few and many categories, an order, booleans, dates, a constant, an empty column, gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.uniform(-1, 1, n),
            "b": rng.normal(size=n),
            "c": rng.normal(size=n).round(1),
            "d": np.where(rng.random(n) < 0.15, -999, rng.integers(0, 30, n)),
            "few": rng.choice(["u", "v", "w"], n),
            "many": [f"k{code}" for code in rng.integers(0, 40, n)],
            "order": pd.Categorical(rng.choice(["lo", "hi"], n), categories=["lo", "hi"], ordered=True),
            "flag": rng.random(n) < 0.4,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
            "constant": np.full(n, 3.0),
            "empty": np.full(n, np.nan),
        }
    )
    score = 2 * np.sin(6 * frame["a"]) + frame["b"] * frame["c"] + (frame["few"] == "v") + (frame["d"] == -999)
    score = score + 0.8 * frame["flag"] * np.sin(4 * frame["a"]) + 0.7 * (frame["order"] == "hi")
    score = score.to_numpy() + rng.normal(scale=0.4, size=n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    for name in ("a", "b", "few"):
        frame.loc[rng.random(n) < 0.05, name] = None
    return frame, np.array(["no", "yes", "maybe"])[y]


def beside(frame, seed=1, n=120):
    """Rows in and out of range, with gaps and categories that training did not have."""
    rng = np.random.default_rng(seed)
    rows = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    for name in ("a", "b", "c"):
        rows[name] = rows[name] + rng.normal(size=n) * rng.choice([0, 0.1, 1, 10], n)
        rows.loc[rng.random(n) < 0.1, name] = np.nan
    rows["d"] = rows["d"] + rng.choice([0, 1, 50, -2000], n)
    for name in ("few", "many"):
        rows[name] = np.where(rng.random(n) < 0.1, "new", rows[name])
    return rows


def with_maps(frame, y, **options):
    """A classifier fitted on the table, whose curves and maps were learned."""
    clf = FERLClassifier(random_state=0, **options).fit(frame, y)
    assert clf.n_curves_ > 0
    assert clf.n_maps_ > 0
    return clf


@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx_declares_the_shape_of_the_contributions_of_all_terms(n_classes):
    frame, y = table(n_classes=n_classes)
    clf, rows = with_maps(frame, y), beside(frame)
    session = session_of(to_onnx(clf, contributions=True))
    found = run(session, onnx_inputs(clf, rows))["contributions"]
    (declared,) = (own.shape for own in session.get_outputs() if own.name == "contributions")
    assert declared[1:] == [*found.shape[1:]]
    np.testing.assert_allclose(found, clf.contributions(rows), atol=1e-9)


@pytest.mark.parametrize("missing_conditions", [False, True])
def test_constraints_in_the_order_of_the_features_leave_out_indicators(missing_conditions):
    frame, y = table()
    signs = dict.fromkeys(frame, 0) | {"a": 1, "d": -1}
    options = {"missing_conditions": missing_conditions, "random_state": 0}
    by_name = FERLClassifier(monotonic_cst={"a": 1, "d": -1}, **options).fit(frame, y)
    in_order = FERLClassifier(monotonic_cst=[*signs.values()], **options).fit(frame, y)
    rows = beside(frame)
    np.testing.assert_array_equal(in_order.predict_proba(rows), by_name.predict_proba(rows))
    in_order.partial_fit(frame[:300], y[:300])
    line = pd.concat([rows[:1]] * 400, ignore_index=True).assign(a=np.linspace(-5, 5, 400))
    assert (np.diff(in_order.decision_function(line)) >= -1e-9).all()


OPTIONS = {
    "plain": {},
    "indicators": {"missing_conditions": True, "max_rules": 5},
    "effort": {"effort": 2, "max_rules": "auto"},
    "monotone": {"monotonic_cst": {"c": -1}, "missing_conditions": True, "max_rules": 5},
    "balanced": {"class_weight": "balanced", "growth_rows": 1300},
}


def bits(clf):
    """The model file, apart from the number of threads."""
    return json_text(model_to_form(*_contents(clf.set_params(n_jobs=None))))


@pytest.fixture(scope="module", params=OPTIONS)
def learned(request):
    """A table with gaps that matter, and a classifier with curves and maps, of indicators too where it may."""
    frame, y = table(2000, seed=11)
    lacks = np.random.default_rng(3).random(len(frame)) < 0.3
    frame.loc[lacks, "b"] = np.nan
    y = np.where(lacks & (frame["c"] > 0), "no", np.where(lacks & frame["flag"], "yes", y))
    clf = with_maps(frame, y, **OPTIONS[request.param])
    reads_indicator = any(column >= frame.shape[1] for read in clf.model_.curves.term_columns for column in read)
    assert reads_indicator or request.param not in ("indicators", "monotone")
    return clf, frame, y


def test_threads_order_of_rows_and_batches_change_no_bit(learned):
    clf, frame, y = learned
    order = np.random.default_rng(5).permutation(len(y))
    expected = bits(clf)
    assert bits(clone(clf).set_params(n_jobs=3).fit(frame.iloc[order], y[order])) == expected
    assert bits(fit_batches(in_batches(431, frame, y), estimator=clf)) == expected


def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(learned):
    clf, frame, y = learned
    weight = np.random.default_rng(6).choice([1, 2], len(y))
    weighted = clone(clf).fit(frame, y, sample_weight=weight.astype(float))
    assert bits(weighted) == bits(clone(clf).fit(frame.iloc[np.repeat(np.arange(len(y)), weight)], y.repeat(weight)))
    more, labels = pd.concat([frame, frame[:100]]), np.append(y, y[::-1][:100])
    assert bits(clone(clf).fit(more, labels, sample_weight=np.append(np.ones(len(y)), np.zeros(100)))) == bits(clf)


def test_every_medium_has_the_same_answers(learned, tmp_path):
    clf, frame, _ = learned
    rows = beside(frame)
    expected = clf.predict_proba(rows)
    save_model(clf, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict_proba(rows), expected)
    one_by_one = [clf.predictor().predict_proba(rows.iloc[k].to_dict()) for k in range(20)]
    np.testing.assert_array_equal(np.reshape(one_by_one, (20, 2)), expected[:20])
    assert_answers(run(session_of(to_onnx(clf)), onnx_inputs(clf, rows)), clf, rows, tolerance=1e-9)
    assert_same(javascript.judge(clf.model_, check_rows(clf, rows)[:, : clf.n_features_in_]), clf, rows)
    np.testing.assert_allclose(Scorecard(clf).predict_proba(rows), expected, atol=1e-9)


def test_the_exact_text_has_the_same_answers(learned):
    clf, frame, _ = learned
    rows = beside(frame)[:40]
    printed = PrintedModel(export_text(clf, exact=True, width=1_000_000))
    np.testing.assert_allclose(printed.probabilities(rows), clf.predict_proba(rows), atol=1e-9)


def test_contributions_add_up_and_probabilities_are_between_belief_and_plausibility(learned):
    clf, frame, _ = learned
    rows = beside(frame)
    evidence, log_odds = clf.predict_evidence(rows), clf.decision_function(rows)
    for parts in (clf.contributions(rows), clf.feature_contributions(rows)):
        np.testing.assert_allclose(np.diff(parts.sum(axis=1))[:, 0], log_odds, atol=1e-10)
    assert (evidence.belief <= evidence.probability + 1e-12).all()
    assert (evidence.probability <= evidence.plausibility + 1e-12).all()


def test_a_file_whose_curves_are_empty_is_refused(tmp_path):
    save_model(with_maps(*table()), tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text())
    form["weights"]["curves"] = {name: [] for name in form["weights"]["curves"]}
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match="without curves"):
        load_model(tmp_path / "model.json")
