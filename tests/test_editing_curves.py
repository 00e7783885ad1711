"""Edits of curves and maps: what each changes, what it leaves alone, and what is locked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from curve_examples import with_curves
from ferl import FERLClassifier, load_model, save_model
from ferl.editing import edit


@pytest.fixture(scope="module")
def example():
    X, y = load_breast_cancer(return_X_y=True)
    clf = with_curves(FERLClassifier(random_state=0).fit(X, y), X, 8, 8, seed=3)
    return clf, X, y


def terms_of(clf):
    return [] if clf.model_.curves is None else list(clf.model_.curves.term_columns)


def test_flatten_takes_the_curve_and_the_rules_on_a_feature_alone(example):
    clf, _, _ = example
    feature = next(columns[0] for columns in terms_of(clf) if len(columns) == 1)
    flat = edit(clf).flatten(feature)
    assert (feature,) not in terms_of(flat)
    assert [own for own in terms_of(clf) if own != (feature,)] == terms_of(flat)
    assert all(read != (feature,) for read in flat.model_.term_columns)
    before, after = clf.model_.mean_contributions.sum(axis=0), flat.model_.mean_contributions.sum(axis=0)
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_flatten_of_two_features_takes_their_map_alone(example):
    clf, _, _ = example
    pair = next(columns for columns in terms_of(clf) if len(columns) == 2)
    flat = edit(clf).flatten((pair[1], pair[0]))
    assert flat.n_maps_ == clf.n_maps_ - terms_of(clf).count(pair)
    assert flat.n_rules_ == clf.n_rules_


def test_forbidden_features_change_no_answer(example):
    clf, X, _ = example
    feature = terms_of(clf)[-1][0]
    without = edit(clf).forbid(feature)
    moved = X[:50].copy()
    moved[:, feature] = np.random.default_rng(0).permutation(X[:, feature])[:50]
    np.testing.assert_array_equal(without.predict_proba(moved), without.predict_proba(X[:50]))


def test_smoothing_keeps_the_mean_and_makes_steps_smaller(example):
    clf, _, _ = example
    for columns in {own if len(own) == 2 else own[0] for own in terms_of(clf)}:
        smooth = edit(clf).smooth(columns, steps=3)
        before, after = clf.model_.curves, smooth.model_.curves
        np.testing.assert_allclose(after.mean(clf.tree_), before.mean(clf.tree_), atol=1e-9)
        term = (
            next(t for t in range(before.n_terms) if (before.table(t) != after.table(t)).any())
            if ((before.value != after.value).any())
            else None
        )
        if term is not None and not before.is_map[term]:
            assert np.abs(np.diff(after.table(term)[1:], axis=0)).sum() <= np.abs(
                np.diff(before.table(term)[1:], axis=0)
            ).sum() * (1 + 1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_feature_is_monotone_and_has_no_map(example, sign):
    clf, X, _ = example
    feature = terms_of(clf)[0][0]
    found = edit(clf).monotone(feature, sign)
    assert all(len(own) == 1 for own in terms_of(found) if feature in own)
    line = np.repeat(X[:1], 400, axis=0)
    line[:, feature] = np.linspace(X[:, feature].min(), X[:, feature].max(), 400)
    log_odds = found.decision_function(line)
    assert (sign * np.diff(log_odds) >= -1e-9).all()


def test_locked_curves_and_maps_refuse_edits(example):
    clf, _, _ = example
    names = clf.model_.feature_names()
    curve = names[terms_of(clf)[0][0]]
    pair = tuple(names[own] for own in terms_of(clf)[-1])
    locked = edit(clf).lock(1, curve, pair)
    for change in (lambda: locked.flatten(curve), lambda: locked.smooth(pair), lambda: locked.forbid(pair[0])):
        with pytest.raises(ValueError, match="is locked"):
            change()


def test_what_is_not_there_is_refused_by_name(example):
    clf, _, _ = example
    with pytest.raises(ValueError, match="There is no curve of"):
        edit(clf).smooth(next(f for f in range(30) if (f,) not in terms_of(clf)))
    with pytest.raises(ValueError, match="steps is 0"):
        edit(clf).smooth(terms_of(clf)[0][0], steps=0)


def test_edits_are_kept_by_files_and_refits(example, tmp_path):
    clf, X, y = example
    changed = edit(clf).smooth(terms_of(clf)[0][0]).flatten(terms_of(clf)[-1]).refit(X, y)
    save_model(changed, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), changed.predict_proba(X))
    assert [own["edit"] for own in loaded.model_.history] == ["smooth", "flatten", "refit"]
