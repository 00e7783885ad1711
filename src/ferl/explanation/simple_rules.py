"""Rules as an explanation says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferl.explanation.words import spoken
from ferl.rules import column_names, level_names, read_conditions

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


class SimpleRules:
    """The rules of a model by the numbers of :func:`ferl.export_text`, with names as sentences say them.

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
        return " and ".join(
            own.text(self._names[own.feature], levels=self._levels.get(own.feature)) for own in conditions
        )
