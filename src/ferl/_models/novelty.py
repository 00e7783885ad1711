"""Novelty: how unlike the training rows a row is, and on which scale that is read.

Two measures, both sums of one part for each feature:

- "neighbour": the distance to the nearest training row that the model keeps (an exemplar); a tree compares a row with
  the exemplars of the rules that it reaches; rules compare it with all exemplars, in usual distances, and add half the
  entropy of the probabilities;
- "residual": the paper's, from means and variances alone: how far the row lies from the middle of its rules, in the
  features they do not test, plus nine times the support deficit.

The scale: a row that the model keeps is at distance 0 from itself, so it is left out of the kept rows before it is
measured. Kept rows are left out in a few parts, as in cross-validation. Kept rows are distinct; where all distinct rows
are kept, the rest of the training weight belongs to repeated rows, which are at distance 0 from their copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ferl import _core
from ferl._models.terms import Terms
from ferl._models.tree import LEAST_SHARE, FuzzyTree
from ferl._util.arrays import Bools, Floats, Ints

MEASURES = ("neighbour", "residual")
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there
LEAST_VARIANCE = 1e-290  # of columns in tiny units: what it divides stays finite
N_LEVELS = 101  # quantiles at whole percents
N_PARTS = 8  # in which kept rows are left out
LEAST_EVIDENCE = 0.2  # of the mean evidence of a column, that each column is taken to carry at least
ENTROPY_SHARE = 0.5  # usual distances that a nat of entropy counts in novelty
MOST_MEASURED = 512  # training rows whose novelty is measured: a percent is about five of them
MOSTLY_ALL = 0.9  # of the training weight: kept rows with this share represent all rows
FAMILIAR_VALUES = 1280  # values of kept rows that each answer is compared with; more would cost more than the answer
LEAST_FAMILIAR = 64  # rows, even if they have more values
FAR_SHARE = 0.9  # of kept rows, that are less than a far distance away from the familiar ones
_MEASURED_ROWS = 256  # kept rows by whose distances the usual one is measured
_DIGITS = 5  # of a quantile in a file


def chosen_measure(tree: FuzzyTree, measure: str | None) -> str:
    """The given measure, or the one that a model of these rows has."""
    has_exemplars = tree.profile.has_exemplars
    if measure is None:
        measure = "neighbour" if has_exemplars else "residual"
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it must be {' or '.join(map(repr, MEASURES))}, or None.")
    if measure == "neighbour" and not has_exemplars:
        raise ValueError(
            'measure="neighbour" compares with training rows, and this tree keeps none. Fit with n_exemplars > 0, or '
            'use measure="residual".'
        )
    return measure


def residual_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """The paper's residual by column, shape (n_samples, n_columns).

    Over the leaves a row reaches, weighted by firing without gates: the mean over the leaf's free columns (those not
    tested on its path) of ``(x - mean)^2 / variance``. For a leaf that tests all columns they all count as free. A row
    that fits no leaf, which happens with words alone, is compared with the training rows as a whole.
    """
    out = np.zeros(X.shape)
    tree.core.residual(tree.profile.mean, precision(tree), X, n_threads, out)
    return out


def precision(tree: FuzzyTree) -> Floats:
    """What a squared distance from the mean of a node counts in the residual, shape (n_nodes, n_features)."""
    profile, free = tree.profile, _free_features(tree)
    variance = np.maximum(profile.variance, LEAST_SHARE * profile.total_variance)
    variance = np.maximum(variance, LEAST_VARIANCE)
    return np.asarray(free / variance / np.maximum(free.sum(axis=1, keepdims=True), 1))


def _free_features(tree: FuzzyTree) -> Bools:
    n_features = tree.profile.mean.shape[1]
    # Categories have no mean to be away from; where there is nothing else, no feature counts.
    numbers = tree.n_categories(n_features) == 0
    free = np.tile(numbers, (tree.n_nodes, 1))
    for leaf in tree.leaves:
        free[leaf, [tree.feature[node] for node in tree.path(int(leaf))]] = False
    free[~free.any(axis=1)] = numbers
    return free


def usual_residual(tree: FuzzyTree) -> float:
    """Mean of the paper's residual over new rows like the training rows, from means and variances alone.

    The mean of n rows is the nearest to these, not to others: the squared distance of another one is larger by
    ``(n + 1) / (n - 1)`` on average.
    """
    profile, leaves = tree.profile, tree.leaves
    known = profile.weight_behind(tree.weight)
    parts = known * precision(tree) * profile.variance * (known + 1) / np.maximum(known - 1, 1.0)
    return float(parts[leaves].sum() / tree.weight[leaves].sum())


def total_spread(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature over all training rows, shape (n_features,); never 0."""
    return np.sqrt(tree.profile.total_variance)


def quantiles(value: Floats, weight: Floats) -> Floats:
    """Quantiles at whole percents, shape (101,): the k-th is the least value that k percent of the weight reach.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))[[0, 25, 26, 75, 76, 100]]
    array([1., 1., 2., 2., 3., 3.])
    """
    order = np.argsort(value, kind="stable")
    share = np.cumsum(weight[order])
    level = np.linspace(0.0, 1.0, N_LEVELS) * share[-1] * (1 - 1e-12)  # rounding must not ask for the next value
    return np.asarray(value[order][np.searchsorted(share, level, side="left")])


def share_below(scale: Floats, novelty: Floats) -> Floats:
    """Share of the training rows that are less novel, in whole percents, shape (n_samples,).

    Parameters
    ----------
    scale : ndarray of shape (101,)
        Quantiles of the training rows.
    novelty : ndarray of shape (n_samples,)
        Of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        From 0 to 1; NaN where novelty is.

    Examples
    --------
    >>> import numpy as np
    >>> share_below(np.linspace(1, 2, 101), np.array([0.5, 1.0, 1.975, 3.0, np.nan]))
    array([0.  , 0.  , 0.97, 1.  ,  nan])
    """
    result = np.maximum(np.searchsorted(scale, novelty, side="left") - 1, 0) / (N_LEVELS - 1)
    return np.where(np.isnan(novelty), np.nan, result)


def tree_distances(tree: FuzzyTree) -> tuple[Floats, Floats] | None:
    """Distances of training rows from the exemplars of a tree, and the training weight that has each of them.

    None where the tree keeps too few rows to leave some out.
    """
    leaves, exemplar = tree.leaves, tree.profile.exemplar
    n_rows, n_most = len(tree.profile.exemplar_row), exemplar.shape[1]
    if n_rows < 2 * N_PARTS:
        return None
    stands_for, repeated = np.zeros(n_rows), np.zeros(n_rows)
    for leaf in leaves.tolist():
        kept = exemplar[leaf][exemplar[leaf] >= 0]
        if len(kept):
            weight = tree.weight[leaf]
            again = max(weight - len(kept), 0.0) if len(kept) < n_most else 0.0
            stands_for[kept] += (weight - again) / len(kept)
            repeated[kept] += again / len(kept)
    distance = np.empty(n_rows)
    for part in range(N_PARTS):
        is_out = np.arange(n_rows) % N_PARTS == part
        kept = np.empty((int(is_out.sum()), 1))
        _without(tree, is_out).exemplars.distance(tree.profile.exemplar_row[is_out], 1, kept)
        distance[is_out] = kept[:, 0]
    known = ~np.isnan(distance) & (stands_for + repeated > 0)
    if not known.any():
        return None
    value = np.concatenate([distance[known], np.zeros(int(known.sum()))])
    return value, np.concatenate([stands_for[known], repeated[known]])


def _without(tree: FuzzyTree, is_out: Bools) -> FuzzyTree:
    """The tree whose nodes do not keep some of the rows."""
    profile = tree.profile
    stays = (profile.exemplar >= 0) & ~np.append(is_out, True)[profile.exemplar]
    order = np.argsort(~stays, axis=1, kind="stable")  # remaining exemplars first, in their order
    exemplar = np.where(np.take_along_axis(stays, order, 1), np.take_along_axis(profile.exemplar, order, 1), -1)
    fewer = replace(tree, profile=replace(profile, exemplar=np.ascontiguousarray(exemplar, dtype=np.int32)))
    for name in ("core", "unit_of_distance"):  # which do not depend on the rows
        fewer.__dict__[name] = getattr(tree, name)
    return fewer


# ---------------------------------------------------------------------------------------------------------------------
# The training rows that rules keep, and the distances of other rows from them
# ---------------------------------------------------------------------------------------------------------------------


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
    result = np.zeros(rows.shape[1])
    for block in terms:
        for read, moved in zip(block.columns(tree), block.spread(tree, rows).tolist(), strict=True):
            for column in read:
                result[column] += moved / len(read)
    return result


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
    def usual(self) -> float:
        """Median distance of some of these rows from the nearest of the others; 1 where all are equal."""
        n = self._n_measured
        return float(np.median(self._apart(self.rows[:n], self.rows[n:])))

    @property
    def familiar(self) -> Neighbours:
        """The first of these rows, as many as can be searched for every answer."""
        n_familiar = max(FAMILIAR_VALUES // max(self.rows.shape[1], 1), LEAST_FAMILIAR)
        return replace(self, rows=self.rows[:n_familiar])

    @cached_property
    def far(self) -> float:
        """A distance from the nearest familiar row that one in ten others of these rows exceeds."""
        n_others = len(self.rows) - self._n_measured
        apart = self._apart(self.rows[n_others:], self.familiar.rows[:n_others])
        return float(np.quantile(apart, FAR_SHARE, method="lower"))

    @property
    def _n_measured(self) -> int:
        return min(_MEASURED_ROWS, len(self.rows) // 2)

    def _apart(self, rows: Floats, others: Floats) -> Floats:
        """Distances of rows from the nearest of others, as far as they differ; 1 where none does."""
        distance = np.zeros((len(rows), 1))
        if len(rows):
            self._search(others).distance(rows, 1, distance)
        apart = distance[distance > 0]
        return apart if len(apart) else np.ones(1)

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
            distance = np.empty((int(is_out.sum()), 1))
            neighbours.without(np.arange(len(neighbours.rows)) % N_PARTS == part).distance(rows[is_out], 1, distance)
            out[is_out] = distance
    return np.asarray(out[:, 0] / neighbours.usual)


def _kept_index(kept: Floats, rows: Floats) -> Ints:
    """Index of each row among the kept ones, -1 for other rows."""
    index = {item.tobytes(): k for k, item in enumerate(kept)}
    return np.array([index.get(row.tobytes(), -1) for row in rows], dtype=np.int32)


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
    result = quantiles(value, np.repeat([1.0, repeated / len(rows)], len(rows)))
    return np.array([float(f"{item:.{_DIGITS}g}") for item in result])
