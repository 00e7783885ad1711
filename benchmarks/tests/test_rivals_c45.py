"""C4.5, against trees and limits in print, cases done by hand, and brute force."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ferl_bench.method import get_method
from ferl_bench.methods.c45 import C45Tree
from ferl_bench.pessimistic import Node, Question, prune, upper_errors

# Quinlan's golf: outlook (overcast, rain, sunny), temperature, humidity, windy; whether they played.
GOLF = np.array(
    [
        (2, 85, 85, 0, 0),
        (2, 80, 90, 1, 0),
        (0, 83, 78, 0, 1),
        (1, 70, 96, 0, 1),
        (1, 68, 80, 0, 1),
        (1, 65, 70, 1, 0),
        (0, 64, 65, 1, 1),
        (2, 72, 95, 0, 0),
        (2, 69, 70, 0, 1),
        (1, 75, 80, 0, 1),
        (2, 75, 70, 1, 1),
        (0, 72, 90, 1, 1),
        (0, 81, 75, 0, 1),
        (1, 71, 80, 1, 0),
    ],
    dtype=float,
)


def outline(node: Node) -> list[object]:
    """Class counts of a leaf; column, cut and outlines of the branches of any other node."""
    if node.question is None:
        return node.counts.astype(int).tolist()
    cut = [node.question.cut] if node.question.values is None else []
    return [node.question.column, *cut, *(outline(child) for child in node.children)]


def test_golf_is_the_tree_of_the_book() -> None:
    tree = C45Tree(categorical=(0, 3)).fit(GOLF[:, :4], GOLF[:, 4].astype(int))
    overcast, rain, sunny = [0, 4], [3, [0, 3], [2, 0]], [2, 75.0, [0, 2], [3, 0]]
    assert outline(tree.root_) == [0, overcast, rain, sunny]
    np.testing.assert_array_equal(tree.predict(GOLF[:, :4]), GOLF[:, 4])


def test_iris_is_the_tree_everybody_knows() -> None:
    """Petal width 0.6 and 1.7, petal length 4.9, petal width 1.5; the thresholds are values of the data."""
    X, y = load_iris(return_X_y=True)
    doubtful = [2, 4.9, [0, 47, 1], [3, 1.5, [0, 0, 3], [0, 2, 1]]]
    assert outline(C45Tree().fit(X, y).root_) == [3, 0.6, [50, 0, 0], [3, 1.7, doubtful, [0, 1, 45]]]


@pytest.mark.parametrize(("n", "limit"), [(6, 0.206), (9, 0.143), (1, 0.750)])
def test_the_upper_limits_are_those_of_the_book(n: int, limit: float) -> None:
    assert upper_errors(np.array([n, 0.0]), 0.25) / n == pytest.approx(limit, abs=5e-4)


def test_the_upper_limit_leaves_its_tail() -> None:
    """At the limit, as many errors or fewer have just the probability that was asked for."""
    rate = upper_errors(np.array([14.0, 1.0, 1.0]), 0.1) / 16
    assert (1 - rate) ** 16 + 16 * rate * (1 - rate) ** 15 + 120 * rate**2 * (1 - rate) ** 14 == pytest.approx(0.1)
    assert upper_errors(np.zeros(2), 0.25) == 0


def split(X: np.ndarray, members: np.ndarray, question: Question, *children: Node) -> Node:
    """A node whose children are given, or leaves of the rows that reach them."""
    branch = question.branches(X)
    leaves = [Node(members[branch == number].sum(axis=0)) for number in range(question.n_branches)]
    return Node(members.sum(axis=0), question, list(children) or leaves)


def test_the_book_replaces_three_pure_leaves_by_one_that_errs() -> None:
    """6, 9 and 1 rows: 6 * 0.206 + 9 * 0.143 + 1 * 0.750 errors expected, against 2.5 of one leaf of 16 rows."""
    X = np.repeat([0.0, 1.0, 2.0], [6, 9, 1])[:, None]
    members = np.eye(2)[np.repeat([0, 0, 1], [6, 9, 1])]
    node = split(X, members, Question(0, values=np.array([0.0, 1.0, 2.0])))
    assert sum(upper_errors(child.counts, 0.25) for child in node.children) == pytest.approx(3.273, abs=1e-3)
    assert outline(prune(node, X, members, np.arange(16), 0.25)) == [15, 1]


def test_a_branch_that_knows_all_moves_up() -> None:
    """Column 1 is the class. The first split on column 0 only makes leaves smaller."""
    X = np.array([(i >= 10, i % 2) for i in range(13)], dtype=float)
    members = np.eye(2)[X[:, 1].astype(int)]
    rows = np.arange(13)
    knows, small = (split(X[part], members[part], Question(1, 0.0)) for part in (rows < 10, rows >= 10))
    node = split(X, members, Question(0, 0.0), knows, small)
    assert outline(prune(node, X, members, rows, 0.25)) == [1, 0.0, [7, 0], [0, 6]]


def entropy(labels: np.ndarray) -> float:
    share = np.bincount(labels) / len(labels)
    return -sum(p * log2(p) for p in share if p)


@pytest.mark.parametrize("seed", range(3))
def test_the_split_is_that_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(1)
    y = (X[:, seed] + 0.6 * rng.normal(size=60) > 0.2).astype(int)
    result = []
    for column, values in enumerate(X.T):
        cuts = np.unique(values)[:-1]
        gains = {}
        for cut in cuts:
            left = values <= cut
            if min(left.sum(), (~left).sum()) >= 3:  # a tenth of 60 / 2 rows
                gains[cut] = entropy(y) - left.mean() * entropy(y[left]) - (~left).mean() * entropy(y[~left])
        best = max(gains, key=lambda cut: gains[cut])
        gain = gains[best] - log2(len(cuts)) / 60
        result.append((gain, gain / entropy((values <= best).astype(int)), column, best))
    useful = [one for one in result if one[0] > 0]
    average = np.mean([one[0] for one in useful])
    _, _, column, cut = max((one for one in useful if one[0] >= average), key=lambda one: one[1])
    root = C45Tree(confidence=1).fit(X, y).root_
    assert root.question == Question(column, cut)


def test_a_cut_must_pay_for_being_named() -> None:
    """The gain is 0.097 bits for each of 16 rows. Of two values there is one cut; naming one of 15 costs 0.244."""
    y = np.array([1, 0, 1, 1] + [0, 0, 1] * 4)
    two, sixteen = np.repeat([0.0, 1.0], [4, 12])[:, None], np.arange(16.0)[:, None]
    assert outline(C45Tree(confidence=1).fit(two, y).root_) == [0, 0.0, [1, 3], [8, 4]]
    assert outline(C45Tree(confidence=1).fit(sixteen, y).root_) == [9, 7]


def test_a_value_without_rows_answers_as_the_node_above() -> None:
    """Below x0 = 0 the middle category never occurs; no row at all has category 7."""
    x0 = np.repeat([0.0, 1.0], 60)
    x1 = np.where(x0 == 0, np.tile([0.0, 2.0], 60), np.tile([0.0, 1.0, 2.0], 40))
    y = np.where(x0 == 0, np.where(x1 == 0, 3, 5), 9)
    tree = C45Tree(categorical=(0, 1)).fit(np.column_stack([x0, x1]), y)
    answers = tree.predict_proba(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 7.0], [7.0, 0.0]]))
    np.testing.assert_allclose(answers, [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    assert tree.classes_.tolist() == [3, 5, 9]


def test_less_confidence_prunes_more() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=600) > 0).astype(int)
    leaves = [C45Tree(confidence=confidence).fit(X, y).root_.n_leaves for confidence in (1, 0.25, 0.001)]
    assert leaves[0] > leaves[1] > leaves[2] >= 1


def test_missing_values_are_refused_with_their_number() -> None:
    with pytest.raises(ValueError, match="X has 2 missing values; C45Tree takes complete rows, impute them first"):
        C45Tree().fit(np.array([[np.nan], [1.0], [np.nan]]), np.array([0, 1, 1]))


def test_the_row_of_the_benchmark() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 2, 5], 60)
    X = rng.normal(size=(180, 4)) * 0.7 + np.eye(6)[y][:, [0, 2, 5, 1]] * 3
    method = get_method("C4.5")
    fitted = method.fit(X[::2], y[::2], 0)
    assert np.mean(fitted.predict(X[1::2]) == y[1::2]) > 0.85
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert method.size is not None
    assert 3 <= method.size(fitted) <= 12
