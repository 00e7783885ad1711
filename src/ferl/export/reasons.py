"""Reason codes: what cost a row most on its way to a class, as lenders must say of adverse decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._models.rule_model import RuleModel
from ferl._read.reasons import POINTS_TO_DOUBLE, Reason, read_reasons
from ferl.rules import FERLClassifier

__all__ = ["Reason", "reason_codes"]


def reason_codes(
    estimator: FERLClassifier,
    X: ArrayLike,
    n: int = 4,
    *,
    positive: Any = None,
    against: str = "average",
    points_to_double: float = POINTS_TO_DOUBLE,
    feature_names: Sequence[str] | None = None,
    rival: Any = None,
) -> list[tuple[Reason, ...]]:
    """What cost each row most on its way to a class.

    All rules on one feature are one reason, each rule on several features is one.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, of wide rules.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows.
    n : int, default=4
        At most so many reasons for each row.
    positive : label, default=None
        The class that a row should have had. None: the second of two classes; three and more classes need it.
    against : {"average", "best"}, default="average"
        What a row is compared with: the average training row, which is one of the two methods that the official
        interpretation of Regulation B (12 CFR 1002.9(b)(2), comment 5) describes, or the most that any value of the
        feature and any fit of the rule could get.
    points_to_double : float, default=20
        As in :func:`ferl.export.export_scorecard`.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
    rival : label, default=None
        The class that ``positive`` is compared with: what a reason cost are then log-odds of these two. None: the other
        of two classes; of three and more the evidence for ``positive`` counts alone.

    Returns
    -------
    list of tuple of Reason
        For each row what cost it most, first; fewer than ``n`` where less cost it anything. Where all gates are closed
        nothing is said, and there is no reason.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.export import reason_codes
    >>> data = load_breast_cancer()
    >>> clf = FERLClassifier(max_rules=8, max_conditions=1, random_state=0).fit(data.data, data.target)
    >>> for reason in reason_codes(clf, data.data[:1], n=2, feature_names=data.feature_names)[0]:
    ...     print(reason)
    worst area is 2019: 162 points below the average row
    radius error is 1.095: 68 points below the average row
    """
    model = model_of(estimator, "reason_codes", RuleModel, "FERLClassifier")
    return read_reasons(model, estimator._rows(X), n, positive, against, points_to_double, feature_names, rival)
