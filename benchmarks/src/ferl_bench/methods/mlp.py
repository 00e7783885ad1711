"""A multilayer perceptron with one hidden layer of 64 units, the paper's neural network for prediction sets."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from ferl_bench.method import Method

N_UNITS = 64
MAX_ITERATIONS = 500


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> MLPClassifier:
    """Fit scikit-learn's, with its default optimiser and penalty."""
    network = MLPClassifier((N_UNITS,), max_iter=MAX_ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        # The number of epochs is part of the method, not a failure of it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return network.fit(X, y)


METHODS = (
    Method(
        name="MLP(64)", fit=fit, parameters={"n_units": N_UNITS, "max_iter": MAX_ITERATIONS}, is_interpretable=False
    ),
)
