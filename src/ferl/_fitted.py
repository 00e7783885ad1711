"""What a fitted classifier holds: its model, and the rows that the model can read."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl._learn.drift import Drift
from ferl._model.model import Model, Words
from ferl._model.tree import FuzzyTree
from ferl._read.slopes import lipschitz
from ferl._sklearn import check_rows
from ferl._tables import OneRow, Schema, read_row
from ferl._util.arrays import Floats


class FittedModel:
    """The model of a fitted classifier and what it holds, which :class:`ferl.FERLClassifier` inherits.

    Attributes
    ----------
    model_ : Model
        What was fitted.
    n_jobs : int or None
        Number of threads.
    """

    model_: Model
    n_jobs: int | None
    drift_: Drift | None
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _take(self, model: Model) -> Self:
        """Take a model that was fitted, read or updated elsewhere."""
        self.model_, self.n_features_in_ = model, model.n_features
        self.__dict__.pop("feature_names_in_", None)
        if model.schema.names is not None:
            self.feature_names_in_ = np.array(model.schema.names, dtype=object)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _fitted(self) -> Model:
        if "model_" not in self.__dict__:
            check_is_fitted(self)  # says so in scikit-learn's words
        return self.model_

    def _rows(self, X: Any) -> Floats:
        """Rows as the model reads them."""
        self._fitted()
        return check_rows(self, X)

    def _row(self, x: Any) -> OneRow:
        """One row, in whatever form it comes, as the model reads it."""
        model = self._fitted()
        return read_row(model.schema, model.missing_features, x)

    @property
    def tree_(self) -> FuzzyTree:
        """The rules, as arrays."""
        return self._fitted().tree

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self._fitted().classes

    @property
    def columns_(self) -> Schema:
        """Names of the features and their categories."""
        return self._fitted().schema

    @property
    def missing_features_(self) -> tuple[int, ...]:
        """Features that rules may ask whether they are missing."""
        return self._fitted().missing_features

    @property
    def partition_(self) -> Words | None:
        """The words of each column, None for those without. None where conditions are not words."""
        return self._fitted().partition

    @property
    def n_growth_rows_(self) -> int:
        """Number of distinct rows the splits were chosen on."""
        return self._fitted().n_growth_rows

    @property
    def categories_(self) -> list[NDArray[Any] | None]:
        """Categories of each feature, sorted; None for a feature that holds numbers."""
        return list(self._fitted().schema.categories)

    @property
    def n_rules_(self) -> int:
        """Number of rules: the leaves of a tree, or wide rules."""
        return self._fitted().n_rules

    @property
    def lipschitz_(self) -> float:
        """Lipschitz constant where the gates are open: of the soft vote; wide: of the difference of any two scores."""
        model = self._fitted()
        return model.tree.lipschitz if model.weights is None else lipschitz(model)
