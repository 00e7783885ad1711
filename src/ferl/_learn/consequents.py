"""Class distributions of the nodes, from the class weights that reached them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.settings import check_signs
from ferl._models.tree import FuzzyTree, nodes_by_depth
from ferl._util.arrays import Floats, Ints


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
    kind : {"shrinkage", "laplace", "raw"}, default="shrinkage"
        ``"raw"``: the class frequencies, over-confident in small leaves. ``"laplace"``: one row of each class added,
        which over-smooths leaves when there are many classes. ``"shrinkage"``: hierarchical shrinkage (Agarwal et
        al., ICML 2022): a node's distribution is its parent's, plus the change of the frequencies from parent to node
        divided by ``1 + shrinkage / weight of the parent``.
    shrinkage : float, default=5.0
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
    raw = np.divide(class_weight, weight, out=np.zeros_like(class_weight), where=weight > 0)
    levels = nodes_by_depth(parent)
    if not weight.all():
        for nodes in levels:  # a node that no training row reaches has the distribution of its parent
            empty = nodes[weight[nodes, 0] == 0]
            raw[empty] = raw[parent[empty]]
    result = raw.copy()
    if kind == "shrinkage":
        trust = np.divide(weight, weight + shrinkage, out=np.ones_like(weight), where=weight > 0)
        change = (raw - raw[parent]) * trust[parent]
        for nodes in levels:
            result[nodes] = result[parent[nodes]] + change[nodes]
    # The change is a convex combination of frequencies, so what leaves [0, 1] is rounding.
    np.clip(result, 0.0, 1.0, out=result)
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def own_trust(
    class_weight: Floats, parent: NDArray[np.int32], kind: str = "shrinkage", shrinkage: float = 5.0
) -> Floats:
    """How far each node's distribution follows the class frequencies of the node, for given frequencies of its parent.

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


def signs(
    wish: ArrayLike | Mapping[str, int] | None, names: list[str], n_categories: Ints, n_classes: int
) -> Ints | None:
    """Sign of each column's constraint, 0 without a constraint; None: no column has one.

    Parameters
    ----------
    wish : array-like of shape (n_features,), mapping of name to sign, or None
        The parameter ``monotonic_cst``.
    names : list of str
        Names of the features.
    n_categories : ndarray of shape (n_columns,)
        Number of categories of each column; 0: it holds numbers. Indicators of missing values come after the features.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_columns,), int32, or None
    """
    if wish is None:
        return None
    found = _by_name(wish, names) if isinstance(wish, Mapping) else _in_order(wish, names)
    if not found.any():
        return None
    if n_classes != 2:
        raise ValueError(f"monotonic_cst needs two classes; y has {n_classes}.")
    for j in np.flatnonzero(found):
        if n_categories[j]:
            raise ValueError(f"monotonic_cst constrains {names[j]!r}, which holds categories; they have no order.")
    return np.pad(found, (0, len(n_categories) - len(names)))


def level_columns(constraint: Ints | None) -> tuple[int, ...]:
    """Columns whose gates would break a constraint if they closed: the constrained columns."""
    return () if constraint is None else tuple(np.flatnonzero(constraint).tolist())


def _by_name(wish: Mapping[str, int], names: list[str]) -> Ints:
    for name in wish:
        if name not in names:
            raise ValueError(f"monotonic_cst names the feature {name!r}; the features are {names}.")
    return _in_order([wish.get(name, 0) for name in names], names)


def _in_order(wish: ArrayLike, names: list[str]) -> Ints:
    given = np.asarray(wish)
    if given.shape != (len(names),):
        raise ValueError(f"monotonic_cst has shape {given.shape}; X has {len(names)} features.")
    check_signs(given)
    return given.astype(np.int32)


def constrain(tree: FuzzyTree, constraint: Ints) -> Floats:
    """Distributions of the nodes, moved as little as the constraints require.

    At a split of a constrained feature a line is drawn halfway between the two sides' shares of the second class: all
    below the one side stay under it, all below the other above it. So each split's two sides are in order whatever the
    other features are, and the vote, which goes over from one to the other as the feature rises, never turns back.

    Parameters
    ----------
    tree : FuzzyTree
        Of learned splits and two classes.
    constraint : ndarray of shape (n_features,)
        Signs.

    Returns
    -------
    ndarray of shape (n_nodes, 2)
    """
    low, high = np.zeros(tree.n_nodes), np.ones(tree.n_nodes)
    second = tree.consequent[:, 1]
    for left in range(1, tree.n_nodes):
        parent = tree.parent[left]
        if left != parent + 1:
            continue  # the right side, done together with the left one
        right = int(np.flatnonzero(tree.parent == parent)[1])
        sign = constraint[tree.feature[left]]
        both = np.clip(second[[left, right]], low[parent], high[parent])
        low[[left, right]], high[[left, right]] = low[parent], high[parent]
        if sign == 0:
            continue
        below, above = (left, right) if sign > 0 else (right, left)
        high[below] = low[above] = both.mean()
    bounded = np.clip(second, low, high)
    return np.column_stack([1 - bounded, bounded])
