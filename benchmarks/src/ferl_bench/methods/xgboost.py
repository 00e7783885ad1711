"""XGBoost: a hundred rounds of boosted trees. Needs the package of that name, which ferl does not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method

N_ROUNDS = 100


class Boosted:
    """XGBoost's classifier for labels with gaps: it wants 0, 1, ... and a rare class can be absent from a fold."""

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> None:
        xgboost = require("xgboost")
        self.classes_, label = np.unique(y, return_inverse=True)
        self.booster_: Any = xgboost.XGBClassifier(n_estimators=N_ROUNDS, random_state=seed, n_jobs=1, verbosity=0)
        self.booster_.fit(X, label)

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, n_classes)."""
        return np.asarray(self.booster_.predict_proba(X), dtype=np.float64)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def size(fitted: Boosted) -> int:
    """Return the number of leaves of all trees."""
    return sum(tree.count("leaf=") for tree in fitted.booster_.get_booster().get_dump())


METHODS = (
    Method(
        name="XGBoost",
        fit=Boosted,
        size=size,
        parameters={"n_rounds": N_ROUNDS},
        packages=("numpy", "scikit-learn", "xgboost"),
        paper={"accuracy": 85.58, "aurc": 6.60},
        is_interpretable=False,
    ),
)
