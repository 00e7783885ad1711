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
CategoriesOfFeatures = tuple[NDArray[Any] | None, ...]


def columns_to_form(names: Names, categories: CategoriesOfFeatures) -> dict[str, Any]:
    """Names and categories as lists, text and numbers of Python."""
    features: list[dict[str, Any]] = [
        {"kind": "number"} if known is None else {"kind": _KINDS[known.dtype.kind], "levels": known.tolist()}
        for known in categories
    ]
    return {"names": None if names is None else list(names), "features": features}


def columns_from_form(form: Any) -> tuple[Names, CategoriesOfFeatures]:
    """Names and categories from the plain form, checked."""
    _check_keys(form, "columns", ("names", "features"))
    features = form["features"]
    if not isinstance(features, list) or not features:
        raise ValueError(f"columns: features is {shown(features)}; it must be a list of at least one feature.")
    return _names(form["names"], len(features)), tuple(
        _categories(f"columns: feature {index}", feature) for index, feature in enumerate(features)
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


def _categories(where: str, feature: Any) -> NDArray[Any] | None:
    kind = feature.get("kind") if isinstance(feature, dict) else None
    if kind == "number":
        _check_keys(feature, where, ("kind",))
        return None
    _check_keys(feature, where, ("kind", "levels"))
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"{where} is of kind {shown(kind)}; kinds are number, {', '.join(_DTYPES)}.")
    categories = feature["levels"]
    if not isinstance(categories, list):
        raise ValueError(f"{where}: levels is {shown(categories)}; it must be a list.")
    for category in categories:
        if not _is_category(category, kind):
            raise ValueError(f"{where}: {shown(category)} cannot be a level of kind {kind}.")
    for category, following in pairwise(categories):
        if not category < following:
            raise ValueError(f"{where}: {shown(following)} follows {shown(category)}; levels are sorted, each once.")
    return np.array(categories, dtype=_DTYPES[kind])


def _is_category(category: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(category, str) and _is_unicode(category)
    if kind == "bool" or isinstance(category, bool):  # to isinstance, a boolean is an integer as well
        return kind == "bool" and isinstance(category, bool)
    if kind == "int":
        return isinstance(category, int) and bool(_INT64.min <= category <= _INT64.max)
    return isinstance(category, float) and math.isfinite(category)


def _is_unicode(text: str) -> bool:
    """Whether a file and Arrow can hold a text: half a surrogate pair they cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
