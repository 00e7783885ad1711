"""Columns that name rows instead of describing them: ids, and numbers given out one after the other."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ferl._tables.recognise import TableWarning
from ferl._util.arrays import Floats
from ferl._util.text import listed

if TYPE_CHECKING:
    from ferl._tables.schema import Schema

LIKE_IDS = 0.99  # share of the rows that have a value of their own in a column of ids
LEAST_ROWS = 20  # with fewer, different values say little
_LEAST_NUMBERS = 50  # with fewer, whole numbers of 20 ages or 40 lengths may differ by chance
_SHOWN = 5
# A number of visits and the width of a row are counts and measures; so such words speak only at the end. PAID is no id.
_ID_NAMES = re.compile(r"(^|[^a-z])((id|ids|idx|uuid|serial)($|[^a-z])|(key|index|nr|no|number|row)$)|(^|[^A-Z])I[dD]$")
_TIMES = "year|month|week|day|hour|date|datetime|time|timestamp|age|rank"
_TIME_NAMES = re.compile(rf"(?i:(^|[^a-z])({_TIMES})s?($|[^a-z]))|[a-z]({_TIMES.title()})s?($|[^a-z])")


class IdColumnWarning(TableWarning):
    """Columns have another value in nearly every row and may be ids or names, which say nothing of new rows.

    Parameters
    ----------
    message : str
        What is said of them.
    columns : sequence of str, default=()
        Their names, kept as a tuple in the attribute of this name; none where the table has no names.
    """

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


def are_ids(n_distinct: int, n_rows: int) -> bool:
    """Whether a column of categories has another one in nearly every row.

    Parameters
    ----------
    n_distinct, n_rows : int
        Number of its categories, and of the rows that have one.

    Returns
    -------
    bool
    """
    return n_rows >= LEAST_ROWS and n_distinct >= LIKE_IDS * n_rows


def are_running_numbers(values: Floats, name: str) -> bool:
    """Whether a column of numbers has another whole number in nearly every row, as ids have.

    Counts and prices may differ in every row too. So either the name says that it is an id, or there are many numbers
    that lie close together, as those that are given out one after the other do. Years, ages and ranks may do so too;
    their names make them no ids.

    Parameters
    ----------
    values : ndarray of shape (n_known,)
        The numbers, none of them missing.
    name : str
        Name of the column; "" where it has none.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.ids import are_running_numbers
    >>> running, prices = np.arange(60.0), 100.0 * np.arange(60) ** 2
    >>> [are_running_numbers(running, name) for name in ("x", "year")]
    [True, False]
    >>> [are_running_numbers(prices, name) for name in ("price", "customer_id")]
    [False, True]
    """
    is_named = bool(_ID_NAMES.search(name))
    if len(values) < (LEAST_ROWS if is_named else _LEAST_NUMBERS) or (not is_named and _TIME_NAMES.search(name)):
        return False
    apart = float(values.max() - values.min())
    # What is quickly seen comes first: most columns of whole numbers repeat a few of them.
    if apart + 1 < LIKE_IDS * len(values) or not (apart < 2 * len(values) or is_named):
        return False
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) >= LIKE_IDS * len(values)


def warn_of_ids(schema: Schema, rows: Floats) -> None:
    """Warn of columns that look like ids; a table of one column has nothing else to learn from.

    Parameters
    ----------
    schema : Schema
        The columns of a training table.
    rows : ndarray of shape (n_samples, n_features)
        Its rows, as the schema encodes them.
    """
    if rows.shape[1] < 2 or len(rows) < LEAST_ROWS:
        return
    found = [j for j in range(rows.shape[1]) if _is_id(schema, j, rows[:, j])]
    if found:
        names = () if schema.names is None else [schema.names[j] for j in found]
        warnings.warn(IdColumnWarning(_message(schema, found), names), stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """How many calls above the one that warns the user's own code is; cross-validation calls by joblib."""
    frame, level = sys._getframe(1), 1
    passed = ("ferl", "sklearn", "joblib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in passed:
        frame, level = frame.f_back, level + 1
    return level


def _is_id(schema: Schema, feature: int, values: Floats) -> bool:
    categories, kind = schema.categories[feature], schema.kind(feature)
    if categories is not None:
        return are_ids(len(categories), int(np.count_nonzero(~np.isnan(values))))
    if kind.name != "integer":
        return False
    known = values[~np.isnan(values)]
    return are_running_numbers(known, "" if schema.names is None else schema.names[feature])


def _message(schema: Schema, features: Sequence[int]) -> str:
    labels, more = [schema.label(j) for j in features[:_SHOWN]], len(features) - _SHOWN
    told = [labels[0], *(f"{label[0].lower()}{label[1:]}" for label in labels[1:])] + [f"{more} more"] * (more > 0)
    verb, them, they = ("has", "it", "it is") if len(features) == 1 else ("have", "them", "they are")
    left_out = f"np.delete(X, {list(features)}, axis=1)"
    if schema.names is not None:
        left_out = f"X.drop(columns={[schema.names[j] for j in features]})"
    return (
        f"{listed(told)} {verb} another value in nearly every row and may be ids or names. What is learned from ids "
        f"says nothing of new rows, and all of them look novel: leave {them} out, for example by {left_out}. If {they} "
        f"a time or a rank that matters, keep {them}."
    )
