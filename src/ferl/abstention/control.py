"""What came out of a calibration: the promise that can be kept, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


class UnmetRiskWarning(UserWarning):
    """The wanted risk cannot be promised with these calibration rows: every row is abstained on."""


@dataclass(frozen=True)
class RiskControl:
    """The outcome of :meth:`ferl.abstention.RiskControlledFERL.calibrate`.

    Attributes
    ----------
    risk, confidence : float
        The wish: at most this error rate among answered rows, with this confidence.
    met : bool
        Whether it can be promised.
    signal : str
        What the threshold is compared with.
    method : str
        How the threshold was found.
    threshold : float
        Rows with at least this signal are answered. Minus infinity: all are. Infinity: none, the wish is not met.
    n_rows : int
        Number of calibration rows that the threshold was tested on.
    n_answered, n_errors : int
        How many of them are answered, and how many of those are wrong.
    bound : float
        Clopper-Pearson bound at the threshold and the confidence, before the search for the threshold is paid for. It
        is at most ``risk``; only ``risk`` is promised. 1 when the wish is not met.
    achievable_risk : float
        Smallest risk that every bound of a list of thresholds, valid together at this confidence, would allow.
    achievable_share : float
        Share of rows answered at that risk.
    """

    risk: float
    confidence: float
    met: bool
    signal: str
    method: str
    threshold: float
    n_rows: int
    n_answered: int
    n_errors: int
    bound: float
    achievable_risk: float
    achievable_share: float

    @property
    def answered_share(self) -> float:
        """Share of the calibration rows that is answered."""
        return self.n_answered / self.n_rows

    def __str__(self) -> str:
        wish = f"at most {self.risk:.3g} errors among answered rows, with confidence {self.confidence:.3g}"
        if self.met:
            rows = "All rows" if self.threshold == -inf else f"Rows with {self.signal} of at least {self.threshold:.4g}"
            return (
                f"Promised: {wish}. {rows} are answered: {self.n_answered} of {self.n_rows} calibration rows "
                f"({self.answered_share:.1%}), {self.n_errors} of them wrong."
            )
        return (
            f"Not promised: {wish}. No threshold on {self.signal} passes with these {self.n_rows} calibration rows, so "
            f"every row is abstained on. About {self.achievable_risk:.3g} could be promised, answering "
            f"{self.achievable_share:.1%}: ask for that on fresh rows, pass more rows, or use a better classifier."
        )
