"""The training rows behind an answer of rules, and the evidence that rests on them: the oracle's, and its laws."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ferl import FERLClassifier
from ferl._learn import rows_behind as learning
from ferl._models.evidence import RuleEvidence
from oracle import rows_behind as oracle
from oracle import weights
from table_examples import Floats, mixed_table, rows_beside

LAW = settings(max_examples=100, deadline=None, database=None)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no gates": {"support_gate": False},
    "no kept rows": {"n_exemplars": 0},
    "few kept rows": {"n_exemplars": 20, "missing_conditions": True},
    "curves": {"max_conditions": 1},
}


@lru_cache
def fitted(name: str, n_classes: int, is_weighted: bool) -> tuple[Any, Floats, FERLClassifier]:
    """A table with categories and missing values, the weights of its rows, and a model of them."""
    rng = np.random.default_rng([n_classes, is_weighted])
    table = mixed_table(rng, n=1200 if name == "curves" else 250, n_numbers=4, n_classes=n_classes)
    weight = rng.uniform(0.2, 3.0, len(table.y)) if is_weighted else np.ones(len(table.y))
    clf = FERLClassifier(random_state=0, **OPTIONS[name]).fit(table.frame, table.y, weight)
    return table, weight, clf


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_evidence_is_that_of_the_oracle(name: str, n_classes: int) -> None:
    table, _, clf = fitted(name, n_classes, True)
    rows = clf._rows(rows_beside(table, 1))
    found, expected = clf.model_.evidence(rows), oracle.evidence(clf.model_, rows, clf.model_.decision_scores(rows))
    for what in ("belief", "plausibility", "ignorance", "rows"):
        np.testing.assert_allclose(getattr(found, what), getattr(expected, what), rtol=1e-9, atol=1e-11, err_msg=what)
    np.testing.assert_array_equal(found.prediction_set(), expected.set)
    if name == "curves":
        assert clf.model_.n_curves + clf.model_.n_maps > 0
        assert (oracle.thinnest_cell(clf.model_, rows) > 10 * oracle.leverage_of_rules(clf.model_, rows)).any()


@pytest.mark.parametrize("sizes", [[1.0], [1.0, 2.0, 0.3]])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sums_of_integers_are_those_of_matrices(
    sizes: list[float], class_weight: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of few different weights are summed as integers, others by products of matrices: the same bits."""
    table = mixed_table(np.random.default_rng(7), n=700, n_numbers=4, n_classes=3)
    weight = np.resize(sizes, len(table.y))
    found = []
    for n_most in (8, 0):
        monkeypatch.setattr(learning, "_MOST_WEIGHTS", n_most)
        clf = FERLClassifier(random_state=0, class_weight=class_weight).fit(table.frame, table.y, weight)
        found.append(clf.model_.rules.products)
    assert found[0].shape[0] > 5
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_sums_and_curvature_are_those_of_the_training_rows(is_weighted: bool) -> None:
    table, weight, clf = fitted("plain", 3, is_weighted)
    model, rows = clf.model_, clf._rows(table.frame)
    scale = model.tree.weight[0] / weight.sum()
    expected = oracle.products(model, rows, scale * weight)
    np.testing.assert_allclose(model.rules.products, expected, rtol=1e-6 if is_weighted else 0, atol=0)
    assert model.rules.products[0, 0] == pytest.approx(scale * weight.sum(), rel=1e-6)
    assert (model.rules.products <= model.rules.products[0]).all()
    probability = weights.softmax(weights.contributions(model, np.unique(rows, axis=0)).sum(axis=1))
    assert model.row_curvature == pytest.approx(oracle.row_curvature(probability), rel=1e-9)


@LAW
@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(-9, 9)),
    st.floats(0, 1),
    st.floats(0, 1e6),
    st.floats(0.01, 1),
)
def test_sets_are_those_of_the_oracle_and_masses_are_in_order(scores: Floats, s: float, n: float, level: float) -> None:
    p, every = weights.softmax(scores.round(1)), np.ones(len(scores))
    found = RuleEvidence.resting_on(p, n * every, s * every, 0 * every, np.arange(scores.shape[1]))
    expected = [oracle.prediction_set(own, r, level) for own, r in zip(p, 1 - found.ignorance, strict=True)]
    sums = np.cumsum(-np.sort(-found.belief, axis=1), axis=1)
    is_clear = (np.abs(sums - level + 1e-12) > 1e-14).all(axis=1)
    np.testing.assert_array_equal(found.prediction_set(level)[is_clear], np.array(expected)[is_clear])
    assert (found.prediction_set(level) <= found.prediction_set(1.0)).all()
    assert (found.belief <= found.probability).all()
    assert (found.probability <= found.plausibility + 1e-15).all()
    np.testing.assert_allclose(found.belief.sum(axis=1) + found.ignorance, 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.dirichlet / found.dirichlet.sum(axis=1, keepdims=True), p, atol=1e-12)


def test_ties_at_the_border_of_a_set_are_in_it() -> None:
    p = np.array([[0.4, 0.3, 0.3], [0.4, 0.3 + 1e-13, 0.3 - 1e-13], [1 / 3, 1 / 3, 1 / 3]])
    found = RuleEvidence.resting_on(p, np.full(3, 1e9), np.ones(3), np.zeros(3), np.arange(3))
    assert found.prediction_set().all()
    assert found.prediction_set(0.4 - 1e-9).tolist() == [[True, False, False]] * 2 + [[True] * 3]
    with pytest.raises(ValueError, match="level is 0; it must be a number above 0 and at most 1"):
        found.prediction_set(0)


def test_a_weight_of_two_is_the_row_twice() -> None:
    table, _, clf = fitted("plain", 2, False)
    weighted = FERLClassifier(random_state=0).fit(table.frame, table.y, np.full(len(table.y), 2.0))
    twice = FERLClassifier(random_state=0).fit(pd.concat([table.frame] * 2), np.concatenate([table.y] * 2))
    rows = clf._rows(rows_beside(table, 0))
    np.testing.assert_array_equal(weighted.model_.rules.products, twice.model_.rules.products)
    np.testing.assert_array_equal(weighted.model_.evidence(rows).rows, twice.model_.evidence(rows).rows)


def test_more_rows_mean_less_ignorance_and_doubt_is_no_ignorance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = rng.random(4000) < np.where(X[:, 0] > 0, 0.5, 0.95)
    ignorance = []
    for n in (200, 1000, 4000):
        # With maps there are more cells, and each has fewer rows.
        clf = FERLClassifier(max_maps=None, random_state=0).fit(X[:n], y[:n])
        found = clf.predict_evidence(X[:200])
        ignorance.append(np.median(found.ignorance))
    assert ignorance[0] > 2 * ignorance[1] > 4 * ignorance[2]
    doubt = 1 - found.probability.max(axis=1)
    is_open = X[:200, 0] > 0.3
    assert np.median(doubt[is_open]) > 5 * np.median(doubt[~is_open])
    assert np.median(found.ignorance[is_open]) < 3 * np.median(found.ignorance[~is_open])


def test_a_hole_inside_the_range_and_a_closed_gate_leave_fewer_rows() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2))
    X = X[(X**2).sum(axis=1) > 1]
    clf = FERLClassifier(random_state=0).fit(X, X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0)
    inside, usual, far = (clf.predict_evidence(own) for own in ([[0.0, 0.0]], X[:100], [[0.0, 1e9]]))
    assert inside.rows[0] < 0.2 * np.median(usual.rows)
    assert (far.rows[0], far.ignorance[0]) == (0.0, 1.0) or far.ignorance[0] > 0.99


@pytest.mark.parametrize(("n_columns", "n_familiar"), [(2, 640), (6, 213), (30, 64)])
def test_familiarity_is_one_at_the_first_kept_rows_and_less_at_the_others(n_columns: int, n_familiar: int) -> None:
    X = np.random.default_rng(0).normal(size=(1500, n_columns))
    model = FERLClassifier(random_state=0, n_jobs=1).fit(X, X[:, 0] > 0).model_
    kept, familiarity = model.neighbours.rows, model.familiarity(model.neighbours.rows)
    assert len(kept) == 1024
    assert len(model.familiar.rows) == n_familiar
    assert (familiarity[:n_familiar] == 1).all()
    assert (familiarity[n_familiar:] < 1).all()
