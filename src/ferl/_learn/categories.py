"""Categories on their way into the core and out of it: codes that do not depend on what categories are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.tree import Categories, FuzzyTree, Profile
from ferl._models.words import WordConditions
from ferl._util.arrays import Floats, Ints
from ferl._util.text import category_text
from ferl._util.threads import for_each, threads_for

# That every category is taken to have more, with the class shares of the table; as in cpp/category.cpp.
PRIOR_ROWS = 5.0
MAX_WORDS = 20  # of one categorical feature in a linguistic tree: its heaviest categories
# Words for several categories are made only where these are few, and known well enough to be put in order.
MAX_GROUPED = 12
MIN_GROUPED_WEIGHT = 20.0


def category_weights(
    column: Floats, codes: Ints, weight: Floats, n_categories: int, n_classes: int, *, is_whole: bool = False
) -> Floats:
    """Weight of each class in each category of a column, shape (n_categories, n_classes); `is_whole`: all weights are.

    The same bits in any order of the rows, and for a row twice as for a row of twice the weight.
    """
    known = ~np.isnan(column)
    if not known.all():
        column, codes, weight = column[known], codes[known], weight[known]
    cell, counted = column.astype(np.intp), weight
    cell *= n_classes
    cell += codes
    total = np.bincount(cell, counted, minlength=n_categories * n_classes).astype(np.float64)
    if not is_whole:  # whole numbers add up without rounding
        order = np.argsort(cell, kind="stable")
        found, start = np.unique(cell[order], return_index=True)
        total[found] = [math.fsum(part) for part in np.split(counted[order], start[1:])]
    return total.reshape(n_categories, n_classes)


def category_order(weights: Floats) -> NDArray[np.intp]:
    """Categories by what they hold: an order that renaming does not change, up to exact ties.

    First along the direction in which their class shares differ most (with two classes, the share of the second), then
    by weight. Rows are drawn into resamples by their content; with the index of a category among the sorted names,
    renaming a category would draw other rows. Neighbours in this order are also alike, so a word can cover several of
    them. Categories that no row of any weight has come last, so that the others stay where they were.

    Parameters
    ----------
    weights : ndarray of shape (n_categories, n_classes)
        Weight of each class in each category.

    Returns
    -------
    ndarray of shape (n_categories,)
        Codes, in order.
    """
    total = weights.sum(axis=0) / max(weights.sum(), 1e-300)
    of_category = weights.sum(axis=1)
    share = (weights + PRIOR_ROWS * total) / (of_category + PRIOR_ROWS)[:, None]
    away = (share - total) * np.sqrt(of_category)[:, None]
    direction = _main_direction(away)
    direction *= np.sign(direction[np.argmax(np.round(np.abs(direction), 9))]) or 1.0
    # Rounded, since sums depend on the order of the rows in their last digits.
    rounded = np.round(weights / max(weights.sum(), 1e-300), 12)
    return np.lexsort((*rounded.T[::-1], rounded.sum(axis=1), np.round(share @ direction, 9), of_category == 0))


def _main_direction(away: Floats) -> Floats:
    """The direction in which rows lie furthest apart, shape (n_classes,); its sign is open.

    The time grows with the cube of the smaller side. A table of 1,000 classes and 40 categories took 4 s with the
    products of classes, and takes 0.1 s with the products of categories.
    """
    n_categories, n_classes = away.shape
    if n_classes <= n_categories:
        return np.asarray(np.linalg.svd(away.T @ away)[0][:, 0])
    direction = away.T @ np.linalg.eigh(away @ away.T)[1][:, -1]
    size = float(np.linalg.norm(direction))
    return np.asarray(direction / size) if size > 0 else direction


def recode(X: Floats, orders: dict[int, NDArray[np.intp]], n_threads: int) -> None:
    """Replace each category of a table by its index in the order of its column."""

    def recode_column(j: int) -> None:
        order = orders[j]
        index = np.full(len(order) + 1, math.nan)  # the last is what a missing value looks up
        index[order] = np.arange(len(order))
        code = X[:, j]
        code[np.isnan(code)] = len(order)
        np.take(index, code.astype(np.intp), out=code)

    for_each(recode_column, orders, threads_for(len(X) * len(orders), n_threads))


def restore(tree: FuzzyTree, orders: dict[int, NDArray[np.intp]], weights: dict[int, Floats]) -> FuzzyTree:
    """The tree with the codes that categories had before :func:`recode`."""
    if tree.categories is None:
        return tree
    trapezoid, membership = tree.trapezoid.copy(), []
    for node in range(tree.n_nodes):
        feature = int(tree.feature[node])
        if feature not in orders:
            membership.append(np.zeros(0))
            continue
        order = orders[feature]
        fit = np.empty(len(order))
        found = tree.categories.of(node)
        fit[order] = found if len(found) else _of_word(trapezoid[node], _weights_in(order, weights[feature]))
        membership.append(fit)
        trapezoid[node] = (-np.inf, -np.inf, np.inf, np.inf)
    start = np.concatenate([[0], np.cumsum([len(fit) for fit in membership])]).astype(np.int32)
    return replace(
        tree,
        trapezoid=trapezoid,
        categories=Categories(tree.categories.n_categories, start, np.concatenate(membership)),
        profile=_restore_profile(tree.profile, orders, weights),
    )


def _of_word(ends: Floats, weight: Floats) -> Floats:
    """Memberships of a word, which is a range of indices in the order; NaN: no row has the category."""
    indices = np.arange(len(weight))
    return np.where(weight > 0, np.where((indices >= ends[0]) & (indices <= ends[3]), 1.0, 0.0), np.nan)


def _weights_in(order: NDArray[np.intp], weights: Floats) -> Floats:
    """Weight of each category, in the order."""
    return np.asarray(weights.sum(axis=1)[order])


def _restore_profile(profile: Profile, orders: dict[int, NDArray[np.intp]], weights: dict[int, Floats]) -> Profile:
    mean, variance, rows = profile.mean.copy(), profile.variance.copy(), profile.exemplar_row.copy()
    for j, order in orders.items():
        known = ~np.isnan(rows[:, j])
        rows[known, j] = order[rows[known, j].astype(np.intp)]
        ordered = _weights_in(order, weights[j])
        share = ordered[ordered > 0] / max(ordered.sum(), 1e-300)
        # Half the probability that two rows differ: for two categories the variance of 0 and 1.
        mean[:, j], variance[:, j] = 0.0, (1 - (share**2).sum()) / 2
    return replace(profile, mean=mean, variance=variance, exemplar_row=rows)


def category_conditions(
    found: WordConditions,
    category_names: dict[int, Sequence[Any]],
    orders: dict[int, NDArray[np.intp]],
    weights: dict[int, Floats],
) -> WordConditions:
    """Conditions, including conditions on categorical features: "region is north", "region is north or west"."""
    known = {j: order[_weights_in(order, weights[j]) > 0] for j, order in orders.items()}
    added = [
        (j, first, last, _words_for([category_text(category_names[j][code]) for code in order], first, last))
        for j, order in known.items()
        for first, last in _ranges(_weights_in(order, weights[j]))
    ]
    if not added:
        return found
    return WordConditions(
        feature=np.concatenate([found.feature, np.array([j for j, *_ in added], dtype=np.int32)]),
        trapezoid=np.vstack([found.trapezoid, np.array([[first, first, last, last] for _, first, last, _ in added])]),
        word=[*found.word, *(word for *_, word in added)],
        is_complement=np.concatenate([found.is_complement, np.zeros(len(added), dtype=np.int32)]),
    )


def _ranges(weight: Floats) -> list[tuple[int, int]]:
    """Ranges of indices that get a word: the heaviest categories, and where all are heavy, both sides of each cut."""
    n = len(weight)
    if n < 2:  # a word for all rows carries no information
        return []
    alone = np.sort(np.argsort(-weight, kind="stable")[:MAX_WORDS])
    ranges = [(int(index), int(index)) for index in alone]
    if 2 < n <= MAX_GROUPED and weight.sum() >= MIN_GROUPED_WEIGHT * n:
        ranges += [(0, cut) for cut in range(1, n - 1)] + [(cut, n - 1) for cut in range(1, n - 1)]
    return ranges


def _words_for(names: list[str], first: int, last: int) -> str:
    """One word for several categories: the categories that belong to it, or the excluded ones if these are fewer."""
    inside, outside = names[first : last + 1], names[:first] + names[last + 1 :]
    if len(inside) <= max(len(outside), 1):
        return _listed(inside)
    return f"not {_listed(outside)}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
