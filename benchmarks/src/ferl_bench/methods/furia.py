"""FURIA: unordered fuzzy rules, learned as RIPPER learns them, class by class. Needs numba, which compiles its loops.

After J. Huehn and E. Huellermeier, "FURIA: an algorithm for unordered fuzzy rule induction", Data Mining and Knowledge
Discovery 19, 2009. The crisp rules of a class against all others come from `ferl_bench.ripper`. Then every condition on
a number gets a soft edge: full membership up to its bound, which falls to 0 at a value of the data beyond it, chosen so
that the rule is as pure as can be. A class scores the sum of confidence times membership of its rules. A row that no
rule covers gets the rules cut before their first condition that fails, at a lower confidence ("rule stretching").

Simplifications. Categories reach a method of this benchmark one-hot encoded, so that its rows ask whether such a column
is 0 or 1, with a soft edge between that no row sees; the class itself takes categories (``category = value``, crisp).
Missing values are refused. Which rows rules are pruned on is drawn by NumPy's generator, class against others. Variants
of a rule that pruning leaves without a condition are not considered. Probabilities are the scores divided by their sum.
`ferl bench weka` compares it with Weka's FURIA.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.errors import refuse_missing
from ferl_bench.method import Method
from ferl_bench.ripper import AT_MOST, EQUAL, N_ROUNDS, Condition, Mask, OneClass, Rule, SortedRows

PRIOR_WEIGHT = 2.0  # rows that the class's share of all rows counts for in a confidence
ROUNDING = 1e-12


@dataclass(frozen=True)
class FuzzyCondition:
    """A condition with a soft edge.

    Attributes
    ----------
    core : Condition
        Where membership is 1.
    support : float
        The value beyond the core's bound where membership has fallen to 0; NaN for a category, which has no edge.
    """

    core: Condition
    support: float = nan

    def membership(self, values: Floats) -> Floats:
        """Return the membership of the column's values."""
        if self.core.kind == EQUAL:
            return self.core.covers(values).astype(np.float64)
        beyond = (values - self.core.bound) / (self.support - self.core.bound)
        return np.asarray(np.clip(1 - beyond, 0, 1))


@dataclass(frozen=True)
class FuzzyRule:
    """A fuzzy rule.

    Attributes
    ----------
    label : int
        Position of its class.
    conditions : tuple of FuzzyCondition
        In the order in which they were found.
    confidences : ndarray of shape (n_conditions + 1,)
        Confidence of the rule cut after 0, 1, ... and all of its conditions.
    """

    label: int
    conditions: tuple[FuzzyCondition, ...]
    confidences: Floats

    def memberships(self, X: Floats) -> Floats:
        """Return memberships in the rule cut after 0, 1, ... and all conditions; shape (n_conditions + 1, n_rows)."""
        each = [condition.membership(X[:, condition.core.column]) for condition in self.conditions]
        return np.asarray(np.cumprod([np.ones(len(X)), *each], axis=0))

    def support(self, X: Floats) -> Floats:
        """Return confidence times membership of each row."""
        return np.asarray(self.confidences[-1] * self.memberships(X)[-1])

    def stretched_support(self, X: Floats) -> Floats:
        """Return the support by the rule cut before the first condition that a row fails; 0 where it fails the first.

        A rule that keeps k of n conditions counts ``(k + 1) / (n + 2)``.
        """
        memberships = self.memberships(X)
        n_kept = np.count_nonzero(memberships, axis=0) - 1
        membership = memberships[n_kept, np.arange(len(X))]
        support = self.confidences[n_kept] * membership * (n_kept + 1) / (len(self.conditions) + 2)
        return np.asarray(np.where(n_kept > 0, support, 0))


def fuzzify(rule: Rule, rows: SortedRows, positive: Mask) -> tuple[FuzzyCondition, ...]:
    """Return the conditions with soft edges: next is always the condition whose best edge makes the purest rule.

    Parameters
    ----------
    rule : tuple of Condition
        The crisp rule.
    rows : SortedRows
        All fitting rows.
    positive : ndarray of bool of shape (n_rows,)
        Rows of the rule's class.

    Returns
    -------
    tuple of FuzzyCondition
        In the order of the rule.
    """
    soft = [FuzzyCondition(condition) for condition in rule]
    covered = np.array([condition.covers(rows.columns[condition.column]) for condition in rule])
    waiting = [place for place, condition in enumerate(rule) if condition.kind != EQUAL]
    while waiting:
        edges = {}
        for place in waiting:
            by_others = np.asarray(np.delete(covered, place, axis=0).all(axis=0))
            edges[place] = purest_support(rule[place], rows, positive, by_others)
        best = max(waiting, key=lambda place: edges[place][0])
        soft[best] = replace(soft[best], support=edges[best][1])
        covered[best] = soft[best].membership(rows.columns[rule[best].column]) > 0
        waiting.remove(best)
    return tuple(soft)


def purest_support(condition: Condition, rows: SortedRows, positive: Mask, among: Mask) -> tuple[float, float]:
    """Return the purity ``sum mu+ / sum mu`` of the best edge of a condition on a number, and where it ends.

    Parameters
    ----------
    condition : Condition
        The core.
    rows : SortedRows
        All fitting rows.
    positive : ndarray of bool of shape (n_rows,)
        Rows of the rule's class.
    among : ndarray of bool of shape (n_rows,)
        Rows that the other conditions cover.

    Returns
    -------
    purity : float
    support : float
        The widest of the purest. Where none of these rows lies beyond the core: the nearest value of all rows there.
    """
    sign = 1 if condition.kind == AT_MOST else -1
    order = rows.order[condition.column][::sign]
    order = order[among[order]]
    beyond = sign * (rows.columns[condition.column][order] - condition.bound)
    n_core = int(np.searchsorted(beyond, 0, side="right"))
    classes = np.array([positive[order], ~positive[order]], dtype=np.float64)
    in_core = classes[:, :n_core].sum(axis=1)
    beyond, classes = beyond[n_core:], classes[:, n_core:]
    first = np.flatnonzero(np.diff(beyond, prepend=0.0) > 0)  # of the rows with the same value
    if not len(first):
        values = rows.values[condition.column]
        nearest = values[np.searchsorted(values, condition.bound) + sign]
        return float(in_core[0] / max(in_core.sum(), 1)), float(nearest)
    # An edge that ends at e gives rows at a distance b < e beyond the core the membership 1 - b / e.
    count = np.cumsum(classes, axis=1)[:, first] - classes[:, first]
    distance = np.cumsum(classes * beyond, axis=1)[:, first] - (classes * beyond)[:, first]
    right, wrong = in_core[:, None] + count - distance / beyond[first]
    purity = right / (right + wrong)
    widest = int(np.flatnonzero(purity >= purity.max() - ROUNDING)[-1])
    # The value itself, not bound + distance, so that rounding does not make a row beyond the edge a member.
    end = rows.columns[condition.column][order[n_core + first[widest]]]
    return float(purity[widest]), float(end)


class FURIA:
    """Fuzzy unordered rules.

    Parameters
    ----------
    seed : int, default=0
        Seed of the rows that rules are pruned on.
    categorical : collection of int, default=()
        Columns of `X` whose values are categories.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    priors_ : ndarray of shape (n_classes,)
        Share of each class in the fitting rows.
    rules_ : list of FuzzyRule
        The rules of the first class, then those of the second, and so on.
    """

    def __init__(self, seed: int = 0, categorical: Collection[int] = ()) -> None:
        self.seed = seed
        self.categorical = categorical

    def fit(self, X: Floats, y: NDArray[np.int64]) -> FURIA:
        """Learn the rules of every class."""
        refuse_missing(X, "FURIA")
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.priors_ = np.bincount(labels) / len(labels)
        rows, random = SortedRows(X, self.categorical), np.random.default_rng(self.seed)
        self.rules_ = []
        for label in range(len(self.classes_)):
            positive = labels == label
            for rule in OneClass(rows, positive, random).learn():
                soft = FuzzyRule(label, fuzzify(rule, rows, positive), np.empty(0))
                self.rules_.append(replace(soft, confidences=self._confidences(soft.memberships(X), positive, label)))
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the scores, divided by their sum; shape (n_rows, n_classes)."""
        scores = self._scores(X)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the class of the largest score; of classes with the same score, the most frequent one."""
        scores = self._scores(X)
        is_best = scores >= scores.max(axis=1, keepdims=True) - ROUNDING
        return np.asarray(self.classes_[np.where(is_best, self.priors_, -1).argmax(axis=1)])

    def _confidences(self, memberships: Floats, positive: Mask, label: int) -> Floats:
        right = memberships[:, positive].sum(axis=1)
        return np.asarray((PRIOR_WEIGHT * self.priors_[label] + right) / (PRIOR_WEIGHT + memberships.sum(axis=1)))

    def _scores(self, X: Floats) -> Floats:
        """Return the supports of the rules, summed by class; of stretched rules where none covers; or the priors."""
        scores = np.zeros((len(X), len(self.classes_)))
        for rule in self.rules_:
            scores[:, rule.label] += rule.support(X)
        uncovered = np.flatnonzero(~scores.any(axis=1))
        for rule in self.rules_:
            stretched = rule.stretched_support(X[uncovered])
            scores[uncovered, rule.label] = np.maximum(scores[uncovered, rule.label], stretched)
        scores[~scores.any(axis=1)] = self.priors_
        return scores


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> FURIA:
    """Fit; the seed draws the rows that rules are pruned on."""
    return FURIA(seed).fit(X, y)


def size(fitted: FURIA) -> int:
    """Return the number of rules."""
    return len(fitted.rules_)


METHODS = (
    Method(
        name="FURIA",
        fit=fit,
        size=size,
        parameters={"prior_weight": PRIOR_WEIGHT, "n_rounds": N_ROUNDS},
        packages=("numpy", "scikit-learn", "numba"),
        code=("ferl_bench/compiled.py", "ferl_bench/methods/furia.py", "ferl_bench/ripper.py"),
        paper={"accuracy": 78.51, "aurc": 17.42, "size": 69},
    ),
)
