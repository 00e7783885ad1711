"""How right the answers of a model are, beside what always saying the commonest class would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import listed, spoken
from ferl.classifier import FERLClassifier
from ferl.metrics import aurc

_MAX_CELLS = 1 << 24  # of answers in memory at a time: rows x classes
_MIN_MISSED = 5  # rows of a class that is never found; fewer may be missed by chance
_MAX_CLASSES = 8  # whose recall is printed; of more, the lowest


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
        Index of the most probable class.
    confidence : ndarray of shape (n_samples,)
        Its probability.
    abstains : ndarray of bool of shape (n_samples,)
        Whether every class is in the set.
    """

    classes: list[str]
    truth: Ints
    label: NDArray[np.intp]
    confidence: Floats
    abstains: Bools

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

    def recall_text(self) -> str:
        """Of each class, the share of its rows that are found; of many classes, the lowest."""
        known = self.truth >= 0
        n_rows = np.bincount(self.truth[known], minlength=len(self.classes))
        n_found = np.bincount(self.truth[known & self.right], minlength=len(self.classes))
        held = np.flatnonzero(n_rows)
        shares = n_found[held] / n_rows[held]
        shown = held
        rest = ""
        if len(held) > _MAX_CLASSES:
            shown = held[np.argsort(shares, kind="stable")[:_MAX_CLASSES]]
            rest = f"; these are the lowest of {len(held):,} classes, whose mean is {shares.mean():.1%}"
        return ", ".join(f"{self.classes[c]} {n_found[c] / n_rows[c]:.1%} of {n_rows[c]:,}" for c in shown) + rest

    def notes(self) -> list[str]:
        """What a reader of the figures should not miss: classes that are never found, and a model of no use."""
        known = self.truth >= 0
        n_rows = np.bincount(self.truth[known], minlength=len(self.classes))
        n_found = np.bincount(self.truth[known & self.right], minlength=len(self.classes))
        notes = []
        if len(self.truth) and self.right.sum() <= n_rows.max():
            notes.append(
                f"by accuracy the model is no better than always saying {self.classes[int(n_rows.argmax())]}; whether "
                "its probabilities rank rows, AURC and recall tell"
            )
        lost = np.flatnonzero((n_found == 0) & (n_rows >= _MIN_MISSED))
        if len(lost):
            told = [f"{self.classes[c]} ({n_rows[c]:,} rows)" for c in lost[:_MAX_CLASSES]]
            rest = f" and {len(lost) - _MAX_CLASSES:,} more classes" if len(lost) > _MAX_CLASSES else ""
            notes.append(
                f"no row of {listed(told)}{rest} is found: other classes are always more probable. ferl predict "
                "--decision balanced finds rare classes, at the cost of others"
            )
        return notes

    def lines(self, name: str) -> list[str]:
        """What to print of the rows that were not learned from."""
        found = [
            (f"{name} accuracy", self.accuracy_text()),
            (f"{name} recall", self.recall_text()),
            (
                f"{name} AURC",
                f"{aurc(self.truth, self.label, self.confidence):.4f} (lower: more sure where it is right)",
            ),
        ]
        abstained = f"{self.abstains.mean():.1%}"
        if 0 < self.abstains.sum() < len(self.truth):
            abstained += f"; of the other rows {self.right[~self.abstains].mean():.1%} are right"
        return [f"{title:<18} {text}" for title, text in [*found, (f"{name} abstentions", abstained)]]


def judge_rows(estimator: FERLClassifier, X: pa.Table, truth: Ints) -> Judged:
    """The answers of a model to labelled rows, some rows at a time: with thousands of classes answers are large.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : pyarrow.Table
        Rows.
    truth : ndarray of shape (n_samples,)
        Index of each row's class; -1: none of the model's.
    """
    step = max(_MAX_CELLS // len(estimator.classes_), 1)
    label, confidence, abstains = [], [], []
    for start in range(0, X.num_rows, step):
        evidence = estimator.predict_evidence(X.slice(start, step))
        probability = evidence.probability
        label.append(probability.argmax(axis=1))
        confidence.append(probability.max(axis=1))
        abstains.append(evidence.prediction_set().all(axis=1))
    classes = [spoken(own) for own in estimator.model_.labels]
    return Judged(classes, truth, *map(np.concatenate, (label, confidence, abstains)))
