"""Laws of novelty, each the name of a test; parameters, errors and odd tables."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

import oracle
from ferl import FERLClassifier, FERLTreeClassifier, FuzzyTree
from ferl._learn.grow_trees import prune, pruning_path
from ferl._models.novelty import residual_parts
from ferl.words import FuzzySet, LinguisticVariable
from law_examples import (
    LAW,
    Floats,
    Table,
    assert_identical,
    exemplars_of,
    fit,
    profile_of,
    rows_near,
    same_nodes,
    tables,
)
from tree_examples import model_of_tree, tree_classifier

SOME = settings(LAW, max_examples=30)
VARIANTS = ["deep", "medium", "compact"]
MEASURES = ["neighbour", "residual"]
variants, measures = st.sampled_from(VARIANTS), st.sampled_from(MEASURES)
seeds = st.integers(0, 2**32 - 1)


# ---------------------------------------------------------------------------------------------------------------------
# Attribution
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), seeds, st.sampled_from([*VARIANTS, "rules"]), measures)
def test_attribution_is_not_negative_and_sums_to_novelty(table: Table, seed: int, variant: str, measure: str) -> None:
    model = fit(table, kind=variant)
    X = rows_near(table[0], seed)
    novelty, parts = model.novelty(X, measure=measure), model.novelty_attribution(X, measure=measure)
    assert np.isfinite(parts).all()
    assert (parts >= 0).all()
    assert parts.shape == X.shape
    np.testing.assert_allclose(parts.sum(axis=1), novelty, rtol=1e-9, atol=0)


@LAW
@given(tables(), variants, st.sampled_from([1, 7, None]))
def test_an_exemplar_of_a_rule_has_novelty_zero(table: Table, variant: str, n: int | None) -> None:
    model = fit(table, kind=variant, n_exemplars=n)
    profile = profile_of(model)
    rows = np.vstack([exemplars_of(profile, int(leaf)) for leaf in model.tree_.leaves])
    assert len(rows) >= model.n_rules_
    in_units = (profile.exemplar_row - profile.mean[0]) / model.tree_.unit_of_distance
    distinct = len(np.unique(in_units.astype(np.float32), axis=0)) == len(np.unique(profile.exemplar_row, axis=0))
    if distinct:
        assert (model.novelty(rows) == 0).all()
        assert (model.novelty_attribution(rows) == 0).all()
    # Rows that single precision cannot tell apart are taken for one another.
    assert (model.novelty(rows) <= 1e-6 * max(1.0, np.abs(in_units).max())).all()


@LAW
@given(tables(), seeds, st.sampled_from(["deep", "medium"]), st.floats(0.05, 5.0))
def test_support_deficits_sum_to_what_the_leaves_do_not_fire(
    table: Table, seed: int, variant: str, margin: float
) -> None:
    model = fit(table, kind=variant, gate_margin=margin)
    X = np.vstack([rows_near(table[0], seed), np.full((1, table[0].shape[1]), 1.7e308)])
    firing = model.tree_.fire(X, gate_margin=margin)[:, model.tree_.leaves]
    lost = model.support_deficit(X)
    assert (lost >= 0).all()
    np.testing.assert_allclose(lost.sum(axis=1), 1 - firing.sum(axis=1), rtol=0, atol=1e-12)


@LAW
@given(tables(), seeds, variants)
def test_without_gates_nothing_is_lost_and_the_residual_is_the_papers_alone(
    table: Table, seed: int, variant: str
) -> None:
    model = fit(table, kind=variant, support_gate=False)
    X = rows_near(table[0], seed)
    assert (model.support_deficit(X) == 0).all()
    parts = model.novelty_attribution(X, measure="residual")
    np.testing.assert_array_equal(parts, residual_parts(model.tree_, X))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("measure", MEASURES)
def test_the_feature_that_was_spoiled_has_the_largest_part(variant: str, measure: str) -> None:
    X, y = load_wine(return_X_y=True)
    model = tree_classifier(variant, random_state=0).fit(X, y)
    for j in range(X.shape[1]):
        spoiled = X[::10].copy()
        spoiled[:, j] += 20 * X[:, j].std()
        parts = model.novelty_attribution(spoiled, measure=measure)
        if measure == "residual" and variant != "compact":
            # A feature that a rule tests is not looked at by the rule's residual, and its deficit counts at most nine.
            tested = np.array([j in model.tree_.feature[model.tree_.path(int(leaf))] for leaf in model.tree_.leaves])
            if tested.any():
                continue
        assert (parts.argmax(axis=1) == j).mean() > 0.9, j


# ---------------------------------------------------------------------------------------------------------------------
# Moving away
# ---------------------------------------------------------------------------------------------------------------------


def breakpoints(tree: FuzzyTree, feature: int) -> Floats:
    ends = tree.trapezoid[tree.feature == feature].ravel()
    return np.append(ends[np.isfinite(ends)], 0.0)


def walk_away(table: Table, model: FERLClassifier, seed: int) -> tuple[int, list[Floats]]:
    """Rows whose value of one feature lies beyond all training values and conditions, further and further."""
    X, rng = table[0], np.random.default_rng(seed)
    j, side = int(rng.integers(X.shape[1])), rng.choice([-1.0, 1.0])
    outermost = max((side * np.append(X[:, j], breakpoints(model.tree_, j))).max(), 0.0)
    width = np.ptp(X[:, j]) or 1.0
    steps = []
    for step in (0.0, 0.3, 0.6, 4.0, 100.0):
        rows = rows_near(X, seed, 20)
        rows[:, j] = side * (outermost + step * width)
        steps.append(rows)
    return j, steps


@LAW
@given(tables(), seeds, variants)
def test_beyond_all_rows_novelty_grows_with_the_distance(table: Table, seed: int, variant: str) -> None:
    """The paths do not change any more, so the nearest exemplar stays the nearest."""
    model = fit(table, kind=variant)
    j, steps = walk_away(table, model, seed)
    per_step = 1 / model.tree_.unit_of_distance[j] / table[0].shape[1]
    outermost = np.abs(profile_of(model).exemplar_row[:, j]).max()
    start = model.novelty(steps[0])
    for rows in steps:
        moved = np.abs(rows[:, j] - steps[0][:, j])
        novelty = model.novelty(rows)
        np.testing.assert_allclose(novelty, start + moved * per_step, rtol=1e-5, atol=1e-5)
        gap = np.abs(rows[:, j]) - outermost
        assert (model.novelty_attribution(rows)[:, j] >= gap * per_step * (1 - 1e-9) - 1e-9).all()


@LAW
@given(tables(), seeds, st.sampled_from(["deep", "medium"]))
def test_beyond_all_rows_the_residual_of_the_feature_never_falls(table: Table, seed: int, variant: str) -> None:
    model = fit(table, kind=variant)
    j, steps = walk_away(table, model, seed)
    parts = np.array([model.novelty_attribution(rows, measure="residual")[:, j] for rows in steps])
    assert (np.diff(parts, axis=0) >= -1e-9 * parts[1:]).all()


# ---------------------------------------------------------------------------------------------------------------------
# Units
# ---------------------------------------------------------------------------------------------------------------------


def rescaled(tree: FuzzyTree, factor: Floats) -> FuzzyTree:
    """The same tree in other units."""
    own = np.append(factor, 1.0)[tree.feature][:, None]
    profile = replace(
        tree.profile,
        mean=tree.profile.mean * factor,
        variance=tree.profile.variance * factor**2,
        exemplar_row=tree.profile.exemplar_row * factor,
    )
    return replace(tree, trapezoid=tree.trapezoid * own, support=tree.support * own, profile=profile)


@LAW
@given(tables(), seeds, variants)
def test_powers_of_two_as_units_change_no_bit(table: Table, seed: int, variant: str) -> None:
    tree = fit(table, kind=variant).tree_
    X = rows_near(table[0], seed)
    factor = 2.0 ** np.random.default_rng(seed).integers(-20, 20, X.shape[1])
    other = rescaled(tree, factor)
    one, two = model_of_tree(tree), model_of_tree(other)
    np.testing.assert_array_equal(two.novelty_attribution(X * factor), one.novelty_attribution(X))
    np.testing.assert_array_equal(residual_parts(other, X * factor), residual_parts(tree, X))


@LAW
@given(tables(), seeds)
def test_units_and_origins_do_not_matter_to_one_rule(table: Table, seed: int) -> None:
    """All rows are exemplars, so that their random order, which depends on the values, does not matter either."""
    rng = np.random.default_rng(seed)
    X, d = table[0], table[0].shape[1]
    width = np.ptp(X, axis=0)
    factor, shift = rng.uniform(0.1, 10, d), rng.uniform(-3, 3, d) * width
    varies = width > 0  # a constant feature's unit is its own magnitude
    shift[~varies] = 0.0
    one, other = (fit((rows, np.zeros(len(X))), n_exemplars=1000) for rows in (X, (X + shift) * factor))
    new = rows_near(X, seed)
    new = new[np.abs(new).max(axis=1) < 1e6 * max(np.abs(X).max(), 1)]  # shifts are lost beside huge values
    for measure in MEASURES:
        np.testing.assert_allclose(
            other.novelty((new + shift) * factor, measure=measure), one.novelty(new, measure=measure), 1e-5, 1e-5
        )


# ---------------------------------------------------------------------------------------------------------------------
# Fits that must agree to the last bit
# ---------------------------------------------------------------------------------------------------------------------


@SOME
@given(tables(), seeds, variants)
def test_profiles_depend_neither_on_the_order_of_rows_nor_on_how_copies_are_told(
    table: Table, seed: int, variant: str
) -> None:
    X, y = table
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 3, len(X))
    times[: 2 * len(np.unique(y))] = 1
    options: dict[str, Any] = {"kind": variant, "n_exemplars": 5}
    base = fit((X, y), times.astype(float), **options).tree_
    copies = np.repeat(np.arange(len(X)), times)
    if len(np.unique(y[copies])) < len(np.unique(y)):
        return  # a class that has no rows is another problem
    order = rng.permutation(len(copies))
    assert_identical(base, fit((X[copies][order], y[copies][order]), **options).tree_)
    assert_identical(base, fit((np.asfortranarray(X), y), times.astype(float), **options).tree_)
    assert_identical(base, fit((X, y), times.astype(float), n_jobs=2, **options).tree_)
    assert base.profile.mean.shape == base.profile.variance.shape == (base.n_nodes, X.shape[1])


@pytest.mark.parametrize("variant", [*VARIANTS, "rules"])
def test_the_two_zeros_are_one_value(variant: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(80, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    signed = np.where(X == 0, rng.choice([0.0, -0.0], X.shape), X)
    assert np.signbit(signed[X == 0]).any()
    one, other = (tree_classifier(variant, random_state=0).fit(rows, y) for rows in (X, signed))
    assert_identical(one.tree_, other.tree_)
    assert one.novelty(X).tobytes() == other.novelty(signed).tobytes()


def test_novelty_depends_on_neither_threads_nor_memory_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = (X[:, 0] > 0) + (X[:, 1] + X[:, 2] > 0.5).astype(int)
    new = 1.7 * X
    for variant in (*VARIANTS, "rules"):
        model = tree_classifier(variant, max_rules=10, random_state=0).fit(X, y)
        for measure in MEASURES:
            for read in (model.novelty, model.novelty_attribution):
                base = read(new, measure=measure)
                model.set_params(n_jobs=3)
                for rows in (new, np.asfortranarray(new), np.hstack([new, new])[:, :6], new[::-1][::-1]):
                    assert read(rows, measure=measure).tobytes() == base.tobytes()
                model.set_params(n_jobs=None)
                # Blocks and threads cut the rows; each is judged alone.
                assert read(new[4000:4001], measure=measure).tobytes() == base[4000:4001].tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# Pruning
# ---------------------------------------------------------------------------------------------------------------------


@SOME
@given(tables(), seeds, variants)
def test_pruning_keeps_the_profiles_of_the_nodes_it_keeps(table: Table, seed: int, variant: str) -> None:
    model = fit(table, kind=variant, n_exemplars=6)
    tree, X = model.tree_, rows_near(table[0], seed)
    alphas, _ = pruning_path(tree)
    for alpha in alphas[1:][:: max(1, len(alphas) // 3)]:
        pruned = prune(tree, alpha)
        original = same_nodes(tree, pruned)
        np.testing.assert_array_equal(pruned.profile.mean, tree.profile.mean[original])
        np.testing.assert_array_equal(pruned.profile.variance, tree.profile.variance[original])
        for node, old in enumerate(original):
            np.testing.assert_array_equal(exemplars_of(pruned.profile, node), exemplars_of(tree.profile, old))
        assert set(pruned.profile.exemplar.ravel()) - {-1} == set(range(len(pruned.profile.exemplar_row)))
        cut = model_of_tree(pruned)
        np.testing.assert_allclose(cut.novelty_attribution(X).sum(axis=1), cut.novelty(X), rtol=1e-9)
        assert np.isfinite(residual_parts(pruned, X)).all()


# ---------------------------------------------------------------------------------------------------------------------
# Parameters, errors and odd tables
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris() -> Table:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_exemplars_no_row_is_kept_and_novelty_is_the_residual(iris: Table, variant: str) -> None:
    X, y = iris
    model = tree_classifier(variant, n_exemplars=0, random_state=0).fit(X, y)
    assert profile_of(model).exemplar_row.shape == (0, 4)
    assert profile_of(model).exemplar.shape == (model.tree_.n_nodes, 0)
    np.testing.assert_array_equal(model.novelty(X), model.novelty(X, measure="residual"))
    np.testing.assert_array_equal(model.novelty_attribution(X), model.novelty_attribution(X, measure="residual"))
    with pytest.raises(ValueError, match=r"keeps none.*n_exemplars > 0.*residual"):
        model.novelty(X, measure="neighbour")
    # But for the exemplars, the model is the same.
    other = tree_classifier(variant, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(profile_of(model).variance, profile_of(other).variance)


@pytest.mark.parametrize(("variant", "most"), [("deep", 128), ("medium", 128), ("compact", 256)])
def test_by_default_novelty_compares_with_as_many_exemplars_as_the_preset_says(variant: str, most: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    model = tree_classifier(variant, random_state=0).fit(X, X[:, 0] > 0)
    assert profile_of(model).exemplar.shape[1] == most
    np.testing.assert_array_equal(model.novelty(X), model.novelty(X, measure="neighbour"))


def test_errors_name_the_value_and_the_remedy(iris: Table) -> None:
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"measure is 'mahalanobis'; it must be 'neighbour' or 'residual'"):
        model.novelty(X, measure="mahalanobis")
    with pytest.raises(ValueError, match="n_exemplars"):
        FERLTreeClassifier("deep", n_exemplars=-1).fit(X, y)
    for read in (
        FERLTreeClassifier("deep").novelty,
        FERLTreeClassifier("deep").novelty_attribution,
        FERLTreeClassifier("deep").support_deficit,
    ):
        with pytest.raises(NotFittedError):
            read(X)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("method", ["novelty", "novelty_attribution", "support_deficit"])
def test_infinite_values_are_refused(iris: Table, method: str, value: float) -> None:
    X, y = iris
    spoiled = X.copy()
    spoiled[3, 1] = value
    message = "Feature 1 holds infinity"
    with pytest.raises(ValueError, match=message):
        FERLTreeClassifier("deep").fit(spoiled, y)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(spoiled)
    with pytest.raises(ValueError, match=r"2 features.*4 features"):
        getattr(model, method)(X[:, :2])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_judged_as_arrays_are(iris: Table, frame: Any) -> None:
    X, y = iris
    names = ["a", "b", "c", "d"]
    table = frame({name: X[:, j] for j, name in enumerate(names)})
    model = FERLTreeClassifier("deep", random_state=0).fit(table, y)
    bare = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    for measure in MEASURES:
        np.testing.assert_array_equal(model.novelty(table, measure=measure), bare.novelty(X, measure=measure))
    np.testing.assert_array_equal(model.novelty(table[["b", "a", "c", "d"]]), bare.novelty(X))
    with pytest.raises(ValueError, match=r"(?s)feature names.*now missing.*d"):
        model.novelty(table[["b", "a", "c"]])


def test_pickle_and_clone_keep_novelty(iris: Table) -> None:
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0, n_exemplars=9).fit(X, y)
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_identical(copy.tree_, model.tree_)
        assert copy.novelty(X).tobytes() == model.novelty(X).tobytes()


ODD_TABLES = {
    "one row": (np.array([[1.0, 2.0, 3.0]]), [0]),
    "one class": (np.random.default_rng(0).normal(size=(30, 3)), np.zeros(30)),
    "constant": (np.full((20, 3), 7.0), np.arange(20) % 2),
    "all zero": (np.zeros((20, 3)), np.arange(20) % 2),
    "a constant feature": (np.column_stack([np.arange(20) / 2, np.full(20, 1e-200), np.arange(20.0) % 3]), [0, 1] * 10),
    "fewer rows than features": (np.random.default_rng(0).normal(size=(5, 40)), [0, 1, 0, 1, 1]),
    "huge": (np.random.default_rng(0).uniform(-1e150, 1e150, size=(50, 3)), np.arange(50) % 2),
    "tiny": (1e-299 * np.random.default_rng(0).uniform(1, 9, size=(50, 3)), np.arange(50) % 2),
    "narrow": (1.7e9 + 1e-6 * np.random.default_rng(0).integers(0, 99, size=(50, 3)), np.arange(50) % 2),
    "an outlier": (np.vstack([np.random.default_rng(0).normal(size=(50, 3)), [[1e12] * 3]]), [0, 1] * 25 + [0]),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ODD_TABLES)
def test_odd_tables_get_sensible_novelty(name: str, variant: str) -> None:
    X, y = ODD_TABLES[name]
    model = tree_classifier(variant, random_state=0).fit(X, y)
    for measure in MEASURES:
        parts = model.novelty_attribution(X, measure=measure)
        assert np.isfinite(parts).all()
        assert (parts >= 0).all()
        np.testing.assert_allclose(parts.sum(axis=1), model.novelty(X, measure=measure), rtol=1e-9)
    assert (model.novelty(X) < 1e-6).all(), "few rows are all exemplars"
    other = np.abs(X).max() * 8 + 1.0
    assert (model.novelty([[other] * X.shape[1]]) > 1).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("value", [1e155, 1e200, 1.7e308, -1.7e308])
def test_rows_so_far_away_that_squares_overflow_are_infinitely_novel_and_never_nan(variant: str, value: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    model = tree_classifier(variant, random_state=0).fit(X, X[:, 0] > 0)
    for j in range(4):
        row = np.zeros((1, 4))
        row[0, j] = value
        for measure in MEASURES:
            parts = model.novelty_attribution(row, measure=measure)
            assert not np.isnan(parts).any()
            assert parts.argmax() == j
            assert model.novelty(row, measure=measure) >= 1
    assert not np.isnan(model.novelty(np.full((1, 4), value))).any()


def test_a_row_that_fits_no_word_is_compared_with_all_kinds_of_rows() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, size=(40, 2)), rng.normal(5, 0.3, size=(40, 2))])
    y = np.repeat([0, 1], 40)
    words = [
        LinguisticVariable(
            "x0", (FuzzySet("small", -2.0, -1.5, 2.0, 3.0), FuzzySet("large", 2.0, 3.0, 6.5, 7.0)), range=(-1.5, 6.5)
        ),
        None,
    ]
    model = FERLTreeClassifier("compact", words=words, random_state=0).fit(X, y)
    assert model.n_rules_ > 1
    for row in ([[7.5, 0.0]], [[-1e6, 0.0]]):
        assert oracle.path_ends(model.tree_, np.array(row))[0].tolist() == [True] + [False] * (model.tree_.n_nodes - 1)
        unit = model.tree_.unit_of_distance
        expected = (np.abs(np.array(row) - exemplars_of(profile_of(model), 0)) / unit).mean(axis=1).min()
        assert model.novelty(row)[0] == pytest.approx(expected, rel=1e-6)
        total = ((np.array(row) - X.mean(axis=0)) ** 2 / X.var(axis=0) / 2).ravel()
        np.testing.assert_allclose(residual_parts(model.tree_, np.array(row))[0], total, rtol=1e-6)


def test_a_far_away_row_of_a_compact_tree_is_the_more_novel_the_farther(iris: Table) -> None:
    X, y = iris
    model = FERLTreeClassifier("compact", random_state=0).fit(X, y)
    far = [model.novelty(X[:5] + step).min() for step in (0.0, 10.0, 1e3, 1e9)]
    assert (np.diff(far) > 0).all()
    assert far[-1] > 1e8
