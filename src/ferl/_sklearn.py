"""What ferl takes from scikit-learn: names that it does not document, and its checks of what an estimator is given."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params as rows_of_parameters
from sklearn.utils.validation import check_consistent_length, check_X_y

from ferl._tables import (
    NOTHING_SAID,
    Schema,
    TableDescription,
    distinct_labels,
    is_one_row,
    plain_labels,
    read_row,
    read_table,
    refuse_missing_labels,
    with_derived,
)
from ferl._tables.labels import distinct_text, label_markers
from ferl._tables.table import Table
from ferl._util.arrays import Floats, Ints, core_ready
from ferl._util.threads import n_threads

# Passed on to other modules.
__all__ = ["HasMethods", "Interval", "StrOptions", "fit_context", "routing_enabled", "rows_of_parameters"]

# Classes and values of parameters that scikit-learn has found to be in their range.
_VALID: set[tuple[Any, ...]] = set()
_MOST_VALID = 1024


class LinkedToDocs:
    """An estimator whose box in a notebook links to the page of ferl, as scikit-learn's link to theirs."""

    _doc_link_module = "ferl"
    _doc_link_template = "https://pypi.org/project/ferl/"  # Homepage in pyproject.toml


class RemembersValidParameters(LinkedToDocs, BaseEstimator):
    """An estimator whose parameters are compared with their ranges once for each set of values.

    The comparison takes an eighth of the time of a fit of a small table, and cross-validation repeats it with the same
    values. Values that are not plain numbers and text are compared every time.
    """

    def _validate_params(self) -> None:
        values = tuple(self.get_params(deep=False).values())
        if not all(value is None or type(value) in (bool, int, float, str) for value in values):
            super()._validate_params()
            return
        known = (type(self), values, tuple(map(type, values)))  # True is 1 to Python, not to every parameter
        if known in _VALID:
            return
        super()._validate_params()
        if len(_VALID) >= _MOST_VALID:
            _VALID.clear()
        _VALID.add(known)


class ShownAsCard(BaseEstimator):
    """An estimator that a notebook shows as a card above scikit-learn's box, once it is fitted."""

    def _card_html(self) -> str:
        """The card; "" before the fit."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return f"{self._card_html()}{super()._repr_html_inner()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        # Without HTML where scikit-learn's display is set to text.
        return bundle | {name: f"{self._card_html()}{item}" for name, item in bundle.items() if name == "text/html"}


def check_parameters(estimator: Any) -> None:
    """Refuse parameters out of their range; ``fit_context`` does not check them when partial_fit continues."""
    estimator._validate_params()


def take_rows(table: Any, rows: Any) -> Any:
    """Return the rows of these indices, in a table of the same type."""
    # scikit-learn 1.6 cannot take rows of an Arrow table.
    return table.take(rows) if nw.dependencies.is_pyarrow_table(table) else _safe_indexing(table, rows)


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of a fitted classifier that differ from the defaults, with their values."""
    defaults, parameters = type(estimator)().get_params(), estimator._fitted_parameters()
    return {name: value for name, value in parameters.items() if str(value) != str(defaults[name])}


def checked_input(estimator: Any, X: Any, reset: bool = False) -> Table:
    """A table that has passed the checks of its shape.

    Parameters
    ----------
    estimator : BaseEstimator
        Named in errors.
    X : array-like, data frame or Table of shape (n_samples, n_features)
        The table.
    reset : bool, default=False
        Whether the estimator gets ``n_features_in_`` and ``feature_names_in_`` of this table; otherwise those it has
        are compared with the table's, unless both have names: :class:`Schema` finds columns by name, in any order.

    Returns
    -------
    Table
    """
    table = read_table(X)
    if reset:
        remember_columns(estimator, table)
        return table
    had_names, name = hasattr(estimator, "feature_names_in_"), type(estimator).__name__
    if had_names and table.names is not None:
        return table
    # In scikit-learn's words, which its checks look for.
    if had_names:
        warnings.warn(f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=2)
    elif table.names is not None:
        warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=2)
    if table.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {table.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. "
            "Pass the columns of the training table, in the same order."
        )
    return table


def remember_columns(estimator: Any, table: Any) -> None:
    """Set ``n_features_in_`` and, where the table has names, ``feature_names_in_``."""
    table = read_table(table)
    estimator.n_features_in_ = table.shape[1]
    if table.names is not None:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def learn_table(
    estimator: Any,
    X: Any,
    y: Any,
    categorical_features: Any = "from_dtype",
    description: TableDescription = NOTHING_SAID,
) -> tuple[Floats, Schema, NDArray[Any], Ints]:
    """A training table as numbers, its columns, the distinct labels, and each row's label as a code.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and, if the table has names, ``feature_names_in_``.
    X : array-like or data frame of shape (n_samples, n_features)
        The table; it may have categories and missing values.
    y : array-like of shape (n_samples,)
        The labels.
    categorical_features : "from_dtype", None, or array-like of str, int or bool, default="from_dtype"
        As in :meth:`Schema.learn`.
    description : TableDescription, default=NOTHING_SAID
        Description of the table.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float64
        As :meth:`Schema.encode` gives it.
    columns : Schema
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,), int32

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ferl._sklearn import encode_rows, learn_table
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
    table = checked_input(estimator, X, reset=True)
    classes, codes = learn_labels(estimator, y, table.shape)
    threads = n_threads(getattr(estimator, "n_jobs", None))
    columns, rows = Schema.learn_rows(table, categorical_features, threads, description.with_target_of(y))
    return core_ready(rows), columns, classes, codes


def learn_labels(
    estimator: Any, y: Any, shape: tuple[int, ...], known: Collection[Any] = ()
) -> tuple[NDArray[Any], Ints]:
    """The distinct labels of a table of this shape, and each row's label as a code; ``known``: classes known before."""
    if type(y) is np.ndarray and y.dtype.kind in "iu" and y.shape == shape[:1] and len(y) > 0:
        classes, codes = distinct_labels(y)
        if 2 * len(classes) <= len(y):  # scikit-learn warns of more; otherwise it has no check for whole numbers
            return classes, codes
    y = plain_labels(y)
    rows = np.broadcast_to(0.0, shape)  # the shape is all that labels are compared with; a view of one zero has it
    text = distinct_text(np.asarray(y)) if isinstance(y, np.ndarray | list | tuple) or hasattr(y, "to_numpy") else None
    if text is None or label_markers(text[0].tolist(), known):
        refuse_missing_labels(y, known)
    try:
        if text is None:
            _, y = check_X_y(rows, y, dtype=None, ensure_all_finite=False, estimator=estimator)
        else:  # scikit-learn would look at each text in Python
            check_consistent_length(rows, text[1])
    except ValueError as error:
        if "inconsistent numbers of samples" in str(error):
            raise ValueError(f"{error} Pass one label for each row of X.") from error
        raise
    try:
        check_classification_targets(y if text is None else text[1])
        return distinct_labels(y) if text is None else text
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in np.asarray(y, dtype=object).tolist()})
        raise ValueError(
            f"y holds labels of types that have no order ({', '.join(kinds)}). Make all of them text: y.astype(str)."
        ) from error


def encode_rows(estimator: Any, columns: Schema, X: Any, needed: Collection[int] | None = None) -> Floats:
    """Rows for a fitted estimator, as numbers.

    Columns with names are found by their names, in any order. When only one of the two tables has names,
    scikit-learn warns, and columns go by their order.

    Parameters
    ----------
    estimator : BaseEstimator
        Has been given its features by :func:`learn_table`.
    columns : Schema
        Those of the training table.
    X : array-like or data frame of shape (n_samples, n_features), or one row as a Series or dict
        The rows.
    needed : collection of int, default=None
        Features that they must have, as in :meth:`Schema.fitting`.

    Returns
    -------
    ndarray of shape (n_samples, n_features), float64
    """
    threads = n_threads(getattr(estimator, "n_jobs", None))
    encoded = columns.encode_plain(X, threads)
    if encoded is None and is_one_row(columns, X, needed):
        encoded = read_row(columns, (), X, needed).values
    if encoded is None:
        encoded = columns.encode(columns.fitting(checked_input(estimator, X), needed), threads)
    return core_ready(encoded)


def check_rows(estimator: Any, X: Any, *, is_training: bool = False) -> Floats:
    """Rows for a fitted classifier as its tree reads them: numbers, and its derived columns.

    Rows to learn from have all columns, and no others; rows to judge need only the columns that the model reads.
    """
    model = estimator.model_
    needed = None if is_training else model.read_features
    return with_derived(encode_rows(estimator, estimator.columns_, X, needed), model.derived)
