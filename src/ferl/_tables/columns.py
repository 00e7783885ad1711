"""One column of a table: read from any array, learned in training, and encoded as numbers or codes of categories."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ferl._tables.kinds import DATES, PLAIN_KINDS, UNKNOWN, ColumnKind, shown_kind
from ferl._tables.values import (
    MISSING,
    CategoryLookup,
    array_days,
    arrow_days,
    is_ambiguous,
    is_missing,
    settled_form,
    spelled_date,
    spelled_number,
)
from ferl._util.arrays import Floats, arrow
from ferl._util.text import listed, shown
from ferl._util.threads import in_order

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
IF_CATEGORIES = "If it holds categories, name it in categorical_features."
_FIRST_ROWS = 8  # enough for most columns of fractions
_CELLS = 1 << 15  # looked at together, so that they stay in the cache
_SHOWN_MARKERS = 3
LIKE_IDS = 0.99  # share of the rows that have another value than all others in a column of ids
LEAST_ROWS = 20  # with fewer, different values mean little
_LEAST_NUMBERS = 50  # with fewer, whole numbers of 20 ages or 40 lengths may differ by chance
# A number of visits and the width of a row are counts and measures: such words mean ids at the end only. PAID is no id.
_ID_NAMES = re.compile(r"(^|[^a-z])((id|ids|idx|uuid|serial)($|[^a-z])|(key|index|nr|no|number|row)$)|(^|[^A-Z])I[dD]$")
_TIMES = "year|month|week|day|hour|date|datetime|time|timestamp|age|rank"
_TIME_NAMES = re.compile(rf"(?i:(^|[^a-z])({_TIMES})s?($|[^a-z]))|[a-z]({_TIMES.title()})s?($|[^a-z])")


@dataclass(frozen=True)
class Factor:
    """A column as its distinct values and which of them each row holds.

    Attributes
    ----------
    values : list
        The values, and last None; None or NaN may be among the others too, and values that no row holds.
    codes : ndarray of shape (n_samples,), integers
        Each row's index in ``values``; the last index for a missing value.
    held : list
        Values that rows hold, without missing ones.
    """

    values: list[Any]
    codes: NDArray[Any]
    held: list[Any]

    def counts(self) -> NDArray[np.intp]:
        """How many rows hold each value."""
        return np.bincount(self.codes, minlength=len(self.values))


@dataclass(eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    label : str
        What errors call it.
    values : ndarray of shape (n_samples,), pyarrow.Array or pyarrow.ChunkedArray
        An ndarray holds numbers or booleans only; dates are days since the beginning of 1970.
    kind : {"number", "bool", "text", "date"}
        The type of the values; "number" where all of them are missing and the column has no other type.
    is_declared : bool, default=False
        Whether its type declares categories, whatever the type of these.
    order : tuple or None, default=None
        The categories from the lowest to the highest, where the type declares an order.
    is_zoned : bool, default=False
        Whether dates are moments in UTC.
    markers : tuple of str, default=()
        Text among the numbers that stood for a missing value.
    """

    label: str
    values: Any
    kind: str
    is_declared: bool = False
    order: tuple[Any, ...] | None = None
    is_zoned: bool = False
    markers: tuple[str, ...] = ()
    _factor: Factor | None = field(default=None, init=False, repr=False)
    _looked_up: tuple[CategoryLookup, Floats] | None = field(default=None, init=False, repr=False)

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
        if isinstance(self.values, np.ndarray) and self.kind == "bool":
            first = bool(self.values[:1].any())
            held = [value for value in (first, not first) if (self.values == value).any()]
            return Factor([False, True, None], self.values.view(np.uint8), held)
        pa = arrow()

        array = pa.array(self.values, from_pandas=True) if isinstance(self.values, np.ndarray) else self.values
        array = _dictionary_array(array)
        distinct = array.dictionary
        if self.kind in ("number", "date") and not pa.types.is_integer(distinct.type):
            distinct = distinct.cast(pa.float64())
        values, indices = distinct.to_pylist(), array.indices
        if indices.null_count:
            indices = indices.cast(pa.int64()).fill_null(len(values))
        codes = indices.to_numpy()
        rows_with = np.bincount(codes, minlength=len(values)).tolist() if self.is_declared else [1] * len(values)
        held = [value for value, n in zip(values, rows_with, strict=False) if n and not is_missing(value)]
        return Factor([*values, None], codes, held)

    @property
    def has_values(self) -> bool:
        """Whether any value is not missing."""
        if self.kind not in ("number", "date") or self.is_declared:
            return bool(self.factor.held)
        values = self.numbers()
        # Nearly always the first row has one.
        return len(values) > 0 and not (np.isnan(values[0]) and np.isnan(values).all())

    @property
    def example(self) -> str:
        """A value that a row holds, quoted."""
        return shown(self.factor.held[0])

    def numbers(self) -> NDArray[Any]:
        """The values in the type that NumPy holds them in, else as float64, NaN where they are missing."""
        if isinstance(self.values, np.ndarray):
            return self.values
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
        if self.kind == "text" or not held:  # without a value libraries differ in the type of such a column
            return np.array(sorted(set(held)), dtype=object)
        if self.kind == "bool":
            return np.array(sorted(set(held)), dtype=np.bool_)
        if not all(float(value).is_integer() for value in held):
            return np.array(sorted({float(value) for value in held}), dtype=np.float64)
        try:
            return np.array(sorted({int(value) for value in held}), dtype=np.int64)
        except OverflowError:
            raise ValueError(
                f"{self.label} holds a category of {shown(max(held, key=abs))}; integers that stand for categories "
                "have at most 18 digits. Pass them as text."
            ) from None

    def codes(self, lookup: CategoryLookup) -> Floats:
        """Each row's category as its index, ``n_categories`` for unseen ones, NaN where missing, shape (n_samples,)."""
        if not lookup.n_categories:
            return np.full(len(self.factor.codes), math.nan)
        indices = self._indices(lookup)
        codes: Floats = indices[self.factor.codes]
        if np.isinf(indices).any() and np.isinf(codes).any():
            raise ValueError(infinity_message(self.label))
        return codes

    def unseen(self, lookup: CategoryLookup) -> dict[Any, int]:
        """The number of rows with each value that is not among the categories."""
        counts = np.where(self._indices(lookup) == lookup.n_categories, self.factor.counts(), 0)
        counter: Counter[Any] = Counter()
        for index in np.flatnonzero(counts).tolist():
            counter[self.factor.values[index]] += int(counts[index])  # a dictionary may hold a value twice
        return counter

    def _indices(self, lookup: CategoryLookup) -> Floats:
        """The index of each distinct value's category, looked up once."""
        if self._looked_up is None or self._looked_up[0] is not lookup:
            self._looked_up = lookup, np.array([lookup.index(value) for value in self.factor.values], dtype=np.float64)
        return self._looked_up[1]

    def refuse_other_type(self, lookup: CategoryLookup) -> None:
        """Raise an error when no value can be among the categories, because only one of the two is text."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Columns from arrays
# ---------------------------------------------------------------------------------------------------------------------


def column_label(index: int, names: Sequence[str] | None) -> str:
    """What errors call a column."""
    return f"Feature {index}" if names is None else f"Column {names[index]!r}"


def arrow_column(label: str, array: Any) -> Column:
    """A column from an Arrow array of numbers, booleans, text, dates or categories; other types are an error."""
    pa = arrow()

    is_declared = pa.types.is_dictionary(array.type)
    held = array.type.value_type if is_declared else array.type
    if (pa.types.is_date(held) or pa.types.is_timestamp(held)) and not is_declared:
        return Column(label, arrow_days(array), "date", is_zoned=getattr(held, "tz", None) is not None)
    if pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held):
        kind = "number"
    elif pa.types.is_boolean(held):
        kind = "bool"
    elif is_text(held):
        kind = "text"
    elif pa.types.is_null(held):
        return Column(label, np.full(len(array), np.nan), "number", is_declared, order=_declared_order(label, array))
    else:
        example = next((value.as_py() for value in array.slice(0, 1000) if value.is_valid), None)
        raise _other_type(label, str(held), example)
    return Column(label, array, kind, is_declared, order=_declared_order(label, array))


def _declared_order(label: str, array: Any) -> tuple[Any, ...] | None:
    """The categories of an ordered column, the lowest first; all parts of the column must have the same."""
    pa = arrow()

    if not pa.types.is_dictionary(array.type) or not array.type.ordered:
        return None
    chunks = [array] if isinstance(array, pa.Array) else array.chunks
    orders = [tuple(value for value in chunk.dictionary.to_pylist() if value is not None) for chunk in chunks]
    longest = max(orders, key=len, default=())
    if any(order != longest[: len(order)] for order in orders):
        raise ValueError(
            f"{label} has ordered categories in another order in some of its parts. Give all of them one order."
        )
    return longest


def is_text(held: Any) -> bool:
    """Whether a type of Arrow is one of text."""
    return str(held) in ("string", "large_string", "string_view")  # old versions have no test for the last


def _dictionary_array(array: Any) -> Any:
    """An Arrow array as one dictionary array."""
    pa = arrow()

    if pa.types.is_dictionary(array.type):
        if isinstance(array, pa.Array) or array.num_chunks == 1:
            return _in_one(array)
        array = array.cast(array.type.value_type)  # each chunk may have another dictionary
    if is_text(array.type) or pa.types.is_float16(array.type):
        # Arrow does not encode all its types of text, nor half-precision numbers.
        array = array.cast(pa.large_string() if is_text(array.type) else pa.float64())
    return _in_one(array.dictionary_encode())


def _in_one(array: Any) -> Any:
    pa = arrow()

    if isinstance(array, pa.Array):
        return array
    # Without chunks pyarrow makes an empty array from a list, which older versions cannot do for dictionaries.
    return array.combine_chunks() if array.num_chunks else pa.nulls(0, array.type)


def array_column(label: str, values: NDArray[Any]) -> Column:
    """A column from a NumPy array; text and objects go through Arrow."""
    kind = values.dtype.kind
    if kind in "iuf":
        native = values.dtype.newbyteorder("=")
        return Column(
            label, values.astype(native if kind in "iu" or native == np.float32 else float, copy=False), "number"
        )
    if kind == "b":
        return Column(label, values, "bool")
    if kind in "UTO":
        return _object_column(label, values.astype(object, copy=False))
    if kind == "M":
        return Column(label, array_days(values), "date")
    if kind == "c":
        raise ValueError(f"Complex data not supported: {label}. Give real and imaginary parts a column each.")
    raise _other_type(label, "bytes" if kind == "S" else str(values.dtype), values[0] if len(values) else None)


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
        return _mixed_column(label, values)
    return arrow_column(label, array)


def pandas_column(label: str, series: Any) -> Column:
    if isinstance(series.dtype, np.dtype) or hasattr(series, "sparse"):
        return array_column(label, np.asarray(series))
    return _column_by_arrow(label, series, lambda: arrow().array(series, from_pandas=True))


def series_column(label: str, series: Any) -> Column:
    """A column of a frame of another library, as narwhals has it."""
    native = series.to_native()
    # Columns in NumPy's types (of modin, for example), sparse ones, and objects in polars.
    if isinstance(getattr(native, "dtype", None), np.dtype) or hasattr(native, "sparse") or series.dtype == nw.Object:
        return array_column(label, np.asarray(native))
    if series.dtype in (nw.Int128, nw.UInt128):  # Arrow lacks these types
        series = series.cast(nw.Float64)
        native = series.to_native()
    if series.implementation.is_pyarrow():
        return arrow_column(label, native)  # in chunks: together they may be too long for one array
    # polars panics at names with a NUL in them
    return _column_by_arrow(label, native, series.alias("").to_arrow)


def _column_by_arrow(label: str, native: Any, to_arrow: Callable[[], Any]) -> Column:
    try:
        array = to_arrow()
    except (ValueError, TypeError, NotImplementedError):
        # Arrow's errors, by their Python types. A look at each value finds the one that is wrong.
        return array_column(label, np.asarray(native, dtype=object))
    return arrow_column(label, array)


def _mixed_column(label: str, values: NDArray[Any]) -> Column:
    """Numbers of several types as float64, with the text among them that stands for a missing value.

    Other mixtures are an error that shows what is mixed.
    """
    markers = dict.fromkeys(value for value in values if isinstance(value, str) and value.strip() in MISSING)
    present = [not is_missing(value) and not (isinstance(value, str) and value in markers) for value in values]
    texts: list[str] = []
    numbers: list[Any] = []
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
    return Column(label, floats, "number", markers=tuple(markers))


def _other_type(label: str, kind: str, example: Any) -> ValueError:
    instance = "" if example is None else f" (for example {shown(example)})"
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in kind), _OTHER_REMEDY)
    return ValueError(
        f"{label} holds {kind}{instance}; numbers, text, booleans, dates and categories can be used. {remedy}"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Kinds of columns by their values
# ---------------------------------------------------------------------------------------------------------------------


def number_kinds(block: NDArray[Any]) -> list[str]:
    """The narrowest kind of numbers that holds each column, shape (n_samples, n_columns); NaN is of every kind."""
    kinds = np.full(block.shape[1], "real", dtype=object)
    whole = _columns_without(block, np.arange(block.shape[1]), lambda part: part - np.floor(part))
    kinds[whole] = "integer"
    kinds[_columns_without(block, whole, lambda part: part * part - part)] = "binary"
    return list(kinds)


def _columns_without(
    block: NDArray[Any], columns: NDArray[np.intp], excess: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[np.intp]:
    """Those of some columns in which nothing exceeds zero; NaN does not."""
    if block.dtype.kind in "iub":
        block = block.astype(np.float64, copy=False)
    first, n_rows = 0, _FIRST_ROWS
    while first < len(block) and len(columns):
        part = block[first : first + n_rows]
        part = part if len(columns) == block.shape[1] else part[:, columns]
        with np.errstate(invalid="ignore", over="ignore"):  # infinity is refused elsewhere
            columns = columns[~(excess(part) > 0).any(axis=0)]
        first, n_rows = first + n_rows, max(_CELLS // max(len(columns), 1), _FIRST_ROWS)
    return columns


def recognise(label: str, texts: Sequence[str], kind: ColumnKind = UNKNOWN) -> tuple[ColumnKind, str, str]:
    """The kind of a column of text: numbers, dates, or the text itself, "category".

    Numbers are recognised beside a marker of a missing value only: a reader of files makes text of a column of numbers
    because of the marker, and a column that is text without one was meant to be text, as postal codes are.

    Parameters
    ----------
    label : str
        What warnings call the column.
    texts : sequence of str
        The distinct texts.
    kind : ColumnKind, default=UNKNOWN
        What is known of the column; warnings leave out markers of missing values that it has.

    Returns
    -------
    kind : ColumnKind
    fact, remedy : str
        What the user should be warned of; "" where there is nothing.

    Examples
    --------
    >>> recognise("Column 'age'", ["17", "?", "42"])[0].name, recognise("Column 'zip'", ["0117", "9042"])[0].name
    ('integer', 'category')
    >>> recognise("Column 'day'", ["2019-03-01", "2019-04-01"])[0].name
    'date'
    >>> recognise("Column 'day'", ["13.01.2019", "02.01.2019"])[0].date_form
    'd.m.y'
    """
    category = replace(kind, name="category")
    markers = [text for text in texts if text.strip() in MISSING or text.strip() in kind.missing]
    others = [text for text in texts if text not in markers]
    if not others:
        return category, "", ""
    missing = tuple(dict.fromkeys((*kind.missing, *markers)))
    unknown = [shown(text) for text in markers if text.strip() not in kind.missing][:_SHOWN_MARKERS]
    stand = f", with {listed(unknown)} for missing values" if unknown else ""
    numbers = [spelled_number(text) for text in others]
    if markers and all(number is not None and math.isfinite(number) for number in numbers):
        [name] = number_kinds(np.array(numbers, dtype=np.float64)[:, None])
        fact = f"{label} holds numbers as text{stand}, and is taken as numbers." if unknown else ""
        return replace(kind, name=name, missing=missing), fact, IF_CATEGORIES
    date_form = settled_form(others)
    dates = [date for text in others if (date := spelled_date(text, date_form)) is not None]
    if len(dates) == len(others):
        zoned = {is_zoned for _, _, is_zoned in dates}
        if len(zoned) > 1:
            fact = f"{label} holds dates, some with a time zone and some without, and is taken as categories."
            return category, fact, "Give all of them a time zone, or none."
        is_zoned = zoned == {True}
        name = "date" if not is_zoned and all(days.is_integer() for days, _, _ in dates) else "time"
        order = f", the {'day' if date_form[0] == 'd' else 'month'} first" if date_form else ""
        fact = f"{label} holds dates as text{order}{stand}, and is taken as dates."
        return replace(kind, name=name, is_zoned=is_zoned, missing=missing, date_form=date_form), fact, IF_CATEGORIES
    if all(map(is_ambiguous, others)):
        fact = f"{label} holds text such as {shown(others[0])}, a date whose day and month can be confused"
        remedy = "Write dates as 2019-03-01, or turn the column into dates first."
        return category, f"{fact}, and is taken as categories.", remedy
    return category, "", ""


# ---------------------------------------------------------------------------------------------------------------------
# Columns as a model reads them
# ---------------------------------------------------------------------------------------------------------------------


def learn_columns(
    columns: Sequence[Column], column_kinds: Sequence[ColumnKind], choice: NDArray[np.bool_] | None, n_threads: int
) -> tuple[tuple[NDArray[Any] | None, ...], tuple[ColumnKind, ...]]:
    """Categories and kinds of columns, as :func:`learn_column` finds them.

    Parameters
    ----------
    columns : sequence of Column
        The columns of a training table.
    column_kinds : sequence of ColumnKind
        How people describe them.
    choice : ndarray of shape (n_features,), bool, or None
        Which of them the user chose as categories; the types of the others decide. None: no column holds categories.
    n_threads : int
        Number of threads.

    Returns
    -------
    categories : tuple of (ndarray or None)
    kinds : tuple of ColumnKind
    """

    def learn(j: int) -> tuple[NDArray[Any] | None, ColumnKind]:
        by_type = choice is not None and not choice[j]
        return learn_column(
            columns[j], column_kinds[j], columns[j].is_category if by_type else choice is not None, by_type
        )

    categories, kinds = zip(*in_order(learn, range(len(columns)), n_threads), strict=True)
    return categories, kinds


def learn_column(
    column: Column, column_kind: ColumnKind, is_category: bool, by_type: bool
) -> tuple[NDArray[Any] | None, ColumnKind]:
    """The categories of a column, None where it holds numbers, and its kind.

    Parameters
    ----------
    column : Column
        The column.
    column_kind : ColumnKind
        How people describe it.
    is_category : bool
        Whether it holds categories.
    by_type : bool
        Whether its type decides that, and not the user.

    Returns
    -------
    ndarray or None, ColumnKind
    """
    if column.kind == "date":
        if is_category:
            raise ValueError(
                f"{column.label} holds dates, which are numbers to a model. Leave it out of categorical_features, or "
                "turn it into text."
            )
        is_day = not column.is_zoned and number_kinds(column.numbers()[:, None])[0] != "real"
        return None, replace(
            column_kind.described("date" if is_day else "time", column.label), is_zoned=column.is_zoned
        )
    if column.order is not None and not column_kind.order and (by_type or not is_category):
        return None, replace(column_kind, name="ordered", order=column.order)
    if is_category or column.kind == "text":
        if column_kind.order:
            return None, _ordered_as_described(column, replace(column_kind, name="ordered"))
        known = column.categories()
        # Text that the user did not choose as a category may turn out to spell numbers or dates.
        if column.kind == "text" and (not is_category or (by_type and not column.is_declared)):
            return known, replace(column_kind, name="text" if by_type else "other text")
        if column.kind == "text":
            known = without_markers(known, column_kind)
        return known, replace(column_kind, name="category")
    name = number_kinds(column.numbers()[:, None])[0]
    kind = PLAIN_KINDS[name] if column_kind is UNKNOWN else column_kind.described(name, column.label)
    return None, replace(
        kind, missing=tuple(dict.fromkeys((*kind.missing, *column.markers)))
    ) if column.markers else kind


def without_markers(categories: NDArray[Any], kind: ColumnKind) -> NDArray[Any]:
    """Categories of text without markers of missing values."""
    if not kind.missing:
        return categories
    return np.array([category for category in categories if category.strip() not in kind.missing], dtype=object)


def _ordered_as_described(column: Column, kind: ColumnKind) -> ColumnKind:
    unknown = [value for value in column.factor.held if kind.lookup.index(value) == len(kind.order)]
    if unknown:
        raise ValueError(
            f"{column.label} holds {shown(unknown[0])}, which its order {shown(list(kind.order))} does not have. Add "
            "it to the order, or to the markers of missing values."
        )
    return kind


def encode_columns(
    columns: Sequence[Column],
    kinds: Sequence[ColumnKind],
    lookups: Sequence[CategoryLookup | None],
    out: Floats,
    n_threads: int,
) -> None:
    """Write columns into ``out``, shape (n_samples, n_features), as :func:`encode_column` encodes them."""

    def fill(j: int) -> None:
        column = out[:, j]
        column[:] = encode_column(columns[j], kinds[j], lookups[j])
        if lookups[j] is None and holds_infinity(column):  # while it is in the cache
            raise ValueError(infinity_message(columns[j].label))

    for _ in in_order(fill, range(len(columns)), n_threads):
        pass


def holds_infinity(numbers: Floats) -> bool:
    """Whether any number is infinite."""
    # A sum is finite unless a number is not, or the numbers are huge: one pass, and rarely a second.
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = math.isfinite(float(numbers.sum()))
    return not is_finite and bool(np.isinf(numbers).any())


def encode_column(column: Column, kind: ColumnKind, lookup: CategoryLookup | None) -> NDArray[Any] | float:
    """A column in terms of one of training.

    Parameters
    ----------
    column : Column
        The column.
    kind : ColumnKind
        That of the column in training.
    lookup : CategoryLookup or None
        The categories in training; None for numbers, dates and ordered categories.

    Returns
    -------
    ndarray of shape (n_samples,) or float
        Numbers, days since the beginning of 1970, or indices of categories; one number: the value of all rows.
    """
    if lookup is not None:
        column.refuse_other_type(lookup)
        return column.codes(lookup)
    if kind.name == "ordered":
        if column.kind == "date" and kind.order:
            raise ValueError(f"{column.label} holds dates; in training it held ordered categories. Convert it.")
        column.refuse_other_type(kind.lookup)
        codes = column.codes(kind.lookup)
        return np.where(codes == len(kind.order), math.nan, codes)
    if kind.name in DATES:
        return _days(column, kind)
    if column.kind == "date":
        raise ValueError(f"{column.label} holds dates; in training it held numbers. Convert it to numbers.")
    if column.kind != "text":
        return column.numbers()
    if not column.factor.held:
        return math.nan
    # Text without a marker of missing values is a column of numbers only where training had markers: otherwise the
    # user has made text of numbers by accident.
    markers = {*MISSING, *kind.missing}
    values = [
        math.nan if text is None or text.strip() in markers else spelled_number(text) for text in column.factor.values
    ]
    if None not in values and (kind.missing or any(text.strip() in markers for text in column.factor.held)):
        return np.asarray(np.array(values, dtype=np.float64)[column.factor.codes])
    raise ValueError(
        f"{column.label} holds text (for example {column.example}); in training it held numbers. Convert it to "
        "numbers. (NumPy makes text of all values of an array when one of them is text: pass a data frame, a list of "
        "rows, or an array of dtype object.)"
    )


def _days(column: Column, kind: ColumnKind) -> Floats | float:
    """The dates of a column as days since the beginning of 1970."""
    if not column.has_values:
        return math.nan
    if column.kind == "date":
        if column.is_zoned != kind.is_zoned:
            raise _other_zone(column.label, kind)
        return column.numbers()
    if column.kind != "text":
        raise ValueError(
            f"{column.label} holds numbers (for example {column.example}); in training it held {shown_kind(kind)}. "
            "Pass dates."
        )
    days = []
    for text in column.factor.values:
        if text is None or text.strip() in MISSING or text.strip() in kind.missing:
            days.append(math.nan)
            continue
        date = spelled_date(text, kind.date_form)
        if date is None:
            form = kind.date_form.replace("d", "31").replace("m", "12").replace("y", "2019")
            other = f", or {form} as in training" if form else ""
            raise ValueError(
                f"{column.label} holds {shown(text)}; in training it held {shown_kind(kind)}. Write dates as "
                f"2019-03-01 or 2019-03-01 12:30{other}, or turn the column into dates first."
            )
        if date[2] != kind.is_zoned:
            raise _other_zone(column.label, kind)
        days.append(date[0])
    return np.asarray(np.array(days)[column.factor.codes])


def _other_zone(label: str, kind: ColumnKind) -> ValueError:
    """The error where dates of only one of two tables have a time zone."""
    if kind.is_zoned:
        return ValueError(
            f"{label} holds dates without a time zone; in training they had one. Add it: column.dt.tz_localize in "
            "pandas, 2019-03-01T12:30+01:00 in text."
        )
    return ValueError(
        f"{label} holds dates with a time zone; in training they had none. Turn them into the local time of training: "
        "column.dt.tz_localize(None) in pandas."
    )


# ---------------------------------------------------------------------------------------------------------------------
# Columns that name rows instead of describing them
# ---------------------------------------------------------------------------------------------------------------------


def are_ids(n_distinct: int, n_rows: int) -> bool:
    """Whether a column of categories has a different one in nearly every row, by the numbers of both."""
    return n_rows >= LEAST_ROWS and n_distinct >= LIKE_IDS * n_rows


def are_running_numbers(values: Floats, name: str) -> bool:
    """Whether a column of numbers has another whole number in nearly every row, as ids have.

    Counts and prices may differ in every row too. So either the name must be typical of an id, or there must be many
    numbers that lie close together, as consecutive ids do. Years, ages and ranks may lie close together too; their
    names show that they are no ids.

    Parameters
    ----------
    values : ndarray of shape (n_known,)
        The numbers, none of them missing.
    name : str
        Name of the column; "" where it has none.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.columns import are_running_numbers
    >>> running, prices = np.arange(60.0), 100.0 * np.arange(60) ** 2
    >>> [are_running_numbers(running, name) for name in ("x", "year")]
    [True, False]
    >>> [are_running_numbers(prices, name) for name in ("price", "customer_id")]
    [False, True]
    """
    is_named = bool(_ID_NAMES.search(name))
    if len(values) < (LEAST_ROWS if is_named else _LEAST_NUMBERS) or (not is_named and _TIME_NAMES.search(name)):
        return False
    apart = float(values.max() - values.min())
    # The cheap test comes first: most columns of whole numbers repeat a few of them.
    if apart + 1 < LIKE_IDS * len(values) or not (apart < 2 * len(values) or is_named):
        return False
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) >= LIKE_IDS * len(values)
