"""Signals of confidence, and the thresholds on them that keep the error rate below the risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl._read.risk_control import SIGNALS, RiskControl, evidence_signal, margin
from ferl._util.arrays import Floats
from ferl._wrapper import evidence_of, last_step, novelty_of
from ferl.abstention.bounds import Ladder, least_answered_rows, risk_p_value


def read_signal(estimator: Any, X: Any, name: str) -> Floats:
    """One signal of every row, shape (n_samples,).

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, or a pipeline that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows.
    name : {"margin", "belief", "ignorance", "novelty"}
        Pignistic margin; belief of the best class; minus the ignorance; minus the novelty.
    """
    if name == "novelty":
        return -novelty_of(estimator, X)
    return evidence_signal(evidence_of(estimator, X), name)


def all_signals(estimator: Any, X: Any) -> Floats:
    """What a learned ranking is made of, shape (n_samples, n_signals): every signal that the classifier has."""
    has_novelty = hasattr(last_step(estimator, X)[0], "novelty")
    columns = [read_signal(estimator, X, name) for name in SIGNALS if name != "novelty" or has_novelty]
    if has_novelty:
        # Novelty has a long tail; its order is what counts.
        columns[-1] = -np.log1p(np.maximum(-columns[-1], 0.0))
    return np.stack(columns, axis=1)


def learn_ranking(signals: Floats, wrong: NDArray[np.bool_]) -> Pipeline | None:
    """A logistic regression of "the answer is right" on the signals; None if all rows are right, or all wrong.

    Parameters
    ----------
    signals : ndarray of shape (n_samples, n_signals)
        From :func:`all_signals`, on rows that the classifier was not fitted on and that will not calibrate.
    wrong : ndarray of bool of shape (n_samples,)
        Which answers are wrong.
    """
    if wrong.all() or not wrong.any():
        return None
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(signals, ~wrong)


__all__ = ["SIGNALS", "Design", "RiskControl", "UnmetRiskWarning", "margin", "raw_signal", "read_signal"]

# Starts and grids lie on shares of the design rows; a finer mesh would follow their noise.
_N_SHARES = 100
# A start is worth its part of delta only where it has a chance.
_ALMOST = 0.99  # as likely to pass as any: among such starts the lowest has the fewest tests before it
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
        raw : ndarray of shape (n_samples,) or (n_samples, n_signals)
            From :func:`raw_signal`.
        wrong : ndarray of bool of shape (n_samples,)
            Which answers are wrong.
        """
        ranking = learn_ranking(raw, wrong) if raw.ndim == 2 else None
        return cls(ranking, Ladder.of(rank_by(ranking, raw), wrong))

    def signal(self, raw: Floats) -> Floats:
        """The number that is compared with the threshold, shape (n_samples,)."""
        return rank_by(self.ranking, raw)

    def grid(self, n_thresholds: int) -> Floats:
        """Thresholds that answer equally spaced shares of the design rows, the last one all rows."""
        shares = np.arange(1, n_thresholds) / n_thresholds
        return np.append(_at_share(self.ladder, shares), -np.inf)

    def starts(self, n_starts: int, n_rows: int, risk: float, delta: float) -> Floats:
        """Where to begin going down: where the test is most likely to pass, and further down while there is hope.

        Going down costs nothing while tests pass, so the first start need not be near the threshold that is hoped for.

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
        first = int(np.flatnonzero(power >= _ALMOST * power.max()).max())
        hopeful = np.flatnonzero(power >= _LEAST_POWER * power.max())
        last = max(int(hopeful.max()), first)
        indices = np.unique(np.rint(np.linspace(first, last, n_starts)).astype(int))
        return np.unique(thresholds[indices])


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


class UnmetRiskWarning(UserWarning):
    """The wanted risk cannot be promised with these calibration rows: every row is abstained on."""
