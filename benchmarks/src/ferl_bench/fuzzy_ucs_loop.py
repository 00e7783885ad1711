"""The learning loop of Fuzzy-UCS, compiled by numba; imported by the row Fuzzy-UCS alone.

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
Ints = NDArray[np.int64]

N_TERMS = 5
EVERY_TERM = (1 << N_TERMS) - 1
FEATURES_PER_WORD = 12
# The lowest bit of each of the twelve groups of five.
LOWEST_BITS = np.uint64(sum(1 << (N_TERMS * group) for group in range(FEATURES_PER_WORD)))
# The least that a rule leaves to a class: two rules that contradict each other fully would leave nothing to divide.
SMALLEST_FACTOR = 1e-12
SMALLEST_FITNESS = 1e-3
EXPAND, CONTRACT, SHIFT = 0, 1, 2


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


@compiled_now
def select_parent(
    population: Population, correct: Ints, matching: Floats, n_correct: int, tournament: float, rng: np.random.Generator
) -> int:
    """Return the rule of the largest fitness times membership among those that enter the tournament; a random one of
    several, since many young rules have a fitness of 1.
    """
    best, best_score, n_best = -1, 0.0, 0
    while best < 0:
        for place in range(n_correct):
            rule = correct[place]
            # Each micro-rule enters by itself, so a macro-rule stays out only if all of its micro-rules do.
            if rng.random() < (1.0 - tournament) ** population.numerosity[rule]:
                continue
            score = population.fitness[rule] * matching[rule]
            if best < 0 or score > best_score:
                best, best_score, n_best = rule, score, 1
            elif score == best_score:
                n_best += 1
                if rng.random() * n_best < 1.0:
                    best = rule
    return best


@compiled_now
def cross(one: Terms, other: Terms, rng: np.random.Generator) -> None:
    """Exchange each term with probability one half; a feature keeps its sets where one would be empty."""
    for feature in range(one.shape[0]):
        exchanged = 0
        for term in range(N_TERMS):
            if rng.random() < 0.5:
                exchanged |= 1 << term
        new_one = (one[feature] & ~exchanged | other[feature] & exchanged) & EVERY_TERM
        new_other = (other[feature] & ~exchanged | one[feature] & exchanged) & EVERY_TERM
        if new_one and new_other:
            one[feature], other[feature] = new_one, new_other


@compiled_now
def random_term(terms: int, rng: np.random.Generator) -> int:
    """Return the bit of a random term of the set, which has at least one."""
    n_terms = 0
    for term in range(N_TERMS):
        n_terms += terms >> term & 1
    chosen = int(rng.random() * n_terms)
    for term in range(N_TERMS):
        if terms >> term & 1:
            if chosen == 0:
                return 1 << term
            chosen -= 1
    return 0


@compiled_now
def mutate(terms: Terms, probability: float, rng: np.random.Generator) -> None:
    """Expand, contract or shift the set of each feature with the given probability, by what the set allows.

    A set of all terms can only be contracted, a single term only be expanded or shifted: moved to a neighbour that is
    not in the set.
    """
    for feature in range(terms.shape[0]):
        if rng.random() >= probability:
            continue
        own = int(terms[feature])
        if own == EVERY_TERM:
            kind = CONTRACT
        elif own & (own - 1):
            kind = int(rng.random() * 3)
        else:
            kind = EXPAND if rng.random() < 0.5 else SHIFT
        if kind == EXPAND:
            own |= random_term(EVERY_TERM & ~own, rng)
        elif kind == CONTRACT:
            own &= ~random_term(own, rng)
        else:
            can_rise, can_fall = own & ~(own >> 1) & (EVERY_TERM >> 1), own & ~(own << 1) & ~1
            if can_rise and (not can_fall or rng.random() < 0.5):
                moved = random_term(can_rise, rng)
                own = own & ~moved | moved << 1
            else:
                moved = random_term(can_fall, rng)
                own = own & ~moved | moved >> 1
        terms[feature] = own


@compiled_now
def breed(
    population: Population,
    correct: Ints,
    matching: Floats,
    n_correct: int,
    size: int,
    label: int,
    time: int,
    parameters: Parameters,
    rng: np.random.Generator,
) -> None:
    """Run the genetic algorithm in a correct set: two parents, two children, each subsumed or inserted."""
    for place in range(n_correct):
        population.time[correct[place]] = time
    parents = np.empty(2, np.int64)
    for place in range(2):
        parents[place] = select_parent(population, correct, matching, n_correct, parameters.tournament, rng)
    children = population.terms[parents]
    if rng.random() < parameters.crossover:
        cross(children[0], children[1], rng)
    for place in range(2):
        mutate(children[place], parameters.mutation, rng)
        for parent in parents:
            if can_subsume(population, parent, parameters) and (
                is_more_general(population.terms[parent], children[place])
            ):
                population.numerosity[parent] += 1
                break
        else:
            insert(population, children[place], label, size, time)


@compiled_now
def subsume_correct(population: Population, correct: Ints, n_correct: int, parameters: Parameters) -> None:
    """Let the most general of the accurate rules of a correct set take over the micro-rules of more special ones."""
    best = -1
    for place in range(n_correct):
        rule = correct[place]
        is_better = best < 0 or is_more_general(population.terms[rule], population.terms[best])
        if is_better and can_subsume(population, rule, parameters):
            best = rule
    if best < 0:
        return
    for place in range(n_correct):
        rule = correct[place]
        if rule != best and is_more_general(population.terms[best], population.terms[rule]):
            population.numerosity[best] += population.numerosity[rule]
            population.numerosity[rule] = 0


@compiled_now
def cover(
    population: Population, support: Terms, label: int, time: int, dont_care: float, rng: np.random.Generator
) -> int:
    """Add a rule that matches the row fully: the terms of each value, or all terms; return its index."""
    terms = np.empty(support.shape[0], np.uint8)
    for feature in range(support.shape[0]):
        terms[feature] = EVERY_TERM if rng.random() < dont_care else support[feature]
    return int(insert(population, terms, label, 1.0, time))


@compiled_now
def learn(
    rows: Floats, labels: Ints, n_epochs: int, population: Population, parameters: Parameters, rng: np.random.Generator
) -> None:
    """Show all rows to the population, in the same order in each epoch."""
    capacity, n_features = population.terms.shape
    table = np.empty((n_features, EVERY_TERM + 1))
    support = np.empty(n_features, np.uint8)
    row_words = np.empty(population.words.shape[1], np.uint64)
    matching, votes = np.zeros(capacity), np.empty(capacity)
    correct = np.empty(capacity, np.int64)
    for time in range(n_epochs * rows.shape[0]):
        label = labels[time % rows.shape[0]]
        membership_table(rows[time % rows.shape[0]], table, support)
        pack(support, row_words)
        covered = 0.0
        for rule in range(population.n_macro[0]):
            matching[rule] = membership(population.terms[rule], population.words[rule], table, row_words)
            if population.label[rule] == label:
                covered += matching[rule]
        if covered < 1.0:
            matching[cover(population, support, label, time, parameters.dont_care, rng)] = 1.0
            delete_surplus(population, parameters, votes, rng)
        n_correct, size, age = 0, 0, 0.0
        for rule in range(population.n_macro[0]):
            if matching[rule] <= 0.0 or not population.numerosity[rule]:
                continue
            update(population, rule, matching[rule], label)
            if population.label[rule] == label:
                correct[n_correct] = rule
                n_correct += 1
                size += population.numerosity[rule]
                age += population.numerosity[rule] * (time - population.time[rule])
        for place in range(n_correct):
            rule = correct[place]
            population.n_correct[rule] += 1
            population.correct_size[rule] += (size - population.correct_size[rule]) / population.n_correct[rule]
        if n_correct:
            subsume_correct(population, correct, n_correct, parameters)
            if age > parameters.ga_age * size:
                alive = 0
                for place in range(n_correct):
                    if population.numerosity[correct[place]]:
                        correct[alive] = correct[place]
                        alive += 1
                breed(population, correct, matching, alive, size, label, time, parameters, rng)
                delete_surplus(population, parameters, votes, rng)
        remove_deleted(population)


@compiled_now
def combine(rows: Floats, population: Population, min_experience: float, classes: Floats, ignorance: Floats) -> None:
    """Fill in each row's masses of the classes and of all classes together, after Dempster's rule.

    A rule of membership mu and weights v gives ``mu v_c`` to class c and ``1 - mu`` to all classes; it counts as often
    as it has micro-rules. Products over the rules give the combination: that of ``1 - mu + mu v_c`` is what a class
    alone and all classes together keep, that of ``1 - mu`` what all classes together keep.
    """
    n_features, n_classes = population.terms.shape[1], population.class_mass.shape[1]
    table = np.empty((n_features, EVERY_TERM + 1))
    support = np.empty(n_features, np.uint8)
    row_words = np.empty(population.words.shape[1], np.uint64)
    for index in range(rows.shape[0]):
        membership_table(rows[index], table, support)
        pack(support, row_words)
        plausible, nothing = np.zeros(n_classes), 0.0
        for rule in range(population.n_macro[0]):
            if population.experience[rule] <= min_experience:
                continue
            matching = membership(population.terms[rule], population.words[rule], table, row_words)
            if matching <= 0.0:
                continue
            n_micro = population.numerosity[rule]
            nothing += n_micro * np.log(max(1.0 - matching, SMALLEST_FACTOR))
            for label in range(n_classes):
                weight = population.class_mass[rule, label] / population.experience[rule]
                plausible[label] += n_micro * np.log(max(1.0 - matching + matching * weight, SMALLEST_FACTOR))
        largest = plausible.max()
        ignored = np.exp(nothing - largest)
        total = ignored
        for label in range(n_classes):
            classes[index, label] = max(np.exp(plausible[label] - largest) - ignored, 0.0)
            total += classes[index, label]
        for label in range(n_classes):
            classes[index, label] /= total
        ignorance[index] = ignored / total
