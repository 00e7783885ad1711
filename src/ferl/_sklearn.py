"""The one place where names that scikit-learn does not document are imported."""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "changed_parameters", "check_parameters", "fit_context", "take_rows"]


def check_parameters(estimator: Any) -> None:
    """Refuse parameters out of their range; ``fit_context`` leaves those of a fitted model unchecked in partial_fit."""
    estimator._validate_params()


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from the defaults, with their values."""
    defaults = type(estimator)().get_params()
    return {name: value for name, value in estimator.get_params().items() if str(value) != str(defaults[name])}
