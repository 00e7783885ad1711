"""Averaging of paths: which tables have several, that they change nothing but the noise, and the laws of one path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ferl import _core
from test_rules_core import grow, probabilities, random_table, same_bits, sample_of

N_ROWS, SMALL = 900, 500


def tuned(n_paths: int, **others: Any) -> Any:
    """Numbers with which a table of N_ROWS rows and up to four classes affords so many paths."""
    tuning = _core.Tuning()
    tuning.small_rows = SMALL
    tuning.parts_work = n_paths * N_ROWS * tuning.parts_channels
    for name, value in others.items():
        setattr(tuning, name, value)
    return tuning


def n_paths(n_rows: int, n_classes: int, tuning: Any) -> int:
    """The description: one path up to small_rows, then as many as the work allows, at most most_parts."""
    n_channels = 1 if n_classes == 2 else n_classes
    affordable = tuning.parts_work // (n_rows * max(n_channels, tuning.parts_channels))
    return 1 if n_rows <= tuning.small_rows else int(np.clip(affordable, 1, tuning.most_parts))


def noisy_table(seed: int, n_rows: int = N_ROWS, n_classes: int = 2) -> tuple[Any, Any, Any]:
    """Columns, labels, and the true probabilities of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    p = 1 / (1 + np.exp(-X[:, 0] * X[:, 1] - np.sin(2 * X[:, 2]) - X[:, 3]))
    labels = (rng.random(n_rows) < p).astype(np.int32)
    return X, labels + (n_classes - 2) * (labels & (X[:, 4] > 0)) if n_classes > 2 else labels, p


def test_the_default_averages_between_4096_and_50000_rows() -> None:
    tuning = _core.Tuning()
    assert [n_paths(n, 2, tuning) for n in (4096, 4097, 25_000, 33_333, 50_000, 50_001, 300_000)] == [
        1,
        4,
        4,
        3,
        2,
        1,
        1,
    ]
    assert [n_paths(20_000, n_classes, tuning) for n_classes in (2, 4, 5, 10, 11, 26)] == [4, 4, 4, 2, 1, 1]


@pytest.mark.parametrize(
    ("change", "n_rows", "n_classes"),
    [
        ({}, N_ROWS, 2),
        ({}, N_ROWS, 3),
        ({"most_parts": 2}, N_ROWS, 2),
        ({"parts_work": 4 * N_ROWS * 4 - 1}, N_ROWS, 2),
        ({"parts_work": 2 * N_ROWS * 4}, N_ROWS, 2),
        ({"parts_work": 2 * N_ROWS * 4 - 1}, N_ROWS, 2),
        ({"parts_channels": 9}, N_ROWS, 2),
        ({}, SMALL + 1, 2),
        ({}, SMALL, 2),
    ],
)
def test_there_are_as_many_paths_as_the_description_says(change: Any, n_rows: int, n_classes: int) -> None:
    X, y, _ = noisy_table(0, n_rows, n_classes)
    sample, tuning = sample_of(X, y), tuned(4, **change)
    n_averaged = n_paths(n_rows, n_classes, tuning)
    grown = grow(sample, tuning=tuning, max_maps=-1)
    tuning.most_parts = 1
    alone = grow(sample, tuning=tuning, max_maps=-1)
    assert same_bits(grown, alone) == (n_averaged == 1)
    assert (grown["n_grown"] > alone["n_grown"]) == (n_averaged > 1)
    assert len(grown["weight"]) <= len(alone["weight"])  # no more to read


@pytest.mark.parametrize("seed", range(3))
def test_paths_that_are_averaged_keep_the_laws_of_one(seed: int) -> None:
    """Order of the rows, threads, and a row of weight 2 as the row twice; categories and missing values among them."""
    X, y, _, n_categories = random_table(seed, N_ROWS)
    copies = np.random.default_rng(seed).integers(1, 3, len(X))
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(X)), copies))
    tuning = tuned(4, parts_channels=6)
    expected = grow(sample_of(X, y, copies.astype(float), n_categories), tuning=tuning)
    tuning.most_parts = 1
    assert not same_bits(grow(sample_of(X, y, copies.astype(float), n_categories), tuning=tuning), expected)
    tuning.most_parts = 4
    assert same_bits(grow(sample_of(X[order], y[order], None, n_categories), tuning=tuning, n_threads=3), expected)


def test_where_all_paths_have_the_same_rules_their_mean_is_one_of_them() -> None:
    """Two categories allow one condition and its opposite: only the rounding of the refits is left to average."""
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 1.0], N_ROWS // 2)
    y = (rng.random(N_ROWS) < 0.2 + 0.5 * x).astype(np.int32)
    sample = sample_of(x[:, None], y, n_categories=np.array([2], np.int32))
    tuning = tuned(4, small_rows=1)
    averaged = grow(sample, tuning=tuning)
    tuning.most_parts = 1
    alone = grow(sample, tuning=tuning)
    assert not same_bits(averaged, alone)
    assert averaged["n_grown"] == alone["n_grown"]  # equal rules are joined
    X = np.array([[0.0], [1.0]])
    np.testing.assert_allclose(probabilities(averaged, X), probabilities(alone, X), atol=1e-3)


def test_averaging_is_better_than_one_path_on_average() -> None:
    """Divergence from the true probabilities on new rows: of eight tables, measured with the same rules at most."""

    def excess(seed: int, most_parts: int) -> float:
        X, y, p = noisy_table(seed, 4 * N_ROWS)
        new = slice(N_ROWS, None)
        grown = grow(sample_of(X[:N_ROWS], y[:N_ROWS]), tuning=tuned(4, most_parts=most_parts), max_maps=-1)
        q = probabilities(grown, X[new])[:, 1]
        return float(np.mean(p[new] * np.log(p[new] / q) + (1 - p[new]) * np.log((1 - p[new]) / (1 - q))))

    averaged, alone = (np.mean([excess(seed, n) for seed in range(8)]) for n in (4, 1))
    assert averaged < 0.95 * alone
