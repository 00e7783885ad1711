"""Random forest: a hundred trees, the reference that cannot be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ferl_bench.method import Method

N_TREES = 100


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> RandomForestClassifier:
    """Fit scikit-learn's forest with its defaults, on one thread."""
    return RandomForestClassifier(N_TREES, random_state=seed, n_jobs=1).fit(X, y)


def size(fitted: RandomForestClassifier) -> int:
    """Return the number of leaves of all trees."""
    return sum(int(tree.get_n_leaves()) for tree in fitted.estimators_)


METHODS = (
    Method(
        name="Random forest",
        fit=fit,
        size=size,
        parameters={"n_trees": N_TREES},
        paper={"accuracy": 86.62, "aurc": 6.26},
        is_interpretable=False,
    ),
)
