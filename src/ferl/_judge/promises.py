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
from ferl._judge.risk import SIGNALS, RiskControl
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
    is_number,
    one_of,
    wrong,
)
from ferl._models.model import Model
from ferl._models.model_file import file_content, json_text, parsed_json
from ferl._util.arrays import Floats
from ferl._util.files import replace_text
from ferl._util.text import shown

# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3


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
_SETS = Object(
    {
        "score": one_of(*SCORES),
        "class_conditional": FLAG,
        "alpha": _SHARE,
        "scores": Numbers(("rows",), infinite=True),
        "classes": Integers("rows", low=-1, below="classes"),
    }
)
_ABSTENTION = Object(
    {
        **dict.fromkeys(("risk", "confidence"), _SHARE),
        "met": FLAG,
        "signal": one_of(*SIGNALS),
        "method": one_of("fixed_sequence", "bonferroni"),
        "threshold": Value(lambda value: is_number(value) or value in ("inf", "-inf"), "a number"),
        **dict.fromkeys(("n_rows", "n_answered", "n_errors"), count(0, _LARGEST_COUNT)),
        **dict.fromkeys(("bound", "achievable_risk", "achievable_share"), _SHARE),
        "decision": Value(lambda value: isinstance(value, str | list) or is_number(value), "a name, a number or costs"),
    },
    optional=frozenset({"decision"}),
)
_PROBABILITIES = Object(
    {
        "temperature": Value(lambda value: is_number(value) and 1e-3 <= value <= 1e3, "from 0.001 to 1000"),
        **dict.fromkeys(("share", "value"), Numbers(("knots",), 0.0, _CARELESS)),
        "sharing": _SHARE,
    },
    optional=frozenset({"temperature", "share", "value"}),
)
_FORM = Object(
    {
        "format": TEXT,
        "version": count(VERSION, VERSION),
        "ferl": TEXT,
        "model": TEXT,
        "n_rows": count(1, _LARGEST_COUNT),
        "sets": Nullable(_SETS),
        "abstention": Nullable(_ABSTENTION),
        "probabilities": Nullable(_PROBABILITIES),
        "novelty": Nullable(Numbers(("rows",), 0.0, infinite=True)),
    }
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
        f"{name} belongs to another model than {Path(model_path).name}: what it promises holds for that one alone. "
        "Calibrate this model on rows of its own."
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
    found = _FORM.read(form, "the calibration", sizes)
    n_rows, novelty, sets = found["n_rows"], found["novelty"], found["sets"]
    if sizes.get("rows", n_rows) != n_rows:
        raise wrong("n_rows", f"it is {n_rows}, and there are {sizes['rows']} numbers for the rows")
    if novelty is not None and (np.sort(novelty) != novelty).any():
        raise wrong("novelty", "the numbers must ascend")
    conformal = None
    if sets is not None:
        reference = Reference(sets["scores"], sets["classes"], np.ones(n_rows), sets["class_conditional"])
        conformal = ConformalScores(sets["score"], sets["alpha"], reference)
    return Calibration(
        found["model"],
        n_rows,
        conformal,
        _control(found["abstention"], classes),
        _map(found["probabilities"]),
        novelty,
    )


def _control(found: dict[str, Any] | None, classes: NDArray[Any]) -> RiskControl | None:
    if found is None:
        return None
    try:
        decision = PROBABLE if found["decision"] is None else Decision.of(found["decision"], classes)
    except ValueError as error:
        raise wrong("abstention.decision", str(error).rstrip(".")) from error
    control = RiskControl(**{**found, "threshold": float(found["threshold"]), "decision": decision})
    if not control.n_rows >= 1 or not control.n_errors <= control.n_answered <= control.n_rows:
        raise wrong("abstention.n_answered", "there cannot be more errors than answers, or answers than rows")
    if not control.met and control.threshold != math.inf:
        raise wrong("abstention.threshold", "where the promise is not met no row is answered, and it is inf")
    return control


def _map(found: dict[str, Any] | None) -> TemperatureMap | IsotonicMap | None:
    if found is None:
        return None
    temperature, share, value, sharing = (found[name] for name in ("temperature", "share", "value", "sharing"))
    if temperature is not None and share is None and value is None:
        return TemperatureMap(float(temperature), float(sharing))
    if temperature is not None or share is None or value is None:
        raise wrong("probabilities", "it must have a temperature, or share and value")
    if not len(share) or (np.diff(share) < 0).any() or (np.diff(value) < 0).any():
        raise wrong("probabilities.value", "share and value must ascend, one or more of each")
    return IsotonicMap(share, value, float(sharing))
