"""FERL as its authors released it, in the package ex_fuzzy.

The package is under the AGPL. ferl neither depends on it nor shares code with it; it is imported by this row of the
benchmark alone, through its public classes, and only where someone has installed it.

"DeepFERL" answers with the pignistic probability of Dempster's rule over the leaves, "DeepFERL, soft vote" with the
mean of the leaves weighted by their firing; trees and prediction sets are the same. "FERL compact" has words fixed
before learning and answers with the soft vote. All parameters are the package's defaults.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.methods.ferl import PAPER_COMPACT, PAPER_DEEP


class Pignistic:
    """A fitted model that answers with the pignistic probability of its combined evidence."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes_ = model.classes_

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return pignistic probabilities; shape (n_rows, n_classes)."""
        return np.asarray(self.model.predict_credal(X)[0], dtype=np.float64)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the most probable labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_set(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the classes whose plausibility reaches the largest belief; shape (n_rows, n_classes)."""
        return prediction_set(self.model, X)

    def n_rules(self) -> int:
        """Return the number of leaves."""
        return size(self.model)


def fit(kind: str, pignistic: bool, X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Fit the class of that name with its defaults."""
    model = getattr(require("ex_fuzzy", "agpl"), kind)(random_state=seed)
    model.fit(X, y)
    return Pignistic(model) if pignistic else model


def size(fitted: Any) -> int:
    """Return the number of rules."""
    return int(fitted.n_rules())


def prediction_set(fitted: Any, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the sets the evidence itself gives."""
    return np.asarray(fitted.predict_set(X), dtype=np.bool_)


def _method(name: str, kind: str, pignistic: bool, paper: dict[str, float]) -> Method:
    return Method(
        name=f"ex_fuzzy {name}",
        fit=partial(fit, kind, pignistic),
        size=size,
        prediction_set=prediction_set,
        parameters={"kind": kind, "pignistic": pignistic},
        packages=("numpy", "scikit-learn", "ex_fuzzy"),
        code=("ferl_bench/methods/ex_fuzzy.py",),
        paper=paper,
    )


METHODS = (
    _method("DeepFERL", "DeepFERL", True, PAPER_DEEP),
    _method("DeepFERL, soft vote", "DeepFERL", False, {}),
    _method("FERL compact", "FERL", False, PAPER_COMPACT),
)
