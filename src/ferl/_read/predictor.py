"""One row at a time, as services ask: what does not depend on the row is prepared once."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._tables import read_row, with_indicators
from ferl._util.arrays import Floats, core_ready


class Predictor:
    """Answers of a fitted classifier to single rows; :meth:`ferl.FERLClassifier.predictor` makes it.

    It keeps the model it was made of: a classifier that is fitted again needs a new one. Threads may share it.

    Parameters
    ----------
    model : Model
        What was fitted.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._names = model, model.schema.names
        self._n_features = model.n_features
        self._takes_arrays = model.schema.holds_numbers_alone

    def _row(self, row: Any) -> Floats:
        """The row as the model reads it, shape (1, n_columns). What is not plain is read with every check there is."""
        model = self._model
        encoded: Floats | None = None
        if type(row) is dict and self._names is not None and len(row) == self._n_features:
            with suppress(KeyError):  # read_row says which name is wrong
                encoded = model.schema.encode_values([[row[name] for name in self._names]])
        elif type(row) is list and self._names is None and len(row) == self._n_features:
            encoded = model.schema.encode_values([row])
        elif self._takes_arrays and self._is_plain(row):
            encoded = core_ready(row.reshape(1, -1))
        if encoded is None:
            return read_row(model.schema, model.missing_features, row).values
        return with_indicators(encoded, model.missing_features)

    def _is_plain(self, row: Any) -> bool:
        is_array = type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (self._n_features,)
        return is_array and not np.isinf(row).any()

    def predict_proba(self, row: Any) -> Floats:
        """Probability of each class, shape (n_classes,), in the order of the classifier's ``classes_``.

        Parameters
        ----------
        row : dict, list, ndarray of shape (n_features,), Series or data frame of one row
            A value for each feature, None where it is missing; without names in the order of the features.
        """
        return np.asarray(self._model.probabilities(self._row(row))[0])

    def predict(self, row: Any) -> Any:
        """The most probable class; ``row`` as in :meth:`predict_proba`."""
        return self._model.classes[self.predict_proba(row).argmax()]

    def predict_evidence(self, row: Any) -> Evidence:
        """Belief, plausibility, ignorance and conflict, arrays of one row; ``row`` as in :meth:`predict_proba`."""
        return self._model.evidence(self._row(row))
