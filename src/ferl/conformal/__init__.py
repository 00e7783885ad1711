"""Prediction sets with a coverage guarantee, around any :class:`ferl.FERLClassifier`."""

from ferl._read.conformity import nonconformity
from ferl.conformal.classifier import ConformalFERL

__all__ = ["ConformalFERL", "nonconformity"]
