"""What a fitted model has: all that answers are read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ferl._model.presets import setting
from ferl._model.tree import FuzzyTree
from ferl._util.arrays import Floats
from ferl._util.threads import n_threads as threads_of

if TYPE_CHECKING:
    from ferl._tables import Schema


class Fitted(Protocol):
    """A fitted :class:`ferl.FERLClassifier`, or the contents of its model file."""

    variant: str
    combination: str
    sources: str | None
    discount: float
    support_gate: bool
    gate_margin: float
    n_jobs: int | None
    tree_: FuzzyTree
    classes_: NDArray[Any]
    columns_: Schema
    missing_features_: tuple[int, ...]


# Evidence counts grow without bound as ignorance vanishes; below this they would say nothing more.
_LEAST_IGNORANCE = 1e-9
MOST_FIRING = (
    1 - 1e-12
)  # of a source in combinations that take maxima, which need some ignorance; as in cpp/evidence.cpp


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The combined evidence for a block of rows.

    A row's masses lie on single classes (``belief``) and on the whole frame (``ignorance``), and sum to one. For every
    class ``belief <= pignistic <= plausibility``.

    Attributes
    ----------
    belief : ndarray of shape (n_rows, n_classes)
        Mass committed to each class: what the evidence proves.
    ignorance : ndarray of shape (n_rows,)
        Mass committed to no class: 1 when nothing fires.
    conflict : ndarray of shape (n_rows,)
        Share of the evidence that contradicted itself and was removed by Dempster's normalisation.
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

    def __getitem__(self, rows: Any) -> Evidence:
        """The evidence of some rows: a slice, a mask, numbers, or one number."""
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        return Evidence(self.belief[chosen], self.ignorance[chosen], self.conflict[chosen], self.classes)

    def __repr__(self) -> str:
        n_rows, n_classes = self.belief.shape
        return f"<Evidence: {n_rows} rows, {n_classes} classes, mean ignorance {self.ignorance.mean():.3f}>"

    @property
    def plausibility(self) -> Floats:
        """What the evidence does not exclude, shape (n_rows, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None])

    @property
    def pignistic(self) -> Floats:
        """Probability for decisions: the ignorance shared equally among the classes, shape (n_rows, n_classes)."""
        return np.asarray(self.belief + self.ignorance[:, None] / self.belief.shape[1])

    @property
    def dirichlet(self) -> Floats:
        """Parameters of the Dirichlet distribution that says the same in subjective logic, shape (n_rows, n_classes).

        ``alpha(c) = C * belief(c) / ignorance + 1``, with C classes as the weight of the uniform prior. Its mean is
        the pignistic probability. Ignorance counts as at least 1e-9, so that certainty stays finite.
        """
        least = np.maximum(self.ignorance, _LEAST_IGNORANCE)
        return np.asarray(self.belief.shape[1] * self.belief / least[:, None] + 1.0)

    def prediction_set(self) -> NDArray[np.bool_]:
        """Classes that no other class dominates: plausibility at least the largest belief, shape (n_rows, n_classes).

        The whole frame is an abstention.
        """
        return np.asarray(self.plausibility >= self.belief.max(axis=1, keepdims=True))


def evidence_of_rows(fitted: Fitted, rows: Floats) -> Evidence:
    """Evidence of rows as the tree reads them, with the settings of a model."""
    return read_evidence(
        fitted.tree_,
        rows,
        fitted.classes_,
        combination=fitted.combination,
        sources=setting(fitted, "sources"),
        discount=fitted.discount,
        gated=fitted.support_gate,
        gate_margin=fitted.gate_margin,
        n_threads=threads_of(fitted.n_jobs),
    )


def read_evidence(
    tree: FuzzyTree,
    X: Floats,
    classes: NDArray[Any],
    *,
    combination: str = "dempster",
    sources: str = "leaves",
    discount: float = 0.0,
    gated: bool = True,
    gate_margin: float = 1.0,
    n_threads: int = 1,
) -> Evidence:
    """Fire the rows of X through the tree and combine what the nodes say.

    Parameters
    ----------
    tree : FuzzyTree
        The model.
    X : ndarray of shape (n_rows, n_features), float64
        Rows, in the column order of the training table.
    classes : ndarray of shape (n_classes,)
        Labels of the columns of ``tree.consequent``.
    combination : {"dempster", "cautious", "chain", "vote"}
        How sources are combined; see :class:`ferl.FERLClassifier`.
    sources : {"leaves", "all"}
        Which nodes are sources: the leaves, or every node but the root. ("chain" always reads whole paths.)
    discount : float
        A source backed by weight W is believed to the share ``W / (W + discount)``.
    gated : bool
        Whether the support gates act.
    gate_margin : float
        Width of a gate's slope, in ranges of its feature.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    Evidence
    """
    # Parameters may have changed since they were validated by fit.
    if sources not in ("leaves", "all"):
        raise ValueError(f"sources is {sources!r}; it must be 'leaves' or 'all'.")
    if not discount >= 0 or not gate_margin > 0:
        raise ValueError(f"discount is {discount} and gate_margin {gate_margin}; they must be at least 0 and above 0.")
    belief, ignorance, conflict = np.empty((len(X), tree.n_classes)), np.empty(len(X)), np.empty(len(X))
    tree.core(gate_margin).combine(
        tree.consequent,
        reliability(tree, discount),
        X,
        combination,
        sources == "all",
        gated,
        n_threads,
        belief,
        ignorance,
        conflict,
    )
    return Evidence(belief, ignorance, conflict, classes)


def reliability(tree: FuzzyTree, discount: float) -> Floats:
    """Share to which each node is believed, shape (n_nodes,): ``W / (W + discount)`` at training weight W."""
    return tree.weight / (tree.weight + discount) if discount > 0 else np.ones(tree.n_nodes)
