"""Model files: JSON that a reader can compare line by line, read as untrusted input and written in one step."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl.atomic import replace_text
from ferl.model_io.contents import Contents, contents_from_form
from ferl.model_io.fields import ModelFileError
from ferl.quoting import shown

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
    from ferl.model_io.model_form import estimator_of, model_to_form

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
    from ferl.model_io.model_form import estimator_of  # and with it scikit-learn

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
