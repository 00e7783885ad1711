"""Model: everything that answers are computed from, frozen. Fitting makes one, a file holds one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.evidence import Evidence, IgnoranceCauses
from ferl._models.novelty import LOST_MASS, chosen_measure, residual_parts, share_below
from ferl._models.settings import Gates
from ferl._models.tree import FuzzyTree
from ferl._models.words import LinguisticVariable
from ferl._tables import INDICATOR_CATEGORIES, ColumnKind, Derived, Missing, OneRow, Schema, add_up_derived
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints
from ferl._util.text import counted, in_words, listed, spoken, words_of

Words = list[LinguisticVariable | None]
Reading = TypeVar("Reading", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Model(FrozenArrays):
    """A fitted model: :class:`~ferl._models.rule_model.RuleModel` or :class:`~ferl._models.tree_model.TreeModel`.

    A model reads rows as columns of numbers: first the columns of its schema, then the derived columns, such as an
    indicator that is 1 where a value is missing. Every method that takes ``n_threads`` returns the same bits for any
    number of threads.

    Attributes
    ----------
    tree : FuzzyTree
        The conditions, and what the training rows that fit them sum up to.
    reading : Gates
        How evidence is read from the conditions.
    classes : ndarray of shape (n_classes,)
        The labels.
    schema : Schema
        Names of the features and their categories.
    derived : tuple of Derived
        The columns behind the features.
    words : list of (LinguisticVariable or None), or None
        The words of each column; None where conditions are learned.
    n_growth_rows : int
        Number of distinct rows the conditions were chosen on.
    history : tuple of dict
        What was changed by hand since the fit, the first change first: records of what JSON has, kept in files.
    replaced : tuple of int
        Features that are read through their derived columns alone: no condition is on their own values, and they count
        nothing in distances.
    """

    tree: FuzzyTree
    reading: Gates
    classes: NDArray[Any]
    schema: Schema
    derived: tuple[Derived, ...]
    words: Words | None
    n_growth_rows: int
    history: tuple[dict[str, Any], ...] = ()
    replaced: tuple[int, ...] = ()

    kind: ClassVar[str]  # "rules" or "trees", for files and messages
    has_long_ramps: ClassVar[bool]  # conditions are printed by the ends of their ramps, not by thresholds with bands
    shares_ignorance: ClassVar[bool]  # equally among the classes, so that all are equal where there is no evidence

    # -----------------------------------------------------------------------------------------------------------------
    # What each kind of model has of its own
    # -----------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_rules(self) -> int:
        """Number of rules."""

    @abstractmethod
    def evidence(self, rows: Floats, n_threads: int = 1) -> Evidence:
        """Belief, plausibility, ignorance and conflict of rows, shape (n_samples, n_columns)."""

    @abstractmethod
    def probabilities(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What ``evidence(...).probability`` is, without the rest; shape (n_samples, n_classes)."""

    @property
    @abstractmethod
    def rule_numbers(self) -> dict[int, int]:
        """Number of each node that takes part in the evidence, from 1: what rules are called everywhere."""

    @abstractmethod
    def ignorance_causes(self, row: Floats, evidence: Evidence) -> IgnoranceCauses:
        """The ignorance of one row, shape (1, n_columns), by cause."""

    @abstractmethod
    def lift(self, rows: Floats, evidence: Evidence, power: float = 1.0) -> Floats:
        """How much likelier each class is than by its frequency, shape (n_samples, n_classes), up to a rising map.

        ``power``: of the frequency that is divided by; 0.5 is halfway to the probability itself.
        """

    @abstractmethod
    def lost_support(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What closed gates withhold, by column, shape (n_samples, n_columns)."""

    @property
    @abstractmethod
    def prover(self) -> _core.Sources | _core.Scores:
        """The compiled form that proves in which box a label cannot change."""

    @property
    def unproven(self) -> str:
        """Why labels of this model cannot be proven to stay; empty where they can."""
        return ""

    @property
    @abstractmethod
    def flip_tolerance(self) -> float:
        """How near the search for the nearest change of a label comes to it, in standard deviations."""

    def find_flips(self, row: Floats, label: int, columns: Ints, width: Floats, at: Floats, proven: Floats) -> None:
        """The nearest values of some columns, below and above the values of a row, where its label changes.

        Parameters
        ----------
        row : ndarray of shape (1, n_columns)
            The row.
        label : int
            Index of its label.
        columns : ndarray of shape (n_asked,), int32
            The columns, which move one at a time.
        width : ndarray of shape (n_asked,)
            Precision of the search.
        at, proven : ndarray of shape (n_asked, 2)
            Outputs: the values below and above at which the label changes, infinite without a change; and the values up
            to which it provably stays.
        """
        self.prover.nearest_flips(row, label, columns, width, at, proven)

    @abstractmethod
    def vote_slope(self, scale: Floats) -> float | None:
        """Slope of the vote in units of the columns, for the paper's certificate; None where it does not apply."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """How fast answers can change where the gates are open."""

    @property
    @abstractmethod
    def unit_of_distance(self) -> Floats:
        """Unit of each column in the distance of novelty, shape (n_columns,)."""

    @property
    @abstractmethod
    def novelty_quantiles(self) -> Floats | None:
        """Quantiles of the novelty of the training rows, each left out of the kept ones, shape (101,).

        None if the model keeps no rows, or too few.
        """

    @abstractmethod
    def neighbour_novelty(self, rows: Floats, n_threads: int) -> Floats:
        """Novelty by the nearest row that the model keeps, shape (n_samples,)."""

    @abstractmethod
    def neighbour_parts(self, rows: Floats, n_threads: int) -> Floats:
        """As :meth:`neighbour_novelty`, by column, shape (n_samples, n_columns)."""

    @abstractmethod
    def known_values(self, feature: int) -> Floats:
        """Values of a feature that the conditions remember of the training rows, for its range."""

    @property
    @abstractmethod
    def is_source(self) -> Bools:
        """Which nodes are sources of evidence, shape (n_nodes,)."""

    @property
    def is_rule(self) -> Bools:
        """Which nodes take part in the evidence, shape (n_nodes,)."""
        return self.is_source

    # -----------------------------------------------------------------------------------------------------------------
    # What all models share
    # -----------------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.size}, {counted(self.n_features, 'feature')}>"

    @property
    def n_terms(self) -> int:
        """Number of what answers are made of; rules, unless a kind of model has more."""
        return self.n_rules

    @property
    def size(self) -> str:
        """How much a model has: "12 rules", "49 rules, 12 curves (310 steps), 8 maps (620 cells)"."""
        return ", ".join([counted(self.n_rules, "rule"), *([self.size_beside_rules] if self.size_beside_rules else [])])

    @property
    def size_beside_rules(self) -> str:
        """What a model has beside rules; "": nothing."""
        return ", ".join(f"{counted(*thing)} ({counted(*part)})" for thing, part in self.beside_rules if thing[0])

    @property
    def beside_rules(self) -> list[tuple[tuple[int, str], tuple[int, str]]]:
        """What a model has beside rules, and of how many parts that is made; empty unless a kind of model has some."""
        return []

    @property
    def uses(self) -> dict[str, list[int]]:
        """How many "conditions" read each feature; of some kinds of models more than conditions read features."""
        return {"conditions": self.count_by_feature(self.tree.feature[1:].tolist())}

    def count_by_feature(self, columns: Sequence[int]) -> list[int]:
        """How often each feature is among columns; whether it is missing counts as well."""
        result = np.bincount(columns, minlength=self.n_features + len(self.derived)).astype(np.float64)
        return [int(item) for item in add_up_derived(result[None], self.derived)[0]]

    @property
    def title(self) -> str:
        """What the command line and the report call this model: "rules", or the variant of a tree."""
        return self.kind

    @property
    def class_frequency(self) -> Floats:
        """Share of each class in the weight of all training rows, shape (n_classes,)."""
        weight = self.tree.class_weight[0]
        return np.asarray(weight / weight.sum())

    @cached_property
    def usual_class(self) -> int:
        """Index of the most frequent class of training, the first of equals: the label where there is no evidence."""
        return int(self.class_frequency.argmax())

    @cached_property
    def core(self) -> _core.Tree:
        """The compiled conditions, with the gates of the reading."""
        margin = self.reading.gate_margin
        return self.tree.core if margin == 1.0 else self.tree.compiled(margin)

    def fire(self, rows: Floats) -> Floats:
        """Firing of every node, with the gates of the reading, shape (n_samples, n_nodes)."""
        out = np.zeros((len(rows), self.tree.n_nodes))
        self.core.fire(rows, self.reading.support_gate, 1, out)
        return out

    def novelty(self, rows: Floats, measure: str | None = None, n_threads: int = 1) -> Floats:
        """Novelty of each row, shape (n_samples,); see :meth:`ferl.FERLClassifier.novelty`."""
        if chosen_measure(self.tree, measure) == "residual":
            return np.asarray(self._residual(rows, n_threads).sum(axis=1))
        return self.neighbour_novelty(rows, n_threads)

    def novelty_attribution(self, rows: Floats, measure: str | None = None, n_threads: int = 1) -> Floats:
        """Novelty by feature, shape (n_samples, n_features); see :meth:`ferl.FERLClassifier.novelty_attribution`."""
        is_residual = chosen_measure(self.tree, measure) == "residual"
        parts = self._residual(rows, n_threads) if is_residual else self.neighbour_parts(rows, n_threads)
        return add_up_derived(parts, self.derived)

    def _residual(self, rows: Floats, n_threads: int) -> Floats:
        return residual_parts(self.tree, rows, n_threads) + LOST_MASS * self.lost_support(rows, n_threads)

    def novelty_rank(self, values: Floats) -> Floats:
        """Share of the training rows whose novelty is below each of some values, in whole percents; NaN: not known."""
        scale = self.novelty_quantiles
        return np.full(len(values), np.nan) if scale is None else share_below(scale, values)

    # -----------------------------------------------------------------------------------------------------------------
    # Names
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.schema.categories)

    def feature_names(self, given: Sequence[str] | None = None) -> list[str]:
        """Names of the features: the given names, the names in the training table, or x0, x1, ...

        Names of the table carry their label and unit, for sentences.
        """
        if given is None:
            return list(self._display_names)
        if len(given) != self.n_features:
            raise ValueError(
                f"feature_names has {len(given)} names; the estimator was fitted on {self.n_features} features."
            )
        return [str(name) for name in given]

    @cached_property
    def _display_names(self) -> tuple[str, ...]:
        pairs = zip(self.schema.kinds, feature_names(self.schema), strict=True)
        return tuple(kind.display_name(name) if kind.label or kind.unit else name for kind, name in pairs)

    def column_names(self, given: Sequence[str] | None = None) -> list[str]:
        """Names of the columns that conditions read: the features, and the derived ones."""
        return with_derived_names(self.feature_names(given), self.derived, self.labels)

    @property
    def missing_features(self) -> tuple[int, ...]:
        """Features that have an indicator of missing values."""
        return tuple(item.feature for item in self.derived if isinstance(item, Missing))

    def feature_of(self, column: int) -> int:
        """The feature of a column: the column itself, or the feature that it is derived from."""
        return column if column < self.n_features else self.derived[column - self.n_features].feature

    def reading_of(self, column: int) -> int:
        """The column that stands for a column in curves: for an indicator its feature, for others themselves."""
        is_missing = column >= self.n_features and isinstance(self.derived[column - self.n_features], Missing)
        return self.feature_of(column) if is_missing else column

    @cached_property
    def labels(self) -> list[Any]:
        """The labels, with their meaning where the training table came with one."""
        return self.schema.target.labels(self.classes)

    @cached_property
    def column_kinds(self) -> list[ColumnKind]:
        """What the values of each column are."""
        kinds = self.schema.kinds
        return [*kinds, *(item.column_kind or kinds[item.feature] for item in self.derived)]

    @cached_property
    def _plain_columns(self) -> frozenset[int]:
        """Columns whose numbers are written as they are."""
        return frozenset(j for j, kind in enumerate(self.column_kinds) if not (kind.is_coded or kind.values))

    def is_whole(self, column: int) -> bool:
        """Whether a column holds whole numbers, by the training table or by the rows that the model keeps."""
        known = self.column_kinds[column].is_whole
        return column in self.tree.whole_columns if known is None else known

    def number(self, column: int, value: float) -> float:
        """A number that is written as people write values of the column: a date, say."""
        return float(value) if column in self._plain_columns else self.column_kinds[column].number(value)

    def value(self, column: int, number: float) -> Any:
        """A value of a column whose conditions are on numbers: a number, or one of ordered categories."""
        kind = self.column_kinds[column]
        if kind.is_ordered and kind.order:
            return kind.display_value(kind.order[min(max(round(number), 0), len(kind.order) - 1)])
        return kind.number(number)

    def values_of(self, one: OneRow) -> list[Any]:
        """Values of the features of a row as in the table: numbers, categories, None where they are missing."""
        result: list[Any] = []
        for f, value in enumerate(one.values[0, : self.n_features].tolist()):
            if f in one.unseen or math.isnan(value):
                result.append(one.unseen.get(f))
            elif f in self.category_names:
                result.append(self.category_names[f][int(value)])
            else:
                result.append(value if f in self._plain_columns else self.value(f, value))
        return result

    def training_range(self, feature: int) -> tuple[float, float]:
        """The range of a feature that holds numbers over the training rows, as far as the model keeps it.

        Rules keep it. A tree keeps the ranges at its splits and the training rows that were kept; without
        either the range is three standard deviations around the mean.
        """
        return self._training_ranges[feature]

    @cached_property
    def _training_ranges(self) -> list[tuple[float, float]]:
        return [self._training_range(feature) for feature in range(self.n_features)]

    def _training_range(self, feature: int) -> tuple[float, float]:
        profile = self.tree.profile
        known = np.concatenate([self.known_values(feature), profile.exemplar_row[:, feature]])
        known = known[np.isfinite(known)]
        if not len(known):
            spread = 3 * float(np.sqrt(profile.variance[0, feature]))
            known = profile.mean[0, feature] + np.array([-spread, spread])
        return float(known.min()), float(known.max())

    @cached_property
    def category_names(self) -> dict[int, Sequence[Any]]:
        """Categories of each categorical column, by the index of the column."""
        return category_names(self.schema, self.derived)

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """The results of functions that are :func:`kept_by_model`. Copies and pickles of the model do not carry it."""
        return {}

    def had_missing(self, column: int) -> bool:
        """Whether a column had missing values in training."""
        known = self.tree.profile.known_weight
        return known is not None and bool(known[0, column] < (1 - 1e-9) * self.tree.weight[0])

    @property
    def leaving_features(self) -> tuple[int, ...]:
        """Features of dates that are read by their calendar: new rows will leave the days that training had."""
        return tuple(j for j in self.replaced if self.column_kinds[j].is_date)

    @property
    def date_copies(self) -> tuple[int, ...]:
        """Features that repeat a part of a date: the model does not read them, since new rows will leave their days."""
        return tuple(j for j in self.replaced if not self.column_kinds[j].is_date and j not in self.category_names)

    @property
    def date_copies_note(self) -> str:
        """The sentence that names these features; "" without any."""
        if not self.date_copies:
            return ""
        names = listed([spoken(self.feature_names()[j]) for j in self.date_copies])
        verb = "repeats" if len(self.date_copies) == 1 else "repeat"
        return f"The model does not read {names}, which {verb} parts of a date: new rows will leave the training days."

    # -----------------------------------------------------------------------------------------------------------------
    # Other models of the same conditions
    # -----------------------------------------------------------------------------------------------------------------

    _apart_from_names: ClassVar[tuple[str, ...]] = ("core", "with_gates_open")  # cached, the same for any names

    def with_names(self, names: Sequence[str] | None) -> Self:
        """The same model with other names of the features; itself where none are given."""
        if names is None:
            return self
        kinds = tuple(replace(kind, label="", unit="") for kind in self.schema.kinds)  # the given names have it all
        renamed = replace(self, schema=replace(self.schema, names=tuple(self.feature_names(names)), kinds=kinds))
        for name in (*self._apart_from_names, "novelty_quantiles"):
            renamed.__dict__[name] = getattr(self, name)
        return renamed

    def read(self, reading: Gates) -> Self:
        """The same conditions, whose evidence is read in another way."""
        return self if reading == self.reading else replace(self, reading=reading)

    @cached_property
    def with_gates_open(self) -> Self:
        """The model without gates, to compute what the gates withhold."""
        return self.read(replace(self.reading, support_gate=False))

    @property
    def fully_believed(self) -> Self:
        """The model without gates and discounts."""
        return self.with_gates_open

    @cached_property
    def read_columns(self) -> Ints:
        """Columns that answers depend on, in ascending order."""
        return self.condition_columns

    @cached_property
    def condition_columns(self) -> Ints:
        """Columns that conditions, curves and maps read, in ascending order."""
        return np.unique(self.tree.feature[1:])

    @cached_property
    def read_features(self) -> tuple[int, ...]:
        """Features that answers depend on, by themselves or by derived columns, in ascending order."""
        n, columns = self.n_features, self.read_columns.tolist()
        return tuple(sorted({j if j < n else self.derived[j - n].feature for j in columns}))

    @cached_property
    def gated_columns(self) -> Ints:
        """Columns whose gates close outside the training range: all columns that are read, if the reading has gates.

        Evidence and parts of dates have no gate: a category or a day that training did not have is no reason to doubt.
        """
        if not self.reading.support_gate:
            return np.zeros(0, dtype=np.int32)
        always_open = [self.n_features + k for k, item in enumerate(self.derived) if not isinstance(item, Missing)]
        columns = self.condition_columns
        return columns[~np.isin(columns, always_open)] if always_open else columns


def feature_names(schema: Schema) -> list[str]:
    """Names of the features: the names in the table, or x0, x1, ..."""
    return [f"x{j}" for j in range(len(schema.categories))] if schema.names is None else list(schema.names)


def with_derived_names(names: list[str], derived: Sequence[Derived], labels: Sequence[Any]) -> list[str]:
    """Names of all columns; those made of names and labels that have words have words, too."""

    def named(derived: Derived) -> str:
        feature = names[derived.feature]
        plain = derived.name(feature, labels)
        words = derived.name(words_of(feature), list(map(words_of, labels)))
        return plain if plain is feature or plain == words else in_words(plain, words)

    return names + list(map(named, derived))


def category_names(schema: Schema, derived: Sequence[Derived]) -> dict[int, Sequence[Any]]:
    """Categories of each categorical column, by the index of the column."""
    pairs = enumerate(zip(schema.kinds, schema.categories, strict=True))
    result: dict[int, Sequence[Any]] = {
        j: kind.display_values(item.tolist()) for j, (kind, item) in pairs if item is not None and len(item)
    }
    indicators = (k for k, item in enumerate(derived) if isinstance(item, Missing))
    return result | {len(schema.categories) + k: INDICATOR_CATEGORIES for k in indicators}


def kept_by_model(function: Reading) -> Reading:
    """Make a function of a model and few other values compute each result once; the result must not hold the model.

    Texts, say, are most of the work of an explanation.
    """

    @wraps(function)
    def kept(model: Model, *values: Any) -> Any:
        key = (function, *values)
        if key not in model.cache:
            model.cache[key] = function(model, *values)
        return model.cache[key]

    return cast(Reading, kept)
