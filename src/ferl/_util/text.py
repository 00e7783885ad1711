"""Text of others in lines of ours: names, labels, and values that an error quotes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any
from unicodedata import bidirectional

import numpy as np


def shown(value: object, nested: bool = False) -> str:
    """A value as an error quotes it: short, whatever a file holds, so that nothing deep or endless is unfolded."""
    if isinstance(value, dict | list) and value and nested:
        return "..."
    if isinstance(value, dict):
        entries = [f"{shown(key, True)}: {shown(entry, True)}" for key, entry in islice(value.items(), 4)]
        return "{" + ", ".join(entries + ["..."] * (len(value) > 4)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([shown(entry, True) for entry in value[:4]] + ["..."] * (len(value) > 4)) + "]"
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:50]}..."


def one_line(text: str) -> str:
    r"""A text without what would break a line, or give orders to a terminal.

    Examples
    --------
    >>> one_line("two\nlines  \x1b[31m")
    'two lines [31m'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def category_text(category: Any) -> str:
    """A category as rules say it; quoted where a reader could not see it."""
    text = str(category)
    return text if text.strip() and text.isprintable() else repr(text)


MAX_LETTERS = 60  # of a name or a label


def spoken(value: Any) -> str:
    """A name, label or category without what would break a line, shortened where it is very long.

    Examples
    --------
    >>> from ferl._util.text import spoken
    >>> spoken("two" + chr(10) + "lines"), spoken("x" * 80)[-4:]
    ('two lines', 'xxx…')
    """
    text = str(value)
    line = one_line(text) or repr(text)
    return cut(line, MAX_LETTERS)


DIGITS = 4  # significant ones of a number in a sentence
LONG = 1e15  # from here on numbers are told by their power of ten


def number_text(value: float) -> str:
    """A number as a reader wants it: up to four significant digits, and all digits of whole numbers.

    Examples
    --------
    >>> number_text(71.2833), number_text(4.3000001), number_text(0.0), number_text(123456.7)
    ('71.28', '4.3', '0', '123457')
    """
    if not math.isfinite(value) or abs(value) >= LONG:
        return f"{value:.{DIGITS}g}"
    whole = value == math.floor(value) or abs(value) >= 10 ** (DIGITS - 1)
    return f"{value + 0.0:.0f}" if whole else f"{value:.{DIGITS}g}"  # adding makes 0 of -0


def support_text(weight: float) -> str:
    """A training weight: one decimal, none from a thousand on."""
    return f"{weight:.1f}" if weight < 10 ** (DIGITS - 1) else f"{weight:.0f}"


def exact_text(value: float) -> str:
    """A number with all the digits that tell it from its neighbours."""
    return f"{value + 0.0:.0f}" if value == math.floor(value) and abs(value) < 1e15 else repr(value)


def value_text(value: Any) -> str:
    """A feature's value: a number, a category, or that it is missing."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return number_text(value)
    return spoken(value)


def share_text(value: float) -> str:
    """A share of one: two decimals, and more only where two would say 0 or 1 of what is neither."""
    if 0 < value < 0.005:
        return "below 0.01"
    return "above 0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def percent_text(value: float) -> str:
    """A share of one in percent; 0 and 100 only of what is 0 or 1.

    Examples
    --------
    >>> percent_text(0.234), percent_text(0.999), percent_text(1.0)
    ('23 %', 'above 99 %', '100 %')
    """
    if 0 < value < 0.005:
        return "below 1 %"
    return "above 99 %" if 0.995 <= value < 1 else f"{100 * value:.0f} %"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words with commas between them, and a word before the last."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def plain(value: Any) -> Any:
    """A value that JSON can hold: NumPy's scalars as Python's, what is no number as None, other types as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


MAX_FULL = 2000  # of a name where there is room for all of it


def shown_line(text: Any, most: int = MAX_FULL) -> str:
    r"""A text in one line, without letters that cannot be shown, and cut where it is too long.

    Examples
    --------
    >>> shown_line("two\nlines \ud800")
    'two lines'
    >>> shown_line("x" * 10, most=4)
    'xxx…'
    """
    head = str(text)[: 4 * most]
    line = one_line(head)
    return cut(line, most) if len(str(text)) <= 4 * most else f"{line[: most - 1]}…"


def cut(line: str, most: int = MAX_FULL) -> str:
    """A line, shortened where it is too long."""
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shown_names(values: Sequence[Any], most: int = MAX_LETTERS) -> list[str]:
    """Short names for features, classes or categories, all different.

    Parameters
    ----------
    values : sequence
        What is to be named.
    most : int, default=60
        Longer names are cut; where that, or what cannot be shown, makes two of them equal, their number follows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> shown_names(["age", "a very long name, first", "a very long name, second"], most=12)
    ['age', 'a very long… (2)', 'a very long… (3)']
    """
    names = [shown_line(value, most) or category_text("") for value in values]
    while twice := {name for name, count in Counter(names).items() if count > 1}:
        names = [f"{name} ({number})" if name in twice else name for number, name in enumerate(names, 1)]
    return [_set_apart(name) for name in names]


def _set_apart(name: str) -> str:
    """A name that is written from right to left, marked so that it does not turn round what stands beside it."""
    is_reversed = any(bidirectional(letter) in ("R", "AL", "AN") for letter in name)
    return f"\u2068{name}\u2069" if is_reversed else name
