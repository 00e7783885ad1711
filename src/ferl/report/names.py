"""Names as the report shows them: one line, valid text, short, and no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from unicodedata import bidirectional

from ferl.categories import level_text
from ferl.quoting import one_line

MAX_LETTERS = 60
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
    most : int
        Longer names are cut; where that, or what cannot be shown, makes two of them equal, their number follows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> shown_names(["age", "a very long name, first", "a very long name, second"], most=12)
    ['age', 'a very long… (2)', 'a very long… (3)']
    """
    names = [shown_line(value, most) or level_text("") for value in values]
    while twice := {name for name, count in Counter(names).items() if count > 1}:
        names = [f"{name} ({place})" if name in twice else name for place, name in enumerate(names, 1)]
    return [_set_apart(name) for name in names]


def _set_apart(name: str) -> str:
    """A name that is written from right to left, marked so that it does not turn round what stands beside it."""
    is_reversed = any(bidirectional(letter) in ("R", "AL", "AN") for letter in name)
    return f"\u2068{name}\u2069" if is_reversed else name
