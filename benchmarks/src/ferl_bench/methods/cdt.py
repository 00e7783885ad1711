"""Credal decision trees: a split counts only when it still informs after the least favourable prior has had its say.

After J. Abellan and S. Moral, "Building classification trees using the total uncertainty criterion", International
Journal of Intelligent Systems, 2003; the second form after C. J. Mantas and J. Abellan, "Credal-C4.5: decision tree
based on imprecise probabilities to classify noisy data", Expert Systems with Applications, 2014.

In place of the entropy of the class frequencies stands the largest entropy of any distribution the imprecise Dirichlet
model allows, ``(n(c) + s t(c)) / (n + s)``. It is larger the fewer the rows, so the gain of a split can be negative,
and a node is a leaf when no split has a positive one. A leaf answers with the classes that are not dominated: a class
is, when another one is more probable under every prior, which is when that one has more than ``s`` rows more.

Two forms: "CDT" discretises numbers once (MDL principle), splits a node into all values of a feature and uses a feature
once on a path; "CDT (C4.5)" looks for the best binary cut of each feature at each node and ranks by the gain ratio.

Simplifications: categories reach a method of this benchmark one-hot encoded; the C4.5 form has no pruning after growth
(the authors keep Quinlan's); sets of classes are those of the later literature on imprecise classification, the first
paper itself answers with one class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.discretise import Discretiser
from ferl_bench.method import Method

Rows = NDArray[np.intp]

# Rounding in the entropies must not make a split out of a gain of zero.
SMALLEST_GAIN = 1e-12
MIN_BRANCH_ROWS = 2  # Quinlan's, in the C4.5 form


def largest_entropy(counts: Floats, s: float) -> Floats:
    """Return the largest entropy, in bits, of the distributions ``(n(c) + s t(c)) / (n + s)``, over the last axis.

    The s prior rows fill up the smallest counts to a common level, as water would.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.methods.cdt import largest_entropy
    >>> largest_entropy(np.array([[3.0, 1.0], [1.0, 0.0]]), s=1.0).round(4).tolist()
    [0.971, 1.0]
    """
    ascending = np.sort(counts, axis=-1)
    n_filled = np.arange(1, counts.shape[-1] + 1)
    # The level when the k smallest are filled; it is the right k when it does not reach the next one.
    levels = (np.cumsum(ascending, axis=-1) + s) / n_filled
    level = levels.min(axis=-1, keepdims=True)
    probability = np.maximum(ascending, level)
    probability /= probability.sum(axis=-1, keepdims=True)
    return np.asarray(-(probability * np.log2(np.maximum(probability, 1e-300))).sum(axis=-1))


@dataclass(frozen=True)
class Split:
    """A feature, and the ascending cuts between its branches."""

    column: int
    cuts: Floats


@dataclass
class Node:
    """Class counts of the rows here and, unless it is a leaf, the split and a child for each branch."""

    counts: Floats
    split: Split | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def n_leaves(self) -> int:
        """Number of leaves below, or 1."""
        return sum(child.n_leaves for child in self.children) or 1


# (X, one-hot labels, rows of the node, columns used on the path) -> the best split or None
FindSplit = Callable[[Floats, Floats, Rows, frozenset[int]], Split | None]


class CredalTree:
    """A credal decision tree.

    Parameters
    ----------
    s : float
        Weight of the prior, in rows.
    binary : bool
        The C4.5 form instead of the one that discretises first.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    root_ : Node
        The tree.
    """

    def __init__(self, s: float = 1.0, binary: bool = False) -> None:
        self.s = s
        self.binary = binary

    def fit(self, X: Floats, y: NDArray[np.int64]) -> CredalTree:
        """Grow the tree."""
        self.classes_, label = np.unique(y, return_inverse=True)
        members = np.eye(len(self.classes_))[label]
        find = partial(_best_cut, self.s) if self.binary else partial(_best_feature, self.s, Discretiser.learn(X, y))
        self.root_ = _grow(X, members, np.arange(len(X)), frozenset(), find)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the distribution of the uniform prior in each row's leaf."""
        counts = self._counts(X) + self.s / len(self.classes_)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the most frequent class of each row's leaf."""
        return np.asarray(self.classes_[self._counts(X).argmax(axis=1)])

    def predict_set(self, X: Floats) -> NDArray[np.bool_]:
        """Return the classes of each row's leaf that no other dominates; shape (n_rows, n_classes)."""
        counts = self._counts(X)
        best = counts.max(axis=1, keepdims=True)
        # At a difference of just s the least favourable prior brings a tie, and a tie is not dominance.
        return np.asarray(counts + self.s >= best)

    def _counts(self, X: Floats) -> Floats:
        counts = np.empty((len(X), len(self.classes_)))
        waiting = [(self.root_, np.arange(len(X)))]
        while waiting:
            node, rows = waiting.pop()
            if node.split is None:
                counts[rows] = node.counts
                continue
            branch = np.searchsorted(node.split.cuts, X[rows, node.split.column], side="left")
            waiting += [(child, rows[branch == number]) for number, child in enumerate(node.children)]
        return counts


def _grow(X: Floats, members: Floats, rows: Rows, used: frozenset[int], find: FindSplit) -> Node:
    node = Node(members[rows].sum(axis=0))
    node.split = find(X, members, rows, used) if np.count_nonzero(node.counts) > 1 else None
    if node.split is not None:
        branch = np.searchsorted(node.split.cuts, X[rows, node.split.column], side="left")
        for number in range(len(node.split.cuts) + 1):
            row = rows[branch == number]
            # A branch without rows knows what its parent knows.
            child = _grow(X, members, row, used | {node.split.column}, find) if len(row) else Node(node.counts)
            node.children.append(child)
    return node


def _best_feature(
    s: float, discretiser: Discretiser, X: Floats, members: Floats, rows: Rows, used: frozenset[int]
) -> Split | None:
    """Return the discretised feature, not used above, of the largest imprecise information gain."""
    here = largest_entropy(members[rows].sum(axis=0), s)
    best, best_gain = None, SMALLEST_GAIN
    for column, cuts in zip(discretiser.columns, discretiser.cuts, strict=True):
        if column in used:
            continue
        branch = np.searchsorted(cuts, X[rows, column], side="left")
        counts = np.zeros((len(cuts) + 1, members.shape[1]))
        np.add.at(counts, branch, members[rows])
        gain = float(here - counts.sum(axis=1) @ largest_entropy(counts, s) / len(rows))
        if gain > best_gain:
            best, best_gain = Split(column, cuts), gain
    return best


def _best_cut(s: float, X: Floats, members: Floats, rows: Rows, used: frozenset[int]) -> Split | None:
    """Return the binary cut of the largest imprecise gain ratio, among features whose gain is at least average."""
    here = largest_entropy(members[rows].sum(axis=0), s)
    result = [cut for column in range(X.shape[1]) if (cut := _cut_of(column, here, s, X, members, rows)) is not None]
    if not result:
        return None
    average = sum(gain for gain, _, _ in result) / len(result)
    _, split = max(
        ((ratio, split) for gain, ratio, split in result if gain >= average - SMALLEST_GAIN), key=lambda one: one[0]
    )
    return split


def _cut_of(
    column: int, here: Floats, s: float, X: Floats, members: Floats, rows: Rows
) -> tuple[float, float, Split] | None:
    """Return gain, gain ratio and split of the feature's cut of largest gain, or None where no gain is positive."""
    order = rows[np.argsort(X[rows, column], kind="stable")]
    values = X[order, column]
    n_left = np.flatnonzero(values[1:] > values[:-1]) + 1
    n_left = n_left[(n_left >= MIN_BRANCH_ROWS) & (len(rows) - n_left >= MIN_BRANCH_ROWS)]
    if not len(n_left):
        return None
    up_to = np.cumsum(members[order], axis=0)
    left, right = up_to[n_left - 1], up_to[-1] - up_to[n_left - 1]
    # The branches' own probabilities are those of largest entropy as well.
    shares = np.column_stack([n_left, len(rows) - n_left]).astype(np.float64)
    level = np.maximum(shares, np.minimum(shares.min(axis=1) + s, (len(rows) + s) / 2)[:, None])
    level /= level.sum(axis=1, keepdims=True)
    gain = here - level[:, 0] * largest_entropy(left, s) - level[:, 1] * largest_entropy(right, s)
    best = int(np.argmax(gain))
    if gain[best] <= SMALLEST_GAIN:
        return None
    place = n_left[best]
    low, high = values[place - 1], values[place]
    cut = low + (high - low) / 2
    information = float(largest_entropy(shares[best], s))
    return float(gain[best]), float(gain[best]) / information, Split(column, np.array([cut if cut < high else low]))


def fit(s: float, binary: bool, X: Floats, y: NDArray[np.int64], seed: int) -> CredalTree:
    """Fit; nothing in it is random."""
    return CredalTree(s, binary).fit(X, y)


def size(fitted: CredalTree) -> int:
    """Return the number of leaves."""
    return fitted.root_.n_leaves


def prediction_set(fitted: CredalTree, X: Floats) -> NDArray[np.bool_]:
    """Return the classes that are not dominated."""
    return fitted.predict_set(X)


def _method(name: str, binary: bool, paper: dict[str, float]) -> Method:
    return Method(
        name=name,
        fit=partial(fit, 1.0, binary),
        size=size,
        prediction_set=prediction_set,
        parameters={"s": 1.0, "binary": binary},
        code=(
            "ferl_bench/discretise.py",
            "ferl_bench/methods/cdt.py",
            "ferl/_learn/word_builders.py",
        ),
        paper={"accuracy": 76.60, "aurc": 13.90, "size": 125, **paper},
    )


METHODS = (
    _method("CDT", False, {"determinacy": 0.88, "set_coverage": 0.82, "set_size": 1.19, "u65": 0.78, "u80": 0.79}),
    _method("CDT (C4.5)", True, {}),
)
