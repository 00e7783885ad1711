"""``ferl evaluate``: how right a model is on labelled rows, and whether promises are kept on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ferl._cli.labelled import Source, read_labelled
from ferl._cli.scores import Judged, judge_rows
from ferl._read.calibration import check_alpha, read_calibration
from ferl._read.judgement import Rule
from ferl.metrics import expected_calibration_error
from ferl.saving import load_model


def run_evaluate(source: Source, calibration: Path | None, alpha: float | None, decision: str, as_json: bool) -> None:
    """Print accuracy, baseline, recalls and abstentions of the answers that ferl predict gives by the same options.

    Accuracy and recall count the guess for abstaining rows.
    """
    estimator = load_model(source.model).set_params(n_jobs=source.jobs)
    promise = None if calibration is None else read_calibration(calibration, estimator.model_, source.model)
    check_alpha(promise, alpha, estimator.model_)
    rule = Rule(decision, promise, alpha)
    rule.check()
    rows = read_labelled(estimator, source)
    judged = judge_rows(estimator, rows.X, rows.codes, rule)
    if as_json:
        typer.echo(json.dumps(_figures(judged), ensure_ascii=False, allow_nan=False, indent=2))
        return
    for line in [*judged.lines("test"), *_kept_lines(judged)]:
        typer.echo(line)
    for note in judged.notes():
        typer.echo(f"note: {note}", err=True)


def _figures(judged: Judged) -> dict[str, Any]:
    """All figures, with what came of promises, as plain values."""
    counts = np.bincount(judged.truth[judged.truth >= 0], minlength=len(judged.classes))
    figures: dict[str, Any] = {
        "n_rows": len(judged.truth),
        "decision": judged.rule.decision,
        "accuracy": float(judged.right.mean()),
        "baseline": float(counts.max() / len(judged.truth)),
        "recall": judged.recall.shares(),
        "mean_recall": judged.recall.mean,
        "auc": judged.auc,
        "abstentions": float(judged.abstains.mean()),
    }
    promise = judged.rule.calibration
    if promise is None:
        return figures
    if promise.conformal is not None:
        figures["set_coverage"] = float(judged.covered.mean())
        figures["set_coverage_by_class"] = judged.coverage.shares()
        figures["classes_per_set"] = float(judged.set_size.mean())
    if promise.control is not None:
        figures["answered"] = float((~judged.abstains).mean())
        figures["errors_among_answers"] = _errors(judged)
    if promise.moved is not None:
        figures["ece"] = _calibration_error(judged)
    return figures


def _kept_lines(judged: Judged) -> list[str]:
    """What came of the promises of a calibration."""
    promise = judged.rule.calibration
    found: list[tuple[str, str]] = []
    if promise is not None and promise.conformal is not None:
        found.append(("calibrated sets", f"{judged.covered.mean():.1%} hold the true class"))
        found.append(("sets by class", judged.coverage.text()))
        found.append(("classes per set", f"{judged.set_size.mean():.2f}"))
    if promise is not None and promise.control is not None:
        found.append(("answered", f"{(~judged.abstains).mean():.1%} of the rows, by the promise on errors"))
        errors = _errors(judged)
        if errors is not None:
            found.append(("wrong answers", f"{errors:.1%} of the answered rows"))
    if promise is not None and promise.moved is not None and (error := _calibration_error(judged)) is not None:
        found.append(("ECE", f"{error:.2g} of the calibrated probabilities (0: right as often as they say)"))
    return [f"{title:<18} {text}" for title, text in found]


def _errors(judged: Judged) -> float | None:
    """Share of wrong answers among answered rows; None: no row is answered."""
    answered = ~judged.abstains
    return float((~judged.right)[answered].mean()) if answered.any() else None


def _calibration_error(judged: Judged) -> float | None:
    """How far confidence lies from the share of right answers, of rows whose label the model knows; None: none has."""
    known = judged.truth >= 0
    if not known.any():
        return None
    return float(expected_calibration_error(judged.truth[known], judged.label[known], judged.confidence[known]))
