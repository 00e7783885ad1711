"""Growing a compact tree, by brute force: every step combines the evidence of all nodes afresh.

Conditions are terms ("age is high") that are fixed before growth. A node may have any number of children, which join
one at a time: the one that does most for the answers that all nodes give together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from oracle.best_first import Tree
from oracle.categories import is_heavy
from oracle.growth import NEGLIGIBLE_FIRING, Floats, Sample

MOST_FIRING = 1 - 1e-9  # of a node that has joined: it leaves something open, so that it can be taken out again
PRIOR_ROWS = 1.0  # what a node's distribution is drawn towards the class frequencies by
LEAST_PROBABILITY = 1e-12  # a logarithm needs more than zero
LONGER_RULE = 0.3  # share of a rule's worth that a child needs which only makes a rule longer
PROMISE = 0.5  # see Growth.judged_nodes
TIE = 1e-9  # gains and worths that differ by less are equal, and the first of equals wins
TIED_CLASS = 1 - 1e-10  # a class with this share of the largest plausibility has the largest


@dataclass(frozen=True)
class LinguisticOptions:
    """The parameters of growth, under the names they have in FERLClassifier."""

    max_rules: int
    max_depth: int
    min_leaf_weight: float
    min_gain: float
    patience: int
    min_coverage: float
    min_rule_worth: float
    soft_share: float  # 1: accuracy and mean log-probability ("consistent"); 0: accuracy alone ("cci")


class Term(NamedTuple):
    """A condition: a feature and its fuzzy set (a, b, c, d). The complement of a set does not begin a rule."""

    feature: int
    trapezoid: tuple[float, float, float, float]
    is_complement: bool = False

    def membership(self, x: Floats) -> Floats:
        """Membership of each row; the end of an upright side is a full member."""
        value, (a, b, c, d) = x[:, self.feature], self.trapezoid
        return np.minimum(_side(value, a, b), _side(-value, -d, -c))


def _side(x: Floats, outer: float, inner: float) -> Floats:
    if np.isinf(outer):
        return np.ones_like(x)
    if outer == inner:
        return (x >= inner).astype(np.float64)
    return np.clip((x - outer) / (inner - outer), 0.0, 1.0)


# --- The answers of all nodes together -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """Evidence of some nodes, combined by Dempster's rule.

    A node that fires with phi and has the distribution p leaves 1 - phi open and gives class c the plausibility
    1 - phi + phi p(c). Both multiply over the nodes; their common factor, which normalisation removes, is left in.

    ``plausibility`` has the classes on its last axis and the rows on the one before; ``open`` the rows on its last.
    """

    plausibility: Floats
    open: Floats

    @classmethod
    def of(cls, sample: Sample, nodes: list[Node]) -> Answers:
        answers = cls(np.ones((len(sample.y), sample.n_classes)), np.ones(len(sample.y)))
        for node in nodes:
            answers = answers.joined_by(node.firing, node.p)
        return answers

    def joined_by(self, firing: Floats, p: Floats) -> Answers:
        """With one node more, or with each of several in turn: these on a first axis."""
        rest = 1 - firing
        return Answers(self.plausibility * (rest[..., None] + firing[..., None] * p[..., None, :]), self.open * rest)

    @property
    def pignistic(self) -> Floats:
        """Probability of each class: its belief, and an equal share of what is open."""
        n_classes = self.plausibility.shape[-1]
        belief = self.plausibility - self.open[..., None]
        whole = belief.sum(axis=-1) + self.open
        return np.asarray((belief + self.open[..., None] / n_classes) / whole[..., None])

    def value(self, sample: Sample, soft_share: float) -> Floats:
        """Accuracy, plus ``soft_share`` times the mean logarithm of the own class's probability."""
        row = np.arange(len(sample.y))
        largest = self.plausibility.max(axis=-1, keepdims=True)
        has_most = self.plausibility >= largest * TIED_CLASS
        is_hit = has_most[..., row, sample.y] & (has_most.sum(axis=-1) == 1)  # equals are a hit for none of them
        probability = np.maximum(self.pignistic[..., row, sample.y], LEAST_PROBABILITY)
        return np.asarray((is_hit + soft_share * np.log(probability)) @ sample.weight / sample.weight.sum())


def prior(sample: Sample) -> Floats:
    """Class frequencies, with one row more of every class."""
    return (sample.class_weight(sample.weight) + 1) / (sample.weight.sum() + sample.n_classes)


def distribution(sample: Sample, firing: Floats) -> Floats:
    """Class distribution of the rows by their firing, drawn towards the class frequencies."""
    weight = sample.class_weight(firing * sample.weight)
    return np.asarray((weight + PRIOR_ROWS * prior(sample)) / (weight.sum() + PRIOR_ROWS))


# --- Nodes -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A node of the growing tree. ``firing``: of each row; ``promise``: its candidates' best gain when last judged."""

    parent: Node | None
    term: Term | None
    firing: Floats
    p: Floats
    gain: float = 0.0
    promise: float = np.inf
    children: list[Node] = field(default_factory=list)

    @property
    def path(self) -> list[Node]:
        """The nodes from just below the root down to this one."""
        return [] if self.parent is None else [*self.parent.path, self]


def root_of(sample: Sample) -> Node:
    """The root; it is not a source of evidence."""
    return Node(None, None, np.ones(len(sample.y)), np.full(sample.n_classes, np.nan))


def child_of(parent: Node, term: Term, sample: Sample) -> Node:
    """A child. Its distribution is that of all its rows; then those that it hardly fires for are dropped."""
    firing = parent.firing * term.membership(sample.x)
    kept = np.where(firing > NEGLIGIBLE_FIRING, np.minimum(firing, MOST_FIRING), 0.0)
    return Node(parent, term, kept, distribution(sample, firing))


def adds_a_rule(parent: Node) -> bool:
    """Whether one more child ends a rule of its own; a first child makes its parent's rule longer."""
    return parent.parent is None or bool(parent.children)


def worth_needed(node: Node, options: LinguisticOptions) -> float:
    """What a leaf must be worth: less where it only makes a rule longer."""
    assert node.parent is not None
    only_child = node.parent.parent is not None and len(node.parent.children) == 1
    return options.min_rule_worth * (LONGER_RULE if only_child else 1.0)


def worth(node: Node, nodes: list[Node], sample: Sample, soft_share: float) -> float:
    """What the answers lose when a node is absent."""
    without = [other for other in nodes if other is not node]
    both = (Answers.of(sample, some).value(sample, soft_share) for some in (nodes, without))
    return float(np.subtract(*both))


def fire(tree: Any, x: Floats) -> Floats:
    """Firing of every node for rows that need not be training rows, no gate acting; shape (n_rows, n_nodes)."""
    firing = np.ones((len(x), len(tree.parent)))
    for o in range(1, len(tree.parent)):
        term = Term(int(tree.feature[o]), tuple(tree.trapezoid[o].tolist()))
        firing[:, o] = firing[:, tree.parent[o]] * term.membership(x)
    return firing


def read_nodes(tree: Any, sample: Sample) -> list[Node]:
    """The nodes of a finished tree (this package's or ferl's) as growth saw them, the root first."""
    nodes = [root_of(sample)]
    for parent, feature, trapezoid in zip(tree.parent[1:], tree.feature[1:], tree.trapezoid[1:], strict=True):
        child = child_of(nodes[parent], Term(int(feature), tuple(trapezoid.tolist())), sample)
        nodes[parent].children.append(child)
        nodes.append(child)
    return nodes


# --- Growth ----------------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A term that may join below a node, and what it would change."""

    node: Node
    term: Term
    gain: float


class Growth:
    """A tree while it grows. ``is_tied``: two nodes had promised the same, and rounding decided which of them waits."""

    def __init__(self, sample: Sample, terms: list[Term], options: LinguisticOptions) -> None:
        self.sample, self.terms, self.options = sample, terms, options
        self.nodes = [root_of(sample)]  # in the order they joined
        self.joined: list[Candidate] = []
        self.n_weak = 0  # children since the last strong one
        self.n_removed = 0
        self.n_put_off = 0  # nodes that the lazy rule passed over
        self.is_tied = False

    @property
    def n_rules(self) -> int:
        return sum(not node.children for node in self.nodes[1:])

    @property
    def least_gain(self) -> float:
        """What a child needs to gain in order not to be weak."""
        return self.options.min_gain - TIE

    @property
    def answers(self) -> Answers:
        return Answers.of(self.sample, self.nodes[1:])

    def run(self) -> Growth:
        """Let the best child join until none is left or too many in a row are weak; then take out what is not worth it.

        The weak children at the end are taken back. After that leaves are removed, the one that is worth least by what
        it must be worth first, until all are worth their place or one rule is left.
        """
        while (best := self.best_candidate()) is not None:
            is_weak = best.gain < self.least_gain
            if is_weak and self.n_weak == self.options.patience:
                break
            self.n_weak = self.n_weak + 1 if is_weak else 0
            self.join(best)
        while self.n_weak > 0:
            self.remove(self.nodes[-1])
            self.n_weak -= 1
        while (victim := self.least_worth()) is not None:
            self.remove(victim)
            self.n_removed += 1
        return self

    def open_terms(self, node: Node) -> list[Term]:
        """Terms that may join below a node.

        Of features not on its path, with enough weight, no complement first, and nothing that is said already, in this
        or another order.
        """
        weight, options = self.sample.weight, self.options
        covers_enough = is_heavy(node.firing @ weight, options.min_coverage * weight.sum())
        if len(node.path) == options.max_depth or not covers_enough:
            return []
        asked = {above.term.feature for above in node.path if above.term}
        said = {frozenset(above.term for above in other.path) for other in self.nodes}
        own = frozenset(above.term for above in node.path)
        return [
            term
            for term in self.terms
            if term.feature not in asked
            and not (term.is_complement and not node.path)
            and own | {term} not in said
            and is_heavy((node.firing * term.membership(self.sample.x)) @ weight, options.min_leaf_weight)
        ]

    def judge(self, node: Node) -> list[Candidate]:
        """What each term below a node would change in the answers of all nodes."""
        terms, before = self.open_terms(node), self.answers
        node.promise = -np.inf
        if not terms:
            return []
        firing = np.array([node.firing * term.membership(self.sample.x) for term in terms])
        after = before.joined_by(firing, np.array([distribution(self.sample, phi) for phi in firing]))
        soft_share = self.options.soft_share
        gains = after.value(self.sample, soft_share) - before.value(self.sample, soft_share)
        node.promise = float(gains.max())
        return [Candidate(node, term, gain) for term, gain in zip(terms, gains.tolist(), strict=True)]

    def judged_nodes(self) -> dict[Node, list[Candidate]]:
        """The nodes that compete now, with their candidates.

        Growth is lazy: gains mostly shrink as the answers get better, so nodes come in the order of what they promised
        when they were last judged, and those that promised less than half of the best gain wait, if that is strong.
        """
        found: dict[Node, list[Candidate]] = {}
        best = least_promise = -np.inf
        for node in sorted(self.nodes, key=lambda node: -node.promise):
            if self.n_rules == self.options.max_rules and adds_a_rule(node):
                continue
            if best >= self.least_gain and node.promise < PROMISE * best:
                self.n_put_off += 1
                self.is_tied |= node.promise > least_promise - TIE
                continue
            least_promise = node.promise
            found[node] = self.judge(node)
            best = max(best, node.promise)
        return found

    def best_candidate(self) -> Candidate | None:
        """The one with the largest gain: the first of equals, by the order nodes joined in and that of the terms."""
        found = self.judged_nodes()
        best = None
        for candidate in (one for node in self.nodes for one in found.get(node, [])):
            if best is None or candidate.gain > best.gain + TIE:
                best = candidate
        return best

    def join(self, candidate: Candidate) -> None:
        child = child_of(candidate.node, candidate.term, self.sample)
        child.gain = candidate.gain
        candidate.node.children.append(child)
        self.nodes.append(child)
        self.joined.append(candidate)

    def remove(self, leaf: Node) -> None:
        assert leaf.parent is not None
        leaf.parent.children.remove(leaf)
        self.nodes.remove(leaf)

    def least_worth(self) -> Node | None:
        """The leaf to remove next; None: all are worth their place."""
        leaves = [node for node in self.nodes[1:] if not node.children]
        if len(leaves) == 1 and len(leaves[0].path) == 1:
            return None
        victim, least = None, 1.0
        for leaf in leaves:
            own = worth(leaf, self.nodes[1:], self.sample, self.options.soft_share)
            needed = worth_needed(leaf, self.options)
            if own < needed * least - TIE:
                victim, least = leaf, own / needed
        return victim

    def tree(self) -> Tree:
        """Nodes in pre-order, children in the order they joined."""
        parent: list[int] = []
        nodes: list[Node] = []

        def visit(node: Node, parent_number: int) -> None:
            number = len(nodes)
            nodes.append(node)
            parent.append(parent_number)
            for child in node.children:
                visit(child, number)

        visit(self.nodes[0], -1)
        terms = [node.term or Term(-1, (-np.inf, -np.inf, np.inf, np.inf)) for node in nodes]
        gain = [sum(max(0.0, child.gain) for child in node.children) * self.sample.weight.sum() for node in nodes]
        return Tree(
            np.array(parent, np.int32),
            np.array([term.feature for term in terms], np.int32),
            np.array([term.trapezoid for term in terms]),
            np.array(gain),
        )
