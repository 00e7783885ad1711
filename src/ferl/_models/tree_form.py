"""The fitted tree in model files. The core trusts its caller, so what it relies on is checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.fields import Budget, ModelFileError, Part, as_integers, as_numbers, as_written
from ferl._models.settings import MAX_CONDITIONS
from ferl._models.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._util.arrays import Floats, Ints

INT32 = int(np.iinfo(np.int32).max)

# Reading a tree takes memory for each level of it, and for each level and class: no deeper than this.
MAX_DEPTH = 10_000
MAX_DEPTH_TIMES_CLASSES = 200_000

# Largest mean of a feature: what a table may hold (see ferl._tables), with room for rounding. Squares are finite.
LARGEST_MEAN = 1.001e150
# Rounding that sums of shares may have.
ROUNDING = 1e-9

_TREE_KEYS = (
    "parent",
    "feature",
    "trapezoid",
    "support",
    "share",
    "class_weight",
    "consequent",
    "gain",
    "word",
    "cuts",
    "categories",
    "profile",
)


def tree_to_form(tree: FuzzyTree) -> dict[str, Any]:
    """A fitted tree as lists, text and numbers of Python."""
    cuts, profile = tree.cuts, tree.profile
    return {
        **{name: as_written(getattr(tree, name)) for name in _TREE_KEYS[:8]},
        "word": list(tree.word),
        "cuts": None if cuts is None else {"interval": as_written(cuts.interval), "share": as_written(cuts.share)},
        "categories": None if tree.categories is None else _categories_to_form(tree.categories),
        "profile": {
            "mean": as_written(profile.mean),
            "variance": as_written(profile.variance),
            "exemplar": [own[own >= 0].tolist() for own in profile.exemplar],
            "exemplar_row": as_written(profile.exemplar_row),
            **({} if profile.known_weight is None else {"known_weight": as_written(profile.known_weight)}),
        },
    }


def tree_from_form(form: Any, n_categories: Ints, n_classes: int, budget: Budget, *, chains: bool) -> FuzzyTree:
    """A tree from its plain form, checked.

    Parameters
    ----------
    form : object
        What stands in the file.
    n_categories : ndarray of shape (n_columns,)
        Number of categories of each column that the tree reads; 0: it holds numbers.
    n_classes : int
        Number of classes.
    budget : Budget
        Bounds the dense forms of sparse arrays.
    chains : bool
        Whether it must be a chain of nodes for each of some rules, rather than a tree.

    Returns
    -------
    FuzzyTree
    """
    part = Part(form, "tree", _TREE_KEYS)
    parent = _parents(part, n_classes)
    n_nodes, n_columns = len(parent), len(n_categories)
    feature = part.integers("feature", n_nodes, -1, n_columns - 1)
    if feature[0] != -1 or (feature[1:] < 0).any():
        raise part.wrong("feature", "the root, and only the root, has -1")
    word = _words(part, n_nodes)
    is_leaf = np.ones(n_nodes, dtype=bool)
    is_leaf[parent[1:]] = False
    if chains:
        _check_chains(part, parent, feature)
    elif not word:
        _check_splits(part, parent, feature, is_leaf)
    tree = FuzzyTree(
        parent=parent,
        feature=feature,
        trapezoid=_trapezoids(part, n_categories, feature),
        support=_support(part, n_nodes),
        class_weight=_class_weights(part, n_nodes, n_classes, is_leaf),
        consequent=_consequents(part, n_nodes, n_classes),
        gain=part.numbers("gain", n_nodes),
        word=word,
        profile=_profile(part.value["profile"], n_nodes, n_categories, budget),
        cuts=_cuts(part, is_leaf, has_cuts=not word and not chains),
        share=part.numbers("share", n_nodes, 0.0, 1.0 + ROUNDING),
        categories=_categories(part.value["categories"], n_categories, feature, budget),
    )
    return tree


# ---------------------------------------------------------------------------------------------------------------------
# Nodes
# ---------------------------------------------------------------------------------------------------------------------


def _parents(part: Part, n_classes: int) -> Ints:
    """Parents in pre-order: each node's is on the path from the root to the node before it."""
    n_nodes = len(part.list("parent"))
    parent = part.integers("parent", None, -1, INT32)
    if not n_nodes or parent[0] != -1:
        raise part.wrong("parent", "it must begin with the root, whose parent is -1")
    path = [0]
    depth = 0
    for node, above in enumerate(parent[1:].tolist(), 1):
        while path and path[-1] != above:
            path.pop()
        if not path:
            raise part.wrong("parent", f"node {node} has the parent {above}; nodes must be in pre-order")
        depth = max(depth, len(path))
        path.append(node)
    if depth > MAX_DEPTH or depth * n_classes > MAX_DEPTH_TIMES_CLASSES:
        raise part.wrong(
            "parent",
            f"the tree is {depth} levels deep and has {n_classes} classes; files hold at most {MAX_DEPTH} levels, and "
            f"{MAX_DEPTH_TIMES_CLASSES} levels times classes",
        )
    return parent


def _check_splits(part: Part, parent: Ints, feature: Ints, is_leaf: NDArray[np.bool_]) -> None:
    """Learned splits have two sides, and these test the same feature."""
    n_children = np.bincount(parent[1:], minlength=len(parent))
    if (n_children[~is_leaf] != 2).any():
        node = int(np.flatnonzero(~is_leaf & (n_children != 2))[0])
        raise part.wrong("parent", f"node {node} has {n_children[node]} children; a learned split has two")
    order = np.argsort(parent[1:], kind="stable") + 1  # siblings side by side
    left, right = feature[order[::2]], feature[order[1::2]]
    if (left != right).any():
        node = int(parent[order[::2][np.argmax(left != right)]])
        raise part.wrong("feature", f"the two sides of the split at node {node} test different features")


def _check_chains(part: Part, parent: Ints, feature: Ints) -> None:
    """A rule is a chain of nodes from the root that nothing branches off, with conditions on different columns."""
    n_children = np.bincount(parent[1:], minlength=len(parent))
    n_children[0] = 0
    if (n_children > 1).any():
        node = int(np.argmax(n_children > 1))
        raise part.wrong("parent", f"node {node} has {n_children[node]} children; rules branch at the root alone")
    chain: list[int] = []
    for node, above in enumerate(parent[1:].tolist(), 1):
        column = int(feature[node])
        chain = [*chain, column] if above else [column]
        if len(chain) > MAX_CONDITIONS:
            raise part.wrong("parent", f"the rule of node {node} has more than {MAX_CONDITIONS} conditions")
        if column in chain[:-1]:
            raise part.wrong("feature", f"the rule of node {node} asks column {column} twice")


def _words(part: Part, n_nodes: int) -> tuple[str, ...]:
    words = part.list("word")
    if not words:
        return ()
    if len(words) != n_nodes or words[0] != "":
        raise part.wrong("word", f"it must be empty, or have one word for each of {n_nodes} nodes, '' for the root")
    for node, word in enumerate(words[1:], 1):
        if type(word) is not str or not word.strip() or not word.isprintable():
            raise part.wrong("word", f"that of node {node} is not a printable word")
    return tuple(words)


def _trapezoids(part: Part, n_categories: Ints, feature: Ints) -> Floats:
    found = part.matrix("trapezoid", len(feature), 4, infinite=True)
    a, b, c, d = found.T
    rising = np.isfinite(a) & np.isfinite(b) | (a == -np.inf) & (b == -np.inf)
    falling = np.isfinite(c) & np.isfinite(d) | (c == np.inf) & (d == np.inf)
    everything = np.isinf(found).all(axis=1)
    free = np.append(n_categories > 0, True)[feature]  # of a condition on numbers: the root, and categories
    bad = ~(rising & falling & (a <= b) & (b <= c) & (c <= d)) | (free & ~everything)
    if bad.any():
        node = int(np.argmax(bad))
        raise part.wrong(
            "trapezoid",
            f"that of node {node} is {found[node].tolist()}; it must ascend, the first two finite or both -inf, the "
            "last two finite or both inf, and the root and categories have none that is finite",
        )
    return found


def _support(part: Part, n_nodes: int) -> Floats:
    found = part.matrix("support", n_nodes, 2, infinite=True)
    empty = (found[:, 0] == np.inf) & (found[:, 1] == -np.inf)  # of the root, and where no row has a value
    bad = ~empty & ~((found[:, 0] <= found[:, 1]) & np.isfinite(found).all(axis=1))
    if bad.any():
        node = int(np.argmax(bad))
        raise part.wrong("support", f"the range of node {node} is {found[node].tolist()}; it must ascend")
    return found


def _class_weights(part: Part, n_nodes: int, n_classes: int, is_leaf: NDArray[np.bool_]) -> Floats:
    found = part.matrix("class_weight", n_nodes, n_classes, 0.0, 1e100)
    if not found[0].sum() > 0 or not found[is_leaf].sum() > 0:
        raise part.wrong("class_weight", "the root and the leaves must have some weight")
    return found


def _consequents(part: Part, n_nodes: int, n_classes: int) -> Floats:
    found = part.matrix("consequent", n_nodes, n_classes, 0.0, 1.0)
    off = np.abs(found.sum(axis=1) - 1) > ROUNDING
    if off.any():
        node = int(np.argmax(off))
        raise part.wrong("consequent", f"the distribution of node {node} sums to {found[node].sum()}, not to 1")
    return found


def _cuts(part: Part, is_leaf: NDArray[np.bool_], *, has_cuts: bool) -> Cuts | None:
    if not has_cuts:
        if part.value["cuts"] is not None:
            raise part.wrong("cuts", "only the learned splits of a tree have cuts; it must be null")
        return None
    own = Part(part.value["cuts"], "tree.cuts", ("interval", "share"))
    interval = own.matrix("interval", len(is_leaf), 2, missing=True)
    share = own.numbers("share", len(is_leaf), 0.0, 1.0 + ROUNDING, missing=True)
    lacking = np.isnan(share)
    if not lacking[is_leaf].all():
        raise own.wrong("share", f"node {int(np.flatnonzero(is_leaf & ~lacking)[0])} is a leaf and must have 'nan'")
    bad = np.where(lacking, ~np.isnan(interval).all(axis=1), ~(interval[:, 0] <= interval[:, 1]))
    if bad.any():
        node = int(np.argmax(bad))
        raise own.wrong("interval", f"that of node {node} is {interval[node].tolist()}; it must ascend")
    return Cuts(interval, share)


# ---------------------------------------------------------------------------------------------------------------------
# Categories: of each condition the most frequent membership, and those that differ from it
# ---------------------------------------------------------------------------------------------------------------------


def _categories_to_form(categories: Categories) -> dict[str, Any]:
    nodes = np.flatnonzero(np.diff(categories.start))
    conditions = []
    for node in nodes.tolist():
        own = categories.of(node)
        values, inverse, counts = np.unique(own.view(np.int64), return_inverse=True, return_counts=True)
        usual = values[np.argmax(counts)].view(np.float64)
        codes = np.flatnonzero(inverse != np.argmax(counts))
        conditions.append([as_written(np.array([usual]))[0], codes.tolist(), as_written(own[codes])])
    return {
        "node": nodes.tolist(),
        "usual": [usual for usual, _, _ in conditions],
        "code": [codes for _, codes, _ in conditions],
        "membership": [values for _, _, values in conditions],
    }


def _categories(form: Any, n_categories: Ints, feature: Ints, budget: Budget) -> Categories | None:
    if not n_categories.any():
        if form is not None:
            raise ModelFileError("tree.categories is given, but all features are numbers; it must be null.")
        return None
    part = Part(form, "tree.categories", ("node", "usual", "code", "membership"))
    sizes = np.append(n_categories, 0)[feature]  # the root's feature is -1
    expected = np.flatnonzero(sizes)
    nodes = part.integers("node", None, 0, len(feature) - 1)
    if not np.array_equal(nodes, expected):
        raise part.wrong("node", "it must list the nodes whose feature holds categories, in order")
    n_memberships = int(sizes.sum(dtype=np.int64))
    budget.take(n_memberships, "tree.categories")
    if n_memberships > INT32:
        raise part.wrong("node", f"{n_memberships} memberships are more than a tree can have")
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    usual = part.numbers("usual", len(nodes), 0.0, 1.0, missing=True)
    membership = np.repeat(usual, sizes[nodes])
    codes, values = part.list("code", len(nodes)), part.list("membership", len(nodes))
    for index, node in enumerate(nodes.tolist()):
        own = as_integers(codes[index], f"tree.categories.code[{index}]", None, 0, int(sizes[node]) - 1)
        where = f"tree.categories.membership[{index}]"
        if (np.diff(own) <= 0).any():
            raise part.wrong("code", f"entry {index} must ascend")
        membership[start[node] + own] = as_numbers(values[index], where, len(own), 0.0, 1.0, missing=True)
    return Categories(n_categories, start, membership)


# ---------------------------------------------------------------------------------------------------------------------
# Profile
# ---------------------------------------------------------------------------------------------------------------------


def _profile(form: Any, n_nodes: int, n_categories: Ints, budget: Budget) -> Profile:
    part = Part(form, "tree.profile", ("mean", "variance", "exemplar", "exemplar_row"), ("known_weight",))
    n_columns = len(n_categories)
    rows = part.matrix("exemplar_row", None, n_columns, -LARGEST_MEAN, LARGEST_MEAN, missing=True)
    for column in np.flatnonzero(n_categories).tolist():
        codes = rows[:, column][~np.isnan(rows[:, column])]
        if ((codes < 0) | (codes >= n_categories[column]) | (codes != np.floor(codes))).any():
            raise part.wrong("exemplar_row", f"column {column} has a category that is none of {n_categories[column]}")
    return Profile(
        mean=part.matrix("mean", n_nodes, n_columns, -LARGEST_MEAN, LARGEST_MEAN),
        variance=part.matrix("variance", n_nodes, n_columns, 0.0, LARGEST_MEAN**2),
        exemplar=_exemplars(part, n_nodes, len(rows), budget),
        exemplar_row=rows,
        known_weight=part.matrix("known_weight", n_nodes, n_columns, 0.0, 1e100)
        if "known_weight" in part.value
        else None,
    )


def _exemplars(part: Part, n_nodes: int, n_rows: int, budget: Budget) -> Ints:
    lists = [
        as_integers(own, f"tree.profile.exemplar[{node}]", None, 0, n_rows - 1)
        for node, own in enumerate(part.list("exemplar", n_nodes))
    ]
    width = max(map(len, lists))
    budget.take(n_nodes * width, "tree.profile.exemplar")
    if n_rows and not len(lists[0]):
        raise part.wrong("exemplar", "there are rows, so the root must have some")
    found = np.full((n_nodes, width), -1, dtype=np.int32)
    for node, own in enumerate(lists):
        found[node, : len(own)] = own
    return found
