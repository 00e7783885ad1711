"""A population that is known exactly, so that a guarantee is checked against the truth and not against a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ferl._util.arrays import Floats

Codes = NDArray[np.int64]

CLASS_SHARES = (0.55, 0.3, 0.15)
# Centres of three overlapping classes; the last feature says nothing.
CENTRES = ((0.0, 0.0, 0.0), (1.6, 0.4, 0.0), (0.4, 1.8, 0.0))


@dataclass(frozen=True, eq=False)
class Population:
    """Finitely many rows, all equally likely: a draw is one of them, with replacement.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels.
    """

    X: Floats
    y: Codes

    def draw(self, n_rows: int, random: np.random.Generator, tilt: Floats | None = None) -> NDArray[np.intp]:
        """Independent draws, as row numbers; with a tilt, rows are as likely as it says."""
        share = None if tilt is None else tilt / tilt.sum()
        return random.choice(len(self.y), size=n_rows, p=share)

    def coverage(self, sets: NDArray[np.bool_]) -> float:
        """Probability that the set of a new row contains its label."""
        return float(sets[np.arange(len(self.y)), self.y].mean())

    def class_coverage(self, sets: NDArray[np.bool_]) -> list[float]:
        """The same among the rows of each class."""
        covered = sets[np.arange(len(self.y)), self.y]
        return [float(covered[self.y == code].mean()) for code in range(len(CLASS_SHARES))]


def make_population(n_rows: int, seed: int) -> Population:
    """Three classes of different size that overlap, on a coarse grid so that scores have ties.

    Parameters
    ----------
    n_rows : int
        Number of distinct draws.
    seed : int
        Seed.

    Returns
    -------
    Population
    """
    random = np.random.default_rng(seed)
    y = random.choice(len(CLASS_SHARES), size=n_rows, p=CLASS_SHARES)
    X = np.asarray(CENTRES)[y] + random.normal(scale=0.6, size=(n_rows, 3))
    return Population(X.round(1), y)


N_SOFTMAX_COLUMNS = 6
SOFTMAX_KINDS = ("lines", "products", "waves")


@dataclass(frozen=True, eq=False)
class SoftmaxPopulation:
    """Normal columns; the probabilities of the classes are the softmax of scores.

    Attributes
    ----------
    kind : {"lines", "products", "waves"}
        What scores are sums of: the columns, the columns and products of two of them, or sines of the columns.
    weight : ndarray of shape (n_terms, n_classes)
        Weights of the sums.
    """

    kind: str
    weight: Floats

    @classmethod
    def of(cls, n_classes: int, kind: str, seed: int) -> SoftmaxPopulation:
        """Return a population whose weights are standard normal."""
        n_terms = N_SOFTMAX_COLUMNS + (N_SOFTMAX_COLUMNS // 2 if kind == "products" else 0)
        random = np.random.default_rng([seed, n_classes, SOFTMAX_KINDS.index(kind)])
        return cls(kind, random.normal(size=(n_terms, n_classes)))

    def draw(self, n_rows: int, random: np.random.Generator) -> tuple[Floats, Codes]:
        """Rows and their labels."""
        X = random.normal(size=(n_rows, N_SOFTMAX_COLUMNS))
        below = np.cumsum(self.probability(X), axis=1)[:, :-1] < random.random((n_rows, 1))
        return X, below.sum(axis=1)

    def probability(self, X: Floats) -> Floats:
        """The true probabilities, shape (n_rows, n_classes)."""
        terms = np.sqrt(2) * np.sin(2 * X) if self.kind == "waves" else X
        if self.kind == "products":
            terms = np.hstack([X, X[:, ::2] * X[:, 1::2]])
        return np.asarray(softmax(terms @ self.weight, axis=1))
