"""Rows that come in blocks, for the tests of partial_fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from law_examples import Table

Floats = NDArray[np.float64]


def with_gaps(X: Floats, seed: int, share: float = 0.2) -> Floats:
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def world(rng: np.random.Generator, n: int, *, flipped: float = 0.0, moved: float = 0.0) -> Table:
    """Five features, two classes that overlap; a share of the labels turned round, or a feature moved."""
    X = rng.normal(size=(n, 5))
    y = rng.random(n) < 1 / (1 + np.exp(-(2 * X[:, 0] + X[:, 1] * X[:, 2])))
    X[:, 0] += moved
    return X, np.where(rng.random(n) < flipped, ~y, y).astype(np.int64)
