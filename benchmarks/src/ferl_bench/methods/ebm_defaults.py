"""EBM with every default of its package, interpret-core: 14 outer bags, three times as many pairs as features.

The row "EBM" has simplifications for time; this one has none, so that a rival is met at its best. It is slow: on one
core 20 s for a fold of pima and 165 s for one of wdbc. It therefore has a budget, and its row says on how many data
sets it stands (`ferl bench frontier --method-minutes 0` gives it all the time it takes).

A file of its own: results of the row "EBM" do not expire with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Fit the package's classifier in this process, on one thread; all else is as the package has it."""
    return require("interpret.glassbox").ExplainableBoostingClassifier(n_jobs=1, random_state=seed).fit(X, y)


METHODS = (
    Method(
        name="EBM (defaults)",
        fit=fit,
        packages=("numpy", "scikit-learn", "interpret-core"),
        code=("ferl_bench/methods/ebm_defaults.py",),
        budget_minutes=60,
    ),
)
