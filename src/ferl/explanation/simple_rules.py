"""Rules as an explanation says them: one interval for each feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferl.explanation.words import spoken
from ferl.rules import Condition, column_names, level_names, read_conditions

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


class SimpleRules:
    """The rules of a model in short.

    Several bounds on one feature become one interval, by the tightest bound on either side. (Where bands overlap the
    wider ones still lower the firing a little; :func:`ferl.export_text` prints all of them.)

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.

    Attributes
    ----------
    number : dict
        Place of each leaf among the rules of :func:`ferl.export_text`, from 1.
    """

    def __init__(self, estimator: FERLClassifier) -> None:
        self._tree = estimator.tree_
        self._names = [spoken(name) for name in column_names(estimator)]
        self._levels = level_names(estimator)
        leaves = sorted(self._tree.leaves.tolist(), key=lambda leaf: -self._tree.weight[leaf])
        self.number = {leaf: place for place, leaf in enumerate(leaves, 1)}

    def text(self, node: int) -> str:
        """What follows "if" on the way to a node; "" at the root."""
        conditions = read_conditions(self._tree, node)
        if not self._tree.word:
            conditions = _tightest(conditions)
        return " and ".join(
            own.text(self._names[own.feature], levels=self._levels.get(own.feature)) for own in conditions
        )


def _tightest(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The first condition on each feature, which has the tightest bounds."""
    first: dict[int, Condition] = {}
    for condition in conditions:
        first.setdefault(condition.feature, condition)
    return tuple(first.values())
