"""Indicators: columns that say whether a value is missing, behind those of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.reading import read_table
from ferl._tables.schema import Schema
from ferl._tables.weights import _LARGEST, _NARROWEST, _core_ready, _remedies, refuse_missing_labels
from ferl._util.arrays import Floats
from ferl._util.threads import n_threads

INDICATOR_CATEGORIES = ("known", "missing")
"""The two categories of an indicator, in the order of their codes."""


def with_indicators(X: Floats, features: Sequence[int]) -> Floats:
    """The table with one more column for each of these features: 1 where its value is missing, else 0."""
    if not features:
        return X
    return np.hstack([X, np.isnan(X[:, list(features)]).astype(np.float64)])


def add_up_indicators(parts: Floats, features: Sequence[int]) -> Floats:
    """Parts of the features, each with that of its indicator, where it has one."""
    if not features:
        return parts
    n_features = parts.shape[1] - len(features)
    out = parts[:, :n_features].copy()
    out[:, list(features)] += parts[:, n_features:]
    return out


def learn_table(
    estimator: Any, X: Any, y: Any, categorical_features: Any = "from_dtype"
) -> tuple[Floats, Schema, NDArray[Any], NDArray[np.int32]]:
    """A training table as numbers, its columns, the distinct labels, and each row's label as a code.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and, if the table has names, ``feature_names_in_``.
    X : array-like or data frame of shape (n_rows, n_features)
        The table; categories and missing values are welcome.
    y : array-like of shape (n_rows,)
        The labels.
    categorical_features : "from_dtype", None, or array-like of str, int or bool
        As in :meth:`Schema.learn`.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float64
        As :meth:`Schema.encode` gives it.
    columns : Schema
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_rows,), int32

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ferl._tables import encode_rows, learn_table
    >>> estimator = DecisionTreeClassifier()  # any; it remembers the features
    >>> rows, columns, classes, codes = learn_table(estimator, [[0.5, "red"], [1.5, None]], ["yes", "no"])
    >>> rows
    array([[0.5, 0. ],
           [1.5, nan]])
    >>> classes[codes].tolist(), estimator.n_features_in_
    (['yes', 'no'], 2)
    >>> encode_rows(estimator, columns, [[2.5, "red"]])
    array([[2.5, 0. ]])
    """
    from ferl._sklearn import remember_columns

    refuse_missing_labels(y)
    with _remedies():
        table = read_table(X, estimator)
        remember_columns(estimator, table.native)
    classes, codes = learn_labels(estimator, y, table.shape)
    threads = n_threads(getattr(estimator, "n_jobs", None))
    columns = Schema.learn(table, categorical_features, threads)
    return _core_ready(columns.encode(table, threads)), columns, classes, codes


def learn_labels(estimator: Any, y: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The distinct labels of a table of this shape, and each row's label as a code."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_X_y

    refuse_missing_labels(y)
    with _remedies():
        # The shape is all that labels are compared with; a view of one zero has it.
        _, y = check_X_y(np.broadcast_to(0.0, shape), y, dtype=None, ensure_all_finite=False, estimator=estimator)
    check_classification_targets(y)
    return distinct_labels(y)


def distinct_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The distinct labels, sorted, and each row's place among them: `numpy.unique`, without a sort where it can be."""
    if y.dtype.kind in "iu" and len(y) > 0:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and high < 2**63:
            offset = y.astype(np.int64) - low
            present = np.bincount(offset) > 0
            return (np.flatnonzero(present) + low).astype(y.dtype), (np.cumsum(present) - 1).astype(np.int32)[offset]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def encode_rows(estimator: Any, columns: Schema, X: Any) -> Floats:
    """Rows for a fitted estimator, as numbers.

    Schema with names are found by their names, in any order. When only one of the two tables has names,
    scikit-learn warns, and columns go by their places.

    Parameters
    ----------
    estimator : BaseEstimator
        Has been given its features by :func:`learn_table`.
    columns : Schema
        Those of the training table.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows.

    Returns
    -------
    ndarray of shape (n_rows, n_features), float64
    """
    from ferl._sklearn import remember_columns

    with _remedies():
        table = read_table(X, estimator)
        if columns.names is None or table.names is None:
            remember_columns(estimator, table.native, reset=False)
        return _core_ready(columns.encode(table, n_threads(getattr(estimator, "n_jobs", None))))


def check_rows(estimator: Any, X: Any) -> Floats:
    """Rows for a fitted classifier as its tree reads them: numbers, and indicators of missing values if it has any."""
    return with_indicators(encode_rows(estimator, estimator.columns_, X), estimator.missing_features_)


def refuse_extreme_scales(columns: Schema, low: Floats, high: Floats) -> None:
    """Name the first feature whose range cannot be divided into bands; ``low`` above ``high``: it has no value."""
    with np.errstate(over="ignore"):
        width = high - low
    narrow = (width > 0) & (width < _NARROWEST)
    if narrow.any():
        feature = int(np.argmax(narrow))
        raise ValueError(
            f"{columns.label(feature)} varies by {width[feature]:.3g} only; {_NARROWEST:.0e} is the least that can be "
            "divided into bands. Rescale it."
        )
    largest = np.fmax(high, -low)
    if (largest > _LARGEST).any():
        feature = int(np.argmax(largest > _LARGEST))
        raise ValueError(
            f"{columns.label(feature)} holds a value of magnitude {largest[feature]:.3g}; magnitudes up to "
            f"{_LARGEST:.0e} can be fitted. Rescale it, or replace it by NaN if it is a code for 'missing'."
        )
