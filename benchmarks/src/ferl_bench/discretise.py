"""Features as a few values each, for rivals that count instead of comparing numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._learn.mdlp import mdlp_cuts
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
        found = {
            column: np.array(mdlp_cuts(values, classes, weight, max_cuts=len(X), forced=False))
            for column, values in enumerate(X.T)
        }
        kept = {column: cuts for column, cuts in found.items() if len(cuts)}
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
