"""Partition files: linguistic variables as an expert writes them, in JSON or YAML.

::

    temperature:
      unit: °C
      sets:
        normal: {until: 37.5, gone: 38.0}
        fever: {from: 37.5, full: 38.5}
    age: elderly from 60 to 75 years

A file is untrusted input: whatever it holds, reading it ends in variables or in a :class:`PartitionError`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ferl._models.words import INFINITY, FuzzySet, LinguisticVariable, PartitionError, as_number, check_name
from ferl._util.files import is_yaml, read_written, replace_text, yaml_module
from ferl._util.text import shown

_FORMS = (
    "{until: 37.5, gone: 38} (falling), {from: 37.5, full: 38.5} (rising), [20, 30, 50, 60] (trapezoid), "
    "[20, 30, 50] (triangle), {is: 1} (a category) or {is: [18, 65]} (an interval)"
)
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_SENTENCE = re.compile(
    rf"(?P<name>.+?)\s+(?P<word>from|until)\s+(?P<one>{_NUMBER})(?:\s+to\s+(?P<two>{_NUMBER}))?(?:\s+(?P<unit>.+))?"
)


def load_partition(path: str | os.PathLike[str]) -> list[LinguisticVariable]:
    """Read linguistic variables from a file; docs/guide/words.md shows how to write one.

    Parameters
    ----------
    path : str or path-like
        A .json, .yaml or .yml file of at most 1 MB. YAML needs PyYAML: ``pip install pyyaml``.

    Returns
    -------
    list of LinguisticVariable
        In the order of the file; :func:`arrange` brings them into that of a table.

    Raises
    ------
    PartitionError
        When the file is not a partition, naming the variable and the set that are wrong.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ferl.words import load_partition
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "ward.json"
    >>> _ = path.write_text('{"temperature": "fever from 37.5 to 38.5 °C"}', encoding="utf-8")
    >>> for variable in load_partition(path):
    ...     print(variable)
    temperature (°C): not fever below 37.5..38.5, fever above 37.5..38.5
    >>> folder.cleanup()
    """
    path = Path(path)
    result = read_written(path, PartitionError, "partitions")
    if not isinstance(result, dict) or not result:
        raise PartitionError(f"{path.name} holds {shown(result)}; it must list variables by their names.")
    _check_once(result, f"{path.name} has two variables called")
    return [_variable(name, value) for name, value in result.items()]


def save_partition(variables: Iterable[LinguisticVariable | None], path: str | os.PathLike[str]) -> None:
    """Write linguistic variables to a file that :func:`load_partition` reads back exactly.

    The file is replaced as a whole: whoever reads it sees the old or the new one.

    Parameters
    ----------
    variables : iterable of LinguisticVariable or None
        With different names; None, a feature without a variable, is passed over.
    path : str or path-like
        A .json, .yaml or .yml file. YAML needs PyYAML: ``pip install pyyaml``.
    """
    path = Path(path)
    in_yaml = is_yaml(path, PartitionError)
    written: dict[str, dict[str, Any]] = {}
    for variable in variables:
        if variable is None:
            continue
        if variable.name in written:
            raise PartitionError(f"Two variables are called {variable.name!r}; a file holds one of a name.")
        written[variable.name] = _variable_as_written(variable)
    if not written:
        raise PartitionError("There is no variable to write: all features are without one.")
    if in_yaml:
        options: dict[str, Any] = {"sort_keys": False, "default_flow_style": None, "width": 10_000}
        replace_text(path, str(yaml_module(path).safe_dump(written, allow_unicode=True, **options)))
    else:
        replace_text(path, _json_text(written))


# ---------------------------------------------------------------------------------------------------------------------
# From what stands in a file to variables
# ---------------------------------------------------------------------------------------------------------------------


def _variable(given_name: object, value: object) -> LinguisticVariable:
    name = check_name(given_name, "A variable of the file")
    limits = -INFINITY, INFINITY
    try:
        if isinstance(value, str):
            sets, unit = _read_sentence(value)
        else:
            entries = _entries(value, "it", ("sets", "unit", "range"))
            listed = _entries(entries.get("sets"), "sets", None)
            sets = tuple(read_set(word, form) for word, form in listed.items())
            unit = "" if entries.get("unit") is None else entries["unit"]
            limits = _range(entries.get("range"))
    except PartitionError as error:
        raise PartitionError(f"Variable {name!r}: {error}") from error
    return LinguisticVariable(name, sets, unit, limits)


def _read_sentence(sentence: str) -> tuple[tuple[FuzzySet, ...], str]:
    """The short form, "fever from 37.5 to 38.5 °C": one shoulder and its complement."""
    match = _SENTENCE.fullmatch(sentence.strip()) if len(sentence) <= 200 else None  # the expression may backtrack
    if match is None:
        raise PartitionError(
            f"{shown(sentence)} is not understood. A sentence reads 'fever from 37.5 to 38.5 °C' or "
            "'young until 30 to 40 years'; a variable with more sets lists them under 'sets'."
        )
    word, unit = match["name"], match["unit"] or ""
    ends = [_finite(float(match[part]), f"Set {word!r}: a limit") for part in ("one", "two") if match[part]]
    if match["word"] == "from":
        one = FuzzySet.rising(word, *ends)
        return (one.complement(), one), unit
    one = FuzzySet.falling(word, *ends)
    return (one, one.complement()), unit


def read_set(name: object, form: object) -> FuzzySet:
    """The set of that name, from one of the forms in which a file may give it."""
    word = check_name(name, "a set")
    what = f"Set {word!r}"
    if isinstance(form, list) and len(form) in (3, 4):
        ends = [_finite(end, f"{what}: a number of its list") for end in form]
        return FuzzySet.triangle(word, *ends) if len(ends) == 3 else FuzzySet.trapezoid(word, *ends)
    if not isinstance(form, dict) or not form:
        raise PartitionError(f"{what} is {shown(form)}; write {_FORMS}.")
    if "is" in form:
        value = _entries(form, what, ("is",))["is"]
        ends = value if isinstance(value, list) else [value]
        if not 1 <= len(ends) <= 2:
            raise PartitionError(f"{what}: 'is' has {len(ends)} numbers; write {{is: 1}} or {{is: [18, 65]}}.")
        return FuzzySet.crisp(word, *(_finite(end, f"{what}: 'is'") for end in ends))
    ends_by_word = _entries(form, what, ("from", "full", "until", "gone"))
    for later, sooner in (("full", "from"), ("gone", "until")):
        if later in form and sooner not in form:
            raise PartitionError(f"{what} has {later!r} without {sooner!r}; write {_FORMS}.")
    end = {key: _finite(value, f"{what}: {key!r}") for key, value in ends_by_word.items()}
    rise = (end["from"], end.get("full", end["from"])) if "from" in end else (-INFINITY, -INFINITY)
    fall = (end["until"], end.get("gone", end["until"])) if "until" in end else (INFINITY, INFINITY)
    return FuzzySet(word, *rise, *fall)


def _range(value: object) -> tuple[float, float]:
    if value is None:
        return -INFINITY, INFINITY
    if not isinstance(value, list) or len(value) != 2:
        raise PartitionError(f"the range is {shown(value)}; write [0, 100], with null where there is no limit.")
    low, high = value
    what = "an end of the range"
    return -INFINITY if low is None else _finite(low, what), INFINITY if high is None else _finite(high, what)


def _finite(value: object, what: str) -> float:
    result = as_number(value, what)
    if math.isinf(result):
        raise PartitionError(f"{what} is infinite; leave it out. {{from: 37.5, full: 38.5}} has no upper end.")
    return result


def _entries(value: object, what: str, known: tuple[str, ...] | None) -> dict[Any, Any]:
    """A mapping of the file, without repeated or unknown keys."""
    if not isinstance(value, dict):
        raise PartitionError(
            f"{what} is {shown(value)}; write {{unit: °C, sets: {{low: ..., high: ...}}}}, each set as {_FORMS}."
        )
    _check_once(value, f"{what} has two entries called")
    for key in value:
        if known is not None and key not in known:
            raise PartitionError(
                f"{what} has the entry {shown(key)}, which means nothing here; known: {', '.join(known)}."
            )
    return value


def _check_once(mapping: dict[Any, Any], complaint: str) -> None:
    repeated = getattr(mapping, "repeated", [])
    if repeated:
        raise PartitionError(f"{complaint} {shown(repeated[0])}; give each its own name.")


# ---------------------------------------------------------------------------------------------------------------------
# JSON and YAML
# ---------------------------------------------------------------------------------------------------------------------


def _variable_as_written(variable: LinguisticVariable) -> dict[str, Any]:
    written: dict[str, Any] = {"unit": variable.unit} if variable.unit else {}
    if variable.range != (-INFINITY, INFINITY):
        written["range"] = [end if math.isfinite(end) else None for end in variable.range]
    written["sets"] = {one.name: _set_as_written(one) for one in variable.sets}
    return written


def _set_as_written(one: FuzzySet) -> Any:
    a, b, c, d = one.ends
    if d == INFINITY:
        return {"from": a} if a == b else {"from": a, "full": b}
    if a == -INFINITY:
        return {"until": c} if c == d else {"until": c, "gone": d}
    if a == b and c == d:
        return {"is": a if a == d else [a, d]}
    return [a, b, d] if b == c else [a, b, c, d]


def _json_text(written: dict[str, dict[str, Any]]) -> str:
    """JSON with one line a set, as a reader wants it."""

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    variables = []
    for name, entries in written.items():
        sets = ",\n".join(f"      {text(word)}: {text(form)}" for word, form in entries["sets"].items())
        others = "".join(f"    {text(key)}: {text(value)},\n" for key, value in entries.items() if key != "sets")
        variables.append(f'  {text(name)}: {{\n{others}    "sets": {{\n{sets}\n    }}\n  }}')
    return "{\n" + ",\n".join(variables) + "\n}\n"
