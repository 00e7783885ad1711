"""Rows of files for a model: its columns are found by name and read as what the model expects, batch after batch."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ferl._cli.errors import CommandError
from ferl._tables import Schema, with_indicators
from ferl._tables.column import arrow_column
from ferl._tables.files import FileForm, known_text, no_number, text_as_numbers
from ferl._tables.text_categories import Spelling
from ferl._util.arrays import Floats

MAX_UNSEEN = 1000  # unseen categories of a column that are remembered by name: memory must not grow with the file


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    numbers : dict
        The model's columns of numbers, by name, as Arrow's.
    rows : ndarray of shape (n_rows, n_columns)
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
    known : Schema
        The columns of the training table.
    missing_features : tuple of int
        Features with an indicator of missing values.
    names : sequence of str
        Schema of the file. A model without names takes them by their places.
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
        self, known: Schema, missing_features: tuple[int, ...], names: Sequence[str], path: Path, form: FileForm
    ) -> None:
        self.features = _feature_columns(known, names, path)
        self.form = form
        self._columns = Schema(tuple(self.features), known.categories)
        self._missing_features = missing_features
        self._spelling = [None if levels is None else Spelling(levels) for levels in known.categories]
        self.unseen: dict[str, Counter[str]] = {}
        self.n_unseen: Counter[str] = Counter()

    def read(self, table: pa.Table) -> Batch:
        """A batch as the model reads it. Changes nothing here, so that batches can be read at the same time."""
        rows = np.empty((table.num_rows, len(self.features)), order="F")
        numbers: dict[str, pa.ChunkedArray] = {}
        unseen: dict[str, dict[str, int]] = {}
        for place, (name, spelling) in enumerate(zip(self.features, self._spelling, strict=True)):
            if spelling is None:
                numbers[name] = self._number(table[name], name)
                rows[:, place] = arrow_column(f"Column {name!r}", numbers[name]).numbers()
                continue
            rows[:, place], counts = spelling.encode(self._category(table[name], name))
            if counts:
                unseen[name] = counts
        self._columns.refuse_infinity(rows)
        return Batch(numbers, with_indicators(rows, self._missing_features), unseen)

    def count(self, batch: Batch) -> None:
        """Remember which categories of a batch training did not have."""
        for name, counts in batch.unseen.items():
            self.n_unseen[name] += sum(counts.values())
            own = self.unseen.setdefault(name, Counter())
            own.update({text: n for text, n in counts.items() if text in own or len(own) < MAX_UNSEEN})

    def _number(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        held = _held(column)
        if pa.types.is_null(held):
            return column.cast(pa.float64())
        if not (pa.types.is_string(held) or pa.types.is_large_string(held)):
            return column.cast(held)
        text = known_text(column.cast(pa.string()), self.form.missing)
        numbers = text_as_numbers(text)
        if numbers is None:
            raise no_number(text, f"Column {name!r}")
        return numbers

    def _category(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        held = _held(column)
        try:
            text = column.cast(held).cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise CommandError(f"Column {name!r} holds {held}; its categories cannot be read from that.") from error
        return known_text(text, self.form.missing)

    def unseen_lines(self) -> list[str]:
        """What to tell the user about categories that training did not have."""
        lines = []
        for name, counts in self.unseen.items():
            named = ", ".join(f"{text!r} ({n})" for text, n in counts.most_common(5))
            more = ", ..." if len(counts) > 5 else ""
            many = f"{len(counts)}" if len(counts) < MAX_UNSEEN else f"at least {MAX_UNSEEN}"
            rows = self.n_unseen[name]
            lines.append(
                f"note: column {name!r}: {rows} {'row has' if rows == 1 else 'rows have'} a category that training did "
                f"not have; {many} of them: {named}{more}"
            )
        return lines


def _held(column: pa.ChunkedArray) -> pa.DataType:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _feature_columns(known: Schema, names: Sequence[str], path: Path) -> list[str]:
    n_features = len(known.categories)
    if known.names is None:
        if len(names) != n_features:
            raise CommandError(
                f"{path.name} has {len(names)} columns; the model was fitted without names on {n_features} features, "
                "which are taken in their order. Leave the other columns out."
            )
        return list(names)
    absent = [name for name in known.names if name not in set(names)]
    if absent:
        near = difflib.get_close_matches(absent[0], names, n=1)
        hint = f" Did you mean {near[0]!r}? Rename it." if near else " Add it; its fields may be empty."
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise CommandError(f"{path.name} has no column {absent[0]!r}{more}, which the model reads.{hint}")
    return list(known.names)
