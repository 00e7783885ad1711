"""Monotone constraints: what the soft vote may do as one feature rises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl.tree import FuzzyTree

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def signs(estimator: FERLClassifier, names: list[str], n_levels: Ints, n_classes: int) -> Ints | None:
    """Sign of each feature's constraint, 0 where it has none; None: there are no constraints.

    Parameters
    ----------
    estimator : FERLClassifier
        Its ``monotonic_cst`` is read.
    names : list of str
        Names of the features.
    n_levels : ndarray of shape (n_features,)
        Number of categories of each feature; 0: it holds numbers.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_features,), int32, or None
    """
    wish = estimator.monotonic_cst
    if wish is None:
        return None
    found = _by_name(wish, names) if isinstance(wish, Mapping) else _in_order(wish, names)
    if not found.any():
        return None
    if n_classes != 2:
        raise ValueError(f"monotonic_cst needs two classes; y has {n_classes}.")
    if estimator.variant == "compact":
        raise ValueError('monotonic_cst works with learned splits: use variant="deep" or "medium".')
    for j in np.flatnonzero(found):
        if n_levels[j]:
            raise ValueError(f"monotonic_cst constrains {names[j]!r}, which holds categories; they have no order.")
    return found


def _by_name(wish: Mapping[str, int], names: list[str]) -> Ints:
    for name in wish:
        if name not in names:
            raise ValueError(f"monotonic_cst names the feature {name!r}; the features are {names}.")
    return _in_order([wish.get(name, 0) for name in names], names)


def _in_order(wish: ArrayLike, names: list[str]) -> Ints:
    given = np.asarray(wish)
    if given.shape != (len(names),):
        raise ValueError(f"monotonic_cst has shape {given.shape}; X has {len(names)} features.")
    if not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(f"monotonic_cst has the values {np.unique(given).tolist()}; they must be -1, 0 or 1.")
    return given.astype(np.int32)


def constrain(tree: FuzzyTree, constraint: Ints) -> Floats:
    """Distributions of the nodes, moved as little as the constraints ask for.

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
        own = np.clip(second[[left, right]], low[parent], high[parent])
        low[[left, right]], high[[left, right]] = low[parent], high[parent]
        if sign == 0:
            continue
        below, above = (left, right) if sign > 0 else (right, left)
        high[below] = low[above] = own.mean()
    bounded = np.clip(second, low, high)
    return np.column_stack([1 - bounded, bounded])
