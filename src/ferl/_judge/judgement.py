"""What a model decides of rows: a label, a set, and where there is no answer, why; of many rows or of one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._judge.promises import Calibration
from ferl._models.decision import PROBABLE, AnyDecision, Decision
from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._tables import read_row, with_derived
from ferl._util.arrays import Bools, Floats, core_ready
from ferl._util.text import shown

# Why a row has no answer: fixed words for programs, and sentences for people.
ABSTENTIONS: Mapping[str, str] = {
    "all_classes": "every class stays possible",
    "no_evidence": "no training row supports an answer",
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
    decision : Decision, default=Decision("probable")
        How the label is chosen.
    calibration : Calibration or None, default=None
        What calibration rows promise.
    alpha : float or None, default=None
        How often a set may miss the true class, with such rows; None: as they were calibrated for.
    level : float or None, default=None
        What the beliefs of a set must sum to, without such rows; of rules alone. None: 2/3.
    """

    decision: Decision = PROBABLE
    calibration: Calibration | None = None
    alpha: float | None = None
    level: float | None = None


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
        How unlike the training rows each row is; None where it was not needed.
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

    Sets and abstention use the evidence itself, as the calibration did. Labels use the reported probabilities, which
    are calibrated if a calibration exists; both have the same most probable class.

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
    promised = rule.calibration or Calibration("", 0)
    evidence = model.evidence(rows, n_threads)
    needs_novelty = with_novelty or (promised.control is not None and promised.control.signal == "novelty")
    novelty = model.novelty(rows, n_threads=n_threads) if needs_novelty else None
    moved = evidence if promised.moved is None else promised.moved(evidence)
    if promised.conformal is None:
        sets = moved.prediction_set(rule.level)
    else:
        sets = promised.conformal.sets(evidence, promised.conformal.alpha if rule.alpha is None else rule.alpha)
    if promised.control is None:
        # With a single class nothing is in doubt.
        is_open = sets.all(axis=1) & (sets.shape[1] > 1)
        why: Any = np.where(evidence.ignorance == 1, _CODES["no_evidence"], _CODES["all_classes"])
    else:
        control = promised.control
        is_open = ~control.answered(evidence, novelty)
        why = _CODES["no_promise" if not control.met else "novelty" if control.signal == "novelty" else "risk"]
    abstention = np.where(is_open, why, ANSWERED).astype(np.int8)
    label = rule.decision.codes(model, rows, evidence if rule.decision.is_usual else moved)
    return Judgement(moved, sets, label, abstention, novelty)


def labels_or_marker(model: Model, rows: Floats, rule: Rule, marker: Any, n_threads: int = 1) -> NDArray[Any]:
    """The label of each row, and the marker where the model abstains: the rows that a file of answers leaves empty.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    rule : Rule
        How answers are chosen.
    marker : label or None
        None: every row has its label. A number among labels of text, or text among numbers, makes an array of objects.
    n_threads : int, default=1
        Number of threads.
    """
    classes = model.classes
    if marker is None:
        return np.asarray(classes[rule.decision.decide(model, rows, n_threads)])
    if np.ndim(marker) or marker in classes.tolist():
        kind = "a class" if not np.ndim(marker) else "not one value"
        raise ValueError(f"no_answer is {shown(marker)}, which is {kind}. Pass a single value that is no class.")
    judged = judge(model, rows, rule, n_threads=n_threads)
    is_text = classes.dtype.kind in "OUT"
    fits = isinstance(marker, str) if is_text else isinstance(marker, Real | np.number)
    plain = np.result_type(classes, np.asarray(marker)) if fits and classes.dtype.kind in "Uiuf" else np.dtype(object)
    labels = classes.astype(plain)[judged.label]
    labels[judged.abstains] = marker
    return np.asarray(labels)


class Predictor:
    """Answers of a fitted classifier to single rows; :meth:`ferl.FERLClassifier.predictor` makes it.

    What does not depend on the row is prepared once. It keeps the model it was made of: a classifier that is fitted
    again needs a new one. Threads may share it.

    Parameters
    ----------
    model : Model
        What was fitted.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._names = model, model.schema.names
        self._n_features = model.n_features
        self._takes_arrays = model.schema.holds_numbers_alone

    def _row(self, row: Any) -> Floats:
        """The row as the model reads it, shape (1, n_columns). What is not plain is read with every check there is."""
        model = self._model
        encoded: Floats | None = None
        if type(row) is dict and self._names is not None and len(row) == self._n_features:
            with suppress(KeyError):  # read_row names the wrong one
                encoded = model.schema.encode_values([[row[name] for name in self._names]])
        elif type(row) is list and self._names is None and len(row) == self._n_features:
            encoded = model.schema.encode_values([row])
        elif self._takes_arrays and self._is_plain(row):
            encoded = core_ready(row.reshape(1, -1))
        if encoded is None:
            return read_row(model.schema, model.derived, row, model.read_features).values
        return with_derived(encoded, model.derived)

    def _is_plain(self, row: Any) -> bool:
        is_array = type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (self._n_features,)
        return is_array and not np.isinf(row).any()

    def predict_proba(self, row: Any) -> Floats:
        """Probability of each class, shape (n_classes,), in the order of the classifier's ``classes_``.

        Parameters
        ----------
        row : dict, list, ndarray of shape (n_features,), Series or data frame of one row
            A value for each feature, None where it is missing; without names in the order of the features.
        """
        return np.asarray(self._model.probabilities(self._row(row))[0])

    def predict(self, row: Any, *, decision: AnyDecision = "probable", no_answer: Any = None) -> Any:
        """The label; ``row`` as in :meth:`predict_proba`, the others as in :meth:`ferl.FERLClassifier.predict`."""
        rule = Rule(Decision.of(decision, self._model.classes))
        return labels_or_marker(self._model, self._row(row), rule, no_answer)[0]

    def predict_evidence(self, row: Any) -> Evidence:
        """Belief, plausibility, ignorance and conflict, of rules ``rows`` as well: arrays of one row.

        ``row`` as in :meth:`predict_proba`. ``prediction_set()`` of the evidence is the set of classes.
        """
        return self._model.evidence(self._row(row))
