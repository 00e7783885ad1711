"""Training rows, wherever they are: in memory, in batches of a stream, or in the parts of a cluster.

A tree is grown in three steps: a sample of the rows, the conditions that growth finds on it, and sums over all rows.
The first and the last are folds over blocks of rows, whose results can be merged and do not depend on how the rows
were cut. So one algorithm serves all; where rows are differs in :meth:`Rows.fold` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl import _core
from ferl._learn.categories import category_weights, recode
from ferl._models.model import category_names, feature_names, with_derived_names
from ferl._tables import Derived, Missing, Schema, with_derived
from ferl._tables.labels import ROUNDING
from ferl._util.arrays import Floats, Ints
from ferl._util.threads import for_each, threads_for

Orders = dict[int, NDArray[np.intp]]
CategoryNames = dict[int, Sequence[Any]]


class Batch(NamedTuple):
    """Some rows, their labels, how often each counts, and the group that each belongs to."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None = None
    groups: Any = None


@dataclass(frozen=True)
class Block:
    """Some rows.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Values; NaN where one is missing. A category is its code.
    codes : ndarray of shape (n_samples,), int32
        Index of each row's label among the classes.
    weight : ndarray of shape (n_samples,)
        How often each row counts.
    first_index : int
        Index of the first row among all rows.
    is_recoded : bool
        Whether categories are indices in an order already.
    group : ndarray of shape (n_samples,) or None
        Number of each row's group; None: there are no groups.
    """

    X: Floats
    codes: Ints
    weight: Floats
    first_index: int = 0
    is_recoded: bool = False
    group: Floats | None = None

    def recoded(self, orders: Orders, n_threads: int) -> Block:
        """The rows with categories as indices in an order; ``X`` itself is changed, nobody else has it."""
        if not self.is_recoded and orders:
            recode(self.X, orders, n_threads)
        return replace(self, is_recoded=True)


@dataclass(frozen=True)
class Facts:
    """What is known of all rows before they are looked at one by one.

    Attributes
    ----------
    schema : Schema
        The columns of the table.
    missing_features : tuple of int
        Features that get an indicator of missing values, behind the columns of the table.
    classes : ndarray of shape (n_classes,)
        The labels.
    class_unit : ndarray of shape (n_classes,)
        What one row of each class weighs: the weight of the class, which may be 0.
    category_weight : dict
        Of each categorical column, by its index: the weight of each class in each of its categories, shape
        (n_categories, n_classes).
    class_weight : ndarray of shape (n_classes,)
        The weight of each class.
    scale : float
        What these weights are multiplied with in the end; see :func:`weight_scale`.
    columns : tuple of Derived
        Derived columns behind the indicators.
    has_groups : bool
        Whether rows belong to groups.
    """

    schema: Schema
    missing_features: tuple[int, ...]
    classes: NDArray[Any]
    class_unit: Floats
    category_weight: dict[int, Floats] = field(default_factory=dict)
    class_weight: Floats = field(default_factory=lambda: np.zeros(0))
    scale: float = 1.0
    columns: tuple[Derived, ...] = ()
    has_groups: bool = False

    @cached_property
    def derived(self) -> tuple[Derived, ...]:
        """All columns behind the features."""
        return (*map(Missing, self.missing_features), *self.columns)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, derived ones among them."""
        return with_derived_names(feature_names(self.schema), self.derived, self.schema.target.labels(self.classes))

    @cached_property
    def categories(self) -> CategoryNames:
        """The categories of each categorical column, by its index, in the order of their codes."""
        return category_names(self.schema, self.derived)

    @property
    def n_categories(self) -> Ints:
        """Number of categories of each column; 0: it holds numbers."""
        return np.array([len(self.categories.get(j, ())) for j in range(len(self.names))], dtype=np.int32)


State = TypeVar("State", bound=Any)


class Fold(Protocol[State]):
    """Something that takes in rows block by block, and can be sent to where they are."""

    @property
    def orders(self) -> Orders:
        """The categories of categorical columns, in an order that does not depend on their names."""

    def start(self) -> State:
        """The state before the first block."""

    def add(self, state: State, block: Block, n_threads: int, report: Any = None) -> None:
        """Take in a block."""


class Rows(Protocol):
    """Training rows."""

    @property
    def facts(self) -> Facts:
        """What is known of them."""

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in."""


@dataclass(frozen=True)
class RowsInMemory:
    """A checked table.

    Attributes
    ----------
    facts : Facts
        What is known of it.
    block : Block
        Its rows, weights before they are scaled.
    """

    facts: Facts
    block: Block

    @classmethod
    def of_table(cls, block: Block, facts: Facts, n_threads: int) -> RowsInMemory:
        """A table with its labels and weights; the weights of its categories are added to the facts."""
        counted = dict.fromkeys(facts.categories, np.zeros(0))  # in their order, whichever thread is done first
        is_whole = are_whole(block.weight)

        def count(j: int) -> None:
            shape = len(facts.categories[j]), facts.n_classes
            counted[j] = category_weights(block.X[:, j], block.codes, block.weight, *shape, is_whole=is_whole)

        for_each(count, counted, threads_for(len(block.X) * len(counted), n_threads))
        nothing = np.zeros(len(block.X))
        total = category_weights(nothing, block.codes, block.weight, 1, facts.n_classes, is_whole=is_whole)[0]
        scale = weight_scale(exact_sum(block.weight), int(np.count_nonzero(block.weight)))
        return cls(replace(facts, category_weight=counted, class_weight=total, scale=scale), block)

    @cached_property
    def _scaled(self) -> Block:
        scale = self.facts.scale
        return self.block if scale == 1.0 else replace(self.block, weight=self.block.weight * scale)

    def fold(self, step: Fold[State], n_threads: int, report: Any = None) -> State:
        """All rows taken in at once."""
        state = step.start()
        step.add(state, self._recoded(step.orders, n_threads), n_threads, report)
        return state

    def _recoded(self, orders: Orders, n_threads: int) -> Block:
        # Once: a second look at the rows finds them recoded.
        self.__dict__["_scaled"] = self._scaled.recoded(orders, n_threads)
        return self._scaled


def exact_sum(weight: Floats) -> float:
    """A sum that does not depend on the order of its terms."""
    return float(weight.sum()) if are_whole(weight) else math.fsum(weight.tolist())


def are_whole(weight: Floats) -> bool:
    """Whether weights are whole numbers, as nearly all are, whose sums have no more than 53 bits: none is rounded."""
    return bool(weight.sum() < 2**53 and (weight == np.floor(weight)).all())


def weight_scale(total: float, n_rows: int) -> float:
    """Factor on the weights: weights that average less than one per row are scaled to average one.

    Leaf weights and shrinkage are counted in rows, and weights may sum to one, say. Class weights alone never average
    less than one: see :func:`ferl._tables.class_factors`.
    """
    return n_rows / total if total < (1 - ROUNDING) * n_rows else 1.0


ANY_KEY = 2**64 - 1


class KeyLimits(NamedTuple):
    """The largest keys with which a row may enter a sample, and with which it may enter as a row of its class."""

    of_all: int
    of_class: NDArray[np.uint64]


def _likely_limit(n_rows: int, n_wanted: int) -> int:
    """A key below which ``n_wanted`` of ``n_rows`` keys lie, almost surely."""
    most = n_wanted + 8 * math.sqrt(n_wanted)
    return int(most / n_rows * 2**64) if most < n_rows else ANY_KEY


@dataclass(frozen=True)
class Sampling:
    """Takes the rows that a tree is grown on.

    Attributes
    ----------
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column.
    n_classes : int
        Number of classes.
    seed : int
        Seed of the rows' keys.
    n_rows : int
        Distinct rows to keep.
    n_class_rows : int
        Least number of rows to keep of each class, so that rare classes are not lost.
    columns : ndarray of int32
        Columns that keys are made of.
    orders : dict
        The categories of categorical columns, in an order that does not depend on their names.
    limits : KeyLimits, optional
        Largest keys of rows in the sample.
    """

    n_categories: Ints
    n_classes: int
    seed: int
    n_rows: int
    n_class_rows: int
    columns: Ints
    orders: Orders
    limits: KeyLimits | None = None

    def start(self) -> _core.Sampler:
        """No row yet."""
        sampler = _core.Sampler(
            self.n_categories, self.n_classes, self.seed, self.n_rows, self.n_class_rows, self.columns
        )
        if self.limits is not None:
            sampler.limit(self.limits.of_all, self.limits.of_class)
        return sampler

    def limited(self, n_of_class: NDArray[np.intp]) -> Sampling | None:
        """The same, of few rows more than are wanted; ``n_of_class``: how many rows there are. None: most are wanted.

        The sample has the rows with the smallest keys, and keys are practically uniform. So a bound on the keys is
        known before any row is read, and no part of a distributed table has to send a sample of full size.
        """
        of_all = _likely_limit(int(n_of_class.sum()), self.n_rows)
        if of_all == ANY_KEY:
            return None
        of_class = [_likely_limit(int(n), self.n_class_rows) for n in n_of_class]
        return replace(self, limits=KeyLimits(of_all, np.array(of_class, dtype=np.uint64)))

    def has_enough(self, state: dict[str, Any]) -> bool:
        """Whether limits have let in all rows that are wanted; not so where many rows are equal."""
        limits = self.limits
        if limits is None:
            return True
        key, first = np.unique(state["key"], return_index=True)
        of_all, y = np.uint64(limits.of_all), state["y"][first]
        n_of_class = np.bincount(y[key <= np.maximum(of_all, limits.of_class[y])], minlength=self.n_classes)
        is_enough = (n_of_class >= self.n_class_rows) | (limits.of_class == ANY_KEY)
        return int((key <= of_all).sum()) >= self.n_rows and bool(is_enough.all())

    def add(self, state: _core.Sampler, block: Block, n_threads: int, report: Any = None) -> None:
        """Take in a block."""
        block = block.recoded(self.orders, n_threads)
        X = block.X if block.group is None else np.column_stack([block.X, block.group])
        state.add(X, block.codes, block.weight, block.first_index, n_threads)


@dataclass(frozen=True)
class Summing:
    """Takes the sums that a finished tree keeps of all rows.

    Attributes
    ----------
    conditions : dict
        The tree: parent, feature, trapezoid, share, category_start, category.
    n_categories, n_classes, seed, columns, orders
        As in :class:`Sampling`.
    low, high : ndarray of shape (n_columns,)
        Range of each column over all rows.
    most_weight : float
        The largest of a row.
    n_exemplars : int
        Rows that each node keeps: those with the smallest keys.
    key_bound : ndarray of shape (n_nodes,), uint64
        The largest keys that they may have, as far as is known before.
    derived : tuple of Derived
        Columns that are added to the rows, of categories as indices in the orders.
    """

    conditions: dict[str, Any]
    n_categories: Ints
    n_classes: int
    low: Floats
    high: Floats
    most_weight: float
    n_exemplars: int
    key_bound: NDArray[np.uint64]
    seed: int
    columns: Ints
    orders: Orders
    derived: tuple[Derived, ...] = ()

    def start(self) -> Any:
        """Sums of nothing."""
        return _core.Moments(
            **self.conditions,
            n_categories=self.n_categories,
            n_classes=self.n_classes,
            low=self.low,
            high=self.high,
            most_weight=self.most_weight,
            n_exemplars=self.n_exemplars,
            key_bound=self.key_bound,
            seed=self.seed,
            columns=self.columns,
        )

    def add(self, state: Any, block: Block, n_threads: int, report: Any = None) -> None:
        """Take in a block."""
        block = block.recoded(self.orders, n_threads)
        state.add(with_derived(block.X, self.derived), block.codes, block.weight, n_threads, report)
