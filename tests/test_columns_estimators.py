"""Estimators and tables: what scikit-learn expects of the two functions that bring them together."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from ferl._sklearn import encode_rows, learn_table
from ferl._tables import distinct_labels

NAN = float("nan")
MIXED = pd.DataFrame({"age": [30.5, 40.5], "zip": [7, 5], "city": ["Oslo", "Bergen"], "member": [True, False]})


class TableTree(ClassifierMixin, BaseEstimator):
    """The least estimator that takes any table."""

    def __init__(self, categorical_features="from_dtype"):
        self.categorical_features = categorical_features

    def fit(self, X, y, sample_weight=None):
        rows, self.columns_, self.classes_, codes = learn_table(self, X, y, self.categorical_features)
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(rows, codes, sample_weight)
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.classes_[self.tree_.predict(encode_rows(self, self.columns_, X))]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@parametrize_with_checks([TableTree()])
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def test_estimators_learn_names_and_find_them_in_any_order():
    frame = pd.DataFrame({"size": [1.5, None, 2.5, 3.5], "colour": ["red", "blue", None, "red"]})
    tree = TableTree().fit(frame, ["a", "b", "b", "a"])
    assert tree.feature_names_in_.tolist() == ["size", "colour"]
    assert tree.n_features_in_ == 2
    answers = tree.predict(frame).tolist()
    assert answers == ["a", "b", "b", "a"]
    for other in (frame[["colour", "size"]], pl.from_pandas(frame)[["colour", "size"]], pa.Table.from_pandas(frame)):
        assert tree.predict(other).tolist() == answers
    with pytest.warns(UserWarning, match="X does not have valid feature names, but TableTree was fitted with"):
        assert tree.predict(frame.to_numpy()).tolist() == answers
    with pytest.raises(ValueError, match=r"(?s)names should match.*unseen at fit time:\n- hue\n.*missing:\n- colour\n"):
        tree.predict(frame.rename(columns={"colour": "hue"}))
    assert not hasattr(tree.fit(frame.to_numpy(), answers), "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but TableTree was fitted without feature names"):
        assert tree.predict(frame).tolist() == answers
    with pytest.raises(
        ValueError, match=r"X has 1 features, but TableTree is expecting 2 features as input.*Pass the col"
    ):
        tree.predict([["red"]])


@pytest.mark.parametrize(
    ("table", "labels", "message"),
    [
        (MIXED, [0], r"inconsistent numbers of samples: \[2, 1\].*one label for each row"),
        (MIXED, None, "requires y to be passed"),
        (MIXED, [None, "a"], "1 labels are missing, the first in row 0"),
        (MIXED, [0.5, 1.7], "Unknown label type"),
        (MIXED.iloc[:0], [], "0 sample.* required.*Pass at least one row"),
        (np.array([[0.0, NAN], [-np.inf, NAN]]), [0, 1], "Feature 0 holds infinity"),
    ],
    ids=range(6),
)
def test_unusable_training_tables_are_refused(table, labels, message):
    with pytest.raises(ValueError, match=message):
        TableTree().fit(table, labels)


def test_odd_memory_is_copied_for_the_core():
    records = np.zeros(4, dtype=[("id", "i4"), ("x", "f8", 3)])
    rows, *_ = learn_table(TableTree(), records["x"], [0, 1, 0, 1])
    assert rows.flags.aligned
    assert not any(stride % 8 for stride in rows.strides)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -2, 3, 7]),
        np.array([127, -128], dtype=np.int8).repeat(200),
        np.array([250, 3, 250], dtype=np.uint8),
        np.array([2**63, 2**63 + 1, 2**63], dtype=np.uint64),
        np.array([-(2**62), 2**62]),
        np.array([True, False, True]),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "ø", "a\0", ""] * 300),
        np.array(["b", "a", "ø", "a\0", ""] * 300, dtype=object),
        np.array(["b", np.str_("a"), "\ud800"] * 500, dtype=object),
        np.array([b"b", b"a"] * 600, dtype=object),
        np.array([3, 1.5, True] * 400, dtype=object),
    ],
    ids=lambda y: f"{y.dtype} {len(y)}",
)
def test_distinct_labels_are_those_of_numpy(y):
    classes, codes = distinct_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["b", "a", "c"] * 500),
        pd.Series(["b", "a", "c"] * 500, dtype="string"),
        pd.Series(["b", "a", "c"] * 500, dtype="category"),
        pd.Series(["b", "a", "c"] * 500, dtype=object),
        ["b", "a", "c"] * 500,
        np.array(["b", "a", "c"] * 500, dtype="U7"),
        pl.Series(["b", "a", "c"] * 500),
    ],
    ids=lambda y: f"{type(y).__module__} {getattr(y, 'dtype', '')}",
)
def test_many_labels_are_learned_as_few(y):
    table = np.zeros((len(y), 1))
    _, _, classes, codes = learn_table(TableTree(), table, y)
    _, _, few, _ = learn_table(TableTree(), table[:300], y[:300])
    assert (classes.tolist(), classes.dtype) == (few.tolist(), few.dtype)
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(classes[codes], np.asarray(y))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[1499, 1500\].*one label for each row"):
        learn_table(TableTree(), table[1:], y)


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT])
@pytest.mark.parametrize("n_rows", [10, 2000])
def test_the_first_missing_label_is_named(missing, n_rows):
    y = np.array(["a", "b"] * (n_rows // 2), dtype=object)
    y[[7, 9]] = missing
    with pytest.raises(ValueError, match=r"2 labels are missing, the first in row 7. Leave these rows out"):
        learn_table(TableTree(), np.zeros((n_rows, 1)), y)
