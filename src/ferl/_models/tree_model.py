"""TreeModel: the paper's fuzzy tree, whose nodes are sources of evidence that Dempster's rule combines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.evidence import Evidence, IgnoranceCauses
from ferl._models.model import Model
from ferl._models.novelty import quantiles, tree_distances
from ferl._models.settings import TreeReading
from ferl._models.tree import nodes_by_depth
from ferl._util.arrays import Bools, Floats

_PROVEN = ("dempster", "vote")  # combinations whose labels can be proven to stay


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TreeModel(Model):
    """A fuzzy tree of learned splits or of words.

    Attributes
    ----------
    variant : {"deep", "medium", "compact"}
        Which of the paper's trees it is.
    reading : TreeReading
        How the evidence of its nodes is combined.
    """

    variant: str
    reading: TreeReading

    kind: ClassVar[str] = "trees"
    has_long_ramps: ClassVar[bool] = False
    shares_ignorance: ClassVar[bool] = True
    _apart_from_names: ClassVar[tuple[str, ...]] = ("core", "with_gates_open", "sources", "fully_believed")

    @property
    def title(self) -> str:
        """The variant."""
        return self.variant

    @property
    def n_rules(self) -> int:
        """Number of leaves."""
        return len(self.tree.leaves)

    @cached_property
    def is_source(self) -> Bools:
        """Which nodes are sources of evidence, shape (n_nodes,); with "chain" the ends of paths."""
        is_leaf = self.tree.is_leaf
        if self.reading.sources == "leaves" or self.reading.combination == "chain" or len(is_leaf) == 1:
            return is_leaf
        return np.arange(len(is_leaf)) > 0

    @property
    def is_rule(self) -> Bools:
        """Which nodes take part in the evidence, shape (n_nodes,): the sources, with "chain" all on their paths."""
        if self.reading.combination != "chain" or self.tree.n_nodes == 1:
            return self.is_source
        return np.arange(self.tree.n_nodes) > 0

    @cached_property
    def rule_numbers(self) -> dict[int, int]:
        """Those with the largest training weight come first."""
        nodes = np.flatnonzero(self.is_rule)
        order = np.argsort(-self.tree.weight[nodes], kind="stable")
        return {node: number for number, node in enumerate(nodes[order].tolist(), 1)}

    @cached_property
    def reliability(self) -> Floats:
        """Share to which each node is believed, shape (n_nodes,)."""
        weight, discount = self.tree.weight, self.reading.discount
        return weight / (weight + discount) if discount > 0 else np.ones(len(weight))

    @cached_property
    def sources(self) -> _core.Sources:
        """The sources of evidence, compiled."""
        reading = self.reading
        consequent, is_source = self.tree.consequent, self.is_source
        return _core.Sources(
            self.core, consequent, self.reliability, is_source, reading.combination, reading.support_gate
        )

    def evidence(self, rows: Floats, n_threads: int = 1) -> Evidence:
        """Fire rows through the tree and combine the evidence of its sources."""
        belief, ignorance, conflict = np.empty((len(rows), len(self.classes))), np.empty(len(rows)), np.empty(len(rows))
        self.sources.combine(rows, n_threads, belief, ignorance, conflict)
        return Evidence(belief, ignorance, conflict, self.classes)

    def ignorance_causes(self, row: Floats, evidence: Evidence) -> IgnoranceCauses:
        """Weak firing, thin support, lost support and conflict."""
        ignorance = float(evidence.ignorance[0])
        unclaimed = min(_unclaimed(evidence), ignorance)
        # Each is at most the one before; the minimum takes away what rounding adds.
        opened = min(_unclaimed(self.with_gates_open.evidence(row)), unclaimed)
        full = min(_unclaimed(self.fully_believed.evidence(row)), opened)
        return IgnoranceCauses(full, opened - full, unclaimed - opened, ignorance - unclaimed)

    def probabilities(self, rows: Floats, n_threads: int = 1) -> Floats:
        """The pignistic probability, shape (n_samples, n_classes)."""
        evidence = self.evidence(rows, n_threads)
        # As `evidence.pignistic`, in the memory of the beliefs, which nobody else has.
        return np.add(evidence.belief, (evidence.ignorance / len(self.classes))[:, None], out=evidence.belief)

    def lift(self, rows: Floats, evidence: Evidence, power: float = 1.0) -> Floats:
        """Belief divided by a power of the frequency, shape (n_samples, n_classes).

        Ignorance belongs to no class: shared out by the frequencies, ``belief + ignorance * frequency``, and divided by
        them, it adds the same to all classes. Shared out equally, as the pignistic probability does, it would favour
        rare ones.
        """
        frequency = self.class_frequency
        return np.divide(evidence.belief, frequency**power, out=np.zeros_like(evidence.belief), where=frequency > 0)

    def lost_support(self, rows: Floats, n_threads: int = 1) -> Floats:
        """Routing mass lost at closed gates, by column, shape (n_samples, n_columns); zero without gates."""
        lost = np.zeros(rows.shape)
        if self.reading.support_gate:
            self.core.support_deficit(rows, n_threads, lost)
        return lost

    @property
    def prover(self) -> _core.Sources:
        """The compiled sources."""
        return self.sources

    @property
    def unproven(self) -> str:
        """Why labels cannot be proven to stay; empty where they can."""
        if self.reading.combination in _PROVEN:
            return ""
        return (
            f"combination is {self.reading.combination!r}; labels are certified for "
            f"{' and '.join(map(repr, _PROVEN))} only. Read the model in one of these ways, for example "
            'clf.reading(combination="dempster"); it need not be fitted again.'
        )

    @property
    def flip_tolerance(self) -> float:
        """The cautious rule's maxima nearly jump where a source comes to fire fully: proofs need short intervals."""
        return 1e-14 if self.reading.combination == "cautious" else 1e-7

    def vote_slope(self, scale: Floats) -> float | None:
        """Steepest path of the vote of the leaves of learned splits; None for other evidence."""
        if self.reading.combination != "vote" or self.reading.sources != "leaves" or self.tree.word:
            return None
        return float(self.path_slopes(scale).max())

    def path_slopes(self, scale: Floats) -> Floats:
        """Sum of the steepest slopes on the path to each node, each feature in its unit, shape (n_nodes,)."""
        tree, total = self.tree, np.zeros(self.tree.n_nodes)
        with np.errstate(over="ignore"):  # in units so large a slope is infinite, and the radius 0
            for nodes in nodes_by_depth(tree.parent):
                total[nodes] = total[tree.parent[nodes]] + tree.slope[nodes] * scale[tree.feature[nodes]]
        return total

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the soft vote where the gates are open."""
        return self.tree.lipschitz

    @property
    def unit_of_distance(self) -> Floats:
        """Standard deviation of each column inside leaves, shape (n_columns,)."""
        return self.tree.unit_of_distance

    @cached_property
    def novelty_quantiles(self) -> Floats | None:
        """Quantiles of the novelty of the training rows at whole percents, shape (101,); None: not known."""
        result = tree_distances(self.tree)
        return None if result is None else quantiles(*result)

    def neighbour_novelty(self, rows: Floats, n_threads: int) -> Floats:
        """Distance to the nearest exemplar of the leaves that a row reaches, shape (n_samples,)."""
        return self._distance(rows, 1, n_threads)[:, 0]

    def neighbour_parts(self, rows: Floats, n_threads: int) -> Floats:
        """As :meth:`neighbour_novelty`, by column.

        The distance is the mean over columns of ``|x - exemplar| / unit``, where the unit of a column is its standard
        deviation inside leaves.
        """
        return self._distance(rows, rows.shape[1], n_threads)

    def _distance(self, rows: Floats, n_out: int, n_threads: int) -> Floats:
        out = np.zeros((len(rows), n_out))
        self.tree.exemplars.distance(rows, n_threads, out)
        return out

    def known_values(self, feature: int) -> Floats:
        """The ranges of a feature at the splits on it."""
        return np.ravel(self.tree.support[self.tree.feature == feature])

    @cached_property
    def fully_believed(self) -> Self:
        """The model without gates and discounts."""
        return self.with_gates_open.read(replace(self.with_gates_open.reading, discount=0.0))


def _unclaimed(evidence: Evidence) -> float:
    return float(evidence.ignorance[0] * (1 - evidence.conflict[0]))


# ---------------------------------------------------------------------------------------------------------------------
# What each rule does to belief: what is left without the rule, and shares of the belief that add up
# ---------------------------------------------------------------------------------------------------------------------

# The effect of a rule is the change when it is removed. Under Dempster's rule no shares that add up agree with that: a
# rule that has a share of the belief in a class may lower this belief by the ignorance that it takes away.
#
# Dempster's rule multiplies: Q(c) / T is the product over the sources of 1 + m(c) / m(frame). Its logarithm, the weight
# of evidence for a class, is a sum over the sources, and belief in the class is shared in its proportions. The same
# holds for "chain", whose sources are paths. Under "vote" belief is itself a sum. The cautious rule takes maxima: the
# strongest source has all of the belief in a class, and equals share it.
#
# So in every case the parts are not negative, do not depend on the order of the sources, and add up to the belief.


@dataclass(frozen=True, eq=False)
class Sources:
    """The sources of evidence that a row fires.

    Attributes
    ----------
    node : ndarray of shape (n_sources,)
        Their nodes: of a path, its leaf.
    firing : ndarray of shape (n_sources,)
        How strongly the row fires them.
    mass : ndarray of shape (n_sources, n_classes)
        What each commits to each class.
    frame : ndarray of shape (n_sources,)
        What each leaves to ignorance.
    combination : str
        How they are combined.
    """

    node: NDArray[np.intp]
    firing: Floats
    mass: Floats
    frame: Floats
    combination: str

    @property
    def odds(self) -> Floats:
        """Mass on each class against that on the frame, shape (n_sources, n_classes)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.mass > 0, self.mass / self.frame[:, None], 0.0)

    def parts(self, belief: Floats) -> Floats:
        """What each source gave to ``belief`` in each class, shape (n_sources, n_classes); columns sum to it."""
        if self.combination == "vote":
            return np.asarray(self.mass / max(float(self.committed.sum()), 1.0))
        odds = self.odds
        if self.combination == "cautious":
            share = ((odds == odds.max(axis=0, initial=0.0)) & (odds > 0)).astype(np.float64)
        else:
            share = np.log1p(odds)
            certain = np.isinf(share)  # sources that leave nothing to ignorance outweigh all others
            share = np.where(certain.any(axis=0), certain, share)
        total = share.sum(axis=0)
        return np.asarray(belief * np.divide(share, total, out=np.zeros_like(share), where=total > 0))

    @property
    def committed(self) -> Floats:
        """What each source commits to classes, shape (n_sources,)."""
        return np.asarray(self.mass.sum(axis=1))

    def belief_without(self) -> tuple[Floats, Floats]:
        """Belief in each class, shape (n_sources, n_classes), and ignorance if this source were silent."""
        n = len(self.node)
        others = ~np.eye(n, dtype=bool)
        if self.combination == "vote":
            total = others @ self.committed
            return np.asarray(others @ self.mass / np.maximum(total, 1.0)[:, None]), np.maximum(1 - total, 0.0)
        if self.combination == "cautious":
            odds = np.array([self.odds[keep].max(axis=0, initial=0.0) for keep in others]).reshape(self.mass.shape)
            sums = 1 + odds.sum(axis=1)
            return np.asarray(odds / sums[:, None]), np.asarray(1 / sums)
        belief, frame = np.zeros(self.mass.shape), np.ones(n)
        for j in range(n):
            mass = np.where(others[:, j, None], self.mass[j], 0.0)
            left = np.where(others[:, j], self.frame[j], 1.0)
            belief, frame = belief * (left[:, None] + mass) + frame[:, None] * mass, frame * left
            total = belief.sum(axis=1) + frame  # normalised at once: with many sources it would underflow
            known = total > 0
            belief[known] /= total[known, None]
            frame[known] /= total[known]
        frame[belief.sum(axis=1) + frame <= 0] = 1.0  # sources that exclude each other entirely give no evidence
        return belief, frame


def fired_sources(model: TreeModel, firing: Floats) -> Sources:
    """The sources that a row fires, in the order of their nodes.

    Parameters
    ----------
    model : TreeModel
        The model.
    firing : ndarray of shape (n_nodes,)
        Firing of every node.

    Returns
    -------
    Sources
    """
    tree, combination = model.tree, model.reading.combination
    believed = firing * model.reliability
    node = np.flatnonzero(model.is_source & (firing > 0))
    if combination == "chain":
        odds = np.array([path_odds(model, firing, int(end)) for end in node]).reshape(len(node), tree.n_classes)
        frame = 1 / (1 + odds.sum(axis=1))
        return Sources(node, firing[node], odds * frame[:, None], frame, combination)
    trust = np.minimum(believed[node], _core.MOST_FIRING) if combination == "cautious" else believed[node]
    return Sources(node, firing[node], trust[:, None] * tree.consequent[node], 1 - trust, combination)


def path_odds(model: TreeModel, firing: Floats, end: int) -> Floats:
    """Largest odds on the path to a node, shape (n_classes,): the cautious rule, nodes speaking as the end fires."""
    nodes = model.tree.path(end) or [0]
    capped = np.minimum(firing[end] * model.reliability[nodes], _core.MOST_FIRING)
    return np.asarray(((capped / (1 - capped))[:, None] * model.tree.consequent[nodes]).max(axis=0))
