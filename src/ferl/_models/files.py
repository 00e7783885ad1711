"""Model files: JSON that a reader can compare line by line, read as untrusted input.

Reading does without scikit-learn, whose import takes longer than judging many rows.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as fields_of
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models import fields
from ferl._models.fields import Budget, ModelFileError, Part, as_list, as_records, as_written, is_plain_text
from ferl._models.fuzzy_set import FuzzySet
from ferl._models.model import Model, Words
from ferl._models.rule_model import RuleModel
from ferl._models.settings import VARIANTS, Gates, TreeReading
from ferl._models.table_form import says_nothing, table_to_form, with_table
from ferl._models.tree import FuzzyTree
from ferl._models.tree_form import tree_from_form, tree_to_form
from ferl._models.tree_model import TreeModel
from ferl._models.weights_form import weights_from_form, weights_to_form
from ferl._models.words import LinguisticVariable
from ferl._tables import INDICATOR_CATEGORIES, Schema
from ferl._util.arrays import Ints
from ferl._util.text import shown

MAX_BYTES = 1_000_000_000  # far above any model that a person could read
MAX_NESTING = 12  # the format needs six
FORMAT = "ferl-model"
VERSION = 1

_KEYS = (
    "format",
    "version",
    "ferl",
    "model",
    "parameters",
    "reading",
    "classes",
    "columns",
    "missing_features",
    "n_growth_rows",
    "words",
    "tree",
)
LABEL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str", "object"),
)
LABEL_TYPES = (str, bool, int, float)
_LARGEST_COUNT = 2**63 - 1


def read_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """The model in a file, and the parameters that it was fitted with, as they are written."""
    path = Path(path)
    content = file_content(path)
    try:
        return parsed_model(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error}") from error


def file_content(path: Path) -> bytes:
    """What stands in a file of a sensible size; a pipe or a device is refused."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path.name} is no regular file; save the model to one first.")
        content = file.read(min(status.st_size, MAX_BYTES) + 1)  # Python takes the memory before it reads
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{path.name} has more than {MAX_BYTES:,} bytes; models are smaller.")
    return content


def parsed_model(content: bytes) -> tuple[Model, dict[str, Any]]:
    """As :func:`read_model`, from what stands in the file."""
    return model_from_form(_parsed(content), len(content))


def parsed_json(content: bytes) -> Any:
    """JSON of others than models, read as carefully."""
    return _parsed(content)


def _open_without_waiting(name: str, flags: int) -> int:
    # A pipe nobody writes to would block the opening itself.
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


# ---------------------------------------------------------------------------------------------------------------------
# JSON
# ---------------------------------------------------------------------------------------------------------------------


def _parsed(content: bytes) -> Any:
    """The JSON of a file, without repeated keys, deep nesting, or numbers that JSON does not have."""
    size = _core.json_size(content)
    if size["depth"] > MAX_NESTING:
        raise ModelFileError(f"it is nested more than {MAX_NESTING} levels deep; a model is not.")
    needed = memory_of_json(len(content), size)
    if needed > fields.MAX_MEMORY:
        raise ModelFileError(
            f"it would take about {needed:,} bytes in memory; reading a model may take {fields.MAX_MEMORY:,}."
        )
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is not JSON: {str(error)[:200]}. Pass a file that save_model wrote.") from error


def memory_of_json(n_bytes: int, size: dict[str, int]) -> int:
    """The most bytes that Python takes to parse a JSON text, by what stands in it.

    Parameters
    ----------
    n_bytes : int
        Length of the text in UTF-8.
    size : dict
        What ``_core.json_size`` counts.
    """
    highest = size["highest_byte"]
    width = 1 if highest < 0xC4 else 2 if highest < 0xF0 else 4  # bytes of a letter of Python's text, by its widest one
    letters = (1 + 2 * width) * n_bytes  # the file, the same decoded, and the texts that are taken out of it
    # As CPython lays them out: a float takes 32 bytes and its place in a list 8, which grow by an eighth, once more in
    # the array that is made of it; a list 56 and room for four; a dict of one entry 184, a tuple of two 56.
    values = 60 * (size["n_separators"] + 1) + 64 * size["n_texts"]
    return letters + values + 156 * size["n_lists"] + 250 * size["n_objects"] + 180 * size["n_pairs"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ModelFileError(f"{shown(twice)} stands twice in one object.")
    return found


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f'it holds {name}, which is not JSON; such numbers are written "inf", "-inf" and "nan".')


def json_text(value: Any, indent: int = 0) -> str:
    """JSON in which objects have one entry a line, and lists of lists or objects one of these a line."""
    inner = "\n" + "  " * (indent + 1)
    if isinstance(value, dict) and value and indent < 3:
        entries = (f"{_flat(str(key))}: {json_text(entry, indent + 1)}" for key, entry in value.items())
        return "{" + inner + f",{inner}".join(entries) + "\n" + "  " * indent + "}"
    if isinstance(value, list) and any(isinstance(entry, list | dict) for entry in value):
        return "[" + inner + f",{inner}".join(map(_flat, value)) + "\n" + "  " * indent + "]"
    return _flat(value)


def _flat(value: Any) -> str:
    # The shortest decimal that reads back to the same double, which is what Python's repr gives.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# ---------------------------------------------------------------------------------------------------------------------
# A model in its plain form
# ---------------------------------------------------------------------------------------------------------------------


def model_to_form(model: Model, parameters: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A model and the parameters that it was fitted with as lists, text and numbers of Python."""
    from ferl import __version__

    return {
        "format": FORMAT,
        "version": VERSION,
        "ferl": __version__,
        **({"notes": notes} if notes else {}),
        "model": model.kind,
        "parameters": parameters,
        "reading": vars(model.reading),
        "classes": _classes_to_form(model.classes),
        "columns": model.schema.to_dict(),
        **({} if says_nothing(model.schema) else {"table": table_to_form(model.schema)}),
        "missing_features": list(model.missing_features),
        "n_growth_rows": int(model.n_growth_rows),
        "words": None if model.words is None else [variable_to_form(own) for own in model.words],
        "tree": tree_to_form(model.tree),
        **KINDS[model.kind].to_form(model),
        **({"history": list(as_records(list(model.history), "history"))} if model.history else {}),
    }


@dataclass(frozen=True)
class KindOfModel:
    """What the file of one kind of model holds of its own.

    Attributes
    ----------
    key : str
        The entry.
    to_form : callable
        From a model to the entry, as a dict of it.
    from_form : callable
        From the entry, the tree and the number of columns to attributes of the model.
    reading : type
        How its evidence is read.
    chains : bool
        Whether the tree must be chains of conditions.
    """

    model: type[Model]
    key: str
    to_form: Callable[[Any], dict[str, Any]]
    from_form: Callable[[Any, FuzzyTree, int], dict[str, Any]]
    reading: type[Gates]
    chains: bool


def _variant(form: Any, tree: FuzzyTree, n_columns: int) -> dict[str, Any]:
    if type(form) is not str or form not in VARIANTS:
        raise ModelFileError(f"variant is {shown(form)}; it must be one of {shown(list(VARIANTS))}.")
    return {"variant": form}


KINDS = {
    "rules": KindOfModel(
        RuleModel, "weights", lambda model: {"weights": weights_to_form(model)}, weights_from_form, Gates, True
    ),
    "trees": KindOfModel(TreeModel, "variant", lambda model: {"variant": model.variant}, _variant, TreeReading, False),
}


def model_from_form(form: Any, n_bytes: int) -> tuple[Model, dict[str, Any]]:
    """A model and the parameters that it was fitted with, from their plain form.

    Parameters
    ----------
    form : object
        What stands in the file.
    n_bytes : int
        Size of the file, which bounds what the model may take in memory.

    Returns
    -------
    Model, dict
        The parameters that answers depend on are checked; the others are as they are written.
    """
    _check_version(form)
    kind = KINDS.get(form.get("model")) if isinstance(form.get("model"), str) else None
    if kind is None:
        raise ModelFileError(f"model is {shown(form.get('model'))}; it must be one of {shown(list(KINDS))}.")
    part = Part(form, "the model", (*_KEYS, kind.key), ("notes", "history", "table"))
    _check_texts(part)
    parameters = part.value["parameters"]
    if type(parameters) is not dict:
        raise ModelFileError(f"parameters is {shown(parameters)}; it must be an object.")
    reading = _reading(part.value["reading"], kind.reading)
    schema = _schema(part.value["columns"])
    if "table" in part.value:
        schema = with_table(schema, part.value["table"])
    missing = part.integers("missing_features", None, 0, len(schema.categories) - 1)
    if (np.diff(missing) <= 0).any():
        raise part.wrong("missing_features", "they must ascend")
    budget = Budget(n_bytes)
    classes = _classes(part.value["classes"], budget)
    indicators = np.full(len(missing), len(INDICATOR_CATEGORIES), dtype=np.int32)
    n_categories = np.concatenate([schema.n_categories, indicators])
    tree = tree_from_form(part.value["tree"], n_categories, len(classes), budget, chains=kind.chains)
    words = _partition(part, n_categories)
    if bool(tree.word) != (words is not None):
        raise part.wrong("tree.word", "nodes have words where the entry words defines them, and only there")
    model = kind.model(
        tree=tree,
        reading=reading,
        classes=classes,
        schema=schema,
        missing_features=tuple(missing.tolist()),
        words=words,
        n_growth_rows=part.integer("n_growth_rows", 0, _LARGEST_COUNT),
        history=as_records(part.value.get("history", []), "history"),
        **kind.from_form(part.value[kind.key], tree, len(n_categories)),
    )
    return model, parameters


def _check_version(form: Any) -> None:
    from ferl import __version__

    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'This is no model of ferl: it does not begin with {{"format": "{FORMAT}", ...}}.')
    version, writer = form.get("version"), form.get("ferl")
    if type(version) is not int or version != VERSION:
        raise ModelFileError(
            f"The model is in version {shown(version)} of the format, and ferl {__version__} reads version {VERSION}. "
            f"It was written by ferl {shown(writer)}: install that version, or fit again."
        )


def _check_texts(part: Part) -> None:
    """What is kept for readers only."""
    texts = [part.value["ferl"], *as_list(part.value.get("notes", []), "notes")]
    if not all(map(is_plain_text, texts)):
        raise ModelFileError("ferl and notes must be text.")


_READING: dict[str, tuple[Callable[[Any], bool], str]] = {
    "support_gate": (lambda value: type(value) is bool, "true or false"),
    "gate_margin": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "discount": (lambda value: _is_number(value) and value >= 0, "a number of at least 0"),
    "combination": (lambda value: value in ("dempster", "cautious", "chain", "vote"), "a way to combine evidence"),
    "sources": (lambda value: value in ("leaves", "all"), "'leaves' or 'all'"),
}


def _reading(form: Any, wanted: type[Gates]) -> Gates:
    part = Part(form, "reading", [field.name for field in fields_of(wanted)])
    for name, value in part.value.items():
        is_right, meaning = _READING[name]
        if isinstance(value, list | dict) or not is_right(value):
            raise part.wrong(name, f"{shown(value)} must be {meaning}")
    return wanted(**part.value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _schema(form: Any) -> Schema:
    try:
        return Schema.from_dict(form)
    except ValueError as error:
        raise ModelFileError(str(error)) from error


def _classes(form: Any, budget: Budget) -> NDArray[Any]:
    part = Part(form, "classes", ("dtype", "labels"))
    dtype, labels = part.value["dtype"], part.list("labels")
    if dtype not in LABEL_DTYPES:
        raise part.wrong("dtype", f"{shown(dtype)} is not one of {', '.join(LABEL_DTYPES)}")
    kinds = set(map(type, labels))
    if not labels or len(kinds) > 1 or not kinds <= set(LABEL_TYPES):
        raise part.wrong(
            "labels", f"{shown(labels)} must be one or more labels, all text, integers, floats or booleans"
        )
    expected = {"b": bool, "i": int, "u": int, "f": float, "U": str}.get(np.dtype(dtype).kind)
    if expected is not None and kinds != {expected}:
        raise part.wrong("labels", f"{shown(labels)} are not of type {dtype}")
    if kinds == {str} and not all(map(is_plain_text, labels)):
        raise part.wrong("labels", f"{shown(labels)} hold text that is not valid Unicode")
    if any(not first < second for first, second in pairwise(labels)):
        raise part.wrong("labels", "they must be sorted, each once")
    if dtype == "str":  # NumPy gives every label the room of the longest, four bytes a letter
        budget.take(len(labels) * max(map(len, labels)) // 2, "classes.labels")
    try:
        classes = np.array(labels, dtype=dtype)
    except (OverflowError, ValueError) as error:
        raise part.wrong("labels", f"{error}") from error
    if classes.tolist() != labels:  # NumPy cuts NULs from the end of text, and rounds
        raise part.wrong("labels", f"{shown(labels)} are not of type {dtype}")
    return classes


def _classes_to_form(classes: NDArray[Any]) -> dict[str, Any]:
    dtype = {"U": "str", "T": "object", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    if dtype not in LABEL_DTYPES or any(type(label) not in LABEL_TYPES for label in labels):
        raise ModelFileError(
            f"The labels are {shown(labels)}, of {classes.dtype}; files hold labels that are text, integers, floats or "
            "booleans. Fit with such labels."
        )
    return {"dtype": dtype, "labels": labels}


def _partition(part: Part, n_categories: Ints) -> Words | None:
    form = part.value["words"]
    if form is None:
        return None
    found = [variable_from_form(own, "words") for own in as_list(form, "words", len(n_categories))]
    for column, variable in enumerate(found):
        if variable is not None and n_categories[column]:
            raise ModelFileError(f"words[{column}] has words for a feature that holds categories.")
    return found


def variable_to_form(variable: LinguisticVariable | None) -> dict[str, Any] | None:
    if variable is None:
        return None
    return {
        "name": variable.name,
        "unit": variable.unit,
        "range": as_written(np.array(variable.range)),
        "words": [one.name for one in variable.sets],
        "trapezoids": as_written(np.array([one.ends for one in variable.sets])),
    }


def variable_from_form(form: Any, where: str) -> LinguisticVariable | None:
    if form is None:
        return None
    part = Part(form, where, ("name", "unit", "range", "words", "trapezoids"))
    words = part.list("words")
    ends = part.matrix("trapezoids", len(words), 4, infinite=True)
    low, high = part.numbers("range", 2, infinite=True).tolist()
    try:
        sets = [FuzzySet(word, *own) for word, own in zip(words, ends.tolist(), strict=True)]
        return LinguisticVariable(part.value["name"], tuple(sets), part.value["unit"], (low, high))
    except ValueError as error:
        raise ModelFileError(f"{where}: {error}") from error
