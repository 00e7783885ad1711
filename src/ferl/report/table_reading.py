"""What a model says of a table, block after block: memory grows by 16 bytes a row, however wide the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl.evidence import evidence_of_rows
from ferl.novelty import novelty_of_rows

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier
    from ferl.evidence import Evidence

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Cell = Callable[[int, int], Any]

NO_LABEL = -1  # the row's label is missing
OTHER_LABEL = -2  # it is none of the model's classes


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table, as the tree reads them.

    Attributes
    ----------
    number : ndarray of shape (n_rows,)
        Their places in the table, from 0.
    values : ndarray of shape (n_rows, n_columns)
        What they hold; indicators of missing values included.
    truth : ndarray of shape (n_rows,), int32
        Their labels as places in ``classes_``, ``NO_LABEL`` or ``OTHER_LABEL``.
    unseen : list of dict
        For each of them, by the number of the feature, categories that training did not have.
    """

    number: NDArray[np.int64]
    values: Floats
    truth: Codes
    unseen: list[dict[int, Any]]

    def __len__(self) -> int:
        return len(self.number)

    def take(self, places: Any) -> Rows:
        """Some of them."""
        return Rows(self.number[places], self.values[places], self.truth[places], [self.unseen[i] for i in places])

    @staticmethod
    def join(one: Rows, other: Rows) -> Rows:
        """Both."""
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

    def offer(self, value: Floats, places: NDArray[np.intp], rows_at: Callable[[NDArray[np.intp]], Rows]) -> None:
        """Rows of a block, by their places in it; only those that may stay are fetched."""
        best = places[np.argsort(-value[places], kind="stable")[: self.most]]
        if len(self.rows) == self.most and len(best):
            best = best[value[best] > self.value[-1]]
        if not len(best):
            return
        values, rows = np.concatenate([self.value, value[best]]), Rows.join(self.rows, rows_at(best))
        order = np.argsort(-values, kind="stable")[: self.most]
        self.value, self.rows = values[order], rows.take(order)


class TableReading:
    """Judges the rows of a table and keeps what a report needs.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    n_listed : int
        Abstained rows that are kept, those of largest ignorance, and as many of the most novel ones.
    n_first : int
        Rows from the beginning of the table that are kept.

    Attributes
    ----------
    abstained, novel, first : Leading
        Rows that are kept.
    n_rows, n_abstained, n_unsupported : int
        All rows; those whose set is the whole frame; and those of them for which no rule fires at all.
    """

    def __init__(self, estimator: FERLClassifier, n_listed: int = 25, n_first: int = 100) -> None:
        width = estimator.n_features_in_ + len(estimator.missing_features_)
        self.estimator = estimator
        self.abstained, self.novel = Leading(n_listed, width), Leading(n_listed, width)
        self.first = Leading(n_first, width)
        self.n_rows = self.n_abstained = self.n_unsupported = self.n_covered = 0
        self.set_sizes = np.zeros(len(estimator.classes_) + 1, dtype=np.int64)
        self.ignorance = self.conflict = 0.0
        self._blocks: list[tuple[Codes, Codes, Floats]] = []

    def add(self, rows: Floats, truth: Codes | None, cell: Cell = lambda row, feature: "another category") -> None:
        """One more block of rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
            As the tree reads them.
        truth : ndarray of shape (n_rows,), int32, optional
            Labels, as in :class:`Rows`. None: there are none.
        cell : callable
            Gives the value of a row of the block in a feature as the table holds it. It is asked for categories that
            training did not have, which are no more than that in ``rows``.
        """
        if not len(rows):
            return
        labels = np.full(len(rows), NO_LABEL, dtype=np.int32) if truth is None else truth
        evidence = evidence_of_rows(self.estimator, rows)

        def rows_at(places: NDArray[np.intp]) -> Rows:
            unseen = [{int(j): cell(int(i), int(j)) for j in np.flatnonzero(self._is_unseen(rows[i]))} for i in places]
            return Rows(self.n_rows + places, rows[places], labels[places], unseen)

        everywhere = np.arange(len(rows))
        sets = evidence.prediction_set()
        abstains = sets.all(axis=1) & (sets.shape[1] > 1)
        self._count(evidence, sets, abstains, labels)
        self.abstained.offer(evidence.ignorance, np.flatnonzero(abstains), rows_at)
        novelty = novelty_of_rows(self.estimator, rows)
        self.novel.offer(np.nan_to_num(novelty, nan=0.0), everywhere, rows_at)
        self.first.offer(-(self.n_rows + everywhere).astype(np.float64), everywhere, rows_at)
        self.n_rows += len(rows)

    def _is_unseen(self, row: Floats) -> Bools:
        n_levels = self.estimator.columns_.n_levels
        return np.asarray((n_levels > 0) & (row[: len(n_levels)] >= n_levels))

    def _count(self, evidence: Evidence, sets: Bools, abstains: Bools, truth: Codes) -> None:
        self.n_abstained += int(abstains.sum())
        self.n_unsupported += int((abstains & (evidence.ignorance == 1)).sum())
        self.set_sizes += np.bincount(sets.sum(axis=1), minlength=len(self.set_sizes))
        self.ignorance += float(evidence.ignorance.sum())
        self.conflict += float(evidence.conflict.sum())
        known = np.flatnonzero(truth >= 0)
        self.n_covered += int(sets[known, truth[known]].sum())
        probability = evidence.pignistic
        label = probability.argmax(axis=1)
        self._blocks.append((truth, label.astype(np.int32), probability[np.arange(len(label)), label]))

    def answers(self) -> tuple[Codes, Codes, Floats]:
        """Of all rows that have a label: this label, the predicted one, and its probability."""
        if not self._blocks:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        truth, label, confidence = (np.concatenate(own) for own in zip(*self._blocks, strict=True))
        labelled = truth != NO_LABEL
        return truth[labelled], label[labelled], confidence[labelled]
