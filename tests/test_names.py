"""What a model knows of its table: the target's name, units, meanings of values, kinds of columns, missing markers."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, TableWarning, export_text, load_model, overview, save_model
from ferl._tables import DescriptionError, Schema, TableDescription
from ferl._tables.columns import number_kinds
from ferl._tables.values import date_text, spelled_date
from ferl._tell.statements import statements
from ferl._util.text import difference_text, in_words, number_text, plain, spoken, value_text
from ferl.editing import edit
from name_examples import SAID, SIZES, VARIANTS, fitted, loans, texts

__all__ = ["fitted"]  # a fixture

# ---------------------------------------------------------------------------------------------------------------------
# Names in sentences
# ---------------------------------------------------------------------------------------------------------------------


def test_headlines_name_the_target_and_sentences_use_units_and_meanings(fitted):
    table, _ = loans()
    story = fitted.explain(table.iloc[3])
    assert story.summary.startswith("deny: ")
    assert story.target == "deny"
    assert overview(fitted).summary.startswith("deny: ")
    assert story.label in (0, 1, None)
    assert story.to_dict()["target"] == "deny"
    assert {own["label"] for own in story.to_dict()["classes"]} == {0, 1}
    whole = "\n".join(texts(fitted, table.iloc[3]))
    assert "glucose (mg/dl)" in whole
    assert re.search("deny: (yes|no|No answer)", story.to_text())
    assert "mortgage insurance denied is" in whole
    assert "1e+0" not in whole


def test_a_series_names_the_target_and_an_array_does_not():
    table, y = loans(60)
    assert FERLClassifier(random_state=0).fit(table, y).model_.schema.target.name == "deny"
    assert FERLClassifier(random_state=0).fit(table, pl.Series("deny", y)).model_.schema.target.name == "deny"
    bare = FERLClassifier(random_state=0).fit(table, y.to_numpy())
    assert bare.model_.schema.target.name == ""
    assert "target" not in bare.explain(table.iloc[0]).to_dict()


def test_words_change_no_answer_and_survive_files_pickles_copies_and_readings(fitted, tmp_path):
    table, y = loans()
    bare = clone(fitted).fit(table, y.to_numpy())
    np.testing.assert_array_equal(bare.predict_proba(table), fitted.predict_proba(table))
    save_model(fitted, tmp_path / "model.json")
    others = [load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)]
    expected = texts(fitted, table.iloc[3])
    for other in others:
        assert texts(other, table.iloc[3]) == expected
        assert other.model_.schema.kinds == fitted.model_.schema.kinds
        np.testing.assert_array_equal(other.predict_proba(table), fitted.predict_proba(table))
    kept = fitted.reading(gate_margin=2.0).model_.schema
    assert (kept.target, kept.kinds) == (fitted.model_.schema.target, fitted.model_.schema.kinds)


def test_edits_and_later_blocks_keep_the_words(tmp_path):
    table, y = loans()
    clf = FERLClassifier(random_state=0).fit(table, y, describe=SAID)
    save_model(edit(clf).flatten("glucose"), tmp_path / "model.json")
    edited = load_model(tmp_path / "model.json")
    assert edited.model_.history[0]["feature"] == "glucose"
    assert edited.explain(table.iloc[0]).summary.startswith("deny: ")
    later = (
        FERLTreeClassifier("medium", random_state=0).partial_fit(table[:150], y[:150]).partial_fit(table[150:], y[150:])
    )
    assert later.model_.schema.target.name == "deny"
    assert later.model_.column_kinds[0].name == "date"


def test_given_names_are_printed_as_they_are(fitted):
    text = export_text(fitted, feature_names=["a", "b", "c", "d", "e", "f"], class_names=["0", "1"])
    assert "mg/dl" not in text
    assert "insurance" not in text


def test_units_reach_a_classifier_in_a_pipeline_and_hostile_text_is_one_line():
    table, y = loans(80)
    numbers = table[["age", "glucose"]]
    pipe = make_pipeline(FERLClassifier(random_state=0))
    pipe.fit(numbers, y, ferlclassifier__units={"age": "a\nb\x1b[31m"})
    text = export_text(pipe[-1])
    assert "\x1b" not in text
    assert "age (a b [31m)" in text


# ---------------------------------------------------------------------------------------------------------------------
# Numbers as people write them
# ---------------------------------------------------------------------------------------------------------------------


def test_numbers_are_written_without_powers_of_ten_or_noise():
    numbers = [100.0, 4.300000190734863, 1234567.8, 0.000012, -0.0, 0.1 + 0.2, 123456.0]
    assert [number_text(own) for own in numbers] == ["100", "4.3", "1234568", "0.000012", "0", "0.3", "123456"]
    assert [number_text(own, 2) for own in (123.4, 99.9, 0.0123, 1.0)] == ["123", "100", "0.012", "1"]


def test_values_that_know_their_words_are_told_by_them_and_equal_themselves():
    label, day, text = (
        in_words(True, "yes"),
        in_words(17956.0, "2019-03-01", "2019-03-01", "day"),
        in_words("a", "b\nc"),
    )
    assert label == 1
    assert (spoken(label), plain(label), value_text(day), plain(day)) == ("yes", True, "2019-03-01", "2019-03-01")
    assert (spoken(text), plain(text), {"a": 1}[text]) == ("b c", "a", 1)
    assert [difference_text(day, other) for other in (17955.0, 17950.0)] == ["1 day", "6 days"]
    assert pickle.loads(pickle.dumps(day)).words == "2019-03-01"


@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_numbers_and_zero_one_columns_are_told_as_such_and_truly(variant):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"ht": rng.integers(0, 2, 300), "age": rng.integers(0, 9, 300), "b": rng.random(300) < 0.5})
    y = (table.ht + (table.age >= 4) + table.b) >= 2
    clf = classifier(variant, random_state=0, max_rules=8).fit(table, y)
    text = export_text(clf, **({"shares": False} if variant == "medium" else {}))
    assert [kind.name for kind in clf.model_.schema.kinds] == ["binary", "integer", "category"]
    assert "b is True" in text or "True: " in text
    assert "ht = " in text or "\n     0: " in text
    assert "ht >" not in text
    assert "ht is high" not in text
    if variant == "medium":
        assert "age at least 4" in text
    fits = {"at least": np.greater_equal, "at most": np.less_equal}
    for rule in statements(clf.model_):
        for own in rule.conditions:
            told = own.text("age").split(" ")
            sign = " ".join(told[1:3])
            if own.feature == 1 and sign in fits:
                rows = np.tile([0.0, 0.0, 0.0], (9, 1))
                rows[:, 1] = np.arange(9)
                lower, upper = own.lower, own.upper
                low = -np.inf if lower is None else lower.theta - lower.half_width
                high = np.inf if upper is None else upper.theta + upper.half_width
                expected = (rows[:, 1] > low) & (rows[:, 1] < high)
                np.testing.assert_array_equal(fits[sign](rows[:, 1], float(told[3])), expected)


def test_kinds_of_numbers_are_learned_by_their_values():
    block = np.array([[0.0, 1.0, 0.5, np.nan], [1.0, 7.0, 1.0, np.nan], [np.nan, -2.0, 2.0, np.nan]])
    assert number_kinds(block) == ["binary", "integer", "real", "binary"]
    late = np.zeros((200, 2))
    late[150] = [0.5, 3.0]
    assert number_kinds(late) == ["real", "integer"]
    assert number_kinds(np.array([[0, 3], [1, 4]])) == ["binary", "integer"]


# ---------------------------------------------------------------------------------------------------------------------
# Ordered categories
# ---------------------------------------------------------------------------------------------------------------------


def ordered_tables():
    values = ["mid", "low", None, "high", "mid"]
    yield pd.DataFrame({"x": pd.Categorical(values, SIZES, ordered=True)})
    yield pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(SIZES))})
    yield pa.table({"x": pa.array(values).dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string()))}).set_column(
        0, "x", pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2, 1]), pa.array(SIZES), ordered=True)
    )


@pytest.mark.parametrize("index", range(3))
def test_ordered_categories_are_numbers_in_their_order(index):
    table = list(ordered_tables())[index]
    schema = Schema.learn(table)
    assert schema.kinds[0].order == tuple(SIZES)
    assert schema.categories == (None,)
    expected = np.array([[1.0], [0.0], [np.nan], [2.0], [1.0]])
    for other in ordered_tables():
        np.testing.assert_array_equal(schema.encode(other), expected)
    np.testing.assert_array_equal(schema.encode(pd.DataFrame({"x": ["high", "huge"]})), [[2.0], [np.nan]])
    assert schema.unseen(pd.DataFrame({"x": ["high", "huge"]})) == {"x": ["huge"]}
    assert Schema.learn(table, ["x"]).categories[0].tolist() == sorted(SIZES)


def test_thresholds_of_ordered_categories_are_told_as_categories(fitted):
    table, _ = loans()
    model = fitted.model_
    text = export_text(fitted)
    if fitted.model_.kind == "trees":
        assert "size at least mid" in text
        assert "size is low" in text
    order = model.column_kinds[1].order
    codes = model.schema.encode(table)[:, 1]
    for rule in statements(model):
        for own in rule.conditions:
            if own.feature == 1:
                told = own.text("size")
                full = {order[code] for code, membership in own.categories if membership > 0.995}
                if told.startswith("size at least"):
                    assert full == set(order[order.index(told.split()[-1]) :])
                elif told.startswith("size at most"):
                    assert full == set(order[: order.index(told.split()[-1]) + 1])
    assert set(codes) == {0.0, 1.0, 2.0}
    story = fitted.explain(table.iloc[3])
    assert all(change.to in order for change in story.changes or () if change.feature == "size")


def test_the_nearest_ordered_category_with_another_label_is_found():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 5, 300)
    table = pl.DataFrame({"x": pl.Series([f"g{c}" for c in code], dtype=pl.Enum([f"g{c}" for c in range(5)]))})
    clf = FERLClassifier(random_state=0).fit(table, np.where(code >= 3, "yes", "no"))
    story = clf.explain({"x": "g0"})
    assert [(change.value, change.to, change.label) for change in story.changes] == [("g0", "g3", "yes")]
    assert "What would change it: x g3 instead of g0, all else equal." in story.to_text()
    assert "no" in clf.what_if({"x": "g4"}, {"x": "g1"}).summary
    assert "a category that training did not have" in str(clf.explain({"x": "g9"}))


def test_orders_can_be_said_and_must_hold_all_categories():
    table = pd.DataFrame({"x": ["low", "mid", "high", "?"] * 20, "n": np.arange(80) % 40})
    said = {"columns": {"x": {"order": SIZES, "missing": ["?"]}}}
    clf = FERLTreeClassifier("medium", random_state=0).fit(table, table.x == "high", describe=said)
    np.testing.assert_array_equal(clf.model_.schema.encode(table)[:4, 0], [0, 1, 2, np.nan])
    with pytest.raises(ValueError, match=r"Column 'x' holds '\?', which its order"):
        FERLClassifier().fit(table, table.x == "high", describe={"columns": {"x": {"order": SIZES}}})
    with pytest.raises(DescriptionError, match="Column 'n' holds numbers, which have an order"):
        FERLClassifier().fit(table, table.x == "high", describe={"columns": {"n": {"order": [1, 2]}}})


# ---------------------------------------------------------------------------------------------------------------------
# Dates
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-02", (1.0, False, False)),
        ("1970-01-02 12:00", (1.5, True, False)),
        ("1970-01-02T06:00:00.000", (1.25, True, False)),
        ("1970-01-02T00:00Z", (1.0, True, True)),
        ("1970-01-02T06:00+06:00", (1.0, True, True)),
        ("1969-12-31", (-1.0, False, False)),
        ("2019-02-30", None),
        ("01/02/1970", None),
        ("1970", None),
    ],
)
def test_dates_in_isos_form_are_read(text, expected):
    assert spelled_date(text) == expected
    if expected is not None:
        assert spelled_date(date_text(expected[0]).replace(" UTC", ""))[0] == expected[0]


def test_dates_are_days_in_rules_and_readable(fitted):
    table, _ = loans()
    kind = fitted.model_.column_kinds[0]
    assert kind.name == "date"
    text = export_text(fitted)
    if fitted.words_ is None:
        assert "admitted" in text
    assert "2018-" in text
    assert "17" not in [word[:2] for word in text.split() if word[:5].isdigit()]  # no days since 1970
    story = fitted.explain(table.iloc[3])
    assert "admitted" not in story.to_text() or "2018-" in story.to_text()
    other = fitted.what_if(table.iloc[3], {"admitted": "2019-05-06"})
    assert "admitted were 2019-05-06 instead of 2018-" in other.summary
    json.dumps(story.to_dict())


@pytest.mark.parametrize("variant", ["rules", "medium"])
def test_a_cut_between_two_days_is_told_by_the_day(variant):
    day = pd.date_range("2019-02-25", periods=10)
    table = pd.DataFrame({"admitted": np.tile(day, 20), "n": np.arange(200) % 7})
    clf = classifier(variant, random_state=0).fit(table, table.admitted > "2019-03-01")
    conditions = [own for rule in statements(clf.model_) for own in rule.conditions]
    told = [own.text("admitted") for own in conditions if clf.model_.column_names()[own.feature] == "admitted"]
    assert told
    assert all("2019-0" in own for own in told)
    if variant == "rules":  # to rules a date does not move
        assert not any(own.feature == "admitted" for own in clf.explain(table.iloc[0]).changes)
        return
    assert set(told) == {"admitted after 2019-03-01", "admitted before 2019-03-02"}
    changes = [own for own in clf.explain(table.iloc[0]).changes if own.feature == "admitted"]
    assert [str(value_text(own.to)) for own in changes] == ["2019-03-02"]
    assert [own.to_dict()["to"] for own in changes] == ["2019-03-02"]
    assert "5 days later" in clf.explain(table.iloc[0]).to_text()


def test_time_zones_are_moments_and_are_not_mixed_with_local_times():
    zoned = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=4, freq="12h", tz="Europe/Oslo")})
    schema = Schema.learn(zoned)
    assert (schema.kinds[0].name, schema.kinds[0].is_zoned) == ("time", True)
    expected = schema.encode(zoned)
    for other in (
        zoned.t.dt.tz_convert("UTC"),
        zoned.t.dt.tz_convert("Asia/Tokyo"),
        zoned.t.map(lambda t: t.isoformat()),
    ):
        np.testing.assert_array_equal(schema.encode(pd.DataFrame({"t": other})), expected)
    with pytest.raises(ValueError, match=r"without a time zone; in training they had one.*tz_localize"):
        schema.encode(pd.DataFrame({"t": zoned.t.dt.tz_localize(None)}))
    with pytest.raises(ValueError, match="with a time zone; in training they had none"):
        Schema.learn(pd.DataFrame({"t": zoned.t.dt.tz_localize(None)})).encode(zoned)
    with pytest.raises(ValueError, match=r"holds numbers .for example 3.; in training it held dates with a time zone"):
        schema.encode(pd.DataFrame({"t": [3]}))


def test_text_dates_are_recognised_and_ambiguous_ones_stay_categories():
    with pytest.warns(
        TableWarning, match="Column 'd' holds dates as text, with 'NA' for missing values, and is taken as"
    ):
        schema = Schema.learn(pd.DataFrame({"d": ["2019-03-01", "NA", "2019-03-02"]}))
    np.testing.assert_array_equal(schema.encode(pd.DataFrame({"d": ["2019-03-02", None]})), [[17957.0], [np.nan]])
    with pytest.raises(ValueError, match=r"Column 'd' holds '3\.3\.2019'; in training it held dates. Write dates as"):
        schema.encode(pd.DataFrame({"d": ["3.3.2019"]}))
    with pytest.warns(
        TableWarning, match=r"'03/04/2019', a date whose day and month can be confused, and is taken as cat"
    ):
        schema = Schema.learn(pd.DataFrame({"d": ["03/04/2019", "05/06/2019"]}))
    assert len(schema.categories[0]) == 2
    with pytest.warns(TableWarning, match="some with a time zone and some without"):
        Schema.learn(pd.DataFrame({"d": ["2019-03-01T12:00Z", "2019-03-01T12:00"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Schema.learn(pd.DataFrame({"d": ["2019-03-01", "2019-03-02"]}), ["d"]).categories[0]) == 2
    with pytest.raises(ValueError, match=r"Column 'd' holds dates, which are numbers.*categorical_features"):
        Schema.learn(pd.DataFrame({"d": [dt.date(2019, 3, 1)]}), ["d"])


@pytest.mark.parametrize(
    ("texts", "form", "first_day", "words"),
    [
        (["03.04.2019", "13.01.2019", "NA"], "d.m.y", "2019-04-03", "the day first, with 'NA' for missing values"),
        (["3/4/2019", "1/13/2019"], "m/d/y", "2019-03-04", "the month first"),
        (["03-04-2019 06:00", "13-01-2019 12:30"], "d-m-y", "2019-04-03T06:00", "the day first"),
    ],
)
def test_a_value_above_12_settles_the_order_of_day_and_month(texts, form, first_day, words, tmp_path):
    with pytest.warns(TableWarning, match=f"Column 'd' holds dates as text, {words}, and is taken as dates"):
        clf = FERLClassifier().fit(pd.DataFrame({"d": texts * 10}), [k % 2 for k in range(10 * len(texts))])
    save_model(clf, tmp_path / "model.json")
    schema = load_model(tmp_path / "model.json").model_.schema
    assert schema.kinds[0].date_form == form
    assert schema.kinds[0].name == ("time" if "T" in first_day else "date")
    # What is open by itself is read in the order of training; ISO's form is understood everywhere.
    told = schema.encode(pd.DataFrame({"d": [texts[0], first_day, None]}))[:, 0]
    assert told[0] == told[1] == (np.datetime64(first_day, "m") - np.datetime64("1970-01-01", "m")).astype(float) / 1440
    assert np.isnan(told[2])
    other = (
        form.replace(form[1], "/" if form[1] == "." else ".").replace("y", "2019").replace("d", "1").replace("m", "2")
    )
    with pytest.raises(ValueError, match=rf"Column 'd' holds '{other}'; .*, or (31.12|12.31).2019 as in training"):
        schema.encode(pd.DataFrame({"d": [other]}))


@pytest.mark.parametrize(
    "texts",
    [
        ["13.01.2019", "01.13.2019"],  # no order makes dates of both
        ["13.01.2019", "14/01/2019"],
        ["13.01.19", "14.01.19"],  # of which century, and is it the year that comes first?
        ["12.01.2019", "31.02.2019"],
    ],
)
def test_dates_of_no_single_form_stay_categories(texts):
    with pytest.warns(TableWarning, match="a date whose day and month can be confused, and is taken as categories"):
        schema = Schema.learn(pd.DataFrame({"d": texts}))
    assert len(schema.categories[0]) == 2


# ---------------------------------------------------------------------------------------------------------------------
# Markers of missing values
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["NA", "N/A", "?", "", "nan", "null", "-"])
def test_markers_among_numbers_are_missing_values_and_the_model_remembers_them(marker):
    with pytest.warns(TableWarning, match="Column 'x' holds numbers as text, with .* for missing values, and is taken"):
        schema = Schema.learn(pd.DataFrame({"x": ["1", marker, "2.5"]}))
    assert schema.kinds[0].missing == (marker,)
    np.testing.assert_array_equal(schema.encode(pd.DataFrame({"x": ["7", marker]})), [[7.0], [np.nan]])
    np.testing.assert_array_equal(schema.encode(pd.DataFrame({"x": [7.0, None]})), [[7.0], [np.nan]])
    with pytest.raises(ValueError, match="Column 'x' holds text"):
        schema.encode(pd.DataFrame({"x": ["7", "many"]}))
    with pytest.warns(TableWarning, match="among numbers, which is taken as a missing value"):
        mixed = Schema.learn(pd.DataFrame({"x": pd.Series([1, marker, 2.5], dtype=object)}))
    np.testing.assert_array_equal(mixed.encode(pd.DataFrame({"x": [1, 2.5]})), [[1.0], [2.5]])


def test_text_without_markers_and_markers_among_text_stay_categories():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Schema.learn(pd.DataFrame({"x": ["0117", "9042"]})).categories[0].tolist() == ["0117", "9042"]
        assert Schema.learn(pd.DataFrame({"x": ["NA", "EU", "7"]})).categories[0].tolist() == ["7", "EU", "NA"]
        known = TableDescription.of({"missing": ["NA"]})
        schema = Schema.learn(pd.DataFrame({"x": ["NA", "EU", "US"], "n": ["1", "NA", "3"]}), description=known)
    assert schema.categories[0].tolist() == ["EU", "US"]
    assert schema.categories[1] is None
    np.testing.assert_array_equal(schema.encode(pd.DataFrame({"x": ["NA"], "n": ["NA"]})), [[np.nan, np.nan]])
    assert schema.unseen(pd.DataFrame({"x": ["NA", "AS"], "n": ["2", "3"]})) == {"x": ["AS"]}
