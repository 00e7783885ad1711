"""Decisions: from the evidence of a row to one label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl._model.model import Model
from ferl._read.evidence import Evidence, supports
from ferl._util.arrays import Floats

DECISIONS = ("probable", "balanced")


def check_decision(decision: str) -> None:
    """Refuse the name of a decision that there is not."""
    if decision not in DECISIONS:
        raise ValueError(f"decision is {decision!r}; it must be {' or '.join(map(repr, DECISIONS))}.")


def decide(model: Model, rows: Floats, evidence: Evidence, decision: str = "probable") -> NDArray[np.intp]:
    """The class that each row is given.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    evidence : Evidence
        What the model says of these rows.
    decision : {"probable", "balanced"}, default="probable"
        "probable": the class of the largest probability. "balanced": the class whose probability is largest compared
        with its frequency among the training rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Index of the class; the first of equals, which all classes are where nothing is said.
    """
    check_decision(decision)
    if decision == "probable":
        preference = evidence.probability
    else:
        preference = _lift_of_trees(model, evidence) if model.weights is None else _lift(model, rows, evidence)
    return np.asarray(preference.argmax(axis=1))


def _lift_of_trees(model: Model, evidence: Evidence) -> Floats:
    """Belief divided by frequency, shape (n_samples, n_classes).

    Ignorance is no class's: shared out by the frequencies, ``belief + ignorance * frequency``, and divided by them, it
    gives to all classes the same. Shared out equally, as the pignistic probability does, it would speak for rare ones.
    """
    frequency = model.class_frequency
    return np.divide(evidence.belief, frequency, out=np.zeros_like(evidence.belief), where=frequency > 0)


def _lift(model: Model, rows: Floats, evidence: Evidence) -> Floats:
    """Logarithm of probability divided by frequency, shape (n_samples, n_classes).

    Gates withhold the prior as they withhold what rules say; so the frequencies count as far as the gates are open.
    """
    support = supports(model, rows).prod(axis=1)
    with np.errstate(divide="ignore"):
        known = np.log(np.where(model.class_frequency > 0, model.class_frequency, 1.0))
        return np.asarray(np.log(evidence.probability) - support[:, None] * known)
