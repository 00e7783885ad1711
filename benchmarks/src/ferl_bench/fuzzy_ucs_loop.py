"""How Fuzzy-UCS learns its rules from rows and reads them, compiled by numba; imported by the row Fuzzy-UCS alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.compiled import compiled_now
from ferl_bench.fuzzy_ucs_population import (
    EVERY_TERM,
    N_TERMS,
    Parameters,
    Population,
    Terms,
    can_subsume,
    delete_surplus,
    insert,
    is_more_general,
    membership,
    membership_table,
    pack,
    remove_deleted,
    update,
)

Ints = NDArray[np.int64]

# The least that a rule leaves to a class: two rules that contradict each other fully would leave nothing to divide.
SMALLEST_FACTOR = 1e-12
EXPAND, CONTRACT, SHIFT = 0, 1, 2


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
        term = int(terms[feature])
        if term == EVERY_TERM:
            kind = CONTRACT
        elif term & (term - 1):
            kind = int(rng.random() * 3)
        else:
            kind = EXPAND if rng.random() < 0.5 else SHIFT
        if kind == EXPAND:
            term |= random_term(EVERY_TERM & ~term, rng)
        elif kind == CONTRACT:
            term &= ~random_term(term, rng)
        else:
            can_rise, can_fall = term & ~(term >> 1) & (EVERY_TERM >> 1), term & ~(term << 1) & ~1
            if can_rise and (not can_fall or rng.random() < 0.5):
                moved = random_term(can_rise, rng)
                term = term & ~moved | moved << 1
            else:
                moved = random_term(can_fall, rng)
                term = term & ~moved | moved >> 1
        terms[feature] = term


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
