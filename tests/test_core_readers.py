"""The classes of the core that are made once and kept: Sources and Exemplars, and the sides and gates of a Tree."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from core_stages import stages
from ferl import FERLClassifier, FuzzyTree, _core
from tree_examples import tree_classifier

COMBINATIONS = ("dempster", "cautious", "chain", "vote")


def table(n_rows: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Numbers, categories and missing values, with the class depending on all of them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    X[:, 3] = random.integers(0, 5, n_rows)
    y = (X[:, 0] + (X[:, 3] > 2) + 0.3 * random.normal(size=n_rows) > 0.5).astype(int) + (X[:, 1] > 1)
    X[:, :3][random.random((n_rows, 3)) < 0.1] = np.nan
    return X, y


def unlike_training(n_rows: int = 300) -> Any:
    """Rows beyond the gates, of unseen categories, and with missing values everywhere."""
    X, _ = table(n_rows, seed=1)
    X[::3, :3] *= 3
    X[::5, 3] = 5.0
    X[::7, 3] = np.nan
    return X


@pytest.fixture(scope="module", params=["deep", "medium", "compact", "one node"])
def fitted(request: pytest.FixtureRequest) -> FERLClassifier:
    X, y = table()
    preset = "deep" if request.param == "one node" else request.param
    found = tree_classifier(preset, categorical_features=[3], random_state=0).fit(
        X, np.zeros(len(y)) if request.param == "one node" else y
    )
    assert (found.tree_.n_nodes == 1) == (request.param == "one node")
    return found


def outputs(n_rows: int, n_classes: int) -> tuple[Any, Any, Any]:
    return np.empty((n_rows, n_classes)), np.empty(n_rows), np.empty(n_rows)


def exemplars_of(tree: FuzzyTree, core: _core.Tree) -> tuple[Any, ...]:
    """What Exemplars takes after the tree, without the groups."""
    n_features = tree.profile.mean.shape[1]
    return (
        tree.profile.exemplar_row,
        tree.profile.exemplar,
        tree.profile.mean[0].copy(),
        (1 / tree.unit_of_distance),
        tree.n_categories(n_features),
    )


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_flags_rows_and_threads_change_no_bit_of_what_sources_say(fitted, combination):
    tree, X = fitted.tree_, unlike_training()
    given = tree.compiled(fitted.gate_margin), tree.consequent, np.full(tree.n_nodes, 0.9)
    expected = outputs(len(X), tree.n_classes)
    _core.Sources(*given, tree.is_leaf, combination, True).combine(X, 1, *expected)
    sources = _core.Sources(*given, tree.is_leaf.astype(np.uint8), combination, True)
    found, one = outputs(len(X), tree.n_classes), outputs(1, tree.n_classes)
    sources.combine(X, 2, *found)
    sources.combine(X[7:8], 1, *one)
    for whole, again, alone in zip(expected, found, one, strict=True):
        np.testing.assert_array_equal(again, whole)
        np.testing.assert_array_equal(alone[0], whole[7])


def test_distances_of_all_features_add_up_and_do_not_depend_on_the_other_rows(fitted):
    tree, X = fitted.tree_, unlike_training()
    total, parts, one = np.empty((len(X), 1)), np.empty(X.shape), np.empty((1, 1))
    tree.exemplars.distance(X, 1, total)
    tree.exemplars.distance(X, 2, parts)
    tree.exemplars.distance(X[7:8], 1, one)
    np.testing.assert_allclose(parts.sum(axis=1), total[:, 0], rtol=1e-13)
    assert one[0, 0] == total[7, 0]


def test_a_node_of_no_group_is_not_searched(fitted):
    tree, X = fitted.tree_, unlike_training(20)
    core = tree.core
    row, exemplar, *scale = exemplars_of(tree, core)
    out = np.zeros((len(X), 1))
    _core.Exemplars(core, row, exemplar, np.full(tree.n_nodes, -1, dtype=np.int32), *scale).distance(X, 1, out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("gated", [False, True])
def test_a_firing_is_that_above_it_times_what_sides_and_gates_give(fitted, gated):
    tree, X = fitted.tree_, unlike_training()
    core, firing = tree.compiled(fitted.gate_margin), tree.fire(X, gated=gated, gate_margin=fitted.gate_margin)
    nodes = np.flatnonzero((tree.feature != 3) & (tree.feature >= 0))  # that ask for numbers
    x = X[:, tree.feature[nodes]]
    rise, fall, ends = (values[nodes].T for values in (core.rise, core.fall, core.gate))
    with np.errstate(invalid="ignore"):
        up, down = rise[2] + (x - rise[0]) * rise[1], fall[2] + (fall[0] - x) * fall[1]
        opened = np.clip(1 - np.maximum(ends[0] - x, x - ends[1]) * ends[2], 0, 1) if gated else 1.0
    product = firing[:, tree.parent[nodes]] * np.minimum(np.clip(up, 0, 1), np.clip(down, 0, 1)) * opened
    known = ~np.isnan(x)
    np.testing.assert_array_equal(product[known], firing[:, nodes][known])
    np.testing.assert_array_equal(core.rise[0], [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(core.fall[0], [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(core.gate[0], [0.0, 0.0, 0.0])


def small_tree(ends: list[list[float]], support: list[list[float]]) -> _core.Tree:
    """Words on one feature, side by side below the root."""
    n = len(ends) + 1
    return _core.Tree(
        np.array([-1] + [0] * (n - 1), dtype=np.int32),
        np.array([-1] + [0] * (n - 1), dtype=np.int32),
        np.array([[-np.inf, -np.inf, np.inf, np.inf], *ends]),
        np.full(n, 0.5),
        np.zeros(n + 1, dtype=np.int32),
        np.zeros(0),
        np.array([[-np.inf, np.inf], *support]),
        0.5,
    )


def test_sides_of_upright_ends_shoulders_and_closed_gates():
    inf = np.inf
    core = small_tree([[1, 1, 2, 4], [-inf, -inf, 3, 3]], [[0, 10], [inf, -inf]])
    np.testing.assert_array_equal(core.rise, [[0, 0, 1], [np.nextafter(1, -inf), inf, 0], [0, 0, 1]])
    np.testing.assert_array_equal(core.fall, [[0, 0, 1], [4, 0.5, 0], [np.nextafter(3, inf), inf, 0]])
    np.testing.assert_array_equal(core.gate, [[0, 0, 0], [0, 10, 0.2], [inf, -inf, 0]])
    x, firing = np.array([[1.0], [3.0], [np.nextafter(1, -inf)]]), np.zeros((3, 3))
    core.fire(x, False, 1, firing)
    np.testing.assert_array_equal(firing[:, 1:], [[1, 1], [0.5, 1], [0, 1]])
    firing[:] = 0
    core.fire(x, True, 1, firing)
    np.testing.assert_array_equal(firing[:, 1:], [[1, 0], [0.5, 0], [0, 0]])


def test_a_gate_without_a_range_is_closed_in_every_box():
    core = small_tree([[-np.inf, -np.inf, 3, 4]], [[np.inf, -np.inf]])
    low, high = np.zeros((1, 2)), np.zeros((1, 2))
    stages().bound_firings(core, np.array([[1.0]]), 0.5, np.ones(1), True, 1, low, high)
    assert high[0].tolist() == [1.0, 0.0]


def test_two_sides_of_one_ramp_are_a_split_and_other_words_are_none():
    inf = np.inf
    seen = [[0.0, 10.0]] * 2
    assert small_tree([[-inf, -inf, 1, 3], [1, 3, inf, inf]], seen).is_split.tolist() == [True, False, False]
    assert small_tree([[-inf, -inf, 1, 3], [2, 3, inf, inf]], seen).is_split.tolist() == [False, False, False]


def test_arrays_of_a_tree_are_fresh():
    core = small_tree([[1, 1, 2, 4]], [[0, 10]])
    core.rise[:] = 7.0
    core.is_split[:] = True
    assert core.rise[1, 2] == 0
    assert not core.is_split.any()


def test_readers_outlive_the_name_of_their_tree(fitted):
    tree, X = fitted.tree_, unlike_training(50)
    core = tree.compiled(fitted.gate_margin)
    row, exemplar, *scale = (values.copy() for values in exemplars_of(tree, core))
    consequent, believed, is_source = tree.consequent.copy(), np.full(tree.n_nodes, 0.9), tree.is_leaf.copy()
    group = tree.exemplar_group
    sources = _core.Sources(core, consequent, believed, is_source, "dempster", True)
    exemplars = _core.Exemplars(core, row, exemplar, group, *scale)
    before, distance = outputs(len(X), tree.n_classes), np.empty((len(X), 1))
    sources.combine(X, 1, *before)
    exemplars.distance(X, 1, distance)
    for values in (consequent, believed, row, *scale[:2]):
        values[:] = np.nan  # what was given is copied
    exemplar[:], group[:], is_source[:] = -1, -1, False
    del core, consequent, believed, row, exemplar, scale, group, is_source
    gc.collect()
    after, again = outputs(len(X), tree.n_classes), np.empty((len(X), 1))
    sources.combine(X, 1, *after)
    exemplars.distance(X, 1, again)
    for old, new in zip((*before, distance), (*after, again), strict=True):
        np.testing.assert_array_equal(old, new)


def test_wrong_sources_are_refused(fitted):
    tree = fitted.tree_
    core, n = tree.core, tree.n_nodes
    good = {
        "consequent": tree.consequent,
        "reliability": np.ones(n),
        "is_source": tree.is_leaf,
        "combination": "dempster",
        "gated": True,
    }
    _core.Sources(core, **good)
    for name, value, message in [
        ("consequent", tree.consequent[:-1], "one row per node"),
        ("consequent", np.full((n, 2), np.nan), "finite and not negative"),
        ("consequent", np.zeros((n, 0)), "one column per class"),
        ("reliability", np.ones(n + 1), "one row per node"),
        ("reliability", np.full(n, 1.5), "between 0 and 1"),
        ("is_source", np.ones(n + 1, dtype=bool), "one row per node"),
        ("is_source", np.full(n, 0.5), "bool or uint8"),
        ("combination", "average", "dempster, cautious, chain or vote"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Sources(core, **(good | {name: value}))


def test_wrong_rows_and_outputs_are_refused(fitted):
    tree, X = fitted.tree_, unlike_training(5)
    core = tree.core
    sources = _core.Sources(core, tree.consequent, np.ones(tree.n_nodes), tree.is_leaf, "cautious", True)
    belief, ignorance, conflict = outputs(5, tree.n_classes)
    with pytest.raises(ValueError, match="one row per row of X"):
        sources.combine(X[:4], 1, belief, ignorance, conflict)
    with pytest.raises(TypeError):  # a copy would swallow the result
        sources.combine(X, 1, belief.astype(np.float32), ignorance, conflict)
    with pytest.raises(ValueError, match="Only dempster and vote"):
        sources.certified_radius(X, np.zeros(5, dtype=np.int32), np.ones(4), 1, ignorance)
    with pytest.raises(ValueError, match="Every label"):
        sources.certified_radius(X, np.full(5, tree.n_classes, dtype=np.int32), np.ones(4), 1, ignorance)
    at, proven, no_columns = np.empty((1, 2)), np.empty((1, 2)), np.zeros(0, dtype=np.int32)
    with pytest.raises(ValueError, match="one row"):
        sources.nearest_flips(X, 0, no_columns, np.zeros(0), at, proven)
    with pytest.raises(ValueError, match="label must be"):
        sources.nearest_flips(X[:1], tree.n_classes, no_columns, np.zeros(0), at, proven)
    with pytest.raises(ValueError, match="holds a finite number"):
        sources.nearest_flips(X[:1], 0, np.array([4], dtype=np.int32), np.zeros(1), at, proven)
    with pytest.raises(ValueError, match="at and proven"):
        sources.nearest_flips(X[:1], 0, no_columns, np.zeros(0), at, proven)
    if tree.n_nodes > 1:
        with pytest.raises(ValueError, match="fewer columns"):
            sources.combine(X[:, :0], 1, belief, ignorance, conflict)


def test_wrong_exemplars_are_refused(fitted):
    tree, X = fitted.tree_, unlike_training(5)
    core, n = tree.core, tree.n_nodes
    row, exemplar, centre, per_unit, n_categories = exemplars_of(tree, core)
    good = [row, exemplar, tree.exemplar_group, centre, per_unit, n_categories]
    exemplars = _core.Exemplars(core, *good)
    for index, value, message in [
        (1, exemplar[:-1], "those of the tree"),
        (1, np.full_like(exemplar, len(row)), "row of exemplar_row"),
        (2, np.full(n, n, dtype=np.int32), "Every group"),
        (2, np.zeros(n + 1, dtype=np.int32), "those of the tree"),
        (3, centre[:-1].copy(), "those of the tree"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Exemplars(core, *good[:index], value, *good[index + 1 :])
    with pytest.raises(ValueError, match="columns of the exemplars"):
        exemplars.distance(X[:, :3], 1, np.empty((5, 1)))
    with pytest.raises(ValueError, match="one column or one for each feature"):
        exemplars.distance(X, 1, np.empty((5, 2)))
    with pytest.raises(ValueError, match="one row per row of X"):
        exemplars.distance(X, 1, np.empty((4, 1)))


def class_weight_of_root(weight: Any) -> Any:
    """What a tree of one node sums the weights of its rows to, a class for each row."""
    n = len(weight)
    moments = _core.Moments(
        np.array([-1], dtype=np.int32),
        np.array([-1], dtype=np.int32),
        np.array([[-np.inf, -np.inf, np.inf, np.inf]]),
        np.ones(1),
        np.zeros(2, dtype=np.int32),
        np.zeros(0),
        np.zeros(1, dtype=np.int32),
        n,
        np.zeros(1),
        np.ones(1),
        float(max(weight)),
        0,
        np.full(1, 2**64 - 1, dtype=np.uint64),
        0,
        np.zeros(1, dtype=np.int32),
    )
    moments.add(np.zeros((n, 1)), np.arange(n, dtype=np.int32), np.asarray(weight, dtype=float), 1, None)
    return moments.finish()["class_weight"][0]


@pytest.mark.parametrize("largest", [1.0, 1.5, np.nextafter(2, 0), 3e7])
def test_weights_within_the_span_count_and_beyond_it_may_vanish(largest):
    assert class_weight_of_root([largest, largest / _core.WEIGHT_SPAN])[1] > 0
    assert class_weight_of_root([1.0, 0.99 / _core.WEIGHT_SPAN])[1] == 0


def test_constants_are_those_of_the_core():
    assert (_core.UNSEEN_GATE, _core.FAR_AWAY, _core.EXEMPLAR_FIRING) == (0.5, 1e15, 0.05)
    assert (_core.MOST_FIRING, _core.LEAST_MASS, _core.MASS_SCALE) == (1 - 1e-12, 2.0**-400, 2.0**400)
    assert _core.WEIGHT_SPAN == 2.0**45
