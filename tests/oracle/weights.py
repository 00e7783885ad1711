"""Weights of evidence: what rules, curves and maps add to the scores of a row, and the probabilities of scores.

Rules are chains of nodes. One gate for each column that a rule, curve or map reads fades the sum towards the scores of
the class frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.inference import UNSEEN_GATE, fire, gate

Floats = NDArray[np.float64]


def net_weights(scores: Floats) -> Floats:
    """Scores less their mean: what speaks for a class where it is positive, against it where it is negative."""
    return scores - scores.mean()


def softmax(scores: Floats) -> Floats:
    """Probabilities of scores, shape (n_rows, n_classes)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def read_columns(model: Any) -> set[int]:
    """Columns that rules, curves and maps read."""
    found = {int(j) for j in model.tree.feature[1:]}
    return found | ({int(j) for j in model.curves.column.ravel() if j >= 0} if model.curves is not None else set())


def cells(model: Any, x: Floats) -> NDArray[np.intp]:
    """The cell of each curve and map that a row is in, among the cells of all, shape (n_rows, n_terms)."""
    curves = model.curves
    if curves is None:
        return np.zeros((len(x), 0), dtype=np.intp)
    found = []
    for term in range(len(curves.column)):
        index: Any = 0
        for axis, column in enumerate(int(j) for j in curves.column[term] if j >= 0):
            cuts = curves.cut[curves.cut_start[2 * term + axis] : curves.cut_start[2 * term + axis + 1]]
            n_categories, value = int(curves.n_categories[column]), x[:, column]
            if n_categories:
                cell = 1 + np.minimum(np.nan_to_num(value), n_categories).astype(int)
            else:
                cell = 1 + (cuts[None, :] < value[:, None]).sum(axis=1)
            size = (n_categories or len(cuts)) + 2
            index = index * size + np.where(np.isnan(value), 0, cell)
        found.append(curves.cell_start[term] + index)
    return np.stack(found, axis=1)


def cell_values(model: Any, x: Floats) -> Floats:
    """What each curve and map adds, gates open: the value of its cell, shape (n_rows, n_terms, n_classes)."""
    if model.curves is None:
        return np.zeros((len(x), 0, len(model.classes)))
    return np.asarray(model.curves.value[cells(model, x)])


def supports(model: Any, x: Floats) -> Floats:
    """How open the gate of each column is, of those that a rule asks; shape of ``x``, 1 for all other columns."""
    tree, out = model.tree, np.ones_like(x)
    if not model.reading.support_gate:
        return out
    n_categories = tree.n_categories(x.shape[1])
    always_open = {model.n_features + k for k, own in enumerate(model.derived) if own.kind != "missing"}
    for column in sorted(read_columns(model) - always_open):
        value = x[:, column]
        if n_categories[column]:
            is_open = np.where(value >= n_categories[column], UNSEEN_GATE, 1.0)
        else:
            is_open = gate(model.ranges[column], np.nan_to_num(value), model.reading.gate_margin)
        out[:, column] = np.where(np.isnan(value), 1.0, is_open)
    return out


def fading(model: Any, x: Floats) -> Floats:
    """How far all that is said counts, shape (n_rows,): the gates of level columns fade the belief, not the scores."""
    is_level = np.isin(np.arange(x.shape[1]), model.level_columns)
    return np.asarray(supports(model, x)[:, ~is_level].prod(axis=1))


def base_scores(model: Any) -> Floats:
    """Scores without any evidence: logarithms of the class weights, to twelve digits so that ties are ties, centred.

    A class without rows counts as half a row, or half of the rarest other class if that is less.
    """
    weight = model.tree.class_weight[0]
    seen = weight[weight > 0]
    if not len(seen):
        return np.zeros(len(weight))
    logs = np.log(np.where(weight > 0, weight, min(1.0, seen.min()) / 2) / weight.sum()).round(12)
    return logs - logs.mean()


def gated_contributions(model: Any, x: Floats) -> Floats:
    """What each term, and last the prior, adds as far as the gates are open; shape as of :func:`contributions`."""
    firing = fire(model.tree, x, gated=False)[:, model.rules.node]
    always = np.column_stack([firing, np.ones(len(x))])[:, :, None] * np.vstack([model.rules.weight, model.prior])
    parts = np.concatenate([always[:, :-1], cell_values(model, x), always[:, -1:]], axis=1)
    return parts * fading(model, x)[:, None, None]


def contributions(model: Any, x: Floats) -> Floats:
    """What each rule, curve and map, and last the prior, adds to the scores, (n_rows, n_terms + 1, n_classes).

    ``log pi + s (F - log pi)``: the prior stands for the class frequencies as far as the gates are closed.
    """
    parts = gated_contributions(model, x)
    parts[:, -1] += (1 - fading(model, x))[:, None] * base_scores(model)
    return parts


def column_contributions(model: Any, x: Floats) -> Floats:
    """What each column, and last the prior, adds to the scores; a rule is shared equally among its conditions."""
    tree, parts = model.tree, contributions(model, x)
    out = np.zeros((len(x), x.shape[1] + 1, parts.shape[2]))
    out[:, -1] = parts[:, -1]
    for rule, node in enumerate(model.rules.node.tolist()):
        path = []
        while node > 0:
            path.append(int(tree.feature[node]))
            node = int(tree.parent[node])
        for column in path:
            out[:, column] += parts[:, rule] / len(path)
    for term, pair in enumerate([] if model.curves is None else model.curves.column.tolist()):
        read = [column for column in pair if column >= 0]
        for column in read:
            out[:, column] += parts[:, len(model.rules.node) + term] / len(read)
    return out


def conflict(parts: Floats) -> Floats:
    """The share of all weights that cancelled, of contributions to the scores; shape (n_rows,)."""
    net, size = np.abs(np.array([net_weights(own.sum(axis=0)) for own in parts])).sum(axis=1), np.abs(parts).sum((1, 2))
    return np.clip(1 - np.divide(net, size, out=np.ones_like(size), where=size > 0), 0.0, 1.0)


def withheld(model: Any, x: Floats) -> Floats:
    """The share of all weights that closed gates withhold, by column: in proportion to the logarithms of the gates."""
    out = np.zeros_like(x)
    for row, opening in zip(out, supports(model, x), strict=True):
        is_closed = opening == 0
        cost = is_closed.astype(float) if is_closed.any() else -np.log(opening)
        if cost.any():
            row[:] = cost / cost.sum() * (1 - opening.prod())
    return out
