"""Novelty of rules, one row and one kept row at a time: a distance, and the entropy of the answer.

The distance is the mean over the known columns of ``|x - kept| / unit``, and the nearest of the kept rows counts. A
column's unit is its standard deviation, divided by the square root of the evidence that it carries. Distances are
counted in *usual* ones, those that kept rows have from each other; half the entropy of the probabilities joins them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.inference import fire
from oracle.novelty import FAR_AWAY, nearest_candidate
from oracle.weights import cell_values, column_contributions, contributions, softmax, withheld

Floats = NDArray[np.float64]

LEAST_EVIDENCE = 0.2  # of the mean over columns
ENTROPY_SHARE = 0.5
MEASURED_ROWS = 256


def kept_rows(model: Any) -> Floats:
    """The training rows that the model keeps, in their random order."""
    profile = model.tree.profile
    kept = profile.exemplar[0]
    return profile.exemplar_row[kept[kept >= 0]]


def column_evidence(model: Any, rows: Floats) -> Floats:
    """Of each column: over the rules that ask it, the size of their weights times how much their firing varies."""
    tree, found = model.tree, np.zeros(rows.shape[1])
    firing = fire(tree, rows, gated=False)
    for end, weight in zip(model.rules.node.tolist(), model.rules.weight, strict=True):
        asked, node = [], end
        while node > 0:
            asked.append(int(tree.feature[node]))
            node = int(tree.parent[node])
        for column in asked:
            found[column] += np.abs(weight).sum() * firing[:, end].std() / len(asked)
    values = cell_values(model, rows)
    for term, pair in enumerate([] if model.curves is None else model.curves.column.tolist()):
        read = [column for column in pair if column >= 0]
        for column in read:
            found[column] += values[:, term].std(axis=0).sum() / len(read)
    return found


def unit_of_distance(model: Any, rows: Floats) -> Floats:
    """Standard deviation of each column by the square root of its evidence, relative to the mean of all columns."""
    mean, variance = model.tree.profile.mean[0], model.tree.profile.variance[0]
    constant = np.where(mean != 0, mean**2, 1.0)
    deviation = np.sqrt(np.where(variance > 0, variance, constant))
    evidence = column_evidence(model, rows)
    if not evidence.any():
        return deviation
    return deviation / np.sqrt(np.maximum(evidence / evidence.mean(), LEAST_EVIDENCE))


def distance_parts(model: Any, unit: Floats, rows: Floats, value: Floats) -> Floats:
    """What each column adds to the distances of a row from ``rows``, shape (n_rows, n_columns)."""
    is_category = model.tree.n_categories(len(unit)) > 0
    filled = np.where(np.isnan(rows) & ~is_category, model.tree.profile.mean[0], rows)
    away = np.where(is_category, value != rows, np.abs(value - filled))
    known = ~np.isnan(value)
    return np.where(known, away, 0.0) / unit / max(known.sum(), 1)


def nearest_parts(model: Any, unit: Floats, rows: Floats, value: Floats) -> Floats:
    """What each column adds to the distance of a row from the nearest of ``rows``."""
    is_category = model.tree.n_categories(len(unit)) > 0
    nearest = nearest_candidate(value, rows, model.tree.profile.mean[0], unit, is_category)
    return distance_parts(model, unit, rows, value)[nearest]


def cover(model: Any, unit: Floats, rows: Floats, n_kept: int) -> list[int]:
    """Indices of rows that cover all: the first, and then always the one that is farthest from those chosen.

    In single precision, column by column, as the core counts: near ties end alike.
    """
    is_category = model.tree.n_categories(len(unit)) > 0
    away = np.clip((rows - model.tree.profile.mean[0]) / unit, -FAR_AWAY, FAR_AWAY)
    values = np.where(is_category, np.nan_to_num(rows, nan=-1.0), np.nan_to_num(away)).astype(np.float32)
    mismatch = (1 / unit).astype(np.float32)
    nearest, chosen = np.full(len(rows), np.inf, dtype=np.float32), [0]
    while True:
        distance = np.zeros(len(rows), dtype=np.float32)
        for j, column in enumerate(values.T):
            differs = column != column[chosen[-1]]
            distance += differs * mismatch[j] if is_category[j] else np.abs(column - column[chosen[-1]])
        nearest = np.minimum(nearest, distance)
        nearest[chosen] = -1
        if len(chosen) == min(n_kept, len(rows)):
            return sorted(chosen)
        chosen.append(int(nearest.argmax()))


def apart(model: Any, unit: Floats, rows: Floats, others: Floats) -> Floats:
    """Distances of rows from the nearest of others, as far as they differ; 1 where none does."""
    nearest = np.array([nearest_parts(model, unit, others, own).sum() for own in rows])
    return nearest[nearest > 0] if (nearest > 0).any() else np.ones(1)


def usual_distance(model: Any, unit: Floats, rows: Floats) -> float:
    """Median distance of the first kept rows from the nearest of the others."""
    n = min(MEASURED_ROWS, len(rows) // 2)
    return float(np.median(apart(model, unit, rows[:n], rows[n:])))


def entropy(model: Any, x: Floats) -> Floats:
    """Entropy of the probabilities of each row."""
    p = softmax(contributions(model, x).sum(axis=1))
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)


def entropy_parts(model: Any, x: Floats) -> Floats:
    """The entropy by column: what gates withhold by their columns, the rest by what columns say, whatever its sign."""
    lost = withheld(model, x)
    said = np.abs(column_contributions(model, x)[:, :-1]).sum(axis=2)
    for row in said:
        row[:] = row / row.sum() if row.any() else 1 / len(row)
    return entropy(model, x)[:, None] * (lost + (1 - lost.sum(axis=1, keepdims=True)) * said)


def candidates(model: Any, x: Floats) -> list[Floats]:
    """For each row and each kept row, what each column adds to the novelty if that kept row is the nearest."""
    rows = kept_rows(model)
    unit = unit_of_distance(model, rows)
    usual, doubt = usual_distance(model, unit, rows), entropy_parts(model, x)
    return [
        distance_parts(model, unit, rows, value) / usual + ENTROPY_SHARE * own
        for value, own in zip(x, doubt, strict=True)
    ]


def novelty_parts(model: Any, x: Floats) -> Floats:
    """Novelty by column, from the kept row that the search in single precision finds nearest."""
    rows = kept_rows(model)
    unit = unit_of_distance(model, rows)
    distance = np.array([nearest_parts(model, unit, rows, value) for value in x])
    return distance / usual_distance(model, unit, rows) + ENTROPY_SHARE * entropy_parts(model, x)
