"""How errors quote what they were given."""

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
