"""What the training rows of each node look like, and the units in which novelty measures how far away a row is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats, Ints

LEAST_VARIANCE = 1e-305  # the reciprocals of smaller ones overflow
LEAST_SHARE = 0.05  # of a feature's variance over all rows, that its variance inside a leaf is taken to be at least


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What the training rows of each node look like.

    Attributes
    ----------
    mean, variance : ndarray of shape (n_nodes, n_features)
        Weighted by firing.
    exemplar : ndarray of shape (n_nodes, n_exemplars), int32
        Some of the rows that reach each node, as indices in ``exemplar_row``; -1 where a node has fewer.
    exemplar_row : ndarray of shape (n_kept, n_features)
        Training rows that are exemplars of some node.
    known_weight : ndarray of shape (n_nodes, n_features), optional
        Weight behind each mean and variance: that of the rows whose value is not missing. None: no value is, and it is
        the node's.
    """

    mean: Floats
    variance: Floats
    exemplar: Ints
    exemplar_row: Floats
    known_weight: Floats | None = None

    def keep(self, kept: NDArray[np.bool_]) -> Profile:
        """Without the nodes that are not ``kept``, and without the rows that were exemplars of these alone."""
        exemplar = self.exemplar[kept]
        still = np.zeros(len(self.exemplar_row), dtype=bool)
        still[exemplar[exemplar >= 0]] = True
        place = np.append(np.cumsum(still, dtype=np.int32) - 1, np.int32(-1))  # the last one: where there is none
        known = None if self.known_weight is None else self.known_weight[kept]
        return Profile(self.mean[kept], self.variance[kept], place[exemplar], self.exemplar_row[still], known)

    @staticmethod
    def partly_known(known_weight: Floats, weight: Floats) -> Floats | None:
        """``known_weight``, or None where it is all of the nodes' weight, shape (n_nodes,), but for rounding."""
        return known_weight if (known_weight < (1 - 1e-9) * weight[:, None]).any() else None

    @property
    def has_exemplars(self) -> bool:
        """Whether any training row is kept."""
        return len(self.exemplar_row) > 0

    @property
    def total_variance(self) -> Floats:
        """Variance over all rows, shape (n_features,); never 0.

        A constant feature has that of its own magnitude, or of one where it is zero.
        """
        total, mean = self.variance[0], self.mean[0]
        return np.maximum(np.where(total > 0, total, np.where(mean != 0, mean**2, 1.0)), LEAST_VARIANCE)
