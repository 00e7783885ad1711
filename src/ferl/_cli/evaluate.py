"""``ferl evaluate``: how right a model is on labelled rows, and whether promises are kept on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ferl._cli.labelled import LabelledRows, Source, read_labelled
from ferl._cli.scores import Judged, judge_rows
from ferl._read.calibration import Calibration, check_alpha, read_calibration
from ferl._util.text import plain
from ferl.classifier import FERLClassifier
from ferl.metrics import expected_calibration_error
from ferl.saving import load_model


def run_evaluate(source: Source, calibration: Path | None, alpha: float | None, as_json: bool) -> None:
    """Print accuracy, baseline, recalls and abstentions; with a calibration, what came of its promises."""
    estimator = load_model(source.model).set_params(n_jobs=source.jobs)
    promise = None if calibration is None else read_calibration(calibration, estimator.model_, source.model)
    check_alpha(promise, alpha, estimator.model_)
    rows = read_labelled(estimator, source)
    judged = judge_rows(estimator, rows.X, rows.codes)
    kept = {} if promise is None else _kept(estimator, rows, promise, alpha)
    if as_json:
        typer.echo(json.dumps(_figures(judged) | kept, ensure_ascii=False, allow_nan=False, indent=2))
        return
    for line in judged.lines("test"):
        typer.echo(line)
    for note in judged.notes():
        typer.echo(f"note: {note}", err=True)
    for name, (value, meaning) in _SPOKEN.items():
        if name in kept and kept[name] is not None:
            typer.echo(f"{value:<18} {kept[name]:{'.1%' if name in _SHARES else '.2f'}} {meaning}".rstrip())


_SHARES = ("set_coverage", "answered", "errors_among_answers")
_SPOKEN = {
    "set_coverage": ("calibrated sets", "hold the true class"),
    "classes_per_set": ("classes per set", ""),
    "answered": ("answered", "of the rows, by the promise on errors"),
    "errors_among_answers": ("wrong answers", "of the answered rows"),
    "ece": ("ECE", "of the calibrated probabilities (0: right as often as they say)"),
}


def _figures(judged: Judged) -> dict[str, Any]:
    known = judged.truth >= 0
    counts = np.bincount(judged.truth[known], minlength=len(judged.classes))
    found = np.bincount(judged.truth[known & judged.right], minlength=len(judged.classes))
    recall = {name: plain(f / n) if n else None for name, f, n in zip(judged.classes, found, counts, strict=True)}
    return {
        "n_rows": len(judged.truth),
        "accuracy": float(judged.right.mean()),
        "baseline": float(counts.max() / len(judged.truth)),
        "recall": recall,
        "abstentions": float(judged.abstains.mean()),
    }


def _kept(
    estimator: FERLClassifier, rows: LabelledRows, promise: Calibration, alpha: float | None
) -> dict[str, float | None]:
    """What came of the promises on these rows."""
    evidence, known = estimator.predict_evidence(rows.X), rows.codes >= 0
    found: dict[str, float | None] = {}
    if promise.conformal is not None:
        sets = promise.conformal.sets(evidence, promise.conformal.alpha if alpha is None else alpha)
        found["set_coverage"] = float((known & sets[np.arange(len(sets)), rows.codes]).mean())
        found["classes_per_set"] = float(sets.sum(axis=1).mean())
    novelty = estimator.novelty(rows.X) if promise.needs_novelty else None
    answered = promise.answered(evidence, novelty)
    if answered is not None:
        wrong = evidence.probability.argmax(axis=1) != rows.codes
        found["answered"] = float(answered.mean())
        found["errors_among_answers"] = float(wrong[answered].mean()) if answered.any() else None
    if promise.moved is not None and known.any():
        probability = promise.moved(evidence).probability[known]
        label, confidence = probability.argmax(axis=1), probability.max(axis=1)
        found["ece"] = float(expected_calibration_error(rows.codes[known], label, confidence))
    return found
