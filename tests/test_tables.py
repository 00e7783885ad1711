"""Real tables as a user meets them: any data frame, categories by name, missing values, and everything built on top."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators import classifier
from ferl import CertifiedCache, FERLTreeClassifier, NoveltyDetector, export_text, rules_frame
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from law_examples import assert_identical
from tree_examples import tree_classifier

VARIANTS = pytest.mark.parametrize("variant", ["deep", "medium", "compact"])
REGIONS = ("north", "south", "west", "east")


def customers(n: int = 400, seed: int = 0, missing: float = 0.1) -> tuple[pd.DataFrame, Any]:
    """Who churns: customers of the north and west, and those who pay much and have no contract."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice(REGIONS, n),
            "fee": rng.gamma(4.0, 10.0, n).round(2),
            "contract": rng.random(n) < 0.6,
            "age": rng.integers(18, 90, n).astype(float),
        }
    )
    risk = frame["region"].isin(["north", "west"]) * 1.6 + (frame["fee"] / 40 - 1) * np.where(
        frame["contract"], 0.2, 1.5
    )
    y = np.where(risk + 0.5 * rng.normal(size=n) > 0.9, "leaves", "stays")
    holes = rng.random(frame.shape) < missing
    return frame.astype({"contract": object}).mask(holes), y


def as_objects(frame: pd.DataFrame) -> Any:
    return frame.astype(object).where(frame.notna(), None).to_numpy()


LIBRARIES = {
    "polars": lambda frame: pl.from_pandas(frame.astype({"contract": "boolean"})),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pandas, categorical": lambda frame: frame.assign(region=frame["region"].astype("category")),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "NumPy, objects": as_objects,
    "lists": lambda frame: as_objects(frame).tolist(),
}


# ---------------------------------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------------------------------


@VARIANTS
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_model_and_answers(library: str, variant: str) -> None:
    frame, y = customers()
    new, _ = customers(100, seed=1)
    new.loc[::7, "region"] = "overseas"
    base = tree_classifier(variant, random_state=0).fit(frame, y)
    convert = LIBRARIES[library]
    other = tree_classifier(variant, random_state=0).fit(convert(frame), y)
    assert_identical(base.tree_, other.tree_)
    rows = convert(new)
    np.testing.assert_array_equal(base.predict_proba(new), other.predict_proba(rows))
    np.testing.assert_array_equal(base.support_deficit(new), other.support_deficit(rows))
    np.testing.assert_array_equal(base.novelty(new), other.novelty(rows))
    np.testing.assert_array_equal(base.certified_radius(new), other.certified_radius(rows))


def test_a_model_of_one_library_judges_the_frames_of_another() -> None:
    frame, y = customers()
    model = FERLTreeClassifier("deep", random_state=0).fit(frame, y)
    for library in ("polars", "pyarrow", "pandas, categorical", "pandas, nullable"):
        np.testing.assert_array_equal(model.predict_proba(LIBRARIES[library](frame)), model.predict_proba(frame))


def test_columns_are_found_by_name() -> None:
    frame, y = customers()
    model = FERLTreeClassifier("deep", random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.predict_proba(frame[frame.columns[::-1]]), model.predict_proba(frame))
    with pytest.raises(ValueError, match=r"(?s)now missing:\n- region"):
        model.predict(frame.drop(columns="region"))


def test_numbers_may_be_categories_by_choice() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(4, size=400), rng.normal(size=400)]).astype(float)
    y = np.isin(X[:, 0], [0, 2]).astype(int)
    model = FERLTreeClassifier("deep", random_state=0, max_rules=2, categorical_features=[0]).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.categories_[1] is None
    assert "x0 in {0, 2}" in export_text(model)
    by_name = FERLTreeClassifier("deep", random_state=0, max_rules=2, categorical_features=["kind"])
    by_name.fit(pd.DataFrame(X, columns=["kind", "x"]), y)
    assert_identical(model.tree_, by_name.tree_)


# ---------------------------------------------------------------------------------------------------------------------
# What rules and readings say
# ---------------------------------------------------------------------------------------------------------------------


def test_rules_name_categories_with_their_memberships() -> None:
    frame, y = customers(800, missing=0.0)
    model = FERLTreeClassifier("medium", random_state=0, max_rules=3).fit(frame, y)
    text = export_text(model)
    assert "region in {north, west}" in text
    assert "region in {east, south}" in text
    only = FERLTreeClassifier("medium", random_state=0, max_rules=2).fit(frame[["region"]], y)
    assert "%): share of resamples" not in export_text(only)  # there is no band
    rules = rules_frame(model)
    assert rules["conditions"].str.contains("region in {north, west}", regex=False).any()
    compact = export_text(FERLTreeClassifier("compact", random_state=0).fit(frame, y))
    assert "region is " in compact


def test_a_category_that_resamples_disagree_on_shows_its_share() -> None:
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 300, p=[0.45, 0.45, 0.1])
    y = rng.random(300) < pd.Series(color).map({"red": 0.9, "green": 0.1, "blue": 0.5})
    model = FERLTreeClassifier("medium", random_state=0, max_rules=2).fit(pd.DataFrame({"color": color}), y)
    assert model.tree_.categories is not None
    share = model.tree_.categories.of(1)[0]
    assert 0 < share < 1
    assert f"blue ({share:.2g})" in export_text(model)


def test_missing_conditions_are_said_in_words() -> None:
    frame, _ = customers(600, missing=0.0)
    gone = np.random.default_rng(0).random(600) < 0.5
    frame["age"] = frame["age"].mask(gone)
    for variant in ("medium", "compact"):
        model = tree_classifier(variant, random_state=0, missing_conditions=True, max_rules=2).fit(frame, gone)
        assert model.score(frame, gone) == 1.0
        text = export_text(model)
        assert "age" in text
        assert "missing" in text


def test_an_unseen_category_is_named() -> None:
    frame, y = customers(800)
    model = FERLTreeClassifier("deep", random_state=0).fit(frame, y)
    known = pd.DataFrame({"region": ["north"], "fee": [40.0], "contract": [False], "age": [50.0]})
    new = known.assign(region="overseas")
    assert model.columns_.unseen(new) == {"region": ["overseas"]}
    assert model.support_deficit(new).argmax() == model.novelty_attribution(new).argmax() == 0
    assert model.support_deficit(new).sum() > 0.4
    assert model.novelty(new)[0] > model.novelty(known)[0]
    assert model.predict_evidence(new).ignorance[0] > model.predict_evidence(known).ignorance[0]


# ---------------------------------------------------------------------------------------------------------------------
# Everything built on top
# ---------------------------------------------------------------------------------------------------------------------


@VARIANTS
def test_pickles_clones_and_pipelines_keep_the_answers(variant: str) -> None:
    frame, y = customers()
    model = tree_classifier(variant, random_state=0, missing_conditions=True).fit(frame, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_identical(copy.tree_, model.tree_)
    assert copy.columns_ == model.columns_
    assert export_text(copy) == export_text(model)
    np.testing.assert_array_equal(copy.predict_proba(frame), model.predict_proba(frame))
    assert_identical(clone(model).fit(frame, y).tree_, model.tree_)
    pipeline = make_pipeline(FunctionTransformer(), tree_classifier(variant, random_state=0)).fit(frame, y)
    assert pipeline.score(frame, y) > 0.7
    assert cross_val_score(tree_classifier(variant, random_state=0), frame, y, cv=3).mean() > 0.65


@parametrize_with_checks(
    [
        FERLTreeClassifier("deep", random_state=0, missing_conditions=True),
        FERLTreeClassifier("compact", random_state=0, missing_conditions=True),
        FERLTreeClassifier("deep", random_state=0, categorical_features=None),
    ]
)
def test_scikit_learn_estimator_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_wrappers_take_the_tables_that_the_classifier_takes(library: str) -> None:
    convert = LIBRARIES.get(library, lambda frame: frame)
    (frame, y), (more, labels), (new, truth) = customers(400), customers(300, seed=1), customers(300, seed=2)
    new.loc[0, "region"] = "overseas"
    new.loc[1] = None
    frame, more, new = convert(frame), convert(more), convert(new)
    base = FERLTreeClassifier("medium", random_state=0)
    conformal = ConformalFERL(base, random_state=0).fit(frame, y).conformalize(more, labels)
    sets = conformal.predict_set(new, alpha=0.2)
    covered = sets[np.arange(len(truth)), np.searchsorted(conformal.classes_, truth)].mean()
    assert 0.7 < covered < 0.95
    assert ConformalFERL(base, cv=3, random_state=0).fit(frame, y).predict_set(new).shape == (300, 2)
    calibrated = CalibratedFERL(base, cv=3, random_state=0).fit(frame, y)
    np.testing.assert_allclose(calibrated.predict_proba(new).sum(axis=1), 1.0)
    controlled = RiskControlledFERL(base, risk=0.25, random_state=0).fit(frame, y).calibrate(more, labels)
    assert controlled.control_.met


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("cv", [5, 0.5])
def test_the_detector_finds_an_unseen_category_and_ignores_what_is_missing(library: str, cv: Any) -> None:
    convert = LIBRARIES.get(library, lambda frame: frame)
    frame, y = customers(400)
    new, _ = customers(200, seed=1)
    strange = new.assign(region="overseas", fee=400.0)
    # Of trees: the novelty of rules also counts how unsure the answer is, and of nothing they are.
    tree = FERLTreeClassifier("deep", random_state=0)
    detector = NoveltyDetector(tree, cv=cv, random_state=0).fit(convert(frame), y)
    ordinary, odd = detector.p_values(convert(new)), detector.p_values(convert(strange))
    assert np.median(odd) < 0.05 < np.median(ordinary)
    empty = new.iloc[:1].assign(region=None, fee=np.nan, contract=None, age=np.nan)
    assert detector.p_values(convert(empty))[0] == 1


def test_the_cache_answers_for_rows_with_categories_and_missing_values() -> None:
    frame, y = customers()
    new, _ = customers(200, seed=1, missing=0.3)
    model = FERLTreeClassifier("deep", random_state=0).fit(frame, y)
    cache = CertifiedCache(model)
    np.testing.assert_array_equal(cache.predict(new), model.predict(new))
    assert cache.misses == 200
    np.testing.assert_array_equal(cache.predict(new), model.predict(new))
    assert cache.hits >= 150  # all that have a radius; rows that lack a value are found again too
    for name, value in (("region", "overseas"), ("age", np.nan), ("contract", None)):
        other = new.assign(**{name: value})
        np.testing.assert_array_equal(cache.predict(other), model.predict(other))
    moved = new.assign(fee=new["fee"] + 0.01, age=new["age"] - 0.01)
    np.testing.assert_array_equal(cache.predict(moved), model.predict(moved))


def test_a_certificate_reads_one_row_of_any_kind() -> None:
    frame, y = customers()
    model = FERLTreeClassifier("deep", random_state=0, missing_conditions=True).fit(frame, y)
    row = frame.iloc[[5]]
    certificate = model.certificate(row)
    assert certificate.names == tuple(frame.columns)
    assert certificate.alone.shape == certificate.held.shape == (4,)
    assert certificate.radius == model.certified_radius(row)[0]
    assert not {"region", "contract"} & set(certificate.limits)  # categories do not move
    bare = FERLTreeClassifier("deep", random_state=0, missing_conditions=True).fit(as_objects(frame), y)
    assert bare.certificate(as_objects(row)[0].tolist()).radius == certificate.radius


# ---------------------------------------------------------------------------------------------------------------------
# Monotone constraints that cannot be kept
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotonic_cst": {"region": 1}}, "constrains 'region', which holds categories"),
        ({"monotonic_cst": {"size": 1}}, "names the feature 'size'; the features are"),
        ({"monotonic_cst": [0, 1, 0]}, r"shape \(3,\); X has 4 features"),
        ({"monotonic_cst": [0, 2, 0, 0]}, r"values \[0, 2\]; they must be -1, 0 or 1"),
        ({"monotonic_cst": {"fee": 1}, "kind": "compact"}, "learned splits"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    frame, y = customers()
    with pytest.raises(ValueError, match=message):
        classifier(**{"kind": "deep"} | options).fit(frame, y)


def test_constraints_need_two_classes() -> None:
    frame, y = customers()
    labels = np.where(frame["age"] > 60, "old", y)
    with pytest.raises(ValueError, match="needs two classes; y has 3"):
        FERLTreeClassifier("deep", monotonic_cst={"fee": 1}).fit(frame, labels)
