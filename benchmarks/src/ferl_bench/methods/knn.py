"""Nearest neighbours: the plain vote of the ten nearest rows, and Denoeux's evidential rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from ferl_bench.method import Method

N_NEIGHBOURS = 10
RELIABILITY = 0.95  # the mass that a neighbour at distance 0 gives to its class, as in the paper of 1995


def fit_plain(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> KNeighborsClassifier:
    """Fit scikit-learn's, on standardised columns as all methods get them."""
    return KNeighborsClassifier(min(N_NEIGHBOURS, len(y)), n_jobs=1).fit(X, y)


@dataclass
class EvidentialNeighbours:
    """Each neighbour at distance d gives its class c the mass ``0.95 exp(-g_c d^2)``; Dempster's rule combines them.

    The scale g_c is one over the mean squared distance between rows of the class (T. Denoeux, A k-nearest neighbor
    classification rule based on Dempster-Shafer theory, 1995).
    """

    classes_: NDArray[np.int64]
    search: NearestNeighbors
    label: NDArray[np.intp]
    scale: NDArray[np.float64]

    def masses(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mass of each class, shape (n_rows, n_classes), and that of all of them, (n_rows,)."""
        distance, index = self.search.kneighbors(X)
        label = self.label[index]
        closeness = RELIABILITY * np.exp(-self.scale[label] * distance**2)
        # For each class, what its neighbours leave to all classes; logarithms keep products from underflowing.
        left = np.zeros((len(X), len(self.classes_)))
        rows = np.repeat(np.arange(len(X)), index.shape[1])
        np.add.at(left, (rows, label.ravel()), np.log1p(-closeness).ravel())
        total = left.sum(axis=1, keepdims=True)
        single = -np.expm1(left) * np.exp(total - left)
        whole = np.exp(total[:, 0])
        norm = single.sum(axis=1) + whole
        return single / norm[:, None], whole / norm

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pignistic probability: the mass of all classes is shared equally."""
        single, whole = self.masses(X)
        return np.asarray(single + whole[:, None] / len(self.classes_))

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def fit_evidential(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> EvidentialNeighbours:
    """Keep all rows, and measure the scale of each class on at most 1,000 of its rows."""
    classes, label = np.unique(y, return_inverse=True)
    scale = np.ones(len(classes))
    rng = np.random.default_rng(seed)
    for c in range(len(classes)):
        rows = X[label == c]
        rows = rows[rng.permutation(len(rows))[:1000]]
        # The mean squared distance between two rows is twice the sum of the variances.
        spread = 2 * rows.var(axis=0).sum() * len(rows) / max(len(rows) - 1, 1)
        scale[c] = 1 / spread if spread > 0 else 1.0
    search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, len(y)), n_jobs=1).fit(X)
    return EvidentialNeighbours(classes, search, label, scale)


def prediction_set(fitted: EvidentialNeighbours, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the classes whose plausibility reaches the largest belief."""
    single, whole = fitted.masses(X)
    return np.asarray(single + whole[:, None] >= single.max(axis=1, keepdims=True))


METHODS = (
    Method(name="k-NN", fit=fit_plain, parameters={"n_neighbours": N_NEIGHBOURS}, is_interpretable=False),
    Method(
        name="Evidential k-NN",
        fit=fit_evidential,
        prediction_set=prediction_set,
        parameters={"n_neighbours": N_NEIGHBOURS, "reliability": RELIABILITY},
        code=("ferl_bench/methods/knn.py",),
        is_interpretable=False,
    ),
)
