"""Logistic regression: the linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ferl_bench.method import Method

MAX_ITERATIONS = 2000


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> LogisticRegression:
    """Fit scikit-learn's, with its default penalty."""
    return LogisticRegression(max_iter=MAX_ITERATIONS, random_state=seed).fit(X, y)


METHODS = (
    Method(
        name="Logistic regression",
        fit=fit,
        parameters={"max_iter": MAX_ITERATIONS},
        paper={"accuracy": 81.13, "aurc": 10.59},
    ),
)
