"""Schema: what a model knows of the table it was fitted on, and any other table in its terms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categorical import chosen_features
from ferl._tables.column import Column, infinity_message
from ferl._tables.reading import Table, label, read_table
from ferl._tables.schema_form import columns_from_form, columns_to_form
from ferl._util.arrays import Floats
from ferl._util.text import shown
from ferl._util.threads import for_each, threads_for

_MAX_NAMES = 5


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
        X : array-like or data frame of shape (n_rows, n_features)
            The table: NumPy, lists of rows, pandas, polars, pyarrow or what else narwhals reads.
        categorical_features : "from_dtype", None, or array-like of str, int or bool
            Which features are categories: names, places or a mask; all others are then numbers, and text among them is
            an error. "from_dtype": the columns' types decide; integers are numbers. None: no feature is.
        n_threads : int
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
        levels: list[NDArray[Any] | None] = []
        for column, is_category in zip(table.columns, are_categories, strict=True):
            if is_category:
                levels.append(column.levels())
                continue
            if column.kind == "text" and column.factor.held:
                raise ValueError(
                    f"{column.label} holds text (for example {column.example}) and is not among "
                    f"categorical_features ({shown(categorical_features)}). Add it to them, or leave the column out."
                )
            levels.append(None)
        if chosen is None and table.names is None:
            _warn_of_spelled_numbers(levels)
        return cls(table.names, tuple(levels))

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Number of categories of each feature, 0 for numbers, shape (n_features,)."""
        return np.array([0 if known is None else len(known) for known in self.categories], dtype=np.int32)

    def label(self, feature: int) -> str:
        """What errors call a feature."""
        return label(feature, self.names)

    def encode(self, X: Any, n_threads: int = 1) -> Floats:
        """A table as numbers.

        Schema are found by their names, in any order; without names on either side, by their places.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The table.
        n_threads : int
            Number of threads; small tables take one.

        Returns
        -------
        ndarray of shape (n_rows, n_features), float64
            Numbers as they are, categories as their places in ``categories``, ``len(categories)`` for a category that
            is not among them; NaN where a value is missing, and for all values of a feature without categories. It may
            share its memory with X.
        """
        table = read_table(X)
        places = self._places(table)
        if table.block is not None and all(known is None for known in self.categories):
            block = table.block if places == range(len(places)) else table.block[:, places]
            encoded = block.astype(np.float64, copy=False)
            self.refuse_infinity(encoded, n_threads)
            return encoded
        encoded = np.empty((table.shape[0], len(self.categories)), order="F")
        columns = table.columns  # read here, once, and not by every thread

        def fill(feature: int) -> None:
            own = encoded[:, feature]
            own[:] = self._encode_column(feature, columns[places[feature]])
            if self.categories[feature] is None and _holds_infinity(own):  # while it is in the cache
                raise ValueError(infinity_message(self.label(feature)))

        for_each(fill, range(len(places)), threads_for(encoded.size, n_threads))
        return encoded

    def _encode_column(self, feature: int, column: Column) -> NDArray[Any] | float:
        known = self.categories[feature]
        if known is not None:
            column.refuse_other_kind(known)
            return column.codes(known) if len(known) else math.nan
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
        X : array-like or data frame of shape (n_rows, n_features)
            The table.

        Returns
        -------
        dict
            By the name of the feature (its place, when there are no names), sorted; features without such categories
            are left out.
        """
        table = read_table(X)
        found: dict[str | int, list[Any]] = {}
        for feature, place in enumerate(self._places(table)):
            known = self.categories[feature]
            if known is None:
                continue
            table.columns[place].refuse_other_kind(known)
            values = table.columns[place].unseen(known)
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
        """Schema from their plain form.

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

    def _places(self, table: Table) -> Sequence[int]:
        """Where in the table each feature stands."""
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
        place = {name: place for place, name in enumerate(table.names)}
        return [place[name] for name in self.names]

    def refuse_infinity(self, encoded: Floats, n_threads: int = 1) -> None:
        """Name the first feature of an encoded table that holds infinity."""
        n_parts = threads_for(encoded.size, n_threads)
        parts = np.array_split(encoded.T if encoded.flags.f_contiguous else encoded, n_parts)  # as they lie in memory
        found = [False] * n_parts

        def look(place: int) -> None:
            found[place] = _holds_infinity(parts[place])

        for_each(look, range(n_parts), n_parts)
        if any(found):
            infinite = np.isinf(encoded).any(axis=0)
            raise ValueError(infinity_message(self.label(int(np.argmax(infinite)))))


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
    # A column without any value has no levels, whatever its type.
    has_levels = any(own is not None and len(own) for own in (known, others))
    if (known is None or others is None) and not has_levels:
        return None
    if known is None or others is None or (len(known) and len(others) and known.dtype.kind != others.dtype.kind):
        kinds = ["numbers" if own is None else _LEVEL_KINDS[own.dtype.kind] for own in (known, others)]
        if {"whole numbers", "numbers with fractions"} == set(kinds):
            return np.union1d(np.asarray(known, dtype=np.float64), np.asarray(others, dtype=np.float64))
        raise ValueError(
            f"{label} holds {kinds[0]} in some batches and {kinds[1]} in others. Give it one type, or name it in "
            "categorical_features."
        )
    if not len(known) or not len(others):
        return others if not len(known) else known
    return np.array(sorted({*known.tolist(), *others.tolist()}), dtype=known.dtype)


_LEVEL_KINDS = {"O": "text", "b": "booleans", "i": "whole numbers", "f": "numbers with fractions"}


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


def _warn_of_spelled_numbers(levels: Sequence[NDArray[Any] | None]) -> None:
    """Warn where text that spells numbers stands beside other text: NumPy makes text of numbers in such company."""
    texts = {place: known for place, known in enumerate(levels) if known is not None and known.dtype.kind == "O"}
    spelled = [place for place, known in texts.items() if len(known) and all(map(_spells_number, known))]
    if spelled and len(spelled) < len(texts):
        warnings.warn(
            f"Feature {spelled[0]} holds text that spells numbers (for example {shown(texts[spelled[0]][0])}) and is "
            "taken as categories. If it holds numbers, pass a data frame, a list of rows, or an array of dtype object "
            "that holds them as numbers; if it holds categories, name it in categorical_features.",
            UserWarning,
            stacklevel=3,
        )


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
