"""Any table as columns: NumPy arrays, lists of rows, and the data frames that narwhals knows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ferl._tables.column import Column, array_column, arrow_column


@dataclass(frozen=True)
class Table:
    """A table that has passed the checks of its shape; its columns are read when they are asked for.

    Attributes
    ----------
    names : tuple of str or None
        None: the table has no names, or (pandas) names that are not text; then columns go by their order.
    shape : tuple of int
        Numbers of rows and columns.
    native : object
        The table as the library it came from has it; a list as an array.
    block : ndarray of shape (n_samples, n_columns) or None
        The whole table, if it is in one piece and holds nothing but numbers.
    read : callable
        Reads all columns.
    """

    names: tuple[str, ...] | None
    shape: tuple[int, int]
    native: Any
    block: NDArray[Any] | None
    read: Callable[[], list[Column]]

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, in the order of the table."""
        return self.read()


def label(index: int, names: tuple[str, ...] | None) -> str:
    """What errors call a column."""
    return f"Feature {index}" if names is None else f"Column {names[index]!r}"


def read_table(X: Any) -> Table:
    """A table of any kind, with at least one row and one column.

    Parameters
    ----------
    X : array-like, data frame or Table of shape (n_samples, n_columns)
        The table. A :class:`Table` is passed on, with what has been read of it.

    Returns
    -------
    Table
    """
    if isinstance(X, Table):
        return X
    frame = as_frame(X)
    return _read_array(as_array(X)) if frame is None else _read_frame(frame)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse tables without rows or columns, and what is no table, in scikit-learn's words."""
    if len(shape) != 2:
        kinds = {0: "scalar array", 1: "1D array"}
        if len(shape) in kinds:
            raise ValueError(
                f"Expected 2D array, got {kinds[len(shape)]} instead: X has shape {shape}. Reshape it: "
                "X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
            )
        raise ValueError(f"Found array with dim {len(shape)}; a table has two dimensions, rows and columns.")
    for count, what, remedy in zip(shape, ("sample", "feature"), ("row", "column"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s): X has shape {shape}. Pass at least one {remedy}.")


# ---------------------------------------------------------------------------------------------------------------------
# Data frames
# ---------------------------------------------------------------------------------------------------------------------


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A data frame as narwhals has it; None: X is no data frame."""
    if type(X) is np.ndarray:
        return None  # at once: narwhals asks every library it knows
    pyarrow = sys.modules.get("pyarrow")  # not imported: then X is not of pyarrow
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    try:
        # First unwrapped: before 2.20 the stable narwhals does not know frames of the other one.
        frame = nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)
        if isinstance(frame, nw.DataFrame):
            _ = frame.columns  # narwhals may look for duplicates as late as here
            return frame
    except nw.exceptions.DuplicateError as error:
        names = getattr(X, "column_names", None) or X.columns
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(
            f"Several columns have the same name: {', '.join(map(repr, twice))}. Give every column its own."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"{type(X).__name__} is a query that has not been run; its rows are not there yet. Run it first, for "
            "example with X.collect(), or X.compute() if it is of Dask; ferl.dask takes it as it is."
        )
    return None


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    shape = frame.shape
    _check_shape(shape)
    names = _names(frame.columns)

    def read() -> list[Column]:
        return [_series_column(label(index, names), series) for index, series in enumerate(frame.iter_columns())]

    return Table(names, shape, frame.to_native(), _block(frame), read)


def _names(names: list[str]) -> tuple[str, ...] | None:
    """The names, if all of them are text: scikit-learn's convention."""
    text = [name for name in names if type(name) is str]
    if len(text) == len(names):
        return tuple(names)
    if text:
        other = next(name for name in names if type(name) is not str)
        raise TypeError(
            f"Some columns have text for a name ({text[0]!r}) and some do not ({other!r}); names are only supported if "
            "all of them are text. Rename them, for example with X.columns = X.columns.astype(str)."
        )
    return None


def _block(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """A pandas frame of NumPy's numbers as one array: a hundred thousand columns are not read one by one."""
    if not frame.implementation.is_pandas():
        return None
    native = frame.to_native()
    if all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in set(native.dtypes)):
        return np.asarray(native)
    return None


def _series_column(name: str, series: Any) -> Column:
    native = series.to_native()
    dtype = getattr(native, "dtype", None)
    # Columns of pandas in NumPy's types, and its sparse ones, which densify; and objects in polars.
    if isinstance(dtype, np.dtype) or hasattr(native, "sparse") or series.dtype == nw.Object:
        return array_column(name, np.asarray(native))
    if series.dtype in (nw.Int128, nw.UInt128):  # Arrow has no such type
        series = series.cast(nw.Float64)
        native = series.to_native()
    if series.implementation.is_pyarrow():
        return arrow_column(name, native)  # in chunks: together they may be too long for one array
    try:
        array = series.alias("").to_arrow()  # polars panics at names with a NUL in them
    except (ValueError, TypeError, NotImplementedError):
        # Arrow's own errors, by their Python types. Looking at each value tells which one it was.
        return array_column(name, np.asarray(native, dtype=object))
    return arrow_column(name, array)


# ---------------------------------------------------------------------------------------------------------------------
# Arrays and lists
# ---------------------------------------------------------------------------------------------------------------------


def as_array(X: Any) -> NDArray[Any]:
    """What is no data frame as an array, whose values keep their types."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed, but dense data is required. Use X.toarray() to make it dense.")
    if isinstance(X, list | tuple):
        return _rows_as_objects(X)
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(object), np.nan)  # what is masked is missing
    if not isinstance(X, np.ndarray) and getattr(X, "ndim", 2) == 1:
        raise ValueError(f"Expected a 2-dimensional container but got {type(X).__name__}. Pass a data frame.")
    return np.asarray(X)


def _read_array(array: NDArray[Any]) -> Table:
    _check_shape(array.shape)
    block = array if array.dtype.kind in "fiu" else None

    def read() -> list[Column]:
        return [array_column(label(index, None), array[:, index]) for index in range(array.shape[1])]

    return Table(None, array.shape, array, block, read)


def _rows_as_objects(rows: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """Rows of values in their own types; left alone, NumPy would make text of all of them for the sake of one."""
    first = rows[0] if rows else None
    if isinstance(first, np.ndarray) and first.dtype.kind in "fiu":
        return np.asarray(rows)
    table = np.array(rows, dtype=object)
    if table.ndim == 1:
        lengths = [len(row) if isinstance(row, list | tuple) else None for row in rows]
        for row, length in enumerate(lengths):
            if None not in (lengths[0], length) and length != lengths[0]:
                raise ValueError(
                    f"Row 0 has {lengths[0]} values and row {row} has {length}. Give every row one value for each "
                    "feature, None where it is missing."
                )
    return table
