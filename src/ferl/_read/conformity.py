"""How badly a label fits a row, and the calibration rows that new rows are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.evidence import Evidence
from ferl._util.arrays import Floats, Ints

SCORES = ("plausibility", "probability", "aps", "raps")
CUMULATIVE = ("aps", "raps")


@dataclass(frozen=True)
class Ranked:
    """For each row and class: probability of the classes that are strictly more probable, and how many they are."""

    above: Floats
    n_above: NDArray[np.intp]


def nonconformity(
    evidence: Evidence, score: str, *, chance: Floats | None = None, penalty: float = 0.0, free_classes: int = 1
) -> Floats:
    """Score of every class for every row, shape (n_samples, n_classes); larger fits worse.

    Parameters
    ----------
    evidence : Evidence
        What the classifier says about the rows.
    score : {"plausibility", "probability", "aps", "raps"}
        "plausibility": one minus the plausibility of the class. "probability": one minus its pignistic probability.
        "aps": probability of all classes that are more probable, plus that of the class itself [1]_. "raps": the same
        plus ``penalty`` for every rank of the class beyond ``free_classes`` in the order of probability [2]_.
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
    Classes of equal probability have equal scores: none counts as above the other. So a row without any evidence
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
    ranked = rank(probability)
    own = probability if chance is None else probability * chance[:, None]
    scores = ranked.above + own
    if score == "raps":
        scores += penalty * np.maximum(ranked.n_above + 1 - free_classes, 0)
    return np.asarray(scores)


def rank(probability: Floats) -> Ranked:
    """Count and add up the strictly more probable classes."""
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
    return Ranked(above, n_above)


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
    estimator : estimator
        The classifier, which was not fitted on these rows.
    scores : ndarray of shape (n_samples,)
        Infinite for a label the classifier does not know.
    codes : ndarray of shape (n_samples,)
        Labels as columns; -1 for a label that has none.
    weight : ndarray of shape (n_samples,)
        What each row counts for.
    """

    estimator: Any
    scores: Floats
    codes: Ints
    weight: Floats

    def weight_at_least(self, scores: Floats, *, class_conditional: bool) -> Floats:
        """Weight of the calibration rows that fit no better than each candidate, shape (n_samples, n_classes).

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            Scores of new rows for every class.
        class_conditional : bool
            Whether a class is compared with the calibration rows of this class only.
        """
        if not class_conditional:
            return _weight_at_least(self.scores, self.weight, scores)
        columns = []
        for code, column in enumerate(scores.T):
            own = self.codes == code
            columns.append(_weight_at_least(self.scores[own], self.weight[own], column))
        return np.stack(columns, axis=1)

    def total(self, n_classes: int, *, class_conditional: bool) -> Floats:
        """Weight of all calibration rows that each class is compared with, shape (n_classes,)."""
        if not class_conditional:
            return np.full(n_classes, self.weight.sum())
        known = self.codes >= 0
        return np.bincount(self.codes[known], weights=self.weight[known], minlength=n_classes).astype(np.float64)


def reference_of(estimator: Any, scores: Floats, codes: Ints, weight: Floats) -> Reference:
    """The score of each calibration row for its label, from those of all classes, shape (n_samples, n_classes)."""
    own = np.where(codes >= 0, scores[np.arange(len(codes)), codes], np.inf)
    return Reference(estimator, own, codes, weight)


def _weight_at_least(known: Floats, weight: Floats, values: Floats) -> Floats:
    order = np.argsort(known, kind="stable")
    # Summed from the top: entry j is the weight of the j-th smallest score and all larger ones.
    tail = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    return np.asarray(tail[np.searchsorted(known[order], values, side="left")])


@dataclass(frozen=True, eq=False)
class Group:
    """The calibration rows one class is compared with: all of them, or those of the class.

    Attributes
    ----------
    label : object
        The class; None for all rows.
    fold_sizes : sequence of int
        Number of its rows under each classifier that has some of them; one entry for split conformal.
    n_unknown : int
        Rows whose label their classifier does not know: they count as fitting worse than anything.
    """

    label: Any
    fold_sizes: Sequence[int]
    n_unknown: int

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


def groups_of(references: Sequence[Reference], classes: NDArray[Any], *, class_conditional: bool) -> list[Group]:
    """What each class is compared with: one group for all, or one for each class."""
    if not class_conditional:
        return [_group(None, references, [np.ones(len(part.codes), dtype=bool) for part in references])]
    return [
        _group(label, references, [part.codes == code for part in references])
        for code, label in enumerate(classes.tolist())
    ]


def _group(label: Any, references: Sequence[Reference], own: Sequence[NDArray[np.bool_]]) -> Group:
    sizes = [int(mask.sum()) for mask in own if mask.any()]
    n_unknown = sum(int(np.isinf(part.scores[mask]).sum()) for part, mask in zip(references, own, strict=True))
    return Group(label, sizes, n_unknown)


def refuse_few_rows(groups: Sequence[Group], alpha: float) -> None:
    """Raise when no set could be smaller than the whole frame, or could leave a class out."""
    short = [group for group in groups if group.least_alpha > alpha]
    if not short:
        return
    worst = max(group.least_alpha for group in short)
    if short[0].label is None:
        raise ValueError(f"alpha={alpha:g} needs {_needs(short[0], alpha)} {_remedy(worst)}")
    named = ", ".join(f"{group.label!r} has {group.n_rows}" for group in short)
    raise ValueError(
        f"class_conditional=True with alpha={alpha:g} needs at least {least_rows(alpha)} calibration rows of every "
        f"class; {named}. {_remedy(worst)} Or set few_rows='include' to have these classes in every set."
    )


def _needs(group: Group, alpha: float) -> str:
    if group.n_unknown:
        return (
            f"that fewer than {int(alpha * (group.n_rows + 1))} of the {group.n_rows} calibration rows have labels the "
            f"classifier was not fitted on; {group.n_unknown} have. Fit it on rows of these classes as well."
        )
    return f"at least {least_rows(alpha)} calibration rows; there are {group.n_rows}."


def _remedy(least_alpha: float) -> str:
    return (
        f"Pass more rows, or an alpha of at least {least_alpha:.3g}."
        if least_alpha < 1
        else "Pass more rows: without any there is no such alpha."
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
