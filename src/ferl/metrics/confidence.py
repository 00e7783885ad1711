"""Answers with a confidence, probabilities, and scores of novelty: selection, calibration, detection, and scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import refuse_other_kind
from ferl._util.arrays import Floats
from ferl.metrics.sets import check_same_length, column_of, determinacy, mean_set_size, set_coverage, u65, u80, vectors

# A probability summed in floating point can exceed 1 by a few rounding errors; more than this is a caller's mistake.
ROUNDING = 1e-9


# ---------------------------------------------------------------------------------------------------------------------
# Selection: the errors that are left where only the rows with most confidence are answered
# ---------------------------------------------------------------------------------------------------------------------


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


def risk_coverage_curve(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats, Floats]:
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
    correct, certainty = _judged(y_true, y_pred, confidence)
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
        A value in [0, 1]. Among equally confident rows at the border, random ones are answered; this is the
        expectation.

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
    truth, guess, mask = vectors(y_true=y_true, y_pred=y_pred, answered=answered)
    if mask.dtype != np.bool_:
        raise ValueError(f"answered must be boolean; got {mask.dtype}.")
    refuse_other_kind(truth, "y_true", guess, "y_pred")
    return float(np.mean(truth[mask] == guess[mask])) if mask.any() else float("nan")


def _expected_errors(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> Floats:
    """The expected number of errors among the k most confident rows, for k = 1 .. n_rows; shape (n_samples,)."""
    correct, certainty = _judged(y_true, y_pred, confidence)
    # Ascending values of the negated confidence are groups of ties, the most confident one first.
    _, group, sizes = np.unique(-certainty, return_inverse=True, return_counts=True)
    errors = np.bincount(group, weights=~correct)
    # Inside a group the expected count is a straight line from what came before to what comes after. Cutting that line
    # from the exact integer ends, and not adding up rounded means, keeps the result independent of the row order.
    position = np.arange(1, correct.size + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before = np.repeat(np.cumsum(errors) - errors, sizes)
    expected: Floats = before + position * np.repeat(errors, sizes) / np.repeat(sizes, sizes)
    return expected


def _judged(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Which rows are right, and the confidences; both of shape (n_samples,)."""
    truth, guess, given = vectors(y_true=y_true, y_pred=y_pred, confidence=confidence)
    certainty = given.astype(np.float64)
    refuse_other_kind(truth, "y_true", guess, "y_pred")
    n_missing = int(np.isnan(certainty).sum())
    if n_missing:
        raise ValueError(f"confidence holds NaN in {n_missing} of {certainty.size} rows; such rows cannot be ranked.")
    return np.asarray(truth == guess, dtype=np.bool_), certainty


# ---------------------------------------------------------------------------------------------------------------------
# Calibration: whether probabilities mean what they claim
# ---------------------------------------------------------------------------------------------------------------------


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
) -> tuple[Floats, Floats, NDArray[np.int64]]:
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
    (labels,), (names,) = vectors(y_true=y_true), vectors(classes=classes)
    table = np.asarray(probability, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != names.size:
        raise ValueError(f"probability must have shape (n_samples, {names.size}), a column a class; got {table.shape}.")
    check_same_length(labels, "y_true", table, "probability")
    if not np.all((table >= -ROUNDING) & (table <= 1 + ROUNDING)):
        raise ValueError(f"probability must lie in [0, 1]; got [{table.min():g}, {table.max():g}].")
    truth = np.arange(names.size) == column_of(labels, names)[:, None]
    return float(np.mean(((table - truth) ** 2).sum(axis=1)))


def _equal_bins(certainty: Floats, n_bins: int) -> NDArray[np.intp]:
    """Number of each row's bin among equally wide ones."""
    inner_edges = np.linspace(0.0, 1.0, int(n_bins) + 1)[1:-1]
    return np.searchsorted(inner_edges, certainty, side="left")


def _probable(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int
) -> tuple[NDArray[np.bool_], Floats]:
    """Which rows are right, and the confidences clipped to [0, 1]; both of shape (n_samples,)."""
    correct, certainty = _judged(y_true, y_pred, confidence)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an int of at least 1; got {n_bins!r}.")
    low, high = float(certainty.min()), float(certainty.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(f"confidence must lie in [0, 1] to be compared with an accuracy; got [{low:g}, {high:g}].")
    return correct, certainty.clip(0.0, 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Novelty: how well a score separates rows of unknown kinds from known ones
# ---------------------------------------------------------------------------------------------------------------------


def novelty_auroc(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Probability that a novel row has a larger score than a known one; equal scores count one half.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; 0.5 is chance.

    Examples
    --------
    >>> from ferl.metrics import novelty_auroc
    >>> novelty_auroc([False, False, True, True], [0.1, 0.4, 0.4, 0.9])
    0.875
    """
    known, novel = _counts(is_novel, novelty)
    below = known.sum() - np.cumsum(known)
    return float(np.sum(novel * (2 * below + known)) / (2 * known.sum() * novel.sum()))


def novelty_aupr(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Average precision with the novel rows as positives ("AUPR-Out").

    The mean over the novel rows of the share of novel rows among all rows with at least their score.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; the share of novel rows is chance.

    Notes
    -----
    Rows of equal score enter in random order and the expectation over that order is returned. scikit-learn's
    ``average_precision_score`` lets them enter together; without ties the two agree.

    Examples
    --------
    >>> from ferl.metrics import novelty_aupr
    >>> round(novelty_aupr([False, True, False, True], [0.1, 0.3, 0.6, 0.9]), 4)
    0.8333
    """
    known, novel = _counts(is_novel, novelty)
    sizes = known + novel
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    novel_before = np.repeat(np.cumsum(novel) - novel, sizes)
    position = np.arange(1, sizes.sum() + 1) - before
    n, m = np.repeat(sizes, sizes), np.repeat(novel, sizes)
    # Given that a position in the group is a novel row's, the others are spread evenly over the remaining positions.
    expected = novel_before + 1 + (position - 1) * (m - 1) / np.maximum(n - 1, 1)
    return float(np.sum(m / n * expected / (before + position)) / novel.sum())


def rejection_at_acceptance(is_novel: ArrayLike, novelty: ArrayLike, acceptance: float = 0.95) -> float:
    """Share of novel rows above the threshold that accepts this share of the known rows.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.
    acceptance : float, default=0.95
        Share of known rows that must be accepted, between 0 and 1.

    Returns
    -------
    float
        A value in [0, 1].

    Notes
    -----
    The threshold is the lowest that accepts at least this share. Rows of equal score at the threshold are rejected at
    random until the share is met; this is the expectation.

    Examples
    --------
    >>> from ferl.metrics import rejection_at_acceptance
    >>> rejection_at_acceptance([False, False, True, True], [0.1, 0.4, 0.3, 0.9], acceptance=0.5)
    1.0
    >>> rejection_at_acceptance([False, False, True, True], [0.1, 0.4, 0.3, 0.9])
    0.5
    """
    if not 0 < acceptance <= 1:
        raise ValueError(f"acceptance must be above 0 and at most 1; got {acceptance!r}.")
    known, novel = _counts(is_novel, novelty)
    # Rounded: 5 % of 100 rows must not become 5.000000000000004, nor 4.999999999999996.
    allowed = round((1 - acceptance) * int(known.sum()), 9)
    rejected = np.cumsum(known)
    n_whole = int(np.searchsorted(rejected, allowed, side="right"))
    result = float(novel[:n_whole].sum())
    if n_whole < len(known):
        left = allowed - (int(rejected[n_whole - 1]) if n_whole else 0)
        result += float(novel[n_whole] * left / known[n_whole])
    return float(result / novel.sum())


def fpr95(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Share of novel rows that are taken for known, at the threshold that accepts 95 % of the known rows.

    One minus `rejection_at_acceptance`. The name comes from the literature on out-of-distribution detection, where the
    known rows are the positives.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; low is good.

    Examples
    --------
    >>> from ferl.metrics import fpr95
    >>> fpr95([False, False, True, True], [0.1, 0.4, 0.3, 0.9])
    0.5
    """
    return 1 - rejection_at_acceptance(is_novel, novelty, 0.95)


def _counts(is_novel: ArrayLike, novelty: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of known and of novel rows at each distinct score, the largest first."""
    mask, score = vectors(is_novel=is_novel, novelty=novelty)
    score = score.astype(np.float64)
    if not np.all((mask == 0) | (mask == 1)):
        raise ValueError(f"is_novel must be boolean; got {mask.dtype} with values other than 0 and 1.")
    if np.isnan(score).any():
        raise ValueError(f"novelty holds NaN in {int(np.isnan(score).sum())} of {score.size} rows.")
    mask = mask.astype(bool)
    if mask.all() or not mask.any():
        raise ValueError(f"{int(mask.sum())} of {mask.size} rows are novel; both novel and known rows are needed.")
    _, group = np.unique(-score, return_inverse=True)
    n_groups = int(group.max()) + 1
    return np.bincount(group[~mask], minlength=n_groups), np.bincount(group[mask], minlength=n_groups)


# ---------------------------------------------------------------------------------------------------------------------
# Scorers for scikit-learn's searches and cross-validation
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scorer:
    """A measure that is called like a scorer: ``scorer(estimator, X, y)``.

    Attributes
    ----------
    name : str
        As in `SCORERS`; measures where less is better are negated and begin with ``neg_``.
    measure : callable
        The measure.
    sign : float
        1, or -1 where less is better.
    reads : {"answers", "probabilities", "labelled_sets", "sets"}
        What the measure takes: labels and confidences, probabilities, sets with the true labels, or sets alone. Sets
        come from the estimator's ``predict_set(X)``.
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
