"""The learner of rules: its stages against the oracle, its laws, and tables at the edge."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from core_stages import stages
from ferl import _core
from oracle import rules as oracle

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

OPTIONS: dict[str, Any] = {
    "max_rules": 150,
    "max_conditions": 3,
    "prune": 0.003,
    "monotone": [],
    "n_threads": 1,
    "seed": 0,
}
ARRAYS = ("parent", "feature", "trapezoid", "share", "category_start", "category", "rule_node", "weight", "prior")


def sample_of(
    X: Floats, y: Ints, weight: Floats | None = None, n_categories: Ints | None = None, n_classes: int | None = None
) -> _core.Sample:
    n, d = X.shape
    n_categories = np.zeros(d, np.int32) if n_categories is None else n_categories
    n_classes = int(y.max()) + 1 if n_classes is None else n_classes
    sampler = _core.Sampler(n_categories, n_classes, 0, 2**48, 0, np.arange(d, dtype=np.int32))
    sampler.add(X, y.astype(np.int32), np.ones(n) if weight is None else weight, 0, 1)
    return sampler.finish(1)


def grow(sample: _core.Sample, **options: Any) -> dict[str, Any]:
    return _core.grow_rules(sample, _core.RuleOptions(**(OPTIONS | options)), None)


def random_table(seed: int, n: int = 120) -> tuple[Floats, Ints, Floats, Ints]:
    """Numbers, ties, missing values, a constant, categories; classes that some of them explain; weights."""
    rng = np.random.default_rng(seed)
    n_classes, n_categories = int(rng.choice([2, 2, 3, 6])), np.array([0, 0, 0, 0, 3, 9], np.int32)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.normal(size=n).round(),
            rng.lognormal(sigma=3, size=n),
            np.full(n, 7.0),
            rng.integers(0, 3, n),
            rng.integers(0, 9, n),
        ]
    )
    y = np.digitize(X[:, 0] + 0.5 * (X[:, 5] % 3) * X[:, 1] + rng.normal(scale=0.5, size=n), np.linspace(-1, 1, 5))
    X[rng.random(X.shape) < 0.1 * (seed % 2)] = np.nan
    return X, (y % n_classes).astype(np.int32), rng.choice([1.0, 2.0, 0.5], n), n_categories


def residuals(sample: _core.Sample, n_classes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    p = softmax(rng.normal(size=(sample.n_rows, n_classes)), axis=1)
    gradient = sample.weight[:, None] * (np.eye(n_classes)[sample.y] - p)
    gradient -= sample.weight[:, None] * gradient.sum(axis=0) / sample.weight.sum()
    return gradient, sample.weight * (p * (1 - p)).sum(axis=1) / (n_classes - 1)


def memberships(grown: dict[str, Any], X: Floats) -> Floats:
    """The membership of every row in every node's own condition."""
    out = np.ones((len(X), len(grown["parent"])))
    for node in range(1, len(grown["parent"])):
        x, (a, b, c, d) = X[:, grown["feature"][node]], grown["trapezoid"][node]
        first, last = grown["category_start"][node : node + 2]
        if last > first:
            codes = np.where(np.isnan(x), 0, x).astype(int)
            own = grown["category"][first:last][codes]
        else:
            own = np.clip((x - a) / (b - a), 0, 1) if np.isfinite(a) else np.clip((d - x) / (d - c), 0, 1)
        out[:, node] = np.where(np.isnan(x) | np.isnan(own), grown["share"][node], own)
    return out


def firings(grown: dict[str, Any], X: Floats) -> Floats:
    own = memberships(grown, X)
    for node in range(1, own.shape[1]):
        own[:, node] *= own[:, grown["parent"][node]]
    return own[:, grown["rule_node"]]


def probabilities(grown: dict[str, Any], X: Floats) -> Floats:
    return softmax(grown["prior"] + firings(grown, X) @ grown["weight"], axis=1)


def same_bits(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(a[name].tobytes() == b[name].tobytes() for name in ARRAYS)


# ---------------------------------------------------------------------------------------------------------------------
# Stages against the oracle
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_knots_are_weighted_quantiles_with_both_ends(seed: int) -> None:
    X, y, weight, n_categories = random_table(seed)
    if seed > 2:  # values far out are no ends
        X[seed, np.flatnonzero(n_categories == 0)] = [1e20, -1e13, 1e9][seed - 3]
    sample = sample_of(X, y, weight, n_categories)
    for column, found in enumerate(stages().knots(sample)):
        if n_categories[column] == 0:
            expected = oracle.knots(sample.x[:, column], sample.weight, oracle.n_knots(X.shape[1], weight))
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", [*range(12), 10_015_363])  # the last: a category that no row of the base has
@pytest.mark.parametrize("has_base", [False, True])
def test_a_scan_finds_the_gain_of_the_best_candidate(seed: int, has_base: bool) -> None:
    X, y, weight, n_categories = random_table(seed)
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 6]))
    sample = sample_of(X, y % n_classes, weight, n_categories, n_classes)
    gradient, hessian = residuals(sample, n_classes, rng)
    base = rng.choice([0.0, 0.3, 1.0], sample.n_rows) if has_base else np.ones(sample.n_rows)
    none = np.zeros(X.shape[1], np.int32)
    found = stages().scan(sample, gradient, hessian, base, none, 0)
    fires = firings(found, sample.x) * base[:, None]
    up, down = {}, {}
    for rule, node in enumerate(found["rule_node"]):
        column, rises = int(found["feature"][node]), found["trapezoid"][node, 2] == np.inf
        own = oracle.gain(fires[:, rule], gradient, hessian)
        side = up if rises or n_categories[column] else down
        side[column] = own
        # The gain is that of the condition that is returned; ordered sets have less for their luck.
        assert found["gain"][rule] == pytest.approx(own, rel=1e-4) or (n_categories[column] > 3)
    for column in range(X.shape[1]):
        x = sample.x[:, column]
        if n_categories[column]:
            expected = oracle.best_set(x, sample.weight, n_classes, gradient, hessian, base)
            index = [k for k, node in enumerate(found["rule_node"]) if found["feature"][node] == column]
            assert (found["gain"][index[0]] if index else -1) == pytest.approx(expected, rel=1e-4)
        else:
            most = oracle.n_knots(X.shape[1], weight)
            expected_up, expected_down = oracle.best_ramps(x, sample.weight, most, gradient, hessian, base)
            assert up.get(column, -1) == pytest.approx(expected_up, rel=1e-4)
            assert down.get(column, -1) == pytest.approx(expected_down, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_rule_gains_at_least_as_much_as_any_single_condition(seed: int) -> None:
    X, y, weight, _ = random_table(2 * seed)
    X = X[:, :4]
    sample = sample_of(X, y, weight)
    n_classes, tau = int(y.max()) + 1, 2.0
    p = np.bincount(sample.y, sample.weight) / sample.weight.sum()
    gradient = sample.weight[:, None] * (np.eye(n_classes)[sample.y] - p)
    hessian = sample.weight * (p @ (1 - p) / (n_classes - 1) + 1e-6)
    ones = np.ones(sample.n_rows)
    most = oracle.n_knots(4, weight)
    singles = [oracle.best_ramps(sample.x[:, j], sample.weight, most, gradient, hessian, ones)[0] for j in range(4)]
    grown = stages().path(sample, False, tau, 3, 1)
    n_conditions = len(grown["parent"]) - 1
    own = oracle.gain(firings(grown, sample.x)[:, 0], gradient, hessian) - tau * n_conditions
    assert own >= max(singles) - tau - 1e-3


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("strength", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("is_offset", [False, True])
def test_a_refit_reaches_the_least_objective(n_classes: int, strength: float, is_offset: bool) -> None:
    rng = np.random.default_rng(n_classes)
    firing, weight = rng.random((90, 12)) ** 3, rng.choice([0.5, 1.0, 2.0], 90)
    firing[:, 5] = firing[:, 4]  # two rules that fire alike
    target = np.eye(n_classes)[np.digitize(firing[:, 0] + firing[:, 1], np.linspace(0.1, 0.8, n_classes - 1))]
    target = 0.9 * target + 0.1 / n_classes
    sign = np.zeros(12, np.int32)
    ridge = strength * rng.choice([0.5, 1.0, 2.0], 12)
    offset = rng.normal(size=target.shape) * is_offset
    found = _core.refit_rules(firing, target, weight, sign, ridge, offset, 1)
    reached = oracle.objective(firing, target, weight, ridge, found["weight"], found["prior"], offset)
    assert reached == pytest.approx(oracle.optimum(firing, target, weight, ridge, sign, offset), rel=1e-5)
    assert found["objective"] == pytest.approx(reached, rel=1e-5)
    with pytest.raises(ValueError, match="offset one row per row"):
        _core.refit_rules(firing, target, weight, sign, ridge, offset[:-1].copy(), 1)


def test_a_bounded_refit_keeps_the_signs_and_reaches_the_least_objective() -> None:
    rng = np.random.default_rng(0)
    firing, weight = rng.random((150, 10)), np.ones(150)
    y = (firing @ rng.normal(size=10) + rng.normal(size=150) > 0).astype(int)
    sign = np.array([1, -1, 1, -1, 1, -1, 0, 0, 1, -1], np.int32)
    ridge, offset = np.ones(10), np.zeros((150, 2))
    found = _core.refit_rules(firing, np.eye(2)[y], weight, sign, ridge, offset, 1)
    assert (found["weight"][:, 1] * sign >= 0).all()
    assert (found["weight"][:, 1] * sign == 0).sum() > 2  # some bounds hold weights back
    reached = oracle.objective(firing, np.eye(2)[y], weight, ridge, found["weight"], found["prior"])
    assert reached == pytest.approx(oracle.optimum(firing, np.eye(2)[y], weight, ridge, sign), rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_pruning_drops_the_rule_that_costs_least_and_stays_near_its_answers(n_classes: int) -> None:
    rng = np.random.default_rng(1)
    firing, rows = rng.random((200, 9)), rng.choice([1.0, 2.0], 200)
    firing[:, 3] = firing[:, 2] * 0.99 + 0.01 * firing[:, 3]
    weight, prior = rng.normal(size=(9, n_classes)), np.zeros(n_classes)
    weight -= weight.mean(axis=1, keepdims=True)
    p = softmax(prior + firing @ weight, axis=1)
    costs = oracle.dropping_costs(firing, rows, weight, prior, 0.25 * 4.0)
    one = stages().prune(firing, rows, weight, prior, 0.0, 8, 4.0)
    assert set(range(9)) - set(one["kept"]) == {int(costs.argmin())}
    found = stages().prune(firing, rows, weight, prior, 0.02, 9, 0.1)
    q = softmax(found["prior"] + firing[:, found["kept"]] @ found["weight"], axis=1)
    assert 0 < len(found["kept"]) < 9
    assert found["divergence"] == pytest.approx(oracle.divergence(p, q, rows), abs=1e-5)
    assert found["divergence"] <= 0.02


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("worth", [0.01, 0.1, 0.5])
def test_rules_that_are_worth_little_are_left_out(n_classes: int, worth: float) -> None:
    rng = np.random.default_rng(2)
    firing, rows = rng.random((200, 9)), rng.choice([1.0, 2.0], 200)
    weight, prior = rng.normal(size=(9, n_classes)) * np.linspace(0.1, 4, 9)[:, None], np.zeros(n_classes)
    weight -= weight.mean(axis=1, keepdims=True)
    p = softmax(prior + firing @ weight, axis=1)
    smaller = {n: stages().prune(firing, rows, weight, prior, 0.0, n, 0.1)["divergence"] for n in range(10)}
    found = stages().prune(firing, rows, weight, prior, 0.0, 9, 0.1, worth)
    assert len(found["kept"]) == oracle.worthwhile_size(smaller, p, rows, worth)
    assert len(found["kept"]) < 9


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_rules_are_chains_with_sound_conditions(seed: int) -> None:
    X, y, weight, n_categories = random_table(seed, 300)
    sample = sample_of(X, y, weight, n_categories)
    grown = grow(sample)
    parent, node, feature = grown["parent"], grown["rule_node"], grown["feature"]
    assert len(node) > 0
    assert (parent[1:] < np.arange(1, len(parent))).all()
    assert np.bincount(parent[parent > 0], minlength=2).max() == 1  # no node but the root is shared
    assert set(node) == set(range(1, len(parent))) - set(parent)
    np.testing.assert_allclose(grown["weight"].sum(axis=1), 0, atol=1e-12)
    own = memberships(grown, sample.x)
    for k in range(1, len(parent)):
        a, b, c, d = grown["trapezoid"][k]
        assert (a < b and c == d == np.inf) or (a == b == -np.inf and (c < d or c == d == np.inf))
        known = ~np.isnan(sample.x[:, feature[k]])
        assert grown["share"][k] == pytest.approx(np.average(own[known, k], weights=sample.weight[known]), abs=1e-6)
    for last in node:
        columns = []
        while last > 0:
            columns.append(feature[last])
            last = parent[last]
        assert 1 <= len(columns) == len(set(columns)) <= 3


@pytest.mark.parametrize("max_rules", [1, 2, 6, 25])
@pytest.mark.parametrize("max_conditions", [1, 2, 3])
def test_budgets_hold(max_rules: int, max_conditions: int) -> None:
    X, y, weight, n_categories = random_table(2, 200)
    grown = grow(sample_of(X, y, weight, n_categories), max_rules=max_rules, max_conditions=max_conditions, prune=0.0)
    assert len(grown["rule_node"]) <= max_rules
    assert len(grown["parent"]) - 1 <= max_rules * max_conditions


@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_the_order_of_rows_nor_copies_for_weights_change_a_bit(seed: int) -> None:
    X, y, _, n_categories = random_table(seed, 400)
    rng = np.random.default_rng(seed)
    copies = rng.integers(1, 3, len(X))
    expected = grow(sample_of(X, y, copies.astype(float), n_categories))
    order = rng.permutation(np.repeat(np.arange(len(X)), copies))
    repeated = sample_of(X[order], y[order], None, n_categories)
    assert same_bits(grow(repeated), expected)
    assert same_bits(grow(repeated, n_threads=3), expected)


def test_many_rows_are_learned_alike_by_any_number_of_threads() -> None:
    """More rows than a scan or a path takes: they are drawn by content."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(13000, 5))
    y = (X[:, 0] * X[:, 1] + rng.normal(scale=0.3, size=13000) > 0).astype(np.int32)
    order = rng.permutation(13000)
    expected = grow(sample_of(X, y), max_rules=20)
    assert same_bits(grow(sample_of(X[order], y[order]), max_rules=20, n_threads=4), expected)
    assert (probabilities(expected, X).argmax(axis=1) == y).mean() > 0.8


def test_it_changes_no_bit_whether_firings_are_packed() -> None:
    """Those of the rows that validate as well as those that are fitted; curvature and pruning read plain ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3001, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int32) + (X[:, 2] > rng.normal(size=3001)).astype(np.int32)
    tuning = _core.Tuning()
    tuning.pack_above = 500
    tuning.curvature_rows = tuning.most_curvature_rows = 512
    tuning.path_rows = tuning.most_path_rows = tuning.prune_rows = 1024
    packed = grow(sample_of(X, y), tuning=tuning, max_rules=40)
    tuning.pack_above = 10_000
    assert same_bits(packed, grow(sample_of(X, y), tuning=tuning, max_rules=40))


def test_more_rows_are_scanned_fitted_and_validated_where_there_are_more() -> None:
    """Beyond small_rows alone: what it is changes nothing below, and answers get better beyond."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(30_000, 6))
    p = 1 / (1 + np.exp(-2 * np.sin(6 * X[:, 0]) * np.sin(5 * X[:, 1]) - X[:, 2] * X[:, 3]))
    y = (rng.random(30_000) < p).astype(np.int32)
    tuning = _core.Tuning()
    tuning.path_share = tuning.scan_share = tuning.curvature_share = 0.0
    tuning.validation_rows, tuning.more_ridges = 5_000, []

    def loss(grown: dict[str, Any]) -> float:
        found = probabilities(grown, X)
        return -float(np.mean(p * np.log(found[:, 1]) + (1 - p) * np.log(found[:, 0])))

    few = sample_of(X[:4_000], y[:4_000])
    assert same_bits(grow(few), grow(few, tuning=tuning))
    many = sample_of(X, y)
    assert loss(grow(many)) < loss(grow(many, tuning=tuning)) - 0.002


@pytest.mark.parametrize("seed", range(2))
def test_effort_joins_models_of_several_seeds_at_the_size_of_one(seed: int) -> None:
    X, y, _, n_categories = random_table(seed, 400)
    copies = np.random.default_rng(seed).integers(1, 3, len(X))
    weighted = sample_of(X, y, copies.astype(float), n_categories)
    once, more = grow(weighted), grow(weighted, effort=3)
    assert not same_bits(once, more)
    assert more["n_grown"] > once["n_grown"]
    assert len(more["weight"]) <= max(len(grow(weighted, seed=seed)["weight"]) for seed in (0, 64, 128)) + 20
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(X)), copies))
    assert same_bits(grow(sample_of(X[order], y[order], None, n_categories), effort=3, n_threads=3), more)
    assert len(grow(weighted, effort=2, max_rules=4)["weight"]) <= 4


def test_effort_is_better_at_the_same_size_on_average() -> None:
    def excesses(seed: int) -> tuple[float, float]:
        """Divergence from the true probabilities on 2,400 new rows: with effort, and the mean of single models."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 8))
        p = 1 / (1 + np.exp(-X[:, 0] * X[:, 1] - np.sin(2 * X[:, 2]) - X[:, 3]))
        y = (rng.random(3000) < p).astype(np.int32)
        sample, new, p = sample_of(X[:600], y[:600]), X[600:], p[600:]

        def excess(grown: dict[str, Any]) -> float:
            q = probabilities(grown, new)[:, 1]
            return float(np.mean(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))))

        return excess(grow(sample, effort=4)), float(np.mean([excess(grow(sample, seed=own)) for own in range(4)]))

    # A single table may go either way: of ten, seven gained.
    more, once = np.mean([excesses(seed) for seed in range(6)], axis=0)
    assert more < 0.97 * once


def test_every_number_that_was_tuned_is_named_with_its_reason_and_can_be_changed() -> None:
    header = Path(__file__).parents[1] / "cpp" / "rules" / "tuning.h"
    if not header.exists():
        pytest.skip("the sources of the core are not here")
    text = header.read_text()
    kinds = r"(?:std::vector<[^>]*>|std::size_t|double|int)"
    declared = re.findall(rf"^(.*)\n {{2}}{kinds} (\w+ = [^;]*);", text, re.MULTILINE)
    names = {name for _, numbers in declared for name in re.findall(r"(\w+) = ", numbers)}
    assert names == {name for name in dir(_core.Tuning) if not name.startswith("_")}
    assert len(declared) > 80
    assert all(reason.strip().startswith("//") for reason, _ in declared)
    X, y, weight, n_categories = random_table(2)
    sample, tuning = sample_of(X, y, weight, n_categories), _core.Tuning()
    usual = grow(sample)
    assert same_bits(usual, grow(sample, tuning=tuning))
    tuning.ridges = [1000.0]
    assert {choice[3] for choice in grow(sample, tuning=tuning)["choices"]} == {1000.0}
    assert same_bits(usual, grow(sample))
    for wrong in ({"max_knots": 99}, {"path_rows": 4}, {"ridges": []}, {"scales": [2.0]}, {"refit_every": 0}):
        tuning = _core.Tuning()
        for name, value in wrong.items():
            setattr(tuning, name, value)
        with pytest.raises(ValueError, match="must"):
            _core.RuleOptions(tuning=tuning)


PROGRAM = """
import hashlib
import numpy as np
from ferl import _core
digest = hashlib.sha256()
for n_classes in (2, 3, 11):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(700, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], np.linspace(-1, 1, n_classes - 1)).astype(np.int32)
    X[::9, 1] = np.nan
    sampler = _core.Sampler(np.zeros(5, np.int32), n_classes, 0, 2**48, 0, np.arange(5, dtype=np.int32))
    sampler.add(X, y, rng.choice([0.5, 1.0, 3.0], 700), 0, 1)
    inf, sample = np.inf, sampler.finish(1)
    ends = [[-inf, -inf, -1, 0], [-1, 0, 0, 1], [0.2, 0.2, inf, inf]]
    words = np.repeat(np.arange(5, dtype=np.int32), 3), np.tile(ends, (5, 1))
    for conditions in (None, words):
        grown = _core.grow_rules(sample, _core.RuleOptions(words=conditions, prune=0.003), None)
        for name in ("feature", "trapezoid", "share", "weight", "prior"):
            digest.update(grown[name].tobytes())
phi = np.where(rng.random((5000, 9)) < 0.6, rng.integers(0, 2, (5000, 9)), rng.random((5000, 9)))
target, sign = np.eye(3)[rng.integers(0, 3, 5000)], np.zeros(9, np.int32)
found = _core.refit_rules(phi, target, np.ones(5000), sign, np.ones(9), np.zeros((5000, 3)), 1, is_packed=True)
digest.update(found["weight"].tobytes())
print(digest.hexdigest())
"""


def test_the_instruction_set_changes_no_bit() -> None:
    digests = set()
    for wish in ("baseline", "x86-64-v3", "x86-64-v4"):
        environment = {**os.environ, "FERL_INSTRUCTION_SET": wish}
        command = [sys.executable, "-c", PROGRAM]
        digests.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("n_classes", [2, 3, 8])
@pytest.mark.parametrize("share_between", [0.0, 0.2, 1.0])
def test_packed_firings_are_the_same_firings(n_classes: int, share_between: float) -> None:
    rng, n = np.random.default_rng(n_classes), 4490  # more rows than those that are never packed, no whole blocks
    is_between = rng.random((n, 11)) < share_between
    firing = np.where(is_between, rng.random((n, 11)), rng.random((n, 11)) < 0.3)
    target = np.eye(n_classes)[rng.integers(0, n_classes, n)]
    plain, packed = (
        _core.refit_rules(
            firing, target, np.ones(n), np.zeros(11, np.int32), np.ones(11), np.zeros((n, n_classes)), 2, is_packed=own
        )
        for own in (False, True)
    )
    for name in ("weight", "prior"):
        np.testing.assert_array_equal(plain[name], packed[name])


def test_scores_are_monotone_where_they_must_be() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] - X[:, 3] + rng.normal(scale=0.5, size=500) > 0).astype(np.int32)
    grown = grow(sample_of(X, y), monotone=[1, 0, 0, -1], prune=0.001)
    for column, sign in ((0, 1), (3, -1)):
        rows = np.repeat(X[:50], 40, axis=0)
        rows[:, column] = np.tile(np.linspace(-4, 4, 40), 50)
        p = probabilities(grown, rows)[:, 1].reshape(50, 40)
        assert (sign * np.diff(p, axis=1) >= -1e-12).all()
    free = grow(sample_of(X, y))
    rows[:, 0] = np.tile(np.linspace(-4, 4, 40), 50)
    assert (np.diff(probabilities(free, rows)[:, 1].reshape(50, 40), axis=1) < -0.01).any()


def test_a_set_of_categories_is_found_and_luck_is_not() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 12, 600), rng.permutation(600)]).astype(float)
    y = (np.isin(X[:, 0], [1, 4, 5, 9]) ^ (rng.random(600) < 0.1)).astype(np.int32)
    grown = grow(sample_of(X, y, n_categories=np.array([12, 600], np.int32)))
    np.testing.assert_array_equal(grown["feature"][1:], 0)  # every row has its own category of the second column
    assert (probabilities(grown, X).argmax(axis=1) == np.isin(X[:, 0], [1, 4, 5, 9])).all()


def test_progress_is_reported_and_an_exception_stops_the_work() -> None:
    rng, n, is_stopped = np.random.default_rng(0), 4000, False

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    while not is_stopped:  # a report comes where the work takes more than a tenth of a second
        X = rng.normal(size=(n, 30))
        y = (X[:, :3].prod(axis=1) + rng.normal(size=n) > 0).astype(np.int32)
        try:
            _core.grow_rules(sample_of(X, y), _core.RuleOptions(**OPTIONS), stop)
        except KeyboardInterrupt:
            is_stopped = True
        n *= 2
        assert n < 10**6


# ---------------------------------------------------------------------------------------------------------------------
# What inner validation has learned
# ---------------------------------------------------------------------------------------------------------------------


def judged(sample: _core.Sample, prune: float = 0.0015, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What was grown, and the parts that a judge was given, who answers ``prune``."""
    seen: list[dict[str, Any]] = []

    def judge(parts: list[dict[str, Any]]) -> float:
        seen.extend(parts)
        return prune

    return _core.grow_rules(sample, _core.RuleOptions(**(OPTIONS | options)), None, judge), seen


@pytest.mark.parametrize("n", [120, 700, 1600])
def test_a_judge_sees_rules_of_other_rows_than_those_they_are_judged_on(n: int) -> None:
    sample = sample_of(*random_table(3, n))
    grown, parts = judged(sample, prune=OPTIONS["prune"])
    assert len(parts) == {120: 6, 700: 5, 1600: 1}[n]
    others = np.concatenate([part["other"] for part in parts])
    assert len(np.unique(others)) == len(others)
    assert n >= 1000 or len(others) == sample.n_rows
    for part in parts:
        assert not np.intersect1d(part["fit"], part["other"]).size
        assert len(part["fit"]) + len(part["other"]) == sample.n_rows
        np.testing.assert_allclose(part["weight"].sum(axis=1), 0, atol=1e-9)
    plain, threads = grow(sample), judged(sample, prune=OPTIONS["prune"], n_threads=3)
    for name in ARRAYS:
        np.testing.assert_array_equal(grown[name], plain[name])
        np.testing.assert_array_equal(grown[name], threads[0][name])
        for one, other in zip(parts, threads[1], strict=True):
            np.testing.assert_array_equal(one[name], other[name])


def test_a_judge_chooses_how_far_to_prune() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    sample = sample_of(X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.int32))
    grown, parts = judged(sample, prune=0.05)
    plain = grow(sample, prune=0.05)
    for name in ARRAYS:
        np.testing.assert_array_equal(grown[name], plain[name])
    assert len(grown["weight"]) < len(grow(sample)["weight"])
    few = judged(sample, prune=0.0015)[1]  # the parts are pruned by the options, before the judge has answered
    assert [len(part["weight"]) for part in parts] == [len(part["weight"]) for part in few]

    def refuse(_: list[dict[str, Any]]) -> float:
        raise ArithmeticError("no judgement")

    with pytest.raises(ArithmeticError, match="no judgement"):
        _core.grow_rules(sample, _core.RuleOptions(**OPTIONS), None, refuse)


def test_no_repeated_row_is_judged_by_rules_that_have_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (400, 3)).astype(float)
    sample = sample_of(X, (rng.random(400) < np.where(X[:, 0] > 1, 0.8, 0.3)).astype(np.int32))
    assert sample.n_rows < 200  # rows weigh more than one, and come with both classes: they are taken apart
    for options in ({}, {"effort": 2}):
        for part in judged(sample, **options)[1]:
            assert not np.intersect1d(part["fit"], part["other"]).size
            assert np.array_equal(np.sort(np.append(part["fit"], part["other"])), np.arange(sample.n_rows))


# ---------------------------------------------------------------------------------------------------------------------
# Tables at the edge
# ---------------------------------------------------------------------------------------------------------------------


def edge_tables() -> dict[str, tuple[Floats, Ints, int]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = (x[:, 0] > 0).astype(np.int32)
    rare = y.copy()
    rare[7] = 2
    many = np.arange(500, dtype=np.int32)
    gap = np.where(np.arange(60) % 2, 1.0, np.nextafter(1.0, 2.0))
    return {
        "one row": (x[:1], y[:1], 2),
        "two rows": (np.array([[0.0], [1.0]]), np.array([0, 1], np.int32), 2),
        "three rows": (x[:3], np.array([0, 1, 2], np.int32), 3),
        "one class": (x, np.zeros(60, np.int32), 1),
        "a class without rows": (x, y, 4),
        "a class with one row": (x, rare, 3),
        "constant columns": (np.ones((60, 4)), y, 2),
        "no value at all": (np.full((60, 2), np.nan), y, 2),
        "a column without values": (np.column_stack([x[:, 0], np.full(60, np.nan)]), y, 2),
        "separable": (np.column_stack([y * 2.0, x[:, 1]]), y, 2),
        "neighbouring numbers": (np.column_stack([gap, x[:, 1]]), (gap > 1).astype(np.int32), 2),
        "huge and tiny": (x * np.array([1e300, 1e-300, 1.0]), y, 2),
        "outliers": (np.where(rng.random((60, 3)) < 0.05, 1e12, x), y, 2),
        "500 classes": (rng.normal(size=(500, 4)) + many[:, None] % 7, many, 500),
    }


@pytest.mark.parametrize("name", edge_tables())
def test_edge_tables_are_learned_with_finite_weights(name: str) -> None:
    X, y, n_classes = edge_tables()[name]
    grown = grow(sample_of(X, y, n_classes=n_classes))
    assert np.isfinite(grown["weight"]).all()
    assert np.isfinite(grown["prior"]).all()
    assert np.abs(grown["weight"]).max(initial=0) < 100
    p = probabilities(grown, X)
    assert np.isfinite(p).all()
    if name == "separable":
        assert (p.argmax(axis=1) == y).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_weights_of_any_size_are_learned_from(scale: float) -> None:
    X, y, n_classes = edge_tables()["a class with one row"]
    grown = grow(sample_of(X, y, np.full(len(y), scale), n_classes=n_classes))
    assert np.isfinite(probabilities(grown, X)).all()
    assert np.isfinite(grown["weight"]).all()


def test_noise_in_many_more_columns_than_rows_says_little() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 5_000)), rng.integers(0, 2, 50).astype(np.int32)
    grown = grow(sample_of(X, y))
    fresh = probabilities(grown, rng.normal(size=(500, 5_000)))
    assert -np.log(fresh).mean() < 1.2  # log 2 is the least; a model that believes the noise has several
