"""``ferl evaluate``, ``ferl compare`` and ``ferl calibrate``: how right answers are, and what held-out rows promise."""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score

from ferl._cli.labelled import read_labelled
from ferl._cli.rows import decision_of, rule_of
from ferl._cli.shell import CommandError, check_places, check_share, note, write_page
from ferl._estimator import FERLEstimator
from ferl._judge.conformity import ConformalScores, Reference, nonconformity
from ferl._judge.judgement import AS_FITTED, Rule, judge
from ferl._judge.promises import Calibration, IsotonicMap, digest_of, write_calibration
from ferl._models.decision import Decision
from ferl._models.model import Model
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import listed, spoken
from ferl._util.threads import n_threads
from ferl.abstention import RiskControlledFERL, UnmetRiskWarning
from ferl.calibration import fit_map
from ferl.metrics import aurc, compare, expected_calibration_error
from ferl.saving import load_model

MAX_CLASSES = 8  # that are printed; of more, those with the lowest shares
_MAX_CELLS = 1 << 24  # of answers in memory at a time: rows x classes
_MIN_MISSED = 5  # rows of a class that is rarely found; fewer may be missed by chance
_RARELY = 0.3  # of the rows of a class: few enough for a note
_BY_CHANCE = 0.05  # probability of a note on any class where every class is covered as promised


def run_evaluate(asked: Namespace) -> None:
    """Print accuracy, baseline, recalls and abstentions of the answers that ferl predict gives by the same options.

    Accuracy and recall count the guess for abstaining rows.
    """
    estimator = load_model(asked.model).set_params(n_jobs=asked.jobs)
    rule = rule_of(asked, estimator.model_)
    rows = read_labelled(estimator.model_, asked)
    judged = judge_rows(estimator, rows.X, rows.codes, rule)
    if asked.as_json:
        typer.echo(json.dumps(judged.figures(), ensure_ascii=False, allow_nan=False, indent=2))
        return
    for line in [*judged.lines("test"), *judged.kept_lines()]:
        typer.echo(line)
    for text in judged.notes():
        note(text)


class _OnItsRows:
    """A classifier and the rows of a table as it reads them: two models may read different columns."""

    def __init__(self, estimator: FERLEstimator[Any], rows: pa.Table) -> None:
        self._estimator, self.rows = estimator, rows

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._estimator, name)
        if name in ("predict", "predict_proba", "feature_contributions"):
            return lambda _: result(self.rows)
        return result


def run_compare(asked: Namespace) -> None:
    """Compare two models on the rows of a table."""
    check_places([asked.html], asked.model, asked.other, asked.table)
    both: list[_OnItsRows] = []
    labels: list[NDArray[Any]] = []
    for path in (asked.model, asked.other):
        estimator = load_model(path).set_params(n_jobs=asked.jobs)
        rows = read_labelled(estimator.model_, asked)
        others = rows.labels[rows.codes < 0]
        if len(others):
            raise CommandError(
                f"{len(others):,} rows have a label such as {others[0]!r}, which is no class of {path.name}. "
                "Leave them out."
            )
        both.append(_OnItsRows(estimator, rows.X))
        labels.append(estimator.classes_[rows.codes])
    names = (asked.model.stem, asked.other.stem)
    names = names if names[0] != names[1] else (str(asked.model), str(asked.other))
    if names[0] == names[1]:
        raise CommandError(f"{asked.model} is compared with itself; name two models.")
    result = compare(both[0], both[1], both[0].rows, labels[0], names=names)
    if asked.html is not None:
        write_page(asked.html, f"{names[0]} and {names[1]} on {asked.table.name}", result.to_html())
    if asked.as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        typer.echo(result.to_text())
    if asked.html is not None:
        typer.echo(f"comparison written to {asked.html}", err=True)


@dataclass(frozen=True, eq=False)
class ByClass:
    """Number of rows of each class, and of the rows among them that meet a condition: recall, or coverage of sets.

    Attributes
    ----------
    classes : sequence of str
        Labels, as people read them.
    n_rows, n_hit : ndarray of shape (n_classes,)
        Number of rows, and of rows that meet the condition.
    """

    classes: Sequence[str]
    n_rows: NDArray[np.intp]
    n_hit: NDArray[np.intp]

    @classmethod
    def of(cls, classes: Sequence[str], truth: Ints, hit: Bools) -> ByClass:
        """Count rows by the index of their class, of which -1 does not count; ``hit``: what is true of some rows."""
        n_rows, n_hit = (np.bincount(truth[(truth >= 0) & item], minlength=len(classes)) for item in (True, hit))
        return cls(classes, n_rows, n_hit)

    @property
    def held(self) -> NDArray[np.intp]:
        """Indices of the classes that have rows."""
        return np.flatnonzero(self.n_rows)

    @property
    def mean(self) -> float | None:
        """Mean share of the classes that have rows; None: no class has any."""
        return float((self.n_hit[self.held] / self.n_rows[self.held]).mean()) if len(self.held) else None

    def shares(self) -> dict[str, float | None]:
        """The share of each class; None of a class without rows."""
        pairs = zip(self.classes, self.n_rows.tolist(), self.n_hit.tolist(), strict=True)
        return {name: n_hit / n if n else None for name, n, n_hit in pairs}

    def text(self) -> str:
        """The share of each class that has rows, "yes 71.4% of 14, no 95.0% of 80"; of many classes, the lowest."""
        shown, rest = self.held, ""
        if len(shown) > MAX_CLASSES:
            shares = self.n_hit[shown] / self.n_rows[shown]
            rest = f"; these are the lowest of {len(shown):,} classes, whose mean is {shares.mean():.1%}"
            shown = shown[np.argsort(shares, kind="stable")[:MAX_CLASSES]]
        result = [f"{self.classes[c]} {self.n_hit[c] / self.n_rows[c]:.1%} of {self.n_rows[c]:,}" for c in shown]
        return ", ".join(result) + rest

    def named(self, chosen: Sequence[int], text: str, last: str = "and") -> str:
        """Some classes in a list, the first few of them; ``text`` describes one, by its name, share and rows."""
        first = [
            text.format(name=self.classes[c], share=self.n_hit[c] / self.n_rows[c], n_rows=self.n_rows[c])
            for c in chosen[:MAX_CLASSES]
        ]
        rest = f" and {len(chosen) - MAX_CLASSES:,} more classes" if len(chosen) > MAX_CLASSES else ""
        return f"{listed(first, last)}{rest}"


@dataclass(frozen=True)
class Judged:
    """Rows with labels, and what a model answers.

    Attributes
    ----------
    classes : list of str
        Labels, as people read them.
    truth : ndarray of shape (n_samples,)
        Index of each row's class; -1: the label is no class of the model.
    label : ndarray of shape (n_samples,)
        Index of the class that is chosen; of an abstaining row, of the one that would be.
    confidence : ndarray of shape (n_samples,)
        Its probability.
    abstains : ndarray of bool of shape (n_samples,)
        Whether there is no answer.
    covered : ndarray of bool of shape (n_samples,)
        Whether the set holds the true class.
    set_size : ndarray of shape (n_samples,)
        Number of classes in the set.
    rule : Rule
        How answers are chosen.
    """

    classes: list[str]
    truth: Ints
    label: NDArray[np.intp]
    confidence: Floats
    abstains: Bools
    covered: Bools
    set_size: NDArray[np.intp]
    rule: Rule

    @property
    def right(self) -> Bools:
        """Which answers are right, the guesses of abstaining rows among them."""
        return np.asarray(self.label == self.truth)

    @property
    def recall(self) -> ByClass:
        """How many rows of each class are found."""
        return ByClass.of(self.classes, self.truth, self.right)

    @property
    def coverage(self) -> ByClass:
        """How many rows of each class have it in their set."""
        return ByClass.of(self.classes, self.truth, self.covered)

    @property
    def auc(self) -> float | None:
        """How well the probabilities rank the rows of two classes, area under the ROC curve; None: of other rows."""
        known = self.truth >= 0
        if len(self.classes) != 2 or len(np.unique(self.truth[known])) != 2:
            return None
        of_second = np.where(self.label == 1, self.confidence, 1.0 - self.confidence)
        return float(roc_auc_score(self.truth[known], of_second[known]))

    @cached_property
    def costs(self) -> tuple[float, float] | None:
        """The mean cost of a row, and the least cost of always predicting one class; None: without costs."""
        known, n_classes = self.truth >= 0, len(self.classes)
        code = self.truth[known].astype(np.int64) * n_classes + self.label[known]
        return self.rule.decision.mean_cost(np.bincount(code, minlength=n_classes**2).reshape(n_classes, -1))

    def accuracy_text(self) -> str:
        """Accuracy, beside the accuracy of always predicting the commonest class."""
        n_rows = self.recall.n_rows
        baseline = (
            f"always predicting {self.classes[int(np.argmax(n_rows))]} gives {n_rows.max() / len(self.truth):.1%}"
        )
        return f"{self.right.mean():.1%} of {len(self.truth):,} rows; {baseline}"

    def lines(self, name: str) -> list[str]:
        """The figures of held-out rows, as lines to print."""
        recall, auc = self.recall, self.auc
        result = {"accuracy": self.accuracy_text(), "recall": recall.text()}
        if self.rule.decision.is_for_recall and recall.mean is not None:
            result["mean recall"] = f"{recall.mean:.1%}; always predicting one class gives {1 / len(recall.held):.1%}"
        if self.costs is not None:
            result["cost"] = (
                f"{self.costs[0]:.4g} a row; always predicting one class costs at least {self.costs[1]:.4g}"
            )
        if auc is not None:
            ranked = f"{auc:.3f} of {self.classes[1]} against {self.classes[0]}"
            result["AUC"] = f"{ranked} (0.5: chance, 1: perfect ranking)"
        result["AURC"] = (
            f"{aurc(self.truth, self.label, self.confidence):.4f} (lower is better: sure where right, unsure where "
            "wrong)"
        )
        result["abstentions"] = f"{self.abstains.mean():.1%}"
        if 0 < self.abstains.sum() < len(self.truth):
            result["abstentions"] += f"; of the answered rows {self.right[~self.abstains].mean():.1%} are right"
        decision = self.rule.decision
        chosen = [] if decision.is_usual else [f"{'decision':<18} {decision.text(self.classes)}"]
        return [*chosen, *(f"{f'{name} {title}':<18} {text}" for title, text in result.items())]

    def kept_lines(self) -> list[str]:
        """What came of the promises of a calibration."""
        kept, result = self.kept(), {}
        if "set_coverage" in kept:
            result["calibrated sets"] = f"{kept['set_coverage']:.1%} hold the true class"
            result["sets by class"] = self.coverage.text()
            result["classes per set"] = f"{kept['classes_per_set']:.2f}"
        if "answered" in kept:
            result["answered"] = f"{kept['answered']:.1%} of the rows, under the guarantee on errors"
        if kept.get("errors_among_answers") is not None:
            result["wrong answers"] = f"{kept['errors_among_answers']:.1%} of the answered rows"
        if kept.get("ece") is not None:
            result["ECE"] = f"{kept['ece']:.2g} of the calibrated probabilities (0: right as often as stated)"
        return [f"{title:<18} {text}" for title, text in result.items()]

    def kept(self) -> dict[str, Any]:
        """Figures about the promises of a calibration; None where there are no rows for one."""
        promised, known = self.rule.calibration, self.truth >= 0
        figures: dict[str, Any] = {}
        if promised is not None and promised.conformal is not None:
            figures["set_coverage"] = float(self.covered.mean())
            figures["set_coverage_by_class"] = self.coverage.shares()
            figures["classes_per_set"] = float(self.set_size.mean())
        if promised is not None and promised.control is not None:
            wrong = ~self.right[~self.abstains]
            figures["answered"] = float((~self.abstains).mean())
            figures["errors_among_answers"] = float(wrong.mean()) if len(wrong) else None
        if promised is not None and promised.moved is not None:
            rows = (self.truth[known], self.label[known], self.confidence[known])
            figures["ece"] = float(expected_calibration_error(*rows)) if known.any() else None
        return figures

    def figures(self) -> dict[str, Any]:
        """All figures, as plain values."""
        recall = self.recall
        return {
            "n_rows": len(self.truth),
            "decision": self.rule.decision.plain,
            "accuracy": float(self.right.mean()),
            "baseline": float(recall.n_rows.max() / len(self.truth)),
            "recall": recall.shares(),
            "mean_recall": recall.mean,
            **({} if self.costs is None else {"cost": self.costs[0], "cost_of_one_class": self.costs[1]}),
            "auc": self.auc,
            "abstentions": float(self.abstains.mean()),
            **self.kept(),
        }

    def notes(self, example: str = "", *, is_tested: bool = True) -> list[str]:
        """What a reader of the figures should not miss: classes that are rarely found, and a model of no use.

        Parameters
        ----------
        example : str, default=""
            A command that shows what balanced decisions find and cost.
        is_tested : bool, default=True
            Whether the rows were not learned from, so that AUC and AURC are printed as well.
        """
        recall, decision = self.recall, self.rule.decision
        n_rows, mean = recall.n_rows, recall.mean
        notes = []
        if len(self.truth) and decision.is_usual and self.right.sum() <= n_rows.max():
            most = self.classes[int(n_rows.argmax())]
            show = "AURC shows" if self.auc is None else "AUC and AURC show"
            rest = f"; {show} whether its probabilities still rank the rows" if is_tested else ""
            notes.append(f"by accuracy the model is no better than always predicting {most}{rest}")
        if decision.is_for_recall and mean is not None and mean <= 1 / len(recall.held) < 1:
            guess = f"always predicting one class, {1 / len(recall.held):.1%}"
            notes.append(f"by mean recall, {mean:.1%}, the model is no better than {guess}")
        if self.costs is not None and self.costs[0] >= self.costs[1]:
            notes.append(
                f"by its costs, {self.costs[0]:.4g} a row, the model is no better than always predicting one class"
            )
        lost = np.flatnonzero((recall.n_hit < _RARELY * n_rows) & (n_rows >= _MIN_MISSED))
        if len(lost):
            remedy = ""
            if 2 * n_rows[lost].max() < n_rows.max():  # they are rare
                remedy = _MORE_ROWS if decision.name == "balanced" else self._balanced(example)
            missed = recall.named(lost.tolist(), "{name} ({n_rows:,} rows)")
            notes.append(f"less than {_RARELY:.0%} of {missed} are predicted: other classes are more probable{remedy}")
        return notes

    def _balanced(self, example: str) -> str:
        """That balanced decisions find rare classes, as the end of a sentence."""
        wish = ". To find rare classes at the cost of others, add --decision balanced to ferl predict and ferl evaluate"
        if self.rule.calibration is not None and self.rule.calibration.control is not None:
            return f"{wish}, with a calibration by the same decision"
        return f"{wish}{example and ': ' + example}"


_MORE_ROWS = (
    ", even compared with their frequency. More rows of such classes, or columns that distinguish them, would help"
)


def judge_rows(estimator: FERLEstimator[Any], X: pa.Table, truth: Ints, rule: Rule = AS_FITTED) -> Judged:
    """The answers of a model to labelled rows, some rows at a time: with thousands of classes answers are large.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    X : pyarrow.Table
        Rows.
    truth : ndarray of shape (n_samples,)
        Index of each row's class; -1: none of the model's.
    rule : Rule, default=Rule()
        How answers are chosen.
    """
    step = max(_MAX_CELLS // len(estimator.classes_), 1)
    model, threads = estimator.model_, n_threads(estimator.n_jobs)
    parts = []
    for start in range(0, X.num_rows, step):
        result = judge(model, estimator._rows(X.slice(start, step)), rule, n_threads=threads)
        true_codes = truth[start : start + step]
        covered = (true_codes >= 0) & result.sets[np.arange(len(true_codes)), true_codes]
        parts.append((result.label, result.confidence, result.abstains, covered, result.sets.sum(axis=1)))
    classes = [spoken(label) for label in model.labels]
    label, confidence, abstains, covered, set_size = map(np.concatenate, zip(*parts, strict=True))
    return Judged(classes, truth, label, confidence, abstains, covered, set_size, rule)


# ---------------------------------------------------------------------------------------------------------------------
# ferl calibrate: what rows that a model was not fitted on promise of its answers
# ---------------------------------------------------------------------------------------------------------------------


def run_calibrate(asked: Namespace) -> None:
    """Read calibration rows, print what they promise, and write it."""
    check_places([asked.out], asked.model, asked.table, asked.decision)
    for name in ("alpha", "risk", "confidence"):
        check_share(name, getattr(asked, name))
    if asked.target is None and (asked.risk is not None or asked.probabilities or asked.class_conditional):
        raise CommandError("Sets, --risk and --probabilities need labels: name their column with --target.")
    estimator = load_model(asked.model).set_params(n_jobs=asked.jobs)
    decision = _decision(asked, estimator.model_)
    rows = read_labelled(estimator.model_, asked)
    result = Calibration(digest_of(asked.model), len(rows.codes), novelty=np.sort(estimator.novelty(rows.X)))
    lines, notes = [f"rows           {result.n_rows:,}"], []
    if asked.target is not None:
        evidence, codes = estimator.predict_evidence(rows.X), rows.codes
        scores = nonconformity(evidence, asked.score)
        reference = Reference.of(scores, codes, class_conditional=asked.class_conditional)
        conformal = ConformalScores(asked.score, asked.alpha, reference)
        conformal.check(estimator.classes_, asked.alpha)
        result = replace(result, conformal=conformal)
        left_out = conformal.left_out_sets(evidence, asked.alpha)
        names = [spoken(label) for label in estimator.model_.labels]
        sets = ByClass.of(names, codes, (codes >= 0) & left_out[np.arange(len(codes)), codes])
        each = "of the rows of every class" if asked.class_conditional else "of the rows"
        lines.append(f"sets           hold the true class of at least {1 - asked.alpha:.0%} {each}")
        lines.append(f"sets by class  {sets.text()} (each row tested with sets from the other rows)")
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
        result = replace(result, control=control)
        lines.append(f"abstention     {control.text()}")
        lines += [] if decision.is_usual else [f"decision       {decision.text(estimator.model_.labels)}"]
    if asked.probabilities is not None:
        moved = fit_map(evidence, codes, asked.probabilities)
        result = replace(result, moved=moved)
        how = (
            f"along a line of {len(moved.share)} points"
            if isinstance(moved, IsotonicMap)
            else (f"by a temperature of {moved.temperature:.3g}")
        )
        lines.append(f"probabilities  moved {how}")
    lines.append("novelty        p-values: among rows like these, at most a share p has a p-value of p or less")
    for line in lines:
        typer.echo(line)
    write_calibration(result, asked.out, estimator.classes_)
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
            f"--probabilities changes what --decision {asked.decision} compares, so the guarantee of --risk would be "
            "about other labels than the predicted ones. Leave one of them out."
        )
    return decision


def _notes(sets: ByClass, alpha: float) -> list[str]:
    """Classes whose rows are in their sets less often than the rows on average, by more than chance would have it."""
    chance = _BY_CHANCE / max(len(sets.held), 1)
    short = [c for c in sets.held if stats.binom.cdf(sets.n_hit[c], sets.n_rows[c], 1 - alpha) < chance]
    if not short:
        return []
    return [
        f"the guarantee of {1 - alpha:.0%} is for all rows together; sets hold the true class less often where it is "
        f"{sets.named(short, '{name} ({share:.1%} of {n_rows:,} rows)', 'or')}. Add --class-conditional to guarantee "
        "it for every class, with larger sets"
    ]
