"""Indicators: columns that say whether a value is missing, behind those of the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

INDICATOR_LEVELS = ("known", "missing")
"""The two categories of an indicator, in the order of their codes."""


def with_indicators(X: Floats, features: Sequence[int]) -> Floats:
    """The table with one more column for each of these features: 1 where its value is missing, else 0."""
    if not features:
        return X
    return np.hstack([X, np.isnan(X[:, list(features)]).astype(np.float64)])


def add_up_indicators(parts: Floats, features: Sequence[int]) -> Floats:
    """Parts of the features, each with that of its indicator, where it has one."""
    if not features:
        return parts
    n_features = parts.shape[1] - len(features)
    out = parts[:, :n_features].copy()
    out[:, list(features)] += parts[:, n_features:]
    return out
