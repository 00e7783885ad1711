"""What a fitted model has: all that answers are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from ferl.tree import FuzzyTree

if TYPE_CHECKING:
    from ferl.frames import Columns


class Fitted(Protocol):
    """A fitted :class:`ferl.FERLClassifier`, or the contents of its model file."""

    variant: str
    combination: str
    sources: str | None
    discount: float
    support_gate: bool
    gate_margin: float
    n_jobs: int | None
    tree_: FuzzyTree
    classes_: NDArray[Any]
    columns_: Columns
    missing_features_: tuple[int, ...]
