"""Derived columns: numbers that conditions read beside the values of a table, each computed from one feature.

Behind the features a model's rows have an indicator of missing values for some of them, the evidence of categories of
many values, dates within the training range and their calendar parts, and the evidence of single days.
:func:`with_derived` is the only place where rows get them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ferl._tables.kinds import ColumnKind
from ferl._util.arrays import Floats, FrozenArrays, Ints

INDICATOR_CATEGORIES = ("known", "missing")
"""The two categories of an indicator, in the order of their codes."""
MANY_CATEGORIES = 10
"""Rules read sets of categories up to this number of values, and the evidence of categories beyond it."""
MOST_DAYS = 1e8
"""Dates further away than this from 1970 have no calendar parts: the bound of dates in browsers."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_EVIDENCE = ColumnKind("real")


class Derived(FrozenArrays):
    """A column that is computed from the encoded values of one feature.

    A new kind of column is a subclass: a frozen dataclass whose first field is ``feature``, the index of its feature.
    """

    feature: int
    kind: ClassVar[str]  # in files

    @abstractmethod
    def of(self, values: Floats) -> Floats:
        """The numbers of the column from the encoded values of its feature, shape (n_samples,)."""

    def name(self, feature: str, labels: Sequence[Any]) -> str:
        """What conditions call the column; ``feature``: the name of its feature, as in "age is missing"."""
        return feature

    @property
    def column_kind(self) -> ColumnKind | None:
        """The kind of its numbers; None: the kind of its feature."""
        return None

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """The least and the largest number that it can have."""

    def recoded(self, order: Any) -> Derived:
        """The same column for categories as indices in an order of their codes."""
        return self

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.kind, self.feature))


@dataclass(frozen=True, eq=False)
class Missing(Derived):
    """1 where the value of the feature is missing, else 0."""

    feature: int
    kind: ClassVar[str] = "missing"

    def of(self, values: Floats) -> Floats:
        """Whether values are missing."""
        return np.isnan(values).astype(np.float64)

    @property
    def column_kind(self) -> ColumnKind:
        """Two categories."""
        return ColumnKind("category")

    @property
    def range(self) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0


class _Evidence(Derived):
    """Learned evidence of values for a class; 0 for values that are not in the training rows."""

    label: int
    evidence: Floats

    @property
    def column_kind(self) -> ColumnKind:
        """Numbers."""
        return _EVIDENCE

    @property
    def range(self) -> tuple[float, float]:
        """The range of the evidence of all values, including unknown values."""
        return min(float(self.evidence.min()), 0.0), max(float(self.evidence.max()), 0.0)


@dataclass(frozen=True, eq=False)
class CategoryEvidence(_Evidence):
    """How much more often than usual the rows of a category were of a class: shrunken log-odds.

    Attributes
    ----------
    feature : int
        A feature of many categories.
    label : int
        Index of the class.
    evidence : ndarray of shape (n_categories + 1,)
        That of each category, and last of a missing value. A category that training did not have has none: 0.
    """

    feature: int
    label: int
    evidence: Floats
    kind: ClassVar[str] = "category"

    def of(self, values: Floats) -> Floats:
        """The evidence of categories."""
        n = len(self.evidence) - 1
        code = np.where(np.isnan(values), n, np.where((values >= 0) & (values < n), values, n + 1)).astype(np.intp)
        return np.append(self.evidence, 0.0)[code]

    def name(self, feature: str, labels: Sequence[Any]) -> str:
        """The feature, and the class that the evidence is for."""
        return f"{feature} (evidence for {labels[self.label]})"

    def recoded(self, order: Any) -> CategoryEvidence:
        """With the evidence in another order of the categories."""
        return CategoryEvidence(self.feature, self.label, np.append(self.evidence[order], self.evidence[-1]))


@dataclass(frozen=True, eq=False)
class KnownDate(Derived):
    """A date, or the first or last one of training where it lies outside: rules must not follow a trend further.

    Attributes
    ----------
    feature : int
        A feature of dates.
    first, last : float
        The range of the training rows.
    """

    feature: int
    first: float
    last: float
    kind: ClassVar[str] = "date"

    def of(self, values: Floats) -> Floats:
        """The nearest dates that training had."""
        return np.asarray(np.clip(values, self.first, self.last))

    @property
    def range(self) -> tuple[float, float]:
        """That of the training rows."""
        return self.first, self.last


@dataclass(frozen=True, eq=False)
class DateInRange(KnownDate):
    """A date, or a missing value where it lies outside the training range.

    Curves and maps read it beside the evidence of days: what they learn of a time holds for that time alone.
    """

    kind: ClassVar[str] = "date in range"

    def of(self, values: Floats) -> Floats:
        """The dates that lie in the training range."""
        return np.where((values >= self.first) & (values <= self.last), values, np.nan)


@dataclass(frozen=True, eq=False)
class DatePart(Derived):
    """A part of a date that comes again: weekday, hour, month or day of the year; missing where the date is.

    Attributes
    ----------
    feature : int
        A feature of dates.
    part : str
        One of ``DATE_PARTS``.
    """

    feature: int
    part: str
    kind: ClassVar[str] = "part"

    def of(self, values: Floats) -> Floats:
        """The part of dates, which are days since the beginning of 1970; weekdays and months count from 0."""
        known = np.abs(values) <= MOST_DAYS
        days = np.where(known, values, 0.0)
        whole = np.floor(days)
        return np.where(known, _PARTS[self.part].of(days, whole), np.nan)

    def name(self, feature: str, labels: Sequence[Any]) -> str:
        """The part and the feature."""
        return f"{self.part} of {feature}"

    @property
    def column_kind(self) -> ColumnKind:
        """Ordered words, an hour, or a whole number."""
        return _PARTS[self.part].kind

    @property
    def range(self) -> tuple[float, float]:
        """The range over all dates."""
        return _PARTS[self.part].range


def _weekday(days: Floats, whole: Floats) -> Floats:
    return np.asarray(np.mod(whole + 3, 7))  # 1970 began on a Thursday


def _hour(days: Floats, whole: Floats) -> Floats:
    return np.asarray(np.floor((days - whole) * 86_400 + 0.5) / 3600)  # to the second, as clocks show it


def _month(days: Floats, whole: Floats) -> Floats:
    return np.asarray(np.mod(_dates(whole).astype("datetime64[M]").astype(np.int64), 12).astype(np.float64))


def _day_of_year(days: Floats, whole: Floats) -> Floats:
    first = _dates(whole).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    return np.asarray(whole - first + 1)


def _dates(whole: Floats) -> Any:
    return whole.astype(np.int64).astype("datetime64[D]")


class _Part(NamedTuple):
    """How a part is read from days and whole days, what its numbers are, and their range."""

    of: Callable[[Floats, Floats], Floats]
    kind: ColumnKind
    range: tuple[float, float]


_PARTS = {
    "weekday": _Part(_weekday, ColumnKind("ordered", order=WEEKDAYS, is_cyclic=True), (0.0, 6.0)),
    "hour": _Part(_hour, ColumnKind("hour"), (0.0, 24.0)),
    "month": _Part(_month, ColumnKind("ordered", order=MONTHS, is_cyclic=True), (0.0, 11.0)),
    "day of the year": _Part(_day_of_year, ColumnKind("integer"), (1.0, 366.0)),
}
DATE_PARTS = tuple(_PARTS)


@dataclass(frozen=True, eq=False)
class DayEvidence(_Evidence):
    """How much more often than the rules predict the rows of a day were of a class: shrunken log-odds.

    Attributes
    ----------
    feature : int
        A feature of dates.
    label : int
        Index of the class.
    days : ndarray of shape (n_days,), int32
        The days that training had, ascending, since the beginning of 1970.
    evidence : ndarray of shape (n_days,)
        That of each day; other days have none: 0. It is missing where the date is.
    """

    feature: int
    label: int
    days: Ints
    evidence: Floats
    kind: ClassVar[str] = "day"

    def of(self, values: Floats) -> Floats:
        """The evidence of the days of dates."""
        whole = np.floor(np.where(np.abs(values) <= MOST_DAYS, values, np.nan))
        place = np.minimum(np.searchsorted(self.days, whole), len(self.days) - 1)
        evidence = np.where(self.days[place] == whole, self.evidence[place], 0.0)
        return np.where(np.isnan(values), np.nan, evidence)

    def name(self, feature: str, labels: Sequence[Any]) -> str:
        """The day of the feature, and the class that the evidence is for."""
        return f"day of {feature} (evidence for {labels[self.label]})"


def with_derived(X: Floats, derived: Sequence[Derived]) -> Floats:
    """The encoded table with its derived columns behind the features."""
    if not derived:
        return X
    return np.hstack([X, np.column_stack([item.of(X[:, item.feature]) for item in derived])])


def add_up_derived(parts: Floats, derived: Sequence[Derived]) -> Floats:
    """Parts of the features; each includes the parts of the columns derived from it."""
    if not derived:
        return parts
    n_features = parts.shape[1] - len(derived)
    out = parts[:, :n_features].copy()
    for k, item in enumerate(derived):
        out[:, item.feature] += parts[:, n_features + k]
    return out
