"""Risk-coverage curves on a grid that data sets of all sizes share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl.metrics import risk_coverage_curve

COVERAGES = tuple(percent / 100 for percent in range(5, 101, 5))
"""Shares of the rows that are answered."""

RISKS = tuple(f"risk_at_{round(100 * coverage)}" for coverage in COVERAGES)
"""Names of the measures, the error rate among the answered rows at each of `COVERAGES`."""


def risk_at(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, coverages: ArrayLike) -> NDArray[np.float64]:
    """Return the error rate among the most confident rows.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        True and predicted labels.
    confidence : array-like of shape (n_rows,)
        Larger means more certain.
    coverages : array-like of shape (n_coverages,)
        Shares of the rows that are answered, in (0, 1].

    Returns
    -------
    ndarray of shape (n_coverages,)

    Notes
    -----
    Rows with equal confidence enter in random order, and the expectation over that order counts, as in
    `ferl.metrics.aurc`. When a share is not a whole number of rows, the last row counts in part.

    Examples
    --------
    The one error of four rows has the lowest confidence; then all are equally certain:

    >>> from ferl_bench.curve import risk_at
    >>> risk_at([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.8, 0.7, 0.6], [0.5, 0.75, 1.0]).tolist()
    [0.0, 0.0, 0.25]
    >>> risk_at([0, 1, 1, 0], [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], [0.1, 1.0]).tolist()
    [0.25, 0.25]
    """
    coverage, risk, _ = risk_coverage_curve(y_true, y_pred, confidence)
    # Between two points of the curve, rows of equal confidence, errors are expected to come at an even pace.
    wanted = np.asarray(coverages, dtype=np.float64)
    errors = np.interp(wanted, np.concatenate([[0.0], coverage]), np.concatenate([[0.0], coverage * risk]))
    return np.asarray(errors / wanted)
