"""How unlike the training rows a row is, by feature, beside what is usual where it arrives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model
from ferl._util.arrays import Floats

LEAST_FIRING = 0.05  # of a rule whose training rows say what is usual
MOST_USUAL = 4  # categories that are called usual


@dataclass(frozen=True)
class Usual:
    """What the training rows of the rules that a row reaches have in one feature.

    Attributes
    ----------
    low, high : float or None
        Nine rows out of ten lie between; None for categories.
    categories : tuple
        The most frequent ones, of a feature of categories.
    """

    low: float | None = None
    high: float | None = None
    categories: tuple[Any, ...] = ()


@dataclass(frozen=True)
class NoveltyPart:
    """One feature's part in novelty.

    Attributes
    ----------
    feature : str
        Its name.
    value : object
        The row's value; None where it is missing.
    part : float
        What it adds to the novelty.
    usual : Usual or None
        What training rows have there; None where nothing is known of them.
    is_unusual : bool
        Whether the value lies clearly outside: by more than one standard deviation inside rules, or an unseen category.
    """

    feature: str
    value: Any
    part: float
    usual: Usual | None
    is_unusual: bool


def usual_values(model: Model, nodes: NDArray[np.intp]) -> list[Usual | None]:
    """What is usual in each feature among the training rows of some nodes.

    From the training rows that the model keeps; from means and variances where it keeps none.

    Parameters
    ----------
    model : Model
        The model.
    nodes : ndarray of int
        The nodes.

    Returns
    -------
    list of (Usual or None)
    """
    if len(nodes) > 1:
        return _usual_among(model, nodes)
    node = int(nodes[0])  # of wide rules always the root
    if node not in model.usual_values:
        model.usual_values[node] = _usual_among(model, nodes)
    return list(model.usual_values[node])


def _usual_among(model: Model, nodes: NDArray[np.intp]) -> list[Usual | None]:
    profile, n_features, categories = model.tree.profile, model.n_features, model.category_names
    if profile.has_exemplars:
        kept = np.unique(profile.exemplar[nodes])
        values = np.sort(profile.exemplar_row[kept[kept >= 0], :n_features], axis=0)  # missing values last
        n_known = (~np.isnan(values)).sum(axis=0).tolist()
        found = [_usual_of(values[: n_known[f], f], categories.get(f)) for f in range(n_features)]
        return [None if own is None else _as_written(model, f, own) for f, own in enumerate(found)]
    reach = 2 * np.sqrt(profile.variance[nodes])
    low, high = (profile.mean[nodes] - reach).min(axis=0), (profile.mean[nodes] + reach).max(axis=0)
    return [
        None if f in categories else _as_written(model, f, Usual(float(low[f]), float(high[f])))
        for f in range(n_features)
    ]


def _as_written(model: Model, feature: int, usual: Usual) -> Usual:
    """What is usual, with numbers that sentences tell as people write values of the feature."""
    if usual.low is None or usual.high is None:
        return usual
    return replace(usual, low=model.number(feature, usual.low), high=model.number(feature, usual.high))


def _usual_of(known: Floats, categories: Sequence[Any] | None) -> Usual | None:
    """What is usual among values in ascending order."""
    if not len(known):
        return None
    if categories is None:
        last = len(known) - 1
        return Usual(float(known[round(0.05 * last)]), float(known[round(0.95 * last)]))
    counts = np.bincount(known.astype(np.intp), minlength=len(categories))
    order = np.argsort(-counts, kind="stable")[: min(MOST_USUAL, np.count_nonzero(counts))]
    return Usual(categories=tuple(categories[code] for code in order))


def reached_rules(model: Model, row: Floats) -> NDArray[np.intp]:
    """Leaves that a row reaches with all gates open; the root where there is none, as may happen with words."""
    tree, profile = model.tree, model.tree.profile
    firing = tree.fire(row, gated=False)[0]
    reached = tree.leaves[firing[tree.leaves] >= LEAST_FIRING]
    if profile.has_exemplars:
        reached = reached[profile.exemplar[reached, 0] >= 0]
    return reached if len(reached) else np.zeros(1, dtype=np.intp)


def is_unusual(value: float, usual: Usual | None, unit: float) -> bool:
    """Whether a number lies outside what is usual by more than a unit."""
    if usual is None or usual.low is None or usual.high is None or math.isnan(value):
        return False
    return bool(max(usual.low - value, value - usual.high) > unit)
