"""Editing rules by hand: every edit is a new classifier, says what it did, and what that cost."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from ferl import FERLClassifier, FERLTreeClassifier, ModelFileError, export_text, load_model, rules_frame, save_model
from ferl._models.shapes import read_shapes
from ferl.editing import EditedFERL, edit
from oracle import rules as oracle
from table_examples import TABLE_LAW, rows_beside, wide_example


def scores(clf, rows):
    """Scores of rows with all gates open, as edits may change which gates there are."""
    return clf.model_.with_gates_open.decision_scores(clf._rows(rows))


@TABLE_LAW
@given(st.sampled_from([(0, 2), (1, 3)]), st.data())
def test_dropping_rules_takes_away_what_they_added(example, data):
    table, clf = wide_example(*example)
    rules = data.draw(st.lists(st.integers(1, clf.n_rules_), min_size=1, max_size=5, unique=True))
    rows = rows_beside(table, data.draw(st.integers(0, 1000)))
    parts = clf.reading(support_gate=False).contributions(rows)
    changed = edit(clf).drop(*rules)
    assert changed.n_rules_ == clf.n_rules_ - len(rules)
    expected = parts.sum(axis=1) - parts[:, [rule - 1 for rule in rules]].sum(axis=1)
    np.testing.assert_allclose(scores(changed, rows), expected, rtol=0, atol=1e-12)
    kept = np.delete(clf.evidence_weights_, [rule - 1 for rule in rules], axis=0)
    np.testing.assert_array_equal(changed.evidence_weights_, kept)
    level = edit(clf).drop(*rules, keep_average=True)
    before, after = scores(clf, table.frame).mean(axis=0), scores(level, table.frame).mean(axis=0)
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-9)
    left = rules_frame(clf)["conditions"].drop([rule - 1 for rule in rules]).tolist()
    assert rules_frame(changed)["conditions"].tolist() == left


@pytest.mark.parametrize("example", [(0, 2), (1, 3)])
def test_a_forbidden_feature_counts_for_nothing_and_the_average_stays(example):
    table, clf = wide_example(*example)
    for feature, name in enumerate(clf.feature_names_in_):
        changed = edit(clf).forbid(name)
        asked = {changed.model_.feature_of(int(column)) for column in changed.tree_.feature[1:]}
        assert feature not in asked
        other = table.frame.copy()
        other[name] = None
        assert (changed.predict_proba(other) == changed.predict_proba(table.frame)).all()
        before, after = scores(clf, table.frame), scores(changed, table.frame)
        np.testing.assert_allclose(before.mean(axis=0), after.mean(axis=0), atol=1e-9)


def test_a_flattened_feature_has_no_curve_and_keeps_its_rules_with_others():
    _, clf = wide_example(0, 2)
    curve = read_shapes(clf.model_).curves[0]
    changed = edit(clf).flatten(curve.feature)
    shapes = read_shapes(changed.model_)
    assert shapes.curve(curve.feature) is None
    assert len(shapes.interactions) == len(read_shapes(clf.model_).interactions)
    np.testing.assert_allclose(shapes.base, read_shapes(clf.model_).base, atol=1e-12)


def test_a_weight_is_set_and_centred():
    table, clf = wide_example(0, 2)
    changed = edit(clf).set_weight(2, 1.5)
    np.testing.assert_array_equal(changed.evidence_weights_[1], [-0.75, 0.75])
    np.testing.assert_array_equal(np.delete(changed.evidence_weights_, 1, 0), np.delete(clf.evidence_weights_, 1, 0))
    three = edit(wide_example(1, 3)[1]).set_weight(1, [3.0, 0.0, 0.0])
    np.testing.assert_allclose(three.evidence_weights_[0], [2.0, -1.0, -1.0])
    same = edit(clf).set_weight(3, clf.evidence_weights_[2] + 7)
    np.testing.assert_allclose(same.predict_proba(table.frame), clf.predict_proba(table.frame), atol=1e-12)
    for weight, match in ((np.nan, "finite"), ([1.0, 2.0, 3.0], "give 2 numbers")):
        with pytest.raises(ValueError, match=match):
            edit(clf).set_weight(1, weight)
    with pytest.raises(ValueError, match="give 3 numbers"):
        three.set_weight(1, 0.5)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_exemplars", [1024, 0])
def test_a_monotone_feature_never_speaks_the_other_way(sign, n_exemplars):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    clf = FERLClassifier(random_state=0, n_exemplars=n_exemplars).fit(X, y)
    for feature in np.unique(clf.tree_.feature[1:]).tolist():
        changed = edit(clf).monotone(feature, sign)
        grid = np.linspace(X[:, feature].min(), X[:, feature].max(), 80)
        for base in X[::60]:
            rows = np.repeat(base[None], len(grid), axis=0)
            rows[:, feature] = grid
            assert (sign * np.diff(changed.decision_function(rows)) >= -1e-9).all()
        again = changed.monotone(feature, sign)
        np.testing.assert_allclose(again.predict_proba(X), changed.predict_proba(X), atol=1e-12)


def test_a_curve_that_rises_already_stays_and_another_comes_close():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(800, 1))
    y = (rng.random(800) < 1 / (1 + np.exp(-(X[:, 0] - 5 + 1.5 * np.sin(2 * X[:, 0]))))).astype(int)
    clf = FERLClassifier(random_state=0).fit(X, y)
    right, wrong = edit(clf).monotone(0, 1), edit(clf).monotone(0, -1)
    assert right.cost(X, y).after.accuracy > right.cost(X, y).before.accuracy - 0.03
    assert wrong.cost(X, y).after.accuracy < 0.7
    np.testing.assert_allclose(
        edit(right).monotone(0, 1).decision_function(X), right.decision_function(X), rtol=0, atol=1e-12
    )


def test_locked_rules_are_kept_through_later_edits():
    _, clf = wide_example(0, 2)
    held = edit(clf).lock(3, 5).drop(1, 4)
    assert held.locked_ == (3, 5)
    conditions = rules_frame(clf)["conditions"].tolist()
    assert rules_frame(held)["conditions"].tolist()[1:3] == [conditions[2], conditions[4]]
    asked = int(clf.tree_.feature[clf.tree_.path(int(clf.model_.rules.node[2]))[0]])
    feature = clf.model_.feature_of(asked)
    for refused in (lambda: held.drop(3), lambda: held.set_weight(5, 0.0), lambda: held.forbid(feature)):
        with pytest.raises(ValueError, match=r"Rule [35] is locked"):
            refused()
    assert held.drop(2).locked_ == (3, 5)


def test_the_original_stays_and_the_cost_is_measured_against_it():
    data = load_breast_cancer()
    X, y = data.data[1::2], data.target[1::2]
    clf = FERLClassifier(random_state=0).fit(data.data[::2], data.target[::2])
    before = clf.predict_proba(X)
    changed = edit(clf).drop(1).set_weight(2, -2.0).flatten(23)
    assert is_classifier(changed)
    assert isinstance(changed, FERLClassifier)
    assert (clf.predict_proba(X) == before).all()
    assert not clf.model_.history
    cost = changed.cost(X, y)
    after = changed.predict_proba(X)
    assert cost.before.accuracy == accuracy_score(y, before.argmax(axis=1))
    assert cost.after.log_loss == pytest.approx(log_loss(y, after))
    assert cost.after.auc == pytest.approx(roc_auc_score(y, after[:, 1]))
    assert cost.n_changed == (clf.predict(X) != changed.predict(X)).sum()
    assert edit(clf).cost(X, y).n_changed == 0
    assert "rows get another label" in str(cost)


def test_what_was_done_stands_in_the_history_and_in_the_file(tmp_path):
    table, clf = wide_example(0, 2)
    changed = edit(clf).lock(2).drop(1).set_weight(3, 0.25).flatten("x0").forbid("x1").monotone("x2", 1)
    done = [record["edit"] for record in changed.model_.history]
    assert done == ["lock", "drop", "set_weight", "flatten", "forbid", "monotone"]
    assert changed.model_.history[1]["conditions"] == [rules_frame(clf)["conditions"][0]]
    save_model(changed, tmp_path / "edited.json")
    loaded = load_model(tmp_path / "edited.json")
    assert loaded.model_.history == changed.model_.history
    assert (loaded.predict_proba(table.frame) == changed.predict_proba(table.frame)).all()
    assert edit(loaded).locked_ == changed.locked_
    assert export_text(loaded) == export_text(changed)
    copy = pickle.loads(pickle.dumps(changed))
    assert (copy.predict_proba(table.frame) == changed.predict_proba(table.frame)).all()


def test_all_rules_may_go_and_fitting_learns_anew():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=5, random_state=0).fit(X, y)
    nothing = edit(clf).drop(*range(1, clf.n_rules_ + 1))
    assert nothing.n_rules_ == 0
    assert np.ptp(nothing.predict_proba(X), axis=0).max() == 0
    anew = clone(nothing).fit(X, y)
    assert (anew.predict_proba(X) == clf.predict_proba(X)).all()
    assert not anew.model_.history
    with pytest.raises(ValueError, match="fitted and not edited"):
        anew.cost(X, y)


def test_bad_edits_are_refused():
    table, clf = wide_example(0, 2)
    fresh = edit(clf)
    assert isinstance(fresh, EditedFERL)
    refused = [
        (lambda: fresh.drop(), "at least one rule"),
        (lambda: fresh.drop(0), "numbers 1 to"),
        (lambda: fresh.drop(clf.n_rules_ + 1), "numbers 1 to"),
        (lambda: fresh.drop(True), "numbers 1 to"),
        (lambda: fresh.flatten("nothing"), "There is no feature 'nothing'"),
        (lambda: fresh.forbid(99), "features 0 to"),
        (lambda: fresh.monotone("x0", 2), "sign is 2"),
        (lambda: fresh.monotone("c0", 1), "holds categories"),
        (lambda: edit(wide_example(1, 3)[1]).monotone("x0", 1), "two classes"),
        (lambda: fresh.cost(table.frame, pd.Series(["other"] * len(table.frame))), "none of the classes"),
    ]
    for ask, match in refused:
        with pytest.raises(ValueError, match=match):
            ask()
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="edit is for rules, and this is a FERLTreeClassifier"):
        edit(FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="pass the fitted FERLClassifier"):
        edit("clf")


@pytest.mark.parametrize("weight", [1e150, -1e101, [1e120, -1e120], np.inf, np.nan])
def test_a_weight_that_no_file_can_hold_is_refused_at_once(weight, tmp_path):
    _, clf = wide_example(0, 2)
    with pytest.raises(ValueError, match=r"weights of evidence must be finite, at most 1e\+09 in magnitude"):
        edit(clf).set_weight(1, weight)
    largest = edit(clf).set_weight(1, 1e9)
    for changed in (largest, largest.drop(1, keep_average=True)):
        save_model(changed, tmp_path / "edited.json")
        assert load_model(tmp_path / "edited.json").model_.history == changed.model_.history


# ---------------------------------------------------------------------------------------------------------------------
# Refits
# ---------------------------------------------------------------------------------------------------------------------


def refit_problem(changed, table, held):
    """Firings of the rules that are fitted again, labels, and what the others say, from the classifier alone."""
    rows = changed._rows(table.frame)
    firing = changed.tree_.fire(rows, gated=False)[:, changed.model_.rules.node]
    free = ~np.isin(changed.model_.numbers, held)
    offset = firing[:, ~free] @ changed.evidence_weights_[~free]
    target = (np.asarray(table.y)[:, None] == changed.classes_).astype(float)
    return firing[:, free], target, free, offset


@pytest.mark.parametrize("example", [(0, 2), (1, 3)])
def test_a_refit_is_the_optimum_of_the_oracle_around_the_rules_that_are_held(example):
    table, clf = wide_example(*example)
    weight = 1.0 + np.arange(len(table.frame)) % 3
    set_by_hand = np.linspace(-0.5, 0.5, len(clf.classes_))
    changed = edit(clf).lock(2).drop(1).set_weight(4, set_by_hand)
    held = [2, 4]
    again = changed.refit(table.frame, table.y, weight)
    firing, target, free, offset = refit_problem(changed, table, held)
    np.testing.assert_array_equal(again.evidence_weights_[~free], changed.evidence_weights_[~free])
    ridge = clf.model_.rules.ridge[1:][free]
    problem = firing, target, weight, ridge
    reached = oracle.objective(*problem, again.evidence_weights_[free], again.prior_, offset)
    least = oracle.optimum(*problem, np.zeros(free.sum(), dtype=np.int32), offset)
    assert reached == pytest.approx(least, rel=1e-5)
    assert reached < oracle.objective(*problem, changed.evidence_weights_[free], changed.prior_, offset)
    assert again.model_.history[-1] == {"edit": "refit", "n_rows": len(table.frame), "held": held}
    assert again.locked_ == changed.locked_
    # Weaker rules by a stronger ridge, which then is the model's.
    weak = changed.refit(table.frame, table.y, ridge=1e6)
    assert np.abs(weak.evidence_weights_[free]).max() < 0.1 * np.abs(again.evidence_weights_[free]).max()
    assert (weak.model_.rules.ridge == 1e6).all()


def test_a_refit_depends_on_neither_the_order_of_the_rows_nor_the_threads_nor_the_weights_before():
    table, clf = wide_example(0, 2)
    changed = edit(clf).lock(1).forbid("x0")
    first = changed.refit(table.frame, table.y)
    order = np.random.default_rng(0).permutation(len(table.frame))
    others = [
        changed.refit(table.frame.iloc[order], np.asarray(table.y)[order]),
        changed.set_params(n_jobs=2).refit(table.frame, table.y),
        changed.refit(pd.concat([table.frame] * 2), np.tile(table.y, 2), np.full(2 * len(order), 0.5)),
    ]
    for other in others[:2]:
        np.testing.assert_array_equal(other.evidence_weights_, first.evidence_weights_)
        np.testing.assert_array_equal(other.prior_, first.prior_)
    twice = first.refit(table.frame, table.y)
    np.testing.assert_array_equal(twice.evidence_weights_, first.evidence_weights_)
    # Weights below one are made to average one, as in a fit: half rows, twice, are all rows twice.
    doubled = changed.refit(pd.concat([table.frame] * 2), np.tile(table.y, 2))
    np.testing.assert_allclose(others[2].evidence_weights_, doubled.evidence_weights_, atol=1e-4)


def test_a_refit_with_small_class_weights_takes_weight_2_for_the_row_twice():
    table, _ = wide_example(0, 2)
    small = {table.y[0]: 0.4}
    changed = edit(FERLClassifier(class_weight=small, random_state=0).fit(table.frame, table.y)).drop(1)
    weighted = changed.refit(table.frame, table.y, np.full(len(table.y), 2.0))
    repeated = changed.refit(pd.concat([table.frame] * 2), np.tile(table.y, 2))
    np.testing.assert_allclose(repeated.evidence_weights_, weighted.evidence_weights_, atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_refit_keeps_monotone_curves_of_the_fit_and_of_edits(sign):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    clf = FERLClassifier(random_state=0, monotonic_cst=[0, 0, -1, 0, 0]).fit(X, y)
    feature = next(f for f in np.unique(clf.tree_.feature[1:]).tolist() if f != 2)
    again = edit(clf).monotone(feature, sign).drop(1).refit(X, y)
    for asked, way in ((feature, sign), (2, -1)):
        grid = np.linspace(X[:, asked].min(), X[:, asked].max(), 60)
        for base in X[::60]:
            rows = np.repeat(base[None], len(grid), axis=0)
            rows[:, asked] = grid
            assert (way * np.diff(again.decision_function(rows)) >= -1e-9).all()
    other = edit(clf).monotone(2, 1).refit(X, y)  # the edit came later than the constraint
    assert other.stability_report().direction("x2", 1) in (0, 1)


def test_a_refit_stands_in_the_file_with_its_ridge(tmp_path):
    table, clf = wide_example(0, 2)
    again = edit(clf).lock(1).flatten("x0").refit(table.frame, table.y, ridge=3.0)
    save_model(again, tmp_path / "again.json")
    loaded = load_model(tmp_path / "again.json")
    assert loaded.model_.history == again.model_.history
    assert loaded.model_.history[-1]["ridge"] == 3.0
    np.testing.assert_array_equal(loaded.model_.rules.ridge, again.model_.rules.ridge)
    twice = edit(loaded).refit(table.frame, table.y)
    np.testing.assert_array_equal(twice.evidence_weights_, again.evidence_weights_)
    old = json.loads((tmp_path / "again.json").read_text())
    del old["weights"]["ridge"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    with pytest.raises(ModelFileError, match="weights has no 'ridge'"):
        load_model(tmp_path / "old.json")
    for wrong in ([-1.0] * again.n_rules_, [1.0]):
        old["weights"]["ridge"] = wrong
        (tmp_path / "wrong.json").write_text(json.dumps(old))
        with pytest.raises(ModelFileError, match=r"weights\.ridge"):
            load_model(tmp_path / "wrong.json")


def test_a_refit_without_rules_gives_the_frequencies():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=4, random_state=0).fit(X, y)
    kept = np.r_[0:50, 50:75, 100:125]
    nothing = edit(clf).drop(*range(1, clf.n_rules_ + 1)).refit(X[kept], y[kept])
    np.testing.assert_allclose(nothing.predict_proba(X[:1]), [[0.5, 0.25, 0.25]], atol=1e-4)


def test_bad_refits_are_refused():
    with pytest.raises(ValueError, match="ridge is 1e\\+150; it must be a number from 0 to 1e100, or None"):
        edit(wide_example(0, 2)[1]).refit([[0]], [0], ridge=1e150)
    table, clf = wide_example(0, 2)
    fresh = edit(clf)
    only = np.asarray(table.y) == clf.classes_[0]
    for ask, match in (
        (lambda: fresh.refit(table.frame[only], np.asarray(table.y)[only]), "no row of the class"),
        (lambda: fresh.refit(table.frame, table.y, ridge=-1), "ridge is -1"),
        (lambda: fresh.refit(table.frame, table.y, ridge=np.nan), "ridge is nan"),
        (lambda: fresh.refit(table.frame, np.full(len(table.frame), 7)), "not among the classes"),
    ):
        with pytest.raises(ValueError, match=match):
            ask()
