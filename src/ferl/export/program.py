"""A model as a program: a list of steps, each a small expression of columns, tables of numbers and earlier steps.

:mod:`ferl.export.lowering` makes the program of a model once. SQL (:mod:`ferl.export.sql`), Python and C
(:mod:`ferl.export.plain_code`) print it. So a kind of term is described in one place, and a language in another.

All values are numbers, or conditions where a choice needs one. A number of the table may be missing (NULL in SQL, NaN
elsewhere); a category is the number of its place, ``n`` for one that training did not have and ``n + 1`` for a missing
one, where ``n`` is the number of categories of training.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ferl._util.arrays import Floats

LONGEST_SUM = 200  # terms of a sum in one expression: databases limit how deep expressions are
MOST = 1.7976931348623157e308  # stands for infinity in a smallest of several numbers


@dataclass(frozen=True)
class Value:
    """An expression.

    Attributes
    ----------
    op : str
        What is computed; :class:`Printer` has a method for each.
    args : tuple of Value
        What it is computed from.
    data : object
        Constants: a number, the index of a step, the numbers of a table.
    """

    op: str
    args: tuple[Value, ...] = ()
    data: Any = None

    def __add__(self, other: Value | float) -> Value:
        return Value("+", (self, as_value(other)))

    def __sub__(self, other: Value | float) -> Value:
        return Value("-", (self, as_value(other)))

    def __rsub__(self, other: float) -> Value:
        return Value("-", (as_value(other), self))

    def __mul__(self, other: Value | float) -> Value:
        return Value("*", (self, as_value(other)))

    def __truediv__(self, other: Value | float) -> Value:
        return Value("/", (self, as_value(other)))

    def __rtruediv__(self, other: float) -> Value:
        return Value("/", (as_value(other), self))

    def __lt__(self, other: Value | float) -> Value:
        return Value("<", (self, as_value(other)))

    def __le__(self, other: Value | float) -> Value:
        return Value("<=", (self, as_value(other)))

    def __gt__(self, other: Value | float) -> Value:
        return Value("<", (as_value(other), self))

    def __ge__(self, other: Value | float) -> Value:
        return Value("<=", (as_value(other), self))

    def equals(self, other: Value | float) -> Value:
        """Whether two numbers are equal."""
        return Value("==", (self, as_value(other)))

    @property
    def steps(self) -> Iterable[int]:
        """The steps that it reads, each as often as it does."""
        if self.op == "step":
            yield self.data
        for item in self.args:
            yield from item.steps


NOTHING = Value("nothing")
"""A missing number."""


def as_value(item: Value | float) -> Value:
    """A number as a value."""
    return item if isinstance(item, Value) else Value("number", (), float(item))


def choose(condition: Value, then: Value | float, otherwise: Value | float) -> Value:
    """One of two values."""
    return Value("if", (condition, as_value(then), as_value(otherwise)))


def is_missing(item: Value) -> Value:
    """Whether a number is missing."""
    return Value("missing", (item,))


def floor(item: Value) -> Value:
    """The largest whole number that is no larger."""
    return Value("floor", (item,))


def smallest(item: Sequence[Value | float]) -> Value:
    """The smallest of several numbers, none of them missing."""
    return as_value(item[0]) if len(item) == 1 else Value("min", tuple(map(as_value, item)))


def largest(item: Sequence[Value | float]) -> Value:
    """The largest of several numbers, none of them missing."""
    return as_value(item[0]) if len(item) == 1 else Value("max", tuple(map(as_value, item)))


def entry(table: Iterable[float], index: Value) -> Value:
    """The number at a place of a table, from 0; equal numbers everywhere need no table."""
    numbers = tuple(float(item) for item in table)
    return as_value(numbers[0]) if len(set(numbers)) == 1 else Value("entry", (index,), numbers)


def count_below(cuts: Iterable[float], item: Value) -> Value:
    """How many of some ascending numbers are below a number."""
    numbers = tuple(float(cut) for cut in cuts)
    return Value("below", (item,), numbers) if numbers else as_value(0.0)


@dataclass(frozen=True)
class Input:
    """A column of the table.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "date", "text", "code", "flag", "ordered text", "ordered number"}
        Numbers; dates; categories that are text, numbers or booleans; ordered categories, whose places are numbers.
    values : tuple
        The categories.
    markers : tuple of str
        Text that stands for a missing value.
    is_zoned : bool
        Whether dates are moments in UTC.
    """

    name: str
    kind: str
    values: tuple[Any, ...] = ()
    markers: tuple[str, ...] = ()
    is_zoned: bool = False

    @property
    def is_category(self) -> bool:
        """Whether it is never missing in a program: a missing category has a place."""
        return self.kind in ("text", "code", "flag")

    @property
    def is_text(self) -> bool:
        """Whether its values are compared as text."""
        return self.kind in ("text", "ordered text")


@dataclass(frozen=True, eq=False)
class Nearest:
    """The search of the nearest familiar row of a model; the value is the mean distance of the known columns.

    Attributes
    ----------
    columns : tuple of Value
        The columns, numbers first, in the order of the search.
    is_number : tuple of bool
        Which columns are numbers.
    n_categories : tuple of int
        Of the others; a missing category is ``n + 1``.
    place : tuple of int
        Place of each column among the features and derived columns: distances are summed in this order.
    centre, per_unit : ndarray of shape (n_columns,)
        Of each column, in the order of the search.
    units : ndarray of shape (n_familiar, n_columns), single precision
        The familiar rows as the search compares them.
    rows : ndarray of shape (n_familiar, n_columns)
        The same rows; numbers that are missing are the centre, categories that are missing are -1.
    farthest : float
        Values further away than this count as this in the search.
    """

    columns: tuple[Value, ...]
    is_number: tuple[bool, ...]
    n_categories: tuple[int, ...]
    place: tuple[int, ...]
    centre: Floats
    per_unit: Floats
    units: Any
    rows: Floats
    farthest: float

    def is_known(self, k: int) -> Value:
        """Whether a column has a value."""
        item = self.columns[k]
        return Value("not", (is_missing(item),)) if self.is_number[k] else item <= float(self.n_categories[k])


@dataclass(frozen=True)
class Output:
    """An answer.

    Attributes
    ----------
    name : str
        What it is: "score", "probability", "belief", "in_set", "label", "ignorance", "rows", "reason".
    value : Value
        A number; a condition for "in_set"; the place of a name for "label" and "reason", -1 for none.
    place : int or None
        The class, or the number of the reason, from 0.
    names : tuple
        What the places of "label" and "reason" are.
    """

    name: str
    value: Value
    place: int | None = None
    names: tuple[Any, ...] = ()


@dataclass
class Program:
    """Steps, and which of them are answers.

    Attributes
    ----------
    inputs : list of Input
        The columns of the table.
    classes : tuple
        The labels.
    steps : list of Value
        Each reads earlier ones alone.
    outputs : list of Output
        The answers.
    """

    inputs: list[Input]
    classes: tuple[Any, ...]
    steps: list[Value] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    _known: dict[Value, Value] = field(default_factory=dict)

    def keep(self, item: Value) -> Value:
        """A step that others can read; equal ones are computed once."""
        if item.op in ("step", "number"):
            return item
        if item not in self._known:
            self.steps.append(item)
            self._known[item] = Value("step", (), len(self.steps) - 1)
        return self._known[item]

    def input(self, index: int) -> Value:
        """A column of the table."""
        return self.keep(Value("input", (), index))

    def total(self, terms: Sequence[Value | float]) -> Value:
        """A sum from left to right, kept in pieces where it is long; numbers that are zero are left out."""
        left = [item for item in map(as_value, terms) if item.op != "number" or item.data != 0.0]
        if not left:
            return as_value(0.0)
        result = left[0]
        for first in range(1, len(left), LONGEST_SUM):
            result = self.keep(Value("sum", (result, *left[first : first + LONGEST_SUM])))
        return result

    @property
    def needed(self) -> list[int]:
        """Steps that answers depend on, in their order."""
        result = {step for output in self.outputs for step in output.value.steps}
        for index in range(len(self.steps) - 1, -1, -1):
            if index in result:
                result.update(self.steps[index].steps)
        return sorted(result)

    @property
    def read_inputs(self) -> list[int]:
        """Columns that answers depend on."""
        return sorted(self.steps[index].data for index in self.needed if self.steps[index].op == "input")


class Printer:
    """Prints expressions; a language is a subclass."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def text(self, item: Value) -> str:
        """An expression as the language writes it."""
        special = {"+": "operate", "-": "operate", "*": "operate", "/": "operate", "<": "operate", "<=": "operate"}
        result: str = getattr(self, f"of_{special.get(item.op, _NAMES.get(item.op, item.op))}")(item)
        return result

    def of_operate(self, item: Value) -> str:
        """A sum, a difference, a product, a quotient or a comparison of two numbers."""
        first, second = map(self.text, item.args)
        return f"({first} {item.op} {second})"

    def of_sum(self, item: Value) -> str:
        """A sum of several numbers from left to right."""
        return f"({' + '.join(map(self.text, item.args))})"

    @abstractmethod
    def of_number(self, item: Value) -> str:
        """A number, as exactly as the language can."""

    def number(self, item: float) -> str:
        """A number that is no value yet."""
        return self.text(as_value(item))


_NAMES = {"==": "equal"}


def check_finite(item: float) -> float:
    """A number that every language can write."""
    if not math.isfinite(item):
        raise ValueError(f"The model holds {item}, which cannot be written. Fit it again on rescaled columns.")
    return item
