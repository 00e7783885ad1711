"""Split-conformal prediction sets around a method of the benchmark, calibrated on the fold's calibration part.

FERL's are the library's own, `ferl.conformal`. Those of a rival with score ``1 - p`` are MAPIE's. MAPIE refuses
adaptive prediction sets when there are two classes, so these are computed here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ferl._util.arrays import Floats
from ferl_bench.errors import require
from ferl_bench.method import Method

Labels = NDArray[np.int64]

ALPHA = 0.1


def with_ferl_sets(method: Method, name: str, score: str) -> Method:
    """Return a FERL method whose sets are conformal.

    Parameters
    ----------
    method : Method
        The method to wrap.
    name : str
        Name of the wrapped one.
    score : {"plausibility", "probability", "aps"}
        What the library's `ConformalFERL` calibrates.

    Returns
    -------
    Method
    """
    return _wrapped(method, name, score, partial(_calibrate_ferl, score), _ferl_sets, {})


def with_mapie_sets(method: Method, name: str) -> Method:
    """Return a rival with MAPIE's conformal sets of score ``1 - p``; an empty one gets the most probable class."""
    wrapped = _wrapped(method, name, "lac", _calibrate_mapie, _mapie_sets, {})
    return replace(wrapped, packages=(*method.packages, "MAPIE"))


def with_adaptive_sets(method: Method, name: str, paper: Mapping[str, float]) -> Method:
    """Return a rival with adaptive prediction sets, deterministic and conservative with ties as in the paper."""
    return _wrapped(method, name, "aps", AdaptiveSets, _adaptive_sets, paper)


def _wrapped(
    method: Method,
    name: str,
    score: str,
    calibrate: Callable[[Any, Floats, Labels], Any],
    prediction_set: Callable[[Any, Floats], NDArray[np.bool_]],
    paper: Mapping[str, float],
) -> Method:
    return replace(
        method,
        name=name,
        calibrate=calibrate,
        prediction_set=prediction_set,
        parameters={**method.parameters, "conformal": score, "alpha": ALPHA},
        code=(*method.code, "ferl_bench/conformal.py"),
        paper=paper,
    )


def _calibrate_ferl(score: str, fitted: Any, X: Floats, y: Labels) -> Any:
    from ferl.conformal import ConformalFERL

    return ConformalFERL(fitted, nonconformity=score).conformalize(X, y)


def _ferl_sets(calibrated: Any, X: Floats) -> NDArray[np.bool_]:
    return np.asarray(calibrated.predict_set(X, alpha=ALPHA))


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier with a column for every class, zero for those it has never seen.

    A class can be absent from the fitting part and present in the calibration part, where it must count as the worst
    possible surprise; MAPIE refuses labels the classifier does not know.
    """

    def __init__(self, fitted: Any, n_classes: int) -> None:
        self.fitted = fitted
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: Floats, y: Labels) -> AllClasses:
        """Do nothing: the classifier is fitted."""
        return self

    def predict(self, X: Floats) -> Labels:
        """Return the labels of the classifier."""
        return np.asarray(self.fitted.predict(X))

    def predict_proba(self, X: Floats) -> Floats:
        """Return probabilities of all classes; shape (n_rows, n_classes)."""
        probability = np.zeros((len(X), self.n_classes))
        probability[:, self.fitted.classes_] = self.fitted.predict_proba(X)
        return probability


def _calibrate_mapie(fitted: Any, X: Floats, y: Labels) -> tuple[Any, Any]:
    mapie = require("mapie.classification")
    padded = AllClasses(fitted, int(max(fitted.classes_.max(), y.max())) + 1)
    conformal = mapie.SplitConformalClassifier(padded, confidence_level=1 - ALPHA, conformity_score="lac", prefit=True)
    with warnings.catch_warnings():
        # A rare class may well have no row in the calibration part; the guarantee is not one by class.
        warnings.filterwarnings("ignore", message=".*conformalization dataset has less labels", category=UserWarning)
        conformal.conformalize(X, y)
    return conformal, fitted


def _mapie_sets(calibrated: tuple[Any, Any], X: Floats) -> NDArray[np.bool_]:
    conformal, fitted = calibrated
    sets = conformal.predict_set(X)[1][:, fitted.classes_, 0]
    # As FERL's: an empty set has no utility, and the comparison would be one of empty sets.
    best = fitted.predict_proba(X).argmax(axis=1)
    sets[np.arange(len(X)), best] |= ~sets.any(axis=1)
    return np.asarray(sets)


class AdaptiveSets:
    """Adaptive prediction sets: a class's score is the probability of all classes at least as probable as it is.

    After Romano, Sesia and Candes, "Classification with valid and adaptive coverage", NeurIPS 2020, without its
    randomisation: a class counts in full. A set holds the classes whose score does not exceed that of calibration, and
    is empty when the most probable one alone does. Classes of equal probability are in it together or not at all.

    Parameters
    ----------
    fitted : classifier
        A fitted classifier.
    X, y : ndarray
        Calibration rows and labels. A label the classifier does not know counts as the least probable of all.
    """

    def __init__(self, fitted: Any, X: Floats, y: Labels) -> None:
        self.fitted = fitted
        probability = fitted.predict_proba(X)
        column = np.searchsorted(fitted.classes_, y).clip(max=probability.shape[1] - 1)
        score = _adaptive_scores(probability)[np.arange(len(y)), column]
        self.threshold = conformal_quantile(np.where(fitted.classes_[column] == y, score, np.inf), ALPHA)

    def predict_set(self, X: Floats) -> NDArray[np.bool_]:
        """Return the classes that fit as well as calibration asks for; shape (n_rows, n_classes)."""
        return np.asarray(_adaptive_scores(self.fitted.predict_proba(X)) <= self.threshold)


def _adaptive_scores(probability: Floats) -> Floats:
    at_least = probability[:, None, :] >= probability[:, :, None]
    scores = np.where(at_least, probability[:, None, :], 0.0).sum(axis=2)
    # The sum over all classes is 1 but for rounding, and the threshold is often just that.
    return np.asarray(scores.round(12))


def _adaptive_sets(calibrated: AdaptiveSets, X: Floats) -> NDArray[np.bool_]:
    return calibrated.predict_set(X)


def conformal_quantile(scores: Floats, alpha: float) -> float:
    """Return the score that a new one exceeds with probability at most `alpha`: the k-th, k = ceil((n + 1)(1 - alpha)).

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.conformal import conformal_quantile
    >>> conformal_quantile(np.arange(1.0, 11.0), alpha=0.2)
    9.0
    """
    # Without the subtrahend (n + 1)(1 - alpha) may round to just above an integer.
    rank = ceil((len(scores) + 1) * (1 - alpha) - 1e-9)
    if rank > len(scores):
        needed = ceil(1 / alpha - 1e-9) - 1
        raise ValueError(f"{len(scores)} calibration rows are too few for alpha={alpha:g}; it takes at least {needed}.")
    return float(np.sort(scores)[rank - 1])
