"""What the resamples say of each learned split: intervals and shares, in the tree, in frames and in text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import oracle
from ferl import FERLClassifier, FERLTreeClassifier, export_text, rules_frame, splits_frame
from ferl._learn.grow_trees import prune, pruning_path
from ferl._models.tree import Cuts, FuzzyTree
from ferl._tell.statements import statements
from law_examples import LAW, Floats, Table, fit, same_nodes, tables
from oracle_examples import N_CONTINUOUS, Case, continuous_case, fit_case, random_table, tied_case
from tree_examples import tree_classifier

COLUMNS = ["feature", "threshold", "half_width", "low", "high", "share", "support", "gain", "node"]
LEGEND = "(%): share of resamples whose best cut lies inside the band"


def cuts_of(tree: FuzzyTree) -> Cuts:
    assert tree.cuts is not None
    return tree.cuts


@pytest.fixture(scope="module")
def iris() -> FERLClassifier:
    return FERLTreeClassifier("deep", max_rules=4, random_state=0).fit(*load_iris(return_X_y=True))


# ---------------------------------------------------------------------------------------------------------------------
# Against the oracle
# ---------------------------------------------------------------------------------------------------------------------


def oracle_spreads(case: Case) -> dict[int, oracle.CutSpread]:
    """For each split of the core's tree, what the oracle's resampled cuts say of its band."""
    spreads = {}
    for node, weight in enumerate(oracle.node_weights(case.growth, case.tree)):
        if not case.tree.is_leaf[node]:
            feature, band = int(case.tree.feature[node + 1]), oracle.Band(*case.tree.trapezoid[node + 1, 2:])
            cuts = oracle.resampled_cuts(case.growth, weight, feature, case.options.min_leaf_weight)
            spreads[node] = oracle.cut_spread(cuts, case.growth.x[weight > 0, feature], band)
    return spreads


@pytest.mark.parametrize("seed", range(0, N_CONTINUOUS, 2))
def test_intervals_and_shares_are_those_of_the_resampled_cuts(seed: int) -> None:
    """Nothing is tied, so the cuts are the same. Bands of all kinds, one to 25 resamples, scales from 0 to 4."""
    case = continuous_case(seed)
    for node, spread in oracle_spreads(case).items():
        np.testing.assert_allclose(cuts_of(case.tree).interval[node], spread.interval, rtol=1e-9, atol=1e-12)
        assert cuts_of(case.tree).share[node] == pytest.approx(spread.share, abs=1e-12)


def test_tied_values_differ_where_equal_cuts_compete_and_nowhere_else() -> None:
    """Which of two equally good cuts is taken can be rounding; it rarely is."""
    n_splits, n_same = 0, 0
    for seed in range(40):
        case = tied_case(seed)
        for node, spread in oracle_spreads(case).items():
            n_splits += 1
            same = np.allclose(
                cuts_of(case.tree).interval[node], spread.interval, rtol=1e-9, atol=1e-12, equal_nan=True
            )
            n_same += same and abs(cuts_of(case.tree).share[node] - spread.share) < 1e-12
    assert n_splits > 150
    assert n_same > 0.95 * n_splits


def test_cuts_on_the_ends_of_the_band_are_inside_it() -> None:
    """Two resamples: mean and standard deviation of two cuts put both on the ends, wherever they are."""
    n_two_places = 0
    for seed in range(30):
        X, y = random_table(np.random.default_rng([seed, 7]), tied=False)
        case = fit_case(X, y, None, seed, n_resamples=2, two_mode=False, min_leaf_weight=2.3)
        for node, weight in enumerate(oracle.node_weights(case.growth, case.tree)):
            if case.tree.is_leaf[node]:
                continue
            cuts = oracle.resampled_cuts(case.growth, weight, int(case.tree.feature[node + 1]), 2.3)
            if None not in cuts:
                n_two_places += cuts[0] != cuts[1]
                assert cuts_of(case.tree).share[node] == 1
    assert n_two_places > 100


def test_a_share_counts_resamples_without_a_cut_too() -> None:
    """Six rows, and a leaf weight of two: many resamples have no cut that leaves enough on both sides."""
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    n_splits = 0
    for seed in range(20):
        case = fit_case(X, y, None, seed, max_rules=2, n_resamples=25, min_leaf_weight=1.9)
        for node, spread in oracle_spreads(case).items():
            cuts = oracle.resampled_cuts(case.growth, case.growth.weight, 0, 1.9)
            n_splits += None in cuts
            assert cuts_of(case.tree).share[node] == pytest.approx(spread.share)
            assert cuts_of(case.tree).share[node] <= 1 - cuts.count(None) / 25 + 1e-12
    assert n_splits > 5


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), st.sampled_from([1, 2, 8, 25]), st.sampled_from(["mean_std", "median_mad"]), st.booleans())
def test_shares_and_intervals_are_in_range(table: Table, n_resamples: int, band: str, two_mode: bool) -> None:
    model = fit(table, n_resamples=n_resamples, band=band, two_mode=two_mode)
    tree, cuts = model.tree_, cuts_of(model.tree_)
    assert np.isnan(cuts.share[tree.is_leaf]).all()
    assert np.isnan(cuts.interval[tree.is_leaf]).all()
    splits = np.flatnonzero(~tree.is_leaf)
    share = cuts.share[splits]
    assert ((share >= 0) & (share <= 1)).all()
    np.testing.assert_allclose(share * n_resamples, np.round(share * n_resamples), atol=1e-9)
    found = splits[~np.isnan(cuts.interval[splits, 0])]
    assert (cuts.share[np.setdiff1d(splits, found)] == 0).all(), "no cut in any resample, yet one inside the band"
    low, high = cuts.interval[found].T
    assert (low <= high).all()
    lowest, highest = tree.support[found + 1].T  # of the feature, over the rows at the split
    assert ((low >= lowest) & (high <= highest)).all()


@LAW
@given(tables())
def test_a_wider_band_holds_at_least_as_many_cuts(table: Table) -> None:
    one, other = (fit(table, max_rules=2, band_scale=scale, two_mode=False).tree_ for scale in (1.0, 3.0))
    if one.n_nodes == other.n_nodes == 3 and one.feature[1] == other.feature[1]:
        assert cuts_of(other).share[0] >= cuts_of(one).share[0]
        np.testing.assert_array_equal(cuts_of(other).interval[0], cuts_of(one).interval[0])


def test_one_resample_is_sure_of_its_own_cut() -> None:
    X, y = load_iris(return_X_y=True)
    tree = FERLTreeClassifier("deep", n_resamples=1, random_state=0).fit(X, y).tree_
    found = ~np.isnan(cuts_of(tree).interval[:, 0])
    assert found[0]
    assert (cuts_of(tree).share[found] == 1).all()
    assert (cuts_of(tree).share[~found & ~tree.is_leaf] == 0).all()  # splits whose resample cannot be cut
    # Where in the gap between two rows the cut lies, nobody can say.
    low, high = cuts_of(tree).interval[found].T
    theta = tree.trapezoid[np.flatnonzero(found) + 1, 2:].mean(axis=1)
    assert ((low < theta) & (theta < high)).all()


def test_a_clear_cut_is_sure_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    clear = FERLTreeClassifier("deep", max_rules=2, random_state=0).fit(X, X[:, 0] > 0.5).tree_
    noise = FERLTreeClassifier("deep", max_rules=2, random_state=0, two_mode=False).fit(X, rng.random(400) > 0.5).tree_
    width = [np.diff(cuts_of(tree).interval[0])[0] for tree in (clear, noise)]
    assert width[0] < 0.02 < 0.3 < width[1]
    assert cuts_of(clear).interval[0, 0] - 0.01 < 0.5 < cuts_of(clear).interval[0, 1] + 0.01


@LAW
@given(tables())
def test_pruning_keeps_the_cuts_of_the_splits_it_keeps(table: Table) -> None:
    tree = fit(table).tree_
    alphas, _ = pruning_path(tree)
    for alpha in alphas[1:]:
        pruned = prune(tree, alpha)
        cuts = cuts_of(pruned)
        assert np.isnan(cuts.share[pruned.is_leaf]).all()
        assert np.isnan(cuts.interval[pruned.is_leaf]).all()
        inner, original = ~pruned.is_leaf, np.array(same_nodes(tree, pruned))
        np.testing.assert_array_equal(cuts.share[inner], cuts_of(tree).share[original[inner]])
        np.testing.assert_array_equal(cuts.interval[inner], cuts_of(tree).interval[original[inner]])
    assert not np.isnan(cuts_of(tree).share[~tree.is_leaf]).any(), "pruning changed the whole tree"


# ---------------------------------------------------------------------------------------------------------------------
# Frames
# ---------------------------------------------------------------------------------------------------------------------


def test_the_frame_lists_every_split_heaviest_first(iris: FERLClassifier) -> None:
    frame, tree = splits_frame(iris), iris.tree_
    assert list(frame.columns) == COLUMNS
    assert len(frame) == iris.n_rules_ - 1
    assert (np.diff(frame["support"]) <= 0).all()
    assert sorted(frame["node"]) == np.flatnonzero(~tree.is_leaf).tolist()
    for row in frame.itertuples():
        left = row.node + 1
        assert row.feature == f"x{tree.feature[left]}"
        np.testing.assert_allclose(
            [row.threshold - row.half_width, row.threshold + row.half_width], tree.trapezoid[left, 2:]
        )
        np.testing.assert_array_equal([row.low, row.high], cuts_of(tree).interval[row.node])
        assert row.share == cuts_of(tree).share[row.node]
        assert row.support == tree.weight[row.node]
        assert row.gain == tree.gain[row.node] > 0


@pytest.mark.parametrize(
    ("backend", "kind"),
    [(None, pd.DataFrame), ("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
@pytest.mark.parametrize("variant", ["medium", "compact"])
def test_every_backend_gives_the_same_columns(backend: str | None, kind: type, variant: str) -> None:
    model = tree_classifier(variant, max_rules=3, random_state=0).fit(*load_iris(return_X_y=True))
    frame = splits_frame(model, backend=backend)
    assert isinstance(frame, kind)
    names: Any = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    assert list(names) == COLUMNS
    assert frame.shape[0] == (2 if variant == "medium" else 0)


def test_words_are_not_learned_so_a_compact_tree_has_no_cuts() -> None:
    model = FERLTreeClassifier("compact", random_state=0).fit(*load_iris(return_X_y=True))
    assert model.n_rules_ > 1
    assert model.tree_.cuts is None
    assert len(splits_frame(model)) == 0
    assert prune(model.tree_, 0.1).cuts is None
    assert LEGEND not in export_text(model)


def test_a_tree_without_splits_has_an_empty_frame() -> None:
    model = FERLTreeClassifier("deep", random_state=0).fit([[1.0], [2.0]], [0, 0])
    assert len(splits_frame(model)) == 0
    assert LEGEND not in export_text(model)


def test_names_and_errors_of_the_frame_are_those_of_the_rules(iris: FERLClassifier) -> None:
    named = splits_frame(iris, feature_names=["a", "b", "c", "d"])
    assert set(named["feature"]) <= {"a", "b", "c", "d"}
    with pytest.raises(ValueError, match=r"2 names.*4 features"):
        splits_frame(iris, feature_names=["a", "b"])
    with pytest.raises(NotFittedError):
        splits_frame(FERLTreeClassifier("deep"))
    with pytest.raises(TypeError, match=r"splits_frame got a Pipeline.*pipeline\[-1\]"):
        splits_frame(make_pipeline(iris))
    table = pd.DataFrame(load_iris().data, columns=["sl", "sw", "pl", "pw"])
    model = FERLTreeClassifier("deep", max_rules=2, random_state=0).fit(table, load_iris().target)
    assert splits_frame(model)["feature"].tolist() == ["pl"]


# ---------------------------------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------------------------------

BAND = r"-?[\d.]+ ±[\d.]+"


def test_the_text_tells_the_share_behind_every_band(iris: FERLClassifier) -> None:
    text = export_text(iris, width=1000)
    conditions = [line for line in text.splitlines() if ". if " in line]
    assert len(conditions) == iris.n_rules_
    told = set()
    for line in conditions:
        assert len(re.findall(BAND, line)) == len(re.findall(BAND + r" \(\d+%\)", line)) > 0
        told |= set(re.findall(rf"({BAND}) \((\d+)%\)", line))
    frame = splits_frame(iris)
    expected = {f"{share:.0%}".rstrip("%") for share in frame["share"]}
    assert {share for _, share in told} <= expected
    assert text.endswith(LEGEND)


def test_shares_can_be_left_out(iris: FERLClassifier) -> None:
    with_shares, without = export_text(iris, width=1000), export_text(iris, width=1000, shares=False)
    assert LEGEND not in without
    assert not re.search(BAND + r" \(", without)
    assert re.sub(rf"({BAND}) \(\d+%\)", r"\1", with_shares.removesuffix("\n" + LEGEND)) == without


def test_frames_of_rules_keep_to_the_bands(iris: FERLClassifier) -> None:
    assert not rules_frame(iris)["conditions"].str.contains("%").any()


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_line_is_never_broken_between_a_band_and_its_share(width: int) -> None:
    model = FERLTreeClassifier("medium", random_state=0).fit(*load_breast_cancer(return_X_y=True))
    text = export_text(model, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert not re.search(r"^\s*(±|\(\d+%\))", text, flags=re.MULTILINE)
    assert len(re.findall(BAND, text)) == len(re.findall(BAND + r" \(\d+%\)", text)) > 100


def test_a_rule_names_a_feature_once_with_the_interval_where_all_its_splits_agree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y).model_
    tree, n_merged = model.tree, 0
    for rule in statements(model):
        assert len({condition.feature for condition in rule.conditions}) == len(rule.conditions)
        for condition in rule.conditions:
            nodes = [node for node in tree.path(rule.node) if tree.feature[node] == condition.feature]
            n_merged += len(nodes) > 1
            ends = tree.trapezoid[nodes]
            points = np.unique(ends[np.isfinite(ends)])
            grid = np.concatenate([points, (points[1:] + points[:-1]) / 2, [points[0] - 1, points[-1] + 1]])
            fits = np.prod([membership(grid, *own) for own in ends], axis=0)
            inside, touched = np.ones(len(grid), dtype=bool), np.ones(len(grid), dtype=bool)
            for bound, sign in ((condition.lower, -1), (condition.upper, 1)):
                if bound is not None:
                    away = sign * (grid - bound.theta)
                    slack = 1e-9 * max(abs(bound.theta), 1)
                    inside &= away <= -bound.half_width + slack
                    touched &= away < bound.half_width - slack
            assert (fits[inside] > 1 - 1e-6).all()
            assert (fits[~touched] < 1e-6).all()
    assert n_merged > 20


def membership(x: Floats, a: float, b: float, c: float, d: float) -> Floats:
    rises = np.ones(len(x)) if np.isinf(a) else np.clip((x - a) / (b - a), 0, 1)
    falls = np.ones(len(x)) if np.isinf(d) else np.clip((d - x) / (d - c), 0, 1)
    return np.asarray(rises * falls)
