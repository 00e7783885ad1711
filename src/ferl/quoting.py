"""Text of others in lines of ours: names, labels, and values that an error quotes."""

from __future__ import annotations

from itertools import islice


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
