"""A folder of CSV files as data sets: the label is in the column ``class``, and text is a category."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ferl_bench.errors import BenchError

LABEL = "class"


@dataclass(frozen=True, eq=False)
class DataSet:
    """One data set, read but not yet encoded.

    Attributes
    ----------
    name : str
        The file's name without ``.csv``.
    numeric : ndarray of shape (n_rows, n_numeric)
        Numeric features; a missing value is NaN.
    categorical : ndarray of object of shape (n_rows, n_categorical)
        Categories as text.
    y : ndarray of shape (n_rows,)
        Labels as positions in the sorted list of class names, so that every rival sees the same integers.
    class_names : tuple of str
        The labels as they stand in the file.
    digest : str
        SHA-256 of the file, the identity of the data in cached results.
    """

    name: str
    numeric: NDArray[np.float64]
    categorical: NDArray[np.object_]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    digest: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of columns besides the label."""
        return int(self.numeric.shape[1] + self.categorical.shape[1])


def load_folder(folder: Path, names: Sequence[str] | None = None) -> list[DataSet]:
    """Read the CSV files of a folder, in alphabetical order.

    Parameters
    ----------
    folder : Path
        Where the files are.
    names : sequence of str, optional
        The data sets wanted; all of them by default.

    Returns
    -------
    list of DataSet

    Raises
    ------
    BenchError
        The folder does not exist or holds no CSV file, a name is unknown, or a file cannot be used.
    """
    if not folder.is_dir():
        raise BenchError(f"the data folder {folder} does not exist")
    available = {path.stem: path for path in sorted(folder.glob("*.csv"))}
    if not available:
        raise BenchError(f"the data folder {folder} holds no .csv file")
    unknown = [name for name in names or () if name not in available]
    if unknown:
        raise BenchError(f"unknown data set {', '.join(unknown)}; available: {', '.join(available)}")
    return [load_csv(path) for name, path in available.items() if not names or name in names]


def load_csv(path: Path) -> DataSet:
    """Read one CSV file; numbers are numeric features, everything else is a category."""
    content = path.read_bytes()
    try:
        table = pyarrow.csv.read_csv(pa.BufferReader(content))
    except pa.ArrowInvalid as error:
        raise BenchError(f"{path.name} is not a readable CSV file: {str(error).splitlines()[0]}") from error
    if LABEL not in table.column_names:
        raise BenchError(f"{path.name} has no column named {LABEL!r}")
    features = [table.column(name) for name in table.column_names if name != LABEL]
    if not features or not table.num_rows:
        raise BenchError(f"{path.name} has {table.num_rows} rows and {len(features)} features; both must be at least 1")
    class_values, y = _labels(table.column(LABEL), path)
    numbers = [_numbers(column) for column in features if _is_numeric(column)]
    texts = [_texts(column) for column in features if not _is_numeric(column)]
    return DataSet(
        name=path.stem,
        numeric=np.array(numbers, dtype=np.float64).reshape(-1, len(y)).T,
        categorical=np.array(texts, dtype=np.object_).reshape(-1, len(y)).T,
        y=y,
        class_names=tuple(str(value) for value in class_values),
        digest=hashlib.sha256(content).hexdigest(),
    )


def encode(data: DataSet, fitting_rows: NDArray[np.intp], *parts: NDArray[np.intp]) -> tuple[NDArray[np.float64], ...]:
    """Turn rows into numbers, with nothing learned outside the fitting part.

    Numeric features get mean 0 and standard deviation 1 on the fitting rows; categories become one column for each
    value seen there, and a value not seen there is all zeros.

    Parameters
    ----------
    data : DataSet
        The data set.
    fitting_rows : ndarray of int
        Rows the means, deviations and categories are taken from.
    *parts : ndarray of int
        Further rows to encode in the same way.

    Returns
    -------
    tuple of ndarray of shape (n_part_rows, n_encoded)
        The encoded fitting rows, then each of `parts`.
    """
    encoded = [np.empty((data.n_rows, 0))]
    if data.numeric.shape[1]:
        encoded.append(StandardScaler().fit(data.numeric[fitting_rows]).transform(data.numeric))
    if data.categorical.shape[1]:
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        encoded.append(encoder.fit(data.categorical[fitting_rows]).transform(data.categorical))
    matrix = np.hstack(encoded)
    return tuple(matrix[rows] for rows in (fitting_rows, *parts))


def as_tables(data: DataSet, fitting_rows: NDArray[np.intp], *parts: NDArray[np.intp]) -> tuple[Any, ...]:
    """Do as `encode`, but leave categories as they are, for methods that read them.

    Parameters
    ----------
    data : DataSet
        The data set.
    fitting_rows : ndarray of int
        Rows the means and deviations are taken from.
    *parts : ndarray of int
        Further rows.

    Returns
    -------
    tuple of DataFrame or ndarray of shape (n_part_rows, n_features)
        The fitting rows, then each of `parts`: numbers first, then categories as text. Without categories they are the
        arrays that `encode` returns.
    """
    if not data.categorical.shape[1]:
        return encode(data, fitting_rows, *parts)
    import pandas as pd

    numbers = np.empty((data.n_rows, 0))
    if data.numeric.shape[1]:
        numbers = StandardScaler().fit(data.numeric[fitting_rows]).transform(data.numeric)
    columns = {f"x{j}": column for j, column in enumerate(numbers.T)}
    frame = pd.DataFrame(columns | {f"c{j}": column for j, column in enumerate(data.categorical.T)})
    return tuple(frame.iloc[rows] for rows in (fitting_rows, *parts))


def _labels(column: Any, path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels and each row's position among them."""
    if column.null_count:
        raise BenchError(f"{path.name} has {column.null_count} rows without a label in column {LABEL!r}")
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    if len(values) < 2:
        raise BenchError(f"{path.name} has a single class, {values[0]}; there is nothing to learn")
    return values, codes.astype(np.int64)


def _is_numeric(column: Any) -> bool:
    # A column without any value has the null type; as a column of NaN each method says what it makes of it.
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type))


def _numbers(column: Any) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    return numbers


def _texts(column: Any) -> list[str]:
    return [str(value) for value in column.cast(pa.string()).to_pylist()]
