"""Random tables and the trees grown on them, for the property tests of the method."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ferl import FERLClassifier, FuzzyTree
from ferl._models.tree import Categories, Cuts, Profile
from tree_examples import tree_classifier

Floats = NDArray[np.float64]
Table = tuple[Floats, NDArray[np.int64]]

# The same examples in every run, and no time limit: a busy machine is not a broken law.
LAW = settings(deadline=None, database=None)  # as many examples as the profile says: 100, nightly 1000

RULES = ["dempster", "cautious", "chain", "vote"]
COMBINATIONS = pytest.mark.parametrize("combination", RULES)
SOURCES = pytest.mark.parametrize("sources", ["leaves", "all"])


# ---------------------------------------------------------------------------------------------------------------------
# Tables and the trees grown on them
# ---------------------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table whose classes some features explain; with or without ties and equal rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from([150, 90, 40])), draw(st.integers(1, 6))
    n_classes = draw(st.sampled_from([2, 3, 6, 1]))
    X = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e4], d)
    score = np.abs(X[:, 0] / X[:, 0].std()) + rng.normal(size=n) * draw(st.sampled_from([0.1, 1.0]))
    y = np.argsort(np.argsort(score)) * n_classes // n
    if draw(st.booleans()):  # ties and equal rows
        X = np.round(X / X.std(axis=0))
    return X, y


def fit(table: Table, weight: Floats | None = None, **options: Any) -> FERLClassifier:
    return tree_classifier(random_state=0, **({"max_rules": 15} | options)).fit(*table, weight)


def rows_near(X: Floats, seed: int, n: int = 60) -> Floats:
    """Training rows and rows between, beside, outside and far away from them."""
    rng = np.random.default_rng(seed)
    step = rng.choice([0.0, 0.1, 1.0, 3.0, 1e9], size=(n, 1), p=[0.2, 0.4, 0.2, 0.15, 0.05])
    return np.asarray(X[rng.integers(len(X), size=n)] + step * np.ptp(X, axis=0) * rng.normal(size=(n, X.shape[1])))


def assert_identical(one: FuzzyTree, other: FuzzyTree) -> None:
    for field in fields(FuzzyTree):
        assert _bits(getattr(one, field.name)) == _bits(getattr(other, field.name)), field.name


def _bits(value: Any) -> Any:
    if isinstance(value, Profile | Cuts | Categories):
        return [(field.name, _bits(getattr(value, field.name))) for field in fields(value)]
    return value.tobytes() if isinstance(value, np.ndarray) else value


def profile_of(model: FERLClassifier) -> Profile:
    assert model.tree_.profile is not None
    return model.tree_.profile


def exemplars_of(profile: Profile, node: int) -> Floats:
    places = profile.exemplar[node]
    assert (np.diff((places < 0).astype(int)) >= 0).all(), "what is missing comes last"
    return profile.exemplar_row[places[places >= 0]]


def same_nodes(tree: FuzzyTree, pruned: FuzzyTree) -> list[int]:
    """For each node of a pruned tree the node of the whole one that has the same path."""

    def path(of: FuzzyTree, node: int) -> tuple[Any, ...]:
        return tuple((int(of.feature[o]), *of.trapezoid[o].tolist()) for o in of.path(node))

    number = {path(tree, node): node for node in range(tree.n_nodes)}
    return [number[path(pruned, node)] for node in range(pruned.n_nodes)]


def impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight; classes on the last axis."""
    weight = class_weight.sum(axis=-1)
    return np.asarray(weight - (class_weight**2).sum(axis=-1) / weight)
