"""Laws that hold for every table, every tree and every row: each test is named after the law it checks."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.utils import check_random_state

import oracle
from ferl import FERLClassifier, FuzzyTree
from ferl.consequents import consequents
from ferl.evidence import Evidence, read_evidence
from ferl.pruning import node_impurity, prune, pruning_path

Floats = NDArray[np.float64]
Table = tuple[Floats, NDArray[np.int64]]

# The same examples in every run, and no time limit: a busy machine is not a broken law.
LAW = settings(max_examples=100, deadline=None, derandomize=True, database=None)

RULES = ["dempster", "cautious", "chain", "vote"]
COMBINATIONS = pytest.mark.parametrize("combination", RULES)
SOURCES = pytest.mark.parametrize("sources", ["leaves", "all"])


# ---------------------------------------------------------------------------------------------------------------------
# Tables and the trees grown on them
# ---------------------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table whose classes some features explain; with or without ties and equal rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from([150, 90, 40])), draw(st.integers(1, 6))
    n_classes = draw(st.sampled_from([2, 3, 6, 1]))
    X = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e4], d)
    score = np.abs(X[:, 0] / X[:, 0].std()) + rng.normal(size=n) * draw(st.sampled_from([0.1, 1.0]))
    y = np.argsort(np.argsort(score)) * n_classes // n
    if draw(st.booleans()):  # ties and equal rows
        X = np.round(X / X.std(axis=0))
    return X, y


def fit(table: Table, weight: Floats | None = None, **options: Any) -> FERLClassifier:
    return FERLClassifier(random_state=0, **({"max_rules": 15} | options)).fit(*table, weight)


def rows_near(X: Floats, seed: int, n: int = 60) -> Floats:
    """Training rows and rows between, beside, outside and far away from them."""
    rng = np.random.default_rng(seed)
    step = rng.choice([0.0, 0.1, 1.0, 3.0, 1e9], size=(n, 1), p=[0.2, 0.4, 0.2, 0.15, 0.05])
    return np.asarray(X[rng.integers(len(X), size=n)] + step * np.ptp(X, axis=0) * rng.normal(size=(n, X.shape[1])))


def assert_identical(one: FuzzyTree, other: FuzzyTree) -> None:
    for field in fields(FuzzyTree):
        assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes(), field.name


def impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight; classes on the last axis."""
    weight = class_weight.sum(axis=-1)
    return np.asarray(weight - (class_weight**2).sum(axis=-1) / weight)


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
@given(tables(), st.sampled_from(["gini", "cci"]), st.sampled_from([None, 40]))
def test_gini_impurity_never_rises_down_the_tree(table: Table, criterion: str, growth_rows: int | None) -> None:
    tree = fit(table, criterion=criterion, growth_rows=growth_rows).tree_
    for o in np.flatnonzero(~tree.is_leaf):
        children = tree.class_weight[tree.parent == o]
        np.testing.assert_allclose(children.sum(axis=0), tree.class_weight[o], atol=1e-12 * tree.weight[0])
        assert impurity(children).sum() <= impurity(tree.class_weight[o]) + 1e-12 * tree.weight[0]


@LAW
@given(tables(), st.sampled_from(["raw", "laplace", "shrinkage"]), st.floats(0, 1e6))
def test_consequents_are_distributions(table: Table, kind: str, shrinkage: float) -> None:
    model = fit(table, consequents=kind, shrinkage=shrinkage)
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
    # Equal rows add up, and weights of more than one per distinct row are taken as they are.
    weight *= len(np.unique(table[0], axis=0)) / len(table[0])
    assert_identical(fit(table, weight).tree_, fit(table, weight * 0.5**halvings).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.floats(1e-9, 1.0))
def test_scaling_down_weights_below_one_on_average_changes_nothing(table: Table, seed: int, factor: float) -> None:
    weight = np.random.default_rng(seed).uniform(0.1, 0.9, len(table[0]))
    weight *= len(np.unique(table[0], axis=0)) / len(table[0])
    # Not a round number: whether two draws of a row weigh at least 2.0 can depend on rounding.
    one, other = (fit(table, w, min_leaf_weight=2.3).tree_ for w in (weight, weight * factor))
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_allclose(one.trapezoid, other.trapezoid, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.class_weight, other.class_weight, rtol=1e-9, atol=1e-9)


def test_equal_weights_below_one_are_no_weights() -> None:
    table = load_breast_cancer(return_X_y=True)
    one, other = fit(table, max_rules=150).tree_, fit(table, np.full(569, 0.3), max_rules=150).tree_
    np.testing.assert_array_equal(one.feature, other.feature)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    # Threads start above 100,000 pairs of row and feature; sums over rows go to threads by 16,384 rows.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 9))
    y = (X[:, 0] > 0) + (X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0.5).astype(int)
    new = X[:9_000] * 1.7
    models = [fit((X, y), n_jobs=n_jobs, max_rules=12, n_banded_features=2) for n_jobs in (1, 2, 4)]
    assert models[0].n_rules_ == 12
    for model in models[1:]:
        assert_identical(model.tree_, models[0].tree_)
        for combination in RULES:
            one, other = (m.set_params(combination=combination).predict_evidence(new) for m in (models[0], model))
            for name in ("belief", "ignorance", "conflict"):
                assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), (combination, name)
        assert model.support_deficit(new).tobytes() == models[0].support_deficit(new).tobytes()
        fired = [m.tree_.fire(new, n_threads=n).tobytes() for m, n in ((models[0], 1), (model, 4))]
        assert fired[0] == fired[1]


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
        return read_evidence(model.tree_, rows, model.classes_, combination="vote", gated=gated).belief

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
    vote = read_evidence(tree, np.array([[low], [high]]), model.classes_, combination="vote", gated=False).belief
    assert np.abs(vote[1] - vote[0]).sum() == pytest.approx(2.0)
    assert model.lipschitz_ * (high - low) == pytest.approx(2.0)


# ---------------------------------------------------------------------------------------------------------------------
# Evidence: laws of the masses
# ---------------------------------------------------------------------------------------------------------------------


def star(consequent: Floats) -> FuzzyTree:
    """One leaf per row of ``consequent``; leaf i fires with the value of feature i."""
    n = len(consequent)
    return hand_made(np.full(n, 0), consequent)


def chain(consequent: Floats) -> FuzzyTree:
    """One path; each node fires with its parent's firing times the value of its own feature."""
    return hand_made(np.arange(len(consequent)), consequent)


def hand_made(parent: NDArray[np.int64], consequent: Floats) -> FuzzyTree:
    """A tree whose node i + 1 has the given parent and consequent, and full membership at 1 of feature i."""
    n, n_classes = consequent.shape
    return FuzzyTree(
        parent=np.append(-1, parent).astype(np.int32),
        feature=np.arange(-1, n, dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf]] + [[0.0, 1.0, np.inf, np.inf]] * n),
        support=np.array([[0.0, 1.0]] * (n + 1)),
        class_weight=np.ones((n + 1, n_classes)),
        consequent=np.vstack([np.full(n_classes, 1 / n_classes), consequent]),
        gain=np.zeros(n + 1),
    )


def read(tree: FuzzyTree, X: Any, **options: Any) -> Evidence:
    return read_evidence(tree, np.atleast_2d(np.asarray(X, dtype=float)), np.arange(tree.n_classes), **options)


FIRINGS = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-300, 1e-17, 0.5, 1 - 1e-9]))


@st.composite
def pieces_of_evidence(draw: st.DrawFn, min_size: int = 1) -> tuple[Floats, Floats]:
    """Firings of some sources, and their distributions: sharp, flat or in between."""
    n, n_classes = draw(st.integers(min_size, 8)), draw(st.integers(1, 5))
    firing = np.array(draw(st.lists(FIRINGS, min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return firing, rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.05, 1.0, 100.0]))), size=n)


def grown_evidence(table: Table, seed: int, **options: Any) -> Evidence:
    model = fit(table, consequents="raw" if seed % 2 else "shrinkage")
    return read_evidence(model.tree_, rows_near(table[0], seed), model.classes_, **options)


@COMBINATIONS
@SOURCES
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1), discount=st.sampled_from([0.0, 3.0]))
def test_masses_are_not_negative_and_sum_to_one(
    combination: str, sources: str, table: Table, seed: int, discount: float
) -> None:
    e = grown_evidence(table, seed, combination=combination, sources=sources, discount=discount)
    assert (e.belief >= 0).all()
    assert (e.ignorance >= 0).all()
    np.testing.assert_allclose(e.belief.sum(axis=1) + e.ignorance, 1.0, rtol=0, atol=1e-12)
    assert ((e.conflict >= 0) & (e.conflict <= 1)).all()


@COMBINATIONS
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
def test_belief_is_at_most_pignistic_is_at_most_plausibility(combination: str, table: Table, seed: int) -> None:
    e = grown_evidence(table, seed, combination=combination)
    assert (e.belief <= e.pignistic).all()
    assert (e.pignistic <= e.plausibility).all()
    np.testing.assert_allclose(e.pignistic.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@COMBINATIONS
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
def test_interval_dominance_is_the_ignorance_margin_rule(combination: str, table: Table, seed: int) -> None:
    """{c : Pl(c) >= max Bel} = {c : m(c) >= max m - m(frame)}: a class may trail by as much as is open."""
    e = grown_evidence(table, seed, combination=combination)
    best = e.belief.max(axis=1, keepdims=True)
    by_margin = e.belief >= best - e.ignorance[:, None]
    tie = np.abs(e.plausibility - best) < 1e-12
    assert (tie | (e.prediction_set() == by_margin)).all()
    assert e.prediction_set()[np.arange(len(e)), e.pignistic.argmax(axis=1)].all()  # the label is in its set


@LAW
@given(pieces_of_evidence(min_size=2))
def test_more_evidence_never_adds_ignorance(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    so_far = np.tril(np.ones((len(firing), len(firing)))) * firing  # row k: the first k + 1 sources
    ignorance = read(star(consequent), so_far).ignorance
    assert (np.diff(ignorance) <= 1e-15).all()
    assert ignorance[0] == pytest.approx(1 - firing[0])


@LAW
@given(pieces_of_evidence(), st.integers(0, 2**32 - 1))
def test_the_order_of_sources_does_not_matter(pieces: tuple[Floats, Floats], seed: int) -> None:
    firing, consequent = pieces
    order = np.random.default_rng(seed).permutation(len(firing))
    for combination in RULES:
        one = read(star(consequent), firing, combination=combination)
        other = read(star(consequent[order]), firing[order], combination=combination)
        np.testing.assert_allclose(one.belief, other.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.ignorance, other.ignorance, rtol=0, atol=1e-10)


@LAW
@given(pieces_of_evidence())
def test_dempsters_rule_is_its_closed_form(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    sources = [oracle.Source(phi * p, 1 - phi) for phi, p in zip(firing, consequent, strict=True)]
    belief, ignorance, conflict = oracle.dempster(sources, consequent.shape[1])
    e = read(star(consequent), firing)
    np.testing.assert_allclose(e.belief[0], belief, rtol=0, atol=1e-10)
    np.testing.assert_allclose(e.ignorance, ignorance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(e.conflict, conflict, rtol=0, atol=1e-10)


@COMBINATIONS
@SOURCES
@LAW
@given(pieces=pieces_of_evidence())
def test_one_source_alone_gives_back_its_own_mass(
    combination: str, sources: str, pieces: tuple[Floats, Floats]
) -> None:
    (phi, *_), (p, *_) = pieces
    tolerance = 2e-12 if combination in ("cautious", "chain") else 1e-14  # these keep at least 1e-12 of ignorance
    for firing in (phi, 1.0):
        e = read(star(p[None]), firing, combination=combination, sources=sources)
        np.testing.assert_allclose(e.belief[0], firing * p, rtol=0, atol=tolerance)
        np.testing.assert_allclose(e.ignorance, 1 - firing, rtol=0, atol=tolerance)
        np.testing.assert_allclose(e.conflict, 0, atol=1e-14)


@COMBINATIONS
@SOURCES
def test_a_root_alone_gives_back_its_distribution(combination: str, sources: str) -> None:
    model = fit((np.zeros((10, 1)), np.arange(10) % 3), combination=combination, sources=sources, consequents="raw")
    assert model.n_rules_ == 1
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.4, 0.3, 0.3]], atol=1e-11)


@LAW
@given(pieces_of_evidence())
def test_repeating_a_source_changes_nothing_for_the_cautious_rule(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    one = read(star(consequent), firing, combination="cautious")
    twice = read(star(np.tile(consequent, (2, 1))), np.tile(firing, 2), combination="cautious")
    np.testing.assert_array_equal(one.belief, twice.belief)
    np.testing.assert_array_equal(one.ignorance, twice.ignorance)


@LAW
@given(pieces_of_evidence())
def test_chain_is_cautious_on_one_path_and_dempster_on_paths_of_one_node(pieces: tuple[Floats, Floats]) -> None:
    # A path ends at the first node that does not fire; near 1 the cautious rules keep some ignorance.
    firing, consequent = np.clip(pieces[0], 1e-30, 0.999), pieces[1]
    along = read(chain(consequent), firing, combination="chain")
    cautious = read(chain(consequent), firing, combination="cautious", sources="all")
    across = read(star(consequent), firing, combination="chain")
    dempster = read(star(consequent), firing)
    for one, other in ((along, cautious), (across, dempster)):
        np.testing.assert_allclose(one.belief, other.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.ignorance, other.ignorance, rtol=0, atol=1e-10)


@COMBINATIONS
@SOURCES
@LAW
@given(table=tables())
def test_when_nothing_fires_the_answer_is_vacuous(combination: str, sources: str, table: Table) -> None:
    model = fit(table, combination=combination, sources=sources)
    if model.n_rules_ == 1:
        return  # a tree without conditions has no support to be outside of
    X, n_classes = table[0], len(model.classes_)
    far = np.vstack([X.max(axis=0) + 2 * np.ptp(X, axis=0) + 1, np.full(X.shape[1], -1e200)])
    e = model.predict_evidence(far)
    assert (e.belief == 0).all()
    assert (e.ignorance == 1).all()
    assert (e.conflict == 0).all()
    assert (e.plausibility == 1).all()
    assert (e.pignistic == 1 / n_classes).all()
    assert e.prediction_set().all()


@pytest.mark.parametrize("combination", ["dempster", "cautious", "chain", "vote"])
def test_tiny_firings_give_tiny_masses(combination: str) -> None:
    consequent = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    firing = np.array([1e-300, 3e-300, 2e-300])
    e = read(star(consequent), firing, combination=combination)
    each = firing[:, None] * consequent
    expected = each.max(axis=0) if combination == "cautious" else each.sum(axis=0)
    np.testing.assert_allclose(e.belief[0], expected, rtol=1e-12)
    assert e.ignorance == 1.0
    assert e.prediction_set().all()


@pytest.mark.parametrize("n_sources", [300, 301])
@pytest.mark.parametrize("firing", [1.0, 1 - 1e-9])
def test_hundreds_of_conflicting_sources_do_not_underflow(n_sources: int, firing: float) -> None:
    p = np.array([[1 - 1e-7, 1e-7], [1e-7, 1 - 1e-7]])[np.arange(n_sources) % 2]
    for tree in (star(p), chain(p)):
        # On the path all nodes fire together: the first feature sets the firing, the others are one.
        X = np.full(n_sources, firing) if tree.parent[-1] == 0 else np.append(firing, np.ones(n_sources - 1))
        e = read(tree, X, sources="all")
        belief, ignorance, conflict = oracle.dempster([oracle.Source(firing * q, 1 - firing) for q in p], 2)
        np.testing.assert_allclose(e.belief[0], belief, rtol=1e-9)
        np.testing.assert_allclose(e.ignorance, ignorance, rtol=0, atol=1e-12)
        assert e.conflict[0] == pytest.approx(1.0)
        assert conflict == pytest.approx(1.0)
    assert e.belief[0, 0] == pytest.approx(0.5 if n_sources == 300 else 1.0, abs=1e-6)


@LAW
@given(pieces_of_evidence())
def test_the_mean_of_the_dirichlet_is_the_pignistic_probability(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    e = read(star(consequent), firing)
    mean = e.dirichlet / e.dirichlet.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, e.pignistic, rtol=0, atol=2e-9 if e.ignorance < 1e-9 else 1e-12)


@LAW
@given(tables(), st.floats(0.01, 1e4), st.floats(1.0, 100.0), st.integers(0, 2**32 - 1))
def test_discounting_more_never_takes_ignorance_away(table: Table, discount: float, factor: float, seed: int) -> None:
    options = [{"discount": value} for value in (0.0, discount, discount * factor)]
    none, some, more = (grown_evidence(table, seed, **o).ignorance for o in options)
    assert (none <= some + 1e-12).all()
    assert (some <= more + 1e-12).all()


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


def test_sources_that_exclude_each_other_entirely_say_nothing() -> None:
    # Two sides of no split: both fire fully, each certain of another class. Dempster's rule has no answer to that.
    whole = [-np.inf, -np.inf, np.inf, np.inf]
    tree = FuzzyTree(
        parent=np.array([-1, 0, 0], dtype=np.int32),
        feature=np.array([-1, 0, 0], dtype=np.int32),
        trapezoid=np.array([whole, whole, whole]),
        support=np.array([[0.0, 1.0]] * 3),
        class_weight=np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),
        consequent=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
        gain=np.zeros(3),
    )
    evidence = read_evidence(tree, np.array([[0.5]]), np.array([0, 1]))
    assert (evidence.ignorance[0], evidence.conflict[0]) == (1.0, 1.0)
    np.testing.assert_array_equal(evidence.belief, [[0.0, 0.0]])


@pytest.mark.parametrize("value", [0.0, 2.0, -3.0, 1e300, 5e-324])
def test_upright_sides_of_a_trapezoid_include_their_ends(value: float) -> None:
    tree = FuzzyTree(
        parent=np.array([-1, 0, 0], dtype=np.int32),
        feature=np.array([-1, 0, 0], dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf], [value] * 4, [value, value, np.inf, np.inf]]),
        support=np.array([[value, value]] * 3),
        class_weight=np.ones((3, 2)),
        consequent=np.full((3, 2), 0.5),
        gain=np.zeros(3),
    )
    around = np.array([[np.nextafter(value, -np.inf)], [value], [np.nextafter(value, np.inf)]])
    np.testing.assert_array_equal(tree.fire(around, gated=False)[:, 1:], [[0, 0], [1, 1], [0, 1]])
    assert tree.fire(np.array([[value]]))[0, 1] == 1.0  # and a gate around one value is open there
