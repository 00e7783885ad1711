"""Changes of wide rules: from a model to another one, with a record of what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from ferl._learn.rows import Block
from ferl._learn.update_rules import refitted
from ferl._models.rule_model import RuleModel, Rules
from ferl._models.shapes import feature_of, kept_rows, mean_firing
from ferl._tell.statements import rule_text
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import shown


def dropped(model: RuleModel, rules: Sequence[int], to_prior: bool, record: dict[str, Any]) -> RuleModel:
    """The model without some rules.

    Parameters
    ----------
    model : RuleModel
        Of wide rules.
    rules : sequence of int
        Indices of the rules.
    to_prior : bool
        Whether the prior takes over what they say of the training rows on average.
    record : dict
        What the history says.

    Returns
    -------
    RuleModel
    """
    old, tree = model.rules, model.tree
    stays = np.ones(len(old.node), dtype=bool)
    stays[list(rules)] = False
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[0] = True
    for node in old.node[stays].tolist():
        kept[tree.path(node)] = True
    number = np.cumsum(kept) - 1
    prior = model.prior
    if to_prior:
        gone = mean_firing(model)[list(rules), None] * old.weight[list(rules)]
        prior = prior + gone.sum(axis=0)
    fewer = Rules(number[old.node[stays]].astype(np.int32), old.weight[stays].copy(), old.ridge[stays].copy())
    told = {"dropped": [rule + 1 for rule in rules], "conditions": [_conditions(model, rule) for rule in rules]}
    return _changed(model, record | told, tree=tree.keep(kept), rules=fewer, prior=prior)


def reweighted(
    model: RuleModel, rules: Sequence[int], weight: Floats, prior: Floats, record: dict[str, Any]
) -> RuleModel:
    """The model with other weights of some rules, shape (n_rules, n_classes), and with another prior."""
    changed = model.rules.weight.copy()
    changed[list(rules)] = weight
    told = {
        "rules": [rule + 1 for rule in rules],
        "conditions": [_conditions(model, rule) for rule in rules],
        "weights": weight.tolist(),
    }
    return _changed(model, record | told, rules=replace(model.rules, weight=changed), prior=prior)


def _changed(model: RuleModel, record: dict[str, Any], **parts: Any) -> RuleModel:
    """The model with other parts, without what was learned about its old weights."""
    return replace(model, **parts, curvature=None, novelty_scale=None, history=(*model.history, record))


def locked_rules(model: RuleModel) -> frozenset[int]:
    """Indices of the rules that are locked."""
    return _rules_of_edits(model, ("lock",))


def held_rules(model: RuleModel) -> frozenset[int]:
    """Indices of the rules that a refit holds: those that are locked, and those whose weight was set by hand."""
    return _rules_of_edits(model, ("lock", "set_weight"))


def _rules_of_edits(model: RuleModel, edits: Sequence[str]) -> frozenset[int]:
    """Indices of the rules of some edits, from the history: rules that were dropped since have shifted the others."""
    found: set[int] = set()
    for record in model.history:
        if record.get("edit") in edits:
            found |= _indices(record.get("rules"))
        gone = _indices(record.get("dropped"))
        found = {rule - sum(other < rule for other in gone) for rule in found if rule not in gone}
    return frozenset(found)


def constraint_of_edits(model: RuleModel, constraint: Ints | None) -> Ints | None:
    """Sign of each column's monotone constraint: that of the fit, or of a later edit where there is one.

    Parameters
    ----------
    model : RuleModel
        With its history.
    constraint : ndarray of shape (n_columns,) or None
        By which the model was fitted.

    Returns
    -------
    ndarray of shape (n_columns,) or None
    """
    names, n_columns = model.feature_names(), model.n_features + len(model.missing_features)
    found = np.zeros(n_columns, dtype=np.int32) if constraint is None else constraint.copy()
    for record in model.history:
        if record.get("edit") == "monotone" and record.get("feature") in names and record.get("sign") in (1, -1):
            found[names.index(record["feature"])] = record["sign"]
    return found if found.any() else None


def fitted_again(
    model: RuleModel, block: Block, constraint: Ints | None, ridge: float | None, n_threads: int
) -> RuleModel:
    """The model whose rules have new weights, but for those that are locked or were set by hand.

    Parameters
    ----------
    model : RuleModel
        Of wide rules.
    block : Block
        Rows as the model reads them, all of some weight.
    constraint : ndarray of shape (n_columns,) or None
        Sign of each column's monotone constraint, by which the model was fitted.
    ridge : float or None
        What holds weights back; None: what did so in the fit.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    RuleModel
    """
    held = held_rules(model)
    used = model.rules.ridge if ridge is None else np.full(model.n_rules, float(ridge))
    found = refitted(model, block, held, constraint_of_edits(model, constraint), used, n_threads)
    record = {"edit": "refit", "n_rows": len(block.X), "held": [rule + 1 for rule in sorted(held)]}
    if ridge is not None:
        record["ridge"] = float(ridge)
        found = replace(found, rules=replace(found.rules, ridge=used))
    return replace(found, history=(*model.history, record))


def _indices(numbers: Any) -> set[int]:
    """Indices of rules from a record, which may come from a file that holds something else."""
    return {number - 1 for number in numbers if type(number) is int} if isinstance(numbers, list) else set()


def rules_on(model: RuleModel, feature: int, alone: bool) -> list[int]:
    """Indices of the rules that ask a feature; ``alone``: that ask nothing else."""
    found = []
    for rule, node in enumerate(model.rules.node.tolist()):
        asked = {feature_of(model, int(model.tree.feature[step])) for step in model.tree.path(node)}
        if feature in asked and (not alone or len(asked) == 1):
            found.append(rule)
    return found


def centred(weight: Any, n_classes: int) -> Floats:
    """A weight of evidence for each class, with sum zero, from log-odds of the second of two classes or from weights.

    Parameters
    ----------
    weight : float or array-like of shape (n_classes,)
        What was given.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    try:
        given = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weight is {shown(weight)}; give numbers, one for each of {n_classes} classes.") from error
    if given.shape == () and n_classes == 2:
        given = np.array([-given / 2, given / 2])
    if given.shape != (n_classes,):
        scalar = " or one number, the log-odds of the second class" if n_classes == 2 else ""
        raise ValueError(f"weight has shape {given.shape}; give {n_classes} numbers, one for each class,{scalar}.")
    if not np.isfinite(given).all():
        raise ValueError(f"weight is {given.tolist()}; weights of evidence must be finite.")
    return np.asarray(given - given.mean())


# ---------------------------------------------------------------------------------------------------------------------
# Monotone curves
# ---------------------------------------------------------------------------------------------------------------------


def made_monotone(model: RuleModel, feature: int, sign: int, locked: Iterable[int]) -> RuleModel:
    """The model of two classes whose log-odds of the second class never fall (or never rise) in a feature.

    Every rule that asks the feature gets a weight of the right sign, which proves it for the whole score. The weights
    of the rules on the feature alone are those that come closest to the old curve; a rule on several features that had
    the wrong sign is silenced, and the prior takes over what it said on average.

    Parameters
    ----------
    model : RuleModel
        Of wide rules and two classes.
    feature : int
        The feature, a number.
    sign : {1, -1}
        1: log-odds of the second class never fall.
    locked : iterable of int
        Indices of rules that may not change.

    Returns
    -------
    RuleModel
    """
    weight, held = model.rules.weight, set(locked)
    asking = {rule: sign * _direction(model, rule, feature) for rule in rules_on(model, feature, alone=False)}
    rules = [rule for rule, way in asking.items() if way != 0]
    direction = np.array([asking[rule] for rule in rules])
    line = weight[rules, 1] - weight[rules, 0]
    agrees = _agrees(line, direction)
    for rule, agreed in zip(rules, agrees, strict=True):
        if rule in held and not agreed:
            raise ValueError(f"Rule {rule + 1} is locked and speaks against the wish: {_conditions(model, rule)}.")
    alone = np.isin(rules, rules_on(model, feature, alone=True))
    wished, shift = np.where(agrees, line, 0.0), 0.0
    if not agrees[alone].all():
        fixed = np.isin(rules, list(held))[alone]
        wished[alone], shift = _closest(model, np.array(rules)[alone].tolist(), line[alone], direction[alone], fixed)
    shift += float((mean_firing(model)[rules] * (line - wished))[~alone].sum())
    changed = np.flatnonzero(wished != line)
    new = np.stack([-wished[changed] / 2, wished[changed] / 2], axis=1)
    record = {"edit": "monotone", "feature": str(model.feature_names()[feature]), "sign": int(sign)}
    prior = model.prior + np.array([-shift / 2, shift / 2])
    return reweighted(model, [rules[k] for k in changed], new, prior, record)


def _agrees(line: Floats, direction: Floats) -> Bools:
    """Whether rules have weights of the right sign; a condition that rises and falls (NaN) may have none at all."""
    return np.asarray(np.where(np.isnan(direction), line == 0, line * np.nan_to_num(direction) >= 0))


def _direction(model: RuleModel, rule: int, feature: int) -> float:
    """1 where a rule fires more as a feature grows, -1 where it fires less, 0 where it does not care, NaN: both."""
    found = set()
    for node in model.tree.path(int(model.rules.node[rule])):
        if model.tree.feature[node] == feature:  # not its indicator, which is about missing values alone
            a, _, _, d = model.tree.trapezoid[node]
            found |= ({1.0} if np.isfinite(a) else set()) | ({-1.0} if np.isfinite(d) else set())
    return found.pop() if len(found) == 1 else (np.nan if found else 0.0)


def _closest(model: RuleModel, rules: list[int], line: Floats, direction: Floats, fixed: Bools) -> tuple[Floats, float]:
    """Weights of the right signs whose curve, shifted by a constant, comes closest to that of the old weights.

    Weights that are ``fixed`` stay. The distance is measured on the training rows that the model keeps, or at the
    corners of the rules where it keeps none.
    """
    tree, nodes = model.tree, model.rules.node[rules]
    rows = kept_rows(model)
    if not len(rows):
        column = int(tree.feature[nodes[0]])
        values = tree.trapezoid[nodes].ravel()
        rows = np.full((int(np.isfinite(values).sum()), model.n_features + len(model.missing_features)), np.nan)
        rows[:, column] = values[np.isfinite(values)]
    firing = tree.fire(rows, gated=False)[:, nodes]
    rising, falling = direction > 0, direction < 0  # neither: a condition that rises and falls, which must be silent
    low = np.where(fixed, line, np.where(falling, -np.inf, 0.0)) - _TINY
    high = np.where(fixed, line, np.where(rising, np.inf, 0.0)) + _TINY
    design = np.column_stack([firing, np.ones(len(rows))])
    # A small ridge towards the old weights decides where rows leave them open.
    ridge = 1e-6 * np.eye(len(rules), len(rules) + 1)
    target = np.concatenate([firing @ line, 1e-6 * line])
    found = lsq_linear(np.vstack([design, ridge]), target, bounds=(np.append(low, -np.inf), np.append(high, np.inf)))
    solved = np.where(rising, np.maximum(found.x[:-1], 0.0), np.where(falling, np.minimum(found.x[:-1], 0.0), 0.0))
    return np.where(fixed, line, solved), float(found.x[-1])


_TINY = 1e-12  # bounds may not coincide


def _conditions(model: RuleModel, rule: int) -> str:
    return rule_text(model, int(model.rules.node[rule])) or "always"
