"""partial_fit: a grown tree goes on with the sums of its rows."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from estimators import classifier
from ferl import CertifiedCache, FERLTreeClassifier, ModelFileError, load_model, save_model
from ferl._learn.consequents import consequents
from ferl._models.tree import FuzzyTree, Profile
from law_examples import LAW, Table, assert_identical, exemplars_of, profile_of, tables
from tree_examples import tree_classifier
from update_examples import with_gaps, world

Floats = NDArray[np.float64]
LAWS = settings(LAW, max_examples=25)
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def halves(table: Table, seed: int) -> tuple[Any, ...]:
    """Two blocks that both have all labels of the table, or as many as there are rows for."""
    X, y = table
    order = np.random.default_rng(seed).permutation(len(y))
    cut = len(y) // 2
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def direct_sums(tree: FuzzyTree, X: Floats, codes: NDArray[Any], weight: Floats) -> Floats:
    return np.asarray(tree.fire(X, gated=False).T @ (np.eye(tree.n_classes)[codes] * weight[:, None]))


def direct_moments(tree: FuzzyTree, X: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and variance of what is known, by the definition."""
    firing, known = tree.fire(X, gated=False) * weight[:, None], ~np.isnan(X)
    total = firing.T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = firing.T @ np.where(known, X, 0.0) / total
        away = np.where(known[:, None, :], (X[:, None, :] - mean) ** 2, 0.0)
        return total, mean, np.einsum("io,ioj->oj", firing, away) / total


# ---------------------------------------------------------------------------------------------------------------------
# What goes on, and what stays
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["deep", "compact"])
@LAWS
@given(table=tables(), seed=st.integers(0, 1000), gaps=st.booleans())
def test_sums_are_those_of_all_rows(variant: str, table: Table, seed: int, gaps: bool) -> None:
    A, a, B, b = halves(table, seed)
    classes, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    X = with_gaps(np.vstack([A, B]), seed) if gaps else np.vstack([A, B])
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    model = tree_classifier(variant, max_rules=12, random_state=0)
    model.partial_fit(X[: len(A)], a, classes, weight[: len(A)])
    model.partial_fit(X[len(A) :], b, sample_weight=weight[len(A) :])
    tree, profile = model.tree_, profile_of(model)
    np.testing.assert_allclose(tree.class_weight, direct_sums(tree, X, codes, weight), **CLOSE)
    np.testing.assert_array_equal(tree.consequent, consequents(tree.class_weight, tree.parent))
    known, mean, variance = direct_moments(tree, X, weight)
    scale = np.nanmax(np.abs(X), axis=0, initial=0.0)
    reached = known > 1e-6
    if profile.known_weight is not None:
        np.testing.assert_allclose(profile.known_weight, known, **CLOSE)
    off = np.where(reached, (profile.mean - mean) / np.where(scale > 0, scale, 1.0), 0.0)
    spread_off = np.where(reached, (profile.variance - variance) / np.where(scale > 0, scale, 1.0) ** 2, 0.0)
    assert np.abs(off).max() < 1e-9
    assert np.abs(spread_off).max() < 1e-9


@LAWS
@given(table=tables(), seed=st.integers(0, 1000))
def test_conditions_stay_and_gates_only_widen(table: Table, seed: int) -> None:
    A, a, B, b = halves(table, seed)
    model = FERLTreeClassifier("deep", max_rules=12, random_state=0).partial_fit(
        with_gaps(A, seed), a, np.unique(table[1])
    )
    old = model.tree_
    tree = model.partial_fit(3 * B, b).tree_
    for name in ("parent", "feature", "trapezoid", "share", "gain"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(old, name), err_msg=name)
    assert (tree.support[:, 0] <= old.support[:, 0]).all()
    assert (tree.support[:, 1] >= old.support[:, 1]).all()
    firing = tree.fire(3 * B, gated=False)
    for node in range(1, tree.n_nodes):
        reach = firing[:, tree.parent[node]] > 1e-6
        own = 3 * B[reach, tree.feature[node]]
        assert ((own >= tree.support[node, 0]) & (own <= tree.support[node, 1])).all()


@LAWS
@given(table=tables(), seed=st.integers(0, 1000))
def test_the_order_of_blocks_does_not_matter(table: Table, seed: int) -> None:
    A, a, B, b = halves(table, seed)
    first = FERLTreeClassifier("deep", max_rules=12, random_state=0).partial_fit(A, a, np.unique(table[1]))
    other = pickle.loads(pickle.dumps(first))
    blocks = [(with_gaps(B[k::3], seed), b[k::3]) for k in range(3)]
    for X, y in blocks:
        first.partial_fit(X, y)
    for X, y in reversed(blocks):
        other.partial_fit(X, y)
    one, two = first.tree_, other.tree_
    for name in ("class_weight", "consequent", "share"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), **CLOSE, err_msg=name)
    np.testing.assert_array_equal(one.support, two.support)
    scale = np.abs(table[0]).max(axis=0)
    p, q = profile_of(first), profile_of(other)
    np.testing.assert_allclose(p.mean / scale, q.mean / scale, **CLOSE)
    np.testing.assert_allclose(p.variance / scale**2, q.variance / scale**2, **CLOSE)


@LAWS
@given(table=tables(), seed=st.integers(0, 1000))
def test_the_order_of_rows_and_rows_of_no_weight_do_not_matter(table: Table, seed: int) -> None:
    A, a, B, b = halves(table, seed)
    first = FERLTreeClassifier("deep", max_rules=12, random_state=0).partial_fit(A, a, np.unique(table[1]))
    other = pickle.loads(pickle.dumps(first))
    order = np.random.default_rng(seed).permutation(len(B))
    first.partial_fit(B, b)
    # Weight 0 for rows unlike any, some of them beyond all ranges.
    weight = np.concatenate([np.zeros(len(A)), np.ones(len(B))])
    other.partial_fit(np.vstack([100 * A, B[order]]), np.concatenate([a, b[order]]), sample_weight=weight)
    assert_identical(first.tree_, other.tree_)
    assert first.drift_.n_rows == other.drift_.n_rows == len(B)
    assert first.drift_.to_dict().keys() == other.drift_.to_dict().keys()
    for name, value in first.drift_.to_dict().items():
        if isinstance(value, float):
            np.testing.assert_allclose(other.drift_.to_dict()[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    rng = np.random.default_rng(0)
    first = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 300))
    other = pickle.loads(pickle.dumps(first))
    X, y = world(rng, 200)
    X = with_gaps(X, 0)
    twice = rng.random(200) < 0.5
    first.partial_fit(X, y, sample_weight=1.0 + twice)
    other.partial_fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    assert_identical(first.tree_, other.tree_)


def test_a_first_block_is_a_fit() -> None:
    X, y = world(np.random.default_rng(0), 300)
    weight = np.linspace(0.1, 1, 300)
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, y, weight)
    begun = FERLTreeClassifier("deep", random_state=0).partial_fit(X, y, sample_weight=weight)
    assert_identical(fitted.tree_, begun.tree_)
    assert begun.drift_ is None
    assert not hasattr(begun.fit(X, y), "drift_")


def test_a_tree_that_was_fitted_goes_on() -> None:
    rng = np.random.default_rng(0)
    fitted = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 300))
    before = fitted.tree_.weight[0]
    fitted.partial_fit(*world(rng, 200))
    assert fitted.tree_.weight[0] == pytest.approx(before + 200)
    assert fitted.drift_.n_rows == 200


@pytest.mark.parametrize("options", [{}, {"kind": "compact"}, {"missing_conditions": True}])
def test_categories_gaps_and_new_categories_go_where_they_go_in_answers(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)

    def people(n: int, cities: list[str]) -> tuple[pd.DataFrame, NDArray[Any]]:
        x, city = rng.normal(size=n), rng.choice(cities, n)
        y = np.where(x + 2 * (city == "Rome") + rng.normal(scale=0.5, size=n) > 0.5, "yes", "no")
        gap = rng.random((2, n)) < 0.15
        return pd.DataFrame({"x": np.where(gap[0], np.nan, x), "city": np.where(gap[1], None, city)}), y

    A, B = people(400, ["Oslo", "Rome", "Bergen"]), people(300, ["Oslo", "Rome", "Atlantis"])
    model = classifier(**{"kind": "deep", "random_state": 0} | options).partial_fit(*A)
    old = profile_of(model)
    with_unseen = model.support_deficit(B[0])[(B[0]["city"] == "Atlantis").to_numpy()]
    model.partial_fit(*B)
    tree, profile = model.tree_, profile_of(model)
    rows = np.vstack([model.columns_.encode(A[0]), model.columns_.encode(B[0])])
    if options.get("missing_conditions"):
        rows = np.hstack([rows, np.isnan(rows).astype(float)])
    codes = np.searchsorted(model.classes_, np.concatenate([A[1], B[1]]))
    np.testing.assert_allclose(tree.class_weight, direct_sums(tree, rows, codes, np.ones(700)), **CLOSE)
    np.testing.assert_array_equal(profile.variance[:, 1], old.variance[:, 1])  # the unit between categories
    assert np.nanmax(profile.exemplar_row[:, 1]) <= 2  # a new category is not kept
    if (tree.feature == 1).any():
        assert with_unseen.max() > 0
        assert model.drift_.support > 0
    assert np.isfinite(model.predict_proba(B[0])).all()
    assert np.isfinite(model.novelty(B[0])).all()


def test_a_saved_model_goes_on_as_the_one_in_memory(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 300)
    model = FERLTreeClassifier("deep", random_state=0).fit(with_gaps(X, 0), y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    block = world(rng, 200)
    assert_identical(model.partial_fit(*block).tree_, loaded.partial_fit(*block).tree_)
    assert profile_of(model).known_weight is not None
    save_model(model, tmp_path / "model.json")
    assert_identical(load_model(tmp_path / "model.json").tree_, model.tree_)


def test_a_file_with_impossible_known_weights_is_refused(tmp_path: Any) -> None:
    X, y = world(np.random.default_rng(0), 100)
    save_model(FERLTreeClassifier("deep", random_state=0).fit(with_gaps(X, 0), y), tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text())
    form["tree"]["profile"]["known_weight"][0][0] = -1.0
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match="known_weight"):
        load_model(tmp_path / "model.json")


def test_a_cache_of_certified_answers_notices() -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 300))
    cache = CertifiedCache(model)
    X, y = world(rng, 50)
    cache.predict(X)
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="fitted again"):
        cache.predict(X)


def test_a_monotone_constraint_still_holds() -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier(
        "medium", monotonic_cst=[1, 0, 0, 0, 0], combination="vote", support_gate=False, random_state=0
    ).fit(*world(rng, 400))
    model.partial_fit(*world(rng, 400, flipped=0.8))
    rows = np.repeat(rng.normal(size=(40, 5)), 60, axis=0)
    rows[:, 0] = np.tile(np.linspace(-4, 4, 60), 40)
    vote = model.predict_proba(rows)[:, 1].reshape(40, 60)
    assert np.diff(vote, axis=1).min() > -1e-12


# ---------------------------------------------------------------------------------------------------------------------
# Exemplars
# ---------------------------------------------------------------------------------------------------------------------


def test_exemplars_come_from_both_blocks_in_proportion_and_reach_their_nodes() -> None:
    rng = np.random.default_rng(0)
    A, a = world(rng, 1000)
    B, b = world(rng, 3000)
    model = FERLTreeClassifier("medium", n_exemplars=40, random_state=0).fit(A, a).partial_fit(B, b)
    profile, tree = profile_of(model), model.tree_
    new = {row.tobytes() for row in B}
    share = [np.mean([row.tobytes() in new for row in exemplars_of(profile, node)]) for node in (0, 1)]
    assert share == pytest.approx([0.75, 0.75], abs=0.08)
    assert profile.exemplar.shape[1] == 40
    firing = tree.fire(profile.exemplar_row, gated=False)
    for node in range(tree.n_nodes):
        own = profile.exemplar[node][profile.exemplar[node] >= 0]
        assert len(set(own)) == len(own)
        assert (firing[own, node] > 0.05).all()
    of_leaves = profile.exemplar_row[np.unique(profile.exemplar[tree.leaves])[1:]]
    assert model.novelty(of_leaves, measure="neighbour").max() == 0
    used = np.unique(profile.exemplar[profile.exemplar >= 0])
    assert len(used) == len(profile.exemplar_row)


def test_a_model_without_exemplars_keeps_none() -> None:
    rng = np.random.default_rng(0)
    model = (
        FERLTreeClassifier("deep", n_exemplars=0, random_state=0).fit(*world(rng, 200)).partial_fit(*world(rng, 200))
    )
    assert len(profile_of(model).exemplar_row) == 0
    assert np.isfinite(model.novelty(world(rng, 5)[0])).all()


# ---------------------------------------------------------------------------------------------------------------------
# Labels, and what is refused
# ---------------------------------------------------------------------------------------------------------------------


def test_labels_to_come_have_no_weight_until_they_come() -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 300)
    names = np.array(["a", "b"])
    model = FERLTreeClassifier("deep", random_state=0).partial_fit(X, names[y], classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.tree_.class_weight[:, 2] == 0).all()
    assert model.predict_evidence(X).belief[:, 2].max() == 0
    before = model.predict_proba(X[:50])[:, 2]
    model.partial_fit(X[:50], ["c"] * 50, classes=["a", "b", "c"])
    assert model.drift_.class_shift["c"] == 1
    assert model.drift_.z > 3
    after = model.predict_proba(X[:50])[:, 2]
    assert (after > before).all()


def test_answers_move_towards_new_labels() -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 500)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    B, _ = world(rng, 200)
    before = model.predict_proba(B)[:, 1]
    for _ in range(3):
        after = model.partial_fit(B, np.ones(200, dtype=int)).predict_proba(B)[:, 1]
        assert after.mean() > before.mean()
        before = after


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(20, 7)}, r"y holds 7, which is not among the classes 0, 1.*fit anew"),
        ({"classes": [0, 1, 2]}, r"classes is 0, 1, 2; the model was begun with 0, 1"),
        ({"X": np.zeros((20, 4))}, "4 features"),
        ({"X": np.zeros((0, 5)), "y": []}, "0 sample"),
        ({"X": np.full((20, 5), np.inf)}, "infinity"),
        ({"X": np.full((20, 5), 1e200)}, "magnitude"),
        ({"sample_weight": np.zeros(20)}, "All sample weights are zero"),
        ({"y": np.zeros(19, dtype=int)}, "inconsistent numbers of samples"),
        ({"y": np.linspace(0, 1, 20)}, "continuous"),
    ],
)
def test_what_is_refused_leaves_the_model_as_it_was(change: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 100)).partial_fit(*world(rng, 100))
    X, y = world(rng, 20)
    state = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(**({"X": X, "y": y} | change))
    assert pickle.dumps(model) == state


def test_settings_are_checked_before_anything_changes() -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 100))
    tree = model.tree_
    with pytest.raises(ValueError, match="consequents"):
        model.set_params(consequents="boiled").partial_fit(*world(rng, 20))
    with pytest.raises(ValueError, match='"balanced" needs all labels'):
        model.set_params(consequents="raw", class_weight="balanced").partial_fit(*world(rng, 20))
    assert model.tree_ is tree
    model.set_params(class_weight={0: 2.0}).partial_fit(X := world(rng, 20)[0], np.zeros(20, dtype=int))
    assert model.tree_.class_weight[0, 0] == pytest.approx(tree.class_weight[0, 0] + 2 * len(X))


def test_the_first_block_must_be_of_the_classes_named() -> None:
    X, y = world(np.random.default_rng(0), 50)
    model = FERLTreeClassifier("deep")
    with pytest.raises(
        ValueError, match=r"y holds 0, which is not among the classes 1, 2\. Name all labels in classes"
    ):
        model.partial_fit(X, y, classes=[1, 2])
    assert not hasattr(model, "tree_")


def test_weights_of_less_than_a_row_are_taken_but_said() -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier("deep", random_state=0).fit(*world(rng, 100))
    with pytest.warns(UserWarning, match="The weights of 50 rows sum to 0.5") as said:
        model.partial_fit(*world(rng, 50), sample_weight=np.full(50, 0.01))
    assert model.tree_.weight[0] == pytest.approx(100.5)
    assert said[0].filename == __file__


def test_known_weight_is_left_out_where_nothing_is_missing() -> None:
    known = np.array([[5.0, 5.0], [2.0, 2.0]])
    assert Profile.partly_known(known, np.array([5.0, 2.0])) is None
    assert Profile.partly_known(known, np.array([5.0, 2.5])) is known
