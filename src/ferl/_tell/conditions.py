"""Conditions in words: bands with significant digits, and values in the usual notation of their column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ferl._tables.kinds import UNKNOWN, ColumnKind, clock_text
from ferl._tables.values import date_text, rounded_text
from ferl._util.arrays import Floats
from ferl._util.text import DIGITS, category_text, number_text

MAX_LISTED = 8  # categories of a condition
LEAST_LISTED = 0.005  # membership of a category that is named
MAX_DIGITS = 8  # after the point; smaller numbers are written with a power of ten
LARGE = 1e12
FULL = 0.995  # from here on a membership reads as one
_POINTS = 129  # of a grid
_ROUNDS = 3  # in each of which the grid is drawn closer around the best of its points

Ramp = tuple[float, float] | None
"""The two ends of one side of a condition; None: the condition does not have this side."""
Memberships = tuple[tuple[int, float], ...]
"""Codes of categories, each with its membership."""


@dataclass(frozen=True)
class Condition:
    """The condition of a rule on one feature.

    To be called by a word; to be above ``lower``, below ``upper``, or both; or to be one of some categories.
    """

    feature: int
    lower: Bound | None
    upper: Bound | None
    word: str = ""
    categories: Memberships = ()
    names: Sequence[Any] | None = None
    """All categories of the feature, where it has any."""
    plain: bool = False
    """Whether bounds are printed by their two ends, as for rules, whose ends may be as far apart as all values."""
    whole: bool = False
    """Whether values are whole numbers."""
    binary: bool = False
    """Whether values are 0 and 1."""
    overlap: Overlap | None = None
    """Where bands overlap: what fits best. None where some value fits fully."""
    kind: ColumnKind = UNKNOWN
    """What the values are: dates and ordered categories are numbers to the tree."""

    def text(
        self,
        name: str,
        decimals: int | None = None,
        with_share: bool = False,
        max_listed: int | None = MAX_LISTED,
        with_ramps: bool = False,
    ) -> str:
        """The condition in words.

        ``max_listed``: how many categories are named; ``with_ramps``: whether bands that overlap tell their ends, from
        which the membership follows.
        """
        if decimals is None and not with_share and max_listed == MAX_LISTED and not with_ramps:
            before, after = self._short
        else:
            before, after = self._around_name(decimals, with_share, max_listed, with_ramps)
        return f"{before}{name} {after}"

    @cached_property
    def _short(self) -> tuple[str, str]:
        return self._around_name(None, False, MAX_LISTED, False)

    def _around_name(
        self, decimals: int | None, with_share: bool, max_listed: int | None, with_ramps: bool
    ) -> tuple[str, str]:
        """What stands before the name of the feature, and what follows it."""
        if self.word:
            return "", f"is {self.word}"
        if self.by_kind:
            bounds = [bound for bound in (self.lower, self.upper) if bound is not None and not math.isnan(bound.share)]
            shares = ", ".join(f"{bound.share:.0%}" for bound in bounds) if with_share else ""
            return "", f"{self.by_kind}{f' ({shares})' if shares else ''}"
        if self.overlap is not None:
            return "", self.overlap.text(decimals, with_share, with_ramps)
        if self.categories:
            return "", self._categories_text(max_listed)
        if self.plain:
            return "", self._ends_text(decimals)
        lower, upper = (
            None if bound is None else bound.text(decimals, with_share) for bound in (self.lower, self.upper)
        )
        if lower is None:
            return "", f"< {upper}"
        return ("", f"> {lower}") if upper is None else (f"{lower} < ", f"< {upper}")

    @cached_property
    def by_kind(self) -> str:
        """What follows the name where values are ordered categories, dates, or whole numbers between the bands."""
        if self.kind.is_ordered:
            return ordered_text(self.categories, self.kind)
        lower, upper = (None if item is None else item.ends for item in (self.lower, self.upper))
        text = whole_text(lower, upper, self.kind, self.binary) if self.whole else ""
        if self.kind.name == "hour" and self.overlap is None:
            return hour_condition(lower, upper)
        return text or (date_condition(lower, upper, self.kind, self.plain) if self.kind.is_date else "")

    def _ends_text(self, decimals: int | None) -> str:
        """What follows the name: the condition is met not at all at one end of a bound, and fully at the other."""
        lower, upper = (None if item is None else item.ends_text(decimals) for item in (self.lower, self.upper))
        if lower is not None and upper is not None:
            return f"between {lower} and {upper}"
        if lower is None and upper is None:
            return "is known"
        return f"below {upper}" if lower is None else f"above {lower}"

    def _categories_text(self, max_listed: int | None) -> str:
        """What follows the name: "is a", "is not b", or the categories that fit."""
        full = [code for code, membership in self.categories if membership >= FULL]
        if self.names is not None and len(full) == len(self.categories):
            if len(full) == 1:
                return f"is {category_text(self.names[full[0]])}"
            if len(full) == len(self.names) - 1:
                return f"is not {category_text(self.names[next(c for c in range(len(self.names)) if c not in full)])}"
        return f"in {{{listed_categories(self.categories, self.names, max_listed)}}}"


def listed_categories(memberships: Memberships, names: Sequence[Any] | None, most: int | None = MAX_LISTED) -> str:
    """The categories by descending membership; memberships other than one are printed."""
    ordered = sorted(memberships, key=lambda item: -item[1])
    if most is None or len(ordered) <= most:
        return _named(ordered, names)
    return f"{_named(ordered[:most], names)}, ... {len(ordered) - most} more"


def _named(memberships: Sequence[tuple[int, float]], names: Sequence[Any] | None) -> str:
    return ", ".join(
        category_text(code if names is None else names[code]) + ("" if membership >= FULL else f" ({membership:.2g})")
        for code, membership in memberships
    )


def threshold_text(kind: ColumnKind, low: float, high: float, decimals: int | None = None) -> str:
    """Where a split of a tree is, from the ends of its band, as people write values of the column."""
    if kind.is_ordered:
        return kind.between((low + high) / 2)
    if kind.is_date:
        return date_side((low, high), kind, plain=False)
    return Bound((low + high) / 2, (high - low) / 2).text(decimals)


# ---------------------------------------------------------------------------------------------------------------------
# Bands
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """One side of a condition: a threshold and the half-width of the band around it.

    Attributes
    ----------
    theta, half_width : float
        The band.
    share : float
        Share of the bootstrap resamples whose best cut lies inside the band.
    """

    theta: float
    half_width: float
    share: float = math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends of the band."""
        return self.theta - self.half_width, self.theta + self.half_width

    def text(self, decimals: int | None = None, with_share: bool = False) -> str:
        """Threshold and half-width; by default with as many digits as the half-width gives meaning to."""
        share = self.share_text(with_share)
        if decimals is not None:
            return f"{self.theta:.{decimals}f} ±{self.half_width:.{decimals}f}{share}"
        digits = _digits(self.half_width)
        if digits > MAX_DIGITS or not self.half_width > 0:  # a cut, to the eye
            return f"{number_text(self.theta)}{share}"
        few = _few_digits(self.theta, digits, self.half_width / 4)
        narrow = few if abs(round(self.half_width, few) - self.half_width) <= self.half_width / 4 else digits
        return f"{self.theta:.{few}f} ±{self.half_width:.{narrow}f}{share}"

    def ends_text(self, decimals: int | None = None, with_share: bool = False) -> str:
        """The two ends of the band; by default with enough digits to be exact to a hundredth of the band."""
        ends = "..".join(value_at(end, self.half_width, decimals) for end in self.ends)
        return f"{ends}{self.share_text(with_share)}"

    def share_text(self, is_told: bool) -> str:
        """The share of resamples, to follow the band."""
        return f" ({self.share:.0%})" if is_told and not math.isnan(self.share) else ""


@dataclass(frozen=True)
class Overlap:
    """Two bands that overlap: no value lies above the one and below the other fully.

    Attributes
    ----------
    lower, upper : Bound
        The bands.
    value, membership : float
        The value that fits best, and by how much.
    """

    lower: Bound
    upper: Bound
    value: float
    membership: float

    def text(self, decimals: int | None = None, with_share: bool = False, with_ramps: bool = False) -> str:
        """What follows the name of a feature; ``with_ramps``: the ends of both bands, not of what fits at all."""
        low, high = self.lower.ends[0], self.upper.ends[1]
        if not (self.membership > 0 and low < high):
            return "is missing (no value fits)"
        around = f"around {value_at(self.value, high - low, decimals)}"
        if with_ramps:
            lower, upper = (item.ends_text(decimals, with_share) for item in (self.lower, self.upper))
            fits = f"above {lower}, below {upper}"
        else:
            fits = "..".join(value_at(end, (high - low) / 2, decimals) for end in (low, high))
        return f"{around} ({fits}, fits by at most {self.membership:.2g})"


def overlap(lower: Bound | None, upper: Bound | None, trapezoids: Floats) -> Overlap | None:
    """How bands overlap, where no value fits fully; None where one does.

    Parameters
    ----------
    lower, upper : Bound or None
        The merged bands of a feature.
    trapezoids : ndarray of shape (n_conditions, 4)
        The conditions (a, b, c, d) that they were merged from.

    Returns
    -------
    Overlap or None
    """
    if lower is None or upper is None or lower.ends[1] <= upper.ends[0]:
        return None
    value, membership = best_fit(trapezoids)
    return None if membership >= FULL else Overlap(lower, upper, value, membership)


def best_fit(trapezoids: Floats) -> tuple[float, float]:
    """The value of the largest product of memberships, and that product.

    Sides of trapezoids are straight lines up to one, so the logarithm of their product is concave: it has one top, and
    a finer grid around the best point of a coarser one finds it.

    Parameters
    ----------
    trapezoids : ndarray of shape (n_conditions, 4)
        Conditions (a, b, c, d), some of which end on the left and some on the right.

    Returns
    -------
    value, membership : float
        The middle of the values that fit best; 0 for the membership where no value fits all conditions.

    Examples
    --------
    >>> import numpy as np
    >>> above, below = (2.0, 4.0, np.inf, np.inf), (-np.inf, -np.inf, 2.0, 4.0)
    >>> best_fit(np.array([above, below]))
    (3.0, 0.25)
    """
    rises, falls = trapezoids[np.isfinite(trapezoids[:, 0]), :2], trapezoids[np.isfinite(trapezoids[:, 3]), 2:]
    low, high = float(rises[:, 0].max()), float(falls[:, 1].min())
    if not low <= high:
        return (low + high) / 2, 0.0
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _POINTS)
        fits = _climb(grid, rises) * _climb(-grid, -falls[:, ::-1])
        best = np.flatnonzero(fits == fits.max())
        low, high = float(grid[max(best[0] - 1, 0)]), float(grid[min(best[-1] + 1, _POINTS - 1)])
    return float(grid[best].mean()), float(fits.max())


def _climb(values: Floats, ramps: Floats) -> Floats:
    """Product of memberships in ramps that rise from the first of their ends to the second."""
    start, full = ramps[:, :1], ramps[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(start == full, values >= full, np.clip((values - start) / (full - start), 0.0, 1.0))
    return np.asarray(share.prod(axis=0))


def _digits(half_width: float) -> int:
    """Decimals that leave one significant digit of the half-width, two if it starts with 1 or 2."""
    if not half_width > 0:
        return 6
    power = math.floor(math.log10(half_width))
    return min(max(0, -power + (half_width < 3 * 10.0**power)), 12)


def _few_digits(value: float, digits: int, error: float) -> int:
    """Decimals that leave four significant digits, where these are fewer and move the value by an error at most."""
    few = min(digits, max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))) if value else digits
    return few if abs(round(value, few) - value) <= error else digits


def value_at(value: float, distance: float, decimals: int | None = None) -> str:
    """A value with the digits that distinguish it from others at this distance, without trailing zeros."""
    digits = _digits(distance) + 1 if decimals is None else decimals
    if decimals is None and (digits > MAX_DIGITS or abs(value) >= LARGE):
        return number_text(value)
    if decimals is None:
        digits = _few_digits(value, digits, distance / 25)
    text = f"{value:.{digits}f}"
    trimmed = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if trimmed == "-0" else trimmed


# ---------------------------------------------------------------------------------------------------------------------
# Whole numbers, dates and ordered categories
# ---------------------------------------------------------------------------------------------------------------------


def ordered_text(memberships: Memberships, kind: ColumnKind) -> str:
    """What follows the name: "at least mid", "is low", or the ordered categories that fit with their membership."""
    names, last = kind.display_order, len(kind.order) - 1
    full = [code for code, membership in memberships if membership >= FULL]
    if len(full) < len(memberships) or not full or full != list(range(full[0], full[-1] + 1)):
        return f"in {{{_named(memberships, names)}}}"
    low, high = category_text(names[full[0]]), category_text(names[full[-1]])
    if full[0] == full[-1]:
        return f"is {low}"
    if kind.is_cyclic and 0 < full[-1] - full[0] < last:
        return f"is {low} or {high}" if full[-1] == full[0] + 1 else f"from {low} to {high}"
    if full[-1] == last:
        return "is known" if full[0] == 0 else f"at least {low}"
    return f"at most {high}" if full[0] == 0 else f"from {low} to {high}"


def whole_text(lower: Ramp, upper: Ramp, kind: ColumnKind, is_binary: bool) -> str:
    """The condition on a column of whole numbers or days, if each of them fits fully or not at all; otherwise "".

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


def hour_condition(lower: Ramp, upper: Ramp) -> str:
    """What follows the name of a column of hours of the day."""
    sides = (("above", lower), ("below", upper))
    texts = [f"{word} {'..'.join(dict.fromkeys(map(clock_text, item)))}" for word, item in sides if item is not None]
    return " and ".join(texts) or "is known"


def date_condition(lower: Ramp, upper: Ramp, kind: ColumnKind, plain: bool) -> str:
    """What follows the name of a column of dates: the two ends of a side, or its middle and how far it reaches."""
    sides = (("after", lower), ("before", upper))
    texts = [f"{word} {date_side(item, kind, plain)}" for word, item in sides if item is not None]
    if lower is None or upper is None or lower[1] <= upper[0]:
        return " and ".join(texts) or "is known"
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
    text = number_text(reach, 2)
    step = 2.0 if in_days else 2 / 1440
    return f"{rounded_text(middle, step, kind.is_zoned)} ±{text} {unit}{'' if text == '1' else 's'}"


def date_at(days: float, distance: float, kind: ColumnKind) -> str:
    """A date with the parts that place it to a hundredth of its distance from others."""
    if kind.name == "date" and days == math.floor(days):
        return date_text(days, kind.is_zoned)
    return rounded_text(days, distance / 50, kind.is_zoned)
