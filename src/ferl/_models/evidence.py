"""Evidence: belief, plausibility and ignorance of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._util.arrays import Bools, Floats

# Evidence counts grow without bound as ignorance vanishes; below this they mean nothing more.
_LEAST_IGNORANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The combined evidence for a block of rows.

    The masses lie on single classes (``belief``) and on the set of all classes (``ignorance``), and sum to one. For
    every class ``belief <= pignistic <= plausibility``.

    Attributes
    ----------
    belief : ndarray of shape (n_samples, n_classes)
        Mass committed to each class: the least that supports it.
    ignorance : ndarray of shape (n_samples,)
        Mass committed to no class: 1 when no rule applies.
    conflict : ndarray of shape (n_samples,)
        Share of the evidence that contradicted itself: the mass that Dempster's normalisation removed from the evidence
        of a tree, or the share of all weights of evidence that cancelled.
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

    def arrays(self) -> dict[str, Floats]:
        """All that differs from row to row, by the names of the attributes."""
        return {name: value for name, value in vars(self).items() if name != "classes"}

    def __getitem__(self, rows: Any) -> Self:
        """The evidence of some rows: a slice, a mask, numbers, or one number."""
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        return replace(self, **{name: array[chosen] for name, array in self.arrays().items()})

    @staticmethod
    def stack(parts: Sequence[Evidence]) -> Evidence:
        """The evidence of several blocks of rows as one."""
        arrays = {name: np.concatenate([part.arrays()[name] for part in parts]) for name in parts[0].arrays()}
        return replace(parts[0], **arrays)

    def __repr__(self) -> str:
        n_rows, n_classes = self.belief.shape
        return f"<Evidence: {n_rows} rows, {n_classes} classes, mean ignorance {self.ignorance.mean():.3f}>"

    @property
    def plausibility(self) -> Floats:
        """What the evidence does not rule out, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None])

    @property
    def probability(self) -> Floats:
        """What ``predict_proba`` returns, shape (n_samples, n_classes)."""
        return self.pignistic

    @property
    def pignistic(self) -> Floats:
        """Each mass shared equally among the classes it lies on, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] / self.belief.shape[1])

    @property
    def committed(self) -> Floats:
        """What costs of mistakes are weighed by, shape (n_samples, n_classes), up to a factor for each row.

        The belief: ignorance belongs to no class, and an equal share of it would make a costly rare class the label of
        every doubtful row.
        """
        return self.belief

    @property
    def dirichlet(self) -> Floats:
        """Parameters of the equivalent Dirichlet distribution of subjective logic, shape (n_samples, n_classes).

        ``alpha(c) = C * belief(c) / ignorance + 1``, with C classes as the weight of the uniform prior. Its mean is
        the pignistic probability. Ignorance counts as at least 1e-9, so that certainty stays finite.
        """
        least = np.maximum(self.ignorance, _LEAST_IGNORANCE)
        return np.asarray(self.belief.shape[1] * self.belief / least[:, None] + 1.0)

    def prediction_set(self) -> Bools:
        """Classes whose plausibility is at least the largest belief but for 1e-12, shape (n_samples, n_classes).

        A smaller difference is a tie that rounding would decide. The set of all classes is an abstention.
        """
        return np.asarray(self.plausibility >= self.belief.max(axis=1, keepdims=True) - _core.TIE)

    # What calibration moves: how the committed mass is divided, and how the ignorance is shared.
    least_share: ClassVar[float] = 1e-12  # logarithms of smaller shares mean nothing more
    can_share: ClassVar[bool] = True  # whether a base rate may decide where the ignorance of a row goes

    @property
    def shares(self) -> Floats:
        """How beliefs divide the committed mass, equally where there is none, shape (n_samples, n_classes)."""
        committed = self.belief.sum(axis=1, keepdims=True)
        equal = np.full(self.belief.shape, 1 / self.belief.shape[1])
        return np.asarray(np.divide(self.belief, committed, out=equal, where=committed > 0))

    def with_shares(self, shares: Floats, sharing: float) -> Evidence:
        """The evidence with other shares; ``sharing``: the part of the ignorance that follows them."""
        belief = shares * self.belief.sum(axis=1, keepdims=True)
        base_rate = (1 - sharing) / shares.shape[1] + sharing * shares
        return BettingEvidence(belief, self.ignorance, self.conflict, self.classes, base_rate)


@dataclass(frozen=True, eq=False, repr=False)
class BettingEvidence(Evidence):
    """Evidence with a base rate: where the ignorance of a row goes in its probability.

    Belief, plausibility, ignorance and the prediction set are those of any evidence; ``belief <= pignistic <=
    plausibility`` holds for every base rate.

    Attributes
    ----------
    base_rate : ndarray of shape (n_samples, n_classes)
        Shares of the classes in the ignorance, summing to one in every row. Equal ones give plain evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.calibration import BettingEvidence
    >>> rate = np.array([[0.75, 0.25]])
    >>> row = BettingEvidence(np.array([[0.6, 0.0]]), np.array([0.4]), np.zeros(1), np.array(["no", "yes"]), rate)
    >>> row.pignistic
    array([[0.9, 0.1]])
    """

    base_rate: Floats

    @property
    def pignistic(self) -> Floats:
        """Probability for decisions: the ignorance shared by the base rate, shape (n_samples, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] * self.base_rate)

    @property
    def committed(self) -> Floats:
        """The probability, whose ignorance is shared by the base rate, shape (n_samples, n_classes)."""
        return self.pignistic

    @property
    def dirichlet(self) -> Floats:
        """As in :class:`ferl.Evidence`, with the base rate as the mean of the prior, shape (n_samples, n_classes)."""
        equal = super().dirichlet
        return np.asarray(equal - 1.0 + self.belief.shape[1] * self.base_rate)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreEvidence(Evidence):
    """The evidence of scores, sums of weights of evidence; their masses also lie on sets of some of the classes.

    Attributes
    ----------
    belief, ignorance, conflict, classes
        As in :class:`Evidence`.
    upper : ndarray of shape (n_samples, n_classes)
        The plausibility, which does not follow from the attributes before.
    softmax : ndarray of shape (n_samples, n_classes)
        The probability: the softmax of the scores, which is their normalised plausibility.
    support : ndarray of shape (n_samples,)
        How far gates are open. The masses of the scores are discounted by it: the rest lies on the set of all classes.
    """

    upper: Floats
    softmax: Floats
    support: Floats

    least_share: ClassVar[float] = 1e-300  # weights of evidence are logarithms of probabilities
    can_share: ClassVar[bool] = False

    @classmethod
    def empty(cls, n_rows: int, classes: NDArray[Any]) -> ScoreEvidence:
        """Arrays of this shape for the compiled core to fill."""
        shape = n_rows, len(classes)
        belief, upper, softmax = np.empty(shape), np.empty(shape), np.empty(shape)
        return cls(belief, np.empty(n_rows), np.empty(n_rows), classes, upper, softmax, np.ones(n_rows))

    @classmethod
    def of_scores(
        cls, scores: Floats, conflict: Floats, classes: NDArray[Any], support: Floats | None = None
    ) -> ScoreEvidence:
        """The evidence of summed weights of evidence.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            The sums; only their differences within a row count.
        conflict : ndarray of shape (n_samples,)
            Share of the weights that cancelled, which cannot be computed from sums.
        classes : ndarray of shape (n_classes,)
            Labels.
        support : ndarray of shape (n_samples,), default=None
            How far gates are open. None: fully.
        """
        # Where all scores are equal there is no evidence, exactly: a mean of equal numbers may differ by rounding.
        own = np.ascontiguousarray(scores - scores.max(axis=1, keepdims=True))
        found = replace(cls.empty(len(own), classes), conflict=conflict)
        _core.weigh_scores(own, found.belief, found.upper, found.softmax, found.ignorance)
        if support is None or len(classes) == 1:  # of a single class nothing is open
            return found
        is_open = support[:, None]
        return replace(
            found,
            belief=found.belief * is_open,
            upper=found.upper * is_open + (1 - is_open),
            ignorance=found.ignorance * support + (1 - support),
            support=support,
        )

    @property
    def plausibility(self) -> Floats:
        """What the evidence does not rule out, shape (n_samples, n_classes)."""
        return self.upper

    @property
    def probability(self) -> Floats:
        """The softmax of the scores, shape (n_samples, n_classes)."""
        return self.softmax

    @property
    def shares(self) -> Floats:
        """The probability, shape (n_samples, n_classes)."""
        return self.softmax

    @property
    def committed(self) -> Floats:
        """The probability, shape (n_samples, n_classes)."""
        return self.softmax

    def with_shares(self, shares: Floats, sharing: float) -> Evidence:
        """The evidence of scores whose probability the shares are."""
        scores = np.log(np.maximum(shares, self.least_share))
        return self.of_scores(scores, self.conflict, self.classes, self.support)

    @property
    def pignistic(self) -> Floats:
        """Each mass shared equally among the classes it lies on, shape (n_samples, n_classes).

        A set of several classes has the mass ``eta prod(e_c inside) prod(1 - e_c outside)``. Its share for each of its
        classes is an integral of ``prod(1 - e + e t)`` over t from 0 to 1, a polynomial, which Gauss's rule gives
        exactly.
        """
        scores = np.log(self.probability)
        weight = scores - scores.mean(axis=1, keepdims=True)
        stays = np.exp(np.minimum(weight, 0.0))
        withheld = 1 - self.support
        eta = (self.plausibility.max(axis=1) - withheld) / np.exp(weight.max(axis=1))
        nodes, shares = np.polynomial.legendre.leggauss(weight.shape[1] // 2 + 1)
        integral = np.zeros_like(stays)
        for t, share in zip((nodes + 1) / 2, shares / 2, strict=True):
            factor = 1 - stays + stays * t
            integral += share * factor.prod(axis=1, keepdims=True) / factor
        outside = 1 - stays
        alone = np.stack([np.delete(outside, c, axis=1).prod(axis=1) for c in range(stays.shape[1])], axis=1)
        equally = withheld[:, None] / weight.shape[1]
        return np.asarray(self.belief + eta[:, None] * stays * (integral - alone) + equally)

    @property
    def dirichlet(self) -> Floats:
        """Refused: no Dirichlet distribution gives mass to sets of some of the classes."""
        raise ValueError(
            "The evidence of rules also gives mass to sets of some of the classes, which no Dirichlet distribution "
            "has; use belief and plausibility."
        )


@dataclass(frozen=True)
class Doubt:
    """The ignorance of a row, split by cause.

    What no source claims is ``U = ignorance * (1 - conflict)``. Dempster's normalisation enlarges it to the ignorance:
    that much is conflict's. Opening all gates, then believing every source fully, can only lower U: the two steps are
    what lost support and thin support add. What remains would be there even so: rules that fire weakly.

    Rules whose weights add up have two causes: closed gates, and weights that are small or balance each other.

    Attributes
    ----------
    weak_firing : float
        Rules fire only in part: the row lies inside bands, values are missing, or no word fits. Of rules: what the
        weights for and against the classes leave open.
    thin_support : float
        Rules are discounted because few training rows are behind them; 0 unless ``discount`` is set.
    lost_support : float
        Gates that close because values lie outside what rules saw in training.
    conflict : float
        Rules that contradict each other; 0 for rules whose weights add up, which are netted first.
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
