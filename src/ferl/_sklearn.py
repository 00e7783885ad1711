"""The one place where names that scikit-learn does not document are imported."""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "check_parameters", "fit_context", "take_rows"]


def check_parameters(estimator: Any) -> None:
    """Refuse parameters out of their range; ``fit_context`` leaves those of a fitted model unchecked in partial_fit."""
    estimator._validate_params()
