"""Categories on their way into the core and out of it: codes that do not depend on what categories are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl.partition import Terms
from ferl.tree import Categories, FuzzyTree, Profile

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

MAX_WORDS = 20  # of one categorical feature in a linguistic tree: its heaviest categories


def level_weights(column: Floats, codes: Ints, weight: Floats, n_levels: int, n_classes: int) -> Floats:
    """Weight of each class in each category of a column, shape (n_levels, n_classes)."""
    known = ~np.isnan(column)
    cell = column[known].astype(np.intp) * n_classes + codes[known]
    total = np.bincount(cell, weight[known], minlength=n_levels * n_classes)
    return np.asarray(total, dtype=np.float64).reshape(n_levels, n_classes)


def level_order(weights: Floats) -> NDArray[np.intp]:
    """Categories by what they hold, the heaviest first: an order that renaming does not change, up to exact ties.

    Rows are drawn into resamples by their content. Were that content the place of a category among the sorted names,
    another name would draw other rows.
    """
    # Rounded, since the sums depend on the order of the rows in their last digits.
    rounded = np.round(weights / max(weights.sum(), 1e-300), 12)
    return np.lexsort((*rounded.T[::-1], rounded.sum(axis=1)))[::-1]


def recode(X: Floats, orders: dict[int, NDArray[np.intp]]) -> Floats:
    """The table with each category replaced by its place in the order of its column."""
    if not orders:
        return X
    recoded = X.copy()
    for j, order in orders.items():
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        known = ~np.isnan(X[:, j])
        recoded[known, j] = place[X[known, j].astype(np.intp)]
    return recoded


def restore(tree: FuzzyTree, orders: dict[int, NDArray[np.intp]], weights: dict[int, Floats]) -> FuzzyTree:
    """The tree with categories under their own codes again."""
    if not orders or tree.categories is None:
        return tree
    membership, trapezoid = tree.categories.membership.copy(), tree.trapezoid.copy()
    for node in range(1, tree.n_nodes):
        order = orders.get(int(tree.feature[node]))
        if order is None:
            continue
        own = slice(tree.categories.start[node], tree.categories.start[node + 1])
        if own.stop > own.start:
            membership[own][order] = tree.categories.membership[own]
        else:  # a word
            trapezoid[node] = order[int(tree.trapezoid[node, 0])]
    profile = None if tree.profile is None else _restore_profile(tree.profile, orders, weights)
    categories = Categories(tree.categories.n_levels, tree.categories.start, membership)
    return replace(tree, trapezoid=trapezoid, categories=categories, profile=profile)


def _restore_profile(profile: Profile, orders: dict[int, NDArray[np.intp]], weights: dict[int, Floats]) -> Profile:
    mean, variance, rows = profile.mean.copy(), profile.variance.copy(), profile.exemplar_row.copy()
    for j, order in orders.items():
        known = ~np.isnan(rows[:, j])
        rows[known, j] = order[rows[known, j].astype(np.intp)]
        share = weights[j].sum(axis=1) / max(weights[j].sum(), 1e-300)
        # Half the probability that two rows differ: for two categories the variance of 0 and 1.
        mean[:, j], variance[:, j] = 0.0, (1 - (share**2).sum()) / 2
    return Profile(mean, variance, profile.exemplar, rows)


def category_terms(found: Terms, levels: dict[int, Sequence[Any]], orders: dict[int, NDArray[np.intp]]) -> Terms:
    """Terms with one for each of the heaviest categories: "region is north"."""
    added = [
        (j, float(place), level_text(levels[j][code]))
        for j, order in orders.items()
        for place, code in enumerate(order[:MAX_WORDS])
    ]
    if not added:
        return found
    return Terms(
        feature=np.concatenate([found.feature, np.array([j for j, _, _ in added], dtype=np.int32)]),
        trapezoid=np.vstack([found.trapezoid, np.array([[place] * 4 for _, place, _ in added])]),
        word=[*found.word, *(word for *_, word in added)],
        is_complement=np.concatenate([found.is_complement, np.zeros(len(added), dtype=np.int32)]),
    )


def level_text(level: Any) -> str:
    """A category as rules say it; quoted where a reader could not see it."""
    text = str(level)
    return text if text.strip() and text.isprintable() else repr(text)
