"""Dask collections as partitions: rows, labels and weights side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed

from ferl._learn.rows import Batch

_TABLES = "a dask DataFrame or a two-dimensional dask Array"
_COLUMNS = "a dask Series or a one-dimensional dask Array"


def is_dask_table(X: Any) -> bool:
    """Whether X is a data frame or an array of Dask."""
    return isinstance(X, dd.DataFrame | da.Array)


def one_column_chunk(X: Any) -> Any:
    """An array whose chunks hold whole rows."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


@dataclass(frozen=True)
class Parts:
    """A table, its labels and its weights, partition by partition.

    Nothing is kept: every look at the rows computes them again, from the files they came from, say. (Collections that
    the caller has persisted are there already.)

    Attributes
    ----------
    X : dask DataFrame or Array of shape (n_rows, n_features)
        The rows.
    y : dask Series or Array of shape (n_rows,)
        Labels.
    sample_weight : dask Series or Array of shape (n_rows,), or None
        How often each row counts.
    """

    X: Any
    y: Any
    sample_weight: Any = None

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any = None) -> Parts:
        """Refuse what is not of Dask, or not cut in the same places."""
        if not is_dask_table(X) or X.ndim != 2:
            raise TypeError(
                f"X is {_described(X)}; it must be {_TABLES}. Make one, for example with dask.dataframe.from_pandas or "
                "dask.array.from_array, or fit a ferl.FERLClassifier."
            )
        if X.shape[1] == 0:
            raise ValueError("X has no columns. Pass at least one.")
        X = one_column_chunk(X) if isinstance(X, da.Array) else X
        for name, column in (("y", y), ("sample_weight", sample_weight)):
            if name == "y" or column is not None:
                _check_column(name, column, X)
        return cls(X, y, sample_weight)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if all of them are text."""
        names = tuple(getattr(self.X, "columns", ()))
        return names if names and all(type(name) is str for name in names) else None

    def holds_numbers(self, feature: str) -> bool:
        """Whether the type of a column of a data frame is one of numbers."""
        dtype = self.X.dtypes[feature]
        return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)

    def delayed(self, features: Sequence[str] | None = None) -> list[Any]:
        """Of each partition, delayed: its rows, labels, and weights or None; ``features``: the only columns of X."""
        X = self.X if features is None else self.X[list(features)]
        columns = [self.y] if self.sample_weight is None else [self.y, self.sample_weight]
        if all(isinstance(own, dd.DataFrame | dd.Series) for own in (X, *columns)):
            # One expression: what the three have in common, such as a file, is read once.
            meta = pd.Series(dtype=object)
            return _delayed(
                X.map_partitions(_packed, *columns, meta=meta, enforce_metadata=False, align_dataframes=False)
            )
        return [delayed(_packed, pure=False)(*own) for own in zip(*map(_delayed, (X, *columns)), strict=True)]


def _packed(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, sample_weight


def batch_of(part: tuple[Any, Any, Any], place: int) -> Batch:
    """A partition as it is in a worker; ``place``: its number, for the error."""
    X, y, sample_weight = part
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"Partition {place} of X has {len(X)} rows and that of {name} has {len(column)}. Cut both in the same "
                "places: take them from one table, or rechunk one like the other."
            )
    return Batch(X, y, sample_weight)


def _delayed(collection: Any) -> list[Any]:
    """The partitions of a collection, each with what it takes to compute it: no more columns than needed, say.

    Dask would also make other partitions of them, by reading small files together. Here it must not: every pass asks
    for other columns, and a partition must be the same rows in all of them. Where Dask does so all the same, as
    versions do that have no such setting, nothing is optimised.
    """
    with dask.config.set({"optimization.tune.active": False}):
        parts = list(np.ravel(collection.to_delayed()))
    return parts if len(parts) == _n_parts(collection) else list(np.ravel(collection.to_delayed(optimize_graph=False)))


def _n_parts(collection: Any) -> int:
    return int(collection.numblocks[0]) if isinstance(collection, da.Array) else int(collection.npartitions)


def _check_column(name: str, column: Any, X: Any) -> None:
    if not isinstance(column, dd.Series | da.Array) or column.ndim != 1:
        raise TypeError(f"{name} is {_described(column)}; it must be {_COLUMNS}, cut in the same places as X.")
    if _n_parts(column) != _n_parts(X):
        raise ValueError(
            f"X has {_n_parts(X)} partitions and {name} has {_n_parts(column)}. Cut both in the same places: take them "
            "from one table, or rechunk one like the other."
        )
    if isinstance(X, da.Array) and isinstance(column, da.Array):
        both_known = not np.isnan(X.chunks[0]).any() and not np.isnan(column.chunks[0]).any()
        if both_known and X.chunks[0] != column.chunks[0]:
            raise ValueError(
                f"The chunks of X have {_listed(X.chunks[0])} rows and those of {name} {_listed(column.chunks[0])}. "
                f"Pass {name}.rechunk((X.chunks[0],))."
            )
    both_divided = all(getattr(own, "known_divisions", False) for own in (X, column))
    if both_divided and X.divisions != column.divisions:
        raise ValueError(
            f"X is divided at {_listed(X.divisions)} and {name} at {_listed(column.divisions)}. Pass "
            f"{name}.repartition(divisions=list(X.divisions))."
        )


def _described(given: Any) -> str:
    kind = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"
    return f"of type {kind}" + (f" with {given.ndim} dimensions" if isinstance(given, da.Array) else "")


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:5])) + (", ..." if len(values) > 5 else "")
