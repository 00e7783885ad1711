"""What is measured on a fold of a table as it is: numbers and categories, with what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from ferl import metrics
from ferl_bench.cache import Result
from ferl_bench.data import DataSet
from ferl_bench.method import Method
from ferl_bench.protocol import log_loss, make_folds, measure_sets
from ferl_bench.runner import Job
from ferl_bench.threads import one_thread

ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class FrameJob(Job):
    """One method on one fold of a table as it is; what the method needs of it, it prepares itself."""

    def do(self) -> Result:
        """Fit and measure, on one thread."""
        with one_thread():
            return self.result(evaluate_frame(self.data, self.fold, self.method))


def as_frame(data: DataSet) -> pd.DataFrame:
    """Return numbers (missing: NaN) and text (missing: None) side by side."""
    numbers = {f"x{j}": pd.Series(column) for j, column in enumerate(data.numeric.T)}
    return pd.DataFrame(
        numbers | {f"c{j}": pd.Series(column, dtype=object) for j, column in enumerate(data.categorical.T)}
    )


def evaluate_frame(data: DataSet, fold_index: int, method: Method) -> dict[str, float]:
    """Fit a method on one fold of a table and measure it on the test part.

    Parameters
    ----------
    data : DataSet
        The table.
    fold_index : int
        Which fold, from 0; also the method's seed.
    method : Method
        Its ``fit`` takes the frame.

    Returns
    -------
    dict
        Measures by name. Sets named conformal are those of score ``1 - p``, calibrated on the calibration part.
    """
    fold, frame, n_classes = make_folds(data.y)[fold_index], as_frame(data), len(data.class_names)
    fitting, calibration, test = (frame.iloc[rows] for rows in (fold.fitting, fold.calibration, fold.test))
    start = process_time()
    fitted = method.fit(fitting, data.y[fold.fitting], fold_index)
    fit_seconds = process_time() - start
    classes, y = np.asarray(fitted.classes_), data.y[fold.test]
    probability = fitted.predict_proba(test)
    answers = classes[probability.argmax(axis=1)]
    measured = {
        "accuracy": float(np.mean(answers == y)),
        "aurc": metrics.aurc(y, answers, probability.max(axis=1)),
        "balanced_accuracy": float(np.mean([np.mean(answers[y == label] == label) for label in np.unique(y)])),
        "log_loss": log_loss(y, probability, classes),
        "auc": macro_auc(y, probability, classes),
        "fit_seconds": fit_seconds,
    }
    sets = conformal_sets(fitted.predict_proba(calibration), data.y[fold.calibration], classes, probability)
    own = measure_sets(y, sets, classes, n_classes)
    measured |= {"conformal_coverage": own["set_coverage"], "conformal_u65": own["u65"]}
    if method.size is not None:
        measured["size"] = float(method.size(fitted))
    if method.prediction_set is not None:
        measured |= measure_sets(y, method.prediction_set(fitted, test), classes, n_classes)
    return measured


def macro_auc(y: NDArray[np.int64], probability: NDArray[np.float64], classes: NDArray[Any]) -> float:
    """Return the mean over the classes of `y` of the AUC of each against the others; 0.5 for one never seen in fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.suites.protocol import macro_auc
    >>> macro_auc(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]), np.array([0, 1]))
    1.0
    """
    column = {int(label): probability[:, place] for place, label in enumerate(classes)}
    present = np.unique(y)
    if len(present) < 2:
        return float("nan")
    unseen = np.zeros(len(y))
    return float(np.mean([roc_auc_score(y == label, column.get(int(label), unseen)) for label in present]))


def conformal_sets(
    calibration: NDArray[np.float64], y: NDArray[np.int64], classes: NDArray[Any], probability: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return split-conformal sets of score ``1 - p`` at 90 %; an empty one gets the most probable class.

    Parameters
    ----------
    calibration : ndarray of shape (n_calibration, n_fitted_classes)
        Probabilities of the calibration rows.
    y : ndarray of shape (n_calibration,)
        Their labels; a class that was not seen in fitting has probability 0.
    classes : ndarray of shape (n_fitted_classes,)
        The label of each column.
    probability : ndarray of shape (n_rows, n_fitted_classes)
        Probabilities of the rows that get sets.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_fitted_classes)
    """
    score = 1 - (calibration * (y[:, None] == classes)).sum(axis=1)
    rank = ceil((len(y) + 1) * (1 - ALPHA))
    threshold = np.inf if rank > len(y) else np.sort(score)[rank - 1]
    sets: NDArray[np.bool_] = 1 - probability <= threshold
    sets[np.arange(len(sets)), probability.argmax(axis=1)] |= ~sets.any(axis=1)
    return sets
