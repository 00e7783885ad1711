"""Evidence that has not been computed yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray

from ferl.evidence import Evidence


@dataclass(frozen=True, eq=False, repr=False)
class DaskEvidence:
    """The combined evidence of rows, as dask arrays: what :class:`ferl.Evidence` holds, computed on demand.

    Attributes
    ----------
    belief : dask Array of shape (n_rows, n_classes)
        Mass committed to each class.
    ignorance : dask Array of shape (n_rows,)
        Mass committed to no class.
    conflict : dask Array of shape (n_rows,)
        Share of the evidence that contradicted itself.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    """

    belief: Any
    ignorance: Any
    conflict: Any
    classes: NDArray[Any]

    @classmethod
    def from_columns(cls, columns: Any, classes: NDArray[Any]) -> DaskEvidence:
        """From a dask array of shape (n_rows, n_classes + 2): beliefs, ignorance, conflict."""
        n_classes = len(classes)
        return cls(columns[:, :n_classes], columns[:, n_classes], columns[:, n_classes + 1], classes)

    def __repr__(self) -> str:
        n_blocks, n_classes = self.belief.numblocks[0], len(self.classes)
        return f"<DaskEvidence: {n_blocks} partitions, {n_classes} classes, not computed>"

    @property
    def plausibility(self) -> Any:
        """What the evidence does not exclude, dask Array of shape (n_rows, n_classes)."""
        return self.belief + self.ignorance[:, None]

    @property
    def pignistic(self) -> Any:
        """Probability for decisions, dask Array of shape (n_rows, n_classes)."""
        return self.belief + self.ignorance[:, None] / len(self.classes)

    def prediction_set(self) -> Any:
        """Classes that no other class dominates, dask Array of bool of shape (n_rows, n_classes)."""
        return self.plausibility >= self.belief.max(axis=1, keepdims=True)

    def compute(self) -> Evidence:
        """The evidence itself, of all rows, in the memory of the caller."""
        belief, ignorance, conflict = dask.compute(self.belief, self.ignorance, self.conflict)
        return Evidence(np.asarray(belief), np.asarray(ignorance), np.asarray(conflict), self.classes)
