"""What a report compares the novelty of a row with: the training rows, or their usual novelty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ferl._models.model import Model
from ferl._models.novelty import share_below, usual_residual
from ferl._util.arrays import Floats


@dataclass(frozen=True, eq=False)
class NoveltyScale:
    """What the novelty of a row is compared with.

    Attributes
    ----------
    training : ndarray of shape (101,) or (0,)
        Quantiles of the novelty of the training rows at whole percents; empty where the model does not know them.
    usual : float or None
        Of a model that keeps no rows, the mean novelty of rows like those of training; None otherwise.
    """

    training: Floats
    usual: float | None

    def share(self, novelty: float) -> float | None:
        """The share of the training rows that are less novel, in whole percents; None where nobody knows."""
        return float(share_below(self.training, np.array([novelty]))[0]) if len(self.training) else None


def novelty_scale(model: Model) -> NoveltyScale:
    """Return what the novelty of rows is compared with."""
    quantiles = model.novelty_quantiles
    if quantiles is not None:
        return NoveltyScale(quantiles, None)
    return NoveltyScale(np.zeros(0), None if model.tree.profile.has_exemplars else usual_residual(model.tree))
