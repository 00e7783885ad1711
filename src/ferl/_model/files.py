"""Model files: JSON that a reader can compare line by line, read as untrusted input."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ferl._model.fields import ModelFileError
from ferl._model.model import Model
from ferl._model.model_form import model_from_form
from ferl._util.text import shown

MAX_BYTES = 1_000_000_000  # far above any model that a person could read
MAX_NESTING = 12  # the format needs six
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """The model in a file, and the parameters that it was fitted with, as they are written."""
    path = Path(path)
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path.name} is no regular file; save the model to one first.")
        content = file.read(min(status.st_size, MAX_BYTES) + 1)  # Python takes the memory before it reads
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{path.name} has more than {MAX_BYTES:,} bytes; models are smaller.")
    try:
        return parsed_model(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error}") from error


def parsed_model(content: bytes) -> tuple[Model, dict[str, Any]]:
    """As :func:`read_model`, from what stands in the file."""
    return model_from_form(_parsed(content), len(content))


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
