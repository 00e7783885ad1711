"""Tests of "the error rate among the rows above this threshold is at most the risk", for many thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ferl._util.arrays import Floats


def clopper_pearson(n_errors: ArrayLike, n_rows: ArrayLike, delta: float) -> Floats:
    """Upper bound of an error rate that holds with probability ``1 - delta``; exact for every number of rows.

    Parameters
    ----------
    n_errors, n_rows : array-like of int
        Errors seen among so many independent rows.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    ndarray
        1 where there are no rows, or only errors.

    Examples
    --------
    >>> from ferl.abstention import clopper_pearson
    >>> round(float(clopper_pearson(0, 59, 0.05)), 4)
    0.0495
    """
    errors, rows = np.broadcast_arrays(np.asarray(n_errors, dtype=np.float64), np.asarray(n_rows, dtype=np.float64))
    right = rows - errors
    bound = special.betaincinv(errors + 1.0, np.maximum(right, 1.0), 1.0 - delta)
    return np.asarray(np.where(right > 0, bound, 1.0))


def risk_p_value(n_errors: ArrayLike, n_rows: ArrayLike, risk: float) -> Floats:
    """Probability of so few errors, or fewer, if the error rate were ``risk``.

    At most delta exactly where :func:`clopper_pearson` at delta is at most ``risk``.

    Parameters
    ----------
    n_errors, n_rows : array-like of int
        Errors seen among so many independent rows.
    risk : float
        The error rate.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from ferl.abstention import risk_p_value
    >>> round(float(risk_p_value(0, 59, 0.05)), 4)
    0.0485
    """
    errors, rows = np.broadcast_arrays(np.asarray(n_errors, dtype=np.float64), np.asarray(n_rows, dtype=np.float64))
    right = rows - errors
    value = special.betainc(np.maximum(right, 1.0), errors + 1.0, 1.0 - risk)
    return np.asarray(np.where(right > 0, value, 1.0))


def least_answered_rows(risk: float, delta: float) -> int:
    """Number of answered calibration rows, all of them right, from which on the risk can be promised.

    Examples
    --------
    >>> from ferl.abstention import least_answered_rows
    >>> least_answered_rows(0.05, 0.05)
    59
    """
    return ceil(log(delta) / log(1 - risk))


@dataclass(frozen=True, eq=False)
class Ladder:
    """Calibration rows from the most confident down, equals together.

    Attributes
    ----------
    value : ndarray of shape (n_values,)
        Distinct values of the signal, descending. A threshold between a value and the next one answers the same rows as
        the value itself.
    n_answered, n_errors : ndarray of shape (n_values,)
        Rows with at least this value, and how many of them are wrong.
    """

    value: Floats
    n_answered: NDArray[np.int64]
    n_errors: NDArray[np.int64]

    @classmethod
    def of(cls, signal: Floats, wrong: NDArray[np.bool_]) -> Ladder:
        """Sort the rows."""
        negated, group, size = np.unique(-signal, return_inverse=True, return_counts=True)
        errors = np.bincount(group, weights=wrong, minlength=len(size))
        return cls(-negated, np.cumsum(size), np.cumsum(errors).astype(np.int64))

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self.n_answered[-1])

    def step(self, threshold: ArrayLike) -> NDArray[np.intp]:
        """Index of the smallest value that reaches each threshold; -1 where none does."""
        return np.asarray(np.searchsorted(-self.value, -np.asarray(threshold), side="right") - 1)

    def counts(self, threshold: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows answered at each threshold, and how many of them are wrong."""
        step = self.step(threshold)
        return np.where(step >= 0, self.n_answered[step], 0), np.where(step >= 0, self.n_errors[step], 0)


def bonferroni(ladder: Ladder, thresholds: Floats, risk: float, delta: float) -> float | None:
    """Lowest of the thresholds that passes its test at delta / number of thresholds; None if none does.

    Parameters
    ----------
    ladder : Ladder
        Calibration rows.
    thresholds : ndarray of shape (n_thresholds,)
        Candidates, chosen without looking at the calibration rows.
    risk, delta : float
        The promise.
    """
    n_answered, n_errors = ladder.counts(thresholds)
    passed = risk_p_value(n_errors, n_answered, risk) <= delta / len(thresholds)
    return float(thresholds[passed].min()) if passed.any() else None


def fixed_sequence(ladder: Ladder, starts: Floats, risk: float, delta: float) -> float | None:
    """Lowest threshold reached by going down from the starts for as long as every test on the way passes.

    *All* thresholds below the first start are tested in descending order, each at the level that the one before it
    hands on: a test that passes has cost nothing. Every start brings an equal share of delta along, so that there is
    a new beginning after a failure (the fallback procedure; with one start it is fixed-sequence testing). Between two
    calibration values nothing changes, so it is enough to stop at these values and at the starts.

    Parameters
    ----------
    ladder : Ladder
        Calibration rows.
    starts : ndarray of shape (n_starts,)
        Where to begin, chosen without looking at the calibration rows.
    risk, delta : float
        The promise.

    Returns
    -------
    float or None
        The threshold, minus infinity to answer everything; None if no test passes.
    """
    share = delta / len(starts)
    p_values = risk_p_value(ladder.n_errors, ladder.n_answered, risk)
    begins: dict[int, list[float]] = {}
    for start in np.sort(starts)[::-1].tolist():
        begins.setdefault(int(ladder.step(start)), []).append(start)
    level, reached = 0.0, None
    # Starts above every calibration value answer none of them and fail.
    for step in range(max(0, min(begins)), len(p_values)):
        # A start at the value itself is there when the value is tested, one below it is not.
        value = float(ladder.value[step])
        below = [start for start in begins.get(step, []) if start < value]
        level += share * (len(begins.get(step, [])) - len(below))
        if level > 0 and p_values[step] <= level:
            level, reached = level + share * len(below), value
        elif below and p_values[step] <= share:
            level, reached = share * len(below), below[0]
        else:
            level = 0.0
    # The interval of the lowest value has no lower end.
    return -np.inf if level > 0 else reached
