"""The one door for tables: NumPy arrays, lists of rows, and data frames of any library, as columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ferl._tables.columns import Column, array_column, column_label, pandas_column, series_column

_CHOICES = 'names, indices or a boolean mask of columns, "from_dtype" or None'
_MAX_NAMES = 20


@dataclass(frozen=True)
class Table:
    """A table that has passed the checks of its shape; its columns are read once, when they are needed.

    Attributes
    ----------
    names : tuple of str or None
        None: the table has no names, or (pandas) names that are not text; then columns go by their order.
    shape : tuple of int
        Numbers of rows and columns.
    block : ndarray of shape (n_samples, n_columns) or None
        The whole table, if it is in one piece and holds nothing but numbers.
    read : callable
        Reads columns, by their indices.
    """

    names: tuple[str, ...] | None
    shape: tuple[int, int]
    block: NDArray[Any] | None
    read: Callable[[Sequence[int]], list[Column]]

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, in the order of the table."""
        return self.read(range(self.shape[1]))

    def without(self, name: str) -> Table:
        """The table without the column of this name."""
        return self.selected([item for item in self.names or () if item != name])

    def selected(self, names: Sequence[str]) -> Table:
        """The table with these columns, in this order; other columns are not read, and absent ones are missing."""
        index = {name: j for j, name in enumerate(self.names or ())}
        held = [index.get(name) for name in names]
        kept = [j for j in held if j is not None]
        block = None if self.block is None or len(kept) < len(held) else self.block[:, kept]

        def read(some: Sequence[int]) -> list[Column]:
            result = iter(self.read([j for k in some if (j := held[k]) is not None]))
            nothing = np.full(self.shape[0], np.nan)
            return [array_column(names[k], nothing) if held[k] is None else next(result) for k in some]

        return Table(tuple(names), (self.shape[0], len(held)), block, read)


def read_table(X: Any) -> Table:
    """A table of any library, with at least one row and one column.

    Parameters
    ----------
    X : array-like, data frame or Table of shape (n_samples, n_columns)
        The table. A :class:`Table` is passed on, with the columns that have been read.

    Returns
    -------
    Table
    """
    if isinstance(X, Table):
        return X
    pandas = sys.modules.get("pandas")  # not imported: then X is not of pandas
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return _pandas_table(X)
    frame = None if type(X) is np.ndarray else _as_frame(X)  # narwhals would check every library for an array
    if frame is not None:
        return _table(frame.columns, frame.shape, None, frame.iter_columns, series_column)
    array = _as_array(X)
    block = array if array.dtype.kind in "fiu" else None
    return _table(None, array.shape, block, lambda: array.T, array_column)


def _table(
    names: Sequence[Any] | None,
    shape: Any,
    block: NDArray[Any] | None,
    arrays: Callable[[], Any],
    as_column: Callable[[str, Any], Column],
) -> Table:
    """A table from its arrays, once its shape and its names are known to be right."""
    _check_shape(shape)
    known = None if names is None else _checked_names(names)

    def read(some: Sequence[int]) -> list[Column]:
        columns = list(arrays())
        return [as_column(column_label(j, known), columns[j]) for j in some]

    return Table(known, shape, block, read)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse tables without rows or columns, and what is no table, in scikit-learn's words."""
    if len(shape) != 2:
        kinds = {0: "scalar array", 1: "1D array"}
        if len(shape) in kinds:
            raise ValueError(
                f"Expected 2D array, got {kinds[len(shape)]} instead: X has shape {shape}. Reshape your data: "
                "X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
            )
        raise ValueError(f"Found array with dim {len(shape)}; a table has two dimensions, rows and columns.")
    for count, what, remedy in zip(shape, ("sample", "feature"), ("row", "column"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required. Pass at least one "
                f"{remedy}."
            )


def _checked_names(names: Sequence[Any]) -> tuple[str, ...] | None:
    """The names, if all of them are text: scikit-learn's convention."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"Several columns have the same name: {', '.join(map(repr, twice))}. Give each column a different name."
        )
    text = [name for name in names if type(name) is str]
    if text and len(text) < len(names):
        other = next(name for name in names if type(name) is not str)
        raise TypeError(
            f"Some columns have text for a name ({text[0]!r}) and some do not ({other!r}); names are only supported if "
            "all of them are text. Rename them, for example with X.columns = X.columns.astype(str)."
        )
    return tuple(names) if text else None


def _pandas_table(frame: Any) -> Table:
    """A frame of pandas, without the detour by narwhals that takes longer than a small table."""
    is_block = all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in set(frame.dtypes))
    # One array: a hundred thousand columns are not read one by one.
    block = np.asarray(frame) if is_block and frame.shape[1] else None
    columns = (lambda: block.T) if block is not None else (lambda: [series for _, series in frame.items()])
    return _table(frame.columns.tolist(), frame.shape, block, columns, pandas_column)


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A data frame as narwhals has it; None: X is no data frame."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    try:
        # First unwrapped: before 2.20 the stable narwhals does not accept frames of the other one.
        frame = nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)
        if isinstance(frame, nw.DataFrame):
            _ = frame.columns  # narwhals may look for duplicates as late as here
            return frame
    except nw.exceptions.DuplicateError:
        _checked_names(getattr(X, "column_names", None) or list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"{type(X).__name__} is a query that has not been run; its rows are not there yet. Run it first, for "
            "example with X.collect(), or X.compute() if it is of Dask; ferl.dask takes it as it is."
        )
    return None


def _as_array(X: Any) -> NDArray[Any]:
    """What is no data frame as an array, whose values keep their types."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed, but dense data is required. Use X.toarray() to make it dense.")
    if isinstance(X, Mapping) or (isinstance(X, np.ndarray) and X.dtype.names is not None):
        kind = type(X).__name__ if isinstance(X, Mapping) else "structured array"
        raise ValueError(f"X is a {kind}, whose columns have names. Pass a data frame: pandas.DataFrame(X).")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(object), np.nan)  # what is masked is missing
    if not isinstance(X, np.ndarray) and getattr(X, "ndim", 2) == 1:
        raise ValueError(f"Expected a 2-dimensional container but got {type(X).__name__}. Pass a data frame.")
    if not isinstance(X, list | tuple):
        return np.asarray(X)
    first = X[0] if X else None
    if isinstance(first, np.ndarray) and first.dtype.kind in "fiu":
        return np.asarray(X)
    # Objects: NumPy would convert all values to text because of one.
    array = np.array(X, dtype=object)
    lengths = [len(row) if isinstance(row, list | tuple) else None for row in X] if array.ndim == 1 else []
    for row, length in enumerate(lengths):
        if None not in (lengths[0], length) and length != lengths[0]:
            raise ValueError(
                f"Row 0 has {lengths[0]} values and row {row} has {length}. Give every row one value for each feature, "
                "None where it is missing."
            )
    return array


def chosen_features(choice: Any, names: Sequence[str] | None, n_features: int) -> NDArray[np.bool_] | None:
    """The columns that ``categorical_features`` chooses, as a mask, without the columns that their types choose.

    Parameters
    ----------
    choice : "from_dtype", None, or array-like of str, int or bool
        The parameter. "from_dtype" adds none; None: no column holds categories, whatever its type.
    names : sequence of str or None
        The columns' names.
    n_features : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_features,), bool, or None
    """
    if choice is None:
        return None
    if isinstance(choice, str):
        if choice == "from_dtype":
            return np.zeros(n_features, dtype=bool)
        raise ValueError(
            f"categorical_features is {choice!r}; it must be {_CHOICES}. For one column, pass [{choice!r}]."
        )
    try:
        # Objects: NumPy would make text of a list of names and numbers, and a number of a boolean.
        array = np.array(list(choice), dtype=object)
    except TypeError:
        raise ValueError(f"categorical_features is {choice!r}; it must be {_CHOICES}.") from None
    if array.ndim != 1:
        raise ValueError(f"categorical_features has {array.ndim} dimensions; it must be {_CHOICES}, in one dimension.")
    entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in array.tolist()]
    kinds, known = {type(entry) for entry in entries}, names or ()
    if kinds == {bool}:
        if len(entries) != n_features:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} columns; the table has {n_features}. Give it one "
                "entry for each column."
            )
        return np.array(entries)
    if kinds == {str}:
        if names is None:
            raise ValueError(
                f"categorical_features names {entries[0]!r}, but the table has no names. Pass indices, such as "
                "[0, 2], or a data frame."
            )
        if unknown := [name for name in entries if name not in known]:
            raise ValueError(
                f"categorical_features names {', '.join(map(repr, unknown))}; the columns of the table are "
                f"{', '.join(map(repr, known[:_MAX_NAMES]))}{', ...' * (len(known) > _MAX_NAMES)}."
            )
        entries = [index for index, name in enumerate(known) if name in entries]
    elif kinds == {int}:
        if outside := [index for index in entries if not 0 <= index < n_features]:
            raise ValueError(
                f"categorical_features holds {', '.join(map(str, outside))}; the table has {n_features} columns, 0 to "
                f"{n_features - 1}."
            )
    elif kinds:
        held = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"categorical_features holds {held}; it must be {_CHOICES}.")
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[entries] = True
    return mask


def data_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Columns as a data frame of this backend; by default the first that is installed."""
    return nw.from_dict(columns, backend=backend or _installed_backend()).to_native()  # type: ignore[arg-type]


def _installed_backend() -> str:
    for name in ("pandas", "polars", "pyarrow"):
        if find_spec(name) is not None:
            return name
    raise ImportError("A data frame needs pandas, polars or pyarrow. Install one: pip install pandas")
