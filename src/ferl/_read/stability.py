"""The stability dial: how the shape of a tree bounds the speed at which its answers change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ferl._model.model import Model
from ferl._util.arrays import Floats


@dataclass(frozen=True)
class StabilityReport:
    """Constants of the paper's stability bound (Prop. 1), and what they are made of.

    All are about rows where the gates are open, and about the max-norm of the change of a row. A firing
    is a product of at most D memberships, so it changes at most D lambda times as fast as the row. The masses of a
    source then change, in sum, by twice that; those of K sources combined, before Dempster's normalisation, by at
    most 2 K D lambda; and probabilities, which are divided by the normaliser Z = 1 - conflict, by
    4 K D lambda / Z. (The paper leaves the factor open and lets it grow with the number of classes; 4 is enough for any
    number, because combining never enlarges the sum of differences of masses.)

    Attributes
    ----------
    n_sources : int
        K, the largest number of sources combined for one row.
    n_rows : int or None
        Number of rows K was observed on; None: the number of all sources, which no row can exceed.
    depth : int
        D, the largest number of conditions on a path.
    slope : float
        lambda, the steepest slope of a membership; infinite where a word has an upright side.
    lipschitz : float
        Constant of the soft vote, from the slopes along each path; much smaller than what K, D and lambda give.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(FERLClassifier("compact", random_state=0).fit(X, y).stability_report(X))
    K                 4  sources combined (the most over 150 rows)
    D                 2  conditions on the longest path
    lambda        3.333  steepest slope of a membership
    D lambda      6.667  bounds the change of a firing
    2 K D lambda  53.33  of the masses before normalisation
    4 K D lambda  106.7  of the probabilities, times 1 / (1 - conflict)
    L             12.02  of the soft vote, from each path's own slopes
    """

    n_sources: int
    n_rows: int | None
    depth: int
    slope: float
    lipschitz: float

    @property
    def firing(self) -> float:
        """Constant of one firing: D lambda."""
        return self.depth * self.slope if self.depth else 0.0

    @property
    def masses(self) -> float:
        """Constant of the masses before normalisation, in L1-norm: 2 K D lambda."""
        return 2 * self.n_sources * self.firing

    @property
    def pignistic(self) -> float:
        """Constant of the pignistic probability, in L1-norm and where nothing is in conflict: 4 K D lambda.

        Where the conflict is at most k, divide it by 1 - k.
        """
        return 2 * self.masses

    def __str__(self) -> str:
        seen = "all sources, a bound for any row" if self.n_rows is None else f"the most over {self.n_rows} rows"
        lines = (
            ("K", f"{self.n_sources}", f"sources combined ({seen})"),
            ("D", f"{self.depth}", "conditions on the longest path"),
            ("lambda", f"{self.slope:.4g}", "steepest slope of a membership"),
            ("D lambda", f"{self.firing:.4g}", "bounds the change of a firing"),
            ("2 K D lambda", f"{self.masses:.4g}", "of the masses before normalisation"),
            ("4 K D lambda", f"{self.pignistic:.4g}", "of the probabilities, times 1 / (1 - conflict)"),
            ("L", f"{self.lipschitz:.4g}", "of the soft vote, from each path's own slopes"),
        )
        width = max(len(value) for _, value, _ in lines)
        return "\n".join(f"{name:12}  {value:>{width}}  {meaning}" for name, value, meaning in lines)


def report_stability(model: Model, rows: Floats | None = None) -> StabilityReport:
    """Read the constants off a model.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns), default=None
        Rows over which the number of sources is counted. None: all sources.

    Returns
    -------
    StabilityReport
    """
    tree, speaks = model.tree, model.speaks
    n_sources, n_rows = int(speaks.sum()), None
    if rows is not None:
        firing = model.fire(rows)
        n_sources, n_rows = int((firing[:, speaks] > 0).sum(axis=1).max()), len(rows)
    return StabilityReport(
        n_sources=n_sources,
        n_rows=n_rows,
        depth=int(tree.depth.max()),
        slope=float(np.max(tree.slope)),
        lipschitz=tree.lipschitz,
    )
