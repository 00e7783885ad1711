"""Probabilities of several lists or models, one for each class against the others."""

from __future__ import annotations

import numpy as np

from ferl._util.arrays import Floats


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
