"""plot_shapes: what is drawn is what the summed rules say."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from ferl import FERLClassifier, FERLTreeClassifier
from ferl._models.shapes import read_shapes
from ferl.plot import plot_decision_regions, plot_shapes
from table_examples import wide_example

figure_module = pytest.importorskip("matplotlib.figure")


def drawn(clf, **options):
    """The figure, rendered, so that what was drawn can be."""
    figure = plot_shapes(clf, figure=figure_module.Figure(figsize=(12, 8), layout="constrained"), **options)
    figure.canvas.draw()
    return figure


@pytest.mark.parametrize("example", [(0, 2), (1, 3)])
def test_there_is_a_panel_for_each_shape_the_most_important_first(example):
    _, clf = wide_example(*example)
    shapes = read_shapes(clf.model_).all
    figure = drawn(clf, max_features=100)
    found = [ax.get_gid() for ax in figure.axes]
    assert found == [f"shape-{'-'.join(map(str, shape.features))}" for shape in shapes]
    few = drawn(clf, max_features=3)
    assert [ax.get_gid() for ax in few.axes] == found[:3]
    assert f"the 3 most important of {len(shapes)}" in few.legends[0].get_title().get_text()


def test_a_curve_is_the_sum_of_rules_less_its_mean_with_its_corners_marked():
    _, clf = wide_example(0, 2)
    shapes = read_shapes(clf.model_)
    figure = drawn(clf, max_features=100)
    panels = {ax.get_gid(): ax for ax in figure.axes}
    for curve in (own for own in shapes.curves if not own.is_categorical):
        line, corners = panels[f"shape-{curve.feature}"].lines[:2]
        said = curve.at(np.asarray(line.get_xdata())) - curve.mean
        np.testing.assert_allclose(line.get_ydata(), said[:, 1] - said[:, 0])
        inside = (curve.values >= curve.seen[0]) & (curve.values <= curve.seen[1])
        np.testing.assert_array_equal(corners.get_xdata(), curve.values[inside])


def test_categories_are_bars_of_their_evidence():
    _, clf = wide_example(0, 2)
    curve = next(own for own in read_shapes(clf.model_).curves if own.is_categorical)
    figure = drawn(clf, features=[curve.feature], max_features=100)
    ax = next(ax for ax in figure.axes if ax.get_gid() == f"shape-{curve.feature}")
    heights = [bar.get_height() for bar in ax.patches][len(curve.values) :]
    said = curve.evidence - curve.mean
    np.testing.assert_allclose(heights, said[:, 1] - said[:, 0])
    assert [text.get_text() for text in ax.get_xticklabels()] == list(clf.categories_[curve.feature])


def test_only_shapes_of_the_wished_features_are_drawn():
    _, clf = wide_example(1, 3)
    name = clf.feature_names_in_[0]
    for wish in (0, name):
        figure = drawn(clf, features=[wish], max_features=100)
        assert figure.axes
        assert all("0" in ax.get_gid().split("-")[1:] for ax in figure.axes)


def test_ten_classes_with_many_names_stay_apart():
    X, y = load_digits(return_X_y=True)
    clf = FERLClassifier(max_rules=12, random_state=0).fit(X[:500], y[:500])
    figure = drawn(clf, X=X[:50])
    assert len(figure.legends[0].get_texts()) == 10
    curves = [ax for ax in figure.axes if ax.get_gid().count("-") == 1]
    assert curves
    assert all(0 < len(ax.texts) <= 3 for ax in curves)


def test_a_rule_that_asks_one_feature_twice_is_drawn():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=8, random_state=0).fit(X, y)
    tree = clf.tree_
    assert (tree.depth > 1).any()
    both = replace(tree, feature=np.where(tree.feature < 0, -1, 2).astype(np.int32))
    twice = FERLClassifier()._take(replace(clf.model_, tree=both))
    assert drawn(twice, max_features=20).axes


def test_bad_wishes_are_refused():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=1, max_conditions=1, random_state=0).fit(X, y)
    asked = int(clf.tree_.feature[1])
    with pytest.raises(ValueError, match=f"Choose among x{asked}"):
        plot_shapes(clf, features=[(asked + 1) % 4])
    with pytest.raises(ValueError, match="max_features is 0"):
        plot_shapes(clf, max_features=0)
    with pytest.raises(ValueError, match="There is no feature 'no'"):
        plot_shapes(clf, features=["no"])
    with pytest.raises(ValueError, match=r"plot_shapes is for .* Use ferl.plot_tree"):
        plot_shapes(FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y))
    nothing = FERLClassifier(random_state=0).fit(np.zeros((20, 2)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="no rules at all"):
        plot_shapes(nothing)


def test_regions_of_wide_rules_are_drawn():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X[:, 2:], y)
    ax = plot_decision_regions(clf, X[:, 2:], y, n_steps=20, ax=figure_module.Figure().subplots())
    assert ax.images[0].get_array().shape == (20, 20, 3)
