"""Similar cases: training rows that a model keeps, and whose classes are evidence for the class of a new row.

Equal rows are at one place, whatever their classes. Among the k nearest places, a case at distance d_j counts its
weight times ``1 - d_j / d``, where d is the distance of the next place. So what the cases add is continuous in every
number: places that change their order change nothing. The votes
V_c of the classes, with one row of the class frequencies pi behind them, are shares ``P_c = (V_c + pi_c) / (V + 1)``.
The cases add ``log(P_c / pi_c)``, less its mean over the classes, to the scores, times the strength that inner
validation gives to each k. Far from all cases the distances are nearly equal, and nothing is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.terms import Terms
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints

N_NEAREST = (1, 3, 10, 30)
"""Numbers of nearest cases that vote; inner validation decides how strongly each vote counts."""
CASES_NAME = "similar known cases"
"""What the vote of cases is called beside the features."""
_MEASURED_ROWS = 256  # by whose distances the usual one is measured
SHOWN_NEAREST = 10
"""Sentences count the classes of so many most similar cases."""


@dataclass(frozen=True, eq=False, repr=False)
class CaseChoice(FrozenArrays):
    """What inner validation found about similar cases.

    Attributes
    ----------
    is_used : bool
        Whether the model has cases.
    gain : float
        By how much they lower the log-loss of rows that neither rules nor cases had, in nats a row.
    error : float
        Standard error of the gain.
    n_rows : int
        Number of these rows.
    scale : float
        What the weights of the rules were multiplied by to make room for the cases; 1 where they are not used.
    """

    is_used: bool
    gain: float
    error: float
    n_rows: int
    scale: float

    def __str__(self) -> str:
        verdict = "used" if self.is_used else "not used"
        return f"{verdict}: log-loss lower by {self.gain:.4f} ± {self.error:.4f} on {self.n_rows:,} validation rows"


@dataclass(frozen=True, eq=False, repr=False)
class Cases(Terms):
    """One term: the vote of the most similar cases.

    Attributes
    ----------
    row : ndarray of shape (n_cases, n_columns)
        The cases as the model reads rows; NaN where a value is missing.
    label : ndarray of shape (n_cases,), int32
        Code of the class of each case.
    weight : ndarray of shape (n_cases,)
        Training weight of each case.
    place : ndarray of shape (n_cases,), int64
        Number of each case among the training rows, from 0; -1 where it is not known.
    centre : ndarray of shape (n_columns,)
        What stands for a number that a case lacks.
    per_unit : ndarray of shape (n_columns,)
        What a difference of one counts in the distance; 0: the column does not count.
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column; 0: it holds numbers.
    strength : ndarray of shape (4,)
        How strongly the vote of the nearest case counts, and those of the nearest 3, 10 and 30.
    usual : ndarray of shape (n_classes,)
        What the cases add on average over training rows.
    """

    row: Floats
    label: Ints
    weight: Floats
    place: NDArray[np.int64]
    centre: Floats
    per_unit: Floats
    n_categories: Ints
    strength: Floats
    usual: Floats

    reads_columns: ClassVar[bool] = False

    @property
    def n_terms(self) -> int:
        """All cases together are one term."""
        return 1

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.label)

    @cached_property
    def frequency(self) -> Floats:
        """Share of each class in the weight of the cases; a class without a case counts as half a row."""
        total = np.bincount(self.label, self.weight, minlength=len(self.usual)).astype(np.float64)
        total = np.where(total > 0, total, min(1.0, float(total[total > 0].min())) / 2)
        return np.asarray(total / total.sum())

    @cached_property
    def place_of_case(self) -> NDArray[np.intp]:
        """The place of each case: a distinct row, numbered in the order of the first cases."""
        rows = np.ascontiguousarray(np.where(np.isnan(self.row), np.nan, self.row + 0.0))  # one kind of NaN and of zero
        keys = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return np.asarray(rank[inverse])

    @cached_property
    def by_place(self) -> tuple[Floats, Ints, Ints]:
        """Distinct rows; where the cases of each begin in an order; and that order of the cases."""
        place = self.place_of_case
        order = np.argsort(place, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(place)))
        return np.ascontiguousarray(self.row[order[start[:-1]]]), start.astype(np.int32), order.astype(np.int32)

    @cached_property
    def core(self) -> _core.Cases:
        """The compiled form."""
        rows, start, order = self.by_place
        return _core.Cases(
            rows,
            start,
            self.label[order],
            self.weight[order],
            self.centre,
            self.per_unit,
            self.n_categories,
            self.frequency,
            np.array(N_NEAREST, dtype=np.int32),
            self.strength,
        )

    def votes(self, rows: Floats, others_alone: bool = False, n_threads: int = 1) -> Floats:
        """Evidence of the votes of the nearest cases, shape (n_samples, 4, n_classes).

        ``others_alone``: without cases that have all values of a row, so that training rows do not see themselves.
        """
        out = np.empty((len(rows), len(N_NEAREST) * len(self.usual)))
        self.core.votes(rows, others_alone, n_threads, out)
        return out.reshape(len(rows), len(N_NEAREST), len(self.usual))

    def added(self, rows: Floats, others_alone: bool = False, n_threads: int = 1) -> Floats:
        """What the cases add to the scores, gates open, shape (n_samples, n_classes)."""
        votes, out = self.votes(rows, others_alone, n_threads), np.zeros((len(rows), len(self.usual)))
        for vote, strength in zip(votes.transpose(1, 0, 2), self.strength.tolist(), strict=True):
            out += strength * vote
        return out

    def nearest(self, rows: Floats, n: int, n_threads: int = 1) -> tuple[Ints, Floats]:
        """The ``n`` nearest cases of each row and their distances, nearest first, both of shape (n_samples, n)."""
        places, start, order = self.by_place
        near, distance = self.nearest_places(rows, min(n, len(places)), n_threads)
        if len(places) == self.n_cases:
            return order[near], distance
        index, away = np.empty((len(rows), n), dtype=np.int32), np.empty((len(rows), n))
        for k, (nearest, far) in enumerate(zip(near, distance, strict=True)):
            index[k] = np.concatenate([order[start[place] : start[place + 1]] for place in nearest])[:n]
            away[k] = np.repeat(far, np.diff(start)[nearest])[:n]
        return index, away

    def nearest_places(self, rows: Floats, n: int, n_threads: int = 1) -> tuple[Ints, Floats]:
        """The ``n`` nearest places of each row and their distances, nearest first, both of shape (n_samples, n)."""
        near, distance = np.empty((len(rows), n), dtype=np.int32), np.empty((len(rows), n))
        self.core.nearest(rows, n_threads, near, distance)
        return near, distance

    @cached_property
    def usual_distance(self) -> float:
        """Median distance of some cases from the nearest other place; 1 where there is none."""
        places = self.by_place[0]
        apart = self.nearest_places(places[:_MEASURED_ROWS], 2)[1][:, 1] if len(places) > 1 else np.zeros(0)
        return float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0

    def contributions(self, tree: FuzzyTree, rows: Floats, openness: Floats, n_threads: int = 1) -> Floats:
        """What the cases add, times how open the gates are."""
        return np.asarray((openness[:, None] * self.added(rows, n_threads=n_threads))[:, None])

    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """None: the vote is no matter of single columns."""
        return ((),)

    def mean(self, tree: FuzzyTree) -> Floats:
        """The mean over the training rows."""
        return self.usual[None]

    def spread(self, tree: FuzzyTree, rows: Floats) -> Floats:
        """Standard deviation over some training rows, summed over the classes."""
        return np.asarray(self.added(rows, others_alone=True).std(axis=0).sum()[None])

    @property
    def read_columns(self) -> list[int]:
        """The columns that count in the distance."""
        return np.flatnonzero(self.per_unit > 0).tolist()

    def can_compare(self, row: Floats) -> bool:
        """Whether a row, shape (n_columns,), has a value that counts; else all cases are equally near."""
        return not np.isnan(row[self.read_columns]).all()

    def keep(self, kept: Bools) -> Cases | None:
        """Some of the cases alone; None where that is none."""
        if not kept.any():
            return None
        names = ("row", "label", "weight", "place")
        return replace(self, **{name: np.ascontiguousarray(getattr(self, name)[kept]) for name in names})

    def parts(self, rows: Floats, index: Ints) -> Floats:
        """What each column adds to the distance of rows from cases, shape (n_samples, n, n_columns).

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            Rows.
        index : ndarray of shape (n_samples, n)
            Cases, for each row.
        """
        cases, is_number = self.row[index], self.n_categories == 0
        known = ~np.isnan(rows) & (self.per_unit > 0)
        kept = np.where(np.isnan(cases) & is_number, self.centre, cases)
        away = np.where(is_number, np.abs(rows[:, None] - kept), rows[:, None] != kept)
        share = self.per_unit * known / np.maximum(known.sum(axis=1, keepdims=True), 1)
        return np.asarray(np.where(known[:, None], away, 0.0) * share[:, None])
