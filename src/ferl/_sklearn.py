"""The one place where names that scikit-learn does not document are imported."""

from typing import Any, Self

import narwhals.stable.v2 as nw
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing, validation
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "check_parameters", "fit_context", "remember_columns", "take_rows"]


def check_parameters(estimator: Any) -> None:
    """Refuse parameters out of their range; ``fit_context`` leaves those of a fitted model unchecked in partial_fit."""
    estimator._validate_params()


def take_rows(table: Any, rows: Any) -> Any:
    """Return the rows of these indices, in a table of the same type."""
    # scikit-learn 1.6 cannot take rows of an Arrow table.
    return table.take(rows) if nw.dependencies.is_pyarrow_table(table) else _safe_indexing(table, rows)


def remember_columns(estimator: Any, table: Any, *, reset: bool = True) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_``, or compare a table with them (``reset=False``)."""
    if nw.dependencies.is_into_dataframe(table) and validation._get_feature_names(table) is None:
        table = _NamedColumns(nw.from_native(table, eager_only=True))
    validation.validate_data(estimator, table, reset=reset, skip_check_array=True)


class _NamedColumns:
    """The names of a data frame for scikit-learn before 1.9: it asks for ``__dataframe__``, which polars 2 lacks."""

    def __init__(self, table: nw.DataFrame[Any]) -> None:
        self.shape = table.shape
        self._names = table.columns

    def __dataframe__(self) -> Self:
        return self

    def column_names(self) -> list[str]:
        """Return the names."""
        return self._names
