"""The plain form of columns in model files is readable, comes back, and is refused when it is something else."""

import pickle

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferl._models.form import ModelFileError, Sizes
from ferl._models.model_file import columns_from_form, columns_to_form
from ferl._tables import Schema

NAN = float("nan")
MIXED = pd.DataFrame({"age": [30.5, 40.5], "zip": [7, 5], "city": ["Oslo", "Bergen"], "member": [True, False]})


FORM = columns_to_form(Schema.learn(MIXED, [1, 2, 3]))


def read(form):
    return columns_from_form(form, Sizes(0))


def test_the_plain_form_is_readable():
    assert FORM == {
        "names": ["age", "zip", "city", "member"],
        "features": [
            {"kind": "number"},
            {"kind": "int", "levels": [5, 7]},
            {"kind": "text", "levels": ["Bergen", "Oslo"]},
            {"kind": "bool", "levels": [False, True]},
        ],
    }
    columns = read(FORM)
    assert columns == pickle.loads(pickle.dumps(columns))
    assert columns != Schema.learn(MIXED)
    assert columns != "columns"


def one_feature(**feature):
    return {"names": None, "features": [feature]}


deep = []
for _ in range(2000):
    deep = [deep]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (None, "columns is None; it must be an object"),
        ([], r"columns is \[\]"),
        ({}, "columns has no 'names'"),
        ({"names": None}, "columns has no 'features'"),
        (FORM | {"extra": 1}, "columns has 'extra', which this version of the format does not have"),
        (FORM | {"names": "age"}, "columns.names is 'age'; it must be a list"),
        (FORM | {"names": ["a"]}, "columns.features has 4 entries; it must have 1"),
        (FORM | {"names": ["a", "b", "c", "a"]}, "two features are called 'a'"),
        (FORM | {"names": ["a", "b", "c", 4]}, r"columns.names\[3\] is 4; it must be text"),
        (FORM | {"names": ["a", "b", "c", "\ud800"]}, r"columns.names\[3\] is .* it must be text"),
        ({"names": None, "features": []}, "at least one feature"),
        ({"names": None, "features": {"kind": "number"}}, "it must be a list"),
        ({"names": None, "features": ["number"]}, r"features\[0\] is 'number'; it must be an object"),
        ({"names": None, "features": deep}, r"features\[0\] is"),
        (
            one_feature(kind="date", levels=[]),
            "kind is 'date'; it must be one of 'number', 'text', 'bool'",
        ),
        (one_feature(kind=["text"], levels=[]), "kind is .'text'.; it must be one of"),
        (one_feature(kind="number", levels=[]), "a feature of numbers has no levels"),
        (one_feature(kind="text"), r"features\[0\] has no 'levels'"),
        (one_feature(levels=[]), r"features\[0\] has no 'kind'"),
        (one_feature(kind="text", levels="abc"), "levels is 'abc'; it must be a list"),
        (one_feature(kind="text", levels=["a", 1]), r"levels\[1\] is 1; it must be text"),
        (one_feature(kind="text", levels=["\ud800"]), r"levels\[0\] is .* it must be text"),
        (one_feature(kind="text", levels=["b", "a"]), "'a' follows 'b'; they are sorted"),
        (one_feature(kind="text", levels=["a", "a"]), "'a' follows 'a'"),
        (one_feature(kind="int", levels=[True]), "is True; it must be an integer from"),
        (one_feature(kind="int", levels=[1.0]), "is 1.0; it must be an integer from"),
        (one_feature(kind="int", levels=[2**63]), "is 9223372036854775808; it must be an integer from"),
        (one_feature(kind="int", levels=[10**5000]), "it must be an integer from"),
        (one_feature(kind="bool", levels=[0, 1]), "is 0; it must be true or false"),
        (one_feature(kind="float", levels=[NAN]), "is nan; it must be a finite float"),
        (one_feature(kind="float", levels=[float("inf")]), "is inf; it must be a finite float"),
        (one_feature(kind="float", levels=[True]), "is True; it must be a finite float"),
        (one_feature(kind="float", levels=[None]), "is None; it must be a finite float"),
    ],
    ids=range(33),
)
def test_forms_that_are_not_columns_are_refused(form, message):
    with pytest.raises(ModelFileError, match=message):
        read(form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["text", "number"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["names", "features", "kind", "levels", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON | st.fixed_dictionaries({"names": st.none() | JSON, "features": st.lists(JSON, max_size=3)}))
def test_any_form_ends_in_columns_or_in_an_error_that_says_why(form):
    try:
        columns = read(form)
    except ModelFileError:
        with pytest.raises(ModelFileError, match=r"^columns"):
            read(form)
    else:
        assert read(columns_to_form(columns)) == columns
