"""What each rule does to belief: what is left without the rule, and shares of the belief that add up.

What a rule does is told by what is left without it. Under Dempster's rule no shares that add up agree with that: a rule
that has a share of the belief in a class may lower this belief by the ignorance that it takes away.

Dempster's rule multiplies: ``Q(c) / T`` is the product over the sources of ``1 + m(c) / m(frame)``. Its logarithm, the
*weight of evidence* for a class, is a sum over the sources, and belief in the class is shared in its proportions. The
same holds for "chain", whose sources are paths. Under "vote" belief is itself a sum. The cautious rule takes maxima:
the strongest source has all of the belief in a class, and equals share it.

So in every case the parts are not negative, do not depend on the order of the sources, and add up to the belief.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Floats


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
        frame[belief.sum(axis=1) + frame <= 0] = 1.0  # sources that exclude each other entirely say nothing
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
    own = np.minimum(believed[node], _core.MOST_FIRING) if combination == "cautious" else believed[node]
    return Sources(node, firing[node], own[:, None] * tree.consequent[node], 1 - own, combination)


def path_odds(model: TreeModel, firing: Floats, end: int) -> Floats:
    """Largest odds on the path to a node, shape (n_classes,): the cautious rule, nodes speaking as the end fires."""
    nodes = model.tree.path(end) or [0]
    capped = np.minimum(firing[end] * model.reliability[nodes], _core.MOST_FIRING)
    return np.asarray(((capped / (1 - capped))[:, None] * model.tree.consequent[nodes]).max(axis=0))
