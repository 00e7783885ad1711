"""What is decided before the calibration rows are looked at: the ranking, and where to test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.pipeline import Pipeline

from ferl.abstention.bounds import Ladder, least_answered_rows, risk_p_value
from ferl.abstention.signals import all_signals, learn_ranking, read_signal

Floats = NDArray[np.float64]

# Starts and grids lie on shares of the design rows; a finer mesh would follow their noise.
_N_SHARES = 100
# A start is worth its part of delta only where it has a chance.
_LEAST_POWER = 0.1


def raw_signal(estimator: Any, X: Any, signal: str) -> Floats:
    """The signal, or for a learned ranking all signals it is made of."""
    return all_signals(estimator, X) if signal == "learned" else read_signal(estimator, X, signal)


@dataclass(frozen=True, eq=False)
class Design:
    """Rows that neither the classifier was fitted on nor calibrate, and the ranking learned from them.

    Attributes
    ----------
    ranking : Pipeline or None
        The learned ranking; None for a signal that is used as it is.
    ladder : Ladder
        The design rows.
    """

    ranking: Pipeline | None
    ladder: Ladder

    @classmethod
    def of(cls, raw: Floats, wrong: NDArray[np.bool_]) -> Design:
        """Learn a ranking if there is one to learn.

        Parameters
        ----------
        raw : ndarray of shape (n_rows,) or (n_rows, n_signals)
            From :func:`raw_signal`.
        wrong : ndarray of bool of shape (n_rows,)
            Which answers are wrong.
        """
        ranking = learn_ranking(raw, wrong) if raw.ndim == 2 else None
        return cls(ranking, Ladder.of(rank_by(ranking, raw), wrong))

    def signal(self, raw: Floats) -> Floats:
        """The number that is compared with the threshold, shape (n_rows,)."""
        return rank_by(self.ranking, raw)

    def grid(self, n_thresholds: int) -> Floats:
        """Thresholds that answer equally spaced shares of the design rows, the last one all rows."""
        shares = np.arange(1, n_thresholds) / n_thresholds
        return np.append(_at_share(self.ladder, shares), -np.inf)

    def starts(self, n_starts: int, n_rows: int, risk: float, delta: float) -> Floats:
        """Where to begin going down: where most rows can be expected to pass, and further down while there is hope.

        Parameters
        ----------
        n_starts : int
            How many at most.
        n_rows : int
            Number of calibration rows to come.
        risk, delta : float
            The promise.
        """
        # No more starts than leave each of them a level that a test without errors can pass.
        while n_starts > 1 and least_answered_rows(risk, delta / n_starts) > n_rows:
            n_starts -= 1
        shares = np.arange(1, _N_SHARES + 1) / _N_SHARES
        thresholds = _at_share(self.ladder, shares)
        n_answered, n_errors = self.ladder.counts(thresholds)
        expected = np.maximum(np.rint(n_rows * n_answered / self.ladder.n_rows), 1).astype(int)
        power = _power(expected, (n_errors + 0.5) / (n_answered + 1), risk, delta / n_starts)
        first = int((power * shares).argmax())
        hopeful = np.flatnonzero(power >= _LEAST_POWER * power.max())
        last = max(int(hopeful.max()), first)
        places = np.unique(np.rint(np.linspace(first, last, n_starts)).astype(int))
        return np.unique(thresholds[places])


def rank_by(ranking: Pipeline | None, raw: Floats) -> Floats:
    """The learned ranking, or the first signal where there was nothing to learn from."""
    if raw.ndim == 1:
        return raw
    return raw[:, 0] if ranking is None else np.asarray(ranking.decision_function(raw))


def _at_share(ladder: Ladder, shares: Floats) -> Floats:
    """The value at which at least each share of the rows is answered."""
    wanted = np.ceil(shares * ladder.n_rows - 1e-9)
    return np.asarray(ladder.value[np.searchsorted(ladder.n_answered, wanted)])


def _power(n_rows: NDArray[np.int64], error_rate: Floats, risk: float, delta: float) -> Floats:
    """Probability that the test passes, by the error rate of the design rows."""
    # The most errors that pass; -1 if none do. The search is over counts, of which the risk allows few.
    allowed = stats.binom.ppf(delta, n_rows, risk).astype(int)
    allowed = np.where(risk_p_value(np.maximum(allowed, 0), n_rows, risk) <= delta, allowed, allowed - 1)
    return np.asarray(stats.binom.cdf(allowed, n_rows, error_rate))
