"""The rows behind the answers of rules, and the level of their sets, at every door."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cli_examples import ferl, refused
from ferl import Evidence, FERLClassifier, FERLTreeClassifier, RuleEvidence, save_model
from ferl.calibration import CalibratedFERL
from ferl.streaming import predict_batches, predict_parquet

LEVELS = (0.3, 0.5, 2 / 3, 0.8, 0.95, 1.0)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(as_frame=True, return_X_y=True)
    return FERLClassifier(random_state=0).fit(X[::2], y[::2]), X[1::2].reset_index(drop=True), y[1::2]


def crowded_and_empty():
    """3,000 rows around 0 and five around 8, with a change of class in both places."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=3000), rng.normal(size=5) + 8])
    return x[:, None], np.where(x < 4, x, 8 - x) + rng.logistic(size=len(x)) / 3 > 0


def test_answers_of_fifty_percent_from_many_and_from_few_rows_are_told_apart():
    X, y = crowded_and_empty()
    model = FERLClassifier(random_state=0).fit(X, y)
    many, few = [0.025], [8.05]
    evidence = model.predict_evidence([many, few])
    np.testing.assert_allclose(evidence.probability, 0.5, atol=0.02)
    assert evidence.rows[0] > 300
    assert evidence.rows[1] < 10
    assert evidence.ignorance[0] < 0.01
    assert evidence.ignorance[1] > 0.1
    assert "the estimate rests on about 690 similar" in model.explain(many).to_text(200)
    assert "the estimate rests on only about 4 similar" in model.explain(few).to_text(200)


def test_rows_ignorance_and_support_fit_together(iris):
    model, X, _ = iris
    rows = pd.concat([X, X * 1.3, X * 3], ignore_index=True)
    evidence, support = model.predict_evidence(rows), model.model_.supports(model._rows(rows)).prod(axis=1)
    behind = np.divide(evidence.rows, support, out=np.zeros(len(rows)), where=support > 0)
    np.testing.assert_allclose(1 - evidence.ignorance, support * behind / (behind + 1), atol=1e-12)
    assert (evidence.rows[evidence.ignorance == 1] == 0).all()
    assert (evidence.rows <= len(X) + 1e-9).all()


@pytest.mark.parametrize("level", LEVELS)
def test_a_set_is_the_fewest_most_probable_classes_that_reach_the_level(iris, level):
    model, X, _ = iris
    rows = pd.concat([X, X * 1.3, X * 3], ignore_index=True)
    evidence, sets = model.predict_evidence(rows), model.predict_set(rows, level=level)
    for belief, probability, inside in zip(evidence.belief, evidence.probability, sets, strict=True):
        assert inside.any()
        assert probability[inside].min() >= probability[~inside].max(initial=0)
        if inside.all() and belief.sum() < level:
            continue
        assert belief[inside].sum() >= level - 1e-9
        assert belief[inside].sum() - belief[inside].min() < level


def test_a_higher_level_holds_the_sets_of_lower_ones_and_two_thirds_is_the_default(iris):
    model, X, _ = iris
    sets = [model.predict_set(X, level=level) for level in LEVELS]
    for lower, higher in pairwise(sets):
        assert (higher | ~lower).all()
    assert sets[-1].all()  # no answer is believed fully
    assert not sets[0].all()
    np.testing.assert_array_equal(model.predict_set(X), sets[LEVELS.index(2 / 3)])


@pytest.mark.parametrize("level", [0, -0.5, 1.01, np.nan, True, "0.8", None])
def test_a_wrong_level_is_refused(iris, level):
    model, X, _ = iris
    with pytest.raises(ValueError, match=r"level is .*; it must be a number above 0 and at most 1"):
        model.predict_set(X, level=level)


def test_trees_have_no_level_and_no_rows(iris):
    _, X, y = iris
    tree = FERLTreeClassifier("medium", random_state=0).fit(X, y)
    evidence = tree.predict_evidence(X)
    assert type(evidence) is Evidence
    assert not hasattr(evidence, "rows")
    assert tree.explain(X.iloc[0]).rows is None
    with pytest.raises(ValueError, match=r"level is 0\.8, but the sets of trees have no level"):
        evidence.prediction_set(0.8)
    with pytest.raises(ValueError, match="have no level"):
        CalibratedFERL(tree, cv=None).calibrate(X, y).predict_set(X, level=0.8)
    with pytest.raises(TypeError, match="level"):
        tree.predict_set(X, level=0.8)


def test_calibration_moves_the_probability_and_keeps_the_rows_behind_it(iris):
    model, X, y = iris
    moved = CalibratedFERL(model, cv=None).calibrate(X, y)
    before, after = model.predict_evidence(X), moved.predict_evidence(X)
    assert isinstance(after, RuleEvidence)
    np.testing.assert_array_equal(after.rows, before.rows)
    np.testing.assert_array_equal(after.ignorance, before.ignorance)
    np.testing.assert_allclose(after.belief, (1 - before.ignorance)[:, None] * moved.predict_proba(X), atol=1e-15)
    np.testing.assert_array_equal(moved.predict_set(X, level=0.9), after.prediction_set(0.9))
    np.testing.assert_array_equal(moved.predict_set(X), after.prediction_set())


def test_pipelines_batches_and_single_rows_have_the_same_rows_behind(iris):
    model, X, y = iris
    expected = model.predict_evidence(X)
    parts = list(predict_batches(model, [X[:20], X[20:]]))
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), expected.rows)
    single = model.predictor()
    assert [single.predict_evidence(dict(X.iloc[k])).rows[0] for k in range(10)] == expected.rows[:10].tolist()
    piped = make_pipeline(StandardScaler(), FERLClassifier(random_state=0)).fit(X, y)
    inner = piped[-1].predict_evidence(piped[:-1].transform(X))
    assert isinstance(inner, RuleEvidence)
    assert (inner.rows > 0).all()


def test_files_of_answers_have_the_rows_behind_and_sets_of_a_level(iris, tmp_path):
    model, X, _ = iris
    X.to_parquet(tmp_path / "rows.parquet")
    save_model(model, tmp_path / "model.json")
    evidence = model.predict_evidence(X)
    for level in (None, 0.9):
        expected = evidence.prediction_set(level)
        predict_parquet(model, tmp_path / "rows.parquet", tmp_path / "python.parquet", level=level)
        options = [] if level is None else ["--level", level]
        command = ["predict", tmp_path / "model.json", tmp_path / "rows.parquet", *options, "-o"]
        ferl(*command, tmp_path / "shell.parquet")
        for name in ("python.parquet", "shell.parquet"):
            found = pq.read_table(tmp_path / name)
            np.testing.assert_array_equal(found["rows"].to_numpy(), evidence.rows)
            assert [own.count("|") + 1 for own in found["set"].to_pylist()] == expected.sum(axis=1).tolist()
    assert "--level is 1.5; it must be above 0 and at most 1" in refused(*command[:3], "--level", 1.5, "-o", "-")


def test_a_level_beside_calibrated_sets_is_refused(iris, tmp_path):
    model, X, y = iris
    save_model(model, tmp_path / "model.json")
    X.assign(kind=y.to_numpy()).to_csv(tmp_path / "rows.csv", index=False)
    command = ["calibrate", tmp_path / "model.json", tmp_path / "rows.csv", "--target", "kind"]
    ferl(*command, "-o", tmp_path / "promise.json")
    predict = ["predict", tmp_path / "model.json", tmp_path / "rows.csv", "--calibration", tmp_path / "promise.json"]
    assert "--level is 0.8, but --calibration determines the sets" in refused(*predict, "--level", 0.8, "-o", "-")


def test_less_is_said_by_conformal_plausibility_where_fewer_rows_are_behind():
    """The score rises as the probability falls, and falls with ignorance: unfounded rows have larger sets."""
    from ferl.conformal import nonconformity

    probability = np.array([[0.9, 0.1], [0.6, 0.4], [0.9, 0.1]])
    rows, classes = np.array([99.0, 99.0, 1.0]), np.array(["no", "yes"])
    score = nonconformity(RuleEvidence.resting_on(probability, rows, np.ones(3), np.zeros(3), classes), "plausibility")
    np.testing.assert_allclose(score[0], 0.99 * (1 - probability[0]))
    assert score[0, 0] < score[1, 0]
    assert (score[2] < score[0]).all()
