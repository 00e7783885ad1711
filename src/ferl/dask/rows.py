"""A cluster and its client: which one, and what is computed there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from dask import delayed
from distributed import default_client

from ferl._learn.batches import FirstLook, tallied_names, tally_batch, weighed
from ferl._learn.rows import Batch, CategoryNames, Facts, Fold, State
from ferl._learn.survey import RowForm, Survey, Tally
from ferl._model.settings import Settings
from ferl.dask.parts import Parts, batch_of

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
    """

    facts: Facts
    client: Any
    parts: Parts
    form: RowForm
    sizes: tuple[int, ...]

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in: each partition by a task of its own, the results merged by pairs in a fixed order.

        Exact sums and samples do not depend on that order; it is fixed all the same.
        """
        told, form = constant(step), constant(self.form)
        task = delayed(_folded, pure=False)
        firsts = [0, *accumulate(self.sizes)]
        states = [
            task(part, place, told, form, firsts[place], self.sizes[place])
            for place, part in enumerate(self.parts.delayed())
        ]
        state = step.start()
        state.merge(computed(self.client, reduced(states, _merged_states, told)))
        return state


def rows_on_cluster(settings: Settings, parts: Parts, client: Any) -> RowsOnCluster:
    """Look at labels, categories and weights of all rows.

    Parameters
    ----------
    settings : Settings
        Says what is looked for.
    parts : Parts
        The rows.
    client : distributed.Client
        The door to the cluster.

    Returns
    -------
    RowsOnCluster
    """
    names = parts.names
    if names is None:
        look = FirstLook(None, settings.categorical_features, None)
    else:
        look = FirstLook.at_columns(names, parts.holds_numbers, settings)
    found = _survey(parts, client, look, settings.missing_conditions)
    form = RowForm.settle(found.survey, settings.class_weight)
    form = replace(form, columns=look.all_columns(form.columns))
    form, facts = weighed(form, _tally(parts, client, form, form.facts.categories, found.sizes))
    return RowsOnCluster(facts, client, parts, form, found.sizes)


@dataclass
class _Found:
    """What a survey of some partitions says, and how many rows each of them has."""

    survey: Survey = field(default_factory=Survey)
    sizes: tuple[int, ...] = ()


def _survey(parts: Parts, client: Any, look: FirstLook, look_for_missing: bool) -> _Found:
    task, choice = delayed(_surveyed, pure=False), constant(look.categorical_features)
    surveys = [task(part, place, choice, look_for_missing) for place, part in enumerate(parts.delayed(look.features))]
    found: _Found = computed(client, reduced(surveys, _merged_surveys))
    return found


def _tally(parts: Parts, client: Any, form: RowForm, levels: CategoryNames, sizes: tuple[int, ...]) -> Tally:
    task, told, own = delayed(_tallied, pure=False), constant(form), constant(levels)
    tallies = [
        task(part, place, told, own, sizes[place])
        for place, part in enumerate(parts.delayed(tallied_names(form, levels)))
    ]
    tally: Tally = computed(client, reduced(tallies, _merged_tallies))
    return tally


# ---------------------------------------------------------------------------------------------------------------------
# Tasks: they run in workers, perhaps more than once, and change nothing that they are given
# ---------------------------------------------------------------------------------------------------------------------


def _surveyed(part: Part, place: int, choice: Any, look_for_missing: bool) -> _Found:
    batch = batch_of(part, place)
    n_rows = len(batch.X)
    if not n_rows:
        return _Found(sizes=(0,))
    with _named(place):
        return _Found(Survey.of(batch, choice, look_for_missing), (n_rows,))


def _merged_surveys(one: _Found, other: _Found) -> _Found:
    survey = Survey()
    survey.merge(one.survey)
    survey.merge(other.survey)
    return _Found(survey, one.sizes + other.sizes)


def _tallied(part: Part, place: int, form: RowForm, levels: CategoryNames, size: int) -> Tally:
    batch = _same_rows(part, place, size)
    tally = Tally.start(form, levels)
    with _named(place):
        if size:
            tally_batch(tally, batch, form, levels)
    return tally


def _merged_tallies(one: Tally, other: Tally) -> Tally:
    tally = deepcopy(one)
    tally.merge(other)
    return tally


def _folded(part: Part, place: int, step: Fold[Any], form: RowForm, first_place: int, size: int) -> dict[str, Any]:
    batch = _same_rows(part, place, size)
    state = step.start()
    with _named(place):
        if size:
            step.add(state, form.block(batch, first_place), _THREADS)
    return dict(state.state())


def _merged_states(one: dict[str, Any], other: dict[str, Any], step: Fold[Any]) -> dict[str, Any]:
    state = step.start()
    state.merge(one)
    state.merge(other)
    return dict(state.state())


@contextmanager
def _named(place: int) -> Iterator[None]:
    """Errors speak of rows of a partition; a note says of which one."""
    try:
        yield
    except (ValueError, TypeError) as error:
        error.add_note(f"In partition {place}.")
        raise


def _same_rows(part: Part, place: int, size: int) -> Batch:
    """A partition that has been looked at before, and had so many rows then."""
    batch = batch_of(part, place)
    if len(batch.X) != size:
        raise ValueError(
            f"Partition {place} of X had {size} rows and now has {len(batch.X)}. Its rows are computed anew for every "
            "look at them and must be the same each time; if they are drawn at random, persist X and y first."
        )
    return batch
