"""RuleModel: a prior and terms whose weights of evidence add up to scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.evidence import Doubt, Evidence, ScoreEvidence
from ferl._models.model import Model
from ferl._models.neighbours import ENTROPY_SHARE, MOST_MEASURED, MOSTLY_ALL, Neighbours, novelty_quantiles
from ferl._models.slopes import score_slopes
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints

_FEW_ROWS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Curvature(FrozenArrays):
    """How sharply the loss of the training rows rises around the weights of evidence.

    The loss of weights that are off by d, of shape (1 + n_rules, n_classes), is higher by about half the sum of
    ``d * (rules @ d @ classes)``, ``classes`` being divided by its mean eigenvalue.

    Attributes
    ----------
    rules : ndarray of shape (1 + n_rules, 1 + n_rules)
        Sum over rows of products of firings, the prior's first, times the mean curvature of the row's loss by scores.
    classes : ndarray of shape (n_classes, n_classes)
        Sum over rows of the covariance of the classes; it and what is added to it have rows that sum to zero.
    """

    rules: Floats
    classes: Floats


class Terms(FrozenArrays):
    """A block of terms of one kind: each adds its weights of evidence, as far as it applies to a row.

    A new kind of term is a subclass. Beside the methods here it needs a form in files, ONNX and the page of the report,
    and statements for readers; these are found by the type of the block.
    """

    weight: Floats  # (n_terms, n_classes); rows sum to zero

    @abstractmethod
    def activation(self, tree: FuzzyTree, rows: Floats, n_threads: int = 1) -> Floats:
        """How far each term applies to each row, gates open, shape (n_samples, n_terms)."""

    @abstractmethod
    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """The columns that each term reads, which share equally in what it adds."""


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
    """

    node: Ints
    weight: Floats
    ridge: Floats

    def activation(self, tree: FuzzyTree, rows: Floats, n_threads: int = 1) -> Floats:
        """Firing of each rule, gates open, shape (n_samples, n_rules)."""
        return tree.fire(rows, gated=False, n_threads=n_threads)[:, self.node]

    def columns(self, tree: FuzzyTree) -> tuple[tuple[int, ...], ...]:
        """The columns of the conditions of each rule."""
        return tuple(tuple(int(tree.feature[step]) for step in tree.path(node)) for node in self.node.tolist())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RuleModel(Model):
    """A prior and terms that add up.

    Attributes
    ----------
    rules : Rules
        The rules.
    prior : ndarray of shape (n_classes,)
        Score of each class before any rule applies.
    ranges : ndarray of shape (n_columns, 2)
        Range of each column over all training rows.
    curvature : Curvature, optional
        How well the weights are known, for later blocks of rows; models that began with ``partial_fit`` have it.
    novelty_scale : ndarray of shape (101,), optional
        Quantiles of the novelty of the training rows at whole percents; None where the rows that the model keeps
        determine them.
    """

    rules: Rules
    prior: Floats
    ranges: Floats
    curvature: Curvature | None = None
    novelty_scale: Floats | None = None

    kind: ClassVar[str] = "rules"
    has_long_ramps: ClassVar[bool] = True
    _apart_from_names: ClassVar[tuple[str, ...]] = ("core", "with_gates_open", "scores")

    @property
    def terms(self) -> tuple[Terms, ...]:
        """All blocks of terms, in the order of the contributions."""
        return (self.rules,)

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rules.node)

    @cached_property
    def rule_numbers(self) -> dict[int, int]:
        """The order of ``evidence_weights_`` and of the contributions."""
        return {node: number for number, node in enumerate(self.rules.node.tolist(), 1)}

    @cached_property
    def is_source(self) -> Bools:
        """Which nodes end rules, shape (n_nodes,)."""
        return np.isin(np.arange(self.tree.n_nodes), self.rules.node)

    # -----------------------------------------------------------------------------------------------------------------
    # Scores and evidence
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def scores(self) -> _core.Scores:
        """The rules and their weights, compiled."""
        columns = self.gated_columns
        return _core.Scores(
            self.core,
            self.rules.node,
            self.rules.weight,
            self.prior,
            columns,
            self.ranges[columns],
            self.tree.n_categories(len(self.ranges))[columns],
            self.reading.gate_margin,
        )

    def decision_scores(self, rows: Floats, n_threads: int = 1) -> Floats:
        """The summed weights of evidence, shape (n_samples, n_classes)."""
        out = np.empty((len(rows), len(self.classes)))
        self.scores.scores(rows, n_threads, out)
        return out

    def evidence(self, rows: Floats, n_threads: int = 1) -> ScoreEvidence:
        """The evidence of the summed weights."""
        found = ScoreEvidence.empty(len(rows), self.classes)
        self.scores.weigh(rows, n_threads, found.belief, found.upper, found.softmax, found.ignorance, found.conflict)
        return found

    def probabilities(self, rows: Floats, n_threads: int = 1) -> Floats:
        """The softmax of the scores, shape (n_samples, n_classes)."""
        out = np.empty((len(rows), len(self.classes)))
        self.scores.probabilities(rows, n_threads, out)
        return out

    def entropy(self, rows: Floats, n_threads: int = 1) -> Floats:
        """Entropy of the probabilities, in nats, shape (n_samples,)."""
        out = np.empty(len(rows))
        self.scores.entropy(rows, n_threads, out)
        return out

    def supports(self, rows: Floats) -> Floats:
        """How open the gates are, shape (n_samples, n_gated_columns)."""
        out = np.empty((len(rows), len(self.gated_columns)))
        self.scores.supports(rows, out)
        return out

    def lift(self, rows: Floats, evidence: Evidence) -> Floats:
        """Logarithm of probability divided by frequency, shape (n_samples, n_classes).

        Gates withhold the prior as they withhold the rules; so the frequencies count as far as the gates are open.
        """
        support = self.supports(rows).prod(axis=1)
        with np.errstate(divide="ignore"):
            known = np.log(np.where(self.class_frequency > 0, self.class_frequency, 1.0))
            return np.asarray(np.log(evidence.probability) - support[:, None] * known)

    # -----------------------------------------------------------------------------------------------------------------
    # What each term, column and feature adds
    # -----------------------------------------------------------------------------------------------------------------

    def contributions(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What each term, and last the prior, adds to the scores, shape (n_samples, n_terms + 1, n_classes)."""
        applies = [block.activation(self.tree, rows, n_threads) for block in self.terms]
        openness = self.supports(rows).prod(axis=1)[:, None]
        weight = np.vstack([*(block.weight for block in self.terms), self.prior])
        return np.asarray((np.column_stack([*applies, np.ones(len(rows))]) * openness)[:, :, None] * weight)

    def feature_contributions(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What each feature, and last the prior, adds to the scores, shape (n_samples, n_features + 1, n_classes).

        A rule of several conditions is shared equally among them.
        """
        return self.share_among_features(self.contributions(rows, n_threads))

    def share_among_features(self, parts: Floats) -> Floats:
        """What terms and the prior add, ``parts`` as from :meth:`contributions`, by feature."""
        by_column, n = self.share_among_columns(parts), self.n_features
        out = by_column[:, [*range(n), by_column.shape[1] - 1]]
        for k, own in enumerate(self.derived):
            out[:, own.feature] += by_column[:, n + k]
        return np.asarray(out)

    def share_among_columns(self, parts: Floats) -> Floats:
        """As :meth:`share_among_features`, by column, derived ones apart."""
        n_columns = self.n_features + len(self.derived)
        out = np.zeros((len(parts), n_columns + 1, parts.shape[2]))
        out[:, -1] = parts[:, -1]
        # Term by term, not as a product of arrays, whose rounding depends on how many rows there are.
        if len(parts) <= _FEW_ROWS:  # the same sums in the same order: ten times as fast for one row, slower for many
            terms, columns, n_read = self._shared_terms
            share = parts[:, :-1].transpose(1, 0, 2) / n_read[:, None, None]
            np.add.at(out.transpose(1, 0, 2), columns, share[terms])
            return out
        for term, read in enumerate(self.term_columns):
            for column in read:
                out[:, column] += parts[:, term] / len(read)
        return out

    @cached_property
    def term_columns(self) -> tuple[tuple[int, ...], ...]:
        """The columns that each term reads."""
        return tuple(read for block in self.terms for read in block.columns(self.tree))

    @cached_property
    def _shared_terms(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Every pair of a term and a column that it reads, term by term, and the number of pairs of each term."""
        n_read = np.array([len(read) for read in self.term_columns], dtype=np.intp)
        columns = np.array([column for read in self.term_columns for column in read], dtype=np.intp)
        return np.repeat(np.arange(len(n_read)), n_read), columns, n_read

    def doubt(self, row: Floats, evidence: Evidence) -> Doubt:
        """Closed gates, and weights that are small or balance each other."""
        ignorance = float(evidence.ignorance[0])
        opened = min(float(self.with_gates_open.evidence(row).ignorance[0]), ignorance)
        return Doubt(opened, 0.0, ignorance - opened, 0.0)

    # -----------------------------------------------------------------------------------------------------------------
    # Gates, proofs, slopes
    # -----------------------------------------------------------------------------------------------------------------

    def lost_support(self, rows: Floats, n_threads: int = 1) -> Floats:
        """Share of all weights of evidence that gates withhold, by column, shape (n_samples, n_columns).

        One minus the product of the gates, shared among them by their logarithms, or among those that are closed.
        """
        lost, openness = np.zeros(rows.shape), self.supports(rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = -np.log(openness)
            closed = np.isinf(cost)
            cost = np.where(closed.any(axis=1, keepdims=True), closed, cost)
            share = np.where(cost > 0, cost / cost.sum(axis=1, keepdims=True), 0.0)
        lost[:, self.gated_columns] = share * (1 - openness.prod(axis=1, keepdims=True))
        return lost

    @property
    def prover(self) -> _core.Scores:
        """The compiled scores."""
        return self.scores

    @property
    def flip_tolerance(self) -> float:
        """Scores are linear between the corners of one feature: each proof is a comparison, and the search exact."""
        return 1e-14

    def vote_slope(self, scale: Floats) -> float | None:
        """None: the paper's certificate is for trees."""
        return None

    def slope_bounds(self) -> Floats:
        """Least and largest slope of each class's score against any other's; see :func:`score_slopes`."""
        return score_slopes(self.tree, self.rules.node, self.rules.weight, self.n_features, self.category_names)

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the difference of any two scores where the gates are open, by the max-norm of rows."""
        steepest = np.abs(np.nan_to_num(self.slope_bounds(), posinf=np.inf, neginf=-np.inf)).max(axis=2)
        return float(steepest.sum(axis=0).max(initial=0.0) * (1 + 1e-12))

    # -----------------------------------------------------------------------------------------------------------------
    # Novelty
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def neighbours(self) -> Neighbours:
        """The rows that the model keeps to compare others with."""
        return Neighbours.of(self.tree, self.rules.node, self.rules.weight)

    @property
    def unit_of_distance(self) -> Floats:
        """Unit of each column, smaller where the column carries more evidence, shape (n_columns,)."""
        return self.neighbours.unit

    @cached_property
    def novelty_quantiles(self) -> Floats | None:
        """Quantiles of the novelty of the training rows, each left out of the kept ones, shape (101,).

        None where no rows are kept, or a part of all that was chosen to cover the others, and nobody measured these.
        """
        if self.novelty_scale is not None or not self.tree.profile.has_exemplars:
            return self.novelty_scale
        if len(self.neighbours.rows) < MOSTLY_ALL * self.tree.weight[0]:
            return None
        return self.measured_novelty(self.neighbours.rows, has_all=True)

    def measured_novelty(self, rows: Floats, has_all: bool) -> Floats | None:
        """Quantiles of novelty from distinct training rows in random order, shape (101,).

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            The rows; the first of them are measured.
        has_all : bool
            Whether there are no other distinct rows.

        Returns
        -------
        ndarray of shape (101,) or None
            None where too few rows are kept.
        """
        measured = np.ascontiguousarray(rows[:MOST_MEASURED])
        weight = float(self.tree.weight[0]) * len(measured) / max(len(rows), 1)
        unsure = ENTROPY_SHARE * self.entropy(measured)
        return novelty_quantiles(self.neighbours, measured, weight, has_all, unsure)

    def with_novelty_scale(self, candidates: Floats, n_most: int) -> RuleModel:
        """The model with the quantiles of the novelty of its training rows, where the rows it keeps are too few.

        Parameters
        ----------
        candidates : ndarray of shape (n_candidates, n_columns)
            Distinct training rows in random order, of which the model keeps some.
        n_most : int
            Number of candidates from which on there are others.
        """
        scale = None
        if len(candidates) and len(self.neighbours.rows) < MOSTLY_ALL * self.tree.weight[0]:
            scale = self.measured_novelty(candidates, has_all=len(candidates) < n_most)
        return replace(self, novelty_scale=scale)

    def neighbour_novelty(self, rows: Floats, n_threads: int) -> Floats:
        """Distance to the nearest exemplar in usual distances, plus half the entropy, shape (n_samples,)."""
        return self._usual_distances(rows, 1, n_threads)[:, 0] + ENTROPY_SHARE * self.entropy(rows, n_threads)

    def neighbour_parts(self, rows: Floats, n_threads: int) -> Floats:
        """As :meth:`neighbour_novelty`, by column.

        The entropy is shared among columns. The share of the weights of evidence that gates withhold goes to the
        columns of these gates, the rest to columns in proportion to the absolute weights that they add.
        """
        lost = self.lost_support(rows, n_threads)
        added = np.abs(self.share_among_columns(self.contributions(rows, n_threads))[:, :-1]).sum(axis=2)
        total = added.sum(axis=1, keepdims=True)
        share = np.divide(added, total, out=np.full_like(added, 1 / added.shape[1]), where=total > 0)
        share = lost + (1 - lost.sum(axis=1, keepdims=True)) * share
        of_entropy = ENTROPY_SHARE * self.entropy(rows, n_threads)[:, None] * share
        return np.asarray(self._usual_distances(rows, rows.shape[1], n_threads) + of_entropy)

    def _usual_distances(self, rows: Floats, n_out: int, n_threads: int) -> Floats:
        """Distance to the nearest exemplar, or what each column adds to it, in usual distances."""
        out = np.zeros((len(rows), n_out))
        self.neighbours.search.distance(rows, n_threads, out)
        with np.errstate(over="ignore"):  # a row that is so far away is infinitely novel
            return np.asarray(out / self.neighbours.usual)

    # -----------------------------------------------------------------------------------------------------------------
    # Ranges
    # -----------------------------------------------------------------------------------------------------------------

    def known_values(self, feature: int) -> Floats:
        """The range of a feature over all training rows."""
        return np.asarray(self.ranges[feature])

    def seen(self, feature: int) -> tuple[float, float] | None:
        """The range of a feature over all training rows, as sentences show it; None for categories."""
        return self._seen[feature]

    @cached_property
    def _seen(self) -> tuple[tuple[float, float] | None, ...]:
        return tuple(
            None if f in self.category_names or not low <= high else (self.number(f, low), self.number(f, high))
            for f, (low, high) in enumerate(self.ranges[: self.n_features].tolist())
        )
