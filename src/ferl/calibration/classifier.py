"""CalibratedFERL: probabilities that match frequencies, with the evidence kept coherent."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from ferl._sklearn import HasMethods, StrOptions, fit_context
from ferl.calibration.maps import METHODS, IsotonicMap, TemperatureMap, fit_map
from ferl.evidence import Evidence
from ferl.wrapping import Wrapper, checked_labels, codes_of, cross_fit, evidence_of, fitted_clone, novelty_of

Floats = NDArray[np.float64]


class CalibratedFERL(ClassifierMixin, Wrapper):
    """A classifier whose probabilities are moved towards the frequencies seen on rows it was not fitted on.

    ``fit(X, y)`` learns the map from rows left out fold by fold, and gives the classifier all rows. ``calibrate(X, y)``
    learns it from rows of their own instead; an estimator that is already fitted needs nothing else.

    The map moves beliefs and decides how the ignorance bets (:mod:`ferl.calibration.maps`). The ignorance itself is
    kept, so belief <= pignistic <= plausibility still holds, and the label is the same. There is no guarantee: it is a
    fit. docs/calibration.md has what it gains.

    Parameters
    ----------
    estimator : FERLClassifier, or a pipeline that ends in one, optional
        The classifier. None: ``FERLClassifier()``.
    method : {"temperature", "isotonic"}
        How beliefs are moved: sharpened or flattened by one number, or along a rising line; see
        :func:`ferl.calibration.fit_map`.
    cv : int, splitter or None
        Folds in ``fit``. None: ``fit`` only fits, and :meth:`calibrate` must follow.
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier, not calibrated.
    map_ : TemperatureMap or IsotonicMap
        The map.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.calibration import CalibratedFERL
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> calibrated = CalibratedFERL(FERLClassifier(random_state=0), random_state=0).fit(X, y)
    >>> round(calibrated.map_.sharing, 1)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "method": [StrOptions(set(METHODS))],
        "cv": ["cv_object", None],
        "random_state": ["random_state"],
    }

    map_: TemperatureMap | IsotonicMap

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "temperature",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier, and learn the map from the rows of each fold.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts, in the classifier and in the map.

        Returns
        -------
        CalibratedFERL
            The estimator itself.
        """
        self._forget("estimator_", "_is_prefit", "map_")
        self.estimator_ = fitted_clone(self._template(), X, y, sample_weight)
        if self.cv is not None:
            self._learn_from_folds(X, np.asarray(y).ravel(), sample_weight)
        return self

    def _learn_from_folds(self, X: Any, labels: NDArray[Any], sample_weight: ArrayLike | None) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        parts, places = [], []
        folds = cross_fit(self._template(), X, labels, self.cv, stratified=True, seed=seed, sample_weight=sample_weight)
        for fold in folds:
            parts.append(_aligned(evidence_of(fold.estimator, fold.rows), self.classes_))
            places.append(fold.unseen)
        rows = np.concatenate(places)
        weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), len(labels))[rows]
        self.map_ = fit_map(_stacked(parts), codes_of(labels[rows], self.classes_), self.method, weight)

    def calibrate(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from rows that the classifier was not fitted on.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        CalibratedFERL
            The estimator itself.
        """
        self._validate_params()
        self._take_fitted("calibrate")
        self._forget("map_")
        evidence = evidence_of(self.estimator_, X)
        codes = codes_of(checked_labels(y, len(evidence)), self.classes_)
        weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), len(codes))
        self.map_ = fit_map(evidence, codes, self.method, weight)
        return self

    def predict_evidence(self, X: ArrayLike) -> Evidence:
        """Calibrated evidence: ignorance and conflict of the classifier, beliefs and probabilities moved by the map.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        Evidence
        """
        if "map_" not in self.__dict__:
            before = "" if "estimator_" in self.__dict__ else "fit(X, y) and then "
            only = "fit(X, y)" if self.cv is not None and before else f"{before}calibrate(X, y)"
            raise NotFittedError(f"Calibrated evidence needs a map. Call {only} first.")
        return self.map_(evidence_of(self.estimator_, X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Calibrated pignistic probability, shape (n_rows, n_classes)."""
        return self.predict_evidence(X).pignistic

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable label of each row, shape (n_rows,): that of the classifier itself."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def predict_set(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Classes that the calibrated evidence cannot rule out, bool of shape (n_rows, n_classes)."""
        return self.predict_evidence(X).prediction_set()

    def novelty(self, X: ArrayLike) -> Floats:
        """Novelty by the classifier inside, shape (n_rows,)."""
        if "estimator_" not in self.__dict__:
            raise NotFittedError("novelty needs a fitted classifier. Call fit(X, y) first.")
        return novelty_of(self.estimator_, X)

    def __sklearn_is_fitted__(self) -> bool:
        return "map_" in self.__dict__


def _aligned(evidence: Evidence, classes: NDArray[Any]) -> Evidence:
    """The same evidence with a column for every class; nothing is believed of one that a fold has not seen."""
    belief = np.zeros((len(evidence), len(classes)))
    belief[:, np.searchsorted(classes, evidence.classes)] = evidence.belief
    return Evidence(belief, evidence.ignorance, evidence.conflict, classes)


def _stacked(parts: list[Evidence]) -> Evidence:
    return Evidence(
        np.concatenate([part.belief for part in parts]),
        np.concatenate([part.ignorance for part in parts]),
        np.concatenate([part.conflict for part in parts]),
        parts[0].classes,
    )
