"""Fuzzy-UCS: its terms, its evolution, and its inference against Dempster's rule on all subsets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ferl_bench.method import get_method
from ferl_bench.methods.fuzzy_ucs import MIN_EXPERIENCE, SETTINGS, FuzzyUCS

pytest.importorskip("numba", reason="numba is not installed: pip install './benchmarks[numba]'")

from ferl_bench import fuzzy_ucs_loop as loop  # they need numba
from ferl_bench import fuzzy_ucs_population as rules

Masses = dict[frozenset[int], float]


def table_of(row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Memberships of a row's values in all sets of terms, and the row's terms in words."""
    table = np.empty((len(row), rules.EVERY_TERM + 1))
    support, words = np.empty(len(row), np.uint8), np.empty(-(-len(row) // rules.FEATURES_PER_WORD), np.uint64)
    rules.membership_table(row, table, support)
    rules.pack(support, words)
    return table, words


def parameters(**changes: float) -> Any:
    return rules.Parameters(**({"n_rules": 30} | SETTINGS | changes))


def population_of(terms: list[list[int]], class_mass: list[list[float]], numerosity: list[int]) -> Any:
    population = rules.empty_population(len(terms), len(terms[0]), len(class_mass[0]))
    population.n_macro[0] = len(terms)
    for rule, term in enumerate(terms):
        population.terms[rule] = term
        rules.pack(population.terms[rule], population.words[rule])
        population.class_mass[rule] = class_mass[rule]
        population.experience[rule] = sum(class_mass[rule])
        population.label[rule] = int(np.argmax(class_mass[rule]))
        population.fitness[rule] = 2 * max(class_mass[rule]) / sum(class_mass[rule]) - 1
        population.numerosity[rule] = numerosity[rule]
        population.correct_size[rule] = 1
    return population


def test_the_terms_are_a_partition() -> None:
    row = np.append(np.linspace(0, 1, 41), np.random.default_rng(0).random(20))
    table, _ = table_of(row)
    np.testing.assert_allclose(sum(table[:, 1 << term] for term in range(rules.N_TERMS)), 1)
    np.testing.assert_array_equal(table[:, rules.EVERY_TERM], 1)
    for term in range(rules.N_TERMS):
        top = table_of(np.array([term / (rules.N_TERMS - 1)]))[0]
        assert top[0, 1 << term] == 1


def test_a_set_of_both_neighbours_holds_fully_between_them() -> None:
    for lower in range(rules.N_TERMS - 1):
        between = (lower + np.linspace(0, 1, 9)) / (rules.N_TERMS - 1)
        table, _ = table_of(between)
        np.testing.assert_array_equal(table[:, 3 << lower], 1)
        np.testing.assert_array_equal(table[:, rules.EVERY_TERM & ~(3 << lower)][1:-1], 0)


def test_a_set_of_terms_holds_as_much_as_its_terms_together() -> None:
    table, _ = table_of(np.random.default_rng(1).random(30))
    for terms in range(rules.EVERY_TERM + 1):
        columns = [table[:, 1 << term] for term in range(rules.N_TERMS) if terms >> term & 1]
        np.testing.assert_allclose(table[:, terms], np.sum(columns, axis=0) if columns else np.zeros(30), atol=1e-12)


@pytest.mark.parametrize("n_features", [1, 12, 13, 30])
def test_the_bits_reject_only_rules_that_do_not_match(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    for _ in range(200):
        table, row_words = table_of(rng.integers(0, 9, n_features) / 8)
        terms = np.where(rng.random(n_features) < 0.1, rng.integers(1, 32, n_features), 31).astype(np.uint8)
        words = np.empty_like(row_words)
        rules.pack(terms, words)
        product = np.prod(table[np.arange(n_features), terms])
        assert rules.membership(terms, words, table, row_words) == pytest.approx(product, abs=1e-15)


def combine(one: Masses, other: Masses) -> Masses:
    """Dempster's rule on subsets of the frame."""
    products: Masses = {}
    for (first, weight), (second, item) in itertools.product(one.items(), other.items()):
        products[first & second] = products.get(first & second, 0.0) + weight * item
    conflict = products.pop(frozenset(), 0.0)
    return {subset: weight / (1 - conflict) for subset, weight in products.items()}


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_inference_is_dempsters_rule_on_all_subsets(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    frame = frozenset(range(n_classes))
    n_rules, n_features = 6, 3
    terms = rng.integers(1, 32, (n_rules, n_features))
    mass = 20 * rng.dirichlet(np.ones(n_classes), n_rules)
    mass[-1] *= MIN_EXPERIENCE / mass[-1].sum() / 1.01  # too little experience to be heard
    numerosity = rng.integers(1, 4, n_rules)
    population = population_of(terms.tolist(), mass.tolist(), numerosity.tolist())
    rows = rng.random((20, n_features))
    classes, ignorance = np.empty((20, n_classes)), np.empty(20)
    loop.combine(rows, population, MIN_EXPERIENCE, classes, ignorance)
    for index, row in enumerate(rows):
        table, _ = table_of(row)
        combined: Masses = {frame: 1.0}
        for rule in range(n_rules - 1):
            matching = float(np.prod(table[np.arange(n_features), terms[rule]]))
            weight = mass[rule] / mass[rule].sum()
            masses = {frozenset([label]): matching * weight[label] for label in range(n_classes)}
            for _ in range(numerosity[rule]):
                combined = combine(combined, masses | {frame: 1 - matching})
        expected = [combined.get(frozenset([label]), 0.0) for label in range(n_classes)]
        np.testing.assert_allclose(classes[index], expected, atol=1e-9)
        assert ignorance[index] == pytest.approx(combined.get(frame, 0.0), abs=1e-9)


def test_of_rules_in_full_conflict_the_more_numerous_wins() -> None:
    population = population_of([[31]] * 2, [[20.0, 0.0], [0.0, 20.0]], [2, 1])
    classes, ignorance = np.empty((1, 2)), np.empty(1)
    loop.combine(np.array([[0.3]]), population, MIN_EXPERIENCE, classes, ignorance)
    assert np.isfinite(classes).all()
    assert classes[0, 0] > 0.999


@pytest.mark.parametrize("seed", range(3))
def test_a_population_keeps_its_laws_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, labels = rng.random((150, 14)), rng.integers(0, 3, 150)
    labels[:100] = (rows[:100, 0] * 3).astype(int)
    population = rules.empty_population(30, 14, 3)
    for row, label in zip(rows, labels, strict=True):
        before = int(population.n_macro[0])
        loop.learn(row[None], np.array([label]), 1, population, parameters(ga_age=-1000.0), rng)
        n_macro = int(population.n_macro[0])
        assert 1 <= n_macro <= before + 3
        emptied = population._replace(n_macro=np.zeros(0))
        terms, words, mass, experience, best, fitness, *_ = (values[:n_macro] for values in emptied)
        numerosity = population.numerosity[:n_macro]
        assert numerosity.min() >= 1
        assert numerosity.sum() <= 30
        assert terms.min() >= 1
        assert terms.max() <= rules.EVERY_TERM
        packed = np.empty_like(words)
        for one, target in zip(terms, packed, strict=True):
            rules.pack(one, target)
        np.testing.assert_array_equal(words, packed)
        np.testing.assert_allclose(mass.sum(axis=1), experience)
        seen = experience > 0
        np.testing.assert_array_equal(best[seen], mass[seen].argmax(axis=1))
        np.testing.assert_allclose(fitness[seen], 2 * mass[seen].max(axis=1) / experience[seen] - 1, atol=1e-12)
    assert numerosity.sum() == 30


def test_generality_is_inclusion_of_every_set() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        one, other = rng.choice([1, 3, 7, 15, 31, 2, 6], (2, 2)).astype(np.uint8)
        contains = all(int(b) | int(a) == int(a) for a, b in zip(one, other, strict=True))
        assert rules.is_more_general(one, other) == (contains and one.tolist() != other.tolist())


@pytest.mark.parametrize(
    ("mass", "subsumes"),
    [([99.9, 0.1], True), ([99.0, 1.0], False), ([50.0, 0.0], False)],
    ids=["accurate", "not accurate", "not experienced"],
)
def test_only_an_accurate_experienced_rule_subsumes_and_only_more_special_ones(
    mass: list[float], subsumes: bool
) -> None:
    """The first rule contains the second, not the third; the fourth is more general and has seen too little."""
    population = population_of(
        [[7, 31], [3, 31], [8, 31], [15, 31]], [mass, [20.0, 0.0], [20.0, 0.0], [20.0, 0.0]], [1, 4, 2, 1]
    )
    loop.subsume_correct(population, np.arange(4), 4, parameters())
    assert population.numerosity[:4].tolist() == ([5, 0, 2, 1] if subsumes else [1, 4, 2, 1])


def test_a_new_rule_matches_its_row_fully_and_has_its_class() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        row = rng.random(5)
        population = rules.empty_population(30, 5, 3)
        loop.learn(row[None], np.array([2]), 1, population, parameters(), rng)
        table, words = table_of(row)
        assert population.n_macro[0] == 1
        assert rules.membership(population.terms[0], population.words[0], table, words) == 1
        assert population.label[0] == 2


def test_mutation_never_empties_a_set_and_always_changes_it() -> None:
    rng = np.random.default_rng(0)
    before = np.arange(1, 32, dtype=np.uint8)
    seen = set()
    for _ in range(300):
        after = before.copy()
        loop.mutate(after, 1.0, rng)
        assert ((after >= 1) & (after <= 31)).all()
        assert (after != before).all()
        seen |= set(zip(before.tolist(), after.tolist(), strict=True))
    from_middle = {after for item, after in seen if item == 0b00100}
    assert from_middle == {0b00101, 0b00110, 0b01100, 0b10100, 0b00010, 0b01000}


def test_crossover_exchanges_terms_and_loses_none() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        parents = rng.integers(1, 32, (2, 6)).astype(np.uint8)
        children = parents.copy()
        loop.cross(children[0], children[1], rng)
        assert children.min() >= 1
        np.testing.assert_array_equal(children[0] | children[1], parents[0] | parents[1])
        np.testing.assert_array_equal(children[0] & children[1], parents[0] & parents[1])


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 2, 5], 60)
    return rng.normal(size=(180, 4)) * 0.9 + np.eye(6)[y][:, [0, 2, 5, 1]] * 3, y


def test_a_seed_decides_the_rules() -> None:
    X, y = blobs()
    one, same, other = (FuzzyUCS(200, 5, seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(one.population_.terms, same.population_.terms)
    assert not np.array_equal(one.population_.terms, other.population_.terms)


def test_a_row_without_rules_is_fully_unknown_and_values_beyond_the_fitting_rows_are_moved_to_their_ends() -> None:
    X, y = blobs()
    fitted = FuzzyUCS(200, 5).fit(X, y)
    np.testing.assert_array_equal(fitted.masses(X.max(axis=0)[None])[0], fitted.masses(X.max(axis=0)[None] + 9)[0])
    fitted.population_.experience[:] = 0
    np.testing.assert_allclose(fitted.predict_proba(X[:3]), 1 / 3)
    assert fitted.predict_set(X[:3]).all()
    assert fitted.n_rules_ == 0


def test_the_row_of_the_benchmark() -> None:
    X, y = blobs()
    method = get_method("Fuzzy-UCS (DS)")
    assert method.size is not None
    assert method.prediction_set is not None
    fitted = method.fit(X[::2], y[::2], 0)
    probabilities, sets = fitted.predict_proba(X[1::2]), method.prediction_set(fitted, X[1::2])
    answers = fitted.predict(X[1::2])
    assert np.mean(answers == y[1::2]) > 0.85
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert sets[np.arange(90), probabilities.argmax(axis=1)].all()
    assert 3 <= method.size(fitted) <= fitted.population_.n_macro[0] <= 2000


def test_what_cannot_be_fitted_is_refused_with_the_value() -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match="X has 1 missing values; FuzzyUCS takes complete rows"):
        FuzzyUCS().fit(np.where(np.arange(720).reshape(180, 4) == 7, np.nan, X), y)
    with pytest.raises(ValueError, match=r"must be at least 1\. Got 0 and 50 instead"):
        FuzzyUCS(n_rules=0).fit(X, y)
