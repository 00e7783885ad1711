"""Prediction sets: how often they are right, and how much they leave open; and the checks that all measures share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import codes_of


def u65(y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike) -> float:
    """Utility-discounted accuracy of prediction sets, for a user who mildly prefers "one of these" to a coin flip.

    With ``x = [label in set] / size of the set``, the mean over the rows of ``-0.6 x^2 + 1.6 x`` [1]_. A correct
    single label earns 1, a correct pair 0.65 (a random choice from the pair would earn 0.5), a wrong set 0.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_samples, n_classes)
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
    y_true : array-like of shape (n_samples,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_samples, n_classes)
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
    y_true : array-like of shape (n_samples,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_samples, n_classes)
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


def coverage_by_class(y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike) -> NDArray[np.float64]:
    """Share of the rows of each class whose prediction set contains the true label.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, each one of `classes`.
    prediction_set : array-like of bool of shape (n_samples, n_classes)
        True where a class belongs to the row's set.
    classes : array-like of shape (n_classes,)
        The label of each column, an estimator's ``classes_``.

    Returns
    -------
    ndarray of shape (n_classes,)
        Values in [0, 1], in the order of `classes`; NaN for a class without rows.

    Examples
    --------
    >>> from ferl.metrics import coverage_by_class
    >>> coverage_by_class(["a", "b", "b"], [[True, False], [True, False], [True, True]], ["a", "b"])
    array([1. , 0.5])
    """
    covered, _ = _cover(y_true, prediction_set, classes)
    names = np.asarray(classes)
    columns = column_of(np.asarray(y_true), names)
    counts = np.bincount(columns, minlength=names.size)
    hits = np.bincount(columns, weights=covered, minlength=names.size)
    return np.asarray(np.divide(hits, counts, out=np.full(names.size, np.nan), where=counts > 0))


def determinacy(prediction_set: ArrayLike) -> float:
    """Share of rows whose prediction set holds exactly one class.

    Parameters
    ----------
    prediction_set : array-like of bool of shape (n_samples, n_classes)
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
    prediction_set : array-like of bool of shape (n_samples, n_classes)
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


def _discounted_utility(
    y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike, *, square: float, linear: float
) -> float:
    """The mean of ``square x^2 + linear x`` with ``x = [label in set] / size of the set``."""
    covered, sizes = _cover(y_true, prediction_set, classes)
    discounted = covered / np.maximum(sizes, 1)
    return float(np.mean(square * discounted**2 + linear * discounted))


def _cover(
    y_true: ArrayLike, prediction_set: ArrayLike, classes: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether each set contains its row's label, and the size of each set; both of shape (n_samples,)."""
    (labels,), (names,), columns = vectors(y_true=y_true), vectors(classes=classes), _checked_set(prediction_set)
    check_same_length(labels, "y_true", columns, "prediction_set")
    if columns.shape[1] != names.size:
        raise ValueError(f"prediction_set has {columns.shape[1]} columns but classes has {names.size} entries.")
    covered = columns[np.arange(labels.size), column_of(labels, names)]
    return covered, columns.sum(axis=1)


def column_of(labels: NDArray[Any], classes: NDArray[Any], name: str = "y_true") -> NDArray[np.int32]:
    """The index of each label in `classes`; an error names the labels that are not there."""
    if len(set(classes.tolist())) < classes.size:
        raise ValueError("classes holds the same label twice.")
    codes = codes_of(labels, classes)
    if (codes < 0).any():
        examples = ", ".join(repr(label) for label in np.unique(labels[codes < 0])[:5].tolist())
        raise ValueError(f"{name} holds labels that are not in classes: {examples}.")
    return codes


def vectors(**columns: ArrayLike) -> list[NDArray[Any]]:
    """Arguments by name as arrays of one dimension, not empty and of the same length."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    first = next(iter(arrays))
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name} must have one dimension; got an array of shape {array.shape}.")
        if array.size == 0:
            raise ValueError(f"{name} is empty; at least one row is needed.")
        check_same_length(arrays[first], first, array, name)
    return list(arrays.values())


def _checked_set(prediction_set: ArrayLike) -> NDArray[np.bool_]:
    """`prediction_set` as a boolean array of shape (n_samples, n_classes)."""
    array = np.asarray(prediction_set)
    if array.dtype != np.bool_ or array.ndim != 2:
        raise ValueError(
            "prediction_set must be a boolean array of shape (n_samples, n_classes); "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"prediction_set is empty; got shape {array.shape}.")
    return array


def check_same_length(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    """Refuse arrays with different numbers of rows."""
    if len(first) != len(second):
        raise ValueError(f"{first_name} has {len(first)} rows but {second_name} has {len(second)}.")
