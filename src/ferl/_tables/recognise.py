"""Text that is something else: numbers beside markers of missing values, and dates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._tables.categories import spelled_number
from ferl._tables.dates import is_ambiguous, settled_form, spelled_date
from ferl._tables.kinds import number_kinds
from ferl._util.text import listed, shown

MISSING = ("", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "?", "-", ".")
"""Text that stands for a missing value where all other text of a column spells numbers or dates."""
_SHOWN = 3


class TableWarning(UserWarning):
    """What ferl takes text of a table for where its type leaves that open: missing values, dates, or categories."""


@dataclass(frozen=True)
class Recognised:
    """What the text of a column is.

    Attributes
    ----------
    name : str
        The kind: of numbers "binary", "integer" or "real"; "date", "time", or "category", the text itself.
    is_zoned : bool
        Of "time": whether values have a time zone.
    missing : tuple of str
        The markers of missing values that the column holds.
    note : str
        What the user is told; "" where there is nothing to tell.
    date_form : str
        Of dates that are not in ISO's form: which of day and month comes first, "d.m.y" say.
    """

    name: str = "category"
    is_zoned: bool = False
    missing: tuple[str, ...] = ()
    note: str = ""
    date_form: str = ""


def recognise(label: str, texts: Sequence[str], known: Sequence[str] = ()) -> Recognised:
    """What the distinct texts of a column are.

    Numbers are recognised beside a marker only: a reader of files makes text of a column of numbers because of the
    marker, and a column that is text without one was meant to be text, as postal codes are.

    Parameters
    ----------
    label : str
        What notes call the column.
    texts : sequence of str
        The distinct texts.
    known : sequence of str, default=()
        Markers that the user has named; nobody needs to be told of these.

    Returns
    -------
    Recognised

    Examples
    --------
    >>> recognise("Column 'age'", ["17", "?", "42"]).name, recognise("Column 'zip'", ["0117", "9042"]).name
    ('integer', 'category')
    >>> recognise("Column 'day'", ["2019-03-01", "2019-04-01"]).name
    'date'
    >>> recognise("Column 'day'", ["13.01.2019", "02.01.2019"]).date_form
    'd.m.y'
    """
    markers = tuple(text for text in texts if text.strip() in MISSING or text.strip() in known)
    others = [text for text in texts if text not in markers]
    if not others:
        return Recognised()
    remedy = "If it holds categories, name it in categorical_features."
    told = [shown(text) for text in markers if text.strip() not in known][:_SHOWN]
    stand = f", with {listed(told)} for missing values" if told else ""
    numbers = [spelled_number(text) for text in others]
    if markers and all(number is not None and math.isfinite(number) for number in numbers):
        note = f"{label} holds numbers as text{stand}, and is taken as numbers. {remedy}" if told else ""
        [kind] = number_kinds(np.array(numbers, dtype=np.float64)[:, None])
        return Recognised(kind, False, markers, note)
    date_form = settled_form(others)
    dates = [spelled_date(text, date_form) for text in others]
    if None not in dates:
        zoned = {is_zoned for _, _, is_zoned in filter(None, dates)}
        if len(zoned) > 1:
            note = (
                f"{label} holds dates, some with a time zone and some without, and is taken as categories. Give all of "
                "them a time zone, or none."
            )
            return Recognised(note=note)
        is_day = all(float(days).is_integer() for days, _, _ in filter(None, dates)) and zoned == {False}
        order = f", the {'day' if date_form[0] == 'd' else 'month'} first" if date_form else ""
        note = f"{label} holds dates as text{order}{stand}, and is taken as dates. {remedy}"
        return Recognised("date" if is_day else "time", zoned == {True}, markers, note, date_form)
    if all(map(is_ambiguous, others)):
        note = (
            f"{label} holds text such as {shown(others[0])}, a date whose day and month can be confused, and is taken "
            "as categories. Write dates as 2019-03-01, or turn the column into dates first."
        )
        return Recognised(note=note)
    return Recognised()


def markers_note(label: str, markers: Sequence[str]) -> str:
    """What the user is told of text among numbers that is taken as missing values."""
    told = listed([shown(text) for text in markers[:_SHOWN]])
    return f"{label} holds {told} among numbers, which is taken as a missing value. Replace it by None or NaN."


def text_number(text: Any, markers: Sequence[str]) -> float | None:
    """The number that a text spells, NaN for a marker of missing values, None for other text."""
    if text is None or text.strip() in markers:
        return math.nan
    return spelled_number(text)


def text_days(text: Any, markers: Sequence[str], date_form: str = "") -> tuple[float, bool] | None:
    """The days that a text spells and whether it has a time zone; NaN for a marker, None for other text."""
    if text is None or text.strip() in markers:
        return math.nan, False
    found = spelled_date(text, date_form)
    return None if found is None else (found[0], found[2])
