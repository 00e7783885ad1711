"""The compiled core against the oracle on tables with categories and missing values.

Weights are drawn at random, or all ones on tables with numbers, so that no two categories and no two cuts tie; then
trees must be the same, node by node.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.utils import check_random_state

import oracle
from ferl import FERLClassifier, FERLTreeClassifier, FuzzyTree
from oracle_examples import random_options
from table_examples import Mixed, mixed_table, rows_beside
from tree_examples import judge

Floats = NDArray[np.float64]
N_TABLES = 60
# A side that is as heavy as it must be but for rounding; mirrored classes; ramps of two features that gain the same.
FOUND_BY_CAMPAIGNS = (10_031_245, 10_043_005, 10_050_589, 10_052_929)


@dataclass(frozen=True, eq=False)
class TableCase:
    """A random table, the tree the core made of it, and the oracle's view of the same rows.

    ``order`` has, for each categorical feature, its categories by what they hold: the codes that growth works with.
    """

    table: Mixed
    model: FERLClassifier
    options: oracle.GrowthOptions
    growth: oracle.Sample
    everything: oracle.Sample
    order: dict[int, NDArray[np.intp]]

    @property
    def tree(self) -> FuzzyTree:
        return self.model.tree_

    @property
    def rows(self) -> oracle.Sample:
        """All distinct rows, with the codes that the finished tree works with."""
        x = self.everything.x.copy()
        for j, order in self.order.items():
            known = ~np.isnan(x[:, j])
            x[known, j] = order[x[known, j].astype(int)]
        return replace(self.everything, x=x)


@cache
def table_case(seed: int, criterion: str = "gini") -> TableCase:
    rng = np.random.default_rng([seed, 6])
    table = mixed_table(
        rng,
        n=int(rng.integers(60, 180)),
        n_numbers=int(rng.integers(1, 4)),
        n_categories=[(4,), (2, 5), (12, 3), (3, 3, 3), (30,)][rng.integers(5)],
        n_classes=int(rng.choice([2, 2, 3, 5])),
        missing=float(rng.choice([0.0, 0.1, 0.4])),
    )
    weight = rng.uniform(0.3, 3.0, len(table.y)) if rng.random() < 0.7 else np.ones(len(table.y))
    model = FERLTreeClassifier("deep", random_state=seed, criterion=criterion, **random_options(rng))
    return make_case(table, weight, model, seed)


def make_case(table: Mixed, weight: Floats, model: FERLClassifier, seed: int) -> TableCase:
    model.fit(table.frame, table.y, weight)
    codes = np.searchsorted(model.classes_, table.y).astype(np.int32)
    x, n_categories, n_classes = model.columns_.encode(table.frame), model.columns_.n_categories, len(model.classes_)
    order = {}
    for j in np.flatnonzero(n_categories):
        known = ~np.isnan(x[:, j])
        held = oracle.tally(x[known, j], codes[known], weight[known], int(n_categories[j]), n_classes)
        order[int(j)] = oracle.category_order(held)
        x[known, j] = np.argsort(order[int(j)])[x[known, j].astype(int)]
    core_seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
    options = oracle.GrowthOptions(**{field.name: getattr(model, field.name) for field in fields(oracle.GrowthOptions)})

    def sample(n_rows: int) -> oracle.Sample:
        return oracle.take_sample(x, codes, weight, n_classes, core_seed, n_rows, options.n_resamples, n_categories)

    return TableCase(table, model, options, sample(model.growth_rows or len(x)), sample(len(x)), order)


def assert_same_tree(case: TableCase) -> None:
    expected, tree = oracle.grow(case.growth, case.options), case.tree
    np.testing.assert_array_equal(tree.parent, expected.parent)
    np.testing.assert_array_equal(tree.feature, expected.feature)
    np.testing.assert_allclose(tree.gain, expected.gain, rtol=1e-9, atol=1e-12)
    assert tree.share is not None
    assert expected.missing is not None
    np.testing.assert_allclose(tree.share, expected.missing, rtol=1e-9)
    assert tree.cuts is not None
    np.testing.assert_allclose(tree.cuts.share, expected.share, rtol=0, atol=1e-12)
    for o in range(1, tree.n_nodes):
        category = expected.category[o]
        if category is None:
            np.testing.assert_allclose(tree.trapezoid[o], expected.trapezoid[o], rtol=1e-9, atol=1e-12)
            continue
        assert tree.categories is not None
        own = tree.categories.of(o)[case.order[int(tree.feature[o])]]
        np.testing.assert_allclose(own, category, rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "cci"])
@pytest.mark.parametrize("seed", [*range(N_TABLES), *FOUND_BY_CAMPAIGNS])
def test_the_tree_is_the_oracles_node_by_node(seed: int, criterion: str) -> None:
    assert_same_tree(table_case(seed, criterion))


def test_equal_rows_are_divided_among_the_parts() -> None:
    for seed in range(10):
        table = mixed_table(np.random.default_rng([seed, 7]), 300, n_numbers=0, n_categories=(3, 4), missing=0.1)
        options = {"max_rules": 6, "max_depth": 4, "min_gain": 0.0, "criterion": "gini", "min_leaf_weight": 2.3}
        case = make_case(table, np.ones(300), FERLTreeClassifier("deep", random_state=seed, **options), seed)
        assert len(case.growth.x) < 60
        assert_same_tree(case)


def test_the_random_cases_reach_every_branch() -> None:
    cases = [table_case(seed) for seed in range(N_TABLES)]
    splits = [(case, o) for case in cases for o in range(1, case.tree.n_nodes)]
    kinds = [case.model.columns_.n_categories[case.tree.feature[o]] > 0 for case, o in splits]
    assert min(sum(kinds), len(kinds) - sum(kinds)) > 100
    soft = [case.tree.categories.of(o) for case, o in splits if case.tree.categories is not None]
    assert sum(((own > 0) & (own < 1)).any() for own in soft) > 30
    assert sum(np.isnan(own).any() for own in soft) > 10  # categories that a split has not seen
    assert {2, 3, 5} == {len(case.model.classes_) for case in cases}
    assert any(len(case.growth.x) < len(case.everything.x) for case in cases)


# ---------------------------------------------------------------------------------------------------------------------
# Readings of the tree
# ---------------------------------------------------------------------------------------------------------------------


def judged(case: TableCase, seed: int) -> Floats:
    return case.model.columns_.encode(rows_beside(case.table, seed, 80))


@pytest.mark.parametrize("seed", range(0, N_TABLES, 2))
def test_class_weights_are_sums_over_all_rows(seed: int) -> None:
    case = table_case(seed)
    rows = case.rows
    class_weight = oracle.sum_class_weight(case.tree, rows.x, rows.y, rows.weight, rows.n_classes)
    np.testing.assert_allclose(case.tree.class_weight, class_weight, rtol=1e-10, atol=1e-12 * rows.weight.sum())
    ranges, is_number = oracle.ranges(case.tree, rows.x, rows.weight), rows.n_categories[case.tree.feature] == 0
    is_number[0] = False
    np.testing.assert_array_equal(case.tree.support[is_number], ranges[is_number])


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_firings_and_deficits_agree(seed: int) -> None:
    case = table_case(seed)
    X = judged(case, seed)
    for gated in (True, False):
        firing = case.tree.fire(X, gated=gated, gate_margin=0.6)
        np.testing.assert_allclose(firing, oracle.fire(case.tree, X, gated, 0.6), rtol=0, atol=1e-12)
    lost = case.model.support_deficit(rows_beside(case.table, seed, 80))
    np.testing.assert_allclose(lost, oracle.support_deficit(case.tree, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("combination", ["dempster", "cautious", "chain", "vote"])
@pytest.mark.parametrize("seed", range(0, N_TABLES, 6))
def test_masses_agree(seed: int, combination: str) -> None:
    case = table_case(seed)
    X = judged(case, seed)[:40]
    for sources in ("leaves", "all"):
        evidence = judge(case.tree, X, combination=combination, sources=sources)
        expected = oracle.combine(case.tree, X, combination=combination, sources=sources)
        np.testing.assert_allclose(evidence.belief, expected.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(evidence.ignorance, expected.ignorance, rtol=0, atol=1e-10)
        np.testing.assert_allclose(evidence.conflict, expected.conflict, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(0, N_TABLES, 2))
def test_moments_agree(seed: int) -> None:
    case = table_case(seed)
    mean, variance = oracle.moments(case.tree, case.rows)
    profile = case.tree.profile
    np.testing.assert_allclose(profile.mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(profile.variance, variance, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", range(0, N_TABLES, 3))
def test_novelty_agrees(seed: int) -> None:
    case = table_case(seed)
    frame = rows_beside(case.table, seed, 40)
    X = case.model.columns_.encode(frame)
    candidates = oracle.neighbour_candidates(case.tree, case.rows, X, 128)
    nearest = np.array([parts.sum(axis=1).min() for parts in candidates])
    np.testing.assert_allclose(case.model.novelty(frame), nearest, rtol=1e-5, atol=1e-9)
    residual = oracle.residual_novelty(case.tree, case.rows, X)
    found = case.model.novelty_attribution(frame, measure="residual")
    np.testing.assert_allclose(found, residual, rtol=1e-5, atol=1e-8)


# ---------------------------------------------------------------------------------------------------------------------
# The order of categories
# ---------------------------------------------------------------------------------------------------------------------


def quality_of(table: Floats, left: NDArray[np.bool_]) -> float:
    sides = table[left].sum(axis=0), table[~left].sum(axis=0)
    return float(sum((side**2).sum() / side.sum() for side in sides))


def test_categories_of_classes_that_mirror_each_other_are_split() -> None:
    """Half of "a" is of class 0 and half of "b" of class 2: they differ at a right angle to the first direction."""
    frame = pd.DataFrame({"c0": pd.Categorical(["a"] * 40 + ["b"] * 40)})
    y = np.repeat([0, 1, 2, 1], 20)
    options = {"max_rules": 2, "max_depth": 4, "min_gain": 0.0, "criterion": "gini"}
    model = FERLTreeClassifier("deep", random_state=0, **options)
    assert_same_tree(make_case(Mixed(frame, y), np.ones(80), model, 0))
    assert model.n_rules_ == 2
    np.testing.assert_allclose(model.predict_proba(frame)[[0, -1]], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], atol=0.05)


MIRRORED = [
    [[20, 20, 0], [0, 20, 20]],
    [[20, 20, 0], [0, 20, 20], [10, 20, 10], [10, 21, 10]],
    [[20, 20, 0], [0, 20, 20], [12, 16, 12], [8, 24, 8]],
    [[40, 40, 0], [0, 40, 40], [3, 7, 3]],
    [[40, 40, 0], [0, 40, 40], [8, 4, 8]],
    [[20, 10, 0, 10], [0, 10, 20, 10], [10, 20, 10, 0], [10, 0, 10, 20]],
]


def largest_spread(table: Floats) -> tuple[float, Floats]:
    """The most that the class shares of categories differ along any direction, and what their products sum to."""
    own, total = table.sum(axis=1), table.sum(axis=0) / table.sum()
    away = table / own[:, None] - total
    spread = (away * own[:, None]).T @ away
    return float(np.linalg.eigvalsh(spread)[-1]), spread


@pytest.mark.parametrize("counts", MIRRORED)
def test_classes_that_mirror_each_other_do_not_hide_what_differs(counts: list[list[int]]) -> None:
    table = np.array(counts, dtype=float)
    most, spread = largest_spread(table)
    direction = oracle.principal_direction(table)
    assert direction @ spread @ direction > 0.999 * most
    side = oracle.best_subset(table, direction, 1.0)
    assert side is not None
    assert side[0] != side[1]


def test_the_direction_found_has_most_of_the_spread() -> None:
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(300):
        p, q, r, s, t = rng.integers(1, 40, 5)
        table = np.array([[p, q, r], [r, q, p], [s, t, s]], dtype=float)
        most, spread = largest_spread(table)
        direction = oracle.principal_direction(table)
        shares.append(direction @ spread @ direction / max(most, 1e-300) if most > 1e-12 else 1.0)
    assert min(shares) > 0.79


@pytest.mark.parametrize("counts", MIRRORED[:-1])  # in the last one two directions have equal spread
def test_a_tree_splits_mirrored_categories(counts: list[list[int]]) -> None:
    frame = pd.DataFrame({"c0": [f"k{k}" for k, row in enumerate(counts) for _ in range(sum(row))]})
    y = np.array([c for row in counts for c, n in enumerate(row) for _ in range(n)])
    options = {"max_rules": 4, "max_depth": 4, "min_gain": 0.0, "criterion": "gini"}
    case = make_case(Mixed(frame, y), np.ones(len(y)), FERLTreeClassifier("deep", random_state=0, **options), 0)
    expected = oracle.grow(case.growth, case.options)
    np.testing.assert_allclose(case.tree.gain[0], expected.gain[0], rtol=1e-9)  # below, mirrored sides tie
    first, second = case.model.predict_proba(pd.DataFrame({"c0": ["k0", "k1"]}))
    assert np.abs(first - second).max() > 0.2


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_best_cut_of_the_order_is_the_best_subset_or_near_it(n_classes: int) -> None:
    """With two classes and equally heavy categories it is the best of all subsets, as Breiman et al. proved."""
    rng = np.random.default_rng(n_classes)
    reached = []
    for _ in range(40):
        table = rng.dirichlet(np.ones(n_classes), size=7) * 100
        side = oracle.best_subset(table, oracle.principal_direction(table), 1.0)
        assert side is not None
        subsets = [np.array(left) for left in product([True, False], repeat=7) if any(left) and not all(left)]
        best, none = max(quality_of(table, left) for left in subsets), (table.sum(axis=0) ** 2).sum() / table.sum()
        reached.append((quality_of(table, side == 1) - none) / (best - none))
    assert min(reached) > (1 - 1e-12 if n_classes == 2 else 0.6)
    assert np.mean(reached) > 0.95
