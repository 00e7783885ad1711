"""What a model says of a table, block after block: memory grows by 17 bytes a row, however wide the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._judge.judgement import decide
from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._util.arrays import Bools, Floats, Ints
from ferl.metrics import aurc, expected_calibration_error, risk_coverage_curve

Cell = Callable[[int, int], Any]

NO_LABEL = -1  # the row's label is missing
OTHER_LABEL = -2  # it is none of the model's classes
N_BINS = 15  # of confidence, as in expected_calibration_error
MAX_LINES = 6  # classes whose calibration is drawn


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table, as the tree reads them.

    Attributes
    ----------
    number : ndarray of shape (n_samples,)
        Their indices in the table.
    values : ndarray of shape (n_samples, n_columns)
        What they hold; indicators of missing values included.
    truth : ndarray of shape (n_samples,), int32
        Their labels as indices of ``classes_``, ``NO_LABEL`` or ``OTHER_LABEL``.
    unseen : list of dict
        For each of them, by the number of the feature, categories that training did not have.
    """

    number: NDArray[np.int64]
    values: Floats
    truth: Ints
    unseen: list[dict[int, Any]]

    def __len__(self) -> int:
        return len(self.number)

    def take(self, indices: Any) -> Rows:
        """The rows of these indices."""
        return Rows(self.number[indices], self.values[indices], self.truth[indices], [self.unseen[i] for i in indices])

    @staticmethod
    def join(one: Rows, other: Rows) -> Rows:
        """The rows of one and then those of the other."""
        return Rows(
            np.concatenate([one.number, other.number]),
            np.concatenate([one.values, other.values]),
            np.concatenate([one.truth, other.truth]),
            one.unseen + other.unseen,
        )


class Leading:
    """The rows of a table with the largest values of something, the earlier of equals first."""

    def __init__(self, most: int, n_columns: int) -> None:
        self.most = most
        self.value = np.zeros(0)
        self.rows = Rows(np.zeros(0, dtype=np.int64), np.zeros((0, n_columns)), np.zeros(0, dtype=np.int32), [])

    def offer(self, value: Floats, indices: NDArray[np.intp], rows_at: Callable[[NDArray[np.intp]], Rows]) -> None:
        """Rows of a block, by their indices in it; only those that may stay are fetched."""
        best = indices[np.argsort(-value[indices], kind="stable")[: self.most]]
        if len(self.rows) == self.most and len(best):
            best = best[value[best] > self.value[-1]]
        if not len(best):
            return
        values, rows = np.concatenate([self.value, value[best]]), Rows.join(self.rows, rows_at(best))
        order = np.argsort(-values, kind="stable")[: self.most]
        self.value, self.rows = values[order], rows.take(order)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers to rows.

    Attributes
    ----------
    truth, label : ndarray of shape (n_samples,), int32
        True labels, as in :class:`Rows`, and those that are chosen.
    confidence : ndarray of shape (n_samples,)
        The probability of the latter.
    abstains : ndarray of bool of shape (n_samples,)
        Whether there is no answer: every class is in the set.
    """

    truth: Ints
    label: Ints
    confidence: Floats
    abstains: Bools

    @property
    def labelled(self) -> Answers:
        """Those whose true label is known, or none of the classes."""
        kept = self.truth != NO_LABEL
        return Answers(self.truth[kept], self.label[kept], self.confidence[kept], self.abstains[kept])


class Calibration:
    """How often rows have a class, by the probability that the model gives it: sums over bins, whatever the rows.

    Parameters
    ----------
    classes : sequence of int
        Indices of the classes that are looked at.
    """

    def __init__(self, classes: Sequence[int]) -> None:
        self.classes = list(classes)
        self.counts, self.hits, self.sums = (np.zeros((len(self.classes), N_BINS)) for _ in range(3))

    @classmethod
    def of(cls, model: Model) -> Calibration:
        """Of two classes the second, whose probability tells that of the first; else the commonest in training."""
        if len(model.classes) == 2:
            return cls([1])
        commonest = np.argsort(-model.tree.class_weight[0], kind="stable")[:MAX_LINES]
        return cls(sorted(commonest.tolist()))

    def add(self, probability: Floats, truth: Ints) -> None:
        """Rows with their labels; those without one are left out."""
        known = truth != NO_LABEL
        for k, c in enumerate(self.classes):
            own, is_true = probability[known, c], truth[known] == c
            bins = _bins(own)
            self.counts[k] += np.bincount(bins, minlength=N_BINS)
            self.hits[k] += np.bincount(bins, is_true, minlength=N_BINS)
            self.sums[k] += np.bincount(bins, own, minlength=N_BINS)

    def lines(self, names: list[str]) -> list[dict[str, Any]]:
        """For each class its bins that hold rows: their mean probability, and the share that has the class."""
        return [
            {
                "class": c,
                "name": names[c],
                "bins": [
                    {
                        "low": bin_ / N_BINS,
                        "probability": float(self.sums[k, bin_] / self.counts[k, bin_]),
                        "share": float(self.hits[k, bin_] / self.counts[k, bin_]),
                        "n_rows": int(self.counts[k, bin_]),
                    }
                    for bin_ in np.flatnonzero(self.counts[k]).tolist()
                ],
            }
            for k, c in enumerate(self.classes)
        ]


class TableReading:
    """Judges the rows of a table and keeps what a report needs.

    Parameters
    ----------
    model : Model
        The model.
    n_threads : int, default=1
        Number of threads.
    n_listed : int, default=25
        Abstained rows that are kept, those of largest ignorance, and as many of the most novel ones.
    n_first : int, default=50
        Rows from the beginning of the table that are kept.
    decision : {"probable", "balanced"}, default="probable"
        How labels are chosen; see :meth:`ferl.FERLClassifier.predict`.

    Attributes
    ----------
    abstained, novel, first : Leading
        Rows that are kept.
    n_rows, n_abstained, n_unsupported : int
        All rows; those whose set is the whole frame; and those of them for which no rule fires at all.
    """

    def __init__(
        self, model: Model, n_threads: int = 1, n_listed: int = 25, n_first: int = 50, decision: str = "probable"
    ) -> None:
        width = model.n_features + len(model.missing_features)
        self.model, self.n_threads, self.decision = model, n_threads, decision
        self.abstained, self.novel = Leading(n_listed, width), Leading(n_listed, width)
        self.first = Leading(n_first, width)
        self.n_rows = self.n_abstained = self.n_unsupported = self.n_covered = 0
        self.set_sizes = np.zeros(len(model.classes) + 1, dtype=np.int64)
        self.ignorance = self.conflict = 0.0
        self._blocks: list[tuple[Ints, Ints, Floats, Bools]] = []
        self.calibration = Calibration.of(model)

    def add(self, rows: Floats, truth: Ints | None, cell: Cell = lambda row, feature: "another category") -> None:
        """Judge one more block of rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            As the tree reads them.
        truth : ndarray of shape (n_samples,), int32, or None
            Labels, as in :class:`Rows`. None: there are none.
        cell : callable, default="another category" everywhere
            Gives the value of a row of the block in a feature as the table holds it. It is asked for categories that
            training did not have, which are no more than that in ``rows``.
        """
        if not len(rows):
            return
        labels = np.full(len(rows), NO_LABEL, dtype=np.int32) if truth is None else truth
        evidence = self.model.evidence(rows, self.n_threads)

        def rows_at(indices: NDArray[np.intp]) -> Rows:
            unseen = [{int(j): cell(int(i), int(j)) for j in np.flatnonzero(self._is_unseen(rows[i]))} for i in indices]
            return Rows(self.n_rows + indices, rows[indices], labels[indices], unseen)

        everywhere = np.arange(len(rows))
        sets = evidence.prediction_set()
        abstains = sets.all(axis=1) & (sets.shape[1] > 1)
        self._count(evidence, sets, abstains, labels, decide(self.model, rows, evidence, self.decision))
        self.abstained.offer(evidence.ignorance, np.flatnonzero(abstains), rows_at)
        novelty = self.model.novelty(rows, n_threads=self.n_threads)
        self.novel.offer(np.nan_to_num(novelty, nan=0.0), everywhere, rows_at)
        self.first.offer(-(self.n_rows + everywhere).astype(np.float64), everywhere, rows_at)
        self.n_rows += len(rows)

    def _is_unseen(self, row: Floats) -> Bools:
        n_categories = self.model.schema.n_categories
        return np.asarray((n_categories > 0) & (row[: len(n_categories)] >= n_categories))

    def _count(self, evidence: Evidence, sets: Bools, abstains: Bools, truth: Ints, label: NDArray[np.intp]) -> None:
        self.n_abstained += int(abstains.sum())
        self.n_unsupported += int((abstains & (evidence.ignorance == 1)).sum())
        self.set_sizes += np.bincount(sets.sum(axis=1), minlength=len(self.set_sizes))
        self.ignorance += float(evidence.ignorance.sum())
        self.conflict += float(evidence.conflict.sum())
        known = np.flatnonzero(truth >= 0)
        self.n_covered += int(sets[known, truth[known]].sum())
        probability = evidence.probability
        self.calibration.add(probability, truth)
        confidence = probability[np.arange(len(label)), label]
        self._blocks.append((truth, label.astype(np.int32), confidence, abstains))

    def answers(self) -> Answers:
        """The answers to all rows, in the order of the table."""
        if not self._blocks:
            none = np.zeros(0, dtype=np.int32)
            return Answers(none, none, np.zeros(0), np.zeros(0, dtype=np.bool_))
        return Answers(*(np.concatenate(own) for own in zip(*self._blocks, strict=True)))


MAX_POINTS = 200  # of a curve
MAX_CLASSES = 40  # of a confusion matrix that can be read


def measures(reading: TableReading, classes: list[str]) -> dict[str, Any] | None:
    """What can be said of answers whose labels are known; None where no row has one.

    A label that is none of the model's classes cannot be hit: it counts as an error and as not covered.

    Parameters
    ----------
    reading : TableReading
        The table, read.
    classes : list of str
        Names of the classes.

    Returns
    -------
    dict or None
    """
    answers = reading.answers().labelled
    truth, label, confidence = answers.truth, answers.label, answers.confidence
    n = len(truth)
    if not n:
        return None
    correct, answered = truth == label, ~answers.abstains
    commonest = int(np.bincount(truth[truth >= 0], minlength=len(classes)).argmax())
    coverage, risk, _ = risk_coverage_curve(truth, label, confidence)
    return {
        "n_rows": n,
        "decision": reading.decision,
        "n_without_label": reading.n_rows - n,
        "n_other_labels": int((truth < 0).sum()),
        "accuracy": float(correct.mean()),
        "commonest": commonest,
        "baseline": float((truth == commonest).mean()),
        "n_answered": int(answered.sum()),
        "accuracy_answered": float(correct[answered].mean()) if answered.any() else None,
        "parts": _parts(correct, answers.abstains),
        "aurc": aurc(truth, label, confidence),
        "ece": expected_calibration_error(truth, label, confidence, N_BINS),
        "set_coverage": reading.n_covered / n,
        "by_class": _by_class(answers, classes),
        "confusion": _confusion(truth, label, classes) if len(classes) <= MAX_CLASSES else None,
        "reliability": reading.calibration.lines(classes),
        "risk_coverage": _thinned(coverage, risk),
    }


def _by_class(answers: Answers, classes: list[str]) -> list[dict[str, Any]]:
    truth, label = answers.truth, answers.label
    rows = np.bincount(truth[truth >= 0], minlength=len(classes))
    said = np.bincount(label, minlength=len(classes))
    hits = np.bincount(label[truth == label], minlength=len(classes))
    return [
        {
            "name": name,
            "class": c,
            "n_rows": int(rows[c]),
            "n_predicted": int(said[c]),
            "recall": float(hits[c] / rows[c]) if rows[c] else None,
            "precision": float(hits[c] / said[c]) if said[c] else None,
            "parts": _parts((label == truth)[truth == c], answers.abstains[truth == c]) if rows[c] else None,
        }
        for c, name in enumerate(classes)
    ]


def _parts(correct: Bools, abstains: Bools) -> dict[str, float]:
    """Shares of rows that get a right or a wrong answer, or none; then by whether the most probable class is right."""
    return {
        "right": float((correct & ~abstains).mean()),
        "open_right": float((correct & abstains).mean()),
        "open_wrong": float((~correct & abstains).mean()),
        "wrong": float((~correct & ~abstains).mean()),
    }


def _confusion(truth: Ints, label: Ints, classes: list[str]) -> dict[str, Any]:
    """Counts by true and predicted class, and their shares of the true one; other labels have one row together."""
    n_classes = len(classes)
    code = np.where(truth >= 0, truth, n_classes).astype(np.int64)
    counts = np.bincount(code * n_classes + label, minlength=(n_classes + 1) * n_classes).reshape(-1, n_classes)
    names = [*classes, "other labels"]
    kept = [row for row in range(n_classes + 1) if row < n_classes or counts[row].any()]
    return {
        "rows": [
            {
                "name": names[row],
                "is_class": row < n_classes,
                "counts": counts[row].tolist(),
                "shares": (counts[row] / max(counts[row].sum(), 1)).tolist(),
            }
            for row in kept
        ]
    }


def _bins(probability: Floats) -> NDArray[np.int64]:
    """Index of the bin of each probability."""
    return np.clip(np.ceil(probability * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)


def _thinned(coverage: Floats, risk: Floats) -> list[list[float]]:
    """Points of a curve, of many some that lie evenly, the first and the last among them."""
    indices = np.unique(np.linspace(0, len(coverage) - 1, min(len(coverage), MAX_POINTS)).round().astype(int))
    return [[float(coverage[index]), float(risk[index])] for index in indices]
