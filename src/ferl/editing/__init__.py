"""An expert's hand on wide rules: drop or lock a rule, set a weight, change a curve, forbid a feature."""

from ferl.editing.classifier import EditedFERL, edit

__all__ = ["EditedFERL", "edit"]
