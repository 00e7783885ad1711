"""Bands around thresholds in words: with the digits that mean something, and never as an impossible interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ferl._util.arrays import Floats
from ferl._util.text import DIGITS, number_text

MAX_DIGITS = 8  # after the point; smaller numbers are told by their power of ten
LARGE = 1e12
FULL = 0.995  # from here on a membership reads as one
_POINTS = 129  # of a grid
_ROUNDS = 3  # in each of which the grid is drawn closer around the best of its points


@dataclass(frozen=True)
class Bound:
    """One side of a condition: a threshold and the half-width of the band around it.

    Attributes
    ----------
    theta, half_width : float
        The band.
    share : float
        Share of the bootstrap resamples whose best cut lies inside the band.
    """

    theta: float
    half_width: float
    share: float = math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends of the band."""
        return self.theta - self.half_width, self.theta + self.half_width

    def text(self, decimals: int | None = None, with_share: bool = False) -> str:
        """Threshold and half-width; by default with as many digits as the half-width gives meaning to."""
        share = self.share_text(with_share)
        if decimals is not None:
            return f"{self.theta:.{decimals}f} ±{self.half_width:.{decimals}f}{share}"
        digits = _digits(self.half_width)
        if digits > MAX_DIGITS or not self.half_width > 0:  # a cut, to the eye
            return f"{number_text(self.theta)}{share}"
        few = _few_digits(self.theta, digits, self.half_width / 4)
        narrow = few if abs(round(self.half_width, few) - self.half_width) <= self.half_width / 4 else digits
        return f"{self.theta:.{few}f} ±{self.half_width:.{narrow}f}{share}"

    def ends_text(self, decimals: int | None = None, with_share: bool = False) -> str:
        """The two ends of the band; by default with digits that leave them where they are, but for a hundredth."""
        ends = "..".join(value_at(end, self.half_width, decimals) for end in self.ends)
        return f"{ends}{self.share_text(with_share)}"

    def share_text(self, is_told: bool) -> str:
        """The share of resamples, to follow the band."""
        return f" ({self.share:.0%})" if is_told and not math.isnan(self.share) else ""


@dataclass(frozen=True)
class Overlap:
    """Two bands that overlap: no value lies above the one and below the other fully.

    Attributes
    ----------
    lower, upper : Bound
        The bands.
    value, membership : float
        The value that fits best, and by how much.
    """

    lower: Bound
    upper: Bound
    value: float
    membership: float

    def text(self, decimals: int | None = None, with_share: bool = False, with_ramps: bool = False) -> str:
        """What follows the name of a feature; ``with_ramps``: the ends of both bands, not of what fits at all."""
        low, high = self.lower.ends[0], self.upper.ends[1]
        if not (self.membership > 0 and low < high):
            return "is missing (no value fits)"
        around = f"around {value_at(self.value, high - low, decimals)}"
        if with_ramps:
            lower, upper = (own.ends_text(decimals, with_share) for own in (self.lower, self.upper))
            fits = f"above {lower}, below {upper}"
        else:
            fits = "..".join(value_at(end, (high - low) / 2, decimals) for end in (low, high))
        return f"{around} ({fits}, fits by at most {self.membership:.2g})"


def overlap(lower: Bound | None, upper: Bound | None, trapezoids: Floats) -> Overlap | None:
    """How bands overlap, where no value fits fully; None where one does.

    Parameters
    ----------
    lower, upper : Bound or None
        The merged bands of a feature.
    trapezoids : ndarray of shape (n_conditions, 4)
        The conditions (a, b, c, d) that they were merged from.

    Returns
    -------
    Overlap or None
    """
    if lower is None or upper is None or lower.ends[1] <= upper.ends[0]:
        return None
    value, membership = best_fit(trapezoids)
    return None if membership >= FULL else Overlap(lower, upper, value, membership)


def best_fit(trapezoids: Floats) -> tuple[float, float]:
    """The value of the largest product of memberships, and that product.

    Sides of trapezoids are straight lines up to one, so the logarithm of their product is concave: it has one top, and
    a finer grid around the best point of a coarser one finds it.

    Parameters
    ----------
    trapezoids : ndarray of shape (n_conditions, 4)
        Conditions (a, b, c, d), some of which end on the left and some on the right.

    Returns
    -------
    value, membership : float
        The middle of the values that fit best; 0 for the membership where no value fits all conditions.

    Examples
    --------
    >>> import numpy as np
    >>> above, below = (2.0, 4.0, np.inf, np.inf), (-np.inf, -np.inf, 2.0, 4.0)
    >>> best_fit(np.array([above, below]))
    (3.0, 0.25)
    """
    rises, falls = trapezoids[np.isfinite(trapezoids[:, 0]), :2], trapezoids[np.isfinite(trapezoids[:, 3]), 2:]
    low, high = float(rises[:, 0].max()), float(falls[:, 1].min())
    if not low <= high:
        return (low + high) / 2, 0.0
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _POINTS)
        fits = _climb(grid, rises) * _climb(-grid, -falls[:, ::-1])
        best = np.flatnonzero(fits == fits.max())
        low, high = float(grid[max(best[0] - 1, 0)]), float(grid[min(best[-1] + 1, _POINTS - 1)])
    return float(grid[best].mean()), float(fits.max())


def _climb(values: Floats, ramps: Floats) -> Floats:
    """Product of memberships in ramps that rise from the first of their ends to the second."""
    start, full = ramps[:, :1], ramps[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(start == full, values >= full, np.clip((values - start) / (full - start), 0.0, 1.0))
    return np.asarray(share.prod(axis=0))


def _digits(half_width: float) -> int:
    """Decimals that leave one significant digit of the half-width, two if it starts with 1 or 2."""
    if not half_width > 0:
        return 6
    power = math.floor(math.log10(half_width))
    return min(max(0, -power + (half_width < 3 * 10.0**power)), 12)


def _few_digits(value: float, digits: int, error: float) -> int:
    """Decimals that leave four significant digits, where these are fewer and move the value by an error at most."""
    few = min(digits, max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))) if value else digits
    return few if abs(round(value, few) - value) <= error else digits


def value_at(value: float, distance: float, decimals: int | None = None) -> str:
    """A value with the digits that tell it from others at this distance, without zeros that say nothing."""
    digits = _digits(distance) + 1 if decimals is None else decimals
    if decimals is None and (digits > MAX_DIGITS or abs(value) >= LARGE):
        return number_text(value)
    if decimals is None:
        digits = _few_digits(value, digits, distance / 25)
    text = f"{value:.{digits}f}"
    trimmed = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if trimmed == "-0" else trimmed
