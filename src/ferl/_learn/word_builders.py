"""Words from a table: sets of equal weight, of equal width, triangles that meet in quantiles, or between cuts.

Cuts are where the classes change. A cut is kept if it saves more bits than it costs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.words import INFINITY, MAX_SETS, WORDS, FuzzySet, LinguisticVariable
from ferl._tables import check_weight_span, checked_sample_weight, distinct_labels, read_table
from ferl._util.arrays import LARGEST, NARROWEST, Floats

OUTER_SHARE = 0.05  # of the weight, beyond the outermost peaks of triangles

Ramp = tuple[float, float]
"""Where one set hands over to the next: the lower one is full up to the first number, gone at the second."""


@dataclass(frozen=True)
class ValuesOfRows:
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
class DistinctValues:
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

    A feature with at most ``n_sets`` distinct values has one set for each, full there and gone at the next value. If
    many rows share a value, so that a ramp would have no width, the ramp goes from that value to its neighbour, on the
    side that divides the rows better. There are fewer sets if that neighbour is already used.

    Examples
    --------
    >>> from ferl.words import quantile_partition
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
    to the 95 % quantile. Memberships sum to one everywhere. These words can express evidence that changes evenly with a
    feature, so rules whose evidence adds up predict better with them than with the words of :func:`quantile_partition`.

    Parameters
    ----------
    X, feature_names, n_sets, sample_weight
        As in :func:`quantile_partition`.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature, None for features with fewer than two distinct values. A feature with at most
        ``n_sets`` distinct values has one set for each. If two of the quantiles are equal, the sets come from
        :func:`quantile_partition`.

    Examples
    --------
    >>> from ferl.words import triangular_partition
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
    >>> from ferl.words import width_partition
    >>> print(width_partition([[0], [10], [11], [50]], ["age"])[0])
    age: low below 10..20, medium between 10..20 and 30..40, high above 30..40
    """
    return build(X, feature_names, n_sets, sample_weight, _width_ramps)


def build(
    X: ArrayLike,
    feature_names: Sequence[str] | None,
    n_sets: int,
    sample_weight: ArrayLike | None,
    rule: Callable[[DistinctValues, int], list[Ramp]],
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


def one_set_each(column: DistinctValues) -> list[Ramp]:
    """Ramps from each distinct value to the next."""
    return list(zip(column.values[:-1].tolist(), column.values[1:].tolist(), strict=True))


def quantile_ramps(column: DistinctValues, n_sets: int) -> list[Ramp]:
    """Ramps between the quantiles at steps of ``1 / (2 n_sets - 1)``."""
    indices = _untied(_quantile_indices(column, n_sets), column, n_sets)
    return [(float(column.values[low]), float(column.values[high])) for low, high in indices]


def _quantile_indices(column: DistinctValues, n_sets: int) -> list[tuple[int, int]]:
    """Each ramp as two indices among the distinct values."""
    n_steps = 2 * n_sets - 1
    step = np.arange(1, n_steps)
    index = _indices_at(column, column.weight_up_to[-1] * step / n_steps, step < n_sets).tolist()
    return list(zip(index[::2], index[1::2], strict=True))


def _indices_at(column: DistinctValues, wanted: Floats, is_lower: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices of the values that have so much weight up to them, or above the median so much below them.

    The two sides of the median mirror each other. Shares that differ only by rounding count as equal.
    """
    up_to = column.weight_up_to
    lower = np.searchsorted(up_to, wanted * (1 - 1e-12))
    upper = np.searchsorted(np.concatenate([[0.0], up_to[:-1]]), wanted * (1 + 1e-12), side="right") - 1
    return np.where(is_lower, lower, upper)


def _untied(indices: list[tuple[int, int]], column: DistinctValues, n_sets: int) -> list[tuple[int, int]]:
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


def _triangle_ramps(column: DistinctValues, n_sets: int) -> list[Ramp]:
    """Ramps from each of ``n_sets`` quantiles to the next, with ``OUTER_SHARE`` of the weight beyond them."""
    share = np.linspace(OUTER_SHARE, 1 - OUTER_SHARE, n_sets)
    peaks = column.values[_indices_at(column, column.weight_up_to[-1] * share, share <= 0.5)]
    if (np.diff(peaks) <= 0).any():
        return quantile_ramps(column, n_sets)
    return list(zip(peaks[:-1].tolist(), peaks[1:].tolist(), strict=True))


def _width_ramps(column: DistinctValues, n_sets: int) -> list[Ramp]:
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


def read_column(values: Floats, weight: Floats) -> DistinctValues:
    """Distinct values of a feature, missing ones left out."""
    order, first = sorted_groups(values)
    return DistinctValues(values[order][first], np.cumsum(np.add.reduceat(weight[order], first) if first.size else []))


def sorted_groups(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows in ascending order of a feature, missing values left out, and where in it each distinct value begins."""
    order = np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    ascending = values[order]
    begins = np.ones(len(ascending), dtype=bool)
    begins[1:] = ascending[1:] != ascending[:-1]
    return order, np.flatnonzero(begins)


def checked_table(X: ArrayLike, feature_names: Sequence[str] | None, sample_weight: ArrayLike | None) -> ValuesOfRows:
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
    return ValuesOfRows(values, weight, kept, names)


def _names(names: Sequence[str] | None, n_features: int) -> list[str]:
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; the table has {n_features} features.")
    return [_printable(str(name)) or f"x{j}" for j, name in enumerate(names)]


def _printable(name: str) -> str:
    """A table may have any names; the names of variables appear in sentences."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name) if name.strip() else ""


def check_n_sets(value: object, parameter: str) -> None:
    """Refuse numbers of sets there are no words for."""
    if not isinstance(value, Integral) or not 2 <= int(value) <= MAX_SETS:
        raise ValueError(
            f"The {parameter!r} parameter must be an int in the range [2, {MAX_SETS}]. Got {value!r} instead."
        )


# ---------------------------------------------------------------------------------------------------------------------
# Between cuts
# ---------------------------------------------------------------------------------------------------------------------


def mdlp_partition(
    X: ArrayLike,
    y: ArrayLike,
    feature_names: Sequence[str] | None = None,
    max_sets: int = 7,
    sample_weight: ArrayLike | None = None,
    *,
    fallback: str = "best_cut",
    softness: float = 0.25,
) -> list[LinguisticVariable | None]:
    """Sets between the cuts that best separate the classes, found by Fayyad and Irani's MDL principle.

    A feature is cut where the entropy of the classes falls most, then each side again, as long as a cut saves more bits
    in the description of the labels than it takes to describe the cut. Memberships sum to one everywhere.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers. Missing values (NaN) are passed over.
    y : array-like of shape (n_samples,)
        Labels.
    feature_names : sequence of str, default=None
        By default the names of the data frame's columns, or x0, x1, ...
    max_sets : int, default=7
        Largest number of sets, 2 to 7. If more cuts are worth their cost, the cuts that save the most bits are used.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts. Weights that average less than one are scaled up to one.
    fallback : {"best_cut", "drop"}, default="best_cut"
        What to do with a feature without a cut that is worth its cost. "best_cut": use the best single cut, since the
        feature may help together with others. "drop": make no variable.
    softness : float, default=0.25
        A cut becomes a ramp with this share of the distance to the nearer neighbour, a cut or the end of the range,
        as its half-width: 0 is a step, 0.5 the widest ramp that leaves its neighbours alone.

    Returns
    -------
    list of LinguisticVariable or None
        One entry for each feature, None for features with fewer than two distinct values and those dropped.

    References
    ----------
    U. M. Fayyad and K. B. Irani, "Multi-interval discretization of continuous-valued attributes for classification
    learning", IJCAI 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl.words import mdlp_partition
    >>> X, y = load_iris(return_X_y=True)
    >>> for variable in mdlp_partition(X[:, 2:], y, ["petal length", "petal width"]):
    ...     print(variable)
    petal length: low below 2.088..2.812, medium between 2.088..2.812 and 4.213..5.287, high above 4.213..5.287
    petal width: low below 0.625..0.975, medium between 0.625..0.975 and 1.562..1.938, high above 1.562..1.938
    """
    check_n_sets(max_sets, "max_sets")
    if fallback not in ("best_cut", "drop"):
        raise ValueError(f"The 'fallback' parameter must be 'best_cut' or 'drop'. Got {fallback!r} instead.")
    if not 0 <= softness <= 0.5:
        raise ValueError(f"The 'softness' parameter must be a float in the range [0, 0.5]. Got {softness!r} instead.")
    table = checked_table(X, feature_names, sample_weight)
    codes = _codes(y, table.kept)
    weight = table.weight * max(1.0, len(table.weight) / table.weight.sum())
    partition: list[LinguisticVariable | None] = []
    for name, values in zip(table.names, table.values.T, strict=True):
        cuts = mdlp_cuts(values, codes, weight, max_sets - 1, forced=fallback == "best_cut")
        partition.append(variable(name, _soften(cuts, values, softness) if cuts else []))
    return partition


def mdlp_cuts(values: Floats, codes: NDArray[np.intp], weight: Floats, max_cuts: int, forced: bool) -> list[float]:
    """Cuts of one feature, ascending.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Values of the feature.
    codes : ndarray of shape (n_samples,)
        Each row's class.
    weight : ndarray of shape (n_samples,)
        Each row's weight, positive.
    max_cuts : int
        Largest number of cuts: the cuts that save most bits are used, and a cut always comes before the cuts within its
        sides.
    forced : bool
        Whether to use the best cut even if no cut is worth its cost.

    Returns
    -------
    list of float
    """
    blocks = _read_blocks(values, codes, weight)
    first = _best_cut(blocks, 0, len(blocks.cuts) + 1)
    queue = [first] if first is not None and first.profit > 0 else []
    taken = [first] if first is not None and forced and not queue else []
    while queue and len(taken) < max_cuts:
        cut = heapq.heappop(queue)
        taken.append(cut)
        for part in (_best_cut(blocks, cut.start, cut.index), _best_cut(blocks, cut.index, cut.stop)):
            if part is not None and part.profit > 0:
                heapq.heappush(queue, part)
    return sorted(float(blocks.cuts[cut.index - 1]) for cut in taken)


@dataclass(frozen=True)
class _Blocks:
    """The rows of one feature in ascending order, in blocks that no best cut divides.

    Attributes
    ----------
    weight_before : ndarray of shape (n_blocks + 1, n_classes)
        Class weights of the rows before each block; the last row has the weights of all rows.
    cuts : ndarray of shape (n_blocks - 1,)
        Halfway between the last value of a block and the first one of the next.
    """

    weight_before: Floats
    cuts: Floats


def _read_blocks(values: Floats, codes: NDArray[np.intp], weight: Floats) -> _Blocks:
    order, first = sorted_groups(values)
    n_classes = int(codes.max()) + 1
    group = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
    cells = np.bincount(group * n_classes + codes[order], weight[order], minlength=len(first) * n_classes)
    class_weight = cells.reshape(-1, n_classes).astype(np.float64)  # bincount's type depends on its arguments
    distinct = values[order][first]
    low, high = distinct[:-1], distinct[1:]
    cuts = low + (high - low) / 2
    cuts = np.where(cuts < high, cuts, low)  # no number lies between neighbours: the lower one ends its set
    ends = _boundaries(class_weight)
    up_to = np.cumsum(class_weight, axis=0)
    return _Blocks(np.concatenate([np.zeros((1, n_classes)), up_to[ends], up_to[-1:]]), cuts[ends])


def _boundaries(class_weight: Floats) -> NDArray[np.intp]:
    """Distinct values after which the entropy can be least: not between two values of the same one class.

    This is a theorem of Fayyad and Irani. It saves half the work on noise, and nearly all on informative features.
    """
    pure = np.count_nonzero(class_weight, axis=1) == 1
    label = np.argmax(class_weight, axis=1)
    boundary = ~(pure[:-1] & pure[1:] & (label[:-1] == label[1:]))
    if not boundary.any():  # one class: all cuts are equal
        boundary[:] = True
    return np.flatnonzero(boundary)


@dataclass(frozen=True, order=True)
class _Cut:
    """The best cut of the blocks from ``start`` to before ``stop``: after it comes the block ``index``."""

    loss: float  # bits, the negative profit: a heap gives the smallest first
    start: int
    index: int
    stop: int

    @property
    def profit(self) -> float:
        """Bits saved in the description of the labels, minus the bits that describe the cut."""
        return -self.loss


def _best_cut(blocks: _Blocks, start: int, stop: int) -> _Cut | None:
    if stop - start < 2:
        return None
    before = blocks.weight_before
    whole = before[stop] - before[start]
    left, right = before[start + 1 : stop] - before[start], before[stop] - before[start + 1 : stop]
    saved = _bits(whole) - _bits(left) - _bits(right)
    # Among cuts with equal savings up to rounding the middle one is used, so that rounding does not decide.
    best = saved >= saved.max() - 1e-12 * (1 + _x_log_x(whole.sum()))
    i = int(np.argmin(np.where(best, np.abs(left.sum(axis=1) - right.sum(axis=1)), np.inf)))
    loss = round(_price(whole, left[i], right[i]) - float(saved[i]), 9)
    return _Cut(loss, start, start + 1 + i, stop)


def _price(whole: Floats, left: Floats, right: Floats) -> float:
    """Bits that describe a cut: which one it is, and the class distributions on its two sides."""
    spread = [np.count_nonzero(part) * _bits(part) / part.sum() for part in (whole, left, right)]
    where = math.log2(max(float(whole.sum()) - 1, 1.0))
    return float(where + math.log2(3 ** np.count_nonzero(whole) - 2) - (spread[0] - spread[1] - spread[2]))


def _bits(class_weight: Floats) -> Floats:
    """Bits that describe the labels of a set of rows: its weight times the entropy of its classes."""
    return np.asarray(_x_log_x(class_weight.sum(axis=-1)) - _x_log_x(class_weight).sum(axis=-1))


def _x_log_x(x: Floats) -> Floats:
    return np.asarray(x * np.log2(np.maximum(x, 1e-300)))


def _codes(y: ArrayLike, kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    labels = np.asarray(y)
    if labels.shape != kept.shape:
        raise ValueError(f"y has shape {labels.shape}; it needs one label per row, shape {kept.shape}.")
    return np.asarray(distinct_labels(labels[kept])[1], dtype=np.intp)


def _soften(cuts: list[float], values: Floats, softness: float) -> list[Ramp]:
    """A ramp around each cut, or a step at it where numbers are too close; rounding must not let neighbours overlap."""
    stops = [float(np.nanmin(values)), *cuts, float(np.nanmax(values))]
    ramps = []
    for low, cut, high in zip(stops, stops[1:], stops[2:], strict=False):
        half = softness * min(cut - low, high - cut)
        half = half if half >= NARROWEST else 0.0
        ramps.append((max(cut - half, (low + cut) / 2), min(cut + half, (cut + high) / 2)))
    return ramps
