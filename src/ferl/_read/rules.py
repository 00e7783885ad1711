"""Rules: the paths of a tree to the nodes that speak, each feature named once; and which part of a tree is shown."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.tree import FuzzyTree
from ferl._models.words import STANDARD_WORDS
from ferl._read.bands import FULL, Overlap, overlap
from ferl._read.bands import Bound as Bound
from ferl._read.bands import value_at as value_at
from ferl._read.kind_text import date_condition, date_side, ordered_text, whole_text
from ferl._tables import ColumnKind
from ferl._tables.kinds import UNKNOWN
from ferl._util.arrays import Floats
from ferl._util.text import category_text

MAX_LISTED = 8  # categories of a condition
LEAST_LISTED = 0.005  # membership of a category that is named


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature.

    To be called by a word; to be above ``lower``, below ``upper``, or both; or to be one of some categories, each with
    its membership.
    """

    feature: int
    lower: Bound | None
    upper: Bound | None
    word: str = ""
    categories: tuple[tuple[int, float], ...] = ()
    plain: bool = False
    """Whether bounds are told by their two ends, as those of wide rules, which may be as far apart as all values."""
    whole: bool = False
    """Whether values are whole numbers."""
    binary: bool = False
    """Whether values are 0 and 1."""
    overlap: Overlap | None = None
    """Where bands overlap: what fits best. None where some value fits fully."""
    kind: ColumnKind = UNKNOWN
    """What the values are: dates and ordered categories are numbers to the tree."""

    def text(
        self,
        name: str,
        decimals: int | None = None,
        with_share: bool = False,
        categories: Sequence[Any] | None = None,
        max_listed: int | None = MAX_LISTED,
        with_ramps: bool = False,
    ) -> str:
        """The condition as a reader says it.

        ``categories``: their names, of which ``max_listed`` are told; ``with_ramps``: whether bands that overlap tell
        their ends, from which the membership follows.
        """
        if self.word:
            return f"{name} is {self.word}"
        told = self.told_by_kind()
        if told:
            bounds = [bound for bound in (self.lower, self.upper) if bound is not None and not math.isnan(bound.share)]
            shares = ", ".join(f"{bound.share:.0%}" for bound in bounds) if with_share else ""
            return f"{name} {told}{f' ({shares})' if shares else ''}"
        if self.overlap is not None:
            return f"{name} {self.overlap.text(decimals, with_share, with_ramps)}"
        if self.categories and categories is not None:
            return f"{name} {_plain_categories(self.categories, categories, max_listed)}"
        if self.categories:
            return f"{name} in {{{listed_categories(self.categories, categories)}}}"
        if self.plain:
            return f"{name} {self._ends_text(decimals)}"
        lower, upper = (
            None if bound is None else bound.text(decimals, with_share) for bound in (self.lower, self.upper)
        )
        if lower is None:
            return f"{name} < {upper}"
        return f"{name} > {lower}" if upper is None else f"{lower} < {name} < {upper}"

    def told_by_kind(self) -> str:
        """What follows the name where values are ordered categories, dates, or whole numbers between the bands."""
        if self.kind.is_ordered:
            return ordered_text(self.categories, self.kind)
        lower, upper = (
            None if own is None else (own.theta - own.half_width, own.theta + own.half_width)
            for own in (self.lower, self.upper)
        )
        told = whole_text(lower, upper, self.kind, self.binary) if self.whole else ""
        return told or (date_condition(lower, upper, self.kind, self.plain) if self.kind.is_date else "")

    def _ends_text(self, decimals: int | None) -> str:
        """What follows the name: the condition is met not at all at one end of a bound, and fully at the other."""
        lower, upper = (None if own is None else own.ends_text(decimals) for own in (self.lower, self.upper))
        if lower is not None and upper is not None:
            return f"between {lower} and {upper}"
        if lower is None and upper is None:
            return "is known"
        return f"below {upper}" if lower is None else f"above {lower}"


def _plain_categories(
    memberships: tuple[tuple[int, float], ...], categories: Sequence[Any], max_listed: int | None
) -> str:
    """What follows the name of a feature: "is a", "is not b", or the categories that fit."""
    full = [code for code, membership in memberships if membership >= FULL]
    others = [code for code in range(len(categories)) if code not in full]
    if len(full) == len(memberships) == 1:
        return f"is {category_text(categories[full[0]])}"
    if len(full) == len(memberships) and len(others) == 1:
        return f"is not {category_text(categories[others[0]])}"
    return f"in {{{listed_categories(memberships, categories, max_listed)}}}"


def threshold_text(kind: ColumnKind, low: float, high: float, decimals: int | None = None) -> str:
    """Where a split of a tree is, from the ends of its band, as people write values of the column."""
    if kind.is_ordered:
        return kind.between((low + high) / 2)
    if kind.is_date:
        return date_side((low, high), kind, plain=False)
    return Bound((low + high) / 2, (high - low) / 2).text(decimals)


def listed_categories(
    memberships: tuple[tuple[int, float], ...], categories: Sequence[Any] | None, most: int | None = MAX_LISTED
) -> str:
    """Those that belong most first; with their membership, where it is not one."""
    ordered = sorted(memberships, key=lambda own: -own[1])
    names = [category_text(code if categories is None else categories[code]) for code, _ in ordered]
    shown = [
        name if membership >= FULL else f"{name} ({membership:.2g})"
        for name, (_, membership) in zip(names, ordered, strict=True)
    ]
    if most is None or len(shown) <= most:
        return ", ".join(shown)
    return f"{', '.join(shown[:most])}, ... {len(shown) - most} more"


@dataclass(frozen=True)
class Rule:
    """A path from the root to a node.

    Conditions on one feature are merged into one interval, with a band on either side: it fits fully where all of them
    do, and not at all where one of them does not. (Inside a band several bounds multiply; the tree has each of them.)
    """

    node: int
    """Where the path ends: a leaf, or for the beginning of a rule an inner node."""
    number: int | None
    """Its number among the rules that speak; None: it does not speak."""
    conditions: tuple[Condition, ...]
    consequent: Floats
    support: float
    """Training weight behind the rule."""
    evidence: Floats | None = None
    """Of a wide rule: its weight of evidence for each class, shape (n_classes,)."""

    @property
    def label(self) -> int:
        """Index of the most probable class in ``classes_``."""
        return int(np.argmax(self.consequent))


def read_rules(model: Model, inner: bool | None = None) -> list[Rule]:
    """The rules of a model, the largest training weight first; wide rules by their numbers.

    Parameters
    ----------
    model : Model
        The model.
    inner : bool, default=None
        Whether the beginnings of rules, which end at inner nodes, are listed. None: where they speak.

    Returns
    -------
    list of Rule
    """
    tree, numbers = model.tree, rule_numbers(model)
    if isinstance(model, RuleModel):
        return [
            Rule(
                node,
                number,
                read_conditions(model, node),
                tree.consequent[node],
                float(tree.weight[node]),
                evidence,
            )
            for (node, number), evidence in zip(numbers.items(), model.rules.weight, strict=True)
        ]
    if inner is None:
        nodes = list(numbers)
    else:
        nodes = tree.leaves.tolist() if not inner or tree.n_nodes == 1 else list(range(1, tree.n_nodes))
    rules = [
        Rule(node, numbers.get(node), read_conditions(model, node), tree.consequent[node], float(tree.weight[node]))
        for node in nodes
    ]
    return sorted(rules, key=lambda rule: -rule.support)


def rule_numbers(model: Model) -> dict[int, int]:
    """Number of each node that speaks, from 1: what rules are called wherever they are shown, strongest first.

    Wide rules have the order of ``evidence_weights_`` and of ``contributions``.
    """
    if isinstance(model, RuleModel):
        return {node: number for number, node in enumerate(model.rules.node.tolist(), 1)}
    nodes = np.flatnonzero(model.speaks)
    order = np.argsort(-model.tree.weight[nodes], kind="stable")
    return {node: number for number, node in enumerate(nodes[order].tolist(), 1)}


def read_conditions(model: Model, leaf: int) -> tuple[Condition, ...]:
    """What the path to a node asks, each feature once."""
    return merged_conditions(model, model.tree.path(leaf))


def merged_conditions(model: Model, path: Sequence[int]) -> tuple[Condition, ...]:
    """What these nodes ask, each feature once."""
    tree, plain = model.tree, isinstance(model, RuleModel)
    conditions: list[Condition] = []
    for feature in dict.fromkeys(int(tree.feature[node]) for node in path):  # in the order of the path
        nodes = [node for node in path if tree.feature[node] == feature]
        if tree.word and not is_told_by_value(model, feature):
            conditions += [Condition(feature, None, None, tree.word[node]) for node in nodes]
            continue
        if tree.n_categories(feature + 1)[feature] > 0:
            conditions.append(Condition(feature, None, None, categories=_categories(tree, nodes), plain=plain))
            continue
        kind = model.column_kind(feature)
        if kind.is_ordered:
            categories = _ordered_categories(tree, nodes, len(kind.order))
            conditions.append(Condition(feature, None, None, categories=categories, plain=plain, kind=kind))
            continue
        sides = [(*tree.trapezoid[node], _share(tree, node)) for node in nodes]
        lower = _merged([(a, b, share) for a, b, _, _, share in sides if np.isfinite(a)], outward=-1)
        upper = _merged([(c, d, share) for _, _, c, d, share in sides if np.isfinite(d)], outward=1)
        is_known = kind.is_whole is not None
        whole = model.is_whole(feature) if is_known else plain and feature in tree.whole_columns
        binary = kind.name == "binary" if is_known else whole and tree.support[nodes[0]].tolist() == [0.0, 1.0]
        overlapping = overlap(lower, upper, tree.trapezoid[nodes])
        conditions.append(
            Condition(feature, lower, upper, plain=plain, whole=whole, binary=binary, overlap=overlapping, kind=kind)
        )
    return tuple(conditions)


def _categories(tree: FuzzyTree, nodes: list[int]) -> tuple[tuple[int, float], ...]:
    """Categories that fit all of these conditions, each with its membership."""
    product = np.prod([np.nan_to_num(tree.memberships(node)) for node in nodes], axis=0)
    return tuple((int(code), float(product[code])) for code in np.flatnonzero(product >= LEAST_LISTED))


def is_told_by_value(model: Model, feature: int) -> bool:
    """Whether conditions in words tell the values that fit: "ht = 1", not "ht is high"; not of an expert's words."""
    kind, partition = model.column_kind(feature), model.words
    if partition is None or not (kind.is_ordered or kind.name == "binary"):
        return False
    variable = partition[feature]
    return variable is not None and all(one.name in STANDARD_WORDS for one in variable.sets)


def _ordered_categories(tree: FuzzyTree, nodes: list[int], n_codes: int) -> tuple[tuple[int, float], ...]:
    """Ordered categories that fit all of these conditions on their indices, each with its membership."""
    codes, product = np.arange(n_codes, dtype=np.float64), np.ones(n_codes)
    for node in nodes:
        a, b, c, d = tree.trapezoid[node].tolist()
        if np.isfinite(a):
            product *= np.interp(codes, [a, b], [0.0, 1.0]) if a < b else codes >= a
        if np.isfinite(d):
            product *= np.interp(codes, [c, d], [1.0, 0.0]) if c < d else codes <= d
    return tuple((int(code), float(product[code])) for code in np.flatnonzero(product >= LEAST_LISTED))


def _share(tree: FuzzyTree, node: int) -> float:
    """Share of the resamples that agree with the band of a node's condition."""
    return math.nan if tree.cuts is None else float(tree.cuts.share[tree.parent[node]])


def _merged(bands: list[tuple[float, float, float]], outward: int) -> Bound | None:
    """One bound for all bands on one side of a feature; a band is its two ends and its share of resamples.

    It is full where all of them are, and zero where one of them is. The share is that of the band that is zero first.
    """
    if not bands:
        return None
    tightest = min if outward > 0 else max
    low, high = (tightest(band[end] for band in bands) for end in (0, 1))
    decisive = tightest(bands, key=lambda band: band[1] if outward > 0 else band[0])
    return Bound((low + high) / 2, (high - low) / 2, decisive[2])


# ---------------------------------------------------------------------------------------------------------------------
# Which part of a large tree is shown, so that a reader can take it in
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folded:
    """The part of a tree that is shown.

    Attributes
    ----------
    children : dict of int to list of int
        Children of every node whose children are shown.
    n_hidden : dict of int to int
        Number of rules below each node whose children are hidden.
    """

    children: dict[int, list[int]]
    n_hidden: dict[int, int]

    @property
    def nodes(self) -> list[int]:
        """All nodes that are shown, in pre-order."""
        return [0, *sorted(child for own in self.children.values() for child in own)]


def fold(
    tree: FuzzyTree, max_depth: int | None = None, max_rules: int | None = None, min_weight: float = 0.0
) -> Folded:
    """The part of a tree without what lies too deep, and without the lightest subtrees of the rest.

    Parameters
    ----------
    tree : FuzzyTree
        The tree.
    max_depth : int, default=None
        The children of nodes at this depth are hidden; 0 is the root.
    max_rules : int, default=None
        At most this many ends of paths are shown; the children of the heaviest nodes are shown first.
    min_weight : float, default=0.0
        The children of nodes that have less than this share of the training weight are hidden.

    Returns
    -------
    Folded
    """
    if not 0 <= min_weight <= 1:
        raise ValueError(f"min_weight is {min_weight}; it must be a share of the training weight, from 0 to 1.")
    for name, value, least in (("max_depth", max_depth, 0), ("max_rules", max_rules, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name} is {value}; it must be at least {least}, or None.")
    below: dict[int, list[int]] = {}
    for node in range(1, tree.n_nodes):
        below.setdefault(int(tree.parent[node]), []).append(node)
    children: dict[int, list[int]] = {}
    n_ends, waiting = 1, [(-float(tree.weight[0]), 0)]
    n_hidden: dict[int, int] = {}
    while waiting:
        _, node = heapq.heappop(waiting)
        if node not in below:
            continue
        too_deep = max_depth is not None and tree.depth[node] >= max_depth
        too_light = tree.weight[node] < min_weight * tree.weight[0]
        if too_deep or too_light or (max_rules is not None and n_ends + len(below[node]) - 1 > max_rules):
            n_hidden[node] = _n_rules(tree, node)
            continue
        children[node] = below[node]
        n_ends += len(below[node]) - 1
        for child in below[node]:
            heapq.heappush(waiting, (-float(tree.weight[child]), child))
    return Folded(children, n_hidden)


def _n_rules(tree: FuzzyTree, node: int) -> int:
    """Number of rules below a node; its subtree follows it, up to the next node that is not deeper."""
    end = node + 1
    while end < tree.n_nodes and tree.depth[end] > tree.depth[node]:
        end += 1
    return int(tree.is_leaf[node:end].sum())
