"""What users give to conformal sets, checked; errors name the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def checked_alphas(alpha: float | Sequence[float]) -> list[float]:
    """One alpha or several, as a list of numbers strictly between 0 and 1."""
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if alphas.ndim != 1 or not alphas.size:
        raise ValueError(f"alpha must be a number or a list of numbers; got an array of shape {alphas.shape}.")
    for value in alphas.tolist():
        if not 0 < value < 1:
            raise ValueError(
                f"alpha is {value:g}; it must lie strictly between 0 and 1. It is the share of sets that may miss the "
                "true label: 0.1 for a coverage of 90 %."
            )
    return [float(value) for value in alphas]


def checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Weights of shape (n_rows,); ones if none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; it needs one number per row, shape ({n_rows},).")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must hold finite numbers, none of them negative and not all of them 0.")
    return weight
