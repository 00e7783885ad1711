"""The naive credal classifier and credal trees, against cases done by hand and against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ferl_bench.discretise import Discretiser
from ferl_bench.method import get_method
from ferl_bench.methods.cdt import CredalTree, Node, Split, largest_entropy
from ferl_bench.methods.ncc import NaiveCredalClassifier

# ---------------------------------------------------------------------------------------------------------------------
# Discretisation
# ---------------------------------------------------------------------------------------------------------------------


def test_only_features_with_a_cut_are_kept_and_a_value_on_a_cut_belongs_below() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.arange(40.0), np.zeros(40)])
    discretiser = Discretiser.learn(X, np.repeat([3, 7], 20))
    assert discretiser.columns == (1,)
    assert discretiser.cuts[0].tolist() == [19.5]
    new = np.array([[0, -5, 0], [0, 19.5, 0], [0, 19.6, 0], [0, 99, 0]], dtype=float)
    assert discretiser.codes(new)[:, 0].tolist() == [0, 0, 1, 1]


# ---------------------------------------------------------------------------------------------------------------------
# Naive credal classifier
# ---------------------------------------------------------------------------------------------------------------------


def counted(X: np.ndarray, y: np.ndarray, s: float) -> NaiveCredalClassifier:
    """A classifier whose features have the values 0, 1, ... as they are, whether or not a cut pays."""
    classifier = NaiveCredalClassifier(s)
    classifier.classes_, label = np.unique(y, return_inverse=True)
    cuts = tuple(np.arange(column.max()) + 0.5 for column in X.T)
    classifier.discretiser_ = Discretiser(tuple(range(X.shape[1])), cuts)
    classifier.class_counts_ = np.bincount(label).astype(float)
    classifier.counts_ = tuple(
        np.array([[np.sum((column == a) & (label == c)) for c in range(label.max() + 1)] for a in range(len(cut) + 1)])
        * 1.0
        for column, cut in zip(X.T, cuts, strict=True)
    )
    return classifier


def test_with_one_feature_a_class_dominates_when_it_leads_by_more_than_the_prior() -> None:
    """In the left half 9 rows of class 0 and 1 of class 1; right the other way round."""
    X = np.repeat([0.0, 1.0], 10)[:, None]
    y = np.array([0] * 9 + [1] + [1] * 9 + [0])
    for s, expected in ((7.5, [[True, False], [False, True]]), (8.5, [[True, True], [True, True]])):
        sets = NaiveCredalClassifier(s).fit(X, y).predict_set(np.array([[0.0], [1.0]]))
        assert sets.tolist() == expected


def test_the_probability_is_that_of_the_uniform_prior() -> None:
    X = np.repeat([0.0, 1.0], 10)[:, None]
    y = np.array([0] * 9 + [1] + [1] * 9 + [0])
    classifier = NaiveCredalClassifier(s=2.0).fit(X, y)
    assert classifier.n_parameters_ == 2
    np.testing.assert_allclose(classifier.predict_proba(np.array([[0.0]])), [[9.5 / 11, 1.5 / 11]])
    assert classifier.predict(np.array([[0.0], [1.0]])).tolist() == [0, 1]


def brute_force(classifier: NaiveCredalClassifier, row: np.ndarray, better: int, other: int) -> float:
    """Least log-odds over a grid of all the priors there are, the third class among them."""
    s, k = classifier.s, len(row)
    seen = [counts[int(value)] for counts, value in zip(classifier.counts_, row, strict=True)]
    shares = np.linspace(0, 1, 101).clip(1e-9)  # a prior is positive everywhere
    t_better, t_other = (t.ravel() for t in np.meshgrid(shares, shares))
    inside = t_better + t_other <= 1 + 2e-9
    t_better, t_other = t_better[inside], t_other[inside]
    least = np.inf
    ratio = np.log(classifier.class_counts_[other] + s * t_other)
    ratio = (k - 1) * (ratio - np.log(classifier.class_counts_[better] + s * t_better))
    # How much of a class's prior falls on the row's value, feature by feature.
    for part in product((1e-9, 0.5, 1.0), repeat=2 * k):
        odds = ratio.copy()
        for i in range(k):
            odds += np.log(seen[i][better] + s * t_better * part[i])
            odds -= np.log(seen[i][other] + s * t_other * part[k + i])
        least = min(least, odds.min())
    return least


@pytest.mark.parametrize("seed", range(4))
def test_dominance_is_that_of_brute_force_over_priors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], rng.integers(3, size=12)])
    X = np.column_stack([(y + rng.integers(2, size=15)) % 3, rng.integers(2, size=15)]).astype(float)
    classifier = counted(X, y, s=[0.5, 1.0, 2.0, 2.0][seed])
    rows = np.array(list(product(range(3), range(2))), dtype=float)
    seen = np.array(classifier._seen(rows)).transpose(1, 0, 2)
    dominated = np.zeros((len(rows), 3), dtype=bool)
    for better, other in product(range(3), repeat=2):
        if better != other:
            exact = classifier._least_log_odds(seen, better, other)
            for number, row in enumerate(rows):
                on_grid = brute_force(classifier, row, better, other)
                assert exact[number] <= on_grid + 1e-6
                if np.isfinite(exact[number]):
                    assert exact[number] == pytest.approx(on_grid, abs=2e-3)
                dominated[number, other] |= on_grid > 1e-6
    np.testing.assert_array_equal(classifier.predict_set(rows), ~dominated)


def test_sets_grow_with_the_prior_and_hold_the_label() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 3)) + y[:, None]
    sets = [NaiveCredalClassifier(s).fit(X, y).predict_set(X) for s in (0.01, 2.0, 20.0)]
    assert (sets[0] <= sets[1]).all()
    assert (sets[1] <= sets[2]).all()
    assert sets[0].sum() < sets[1].sum() < sets[2].sum()
    classifier = NaiveCredalClassifier(2.0).fit(X, y)
    assert classifier.predict_set(X)[np.arange(150), classifier.predict(X)].all()


def test_without_a_telling_feature_the_class_frequencies_decide() -> None:
    X, y = np.zeros((20, 2)), np.array([0] * 12 + [1] * 8)
    classifier = NaiveCredalClassifier(s=2.0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X[:1]), [[13 / 22, 9 / 22]])
    assert classifier.predict_set(X[:1]).tolist() == [[True, False]]  # 12 > 8 + 2
    assert NaiveCredalClassifier(s=5.0).fit(X, y).predict_set(X[:1]).tolist() == [[True, True]]


# ---------------------------------------------------------------------------------------------------------------------
# Credal trees
# ---------------------------------------------------------------------------------------------------------------------


def entropy(probability: np.ndarray) -> np.ndarray:
    return -(probability * np.log2(np.maximum(probability, 1e-300))).sum(axis=-1)


@pytest.mark.parametrize("counts", [[4, 0, 0], [3, 2, 2], [0, 0, 0], [5, 1, 0], [2, 2, 9]])
@pytest.mark.parametrize("s", [0.5, 1.0, 3.0])
def test_the_largest_entropy_is_that_of_brute_force_over_priors(counts: list[int], s: float) -> None:
    shares = np.linspace(0, 1, 201)
    prior = np.array([(a, b, 1 - a - b) for a in shares for b in shares if a + b <= 1 + 1e-12])
    allowed = (np.array(counts) + s * prior) / (sum(counts) + s)
    largest = float(largest_entropy(np.array(counts, dtype=float), s))
    assert largest >= entropy(allowed.clip(0)).max() - 1e-12
    assert largest == pytest.approx(entropy(allowed.clip(0)).max(), abs=1e-3)


@pytest.mark.parametrize(("n", "n_leaves"), [(1, 1), (4, 2)])
def test_a_split_must_inform_more_than_the_prior_can_take_back(n: int, n_leaves: int) -> None:
    """Two pure halves of one row: each could as well be a coin flip. Of four rows: 1 bit against 0.72 in each."""
    X, y = np.repeat([0.0, 1.0], n)[:, None], np.repeat([0, 1], n)
    tree = CredalTree(s=1.0, binary=True).fit(X, y)
    assert tree.root_.n_leaves == n_leaves
    assert tree.predict_set(np.array([[0.0]])).tolist() == [[True, n == 1]]


def test_a_class_is_dominated_by_one_with_more_than_s_rows_more() -> None:
    tree = CredalTree(s=1.0)
    tree.classes_ = np.array([0, 1, 2])
    for counts, expected in (
        ([3, 1, 0], [True, False, False]),
        ([2, 1, 0], [True, True, False]),
        ([1, 0, 0], [True, True, True]),
        ([2, 2, 1], [True, True, True]),
    ):
        tree.root_ = Node(np.array(counts, dtype=float))
        assert tree.predict_set(np.zeros((1, 1))).tolist() == [expected]
    np.testing.assert_allclose(tree.predict_proba(np.zeros((1, 1))), [[7 / 18, 7 / 18, 4 / 18]])


def test_the_binary_cut_is_the_best_of_all() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 1)).round(1)
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0.2).astype(int)
    best = (-np.inf, np.nan)
    for cut in np.unique(X):
        left = X[:, 0] <= cut
        if 2 <= left.sum() <= 38:
            sides = [np.bincount(y[side], minlength=2).astype(float) for side in (left, ~left)]
            n = np.sort([side.sum() for side in sides])
            small = min(n[0] + 1, 20.5) / 41  # the most even shares that one prior row allows
            order = np.argsort([side.sum() for side in sides], kind="stable")
            inner = [float(largest_entropy(sides[i], 1.0)) for i in order]
            gain = float(largest_entropy(sum(sides), 1.0)) - small * inner[0] - (1 - small) * inner[1]
            best = max(best, (gain, cut))
    split = CredalTree(s=1.0, binary=True).fit(X, y).root_.split
    assert split is not None
    above = X[best[1] < X].min()
    assert split.cuts.tolist() == [pytest.approx((best[1] + above) / 2)]


def test_a_branch_without_rows_answers_as_its_parent() -> None:
    """Below x0 = 0 the second feature never takes its middle value."""
    x0 = np.repeat([-1.0, 1.0], 150)
    x1 = np.where(x0 < 0, np.tile([0.0, 2.0], 150), np.tile([0.0, 1.0, 2.0], 100))
    y = np.where(x0 < 0, np.where(x1 == 0, 0, 1), 2)
    tree = CredalTree().fit(np.column_stack([x0, x1]), y)
    below = tree.root_.children[0]
    assert isinstance(below.split, Split)
    assert below.split.cuts.tolist() == [0.5, 1.5]
    assert tree._counts(np.array([[-1.0, 1.0]])).tolist() == [[75.0, 75.0, 0.0]]
    assert tree.predict_set(np.array([[-1.0, 1.0]])).tolist() == [[True, True, False]]


@pytest.mark.parametrize("name", ["NCC", "CDT", "CDT (C4.5)"])
def test_rivals_learn_what_can_be_learned(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 2, 5], 60)
    X = rng.normal(size=(180, 4)) * 0.7 + np.eye(6)[y][:, [0, 2, 5, 1]] * 3
    method = get_method(name)
    fitted = method.fit(X[::2], y[::2], 0)
    assert np.mean(fitted.predict(X[1::2]) == y[1::2]) > 0.85
    assert method.prediction_set is not None
    sets = method.prediction_set(fitted, X[1::2])
    assert sets.shape == (90, 3)
    assert sets.any(axis=1).all()
    assert fitted.classes_.tolist() == [0, 2, 5]
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert method.size is not None
    assert method.size(fitted) >= 3
