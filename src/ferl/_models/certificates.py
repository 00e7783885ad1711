"""Proofs: how far a row may move before its label can change, and how fast scores can change along each feature."""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np
from numpy.typing import ArrayLike

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.terms import CurvesAndMaps
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, Ints

# Rounding of votes and of their sums is far below this.
_ROUNDING = 1e-12
_EPSILON = float(np.finfo(np.float64).eps)


def certified_radius(model: Model, rows: Floats, scale: ArrayLike | str | None = None, n_threads: int = 1) -> Floats:
    """Largest radius proven for each row: the local one, or the global one where that is larger.

    Parameters
    ----------
    model : Model
        One that combines by Dempster's rule or by vote.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    scale : array-like of shape (n_features,) or "spread", default=None
        Unit of each feature; 0 for one that does not move. None: all 1. "spread": the standard deviation of each over
        the training rows.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    refuse_uncertified(model)
    return proven_radius(model, rows, model.evidence(rows, n_threads), check_scale(model, scale), n_threads)


def proven_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """The larger of the two radii below, shape (n_samples,); parameters as there."""
    local = local_radius(model, rows, evidence, scale, n_threads)
    return np.asarray(np.fmax(local, global_radius(model, rows, evidence, scale, n_threads)))


def local_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """Radius by interval propagation: bounds on the evidence of every source in a box, and bisection on its size.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    evidence : Evidence
        The model's evidence on these rows.
    scale : ndarray of shape (n_columns,)
        Unit of each column.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples,)
        0 where the label has no margin, infinity where no movement changes it.
    """
    radius = np.empty(len(rows))
    label = evidence.probability.argmax(axis=1).astype(np.int32)
    model.prover.certified_radius(rows, label, scale, n_threads, radius)
    return radius


def global_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """Radius by the Lipschitz constant of the tree: ``margin / (2 L)``, as far as no gate begins to close.

    The paper's certificate (supplement, Prop. 3). It is about the vote of the leaves of a tree of learned splits; for
    anything else it is NaN. The paper caps it where a gate on the paths of the row would close; here gates on paths
    that the row could reach within the radius count too, because they also change the vote.

    Parameters
    ----------
    model, rows, evidence, scale, n_threads
        As in :func:`local_radius`.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    radius = lipschitz_radius(model, evidence, scale)
    if model.reading.support_gate and not np.isnan(radius).any():
        opened = np.empty(len(rows))
        model.core.open_radius(rows, scale, n_threads, opened)
        radius = np.minimum(radius, opened)
    return radius


def lipschitz_radius(model: Model, evidence: Evidence, scale: Floats) -> Floats:
    """``margin / (2 L)`` of each row, proven only as far as the gates stay open; NaN where it does not apply."""
    slope = model.vote_slope(scale)
    if model.tree.n_nodes == 1 or model.tree.n_classes == 1:
        return np.full(len(evidence), np.inf)
    if slope is None:
        return np.full(len(evidence), np.nan)
    ordered = np.sort(evidence.belief, axis=1)
    margin = np.maximum(ordered[:, -1] - ordered[:, -2] - _ROUNDING, 0.0)
    steepness = 4 * slope * (1 + _ROUNDING)
    return np.asarray(margin / steepness if steepness > 0 else np.where(margin > 0, np.inf, 0.0))


def refuse_uncertified(model: Model) -> None:
    """Raise an error where labels of the model cannot be proven to stay."""
    if model.unproven:
        raise ValueError(model.unproven)


def check_scale(model: Model, scale: ArrayLike | str | None) -> Floats:
    """Units of the columns, all 1 when None is given; 0 for categories, dates and derived columns, which stay."""
    n_features = model.n_features
    if isinstance(scale, str):
        if scale != "spread":
            raise ValueError(f'scale is {scale!r}; it must be "spread", one number per feature, or None.')
        scale = total_spread(model.tree)[:n_features]
    unit = np.ones(n_features) if scale is None else np.array(scale, dtype=np.float64)
    if unit.shape != (n_features,):
        raise ValueError(f"scale has shape {unit.shape}; it needs one number per feature, shape ({n_features},).")
    bad = ~np.isfinite(unit) | (unit < 0)
    if bad.any():
        f = int(np.argmax(bad))
        raise ValueError(f"scale[{f}] is {unit[f]}; units must be finite and not negative. Use 0 for a fixed feature.")
    unit[[*(j for j in model.category_names if j < n_features), *model.replaced]] = 0.0
    return np.concatenate([unit, np.zeros(len(model.derived))])


# ---------------------------------------------------------------------------------------------------------------------
# How fast scores of rules can change along each feature: proven from the rules, not from rows
# ---------------------------------------------------------------------------------------------------------------------


def score_slopes(tree: FuzzyTree, node: Ints, weight: Floats, n_features: int, categories: Container[int]) -> Floats:
    """Least and largest slope of the score of each class against any other, shape (n_features, n_classes, 2).

    The slopes bound the difference between the scores of the class and of any other class, per unit of each feature, at
    any row whose gates are open. Rules with one condition add up to a curve, whose slopes are exact; a rule with more
    conditions counts with any firing of its other conditions. Both slopes are zero if no rule uses the feature; they
    are NaN for categories that a rule uses, which have no slope.

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
    result = np.zeros((n_features, weight.shape[1], 2))
    for feature in tree.tested_columns:
        if feature >= n_features:
            continue
        if feature in categories:
            result[feature] = np.nan
            continue
        rules, is_alone, slopes = _condition_slopes(tree, node, feature)
        for c in range(weight.shape[1]):
            ahead = np.delete(weight[rules, c, None] - weight[rules], c, axis=1)
            if ahead.shape[1]:
                result[feature, c] = _sum_bounds(slopes, ahead, is_alone)
    return result


def step_slopes(curves: CurvesAndMaps, n_features: int) -> Floats:
    """As :func:`score_slopes` for curves and maps: 0 where none of them rises (falls), else infinite.

    They are constant on cells, so that their only slopes are upright ones, at cuts.
    """
    result = np.zeros((n_features, curves.value.shape[1], 2))
    for term, columns in enumerate(curves.term_columns):
        table = curves.table(term)
        for axis, column in enumerate(columns):
            if column >= n_features:
                continue
            if curves.n_categories[column]:
                result[column] = np.nan
                continue
            steps = np.diff(np.moveaxis(table, axis, 0)[1:], axis=0).reshape(-1, table.shape[-1])
            for c in range(table.shape[-1]):
                ahead = np.delete(steps[:, c, None] - steps, c, axis=1)
                result[column, c, 0] -= math.inf if (ahead < 0).any() else 0.0
                result[column, c, 1] += math.inf if (ahead > 0).any() else 0.0
    return result


def _condition_slopes(tree: FuzzyTree, node: Ints, feature: int) -> tuple[Ints, Bools, Floats]:
    """The conditions on a feature: their rules, whether they are their rule's only one, and their slopes.

    Slopes have shape (n_intervals, n_conditions): between neighbouring corners, and infinite where a side is upright.
    """
    rules, nodes, is_alone = [], [], []
    for rule, end in enumerate(node.tolist()):
        path = tree.path(end)
        steps = [step for step in path if tree.feature[step] == feature]
        rules += [rule] * len(steps)
        nodes += steps
        is_alone += [len(path) == 1] * len(steps)
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
        Slopes of the conditions.
    ahead : ndarray of shape (n_conditions, n_others)
        Weight of each rule for the class minus its weight for each other class.
    is_alone : ndarray of shape (n_conditions,), bool
        Whether a condition is the only one of its rule: then it counts fully, otherwise by any share from 0 to 1.

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
    rounded = np.where(cancels, _EPSILON * len(ahead) * np.abs(terms).sum(axis=1), 0.0)
    with np.errstate(invalid="ignore"):
        least = (falling + np.where(exact, rising, 0.0)).sum(axis=1) - rounded
        most = (rising + np.where(exact, falling, 0.0)).sum(axis=1) + rounded
    # Upright sides of both signs at one value: nothing is known.
    least, most = (
        np.nan_to_num(least, nan=-math.inf, neginf=-math.inf),
        np.nan_to_num(most, nan=math.inf, posinf=math.inf),
    )
    return float(least.min(initial=0.0)), float(most.max(initial=0.0))
