"""Any table becomes the same numbers: categories, missing values, names, and errors that name the column."""

import json
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferl._models.form import Sizes
from ferl._models.model_file import columns_from_form, columns_to_form
from ferl._tables import Schema, read_table

NAN = float("nan")
LAW = settings(max_examples=40, deadline=None)


def levels(columns):
    return [None if known is None else known.tolist() for known in columns.categories]


def objects(*rows):
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    table[:] = rows
    return table


# ---------------------------------------------------------------------------------------------------------------------
# One table in many libraries
# ---------------------------------------------------------------------------------------------------------------------

VALUES = {
    "text": st.text(st.characters(codec="utf-8"), max_size=4),
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "float": st.floats(allow_nan=False, allow_infinity=False),
}
ARROW = {"text": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
POLARS = {"text": pl.String, "bool": pl.Boolean, "int": pl.Int64, "float": pl.Float64}
NULLABLE = {"text": "string", "bool": "boolean", "int": "Int64", "float": "Float64"}


@st.composite
def any_table(draw):
    """Kinds, names, and columns of values with None where one is missing."""
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    n_rows = draw(st.integers(1, 12))
    names = draw(st.lists(st.text(st.characters(codec="utf-8")), min_size=len(kinds), max_size=len(kinds), unique=True))
    columns = [draw(st.lists(VALUES[kind] | st.none(), min_size=n_rows, max_size=n_rows)) for kind in kinds]
    return kinds, names, columns


def in_every_library(kinds, names, columns):
    """Tables with names, then tables without; they hold the same values."""
    kind = dict(zip(names, kinds, strict=True))
    held = dict(zip(names, columns, strict=True))
    arrow = pa.table({name: pa.array(values, ARROW[kind[name]]) for name, values in held.items()})
    nullable = pd.DataFrame({name: pd.Series(values, dtype=NULLABLE[kind[name]]) for name, values in held.items()})
    polars = pl.DataFrame({name: pl.Series(values, dtype=POLARS[kind[name]]) for name, values in held.items()})
    categories = [name for name in names if kind[name] != "float"]
    yield arrow
    yield pa.table({name: arrow[name].dictionary_encode() if name in categories else arrow[name] for name in names})
    yield pa.concat_tables([arrow, arrow.slice(0, 0)])
    yield nullable
    yield nullable.astype(dict.fromkeys(categories, "category"))
    yield nullable.convert_dtypes(dtype_backend="pyarrow")
    yield pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in held.items()})
    yield polars
    yield polars.with_columns(pl.col(name).cast(pl.Categorical) for name in names if kind[name] == "text")
    yield nw.from_native(polars)
    table = objects(*zip(*columns, strict=True))
    yield table
    yield np.asfortranarray(table)
    yield table.tolist()


@LAW
@given(any_table())
def test_every_library_gives_the_same_columns_and_codes(table):
    kinds, names, columns = table
    told = [place for place, kind in enumerate(kinds) if kind != "float"]
    tables = list(in_every_library(kinds, names, columns))
    first = Schema.learn(tables[0], told)
    expected = first.encode(tables[0])
    for place, (kind, values) in enumerate(zip(kinds, columns, strict=True)):
        known = first.categories[place]
        if kind == "float":
            assert known is None
            np.testing.assert_array_equal(expected[:, place], np.array(values, dtype=float))
        else:
            assert known.tolist() == sorted({value for value in values if value is not None})
            decoded = [None if np.isnan(code) else known.tolist()[int(code)] for code in expected[:, place]]
            assert decoded == values
    for other in tables:
        learned = Schema.learn(other, told)
        assert columns_to_form(learned)["features"] == columns_to_form(first)["features"]
        assert learned.names in (first.names, None)
        np.testing.assert_array_equal(first.encode(other), expected)
        np.testing.assert_array_equal(first.encode(read_table(other)), expected)  # not the way of few rows
        np.testing.assert_array_equal(learned.encode(tables[0]), expected)
        assert first.unseen(other) == {}


@LAW
@given(any_table(), st.randoms(use_true_random=False))
def test_the_order_of_named_columns_does_not_matter(table, random):
    kinds, names, _ = table
    told = [place for place, kind in enumerate(kinds) if kind != "float"]
    order = random.sample(range(len(names)), len(names))
    permuted = [[part[place] for place in order] for part in table]
    original = next(in_every_library(*table))
    learned = Schema.learn(original, told)
    for other in in_every_library(*permuted):
        if not isinstance(other, np.ndarray | list):
            np.testing.assert_array_equal(learned.encode(other), learned.encode(original))


@LAW
@given(st.lists(st.none() | st.sampled_from("abcdef"), min_size=1, max_size=20), st.permutations("uvwxyz"))
def test_relabelled_categories_are_the_same_rows_in_another_order_of_codes(values, others):
    name = dict(zip("abcdef", others, strict=True)) | {None: None}
    table, relabelled = pl.DataFrame({"x": values}), pl.DataFrame({"x": [name[value] for value in values]})
    schema = pl.Schema({"x": pl.String})
    one, other = (Schema.learn(frame.cast(schema)) for frame in (table, relabelled))
    (known,), (known_other,) = one.categories, other.categories
    assert sorted(name[value] for value in known.tolist()) == known_other.tolist()
    codes, codes_other = one.encode(table)[:, 0], other.encode(relabelled)[:, 0]
    np.testing.assert_array_equal(np.isnan(codes), np.isnan(codes_other))
    there = ~np.isnan(codes)
    assert [name[known[int(code)]] for code in codes[there]] == [known_other[int(code)] for code in codes_other[there]]


@LAW
@given(any_table())
def test_the_plain_form_comes_back_from_json(table):
    kinds, _, _ = table
    told = [place for place, kind in enumerate(kinds) if kind != "float"]
    for frame in in_every_library(*table):
        columns = Schema.learn(frame, told)
        again = columns_from_form(json.loads(json.dumps(columns_to_form(columns))), Sizes(0))
        assert again == columns
        assert hash(again) == hash(columns)
        assert [known is None or known.dtype for known in again.categories] == [
            known is None or known.dtype for known in columns.categories
        ]
        np.testing.assert_array_equal(again.encode(frame), columns.encode(frame))


# ---------------------------------------------------------------------------------------------------------------------
# What is a category
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["b", "a", None]), ["a", "b"]),
        (pd.Series(["b", "a", NAN], dtype=object), ["a", "b"]),
        (pd.Series(["b", "a", pd.NA, pd.NaT], dtype=object), ["a", "b"]),
        (pd.Series(["", "a"]), ["", "a"]),
        (pd.Series(["a", "a\0"]), ["a", "a\0"]),
        (pd.Series(["a", "b"], dtype="string[pyarrow]"), ["a", "b"]),
        (pd.Series(["a", None], dtype="category"), ["a"]),
        (pd.Series([3, 1, None], dtype="category"), [1, 3]),
        (pd.Series([2.5, 1.5], dtype="category"), [1.5, 2.5]),
        (pd.Series([True, None], dtype="category"), [True]),
        (pd.Series([True, False]), [False, True]),
        (pd.Series([True, None], dtype="boolean"), [True]),
        (pd.Series([True, None], dtype=object), [True]),
        (pd.Series([True, None], dtype="bool[pyarrow]"), [True]),
        (pd.Series([], dtype="category").reindex(range(2)), []),
        (pd.Series([1, 2]), None),
        (pd.Series([1, None], dtype="Int64"), None),
        (pd.Series([1, None], dtype="int64[pyarrow]"), None),
        (pd.Series([1, 2.5, None], dtype=object), None),
        (pd.Series([None, None], dtype=object), None),
        (pd.Series(pd.arrays.SparseArray([0, 1])), None),
        (pl.Series(["b", "a"], dtype=pl.Enum(["b", "a", "c"])), None),
        (pl.Series(["b", None], dtype=pl.Categorical), ["b"]),
        (pl.Series([None, None]), None),
        (pl.Series([None, None], dtype=pl.String), []),
        (pl.Series([1, 2**100], dtype=pl.Int128), None),
        (pl.Series([1, None], dtype=pl.UInt8), None),
        (pl.Series([Decimal("1.5"), None]), None),
        (pl.Series([1.5, "a", None], dtype=pl.Object).slice(1), ["a"]),
        (pa.array(["b", "a"]).dictionary_encode(), ["a", "b"]),
        (pa.array(np.array([1, 2], dtype=np.float16)), None),
        (pa.array(["b", "a"], pa.string_view()), ["a", "b"]),
        (pa.array([Decimal("1.5"), None]).dictionary_encode(), [1.5]),
        (pa.array([None, None]), None),
    ],
    ids=str,
)
def test_the_type_of_a_column_says_whether_it_holds_categories(column, expected):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(column).__module__.split(".")[0]]
    table = make({"x": column})
    columns = Schema.learn(table)
    assert columns.names == ("x",)
    assert levels(columns) == [expected]
    assert [type(level) for level in levels(columns)[0] or []] == [type(level) for level in expected or []]
    encoded = columns.encode(table)
    assert encoded.shape == (len(column), 1)
    assert encoded.dtype == np.float64


def test_numbers_stay_as_they_are_and_missing_ones_are_nan():
    table = pd.DataFrame(
        {
            "float": [1.5, None],
            "nullable": pd.Series([7, None], dtype="Int64"),
            "half": np.array([0.5, 2], dtype=np.float16),
            "swapped": np.array([1, -2], dtype=">i4"),
            "decimal": pd.Series([Decimal("0.25"), None], dtype=object),
            "mixed": pd.Series([Fraction(1, 4), True], dtype=object),
            "large": pd.Series([2**62, 1.5], dtype=object),
            "single": pd.Series([np.float32(0.5), np.int64(2**40 + 1)], dtype=object),
            "sparse": pd.arrays.SparseArray([0.0, 3.0]),
        }
    )
    columns = Schema.learn(table)
    assert columns.n_categories.tolist() == [0] * 9
    assert columns.n_categories.dtype == np.int32
    np.testing.assert_array_equal(
        columns.encode(table),
        [[1.5, 7, 0.5, 1, 0.25, 0.25, 2.0**62, 0.5, 0], [NAN, NAN, 2, -2, NAN, 1, 1.5, 2**40 + 1, 3]],
    )


def test_arrays_of_numbers_are_not_copied():
    table = np.random.default_rng(0).normal(size=(5, 3))
    table[2, 1] = NAN
    assert Schema.learn(table).encode(table) is table


def test_masked_values_are_missing():
    table = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    columns = Schema.learn(table, [1])
    assert levels(columns) == [None, [4]]
    np.testing.assert_array_equal(columns.encode(table), [[1, NAN], [3, 0]])


def test_rows_of_lists_keep_the_types_of_their_values():
    rows = [[1, "a", True, 2.5], [2, None, False, None]]
    columns = Schema.learn(rows)
    assert levels(columns) == [None, ["a"], [False, True], None]
    np.testing.assert_array_equal(columns.encode(rows), [[1, 0, 1, 2.5], [2, NAN, 0, NAN]])
    np.testing.assert_array_equal(columns.encode(tuple(map(tuple, rows))), columns.encode(rows))
    assert levels(Schema.learn([np.array([1.0, 2.0]), np.array([3.0, 4.0])])) == [None, None]


def test_categories_that_no_training_row_holds_are_unseen():
    column = pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"])
    columns = Schema.learn(pd.DataFrame({"x": column}))
    assert levels(columns) == [["a", "b"]]
    np.testing.assert_array_equal(columns.encode(pd.DataFrame({"x": ["c", "a", None]}))[:, 0], [2, 0, NAN])


def test_dictionaries_may_repeat_values_hold_nulls_and_differ_between_chunks():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", "a", None])),
        pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b"])),
    ]
    for table in (pa.table({"x": pa.chunked_array(chunks)}), pa.table({"x": pa.concat_arrays([chunks[1], chunks[1]])})):
        assert levels(Schema.learn(table)) == [["a", "b"]]
    table = pa.table({"x": pa.chunked_array(chunks)})
    np.testing.assert_array_equal(Schema.learn(table).encode(table)[:, 0], [0, 0, NAN, NAN, 1, 0])
    np.testing.assert_array_equal(Schema.learn(table).encode(pa.table({"x": chunks[0]})).ravel(), [0, 0, NAN, NAN])


def test_record_batches_keep_their_names():
    batch = pa.record_batch({"x": ["a", "b"]})
    columns = Schema.learn(batch)
    assert columns.names == ("x",)
    np.testing.assert_array_equal(columns.encode(batch), [[0], [1]])


# ---------------------------------------------------------------------------------------------------------------------
# categorical_features
# ---------------------------------------------------------------------------------------------------------------------

MIXED = pd.DataFrame({"age": [30.5, 40.5], "zip": [7, 5], "city": ["Oslo", "Bergen"], "member": [True, False]})


@pytest.mark.parametrize(
    "choice",
    [["zip", "city"], ["zip"], [1, 2], np.array([1]), np.array(["city", "zip"]), (2, 1), [False, True, True, False]],
    ids=str,
)
def test_features_are_chosen_by_names_indices_or_mask_beside_those_that_types_choose(choice):
    columns = Schema.learn(MIXED, choice)
    assert levels(columns) == [None, [5, 7], ["Bergen", "Oslo"], [False, True]]
    np.testing.assert_array_equal(columns.encode(MIXED), [[30.5, 1, 1, 1], [40.5, 0, 0, 0]])


def test_by_type_integers_are_numbers_and_none_chooses_nothing():
    assert levels(Schema.learn(MIXED)) == [None, None, ["Bergen", "Oslo"], [False, True]]
    assert levels(Schema.learn(MIXED, [])) == levels(Schema.learn(MIXED))
    assert levels(Schema.learn(MIXED.drop(columns="city"), None)) == [None] * 3
    declared = pd.DataFrame({"x": pd.Series([5, 7, None], dtype="category")})
    columns = Schema.learn(declared, None)
    assert levels(columns) == [None]
    np.testing.assert_array_equal(columns.encode(declared).ravel(), [5, 7, NAN])


def test_arrays_of_numbers_hold_categories_when_told():
    table = np.array([[1.0, 5.0], [NAN, 2.5], [1.0, 7.0]])
    columns = Schema.learn(table, [0, 1])
    assert levels(columns) == [[1], [2.5, 5, 7]]
    assert [known.dtype for known in columns.categories] == [np.int64, np.float64]
    np.testing.assert_array_equal(columns.encode(table), [[0, 1], [NAN, 0], [0, 2]])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("city", r"categorical_features is 'city'.*pass \['city'\]"),
        (["town", "city"], "names 'town'; the columns of the table are 'age', 'zip', 'city', 'member'"),
        ([0, 4, -1], "holds 4, -1; the table has 4 columns, 0 to 3"),
        ([True], "mask of 1 columns; the table has 4"),
        (["city", 1], "holds int and str"),
        ([True, 2, False, 0], "holds bool and int"),
        ([1.5], "holds float"),
        (7, "categorical_features is 7; it must be names, indices"),
        (np.eye(4, dtype=bool), "2 dimensions"),
        (None, r"Column 'city' holds text \(for example 'Bergen'\), and categorical_features is None"),
    ],
    ids=str,
)
def test_unusable_choices_are_named(choice, message):
    with pytest.raises(ValueError, match=message):
        Schema.learn(MIXED, choice)


def test_names_need_a_table_with_names():
    with pytest.raises(ValueError, match="names 'city', but the table has no names"):
        Schema.learn(MIXED.to_numpy(), ["city"])


# ---------------------------------------------------------------------------------------------------------------------
# Other tables than the one learned from
# ---------------------------------------------------------------------------------------------------------------------


def test_categories_are_matched_by_value_across_types():
    integers = Schema.learn(pd.DataFrame({"x": [1, 0, 1]}), ["x"])
    booleans = Schema.learn(pd.DataFrame({"x": [True, False, True]}))
    for columns in (integers, booleans):
        for other in ([1, 0, 2], [1.0, 0.0, 1.5], pd.Categorical([1, 0, 3]), [Decimal(1), Decimal(0), Decimal(9)]):
            np.testing.assert_array_equal(columns.encode(pd.DataFrame({"x": other})).ravel(), [1, 0, 2])
        np.testing.assert_array_equal(columns.encode(pl.DataFrame({"x": [True, False, None]})).ravel(), [1, 0, NAN])
    large = Schema.learn(pl.DataFrame({"x": [2**53, 2**53 + 1]}), ["x"])
    assert levels(large) == [[2**53, 2**53 + 1]]
    np.testing.assert_array_equal(large.encode(pl.DataFrame({"x": [2**53 + 1, 2**53 + 2]})).ravel(), [1, 2])


def test_whole_floats_are_integers():
    assert levels(Schema.learn(pd.DataFrame({"x": [3, None, 1]}), ["x"])) == [[1, 3]]
    assert Schema.learn(pd.DataFrame({"x": [3, None, 1]}), ["x"]) == Schema.learn(pl.DataFrame({"x": [3, 1]}), ["x"])


def test_unseen_categories_are_listed_by_column():
    columns = Schema.learn(MIXED, [1, 2])
    new = pl.DataFrame({"member": [True] * 3, "city": ["Rome", "Oslo", "Bonn"], "zip": [9, 5, None], "age": [1] * 3})
    assert columns.unseen(new) == {"zip": [9], "city": ["Bonn", "Rome"]}
    np.testing.assert_array_equal(columns.encode(new), [[1, 2, 2, 1], [1, 0, 1, 1], [1, NAN, 2, 1]])
    assert columns.unseen(objects([1, 9, "Oslo", True])) == {"zip": [9]}
    assert Schema.learn([["a"]]).unseen([["b"], [None]]) == {0: ["b"]}


def test_a_categorical_column_without_values_is_missing_everywhere():
    columns = Schema.learn(pl.DataFrame({"x": pl.Series([None], dtype=pl.String), "y": [1.0]}))
    assert levels(columns) == [[], None]
    assert columns.n_categories.tolist() == [0, 0]
    new = pl.DataFrame({"x": ["a"], "y": [2.0]})
    np.testing.assert_array_equal(columns.encode(new), [[NAN, 2.0]])
    assert columns.unseen(new) == {"x": ["a"]}


def test_columns_without_a_value_may_change_their_type():
    columns = Schema.learn(MIXED)
    new = pd.DataFrame({"age": ["x", None], "zip": [1, 2], "city": [NAN, NAN], "member": [None, None]}).iloc[1:]
    np.testing.assert_array_equal(columns.encode(new), [[NAN, 2, NAN, NAN]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"age": ["old", "young"]}, r"Column 'age' holds text \(for example 'old'\); in training it held numbers"),
        ({"age": [1.0, np.inf]}, "Column 'age' holds infinity"),
        ({"city": [1, 2]}, r"Column 'city' holds numbers .for example 1.*were text .for example 'Bergen'.*to text"),
        ({"city": [True, False]}, r"Column 'city' holds booleans .for example True"),
        ({"member": ["yes", "no"]}, r"Column 'member' holds text .for example 'yes'.*were booleans .for example False"),
        ({"member": [1.0, np.inf]}, "Column 'member' holds infinity"),
        ({"name": ["a", "b"]}, "(?s)Feature names unseen at fit time:\n- name\nLeave out"),
    ],
)
def test_columns_that_changed_are_named(changed, message):
    columns = Schema.learn(MIXED)
    for new in (
        MIXED.assign(**changed),
        pl.from_pandas(MIXED).with_columns(**{k: pl.Series(v) for k, v in changed.items()}),
    ):
        with pytest.raises(ValueError, match=message):
            columns.encode(new)


def test_missing_columns_are_named_and_arrays_must_have_as_many():
    columns = Schema.learn(MIXED)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*yet now missing:\n- city\n- zip\n"):
        columns.encode(MIXED[["age", "member"]])
    wide = Schema.learn(pd.DataFrame([range(7)], columns=list("abcdefg")))
    with pytest.raises(ValueError, match=r"(?s)now missing:\n- b\n- c\n- d\n- e\n- f\n- ...\n"):
        wide.encode(pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="X has 3 features, but the training table had 4"):
        columns.encode(MIXED.to_numpy()[:, :3])
