"""Statistics over data sets, against scipy and against examples worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ferl_bench.statistics import bootstrap_interval, friedman, holm, paired_difference, spearman, wilcoxon

# Four methods on six data sets, with ties.
SCORES = {
    "a": [0.90, 0.80, 0.70, 0.95, 0.60, 0.75],
    "b": [0.85, 0.80, 0.65, 0.90, 0.55, 0.70],
    "c": [0.80, 0.82, 0.60, 0.85, 0.50, 0.72],
    "d": [0.70, 0.75, 0.60, 0.80, 0.45, 0.60],
}


def test_friedman_is_scipys_and_ranks_are_means_by_hand() -> None:
    test = friedman(SCORES, more_is_better=True)
    expected = stats.friedmanchisquare(*SCORES.values())
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)
    # By hand: a is first on five sets, and shares ranks 2 and 3 with b on the second.
    assert test.ranks["a"] == pytest.approx((5 * 1 + 2.5) / 6)
    assert test.ranks["d"] == pytest.approx((4 + 4 + 3.5 + 4 + 4 + 4) / 6)
    assert list(test.ranks) == ["a", "b", "c", "d"]
    assert sum(test.ranks.values()) == pytest.approx(4 * 5 / 2)


def test_iman_davenport_is_demsars_formula() -> None:
    test = friedman(SCORES, more_is_better=True)
    n, k, chi = 6, 4, test.statistic
    assert test.f_statistic == pytest.approx((n - 1) * chi / (n * (k - 1) - chi))
    assert test.f_p_value == pytest.approx(stats.f.sf(test.f_statistic, k - 1, (k - 1) * (n - 1)))


def test_the_direction_turns_ranks_around() -> None:
    up, down = (friedman(SCORES, more_is_better=more).ranks for more in (True, False))
    assert {name: 5 - rank for name, rank in up.items()} == pytest.approx(down)


def test_methods_that_never_differ_have_no_evidence_against_them() -> None:
    test = friedman({name: [0.5, 0.7] for name in "abc"}, more_is_better=True)
    assert (test.p_value, test.f_p_value) == (1.0, 1.0)
    assert set(test.ranks.values()) == {2.0}


def test_too_few_methods_or_data_sets_are_refused_with_their_numbers() -> None:
    with pytest.raises(ValueError, match="2 methods on 3 data sets"):
        friedman({"a": [1, 2, 3], "b": [1, 2, 3]}, more_is_better=True)


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, then made to rise: 0.02, 0.03, 0.06, 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_wilcoxon_is_scipys_and_ignores_rounding() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.random(12), rng.random(12)
    assert wilcoxon(ours, theirs) == pytest.approx(stats.wilcoxon(ours, theirs).pvalue)
    assert wilcoxon(ours, ours) == 1.0
    assert wilcoxon(ours, ours + 1e-17) == 1.0
    # All of n differences on one side: 2 / 2^n.
    assert wilcoxon(np.arange(1.0, 7.0), np.zeros(6)) == pytest.approx(2 / 2**6)


def test_a_difference_counts_wins_and_its_interval_holds_the_mean() -> None:
    ours, theirs = np.array([3.0, 2.0, 2.0, 5.0]), np.array([1.0, 2.0, 3.0, 1.0])
    result = paired_difference(ours, theirs)
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)
    assert result.mean == pytest.approx(1.25)
    assert result.deviation == pytest.approx(np.std([2, 0, -1, 4], ddof=1))
    assert -1 <= result.low < result.mean < result.high <= 4
    assert result == paired_difference(ours, theirs)  # the bootstrap has a seed


def test_the_bootstrap_interval_is_about_scipys() -> None:
    values = np.random.default_rng(1).normal(2, 1, 40)
    expected = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=5000, rng=0).confidence_interval
    assert bootstrap_interval(values) == pytest.approx(tuple(expected), abs=0.03)


def test_spearman_is_scipys_and_undefined_without_variation() -> None:
    x, y = [1, 2, 3, 4, 5], [2, 1, 4, 3, 9]
    expected = stats.spearmanr(x, y)
    assert spearman(x, y) == pytest.approx((expected.statistic, expected.pvalue))
    assert all(np.isnan(spearman(x, [1] * 5)))
