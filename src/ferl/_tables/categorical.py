"""The parameter ``categorical_features``: which columns are categories whatever their type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMS = 'names, places or a boolean mask of columns, "from_dtype" or None'
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
        return _from_places(entries, n_features)
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
            f"categorical_features names {chosen[0]!r}, but the table has no names. Pass places, such as [0, 2], or a "
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
    mask[[place for place, name in enumerate(names or ()) if name in chosen]] = True
    return mask


def _from_places(chosen: list[int], n_features: int) -> NDArray[np.bool_]:
    outside = [place for place in chosen if not 0 <= place < n_features]
    if outside:
        raise ValueError(
            f"categorical_features holds {', '.join(map(str, outside))}; the table has {n_features} columns, 0 to "
            f"{n_features - 1}."
        )
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[chosen] = True
    return mask
