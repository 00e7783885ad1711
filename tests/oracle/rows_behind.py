"""Evidence of rules: a probability, believed as far as training rows are behind it.

``belief = r p`` and ``ignorance = 1 - r``: the probability, discounted by its reliability. With N training rows behind
an answer and gates that are open to the share s, ``r = s N / (N + 1)`` (Walley's imprecise Dirichlet model, S = 1).

N is the inverse of the leverage of the row in the ridge regression that the weights of the rules come from: the
variance of a fitted mean is that of one row times the leverage. A cell of a curve or map with n training rows has the
leverage 1 / (1 + n), and the thinnest cell of the row counts. N is at most one more than the training rows of the row's
rarest category, of the columns that terms read. Far from the first kept rows, the familiar ones, fewer rows are
behind an answer than its leverage shows: N is multiplied by the familiarity ``1 / (1 + (d / far)^2)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle.inference import TIE, fire
from oracle.rules_novelty import MEASURED_ROWS, apart, kept_rows, nearest_parts, unit_of_distance
from oracle.weights import cells, read_columns, softmax, supports

Floats = NDArray[np.float64]

PRIOR_ROWS = 1.0
LEAST_RIDGE = 1e-3
LEAST_VARIANCE = 1e-12
LEAST_CURVATURE = 1e-3
FIRING_UNIT = 2.0**-10
FAMILIAR_VALUES = 1280
LEAST_FAMILIAR = 64
FAR_SHARE = 0.9
SET_LEVEL = 2 / 3


class Evidence(NamedTuple):
    """What rules answer to rows, each entry with one row for each of them."""

    belief: Floats
    plausibility: Floats
    ignorance: Floats
    set: NDArray[np.bool_]
    rows: Floats


def firings(model: Any, x: Floats) -> Floats:
    """Firings of the rules, gates open, shape (n_rows, n_rules)."""
    return fire(model.tree, x, gated=False)[:, model.rules.node]


def products(model: Any, x: Floats, weight: Floats) -> Floats:
    """Sum over training rows of ``w phi phi^T``: a one, and the firings to ten binary places."""
    phi = np.column_stack([np.ones(len(x)), np.rint(firings(model, x) / FIRING_UNIT) * FIRING_UNIT])
    return np.sum([w * np.outer(own, own) for w, own in zip(weight, phi, strict=True)], axis=0)


def row_curvature(probability: Floats) -> float:
    """How sharply the loss of a row rises with an error of its scores: a mean over rows, and over directions."""
    n_others = max(probability.shape[1] - 1, 1)
    return max(float((probability * (1 - probability)).sum(axis=1).mean()) / n_others, LEAST_CURVATURE)


def leverage_of_rules(model: Any, x: Floats) -> Floats:
    """``phi^T (sum w phi phi^T + ridge / h)^-1 phi``, of standardised firings and a one; shape (n_rows,)."""
    sums, h = model.rules.products, model.row_curvature
    weight, mean = sums[0, 0], sums[0, 1:] / sums[0, 0]
    centred = sums[1:, 1:] - weight * np.outer(mean, mean)
    variance = np.diag(sums)[1:] / weight - mean**2
    per_deviation = np.array([1 / np.sqrt(own) if own > LEAST_VARIANCE else 0.0 for own in variance])
    z = (firings(model, x) - mean) * per_deviation
    ridge = np.maximum(model.rules.ridge, LEAST_RIDGE) / h
    g = centred * np.outer(per_deviation, per_deviation) + np.diag(ridge)
    return np.asarray(1 / (weight + LEAST_RIDGE / h) + (z * np.linalg.solve(g, z.T).T).sum(axis=1))


def thinnest_cell(model: Any, x: Floats) -> Floats:
    """The leverage of the cell with the fewest training rows, of all curves and maps; shape (n_rows,)."""
    return np.array([max((1 / (1 + model.curves.support[own]) for own in row), default=0.0) for row in cells(model, x)])


def rows_of_rarest_category(model: Any, x: Floats) -> Floats:
    """One more than the training rows of the rarest category of each row, of the columns that terms read; (n_rows,)."""
    out = np.full(len(x), np.inf)
    for column, weight in model.category_weight.items():
        if column in read_columns(model):
            for i, code in enumerate(x[:, column]):
                if not np.isnan(code):
                    out[i] = min(out[i], 1 + (weight[int(code)] if code < len(weight) else 0.0))
    return out


def familiarity(model: Any, x: Floats) -> Floats:
    """1 for a familiar row, 1/2 at a distance from these that one of ten kept rows exceeds; shape (n_rows,)."""
    rows = kept_rows(model)
    if not len(rows):
        return np.ones(len(x))
    unit = unit_of_distance(model, rows)
    familiar = rows[: max(FAMILIAR_VALUES // rows.shape[1], LEAST_FAMILIAR)]
    n_others = len(rows) - min(MEASURED_ROWS, len(rows) // 2)
    far = np.quantile(apart(model, unit, rows[n_others:], familiar[:n_others]), FAR_SHARE, method="lower")
    distance = np.array([nearest_parts(model, unit, familiar, value).sum() for value in x])
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + (distance / far) ** 2))


def rows_behind(model: Any, x: Floats) -> Floats:
    """How many training rows an answer averages, were all gates open; shape (n_rows,)."""
    averaged = 1 / (leverage_of_rules(model, x) + thinnest_cell(model, x))
    return np.asarray(familiarity(model, x) * np.minimum(averaged, rows_of_rarest_category(model, x)))


def prediction_set(probability: Floats, reliability: float, level: float = SET_LEVEL) -> NDArray[np.bool_]:
    """The fewest most probable classes whose beliefs reach the level, with ties; all where they never do."""
    for least in sorted(probability, reverse=True):
        if reliability * probability[probability >= least].sum() >= level - TIE:
            return np.asarray(probability >= least - TIE)
    return np.ones(len(probability), dtype=bool)


def evidence(model: Any, x: Floats, scores: Floats) -> Evidence:
    """Belief, plausibility, ignorance, set, and how many training rows the answer rests on."""
    probability, n, support = softmax(scores), rows_behind(model, x), supports(model, x).prod(axis=1)
    reliability = support * n / (n + PRIOR_ROWS)
    if scores.shape[1] == 1:  # what lies on all classes lies on the only one
        reliability = np.ones(len(x))
    belief = reliability[:, None] * probability
    inside = np.array([prediction_set(p, r) for p, r in zip(probability, reliability, strict=True)])
    return Evidence(belief, belief + 1 - reliability[:, None], 1 - reliability, inside, support * n)
