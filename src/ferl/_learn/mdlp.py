"""Partitions from a table and its labels: cuts where the classes change, as many as pay for themselves."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._learn.partitions import Ramp, check_n_sets, checked_table, sorted_groups, variable
from ferl._models.words import LinguisticVariable
from ferl._tables import distinct_labels
from ferl._util.arrays import NARROWEST, Floats


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
    """Sets between the cuts that best tell the classes apart, found by Fayyad and Irani's MDL principle.

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
        Largest number of sets, 2 to 7. If more cuts pay, those that save the most bits are taken.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts. Weights that average less than one are scaled up to one.
    fallback : {"best_cut", "drop"}, default="best_cut"
        What a feature gets where no cut pays: the best single cut all the same, since the feature may tell something
        together with others; or no variable.
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
    >>> from ferl.partition import mdlp_partition
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
        The best so many are taken: those that save most bits, a cut always before those within its sides.
    forced : bool
        Whether to take the best cut even if none pays.

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
        Class weights of the rows before each block; in the last row those of all.
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

    This is a theorem of Fayyad and Irani. It saves half the work on noise, and nearly all on features that tell.
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
        """Bits saved in the description of the labels, less those that describe the cut."""
        return -self.loss


def _best_cut(blocks: _Blocks, start: int, stop: int) -> _Cut | None:
    if stop - start < 2:
        return None
    before = blocks.weight_before
    whole = before[stop] - before[start]
    left, right = before[start + 1 : stop] - before[start], before[stop] - before[start + 1 : stop]
    saved = _bits(whole) - _bits(left) - _bits(right)
    # Of cuts that save the same but for rounding the one in the middle, so that rounding does not decide.
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
