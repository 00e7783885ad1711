"""Comparisons: groups of rows, and a classifier before and after a change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import codes_of, refuse_other_kind
from ferl._tables.columns import Column, array_column, infinity_message
from ferl._tables.labels import is_missing_label, label_markers
from ferl._tables.values import MISSING, is_missing
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import exact_text, number_text, shown
from ferl.metrics.sets import check_same_length, column_of, vectors

SMALL_GROUP = 30  # labelled rows, below which a rate is unreliable
N_INTERVALS = 4  # that a column of numbers is cut into
MAX_VALUES = 8  # distinct numbers that are a group each
MAX_GROUPS = 20  # categories; the rarer ones are one group together
_NORMAL_95 = 1.959963984540054  # 97.5 % of a normal distribution lie below it


@dataclass(frozen=True)
class GroupMetrics:
    """How answers fare in one group of rows.

    Attributes
    ----------
    group : str
        The value that its rows share, or the interval that their numbers lie in.
    n_rows, n_labelled : int
        Number of all rows, and of rows with a known label, on which the rates below are based.
    is_small : bool
        Whether it has few labelled rows (without labels: rows), so that its rates are unreliable.
    accuracy : float or None
        Share of right answers; None where no label is known.
    accuracy_range : tuple of float, or None
        Wilson's 95 % interval of the accuracy.
    abstention : float
        Share of all rows that get no answer.
    predicted : tuple of float
        Share of all rows that are predicted to have each class.
    n_by_class : tuple of int
        Rows that truly have each class.
    recall : tuple of (float or None)
        Share of the rows of each class that are predicted to have it; None for a class without rows.
    false_positive_rate, false_negative_rate : float or None
        Two classes: the share of the rows of the other class that are predicted to have the positive one, and the share
        of the rows of the positive class that are not. None without rows of the class, and with three or more classes.
    """

    group: str
    n_rows: int
    n_labelled: int
    is_small: bool
    accuracy: float | None
    accuracy_range: tuple[float, float] | None
    abstention: float
    predicted: tuple[float, ...]
    n_by_class: tuple[int, ...]
    recall: tuple[float | None, ...]
    false_positive_rate: float | None
    false_negative_rate: float | None


def metrics_by_group(
    y_true: ArrayLike | None,
    y_pred: ArrayLike,
    groups: ArrayLike,
    classes: ArrayLike,
    *,
    abstained: ArrayLike | None = None,
    positive: Any = None,
    n_intervals: int = N_INTERVALS,
    small: int = SMALL_GROUP,
) -> list[GroupMetrics]:
    """Accuracy, abstention and error rates of each group of rows, to see whether a model serves some worse than others.

    Rows without an answer count with the class that ``y_pred`` has for them. That rates are alike does not make a model
    fair, and small groups differ by chance: look at their numbers of rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels; None or NaN for unknown labels. A label that is not in ``classes`` counts as an error. None: no
        label is known.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    groups : array-like of shape (n_samples,)
        What rows are grouped by: text, booleans, or numbers. More than eight distinct numbers are cut at their
        quantiles. With more than twenty categories the rarest form one group. Missing values are a group.
    classes : array-like of shape (n_classes,)
        All labels, an estimator's ``classes_``.
    abstained : array-like of bool of shape (n_samples,), default=None
        Rows that get no answer; None: all rows get one.
    positive : label, default=None
        With two classes, the class whose false positives and negatives are counted; None: the second one.
    n_intervals : int, default=4
        Intervals that numbers are cut into.
    small : int, default=30
        Groups with fewer labelled rows are marked.

    Returns
    -------
    list of GroupMetrics
        Numbers in their order, categories in theirs, then the rarer ones, then the group of missing values.

    Examples
    --------
    >>> from ferl.metrics import metrics_by_group
    >>> truth, answer = ["no", "yes", "yes", "no"], ["no", "no", "yes", "no"]
    >>> for one in metrics_by_group(truth, answer, ["f", "f", "m", "m"], ["no", "yes"]):
    ...     print(one.group, one.n_rows, one.accuracy, one.recall)
    f 2 0.5 (1.0, 0.0)
    m 2 1.0 (1.0, 1.0)
    """
    (names,), (guess,) = vectors(classes=classes), vectors(y_pred=y_pred)
    label = column_of(guess, names, "y_pred")
    truth = _known_codes(y_true, names, len(guess))
    given = np.zeros(len(guess), dtype=np.bool_) if abstained is None else abstained
    _, held, is_open = vectors(y_pred=guess, groups=_as_held(groups), abstained=given)
    if is_open.dtype != np.bool_:
        raise ValueError(f"abstained holds {is_open.dtype}; pass a boolean for each row.")
    if n_intervals < 2:
        raise ValueError(f"n_intervals is {n_intervals}; it must be at least 2.")
    grouping = group_rows(array_column("groups", held), n_intervals)
    return count_groups(truth, label, is_open, *grouping, len(names), positive_index(names.tolist(), positive), small)


def positive_index(classes: Sequence[Any], positive: Any = None) -> int | None:
    """Index of the class whose false positives are counted; None where there are more or fewer than two classes."""
    if positive is not None and positive not in classes:
        raise ValueError(f"positive is {shown(positive)}; the classes are {shown(list(classes))}.")
    if len(classes) != 2:
        return None
    return 1 if positive is None else list(classes).index(positive)


def _known_codes(y_true: ArrayLike | None, classes: NDArray[Any], n_rows: int) -> Ints:
    """Labels as indices of the classes: -1 for a missing label, -2 for a label that is not among the classes."""
    if y_true is None:
        return np.full(n_rows, -1, dtype=np.int32)
    (labels,) = vectors(y_true=_as_held(y_true))
    refuse_other_kind(labels, "y_true", classes, "classes")
    check_same_length(np.empty(n_rows), "y_pred", labels, "y_true")
    codes = codes_of(labels, classes)
    markers = label_markers(MISSING, classes.tolist())
    for row in np.flatnonzero(codes < 0):
        codes[row] = -1 if is_missing_label(labels[row], markers) else -2
    return codes


def _as_held(values: ArrayLike) -> NDArray[Any]:
    """Values as they are: NumPy would make text of NaN in a list of text."""
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


# ---------------------------------------------------------------------------------------------------------------------
# Which group each row is in
# ---------------------------------------------------------------------------------------------------------------------


def group_rows(column: Column, n_intervals: int = N_INTERVALS) -> tuple[list[str], NDArray[np.intp]]:
    """The groups that a column divides rows into.

    Parameters
    ----------
    column : Column
        What rows are grouped by.
    n_intervals : int, default=4
        Intervals that many distinct numbers are cut into.

    Returns
    -------
    names : list of str
        What the groups are called.
    codes : ndarray of shape (n_samples,)
        Index of each row's group.
    """
    if column.kind == "number" and not column.is_declared:
        numbers = column.numbers()
        if np.isinf(numbers).any():
            raise ValueError(infinity_message(column.label))
        if len(np.unique(numbers[~np.isnan(numbers)])) > MAX_VALUES:
            return _intervals(numbers, n_intervals)
    return _categories(column)


def _intervals(numbers: NDArray[Any], n_intervals: int) -> tuple[list[str], NDArray[np.intp]]:
    """Numbers cut at their quantiles; a cut belongs to the interval below it."""
    known = numbers[~np.isnan(numbers)]
    cuts = np.unique(np.quantile(known, np.arange(1, n_intervals) / n_intervals, method="inverted_cdf"))
    cuts = cuts[cuts < known.max()]
    texts = [number_text(cut) for cut in cuts.tolist()]
    if len(set(texts)) < len(texts):
        texts = [exact_text(cut) for cut in cuts.tolist()]
    names = [f"up to {texts[0]}"] if texts else ["any number"]
    names += [f"above {low} to {high}" for low, high in pairwise(texts)]
    names += [f"above {texts[-1]}"] if texts else []
    codes = np.searchsorted(cuts, numbers, side="left")
    return _with_missing(names, np.where(np.isnan(numbers), len(names), codes))


def _categories(column: Column) -> tuple[list[str], NDArray[np.intp]]:
    """Each value that rows hold is a group; of many the commonest, and the others together."""
    values, rows_with = column.factor.values, Counter[Any]()
    for value, count in zip(values, column.factor.counts().tolist(), strict=True):
        if count and not is_missing(value):
            rows_with[value] += count  # a dictionary may hold a value twice
    held = sorted(rows_with)
    most = len(held) if len(held) <= MAX_GROUPS else MAX_GROUPS - 1
    kept = sorted(sorted(held, key=lambda value: -rows_with[value])[:most])
    names = [number_text(value) if isinstance(value, float) else str(value) for value in kept]
    if len(kept) < len(held):
        names.append(f"{len(held) - len(kept)} rarer values")
    index = {value: code for code, value in enumerate(kept)}
    of_value = [len(names) if is_missing(value) else index.get(value, len(index)) for value in values]
    return _with_missing(names, np.array(of_value, dtype=np.intp)[column.factor.codes])


def _with_missing(names: list[str], codes: NDArray[np.intp]) -> tuple[list[str], NDArray[np.intp]]:
    """The group of missing values is named where some row is in it."""
    return ([*names, "missing"] if (codes == len(names)).any() else names), codes.astype(np.intp)


# ---------------------------------------------------------------------------------------------------------------------
# Counts and rates
# ---------------------------------------------------------------------------------------------------------------------


def count_groups(
    truth: Ints,
    label: Ints,
    abstained: Bools,
    names: Sequence[str],
    codes: NDArray[np.intp],
    n_classes: int,
    positive: int | None,
    small: int = SMALL_GROUP,
) -> list[GroupMetrics]:
    """The rates of groups, from labels and groups as indices.

    Parameters
    ----------
    truth, label : ndarray of shape (n_samples,), int32
        True and predicted classes; a true class below zero is not among the classes, and -1 is an unknown label.
    abstained : ndarray of bool of shape (n_samples,)
        Rows without an answer.
    names : sequence of str
        Names of the groups.
    codes : ndarray of shape (n_samples,)
        Index of each row's group.
    n_classes : int
        Number of classes.
    positive : int or None
        Index of the class whose false positives are counted; None: they are not.
    small : int, default=30
        Groups with fewer labelled rows are marked.

    Returns
    -------
    list of GroupMetrics
    """
    return [
        _rates(name, truth[rows], label[rows], abstained[rows], n_classes, positive, small)
        for name, rows in ((name, codes == k) for k, name in enumerate(names))
    ]


def _rates(
    name: str, truth: Ints, label: Ints, abstained: Bools, n_classes: int, positive: int | None, small: int
) -> GroupMetrics:
    n_rows, n_labelled = len(truth), int((truth != -1).sum())
    n_right = int((truth == label).sum())
    rows = np.bincount(truth[truth >= 0], minlength=n_classes)
    hits = np.bincount(label[truth == label], minlength=n_classes)
    recall = tuple(float(hits[c] / rows[c]) if rows[c] else None for c in range(n_classes))
    missed = [None if item is None else 1 - item for item in recall]
    return GroupMetrics(
        group=name,
        n_rows=n_rows,
        n_labelled=n_labelled,
        is_small=(n_labelled or n_rows) < small,
        accuracy=n_right / n_labelled if n_labelled else None,
        accuracy_range=wilson_interval(n_right, n_labelled) if n_labelled else None,
        abstention=float(abstained.mean()) if n_rows else 0.0,
        predicted=tuple((np.bincount(label, minlength=n_classes) / max(n_rows, 1)).tolist()),
        n_by_class=tuple(rows.tolist()),
        recall=recall,
        false_positive_rate=None if positive is None else missed[1 - positive],
        false_negative_rate=None if positive is None else missed[positive],
    )


def wilson_interval(n_hits: int, n_rows: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of rows.

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    share, square = n_hits / n_rows, _NORMAL_95**2
    middle = (share + square / (2 * n_rows)) / (1 + square / n_rows)
    spread = _NORMAL_95 / (1 + square / n_rows) * math.sqrt(share * (1 - share) / n_rows + square / (4 * n_rows**2))
    return max(0.0, middle - spread), min(1.0, middle + spread)


# ---------------------------------------------------------------------------------------------------------------------
# A change of a classifier
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quality:
    """How good probabilities are on given rows; ``auc`` is NaN unless there are two classes, and rows of both."""

    accuracy: float
    log_loss: float
    auc: float


@dataclass(frozen=True)
class Cost:
    """A classifier before and after a change, on the same rows.

    Attributes
    ----------
    before, after : Quality
        Accuracy, log-loss, and the area under the ROC curve.
    n_changed : int
        Number of rows that get another label.
    n_rows : int
        Number of rows.
    """

    before: Quality
    after: Quality
    n_changed: int
    n_rows: int

    def __str__(self) -> str:
        parts = [
            f"accuracy {_figure(self.before.accuracy)} -> {_figure(self.after.accuracy)}",
            f"log-loss {_figure(self.before.log_loss)} -> {_figure(self.after.log_loss)}",
        ]
        if not np.isnan(self.before.auc):
            parts.append(f"AUC {_figure(self.before.auc)} -> {_figure(self.after.auc)}")
        get = "gets" if self.n_changed == 1 else "get"
        return f"{', '.join(parts)}; {self.n_changed} of {self.n_rows} rows {get} another label"


def _figure(value: float) -> str:
    """Four digits."""
    return f"{value:.4f}" if value < 1 else f"{value:.3f}"


def cost_of_change(classes: NDArray[Any], y: ArrayLike, before: Floats, after: Floats) -> Cost:
    """Compare the probabilities of two classifiers.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    y : array-like of shape (n_samples,)
        Labels of the rows, all of them among the classes.
    before, after : ndarray of shape (n_samples, n_classes)
        Probabilities.

    Returns
    -------
    Cost

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    >>> print(cost_of_change(np.array(["no", "yes"]), ["no", "yes", "yes"], p, p[[0, 0, 2]]))
    accuracy 1.000 -> 0.6667, log-loss 0.3635 -> 0.7298, AUC 1.000 -> 0.7500; 1 of 3 rows gets another label
    """
    labels: NDArray[Any] = np.asarray(y)
    if labels.shape != (len(before),):
        raise ValueError(f"y has shape {labels.shape} and X has {len(before)} rows; pass one label for each row.")
    if not len(labels):
        raise ValueError("X has no rows; a cost needs rows to be measured on.")
    codes = codes_of(labels, classes)
    if (codes < 0).any():
        other = labels[int(np.argmax(codes < 0))]
        raise ValueError(f"y holds {shown(other)}, which is none of the classes {shown(classes.tolist())}.")
    n_changed = int((before.argmax(axis=1) != after.argmax(axis=1)).sum())
    return Cost(_quality(codes, before), _quality(codes, after), n_changed, len(codes))


def _quality(codes: NDArray[np.int32], probability: Floats) -> Quality:
    from sklearn.metrics import log_loss, roc_auc_score  # slow to import, and few need it

    n_classes = probability.shape[1]
    accuracy = float((probability.argmax(axis=1) == codes).mean())
    loss = 0.0 if n_classes == 1 else float(log_loss(codes, probability, labels=np.arange(n_classes)))
    has_both = n_classes == 2 and len(np.unique(codes)) == 2
    return Quality(accuracy, loss, float(roc_auc_score(codes, probability[:, 1])) if has_both else float("nan"))
