"""Growth: from a table and an estimator's parameters to a fuzzy tree, by learned splits or by words fixed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ferl import _core, monotone
from ferl.categories import category_terms, level_order, level_weights, recode, restore
from ferl.consequents import consequents
from ferl.partition import (
    LinguisticVariable,
    Terms,
    arrange,
    mdlp_partition,
    quantile_partition,
    terms,
    width_partition,
)
from ferl.presets import setting
from ferl.progress import rules_bar
from ferl.threads import n_threads
from ferl.tree import Categories, Cuts, FuzzyTree, Profile

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Words = list[LinguisticVariable | None]

CRITERIA = {"compact": ("consistent", "cci"), "medium": ("gini", "cci"), "deep": ("gini", "cci")}
BUILDERS = ("quantile", "width", "mdlp")
UNBOUNDED = np.iinfo(np.int32).max  # no tree gets there


@dataclass(frozen=True)
class TrainingRows:
    """A checked table.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Values; NaN where one is missing. A category is its code.
    codes : ndarray of shape (n_rows,), int32
        Place of each row's label among the classes.
    weight : ndarray of shape (n_rows,)
        How often each row counts.
    n_classes : int
        Number of classes.
    names : list of str
        Names of the features.
    class_unit : ndarray of shape (n_classes,)
        What one row of each class weighs: the weight of the class.
    levels : dict
        Of each categorical feature, by its number: its categories, in the order of their codes.
    """

    X: Floats
    codes: NDArray[np.int32]
    weight: Floats
    n_classes: int
    names: list[str]
    class_unit: Floats
    levels: dict[int, Sequence[Any]] = field(default_factory=dict)

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """Number of categories of each feature; 0: it holds numbers."""
        return np.array([len(self.levels.get(j, ())) for j in range(self.X.shape[1])], dtype=np.int32)


@dataclass(frozen=True)
class Grown:
    """A tree before pruning, the words it speaks in (None: learned splits), and on how many rows it was grown."""

    tree: FuzzyTree
    partition: Words | None
    n_growth_rows: int


def grow(estimator: FERLClassifier, rows: TrainingRows) -> Grown:
    """Grow a tree with an estimator's parameters.

    Parameters
    ----------
    estimator : FERLClassifier
        Its parameters are read; nothing is written.
    rows : TrainingRows
        The table.

    Returns
    -------
    Grown
    """
    _check_criterion(estimator)
    partition = _choose_partition(estimator, rows)
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    growth_rows = len(rows.X) if estimator.growth_rows is None else min(estimator.growth_rows, len(rows.X))
    found = None if partition is None else terms(partition)
    weights = {
        j: level_weights(rows.X[:, j], rows.codes, rows.weight, len(levels), rows.n_classes)
        for j, levels in rows.levels.items()
    }
    orders = {j: level_order(own) for j, own in weights.items()}
    if found is not None:
        found = category_terms(found, rows.levels, orders, weights)
    table = (recode(rows.X, orders), rows.n_levels, rows.codes, rows.weight, rows.n_classes, seed, growth_rows)
    constraint = monotone.signs(estimator, rows.names, rows.n_levels, rows.n_classes)
    with rules_bar(setting(estimator, "max_rules"), estimator.verbose > 0) as report:
        if found is None:
            options = _split_options(estimator, rows.X.shape[1])
            options["class_unit"] = rows.class_unit.tolist()
            options["monotone"] = [] if constraint is None else constraint.tolist()
            grown = _core.fit_tree(*table, options, report)
        else:
            found_terms = (found.feature, found.trapezoid, found.is_complement)
            grown = _core.fit_linguistic(*table, *found_terms, _linguistic_options(estimator), report)
        n_growth_rows = grown.pop("n_growth_rows")
        tree = restore(_tree(estimator, grown, found, rows.n_levels), orders, weights)
        if constraint is not None:
            tree = replace(tree, consequent=monotone.constrain(tree, constraint))
        if report is not None:
            report(len(tree.leaves))
    return Grown(tree, partition, n_growth_rows)


def _tree(estimator: FERLClassifier, grown: dict[str, Any], found: Terms | None, n_levels: Ints) -> FuzzyTree:
    """The tree that the core has grown."""
    cuts, start, membership = grown.pop("cuts"), grown.pop("category_start"), grown.pop("category")
    profile = Profile(**{name: grown.pop(name) for name in ("mean", "variance", "exemplar", "exemplar_row")})
    return FuzzyTree(
        consequent=consequents(grown["class_weight"], grown["parent"], estimator.consequents, estimator.shrinkage),
        word=_words(grown, found),
        profile=profile,
        cuts=Cuts(cuts[:, :2].copy(), cuts[:, 2].copy()) if found is None else None,
        categories=Categories(n_levels, start, membership) if n_levels.any() else None,
        **grown,
    )


def _check_criterion(estimator: FERLClassifier) -> None:
    criterion, allowed = setting(estimator, "criterion"), CRITERIA[estimator.variant]
    if criterion not in allowed:
        raise ValueError(
            f"criterion is {criterion!r}; a {estimator.variant} tree can be grown by {' or '.join(map(repr, allowed))}."
        )


def _choose_partition(estimator: FERLClassifier, rows: TrainingRows) -> Words | None:
    """The words of a linguistic tree: from the table, or those given."""
    wish = estimator.partition
    if estimator.variant != "compact":
        if not isinstance(wish, str) or wish != "quantile":
            raise ValueError(
                f'partition is given, but a {estimator.variant} tree learns its own splits. Use variant="compact" for '
                "rules in words, or leave partition out."
            )
        return None
    if not isinstance(wish, str):
        return _arranged(wish, rows)
    return [None if j in rows.levels else variable for j, variable in enumerate(_built_partition(estimator, rows))]


def _arranged(wish: Sequence[LinguisticVariable | None], rows: TrainingRows) -> Words:
    """The words given; the words of a categorical feature are its categories, whatever an expert says."""
    partition = arrange(wish, rows.names)
    named = {variable.name for variable in partition if variable is not None}
    for j in rows.levels:
        if rows.names[j] in named and rows.names.count(rows.names[j]) == 1:
            raise ValueError(
                f"partition has words for {rows.names[j]!r}, which holds categories; these are its words already. "
                "Leave them out of the partition."
            )
    return [None if j in rows.levels else variable for j, variable in enumerate(partition)]


def _built_partition(estimator: FERLClassifier, rows: TrainingRows) -> Words:
    wish = estimator.partition
    if wish not in BUILDERS:
        raise ValueError(
            f"partition is {wish!r}; it must be {', '.join(map(repr, BUILDERS))}, or the words themselves. To read "
            "them from a file, pass ferl.partition.load_partition(path)."
        )
    if wish == "mdlp":
        return mdlp_partition(rows.X, rows.codes, rows.names, estimator.n_sets, rows.weight)
    build = quantile_partition if wish == "quantile" else width_partition
    return build(rows.X, rows.names, estimator.n_sets, rows.weight)


def _words(grown: dict[str, Any], found: Terms | None) -> tuple[str, ...]:
    if found is None:
        return ()
    keys = zip(found.feature.tolist(), map(tuple, found.trapezoid.tolist()), strict=True)
    word = dict(zip(keys, found.word, strict=True))
    nodes = zip(grown["feature"].tolist(), map(tuple, grown["trapezoid"].tolist()), strict=True)
    return tuple("" if feature < 0 else word[feature, ends] for feature, ends in nodes)


def _common_options(estimator: FERLClassifier) -> dict[str, Any]:
    return {
        "max_rules": int(min(setting(estimator, "max_rules"), UNBOUNDED)),
        "max_depth": int(min(setting(estimator, "max_depth"), UNBOUNDED)),
        "min_leaf_weight": float(estimator.min_leaf_weight),
        "min_gain": float(setting(estimator, "min_gain")),
        "patience": int(min(estimator.patience, UNBOUNDED)),
        "min_coverage": float(estimator.min_coverage),
        "n_exemplars": int(min(setting(estimator, "n_exemplars"), UNBOUNDED)),
        "n_threads": n_threads(estimator.n_jobs),
    }


def _split_options(estimator: FERLClassifier, n_features: int) -> dict[str, Any]:
    return {
        **_common_options(estimator),
        "criterion": setting(estimator, "criterion"),
        "n_resamples": int(estimator.n_resamples),
        "band": estimator.band,
        "band_scale": float(estimator.band_scale),
        "two_mode": bool(estimator.two_mode),
        "n_banded_features": min(estimator.n_banded_features or n_features, n_features),
    }


def _linguistic_options(estimator: FERLClassifier) -> dict[str, Any]:
    return {
        **_common_options(estimator),
        "min_rule_worth": float(estimator.min_rule_worth),
        "soft_share": 1.0 if setting(estimator, "criterion") == "consistent" else 0.0,
    }
