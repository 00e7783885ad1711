"""Reading a fuzzy tree: firing, gates, consequents and the combination of evidence, one row and one node at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

NEGLIGIBLE_FIRING = 1e-6
UNSEEN_GATE = 0.5  # how open a gate is to a category that the split has not seen
# Cautious weights are not defined for a source that leaves nothing to ignorance: it is taken to leave this much.
MOST_FIRING = 1 - 1e-12
TIE = 1e-12  # masses that differ by no more are equal


# --- Firing ----------------------------------------------------------------------------------------------------------


def membership(trapezoid: Floats, x: Floats) -> Floats:
    """Membership of values in a condition (a, b, c, d); infinite ends are shoulders, an upright side has its end."""
    a, b, c, d = trapezoid
    return np.minimum(_climb(x, a, b), _climb(-x, -d, -c))


def _climb(x: Floats, low: float, high: float) -> Floats:
    if np.isinf(low):
        return np.ones_like(x)
    if low == high:
        return np.where(x >= low, 1.0, 0.0)
    return np.asarray(np.clip((x - low) / (high - low), 0.0, 1.0))


def gate(support: Floats, x: Floats, margin: float = 1.0) -> Floats:
    """One inside the range seen in training, falling linearly to zero over ``margin`` such ranges on either side.

    Zero where no row with a value came: then the range is empty, from infinity down to minus infinity.
    """
    low, high = support
    if low > high:
        return np.zeros_like(x)
    outside = np.maximum(0.0, np.maximum(low - x, x - high))
    if low == high:
        return np.where(outside == 0, 1.0, 0.0)
    return np.asarray(np.clip(1 - outside / (margin * (high - low)), 0.0, 1.0))


def fits(tree: Any, node: int, x: Floats) -> Floats:
    """Membership of any value in a node's condition: of a missing value, or a category not seen, the node's share."""
    share = tree.share[node]
    if not is_categorical(tree, node):
        return np.where(np.isnan(x), share, membership(tree.trapezoid[node], np.nan_to_num(x)))
    known = category_membership(tree, node, x)
    return np.where(np.isnan(known), share, known)


def opens(tree: Any, node: int, x: Floats, margin: float = 1.0) -> Floats:
    """Gate of any value: open to a missing one, half open to a category not seen."""
    if not is_categorical(tree, node):
        return np.where(np.isnan(x), 1.0, gate(tree.support[node], np.nan_to_num(x), margin))
    unseen = ~np.isnan(x) & np.isnan(category_membership(tree, node, x))
    return np.where(unseen, UNSEEN_GATE, 1.0)


def is_categorical(tree: Any, node: int) -> bool:
    return tree.categories is not None and len(tree.categories.of(node)) > 0


def category_membership(tree: Any, node: int, x: Floats) -> Floats:
    """Of each category in a condition; NaN for missing values and categories that the split has not seen."""
    own = tree.categories.of(node)
    return np.array([own[int(code)] if 0 <= code < len(own) else np.nan for code in x])


def fire(tree: Any, x: Floats, gated: bool = True, margin: float = 1.0) -> Floats:
    """Firing of every node, shape (n_rows, n_nodes): that of its parent, times its membership, times its gate."""
    firing = np.ones((len(x), len(tree.parent)))
    for o in range(1, len(tree.parent)):
        value = x[:, tree.feature[o]]
        firing[:, o] = firing[:, tree.parent[o]] * fits(tree, o, value)
        if gated:
            firing[:, o] *= opens(tree, o, value, margin)
    return firing


def children_of(tree: Any, node: int) -> list[int]:
    return [int(o) for o in np.flatnonzero(tree.parent == node)]


def leaves_of(tree: Any) -> list[int]:
    parents = set(tree.parent.tolist())
    return [o for o in range(len(tree.parent)) if o not in parents]


def support_deficit(tree: Any, x: Floats, margin: float = 1.0) -> Floats:
    """Firing that the gate of each node withholds, booked to the node's feature; shape of ``x``."""
    firing, lost = fire(tree, x, True, margin), np.zeros_like(x)
    for o in range(1, len(tree.parent)):
        value = x[:, tree.feature[o]]
        arriving = firing[:, tree.parent[o]] * fits(tree, o, value)
        lost[:, tree.feature[o]] += arriving * (1 - opens(tree, o, value, margin))
    return lost


# --- What a finished tree learns from its rows -----------------------------------------------------------------------


def sum_class_weight(tree: Any, x: Floats, y: Ints, weight: Floats, n_classes: int) -> Floats:
    """Training weight of each class at each node, shape (n_nodes, n_classes); gates do not act in training."""
    firing = fire(tree, x, gated=False)
    return np.array([np.bincount(y, phi * weight, minlength=n_classes) for phi in firing.T])


def ranges(tree: Any, x: Floats, weight: Floats) -> Floats:
    """Range of each node's feature over the rows that reach its parent, shape (n_nodes, 2); row 0 means nothing."""
    firing = fire(tree, x, gated=False)
    support = np.full((len(tree.parent), 2), np.nan)
    for o in range(1, len(tree.parent)):
        value = x[(firing[:, tree.parent[o]] > NEGLIGIBLE_FIRING) & (weight > 0), tree.feature[o]]
        support[o] = np.nanmin(value), np.nanmax(value)
    return support


def consequents(class_weight: Floats, parent: Ints, kind: str = "shrinkage", shrinkage: float = 5.0) -> Floats:
    """Class distribution of each node, for nodes that all have weight."""
    weight = class_weight.sum(axis=1, keepdims=True)
    raw: Floats = class_weight / weight
    if kind == "raw":
        return raw
    if kind == "laplace":
        return np.asarray((class_weight + 1) / (class_weight + 1).sum(axis=1, keepdims=True))
    shrunk = raw.copy()
    for o in range(1, len(parent)):
        above = parent[o]
        shrunk[o] = shrunk[above] + (raw[o] - raw[above]) / (1 + shrinkage / weight[above])
    return shrunk


# --- Evidence --------------------------------------------------------------------------------------------------------


class Masses(NamedTuple):
    """Combined masses of a block of rows: on each class, on the frame, and what normalisation removed."""

    belief: Floats
    ignorance: Floats
    conflict: Floats


class Source(NamedTuple):
    """One piece of evidence: mass on each class, and the rest on the whole frame."""

    singletons: Floats
    frame: float


def reliability(weight: Floats, discount: float) -> Floats:
    """How far a source backed by ``weight`` is believed."""
    return weight / (weight + discount)


def dempster(sources: list[Source], n_classes: int) -> tuple[Floats, float, float]:
    """Dempster's rule in closed form: belief, ignorance, conflict.

    T = prod(frame), Q(c) = prod(frame + s(c)), and the masses are proportional to Q(c) - T and T. In logarithms nothing
    underflows and nothing cancels: Q(c) - T = T (exp(r) - 1) with r = sum log(1 + s(c) / frame).
    """
    frames = np.array([source.frame for source in sources])
    singletons = np.array([source.singletons for source in sources]).reshape(-1, n_classes)
    with np.errstate(divide="ignore"):
        log_t = float(np.log(frames).sum())
        if np.isinf(log_t):  # a source without ignorance: T is zero
            log_mass = np.log(frames[:, None] + singletons).sum(axis=0)
        else:
            r = np.log1p(singletons / frames[:, None]).sum(axis=0)
            log_mass = log_t + r + np.log(-np.expm1(-r))
    largest = max(log_t, float(log_mass.max()))
    z = np.exp(log_t - largest) + np.exp(log_mass - largest).sum()
    conflict = -np.expm1(largest + np.log(z))
    return np.exp(log_mass - largest) / z, float(np.exp(log_t - largest) / z), max(0.0, float(conflict))


def cautious(sources: list[Source], n_classes: int) -> Source:
    """Denoeux's cautious rule: w(c) = min over the sources of frame / (frame + s(c)).

    The result combines one simple support function per class, which gives 1 - w(c) to the class and w(c) to the frame:
    m({c}) is proportional to (1 - w(c)) / w(c), m(frame) to 1.
    """
    w, support = np.ones(n_classes), np.zeros(n_classes)  # support = 1 - w, without the subtraction
    for source in sources:
        w = np.minimum(w, source.frame / (source.frame + source.singletons))
        support = np.maximum(support, source.singletons / (source.frame + source.singletons))
    odds = support / w
    return Source(odds / (1 + odds.sum()), float(1 / (1 + odds.sum())))


def combine(
    tree: Any,
    x: Floats,
    combination: str = "dempster",
    sources: str = "leaves",
    discount: float = 0.0,
    gated: bool = True,
    margin: float = 1.0,
) -> Masses:
    """Combined evidence for the rows of ``x``; arguments as in the reading of a tree model."""
    firing = fire(tree, x, gated, margin)
    trust, leaves = reliability(tree.class_weight.sum(axis=1), discount), leaves_of(tree)
    rows = [_combine_row(tree, leaves, own, trust, combination, sources) for own in firing]
    belief, ignorance, conflict = zip(*rows, strict=True)
    return Masses(np.array(belief), np.array(ignorance), np.array(conflict))


def _combine_row(
    tree: Any, leaves: list[int], firing: Floats, trust: Floats, combination: str, sources: str
) -> tuple[Floats, float, float]:
    phi = firing * trust
    n_nodes, n_classes = tree.consequent.shape
    # The root says nothing that its children do not say better, unless it is the whole tree.
    nodes = leaves if sources == "leaves" or n_nodes == 1 else list(range(1, n_nodes))

    def source(o: int, most: float = 1.0) -> Source:
        own = min(phi[o], most)
        return Source(own * tree.consequent[o], 1 - own)

    def spoken(o: int, of_leaf: float) -> Source:
        own = min(of_leaf * trust[o], MOST_FIRING)
        return Source(own * tree.consequent[o], 1 - own)

    if combination == "dempster":
        return dempster([source(o) for o in nodes], n_classes)
    if combination == "cautious":
        belief, ignorance = cautious([source(o, MOST_FIRING) for o in nodes], n_classes)
        return belief, ignorance, 0.0
    if combination == "chain":  # cautious along each path, whose nodes speak as its leaf fires; Dempster across paths
        paths = [[spoken(o, firing[leaf]) for o in _path(tree, leaf)] for leaf in leaves if firing[leaf] > 0]
        return dempster([cautious(path, n_classes) for path in paths], n_classes)
    total = sum(phi[o] for o in nodes)
    mixture = sum((phi[o] * tree.consequent[o] for o in nodes), np.zeros(n_classes))
    return mixture / max(total, 1.0), max(0.0, 1 - total), 0.0


def _path(tree: Any, leaf: int) -> list[int]:
    """The nodes from below the root down to a leaf; the root itself where it is the whole tree."""
    path = [leaf]
    while tree.parent[path[0]] > 0:
        path.insert(0, int(tree.parent[path[0]]))
    return path


def prediction_set(masses: Masses) -> NDArray[np.bool_]:
    """Classes that no other dominates: Pl(c) >= max Bel, but for a tie."""
    plausibility = masses.belief + masses.ignorance[:, None]
    return np.asarray(plausibility >= masses.belief.max(axis=1, keepdims=True) - TIE)
