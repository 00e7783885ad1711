"""How right the answers of a model are, beside what always saying the commonest class would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from ferl._cli.by_class import MAX_CLASSES, ByClass
from ferl._read.judgement import AS_FITTED, Rule, judge
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import listed, spoken
from ferl._util.threads import n_threads
from ferl.metrics import aurc
from ferl.rules import FERLClassifier

_MAX_CELLS = 1 << 24  # of answers in memory at a time: rows x classes
_MIN_MISSED = 5  # rows of a class that is rarely found; fewer may be missed by chance
_RARELY = 0.3  # of the rows of a class: few enough to be told of it


@dataclass(frozen=True)
class Judged:
    """Rows with labels, and what a model answers.

    Attributes
    ----------
    classes : list of str
        Labels, as people read them.
    truth : ndarray of shape (n_samples,)
        Index of each row's class; -1: a label that is none of the model's.
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

    def accuracy_text(self) -> str:
        """Accuracy, and that of always saying the commonest class."""
        counts = np.bincount(self.truth[self.truth >= 0], minlength=len(self.classes))
        most = int(np.argmax(counts))
        return (
            f"{self.right.mean():.1%} of {len(self.truth):,} rows; always saying {self.classes[most]} gives "
            f"{counts[most] / len(self.truth):.1%}"
        )

    @property
    def recall(self) -> ByClass:
        """Of each class, how many of its rows are found."""
        return ByClass.of(self.classes, self.truth, self.right)

    @property
    def coverage(self) -> ByClass:
        """Of each class, how many of its rows have it in their set."""
        return ByClass.of(self.classes, self.truth, self.covered)

    def notes(self, example: str = "", *, is_tested: bool = True) -> list[str]:
        """What a reader of the figures should not miss: classes that are rarely found, and a model of no use.

        Parameters
        ----------
        example : str, default=""
            A command that shows what balanced decisions find and cost.
        is_tested : bool, default=True
            Whether the rows were not learned from, so that AUC and AURC are printed as well.
        """
        recall, is_balanced = self.recall, self.rule.decision == "balanced"
        n_rows, mean = recall.n_rows, recall.mean
        notes = []
        if len(self.truth) and not is_balanced and self.right.sum() <= n_rows.max():
            most = self.classes[int(n_rows.argmax())]
            tells = "AURC tells" if self.auc is None else "AUC and AURC tell"
            rest = f"; {tells} whether its probabilities rank rows all the same" if is_tested else ""
            notes.append(f"by accuracy the model is no better than always saying {most}{rest}")
        if is_balanced and mean is not None and mean <= 1 / len(recall.held) < 1:
            guess = f"always saying one class, {1 / len(recall.held):.1%}"
            notes.append(f"by mean recall, {mean:.1%}, the model is no better than {guess}")
        lost = np.flatnonzero((recall.n_hit < _RARELY * n_rows) & (n_rows >= _MIN_MISSED))
        if len(lost):
            told = [f"{self.classes[c]} ({n_rows[c]:,} rows)" for c in lost[:MAX_CLASSES]]
            rest = f" and {len(lost) - MAX_CLASSES:,} more classes" if len(lost) > MAX_CLASSES else ""
            found = f"less than {_RARELY:.0%} of {listed(told)}{rest} are found"
            are_rare = 2 * n_rows[lost].max() < n_rows.max()
            notes.append(f"{found}: other classes are more probable{self._remedy(example) if are_rare else ''}")
        return notes

    def _remedy(self, example: str) -> str:
        """What may be done about classes that are rarely found, as the end of a sentence."""
        if self.rule.decision == "balanced":
            return (
                ", even compared with their frequency. More rows of such classes, or columns that tell them apart, "
                "would help"
            )
        wish = ". To find rare classes at the cost of others, add --decision balanced to ferl predict and ferl evaluate"
        if self.rule.calibration is not None and self.rule.calibration.control is not None:
            return f"{wish}, with a calibration without --risk"
        return f"{wish}{example and ': ' + example}"

    @property
    def auc(self) -> float | None:
        """How well the probabilities rank the rows of two classes, area under the ROC curve; None: of other rows."""
        known = self.truth >= 0
        if len(self.classes) != 2 or len(np.unique(self.truth[known])) != 2:
            return None
        of_second = np.where(self.label == 1, self.confidence, 1.0 - self.confidence)
        return float(roc_auc_score(self.truth[known], of_second[known]))

    def lines(self, name: str) -> list[str]:
        """What to print of the rows that were not learned from."""
        ranked = "" if self.auc is None else f"{self.auc:.3f} of {self.classes[1]} against {self.classes[0]}"
        found = [
            (f"{name} accuracy", self.accuracy_text()),
            (f"{name} recall", self.recall.text()),
            *self._mean_recall_line(name),
            *([(f"{name} AUC", f"{ranked} (0.5: ranked by chance, 1: all before the others)")] if ranked else []),
            (
                f"{name} AURC",
                f"{aurc(self.truth, self.label, self.confidence):.4f} (lower: more sure where it is right)",
            ),
        ]
        abstained = f"{self.abstains.mean():.1%}"
        if 0 < self.abstains.sum() < len(self.truth):
            abstained += f"; of the other rows {self.right[~self.abstains].mean():.1%} are right"
        return [f"{title:<18} {text}" for title, text in [*found, (f"{name} abstentions", abstained)]]

    def _mean_recall_line(self, name: str) -> list[tuple[str, str]]:
        """What balanced decisions aim at, instead of accuracy."""
        recall = self.recall
        if self.rule.decision != "balanced" or recall.mean is None:
            return []
        return [(f"{name} mean recall", f"{recall.mean:.1%}; always saying one class gives {1 / len(recall.held):.1%}")]


def judge_rows(estimator: FERLClassifier, X: pa.Table, truth: Ints, rule: Rule = AS_FITTED) -> Judged:
    """The answers of a model to labelled rows, some rows at a time: with thousands of classes answers are large.

    Parameters
    ----------
    estimator : FERLClassifier
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
        found = judge(model, estimator._rows(X.slice(start, step)), rule, n_threads=threads)
        own = truth[start : start + step]
        covered = (own >= 0) & found.sets[np.arange(len(own)), own]
        parts.append((found.label, found.confidence, found.abstains, covered, found.sets.sum(axis=1)))
    classes = [spoken(own) for own in model.labels]
    label, confidence, abstains, covered, set_size = map(np.concatenate, zip(*parts, strict=True))
    return Judged(classes, truth, label, confidence, abstains, covered, set_size, rule)
