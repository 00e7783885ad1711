"""One row, in whatever form it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl._tables import check_rows
from ferl._util.arrays import Floats
from ferl._util.text import shown

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


@dataclass(frozen=True, eq=False)
class OneRow:
    """A row as the tree reads it, and what the tree cannot know of it.

    Attributes
    ----------
    values : ndarray of shape (1, n_columns)
        Numbers and codes of categories, with indicators of missing values behind them.
    unseen : dict
        By the number of the feature: a category that training did not have.
    """

    values: Floats
    unseen: dict[int, Any] = field(default_factory=dict)


def read_row(estimator: FERLClassifier, x: Any) -> OneRow:
    """A row given as a 1-D array, a table of one row, a pandas Series, or a dict of values by feature.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    x : array-like, data frame, Series or dict
        The row. What has no names goes by the places of the features.

    Returns
    -------
    OneRow
    """
    check_is_fitted(estimator)
    table = _as_table(estimator, x)
    values = check_rows(estimator, table)
    if len(values) != 1:
        raise ValueError(
            f"x has {len(values)} rows; an explanation is about one. Pass one of them, for example X[0] or X.iloc[0]."
        )
    columns = estimator.columns_
    found = columns.unseen(table) if any(own is not None for own in columns.categories) else {}
    places = range(len(columns.categories)) if columns.names is None else columns.names
    unseen = {place: found[key][0] for place, key in enumerate(places) if key in found}
    return OneRow(values, unseen)


def _as_table(estimator: FERLClassifier, x: Any) -> Any:
    if isinstance(x, Mapping):
        return _named(estimator, x)
    if hasattr(x, "to_dict") and hasattr(x, "index") and np.ndim(x) == 1:  # a pandas Series
        index = list(x.index)
        by_name = estimator.columns_.names is not None and all(isinstance(name, str) for name in index)
        return _named(estimator, dict(zip(index, x, strict=True))) if by_name else _placed(estimator, list(x))
    if isinstance(x, list | tuple | np.ndarray):
        n_dimensions = np.ndim(np.array(x, dtype=object))
        if n_dimensions == 1:
            return _placed(estimator, list(x))
        if n_dimensions == 2 and len(x) == 1:
            return _placed(estimator, list(x[0]))
    elif getattr(x, "ndim", 2) == 1 or (hasattr(x, "to_list") and not hasattr(x, "columns")):
        return _placed(estimator, list(x))
    return x


def _named(estimator: FERLClassifier, values: Mapping[Any, Any]) -> Any:
    known = estimator.columns_.names
    names: Sequence[Any] = [f"x{j}" for j in range(estimator.n_features_in_)] if known is None else known
    if known is None and all(isinstance(key, int | np.integer) for key in values):
        names = range(len(names))
    other = [key for key in values if key not in set(names)]
    if other:
        raise ValueError(
            f"x has a value for {shown(other[0])}, which is no feature of the model. Leave it out; the features are "
            f"{shown(list(names))}."
        )
    lacking = [name for name in names if name not in values]
    if lacking:
        raise ValueError(
            f"x has no value for {shown(lacking[0])}, a feature of the model. Add it; None says that it is missing."
        )
    return _placed(estimator, [values[name] for name in names])


def _placed(estimator: FERLClassifier, values: list[Any]) -> Any:
    """A table of one row, with the names of the features where they have any."""
    if len(values) != estimator.n_features_in_:
        raise ValueError(f"x has {len(values)} values; the model was fitted on {estimator.n_features_in_} features.")
    names = estimator.columns_.names
    if names is None:
        return [values]
    import pyarrow as pa

    columns = [pa.array(_boxed(value), from_pandas=True) for value in values]
    return pa.table(columns, names=list(names))


def _boxed(value: Any) -> NDArray[Any]:
    cell = np.empty(1, dtype=object)
    cell[0] = value.item() if isinstance(value, np.generic) else value
    return cell
