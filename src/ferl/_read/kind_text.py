"""Conditions as people write the values of a column: whole numbers, dates, and ordered categories."""

from __future__ import annotations

import math

from ferl._read.bands import FULL
from ferl._tables import ColumnKind
from ferl._tables.values import date_text, rounded_text
from ferl._util.text import category_text, number_text

Ramp = tuple[float, float] | None
"""The two ends of one side of a condition; None: the condition has no such side."""


def ordered_text(memberships: tuple[tuple[int, float], ...], kind: ColumnKind) -> str:
    """What follows the name: "at least mid", "is low", or the ordered categories that fit with their membership."""
    names, last = kind.said_order, len(kind.order) - 1
    full = [code for code, membership in memberships if membership >= FULL]
    if len(full) < len(memberships) or not full or full != list(range(full[0], full[-1] + 1)):
        told = [
            category_text(names[code]) + ("" if membership >= FULL else f" ({membership:.2g})")
            for code, membership in memberships
        ]
        return f"in {{{', '.join(told)}}}"
    low, high = category_text(names[full[0]]), category_text(names[full[-1]])
    if full[0] == full[-1]:
        return f"is {low}"
    if full[-1] == last:
        return "is known" if full[0] == 0 else f"at least {low}"
    return f"at most {high}" if full[0] == 0 else f"from {low} to {high}"


def whole_text(lower: Ramp, upper: Ramp, kind: ColumnKind, is_binary: bool) -> str:
    """What follows the name of a column of whole numbers or days, where no such number fits in part; otherwise "".

    A band between two whole numbers that are neighbours is a cut between them, so that "at least 41" is all of it.
    """
    first = None if lower is None else math.ceil(lower[1])
    last = None if upper is None else math.floor(upper[0])
    if (lower and first is not None and first - 1 > lower[0]) or (upper and last is not None and last + 1 < upper[1]):
        return ""
    if first is not None and last is not None:
        if first > last:
            return ""
        low, high = _whole(first, kind), _whole(last, kind)
        return f"is {low}" if first == last else f"from {low} to {high}"
    if first is not None:
        if is_binary and first == 1:
            return _one_of_two(1, kind)
        return f"after {_whole(first - 1, kind)}" if kind.is_date else f"at least {_whole(first, kind)}"
    if last is not None:
        if is_binary and last == 0:
            return _one_of_two(0, kind)
        return f"before {_whole(last + 1, kind)}" if kind.is_date else f"at most {_whole(last, kind)}"
    return ""


def _one_of_two(value: int, kind: ColumnKind) -> str:
    return f"is {category_text(kind.values[str(value)])}" if str(value) in kind.values else f"= {value}"


def _whole(value: int, kind: ColumnKind) -> str:
    return number_text(kind.number(float(value)))


def date_condition(lower: Ramp, upper: Ramp, kind: ColumnKind, plain: bool) -> str:
    """What follows the name of a column of dates: the two ends of a side, or its middle and how far it reaches."""
    sides = (("after", lower), ("before", upper))
    told = [f"{word} {date_side(own, kind, plain)}" for word, own in sides if own is not None]
    if lower is None or upper is None or lower[1] <= upper[0]:
        return " and ".join(told) or "is known"
    # The two sides overlap: no date fits fully. Between the middles of both their product is largest.
    middle = (sum(lower) + sum(upper)) / 4
    most = _risen(lower, middle) * (1 - _risen(upper, middle))
    around = rounded_text(middle, lower[1] - lower[0] + upper[1] - upper[0], kind.is_zoned)
    return f"around {around} (fits by at most {most:.2g})"


def _risen(ramp: tuple[float, float], at: float) -> float:
    low, high = ramp
    return min(max((at - low) / (high - low), 0.0), 1.0) if high > low else float(at >= low)


def date_side(ramp: tuple[float, float], kind: ColumnKind, plain: bool) -> str:
    """One side of a condition on dates: its two ends (``plain``), or its middle and how far it reaches."""
    middle, half = sum(ramp) / 2, (ramp[1] - ramp[0]) / 2
    if plain:
        low, high = (date_at(end, half, kind) for end in ramp)
        return low if low == high else f"{low}..{high}"
    in_days = half >= 1 or kind.name == "date"
    reach, unit = (half, "day") if in_days else (24 * half, "hour") if half >= 1 / 24 else (1440 * half, "minute")
    told = number_text(reach, 2)
    step = 2.0 if in_days else 2 / 1440
    return f"{rounded_text(middle, step, kind.is_zoned)} ±{told} {unit}{'' if told == '1' else 's'}"


def date_at(days: float, distance: float, kind: ColumnKind) -> str:
    """A date with the parts that leave it where it is, but for a hundredth of its distance from others."""
    if kind.name == "date" and days == math.floor(days):
        return date_text(days, kind.is_zoned)
    return rounded_text(days, distance / 50, kind.is_zoned)
