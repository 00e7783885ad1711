"""Statistics of a comparison over data sets.

The unit of observation is a data set, not a fold: folds of one data set share their rows and are not independent, so
that every test here is given one mean a data set and method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ferl_bench.critical_difference import average_ranks

N_BOOTSTRAP = 10_000
SEED = 0


@dataclass(frozen=True)
class Friedman:
    """Mean ranks, rank 1 the best, and the tests that they are all equal.

    Attributes
    ----------
    ranks : dict
        Mean rank by name, best first.
    statistic, p_value : float
        Friedman's chi-square; without a difference in any data set, 0 and 1.
    f_statistic, f_p_value : float
        The correction of Iman and Davenport, which is less conservative.
    n_data_sets : int
        Number of data sets.
    """

    ranks: dict[str, float]
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_data_sets: int


def friedman(scores: Mapping[str, ArrayLike], *, more_is_better: bool) -> Friedman:
    """Compare methods by their ranks on each data set; equal scores share the mean of their ranks.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n_data_sets,)
        Scores by method, on the same data sets in the same order. At least three methods and two data sets.
    more_is_better : bool
        Whether the largest score has rank 1.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> from ferl_bench.statistics import friedman
    >>> test = friedman({"a": [3, 3, 3], "b": [2, 2, 1], "c": [1, 1, 2]}, more_is_better=True)
    >>> {name: round(rank, 3) for name, rank in test.ranks.items()}
    {'a': 1.0, 'b': 2.333, 'c': 2.667}
    """
    ranks = average_ranks(scores, higher_is_better=more_is_better)
    mean_ranks = dict(sorted(ranks.items(), key=lambda item: item[1]))
    table = np.column_stack([np.asarray(score, dtype=np.float64) for score in scores.values()])
    n, k = table.shape
    if k < 3 or n < 2:
        raise ValueError(f"got {k} methods on {n} data sets; Friedman's test takes at least 3 on 2.")
    if (table == table[:, :1]).all():  # nothing but ties: the statistic would be 0 / 0
        return Friedman(mean_ranks, 0.0, 1.0, 0.0, 1.0, n)
    statistic, p_value = (float(value) for value in stats.friedmanchisquare(*table.T))
    rest = n * (k - 1) - statistic
    f_statistic = (n - 1) * statistic / rest if rest > 0 else float("inf")
    f_p_value = float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1)))
    return Friedman(mean_ranks, statistic, p_value, f_statistic, f_p_value, n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of a family of tests by Holm's step-down method.

    Examples
    --------
    >>> from ferl_bench.statistics import holm
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.minimum(1, np.maximum.accumulate(np.asarray(p_values, dtype=np.float64)[order] * factors))
    result = np.empty(len(p_values))
    result[order] = adjusted
    return [float(p) for p in result]


def wilcoxon(ours: ArrayLike, theirs: ArrayLike) -> float:
    """Return the two-sided p-value of the signed-rank test of paired scores; 1 where no pair differs.

    Zero differences are split between the two sides, as Demsar (2006) recommends.
    """
    # Differences of means of folds cancel up to rounding only.
    differences = np.round(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), 12)
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


@dataclass(frozen=True)
class Difference:
    """A mean of paired differences over data sets, with its bootstrap interval.

    Attributes
    ----------
    mean : float
        Mean of ours minus theirs.
    low, high : float
        Ends of the 95 % interval.
    deviation : float
        Standard deviation of the differences over data sets.
    wins, ties, losses : int
        Data sets on which ours is larger, equal, smaller.
    p_value : float
        Of the signed-rank test.
    """

    mean: float
    low: float
    high: float
    deviation: float
    wins: int
    ties: int
    losses: int
    p_value: float


def paired_difference(ours: ArrayLike, theirs: ArrayLike) -> Difference:
    """Compare paired scores of two methods over data sets.

    Parameters
    ----------
    ours, theirs : array-like of shape (n_data_sets,)
        Means of the same data sets in the same order.

    Returns
    -------
    Difference

    Notes
    -----
    The interval is the percentile bootstrap of the mean, data sets drawn with replacement, seed 0.
    """
    differences = np.round(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), 12)
    low, high = bootstrap_interval(differences)
    signs = np.sign(differences)
    return Difference(
        mean=float(differences.mean()),
        low=low,
        high=high,
        deviation=float(differences.std(ddof=1)) if len(differences) > 1 else 0.0,
        wins=int((signs > 0).sum()),
        ties=int((signs == 0).sum()),
        losses=int((signs < 0).sum()),
        p_value=wilcoxon(ours, theirs),
    )


def bootstrap_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean."""
    values = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(SEED)
    means = values[rng.integers(len(values), size=(N_BOOTSTRAP, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def spearman(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Return the rank correlation and its p-value; NaN for both where either does not vary."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    result = stats.spearmanr(x, y)
    return float(result.statistic), float(result.pvalue)
