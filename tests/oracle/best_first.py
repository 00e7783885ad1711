"""Growing a fuzzy tree, by brute force: every leaf is scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle.growth import (
    NO_SPREAD,
    CutSpread,
    GrowthOptions,
    Sample,
    best_split,
    first_best,
    may_split,
    to_child,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Tree:
    """Nodes in pre-order, each with its own condition, as in ferl.FuzzyTree."""

    parent: Ints
    feature: Ints
    trapezoid: Floats
    gain: Floats
    interval: Floats | None = None  # what resamples say of learned splits
    share: Floats | None = None
    missing: Floats | None = None  # membership of a missing value
    category: tuple[Floats | None, ...] = ()  # memberships of categories, of conditions on these


class _Node:
    """A node of the growing tree."""

    def __init__(self, sample: Sample, weight: Floats, depth: int, options: GrowthOptions) -> None:
        self.weight = weight
        self.depth = depth
        self.split = best_split(sample, weight, options) if may_split(sample, weight, depth, options) else None
        self.children: tuple[int, int] | None = None


def grow(sample: Sample, options: GrowthOptions) -> Tree:
    """Split the leaf with the largest gain until a budget is reached; then take back the weak splits at the end."""
    nodes = [_Node(sample, sample.weight, 0, options)]
    parents: list[int] = []  # the nodes that were split, in order
    n_weak = 0  # splits since the last strong one
    while len(parents) + 1 < options.max_rules:
        candidates = [(o, node.split) for o, node in enumerate(nodes) if node.split and not node.children]
        if not candidates:
            break
        o, split = candidates[first_best([split.gain for _, split in candidates])]
        node = nodes[o]
        weak = split.gain.first < options.min_gain * sample.weight.sum()
        if weak and n_weak == options.patience:
            break
        n_weak = n_weak + 1 if weak else 0
        left = split.left(sample.x[:, split.feature])
        node.children = len(nodes), len(nodes) + 1
        for membership in (left, 1 - left):
            nodes.append(_Node(sample, to_child(sample, node.weight, membership), node.depth + 1, options))
        parents.append(o)
    for o in parents[len(parents) - n_weak :]:
        nodes[o].children = None
    return _in_preorder(nodes, options.criterion)


def _in_preorder(nodes: list[_Node], criterion: str) -> Tree:
    parent: list[int] = []
    feature: list[int] = []
    trapezoid: list[tuple[float, ...]] = []
    gain: list[float] = []
    spread: list[CutSpread] = []
    missing: list[float] = []
    category: list[Floats | None] = []

    def visit(
        o: int,
        parent_number: int,
        own_feature: int,
        condition: tuple[float, ...],
        share: float = 1.0,
        own_category: Floats | None = None,
    ) -> None:
        node, number = nodes[o], len(parent)
        parent.append(parent_number)
        feature.append(own_feature)
        trapezoid.append(condition)
        gain.append(0.0)
        spread.append(NO_SPREAD)
        missing.append(share)
        category.append(own_category)
        if node.children is None:
            return
        split = node.split
        assert split is not None
        low, high = split.band
        gain[number] = node.split.gain.first if criterion == "gini" else node.split.gain.second
        spread[number] = node.split.spread
        to_left, to_right = (None, None) if split.category is None else (split.category, 1 - split.category)
        visit(node.children[0], number, split.feature, (-np.inf, -np.inf, low, high), split.missing, to_left)
        visit(node.children[1], number, split.feature, (low, high, np.inf, np.inf), 1 - split.missing, to_right)

    visit(0, -1, -1, (-np.inf, -np.inf, np.inf, np.inf))
    interval, share = np.array([s.interval for s in spread]), np.array([s.share for s in spread])
    return Tree(
        np.array(parent, np.int32),
        np.array(feature, np.int32),
        np.array(trapezoid),
        np.array(gain),
        interval,
        share,
        np.array(missing),
        tuple(category),
    )
