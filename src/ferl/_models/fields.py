"""Checked access to what a model file holds: every value has a type, a length and a range, or an error names it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown

SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""How numbers that JSON does not have are written."""

# What reading a file may take in memory, in bytes: by its JSON, and by arrays that are dense in memory.
MAX_MEMORY = 4_000_000_000
# Arrays that are sparse in the file are dense in memory. What they may take: this many values of eight bytes, and so
# many more for each byte of the file; a small file cannot ask for much memory.
FREE_CELLS = 4_000_000
CELLS_PER_BYTE = 32
_SURROGATE = re.compile("[\ud800-\udfff]")


class ModelFileError(ValueError):
    """A file that is not a usable model, or a model that no file can hold; the message names the field and why."""


class Budget:
    """How many values the dense forms of sparse arrays may have, all together."""

    def __init__(self, n_bytes: int) -> None:
        self.left = min(FREE_CELLS + CELLS_PER_BYTE * n_bytes, MAX_MEMORY // 8)

    def take(self, n_cells: int, where: str) -> None:
        """Refuse an array that is far larger than what the file says of it."""
        self.left -= n_cells
        if self.left < 0:
            raise ModelFileError(f"{where} would take {n_cells:,} values in memory, far more than the file has.")


class Part:
    """One object of a model file.

    Parameters
    ----------
    value : object
        What stands in the file.
    where : str
        What errors call it.
    keys : sequence of str
        The keys it must have; others are refused.
    optional : sequence of str, default=()
        Keys that it may have.
    """

    def __init__(self, value: Any, where: str, keys: Sequence[str], optional: Sequence[str] = ()) -> None:
        if not isinstance(value, dict):
            raise ModelFileError(f"{where} is {shown(value)}; it must be an object with {', '.join(keys)}.")
        missing = [key for key in keys if key not in value]
        if missing:
            raise ModelFileError(f"{where} has no {missing[0]!r}.")
        unknown = [key for key in value if key not in keys and key not in optional]
        if unknown:
            raise ModelFileError(f"{where} has {shown(unknown[0])}, which this version of the format does not have.")
        self.value = value
        self.where = where

    def path(self, key: str) -> str:
        """What errors call an entry."""
        return f"{self.where}.{key}"

    def wrong(self, key: str, what: str) -> ModelFileError:
        """The error for an entry."""
        return ModelFileError(f"{self.path(key)}: {what}.")

    def list(self, key: str, n: int | None = None) -> list[Any]:
        """A list, of ``n`` entries if that is given."""
        return as_list(self.value[key], self.path(key), n)

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer within a range, both ends included."""
        value = self.value[key]
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(key, f"{shown(value)} is not an integer from {low} to {high}")
        return value

    def integers(self, key: str, n: int | None, low: int, high: int) -> Ints:
        """A list of integers within a range, as an array."""
        return as_integers(self.value[key], self.path(key), n, low, high)

    def numbers(self, key: str, n: int | None, low: float = -math.inf, high: float = math.inf, **allow: bool) -> Floats:
        """A list of numbers within a range, as an array; see :func:`as_numbers`."""
        return as_numbers(self.value[key], self.path(key), n, low, high, **allow)

    def matrix(
        self, key: str, n: int | None, width: int, low: float = -math.inf, high: float = math.inf, **allow: bool
    ) -> Floats:
        """A list of rows of numbers, as an array of shape (n, width)."""
        rows = self.list(key, n)
        flat: list[Any] = []
        for index, row in enumerate(rows):
            if type(row) is not list or len(row) != width:
                raise self.wrong(key, f"row {index} is {shown(row)}; it must be a list of {width} numbers")
            flat += row
        return as_numbers(flat, self.path(key), None, low, high, **allow).reshape(len(rows), width)


def as_list(value: Any, where: str, n: int | None = None) -> list[Any]:
    """A list, of ``n`` entries if that is given."""
    if type(value) is not list:
        raise ModelFileError(f"{where} is {shown(value)}; it must be a list.")
    if n is not None and len(value) != n:
        raise ModelFileError(f"{where} has {len(value)} entries; it must have {n}.")
    return value


def as_integers(value: Any, where: str, n: int | None, low: int, high: int) -> Ints:
    """A list of integers from ``low`` to ``high``, as int32."""
    entries = as_list(value, where, n)
    for index, entry in enumerate(entries):
        if type(entry) is not int or not low <= entry <= high:  # a boolean is not an integer here
            raise ModelFileError(f"{where}[{index}] is {shown(entry)}; it must be an integer from {low} to {high}.")
    return np.array(entries, dtype=np.int32)


def as_numbers(
    value: Any,
    where: str,
    n: int | None,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    infinite: bool = False,
    missing: bool = False,
) -> Floats:
    """A list of numbers as float64.

    Parameters
    ----------
    value : object
        What stands in the file.
    where : str
        What errors call it.
    n : int or None
        How many there must be; None: any number.
    low, high : float, default=-inf and inf
        Range, both ends included.
    infinite, missing : bool, default=False
        Whether "inf" and "-inf", and "nan", are among the numbers allowed.

    Returns
    -------
    ndarray of shape (n,)
    """
    entries = as_list(value, where, n)
    kinds = set(map(type, entries))
    if str in kinds:
        entries = [SPECIAL.get(entry, entry) if type(entry) is str else entry for entry in entries]
        kinds = set(map(type, entries))
    if not kinds <= {int, float}:
        index = next(index for index, entry in enumerate(entries) if type(entry) not in (int, float))
        raise ModelFileError(f"{where}[{index}] is {shown(entries[index])}; it must be a number.")
    try:
        numbers = np.array(entries, dtype=np.float64)
    except OverflowError:
        raise ModelFileError(f"{where} has a number beyond the range of float64.") from None
    is_nan = np.isnan(numbers)
    bad = ~(is_nan | ((numbers >= low) & (numbers <= high)))
    bad |= (is_nan & (not missing)) | (np.isinf(numbers) & (not infinite))
    if bad.any():
        index = int(np.argmax(bad))
        limits = "" if (low, high) == (-math.inf, math.inf) else f" from {low:g} to {high:g}"
        raise ModelFileError(f"{where}: number {index} is {numbers[index]}; it must be a number{limits}.")
    return numbers


def as_records(value: Any, where: str) -> tuple[dict[str, Any], ...]:
    """A list of objects that hold what JSON has and nothing else, so that it can be written and read back."""
    for index, record in enumerate(as_list(value, where)):
        if type(record) is not dict or not _is_json(record):
            raise ModelFileError(
                f"{where}[{index}] is {shown(record)}; it must be an object of text, finite numbers, true, false, "
                "null, lists and objects."
            )
    return tuple(value)


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(is_plain_text(key) and _is_json(entry) for key, entry in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int) or is_plain_text(value)


def is_plain_text(value: Any) -> bool:
    """Whether a value is text that a file can hold: half a surrogate pair is not."""
    return type(value) is str and _SURROGATE.search(value) is None


def as_written(numbers: NDArray[Any]) -> Any:
    """An array as nested lists, with names for the numbers that JSON does not have."""
    values = numbers.tolist()
    if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
        return values
    return _named(values)


def _named(value: Any) -> Any:
    if isinstance(value, list):
        return [_named(entry) for entry in value]
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
