"""Model: all that answers are read from, frozen. Fitting makes one, a file holds one, every reading takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.neighbours import ENTROPY_SHARE, Neighbours
from ferl._model.novelty_scale import MOST_MEASURED, MOSTLY_ALL, quantiles, tree_distances, wide_quantiles
from ferl._model.settings import Reading, is_wide, preset
from ferl._model.tree import FuzzyTree
from ferl._model.words import LinguisticVariable
from ferl._tables import INDICATOR_CATEGORIES, Schema
from ferl._tables.kinds import ColumnKind
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints

Words = list[LinguisticVariable | None]


@dataclass(frozen=True, eq=False, repr=False)
class Curvature(FrozenArrays):
    """How sharply the loss of the rows that weights of evidence come from rises around these weights.

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


@dataclass(frozen=True, eq=False, repr=False)
class RuleWeights(FrozenArrays):
    """What wide rules say: weights of evidence that add up, in proportion to the firing of the rules.

    Attributes
    ----------
    node : ndarray of shape (n_rules,), int32
        Where each rule ends in the tree: a chain of nodes from the root is a rule.
    weight : ndarray of shape (n_rules, n_classes)
        Weight of evidence of each rule for each class; rows sum to zero.
    prior : ndarray of shape (n_classes,)
        What speaks for each class before any rule fires.
    seen : ndarray of shape (n_columns, 2)
        Range of each column over all training rows.
    curvature : Curvature, optional
        How sure the weights are, for blocks to come; models that began with ``partial_fit`` have it.
    ridge : ndarray of shape (n_rules,), optional
        What held each rule's weight back when it was learned: the ridge on the weight of its standardised firing.
        Files of older versions have none.
    novelty : ndarray of shape (101,), optional
        Quantiles of the novelty of the training rows at whole percents; None where the rows that the model keeps tell
        them, and in files of older versions.
    """

    node: Ints
    weight: Floats
    prior: Floats
    seen: Floats
    curvature: Curvature | None = None
    ridge: Floats | None = None
    novelty: Floats | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Model(FrozenArrays):
    """A fitted model.

    Rows reach a model as columns of numbers: those of its schema, and behind them an indicator, 1 where a value is
    missing, for each of the ``missing_features``.

    Attributes
    ----------
    variant : str
        Kind of tree.
    tree : FuzzyTree
        Conditions and what the nodes say.
    reading : Reading
        How evidence is read from the tree.
    classes : ndarray of shape (n_classes,)
        The labels.
    schema : Schema
        Names of the features and their categories.
    missing_features : tuple of int
        Features that rules may ask whether they are missing.
    partition : list of (LinguisticVariable or None), or None
        The words of each column; None where conditions are learned splits.
    n_growth_rows : int
        Number of distinct rows the conditions were chosen on.
    weights : RuleWeights, optional
        Of wide rules; None where nodes of a tree speak.
    history : tuple of dict
        What was changed by hand since the fit, the first change first: records of what JSON has, kept in files.
    """

    variant: str
    tree: FuzzyTree
    reading: Reading
    classes: NDArray[Any]
    schema: Schema
    missing_features: tuple[int, ...]
    partition: Words | None
    n_growth_rows: int
    weights: RuleWeights | None = None
    history: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"<Model: {self.variant}, {self.n_rules} rules, {self.n_features} features>"

    @property
    def preset(self) -> dict[str, Any]:
        """What parameters that are None meant when the model was fitted."""
        return preset(self.variant, "consistent" if self.weights is None else "evidence")

    def criterion(self, given: str | None) -> str | None:
        """The criterion that grew the model: the given one, unless it grows models of the other kind.

        Compact models are of both kinds; None, which once meant a tree of words, now means wide rules.
        """
        fits = is_wide(self.variant, given) == (self.weights is not None)
        return given if fits else str(self.preset["criterion"])

    @property
    def n_rules(self) -> int:
        """Number of rules: leaves of a tree, or wide rules."""
        return len(self.tree.leaves) if self.weights is None else len(self.weights.node)

    @property
    def class_frequency(self) -> Floats:
        """Share of each class in the weight of all training rows, shape (n_classes,)."""
        weight = self.tree.class_weight[0]
        return np.asarray(weight / weight.sum())

    # -----------------------------------------------------------------------------------------------------------------
    # What the readings share, made once
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def core(self) -> _core.Tree:
        """The compiled tree, with the gates of the reading."""
        margin = self.reading.gate_margin
        return self.tree.core if margin == 1.0 else self.tree.compiled(margin)

    def fire(self, rows: Floats) -> Floats:
        """Firing of every node, with the gates of the reading, shape (n_samples, n_nodes)."""
        out = np.zeros((len(rows), self.tree.n_nodes))
        self.core.fire(rows, self.reading.support_gate, 1, out)
        return out

    @cached_property
    def is_source(self) -> Bools:
        """Which nodes are sources of evidence, shape (n_nodes,): ends of wide rules, of the paths of "chain"."""
        is_leaf = self.tree.is_leaf
        if self.weights is not None:
            return np.isin(np.arange(len(is_leaf)), self.weights.node)
        if self.reading.sources == "leaves" or self.reading.combination == "chain" or len(is_leaf) == 1:
            return is_leaf
        return np.arange(len(is_leaf)) > 0

    @property
    def speaks(self) -> Bools:
        """Which nodes have a say, shape (n_nodes,): the sources, of "chain" all on its paths."""
        if self.reading.combination != "chain" or self.tree.n_nodes == 1:
            return self.is_source
        return np.arange(self.tree.n_nodes) > 0

    @cached_property
    def reliability(self) -> Floats:
        """Share to which each node is believed, shape (n_nodes,)."""
        weight, discount = self.tree.weight, self.reading.discount
        return weight / (weight + discount) if discount > 0 else np.ones(len(weight))

    @cached_property
    def sources(self) -> _core.Sources:
        """The sources of evidence, compiled: they combine what the nodes say of rows."""
        return _core.Sources(
            self.core,
            self.tree.consequent,
            self.reliability,
            self.is_source,
            self.reading.combination,
            self.reading.support_gate,
        )

    @cached_property
    def gated_columns(self) -> Ints:
        """Columns whose gates close outside what training saw: those that rules ask, where the reading has gates."""
        return np.unique(self.tree.feature[1:]) if self.reading.support_gate else np.zeros(0, dtype=np.int32)

    @cached_property
    def scores(self) -> _core.Scores:
        """The rules and their weights, compiled: they add up what is said of rows."""
        weights, columns = self.rule_weights, self.gated_columns
        return _core.Scores(
            self.core,
            weights.node,
            weights.weight,
            weights.prior,
            columns,
            weights.seen[columns],
            self.tree.n_categories(len(weights.seen))[columns],
            self.reading.gate_margin,
        )

    @cached_property
    def neighbours(self) -> Neighbours:
        """The rows that a wide model keeps to compare others with."""
        weights = self.rule_weights
        return Neighbours.of(self.tree, weights.node, weights.weight)

    @cached_property
    def rule_columns(self) -> tuple[tuple[int, ...], ...]:
        """The columns that the conditions of each wide rule ask."""
        feature = self.tree.feature
        return tuple(
            tuple(int(feature[step]) for step in self.tree.path(node)) for node in self.rule_weights.node.tolist()
        )

    @cached_property
    def shared_rules(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Every pair of a wide rule and a column that it asks, rule by rule, and the number of pairs of each rule."""
        n_conditions = np.array([len(columns) for columns in self.rule_columns], dtype=np.intp)
        columns = np.array([column for own in self.rule_columns for column in own], dtype=np.intp)
        return np.repeat(np.arange(len(n_conditions)), n_conditions), columns, n_conditions

    @cached_property
    def novelty_quantiles(self) -> Floats | None:
        """Quantiles of the novelty of the training rows, each left out of the kept ones, shape (101,).

        None where they are not known: no rows are kept, or, of wide rules, a part of all that was chosen to cover the
        others, and nobody measured the others.
        """
        if self.weights is None:
            found = tree_distances(self.tree)
            return None if found is None else quantiles(*found)
        if self.weights.novelty is not None or not self.tree.profile.has_exemplars:
            return self.weights.novelty
        if len(self.neighbours.rows) < MOSTLY_ALL * self.tree.weight[0]:
            return None
        return self.measured_novelty(self.neighbours.rows, has_all=True)

    def measured_novelty(self, rows: Floats, has_all: bool) -> Floats | None:
        """Quantiles of the novelty of wide rules, from distinct training rows in random order.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            The rows, of which some are measured.
        has_all : bool
            Whether there are no other distinct rows.

        Returns
        -------
        ndarray of shape (101,) or None
            None where too few rows are kept.
        """
        measured = np.ascontiguousarray(rows[:MOST_MEASURED])
        entropy = np.empty(len(measured))
        self.scores.entropy(measured, 1, entropy)
        weight = float(self.tree.weight[0]) * len(measured) / max(len(rows), 1)
        return wide_quantiles(self.neighbours, measured, weight, has_all, ENTROPY_SHARE * entropy)

    @property
    def unit_of_distance(self) -> Floats:
        """Unit of each column in the distance of novelty, shape (n_columns,)."""
        return self.tree.unit_of_distance if self.weights is None else self.neighbours.unit

    @property
    def prover(self) -> _core.Sources | _core.Scores:
        """What proves that labels stay: the compiled sources of a tree, or the compiled weights of wide rules."""
        return self.sources if self.weights is None else self.scores

    @property
    def rule_weights(self) -> RuleWeights:
        """The weights of wide rules; an error for other models."""
        if self.weights is None:
            raise ValueError(
                f'A {self.variant} tree has no weights of evidence; fit with variant="wide" or criterion="evidence".'
            )
        return self.weights

    # -----------------------------------------------------------------------------------------------------------------
    # Names
    # -----------------------------------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.schema.categories)

    def feature_names(self, given: Sequence[str] | None = None) -> list[str]:
        """Names of the features: those given, those of the training table, or x0, x1, ...

        Those of the table know how sentences tell them: with a label, and a unit.
        """
        if given is None:
            return list(self._said_names)
        if len(given) != self.n_features:
            raise ValueError(
                f"feature_names has {len(given)} names; the estimator was fitted on {self.n_features} features."
            )
        return [str(name) for name in given]

    @cached_property
    def _said_names(self) -> tuple[str, ...]:
        return tuple(self.schema.kind(j).said_name(name) for j, name in enumerate(feature_names(self.schema)))

    def column_names(self, given: Sequence[str] | None = None) -> list[str]:
        """Names of the columns that the tree reads: the features, and again those whose being missing it may ask."""
        return with_indicator_names(self.feature_names(given), self.missing_features)

    @cached_property
    def labels(self) -> list[Any]:
        """The labels, which sentences tell by their meaning where the training table came with one."""
        return self.schema.target.labels(self.classes)

    def kind(self, column: int) -> ColumnKind:
        """What the values of a column are that the tree reads; of an indicator of missing values, a category."""
        return self.schema.kind(column) if column < self.n_features else ColumnKind("category")

    def is_whole(self, column: int) -> bool:
        """Whether a column holds whole numbers, as the training table or the rows that the model keeps say."""
        known = self.kind(column).is_whole
        return column in self.tree.whole_columns if known is None else known

    def number(self, column: int, value: float) -> float:
        """A number, which sentences tell as people write values of the column: a date, say."""
        return self.kind(column).number(value)

    def value(self, column: int, number: float) -> Any:
        """A value of a column that holds no categories to the tree: a number, or one of ordered categories."""
        kind = self.kind(column)
        if kind.is_ordered and kind.order:
            return kind.said_value(kind.order[min(max(round(number), 0), len(kind.order) - 1)])
        return kind.number(number)

    def seen(self, feature: int) -> tuple[float, float] | None:
        """Wide only: the range of a feature over all training rows, as sentences tell it; None for categories."""
        return self._seen[feature]

    @cached_property
    def _seen(self) -> tuple[tuple[float, float] | None, ...]:
        return tuple(
            None if f in self.category_names or not low <= high else (self.number(f, low), self.number(f, high))
            for f, (low, high) in enumerate(self.rule_weights.seen[: self.n_features].tolist())
        )

    def training_range(self, feature: int) -> tuple[float, float]:
        """The range of a feature that holds numbers, over the training rows, as far as the model remembers it.

        Wide rules know it. Of a feature that a tree asks, it is the range at its splits and of the training rows that
        were kept; of others the latter alone, or three standard deviations around the mean.
        """
        return self._training_ranges[feature]

    @cached_property
    def _training_ranges(self) -> list[tuple[float, float]]:
        return [self._training_range(feature) for feature in range(self.n_features)]

    def _training_range(self, feature: int) -> tuple[float, float]:
        tree, profile = self.tree, self.tree.profile
        asked = tree.support[tree.feature == feature] if self.weights is None else self.weights.seen[feature]
        seen = np.concatenate([asked.ravel(), profile.exemplar_row[:, feature]])
        seen = seen[np.isfinite(seen)]
        if not len(seen):
            spread = 3 * float(np.sqrt(profile.variance[0, feature]))
            seen = profile.mean[0, feature] + np.array([-spread, spread])
        return float(seen.min()), float(seen.max())

    @cached_property
    def rule_texts(self) -> dict[int, str]:
        """Conditions of rules in words, by node: those that were asked for, which is most of the work of a story."""
        return {}

    @cached_property
    def usual_values(self) -> dict[int, Any]:
        """What is usual among the training rows of single nodes: those that were asked for, as stories do."""
        return {}

    @cached_property
    def reason_parts(self) -> dict[str, Any]:
        """What reasons are read from, once they were asked for: reading it takes longer than judging a row."""
        return {}

    @cached_property
    def category_names(self) -> dict[int, Sequence[Any]]:
        """Categories of each categorical column that the tree reads, by the index of the column."""
        return category_names(self.schema, self.missing_features)

    # -----------------------------------------------------------------------------------------------------------------
    # Other models of the same tree
    # -----------------------------------------------------------------------------------------------------------------

    def with_names(self, names: Sequence[str] | None) -> Model:
        """The same model with other names of the features; itself where none are given."""
        if names is None:
            return self
        kinds = tuple(replace(kind, label="", unit="") for kind in self.schema.kinds)  # the given names say it all
        renamed = replace(self, schema=replace(self.schema, names=tuple(self.feature_names(names)), kinds=kinds))
        speakers = ("sources", "fully_believed") if self.weights is None else ("scores",)
        for name in ("core", "with_gates_open", *speakers):  # which do not depend on names
            renamed.__dict__[name] = getattr(self, name)
        renamed.__dict__["novelty_quantiles"] = self.novelty_quantiles
        return renamed

    def read(self, reading: Reading) -> Model:
        """The same tree, whose evidence is read in another way."""
        if reading == self.reading:
            return self
        if (reading.combination == "weights") != (self.weights is not None):
            what = "the nodes of a tree have none" if self.weights is None else "wide rules have them and nothing else"
            raise ValueError(f"combination is {reading.combination!r}: weights of evidence add up, and {what}.")
        return replace(self, reading=reading)

    @cached_property
    def with_gates_open(self) -> Model:
        """The model without gates; explanations ask what the gates withhold."""
        return self.read(replace(self.reading, support_gate=False))

    @cached_property
    def fully_believed(self) -> Model:
        """The model without gates and discounts."""
        return self.with_gates_open.read(replace(self.with_gates_open.reading, discount=0.0))


def feature_names(schema: Schema) -> list[str]:
    """Names of the features: those of the table, or x0, x1, ..."""
    return [f"x{j}" for j in range(len(schema.categories))] if schema.names is None else list(schema.names)


def with_indicator_names(names: list[str], missing_features: Sequence[int]) -> list[str]:
    """Names of all columns that a tree reads."""
    return names + [names[j] for j in missing_features]


def category_names(schema: Schema, missing_features: Sequence[int]) -> dict[int, Sequence[Any]]:
    """Categories of each categorical column that a tree reads, by the index of the column."""
    known = enumerate(schema.categories)
    found: dict[int, Sequence[Any]] = {
        j: [schema.kind(j).said_value(value) for value in own.tolist()]
        for j, own in known
        if own is not None and len(own)
    }
    return found | {len(schema.categories) + k: INDICATOR_CATEGORIES for k in range(len(missing_features))}
