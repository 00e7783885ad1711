"""Values and names as sentences show them: short, on one line, whatever a table calls things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferl.quoting import one_line

MAX_LETTERS = 60  # of a name or a label


def spoken(value: Any) -> str:
    """A name, label or category without what would break a line, shortened where it is very long.

    Examples
    --------
    >>> from ferl.explanation.words import spoken
    >>> spoken("two" + chr(10) + "lines"), spoken("x" * 80)[-4:]
    ('two lines', 'xxx…')
    """
    text = str(value)
    line = one_line(text) or repr(text)
    return line if len(line) <= MAX_LETTERS else f"{line[: MAX_LETTERS - 1]}…"


def number_text(value: float) -> str:
    """A number as a reader wants it: up to six significant digits, and all digits of whole numbers."""
    whole = math.isfinite(value) and value == math.floor(value) and abs(value) < 1e15
    return f"{value + 0.0:.0f}" if whole else f"{value:.6g}"  # adding makes 0 of -0


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
