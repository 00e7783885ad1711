"""Groups of rows in inner validation, and the warning where rows nearly repeat."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import GroupKFold, cross_val_score

import oracle
from cli_examples import ferl
from ferl import FERLClassifier, FERLTreeClassifier, NearCopiesWarning, _core
from ferl._learn.derive import fold_of_groups
from ferl._learn.near_copies import near_copy_share
from ferl._tables import group_numbers
from ferl.calibration import CalibratedFERL
from ferl.streaming import fit_batches, fit_parquet


def copies(seed=0, n_columns=5, jitter=0.02):
    """Sixty rows of noise, eight times each, and a label of each of the sixty."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(60), 8)
    X = rng.normal(size=(60, n_columns))[group] + jitter * rng.normal(size=(480, n_columns))
    return X, rng.integers(2, size=60)[group], group


def sample_of(X, y, group, weight=None, seed=0):
    """The rows as the core holds them, with their groups."""
    n = X.shape[1]
    sampler = _core.Sampler(
        np.zeros(n + 1, np.int32), int(y.max()) + 1, seed, 10**6, 0, np.arange(n + 1, dtype=np.int32)
    )
    weight = np.ones(len(y)) if weight is None else weight
    sampler.add(np.column_stack([X, group]), y.astype(np.int32), weight, 0, 1)
    drawn = sampler.finish(1)
    own = drawn.x[:, -1].copy()
    return drawn.with_columns(drawn.x[:, :-1], np.zeros(n, np.int32)).with_groups(own), own


@pytest.mark.parametrize("seed", range(6))
def test_parts_are_those_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    n, n_parts = 200, int(rng.integers(2, 7))
    group = rng.choice(40, n, p=rng.dirichlet(np.full(40, 0.5))).astype(float)
    y = rng.integers(0, 3, n)
    sample, own = sample_of(rng.normal(size=(n, 2)), y, group, rng.integers(1, 4, n).astype(float))
    for turn in (0, 1):
        found = _core.stratified_parts(sample, n_parts, turn)
        expected = oracle.group_parts(own.tolist(), sample.y.tolist(), sample.weight.tolist(), n_parts, turn)
        assert found.tolist() == expected
        for name in np.unique(own):
            assert len(set(found[own == name])) == 1
        if len(np.unique(own)) >= n_parts:
            assert len(set(found.tolist())) == n_parts


def test_noise_that_repeats_is_no_knowledge_with_groups():
    rng = np.random.default_rng(1)
    new, sure = rng.normal(size=(1000, 5)), {}
    for seed in range(3):
        X, y, group = copies(seed)
        with pytest.warns(NearCopiesWarning, match=r"nearly repeat other rows.*groups="):
            fooled = FERLClassifier(random_state=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = FERLClassifier(random_state=0).fit(X, y, groups=group)
        sure[seed] = [own.predict_proba(new).max(axis=1).mean() for own in (fooled, model)]
    assert np.mean([own[0] for own in sure.values()]) > 0.85
    assert np.mean([own[1] for own in sure.values()]) < 0.7


def test_grouped_fits_depend_neither_on_order_nor_on_threads_nor_on_batches_nor_on_the_type_of_names(tmp_path):
    X, y, group = copies()
    new = np.random.default_rng(1).normal(size=(200, 5))
    expected = FERLClassifier(random_state=0).fit(X, y, groups=group).predict_proba(new)
    order = np.random.default_rng(2).permutation(len(y))
    others = [FERLClassifier(random_state=0, n_jobs=2).fit(X[order], y[order], groups=pd.Series(group[order]))]
    pieces = [slice(i, i + 100) for i in range(0, 480, 100)]
    batches = [(X[k], y[k], None, group[k].astype(float)) for k in pieces]
    others.append(fit_batches(batches, estimator=FERLClassifier(random_state=0)))
    names = [f"x{j}" for j in range(5)]
    rows = pa.table({**dict(zip(names, X.T, strict=True)), "y": y, "patient": group})
    pq.write_table(rows, tmp_path / "rows.parquet")
    estimator = FERLClassifier(random_state=0)
    others.append(fit_parquet(tmp_path / "rows.parquet", "y", groups="patient", estimator=estimator, batch_rows=70))
    for own in others:
        table = pd.DataFrame(new, columns=names) if hasattr(own, "feature_names_in_") else new
        np.testing.assert_array_equal(own.predict_proba(table), expected)
    assert (FERLClassifier(random_state=0).fit(X, y, groups=group // 2).predict_proba(new) != expected).any()


def test_weight_two_is_the_row_twice_in_groups():
    X, y, group = copies(3)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    new = np.random.default_rng(1).normal(size=(100, 5))
    found = FERLClassifier(random_state=0).fit(X[twice], y[twice], groups=group[twice]).predict_proba(new)
    expected = FERLClassifier(random_state=0).fit(X, y, weight, groups=group).predict_proba(new)
    np.testing.assert_array_equal(found, expected)


def test_curves_and_categories_of_many_values_take_groups():
    rng = np.random.default_rng(0)
    n = 3000
    group = rng.integers(0, 150, size=n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "city": np.array([f"c{k}" for k in range(40)])[group % 40]})
    y = (np.sin(4 * frame.x) + rng.normal(size=n) > 0).astype(int).to_numpy()
    model = FERLClassifier(random_state=0).fit(frame, y, groups=group)
    assert model.score(frame, y) > 0.6
    order = rng.permutation(n)
    again = FERLClassifier(random_state=0).fit(frame.iloc[order], y[order], groups=group[order])
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_evidence_of_categories_comes_from_other_groups():
    X, y, group = copies()
    sample, own = sample_of(X, y, group.astype(float))
    fold = fold_of_groups(sample)
    for name in np.unique(own):
        assert len(set(fold[own == name])) == 1
    assert len(set(fold.tolist())) == 5


def test_wrappers_and_searches_hand_groups_on():
    X, y, group = copies()
    direct = FERLClassifier(random_state=0).fit(X, y, groups=group)
    wrapped = CalibratedFERL(FERLClassifier(random_state=0), cv=3, random_state=0).fit(X, y, groups=group)
    np.testing.assert_array_equal(wrapped.estimator_.predict_proba(X), direct.predict_proba(X))
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error", NearCopiesWarning)
        clf = FERLClassifier(random_state=0).set_fit_request(groups=True)
        scores = cross_val_score(clf, X, y, cv=GroupKFold(3), params={"groups": group})
    assert scores.mean() < 0.75


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(3), r"480 rows and groups the shape \(3,\)"),
        ([None, *range(479)], r"groups\[0\] is None; every row needs a group"),
        (np.zeros(480), "All rows are of one group.*Leave groups out"),
        (np.zeros((480, 2)), "groups the shape"),
    ],
)
def test_wrong_groups_are_named(groups, message):
    X, y, _ = copies()
    with pytest.raises(ValueError, match=message):
        FERLClassifier().fit(X, y, groups=groups)


def test_trees_and_batches_without_groups_are_refused():
    X, y, group = copies()
    with pytest.raises(TypeError, match="groups"):
        FERLTreeClassifier().fit(X, y, groups=group)
    with pytest.raises(ValueError, match="trees have none"):
        fit_batches([(X, y, None, group)], estimator=FERLTreeClassifier())
    with pytest.raises(ValueError, match="Some batches have groups and others have none"):
        fit_batches([(X, y, None, group), (X, y)], estimator=FERLClassifier())


def test_names_of_groups_are_what_they_are_in_any_type():
    days = pd.Series(pd.date_range("2026-01-01", periods=3, freq="D"))
    for own in (days.to_numpy(), days.tolist(), pa.array(days)):
        np.testing.assert_array_equal(group_numbers(own, 3), group_numbers(days, 3))
    np.testing.assert_array_equal(group_numbers([1, 2, 2.5], 3), group_numbers(np.array([1.0, 2.0, 2.5]), 3))
    assert (group_numbers([1, 2], 2) != group_numbers(["1", "2"], 2)).all()


def test_the_shell_validates_rules_on_whole_groups(tmp_path):
    X, y, group = copies()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]).assign(patient=[f"p{k}" for k in group], y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    told = ferl("fit", tmp_path / "rows.csv", "--target", "y", "--drop", "patient", "-o", tmp_path / "a.json")
    assert "nearly repeat other rows" in told.stderr
    told = ferl("fit", tmp_path / "rows.csv", "--target", "y", "--groups", "patient", "-o", tmp_path / "b.json")
    assert "nearly repeat" not in told.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Rows that nearly repeat
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_times", [2, 3, 8, 15])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_near_copies_are_seen_in_any_unit(n_times, scale):
    rng = np.random.default_rng(n_times)
    X = np.repeat(rng.normal(size=(60, 5)), n_times, axis=0)
    X += 0.01 * rng.normal(size=X.shape)
    order = rng.permutation(len(X))
    assert near_copy_share(scale * X[order], np.zeros(5, np.int32)) > 0.9


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_real_tables_have_none(load):
    X, y = load(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NearCopiesWarning)
        FERLClassifier(random_state=0).fit(X, y)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", ["normal", "cauchy", "whole", "ties", "missing"])
def test_independent_rows_have_none(n_columns, kind):
    rng = np.random.default_rng(n_columns)
    X = rng.standard_cauchy((400, n_columns)) if kind == "cauchy" else rng.normal(size=(400, n_columns))
    if kind in ("whole", "ties"):
        X = np.round(X, {"whole": 0, "ties": 2}[kind])
    if kind == "missing":
        X[rng.random(X.shape) < 0.5] = np.nan
    assert near_copy_share(X, np.zeros(n_columns, np.int32)) < 0.35
