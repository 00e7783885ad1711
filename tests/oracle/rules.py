"""Rules in plain NumPy: knots, the gain of a candidate, the best condition of a column, refits, pruning.

Candidates are ramps between knots and sets of categories, or words that are fixed before: then no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from oracle.linguistic import Term

Floats = NDArray[np.float64]

SMOOTHING = 2.0  # of the denominator of a gain
LEAST_WEIGHT = 0.75  # of (sum h phi)^2 / sum h phi^2
INTERCEPT_RIDGE = 1e-3
FAR_OUT = 1e-7  # of the range of the knots, that all but one end span at least
LEAST_SHARE = 1e-9  # of a word, and of what lies outside
N_ORDERINGS = 4  # classes by whose residuals categories are put in order


def n_knots(n_columns: int, weight: Floats) -> int:
    return int(np.clip(400 // n_columns, 6, np.clip(weight.sum() / 15, 6, 24)))


def knots(x: Floats, weight: Floats, most: int) -> Floats:
    """All values of a column where they are few, else the two ends and weighted quantiles between them.

    An end is left out where the range of the others is less than ``FAR_OUT`` of the whole.
    """
    weight, x = weight[~np.isnan(x)], x[~np.isnan(x)]
    values = np.unique(x)
    if len(values) <= most:
        return without_far_ends(values) if len(values) > 1 else values[:0]
    below = np.array([weight[x <= value].sum() for value in values])
    aims = (np.arange(most - 2) + 0.5) / (most - 2) * below[-1] * (1 - 1e-12)
    return without_far_ends(np.unique(np.r_[values[0], values[np.searchsorted(below, aims)], values[-1]]))


def without_far_ends(points: Floats) -> Floats:
    """Points without ends so far out that all others would be one knot."""
    rest = min(points[1:], points[:-1], key=np.ptp)
    if len(points) > 2 and np.ptp(rest) < FAR_OUT * np.ptp(points):
        return without_far_ends(rest)
    return points


def ramp(x: Floats, low: float, high: float, weight: Floats) -> Floats:
    """Membership of a rising ramp; a missing value has the weighted mean of the others."""
    membership = np.clip((x - low) / (high - low), 0, 1)
    known = ~np.isnan(x)
    return np.where(known, membership, np.average(membership[known], weights=weight[known]))


def inside(code: Floats, categories: list[int], present: list[int], weight: Floats) -> Floats:
    """Membership of a set of categories; a missing value, and a category that is not present, has the set's share."""
    membership, known = np.isin(code, categories).astype(float), np.isin(code, present)
    return np.where(known, membership, np.average(membership[known], weights=weight[known]))


def gain(phi: Floats, gradient: Floats, hessian: Floats, sign: int = 0) -> float:
    """What a rule that fires by ``phi`` gains, summed row by row; ``sign``: that its gradient must have."""
    first, second = hessian @ phi, hessian @ phi**2
    if first**2 <= LEAST_WEIGHT * second:
        return -1.0
    slopes = phi @ gradient
    slopes = slopes[(sign == 0) | (slopes * sign > 0)]
    return float((slopes**2).sum() / (max(second - first**2 / hessian.sum(), 0.0) + SMOOTHING))


def best_ramps(
    x: Floats, weight: Floats, most: int, gradient: Floats, hessian: Floats, base: Floats
) -> tuple[float, float]:
    """The largest gains of a ramp up and a ramp down between any two knots."""
    best = [-1.0, -1.0]
    for low, high in combinations(knots(x, weight, most), 2):
        up = ramp(x, low, high, weight)
        for side, membership in enumerate((up, 1 - up)):
            best[side] = max(best[side], gain(base * membership, gradient, hessian))
    return best[0], best[1]


def word(x: Floats, term: Term, weight: Floats) -> Floats:
    """Membership in a word; a missing value has the weighted mean of the others. Categories are numbers here."""
    known = ~np.isnan(x)
    membership = term._replace(feature=0).membership(np.where(known, x, 0.0)[:, None])
    return np.where(known, membership, np.average(membership[known], weights=weight[known]))


def best_word(
    x: Floats, weight: Floats, words: list[Term], gradient: Floats, hessian: Floats, base: Floats, monotone: int = 0
) -> float:
    """The largest gain of a word. One that all rows have, or none, says nothing.

    ``monotone``: which way the second class's score must go with the value. A word that ends on both sides has no way.
    """
    best, known = -1.0, ~np.isnan(x)
    for term in words:
        membership = word(x, term, weight)
        share = np.average(membership[known], weights=weight[known])
        if not LEAST_SHARE < share < 1 - LEAST_SHARE:
            continue
        way = int(term.trapezoid[3] == np.inf) - int(term.trapezoid[0] == -np.inf)
        if monotone != 0 and way == 0:
            continue
        best = max(best, gain(base * membership, gradient, hessian, monotone * way))
    return best


def present_categories(code: Floats, base: Floats) -> list[int]:
    """Categories that a row has for which the conditions before hold."""
    return [int(k) for k in np.unique(code[(base > 0) & ~np.isnan(code)])]


def category_sets(code: Floats, gradient: Floats, hessian: Floats, base: Floats) -> Iterator[tuple[list[int], bool]]:
    """Sets that are looked at, and whether they were put together by residuals."""
    present = present_categories(code, base)
    for k in present:
        yield [k], False
    if len(present) < 4:
        return
    slopes = np.array([(base * (code == k)) @ gradient for k in present])
    scale = np.array([(base**2 * (code == k)) @ hessian for k in present]) + SMOOTHING
    strength = (slopes**2 / scale[:, None]).sum(axis=0)
    for c in np.argsort(-strength, kind="stable")[:N_ORDERINGS]:
        order = np.argsort(-slopes[:, c] / scale, kind="stable")
        for n in range(1, len(present)):
            yield [present[k] for k in order[:n]], True


def best_set(code: Floats, weight: Floats, n_classes: int, gradient: Floats, hessian: Floats, base: Floats) -> float:
    """The largest gain of a set of categories or its complement, less what ordered sets gain by luck."""
    present = present_categories(code, base)
    best = -1.0
    for categories, is_ordered in category_sets(code, gradient, hessian, base) if len(present) > 1 else ():
        freedom = (n_classes - 1) * (len(present) - 2)
        luck = freedom + 2 * np.sqrt(2 * freedom) if is_ordered else 0.0
        phi = inside(code, categories, present, weight)
        gains = [gain(base * side, gradient, hessian) for side in (phi, 1 - phi)]
        if min(gains) >= 0:  # both sides have rows enough
            best = max(best, max(gains) - luck)
    return best


def objective(
    firing: Floats,
    target: Floats,
    row_weight: Floats,
    ridge: Floats,
    weight: Floats,
    prior: Floats,
    offset: Floats | float = 0.0,
) -> float:
    """Log-loss plus half the ridge of each rule times its squared weight of the standardised firing.

    ``offset``: what rules that are held say of each row, shape (n_rows, n_classes).
    """
    mean = np.average(firing, axis=0, weights=row_weight)
    deviation = np.sqrt(np.average((firing - mean) ** 2, axis=0, weights=row_weight))
    scores = offset + prior + firing @ weight
    loss = row_weight @ (logsumexp(scores, axis=1) - (target * scores).sum(axis=1))
    intercept = prior + mean @ weight
    penalty = ridge @ ((weight * deviation[:, None]) ** 2).sum(axis=1) + INTERCEPT_RIDGE * (intercept**2).sum()
    return float(loss + 0.5 * penalty)


def optimum(
    firing: Floats,
    target: Floats,
    row_weight: Floats,
    ridge: Floats,
    sign: NDArray[np.int32],
    offset: Floats | float = 0.0,
) -> float:
    """The least objective, with the weights of the second class bounded by ``sign``."""
    n_rules, n_classes = firing.shape[1], target.shape[1]

    def parts(w: Floats) -> tuple[Floats, Floats]:
        w = w.reshape(n_rules + 1, n_classes)
        return w[1:], w[0]

    mean = np.average(firing, axis=0, weights=row_weight)
    variance = np.average((firing - mean) ** 2, axis=0, weights=row_weight)

    def slope(w: Floats) -> Floats:
        weight, prior = parts(w)
        residual = row_weight[:, None] * (softmax(offset + prior + firing @ weight, axis=1) - target)
        intercept = INTERCEPT_RIDGE * (prior + mean @ weight)
        rules = firing.T @ residual + (ridge * variance)[:, None] * weight + np.outer(mean, intercept)
        return np.vstack([residual.sum(axis=0) + intercept, rules]).ravel()

    bounds = [(None, None)] * n_classes
    for own in sign:
        bounds += [(None, None)] * n_classes if own == 0 else [(None, 0), (0, None)][:: int(own)]
    found = minimize(
        lambda w: objective(firing, target, row_weight, ridge, *parts(w), offset),
        np.zeros((n_rules + 1) * n_classes),
        jac=slope,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 5000, "maxfun": 10**5, "ftol": 1e-14, "gtol": 1e-9, "maxcor": 50},
    )
    return float(found.fun)


def divergence(p: Floats, q: Floats, row_weight: Floats) -> float:
    """Mean Kullback-Leibler divergence of the answers q from p."""
    return float(np.average((p * (np.log(p) - np.log(q))).sum(axis=1), weights=row_weight))


def information(p: Floats, row_weight: Floats) -> float:
    """What answers know: their mean divergence from the mean answer."""
    return divergence(p, np.broadcast_to(np.average(p, axis=0, weights=row_weight), p.shape), row_weight)


def worthwhile_size(divergences: dict[int, float], p: Floats, row_weight: Floats, worth: float) -> int:
    """How many rules are kept, given what rule bases of each size diverge from the answers p of all rules."""
    unit = worth * min(1.0, information(p, row_weight))
    return min(divergences, key=lambda size: divergences[size] + unit * size)


def dropping_costs(firing: Floats, row_weight: Floats, weight: Floats, prior: Floats, ridge: float) -> Floats:
    """What it costs to drop each rule, others taking over as they can: ||w_j||^2 / (A^-1)_jj."""
    mean = np.average(firing, axis=0, weights=row_weight)
    deviation = np.sqrt(np.average((firing - mean) ** 2, axis=0, weights=row_weight))
    z, p = (firing - mean) / deviation, softmax(prior + firing @ weight, axis=1)
    h = row_weight * ((p * (1 - p)).sum(axis=1) / (p.shape[1] - 1))
    z = z - np.average(z, axis=0, weights=h)
    inverse = np.linalg.inv((z * h[:, None]).T @ z + ridge * np.eye(len(weight)))
    return ((weight * deviation[:, None]) ** 2).sum(axis=1) / np.diag(inverse)


def prior_of_all_rows(prior: Floats, sampled: Floats, total: Floats) -> Floats:
    """The prior after a fit on a sample: by Bayes' rule, odds change as the frequencies of the classes do."""
    odds = np.exp(prior) * (total / total.sum()) / (sampled / sampled.sum())
    return np.log(odds) - np.log(odds).mean()
