"""Columns of every kind: learned from a training table, and other columns in their terms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.column import Column
from ferl._tables.describe import ColumnDescription
from ferl._tables.kinds import ColumnKind, number_kinds, shown_kind
from ferl._tables.recognise import MISSING, text_days, text_number
from ferl._util.arrays import Floats
from ferl._util.text import shown


def learn_column(
    column: Column, said: ColumnDescription, is_category: bool, by_type: bool
) -> tuple[NDArray[Any] | None, ColumnKind]:
    """The categories of a column, None where it holds numbers, and what its values are.

    Parameters
    ----------
    column : Column
        The column.
    said : ColumnDescription
        What people say of it.
    is_category : bool
        Whether it holds categories.
    by_type : bool
        Whether its type says so, and not the user.

    Returns
    -------
    ndarray or None, ColumnKind
    """
    kind = said.kind
    has_order = column.order is not None and (by_type or not is_category)
    if column.kind == "date":
        if is_category:
            raise ValueError(
                f"{column.label} holds dates, which are numbers to a model. Leave it out of categorical_features, or "
                "turn it into text."
            )
        days = column.own_numbers()
        is_day = not column.is_zoned and number_kinds(days[:, None])[0] != "real"
        return None, said.checked(
            column.label, replace(kind, name="date" if is_day else "time", is_zoned=column.is_zoned)
        )
    if has_order and not said.order:
        return None, replace(kind, name="ordered", order=column.order or ())
    if said.order and (is_category or column.kind == "text"):
        return None, _ordered_as_said(column, said)
    if is_category or column.kind == "text":
        # Text that the user did not choose as a category may turn out to spell numbers or dates.
        if column.kind == "text" and (not is_category or (by_type and not column.is_declared)):
            return column.categories(), replace(kind, name="text" if by_type else "other text")
        known = column.categories()
        if column.kind == "text" and kind.missing:
            known = np.array([own for own in known if own.strip() not in kind.missing], dtype=object)
        return known, replace(kind, name="category")
    name = number_kinds(column.own_numbers()[:, None])[0]
    missing = tuple(dict.fromkeys((*kind.missing, *column.markers)))
    return None, replace(said.kind_of_numbers(column.label, name), missing=missing)


def _ordered_as_said(column: Column, said: ColumnDescription) -> ColumnKind:
    kind = replace(said.kind, name="ordered", order=said.order)
    unknown = [value for value in column.factor.held if kind.lookup.index(value) == len(said.order)]
    if unknown:
        raise ValueError(
            f"{column.label} holds {shown(unknown[0])}, which its order {shown(list(said.order))} does not have. Add "
            "it to the order, or to the markers of missing values."
        )
    return kind


def ordered_codes(column: Column, kind: ColumnKind) -> Floats:
    """Each row's index in the order; NaN where the value is missing, or is none of the ordered categories."""
    if not kind.order:
        return np.full(len(column.factor.codes), math.nan)
    if column.kind == "date":
        raise ValueError(f"{column.label} holds dates; in training it held ordered categories. Convert it.")
    column.refuse_other_kind(kind.lookup)
    codes = column.codes(kind.lookup)
    return np.where(codes == len(kind.order), math.nan, codes)


def days_of_column(column: Column, kind: ColumnKind) -> Floats | float:
    """The dates of a column as days since the beginning of 1970."""
    if column.kind == "date":
        days = column.own_numbers()
        if column.is_zoned != kind.is_zoned and not np.isnan(days).all():
            raise ValueError(zone_message(column.label, kind))
        return days
    if not column.has_values:
        return math.nan
    if column.kind == "text":
        markers = (*MISSING, *kind.missing)
        found = [text_days(text, markers, kind.date_form) for text in column.factor.values]
        held = [own for own in found if own is not None and not math.isnan(own[0])]
        if None not in found:
            if any(is_zoned != kind.is_zoned for _, is_zoned in held):
                raise ValueError(zone_message(column.label, kind))
            return np.array([own[0] for own in found if own is not None])[column.factor.codes]
        wrong = column.factor.values[found.index(None)]
        other = f", or {_in_words(kind.date_form)} as in training" if kind.date_form else ""
        raise ValueError(
            f"{column.label} holds {shown(wrong)}; in training it held {shown_kind(kind)}. Write dates as 2019-03-01 "
            f"or 2019-03-01 12:30{other}, or turn the column into dates first."
        )
    raise ValueError(
        f"{column.label} holds numbers (for example {column.example}); in training it held {shown_kind(kind)}. Pass "
        "dates."
    )


def _in_words(date_form: str) -> str:
    """How text spells dates: "31.12.2019"."""
    return date_form.replace("d", "31").replace("m", "12").replace("y", "2019")


def zone_message(label: str, kind: ColumnKind) -> str:
    """The error for dates of which only those of one table have a time zone."""
    if kind.is_zoned:
        return (
            f"{label} holds dates without a time zone; in training they had one. Say which: column.dt.tz_localize in "
            "pandas, 2019-03-01T12:30+01:00 in text."
        )
    return (
        f"{label} holds dates with a time zone; in training they had none. Turn them into the local time of training: "
        "column.dt.tz_localize(None) in pandas."
    )


def text_numbers(column: Column, missing: tuple[str, ...]) -> Floats | float | None:
    """A column of text as the numbers that it spells; None where it cannot be a column of numbers.

    Text without a marker of missing values is a column of numbers only where training had markers: otherwise the user
    has made text of numbers, and should know.
    """
    if not column.factor.held:
        return math.nan
    markers = (*MISSING, *missing)
    found = [text_number(text, markers) for text in column.factor.values]
    has_marker = any(text.strip() in markers for text in column.factor.held)
    if None in found or not (missing or has_marker):
        return None
    return np.array(found, dtype=np.float64)[column.factor.codes]
