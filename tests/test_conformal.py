"""ConformalFERL: its laws, its guarantee in a simulation, its errors, and the same sets as other libraries give."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ferl import Evidence, FERLTreeClassifier
from ferl._judge import PromiseError
from ferl._judge.conformity import Group, chance_of, least_rows, rank
from ferl.conformal import ConformalFERL, nonconformity
from ferl_bench.simulation import make_population

SCORES = [
    {"nonconformity": "probability"},
    {"nonconformity": "plausibility"},
    {"nonconformity": "aps"},
    {"nonconformity": "aps", "randomised": True},
    {"nonconformity": "raps"},
    {"nonconformity": "raps", "randomised": True},
]
EVERY_SCORE = pytest.mark.parametrize("score", SCORES, ids=lambda given: "-".join(map(str, given.values())))


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(600, 6, n_informative=4, n_classes=3, class_sep=0.8, random_state=0)
    return X, np.array(["low", "mid", "high"])[y]


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return FERLTreeClassifier("medium", random_state=0).fit(X[:200], y[:200])


def conformal(fitted, data, **options) -> ConformalFERL:
    X, y = data
    return ConformalFERL(fitted, random_state=0, **options).conformalize(X[200:400], y[200:400])


# ---------------------------------------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------------------------------------


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    n, n_classes = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    masses = np.array(draw(st.lists(st.integers(0, 3), min_size=n * (n_classes + 1), max_size=n * (n_classes + 1))))
    masses = masses.reshape(n, n_classes + 1).astype(float)
    masses[:, -1] += masses.sum(axis=1) == 0
    masses /= masses.sum(axis=1, keepdims=True)
    return Evidence(masses[:, :-1], masses[:, -1], np.zeros(n), np.arange(n_classes))


@settings(deadline=None)
@given(evidence())
def test_ranks_are_those_of_a_loop_and_equals_stand_together(rows: Evidence) -> None:
    probability = rows.pignistic
    above, n_above = rank(probability)
    for i, row in enumerate(probability):
        for c, own in enumerate(row):
            assert n_above[i, c] == (row > own).sum()
            assert above[i, c] == pytest.approx(row[row > own].sum(), abs=1e-12)


@settings(deadline=None)
@given(evidence())
def test_every_score_puts_the_more_probable_class_first(rows: Evidence) -> None:
    for score in ("plausibility", "probability", "aps", "raps"):
        values = nonconformity(rows, score, penalty=0.1)
        order = np.argsort(-rows.pignistic, axis=1, kind="stable")
        assert (np.diff(np.take_along_axis(values, order, axis=1), axis=1) >= -1e-12).all()


def test_scores_by_hand() -> None:
    row = Evidence(np.array([[0.5, 0.2, 0.0]]), np.array([0.3]), np.zeros(1), np.arange(3))
    chance = np.array([0.5])
    np.testing.assert_allclose(nonconformity(row, "aps", chance=chance), [[0.3, 0.75, 0.95]])
    np.testing.assert_allclose(nonconformity(row, "raps", penalty=0.1, free_classes=1), [[0.6, 1.0, 1.2]])
    with pytest.raises(ValueError, match="score is 'hinge'; it must be one of"):
        nonconformity(row, "hinge")


def test_chance_is_even_and_depends_on_the_row_alone() -> None:
    table = np.random.default_rng(0).normal(size=(20_000, 3))
    chance = chance_of(table, 7)
    assert chance.min() >= 0
    assert chance.max() < 1
    # Kolmogorov-Smirnov at a level of 1e-4.
    assert np.abs(np.sort(chance) - (np.arange(20_000) + 0.5) / 20_000).max() < 2.23 / np.sqrt(20_000)
    np.testing.assert_array_equal(chance_of(table[::-1], 7), chance[::-1])
    np.testing.assert_array_equal(chance_of(table[5:6], 7), chance[5:6])
    assert abs(np.corrcoef(chance, chance_of(table, 8))[0, 1]) < 0.03
    assert chance_of(np.array([[0.0]]), 1) == chance_of(np.array([[-0.0]]), 1)


# ---------------------------------------------------------------------------------------------------------------------
# Sets
# ---------------------------------------------------------------------------------------------------------------------


@EVERY_SCORE
def test_split_sets_are_those_of_the_finite_sample_quantile(fitted, data, score) -> None:
    X, y = data
    model = conformal(fitted, data, allow_empty=True, **score)
    codes = np.searchsorted(model.classes_, y[200:400])
    own = np.sort(model._scores(fitted, X[200:400])[np.arange(200), codes])
    for alpha in (0.02, 0.1, 0.25, 0.5):
        threshold = own[int(np.ceil(201 * (1 - alpha) - 1e-9)) - 1]
        np.testing.assert_array_equal(model.predict_set(X[400:], alpha), model._scores(fitted, X[400:]) <= threshold)


@EVERY_SCORE
def test_sets_do_not_depend_on_the_batch_or_the_order(fitted, data, score) -> None:
    X, _ = data
    model = conformal(fitted, data, **score)
    sets = model.predict_set(X[400:])
    np.testing.assert_array_equal(model.predict_set(X[:399:-1]), sets[::-1])
    np.testing.assert_array_equal(np.vstack([model.predict_set(row[None]) for row in X[400:420]]), sets[:20])
    again = conformal(fitted, data, **score)
    np.testing.assert_array_equal(again.predict_set(X[400:]), sets)


@pytest.mark.parametrize("options", [{}, {"class_conditional": True}, {"cv": 4}, {"cv": 4, "class_conditional": True}])
def test_sets_shrink_with_alpha_and_several_alphas_are_the_single_ones(data, options) -> None:
    X, y = data
    model = ConformalFERL(FERLTreeClassifier("medium", random_state=0), random_state=0, **options).fit(X[:200], y[:200])
    if "cv" not in options:
        model.conformalize(X[200:400], y[200:400])
    alphas = [0.05, 0.1, 0.3]
    sets = model.predict_set(X[400:], alphas)
    assert sets.shape == (200, 3, 3)
    assert sets.dtype == bool
    for place, alpha in enumerate(alphas):
        np.testing.assert_array_equal(sets[:, :, place], model.predict_set(X[400:], alpha))
    assert (sets[:, :, 0] >= sets[:, :, 1]).all()
    assert (sets[:, :, 1] >= sets[:, :, 2]).all()
    np.testing.assert_array_equal(model.predict(X[400:]), model.estimator_.predict(X[400:]))


def test_empty_sets_get_the_most_probable_class_unless_allowed(fitted, data) -> None:
    X, _ = data
    allowed = conformal(fitted, data, allow_empty=True).predict_set(X[400:], 0.6)
    filled = conformal(fitted, data).predict_set(X[400:], 0.6)
    empty = ~allowed.any(axis=1)
    assert empty.any()
    np.testing.assert_array_equal(filled[~empty], allowed[~empty])
    probability = fitted.predict_proba(X[400:][empty])
    np.testing.assert_array_equal(filled[empty], probability == probability.max(axis=1, keepdims=True))


def test_a_row_without_evidence_gets_the_whole_frame(fitted, data) -> None:
    far = np.full((1, 6), 1e6)
    assert fitted.predict_evidence(far).ignorance[0] == 1
    for options in SCORES:
        assert conformal(fitted, data, **options).predict_set(far, 0.3).all()


def test_class_conditional_thresholds_come_from_the_class_alone(fitted, data) -> None:
    X, y = data
    model = conformal(fitted, data, class_conditional=True, allow_empty=True)
    for code, label in enumerate(model.classes_):
        own = np.sort(model._scores(fitted, X[200:400])[y[200:400] == label, code])
        threshold = own[int(np.ceil((len(own) + 1) * 0.8 - 1e-9)) - 1]
        expected = model._scores(fitted, X[400:])[:, code] <= threshold
        np.testing.assert_array_equal(model.predict_set(X[400:], 0.2)[:, code], expected)


def test_cross_conformal_counts_are_those_of_a_loop(data) -> None:
    X, y = data
    model = ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=3, allow_empty=True, random_state=0)
    model.fit(X[:90], y[:90])
    assert len(model.fold_estimators_) == 3
    assert model.n_calibration_rows_ == 90
    new = X[500:510]
    for i in range(len(new)):
        for code in range(3):
            n_better = 0
            for estimator, part in model._compared:
                score = 1 - estimator.predict_proba(new[i : i + 1])[0, code]
                n_better += sum(own < score for own in part.scores)
            assert model.predict_set(new, 0.1)[i, code] == (n_better < 0.9 * 91)


def test_equal_weights_change_nothing_and_a_tilt_does(fitted, data) -> None:
    X, y = data
    plain = conformal(fitted, data)
    weighted = ConformalFERL(fitted).conformalize(X[200:400], y[200:400], np.full(200, 2.0))
    new = X[400:]
    np.testing.assert_array_equal(weighted.predict_set(new, sample_weight=np.full(200, 2.0)), plain.predict_set(new))
    # Calibration rows that weigh nothing are not there.
    half = np.arange(200) < 100
    some = ConformalFERL(fitted).conformalize(X[200:400], y[200:400], half.astype(float))
    few = ConformalFERL(fitted).conformalize(X[200:300], y[200:300])
    np.testing.assert_array_equal(some.predict_set(new, sample_weight=np.ones(200)), few.predict_set(new))
    # A new row that outweighs everything could have any label.
    assert weighted.predict_set(new[:1], sample_weight=[1e6]).all()


@pytest.mark.parametrize("scale", [1e306, 1e-300])
def test_weights_of_any_size_count_by_their_ratios(fitted, data, scale) -> None:
    X, y = data
    weight = 1.0 + np.arange(len(y)) % 3
    plain = ConformalFERL(fitted).conformalize(X, y, weight)
    scaled = ConformalFERL(fitted).conformalize(X, y, scale * weight)
    found = scaled.predict_p_values(X, sample_weight=scale * weight)
    np.testing.assert_allclose(found, plain.predict_p_values(X, sample_weight=weight), rtol=1e-12)
    np.testing.assert_array_equal(scaled.predict_p_values(X[:2], sample_weight=[1.7e308, 1.7e308]) <= 1.0, True)


def test_a_row_of_weight_zero_has_the_same_set_in_any_batch(fitted, data) -> None:
    X, y = data
    model = ConformalFERL(fitted).conformalize(X, y, np.ones(len(y)))
    alone = model.predict_p_values(X[:1], sample_weight=[0.0])
    np.testing.assert_array_equal(alone, model.predict_p_values(X[:2], sample_weight=[0.0, 1.0])[:1])
    assert model.predict_set(X[:1], 0.1, sample_weight=[0.0]).shape == (1, len(model.classes_))


def test_p_values_give_the_sets(fitted, data) -> None:
    X, _ = data
    model = conformal(fitted, data, allow_empty=True)
    p_values = model.predict_p_values(X[400:])
    assert p_values.min() >= 1 / 201
    assert p_values.max() <= 1
    np.testing.assert_array_equal(model.predict_set(X[400:], 0.07), p_values > 0.07)


# ---------------------------------------------------------------------------------------------------------------------
# The guarantee
# ---------------------------------------------------------------------------------------------------------------------


def test_guarantees_as_numbers() -> None:
    assert Group(None, [40] * 5, 0).cross_conformal_coverage(0.1) == pytest.approx(0.8 - 2 * 0.9 * 4 / 205)
    assert Group(None, [1] * 200, 0).cross_conformal_coverage(0.1) == pytest.approx(0.8)
    assert Group(None, [2] * 3, 0).cross_conformal_coverage(0.4) == pytest.approx(0.2 - (1 - 0.5) / 4)
    assert [least_rows(alpha) for alpha in (0.5, 0.3, 0.1, 0.05, 1 / 7)] == [1, 3, 9, 19, 6]


@pytest.mark.parametrize(
    ("options", "coverage"),
    [({}, 0.9), ({"nonconformity": "aps", "randomised": True}, 0.9), ({"class_conditional": True}, 0.9)],
)
def test_coverage_in_repeated_draws_is_what_was_asked_for(options, coverage) -> None:
    """200 draws from a known population. A threshold one rank too low would give 0.876, and the mean is within 0.007.

    For ``class_conditional`` the rarest class is looked at, elsewhere all rows.
    """
    population = make_population(1000, 1)
    random = np.random.default_rng(0)
    fitting = population.draw(150, random)
    fitted = FERLTreeClassifier("medium", random_state=0).fit(population.X[fitting], population.y[fitting])
    covered = []
    for seed in range(200):
        rows = population.draw(39, random) if "class_conditional" not in options else population.draw(260, random)
        model = ConformalFERL(fitted, allow_empty=True, random_state=seed, **options)
        sets = model.conformalize(population.X[rows], population.y[rows]).predict_set(population.X)
        by_class = population.class_coverage(sets)
        covered.append(by_class[2] if "class_conditional" in options else population.coverage(sets))
    error = np.std(covered) / np.sqrt(len(covered))
    assert error < 0.005
    assert np.mean(covered) > coverage - 3 * error
    assert np.mean(covered) < coverage + 1 / 40 + 3 * error + 0.01  # ties, of which the population has some


def grouped(X) -> np.ndarray:
    return np.where(X[:, 0] > 0.8, "east", np.where(X[:, 1] > 0.6, "north", "rest"))


@pytest.mark.parametrize("options", [{}, {"class_conditional": True, "few_rows": "include"}, *SCORES[3:4]])
@pytest.mark.parametrize("weighted", [False, True])
def test_sets_of_a_group_are_those_of_its_calibration_rows_alone(fitted, data, options, weighted) -> None:
    X, y = data
    rows, new = slice(200, 400), slice(400, 600)
    group, new_group = grouped(X[rows]), grouped(X[new])
    weight, new_weight = (np.exp(X[rows, 2]), np.exp(X[new, 2])) if weighted else (None, None)
    model = ConformalFERL(fitted, random_state=0, **options).conformalize(X[rows], y[rows], weight, groups=group)
    found = model.predict_set(X[new], [0.1, 0.2], new_weight, groups=new_group)
    assert len(set(new_group)) == 3
    for name in set(new_group):
        own, ours = group == name, new_group == name
        alone = ConformalFERL(fitted, random_state=0, **options)
        alone.conformalize(X[rows][own], y[rows][own], None if weight is None else weight[own])
        expected = alone.predict_set(X[new][ours], [0.1, 0.2], None if new_weight is None else new_weight[ours])
        np.testing.assert_array_equal(found[ours], expected)
    named = pd.Series(new_group, dtype="category")
    np.testing.assert_array_equal(model.predict_set(X[new], [0.1, 0.2], new_weight, groups=named), found)
    assert model.guaranteed_coverage(0.1) == pytest.approx(0.9)


def test_coverage_of_every_group_in_repeated_draws_is_what_was_asked_for() -> None:
    """300 draws. Without groups the coverage of one of them is far below what was asked for."""
    population = make_population(1000, 1)
    random = np.random.default_rng(0)
    fitting, group = population.draw(150, random), grouped(population.X)
    fitted = FERLTreeClassifier("medium", random_state=0).fit(population.X[fitting], population.y[fitting])
    own = np.arange(1000), population.y
    covered: dict[str, list[float]] = {name: [] for name in ["east", "north", "rest", "north of all"]}
    for seed in range(300):
        rows = population.draw(150, random)
        model = ConformalFERL(fitted, allow_empty=True, few_rows="include", random_state=seed)
        model.conformalize(population.X[rows], population.y[rows], groups=group[rows])
        inside = model.predict_set(population.X, groups=group)[own]
        for name in ("east", "north", "rest"):
            covered[name].append(inside[group == name].mean())
        model.conformalize(population.X[rows], population.y[rows])
        covered["north of all"].append(model.predict_set(population.X)[own][group == "north"].mean())
    mean = {name: np.mean(values) for name, values in covered.items()}
    error = {name: np.std(values) / np.sqrt(300) for name, values in covered.items()}
    assert max(error.values()) < 0.006
    for name in ("east", "north", "rest"):
        assert mean[name] > 0.9 - 3 * error[name]
        assert mean[name] < 0.96
    assert mean["north of all"] < 0.87


def test_groups_of_few_rows_and_other_misuse_of_groups_are_named(fitted, data) -> None:
    X, y = data
    group = np.where(np.arange(200) < 5, "small", "large")
    model = ConformalFERL(fitted).conformalize(X[200:400], y[200:400], groups=group)
    assert model.predict_set(X[:2], groups=["large", "large"]).shape == (2, 3)
    with pytest.raises(
        PromiseError, match=r"9 calibration rows in every group; there are 5 in group small.*leave groups"
    ):
        model.predict_set(X[:2], groups=["large", "small"])
    with pytest.raises(PromiseError, match=r"there are 0 in group new"):
        model.predict_set(X[:1], groups=["new"])
    model.set_params(few_rows="include")
    assert model.predict_set(X[:3], groups=["small", "new", "new"]).all()
    with pytest.raises(ValueError, match=r"conformalize was called with groups; predict_set must be, too"):
        model.predict_set(X[:2])
    for wrong in (["a"], [["a", "b"]] * 2, "ab"):
        with pytest.raises(ValueError, match=r"Pass one group for each row of X"):
            model.predict_set(X[:2], groups=wrong)
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match=r"groups\[1\] is .*; every row needs a group"):
            model.predict_set(X[:2], groups=["large", missing])
    with pytest.raises(ValueError, match=r"called without groups"):
        ConformalFERL(fitted).conformalize(X[200:400], y[200:400]).predict_set(X[:1], groups=["large"])
    crossed = ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=2).fit(X[:90], y[:90])
    with pytest.raises(ValueError, match=r"groups is for split conformal sets; with cv=2 leave it out"):
        crossed.predict_set(X[:1], groups=["large"])


# ---------------------------------------------------------------------------------------------------------------------
# Use
# ---------------------------------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [ConformalFERL(FERLTreeClassifier("medium", random_state=0, n_resamples=8), cv=2, random_state=0)]
)
def test_scikit_learn_estimator_checks_pass(estimator, check) -> None:
    check(estimator)


def test_it_can_be_cloned_pickled_and_searched(data) -> None:
    X, y = data
    model = ConformalFERL(FERLTreeClassifier("medium", random_state=0), nonconformity="raps", cv=3, random_state=0)
    copy = clone(model)
    assert copy.get_params()["estimator__variant"] == "medium"
    copy.set_params(estimator__variant="compact", nonconformity="aps").fit(X[:200], y[:200])
    assert copy.estimator_.variant == "compact"
    assert "nonconformity='aps'" in repr(copy)
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict_set(X[400:]), copy.predict_set(X[400:]))
    assert cross_val_score(model, X[:300], y[:300], cv=3).mean() > 0.5
    assert copy.n_features_in_ == 6


def test_frames_pipelines_and_frozen_estimators(data, fitted) -> None:
    X, y = data
    expected = ConformalFERL(FERLTreeClassifier("deep", random_state=0), random_state=0).fit(X[:200], y[:200])
    expected = expected.conformalize(X[200:400], y[200:400]).predict_set(X[400:])
    names = [f"f{i}" for i in range(6)]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = ConformalFERL(FERLTreeClassifier("deep", random_state=0), random_state=0).fit(
            frame[:200], pd.Series(y[:200])
        )
        model.conformalize(frame[200:400], pd.Series(y[200:400]))
        np.testing.assert_array_equal(model.predict_set(frame[400:]), expected)
        assert list(model.feature_names_in_) == names
        cross = ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=3, random_state=0).fit(
            frame[:90], y[:90]
        )
        assert cross.predict_set(frame[400:]).shape == (200, 3)
    scaled = make_pipeline(StandardScaler(), FERLTreeClassifier("medium", random_state=0))
    options = {"nonconformity": "aps", "randomised": True, "random_state": 0}
    model = ConformalFERL(scaled, **options).fit(X[:200], y[:200], np.ones(200)).conformalize(X[200:400], y[200:400])
    assert model.predict_set(X[400:]).any(axis=1).all()
    frozen = ConformalFERL(FrozenEstimator(fitted), random_state=0).fit(X[:9], y[:9])
    np.testing.assert_array_equal(
        frozen.conformalize(X[200:400], y[200:400]).predict_set(X[400:]),
        conformal(fitted, data).predict_set(X[400:]),
    )


def test_leave_one_out_is_the_jackknife_plus() -> None:
    X, y = load_iris(return_X_y=True)
    model = ConformalFERL(FERLTreeClassifier("medium", random_state=0, n_resamples=8), cv=LeaveOneOut()).fit(
        X[::5], y[::5]
    )
    assert len(model.fold_estimators_) == 30
    assert model.guaranteed_coverage(0.1) == pytest.approx(0.8)


def test_a_class_that_a_fold_has_not_seen_counts_as_fitting_worst(data) -> None:
    X, y = data
    few = np.concatenate([np.flatnonzero(y == "low")[:40], np.flatnonzero(y == "mid")[:40], [0]])
    labels = np.append(y[few[:-1]], "only once")
    model = ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=4, random_state=0).fit(X[few], labels)
    assert list(model.classes_) == ["low", "mid", "only once"]
    assert sum(np.isinf(part.scores).sum() for _, part in model._compared) == 1
    assert model.predict_set(X[400:], 0.1).shape == (200, 3)


# ---------------------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------------------


def test_the_wrong_order_of_calls_names_the_right_one(data) -> None:
    X, y = data
    model = ConformalFERL(FERLTreeClassifier("deep"))
    with pytest.raises(NotFittedError, match=r"conformalize needs a fitted classifier. Call fit\(X, y\) first"):
        model.conformalize(X, y)
    with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) and then conformalize\(X, y\) first"):
        model.predict_set(X)
    with pytest.raises(NotFittedError, match=r"Call conformalize\(X, y\) first"):
        model.fit(X, y).predict_set(X)
    with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) first: with cv it also calibrates"):
        ConformalFERL(cv=5).predict_set(X)
    with pytest.raises(ValueError, match=r"cv=5: fit\(X, y\) has calibrated already"):
        ConformalFERL(FERLTreeClassifier("medium"), cv=5).fit(X, y).conformalize(X, y)
    with pytest.raises(NotFittedError):
        model.fit(X, y).conformalize(X, y).fit(X, y).predict_set(X)


def test_changing_how_rows_are_compared_needs_a_new_calibration(fitted, data) -> None:
    X, y = data
    model = conformal(fitted, data)
    with pytest.raises(ValueError, match=r"nonconformity was 'probability' in conformalize and is 'aps' now.*again"):
        model.set_params(nonconformity="aps").predict_set(X[400:])
    model.conformalize(X[200:400], y[200:400]).predict_set(X[400:])
    cross = ConformalFERL(FERLTreeClassifier("medium", random_state=0), cv=3).fit(X[:90], y[:90])
    with pytest.raises(ValueError, match=r"class_conditional was False in fit and is True now"):
        cross.set_params(class_conditional=True).predict_set(X[400:])


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan"), [0.1, 1.0]])
def test_alpha_must_lie_between_0_and_1(fitted, data, alpha) -> None:
    with pytest.raises(ValueError, match=r"alpha is \S+; it must lie strictly between 0 and 1"):
        conformal(fitted, data).predict_set(data[0], alpha)


def test_too_few_rows_are_an_error_that_says_how_many_are_needed(fitted, data) -> None:
    X, y = data
    model = ConformalFERL(fitted).conformalize(X[200:208], y[200:208])
    with pytest.raises(ValueError, match=r"alpha=0.1 needs at least 9 calibration rows; there are 8.*at least 0.111"):
        model.predict_set(X[400:], 0.1)
    model.conformalize(X[200:209], y[200:209]).predict_set(X[400:], 0.1)
    included = ConformalFERL(fitted, few_rows="include").conformalize(X[200:208], y[200:208])
    assert included.predict_set(X[400:], 0.1).all()


def test_missing_classes_are_an_error_where_each_class_is_promised_something(fitted, data) -> None:
    X, y = data
    rows = np.flatnonzero(y[200:400] != "mid") + 200
    model = ConformalFERL(fitted, class_conditional=True).conformalize(X[rows], y[rows])
    with pytest.raises(ValueError, match=r"at least 9 calibration rows of every class; there are 0 of mid. Add rows"):
        model.predict_set(X[400:])
    included = ConformalFERL(fitted, class_conditional=True, few_rows="include").conformalize(X[rows], y[rows])
    assert included.predict_set(X[400:])[:, list(fitted.classes_).index("mid")].all()
    assert not included.predict_set(X[400:]).all()
    assert ConformalFERL(fitted).conformalize(X[rows], y[rows]).predict_set(X[400:]).shape == (200, 3)


def test_labels_that_are_unknown_count_as_fitting_worst(fitted, data) -> None:
    X, y = data
    labels = y[200:400].astype(object)
    labels[:15] = "new"
    model = ConformalFERL(fitted).conformalize(X[200:400], labels)
    assert (model.predict_p_values(X[400:]) >= 16 / 201).all()
    with pytest.raises(ValueError, match=r"fewer than 10 of the 200 calibration rows have labels .*; 15 have"):
        model.predict_set(X[400:], 0.05)
    with pytest.raises(ValueError, match="text and numbers are never equal"):
        ConformalFERL(fitted).conformalize(X[200:400], np.zeros(200, dtype=int))


def test_other_misuse_is_named(fitted, data) -> None:
    X, y = data
    with pytest.raises(ValueError, match="randomised=True is for nonconformity='aps' and 'raps'; it is 'probability'"):
        conformal(fitted, data, randomised=True)
    with pytest.raises(ValueError, match="'nonconformity' parameter"):
        conformal(fitted, data, nonconformity="hinge")
    with pytest.raises(ValueError, match="X has 200 rows and y 199 labels"):
        ConformalFERL(fitted).conformalize(X[200:400], y[201:400])
    with pytest.raises(ValueError, match="y contains NaN: 1 labels are missing"):
        ConformalFERL(fitted).conformalize(X[200:202], np.array(["low", None], dtype=object))
    with pytest.raises(ValueError, match=r"called without sample_weight; predict_set must be, too"):
        conformal(fitted, data).predict_set(X[400:], sample_weight=np.ones(200))
    with pytest.raises(
        ValueError, match=r"sample_weight has shape \(3,\); it needs one number per row, shape \(200,\)"
    ):
        ConformalFERL(fitted).conformalize(X[200:400], y[200:400], [1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0; weights must be finite and not negative"):
        ConformalFERL(fitted).conformalize(X[200:400], y[200:400], -np.ones(200))
    with pytest.raises(ValueError, match="every row must be left out exactly once"):
        ConformalFERL(FERLTreeClassifier("medium"), cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="cv=5 folds need at least 5 rows; got n_samples=4"):
        ConformalFERL(FERLTreeClassifier("medium"), cv=5).fit(X[:4], ["a", "b", "a", "b"])
    with pytest.raises(TypeError, match="GaussianNB has no predict_evidence; pass a FERLClassifier"):
        ConformalFERL(GaussianNB().fit(X, y)).conformalize(X, y)


# ---------------------------------------------------------------------------------------------------------------------
# Other libraries around the fitted estimator
# ---------------------------------------------------------------------------------------------------------------------


def test_mapie_around_the_fitted_estimator_gives_the_same_sets(data, fitted) -> None:
    classification = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    X, y = data
    ours = conformal(fitted, data, allow_empty=True)
    mapie = classification.SplitConformalClassifier(
        ours.estimator_, confidence_level=[0.8, 0.9], conformity_score="lac", prefit=True
    )
    _, sets = mapie.conformalize(X[200:400], y[200:400]).predict_set(X[400:])
    np.testing.assert_array_equal(sets, ours.predict_set(X[400:], [0.2, 0.1]))


def test_mapie_gives_the_same_cross_conformal_sets(data) -> None:
    classification = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    X, y = data
    classifier = FERLTreeClassifier("medium", random_state=0)
    ours = ConformalFERL(classifier, cv=KFold(4), allow_empty=True).fit(X[:200], y[:200])
    mapie = classification.CrossConformalClassifier(
        classifier, confidence_level=[0.8, 0.9], conformity_score="lac", cv=KFold(4)
    )
    _, sets = mapie.fit_conformalize(X[:200], y[:200]).predict_set(X[400:], agg_scores="crossval")
    np.testing.assert_array_equal(sets, ours.predict_set(X[400:], [0.2, 0.1]))


def test_crepes_around_the_fitted_estimator_gives_the_same_sets(data, fitted) -> None:
    crepes = pytest.importorskip("crepes", reason="crepes is not installed")
    X, y = data
    for conditional in (False, True):
        ours = conformal(fitted, data, class_conditional=conditional, allow_empty=True)
        wrapped = crepes.WrapClassifier(ours.estimator_)
        wrapped.calibrate(X[200:400], y[200:400], class_cond=conditional)
        p_values = wrapped.predict_p(X[400:], smoothing=False)
        np.testing.assert_allclose(p_values, ours.predict_p_values(X[400:]))
        sets = wrapped.predict_set(X[400:], labels=False, confidence=0.9, smoothing=False)
        np.testing.assert_array_equal(np.asarray(sets, dtype=bool), ours.predict_set(X[400:], 0.1))
