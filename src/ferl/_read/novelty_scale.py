"""What novelty means: how novel the training rows that a model keeps are, each compared with the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._model.model import Model
from ferl._model.neighbours import ENTROPY_SHARE
from ferl._model.tree import FuzzyTree
from ferl._read.novelty import entropy, usual_residual
from ferl._util.arrays import Bools, Floats

MAX_COMPARED = 512  # kept rows whose novelty makes the scale


@dataclass(frozen=True, eq=False)
class NoveltyScale:
    """What novelty means: how novel training rows are to the others.

    Attributes
    ----------
    training : ndarray of shape (n_compared,)
        Novelty of training rows that the model keeps, each compared with the others, in ascending order; empty where
        the model keeps none. Rows that are kept to cover many others are further apart than these: then training rows
        are less novel than the scale says, and a row is at least as unusual as its share.
    usual : float or None
        Of a model that keeps no rows, the mean novelty of rows like those of training; None otherwise.
    """

    training: Floats
    usual: float | None

    def share(self, novelty: float) -> float | None:
        """The share of the training rows that are less novel; None where there are none to compare with."""
        if not len(self.training):
            return None
        return float(np.searchsorted(self.training, novelty, side="left") / len(self.training))


def novelty_scale(model: Model) -> NoveltyScale:
    """How novel the training rows that a model keeps are, each compared with the others.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    NoveltyScale
    """
    tree = model.tree
    if not tree.profile.has_exemplars:
        return NoveltyScale(np.zeros(0), usual_residual(tree))
    if model.weights is None:
        rows, centre, unit = tree.profile.exemplar_row, tree.profile.mean[0], model.unit_of_distance
    else:
        rows, centre, unit = model.neighbours.rows, model.neighbours.centre, model.neighbours.unit
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_COMPARED)).round().astype(np.intp))
    away = _distances(rows, chosen, centre, unit, tree.n_categories(rows.shape[1]) == 0)
    away[np.arange(len(chosen)), chosen] = np.inf
    if model.weights is None:
        away[~_comparable(tree, rows, chosen)] = np.inf
    found = away.min(axis=1, initial=np.inf)
    if model.weights is not None:
        found = found / model.neighbours.usual + ENTROPY_SHARE * entropy(model, np.ascontiguousarray(rows[chosen]))
    return NoveltyScale(np.sort(found[np.isfinite(found)]), None)


def _distances(rows: Floats, chosen: NDArray[np.intp], centre: Floats, unit: Floats, is_number: Bools) -> Floats:
    """Distance of some rows from all rows, shape (n_chosen, n_samples); as the core measures it."""
    away = np.zeros((len(chosen), len(rows)))
    known = ~np.isnan(rows[chosen])
    for j in range(rows.shape[1]):
        own = rows[chosen, j][:, None]
        other = np.where(np.isnan(rows[:, j]), centre[j], rows[:, j]) if is_number[j] else rows[:, j]
        apart = np.abs(own - other) if is_number[j] else (own != other).astype(np.float64)
        away += np.where(known[:, j, None], apart / unit[j], 0.0)
    return np.asarray(away / np.maximum(known.sum(axis=1), 1)[:, None])


def _comparable(tree: FuzzyTree, rows: Floats, chosen: NDArray[np.intp]) -> Bools:
    """Which exemplars are kept where the paths of some rows end, shape (n_chosen, n_samples)."""
    fires = tree.fire(np.ascontiguousarray(rows[chosen]), gated=False) > 0
    goes_on = np.zeros_like(fires)
    for node in range(1, tree.n_nodes):
        goes_on[:, tree.parent[node]] |= fires[:, node]
    is_kept = np.zeros((tree.n_nodes, len(rows)), dtype=np.float32)
    for node, group in enumerate(tree.exemplar_group.tolist()):
        if group >= 0:
            kept = tree.profile.exemplar[group]
            is_kept[node, kept[kept >= 0]] = 1
    return np.asarray((fires & ~goes_on).astype(np.float32) @ is_kept > 0)
