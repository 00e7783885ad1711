"""The training rows that rules keep, and the distances of other rows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ferl import _core
from ferl._models.novelty import N_PARTS, quantiles
from ferl._models.terms import Terms
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, Ints

LEAST_EVIDENCE = 0.2  # of the mean evidence of a column, that each column is taken to carry at least
ENTROPY_SHARE = 0.5  # usual distances that a nat of entropy counts in novelty
MOST_MEASURED = 512  # training rows whose novelty is measured: a percent is about five of them
MOSTLY_ALL = 0.9  # of the training weight: kept rows of so many stand for all
FAR_SHARE = 0.9  # of the kept rows, that have another one less than a far distance away
_MEASURED_ROWS = 256  # kept rows by whose distances the usual one is measured
_DIGITS = 5  # of a quantile in a file


def evidence_by_column(tree: FuzzyTree, terms: Sequence[Terms], rows: Floats) -> Floats:
    """How much of the evidence of terms depends on each column, shape (n_columns,).

    A term moves the scores by the spread of what it adds, which its columns share equally.

    Parameters
    ----------
    tree : FuzzyTree
        The conditions.
    terms : sequence of Terms
        Blocks of terms.
    rows : ndarray of shape (n_samples, n_columns)
        Rows over which terms vary.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    found = np.zeros(rows.shape[1])
    for block in terms:
        for read, moved in zip(block.columns(tree), block.spread(tree, rows).tolist(), strict=True):
            for column in read:
                found[column] += moved / len(read)
    return found


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows to compare others with.

    Attributes
    ----------
    rows : ndarray of shape (n_kept, n_columns)
        In random order.
    centre : ndarray of shape (n_columns,)
        What stands for a value that one of them lacks.
    unit : ndarray of shape (n_columns,)
        Unit of distance of each column: its standard deviation, divided by the square root of the evidence that the
        column carries, relative to the mean of all columns and at least ``LEAST_EVIDENCE``.
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column; 0: it holds numbers.
    """

    rows: Floats
    centre: Floats
    unit: Floats
    n_categories: Ints

    @classmethod
    def of(cls, tree: FuzzyTree, terms: Sequence[Terms]) -> Neighbours:
        """The rows that the root of a tree keeps, in units of the evidence of some terms."""
        profile = tree.profile
        kept = profile.exemplar[0]
        rows = profile.exemplar_row[kept[kept >= 0]]
        evidence = evidence_by_column(tree, terms, rows)
        mean = evidence.mean()
        relative = np.maximum(evidence / mean, LEAST_EVIDENCE) if mean > 0 else np.ones_like(evidence)
        unit = np.sqrt(profile.total_variance / relative)
        return cls(rows, profile.mean[0].copy(), unit, tree.n_categories(len(unit)))

    def cover(self, n_kept: int) -> Ints:
        """Indices of rows that cover all: one, and again and again the one that is farthest from those chosen."""
        return _core.cover(self.rows, self.centre, 1 / self.unit, self.n_categories, n_kept)

    @cached_property
    def _apart(self) -> Floats:
        """Distances of some of these rows from the nearest of the others, as far as they differ; 1 where none does."""
        n = min(_MEASURED_ROWS, len(self.rows) // 2)
        if n == 0:
            return np.ones(1)
        distance = np.empty((n, 1))
        self._search(self.rows[n:]).distance(self.rows[:n], 1, distance)
        apart = distance[distance > 0]
        return apart if len(apart) else np.ones(1)

    @cached_property
    def usual(self) -> float:
        """Median distance of some of these rows from the nearest of the others; 1 where all are equal."""
        return float(np.median(self._apart))

    @cached_property
    def far(self) -> float:
        """A distance from the nearest of the others that one in ten of these rows exceeds, in usual distances."""
        return float(np.quantile(self._apart, FAR_SHARE, method="lower")) / self.usual

    @cached_property
    def search(self) -> _core.Exemplars:
        """All rows, laid out for the search of the nearest one."""
        return self._search(self.rows)

    def without(self, is_out: Bools) -> _core.Exemplars:
        """The search without some of the rows; ``is_out``: shape (n_kept,)."""
        return self._search(np.ascontiguousarray(self.rows[~is_out]))

    def _search(self, rows: Floats) -> _core.Exemplars:
        """The search takes the rows of the nodes where paths end: here of a tree that is nothing but its root."""
        index, per_unit = np.arange(len(rows), dtype=np.int32)[None, :], 1 / self.unit
        root = np.zeros(1, dtype=np.int32)
        return _core.Exemplars(_root_alone(), rows, index, root, self.centre, per_unit, self.n_categories)


def _root_alone() -> _core.Tree:
    everywhere = np.array([[-np.inf, -np.inf, np.inf, np.inf]])
    none = np.full(1, -1, dtype=np.int32)
    start, ends = np.zeros(2, dtype=np.int32), np.array([[0.0, 1.0]])
    return _core.Tree(none, none, everywhere, np.ones(1), start, np.zeros(0), ends, 1.0)


def distances_from_others(neighbours: Neighbours, rows: Floats) -> Floats:
    """Distance of each row from the nearest row that the model keeps, other than itself, in usual distances.

    Parameters
    ----------
    neighbours : Neighbours
        The rows that the model keeps.
    rows : ndarray of shape (n_samples, n_columns)
        Distinct training rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    kept = _kept_index(neighbours.rows, rows)
    out = np.empty((len(rows), 1))
    neighbours.search.distance(rows, 1, out)
    for part in range(N_PARTS):
        is_out = (kept >= 0) & (kept % N_PARTS == part)
        if is_out.any():
            own = np.empty((int(is_out.sum()), 1))
            neighbours.without(np.arange(len(neighbours.rows)) % N_PARTS == part).distance(rows[is_out], 1, own)
            out[is_out] = own
    return np.asarray(out[:, 0] / neighbours.usual)


def _kept_index(kept: Floats, rows: Floats) -> Ints:
    """Index of each row among the kept ones, -1 where it is not kept."""
    index = {own.tobytes(): k for k, own in enumerate(kept)}
    return np.array([index.get(own.tobytes(), -1) for own in rows], dtype=np.int32)


def novelty_quantiles(
    neighbours: Neighbours, rows: Floats, weight: float, has_all: bool, unsure: Floats
) -> Floats | None:
    """Quantiles of the novelty of training rows to rules, shape (101,).

    Parameters
    ----------
    neighbours : Neighbours
        The rows that the model keeps.
    rows : ndarray of shape (n_samples, n_columns)
        Distinct training rows, drawn at random.
    weight : float
        Of all training rows.
    has_all : bool
        Whether there are no other distinct rows.
    unsure : ndarray of shape (n_samples,)
        What the entropy of the probabilities adds to the novelty of each row.

    Returns
    -------
    ndarray of shape (101,) or None
        None where the model keeps too few rows to leave some out.
    """
    if len(neighbours.rows) < 2 * N_PARTS:
        return None
    repeated = max(weight - len(rows), 0.0) if has_all else 0.0
    value = np.concatenate([distances_from_others(neighbours, rows) + unsure, unsure])
    found = quantiles(value, np.repeat([1.0, repeated / len(rows)], len(rows)))
    return np.array([float(f"{own:.{_DIGITS}g}") for own in found])
