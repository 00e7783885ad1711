"""The folds, and what is measured on one of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import ceil
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from ferl import metrics
from ferl_bench.curve import COVERAGES, RISKS, risk_at
from ferl_bench.data import DataSet
from ferl_bench.method import Method, encode_for

# Raise it when folds or encoding change, so that results under the old rules are not mixed with new ones.
PROTOCOL_VERSION = 1
N_FOLDS = 5
CALIBRATION_SHARE = 0.25
SEED = 0
DESCRIPTION = (
    f"StratifiedKFold({N_FOLDS}, shuffle=True, random_state={SEED}); {CALIBRATION_SHARE:.0%} of each training part set "
    f"aside for calibration; fitted on the rest with random_state=fold; version {PROTOCOL_VERSION}"
)


@dataclass(frozen=True)
class Fold:
    """Row numbers of the three parts of a fold: disjoint, together all rows."""

    index: int
    fitting: NDArray[np.intp]
    calibration: NDArray[np.intp]
    test: NDArray[np.intp]


def make_folds(y: NDArray[np.int64]) -> list[Fold]:
    """Divide the rows into five folds.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels.

    Returns
    -------
    list of Fold
    """
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        # Some of the paper's sets have classes with fewer rows than folds. The split is still well defined.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        outer = list(splitter.split(np.zeros((len(y), 1)), y))
    folds = []
    for index, (training, test) in enumerate(outer):
        stratify = y[training] if can_stratify(y[training]) else None
        fitting, calibration = train_test_split(
            training, test_size=CALIBRATION_SHARE, random_state=index, stratify=stratify
        )
        folds.append(Fold(index, fitting, calibration, test))
    return folds


def evaluate(data: DataSet, fold_index: int, method: Method) -> dict[str, float]:
    """Fit one method on one fold and measure it on the part it is judged on.

    Parameters
    ----------
    data : DataSet
        The data set.
    fold_index : int
        Which fold, from 0; also the method's seed.
    method : Method
        The method.

    Returns
    -------
    dict
        Measures by name, as fractions, and as seconds of the processor, which other work on the machine does not
        lengthen. The measures of prediction sets, and further ones, are there for methods that offer them.
    """
    if method.calibrate is not None and method.judged_on == "calibration":
        raise ValueError(f"{method.name} is calibrated on the calibration part; it cannot be judged on it as well.")
    fold = make_folds(data.y)[fold_index]
    judged = fold.test if method.judged_on == "test" else fold.calibration
    X_fit, X_test, X_calibration = encode_for(method, data, fold.fitting, judged, fold.calibration)
    y_test = data.y[judged]
    start = process_time()
    fitted = method.fit(X_fit, data.y[fold.fitting], fold_index)
    fit_seconds = process_time() - start
    start = process_time()
    probabilities = fitted.predict_proba(X_test)
    predict_seconds = process_time() - start
    measured = _measure_answers(y_test, fitted.predict(X_test), probabilities.max(axis=1))
    measured["log_loss"] = log_loss(y_test, probabilities, fitted.classes_)
    measured |= {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds}
    if method.size is not None:
        measured["size"] = float(method.size(fitted))
    if method.prediction_set is not None:
        calibrated = fitted
        if method.calibrate is not None:
            calibrated = method.calibrate(fitted, X_calibration, data.y[fold.calibration])
        sets = method.prediction_set(calibrated, X_test)
        measured |= measure_sets(y_test, sets, fitted.classes_, len(data.class_names))
    if method.measures is not None:
        measured |= method.measures(fitted)
    if method.readings is not None:
        measured |= method.readings(fitted, X_test)
    return measured


def can_stratify(y: NDArray[np.int64]) -> bool:
    """Whether both sides of the calibration split can hold every class."""
    counts = np.unique(y, return_counts=True)[1]
    n_calibration = ceil(CALIBRATION_SHARE * len(y))
    return bool(counts.min() >= 2 and min(n_calibration, len(y) - n_calibration) >= len(counts))


def _measure_answers(
    y_test: NDArray[np.int64], label: NDArray[np.int64], confidence: NDArray[np.float64]
) -> dict[str, float]:
    answer = (y_test, label, confidence)
    return {
        "accuracy": float(np.mean(y_test == label)),
        "aurc": metrics.aurc(*answer),
        "augrc": metrics.augrc(*answer),
        "ece": metrics.expected_calibration_error(*answer),
        **dict(zip(RISKS, risk_at(*answer, COVERAGES).tolist(), strict=True)),
    }


def log_loss(y: NDArray[np.int64], probabilities: NDArray[np.float64], classes: NDArray[Any]) -> float:
    """Return the mean log-loss in nats; a class that was not seen in fitting has probability 0 and the largest loss.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.protocol import log_loss
    >>> round(log_loss(np.array([0, 2]), np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 2])), 4)
    0.4904
    """
    own = (probabilities * (y[:, None] == classes)).sum(axis=1)
    return float(-np.log(np.maximum(own, np.finfo(np.float64).eps)).mean())


def measure_sets(
    y_test: NDArray[np.int64], sets: NDArray[np.bool_], fitted_classes: NDArray[Any], n_classes: int
) -> dict[str, float]:
    """Return the measures of prediction sets.

    Parameters
    ----------
    y_test : ndarray of shape (n_rows,)
        Labels.
    sets : ndarray of bool of shape (n_rows, n_fitted_classes)
        Prediction sets.
    fitted_classes : ndarray of shape (n_fitted_classes,)
        The label of each column.
    n_classes : int
        Number of classes of the data set.

    Returns
    -------
    dict
        Measures by name.
    """
    # A rare class can be absent from the fitting part. No set contains it, so its test rows count as not covered.
    columns = np.zeros((len(sets), n_classes), dtype=np.bool_)
    columns[:, fitted_classes] = sets
    labelled = (y_test, columns, np.arange(n_classes))
    return {
        "determinacy": metrics.determinacy(columns),
        "set_coverage": metrics.set_coverage(*labelled),
        "set_size": metrics.mean_set_size(columns),
        "u65": metrics.u65(*labelled),
        "u80": metrics.u80(*labelled),
    }
