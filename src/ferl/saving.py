"""Model files: JSON that a reader can compare line by line, read as untrusted input and written in one step."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl._model.fields import Ints, ModelFileError, Part, as_list, as_numbers, as_written
from ferl._model.model_form import FORMAT, LABEL_DTYPES, LABEL_TYPES, VERSION, Contents, contents_from_form
from ferl._model.tree_form import tree_to_form
from ferl._util.files import replace_text
from ferl._util.text import shown
from ferl.classifier import FERLClassifier
from ferl.partition import FuzzySet, LinguisticVariable

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


MAX_BYTES = 1_000_000_000  # far above any model that a person could read
MAX_NESTING = 12  # the format needs six
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def save_model(estimator: FERLClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file that :func:`load_model` reads back: JSON, no pickle.

    The loaded model gives the same answers to the last bit. The file is replaced as a whole: whoever reads it sees the
    old or the new one. docs/model_file.md describes the format.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted. A ``random_state`` that is a RandomState is written as null: it has changed since.
    path : str or path-like
        The file.

    Raises
    ------
    ModelFileError
        When the model holds what no file can: labels that are tuples, say.

    Notes
    -----
    The file holds the exemplars, which are training rows, unless the model was fitted with ``n_exemplars=0``; and it
    always holds the names of features and categories.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.json"
    ...     save_model(clf, path)
    ...     loaded = load_model(path)
    >>> bool((loaded.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    form = model_to_form(estimator)
    try:
        text = json_text(form)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"A parameter of the model cannot be written: {error}.") from error
    # Never a file that cannot be read back: parameters may have changed since fit.
    estimator_of(contents_from_form(_parsed(text.encode()), len(text)))
    replace_text(path, text)


def load_model(path: str | os.PathLike[str]) -> FERLClassifier:
    """Read a classifier from a file that :func:`save_model` or ``ferl fit`` wrote.

    The file is untrusted input: whatever it holds, reading it ends in a model or in an error. It runs no code, and
    takes memory in proportion to its size.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    FERLClassifier
        Fitted.

    Raises
    ------
    ModelFileError
        When the file is not a usable model; the message names the field that is wrong.
    OSError
        When the file cannot be read.
    """
    contents = read_model(path)
    try:
        return estimator_of(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{Path(path).name}: {error}") from error


def read_model(path: str | os.PathLike[str]) -> Contents:
    """What a model file holds: :func:`load_model` without the estimator around it, and without scikit-learn."""
    path = Path(path)
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path.name} is no regular file; save the model to one first.")
        content = file.read(min(status.st_size, MAX_BYTES) + 1)  # Python takes the memory before it reads
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{path.name} has more than {MAX_BYTES:,} bytes; models are smaller.")
    try:
        return contents_from_form(_parsed(content), len(content))
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error}") from error


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


def model_to_form(estimator: FERLClassifier) -> dict[str, Any]:
    """A fitted classifier as lists, text and numbers of Python."""
    from ferl import __version__

    if type(estimator) is not FERLClassifier:
        raise TypeError(
            f"save_model got a {type(estimator).__name__}; a model file holds a FERLClassifier. Save the one inside, "
            "for example pipeline[-1], search.best_estimator_ or wrapper.estimator_."
        )
    check_is_fitted(estimator)
    parameters, notes = _parameters_to_form(estimator)
    words = estimator.partition_
    return {
        "format": FORMAT,
        "version": VERSION,
        "ferl": __version__,
        **({"notes": notes} if notes else {}),
        "estimator": "FERLClassifier",
        "parameters": parameters,
        "classes": _classes_to_form(estimator.classes_),
        "columns": estimator.columns_.to_dict(),
        "missing_features": list(estimator.missing_features_),
        "n_growth_rows": int(estimator.n_growth_rows_),
        "partition": None if words is None else [_variable_to_form(variable) for variable in words],
        "tree": tree_to_form(estimator.tree_),
    }


def estimator_of(contents: Contents) -> FERLClassifier:
    """A fitted classifier with the contents of a file: what fit leaves behind."""
    estimator = _estimator(contents.parameters)
    estimator.partition_ = _partition(contents.partition, estimator.variant == "compact", contents.n_categories)
    estimator.columns_ = contents.columns_
    estimator.n_features_in_ = len(contents.columns_.categories)
    if contents.columns_.names is not None:
        estimator.feature_names_in_ = np.array(contents.columns_.names, dtype=object)
    estimator.missing_features_ = contents.missing_features_
    estimator.n_growth_rows_ = contents.n_growth_rows
    estimator.classes_ = contents.classes_
    estimator.tree_ = contents.tree_
    return estimator


# ---------------------------------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------------------------------


def _parameters_to_form(estimator: FERLClassifier) -> tuple[dict[str, Any], list[str]]:
    parameters = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    notes = []
    if isinstance(estimator.random_state, np.random.RandomState):
        parameters["random_state"] = None
        notes.append("random_state was a RandomState; files keep integers only, so it is null.")
    if isinstance(estimator.class_weight, Mapping):  # labels need not be text, keys of JSON objects are
        pairs = estimator.class_weight.items()
        parameters["class_weight"] = [[_plain(label), _plain(weight)] for label, weight in pairs]
    if not isinstance(estimator.partition, str):
        parameters["partition"] = [_variable_to_form(variable) for variable in estimator.partition]
    return parameters, notes


def _plain(value: Any) -> Any:
    """A parameter in Python's own types."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "to_numpy"):
        return value.to_numpy().tolist()
    return value


def _estimator(form: Any) -> FERLClassifier:
    part = Part(form, "parameters", FERLClassifier._get_param_names())
    parameters = dict(part.value)
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    elif isinstance(parameters["class_weight"], dict):
        raise part.wrong("class_weight", "it must be a list of pairs of a label and its weight")
    if isinstance(parameters["partition"], list):
        parameters["partition"] = [_variable(own, "parameters.partition") for own in parameters["partition"]]
    if parameters["n_jobs"] == 0:
        raise part.wrong("n_jobs", "it must be null or a number other than 0")
    estimator = FERLClassifier(**parameters)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"parameters: {str(error)[:400]}") from error
    return estimator


def _class_weight(pairs: list[Any]) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in LABEL_TYPES:
            raise ModelFileError(f"parameters.class_weight has {shown(pair)}; it must be a label and its weight.")
        found[pair[0]] = float(as_numbers(pair[1:], "parameters.class_weight", 1, 0.0)[0])
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Labels, columns, words
# ---------------------------------------------------------------------------------------------------------------------


def _classes_to_form(classes: NDArray[Any]) -> dict[str, Any]:
    dtype = {"U": "str", "T": "object", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    if dtype not in LABEL_DTYPES or any(type(label) not in LABEL_TYPES for label in labels):
        raise ModelFileError(
            f"The labels are {shown(labels)}, of {classes.dtype}; files hold labels that are text, integers, floats or "
            "booleans. Fit with such labels."
        )
    return {"dtype": dtype, "labels": labels}


def _partition(form: Any, is_compact: bool, n_categories: Ints) -> list[LinguisticVariable | None] | None:
    if not is_compact:
        if form is not None:
            raise ModelFileError("partition is given, but only compact trees have words; it must be null.")
        return None
    found = [_variable(own, "partition") for own in as_list(form, "partition", len(n_categories))]
    for column, variable in enumerate(found):
        if variable is not None and n_categories[column]:
            raise ModelFileError(f"partition[{column}] has words for a feature that holds categories.")
    return found


def _variable_to_form(variable: LinguisticVariable | None) -> dict[str, Any] | None:
    if variable is None:
        return None
    return {
        "name": variable.name,
        "unit": variable.unit,
        "range": as_written(np.array(variable.range)),
        "words": [one.name for one in variable.sets],
        "trapezoids": as_written(np.array([one.ends for one in variable.sets])),
    }


def _variable(form: Any, where: str) -> LinguisticVariable | None:
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
