"""Decisions: from the evidence of a row to one label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl._models.evidence import Evidence
from ferl._models.model import Model
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
        preference = model.lift(rows, evidence)
    return np.asarray(preference.argmax(axis=1))
