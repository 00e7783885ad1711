"""The plain form of columns in model files is readable, comes back, and is refused when it is something else."""

import pickle

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferl._tables import Schema

NAN = float("nan")
MIXED = pd.DataFrame({"age": [30.5, 40.5], "zip": [7, 5], "city": ["Oslo", "Bergen"], "member": [True, False]})


FORM = Schema.learn(MIXED, [1, 2, 3]).to_dict()


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
    columns = Schema.from_dict(FORM)
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
        ({}, "columns has no names and no features"),
        ({"names": None}, "columns has no features"),
        (FORM | {"extra": 1}, "columns has 'extra', which is not known"),
        (FORM | {"names": "age"}, "names is 'age'; it must be null or a list of one name for each of the 4"),
        (FORM | {"names": ["a"]}, "names is .'a'.; it must be null or a list"),
        (FORM | {"names": ["a", "b", "c", "a"]}, "two features are called 'a'"),
        (FORM | {"names": ["a", "b", "c", 4]}, "4 is not a name"),
        (FORM | {"names": ["a", "b", "c", "\ud800"]}, "is not a name"),
        ({"names": None, "features": []}, "at least one feature"),
        ({"names": None, "features": {"kind": "number"}}, "it must be a list"),
        ({"names": None, "features": ["number"]}, "feature 0 is 'number'; it must be an object"),
        ({"names": None, "features": deep}, "feature 0 is"),
        (one_feature(kind="date", levels=[]), "feature 0 is of kind 'date'; kinds are number, text, bool, int, float"),
        (one_feature(kind=["text"], levels=[]), "feature 0 is of kind .'text'."),
        (one_feature(kind="number", levels=[]), "feature 0 has 'levels', which is not known"),
        (one_feature(kind="text"), "feature 0 has no levels"),
        (one_feature(levels=[]), "feature 0 has no kind"),
        (one_feature(kind="text", levels="abc"), "levels is 'abc'; it must be a list"),
        (one_feature(kind="text", levels=["a", 1]), "1 cannot be a level of kind text"),
        (one_feature(kind="text", levels=["\ud800"]), "cannot be a level of kind text"),
        (one_feature(kind="text", levels=["b", "a"]), "'a' follows 'b'; levels are sorted"),
        (one_feature(kind="text", levels=["a", "a"]), "'a' follows 'a'"),
        (one_feature(kind="int", levels=[True]), "True cannot be a level of kind int"),
        (one_feature(kind="int", levels=[1.0]), "1.0 cannot be a level of kind int"),
        (one_feature(kind="int", levels=[2**63]), "9223372036854775808 cannot be a level of kind int"),
        (one_feature(kind="int", levels=[10**5000]), "cannot be a level of kind int"),
        (one_feature(kind="bool", levels=[0, 1]), "0 cannot be a level of kind bool"),
        (one_feature(kind="float", levels=[NAN]), "nan cannot be a level of kind float"),
        (one_feature(kind="float", levels=[float("inf")]), "inf cannot be a level of kind float"),
        (one_feature(kind="float", levels=[True]), "True cannot be a level of kind float"),
        (one_feature(kind="float", levels=[None]), "None cannot be a level of kind float"),
    ],
    ids=range(33),
)
def test_forms_that_are_not_columns_are_refused(form, message):
    with pytest.raises(ValueError, match=message):
        Schema.from_dict(form)


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
        columns = Schema.from_dict(form)
    except ValueError:
        with pytest.raises(ValueError, match=r"^columns"):
            Schema.from_dict(form)
    else:
        assert Schema.from_dict(columns.to_dict()) == columns
