"""Detectors of concepts behind one door: given probabilities, a function, or an estimator that is fitted here."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl._util.arrays import Floats

PRECOMPUTED = "precomputed"


class ConceptDetector(BaseEstimator):
    """Any detector, with the same two methods.

    Parameters
    ----------
    detector : None, "precomputed", callable or estimator
        See :class:`ferl.concepts.ConceptBottleneckFERL`.

    Attributes
    ----------
    detector_ : object
        What answers: the fitted estimator, or the function.
    constant_ : ndarray of shape (n_concepts,)
        Value of the concepts that all training rows share, NaN for the others. An estimator is not asked for these.
    """

    def __init__(self, detector: Any = None) -> None:
        self.detector = detector

    @property
    def is_given(self) -> bool:
        """Whether the probabilities come from outside, so that there is nothing to fit."""
        if isinstance(self.detector, str):
            return self.detector == PRECOMPUTED
        return callable(self.detector) and not hasattr(self.detector, "fit")

    def fit(self, X: Any, concepts: Floats) -> Self:
        """Learn to see the concepts.

        Parameters
        ----------
        X : array-like
            Rows, whatever the detector takes.
        concepts : ndarray of shape (n_rows, n_concepts)
            1, 0, or NaN where not known.

        Returns
        -------
        ConceptDetector
            The detector itself.
        """
        low, high = _range(concepts)
        if self.is_given:
            self.constant_ = np.full(concepts.shape[1], np.nan)
            self.detector_ = self.detector
            return self
        self.constant_ = np.where(low == high, low, np.nan)
        varying = np.isnan(self.constant_)
        self.detector_ = None
        if varying.any():
            self.detector_ = _estimator(self.detector)
            self.detector_.fit(X, self._targets(concepts[:, varying]))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each concept, shape (n_rows, n_concepts)."""
        if self.is_given:
            found = np.asarray(X if self.detector_ == PRECOMPUTED else self.detector_(X), dtype=np.float64)
        else:
            found = np.tile(self.constant_, (_n_rows(X), 1))
            varying = np.isnan(self.constant_)
            if varying.any():
                found[:, varying] = _probabilities(self.detector_, X)[:, : varying.sum()]
        return _checked(found, len(self.constant_))

    def _targets(self, concepts: Floats) -> NDArray[Any]:
        """Targets for an estimator: integers, unless it can do without some of them."""
        if concepts.shape[1] == 1:
            # A single column is no multi-output problem to scikit-learn; a copy of it makes it one.
            concepts = np.repeat(concepts, 2, axis=1)
        if getattr(self.detector_, "accepts_missing_concepts", False):
            return concepts
        n_unknown = int(np.isnan(concepts).sum())
        if n_unknown:
            raise ValueError(
                f"{n_unknown} concept labels are NaN, which {type(self.detector_).__name__} cannot learn from. Use "
                "TorchDetector, which leaves them out of its loss, or drop these rows."
            )
        return concepts.astype(np.int64)


def _estimator(detector: Any) -> Any:
    if detector is None:
        return make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression(C=0.01, max_iter=1000)))
    if not hasattr(detector, "fit") or not hasattr(detector, "predict_proba"):
        raise TypeError(
            f"The detector is {detector!r}. Pass an estimator with fit and predict_proba, a function that returns "
            f"probabilities, or {PRECOMPUTED!r} when X holds them already."
        )
    return clone(detector)


def _probabilities(estimator: Any, X: Any) -> Floats:
    """Probabilities of presence; scikit-learn's multi-output classifiers give a list with one array for each."""
    found = estimator.predict_proba(X)
    if isinstance(found, list):
        return np.column_stack([one[:, -1] for one in found])
    return np.asarray(found, dtype=np.float64)


def _range(concepts: Floats) -> tuple[Floats, Floats]:
    unknown = np.isnan(concepts).all(axis=0)
    if unknown.any():
        raise ValueError(
            f"Concept {int(np.argmax(unknown))} has no label at all. Leave it out, or label it in some rows."
        )
    return np.nanmin(concepts, axis=0), np.nanmax(concepts, axis=0)


def _checked(found: Floats, n_concepts: int) -> Floats:
    if found.ndim != 2 or found.shape[1] != n_concepts:
        raise ValueError(
            f"The detector gave an array of shape {found.shape} for {n_concepts} concepts. It must give one "
            "probability for each row and concept."
        )
    outside = (found < 0) | (found > 1)  # NaN, a concept that was not looked for, is neither
    if outside.any():
        raise ValueError(
            f"The detector gave {found[outside][0]:g}, which is no probability. Pass logits through a sigmoid first."
        )
    return found


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
