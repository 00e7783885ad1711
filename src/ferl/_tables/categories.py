"""Categories: which columns hold them, and which category a value is, wherever the value comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMS = 'names, indices or a boolean mask of columns, "from_dtype" or None'
_MAX_NAMES = 20


def chosen_features(choice: Any, names: tuple[str, ...] | None, n_features: int) -> NDArray[np.bool_] | None:
    """The chosen columns as a mask, or None where their types decide.

    Parameters
    ----------
    choice : "from_dtype", None, or array-like of str, int or bool
        The parameter. None chooses no column.
    names : tuple of str or None
        The columns' names.
    n_features : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_features,), bool, or None
    """
    if isinstance(choice, str):
        if choice == "from_dtype":
            return None
        raise ValueError(f"categorical_features is {choice!r}; it must be {_FORMS}. For one column, pass [{choice!r}].")
    entries = [] if choice is None else _entries(choice)
    if entries and all(isinstance(entry, bool) for entry in entries):
        return _from_mask(entries, n_features)
    if all(isinstance(entry, str) for entry in entries):
        return _from_names(entries, names, n_features)
    if all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
        return _from_indices(entries, n_features)
    kinds = sorted({type(entry).__name__ for entry in entries})
    raise ValueError(f"categorical_features holds {' and '.join(kinds)}; it must be {_FORMS}.")


def _entries(choice: Any) -> list[Any]:
    try:
        # Objects: NumPy would make text of a list of names and numbers, and a number of a boolean.
        entries = choice if isinstance(choice, np.ndarray) else np.array(list(choice), dtype=object)
    except TypeError:
        raise ValueError(f"categorical_features is {choice!r}; it must be {_FORMS}.") from None
    if entries.ndim != 1:
        raise ValueError(f"categorical_features has {entries.ndim} dimensions; it must be {_FORMS}, in one dimension.")
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in entries.tolist()]


def _from_mask(mask: list[bool], n_features: int) -> NDArray[np.bool_]:
    if len(mask) != n_features:
        raise ValueError(
            f"categorical_features is a mask of {len(mask)} columns; the table has {n_features}. Give it one entry for "
            "each column."
        )
    return np.array(mask)


def _from_names(chosen: list[str], names: tuple[str, ...] | None, n_features: int) -> NDArray[np.bool_]:
    if chosen and names is None:
        raise ValueError(
            f"categorical_features names {chosen[0]!r}, but the table has no names. Pass indices, such as [0, 2], or a "
            "data frame."
        )
    unknown = [name for name in chosen if name not in (names or ())]
    if unknown:
        listed = (names or ())[:_MAX_NAMES]
        raise ValueError(
            f"categorical_features names {', '.join(map(repr, unknown))}; the columns of the table are "
            f"{', '.join(map(repr, listed))}{', ...' * (len(names or ()) > len(listed))}."
        )
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[[index for index, name in enumerate(names or ()) if name in chosen]] = True
    return mask


def _from_indices(chosen: list[int], n_features: int) -> NDArray[np.bool_]:
    outside = [index for index in chosen if not 0 <= index < n_features]
    if outside:
        raise ValueError(
            f"categorical_features holds {', '.join(map(str, outside))}; the table has {n_features} columns, 0 to "
            f"{n_features - 1}."
        )
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[chosen] = True
    return mask


# ---------------------------------------------------------------------------------------------------------------------
# The category of a value
# ---------------------------------------------------------------------------------------------------------------------


class CategoryLookup:
    """Which category of a feature a value is, in whatever type and spelling it comes.

    A value that equals a category is this category, as Python compares: True, 1 and 1.0 are one. Programs also write 3
    as 3.0 when a value is missing further down, drop leading zeros, and spell booleans in several ways. So where every
    category is a number or spells one, another value is the category of the same number, if there is one alone.

    Parameters
    ----------
    categories : ndarray of shape (n_categories,)
        The categories: text (as objects), bool, int or float.
    missing : sequence of str, default=()
        Text that stands for a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.categories import CategoryLookup
    >>> lookup = CategoryLookup(np.array([3, 17]))
    >>> [lookup.index(value) for value in (3, 3.0, "3.0", "017", 4, "x", None, float("nan"))]
    [0, 0, 0, 1, 2, 2, nan, nan]
    """

    def __init__(self, categories: NDArray[Any], missing: Sequence[str] = ()) -> None:
        self.n_categories = len(categories)
        self.missing = frozenset(missing)
        self.is_text = categories.dtype.kind in "OUT"
        values = categories.tolist()
        self.by_value: dict[Any, int] = {value: index for index, value in enumerate(values)}
        self._by_number: dict[Any, int | None] = {}
        numbers = [_number_of(value) for value in values]
        if all(number is not None and math.isfinite(number) for number in numbers):
            for keys in (numbers, map(_shortest, numbers)):
                found: dict[Any, int | None] = {}
                for index, key in enumerate(keys):
                    found[key] = None if key in found else index  # two categories spell this number: neither is meant
                self._by_number = found | self._by_number

    def index(self, value: Any) -> float:
        """The index of a value's category, or ``n_categories`` for an unseen category.

        NaN where the value is missing; infinity where it is infinite and categories are numbers.
        """
        index: float | None = self.by_value.get(value)
        if index is None:
            if self.missing and isinstance(value, str) and value.strip() in self.missing:
                return math.nan
            is_known = isinstance(value, str) or not is_missing(value)
            index = self._index_by_spelling(value) if is_known else math.nan
        return self.n_categories if index is None else index

    def _index_by_spelling(self, value: Any) -> float | None:
        if isinstance(value, str):
            if not self._by_number:
                return None
        elif self.is_text:
            for text in (plain_text(value), str(value)):
                if text in self.by_value:
                    return self.by_value[text]
        number = _number_of(value)
        if number is None:
            return None
        if not math.isfinite(number) and self._by_number:
            return float(number)
        return self._by_number[number] if number in self._by_number else self._by_number.get(_shortest(number))

    def can_be(self, value: Any) -> bool:
        """Whether a value is of the kind of the categories, even if it is none of them."""
        if isinstance(value, str) == self.is_text or not self.n_categories:
            return True
        if self.is_text:
            return bool(self._by_number) or self.index(value) < self.n_categories
        return _number_of(value) is not None


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, and those of pandas."""
    # pandas.NA refuses to be compared, so it is known by its type's name.
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def plain_text(value: Any) -> str:
    """A value as Arrow writes it: true, 3 for 3.0, and text as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def spelled_number(text: str) -> float | None:
    """The number that a text spells; nothing at all spells NaN, and other text None."""
    if not text.strip():
        return math.nan
    try:
        return None if "_" in text else float(text)  # to Python, 1_000 is a number
    except ValueError:
        return None


def _number_of(value: Any) -> Any:
    """The number or boolean that a value is or spells, else None."""
    if not isinstance(value, str):
        return value
    try:
        return None if "_" in value else int(value)  # exact, where a double would be rounded
    except ValueError:
        pass
    spelled = value.strip().lower()
    return spelled == "true" if spelled in ("true", "false") else spelled_number(value)


def _shortest(number: Any) -> Any:
    """The shortest number that single precision rounds to this one: 0.1 for what a column of float32 makes of 0.1."""
    if not isinstance(number, float) or not math.isfinite(number) or abs(number) > _LARGEST_SINGLE:
        return number
    single = np.float32(number)
    return float(str(single)) if float(single) == number else number


_LARGEST_SINGLE = float(np.finfo(np.float32).max)
