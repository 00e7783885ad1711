"""What a model knows of its table: the target's name, units, meanings of values, kinds of columns, missing markers."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import ferl
from ferl import FERLClassifier, TableWarning, export_text, load_model, overview, rules_frame, save_model
from ferl._cli.app import app
from ferl._read.rules import read_rules
from ferl._tables import Schema
from ferl._tables.dates import date_text, spelled_date
from ferl._tables.describe import DescriptionError, TableDescription, load_description
from ferl._tables.kinds import number_kinds
from ferl._util.text import difference_text, number_text, plain, said_as, spoken, value_text
from ferl.editing import edit
from ferl.export import export_scorecard, reason_codes
from ferl.report import write_report
from ferl.saving import ModelFileError
from ferl.streaming import fit_batches, fit_parquet

VARIANTS = ["wide", "medium", "compact"]
SIZES = ["low", "mid", "high"]
SAID = {
    "target": {"name": "deny", "values": {"0": "no", "1": "yes"}},
    "columns": {"glucose": {"unit": "mg/dl"}, "dmi": {"label": "mortgage insurance denied"}},
}


def loans(n=300):
    """A table with a column of every kind, and labels that depend on all of them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "admitted": pd.to_datetime("2018-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "size": pd.Categorical(rng.choice(SIZES, n), SIZES, ordered=True),
            "age": rng.integers(20, 70, n),
            "ht": rng.integers(0, 2, n),
            "dmi": rng.choice(["no", "yes"], n),
            "glucose": rng.normal(100, 20, n),
        }
    )
    score = (table.admitted > "2018-09-01") * 1.0 + (table["size"] >= "mid") + (table.age > 45) + table.ht
    score = score + (table.dmi == "yes") * 0.7 + (table.glucose - 100) / 40 + rng.normal(0, 0.4, n)
    return table, pd.Series((score > score.median()).astype(int), name="deny")


@pytest.fixture(scope="module", params=VARIANTS)
def fitted(request):
    table, y = loans()
    return FERLClassifier(request.param, random_state=0).fit(table, y, describe=SAID)


def texts(clf, row):
    """All that a model says in words, about itself and about a row."""
    found = [export_text(clf), str(clf.explain(row)), str(overview(clf)), str(rules_frame(clf).conditions.tolist())]
    return found + (
        [] if clf.variant == "medium" else [str(reason_codes(clf, row.to_frame().T)), str(export_scorecard(clf))]
    )


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
    assert "yes (" in story.to_text() or "no (" in story.to_text()
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
    bare = FERLClassifier(fitted.variant, random_state=0).fit(table, y.to_numpy())
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
    later = FERLClassifier("medium", random_state=0).partial_fit(table[:150], y[:150]).partial_fit(table[150:], y[150:])
    assert later.model_.schema.target.name == "deny"
    assert later.model_.kind(0).name == "date"


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
    label, day, text = said_as(True, "yes"), said_as(17956.0, "2019-03-01", "2019-03-01", "day"), said_as("a", "b\nc")
    assert label == 1
    assert (spoken(label), plain(label), value_text(day), plain(day)) == ("yes", True, "2019-03-01", "2019-03-01")
    assert (spoken(text), plain(text), {"a": 1}[text]) == ("b c", "a", 1)
    assert [difference_text(day, other) for other in (17955.0, 17950.0)] == ["1 day", "6 days"]
    assert pickle.loads(pickle.dumps(day)).said == "2019-03-01"


@pytest.mark.parametrize("variant", VARIANTS)
def test_whole_numbers_and_zero_one_columns_are_told_as_such_and_truly(variant):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"ht": rng.integers(0, 2, 300), "age": rng.integers(0, 9, 300), "b": rng.random(300) < 0.5})
    y = (table.ht + (table.age >= 4) + table.b) >= 2
    clf = FERLClassifier(variant, random_state=0, max_rules=8).fit(table, y)
    text = export_text(clf, **({"shares": False} if variant == "medium" else {}))
    assert [kind.name for kind in clf.model_.schema.kinds] == ["binary", "integer", "category"]
    assert "b is True" in text or "True: " in text
    assert "ht = " in text or "\n     0: " in text
    assert "ht >" not in text
    assert "ht is high" not in text
    if variant == "medium":
        assert "age at least 4" in text
    fits = {"at least": np.greater_equal, "at most": np.less_equal}
    for rule in read_rules(clf.model_):
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
    assert schema.kind(0).order == tuple(SIZES)
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
    if fitted.variant == "medium":
        assert "size at least mid" in text
        assert "size is low" in text
    order = model.kind(1).order
    codes = model.schema.encode(table)[:, 1]
    for rule in read_rules(model):
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
    assert "If x were g3 instead of g0: yes." in story.to_text()
    assert "no" in clf.what_if({"x": "g4"}, {"x": "g1"}).summary
    assert "a category that training did not have" in str(clf.explain({"x": "g9"}))


def test_orders_can_be_said_and_must_hold_all_categories():
    table = pd.DataFrame({"x": ["low", "mid", "high", "?"] * 20, "n": np.arange(80)})
    said = {"columns": {"x": {"order": SIZES, "missing": ["?"]}}}
    clf = FERLClassifier("medium", random_state=0).fit(table, table.x == "high", describe=said)
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
    kind = fitted.model_.kind(0)
    assert kind.name == "date"
    text = export_text(fitted)
    if fitted.variant != "compact":
        assert "admitted" in text
    assert "2018-" in text
    assert "17" not in [word[:2] for word in text.split() if word[:5].isdigit()]  # no days since 1970
    story = fitted.explain(table.iloc[3])
    assert "admitted" not in story.to_text() or "2018-" in story.to_text()
    other = fitted.what_if(table.iloc[3], {"admitted": "2019-05-06"})
    assert "admitted were 2019-05-06 instead of 2018-" in other.summary
    json.dumps(story.to_dict())


@pytest.mark.parametrize("variant", ["wide", "medium"])
def test_a_cut_between_two_days_is_told_by_the_day(variant):
    day = pd.date_range("2019-02-25", periods=10)
    table = pd.DataFrame({"admitted": np.tile(day, 20), "n": np.arange(200) % 7})
    clf = FERLClassifier(variant, random_state=0).fit(table, table.admitted > "2019-03-01")
    told = [own.text("admitted") for rule in read_rules(clf.model_) for own in rule.conditions if own.feature == 0]
    if variant == "medium":
        assert set(told) == {"admitted after 2019-03-01", "admitted before 2019-03-02"}
    assert all("2019-0" in own for own in told)
    changes = [own for own in clf.explain(table.iloc[0]).changes if own.feature == "admitted"]
    assert [str(value_text(own.to)) for own in changes] == ["2019-03-02"]
    assert [own.to_dict()["to"] for own in changes] == ["2019-03-02"]
    assert "5 days later" in clf.explain(table.iloc[0]).to_text()


def test_time_zones_are_moments_and_are_not_mixed_with_local_times():
    zoned = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=4, freq="12h", tz="Europe/Oslo")})
    schema = Schema.learn(zoned)
    assert (schema.kind(0).name, schema.kind(0).is_zoned) == ("time", True)
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


# ---------------------------------------------------------------------------------------------------------------------
# Markers of missing values
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["NA", "N/A", "?", "", "nan", "null", "-"])
def test_markers_among_numbers_are_missing_values_and_the_model_remembers_them(marker):
    with pytest.warns(TableWarning, match="Column 'x' holds numbers as text, with .* for missing values, and is taken"):
        schema = Schema.learn(pd.DataFrame({"x": ["1", marker, "2.5"]}))
    assert schema.kind(0).missing == (marker,)
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


# ---------------------------------------------------------------------------------------------------------------------
# Descriptions in files
# ---------------------------------------------------------------------------------------------------------------------

YAML = """\
target: {name: deny, values: {0: no, 1: yes}}
missing: [NA, "?"]
columns:
  glucose: {label: plasma glucose, unit: mg/dl}
  size: {order: [low, mid, high]}
"""


def test_descriptions_are_read_from_yaml_and_json(tmp_path):
    (tmp_path / "table.yaml").write_text(YAML, encoding="utf-8")
    said = load_description(tmp_path / "table.yaml")
    assert (said.target.name, dict(said.target.values)) == ("deny", {"0": "no", "1": "yes"})
    assert said.missing == ("NA", "?")
    assert said.columns["size"].order == ("low", "mid", "high")
    form = {
        "target": {"name": "deny", "values": {"0": "no", "1": "yes"}},
        "missing": ["NA", "?"],
        "columns": {"glucose": {"label": "plasma glucose", "unit": "mg/dl"}, "size": {"order": SIZES}},
    }
    (tmp_path / "table.json").write_text(json.dumps(form), encoding="utf-8")
    assert ferl.load_description(tmp_path / "table.json") == said == TableDescription.of(form)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "the description is .*must be a mapping"),
        ({"colums": {}}, "'colums', which is not known"),
        ({"columns": {"x": {"unit": 3}}}, "columns.x.unit is 3; it must be text"),
        ({"columns": {"x": {"unit": "x" * 201}}}, "at most 200 letters"),
        ({"columns": {"x": {"values": {"0": False}}}}, "columns.x.values.0 is False"),
        ({"columns": {"x": {"values": {True: "yes"}}}}, "a value in columns.x.values is True"),
        ({"columns": {"x": {"order": ["a", "a"]}}}, "has a category twice"),
        ({"columns": {"x": {"order": ["a", 1]}}}, "must all be text, or all be numbers"),
        ({"columns": {"x": {"missing": "NA"}}}, "columns.x.missing is 'NA'; it must be a list"),
        ({"columns": {"x": {"label": "\ud800"}}}, "not valid Unicode"),
        ({"target": {"nam": "y"}}, "'nam', which is not known"),
    ],
)
def test_descriptions_that_are_wrong_say_where(form, message):
    with pytest.raises(DescriptionError, match=message):
        TableDescription.of(form)


def test_descriptions_of_other_tables_and_repeated_keys_are_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"'agee', which the table does not have. Did you mean 'age'"):
        FERLClassifier().fit(pd.DataFrame({"age": [1, 2]}), [0, 1], units={"agee": "years"})
    with pytest.raises(DescriptionError, match="units is"):
        FERLClassifier().fit(pd.DataFrame({"age": [1, 2]}), [0, 1], units=["years"])
    (tmp_path / "twice.json").write_text('{"target": "y", "target": "z"}')
    with pytest.raises(DescriptionError, match=r"twice.json: the description has 'target' twice"):
        load_description(tmp_path / "twice.json")
    with pytest.raises(DescriptionError, match="format is unknown"):
        load_description(tmp_path / "table.txt")


def test_the_command_line_takes_a_description_and_answers_to_the_markers(tmp_path):
    table, y = loans()
    table = table.assign(size=table["size"].astype(str), deny=y, glucose=table.glucose.round(1).astype(str))
    table.loc[::9, "glucose"] = "?"
    table.loc[::11, "dmi"] = "NA"
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "table.yaml").write_text(YAML, encoding="utf-8")
    run = CliRunner().invoke
    paths = [str(tmp_path / name) for name in ("table.csv", "table.yaml", "model.json", "out.csv")]
    fit = run(app, ["fit", paths[0], "--target", "deny", "--describe", paths[1], "-o", paths[2]])
    assert fit.exit_code == 0, fit.output
    assert "note: column 'admitted' holds dates as text, and is taken as dates" in fit.stderr
    assert "glucose" not in fit.stderr
    model = load_model(paths[2])
    assert model.model_.schema.target.name == "deny"
    assert [kind.name for kind in model.model_.schema.kinds] == [
        "date",
        "ordered",
        "integer",
        "binary",
        "category",
        "real",
    ]
    assert model.categories_[4].tolist() == ["no", "yes"]
    assert "plasma glucose (mg/dl)" in export_text(model)
    assert run(app, ["predict", paths[2], paths[0], "-o", paths[3], "--all"]).exit_code == 0
    frame = table.drop(columns="deny")
    np.testing.assert_allclose(pd.read_csv(paths[3])["probability(1)"], model.predict_proba(frame)[:, 1], atol=1e-6)
    story = run(app, ["explain", paths[2], paths[0], "--row", "4", "--plain"])
    assert story.stdout.startswith("deny: "), story.output
    wrong = run(app, ["fit", paths[0], "--target", "deny", "--describe", paths[0], "-o", paths[2]])
    assert wrong.exit_code != 0
    assert "format is unknown" in wrong.output


# ---------------------------------------------------------------------------------------------------------------------
# Files, streams and other doors
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["wide", "medium"])
def test_streams_learn_the_same_model_from_every_kind_of_column(variant, tmp_path):
    table, y = loans()
    table = table.assign(code=["NA" if i % 9 == 0 else str(i % 4) for i in range(len(table))])
    estimator = FERLClassifier(variant, random_state=0, missing_conditions=variant == "medium")
    with pytest.warns(TableWarning, match="Column 'code' holds numbers as text"):
        whole = clone(estimator).fit(table, y, describe=SAID)
    pq.write_table(pa.Table.from_pandas(table.assign(deny=y)), tmp_path / "table.parquet")
    batches = [(table[i : i + 77], y[i : i + 77]) for i in range(0, len(table), 77)]
    with pytest.warns(TableWarning, match="Column 'code' holds numbers as text"):
        streamed = [
            fit_parquet(tmp_path / "table.parquet", "deny", estimator=estimator, describe=SAID, batch_rows=64),
            fit_batches(batches, estimator=estimator, describe=SAID),
        ]
    for other in streamed:
        assert other.columns_ == whole.columns_
        assert other.model_.missing_features == whole.model_.missing_features
        assert other.model_.schema.target == whole.model_.schema.target
        np.testing.assert_array_equal(other.predict_proba(table), whole.predict_proba(table))
        assert str(other.explain(table.iloc[3])) == str(whole.explain(table.iloc[3]))


def test_batches_whose_kinds_differ_are_refused():
    y = [0, 1]
    for first, second, message in (
        (
            pd.Categorical(SIZES[:2], SIZES, ordered=True),
            pd.Categorical(SIZES[:2], SIZES[::-1], ordered=True),
            "same ord",
        ),
        (pd.to_datetime(["2019-03-01"] * 2), [1.0, 2.0], "holds dates in some batches and numbers in others"),
        (
            pd.to_datetime(["2019-03-01"] * 2),
            pd.to_datetime(["2019-03-01"] * 2, utc=True),
            "a time zone in some batches",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            fit_batches([(pd.DataFrame({"x": own}), y) for own in (first, second)])


def test_onnx_takes_days_and_indices_and_agrees(fitted):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx

    table, _ = loans()
    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString())
    feed = onnx_inputs(fitted, table)
    assert feed["admitted"][0, 0] == (table.admitted[0] - pd.Timestamp("1970-01-01")).days
    assert feed["size"][0, 0] == SIZES.index(table["size"][0])
    forms = {own.name: own.doc_string for own in to_onnx(fitted).graph.input}
    assert forms["admitted"] == "days since 1970-01-01; missing: NaN"
    assert forms["size"] == 'index, from 0, in ["low", "mid", "high"]; missing: NaN'
    [label] = session.run(["label"], feed)
    np.testing.assert_array_equal(label.ravel(), fitted.predict(table))


def test_onnx_takes_markers_of_missing_text():
    onnxruntime = pytest.importorskip("onnxruntime")
    from ferl.onnx import to_onnx

    table = pd.DataFrame({"x": ["a", "b", "?", "c"] * 30, "n": np.arange(120.0)})
    clf = FERLClassifier("medium", random_state=0).fit(table, table.x == "a", describe={"missing": ["?"]})
    session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    feed = {"x": np.array([["?"], [""]], dtype=object), "n": np.array([[3.0], [3.0]])}
    found = session.run(["pignistic"], feed)[0]
    np.testing.assert_allclose(found, clf.predict_proba(pd.DataFrame({"x": [None, "?"], "n": [3.0, 3.0]})))


def written(folder):
    table, y = loans(80)
    save_model(FERLClassifier("medium", random_state=0).fit(table, y, describe=SAID), folder / "model.json")
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": []}, r"table\.columns has 0 entries; it must have 6"),
        ({"target": "deny"}, r"table\.target is 'deny'"),
        ({"target": {"name": 3}}, r"table\.target\.name is 3"),
        ({"target": {"name": "x" * 300}}, "at most 200 letters"),
        ({"more": 1}, "'more', which this version"),
        ({0: {"kind": "dates"}}, r"table\.columns\[0\]\.kind: 'dates' is not one of"),
        ({0: {"kind": "category"}}, "does not fit a column of numbers"),
        ({4: {"kind": "real"}}, "does not fit a column of categories"),
        ({1: {"kind": "ordered", "order": ["a", "a"]}}, "has a category twice"),
        ({1: {"kind": "ordered", "order": [[1]]}}, "must all be text, or all be numbers"),
        ({0: {"kind": "real", "order": ["a"]}}, "has none"),
        ({0: {"kind": "real", "is_zoned": True}}, "for times only"),
        ({0: {"kind": "real", "missing": [{}]}}, r"table\.columns\[0\]\.missing is \{\}"),
        ({0: {"kind": "real", "missing": ["x"] * 101}}, "at most 100"),
        ({0: {"kind": "real", "values": {"a": "\ud800"}}}, "not valid Unicode"),
        ({0: {"kind": "real", "values": 3}}, "must be a mapping"),
        ({0: {"kind": ["real"]}}, "is not one of"),
    ],
)
def test_hostile_words_in_a_file_are_refused(change, message, tmp_path):
    form = written(tmp_path)
    for key, value in change.items():
        (form["table"]["columns"] if isinstance(key, int) else form["table"])[key] = value
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model.json")


def test_a_file_without_the_field_loads_and_old_pickles_of_schemas_too(tmp_path):
    table, y = loans(80)
    numbers = table[["age", "glucose"]]
    clf = FERLClassifier(random_state=0).fit(numbers, y)
    save_model(clf, tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    del form["table"]
    (tmp_path / "model.json").write_text(json.dumps(form))
    old = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(old.predict_proba(numbers), clf.predict_proba(numbers))
    assert old.explain(numbers.iloc[0]).target == ""
    state = {"names": ("a",), "categories": (None,)}
    schema = Schema.__new__(Schema)
    schema.__dict__.update(state)
    assert schema.kind(0).name == "unknown"
    assert schema.target.name == ""


def test_reports_and_other_exports_take_every_kind_of_column(fitted, tmp_path):
    table, y = loans()
    write_report(fitted, table, y, path=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "glucose (mg/dl)" in page
    assert "2018-" in page
    assert "glucose (mg/dl)" in ferl.export_latex(fitted)
