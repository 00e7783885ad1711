"""Updating: a grown tree learns from more rows. Its conditions stay; what they sum up goes on.

Firings without gates depend on the conditions alone, and these do not move; so class weights, means and variances of
the rows before can be merged with those of a block, as if all rows had come at once.
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
from ferl._learn.grow import n_exemplars
from ferl._learn.rows import Block, Summing
from ferl._model.tree import FuzzyTree, Profile
from ferl._read.rules import column_names
from ferl._sklearn import check_parameters, check_rows, fit_context, learn_labels
from ferl._tables import refuse_extreme_scales, weights_and_factors
from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown
from ferl._util.threads import n_threads

__all__ = ["Drift", "Updating", "settle_classes"]


_KEY_SEED = 0  # of the keys by which a block's exemplars are drawn: the same rows whatever came before


class Updating:
    """Learning in blocks, which :class:`ferl.FERLClassifier` inherits; ``self`` is one."""

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self: Any,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Learn from more rows without growing anew.

        The first block grows a tree, as :meth:`fit` does. Later ones leave its conditions as they are and go on with
        what these sum up: class weights and with them the rules' distributions, the ranges where gates are open, means,
        variances and exemplars. ``drift_`` says how the block differs from the rows before; where it does, or where the
        first block was small, :meth:`fit` on all rows finds better conditions. See docs/updating.md.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The block, with the columns of the first one. A category that the first one lacked goes where a missing
            value goes.
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like of shape (n_classes,), optional
            First call: all labels, where the first block does not have them all. The others have weight 0 until they
            come. Later calls: may be left out, or must be the same.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts. The first block's are scaled as in :meth:`fit`; later ones count as they are, so
            that a block can be given less to say.

        Returns
        -------
        FERLClassifier
            The estimator itself. After an error it is the model it was before.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).partial_fit(X[::2], y[::2])
        >>> clf.partial_fit(X[1::2], y[1::2]).tree_.class_weight[0]
        array([50., 50., 50.])
        >>> abs(clf.drift_.z) < 3
        True
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, and partial_fit sees a block. Pass a dict.'
            )
        if not hasattr(self, "tree_"):
            self._fit(X, y, sample_weight, classes)
            self.drift_ = None
            return self
        check_parameters(self)
        block = _checked_block(self, X, y, classes, sample_weight)
        learned = _sums(self, block)
        drift = measure_drift(self, block, learned.class_weight)
        self.tree_, self.drift_ = _merged(self, learned), drift
        return self


def settle_classes(found: NDArray[Any], codes: Ints, classes: ArrayLike | None) -> tuple[NDArray[Any], Ints]:
    """The classes and each row's place among them: those found in the labels, or those given.

    Parameters
    ----------
    found : ndarray of shape (n_found,)
        The distinct labels of some rows.
    codes : ndarray of shape (n_rows,)
        Each row's label, as a place in ``found``.
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
    return settled, _places(found, settled, "Name all labels in classes.")[codes]


def _places(found: NDArray[Any], classes: NDArray[Any], remedy: str) -> Ints:
    place = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"y holds {_listed(unknown)}, which is not among the classes {_listed(classes.tolist())}. {remedy}"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.int32)


def _listed(labels: Sequence[Any]) -> str:
    return ", ".join(map(shown, labels[:10])) + (", ..." if len(labels) > 10 else "")


def _checked_block(
    estimator: Any, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None
) -> Block:
    """The rows of some weight, as the tree reads them."""
    known = estimator.classes_
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes is {_listed(np.unique(np.asarray(classes)).tolist())}; the model was begun with "
            f"{_listed(known.tolist())}. Leave it out, or fit anew."
        )
    rows = check_rows(estimator, X)
    found, codes = learn_labels(estimator, y, rows.shape)
    remedy = "A tree's classes are settled by its first block: fit anew, or begin with partial_fit(..., classes=...)."
    codes = _places(found, known, remedy)[codes]
    weight, _ = weights_and_factors(sample_weight, estimator.class_weight, known, codes)
    if len(weight) > 1 and weight.sum() < 1:
        warnings.warn(
            f"The weights of {len(weight)} rows sum to {weight.sum():.3g}: less than one row, so the model hardly "
            "changes. Weights count rows; later blocks' are not scaled.",
            UserWarning,
            stacklevel=4,
        )
    counts = weight > 0
    if counts.all():
        return Block(rows, codes, weight)
    return Block(rows[counts], codes[counts], weight[counts])


@dataclass(frozen=True)
class _Learned:
    """What a tree's conditions sum up of a block; as in :class:`FuzzyTree` and :class:`Profile`."""

    class_weight: Floats
    support: Floats
    profile: Profile


def _sums(estimator: Any, block: Block) -> _Learned:
    tree: FuzzyTree = estimator.tree_
    X = _known_categories(block.X, tree)
    low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    n_features, n_columns = len(estimator.columns_.categories), X.shape[1]
    refuse_extreme_scales(estimator.columns_, low[:n_features], high[:n_features])
    start, membership = np.zeros(tree.n_nodes + 1, dtype=np.int32), np.zeros(0)
    if tree.categories is not None:
        start, membership = tree.categories.start, tree.categories.membership
    conditions = {
        "parent": tree.parent,
        "feature": tree.feature,
        "trapezoid": tree.trapezoid,
        "share": tree.missing_membership,
        "category_start": start,
        "category": membership,
    }
    summing = Summing(
        conditions,
        tree.n_categories(n_columns),
        tree.n_classes,
        low,
        high,
        float(block.weight.max()),
        n_exemplars(estimator),
        np.full(tree.n_nodes, np.iinfo(np.uint64).max, dtype=np.uint64),
        _KEY_SEED,
        np.arange(n_columns, dtype=np.int32),
        {},
    )
    state = summing.start()
    summing.add(state, replace(block, X=X), n_threads(estimator.n_jobs))
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


def _merged(estimator: Any, learned: _Learned) -> FuzzyTree:
    """The estimator's tree after it has learned; a new one, so that nothing happens by halves."""
    tree: FuzzyTree = estimator.tree_
    assert tree.profile is not None  # or there were no drift to measure
    class_weight = tree.class_weight + learned.class_weight
    updated = replace(
        tree,
        class_weight=class_weight,
        consequent=consequents(class_weight, tree.parent, estimator.consequents, estimator.shrinkage),
        support=_merged_support(tree, learned.support),
        # What is missing goes where it went, as conditions stay; else the sums before would be of other firings.
        share=tree.missing_membership,
        profile=_merged_profile(tree, tree.profile, learned, n_exemplars(estimator)),
    )
    names = column_names(estimator)
    constraint = signs(estimator, names, tree.n_categories(len(names)), tree.n_classes)
    if constraint is None:
        return updated
    return replace(updated, consequent=constrain(updated, constraint))


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
    assert now.known_weight is not None  # the core always says
    old = (
        np.broadcast_to(tree.weight[:, None], before.mean.shape) if before.known_weight is None else before.known_weight
    )
    total = old + now.known_weight
    share = np.divide(now.known_weight, total, out=np.zeros_like(total), where=total > 0)
    step = now.mean - before.mean
    mean = before.mean + share * step
    variance = (1 - share) * before.variance + share * now.variance + share * (1 - share) * step**2
    # Of categories a profile knows the spread alone, not what it was made of: the unit of distance stays.
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
    place, n_before = first[inverse], len(before.exemplar_row)  # of equal rows, that of the first
    merged: list[list[int]] = []
    for node, (old, new) in enumerate(zip(before.exemplar, now.exemplar, strict=True)):
        own = place[np.concatenate([old[old >= 0], n_before + new[new >= 0]])]
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
