"""The picture of a tree: every band, word, category, branch and class share is where the tree has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris

from ferl import FERLClassifier, FERLTreeClassifier, plot_tree
from ferl.plot.tree import lay_out
from ferl.words import FuzzySet, LinguisticVariable
from table_examples import mixed_table
from tree_examples import tree_classifier

colors = pytest.importorskip("matplotlib.colors", reason='plots need matplotlib: pip install "ferl[plot]"')
figure_module = pytest.importorskip("matplotlib.figure")

IRIS = load_iris()
LABELS = IRIS.target_names[IRIS.target]
COLOURS = ["#0072B2", "#E69F00", "#009E73"]  # of the first three classes: Okabe and Ito


@pytest.fixture
def ax() -> Iterator[Any]:
    figure = figure_module.Figure(figsize=(14, 8), layout="constrained")
    yield figure.subplots()
    figure.canvas.draw()


def iris(variant: str = "medium", **options: Any) -> FERLClassifier:
    return tree_classifier(variant, random_state=0, **options).fit(IRIS.data, LABELS)


def mixed(variant: str = "medium") -> FERLClassifier:
    table = mixed_table(np.random.default_rng(0), n=300)
    return tree_classifier(variant, max_rules=12, random_state=0).fit(table.frame, table.y)


def drawn(ax: Any) -> dict[str, Any]:
    """Everything with an id."""
    return {own.get_gid(): own for own in (*ax.patches, *ax.lines, *ax.texts) if own.get_gid()}


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_bands_are_drawn_where_they_lie_in_the_range_of_their_split(ax: Any) -> None:
    clf = iris()
    plot_tree(clf, ax=ax)
    tree, found = clf.tree_, drawn(ax)
    for node in np.flatnonzero(~tree.is_leaf):
        low, high = tree.support[node + 1]
        band = np.clip(tree.trapezoid[node + 1, 2:], low, high)
        ramp = found[f"side-{node}"].get_xdata()
        left, right = ramp[0], ramp[-1]  # the ends of the range
        rectangle = found[f"band-{node}"]
        ends = np.array([rectangle.get_x(), rectangle.get_x() + rectangle.get_width()])
        np.testing.assert_allclose((ends - left) / (right - left), (band - low) / (high - low), atol=1e-9)
        values = low + (high - low) * (np.array(ramp) - left) / (right - left)
        theta_low, theta_high = tree.trapezoid[node + 1, 2:]
        height = (rectangle.get_y() + rectangle.get_height() - found[f"side-{node}"].get_ydata()) / 0.2
        np.testing.assert_allclose(height, np.clip((theta_high - values) / (theta_high - theta_low), 0, 1), atol=1e-9)
    assert sum(gid.startswith("band-") for gid in found) == (~tree.is_leaf).sum()


@pytest.mark.parametrize("make", [iris, mixed])
@pytest.mark.parametrize("variant", ["medium", "compact"])
def test_every_end_shows_its_class_shares_in_the_colours_of_the_classes(ax: Any, make: Any, variant: str) -> None:
    clf = make(variant)
    plot_tree(clf, ax=ax)
    tree, found = clf.tree_, drawn(ax)
    for node in range(1, tree.n_nodes) if tree.word else tree.leaves:
        parts = [found[f"share-{node}-{c}"] for c in range(tree.n_classes)]
        widths = np.array([part.get_width() for part in parts])
        np.testing.assert_allclose(widths / widths.sum(), tree.consequent[node], atol=1e-9)
        for part, colour in zip(parts, COLOURS[: tree.n_classes], strict=True):
            assert colors.to_rgb(part.get_facecolor()) == pytest.approx(colors.to_rgb(colour))
        assert found[f"label-{node}"].get_text() == str(clf.classes_[tree.consequent[node].argmax()])


def test_bars_of_categories_are_their_memberships(ax: Any) -> None:
    clf = mixed()
    plot_tree(clf, ax=ax)
    tree, found = clf.tree_, drawn(ax)
    assert tree.categories is not None
    n_checked = 0
    for node in np.flatnonzero(~tree.is_leaf):
        for code, membership in enumerate(np.nan_to_num(tree.categories.of(int(node) + 1))):
            full = found[f"track-{node}-{code}"].get_height()
            assert found[f"category-{node}-{code}"].get_height() / full == pytest.approx(membership)
            n_checked += 1
    assert n_checked > 4


def test_trapezoids_of_words_are_their_memberships(ax: Any) -> None:
    clf = iris("compact")
    plot_tree(clf, ax=ax)
    tree, found = clf.tree_, drawn(ax)
    for node in range(1, tree.n_nodes):
        x, y = np.array(found[f"word-{node}"].get_xdata()), np.array(found[f"word-{node}"].get_ydata())
        low, high = tree.support[node]
        values = low + (high - low) * (x - x[0]) / (x[-1] - x[0])
        a, b, c, d = tree.trapezoid[node]
        rise = np.ones(len(x)) if np.isinf(a) else np.clip((values - a) / (b - a), 0, 1)
        fall = np.ones(len(x)) if np.isinf(d) else np.clip((d - values) / (d - c), 0, 1)
        base = found[f"word-{node}-area"].get_xy()[0, 1]
        np.testing.assert_allclose((base - y) / 0.2, np.minimum(rise, fall), atol=1e-9)
    for feature, word in {(int(tree.feature[node]), tree.word[node]) for node in range(1, tree.n_nodes)}:
        assert any(text.endswith(f"x{feature} is {word}") for text in texts(ax))


def test_upright_sides_of_words_are_drawn_upright(ax: Any) -> None:
    sets = [FuzzySet.falling("short", 2.45), FuzzySet.crisp("middling", 2.45, 4.9), FuzzySet.rising("long", 4.9)]
    words = [LinguisticVariable("x2", sets)]
    clf = FERLTreeClassifier("compact", words=words, random_state=0).fit(IRIS.data, LABELS)
    plot_tree(clf, ax=ax)
    tree, found = clf.tree_, drawn(ax)
    node = next(n for n in range(1, tree.n_nodes) if tree.word[n] == "middling")
    x, y = found[f"word-{node}"].get_xdata(), found[f"word-{node}"].get_ydata()
    low, high = tree.support[node]
    values = low + (high - low) * (np.array(x) - x[0]) / (x[-1] - x[0])
    np.testing.assert_allclose(values, [low, 2.45, 2.45, 4.9, 4.9, high])
    np.testing.assert_allclose((y[0] - np.array(y)) / 0.2, [0, 0, 1, 1, 0, 0])


def test_branches_lead_from_a_split_to_both_sides_and_are_as_thick_as_their_weight(ax: Any) -> None:
    clf = iris()
    plot_tree(clf, ax=ax)
    tree, found, layout = clf.tree_, drawn(ax), lay_out(clf.tree_)
    branches = [found[f"branch-{node}"] for node in range(1, tree.n_nodes)]
    weight = tree.weight[1:]
    order = np.argsort(weight)
    assert (np.diff([branches[k].get_linewidth() for k in order]) >= 0).all()
    for node in range(1, tree.n_nodes):
        y = found[f"branch-{node}"].get_ydata()
        parent = int(tree.parent[node])
        assert y[0] < y[-1] if layout.row[parent] < layout.row[node] else y[0] > y[-1]
        assert found[f"sign-{node}"].get_text() == ("<" if node == parent + 1 else ">")


@pytest.mark.parametrize("limits", [{"max_rules": 5}, {"max_depth": 2}, {"max_rules": 1}])
def test_folded_subtrees_say_how_many_rules_they_hold(ax: Any, limits: dict[str, int]) -> None:
    clf = iris()
    plot_tree(clf, **limits, ax=ax)
    hidden = [int(text.split()[1]) for text in texts(ax) if text.startswith("+ ")]
    n_ends = sum(gid.startswith("label-") for gid in drawn(ax))
    assert n_ends - len(hidden) + sum(hidden) == clf.n_rules_
    assert hidden


def test_fifty_rules_do_not_run_into_each_other(ax: Any) -> None:
    """At the default size: panels of one column and the branches that pass them keep their distance."""
    digits = load_digits()
    clf = FERLTreeClassifier("medium", random_state=0).fit(digits.data, digits.target)
    tree, layout = clf.tree_, lay_out(clf.tree_)
    assert len(layout.ends) >= 40
    for node in layout.folded.children:
        for other in layout.row:
            if other == node:
                continue
            same_column = tree.depth[other] == tree.depth[node] and other in layout.folded.children
            passes = tree.depth[other] <= tree.depth[node] and other not in layout.folded.children
            if same_column or passes:
                assert abs(layout.row[node] - layout.row[other]) >= 1.5
    plot_tree(clf, ax=ax)
    assert len([gid for gid in drawn(ax) if gid.startswith("label-")]) == clf.n_rules_


def test_the_figure_grows_with_the_tree_and_letters_shrink_on_small_axes() -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    small, large = plot_tree(iris(max_rules=3)), plot_tree(iris())
    assert large.figure.get_size_inches()[1] > small.figure.get_size_inches()[1]
    tiny = plot_tree(iris(), ax=figure_module.Figure(figsize=(3, 2)).subplots())
    assert tiny.texts[0].get_fontsize() < large.texts[0].get_fontsize()
    for own in (small, large):
        pyplot.close(own.figure)


def test_one_rule_is_a_tree(ax: Any) -> None:
    clf = FERLTreeClassifier("medium", random_state=0).fit(IRIS.data, np.zeros(150))
    plot_tree(clf, ax=ax)
    assert drawn(ax)["label-0"].get_text() == "0.0"


def test_names_are_printed_as_they_are(ax: Any) -> None:
    frame = pd.DataFrame(IRIS.data, columns=["$a$", "b_{1}", "c\nd", "\\frac"])
    clf = FERLTreeClassifier("medium", random_state=0).fit(frame, LABELS)
    plot_tree(clf, class_names=["$x", "y$", "z^2"], ax=ax)
    assert "c d" in texts(ax)
    assert r"\$x" in texts(ax)


def test_wrong_limits_are_refused() -> None:
    clf = iris()
    with pytest.raises(ValueError, match="max_depth is -1; it must be at least 0, or None"):
        plot_tree(clf, max_depth=-1)
    with pytest.raises(ValueError, match="max_rules is 0; it must be at least 1, or None"):
        plot_tree(clf, max_rules=0)
    with pytest.raises(ValueError, match="decimals is -2"):
        plot_tree(clf, decimals=-2)
