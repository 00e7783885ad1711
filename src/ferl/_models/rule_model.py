"""RuleModel: a prior and terms whose weights of evidence add up to scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.cases import CaseChoice, Cases
from ferl._models.certificates import score_slopes, step_slopes
from ferl._models.evidence import LEAST_CURVATURE, Evidence, IgnoranceCauses, RuleEvidence
from ferl._models.model import Model
from ferl._models.novelty import ENTROPY_SHARE, MOST_MEASURED, MOSTLY_ALL, Neighbours, novelty_quantiles
from ferl._models.terms import CurvesAndMaps, Rules, Terms
from ferl._util.arrays import Bools, Floats, FrozenArrays, Ints

_FEW_ROWS = 100
_TRIED_STEPS = 64  # on either side of a value, where a change of the label is searched without a proof
_TRIED_SHARE = 1e-6  # of the way to the end of the range, to which such a search is made finer


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


def base_scores(weight: Floats) -> Floats:
    """Scores of the class frequencies, from the weight of each class; see :attr:`RuleModel.base`."""
    if not weight.any():
        return np.zeros(len(weight))
    least = min(1.0, float(weight[weight > 0].min())) / 2
    logs = np.log(np.where(weight > 0, weight, least) / weight.sum()).round(12)
    return np.asarray(logs - logs.mean())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RuleModel(Model):
    """A prior and terms that add up.

    Attributes
    ----------
    rules : Rules
        The rules.
    curves : CurvesAndMaps, optional
        Curves and maps, where the training rows were enough for them.
    prior : ndarray of shape (n_classes,)
        Score of each class before any rule applies.
    ranges : ndarray of shape (n_columns, 2)
        Range of each column over all training rows.
    level_columns : tuple of int
        Columns with a monotone constraint, which fading scores would break: outside their range scores stay as they are
        at the nearest end. Their gates discount belief and plausibility alone.
    row_curvature : float
        Mean over training rows of the curvature of a row's loss by its scores, the mean over the classes.
    category_weight : dict of ndarray of shape (n_categories,)
        Training weight of each category, by the categorical columns that terms read.
    curvature : Curvature, optional
        How well the weights are known, for later blocks of rows; models that began with ``partial_fit`` have it.
    novelty_scale : ndarray of shape (101,), optional
        Quantiles of the novelty of the training rows at whole percents; None where the rows that the model keeps
        determine them.
    cases : Cases, optional
        Training rows that are kept as cases, whose vote adds to the scores.
    case_choice : CaseChoice, optional
        Result of inner validation about cases; None if the fit did not try them.
    """

    rules: Rules
    prior: Floats
    ranges: Floats
    curves: CurvesAndMaps | None = None
    level_columns: tuple[int, ...] = ()
    row_curvature: float = 0.25
    category_weight: dict[int, Floats] = field(default_factory=dict)
    curvature: Curvature | None = None
    novelty_scale: Floats | None = None
    cases: Cases | None = None
    case_choice: CaseChoice | None = None

    kind: ClassVar[str] = "rules"
    has_long_ramps: ClassVar[bool] = True
    shares_ignorance: ClassVar[bool] = False
    _apart_from_names: ClassVar[tuple[str, ...]] = ("core", "with_gates_open", "scores")

    @property
    def terms(self) -> tuple[Terms, ...]:
        """All blocks of terms, in the order of the contributions."""
        return tuple(item for item in (self.rules, self.curves, self.cases) if item is not None)

    @cached_property
    def read_columns(self) -> Ints:
        """Columns that answers depend on, in ascending order: all that count in the distance of cases among them."""
        if self.cases is None:
            return self.condition_columns
        return np.union1d(self.condition_columns, self.cases.read_columns).astype(np.int32)

    @cached_property
    def condition_columns(self) -> Ints:
        """Columns that rules, curves and maps read, in ascending order."""
        return np.unique([column for read in self.term_columns for column in read]).astype(np.int32)

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rules.node)

    @property
    def n_curves(self) -> int:
        """Number of curves."""
        return 0 if self.curves is None else self.curves.is_map.count(False)

    @property
    def n_maps(self) -> int:
        """Number of maps."""
        return 0 if self.curves is None else self.curves.is_map.count(True)

    @property
    def n_terms(self) -> int:
        """Number of rules, curves and maps, and one more where the model has cases."""
        return sum(block.n_terms for block in self.terms)

    @property
    def beside_rules(self) -> list[tuple[tuple[int, str], tuple[int, str]]]:
        """Curves with their steps, maps with their cells, cases with the columns that count in their distance."""
        result, curves, cases = [], self.curves, self.cases
        if curves is not None:
            result += [((self.n_curves, "curve"), (curves.n_corners, "step"))]
            result += [((self.n_maps, "map"), (curves.n_map_cells, "cell"))]
        if cases is not None:
            result += [((cases.n_cases, "known case"), (len(cases.read_columns), "column"))]
        return result

    @property
    def uses(self) -> dict[str, list[int]]:
        """How many "conditions" read each feature, and how many "curves" and "maps" where the model has some."""
        uses, curves = super().uses, self.curves
        if curves is not None:
            for name, is_map in (("curves", False), ("maps", True)):
                term_columns = [
                    columns for columns, kind in zip(curves.term_columns, curves.is_map, strict=True) if kind == is_map
                ]
                uses[name] = self.count_by_feature([column for columns in term_columns for column in columns])
        return uses

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """What each rule is called, from 1: its place when the model was learned, whatever was dropped since."""
        listed = [dropped for record in self.history if isinstance(dropped := record.get("dropped"), list)]
        gone = {number for item in listed for number in item if type(number) is int}
        kept = tuple(number for number in range(1, self.n_rules + len(gone) + 1) if number not in gone)
        # The history of a file may hold anything.
        return kept if len(kept) == self.n_rules else tuple(range(1, self.n_rules + 1))

    @cached_property
    def rule_numbers(self) -> dict[int, int]:
        """The order of ``evidence_weights_`` and of the contributions."""
        return dict(zip(self.rules.node.tolist(), self.numbers, strict=True))

    @cached_property
    def is_source(self) -> Bools:
        """Which nodes end rules, shape (n_nodes,)."""
        return np.isin(np.arange(self.tree.n_nodes), self.rules.node)

    # -----------------------------------------------------------------------------------------------------------------
    # Scores and evidence
    # -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def base(self) -> Floats:
        """Scores where no support is left: the logarithms of the class frequencies less their mean, shape (n_classes,).

        A class without rows counts as half a row, or half of the rarest other class if that is less. Twelve digits, so
        that classes that weights made equally frequent have equal scores.
        """
        return base_scores(self.tree.class_weight[0])

    @cached_property
    def gated_columns(self) -> Ints:
        """Columns whose gates close outside the training range: the columns of conditions, the level ones last."""
        columns = super().gated_columns
        return columns[np.argsort(np.isin(columns, self.level_columns), kind="stable")]

    @cached_property
    def n_fading(self) -> int:
        """Number of gated columns that fade scores; the level ones are behind them."""
        return int(np.isin(self.gated_columns, self.level_columns, invert=True).sum())

    @cached_property
    def scores(self) -> _core.Scores:
        """The rules and their weights, compiled."""
        columns = self.gated_columns
        return _core.Scores(
            self.core,
            self.rules.node,
            self.rules.weight,
            self.prior,
            self.base,
            columns,
            self.n_fading,
            self.ranges[columns],
            self.tree.n_categories(len(self.ranges))[columns],
            self.reading.gate_margin,
            None if self.curves is None else self.curves.core,
            None if self.cases is None else self.cases.core,
        )

    def decision_scores(self, rows: Floats, n_threads: int = 1) -> Floats:
        """The summed weights of evidence, or as far as gates close the frequencies, shape (n_samples, n_classes)."""
        out = np.empty((len(rows), len(self.classes)))
        self.scores.scores(rows, n_threads, out)
        return out

    @cached_property
    def rows_behind(self) -> _core.RowsBehind:
        """What counts the training rows that an answer rests on, compiled."""
        support = np.zeros(0) if self.curves is None else self.curves.support
        return _core.RowsBehind(self.rules.products, self.rules.ridge, self.row_curvature, support)

    def evidence(self, rows: Floats, n_threads: int = 1) -> RuleEvidence:
        """The softmax of the scores, believed as far as training rows are behind it."""
        n = len(rows)
        probability, conflict = np.empty((n, len(self.classes))), np.empty(n)
        support, n_behind = np.empty(n), np.empty(n)
        self.scores.weigh(rows, self.rows_behind, n_threads, probability, conflict, support, n_behind)
        n_behind = np.minimum(n_behind, self.most_rows(rows)) * self.familiarity(rows, n_threads)
        return RuleEvidence.resting_on(probability, n_behind, support, conflict, self.classes)

    @cached_property
    def most_rows_of_category(self) -> dict[int, Floats]:
        """One plus the training weight of each category, by column; the last entry is for unknown categories."""
        read = self.condition_columns.tolist()
        return {j: 1 + np.append(item, 0.0) for j, item in self.category_weight.items() if j in read}

    def most_rows(self, rows: Floats) -> Floats:
        """The most training rows that an answer can rest on, by the rarest category of each row, shape (n_samples,).

        Rules may read a rare category together with others; then their firings do not show that it is rare.
        """
        result = np.full(len(rows), np.inf)
        for column, most in self.most_rows_of_category.items():
            known = ~np.isnan(rows[:, column])
            code = np.minimum(rows[known, column], len(most) - 1).astype(np.intp)
            result[known] = np.minimum(result[known], most[code])
        return result

    def familiarity(self, rows: Floats, n_threads: int = 1) -> Floats:
        """1 for a familiar row, 1/2 for one that is as far from these as few training rows, shape (n_samples,).

        Leverage alone misses holes inside the training range, and categories that no rule reads.
        """
        if not self.tree.profile.has_exemplars:
            return np.ones(len(rows))
        distance = np.empty((len(rows), 1))
        self.familiar.search.distance(rows, n_threads, distance)
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + (distance[:, 0] / self.neighbours.far) ** 2))

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

    def fading(self, rows: Floats) -> Floats:
        """How far the summed weights count, against the class frequencies, shape (n_samples,)."""
        return np.asarray(self.supports(rows)[:, : self.n_fading].prod(axis=1))

    def lift(self, rows: Floats, evidence: Evidence, power: float = 1.0) -> Floats:
        """Logarithm of probability divided by a power of the frequency, shape (n_samples, n_classes).

        Where the gates are closed, it is the logarithm of the probability alone: without evidence no rare class is
        preferred.
        """
        is_open = self.fading(rows)[:, None] > 0
        with np.errstate(divide="ignore"):
            known = np.log(np.where(self.class_frequency > 0, self.class_frequency, 1.0))
            return np.asarray(np.log(evidence.probability) - power * is_open * known)

    # -----------------------------------------------------------------------------------------------------------------
    # What each term, column and feature adds
    # -----------------------------------------------------------------------------------------------------------------

    def contributions(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What each term, and last the prior, adds to the scores, shape (n_samples, n_terms + 1, n_classes).

        As far as gates are closed, the class frequencies replace the prior.
        """
        openness = self.fading(rows)
        parts = [block.contributions(self.tree, rows, openness, n_threads) for block in self.terms]
        prior = openness[:, None] * self.prior + (1 - openness[:, None]) * self.base
        return np.concatenate([*parts, prior[:, None]], axis=1)

    @cached_property
    def mean_contributions(self) -> Floats:
        """What terms, and last the prior, add to scores on average over training rows, (n_terms + 1, n_classes)."""
        return np.vstack([*(block.mean(self.tree) for block in self.terms), self.prior])

    def feature_contributions(self, rows: Floats, n_threads: int = 1) -> Floats:
        """What each feature, and last the prior, adds to the scores, shape (n_samples, n_features + 1, n_classes).

        A rule of several conditions is shared equally among them. Where the model has cases, what these add comes
        before the prior: shape (n_samples, n_features + 2, n_classes).
        """
        return self.share_among_features(self.contributions(rows, n_threads))

    def share_among_features(self, parts: Floats) -> Floats:
        """What terms and the prior add, ``parts`` as from :meth:`contributions`, by feature."""
        by_column, n = self.share_among_columns(parts), self.n_features
        out = by_column[:, [*range(n), *range(n + len(self.derived), by_column.shape[1])]]
        for k, item in enumerate(self.derived):
            out[:, item.feature] += by_column[:, n + k]
        return np.asarray(out)

    def share_among_columns(self, parts: Floats) -> Floats:
        """As :meth:`share_among_features`, by column, derived ones apart."""
        n_columns, n_apart = self.n_features + len(self.derived), 1 + (self.cases is not None)
        out = np.zeros((len(parts), n_columns + n_apart, parts.shape[2]))
        out[:, n_columns:] = parts[:, -n_apart:]  # the cases, where there are some, and the prior
        # Term by term, not as a product of arrays, whose rounding depends on how many rows there are.
        if len(parts) <= _FEW_ROWS:  # the same sums in the same order: ten times as fast for one row, slower for many
            terms, columns, n_read = self._shared_terms
            share = parts[:, :-1].transpose(1, 0, 2) / np.maximum(n_read, 1)[:, None, None]
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

    def ignorance_causes(self, row: Floats, evidence: Evidence) -> IgnoranceCauses:
        """Closed gates, and few training rows behind the answer."""
        ignorance, support = float(evidence.ignorance[0]), float(self.supports(row).prod())
        lost = min((1 - support) * (1 - ignorance) / support, ignorance) if support > 0 else ignorance
        return IgnoranceCauses(0.0, ignorance - lost, lost, 0.0)

    # -----------------------------------------------------------------------------------------------------------------
    # Gates, proofs, slopes
    # -----------------------------------------------------------------------------------------------------------------

    def lost_support(self, rows: Floats, n_threads: int = 1) -> Floats:
        """Share of all evidence that gates withhold from belief, by column, shape (n_samples, n_columns).

        One minus the product of the gates, shared among them by their logarithms, or among closed gates if there are
        any.
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
    def unproven(self) -> str:
        """Votes of cases depend on all columns at once: there is no proof about them."""
        if self.cases is None:
            return ""
        return (
            "The model has known cases, and there is no proof of how their vote changes when a row moves. Fit with "
            "cases=False to have labels certified."
        )

    @property
    def prover(self) -> _core.Scores:
        """The compiled scores."""
        return self.scores

    @property
    def flip_tolerance(self) -> float:
        """Scores are linear between the corners of one feature: each proof is a comparison, and the search exact."""
        return 1e-14

    def find_flips(self, row: Floats, label: int, columns: Ints, width: Floats, at: Floats, proven: Floats) -> None:
        """With cases by trial and without a proof: at even steps within the training range, then by halves."""
        if self.cases is None:
            super().find_flips(row, label, columns, width, at, proven)
            return
        for k, column in enumerate(columns.tolist()):
            value = float(row[0, column])
            proven[k] = value
            for side, end in enumerate(self.training_range(column)):
                at[k, side] = self._first_flip(row, label, column, value, float(end), float(width[k]))
                if np.isinf(at[k, side]):
                    at[k, side] = (-np.inf, np.inf)[side]

    def _first_flip(self, row: Floats, label: int, column: int, value: float, end: float, width: float) -> float:
        """The first of even steps from a value to the end of the training range with another label, made finer."""

        def is_other(values: Floats) -> Bools:
            rows = np.repeat(row, len(values), axis=0)
            rows[:, column] = values
            return np.asarray(self.probabilities(rows).argmax(axis=1) != label)

        steps = np.linspace(value, end, 1 + _TRIED_STEPS)
        result = np.flatnonzero(is_other(steps[1:]))
        if value == end or not len(result):
            return np.inf if end >= value else -np.inf
        inside, outside = float(steps[result[0]]), float(steps[result[0] + 1])
        while abs(outside - inside) > max(width, _TRIED_SHARE * abs(end - value)):
            middle = (inside + outside) / 2
            if middle in (inside, outside):
                break
            inside, outside = (inside, middle) if is_other(np.array([middle]))[0] else (middle, outside)
        return outside

    def vote_slope(self, scale: Floats) -> float | None:
        """None: the paper's certificate is for trees."""
        return None

    def slope_bounds(self) -> Floats:
        """Least and largest slope of each class's score against any other's; see :func:`score_slopes`."""
        result = score_slopes(self.tree, self.rules.node, self.rules.weight, self.n_features, self.category_names)
        result = result if self.curves is None else result + step_slopes(self.curves, self.n_features)
        if self.cases is not None:  # votes may rise and fall as steeply as cases are near to each other
            result[[column for column in self.cases.read_columns if column < self.n_features]] += [-np.inf, np.inf]
        return result

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
        return Neighbours.of(self.tree, [block for block in self.terms if block.reads_columns])

    @cached_property
    def familiar(self) -> Neighbours:
        """Some of them, which show whether training rows are near a row."""
        return self.neighbours.familiar

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
        unsure = ENTROPY_SHARE * self._training_entropy(measured)
        return novelty_quantiles(self.neighbours, measured, weight, has_all, unsure)

    def measured(self, candidates: Floats, n_most: int) -> RuleModel:
        """The model with what is measured on some of its training rows.

        That is the curvature of a row, and the quantiles of novelty, where the rows that the model keeps are too few.

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
        shares = self._training_probabilities(candidates) if len(candidates) else self.class_frequency[None]
        spread = (shares * (1 - shares)).sum(axis=1).mean() / max(len(self.classes) - 1, 1)
        return replace(self, novelty_scale=scale, row_curvature=max(float(spread), LEAST_CURVATURE))

    def _training_probabilities(self, rows: Floats) -> Floats:
        """Probabilities of training rows, which are not their own cases."""
        if self.cases is None:
            return self.probabilities(rows)
        score = self.without_cases.decision_scores(rows) + self.cases.added(rows, others_alone=True)
        power = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(power / power.sum(axis=1, keepdims=True))

    def _training_entropy(self, rows: Floats) -> Floats:
        """Entropy of the probabilities of training rows, which are not their own cases."""
        if self.cases is None:
            return self.entropy(rows)
        share = self._training_probabilities(rows)
        return np.asarray(-(share * np.log(np.maximum(share, _core.LEAST_PROBABILITY))).sum(axis=1))

    @cached_property
    def without_cases(self) -> RuleModel:
        """The rules, curves and maps alone."""
        return self if self.cases is None else replace(self, cases=None)

    def neighbour_novelty(self, rows: Floats, n_threads: int) -> Floats:
        """Distance to the nearest exemplar in usual distances, plus half the entropy, shape (n_samples,)."""
        return self._usual_distances(rows, 1, n_threads)[:, 0] + ENTROPY_SHARE * self.entropy(rows, n_threads)

    def neighbour_parts(self, rows: Floats, n_threads: int) -> Floats:
        """As :meth:`neighbour_novelty`, by column.

        The entropy is shared among columns. The share of the weights of evidence that gates withhold goes to the
        columns of these gates, the rest to columns in proportion to the absolute weights that they add.
        """
        lost = self.lost_support(rows, n_threads)
        parts = self.share_among_columns(self.contributions(rows, n_threads))[:, : rows.shape[1]]
        added = np.abs(parts).sum(axis=2)
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
