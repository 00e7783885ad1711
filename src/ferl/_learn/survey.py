"""A survey of rows in batches: their columns, labels and weights, in sums that do not depend on the order of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._learn.rows import Batch, Block, CategoryNames, Facts
from ferl._tables import (
    NOTHING_SAID,
    Missing,
    Schema,
    TableDescription,
    check_weight_span,
    checked_sample_weight,
    class_factors,
    group_numbers,
    merge_columns,
    read_table,
    with_derived,
)
from ferl._tables.labels import batch_codes, distinct_of, label_markers, refuse_markers
from ferl._util.arrays import Bools, Floats, Ints

_OTHER_CATEGORIES = "The batches have other categories than when they were read before. Give the same every time."
_LOW_BITS = 26  # of a mantissa's 53
_EXACT_VALUES = 2**25  # sums of this many halves of mantissas, of 27 bits, stay below 2^53


class ExactSums:
    """Sums of doubles by cell, each rounded once, at the end: what ``math.fsum`` gives of all of them.

    Mantissas are added up as integers, for each exponent apart. There are few: weights span forty-four powers
    of two at most.

    Parameters
    ----------
    n_cells : int
        Number of sums.

    Examples
    --------
    >>> import numpy as np
    >>> sums = ExactSums(2)
    >>> sums.add(np.array([0, 0, 1]), np.array([0.1, 0.2, 5.0]))
    >>> sums.add(np.array([0, 1]), np.array([0.3, 1e-20]))
    >>> sums.totals()
    array([0.6, 5. ])
    """

    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells
        self._parts: dict[int, NDArray[np.int64]] = {}  # by exponent: of the high and the low half of mantissas

    def add(self, cells: NDArray[np.intp], values: Floats) -> None:
        """Add each value to its cell; values are finite and not negative."""
        for first in range(0, len(values), _EXACT_VALUES):
            self._add(cells[first : first + _EXACT_VALUES], values[first : first + _EXACT_VALUES])

    def _add(self, cells: NDArray[np.intp], values: Floats) -> None:
        if len(values) and values.min() == values.max():  # as of rows without weights, which count once each
            self._add_equal(np.bincount(cells, minlength=self.n_cells), float(values[0]))
            return
        mantissa, exponent = np.frexp(values)
        whole = (mantissa * 2.0**53).astype(np.int64)
        for power in np.unique(exponent[whole > 0]).tolist():
            chosen = (exponent == power) & (whole > 0)
            parts = self._parts.setdefault(power, np.zeros((2, self.n_cells), dtype=np.int64))
            for half, bits in enumerate((whole[chosen] >> _LOW_BITS, whole[chosen] & (2**_LOW_BITS - 1))):
                # Below 2^53 doubles are exact.
                parts[half] += np.bincount(cells[chosen], bits, minlength=self.n_cells).astype(np.int64)

    def _add_equal(self, n_of_cell: NDArray[np.intp], value: float) -> None:
        mantissa, exponent = math.frexp(value)
        whole = int(mantissa * 2.0**53)
        if whole:
            parts = self._parts.setdefault(exponent, np.zeros((2, self.n_cells), dtype=np.int64))
            for half, bits in enumerate((whole >> _LOW_BITS, whole & (2**_LOW_BITS - 1))):
                parts[half] += n_of_cell * bits

    def merge(self, other: ExactSums) -> None:
        """Add the sums of another one."""
        for power, parts in other._parts.items():
            self._parts[power] = self._parts.get(power, np.zeros_like(parts)) + parts

    def totals(self) -> Floats:
        """The sums, shape (n_cells,)."""
        return np.array([float(total) for total in self._exact()])

    def total(self) -> float:
        """The sum over all cells."""
        return float(sum(self._exact(), start=Fraction(0)))

    def _exact(self) -> list[Fraction]:
        exact = [Fraction(0)] * self.n_cells
        for exponent, (high, low) in self._parts.items():
            unit = Fraction(2) ** (exponent - 53)
            for cell in np.flatnonzero(high | low).tolist():
                exact[cell] += (int(high[cell]) * 2**_LOW_BITS + int(low[cell])) * unit
        return exact


@dataclass
class Survey:
    """Columns, labels and weights of some rows; of all rows after merging.

    Attributes
    ----------
    columns : Schema or None
        None: no row yet.
    valued : ndarray of bool or None
        By feature, whether a row has a value. In a part without any, its type does not determine the other parts:
        pandas makes floats of a text column that is empty.
    classes : ndarray or None
        The labels, sorted.
    has_missing : ndarray of bool or None
        By feature, whether a row with weight lacks its value. None: nobody looked.
    n_rows : int
        Rows with weight.
    totals : dict
        By label: the weight of its rows.
    low, high : float
        The smallest weight above zero, and the largest.
    """

    columns: Schema | None = None
    valued: Bools | None = None
    classes: NDArray[Any] | None = None
    has_missing: Bools | None = None
    n_rows: int = 0
    totals: dict[Any, ExactSums] = field(default_factory=dict)
    low: float = np.inf
    high: float = 0.0

    @classmethod
    def of(
        cls,
        batch: Batch,
        categorical_features: Any,
        look_for_missing: bool,
        description: TableDescription = NOTHING_SAID,
    ) -> Survey:
        """The survey of one batch."""
        classes, codes = distinct_of(batch.y)
        weight = batch_weight(batch)
        table = read_table(batch.X)
        described = description.with_target_of(batch.y)
        columns = Schema.learn(table, categorical_features, description=described, is_part=True)
        missing = np.isnan(columns.encode(table)[weight > 0]) if look_for_missing else None
        has_missing = None if missing is None else np.asarray(missing.any(axis=0))
        totals = {}
        for code, label in enumerate(classes.tolist()):
            of_class = weight[codes == code]
            totals[label] = ExactSums(1)
            totals[label].add(np.zeros(len(of_class), dtype=np.intp), of_class)
        positive = weight[weight > 0]
        low, high = float(positive.min(initial=np.inf)), float(positive.max(initial=0.0))
        return cls(columns, columns.valued(table), classes, has_missing, len(positive), totals, low, high)

    def merge(self, other: Survey) -> None:
        """Take in what another one has seen."""
        if other.columns is None or other.valued is None or other.classes is None:
            return
        self._merge_columns(other.columns, other.valued)
        self.classes = other.classes if self.classes is None else _merged_labels(self.classes, other.classes)
        if other.has_missing is not None:
            self.has_missing = other.has_missing if self.has_missing is None else self.has_missing | other.has_missing
        self.n_rows += other.n_rows
        for label, sums in other.totals.items():
            self.totals.setdefault(label, ExactSums(1)).merge(sums)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def _merge_columns(self, others: Schema, valued: Bools) -> None:
        """The categories of both; if one has no values at all, the categories of the other."""
        if self.columns is None or self.valued is None:
            self.columns, self.valued = others, valued
            return
        self.columns = merge_columns(self.columns, others, list(zip(self.valued, valued, strict=False)))
        self.valued = self.valued | valued


def batch_weight(batch: Batch) -> Floats:
    """How often each row of a batch counts."""
    return checked_sample_weight(batch.sample_weight, len(batch.y), may_be_zero=True)


def _merged_labels(known: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    if (known.dtype.kind in "UTO") != (others.dtype.kind in "UTO"):
        raise ValueError(
            f"Some labels are text and others are not: {known.tolist()[0]!r} and {others.tolist()[0]!r}. Give all of "
            "them one type."
        )
    return np.unique(np.concatenate([known, others]))


@dataclass(frozen=True)
class RowForm:
    """How batches become blocks of numbers: what a survey of all rows settles.

    Attributes
    ----------
    columns : Schema
        Names and categories.
    classes : ndarray of shape (n_classes,)
        The labels.
    missing_features : tuple of int
        Features with an additional column that is 1 where they are missing.
    factor : ndarray of shape (n_classes,)
        Weight of a row of each class.
    scale : float
        Factor on all weights at the end.
    has_groups : bool
        Whether rows belong to groups.
    """

    columns: Schema
    classes: NDArray[Any]
    missing_features: tuple[int, ...]
    factor: Floats
    scale: float = 1.0
    has_groups: bool = False

    @classmethod
    def settle(
        cls, survey: Survey, class_weight: Mapping[Any, float] | str | None, categorical_features: Any = "from_dtype"
    ) -> RowForm:
        """From a survey of all rows."""
        if survey.columns is None or survey.classes is None or not survey.n_rows:
            raise ValueError("There is no row with a positive weight, so there is nothing to fit.")
        refuse_markers(label_markers(survey.classes.tolist()))
        totals = np.array([survey.totals[label].totals()[0] for label in survey.classes.tolist()])
        factor = class_factors(class_weight, survey.classes, totals)
        columns, has_missing = survey.columns.settled(categorical_features), survey.has_missing
        if has_missing is not None:  # text that has turned out to stand for missing values was not counted yet
            kinds = zip(survey.columns.kinds, columns.kinds, strict=True)
            has_missing = has_missing | np.array([len(new.missing) > len(old.missing) for old, new in kinds])
        missing = () if has_missing is None else tuple(np.flatnonzero(has_missing).tolist())
        return cls(columns, survey.classes, missing, factor)

    @property
    def facts(self) -> Facts:
        """What is known of the rows before their categories are weighed."""
        return Facts(self.columns, self.missing_features, self.classes, self.factor, has_groups=self.has_groups)

    def block(self, batch: Batch, first_index: int = 0) -> Block:
        """A batch as the core reads it; weights are scaled."""
        encoded = self.columns.encode(batch.X)
        n_categories = self.columns.n_categories
        if any((encoded[:, j] >= n_categories[j]).any() for j in np.flatnonzero(n_categories).tolist()):
            raise ValueError(_OTHER_CATEGORIES)
        X = with_derived(encoded, list(map(Missing, self.missing_features)))
        codes = self.codes(batch)
        weight = self.weight(batch, codes)
        if self.has_groups and batch.groups is None:
            raise ValueError("Some batches have groups and others have none. Give every batch its groups, or none.")
        group = group_numbers(batch.groups, len(codes)) if self.has_groups else None
        return Block(X, codes, weight if self.scale == 1.0 else weight * self.scale, first_index, group=group)

    def codes(self, batch: Batch) -> Ints:
        """Labels of a batch as indices of the classes."""
        codes = batch_codes(batch.y, self.classes)
        if (codes < 0).any():
            raise ValueError("The batches have other labels than when they were read before. Give the same every time.")
        return codes

    def weight(self, batch: Batch, codes: Ints) -> Floats:
        """Weights of a batch's rows, before they are scaled."""
        given = batch_weight(batch)
        return given if (self.factor == 1.0).all() else np.asarray(given * self.factor[codes])


@dataclass
class Tally:
    """Weights of classes over some rows, and of classes in categories; over all rows after merging.

    Attributes
    ----------
    of_class : ExactSums
        Cells: classes.
    of_category : dict
        By categorical column, cells: (category, class).
    n_rows : int
        Rows with weight.
    low, high : float
        The smallest weight above zero, and the largest.
    """

    of_class: ExactSums
    of_category: dict[int, ExactSums]
    n_rows: int = 0
    low: float = np.inf
    high: float = 0.0

    @classmethod
    def start(cls, form: RowForm, category_names: CategoryNames) -> Tally:
        """The weights of an empty table."""
        n_classes = len(form.classes)
        return cls(ExactSums(n_classes), {j: ExactSums(len(names) * n_classes) for j, names in category_names.items()})

    def add(self, form: RowForm, columns: dict[int, Floats], codes: Ints, weight: Floats) -> None:
        """Take in rows; ``columns``: codes of categories, by the number of the column."""
        n_classes = len(form.classes)
        self.of_class.add(codes.astype(np.intp), weight)
        for j, column in columns.items():
            known = ~np.isnan(column)
            if column[known].max(initial=0.0) * n_classes >= self.of_category[j].n_cells:
                raise ValueError(_OTHER_CATEGORIES)
            self.of_category[j].add(column[known].astype(np.intp) * n_classes + codes[known], weight[known])
        positive = weight[weight > 0]
        self.n_rows += len(positive)
        self.low = min(self.low, float(positive.min(initial=np.inf)))
        self.high = max(self.high, float(positive.max(initial=0.0)))

    def merge(self, other: Tally) -> None:
        """Take in what another one has seen."""
        self.of_class.merge(other.of_class)
        for j, sums in other.of_category.items():
            self.of_category[j].merge(sums)
        self.n_rows += other.n_rows
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def category_weight(self, n_classes: int) -> dict[int, Floats]:
        """Weight of each class in each category, by column, shape (n_categories, n_classes)."""
        return {j: sums.totals().reshape(-1, n_classes) for j, sums in self.of_category.items()}

    def check(self) -> None:
        """Refuse weights that sums cannot hold side by side."""
        check_weight_span(self.low, self.high, float(self.of_class.totals().sum()))
