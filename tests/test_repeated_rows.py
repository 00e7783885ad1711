"""Rows that come many times: spikes, sentinels and tables of few distinct rows are learned as what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from ferl import FERLClassifier

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SEEDS = range(6)


def spike(n: int) -> tuple[Floats, Ints, Floats]:
    """Amounts, 1 % of them exactly 20, most of which are positive; also the probabilities of the draw."""
    rng = np.random.default_rng(0)
    is_spike = rng.random(n) < 0.01
    amount = np.where(is_spike, 20.0, rng.exponential(50.0, n).round(2))
    chance = np.where(is_spike, 0.8, 0.005)
    return amount[:, None], (rng.random(n) < chance).astype(np.int64), chance


def cells(n: int) -> tuple[Floats, Ints]:
    """Two columns of 0 and 1, whose effects are none without the other."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (n, 2)).astype(np.float64)
    return X, (rng.random(n) < np.where(X[:, 0] == X[:, 1], 0.8, 0.3)).astype(np.int64)


def fit(X: Floats, y: Ints, **options: Any) -> FERLClassifier:
    weight = options.pop("sample_weight", None)
    return FERLClassifier(**{"random_state": 0} | options).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n", [20_000, 200_000])
def test_a_spike_is_found_with_any_seed(n: int) -> None:
    X, y, chance = spike(n + 50_000)
    ideal = average_precision_score(y[n:], chance[n:])
    for seed in SEEDS:
        found = fit(X[:n], y[:n], random_state=seed).predict_proba(X[n:])[:, 1]
        assert average_precision_score(y[n:], found) > 0.9 * ideal


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_a_sentinel_has_its_own_probability_with_any_seed(share: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=100_000).round(3)
    x[rng.random(len(x)) < 0.03] = -999
    y = (rng.random(len(x)) < np.where(x == -999, share, 1 / (1 + np.exp(2 - x.clip(-9))))).astype(np.int64)
    for seed in SEEDS:
        found = fit(x[:, None], y, random_state=seed).predict_proba([[-999.0], [-2.0], [0.0]])[:, 1]
        assert found == pytest.approx([y[x == -999].mean(), 0.018, 0.119], abs=0.03)


@pytest.mark.parametrize(("n", "error"), [(100_000, 0.005), (400, 0.1)])
def test_few_distinct_rows_have_the_frequencies_of_their_cells(n: int, error: float) -> None:
    X, y = cells(n)
    kinds, code = np.unique(X, axis=0, return_inverse=True)
    share = np.bincount(code.ravel(), weights=y) / np.bincount(code.ravel())
    for seed in SEEDS:
        assert fit(X, y, random_state=seed).predict_proba(kinds)[:, 1] == pytest.approx(share, abs=error)


@pytest.mark.parametrize("make", [lambda: spike(20_000)[:2], lambda: cells(20_000)], ids=["spike", "cells"])
def test_weights_order_and_threads_change_no_bit_of_repeated_rows(make: Any) -> None:
    X, y = make()
    rows, count = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    usual = fit(X, y, n_jobs=1).predict_proba(rows[:, :-1])
    order = np.random.default_rng(3).permutation(len(y))
    assert np.array_equal(usual, fit(X[order], y[order], n_jobs=2).predict_proba(rows[:, :-1]))
    weighted = fit(rows[:, :-1], rows[:, -1].astype(np.int64), sample_weight=count.astype(np.float64))
    assert np.array_equal(usual, weighted.predict_proba(rows[:, :-1]))


def test_rows_of_great_weight_that_come_once_are_not_known_by_heart() -> None:
    """Weights of a survey are no repetitions: rows must not be validated on pieces of themselves."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3_000, 6))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2]))).astype(np.int64)
    found = fit(X[:1_000], y[:1_000], sample_weight=np.full(1_000, 100.0)).predict_proba(X[1_000:])
    assert -np.log(found[np.arange(2_000), y[1_000:]]).mean() < np.log(2)
