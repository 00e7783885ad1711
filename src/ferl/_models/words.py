"""Linguistic variables: the words of one feature, and partitions, which give every feature its words."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.fuzzy_set import INFINITY, FuzzySet, PartitionError, as_number, check_name, writer
from ferl._util.arrays import Floats
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
    Memberships need not sum to one, though those of the builders do. A variable whose sets are all single values
    is a list of categories: other values belong to no set, and rules about it stay silent on them.

    Examples
    --------
    >>> from ferl.partition import FuzzySet, LinguisticVariable
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
class Terms:
    """Conditions "feature is word" that rules can be made of, in parallel arrays.

    Attributes
    ----------
    feature : ndarray of shape (n_terms,), int32
        Feature of each term.
    trapezoid : ndarray of shape (n_terms, 4)
        Its fuzzy set.
    word : list of str
        Its word.
    is_complement : ndarray of shape (n_terms,), int32
        1 for "not" a set of the variable: such a word narrows rules, and begins none.
    """

    feature: NDArray[np.int32]
    trapezoid: Floats
    word: list[str]
    is_complement: NDArray[np.int32]


def terms(partition: Partition) -> Terms:
    """All terms of a partition: the sets of each variable, and "not" its outer sets.

    The complement of the first or the last set says in one condition what would otherwise take one rule for each of
    the other sets.

    Parameters
    ----------
    partition : sequence of LinguisticVariable or None
        One entry for each feature.

    Returns
    -------
    Terms

    Examples
    --------
    >>> from ferl.partition import quantile_partition, terms
    >>> found = terms(quantile_partition([[0, 7], [1, 7], [2, 7], [3, 7]]))
    >>> found.feature
    array([0, 0, 0, 0, 0], dtype=int32)
    >>> found.word
    ['low', 'medium', 'high', 'not low', 'not high']
    """
    found = [
        (j, one, is_complement)
        for j, variable in enumerate(partition)
        if variable is not None
        for is_complement, sets in enumerate((variable.sets, variable.complements()))
        for one in sets
    ]
    return Terms(
        feature=np.array([j for j, _, _ in found], dtype=np.int32),
        trapezoid=np.array([one.ends for _, one, _ in found], dtype=np.float64).reshape(-1, 4),
        word=[one.name for _, one, _ in found],
        is_complement=np.array([is_complement for *_, is_complement in found], dtype=np.int32),
    )


def arrange(
    variables: Iterable[LinguisticVariable | None], feature_names: Sequence[str]
) -> list[LinguisticVariable | None]:
    """Variables in the order of a table's features, found by their names.

    Parameters
    ----------
    variables : iterable of LinguisticVariable
        Of an expert, say, in any order.
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
            raise PartitionError(f"The partition holds {shown(variable)}; it must hold LinguisticVariables.")
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
