"""Decisions for rare classes: labels by probability compared with frequency."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from typer.testing import CliRunner

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, save_model
from ferl._cli.app import app
from ferl._learn.grow_rules import prior_of_all_rows
from ferl.streaming import predict_parquet
from oracle import wide as oracle

VARIANTS = pytest.mark.parametrize("variant", ["rules", "deep", "medium", "words"])


@cache
def rare_table(n_rows: int = 4000):
    """One row in twenty is ill, and a few are odd."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    risk = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + rng.normal(scale=0.8, size=n_rows)
    return X, np.where(risk > 2.35, "ill", np.where(X[:, 3] > 2.1, "odd", "well"))


@cache
def fitted(variant: str, **parameters) -> FERLClassifier:
    X, y = rare_table()
    return classifier(variant, max_rules=30, random_state=0, **parameters).fit(X[:2000], y[:2000])


@VARIANTS
def test_balanced_decisions_find_more_of_the_rare_classes(variant: str) -> None:
    X, y = rare_table()
    assert 0.03 < (y == "ill").mean() < 0.07
    clf = fitted(variant)
    usual, balanced = clf.predict(X[2000:]), clf.predict(X[2000:], decision="balanced")
    assert (usual == clf.predict(X[2000:], decision="probable")).all()
    assert balanced_accuracy_score(y[2000:], balanced) > balanced_accuracy_score(y[2000:], usual) + 0.05
    found = [recall_score(y[2000:], own, labels=["ill"], average=None)[0] for own in (usual, balanced)]
    assert found[1] > found[0] + 0.1


def test_the_frequencies_are_those_of_the_training_weights() -> None:
    X, y = rare_table()
    weight = np.where(y[:2000] == "ill", 3.0, 1.0)
    model = FERLTreeClassifier("medium", random_state=0).fit(X[:2000], y[:2000], weight).model_
    expected = [weight[y[:2000] == label].sum() for label in model.classes]
    np.testing.assert_allclose(model.class_frequency, np.array(expected) / weight.sum())


def test_wide_rules_are_read_by_probability_and_trees_by_belief_over_frequency() -> None:
    X, y = rare_table()
    rows = X[:2000]  # where all gates are open
    frequency = np.array([(y[:2000] == label).mean() for label in ("ill", "odd", "well")])
    for variant, of in (("rules", "probability"), ("words", "probability"), ("deep", "belief")):
        clf = fitted(variant)
        lift = getattr(clf.predict_evidence(rows), of) / frequency
        assert (clf.predict(rows, decision="balanced") == clf.classes_[lift.argmax(axis=1)]).all()


@VARIANTS
def test_of_nothing_said_no_rare_class_is_made(variant: str) -> None:
    X, _ = rare_table()
    clf = fitted(variant)
    far = X[:5] + 100 * np.ptp(X, axis=0)
    assert clf.predict_set(far).all()
    assert (clf.predict(far, decision="balanced") == clf.predict(far)).all()


def test_half_closed_gates_compare_with_the_frequencies_too() -> None:
    clf = fitted("rules")
    asked = int(clf.model_.gated_columns[0])
    low, high = clf.model_.ranges[asked]
    row = np.zeros((1, 4))
    row[0, asked] = high + 0.5 * (high - low)
    lift = np.log(clf.predict_proba(row)) - np.log(clf.model_.class_frequency)
    assert clf.predict(row, decision="balanced")[0] == clf.classes_[lift[0].argmax()]


def test_after_balanced_weights_both_decisions_are_one() -> None:
    X, _ = rare_table()
    clf = fitted("rules", class_weight="balanced")
    np.testing.assert_allclose(clf.model_.class_frequency, 1 / 3)
    assert (clf.predict(X) == clf.predict(X, decision="balanced")).mean() > 0.999


def test_of_two_classes_it_is_the_threshold_at_the_frequency() -> None:
    X, y = rare_table()
    ill = y == "ill"
    clf = FERLClassifier(max_rules=20, random_state=0).fit(X[:2000], ill[:2000])
    fixed = FixedThresholdClassifier(clf, threshold=ill[:2000].mean(), pos_label=True).fit(X[:2000], ill[:2000])
    assert (fixed.predict(X[:2000]) == clf.predict(X[:2000], decision="balanced")).all()  # where all gates are open


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_scikit_learn_tunes_a_threshold(method: str) -> None:
    X, y = rare_table()
    ill = (y == "ill").astype(int)
    clf = FERLClassifier(max_rules=10, random_state=0)
    tuned = TunedThresholdClassifierCV(clf, scoring="balanced_accuracy", response_method=method, cv=2)
    tuned.fit(X[:2000], ill[:2000])
    usual = balanced_accuracy_score(ill[2000:], tuned.estimator_.predict(X[2000:]))
    assert balanced_accuracy_score(ill[2000:], tuned.predict(X[2000:])) > usual + 0.1


def test_files_are_judged_by_the_same_decision(tmp_path) -> None:
    X, y = rare_table()
    table = pa.table({f"x{j}": X[:, j] for j in range(4)})
    clf = FERLClassifier(max_rules=5, random_state=0).fit(table[:1000], y[:1000])
    expected = clf.predict(table, decision="balanced")
    source, model = tmp_path / "new.parquet", tmp_path / "model.json"
    pq.write_table(table, source)
    predict_parquet(clf, source, tmp_path / "answers.parquet", decision="balanced", guess=True)
    assert pq.read_table(tmp_path / "answers.parquet")["label"].to_pylist() == expected.tolist()
    save_model(clf, model)
    options = [
        "predict",
        str(model),
        str(source),
        "-o",
        str(tmp_path / "cli.parquet"),
        "--decision",
        "balanced",
        "--guess",
    ]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    answers = pq.read_table(tmp_path / "cli.parquet")
    assert answers["label"].to_pylist() == expected.tolist()
    chosen = clf.predict_proba(table)[np.arange(len(X)), np.searchsorted(clf.classes_, expected)]
    assert answers["probability"].to_numpy().tolist() == chosen.tolist()


def test_another_decision_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="decision is 'fair'; it must be 'probable' or 'balanced'"):
        fitted("rules").predict(rare_table()[0], decision="fair")
    with pytest.raises(ValueError, match="decision is 'fair'"):
        predict_parquet(fitted("rules"), tmp_path / "no.parquet", tmp_path / "out.parquet", decision="fair")


# ---------------------------------------------------------------------------------------------------------------------
# Frequencies after a sample that favours rare classes
# ---------------------------------------------------------------------------------------------------------------------


def test_the_prior_of_a_sample_becomes_that_of_all_rows() -> None:
    prior, sampled, total = np.array([1.0, -0.25, -0.75]), np.array([500.0, 40.0, 60.0]), np.array([9e4, 50.0, 700.0])
    found = prior_of_all_rows(prior, sampled, total)
    np.testing.assert_allclose(found, oracle.prior_of_all_rows(prior, sampled, total), rtol=1e-12)
    assert found.sum() == pytest.approx(0, abs=1e-12)
    assert prior_of_all_rows(prior, sampled, 3 * sampled) is prior
    lacking = prior_of_all_rows(prior, np.array([5.0, 0.0, 5.0]), np.array([5.0, 0.0, 5.0]))
    assert lacking is prior


def test_probabilities_after_a_sample_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (np.arange(20_000) < 100).astype(int)
    X[:100, 0] += 1.5
    clf = FERLClassifier(growth_rows=1000, max_rules=5, random_state=0).fit(X, y)
    assert clf.n_growth_rows_ < 1200
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(0.005, rel=0.3)  # 0.035 by the frequencies of the sample
