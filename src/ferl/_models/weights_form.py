"""Weights of evidence in model files, checked as the tree is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferl._models.fields import Part, as_written
from ferl._models.novelty import N_LEVELS
from ferl._models.rule_model import Curvature, RuleModel, Rules
from ferl._models.tree import FuzzyTree
from ferl._models.tree_form import LARGEST_MEAN, ROUNDING
from ferl._util.arrays import Bools, Floats

LARGEST_WEIGHT = 1e100  # sums and squares of such weights are finite

LARGEST_CURVATURE = 1e100

LARGEST_RIDGE = 1e100

_KEYS = ("node", "weight", "ridge", "prior", "ranges")
_OPTIONAL = ("curvature", "novelty")
_KEYS_OF_CURVATURE = ("rules", "classes")


def weights_to_form(model: RuleModel) -> dict[str, Any]:
    """What adds up, as lists and numbers of Python."""
    rules = model.rules
    form: dict[str, Any] = {"node": as_written(rules.node), "weight": as_written(rules.weight)}
    form |= {"ridge": as_written(rules.ridge), "prior": as_written(model.prior), "ranges": as_written(model.ranges)}
    if model.curvature is not None:
        form["curvature"] = {name: as_written(getattr(model.curvature, name)) for name in _KEYS_OF_CURVATURE}
    if model.novelty_scale is not None:
        form["novelty"] = as_written(model.novelty_scale)
    return form


def weights_from_form(form: Any, tree: FuzzyTree, n_columns: int) -> dict[str, Any]:
    """The parts of a RuleModel that add up, from their plain form, checked.

    Parameters
    ----------
    form : object
        What stands in the file.
    tree : FuzzyTree
        The rules that speak, each a chain of nodes.
    n_columns : int
        Number of columns that the rules read.

    Returns
    -------
    dict
        By the names of the attributes.
    """
    part = Part(form, "weights", _KEYS, _OPTIONAL)
    node = part.integers("node", None, 1, tree.n_nodes - 1)
    if not np.array_equal(node, tree.leaves[tree.leaves > 0]):
        raise part.wrong("node", "it must list the last node of each rule, in order")
    weight = part.matrix("weight", len(node), tree.n_classes, -LARGEST_WEIGHT, LARGEST_WEIGHT)
    prior = part.numbers("prior", tree.n_classes, -LARGEST_WEIGHT, LARGEST_WEIGHT)
    off = _off_centre(weight)
    if off.any():
        rule = int(np.argmax(off))
        raise part.wrong("weight", f"the weights of rule {rule} sum to {weight[rule].sum()}, not to 0")
    if _off_centre(prior[None])[0]:
        raise part.wrong("prior", f"it sums to {prior.sum()}, not to 0")
    curvature = None
    if "curvature" in part.value:
        curvature = _curvature(part.value["curvature"], 1 + len(node), tree.n_classes)
    ridge = part.numbers("ridge", len(node), 0, LARGEST_RIDGE)
    return {
        "rules": Rules(node, weight, ridge),
        "prior": prior,
        "ranges": _ranges(part, n_columns),
        "curvature": curvature,
        "novelty_scale": _novelty(part),
    }


def _novelty(part: Part) -> Floats | None:
    """Quantiles of the novelty of the training rows."""
    if "novelty" not in part.value:
        return None
    found = part.numbers("novelty", N_LEVELS, 0, np.inf, infinite=True)
    if (found[1:] < found[:-1]).any():
        raise part.wrong("novelty", "quantiles must ascend")
    return found


def _curvature(form: Any, n_weights: int, n_classes: int) -> Curvature:
    part = Part(form, "weights.curvature", _KEYS_OF_CURVATURE)
    found = Curvature(_symmetric(part, "rules", n_weights), _symmetric(part, "classes", n_classes))
    off = _off_centre(found.classes)
    if off.any():
        row = int(np.argmax(off))
        raise part.wrong("classes", f"row {row} sums to {found.classes[row].sum()}, not to 0")
    return found


def _symmetric(part: Part, key: str, n: int) -> Floats:
    """A matrix that can be a curvature: symmetric, and no direction in which it falls but for rounding."""
    found = part.matrix(key, n, n, -LARGEST_CURVATURE, LARGEST_CURVATURE)
    if not np.array_equal(found, found.T):
        raise part.wrong(key, "it must be symmetric")
    eigenvalue = np.linalg.eigvalsh(found)  # ascending
    if eigenvalue[0] < -ROUNDING * max(eigenvalue[-1], 1.0):
        raise part.wrong(key, f"it has the eigenvalue {eigenvalue[0]:.3g}; none may be negative")
    return found


def _off_centre(weight: Floats) -> Bools:
    """Which rows do not sum to zero, but for rounding; shape (n_rows,)."""
    return np.asarray(np.abs(weight.sum(axis=1)) > ROUNDING * np.maximum(1.0, np.abs(weight).sum(axis=1)))


def _ranges(part: Part, n_columns: int) -> Floats:
    seen = part.matrix("ranges", n_columns, 2, infinite=True)
    is_empty = (seen[:, 0] == np.inf) & (seen[:, 1] == -np.inf)  # no training row has a value
    bad = ~is_empty & ~((seen[:, 0] <= seen[:, 1]) & (np.abs(seen) <= LARGEST_MEAN).all(axis=1))
    if bad.any():
        column = int(np.argmax(bad))
        raise part.wrong("ranges", f"the range of column {column} is {seen[column].tolist()}; it must ascend")
    return seen
