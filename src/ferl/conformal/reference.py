"""The calibration rows a new row is compared with, and what the comparison guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores that calibration rows have for their own labels under one classifier.

    Attributes
    ----------
    estimator : estimator
        The classifier, which was not fitted on these rows.
    scores : ndarray of shape (n_rows,)
        Infinite for a label the classifier does not know.
    codes : ndarray of shape (n_rows,)
        Labels as columns; -1 for a label that has none.
    weight : ndarray of shape (n_rows,)
        What each row counts for.
    """

    estimator: Any
    scores: Floats
    codes: Codes
    weight: Floats

    def weight_at_least(self, scores: Floats, *, class_conditional: bool) -> Floats:
        """Weight of the calibration rows that fit no better than each candidate, shape (n_rows, n_classes).

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
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


def reference_of(estimator: Any, scores: Floats, codes: Codes, weight: Floats) -> Reference:
    """Pick each calibration row's own score from those of all classes, shape (n_rows, n_classes)."""
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

        Each classifier's own comparison gives a valid p-value; theirs together is at least their weighted mean, less
        ``(K - 1) / (n + K)``, and twice a mean of p-values is a p-value again. With folds of equal size the other
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
