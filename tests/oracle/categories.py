"""Splits of categorical features, by brute force: class weights of categories as tables, one row for each category."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

BETTER = 1 + 1e-10
PRIOR_ROWS = 5.0  # that every category is taken to have more, with the class shares of all
N_PARTS = 3
POWER_STEPS = 12
RIGHT_ANGLE = 1e-9  # cosines below it may be rounding
CLEARLY_MORE = 1.25  # times the spread along another direction
SAME_SCORE = 1e-12  # categories whose scores differ by less, as a share, are one step


def is_heavy(weight: Any, least: float) -> Any:
    """Whether a weight reaches the least: two whole rows weigh 2, however their sum was rounded."""
    return weight >= least * (1 - 1e-10)


def tally(code: Floats, y: Ints, weight: Floats, n_categories: int, n_classes: int) -> Floats:
    """Weight of each class in each category, shape (n_categories, n_classes)."""
    table = np.zeros((n_categories, n_classes))
    for k, c, w in zip(code.astype(int), y, weight, strict=True):
        table[k, c] += w
    return table


def smoothed_share(table: Floats) -> Floats:
    """Class shares of each category, drawn towards those of all."""
    total = table.sum(axis=0) / table.sum()
    return np.asarray((table + PRIOR_ROWS * total) / (table.sum(axis=1, keepdims=True) + PRIOR_ROWS))


def category_order(table: Floats) -> NDArray[np.intp]:
    """Categories along the direction in which their class shares differ most, then by weight."""
    total, own = table.sum(axis=0) / table.sum(), table.sum(axis=1)
    away = (smoothed_share(table) - total) * np.sqrt(own)[:, None]
    direction = np.linalg.eigh(away.T @ away)[1][:, -1]
    direction *= np.sign(direction[np.argmax(np.round(np.abs(direction), 9))])
    score = np.round(smoothed_share(table) @ direction, 9)
    return np.array(sorted(range(len(table)), key=lambda k: (own[k] == 0, score[k], own[k])))


def principal_direction(table: Floats) -> Floats:
    """Two classes: the share of the second. More: the direction in which shares differ most, its largest part positive.

    Some steps of the power method from a fixed direction. Where two classes mirror each other that may be at a right
    angle to what is sought, and the steps lead where rounding leads. So the same steps are taken from what they leave
    most of; what they find then is taken if it is clearly better, and at a right angle unless it is worse.
    """
    n_classes = table.shape[1]
    if n_classes == 2:
        return np.array([0.0, 1.0])
    own, total = table.sum(axis=1), table.sum(axis=0) / table.sum()
    known = own > 0
    away = table[known] / own[known, None] - total
    spread = (away * own[known, None]).T @ away
    fixed = np.where(np.arange(n_classes) % 2, -1.0, 1.0) * (1.0 + total)
    usual = power_steps(spread, fixed)
    left = away - np.outer(away @ usual / (usual @ usual), usual)
    other = power_steps(spread, left[first_largest(own[known] * (left**2).sum(axis=1))])
    is_at_right_angle = abs(fixed @ other) < RIGHT_ANGLE * np.linalg.norm(fixed)
    wanted = 1 - RIGHT_ANGLE if is_at_right_angle else CLEARLY_MORE
    direction = other if other @ spread @ other > wanted * (usual @ spread @ usual) else usual
    size = np.abs(direction)  # with two classes left, two parts are equal: the first of them, whatever the rounding
    return np.asarray(direction * np.sign(direction[np.argmax(size > (1 - 1e-9) * size.max())]))


def first_largest(values: Floats) -> int:
    """Place of the largest; the first of equals."""
    best = 0
    for place, value in enumerate(values):
        if value > values[best] * BETTER:
            best = place
    return best


def power_steps(spread: Floats, direction: Floats) -> Floats:
    for _ in range(POWER_STEPS):
        step = spread @ direction
        if not step.any():  # all have the same shares
            break
        direction = step / np.linalg.norm(step)
    return direction


def best_subset(table: Floats, direction: Floats, min_leaf_weight: float) -> Floats | None:
    """For each category 1 (left), 0 (right) or NaN (absent): the best cut of their order; None: nothing separates."""
    total, own = table.sum(axis=0), table.sum(axis=1)
    if not is_heavy(own.sum(), 2 * min_leaf_weight):
        return None
    score = np.where(own > 0, smoothed_share(table) @ direction, np.nan)
    values = np.unique(score[own > 0])
    best, last_left = float((total**2).sum() / total.sum()), None
    for value, above in pairwise(values):
        left = table[score <= value].sum(axis=0)
        right = total - left
        if above - value <= SAME_SCORE * abs(above) or not is_heavy(min(left.sum(), right.sum()), min_leaf_weight):
            continue
        quality = float((left**2).sum() / left.sum() + (right**2).sum() / right.sum())
        if quality > best * BETTER:
            best, last_left = quality, value
    return None if last_left is None else np.where(own > 0, (score <= last_left).astype(float), np.nan)


def parts_of_rows(copies: Floats) -> Floats:
    """Share of each row in each part, shape (n_rows, N_PARTS): its copies are dealt out from the row's own part on."""
    shares = np.zeros((len(copies), N_PARTS))
    for row, n in enumerate(copies.astype(int)):
        for k in range(n):
            shares[row, (row + k) % N_PARTS] += 1 / n
    return shares


def cross_fitted_left(table: Floats, parts: list[Floats], min_leaf_weight: float) -> Floats | None:
    """Class weights that go left when each part is divided by the subset found on the others.

    A category that the others do not have goes both ways, as they do on the whole. None: no subset is found, or the
    parts differ the other way round than the rows that the subsets were found on.
    """
    direction = principal_direction(table)
    left, fitted = np.zeros(table.shape[1]), np.zeros((2, table.shape[1]))
    for part in parts:
        others = np.maximum(table - part, 0.0)
        side = best_subset(others, direction, min_leaf_weight * (N_PARTS - 1) / N_PARTS)
        if side is None:
            left += 0.5 * part.sum(axis=0)
            continue
        placed = ~np.isnan(side)
        share = (others[placed].sum(axis=1) * side[placed]).sum() / others[placed].sum()
        left += (np.where(placed, side, share)[:, None] * part).sum(axis=0)
        fitted += others[side == 1].sum(axis=0), others[side == 0].sum(axis=0)
    if fitted.sum() == 0:
        return None
    agreement = difference(left, table.sum(axis=0) - left) @ difference(*fitted)
    return left if agreement > 0 else None


def difference(left: Floats, right: Floats) -> Floats:
    """Of the class shares on two sides; none where one is empty."""
    if min(left.sum(), right.sum()) <= 0:
        return np.zeros_like(left)
    return np.asarray(left / left.sum() - right / right.sum())


def category_band(table: Floats, resampled: list[Floats], min_leaf_weight: float) -> Floats:
    """Share of the resamples that put each category left; NaN where none that found a subset has it."""
    direction = principal_direction(table)
    sides = [best_subset(drawn, direction, min_leaf_weight) for drawn in resampled]
    votes = np.array([side for side in sides if side is not None]).reshape(-1, len(table))
    return np.array([own[~np.isnan(own)].mean() if (~np.isnan(own)).any() else np.nan for own in votes.T])
