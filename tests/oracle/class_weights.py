"""Class weights as fractions: multiples of a power of two, so that no sum over rows is rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

FEWEST, MOST = 16, 36  # binary digits of a class weight


def class_weights(given: Sequence[float], totals: Sequence[float]) -> list[Fraction]:
    """The weight of a row of each class; class weights that would make all rows lighter are scaled up.

    ``given``: class weights. ``totals``: the sum of sample weights of each class.
    """
    weight = on_grid([Fraction(own) for own in given])
    rows = [Fraction(own) for own in totals]
    heavy = sum(own * n for own, n in zip(weight, rows, strict=True))
    plain = sum(n for own, n in zip(weight, rows, strict=True) if own > 0)
    if heavy >= (1 - Fraction(1e-9)) * plain:
        return weight
    scale = Fraction(float(plain) / float(heavy))
    return on_grid([Fraction(float(own * scale)) for own in weight])


def on_grid(weight: list[Fraction]) -> list[Fraction]:
    """The nearest multiples of 2^-36 of the power of two above the largest; each has 16 digits at least."""
    top = max(exponent(own) for own in weight if own > 0)
    steps = [Fraction(2) ** max(min(top - MOST, exponent(own) - FEWEST), exponent(own) - MOST) for own in weight]
    return [round(own / step) * step for own, step in zip(weight, steps, strict=True)]


def exponent(own: Fraction) -> int:
    """The exponent of the power of two above a number."""
    return math.frexp(float(own))[1]
