"""The offline example: handwritten digits, and the strokes that people see in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STROKES: dict[str, str] = {
    "loop at the top": "89",
    "loop at the bottom": "68",
    "one big loop": "0",
    "flat stroke at the top": "57",
    "flat stroke at the bottom": "2",
    "stroke down the middle": "1",
    "long slanted stroke": "7",
    "crossing strokes": "4",
    "bulge to the right at the top": "2389",
    "bulge to the right at the bottom": "3568",
    "stroke on the left at the top": "0456",
    "stroke on the right at the bottom": "049",
}
"""Strokes by name, and the digits that have them as most people write them. No two digits have the same."""


@dataclass(frozen=True, eq=False)
class DigitStrokes:
    """Images of digits with their strokes.

    Attributes
    ----------
    X : ndarray of shape (1797, 64)
        Images of 8 x 8 pixels, line by line, 0 for white and 16 for black.
    y : ndarray of int of shape (1797,)
        The digits.
    class_concepts : dict of int to list of int
        Which strokes each digit has: 1 or 0.
    concept_names : tuple of str
        Names of the strokes.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    class_concepts: dict[int, list[int]]
    concept_names: tuple[str, ...]


def load_digit_strokes() -> DigitStrokes:
    """Digits of scikit-learn, which brings them along, with a table of twelve strokes.

    Returns
    -------
    DigitStrokes

    Examples
    --------
    >>> from ferl.concepts import load_digit_strokes
    >>> digits = load_digit_strokes()
    >>> [name for name, has in zip(digits.concept_names, digits.class_concepts[7]) if has]
    ['flat stroke at the top', 'long slanted stroke']
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    table = {digit: [int(str(digit) in having) for having in STROKES.values()] for digit in range(10)}
    return DigitStrokes(np.asarray(X), np.asarray(y, dtype=np.int64), table, tuple(STROKES))
