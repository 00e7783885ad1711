"""Rows that nearly repeat others: they confirm each other in inner validation, whatever their labels."""

from __future__ import annotations

import warnings

import numpy as np

from ferl import _core
from ferl._tables.kinds import TableWarning
from ferl._util.arrays import Floats, Ints
from ferl._util.text import caller_level

LEAST_ROWS = 40  # fewer have no neighbours to compare with
FIRST_ROWS = 512  # that columns are judged by
MOST_LOOKED_AT = 96  # rows whose neighbours are searched
MOST_DISTANCES = 50_000  # of two rows, unless the fewest rows that are looked at have more
LEAST_LOOKED_AT = 16
N_NEIGHBOURS = 24
FINE_SHARE = 0.5  # of the rows that have different values of a column, where jitter would show
JUMP = 4.0  # times as far away as a row's near-copies its next neighbour is
WARN_SHARE = 0.5  # of the rows; in one dimension a third have such a jump by chance, in three a sixtieth
LEAST_COLUMNS = 2


class NearCopiesWarning(TableWarning):
    """Rows nearly repeat others, so that inner validation finds them again: the model is surer than it may be."""


def near_copy_share(x: Floats, n_categories: Ints) -> float:
    """Share of the rows whose nearest neighbours are far closer than the next ones.

    Distances are Euclidean, in columns of numbers that differ in most rows, by their standard deviations. Rows that
    are equal in all of them do not count.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_columns)
        Distinct rows in random order.
    n_categories : ndarray of shape (n_columns,)
        Number of categories of each column; 0: it holds numbers.
    """
    if len(x) < LEAST_ROWS:
        return 0.0
    first = x[:FIRST_ROWS]
    fine = [j for j in np.flatnonzero(n_categories == 0) if len(np.unique(first[:, j])) >= FINE_SHARE * len(first)]
    if len(fine) < LEAST_COLUMNS:
        return 0.0
    units = x[:, fine]
    with np.errstate(all="ignore"):  # columns of huge or tiny numbers
        units = (units - np.nanmean(first[:, fine], axis=0)) / np.nanstd(first[:, fine], axis=0)
        units[~np.isfinite(units)] = 0.0
    looked_at = units[: min(MOST_LOOKED_AT, max(MOST_DISTANCES // len(units), LEAST_LOOKED_AT))]
    n_near = min(N_NEIGHBOURS, len(units) - 1)
    squares = np.einsum("ij,ij->i", units, units)
    # Not a product of matrices: for so few rows the threads of BLAS wait for each other longer than they compute.
    nearer = squares - 2 * np.einsum("ik,jk->ij", looked_at, units)
    near = np.argpartition(nearer, n_near, axis=1)[:, : n_near + 1]
    distance = np.sqrt(((units[near] - looked_at[:, None]) ** 2).sum(axis=2))
    distance.sort(axis=1)
    closer, next_one = distance[:, :-1], distance[:, 1:]
    jumps = (closer > 0) & (next_one > JUMP * closer)
    return float(jumps.any(axis=1).mean())


def warn_of_near_copies(drawn: _core.Sample, n_categories: Ints) -> None:
    """Warn where at least half of the rows have near-copies."""
    share = near_copy_share(drawn.x, n_categories)
    if share < WARN_SHARE:
        return
    fact = (
        f"{share:.0%} of the rows nearly repeat other rows. Inner validation then judges rules on near-copies of the "
        "rows that they were learned from, and the model is surer than it may be."
    )
    remedy = (
        "If rows belong together (a patient, a machine, an hour), pass fit(..., groups=...) with what they belong to; "
        "if each is a case by itself, ignore this warning."
    )
    warnings.warn(NearCopiesWarning(fact, remedy), stacklevel=caller_level())
