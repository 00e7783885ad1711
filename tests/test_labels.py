"""Labels of a batch are the same whatever holds them: NumPy, pandas or Arrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._tables import codes_of, distinct_labels
from ferl._tables.labels import batch_codes, distinct_of, labels_of
from ferl.metrics import metrics_by_group
from ferl.report.writing import label_codes
from ferl.streaming import fit_batches

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


@pytest.mark.parametrize("marker", ["NA", "", " ?", "null"])
@pytest.mark.parametrize("n", [60, 1200])  # few labels and many take different ways
@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_a_marker_among_numeric_labels_is_no_class_in_fit_and_no_error_in_score(kind, n, marker):
    X = np.arange(n).reshape(n, 1) // 4.0
    y = np.array(["0", "1"], dtype=object)[(X[:, 0] > n // 8).astype(int)]
    marked = y.copy()
    marked[[7, 9]] = marker
    model = classifier(kind, random_state=0)
    told = "2 labels are missing, the first in row 7. Leave these rows out"
    for labels in (marked, marked.tolist(), pd.Series(marked), [own if own == marker else int(own) for own in marked]):
        with pytest.raises(ValueError, match=told):
            clone(model).fit(X, labels)
    mixed = pd.Series([own if own == marker else int(own) for own in marked], dtype=object)
    with pytest.raises(ValueError, match=told):
        clone(model).fit(X, mixed)
    with pytest.raises(ValueError, match=r"stands for a missing label\. Leave these rows out"):
        fit_batches([(X[:5], marked[:5]), (X[5:], marked[5:])], estimator=model)
    model.fit(X, y)
    for labels in (marked, np.full(n, marker, dtype=object)):
        with pytest.raises(ValueError, match="labels are missing, the first in row"):
            model.score(X, labels)
    with pytest.raises(ValueError, match=told):
        model.partial_fit(X, marked)
    assert label_codes(model.model_, marked, n)[[7, 8, 9]].tolist() == [-1, 0, -1]
    groups = metrics_by_group(marked, model.predict(X), y, classes=["0", "1"])
    assert sum(own.n_labelled for own in groups) == n - 2


def test_a_marker_beside_other_text_is_a_class():
    X = np.arange(60.0).reshape(60, 1) // 4
    y = np.where(X[:, 0] > 7, "NA", "EU").astype(object)
    model = classifier("rules", random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["EU", "NA"]
    assert model.score(X, y) == 1.0
    assert model.partial_fit(X[-5:], y[-5:]).score(X, y) == 1.0
    y[0], y[1] = "1", "NA"  # the first batch alone could be numbers and a gap
    assert fit_batches([(X[:2], y[:2]), (X[2:], y[2:])], estimator=model).classes_.tolist() == ["1", "EU", "NA"]


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy has it from 2.0 on")
@pytest.mark.parametrize("kind", [FERLClassifier, FERLTreeClassifier])
def test_text_of_numpy_is_text(kind):
    rng = np.random.default_rng(0)
    text = rng.choice(["ill", "well"], 200)
    own = text.astype(np.dtypes.StringDType())
    clf = kind(random_state=0).fit(np.column_stack([own, own]), own)
    plain = kind(random_state=0).fit(np.column_stack([text, text]).astype(object), text)
    assert clf.classes_.tolist() == plain.classes_.tolist() == ["ill", "well"]
    assert clf.predict(own.reshape(-1, 1).repeat(2, axis=1)).tolist() == text.tolist()
    assert clf.score(np.column_stack([own, own]), own) == 1.0
    missing = text.astype(np.dtypes.StringDType(na_object=np.nan))
    missing[3] = np.nan
    with pytest.raises(ValueError, match=r"1 labels are missing, the first in row 3"):
        kind().fit(np.arange(200.0)[:, None], missing)
