"""``ferl calibrate``: what rows that a model was not fitted on promise of its answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer
from scipy import stats

from ferl._cli.by_class import MAX_CLASSES, ByClass
from ferl._cli.errors import CommandError, check_place
from ferl._cli.labelled import LabelledRows, Source, read_labelled
from ferl._read.calibration import Calibration, ConformalScores, digest_of, write_calibration
from ferl._read.risk_control import RiskControl
from ferl._util.text import listed, spoken
from ferl.abstention import RiskControlledFERL, UnmetRiskWarning
from ferl.abstention.bounds import least_answered_rows
from ferl.calibration import IsotonicMap, TemperatureMap, fit_map
from ferl.rules import FERLClassifier
from ferl.saving import load_model

_BY_CHANCE = 0.05  # probability of a note on any class where every class is covered as promised


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
    sets = None
    if source.target is not None:
        calibration, sets = _with_labels(estimator, rows, promise, calibration)
    for line in _told(calibration, sets):
        typer.echo(line)
    write_calibration(calibration, out, estimator.classes_)
    typer.echo(f"calibration    {out}")
    if sets is not None and not promise.class_conditional:
        for note in _notes(sets, promise.alpha):
            typer.echo(f"note: {note}", err=True)


def _with_labels(
    estimator: FERLClassifier, rows: LabelledRows, promise: Promise, plain: Calibration
) -> tuple[Calibration, ByClass]:
    """What labels let promise, and how often the sets hold the true class, by class."""
    evidence = estimator.predict_evidence(rows.X)
    conformal = ConformalScores.of(evidence, rows.codes, promise.score, promise.class_conditional, promise.alpha)
    conformal.check(estimator.classes_, promise.alpha)
    control = None if promise.risk is None else _control(estimator, rows, promise)
    moved = None if promise.probabilities is None else fit_map(evidence, rows.codes, promise.probabilities)
    sets = conformal.left_out_sets(evidence, promise.alpha)
    names = [spoken(label) for label in estimator.model_.labels]
    return (
        Calibration(plain.model, plain.n_rows, conformal, control, moved, plain.novelty),
        ByClass.of(names, rows.codes, (rows.codes >= 0) & sets[np.arange(len(sets)), rows.codes]),
    )


def _control(estimator: FERLClassifier, rows: LabelledRows, promise: Promise) -> RiskControl:
    controlled = RiskControlledFERL(
        estimator,
        risk=promise.risk or 0.0,  # 0 is refused, with what it must be
        confidence=promise.confidence,
        signal=promise.signal,
        random_state=promise.seed,
    )
    _check_risk(controlled, len(rows.codes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetRiskWarning)  # what is not met is printed
        return controlled.calibrate(rows.X, rows.labels).control_


def _check_risk(asked: RiskControlledFERL, n_rows: int) -> None:
    """Refuse a promise on errors that no outcome on so many rows could make, in the words of the command line."""
    for name, value in (("--risk", asked.risk), ("--confidence", asked.confidence)):
        if not 0 < value < 1:
            raise CommandError(f"{name} is {value:g}; it must lie between 0 and 1.")
    n_aside = max(1, round(asked.design_share * n_rows))
    needed = least_answered_rows(asked.risk, 1 - asked.confidence)
    if n_rows - n_aside < needed:
        raise CommandError(
            f"--risk {asked.risk:g} with --confidence {asked.confidence:g} needs at least {needed:,} calibration rows, "
            f"even if all answers are right; there are {n_rows - n_aside:,}, since {n_aside:,} of {n_rows:,} are set "
            "aside to place the first test. Add rows, or allow more --risk or less --confidence."
        )


def _notes(sets: ByClass, alpha: float) -> list[str]:
    """Classes whose rows are in their sets less often than the rows on average, by more than chance would have it."""
    chance = _BY_CHANCE / max(len(sets.held), 1)
    short = [c for c in sets.held if stats.binom.cdf(sets.n_hit[c], sets.n_rows[c], 1 - alpha) < chance]
    if not short:
        return []
    shown = [(sets.classes[c], sets.n_hit[c] / sets.n_rows[c], sets.n_rows[c]) for c in short[:MAX_CLASSES]]
    told = listed([f"{name} ({share:.1%} of {n_rows:,} rows)" for name, share, n_rows in shown], "or")
    rest = f" and {len(short) - MAX_CLASSES:,} more classes" if len(short) > MAX_CLASSES else ""
    return [
        f"{1 - alpha:.0%} are promised of all rows together; sets hold the true class less often where it is "
        f"{told}{rest}. Add --class-conditional to promise it of every class, with larger sets"
    ]


def _told(calibration: Calibration, sets: ByClass | None) -> list[str]:
    """What the calibration promises, in lines."""
    conformal, control, moved = calibration.conformal, calibration.control, calibration.moved
    lines = [f"rows           {calibration.n_rows:,}"]
    if conformal is not None:
        each = "of the rows of every class" if conformal.class_conditional else "of the rows"
        lines.append(f"sets           hold the true class of at least {1 - conformal.alpha:.0%} {each}")
    if sets is not None:
        lines.append(f"sets by class  {sets.text()} (each row by sets that the others make)")
    if control is not None:
        # A remedy that only Python has.
        told = str(control).replace(', or use method="bonferroni" there', "")
        lines.append(f"abstention     {told}")
    if isinstance(moved, TemperatureMap):
        lines.append(f"probabilities  moved by a temperature of {moved.temperature:.3g}")
    elif isinstance(moved, IsotonicMap):
        lines.append(f"probabilities  moved along a line of {len(moved.share)} points")
    return [*lines, "novelty        p-values: at most a share p of rows like these has a p-value up to p"]
