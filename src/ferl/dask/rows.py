"""Training rows on a Dask cluster: their partitions, the client, and what is computed where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from distributed import default_client
from numpy.typing import NDArray

from ferl._learn.batches import Digest, FirstLook, tallied_names, tally_batch, weighed
from ferl._learn.rows import Batch, CategoryNames, Facts, Fold, Sampling, State
from ferl._learn.survey import RowForm, Survey, Tally
from ferl._models.settings import Settings
from ferl._tables import NOTHING_SAID, TableDescription

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

    Nothing is kept: every pass over the rows computes them again, for example from their files. (Collections that
    the caller has persisted are there already.)

    Attributes
    ----------
    X : dask DataFrame or Array of shape (n_samples, n_features)
        The rows.
    y : dask Series or Array of shape (n_samples,)
        Labels.
    sample_weight : dask Series or Array of shape (n_samples,), or None
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
        """The partitions, delayed: rows, labels, and weights or None; ``features``: the columns of X to read."""
        X = self.X if features is None else self.X[list(features)]
        columns = [self.y] if self.sample_weight is None else [self.y, self.sample_weight]
        if all(isinstance(item, dd.DataFrame | dd.Series) for item in (X, *columns)):
            # One expression: what the three have in common, such as a file, is read once.
            meta = pd.Series(dtype=object)
            return _delayed(
                X.map_partitions(_packed, *columns, meta=meta, enforce_metadata=False, align_dataframes=False)
            )
        return [delayed(_packed, pure=False)(*item) for item in zip(*map(_delayed, (X, *columns)), strict=True)]


def _packed(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, sample_weight


def batch_of(part: tuple[Any, Any, Any], index: int) -> Batch:
    """A partition as it is in a worker; ``index``: which one it is, for the error."""
    X, y, sample_weight = part
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if column is not None and len(column) != len(X):
            raise ValueError(
                f"Partition {index} of X has {len(X)} rows and that of {name} has {len(column)}. Cut both in the same "
                "places: take them from one table, or rechunk one like the other."
            )
    return Batch(X, y, sample_weight)


def _delayed(collection: Any) -> list[Any]:
    """The partitions of a collection, each with the tasks that compute it, which read only the needed columns.

    Dask would also make other partitions of them, by reading small files together. Here it must not: every pass reads
    other columns, and a partition must have the same rows in all of them. In versions of Dask without a setting for
    this, nothing is optimised.
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
    both_divided = all(getattr(item, "known_divisions", False) for item in (X, column))
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


_START = (
    "Start one with distributed.Client(distributed.LocalCluster()), or connect to a scheduler with "
    'distributed.Client("tcp://address:8786").'
)


def running_client(client: Any) -> Any:
    """The client given, or else the default one, if it can compute something."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise RuntimeError(f"There is no Dask client. {_START}") from None
    if client.status != "running":
        raise RuntimeError(f"The Dask client is {client.status}, so nothing can be fitted. {_START}")
    if client.asynchronous:
        raise TypeError("The Dask client is asynchronous, and fit waits for its results. Pass a synchronous client.")
    return client


def constant(thing: Any) -> Any:
    """Something that many tasks need: one entry of the graph, so that it survives the death of any worker."""
    # Not traversed: Dask would take dataclasses apart in search of tasks.
    return delayed(thing, traverse=False, pure=False)


def reduced(parts: Sequence[Any], merge: Callable[..., Any], *options: Any) -> Any:
    """Delayed results merged by pairs of neighbours until one is left, so that no task holds more than two.

    ``merge(one, other, *options)`` must not change what it is given: a task may run again on the same results.
    """
    task = delayed(merge, pure=False)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [task(*pair, *options) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def computed(client: Any, wanted: Any) -> Any:
    """The result of a delayed computation; an error of a task is raised here, as it was there."""
    future = None
    try:
        future = client.compute(wanted)
        return future.result()
    except Exception as error:
        if isinstance(error, CancelledError) or client.status == "closed":
            raise RuntimeError(f"The Dask client was closed during the fit, so nothing was fitted. {_START}") from error
        raise
    finally:
        # After an interrupt, too: the cluster drops tasks that nobody waits for.
        if future is not None:
            future.release()


Part = tuple[Any, Any, Any]  # rows, labels, and weights or None

# Where there is more than one core, Dask has one task on each.
_THREADS = 1


@dataclass(frozen=True)
class RowsOnCluster:
    """Training rows that are looked at where they are.

    Attributes
    ----------
    facts : Facts
        What is known of all rows.
    client : distributed.Client
        The door to the cluster.
    parts : Parts
        The rows.
    form : RowForm
        How they become numbers.
    sizes : tuple of int
        Number of rows of each partition.
    labels : tuple of int
        Of each partition: the digest of labels and weights, when they were counted.
    n_of_class : ndarray of shape (n_classes,)
        Number of rows of each class that have weight.
    """

    facts: Facts
    client: Any
    parts: Parts
    form: RowForm
    sizes: tuple[int, ...]
    labels: tuple[int, ...]
    n_of_class: NDArray[np.intp]
    _rows: list[int] = field(default_factory=list)  # digests of whole rows, from the first fold

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in: each partition by one task, the results merged by pairs in a fixed order.

        Exact sums and samples do not depend on that order; it is fixed all the same.
        """
        limited = step.limited(self.n_of_class) if isinstance(step, Sampling) else None
        total = self._folded(step if limited is None else limited)
        if limited is not None and not limited.has_enough(total.state):
            total = self._folded(step)
        self._rows[:] = total.rows
        state = step.start()
        state.merge(total.state)
        return state

    def _folded(self, step: Fold[Any]) -> _Folded:
        shared, form = constant(step), constant(self.form)
        task = delayed(_folded, pure=False)
        firsts = [0, *accumulate(self.sizes)]
        known_rows: Sequence[int | None] = self._rows or [None] * len(self.sizes)
        folded = [
            task(part, index, shared, form, firsts[index], self.sizes[index], self.labels[index], known_rows[index])
            for index, part in enumerate(self.parts.delayed())
        ]
        total: _Folded = computed(self.client, reduced(folded, _merged_folds, shared))
        return total


def rows_on_cluster(
    settings: Settings, parts: Parts, client: Any, description: TableDescription = NOTHING_SAID
) -> RowsOnCluster:
    """Look at labels, categories and weights of all rows.

    Parameters
    ----------
    settings : Settings
        Determine which statistics are collected.
    parts : Parts
        The rows.
    client : distributed.Client
        The door to the cluster.
    description : TableDescription, default=NOTHING_SAID
        Description of the columns.

    Returns
    -------
    RowsOnCluster
    """
    names = parts.names
    if names is None:
        look = FirstLook(None, settings.categorical_features, None)
    else:
        look = FirstLook.at_columns(names, parts.holds_numbers, settings)
    result = _survey(parts, client, look, settings.missing_conditions, description)
    form = RowForm.settle(result.survey, settings.class_weight, settings.categorical_features)
    form = replace(form, columns=look.all_columns(form.columns, description))
    counted = _tally(parts, client, form, form.facts.categories, result.sizes)
    form, facts = weighed(form, counted.tally)
    return RowsOnCluster(facts, client, parts, form, result.sizes, counted.labels, counted.n_of_class)


@dataclass
class _Found:
    """The survey of some partitions, and the number of rows in each of them."""

    survey: Survey = field(default_factory=Survey)
    sizes: tuple[int, ...] = ()


@dataclass
class _Counted:
    """The tally of some partitions, of each of them the digest of labels and weights, and rows of each class."""

    tally: Tally
    labels: tuple[int, ...]
    n_of_class: NDArray[np.intp]


@dataclass
class _Folded:
    """What a fold has taken in from some partitions, and of each of them the digest of its rows."""

    state: dict[str, Any]
    rows: tuple[int, ...]


def _survey(
    parts: Parts, client: Any, look: FirstLook, look_for_missing: bool, description: TableDescription
) -> _Found:
    task, choice = delayed(_surveyed, pure=False), constant(look.categorical_features)
    shared = constant(look.of_these(description))
    surveys = [
        task(part, index, choice, look_for_missing, shared) for index, part in enumerate(parts.delayed(look.features))
    ]
    result: _Found = computed(client, reduced(surveys, _merged_surveys))
    return result


def _tally(parts: Parts, client: Any, form: RowForm, categories: CategoryNames, sizes: tuple[int, ...]) -> _Counted:
    task, shared, names = delayed(_tallied, pure=False), constant(form), constant(categories)
    tallies = [
        task(part, index, shared, names, sizes[index])
        for index, part in enumerate(parts.delayed(tallied_names(form, categories)))
    ]
    counted: _Counted = computed(client, reduced(tallies, _merged_tallies))
    return counted


# ---------------------------------------------------------------------------------------------------------------------
# Tasks: they run in workers, perhaps more than once, and change nothing that they are given
# ---------------------------------------------------------------------------------------------------------------------


def _surveyed(part: Part, index: int, choice: Any, look_for_missing: bool, description: TableDescription) -> _Found:
    batch = batch_of(part, index)
    n_rows = len(batch.X)
    if not n_rows:
        return _Found(sizes=(0,))
    with _named(index):
        return _Found(Survey.of(batch, choice, look_for_missing, description), (n_rows,))


def _merged_surveys(one: _Found, other: _Found) -> _Found:
    survey = Survey()
    survey.merge(one.survey)
    survey.merge(other.survey)
    return _Found(survey, one.sizes + other.sizes)


def _tallied(part: Part, index: int, form: RowForm, categories: CategoryNames, size: int) -> _Counted:
    batch = _same_rows(part, index, size)
    tally, labels, n_of_class = Tally.start(form, categories), Digest(), np.zeros(len(form.classes), dtype=np.intp)
    with _named(index):
        if size:
            codes = tally_batch(tally, batch, form, categories)
            labels = labels.of_labels(codes, batch)
            has_weight = (
                np.ones(size, dtype=bool) if batch.sample_weight is None else np.asarray(batch.sample_weight) > 0
            )
            n_of_class = np.bincount(codes[has_weight], minlength=len(form.classes))
    return _Counted(tally, (labels.total,), n_of_class)


def _merged_tallies(one: _Counted, other: _Counted) -> _Counted:
    tally = deepcopy(one.tally)
    tally.merge(other.tally)
    return _Counted(tally, one.labels + other.labels, one.n_of_class + other.n_of_class)


def _folded(
    part: Part,
    index: int,
    step: Fold[Any],
    form: RowForm,
    first_row: int,
    size: int,
    known_labels: int,
    known_rows: int | None,
) -> _Folded:
    batch = _same_rows(part, index, size)
    state, rows = step.start(), Digest()
    with _named(index):
        if size:
            block = form.block(batch, first_row)
            rows = rows.of_rows(block)
            if Digest().of_labels(block.codes, batch).total != known_labels:
                raise ValueError(f"Partition {index} now has other labels or weights. {_MUST_STAY}")
            if known_rows not in (None, rows.total):
                raise ValueError(f"Partition {index} of X now has other values. {_MUST_STAY}")
            step.add(state, block, _THREADS)
    return _Folded(dict(state.state()), (rows.total,))


def _merged_folds(one: _Folded, other: _Folded, step: Fold[Any]) -> _Folded:
    state = step.start()
    state.merge(one.state)
    state.merge(other.state)
    return _Folded(dict(state.state()), one.rows + other.rows)


@contextmanager
def _named(index: int) -> Iterator[None]:
    """Add a note to errors with the partition of their rows."""
    try:
        yield
    except (ValueError, TypeError) as error:
        error.add_note(f"In partition {index}.")
        raise


_MUST_STAY = (
    "Its rows are computed anew for every look at them and must be the same each time; if they are drawn at random, "
    "persist X and y first."
)


def _same_rows(part: Part, index: int, size: int) -> Batch:
    """A partition again; an error where its number of rows is no longer ``size``."""
    batch = batch_of(part, index)
    if len(batch.X) != size:
        raise ValueError(f"Partition {index} of X had {size} rows and now has {len(batch.X)}. {_MUST_STAY}")
    return batch
