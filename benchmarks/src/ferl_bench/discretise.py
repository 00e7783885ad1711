"""Features as a few values each, for rivals that count instead of comparing numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._learn.word_builders import mdlp_cuts
from ferl._util.arrays import Floats

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Discretiser:
    """Cuts of each feature by Fayyad and Irani's MDL principle, learned from the fitting rows.

    Attributes
    ----------
    columns : tuple of int
        The features that have a cut; no other can tell the classes apart.
    cuts : tuple of ndarray
        Ascending cuts of each of `columns`. A value on a cut belongs below it.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.discretise import Discretiser
    >>> X = np.column_stack([np.arange(20.0), np.zeros(20)])
    >>> discretiser = Discretiser.learn(X, np.repeat([0, 1], 10))
    >>> discretiser.columns, discretiser.codes(X)[[0, 9, 10, 19], 0].tolist()
    ((0,), [0, 0, 1, 1])
    """

    columns: tuple[int, ...]
    cuts: tuple[Floats, ...]

    @staticmethod
    def learn(X: Floats, y: NDArray[np.int64]) -> Discretiser:
        """Find the cuts that pay for themselves in the description of the labels."""
        classes = np.unique(y, return_inverse=True)[1].astype(np.intp)
        weight = np.ones(len(X))
        result = {
            column: np.array(mdlp_cuts(values, classes, weight, max_cuts=len(X), forced=False))
            for column, values in enumerate(X.T)
        }
        kept = {column: cuts for column, cuts in result.items() if len(cuts)}
        return Discretiser(tuple(kept), tuple(kept.values()))

    @property
    def n_values(self) -> tuple[int, ...]:
        """Number of values of each kept feature."""
        return tuple(len(cuts) + 1 for cuts in self.cuts)

    def codes(self, X: Floats) -> Codes:
        """Return the value, from 0, of each kept feature; shape (n_rows, n_columns)."""
        codes = np.empty((len(X), len(self.columns)), dtype=np.intp)
        for position, (column, cuts) in enumerate(zip(self.columns, self.cuts, strict=True)):
            codes[:, position] = np.searchsorted(cuts, X[:, column], side="left")
        return codes


@dataclass(frozen=True)
class Thresholds:
    """Cuts that turn numbers into bits, for rivals whose rules are made of bits.

    Attributes
    ----------
    columns : ndarray of int of shape (n_cuts,)
        The feature that each cut belongs to; no cut leaves all fitting rows on one side.
    cuts : ndarray of shape (n_cuts,)
        The cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.discretise import Thresholds
    >>> X = np.column_stack([np.arange(4.0), [0.0, 0.0, 1.0, 1.0], np.zeros(4)])
    >>> thresholds = Thresholds.at_quantiles(X, 3)
    >>> thresholds.columns.tolist(), thresholds.cuts.tolist()
    ([0, 0, 0, 1], [0.75, 1.5, 2.25, 0.5])
    >>> thresholds.above(X).astype(int).tolist()
    [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]]
    """

    columns: NDArray[np.intp]
    cuts: Floats

    @staticmethod
    def at_random(X: Floats, n_cuts: int, rng: np.random.Generator) -> Thresholds:
        """Draw the cuts of each feature uniformly from its range."""

        def draw(values: Floats) -> Floats:
            return np.asarray(rng.uniform(values[0], values[-1], n_cuts))

        return Thresholds._collect(X, draw)

    @staticmethod
    def at_quantiles(X: Floats, n_cuts: int) -> Thresholds:
        """Put the cuts of each feature at quantiles with equal numbers of rows between them."""

        def quantiles(values: Floats) -> Floats:
            return np.asarray(np.unique(np.quantile(values, np.arange(1, n_cuts + 1) / (n_cuts + 1))))

        return Thresholds._collect(X, quantiles)

    @staticmethod
    def _collect(X: Floats, choose: Callable[[Floats], Floats]) -> Thresholds:
        columns: list[int] = []
        result: list[Floats] = []
        for column, values in enumerate(np.sort(X, axis=0).T):
            # Of two values one bit says everything; further cuts would be copies of it.
            cuts = np.array([(values[0] + values[-1]) / 2]) if len(np.unique(values)) == 2 else choose(values)
            cuts = cuts[(cuts >= values[0]) & (cuts < values[-1])]
            columns += [column] * len(cuts)
            result.append(cuts)
        return Thresholds(np.array(columns, dtype=np.intp), np.concatenate(result))

    def above(self, X: Floats) -> NDArray[np.bool_]:
        """Return whether each value lies above each cut; shape (n_rows, n_cuts)."""
        return np.asarray(X[:, self.columns] > self.cuts)
