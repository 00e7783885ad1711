"""Answers with a promised error rate: the classifier abstains where it could not keep the promise."""

from ferl.abstention.bounds import clopper_pearson, least_answered_rows, risk_p_value
from ferl.abstention.classifier import RiskControlledFERL
from ferl.abstention.control import RiskControl, UnmetRiskWarning

__all__ = [
    "RiskControl",
    "RiskControlledFERL",
    "UnmetRiskWarning",
    "clopper_pearson",
    "least_answered_rows",
    "risk_p_value",
]
