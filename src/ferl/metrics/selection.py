"""Selection: what is left of the errors when only the rows one is most confident about are answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import refuse_other_kind
from ferl.metrics.calibration import adaptive_calibration_error, brier_score, expected_calibration_error
from ferl.metrics.sets import check_same_length, determinacy, mean_set_size, selection, set_coverage, u65, u80, vector


def aurc(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> float:
    """Area under the risk-coverage curve: how much error is left when the least certain rows are set aside.

    The mean over ``k = 1 .. n_rows`` of the error rate among the ``k`` most confident rows. Low is good: a classifier
    that is unsure exactly where it is wrong keeps its early error rates near 0.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        One number per row, larger means more certain; only its order matters.

    Returns
    -------
    float
        A value in [0, 1].

    Notes
    -----
    Rows with equal confidence enter in random order and the expectation over that order is returned: inside a group of
    ties every row counts with the group's mean error. The order of the rows in the file therefore never matters.

    Examples
    --------
    The one error has the lowest confidence, so the error rates are 0, 0, 0 and 1/4:

    >>> from ferl.metrics import aurc
    >>> aurc([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.8, 0.7, 0.6])
    0.0625

    When all rows are equally certain, every error rate is expected to be 1/4:

    >>> aurc([0, 1, 1, 0], [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    errors = _expected_errors(y_true, y_pred, confidence)
    return float(np.mean(errors / np.arange(1, errors.size + 1)))


def augrc(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> float:
    """Area under the generalised risk-coverage curve: the share of rows answered, and answered wrongly.

    The mean over ``k = 1 .. n_rows`` of the number of errors among the ``k`` most confident rows, divided by `n_rows`
    and not by ``k``. Unlike `aurc` it does not let the few most confident rows dominate [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        One number per row, larger means more certain; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; at most the error rate.

    Notes
    -----
    Ties are treated as in `aurc`: the expectation over a random order of the tied rows.

    References
    ----------
    .. [1] Traub et al., "Overcoming Common Flaws in the Evaluation of Selective Classification Systems",
       NeurIPS 2024.

    Examples
    --------
    The one error comes first, then last:

    >>> from ferl.metrics import augrc
    >>> augrc([0, 1, 1, 0], [1, 1, 1, 0], [0.9, 0.8, 0.7, 0.6])
    0.25
    >>> augrc([0, 1, 1, 0], [1, 1, 1, 0], [0.6, 0.7, 0.8, 0.9])
    0.0625
    """
    errors = _expected_errors(y_true, y_pred, confidence)
    return float(np.mean(errors) / errors.size)


def risk_coverage_curve(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Error rate among the answered rows against the share of rows answered, one point for each distinct confidence.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        One number per row, larger means more certain.

    Returns
    -------
    coverage : ndarray of shape (n_points,)
        Share of rows answered, ascending to 1.
    risk : ndarray of shape (n_points,)
        Error rate among them.
    threshold : ndarray of shape (n_points,)
        Rows with at least this confidence are answered, descending.

    Notes
    -----
    A threshold answers equally confident rows together, so the curve has no point between them. `aurc` is the mean of
    the risk over every number of rows, with the expected risk between two points.

    Examples
    --------
    >>> from ferl.metrics import risk_coverage_curve
    >>> coverage, risk, threshold = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.7, 0.7, 0.5])
    >>> coverage
    array([0.25, 0.75, 1.  ])
    >>> risk.round(3)
    array([0.   , 0.333, 0.5  ])
    >>> threshold
    array([0.9, 0.7, 0.5])
    """
    correct, certainty = selection(y_true, y_pred, confidence)
    negated, group, sizes = np.unique(-certainty, return_inverse=True, return_counts=True)
    n_answered = np.cumsum(sizes)
    risk = np.cumsum(np.bincount(group, weights=~correct)) / n_answered
    return n_answered / correct.size, risk, -negated


def accuracy_at_coverage(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, coverage: float) -> float:
    """Accuracy among the most confident rows, when this share of all rows is answered.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confidence : array-like of shape (n_samples,)
        One number per row, larger means more certain; only its order matters.
    coverage : float
        Share of the rows that is answered, above 0 and at most 1; rounded up to whole rows.

    Returns
    -------
    float
        A value in [0, 1]. Of equally confident rows at the border, random ones are answered; this is the expectation.

    Examples
    --------
    >>> from ferl.metrics import accuracy_at_coverage
    >>> accuracy_at_coverage([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.8, 0.5, 0.5], coverage=0.75)
    0.8333333333333334
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1; got {coverage!r}.")
    errors = _expected_errors(y_true, y_pred, confidence)
    n_answered = ceil(round(coverage * errors.size, 9))
    return float(1 - errors[n_answered - 1] / n_answered)


def accuracy_under_abstention(y_true: ArrayLike, y_pred: ArrayLike, answered: ArrayLike) -> float:
    """Accuracy among the answered rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels; anything where no answer is given.
    answered : array-like of bool of shape (n_samples,)
        Which rows are answered.

    Returns
    -------
    float
        A value in [0, 1]; NaN when no row is answered.

    Examples
    --------
    >>> from ferl.metrics import accuracy_under_abstention
    >>> accuracy_under_abstention(["a", "b", "b"], ["a", None, "a"], [True, False, True])
    0.5
    """
    truth, guess, mask = vector(y_true, "y_true"), vector(y_pred, "y_pred"), vector(answered, "answered")
    check_same_length(truth, "y_true", guess, "y_pred")
    check_same_length(truth, "y_true", mask, "answered")
    if mask.dtype != np.bool_:
        raise ValueError(f"answered must be boolean; got {mask.dtype}.")
    refuse_other_kind(truth, "y_true", guess, "y_pred")
    return float(np.mean(truth[mask] == guess[mask])) if mask.any() else float("nan")


def _expected_errors(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> NDArray[np.float64]:
    """Return the expected number of errors among the k most confident rows, for k = 1 .. n_rows; shape (n_samples,)."""
    correct, certainty = selection(y_true, y_pred, confidence)
    # Ascending values of the negated confidence are groups of ties, the most confident one first.
    _, group, sizes = np.unique(-certainty, return_inverse=True, return_counts=True)
    errors = np.bincount(group, weights=~correct)
    # Inside a group the expected count is a straight line from what came before to what comes after. Cutting that line
    # from the exact integer ends, and not adding up rounded means, keeps the result independent of the row order.
    position = np.arange(1, correct.size + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before = np.repeat(np.cumsum(errors) - errors, sizes)
    expected: NDArray[np.float64] = before + position * np.repeat(errors, sizes) / np.repeat(sizes, sizes)
    return expected


@dataclass(frozen=True)
class Scorer:
    """A measure that is called like a scorer: ``scorer(estimator, X, y)``.

    Attributes
    ----------
    name : str
        As in `SCORERS`; measures of which less is better are negated and begin with ``neg_``.
    measure : callable
        The measure.
    sign : float
        1, or -1 where less is better.
    reads : {"answers", "probabilities", "labelled_sets", "sets"}
        What the measure takes: labels and confidences, probabilities, sets with the true labels, or sets alone. Sets
        are those of the estimator's ``predict_set(X)``.
    """

    name: str
    measure: Callable[..., float]
    sign: float
    reads: str

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Judge a fitted estimator; a larger number is better."""
        if self.reads == "sets":
            return self.sign * self.measure(estimator.predict_set(X))
        if self.reads == "labelled_sets":
            return self.sign * self.measure(y, estimator.predict_set(X), estimator.classes_)
        probability = np.asarray(estimator.predict_proba(X))
        if self.reads == "probabilities":
            return self.sign * self.measure(y, probability, estimator.classes_)
        label = np.asarray(estimator.classes_)[probability.argmax(axis=1)]
        return self.sign * self.measure(y, label, probability.max(axis=1))

    def __repr__(self) -> str:
        return f"ferl.metrics.SCORERS[{self.name!r}]"


SCORERS = {
    scorer.name: scorer
    for scorer in (
        Scorer("neg_aurc", aurc, -1.0, "answers"),
        Scorer("neg_augrc", augrc, -1.0, "answers"),
        Scorer("neg_expected_calibration_error", expected_calibration_error, -1.0, "answers"),
        Scorer("neg_adaptive_calibration_error", adaptive_calibration_error, -1.0, "answers"),
        Scorer("neg_brier_score", brier_score, -1.0, "probabilities"),
        Scorer("u65", u65, 1.0, "labelled_sets"),
        Scorer("u80", u80, 1.0, "labelled_sets"),
        Scorer("set_coverage", set_coverage, 1.0, "labelled_sets"),
        Scorer("determinacy", determinacy, 1.0, "sets"),
        Scorer("neg_mean_set_size", mean_set_size, -1.0, "sets"),
    )
}
"""By name: for ``cross_validate(clf, X, y, scoring=SCORERS)``, or one of them in a search."""
