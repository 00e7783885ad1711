"""Labels: none may be missing, and each row's label becomes a code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.categories import is_missing

_FEW_LABELS = 1000  # below which it is not worth while to import pyarrow


def refuse_missing_labels(y: Any) -> None:
    """Name the first row without a label; numbers are left to scikit-learn, which says it well."""
    if not isinstance(y, np.ndarray | list | tuple) and not hasattr(y, "to_numpy"):
        return
    labels = np.asarray(y).ravel()
    if labels.dtype.kind != "O" or _encoded_text(labels) is not None:
        return
    missing = [row for row, label in enumerate(labels) if is_missing(label)]
    if missing:
        raise ValueError(
            f"y contains NaN: {len(missing)} labels are missing, the first in row {missing[0]}. Leave these rows out."
        )


def distinct_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The distinct labels, sorted, and each row's index among them: `numpy.unique`, without a sort where it can be."""
    if y.dtype.kind in "iu" and len(y) > 0:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and high < 2**63:
            offset = y.astype(np.int64) - low
            present = np.bincount(offset) > 0
            return (np.flatnonzero(present) + low).astype(y.dtype), (np.cumsum(present) - 1).astype(np.int32)[offset]
    found = distinct_text(y)
    if found is not None:
        return found
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def distinct_text(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]] | None:
    """As :func:`distinct_labels`, for many labels that are all text and none missing; otherwise None."""
    encoded = _encoded_text(y)
    if encoded is None:
        return None
    texts = encoded.dictionary.to_pylist()
    ascending = sorted(range(len(texts)), key=texts.__getitem__)
    order = np.empty(len(texts), dtype=np.int32)
    order[ascending] = np.arange(len(texts))
    # A text's row of first occurrence: its label keeps the type it has there.
    indices = encoded.indices.to_numpy()
    first = np.empty(len(texts), dtype=np.intp)
    first[indices[::-1]] = np.arange(len(y) - 1, -1, -1)
    return y[first[ascending]], order[indices]


def _encoded_text(y: NDArray[Any]) -> Any:
    """An array of text by Arrow, which does it without a loop in Python."""
    if y.ndim != 1 or y.dtype.kind not in "OU" or len(y) < _FEW_LABELS or not isinstance(y[0], str):
        return None
    import pyarrow as pa

    try:
        array = pa.array(y, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None
    is_text = isinstance(array, pa.Array) and pa.types.is_string(array.type)
    return array.dictionary_encode() if is_text and not array.null_count else None
