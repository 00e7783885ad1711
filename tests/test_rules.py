"""Rules whose weights of evidence add up."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector, _core, load_model, save_model
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.editing import edit
from ferl.streaming import fit_batches
from oracle import weights as oracle
from table_examples import mixed_table

LAW = settings(max_examples=60, deadline=None, database=None)
INF = np.inf


def scores_alone(scores):
    """A reader of a tree without rules: the prior is all that speaks."""
    tree = _core.Tree(
        np.array([-1], dtype=np.int32),
        np.array([-1], dtype=np.int32),
        np.array([[-INF, -INF, INF, INF]]),
        np.ones(1),
        np.zeros(2, dtype=np.int32),
        np.zeros(0),
        np.array([[0.0, 1.0]]),
        1.0,
    )
    nothing = np.zeros(0, dtype=np.int32)
    return _core.Scores(
        tree, nothing, np.zeros((0, len(scores))), scores, 0 * scores, nothing, 0, np.zeros((0, 2)), nothing, 1.0
    )


def weighed(scores):
    """Probability, conflict and number of rows of the only row there is."""
    behind = _core.RowsBehind(np.full((1, 1), 40.0), np.zeros(0), 0.25, np.zeros(0))
    probability, conflict, support, n_rows = np.empty((1, len(scores))), np.empty(1), np.empty(1), np.empty(1)
    scores_alone(scores).weigh(np.zeros((1, 1)), behind, 1, probability, conflict, support, n_rows)
    assert support[0] == 1
    return probability[0], conflict[0], n_rows[0]


@LAW
@given(st.lists(st.floats(-2000, 2000), min_size=1, max_size=8).map(np.array))
def test_probabilities_are_those_of_the_oracle_however_large_the_scores(scores):
    probability, conflict, n_rows = weighed(scores)
    np.testing.assert_allclose(probability, oracle.softmax(scores[None])[0], rtol=1e-12, atol=1e-300)
    assert 0 <= conflict <= 1
    assert n_rows == pytest.approx(40 + 0.001 / 0.25)


def test_another_combination_is_refused_by_fit_and_by_reading():
    X, y = load_iris(return_X_y=True)
    wide = FERLClassifier(max_rules=4, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="combination"):
        wide.reading(combination="vote")
    with pytest.raises(ValueError, match=r"combination is 'weights': rules whose evidence adds up are FERLClassifier"):
        FERLTreeClassifier("medium", max_rules=4, random_state=0).fit(X, y).reading(combination="weights")


def test_nothing_said_is_the_same_for_all_classes_exactly():
    probability, conflict, _ = weighed(np.zeros(4))
    assert (probability == 0.25).all()
    assert conflict == 0


TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


@pytest.fixture(scope="module", params=TABLES)
def example(request):
    X, y = TABLES[request.param](return_X_y=True)
    return X, y, FERLClassifier(random_state=0).fit(X, y)


def test_contributions_of_rules_and_of_features_add_up_to_the_scores(example):
    X, _, clf = example
    rows = np.vstack([X, X * 1.3, X - 0.2 * np.ptp(X, axis=0)])
    parts = clf.contributions(rows)
    assert parts.shape == (len(rows), clf.n_rules_ + 1, len(clf.classes_))
    scores = parts.sum(axis=1)
    np.testing.assert_allclose(clf.feature_contributions(rows).sum(axis=1), scores, rtol=0, atol=1e-12)
    found = clf.decision_function(rows)
    np.testing.assert_allclose(found, scores if scores.shape[1] > 2 else scores[:, 1] - scores[:, 0], atol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(rows), oracle.softmax(scores), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(clf.evidence_weights_.sum(axis=1), 0.0, atol=1e-9)
    assert clf.prior_.shape == (len(clf.classes_),)


def test_evidence_is_in_order_and_the_label_is_the_most_plausible(example):
    X, _, clf = example
    evidence = clf.predict_evidence(X)
    assert (evidence.belief <= evidence.pignistic + 1e-12).all()
    assert (evidence.pignistic <= evidence.plausibility + 1e-12).all()
    np.testing.assert_allclose(evidence.pignistic.sum(axis=1), 1.0, rtol=1e-12)
    assert (clf.classes_[evidence.plausibility.argmax(axis=1)] == clf.predict(X)).all()
    assert evidence.prediction_set()[np.arange(len(X)), evidence.probability.argmax(axis=1)].all()
    assert (evidence.pignistic == evidence.probability).all()
    assert (evidence.rows > 0).all()
    assert evidence[:3].plausibility.shape == (3, len(clf.classes_))


def test_far_away_rows_get_the_vacuous_answer_and_the_features_to_blame_are_named(example):
    X, _, clf = example
    far = X[:5] + 3 * np.ptp(X, axis=0)
    evidence = clf.predict_evidence(far)
    assert (evidence.ignorance == 1).all()
    assert (evidence.belief == 0).all()
    assert clf.predict_set(far).all()
    np.testing.assert_allclose(clf.support_deficit(far).sum(axis=1), 1.0)
    assert (clf.support_deficit(X) == 0).all()
    used = np.unique(clf.tree_.feature[1:])
    one = X[:1].copy()
    one[0, used[0]] = X[:, used[0]].max() + 0.5 * np.ptp(X[:, used[0]])
    deficit = clf.support_deficit(one)[0]
    assert deficit[used[0]] == pytest.approx(0.5)
    assert np.delete(deficit, used[0]).sum() == 0
    ungated = clf.reading(support_gate=False)
    assert (ungated.predict_evidence(far).ignorance < 1).all()


def fits_alike(one, other, rows):
    assert one.n_rules_ == other.n_rules_
    for name in ("parent", "feature", "trapezoid", "share", "class_weight"):
        assert getattr(one.tree_, name).tobytes() == getattr(other.tree_, name).tobytes(), name
    assert one.evidence_weights_.tobytes() == other.evidence_weights_.tobytes()
    assert one.prior_.tobytes() == other.prior_.tobytes()
    assert one.predict_proba(rows).tobytes() == other.predict_proba(rows).tobytes()


def test_row_order_weights_threads_and_batches_change_no_bit():
    X, y = load_wine(return_X_y=True)
    base = FERLClassifier(random_state=0).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    fits_alike(base, FERLClassifier(random_state=0).fit(X[order], y[order]), X)
    fits_alike(base, FERLClassifier(random_state=0, n_jobs=3).fit(X, y), X)
    batches = [(X[i : i + 50], y[i : i + 50]) for i in range(0, len(X), 50)]
    fits_alike(base, fit_batches(batches, estimator=FERLClassifier(random_state=0)), X)
    twice = np.where(np.arange(len(X)) % 3 == 0, 2, 1)
    weighted = FERLClassifier(random_state=0).fit(X, y, twice)
    fits_alike(weighted, FERLClassifier(random_state=0).fit(np.repeat(X, twice, axis=0), np.repeat(y, twice)), X)


@pytest.mark.parametrize("options", [{}, {"words": True}, {"words": "triangles", "max_conditions": 1}])
def test_effort_has_an_effect_on_every_model(options):
    X, y = load_wine(return_X_y=True)
    once, more = (FERLClassifier(random_state=0, effort=effort, **options).fit(X, y) for effort in (1, 2))
    assert not np.array_equal(once.predict_proba(X), more.predict_proba(X))
    with pytest.raises(ValueError, match="effort"):
        FERLClassifier(effort=0).fit(X, y)


def test_inner_validation_chooses_the_number_of_rules_where_it_may():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    y = (np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2  # a board of 64 squares
    default, auto = (FERLClassifier(max_rules=most, random_state=0).fit(X, y) for most in (None, "auto"))
    assert default.n_rules_ <= 150 < auto.n_rules_ <= 1200
    assert log_loss(y, auto.predict_proba(X)) < log_loss(y, default.predict_proba(X))
    iris = load_iris(return_X_y=True)
    assert FERLClassifier(max_rules="auto", random_state=0).fit(*iris).n_rules_ < 50
    with pytest.raises(ValueError, match="max_rules"):
        FERLClassifier(max_rules="all").fit(*iris)
    with pytest.raises(ValueError, match="max_rules"):
        FERLTreeClassifier("medium", max_rules="auto").fit(*iris)


@pytest.mark.parametrize("max_rules", [1, 6, 15])
def test_the_number_of_rules_and_of_conditions_is_a_promise(max_rules):
    X, y = load_breast_cancer(return_X_y=True)
    for max_conditions in (1, 2, 3):
        clf = FERLClassifier(max_rules=max_rules, max_conditions=max_conditions, random_state=0).fit(X, y)
        assert 1 <= clf.n_rules_ <= max_rules
        assert clf.tree_.depth.max() <= max_conditions


def test_categories_missing_and_unseen_values_are_read():
    table = mixed_table(np.random.default_rng(3), n_classes=3)
    clf = FERLClassifier(random_state=0, missing_conditions=True).fit(table.frame, table.y)
    probability = clf.predict_proba(table.frame)
    assert np.isfinite(probability).all()
    prior = np.bincount(np.unique(table.y, return_inverse=True)[1]) / len(table.y)
    assert log_loss(table.y, probability) < -np.sum(prior * np.log(prior))
    nothing = pd.DataFrame([[None] * table.frame.shape[1]], columns=table.frame.columns, dtype=object)
    assert np.isfinite(clf.predict_proba(nothing)).all()


def test_a_decisive_category_of_few_rows_is_found():
    rng = np.random.default_rng(0)
    kind = rng.choice(list("abcdefgh"), 3000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
    noise = rng.normal(size=3000)
    ill = rng.random(3000) < np.where(kind == "h", 0.8, 0.03)
    clf = FERLClassifier(random_state=0).fit(pd.DataFrame({"kind": kind, "noise": noise}), ill)
    asked = pd.DataFrame({"kind": list("ah"), "noise": [0.0, 0.0]})
    low, high = clf.predict_proba(asked)[:, 1]
    assert low < 0.1
    assert high > 0.5


def test_a_class_of_one_row_in_a_hundred_is_ranked():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=4000) > 3.4).astype(int)
    assert 0.005 < y.mean() < 0.015
    score = cross_val_predict(FERLClassifier(random_state=0), X, y, cv=4, method="predict_proba")[:, 1]
    assert roc_auc_score(y, score) > 0.9


def test_monotone_constraints_hold_for_the_scores():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(600, 3))
    y = (X[:, 0] - X[:, 1] + np.sin(9 * X[:, 2]) * 0.3 + 0.3 * rng.normal(size=600) > 0).astype(int)
    clf = FERLClassifier(monotonic_cst=[1, -1, 0], support_gate=False, random_state=0).fit(X, y)
    grid = np.linspace(-0.2, 1.2, 60)
    for base in X[:20]:
        for feature, sign in ((0, 1), (1, -1)):
            rows = np.repeat(base[None], len(grid), axis=0)
            rows[:, feature] = grid
            assert (sign * np.diff(clf.decision_function(rows)) >= -1e-9).all()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((20, 2)), np.arange(20) % 2),
        (np.arange(20.0)[:, None], np.zeros(20, dtype=int)),
        (np.array([[1.0, 2.0]]), np.array([4])),
        (np.arange(30.0)[:, None], np.r_[np.zeros(29, dtype=int), 1]),
        (np.repeat(np.arange(10.0), 5)[:, None], np.repeat(np.arange(10) // 5, 5)),
        (np.column_stack([np.arange(40) / 2] * 4), np.arange(40) // 20),
    ],
    ids=["constant", "one class", "one row", "a class of one row", "separable", "collinear"],
)
def test_tables_that_teach_little_give_a_model_all_the_same(X, y):
    clf = FERLClassifier(random_state=0).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(clf.evidence_weights_).all()
    evidence = clf.predict_evidence(X)
    np.testing.assert_allclose(evidence.pignistic.sum(axis=1), 1, atol=1e-12)
    if len(clf.classes_) == 1:  # as a tree says it: the only class is certain
        assert (evidence.belief == 1).all()
        assert (evidence.ignorance == 0).all()


def test_one_value_very_far_out_does_not_hide_what_the_others_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    for far in (1e10, -1e20):
        X[0, 0] = far
        X[1, 1] = -far
        assert FERLClassifier(random_state=0).fit(X, y).score(X, y) > 0.97
    few = rng.integers(0, 2, size=(300, 1)).astype(float)
    y = few[:, 0].astype(int)
    few[0] = 1e12  # a code for "missing"
    assert FERLClassifier(random_state=0).fit(few, y).score(few, y) > 0.99


def test_what_adds_up_is_for_rules_alone():
    X, y = load_iris(return_X_y=True)
    deep, wide = FERLTreeClassifier("deep", random_state=0).fit(X, y), FERLClassifier(random_state=0).fit(X, y)
    for name in ("decision_function", "contributions", "feature_contributions", "evidence_weights_", "prior_"):
        assert hasattr(wide, name)
        assert not hasattr(deep, name)


def test_conformal_sets_take_wide_models():
    X, y = load_wine(return_X_y=True)
    sets = ConformalFERL(FERLClassifier(random_state=0)).fit(X[::2], y[::2]).conformalize(X[1::4], y[1::4])
    assert sets.predict_set(X[3::4], alpha=0.2).any(axis=1).mean() > 0.7


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probabilities_alone_are_those_of_the_evidence_to_the_last_bit(n_classes):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_classes=n_classes)
    model = FERLClassifier(max_rules=20, missing_conditions=True, random_state=0).fit(table.frame, table.y)
    proba = model.predict_proba(table.frame)
    assert (proba == model.predict_evidence(table.frame).probability).all()
    assert (proba[:1] == model.predict_proba(table.frame[:1])).all()


# ---------------------------------------------------------------------------------------------------------------------
# The default
# ---------------------------------------------------------------------------------------------------------------------


def test_rules_are_what_everything_fits_unless_told_otherwise():
    X, y = load_iris(return_X_y=True)
    own = FERLClassifier().get_params()
    assert fit_batches([(X, y)]).get_params() == own
    for wrapper in (ConformalFERL(), RiskControlledFERL(risk=0.2), CalibratedFERL(cv=2)):
        assert wrapper.fit(X, y).estimator_.get_params() == own
    assert type(NoveltyDetector(cv=0.5, random_state=0).fit(X, y).estimator_) is FERLClassifier


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 4}, r"FERLClassifier has no parameter 'max_depth': max_conditions limits how long rules are"),
        ({"ccp_alpha": 0.1}, r"FERLClassifier has no parameter 'ccp_alpha': prune and min_rule_worth remove rules"),
        ({"criterion": "entropy"}, r"FERLClassifier has no parameter 'criterion': .* FERLTreeClassifier"),
        ({"combination": "vote"}, r"FERLClassifier has no parameter 'combination': .* adds up; .* FERLTreeClassifier"),
        ({"variant": "deep"}, r"FERLClassifier has no parameter 'variant': .* FERLTreeClassifier\(\"deep\""),
        ({"partition": "quantile"}, r"FERLClassifier has no parameter 'partition': write words="),
        ({"sources": "all"}, "sources"),
    ],
)
def test_what_only_trees_have_is_refused(parameters, message):
    with pytest.raises(TypeError, match=message):
        FERLClassifier(random_state=0, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"partition": "quantile"}, r"FERLTreeClassifier has no parameter 'partition': write words="),
        ({"prune": 0.1}, r"FERLTreeClassifier has no parameter 'prune': ccp_alpha prunes trees"),
        ({"max_conditions": 2}, r"FERLTreeClassifier has no parameter 'max_conditions': max_depth limits the rules"),
    ],
)
def test_what_only_rules_have_is_refused(parameters, message):
    with pytest.raises(TypeError, match=message):
        FERLTreeClassifier(random_state=0, **parameters)


@pytest.mark.parametrize("variant", ["deep", "medium", "compact"])
def test_a_variant_names_the_class_that_has_it_now(variant):
    with pytest.raises(ValueError, match=rf"write FERLTreeClassifier\('{variant}'\), or words=True"):
        FERLClassifier(variant)


def test_the_name_wide_is_to_be_left_out():
    with pytest.raises(ValueError, match="words is 'wide', which once was the name of this model"):
        FERLClassifier("wide")


def test_a_path_of_prunings_is_for_trees():
    assert not hasattr(FERLClassifier(random_state=0), "cost_complexity_pruning_path")


# ---------------------------------------------------------------------------------------------------------------------
# Far away
# ---------------------------------------------------------------------------------------------------------------------


def rare_class(**options):
    """Two classes, the second one in about 3 % of 600 rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=600) > 3).astype(int)
    return X, y, FERLClassifier(random_state=0, **options).fit(X, y)


def test_far_away_the_probability_is_the_class_frequencies(example):
    X, y, clf = example
    far = X[:5] + 3 * np.ptp(X, axis=0)
    frequency = np.bincount(np.searchsorted(clf.classes_, y)) / len(y)
    np.testing.assert_allclose(clf.predict_proba(far), np.tile(frequency, (5, 1)), rtol=1e-11)
    assert (clf.predict(far) == clf.classes_[frequency.argmax()]).all()
    np.testing.assert_allclose(clf.contributions(far).sum(axis=1), clf.model_.decision_scores(far), atol=1e-12)
    assert (clf.predict(far, decision="balanced") == clf.predict(far)).all()


def test_the_scores_lie_between_those_of_the_frequencies_and_the_summed_weights():
    X, y, clf = rare_class()
    gate = int(clf.model_.gated_columns[0])
    rows = np.repeat(X[:40], 2, axis=0)
    rows[1::2, gate] = X[:, gate].max() + 0.25 * np.ptp(X[:, gate])
    support = 1 - clf.support_deficit(rows).sum(axis=1)
    opened = clf.reading(support_gate=False).decision_function(rows)
    base = np.log(y.mean() / (1 - y.mean()))
    np.testing.assert_allclose(clf.decision_function(rows), base + support * (opened - base), atol=1e-9)
    assert (clf.decision_function(rows)[::2] == opened[::2]).all()  # to the last bit inside the range
    np.testing.assert_allclose(support[1::2], 0.75)


@pytest.mark.parametrize("options", [{}, {"monotonic_cst": [1, 1, 0]}, {"class_weight": "balanced"}])
def test_of_two_classes_belief_and_plausibility_enclose_the_probability_at_any_support(options):
    X, _, clf = rare_class(**options)
    rng = np.random.default_rng(1)
    rows = X[rng.integers(len(X), size=3000)] + rng.uniform(-1, 1, (3000, 3)) * np.ptp(X, axis=0)
    evidence = clf.predict_evidence(rows)
    assert (clf.model_.supports(rows).prod(axis=1) < 1).mean() > 0.5
    assert (evidence.belief <= evidence.probability + 1e-12).all()
    assert (evidence.probability <= evidence.plausibility + 1e-12).all()
    assert evidence.prediction_set()[np.arange(3000), evidence.probability.argmax(axis=1)].all()
    np.testing.assert_allclose(evidence.pignistic.sum(axis=1), 1, atol=1e-12)
    assert (evidence.belief <= evidence.pignistic + 1e-12).all()
    assert (evidence.pignistic <= evidence.plausibility + 1e-12).all()


def test_weights_of_classes_and_classes_without_rows_have_a_base_rate():
    X, y, clf = rare_class(class_weight="balanced")
    np.testing.assert_allclose(clf.predict_proba(X[:1] + 100), 0.5, rtol=1e-10)  # class weights are rounded
    kind = np.where(X[:, 2] > 1, 2, y)
    weight = np.where(kind == 2, 0.0, 1.0)
    without = FERLClassifier(random_state=0).fit(X, kind, sample_weight=weight)
    count = np.bincount(kind) * [1.0, 1.0, 0.0] + [0, 0, 0.5]
    np.testing.assert_allclose(without.predict_proba(X[:1] + 100)[0], count / count.sum(), rtol=1e-9)


def test_monotone_constraints_hold_outside_the_range_too():
    X, _, clf = rare_class(monotonic_cst=[1, 1, 0])
    values = np.concatenate([-np.geomspace(1e3, 4, 20), np.linspace(-4, 4, 50), np.geomspace(4, 1e3, 20)])
    rng = np.random.default_rng(0)
    starts = X[:30] + rng.uniform(-1, 1, (30, 3)) * np.ptp(X, axis=0)
    for feature in (0, 1):
        rows = np.repeat(starts, len(values), axis=0)
        rows[:, feature] = np.tile(values, len(starts))
        steps = np.diff(clf.predict_proba(rows)[:, 1].reshape(len(starts), -1), axis=1)
        assert (steps >= -1e-12).all()
    report = str(clf.stability_report())
    assert "Proven: a higher x0 never makes 1 less probable." in report
    # What no constraint holds is proven within the range alone.
    free = rare_class()[2]
    assert free.stability_report().direction("x0", 1) == 1
    low, high = X[:, 0].min(), X[:, 0].max()
    within = f"from {low:.4g} to {high:.4g}"
    assert f"Proven: a higher x0 never makes 1 less probable, {within}." in str(free.stability_report())
    # Belief shows what probabilities may not: that the row is outside.
    far = np.array([[50.0, 0.0, 0.0]])
    evidence = clf.predict_evidence(far)
    assert (evidence.ignorance == 1).all()
    assert clf.predict_set(far).all()
    assert clf.predict_proba(far)[0, 1] > 0.5
    assert clf.support_deficit(far)[0].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(clf.contributions(far).sum(axis=1), clf.model_.decision_scores(far), atol=1e-12)
    story, near = clf.explain(far[0]), clf.explain([8.0, 0.0, 0.0])
    assert story.summary.startswith("No answer: no training row supports an answer, because x0 is 50 while")
    assert str(story).startswith("No answer. A novel and doubtful case; the estimate rests on no similar row.\n")
    assert "Unlike the training rows: x0 is 50 while the training rows have " in str(story)
    assert "belief counts by 0.2" in near.summary
    assert "Unlike the training rows: x0 is 8 while the training rows have " in str(near)


def test_a_model_made_monotone_by_hand_is_so_outside_the_range_too(tmp_path):
    X, _, clf = rare_class()
    changed = edit(clf).monotone("x0", 1)
    assert changed.model_.level_columns == (0,)
    save_model(changed, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.model_.level_columns == (0,)
    rows = np.repeat(X[:10], 40, axis=0)
    rows[:, 0] = np.tile(np.linspace(-20, 20, 40), 10)
    found = loaded.predict_proba(rows)
    assert (found == changed.predict_proba(rows)).all()
    assert (np.diff(found[:, 1].reshape(10, 40), axis=1) >= -1e-12).all()
