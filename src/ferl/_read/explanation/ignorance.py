"""Where a row's ignorance comes from, in parts that add up to it."""

from __future__ import annotations

from dataclasses import dataclass

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._util.arrays import Floats


@dataclass(frozen=True)
class Doubt:
    """The ignorance of a row, split by cause.

    What no source claims is ``U = ignorance * (1 - conflict)``. Dempster's normalisation enlarges it to the ignorance:
    that much is conflict's. Opening all gates, then believing every source fully, can only lower U: the two steps are
    what lost support and thin support add. What remains would be there even so: rules that fire weakly.

    Wide rules have two causes: closed gates, and weights of evidence that are small or balance each other.

    Attributes
    ----------
    weak_firing : float
        Rules fire only in part: the row lies inside bands, values are missing, or no word fits. Of wide rules: what the
        weights for and against the classes leave open.
    thin_support : float
        Rules are discounted because few training rows are behind them; 0 unless ``discount`` is set.
    lost_support : float
        Gates that close because values lie outside what rules saw in training.
    conflict : float
        Rules that contradict each other; 0 for wide rules, whose weights are netted first.
    """

    weak_firing: float
    thin_support: float
    lost_support: float
    conflict: float

    @property
    def main(self) -> str:
        """The name of the largest part."""
        parts = {name: getattr(self, name) for name in ("lost_support", "conflict", "thin_support", "weak_firing")}
        return max(parts, key=lambda name: float(parts[name]))


def split_ignorance(model: Model, row: Floats, evidence: Evidence) -> Doubt:
    """The parts of a row's ignorance.

    Parameters
    ----------
    model : Model
        The model.
    row : ndarray of shape (1, n_columns)
        The row, as the tree reads it.
    evidence : Evidence
        The model's evidence on it.

    Returns
    -------
    Doubt
    """
    ignorance = float(evidence.ignorance[0])
    if isinstance(model, RuleModel):  # weights that are all smaller by one factor leave more open
        opened = min(float(model.with_gates_open.evidence(row).ignorance[0]), ignorance)
        return Doubt(opened, 0.0, ignorance - opened, 0.0)
    unclaimed = min(_unclaimed(evidence), ignorance)
    # Each is at most the one before; the minimum takes away what rounding adds.
    opened = min(_unclaimed(model.with_gates_open.evidence(row)), unclaimed)
    full = min(_unclaimed(model.fully_believed.evidence(row)), opened)
    return Doubt(full, opened - full, unclaimed - opened, ignorance - unclaimed)


def _unclaimed(evidence: Evidence) -> float:
    return float(evidence.ignorance[0] * (1 - evidence.conflict[0]))
