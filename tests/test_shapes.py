"""Shapes: the summed rules of a rule model, as curves and interactions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from ferl import FERLClassifier
from ferl._models.shapes import kept_rows, read_shapes
from ferl._models.tree import Profile
from ferl._tell.statements import statements
from table_examples import TABLE_LAW, rows_beside, wide_example


def summed(shapes, rows):
    total = np.tile(shapes.prior, (len(rows), 1))
    for shape in shapes.all:
        total += shape.at(*(rows[:, feature] for feature in shape.features))
    return total


@TABLE_LAW
@given(st.sampled_from([(0, 2), (1, 3), (2, 5)]), st.integers(0, 2**31))
def test_prior_curves_and_interactions_sum_to_the_scores_with_open_gates(example, seed):
    table, clf = wide_example(*example)
    rows = clf._rows(rows_beside(table, seed))
    model = clf.model_.with_gates_open
    np.testing.assert_allclose(summed(read_shapes(model), rows), model.decision_scores(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("example", [(0, 2), (1, 3), (2, 5)])
def test_every_rule_is_in_one_shape_and_a_curve_is_linear_between_its_corners(example):
    _, clf = wide_example(*example)
    shapes = read_shapes(clf.model_)
    assert sorted(rule for shape in shapes.all for rule in shape.rules) == list(range(clf.n_rules_))
    assert [shape.importance for shape in shapes.all] == sorted((s.importance for s in shapes.all), reverse=True)
    assert any(curve.is_categorical for curve in shapes.curves)
    for curve in shapes.curves:
        assert shapes.curve(curve.feature) is curve
        np.testing.assert_array_equal(curve.at(curve.values), curve.evidence)
        np.testing.assert_array_equal(curve.at(np.array([np.nan]))[0], curve.missing)
        if not curve.is_categorical:
            assert (np.diff(curve.values) > 0).all()
            ends = curve.at(np.array([curve.values[0] - 1, curve.values[-1] + 1]))
            np.testing.assert_array_equal(ends, curve.evidence[[0, -1]])
        np.testing.assert_allclose(curve.evidence.sum(axis=1), 0, atol=1e-9)


def test_means_are_those_of_the_training_rows_and_importance_those_of_the_kept_rows():
    table, clf = wide_example(1, 3)
    shapes, rows = read_shapes(clf.model_), clf._rows(table.frame)
    kept = kept_rows(clf.model_)
    assert 0 < len(kept) <= len(rows)
    for shape in shapes.all:
        own = shape.at(*(rows[:, feature] for feature in shape.features))
        np.testing.assert_allclose(own.mean(axis=0), shape.mean, atol=1e-9)
        seen = shape.at(*(kept[:, feature] for feature in shape.features)) - shape.mean
        assert shape.importance == pytest.approx((seen.max(axis=1) - seen.min(axis=1)).mean())
    np.testing.assert_allclose(shapes.base, clf.model_.decision_scores(rows).mean(axis=0), atol=1e-9)


def test_a_model_that_keeps_no_rows_bounds_the_importance_by_mean_firings():
    _, clf = wide_example(1, 3)
    model = clf.model_
    own = model.tree.profile
    bare = Profile(own.mean, own.variance, own.exemplar[:, :0], own.exemplar_row[:0], own.known_weight)
    with_rows, without = read_shapes(model), read_shapes(replace(model, tree=replace(model.tree, profile=bare)))
    assert not len(kept_rows(replace(model, tree=replace(model.tree, profile=bare))))
    bound = {shape.rules: shape.importance for shape in without.all}
    for shape in with_rows.all:  # the kept rows are a sample: the bound may be missed by its chance
        assert 0 < shape.importance <= 1.3 * bound[shape.rules]


def test_a_grid_has_the_values_of_its_combinations():
    _, clf = wide_example(0, 2)
    for interaction in read_shapes(clf.model_).interactions:
        assert len(interaction.features) in (2, 3)
        grid = interaction.grid()
        assert grid.shape == (*(len(own) for own in interaction.corners), 2)
        last = [own[-1:] for own in interaction.corners]
        np.testing.assert_array_equal(grid[(-1,) * len(last)], interaction.at(*last)[0])


def test_a_rule_about_a_missing_value_belongs_to_its_feature():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    lost = rng.random(400) < 0.4
    X.loc[lost, "a"] = np.nan
    y = np.where(lost, "gone", "here")
    clf = FERLClassifier(missing_conditions=True, random_state=0).fit(X, y)
    curve = read_shapes(clf.model_).curve(0)
    assert curve is not None
    assert curve.missing[0] > curve.at(np.zeros(1))[0, 0] + 2


def test_a_crisp_side_falls_between_neighbouring_numbers():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_conditions=1, max_rules=6, random_state=0).fit(X, y)
    tree = clf.tree_
    trapezoid = tree.trapezoid.copy()
    trapezoid[1:] = np.where(np.isfinite(trapezoid[1:]), 3.0, trapezoid[1:])
    model = replace(clf.model_, tree=replace(tree, trapezoid=trapezoid)).with_gates_open
    near = np.array([2.0, np.nextafter(3.0, -1), 3.0, np.nextafter(3.0, 9), 4.0])
    rows = np.column_stack([near] * 4)
    np.testing.assert_allclose(summed(read_shapes(model), rows), model.decision_scores(rows), atol=1e-12)


def test_rules_are_numbered_in_the_order_of_their_weights():
    _, clf = wide_example(0, 2)
    rules = statements(clf.model_)
    assert [rule.number for rule in rules] == list(range(1, clf.n_rules_ + 1))
    assert [rule.node for rule in rules] == np.flatnonzero(clf.model_.is_source).tolist()
    np.testing.assert_array_equal([rule.adds for rule in rules], clf.evidence_weights_)
