"""Conformal sets: how badly a label fits a row, and the calibration rows that new rows are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._judge import PromiseError
from ferl._models.evidence import Evidence
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import listed

SCORES = ("plausibility", "probability", "aps", "raps")
CUMULATIVE = ("aps", "raps")
MOST_NAMED = 10  # classes or groups of too few rows that an error names


def nonconformity(
    evidence: Evidence, score: str, *, chance: Floats | None = None, penalty: float = 0.0, free_classes: int = 1
) -> Floats:
    """Score of every class for every row, shape (n_samples, n_classes); larger fits worse.

    Parameters
    ----------
    evidence : Evidence
        Evidence of the classifier on the rows.
    score : {"plausibility", "probability", "aps", "raps"}
        "plausibility": one minus the plausibility of the class. Rules: the reliability times one minus the probability,
        so that sets are larger where few training rows are behind an answer. "probability": one minus its probability.
        "aps": probability of all classes that are more probable, plus the probability of the class itself [1]_. "raps":
        the same plus ``penalty`` for every rank of the class beyond ``free_classes`` in the order of probability [2]_.
    chance : ndarray of shape (n_samples,), default=None
        Numbers in [0, 1) for the randomised forms of "aps" and "raps": the class itself counts with this share of its
        probability. None: it counts in full.
    penalty : float, default=0.0
        For "raps".
    free_classes : int, default=1
        For "raps".

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Notes
    -----
    Classes of equal probability have equal scores: none counts as above the other. So a tree's row without any evidence
    treats all classes alike, and they are in its set together or not at all.

    References
    ----------
    .. [1] Romano, Sesia and Candès, "Classification with Valid and Adaptive Coverage", NeurIPS 2020.
    .. [2] Angelopoulos, Bates, Malik and Jordan, "Uncertainty Sets for Image Classifiers using Conformal Prediction",
       ICLR 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl import Evidence
    >>> from ferl.conformal import nonconformity
    >>> row = Evidence(np.array([[0.6, 0.1, 0.0]]), np.array([0.3]), np.array([0.0]), np.array(["a", "b", "c"]))
    >>> nonconformity(row, "plausibility").round(2)
    array([[0.1, 0.6, 0.7]])
    >>> nonconformity(row, "probability").round(2)
    array([[0.3, 0.8, 0.9]])
    >>> nonconformity(row, "aps").round(2)
    array([[0.7, 0.9, 1. ]])
    """
    if score not in SCORES:
        raise ValueError(f"score is {score!r}; it must be one of {', '.join(map(repr, SCORES))}.")
    if score == "plausibility":
        return np.asarray(1.0 - evidence.plausibility)
    probability = evidence.probability
    if score == "probability":
        return np.asarray(1.0 - probability)
    above, n_above = rank(probability)
    scores = above + (probability if chance is None else probability * chance[:, None])
    if score == "raps":
        scores += penalty * np.maximum(n_above + 1 - free_classes, 0)
    return np.asarray(scores)


def rank(probability: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """For each row and class: probability of the classes that are strictly more probable, and how many they are."""
    order = np.argsort(-probability, axis=1, kind="stable")
    descending = np.take_along_axis(probability, order, axis=1)
    before = np.zeros_like(descending)
    np.cumsum(descending[:, :-1], axis=1, out=before[:, 1:])
    begins = np.ones(descending.shape, dtype=bool)
    begins[:, 1:] = descending[:, 1:] < descending[:, :-1]
    # Within a group of equals everyone stands where the group begins.
    first = np.maximum.accumulate(np.where(begins, np.arange(descending.shape[1]), 0), axis=1)
    above, n_above = np.empty_like(probability), np.empty(probability.shape, dtype=np.intp)
    np.put_along_axis(above, order, np.take_along_axis(before, first, axis=1), axis=1)
    np.put_along_axis(n_above, order, first, axis=1)
    return above, n_above


def chance_of(table: Floats, seed: int) -> Floats:
    """A number in [0, 1) for each row that depends on the seed and the row's values only.

    Neither the order of the rows nor the size of a batch changes it. For the guarantee any function of the row will
    do: exchangeable rows stay exchangeable.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), float64
        Rows.
    seed : int
        Seed.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    state = np.full(len(table), seed, dtype=np.uint64)
    for column in table.T:
        # Adding zero turns -0.0, which equals 0.0 but has other bits, into 0.0.
        state = _mix(state ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    return np.asarray((_mix(state) >> np.uint64(11)) * 2.0**-53)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of the generator SplitMix64: every input bit reaches every output bit."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores of calibration rows for their true labels under one classifier.

    Attributes
    ----------
    scores : ndarray of shape (n_samples,)
        Infinite for a label the classifier does not have.
    codes : ndarray of shape (n_samples,)
        Labels as columns; -1 for a label that has none.
    weight : ndarray of shape (n_samples,)
        The weight of each row.
    class_conditional : bool
        Whether a class is compared with the calibration rows of this class only.
    """

    scores: Floats
    codes: Ints
    weight: Floats
    class_conditional: bool

    @classmethod
    def of(cls, scores: Floats, codes: Ints, weight: Floats | None = None, *, class_conditional: bool) -> Reference:
        """The score of each calibration row for its label, from the scores of all classes, (n_samples, n_classes)."""
        true_scores = np.where(codes >= 0, scores[np.arange(len(codes)), codes], np.inf)
        return cls(true_scores, codes, np.ones(len(codes)) if weight is None else weight, class_conditional)

    def among(self, rows: Bools) -> Reference:
        """Some of the calibration rows, which new rows of their group are compared with."""
        return Reference(self.scores[rows], self.codes[rows], self.weight[rows], self.class_conditional)

    def compare(self, scores: Floats) -> tuple[Floats, Floats]:
        """Weight of the calibration rows that fit no better than each row and class, and of all that are compared.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            Scores of new rows for every class.

        Returns
        -------
        tuple of ndarray
            Shapes (n_samples, n_classes) and (n_classes,).
        """
        n_classes = scores.shape[1]
        if not self.class_conditional:
            return _weight_at_least(self.scores, self.weight, scores), np.full(n_classes, self.weight.sum())
        of_class = [self.codes == code for code in range(n_classes)]
        columns = [_weight_at_least(self.scores[k], self.weight[k], s) for k, s in zip(of_class, scores.T, strict=True)]
        known = self.codes >= 0
        total = np.bincount(self.codes[known], weights=self.weight[known], minlength=n_classes)
        return np.stack(columns, axis=1), total.astype(np.float64)


def _weight_at_least(known: Floats, weight: Floats, values: Floats) -> Floats:
    order = np.argsort(known, kind="stable")
    # Summed from the top: entry j is the weight of the j-th smallest score and all larger ones.
    tail = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    return np.asarray(tail[np.searchsorted(known[order], values, side="left")])


def never_empty(sets: Bools, probability: Floats) -> Bools:
    """Sets of shape (n_samples, n_classes, ...) where those without any class hold the most probable classes."""
    best = probability == probability.max(axis=1, keepdims=True)
    best = best.reshape(best.shape + (1,) * (sets.ndim - 2))
    return np.asarray(sets | (best & ~sets.any(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """How badly the labels of calibration rows fit them, which new rows are compared with.

    Attributes
    ----------
    score : {"probability", "plausibility", "aps", "raps"}
        How badly a label fits; see :func:`ferl.conformal.nonconformity`.
    alpha : float
        How often a set may miss the true class, where no other share is given.
    reference : Reference
        The rows.
    """

    score: str
    alpha: float
    reference: Reference

    def check(self, classes: NDArray[Any], alpha: float) -> None:
        """Refuse an alpha that these rows are too few for."""
        refuse_few_rows(groups_of([self.reference], classes), alpha)

    def sets(self, evidence: Evidence, alpha: float) -> Bools:
        """Sets that miss the true class with a probability of at most alpha, shape (n_samples, n_classes)."""
        at_least, total = self.reference.compare(nonconformity(evidence, self.score))
        return never_empty((at_least + 1) / (total + 1) > alpha, evidence.probability)

    def left_out_sets(self, evidence: Evidence, alpha: float) -> Bools:
        """Sets of the calibration rows themselves, each compared with all the others, shape (n_rows, n_classes).

        The share of these sets with the true class estimates the share among new rows, for rows of any kind: if a row
        were compared with itself as well, its set would contain its class more often.

        Parameters
        ----------
        evidence : Evidence
            The model's evidence of the calibration rows, in their order.
        alpha : float
            How often a set may miss the true class.
        """
        scores = nonconformity(evidence, self.score)
        at_least, total = self.reference.compare(scores)
        is_own = np.arange(at_least.shape[1]) == self.reference.codes[:, None]
        is_compared = is_own if self.reference.class_conditional else np.ones_like(is_own)
        itself = (self.reference.scores[:, None] >= scores) & is_compared
        return never_empty((at_least - itself + 1) / (total - is_compared + 1) > alpha, evidence.probability)


@dataclass(frozen=True, eq=False)
class Group:
    """The calibration rows one class is compared with: all rows, or the rows of the class; within one group of rows.

    Attributes
    ----------
    label : object
        The class; None for all rows.
    fold_sizes : sequence of int
        Number of its rows under each classifier that has some of them; one entry for split conformal.
    n_unknown : int
        Rows whose label their classifier does not know: they count as fitting worse than anything.
    within : str
        The group of rows by its name, where each group is compared by itself; "" where all are compared.
    """

    label: Any
    fold_sizes: Sequence[int]
    n_unknown: int
    within: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.fold_sizes)

    @property
    def least_alpha(self) -> float:
        """Smallest alpha at which a class can be left out of a set."""
        return (self.n_unknown + 1) / (self.n_rows + 1)

    def cross_conformal_coverage(self, alpha: float) -> float:
        """Coverage that is guaranteed when the rows are spread over several classifiers.

        The comparison under each classifier gives a valid p-value; theirs together is at least their weighted mean,
        less ``(K - 1) / (n + K)``, and twice a mean of p-values is a p-value again. With folds of equal size the other
        known bound, from comparing rows pairwise, can be better: for folds of one row it is 1 - 2 alpha.
        """
        n, n_folds = self.n_rows, len(self.fold_sizes)
        loss = 2 * (1 - alpha) * (n_folds - 1) / (n + n_folds)
        if len(set(self.fold_sizes)) == 1:
            loss = min(loss, (1 - n_folds / n) / (n_folds + 1))
        return max(0.0, 1 - 2 * alpha - loss)


def groups_of(references: Sequence[Reference], classes: NDArray[Any], within: str = "") -> list[Group]:
    """What each class is compared with: one group for all, or one for each class; ``within``: as in :class:`Group`."""
    if references[0].class_conditional:
        masks = [(label, [part.codes == code for part in references]) for code, label in enumerate(classes.tolist())]
    else:
        masks = [(None, [np.ones(len(part.codes), dtype=bool) for part in references])]
    result = []
    for label, item in masks:
        n_unknown = sum(int(np.isinf(part.scores[mask]).sum()) for part, mask in zip(references, item, strict=True))
        result.append(Group(label, [int(mask.sum()) for mask in item if mask.any()], n_unknown, within))
    return result


def refuse_few_rows(groups: Sequence[Group], alpha: float, *remedies: str) -> None:
    """Raise when every set would hold all classes, or some class; ``remedies``: what else may be done then."""
    short = [group for group in groups if group.least_alpha > alpha]
    if not short:
        return
    by_class, worst = short[0].label is not None, max(group.least_alpha for group in short)
    by_group = short[0].within != ""
    result = listed(
        [
            f"{item.n_rows:,}" + f" of {item.label}" * by_class + f" in group {item.within}" * by_group
            for item in short[:MOST_NAMED]
        ]
        + [f"{len(short) - MOST_NAMED} more"] * (len(short) > MOST_NAMED)
    )
    needed = f"{least_rows(alpha)} calibration rows{' of every class' * by_class}{' in every group' * by_group}"
    needs = f"at least {needed}; there are {result}"
    if short[0].n_unknown and not by_class:
        most, n_rows, n_unknown = int(alpha * (short[0].n_rows + 1)), short[0].n_rows, short[0].n_unknown
        needs = (
            f"that fewer than {most} of the {n_rows} calibration rows{f' in group {short[0].within}' * by_group} have "
            f"labels that the classifier was not fitted on; {n_unknown} have"
        )
    wishes = ["Add rows"] + [f"choose an {{alpha_name}} of at least {worst:.3g}"] * (worst < 1)
    wishes += ["leave {class_conditional_name} out"] * by_class + ["leave groups out"] * by_group + list(remedies)
    raise PromiseError(
        f"{{alpha}} needs {{needs}}. {listed(wishes, 'or')}.",
        {"alpha": alpha, "class_conditional": by_class},
        needs=needs,
    )


def least_rows(alpha: float) -> int:
    """Smallest number of calibration rows with which a set can leave a class out at this alpha.

    Examples
    --------
    >>> least_rows(0.1), least_rows(0.05), least_rows(0.01)
    (9, 19, 99)
    """
    # Rounded: 1 / 0.1 must not become 10.000000000000002.
    return ceil(round(1 / alpha, 9)) - 1
