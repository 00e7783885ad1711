"""The folds of Weka's cross-validation, so that its published figures can be compared row by row with ours.

Other folds of the same rows move the accuracy of a tree by two points on a set of a few hundred rows, more than two
programs of the same method differ. Weka shuffles the rows with Java's generator, deals them out by class and cuts the
result into equal parts; all of it depends on the seed and the order of the rows alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 48) - 1


class JavaRandom:
    """The generator of ``java.util.Random``, as its documentation defines it.

    Parameters
    ----------
    seed : int
        The seed.

    Examples
    --------
    >>> from ferl_bench.weka_folds import JavaRandom
    >>> random = JavaRandom(42)
    >>> [random.below(100) for _ in range(5)]
    [30, 63, 48, 84, 70]
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & _MASK

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1 (Java: ``nextInt(bound)``)."""
        if bound & (bound - 1) == 0:
            return (bound * self._next_31_bits()) >> 31
        while True:
            bits = self._next_31_bits()
            # Numbers of the last, incomplete stretch of `bound` numbers below 2^31 would favour small results.
            if bits - bits % bound + bound <= 1 << 31:
                return bits % bound

    def _next_31_bits(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & _MASK
        return self._state >> 17


def weka_test_parts(y: NDArray[np.int64], n_folds: int = 10, seed: int = 1) -> list[NDArray[np.intp]]:
    """Return the test rows of each fold of Weka's stratified cross-validation.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels, in the order of the file.
    n_folds : int, default=10
        Number of folds.
    seed : int, default=1
        Weka's random seed.

    Returns
    -------
    list of ndarray of int
        Disjoint, together all rows.
    """
    rows = _grouped(_shuffled(len(y), JavaRandom(seed)), y)
    dealt = np.concatenate([rows[start::n_folds] for start in range(n_folds)])
    return np.array_split(dealt, n_folds)


def _shuffled(n: int, random: JavaRandom) -> NDArray[np.intp]:
    rows = np.arange(n)
    for last in range(n - 1, 0, -1):
        other = random.below(last + 1)
        rows[[last, other]] = rows[[other, last]]
    return rows


def _grouped(rows: NDArray[np.intp], y: NDArray[np.int64]) -> NDArray[np.intp]:
    """Bring rows of the same class together by exchanging them with the row that is in the way."""
    rows = rows.copy()
    end = 1  # of the group that is being filled
    while end < len(rows):
        label = y[rows[end - 1]]
        for place in range(end, len(rows)):
            if y[rows[place]] == label:
                rows[[end, place]] = rows[[place, end]]
                end += 1
        end += 1
    return rows
