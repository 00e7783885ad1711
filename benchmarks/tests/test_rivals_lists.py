"""Rule lists: the optimal one of a sample against all lists, the sample's size, and the greedy one."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import permutations

import numpy as np
import pytest

from ferl_bench.method import get_method
from ferl_bench.methods.samrule import Questions, RuleList, SamRuLe, deviation, sample_size

needs_numba = pytest.mark.skipif(
    find_spec("numba") is None, reason="numba is not installed: pip install './benchmarks[numba]'"
)


def objective_of(answers: np.ndarray, is_positive: np.ndarray, order: tuple[int, ...], alpha: float) -> float:
    """Errors of a list whose rules answer with their majority, as a share, and its price."""
    remaining, n_errors = np.ones(len(answers), bool), 0
    for question in (*order, None):
        captured = remaining if question is None else remaining & answers[:, question]
        n_errors += min(np.sum(captured & is_positive), np.sum(captured & ~is_positive))
        remaining = remaining & ~captured
    return n_errors / len(answers) + alpha * len(order)


@needs_numba
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_the_list_is_the_best_of_all_lists(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.random((70, 6)) < rng.uniform(0.2, 0.6, 6)
    if seed:
        answers[30:60] = answers[:30]  # rows that all questions treat alike
    is_positive = (answers[:, 0] ^ (answers[:, 1] & answers[:, 2])) ^ (rng.random(70) < 0.15)
    best = min(
        objective_of(answers, is_positive, order, alpha)
        for length in range(4)
        for order in permutations(range(6), length)
    )
    result = RuleList.learn(answers, is_positive, max_length=3, alpha=alpha, max_nodes=10_000)
    assert result.is_proven
    assert result.objective == pytest.approx(best)
    assert objective_of(answers, is_positive, tuple(result.order), alpha) == pytest.approx(best)
    wrong = (result.predict(answers) > 0.5) != is_positive
    assert wrong.mean() + alpha * len(result.order) == pytest.approx(best)


@needs_numba
def test_a_search_that_was_cut_short_says_so_and_longer_ones_are_no_worse() -> None:
    rng = np.random.default_rng(0)
    answers = rng.random((400, 20)) < 0.4
    is_positive = (answers[:, :3].sum(axis=1) % 2 == 1) ^ (rng.random(400) < 0.1)
    lists = [RuleList.learn(answers, is_positive, alpha=1e-3, max_nodes=nodes) for nodes in (1, 20, 400)]
    assert not lists[0].is_proven
    assert min(is_positive.mean(), 1 - is_positive.mean()) >= lists[0].objective
    assert lists[0].objective >= lists[1].objective >= lists[2].objective


@needs_numba
def test_bits_are_counted_as_numpy_does() -> None:
    from ferl_bench import rule_list_search as search

    rng = np.random.default_rng(0)
    one, other = rng.random((2, 203)) < 0.5
    words, mask = search.pack_bits(np.array([one, other]))
    assert search.count_bits(words, words) == one.sum()
    assert search.count_bits(words, mask) == np.sum(one & other)
    assert search.hash_words(words) != search.hash_words(mask)


@needs_numba
def test_no_question_gives_the_commoner_class_and_too_many_rules_are_refused() -> None:
    empty = RuleList.learn(np.zeros((10, 0), bool), np.arange(10) < 3)
    assert empty.objective == pytest.approx(0.3)
    np.testing.assert_allclose(empty.predict(np.zeros((2, 0), bool)), 0.3)
    with pytest.raises(ValueError, match=r"max_length must be in the range \[1, 5\]\. Got 6 instead"):
        RuleList.learn(np.ones((4, 1), bool), np.ones(4, bool), max_length=6)


@pytest.mark.parametrize("n_questions", [1, 16, 100, 512])
@pytest.mark.parametrize(("epsilon", "theta"), [(1.0, 0.01), (0.5, 0.05), (1.0, 0.2)])
def test_the_sample_is_just_large_enough(n_questions: int, epsilon: float, theta: float) -> None:
    size = sample_size(n_questions, epsilon, theta)
    assert deviation(size, n_questions, theta=theta) <= epsilon * theta
    assert deviation(size - 1, n_questions, theta=theta) > epsilon * theta


def test_the_deviation_is_that_of_the_publication() -> None:
    """By hand, for 1000 rows and 10 questions: omega = 5 ln(20 e) + 2 = 21.9787, a = 0.00368888, b = 0.0256675."""
    assert deviation(1000, 10) == pytest.approx(0.0105198 + 0.0324561 + 0.0513351, abs=1e-6)


def test_questions_differ_and_none_is_the_same_for_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), np.full(200, 7.0), rng.integers(0, 3, 200)])
    X = np.column_stack([X, -X[:, 1]])
    questions = Questions.learn(X)
    answers = questions.answers(X)
    assert not answers.all(axis=0).any()
    assert answers.any(axis=0).all()
    assert len(np.unique(answers, axis=1).T) == answers.shape[1] == 8 + 2 + 4
    assert np.isin(questions.cut[questions.column == 0], X[:, 0]).all()


@needs_numba
@pytest.mark.parametrize("labels", [(0, 5), (0, 2, 5)])
def test_the_row_of_the_benchmark_learns_and_its_seed_decides_it(labels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(labels, 60)
    X = rng.normal(size=(len(y), 4)) * 0.7 + np.eye(6)[y][:, [0, 2, 5, 1]] * 3
    method = get_method("SamRuLe")
    assert method.size is not None
    assert method.measures is not None
    one, same = (method.fit(X[::2], y[::2], 3) for _ in range(2))
    probabilities = one.predict_proba(X[1::2])
    np.testing.assert_array_equal(probabilities, same.predict_proba(X[1::2]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.mean(one.predict(X[1::2]) == y[1::2]) > 0.85
    assert len(labels) <= method.size(one) <= 6 * len(one.lists_)
    assert 0 <= method.measures(one)["proven_optimal"] <= 1


def test_missing_values_are_refused_with_their_number() -> None:
    with pytest.raises(ValueError, match="X has 2 missing values; SamRuLe takes complete rows"):
        SamRuLe().fit(np.array([[np.nan], [1.0], [np.nan]]), np.array([0, 1, 1]))


def test_the_greedy_list_carries_the_papers_figures() -> None:
    assert get_method("Greedy rule list").paper["accuracy"] == 70.53
    assert not get_method("SamRuLe").paper


def test_the_greedy_list_takes_the_purest_side_of_the_best_stump_first() -> None:
    pytest.importorskip("imodels", reason="imodels is not installed: pip install './benchmarks[rivals]'")
    X = np.arange(40.0)[:, None]
    y = ((X[:, 0] >= 30) | ((X[:, 0] >= 5) & (X[:, 0] < 10))).astype(int)
    method = get_method("Greedy rule list")
    assert method.size is not None
    fitted = method.fit(X, y, 0)
    assert fitted.lists_[0].rules_[0]["cutoff"] == 29.5
    assert fitted.lists_[0].rules_[0]["val_right"] == 1
    np.testing.assert_array_equal(fitted.predict(X[30:]), 1)
    assert 2 <= method.size(fitted) <= 6
