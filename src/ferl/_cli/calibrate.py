"""``ferl calibrate``: what rows that a model was not fitted on promise of its answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from ferl._cli.errors import CommandError, check_place
from ferl._cli.labelled import LabelledRows, Source, read_labelled
from ferl._read.calibration import Calibration, ConformalScores, digest_of, write_calibration
from ferl._read.risk_control import RiskControl
from ferl.abstention import RiskControlledFERL, UnmetRiskWarning
from ferl.calibration import IsotonicMap, TemperatureMap, fit_map
from ferl.classifier import FERLClassifier
from ferl.saving import load_model


@dataclass(frozen=True)
class Promise:
    """What is to be promised.

    Attributes
    ----------
    alpha : float
        How often a set may miss the true class.
    class_conditional : bool
        Whether for every class by itself.
    score : str
        How sets compare classes.
    risk : float or None
        Largest error rate among answered rows; None: no such promise.
    confidence : float
        Probability with which it holds.
    signal : str
        What decides which rows are answered.
    probabilities : {"temperature", "isotonic"} or None
        How probabilities are moved; None: they stay.
    seed : int
        Seed of the rows that the promise on errors sets aside.
    """

    alpha: float
    class_conditional: bool
    score: str
    risk: float | None
    confidence: float
    signal: str
    probabilities: str | None
    seed: int


def run_calibrate(source: Source, out: Path, promise: Promise) -> None:
    """Read calibration rows, print what they promise, and write it."""
    check_place(out, source.model, source.table)
    if source.target is None and (promise.risk is not None or promise.probabilities or promise.class_conditional):
        raise CommandError("Sets, --risk and --probabilities need labels: name their column with --target.")
    estimator = load_model(source.model).set_params(n_jobs=source.jobs)
    rows = read_labelled(estimator, source)
    novelty = np.sort(estimator.novelty(rows.X))
    calibration = Calibration(digest_of(source.model), len(rows.codes), novelty=novelty)
    if source.target is not None:
        calibration = _with_labels(estimator, rows, promise, calibration)
    for line in _told(calibration):
        typer.echo(line)
    write_calibration(calibration, out, estimator.classes_)
    typer.echo(f"calibration    {out}")


def _with_labels(estimator: FERLClassifier, rows: LabelledRows, promise: Promise, plain: Calibration) -> Calibration:
    evidence = estimator.predict_evidence(rows.X)
    conformal = ConformalScores.of(evidence, rows.codes, promise.score, promise.class_conditional, promise.alpha)
    conformal.check(estimator.classes_, promise.alpha)
    control = None if promise.risk is None else _control(estimator, rows, promise)
    moved = None if promise.probabilities is None else fit_map(evidence, rows.codes, promise.probabilities)
    return Calibration(plain.model, plain.n_rows, conformal, control, moved, plain.novelty)


def _control(estimator: FERLClassifier, rows: LabelledRows, promise: Promise) -> RiskControl:
    controlled = RiskControlledFERL(
        estimator,
        risk=promise.risk or 0.0,  # 0 is refused, with what it must be
        confidence=promise.confidence,
        signal=promise.signal,
        random_state=promise.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetRiskWarning)  # what is not met is printed
        return controlled.calibrate(rows.X, rows.labels).control_


def _told(calibration: Calibration) -> list[str]:
    """What the calibration promises, in lines."""
    conformal, control, moved = calibration.conformal, calibration.control, calibration.moved
    lines = [f"rows           {calibration.n_rows:,}"]
    if conformal is not None:
        each = "of the rows of every class" if conformal.class_conditional else "of the rows"
        lines.append(f"sets           hold the true class of at least {1 - conformal.alpha:.0%} {each}")
    if control is not None:
        lines.append(f"abstention     {control}")
    if isinstance(moved, TemperatureMap):
        lines.append(f"probabilities  moved by a temperature of {moved.temperature:.3g}")
    elif isinstance(moved, IsotonicMap):
        lines.append(f"probabilities  moved along a line of {len(moved.share)} points")
    return [*lines, "novelty        p-values: at most a share p of rows like these has a p-value up to p"]
