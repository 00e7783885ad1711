"""Similar cases: training rows that a model keeps, and whose classes are evidence for the class of a new row.

Among the k nearest cases, case j at distance d_j counts its weight times ``1 - d_j / d``, where d is the distance of
the next one. So what the cases add is continuous in every number: cases that change places change nothing. The votes
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
"""Name of the vote of cases, in lists of features."""
SHOWN_NEAREST = 10
"""Number of most similar cases whose classes sentences count."""


@dataclass(frozen=True, eq=False, repr=False)
class CaseChoice(FrozenArrays):
    """What inner validation found about similar cases.

    Attributes
    ----------
    is_used : bool
        Whether the model has cases.
    gain : float
        Decrease of the log-loss by the cases, in nats a row, on rows that neither rules nor cases were learned from.
    error : float
        Standard error of the gain.
    n_rows : int
        Number of these rows.
    scale : float
        Factor on the weights of the rules that balances them with the cases; 1 if the cases are not used.
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
        Number of each case among the training rows, from 0; -1 where it is unknown.
    centre : ndarray of shape (n_columns,)
        The number that replaces a missing value of a case.
    per_unit : ndarray of shape (n_columns,)
        Distance of two cases that differ by one in the column; 0: the column does not count.
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column; 0: it holds numbers.
    strength : ndarray of shape (4,)
        Weights of the votes of the nearest case and of the nearest 3, 10 and 30 cases.
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
        least = min(1.0, float(total[total > 0].min())) / 2
        return np.asarray(np.where(total > 0, total, least) / total.sum())

    @cached_property
    def core(self) -> _core.Cases:
        """The compiled form."""
        return _core.Cases(
            self.row,
            self.label,
            self.weight,
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
        return out.reshape(len(rows), len(N_NEAREST), -1)

    def added(self, rows: Floats, others_alone: bool = False, n_threads: int = 1) -> Floats:
        """What the cases add to the scores, gates open, shape (n_samples, n_classes)."""
        votes, out = self.votes(rows, others_alone, n_threads), np.zeros((len(rows), len(self.usual)))
        for own, strength in zip(votes.transpose(1, 0, 2), self.strength.tolist(), strict=True):
            out += strength * own
        return out

    def nearest(self, rows: Floats, n: int, n_threads: int = 1) -> tuple[Ints, Floats]:
        """The ``n`` nearest cases of each row and their distances, nearest first, both of shape (n_samples, n)."""
        index, distance = np.empty((len(rows), n), dtype=np.int32), np.empty((len(rows), n))
        self.core.nearest(rows, n_threads, index, distance)
        return index, distance

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

    def keep(self, kept: Bools) -> Cases | None:
        """A subset of the cases; None if it is empty."""
        if not kept.any():
            return None
        names = ("row", "label", "weight", "place")
        return replace(self, **{name: np.ascontiguousarray(getattr(self, name)[kept]) for name in names})

    def parts(self, row: Floats, index: Ints) -> Floats:
        """What each column adds to the distance of a row, shape (n_columns,), from some cases: (n, n_columns)."""
        cases = self.row[index]
        is_number = self.n_categories == 0
        kept = np.where(np.isnan(cases) & is_number, self.centre, cases)
        away = np.where(is_number, np.abs(row - kept), row != kept) * self.per_unit
        known = ~np.isnan(row)
        return np.asarray(np.where(known, away, 0.0) / max(known.sum(), 1))
