"""Class distributions of the nodes, from the class weights that reached them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl.tree import levels

Floats = NDArray[np.float64]


def consequents(
    class_weight: Floats, parent: NDArray[np.int32], kind: str = "shrinkage", shrinkage: float = 5.0
) -> Floats:
    """Class distribution of every node.

    Parameters
    ----------
    class_weight : ndarray of shape (n_nodes, n_classes)
        Training weight of each class in each node, nodes in pre-order.
    parent : ndarray of shape (n_nodes,)
        Parent of each node; -1 at the root.
    kind : {"shrinkage", "laplace", "raw"}
        ``"raw"``: the class frequencies, over-confident in small leaves. ``"laplace"``: one row of each class added,
        which over-smooths leaves when there are many classes. ``"shrinkage"``: hierarchical shrinkage (Agarwal et
        al., ICML 2022): a node's distribution is its parent's, plus the change of the frequencies from parent to node
        divided by ``1 + shrinkage / weight of the parent``.
    shrinkage : float
        The constant of ``"shrinkage"``, in rows; 0 is ``"raw"``.

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> class_weight = np.array([[10.0, 10.0], [9.0, 1.0], [1.0, 9.0]])
    >>> consequents(class_weight, np.array([-1, 0, 0]))
    array([[0.5 , 0.5 ],
           [0.82, 0.18],
           [0.18, 0.82]])
    """
    weight = class_weight.sum(axis=1, keepdims=True)
    if kind == "laplace":
        return np.asarray((class_weight + 1) / (weight + class_weight.shape[1]))
    # A node that no training row reaches says what its parent says.
    raw = np.divide(class_weight, weight, out=np.zeros_like(class_weight), where=weight > 0)
    result = raw.copy()
    for nodes in levels(parent):
        above = parent[nodes]
        empty = weight[nodes, 0] == 0
        raw[nodes[empty]] = raw[above[empty]]
        if kind == "shrinkage":
            trust = np.divide(
                weight[above], weight[above] + shrinkage, out=np.ones_like(weight[above]), where=weight[above] > 0
            )
            result[nodes] = result[above] + (raw[nodes] - raw[above]) * trust
        else:
            result[nodes] = raw[nodes]
    # The change is a convex combination of frequencies, so what leaves [0, 1] is rounding.
    np.clip(result, 0.0, 1.0, out=result)
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def own_trust(
    class_weight: Floats, parent: NDArray[np.int32], kind: str = "shrinkage", shrinkage: float = 5.0
) -> Floats:
    """How far each node's distribution follows its own frequencies, the parent's being what they are.

    Parameters
    ----------
    class_weight, parent, kind, shrinkage
        As in :func:`consequents`.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Change of the distribution per change of the frequencies, 0 to 1.
    """
    weight = class_weight.sum(axis=1)
    if kind == "raw":
        return np.ones(len(weight))
    if kind == "laplace":
        return np.asarray(weight / (weight + class_weight.shape[1]))
    above = np.where(parent < 0, np.inf, weight[np.maximum(parent, 0)])  # a root has nothing to be drawn to
    return np.asarray(
        np.divide(above, above + shrinkage, out=np.ones(len(above)), where=np.isfinite(above) & (above > 0))
    )
