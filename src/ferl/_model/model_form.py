"""What a model file holds, checked: all that answers need, read without scikit-learn.

Importing scikit-learn takes longer than judging a hundred thousand rows; :func:`ferl.load_model` needs it, since it
gives back an estimator, and ``ferl predict`` does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._model.fields import Budget, Ints, ModelFileError, Part, as_list, is_plain_text
from ferl._model.presets import PRESETS
from ferl._model.tree import FuzzyTree
from ferl._model.tree_form import tree_from_form
from ferl._tables import INDICATOR_CATEGORIES, Schema
from ferl._util.text import shown

FORMAT = "ferl-model"
VERSION = 1

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
LABEL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str", "object"),
)
LABEL_TYPES = (str, bool, int, float)
_LARGEST_COUNT = 2**63 - 1
_COMBINATIONS = ("dempster", "cautious", "chain", "vote")
_SOURCES = (None, "leaves", "all")


@dataclass
class Contents:
    """A model as its file has it; see :class:`ferl._read.evidence.Fitted`.

    Attributes
    ----------
    parameters : dict
        Those of the estimator, as they are written. The ones that answers depend on are checked and attributes as
        well; the others are checked where an estimator is made of them.
    partition : object
        The words of a compact tree, as they are written.
    n_growth_rows : int
        How many rows the splits were chosen on.
    """

    parameters: dict[str, Any]
    variant: str
    combination: str
    sources: str | None
    discount: float
    support_gate: bool
    gate_margin: float
    n_jobs: int | None
    tree_: FuzzyTree
    classes_: NDArray[Any]
    columns_: Schema
    missing_features_: tuple[int, ...]
    partition: Any
    n_growth_rows: int

    @property
    def n_categories(self) -> Ints:
        """Number of categories of each column that the tree reads, 0 for numbers; indicators come last."""
        return _all_levels(self.columns_, len(self.missing_features_))


def contents_from_form(form: Any, n_bytes: int) -> Contents:
    """The contents of a file from their plain form.

    Parameters
    ----------
    form : object
        What stands in the file.
    n_bytes : int
        Size of the file, which bounds what the model may take in memory.

    Returns
    -------
    Contents
    """
    _check_version(form)
    part = Part(form, "the model", _KEYS, ("notes",))
    if part.value["estimator"] != "FERLClassifier":
        raise part.wrong("estimator", f"{shown(part.value['estimator'])} is not known; it must be 'FERLClassifier'")
    _check_texts(part)
    settings = _settings(part.value["parameters"])
    columns = _columns(part.value["columns"])
    missing = part.integers("missing_features", None, 0, len(columns.categories) - 1)
    if (np.diff(missing) <= 0).any():
        raise part.wrong("missing_features", "they must ascend")
    classes = _classes(part.value["classes"])
    tree = tree_from_form(part.value["tree"], _all_levels(columns, len(missing)), len(classes), Budget(n_bytes))
    if tree.word and settings["variant"] != "compact":
        raise part.wrong("tree.word", f"a {settings['variant']} tree learns its splits and has no words")
    return Contents(
        parameters=part.value["parameters"],
        **settings,
        n_jobs=None,
        tree_=tree,
        classes_=classes,
        columns_=columns,
        missing_features_=tuple(missing.tolist()),
        partition=part.value["partition"],
        n_growth_rows=part.integer("n_growth_rows", 0, _LARGEST_COUNT),
    )


def _check_version(form: Any) -> None:
    from ferl import __version__

    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'This is no model of ferl: it does not begin with {{"format": "{FORMAT}", ...}}.')
    version, writer = form.get("version"), form.get("ferl")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"The model is in version {shown(version)} of the format, and ferl {__version__} reads version {VERSION}. "
            f"It was written by ferl {shown(writer)}: install that version, or a newer one."
        )
    if type(version) is not int or version != VERSION:
        raise ModelFileError(f"version is {shown(version)}; it must be {VERSION}.")


def _check_texts(part: Part) -> None:
    """What is kept for readers only."""
    texts = [part.value["ferl"], *as_list(part.value.get("notes", []), "notes")]
    if not all(map(is_plain_text, texts)):
        raise ModelFileError("ferl and notes must be text.")


def _settings(parameters: Any) -> dict[str, Any]:
    """The parameters that answers depend on."""
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
    names = ("variant", "combination", "sources", "discount", "support_gate", "gate_margin")
    return {name: parameters[name] for name in names}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= np.finfo(np.float64).max


def _all_levels(columns: Schema, n_indicators: int) -> Ints:
    indicators = np.full(n_indicators, len(INDICATOR_CATEGORIES), dtype=np.int32)
    return np.concatenate([columns.n_categories, indicators])


def _columns(form: Any) -> Schema:
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
