"""Laws of tables with categories and missing values, each the name of a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from estimators import classifier
from ferl import FERLTreeClassifier
from law_examples import RULES, assert_identical
from table_examples import (
    TABLE_LAW,
    Mixed,
    assert_same_readings,
    fit_mixed,
    mixed_table,
    mixed_tables,
    rows_beside,
)
from tree_examples import tree_classifier

SEEDS = st.integers(0, 2**32 - 1)
VARIANTS = pytest.mark.parametrize("variant", ["deep", "compact"])


def test_the_tables_grow_real_trees() -> None:
    """The laws below are not checked on stumps alone, nor on trees without categories."""
    on_categories, on_numbers, n_rules = 0, 0, []

    @TABLE_LAW
    @given(mixed_tables())
    def collect(table: Mixed) -> None:
        nonlocal on_categories, on_numbers
        tree = fit_mixed(table).tree_
        n_rules.append(len(tree.leaves))
        is_category = tree.n_categories(table.frame.shape[1])[tree.feature[1:]] > 0
        on_categories += is_category.any()
        on_numbers += (~is_category).any()

    collect()
    assert sum(n > 5 for n in n_rules) > len(n_rules) / 2
    assert min(on_categories, on_numbers) > len(n_rules) / 3


# ---------------------------------------------------------------------------------------------------------------------
# Fits that must agree to the last bit
# ---------------------------------------------------------------------------------------------------------------------


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_renaming_categories_changes_their_names_only(variant: str, table: Mixed, seed: int) -> None:
    """With weights that no two categories share; equal ones are told apart by their names alone."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 3.0, len(table.y))
    frame, rows = table.frame.copy(), rows_beside(table, seed)
    other_rows, names = rows.copy(), {}
    for name in table.categories:
        levels = sorted(frame[name].dropna().unique())
        names[name] = dict(zip(levels, [f"{k:03d}" for k in rng.permutation(len(levels))], strict=True))
        frame[name] = frame[name].map(names[name])
        other_rows[name] = rows[name].map(names[name] | {"never seen": "nor ever"})
    one = fit_mixed(table, weight, kind=variant)
    other = fit_mixed(Mixed(frame, table.y), weight, kind=variant)
    for name in ("parent", "feature", "trapezoid", "class_weight", "gain", "share"):
        assert getattr(one.tree_, name).tobytes() == getattr(other.tree_, name).tobytes(), name
    assert_same_readings(one, other, rows, other_rows)
    for node in range(1, one.tree_.n_nodes):
        feature = table.frame.columns[one.tree_.feature[node]]
        if feature in names and (own := names[feature]):
            place = [sorted(own.values()).index(own[level]) for level in sorted(own)]
            assert one.tree_.categories is not None
            assert other.tree_.categories is not None
            np.testing.assert_array_equal(one.tree_.categories.of(node), other.tree_.categories.of(node)[place])


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_the_order_of_rows_does_not_matter(variant: str, table: Mixed, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, order = rng.uniform(0.5, 3.0, len(table.y)), rng.permutation(len(table.y))
    shuffled = Mixed(table.frame.iloc[order], table.y[order])
    one, other = fit_mixed(table, weight, kind=variant), fit_mixed(shuffled, weight[order], kind=variant)
    assert_identical(one.tree_, other.tree_)


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS, balanced=st.booleans())
def test_doubling_a_weight_is_duplicating_the_row(variant: str, table: Mixed, seed: int, balanced: bool) -> None:
    times = np.random.default_rng(seed).integers(1, 4, len(table.y))
    many = Mixed(table.frame.loc[table.frame.index.repeat(times)], table.y.repeat(times))
    options: dict[str, Any] = {"kind": variant, "class_weight": {0: 2.0} if balanced else None}
    assert_identical(fit_mixed(table, times.astype(float), **options).tree_, fit_mixed(many, **options).tree_)


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS, new_levels=st.booleans())
def test_weight_zero_is_leaving_the_row_out(variant: str, table: Mixed, seed: int, new_levels: bool) -> None:
    """Also where such a row alone has some category, or a number from far away: the category counts as not seen."""
    rng = np.random.default_rng(seed)
    ghosts = table.frame.iloc[rng.integers(len(table.y), size=10)].copy()
    ghosts[table.numbers] = ghosts[table.numbers] * 7 + 1
    if new_levels:
        ghosts[table.categories] = ghosts[table.categories].map(lambda level: f"{level} and a half", na_action="ignore")
    haunted = Mixed(pd.concat([table.frame, ghosts]), np.append(table.y, rng.permutation(table.y)[:10]))
    weight = np.append(np.ones(len(table.y)), np.zeros(10))
    one, other = fit_mixed(table, kind=variant), fit_mixed(haunted, weight, kind=variant)
    assert one.tree_.class_weight.tobytes() == other.tree_.class_weight.tobytes()
    assert one.tree_.word == other.tree_.word
    rows = rows_beside(table, seed)
    assert_same_readings(one, other, rows)
    if new_levels:
        rows[table.categories] = ghosts[table.categories].iloc[0].to_numpy()
        assert_same_readings(one, other, rows)
    else:
        assert_identical(one.tree_, other.tree_)


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_a_column_without_values_changes_nothing(variant: str, table: Mixed, seed: int) -> None:
    wider, rows = table.frame.copy(), rows_beside(table, seed)
    wider["void"] = np.nan
    wider_rows = rows.assign(void=np.nan)
    one, other = fit_mixed(table, kind=variant), fit_mixed(Mixed(wider, table.y), kind=variant)
    for name in ("parent", "feature", "trapezoid", "class_weight", "consequent", "gain", "share"):
        assert getattr(one.tree_, name).tobytes() == getattr(other.tree_, name).tobytes(), name
    assert one.predict_proba(rows).tobytes() == other.predict_proba(wider_rows).tobytes()
    np.testing.assert_allclose(one.novelty(rows), other.novelty(wider_rows), rtol=1e-12)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    # Threads start above 3,000 pairs of row and feature; sums over rows go to threads by 2,048 rows.
    table = mixed_table(np.random.default_rng(0), 20_000, n_numbers=3, n_categories=(5, 300), n_classes=3)
    rows = rows_beside(table, 0, 5_000)
    for variant in ("deep", "compact"):
        models = [fit_mixed(table, kind=variant, n_jobs=n_jobs, max_rules=10) for n_jobs in (1, 3)]
        assert models[0].n_rules_ > (5 if variant == "deep" else 1)
        assert_identical(models[0].tree_, models[1].tree_)
        assert_same_readings(*models, rows)


# ---------------------------------------------------------------------------------------------------------------------
# Columns that must not, or must, be split
# ---------------------------------------------------------------------------------------------------------------------


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables())
def test_columns_of_one_value_or_none_are_never_split(variant: str, table: Mixed) -> None:
    rng = np.random.default_rng(len(table.y))
    frame = table.frame.assign(one=1.0, void=np.nan)
    frame["same"] = np.where(rng.random(len(frame)) < 0.5, "same", None)
    frame["gap"] = np.where(rng.random(len(frame)) < 0.5, 3.0, np.nan)
    frame["nothing"] = pd.Series([None] * len(frame), dtype=object)
    model = fit_mixed(Mixed(frame, table.y), kind=variant)
    dull = [list(frame.columns).index(name) for name in ("one", "void", "same", "gap", "nothing")]
    assert not np.isin(model.tree_.feature, dull).any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["unique", "many", "pairs", "blocks"])
@pytest.mark.filterwarnings("ignore::ferl.IdColumnWarning")
def test_a_category_for_every_row_or_few_rows_is_not_learned(kind: str, n_classes: int) -> None:
    """Identifiers, random levels, and groups that hold every class alike: none says anything about a new row."""
    rng = np.random.default_rng(n_classes)
    n = 1200
    x, noise = rng.normal(size=(2, n))
    y = np.digitize(x + 0.8 * rng.normal(size=n), [0.0, 1.0][: n_classes - 1])
    if kind in ("pairs", "blocks"):  # matched: in each group every class comes equally often
        size = n_classes * (1 if kind == "pairs" else 3)
        group = np.empty(n, dtype=int)
        for c in range(n_classes):
            own = np.flatnonzero(y == c)
            group[own] = np.arange(len(own)) // (size // n_classes)
        keep = group < min(np.bincount(y)) * n_classes // size
        x, noise, y, group = x[keep], noise[keep], y[keep], group[keep]
    else:
        group = rng.permutation(n) if kind == "unique" else rng.integers(1000, size=n)
    frame = pd.DataFrame({"x": x, "noise": noise, "group": [f"g{g}" for g in group]})
    train = np.arange(len(y)) % 2 == 0 if kind not in ("pairs", "blocks") else np.ones(len(y), dtype=bool)
    model = FERLTreeClassifier("medium", random_state=0, max_rules=8).fit(frame[train], y[train])
    assert model.tree_.feature[1] == 0
    assert 2 not in model.tree_.feature
    without = FERLTreeClassifier("medium", random_state=0, max_rules=8).fit(frame.loc[train, ["x", "noise"]], y[train])
    if not train.all():
        new, labels = frame[~train], y[~train]
        assert model.score(new, labels) > without.score(new[["x", "noise"]], labels) - 0.02


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 10.0}])
@pytest.mark.filterwarnings("ignore::ferl.IdColumnWarning")
def test_an_identifier_is_not_learned_when_classes_weigh_differently(class_weight: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = (x + rng.normal(size=400) > 1.0).astype(int)
    frame = pd.DataFrame({"id": [f"i{k}" for k in range(400)], "x": x})
    model = FERLTreeClassifier("medium", random_state=0, class_weight=class_weight).fit(frame, y)
    assert 0 not in model.tree_.feature
    assert 1 in model.tree_.feature


@VARIANTS
@pytest.mark.parametrize("n", [10, 300])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_table_of_few_distinct_rows_is_learned(variant: str, n: int, class_weight: Any) -> None:
    """Equal rows are one row of their weight to the core; the parts that judge each other must divide it."""
    color = np.array(["red", "green", "green"] * n, dtype=object)
    y = (color == "red").astype(int)
    model = tree_classifier(variant, random_state=0, class_weight=class_weight).fit(pd.DataFrame({"color": color}), y)
    assert model.score(pd.DataFrame({"color": color}), y) == 1.0
    assert model.n_rules_ == 2
    noisy = (y ^ (np.arange(3 * n) % 10 == 0)).astype(int)
    model = tree_classifier(variant, random_state=0, class_weight=class_weight).fit(
        pd.DataFrame({"color": color}), noisy
    )
    assert model.score(pd.DataFrame({"color": color}), y) == 1.0


def test_many_categories_that_do_tell_the_classes_apart_are_learned() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(60, size=3000)
    y = (rng.random(3000) < np.where(rng.random(60) < 0.5, 0.1, 0.9)[code]).astype(int)
    frame = pd.DataFrame({"c": [f"g{k}" for k in code], "x": rng.normal(size=3000)})
    model = FERLTreeClassifier("medium", random_state=0).fit(frame[:2000], y[:2000])
    assert model.tree_.feature[1] == 0
    assert model.score(frame[2000:], y[2000:]) > 0.85


# ---------------------------------------------------------------------------------------------------------------------
# Categories and numbers that say the same
# ---------------------------------------------------------------------------------------------------------------------


@TABLE_LAW
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.3]))
def test_two_categories_are_split_as_zero_and_one_are(seed: int, missing: float) -> None:
    """Where all resamples agree on the order of the two, and the split is the only one.

    Beyond that they may differ: a category's gain is taken on held-out rows, so that another leaf may be split next;
    and where resamples disagree a category has their shares as memberships, while a band between 0 and 1 is narrow.
    """
    rng = np.random.default_rng(seed)
    flag = rng.random(200) < 0.5
    y = (flag ^ (rng.random(200) < 0.1)).astype(int)
    known = rng.random(200) >= missing
    number = pd.DataFrame({"flag": np.where(known, flag.astype(float), np.nan), "x": rng.normal(size=200)})
    category = number.assign(flag=np.where(known, np.where(flag, "yes", "no"), None))
    one, other = (FERLTreeClassifier("deep", random_state=0, max_rules=2).fit(frame, y) for frame in (number, category))
    assert other.tree_.feature.tolist() == [-1, 0, 0]
    assert one.tree_.class_weight.tobytes() == other.tree_.class_weight.tobytes()
    assert one.tree_.share is not None
    np.testing.assert_allclose(one.tree_.share, other.tree_.share, rtol=1e-12)
    np.testing.assert_allclose(one.predict_proba(number), other.predict_proba(category), rtol=1e-12)


@TABLE_LAW
@given(seed=SEEDS)
def test_one_category_against_the_rest_is_split_as_its_indicator_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code = rng.integers(3, size=300)
    y = ((code == 1) ^ (rng.random(300) < 0.1)).astype(int)
    native = pd.DataFrame({"c": np.array(["a", "b", "c"], dtype=object)[code]})
    hot = pd.DataFrame({f"is {level}": (native["c"] == level).astype(float) for level in "abc"})
    one = FERLTreeClassifier("deep", random_state=0, max_rules=2).fit(native, y)
    other = FERLTreeClassifier("deep", random_state=0, max_rules=2).fit(hot, y)
    assert other.tree_.feature[1] == 1
    np.testing.assert_allclose(one.predict_proba(native), other.predict_proba(hot), rtol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Routing and evidence
# ---------------------------------------------------------------------------------------------------------------------


@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_firings_of_rules_share_a_row_among_them_whatever_is_missing(table: Mixed, seed: int) -> None:
    model, rows = fit_mixed(table), rows_beside(table, seed)
    encoded = model.columns_.encode(rows)
    leaves = model.tree_.leaves
    np.testing.assert_allclose(model.tree_.fire(encoded, gated=False)[:, leaves].sum(axis=1), 1.0, atol=1e-12)
    gated = model.tree_.fire(encoded)[:, leaves].sum(axis=1)
    np.testing.assert_allclose(gated + model.support_deficit(rows).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("combination", RULES)
@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_masses_are_masses(variant: str, combination: str, table: Mixed, seed: int) -> None:
    evidence = fit_mixed(table, kind=variant, combination=combination).predict_evidence(rows_beside(table, seed))
    assert (evidence.belief >= 0).all()
    assert (evidence.ignorance >= 0).all()
    assert ((evidence.conflict >= 0) & (evidence.conflict <= 1)).all()
    np.testing.assert_allclose(evidence.belief.sum(axis=1) + evidence.ignorance, 1.0, atol=1e-12)


@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_a_category_never_seen_loses_half_the_mass_at_its_first_split(table: Mixed, seed: int) -> None:
    """What is booked to a feature is its own; the same row with the value missing loses nothing there."""
    model, rows = fit_mixed(table), rows_beside(table, seed)
    tree = model.tree_
    if tree.n_nodes == 1:
        return
    first = table.frame.columns[tree.feature[1]]
    if first not in table.categories:
        return
    unseen, missing = rows.assign(**{first: "never seen"}), rows.assign(**{first: None})
    place = int(tree.feature[1])
    assert (model.support_deficit(unseen)[:, place] >= 0.5).all()
    assert (model.support_deficit(missing)[:, place] == 0).all()
    vote = fit_mixed(table, combination="vote")
    assert (vote.predict_evidence(unseen).ignorance >= 0.5 - 1e-12).all()
    ungated = [model.tree_.fire(model.columns_.encode(frame), gated=False) for frame in (unseen, missing)]
    np.testing.assert_array_equal(*ungated)


@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_novelty_looks_at_known_features_only(table: Mixed, seed: int) -> None:
    model, rows = fit_mixed(table), rows_beside(table, seed)
    missing = rows.isna().to_numpy()
    for measure in ("neighbour", "residual"):
        parts = model.novelty_attribution(rows, measure=measure)
        assert (parts[missing] == 0).all()
        np.testing.assert_allclose(parts.sum(axis=1), model.novelty(rows, measure=measure), rtol=1e-9, atol=1e-12)
    seen = model.novelty_attribution(rows, measure="neighbour")
    for place, name in enumerate(table.frame.columns):
        if name in table.categories:
            assert (seen[(rows[name] == "never seen").to_numpy(), place] > 0).all()


@TABLE_LAW
@given(
    table=mixed_tables(),
    combination=st.sampled_from(["dempster", "vote"]),
    variant=st.sampled_from(["deep", "compact"]),
)
def test_no_row_within_its_certified_radius_has_another_label(table: Mixed, combination: str, variant: str) -> None:
    """Numbers that are known move; categories and what is missing stay."""
    model, rows = fit_mixed(table, combination=combination, kind=variant), rows_beside(table, 1, 25)
    radius, label = model.certified_radius(rows), model.predict(rows)
    assert (radius >= 0).all()
    rng = np.random.default_rng(0)
    reach = np.where(np.isfinite(radius), radius, 1e3)
    for step in (*np.full(6, np.nan), -1.0, 1.0):
        moved = rows.copy()
        for name in table.numbers:
            direction = rng.uniform(-1, 1, len(rows)) if np.isnan(step) else step
            moved[name] = rows[name] + direction * reach
        np.testing.assert_array_equal(model.predict(moved), label)


def test_certificates_are_about_rows_with_a_margin() -> None:
    table = mixed_table(np.random.default_rng(0), 400)
    radius = fit_mixed(table).certified_radius(rows_beside(table, 0, 300))
    assert np.isfinite(radius).any()
    assert (radius > 0).mean() > 0.8


# ---------------------------------------------------------------------------------------------------------------------
# Missing values
# ---------------------------------------------------------------------------------------------------------------------


@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_a_row_without_values_gets_the_prior_by_the_vote(table: Mixed, seed: int) -> None:
    """Exactly, where the training rows have all values and distributions are not smoothed."""
    whole = Mixed(
        table.frame.fillna(dict.fromkeys(table.categories, "none") | dict.fromkeys(table.numbers, 0.0)), table.y
    )
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(table.y))
    model = fit_mixed(whole, weight, combination="vote", consequents="raw")
    empty = rows_beside(whole, 0, 1)
    assert empty.isna().all(axis=None)
    prior = np.bincount(table.y, weight) / weight.sum()
    np.testing.assert_allclose(model.predict_proba(empty)[0], prior, atol=1e-4)


@VARIANTS
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_row_without_values_is_near_the_prior_and_very_ignorant(missing: float, variant: str) -> None:
    for seed in range(5):
        table = mixed_table(np.random.default_rng(seed), 400, missing=missing, n_classes=3)
        y = np.minimum(table.y, 1)  # classes of one third and two thirds
        model = fit_mixed(replace(table, y=y), kind=variant)
        empty = model.predict_evidence(rows_beside(table, 0, 1))
        typical = model.predict_evidence(table.frame)
        np.testing.assert_allclose(empty.pignistic[0], np.bincount(y) / len(y), atol=0.12)
        assert empty.ignorance[0] > np.median(typical.ignorance)
        assert model.novelty(rows_beside(table, 0, 1))[0] == 0


@VARIANTS
def test_missing_conditions_find_missing_values_that_tell_the_classes_apart(variant: str) -> None:
    rng = np.random.default_rng(0)
    table = mixed_table(rng, 600, missing=0.0)
    gone = {"x1": rng.random(600) < np.where(table.y == 1, 0.8, 0.1)}
    gone["c1"] = rng.random(600) < np.where(table.y == 1, 0.1, 0.7)
    frame = table.frame.assign(**{name: table.frame[name].mask(mask) for name, mask in gone.items()})
    train = slice(0, 400)
    scores = {}
    for asks in (False, True):
        model = tree_classifier(variant, random_state=0, missing_conditions=asks).fit(frame[train], table.y[train])
        scores[asks] = model.score(frame[400:], table.y[400:])
    assert scores[True] > scores[False] + 0.05
    assert model.missing_features_ == (1, 3)
    assert (model.tree_.feature >= 4).any()
    assert model.support_deficit(frame).shape == model.novelty_attribution(frame).shape == (600, 4)


@VARIANTS
@TABLE_LAW
@given(table=mixed_tables(), seed=SEEDS)
def test_missing_conditions_change_nothing_where_no_training_value_is_missing(
    variant: str, table: Mixed, seed: int
) -> None:
    whole = Mixed(
        table.frame.fillna(dict.fromkeys(table.categories, "none") | dict.fromkeys(table.numbers, 0.0)), table.y
    )
    one, other = (fit_mixed(whole, kind=variant, missing_conditions=asks) for asks in (False, True))
    assert_identical(one.tree_, other.tree_)
    assert_same_readings(one, other, rows_beside(table, seed))


# ---------------------------------------------------------------------------------------------------------------------
# Monotone constraints
# ---------------------------------------------------------------------------------------------------------------------


@TABLE_LAW
@given(
    table=mixed_tables(n_classes=(2,)).filter(lambda table: len(table.numbers) > 0),
    sign=st.sampled_from([-1, 1]),
    consequents=st.sampled_from(["raw", "laplace", "shrinkage"]),
    ccp_alpha=st.sampled_from([0.0, 0.003]),
    both=st.booleans(),
)
def test_the_vote_never_turns_back_as_a_constrained_feature_rises(
    table: Mixed, sign: int, consequents: str, ccp_alpha: float, both: bool
) -> None:
    constrained = table.numbers if both else table.numbers[:1]
    options = {"consequents": consequents, "ccp_alpha": ccp_alpha, "combination": "vote", "support_gate": False}
    model = fit_mixed(table, monotonic_cst=dict.fromkeys(constrained, sign), max_rules=40, **options)
    rows = rows_beside(table, 0, 30)
    for name in constrained:
        column = model.tree_.feature == list(table.frame.columns).index(name)
        ends = model.tree_.trapezoid[column]
        grid = np.unique(np.concatenate([ends[np.isfinite(ends)], np.linspace(-4, 4, 60)]))
        swept = rows.loc[rows.index.repeat(len(grid))].assign(**{name: np.tile(grid, len(rows))})
        probability = model.predict_proba(swept)[:, 1].reshape(len(rows), len(grid))
        assert (sign * np.diff(probability, axis=1) >= -1e-12).all()


def test_without_the_constraint_the_vote_does_turn_back() -> None:
    """The sweep above can fail."""
    table = mixed_table(np.random.default_rng(0))  # explained by the magnitude of x0
    model = fit_mixed(table, combination="vote", support_gate=False, max_rules=40)
    grid = np.linspace(-3, 3, 60)
    swept = table.frame.iloc[np.zeros(60, dtype=int)].assign(x0=grid)
    assert (np.diff(model.predict_proba(swept)[:, 1]) < -0.01).any()


def test_a_constraint_that_the_data_obey_keeps_much_of_the_accuracy() -> None:
    """Not all of it: whatever lies on one side of a split stays on one side of its line, in one tree."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=1500) > 0).astype(int)
    free = FERLTreeClassifier("deep", random_state=0, combination="vote").fit(X[:1000], y[:1000])
    bound = FERLTreeClassifier("deep", random_state=0, combination="vote", monotonic_cst=[1, -1, 0]).fit(
        X[:1000], y[:1000]
    )
    assert bound.score(X[1000:], y[1000:]) > free.score(X[1000:], y[1000:]) - 0.1
    against = FERLTreeClassifier("deep", random_state=0, combination="vote", monotonic_cst=[-1, 1, 0]).fit(
        X[:1000], y[:1000]
    )
    assert against.score(X[1000:], y[1000:]) < 0.65


@pytest.mark.parametrize("wish", [[0, 1, 0], {"income": 1}], ids=["array", "mapping"])
@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_a_constraint_on_a_feature_with_gaps_holds_beside_conditions_on_missing_values(kind: str, wish: Any) -> None:
    """It is matched with the features, not with their indicators: neither counted with them nor taken for one."""
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame({"age": rng.normal(size=n), "income": rng.normal(size=n), "job": rng.choice(list("uvw"), n)})
    y = (X["income"] + X["age"] + rng.normal(size=n) > 0).astype(int).to_numpy()
    X.loc[rng.random(n) < 0.2, "age"] = np.nan
    X.loc[rng.random(n) < 0.2, "income"] = np.nan
    vote = {"combination": "vote", "sources": "leaves", "discount": False, "support_gate": False}
    model = classifier(
        kind, monotonic_cst=wish, missing_conditions=True, random_state=0, **(vote if kind == "deep" else {})
    )
    model.partial_fit(X[:400], y[:400]).partial_fit(X[400:], y[400:])
    for fitted in (model, clone(model).fit(X, y)):
        assert fitted.missing_features_ == (0, 1)
        grid = np.linspace(-2, 2, 40)
        rows = X.iloc[np.repeat(np.arange(20), 40)].assign(income=np.tile(grid, 20))
        p = fitted.predict_proba(rows)[:, 1].reshape(20, 40)
        assert (np.diff(p, axis=1) >= -1e-12).all()
    with pytest.raises(ValueError, match=r"monotonic_cst has shape \(5,\); X has 3 features"):
        clone(model).set_params(monotonic_cst=[0, 1, 0, 0, 0]).fit(X, y)  # indicators have no constraint
    with pytest.raises(ValueError, match="constrains 'job', which holds categories"):
        clone(model).set_params(monotonic_cst={"job": 1}).fit(X, y)
