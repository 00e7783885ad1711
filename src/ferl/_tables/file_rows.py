"""Rows of files for a model: its columns are found by name and read as what the model expects, batch after batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ferl._tables.categories import plain_text
from ferl._tables.column import arrow_column, is_text
from ferl._tables.files import FileForm, known_text, no_number, text_as_numbers
from ferl._tables.read_column import days_of_column, ordered_codes
from ferl._tables.recognise import MISSING
from ferl._tables.rows import with_indicators
from ferl._tables.schema import Schema
from ferl._util.arrays import Floats
from ferl._util.files import TableFileError
from ferl._util.names import near_name

MAX_UNSEEN = 1000  # unseen categories of a column that are remembered by name: memory must not grow with the file


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    numbers : dict
        The model's columns of numbers, by name, as Arrow's.
    rows : ndarray of shape (n_samples, n_columns)
        The rows as the tree reads them.
    unseen : dict
        By column, how often each category occurs that training did not have.
    """

    numbers: dict[str, pa.ChunkedArray]
    rows: Floats
    unseen: dict[str, dict[str, int]]


class RowReader:
    """Turns batches of a file into the numbers that a model's tree reads.

    Parameters
    ----------
    schema : Schema
        The columns of the training table.
    missing_features : sequence of int
        Features with an indicator.
    names : sequence of str
        Columns of the file. A schema without names takes them in their order.
    path : Path
        The file, for errors.
    form : FileForm
        How it is read.

    Attributes
    ----------
    features : list of str
        The columns of the file that the model reads, in its order.
    unseen : dict
        By column, how often each category occurred that training did not have.
    n_unseen : dict
        By column, the number of all such values.
    """

    def __init__(
        self, schema: Schema, missing_features: Sequence[int], names: Sequence[str], path: Path, form: FileForm
    ) -> None:
        self.features = _feature_columns(schema, names, path)
        self.form = form
        self._schema = replace(schema, names=tuple(self.features))
        self._lookups = self._schema.lookups  # made here, once, and not by every thread
        self._missing_features = missing_features
        self.unseen: dict[str, Counter[str]] = {}
        self.n_unseen: Counter[str] = Counter()

    def read(self, table: pa.Table) -> Batch:
        """A batch as the model reads it. Changes nothing here, so that batches can be read at the same time."""
        rows = np.empty((table.num_rows, len(self.features)), order="F")
        given = dict(zip(table.column_names, table.columns, strict=True))
        numbers: dict[str, pa.ChunkedArray] = {}
        unseen: dict[str, dict[str, int]] = {}
        for feature, (name, lookup) in enumerate(zip(self.features, self._lookups, strict=True)):
            label, kind = self._schema.label(feature), self._schema.kind(feature)
            if kind.is_coded:
                column = arrow_column(label, known_column(given[name], self.form))
                rows[:, feature] = ordered_codes(column, kind) if kind.is_ordered else days_of_column(column, kind)
                counts = column.unseen(kind.lookup) if kind.is_ordered else {}
                if counts:
                    unseen[name] = {plain_text(value): count for value, count in counts.items()}
                continue
            if lookup is None:
                numbers[name] = self._number(given[name], label, kind.missing)
                rows[:, feature] = arrow_column(label, numbers[name]).numbers()
                continue
            # A whole batch of values that cannot be categories is no error: the next batch may have others.
            column = arrow_column(label, known_column(given[name], self.form))
            rows[:, feature] = column.codes(lookup)
            counts = column.unseen(lookup)
            if counts:
                unseen[name] = {plain_text(value): count for value, count in counts.items()}
        self._schema.refuse_infinity(rows)
        return Batch(numbers, with_indicators(rows, self._missing_features), unseen)

    def count(self, batch: Batch) -> None:
        """Remember which categories of a batch training did not have."""
        for name, counts in batch.unseen.items():
            self.n_unseen[name] += sum(counts.values())
            own = self.unseen.setdefault(name, Counter())
            own.update({text: n for text, n in counts.items() if text in own or len(own) < MAX_UNSEEN})

    def _number(self, column: pa.ChunkedArray, label: str, markers: tuple[str, ...]) -> pa.ChunkedArray:
        column = known_column(column, replace(self.form, missing=(*self.form.missing, *markers)))
        if not is_text(column.type):
            return column.cast(pa.float64()) if pa.types.is_null(column.type) else column
        numbers = text_as_numbers(column, self.form.has_decimal_commas)
        if numbers is None:
            numbers = text_as_numbers(known_text(column, MISSING), self.form.has_decimal_commas)
        if numbers is None:
            raise no_number(column, label)
        return numbers

    def unseen_lines(self) -> list[str]:
        """What to tell the user about categories that training did not have."""
        lines = []
        for name, counts in self.unseen.items():
            named = ", ".join(f"{text!r} ({n})" for text, n in counts.most_common(5))
            more = ", ..." if len(counts) > 5 else ""
            many = f"{len(counts)}" if len(counts) < MAX_UNSEEN else f"at least {MAX_UNSEEN}"
            rows = self.n_unseen[name]
            lines.append(
                f"column {name!r}: {rows} {'row has' if rows == 1 else 'rows have'} a category that training did "
                f"not have; {many} of them: {named}{more}"
            )
        return lines


def known_column(column: pa.ChunkedArray, form: FileForm) -> pa.ChunkedArray:
    """A column without a dictionary, null where its text says that a value is missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return column
    return known_text(column if pa.types.is_string(column.type) else column.cast(pa.string()), form.missing)


def _feature_columns(known: Schema, names: Sequence[str], path: Path) -> list[str]:
    n_features = len(known.categories)
    if known.names is None:
        if len(names) != n_features:
            raise TableFileError(
                f"{path.name} has {len(names)} columns; the model was fitted without names on {n_features} features, "
                "which are taken in their order. Leave the other columns out."
            )
        return list(names)
    given = set(names)
    absent = [name for name in known.names if name not in given]
    if absent:
        near = near_name(absent[0], names)
        hint = f" Did you mean {near!r}? Rename it." if near else " Add it; its fields may be empty."
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise TableFileError(f"{path.name} has no column {absent[0]!r}{more}, which the model reads.{hint}")
    return list(known.names)
