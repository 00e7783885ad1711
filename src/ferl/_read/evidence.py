"""Evidence: belief, plausibility and ignorance that a model gives to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._model.model import Model
from ferl._util.arrays import Bools, Floats

# Evidence counts grow without bound as ignorance vanishes; below this they would say nothing more.
_LEAST_IGNORANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The combined evidence for a block of rows.

    A row's masses lie on single classes (``belief``) and on the whole frame (``ignorance``), and sum to one. For every
    class ``belief <= pignistic <= plausibility``.

    Attributes
    ----------
    belief : ndarray of shape (n_samples, n_classes)
        Mass committed to each class: what the evidence proves.
    ignorance : ndarray of shape (n_samples,)
        Mass committed to no class: 1 when nothing fires.
    conflict : ndarray of shape (n_samples,)
        Share of the evidence that contradicted itself and was removed by Dempster's normalisation.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> e = Evidence(np.array([[0.7, 0.2]]), np.array([0.1]), np.array([0.0]), np.array(["no", "yes"]))
    >>> e.plausibility
    array([[0.8, 0.3]])
    >>> e.pignistic
    array([[0.75, 0.25]])
    >>> e.prediction_set()
    array([[ True, False]])
    >>> e
    <Evidence: 1 rows, 2 classes, mean ignorance 0.100>
    """

    belief: Floats
    ignorance: Floats
    conflict: Floats
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.belief)

    def __getitem__(self, rows: Any) -> Evidence:
        """The evidence of some rows: a slice, a mask, numbers, or one number."""
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        return Evidence(self.belief[chosen], self.ignorance[chosen], self.conflict[chosen], self.classes)

    def __repr__(self) -> str:
        n_rows, n_classes = self.belief.shape
        return f"<Evidence: {n_rows} rows, {n_classes} classes, mean ignorance {self.ignorance.mean():.3f}>"

    @property
    def plausibility(self) -> Floats:
        """What the evidence does not exclude, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None])

    @property
    def pignistic(self) -> Floats:
        """Probability for decisions: the ignorance shared equally among the classes, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] / self.belief.shape[1])

    @property
    def dirichlet(self) -> Floats:
        """Parameters of the equivalent Dirichlet distribution of subjective logic, shape (n_samples, n_classes).

        ``alpha(c) = C * belief(c) / ignorance + 1``, with C classes as the weight of the uniform prior. Its mean is
        the pignistic probability. Ignorance counts as at least 1e-9, so that certainty stays finite.
        """
        least = np.maximum(self.ignorance, _LEAST_IGNORANCE)
        return np.asarray(self.belief.shape[1] * self.belief / least[:, None] + 1.0)

    def prediction_set(self) -> Bools:
        """Classes whose plausibility is at least the largest belief, shape (n_samples, n_classes).

        The whole frame is an abstention.
        """
        return np.asarray(self.plausibility >= self.belief.max(axis=1, keepdims=True))


def read_evidence(model: Model, rows: Floats, n_threads: int = 1) -> Evidence:
    """Fire rows through a model and combine what its sources say.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns), float64
        Rows as the model reads them.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    Evidence
    """
    belief, ignorance, conflict = np.empty((len(rows), len(model.classes))), np.empty(len(rows)), np.empty(len(rows))
    model.sources.combine(rows, n_threads, belief, ignorance, conflict)
    return Evidence(belief, ignorance, conflict, model.classes)
