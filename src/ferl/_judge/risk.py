"""Which rows are answered so that a promised error rate is kept: signals of confidence, and a threshold on one."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ferl._models.decision import PROBABLE, Decision
from ferl._models.evidence import Evidence
from ferl._util.arrays import Bools, Floats

SIGNALS = ("margin", "belief", "ignorance", "novelty")


def evidence_signal(evidence: Evidence, name: str) -> Floats:
    """The signal of this name that evidence alone gives, shape (n_samples,): "margin", "belief" or "ignorance".

    The margin is the probability of the best class minus that of the next.
    """
    if name != "margin":
        return np.asarray(evidence.belief.max(axis=1) if name == "belief" else -evidence.ignorance)
    probability = evidence.probability
    if probability.shape[1] == 1:
        return np.asarray(probability[:, 0])
    second, best = np.partition(probability, -2, axis=1)[:, -2:].T
    return np.asarray(best - second)


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
    decision : Decision
        How the labels are chosen that the promise is about.
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
    decision: Decision = PROBABLE

    @property
    def answered_share(self) -> float:
        """Share of the calibration rows that is answered."""
        return self.n_answered / self.n_rows

    def answered(self, evidence: Evidence, novelty: Floats | None) -> Bools:
        """Which rows are answered; ``novelty`` is needed where it is the signal."""
        signal = -np.asarray(novelty) if self.signal == "novelty" else evidence_signal(evidence, self.signal)
        return np.asarray(signal >= self.threshold)

    def text(self, otherwise: str = "") -> str:
        """The outcome in sentences; ``otherwise``: a further remedy of a test that began at an unlucky place."""
        wish = f"at most {_percent(self.risk)} errors among answered rows, with {_percent(self.confidence)} confidence"
        if self.met:
            # Less ignorance and less novelty are better: the signal is their negative.
            is_negative = self.signal in ("ignorance", "novelty")
            limit = f"at most {-self.threshold:.4g}" if is_negative else f"at least {self.threshold:.4g}"
            rows = "All rows" if self.threshold == -inf else f"Rows with {self.signal} of {limit}"
            return (
                f"Promised: {wish}. {rows} are answered: {self.n_answered} of {self.n_rows} calibration rows "
                f"({_percent(self.answered_share)}), {self.n_errors} of them wrong (bound {_percent(self.bound)})."
            )
        refused = (
            f"Not promised: {wish}. The {self.n_rows} calibration rows do not pass the test, so every row is abstained "
            "on."
        )
        if self.achievable_risk <= self.risk:
            return (
                f"{refused} The test began at an unlucky place: other thresholds look better than "
                f"{_percent(self.risk)}, but rows that have been looked at prove nothing. Calibrate on fresh "
                f"rows{otherwise}."
            )
        return (
            f"{refused} About {_percent(self.achievable_risk)} could be promised, answering "
            f"{_percent(self.achievable_share)} of the rows: ask for that on fresh rows, pass more rows, or use a "
            "better classifier."
        )

    def __str__(self) -> str:
        return self.text(', or use method="bonferroni" there')


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
