"""Words: fuzzy sets, linguistic variables, and partitions, which give every feature its words."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._util.arrays import LARGEST, NARROWEST, Floats
from ferl._util.text import shown

MAX_SETS = 7  # more than a reader keeps apart

WORDS: dict[int, tuple[str, ...]] = {
    2: ("low", "high"),
    3: ("low", "medium", "high"),
    4: ("low", "fairly low", "fairly high", "high"),
    5: ("very low", "low", "medium", "high", "very high"),
    6: ("very low", "low", "fairly low", "fairly high", "high", "very high"),
    7: ("very low", "low", "fairly low", "medium", "fairly high", "high", "very high"),
}
"""Words for 2 to 7 sets, from the lowest to the highest: "if age is fairly high"."""
STANDARD_WORDS = frozenset(word for words in WORDS.values() for word in words)
INFINITY = math.inf


class PartitionError(ValueError):
    """A fuzzy set, a linguistic variable or a partition file that cannot be used; the message has the reason."""


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
    >>> from ferl.words import FuzzySet
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
            raise self._wrong("every value is a full member, so the set excludes nothing. Give one side an end")
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
    """How to write numbers that stand together: all with the same decimals, enough to distinguish them.

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
    """A value as a float, or an error that ``what`` is not a number."""
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


@dataclass(frozen=True)
class LinguisticVariable:
    """A feature and the fuzzy sets that give its values words.

    Parameters
    ----------
    name : str
        Name of the feature.
    sets : sequence of FuzzySet
        2 to 7 sets with different names, from the lowest to the highest: where a set is full, no other one is, except
        for limits that two sets share. Every value of the range belongs to some set.
    unit : str, default=""
        What values are measured in.
    range : (float, float), default=(-inf, inf)
        Values the feature can have. By default all numbers, and then the first and the last set must be shoulders.

    Raises
    ------
    PartitionError
        Naming the variable, the set that is wrong, and why.

    Notes
    -----
    Memberships need not sum to one, though the builders return sets whose memberships do. A variable whose sets are all
    single values is a list of categories: other values belong to no set, and rules on the variable do not fire for
    them.

    Examples
    --------
    >>> from ferl.words import FuzzySet, LinguisticVariable
    >>> sets = [FuzzySet.falling("normal", 37.5, 38.0), FuzzySet.rising("fever", 37.5, 38.5)]
    >>> temperature = LinguisticVariable("temperature", sets, unit="°C")
    >>> print(temperature)
    temperature (°C): normal below 37.5..38.0, fever above 37.5..38.5
    >>> temperature.membership([36.6, 37.75, 39.0])
    array([[1.  , 0.  ],
           [0.5 , 0.25],
           [0.  , 1.  ]])
    >>> print(temperature.complement("fever"))
    not fever below 37.5..38.5
    """

    name: str
    sets: tuple[FuzzySet, ...]
    unit: str = ""
    range: tuple[float, float] = (-INFINITY, INFINITY)

    def __post_init__(self) -> None:
        check_name(self.name, "A linguistic variable")
        object.__setattr__(self, "sets", tuple(self.sets))
        for one in self.sets:
            if not isinstance(one, FuzzySet):
                raise self._wrong(f"{shown(one)} is not a FuzzySet")
        if not isinstance(self.unit, str) or not self.unit.isprintable():
            raise self._wrong(f"the unit is {shown(self.unit)}; it must be a printable text")
        self._check_range()
        self._check_words()
        self._check_order()
        if not all(one.is_value for one in self.sets):
            self._check_cover()

    def _wrong(self, what: str) -> PartitionError:
        return PartitionError(f"Variable {self.name!r}: {what}.")

    def _check_range(self) -> None:
        ends = tuple(self.range)
        if len(ends) != 2:
            raise self._wrong(f"the range is {shown(self.range)}; give its lowest and its highest value")
        low, high = (as_number(end, f"Variable {self.name!r}: an end of the range") for end in ends)
        if not low < high:
            raise self._wrong(f"the range goes from {low!r} to {high!r}; the first number must be the lower one")
        object.__setattr__(self, "range", (low, high))

    def _check_words(self) -> None:
        if not 2 <= len(self.sets) <= MAX_SETS:
            raise self._wrong(f"it has {len(self.sets)} sets; a variable has 2 to {MAX_SETS}")
        seen: dict[str, str] = {}
        for one in self.sets:
            word = one.name.casefold()
            if word in seen:
                raise self._wrong(f"two sets are called {seen[word]!r} and {one.name!r}; give each its own word")
            seen[word] = one.name

    def _check_order(self) -> None:
        for low, high in pairwise(self.sets):
            if low.c <= high.b and (low.b, low.c) != (high.b, high.c):
                continue
            cores = f"{low.name!r} is full {_interval(low.b, low.c)}, {high.name!r} {_interval(high.b, high.c)}"
            if high.c <= low.b and (low.b, low.c) != (high.b, high.c):
                raise self._wrong(
                    f"set {high.name!r} must stand before {low.name!r}: {cores}. List the lowest set first"
                )
            raise self._wrong(f"sets {low.name!r} and {high.name!r} are full on the same values: {cores}")

    def _check_cover(self) -> None:
        """Go through the sets from the left; all values up to ``reach`` are members of one."""
        reach, last = math.nextafter(self.range[0], -INFINITY), ""
        for one in sorted(self.sets, key=_first_member):
            if math.nextafter(reach, INFINITY) < _first_member(one):
                self._refuse_hole(last, one.name, reach, one.a)
            if _last_member(one) > reach:
                reach, last = _last_member(one), one.name
        if reach < self.range[1]:
            self._refuse_hole(last, "", reach, self.range[1])

    def _refuse_hole(self, below: str, above: str, low: float, high: float) -> None:
        if below and above:
            between = f"between {low:.6g} and {high:.6g} belong to no set. Let {below!r} and {above!r} overlap"
            raise self._wrong(f"values {between}, or give the same number to their upright sides")
        outer, side, end = (below, "above", low) if below else (above, "below", high)
        remedy = f"Make {outer!r} a shoulder, or give the variable the range that its sets cover"
        raise self._wrong(f"values {side} {end:.6g}, where set {outer!r} ends, belong to no set. {remedy}")

    def __getitem__(self, set_name: str) -> FuzzySet:
        """The set of that name, in capitals or not."""
        for one in self.sets:
            if one.name.casefold() == set_name.casefold():
                return one
        raise self._wrong(f"there is no set {set_name!r}; its sets are {', '.join(one.name for one in self.sets)}")

    def membership(self, x: ArrayLike) -> Floats:
        """Membership of each value in each set.

        Parameters
        ----------
        x : array-like of any shape
            Values of the feature.

        Returns
        -------
        ndarray of shape (..., n_sets)
        """
        return np.stack([one.membership(x) for one in self.sets], axis=-1)

    def complement(self, set_name: str) -> FuzzySet:
        """The set "not ``set_name``", whose membership is one minus the set's.

        Only shoulders, that is the first and the last set, have a trapezoid as their complement.

        Parameters
        ----------
        set_name : str
            Name of the first or the last set.

        Returns
        -------
        FuzzySet
        """
        one = self[set_name]
        if one.a == -INFINITY or one.d == INFINITY:
            return one.complement()
        raise self._wrong(
            f"'not {one.name}' is no trapezoid, since {one.name!r} ends on both sides; "
            "only the first and the last set have a complement, where they are shoulders"
        )

    def complements(self) -> tuple[FuzzySet, ...]:
        """Complements of the outer sets, where they are trapezoids and neither their sets nor their words are taken."""
        ends, words = {one.ends for one in self.sets}, {one.name.casefold() for one in self.sets}
        shoulders = [one for one in (self.sets[0], self.sets[-1]) if one.a == -INFINITY or one.d == INFINITY]
        complements = [one.complement() for one in shoulders]
        return tuple(one for one in complements if one.ends not in ends and one.name.casefold() not in words)

    def __str__(self) -> str:
        return self.text(self.name)

    def text(self, name: str, write: Callable[[float], str] | None = None) -> str:
        """What the words mean, under a name of the reader's choice; ``write``: how numbers are written, dates say."""
        written = write or writer(end for one in self.sets for end in one.ends)
        unit = f" ({self.unit})" if self.unit and not name.endswith(f" ({self.unit})") else ""
        return f"{name}{unit}: {', '.join(one.text(written) for one in self.sets)}"


def _first_member(one: FuzzySet) -> float:
    """The lowest number with positive membership: the end of an upright side, the next number on a ramp."""
    return one.a if one.a == one.b else math.nextafter(one.a, INFINITY)


def _last_member(one: FuzzySet) -> float:
    return one.d if one.c == one.d else math.nextafter(one.d, -INFINITY)


def _interval(low: float, high: float) -> str:
    if low == high:
        return f"at {low:.6g}"
    if low == -INFINITY:
        return f"up to {high:.6g}"
    return f"from {low:.6g}" if high == INFINITY else f"from {low:.6g} to {high:.6g}"


Partition = Sequence[LinguisticVariable | None]
"""The words of each feature, in the order of the features; None for a feature that rules do not use."""


@dataclass(frozen=True)
class WordConditions:
    """Conditions "feature is word" that rules can be made of, in parallel arrays.

    Attributes
    ----------
    feature : ndarray of shape (n_conditions,), int32
        Feature of each condition.
    trapezoid : ndarray of shape (n_conditions, 4)
        Its fuzzy set.
    word : list of str
        Its word.
    is_complement : ndarray of shape (n_conditions,), int32
        1 for "not" a set of the variable: such a word narrows rules, and begins none.
    """

    feature: NDArray[np.int32]
    trapezoid: Floats
    word: list[str]
    is_complement: NDArray[np.int32]


def word_conditions(partition: Partition) -> WordConditions:
    """All conditions that a partition allows: the sets of each variable, and "not" its outer sets.

    The complement of the first or the last set replaces one rule for each of the other sets by one condition.

    Parameters
    ----------
    partition : sequence of LinguisticVariable or None
        One entry for each feature.

    Returns
    -------
    WordConditions

    Examples
    --------
    >>> from ferl.words import quantile_partition, word_conditions
    >>> conditions = word_conditions(quantile_partition([[0, 7], [1, 7], [2, 7], [3, 7]]))
    >>> conditions.feature
    array([0, 0, 0, 0, 0], dtype=int32)
    >>> conditions.word
    ['low', 'medium', 'high', 'not low', 'not high']
    """
    result = [
        (j, one, is_complement)
        for j, variable in enumerate(partition)
        if variable is not None
        for is_complement, sets in enumerate((variable.sets, variable.complements()))
        for one in sets
    ]
    return WordConditions(
        feature=np.array([j for j, _, _ in result], dtype=np.int32),
        trapezoid=np.array([one.ends for _, one, _ in result], dtype=np.float64).reshape(-1, 4),
        word=[one.name for _, one, _ in result],
        is_complement=np.array([is_complement for *_, is_complement in result], dtype=np.int32),
    )


def arrange(
    variables: Iterable[LinguisticVariable | None], feature_names: Sequence[str]
) -> list[LinguisticVariable | None]:
    """Variables in the order of a table's features, found by their names.

    Parameters
    ----------
    variables : iterable of LinguisticVariable
        For example an expert's, in any order.
    feature_names : sequence of str
        Names of the table's features.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature: None for features without a variable.

    Raises
    ------
    PartitionError
        When two variables have the same name, or one is not a feature of the table.
    """
    by_name: dict[str, LinguisticVariable] = {}
    names = [str(name) for name in feature_names]
    for variable in variables:
        if variable is None:
            continue
        if not isinstance(variable, LinguisticVariable):
            raise PartitionError(f"words holds {shown(variable)}; it must hold LinguisticVariables.")
        if variable.name in by_name:
            raise PartitionError(f"Two variables are called {variable.name!r}; a feature has one.")
        if variable.name not in names:
            near = difflib.get_close_matches(variable.name, names, n=1, cutoff=0.0) or ["none"]
            raise PartitionError(
                f"Variable {variable.name!r} is not a feature of the table. The name most like it is {near[0]!r}; "
                "names must agree to the letter."
            )
        by_name[variable.name] = variable
    return [by_name.get(name) for name in names]
