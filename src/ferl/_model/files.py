"""Model files: JSON that a reader can compare line by line, read as untrusted input.

Reading does without scikit-learn, whose import takes longer than judging many rows.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._model.fields import Budget, ModelFileError, Part, as_list, as_records, as_written, is_plain_text
from ferl._model.fuzzy_set import FuzzySet
from ferl._model.model import Model, RuleWeights, Words
from ferl._model.settings import PRESETS, READING_PARAMETERS, Reading, preset
from ferl._model.table_form import says_nothing, table_to_form, with_table
from ferl._model.tree import FuzzyTree
from ferl._model.tree_form import tree_from_form, tree_to_form
from ferl._model.weights_form import weights_from_form, weights_to_form
from ferl._model.words import LinguisticVariable
from ferl._tables import INDICATOR_CATEGORIES, Schema
from ferl._util.arrays import Ints
from ferl._util.text import shown

MAX_BYTES = 1_000_000_000  # far above any model that a person could read
MAX_NESTING = 12  # the format needs six
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
FORMAT = "ferl-model"
VERSION = 2

_KEYS = (
    "format",
    "version",
    "ferl",
    "estimator",
    "parameters",
    "classes",
    "columns",
    "missing_features",
    "n_growth_rows",
    "partition",
    "tree",
)
_KEYS_OF_VERSION_2 = ("weights",)
_OPTIONAL = {1: ("notes",), 2: ("notes", "history", "table")}
LABEL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str", "object"),
)
LABEL_TYPES = (str, bool, int, float)
_LARGEST_COUNT = 2**63 - 1
_COMBINATIONS = ("dempster", "cautious", "chain", "vote", "weights")
_SOURCES = (None, "leaves", "all")
_WITH_WORDS = ("compact", "wide")


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
    if _nesting(content) > MAX_NESTING:
        raise ModelFileError(f"it is nested more than {MAX_NESTING} levels deep; a model is not.")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is not JSON: {str(error)[:200]}. Pass a file that save_model wrote.") from error


def _nesting(content: bytes) -> int:
    """How deep the brackets outside of text are nested."""
    brackets = np.frombuffer(_STRING.sub(b"", content).translate(None, _BRACKETS), dtype=np.uint8)
    opens = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opens, 1, -1)).max(initial=0))


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


def needs_version_2(model: Model) -> bool:
    """Whether a model holds what version 1 has no field for; all others are written so that older readers read them."""
    return model.weights is not None or bool(model.history) or not says_nothing(model.schema)


def model_to_form(model: Model, version: int, parameters: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A model and the parameters that it was fitted with as lists, text and numbers of Python."""
    from ferl import __version__

    return {
        "format": FORMAT,
        "version": version,
        "ferl": __version__,
        **({"notes": notes} if notes else {}),
        "estimator": "FERLClassifier",
        "parameters": parameters,
        "classes": _classes_to_form(model.classes),
        "columns": model.schema.to_dict(),
        **({} if version == 1 or says_nothing(model.schema) else {"table": table_to_form(model.schema)}),
        "missing_features": list(model.missing_features),
        "n_growth_rows": int(model.n_growth_rows),
        "partition": None if model.partition is None else [variable_to_form(own) for own in model.partition],
        "tree": tree_to_form(model.tree),
        **({} if version == 1 else {"weights": None if model.weights is None else weights_to_form(model.weights)}),
        **({"history": list(as_records(list(model.history), "history"))} if model.history else {}),
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
    version = _version(form)
    part = Part(form, "the model", _KEYS if version == 1 else (*_KEYS, *_KEYS_OF_VERSION_2), _OPTIONAL[version])
    if part.value["estimator"] != "FERLClassifier":
        raise part.wrong("estimator", f"{shown(part.value['estimator'])} is not known; it must be 'FERLClassifier'")
    _check_texts(part)
    parameters = part.value["parameters"]
    variant, reading = _reading(parameters)
    schema = _schema(part.value["columns"])
    if "table" in part.value:
        schema = with_table(schema, part.value["table"])
    missing = part.integers("missing_features", None, 0, len(schema.categories) - 1)
    if (np.diff(missing) <= 0).any():
        raise part.wrong("missing_features", "they must ascend")
    classes = _classes(part.value["classes"])
    indicators = np.full(len(missing), len(INDICATOR_CATEGORIES), dtype=np.int32)
    n_categories = np.concatenate([schema.n_categories, indicators])
    adds_up = reading.combination == "weights"
    tree = tree_from_form(part.value["tree"], n_categories, len(classes), Budget(n_bytes), chains=adds_up)
    model = Model(
        variant,
        tree,
        reading,
        classes,
        schema,
        tuple(missing.tolist()),
        _partition(part, variant, n_categories),
        part.integer("n_growth_rows", 0, _LARGEST_COUNT),
        _weights(part.value.get("weights"), adds_up, tree, len(n_categories)),
        as_records(part.value.get("history", []), "history"),
    )
    if bool(tree.word) != (model.partition is not None):
        raise part.wrong("tree.word", "nodes have words where partition says what these mean, and only there")
    return model, parameters


def _weights(form: Any, adds_up: bool, tree: FuzzyTree, n_columns: int) -> RuleWeights | None:
    if adds_up != (form is not None):
        raise ModelFileError('weights must be given where parameters.combination is "weights", and only there.')
    return None if form is None else weights_from_form(form, tree, n_columns)


def _version(form: Any) -> int:
    from ferl import __version__

    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'This is no model of ferl: it does not begin with {{"format": "{FORMAT}", ...}}.')
    version, writer = form.get("version"), form.get("ferl")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"The model is in version {shown(version)} of the format, and ferl {__version__} reads versions up to "
            f"{VERSION}. It was written by ferl {shown(writer)}: install that version, or a newer one."
        )
    if type(version) is not int or version < 1:
        raise ModelFileError(f"version is {shown(version)}; it must be an integer from 1 to {VERSION}.")
    return version


def _check_texts(part: Part) -> None:
    """What is kept for readers only."""
    texts = [part.value["ferl"], *as_list(part.value.get("notes", []), "notes")]
    if not all(map(is_plain_text, texts)):
        raise ModelFileError("ferl and notes must be text.")


def _reading(parameters: Any) -> tuple[str, Reading]:
    """The variant, and how evidence is read: the parameters that answers depend on."""
    if type(parameters) is not dict:
        raise ModelFileError(f"parameters is {shown(parameters)}; it must be an object.")
    for name, allowed in (("variant", tuple(PRESETS)), ("combination", _COMBINATIONS), ("sources", _SOURCES)):
        value = parameters.get(name)
        if not isinstance(value, str | None) or value not in allowed:
            raise ModelFileError(f"parameters.{name} is {shown(value)}; it must be one of {shown(list(allowed))}.")
    for name, is_right, meaning in (
        ("support_gate", lambda value: type(value) is bool, "true or false"),
        ("discount", lambda value: _is_number(value) and value >= 0, "a number of at least 0"),
        ("gate_margin", lambda value: _is_number(value) and value > 0, "a number above 0"),
    ):
        if not is_right(parameters.get(name)):
            raise ModelFileError(f"parameters.{name} is {shown(parameters.get(name))}; it must be {meaning}.")
    variant, combination = parameters["variant"], parameters["combination"]
    adds_up = combination == "weights"
    if variant != "compact" and adds_up != (PRESETS[variant]["combination"] == "weights"):
        raise ModelFileError(f"parameters.combination is {shown(combination)}, which a {variant} model does not have.")
    own = {name: parameters[name] for name in READING_PARAMETERS}
    own["sources"] = own["sources"] or preset(variant, "evidence" if adds_up else "consistent")["sources"]
    own["discount"], own["gate_margin"] = float(own["discount"]), float(own["gate_margin"])
    return variant, Reading(**own)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= np.finfo(np.float64).max


def _schema(form: Any) -> Schema:
    try:
        return Schema.from_dict(form)
    except ValueError as error:
        raise ModelFileError(str(error)) from error


def _classes(form: Any) -> NDArray[Any]:
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


def _partition(part: Part, variant: str, n_categories: Ints) -> Words | None:
    form = part.value["partition"]
    if form is None and variant != "compact":
        return None
    if variant not in _WITH_WORDS:
        raise ModelFileError(f"partition is given, but a {variant} tree has no words; it must be null.")
    found = [variable_from_form(own, "partition") for own in as_list(form, "partition", len(n_categories))]
    for column, variable in enumerate(found):
        if variable is not None and n_categories[column]:
            raise ModelFileError(f"partition[{column}] has words for a feature that holds categories.")
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
