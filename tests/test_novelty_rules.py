"""Novelty of rules: the core against the oracle, its laws, and what reads it."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from ferl import FERLClassifier, NoveltyDetector, _core, load_model, save_model
from ferl._learn.grow_rules import n_candidates
from ferl._models.novelty import Neighbours
from ferl._models.settings import RuleSettings
from ferl.streaming import fit_batches
from oracle import rules_novelty as oracle
from table_examples import TABLE_LAW, Floats, mixed_table

SEEDS = st.integers(0, 2**32 - 1)


@lru_cache
def mixed_model(n_classes: int, gated: bool = True) -> tuple[pd.DataFrame, Any, FERLClassifier]:
    """A model of a table with categories and missing values."""
    table = mixed_table(np.random.default_rng(n_classes), n=220, n_numbers=4, n_classes=n_classes)
    clf = FERLClassifier(random_state=0, missing_conditions=True, support_gate=gated, n_exemplars=60)
    return table.frame, table.y, clf.fit(table.frame, table.y)


def rows_to_judge(model: Any, seed: int, n: int = 25) -> Floats:
    """Rows around those of training: some far away, some with categories never seen or without any value."""
    rng, kept = np.random.default_rng(seed), oracle.kept_rows(model)
    rows = kept[rng.integers(len(kept), size=n)].copy()
    n_categories = model.tree.n_categories(rows.shape[1])
    for j in range(rows.shape[1]):
        changed = rng.random(n) < 0.5
        if n_categories[j]:
            rows[changed, j] = rng.integers(n_categories[j] + 2, size=changed.sum())
        else:
            rows[changed, j] += rng.normal(size=changed.sum()) * rng.choice([0.1, 1.0, 30.0, 1e6])
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[-1] = np.nan
    return rows


@TABLE_LAW
@given(SEEDS, st.sampled_from([2, 3, 5]), st.booleans())
def test_novelty_is_that_of_the_oracle_and_its_parts_add_up(seed: int, n_classes: int, gated: bool) -> None:
    model = mixed_model(n_classes, gated)[2].model_
    rows = rows_to_judge(model, seed)
    found, parts = model.novelty(rows), model.novelty_attribution(rows)
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(axis=1), found, rtol=1e-12)
    np.testing.assert_allclose(model.entropy(rows), oracle.entropy(model, rows), rtol=1e-9, atol=1e-14)
    by_column = np.zeros(len(rows))
    for i, each in enumerate(oracle.candidates(model, rows)):
        by_column[i] = each.sum(axis=1).min()
    np.testing.assert_allclose(found, by_column, rtol=1e-5, atol=1e-7)  # the search is in single precision


@TABLE_LAW
@given(SEEDS, st.sampled_from([2, 3]))
def test_parts_are_those_of_one_kept_row(seed: int, n_classes: int) -> None:
    model = mixed_model(n_classes)[2].model_
    rows = rows_to_judge(model, seed, 10)
    n_features = model.n_features
    for found, each in zip(model.novelty_attribution(rows), oracle.candidates(model, rows), strict=True):
        expected = each[:, :n_features].copy()
        for k, feature in enumerate(model.missing_features):
            expected[:, feature] += each[:, n_features + k]
        assert (np.abs(expected - found).max(axis=1) <= 1e-9 * max(1.0, found.sum())).any()


@TABLE_LAW
@given(SEEDS, st.integers(1, 40))
def test_the_cover_is_that_of_the_oracle(seed: int, n_kept: int) -> None:
    model = mixed_model(3)[2].model_
    rows = rows_to_judge(model, seed)
    neighbours = model.neighbours
    found = _core.cover(rows, neighbours.centre, 1 / neighbours.unit, neighbours.n_categories, n_kept)
    assert found.tolist() == oracle.cover(model, neighbours.unit, rows, n_kept)


def test_units_are_those_of_the_oracle_and_features_that_say_more_count_more() -> None:
    for n_classes in (2, 3, 5):
        model = mixed_model(n_classes)[2].model_
        rows = oracle.kept_rows(model)
        unit = oracle.unit_of_distance(model, rows)
        np.testing.assert_allclose(model.unit_of_distance, unit, rtol=1e-12)
        assert model.neighbours.usual == pytest.approx(oracle.usual_distance(model, unit, rows), rel=1e-6)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    model = FERLClassifier(random_state=0).fit(X, X[:, 0] + rng.normal(size=400) > 0).model_
    assert model.unit_of_distance[0] < model.unit_of_distance[1:].min()


def test_kept_rows_cover_four_times_as_many_random_ones() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    few, many = (FERLClassifier(random_state=0, n_exemplars=n).fit(X, X[:, 0] > 0) for n in (40, 10**12))
    rows = oracle.kept_rows(many.model_)
    assert len(rows) == len(X)
    candidates = rows[:160]
    unit = oracle.unit_of_distance(few.model_, candidates)
    chosen = oracle.cover(few.model_, unit, candidates, 40)
    np.testing.assert_array_equal(oracle.kept_rows(few.model_), candidates[chosen])

    def farthest(kept: Floats) -> float:
        return float(np.abs((candidates[:, None] - kept) / unit).sum(axis=2).min(axis=1).max())

    assert farthest(candidates[chosen]) < 0.6 * farthest(candidates[:40]), "random rows cover less"


def test_few_rows_are_all_kept_and_none_where_none_are_wanted() -> None:
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X, y)
    assert len(clf.tree_.profile.exemplar_row) == len(np.unique(X, axis=0))
    doubt = 0.5 * clf.model_.entropy(X)
    np.testing.assert_allclose(clf.novelty(X), doubt, rtol=0, atol=1e-6)
    without = FERLClassifier(random_state=0, n_exemplars=0).fit(X, y)
    assert not without.tree_.profile.has_exemplars
    parts = without.novelty_attribution(X)
    np.testing.assert_allclose(parts.sum(axis=1), without.novelty(X, measure="residual"), rtol=1e-9)
    with pytest.raises(ValueError, match=r"keeps none.*n_exemplars > 0"):
        without.novelty(X, measure="neighbour")


def test_candidates_are_four_for_each_kept_row_unless_choosing_among_them_takes_too_long() -> None:
    def asked(n_columns: int, n: int = 1024) -> int:
        return n_candidates(RuleSettings.of(FERLClassifier(n_exemplars=n).get_params()), n_columns)

    assert asked(20) == 4 * 1024
    assert asked(100_000) == 1024
    assert 1024 < asked(800) < 4 * 1024
    assert asked(20, 0) == 0
    assert asked(20, 10**15) == np.iinfo(np.int32).max


def same_novelty(one: FERLClassifier, other: FERLClassifier, rows: Any) -> None:
    assert one.tree_.profile.exemplar_row.tobytes() == other.tree_.profile.exemplar_row.tobytes()
    assert one.novelty(rows).tobytes() == other.novelty(rows).tobytes()
    assert one.novelty_attribution(rows).tobytes() == other.novelty_attribution(rows).tobytes()


def test_row_order_weights_threads_and_batches_change_no_bit_of_novelty() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, rows = X[:, :5].copy(), X[::3, :5] * 1.1

    def fit(X: Any, y: Any, weight: Any = None, **options: Any) -> FERLClassifier:
        return FERLClassifier(random_state=0, n_exemplars=50, **options).fit(X, y, weight)

    base = fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    same_novelty(base, fit(X[order], y[order]), rows)
    same_novelty(base, fit(X, y, n_jobs=3), rows)
    batches = [(X[i : i + 100], y[i : i + 100]) for i in range(0, len(X), 100)]
    blank = FERLClassifier(random_state=0, n_exemplars=50)
    same_novelty(base, fit_batches(batches, estimator=blank), rows)
    twice = np.where(np.arange(len(X)) % 3 == 0, 2, 1)
    same_novelty(fit(X, y, twice), fit(np.repeat(X, twice, axis=0), np.repeat(y, twice)), rows)
    threaded = FERLClassifier(n_jobs=3)._take(base.model_)
    same_novelty(base, threaded, rows)
    one_by_one = np.concatenate([base.novelty(row[None]) for row in rows])
    assert one_by_one.tobytes() == base.novelty(rows).tobytes()
    parts = np.vstack([base.novelty_attribution(row[None]) for row in rows])
    assert parts.tobytes() == base.novelty_attribution(rows).tobytes()


def test_the_feature_that_was_spoiled_has_the_largest_part() -> None:
    X, y = load_wine(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X, y)
    for j in range(X.shape[1]):
        spoiled = X[::10].copy()
        spoiled[:, j] += 20 * X[:, j].std()
        assert (clf.novelty_attribution(spoiled).argmax(axis=1) == j).all(), j


def test_doubt_is_shared_by_what_features_say_and_by_closed_gates() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    clf = FERLClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    kept = oracle.kept_rows(clf.model_)[:50]
    parts = clf.novelty_attribution(kept)  # no distance is left
    silent = np.abs(clf.feature_contributions(kept)[:, 2]).sum(axis=1) == 0
    assert (parts[silent, 2] < 1e-6).all()
    far = kept.copy()
    far[:, 0] += 100
    assert (clf.predict_evidence(far).ignorance == 1).all()
    with_entropy = clf.novelty_attribution(far)
    distance = clf.model_.neighbours
    assert (with_entropy[:, 0] > 0.5 * np.log(2)).all()
    alone = np.abs(far[:, None, 1:] - distance.rows[:, 1:]) / distance.unit[1:] / 3 / distance.usual
    assert (with_entropy[:, 1:].sum(axis=1) <= alone.sum(axis=2).max(axis=1)).all()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((20, 2)), np.arange(20) % 2),
        (np.arange(20.0)[:, None], np.zeros(20, dtype=int)),
        (np.array([[1.0, 2.0]]), np.array([4])),
        (np.full((8, 2), np.nan), np.arange(8) % 2),
        (np.column_stack([np.arange(40) / 2, np.full(40, np.nan)]), np.arange(40) // 20),
    ],
    ids=["constant", "one class", "one row", "no values", "a column without values"],
)
def test_tables_that_teach_little_have_a_novelty_all_the_same(X: Floats, y: Any) -> None:
    clf = FERLClassifier(random_state=0).fit(X, y)
    for rows in (X, X + 1e3, np.full_like(X, np.nan)):
        found, parts = clf.novelty(rows), clf.novelty_attribution(rows)
        assert np.isfinite(found).all()
        assert (parts >= 0).all()
        np.testing.assert_allclose(parts.sum(axis=1), found, rtol=1e-12)


def test_a_class_that_was_left_out_is_more_novel_and_the_detector_says_so() -> None:
    X, y = load_wine(return_X_y=True)
    known = y != 2
    wide = FERLClassifier(random_state=0)
    detector = NoveltyDetector(wide, alpha=0.1, cv=3, random_state=0).fit(X[known], y[known])
    assert (detector.predict(X[~known]) == -1).mean() > 0.6
    assert isinstance(detector.estimator_, FERLClassifier)
    held_out = NoveltyDetector(wide, alpha=0.1, cv=0.4, random_state=0).fit(X[known], y[known])
    assert (held_out.p_values(X[~known]) <= 0.2).mean() > 0.6
    prefit = NoveltyDetector(wide.fit(X[known][::2], y[known][::2]), cv="prefit").fit(X[known][1::2])
    assert np.median(prefit.p_values(X[~known])) < np.median(prefit.p_values(X[known][1::2]))


def test_a_category_or_a_value_never_seen_is_more_novel(tmp_path: Path) -> None:
    frame, _, clf = mixed_model(3)
    rows = frame.dropna().iloc[:20]
    base = clf.novelty(rows)
    unseen = rows.assign(c0="never seen")
    assert clf.novelty(unseen).mean() > 1.1 * base.mean()
    assert (clf.novelty_attribution(unseen)[:, frame.columns.get_loc("c0")] > 0).all()
    far = rows.assign(x1=1e6)
    assert (clf.novelty(far) > clf.novelty(frame).max()).all()
    assert (clf.novelty_attribution(far).argmax(axis=1) == frame.columns.get_loc("x1")).all()
    save_model(clf, tmp_path / "model.json")
    same_novelty(clf, load_model(tmp_path / "model.json"), pd.concat([rows, far]))
    same_novelty(clf, pickle.loads(pickle.dumps(clf)), pd.concat([rows, far]))


def test_a_row_beyond_all_numbers_is_infinitely_novel_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * 1e-10
    clf = FERLClassifier(random_state=0).fit(X, X[:, 0] > 0)
    assert clf.novelty(np.full((1, 2), 1e300)) == np.inf
    assert np.isfinite(clf.novelty(X)).all()


@TABLE_LAW
@given(SEEDS, st.sampled_from([1.0, 1e6, 1e12, 1e15, 1e18, 1e100]))
def test_no_kept_row_is_nearer_than_the_one_that_is_found_by_more_than_a_millionth(seed: int, far: float) -> None:
    """The search rounds to single precision, and takes values beyond 1e15 units to be equally far."""
    model, rng = mixed_model(3)[2].model_, np.random.default_rng(seed)
    rows = rows_to_judge(model, seed)
    rows[:, :4] *= np.where(rng.random((len(rows), 4)) < 0.5, far, 1.0)
    unit, kept = model.neighbours.unit, oracle.kept_rows(model)
    nearest = [oracle.distance_parts(model, unit, kept, row).sum(axis=1).min() for row in rows]
    found = np.empty((len(rows), 1))
    model.neighbours.search.distance(np.asfortranarray(rows), 1, found)
    np.testing.assert_array_less(found[:, 0], np.array(nearest) * (1 + 1e-6) + 1e-6)
    np.testing.assert_array_less(np.array(nearest) * (1 - 1e-12), found[:, 0] + 1e-12)


def test_bad_arguments_of_the_cover_are_refused() -> None:
    rows, ones, numbers = np.zeros((3, 2)), np.ones(2), np.zeros(2, dtype=np.int32)
    for wrong in ((np.ones(3), ones, numbers), (ones, np.ones(1), numbers), (ones, ones, numbers[:1])):
        with pytest.raises(ValueError, match="one entry per column"):
            _core.cover(rows, *wrong, 2)
    assert _core.cover(rows, ones, ones, numbers, 2).tolist() == [0, 1], "equal rows are chosen in their order"
    assert _core.cover(rows, ones, ones, numbers, 0).tolist() == []
    assert _core.cover(rows, ones, ones, numbers, 9).tolist() == [0, 1, 2]


def _hard_rows(kind: str, rng: np.random.Generator, n_rows: int) -> tuple[Floats, NDArray[np.int32]]:
    """Rows, and the number of categories of each column, that are hard for codes of one byte."""
    n_columns = {"more columns than codes": 300, "one column": 1}.get(kind, 11)
    X, n_categories = rng.normal(size=(n_rows, n_columns)), np.zeros(n_columns, dtype=np.int32)
    if kind == "heavy tails":
        X = rng.standard_cauchy(size=X.shape) ** 3
    if kind == "far away":
        X[::3] += 1e4
        X[1::50] = 1e300
    if kind == "almost constant":
        X = 1e-9 * X + (rng.random(size=X.shape) < 0.001)
    if kind in {"categories", "categories alone"}:
        n_categories[4 if kind == "categories" else 0 :] = 5
        X = np.where(n_categories > 0, rng.integers(0, 6, size=X.shape), X)
    if kind in {"missing", "categories"}:
        X[rng.random(size=X.shape) < 0.1] = np.nan
    return X, n_categories


@pytest.mark.parametrize(
    "kind",
    [
        "numbers",
        "one column",
        "more columns than codes",
        "heavy tails",
        "far away",
        "almost constant",
        "categories",
        "categories alone",
        "missing",
    ],
)
def test_the_first_look_at_codes_loses_no_neighbour(kind: str) -> None:
    """A search among many rows looks at codes first; among few it measures all of them."""
    rng = np.random.default_rng(len(kind))
    X, n_categories = _hard_rows(kind, rng, 1400)
    kept, rows = np.ascontiguousarray(X[:1100]), X[1000:]  # some of the rows are kept ones
    unit = np.exp(rng.normal(size=X.shape[1]))
    among_all = Neighbours(kept, np.zeros(X.shape[1]), unit, n_categories)
    found = np.empty((len(rows), 1))
    among_all.search.distance(rows, 1, found)
    of_parts = []
    for first in range(0, len(kept), 100):
        few = Neighbours(kept[first : first + 100], among_all.centre, unit, n_categories)
        of_parts.append(np.empty((len(rows), 1)))
        few.search.distance(rows, 1, of_parts[-1])
    # Exemplars that are equally near in single precision may differ in the last bits.
    np.testing.assert_allclose(found, np.min(of_parts, axis=0), rtol=1e-6, atol=1e-12)
    if kind in {"numbers", "missing", "more columns than codes"}:
        np.testing.assert_array_equal(found, np.min(of_parts, axis=0))
