"""The model as the page's engine reads it: what does not depend on the row is computed here, once.

The engine (``static/ferl.js``) repeats the arithmetic of the core in the same order, so that its numbers are those of
Python to the last bits. JSON has no infinity and no NaN; they are written as the text that JavaScript's ``Number``
reads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferl import _core
from ferl._models.model import Model
from ferl._models.neighbours import ENTROPY_SHARE
from ferl._models.novelty import LOST_MASS, precision
from ferl._models.rule_model import RuleModel
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Bools, Floats
from ferl._util.text import shown_names

MAX_DIGITS = 12  # of values that a slider gives


def page_model(model: Model) -> dict[str, Any]:
    """All that the engine needs to judge a row, as lists, text and numbers of Python.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    dict
    """
    shared = {
        "constants": {
            "unseen_gate": _core.UNSEEN_GATE,
            "most_firing": _core.MOST_FIRING,
            "tie": _core.TIE,
            "least_mass": _core.LEAST_MASS,
            "mass_scale": _core.MASS_SCALE,
            "largest_exponent": _core.LARGEST_EXPONENT,
            "far_away": _core.FAR_AWAY,
            "lost_mass": LOST_MASS,
            "entropy_share": ENTROPY_SHARE,
        },
        "classes": shown_names(model.labels),
        "n_features": model.n_features,
        "missing_features": list(model.missing_features),
        "nodes": _nodes(model),
        "weights": _weights(model) if isinstance(model, RuleModel) else None,
        "novelty": _novelty(model),
    }
    return shared | (_tree(model) if isinstance(model, TreeModel) else {})


def _tree(model: TreeModel) -> dict[str, Any]:
    """What the nodes of a tree say, and how that is combined."""
    return {
        "combination": model.reading.combination,
        "is_source": model.is_source.tolist(),
        "speaks": model.speaks.tolist(),
        "gated": model.reading.support_gate,
        "consequent": numbers(model.tree.consequent),
        "reliability": numbers(model.reliability),
    }


def _weights(model: RuleModel) -> dict[str, Any]:
    """Weights of evidence of wide rules, and the gates that fade them."""
    n_categories = model.tree.n_categories(len(model.ranges))
    return {
        "node": model.rules.node.tolist(),
        "weight": numbers(model.rules.weight),
        "prior": numbers(model.prior),
        "gate": [
            {"column": column, "range": numbers(gate), "n_categories": int(n_categories[column])}
            for column, gate in zip(model.gated_columns.tolist(), model.scores.gate, strict=True)
        ],
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


def _nodes(model: Model) -> dict[str, Any]:
    tree, core = model.tree, model.core
    memberships = [tree.memberships(node) for node in range(tree.n_nodes)]
    return {
        "parent": tree.parent.tolist(),
        "feature": tree.feature.tolist(),
        "is_leaf": tree.is_leaf.tolist(),
        "rise": numbers(core.rise),
        "fall": numbers(core.fall),
        "gate": numbers(core.gate),
        "share": numbers(tree.share),
        "category": [numbers(own) if len(own) else None for own in memberships],
    }


# ---------------------------------------------------------------------------------------------------------------------
# Novelty
# ---------------------------------------------------------------------------------------------------------------------


def _novelty(model: Model) -> dict[str, Any]:
    tree, profile = model.tree, model.tree.profile
    if not profile.has_exemplars:
        ends = tree.is_leaf.copy()
        ends[0] = True  # what a row that fits no leaf is compared with
        return {"measure": "residual", "mean": _where(ends, profile.mean), "precision": _where(ends, precision(tree))}
    found = {
        "measure": "neighbour",
        "is_number": (tree.n_categories(profile.mean.shape[1]) == 0).tolist(),
        "centre": numbers(profile.mean[0]),
        "per_unit": numbers(1 / model.unit_of_distance),
    }
    if isinstance(model, RuleModel):
        return found | {"usual": model.neighbours.usual, "row": numbers(model.neighbours.rows)}
    groups, rows = _exemplars(tree)
    return found | {"exemplar": groups, "row": numbers(rows)}


def _where(wanted: Bools, values: Floats) -> list[Any]:
    return [numbers(own) if is_wanted else None for own, is_wanted in zip(values, wanted, strict=True)]


def _exemplars(tree: FuzzyTree) -> tuple[list[list[int] | None], Floats]:
    """Exemplars of the nodes where paths can end, and the rows that these are."""
    profile = tree.profile
    lists = [None if node < 0 else profile.exemplar[node] for node in tree.exemplar_group]
    used = np.unique(np.concatenate([own[own >= 0] for own in lists if own is not None]))
    index = np.full(len(profile.exemplar_row), -1)
    index[used] = np.arange(len(used))
    return [None if own is None else index[own[own >= 0]].tolist() for own in lists], profile.exemplar_row[used]


# ---------------------------------------------------------------------------------------------------------------------
# Features, for the controls of the page
# ---------------------------------------------------------------------------------------------------------------------


def slider_range(model: Model, feature: int) -> tuple[float, float]:
    """The range that a slider offers: that of the training rows, or a little room around the only value."""
    low, high = model.training_range(feature)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def corners(model: Model, feature: int) -> Floats:
    """Numbers where the slope of a membership or of a gate on a feature may change, in ascending order.

    Between two of them the memberships of the feature are linear; so are scores of wide rules that ask it once, up to
    the common factor of the gates.
    """
    tree, asks = model.tree, model.tree.feature == feature
    if not isinstance(model, RuleModel):
        gates = model.core.gate[asks] if model.reading.support_gate else np.zeros((0, 3))
    else:
        gates = model.scores.gate[model.gated_columns == feature]
    low, high, slope = gates.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = np.stack([low - 1 / slope, low, high, high + 1 / slope])
    found = np.concatenate([tree.trapezoid[asks].ravel(), ends.ravel()])
    return np.unique(found[np.isfinite(found)])


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
