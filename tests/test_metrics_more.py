"""Further measures: by hand, against brute force, and against scikit-learn and MAPIE."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV, cross_validate

from ferl import FERLTreeClassifier
from ferl.conformal import ConformalFERL
from ferl.metrics import (
    SCORERS,
    accuracy_at_coverage,
    accuracy_under_abstention,
    adaptive_calibration_error,
    augrc,
    aurc,
    brier_score,
    coverage_by_class,
    expected_calibration_error,
    fpr95,
    mean_set_size,
    novelty_aupr,
    novelty_auroc,
    rejection_at_acceptance,
    risk_coverage_curve,
    set_coverage,
    u65,
)

LAW = settings(deadline=None)


@st.composite
def ranked(draw: st.DrawFn, max_rows: int = 30) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """A mask with both values, and a score with ties."""
    n = draw(st.integers(2, max_rows))
    mask = draw(arrays(np.bool_, n))
    mask[:2] = [True, False]
    return mask, draw(arrays(np.int64, n, elements=st.integers(0, 5))).astype(np.float64) / 5


# ---------------------------------------------------------------------------------------------------------------------
# Selection
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(ranked())
def test_the_curve_without_ties_averages_to_the_area(case: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    wrong, _ = case
    answers = (np.zeros(len(wrong)), wrong.astype(float), np.arange(len(wrong)))
    coverage, risk, threshold = risk_coverage_curve(*answers)
    assert risk.mean() == pytest.approx(aurc(*answers))
    assert (coverage * risk).mean() == pytest.approx(augrc(*answers))
    assert (np.diff(threshold) < 0).all()
    assert coverage[-1] == 1


@LAW
@given(ranked())
def test_a_point_of_the_curve_is_the_error_rate_above_its_threshold(
    case: tuple[NDArray[np.bool_], NDArray[np.float64]],
) -> None:
    wrong, confidence = case
    y_true, y_pred = np.zeros(len(wrong)), wrong.astype(float)
    for coverage, risk, threshold in zip(*risk_coverage_curve(y_true, y_pred, confidence), strict=True):
        answered = confidence >= threshold
        assert coverage == answered.mean()
        assert 1 - risk == pytest.approx(accuracy_under_abstention(y_true, y_pred, answered))
        assert 1 - risk == pytest.approx(accuracy_at_coverage(y_true, y_pred, confidence, coverage))


def test_accuracy_under_abstention_looks_at_answered_rows_only() -> None:
    assert accuracy_under_abstention([1, 2, 3], np.array([1, None, 4], dtype=object), [True, False, True]) == 0.5
    assert np.isnan(accuracy_under_abstention([1, 2], [1, 2], [False, False]))
    with pytest.raises(ValueError, match="answered must be boolean; got int64"):
        accuracy_under_abstention([1, 2], [1, 2], [1, 0])
    with pytest.raises(ValueError, match="coverage must be above 0 and at most 1; got 0"):
        accuracy_at_coverage([1], [1], [1.0], 0)


# ---------------------------------------------------------------------------------------------------------------------
# Calibration
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(ranked(), st.integers(1, 8), st.integers(0, 99))
def test_adaptive_error_ignores_the_order_and_bounds_the_gap(
    case: tuple[NDArray[np.bool_], NDArray[np.float64]], n_bins: int, seed: int
) -> None:
    wrong, confidence = case
    y_true, y_pred = np.zeros(len(wrong)), wrong.astype(float)
    value = adaptive_calibration_error(y_true, y_pred, confidence, n_bins)
    order = np.random.default_rng(seed).permutation(len(wrong))
    assert adaptive_calibration_error(y_true, y_pred[order], confidence[order], n_bins) == pytest.approx(value)
    assert abs((1 - wrong.mean()) - confidence.mean()) - 1e-12 <= value <= 1 + 1e-12
    assert adaptive_calibration_error(y_true, y_pred, confidence, 1) == pytest.approx(
        expected_calibration_error(y_true, y_pred, confidence, 1)
    )


def test_mapie_agrees_about_calibration_errors() -> None:
    calibration = pytest.importorskip("mapie.metrics.calibration", reason="MAPIE is not installed")
    random = np.random.default_rng(0)
    confidence = np.sort(random.random(600))
    right = random.random(600) < confidence**2
    theirs = calibration.expected_calibration_error
    answers = (np.ones(600), right.astype(float), confidence)
    assert expected_calibration_error(*answers, 10) == pytest.approx(
        # Eleven edges of MAPIE's are ten bins, and one for zeros.
        theirs(right.astype(int), confidence, num_bins=11, split_strategy="uniform")
    )
    assert adaptive_calibration_error(*answers, 10) == pytest.approx(
        theirs(right.astype(int), confidence, num_bins=10, split_strategy="array split")
    )


def test_scikit_learn_agrees_about_the_brier_score() -> None:
    random = np.random.default_rng(0)
    probability = random.dirichlet(np.ones(3), 50)
    y = np.array(["a", "b", "c"])[random.integers(3, size=50)]
    expected = brier_score_loss(y, probability, labels=["a", "b", "c"], scale_by_half=False)
    assert brier_score(y, probability, ["a", "b", "c"]) == pytest.approx(expected)
    assert brier_score(y, probability[:, [2, 0, 1]], ["c", "a", "b"]) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"probability must have shape \(n_samples, 2\)"):
        brier_score(y, probability, ["a", "b"])
    with pytest.raises(ValueError, match=r"probability must lie in \[0, 1\]; got"):
        brier_score(y, probability * 2, ["a", "b", "c"])


# ---------------------------------------------------------------------------------------------------------------------
# Sets
# ---------------------------------------------------------------------------------------------------------------------


def test_coverage_by_class_averages_to_the_coverage() -> None:
    random = np.random.default_rng(0)
    y, sets = random.integers(4, size=200), random.random((200, 5)) < 0.7
    by_class = coverage_by_class(y, sets, np.arange(5))
    assert np.isnan(by_class[4])
    assert np.average(by_class[:4], weights=np.bincount(y)) == pytest.approx(set_coverage(y, sets, np.arange(5)))


def test_mapie_agrees_about_sets() -> None:
    theirs = pytest.importorskip("mapie.metrics.classification", reason="MAPIE is not installed")
    random = np.random.default_rng(0)
    y, sets = random.integers(4, size=200), random.random((200, 4)) < 0.7
    assert set_coverage(y, sets, np.arange(4)) == theirs.classification_coverage_score(y, sets[:, :, None])[0]
    assert mean_set_size(sets) == theirs.classification_mean_width_score(sets[:, :, None])[0]


# ---------------------------------------------------------------------------------------------------------------------
# Novelty
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(ranked())
def test_scikit_learn_agrees_about_auroc(case: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    assert novelty_auroc(*case) == pytest.approx(roc_auc_score(*case))


@LAW
@given(ranked())
def test_scikit_learn_agrees_about_average_precision_without_ties(
    case: tuple[NDArray[np.bool_], NDArray[np.float64]],
) -> None:
    mask = case[0]
    score = np.random.default_rng(0).permutation(len(mask))
    assert novelty_aupr(mask, score) == pytest.approx(average_precision_score(mask, score))


@LAW
@given(ranked(max_rows=6))
def test_ties_are_the_mean_over_all_orders(case: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    mask, score = case
    orders = [
        order
        for order in itertools.permutations(range(len(mask)))
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order))
    ]
    places = np.arange(1, len(mask) + 1)
    exact = [np.mean((np.cumsum(mask[list(order)]) / places)[mask[list(order)]]) for order in orders]
    assert novelty_aupr(mask, score) == pytest.approx(np.mean(exact))


@LAW
@given(ranked(), st.sampled_from([0.5, 0.8, 0.9, 0.95, 1.0]))
def test_rejection_is_the_height_of_the_roc_curve(
    case: tuple[NDArray[np.bool_], NDArray[np.float64]], acceptance: float
) -> None:
    false, true, _ = roc_curve(*case, drop_intermediate=False)
    allowed = 1 - acceptance
    exact = np.isclose(false, allowed)
    height = true[exact].max() if exact.any() else np.interp(allowed, false, true)
    assert rejection_at_acceptance(*case, acceptance) == pytest.approx(height)


def test_novelty_by_hand_and_its_errors() -> None:
    known = np.arange(20.0)
    is_novel, novelty = np.append(np.zeros(20, bool), [True, True]), np.append(known, [18.5, 30.0])
    # 95 % of 20 is 19: one known row may be rejected, so the threshold is just above 18.
    assert rejection_at_acceptance(is_novel, novelty) == 1.0
    assert fpr95(is_novel, novelty) == 0.0
    assert rejection_at_acceptance(is_novel, novelty, 1.0) == 0.5
    with pytest.raises(ValueError, match="0 of 2 rows are novel; both novel and known rows are needed"):
        novelty_auroc([False, False], [0.1, 0.2])
    with pytest.raises(ValueError, match="novelty holds NaN in 1 of 2 rows"):
        novelty_aupr([False, True], [0.1, np.nan])
    with pytest.raises(ValueError, match="is_novel must be boolean"):
        novelty_auroc([0, 2], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"acceptance must be above 0 and at most 1; got 95"):
        rejection_at_acceptance([False, True], [0.1, 0.2], 95)


# ---------------------------------------------------------------------------------------------------------------------
# Scorers
# ---------------------------------------------------------------------------------------------------------------------


def test_scorers_are_the_measures_with_the_sign_that_makes_more_better() -> None:
    X, y = load_iris(return_X_y=True)
    clf = FERLTreeClassifier("medium", random_state=0).fit(X[::2], y[::2])
    proba = clf.predict_proba(X[1::2])
    answers = (y[1::2], proba.argmax(axis=1), proba.max(axis=1))
    assert SCORERS["neg_aurc"](clf, X[1::2], y[1::2]) == -aurc(*answers)
    assert SCORERS["neg_brier_score"](clf, X[1::2], y[1::2]) == -brier_score(y[1::2], proba, clf.classes_)
    assert SCORERS["u65"](clf, X[1::2], y[1::2]) == u65(y[1::2], clf.predict_set(X[1::2]), clf.classes_)
    assert SCORERS["neg_mean_set_size"](clf, X[1::2], y[1::2]) == -mean_set_size(clf.predict_set(X[1::2]))
    assert pickle.loads(pickle.dumps(SCORERS["u65"])) == SCORERS["u65"]
    assert repr(SCORERS["u65"]) == "ferl.metrics.SCORERS['u65']"


def test_scorers_work_in_searches_and_cross_validation() -> None:
    X, y = load_iris(return_X_y=True)
    scores = cross_validate(FERLTreeClassifier("medium", random_state=0), X, y, cv=3, scoring=SCORERS)
    assert {f"test_{name}" for name in SCORERS} <= set(scores)
    assert all(np.isfinite(scores[f"test_{name}"]).all() for name in SCORERS)
    search = GridSearchCV(
        ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=3, random_state=0),
        {"nonconformity": ["probability", "aps"]},
        scoring=SCORERS["u65"],
        cv=3,
    )
    assert search.fit(X, y).best_params_["nonconformity"] == "probability"
