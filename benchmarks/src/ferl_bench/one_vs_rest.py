"""Methods of two classes on more: a model for each class against the others, and their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier

from ferl._util.arrays import Floats


def fit_two_or_each(model: Any, X: Floats, y: NDArray[np.int64]) -> Any:
    """Fit a classifier of two classes; one for each class when there are more.

    Two classes go to it directly: scikit-learn's one-vs-rest would compare its scores with a threshold of its own.
    """
    return (model if len(np.unique(y)) == 2 else OneVsRestClassifier(model)).fit(X, y)


def models_of(fitted: Any) -> list[Any]:
    """Return the models that `fit_two_or_each` fitted."""
    return list(fitted.estimators_) if isinstance(fitted, OneVsRestClassifier) else [fitted]


def divide_by_sum(share: Floats) -> Floats:
    """Return each row's shares of the classes divided by their sum; equal ones where no class has any.

    Parameters
    ----------
    share : ndarray of shape (n_rows, n_classes)
        What the model of each class gives to it.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.one_vs_rest import divide_by_sum
    >>> divide_by_sum(np.array([[0.125, 0.375], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    total = share.sum(axis=1, keepdims=True)
    return np.where(total > 0, share / np.where(total > 0, total, 1.0), 1.0 / share.shape[1])
