"""C4.5: Quinlan's tree. Splits by gain ratio, grown large, then pruned by an upper limit of the error rate.

After J. R. Quinlan, "C4.5: programs for machine learning", Morgan Kaufmann 1993, with the penalty for cuts of numbers
of release 8 (J. R. Quinlan, "Improved use of continuous attributes in C4.5", Journal of Artificial Intelligence
Research 4, 1996).

A category has a branch for each of its values, a number a binary cut: that of the largest gain, which is then reduced
by ``log2(n_cuts) / n_rows``, the price of saying which cut it is. Among the features whose gain is at least the average
the largest gain ratio wins. A subtree that errs no less than a leaf on its own rows is not kept; the rest of pruning is
in `ferl_bench.pessimistic`.

Simplifications: categories reach a method of this benchmark one-hot encoded, so that its rows use cuts only (the class
itself takes categories); missing values, which Quinlan divides among the branches, are refused; a leaf's probability is
the share of its rows; no grouping of values, windowing or rule extraction.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.errors import refuse_missing
from ferl_bench.method import Method
from ferl_bench.pessimistic import Node, Question, Rows, prune

CONFIDENCE = 0.25
MIN_ROWS = 2
# Quinlan's bounds on the rows a cut must leave on either side: a tenth of the mean number of rows of a class.
LARGEST_MIN_ROWS = 25
ROUNDING = 1e-9


def entropy(counts: Floats) -> Floats:
    """Return the entropy, in bits, of the class counts along the last axis; 0 for no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.methods.c45 import entropy
    >>> entropy(np.array([[9.0, 5.0], [4.0, 0.0]])).round(3).tolist()
    [0.94, 0.0]
    """
    share = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=-1) + 0.0)


class C45Tree:
    """A C4.5 decision tree.

    Parameters
    ----------
    confidence : float, default=0.25
        Probability of an error rate above the limit in pruning; smaller values prune more. 1 does not prune.
    min_rows : int, default=2
        Rows that at least two branches of a split must have.
    categorical : collection of int, default=()
        Columns of `X` whose values are categories.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    root_ : Node
        The tree.
    """

    def __init__(
        self, confidence: float = CONFIDENCE, min_rows: int = MIN_ROWS, categorical: Collection[int] = ()
    ) -> None:
        self.confidence = confidence
        self.min_rows = min_rows
        self.categorical = categorical

    def fit(self, X: Floats, y: NDArray[np.int64]) -> C45Tree:
        """Grow and prune the tree."""
        refuse_missing(X, "C45Tree")
        self.classes_, label = np.unique(y, return_inverse=True)
        members, rows = np.eye(len(self.classes_))[label], np.arange(len(X))
        grower = _Grower(X, members, self.min_rows, frozenset(self.categorical))
        self.root_ = grower.grow(rows, frozenset())
        if self.confidence < 1:
            self.root_ = prune(self.root_, X, members, rows, self.confidence)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the class shares of each row's leaf; shape (n_rows, n_classes)."""
        counts = np.empty((len(X), len(self.classes_)))
        waiting = [(self.root_, np.arange(len(X)))]
        while waiting:
            node, rows = waiting.pop()
            # What a branch without fitting rows, or a category without a branch, is answered with.
            if node.counts.any():
                counts[rows] = node.counts
            if node.question is not None:
                branch = node.question.branches(X[rows])
                waiting += [(child, rows[branch == number]) for number, child in enumerate(node.children)]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the most frequent class of each row's leaf."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class _Grower:
    """The fitting rows, and what is computed of them once for all nodes."""

    def __init__(self, X: Floats, members: Floats, min_rows: int, categorical: frozenset[int]) -> None:
        self.X = X
        self.members = members
        self.min_rows = min_rows
        self.categorical = categorical
        self.values = [np.unique(column) for column in X.T]

    def grow(self, rows: Rows, used: frozenset[int]) -> Node:
        """Return the tree of these rows; `used` are the categories that the nodes above have asked for."""
        node = Node(self.members[rows].sum(axis=0))
        if len(rows) < 2 * self.min_rows or np.count_nonzero(node.counts) < 2:
            return node
        question = self._best_question(rows, node.counts, used)
        if question is None:
            return node
        branch = question.branches(self.X[rows])
        below = used | ({question.column} & self.categorical)
        children = [self.grow(rows[branch == number], below) for number in range(question.n_branches)]
        n_errors = sum(_n_errors(child) for child in children)
        return Node(node.counts, question, children) if n_errors < node.counts.sum() - node.counts.max() else node

    def _best_question(self, rows: Rows, counts: Floats, used: frozenset[int]) -> Question | None:
        """Return the question of the largest gain ratio among those of at least average gain."""
        result = []
        for column in range(self.X.shape[1]):
            if column in used or len(self.values[column]) < 2:
                continue
            judged = (self._categories if column in self.categorical else self._cut)(column, rows, counts)
            if judged is not None and judged[0] > ROUNDING:
                result.append(judged)
        if not result:
            return None
        average = sum(gain for gain, _, _ in result) / len(result)
        return max((one for one in result if one[0] >= average - ROUNDING), key=lambda one: one[1])[2]

    def _categories(self, column: int, rows: Rows, counts: Floats) -> tuple[float, float, Question] | None:
        """Return gain, gain ratio and the question with a branch for each value, or None where it is not allowed."""
        question = Question(column, values=self.values[column])
        inside = np.zeros((question.n_branches, len(counts)))
        np.add.at(inside, question.branches(self.X[rows]), self.members[rows])
        n_inside = inside.sum(axis=1)
        if np.sum(n_inside >= self.min_rows) < 2:
            return None
        gain = float(entropy(counts) - n_inside @ entropy(inside) / len(rows))
        return gain, gain / float(entropy(n_inside)), question

    def _cut(self, column: int, rows: Rows, counts: Floats) -> tuple[float, float, Question] | None:
        """Return reduced gain, its ratio and the cut of largest gain, or None where no cut is allowed."""
        order = rows[np.argsort(self.X[rows, column], kind="stable")]
        values = self.X[order, column]
        n_left = np.flatnonzero(values[1:] > values[:-1]) + 1
        least = min(max(0.1 * len(rows) / len(counts), self.min_rows), max(LARGEST_MIN_ROWS, self.min_rows))
        allowed = n_left[(n_left >= least) & (len(rows) - n_left >= least)]
        if not len(allowed):
            return None
        left = np.cumsum(self.members[order], axis=0)[allowed - 1]
        n_right = len(rows) - allowed
        remaining = (allowed * entropy(left) + n_right * entropy(counts - left)) / len(rows)
        best = int(remaining.argmin())
        gain = float(entropy(counts) - remaining[best] - np.log2(len(n_left)) / len(rows))
        information = float(entropy(np.array([allowed[best], n_right[best]], dtype=np.float64)))
        return gain, gain / information, Question(column, self._threshold(column, *values[allowed[best] - 1 :][:2]))

    def _threshold(self, column: int, low: float, high: float) -> float:
        """Return the largest value of all fitting rows that is not above the middle: a threshold that was seen."""
        seen = self.values[column]
        return float(seen[np.searchsorted(seen, low + (high - low) / 2, side="right") - 1])


def _n_errors(node: Node) -> float:
    """Return how many of its own rows the tree errs on."""
    if node.question is None:
        return float(node.counts.sum() - node.counts.max())
    return sum(_n_errors(child) for child in node.children)


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> C45Tree:
    """Fit; nothing in it is random."""
    return C45Tree().fit(X, y)


def size(fitted: C45Tree) -> int:
    """Return the number of leaves."""
    return fitted.root_.n_leaves


METHODS = (
    Method(
        name="C4.5",
        fit=fit,
        size=size,
        parameters={"confidence": CONFIDENCE, "min_rows": MIN_ROWS},
        code=("ferl_bench/methods/c45.py", "ferl_bench/pessimistic.py"),
        paper={"accuracy": 78.19, "aurc": 18.07, "size": 254},
    ),
)
