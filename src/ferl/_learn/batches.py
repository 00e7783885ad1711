"""Batches of rows that can be read several times."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import refuse_missing_labels

BATCH_ROWS = 65_536  # of a Parquet file


class Batch(NamedTuple):
    """Some rows, their labels, and how often each counts."""

    X: Any
    y: ArrayLike
    sample_weight: ArrayLike | None = None


class Batches(Protocol):
    """Rows in batches, as often as they are asked for."""

    @property
    def n_rows(self) -> int | None:
        """Number of all rows, where it is known before they are read."""

    def read(self, features: Sequence[str] | None = None) -> Iterator[Batch]:
        """All rows in batches; ``features``: the only columns of X that will be looked at."""


class GivenBatches:
    """Batches from an iterable or from a function that begins anew at every call.

    An iterator can be read once only: its batches are written to a temporary file while they are read for the first
    time.
    """

    n_rows = None

    def __init__(self, batches: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._begin: Callable[[], Iterable[Any]]
        if callable(batches):
            self._begin = batches
        elif isinstance(batches, Iterator):
            self._begin = _Spool(batches)
        else:
            self._begin = lambda: batches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(self._begin, _Spool):
            self._begin.close()

    def read(self, features: Sequence[str] | None = None) -> Iterator[Batch]:
        """All rows in batches; of arrays and data frames all columns are there already."""
        for place, own in enumerate(self._begin()):
            if not isinstance(own, tuple) or len(own) not in (2, 3):
                raise TypeError(
                    f"Batch {place} is of type {type(own).__name__}; every batch must be a tuple (X, y) or "
                    "(X, y, sample_weight)."
                )
            batch = Batch(*own)
            if np.shape(batch.X)[0] > 0:
                yield batch


class _Spool:
    """An iterator's things, kept in a temporary file once it has been read."""

    def __init__(self, things: Iterator[Any]) -> None:
        self._things = things
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the fit
        self._n_kept: int | None = None

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def __call__(self) -> Iterator[Any]:
        if self._n_kept is None:
            n_kept = 0
            for thing in self._things:
                pickle.dump(thing, self._file, protocol=5)
                n_kept += 1
                yield thing
            self._n_kept = n_kept
            return
        self._file.seek(0)
        for _ in range(self._n_kept):
            yield pickle.load(self._file)


@dataclass(frozen=True)
class ParquetBatches:
    """Rows of a Parquet file, of a folder of them, or of any pyarrow dataset.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
        The rows.
    target : str
        Column of the labels.
    weights : str or None
        Column that says how often each row counts.
    features : tuple of str
        Schema to learn from.
    batch_rows : int
        Rows that are read at a time.
    """

    dataset: Any
    target: str
    weights: str | None
    features: tuple[str, ...]
    batch_rows: int = BATCH_ROWS

    @classmethod
    def open(
        cls,
        source: Any,
        target: str,
        weights: str | None = None,
        features: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> ParquetBatches:
        """Find the columns, and say which ones are not there."""
        import pyarrow.dataset as ds

        if isinstance(source, str | Path):
            if not Path(source).exists():
                raise FileNotFoundError(f"{source} does not exist. Check the path.")
            dataset = ds.dataset(source, format="parquet")
        elif isinstance(source, ds.Dataset):
            dataset = source
        else:
            raise TypeError(f"{type(source).__name__} is neither a path nor a pyarrow dataset. Pass one of these.")
        names = dataset.schema.names
        own = [target, *([] if weights is None else [weights])]
        wanted = [name for name in names if name not in own] if features is None else list(features)
        absent = [name for name in [*own, *wanted] if name not in names]
        if absent:
            raise ValueError(f"There is no column {absent[0]!r}; the columns are {', '.join(map(repr, names[:20]))}.")
        if target in wanted or weights in wanted:
            raise ValueError("Target and weights are among the features; name them once.")
        if not wanted:
            raise ValueError("There is no column to learn from besides target and weights.")
        if batch_rows < 1:
            raise ValueError(f"batch_rows is {batch_rows}; it must be at least 1.")
        return cls(dataset, target, weights, tuple(wanted), batch_rows)

    def holds_numbers(self, feature: str) -> bool:
        """Whether the type of a column is one of numbers."""
        import pyarrow as pa

        held = self.dataset.schema.field(feature).type
        return bool(pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held))

    @property
    def n_rows(self) -> int:
        """Number of all rows, from the files' own notes."""
        return int(self.dataset.count_rows())

    def read(self, features: Sequence[str] | None = None) -> Iterator[Batch]:
        """All rows in batches; columns that will not be looked at are not read from disk."""
        chosen = list(self.features if features is None else features)
        own = [self.target, *([] if self.weights is None else [self.weights])]
        # Two batches ahead and no more: each may be large, and Arrow's own default is sixteen.
        scan = self.dataset.to_batches(
            columns=[*chosen, *own], batch_size=self.batch_rows, batch_readahead=2, fragment_readahead=1
        )
        import pyarrow as pa

        for record in scan:
            if record.num_rows:
                table = pa.Table.from_batches([record])
                weight = None if self.weights is None else _numbers(table[self.weights], self.weights)
                yield Batch(table.select(chosen), labels_of(table[self.target]), weight)


def labels_of(y: Any) -> NDArray[Any]:
    """Labels as an array; those of Arrow in NumPy's types."""
    if hasattr(y, "combine_chunks"):
        import pyarrow as pa

        held = y.type.value_type if pa.types.is_dictionary(y.type) else y.type
        y = y.cast(held).to_numpy(zero_copy_only=False) if isinstance(y, pa.Array) else y.cast(held).to_numpy()
    refuse_missing_labels(y)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"The labels of a batch have shape {labels.shape}; they must be one for each row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN. Leave rows without a label out.")
    return labels


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"Column {name!r} holds {column.type}; weights must be numbers.") from error
