"""Growth: from training rows and settings to conditions and their sums, the steps that rules and trees share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ferl import _core
from ferl._learn.categories import category_conditions, category_order, restore
from ferl._learn.consequents import consequents, signs
from ferl._learn.derive import (
    NewColumn,
    calendar_copies,
    category_columns,
    fold_of_groups,
    fold_of_rows,
    groups_of_days,
    part_columns,
    replaced_features,
)
from ferl._learn.rows import Facts, Orders, Rows, Sampling, Summing
from ferl._learn.rows_behind import RuleSumming
from ferl._learn.word_builders import mdlp_partition, quantile_partition, triangular_partition, width_partition
from ferl._models.model import Words
from ferl._models.settings import Settings
from ferl._models.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._models.words import LinguisticVariable, WordConditions, arrange, word_conditions
from ferl._tables import refuse_extreme_scales
from ferl._tables.derived import DateInRange
from ferl._util.arrays import Floats, Ints
from ferl._util.threads import n_threads

BUILDERS = {"quantile": quantile_partition, "triangles": triangular_partition, "width": width_partition}
UNBOUNDED = np.iinfo(np.int32).max  # no tree gets there
ALL_ROWS = 2**48
RARE_SHARE = 10  # one part in this many of a sample is divided equally among the classes
COUNTS_NOTHING = 1e250  # the variance of a feature that is replaced: distances in it vanish
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
        The largest weight, and the ranges of the columns that rows had when they were drawn.
    drawn : _core.Sample
        The rows that were drawn.
    facts : Facts
        What is known of all rows, with the derived columns that conditions are grown on.
    sample : _core.Sample
        The rows that were drawn, with these columns.
    replaced : tuple of int
        Features that are read through their derived columns alone.
    last_stage_ignores_groups : bool
        Whether groups are days. Curves and maps of the date itself are validated on single rows then.
    """

    settings: Settings
    rows: Rows
    seed: int
    constraint: Ints | None
    orders: Orders
    sampling: Sampling
    sampler: _core.Sampler
    drawn: _core.Sample
    facts: Facts
    sample: _core.Sample
    replaced: tuple[int, ...] = ()
    last_stage_ignores_groups: bool = False

    @classmethod
    def prepared(cls, settings: Settings, rows: Rows) -> Ground:
        """Draw the sample."""
        facts, threads = rows.facts, n_threads(settings.n_jobs)
        n_features = len(facts.schema.categories)
        constraint = signs(settings.monotonic_cst, facts.names[:n_features], facts.n_categories, facts.n_classes)
        seed = _seed_of(settings.random_state)
        orders = {j: category_order(by_class) for j, by_class in facts.category_weight.items()}
        sampling, sampler = _sampled(settings, rows, seed, orders)
        refuse_extreme_scales(facts.schema, sampler.low[:n_features], sampler.high[:n_features])
        sample = sampler.finish(threads)
        if facts.has_groups:
            sample = _grouped(sample, facts.n_categories)
        return cls(settings, rows, seed, constraint, orders, sampling, sampler, sample, facts, sample)

    def deriving(self) -> Ground:
        """The ground of rules: evidence of categories of many values and parts of dates replace these features."""
        replaced = replaced_features(self.facts)
        if not replaced:
            return self
        x, y, weight = self.drawn.x, self.drawn.y, self.drawn.weight
        dates = [j for j in replaced if self.facts.schema.kinds[j].is_date]
        if self.constraint is not None and self.constraint[dates].any():
            name = self.facts.names[next(j for j in dates if self.constraint[j])]
            raise ValueError(
                f"monotonic_cst constrains {name!r}, which holds dates; rules read their weekdays, hours and months, "
                "which have no direction. Leave it out, or give the days since some date as a number."
            )
        evidence = category_columns(self.facts, replaced, self.orders, x, y, weight, self.folds)
        return replace(self, replaced=replaced).with_columns([*evidence, *part_columns(dates, self.ranges, x)])

    def without_calendar_copies(self, dates: Sequence[int]) -> Ground:
        """The ground without columns that repeat the year, month or day of some dates."""
        copies = calendar_copies(dates, self.drawn.x)
        if self.constraint is not None:
            copies = [j for j in copies if not self.constraint[j]]
        return replace(self, replaced=tuple(sorted({*self.replaced, *copies}))).with_columns([])

    def validating_days(self, date: int) -> Ground:
        """The ground whose inner validation holds out whole days of a date: new rows will come on new days.

        Rows of one day have more in common than the date, such as the weather. If they validated each other, the model
        would learn what belongs to single days. Groups passed by the user take precedence.
        """
        if self.facts.has_groups:
            return self
        group = groups_of_days(self.drawn.x[:, date], self.drawn.weight)
        return replace(self, sample=self.sample.with_groups(group), last_stage_ignores_groups=True)

    @cached_property
    def folds(self) -> NDArray[np.intp]:
        """The fold of each row, for evidence from the rows of other folds."""
        return fold_of_rows(self.drawn.y) if not self.facts.has_groups else fold_of_groups(self.drawn)

    @property
    def dates(self) -> list[int]:
        """The features of dates that are replaced."""
        return [j for j in self.replaced if self.facts.schema.kinds[j].is_date]

    @property
    def curves_only(self) -> list[int]:
        """1 for each column that curves and maps read and rules do not; empty: none."""
        dates = [int(isinstance(item, DateInRange)) for item in self.facts.columns]
        return [0] * (len(self.facts.n_categories) - len(dates)) + dates if any(dates) else []

    def with_columns(self, new: Sequence[NewColumn]) -> Ground:
        """The ground with more derived columns, and without the values of the features that are replaced."""
        facts = replace(self.facts, columns=(*self.facts.columns, *(column.derived for column in new)))
        x = np.vstack([self.sample.x.T, *(column.numbers for column in new)]).T  # columns one after the other, as there
        x[:, list(self.replaced)] = np.nan
        n_categories = facts.n_categories
        n_categories[list(self.replaced)] = 0
        constraint = self.constraint
        if constraint is not None:
            constraint = np.append(constraint, np.zeros(len(new), dtype=np.int32))
        return replace(self, facts=facts, sample=self.sample.with_columns(x, n_categories), constraint=constraint)

    @cached_property
    def ranges(self) -> Floats:
        """Range of each column over all rows, shape (n_columns, 2)."""
        derived = [column.range for column in self.facts.columns]
        n_columns = len(self.rows.facts.names)  # without the column of groups
        return np.vstack([np.column_stack([self.sampler.low, self.sampler.high])[:n_columns], *derived])

    @cached_property
    def words(self) -> Words | None:
        """The words of each column; None: conditions are learned."""
        if self.settings.words is None:
            return None
        found = _words_of(self.settings, self.sample, self.facts)
        return [None if j in self.replaced else item for j, item in enumerate(found)]

    @cached_property
    def word_conditions(self) -> WordConditions | None:
        """All conditions that the words and the categories allow."""
        if self.words is None:
            return None
        read = {j: order for j, order in self.orders.items() if j not in self.replaced}
        return category_conditions(word_conditions(self.words), self.facts.categories, read, self.facts.category_weight)

    def root(self) -> FuzzyTree:
        """A tree without conditions: class weights, means and variances over all rows."""
        alone = {
            "parent": np.full(1, -1, dtype=np.int32),
            "feature": np.full(1, -1, dtype=np.int32),
            "trapezoid": np.array([[-np.inf, -np.inf, np.inf, np.inf]]),
            "share": np.ones(1),
            "category_start": np.zeros(2, dtype=np.int32),
            "category": np.zeros(0),
            "gain": np.zeros(1),
            "key_bound": np.zeros(1, dtype=np.uint64),
        }
        return self.summed(alone, 0, "shrinkage", 5.0, None, None)[0]

    def summed(
        self,
        grown: dict[str, Any],
        n_kept: int,
        kind: str,
        shrinkage: float,
        cuts: Cuts | None,
        report: Any,
        rule_node: Ints | None = None,
    ) -> tuple[FuzzyTree, Floats]:
        """The tree of conditions that the core has grown, and sums over all rows.

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
        rule_node : ndarray of shape (n_rules,), int32, default=None
            Where rules end whose firings are multiplied with each other.

        Returns
        -------
        FuzzyTree, ndarray of shape (1 + n_rules, 1 + n_rules)
            The second: sums of the products of firings, a one first; nothing without ``rule_node``.
        """
        facts, n_categories = self.facts, self.facts.n_categories
        nowhere = np.zeros(0, dtype=np.intp)
        summing = Summing(
            {name: grown[name] for name in CONDITIONS},
            n_categories,
            facts.n_classes,
            self.ranges[:, 0].copy(),
            self.ranges[:, 1].copy(),
            self.sampler.most_weight,
            n_kept,
            grown.pop("key_bound"),
            self.seed,
            self.sampling.columns,
            self.orders,
            tuple(column.recoded(self.orders.get(column.feature, nowhere)) for column in facts.columns),
        )
        if rule_node is not None:
            total, unit = float(facts.class_weight.sum() * facts.scale), facts.class_unit * facts.scale
            summing = RuleSumming(**vars(summing), node=rule_node, total_weight=total, class_unit=unit)
        found = grown | self.rows.fold(summing, n_threads(self.settings.n_jobs), report).finish()
        products = found.pop("products", np.zeros((0, 0)))
        start, membership = found.pop("category_start"), found.pop("category")
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
        tree = restore(tree, self.orders, facts.category_weight)
        if not self.replaced:
            return tree, products
        variance = tree.profile.variance.copy()
        variance[:, list(self.replaced)] = COUNTS_NOTHING
        return replace(tree, profile=replace(tree.profile, variance=variance)), products


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
    # Equal rows of two groups are two rows: the group is one more column of the rows that are drawn.
    n_categories = np.append(facts.n_categories, np.zeros(int(facts.has_groups), dtype=np.int32))
    columns = np.arange(len(n_categories), dtype=np.int32)
    while True:
        sampling = Sampling(n_categories, facts.n_classes, seed, n_rows, n_class_rows, columns, orders)
        sampler = rows.fold(sampling, threads)
        # A column without any value must not change which rows are drawn, and only now is it known to have none.
        valued = columns[(sampler.low <= sampler.high)[columns]]
        if len(valued) == len(columns):
            return replace(sampling, columns=columns[columns < len(facts.names)]), sampler
        columns = valued


def _grouped(drawn: _core.Sample, n_categories: Ints) -> _core.Sample:
    """The rows that were drawn, their last column as their groups."""
    x = drawn.x
    if len(np.unique(x[:, -1])) < 2:
        raise ValueError(
            "All rows are of one group, so that no group can be left out for inner validation. Leave groups out, or "
            "give smaller groups."
        )
    return drawn.with_columns(x[:, :-1], n_categories).with_groups(np.ascontiguousarray(x[:, -1]))


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
    """The words given; the words of a categorical feature are always its categories."""
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
