"""Signals of confidence: numbers that are larger where an answer is more likely to be right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl.evidence import Evidence
from ferl.wrapping import evidence_of, last_step, novelty_of

Floats = NDArray[np.float64]

SIGNALS = ("margin", "belief", "ignorance", "novelty")


def margin(evidence: Evidence) -> Floats:
    """Pignistic probability of the best class minus that of the next, shape (n_rows,)."""
    probability = evidence.pignistic
    if probability.shape[1] == 1:
        return np.asarray(probability[:, 0])
    second, best = np.partition(probability, -2, axis=1)[:, -2:].T
    return np.asarray(best - second)


def read_signal(estimator: Any, X: Any, name: str) -> Floats:
    """One signal of every row, shape (n_rows,).

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, or a pipeline that ends in one.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows.
    name : {"margin", "belief", "ignorance", "novelty"}
        Pignistic margin; belief of the best class; minus the ignorance; minus the novelty.
    """
    if name == "novelty":
        return -novelty_of(estimator, X)
    evidence = evidence_of(estimator, X)
    if name == "margin":
        return margin(evidence)
    return np.asarray(evidence.belief.max(axis=1) if name == "belief" else -evidence.ignorance)


def all_signals(estimator: Any, X: Any) -> Floats:
    """What a learned ranking is made of, shape (n_rows, n_signals): every signal that the classifier has."""
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
    signals : ndarray of shape (n_rows, n_signals)
        From :func:`all_signals`, on rows that the classifier was not fitted on and that will not calibrate.
    wrong : ndarray of bool of shape (n_rows,)
        Which answers are wrong.
    """
    if wrong.all() or not wrong.any():
        return None
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(signals, ~wrong)
