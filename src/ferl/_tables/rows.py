"""Rows as a tree reads them: indicators of missing values behind the columns of the table, and one row alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.schema import Schema
from ferl._util.arrays import LARGEST, NARROWEST, Floats, arrow
from ferl._util.text import shown

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


@dataclass(frozen=True, eq=False)
class OneRow:
    """A row as the tree reads it, and what the tree cannot know of it.

    Attributes
    ----------
    values : ndarray of shape (1, n_columns)
        Numbers and codes of categories, with indicators of missing values behind them.
    unseen : dict
        By the index of the feature: a category that training did not have.
    """

    values: Floats
    unseen: dict[int, Any] = field(default_factory=dict)


def read_row(schema: Schema, missing_features: Sequence[int], x: Any) -> OneRow:
    """A row given as a 1-D array, a table of one row, a pandas Series, or a dict of values by feature.

    Parameters
    ----------
    schema : Schema
        The columns of the training table.
    missing_features : sequence of int
        Features with an indicator.
    x : array-like, data frame, Series or dict
        The row. What has no names goes by the order of the features.

    Returns
    -------
    OneRow
    """
    values = _values_in_order(schema, x)
    encoded = schema.encode_plain(x) if values is None else schema.encode_values([list(map(_plain, values))])
    unseen: dict[int, Any] = {}
    if encoded is None or _may_hold_unseen(schema, encoded):
        table = x if values is None else _table_of(schema, values)
        may_have_unseen = any(schema.lookups) or any(kind.is_ordered for kind in schema.kinds)
        encoded, found = schema.encode(table), schema.unseen(table) if may_have_unseen else {}
        keys = range(len(schema.categories)) if schema.names is None else schema.names
        unseen = {feature: found[key][0] for feature, key in enumerate(keys) if key in found}
    if len(encoded) != 1:
        raise ValueError(
            f"x has {len(encoded)} rows; this is about one. Pass one of them, for example X[0] or X.iloc[0]."
        )
    return OneRow(with_indicators(encoded, missing_features), unseen)


def is_one_row(schema: Schema, x: Any) -> bool:
    """Whether what is given where a table is expected says by itself that it is one row.

    That is a dict or a pandas Series that names the features. Other one-dimensional input may as well be a column, and
    is for scikit-learn to refuse.
    """
    if isinstance(x, Mapping):
        return all(isinstance(value, str) or np.ndim(value) == 0 for value in x.values())
    is_series = hasattr(x, "to_list") and hasattr(x, "index") and not hasattr(x, "columns")
    return is_series and schema.names is not None and set(schema.names) <= set(x.index)


def _may_hold_unseen(schema: Schema, encoded: Floats) -> bool:
    return any(
        (lookup is not None and (not lookup.n_categories or (encoded[:, feature] == lookup.n_categories).any()))
        or (schema.kind(feature).is_ordered and bool(np.isnan(encoded[:, feature]).any()))
        for feature, lookup in enumerate(schema.lookups)
    )


def _plain(value: Any) -> Any:
    """The value as a number of Python's, where that is the same number."""
    return value.item() if isinstance(value, np.float64 | np.integer | np.bool_) else value


def _values_in_order(schema: Schema, x: Any) -> list[Any] | None:
    """One value for each feature; None where ``x`` is a table."""
    values = _values(schema, x)
    n_features = len(schema.categories)
    if values is not None and len(values) != n_features:
        raise ValueError(f"x has {len(values)} values; the model was fitted on {n_features} features.")
    return values


def _values(schema: Schema, x: Any) -> list[Any] | None:
    if isinstance(x, Mapping):
        return _named_values(schema, x)
    if hasattr(x, "to_dict") and hasattr(x, "index") and np.ndim(x) == 1:  # a pandas Series
        index = list(x.index)
        by_name = schema.names is not None and all(isinstance(name, str) for name in index)
        return _named_values(schema, dict(zip(index, x, strict=True))) if by_name else list(x)
    if isinstance(x, list | tuple | np.ndarray):
        n_dimensions = x.ndim if isinstance(x, np.ndarray) else np.ndim(np.array(x, dtype=object))
        if n_dimensions == 1:
            return list(x)
        return list(x[0]) if n_dimensions == 2 and len(x) == 1 else None
    is_series = getattr(x, "ndim", 2) == 1 or (hasattr(x, "to_list") and not hasattr(x, "columns"))
    return list(x) if is_series else None


def _named_values(schema: Schema, values: Mapping[Any, Any]) -> list[Any]:
    names: Sequence[Any] = schema.names or [f"x{j}" for j in range(len(schema.categories))]
    if schema.names is None and all(isinstance(key, int | np.integer) for key in values):
        names = range(len(names))
    known = set(names)
    other = [key for key in values if key not in known]
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
    return [values[name] for name in names]


def _table_of(schema: Schema, values: list[Any]) -> Any:
    """A table of one row, with the names of the features where they have any."""
    if schema.names is None:
        return [values]
    pa = arrow()

    columns = [pa.array(_boxed(value), from_pandas=True) for value in values]
    return pa.table(columns, names=list(schema.names))


def _boxed(value: Any) -> NDArray[Any]:
    cell = np.empty(1, dtype=object)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")  # of nanoseconds NumPy makes a number
    cell[0] = value.item() if isinstance(value, np.generic) else value
    if isinstance(cell[0], int) and not -(2**63) <= cell[0] < 2**63:
        cell[0] = float(cell[0])  # Arrow has no larger whole numbers; a data frame would hold it so, too
    return cell


def refuse_extreme_scales(columns: Schema, low: Floats, high: Floats) -> None:
    """Name the first feature whose range cannot be divided into bands; ``low`` above ``high``: it has no value."""
    with np.errstate(over="ignore"):
        width = high - low
    narrow = (width > 0) & (width < NARROWEST)
    if narrow.any():
        feature = int(np.argmax(narrow))
        raise ValueError(
            f"{columns.label(feature)} varies by {width[feature]:.3g} only; {NARROWEST:.0e} is the least that can be "
            "divided into bands. Rescale it."
        )
    largest = np.fmax(high, -low)
    if (largest > LARGEST).any():
        feature = int(np.argmax(largest > LARGEST))
        raise ValueError(
            f"{columns.label(feature)} holds a value of magnitude {largest[feature]:.3g}; magnitudes up to "
            f"{LARGEST:.0e} can be fitted. Rescale it, or replace it by NaN if it is a code for 'missing'."
        )
