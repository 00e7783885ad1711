"""Fuzzy sets: trapezoids with a name, fixed before learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ferl._util.arrays import LARGEST, NARROWEST, Floats
from ferl._util.text import shown

INFINITY = math.inf


class PartitionError(ValueError):
    """A fuzzy set, a linguistic variable or a partition file that cannot be used; the message says which and why."""


@dataclass(frozen=True)
class FuzzySet:
    """A trapezoid with a name: full membership between b and c, none outside a and d, linear in between.

    Parameters
    ----------
    name : str
        The word that rules use: "if temperature is *high*".
    a, b, c, d : float
        Ascending. ``a = b = -inf`` is a shoulder, which never ends on the left; ``c = d = inf`` one on the right.
        Equal ends (``a = b`` or ``c = d``) are upright sides: the end itself is a full member.

    Examples
    --------
    >>> from ferl.partition import FuzzySet
    >>> fever = FuzzySet.rising("fever", 37.5, 38.5)
    >>> fever
    FuzzySet(name='fever', a=37.5, b=38.5, c=inf, d=inf)
    >>> fever.membership([37.0, 38.0, 40.0])
    array([0. , 0.5, 1. ])
    >>> print(fever)
    fever above 37.5..38.5
    """

    name: str
    a: float
    b: float
    c: float
    d: float

    def __post_init__(self) -> None:
        check_name(self.name, "A fuzzy set")
        if self.name != self.name.strip():
            raise PartitionError(f"Set {self.name!r} has spaces around its name; leave them out.")
        for letter in "abcd":
            value = getattr(self, letter)
            if type(value) is not float or not abs(value) <= LARGEST:  # anything but a plain number: rarely
                object.__setattr__(self, letter, as_number(value, f"Set {self.name!r}: {letter}"))
        self._check_shape()

    def _check_shape(self) -> None:
        if not self.a <= self.b <= self.c <= self.d:
            raise self._wrong("the numbers must ascend, a <= b <= c <= d")
        infinite = [math.isinf(end) for end in self.ends]
        if infinite[0] != infinite[1] or infinite[2] != infinite[3] or self.a == INFINITY or self.d == -INFINITY:
            raise self._wrong("a and b must be finite or both -inf (a shoulder), c and d finite or both inf")
        if all(infinite):
            raise self._wrong("every value is a full member, so the set says nothing. Give one side an end")
        if 0 < self.b - self.a < NARROWEST or 0 < self.d - self.c < NARROWEST:
            raise self._wrong(
                f"a side narrower than {NARROWEST:.0e} must be upright. Give both its ends the same value"
            )

    def _wrong(self, what: str) -> PartitionError:
        return PartitionError(f"Set {self.name!r} has a={self.a!r}, b={self.b!r}, c={self.c!r}, d={self.d!r}: {what}.")

    @classmethod
    def trapezoid(cls, name: str, a: float, b: float, c: float, d: float) -> Self:
        """The general form: starts at ``a``, full from ``b`` to ``c``, gone at ``d``."""
        return cls(name, a, b, c, d)

    @classmethod
    def triangle(cls, name: str, a: float, peak: float, d: float) -> Self:
        """Full at one value only: starts at ``a``, full at ``peak``, gone at ``d``."""
        return cls(name, a, peak, peak, d)

    @classmethod
    def falling(cls, name: str, full_until: float, gone_at: float | None = None) -> Self:
        """Everything up to ``full_until``, fading out until ``gone_at``; without it the side is upright."""
        return cls(name, -INFINITY, -INFINITY, full_until, full_until if gone_at is None else gone_at)

    @classmethod
    def rising(cls, name: str, starts_at: float, full_from: float | None = None) -> Self:
        """Nothing up to ``starts_at``, everything above ``full_from``; without it the side is upright."""
        return cls(name, starts_at, starts_at if full_from is None else full_from, INFINITY, INFINITY)

    @classmethod
    def crisp(cls, name: str, value_or_low: float, high: float | None = None) -> Self:
        """A single value (a category), or all values from a low to a high one, both included."""
        high = value_or_low if high is None else high
        return cls(name, value_or_low, value_or_low, high, high)

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """The four numbers (a, b, c, d)."""
        return self.a, self.b, self.c, self.d

    @property
    def is_value(self) -> bool:
        """Whether a single value is the only member."""
        return self.a == self.d

    def membership(self, x: ArrayLike) -> Floats:
        """How much each value belongs to the set, as the compiled core computes it, to the last bit.

        Parameters
        ----------
        x : array-like of any shape
            Values; a missing one (NaN) has a missing membership.

        Returns
        -------
        ndarray of the shape of ``x``
            Between 0 and 1.

        Examples
        --------
        >>> FuzzySet.triangle("medium", 20, 30, 50).membership([20, 25, 30, 40])
        array([0. , 0.5, 1. , 0.5])
        >>> FuzzySet.crisp("adult", 18, 65).membership([17.9, 18, 65])
        array([0., 1., 1.])
        """
        x = np.asarray(x, dtype=np.float64)
        return np.asarray(np.minimum(_rise(x, self.a, self.b), _rise(-x, -self.d, -self.c)))

    def complement(self) -> FuzzySet:
        """The set of all other values: membership ``1 - membership``. Only shoulders have one.

        Examples
        --------
        >>> FuzzySet.rising("fever", 37.5, 38.5).complement()
        FuzzySet(name='not fever', a=-inf, b=-inf, c=37.5, d=38.5)
        """
        name = self.name.removeprefix("not ") if self.name.startswith("not ") else f"not {self.name}"
        # An upright end is a member, so the complement stops at the number next to it.
        if self.d == INFINITY:
            upright = math.nextafter(self.a, -INFINITY)
            return FuzzySet.falling(name, *((upright,) if self.a == self.b else (self.a, self.b)))
        if self.a == -INFINITY:
            upright = math.nextafter(self.d, INFINITY)
            return FuzzySet.rising(name, *((upright,) if self.c == self.d else (self.c, self.d)))
        raise self._wrong("the complement of a set with two ends is no trapezoid. Only shoulders have one")

    def text(self, written: Callable[[float], str]) -> str:
        """The set in words.

        Parameters
        ----------
        written : callable
            How a number is written.

        Returns
        -------
        str
            The name, and where the set is: a ramp is written with its two ends, "37.5..38.5".
        """
        rise, fall = _side_text(self.a, self.b, written), _side_text(self.c, self.d, written)
        if self.d == INFINITY:
            return f"{self.name} {'from' if self.a == self.b else 'above'} {rise}"
        if self.a == -INFINITY:
            return f"{self.name} {'up to' if self.c == self.d else 'below'} {fall}"
        if self.is_value:
            return f"{self.name} is {rise}"
        if self.b == self.c:
            return f"{self.name} around {written(self.b)} ({written(self.a)}..{written(self.d)})"
        return f"{self.name} between {rise} and {fall}"

    def __str__(self) -> str:
        return self.text(writer(self.ends))


def _rise(x: Floats, start: float, full: float) -> Floats:
    """Membership on one side of a trapezoid; cpp/ramp.h does the same operations in the same order."""
    if start == full:
        return np.where(np.isnan(x), np.nan, x >= full)
    with np.errstate(over="ignore"):
        return np.asarray(np.clip((x - start) * (1.0 / (full - start)), 0.0, 1.0))


def _side_text(low: float, high: float, written: Callable[[float], str]) -> str:
    return written(low) if low == high else f"{written(low)}..{written(high)}"


def writer(numbers: Iterable[float]) -> Callable[[float], str]:
    """How to write numbers that stand together: all with the same decimals, enough to tell them apart.

    Parameters
    ----------
    numbers : iterable of float
        Those that will be written; infinities are passed over.

    Returns
    -------
    callable
        From a number to its text.
    """
    finite = sorted({x for x in numbers if math.isfinite(x)})
    exact = max(len(np.format_float_positional(x, trim="-").partition(".")[2]) for x in finite)
    gap = min((high - low for low, high in pairwise(finite)), default=0.0)
    telling = exact if gap == 0 else 2 - math.floor(math.log10(gap))  # three digits of the smallest distance
    decimals = max(0, min(exact, telling))
    if decimals > 12 or max(abs(finite[0]), abs(finite[-1])) >= 1e15:
        return lambda x: f"{x:.6g}"
    return lambda x: f"{x:z.{decimals}f}"


def check_name(name: object, what: str) -> str:
    """The name; one that cannot stand in a sentence is refused."""
    if not isinstance(name, str):
        raise PartitionError(f"{what} has the name {shown(name)}; a name must be text (in a file, put it in quotes).")
    if not name.strip():
        raise PartitionError(f"{what} has an empty name; give it a word.")
    if not name.isprintable():
        raise PartitionError(f"{what} has the name {shown(name)}, with a character that cannot be printed. Remove it.")
    return name


def as_number(value: object, what: str) -> float:
    """A value as a float, or an error that says ``what`` it is that is not a number."""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        raise PartitionError(f"{what} is {shown(value)}; it must be a number.")
    try:
        result = float(value)
    except OverflowError:
        result = LARGEST * 10
    if math.isnan(result):
        raise PartitionError(f"{what} is NaN; it must be a number.")
    if LARGEST < abs(result) < INFINITY:
        raise PartitionError(f"{what} is {shown(value)}; magnitudes up to {LARGEST:.0e} can be used. Change the unit.")
    return result
