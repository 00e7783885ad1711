"""Schema: what a model knows of the table it was fitted on, and any other table in its terms."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categories import CategoryLookup, chosen_features, spelled_number
from ferl._tables.column import Column, infinity_message
from ferl._tables.reading import Table, label, read_table
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

    @classmethod
    def learn(
        cls, X: Any, categorical_features: Sequence[str | int | bool] | str | None = "from_dtype", n_threads: int = 1
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

        Returns
        -------
        Schema
        """
        table = read_table(X)
        n_features = table.shape[1]
        chosen = chosen_features(categorical_features, table.names, n_features)
        if table.block is not None and (chosen is None or not chosen.any()):
            return cls(table.names, (None,) * n_features)
        are_categories = [column.is_category for column in table.columns] if chosen is None else chosen.tolist()
        categories = [column for column, is_category in zip(table.columns, are_categories, strict=True) if is_category]
        for_each(lambda column: column.factor, categories, threads_for(table.shape[0] * len(categories), n_threads))
        found: list[NDArray[Any] | None] = []
        for column, is_category in zip(table.columns, are_categories, strict=True):
            if is_category:
                found.append(column.categories())
                continue
            if column.kind == "text" and column.factor.held:
                raise ValueError(
                    f"{column.label} holds text (for example {column.example}) and is not among "
                    f"categorical_features ({shown(categorical_features)}). Add it to them, or leave the column out."
                )
            found.append(None)
        if chosen is None and table.names is None:
            _warn_of_spelled_numbers(found)
        return cls(table.names, tuple(found))

    @cached_property
    def lookups(self) -> tuple[CategoryLookup | None, ...]:
        """For each feature None, if it holds numbers, or which category a value is."""
        return tuple(None if known is None else CategoryLookup(known) for known in self.categories)

    @cached_property
    def _holds_categories(self) -> bool:
        return any(known is not None for known in self.categories)

    def __getstate__(self) -> dict[str, Any]:
        # Lookups are made again where they are needed.
        return {"names": self.names, "categories": self.categories}

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
            if self._holds_categories or self.names is not None:
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
        for row, values in enumerate(rows):
            for feature, (value, lookup) in enumerate(zip(values, self.lookups, strict=True)):
                if value is None or (type(value) is float and value != value):
                    encoded[row, feature] = math.nan
                    continue
                if type(value) not in _PLAIN_TYPES or value in _INFINITIES:
                    return None
                is_text = type(value) is str
                if lookup is None:
                    if is_text or (type(value) is int and abs(value) > 2**63):
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
        if table.block is not None and not self._holds_categories:
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
        if column.kind != "text":
            return column.own_numbers()
        if not column.factor.held:
            return math.nan
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
            lookup = self.lookups[feature]
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
        return isinstance(other, Schema) and self.to_dict() == other.to_dict()

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


def merge_columns(known: Schema, others: Schema) -> Schema:
    """The columns of two tables that are parts of one: their categories together.

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
    pairs = zip(known.categories, others.categories, strict=True)
    return Schema(known.names, tuple(_merged(known.label(j), *pair) for j, pair in enumerate(pairs)))


def _merged(label: str, known: NDArray[Any] | None, others: NDArray[Any] | None) -> NDArray[Any] | None:
    # A column without any value has no categories, whatever its type.
    has_categories = any(own is not None and len(own) for own in (known, others))
    if (known is None or others is None) and not has_categories:
        return None
    if known is None or others is None or (len(known) and len(others) and known.dtype.kind != others.dtype.kind):
        kinds = ["numbers" if own is None else _CATEGORY_KINDS[own.dtype.kind] for own in (known, others)]
        if {"whole numbers", "numbers with fractions"} == set(kinds):
            return np.union1d(np.asarray(known, dtype=np.float64), np.asarray(others, dtype=np.float64))
        raise ValueError(
            f"{label} holds {kinds[0]} in some batches and {kinds[1]} in others. Give it one type, or name it in "
            "categorical_features."
        )
    if not len(known) or not len(others):
        return others if not len(known) else known
    return np.array(sorted({*known.tolist(), *others.tolist()}), dtype=known.dtype)


_CATEGORY_KINDS = {"O": "text", "b": "booleans", "i": "whole numbers", "f": "numbers with fractions"}


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
