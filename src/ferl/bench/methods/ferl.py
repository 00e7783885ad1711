"""FERL with learned splits, the paper's two tree sizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl.bench.method import Method

if TYPE_CHECKING:
    from ferl import FERLClassifier


def fit(parameters: dict[str, Any], X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> FERLClassifier:
    """Fit with these parameters on one thread."""
    # Imported here so that a compiled core that does not load is this method's failure and not the benchmark's.
    from ferl import FERLClassifier

    classifier = FERLClassifier(**parameters, random_state=seed, n_jobs=1)
    classifier.fit(X, y)
    return classifier


def size(fitted: FERLClassifier) -> int:
    """Return the number of rules."""
    return int(fitted.n_rules_)


def prediction_set(fitted: FERLClassifier, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the sets the evidence itself gives, without calibration."""
    sets: NDArray[np.bool_] = fitted.predict_set(X)
    return sets


def _method(variant: str, paper: dict[str, float]) -> Method:
    return Method(
        name=f"FERL-{variant}",
        fit=partial(fit, {"variant": variant}),
        size=size,
        prediction_set=prediction_set,
        parameters={"variant": variant},
        is_ours=True,
        paper=paper,
    )


METHODS = (
    _method("medium", {"accuracy": 79.21, "aurc": 12.72, "size": 43}),
    _method(
        "deep",
        {
            "accuracy": 83.23,
            "aurc": 9.21,
            "ece": 15.8,
            "size": 143,
            "determinacy": 0.74,
            "set_coverage": 0.92,
            "set_size": 1.70,
            "u65": 0.795,
            "u80": 0.827,
        },
    ),
)
