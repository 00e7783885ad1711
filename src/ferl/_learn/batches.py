"""Training rows in batches that can be read several times."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._learn.rows import Batch, Block, CategoryNames, Facts, Fold, State, weight_scale
from ferl._learn.survey import RowForm, Survey, Tally, batch_weight
from ferl._models.settings import Settings
from ferl._tables import NOTHING_SAID, Schema, TableDescription
from ferl._tables.table import chosen_features
from ferl._util.arrays import Floats, Ints, arrow, core_ready

BATCH_ROWS = 65_536  # of a Parquet file
Moved = Callable[[str, int], object]  # called with the current step and the number of finished rows


class Batches(Protocol):
    """Rows in batches, which can be read repeatedly."""

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
        for index, given in enumerate(self._begin()):
            if not isinstance(given, tuple) or len(given) not in (2, 3, 4):
                raise TypeError(
                    f"Batch {index} is of type {type(given).__name__}; every batch must be a tuple (X, y), "
                    "(X, y, sample_weight) or (X, y, sample_weight, groups)."
                )
            batch = Batch(*given)
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
        Column with the weight of each row.
    features : tuple of str
        Columns to learn from.
    batch_rows : int
        Rows that are read at a time.
    groups : str or None
        Column with the group of each row.
    """

    dataset: Any
    target: str
    weights: str | None
    features: tuple[str, ...]
    batch_rows: int = BATCH_ROWS
    groups: str | None = None

    @classmethod
    def open(
        cls,
        source: Any,
        target: str,
        weights: str | None = None,
        features: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        groups: str | None = None,
    ) -> ParquetBatches:
        """Find the columns, and raise an error that names absent ones."""
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
        apart = [target, *(name for name in (weights, groups) if name is not None)]
        wanted = [name for name in names if name not in apart] if features is None else list(features)
        absent = [name for name in [*apart, *wanted] if name not in names]
        if absent:
            raise ValueError(f"There is no column {absent[0]!r}; the columns are {', '.join(map(repr, names[:20]))}.")
        if len({*apart, *wanted}) < len([*apart, *wanted]):
            raise ValueError("Target, weights, groups and features must be different columns; name each of them once.")
        if not wanted:
            raise ValueError("There is no column to learn from besides target and weights.")
        _check_files(dataset, [*apart, *wanted])
        if batch_rows < 1:
            raise ValueError(f"batch_rows is {batch_rows}; it must be at least 1.")
        return cls(dataset, target, weights, tuple(wanted), batch_rows, groups)

    def holds_numbers(self, feature: str) -> bool:
        """Whether the type of a column is one of numbers."""
        pa = arrow()

        held = self.dataset.schema.field(feature).type
        return bool(pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held))

    @property
    def n_rows(self) -> int:
        """Number of all rows, from the metadata of the files."""
        return int(self.dataset.count_rows())

    def read(self, features: Sequence[str] | None = None) -> Iterator[Batch]:
        """All rows in batches; columns that will not be looked at are not read from disk."""
        chosen = list(self.features if features is None else features)
        apart = [self.target, *(name for name in (self.weights, self.groups) if name is not None)]
        # Two batches ahead and no more: each may be large, and Arrow's default is sixteen.
        scan = self.dataset.to_batches(
            columns=[*chosen, *apart], batch_size=self.batch_rows, batch_readahead=2, fragment_readahead=1
        )
        pa = arrow()

        for record in scan:
            if record.num_rows:
                table = pa.Table.from_batches([record])
                weight = None if self.weights is None else _numbers(table[self.weights], self.weights)
                groups = None if self.groups is None else table[self.groups]
                yield Batch(table.select(chosen), table[self.target], weight, groups)


def _check_files(dataset: Any, wanted: list[str]) -> None:
    """Refuse a file that lacks a column: Arrow would read all its values as missing."""
    import pyarrow.dataset as ds

    for fragment in dataset.get_fragments():
        present = {*fragment.physical_schema.names, *ds.get_partition_keys(fragment.partition_expression)}
        lacking = [name for name in wanted if name not in present]
        if lacking:
            file = Path(getattr(fragment, "path", "A part of the dataset")).name
            raise ValueError(
                f"{file} has no column {lacking[0]!r}, which other files have. Add the column to the file, or leave it "
                "out with features=."
            )


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    pa = arrow()

    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"Column {name!r} holds {column.type}; weights must be numbers.") from error


# ---------------------------------------------------------------------------------------------------------------------
# Training rows
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsInBatches:
    """Training rows that are read anew for every look at them.

    Attributes
    ----------
    facts : Facts
        What is known of all rows.
    batches : Batches
        The rows.
    form : RowForm
        How they become numbers.
    moved : callable
        Called with the progress of reading.
    labels : Digest
        Of labels and weights, when they were counted.
    """

    facts: Facts
    batches: Batches
    form: RowForm
    moved: Moved
    labels: Digest
    _rows: list[Digest] = field(default_factory=list)  # of whole rows, from the first fold

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in, batch after batch."""
        state = step.start()
        n_rows = 0
        title = "choosing rows" if report is None else "adding up"
        labels, rows = Digest(), Digest()
        for batch in self.batches.read():
            block = self.form.block(batch, n_rows)
            labels, rows = labels.of_labels(block.codes, batch), rows.of_rows(block)
            step.add(state, block, n_threads)
            n_rows += len(block.codes)
            self.moved(title, n_rows)
        labels.must_be(self.labels, "labels or weights")
        self._rows.append(rows)
        rows.must_be(self._rows[0], "values")
        return state


@dataclass(frozen=True)
class Digest:
    """A fingerprint of the rows of one pass, which does not depend on their order and batches.

    Attributes
    ----------
    n_rows : int
        How many there are.
    total : int
        Sum of hashes of the rows, modulo 2^64.
    """

    n_rows: int = 0
    total: int = 0

    def of_rows(self, block: Block) -> Digest:
        """With the rows of a block: values, labels and weights."""
        return self._with(_core.rows_digest(core_ready(block.X), block.codes, block.weight), len(block.codes))

    def of_labels(self, codes: Ints, batch: Batch) -> Digest:
        """With the labels and the weights of a batch."""
        nothing = np.zeros((len(codes), 0))
        return self._with(_core.rows_digest(nothing, codes, np.ascontiguousarray(batch_weight(batch))), len(codes))

    def _with(self, digest: int, n_rows: int) -> Digest:
        return Digest(self.n_rows + n_rows, (self.total + digest) % 2**64)

    def must_be(self, other: Digest, what: str) -> None:
        """Refuse rows that differ from the rows of the pass before."""
        if self != other:
            found = f"{other.n_rows:,} rows, then {self.n_rows:,}" if self.n_rows != other.n_rows else f"other {what}"
            raise ValueError(
                f"The batches have changed between two passes over them: {found}. Give the same rows every time: read "
                "them from a file, or pass an iterator, whose batches are kept."
            )


def rows_in_batches(
    settings: Settings, batches: Batches, moved: Moved, description: TableDescription = NOTHING_SAID
) -> RowsInBatches:
    """Look at labels, categories and weights of all rows.

    Parameters
    ----------
    settings : Settings
        Determine which statistics are collected.
    batches : Batches
        The rows.
    moved : callable
        Called with the progress of reading.
    description : TableDescription, default=NOTHING_SAID
        Description of the columns.

    Returns
    -------
    RowsInBatches
    """
    survey, has_groups = Survey(), False
    look = FirstLook.at(batches, settings)
    for batch in _read(batches, moved, "looking at labels", look.features):
        has_groups = has_groups or batch.groups is not None
        described = look.of_these(description)
        survey.merge(Survey.of(batch, look.categorical_features, settings.missing_conditions, described))
    form = RowForm.settle(survey, settings.class_weight, settings.categorical_features)
    form = replace(form, columns=look.all_columns(form.columns, description), has_groups=has_groups)
    facts = form.facts
    tally = Tally.start(form, facts.categories)
    labels = Digest()
    for batch in _read(batches, moved, "weighing categories", tallied_names(form, facts.categories)):
        labels = labels.of_labels(tally_batch(tally, batch, form, facts.categories), batch)
    form, facts = weighed(form, tally)
    return RowsInBatches(facts, batches, form, moved, labels)


def weighed(form: RowForm, tally: Tally) -> tuple[RowForm, Facts]:
    """The form with its scale of weights, and what is known of all rows, once all of them are in the tally."""
    tally.check()
    scale = weight_scale(tally.of_class.total(), tally.n_rows)
    counted = tally.category_weight(len(form.classes))
    facts = replace(form.facts, category_weight=counted, class_weight=tally.of_class.totals(), scale=scale)
    return replace(form, scale=scale), facts


@dataclass(frozen=True)
class FirstLook:
    """Which columns of a table with types can hold categories; the others are not read to find out.

    Attributes
    ----------
    features : list of str or None
        The columns to read; None: all.
    categorical_features : object
        The parameter, in terms of these columns.
    names : tuple of str or None
        All columns.
    """

    features: list[str] | None
    categorical_features: Any
    names: tuple[str, ...] | None

    @classmethod
    def at(cls, batches: Batches, settings: Settings) -> FirstLook:
        """From the types that the files declare."""
        if not isinstance(batches, ParquetBatches):
            return cls(None, settings.categorical_features, None)
        return cls.at_columns(batches.features, batches.holds_numbers, settings)

    @classmethod
    def at_columns(cls, names: tuple[str, ...], holds_numbers: Callable[[str], bool], settings: Settings) -> FirstLook:
        """From the names of a table's columns, and which of them hold numbers by their types."""
        if settings.missing_conditions:
            return cls(None, settings.categorical_features, None)
        chosen = chosen_features(settings.categorical_features, names, len(names))
        wanted = [
            name
            for index, name in enumerate(names)
            if not holds_numbers(name) or (chosen is not None and chosen[index])
        ] or [names[0]]
        if chosen is None:
            return cls(wanted, None, names)
        return cls(wanted, [name for index, name in enumerate(names) if chosen[index]], names)

    def of_these(self, description: TableDescription) -> TableDescription:
        """The description of the columns that are read."""
        if self.features is None:
            return description
        known = self.names or ()
        described = {
            name: item for name, item in description.columns.items() if name in self.features or name not in known
        }
        return replace(description, columns=described)

    def all_columns(self, found: Schema, description: TableDescription) -> Schema:
        """The columns that were read, and the columns of numbers."""
        if self.names is None:
            return found
        index = {name: j for j, name in enumerate(found.names or ())}
        positions = [index.get(name) for name in self.names]
        categories = tuple(None if j is None else found.categories[j] for j in positions)
        # Numbers that were not read: whether they are whole is seen in the rows that the model keeps.
        described = description.by_feature(self.names, len(self.names))
        pairs = zip(positions, described, strict=True)
        kinds = tuple(replace(kind, order=()) if j is None else found.kinds[j] for j, kind in pairs)
        return replace(found, names=self.names, categories=categories, kinds=kinds)


def _read(batches: Batches, moved: Moved, title: str, features: list[str] | None = None) -> Iterator[Batch]:
    n_rows = 0
    for batch in batches.read(features):
        yield batch
        n_rows += len(batch.y)
        moved(title, n_rows)


def tallied_names(form: RowForm, category_names: CategoryNames) -> list[str] | None:
    """The only columns that a tally looks at, at least one; None: they have no names."""
    names = form.columns.names
    return None if names is None else [names[j] for j in _tallied(form, category_names)] or [names[0]]


def tally_batch(tally: Tally, batch: Batch, form: RowForm, category_names: CategoryNames) -> Ints:
    """Take the rows of a batch into a tally, and return the codes of their labels."""
    codes = form.codes(batch)
    tally.add(form, _category_codes(batch, form, category_names), codes, form.weight(batch, codes))
    return codes


def _tallied(form: RowForm, category_names: CategoryNames) -> list[int]:
    return sorted({j for j in category_names if j < len(form.columns.categories)} | set(form.missing_features))


def _category_codes(batch: Batch, form: RowForm, category_names: CategoryNames) -> dict[int, Floats]:
    """Codes of the categorical columns of a batch, indicators among them."""
    if not category_names:
        return {}
    needed = _tallied(form, category_names)
    names, n_features = form.columns.names, len(form.columns.categories)
    if names is None:
        encoded = form.columns.encode(batch.X)
        columns = {j: encoded[:, j] for j in needed}
    else:
        read = [names[j] for j in needed]
        chosen = form.columns.select(needed)
        table = nw.from_native(batch.X).select(*read).to_native()
        columns = dict(zip(needed, chosen.encode(table).T, strict=True))
    indicators = {n_features + k: np.isnan(columns[j]) * 1.0 for k, j in enumerate(form.missing_features)}
    return {j: column for j, column in (columns | indicators).items() if j in category_names}
