"""``ferl calibrate``: what rows that a model was not fitted on promise of its answers."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import replace

import numpy as np
import typer
from scipy import stats

from ferl._cli.evaluate import ByClass
from ferl._cli.labelled import read_labelled
from ferl._cli.rows import decision_of
from ferl._cli.shell import CommandError, check_places, check_share, note
from ferl._judge.conformity import ConformalScores, Reference, nonconformity
from ferl._judge.promises import Calibration, IsotonicMap, digest_of, write_calibration
from ferl._models.decision import Decision
from ferl._models.model import Model
from ferl._util.text import spoken
from ferl.abstention import RiskControlledFERL, UnmetRiskWarning
from ferl.calibration import fit_map
from ferl.saving import load_model

_BY_CHANCE = 0.05  # probability of a note on any class where every class is covered as promised


def run_calibrate(asked: Namespace) -> None:
    """Read calibration rows, print what they promise, and write it."""
    check_places([asked.out], asked.model, asked.table)
    for name in ("alpha", "risk", "confidence"):
        check_share(name, getattr(asked, name))
    if asked.target is None and (asked.risk is not None or asked.probabilities or asked.class_conditional):
        raise CommandError("Sets, --risk and --probabilities need labels: name their column with --target.")
    estimator = load_model(asked.model).set_params(n_jobs=asked.jobs)
    decision = _decision(asked, estimator.model_)
    rows = read_labelled(estimator.model_, asked)
    found = Calibration(digest_of(asked.model), len(rows.codes), novelty=np.sort(estimator.novelty(rows.X)))
    lines, notes = [f"rows           {found.n_rows:,}"], []
    if asked.target is not None:
        evidence, codes = estimator.predict_evidence(rows.X), rows.codes
        scores = nonconformity(evidence, asked.score)
        reference = Reference.of(scores, codes, class_conditional=asked.class_conditional)
        conformal = ConformalScores(asked.score, asked.alpha, reference)
        conformal.check(estimator.classes_, asked.alpha)
        found = replace(found, conformal=conformal)
        left_out = conformal.left_out_sets(evidence, asked.alpha)
        names = [spoken(label) for label in estimator.model_.labels]
        sets = ByClass.of(names, codes, (codes >= 0) & left_out[np.arange(len(codes)), codes])
        each = "of the rows of every class" if asked.class_conditional else "of the rows"
        lines.append(f"sets           hold the true class of at least {1 - asked.alpha:.0%} {each}")
        lines.append(f"sets by class  {sets.text()} (each row by sets that the others make)")
        notes += [] if asked.class_conditional else _notes(sets, asked.alpha)
    if asked.risk is not None:
        controlled = RiskControlledFERL(
            estimator,
            risk=asked.risk,
            confidence=asked.confidence,
            signal=asked.signal,
            decision=decision,
            random_state=asked.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnmetRiskWarning)  # what is not met is printed
            control = controlled.calibrate(rows.X, rows.labels).control_
        found = replace(found, control=control)
        lines.append(f"abstention     {control.text()}")
        lines += [] if decision.is_usual else [f"decision       {decision.text(estimator.model_.labels)}"]
    if asked.probabilities is not None:
        moved = fit_map(evidence, codes, asked.probabilities)
        found = replace(found, moved=moved)
        how = (
            f"along a line of {len(moved.share)} points"
            if isinstance(moved, IsotonicMap)
            else (f"by a temperature of {moved.temperature:.3g}")
        )
        lines.append(f"probabilities  moved {how}")
    lines.append("novelty        p-values: at most a share p of rows like these has a p-value up to p")
    for line in lines:
        typer.echo(line)
    write_calibration(found, asked.out, estimator.classes_)
    typer.echo(f"calibration    {asked.out}")
    for text in notes:
        note(text)


def _decision(asked: Namespace, model: Model) -> Decision:
    """The decision that --risk is about."""
    decision = decision_of(asked.decision, model)
    if not decision.is_usual and asked.risk is None:
        raise CommandError(
            f"--decision {asked.decision} is about the labels of --risk; add --risk 0.05, say. Sets, probabilities and "
            "novelty do not depend on it."
        )
    if not decision.is_usual and asked.probabilities is not None:
        raise CommandError(
            f"--probabilities moves what --decision {asked.decision} compares, so that --risk would promise something "
            "about other labels than those given out. Leave one of them out."
        )
    return decision


def _notes(sets: ByClass, alpha: float) -> list[str]:
    """Classes whose rows are in their sets less often than the rows on average, by more than chance would have it."""
    chance = _BY_CHANCE / max(len(sets.held), 1)
    short = [c for c in sets.held if stats.binom.cdf(sets.n_hit[c], sets.n_rows[c], 1 - alpha) < chance]
    if not short:
        return []
    return [
        f"{1 - alpha:.0%} are promised of all rows together; sets hold the true class less often where it is "
        f"{sets.named(short, '{name} ({share:.1%} of {n_rows:,} rows)', 'or')}. Add --class-conditional to promise it "
        "of every class, with larger sets"
    ]
