"""Single values in whatever type and spelling they come: missing ones, numbers, dates, categories."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats, arrow
from ferl._util.text import number_text

MISSING = ("", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "?", "-", ".")
"""Text that stands for a missing value where all other text of a column spells numbers or dates."""
DAY = 86_400_000_000
"""Microseconds of a day."""
DATE_FORMS = tuple(f"{first}{separator}{second}{separator}y" for first, second in ("dm", "md") for separator in "./-")
"""Forms of dates besides ISO's: whether day or month comes first, and the separator."""
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
_MOST_DAYS = 1e8  # NumPy's dates end there
_ISO = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_AMBIGUOUS = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[T ].*)?")
_NUMERIC = re.compile(r"(\d{1,2})(?P<separator>[./-])(\d{1,2})(?P=separator)(?P<year>\d{4})(?P<time>[T ].*)?")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or one of pandas' missing values."""
    # pandas.NA cannot be compared, so the name of its type identifies it.
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def plain_text(value: Any) -> str:
    """A value as Arrow writes it: true, 3 for 3.0, and text unchanged."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def spelled_number(text: str) -> float | None:
    """The number that a text spells: NaN for blank text, None for other text."""
    if not text.strip():
        return math.nan
    try:
        return None if "_" in text else float(text)  # Python accepts 1_000
    except ValueError:
        return None


# ---------------------------------------------------------------------------------------------------------------------
# Categories
# ---------------------------------------------------------------------------------------------------------------------


class CategoryLookup:
    """Finds the category of a feature that a value is, in whatever type and spelling it comes.

    A value that equals a category is this category, as Python compares: True, 1 and 1.0 are one. Programs also write 3
    as 3.0 when a value is missing further down, drop leading zeros, and spell booleans in several ways. So where every
    category is a number or spells one, another value is the category of the same number, if there is one alone.

    Parameters
    ----------
    categories : ndarray of shape (n_categories,)
        The categories: text (as objects), bool, int or float.
    missing : sequence of str, default=()
        Text that stands for a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.values import CategoryLookup
    >>> lookup = CategoryLookup(np.array([3, 17]))
    >>> [lookup.index(value) for value in (3, 3.0, "3.0", "017", 4, "x", None, float("nan"))]
    [0, 0, 0, 1, 2, 2, nan, nan]
    """

    def __init__(self, categories: NDArray[Any], missing: Sequence[str] = ()) -> None:
        self.n_categories = len(categories)
        self.missing = frozenset(missing)
        self.is_text = categories.dtype.kind in "OUT"
        values = categories.tolist()
        self.by_value: dict[Any, int] = {value: index for index, value in enumerate(values)}
        self._by_number: dict[Any, int | None] = {}
        numbers = [_number_of(value) for value in values]
        if all(number is not None and math.isfinite(number) for number in numbers):
            for keys in (numbers, map(_shortest, numbers)):
                result: dict[Any, int | None] = {}
                for index, key in enumerate(keys):
                    result[key] = None if key in result else index  # two categories spell this number: neither is meant
                self._by_number = result | self._by_number

    def index(self, value: Any) -> float:
        """The index of a value's category, or ``n_categories`` for an unseen category.

        NaN where the value is missing; infinity where it is infinite and categories are numbers.
        """
        index: float | None = self.by_value.get(value)
        if index is None:
            is_text = isinstance(value, str)
            if value.strip() in self.missing if is_text else is_missing(value):
                return math.nan
            index = self._index_by_spelling(value, is_text)
        return self.n_categories if index is None else index

    def _index_by_spelling(self, value: Any, is_text: bool) -> float | None:
        if is_text and not self._by_number:
            return None
        if self.is_text and not is_text:
            for text in (plain_text(value), str(value)):
                if text in self.by_value:
                    return self.by_value[text]
        number = _number_of(value)
        if number is None:
            return None
        if not math.isfinite(number) and self._by_number:
            return float(number)
        return self._by_number[number] if number in self._by_number else self._by_number.get(_shortest(number))

    def can_be(self, value: Any) -> bool:
        """Whether a value has the same type as the categories, even if it is not among them."""
        if isinstance(value, str) == self.is_text or not self.n_categories:
            return True
        if self.is_text:
            return bool(self._by_number) or self.index(value) < self.n_categories
        return _number_of(value) is not None


def _number_of(value: Any) -> Any:
    """The number or boolean that a value is or spells, else None."""
    if not isinstance(value, str):
        return value
    try:
        return None if "_" in value else int(value)  # exact, where a double would be rounded
    except ValueError:
        pass
    spelled = value.strip().lower()
    return spelled == "true" if spelled in ("true", "false") else spelled_number(value)


def _shortest(number: Any) -> Any:
    """The shortest number that single precision rounds to this one: 0.1 for what a column of float32 makes of 0.1."""
    if not isinstance(number, float) or not math.isfinite(number) or abs(number) > _LARGEST_SINGLE:
        return number
    single = np.float32(number)
    return float(str(single)) if float(single) == number else number


# ---------------------------------------------------------------------------------------------------------------------
# Dates as days since the beginning of 1970
# ---------------------------------------------------------------------------------------------------------------------


def is_ambiguous(text: str) -> bool:
    """Whether a text looks like a date whose day and month could be confused: 03/04/2019."""
    return _AMBIGUOUS.fullmatch(text.strip()) is not None


def settled_form(texts: Sequence[str]) -> str:
    """The form that the dates of a column have, where it is the only one that makes dates of all of them; else "".

    A value above 12 is no month: one is enough to settle the order of day and month for the whole column. Years of two
    digits settle nothing.

    Examples
    --------
    >>> settled_form(["03.04.2019", "13.01.2019"]), settled_form(["1/13/2019"]), settled_form(["03/04/2019"])
    ('d.m.y', 'm/d/y', '')
    """
    fitting = list(DATE_FORMS)
    for text in texts:
        if spelled_date(text) is None:  # ISO's form is not among these, and decides nothing
            fitting = [form for form in fitting if spelled_date(text, form) is not None]
            if not fitting:
                break
    return fitting[0] if len(fitting) == 1 else ""


def spelled_date(text: str, date_form: str = "") -> tuple[float, bool, bool] | None:
    """The days that a text spells, whether it has a time of day, and whether it has a time zone.

    None for text that has neither ISO's form nor the given one of ``DATE_FORMS``. A time with a zone is turned into
    UTC.

    Examples
    --------
    >>> spelled_date("1970-01-02"), spelled_date("1970-01-02T12:00+12:00"), spelled_date("2/1/1970")
    ((1.0, False, False), (1.0, True, True), None)
    >>> spelled_date("2/1/1970", "d/m/y"), spelled_date("2/1/1970", "d.m.y")
    ((1.0, False, False), None)
    """
    text = text.strip()
    numeric = _NUMERIC.fullmatch(text) if date_form else None
    if numeric is not None and numeric["separator"] == date_form[1]:
        parts = {date_form[0]: numeric[1], date_form[2]: numeric[3]}
        text = f"{numeric['year']}-{parts['m']:0>2}-{parts['d']:0>2}{numeric['time'] or ''}".strip()
    form = _ISO.fullmatch(text)
    if form is None:
        return None
    time, point, fraction = (form["time"] or "00:00").partition(".")
    fraction = f"{point}{fraction[:6]:0<6}" if point else ""  # Python reads six digits of a second
    zone = (form["zone"] or "").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{form['day']}T{time}{fraction}{zone}")
    except ValueError:
        return None
    apart = moment - datetime(1970, 1, 1, tzinfo=UTC if zone else None)
    days = (apart.days * DAY + apart.seconds * 1_000_000 + apart.microseconds) / DAY
    return days, form["time"] is not None, bool(zone)


def array_days(values: NDArray[Any]) -> Floats:
    """NumPy's dates as days, NaN where they are missing."""
    whole = values.astype("datetime64[D]")
    days = whole.astype(np.int64).astype(np.float64)
    if np.datetime_data(values.dtype)[0] not in ("Y", "M", "W", "D"):
        days += (values - whole).astype("timedelta64[ns]").astype(np.int64) / (1000 * DAY)
    return np.where(np.isnat(values), np.nan, days)


def arrow_days(array: Any) -> Floats:
    """Dates of Arrow as days, NaN where they are missing; those with a time zone in UTC."""
    pa = arrow()

    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    elif array.type.tz is not None:
        array = array.cast(pa.timestamp(array.type.unit))  # the same moments in UTC
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    result = [array_days(chunk.to_numpy(zero_copy_only=False)) for chunk in chunks]
    return np.concatenate(result) if result else np.zeros(0)


def date_text(days: float, is_zoned: bool = False) -> str:
    """Days since the beginning of 1970 as a date, with as much of the time of day as there is.

    Examples
    --------
    >>> date_text(17956.0), date_text(17956.25), date_text(17956.25, is_zoned=True)
    ('2019-03-01', '2019-03-01 06:00', '2019-03-01 06:00 UTC')
    """
    if not math.isfinite(days) or abs(days) > _MOST_DAYS:
        return f"{number_text(float(days))} days after 1970-01-01"
    whole, rest = divmod(round((days - math.floor(days)) * DAY), DAY)
    seconds, micro = divmod(rest, 1_000_000)
    time = f" {seconds // 3600:02d}:{seconds // 60 % 60:02d}" if rest else ""
    if micro:
        time += f":{seconds % 60:02d}.{micro:06d}".rstrip("0")
    elif seconds % 60:
        time += f":{seconds % 60:02d}"
    return f"{np.datetime64(math.floor(days) + whole, 'D')}{time}{' UTC' if is_zoned else ''}"


def rounded_text(days: float, distance: float, is_zoned: bool = False) -> str:
    """A date with the parts that distinguish it from others at this distance in days: a day, a minute, or all of it."""
    for step in (1.0, 1 / 1440, 1 / 86_400):
        if distance >= 2 * step:
            days = round(days / step) * step
            return date_text(round(days) if step == 1.0 else days, is_zoned)
    return date_text(days, is_zoned)


def finer_steps() -> tuple[float, ...]:
    """Steps that dates are rounded to, in days, the largest first: a day, an hour, a minute, a second."""
    return 1.0, 1 / 24, 1 / 1440, 1 / 86_400


FORMULA_STARTS = tuple("=+-@\t\r")  # what makes a formula of a field in a spreadsheet


def harmless_text(text: str) -> str:
    """A text with an apostrophe before it where a spreadsheet would take it for a formula; numbers stay as they are.

    Examples
    --------
    >>> [harmless_text(text) for text in ("=1+2", "@now", "-3.5", "-cmd", "plain")]
    ["'=1+2", "'@now", '-3.5', "'-cmd", 'plain']
    """
    return f"'{text}" if text[:1] in FORMULA_STARTS and spelled_number(text) is None else text
