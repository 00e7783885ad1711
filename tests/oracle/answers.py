"""All that a model says of rows, for the golden vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle import rows_behind, rules_novelty, weights
from oracle.inference import combine, fire, prediction_set, support_deficit
from oracle.novelty import LOST_MASS, kept_profile, neighbour_parts, residual_from

Floats = NDArray[np.float64]


def answer(model: Any, x: Floats) -> dict[str, NDArray[Any]]:
    """Answers of a model, by their names, to rows as its tree reads them: numbers and codes, indicators behind them."""
    if model.kind == "rules":
        return wide_answer(model, x)
    tree, reading = model.tree, model.reading
    gated, margin = reading.support_gate, reading.gate_margin
    masses = combine(tree, x, reading.combination, reading.sources, reading.discount, gated, margin)
    pignistic = masses.belief + masses.ignorance[:, None] / len(model.classes)
    lost = support_deficit(tree, x, margin) if gated else np.zeros_like(x)
    by_feature = by_features(model, novelty_by_column(tree, x, lost))
    return {
        "firing": fire(tree, x, gated, margin),
        "belief": masses.belief,
        "plausibility": masses.belief + masses.ignorance[:, None],
        "pignistic": pignistic,
        "set": prediction_set(masses),
        "label": np.where(masses.belief.any(axis=1), pignistic.argmax(axis=1), frequency(model).argmax()),
        "ignorance": masses.ignorance,
        "conflict": masses.conflict,
        "novelty": by_feature.sum(axis=1),
        "noveltyByFeature": by_feature,
        "supportDeficit": by_features(model, lost),
    }


def wide_answer(model: Any, x: Floats) -> dict[str, NDArray[Any]]:
    """Answers of rules, by their names."""
    parts = weights.contributions(model, x)
    scores = parts.sum(axis=1)
    evidence, probability = rows_behind.evidence(model, x, scores), weights.softmax(scores)
    by_column, lost = weights.column_contributions(model, x), weights.withheld(model, x)
    novelty = by_features(model, rules_novelty_by_column(model, x, lost))
    return {
        "firing": fire(model.tree, x, gated=False),
        "scores": scores,
        "fade": weights.fading(model, x),
        "contributions": parts,
        "featureContributions": np.concatenate([by_features(model, by_column), by_column[:, -1:]], axis=1),
        "belief": evidence.belief,
        "plausibility": evidence.plausibility,
        "probability": probability,
        "set": evidence.set,
        "label": probability.argmax(axis=1),
        "ignorance": evidence.ignorance,
        "rows": evidence.rows,
        "conflict": weights.conflict(weights.gated_contributions(model, x)),
        "novelty": novelty.sum(axis=1),
        "noveltyByFeature": novelty,
        "supportDeficit": by_features(model, lost),
    }


def novelty_by_column(tree: Any, x: Floats, lost: Floats) -> Floats:
    """Distance to the nearest exemplar; of a tree without exemplars the residual and what its gates withheld."""
    profile = kept_profile(tree)
    if any(len(own) for own in profile.exemplars):
        return neighbour_parts(tree, profile, x)
    return residual_from(tree, profile, x) + LOST_MASS * lost


def rules_novelty_by_column(model: Any, x: Floats, lost: Floats) -> Floats:
    """Distance to the nearest kept row and entropy; of a model that keeps no rows as for trees."""
    if model.tree.profile.has_exemplars:
        return rules_novelty.novelty_parts(model, x)
    return residual_from(model.tree, kept_profile(model.tree), x) + LOST_MASS * lost


def decide(model: Any, found: dict[str, NDArray[Any]], decision: Any) -> NDArray[np.intp]:
    """The label of each row by a decision: a power of the class frequencies, a threshold, or a matrix of costs.

    ``found`` is what :func:`answer` has of the rows; ``decision`` is a name and its number or matrix, ("power", 0.5).
    """
    is_known = found["belief"].any(axis=1)
    if model.kind == "trees" and decision[0] != "threshold" and not is_known.all():
        # Without evidence the label is the most frequent class, unless a threshold decides on the probability.
        out = np.full(len(is_known), frequency(model).argmax())
        if is_known.any():
            out[is_known] = decide(model, {name: own[is_known] for name, own in found.items()}, decision)
        return out
    name, value = decision
    probability = found["pignistic"] if model.kind == "trees" else found["probability"]
    if name == "threshold":
        return np.array([int(own[1] >= value) for own in probability])
    if name == "costs":
        weight = found["belief"] if model.kind == "trees" else probability  # ignorance belongs to no class
        return np.array([np.argmin([own @ value[:, label] for label in range(len(own))]) for own in weight])
    shares = frequency(model)
    if model.kind == "trees":  # the ignorance belongs to no class
        return (found["belief"] / shares**value).argmax(axis=1)
    is_open = np.asarray(found["fade"])[:, None] > 0  # without evidence no rare class is preferred
    return (probability / shares ** (value * is_open)).argmax(axis=1)


def frequency(model: Any) -> Floats:
    """The share of each class among the training rows."""
    return np.asarray(model.tree.class_weight[0] / model.tree.class_weight[0].sum())


def by_features(model: Any, parts: Floats) -> Floats:
    """Parts of the columns, those of derived ones added to the features they belong to."""
    n_features = len(model.schema.categories)
    out = parts[:, :n_features].copy()
    for k, own in enumerate(model.derived):
        out[:, own.feature] += parts[:, n_features + k]
    return out
