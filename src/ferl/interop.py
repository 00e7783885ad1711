"""Fitted classifiers in the form that other libraries require."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from ferl._sklearn import LinkedToDocs
from ferl._util.arrays import Floats

__all__ = ["PlainClassifier"]


class PlainClassifier(LinkedToDocs, ClassifierMixin, BaseEstimator):
    """A classifier with ``classes_``, ``predict`` and ``predict_proba`` alone.

    MAPIE tries every classifier that has ``n_features_in_`` on a row of zeros. A classifier of a mixed table rightly
    refuses this row, since zero is not among its categories, and MAPIE takes the refusal for a missing fit. This form
    of the classifier has no ``n_features_in_``, and predicts as the classifier does.

    Parameters
    ----------
    classifier : object with predict and predict_proba
        Such as :class:`ferl.FERLClassifier`, fitted or not.

    Attributes
    ----------
    classifier_ : object
        What :meth:`fit` fitted: a copy. Without a call of :meth:`fit` the classifier itself answers.
    classes_ : ndarray of shape (n_classes,)
        Its labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from ferl import FERLClassifier
    >>> from ferl.interop import PlainClassifier
    >>> table = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": [k % 7 for k in range(40)]})
    >>> clf = FERLClassifier(random_state=0).fit(table, ["yes", "no"] * 20)
    >>> plain = PlainClassifier(clf)
    >>> plain.predict(table[:2]).tolist(), hasattr(plain, "n_features_in_")
    (['yes', 'no'], False)
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit a copy of the classifier; arguments as its own ``fit`` takes them."""
        self.classifier_ = clone(self.classifier).fit(X, y, **fit_params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self._fitted, "classes_")

    @property
    def _fitted(self) -> Any:
        return self.__dict__.get("classifier_", self.classifier)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self._fitted.classes_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of each row, shape (n_samples,)."""
        return np.asarray(self._fitted.predict(X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, shape (n_samples, n_classes)."""
        return np.asarray(self._fitted.predict_proba(X))
