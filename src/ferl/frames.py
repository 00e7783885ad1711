"""The door for tables: what comes in is checked once, and named in the error when it cannot be used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

Floats = NDArray[np.float64]

# Squares of larger numbers overflow, and with them the spread of cuts.
_LARGEST = 1e150
# Slopes of bands in a narrower range overflow.
_NARROWEST = 1e-300
# Class weights are summed to 2**-62 of the largest weight, and compared by their fourth powers.
_WEIGHT_SPAN = 1e15
_TOTAL_WEIGHT = (1e-100, 1e40)

# What to do about the errors scikit-learn raises, by a part of their text.
_REMEDIES = {
    "0 sample(s)": "Pass at least one row.",
    "0 feature(s)": "Pass at least one column.",
    "inconsistent numbers of samples": "Pass one label for each row of X.",
    "features as input": "Pass the columns of the training table, in the same order.",
}


def check_training_table(estimator: Any, X: Any, y: Any) -> tuple[Floats, NDArray[Any], NDArray[np.int32]]:
    """Rows as float64, the distinct labels, and each row's label as a code.

    Parameters
    ----------
    estimator : BaseEstimator
        Remembers the number and the names of the features.
    X : array-like or data frame of shape (n_rows, n_features)
        The table.
    y : array-like of shape (n_rows,)
        The labels.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float64
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_rows,), int32
    """
    _refuse_other_types(X)
    refuse_missing_labels(y)
    with _remedies():
        X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_all_finite=False)
    _refuse_non_finite(estimator, X)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    _refuse_extreme_scales(estimator, X)
    return _core_ready(X), classes, codes.astype(np.int32)


def _core_ready(X: Floats) -> Floats:
    """The table itself, or a copy where its memory cannot be read as whole numbers: a field of records, say."""
    return X if X.flags.aligned and not any(stride % X.itemsize for stride in X.strides) else X.copy()


def _refuse_extreme_scales(estimator: Any, X: Floats) -> None:
    low, high = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore"):
        width = high - low
    narrow = (width > 0) & (width < _NARROWEST)
    if narrow.any():
        column = int(np.argmax(narrow))
        raise ValueError(
            f"{_named(estimator, column)} varies by {width[column]:.3g} only; {_NARROWEST:.0e} is the least that can "
            "be divided into bands. Rescale it."
        )
    largest = np.maximum(high, -low)
    if (largest > _LARGEST).any():
        column = int(np.argmax(largest > _LARGEST))
        raise ValueError(
            f"{_named(estimator, column)} holds a value of magnitude {largest[column]:.3g}; magnitudes up to "
            f"{_LARGEST:.0e} can be fitted. Rescale it, or leave the row out if the value is a code for 'missing'."
        )


def check_rows(estimator: Any, X: Any) -> Floats:
    """Rows for a fitted estimator: float64, the features it was fitted on."""
    _refuse_other_types(X)
    with _remedies():
        rows = np.asarray(validate_data(estimator, X, dtype=np.float64, reset=False, ensure_all_finite=False))
    _refuse_non_finite(estimator, rows)
    return _core_ready(rows)


@contextmanager
def _remedies() -> Iterator[None]:
    """Let scikit-learn's messages, which name the numbers, also say what to do."""
    try:
        yield
    except ValueError as error:
        for part, remedy in _REMEDIES.items():
            if part in str(error):
                raise ValueError(f"{error} {remedy}") from error
        raise


def _refuse_other_types(X: Any) -> None:
    """Name the first column that does not hold numbers."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 2:
        text = np.argwhere(np.vectorize(_is_text, otypes=[bool])(X.T))
        if len(text):
            column, row = text[0]
            raise ValueError(_other_type(f"Feature {column}", "text", X[row, column]))
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for name, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
            continue  # objects and special types may be numbers; the conversion will tell
        example = frame.get_column(name).drop_nulls().head(1).to_list()
        raise ValueError(_other_type(f"Column {name!r}", str(dtype), *example))


def _is_text(value: Any) -> bool:
    """Whether a value is a string that does not spell a number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _other_type(column: str, kind: str, *example: Any) -> str:
    shown = f" (for example {str(example[0])!r})" if example else ""
    return (
        f"{column} holds {kind}{shown}; FERLClassifier takes numbers only. Leave it out, or encode it first, for "
        "example with scikit-learn's OneHotEncoder."
    )


def refuse_missing_labels(y: Any) -> None:
    """Name the first row without a label; numbers are left to scikit-learn, which says it well."""
    if not isinstance(y, np.ndarray | list | tuple) and not hasattr(y, "to_numpy"):
        return
    labels = np.asarray(y)
    if labels.dtype.kind != "O":
        return
    missing = [row for row, label in enumerate(labels.ravel()) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"y contains NaN: {len(missing)} labels are missing, the first in row {missing[0]}. Leave these rows out."
        )


def _is_missing(label: Any) -> bool:
    # pandas.NA refuses to be compared, so it is known by its type's name.
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )


def _refuse_non_finite(estimator: Any, X: Floats) -> None:
    # The sum of a table is finite unless a value is not, or the values are huge: one pass, and rarely a second.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    missing = np.isnan(X).sum(axis=0)
    if missing.any():
        column = int(np.argmax(missing > 0))
        raise ValueError(
            f"{_named(estimator, column)} holds {missing[column]} missing values (NaN); FERLClassifier does not accept "
            "missing values yet. Fill them in first, for example with scikit-learn's SimpleImputer."
        )
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"{_named(estimator, int(np.argmax(infinite)))} holds infinity. Replace it by a finite number, or leave "
            "the row out."
        )


def _named(estimator: Any, column: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"Feature {column}" if names is None else f"Feature {column} ({str(names[column])!r})"


def row_weights(
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
) -> Floats:
    """Weight of each row: what it counts for, times what its class counts for.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        Weight 2 is the row twice, weight 0 a row that is not there.
    class_weight : dict, "balanced" or None
        As in scikit-learn; classes not in the dict weigh 1.
    classes : ndarray of shape (n_classes,)
        The labels.
    codes : ndarray of shape (n_rows,)
        Each row's label, as a place in ``classes``.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    weight = _checked_sample_weight(sample_weight, len(codes))
    if class_weight is None:
        return _checked_span(weight)
    if isinstance(class_weight, str):
        # fsum: the same in any order of the rows.
        total = np.array([math.fsum(weight[codes == c]) for c in range(len(classes))])
        factor = np.divide(math.fsum(weight), len(classes) * total, out=np.ones(len(classes)), where=total > 0)
    else:
        factor = _factors(class_weight, classes)
    with np.errstate(over="ignore", under="ignore"):
        return _checked_span(np.asarray(weight * factor[codes]))


def _checked_span(weight: Floats) -> Floats:
    """Weights that sums can hold side by side."""
    positive = weight[weight > 0]
    if not positive.size:
        raise ValueError(
            "sample_weight and class_weight together leave every row a weight of zero, so there is nothing to fit."
        )
    with np.errstate(over="ignore"):
        total = float(positive.sum())
    if not _TOTAL_WEIGHT[0] <= total <= _TOTAL_WEIGHT[1]:
        raise ValueError(
            f"The weights sum to {total:.3g}; sums from {_TOTAL_WEIGHT[0]:.0e} to {_TOTAL_WEIGHT[1]:.0e} can be "
            "fitted. Divide all of them by one number."
        )
    if positive.max() > _WEIGHT_SPAN * positive.min():
        raise ValueError(
            f"The weights reach from {positive.min():.3g} to {positive.max():.3g}; the largest may be at most "
            f"{_WEIGHT_SPAN:.0e} times the smallest. Give negligible rows a weight of 0."
        )
    return weight


def _checked_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
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
    if not weight.any():
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
