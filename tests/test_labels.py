"""Labels of a batch are the same whatever holds them: NumPy, pandas or Arrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ferl._tables import codes_of, distinct_labels
from ferl._tables.labels import batch_codes, distinct_of, labels_of

TEXTS = ["b", "a", "ä", "", "B", "a\0", "\U0001f33b", "a", "b"] * 150  # enough for the way of many labels


def held_as(texts):
    """Text in all types that a batch may come in."""
    array = pa.array(texts)
    return {
        "objects": np.array(texts, dtype=object),
        "pandas objects": pd.Series(texts, dtype=object, name="y"),
        "pandas text of Python": pd.Series(texts, dtype="string[python]"),
        "pandas text of Arrow": pd.Series(texts, dtype="string[pyarrow]", name="y"),
        "pandas column of Arrow": pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
        "pandas default text": pd.Series(texts),
        "Arrow": array,
        "Arrow in chunks": pa.chunked_array([array[:4], array[:0], array[4:]]),
        "Arrow's long text": array.cast(pa.large_string()),
        "Arrow's dictionary": array.dictionary_encode(),
    }


@pytest.mark.parametrize("n", [3, len(TEXTS)])
def test_text_is_coded_alike_whatever_holds_it(n):
    texts = TEXTS[:n]
    classes, codes = distinct_labels(np.array(texts, dtype=object))
    fewer = classes[1:]
    for name, held in held_as(texts).items():
        found, indices = distinct_of(held)
        assert (found.dtype, set(map(type, found.tolist()))) == (object, {str}), name
        assert found.tolist() == classes.tolist(), name
        assert (indices.dtype, indices.tolist()) == (np.int32, codes.tolist()), name
        assert batch_codes(held, fewer).tolist() == codes_of(np.array(texts, dtype=object), fewer).tolist(), name
        assert labels_of(held).tolist() == texts, name


def test_the_first_label_that_is_missing_is_named_whatever_holds_it():
    texts = [*TEXTS[:5], None, "a"]
    for own in held_as(texts).values():
        with pytest.raises(ValueError, match="the first in row 5"):
            distinct_of(own)
        with pytest.raises(ValueError, match="the first in row 5"):
            batch_codes(own, np.array(["a"], dtype=object))


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool", "int64[pyarrow]", "Int64"])
def test_labels_that_are_no_text_stay_what_they_are(dtype):
    series = pd.Series([3, 1, 1, 0, 3] if dtype != "bool" else [True, False, True]).astype(dtype)
    found, codes = distinct_of(series)
    expected, expected_codes = np.unique(np.asarray(series), return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert codes.tolist() == expected_codes.tolist()
    assert batch_codes(series, expected).tolist() == expected_codes.tolist()
