"""Corrections: concepts that somebody looked at and that the detector is no longer asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def intervene(concepts: Floats, names: Sequence[str], known: Mapping[str, Any] | None) -> Floats:
    """Concepts of rows with some of them corrected.

    Parameters
    ----------
    concepts : ndarray of shape (n_rows, n_concepts)
        As detected.
    names : sequence of str
        Names of the concepts.
    known : mapping of str to value, optional
        What is known of some concepts: one value for all rows, or one for each. 1: present, 0: absent, between: as
        probable as that; NaN: cannot be seen, so that the detector is not trusted either; None: as detected.

    Returns
    -------
    ndarray of shape (n_rows, n_concepts)
        A copy.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.concepts import intervene
    >>> seen = np.array([[0.2, 0.9], [0.6, 0.4]])
    >>> intervene(seen, ["has red wing", "swims"], {"has red wing": 1, "swims": [None, float("nan")]})
    array([[1. , 0.9],
           [1. , nan]])
    """
    corrected = np.array(concepts, dtype=np.float64)
    for name, value in (known or {}).items():
        column = _column(name, names)
        given, is_given = _values(name, value, len(corrected))
        corrected[is_given, column] = given[is_given]
    return corrected


def _column(name: str, names: Sequence[str]) -> int:
    if name not in names:
        near = get_close_matches(str(name), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the first ones are {', '.join(map(repr, names[:3]))}."
        raise ValueError(f"There is no concept {name!r}; {hint}")
    return list(names).index(name)


def _values(name: str, value: ArrayLike | None, n_rows: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Values for all rows, and in which of them there is one."""
    entries = np.asarray(value, dtype=object)
    if entries.ndim == 0:
        entries = np.full(n_rows, entries[()], dtype=object)
    if entries.shape != (n_rows,):
        raise ValueError(
            f"known[{name!r}] has the shape {entries.shape} for {n_rows} rows. Give one value, or one for each row."
        )
    is_given = np.array([entry is not None for entry in entries], dtype=bool)
    values = np.full(n_rows, np.nan)
    try:
        values[is_given] = entries[is_given].astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"known[{name!r}] holds {value!r}; use 1, 0, a probability, NaN or None.") from error
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise ValueError(f"known[{name!r}] is {values[outside][0]:g}; use 1 for present and 0 for absent.")
    return values, is_given
