"""Growth: from a table and an estimator's parameters to a fuzzy tree, by learned splits or by words fixed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ferl import _core
from ferl._learn.categories import category_order, category_terms, restore
from ferl._learn.consequents import consequents, constrain, signs
from ferl._learn.rows import Facts, Orders, Rows, Sampling, Summing
from ferl._model.presets import setting
from ferl._model.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._tables import refuse_extreme_scales
from ferl._util.arrays import Ints
from ferl._util.progress import rules_bar
from ferl._util.threads import n_threads
from ferl.partition import (
    LinguisticVariable,
    Terms,
    arrange,
    mdlp_partition,
    quantile_partition,
    terms,
    width_partition,
)

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Words = list[LinguisticVariable | None]

CRITERIA = {"compact": ("consistent", "cci"), "medium": ("gini", "entropy", "cci"), "deep": ("gini", "entropy", "cci")}
BUILDERS = ("quantile", "width", "mdlp")
UNBOUNDED = np.iinfo(np.int32).max  # no tree gets there
ALL_ROWS = 2**48
RARE_SHARE = 10  # of a sample, one part in so many is shared out equally among the classes
_CONDITIONS = ("parent", "feature", "trapezoid", "share", "category_start", "category")


@dataclass(frozen=True)
class Grown:
    """A tree before pruning, the words it speaks in (None: learned splits), and on how many rows it was grown."""

    tree: FuzzyTree
    partition: Words | None
    n_growth_rows: int


def grow(estimator: FERLClassifier, rows: Rows) -> Grown:
    """Grow a tree with an estimator's parameters.

    Parameters
    ----------
    estimator : FERLClassifier
        Its parameters and ``columns_`` are read; nothing is written.
    rows : Rows
        The training rows.

    Returns
    -------
    Grown
    """
    _check_criterion(estimator)
    facts, threads = rows.facts, n_threads(estimator.n_jobs)
    constraint = signs(estimator, facts.names, facts.n_categories, facts.n_classes)
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    orders = {j: category_order(own) for j, own in facts.category_weight.items()}
    with rules_bar(setting(estimator, "max_rules"), estimator.verbose > 0) as report:
        sampling, sampler = _sampled(estimator, rows, seed, orders)
        n_features = len(estimator.columns_.categories)
        refuse_extreme_scales(estimator.columns_, sampler.low[:n_features], sampler.high[:n_features])
        sample = sampler.finish(threads)
        partition = _choose_partition(estimator, sample, facts)
        found = None
        if partition is None:
            options = _split_options(estimator, len(facts.names))
            # A class without weight has no rows; any unit will do.
            options["class_unit"] = np.where(facts.class_unit > 0, facts.class_unit, 1.0).tolist()
            options["monotone"] = [] if constraint is None else constraint.tolist()
            grown = _core.grow_tree(sample, options, report)
        else:
            found = category_terms(terms(partition), facts.categories, orders, facts.category_weight)
            found_terms = (found.feature, found.trapezoid, found.is_complement)
            grown = _core.grow_words(sample, *found_terms, _linguistic_options(estimator), report)
        summing = Summing(
            {name: grown[name] for name in _CONDITIONS},
            sampling.n_categories,
            facts.n_classes,
            sampler.low,
            sampler.high,
            sampler.most_weight,
            n_exemplars(estimator),
            grown.pop("key_bound"),
            seed,
            sampling.columns,
            orders,
        )
        learned = rows.fold(summing, threads, report).finish()
        tree = restore(_tree(estimator, grown | learned, found, facts.n_categories), orders, facts.category_weight)
        if constraint is not None:
            tree = replace(tree, consequent=constrain(tree, constraint))
        if report is not None:
            report(len(tree.leaves))
    return Grown(tree, partition, sample.n_rows)


def _sampled(estimator: FERLClassifier, rows: Rows, seed: int, orders: Orders) -> tuple[Sampling, _core.Sampler]:
    facts, threads = rows.facts, n_threads(estimator.n_jobs)
    n_rows = ALL_ROWS if estimator.growth_rows is None else int(min(estimator.growth_rows, ALL_ROWS))
    n_class_rows = 0 if n_rows == ALL_ROWS else n_rows // (RARE_SHARE * facts.n_classes)
    columns = np.arange(len(facts.names), dtype=np.int32)
    while True:
        sampling = Sampling(facts.n_categories, facts.n_classes, seed, n_rows, n_class_rows, columns, orders)
        sampler = rows.fold(sampling, threads)
        # Schema without any value must not change what is drawn; that there are none is seen only now.
        valued = columns[(sampler.low <= sampler.high)[columns]]
        if len(valued) == len(columns):
            return sampling, sampler
        columns = valued


def _tree(estimator: FERLClassifier, grown: dict[str, Any], found: Terms | None, n_categories: Ints) -> FuzzyTree:
    """The tree that the core has grown."""
    cuts, start, membership = grown.pop("cuts"), grown.pop("category_start"), grown.pop("category")
    known = Profile.partly_known(grown.pop("known_weight"), grown["class_weight"].sum(axis=1))
    names = ("mean", "variance", "exemplar", "exemplar_row")
    profile = Profile(**{name: grown.pop(name) for name in names}, known_weight=known)
    return FuzzyTree(
        consequent=consequents(grown["class_weight"], grown["parent"], estimator.consequents, estimator.shrinkage),
        word=_words(grown, found),
        profile=profile,
        cuts=Cuts(cuts[:, :2].copy(), cuts[:, 2].copy()) if found is None else None,
        categories=Categories(n_categories, start, membership) if n_categories.any() else None,
        **grown,
    )


def _check_criterion(estimator: FERLClassifier) -> None:
    criterion, allowed = setting(estimator, "criterion"), CRITERIA[estimator.variant]
    if criterion not in allowed:
        raise ValueError(
            f"criterion is {criterion!r}; a {estimator.variant} tree can be grown by {' or '.join(map(repr, allowed))}."
        )


def _choose_partition(estimator: FERLClassifier, sample: _core.Sample, facts: Facts) -> Words | None:
    """The words of a linguistic tree: from the rows it is grown on, or those given."""
    wish = estimator.partition
    if estimator.variant != "compact":
        if not isinstance(wish, str) or wish != "quantile":
            raise ValueError(
                f'partition is given, but a {estimator.variant} tree learns its own splits. Use variant="compact" for '
                "rules in words, or leave partition out."
            )
        return None
    if not isinstance(wish, str):
        return _arranged(wish, facts)
    built = _built_partition(estimator, sample, facts.names)
    return [None if j in facts.categories else variable for j, variable in enumerate(built)]


def _arranged(wish: Sequence[LinguisticVariable | None], facts: Facts) -> Words:
    """The words given; the words of a categorical feature are its categories, whatever an expert says."""
    partition = arrange(wish, facts.names)
    named = {variable.name for variable in partition if variable is not None}
    for j in facts.categories:
        if facts.names[j] in named and facts.names.count(facts.names[j]) == 1:
            raise ValueError(
                f"partition has words for {facts.names[j]!r}, which holds categories; these are its words already. "
                "Leave them out of the partition."
            )
    return [None if j in facts.categories else variable for j, variable in enumerate(partition)]


def _built_partition(estimator: FERLClassifier, sample: _core.Sample, names: list[str]) -> Words:
    wish = estimator.partition
    if wish not in BUILDERS:
        raise ValueError(
            f"partition is {wish!r}; it must be {', '.join(map(repr, BUILDERS))}, or the words themselves. To read "
            "them from a file, pass ferl.partition.load_partition(path)."
        )
    if wish == "mdlp":
        return mdlp_partition(sample.x, sample.y, names, estimator.n_sets, sample.weight)
    build = quantile_partition if wish == "quantile" else width_partition
    return build(sample.x, names, estimator.n_sets, sample.weight)


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
        "n_threads": n_threads(estimator.n_jobs),
    }


def n_exemplars(estimator: FERLClassifier) -> int:
    """Number of training rows that each node keeps."""
    return int(min(setting(estimator, "n_exemplars"), UNBOUNDED))


def _split_options(estimator: FERLClassifier, n_features: int) -> dict[str, Any]:
    return {
        **_common_options(estimator),
        "criterion": setting(estimator, "criterion"),
        "n_resamples": int(estimator.n_resamples),
        "band": estimator.band,
        "band_scale": float(estimator.band_scale),
        "two_mode": bool(estimator.two_mode),
        "n_exemplars": n_exemplars(estimator),
        "n_banded_features": min(estimator.n_banded_features or n_features, n_features),
    }


def _linguistic_options(estimator: FERLClassifier) -> dict[str, Any]:
    return {
        **_common_options(estimator),
        "min_rule_worth": float(estimator.min_rule_worth),
        "soft_share": 1.0 if setting(estimator, "criterion") == "consistent" else 0.0,
    }
