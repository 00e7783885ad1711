"""Partitions from a table: sets of equal weight, of equal width, or triangles that meet in quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.fuzzy_set import INFINITY, FuzzySet
from ferl._models.words import MAX_SETS, WORDS, LinguisticVariable
from ferl._tables import check_weight_span, checked_sample_weight
from ferl._tables.reading import read_table
from ferl._util.arrays import LARGEST, NARROWEST, Floats

OUTER_SHARE = 0.05  # of the weight, beyond the outermost peaks of triangles

Ramp = tuple[float, float]
"""Where one set hands over to the next: the lower one is full up to the first number, gone at the second."""


@dataclass(frozen=True)
class Table:
    """Rows to build partitions from; rows without weight are left out.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    weight : ndarray of shape (n_samples,)
        Weight of each row.
    kept : ndarray of shape (n_given_rows,), bool
        Which of the given rows these are.
    names : list of str
        Names of the features.
    """

    values: Floats
    weight: Floats
    kept: NDArray[np.bool_]
    names: list[str]


@dataclass(frozen=True)
class Column:
    """The distinct values of one feature, ascending, and the weight up to and with each of them."""

    values: Floats
    weight_up_to: Floats


def quantile_partition(
    X: ArrayLike, feature_names: Sequence[str] | None = None, n_sets: int = 3, sample_weight: ArrayLike | None = None
) -> list[LinguisticVariable | None]:
    """Sets that hold about equally many rows each.

    The breakpoints of ``n`` sets are at ``2n - 2`` equal steps of the distribution: for three sets at its 20, 40, 60
    and 80 % quantiles, low being full up to the first and gone at the second. Memberships sum to one everywhere.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers. Missing values (NaN) are passed over.
    feature_names : sequence of str, default=None
        By default the names of the data frame's columns, or x0, x1, ...
    n_sets : int, default=3
        Number of sets, 2 to 7.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature, None for features with fewer than two distinct values.

    Notes
    -----
    Breakpoints are values of the table: below the median the lowest value with at least the wanted share of weight at
    or below it, above the median its mirror image. So an increasing transformation of a feature transforms its
    breakpoints, and, ties aside, turning it around turns its sets around.

    A feature with at most ``n_sets`` distinct values has one set for each, full there and gone at the next value.
    Where so many rows share a value that a ramp would have no width, the ramp goes from that value to its
    neighbour, on the side that divides the rows better; there are fewer sets if that neighbour is taken.

    Examples
    --------
    >>> from ferl.partition import quantile_partition
    >>> print(quantile_partition([[10], [20], [30], [40], [50], [60]], ["age"])[0])
    age: low below 20..30, medium between 20..30 and 40..50, high above 40..50
    >>> print(quantile_partition([[0], [0], [0], [0], [1], [2], [3], [4]], ["packs a day"])[0])
    packs a day: low below 0..1, medium around 1 (0..3), high above 1..3
    """
    return build(X, feature_names, n_sets, sample_weight, quantile_ramps)


def triangular_partition(
    X: ArrayLike, feature_names: Sequence[str] | None = None, n_sets: int = 3, sample_weight: ArrayLike | None = None
) -> list[LinguisticVariable | None]:
    """Sets that are full at one quantile each, the outer ones beyond theirs as well, and gone at the next.

    Three sets: low falls from the 5 % quantile to the median, medium is full at the median alone, high rises from there
    to the 95 % quantile. Memberships sum to one everywhere. What changes evenly with a feature can be said in these
    words, so rules whose evidence adds up are better in them than in those of :func:`quantile_partition`.

    Parameters
    ----------
    X, feature_names, n_sets, sample_weight
        As in :func:`quantile_partition`.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature, None for features with fewer than two distinct values. A feature with at most
        ``n_sets`` distinct values has one set for each. Where two of the quantiles are the same value, the sets are
        those of :func:`quantile_partition`.

    Examples
    --------
    >>> from ferl.partition import triangular_partition
    >>> print(triangular_partition([[10], [20], [30], [40], [50], [60], [70]], ["age"])[0])
    age: low below 10..40, medium around 40 (10..70), high above 40..70
    """
    return build(X, feature_names, n_sets, sample_weight, _triangle_ramps)


def width_partition(
    X: ArrayLike, feature_names: Sequence[str] | None = None, n_sets: int = 3, sample_weight: ArrayLike | None = None
) -> list[LinguisticVariable | None]:
    """Sets that are equally wide.

    The range of a feature is divided into ``2n - 1`` equal parts: cores and ramps in turn. Memberships sum to one
    everywhere. Outliers leave sets with few or no rows; :func:`quantile_partition` does not.

    Parameters
    ----------
    X, feature_names, n_sets
        As in :func:`quantile_partition`.
    sample_weight : array-like of shape (n_samples,), default=None
        Rows of weight 0 are left out; otherwise weights make no difference.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature, None for features with fewer than two distinct values. A feature with at most
        ``n_sets`` distinct values has one set for each.

    Examples
    --------
    >>> from ferl.partition import width_partition
    >>> print(width_partition([[0], [10], [11], [50]], ["age"])[0])
    age: low below 10..20, medium between 10..20 and 30..40, high above 30..40
    """
    return build(X, feature_names, n_sets, sample_weight, _width_ramps)


def build(
    X: ArrayLike,
    feature_names: Sequence[str] | None,
    n_sets: int,
    sample_weight: ArrayLike | None,
    rule: Callable[[Column, int], list[Ramp]],
) -> list[LinguisticVariable | None]:
    """Partition of a table by a rule that gives the ramps of a column."""
    check_n_sets(n_sets, "n_sets")
    table = checked_table(X, feature_names, sample_weight)
    partition: list[LinguisticVariable | None] = []
    for name, values in zip(table.names, table.values.T, strict=True):
        column = read_column(values, table.weight)
        few = len(column.values) <= n_sets
        partition.append(variable(name, one_set_each(column) if few else rule(column, n_sets)))
    return partition


def one_set_each(column: Column) -> list[Ramp]:
    """Ramps from each distinct value to the next."""
    return list(zip(column.values[:-1].tolist(), column.values[1:].tolist(), strict=True))


def quantile_ramps(column: Column, n_sets: int) -> list[Ramp]:
    """Ramps between the quantiles at steps of ``1 / (2 n_sets - 1)``."""
    indices = _untied(_quantile_indices(column, n_sets), column, n_sets)
    return [(float(column.values[low]), float(column.values[high])) for low, high in indices]


def _quantile_indices(column: Column, n_sets: int) -> list[tuple[int, int]]:
    """Each ramp as two indices among the distinct values."""
    n_steps = 2 * n_sets - 1
    up_to = column.weight_up_to
    below = np.concatenate([[0.0], up_to[:-1]])
    wanted = up_to[-1] * np.arange(1, n_steps) / n_steps
    # The two sides of the median mirror each other. Shares that differ only by rounding count as equal.
    lower = np.searchsorted(up_to, wanted * (1 - 1e-12))
    upper = np.searchsorted(below, wanted * (1 + 1e-12), side="right") - 1
    index = np.where(np.arange(1, n_steps) < n_sets, lower, upper).tolist()
    return list(zip(index[::2], index[1::2], strict=True))


def _untied(indices: list[tuple[int, int]], column: Column, n_sets: int) -> list[tuple[int, int]]:
    """Ramps of no width moved to one side of their value, or left out where there is no room."""
    kept = [(low, high) for low, high in indices if low < high]
    if len(kept) == len(indices):
        return kept
    share = column.weight_up_to / column.weight_up_to[-1]
    for i, (index, high) in enumerate(indices):
        if index < high:
            continue
        middle = (2 * i + 1.5) / (2 * n_sets - 1)
        sides = [(index - 1, index), (index, index + 1)]
        # A ramp that starts at a value puts the weight up to that value below it.
        sides.sort(key=lambda side: round(abs(share[max(side[0], 0)] - middle), 12))
        free = [side for side in sides if side[0] >= 0 and side[1] < len(share) and not _overlaps(side, kept)]
        kept.extend(free[:1])
    return sorted(kept)


def _overlaps(side: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(side[0] < high and low < side[1] for low, high in others)


def _triangle_ramps(column: Column, n_sets: int) -> list[Ramp]:
    """Ramps from each of ``n_sets`` quantiles to the next, with ``OUTER_SHARE`` of the weight beyond them."""
    up_to = column.weight_up_to
    below = np.concatenate([[0.0], up_to[:-1]])
    share = np.linspace(OUTER_SHARE, 1 - OUTER_SHARE, n_sets)
    wanted = up_to[-1] * share
    # Above the median the mirror image of below, as for sets of equal weight.
    lower = np.searchsorted(up_to, wanted * (1 - 1e-12))
    upper = np.searchsorted(below, wanted * (1 + 1e-12), side="right") - 1
    peaks = column.values[np.where(share <= 0.5, lower, upper)]
    if (np.diff(peaks) <= 0).any():
        return quantile_ramps(column, n_sets)
    return list(zip(peaks[:-1].tolist(), peaks[1:].tolist(), strict=True))


def _width_ramps(column: Column, n_sets: int) -> list[Ramp]:
    breakpoints = np.linspace(column.values[0], column.values[-1], 2 * n_sets)[1:-1]
    if (np.diff(breakpoints) <= 0).any():  # values so close that no numbers lie between them
        return quantile_ramps(column, n_sets)
    return list(zip(breakpoints[::2].tolist(), breakpoints[1::2].tolist(), strict=True))


def variable(name: str, ramps: list[Ramp]) -> LinguisticVariable | None:
    """The variable whose sets hand over at ``ramps``, ascending; None without any.

    Each set falls where the next one rises, so memberships sum to one.
    """
    if not ramps:
        return None
    falls = [(low, high) if high - low >= NARROWEST else (low, low) for low, high in ramps]
    # After an upright fall the next set begins with the next number, so that no value is in both.
    rises = [fall if fall[0] < fall[1] else (math.nextafter(fall[0], INFINITY),) * 2 for fall in falls]
    shoulders = ((-INFINITY, -INFINITY), (INFINITY, INFINITY))
    sides = zip([shoulders[0], *rises], [*falls, shoulders[1]], strict=True)
    words = WORDS[len(ramps) + 1]
    return LinguisticVariable(
        name, tuple(FuzzySet(word, *rise, *fall) for word, (rise, fall) in zip(words, sides, strict=True))
    )


def read_column(values: Floats, weight: Floats) -> Column:
    """Distinct values of a feature, missing ones left out."""
    order, first = sorted_groups(values)
    return Column(values[order][first], np.cumsum(np.add.reduceat(weight[order], first) if first.size else []))


def sorted_groups(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows in ascending order of a feature, missing values left out, and where in it each distinct value begins."""
    order = np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    ascending = values[order]
    begins = np.ones(len(ascending), dtype=bool)
    begins[1:] = ascending[1:] != ascending[:-1]
    return order, np.flatnonzero(begins)


def checked_table(X: ArrayLike, feature_names: Sequence[str] | None, sample_weight: ArrayLike | None) -> Table:
    """The table as numbers, with names and weights."""
    table = read_table(X)
    values = np.empty(table.shape, order="F")  # the one copy: columns are read one at a time
    if table.block is not None:
        values[:] = table.block
    else:
        for j, column in enumerate(table.columns):
            if column.kind == "text" and column.has_values:
                raise ValueError(
                    f"{column.label} holds text (for example {column.example}); words describe numbers. Leave the "
                    "column out, or convert it to numbers."
                )
            values[:, j] = column.numbers() if column.kind != "text" else math.nan
    values += 0.0  # -0.0 becomes 0.0
    weight = checked_sample_weight(sample_weight, len(values))
    # Their sum alone is limited: quantiles need no fixed point, and equal rows of a fit come here as one.
    check_weight_span(weight.max(), weight.max(), float(weight.sum()))
    kept = weight > 0
    if not kept.all():
        values, weight = values[kept], weight[kept]
    names = _names(table.names if feature_names is None else feature_names, values.shape[1])
    with np.errstate(invalid="ignore"):
        too_large = np.fmax(np.fmax.reduce(values, axis=0), -np.fmin.reduce(values, axis=0)) > LARGEST
    if too_large.any():
        j = int(np.argmax(too_large))
        raise ValueError(
            f"Feature {names[j]!r} holds {np.nanmax(np.abs(values[:, j])):.3g}; magnitudes up to {LARGEST:.0e} can be "
            "used. Rescale it, or leave the row out if the value is a code for 'missing'."
        )
    return Table(values, weight, kept, names)


def _names(names: Sequence[str] | None, n_features: int) -> list[str]:
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; the table has {n_features} features.")
    return [_printable(str(name)) or f"x{j}" for j, name in enumerate(names)]


def _printable(name: str) -> str:
    """A table may have any names; those of variables stand in sentences."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name) if name.strip() else ""


def check_n_sets(value: object, parameter: str) -> None:
    """Refuse numbers of sets there are no words for."""
    if not isinstance(value, Integral) or not 2 <= int(value) <= MAX_SETS:
        raise ValueError(
            f"The {parameter!r} parameter must be an int in the range [2, {MAX_SETS}]. Got {value!r} instead."
        )
