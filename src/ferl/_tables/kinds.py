"""Kinds of columns: what the values of a column are, and the words that people have for the column and its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categories import CategoryLookup, plain_text
from ferl._tables.dates import date_text
from ferl._util.text import number_text, said_as

NUMBERS = ("binary", "integer", "real")
"""Kinds of numbers, from the narrowest: each kind holds the values of those before it."""
DATES = ("date", "time")
KINDS = (*NUMBERS, *DATES, "ordered", "category", "unknown")
"""Kinds of the columns of a model."""
_FIRST_ROWS = 8  # that tell most columns of fractions apart
_CELLS = 1 << 15  # looked at together, so that they stay in the cache


@dataclass(frozen=True)
class ColumnKind:
    """What is known of a column besides its name and its categories.

    Attributes
    ----------
    name : str
        "binary" (0 and 1), "integer" and "real" numbers; "date" (days) and "time" (dates with a time of day), both
        numbers of days since the beginning of 1970; "ordered" categories, whose numbers are indices of ``order``;
        "category"; "unknown" numbers. While a table is read also "text" and "other text", of which it is not settled
        yet whether it spells something else; the other must, since the user chose other columns as categories.
    order : tuple
        Ordered categories: the values, the lowest first.
    is_zoned : bool
        Of "time": whether values are moments in UTC.
    missing : tuple of str
        Text that stands for a missing value, besides None and NaN.
    label, unit : str
        What people call the column, and what its numbers count; "" where nobody said.
    values : mapping of str to str
        What values mean, by their text: {"0": "no", "1": "yes"}.
    date_form : str
        Of dates whose text is not in ISO's form: which of day and month comes first, and what stands between them,
        "d.m.y" say.
    """

    name: str = "unknown"
    order: tuple[Any, ...] = ()
    is_zoned: bool = False
    missing: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    date_form: str = ""

    @property
    def is_date(self) -> bool:
        """Whether numbers are days since the beginning of 1970."""
        return self.name in DATES

    @property
    def is_ordered(self) -> bool:
        """Whether numbers are indices of ordered categories."""
        return self.name == "ordered"

    @property
    def is_coded(self) -> bool:
        """Whether the numbers that a model reads are not those of the table."""
        return self.is_date or self.is_ordered

    @property
    def is_whole(self) -> bool | None:
        """Whether all numbers are whole; None: nobody looked."""
        return None if self.name == "unknown" else self.name in ("binary", "integer", "date", "ordered")

    @cached_property
    def lookup(self) -> CategoryLookup:
        """Which of the ordered categories a value is."""
        order = np.empty(len(self.order), dtype=object)
        order[:] = self.order
        kinds = {type(value) for value in self.order}
        return CategoryLookup(order if str in kinds else np.array(self.order), self.missing)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in type(self).__dataclass_fields__}

    def __hash__(self) -> int:
        return hash((self.name, self.order, self.missing, self.label, self.unit))

    # -----------------------------------------------------------------------------------------------------------------
    # Words
    # -----------------------------------------------------------------------------------------------------------------

    def said_name(self, name: str) -> str:
        """The name of the column, which sentences tell with its unit: "glucose (mg/dl)"."""
        if not self.label and not self.unit:
            return name
        words = self.label or name
        return str.__str__(name) if words == name and not self.unit else _said_name(name, words, self.unit)

    def said_value(self, value: Any) -> Any:
        """A category, which sentences tell by its meaning where it has one."""
        if not self.values:
            return value
        words = self.values.get(plain_text(value), self.values.get(str(value)))
        return value if words is None else said_as(value, words)

    def number(self, value: float) -> float:
        """A number, which sentences tell as people write values of the column: a date, a category, a meaning."""
        if self.is_date:
            told = date_text(value, self.is_zoned)
            plain = told.replace(" UTC", "Z").replace(" ", "T")
            return float(value) if math.isnan(value) else _number(said_as(float(value), told, plain, "day"))
        if self.is_ordered:
            return _number(said_as(float(value), self.between(value)))
        words = self.values.get(number_text(float(value))) if self.values else None
        return float(value) if words is None else _number(said_as(float(value), words))

    @property
    def writer(self) -> Callable[[float], str] | None:
        """How numbers of the column are written; None: as all numbers are."""
        return (lambda value: number_text(self.number(value))) if self.is_coded else None

    def between(self, code: float) -> str:
        """The ordered category of an index, or the two that it lies between."""
        inside = min(max(code, 0.0), max(len(self.order) - 1.0, 0.0))  # NaN becomes 0
        low, high = math.floor(inside), math.ceil(inside)
        first, last = (self.said_order[end] if self.order else "" for end in (low, high))
        return first if low == high else f"between {first} and {last}"

    @cached_property
    def said_order(self) -> tuple[str, ...]:
        """The words of the ordered categories, the lowest first."""
        return tuple(self.values.get(plain_text(value), str(value)) for value in self.order)


def _said_name(name: str, words: str, unit: str) -> str:
    told: str = said_as(name, f"{words} ({unit})" if unit else words)
    return told


def _number(told: Any) -> float:
    number: float = told
    return number


@dataclass(frozen=True)
class Target:
    """What people call the labels.

    Attributes
    ----------
    name : str
        Name of the column of labels; "": nobody said.
    values : mapping of str to str
        What labels mean, by their text.
    """

    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    def labels(self, classes: NDArray[Any]) -> list[Any]:
        """The labels, which sentences tell by their meaning where they have one."""
        kind = ColumnKind(values=self.values)
        return [kind.said_value(label) for label in classes.tolist()]


UNKNOWN = ColumnKind()
UNNAMED = Target()


def number_kinds(block: NDArray[Any]) -> list[str]:
    """The narrowest kind of numbers that holds each column, shape (n_samples, n_columns); NaN is of every kind."""
    kinds = np.full(block.shape[1], "real", dtype=object)
    whole = _columns_without(block, np.arange(block.shape[1]), lambda part: part - np.floor(part))
    kinds[whole] = "integer"
    kinds[_columns_without(block, whole, lambda part: part * part - part)] = "binary"
    return list(kinds)


def _columns_without(
    block: NDArray[Any], columns: NDArray[np.intp], excess: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[np.intp]:
    """Those of some columns in which nothing exceeds zero; NaN does not."""
    if block.dtype.kind in "iub":
        block = block.astype(np.float64, copy=False)
    first, n_rows = 0, _FIRST_ROWS
    while first < len(block) and len(columns):
        part = block[first : first + n_rows]
        part = part if len(columns) == block.shape[1] else part[:, columns]
        with np.errstate(invalid="ignore", over="ignore"):  # infinity is refused elsewhere
            columns = columns[~(excess(part) > 0).any(axis=0)]
        first, n_rows = first + n_rows, max(_CELLS // max(len(columns), 1), _FIRST_ROWS)
    return columns


def merged_kind(label: str, known: ColumnKind, other: ColumnKind) -> ColumnKind:
    """The kind of a column whose values are those of two parts of a table."""
    missing = tuple(dict.fromkeys((*known.missing, *other.missing)))
    if known.is_ordered and other.is_ordered:
        if known.order != other.order:
            raise ValueError(
                f"{label} has ordered categories in another order, or others, in some batches. Give every batch the "
                "same categories in the same order."
            )
        return replace(known, missing=missing)
    if known.is_date and other.is_date:
        if known.is_zoned != other.is_zoned:
            raise ValueError(
                f"{label} has a time zone in some batches and none in others. Give all of them a time zone, or none."
            )
        date_form = known.date_form or other.date_form
        return replace(known, name=max(known.name, other.name), missing=missing, date_form=date_form)
    if known.name in NUMBERS and other.name in NUMBERS:
        return replace(known, name=max(known.name, other.name, key=NUMBERS.index), missing=missing)
    if known.name == other.name:
        return replace(known, missing=missing)
    if {known.name, other.name} <= {"category", "text"}:
        return replace(known, name="category", missing=missing)
    if known.is_coded or other.is_coded:
        raise ValueError(
            f"{label} holds {shown_kind(known)} in some batches and {shown_kind(other)} in others. Give it one type."
        )
    return replace(known, name="unknown", missing=missing)


def shown_kind(kind: ColumnKind) -> str:
    """What errors call the values of a column."""
    if kind.is_date:
        return f"dates with{'' if kind.is_zoned else 'out'} a time zone" if kind.name == "time" else "dates"
    if kind.is_ordered:
        return "ordered categories"
    return "categories" if kind.name in ("category", "text") else "numbers"
