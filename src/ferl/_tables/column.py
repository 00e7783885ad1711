"""One column of a table: what it holds, as numbers or as categories."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categories import CategoryLookup, is_missing
from ferl._tables.dates import array_days, arrow_days, is_date_type
from ferl._tables.recognise import MISSING
from ferl._util.arrays import Floats, arrow
from ferl._util.text import shown

# What to do about a type that is neither number nor category, by a part of its name in Arrow or NumPy.
_REMEDIES = {
    "timestamp": "Pass dates as dates, not as categories.",
    "date": "Pass dates as dates, not as categories.",
    "time64": "Pass the seconds since midnight.",
    "time32": "Pass the seconds since midnight.",
    "duration": "Pass it as a number of seconds.",
    "timedelta": "Pass it as a number of seconds.",
    "period": "Split a date into year, month and day, or turn it into text.",
    "pandas.interval": "Turn it into text, for example with column.astype(str).",
    "binary": "Decode it to text, for example with column.astype(str).",
    "bytes": "Decode it to text, for example with X.astype(str).",
    "list": "Give each of its entries a column of its own.",
    "struct": "Give each of its fields a column of its own.",
    "map": "Give each of its keys a column of its own.",
}
_OTHER_REMEDY = "Leave the column out, or turn it into numbers or text."
_SHOWN = {"text": "text", "number": "numbers", "bool": "booleans", "date": "dates"}


@dataclass(frozen=True)
class Factor:
    """A column as its distinct values and which of them each row holds.

    Attributes
    ----------
    values : list
        The values, and last None; None or NaN may be among the others too, and values that no row holds.
    codes : ndarray of shape (n_samples,), int64
        Each row's index in ``values``; that of the last where it is missing.
    """

    values: list[Any]
    codes: NDArray[np.int64]

    def counts(self) -> NDArray[np.intp]:
        """How many rows hold each value."""
        return np.bincount(self.codes, minlength=len(self.values))

    @property
    def held(self) -> list[Any]:
        """Values that rows hold, without missing ones."""
        pairs = zip(self.values, self.counts().tolist(), strict=True)
        return [value for value, count in pairs if count and not is_missing(value)]


class Column:
    """One column of a table.

    Parameters
    ----------
    label : str
        What errors call it.
    values : ndarray of shape (n_samples,), pyarrow.Array or pyarrow.ChunkedArray
        An ndarray holds numbers or booleans only; of dates, days since the beginning of 1970.
    kind : {"number", "bool", "text", "date", "nothing"}
        What the values are; "nothing": a type that says no more than that all of them are missing.
    is_declared : bool, default=False
        Whether its type says that it holds categories, whatever the kind of these.
    order : tuple or None, default=None
        The categories from the lowest to the highest, where the type says that they have an order.
    is_zoned : bool, default=False
        Of dates: whether they are moments in UTC.
    markers : tuple of str, default=()
        Text among the numbers that stood for a missing value.
    """

    def __init__(
        self,
        label: str,
        values: Any,
        kind: str,
        is_declared: bool = False,
        *,
        order: tuple[Any, ...] | None = None,
        is_zoned: bool = False,
        markers: tuple[str, ...] = (),
    ) -> None:
        self.label = label
        self.values = values
        self.kind = kind
        self.is_declared = is_declared
        self.order = order
        self.is_zoned = is_zoned
        self.markers = markers
        self._factor: Factor | None = None
        self._looked_up: tuple[CategoryLookup, Floats] | None = None

    @property
    def is_category(self) -> bool:
        """Whether its type makes it a category."""
        return self.is_declared or self.kind in ("text", "bool")

    @property
    def factor(self) -> Factor:
        """The column as distinct values, found once."""
        # Not functools.cached_property: before Python 3.12 its lock lets one thread at a time into all columns.
        if self._factor is None:
            self._factor = self._find_factor()
        return self._factor

    def _find_factor(self) -> Factor:
        """The distinct values by Arrow: no loop over rows in Python."""
        pa = arrow()

        if self.kind == "nothing":
            return Factor([None], np.zeros(len(self.values), dtype=np.int64))
        array = pa.array(self.values, from_pandas=True) if isinstance(self.values, np.ndarray) else self.values
        array = _encoded(array)
        distinct = array.dictionary
        if self.kind in ("number", "date") and not pa.types.is_integer(distinct.type):
            distinct = distinct.cast(pa.float64())
        codes = array.indices.cast(pa.int64()).fill_null(len(distinct)).to_numpy()
        return Factor([*distinct.to_pylist(), None], codes)

    @property
    def has_values(self) -> bool:
        """Whether any value is not missing."""
        if self.kind not in ("number", "date") or self.is_declared:
            return bool(self.factor.held)
        values = self.own_numbers()
        # Nearly always the first row says so.
        return len(values) > 0 and not (np.isnan(values[0]) and np.isnan(values).all())

    @property
    def example(self) -> str:
        """A value that a row holds, quoted."""
        return shown(self.factor.held[0])

    def own_numbers(self) -> NDArray[Any]:
        """The values as they are where NumPy holds them, otherwise as :meth:`numbers`."""
        return self.values if isinstance(self.values, np.ndarray) and self.kind != "nothing" else self.numbers()

    def numbers(self) -> Floats:
        """The values as float64, NaN where they are missing, shape (n_samples,)."""
        if self.kind == "nothing":
            return np.full(len(self.values), np.nan)
        if isinstance(self.values, np.ndarray):
            return self.values.astype(np.float64, copy=False)
        pa = arrow()

        array = self.values.cast(self.values.type.value_type) if self.is_declared else self.values
        if not pa.types.is_float64(array.type):
            array = array.cast(pa.float64(), safe=False)  # large integers may be rounded, as everywhere
        return np.asarray(_in_one(array).to_numpy(zero_copy_only=False))

    def categories(self) -> NDArray[Any]:
        """The distinct values, sorted: an array of str (as objects), bool, int64 or float64.

        Floats that are all whole are integers: pandas turns integers into floats where one is missing.
        """
        held = self._finite_values()
        if self.kind == "text" or not held:  # no value, no kind: libraries differ in what they call such a column
            return np.array(sorted(set(held)), dtype=object)
        if self.kind == "bool":
            return np.array(sorted(set(held)), dtype=np.bool_)
        if all(float(value).is_integer() for value in held):
            try:
                return np.array(sorted({int(value) for value in held}), dtype=np.int64)
            except OverflowError:
                raise ValueError(
                    f"{self.label} holds a category of {shown(max(held, key=abs))}; integers that stand for categories "
                    "have at most 18 digits. Pass them as text."
                ) from None
        return np.array(sorted({float(value) for value in held}), dtype=np.float64)

    def codes(self, lookup: CategoryLookup) -> Floats:
        """Each row's category as its index, ``n_categories`` for unseen ones, NaN where missing, shape (n_samples,)."""
        if not lookup.n_categories:
            return np.full(len(self.factor.codes), math.nan)
        indices = self._indices(lookup)
        codes = indices[self.factor.codes]
        if np.isinf(indices).any() and np.isinf(codes).any():
            raise ValueError(infinity_message(self.label))
        return codes

    def unseen(self, lookup: CategoryLookup) -> dict[Any, int]:
        """How many rows hold each value that is none of the categories."""
        counts = np.where(self._indices(lookup) == lookup.n_categories, self.factor.counts(), 0)
        found: Counter[Any] = Counter()
        for index in np.flatnonzero(counts).tolist():
            found[self.factor.values[index]] += int(counts[index])  # a dictionary may hold a value twice
        return found

    def _indices(self, lookup: CategoryLookup) -> Floats:
        """What a lookup says of each distinct value, asked once."""
        if self._looked_up is None or self._looked_up[0] is not lookup:
            self._looked_up = lookup, np.array([lookup.index(value) for value in self.factor.values])
        return self._looked_up[1]

    def refuse_other_kind(self, lookup: CategoryLookup) -> None:
        """Say so when no value can be among the categories, because these are text and it is not, or reversely."""
        if self.kind == "text" and lookup.is_text:
            return
        held = self._finite_values()
        if not held or (self.kind == "text") == lookup.is_text or any(map(lookup.can_be, held)):
            return
        example = next(iter(lookup.by_value))
        before = "text" if lookup.is_text else "booleans" if isinstance(example, bool) else "numbers"
        raise ValueError(
            f"{self.label} holds {_SHOWN[self.kind]} (for example {self.example}); its categories in training were "
            f"{before} (for example {shown(example)}). Convert the column to {before}."
        )

    def _finite_values(self) -> list[Any]:
        held = self.factor.held
        if self.kind == "number" and any(math.isinf(value) for value in held):
            raise ValueError(infinity_message(self.label))
        return held


def infinity_message(label: str) -> str:
    """The error for a column with an infinite number."""
    return f"{label} holds infinity. Replace it by a finite number, or by NaN if it stands for a missing value."


def _encoded(array: Any) -> Any:
    """An Arrow array as one dictionary array."""
    pa = arrow()

    if pa.types.is_dictionary(array.type):
        if isinstance(array, pa.Array) or array.num_chunks == 1:
            return _in_one(array)
        array = array.cast(array.type.value_type)  # each chunk may have its own dictionary
    if is_text(array.type) or pa.types.is_float16(array.type):
        # Arrow does not encode all its kinds of text, nor half-precision numbers.
        array = array.cast(pa.large_string() if is_text(array.type) else pa.float64())
    return _in_one(array.dictionary_encode())


def _in_one(array: Any) -> Any:
    pa = arrow()

    if isinstance(array, pa.Array):
        return array
    # Without chunks pyarrow makes an empty array from a list, which older versions cannot do for dictionaries.
    return array.combine_chunks() if array.num_chunks else pa.nulls(0, array.type)


# ---------------------------------------------------------------------------------------------------------------------
# Columns from arrays
# ---------------------------------------------------------------------------------------------------------------------


def arrow_column(label: str, array: Any) -> Column:
    """A column from an Arrow array of numbers, booleans, text or categories; other types get an error."""
    pa = arrow()

    is_declared = pa.types.is_dictionary(array.type)
    held = array.type.value_type if is_declared else array.type
    if is_date_type(held) and not is_declared:
        return Column(label, arrow_days(array), "date", is_zoned=getattr(held, "tz", None) is not None)
    kind = _kind(held)
    if kind:
        order = _order(label, array) if is_declared and array.type.ordered else None
        return Column(label, array, kind, is_declared, order=order)
    example = next((value.as_py() for value in array.slice(0, 1000) if value.is_valid), None)
    raise ValueError(_other_type(label, str(held), example))


def _kind(held: Any) -> str:
    """What values of a type of Arrow are to a column; "" where they are none of these."""
    pa = arrow()

    if pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held):
        return "number"
    if pa.types.is_boolean(held):
        return "bool"
    if is_text(held):
        return "text"
    return "nothing" if pa.types.is_null(held) else ""


def _order(label: str, array: Any) -> tuple[Any, ...]:
    """The categories of an ordered column, the lowest first; all parts of the column must have the same."""
    pa = arrow()

    chunks = [array] if isinstance(array, pa.Array) else array.chunks
    orders = [tuple(value for value in chunk.dictionary.to_pylist() if value is not None) for chunk in chunks]
    longest = max(orders, key=len, default=())
    if any(own != longest[: len(own)] for own in orders):
        raise ValueError(
            f"{label} has ordered categories in another order in some of its parts. Give all of them one order."
        )
    return longest


def is_text(held: Any) -> bool:
    """Whether a type of Arrow is one of text."""
    return str(held) in ("string", "large_string", "string_view")  # old versions have no test for the last


def array_column(label: str, values: NDArray[Any]) -> Column:
    """A column from a NumPy array; text and objects go through Arrow."""
    kind = values.dtype.kind
    if kind in "iu" or values.dtype.newbyteorder("=") == np.float32:
        return Column(label, values.astype(values.dtype.newbyteorder("="), copy=False), "number")
    if kind == "f":
        return Column(label, values.astype(np.float64, copy=False), "number")
    if kind == "b":
        return Column(label, values, "bool")
    if kind in "UT":
        return _object_column(label, values.astype(object))
    if kind == "O":
        return _object_column(label, values)
    if kind == "M":
        return Column(label, array_days(values), "date")
    if kind == "c":
        raise ValueError(f"Complex data not supported: {label}. Give real and imaginary parts a column each.")
    name = "bytes" if kind == "S" else str(values.dtype)
    raise ValueError(_other_type(label, name, values[0] if len(values) else None))


def _object_column(label: str, values: NDArray[Any]) -> Column:
    pa = arrow()

    try:
        array = pa.array(values, from_pandas=True)
        if pa.types.is_floating(array.type) and array.type != pa.float64():
            array = pa.array(values, pa.float64(), from_pandas=True)  # the type of one value must not round the others
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{label} holds text that is not valid Unicode: {shown(error.object)}. Correct it, or leave the row out."
        ) from error
    except (pa.ArrowException, OverflowError):
        floats, markers = _mixed_numbers(label, values)
        return Column(label, floats, "number", markers=markers)
    return arrow_column(label, array)


def _mixed_numbers(label: str, values: NDArray[Any]) -> tuple[Floats, tuple[str, ...]]:
    """Numbers of several types as float64, and the text among them that stands for a missing value.

    Other mixtures get an error that shows what is mixed.
    """
    texts: list[str] = []
    numbers: list[Any] = []
    markers = dict.fromkeys(value for value in values if isinstance(value, str) and value.strip() in MISSING)
    present = np.array(
        [not is_missing(value) and not (isinstance(value, str) and value in markers) for value in values]
    )
    for value in values[present]:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, complex | np.complexfloating):
            raise ValueError(f"Complex data not supported: {label} holds {shown(value)}.")
        elif isinstance(value, Number | np.bool_ | Decimal):
            numbers.append(value)
        else:
            # The words scikit-learn's checks look for.
            raise TypeError(
                f"{label} holds {shown(value)}, of type {type(value).__name__}; an argument must be a string, a "
                f"boolean or a number. {_OTHER_REMEDY}"
            )
    if texts and numbers:
        raise ValueError(
            f"{label} holds text (for example {shown(texts[0])}) and numbers (for example {shown(numbers[0])}). Make "
            "all of it numbers, with None or NaN where one is missing, or all of it text."
        )
    floats = np.full(len(values), np.nan)
    try:
        floats[present] = [float(value) for value in numbers]
    except OverflowError:
        raise ValueError(f"{label} holds a number beyond the range of float64. Rescale it.") from None
    return floats, tuple(markers)


def _other_type(label: str, kind: str, example: Any) -> str:
    instance = "" if example is None else f" (for example {shown(example)})"
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in kind), _OTHER_REMEDY)
    return f"{label} holds {kind}{instance}; numbers, text, booleans, dates and categories can be used. {remedy}"
