"""The model as the page's engine reads it: what does not depend on the row is computed here, once.

The engine (``static/ferl.js``) repeats the arithmetic of the core in the same order, so that its numbers are those of
Python to the last bits. JSON has no infinity and no NaN; they are written as the text that JavaScript's ``Number``
reads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl._model.presets import setting
from ferl._model.tree import FuzzyTree, Profile
from ferl._read.evidence import reliability
from ferl._read.novelty import LOST_MASS, precision, unit_of_distance
from ferl._util.arrays import Floats
from ferl._util.text import shown_names

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

MAX_DIGITS = 12  # of values that a slider gives


def page_model(estimator: FERLClassifier) -> dict[str, Any]:
    """All that the engine needs to judge a row, as lists, text and numbers of Python.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.

    Returns
    -------
    dict
    """
    tree = estimator.tree_
    return {
        "classes": shown_names(estimator.classes_.tolist()),
        "n_features": estimator.n_features_in_,
        "missing_features": list(estimator.missing_features_),
        "combination": estimator.combination,
        "all_sources": setting(estimator, "sources") == "all",
        "gated": bool(estimator.support_gate),
        "nodes": _nodes(tree, estimator.gate_margin),
        "consequent": numbers(tree.consequent),
        "reliability": numbers(reliability(tree, estimator.discount)),
        "novelty": _novelty(tree),
    }


def numbers(values: Floats) -> Any:
    """An array as nested lists; infinities and NaN as text."""
    if np.isfinite(values).all():
        return values.tolist()
    return [numbers(own) for own in values] if values.ndim > 1 else list(map(_number, values.tolist()))


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# ---------------------------------------------------------------------------------------------------------------------
# Nodes
# ---------------------------------------------------------------------------------------------------------------------


def _nodes(tree: FuzzyTree, gate_margin: float) -> dict[str, Any]:
    a, b, c, d = tree.trapezoid.T
    categories = tree.categories
    return {
        "parent": tree.parent.tolist(),
        "feature": tree.feature.tolist(),
        "rise": numbers(_sides(a, b, -math.inf)),
        "fall": numbers(_sides(d, c, math.inf)),
        "gate": numbers(_gates(tree.support, gate_margin)),
        "share": numbers(tree.missing_membership),
        "category": [
            numbers(categories.of(node)) if categories is not None and len(categories.of(node)) else None
            for node in range(tree.n_nodes)
        ],
    }


def _sides(outer: Floats, inner: Floats, outward: float) -> Floats:
    """One side of each trapezoid as start, slope and base, shape (n_nodes, 3); as ``Side`` in cpp/ramp.h."""
    found = np.tile([0.0, 0.0, 1.0], (len(outer), 1))
    finite = np.isfinite(outer)
    upright = finite & (outer == inner)
    sloping = finite & ~upright
    found[finite, 2] = 0.0
    found[sloping, 0] = outer[sloping]
    found[sloping, 1] = _slope(np.abs(inner[sloping] - outer[sloping]))
    found[upright, 0] = np.nextafter(outer[upright], outward)
    found[upright, 1] = math.inf
    return found


def _gates(support: Floats, margin: float) -> Floats:
    """Ends of each gate and its slope, shape (n_nodes, 3); as ``Gate`` in cpp/ramp.h."""
    return np.column_stack([support, _slope(margin * (support[:, 1] - support[:, 0]))])


def _slope(width: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(1 / width, np.finfo(np.float64).max))


# ---------------------------------------------------------------------------------------------------------------------
# Novelty
# ---------------------------------------------------------------------------------------------------------------------


def _novelty(tree: FuzzyTree) -> dict[str, Any]:
    profile = tree.profile
    assert profile is not None  # every fitted tree has one
    if not len(profile.exemplar_row):
        ends = tree.is_leaf.copy()
        ends[0] = True  # what a row that fits no leaf is compared with
        return {
            "measure": "residual",
            "lost_mass": LOST_MASS,
            "mean": _where(ends, profile.mean),
            "precision": _where(ends, precision(tree)),
        }
    groups, rows = _exemplars(tree, profile)
    return {
        "measure": "neighbour",
        "is_number": (tree.n_categories(profile.mean.shape[1]) == 0).tolist(),
        "centre": numbers(profile.mean[0]),
        "per_unit": numbers(1 / unit_of_distance(tree)),
        "exemplar": groups,
        "row": numbers(rows),
    }


def _where(wanted: NDArray[np.bool_], values: Floats) -> list[Any]:
    return [numbers(own) if is_wanted else None for own, is_wanted in zip(values, wanted, strict=True)]


def _exemplars(tree: FuzzyTree, profile: Profile) -> tuple[list[list[int] | None], Floats]:
    """Exemplars of the nodes where paths can end, and the rows that these are.

    A learned split shares every row between its two sides, so paths end at leaves; below a word a row may fit no other.
    """
    source = np.arange(tree.n_nodes)
    for node in range(1, tree.n_nodes):  # parents come first
        if profile.exemplar[node, 0] < 0:  # those of the node above speak for it
            source[node] = source[tree.parent[node]]
    can_end = np.ones(tree.n_nodes, dtype=bool) if tree.word else tree.is_leaf
    lists = [profile.exemplar[source[node]] if can_end[node] else None for node in range(tree.n_nodes)]
    used = np.unique(np.concatenate([own[own >= 0] for own in lists if own is not None]))
    place = np.full(len(profile.exemplar_row), -1)
    place[used] = np.arange(len(used))
    return [None if own is None else place[own[own >= 0]].tolist() for own in lists], profile.exemplar_row[used]


# ---------------------------------------------------------------------------------------------------------------------
# Features, for the controls of the page
# ---------------------------------------------------------------------------------------------------------------------


def training_range(tree: FuzzyTree, feature: int) -> tuple[float, float]:
    """The range of a feature that holds numbers, as far as the model remembers it.

    Of a feature that rules ask, the range at its splits and of the training rows that were kept; of others the latter
    alone, or three standard deviations around the mean.
    """
    profile = tree.profile
    assert profile is not None
    kept = profile.exemplar_row[:, feature]
    seen = np.concatenate([tree.support[tree.feature == feature].ravel(), kept])
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        spread = 3 * math.sqrt(profile.variance[0, feature])
        seen = profile.mean[0, feature] + np.array([-spread, spread])
    low, high = float(seen.min()), float(seen.max())
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def slider_step(low: float, high: float, whole: bool) -> float:
    """A round step, at most a two-hundredth of the range; 1 at least for whole numbers.

    Examples
    --------
    >>> slider_step(4.3, 7.9, whole=False), slider_step(0, 2500, whole=True), slider_step(0, 3, whole=True)
    (0.01, 10.0, 1.0)
    """
    power = 10.0 ** math.floor(math.log10((high - low) / 200))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= (high - low) / 200 * (1 + 1e-9))
    return float(f"{max(step, 1.0) if whole else step:.{MAX_DIGITS}g}")
