"""Training rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ferl._learn.batches import Batch, Batches, ParquetBatches
from ferl._learn.rows import CategoryNames, Facts, Fold, State, weight_scale
from ferl._learn.survey import RowForm, Survey, Tally
from ferl._model.settings import Settings
from ferl._tables import Schema
from ferl._tables.categories import chosen_features
from ferl._util.arrays import Floats

Moved = Callable[[str, int], object]  # told what is being done, and how many rows it has been done to


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
        Told how far reading has come.
    """

    facts: Facts
    batches: Batches
    form: RowForm
    moved: Moved

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in, batch after batch."""
        state = step.start()
        n_rows = 0
        title = "choosing rows" if report is None else "adding up"
        for batch in self.batches.read():
            block = self.form.block(batch, n_rows)
            step.add(state, block, n_threads)
            n_rows += len(block.codes)
            self.moved(title, n_rows)
        return state


def rows_in_batches(settings: Settings, batches: Batches, moved: Moved) -> RowsInBatches:
    """Look at labels, categories and weights of all rows.

    Parameters
    ----------
    settings : Settings
        Says what is looked for.
    batches : Batches
        The rows.
    moved : callable
        Told how far reading has come.

    Returns
    -------
    RowsInBatches
    """
    survey = Survey()
    look = FirstLook.at(batches, settings)
    for batch in _read(batches, moved, "looking at labels", look.features):
        survey.merge(Survey.of(batch, look.categorical_features, settings.missing_conditions))
    form = RowForm.settle(survey, settings.class_weight)
    form = replace(form, columns=look.all_columns(form.columns))
    facts = form.facts
    tally = Tally.start(form, facts.categories)
    for batch in _read(batches, moved, "weighing categories", tallied_names(form, facts.categories)):
        tally_batch(tally, batch, form, facts.categories)
    form, facts = weighed(form, tally)
    return RowsInBatches(facts, batches, form, moved)


def weighed(form: RowForm, tally: Tally) -> tuple[RowForm, Facts]:
    """The form with its scale of weights, and what is known of all rows, once all of them are in the tally."""
    tally.check()
    facts = replace(form.facts, category_weight=tally.category_weight(len(form.classes)))
    return replace(form, scale=weight_scale(tally.of_class.total(), tally.n_rows)), facts


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
            for place, name in enumerate(names)
            if not holds_numbers(name) or (chosen is not None and chosen[place])
        ] or [names[0]]
        if chosen is None:
            return cls(wanted, "from_dtype", names)
        return cls(wanted, [name for place, name in enumerate(names) if chosen[place]], names)

    def all_columns(self, found: Schema) -> Schema:
        """The columns that were looked at, and those that hold numbers."""
        if self.names is None:
            return found
        known = dict(zip(found.names or (), found.categories, strict=True))
        return Schema(self.names, tuple(known.get(name) for name in self.names))


def _read(batches: Batches, moved: Moved, title: str, features: list[str] | None = None) -> Iterator[Batch]:
    n_rows = 0
    for batch in batches.read(features):
        yield batch
        n_rows += len(np.asarray(batch.y))
        moved(title, n_rows)


def tallied_names(form: RowForm, levels: CategoryNames) -> list[str] | None:
    """The only columns that a tally looks at, at least one; None: they have no names."""
    names = form.columns.names
    return None if names is None else [names[j] for j in _tallied(form, levels)] or [names[0]]


def tally_batch(tally: Tally, batch: Batch, form: RowForm, levels: CategoryNames) -> None:
    """Take the rows of a batch into a tally."""
    codes = form.codes(batch)
    tally.add(form, _level_codes(batch, form, levels), codes, form.weight(batch, codes))


def _tallied(form: RowForm, levels: CategoryNames) -> list[int]:
    return sorted({j for j in levels if j < len(form.columns.categories)} | set(form.missing_features))


def _level_codes(batch: Batch, form: RowForm, levels: CategoryNames) -> dict[int, Floats]:
    """Codes of the categorical columns of a batch, indicators among them."""
    if not levels:
        return {}
    needed = _tallied(form, levels)
    names, n_features = form.columns.names, len(form.columns.categories)
    if names is None:
        encoded = form.columns.encode(batch.X)
        columns = {j: encoded[:, j] for j in needed}
    else:
        own = [names[j] for j in needed]
        chosen = Schema(tuple(own), tuple(form.columns.categories[j] for j in needed))
        table = nw.from_native(batch.X).select(*own).to_native()
        columns = dict(zip(needed, chosen.encode(table).T, strict=True))
    indicators = {n_features + k: np.isnan(columns[j]) * 1.0 for k, j in enumerate(form.missing_features)}
    return {j: column for j, column in (columns | indicators).items() if j in levels}
