"""Growing the paper's trees: learned splits, or words that are fixed before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ferl import _core
from ferl._learn.consequents import constrain
from ferl._learn.ground import UNBOUNDED, Ground
from ferl._learn.pruning import prune
from ferl._learn.rows import Rows
from ferl._models.settings import TreeSettings
from ferl._models.tree import Cuts, FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._util.progress import count_bar
from ferl._util.threads import n_threads


def fit_tree(settings: TreeSettings, rows: Rows) -> TreeModel:
    """Grow a tree, prune it, and settle how its evidence is read."""
    tree, ground = grow_tree(settings, rows)
    facts = rows.facts
    return TreeModel(
        variant=settings.variant,
        tree=prune(tree, settings.ccp_alpha),
        reading=settings.reading,
        classes=facts.classes,
        schema=facts.schema,
        missing_features=facts.missing_features,
        words=ground.words,
        n_growth_rows=ground.sample.n_rows,
    )


def grow_tree(settings: TreeSettings, rows: Rows) -> tuple[FuzzyTree, Ground]:
    """The tree before it is pruned, and what it was grown on."""
    with count_bar("growing rules", settings.max_rules, settings.verbose > 0) as report:
        ground = Ground.prepared(settings, rows)
        if ground.words is not None and ground.constraint is not None:
            raise ValueError(
                "monotonic_cst works with learned splits and with the rules of FERLClassifier, not with a tree of "
                "words: leave words out (words=False), or use FERLClassifier."
            )
        grown = _splits(settings, ground, report) if ground.words is None else _words(settings, ground, report)
        found = grown.pop("cuts")
        cuts = Cuts(found[:, :2].copy(), found[:, 2].copy()) if ground.words is None else None
        kept = n_exemplars(settings)
        tree = ground.summed(grown, kept, settings.consequents, settings.shrinkage, cuts, report)
        if ground.constraint is not None:
            tree = replace(tree, consequent=constrain(tree, ground.constraint))
        if report is not None:
            report(len(tree.leaves))
    return tree, ground


def n_exemplars(settings: TreeSettings) -> int:
    """Number of training rows that each node keeps."""
    return int(min(settings.n_exemplars, UNBOUNDED))


def _splits(settings: TreeSettings, ground: Ground, report: Any) -> dict[str, Any]:
    facts = ground.rows.facts
    n_columns = len(facts.names)
    options = _limits(settings) | {
        "criterion": settings.criterion,
        "n_resamples": int(settings.n_resamples),
        "band": settings.band,
        "band_scale": float(settings.band_scale),
        "two_mode": bool(settings.two_mode),
        "n_exemplars": n_exemplars(settings),
        "n_banded_features": min(settings.n_banded_features or n_columns, n_columns),
        # A class without weight has no rows; any unit will do.
        "class_unit": np.where(facts.class_unit > 0, facts.class_unit, 1.0).tolist(),
        "monotone": [] if ground.constraint is None else ground.constraint.tolist(),
    }
    return _core.grow_tree(ground.sample, options, report)


def _words(settings: TreeSettings, ground: Ground, report: Any) -> dict[str, Any]:
    found = ground.word_conditions
    assert found is not None
    options = _limits(settings) | {
        "min_rule_worth": float(settings.min_rule_worth),
        "soft_share": 1.0 if settings.criterion == "consistent" else 0.0,
    }
    return _core.grow_words(ground.sample, found.feature, found.trapezoid, found.is_complement, options, report)


def _limits(settings: TreeSettings) -> dict[str, Any]:
    return {
        "max_rules": int(min(settings.max_rules, UNBOUNDED)),
        "max_depth": int(min(settings.max_depth, UNBOUNDED)),
        "min_leaf_weight": float(settings.min_leaf_weight),
        "min_gain": float(settings.min_gain),
        "patience": int(min(settings.patience, UNBOUNDED)),
        "min_coverage": float(settings.min_coverage),
        "n_threads": n_threads(settings.n_jobs),
    }
