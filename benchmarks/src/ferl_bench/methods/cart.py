"""CART: one crisp tree, grown until its leaves are pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ferl_bench.method import Method


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> DecisionTreeClassifier:
    """Fit scikit-learn's tree with its defaults."""
    return DecisionTreeClassifier(random_state=seed).fit(X, y)


def size(fitted: DecisionTreeClassifier) -> int:
    """Return the number of leaves."""
    return int(fitted.get_n_leaves())


METHODS = (Method(name="CART", fit=fit, size=size, paper={"accuracy": 79.76, "aurc": 19.89, "size": 175}),)
