"""Classifiers for simulations in which many methods ask for the same fits."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ferl import FERLClassifier, FERLTreeClassifier


class _Remembering:
    """Fits the same rows with the same parameters only once, among its last fits, and answers the same rows once."""

    _known: ClassVar[OrderedDict[tuple[bytes, bytes, str], dict[str, Any]]] = OrderedDict()
    _answers: ClassVar[OrderedDict[tuple[int, bytes], tuple[Any, Any]]] = OrderedDict()
    _N_KEPT: ClassVar[int] = 50

    def fit(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, or recall the fit."""
        if sample_weight is not None:
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        key = (np.asarray(X).tobytes(), np.asarray(y).tobytes(), f"{type(self).__name__} {self.get_params(deep=False)}")
        if key not in self._known:
            super().fit(X, y)  # type: ignore[misc]
            self._known[key] = {name: value for name, value in vars(self).items() if name.endswith("_")}
            if len(self._known) > self._N_KEPT:
                self._known.popitem(last=False)
        self.__dict__.update(self._known[key])
        return self

    def predict_evidence(self: Any, X: ArrayLike) -> Any:
        """The evidence, or what it was when the same rows were asked about."""
        key = (id(self.model_), np.asarray(X).tobytes())
        if key not in self._answers:  # the model is kept, so that no other one gets its id
            self._answers[key] = (self.model_, super().predict_evidence(X))  # type: ignore[misc]
            if len(self._answers) > self._N_KEPT:
                self._answers.popitem(last=False)
        return self._answers[key][1]

    def __sklearn_clone__(self: Any) -> Any:
        """An unfitted classifier; its parameters are plain values, which need no copies."""
        return type(self)(**self.get_params(deep=False))


class _RememberingRules(_Remembering, FERLClassifier):
    """A FERLClassifier that remembers its fits."""


class _RememberingTree(_Remembering, FERLTreeClassifier):
    """A FERLTreeClassifier that remembers its fits."""


def remembering(classifier: FERLClassifier | FERLTreeClassifier) -> FERLClassifier | FERLTreeClassifier:
    """Return an unfitted classifier with the same parameters that remembers its fits."""
    kind = _RememberingTree if isinstance(classifier, FERLTreeClassifier) else _RememberingRules
    return kind(**classifier.get_params())
