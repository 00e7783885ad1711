"""Laws of growth, routing and pruning, each the name of a test."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.utils import check_random_state

import oracle
from estimators import KINDS, TREES, classifier
from ferl import FuzzyTree
from ferl._learn.consequents import consequents
from ferl._learn.grow_trees import node_impurity, prune, pruning_path
from ferl._tables import class_factors
from ferl.streaming import fit_batches
from law_examples import (
    LAW,
    RULES,
    Floats,
    Table,
    assert_identical,
    fit,
    impurity,
    rows_near,
    tables,
)
from oracle.class_weights import class_weights
from table_examples import mixed_table
from tree_examples import judge


def test_the_tables_grow_real_trees() -> None:
    """The laws below are not checked on stumps alone."""
    n_rules = []

    @LAW
    @given(tables())
    def collect(table: Table) -> None:
        n_rules.append(fit(table).n_rules_)

    collect()
    assert sum(n > 5 for n in n_rules) > len(n_rules) / 2
    assert 1 in n_rules


@LAW
@given(tables())
def test_stored_gains_are_the_fuzzy_gini_decrease_and_never_negative(table: Table) -> None:
    X, y = table
    model = fit(table)
    tree = model.tree_
    seed = int(check_random_state(0).randint(np.iinfo(np.int32).max))
    sample = oracle.take_sample(X, y.astype(np.int32), np.ones(len(X)), len(model.classes_), seed, len(X), 1)
    weights = oracle.node_weights(sample, tree)
    assert (tree.gain >= 0).all()
    assert (tree.gain[tree.is_leaf] == 0).all()
    for o in np.flatnonzero(~tree.is_leaf):
        left = oracle.Band(*tree.trapezoid[o + 1, 2:]).left(sample.x[:, tree.feature[o + 1]])
        to_left, to_right = sample.class_weight(weights[o] * left), sample.class_weight(weights[o] * (1 - left))
        total, alpha = weights[o].sum(), to_left.sum() / weights[o].sum()
        distance = ((to_left / to_left.sum() - to_right / to_right.sum()) ** 2).sum()
        assert tree.gain[o] == pytest.approx(alpha * (1 - alpha) * distance * total, rel=1e-9, abs=1e-12 * total)
        decrease = impurity(to_left + to_right) - impurity(to_left) - impurity(to_right)
        assert tree.gain[o] == pytest.approx(decrease, rel=1e-9, abs=1e-12 * total)


@LAW
@given(tables(), st.sampled_from(["gini", "entropy", "cci"]), st.sampled_from([None, 40]))
def test_gini_impurity_never_rises_down_the_tree(table: Table, criterion: str, growth_rows: int | None) -> None:
    tree = fit(table, criterion=criterion, growth_rows=growth_rows).tree_
    for o in np.flatnonzero(~tree.is_leaf):
        children = tree.class_weight[tree.parent == o]
        np.testing.assert_allclose(children.sum(axis=0), tree.class_weight[o], atol=1e-12 * tree.weight[0])
        assert impurity(children).sum() <= impurity(tree.class_weight[o]) + 1e-12 * tree.weight[0]


@LAW
@given(tables(), st.sampled_from(["raw", "laplace", "shrinkage"]), st.floats(0, 1e6))
def test_consequents_are_distributions(table: Table, kind: str, shrinkage: float) -> None:
    model = fit(table, consequents=kind, **({"shrinkage": shrinkage} if kind == "shrinkage" else {}))
    assert (model.tree_.consequent >= 0).all()
    np.testing.assert_allclose(model.tree_.consequent.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("parent_of_last", [0, 2])
def test_a_node_without_rows_says_what_its_parent_says(parent_of_last: int) -> None:
    class_weight = np.array([[3.0, 1.0], [3.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    parent = np.array([-1, 0, 0, parent_of_last], dtype=np.int32)
    for kind, shrinkage in (("raw", 5.0), ("shrinkage", 5.0), ("shrinkage", 0.0)):
        p = consequents(class_weight, parent, kind, shrinkage)
        np.testing.assert_allclose(p[2:], [[0.75, 0.25]] * 2, atol=1e-15)


# ---------------------------------------------------------------------------------------------------------------------
# Fits that must agree to the last bit
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_doubling_a_weight_is_duplicating_the_row(table: Table, seed: int) -> None:
    X, y = table
    times = np.random.default_rng(seed).integers(1, 4, len(X))
    weighted = fit(table, times.astype(float))
    assert_identical(weighted.tree_, fit((X.repeat(times, axis=0), y.repeat(times))).tree_)


CLASS_WEIGHTS = st.lists(st.floats(1e-3, 1e3) | st.sampled_from([0.1, 0.4, 0.7, 1 / 3, 1.0]), min_size=6, max_size=6)


@LAW
@given(CLASS_WEIGHTS, st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any))
def test_class_weights_are_those_of_the_oracle(factors: list[float], totals: list[int]) -> None:
    found = class_factors(dict(enumerate(factors)), np.arange(6), np.array(totals, dtype=float))
    assert found.tolist() == class_weights(factors, totals)
    np.testing.assert_allclose(found / found[0], np.array(factors) / factors[0], rtol=1e-4)


@LAW
@given(
    table=tables(),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    factors=st.none() | CLASS_WEIGHTS,
    has_cases=st.booleans(),
    is_stream=st.booleans(),
)
def test_weight_seven_is_the_row_seven_times_with_any_class_weights(
    table: Table, seed: int, kind: str, factors: list[float] | None, has_cases: bool, is_stream: bool
) -> None:
    """1.4 + 1.4 + 1.4 is not 3 * 1.4 in doubles, and candidates that tie were decided by the difference."""
    X, y, rng = *table, np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < rng.choice([0.0, 0.2]), np.nan, X)
    times = rng.choice([1, 2, 3, 5, 7], len(X))
    classes = np.unique(y).tolist()
    options: dict[str, Any] = {"random_state": 0, "max_rules": 8, "missing_conditions": seed % 2 == 0}
    options["categorical_features"] = [0] if np.unique(X[:, 0]).size < 20 else None
    options["class_weight"] = dict(zip(classes, factors, strict=False)) if factors else "balanced"
    options |= {} if kind in TREES else {"cases": has_cases}
    weighted = classifier(kind, **options).fit(X, y, times.astype(float))
    order = rng.permutation(np.arange(len(X)).repeat(times))
    if is_stream:
        halves = np.array_split(order, 2)
        repeated = fit_batches([(X[half], y[half]) for half in halves], estimator=classifier(kind, **options))
    else:
        repeated = classifier(kind, **options).fit(X[order], y[order])
    assert_identical(weighted.tree_, repeated.tree_)
    rows = rows_near(np.nan_to_num(X), seed)
    assert weighted.predict_proba(rows).tobytes() == repeated.predict_proba(rows).tobytes()
    one, other = weighted.predict_evidence(rows), repeated.predict_evidence(rows)
    assert one.belief.tobytes() == other.belief.tobytes()
    assert one.ignorance.tobytes() == other.ignorance.tobytes()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 0.4}])
def test_curves_and_maps_take_weight_three_for_the_row_three_times_with_class_weights(class_weight: Any) -> None:
    table = mixed_table(np.random.default_rng(3), n=1100, n_numbers=3)
    frame, y = table.frame.round(1), table.y
    y[:70] = 1  # classes of unequal size
    times = np.random.default_rng(4).choice([1, 2, 3, 5, 7], len(y))
    model = classifier("rules", random_state=0, class_weight=class_weight)
    weighted = model.fit(frame, y, times.astype(float)).model_
    order = np.arange(len(y)).repeat(times)
    repeated = clone(model).fit(frame.iloc[order], y[order]).model_
    assert weighted.curves is not None
    assert weighted.curves.value.tobytes() == repeated.curves.value.tobytes()
    assert weighted.rules.weight.tobytes() == repeated.rules.weight.tobytes()


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_weight_zero_is_leaving_the_row_out(table: Table, seed: int) -> None:
    X, y = table
    rng = np.random.default_rng(seed)
    ghosts = rng.integers(len(X), size=20)
    place = rng.integers(len(X), size=20)
    with_ghosts = np.insert(X, place, X[ghosts] * 7 + 1, axis=0), np.insert(y, place, y[ghosts])
    weight = np.insert(np.ones(len(X)), place, 0.0)
    assert_identical(fit(with_ghosts, weight).tree_, fit(table).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(table: Table, seed: int) -> None:
    X, y = table
    rng = np.random.default_rng(seed)
    weight, order = rng.uniform(0.5, 3.0, len(X)), rng.permutation(len(X))
    assert_identical(fit(table, weight).tree_, fit((X[order], y[order]), weight[order]).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter_to_splits_chosen_on_a_sample(table: Table, seed: int) -> None:
    X, y = table
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = fit(table, growth_rows=25).tree_, fit((X[order], y[order]), growth_rows=25).tree_
    for name in ("parent", "feature", "trapezoid", "support", "gain"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.class_weight, other.class_weight, rtol=1e-12)


def test_the_order_of_rows_does_not_matter_to_class_weights_when_splits_are_chosen_on_a_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y, order = (X[:, 0] + X[:, 1] > 0).astype(int), rng.permutation(300)
    assert_identical(fit((X, y), growth_rows=80).tree_, fit((X[order], y[order]), growth_rows=80).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_halving_all_weights_below_one_on_average_changes_nothing(table: Table, seed: int, halvings: int) -> None:
    weight = np.random.default_rng(seed).uniform(0.1, 0.9, len(table[0]))
    assert_identical(fit(table, weight).tree_, fit(table, weight * 0.5**halvings).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.floats(1e-9, 1.0))
def test_scaling_down_weights_below_one_on_average_changes_nothing(table: Table, seed: int, factor: float) -> None:
    weight = np.random.default_rng(seed).uniform(0.1, 0.9, len(table[0]))
    # Not a round number: whether two draws of a row weigh at least 2.0 can depend on rounding.
    one, other = (fit(table, w, min_leaf_weight=2.3).tree_ for w in (weight, weight * factor))
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_allclose(one.trapezoid, other.trapezoid, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.class_weight, other.class_weight, rtol=1e-9, atol=1e-9)


def test_equal_weights_below_one_are_no_weights() -> None:
    table = load_breast_cancer(return_X_y=True)
    one, other = fit(table, max_rules=150).tree_, fit(table, np.full(569, 0.3), max_rules=150).tree_
    np.testing.assert_array_equal(one.feature, other.feature)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "cci"])
def test_threads_do_not_decide_which_of_two_equal_nodes_is_split(
    criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the first split both sides can be made pure, and by balanced weights gain the same but for rounding."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    for seed in (15, 18, 39):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(4), rng.integers(8, 40, 4))
        sides = (10 * (y >= 2), np.where(y < 2, 10 * (y % 2), 5), np.where(y >= 2, 10 * (y % 2), 5))
        noise = 1200  # features: so many cells that threads score both sides at once
        X = np.hstack([np.column_stack(sides) + rng.random((len(y), 3)), rng.random((len(y), noise))])
        trees = [
            fit((X, y), max_rules=3, n_jobs=n_jobs, class_weight="balanced", criterion=criterion).tree_
            for n_jobs in (1, 2, 4)
        ]
        for tree in trees[1:]:
            assert_identical(tree, trees[0])


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    # Threads start above 3,000 pairs of row and feature; sums over rows go to threads by 2,048 rows.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 9))
    y = (X[:, 0] > 0) + (X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0.5).astype(int)
    new = X[:9_000] * 1.7
    models = [fit((X, y), n_jobs=n_jobs, max_rules=12, n_banded_features=2) for n_jobs in (1, 2, 4)]
    assert models[0].n_rules_ == 12
    for model in models[1:]:
        assert_identical(model.tree_, models[0].tree_)
        for combination in RULES:
            one, other = (m.reading(combination=combination).predict_evidence(new) for m in (models[0], model))
            for name in ("belief", "ignorance", "conflict"):
                assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), (combination, name)
        assert model.support_deficit(new).tobytes() == models[0].support_deficit(new).tobytes()
        for measure in ("neighbour", "residual"):
            one, other = (m.novelty_attribution(new, measure=measure) for m in (models[0], model))
            assert one.tobytes() == other.tobytes(), measure
        fired = [m.tree_.fire(new, n_threads=n).tobytes() for m, n in ((models[0], 1), (model, 4))]
        assert fired[0] == fired[1]


def test_neither_threads_nor_equal_rows_change_what_is_kept_of_a_table_with_categories(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows three times are rows of weight three, also where threads read categories and keep exemplars."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    monkeypatch.setattr("ferl._util.threads.WORTH_THREADS", 1)
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, (40, 40, 6, 9), size=(5_000, 4)), axis=0)
    y = (codes[:, 0] + 5 * (codes[:, 2] % 3) + rng.normal(0, 5, len(codes)) > 25).astype(int)
    frame = pd.DataFrame(
        {
            "x": codes[:, 0] / 8,
            "z": np.where(codes[:, 1] == 0, np.nan, codes[:, 1]),
            "shape": pd.Categorical([None if code == 5 else f"shape {code}" for code in codes[:, 2]]),
            "town": [f"town {code}" for code in codes[:, 3]],
        }
    )
    places = rng.permutation(np.repeat(np.arange(len(y)), 3))
    settings: dict[str, Any] = {"kind": "deep", "random_state": 0, "max_rules": 12, "n_exemplars": 16}
    settings |= {"growth_rows": 1_000}
    expected = classifier(**settings).fit(frame, y, np.full(len(y), 3.0))
    assert len(expected.tree_.leaves) == 12
    for n_jobs in (1, 2, 5):
        model = classifier(n_jobs=n_jobs, **settings).fit(frame.iloc[places], y[places])
        assert model.columns_ == expected.columns_
        assert_identical(model.tree_, expected.tree_)


# ---------------------------------------------------------------------------------------------------------------------
# Routing
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_leaf_firings_sum_to_one_inside_the_support(table: Table, seed: int) -> None:
    tree = fit(table).tree_
    X = rows_near(table[0], seed)
    firing, gates = tree.fire(X), np.ones((len(X), tree.n_nodes))
    for o in range(1, tree.n_nodes):
        gates[:, o] = oracle.gate(tree.support[o], X[:, tree.feature[o]])
    reached = firing[:, np.maximum(tree.parent, 0)] > 0
    inside = ((gates == 1) | ~reached).all(axis=1)
    assert inside.any()
    np.testing.assert_allclose(firing[inside][:, tree.leaves].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    ungated = tree.fire(X, gated=False)
    np.testing.assert_allclose(ungated[:, tree.leaves].sum(axis=1), 1.0, rtol=0, atol=1e-12)


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.floats(0.05, 5.0))
def test_support_deficits_decompose_the_lost_routing_mass(table: Table, seed: int, margin: float) -> None:
    model = fit(table, gate_margin=margin)
    far = np.full((2, table[0].shape[1]), 1e300) * [[1.0], [-1.0]]
    X = np.vstack([rows_near(table[0], seed), far])
    lost = model.support_deficit(X)
    firing = model.tree_.fire(X, gate_margin=margin)
    assert (lost >= 0).all()
    np.testing.assert_allclose(lost.sum(axis=1), 1 - firing[:, model.tree_.leaves].sum(axis=1), rtol=0, atol=1e-12)
    assert (lost[-2:].sum(axis=1) == (1.0 if model.n_rules_ > 1 else 0.0)).all()


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_the_soft_vote_is_lipschitz_inside_the_support(table: Table, seed: int) -> None:
    model = fit(table)
    rng = np.random.default_rng(seed)
    X = table[0][rng.integers(len(table[0]), size=200)]
    reach = rng.choice([1e-6, 1e-3, 0.1, 1.0], size=(200, 1)) * np.ptp(table[0], axis=0)
    step = reach * rng.normal(size=X.shape) * (rng.random(X.shape) < 0.5)  # one feature alone, often

    def vote(rows: Floats, gated: bool) -> Floats:
        return judge(model.tree_, rows, combination="vote", support_gate=gated).belief

    for gated in (True, False):
        inside = np.ones(len(X), dtype=bool)
        if gated:
            lost = model.support_deficit(np.vstack([X, X + step])).sum(axis=1)
            inside = (lost[: len(X)] == 0) & (lost[len(X) :] == 0)
            assert inside.any()
        change = np.abs(vote(X + step, gated) - vote(X, gated)).sum(axis=1)
        bound = model.lipschitz_ * np.abs((X + step) - X).max(axis=1)
        assert (change <= bound + 1e-12)[inside].all()


def test_the_lipschitz_bound_is_reached_by_one_split_between_pure_classes() -> None:
    X = np.linspace(0, 1, 40)[:, None]
    model = fit((X, (X[:, 0] > 0.5).astype(int)), max_rules=2, consequents="raw", band_scale=2.0)
    low, high = model.tree_.trapezoid[1, 2:]
    tree = replace(model.tree_, consequent=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    vote = judge(tree, np.array([[low], [high]]), combination="vote", support_gate=False).belief
    assert np.abs(vote[1] - vote[0]).sum() == pytest.approx(2.0)
    assert model.lipschitz_ * (high - low) == pytest.approx(2.0)


# ---------------------------------------------------------------------------------------------------------------------
# Pruning
# ---------------------------------------------------------------------------------------------------------------------


def node_names(tree: FuzzyTree) -> set[tuple[Any, ...]]:
    """Each node by the conditions on its path: the same in a tree and its subtrees."""
    return {tuple((int(tree.feature[o]), *tree.trapezoid[o]) for o in tree.path(node)) for node in range(tree.n_nodes)}


def least_cost(tree: FuzzyTree, alpha: float) -> float:
    """The smallest impurity + alpha * rules of all subtrees, by dynamic programming."""
    cost = node_impurity(tree) + alpha
    for o in range(tree.n_nodes - 1, -1, -1):
        children = np.flatnonzero(tree.parent == o)
        if len(children):
            cost[o] = min(cost[o], cost[children].sum())
    return float(cost[0])


def cost_of(tree: FuzzyTree, alpha: float) -> float:
    return float(node_impurity(tree)[tree.leaves].sum() + alpha * len(tree.leaves))


@LAW
@given(tables())
def test_the_pruning_path_ascends_and_its_subtrees_are_nested(table: Table) -> None:
    tree = fit(table).tree_
    alphas, impurities = pruning_path(tree)
    assert alphas[0] == 0
    assert (np.diff(alphas) > 0).all()
    assert (np.diff(impurities) > -1e-15).all()
    subtrees = [prune(tree, alpha) for alpha in alphas]
    for larger, smaller in pairwise(subtrees):
        assert node_names(smaller) < node_names(larger)
    for subtree, value in zip(subtrees, impurities, strict=True):
        assert cost_of(subtree, 0.0) == pytest.approx(value, abs=1e-12)
    assert subtrees[-1].n_nodes == 1


@LAW
@given(tables(), st.floats(1e-6, 0.1))
def test_pruning_gives_the_cheapest_subtree(table: Table, alpha: float) -> None:
    tree = fit(table).tree_
    pruned = prune(tree, alpha)
    assert node_names(pruned) <= node_names(tree)
    assert cost_of(pruned, alpha) == pytest.approx(least_cost(tree, alpha), abs=1e-12)
