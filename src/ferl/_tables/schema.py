"""Schema: the columns of a training table, and any other table, batch or row in terms of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.columns import (
    LEAST_ROWS,
    Column,
    are_ids,
    are_running_numbers,
    array_column,
    column_label,
    encode_columns,
    holds_infinity,
    infinity_message,
    learn_columns,
    number_kinds,
    recognise,
    without_markers,
)
from ferl._tables.derived import Derived, with_derived
from ferl._tables.kinds import (
    CODED,
    NOTHING_SAID,
    UNKNOWN,
    UNNAMED,
    ColumnKind,
    TableDescription,
    TableWarning,
    Target,
    merged_kind,
)
from ferl._tables.table import Table, chosen_features, read_table
from ferl._tables.values import CategoryLookup, spelled_number
from ferl._util.arrays import LARGEST, NARROWEST, Floats
from ferl._util.text import caller_level, listed, shown
from ferl._util.threads import in_order, threads_for

_MAX_NAMES = 5
_MAX_IDS = 5
_MAX_MARKERS = 3
_FEW_CELLS = 1000  # of a table, below which a dict is faster than Arrow
_PLAIN_TYPES = frozenset({float, int, bool, str})
_INFINITIES = (math.inf, -math.inf)
_LEVELS_IN_WORDS = {"O": "text", "b": "booleans", "i": "whole numbers", "f": "numbers with fractions"}


class IdColumnWarning(TableWarning):
    """Columns have another value in nearly every row and may be ids or names, which do not help to predict new rows.

    The attribute ``columns`` has their names; it is empty where the table has no names.
    """


class OtherColumnsWarning(UserWarning):
    """A table has columns that the model was not fitted on, or lacks some that no rule reads; neither is read."""


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a training table: their names, and which values the categorical ones had.

    Text, booleans, and what a data frame declares as categories are categories; numbers are numbers. A category is
    identified by its value, in whatever library and type it comes.

    Attributes
    ----------
    names : tuple of str or None
        None: the table had no names.
    categories : tuple of (ndarray or None)
        For each feature None, if it holds numbers, or its categories, sorted: an array of str (as objects), bool, int
        or float. A categorical column without any value has none.
    kinds : tuple of ColumnKind
        For each feature what its values are, and the words that people have for them; given none, they are unknown.
    target : Target
        What people call the labels.

    Examples
    --------
    >>> from ferl._tables import Schema
    >>> rows = [[1.5, "red"], [None, "blue"], [2.5, "red"]]
    >>> columns = Schema.learn(rows)
    >>> columns.n_categories
    array([0, 2], dtype=int32)
    >>> columns.encode(rows)
    array([[1.5, 1. ],
           [nan, 0. ],
           [2.5, 1. ]])
    >>> columns.encode([[3.5, "green"]])  # unseen: the number of categories
    array([[3.5, 2. ]])
    >>> columns.unseen([[3.5, "green"]])
    {1: ['green']}
    """

    names: tuple[str, ...] | None
    categories: tuple[NDArray[Any] | None, ...]
    kinds: tuple[ColumnKind, ...] = ()
    target: Target = UNNAMED

    def __post_init__(self) -> None:
        if not self.kinds:
            object.__setattr__(self, "kinds", (UNKNOWN,) * len(self.categories))

    # -----------------------------------------------------------------------------------------------------------------
    # Training
    # -----------------------------------------------------------------------------------------------------------------

    @classmethod
    def learn(
        cls,
        X: Any,
        categorical_features: Sequence[str | int | bool] | str | None = "from_dtype",
        n_threads: int = 1,
        description: TableDescription = NOTHING_SAID,
        is_part: bool = False,
    ) -> Schema:
        """The columns of a table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: NumPy, lists of rows, pandas, polars, pyarrow or what else narwhals reads.
        categorical_features : "from_dtype", None, or array-like of str, int or bool, default="from_dtype"
            Names, indices or a mask of features to read as categories, in addition to columns with a categorical type.
            "from_dtype": the types alone decide; integers are numbers. None: no feature is a category, and text is an
            error.
        n_threads : int, default=1
            Number of threads; small tables take one.
        description : TableDescription, default=NOTHING_SAID
            How people describe the columns: markers of missing values, orders, units, meanings of values.
        is_part : bool, default=False
            Whether the table is a part of a larger one: the kind of its text is determined when all parts are read.

        Returns
        -------
        Schema
        """
        table = read_table(X)
        n_features = table.shape[1]
        chosen = chosen_features(categorical_features, table.names, n_features)
        described = description.by_feature(table.names, n_features)
        if table.block is not None and (chosen is None or not chosen.any()):
            pairs = zip(described, number_kinds(table.block), strict=True)
            kinds = tuple(item.described(name, column_label(j, table.names)) for j, (item, name) in enumerate(pairs))
            return cls(table.names, (None,) * n_features, kinds, description.target)
        n_threads = threads_for(table.shape[0] * n_features, n_threads)
        categories, kinds = learn_columns(table.columns, described, chosen, n_threads)
        schema = cls(table.names, categories, kinds, description.target)
        if is_part:
            return schema
        schema = schema.settled(categorical_features)
        for column, item in zip(table.columns, described, strict=True):
            if markers := [shown(text) for text in column.markers if text.strip() not in item.missing]:
                held = listed(markers[:_MAX_MARKERS])
                fact = f"{column.label} holds {held} among numbers, which is taken as a missing value."
                warnings.warn(TableWarning(fact, "Replace it by None or NaN."), stacklevel=caller_level())
        if chosen is not None and not chosen.any() and table.names is None:
            _warn_of_spelled_numbers(schema.categories)
        return schema

    @classmethod
    def learn_rows(
        cls,
        X: Any,
        categorical_features: Any = "from_dtype",
        n_threads: int = 1,
        description: TableDescription = NOTHING_SAID,
    ) -> tuple[Schema, Floats]:
        """The columns of a training table as in :meth:`learn`, and its rows as in :meth:`encode`; warns of ids."""
        table = read_table(X)
        schema = cls.learn(table, categorical_features, n_threads, description)
        rows = schema.encode(table, n_threads)
        schema._warn_of_ids(rows)
        return schema, rows

    def settled(self, categorical_features: Any = "from_dtype") -> Schema:
        """The columns, once all text of the table is known: what spells numbers beside markers, or dates, is that.

        A :class:`TableWarning` reports it. Text that is nothing else is an error with ``categorical_features=None``.
        """
        categories, kinds = list(self.categories), list(self.kinds)
        for j, kind in enumerate(self.kinds):
            known = self.categories[j]
            if kind.name not in ("text", "other text") or known is None:
                continue
            kinds[j], fact, remedy = recognise(self.label(j), known.tolist(), kind)
            is_category = kinds[j].name == "category"
            if kind.name == "other text" and is_category and len(known):
                raise ValueError(
                    f"{self.label(j)} holds text (for example {shown(known[0])}), and categorical_features is "
                    f"{shown(categorical_features)}: no column holds categories. Leave the parameter or the column out."
                )
            if fact:
                names = () if self.names is None else (self.names[j],)
                warnings.warn(TableWarning(fact, remedy, names), stacklevel=caller_level())
            categories[j] = without_markers(known, kind) if is_category else None
        return replace(self, categories=tuple(categories), kinds=tuple(kinds))

    def _warn_of_ids(self, rows: Floats) -> None:
        """Warn of columns that look like ids; a table of one column has nothing else to learn from."""
        if rows.shape[1] < 2 or len(rows) < LEAST_ROWS:
            return
        result = []
        for j, (known, kind) in enumerate(zip(self.categories, self.kinds, strict=True)):
            if known is None and kind.name != "integer":
                continue
            values = rows[:, j][~np.isnan(rows[:, j])]
            name = "" if self.names is None else self.names[j]
            if are_running_numbers(values, name) if known is None else are_ids(len(known), len(values)):
                result.append(j)
        if not result:
            return
        labels, n_more = [self.label(j) for j in result[:_MAX_IDS]], len(result) - _MAX_IDS
        listing = [labels[0], *(f"{label[0].lower()}{label[1:]}" for label in labels[1:])] + [f"{n_more} more"] * (
            n_more > 0
        )
        verb, them, they = ("has", "it", "it is") if len(result) == 1 else ("have", "them", "they are")
        names = [] if self.names is None else [self.names[j] for j in result]
        left_out = f"X.drop(columns={names})" if names else f"np.delete(X, {result}, axis=1)"
        fact = f"{listed(listing)} {verb} another value in nearly every row and may be ids or names."
        remedy = (
            f"What a model learns from ids is useless for new rows, and all of these look novel: leave {them} out, for "
            f"example by {left_out}. If {they} a time or a rank that matters, keep {them}."
        )
        warnings.warn(IdColumnWarning(fact, remedy, names), stacklevel=caller_level())

    # -----------------------------------------------------------------------------------------------------------------
    # Features
    # -----------------------------------------------------------------------------------------------------------------

    def label(self, feature: int) -> str:
        """What errors call a feature."""
        return column_label(feature, self.names)

    def select(self, features: Sequence[int]) -> Schema:
        """The schema of some of the columns, in this order."""
        names = None if self.names is None else tuple(self.names[j] for j in features)
        kinds = tuple(self.kinds[j] for j in features)
        return replace(self, names=names, categories=tuple(self.categories[j] for j in features), kinds=kinds)

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Number of categories of each feature, 0 for numbers, shape (n_features,)."""
        return np.array([0 if known is None else len(known) for known in self.categories], dtype=np.int32)

    @cached_property
    def lookups(self) -> tuple[CategoryLookup | None, ...]:
        """For each feature None, if it holds numbers, or what finds the category of a value."""
        pairs = enumerate(self.categories)
        return tuple(None if known is None else CategoryLookup(known, self.kinds[j].missing) for j, known in pairs)

    @cached_property
    def holds_numbers_alone(self) -> bool:
        """Whether every column holds numbers that are read as they are."""
        return all(known is None for known in self.categories) and not self._coded

    @cached_property
    def _coded(self) -> frozenset[int]:
        """Features whose numbers differ from the values of the table: dates and ordered categories."""
        return frozenset(j for j, kind in enumerate(self.kinds) if kind.name in CODED)

    def __getstate__(self) -> dict[str, Any]:
        # Lookups are made again where they are needed.
        return {name: vars(self)[name] for name in ("names", "categories", "kinds", "target") if name in vars(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __eq__(self, other: object) -> bool:
        # Which numbers are whole, and the words for columns, are for readers: nothing is encoded otherwise.
        return isinstance(other, Schema) and self.names == other.names and self._coding() == other._coding()

    def _coding(self) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = []
        for j, known in enumerate(self.categories):
            kind, levels = self.kinds[j], None if known is None else (known.dtype.kind, known.tolist())
            result.append((levels, kind.is_date, kind.is_zoned, kind.date_form, kind.order, kind.missing))
        return result

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.n_categories.tolist())))

    # -----------------------------------------------------------------------------------------------------------------
    # Tables as numbers
    # -----------------------------------------------------------------------------------------------------------------

    def encode(self, X: Any, n_threads: int = 1) -> Floats:
        """A table as numbers.

        Columns are found by their names, in any order; without names on either side, by their order.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table.
        n_threads : int, default=1
            Number of threads; small tables take one.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float64
            Numbers as they are, categories as their indices in ``categories``, ``len(categories)`` for a category that
            is not among them; NaN where a value is missing, and for all values of a feature without categories. It may
            share its memory with X.
        """
        encoded = self.encode_plain(X, n_threads)
        if encoded is not None:
            return encoded
        table = read_table(X)
        order = self._order(table)
        if table.block is not None and self.holds_numbers_alone:
            block = table.block if order == range(len(order)) else table.block[:, order]
            encoded = block.astype(np.float64, copy=False)
            self.refuse_infinity(encoded, n_threads)
            return encoded
        encoded = np.empty((table.shape[0], len(self.categories)), order="F")
        columns = [table.columns[j] for j in order]
        encode_columns(columns, self.kinds, self.lookups, encoded, threads_for(encoded.size, n_threads))
        return encoded

    def encode_plain(self, X: Any, n_threads: int = 1) -> Floats | None:
        """As :meth:`encode`, for the plainest tables only; None: the table needs a closer look.

        They are arrays of float64 where all features are numbers, and few rows of Python's types in a list or in a
        data frame of pandas or polars. Such a list or array is for columns without names, and such a data frame for
        columns with the same names in the same order.
        """
        n_features = len(self.categories)
        if type(X) is np.ndarray:
            if X.dtype != np.float64 or X.ndim != 2 or X.shape[1] != n_features or not len(X):
                return None
            if not self.holds_numbers_alone or self.names is not None:
                return None
            if X.size >= _FEW_CELLS or holds_infinity(X):
                self.refuse_infinity(X, n_threads)
            return X
        if not hasattr(X, "__len__") or not 0 < len(X) * n_features <= _FEW_CELLS:
            return None
        if type(X) is list:
            is_plain = self.names is None and all(type(row) is list and len(row) == n_features for row in X)
            return self.encode_values(X) if is_plain else None
        library = type(X).__module__.partition(".")[0]
        if type(X).__name__ != "DataFrame" or library not in ("pandas", "polars"):
            return None
        names = X.columns if library == "polars" else X.columns.tolist()
        if tuple(names) != self.names:
            return None
        return self.encode_values(X.rows() if library == "polars" else X.to_numpy(dtype=object).tolist())

    def encode_values(self, rows: Sequence[Sequence[Any]]) -> Floats | None:
        """Rows of Python's types; None where a value is of another type, or its column would be refused."""
        encoded = np.empty((len(rows), len(self.categories)), order="F")
        coded = self._coded
        for row, values in enumerate(rows):
            for feature, (value, lookup) in enumerate(zip(values, self.lookups, strict=True)):
                if value is None or (type(value) is float and value != value):
                    encoded[row, feature] = math.nan
                    continue
                if type(value) not in _PLAIN_TYPES or value in _INFINITIES:
                    return None
                is_text = type(value) is str
                if lookup is None:
                    if is_text or feature in coded or (type(value) is int and abs(value) > 2**63):
                        return None
                    encoded[row, feature] = value
                elif not lookup.n_categories:
                    encoded[row, feature] = math.nan
                elif is_text != lookup.is_text or (is_text and not value.isascii() and value not in lookup.by_value):
                    return None
                else:
                    encoded[row, feature] = lookup.index(value)
        return encoded

    def unseen(self, X: Any) -> dict[str | int, list[Any]]:
        """Categories of a table that are not in the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table.

        Returns
        -------
        dict
            By the name of the feature (its index, when there are no names), sorted; features without such categories
            are left out.
        """
        table = read_table(X)
        result: dict[str | int, list[Any]] = {}
        for feature, index in enumerate(self._order(table)):
            kind = self.kinds[feature]
            lookup = kind.lookup if kind.is_ordered else self.lookups[feature]
            if lookup is None:
                continue
            table.columns[index].refuse_other_type(lookup)
            if values := sorted(table.columns[index].unseen(lookup)):
                result[feature if self.names is None else self.names[feature]] = values
        return result

    def valued(self, X: Any) -> NDArray[np.bool_]:
        """Which columns of the table that these were learned from have any value, shape (n_features,)."""
        table = read_table(X)
        if table.block is not None:
            return np.asarray(~np.isnan(table.block).all(axis=0))
        return np.array([column.has_values for column in table.columns], dtype=np.bool_)

    def _order(self, table: Table) -> Sequence[int]:
        """The index in the table of each feature."""
        n_features = len(self.categories)
        if self.names is None or table.names is None:
            if table.shape[1] != n_features:
                raise ValueError(
                    f"X has {table.shape[1]} features, but the training table had {n_features}. Pass the same columns, "
                    "in the same order."
                )
            return range(n_features)
        if table.names == self.names:
            return range(n_features)
        refuse_other_names(set(self.names), set(table.names))
        index = {name: index for index, name in enumerate(table.names)}
        return [index[name] for name in self.names]

    def fitting(self, table: Table, needed: Collection[int] | None) -> Table:
        """A table with the columns of training, where both have names: others are left out, those it lacks are missing.

        An :class:`OtherColumnsWarning` reports it.

        Parameters
        ----------
        table : Table
            The table.
        needed : collection of int or None
            Features that it must have; None: it must have all, and no others.
        """
        if needed is None or self.names is None or table.names is None or set(table.names) == set(self.names):
            return table
        self.accept_names(table.names, needed)
        return table.selected(self.names)

    def accept_names(self, given: Collection[str], needed: Collection[int]) -> None:
        """Warn of names of a table that these columns do not have, or of columns that it lacks; refuse a needed one."""
        names, has = self.names or (), set(given)
        if any(names[j] not in has for j in needed):
            refuse_other_names(set(names), has)
        more, lacking = [name for name in given if name not in set(names)], [name for name in names if name not in has]
        if not more and not lacking:
            return
        facts = [f"columns that the model was not fitted on ({_few(more)})"] * bool(more)
        facts += [f"no columns {_few(lacking)}, which no rule reads"] * bool(lacking)
        warnings.warn(
            f"The rows have {' and '.join(facts)}. Probabilities do not depend on them.",
            OtherColumnsWarning,
            stacklevel=caller_level(),
        )

    def refuse_infinity(self, encoded: Floats, n_threads: int = 1) -> None:
        """Name the first feature of an encoded table that holds infinity."""
        n_parts = threads_for(encoded.size, n_threads)
        parts = np.array_split(encoded.T if encoded.flags.f_contiguous else encoded, n_parts)  # as they lie in memory
        if any(in_order(holds_infinity, parts, n_parts)):
            infinite = np.isinf(encoded).any(axis=0)
            raise ValueError(infinity_message(self.label(int(np.argmax(infinite)))))


def _warn_of_spelled_numbers(categories: Sequence[NDArray[Any] | None]) -> None:
    """Warn where text that spells numbers stands beside other text: NumPy makes text of numbers in such company."""
    texts = {j: known for j, known in enumerate(categories) if known is not None and known.dtype.kind == "O"}
    spelled = [
        j
        for j, known in texts.items()
        if len(known) and all(text.strip() and spelled_number(text) is not None for text in known)
    ]
    if spelled and len(spelled) < len(texts):
        warnings.warn(
            f"Feature {spelled[0]} holds text that spells numbers (for example {shown(texts[spelled[0]][0])}) and is "
            "taken as categories. If it holds numbers, pass a data frame, a list of rows, or an array of dtype object "
            "that holds them as numbers; if it holds categories, name it in categorical_features.",
            UserWarning,
            stacklevel=caller_level(),
        )


def _few(names: Sequence[str]) -> str:
    return ", ".join([*map(repr, names[:_MAX_NAMES]), *["..."] * (len(names) > _MAX_NAMES)])


def refuse_other_names(known: set[str], given: set[str]) -> None:
    """Name what is missing and what is too much, in scikit-learn's words."""
    parts = []
    for names, what in (
        (given - known, "Feature names unseen at fit time"),
        (known - given, "Feature names seen at fit time, yet now missing"),
    ):
        lines = [f"- {name}\n" for name in sorted(names)[:_MAX_NAMES]] + ["- ...\n"] * (len(names) > _MAX_NAMES)
        parts += [f"{what}:\n", *lines] if names else []
    if parts:
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            + "".join(parts)
            + "Leave out columns that the model does not have, and pass all that it has, in any order."
        )


def refuse_extreme_scales(columns: Schema, low: Floats, high: Floats) -> None:
    """Name the first feature whose range cannot be divided into bands; ``low`` above ``high``: it has no value."""
    with np.errstate(over="ignore"):
        width = high - low
    narrow = (width > 0) & (width < NARROWEST)
    if narrow.any():
        feature = int(np.argmax(narrow))
        raise ValueError(
            f"{columns.label(feature)} varies by {width[feature]:.3g} only; {NARROWEST:.0e} is the least that can be "
            "divided into bands. Rescale it."
        )
    largest = np.fmax(high, -low)
    if (largest > LARGEST).any():
        feature = int(np.argmax(largest > LARGEST))
        raise ValueError(
            f"{columns.label(feature)} holds a value of magnitude {largest[feature]:.3g}; magnitudes up to "
            f"{LARGEST:.0e} can be fitted. Rescale it, or replace it by NaN if it is a code for 'missing'."
        )


# ---------------------------------------------------------------------------------------------------------------------
# Parts of one table
# ---------------------------------------------------------------------------------------------------------------------


def merge_columns(known: Schema, others: Schema, has_values: Sequence[tuple[bool, bool]] | None = None) -> Schema:
    """The columns of two tables that are parts of one: their categories together.

    Parameters
    ----------
    known, others : Schema
        The columns of the two.
    has_values : sequence of (bool, bool), default=None
        By column, whether it has any value in the first and in the second. Where only one has, its kind counts: pandas
        makes floats of a text column that is empty. None: all have.

    Returns
    -------
    Schema

    Examples
    --------
    >>> from ferl._tables import Schema, merge_columns
    >>> merge_columns(Schema.learn([[1.0, "b"]]), Schema.learn([[2.0, "a"]])).categories
    (None, array(['a', 'b'], dtype=object))
    """
    if known.names != others.names or len(known.categories) != len(others.categories):
        if known.names is not None and others.names is not None:
            refuse_other_names(set(known.names), set(others.names))
        raise ValueError(
            "Batches have different columns, or the same in another order. Give every batch the columns of the first."
        )
    categories, kinds = [], []
    for j, pair in enumerate(zip(known.categories, others.categories, strict=True)):
        in_first, in_second = (True, True) if has_values is None else has_values[j]
        if in_first != in_second:
            categories.append(pair[0] if in_first else pair[1])
            kinds.append((known if in_first else others).kinds[j])
        else:
            kinds.append(merged_kind(known.label(j), known.kinds[j], others.kinds[j]))
            categories.append(_merged_categories(known.label(j), *pair))
    return replace(known, categories=tuple(categories), kinds=tuple(kinds))


def _merged_categories(label: str, known: NDArray[Any] | None, others: NDArray[Any] | None) -> NDArray[Any] | None:
    # A column without any value has no categories, whatever its type.
    if not any(item is not None and len(item) for item in (known, others)):
        return None if known is None or others is None else known
    if known is None or others is None or (len(known) and len(others) and known.dtype.kind != others.dtype.kind):
        kinds = ["numbers" if item is None else _LEVELS_IN_WORDS[item.dtype.kind] for item in (known, others)]
        if {"whole numbers", "numbers with fractions"} == set(kinds):
            return np.union1d(np.asarray(known, dtype=np.float64), np.asarray(others, dtype=np.float64))
        raise ValueError(
            f"{label} holds {kinds[0]} in some batches and {kinds[1]} in others. Give it one type, or name it in "
            "categorical_features."
        )
    if not len(known) or not len(others):
        return known if len(known) else others
    return np.array(sorted({*known.tolist(), *others.tolist()}), dtype=known.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Rows as a model reads them
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneRow:
    """A row as the model reads it, and its categories that training did not have.

    Attributes
    ----------
    values : ndarray of shape (1, n_columns)
        Numbers and codes of categories, with derived columns behind them.
    unseen : dict
        By the index of the feature: a category that training did not have.
    """

    values: Floats
    unseen: dict[int, Any] = field(default_factory=dict)


def read_row(schema: Schema, derived: Sequence[Derived], x: Any, needed: Collection[int] | None = None) -> OneRow:
    """A row given as a 1-D array, a table of one row, a pandas Series, or a dict of values by feature.

    Parameters
    ----------
    schema : Schema
        The columns of the training table.
    derived : sequence of Derived
        The columns behind the features.
    x : array-like, data frame, Series or dict
        The row. What has no names goes by the order of the features.
    needed : collection of int, default=None
        Features that it must have a value for, as in :meth:`Schema.fitting`.

    Returns
    -------
    OneRow
    """
    values = _values_of(schema, x, needed)
    n_features = len(schema.categories)
    if values is not None and len(values) != n_features:
        raise ValueError(f"x has {len(values)} values; the model was fitted on {n_features} features.")
    encoded = schema.encode_plain(x) if values is None else schema.encode_values([list(map(_plain, values))])
    unseen: dict[int, Any] = {}
    if encoded is None or _may_hold_unseen(schema, encoded):
        table = schema.fitting(read_table(x), needed) if values is None else _table_of(schema, values)
        encoded = schema.encode(table)
        keys = range(n_features) if schema.names is None else schema.names
        result = schema.unseen(table)
        unseen = {feature: result[key][0] for feature, key in enumerate(keys) if key in result}
    if len(encoded) != 1:
        raise ValueError(
            f"x has {len(encoded)} rows; this is about one. Pass one of them, for example X[0] or X.iloc[0]."
        )
    return OneRow(with_derived(encoded, derived), unseen)


def is_one_row(schema: Schema, x: Any, needed: Collection[int] | None = None) -> bool:
    """Whether what is given where a table is expected is one row: a dict or a pandas Series that names the features.

    Other one-dimensional input may as well be a column, and is for scikit-learn to refuse.
    """
    if isinstance(x, Mapping):
        return all(isinstance(value, str) or np.ndim(value) == 0 for value in x.values())
    is_series = hasattr(x, "to_list") and hasattr(x, "index") and not hasattr(x, "columns")
    if not is_series or schema.names is None:
        return False
    wanted = schema.names if needed is None else [schema.names[j] for j in needed]
    return len(wanted) > 0 and set(wanted) <= set(x.index)


def _may_hold_unseen(schema: Schema, encoded: Floats) -> bool:
    return any(
        (lookup is not None and (not lookup.n_categories or (encoded[:, feature] == lookup.n_categories).any()))
        or (schema.kinds[feature].is_ordered and bool(np.isnan(encoded[:, feature]).any()))
        for feature, lookup in enumerate(schema.lookups)
    )


def _plain(value: Any) -> Any:
    """The value as a number of Python's, where that is the same number."""
    return value.item() if isinstance(value, np.float64 | np.integer | np.bool_) else value


def _values_of(schema: Schema, x: Any, needed: Collection[int] | None) -> list[Any] | None:
    """The values of a row by feature; None where ``x`` is a table."""
    if isinstance(x, Mapping):
        return _named_values(schema, x, needed)
    if isinstance(x, list | tuple | np.ndarray):
        n_dimensions = x.ndim if isinstance(x, np.ndarray) else np.ndim(np.array(x, dtype=object))
        if n_dimensions == 1:
            return list(x)
        return list(x[0]) if n_dimensions == 2 and len(x) == 1 else None
    if getattr(x, "ndim", 2) != 1 and not (hasattr(x, "to_list") and not hasattr(x, "columns")):
        return None
    if hasattr(x, "to_dict") and hasattr(x, "index") and schema.names is not None:  # a pandas Series
        index = list(x.index)
        if all(isinstance(name, str) for name in index):
            return _named_values(schema, dict(zip(index, x, strict=True)), needed)
    return list(x)


def _named_values(schema: Schema, values: Mapping[Any, Any], needed: Collection[int] | None) -> list[Any]:
    names: Sequence[Any] = schema.names or [f"x{j}" for j in range(len(schema.categories))]
    if schema.names is None and all(isinstance(key, int | np.integer) for key in values):
        names = range(len(names))
    known = set(names)
    if needed is not None and schema.names is not None and all(names[j] in values for j in needed):
        if set(values) != known:
            schema.accept_names([str(key) for key in values], needed)
        return [values.get(name) for name in names]
    if other := [key for key in values if key not in known]:
        raise ValueError(
            f"x has a value for {shown(other[0])}, which is no feature of the model. Leave it out; the features are "
            f"{shown(list(names))}."
        )
    if lacking := [name for name in names if name not in values]:
        raise ValueError(
            f"x has no value for {shown(lacking[0])}, a feature of the model. Add it; None stands for a missing value."
        )
    return [values[name] for name in names]


def _table_of(schema: Schema, values: list[Any]) -> Table:
    """A table of one row."""
    pairs = enumerate(values)
    columns: list[Column] = [array_column(schema.label(j), _boxed(value)) for j, value in pairs]
    return Table(schema.names, (1, len(values)), None, lambda some: [columns[j] for j in some])


def _boxed(value: Any) -> NDArray[Any]:
    cell = np.empty(1, dtype=object)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")  # NumPy makes a number of nanoseconds
    cell[0] = value.item() if isinstance(value, np.generic) else value
    if isinstance(cell[0], int) and not -(2**63) <= cell[0] < 2**63:
        cell[0] = float(cell[0])  # Arrow has no larger whole numbers; a data frame would hold it so, too
    return cell
