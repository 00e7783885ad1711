"""Evidence whose ignorance is not shared equally when it comes to betting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl.evidence import Evidence

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class BettingEvidence(Evidence):
    """Evidence with a base rate: where the ignorance of a row goes in its probability.

    Belief, plausibility, ignorance and the prediction set are those of any evidence; ``belief <= pignistic <=
    plausibility`` holds for every base rate.

    Attributes
    ----------
    base_rate : ndarray of shape (n_rows, n_classes)
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
        """Probability for decisions: the ignorance shared by the base rate, shape (n_rows, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] * self.base_rate)

    @property
    def dirichlet(self) -> Floats:
        """As in :class:`ferl.Evidence`, with the base rate as the mean of the prior, shape (n_rows, n_classes)."""
        equal = super().dirichlet
        return np.asarray(equal - 1.0 + self.belief.shape[1] * self.base_rate)
