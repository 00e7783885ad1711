"""The plain form of columns in model files.

::

    {"names": ["age", "city"], "features": [{"kind": "number"}, {"kind": "text", "levels": ["Bergen", "Oslo"]}]}

A file is untrusted input: whatever it holds, reading it ends in columns or in a ValueError that says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.text import shown

_DTYPES: dict[str, type] = {"text": object, "bool": np.bool_, "int": np.int64, "float": np.float64}
_KINDS = {np.dtype(dtype).kind: kind for kind, dtype in _DTYPES.items()}
_INT64 = np.iinfo(np.int64)

Names = tuple[str, ...] | None
Levels = tuple[NDArray[Any] | None, ...]


def columns_to_form(names: Names, levels: Levels) -> dict[str, Any]:
    """Names and levels as lists, text and numbers of Python."""
    features: list[dict[str, Any]] = [
        {"kind": "number"} if known is None else {"kind": _KINDS[known.dtype.kind], "levels": known.tolist()}
        for known in levels
    ]
    return {"names": None if names is None else list(names), "features": features}


def columns_from_form(form: Any) -> tuple[Names, Levels]:
    """Names and levels from the plain form, checked."""
    _check_keys(form, "columns", ("names", "features"))
    features = form["features"]
    if not isinstance(features, list) or not features:
        raise ValueError(f"columns: features is {shown(features)}; it must be a list of at least one feature.")
    return _names(form["names"], len(features)), tuple(
        _levels(f"columns: feature {place}", feature) for place, feature in enumerate(features)
    )


def _check_keys(form: Any, where: str, keys: Sequence[str]) -> None:
    if not isinstance(form, dict):
        raise ValueError(f"{where} is {shown(form)}; it must be an object with {' and '.join(keys)}.")
    missing = [key for key in keys if key not in form]
    unknown = [key for key in form if key not in keys]
    if missing:
        raise ValueError(f"{where} has no {' and no '.join(missing)}.")
    if unknown:
        raise ValueError(f"{where} has {shown(unknown[0])}, which is not known; it holds {' and '.join(keys)}.")


def _names(names: Any, n_features: int) -> Names:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != n_features:
        raise ValueError(
            f"columns: names is {shown(names)}; it must be null or a list of one name for each of the {n_features} "
            "features."
        )
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not _is_unicode(name):
            raise ValueError(f"columns: {shown(name)} is not a name; names are text.")
        if name in seen:
            raise ValueError(f"columns: two features are called {shown(name)}.")
        seen.add(name)
    return tuple(names)


def _levels(where: str, feature: Any) -> NDArray[Any] | None:
    kind = feature.get("kind") if isinstance(feature, dict) else None
    if kind == "number":
        _check_keys(feature, where, ("kind",))
        return None
    _check_keys(feature, where, ("kind", "levels"))
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"{where} is of kind {shown(kind)}; kinds are number, {', '.join(_DTYPES)}.")
    levels = feature["levels"]
    if not isinstance(levels, list):
        raise ValueError(f"{where}: levels is {shown(levels)}; it must be a list.")
    for level in levels:
        if not _is_level(level, kind):
            raise ValueError(f"{where}: {shown(level)} cannot be a level of kind {kind}.")
    for level, following in pairwise(levels):
        if not level < following:
            raise ValueError(f"{where}: {shown(following)} follows {shown(level)}; levels are sorted, each once.")
    return np.array(levels, dtype=_DTYPES[kind])


def _is_level(level: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(level, str) and _is_unicode(level)
    if kind == "bool" or isinstance(level, bool):  # to isinstance, a boolean is an integer as well
        return kind == "bool" and isinstance(level, bool)
    if kind == "int":
        return isinstance(level, int) and bool(_INT64.min <= level <= _INT64.max)
    return isinstance(level, float) and math.isfinite(level)


def _is_unicode(text: str) -> bool:
    """Whether a file and Arrow can hold a text: half a surrogate pair is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
