"""Pictures of novelty, what pictures say that they leave out, and texts of a tree that do not overlap."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, plot_tree

pytest.importorskip("matplotlib", reason='plots need matplotlib: pip install "ferl[plot]"')

from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ferl.plot import plot_decision_regions, plot_novelty, plot_novelty_of_rows


def axes(size=(6.4, 4.8)):
    return Figure(figsize=size).subplots()


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_bars_are_the_parts_of_the_novelty(variant):
    X, y = load_wine(return_X_y=True)
    clf = classifier(variant, random_state=0).fit(X, y)
    row = X[3] + X.std(axis=0)
    parts = np.sort(clf.novelty_attribution(row[None])[0])[::-1]
    ax = plot_novelty(clf, row, max_features=5, ax=axes())
    lengths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(lengths, [*parts[:4], parts[4:].sum()])
    assert ax.get_yticklabels()[-1].get_text().endswith(" other features")
    assert ax.get_title(loc="left").endswith("training rows")
    assert ax.get_xlabel() == f"novelty, {clf.novelty(row[None])[0]:.3g} in all"
    assert len(plot_novelty(clf, row, max_features=50, ax=axes()).patches) == (parts > 0).sum()
    nothing = plot_novelty(FERLClassifier(n_exemplars=0, random_state=0).fit(X, y), row, ax=axes())
    assert nothing.get_title(loc="left") == "novelty by feature"


def test_curves_of_rows_stand_beside_those_of_the_training_rows():
    X, y = load_wine(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    ax = plot_novelty_of_rows(clf, X[1::2], label="others", ax=axes())
    plot_novelty_of_rows(clf, X[1::2] + 2 * X.std(axis=0), label="moved", ax=ax)
    lines = [line for line in ax.lines if not str(line.get_gid()).startswith("level-")]
    assert [line.get_gid() for line in lines].count("training") == 1
    novelty = np.sort(clf.novelty(X[1::2]))
    np.testing.assert_array_equal(lines[1].get_xdata(), novelty)
    np.testing.assert_allclose(lines[1].get_ydata(), np.arange(1, len(novelty) + 1) / len(novelty))
    _, told, moved = (text.get_text() for text in ax.get_legend().get_texts())
    beyond = (clf.novelty_rank(X[1::2]) >= 0.95).mean()
    assert told == f"others: {100 * beyond:.0f} % beyond 95 %"
    assert moved == "moved: 100 % beyond 95 %"


def test_bad_calls_are_refused():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="max_features is 0"):
        plot_novelty(clf, X[0], max_features=0)
    with pytest.raises(ValueError, match="has no novelty of training rows to compare with"):
        plot_novelty_of_rows(FERLClassifier(n_exemplars=0, random_state=0).fit(X, y), X)
    with pytest.raises(TypeError, match="plot_novelty got a str"):
        plot_novelty("clf", X[0])
    with pytest.raises(ValueError, match="min_weight is 2"):
        plot_tree(FERLTreeClassifier("medium", random_state=0).fit(X, y), min_weight=2, ax=axes())


def test_regions_say_what_other_features_are_held_at():
    data = load_iris(as_frame=True)
    table = data.data.assign(garden=np.where(data.target == 1, "south", "north"))
    clf = FERLClassifier(random_state=0).fit(table, data.target)
    ax = plot_decision_regions(clf, table, data.target, features=(0, 1), n_steps=10, ax=axes())
    title = ax.get_title(loc="left")
    assert title.startswith("held: ")
    if clf.feature_importances_[2] > 0:
        assert f"petal length (cm) = {np.median(table['petal length (cm)']):.6g}" in title
    if clf.feature_importances_[4] > 0:
        assert "garden = north" in title
    two = FERLClassifier(random_state=0).fit(data.data.iloc[:, 2:], data.target)
    ax = plot_decision_regions(two, data.data.iloc[:, 2:], n_steps=10, ax=axes())
    assert ax.get_title(loc="left") == ""


def overlapping(ax):
    """Pairs of texts that overlap."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    boxes = [(own.get_text(), own.get_window_extent(canvas.get_renderer())) for own in ax.texts if own.get_text()]
    return [
        (a, b)
        for k, (a, one) in enumerate(boxes)
        for b, other in boxes[:k]
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5
    ]


def test_texts_of_fifty_rules_never_overlap_and_light_subtrees_fold():
    X, y = load_digits(return_X_y=True)
    names = [f"pixel row {pixel // 8} column {pixel % 8}" for pixel in range(64)]
    clf = FERLTreeClassifier("medium", max_rules=50, random_state=0).fit(X, y)
    for options in ({}, {"min_weight": 0.05}, {"ax": axes((10, 6))}, {"ax": axes((6, 4))}):
        ax = plot_tree(clf, feature_names=names, **options)
        assert overlapping(ax) == []
        pyplot.close(ax.figure)
    tree, share = clf.tree_, 0.05
    ax = plot_tree(clf, min_weight=share, ax=axes((30, 30)))
    ends = [int(own.get_gid().removeprefix("label-")) for own in ax.texts if str(own.get_gid()).startswith("label-")]
    assert len(ends) < clf.n_rules_
    heavy = tree.weight[tree.parent[ends]] / tree.weight[0]
    assert (heavy >= share).all()
    folded = [end for end in ends if not tree.is_leaf[end]]
    assert folded
    assert (tree.weight[folded] / tree.weight[0] < share).all()
