"""Quinlan's pruning: a node is kept when an upper limit of its error rate says that it pays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from ferl._util.arrays import Floats

Rows = NDArray[np.intp]

# A simpler tree may look this much worse, in rows, and still be preferred.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Question:
    """What a node asks: is a number at most `cut`, or, with `values`, which of these categories is it."""

    column: int
    cut: float = 0.0
    values: Floats | None = None

    @property
    def n_branches(self) -> int:
        """Number of answers."""
        return 2 if self.values is None else len(self.values)

    def branches(self, X: Floats) -> Rows:
        """Return the branch of each row; -1 for a category that fitting has not seen."""
        values = X[:, self.column]
        if self.values is None:
            return (values > self.cut).astype(np.intp)
        place = np.searchsorted(self.values, values).clip(max=len(self.values) - 1)
        return np.where(self.values[place] == values, place, -1)


@dataclass
class Node:
    """Class counts of the rows here and, unless it is a leaf, the question and a child for each branch.

    A category that no row here has makes a leaf without rows; it answers with the counts of the node above.
    """

    counts: Floats
    question: Question | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def n_leaves(self) -> int:
        """Number of leaves below, or 1."""
        return sum(child.n_leaves for child in self.children) or 1


def upper_errors(counts: Floats, confidence: float) -> float:
    """Return the number of errors a leaf with these class counts would make at the upper limit of its error rate.

    The limit is the exact one of the binomial distribution. Quinlan's program has a normal approximation of it for
    leaves that make errors: 0.157 in place of 0.160 for one error in 16 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.pessimistic import upper_errors
    >>> round(upper_errors(np.array([6.0, 0.0]), confidence=0.25) / 6, 3)
    0.206
    """
    n = counts.sum()
    n_errors = n - counts.max()
    return float(n * betaincinv(n_errors + 1, n - n_errors, 1 - confidence)) if n else 0.0


def prune(node: Node, X: Floats, members: Floats, rows: Rows, confidence: float) -> Node:
    """Return the tree without the parts that do not pay.

    From the leaves upwards a node is replaced by a leaf, or by the branch with most rows, when that does not raise the
    errors expected at the upper limit. A branch that moves up gets all rows of the node, and is pruned again.

    Parameters
    ----------
    node : Node
        The tree; it is changed.
    X : ndarray of shape (n_rows, n_features)
        The fitting rows.
    members : ndarray of shape (n_rows, n_classes)
        One-hot labels.
    rows : ndarray of int
        The rows that reach the node.
    confidence : float
        Probability of an error rate above the limit; smaller values prune more.
    """
    if node.question is None:
        return node
    parts = _parts(node.question, X, rows)
    node.children = [
        prune(child, X, members, part, confidence) for child, part in zip(node.children, parts, strict=True)
    ]
    as_leaf = upper_errors(node.counts, confidence)
    as_tree = sum(_errors(child, confidence) for child in node.children)
    largest = int(np.argmax([len(part) for part in parts]))
    raised = _refilled(node.children[largest], X, members, rows)
    as_branch = _errors(raised, confidence)
    if as_leaf <= min(as_tree, as_branch) + TOLERANCE:
        return Node(node.counts)
    return prune(raised, X, members, rows, confidence) if as_branch <= as_tree + TOLERANCE else node


def _parts(question: Question, X: Floats, rows: Rows) -> list[Rows]:
    branch = question.branches(X[rows])
    return [rows[branch == number] for number in range(question.n_branches)]


def _errors(node: Node, confidence: float) -> float:
    if node.question is None:
        return upper_errors(node.counts, confidence)
    return sum(_errors(child, confidence) for child in node.children)


def _refilled(node: Node, X: Floats, members: Floats, rows: Rows) -> Node:
    """Return a copy of the tree with the class counts of `rows`."""
    counts = members[rows].sum(axis=0)
    if node.question is None:
        return Node(counts)
    parts = _parts(node.question, X, rows)
    return Node(
        counts,
        node.question,
        [_refilled(child, X, members, part) for child, part in zip(node.children, parts, strict=True)],
    )
