"""The measures as scorers for scikit-learn's searches and cross-validation: larger is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ferl.metrics.calibration import adaptive_calibration_error, brier_score, expected_calibration_error
from ferl.metrics.selection import augrc, aurc
from ferl.metrics.sets import determinacy, mean_set_size, set_coverage, u65, u80


@dataclass(frozen=True)
class Scorer:
    """A measure that is called like a scorer: ``scorer(estimator, X, y)``.

    Attributes
    ----------
    name : str
        As in `SCORERS`; measures of which less is better are negated and begin with ``neg_``.
    measure : callable
        The measure.
    sign : float
        1, or -1 where less is better.
    reads : {"answers", "probabilities", "labelled_sets", "sets"}
        What the measure takes: labels and confidences, probabilities, sets with the true labels, or sets alone. Sets
        are those of the estimator's ``predict_set(X)``.
    """

    name: str
    measure: Callable[..., float]
    sign: float
    reads: str

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Judge a fitted estimator; a larger number is better."""
        if self.reads == "sets":
            return self.sign * self.measure(estimator.predict_set(X))
        if self.reads == "labelled_sets":
            return self.sign * self.measure(y, estimator.predict_set(X), estimator.classes_)
        probability = np.asarray(estimator.predict_proba(X))
        if self.reads == "probabilities":
            return self.sign * self.measure(y, probability, estimator.classes_)
        label = np.asarray(estimator.classes_)[probability.argmax(axis=1)]
        return self.sign * self.measure(y, label, probability.max(axis=1))

    def __repr__(self) -> str:
        return f"ferl.metrics.SCORERS[{self.name!r}]"


SCORERS = {
    scorer.name: scorer
    for scorer in (
        Scorer("neg_aurc", aurc, -1.0, "answers"),
        Scorer("neg_augrc", augrc, -1.0, "answers"),
        Scorer("neg_expected_calibration_error", expected_calibration_error, -1.0, "answers"),
        Scorer("neg_adaptive_calibration_error", adaptive_calibration_error, -1.0, "answers"),
        Scorer("neg_brier_score", brier_score, -1.0, "probabilities"),
        Scorer("u65", u65, 1.0, "labelled_sets"),
        Scorer("u80", u80, 1.0, "labelled_sets"),
        Scorer("set_coverage", set_coverage, 1.0, "labelled_sets"),
        Scorer("determinacy", determinacy, 1.0, "sets"),
        Scorer("neg_mean_set_size", mean_set_size, -1.0, "sets"),
    )
}
"""By name: for ``cross_validate(clf, X, y, scoring=SCORERS)``, or one of them in a search."""
