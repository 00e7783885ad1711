"""Novelty: the compiled core against the oracle, and rows that reach every branch of both."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.utils import check_random_state

import oracle
from ferl import FERLTreeClassifier
from ferl._models.novelty import residual_parts
from ferl.words import FuzzySet, LinguisticVariable
from law_examples import Floats, exemplars_of, profile_of
from oracle_examples import Case, continuous_case, fit_case, random_table, random_weight, rows_to_judge, tied_case
from tree_examples import model_of_tree


@cache
def compact_case(seed: int) -> Case:
    """As those of oracle_examples, with words; its growth options mean nothing."""
    rng = np.random.default_rng([seed, 9])
    X, y = random_table(rng, tied=True)
    weight = random_weight(rng, len(X))
    model = FERLTreeClassifier(
        "compact",
        criterion="consistent",
        words="quantile" if seed % 2 else words_with_ends(X),
        min_rule_worth=0.0,
        n_exemplars=[2, 40, None][seed % 3],
        random_state=seed,
    ).fit(X, y, weight)
    weight = np.ones(len(X)) if weight is None else weight
    codes = np.searchsorted(model.classes_, y).astype(np.int32)
    core_seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
    rows = oracle.take_sample(X, codes, weight, len(model.classes_), core_seed, len(X), 1)
    options = oracle.GrowthOptions(0, 0, 0, 0, 0, 0, "", 0, "", 0, False, None)
    return Case(X, weight, model, options, rows, rows)


def words_with_ends(X: Floats) -> list[LinguisticVariable | None]:
    """Words that end a little outside the rows: values beyond fit none."""
    variables: list[LinguisticVariable | None] = []
    for j, column in enumerate(X.T):
        low, high = column.min(), column.max()
        width = high - low
        if not width > 0:
            variables.append(None)
            continue
        a, b, c, d = low - width / 5, low + width / 3, high - width / 3, high + width / 5
        sets = FuzzySet("few", a, low, b, c), FuzzySet("many", b, c, high, d)
        variables.append(LinguisticVariable(f"x{j}", sets, range=(low, high)))
    if all(variable is None for variable in variables):
        variables[0] = LinguisticVariable("x0", (FuzzySet.falling("low", 0.0, 1.0), FuzzySet.rising("high", 0.0, 1.0)))
    return variables


ORACLE_CASES = [(make, seed) for make in (tied_case, continuous_case, compact_case) for seed in range(40)]
with_oracle = pytest.mark.parametrize(
    ("make", "seed"), ORACLE_CASES, ids=lambda value: getattr(value, "__name__", None)
)


def n_exemplars(case: Case) -> int:
    default = 256 if case.model.variant == "compact" else 128
    return default if case.model.n_exemplars is None else case.model.n_exemplars


@with_oracle
def test_moments_are_means_and_variances_weighted_by_firing(make: Any, seed: int) -> None:
    case = make(seed)
    profile, rows = profile_of(case.model), case.everything
    mean, variance = oracle.moments(case.tree, rows)
    # Sums are kept to 2^-42 of the heaviest row, and values of 1e7 are rounded themselves.
    width = np.ptp(rows.x, axis=0)
    lightest = (rows.weight @ oracle.fire(case.tree, rows.x, gated=False)).min()
    rounding = 1e-12 * rows.weight.sum() / lightest
    last_digit = 1e-14 * np.abs(rows.x).max(axis=0)
    assert (np.abs(profile.mean - mean) <= rounding * width + last_digit).all()
    assert (np.abs(profile.variance - variance) <= rounding * width**2 + 1e-8 * variance + last_digit**2).all()


@with_oracle
def test_exemplars_are_the_first_rows_that_reach_a_node(make: Any, seed: int) -> None:
    case = make(seed)
    profile = profile_of(case.model)
    expected = oracle.exemplars(case.tree, case.everything, n_exemplars(case))
    for node in range(case.tree.n_nodes):
        np.testing.assert_array_equal(exemplars_of(profile, node), expected[node])
    assert set(profile.exemplar.ravel()) - {-1} == set(range(len(profile.exemplar_row))), "a row is kept for nothing"


def test_few_exemplars_are_the_first_of_many() -> None:
    for seed in range(10):
        rng = np.random.default_rng([seed, 6])
        X, y = random_table(rng, tied=True)
        few, many = (profile_of(fit_case(X, y, None, seed, n_exemplars=n).model) for n in (3, 10**12))
        assert few.exemplar.shape[1] == 3
        for node in range(len(few.mean)):
            np.testing.assert_array_equal(exemplars_of(few, node), exemplars_of(many, node)[:3])


@with_oracle
def test_the_unit_of_distance_is_the_standard_deviation_inside_leaves(make: Any, seed: int) -> None:
    case = make(seed)
    np.testing.assert_allclose(case.tree.unit_of_distance, oracle.unit_of_distance(case.tree, case.everything), 1e-8)


@with_oracle
def test_the_neighbour_is_the_nearest_exemplar_where_paths_end(make: Any, seed: int) -> None:
    case = make(seed)
    X = rows_to_judge(case, seed, 60)
    model = model_of_tree(case.tree)
    distance, parts = model.novelty(X), model.novelty_attribution(X)
    candidates = oracle.neighbour_candidates(case.tree, case.everything, X, n_exemplars(case))
    # Two numbers that differ by less than a millionth of them are one in the search.
    farthest = np.abs((case.X - case.X.mean(axis=0)) / oracle.unit_of_distance(case.tree, case.everything)).max()
    for own, total, each in zip(parts, distance, candidates, strict=True):
        least = each.sum(axis=1).min()
        assert total == pytest.approx(least, rel=1e-5, abs=1e-6 * max(1.0, farthest))
        # The parts are those of one exemplar, exactly.
        assert (np.abs(each - own).max(axis=1) <= 1e-7 * max(total, 1e-3)).any()


@with_oracle
def test_residuals_agree(make: Any, seed: int) -> None:
    case = make(seed)
    X = rows_to_judge(case, seed, 60)
    expected = oracle.residual_parts(case.tree, case.everything, X)
    np.testing.assert_allclose(residual_parts(case.tree, X), expected, rtol=1e-6, atol=1e-7)
    if case.model.variant != "compact":  # words book what their gates withhold by another rule
        whole = oracle.residual_novelty(case.tree, case.everything, X)
        np.testing.assert_allclose(case.model.novelty_attribution(X, measure="residual"), whole, rtol=1e-6, atol=1e-7)


def test_the_cases_reach_every_branch() -> None:
    inner, nowhere, borrowed, all_tested = 0, 0, 0, 0
    for seed in range(40):
        case = compact_case(seed)
        X = rows_to_judge(case, seed, 60)
        ends = oracle.path_ends(case.tree, X)
        inner += int(ends[:, ~case.tree.is_leaf][:, 1:].any(axis=1).sum())
        nowhere += int(ends[:, 0].sum()) if case.tree.n_nodes > 1 else 0
        leaves = case.tree.leaves
        all_tested += sum(len(set(case.tree.feature[case.tree.path(int(o))])) == case.X.shape[1] for o in leaves)
    for seed in range(40):
        borrowed += int((profile_of(tied_case(seed).model).exemplar[:, 0] < 0).sum())
    assert inner > 20  # paths that end at a word below which nothing fits
    assert nowhere > 100  # rows that fit no word at all
    assert all_tested > 20  # leaves without a free feature
    assert borrowed == 0  # which needs wider bands than these: below


def test_a_node_that_all_rows_reach_weakly_speaks_through_the_node_above() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    case = fit_case(X, y, None, 0, band_scale=100.0, max_rules=150, max_depth=24)
    without = (profile_of(case.model).exemplar[:, 0] < 0) & case.tree.is_leaf
    far = 1e3 * np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    ends = oracle.path_ends(case.tree, far)
    assert (without | ~ends).all(axis=1).any(), "no row depends on such a leaf alone"
    candidates = oracle.neighbour_candidates(case.tree, case.everything, far, 128)
    expected = [each.sum(axis=1).min() for each in candidates]
    np.testing.assert_allclose(case.model.novelty(far), expected, rtol=1e-6)


def test_moments_are_those_of_all_rows_also_when_splits_are_chosen_on_a_few() -> None:
    """Heavy tails: the largest value of all rows is thousands of times that of the sample."""
    rng = np.random.default_rng(0)
    X = np.exp(3 * rng.normal(size=(2000, 3)))
    X[:, 2] = X[:, 2] > np.quantile(X[:, 2], 0.999)  # constant in the sample
    case = fit_case(X, (X[:, 0] > 1).astype(int), None, 0, growth_rows=20)
    mean, variance = oracle.moments(case.tree, case.everything)
    assert np.ptp(case.growth.x[:, 2]) == 0
    np.testing.assert_allclose(profile_of(case.model).mean[0], X.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(profile_of(case.model).variance[0], X.var(axis=0), rtol=1e-6)
    np.testing.assert_allclose(profile_of(case.model).mean, mean, rtol=1e-6, atol=1e-9)
    floor = 1e-6 * variance[0]
    assert (np.abs(profile_of(case.model).variance - variance) < floor).all()
