"""Schema: what a model knows of the table it was fitted on, and any other table in its terms."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categories import CategoryLookup, chosen_features, spelled_number
from ferl._tables.column import Column, infinity_message
from ferl._tables.describe import NOTHING_SAID, TableDescription
from ferl._tables.kinds import UNKNOWN, UNNAMED, ColumnKind, Target, number_kinds
from ferl._tables.read_column import days_of_column, learn_column, ordered_codes, text_numbers
from ferl._tables.reading import Table, label, read_table
from ferl._tables.recognise import TableWarning, markers_note, recognise
from ferl._tables.schema_form import columns_from_form, columns_to_form
from ferl._util.arrays import Floats
from ferl._util.text import shown
from ferl._util.threads import for_each, threads_for

_MAX_NAMES = 5
_FEW_CELLS = 1000  # of a table, below which a dict is faster than Arrow


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a training table: their names, and which values the categorical ones had.

    Text, booleans, and what a data frame declares as categories are categories; numbers are numbers. A category is
    known by its value, in whatever library and type it comes.

    Attributes
    ----------
    names : tuple of str or None
        None: the table had no names.
    categories : tuple of (ndarray or None)
        For each feature None, if it holds numbers, or its categories, sorted: an array of str (as objects), bool, int
        or float. A categorical column without any value has none.
    kinds : tuple of ColumnKind
        For each feature what its values are, and the words that people have for them; empty where nothing is known.
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
            Which features are categories: names, indices or a mask; all others are then numbers, and text among them is
            an error. "from_dtype": the columns' types decide; integers are numbers. None: no feature is.
        n_threads : int, default=1
            Number of threads; small tables take one.
        description : TableDescription, default=NOTHING_SAID
            What people say of the columns: markers of missing values, orders, units, meanings of values.
        is_part : bool, default=False
            Whether the table is a part of a larger one: what its text is will be settled when all of it is known.

        Returns
        -------
        Schema
        """
        table = read_table(X)
        n_features = table.shape[1]
        chosen = chosen_features(categorical_features, table.names, n_features)
        said = description.by_feature(table.names, n_features)
        if table.block is not None and (chosen is None or not chosen.any()):
            names = number_kinds(table.block)
            if description.columns or description.missing:
                kinds = tuple(own.kind_of_numbers(label(j, table.names), names[j]) for j, own in enumerate(said))
            else:  # a hundred thousand columns share a few objects
                plain = {name: ColumnKind(name) for name in set(names)}
                kinds = tuple(plain[name] for name in names)
            return cls(table.names, (None,) * n_features, kinds, description.target)
        are_categories = [column.is_category for column in table.columns] if chosen is None else chosen.tolist()
        categories = [column for column, is_category in zip(table.columns, are_categories, strict=True) if is_category]
        for_each(lambda column: column.factor, categories, threads_for(table.shape[0] * len(categories), n_threads))
        learned = [
            learn_column(column, own, is_category, chosen is None)
            for column, own, is_category in zip(table.columns, said, are_categories, strict=True)
        ]
        found = cls(
            table.names, tuple(own for own, _ in learned), tuple(kind for _, kind in learned), description.target
        )
        if is_part:
            return found
        settled = found.settled(categorical_features)
        for column, own in zip(table.columns, said, strict=True):
            if told := [marker for marker in column.markers if marker.strip() not in own.missing]:
                warnings.warn(markers_note(column.label, told), TableWarning, stacklevel=2)
        if chosen is None and table.names is None:
            _warn_of_spelled_numbers(settled.categories)
        return settled

    def settled(self, categorical_features: Any = "from_dtype") -> Schema:
        """The columns, once all text of the table is known: what spells numbers beside markers, or dates, is that.

        A :class:`TableWarning` says so. Text that is nothing else is an error where the user chose other columns as
        ``categorical_features``.
        """
        categories, kinds = list(self.categories), list(self.kinds)
        for j, kind in enumerate(self.kinds):
            known = self.categories[j]
            if kind.name not in ("text", "other text") or known is None:
                continue
            found = recognise(self.label(j), known.tolist(), kind.missing)
            if kind.name == "other text" and found.name == "category" and len(known):
                raise ValueError(
                    f"{self.label(j)} holds text (for example {shown(known[0])}) and is not among categorical_features "
                    f"({shown(categorical_features)}). Add it to them, or leave the column out."
                )
            if found.note:
                warnings.warn(found.note, TableWarning, stacklevel=3)
            missing = tuple(dict.fromkeys((*kind.missing, *found.missing)))
            kinds[j] = replace(
                kind, name=found.name, is_zoned=found.is_zoned, missing=missing, date_form=found.date_form
            )
            if found.name == "category":
                kinds[j] = replace(kinds[j], missing=kind.missing)
                categories[j] = np.array([own for own in known if own.strip() not in kind.missing], dtype=object)
            else:
                categories[j] = None
        return replace(self, categories=tuple(categories), kinds=tuple(kinds))

    def kind(self, feature: int) -> ColumnKind:
        """What the values of a feature are."""
        return self.kinds[feature] if self.kinds else UNKNOWN

    def select(self, features: Sequence[int]) -> Schema:
        """The schema of some of the columns, in this order."""
        names = None if self.names is None else tuple(self.names[j] for j in features)
        kinds = tuple(self.kind(j) for j in features)
        return replace(self, names=names, categories=tuple(self.categories[j] for j in features), kinds=kinds)

    @cached_property
    def lookups(self) -> tuple[CategoryLookup | None, ...]:
        """For each feature None, if it holds numbers, or which category a value is."""
        return tuple(
            None if known is None else CategoryLookup(known, self.kind(j).missing)
            for j, known in enumerate(self.categories)
        )

    @cached_property
    def holds_numbers_alone(self) -> bool:
        """Whether every column holds numbers that are read as they are."""
        return all(known is None for known in self.categories) and not self._coded

    @cached_property
    def _coded(self) -> frozenset[int]:
        """Features whose numbers are not those of the table: dates and ordered categories."""
        return frozenset(j for j, kind in enumerate(self.kinds) if kind.is_coded)

    def __getstate__(self) -> dict[str, Any]:
        # Lookups are made again where they are needed.
        return {name: vars(self)[name] for name in ("names", "categories", "kinds", "target") if name in vars(self)}

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Number of categories of each feature, 0 for numbers, shape (n_features,)."""
        return np.array([0 if known is None else len(known) for known in self.categories], dtype=np.int32)

    def label(self, feature: int) -> str:
        """What errors call a feature."""
        return label(feature, self.names)

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
        return self._encode_table(read_table(X), n_threads) if encoded is None else encoded

    def encode_plain(self, X: Any, n_threads: int = 1) -> Floats | None:
        """As :meth:`encode`, for the plainest tables only; None: the table needs a closer look.

        They are arrays of float64 where all features are numbers, and few rows of Python's own types in a list or in a
        pandas data frame. Such a list or array is for columns without names, and such a data frame for columns with the
        same names in the same order.
        """
        n_features = len(self.categories)
        if type(X) is np.ndarray:
            if X.dtype != np.float64 or X.ndim != 2 or X.shape[1] != n_features or not len(X):
                return None
            if not self.holds_numbers_alone or self.names is not None:
                return None
            if X.size >= _FEW_CELLS or _holds_infinity(X):
                self.refuse_infinity(X, n_threads)
            return X
        if not hasattr(X, "__len__") or not 0 < len(X) * n_features <= _FEW_CELLS:
            return None
        if type(X) is list:
            is_plain = self.names is None and all(type(row) is list and len(row) == n_features for row in X)
            return self.encode_values(X) if is_plain else None
        pandas = sys.modules.get("pandas")  # not imported: then X is not of pandas
        if pandas is None or type(X) is not pandas.DataFrame or tuple(X.columns.tolist()) != self.names:
            return None
        return self.encode_values(X.to_numpy(dtype=object).tolist())

    def encode_values(self, rows: list[list[Any]]) -> Floats | None:
        """Rows of Python's own types; None where a value is of another type, or its column would be refused."""
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

    def _encode_table(self, table: Table, n_threads: int) -> Floats:
        order = self._order(table)
        if table.block is not None and self.holds_numbers_alone:
            block = table.block if order == range(len(order)) else table.block[:, order]
            encoded = block.astype(np.float64, copy=False)
            self.refuse_infinity(encoded, n_threads)
            return encoded
        encoded = np.empty((table.shape[0], len(self.categories)), order="F")
        columns, lookups = table.columns, self.lookups  # read here, once, and not by every thread

        def fill(feature: int) -> None:
            own = encoded[:, feature]
            own[:] = self._encode_column(feature, columns[order[feature]])
            if lookups[feature] is None and _holds_infinity(own):  # while it is in the cache
                raise ValueError(infinity_message(self.label(feature)))

        for_each(fill, range(len(order)), threads_for(encoded.size, n_threads))
        return encoded

    def _encode_column(self, feature: int, column: Column) -> NDArray[Any] | float:
        lookup = self.lookups[feature]
        if lookup is not None:
            column.refuse_other_kind(lookup)
            return column.codes(lookup)
        kind = self.kind(feature)
        if kind.is_ordered:
            return ordered_codes(column, kind)
        if kind.is_date:
            return days_of_column(column, kind)
        if column.kind == "date":
            raise ValueError(f"{self.label(feature)} holds dates; in training it held numbers. Convert it to numbers.")
        if column.kind != "text":
            return column.own_numbers()
        numbers = text_numbers(column, kind.missing)
        if numbers is not None:
            return numbers
        raise ValueError(
            f"{self.label(feature)} holds text (for example {column.example}); in training it held numbers. Convert it "
            "to numbers. (NumPy makes text of all values of an array when one of them is text: pass a data frame, a "
            "list of rows, or an array of dtype object.)"
        )

    def unseen(self, X: Any) -> dict[str | int, list[Any]]:
        """Categories of a table that are not among those of training.

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
        found: dict[str | int, list[Any]] = {}
        for feature, index in enumerate(self._order(table)):
            kind = self.kind(feature)
            lookup = kind.lookup if kind.is_ordered else self.lookups[feature]
            if lookup is None:
                continue
            table.columns[index].refuse_other_kind(lookup)
            values = sorted(table.columns[index].unseen(lookup))
            if values:
                found[feature if self.names is None else self.names[feature]] = values
        return found

    def valued(self, X: Any) -> NDArray[np.bool_]:
        """Which columns of the table that these were learned from have any value, shape (n_features,)."""
        table = read_table(X)
        if table.block is not None:
            return np.asarray(~np.isnan(table.block).all(axis=0))
        return np.array([column.has_values for column in table.columns], dtype=np.bool_)

    def to_dict(self) -> dict[str, Any]:
        """A plain form for model files, which JSON can hold; :meth:`from_dict` reads it back."""
        return columns_to_form(self.names, self.categories)

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Schema:
        """A schema from its plain form.

        Parameters
        ----------
        form : dict
            From a file, that is, untrusted: whatever it holds, reading ends in columns or in a ValueError that says
            what is wrong.

        Returns
        -------
        Schema
        """
        return cls(*columns_from_form(form))

    def __eq__(self, other: object) -> bool:
        # Which numbers are whole, and the words for columns, are for readers: nothing is encoded otherwise.
        return isinstance(other, Schema) and self.to_dict() == other.to_dict() and self._coding() == other._coding()

    def _coding(self) -> list[tuple[Any, ...]]:
        return [
            (kind.is_date, kind.is_zoned, kind.date_form, kind.order, kind.missing)
            for kind in map(self.kind, range(len(self.categories)))
        ]

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.n_categories.tolist())))

    def _order(self, table: Table) -> Sequence[int]:
        """The index in the table of each feature."""
        if self.names is None or table.names is None:
            if table.shape[1] != len(self.categories):
                raise ValueError(
                    f"X has {table.shape[1]} features, but the training table had {len(self.categories)}. Pass the "
                    "same columns, in the same order."
                )
            return range(len(self.categories))
        if table.names == self.names:
            return range(len(self.categories))
        refuse_other_names(set(self.names), set(table.names))
        index = {name: index for index, name in enumerate(table.names)}
        return [index[name] for name in self.names]

    def refuse_infinity(self, encoded: Floats, n_threads: int = 1) -> None:
        """Name the first feature of an encoded table that holds infinity."""
        n_parts = threads_for(encoded.size, n_threads)
        parts = np.array_split(encoded.T if encoded.flags.f_contiguous else encoded, n_parts)  # as they lie in memory
        found = [False] * n_parts

        def look(part: int) -> None:
            found[part] = _holds_infinity(parts[part])

        for_each(look, range(n_parts), n_parts)
        if any(found):
            infinite = np.isinf(encoded).any(axis=0)
            raise ValueError(infinity_message(self.label(int(np.argmax(infinite)))))


_PLAIN_TYPES = frozenset({float, int, bool, str})
_INFINITIES = (math.inf, -math.inf)


def _holds_infinity(numbers: Floats) -> bool:
    # A sum is finite unless a number is not, or the numbers are huge: one pass, and rarely a second.
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = math.isfinite(float(numbers.sum()))
    return not is_finite and bool(np.isinf(numbers).any())


def refuse_other_names(known: set[str], given: set[str]) -> None:
    """Name what is missing and what is too much, in scikit-learn's words."""
    parts = []
    if given - known:
        parts.append(f"Feature names unseen at fit time:\n{_listed(given - known)}")
    if known - given:
        parts.append(f"Feature names seen at fit time, yet now missing:\n{_listed(known - given)}")
    if parts:
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            + "".join(parts)
            + "Leave out columns that the model does not know, and pass all that it knows, in any order."
        )


def _listed(names: set[str]) -> str:
    shown = [f"- {name}\n" for name in sorted(names)[:_MAX_NAMES]]
    return "".join(shown + ["- ...\n"] * (len(names) > _MAX_NAMES))


def _warn_of_spelled_numbers(categories: Sequence[NDArray[Any] | None]) -> None:
    """Warn where text that spells numbers stands beside other text: NumPy makes text of numbers in such company."""
    texts = {j: known for j, known in enumerate(categories) if known is not None and known.dtype.kind == "O"}
    spelled = [j for j, known in texts.items() if len(known) and all(map(_spells_number, known))]
    if spelled and len(spelled) < len(texts):
        warnings.warn(
            f"Feature {spelled[0]} holds text that spells numbers (for example {shown(texts[spelled[0]][0])}) and is "
            "taken as categories. If it holds numbers, pass a data frame, a list of rows, or an array of dtype object "
            "that holds them as numbers; if it holds categories, name it in categorical_features.",
            UserWarning,
            stacklevel=3,
        )


def _spells_number(text: str) -> bool:
    return bool(text.strip()) and spelled_number(text) is not None
