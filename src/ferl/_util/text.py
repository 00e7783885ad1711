"""What people read: names, labels and numbers in one line, values that an error quotes, and colours of classes."""

from __future__ import annotations

import colorsys
import difflib
import math
import re
import sys
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
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(text.split())


def category_text(category: Any) -> str:
    """A category as rules write it; quoted where a reader could not see it."""
    text = words_of(category)
    return text if text.strip() and text.isprintable() else repr(text)


# ---------------------------------------------------------------------------------------------------------------------
# Values with words
# ---------------------------------------------------------------------------------------------------------------------


class _InWords:
    """What a value is called in sentences, and what JSON holds of it."""

    words: str
    plain: Any


class TextInWords(str, _InWords):
    """A text that sentences write in other words; it equals the text."""


class IntegerInWords(int, _InWords):
    """A whole number, or a boolean, that sentences write in other words."""


class NumberInWords(float, _InWords):
    """A number that sentences write in other words: a date, for example."""

    step: str = ""
    """The unit of a difference of two such numbers: "day"."""


def in_words(value: Any, words: str, plain: Any = None, step: str = "") -> Any:
    """A value that equals another one, and that sentences write in these words.

    Parameters
    ----------
    value : str, bool, int or float
        The value.
    words : str
        What sentences write; escaped and shortened as all names are.
    plain : object, default=None
        What JSON holds; None: the value.
    step : str, default=""
        What a number counts.

    Returns
    -------
    TextInWords, IntegerInWords or NumberInWords

    Examples
    --------
    >>> from ferl._util.text import in_words, spoken
    >>> label = in_words(1, "yes")
    >>> label == 1, spoken(label)
    (True, 'yes')
    """
    kind = TextInWords if isinstance(value, str) else NumberInWords if isinstance(value, float) else IntegerInWords
    copy: Any = kind(value)
    copy.words, copy.plain = words, value if plain is None else plain
    if step:
        copy.step = step
    return copy


def has_words(value: Any) -> bool:
    """Whether sentences write a value in other words."""
    return isinstance(value, _InWords)


def is_meaning(value: Any) -> bool:
    """Whether sentences write the meaning of a number, so that a difference means nothing."""
    return isinstance(value, NumberInWords) and not value.step


def words_of(value: Any) -> str:
    """The words of a value that has them; else its text."""
    return value.words if isinstance(value, _InWords) else str(value)


def difference_text(value: float, other: float) -> str:
    """How far two numbers lie apart, with what they count: "30 days"."""
    step, apart = getattr(value, "step", ""), number_text(abs(float(value) - float(other)))
    return f"{apart} {step}{'' if apart == '1' else 's'}" if step else apart


MAX_LETTERS = 60  # of a name or a label


def spoken(value: Any) -> str:
    """A name, label or category without what would break a line, shortened where it is very long.

    Examples
    --------
    >>> from ferl._util.text import spoken
    >>> spoken("two" + chr(10) + "lines"), spoken("x" * 80)[-4:]
    ('two lines', 'xxx…')
    """
    # The beginning alone: a name of a million letters is spoken in many places.
    text = words_of(value)
    return shown_line(text, MAX_LETTERS) or cut(repr(text[:MAX_LETTERS]), MAX_LETTERS)


DIGITS = 4  # significant ones of a number in a sentence
LONG = 1e15  # from here on numbers are written with their power of ten


def number_text(value: float, digits: int = DIGITS) -> str:
    """A number as a reader wants it: few significant digits, all digits of whole numbers, and no power of ten.

    Numbers too large or too small to be written out keep their power of ten.

    Examples
    --------
    >>> number_text(71.2833), number_text(4.3000001), number_text(0.0), number_text(123456.7), number_text(1e-7)
    ('71.28', '4.3', '0', '123457', '1e-07')
    """
    if isinstance(value, NumberInWords):
        return value.words
    if not math.isfinite(value) or not (value == 0 or 1e-5 <= abs(value) < LONG):
        return f"{value:.{digits}g}"
    if value == math.floor(value):
        return f"{value + 0.0:.0f}"  # adding makes 0 of -0
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def support_text(weight: float) -> str:
    """A training weight: one decimal, none from a thousand on."""
    return f"{weight:.1f}" if weight < 10 ** (DIGITS - 1) else f"{weight:.0f}"


def exact_text(value: float) -> str:
    """A number with all the digits that tell it from its neighbours."""
    if isinstance(value, NumberInWords):
        return value.words
    return f"{value + 0.0:.0f}" if value == math.floor(value) and abs(value) < 1e15 else repr(value)


def value_text(value: Any) -> str:
    """A feature's value: a number, a category, or that it is missing."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return spoken(value) if isinstance(value, NumberInWords) else number_text(value)
    return spoken(value)


def share_text(value: float) -> str:
    """A share of one: two decimals, and more only where two would say 0 or 1 of what is neither."""
    if 0 < value < 0.005:
        return "less than 0.01"
    return "more than 0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def percent_text(value: float) -> str:
    """A share of one in percent; 0 and 100 only of what is 0 or 1.

    Examples
    --------
    >>> percent_text(0.234), percent_text(0.999), percent_text(1.0)
    ('23 %', 'more than 99 %', '100 %')
    """
    if 0 < value < 0.005:
        return "less than 1 %"
    return "more than 99 %" if 0.995 <= value < 1 else f"{100 * value:.0f} %"


def points_text(share: float) -> str:
    """A change of a share in percentage points."""
    points = 100 * abs(share)
    if 0 < points < 0.05:
        return "0.1 points"
    return f"{points:.1f} points" if points < 9.95 else f"{points:.0f} points"


def counted(n: int, thing: str) -> str:
    """A number of things, "1 rule" or "1,200 rules"."""
    return f"{n:,} {thing if n == 1 else f'{thing}s'}"


def rows_text(rows: float, which: str = "training") -> str:
    """The number of training rows that an answer rests on, as a reader can use it: two digits of large ones.

    Examples
    --------
    >>> rows_text(2904.3), rows_text(36.8), rows_text(1.2, "similar")
    ('about 2,900 training rows', 'about 37 training rows', 'about 1 similar row')
    >>> rows_text(0.3), rows_text(0.0)
    ('less than 1 training row', 'no training row')
    """
    if rows < 0.5:
        return f"less than 1 {which} row" if rows > 0 else f"no {which} row"
    digits = max(math.floor(math.log10(rows)) - 1, 0)
    return f"about {counted(max(1, int(round(rows, -digits))), f'{which} row')}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words with commas between them, and a word before the last."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def plain(value: Any) -> Any:
    """A value that JSON can hold: NumPy's scalars as Python's, what is no number as None, other types as text."""
    if isinstance(value, _InWords):
        return value.plain
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
    words = words_of(text)
    line = one_line(words[: 4 * most])
    return cut(line, most) if len(words) <= 4 * most else f"{line[: most - 1]}…"


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
    is_reversed = not name.isascii() and any(bidirectional(letter) in ("R", "AL", "AN") for letter in name)
    return f"\u2068{name}\u2069" if is_reversed else name


def near_name(wanted: str, names: Sequence[str]) -> str | None:
    """The name most like one that was typed: in other case, with other spaces, or spelled much alike."""
    for fold in (str.casefold, lambda text: re.sub(r"[\W_]+", "", text.casefold())):
        for name in names:
            if fold(name) == fold(wanted):
                return name
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), list(folded), n=1)
    return folded[near[0]] if near else None


def index_of(wanted: Any, known: Sequence[Any], what: str) -> int:
    """The index of a name or label among those that there are; ``what``: what errors call it.

    Examples
    --------
    >>> index_of("weight", ["height", "weight"], "feature")
    1
    """
    if wanted in known:
        return list(known).index(wanted)
    near = near_name(wanted, [item for item in known if isinstance(item, str)]) if isinstance(wanted, str) else None
    those = "classes" if what == "class" else f"{what}s"
    hint = f"Did you mean {str(near)!r}?" if near else f"The {those} are {shown(list(known))}."
    raise ValueError(f"There is no {what} {shown(wanted)}. {hint}")


def feature_index(feature: Any, names: Sequence[str]) -> int:
    """The index of a feature that is given by its name or by its index."""
    if not isinstance(feature, int | np.integer) or isinstance(feature, bool):
        return index_of(feature, names, "feature")
    if not 0 <= feature < len(names):
        raise ValueError(f"feature is {feature}; there are features 0 to {len(names) - 1}.")
    return int(feature)


# ---------------------------------------------------------------------------------------------------------------------
# Colours
# ---------------------------------------------------------------------------------------------------------------------

# Okabe and Ito (2008), "Color Universal Design": distinct with any of the common kinds of colour vision. Black is
# left to text, and yellow comes last, since it is faint on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")


def class_colours(n_classes: int) -> list[str]:
    """One colour for each class; beyond the palette it comes again, darker each time."""
    rounds = -(-n_classes // len(PALETTE))
    shades = [shade(colour, 1 - 0.3 * turn / max(rounds - 1, 1)) for turn in range(rounds) for colour in PALETTE]
    return shades[:n_classes]


def shade(colour: str, strength: float) -> str:
    """A colour made darker: its lightness times ``strength``."""
    hue, light, saturation = colorsys.rgb_to_hls(*rgb(colour))
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light * strength, saturation))


def tint(colour: str, strength: float) -> str:
    """A colour mixed with white: 1 is the colour, 0 is white."""
    mixed = 1 + strength * (np.array(rgb(colour)) - 1)
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of "#RRGGBB", from 0 to 1."""
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def caller_level() -> int:
    """How many calls above the one that warns the user's code is; cross-validation calls by joblib."""
    frame, level = sys._getframe(1), 1
    passed = ("ferl", "sklearn", "joblib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in passed:
        frame, level = frame.f_back, level + 1
    return level
