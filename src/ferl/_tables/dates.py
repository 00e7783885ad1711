"""Dates and times as numbers: days since the beginning of 1970, and back as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats, arrow
from ferl._util.text import number_text

DAY = 86_400_000_000
"""Microseconds of a day."""
_MOST_DAYS = 1e8  # beyond, NumPy's dates come to an end
_ISO = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_AMBIGUOUS = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[T ].*)?")
_NUMERIC = re.compile(r"(\d{1,2})(?P<separator>[./-])(\d{1,2})(?P=separator)(?P<year>\d{4})(?P<time>[T ].*)?")
DATE_FORMS = tuple(f"{first}{separator}{second}{separator}y" for first, second in ("dm", "md") for separator in "./-")
"""Forms of dates besides ISO's: which of day and month comes first, and what stands between them."""


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
    fitting = [form for form in DATE_FORMS if all(spelled_date(text, form) is not None for text in texts)]
    return fitting[0] if texts and len(fitting) == 1 else ""


def _in_iso(text: str, form: str) -> str:
    """A date in one of the ``DATE_FORMS`` as ISO writes it; other text as it is."""
    found = _NUMERIC.fullmatch(text.strip())
    if not form or found is None or found["separator"] != form[1]:
        return text
    parts = dict(zip((form[0], form[2]), (found[1], found[3]), strict=True))
    return f"{found['year']}-{parts['m']:0>2}-{parts['d']:0>2}{found['time'] or ''}"


def spelled_date(text: str, date_form: str = "") -> tuple[float, bool, bool] | None:
    """The days that a text spells, whether it has a time of day, and whether it has a time zone.

    None for text that has neither ISO's form nor the other one, of ``DATE_FORMS``, that is given. A time with a zone
    is turned into UTC.

    Examples
    --------
    >>> spelled_date("1970-01-02"), spelled_date("1970-01-02T12:00+12:00"), spelled_date("2/1/1970")
    ((1.0, False, False), (1.0, True, True), None)
    >>> spelled_date("2/1/1970", "d/m/y"), spelled_date("2/1/1970", "d.m.y")
    ((1.0, False, False), None)
    """
    form = _ISO.fullmatch(_in_iso(text, date_form).strip())
    if form is None:
        return None
    try:
        if form["time"] is None:
            return float((datetime.fromisoformat(form["day"]) - datetime(1970, 1, 1)).days), False, False
        time, point, fraction = form["time"].partition(".")
        fraction = f"{point}{fraction[:6]:0<6}" if point else ""  # Python reads six digits of a second
        zone = (form["zone"] or "").replace("Z", "+00:00")
        moment = datetime.fromisoformat(f"{form['day']}T{time}{fraction}{zone}")
    except ValueError:
        return None
    is_zoned = moment.tzinfo is not None
    return days_of(moment), True, is_zoned


def days_of(moment: datetime) -> float:
    """A moment as days since the beginning of 1970, in UTC where it has a time zone."""
    beginning = datetime(1970, 1, 1, tzinfo=None if moment.tzinfo is None else UTC)
    apart = moment - beginning
    return (apart.days * DAY + apart.seconds * 1_000_000 + apart.microseconds) / DAY


def array_days(values: NDArray[Any]) -> Floats:
    """NumPy's dates as days, NaN where they are missing."""
    resolution = np.datetime_data(values.dtype)[0]
    if resolution in ("Y", "M", "W", "D"):
        days = values.astype("datetime64[D]").astype(np.int64).astype(np.float64)
    else:
        whole = values.astype("datetime64[D]")
        rest = (values - whole).astype("timedelta64[ns]").astype(np.int64)
        days = whole.astype(np.int64) + rest / (1000 * DAY)
    return np.where(np.isnat(values), np.nan, days)


def arrow_days(array: Any) -> Floats:
    """Dates of Arrow as days, NaN where they are missing; those with a time zone in UTC."""
    pa = arrow()

    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    elif array.type.tz is not None:
        array = array.cast(pa.timestamp(array.type.unit))  # the moment stays, the name of the zone goes
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    found = [array_days(chunk.to_numpy(zero_copy_only=False)) for chunk in chunks]
    return np.concatenate(found) if found else np.zeros(0)


def is_date_type(held: Any) -> bool:
    """Whether a type of Arrow is one of dates, or of dates with a time of day."""
    pa = arrow()

    return bool(pa.types.is_date(held) or pa.types.is_timestamp(held))


def date_text(days: float, is_zoned: bool = False) -> str:
    """Days since the beginning of 1970 as a date, with as much of the time of day as there is.

    Examples
    --------
    >>> date_text(17956.0), date_text(17956.25), date_text(17956.25, is_zoned=True)
    ('2019-03-01', '2019-03-01 06:00', '2019-03-01 06:00 UTC')
    """
    if not math.isfinite(days) or abs(days) > _MOST_DAYS:
        return f"{number_text(float(days))} days after 1970-01-01"
    whole = math.floor(days)
    rest = round((days - whole) * DAY)
    whole, rest = (whole + 1, 0) if rest == DAY else (whole, rest)
    seconds, micro = divmod(rest, 1_000_000)
    time = f" {seconds // 3600:02d}:{seconds // 60 % 60:02d}" if rest else ""
    if micro:
        time += f":{seconds % 60:02d}.{micro:06d}".rstrip("0")
    elif seconds % 60:
        time += f":{seconds % 60:02d}"
    return f"{np.datetime64(whole, 'D')}{time}{' UTC' if is_zoned else ''}"


def rounded_text(days: float, distance: float, is_zoned: bool = False) -> str:
    """A date with the parts that tell it from others at this distance in days: a day, a minute, or all of it."""
    for step in (1.0, 1 / 1440, 1 / 86_400):
        if distance >= 2 * step:
            days = round(days / step) * step
            return date_text(round(days) if step == 1.0 else days, is_zoned)
    return date_text(days, is_zoned)


def finer_steps() -> Iterable[float]:
    """Steps that dates are rounded to, in days, the largest first: a day, an hour, a minute, a second."""
    return 1.0, 1 / 24, 1 / 1440, 1 / 86_400
