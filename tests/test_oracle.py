"""The compiled core against the oracle, the slow NumPy FERL in tests/oracle.

Trees are compared on the gain that each split reaches, as scikit-learn's splitter tests compare impurity: with tied
values several splits can be equally good, and which of them is chosen is rounding. On continuous data nothing is tied
and the trees must be the same, node by node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import oracle
from ferl._learn.consequents import consequents
from ferl._models.evidence import Evidence
from oracle_examples import (
    N_CONTINUOUS,
    N_TABLES,
    Case,
    continuous_case,
    fit_case,
    random_options,
    random_table,
    random_weight,
    rows_to_judge,
    tied_case,
)
from tree_examples import bare_tree, judge

RULES = ["dempster", "cautious", "chain", "vote"]


# ---------------------------------------------------------------------------------------------------------------------
# Growth
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replay:
    """One node of the core's tree: the gain of the split below it, and the split the oracle would make."""

    weight: float
    gain: oracle.Gain | None
    best: oracle.Split | None


@cache
def replay(case: Case) -> list[Replay]:
    tree, sample, options = case.tree, case.growth, case.options
    nodes = []
    for o, weight in enumerate(oracle.node_weights(sample, tree)):
        may_split = oracle.may_split(sample, weight, tree.depth[o], options)
        gain = None
        if not tree.is_leaf[o]:
            left = o + 1
            gain = oracle.ramp_gain(
                sample, weight, int(tree.feature[left]), oracle.Band(*tree.trapezoid[left, 2:]), options
            )
            assert may_split, "a node was split against a budget"
            assert gain is not None, "a child is lighter than min_leaf_weight, or the split gains nothing"
        nodes.append(
            Replay(float(weight.sum()), gain, oracle.best_split(sample, weight, options) if may_split else None)
        )
    return nodes


def assert_best_first(case: Case) -> None:
    """Replays growth: of all leaves the one with the largest gain is split, until a budget stops it."""
    tree, nodes, options = case.tree, replay(case), case.options
    least_gain = options.min_gain * case.growth.weight.sum()
    frontier, n_weak, n_splits = [0], 0, 0  # in order of birth: the first of equals is split
    while candidates := [o for o in frontier if nodes[o].best]:
        gains = {o: nodes[o].best.gain for o in candidates}
        top = gains[candidates[oracle.first_best(list(gains.values()))]]
        split = [o for o in candidates if not tree.is_leaf[o] and not top.better_than(gains[o])]
        if not split:
            break
        n_weak = n_weak + 1 if top.first < least_gain else 0
        assert n_weak <= options.patience
        frontier.remove(split[0])
        frontier.extend(np.flatnonzero(tree.parent == split[0]).tolist())
        n_splits += 1
    assert n_splits == (~tree.is_leaf).sum(), "a split was made before a better one"
    assert n_weak == 0, "weak splits that led nowhere were not taken back"
    assert len(tree.leaves) <= options.max_rules
    assert len(tree.leaves) == options.max_rules or not candidates or top.first < least_gain, "it stopped for no reason"


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_every_split_reaches_the_best_gain_of_its_node(seed: int) -> None:
    case = tied_case(seed)
    for o, node in enumerate(replay(case)):
        if node.gain is None:
            assert case.tree.gain[o] == 0
            continue
        assert node.best is not None
        assert case.tree.gain[o] == pytest.approx(node.gain.first, rel=1e-9, abs=1e-13 * node.weight)
        assert node.gain.first == pytest.approx(node.best.gain.first, rel=1e-9, abs=1e-13 * node.weight)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_growth_is_best_first_until_a_budget_stops_it(seed: int) -> None:
    assert_best_first(tied_case(seed))


def assert_same_tree(case: Case) -> None:
    expected = oracle.grow(case.growth, case.options)
    np.testing.assert_array_equal(case.tree.parent, expected.parent)
    np.testing.assert_array_equal(case.tree.feature, expected.feature)
    np.testing.assert_allclose(case.tree.trapezoid, expected.trapezoid, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(case.tree.gain, expected.gain, rtol=1e-9, atol=1e-12)
    assert case.tree.cuts is not None
    np.testing.assert_allclose(case.tree.cuts.interval, expected.interval, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(case.tree.cuts.share, expected.share, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(N_CONTINUOUS))
def test_without_ties_the_tree_is_the_oracles_node_by_node(seed: int) -> None:
    assert_same_tree(continuous_case(seed))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_below_a_millionth_of_their_weight_are_dropped(n_classes: int) -> None:
    """With wide bands many rows reach deep nodes weakly; one kept or dropped against the rule moves the gains."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3))
    y = np.digitize(X.mean(axis=1) + 2 * rng.normal(size=len(X)), [0.0, 1.5][: n_classes - 1])
    case = fit_case(X, y, None, 0, band_scale=6.0, min_leaf_weight=2.3, max_rules=40)
    assert_same_tree(case)
    firing = oracle.fire(case.tree, case.growth.x, gated=False)
    for low, high in ((1e-7, 1e-6), (1e-6, 1e-5)):
        assert ((firing > low) & (firing < high)).sum() > 5


def test_patience_goes_through_weak_splits_to_a_strong_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)  # the first split gains nearly nothing, those below it everything
    n_rules = []
    for patience in (0, 1, 2):
        case = fit_case(X, y, None, 0, min_gain=0.03, patience=patience, min_leaf_weight=2.3)
        assert_same_tree(case)
        n_rules.append(case.model.n_rules_)
    assert n_rules[0] == 1
    assert n_rules[1] == n_rules[2] >= 4


@pytest.mark.parametrize("criterion", ["cci", "entropy"])
@pytest.mark.parametrize("seed", range(N_CONTINUOUS))
def test_every_split_reaches_the_best_of_its_node_by_the_criterion(seed: int, criterion: str) -> None:
    case = continuous_case(seed, criterion)
    for o, node in enumerate(replay(case)):
        if node.gain is not None:
            assert node.best is not None
            assert case.tree.gain[o] == pytest.approx(node.gain.second, rel=1e-9, abs=1e-13 * node.weight)
            assert node.gain.first == pytest.approx(node.best.gain.first, rel=1e-9, abs=1e-12 * node.weight)


def test_with_cci_ties_are_broken_by_gini() -> None:
    n_ties = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 4])
        X, weight = rng.normal(size=(80, 20)), rng.uniform(1.0, 2.0, 80)
        y = (rng.random(80) < 0.1).astype(int)  # class 0 stays in the majority, whatever the split
        case = fit_case(X, y, weight, seed, criterion="cci", max_rules=2, n_banded_features=None)
        root = replay(case)[0]
        if root.best is not None and root.best.gain.first == 0:
            n_ties += 1
            assert root.gain is not None
            assert root.gain.second == pytest.approx(root.best.gain.second)
    assert n_ties > 10


@pytest.mark.parametrize("criterion", ["cci", "entropy"])
def test_by_another_criterion_the_tree_is_the_oracles_node_by_node(criterion: str) -> None:
    for seed in range(N_CONTINUOUS):
        assert_same_tree(continuous_case(seed, criterion))


def test_at_the_root_two_rows_are_heavy_enough_for_a_leaf_weight_of_two() -> None:
    """Sums of whole rows are exact, so the limit itself can be tested."""
    lightest = []
    for seed in range(15):
        rng = np.random.default_rng([seed, 5])
        X, y = random_table(rng, tied=False)
        case = fit_case(X, y, None, seed, max_rules=2, min_leaf_weight=2.0, band_scale=0.0, n_banded_features=None)
        assert_same_tree(case)
        lightest.append(case.tree.weight[1:].min(initial=np.inf))
    assert min(lightest) >= 2.0


def test_below_the_root_two_rows_are_heavy_enough_for_a_leaf_weight_of_two() -> None:
    for seed in (154, 190, 222, 268):
        rng = np.random.default_rng([seed, 2])
        X, y = random_table(rng, tied=False)
        weight, options = random_weight(rng, len(X)), random_options(rng) | {"min_leaf_weight": 2.0}
        assert_same_tree(fit_case(X, y, weight, seed, **options))


def test_a_band_narrower_than_rounding_is_the_neighbouring_numbers() -> None:
    X = 1e16 + 8.0 * np.repeat(np.arange(4), 10)[:, None]  # neighbouring numbers are 2 apart here
    case = fit_case(X, (X[:, 0] > X[15, 0]).astype(int), None, 0, n_resamples=1, max_rules=2)
    theta = 1e16 + 12
    np.testing.assert_array_equal(case.tree.trapezoid[1, 2:], [theta - 2, theta + 2])
    np.testing.assert_array_equal(case.tree.trapezoid, oracle.grow(case.growth, case.options).trapezoid)
    assert case.model.score(X, X[:, 0] > X[15, 0]) == 1.0


def test_the_random_cases_reach_every_branch() -> None:
    cases = [tied_case(seed) for seed in range(N_TABLES)] + [continuous_case(seed) for seed in range(N_CONTINUOUS)]
    splits = [(case, node.best) for case in cases for node in replay(case) if node.gain is not None and node.best]
    assert sum(case.model.n_rules_ > 5 for case in cases) > 30
    assert {1, 2, 3, 5, 10, 30} == {len(case.model.classes_) for case in cases}
    assert {1, 50} <= {case.X.shape[1] for case in cases}
    assert sum(best.is_one_mode for _, best in splits) > 5
    assert {best.is_one_mode for case, best in splits if case.options.band == "median_mad"} == {True, False}
    # Features further down the ranking got their turn because none before them had a valid band.
    assert any(best.rank >= (case.options.n_banded_features or 50) for case, best in splits)
    assert any(best.rank == 1 and case.options.n_banded_features == 2 for case, best in splits)
    # Growth went through weak splits to a strong one; it also gave up at weak splits.
    weak = [best.gain.first < case.options.min_gain * case.growth.weight.sum() for case, best in splits]
    assert any(weak)
    assert any(len(case.growth.x) < len(case.everything.x) for case in cases)
    assert any(len(case.everything.x) < (case.weight > 0).sum() for case in cases)  # equal rows were merged


# ---------------------------------------------------------------------------------------------------------------------
# Readings of the tree
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_class_weights_and_ranges_are_sums_over_all_rows(seed: int) -> None:
    case = tied_case(seed)
    x, weight = case.everything.x, case.everything.weight
    class_weight = oracle.sum_class_weight(case.tree, x, case.everything.y, weight, case.everything.n_classes)
    np.testing.assert_allclose(case.tree.class_weight, class_weight, rtol=1e-10, atol=1e-12 * weight.sum())
    np.testing.assert_array_equal(case.tree.support[1:], oracle.ranges(case.tree, x, weight)[1:])


@pytest.mark.parametrize("kind", ["raw", "laplace", "shrinkage"])
@pytest.mark.parametrize("seed", range(0, N_TABLES, 5))
def test_consequents_follow_their_definitions(seed: int, kind: str) -> None:
    tree = tied_case(seed).tree
    np.testing.assert_allclose(
        consequents(tree.class_weight, tree.parent, kind, 3.5),
        oracle.consequents(tree.class_weight, tree.parent, kind, 3.5),
        atol=1e-12,
    )


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("seed", range(N_TABLES))
def test_firings_agree(seed: int, gated: bool) -> None:
    case = tied_case(seed)
    X = rows_to_judge(case, seed, 300)  # more than one block
    firing = case.tree.fire(X, gated=gated, gate_margin=0.6)
    np.testing.assert_allclose(firing, oracle.fire(case.tree, X, gated, 0.6), rtol=0, atol=1e-12)


def test_a_gate_that_no_value_came_to_is_closed_to_all_but_missing_ones() -> None:
    whole = [-np.inf, -np.inf, np.inf, np.inf]
    tree = bare_tree(
        parent=np.array([-1, 0, 0], dtype=np.int32),
        feature=np.array([-1, 0, 0], dtype=np.int32),
        trapezoid=np.array([whole, [-np.inf, -np.inf, 0.0, 1.0], [0.0, 1.0, np.inf, np.inf]]),
        support=np.array([[-1.0, 1.0], [-1.0, 1.0], [np.inf, -np.inf]]),
        class_weight=np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 0.0]]),
        consequent=np.array([[0.6, 0.4], [0.5, 0.5], [0.9, 0.1]]),
    )
    X = np.array([[-1.0], [0.5], [3.0], [np.nan]])
    expected = oracle.fire(tree, X)
    np.testing.assert_allclose(expected[:, 2], [0.0, 0.0, 0.0, 1 / 3])
    np.testing.assert_allclose(tree.fire(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_support_deficits_agree(seed: int) -> None:
    case = tied_case(seed)
    X = rows_to_judge(case, seed, 300)
    np.testing.assert_allclose(case.model.support_deficit(X), oracle.support_deficit(case.tree, X), rtol=0, atol=1e-12)


def test_the_judged_rows_reach_every_branch() -> None:
    lost, n_leaves, conflict = [], [], []
    for seed in range(0, N_TABLES, 5):
        case = tied_case(seed)
        X = rows_to_judge(case, seed, 40)
        firing = case.tree.fire(X)[:, case.tree.leaves]
        lost.extend(1 - firing.sum(axis=1))
        n_leaves.extend((firing > 0).sum(axis=1))
        conflict.extend(case.model.predict_evidence(X).conflict)
    assert (np.array(lost) == 1).sum() > 20  # nothing fires
    assert ((np.array(lost) > 0.01) & (np.array(lost) < 0.99)).sum() > 20  # on the slope of a gate
    assert (np.array(lost) < 1e-12).sum() > 20
    assert (np.array(n_leaves) > 2).sum() > 20
    assert (np.array(conflict) > 0.1).sum() > 20


@pytest.mark.parametrize("combination", RULES)
@pytest.mark.parametrize("sources", ["leaves", "all"])
@pytest.mark.parametrize("seed", range(0, N_TABLES, 5))
def test_masses_agree(seed: int, sources: str, combination: str) -> None:
    case = tied_case(seed)
    X = rows_to_judge(case, seed, 40)
    for kind in ("raw", "shrinkage"):
        tree = replace(case.tree, consequent=consequents(case.tree.class_weight, case.tree.parent, kind))
        for discount, gated in ((0.0, True), (0.0, False), (4.0, True)):
            options = {"combination": combination, "sources": sources, "discount": discount, "gated": gated}
            reading = {"combination": combination, "sources": sources, "discount": discount, "support_gate": gated}
            evidence = judge(tree, X, **reading)
            expected = oracle.combine(tree, X, **options)
            np.testing.assert_allclose(evidence.belief, expected.belief, rtol=0, atol=1e-10)
            np.testing.assert_allclose(evidence.ignorance, expected.ignorance, rtol=0, atol=1e-10)
            np.testing.assert_allclose(evidence.conflict, expected.conflict, rtol=0, atol=1e-10)
            assert_sets_agree(evidence, expected)


def assert_sets_agree(evidence: Evidence, expected: oracle.Masses) -> None:
    """The same sets and labels, but for classes that rounding puts on the border."""
    plausibility = expected.belief + expected.ignorance[:, None]
    largest = expected.belief.max(axis=1, keepdims=True)
    differ = evidence.prediction_set() != oracle.prediction_set(expected)
    assert (np.abs(plausibility - largest)[differ] < 1e-10).all()
    label = evidence.pignistic.argmax(axis=1)
    best = expected.belief.max(axis=1)
    assert (expected.belief[np.arange(len(label)), label] >= best - 1e-10).all()
