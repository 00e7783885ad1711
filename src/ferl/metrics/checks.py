"""Input of the measures, checked once; errors name the argument, the value and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A probability summed in floating point can exceed 1 by a few rounding errors; more than this is a caller's mistake.
ROUNDING = 1e-9


def selection(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check the input of a selection metric; return which rows are right and the confidences, of shape (n_rows,)."""
    truth, guess = vector(y_true, "y_true"), vector(y_pred, "y_pred")
    certainty = vector(confidence, "confidence").astype(np.float64)
    check_same_length(truth, "y_true", guess, "y_pred")
    check_same_length(truth, "y_true", certainty, "confidence")
    check_comparable(truth, "y_true", guess, "y_pred")
    n_missing = int(np.isnan(certainty).sum())
    if n_missing:
        raise ValueError(f"confidence holds NaN in {n_missing} of {certainty.size} rows; such rows cannot be ranked.")
    return np.asarray(truth == guess, dtype=np.bool_), certainty


def column_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label in `classes`; an error names the labels that are not there."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    if np.any(ordered[1:] == ordered[:-1]):
        raise ValueError("classes holds the same label twice.")
    check_comparable(labels, "y_true", classes, "classes")
    position = np.minimum(np.searchsorted(ordered, labels), classes.size - 1)
    unknown = ordered[position] != labels
    if unknown.any():
        examples = ", ".join(repr(label) for label in np.unique(labels[unknown])[:5].tolist())
        raise ValueError(f"y_true holds labels that are not in classes: {examples}.")
    return order[position]


def vector(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a non-empty array of one dimension."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension; got an array of shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    return array


def checked_set(prediction_set: ArrayLike) -> NDArray[np.bool_]:
    """Return `prediction_set` as a boolean array of shape (n_rows, n_classes)."""
    array = np.asarray(prediction_set)
    if array.dtype != np.bool_ or array.ndim != 2:
        raise ValueError(
            "prediction_set must be a boolean array of shape (n_rows, n_classes); "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"prediction_set is empty; got shape {array.shape}.")
    return array


def check_same_length(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    """Refuse arrays with different numbers of rows."""
    if len(first) != len(second):
        raise ValueError(f"{first_name} has {len(first)} rows but {second_name} has {len(second)}.")


def check_comparable(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    """Refuse text against numbers: NumPy calls them unequal, which would read as an error rate of 1."""
    kinds = [array.dtype.kind for array in (first, second)]
    if "O" not in kinds and (kinds[0] in "US") != (kinds[1] in "US"):
        held = f"{first_name} holds {first.dtype} and {second_name} holds {second.dtype}"
        raise ValueError(f"{held}: text and numbers are never equal.")
