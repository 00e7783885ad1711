"""Updating: a model learns from more rows. Its conditions stay; what they sum up goes on.

Firings without gates depend on the conditions alone, and these do not move; so class weights, means and variances of
earlier rows can be merged with the statistics of a block, as if all rows had come at once.
:mod:`ferl._learn.update_rules` updates weights of evidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._learn import grow_trees
from ferl._learn.cases import with_more_cases
from ferl._learn.categories import category_weights
from ferl._learn.consequents import consequents, constrain, signs
from ferl._learn.drift import Drift, drift_of_rules, drift_of_tree
from ferl._learn.ground import UNBOUNDED
from ferl._learn.grow_rules import keep_cover, n_candidates, n_exemplars, root_rows
from ferl._learn.rows import Block, Summing
from ferl._learn.rows_behind import RuleSumming
from ferl._learn.update_rules import with_learned_weights, with_some_curvature
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.settings import RuleSettings, Settings, TreeSettings
from ferl._models.tree import FuzzyTree, Profile
from ferl._models.tree_model import TreeModel
from ferl._tables import codes_of, refuse_extreme_scales
from ferl._util.arrays import Floats, Ints
from ferl._util.text import counted, shown
from ferl._util.threads import n_threads

_KEY_SEED = 0  # of the keys by which a block's exemplars are drawn: the same rows whatever came before


def update_tree(model: TreeModel, settings: TreeSettings, block: Block) -> tuple[TreeModel, Drift]:
    """A tree that has learned from one more block of rows, and how the block differs from the rows before.

    Parameters
    ----------
    model : TreeModel
        Before; it stays as it is.
    settings : TreeSettings
        How it learns.
    block : Block
        Rows as the model reads them, all of some weight.
    """
    known, constraint = _known(block, model.tree), constraint_of(model, settings)
    n_kept = grow_trees.n_exemplars(settings)
    learned = _sums(model, settings, known, n_kept, keeping=slice(None))
    drift = drift_of_tree(model, settings, block, learned.class_weight)
    merged = _merged(model, learned, n_kept, settings.consequents, settings.shrinkage)
    if constraint is not None:
        merged = replace(merged, consequent=constrain(merged, constraint))
    return replace(model, tree=merged), drift


def update_rules(model: RuleModel, settings: RuleSettings, block: Block) -> tuple[RuleModel, Drift]:
    """Rules that have learned from one more block of rows, and how the block differs; as :func:`update_tree`."""
    if model.history:
        raise ValueError(
            f"The rules were changed by hand ({counted(len(model.history), 'edit')}), and partial_fit would move all "
            "weights again. Learn first and edit then, or fit anew."
        )
    model = with_some_curvature(model)
    known, n_most = _known(block, model.tree), n_candidates(settings, block.X.shape[1])
    learned = _sums(model, settings, known, n_most, slice(0, 1), model.rules.node)  # the root alone keeps rows
    drift = drift_of_rules(model, settings, block, learned.class_weight)
    # All rows are kept for now: the rows that cover the others are chosen by the new weights.
    merged = _merged(model, learned, UNBOUNDED, "shrinkage", 5.0)
    found = with_learned_weights(model, known, constraint_of(model, settings))
    tree = keep_cover(merged, found.without_cases.terms, n_exemplars(settings))
    rules = replace(found.rules, products=found.rules.products + learned.products)
    categories = {
        j: before + _weight_of_categories(known, j, len(before)) for j, before in model.category_weight.items()
    }
    cases, choice = found.cases, found.case_choice
    if cases is not None:
        cases = with_more_cases(cases, known, int(settings.n_cases))
        choice = choice and replace(choice, scale=1.0)  # the weights are those beside the cases from now on
    found = replace(found, tree=tree, rules=rules, category_weight=categories, cases=cases, case_choice=choice)
    return found.measured(root_rows(merged), n_most), drift


def _weight_of_categories(block: Block, column: int, n_categories: int) -> Floats:
    """Weight of each category of a column in a block."""
    nobody = np.zeros_like(block.codes)
    return category_weights(block.X[:, column], nobody, block.weight, n_categories, 1)[:, 0]


def constraint_of(model: Model, settings: Settings) -> Ints | None:
    """Sign of each column's monotone constraint, by the settings; None without constraints."""
    n_categories = model.tree.n_categories(len(model.column_names()))
    return signs(settings.monotonic_cst, model.feature_names(), n_categories, model.tree.n_classes)


def settle_classes(found: NDArray[Any], codes: Ints, classes: ArrayLike | None) -> tuple[NDArray[Any], Ints]:
    """The classes and each row's index among them: those found in the labels, or those given.

    Parameters
    ----------
    found : ndarray of shape (n_found,)
        The distinct labels of some rows.
    codes : ndarray of shape (n_samples,)
        Each row's label, as an index in ``found``.
    classes : array-like of shape (n_classes,) or None
        All labels.

    Examples
    --------
    >>> import numpy as np
    >>> settle_classes(np.array(["b"]), np.array([0, 0], dtype=np.int32), ["c", "b", "a"])
    (array(['a', 'b', 'c'], dtype='<U1'), array([1, 1], dtype=int32))
    """
    if classes is None:
        return found, codes
    settled = np.unique(np.asarray(classes))
    return settled, _indices(found, settled, "Name all labels in classes.")[codes]


def _indices(found: NDArray[Any], classes: NDArray[Any], remedy: str) -> Ints:
    codes = codes_of(found, classes)
    unknown = found[codes < 0].tolist()
    if unknown:
        raise ValueError(
            f"y holds {_listed(unknown)}, which is not among the classes {_listed(classes.tolist())}. {remedy}"
        )
    return codes


def _listed(labels: Sequence[Any]) -> str:
    return ", ".join(map(shown, labels[:10])) + (", ..." if len(labels) > 10 else "")


def known_codes(found: NDArray[Any], codes: Ints, given: ArrayLike | None, classes: NDArray[Any]) -> Ints:
    """Labels of a later block as indices in the classes of a model; ``given``: classes named again, if at all."""
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), classes):
        raise ValueError(
            f"classes is {_listed(np.unique(np.asarray(given)).tolist())}; the model was begun with "
            f"{_listed(classes.tolist())}. Leave it out, or fit anew."
        )
    remedy = "A model's classes are settled by its first block: fit anew, or begin with partial_fit(..., classes=...)."
    return _indices(found, classes, remedy)[codes]


def rows_of_weight(block: Block) -> Block:
    """The rows that count."""
    counts = block.weight > 0
    if counts.all():
        return block
    return Block(block.X[counts], block.codes[counts], block.weight[counts])


def warn_of_little_weight(block: Block) -> Block:
    """The block itself; a warning where it weighs less than a row."""
    total = block.weight.sum()
    if len(block.weight) > 1 and total < 1:
        warnings.warn(
            f"The weights of {len(block.weight)} rows sum to {total:.3g}: less than one row, so the model hardly "
            "changes. Weights count rows; later blocks' are not scaled.",
            UserWarning,
            stacklevel=4,
        )
    return block


@dataclass(frozen=True)
class _Learned:
    """What a tree's conditions sum up of a block; as in :class:`FuzzyTree`, :class:`Profile` and :class:`Rules`."""

    class_weight: Floats
    support: Floats
    profile: Profile
    products: Floats


def _sums(
    model: Model, settings: Settings, block: Block, n_kept: int, keeping: slice, rule_node: Ints | None = None
) -> _Learned:
    """What the conditions sum up of a block.

    ``keeping``: the nodes that keep rows, ``n_kept`` each; ``rule_node``: where rules end whose firings multiply.
    """
    tree, X = model.tree, block.X
    low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    n_features, n_columns = model.n_features, X.shape[1]
    refuse_extreme_scales(model.schema, low[:n_features], high[:n_features])
    start, membership = np.zeros(tree.n_nodes + 1, dtype=np.int32), np.zeros(0)
    if tree.categories is not None:
        start, membership = tree.categories.start, tree.categories.membership
    conditions = {
        "parent": tree.parent,
        "feature": tree.feature,
        "trapezoid": tree.trapezoid,
        "share": tree.share,
        "category_start": start,
        "category": membership,
    }
    key_bound = np.zeros(tree.n_nodes, dtype=np.uint64)
    key_bound[keeping] = np.iinfo(np.uint64).max
    summing = Summing(
        conditions,
        tree.n_categories(n_columns),
        tree.n_classes,
        low,
        high,
        float(block.weight.max()),
        n_kept,
        key_bound,
        _KEY_SEED,
        np.arange(n_columns, dtype=np.int32),
        {},
    )
    if rule_node is not None:
        total, unit = float(block.weight.sum()), np.ones(tree.n_classes)
        summing = RuleSumming(**vars(summing), node=rule_node, total_weight=total, class_unit=unit)
    state = summing.start()
    summing.add(state, block, n_threads(settings.n_jobs))
    found = state.finish()
    products = found.pop("products", np.zeros((0, 0)))
    return _Learned(found.pop("class_weight"), found.pop("support"), Profile(**found), products)


def _known(block: Block, tree: FuzzyTree) -> Block:
    """The block with new categories as missing values: conditions without gates treat the two alike."""
    n_categories = tree.n_categories(block.X.shape[1])
    is_new = (n_categories > 0) & (n_categories <= block.X)
    return replace(block, X=np.where(is_new, np.nan, block.X)) if is_new.any() else block


# ---------------------------------------------------------------------------------------------------------------------
# Two sets of sums as one
# ---------------------------------------------------------------------------------------------------------------------


def _merged(model: Model, learned: _Learned, n_most: int, kind: str, shrinkage: float) -> FuzzyTree:
    """The tree after it has learned, whose nodes keep at most ``n_most`` rows each."""
    tree = model.tree
    class_weight = tree.class_weight + learned.class_weight
    return replace(
        tree,
        class_weight=class_weight,
        consequent=consequents(class_weight, tree.parent, kind, shrinkage),
        support=_merged_support(tree, learned.support),
        profile=_merged_profile(tree, tree.profile, learned, n_most),
    )


def _merged_support(tree: FuzzyTree, support: Floats) -> Floats:
    wider = np.column_stack(
        [np.minimum(tree.support[:, 0], support[:, 0]), np.maximum(tree.support[:, 1], support[:, 1])]
    )
    if tree.categories is None:
        return wider
    # Categories have no range; their gates test whether one was present when the split was grown.
    holds_categories = np.append(tree.categories.n_categories > 0, False)[tree.feature]
    return np.where(holds_categories[:, None], tree.support, wider)


def _merged_profile(tree: FuzzyTree, before: Profile, learned: _Learned, n_most: int) -> Profile:
    """Means and variances of both sets of rows together, and exemplars of both."""
    now, weight = learned.profile, learned.class_weight.sum(axis=1)
    old, new = before.weight_behind(tree.weight), now.weight_behind(weight)
    total = old + new
    share = np.divide(new, total, out=np.zeros_like(total), where=total > 0)
    step = now.mean - before.mean
    mean = before.mean + share * step
    variance = (1 - share) * before.variance + share * now.variance + share * (1 - share) * step**2
    # A profile holds the variance of categories, not their weights, so two of them cannot be merged: the first stays.
    holds_categories = tree.n_categories(mean.shape[1]) > 0
    exemplar, rows = _merged_exemplars(before, now, tree.weight, weight, n_most)
    merged = Profile(
        np.where(holds_categories, before.mean, mean),
        np.where(holds_categories, before.variance, variance),
        exemplar,
        rows,
        Profile.partly_known(total, tree.weight + weight),
    )
    return merged.keep(np.ones(tree.n_nodes, dtype=bool))


def _merged_exemplars(
    before: Profile, now: Profile, old_weight: Floats, new_weight: Floats, n_most: int
) -> tuple[Ints, Floats]:
    """Exemplars of each node from both, in proportion to the weights they stand for.

    A node's exemplars are in random order, so the first of them are as fair a sample as all. The two lists take turns
    at intervals of one over their weight; the result is in fair order again, for the next block.
    """
    rows = np.vstack([before.exemplar_row, now.exemplar_row])
    _, first, inverse = np.unique(
        np.ascontiguousarray(rows).view(f"V{rows.itemsize * rows.shape[1]}").ravel(),
        return_index=True,
        return_inverse=True,
    )
    index, n_before = first[inverse], len(before.exemplar_row)  # index of the first of equal rows
    merged: list[list[int]] = []
    for node, (old, new) in enumerate(zip(before.exemplar, now.exemplar, strict=True)):
        joined = index[np.concatenate([old[old >= 0], n_before + new[new >= 0]])]
        turn = np.concatenate(
            [
                (np.arange((old >= 0).sum()) + 0.5) / max(old_weight[node], np.finfo(np.float64).tiny),
                (np.arange((new >= 0).sum()) + 0.5) / max(new_weight[node], np.finfo(np.float64).tiny),
            ]
        )
        merged.append(list(dict.fromkeys(joined[np.argsort(turn, kind="stable")].tolist()))[:n_most])
    exemplar = np.full((len(merged), max(map(len, merged))), -1, dtype=np.int32)
    for node, kept in enumerate(merged):
        exemplar[node, : len(kept)] = kept
    return exemplar, rows
