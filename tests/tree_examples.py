"""Trees built by hand, and what a tree answers without an estimator around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators import classifier
from ferl import Evidence, FuzzyTree
from ferl._estimator import FERLEstimator
from ferl._models.settings import TreeReading
from ferl._models.tree import Profile
from ferl._models.tree_model import TreeModel
from ferl._tables import Schema

Floats = NDArray[np.float64]


def tree_classifier(kind: str = "deep", **options: Any) -> FERLEstimator:
    """A classifier that has not been fitted, of any kind; trees unless the kind is another."""
    return classifier(kind, **options)


def bare_tree(**arrays: Any) -> FuzzyTree:
    """A tree of these arrays whose nodes keep no training rows; missing values go where the weight went."""
    parent, weight = arrays["parent"], arrays["class_weight"].sum(axis=1)
    n_nodes, n_columns = len(parent), max(int(arrays["feature"].max()) + 1, 1)
    share = np.where(parent < 0, 1.0, np.minimum(weight / weight[np.maximum(parent, 0)], 1.0))
    moments = np.zeros((n_nodes, n_columns)), np.ones((n_nodes, n_columns))
    profile = Profile(*moments, np.zeros((n_nodes, 0), dtype=np.int32), np.zeros((0, n_columns)))
    return FuzzyTree(**({"gain": np.zeros(n_nodes), "share": share, "profile": profile} | arrays))


def model_of_tree(tree: FuzzyTree, **reading: Any) -> TreeModel:
    """A model of a tree whose classes are 0, 1, ..."""
    return TreeModel(
        variant="compact" if tree.word else "deep",
        tree=tree,
        reading=TreeReading(**reading),
        classes=np.arange(tree.n_classes),
        schema=Schema(None, (None,) * tree.profile.mean.shape[1]),
        derived=(),
        words=None,
        n_growth_rows=0,
    )


def judge(tree: FuzzyTree, rows: Any, **reading: Any) -> Evidence:
    """Evidence that a tree gives to rows, read in this way."""
    return model_of_tree(tree, **reading).evidence(np.atleast_2d(np.asarray(rows, dtype=float)))
