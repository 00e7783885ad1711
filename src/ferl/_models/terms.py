"""Terms: what a RuleModel adds up. Rules are chains of conditions; curves and maps have one value on every cell.

Rules describe a table in few conditions. Where many rows can pay for more detail, curves and maps add it: their
resolution costs a reader nothing, since both are read as pictures.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ferl import _core
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints


class Terms(FrozenArrays):
    """A block of terms of one kind: each adds to the scores what its weights of evidence are for a row.

    A new kind of term is a subclass. Beside the methods here it needs a form in files, ONNX and the page of the report,
    and statements for readers; these are found by the type of the block.
    """

    reads_columns: ClassVar[bool] = True  # what a term adds is shared among its columns; False: it stands apart

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Number of terms."""

    @abstractmethod
    def contributions(self, tree: FuzzyTree, rows: Floats, openness: Floats, n_threads: int = 1) -> Floats:
        """What each term adds to the scores, shape (n_samples, n_terms, n_classes).

        ``openness`` has how open the gates are to each row.
        """

    @abstractmethod
    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """The columns that each term reads, which share equally in what it adds."""

    @abstractmethod
    def mean(self, tree: FuzzyTree) -> Floats:
        """What each term adds on average over the training rows, gates open, shape (n_terms, n_classes)."""

    @abstractmethod
    def spread(self, tree: FuzzyTree, rows: Floats) -> Floats:
        """How much what each term adds varies over rows: standard deviations summed over classes, shape (n_terms,)."""


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Terms):
    """Chains of fuzzy conditions.

    Attributes
    ----------
    node : ndarray of shape (n_rules,), int32
        Where each rule ends in the tree of conditions: a chain of nodes from the root is a rule.
    weight : ndarray of shape (n_rules, n_classes)
        Weight of evidence of each rule for each class; rows sum to zero.
    ridge : ndarray of shape (n_rules,)
        What held each rule's weight back when it was learned: the ridge on the weight of its standardised firing.
    products : ndarray of shape (1 + n_rules, 1 + n_rules)
        Sums over the training rows of their weight times the products of two firings, a one first, gates open.
    """

    node: Ints
    weight: Floats
    ridge: Floats
    products: Floats

    @property
    def n_terms(self) -> int:
        """Number of rules."""
        return len(self.node)

    def keep(self, kept: Bools, node: Ints) -> Rules:
        """Some of the rules alone, which end at other nodes; ``kept``: shape (n_rules,)."""
        beside = np.append(True, kept)
        return Rules(node, self.weight[kept], self.ridge[kept], self.products[np.ix_(beside, beside)])

    def activation(self, tree: FuzzyTree, rows: Floats, n_threads: int = 1) -> Floats:
        """Firing of each rule, gates open, shape (n_samples, n_rules)."""
        return tree.fire(rows, gated=False, n_threads=n_threads)[:, self.node]

    def contributions(self, tree: FuzzyTree, rows: Floats, openness: Floats, n_threads: int = 1) -> Floats:
        """Firing times weight."""
        return np.asarray((self.activation(tree, rows, n_threads) * openness[:, None])[:, :, None] * self.weight)

    def mean_activation(self, tree: FuzzyTree) -> Floats:
        """Mean firing of each rule over the training rows, shape (n_rules,)."""
        return np.asarray(tree.weight[self.node] / tree.weight[0])

    def mean(self, tree: FuzzyTree) -> Floats:
        """Mean firing times weight."""
        return np.asarray(self.mean_activation(tree)[:, None] * self.weight)

    def spread(self, tree: FuzzyTree, rows: Floats) -> Floats:
        """Standard deviation of the firing, times the absolute weights."""
        deviation = np.ascontiguousarray(self.activation(tree, rows)).std(axis=0)
        return np.asarray(np.abs(self.weight).sum(axis=1) * deviation)

    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """The columns of the conditions of each rule."""
        return tree.columns_of(self.node)


@dataclass(frozen=True, eq=False, repr=False)
class CurvesAndMaps(Terms):
    """Functions of one column (curves) and of two (maps), constant on cells.

    Cell 0 of an axis is a missing value. Numbers: cell 1 + k holds the values above k cuts, up to the next one.
    Categories: cell 1 + code; the last cell is for categories that training did not have, and its value is zero. The
    last axis of a map runs fastest.

    Attributes
    ----------
    column : ndarray of shape (n_terms, 2), int32
        The columns that each term reads; -1 in second place: it is a curve. Curves come first.
    cut_start : ndarray of shape (2 * n_terms + 1,), int32
        Where the cuts of each axis begin in ``cut``, two axes for each term.
    cut : ndarray of shape (n_cuts,)
        Ascending along each axis; categories have none.
    cell_start : ndarray of shape (n_terms + 1,), int32
        Where the cells of each term begin.
    value : ndarray of shape (n_cells, n_classes)
        Weight of evidence for each class; rows sum to zero.
    support : ndarray of shape (n_cells,)
        Training weight in each cell, of the rows that the curves were learned on.
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column of the model; 0: it holds numbers.
    """

    column: Ints
    cut_start: Ints
    cut: Floats
    cell_start: Ints
    value: Floats
    support: Floats
    n_categories: Ints

    @property
    def n_terms(self) -> int:
        """Number of curves and maps."""
        return len(self.column)

    @cached_property
    def is_map(self) -> list[bool]:
        """Which terms are maps."""
        return [item >= 0 for item in self.column[:, 1].tolist()]

    @cached_property
    def core(self) -> _core.CurvesAndMaps:
        """The compiled form."""
        return _core.CurvesAndMaps(
            self.column, self.cut_start, self.cut, self.cell_start, self.value, self.n_categories
        )

    @property
    def n_corners(self) -> int:
        """Number of cuts of all curves, and of categories that a curve has a value for."""
        curves = [term for term, is_map in enumerate(self.is_map) if not is_map]
        return sum(self.shape(term)[0] - 2 for term in curves)

    @property
    def n_map_cells(self) -> int:
        """Number of cells of all maps, without the cells of missing values and unknown categories."""
        result = 0
        for term, is_map in enumerate(self.is_map):
            if is_map:
                numbers = [n - 1 - bool(self.n_categories[c]) for n, c in self._sizes(term)]
                result += numbers[0] * numbers[1]
        return result

    def _sizes(self, term: int) -> zip[tuple[int, int]]:
        return zip(self.shape(term), self.term_columns[term], strict=True)

    def cuts(self, term: int) -> tuple[Floats, ...]:
        """The cuts of each axis of a term."""
        first = 2 * term
        result = [self.cut[self.cut_start[k] : self.cut_start[k + 1]] for k in (first, first + 1)]
        return tuple(result[: len(self.term_columns[term])])

    def shape(self, term: int) -> tuple[int, ...]:
        """Number of cells along each axis of a term."""
        return tuple(
            int(self.n_categories[column] or len(cuts)) + 2
            for column, cuts in zip(self.term_columns[term], self.cuts(term), strict=True)
        )

    @cached_property
    def cuts_of_column(self) -> dict[int, Floats]:
        """The cuts of all terms in each column that a term reads, merged: values between two of them are one bin."""
        result: dict[int, list[Floats]] = {}
        for term, columns in enumerate(self.term_columns):
            for column, cuts in zip(columns, self.cuts(term), strict=True):
                result.setdefault(column, []).append(cuts)
        return {column: np.unique(np.concatenate(item)) for column, item in result.items()}

    def steps(self, term: int) -> list[Ints]:
        """For each axis of a term, what each bin of the column adds to the number of the cell.

        Bins are cells of an axis that has all cuts of ``cuts_of_column``.
        """
        result, stride = [], 1
        axes = zip(self.term_columns[term], self.cuts(term), self.shape(term), strict=True)
        for column, cuts, size in reversed([*axes]):
            cell = np.arange(size)
            if not self.n_categories[column]:
                cell = np.concatenate([[0, 1], 1 + np.searchsorted(cuts, self.cuts_of_column[column], "right")])
            result.append((stride * cell).astype(np.int32))
            stride *= size
        return result[::-1]

    def cells(self, term: int) -> slice:
        """Where the cells of a term are among all cells."""
        return slice(int(self.cell_start[term]), int(self.cell_start[term + 1]))

    def table(self, term: int) -> Floats:
        """Values of a term, shape (n_cells of the first axis[, of the second], n_classes)."""
        return self.value[self.cells(term)].reshape(*self.shape(term), -1)

    def keep(self, terms: Sequence[int]) -> CurvesAndMaps | None:
        """A subset of the terms; None if it is empty."""
        if not terms:
            return None
        cuts = [self.cut[self.cut_start[k] : self.cut_start[k + 1]] for t in terms for k in (2 * t, 2 * t + 1)]
        cells = np.concatenate([np.arange(self.cell_start[term], self.cell_start[term + 1]) for term in terms])
        return replace(
            self,
            column=self.column[list(terms)],
            cut_start=np.cumsum([0, *map(len, cuts)], dtype=np.int32),
            cut=np.concatenate(cuts),
            cell_start=np.cumsum([0, *np.diff(self.cell_start)[list(terms)]], dtype=np.int32),
            value=self.value[cells],
            support=self.support[cells],
        )

    def cells_of(self, rows: Floats) -> Ints:
        """The cell of each row in each term, among the cells of all terms, shape (n_samples, n_terms)."""
        out = np.empty((len(rows), self.n_terms), dtype=np.int32)
        self.core.cells(rows, out)
        return out

    def contributions(self, tree: FuzzyTree, rows: Floats, openness: Floats, n_threads: int = 1) -> Floats:
        """The values of the cells, times how open the gates are."""
        return np.asarray(openness[:, None, None] * self.value[self.cells_of(rows)])

    @cached_property
    def term_columns(self) -> tuple[tuple[int, ...], ...]:
        """The columns that each term reads."""
        return tuple(tuple(item for item in pair if item >= 0) for pair in self.column.tolist())

    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """The columns that each term reads."""
        return self.term_columns

    def mean(self, tree: FuzzyTree) -> Floats:
        """The mean of the values over the training rows."""
        result = np.empty((self.n_terms, self.value.shape[1]))
        for term in range(self.n_terms):
            weight = self.support[self.cells(term)]
            result[term] = np.average(self.value[self.cells(term)], axis=0, weights=weight if weight.any() else None)
        return result

    def spread(self, tree: FuzzyTree, rows: Floats) -> Floats:
        """Standard deviation of the values over some rows, summed over the classes."""
        # Term by term: the values of all terms at once are hundreds of megabytes where there are 200 classes.
        return np.array([self.value[own].std(axis=0).sum() for own in self.cells_of(rows).T])


def cells_from_cuts(values: Floats, cuts: Floats, n_categories: int) -> Ints:
    """The cell of each value along one axis; the same as the core finds, for tests and pictures."""
    if n_categories:
        result = 1 + np.minimum(np.nan_to_num(values), n_categories)
    else:
        result = 1 + np.searchsorted(cuts, values, side="left")
    return np.where(np.isnan(values), 0, result).astype(np.int32)
