"""Votes of similar cases in plain NumPy: each known row is evidence for its class, which weakens with distance.

Equal rows are at one place. At the ``k`` nearest places, case j at distance d_j counts ``weight_j (1 - d_j / d)``,
where d is the distance of place k + 1: places that change their order change nothing. The votes V_c of the classes,
with one row of the class frequencies pi behind them, are the share P_c = (V_c + pi_c) / (V + 1) of each class, and
``log(P_c / pi_c)``, less its mean over the classes, is what the cases add to the score, times a learned weight for
each k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def distances(x: Floats, cases: Floats, centre: Floats, unit: Floats, is_category: NDArray[np.bool_]) -> Floats:
    """Distance of a row from each case: the mean over its known columns of the difference in units.

    A column whose unit is infinite does not count. A missing number of a case counts as the centre, a missing category
    as a category like no other.
    """
    filled = np.where(np.isnan(cases) & ~is_category, centre, cases)
    known = ~np.isnan(x) & np.isfinite(unit)
    away = np.where(is_category, x != filled, np.abs(x - filled)) / unit
    return np.where(known, away, 0.0).sum(axis=1) / max(known.sum(), 1)


def votes(
    distance: Floats, place: NDArray[np.intp], label: NDArray[np.int32], weight: Floats, k: int, n_classes: int
) -> Floats:
    """Votes of the cases at the ``k`` nearest places by class; a place is a distinct row.

    Where more than k places are at distance 0, all of them vote, together as much as k would.
    """
    apart = np.sort([distance[place == own][0] for own in np.unique(place)])
    k = min(k, len(apart) - 1)
    farthest, n_there = apart[k], int((apart == 0).sum())
    closeness = np.maximum(1 - distance / farthest, 0) if farthest > 0 else np.where(distance == 0, k / n_there, 0)
    return np.bincount(label, weight * closeness, minlength=n_classes)


def evidence(vote: Floats, frequency: Floats) -> Floats:
    """The logarithm of how much larger the share of each class is than its frequency, less the mean over classes."""
    found = np.log((vote / frequency + 1) / (vote.sum() + 1))
    return found - found.mean()


def added(
    distance: Floats,
    place: NDArray[np.intp],
    label: NDArray[np.int32],
    weight: Floats,
    frequency: Floats,
    strength: dict[int, float],
) -> Floats:
    """What the cases add to the scores; ``strength``: the learned weight of the vote of the k nearest, by k."""
    parts = [
        own * evidence(votes(distance, place, label, weight, k, len(frequency)), frequency)
        for k, own in strength.items()
    ]
    return np.sum(parts, axis=0)


def fitted_strength(
    score: Floats, base: Floats, parts: list[Floats], y: NDArray[np.int32], weight: Floats, ridge: float, hold: float
) -> tuple[float, Floats, Floats]:
    """The scale of the rules' scores and the strengths of the votes with the least penalised log-loss, by a search.

    Parameters
    ----------
    score : ndarray of shape (n_rows, n_classes)
        Scores by rules that were learned without these rows.
    base : ndarray of shape (n_classes,)
        Those of the class frequencies.
    parts : list of ndarray of shape (n_rows, n_classes)
        The evidence of the votes of the k nearest, for each k.
    y, weight : ndarray of shape (n_rows,)
        Classes and weights.
    ridge, hold : float
        How many rows hold the strengths at 0, and the scale at 1.

    Returns
    -------
    float, ndarray, ndarray
        The scale, the strengths, none of them negative, and the loss of each row.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    def losses(at: Floats) -> Floats:
        total = base + at[0] * (score - base) + sum(own * part for own, part in zip(at[1:], parts, strict=True))
        return logsumexp(total, axis=1) - total[np.arange(len(y)), y]

    def value(at: Floats) -> float:
        return float(weight @ losses(at) + ridge / 2 * (at[1:] ** 2).sum() + hold / 2 * (at[0] - 1) ** 2)

    start = np.append(1.0, np.full(len(parts), 0.1))
    found = minimize(value, start, bounds=[(0, None)] * len(start), method="L-BFGS-B", tol=1e-14).x
    return float(found[0]), found[1:], losses(found)


def neighbour_loss(
    away: Floats,
    place: NDArray[np.intp],
    label: NDArray[np.int32],
    weight: Floats,
    frequency: Floats,
    near: NDArray[np.intp],
    scale: float,
    factor: Floats,
    n_behind: float,
    hold: float,
) -> float:
    """The log-loss of cases that are predicted by places near them, which learns what columns count in the distance.

    Parameters
    ----------
    away : ndarray of shape (n_rows, n_cases, n_columns)
        What each column adds to the distance of the first cases from all cases, before its factor.
    place, label, weight : ndarray of shape (n_cases,)
        The place, class and weight of each case.
    frequency : ndarray of shape (n_classes,)
        Of the classes.
    near : ndarray of shape (n_rows, n_near)
        The places by which each of the first cases is predicted, its own excepted.
    scale : float
        A case at distance d counts its weight times ``exp(-scale d)``.
    factor : ndarray of shape (n_columns,)
        What the columns are multiplied by.
    n_behind, hold : float
        Rows that the shares of the neighbours count for, beside one row of the frequencies; and rows that hold the
        logarithms of the factors at 0.
    """
    loss, total = 0.0, float(weight[: len(away)].sum())
    for i, own in enumerate(away):
        vote = np.zeros(len(frequency))
        for j in range(len(label)):
            if place[j] in near[i] and place[j] != place[i]:
                vote[label[j]] += weight[j] * np.exp(-scale * (factor * own[j]).sum())
        share = (n_behind * vote / vote.sum() + frequency) / (n_behind + 1)
        loss -= weight[i] / total * np.log(share[label[i]])
    return loss + hold / 2 / len(away) * float((np.log(factor) ** 2).sum())
