"""Compact trees: the compiled core against the oracle, and laws of growth and evidence, each the name of a test.

Equal gains go to the first candidate, up to rounding, so the tree must be the oracle's node by node even where values,
rows and whole columns are tied.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.utils import check_random_state

import oracle
from ferl import FERLClassifier, FuzzyTree
from ferl.words import FuzzySet, LinguisticVariable, word_conditions
from law_examples import LAW, RULES, Floats, Table, assert_identical, rows_near, tables
from oracle import linguistic
from tree_examples import tree_classifier

N_TABLES = 150  # random tables for each criterion

# ---------------------------------------------------------------------------------------------------------------------
# Random problems
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A random training table, the tree the core made of it, and the oracle's view of the same rows."""

    X: Floats
    model: FERLClassifier
    terms: list[linguistic.Term]
    options: linguistic.LinguisticOptions
    growth: oracle.Sample  # the rows that words are chosen on
    everything: oracle.Sample  # all distinct rows

    @property
    def tree(self) -> FuzzyTree:
        return self.model.tree_


def random_column(rng: np.random.Generator, n: int, others: list[Floats]) -> Floats:
    kind = rng.choice(
        ["continuous", "rounded", "few", "constant", "copy", "mirrored"], p=[0.4, 0.2, 0.2, 0.06, 0.07, 0.07]
    )
    if kind == "rounded":
        return rng.normal(size=n).round(1)
    if kind == "few":
        return rng.integers(0, rng.integers(2, 6), n).astype(float)
    if kind == "constant":
        return np.full(n, 7.0)
    if kind in ("copy", "mirrored") and others:
        return others[rng.integers(len(others))] * (1 if kind == "copy" else -1)
    return rng.normal(size=n)


def random_table(rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    n, d = int(rng.integers(30, 120)), int(rng.integers(2, 6))
    columns: list[Floats] = []
    for _ in range(d):
        columns.append(random_column(rng, n, columns))
    X, n_classes = np.column_stack(columns), int(rng.choice([2, 2, 2, 3, 3, 4, 4, 1]))
    a, b = rng.integers(d, size=2)
    standard = (X - X.mean(axis=0)) / np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    score = (
        standard[:, a] + np.abs(standard[:, b]) * rng.choice([0.0, 2.0]) + rng.choice([0.1, 0.7]) * rng.normal(size=n)
    )
    y = np.argsort(np.argsort(score, kind="stable")) * n_classes // n
    if rng.random() < 0.3:  # equal rows
        again = rng.integers(0, n, n // 2)
        X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    return X, y


def random_weight(rng: np.random.Generator, n: int) -> Floats | None:
    kind = rng.choice(["none", "counts", "fractions", "fractions", "zeros", "shares"])
    if kind == "counts":
        return rng.integers(1, 4, n).astype(float)
    if kind == "fractions":
        return rng.uniform(0.3, 3.0, n)
    if kind == "zeros":
        return np.where(rng.random(n) < 0.2, 0.0, 1.0)
    return rng.dirichlet(np.ones(n)) if kind == "shares" else None


def expert_words(rng: np.random.Generator, X: Floats) -> list[LinguisticVariable]:
    """Words as an expert writes them: ramps that overlap freely, upright sides, categories; some features have none."""
    variables = []
    for j, column in enumerate(X.T):
        values = np.unique(column)
        if len(values) == 1 or rng.random() < 0.15:
            continue
        low, q1, q2, high = np.sort(rng.uniform(values[0], values[-1], 4)).tolist()
        kind = rng.choice(["ramps", "steps", "categories"])
        sets = [
            FuzzySet.falling("small", q1, high),
            FuzzySet("usual", low, q1, q2, high),
            FuzzySet.rising("large", q1, high),
        ]
        if kind == "steps":
            sets = [FuzzySet.falling("small", q1), FuzzySet.crisp("usual", q1, q2), FuzzySet.rising("large", q2)]
        if kind == "categories" and len(values) <= 7:
            sets = [FuzzySet.crisp(f"kind {k}", value) for k, value in enumerate(values.tolist())]
        variables.append(LinguisticVariable(f"x{j}", tuple(sets)))
    return variables


def random_options(rng: np.random.Generator, X: Floats) -> dict[str, Any]:
    partition = rng.choice(["quantile", "quantile", "width", "mdlp", "expert"])
    words, n_sets = expert_words(rng, X) if partition == "expert" else str(partition), int(rng.integers(2, 8))
    return {
        "words": words,
        "n_sets": 3 if partition == "expert" else n_sets,  # it counts words that are made from the table
        "max_rules": int(rng.choice([1, 3, 6, 15, 15, 15])),
        "max_depth": int(rng.choice([1, 2, 3, 5, 5])),
        # Not round numbers: whether a sum of rows of weight one is at least 2.0 can depend on rounding.
        "min_leaf_weight": float(rng.choice([0.7, 1.3, 2.3, 5.1])),
        "min_gain": float(rng.choice([0.0013, 0.01, 0.01, 0.03])),
        "patience": int(rng.integers(0, 4)),
        "min_coverage": float(rng.choice([0.0, 0.0, 0.0, 0.0513, 0.2017])),
        "min_rule_worth": float(rng.choice([0.0011, 0.0043, 0.0043, 0.04, 0.15])),
        "growth_rows": int(rng.choice([25, 1000, 1000, 1000])),
    }


def fit_case(X: Floats, y: NDArray[np.int64], weight: Floats | None, seed: int, **options: Any) -> Case:
    model = tree_classifier("compact", random_state=seed, **options).fit(X, y, weight)
    weight = np.ones(len(X)) if weight is None else weight
    codes = np.searchsorted(model.classes_, y).astype(np.int32)
    core_seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))

    def sample(n_rows: int) -> oracle.Sample:
        return oracle.take_sample(X, codes, weight, len(model.classes_), core_seed, n_rows, 1)

    preset = {"max_rules": 15, "max_depth": 5, "min_gain": 0.005, "min_rule_worth": 0.045}
    given = {f.name: options.get(f.name, preset.get(f.name)) for f in fields(linguistic.LinguisticOptions)}
    given |= {"soft_share": float(options.get("criterion", "consistent") == "consistent")}
    read = {name: getattr(model, name) if value is None else value for name, value in given.items()}
    found = word_conditions(model.words_)
    all_terms = [
        linguistic.Term(feature, tuple(ends), bool(is_complement))
        for feature, ends, is_complement in zip(
            found.feature.tolist(), found.trapezoid.tolist(), found.is_complement.tolist(), strict=True
        )
    ]
    growth_options = linguistic.LinguisticOptions(**read)
    return Case(X, model, all_terms, growth_options, sample(model.growth_rows or len(X)), sample(len(X)))


@cache
def random_case(seed: int, criterion: str = "consistent") -> Case:
    rng = np.random.default_rng([seed, 6])
    X, y = random_table(rng)
    return fit_case(X, y, random_weight(rng, len(X)), seed, criterion=criterion, **random_options(rng, X))


@cache
def oracle_growth(case: Case) -> linguistic.Growth:
    return linguistic.Growth(case.growth, case.terms, case.options).run()


def has_upright_sides(tree: FuzzyTree) -> bool:
    a, b, c, d = tree.trapezoid[1:].T
    return bool((np.isfinite(a) & (a == b) | np.isfinite(d) & (c == d)).any())


# ---------------------------------------------------------------------------------------------------------------------
# The core against the oracle
# ---------------------------------------------------------------------------------------------------------------------


def assert_same_tree(case: Case) -> None:
    expected = oracle_growth(case).tree()
    np.testing.assert_array_equal(case.tree.parent, expected.parent)
    np.testing.assert_array_equal(case.tree.feature, expected.feature)
    np.testing.assert_array_equal(case.tree.trapezoid, expected.trapezoid)
    np.testing.assert_allclose(case.tree.gain, expected.gain, rtol=1e-8, atol=1e-9 * case.growth.weight.sum())


@pytest.mark.parametrize("criterion", ["consistent", "cci"])
@pytest.mark.parametrize("seed", range(N_TABLES))
def test_the_tree_is_the_oracles_node_by_node(seed: int, criterion: str) -> None:
    case = random_case(seed, criterion)
    if not oracle_growth(case).is_tied:
        assert_same_tree(case)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_what_growth_reached_is_what_the_oracle_reached(seed: int) -> None:
    """Whatever ties did: the answers of the two trees are equally good."""
    case, soft_share = random_case(seed), random_case(seed).options.soft_share
    sources = linguistic.read_nodes(case.tree, case.growth)[1:]
    reached = linguistic.Answers.of(case.growth, sources).value(case.growth, soft_share)
    assert reached == pytest.approx(oracle_growth(case).answers.value(case.growth, soft_share), abs=1e-8)


def assert_worth_their_place(tree: FuzzyTree, sample: oracle.Sample, options: linguistic.LinguisticOptions) -> None:
    nodes = linguistic.read_nodes(tree, sample)
    leaves = [node for node in nodes[1:] if not node.children]
    for leaf in leaves if len(nodes) > 2 else []:
        worth = linguistic.worth(leaf, nodes[1:], sample, options.soft_share)
        assert worth > linguistic.worth_needed(leaf, options) - 2e-9


@pytest.mark.parametrize("criterion", ["consistent", "cci"])
def test_every_rule_is_worth_its_place_unless_it_is_the_only_word(criterion: str) -> None:
    for seed in range(N_TABLES):
        case = random_case(seed, criterion)
        assert_worth_their_place(case.tree, case.growth, case.options)


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_class_weights_and_ranges_are_sums_over_all_rows(seed: int) -> None:
    tree, rows = random_case(seed).tree, random_case(seed).everything
    firing = linguistic.fire(tree, rows.x)
    class_weight = np.array([rows.class_weight(phi * rows.weight) for phi in firing.T])
    np.testing.assert_allclose(tree.class_weight, class_weight, rtol=1e-10, atol=1e-12 * rows.weight.sum())
    for o in range(1, tree.n_nodes):
        values = rows.x[firing[:, tree.parent[o]] > linguistic.NEGLIGIBLE_FIRING, tree.feature[o]]
        np.testing.assert_array_equal(tree.support[o], [values.min(), values.max()])


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_consequents_and_evidence_are_the_oracles(seed: int) -> None:
    case = random_case(seed)
    expected = oracle.consequents(case.tree.class_weight, case.tree.parent)
    np.testing.assert_allclose(case.tree.consequent, expected, rtol=0, atol=1e-12)
    if has_upright_sides(case.tree):
        return  # the oracle's inference knows ramps only
    X = rows_near(case.X, seed, 25)
    for combination in RULES if seed < 30 else ["dempster"]:
        model = case.model.reading(combination=combination)
        evidence, masses = model.predict_evidence(X), oracle.combine(case.tree, X, combination, "all")
        np.testing.assert_allclose(evidence.belief, masses.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(evidence.ignorance, masses.ignorance, rtol=0, atol=1e-10)
        np.testing.assert_allclose(evidence.conflict, masses.conflict, rtol=0, atol=1e-10)


def test_the_random_cases_reach_every_branch() -> None:
    cases = [random_case(seed, criterion) for seed in range(N_TABLES) for criterion in ("consistent", "cci")]
    grown = [oracle_growth(case) for case in cases]
    sizes = np.array([case.model.n_rules_ for case in cases])
    assert (sizes > 4).sum() > 50
    assert {1, 2, 3, 4} == {len(case.model.classes_) for case in cases}
    assert {0, 1, 2, 3, 4} <= {int(case.tree.depth.max()) for case in cases}
    assert sum(growth.n_put_off > 0 for growth in grown) > 100
    assert sum(growth.n_removed > 0 for growth in grown) > 50
    assert sum(growth.is_tied for growth in grown) < len(grown) / 12
    assert sum(has_upright_sides(case.tree) for case in cases) > 10
    assert sum(len(growth.joined) > growth.n_removed + len(growth.nodes) - 1 for growth in grown) > 60  # taken back
    assert any(size == case.options.max_rules > 1 for case, size in zip(cases, sizes, strict=True))
    assert any(len(case.growth.x) < len(case.everything.x) for case in cases)
    assert any(len(case.everything.x) < len(case.X) for case in cases)  # equal rows were merged, or have no weight
    # Some strong child came after weak ones; and a first child made a rule longer when no rule was left to add.
    weak = [[one.gain < growth.options.min_gain for one in growth.joined] for growth in grown]
    assert any(first and not second for one in weak for first, second in pairwise(one))
    assert any(case.options.max_rules == 1 and case.tree.depth.max() > 1 for case in cases)


def test_patience_goes_through_weak_words_to_a_strong_one() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(150, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)  # no word alone says anything
    weight = rng.uniform(0.5, 2.0, 150)
    n_rules = []
    for patience in (0, 1, 5):
        case = fit_case(X, y, weight, 0, min_gain=0.15, patience=patience, n_sets=2, min_rule_worth=0.01)
        assert_same_tree(case)
        n_rules.append(case.model.n_rules_)
    assert n_rules[0] < n_rules[-1]
    assert case.model.score(X, y) > 0.9


def test_the_root_covers_everything_however_its_weight_was_rounded() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weight = rng.normal(size=(50, 3)), rng.uniform(0.3, 3.0, 50)
        case = fit_case(X, (X[:, 0] > 0).astype(int), weight, seed, min_coverage=1.0)
        assert case.tree.depth.max() == 1
        assert_same_tree(case)


def test_of_equal_features_the_first_is_used() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        column = rng.normal(size=80)
        X = np.column_stack([rng.normal(size=80), column, column, rng.normal(size=80), column])
        model = tree_classifier("compact", random_state=seed, max_rules=1, max_depth=1).fit(
            X, (column > 0.3).astype(int)
        )
        assert model.tree_.feature[1] == 1


# ---------------------------------------------------------------------------------------------------------------------
# Laws of growth
# ---------------------------------------------------------------------------------------------------------------------


def fit(table: Table, weight: Floats | None = None, **options: Any) -> FERLClassifier:
    return tree_classifier("compact", random_state=0, **options).fit(*table, weight)


@LAW
@given(
    tables(), st.integers(1, 9), st.integers(1, 4), st.integers(2, 7), st.sampled_from(["quantile", "width", "mdlp"])
)
def test_budgets_hold_and_conditions_are_words_of_the_partition(
    table: Table, max_rules: int, max_depth: int, n_sets: int, partition: str
) -> None:
    options = {"max_rules": max_rules, "max_depth": max_depth, "n_sets": n_sets, "words": partition}
    model = fit(table, min_gain=0.0, min_rule_worth=0.0, **options)
    tree = model.tree_
    assert model.n_rules_ <= max_rules
    assert tree.depth.max() <= max_depth
    assert len(tree.word) == tree.n_nodes
    assert tree.word[0] == ""
    assert (tree.weight[1:] >= 2.0 * (1 - 1e-9)).all()
    siblings = list(zip(tree.parent.tolist(), tree.feature.tolist(), tree.word, strict=True))
    assert len(set(siblings)) == len(siblings)
    for o in range(1, tree.n_nodes):
        features = [int(tree.feature[node]) for node in tree.path(o)]
        assert len(set(features)) == len(features)
        variable = model.words_[features[-1]]
        assert variable is not None
        word = {one.name: one.ends for one in (*variable.sets, *variable.complements())}
        assert word[tree.word[o]] == tuple(tree.trapezoid[o].tolist())


@LAW
@given(tables(), st.sampled_from(["consistent", "cci"]), st.sampled_from([0.01, 0.04, 0.2]))
def test_kept_rules_are_worth_min_rule_worth(table: Table, criterion: str, min_rule_worth: float) -> None:
    case = fit_case(*table, None, 0, criterion=criterion, min_rule_worth=min_rule_worth)
    assert_worth_their_place(case.tree, case.growth, case.options)


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
    ghosts, place = rng.integers(len(X), size=(2, 20))
    with_ghosts = np.insert(X, place, X[ghosts] * 7 + 1, axis=0), np.insert(y, place, y[ghosts])
    weight = np.insert(np.ones(len(X)), place, 0.0)
    assert_identical(fit(with_ghosts, weight).tree_, fit(table).tree_)


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.sampled_from(["quantile", "mdlp"]))
def test_the_order_of_rows_does_not_matter(table: Table, seed: int, partition: str) -> None:
    X, y = table
    rng = np.random.default_rng(seed)
    weight, order = rng.uniform(0.5, 3.0, len(X)), rng.permutation(len(X))
    one = fit(table, weight, words=partition)
    assert_identical(one.tree_, fit((X[order], y[order]), weight[order], words=partition).tree_)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6))  # threads start above 200,000 products of rows, words and classes
    y = (X[:, 0] > 0) + (X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0.5).astype(int)
    one, *others = (fit((X, y), n_jobs=n_jobs) for n_jobs in (1, 2, 4))
    assert one.n_rules_ > 2
    for other in others:
        assert_identical(one.tree_, other.tree_)
        assert one.predict_proba(X[:9000]).tobytes() == other.predict_proba(X[:9000]).tobytes()


PROGRAM = """
import hashlib
import numpy as np
from sklearn.datasets import make_classification
from ferl import FERLClassifier, FERLTreeClassifier
digest = hashlib.sha256()
for n_classes in (2, 3, 7):
    X, y = make_classification(700, 8, n_informative=7, n_redundant=0, n_classes=n_classes, random_state=n_classes)
    clf = FERLTreeClassifier("compact", random_state=0, min_gain=0.001, min_rule_worth=0.001)
    clf.fit(X, y, sample_weight=np.linspace(0.5, 3, 700))
    assert clf.n_rules_ > 5
    for array in (clf.tree_.trapezoid, clf.tree_.class_weight, clf.tree_.gain, clf.predict_proba(1.3 * X)):
        digest.update(array.tobytes())
print(digest.hexdigest())
"""


@cache
def digest(instruction_set: str) -> str:
    env = {**os.environ, "FERL_INSTRUCTION_SET": instruction_set}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("instruction_set", ["x86-64-v3", "x86-64-v4"])
def test_vector_width_does_not_change_a_bit(instruction_set: str) -> None:
    assert digest(instruction_set) == digest("baseline")


# ---------------------------------------------------------------------------------------------------------------------
# Laws of evidence
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combination", RULES)
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
def test_masses_sum_to_one_and_pignistic_is_between_belief_and_plausibility(
    combination: str, table: Table, seed: int
) -> None:
    e = fit(table, combination=combination).predict_evidence(rows_near(table[0], seed))
    assert (e.belief >= 0).all()
    assert (e.ignorance >= 0).all()
    np.testing.assert_allclose(e.belief.sum(axis=1) + e.ignorance, 1.0, rtol=0, atol=1e-12)
    assert (e.belief <= e.pignistic).all()
    assert (e.pignistic <= e.plausibility).all()


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.booleans())
def test_no_node_fires_more_than_its_parent(table: Table, seed: int, gated: bool) -> None:
    tree = fit(table, min_gain=0.001, min_rule_worth=0.001).tree_
    firing = tree.fire(rows_near(table[0], seed), gated=gated)
    assert (firing[:, 1:] <= firing[:, tree.parent[1:]]).all()
    assert (firing[:, 0] == 1).all()


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_support_deficit_is_the_firing_that_gates_withheld(table: Table, seed: int) -> None:
    model = fit(table)
    X, tree = rows_near(table[0], seed), model.tree_
    firing, lost = tree.fire(X), np.zeros_like(X)
    for o in range(1, tree.n_nodes):
        value = X[:, tree.feature[o]]
        full = firing[:, tree.parent[o]] * oracle.membership(tree.trapezoid[o], value)
        lost[:, tree.feature[o]] += full * (1 - oracle.gate(tree.support[o], value))
    np.testing.assert_allclose(model.support_deficit(X), lost, rtol=0, atol=1e-12)


@LAW
@given(tables())
def test_rows_far_away_from_all_training_rows_get_ignorance(table: Table) -> None:
    model = fit(table)
    if model.tree_.n_nodes == 1:
        return  # a tree without conditions has no support to be outside of
    X = table[0]
    far = np.vstack([X.max(axis=0) + 2 * np.ptp(X, axis=0) + 1, np.full(X.shape[1], -1e100)])
    evidence = model.predict_evidence(far)
    assert (evidence.ignorance == 1).all()
    assert evidence.prediction_set().all()
