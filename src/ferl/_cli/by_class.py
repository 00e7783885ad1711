"""Shares of the rows of each class that something is true of: recall, and how often sets hold the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Bools, Ints

MAX_CLASSES = 8  # that are printed; of more, those with the lowest shares


@dataclass(frozen=True, eq=False)
class ByClass:
    """Rows of each class, and how many of them something is true of.

    Attributes
    ----------
    classes : sequence of str
        Labels, as people read them.
    n_rows, n_hit : ndarray of shape (n_classes,)
        Number of rows, and of those that it is true of.
    """

    classes: Sequence[str]
    n_rows: NDArray[np.intp]
    n_hit: NDArray[np.intp]

    @classmethod
    def of(cls, classes: Sequence[str], truth: Ints, hit: Bools) -> ByClass:
        """Count rows.

        Parameters
        ----------
        classes : sequence of str
            Labels, as people read them.
        truth : ndarray of shape (n_samples,)
            Index of each row's class; rows of -1 do not count.
        hit : ndarray of bool of shape (n_samples,)
            What is true of some rows.
        """
        known = truth >= 0
        n_rows = np.bincount(truth[known], minlength=len(classes))
        return cls(classes, n_rows, np.bincount(truth[known & hit], minlength=len(classes)))

    @property
    def held(self) -> NDArray[np.intp]:
        """Indices of the classes that have rows."""
        return np.flatnonzero(self.n_rows)

    @property
    def mean(self) -> float | None:
        """Mean share of the classes that have rows; None: no class has any."""
        return float((self.n_hit[self.held] / self.n_rows[self.held]).mean()) if len(self.held) else None

    def shares(self) -> dict[str, float | None]:
        """The share of each class; None of a class without rows."""
        pairs = zip(self.classes, self.n_rows.tolist(), self.n_hit.tolist(), strict=True)
        return {name: n_hit / n if n else None for name, n, n_hit in pairs}

    def text(self) -> str:
        """The share of each class that has rows, "yes 71.4% of 14, no 95.0% of 80"; of many classes, the lowest."""
        shown, rest = self.held, ""
        if len(shown) > MAX_CLASSES:
            shares = self.n_hit[shown] / self.n_rows[shown]
            rest = f"; these are the lowest of {len(shown):,} classes, whose mean is {shares.mean():.1%}"
            shown = shown[np.argsort(shares, kind="stable")[:MAX_CLASSES]]
        told = [f"{self.classes[c]} {self.n_hit[c] / self.n_rows[c]:.1%} of {self.n_rows[c]:,}" for c in shown]
        return ", ".join(told) + rest
