"""The one place where names that scikit-learn does not document are imported."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "fit_context", "take_rows"]
