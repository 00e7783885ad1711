"""Maps that move the probabilities of evidence, and evidence whose ignorance is not shared equally."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._read.evidence import Evidence, evidence_of_scores
from ferl._util.arrays import Floats

# Logarithms of smaller shares would say nothing more.
LEAST_SHARE = 1e-12
_LEAST_PROBABILITY = 1e-300  # of wide rules: weights of evidence are logarithms of probabilities
# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class BettingEvidence(Evidence):
    """Evidence with a base rate: where the ignorance of a row goes in its probability.

    Belief, plausibility, ignorance and the prediction set are those of any evidence; ``belief <= pignistic <=
    plausibility`` holds for every base rate.

    Attributes
    ----------
    base_rate : ndarray of shape (n_samples, n_classes)
        Shares of the classes in the ignorance, summing to one in every row. Equal ones give plain evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.calibration import BettingEvidence
    >>> rate = np.array([[0.75, 0.25]])
    >>> row = BettingEvidence(np.array([[0.6, 0.0]]), np.array([0.4]), np.zeros(1), np.array(["no", "yes"]), rate)
    >>> row.pignistic
    array([[0.9, 0.1]])
    """

    base_rate: Floats

    def __getitem__(self, rows: Any) -> BettingEvidence:
        """The evidence of some rows: a slice, a mask, numbers, or one number."""
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        return BettingEvidence(
            self.belief[chosen], self.ignorance[chosen], self.conflict[chosen], self.classes, self.base_rate[chosen]
        )

    @property
    def pignistic(self) -> Floats:
        """Probability for decisions: the ignorance shared by the base rate, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] * self.base_rate)

    @property
    def dirichlet(self) -> Floats:
        """As in :class:`ferl.Evidence`, with the base rate as the mean of the prior, shape (n_samples, n_classes)."""
        equal = super().dirichlet
        return np.asarray(equal - 1.0 + self.belief.shape[1] * self.base_rate)


@dataclass(frozen=True)
class TemperatureMap:
    """Shares to the power ``1 / temperature``: above 1 the classes come closer, below 1 they part."""

    temperature: float
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        least = LEAST_SHARE if evidence.weighed is None else _LEAST_PROBABILITY
        logarithm = np.log(np.maximum(shares_of(evidence), least)) / self.temperature
        power = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return with_shares(evidence, power / power.sum(axis=1, keepdims=True), self.sharing)


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
        shares = shares_of(evidence)
        moved = (1 - _SLOPE) * np.interp(shares, self.share, self.value) + _SLOPE * shares
        return with_shares(evidence, moved / moved.sum(axis=1, keepdims=True), self.sharing)


def shares_of(evidence: Evidence) -> Floats:
    """How the beliefs of trees divide the committed part, equally where there is none; of wide rules: probability."""
    if evidence.weighed is not None:
        return evidence.probability
    committed = evidence.belief.sum(axis=1, keepdims=True)
    equal = np.full(evidence.belief.shape, 1 / evidence.belief.shape[1])
    return np.asarray(np.divide(evidence.belief, committed, out=equal, where=committed > 0))


def with_shares(evidence: Evidence, shares: Floats, sharing: float) -> Evidence:
    """The evidence with other shares; of wide rules: the weights of evidence whose probability the shares are."""
    if evidence.weighed is not None:
        return evidence_of_scores(np.log(np.maximum(shares, _LEAST_PROBABILITY)), evidence.conflict, evidence.classes)
    belief = shares * evidence.belief.sum(axis=1, keepdims=True)
    base_rate = (1 - sharing) / shares.shape[1] + sharing * shares
    return BettingEvidence(belief, evidence.ignorance, evidence.conflict, evidence.classes, base_rate)
