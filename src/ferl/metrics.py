"""Measures for answers that come with a confidence, or as a set of classes.

Two families of measures, both exact and free of randomness:

* *Selection*: answer only the rows one is most confident about. `aurc`, `augrc` and `expected_calibration_error`
  take the true labels, the predicted labels and one confidence per row.
* *Sets*: answer with every class that cannot be ruled out. `u65`, `u80`, `set_coverage`, `determinacy` and
  `mean_set_size` take a boolean prediction set of shape (n_rows, n_classes).

Every value is a fraction, not a percentage; all but `mean_set_size` lie in [0, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["augrc", "aurc", "determinacy", "expected_calibration_error", "mean_set_size", "set_coverage", "u65", "u80"]

# A probability summed in floating point can exceed 1 by a few rounding errors; more than this is a caller's mistake.
_ROUNDING = 1e-9


def aurc(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> float:
    """Area under the risk-coverage curve: how much error is left when the least certain rows are set aside.

    The mean over ``k = 1 .. n_rows`` of the error rate among the ``k`` most confident rows. Low is good: a classifier
    that is unsure exactly where it is wrong keeps its early error rates near 0.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    confidence : array-like of shape (n_rows,)
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
    y_true : array-like of shape (n_rows,)
        True labels.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    confidence : array-like of shape (n_rows,)
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


def expected_calibration_error(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, n_bins: int = 15) -> float:
    """Distance between the confidence in the predicted label and the accuracy reached with it.

    Rows are put into `n_bins` equally wide bins of confidence. In each bin the mean confidence is compared with the
    accuracy; the absolute differences are averaged with the number of rows as weights.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    confidence : array-like of shape (n_rows,)
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
    correct, certainty = _selection(y_true, y_pred, confidence)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an int of at least 1; got {n_bins!r}.")
    low, high = float(certainty.min()), float(certainty.max())
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise ValueError(f"confidence must lie in [0, 1] to be compared with an accuracy; got [{low:g}, {high:g}].")
    inner_edges = np.linspace(0.0, 1.0, int(n_bins) + 1)[1:-1]
    bins = np.searchsorted(inner_edges, certainty, side="left")
    gaps = np.bincount(bins, weights=correct - certainty.clip(0.0, 1.0), minlength=int(n_bins))
    return float(np.abs(gaps).sum() / correct.size)


def u65(y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike) -> float:
    """Utility-discounted accuracy of prediction sets, for a user who mildly prefers "one of these" to a coin flip.

    With ``x = [label in set] / size of the set``, the mean over the rows of ``-0.6 x^2 + 1.6 x`` [1]_. A correct
    single label earns 1, a correct pair 0.65 (a random choice from the pair would earn 0.5), a wrong set 0.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_rows, n_classes)
        True where a class belongs to the row's set. An empty set earns 0.
    classes : array-like of shape (n_classes,)
        The label of each column, an estimator's ``classes_``.

    Returns
    -------
    float
        A value in [0, 1].

    References
    ----------
    .. [1] Zaffalon, Corani and Maua, "Evaluating credal classifiers by utility-discounted predictive accuracy",
       International Journal of Approximate Reasoning, 2012.

    Examples
    --------
    A correct single label and a correct pair:

    >>> from ferl.metrics import u65
    >>> round(u65(["a", "b"], [[True, False, False], [True, True, False]], ["a", "b", "c"]), 4)
    0.825
    """
    return _discounted_utility(y_true, prediction_set, classes, square=-0.6, linear=1.6)


def u80(y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike) -> float:
    """Utility-discounted accuracy of prediction sets, for a user who strongly prefers "one of these" to a coin flip.

    As `u65` with ``-1.2 x^2 + 2.2 x``: a correct pair earns 0.80.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_rows, n_classes)
        True where a class belongs to the row's set. An empty set earns 0.
    classes : array-like of shape (n_classes,)
        The label of each column, an estimator's ``classes_``.

    Returns
    -------
    float
        A value in [0, 1].

    Examples
    --------
    A correct single label and a correct pair:

    >>> from ferl.metrics import u80
    >>> round(u80(["a", "b"], [[True, False, False], [True, True, False]], ["a", "b", "c"]), 4)
    0.9
    """
    return _discounted_utility(y_true, prediction_set, classes, square=-1.2, linear=2.2)


def set_coverage(y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike) -> float:
    """Share of rows whose prediction set contains the true label.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_rows, n_classes)
        True where a class belongs to the row's set.
    classes : array-like of shape (n_classes,)
        The label of each column, an estimator's ``classes_``.

    Returns
    -------
    float
        A value in [0, 1].

    Examples
    --------
    >>> from ferl.metrics import set_coverage
    >>> set_coverage(["a", "b"], [[True, False, False], [True, False, True]], ["a", "b", "c"])
    0.5
    """
    covered, _ = _cover(y_true, prediction_set, classes)
    return float(covered.mean())


def determinacy(prediction_set: ArrayLike) -> float:
    """Share of rows whose prediction set holds exactly one class.

    Parameters
    ----------
    prediction_set : array-like of bool of shape (n_rows, n_classes)
        True where a class belongs to the row's set. An empty set is not a determinate answer.

    Returns
    -------
    float
        A value in [0, 1].

    Examples
    --------
    >>> from ferl.metrics import determinacy
    >>> determinacy([[True, False], [True, True], [False, True], [True, True]])
    0.5
    """
    return float(np.mean(_checked_set(prediction_set).sum(axis=1) == 1))


def mean_set_size(prediction_set: ArrayLike) -> float:
    """Mean number of classes in a prediction set.

    Parameters
    ----------
    prediction_set : array-like of bool of shape (n_rows, n_classes)
        True where a class belongs to the row's set.

    Returns
    -------
    float
        A value in [0, n_classes].

    Examples
    --------
    >>> from ferl.metrics import mean_set_size
    >>> mean_set_size([[True, False], [True, True], [False, True], [True, True]])
    1.5
    """
    return float(_checked_set(prediction_set).sum(axis=1).mean())


def _expected_errors(y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike) -> NDArray[np.float64]:
    """Return the expected number of errors among the k most confident rows, for k = 1 .. n_rows; shape (n_rows,)."""
    correct, certainty = _selection(y_true, y_pred, confidence)
    # Ascending values of the negated confidence are groups of ties, the most confident one first.
    _, group, sizes = np.unique(-certainty, return_inverse=True, return_counts=True)
    errors = np.bincount(group, weights=~correct)
    # Inside a group the expected count is a straight line from what came before to what comes after. Cutting that line
    # from the exact integer ends, and not adding up rounded means, keeps the result independent of the row order.
    position = np.arange(1, correct.size + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before = np.repeat(np.cumsum(errors) - errors, sizes)
    expected: NDArray[np.float64] = before + position * np.repeat(errors, sizes) / np.repeat(sizes, sizes)
    return expected


def _discounted_utility(
    y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike, *, square: float, linear: float
) -> float:
    """Return the mean of ``square x^2 + linear x`` with ``x = [label in set] / size of the set``."""
    covered, sizes = _cover(y_true, prediction_set, classes)
    discounted = covered / np.maximum(sizes, 1)
    return float(np.mean(square * discounted**2 + linear * discounted))


def _cover(
    y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return whether each set contains its row's label, and the size of each set; both of shape (n_rows,)."""
    labels, columns, names = _vector(y_true, "y_true"), _checked_set(prediction_set), _vector(classes, "classes")
    _check_same_length(labels, "y_true", columns, "prediction_set")
    if columns.shape[1] != names.size:
        raise ValueError(f"prediction_set has {columns.shape[1]} columns but classes has {names.size} entries.")
    covered = columns[np.arange(labels.size), _column_of(labels, names)]
    return covered, columns.sum(axis=1)


def _column_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label in `classes`; an error names the labels that are not there."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    if np.any(ordered[1:] == ordered[:-1]):
        raise ValueError("classes holds the same label twice.")
    _check_comparable(labels, "y_true", classes, "classes")
    position = np.minimum(np.searchsorted(ordered, labels), classes.size - 1)
    unknown = ordered[position] != labels
    if unknown.any():
        examples = ", ".join(repr(label) for label in np.unique(labels[unknown])[:5].tolist())
        raise ValueError(f"y_true holds labels that are not in classes: {examples}.")
    return order[position]


def _selection(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check the input of a selection metric; return which rows are right and the confidences, of shape (n_rows,)."""
    truth, guess = _vector(y_true, "y_true"), _vector(y_pred, "y_pred")
    certainty = _vector(confidence, "confidence").astype(np.float64)
    _check_same_length(truth, "y_true", guess, "y_pred")
    _check_same_length(truth, "y_true", certainty, "confidence")
    _check_comparable(truth, "y_true", guess, "y_pred")
    n_missing = int(np.isnan(certainty).sum())
    if n_missing:
        raise ValueError(f"confidence holds NaN in {n_missing} of {certainty.size} rows; such rows cannot be ranked.")
    return np.asarray(truth == guess, dtype=np.bool_), certainty


def _vector(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a non-empty array of one dimension."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension; got an array of shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    return array


def _checked_set(prediction_set: ArrayLike) -> NDArray[np.bool_]:
    """Return `prediction_set` as a boolean array of shape (n_rows, n_classes)."""
    array = np.asarray(prediction_set)
    if array.dtype != np.bool_ or array.ndim != 2:
        raise ValueError(
            "prediction_set must be a boolean array of shape (n_rows, n_classes); "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"prediction_set is empty; got shape {array.shape}.")
    return array


def _check_same_length(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    if len(first) != len(second):
        raise ValueError(f"{first_name} has {len(first)} rows but {second_name} has {len(second)}.")


def _check_comparable(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    """Refuse text against numbers: NumPy calls them unequal, which would read as an error rate of 1."""
    kinds = [array.dtype.kind for array in (first, second)]
    if "O" not in kinds and (kinds[0] in "US") != (kinds[1] in "US"):
        held = f"{first_name} holds {first.dtype} and {second_name} holds {second.dtype}"
        raise ValueError(f"{held}: text and numbers are never equal.")
