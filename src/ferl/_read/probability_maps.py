"""Maps that move the probabilities of evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ferl._models.evidence import Evidence
from ferl._util.arrays import Floats

# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3


@dataclass(frozen=True)
class TemperatureMap:
    """Shares to the power ``1 / temperature``: above 1 the classes come closer, below 1 they part."""

    temperature: float
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        logarithm = np.log(np.maximum(evidence.shares, evidence.least_share)) / self.temperature
        power = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return evidence.with_shares(power / power.sum(axis=1, keepdims=True), self.sharing)


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Shares through one rising line for all classes, then divided by their sum.

    Attributes
    ----------
    share, value : ndarray of shape (n_knots,)
        The line.
    sharing : float
        Part of the ignorance that is shared out as the moved shares are.
    """

    share: Floats
    value: Floats
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        shares = evidence.shares
        moved = (1 - _SLOPE) * np.interp(shares, self.share, self.value) + _SLOPE * shares
        return evidence.with_shares(moved / moved.sum(axis=1, keepdims=True), self.sharing)
