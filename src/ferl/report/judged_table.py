"""A table as a model judges it, block after block: memory grows by 17 bytes a row, however many columns there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ferl._models.decision import PROBABLE, Decision
from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._tables.columns import Column
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import shown_line, shown_names
from ferl.metrics import aurc, expected_calibration_error, risk_coverage_curve
from ferl.metrics.comparison import GroupMetrics, count_groups, group_rows, positive_index, wilson_interval

Cell = Callable[[int, int], Any]

NO_LABEL = -1  # the row's label is missing
OTHER_LABEL = -2  # it is no class of the model
NORMAL_95 = 1.96  # standard deviations to either side that hold 95 %
N_BINS = 15  # of confidence, as in expected_calibration_error
MAX_LINES = 6  # classes whose calibration is drawn
MAX_POINTS = 200  # of a curve
MAX_CLASSES = 40  # of a confusion matrix that can be read


class KeptRow(NamedTuple):
    """A row of the table: its index, its columns, its label as an index of the classes, and its new categories."""

    number: int
    values: Floats
    truth: int
    unseen: dict[int, Any]


class Outcomes(NamedTuple):
    """What a model answers to rows, and what would be right; arrays of shape (n_samples,).

    Attributes
    ----------
    truth, label : ndarray of int32
        True labels, as in :meth:`JudgedTable.add`, and predicted ones.
    confidence : ndarray
        The probability of the latter.
    abstains : ndarray of bool
        Whether there is no answer: every class is in the set.
    """

    truth: Ints
    label: Ints
    confidence: Floats
    abstains: Bools


class Leading:
    """The rows of a table with the largest values of something, the earlier of equals first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.value: list[float] = []
        self.rows: list[KeptRow] = []

    def offer(self, value: Floats, indices: NDArray[np.intp], row_at: Callable[[int], KeptRow]) -> None:
        """Rows of a block, by their indices in it; only rows that may stay are fetched."""
        best = indices[np.argsort(-value[indices], kind="stable")[: self.most]]
        if len(self.rows) == self.most:
            best = best[value[best] > self.value[-1]]
        values, rows = [*self.value, *value[best].tolist()], [*self.rows, *map(row_at, best.tolist())]
        order = np.argsort(-np.array(values), kind="stable")[: self.most].tolist()
        self.value, self.rows = [values[i] for i in order], [rows[i] for i in order]


@dataclass(frozen=True, eq=False)
class Groups:
    """What rows are grouped by.

    Attributes
    ----------
    name : str
        Of the column.
    column : Column
        Its values, one for each row of the table.
    """

    name: str
    column: Column


class JudgedTable:
    """Judges the rows of a table and keeps what a report needs.

    Parameters
    ----------
    model : Model
        The model.
    n_threads : int, default=1
        Number of threads.
    n_listed : int, default=25
        Number of rows without an answer to keep, the largest ignorance first; the same number of the most novel rows.
    n_first : int, default=50
        Rows from the beginning of the table that are kept.
    decision : Decision, default=Decision("probable")
        How labels are chosen; see :meth:`ferl.FERLClassifier.predict`.

    Attributes
    ----------
    abstained, novel, first : Leading
        Rows that are kept.
    n_rows, n_abstained, n_unsupported : int
        Number of rows; of rows whose set holds all classes; and of rows among them for which no rule fires.
    """

    def __init__(
        self, model: Model, n_threads: int = 1, n_listed: int = 25, n_first: int = 50, decision: Decision = PROBABLE
    ) -> None:
        self.model, self.n_threads, self.decision = model, n_threads, decision
        self.abstained, self.novel, self.first = Leading(n_listed), Leading(n_listed), Leading(n_first)
        self.n_rows = self.n_abstained = self.n_unsupported = self.n_covered = 0
        self.set_sizes = np.zeros(len(model.classes) + 1, dtype=np.int64)
        self.ignorance = self.conflict = 0.0
        none = np.zeros(0, dtype=np.int32)
        self._blocks = [Outcomes(none, none, np.zeros(0), np.zeros(0, dtype=np.bool_))]
        # Two classes: the second, whose probability determines the first one's. Else the commonest in training.
        commonest = np.argsort(-model.tree.class_weight[0], kind="stable")[:MAX_LINES]
        self.drawn_classes = [1] if len(model.classes) == 2 else sorted(commonest.tolist())
        # By drawn class and bin of its probability: number of rows, number of rows that have it, sum of probabilities.
        self.bins = np.zeros((3, len(self.drawn_classes), N_BINS))

    def add(self, rows: Floats, truth: Ints | None, cell: Cell = lambda row, feature: "another category") -> None:
        """Judge one more block of rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            The columns of the model; indicators of missing values included.
        truth : ndarray of shape (n_samples,), int32, or None
            Labels as indices of ``classes_``, ``NO_LABEL`` or ``OTHER_LABEL``. None: without labels.
        cell : callable, default="another category" everywhere
            Gives the value of a row of the block in a feature as the table holds it. It is called for categories that
            training did not have, which are no more than that in ``rows``.
        """
        if not len(rows):
            return
        model, labels = self.model, np.full(len(rows), NO_LABEL, dtype=np.int32) if truth is None else truth
        n_categories, n_before = model.schema.n_categories, self.n_rows
        is_unseen = (n_categories > 0) & (rows[:, : len(n_categories)] >= n_categories)

        def row_at(index: int) -> KeptRow:
            unseen = {j: cell(index, j) for j in np.flatnonzero(is_unseen[index]).tolist()}
            return KeptRow(n_before + index, rows[index].copy(), int(labels[index]), unseen)

        evidence, everywhere = model.evidence(rows, self.n_threads), np.arange(len(rows))
        sets = evidence.prediction_set()
        abstains = sets.all(axis=1) & (sets.shape[1] > 1)
        self._count(evidence, sets, abstains, labels, self.decision.codes(model, rows, evidence))
        self.abstained.offer(evidence.ignorance, np.flatnonzero(abstains), row_at)
        novelty = model.novelty(rows, n_threads=self.n_threads)
        self.novel.offer(np.nan_to_num(novelty, nan=0.0), everywhere, row_at)
        self.first.offer(-(n_before + everywhere).astype(np.float64), everywhere, row_at)
        self.n_rows += len(rows)

    def _count(self, evidence: Evidence, sets: Bools, abstains: Bools, truth: Ints, label: NDArray[np.intp]) -> None:
        self.n_abstained += int(abstains.sum())
        self.n_unsupported += int((abstains & (evidence.ignorance == 1)).sum())
        self.set_sizes += np.bincount(sets.sum(axis=1), minlength=len(self.set_sizes))
        self.ignorance += float(evidence.ignorance.sum())
        self.conflict += float(evidence.conflict.sum())
        known = np.flatnonzero(truth >= 0)
        self.n_covered += int(sets[known, truth[known]].sum())
        probability, has_label = evidence.probability, truth != NO_LABEL
        for k, c in enumerate(self.drawn_classes):
            of_class = probability[has_label, c]
            bins = np.clip(np.ceil(of_class * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)
            for sums, weight in zip(self.bins, (None, truth[has_label] == c, of_class), strict=True):
                sums[k] += np.bincount(bins, weight, minlength=N_BINS)
        confidence = probability[np.arange(len(label)), label]
        self._blocks.append(Outcomes(truth, label.astype(np.int32), confidence, abstains))

    @property
    def outcomes(self) -> Outcomes:
        """What becomes of all rows, in the order of the table."""
        return Outcomes(*(np.concatenate(item) for item in zip(*self._blocks, strict=True)))

    @property
    def figures(self) -> dict[str, float]:
        """What is known of all rows, with labels and without."""
        n, sizes = max(self.n_rows, 1), self.set_sizes
        return {
            "n_abstained": self.n_abstained,
            "abstention": self.n_abstained / n,
            "ignorance": self.ignorance / n,
            "conflict": self.conflict / n,
            "set_size": float(sizes @ np.arange(len(sizes)) / n),
        }

    def calibration(self, names: list[str]) -> list[dict[str, Any]]:
        """For each drawn class its bins that hold rows: their mean probability, and the share that has the class."""
        return [
            {
                "class": c,
                "name": names[c],
                "bins": [
                    {"low": k / N_BINS, "probability": item / n, "share": hits / n, "n_rows": int(n)}
                    for k, (n, hits, item) in enumerate(sums.T.tolist())
                    if n
                ],
            }
            for c, sums in zip(self.drawn_classes, self.bins.transpose(1, 0, 2), strict=True)
        ]

    def by_group(
        self, groups: Groups, features: list[str], classes: list[str]
    ) -> tuple[str, list[GroupMetrics], int | None]:
        """How answers fare by the values of one column.

        Parameters
        ----------
        groups : Groups
            What rows are grouped by.
        features, classes : list of str
            Their names as readers see them.

        Returns
        -------
        name : str
            Of the column.
        result : list of GroupMetrics
            The groups.
        positive : int or None
            Index of the class that rates of two classes are about.
        """
        outcomes, schema, name = self.outcomes, self.model.schema, groups.name
        values, codes = group_rows(groups.column)
        if name in (schema.names or ()):  # what people call the feature and its values
            feature = list(schema.names or ()).index(name)
            meanings = schema.kinds[feature].values
            name, values = features[feature], [str(meanings.get(value, value)) for value in values]
        names, positive = shown_names(values), positive_index(classes)
        answers = (outcomes.truth, outcomes.label, outcomes.abstains)
        return shown_line(name, 60), count_groups(*answers, names, codes, len(classes), positive), positive


# ---------------------------------------------------------------------------------------------------------------------
# How good the answers are
# ---------------------------------------------------------------------------------------------------------------------


def measures(judged: JudgedTable, classes: list[str]) -> dict[str, Any] | None:
    """The quality of the answers to rows with labels; None if no row has a label.

    A label that is no class of the model counts as an error and as not covered.

    Parameters
    ----------
    judged : JudgedTable
        The table.
    classes : list of str
        Names of the classes.

    Returns
    -------
    dict or None
    """
    outcomes = judged.outcomes
    truth, label, confidence, abstains = Outcomes(*(outcome[outcomes.truth != NO_LABEL] for outcome in outcomes))
    n, n_classes = len(truth), len(classes)
    if not n:
        return None
    correct, answered = truth == label, ~abstains
    # By true and by predicted class; labels of no class share one row.
    code = np.where(truth >= 0, truth, n_classes).astype(np.int64) * n_classes + label
    counts = np.bincount(code, minlength=(n_classes + 1) * n_classes).reshape(-1, n_classes)
    n_rows, n_predicted, hits = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
    commonest = int(n_rows[:-1].argmax())
    coverage, risk, _ = risk_coverage_curve(truth, label, confidence)
    thinned = np.unique(np.linspace(0, len(coverage) - 1, min(len(coverage), MAX_POINTS)).round().astype(int))
    return {
        "n_rows": n,
        "is_for_recall": judged.decision.is_for_recall,
        "costs": judged.decision.mean_cost(counts[:-1]),
        "n_without_label": judged.n_rows - n,
        "n_other_labels": int((truth < 0).sum()),
        "accuracy": float(correct.mean()),
        "accuracy_range": _range_text(wilson_interval(int(correct.sum()), n), 100, 1, " %"),
        **_auc_figures(truth, label, confidence, n_classes),
        "commonest": commonest,
        "baseline": float((truth == commonest).mean()),
        "n_answered": int(answered.sum()),
        "accuracy_answered": float(correct[answered].mean()) if answered.any() else None,
        "parts": _parts(correct, abstains),
        "aurc": aurc(truth, label, confidence),
        "ece": expected_calibration_error(truth, label, confidence, N_BINS),
        "set_coverage": judged.n_covered / n,
        "by_class": [
            {
                "name": name,
                "class": c,
                "n_rows": int(n_rows[c]),
                "n_predicted": int(n_predicted[c]),
                "recall": float(hits[c] / n_rows[c]) if n_rows[c] else None,
                "precision": float(hits[c] / n_predicted[c]) if n_predicted[c] else None,
                "parts": _parts(correct[truth == c], abstains[truth == c]) if n_rows[c] else None,
            }
            for c, name in enumerate(classes)
        ],
        # Labels of no class have the last row, if there are any.
        "confusion": counts[: n_classes + (n_rows[-1] > 0)].tolist() if n_classes <= MAX_CLASSES else None,
        "reliability": judged.calibration(classes),
        "risk_coverage": np.column_stack([coverage, risk])[thinned].tolist(),
    }


def _range_text(ends: tuple[float, float], scale: float, decimals: int, unit: str) -> str:
    return f"{' to '.join(f'{scale * end:.{decimals}f}' for end in ends)}{unit}"


def _auc_figures(truth: Ints, label: Ints, confidence: Floats, n_classes: int) -> dict[str, Any]:
    """The area under the ROC curve and its 95 % interval; nothing unless two classes have two rows each."""
    if n_classes != 2 or min(int((truth == c).sum()) for c in (0, 1)) < 2:
        return {"auc": None}
    second = np.where(label == 1, confidence, 1.0 - confidence)
    auc, ends = auc_interval(second[truth == 1], second[truth == 0])
    return {"auc": auc, "auc_range": _range_text(ends, 1, 3, "")}


def auc_interval(positive: Floats, negative: Floats) -> tuple[float, tuple[float, float]]:
    """The area under the ROC curve by DeLong's method, with its 95 % interval.

    Parameters
    ----------
    positive, negative : ndarray
        Scores of the rows of either class, at least two each.

    Returns
    -------
    auc : float
    interval : tuple of float

    Examples
    --------
    >>> auc, interval = auc_interval(np.array([0.9, 0.8, 0.4]), np.array([0.1, 0.5, 0.3, 0.2]))
    >>> round(auc, 3), [round(end, 3) for end in interval]
    (0.917, [0.686, 1.0])
    """
    n, m = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    # For each row, the share of the rows of the other class on its right side.
    above = (ranks[:n] - rankdata(positive)) / m
    below = 1.0 - (ranks[n:] - rankdata(negative)) / n
    auc = float(above.mean())
    spread = NORMAL_95 * float(np.sqrt(above.var(ddof=1) / n + below.var(ddof=1) / m))
    return auc, (max(auc - spread, 0.0), min(auc + spread, 1.0))


def _parts(correct: Bools, abstains: Bools) -> dict[str, float]:
    """Shares of rows that get a right or a wrong answer, or none; then by whether the most probable class is right."""
    return {
        "right": float((correct & ~abstains).mean()),
        "open_right": float((correct & abstains).mean()),
        "open_wrong": float((~correct & abstains).mean()),
        "wrong": float((~correct & ~abstains).mean()),
    }
