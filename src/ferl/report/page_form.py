"""The model as the page's engine reads it: what does not depend on the row is computed here, once.

The engine (``static/ferl.js``) repeats the arithmetic of the core in the same order, so that its numbers agree with
Python to the last bits. JSON has no infinity and no NaN; they are written as the text that JavaScript's ``Number``
reads. A kind of model, and a kind of term of a :class:`RuleModel`, has one function here and one class there, found by
the key ``kind``.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np

from ferl import _core
from ferl._models.cases import N_NEAREST, Cases
from ferl._models.decision import FREQUENCY_POWER, Decision
from ferl._models.evidence import PRIOR_ROWS, SET_LEVEL
from ferl._models.model import Model
from ferl._models.novelty import ENTROPY_SHARE, LOST_MASS, precision
from ferl._models.rule_model import RuleModel
from ferl._models.terms import CurvesAndMaps, Rules, Terms
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._tables import Derived
from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown_names

MAX_DIGITS = 12  # of values that a slider gives
_OF_CORE = ("UNSEEN_GATE", "MOST_FIRING", "TIE", "LEAST_MASS", "MASS_SCALE", "LARGEST_EXPONENT", "FAR_AWAY")
CONSTANTS = {name.lower(): getattr(_core, name) for name in _OF_CORE}
CONSTANTS |= {"lost_mass": LOST_MASS, "entropy_share": ENTROPY_SHARE, "prior_rows": PRIOR_ROWS, "set_level": SET_LEVEL}


def numbers(values: Floats) -> Any:
    """An array as nested lists; infinities and NaN as text."""
    if np.isfinite(values).all():
        return values.tolist()
    if values.ndim > 1:
        return [numbers(value) for value in values]
    return [
        value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        for value in values.tolist()
    ]


def decision_form(decision: Decision, model: Model) -> dict[str, Any] | None:
    """What the engine needs to choose labels by a decision; None: the label is the most probable class."""
    if decision.is_usual:
        return None
    return {
        "threshold": decision.threshold,
        "costs": decision.costs,
        "power": FREQUENCY_POWER.get(decision.name, 0.0),
        "frequency": model.class_frequency.tolist(),
    }


# ---------------------------------------------------------------------------------------------------------------------
# By kind of model, and by kind of term
# ---------------------------------------------------------------------------------------------------------------------


@singledispatch
def page_form(part: Model | Terms, tree: FuzzyTree | None = None) -> dict[str, Any]:
    """All that the engine needs to judge a row, as lists, text and numbers of Python.

    Parameters
    ----------
    part : Model or Terms
        The model, or one of the blocks of terms of a :class:`RuleModel`.
    tree : FuzzyTree, default=None
        The conditions that the terms of a block refer to.

    Returns
    -------
    dict
        With the key ``kind``. Besides, ``corners``: numbers of each column where the slope of what a term adds, or of a
        gate, may change; in the form of a model in ascending order.
    """
    raise TypeError(f"The page has no form of {type(part).__name__}.")


@page_form.register
def _(model: RuleModel, tree: None = None) -> dict[str, Any]:
    n_columns, gated = len(model.ranges), model.gated_columns.tolist()
    n_categories, gate = model.tree.n_categories(n_columns), model.scores.gate
    terms = [page_form(block, model.tree) for block in model.terms]
    corners = [term.pop("corners") for term in terms]
    return _shared_form(model, [*corners, _gate_ends(model.gated_columns, gate, n_columns)]) | {
        "terms": terms,
        "prior": numbers(model.prior),
        "base": numbers(model.base),
        "gate": [
            {
                "column": column,
                "range": numbers(item),
                "n_categories": int(n_categories[column]),
                "fades": k < model.n_fading,
            }
            for k, (column, item) in enumerate(zip(gated, gate, strict=True))
        ],
        "behind": _behind_form(model),
        "novelty": _residual_form(model)
        or _neighbour_form(model) | {"usual": model.neighbours.usual, "row": numbers(model.neighbours.rows)},
    }


def _behind_form(model: RuleModel) -> dict[str, Any]:
    """What counts the training rows behind an answer; of the triangle each row up to the diagonal."""
    rows_behind, has_rows = model.rows_behind, model.tree.profile.has_exemplars
    return {
        "least": rows_behind.least,
        "mean": numbers(rows_behind.mean),
        "per_deviation": numbers(rows_behind.per_deviation),
        "triangle": [row[: k + 1].tolist() for k, row in enumerate(rows_behind.triangle)],
        "most": [{"column": j, "rows": most.tolist()} for j, most in model.most_rows_of_category.items()],
        "familiar": {"n": len(model.familiar.rows), "far": model.neighbours.far} if has_rows else None,
    }


@page_form.register
def _(block: Rules, tree: FuzzyTree) -> dict[str, Any]:
    return {
        "kind": "rules",
        "node": block.node.tolist(),
        "weight": numbers(block.weight),
        "columns": [list(column) for column in block.columns(tree)],
        "corners": _bends(tree),
    }


@page_form.register
def _(block: CurvesAndMaps, tree: FuzzyTree) -> dict[str, Any]:
    n_columns, terms, columns = len(block.n_categories), range(block.n_terms), block.term_columns
    cuts = block.cuts_of_column
    none = np.zeros(0)
    return {
        "kind": "pictures",
        "columns": [list(column) for column in columns],
        "cuts": [[cut.tolist() for cut in block.cuts(term)] for term in terms],
        "n_categories": [[int(block.n_categories[column]) for column in item] for item in columns],
        "value": [numbers(block.value[block.cells(term)]) for term in terms],
        "support": [block.support[block.cells(term)].tolist() for term in terms],
        # The cell of a cut ends at it, the next one begins at the next number.
        "corners": [
            np.concatenate([item, np.nextafter(item, np.inf)])
            for item in (cuts.get(column, none) for column in range(n_columns))
        ],
    }


@page_form.register
def _(block: Cases, tree: FuzzyTree) -> dict[str, Any]:
    nowhere = np.zeros(0)
    return {
        "kind": "cases",
        "row": numbers(block.by_place[0]),
        "start": block.by_place[1].tolist(),
        "label": block.label[block.by_place[2]].tolist(),
        "place": block.place[block.by_place[2]].tolist(),
        "weight": block.weight[block.by_place[2]].tolist(),
        "centre": numbers(block.centre),
        "per_unit": numbers(block.per_unit),
        "n_categories": block.n_categories.tolist(),
        "frequency": block.frequency.tolist(),
        "n_nearest": list(N_NEAREST),
        "strength": block.strength.tolist(),
        "corners": [nowhere] * len(block.centre),
    }


@page_form.register
def _(model: TreeModel, tree: None = None) -> dict[str, Any]:
    n_columns, gated = model.tree.profile.mean.shape[1], model.reading.support_gate
    columns = model.tree.feature if gated else model.tree.feature[:0]
    return _shared_form(
        model, [_bends(model.tree), _gate_ends(columns, model.core.gate[: len(columns)], n_columns)]
    ) | {
        "combination": model.reading.combination,
        "is_source": model.is_source.tolist(),
        "is_rule": model.is_rule.tolist(),
        "gated": gated,
        "consequent": numbers(model.tree.consequent),
        "reliability": numbers(model.reliability),
        "usual": model.usual_class,
        "novelty": _residual_form(model) or _neighbour_form(model) | _exemplars(model.tree),
    }


# ---------------------------------------------------------------------------------------------------------------------
# What all models have
# ---------------------------------------------------------------------------------------------------------------------


def _shared_form(model: Model, corners: list[list[Floats]]) -> dict[str, Any]:
    """Conditions and corners; the latter from several lists, each with one array for each column."""
    tree, core = model.tree, model.core
    memberships = [tree.memberships(node) for node in range(tree.n_nodes)]
    return {
        "kind": model.kind,
        "constants": CONSTANTS,
        "classes": shown_names(model.labels),
        "n_features": model.n_features,
        "derived": [page_derived(item) for item in model.derived],
        "nodes": {
            "parent": tree.parent.tolist(),
            "feature": tree.feature.tolist(),
            "is_leaf": tree.is_leaf.tolist(),
            "rise": numbers(core.rise),
            "fall": numbers(core.fall),
            "gate": numbers(core.gate),
            "share": numbers(tree.share),
            "category": [numbers(membership) if len(membership) else None for membership in memberships],
        },
        "corners": [
            np.unique(result[np.isfinite(result)]).tolist()
            for result in map(np.concatenate, zip(*corners, strict=True))
        ],
    }


def page_derived(derived: Derived) -> dict[str, Any]:
    """A derived column as the page computes it."""
    entries = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(derived).items()
    }
    return {"kind": derived.kind, **entries}


def _bends(tree: FuzzyTree) -> list[Floats]:
    """The values of each column at which memberships bend."""
    return [tree.trapezoid[tree.feature == column].ravel() for column in range(tree.profile.mean.shape[1])]


def _gate_ends(columns: Ints, gates: Floats, n_columns: int) -> list[Floats]:
    """Values of each column at which its gates begin and end to close; ``gates`` has one for each of ``columns``."""
    low, high, slope = gates.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = np.stack([low - 1 / slope, low, high, high + 1 / slope], axis=1)
    return [ends[columns == column].ravel() for column in range(n_columns)]


def _residual_form(model: Model) -> dict[str, Any] | None:
    """The paper's residual of a model that keeps no training row; None where it keeps some."""
    tree, mean = model.tree, model.tree.profile.mean
    if tree.profile.has_exemplars:
        return None
    ends, weight = tree.is_leaf.copy(), precision(tree)
    ends[0] = True  # what a row that fits no leaf is compared with
    return {
        "measure": "residual",
        "mean": [numbers(mean[node]) if is_end else None for node, is_end in enumerate(ends)],
        "precision": [numbers(weight[node]) if is_end else None for node, is_end in enumerate(ends)],
    }


def _neighbour_form(model: Model) -> dict[str, Any]:
    tree, mean = model.tree, model.tree.profile.mean
    return {
        "measure": "neighbour",
        "is_number": (tree.n_categories(mean.shape[1]) == 0).tolist(),
        "centre": numbers(mean[0]),
        "per_unit": numbers(1 / model.unit_of_distance),
    }


def _exemplars(tree: FuzzyTree) -> dict[str, Any]:
    """Exemplars of the nodes where paths can end, and the rows that these are."""
    profile = tree.profile
    lists = [None if node < 0 else profile.exemplar[node] for node in tree.exemplar_group]
    used = np.unique(np.concatenate([one_list[one_list >= 0] for one_list in lists if one_list is not None]))
    index = np.full(len(profile.exemplar_row), -1)
    index[used] = np.arange(len(used))
    return {
        "exemplar": [None if one_list is None else index[one_list[one_list >= 0]].tolist() for one_list in lists],
        "row": numbers(profile.exemplar_row[used]),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Sliders
# ---------------------------------------------------------------------------------------------------------------------


def slider_range(model: Model, feature: int) -> tuple[float, float]:
    """The range that a slider offers: the range of the training rows, or a little room around the only value."""
    low, high = model.training_range(feature)
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
