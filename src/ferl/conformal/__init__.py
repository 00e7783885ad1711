"""Prediction sets with a coverage guarantee, around any :class:`ferl.FERLClassifier`."""

from ferl.conformal.classifier import ConformalFERL
from ferl.conformal.scores import nonconformity

__all__ = ["ConformalFERL", "nonconformity"]
