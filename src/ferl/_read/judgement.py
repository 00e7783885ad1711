"""What a model decides of rows: a label, a set, and where there is no answer, why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._read.calibration import Calibration
from ferl._read.decision import decide
from ferl._util.arrays import Bools, Floats

# Why a row has no answer, in words that programs may rely on, and in those that people read.
ABSTENTIONS: Mapping[str, str] = {
    "all_classes": "every class stays possible",
    "no_evidence": "no rule says anything",
    "risk": "the promise on errors does not cover their answer",
    "novelty": "they are too novel for the promise on errors",
    "no_promise": "the promise on errors could not be made",
}
ANSWERED = -1
_CODES = {word: code for code, word in enumerate(ABSTENTIONS)}


@dataclass(frozen=True)
class Rule:
    """How answers are chosen.

    Attributes
    ----------
    decision : {"probable", "balanced"}, default="probable"
        How the label is chosen.
    calibration : Calibration or None, default=None
        What calibration rows promise.
    alpha : float or None, default=None
        How often a set may miss the true class, with such rows; None: as they were calibrated for.
    """

    decision: str = "probable"
    calibration: Calibration | None = None
    alpha: float | None = None

    def check(self) -> None:
        """Refuse labels that a promise on errors is not about."""
        if self.decision != "probable" and self.calibration is not None and self.calibration.control is not None:
            raise ValueError(
                f"--decision is {self.decision}, but the calibration promises an error rate (calibrate --risk) for the "
                "most probable class alone. Leave --decision out, or calibrate without --risk."
            )


AS_FITTED = Rule()  # the most probable class, and the model's own sets


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is decided of rows.

    Attributes
    ----------
    evidence : Evidence
        With calibrated probabilities, where there are some.
    sets : ndarray of bool of shape (n_samples, n_classes)
        The classes that stay possible.
    label : ndarray of shape (n_samples,)
        Index of the class that each row is given, or would be given if it did not abstain.
    abstention : ndarray of shape (n_samples,), int8
        Index in ``ABSTENTIONS`` of why there is no answer; ``ANSWERED`` where there is one.
    novelty : ndarray of shape (n_samples,) or None
        How unlike the training rows each row is; None where nobody asked.
    """

    evidence: Evidence
    sets: Bools
    label: NDArray[np.intp]
    abstention: NDArray[np.int8]
    novelty: Floats | None

    @property
    def abstains(self) -> Bools:
        """Which rows have no answer."""
        return np.asarray(self.abstention != ANSWERED)

    @property
    def confidence(self) -> Floats:
        """Probability of the label, shape (n_samples,)."""
        return np.asarray(self.evidence.probability[np.arange(len(self.label)), self.label])


def judge(model: Model, rows: Floats, rule: Rule, *, with_novelty: bool = False, n_threads: int = 1) -> Judgement:
    """Decide on rows.

    Sets and abstention compare the evidence itself, as that of the calibration rows was compared; calibrated
    probabilities are told, and decide nothing.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them; there may be none.
    rule : Rule
        How answers are chosen.
    with_novelty : bool, default=False
        Whether novelty is computed even if the rule does without.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    Judgement
    """
    promised = rule.calibration
    needs_novelty = with_novelty or (promised is not None and promised.needs_novelty)
    if not len(rows):
        nothing = Evidence(np.zeros((0, len(model.classes))), np.zeros(0), np.zeros(0), model.classes)
        sets = np.zeros((0, len(model.classes)), dtype=np.bool_)
        none = np.zeros(0) if needs_novelty else None
        return Judgement(nothing, sets, np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int8), none)
    evidence = model.evidence(rows, n_threads)
    how_novel = model.novelty(rows, n_threads=n_threads) if needs_novelty else None
    told = evidence if promised is None or promised.moved is None else promised.moved(evidence)
    if promised is not None and promised.conformal is not None:
        sets = promised.conformal.sets(evidence, promised.conformal.alpha if rule.alpha is None else rule.alpha)
    else:
        sets = told.prediction_set()
    abstention = _abstention(evidence, sets, how_novel, promised)
    return Judgement(told, sets, decide(model, rows, evidence, rule.decision), abstention, how_novel)


def _abstention(
    evidence: Evidence, sets: Bools, how_novel: Floats | None, promised: Calibration | None
) -> NDArray[np.int8]:
    """Why each row has no answer: by the promise on errors where there is one, by its set otherwise."""
    answered = None if promised is None else promised.answered(evidence, how_novel)
    if answered is None or promised is None or promised.control is None:
        # Of a single class nothing is in doubt.
        is_open = sets.all(axis=1) & (sets.shape[1] > 1)
        why = np.where(evidence.ignorance == 1, _CODES["no_evidence"], _CODES["all_classes"])
        return np.where(is_open, why, ANSWERED).astype(np.int8)
    control = promised.control
    word = "no_promise" if not control.met else "novelty" if control.signal == "novelty" else "risk"
    return np.where(answered, ANSWERED, _CODES[word]).astype(np.int8)
