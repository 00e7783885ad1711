"""Growing rules: chains of conditions, and the weights of evidence that they add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ferl import _core
from ferl._learn.cases import CaseJudge, with_cases
from ferl._learn.consequents import level_columns
from ferl._learn.derive import NewColumn, day_columns, trend_columns
from ferl._learn.ground import CONDITIONS, UNBOUNDED, Ground
from ferl._learn.grown import GrownRules, rule_options
from ferl._learn.near_copies import warn_of_near_copies
from ferl._learn.rows import Orders, Rows
from ferl._models.novelty import Neighbours
from ferl._models.rule_model import RuleModel
from ferl._models.settings import RuleSettings
from ferl._models.terms import CurvesAndMaps, Rules, Terms
from ferl._models.tree import FuzzyTree
from ferl._tables.derived import DateInRange, DatePart, DayEvidence, KnownDate
from ferl._util.arrays import Floats
from ferl._util.text import listed
from ferl._util.threads import count_bar, n_threads

CANDIDATES_PER_EXEMPLAR = 4  # on five data sets 4 do as well as all rows, 2 reject 2 points less
# Rules that days are learned beyond; they are not kept. On calibration parts of flights 40 do as well as 150, in a
# seventh of the time.
DAY_RULES = 40
MOST_COVER_STEPS = 2_000_000_000  # comparisons of two values, about a second


def fit_rules(settings: RuleSettings, rows: Rows) -> RuleModel:
    """Learn rules and their weights, and choose the training rows that the model keeps."""
    with count_bar("growing rules", settings.max_rules, settings.verbose > 0) as report:
        ground = Ground.prepared(settings, rows)
        if not ground.facts.has_groups:
            warn_of_near_copies(ground.drawn, ground.facts.n_categories)
        ground = _with_dates(settings, ground.deriving(), report)
        judge = CaseJudge(settings, ground) if settings.cases else None
        grown = _core.grow_rules(ground.sample, rule_options(settings, ground), report, judge)
        facts = ground.facts
        node = grown["rule_node"]
        curves = curves_of(grown, ground)
        n_most = n_candidates(settings, len(facts.names))
        tree, products = ground.summed(_conditions(grown), n_most, "shrinkage", 5.0, None, report, node)
        rules = Rules(node, grown["weight"], grown["ridge"], products)
        candidates = root_rows(tree)
        tree = keep_cover(tree, [rules] if curves is None else [rules, curves], n_exemplars(settings))
        sampled = np.bincount(ground.sample.y, weights=ground.sample.weight, minlength=facts.n_classes)
        if report is not None:
            report(len(tree.leaves))
    model = RuleModel(
        tree=tree,
        reading=settings.reading,
        classes=facts.classes,
        schema=facts.schema,
        derived=facts.derived,
        replaced=ground.replaced,
        words=ground.words,
        n_growth_rows=ground.sample.n_rows,
        rules=rules,
        prior=prior_of_all_rows(grown["prior"], sampled.astype(np.float64), tree.class_weight[0]),
        ranges=ground.ranges,
        curves=curves,
        level_columns=level_columns(ground.constraint),
    )
    weight = facts.category_weight
    by_category = {j: weight[j].sum(axis=1) * facts.scale for j in model.condition_columns.tolist() if j in weight}
    model = replace(model, category_weight=by_category, case_choice=judge.choice if judge else None)
    if judge and judge.strength is not None:
        model = with_cases(model, settings, ground, judge.choice, judge.strength)
    model = model.measured(candidates, n_most)
    if settings.verbose > 0:
        for feature in model.leaving_features:
            print(dates_note(model, feature))
        if note := model.date_copies_note:
            print(note)
    return model


def dates_note(model: RuleModel, feature: int) -> str:
    """What becomes of a column of dates, which new rows will leave."""
    columns = [item for item in model.derived if item.feature == feature]
    parts = [item.part for item in columns if isinstance(item, DatePart)]
    days = next((f"{len(item.days):,} days" for item in columns if isinstance(item, DayEvidence)), "")
    read = [*parts, f"evidence of {days}, which other days do not have"] if days else ["date", *parts]
    note = f"{model.feature_names()[feature]!r} holds dates, which new rows will leave: rules read its {listed(read)}"
    note += "" if days else "; a date outside the training range counts as the nearest one"
    if any(isinstance(item, DateInRange) for item in columns):
        note += "; curves and maps read the date, which is missing outside the training range"
    return note


def curves_of(grown: dict[str, Any], ground: Ground) -> CurvesAndMaps | None:
    """The curves and maps that the core has learned, with the weight of the sampled rows in each cell."""
    found = GrownRules(grown, ground.facts.n_categories).curves
    if found is None:
        return None
    cells = found.cells_of(ground.sample.x)
    n_cells = len(found.value)
    support = np.zeros(n_cells)
    for cell in cells.T:  # one term after the other: the rows are in an order that depends on their values alone
        support += np.bincount(cell, weights=ground.sample.weight, minlength=n_cells)
    return recoded(replace(found, support=support), ground.orders)


def recoded(curves: CurvesAndMaps, orders: Orders) -> CurvesAndMaps:
    """The same, with the cells of categories in the order of their codes in the table, not in the sample."""
    value, support = curves.value.copy(), curves.support.copy()
    for term, columns in enumerate(curves.term_columns):
        cells, shape = curves.cells(term), curves.shape(term)
        index = np.arange(cells.stop - cells.start).reshape(shape)
        for axis, column in enumerate(columns):
            if column in orders:
                order = np.empty(len(orders[column]), dtype=np.intp)
                order[orders[column]] = np.arange(len(order))
                index = np.take(index, [0, *(1 + order), len(order) + 1], axis=axis)
        value[cells], support[cells] = value[cells][index.ravel()], support[cells][index.ravel()]
    return replace(curves, value=value, support=support)


def _with_dates(settings: RuleSettings, ground: Ground, report: Any) -> Ground:
    """The ground with dates as numbers, or with the evidence of days where days differ beyond that.

    In the second case, inner validation holds out whole days of the date whose days differ most.
    """
    dates, ranges, x = ground.dates, ground.ranges, ground.drawn.x
    if not dates:
        return ground
    as_numbers = ground.with_columns([*trend_columns(KnownDate, dates, ranges, x)])
    differing = sorted({item.derived.feature for item in _days_beyond(settings, as_numbers, report)})
    apart = ground.without_calendar_copies(differing)
    days = (
        [item for item in _days_beyond(settings, apart, report) if item.derived.feature in differing]
        if differing
        else []
    )
    if days:
        evident = sorted({item.derived.feature for item in days})
        others = [j for j in dates if j not in evident]
        trends = [*trend_columns(KnownDate, others, ranges, x)]
        if settings.words is None and settings.max_maps is not None:  # else there are no curves
            trends += trend_columns(DateInRange, evident, ranges, x)
        moved = {j: sum(_size_of(item, ground) for item in days if item.derived.feature == j) for j in evident}
        return apart.with_columns([*days, *trends]).validating_days(max(evident, key=lambda j: moved[j]))
    return as_numbers


def _size_of(evidence: NewColumn, ground: Ground) -> float:
    """How far the evidence of days moves the rows."""
    return math.fsum((ground.drawn.weight * np.nan_to_num(evidence.numbers) ** 2).tolist())  # in any order of the rows


def _days_beyond(settings: RuleSettings, ground: Ground, report: Any) -> list[NewColumn]:
    """The evidence of single days beyond rules that do not have it."""
    tuning = _core.Tuning(_core.TUNING)
    tuning.grown_rules = DAY_RULES
    short = replace(settings, max_maps=None, effort=1, max_rules=min(settings.max_rules, DAY_RULES))
    options = rule_options(short, ground, tuning)
    grown = _core.grow_rules(ground.sample, options, report)
    drawn, rules = ground.drawn, GrownRules(grown, ground.facts.n_categories)
    probability = np.empty((drawn.n_rows, len(grown["prior"])))
    rules.scores.probabilities(ground.sample.x, n_threads(ground.settings.n_jobs), probability)
    return list(day_columns(ground.dates, drawn.x, drawn.y, drawn.weight, ground.folds, probability))


def _conditions(grown: dict[str, Any]) -> dict[str, Any]:
    """Chains of conditions in the form of a tree, whose root alone keeps training rows, since rules overlap."""
    n_nodes = len(grown["parent"])
    key_bound = np.zeros(n_nodes, dtype=np.uint64)
    key_bound[0] = np.iinfo(np.uint64).max
    return {name: grown[name] for name in CONDITIONS} | {"gain": np.zeros(n_nodes), "key_bound": key_bound}


def n_exemplars(settings: RuleSettings) -> int:
    """Number of training rows that the model keeps."""
    return int(min(settings.n_exemplars, UNBOUNDED))


def n_candidates(settings: RuleSettings, n_columns: int) -> int:
    """Number of random rows among which the kept rows are chosen."""
    n_kept = n_exemplars(settings)
    affordable = MOST_COVER_STEPS // max(n_kept * n_columns, 1)
    return int(np.clip(affordable, n_kept, min(CANDIDATES_PER_EXEMPLAR * n_kept, UNBOUNDED)))


def root_rows(tree: FuzzyTree) -> Floats:
    """The rows that the root keeps, in random order, shape (n_kept, n_columns)."""
    kept = tree.profile.exemplar[0]
    return np.asarray(tree.profile.exemplar_row[kept[kept >= 0]])


def keep_cover(tree: FuzzyTree, terms: Sequence[Terms], n_kept: int) -> FuzzyTree:
    """The tree with ``n_kept`` of its root's exemplars, which cover them all; no node but the root keeps any."""
    profile = tree.profile
    kept = profile.exemplar[0][profile.exemplar[0] >= 0]
    if len(kept) > n_kept:
        kept = kept[Neighbours.of(tree, terms).cover(n_kept)]
    exemplar = np.full((tree.n_nodes, len(kept)), -1, dtype=np.int32)
    exemplar[0] = np.arange(len(kept))
    return replace(tree, profile=replace(profile, exemplar=exemplar, exemplar_row=profile.exemplar_row[kept]))


def prior_of_all_rows(prior: Floats, sampled: Floats, total: Floats) -> Floats:
    """The prior of rules that were learned on a sample, for the frequencies of the classes among all rows.

    A sample has more rows of rare classes than their share. Weights of conditions do not depend on it; the prior does,
    by the logarithm of how much a class was favoured.

    Parameters
    ----------
    prior : ndarray of shape (n_classes,)
        Learned on the sample.
    sampled, total : ndarray of shape (n_classes,)
        Weight of each class in the sample and among all rows.

    Returns
    -------
    ndarray of shape (n_classes,)
        Scores with sum zero; the prior itself if the sample has the frequencies of all rows, up to rounding.
    """
    known = (sampled > 0) & (total > 0)
    share = np.divide(total, sampled, out=np.ones_like(prior), where=known) * (sampled.sum() / total.sum())
    favour = np.log(np.where(known, share, 1.0))
    if (np.abs(favour) < 1e-9).all():
        return prior
    return np.asarray(prior + favour - favour.mean())
