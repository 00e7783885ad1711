"""Explanations: one row's story, and the whole model's, in words that need no legend.

:func:`explain` reads one row: which rules fired, what each gave to belief, where the doubt comes from, how unlike the
training rows it is, and the nearest change of one feature that alters the label. :func:`what_if` gives a
row other values. :func:`overview` reads the model.
"""

from ferl._read.explanation.explain import explain
from ferl._read.explanation.overview import Overview, feature_importances
from ferl._read.explanation.sentences import Explanation
from ferl._read.explanation.what_if import WhatIf, what_if

__all__ = ["Explanation", "Overview", "WhatIf", "explain", "feature_importances", "what_if"]
