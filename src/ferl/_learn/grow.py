"""Growth: from training rows and settings to a model, by learned splits or by words fixed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ferl import _core
from ferl._learn.categories import category_order, category_terms, restore
from ferl._learn.consequents import consequents, constrain, signs
from ferl._learn.mdlp import mdlp_partition
from ferl._learn.partitions import quantile_partition, triangular_partition, width_partition
from ferl._learn.pruning import prune
from ferl._learn.rows import Facts, Orders, Rows, Sampling, Summing
from ferl._learn.variants import check_variant
from ferl._model.model import Model, RuleWeights, Words
from ferl._model.neighbours import Neighbours
from ferl._model.novelty_scale import MOSTLY_ALL
from ferl._model.settings import Settings
from ferl._model.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._model.words import LinguisticVariable, Terms, arrange, terms
from ferl._tables import refuse_extreme_scales
from ferl._util.arrays import Floats, Ints
from ferl._util.progress import count_bar
from ferl._util.threads import n_threads

BUILDERS = {"quantile": quantile_partition, "triangles": triangular_partition, "width": width_partition}
UNBOUNDED = np.iinfo(np.int32).max  # no tree gets there
ALL_ROWS = 2**48
RARE_SHARE = 10  # of a sample, one part in so many is shared out equally among the classes
CANDIDATES_PER_EXEMPLAR = 4  # of wide rules; on five data sets 4 do as well as all rows, 2 reject 2 points less
MOST_COVER_STEPS = 2_000_000_000  # comparisons of two values, about a second
_CONDITIONS = ("parent", "feature", "trapezoid", "share", "category_start", "category")


@dataclass(frozen=True)
class Grown:
    """A tree before pruning, the words it speaks in (None: learned splits), and on how many rows it was grown.

    Of wide rules also their weights, and the rows among which those were chosen that the model keeps.
    """

    tree: FuzzyTree
    partition: Words | None
    n_growth_rows: int
    weights: RuleWeights | None = None
    candidates: Floats | None = None


def fit_model(settings: Settings, rows: Rows) -> Model:
    """Grow a tree, prune it, and settle how its evidence is read."""
    grown, facts = grow(settings, rows), rows.facts
    model = Model(
        settings.variant,
        prune(grown.tree, settings.ccp_alpha) if grown.weights is None else grown.tree,
        settings.reading,
        facts.classes,
        facts.schema,
        facts.missing_features,
        grown.partition,
        grown.n_growth_rows,
        grown.weights,
    )
    return model if grown.candidates is None else with_novelty(model, settings, grown.candidates)


def with_novelty(model: Model, settings: Settings, candidates: Floats) -> Model:
    """The model of wide rules that knows how novel its training rows are, where the rows it keeps do not tell.

    Parameters
    ----------
    model : Model
        Of wide rules.
    settings : Settings
        How it was learned.
    candidates : ndarray of shape (n_candidates, n_columns)
        Distinct training rows in random order, of which the model keeps some.

    Returns
    -------
    Model
    """
    weights = replace(model.rule_weights, novelty=None)
    known = None
    if len(candidates) and len(model.neighbours.rows) < MOSTLY_ALL * model.tree.weight[0]:
        n_most = n_candidates(settings, candidates.shape[1])
        known = model.measured_novelty(candidates, has_all=len(candidates) < n_most)
    return replace(model, weights=replace(weights, novelty=known))


def grow(settings: Settings, rows: Rows) -> Grown:
    """Grow a tree.

    Parameters
    ----------
    settings : Settings
        How to grow it.
    rows : Rows
        The training rows.

    Returns
    -------
    Grown
    """
    check_variant(settings)
    facts, threads = rows.facts, n_threads(settings.n_jobs)
    constraint = signs(settings, facts.names, facts.n_categories, facts.n_classes)
    seed = _seed_of(settings.random_state)
    orders = {j: category_order(own) for j, own in facts.category_weight.items()}
    with count_bar("growing rules", settings.max_rules, settings.verbose > 0) as report:
        sampling, sampler = _sampled(settings, rows, seed, orders)
        n_features = len(facts.schema.categories)
        refuse_extreme_scales(facts.schema, sampler.low[:n_features], sampler.high[:n_features])
        sample = sampler.finish(threads)
        partition = _choose_partition(settings, sample, facts)
        found, weights = None, None
        if partition is not None:
            found = category_terms(terms(partition), facts.categories, orders, facts.category_weight)
        if settings.adds_up:
            grown, weights = _grow_wide(settings, sample, sampler, found, constraint, seed, report)
        elif found is None:
            options = _split_options(settings, len(facts.names))
            # A class without weight has no rows; any unit will do.
            options["class_unit"] = np.where(facts.class_unit > 0, facts.class_unit, 1.0).tolist()
            options["monotone"] = [] if constraint is None else constraint.tolist()
            grown = _core.grow_tree(sample, options, report)
        else:
            found_terms = (found.feature, found.trapezoid, found.is_complement)
            grown = _core.grow_words(sample, *found_terms, _linguistic_options(settings), report)
        summing = Summing(
            {name: grown[name] for name in _CONDITIONS},
            sampling.n_categories,
            facts.n_classes,
            sampler.low,
            sampler.high,
            sampler.most_weight,
            n_exemplars(settings) if weights is None else n_candidates(settings, len(facts.names)),
            grown.pop("key_bound"),
            seed,
            sampling.columns,
            orders,
        )
        learned = rows.fold(summing, threads, report).finish()
        tree = restore(_tree(settings, grown | learned, found, facts.n_categories), orders, facts.category_weight)
        candidates = None
        if weights is not None:
            candidates = root_rows(tree)
            tree = keep_cover(tree, weights, n_exemplars(settings))
            prior = prior_of_all_rows(weights.prior, _class_totals(sample, facts.n_classes), tree.class_weight[0])
            weights = replace(weights, prior=prior)
        elif constraint is not None:
            tree = replace(tree, consequent=constrain(tree, constraint))
        if report is not None:
            report(len(tree.leaves))
    return Grown(tree, partition, sample.n_rows, weights, candidates)


def _seed_of(random_state: Any) -> int:
    """The seed of all draws of a fit."""
    return _seed_of_number(random_state) if type(random_state) is int else _drawn_seed(random_state)


def _drawn_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


# To seed a generator takes a tenth of the time of a small fit, and nearly all fits have the same few seeds.
_seed_of_number = lru_cache(maxsize=1024)(_drawn_seed)


def _grow_wide(
    settings: Settings,
    sample: _core.Sample,
    sampler: _core.Sampler,
    found: Terms | None,
    constraint: Ints | None,
    seed: int,
    report: Any,
) -> tuple[dict[str, Any], RuleWeights]:
    """Chains of conditions in the form of a tree, and the weights of evidence of the rules that they are."""
    options = {
        "max_rules": int(min(settings.max_rules, UNBOUNDED)),
        "max_conditions": int(settings.max_conditions),
        "prune": float(settings.prune),
        "min_rule_worth": float(settings.min_rule_worth),
        "monotone": [] if constraint is None else constraint.tolist(),
        "words": None if found is None else _plain_words(found),
        "n_threads": n_threads(settings.n_jobs),
        "seed": seed,
    }
    grown = _core.grow_wide(sample, options, report)
    weights = RuleWeights(
        grown["rule_node"],
        grown["weight"],
        grown["prior"],
        np.column_stack([sampler.low, sampler.high]),
        ridge=grown["ridge"],
    )
    n_nodes = len(grown["parent"])
    own = {name: grown[name] for name in _CONDITIONS}
    own["gain"], own["cuts"] = np.zeros(n_nodes), np.full((n_nodes, 3), np.nan)
    own["key_bound"] = np.zeros(n_nodes, dtype=np.uint64)
    own["key_bound"][0] = np.iinfo(np.uint64).max  # rules overlap, so that the root alone keeps rows, for all of them
    return own, weights


def _plain_words(found: Terms) -> tuple[Ints, Floats]:
    """Columns and trapezoids of all words but "not" another one, which makes wide rules longer and no better."""
    is_plain = found.is_complement == 0
    return found.feature[is_plain], found.trapezoid[is_plain]


def _class_totals(sample: _core.Sample, n_classes: int) -> Floats:
    """Weight of each class in a sample."""
    return np.bincount(sample.y, weights=sample.weight, minlength=n_classes).astype(np.float64)


def prior_of_all_rows(prior: Floats, sampled: Floats, total: Floats) -> Floats:
    """The prior of wide rules that were learned on a sample, for the frequencies of the classes among all rows.

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
        With the sum zero; the prior itself where the sample has the frequencies of all rows, but for rounding.
    """
    known = (sampled > 0) & (total > 0)
    share = np.divide(total, sampled, out=np.ones_like(prior), where=known) * (sampled.sum() / total.sum())
    favour = np.log(np.where(known, share, 1.0))
    if (np.abs(favour) < 1e-9).all():
        return prior
    return np.asarray(prior + favour - favour.mean())


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


def _tree(settings: Settings, grown: dict[str, Any], found: Terms | None, n_categories: Ints) -> FuzzyTree:
    """The tree that the core has grown."""
    cuts, start, membership = grown.pop("cuts"), grown.pop("category_start"), grown.pop("category")
    known = Profile.partly_known(grown.pop("known_weight"), grown["class_weight"].sum(axis=1))
    names = ("mean", "variance", "exemplar", "exemplar_row")
    profile = Profile(**{name: grown.pop(name) for name in names}, known_weight=known)
    return FuzzyTree(
        consequent=consequents(grown["class_weight"], grown["parent"], settings.consequents, settings.shrinkage),
        word=_words(grown, found),
        profile=profile,
        cuts=Cuts(cuts[:, :2].copy(), cuts[:, 2].copy()) if found is None and not settings.adds_up else None,
        categories=Categories(n_categories, start, membership) if n_categories.any() else None,
        **grown,
    )


def _choose_partition(settings: Settings, sample: _core.Sample, facts: Facts) -> Words | None:
    """The words that conditions are, from the rows that rules are grown on or as given; None: they are learned."""
    wish = settings.partition
    if settings.variant in ("deep", "medium"):
        # "quantile" was the default of all variants once: files and scripts have it.
        if wish is not None and not (isinstance(wish, str) and wish == "quantile"):
            raise ValueError(
                f'partition is given, but a {settings.variant} model learns its own conditions. Use variant="compact" '
                'or variant="wide" for rules in words, or leave partition out.'
            )
        return None
    if wish is None:
        return None
    if not isinstance(wish, str):
        return _arranged(wish, facts)
    built = _built_partition(settings, sample, facts.names)
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


def _built_partition(settings: Settings, sample: _core.Sample, names: list[str]) -> Words:
    wish = settings.partition
    if wish == "mdlp":
        return mdlp_partition(sample.x, sample.y, names, settings.n_sets, sample.weight)
    if wish not in BUILDERS:
        raise ValueError(
            f"partition is {wish!r}; it must be {', '.join(map(repr, (*BUILDERS, 'mdlp')))}, or the words themselves. "
            "To read them from a file, pass ferl.partition.load_partition(path)."
        )
    return BUILDERS[wish](sample.x, names, settings.n_sets, sample.weight)


def _words(grown: dict[str, Any], found: Terms | None) -> tuple[str, ...]:
    if found is None:
        return ()
    keys = zip(found.feature.tolist(), map(tuple, found.trapezoid.tolist()), strict=True)
    word = dict(zip(keys, found.word, strict=True))
    nodes = zip(grown["feature"].tolist(), map(tuple, grown["trapezoid"].tolist()), strict=True)
    return tuple("" if feature < 0 else word[feature, ends] for feature, ends in nodes)


def _common_options(settings: Settings) -> dict[str, Any]:
    return {
        "max_rules": int(min(settings.max_rules, UNBOUNDED)),
        "max_depth": int(min(settings.max_depth, UNBOUNDED)),
        "min_leaf_weight": float(settings.min_leaf_weight),
        "min_gain": float(settings.min_gain),
        "patience": int(min(settings.patience, UNBOUNDED)),
        "min_coverage": float(settings.min_coverage),
        "n_threads": n_threads(settings.n_jobs),
    }


def n_exemplars(settings: Settings) -> int:
    """Number of training rows that each node keeps, of wide rules the root alone."""
    return int(min(settings.n_exemplars, UNBOUNDED))


def n_candidates(settings: Settings, n_columns: int) -> int:
    """Number of random rows among which those that a wide model keeps are chosen."""
    n_kept = n_exemplars(settings)
    affordable = MOST_COVER_STEPS // max(n_kept * n_columns, 1)
    return int(np.clip(affordable, n_kept, min(CANDIDATES_PER_EXEMPLAR * n_kept, UNBOUNDED)))


def root_rows(tree: FuzzyTree) -> Floats:
    """The rows that the root keeps, in random order, shape (n_kept, n_columns)."""
    kept = tree.profile.exemplar[0]
    return np.asarray(tree.profile.exemplar_row[kept[kept >= 0]])


def keep_cover(tree: FuzzyTree, weights: RuleWeights, n_kept: int) -> FuzzyTree:
    """The tree with ``n_kept`` of its root's exemplars, which cover them all; no node but the root keeps any."""
    profile = tree.profile
    kept = profile.exemplar[0][profile.exemplar[0] >= 0]
    if len(kept) > n_kept:
        kept = kept[Neighbours.of(tree, weights.node, weights.weight).cover(n_kept)]
    exemplar = np.full((tree.n_nodes, len(kept)), -1, dtype=np.int32)
    exemplar[0] = np.arange(len(kept))
    return replace(tree, profile=replace(profile, exemplar=exemplar, exemplar_row=profile.exemplar_row[kept]))


def _split_options(settings: Settings, n_features: int) -> dict[str, Any]:
    return {
        **_common_options(settings),
        "criterion": settings.criterion,
        "n_resamples": int(settings.n_resamples),
        "band": settings.band,
        "band_scale": float(settings.band_scale),
        "two_mode": bool(settings.two_mode),
        "n_exemplars": n_exemplars(settings),
        "n_banded_features": min(settings.n_banded_features or n_features, n_features),
    }


def _linguistic_options(settings: Settings) -> dict[str, Any]:
    return {
        **_common_options(settings),
        "min_rule_worth": float(settings.min_rule_worth),
        "soft_share": 1.0 if settings.criterion == "consistent" else 0.0,
    }
