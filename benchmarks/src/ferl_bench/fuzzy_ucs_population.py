"""The rules of Fuzzy-UCS: what they match, and how they join and leave the population; compiled by numba.

A population is a tuple of arrays, one entry for each macro-rule (`Population`). A condition is a set of terms for each
feature: five bits, ``EVERY_TERM`` is "don't care". Twelve features share a 64-bit word, so that most rules that do not
match a row are found by a few bit operations; only for the others a membership is multiplied up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.compiled import compiled_now

Terms = NDArray[np.uint8]
Words = NDArray[np.uint64]

N_TERMS = 5
EVERY_TERM = (1 << N_TERMS) - 1
FEATURES_PER_WORD = 12
# The lowest bit of each of the twelve groups of five.
LOWEST_BITS = np.uint64(sum(1 << (N_TERMS * group) for group in range(FEATURES_PER_WORD)))
SMALLEST_FITNESS = 1e-3


class Population(NamedTuple):
    """Macro-rules, the first ``n_macro[0]`` entries of each array.

    Attributes
    ----------
    terms : ndarray of uint8 of shape (capacity, n_features)
        Sets of terms.
    words : ndarray of uint64 of shape (capacity, n_words)
        The same sets, packed.
    class_mass : ndarray of shape (capacity, n_classes)
        Sums of memberships of the rows of each class.
    experience : ndarray of shape (capacity,)
        Sums of memberships of all rows.
    label : ndarray of int64 of shape (capacity,)
        The class of the largest weight.
    fitness : ndarray of shape (capacity,)
        Twice the largest weight minus the sum of the weights.
    correct_size : ndarray of shape (capacity,)
        Mean size, in micro-rules, of the correct sets that the rule was in.
    n_correct : ndarray of int64 of shape (capacity,)
        Number of those sets.
    numerosity : ndarray of int64 of shape (capacity,)
        Number of micro-rules; 0 while a deleted rule waits to be removed.
    time : ndarray of int64 of shape (capacity,)
        When the genetic algorithm last ran in a correct set with the rule.
    n_macro : ndarray of int64 of shape (1,)
        Number of macro-rules.
    """

    terms: NDArray[np.uint8]
    words: NDArray[np.uint64]
    class_mass: NDArray[np.float64]
    experience: NDArray[np.float64]
    label: NDArray[np.int64]
    fitness: NDArray[np.float64]
    correct_size: NDArray[np.float64]
    n_correct: NDArray[np.int64]
    numerosity: NDArray[np.int64]
    time: NDArray[np.int64]
    n_macro: NDArray[np.int64]


class Parameters(NamedTuple):
    """What the publication fixes; the names are those of `ferl_bench.methods.fuzzy_ucs.FuzzyUCS`."""

    n_rules: int
    ga_age: float
    tournament: float
    crossover: float
    mutation: float
    dont_care: float
    accurate_fitness: float
    subsumer_experience: float
    deletion_experience: float
    deletion_fraction: float


def empty_population(n_rules: int, n_features: int, n_classes: int) -> Population:
    """Return room for `n_rules` micro-rules and those that one row can add before the surplus is deleted."""
    capacity = n_rules + 3
    n_words = -(-n_features // FEATURES_PER_WORD)
    return Population(
        terms=np.zeros((capacity, n_features), np.uint8),
        words=np.zeros((capacity, n_words), np.uint64),
        class_mass=np.zeros((capacity, n_classes)),
        experience=np.zeros(capacity),
        label=np.zeros(capacity, np.int64),
        fitness=np.zeros(capacity),
        correct_size=np.zeros(capacity),
        n_correct=np.zeros(capacity, np.int64),
        numerosity=np.zeros(capacity, np.int64),
        time=np.zeros(capacity, np.int64),
        n_macro=np.zeros(1, np.int64),
    )


@compiled_now
def membership_table(row: Floats, table: Floats, support: Terms) -> None:
    """Fill in the membership of a row's values, in [0, 1], in every set of terms, and the terms they belong to at all.

    The triangles of the five terms have their tops at 0, 1/4, 1/2, 3/4 and 1 and end at the next tops, so that a value
    belongs to two neighbours, and fully to a set of both.
    """
    for feature in range(row.shape[0]):
        position = row[feature] * (N_TERMS - 1)
        lower = min(int(position), N_TERMS - 2)
        share = position - lower
        low_bit, high_bit = 1 << lower, 2 << lower
        for terms in range(EVERY_TERM + 1):
            inside = 0.0
            if terms & low_bit and terms & high_bit:
                inside = 1.0
            elif terms & low_bit:
                inside = 1.0 - share
            elif terms & high_bit:
                inside = share
            table[feature, terms] = inside
        bits = 0
        if share < 1.0:
            bits |= low_bit
        if share > 0.0:
            bits |= high_bit
        support[feature] = bits


@compiled_now
def pack(terms: Terms, words: Words) -> None:
    """Write the sets of terms of all features into 64-bit words; the bits of absent features are set."""
    for word in range(words.shape[0]):
        packed = np.uint64(0)
        for group in range(FEATURES_PER_WORD):
            feature = word * FEATURES_PER_WORD + group
            bits = np.uint64(EVERY_TERM) if feature >= terms.shape[0] else np.uint64(terms[feature])
            packed |= bits << np.uint64(N_TERMS * group)
        words[word] = packed


@compiled_now
def membership(terms: Terms, words: Words, table: Floats, row_words: Words) -> float:
    """Return the product over the features of a row's memberships in a rule's sets."""
    for word in range(words.shape[0]):
        common = words[word] & row_words[word]
        common |= common >> np.uint64(1) | common >> np.uint64(2) | common >> np.uint64(3) | common >> np.uint64(4)
        if common & LOWEST_BITS != LOWEST_BITS:
            return 0.0
    product = 1.0
    for feature in range(terms.shape[0]):
        product *= table[feature, terms[feature]]
    return product


@compiled_now
def is_more_general(one: Terms, other: Terms) -> bool:
    """Whether each set of terms of `one` contains that of `other`, and at least one has more."""
    has_more = False
    for feature in range(one.shape[0]):
        if other[feature] & ~one[feature] & EVERY_TERM:
            return False
        if one[feature] != other[feature]:
            has_more = True
    return has_more


@compiled_now
def can_subsume(population: Population, rule: int, parameters: Parameters) -> bool:
    """Whether the rule is experienced and accurate enough to stand for more special ones."""
    is_experienced = population.experience[rule] > parameters.subsumer_experience
    return bool(is_experienced and population.fitness[rule] > parameters.accurate_fitness)


@compiled_now
def insert(population: Population, terms: Terms, label: int, correct_size: float, time: int) -> int:
    """Add a micro-rule: to a macro-rule of the same sets and class, or as a new one."""
    last = int(population.n_macro[0])
    pack(terms, population.words[last])
    for rule in range(last):
        is_alive = population.numerosity[rule] > 0 and population.label[rule] == label
        if is_alive and np.array_equal(population.words[rule], population.words[last]):
            population.numerosity[rule] += 1
            return rule
    population.terms[last] = terms
    population.class_mass[last] = 0.0
    population.experience[last] = 0.0
    population.label[last] = label
    population.fitness[last] = 1.0
    population.correct_size[last] = correct_size
    population.n_correct[last] = 0
    population.numerosity[last] = 1
    population.time[last] = time
    population.n_macro[0] += 1
    return last


@compiled_now
def deletion_votes(population: Population, parameters: Parameters, votes: Floats) -> float:
    """Fill in how likely each macro-rule is to lose a micro-rule; return the sum."""
    n_micro, fitness = 0, 0.0
    for rule in range(population.n_macro[0]):
        n_micro += population.numerosity[rule]
        fitness += population.numerosity[rule] * population.fitness[rule]
    mean = fitness / n_micro
    total = 0.0
    for rule in range(population.n_macro[0]):
        votes[rule] = population.correct_size[rule] * population.numerosity[rule]
        is_poor = population.fitness[rule] < parameters.deletion_fraction * mean
        if is_poor and population.experience[rule] > parameters.deletion_experience:
            votes[rule] *= mean / max(population.fitness[rule], SMALLEST_FITNESS)
        total += votes[rule]
    return total


@compiled_now
def delete_surplus(population: Population, parameters: Parameters, votes: Floats, rng: np.random.Generator) -> None:
    """Take away micro-rules until no more than `n_rules` are left."""
    surplus = population.numerosity[: population.n_macro[0]].sum() - parameters.n_rules
    for _ in range(surplus):
        point = rng.random() * deletion_votes(population, parameters, votes)
        chosen = -1
        for rule in range(population.n_macro[0]):
            if population.numerosity[rule]:
                chosen = rule
                point -= votes[rule]
                if point < 0.0:
                    break
        population.numerosity[chosen] -= 1


@compiled_now
def remove_deleted(population: Population) -> None:
    """Close the gaps that rules without micro-rules leave."""
    kept = 0
    for rule in range(population.n_macro[0]):
        if not population.numerosity[rule]:
            continue
        if kept < rule:
            population.terms[kept] = population.terms[rule]
            population.words[kept] = population.words[rule]
            population.class_mass[kept] = population.class_mass[rule]
            population.experience[kept] = population.experience[rule]
            population.label[kept] = population.label[rule]
            population.fitness[kept] = population.fitness[rule]
            population.correct_size[kept] = population.correct_size[rule]
            population.n_correct[kept] = population.n_correct[rule]
            population.numerosity[kept] = population.numerosity[rule]
            population.time[kept] = population.time[rule]
        kept += 1
    population.n_macro[0] = kept


@compiled_now
def update(population: Population, rule: int, matching: float, label: int) -> None:
    """Let a rule see a row of a class that it matches."""
    population.experience[rule] += matching
    population.class_mass[rule, label] += matching
    largest, total = 0, 0.0
    for other in range(population.class_mass.shape[1]):
        total += population.class_mass[rule, other]
        if population.class_mass[rule, other] > population.class_mass[rule, largest]:
            largest = other
    population.label[rule] = largest
    population.fitness[rule] = (2.0 * population.class_mass[rule, largest] - total) / population.experience[rule]
