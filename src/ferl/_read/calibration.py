"""What calibration rows promise of a model's answers: sets, abstention, probabilities, p-values of novelty; as a file.

The file is JSON and untrusted input, as a model file is. It belongs to one model file, by the digest of its content.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.evidence import Evidence
from ferl._models.fields import ModelFileError, Part, as_numbers, as_written, is_plain_text
from ferl._models.model import Model
from ferl._models.model_file import file_content, json_text, parsed_json
from ferl._read.conformity import SCORES, Reference, groups_of, least_rows, nonconformity, reference_of
from ferl._read.probability_maps import IsotonicMap, TemperatureMap
from ferl._read.risk_control import SIGNALS, RiskControl, evidence_signal
from ferl._util.arrays import Bools, Floats
from ferl._util.files import replace_text
from ferl._util.text import listed, shown

FORMAT = "ferl-calibration"
VERSION = 1
_KEYS = ("format", "version", "ferl", "model", "n_rows", "sets", "abstention", "probabilities", "novelty")
_LARGEST_COUNT = 2**53
_COUNTS = ("n_rows", "n_answered", "n_errors")
_METHODS = ("fixed_sequence", "bonferroni")
_CARELESS = 1.0 + 1e-9  # shares that rounding puts beyond 1


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """How badly the labels of calibration rows fit them, which new rows are compared with.

    Attributes
    ----------
    score : {"probability", "plausibility", "aps", "raps"}
        How badly a label fits; see :func:`ferl.conformal.nonconformity`.
    class_conditional : bool
        Whether a class is compared with the rows of this class alone.
    alpha : float
        How often a set may miss the true class, where nothing else is said.
    reference : Reference
        The rows; the estimator in it is not used.
    """

    score: str
    class_conditional: bool
    alpha: float
    reference: Reference

    @classmethod
    def of(cls, evidence: Evidence, codes: Any, score: str, class_conditional: bool, alpha: float) -> ConformalScores:
        """The scores of calibration rows; a code of -1 is a class that the model does not know."""
        reference = reference_of(None, nonconformity(evidence, score), codes, np.ones(len(codes)))
        return cls(score, class_conditional, alpha, reference)

    def check(self, classes: NDArray[Any], alpha: float) -> None:
        """Refuse an alpha that these rows are too few for, in the words of the command line."""
        if not 0 < alpha < 1:
            raise ValueError(f"--alpha is {alpha:g}; it must lie between 0 and 1, such as 0.1 for sets that hold 90 %.")
        groups = groups_of([self.reference], classes, class_conditional=self.class_conditional)
        short = [group for group in groups if group.least_alpha > alpha]
        if not short:
            return
        of_class = " of every class" if self.class_conditional else ""
        known = listed([f"{group.n_rows:,}" + (f" of {group.label}" if of_class else "") for group in short])
        others = sum(group.n_unknown for group in short)
        unknown = f", {others:,} of them with labels that the model does not know" if others else ""
        worst = max(group.least_alpha for group in short)
        remedies = ["Add rows"] + [f"choose an --alpha of at least {worst:.3g}"] * (worst < 1)
        remedies += ["leave --class-conditional out"] * self.class_conditional
        raise ValueError(
            f"--alpha {alpha:g} needs at least {least_rows(alpha)} calibration rows{of_class}; there are {known}"
            f"{unknown}. {listed(remedies, 'or')}."
        )

    def sets(self, evidence: Evidence, alpha: float) -> Bools:
        """Sets that miss the true class with a probability of at most alpha, shape (n_samples, n_classes)."""
        at_least, total = self._compared(evidence)
        return _never_empty((at_least + 1) / (total + 1) > alpha, evidence)

    def left_out_sets(self, evidence: Evidence, alpha: float) -> Bools:
        """Sets of the calibration rows themselves, each compared with all the others, shape (n_rows, n_classes).

        Which of them hold the true class tells, for rows of any kind, how often sets of new rows will: a row that is
        compared with itself as well would be in its set more often.

        Parameters
        ----------
        evidence : Evidence
            What the model says of the calibration rows, in their order.
        alpha : float
            How often a set may miss the true class.
        """
        at_least, total = self._compared(evidence)
        codes, scores = self.reference.codes, nonconformity(evidence, self.score)
        is_compared = np.arange(at_least.shape[1]) == codes[:, None] if self.class_conditional else True
        itself = (self.reference.scores[:, None] >= scores) & is_compared
        n_others = total - np.broadcast_to(is_compared, at_least.shape)
        return _never_empty((at_least - itself + 1) / (n_others + 1) > alpha, evidence)

    def _compared(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """How many calibration rows fit no better than each row and class, and of how many."""
        scores = nonconformity(evidence, self.score)
        at_least = self.reference.weight_at_least(scores, class_conditional=self.class_conditional)
        return at_least, self.reference.total(at_least.shape[1], class_conditional=self.class_conditional)


def _never_empty(sets: Bools, evidence: Evidence) -> Bools:
    """Sets where those without a class that fits well enough hold the most probable classes."""
    probability = evidence.probability
    best = probability == probability.max(axis=1, keepdims=True)
    return np.asarray(sets | (best & ~sets.any(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What rows that a model was not fitted on promise of its answers.

    Attributes
    ----------
    model : str
        SHA-256 of the model's file.
    n_rows : int
        Number of calibration rows.
    conformal : ConformalScores or None
        For sets.
    control : RiskControl or None
        For abstention.
    moved : TemperatureMap, IsotonicMap or None
        For probabilities.
    novelty : ndarray of shape (n_rows,) or None
        Novelty of the rows, ascending, for p-values.
    """

    model: str
    n_rows: int
    conformal: ConformalScores | None = None
    control: RiskControl | None = None
    moved: TemperatureMap | IsotonicMap | None = None
    novelty: Floats | None = None

    def answered(self, evidence: Evidence, novelty: Floats | None) -> Bools | None:
        """Which rows are answered by the promise on errors; None: none is made. ``novelty``: where it is the signal."""
        if self.control is None:
            return None
        if self.control.signal == "novelty":
            signal = -np.asarray(novelty)
        else:
            signal = evidence_signal(evidence, self.control.signal)
        return np.asarray(signal >= self.control.threshold)

    @cached_property
    def needs_novelty(self) -> bool:
        """Whether the promise on errors looks at novelty."""
        return self.control is not None and self.control.signal == "novelty"

    def novelty_p_values(self, novelty: Floats) -> Floats:
        """Share of the calibration rows, the new row among them, that are at least as novel, shape (n_samples,)."""
        known = np.zeros(0) if self.novelty is None else self.novelty
        return np.asarray((1 + len(known) - np.searchsorted(known, novelty, side="left")) / (len(known) + 1))


def check_alpha(calibration: Calibration | None, alpha: float | None, model: Model) -> None:
    """Refuse an alpha where there are no calibrated sets, or one that the calibration rows are too few for."""
    conformal = None if calibration is None else calibration.conformal
    if conformal is not None:
        conformal.check(model.classes, conformal.alpha if alpha is None else alpha)
    elif alpha is not None:
        raise ValueError(
            f"--alpha is {alpha:g}, but there are no calibrated sets. Run ferl calibrate MODEL rows.csv --target "
            "COLUMN -o calibration.json, and add --calibration calibration.json."
        )


def digest_of(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a model's file."""
    return hashlib.sha256(file_content(Path(path))).hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------------------


def write_calibration(calibration: Calibration, path: str | os.PathLike[str], classes: NDArray[Any]) -> None:
    """Write a calibration to a file, which is read back before it takes its place."""
    text = json_text(calibration_to_form(calibration))
    calibration_from_form(parsed_json(text.encode()), classes)
    replace_text(path, text)


def read_calibration(path: str | os.PathLike[str], model: Model, model_path: str | os.PathLike[str]) -> Calibration:
    """The calibration in a file, if it is one of this model.

    Parameters
    ----------
    path : str or path-like
        The file: untrusted input.
    model : Model
        The model.
    model_path : str or path-like
        Its file.

    Returns
    -------
    Calibration
    """
    name = Path(path).name
    digest = digest_of(model_path)
    try:
        form = parsed_json(file_content(Path(path)))
        is_calibration = isinstance(form, dict) and form.get("format") == FORMAT
        if not is_calibration or not isinstance(form.get("model"), str) or form["model"] == digest:
            return calibration_from_form(form, model.classes)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    # Before its content is checked: classes of another model would be the first thing to be wrong.
    raise ModelFileError(
        f"{name} belongs to another model than {Path(model_path).name}: what it promises holds for that one alone. "
        "Run ferl calibrate with this model."
    )


def calibration_to_form(calibration: Calibration) -> dict[str, Any]:
    """A calibration as lists, text and numbers of Python."""
    from ferl import __version__

    conformal, control, moved = calibration.conformal, calibration.control, calibration.moved
    sets = abstention = probabilities = None
    if conformal is not None:
        sets = {
            "score": conformal.score,
            "class_conditional": conformal.class_conditional,
            "alpha": conformal.alpha,
            "scores": as_written(conformal.reference.scores),
            "classes": conformal.reference.codes.tolist(),
        }
    if control is not None:
        abstention = {own.name: getattr(control, own.name) for own in fields(control)}
        abstention["threshold"] = as_written(np.array([control.threshold]))[0]
    if isinstance(moved, TemperatureMap):
        probabilities = {"temperature": moved.temperature, "sharing": moved.sharing}
    elif moved is not None:
        probabilities = {"share": moved.share.tolist(), "value": moved.value.tolist(), "sharing": moved.sharing}
    return {
        "format": FORMAT,
        "version": VERSION,
        "ferl": __version__,
        "model": calibration.model,
        "n_rows": calibration.n_rows,
        "sets": sets,
        "abstention": abstention,
        "probabilities": probabilities,
        "novelty": None if calibration.novelty is None else as_written(calibration.novelty),
    }


def calibration_from_form(form: Any, classes: NDArray[Any]) -> Calibration:
    """A calibration from its plain form, checked: whatever it holds, it ends in a calibration or in an error."""
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'it is no calibration: it does not begin with {{"format": "{FORMAT}", ...}}.')
    if type(form.get("version")) is not int or form["version"] != VERSION:
        raise ModelFileError(f"it is in version {shown(form.get('version'))}; this ferl reads version {VERSION}.")
    part = Part(form, "the calibration", _KEYS)
    for key in ("ferl", "model"):
        if not is_plain_text(part.value[key]):
            raise part.wrong(key, f"{shown(part.value[key])} is no text")
    n_rows = part.integer("n_rows", 1, _LARGEST_COUNT)
    novelty = part.value["novelty"]
    if novelty is not None:
        novelty = part.numbers("novelty", n_rows, 0.0, infinite=True)
        if (np.diff(novelty[np.isfinite(novelty)]) < 0).any() or (np.sort(novelty) != novelty).any():
            raise part.wrong("novelty", "the numbers must ascend")
    return Calibration(
        part.value["model"],
        n_rows,
        _conformal(part.value["sets"], n_rows, len(classes)),
        _control(part.value["abstention"]),
        _moved(part.value["probabilities"]),
        novelty,
    )


def _conformal(form: Any, n_rows: int, n_classes: int) -> ConformalScores | None:
    if form is None:
        return None
    part = Part(form, "sets", ("score", "class_conditional", "alpha", "scores", "classes"))
    score, by_class = part.value["score"], part.value["class_conditional"]
    if score not in SCORES:
        raise part.wrong("score", f"{shown(score)} is not one of {', '.join(SCORES)}")
    if type(by_class) is not bool:
        raise part.wrong("class_conditional", f"{shown(by_class)} is not true or false")
    reference = Reference(
        None,
        part.numbers("scores", n_rows, infinite=True),
        part.integers("classes", n_rows, -1, n_classes - 1),
        np.ones(n_rows),
    )
    return ConformalScores(score, by_class, _share(part, "alpha"), reference)


def _control(form: Any) -> RiskControl | None:
    if form is None:
        return None
    names = [own.name for own in fields(RiskControl)]
    part = Part(form, "abstention", names)
    found: dict[str, Any] = {name: part.integer(name, 0, _LARGEST_COUNT) for name in _COUNTS}
    if not found["n_rows"] >= 1 or not found["n_errors"] <= found["n_answered"] <= found["n_rows"]:
        raise part.wrong("n_answered", "there cannot be more errors than answers, or answers than rows")
    for name, allowed in (("signal", SIGNALS), ("method", _METHODS)):
        found[name] = part.value[name]
        if found[name] not in allowed:
            raise part.wrong(name, f"{shown(found[name])} is not one of {', '.join(allowed)}")
    if type(part.value["met"]) is not bool:
        raise part.wrong("met", f"{shown(part.value['met'])} is not true or false")
    threshold = as_numbers([part.value["threshold"]], "abstention.threshold", 1, infinite=True)
    found |= {"met": part.value["met"], "threshold": float(threshold[0])}
    if not found["met"] and found["threshold"] != math.inf:
        raise part.wrong("threshold", "where the promise is not met no row is answered, and it is inf")
    shares = ("risk", "confidence", "bound", "achievable_risk", "achievable_share")
    return RiskControl(**(found | {name: _share(part, name) for name in shares}))


def _moved(form: Any) -> TemperatureMap | IsotonicMap | None:
    if form is None:
        return None
    if isinstance(form, dict) and "temperature" in form:
        part = Part(form, "probabilities", ("temperature", "sharing"))
        temperature = as_numbers([part.value["temperature"]], "probabilities.temperature", 1, 1e-3, 1e3)
        return TemperatureMap(float(temperature[0]), _share(part, "sharing"))
    part = Part(form, "probabilities", ("share", "value", "sharing"))
    share = part.numbers("share", None, 0.0, _CARELESS)
    value = part.numbers("value", len(share), 0.0, _CARELESS)
    if not len(share) or (np.diff(share) < 0).any() or (np.diff(value) < 0).any():
        raise part.wrong("value", "share and value must ascend, one or more of each")
    return IsotonicMap(share, value, _share(part, "sharing"))


def _share(part: Part, key: str) -> float:
    return float(as_numbers([part.value[key]], part.path(key), 1, 0.0, 1.0)[0])
