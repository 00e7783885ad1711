"""NoveltyDetector: p-values that keep their promise, and scikit-learn's conventions for outlier detectors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ferl import FERLTreeClassifier, NoveltyDetector
from ferl.detector import BatchDrift

Floats = NDArray[np.float64]

TRAINING_ROWS = (
    "judges rows of the training table, which cross-fitting compares with themselves under classifiers that know them: "
    "none is found"
)


def known_wines() -> tuple[Floats, NDArray[np.int64], Floats]:
    """Two kinds of wine with their labels, and a third one."""
    X, y = load_wine(return_X_y=True)
    return X[y != 2], y[y != 2], X[y == 2]


# ---------------------------------------------------------------------------------------------------------------------
# Scikit-learn's conventions
# ---------------------------------------------------------------------------------------------------------------------


@parametrize_with_checks([NoveltyDetector(alpha=0.3, cv=0.5, random_state=0)])
def test_scikit_learn_estimator_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks(
    [NoveltyDetector(alpha=0.3, cv=5, random_state=0)],
    expected_failed_checks=lambda _: dict.fromkeys(("check_outliers_train",), TRAINING_ROWS),
)
def test_cross_fitted_estimator_checks_pass_but_for_those_that_judge_training_rows(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("cv", [5, 0.4])
@pytest.mark.parametrize("measure", [None, "neighbour", "residual"])
def test_the_answers_are_one_story(cv: Any, measure: str | None) -> None:
    X, y, other = known_wines()
    detector = NoveltyDetector(alpha=0.1, cv=cv, measure=measure, random_state=0).fit(X[::2], y[::2])
    new = np.vstack([X[1::2], other, 1e3 * other])
    p, score = detector.p_values(new), detector.score_samples(new)
    assert ((p > 0) & (p <= 1)).all()
    np.testing.assert_array_equal(detector.decision_function(new), score - detector.offset_)
    np.testing.assert_array_equal(detector.predict(new), np.where(detector.decision_function(new) < 0, -1, 1))
    np.testing.assert_array_equal(detector.predict(new) == -1, p <= 0.1)
    np.testing.assert_allclose(p * (detector.n_calibration_ + 1), np.round(p * (detector.n_calibration_ + 1)))
    np.testing.assert_allclose(detector.novelty_attribution(new).sum(axis=1), detector.novelty(new), rtol=1e-9)
    np.testing.assert_array_equal(detector.novelty(new), detector.estimator_.novelty(new, measure=measure))


def test_scores_order_rows_by_p_value_and_then_by_novelty() -> None:
    X, y, other = known_wines()
    detector = NoveltyDetector(cv=0.5, random_state=0).fit(X, y)
    new = np.vstack([X, other, 1e9 * other, np.full((1, 13), 1e155)])
    p, novelty, score = detector.p_values(new), detector.novelty(new), detector.score_samples(new)
    assert len(np.unique(p)) < len(p) / 2
    order = np.lexsort((-novelty, p))  # the most outlying first
    assert (np.diff(score[order]) >= 0).all()
    # Strictly, unless rounding makes two novelties beyond measure one.
    clear = np.diff(novelty[order]) < -1e-6 * novelty[order][1:]
    moderate = novelty[order][1:] < 1e6
    assert (np.diff(score[order])[clear & moderate] > 0).all()


@pytest.mark.parametrize("measure", ["neighbour", "residual"])
@pytest.mark.parametrize("value", [1e18, 1e160, 1.7e308])
def test_rows_of_infinite_novelty_are_outliers(measure: str, value: float) -> None:
    rng = np.random.default_rng(0)
    detector = NoveltyDetector(measure=measure, random_state=0).fit(rng.normal(size=(60, 3)))
    new = np.full((1, 3), value)
    assert detector.predict(new) == -1
    assert np.isfinite(detector.score_samples(new)).all()
    assert detector.p_values(new) == 1 / 61


def test_a_row_above_alpha_is_no_outlier_however_novel() -> None:
    """Calibration rows of the same kind, all of them far away."""
    rng = np.random.default_rng(0)
    classifier = FERLTreeClassifier("deep", random_state=0).fit(rng.normal(size=(50, 2)), np.zeros(50))
    far = 1e25 * (1 + rng.random((99, 2)))
    detector = NoveltyDetector(classifier, cv="prefit", alpha=0.05).fit(far)
    new = 1e25 * (1 + rng.random((20_000, 2)))
    p = detector.p_values(new)
    assert (np.round(100 * p) == 6).any()  # just above
    np.testing.assert_array_equal(detector.predict(new) == -1, p <= 0.05)


# ---------------------------------------------------------------------------------------------------------------------
# P-values
# ---------------------------------------------------------------------------------------------------------------------


def test_a_p_value_is_the_share_of_calibration_rows_that_are_as_novel() -> None:
    X, y, other = known_wines()
    classifier = FERLTreeClassifier("deep", random_state=0).fit(X[::2], y[::2])
    detector = NoveltyDetector(classifier, cv="prefit").fit(X[1::2])
    assert detector.estimator_ is not classifier  # which may be fitted again
    new = np.vstack([X, other])
    novelty, held_out = classifier.novelty(new), classifier.novelty(X[1::2])
    expected = [(1 + sum(held_out >= value)) / (len(held_out) + 1) for value in novelty]
    np.testing.assert_array_equal(detector.p_values(new), expected)


def test_cross_fitted_p_values_count_each_part_under_the_classifier_that_did_not_see_it() -> None:
    X, y, other = known_wines()
    estimator = FERLTreeClassifier("medium", random_state=3)
    detector = NoveltyDetector(estimator, cv=4, random_state=7).fit(X, y)
    assert detector.n_calibration_ == len(X)
    n_as_novel = np.ones(len(other))
    for fitting, held_out in KFold(4, shuffle=True, random_state=7).split(X):
        part = clone(estimator).fit(X[fitting], y[fitting])
        n_as_novel += (part.novelty(X[held_out])[None, :] >= part.novelty(other)[:, None]).sum(axis=1)
    np.testing.assert_array_equal(detector.p_values(other), n_as_novel / (len(X) + 1))
    whole = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(detector.novelty(other), whole.novelty(other))


def p_value_samples(draw: Callable[[int], Floats], detector: Callable[[Floats], Any], n_fits: int) -> Floats:
    """P-values of 40 new rows for each of many fits, shape (n_fits, 40)."""
    return np.array([detector(draw(60)).p_values(draw(40)) for _ in range(n_fits)])


def excess(p: Floats, alpha: float, level: float) -> float:
    """How far the share of p-values of at most ``alpha`` exceeds ``level``, in standard errors over the fits."""
    share = (p <= alpha).mean(axis=1)
    return float((share.mean() - level) / (share.std(ddof=1) / np.sqrt(len(share))))


def labelled(X: Floats) -> NDArray[np.int64]:
    return (X[:, 0] > 0).astype(np.int64)


def held_out(X: Floats) -> NoveltyDetector:
    return NoveltyDetector(cv=0.5, random_state=0, alpha=0.1).fit(X)


def held_out_with_labels(X: Floats) -> NoveltyDetector:
    return NoveltyDetector(FERLTreeClassifier("medium", random_state=0), cv=0.5, random_state=0).fit(X, labelled(X))


def prefit(X: Floats) -> NoveltyDetector:
    classifier = FERLTreeClassifier("deep", random_state=0, max_rules=4).fit(X[:30], labelled(X[:30]))
    return NoveltyDetector(classifier, cv="prefit", measure="residual").fit(X[30:])


@pytest.mark.parametrize("detector", [held_out, held_out_with_labels, prefit])
def test_false_alarms_have_the_stated_rate_for_rows_drawn_alike(detector: Any) -> None:
    """Not only at most: without ties the bound is reached, so too large p-values would be noticed as well."""
    rng = np.random.default_rng(0)
    p = p_value_samples(lambda n: rng.standard_t(3, size=(n, 3)), detector, 250)
    for alpha in (0.05, 0.1, 0.3, 0.7):
        reached = np.floor(alpha * 31 * (1 + 1e-12)) / 31  # 30 calibration rows
        assert abs(excess(p, alpha, reached)) < 4, alpha
        assert excess(p, alpha, alpha) < 4


@pytest.mark.parametrize("detector", [held_out, prefit])
def test_with_ties_p_values_are_larger_never_smaller(detector: Any) -> None:
    rng = np.random.default_rng(0)
    p = p_value_samples(lambda n: rng.integers(-1, 2, size=(n, 3)).astype(float), detector, 250)
    for alpha in (0.05, 0.1, 0.3, 0.7):
        assert excess(p, alpha, alpha) < 3, alpha
    assert (p <= 0.7).mean() < 0.65  # and here clearly larger


def test_cross_fitted_false_alarms_are_close_to_the_stated_rate() -> None:
    rng = np.random.default_rng(0)
    detector = NoveltyDetector(FERLTreeClassifier("medium", random_state=0, max_rules=4), cv=5, random_state=0)
    p = p_value_samples(lambda n: rng.standard_t(3, size=(n, 3)), lambda X: detector.fit(X, labelled(X)), 120)
    for alpha in (0.05, 0.1, 0.3):
        assert (p <= alpha).mean() == pytest.approx(alpha, rel=0.25)  # proven: at most twice


# ---------------------------------------------------------------------------------------------------------------------
# Batches
# ---------------------------------------------------------------------------------------------------------------------


def benjamini_hochberg(n_as_novel: NDArray[np.int64], n_rows: int, alpha: Fraction) -> NDArray[np.bool_]:
    """In whole numbers: the p-values are ``n_as_novel / (n_rows + 1)``."""
    largest = 0
    for place, count in enumerate(sorted(n_as_novel.tolist()), start=1):
        if Fraction(count, n_rows + 1) <= alpha * place / len(n_as_novel):
            largest = count
    return n_as_novel <= largest


@pytest.mark.parametrize("n_rows", [19, 39, 99, 150])
def test_detect_is_the_procedure_of_benjamini_and_hochberg_without_rounding(
    n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n_rows)
    detector = NoveltyDetector(random_state=0)
    found = set()
    for _ in range(500):
        n_as_novel = rng.integers(1, n_rows + 2, rng.integers(1, 60)) // rng.integers(1, 5) + 1
        p = n_as_novel / (n_rows + 1)
        monkeypatch.setattr(detector, "p_values", lambda _, p=p: np.minimum(p, 1.0))
        for alpha in (0.05, 0.1, 0.2, 0.3):
            expected = benjamini_hochberg(n_as_novel, n_rows, Fraction(alpha).limit_denominator(100))
            np.testing.assert_array_equal(detector.detect(None, alpha=alpha), expected)
            found.add(expected.any())
    assert found == {True, False}


@pytest.mark.parametrize("cv", [0.5, 5])
def test_false_discoveries_are_kept_below_alpha(cv: Any) -> None:
    rng = np.random.default_rng(0)
    false_share, power = [], []
    for _ in range(100):
        detector = NoveltyDetector(cv=cv, alpha=0.2, random_state=0).fit(rng.normal(size=(120, 3)))
        batch = np.vstack([rng.normal(size=(40, 3)), rng.normal(6.0, 1.0, size=(15, 3))])
        found = detector.detect(batch)
        false_share.append(found[:40].sum() / max(1, found.sum()))
        power.append(found[40:].mean())
    error = np.std(false_share, ddof=1) / 10
    assert np.mean(false_share) < 0.2 * 40 / 55 + 3 * error
    assert np.mean(false_share) > 0.05  # it does not say nothing
    assert np.mean(power) > 0.9


def test_a_batch_of_ordinary_rows_has_outliers_but_hardly_ever_discoveries() -> None:
    rng = np.random.default_rng(0)
    n_outliers, n_with_discoveries = 0, 0
    for _ in range(60):
        detector = NoveltyDetector(cv=0.5, alpha=0.1, random_state=0).fit(rng.normal(size=(100, 2)))
        batch = rng.normal(size=(100, 2))
        n_outliers += (detector.predict(batch) == -1).sum()
        n_with_discoveries += detector.detect(batch).any()
    assert n_outliers > 60 * 5
    assert n_with_discoveries < 60 * 0.1 + 3 * np.sqrt(60 * 0.1 * 0.9)


def test_a_batch_too_small_for_a_verdict_is_told_how_many_rows_would_do() -> None:
    X, y = load_wine(return_X_y=True)
    detector = NoveltyDetector(cv=0.5, random_state=0).fit(X, y)
    few = detector.drift(X[:2])
    assert few.verdict.startswith(
        f"Verdict: 2 rows are too few to detect drift; {few.least_rows} are enough. 0 of 2 rows"
    )
    assert detector.drift(X[: few.least_rows]).verdict.startswith("Verdict: no sign of drift.")
    # So many rows are enough for half of them to be a sign, and one less is not.
    for n_rows, is_enough in ((few.least_rows, True), (few.least_rows - 1, False)):
        batch = X[:n_rows].copy()
        batch[: (n_rows + 1) // 2] += 100 * X.std(axis=0)
        assert (detector.drift(batch).p_value <= 0.001) == is_enough


def test_detect_uses_the_detectors_alpha_unless_told_otherwise() -> None:
    X, y, other = known_wines()
    detector = NoveltyDetector(alpha=0.1, random_state=0).fit(X, y)
    new = np.vstack([X, other])
    np.testing.assert_array_equal(detector.detect(new), detector.detect(new, alpha=0.1))
    assert detector.detect(new, alpha=0.5).sum() > detector.detect(new, alpha=0.2).sum() > detector.detect(new).sum()
    for alpha in (0.0, 1.0, -1, np.nan):
        with pytest.raises(ValueError, match=f"alpha is {alpha}; a false discovery rate lies between 0 and 1"):
            detector.detect(new, alpha=alpha)


# ---------------------------------------------------------------------------------------------------------------------
# What is found, and why
# ---------------------------------------------------------------------------------------------------------------------


def test_a_kind_of_wine_that_was_never_seen_is_found() -> None:
    X, y, other = known_wines()
    for cv in (5, 0.4):
        detector = NoveltyDetector(cv=cv, alpha=0.1, random_state=0).fit(X, y)
        assert (detector.predict(other) == -1).mean() > 0.5


@pytest.mark.parametrize("labels", [True, False])
def test_the_feature_that_was_spoiled_is_named(labels: bool) -> None:
    X, y = load_wine(return_X_y=True)
    # Rules see less of features that tell no classes apart; without labels no feature does.
    estimator = FERLTreeClassifier("deep", random_state=0) if labels else None
    detector = NoveltyDetector(estimator, random_state=0).fit(X[::2], y[::2] if labels else None)
    for j in range(X.shape[1]):
        spoiled = X[1::2].copy()
        spoiled[:, j] = X[:, j].max() + 8 * X[:, j].std()
        assert detector.detect(spoiled).mean() > 0.9
        assert (detector.novelty_attribution(spoiled).argmax(axis=1) == j).mean() > 0.95


def test_without_labels_the_classifier_has_no_rule_and_keeps_many_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    detector = NoveltyDetector(random_state=0).fit(X)
    assert detector.estimator_.n_rules_ == 0
    assert len(detector.estimator_.tree_.profile.exemplar_row) == 2048
    few = NoveltyDetector(FERLTreeClassifier("deep", n_exemplars=10, random_state=0)).fit(X)
    assert len(few.estimator_.tree_.profile.exemplar_row) == 10
    assert detector.predict([[9.0, 9.0]]) == -1
    with pytest.raises(AttributeError, match="has no attribute"):
        detector.fit_predict(X)


def test_the_estimator_that_is_given_is_not_changed() -> None:
    X, y, _ = known_wines()
    estimator = FERLTreeClassifier("compact", random_state=5)
    before = estimator.get_params()
    detector = NoveltyDetector(estimator, random_state=0).fit(X)
    assert not hasattr(estimator, "tree_")
    assert estimator.get_params() == before
    assert detector.estimator_.variant == "compact"
    without = NoveltyDetector(FERLTreeClassifier("deep", n_exemplars=0, random_state=0), random_state=0).fit(X, y)
    np.testing.assert_array_equal(without.novelty(X), without.estimator_.novelty(X, measure="residual"))


# ---------------------------------------------------------------------------------------------------------------------
# Tables, labels, copies
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("cv", [5, 0.5])
def test_data_frames_are_judged_as_arrays_are(frame: Any, cv: Any) -> None:
    X, y = load_iris(return_X_y=True)
    names = ["sl", "sw", "pl", "pw"]
    table = frame({name: X[:, j] for j, name in enumerate(names)})
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    series = pd.Series(labels, index=np.arange(len(y))[::-1])  # an index of its own does not matter
    detector = NoveltyDetector(cv=cv, random_state=0).fit(table, series)
    bare = NoveltyDetector(cv=cv, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(detector.p_values(table), bare.p_values(X))
    assert detector.feature_names_in_.tolist() == detector.estimator_.feature_names_in_.tolist() == names
    assert detector.n_features_in_ == 4
    np.testing.assert_array_equal(detector.p_values(table[["sw", "sl", "pl", "pw"]]), bare.p_values(X))
    with pytest.raises(ValueError, match=r"(?s)feature names.*now missing.*pw"):
        detector.predict(table[["sw", "sl", "pl"]])
    assert np.array_equal(NoveltyDetector(cv=cv, random_state=0).fit(X.tolist()).p_values(X.tolist()), bare_p(X, cv))


def bare_p(X: Floats, cv: Any) -> Floats:
    return NoveltyDetector(cv=cv, random_state=0).fit(X).p_values(X)


def test_pickle_clone_and_pipelines_keep_the_answers() -> None:
    X, y, other = known_wines()
    detector = NoveltyDetector(random_state=0).fit(X, y)
    for copy in (pickle.loads(pickle.dumps(detector)), clone(detector).fit(X, y)):
        np.testing.assert_array_equal(copy.score_samples(other), detector.score_samples(other))
    pipeline = make_pipeline(StandardScaler(), NoveltyDetector(random_state=0)).fit(X, y)
    assert (pipeline.predict(other) == -1).mean() > 0.5


def test_the_share_that_is_held_out_is_the_share_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    for share, n_rows in ((0.25, 25), (0.5, 50), (0.301, 31)):
        assert NoveltyDetector(cv=share, random_state=0).fit(X).n_calibration_ == n_rows
    one, other = (NoveltyDetector(cv=0.5, random_state=seed).fit(X).p_values(2 * X) for seed in (0, 1))
    assert not np.array_equal(one, other)


# ---------------------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "needed"), [(0.05, 19), (0.1, 9), (0.3, 3), (0.01, 99), (0.49, 2)])
def test_too_few_rows_for_alpha_is_an_error_that_says_how_many_are_needed(alpha: float, needed: int) -> None:
    rng = np.random.default_rng(0)
    classifier = FERLTreeClassifier("deep", random_state=0).fit(rng.normal(size=(40, 2)), np.zeros(40))
    detector = NoveltyDetector(classifier, cv="prefit", alpha=alpha)
    with pytest.raises(ValueError, match=f"alpha={alpha} at least {needed} calibration rows.*there are {needed - 1}"):
        detector.fit(rng.normal(size=(needed - 1, 2)))
    with pytest.raises(NotFittedError):  # and nothing half-fitted is left behind
        detector.p_values([[0.0, 0.0]])
    detector.fit(rng.normal(size=(needed, 2)))
    assert detector.predict([[99.0, 99.0]]) == -1
    with pytest.raises(ValueError, match="calibration rows"):
        detector.fit(rng.normal(size=(needed - 1, 2)))
    with pytest.raises(NotFittedError):
        detector.predict([[99.0, 99.0]])


@pytest.mark.parametrize("estimator", [None, FERLTreeClassifier("deep")])
def test_prefit_wants_a_fitted_estimator(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r'cv="prefit" needs an estimator that is fitted already.*cv=5'):
        NoveltyDetector(estimator, cv="prefit").fit(np.zeros((30, 2)))


def test_more_parts_than_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"cv is 40, but n_samples=30"):
        NoveltyDetector(cv=40).fit(np.random.default_rng(0).normal(size=(30, 2)))


@pytest.mark.parametrize(
    "parameter",
    [{"cv": 1}, {"cv": 1.5}, {"cv": 0.0}, {"cv": "loo"}, {"alpha": 0.0}, {"alpha": 1.0}, {"measure": "knn"}],
    ids=str,
)
def test_wrong_parameters_are_named(parameter: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(parameter))}' parameter"):
        NoveltyDetector(**parameter).fit(np.zeros((30, 2)))


def test_other_estimators_are_refused() -> None:
    with pytest.raises(ValueError, match="'estimator' parameter"):
        NoveltyDetector(StandardScaler()).fit(np.zeros((30, 2)))


def test_tables_that_the_classifier_refuses_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    spoiled = X.copy()
    spoiled[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"Feature 1 holds infinity"):
        NoveltyDetector(random_state=0).fit(spoiled)
    detector = NoveltyDetector(random_state=0).fit(X)
    for method in ("p_values", "predict", "score_samples", "decision_function", "detect", "novelty"):
        with pytest.raises(ValueError, match=r"Feature 1 holds infinity"):
            getattr(detector, method)(spoiled)
        with pytest.raises(NotFittedError):
            getattr(NoveltyDetector(), method)(X)
    with pytest.raises(TypeError, match="toarray"):
        NoveltyDetector().fit(scipy.sparse.csr_matrix(X))
    with pytest.raises(ValueError, match=r"3 features.*2 features"):
        detector.predict(np.zeros((4, 3)))
    for cv in (5, 0.5):
        for n_labels in (10, 61):
            with pytest.raises(ValueError, match=rf"60 rows.*\({n_labels},\).*one label for each row"):
                NoveltyDetector(cv=cv).fit(X, np.zeros(n_labels))


def test_parameters_that_change_after_fitting_are_followed_or_kept_but_never_mixed() -> None:
    X, y, other = known_wines()
    detector = NoveltyDetector(cv=0.4, alpha=0.1, random_state=0).fit(X, y)
    before = detector.p_values(other)
    detector.set_params(measure="residual")
    np.testing.assert_array_equal(detector.p_values(other), before)  # calibration rows were measured otherwise
    detector.set_params(alpha=0.5)
    np.testing.assert_array_equal(detector.predict(other) == -1, before <= 0.5)
    detector.set_params(alpha=0.001)
    with pytest.raises(ValueError, match="at least 999 calibration rows"):
        detector.predict(other)


def test_a_prefit_classifier_that_is_fitted_again_does_not_change_the_detector() -> None:
    X, y, other = known_wines()
    classifier = FERLTreeClassifier("deep", random_state=0).fit(X[::2], y[::2])
    detector = NoveltyDetector(classifier, cv="prefit").fit(X[1::2])
    before = detector.p_values(other)
    classifier.fit(X[:20], y[:20])
    np.testing.assert_array_equal(detector.p_values(other), before)


@pytest.mark.parametrize(
    ("n_rows", "told"), [(3000, "about 150."), (30, "about 2."), (10, "less than one."), (200_000, "about 10,000.")]
)
def test_what_chance_explains_is_a_number_of_rows(n_rows: int, told: str) -> None:
    drift = BatchDrift(n_rows, 2, 0.05, 0.5, (("x0", 1.0),))
    assert drift.verdict.endswith(f"2 of {n_rows:,} rows are unlike the training rows, where chance explains {told}")
