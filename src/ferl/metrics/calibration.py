"""Calibration: do probabilities mean what they say."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl.metrics.sets import ROUNDING, check_same_length, column_of, selection, vector


def expected_calibration_error(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int = 15) -> float:
    """Distance between the confidence in the predicted label and the accuracy reached with it.

    Rows are put into `n_bins` equally wide bins of confidence. In each bin the mean confidence is compared with the
    accuracy; the absolute differences are averaged with the number of rows as weights.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        Probability given to the predicted label, in [0, 1].
    n_bins : int, default=15
        Number of bins.

    Returns
    -------
    float
        A value in [0, 1]; 0 means calibrated.

    Notes
    -----
    A bin contains its upper edge but not its lower one; a confidence of exactly 0 falls into the first bin.

    Examples
    --------
    Three of four answers are right, all given with confidence 0.9:

    >>> from ferl.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.9, 0.9, 0.9]), 4)
    0.15
    """
    correct, certainty = _probable(y_true, y_pred, confidence, n_bins)
    gaps = np.bincount(_equal_bins(certainty, n_bins), weights=correct - certainty, minlength=int(n_bins))
    return float(np.abs(gaps).sum() / correct.size)


def reliability_curve(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int = 15
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Accuracy reached against the confidence claimed, in the bins of `expected_calibration_error`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        Probability given to the predicted label, in [0, 1].
    n_bins : int, default=15
        Number of equally wide bins.

    Returns
    -------
    mean_confidence, accuracy : ndarray of shape (n_filled,)
        Of the rows in each bin that has any, ascending.
    n_rows : ndarray of shape (n_filled,)
        Their number.

    Examples
    --------
    >>> from ferl.metrics import reliability_curve
    >>> mean, accuracy, n_rows = reliability_curve([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.9, 0.6, 0.6], n_bins=5)
    >>> mean.round(3), accuracy, n_rows
    (array([0.6, 0.9]), array([0.5, 1. ]), array([2, 2]))
    """
    correct, certainty = _probable(y_true, y_pred, confidence, n_bins)
    _, bins, n_rows = np.unique(_equal_bins(certainty, n_bins), return_inverse=True, return_counts=True)
    return np.bincount(bins, weights=certainty) / n_rows, np.bincount(bins, weights=correct) / n_rows, n_rows


def adaptive_calibration_error(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int = 15) -> float:
    """As `expected_calibration_error`, with bins that hold equally many rows instead of equally wide ones.

    Confidences crowd near 1. Equally wide bins put most rows into one of them, and differences within it cancel; here
    every bin has its share.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        Probability given to the predicted label, in [0, 1].
    n_bins : int, default=15
        Number of bins.

    Returns
    -------
    float
        A value in [0, 1]; 0 means calibrated.

    Notes
    -----
    Every bin holds exactly ``n_samples / n_bins`` rows: a row on the border belongs to both bins in parts. Rows of
    equal confidence are shared among bins as if in random order, each with the group's mean accuracy, so that neither
    the order of the rows in the file nor ties matter.

    Examples
    --------
    >>> from ferl.metrics import adaptive_calibration_error
    >>> round(adaptive_calibration_error([0, 0, 0, 0], [0, 1, 0, 0], [0.6, 0.6, 0.9, 0.9], n_bins=2), 4)
    0.1
    """
    correct, certainty = _probable(y_true, y_pred, confidence, n_bins)
    _, group, sizes = np.unique(certainty, return_inverse=True, return_counts=True)
    gaps = np.bincount(group, weights=correct - certainty)
    # The sum of gaps over the rows up to a position is a broken line through the groups' ends; bins cut it into pieces.
    ends = np.concatenate([[0.0], np.cumsum(sizes)])
    edges = np.linspace(0.0, correct.size, int(n_bins) + 1)
    line = np.interp(edges, ends, np.concatenate([[0.0], np.cumsum(gaps)]))
    return float(np.abs(np.diff(line)).sum() / correct.size)


def brier_score(y_true: ArrayLike, probability: ArrayLike, classes: ArrayLike) -> float:
    """Mean over the rows of the squared distance between the probabilities and the truth, summed over the classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, each one of `classes`.
    probability : array-like of shape (n_samples, n_classes)
        Probability of each class.
    classes : array-like of shape (n_classes,)
        The label of each column, an estimator's ``classes_``.

    Returns
    -------
    float
        A value in [0, 2]. For two classes it is twice the Brier score of the second class alone.

    Examples
    --------
    >>> from ferl.metrics import brier_score
    >>> round(brier_score(["a", "b"], [[0.8, 0.2], [0.6, 0.4]], ["a", "b"]), 4)
    0.4
    """
    labels, names = vector(y_true, "y_true"), vector(classes, "classes")
    table = np.asarray(probability, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != names.size:
        raise ValueError(f"probability must have shape (n_samples, {names.size}), a column a class; got {table.shape}.")
    check_same_length(labels, "y_true", table, "probability")
    if not np.all((table >= -ROUNDING) & (table <= 1 + ROUNDING)):
        raise ValueError(f"probability must lie in [0, 1]; got [{table.min():g}, {table.max():g}].")
    truth = np.arange(names.size) == column_of(labels, names)[:, None]
    return float(np.mean(((table - truth) ** 2).sum(axis=1)))


def _equal_bins(certainty: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Number of each row's bin among equally wide ones."""
    inner_edges = np.linspace(0.0, 1.0, int(n_bins) + 1)[1:-1]
    return np.searchsorted(inner_edges, certainty, side="left")


def _probable(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check the input; return which rows are right and the confidences within [0, 1], of shape (n_samples,)."""
    correct, certainty = selection(y_true, y_pred, confidence)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an int of at least 1; got {n_bins!r}.")
    low, high = float(certainty.min()), float(certainty.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(f"confidence must lie in [0, 1] to be compared with an accuracy; got [{low:g}, {high:g}].")
    return correct, certainty.clip(0.0, 1.0)
