"""Weights of rows, and the numbers that the core can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl import _core
from ferl._util.arrays import Floats

# Squares of larger numbers overflow, and with them the spread of cuts.
LARGEST = 1e150
# Slopes of bands in a narrower range overflow.
NARROWEST = 1e-300
_TOTAL_WEIGHT = (1e-100, 1e40)


def core_ready(X: Floats) -> Floats:
    """The table itself, or a copy where its memory cannot be read as whole numbers: a field of records, say."""
    return X if X.flags.aligned and not any(stride % X.itemsize for stride in X.strides) else X.copy()


def weights_and_factors(
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
) -> tuple[Floats, Floats]:
    """Weight of each row, and what a row of each class weighs.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        Weight 2 is the row twice, weight 0 a row that is not there.
    class_weight : dict, "balanced" or None
        As in scikit-learn; classes not in the dict weigh 1.
    classes : ndarray of shape (n_classes,)
        The labels.
    codes : ndarray of shape (n_rows,)
        Each row's label, as an index of ``classes``.

    Returns
    -------
    weight : ndarray of shape (n_rows,)
        What a row counts for, times what its class counts for.
    factor : ndarray of shape (n_classes,)
    """
    weight = checked_sample_weight(sample_weight, len(codes))
    factor = class_factors(class_weight, classes, _class_totals(class_weight, weight, codes, len(classes)))
    if class_weight is not None:
        with np.errstate(over="ignore", under="ignore"):
            weight = np.asarray(weight * factor[codes])
    positive = weight[weight > 0]
    with np.errstate(over="ignore"):
        check_weight_span(positive.min(initial=np.inf), positive.max(initial=0.0), float(positive.sum()))
    return weight, factor


def _class_totals(class_weight: Any, weight: Floats, codes: NDArray[np.int32], n_classes: int) -> Floats:
    if not isinstance(class_weight, str):
        return np.ones(n_classes)
    # fsum: the same in any order of the rows.
    return np.array([math.fsum(weight[codes == c]) for c in range(n_classes)])


def class_factors(class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], totals: Floats) -> Floats:
    """What a row of each class weighs, shape (n_classes,); ``totals``: weight of each class, for "balanced"."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.divide(math.fsum(totals), len(classes) * totals, out=np.ones(len(classes)), where=totals > 0)
    return _factors(class_weight, classes)


def check_weight_span(low: float, high: float, total: float) -> None:
    """Refuse weights that sums cannot hold side by side: from their smallest and largest, and their sum."""
    if not high > 0:
        raise ValueError(
            "sample_weight and class_weight together leave every row a weight of zero, so there is nothing to fit."
        )
    if not _TOTAL_WEIGHT[0] <= total <= _TOTAL_WEIGHT[1]:
        raise ValueError(
            f"The weights sum to {total:.3g}; sums from {_TOTAL_WEIGHT[0]:.0e} to {_TOTAL_WEIGHT[1]:.0e} can be "
            "fitted. Divide all of them by one number."
        )
    # The core adds weights up in fixed point: lighter rows would count for nothing.
    if high > _core.WEIGHT_SPAN * low:
        raise ValueError(
            f"The weights reach from {low:.3g} to {high:.3g}; the largest may be at most "
            f"{_core.WEIGHT_SPAN:.1e} times the smallest. Give negligible rows a weight of 0."
        )


def checked_sample_weight(sample_weight: ArrayLike | None, n_rows: int, may_be_zero: bool = False) -> Floats:
    """Weights as doubles, one for each row; ``may_be_zero``: all of them may be, in a part of a table."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; it needs one number per row, shape ({n_rows},).")
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight[{row}] is {weight[row]}; weights must be finite and not negative. Use 0 to leave a row out."
        )
    if not weight.any() and not may_be_zero:
        raise ValueError("All sample weights are zero, so there is nothing to fit. Give at least one row some weight.")
    return np.ascontiguousarray(weight)


def _factors(class_weight: Mapping[Any, float], classes: NDArray[Any]) -> Floats:
    known = set(classes.tolist())
    for label, value in class_weight.items():
        if label not in known:
            raise ValueError(f"class_weight names the class {label!r}; the classes in y are {classes.tolist()}.")
        if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
            raise ValueError(f"class_weight[{label!r}] is {value!r}; class weights must be finite and not negative.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    if not factors.any():
        raise ValueError("All class weights are zero, so there is nothing to fit.")
    return factors
