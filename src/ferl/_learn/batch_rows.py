"""Training rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from ferl._learn.batches import Batch, Batches, ParquetBatches
from ferl._learn.rows import Facts, Fold, Levels, State, weight_scale
from ferl._learn.survey import RowForm, Survey, Tally
from ferl._read.rules import category_names, column_names
from ferl._tables import Schema
from ferl._tables.categories import chosen_features
from ferl._util.arrays import Floats

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

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


def rows_in_batches(estimator: FERLClassifier, batches: Batches, moved: Moved) -> RowsInBatches:
    """Look at labels, categories and weights of all rows; the estimator remembers its columns, as in a fit.

    Parameters
    ----------
    estimator : FERLClassifier
        Its parameters say what is looked for; it gets ``columns_``, ``missing_features_`` and its features.
    batches : Batches
        The rows.
    moved : callable
        Told how far reading has come.

    Returns
    -------
    RowsInBatches
    """
    survey = Survey()
    look = FirstLook.at(batches, estimator)
    for batch in _read(batches, moved, "looking at labels", look.features):
        survey.merge(Survey.of(batch, look.categorical_features, estimator.missing_conditions))
    form = RowForm.settle(survey, estimator.class_weight)
    form = replace(form, columns=look.all_columns(form.columns))
    remember(estimator, form)
    levels = category_names(estimator)
    tally = Tally.start(form, levels)
    for batch in _read(batches, moved, "weighing categories", tallied_names(form, levels)):
        tally_batch(tally, batch, form, levels)
    form, facts = weighed(estimator, form, levels, tally)
    return RowsInBatches(facts, batches, form, moved)


def remember(estimator: FERLClassifier, form: RowForm) -> None:
    """What a fit leaves behind of its table."""
    columns = form.columns
    estimator.columns_ = columns
    estimator.missing_features_ = form.missing_features
    estimator.n_features_in_ = len(columns.categories)
    estimator.__dict__.pop("feature_names_in_", None)
    if columns.names is not None:
        estimator.feature_names_in_ = np.array(columns.names, dtype=object)


def weighed(estimator: FERLClassifier, form: RowForm, levels: Levels, tally: Tally) -> tuple[RowForm, Facts]:
    """The form with its scale of weights, and what is known of all rows, once all of them are in the tally."""
    tally.check()
    n_classes = len(form.classes)
    facts = Facts(n_classes, column_names(estimator), form.factor, levels, tally.category_weight(n_classes))
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
    def at(cls, batches: Batches, estimator: FERLClassifier) -> FirstLook:
        """From the types that the files declare."""
        if not isinstance(batches, ParquetBatches):
            return cls(None, estimator.categorical_features, None)
        return cls.at_columns(batches.features, batches.holds_numbers, estimator)

    @classmethod
    def at_columns(
        cls, names: tuple[str, ...], holds_numbers: Callable[[str], bool], estimator: FERLClassifier
    ) -> FirstLook:
        """From the names of a table's columns, and which of them hold numbers by their types."""
        if estimator.missing_conditions:
            return cls(None, estimator.categorical_features, None)
        chosen = chosen_features(estimator.categorical_features, names, len(names))
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


def tallied_names(form: RowForm, levels: Levels) -> list[str] | None:
    """The only columns that a tally looks at, at least one; None: they have no names."""
    names = form.columns.names
    return None if names is None else [names[j] for j in _tallied(form, levels)] or [names[0]]


def tally_batch(tally: Tally, batch: Batch, form: RowForm, levels: Levels) -> None:
    """Take the rows of a batch into a tally."""
    codes = form.codes(batch)
    tally.add(form, _level_codes(batch, form, levels), codes, form.weight(batch, codes))


def _tallied(form: RowForm, levels: Levels) -> list[int]:
    return sorted({j for j in levels if j < len(form.columns.categories)} | set(form.missing_features))


def _level_codes(batch: Batch, form: RowForm, levels: Levels) -> dict[int, Floats]:
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
