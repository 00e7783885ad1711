"""Sums of doubles that do not depend on the order in which they come."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LOW_BITS = 26  # of a mantissa's 53


class ExactSums:
    """Sums of doubles by cell, each rounded once, at the end: what ``math.fsum`` gives of all of them.

    Mantissas are added up as integers, for each exponent apart. There are few: weights span fifteen orders of
    magnitude at most.

    Parameters
    ----------
    n_cells : int
        Number of sums.

    Examples
    --------
    >>> import numpy as np
    >>> sums = ExactSums(2)
    >>> sums.add(np.array([0, 0, 1]), np.array([0.1, 0.2, 5.0]))
    >>> sums.add(np.array([0, 1]), np.array([0.3, 1e-20]))
    >>> sums.totals()
    array([0.6, 5. ])
    """

    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells
        self._parts: dict[int, NDArray[np.int64]] = {}  # by exponent: of the high and the low half of mantissas

    def add(self, cells: NDArray[np.intp], values: Floats) -> None:
        """Add each value to its cell; values are finite and not negative."""
        mantissa, exponent = np.frexp(values)
        whole = (mantissa * 2.0**53).astype(np.int64)
        for own in np.unique(exponent[whole > 0]).tolist():
            chosen = (exponent == own) & (whole > 0)
            parts = self._parts.setdefault(own, np.zeros((2, self.n_cells), dtype=np.int64))
            for half, bits in enumerate((whole[chosen] >> _LOW_BITS, whole[chosen] & (2**_LOW_BITS - 1))):
                # Sums of a batch stay below 2^53, where doubles are exact.
                parts[half] += np.bincount(cells[chosen], bits, minlength=self.n_cells).astype(np.int64)

    def merge(self, other: ExactSums) -> None:
        """Add the sums of another one."""
        for own, parts in other._parts.items():
            self._parts[own] = self._parts.get(own, np.zeros_like(parts)) + parts

    def totals(self) -> Floats:
        """The sums, shape (n_cells,)."""
        return np.array([float(total) for total in self._exact()])

    def total(self) -> float:
        """The sum over all cells."""
        return float(sum(self._exact(), start=Fraction(0)))

    def _exact(self) -> list[Fraction]:
        exact = [Fraction(0)] * self.n_cells
        for exponent, (high, low) in self._parts.items():
            unit = Fraction(2) ** (exponent - 53)
            for cell in np.flatnonzero(high | low).tolist():
                exact[cell] += (int(high[cell]) * 2**_LOW_BITS + int(low[cell])) * unit
        return exact
