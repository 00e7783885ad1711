"""RIPPER's parts: growing a rule, pruning it, its description length, and the rules of one class as FURIA wants them.

After W. W. Cohen, "Fast effective rule induction", ICML 1995, with the coding of exceptions of J. R. Quinlan, "MDL and
categorical theories (continued)", ICML 1995, and with the changes of J. Huehn and E. Huellermeier, "FURIA: an algorithm
for unordered fuzzy rule induction", Data Mining and Knowledge Discovery 19, 2009: the first rules are grown on all rows
and are not pruned; rules are learned for every class against all others; there is no default rule. As in RIPPER, rules
without which the description is no longer are deleted after each round of optimisation.

Bits are counted as RIPPER does. A rule of k conditions out of n possible ones costs half of ``log2 k + 2 log2 log2 k``
and the bits that name k of n. The exceptions cost the bits that name the false positives among the covered rows and the
false negatives among the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, log2

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.compiled import compiled

Mask = NDArray[np.bool_]

AT_MOST, AT_LEAST, EQUAL = 0, 1, 2
TIE = 1e-6  # gains that differ by less are equal: the first condition stays
MIN_POSITIVES = 2
MAX_SURPLUS = 64.0  # bits beyond the shortest description so far
MAX_ERROR = 0.5
N_PARTS = 3  # the last one is for pruning
N_ROUNDS = 2
REDUNDANCY = 0.5  # conditions can be written in several orders


@dataclass(frozen=True)
class Condition:
    """A value is at most, at least (numbers) or equal to (categories) the bound."""

    column: int
    kind: int
    bound: float

    def covers(self, values: Floats) -> Mask:
        """Return which of the column's values fulfil it."""
        if self.kind == EQUAL:
            return np.asarray(values == self.bound)
        return np.asarray(values <= self.bound if self.kind == AT_MOST else values >= self.bound)


Rule = tuple[Condition, ...]
Counts = tuple[int, int]
"""Covered rows, and the positive ones among them."""


class SortedRows:
    """The fitting rows, and what is computed of them once for all rules.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows without missing values.
    categorical : collection of int, default=()
        Columns whose values are categories.

    Attributes
    ----------
    columns : ndarray of shape (n_features, n_rows)
        The rows, column by column.
    values : list of ndarray
        Distinct values of each column, in order.
    n_conditions : int
        Number of conditions there are: two for each distinct number, one for each category.
    """

    def __init__(self, X: Floats, categorical: Collection[int] = ()) -> None:
        self.columns = np.ascontiguousarray(X.T, dtype=np.float64)
        self.is_category = np.isin(np.arange(X.shape[1]), list(categorical))
        self.order = np.argsort(self.columns, axis=1, kind="stable").astype(np.int32)
        self.values, codes = [], np.empty(self.columns.shape, dtype=np.int32)
        for column, item in enumerate(self.columns):
            distinct, codes[column] = np.unique(item, return_inverse=True)
            self.values.append(distinct)
        self.codes = codes
        per_value = np.where(self.is_category, 1, 2)
        self.n_conditions = int(sum(len(distinct) * n for distinct, n in zip(self.values, per_value, strict=True)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.shape[1])

    def covers(self, rule: Rule) -> Mask:
        """Return the rows that fulfil all conditions."""
        covered = np.ones(self.n_rows, dtype=np.bool_)
        for condition in rule:
            covered &= condition.covers(self.columns[condition.column])
        return covered

    def grow(self, rule: Rule, positive: Mask, among: Mask) -> Rule:
        """Return the rule with further conditions, each the one of largest gain on the rows of `among` it covers.

        Growth ends when all covered rows are positive, no condition gains, or fewer than two positive rows would be
        left. A category is asked for once.
        """
        asked = self.is_category & np.isin(np.arange(len(self.columns)), [one.column for one in rule])
        listed = listed_rows(self.order, among & self.covers(rule))
        while listed.shape[1]:
            gain, n_positive, column, kind, code = best_condition(self.codes, listed, positive, self.is_category, asked)
            if gain == 0 or n_positive < MIN_POSITIVES:
                break
            condition = Condition(column, kind, float(self.values[column][code]))
            rule += (condition,)
            asked[column] = kind == EQUAL
            listed = listed_rows(listed, condition.covers(self.columns[column]))
        return rule


@compiled
def listed_rows(order: NDArray[np.int32], kept: Mask) -> NDArray[np.int32]:
    """Return each column's list of rows, shape (n_features, n_rows), without those that are not kept."""
    n_kept = 0
    for row in order[0]:
        n_kept += kept[row]
    listed = np.empty((len(order), n_kept), dtype=np.int32)
    for column in range(len(order)):
        place = 0
        for row in order[column]:
            if kept[row]:
                listed[column, place] = row
                place += 1
    return listed


@compiled
def best_condition(
    codes: NDArray[np.int32], listed: NDArray[np.int32], positive: Mask, is_category: Mask, is_asked: Mask
) -> tuple[float, int, int, int, int]:
    """Return the condition of largest gain ``p (log2((p + 1) / (t + 1)) - log2((P + 1) / (T + 1)))``.

    p and t are the positive rows and all rows that are covered with the condition, P and T those without.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Ranks of the values among the distinct ones of their column.
    listed : ndarray of shape (n_features, n_covered)
        The covered rows, at least one, in the order of each column.
    positive : ndarray of bool of shape (n_rows,)
        Rows of the class.
    is_category, is_asked : ndarray of bool of shape (n_features,)
        Columns of categories, and columns to leave out.

    Returns
    -------
    gain : float
        0 where no condition gains.
    n_positive : int
        Positive rows that it covers.
    column, kind, code : int
        The condition; the code is that of its bound.
    """
    n = listed.shape[1]
    n_positive = 0
    for row in listed[0]:
        n_positive += positive[row]
    # A table, because gains that compute their own logarithms take most of the time.
    log = np.log2(np.maximum(np.arange(n + 2), 1))
    base = log[n_positive + 1] - log[n + 1]
    best = (0.0, 0, 0, 0, 0)
    for column in range(len(listed)):
        rows, item = listed[column], codes[column]
        if is_asked[column] or item[rows[0]] == item[rows[-1]]:
            continue
        up_to = 0  # positive rows up to here
        start, before = 0, 0  # of the run of equal values: its first place, and the positive rows before it
        for place in range(1, n + 1):
            up_to += positive[rows[place - 1]]
            if place < n and item[rows[place]] == item[rows[place - 1]]:
                continue
            if is_category[column]:
                covered, kind, code = up_to - before, EQUAL, item[rows[start]]
                gain = covered * (log[covered + 1] - log[place - start + 1] - base)
                start, before = place, up_to
            elif place < n:
                covered, kind, code = up_to, AT_MOST, item[rows[place - 1]]
                rate = log[covered + 1] - log[place + 1]
                gain = covered * (rate - base)
                above = n_positive - up_to
                rate_above = log[above + 1] - log[n - place + 1]
                gain_above = above * (rate_above - base)
                if gain_above > gain + TIE or (gain_above >= gain - TIE and rate_above > rate):
                    covered, kind, code, gain = above, AT_LEAST, item[rows[place]], gain_above
            else:
                break
            if gain > best[0] + TIE:
                best = (gain, covered, column, kind, code)
    return best


def prune(rule: Rule, rows: SortedRows, positive: Mask, part: Mask) -> Rule:
    """Return the first conditions that classify most rows of the part correctly, the fewest of those that do.

    A rule is right on the positive rows that it covers and on the others that it does not. Without conditions it is
    judged by the positive rows alone, ``(P + 1) / (n + 2)``.
    """
    n = int(part.sum())
    if n == 0 or not rule:
        return rule
    covered = part.copy()
    best, n_kept = (int((positive & part).sum()) + 1) / (n + 2), 0
    n_negative = int((~positive & part).sum())
    for place, condition in enumerate(rule):
        covered &= condition.covers(rows.columns[condition.column])
        n_covered, n_positive = int(covered.sum()), int((covered & positive).sum())
        worth = (n_positive + n_negative - (n_covered - n_positive)) / n
        if worth > best + TIE:
            best, n_kept = worth, place + 1
    return rule[:n_kept]


def subset_bits(n: int, k: int, p: float) -> float:
    """Return the bits that name k of n things when each is expected to be named with probability p.

    Examples
    --------
    >>> from ferl_bench.ripper import subset_bits
    >>> subset_bits(4, 1, 0.5)
    4.0
    >>> subset_bits(4, 0, 0.0)
    0.0
    """
    bits = 0.0
    if k > 0:
        bits -= k * log2(p) if p > 0 else -inf
    if n - k > 0:
        bits -= (n - k) * log2(1 - p) if p < 1 else -inf
    return bits


def rule_bits(n_own: int, n_conditions: int) -> float:
    """Return the bits of a rule with `n_own` of `n_conditions` possible conditions.

    Examples
    --------
    >>> from ferl_bench.ripper import rule_bits
    >>> rule_bits(2, 4)  # half of log2 2 + 2 log2 log2 2 + 4 log2 2
    2.5
    """
    if n_own == 0:
        return 0.0
    bits = log2(n_own)
    if n_own > 1:
        bits += 2 * log2(bits)
    return REDUNDANCY * (bits + subset_bits(n_conditions, n_own, n_own / n_conditions))


def exception_bits(n_covered: int, n_others: int, false_positives: int, false_negatives: int, p: float) -> float:
    """Return the bits that name the errors of a set of rules.

    Parameters
    ----------
    n_covered, n_others : int
        Rows that the rules cover, and all others.
    false_positives, false_negatives : int
        Errors among them.
    p : float
        Share of false positives that is expected among the errors: that of the class among the rows.

    Examples
    --------
    >>> from ferl_bench.ripper import exception_bits
    >>> exception_bits(4, 3, 1, 0, 0.5) == 3 + subset_bits(4, 1, 1 / 8)  # log2(7 + 1) bits for the number of errors
    True
    """
    errors = false_positives + false_negatives
    bits = log2(n_covered + n_others + 1)
    if n_covered > n_others:
        bits += subset_bits(n_covered, false_positives, p * errors / n_covered)
        return bits + (subset_bits(n_others, false_negatives, false_negatives / n_others) if n_others else 0.0)
    bits += subset_bits(n_covered, false_positives, false_positives / n_covered) if n_covered else 0.0
    return bits + subset_bits(n_others, false_negatives, (1 - p) * errors / n_others)


class OneClass:
    """Learns the rules of one class against all others; a rule has at least one condition.

    Parameters
    ----------
    rows : SortedRows
        The fitting rows.
    positive : ndarray of bool of shape (n_rows,)
        Rows of the class.
    random : numpy.random.Generator
        Draws the rows that rules are pruned on.
    """

    def __init__(self, rows: SortedRows, positive: Mask, random: np.random.Generator) -> None:
        self.rows = rows
        self.positive = positive
        self.random = random
        self.n_positive = int(positive.sum())
        self.share = self.n_positive / len(positive)

    def learn(self, n_rounds: int = N_ROUNDS) -> list[Rule]:
        """Return the rules: built, then optimised in rounds, conditions of the same kind on a column merged."""
        rules = self._add_rules([], [])
        for _ in range(n_rounds):
            rules = self._optimise(rules)
        return [merged(rule) for rule in rules]

    def _add_rules(self, rules: list[Rule], counts: list[Counts]) -> list[Rule]:
        """Grow rules on what is left until the description gets too long, nothing is left, or a rule is too wrong."""
        rules, counts = list(rules), list(counts)
        remaining = ~self._covered(rules)
        bits = fewest = self._exceptions([])
        while (self.positive & remaining).any():
            rule = self.rows.grow((), self.positive, remaining)
            if not rule:
                break
            covered = self.rows.covers(rule) & remaining
            counted = self._count(covered)
            bits += self._exceptions([*counts, counted]) + self._rule_bits(rule) - self._exceptions(counts)
            fewest = min(fewest, bits)
            if bits > fewest + MAX_SURPLUS or counted[1] == 0 or counted[0] - counted[1] >= MAX_ERROR * counted[0]:
                break
            rules.append(rule)
            counts.append(counted)
            remaining &= ~covered
        return rules

    def _optimise(self, rules: list[Rule]) -> list[Rule]:
        """Keep of each rule, its revision and its replacement the one of the shortest description; add and delete."""
        later = self._first_later(rules)
        kept: list[Rule] = []
        counts: list[Counts] = []
        remaining = np.ones(self.rows.n_rows, dtype=np.bool_)
        for place, old in enumerate(rules):
            if not (remaining & self.positive).any():
                break
            final = old
            if (self.rows.covers(old) & remaining).any():
                growing, pruning = self._parts(remaining)
                pruning &= later[place] == len(rules)  # rows that no later rule covers
                variants = [old]
                for start in (old, ()):  # revision, replacement
                    grown = self.rows.grow(start, self.positive, growing)
                    variants.append(prune(grown, self.rows, self.positive, pruning))
                bits = [
                    self._relative_bits(place, one, rules, counts, remaining, later[place]) if one else inf
                    for one in variants
                ]
                final = variants[bits.index(min(bits))]
            covered = self.rows.covers(final) & remaining
            kept.append(final)
            counts.append(self._count(covered))
            remaining &= ~covered
        return self._without_idle(self._add_rules(kept, counts))

    def _without_idle(self, rules: list[Rule]) -> list[Rule]:
        """Delete, from the last rule to the first, those without which the description is not longer."""
        counts, remaining = [], np.ones(self.rows.n_rows, dtype=np.bool_)
        for rule in rules:
            covered = self.rows.covers(rule) & remaining
            counts.append(self._count(covered))
            remaining &= ~covered
        everything = sum(n for n, _ in counts), sum(right for _, right in counts)
        kept = []
        for rule, count in zip(reversed(rules), reversed(counts), strict=True):
            if self._pays(rule, everything, count):
                kept.append(rule)
            else:
                everything = everything[0] - count[0], everything[1] - count[1]
        return kept[::-1]

    def _pays(self, rule: Rule, everything: Counts, counts: Counts) -> bool:
        """Whether a rule is right on most of its rows and saves more bits of exceptions than it has itself."""
        is_wrong = counts[0] - counts[1] >= MAX_ERROR * counts[0]
        return not is_wrong and self._saved_without(rule, everything, counts) < 0

    def _saved_without(self, rule: Rule, everything: Counts, counts: Counts) -> float:
        """Return the bits that are saved when the rule is left out; negative when it pays."""
        without = everything[0] - counts[0], everything[1] - counts[1]
        return self._exceptions([everything]) + self._rule_bits(rule) - self._exceptions([without])

    def _relative_bits(
        self,
        place: int,
        rule: Rule,
        rules: Sequence[Rule],
        before: Sequence[Counts],
        remaining: Mask,
        later: NDArray[np.int32],
    ) -> float:
        """Return by how many bits the rule at this place makes the description longer."""
        covered = self.rows.covers(rule) & remaining
        following = rules[place + 1 :]
        after_rule = self._count_first(later, remaining & ~covered, place + 1, len(rules))
        after_none = self._count_first(later, remaining, place + 1, len(rules))
        return (
            self._rule_bits(rule)
            + self._fewest_exceptions([*before, self._count(covered)], after_rule, following)
            - self._fewest_exceptions(before, after_none, following)
        )

    def _fewest_exceptions(self, fixed: Sequence[Counts], later: Sequence[Counts], rules: Sequence[Rule]) -> float:
        """Return the bits of the exceptions when later rules that do not pay are left out, less what that saves.

        What it saves has the fewer exceptions in it, so that these count twice. Weka is understood to count like that,
        and its numbers of rules agree with it; counted once, noisy sets of two classes get twice as many rules.
        """
        everything = sum(n for n, _ in (*fixed, *later)), sum(right for _, right in (*fixed, *later))
        saved = 0.0
        for item, rule in zip(later, rules, strict=True):
            if not self._pays(rule, everything, item):
                saved += self._saved_without(rule, everything, item)
                everything = everything[0] - item[0], everything[1] - item[1]
        return self._exceptions([everything]) - saved

    def _first_later(self, rules: Sequence[Rule]) -> list[NDArray[np.int32]]:
        """Return for each place the first later rule that covers a row; the number of rules where there is none."""
        first = np.full(self.rows.n_rows, len(rules), dtype=np.int32)
        result = []
        for place in reversed(range(len(rules))):
            result.append(first)
            first = np.where(self.rows.covers(rules[place]), np.int32(place), first)
        return result[::-1]

    def _count_first(self, first: NDArray[np.int32], among: Mask, start: int, stop: int) -> list[Counts]:
        n = np.bincount(first[among], minlength=stop + 1)
        right = np.bincount(first[among & self.positive], minlength=stop + 1)
        return [(int(n[place]), int(right[place])) for place in range(start, stop)]

    def _parts(self, remaining: Mask) -> tuple[Mask, Mask]:
        """Divide the rows, class by class, into two thirds to grow on and one third to prune on."""
        dealt = np.concatenate(
            [self.random.permutation(np.flatnonzero(remaining & item)) for item in (self.positive, ~self.positive)]
        )
        pruning = np.zeros_like(remaining)
        pruning[dealt[N_PARTS - 1 :: N_PARTS]] = True
        return remaining & ~pruning, pruning

    def _covered(self, rules: Sequence[Rule]) -> Mask:
        covered = np.zeros(self.rows.n_rows, dtype=np.bool_)
        for rule in rules:
            covered |= self.rows.covers(rule)
        return covered

    def _count(self, covered: Mask) -> Counts:
        return int(covered.sum()), int((covered & self.positive).sum())

    def _rule_bits(self, rule: Rule) -> float:
        return rule_bits(len(rule), self.rows.n_conditions)

    def _exceptions(self, counts: Sequence[Counts]) -> float:
        n, right = sum(item for item, _ in counts), sum(item for _, item in counts)
        return exception_bits(n, self.rows.n_rows - n, n - right, self.n_positive - right, self.share)


def merged(rule: Rule) -> Rule:
    """Return the rule without conditions that a later one of the same column and kind makes superfluous."""
    return tuple(
        condition
        for place, condition in enumerate(rule)
        if not any((later.column, later.kind) == (condition.column, condition.kind) for later in rule[place + 1 :])
    )
