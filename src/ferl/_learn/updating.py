"""Updating: a model learns from more rows. Its conditions stay; what they sum up goes on.

Firings without gates depend on the conditions alone, and these do not move; so class weights, means and variances of
the rows before can be merged with those of a block, as if all rows had come at once. The weights of evidence of wide
rules go on in :mod:`ferl._learn.updating_wide`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._learn.consequents import consequents, constrain, signs
from ferl._learn.drift import Drift, measure_drift
from ferl._learn.grow import UNBOUNDED, keep_cover, n_candidates, n_exemplars, root_rows, with_novelty
from ferl._learn.rows import Block, Summing
from ferl._learn.updating_wide import learned_weights, with_some_curvature
from ferl._model.model import Model
from ferl._model.settings import Settings
from ferl._model.tree import FuzzyTree, Profile
from ferl._tables import codes_of, refuse_extreme_scales
from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown
from ferl._util.threads import n_threads

_KEY_SEED = 0  # of the keys by which a block's exemplars are drawn: the same rows whatever came before


def update_model(model: Model, settings: Settings, block: Block) -> tuple[Model, Drift]:
    """A model that has learned from one more block of rows, and how the block differs from the rows before.

    Parameters
    ----------
    model : Model
        Before; it stays as it is.
    settings : Settings
        How it learns.
    block : Block
        Rows as the tree reads them, all of some weight.

    Returns
    -------
    Model, Drift
    """
    if model.weights is not None:
        _refuse_edited(model)
        model = with_some_curvature(model)
    known = replace(block, X=_known_categories(block.X, model.tree))
    learned = _sums(model, settings, known)
    drift = measure_drift(model, settings, block, learned.class_weight)
    merged = _merged(model, settings, learned)
    constraint = constraint_of(model, settings)
    if model.weights is None:
        if constraint is not None:
            merged = replace(merged, consequent=constrain(merged, constraint))
        return replace(model, tree=merged), drift
    weights = learned_weights(model, known, constraint)
    candidates = root_rows(merged)
    learned_model = replace(model, tree=keep_cover(merged, weights, n_exemplars(settings)), weights=weights)
    return with_novelty(learned_model, settings, candidates), drift


def _refuse_edited(model: Model) -> None:
    if model.history:
        raise ValueError(
            f"The rules were changed by hand ({len(model.history)} times), and partial_fit would move all weights "
            "again. Learn first and edit then, or fit anew."
        )


def constraint_of(model: Model, settings: Settings) -> Ints | None:
    """Sign of each column's monotone constraint, by the settings; None: there is none."""
    names = model.column_names()
    return signs(settings, names, model.tree.n_categories(len(names)), model.tree.n_classes)


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
    """What a tree's conditions sum up of a block; as in :class:`FuzzyTree` and :class:`Profile`."""

    class_weight: Floats
    support: Floats
    profile: Profile


def _sums(model: Model, settings: Settings, block: Block) -> _Learned:
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
    n_kept, key_bound = n_exemplars(settings), np.full(tree.n_nodes, np.iinfo(np.uint64).max, dtype=np.uint64)
    if model.weights is not None:  # the root alone keeps rows
        n_kept, key_bound[1:] = n_candidates(settings, n_columns), 0
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
    state = summing.start()
    summing.add(state, block, n_threads(settings.n_jobs))
    found = state.finish()
    return _Learned(found.pop("class_weight"), found.pop("support"), Profile(**found))


def _known_categories(X: Floats, tree: FuzzyTree) -> Floats:
    """The rows with categories that are new as missing values: conditions without gates treat the two alike."""
    n_categories = tree.n_categories(X.shape[1])
    new = (n_categories > 0) & (n_categories <= X)
    return np.where(new, np.nan, X) if new.any() else X


# ---------------------------------------------------------------------------------------------------------------------
# Two sets of sums as one
# ---------------------------------------------------------------------------------------------------------------------


def _merged(model: Model, settings: Settings, learned: _Learned) -> FuzzyTree:
    """The model's tree after it has learned."""
    tree = model.tree
    class_weight = tree.class_weight + learned.class_weight
    # Of wide rules all rows are kept for now: those that cover the others are chosen by the new weights.
    n_most = n_exemplars(settings) if model.weights is None else UNBOUNDED
    return replace(
        tree,
        class_weight=class_weight,
        consequent=consequents(class_weight, tree.parent, settings.consequents, settings.shrinkage),
        support=_merged_support(tree, learned.support),
        profile=_merged_profile(tree, tree.profile, learned, n_most),
    )


def _merged_support(tree: FuzzyTree, support: Floats) -> Floats:
    wider = np.column_stack(
        [np.minimum(tree.support[:, 0], support[:, 0]), np.maximum(tree.support[:, 1], support[:, 1])]
    )
    if tree.categories is None:
        return wider
    # Categories have no range; their gates ask whether one was seen when the split was grown.
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
    index, n_before = first[inverse], len(before.exemplar_row)  # of equal rows, that of the first
    merged: list[list[int]] = []
    for node, (old, new) in enumerate(zip(before.exemplar, now.exemplar, strict=True)):
        own = index[np.concatenate([old[old >= 0], n_before + new[new >= 0]])]
        turn = np.concatenate(
            [
                (np.arange((old >= 0).sum()) + 0.5) / max(old_weight[node], np.finfo(np.float64).tiny),
                (np.arange((new >= 0).sum()) + 0.5) / max(new_weight[node], np.finfo(np.float64).tiny),
            ]
        )
        merged.append(list(dict.fromkeys(own[np.argsort(turn, kind="stable")].tolist()))[:n_most])
    exemplar = np.full((len(merged), max(map(len, merged))), -1, dtype=np.int32)
    for node, kept in enumerate(merged):
        exemplar[node, : len(kept)] = kept
    return exemplar, rows
