"""Names for the features of a model that was fitted without."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ferl.frames import Columns
from ferl.rules import feature_names

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


def with_names(estimator: FERLClassifier, names: Sequence[str] | None) -> FERLClassifier:
    """The estimator itself, or one with the same tree that calls its features by these names."""
    if names is None:
        return estimator
    checked = feature_names(estimator, names)
    named = copy.copy(estimator)
    named.columns_ = Columns(tuple(checked), estimator.columns_.levels)
    named.feature_names_in_ = np.array(checked, dtype=object)
    return named
