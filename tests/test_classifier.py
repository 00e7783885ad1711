"""FERLClassifier as users of scikit-learn meet it."""

import multiprocessing
import pickle
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ferl import FERLClassifier, FERLTreeClassifier, export_text
from ferl._tell.conditions import Bound
from ferl._tell.statements import statements
from ferl._util.threads import n_threads
from law_examples import assert_identical


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@parametrize_with_checks(
    [
        FERLTreeClassifier("deep", random_state=0),
        FERLTreeClassifier("medium", random_state=0, combination="vote"),
        FERLTreeClassifier("compact", random_state=0),
        FERLClassifier(random_state=0),
        FERLClassifier(words=True, random_state=0),
        FERLClassifier(words="quantile", random_state=0),
        FERLTreeClassifier("deep", words="mdlp", random_state=0),
    ]
)
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def test_the_answers_are_one_story(cancer):
    X, y = cancer
    clf = FERLTreeClassifier("deep", random_state=0).fit(X[:400], y[:400])
    evidence = clf.predict_evidence(X[400:])
    proba = clf.predict_proba(X[400:])
    np.testing.assert_array_equal(proba, evidence.pignistic)
    np.testing.assert_array_equal(clf.predict(X[400:]), clf.classes_[proba.argmax(axis=1)])
    np.testing.assert_array_equal(clf.predict_set(X[400:]), evidence.prediction_set())
    assert clf.score(X[400:], y[400:]) > 0.9
    assert clf.n_rules_ == clf.tree_.is_leaf.sum() <= 150
    assert clf.lipschitz_ > 0


def test_presets_give_the_budgets_and_every_value_can_be_overridden(cancer):
    X, y = cancer
    medium = FERLTreeClassifier("medium", random_state=0, min_leaf_weight=1e-6).fit(X, y)
    deep = FERLTreeClassifier("deep", random_state=0, min_leaf_weight=1e-6).fit(X, y)
    assert medium.n_rules_ <= 50 < deep.n_rules_ <= 150
    assert medium.tree_.depth.max() <= 12
    small = FERLTreeClassifier("deep", max_rules=7, max_depth=3, random_state=0).fit(X, y)
    assert small.n_rules_ == 7
    assert small.tree_.depth.max() == 3


def test_the_larger_budget_only_adds_splits(cancer):
    X, y = cancer
    small = FERLTreeClassifier("deep", max_rules=5, random_state=0).fit(X, y).tree_
    large = FERLTreeClassifier("deep", max_rules=20, random_state=0).fit(X, y).tree_
    conditions = {(f, *t) for f, t in zip(large.feature.tolist(), large.trapezoid.tolist(), strict=True)}
    assert {(f, *t) for f, t in zip(small.feature.tolist(), small.trapezoid.tolist(), strict=True)} <= conditions


@pytest.mark.parametrize(
    "change",
    [
        {"min_leaf_weight": 20.0},
        {"min_gain": 0.02, "patience": 0},
        {"min_coverage": 0.2},
        {"criterion": "cci"},
        {"criterion": "entropy"},
        {"n_resamples": 8},
        {"band": "median_mad"},
        {"band_scale": 2.0},
        {"n_banded_features": None},
        {"consequents": "laplace"},
        {"consequents": "raw"},
        {"shrinkage": 50.0},
        {"combination": "cautious"},
        {"combination": "chain"},
        {"combination": "vote"},
        {"sources": "all"},
        {"discount": 10.0},
        {"support_gate": False},
        {"gate_margin": 0.1},
        {"ccp_alpha": 0.01},
        {"growth_rows": 100},
        {"class_weight": "balanced"},
        {"random_state": 1},
    ],
    ids=str,
)
def test_no_parameter_is_ignored(change):
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, weights=[0.6, 0.3], random_state=3)
    rows = np.vstack([X, 1.1 * X, 1.5 * X])  # some outside the support
    base = FERLTreeClassifier("medium", random_state=0).fit(X, y)
    changed = FERLTreeClassifier("medium", **{"random_state": 0, **change}).fit(X, y)
    assert not np.array_equal(base.predict_proba(rows), changed.predict_proba(rows))


RULES: dict = {
    "words": "mdlp",
    "max_rules": 5,
    "max_conditions": 1,
    "n_sets": 5,
    "min_rule_worth": 0.2,
    "max_maps": None,
    "prune": 0.5,
    "effort": 2,
    "cases": True,
    "n_cases": 50,
    "support_gate": False,
    "gate_margin": 0.1,
    "growth_rows": 100,
    "n_exemplars": 10,
    "class_weight": "balanced",
    "categorical_features": [7],
    "missing_conditions": True,
    "monotonic_cst": [1] * 8,
    "random_state": 1,
}
TREES = RULES | {
    "variant": "medium",
    "max_depth": 2,
    "min_leaf_weight": 60.0,
    "min_gain": 0.1,
    "patience": 0,
    "min_coverage": 0.4,
    "criterion": "entropy",
    "n_resamples": 8,
    "band": "median_mad",
    "band_scale": 2.0,
    "two_mode": False,
    "n_banded_features": None,
    "consequents": "laplace",
    "shrinkage": 50.0,
    "combination": "vote",
    "sources": "all",
    "discount": 9.0,
    "ccp_alpha": 0.1,
}
BESIDE = {  # what a parameter needs beside it to have an effect
    "n_sets": {"words": "quantile"},
    "min_rule_worth": {"words": "quantile"},
    "patience": {"min_gain": 0.02},
    "n_cases": {"cases": True},
}
ONLY_RULES = {"max_conditions", "max_maps", "prune", "effort", "cases", "n_cases"}
OUTSIDE = {"n_jobs", "verbose"}  # which change no answer


def answers(clf, rows):
    return np.column_stack([clf.predict_proba(rows), clf.novelty(rows)])


@pytest.mark.parametrize(
    ("kind", "changes"), [(FERLClassifier, RULES), (FERLTreeClassifier, TREES)], ids=["rules", "trees"]
)
def test_every_parameter_changes_an_answer(kind, changes):
    base = kind().get_params()
    changes = {name: value for name, value in changes.items() if kind is FERLClassifier or name not in ONLY_RULES}
    assert changes.keys() | OUTSIDE == base.keys()
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 8))  # an exclusive or, for patience, and two cuts of one feature, for two modes
    p = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), 0.85, 0.1)
    y = (rng.random(500) < np.where(np.abs(X[:, 2]) > 1, 1 - p / 2, p)).astype(int)
    whole = X.copy(), y
    X[:, 3] = np.where(rng.random(500) < 0.3 + 0.4 * y, np.nan, X[:, 3])
    X[:, 7] = rng.integers(0, 4, 500)
    y = np.where((X[:, 7] == 2) & (rng.random(500) < 0.7), 0, y)
    x = rng.uniform(-1, 1, (2000, 8))  # a wave that takes a curve, for max_maps
    wave = x, rng.random(2000) < 1 / (1 + np.exp(-4 * np.sin(30 * x[:, 0])))
    centre = rng.uniform(-2, 2, (20, 8))  # clusters of one class each, for cases
    own = rng.integers(20, size=300)
    clusters = centre[own] + rng.normal(0, 0.2, (300, 8)), own % 2
    rows = np.vstack([X, np.where(np.arange(8) < 7, 1.4 * X, X)])  # some outside the support
    usual = {"random_state": 0}
    for name in changes:
        own = usual | {key: value for key, value in BESIDE.get(name, {}).items() if key in base}
        table = {"two_mode": whole, "max_maps": wave, "cases": clusters, "n_cases": clusters}.get(name, (X, y))
        before, after = (answers(kind(**own | change).fit(*table), rows) for change in ({}, {name: changes[name]}))
        assert not np.array_equal(before, after), name


def test_a_list_of_rules_has_at_most_21_parameters():
    assert len(FERLClassifier().get_params()) <= 21


def test_two_mode_splits_where_the_cuts_are_and_not_between_them():
    # Both ends of a feature hold the same class: resampled cuts fall near -1 and near 1, their mean near 0.
    x = np.random.default_rng(0).normal(size=(4000, 1))
    y = np.abs(x[:, 0]) > 1
    with_rule = FERLTreeClassifier("deep", random_state=0, max_rules=3).fit(x, y)
    without = FERLTreeClassifier("deep", random_state=0, max_rules=3, two_mode=False).fit(x, y)
    assert with_rule.score(x, y) > 0.99
    assert abs(without.tree_.trapezoid[1, 2:].mean()) < 0.6
    assert abs(abs(with_rule.tree_.trapezoid[1, 2:].mean()) - 1) < 0.05


def test_patience_goes_through_weak_splits_to_a_strong_one():
    # Exclusive or: no first split helps, the second ones do everything.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    stubborn = FERLTreeClassifier("deep", random_state=0, min_gain=0.05, patience=0).fit(X, y)
    patient = FERLTreeClassifier("deep", random_state=0, min_gain=0.05, patience=8).fit(X, y)
    assert stubborn.n_rules_ == 1
    assert patient.score(X, y) > 0.9


def test_weak_splits_that_led_nowhere_are_taken_back():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert FERLTreeClassifier("deep", random_state=0, min_gain=0.5, patience=5).fit(X, y).n_rules_ == 1


def test_class_weight_is_a_factor_on_sample_weight(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    by_class = FERLTreeClassifier("deep", random_state=0, class_weight={0: 1, 1: 2, 2: 4}).fit(
        X, y, sample_weight=weight
    )
    by_row = FERLTreeClassifier("deep", random_state=0).fit(X, y, sample_weight=weight * 2.0**y)
    assert_identical(by_class.tree_, by_row.tree_)


@pytest.mark.parametrize("growth_rows", [100, 50_000])
def test_row_order_changes_no_bit_and_duplication_only_rounding_with_class_weights_and_samples(growth_rows):
    rng = np.random.default_rng(0)
    X, y = make_classification(400, 5, weights=[0.8], random_state=0)
    weight, order = rng.uniform(0.5, 3, 400), rng.permutation(400)
    clf = FERLTreeClassifier("deep", random_state=0, class_weight="balanced", growth_rows=growth_rows)
    base = clf.fit(X, y, sample_weight=weight).tree_
    assert_identical(base, clf.fit(X[order], y[order], sample_weight=weight[order]).tree_)
    twice = rng.integers(1, 3, 400)
    weighted = clf.fit(X, y, sample_weight=twice).tree_
    repeated = clf.fit(np.repeat(X, twice, axis=0), np.repeat(y, twice)).tree_
    np.testing.assert_array_equal(weighted.trapezoid, repeated.trapezoid)
    np.testing.assert_array_equal(weighted.support, repeated.support)
    # The weight of a class is any number; sums keep it to 2^-45.
    np.testing.assert_allclose(weighted.class_weight, repeated.class_weight, rtol=1e-12)
    np.testing.assert_allclose(weighted.consequent, repeated.consequent, rtol=1e-12)
    equal = clf.set_params(class_weight={0: 0.75, 1: 3.5})  # numbers that binary fractions hold
    weighted = equal.fit(X, y, sample_weight=twice).tree_
    assert_identical(weighted, equal.fit(np.repeat(X, twice, axis=0), np.repeat(y, twice)).tree_)


def test_balanced_classes_carry_equal_weight():
    X, y = make_classification(500, 5, weights=[0.9], random_state=0)
    clf = FERLTreeClassifier("deep", random_state=0, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(clf.tree_.class_weight[0], [250, 250])


def test_pruning_follows_its_path(cancer):
    X, y = cancer
    clf = FERLTreeClassifier("deep", random_state=0)
    path = clf.cost_complexity_pruning_path(X, y)
    with pytest.raises(NotFittedError):
        clf.predict(X)  # asking for the path does not fit
    sizes = [clone(clf).set_params(ccp_alpha=alpha).fit(X, y).n_rules_ for alpha in path.ccp_alphas]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 10
    assert sizes[-1] == 1
    # Pruning may take several links at one alpha, never none.
    assert len(set(sizes[1:])) == len(sizes[1:])


def test_splits_come_from_a_sample_and_distributions_from_all_rows():
    X, y = make_classification(3000, 6, random_state=0)
    clf = FERLTreeClassifier("deep", growth_rows=500, random_state=0).fit(X, y)
    assert clf.n_growth_rows_ == 500
    assert clf.tree_.weight[0] == pytest.approx(3000)
    assert FERLTreeClassifier("deep", growth_rows=None, random_state=0).fit(X, y).n_growth_rows_ == 3000
    shuffled = np.random.default_rng(0).permutation(3000)
    again = FERLTreeClassifier("deep", growth_rows=500, random_state=0).fit(X[shuffled], y[shuffled])
    np.testing.assert_array_equal(again.tree_.trapezoid, clf.tree_.trapezoid)
    np.testing.assert_allclose(again.tree_.class_weight, clf.tree_.class_weight, rtol=1e-12)


def test_memory_order_and_dtype_of_the_table_do_not_matter(cancer):
    X, y = cancer
    X = X.astype(np.float32)
    base = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    for table in (np.asfortranarray(X), X.astype(float), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]):
        other = FERLTreeClassifier("deep", random_state=0).fit(table, y)
        assert_identical(base.tree_, other.tree_)
        np.testing.assert_array_equal(base.predict_proba(X), base.predict_proba(table))


def test_labels_of_any_kind():
    X, y = make_classification(100, 4, random_state=0)
    for labels in (np.array(["no", "yes"]), np.array([-5, 10**12]), np.array([False, True])):
        clf = FERLTreeClassifier("deep", random_state=0).fit(X, labels[y])
        assert clf.classes_.tolist() == sorted(labels.tolist())
        assert set(clf.predict(X)) <= set(labels.tolist())


def test_pickle_joblib_and_clone_keep_the_model(iris, tmp_path):
    X, y = iris
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    joblib.dump(clf, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    assert_identical(clone(clf).fit(X, y).tree_, clf.tree_)


def test_pipeline_grid_search_and_parallel_cross_validation(iris):
    X, y = iris
    search = GridSearchCV(
        make_pipeline(
            StandardScaler().set_output(transform="pandas"), FERLTreeClassifier("deep", random_state=0, n_jobs=2)
        ),
        {"ferltreeclassifier__max_rules": [2, 10]},
        cv=3,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_params_ == {"ferltreeclassifier__max_rules": 10}
    assert cross_val_score(FERLTreeClassifier("deep", random_state=0), X, y).mean() > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_column_names_are_kept_and_checked(frame, iris):
    X, y = iris
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    table = frame(dict(zip(names, X.T, strict=True)))
    clf = FERLTreeClassifier("deep", random_state=0).fit(table, y)
    assert clf.feature_names_in_.tolist() == names
    assert "petal length < 2" in export_text(clf)
    np.testing.assert_array_equal(
        clf.predict_proba(table), FERLTreeClassifier("deep", random_state=0).fit(X, y).predict_proba(X)
    )
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*petals"):
        clf.predict(frame(dict(zip([*names[:3], "petals"], X.T, strict=True))))


def test_html_repr_in_notebooks(iris):
    clf = FERLTreeClassifier("deep", max_rules=9)
    assert type(clf).__name__ in clf._repr_html_()
    assert "fitted" in clf.fit(*iris)._repr_html_()


def test_verbose_shows_how_many_rules_have_grown(capsys, iris):
    FERLTreeClassifier("deep", random_state=0, verbose=1, max_rules=5).fit(*iris)
    assert "growing rules" in capsys.readouterr().out
    FERLTreeClassifier("deep", random_state=0).fit(*iris)
    assert capsys.readouterr().out == ""


def test_export_text_reads_as_rules(iris):
    clf = FERLTreeClassifier("deep", random_state=0, max_rules=3).fit(*iris)
    text = export_text(clf, feature_names=["a", "b", "c", "d"], decimals=1)
    assert text.count("if ") == text.count("then ") == 3
    assert "applies to" in text
    assert "... and 2 more rules" in export_text(clf, max_rules=1).splitlines()
    assert "then setosa" in export_text(clf, class_names=["setosa", "versicolor", "virginica"])
    assert max(map(len, export_text(clf, width=40).splitlines())) <= 40
    with pytest.raises(ValueError, match=r"class_names has 1 names; there are 3 classes"):
        export_text(clf, class_names=["setosa"])
    with pytest.raises(TypeError, match=r"got a Pipeline.*pipeline\[-1\]"):
        export_text(make_pipeline(clf))
    with pytest.raises(ValueError, match=r"2 names.*4 features"):
        export_text(clf, feature_names=["a", "b"])
    with pytest.raises(NotFittedError):
        export_text(FERLTreeClassifier("deep"))


def test_printed_rules_say_how_strongly_a_rule_fires(cancer):
    # The conditions of a rule, multiplied out, give its firing. Where several splits of a feature are said as one
    # interval, they agree on where the rule fires fully and where it does not.
    X, y = cancer
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    fired = clf.tree_.fire(X, gated=False)
    n_merged = n_exact = 0
    for rule in statements(clf.model_):
        product = np.ones(len(X))
        for condition in rule.conditions:
            x = X[:, condition.feature]
            if condition.lower is not None:
                lower = condition.lower
                product *= np.clip((x - lower.theta + lower.half_width) / (2 * lower.half_width), 0, 1)
            if condition.upper is not None:
                upper = condition.upper
                product *= np.clip((upper.theta + upper.half_width - x) / (2 * upper.half_width), 0, 1)
        firing, n_splits = fired[:, rule.node], len(clf.tree_.path(rule.node))
        np.testing.assert_array_equal(product < 1e-9, firing < 1e-9)
        np.testing.assert_array_equal(product > 1 - 1e-9, firing > 1 - 1e-9)
        if n_splits == sum((own.lower is not None) + (own.upper is not None) for own in rule.conditions):
            np.testing.assert_allclose(product, firing, atol=1e-9)
            n_exact += 1
        n_merged += n_splits - len(rule.conditions)
    assert n_merged > 10
    assert n_exact > 2


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound(0.05094, 0.00221), "0.0509 ±0.0022"),
        (Bound(724.2, 50.65), "724 ±51"),
        (Bound(2.4551, 0.0634), "2.46 ±0.06"),
        (Bound(50321.7, 1234.0), "50322 ±1234"),
        (Bound(2.5, 0.002), "2.500 ±0.002"),
        (Bound(1995.25, 0.75), "1995.2 ±0.8"),
        (Bound(1.5, 5e-324), "1.5"),
    ],
)
def test_thresholds_have_the_digits_their_band_gives_meaning_to(bound, text):
    assert bound.text() == text


def test_evidence_and_trees_are_short_to_print_and_evidence_can_be_sliced(iris):
    clf = FERLTreeClassifier("deep", random_state=0).fit(*iris)
    evidence = clf.predict_evidence(iris[0])
    assert repr(evidence).startswith("<Evidence: 150 rows, 3 classes")
    assert f"{clf.n_rules_} rules" in repr(clf.tree_)
    assert len(evidence[3]) == 1
    np.testing.assert_array_equal(evidence[10:20].plausibility, evidence.plausibility[10:20])
    with pytest.raises(NotFittedError):
        _ = FERLTreeClassifier("deep").n_rules_


def test_far_away_rows_are_abstained_on_and_the_feature_is_named(iris):
    X, y = iris
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    far = X[:1].copy()
    far[0, 2] = 1000.0
    evidence = clf.predict_evidence(far)
    assert evidence.ignorance[0] == 1.0
    assert clf.predict_set(far).all()
    assert clf.support_deficit(far)[0].argmax() == 2
    assert not clf.support_deficit(X).any()
    ungated = FERLTreeClassifier("deep", random_state=0, support_gate=False).fit(X, y)
    assert not ungated.support_deficit(far).any()
    assert ungated.predict_set(far).sum() == 1


@pytest.fixture
def interrupts_arrive():
    # A process that a script starts in the background ignores Ctrl-C unless it says otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts_arrive")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_fit_and_leaves_the_estimator_unfitted(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 60)), rng.integers(0, 2, 100_000)
    clf = FERLTreeClassifier("deep", random_state=0, growth_rows=None, n_banded_features=None, n_jobs=n_jobs).fit(
        X[:200], y[:200]
    )
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(1.0, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)  # many minutes, if nobody stops it
    assert time.perf_counter() - sent[0] < 5  # well under a second on an idle machine
    with pytest.raises(NotFittedError):
        clf.predict(X[:1])


def test_a_refused_fit_leaves_no_old_model_behind(iris):
    X, y = iris
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        clf.fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_n_jobs_counts_threads_as_scikit_learn_does(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == joblib.cpu_count()
    assert n_threads(-(10**9)) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # as joblib does in its workers
    assert n_threads(8) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert n_threads(8) == 8
    assert n_threads(2**40) <= 1024
    with pytest.raises(ValueError, match=r"n_jobs is 0.*-1"):
        FERLTreeClassifier("deep", n_jobs=0).fit([[0.0], [1.0]], [0, 1])


def _predict_in_child(args):
    clf, X = args
    return clf.predict_proba(X)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_started_after_a_threaded_fit_work(method):
    X, y = make_classification(20_000, 12, random_state=0)
    clf = FERLTreeClassifier("deep", random_state=0, n_jobs=2).fit(X, y)
    with multiprocessing.get_context(method).Pool(1) as pool:
        result = pool.apply_async(_predict_in_child, ((clf, X[:6000]),)).get(timeout=60)
    np.testing.assert_array_equal(result, clf.predict_proba(X[:6000]))
