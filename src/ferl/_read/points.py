"""Points: weights of evidence in the unit of scorecards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ferl._read.score_table import ScoreLine
from ferl._util.arrays import Floats
from ferl._util.text import number_text

_NOTHING = 1e-9  # points


@dataclass(frozen=True)
class Points:
    """How weights of evidence are counted in points.

    Attributes
    ----------
    base_points, base_odds, points_to_double : float, default=600, 50, 20
        A row whose odds are ``base_odds`` to one has ``base_points``, and ``points_to_double`` more double the odds.
    rounded : bool, default=False
        Whether points are whole numbers.
    """

    base_points: float = 600
    base_odds: float = 50
    points_to_double: float = 20
    rounded: bool = False

    @property
    def unit(self) -> float:
        """Points of a weight of evidence of one: a factor of e in the odds."""
        return self.points_to_double / math.log(2)

    @property
    def neutral(self) -> float:
        """Points of even odds."""
        return self.base_points - self.unit * math.log(self.base_odds)

    def scale(self, evidence: Floats, positive: int, offset: float = 0.0) -> Floats:
        """Weights of evidence in points, shape (..., 1) of two classes and (..., n_classes) of others.

        Parameters
        ----------
        evidence : ndarray of shape (..., n_classes)
            Weights of evidence.
        positive : int
            Of two classes, the index of the one that points speak for.
        offset : float, default=0.0
            Points to begin with.

        Returns
        -------
        ndarray
        """
        told = evidence
        if evidence.shape[-1] == 2:
            told = evidence[..., positive : positive + 1] - evidence[..., 1 - positive : 2 - positive]
        points = offset + self.unit * told
        # A weight that is rounding is none: 1e-15 points would make a table of powers of ten.
        return np.asarray(np.round(points) + 0.0 if self.rounded else np.where(np.abs(points) < _NOTHING, 0.0, points))

    def texts(self, line: ScoreLine) -> list[str]:
        """The points of a line, one text for each column."""
        decimals = 0 if self.rounded else 1

        def told(points: float) -> str:
            return f"{round(float(points), decimals) + 0.0:.{decimals}f}"  # adding makes 0 of -0

        pairs = [(told(low), told(high)) for low, high in zip(line.start, line.end, strict=True)]
        return [low if low == high else f"{low} to {high}" for low, high in pairs]

    def meaning(self, classes: list[str], positive: int) -> list[str]:
        """What totals mean, line by line."""
        if len(classes) != 2:
            return [
                f"Probabilities are in proportion to 2 to the power of points / {number_text(self.points_to_double)}."
            ]
        named = classes[positive]
        totals = [round(self.neutral + steps * self.points_to_double) for steps in range(-3, 4)]
        told = [f"{total}: {1 / (1 + math.exp((self.neutral - total) / self.unit)):.0%}" for total in totals]
        double = number_text(self.points_to_double)
        return [
            f"Total and probability of {named}: {', '.join(told)}.",
            f"{double} points more double the odds of {named}.",
        ]


def with_base(lines: tuple[ScoreLine, ...], base: Floats) -> list[ScoreLine]:
    """The lines of a card, below the one that all rows begin with."""
    return [ScoreLine("all rows", "always", (), math.nan, math.nan, base, base), *lines]
