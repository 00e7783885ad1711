"""CalibratedFERL: coherent evidence, the same labels, and probabilities nearer to frequencies."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators import classifier
from ferl import Evidence, FERLClassifier, FERLTreeClassifier
from ferl._models.evidence import RuleEvidence
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL, IsotonicMap, TemperatureMap, VennAbers, fit_map
from ferl.conformal import ConformalFERL
from ferl.metrics import brier_score, expected_calibration_error

METHODS = pytest.mark.parametrize("method", ["temperature", "isotonic"])


@pytest.fixture(scope="module")
def data():
    return make_classification(3000, 8, n_informative=5, n_classes=3, flip_y=0.2, class_sep=0.9, random_state=0)


@st.composite
def labelled_evidence(draw: st.DrawFn) -> tuple[Evidence, np.ndarray]:
    n, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    masses = draw(arrays(np.int64, (n, n_classes + 1), elements=st.integers(0, 4))).astype(float)
    masses[:, -1] += masses.sum(axis=1) == 0
    masses /= masses.sum(axis=1, keepdims=True)
    codes = draw(arrays(np.intp, n, elements=st.integers(0, n_classes - 1)))
    return Evidence(masses[:, :-1], masses[:, -1], np.full(n, 0.1), np.arange(n_classes)), codes


@METHODS
@settings(deadline=None)
@given(case=labelled_evidence())
def test_evidence_stays_coherent_and_labels_stay(method: str, case: tuple[Evidence, np.ndarray]) -> None:
    evidence, codes = case
    moved = fit_map(evidence, codes, method)(evidence)
    np.testing.assert_array_equal(moved.ignorance, evidence.ignorance)
    np.testing.assert_array_equal(moved.conflict, evidence.conflict)
    np.testing.assert_allclose(moved.belief.sum(axis=1) + moved.ignorance, 1)
    assert (moved.belief >= 0).all()
    assert (moved.belief <= moved.pignistic + 1e-15).all()
    assert (moved.pignistic <= moved.plausibility + 1e-15).all()
    np.testing.assert_allclose(moved.pignistic.sum(axis=1), 1)
    np.testing.assert_allclose(moved.dirichlet / moved.dirichlet.sum(axis=1, keepdims=True), moved.pignistic, atol=1e-6)
    vacuous = evidence.ignorance == 1
    np.testing.assert_allclose(moved.pignistic[vacuous], 1 / evidence.belief.shape[1])
    # The best classes stay the best: nothing overtakes them.
    best = evidence.belief == evidence.belief.max(axis=1, keepdims=True)
    assert (np.where(best, moved.belief, np.inf).min(axis=1) >= moved.belief.max(axis=1) - 1e-12).all()


@METHODS
@settings(deadline=None)
@given(
    scores=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.floats(-9, 9)),
    data=st.data(),
)
def test_evidence_of_weights_stays_coherent_and_labels_stay(
    method: str, scores: np.ndarray, data: st.DataObject
) -> None:
    n, n_classes = scores.shape
    support = np.where(np.arange(n) > 0, 0.9, 0.0)  # a row that all gates are closed to
    evidence = evidence_of(scores, support)
    codes = data.draw(arrays(np.intp, n, elements=st.integers(0, n_classes - 1)))
    moved = fit_map(evidence, codes, method)(evidence)
    np.testing.assert_array_equal(moved.conflict, evidence.conflict)
    np.testing.assert_allclose(moved.probability.sum(axis=1), 1)
    assert (moved.belief >= 0).all()
    assert (moved.belief <= moved.pignistic + 1e-9).all()
    assert (moved.pignistic <= moved.plausibility + 1e-9).all()
    best = evidence.probability == evidence.probability.max(axis=1, keepdims=True)
    assert (np.where(best, moved.probability, np.inf).min(axis=1) >= moved.probability.max(axis=1) - 1e-12).all()
    np.testing.assert_array_equal(moved.ignorance, evidence.ignorance)
    np.testing.assert_array_equal(moved.rows, evidence.rows)
    assert (moved.ignorance[0], moved.belief[0].max(), moved.plausibility[0].min()) == (1, 0, 1)


def evidence_of(scores: np.ndarray, support: np.ndarray) -> RuleEvidence:
    """Evidence of rules whose scores these are, with five rows behind each answer."""
    n, n_classes = scores.shape
    return RuleEvidence.resting_on(
        softmax(scores, axis=1), np.full(n, 5.0), support, np.full(n, 0.1), np.arange(n_classes)
    )


def test_a_temperature_divides_all_weights_of_evidence() -> None:
    scores = np.array([[2.0, -1.0, 0.5], [800.0, 0.0, -800.0]])
    raw, half = evidence_of(scores, np.ones(2)), evidence_of(scores / 2, np.ones(2))
    for name in ("belief", "plausibility", "probability", "ignorance", "conflict"):
        np.testing.assert_allclose(getattr(TemperatureMap(2.0)(raw[0]), name)[0], getattr(half, name)[0], atol=1e-12)
        np.testing.assert_allclose(getattr(TemperatureMap(1.0)(raw), name), getattr(raw, name), atol=1e-12)


def test_temperature_one_changes_nothing_and_others_flatten_or_sharpen() -> None:
    row = Evidence(np.array([[0.6, 0.2, 0.0]]), np.array([0.2]), np.zeros(1), np.arange(3))
    np.testing.assert_allclose(TemperatureMap(1.0)(row).belief, row.belief, atol=1e-11)
    assert TemperatureMap(2.0)(row).belief[0, 0] < 0.6 < TemperatureMap(0.5)(row).belief[0, 0]
    np.testing.assert_allclose(IsotonicMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]))(row).belief, row.belief)


@pytest.mark.parametrize("variant", ["deep", "rules"])
def test_temperature_and_sharing_are_the_best_of_a_list(data, variant) -> None:
    X, y = data
    evidence = classifier(variant, max_rules=50, random_state=0).fit(X[:500], y[:500]).predict_evidence(X[500:1500])
    found = fit_map(evidence, y[500:1500], "temperature")
    losses = [
        log_loss(y[500:1500], TemperatureMap(temperature, sharing)(evidence).probability)
        for temperature in np.geomspace(0.2, 5, 30)
        for sharing in np.linspace(0, 1, 11)
    ]
    assert log_loss(y[500:1500], found(evidence).probability) <= min(losses) + 1e-6


@METHODS
def test_rules_that_are_too_sure_are_calibrated(data, method) -> None:
    X, y = data
    model = FERLClassifier(random_state=0).fit(X[:300], y[:300])
    rules, prior = model.model_.rules, model.model_.prior
    model.model_ = replace(model.model_, rules=replace(rules, weight=4 * rules.weight), prior=4 * prior)
    calibrated = CalibratedFERL(model, method=method).calibrate(X[300:1500], y[300:1500])
    raw, moved = model.predict_proba(X[1500:]), calibrated.predict_proba(X[1500:])
    assert log_loss(y[1500:], moved) < log_loss(y[1500:], raw) - 0.3
    errors = [expected_calibration_error(y[1500:], own.argmax(axis=1), own.max(axis=1)) for own in (raw, moved)]
    assert errors[1] < errors[0] - 0.1
    np.testing.assert_array_equal(calibrated.predict(X[1500:]), model.predict(X[1500:]))
    evidence, before = calibrated.predict_evidence(X[1500:]), model.predict_evidence(X[1500:])
    np.testing.assert_array_equal(evidence.ignorance, before.ignorance)  # the answers rest on the same rows
    assert (evidence.prediction_set().sum(axis=1) > before.prediction_set().sum(axis=1)).mean() > 0.1
    if method == "temperature":
        assert 2 < calibrated.map_.temperature < 8


@METHODS
@pytest.mark.parametrize("separate", [True, False])
def test_calibration_brings_probabilities_nearer_to_frequencies(data, method, separate) -> None:
    X, y = data
    raw = FERLTreeClassifier("deep", random_state=0)
    model = CalibratedFERL(raw, method=method, cv=None if separate else 5, random_state=0).fit(X[:600], y[:600])
    if separate:
        model.calibrate(X[600:1500], y[600:1500])
    measured = []
    for probability in (model.estimator_.predict_proba(X[1500:]), model.predict_proba(X[1500:])):
        answers = (y[1500:], probability.argmax(axis=1), probability.max(axis=1))
        measured.append((expected_calibration_error(*answers), brier_score(y[1500:], probability, [0, 1, 2])))
    assert measured[1][0] < measured[0][0] - 0.02
    assert measured[1][1] < measured[0][1]
    np.testing.assert_array_equal(model.predict(X[1500:]), model.estimator_.predict(X[1500:]))


@pytest.fixture(scope="module")
def events():
    """Scores on a coarse grid that are far too sure, and a function that draws rows of them."""

    def draw(n, random):
        score = np.round(random.random(n), 1 + int(random.random() < 0.5))
        return score, random.random(n) < 0.2 + 0.4 * score**2

    return draw


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(-1, 13),
)
@settings(deadline=None)
def test_intervals_are_two_isotonic_regressions_with_the_new_row(rows, twice) -> None:
    score, happened, weight = (np.array(own) for own in zip(*rows, strict=True))
    weight = weight.astype(float) if weight.sum() else np.ones(len(score))
    new = twice / 2
    found = VennAbers.of(score.astype(float), happened, weight).interval(np.array([new, new]))
    for one, end in ((0, 0), (1, 1)):
        line = IsotonicRegression()
        line.fit(np.append(score, new), np.append(happened, one), sample_weight=np.append(weight, 1.0))
        np.testing.assert_allclose(found[:, end], line.predict([new, new]), rtol=0, atol=1e-12)
    assert (found[:, 0] <= found[:, 1] + 1e-12).all()
    repeated = VennAbers.of(np.repeat(score, weight.astype(int)).astype(float), np.repeat(happened, weight.astype(int)))
    np.testing.assert_allclose(repeated.interval(np.array([new, new])), found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 27, 38, 53])
@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_maps_do_not_depend_on_the_order_of_rows(method, seed) -> None:
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(4), 3)[rng.integers(3, size=30)]
    rows = Evidence(masses[:, :3], masses[:, 3], np.zeros(30), np.arange(3))
    codes = rng.integers(3, size=30).astype(np.int32)
    expected = fit_map(rows, codes, method)(rows)[0].probability
    for other in range(8):
        order = np.random.default_rng(other).permutation(30)
        np.testing.assert_array_equal(fit_map(rows[order], codes[order], method)(rows)[0].probability, expected)


def test_one_end_of_an_interval_is_calibrated_in_repeated_draws(events) -> None:
    """1,500 draws of 30 calibration rows and 10 new ones; the share of events is compared in bins of the right end."""
    random, right, truth, single = np.random.default_rng(0), [], [], []
    for _ in range(1500):
        score, happened = events(40, random)
        ends = VennAbers.of(score[:30], happened[:30]).interval(score[30:])
        right.append(np.where(happened[30:], ends[:, 1], ends[:, 0]))
        truth.append(happened[30:])
        single.append(ends[:, 0])
    wrong = _miscalibration(np.array(right), np.array(truth))
    assert len(wrong) > 6
    assert (np.abs(wrong) < 4).all()  # standard errors, over draws
    # The lower end alone is not calibrated: the comparison can fail.
    assert np.abs(_miscalibration(np.array(single), np.array(truth))).max() > 10


def _miscalibration(p, truth):
    """Event minus probability in bins of the probability, in standard errors of its sum over draws."""
    found = []
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1 + (low > 0.85))
        own = ((truth - p) * inside).sum(axis=1)
        if inside.sum() > 200:
            found.append(own.sum() / (own.std() * np.sqrt(len(own)) + 1e-12))
    return np.array(found)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_of_classes(n_classes) -> None:
    X, y = make_classification(900, 6, n_informative=4, n_classes=n_classes, class_sep=0.7, random_state=1)
    y = np.array(["a", "b", "c"])[y]
    clf = FERLClassifier(random_state=0).fit(X[:300], y[:300])
    model = CalibratedFERL(clf).calibrate(X[300:600], y[300:600])
    interval = model.predict_interval(X[600:])
    assert interval.shape == (300, n_classes, 2)
    assert (interval[:, :, 0] <= interval[:, :, 1]).all()
    width = interval[:, :, 1] - interval[:, :, 0]
    assert 0 < np.median(width) < 0.2
    if n_classes == 2:
        np.testing.assert_allclose(interval[:, 0, ::-1], 1 - interval[:, 1], rtol=0, atol=1e-15)
    known = VennAbers.of(clf.predict_proba(X[300:600])[:, 1], y[300:600] == "b")
    np.testing.assert_array_equal(interval[:, 1], known.interval(clf.predict_proba(X[600:])[:, 1]))
    # A label that the classifier does not know is left out.
    other = np.append(y[300:600], "z")
    again = CalibratedFERL(clf).calibrate(np.vstack([X[300:600], X[:1]]), other)
    np.testing.assert_array_equal(again.predict_interval(X[600:]), interval)
    with pytest.raises(NotFittedError, match=r"fit has used all. Call calibrate\(X, y\) on other rows"):
        CalibratedFERL(FERLClassifier(max_rules=3, random_state=0), cv=2).fit(X[:90], y[:90]).predict_interval(X)
    with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) and then calibrate\(X, y\) first"):
        CalibratedFERL().predict_interval(X)


@parametrize_with_checks(
    [CalibratedFERL(classifier(variant, random_state=0), cv=2, random_state=0) for variant in ("medium", "rules")]
)
def test_scikit_learn_estimator_checks_pass(estimator, check) -> None:
    check(estimator)


def small(variant: str) -> FERLClassifier:
    """A classifier of few short rules."""
    options = {"max_conditions": 1} if variant == "rules" else {}
    return classifier(variant, max_rules=15, random_state=0, **options)


@pytest.mark.parametrize("variant", ["medium", "rules"])
def test_it_can_be_wrapped_in_turn(data, variant) -> None:
    X, y = data
    inner = CalibratedFERL(small(variant), cv=2, random_state=0)
    conformal = ConformalFERL(inner, nonconformity="aps", randomised=True, random_state=0).fit(X[:400], y[:400])
    assert conformal.conformalize(X[400:600], y[400:600]).predict_set(X[600:]).any(axis=1).all()
    controlled = RiskControlledFERL(clone(inner), risk=0.4, random_state=0).fit(X[:400], y[:400])
    assert controlled.calibrate(X[400:600], y[400:600]).control_.met


@pytest.mark.parametrize("variant", ["medium", "rules"])
def test_frames_pipelines_weights_and_pickles(data, variant) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    pipeline = make_pipeline(StandardScaler(), small(variant))
    model = CalibratedFERL(pipeline, random_state=0).fit(frame[:300], y[:300], np.ones(300))
    assert list(model.feature_names_in_) == list(frame.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame[300:]), model.predict_proba(frame[300:]))
    plain = CalibratedFERL(pipeline, random_state=0).fit(frame[:300], y[:300])
    assert plain.map_.temperature == pytest.approx(model.map_.temperature)
    twice = np.ones(100)
    twice[:50] = 2
    model.calibrate(frame[300:400], y[300:400], twice)
    rows = np.concatenate([np.arange(300, 350), np.arange(300, 400)])
    assert plain.calibrate(frame.iloc[rows], y[rows]).map_.temperature == pytest.approx(
        model.map_.temperature, rel=1e-3
    )


@pytest.mark.parametrize("variant", ["medium", "rules"])
def test_a_class_that_a_fold_has_not_seen(variant) -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.append(y[:100], 7)
    model = CalibratedFERL(classifier(variant, random_state=0), cv=3, random_state=0).fit(X[:101], labels)
    assert model.predict_proba(X).shape == (150, 3)


def test_misuse_is_named(data) -> None:
    X, y = data
    with pytest.raises(NotFittedError, match=r"needs a map. Call fit\(X, y\) first"):
        CalibratedFERL().predict_proba(X)
    with pytest.raises(NotFittedError, match=r"needs a map. Call calibrate\(X, y\) first"):
        CalibratedFERL(FERLTreeClassifier("medium"), cv=None).fit(X, y).predict(X)
    with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) and then calibrate\(X, y\) first"):
        CalibratedFERL(cv=None).predict(X)
    with pytest.raises(NotFittedError, match=r"calibrate needs a fitted classifier"):
        CalibratedFERL().calibrate(X, y)
    with pytest.raises(ValueError, match="'method' parameter"):
        CalibratedFERL(method="platt").fit(X, y)
    fitted = FERLTreeClassifier("medium", random_state=0).fit(X[:200], y[:200])
    with pytest.raises(
        ValueError, match="None of the 10 calibration rows has a label that the classifier was fitted on"
    ):
        CalibratedFERL(fitted).calibrate(X[:10], np.full(10, 9))
    with pytest.raises(ValueError, match="X has 10 rows and y 9 labels"):
        CalibratedFERL(fitted).calibrate(X[:10], y[:9])
