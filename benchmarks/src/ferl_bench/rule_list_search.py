"""Best-first search for the optimal rule list of two classes, compiled by numba; imported by the row SamRuLe alone.

The branch and bound of E. Angelino, N. Larus-Stone, D. Alabi, M. Seltzer and C. Rudin, "Learning certifiably optimal
rule lists for categorical data", JMLR 18, 2018 (CORELS). Rows are bits. A prefix of rules is extended by every rule,
best objective first, unless a bound shows that no extension beats the best list so far:

- its errors, and those among the remaining rows that no list avoids because rows that all rules treat alike have both
  classes, and one more rule cost as much as that list;
- a rule is right about fewer rows than it costs;
- another prefix of the same length has no more errors and leaves the same rows.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from ferl_bench.compiled import compiled_now

Words = NDArray[np.uint64]

BITS_PER_RULE = 12
MAX_RULES = (1 << BITS_PER_RULE) - 1
MAX_LENGTH = 5
ROUNDING = 1e-9


def pack_bits(rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the booleans along the last axis as 64-bit words, absent ones as False."""
    n_words = -(-rows.shape[-1] // 64)
    padded = np.zeros((*rows.shape[:-1], 64 * n_words), np.bool_)
    padded[..., : rows.shape[-1]] = rows
    return np.packbits(padded, axis=-1).view(np.uint64)


@compiled_now
def n_bits(word: np.uint64) -> int:
    """Return the number of ones."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled_now
def count_bits(words: Words, mask: Words) -> int:
    """Return the number of ones that both have."""
    total = 0
    for word in range(words.shape[0]):
        total += n_bits(words[word] & mask[word])
    return total


@compiled_now
def hash_words(words: Words) -> np.uint64:
    """Return a 64-bit hash of a set of rows."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        mixed = (mixed ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@compiled_now
def search(
    rules: Words, positive: Words, unavoidable: Words, n_rows: int, max_length: int, price: float, max_nodes: int
) -> tuple[NDArray[np.int64], float, bool, int]:
    """Return the best list, its objective in rows, whether it is proven to be optimal, and the number of nodes.

    Parameters
    ----------
    rules : ndarray of uint64 of shape (n_rules, n_words)
        Rows that each rule captures.
    positive, unavoidable : ndarray of uint64 of shape (n_words,)
        Rows of the second class; rows of the rarer class among those that all rules treat alike.
    n_rows : int
        Number of rows.
    max_length : int
        Largest number of rules.
    price : float
        What a rule costs, in rows.
    max_nodes : int
        So many prefixes are extended at most.

    Returns
    -------
    best : ndarray of int64 of shape (length,)
    objective : float
    is_proven : bool
    n_nodes : int
    """
    n_words = rules.shape[1]
    everything = np.full(n_words, np.uint64(0xFFFFFFFFFFFFFFFF))
    n_positive = count_bits(positive, everything)
    best_objective = float(min(n_positive, n_rows - n_positive))
    best_code = np.int64(0)
    seen: dict[np.uint64, int] = {}
    # A prefix is a number: rule + 1 in twelve bits each, the first rule highest. Entries: objective, bound, prefix.
    heap = [(best_objective, 0.0, np.int64(0))]
    remaining, prefix, captured = (
        np.empty(n_words, np.uint64),
        np.empty(MAX_LENGTH, np.int64),
        np.empty(n_words, np.uint64),
    )
    n_nodes = 0
    while heap and n_nodes < max_nodes:
        _, bound, code = heapq.heappop(heap)
        if bound + price >= best_objective - ROUNDING:
            continue
        length, rest = 0, code
        while rest:
            prefix[length] = (rest & MAX_RULES) - 1
            rest >>= BITS_PER_RULE
            length += 1
        # All bits beyond the last row are zero in the rules, so that no rule captures them.
        remaining[:] = everything
        n_errors, n_left = 0, n_rows
        for place in range(length - 1, -1, -1):
            rule = prefix[place]
            n_captured, n_captured_positive = 0, 0
            for word in range(n_words):
                both = remaining[word] & rules[rule, word]
                n_captured += n_bits(both)
                n_captured_positive += n_bits(both & positive[word])
                remaining[word] &= ~rules[rule, word]
            n_errors += min(n_captured_positive, n_captured - n_captured_positive)
            n_left -= n_captured
        key = hash_words(remaining) ^ np.uint64(length)
        if key in seen and seen[key] <= n_errors:
            continue
        seen[key] = n_errors
        n_nodes += 1
        n_left_positive = count_bits(positive, remaining)
        n_unavoidable = count_bits(unavoidable, remaining)
        for rule in range(rules.shape[0]):
            n_captured, n_captured_positive, n_captured_unavoidable = 0, 0, 0
            for word in range(n_words):
                captured[word] = remaining[word] & rules[rule, word]
            for word in range(n_words):
                n_captured += n_bits(captured[word])
                n_captured_positive += n_bits(captured[word] & positive[word])
                n_captured_unavoidable += n_bits(captured[word] & unavoidable[word])
            n_wrong = min(n_captured_positive, n_captured - n_captured_positive)
            if n_captured == 0 or n_captured - n_wrong < price:
                continue
            left, left_positive = n_left - n_captured, n_left_positive - n_captured_positive
            cost = n_errors + n_wrong + price * (length + 1)
            objective = cost + min(left_positive, left - left_positive)
            child = (code << BITS_PER_RULE) | (rule + 1)
            if objective < best_objective - ROUNDING:
                best_objective, best_code = objective, child
            child_bound = cost + n_unavoidable - n_captured_unavoidable
            if length + 1 < max_length and child_bound + price < best_objective - ROUNDING:
                heapq.heappush(heap, (objective, child_bound, child))
    is_proven = True
    for entry in heap:
        if entry[1] + price < best_objective - ROUNDING:
            is_proven = False
    best = np.empty(MAX_LENGTH, np.int64)
    length = 0
    while best_code:
        best[length] = (best_code & MAX_RULES) - 1
        best_code >>= BITS_PER_RULE
        length += 1
    return best[:length][::-1].copy(), best_objective, is_proven, n_nodes
