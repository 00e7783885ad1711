"""Bad input gets an error that names the value and the remedy; odd input gets a sensible model."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl.words import PartitionError, quantile_partition
from tree_examples import tree_classifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = RNG.integers(0, 2, 60)


def with_value(row: int, column: int, value: float) -> np.ndarray:
    table = X.copy()
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "labels", "message"),
    [
        (with_value(3, 1, np.inf), Y, "infinity"),
        (with_value(3, 1, 1e200), Y, r"Feature 1 holds a value of magnitude 1e\+200.*Rescale.*replace it by NaN"),
        (np.empty((0, 3)), [], "0 sample.*Pass at least one row"),
        (np.empty((5, 0)), Y[:5], "0 feature.*Pass at least one column"),
        (X, Y[:10], r"inconsistent numbers of samples: \[60, 10\].*one label for each row"),
        (X[:, 0], Y, "(?s)1D array.*[Rr]eshape"),
        (X, X[:, 0], "Unknown label type"),
        (pd.DataFrame({"time": pd.timedelta_range("1h", periods=60)}), Y, "Column 'time' holds timedelta64.*seconds"),
        (X, [None, "a"] * 30, "30 labels are missing, the first in row 0"),
        (X, pd.Series(["a", pd.NA] * 30, dtype=object), "30 labels are missing, the first in row 1"),
        (X * 5e-324, Y, r"Feature 0 varies by .*e-323 only.*Rescale"),
    ],
    ids=[
        "infinite",
        "too large",
        "no rows",
        "no columns",
        "lengths",
        "one dimension",
        "regression",
        "durations",
        "missing labels",
        "missing labels of pandas",
        "too narrow",
    ],
)
def test_unusable_tables_are_refused(table, labels, message):
    with pytest.raises(ValueError, match=message):
        FERLTreeClassifier("deep").fit(table, labels)


@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_tables_that_are_no_arrays_name_the_remedy(kind):
    columns = {f"x{j}": X[:, j] for j in range(3)}
    structured = pd.DataFrame(columns).to_records(index=False)
    with pytest.raises(ValueError, match=r"X is a dict, whose columns have names. Pass a data frame"):
        classifier(kind).fit(columns, Y)
    with pytest.raises(ValueError, match=r"X is a structured array, whose columns have names. Pass a data frame"):
        classifier(kind).fit(structured, Y)
    fitted = classifier(kind, random_state=0).fit(pd.DataFrame(structured), Y)
    with pytest.raises(ValueError, match="X is a structured array"):
        fitted.predict(structured)


@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_labels_without_an_order_and_weights_of_text_are_refused_by_name(kind):
    labels = np.array([1 if k % 2 else "a" for k in range(60)], dtype=object)
    with pytest.raises(ValueError, match=r"labels of types that have no order \(int, str\)"):
        classifier(kind).fit(X, labels)
    with pytest.raises(ValueError, match=r"sample_weight holds what is no number.*'heavy'"):
        classifier(kind).fit(X, Y, ["heavy"] * 60)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_is_refused_where_no_column_holds_categories(frame):
    table = frame({"a": Y, "city": ["Oslo", "Rome"] * 30})
    message = r"Column 'city' holds text .*'Oslo'.*categorical_features is None.*Leave the parameter or the column out"
    with pytest.raises(ValueError, match=message):
        FERLTreeClassifier("deep", categorical_features=None).fit(table, Y)


@pytest.mark.parametrize("chosen", [["a"], [0], [True, False]])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_holds_categories_beside_the_categorical_features(frame, chosen):
    table = frame({"a": Y, "city": ["Oslo", "Rome"] * 30})
    clf = FERLTreeClassifier("deep", categorical_features=chosen).fit(table, Y)
    names = clf.model_.category_names
    assert set(names) == {0, 1}
    assert list(names[1]) == ["Oslo", "Rome"]


def test_sparse_tables_are_refused_with_the_remedy():
    with pytest.raises(TypeError, match=r"(?s)[Ss]parse.*toarray"):
        FERLTreeClassifier("deep").fit(scipy.sparse.csr_matrix(X), Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(60), r"sample_weight\[0\] is -1.0.*Use 0"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), r"sample_weight\[7\] is nan"),
        (np.where(np.arange(60) == 7, np.inf, 1.0), r"sample_weight\[7\] is inf"),
        (np.zeros(60), "All sample weights are zero"),
        (np.full(60, 1e-310), "weights sum to 6e-309.*Divide"),
        (np.full(60, 1.7e308), "weights sum to inf"),
        (np.where(np.arange(60) == 7, 1e19, 1.0), r"reach from 1 to 1e\+19"),
        (np.ones(59), r"shape \(59,\).*\(60,\)"),
        (np.ones((60, 1)), r"shape \(60, 1\)"),
    ],
)
def test_unusable_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        FERLTreeClassifier("deep").fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("variant", ["deep", "compact"])
@pytest.mark.parametrize("n_equal", [1, 40])
def test_the_lightest_row_that_is_not_refused_counts(variant, n_equal):
    table = np.repeat(np.arange(42.0), [n_equal, *[1] * 41])[:, None]
    labels = np.where(table[:, 0] == 41, "light", "heavy")
    weight = np.where(labels == "light", 1.0, 2.0**45)
    for one in (weight, weight / 2.0**30, np.where(labels == "light", 0.7, 0.7 * 2.0**45)):
        model = tree_classifier(variant, random_state=0, shrinkage=0.0).fit(table, labels, one)
        assert model.classes_.tolist() == ["heavy", "light"]
        assert model.tree_.class_weight[0, 1] > 0
    with pytest.raises(ValueError, match=r"reach from 1 to 3.55e\+13.*Give negligible rows a weight of 0"):
        tree_classifier(variant).fit(table, labels, np.where(labels == "light", 1.0, 2.0**45 * 1.01))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"maybe": 2}, r"class 'maybe'; the classes in y are \[0, 1\]"),
        ({0: -1}, r"class_weight\[0\] is -1"),
        ({0: 0, 1: 0}, "All class weights are zero"),
        ({0: "heavy"}, r"class_weight\[0\] is 'heavy'"),
    ],
)
def test_unusable_class_weights_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        FERLTreeClassifier("deep", class_weight=class_weight).fit(X, Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("variant", "huge"),
        ("max_rules", 0),
        ("max_depth", -1),
        ("min_leaf_weight", 0.0),
        ("min_gain", -0.1),
        ("patience", -1),
        ("min_coverage", 1.5),
        ("criterion", "gain"),
        ("n_resamples", 0),
        ("band", "mad"),
        ("band_scale", -1.0),
        ("n_banded_features", 0),
        ("consequents", "smooth"),
        ("shrinkage", -1.0),
        ("combination", "average"),
        ("sources", "root"),
        ("discount", -1.0),
        ("gate_margin", 0.0),
        ("ccp_alpha", -0.1),
        ("growth_rows", 1),
        ("class_weight", "even"),
        ("random_state", "seed"),
    ],
)
def test_parameters_out_of_range_are_named_with_their_value(parameter, value):
    with pytest.raises(ValueError, match=rf"(?s)'{parameter}' parameter.*Got {value!r}"):
        FERLTreeClassifier(**{parameter: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("max_rules", 0),
        ("max_conditions", 4),
        ("n_sets", 8),
        ("min_rule_worth", -0.1),
        ("prune", -1.0),
        ("support_gate", "yes"),
        ("gate_margin", 0.0),
        ("growth_rows", 1),
        ("n_exemplars", None),
        ("class_weight", "even"),
        ("categorical_features", "all"),
        ("missing_conditions", "no"),
        ("monotonic_cst", 1),
        ("random_state", "seed"),
    ],
)
def test_parameters_of_rules_out_of_range_are_named_with_their_value(parameter, value):
    with pytest.raises(ValueError, match=rf"(?s)'{parameter}' parameter.*Got {value!r}"):
        FERLClassifier(**{parameter: value}).fit(X, Y)


class Untouchable:
    """A table that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the table was asked for {name}")

    def __len__(self):
        raise AssertionError("the table was asked for its length")


@pytest.mark.parametrize(
    "wrong",
    [
        FERLClassifier(max_rules=0),
        FERLClassifier(words="guess"),
        FERLClassifier(class_weight={0: -1.0}),
        FERLTreeClassifier("deep", class_weight={1: float("nan")}),
        FERLTreeClassifier("huge"),
        FERLTreeClassifier("deep", criterion="consistent"),
        FERLTreeClassifier("compact", criterion="gini"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_before_the_table_is_read(wrong):
    with pytest.raises(ValueError, match=r"max_rules|words|variant|criterion|class_weight"):
        wrong.fit(Untouchable(), Untouchable())


def test_weights_that_cancel_each_other_are_refused():
    with pytest.raises(ValueError, match="together leave every row a weight of zero"):
        FERLTreeClassifier("deep", class_weight={0: 0}).fit(X, Y, sample_weight=(Y == 0).astype(float))


@pytest.mark.parametrize(("parameter", "value"), [("sources", "root"), ("discount", -1.0), ("gate_margin", 0.0)])
def test_another_reading_is_checked_as_a_fit_is(parameter, value):
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=f"{parameter}.*{value}"):
        clf.reading(**{parameter: value})


def test_tables_with_odd_memory_are_copied():
    records = np.zeros(60, dtype=[("id", "i4"), ("x", "f8", 3)])
    records["x"] = X
    view = records["x"]
    assert any(stride % 8 for stride in view.strides)
    base = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    odd = FERLTreeClassifier("deep", random_state=0).fit(view, Y)
    np.testing.assert_array_equal(odd.predict_proba(view), base.predict_proba(X))
    broadcast = np.broadcast_to(X[:1], (60, 3))
    assert FERLTreeClassifier("deep", random_state=0).fit(broadcast, Y).n_rules_ == 1
    read_only = X.copy()
    read_only.setflags(write=False)
    np.testing.assert_array_equal(
        FERLTreeClassifier("deep", random_state=0).fit(read_only, Y).predict(read_only), base.predict(X)
    )


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns found:UserWarning")
def test_sparse_columns_of_pandas_are_numbers():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray(X[:, 0]), "b": X[:, 1]})
    assert FERLTreeClassifier("deep", random_state=0).fit(frame, Y).n_features_in_ == 2


def test_words_and_learned_splits_refuse_each_others_options():
    for own in ("mdlp", quantile_partition(X)):
        with pytest.warns(UserWarning, match="band_scale=2.0 has no effect: rules are in words"):
            assert FERLTreeClassifier("deep", words=own, band_scale=2.0).fit(X, Y).words_ is not None
    with pytest.warns(UserWarning, match="n_sets=5 has no effect: the model has no words"):
        FERLTreeClassifier("medium", n_sets=5).fit(X, Y)
    with pytest.warns(UserWarning, match="n_sets=5 has no effect: words are given"):
        FERLClassifier(words=quantile_partition(X), n_sets=5).fit(X, Y)
    with pytest.raises(ValueError, match="a tree of words by 'consistent' or 'cci'"):
        FERLTreeClassifier("compact", criterion="gini").fit(X, Y)
    with pytest.raises(ValueError, match="criterion is 'consistent'; a tree of learned splits is grown by 'gini'"):
        FERLTreeClassifier("deep", criterion="consistent").fit(X, Y)


def test_given_words_must_be_those_of_the_features():
    words = quantile_partition(X, [f"feature {j}" for j in range(np.shape(X)[1])])
    with pytest.raises(PartitionError, match="'feature 0' is not a feature of the table"):
        FERLTreeClassifier("compact", words=words).fit(X, Y)
    with pytest.raises(PartitionError, match="words holds 'low'; it must hold"):
        FERLTreeClassifier("compact", words=["low", "high"]).fit(X, Y)


def test_rows_that_do_not_fit_the_model_are_refused():
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"2 features.*3 features.*columns of the training table"):
        clf.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"Feature 0 holds text .*in training it held numbers"):
        clf.predict(np.array([["Oslo", 1.0, 2.0]], dtype=object))
    with pytest.raises(ValueError, match="infinity"):
        clf.predict_evidence(with_value(0, 0, -np.inf))


def test_one_row_one_class_and_constant_features_give_one_rule():
    assert FERLTreeClassifier("deep").fit(X[:1], ["a"]).predict(X[:2]).tolist() == ["a", "a"]
    one_class = FERLTreeClassifier("deep").fit(X, np.zeros(60))
    assert one_class.n_rules_ == 1
    np.testing.assert_array_equal(one_class.predict_proba(X), np.ones((60, 1)))
    constant = FERLTreeClassifier("deep").fit(np.ones((60, 3)), Y)
    assert constant.n_rules_ == 1
    np.testing.assert_allclose(constant.predict_proba(X)[0], np.bincount(Y) / 60)


def test_a_hundred_thousand_columns_of_noise():
    wide = RNG.normal(size=(50, 100_000))
    clf = FERLTreeClassifier("deep", random_state=0).fit(wide, Y[:50])
    assert 1 < clf.n_rules_ <= 50
    assert clf.predict_proba(wide).shape == (50, 2)


@pytest.mark.parametrize("parameter", ["max_rules", "max_depth", "patience", "growth_rows", "n_banded_features"])
def test_numbers_beyond_any_integer_type_mean_no_limit(parameter):
    base = FERLTreeClassifier("deep", random_state=0, **{parameter: 10_000}).fit(X, Y)
    huge = FERLTreeClassifier("deep", random_state=0, **{parameter: 10**30}).fit(X, Y)
    np.testing.assert_array_equal(base.predict_proba(X), huge.predict_proba(X))


@pytest.mark.parametrize("scale", [1e140, 1e-299])
def test_extreme_scales_give_finite_answers(scale):
    clf = FERLTreeClassifier("deep", random_state=0).fit(X * scale, Y)
    extremes = np.vstack([X * scale, np.full((1, 3), 1.7e308), np.full((1, 3), -1.7e308)])
    proba = clf.predict_proba(extremes)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_time_stamps_split_although_their_spread_is_near_rounding():
    # Seconds since 1970 with microseconds: the band is narrower than the distance between neighbouring numbers.
    stamps = 1.7e9 + np.arange(60)[:, None] * 1e-6
    clf = FERLTreeClassifier("deep", random_state=0).fit(stamps, np.arange(60) >= 30)
    assert clf.score(stamps, np.arange(60) >= 30) == 1.0
    assert np.isfinite(clf.predict_proba(stamps)).all()


def test_neighbouring_numbers_are_told_apart():
    # No number lies halfway between them, so the cut must not round up to the larger one.
    low, high = 1.0, np.nextafter(1.0, 2.0)
    table = np.array([[low]] * 10 + [[high]] * 10)
    clf = FERLTreeClassifier("deep", random_state=0, two_mode=False).fit(table, table[:, 0] == high)
    assert clf.tree_.trapezoid[1, 3] <= high
    assert clf.score(table, table[:, 0] == high) == 1.0


def test_more_classes_than_rules():
    clf = FERLTreeClassifier("medium", random_state=0, max_rules=3)
    labels = np.arange(60) % 30
    clf.fit(X, labels)
    assert clf.predict_proba(X).shape == (60, 30)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)


def test_a_tree_that_is_not_a_tree_is_refused():
    tree = FERLTreeClassifier("deep", random_state=0).fit(X, Y).tree_
    for parent in ([0, 0, 0], [-1, 2, 0], [-1, 0, 5], [-1, -1, 0]):
        arrays = {field.name: getattr(tree, field.name) for field in fields(tree)}
        cut = {name: value[:3].copy() for name, value in arrays.items() if isinstance(value, np.ndarray)}
        with pytest.raises(ValueError, match=r"root|pre-order"):
            replace(tree, **(cut | {"parent": np.array(parent, dtype=np.int32)})).fire(X)
    with pytest.raises(ValueError, match="fewer columns"):
        tree.fire(X[:, :1].copy())
