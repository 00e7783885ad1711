"""Measures for answers that come with a confidence, as a set of classes, or with a novelty; exact and without chance.

* *Selection*: answer only the rows one is most confident about. `aurc`, `augrc`, `risk_coverage_curve`,
  `accuracy_at_coverage` and `accuracy_under_abstention`.
* *Calibration*: do probabilities match frequencies. `expected_calibration_error`, `adaptive_calibration_error`,
  `brier_score` and `reliability_curve`.
* *Sets*: answer with every class that is in the set. `u65`, `u80`, `set_coverage`, `coverage_by_class`,
  `determinacy` and `mean_set_size` take a boolean prediction set of shape (n_samples, n_classes).
* *Novelty*: separate rows of unknown kinds from known ones. `novelty_auroc`, `novelty_aupr`, `rejection_at_acceptance`
  and `fpr95`.
* *Groups*: `metrics_by_group` compares accuracy, abstention and error rates of groups of rows.
* *Two classifiers*: `compare` has the differences of accuracy, AUC and log-loss with their intervals.

Every value is a fraction, not a percentage; all but `mean_set_size` and `brier_score` lie in [0, 1]. Where rows have
equal confidence or novelty, the expectation over their random order counts, so that the order of the rows in the file
never matters. `SCORERS` has the measures that scikit-learn's searches and cross-validation can use.
"""

from ferl.metrics.comparison import GroupMetrics, metrics_by_group
from ferl.metrics.confidence import (
    SCORERS,
    Scorer,
    accuracy_at_coverage,
    accuracy_under_abstention,
    adaptive_calibration_error,
    augrc,
    aurc,
    brier_score,
    expected_calibration_error,
    fpr95,
    novelty_aupr,
    novelty_auroc,
    rejection_at_acceptance,
    reliability_curve,
    risk_coverage_curve,
)
from ferl.metrics.sets import coverage_by_class, determinacy, mean_set_size, set_coverage, u65, u80
from ferl.metrics.two_models import Comparison, compare

__all__ = [
    "SCORERS",
    "Comparison",
    "GroupMetrics",
    "Scorer",
    "accuracy_at_coverage",
    "accuracy_under_abstention",
    "adaptive_calibration_error",
    "augrc",
    "aurc",
    "brier_score",
    "compare",
    "coverage_by_class",
    "determinacy",
    "expected_calibration_error",
    "fpr95",
    "mean_set_size",
    "metrics_by_group",
    "novelty_aupr",
    "novelty_auroc",
    "rejection_at_acceptance",
    "reliability_curve",
    "risk_coverage_curve",
    "set_coverage",
    "u65",
    "u80",
]
