"""Columns that cannot be used get an error that names them and the remedy."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from ferl._tables import Schema


def objects(*rows):
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    table[:] = rows
    return table


DAY = dt.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([dt.time(1)], "holds time64.*seconds since midnight"),
        ([dt.timedelta(1)], "holds duration.*number of seconds"),
        ([b"raw"], "holds (large_)?binary.*b'raw'.*Decode it"),
        ([[1, 2]], "holds (large_)?list.*column of its own"),
        ([{"a": 1}], "holds struct.*column of its own"),
    ],
)
def test_types_that_are_neither_numbers_nor_categories_get_a_remedy(values, message):
    for make in (pl.DataFrame, pa.table, lambda held: pd.DataFrame(pd.Series(held["x"], dtype=object, name="x"))):
        with pytest.raises(ValueError, match=message):
            Schema.learn(make({"x": values}))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.timedelta_range("1h", periods=2), "holds timedelta64.*number of seconds"),
        (pd.period_range("2020", periods=2, freq="M"), "holds .*period.*year, month and day"),
        (pd.cut([1.0, 2.0], 2), "holds .*interval.*into text"),
        (pd.Categorical(pd.date_range("2020", periods=2)), "holds timestamp.*dates as dates"),
        (pd.Categorical([1, "a"], categories=[1, "a"]), "holds text .for example 'a'. and numbers .for example 1"),
        (np.array([1j, 2]), "Complex data not supported: Column 'x'"),
    ],
)
def test_types_of_pandas_get_a_remedy(column, message):
    with pytest.raises(ValueError, match=message):
        Schema.learn(pd.DataFrame({"x": column}))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (objects([1.0, "Oslo"], [2.0, 3]), ValueError, "Feature 1 holds text .*'Oslo'.* and numbers .for example 3"),
        (objects([1.0, 3], [2.0, "Oslo"]), ValueError, "Feature 1 holds text .*'Oslo'.* and numbers .for example 3"),
        (objects([{"foo": "bar"}], [1.0]), TypeError, "Feature 0 holds .'foo': 'bar'., of type dict; an argument must"),
        (objects([DAY], ["a"]), TypeError, "Feature 0 holds datetime"),
        (objects([b"a"], ["b"]), (TypeError, ValueError), "Feature 0 holds .*b'a'"),
        (objects([1j], [1]), ValueError, "Complex data not supported: Feature 0 holds 1j"),
        (objects([10**400], [1]), ValueError, "Feature 0 holds a number beyond the range"),
        (objects(["\ud800"], ["a"]), ValueError, "Feature 0 holds text that is not valid Unicode"),
        (np.array([[b"a"]]), ValueError, "Feature 0 holds bytes.*Decode it to text"),
        ([[1, 2], [3]], ValueError, "Row 0 has 2 values and row 1 has 1"),
        ([["a", "b"], ["a", "b", "c"]], ValueError, "Row 0 has 2 values and row 1 has 3"),
        (["a", "b"], ValueError, "(?s)Expected 2D array, got 1D array.*Reshape"),
        (np.ones(3), ValueError, "(?s)Expected 2D array, got 1D array.*Reshape"),
        (np.ones((1, 1, 1)), ValueError, "dim 3"),
        (np.ones((1, 1)) * 1j, ValueError, "Complex data not supported"),
        (pd.Series([1.0]), ValueError, "2-dimensional container"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (pl.DataFrame({"a": []}), ValueError, "0 sample"),
        (pd.DataFrame(index=[0, 1]), ValueError, "0 feature"),
        (scipy.sparse.eye(3).tocsr(), TypeError, "(?s)[Ss]parse.*toarray"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"LazyFrame is a query.*X.collect\(\)"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), ValueError, "same name: 'a'. Give"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "same name: 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), TypeError, r"text for a name \('a'\) and some do not \(0\)"),
    ],
    ids=range(25),
)
def test_other_tables_are_refused_with_what_is_wrong(rows, error, message):
    with pytest.raises(error, match=message):
        Schema.learn(rows)


def test_integers_beyond_64_bits_cannot_be_categories():
    with pytest.raises(ValueError, match=r"Column 'x' holds a category of 9223372036854775808.*Pass them as text"):
        Schema.learn(pl.DataFrame({"x": pl.Series([2**63], dtype=pl.UInt64)}), ["x"])
    with pytest.raises(ValueError, match="Feature 0 holds infinity"):
        Schema.learn([[np.inf], [1.0]], [0])


def test_names_that_are_not_text_are_places():
    table = pd.DataFrame([[1.0, "a"], [2.0, "b"]])
    columns = Schema.learn(table)
    assert columns.names is None
    np.testing.assert_array_equal(columns.encode(table[[0, 1]].to_numpy()), columns.encode(table))


def test_text_that_spells_numbers_beside_other_text_gets_a_warning():
    # What NumPy makes of [[1.5, "Oslo"], [2.5, "Rome"]].
    table = np.array([[1.5, "Oslo"], [2.5, "Rome"]])
    with pytest.warns(UserWarning, match=r"Feature 0 holds text that spells numbers .for example '1.5'"):
        columns = Schema.learn(table)
    assert columns.categories[0].tolist() == ["1.5", "2.5"]
    for deliberate, choice in (
        (table, [0, 1]),
        (table[:, :1], "from_dtype"),
        (pd.DataFrame(table, columns=["a", "b"]), "from_dtype"),
    ):
        assert Schema.learn(deliberate, choice).categories[0].tolist() == ["1.5", "2.5"]
    with pytest.raises(ValueError, match=r"Feature 0 holds text .*in training it held numbers.*dtype object"):
        Schema.learn([[1.5, "Oslo"]]).encode(table)
