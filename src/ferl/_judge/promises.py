"""What calibration rows promise of a model's answers: sets, abstention, probabilities, p-values of novelty; as a file.

The file is JSON and untrusted input, as a model file is. It belongs to one model file, by the digest of its content.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._judge.conformity import SCORES, ConformalScores, Reference
from ferl._models.decision import PROBABLE, Decision
from ferl._models.evidence import Evidence
from ferl._models.form import (
    FLAG,
    TEXT,
    Integers,
    ModelFileError,
    Nullable,
    Numbers,
    Object,
    Sizes,
    Value,
    count,
    file_content,
    is_number,
    json_text,
    one_of,
    parsed_json,
    wrong,
)
from ferl._models.model import Model
from ferl._util.arrays import Bools, Floats
from ferl._util.files import replace_text
from ferl._util.text import shown

# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3
SIGNALS = ("margin", "belief", "ignorance", "novelty")


@dataclass(frozen=True)
class TemperatureMap:
    """Shares to the power ``1 / temperature``: above 1 the classes come closer, below 1 they part."""

    temperature: float
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        logarithm = np.log(np.maximum(evidence.shares, evidence.least_share)) / self.temperature
        power = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return evidence.with_shares(power / power.sum(axis=1, keepdims=True), self.sharing)


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Shares through one rising line for all classes, then divided by their sum.

    Attributes
    ----------
    share, value : ndarray of shape (n_knots,)
        The line.
    sharing : float
        Part of the ignorance that is shared out as the moved shares are.
    """

    share: Floats
    value: Floats
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        shares = evidence.shares
        moved = (1 - _SLOPE) * np.interp(shares, self.share, self.value) + _SLOPE * shares
        return evidence.with_shares(moved / moved.sum(axis=1, keepdims=True), self.sharing)


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

    def novelty_p_values(self, novelty: Floats) -> Floats:
        """Share of the calibration rows, the new row among them, that are at least as novel, shape (n_samples,)."""
        known = np.zeros(0) if self.novelty is None else self.novelty
        return np.asarray((1 + len(known) - np.searchsorted(known, novelty, side="left")) / (len(known) + 1))


def digest_of(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a model's file."""
    return hashlib.sha256(file_content(Path(path))).hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------------------

FORMAT = "ferl-calibration"
VERSION = 1
_LARGEST_COUNT = 2**53
_CARELESS = 1.0 + 1e-9  # shares that rounding puts beyond 1
_SHARE = Value(lambda value: is_number(value) and 0 <= value <= 1, "a number from 0 to 1")
_SETS = Object.of(
    score=one_of(*SCORES),
    class_conditional=FLAG,
    alpha=_SHARE,
    scores=Numbers(("rows",), infinite=True),
    classes=Integers("rows", low=-1, below="classes"),
)
_ABSTENTION = Object.of(
    "decision",
    **dict.fromkeys(("risk", "confidence"), _SHARE),
    met=FLAG,
    signal=one_of(*SIGNALS),
    method=one_of("fixed_sequence", "bonferroni"),
    threshold=Value(lambda value: is_number(value) or value in ("inf", "-inf"), "a number"),
    **dict.fromkeys(("n_rows", "n_answered", "n_errors"), count(0, _LARGEST_COUNT)),
    **dict.fromkeys(("bound", "achievable_risk", "achievable_share"), _SHARE),
    decision=Value(lambda value: isinstance(value, str | list) or is_number(value), "a name, a number or costs"),
)
_PROBABILITIES = Object.of(
    "temperature share value",
    temperature=Value(lambda value: is_number(value) and 1e-3 <= value <= 1e3, "from 0.001 to 1000"),
    **dict.fromkeys(("share", "value"), Numbers(("knots",), 0.0, _CARELESS)),
    sharing=_SHARE,
)
_FORM = Object.of(
    format=TEXT,
    version=count(VERSION, VERSION),
    ferl=TEXT,
    model=TEXT,
    n_rows=count(1, _LARGEST_COUNT),
    sets=Nullable(_SETS),
    abstention=Nullable(_ABSTENTION),
    probabilities=Nullable(_PROBABILITIES),
    novelty=Nullable(Numbers(("rows",), 0.0, infinite=True)),
)


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
        f"{name} belongs to another model than {Path(model_path).name}: its guarantees hold for that model "
        "only. Calibrate this model, too."
    )


def calibration_to_form(calibration: Calibration) -> dict[str, Any]:
    """A calibration as lists, text and numbers of Python."""
    from ferl import __version__

    conformal, control, moved = calibration.conformal, calibration.control, calibration.moved
    sets = abstention = None
    if conformal is not None:
        reference = conformal.reference
        sets = {**vars(conformal), **vars(reference), "classes": reference.codes}
    if control is not None:
        threshold = control.threshold if math.isfinite(control.threshold) else str(control.threshold)
        abstention = {**vars(control), "threshold": threshold, "decision": control.decision.plain}
    probabilities = None if moved is None else dict.fromkeys(("temperature", "share", "value")) | vars(moved)
    known = {"sets": sets, "abstention": abstention, "probabilities": probabilities, "ferl": __version__}
    form: dict[str, Any] = _FORM.write({**vars(calibration), "format": FORMAT, "version": VERSION, **known})
    return form


def calibration_from_form(form: Any, classes: NDArray[Any]) -> Calibration:
    """A calibration from its plain form, checked: whatever it holds, it ends in a calibration or in an error."""
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'it is no calibration: it does not begin with {{"format": "{FORMAT}", ...}}.')
    if type(form.get("version")) is not int or form["version"] != VERSION:
        raise ModelFileError(f"it is in version {shown(form.get('version'))}; this ferl reads version {VERSION}.")
    sizes = Sizes(0, classes=len(classes))
    result = _FORM.read(form, "the calibration", sizes)
    n_rows, novelty, sets = result["n_rows"], result["novelty"], result["sets"]
    if sizes.get("rows", n_rows) != n_rows:
        raise wrong("n_rows", f"it is {n_rows}, and there are {sizes['rows']} numbers for the rows")
    if novelty is not None and (np.sort(novelty) != novelty).any():
        raise wrong("novelty", "the numbers must ascend")
    conformal = None
    if sets is not None:
        reference = Reference(sets["scores"], sets["classes"], np.ones(n_rows), sets["class_conditional"])
        conformal = ConformalScores(sets["score"], sets["alpha"], reference)
    return Calibration(
        result["model"],
        n_rows,
        conformal,
        _control(result["abstention"], classes),
        _map(result["probabilities"]),
        novelty,
    )


def _control(result: dict[str, Any] | None, classes: NDArray[Any]) -> RiskControl | None:
    if result is None:
        return None
    try:
        decision = PROBABLE if result["decision"] is None else Decision.of(result["decision"], classes)
    except ValueError as error:
        raise wrong("abstention.decision", str(error).rstrip(".")) from error
    control = RiskControl(**{**result, "threshold": float(result["threshold"]), "decision": decision})
    if not control.n_rows >= 1 or not control.n_errors <= control.n_answered <= control.n_rows:
        raise wrong("abstention.n_answered", "there cannot be more errors than answers, or answers than rows")
    if not control.met and control.threshold != math.inf:
        raise wrong("abstention.threshold", "where the promise is not met no row is answered, and it is inf")
    return control


def _map(result: dict[str, Any] | None) -> TemperatureMap | IsotonicMap | None:
    if result is None:
        return None
    temperature, share, value, sharing = (result[name] for name in ("temperature", "share", "value", "sharing"))
    if temperature is not None and share is None and value is None:
        return TemperatureMap(float(temperature), float(sharing))
    if temperature is not None or share is None or value is None:
        raise wrong("probabilities", "it must have a temperature, or share and value")
    if not len(share) or (np.diff(share) < 0).any() or (np.diff(value) < 0).any():
        raise wrong("probabilities.value", "share and value must ascend, one or more of each")
    return IsotonicMap(share, value, float(sharing))


# ---------------------------------------------------------------------------------------------------------------------
# Which rows are answered so that a promised error rate is kept: a signal of confidence, and a threshold on it
# ---------------------------------------------------------------------------------------------------------------------


def evidence_signal(evidence: Evidence, name: str) -> Floats:
    """The signal of this name that evidence alone gives, shape (n_samples,): "margin", "belief" or "ignorance".

    The margin is the probability of the best class minus the probability of the next.
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
        Rows with at least this signal are answered. Minus infinity: all rows. Infinity: no row, since the risk cannot
        be guaranteed.
    n_rows : int
        Number of calibration rows that the threshold was tested on.
    n_answered, n_errors : int
        How many of them are answered, and how many of those are wrong.
    bound : float
        Clopper-Pearson bound at the threshold and the confidence, before the search for the threshold is paid for. It
        is at most ``risk``; only ``risk`` is promised. 1 if the risk cannot be guaranteed.
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
        """The outcome in sentences; ``otherwise``: a further remedy if only the first threshold failed."""
        wish = f"at most {_percent(self.risk)} errors among answered rows, with {_percent(self.confidence)} confidence"
        if self.met:
            # Less ignorance and less novelty are better: the signal is their negative.
            is_negative = self.signal in ("ignorance", "novelty")
            limit = f"at most {-self.threshold:.4g}" if is_negative else f"at least {self.threshold:.4g}"
            rows = "All rows" if self.threshold == -math.inf else f"Rows with {self.signal} of {limit}"
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
                f"{refused} The first threshold failed. Others look better than {_percent(self.risk)}, but a choice "
                f"among them on the same rows would prove nothing. Calibrate on fresh rows{otherwise}."
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
