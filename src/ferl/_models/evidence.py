"""Evidence: belief, plausibility and ignorance of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._util.arrays import Bools, Floats

# Evidence counts grow without bound as ignorance vanishes; below this they mean nothing more.
_LEAST_IGNORANCE = 1e-9
PRIOR_ROWS = 1.0  # Walley's S: rows of unknown class; 2 is more cautious: on 30 sets u65 is .006 lower
LEAST_CURVATURE = 1e-3  # of a row's loss by its scores: answers that are nearly certain still rest on rows
SET_LEVEL = 2 / 3  # what the belief of a set must reach


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The evidence of a tree for a block of rows; rules have a :class:`RuleEvidence`.

    The masses lie on single classes (``belief``) and on the set of all classes (``ignorance``), and sum to one. For
    every class ``belief <= pignistic <= plausibility``.

    Attributes
    ----------
    belief : ndarray of shape (n_samples, n_classes)
        Mass committed to each class: the least that supports it.
    ignorance : ndarray of shape (n_samples,)
        Mass committed to no class: 1 when no rule applies.
    conflict : ndarray of shape (n_samples,)
        Share of the evidence that contradicted itself: the mass that Dempster's normalisation removed.
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

    @property
    def figures(self) -> dict[str, Floats]:
        """What a table of answers has of each row, by name; arrays of shape (n_samples,)."""
        return {"ignorance": self.ignorance}

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
        (n_rows, n_classes), mean = self.belief.shape, self.ignorance.mean()
        return f"<{type(self).__name__}: {n_rows} rows, {n_classes} classes, mean ignorance {mean:.3f}>"

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

    def prediction_set(self, level: float | None = None) -> Bools:
        """Classes whose plausibility is at least the largest belief, within 1e-12, shape (n_samples, n_classes).

        A smaller difference is a tie that rounding would decide. The set of all classes is an abstention.

        Parameters
        ----------
        level : float, default=None
            Refused: the paper's sets have no level, unlike the sets of :class:`RuleEvidence`.
        """
        if level is not None:
            raise ValueError(
                f"level is {level!r}, but the sets of trees have no level: they hold each class whose plausibility "
                "reaches the largest belief. Leave level out, or use FERLClassifier."
            )
        return np.asarray(self.plausibility >= self.belief.max(axis=1, keepdims=True) - _core.TIE)

    # What calibration moves: how the committed mass is divided, and how the ignorance is shared.
    least_share: ClassVar[float] = 1e-12  # logarithms of smaller shares mean nothing more
    can_share: ClassVar[bool] = True  # whether a base rate may decide where the ignorance of a row goes

    @property
    def shares(self) -> Floats:
        """Shares of the beliefs in the committed mass; equal shares if it is zero. Shape (n_samples, n_classes)."""
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

    Belief, plausibility, ignorance and the prediction set are defined as for any evidence; ``belief <= pignistic <=
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
class RuleEvidence(Evidence):
    """The evidence of rules: their probability, believed as far as training rows are behind it.

    ``belief = r * probability`` and ``ignorance = 1 - r``, the form of the paper's evidence of a node. With ``n``
    training rows behind an answer and gates open to the share ``s``, ``r = s * n / (n + 1)`` (Walley's imprecise
    Dirichlet model). So ``belief <= probability <= plausibility`` for any number of classes.

    Attributes
    ----------
    belief : ndarray of shape (n_samples, n_classes)
        The probability times the reliability.
    ignorance : ndarray of shape (n_samples,)
        One minus the reliability: large where few training rows are behind the answer, 1 without any. It does
        not repeat the probability: an answer of 50 % may rest on thousands of rows, one of 99 % on four.
    conflict : ndarray of shape (n_samples,)
        Share of all weights of evidence, for and against, that cancelled. It is often high, and no alarm.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    softmax : ndarray of shape (n_samples, n_classes)
        The probability: the softmax of the scores.
    rows : ndarray of shape (n_samples,)
        About how many training rows each answer rests on: the number of rows that it averages, less where the nearest
        kept row is far away, or values lie outside the training range. 0 where a gate is closed.

    Examples
    --------
    >>> import numpy as np
    >>> none = np.zeros(3)
    >>> shares = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    >>> e = RuleEvidence.resting_on(shares, np.array([2999.0, 4.0, 4.0]), np.ones(3), none, np.array(["no", "yes"]))
    >>> e.ignorance.round(4)
    array([0.0003, 0.2   , 0.2   ])
    >>> e.belief.round(2)
    array([[0.5 , 0.5 ],
           [0.4 , 0.4 ],
           [0.72, 0.08]])
    >>> e.prediction_set()
    array([[ True,  True],
           [ True,  True],
           [ True, False]])
    """

    softmax: Floats
    rows: Floats

    least_share: ClassVar[float] = 1e-300  # scores are logarithms of probabilities
    can_share: ClassVar[bool] = False

    @classmethod
    def resting_on(
        cls, probability: Floats, n_behind: Floats, support: Floats, conflict: Floats, classes: NDArray[Any]
    ) -> RuleEvidence:
        """The evidence of probabilities.

        Parameters
        ----------
        probability : ndarray of shape (n_samples, n_classes)
            The softmax of the scores.
        n_behind : ndarray of shape (n_samples,)
            Training rows behind each answer, were all gates open.
        support : ndarray of shape (n_samples,)
            How far gates are open.
        conflict : ndarray of shape (n_samples,)
            Share of the weights that cancelled.
        classes : ndarray of shape (n_classes,)
            Labels.
        """
        reliability = support * (n_behind / (n_behind + PRIOR_ROWS))
        if len(classes) == 1:  # what lies on all classes lies on the only one
            reliability = np.ones_like(support)
        belief = reliability[:, None] * probability
        return cls(belief, 1 - reliability, conflict, classes, probability, support * n_behind)

    @property
    def figures(self) -> dict[str, Floats]:
        """Ignorance, and the training rows that answers rest on."""
        return {"ignorance": self.ignorance, "rows": self.rows}

    @property
    def probability(self) -> Floats:
        """The softmax of the scores, shape (n_samples, n_classes)."""
        return self.softmax

    @property
    def plausibility(self) -> Floats:
        """What the evidence does not rule out, shape (n_samples, n_classes); at least the probability."""
        return np.maximum(super().plausibility, self.softmax)

    @property
    def pignistic(self) -> Floats:
        """The probability: the ignorance is shared as the belief is, shape (n_samples, n_classes)."""
        return self.softmax

    @property
    def shares(self) -> Floats:
        """The probability, shape (n_samples, n_classes)."""
        return self.softmax

    @property
    def committed(self) -> Floats:
        """The probability, shape (n_samples, n_classes)."""
        return self.softmax

    def with_shares(self, shares: Floats, sharing: float = 0.0) -> RuleEvidence:
        """The evidence of other probabilities that rest on the same rows."""
        return replace(self, belief=(1 - self.ignorance)[:, None] * shares, softmax=shares)

    @property
    def dirichlet(self) -> Floats:
        """Parameters of the equivalent Dirichlet distribution, shape (n_samples, n_classes).

        Their mean is the probability, and they sum to ``1 / ignorance``: with open gates one more than the rows behind.
        """
        return np.asarray(PRIOR_ROWS * self.softmax / np.maximum(self.ignorance, _LEAST_IGNORANCE)[:, None])

    def prediction_set(self, level: float | None = None) -> Bools:
        """The fewest, most probable classes whose beliefs sum to the level, shape (n_samples, n_classes).

        Classes that are as probable as the last of them, within 1e-12, are in the set, too. If all classes together do
        not reach the level, the set has all classes: an abstention.

        Parameters
        ----------
        level : float, default=None
            Above 0 and at most 1; None: 2/3. A set of a higher level contains the sets of lower levels.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        least = SET_LEVEL if level is None else checked_level(level)
        ranked = -np.sort(-self.softmax, axis=1)
        reached = (1 - self.ignorance)[:, None] * np.cumsum(ranked, axis=1) >= least - _core.TIE
        last = np.take_along_axis(ranked, reached.argmax(axis=1)[:, None], axis=1)
        return np.asarray((self.softmax >= last - _core.TIE) | ~reached.any(axis=1, keepdims=True))


def checked_level(level: Any) -> float:
    """The level of sets, refused where it is no share."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) <= 1:
        raise ValueError(f"level is {level!r}; it must be a number above 0 and at most 1, such as 0.8.")
    return float(level)


@dataclass(frozen=True)
class IgnoranceCauses:
    """The ignorance of a row, split by cause.

    What no source of a tree claims is ``U = ignorance * (1 - conflict)``. Dempster's normalisation enlarges it to the
    ignorance: that much is conflict's. Opening all gates, then believing every source fully, can only lower U: the two
    steps are what lost support and thin support add. What remains would be there even so: rules that fire weakly.

    Rules whose weights add up have two causes: few training rows behind the answer, and closed gates.

    Attributes
    ----------
    weak_firing : float
        Rules of a tree fire only in part: the row lies inside bands, values are missing, or no word fits.
    thin_support : float
        Few training rows are behind the answer; for trees 0 unless ``discount`` is set.
    lost_support : float
        Gates that close because values lie outside what rules saw in training.
    conflict : float
        Rules of a tree that contradict each other; 0 for rules whose weights add up, which are netted first.
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
