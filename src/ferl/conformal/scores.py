"""How badly a label fits a row: the scores that conformal sets compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._read.evidence import Evidence
from ferl._util.arrays import Floats

SCORES = ("plausibility", "probability", "aps", "raps")
CUMULATIVE = ("aps", "raps")


@dataclass(frozen=True)
class Ranked:
    """For each row and class: probability of the classes that are strictly more probable, and how many they are."""

    above: Floats
    n_above: NDArray[np.intp]


def nonconformity(
    evidence: Evidence, score: str, *, chance: Floats | None = None, penalty: float = 0.0, free_classes: int = 1
) -> Floats:
    """Score of every class for every row, shape (n_rows, n_classes); larger fits worse.

    Parameters
    ----------
    evidence : Evidence
        What the classifier says about the rows.
    score : {"plausibility", "probability", "aps", "raps"}
        "plausibility": one minus the plausibility of the class. "probability": one minus its pignistic probability.
        "aps": probability of all classes that are more probable, plus that of the class itself [1]_. "raps": the same
        plus ``penalty`` for every place of the class beyond ``free_classes`` in the order of probability [2]_.
    chance : ndarray of shape (n_rows,), optional
        Numbers in [0, 1) for the randomised forms of "aps" and "raps": the class itself counts with this share of its
        probability. None: it counts in full.
    penalty, free_classes : float, int
        For "raps".

    Returns
    -------
    ndarray of shape (n_rows, n_classes)

    Notes
    -----
    Classes of equal probability have equal scores: none counts as above the other. So a row without any evidence
    treats all classes alike, and they are in its set together or not at all.

    References
    ----------
    .. [1] Romano, Sesia and Candès, "Classification with Valid and Adaptive Coverage", NeurIPS 2020.
    .. [2] Angelopoulos, Bates, Malik and Jordan, "Uncertainty Sets for Image Classifiers using Conformal Prediction",
       ICLR 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl import Evidence
    >>> from ferl.conformal import nonconformity
    >>> row = Evidence(np.array([[0.6, 0.1, 0.0]]), np.array([0.3]), np.array([0.0]), np.array(["a", "b", "c"]))
    >>> nonconformity(row, "plausibility").round(2)
    array([[0.1, 0.6, 0.7]])
    >>> nonconformity(row, "probability").round(2)
    array([[0.3, 0.8, 0.9]])
    >>> nonconformity(row, "aps").round(2)
    array([[0.7, 0.9, 1. ]])
    """
    if score not in SCORES:
        raise ValueError(f"score is {score!r}; it must be one of {', '.join(map(repr, SCORES))}.")
    if score == "plausibility":
        return np.asarray(1.0 - evidence.plausibility)
    probability = evidence.pignistic
    if score == "probability":
        return np.asarray(1.0 - probability)
    ranked = rank(probability)
    own = probability if chance is None else probability * chance[:, None]
    scores = ranked.above + own
    if score == "raps":
        scores += penalty * np.maximum(ranked.n_above + 1 - free_classes, 0)
    return np.asarray(scores)


def rank(probability: Floats) -> Ranked:
    """Count and add up the strictly more probable classes."""
    order = np.argsort(-probability, axis=1, kind="stable")
    descending = np.take_along_axis(probability, order, axis=1)
    before = np.zeros_like(descending)
    np.cumsum(descending[:, :-1], axis=1, out=before[:, 1:])
    begins = np.ones(descending.shape, dtype=bool)
    begins[:, 1:] = descending[:, 1:] < descending[:, :-1]
    # Within a group of equals everyone stands where the group begins.
    first = np.maximum.accumulate(np.where(begins, np.arange(descending.shape[1]), 0), axis=1)
    above, n_above = np.empty_like(probability), np.empty(probability.shape, dtype=np.intp)
    np.put_along_axis(above, order, np.take_along_axis(before, first, axis=1), axis=1)
    np.put_along_axis(n_above, order, first, axis=1)
    return Ranked(above, n_above)


def chance_of(table: Floats, seed: int) -> Floats:
    """A number in [0, 1) for each row that depends on the seed and the row's values only.

    Neither the order of the rows nor the size of a batch changes it. For the guarantee any function of the row will
    do: exchangeable rows stay exchangeable.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features), float64
        Rows.
    seed : int
        Seed.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    state = np.full(len(table), seed, dtype=np.uint64)
    for column in table.T:
        # Adding zero turns -0.0, which equals 0.0 but has other bits, into 0.0.
        state = _mix(state ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    return np.asarray((_mix(state) >> np.uint64(11)) * 2.0**-53)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of the generator SplitMix64: every input bit reaches every output bit."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
