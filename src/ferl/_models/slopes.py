"""Slopes of rules: how fast scores can change along each feature, proven from the rules and not from rows."""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np

from ferl._models.terms import CurvesAndMaps
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, Ints

_EPSILON = float(np.finfo(np.float64).eps)


def score_slopes(tree: FuzzyTree, node: Ints, weight: Floats, n_features: int, categories: Container[int]) -> Floats:
    """Least and largest slope of what speaks for each class against any other one, shape (n_features, n_classes, 2).

    Of the difference between the score of the class and that of any other class, per unit of each feature, at any row
    whose gates are open. Rules with one condition add up to a curve, whose slopes are exact; a rule with more
    conditions counts with any firing of its other conditions. Two zeros where no rule asks a feature; NaN for
    categories that a rule asks, which have no slope.

    Parameters
    ----------
    tree : FuzzyTree
        The conditions.
    node : ndarray of shape (n_rules,)
        Where each rule ends.
    weight : ndarray of shape (n_rules, n_classes)
        Weights of evidence.
    n_features : int
        Number of features.
    categories : container of int
        The features that hold categories.

    Returns
    -------
    ndarray of shape (n_features, n_classes, 2)
    """
    found = np.zeros((n_features, weight.shape[1], 2))
    for feature in tree.tested_columns:
        if feature >= n_features:
            continue
        if feature in categories:
            found[feature] = np.nan
            continue
        rules, is_alone, slopes = _condition_slopes(tree, node, feature)
        for c in range(weight.shape[1]):
            ahead = np.delete(weight[rules, c, None] - weight[rules], c, axis=1)
            if ahead.shape[1]:
                found[feature, c] = _sum_bounds(slopes, ahead, is_alone)
    return found


def step_slopes(curves: CurvesAndMaps, n_features: int) -> Floats:
    """As :func:`score_slopes` for curves and maps: 0 where none of them rises (falls), else infinite.

    They are constant on cells, so that their only slopes are upright ones, at cuts.
    """
    found = np.zeros((n_features, curves.value.shape[1], 2))
    for term, columns in enumerate(curves.term_columns):
        table = curves.table(term)
        for axis, column in enumerate(columns):
            if column >= n_features:
                continue
            if curves.n_categories[column]:
                found[column] = np.nan
                continue
            steps = np.diff(np.moveaxis(table, axis, 0)[1:], axis=0).reshape(-1, table.shape[-1])
            for c in range(table.shape[-1]):
                ahead = np.delete(steps[:, c, None] - steps, c, axis=1)
                found[column, c, 0] -= math.inf if (ahead < 0).any() else 0.0
                found[column, c, 1] += math.inf if (ahead > 0).any() else 0.0
    return found


def _condition_slopes(tree: FuzzyTree, node: Ints, feature: int) -> tuple[Ints, Bools, Floats]:
    """The conditions on a feature: their rules, whether they are their rule's only one, and their slopes.

    Slopes have shape (n_intervals, n_conditions): between neighbouring corners, and infinite where a side is upright.
    """
    rules, nodes, is_alone = [], [], []
    for rule, end in enumerate(node.tolist()):
        path = tree.path(end)
        own = [step for step in path if tree.feature[step] == feature]
        rules += [rule] * len(own)
        nodes += own
        is_alone += [len(path) == 1] * len(own)
    a, b, c, d = tree.trapezoid[nodes].T
    bends = np.unique(np.concatenate([a, b, c, d]))
    bends = bends[np.isfinite(bends)]
    starts, ends = bends[:-1, None], bends[1:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.where((a <= starts) & (ends <= b), 1 / (b - a), 0.0)
        between -= np.where((c <= starts) & (ends <= d), 1 / (d - c), 0.0)
    upright = np.where((a == b) & (a == bends[:, None]), math.inf, 0.0)
    upright -= np.where((c == d) & (d == bends[:, None]), math.inf, 0.0)
    upright = upright[(upright != 0).any(axis=1)]
    return np.array(rules, dtype=np.int32), np.array(is_alone), np.vstack([between, upright])


def _sum_bounds(slopes: Floats, ahead: Floats, is_alone: Bools) -> tuple[float, float]:
    """Least and largest sum of slope times weight over all intervals and other classes; outside all ramps it is 0.

    Parameters
    ----------
    slopes : ndarray of shape (n_intervals, n_conditions)
        Of the conditions.
    ahead : ndarray of shape (n_conditions, n_others)
        By how much each rule speaks more for the class than for each other one.
    is_alone : ndarray of shape (n_conditions,), bool
        Whether a condition is the only one of its rule: then it counts fully, else between not at all and fully.

    Returns
    -------
    tuple of float
    """
    with np.errstate(invalid="ignore"):
        terms = np.nan_to_num(slopes[:, :, None] * ahead, nan=0.0, posinf=math.inf, neginf=-math.inf)
    falling, rising = np.minimum(terms, 0.0), np.maximum(terms, 0.0)
    exact = is_alone[None, :, None]
    # Where terms of both signs cancel their sum is rounded; terms of one sign keep it exactly.
    cancels = ((falling < 0) & exact).any(axis=1) & ((rising > 0) & exact).any(axis=1)
    doubt = np.where(cancels, _EPSILON * len(ahead) * np.abs(terms).sum(axis=1), 0.0)
    with np.errstate(invalid="ignore"):
        least = (falling + np.where(exact, rising, 0.0)).sum(axis=1) - doubt
        most = (rising + np.where(exact, falling, 0.0)).sum(axis=1) + doubt
    # Upright sides of both signs at one value: nothing is known.
    least, most = (
        np.nan_to_num(least, nan=-math.inf, neginf=-math.inf),
        np.nan_to_num(most, nan=math.inf, posinf=math.inf),
    )
    return float(least.min(initial=0.0)), float(most.max(initial=0.0))
