"""Declared forms of JSON files: fields, their types, sizes, ranges and limits as a table, for one reader and writer.

A file is untrusted input: whatever it holds, reading it ends in values of the declared form, or in an error that names
the field.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._util.text import shown

SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""How numbers that JSON does not have are written."""

# What reading a file may take in memory, in bytes: by its JSON, and by arrays that are dense in memory.
MAX_MEMORY = 4_000_000_000
# Arrays that are sparse in the file are dense in memory. What they may take: this many values of eight bytes, and so
# many more for each byte of the file; a small file cannot take much memory.
FREE_CELLS = 4_000_000
CELLS_PER_BYTE = 32
MAX_BYTES = 1_000_000_000  # far above any model that a person could read
MAX_NESTING = 12  # the format of models needs six
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT32 = int(np.iinfo(np.int32).max)


class ModelFileError(ValueError):
    """A file that is not a usable model, or a model that no file can hold; the message names the field and why."""


def wrong(where: str, what: str) -> ModelFileError:
    """The error for a field."""
    return ModelFileError(f"{where}: {what}.")


class Sizes(dict[str, int]):
    """Sizes that several fields share, by name: known before, or bound by the first field that has them.

    Also a budget: how many values the dense forms of sparse arrays may have, all together.
    """

    def __init__(self, n_bytes: int, **known: int) -> None:
        super().__init__(known)
        self.left = min(FREE_CELLS + CELLS_PER_BYTE * n_bytes, MAX_MEMORY // 8)

    def take(self, n_cells: int, where: str) -> None:
        """Refuse an array that is far larger than its form in the file."""
        self.left -= n_cells
        if self.left < 0:
            raise ModelFileError(f"{where} would take {n_cells:,} values in memory, far more than the file has.")


class Field:
    """One entry of a form."""

    @abstractmethod
    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """The value, checked; ``where``: what errors call it."""

    def write(self, value: Any) -> Any:
        """The value as lists, text and numbers of Python."""
        return value


@dataclass(frozen=True)
class Numbers(Field):
    """An array of numbers.

    Attributes
    ----------
    shape : tuple
        One or two sizes: a name, a number, or None for any. An array of two has rows.
    low, high : float
        Range, both ends included.
    infinite, missing : bool
        Whether "inf" and "-inf", and "nan", are among the numbers allowed.
    """

    shape: tuple[str | int | None, ...]
    low: float = -math.inf
    high: float = math.inf
    infinite: bool = False
    missing: bool = False

    def read(self, value: Any, where: str, sizes: Sizes) -> NDArray[np.float64]:
        """An array of float64."""
        entries = _sized(value, where, self.shape[0], sizes)
        if len(self.shape) == 1:
            return self._numbers(entries, where)
        width = self.shape[1]
        columns = sizes[width] if isinstance(width, str) else int(width or 0)
        flat: list[Any] = []
        for index, row in enumerate(entries):
            if type(row) is not list or len(row) != columns:
                raise wrong(where, f"row {index} is {shown(row)}; it must be a list of {columns} numbers")
            flat += row
        return self._numbers(flat, where).reshape(len(entries), columns)

    def _numbers(self, entries: list[Any], where: str) -> NDArray[np.float64]:
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
        bad = ~(is_nan | ((numbers >= self.low) & (numbers <= self.high)))
        bad |= (is_nan & (not self.missing)) | (np.isinf(numbers) & (not self.infinite))
        if bad.any():
            index = int(np.argmax(bad))
            is_free = (self.low, self.high) == (-math.inf, math.inf)
            limits = "" if is_free else f" from {self.low:g} to {self.high:g}"
            raise ModelFileError(f"{where}: number {index} is {numbers[index]}; it must be a number{limits}.")
        return numbers

    def write(self, value: NDArray[Any]) -> Any:
        """Nested lists, with names for the numbers that JSON does not have."""
        return value.tolist() if np.isfinite(value).all() else _named(value.tolist())


def _named(value: Any) -> Any:
    if isinstance(value, list):
        return [_named(entry) for entry in value]
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


@dataclass(frozen=True)
class Integers(Field):
    """A list of integers.

    Attributes
    ----------
    size : str, int or None
        How many.
    low : int
        The smallest allowed.
    below : str or None
        The size that they must be smaller than: they are indices in it. None: any of 32 bits.
    ascending : bool
        Whether each must be larger than the one before.
    """

    size: str | int | None
    low: int = 0
    below: str | None = None
    ascending: bool = False

    def read(self, value: Any, where: str, sizes: Sizes) -> NDArray[np.int32]:
        """An array of int32."""
        entries = _sized(value, where, self.size, sizes)
        high = _INT32 if self.below is None else sizes[self.below] - 1
        for index, entry in enumerate(entries):
            if type(entry) is not int or not self.low <= entry <= high:  # a boolean is not an integer here
                raise ModelFileError(
                    f"{where}[{index}] is {shown(entry)}; it must be an integer from {self.low} to {high}."
                )
        result = np.array(entries, dtype=np.int32)
        if self.ascending and (np.diff(result) <= 0).any():
            raise wrong(where, "they must ascend")
        return result

    def write(self, value: Any) -> Any:
        """A list."""
        return np.asarray(value).tolist()


@dataclass(frozen=True)
class Each(Field):
    """A list of entries of one form."""

    size: str | int | None
    entry: Field

    def read(self, value: Any, where: str, sizes: Sizes) -> list[Any]:
        """A list."""
        entries = _sized(value, where, self.size, sizes)
        return [self.entry.read(entry, f"{where}[{index}]", sizes) for index, entry in enumerate(entries)]

    def write(self, value: Any) -> Any:
        """A list."""
        return [self.entry.write(item) for item in value]


@dataclass(frozen=True)
class Value(Field):
    """A single value that a check finds right; ``meaning``: what it must be."""

    check: Callable[[Any], bool]
    meaning: str

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """The value itself."""
        if not self.check(value):
            raise ModelFileError(f"{where} is {shown(value)}; it must be {self.meaning}.")
        return value


def is_plain_text(value: Any) -> bool:
    """Whether a value is text that a file can hold: half a surrogate pair is not."""
    return type(value) is str and _SURROGATE.search(value) is None


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return type(value) in (int, float) and abs(value) <= np.finfo(np.float64).max


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(is_plain_text(key) and _is_json(entry) for key, entry in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int) or is_plain_text(value)


TEXT = Value(is_plain_text, "text")
FLAG = Value(lambda value: type(value) is bool, "true or false")
ANYTHING = Value(lambda value: True, "anything")
OBJECT = Value(lambda value: type(value) is dict, "an object")
RECORD = Value(
    lambda value: type(value) is dict and _is_json(value),
    "an object of text, finite numbers, true, false, null, lists and objects",
)


def count(low: int, high: int) -> Value:
    """An integer within a range, both ends included."""
    return Value(lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}")


def one_of(*values: str) -> Value:
    """One of some texts."""
    return Value(lambda value: type(value) is str and value in values, f"one of {', '.join(map(repr, values))}")


@dataclass(frozen=True)
class Nullable(Field):
    """A form, or null."""

    form: Field

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """The value, or None."""
        return None if value is None else self.form.read(value, where, sizes)

    def write(self, value: Any) -> Any:
        """The value, or None."""
        return None if value is None else self.form.write(value)


@dataclass(frozen=True)
class Object(Field):
    """An object with the given fields and no others.

    Attributes
    ----------
    fields : dict
        The form of each entry; they are read in this order.
    optional : frozenset of str
        Entries that may be absent; they are not written where they are None or empty.
    """

    fields: Mapping[str, Field]
    optional: frozenset[str] = frozenset()

    @classmethod
    def of(cls, optional: str = "", /, **fields: Field) -> Object:
        """An object with these entries; ``optional``: names of optional entries, separated by spaces."""
        return cls(fields, frozenset(optional.split()))

    def read(self, value: Any, where: str, sizes: Sizes) -> dict[str, Any]:
        """A dict by the names of the entries, None for absent entries."""
        if not isinstance(value, dict):
            raise ModelFileError(f"{where} is {shown(value)}; it must be an object with {', '.join(self.fields)}.")
        missing = [key for key in self.fields if key not in value and key not in self.optional]
        if missing:
            raise ModelFileError(f"{where} has no {missing[0]!r}.")
        unknown = [key for key in value if key not in self.fields]
        if unknown:
            raise ModelFileError(f"{where} has {shown(unknown[0])}, which this version of the format does not have.")
        prefix = "" if where == "the model" else f"{where}."
        return {
            key: form.read(value[key], f"{prefix}{key}", sizes) if key in value else None
            for key, form in self.fields.items()
        }

    def write(self, value: Any) -> Any:
        """A dict of the entries, from a dict or from an object with these attributes."""
        result = {key: value[key] if isinstance(value, Mapping) else getattr(value, key) for key in self.fields}
        return {
            key: form.write(result[key])
            for key, form in self.fields.items()
            if key not in self.optional or not _is_empty(result[key])
        }


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, bool | str | list | tuple | dict) and not value)


def _sized(value: Any, where: str, size: str | int | None, sizes: Sizes) -> list[Any]:
    """A list with as many entries as its size demands; the first one of a named size sets it."""
    if type(value) is not list:
        raise ModelFileError(f"{where} is {shown(value)}; it must be a list.")
    wanted = sizes.setdefault(size, len(value)) if isinstance(size, str) else size
    if wanted is not None and len(value) != wanted:
        raise ModelFileError(f"{where} has {len(value)} entries; it must have {wanted}.")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# JSON
# ---------------------------------------------------------------------------------------------------------------------


def file_content(path: Path) -> bytes:
    """What stands in a file of a sensible size; a pipe or a device is refused."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path.name} is no regular file; save the model to one first.")
        content = file.read(min(status.st_size, MAX_BYTES) + 1)  # Python takes the memory before it reads
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{path.name} has more than {MAX_BYTES:,} bytes; models are smaller.")
    return content


def _open_without_waiting(name: str, flags: int) -> int:
    # A pipe nobody writes to would block the opening itself.
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def parsed_json(content: bytes) -> Any:
    """The JSON of a file, without repeated keys, deep nesting, or numbers that JSON does not have."""
    size = _core.json_size(content)
    if size["depth"] > MAX_NESTING:
        raise ModelFileError(f"it is nested more than {MAX_NESTING} levels deep; a model is not.")
    needed = memory_of_json(len(content), size)
    if needed > MAX_MEMORY:
        raise ModelFileError(
            f"it would take about {needed:,} bytes in memory; reading a model may take {MAX_MEMORY:,}."
        )
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is not JSON: {str(error)[:200]}. Pass a file that save_model wrote.") from error


def memory_of_json(n_bytes: int, size: dict[str, int]) -> int:
    """The most bytes that Python takes to parse a JSON text, by what stands in it.

    Parameters
    ----------
    n_bytes : int
        Length of the text in UTF-8.
    size : dict
        What ``_core.json_size`` counts.
    """
    highest = size["highest_byte"]
    width = 1 if highest < 0xC4 else 2 if highest < 0xF0 else 4  # bytes of a letter of Python's text, by its widest one
    letters = (1 + 2 * width) * n_bytes  # the file, the same decoded, and the texts that are taken out of it
    # As CPython lays them out: a float takes 32 bytes and its place in a list 8, which grow by an eighth, once more in
    # the array that is made of it; a list 56 and room for four; a dict of one entry 184, a tuple of two 56.
    values = 60 * (size["n_separators"] + 1) + 64 * size["n_texts"]
    return letters + values + 156 * size["n_lists"] + 250 * size["n_objects"] + 180 * size["n_pairs"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ModelFileError(f"{shown(twice)} stands twice in one object.")
    return result


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f'it holds {name}, which is not JSON; such numbers are written "inf", "-inf" and "nan".')


def json_text(value: Any, indent: int = 0) -> str:
    """JSON in which objects have one entry a line, and lists of lists or objects one of these a line."""
    inner = "\n" + "  " * (indent + 1)
    if isinstance(value, dict) and value and indent < 3:
        entries = (f"{_flat(str(key))}: {json_text(entry, indent + 1)}" for key, entry in value.items())
        return "{" + inner + f",{inner}".join(entries) + "\n" + "  " * indent + "}"
    if isinstance(value, list) and any(isinstance(entry, list | dict) for entry in value):
        return "[" + inner + f",{inner}".join(map(_flat, value)) + "\n" + "  " * indent + "]"
    return _flat(value)


def _flat(value: Any) -> str:
    # The shortest decimal that reads back to the same double, which is what Python's repr gives.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
