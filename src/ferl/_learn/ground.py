"""Growth: from training rows and settings to conditions and their sums, the steps that rules and trees share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ferl import _core
from ferl._learn.categories import category_conditions, category_order, restore
from ferl._learn.consequents import consequents, signs
from ferl._learn.rows import Facts, Orders, Rows, Sampling, Summing
from ferl._learn.word_builders import mdlp_partition, quantile_partition, triangular_partition, width_partition
from ferl._models.model import Words
from ferl._models.settings import Settings
from ferl._models.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._models.words import LinguisticVariable, WordConditions, arrange, word_conditions
from ferl._tables import refuse_extreme_scales
from ferl._util.arrays import Ints
from ferl._util.threads import n_threads

BUILDERS = {"quantile": quantile_partition, "triangles": triangular_partition, "width": width_partition}
UNBOUNDED = np.iinfo(np.int32).max  # no tree gets there
ALL_ROWS = 2**48
RARE_SHARE = 10  # of a sample, one part in so many is shared out equally among the classes
CONDITIONS = ("parent", "feature", "trapezoid", "share", "category_start", "category")


@dataclass(frozen=True)
class Ground:
    """What conditions are grown on.

    Attributes
    ----------
    settings : Settings
        How to grow.
    rows : Rows
        All training rows.
    seed : int
        Of all draws of a fit.
    constraint : ndarray of shape (n_columns,) or None
        Sign of each column's monotone constraint.
    orders : dict
        Order of the categories of each categorical column.
    sampling : Sampling
        How rows were drawn.
    sampler : _core.Sampler
        The ranges of all rows.
    sample : _core.Sample
        The rows that were drawn.
    words : list of LinguisticVariable, or None
        The words of each column; None: conditions are learned.
    word_conditions : WordConditions or None
        All conditions that the words and the categories allow.
    """

    settings: Settings
    rows: Rows
    seed: int
    constraint: Ints | None
    orders: Orders
    sampling: Sampling
    sampler: _core.Sampler
    sample: _core.Sample
    words: Words | None
    word_conditions: WordConditions | None

    @classmethod
    def prepared(cls, settings: Settings, rows: Rows) -> Ground:
        """Draw the sample, and settle the words."""
        facts, threads = rows.facts, n_threads(settings.n_jobs)
        n_features = len(facts.schema.categories)
        constraint = signs(settings.monotonic_cst, facts.names[:n_features], facts.n_categories, facts.n_classes)
        seed = _seed_of(settings.random_state)
        orders = {j: category_order(own) for j, own in facts.category_weight.items()}
        sampling, sampler = _sampled(settings, rows, seed, orders)
        refuse_extreme_scales(facts.schema, sampler.low[:n_features], sampler.high[:n_features])
        sample = sampler.finish(threads)
        words = None if settings.words is None else _words_of(settings, sample, facts)
        conditions = None
        if words is not None:
            conditions = category_conditions(word_conditions(words), facts.categories, orders, facts.category_weight)
        return cls(settings, rows, seed, constraint, orders, sampling, sampler, sample, words, conditions)

    def summed(
        self, grown: dict[str, Any], n_kept: int, kind: str, shrinkage: float, cuts: Cuts | None, report: Any
    ) -> FuzzyTree:
        """The tree of conditions that the core has grown, with the sums over all rows.

        Parameters
        ----------
        grown : dict
            The conditions, their gain, and the bounds on the keys of the rows that nodes keep.
        n_kept : int
            Number of training rows that each node keeps.
        kind, shrinkage : str, float
            How class weights become distributions, as in :func:`consequents`.
        cuts : Cuts or None
            Of learned splits.
        report : callable or None
            Shows progress.
        """
        facts, sampler = self.rows.facts, self.sampler
        summing = Summing(
            {name: grown[name] for name in CONDITIONS},
            self.sampling.n_categories,
            facts.n_classes,
            sampler.low,
            sampler.high,
            sampler.most_weight,
            n_kept,
            grown.pop("key_bound"),
            self.seed,
            self.sampling.columns,
            self.orders,
        )
        found = grown | self.rows.fold(summing, n_threads(self.settings.n_jobs), report).finish()
        start, membership, n_categories = found.pop("category_start"), found.pop("category"), facts.n_categories
        known = Profile.partly_known(found.pop("known_weight"), found["class_weight"].sum(axis=1))
        names = ("mean", "variance", "exemplar", "exemplar_row")
        profile = Profile(**{name: found.pop(name) for name in names}, known_weight=known)
        tree = FuzzyTree(
            consequent=consequents(found["class_weight"], found["parent"], kind, shrinkage),
            word=_node_words(found, self.word_conditions),
            profile=profile,
            cuts=cuts,
            categories=Categories(n_categories, start, membership) if n_categories.any() else None,
            **found,
        )
        return restore(tree, self.orders, facts.category_weight)


def _seed_of(random_state: Any) -> int:
    """The seed of all draws of a fit."""
    return _seed_of_number(random_state) if type(random_state) is int else _drawn_seed(random_state)


def _drawn_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


# To seed a generator takes a tenth of the time of a small fit, and nearly all fits have the same few seeds.
_seed_of_number = lru_cache(maxsize=1024)(_drawn_seed)


def _sampled(settings: Settings, rows: Rows, seed: int, orders: Orders) -> tuple[Sampling, _core.Sampler]:
    facts, threads = rows.facts, n_threads(settings.n_jobs)
    n_rows = ALL_ROWS if settings.growth_rows is None else int(min(settings.growth_rows, ALL_ROWS))
    n_class_rows = 0 if n_rows == ALL_ROWS else n_rows // (RARE_SHARE * facts.n_classes)
    columns = np.arange(len(facts.names), dtype=np.int32)
    while True:
        sampling = Sampling(facts.n_categories, facts.n_classes, seed, n_rows, n_class_rows, columns, orders)
        sampler = rows.fold(sampling, threads)
        # A column without any value must not change which rows are drawn, and only now is it known to have none.
        valued = columns[(sampler.low <= sampler.high)[columns]]
        if len(valued) == len(columns):
            return sampling, sampler
        columns = valued


def _words_of(settings: Settings, sample: _core.Sample, facts: Facts) -> Words:
    """The words of each column, from the rows that rules are grown on or as given; categories are their own words."""
    wish = settings.words
    if isinstance(wish, str):
        build = BUILDERS.get(wish)
        shared = facts.names, settings.n_sets, sample.weight
        found = mdlp_partition(sample.x, sample.y, *shared) if build is None else build(sample.x, *shared)
    else:
        found = _arranged(wish or (), facts)
    return [None if j in facts.categories else variable for j, variable in enumerate(found)]


def _arranged(wish: Sequence[LinguisticVariable | None], facts: Facts) -> Words:
    """The words given; the words of a categorical feature are its categories, whatever an expert says."""
    partition = arrange(wish, facts.names)
    named = {variable.name for variable in partition if variable is not None}
    for j in facts.categories:
        if facts.names[j] in named and facts.names.count(facts.names[j]) == 1:
            raise ValueError(
                f"words has entries for {facts.names[j]!r}, which holds categories; these are its words already. "
                "Leave them out."
            )
    return partition


def _node_words(grown: dict[str, Any], found: WordConditions | None) -> tuple[str, ...]:
    if found is None:
        return ()
    keys = zip(found.feature.tolist(), map(tuple, found.trapezoid.tolist()), strict=True)
    word = dict(zip(keys, found.word, strict=True))
    nodes = zip(grown["feature"].tolist(), map(tuple, grown["trapezoid"].tolist()), strict=True)
    return tuple("" if feature < 0 else word[feature, ends] for feature, ends in nodes)
