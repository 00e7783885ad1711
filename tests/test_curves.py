"""Curves and maps behind the rules: stages of the core against the oracle, and laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from core_stages import stages
from ferl import _core
from oracle import curves, evidence_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

N_CATEGORIES = np.array([0, 0, 0, 5], np.int32)
GRIDS = ("grid_column", "grid_cut_start", "grid_cut", "grid_cell_start", "grid_value", "prior", "weight")


def sample_of(X: Floats, y: Ints, weight: Floats, n_categories: Ints = N_CATEGORIES) -> _core.Sample:
    columns = np.arange(X.shape[1], dtype=np.int32)
    sampler = _core.Sampler(n_categories, int(y.max()) + 1, 0, 2**48, 0, columns)
    sampler.add(X, y.astype(np.int32), weight, 0, 1)
    return sampler.finish(1)


def random_table(seed: int, n: int, n_classes: int, gaps: float = 0.05) -> tuple[Floats, Ints, Floats]:
    """A number, a number with a spike and ties, a lattice, categories; classes by a wave, a product and the spike."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n), rng.exponential(size=n).round(2), rng.integers(0, 9, n), rng.integers(0, 5, n)]
    )
    X[rng.random(n) < 0.1, 1] = 0.5
    score = 2 * np.sin(9 * X[:, 0]) + np.sin(9 * X[:, 0]) * (X[:, 2] % 2) + 2 * (X[:, 1] == 0.5) + (X[:, 3] == 2)
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.searchsorted(cuts, score + rng.normal(scale=0.7, size=n)).astype(np.int32)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y, rng.choice([1.0, 2.0, 0.5], n)


def grow(sample: _core.Sample, **options: Any) -> dict[str, Any]:
    return _core.grow_rules(sample, _core.RuleOptions(**options), None)


def axis_cell(x: Floats, cuts: Floats, n_categories: int) -> tuple[Ints, int]:
    if n_categories:
        return np.where(np.isnan(x), 0, 1 + np.nan_to_num(x)).astype(int), n_categories + 2
    return curves.code(x, cuts), len(cuts) + 2


def grid_scores(grown: dict[str, Any], X: Floats, n_categories: Ints = N_CATEGORIES) -> Floats:
    """What curves and maps add to the scores of rows."""
    out = np.zeros((len(X), grown["grid_value"].shape[1]))
    cut, start, cells = grown["grid_cut"], grown["grid_cut_start"], grown["grid_cell_start"]
    for g, (a, b) in enumerate(grown["grid_column"]):
        cell, n = axis_cell(X[:, a], cut[start[2 * g] : start[2 * g + 1]], n_categories[a])
        if b >= 0:
            other, m = axis_cell(X[:, b], cut[start[2 * g + 1] : start[2 * g + 2]], n_categories[b])
            cell, n = cell * m + other, n * m
        assert cells[g + 1] - cells[g] == n
        out += grown["grid_value"][cells[g] : cells[g + 1]][cell]
    return out


@pytest.mark.parametrize("seed", range(6))
def test_bins_are_those_of_the_oracle(seed: int) -> None:
    X, y, weight = random_table(seed, [60, 300, 3000][seed % 3], 2)
    sample = sample_of(X, y, weight)
    for j, (column, cuts, of_map) in enumerate(stages().grid_bins(sample)):
        assert column == j
        if N_CATEGORIES[j]:
            assert len(cuts) == 0
            assert of_map.tolist() == list(range(N_CATEGORIES[j] + 2))
            continue
        expected, expected_map = curves.bins(sample.x[:, j], sample.weight)
        np.testing.assert_allclose(cuts, expected)
        assert of_map.tolist() == expected_map.tolist()


def test_a_spike_has_a_bin_of_its_own() -> None:
    X, y, weight = random_table(1, 4000, 2)
    _, cuts, of_map = stages().grid_bins(sample_of(X, y, weight))[1]
    bins = curves.code(np.array([0.49, 0.5, 0.51]), cuts)
    assert len(set(bins)) == 3
    assert len(set(of_map[bins])) == 3


def test_constant_columns_and_many_categories_have_no_bins() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(500, 3.0), rng.integers(0, 65, 500), np.full(500, np.nan), rng.normal(size=500)])
    sample = sample_of(X, rng.integers(0, 2, 500), np.ones(500), np.array([0, 65, 0, 0], np.int32))
    assert [column for column, _, _ in stages().grid_bins(sample)] == [-1, -1, -1, 3]


def random_sums(rng: np.random.Generator, n: int, n_channels: int) -> tuple[Floats, Floats]:
    h = rng.gamma(1.0, 3.0, (n, n_channels)) * (rng.random((n, 1)) < 0.9)
    return rng.normal(size=(n, n_channels)) * np.sqrt(h) * 1.5, h


@pytest.mark.parametrize("seed", range(12))
def test_steps_are_those_of_the_oracle(seed: int) -> None:
    rng, core = np.random.default_rng(seed), stages()
    e, threshold, rate = [1, 1, 4][seed % 3], [0.0, 4.0][seed % 2], 0.3
    g, h = random_sums(rng, 30, e)
    for sign in (0, 1, -1) if e == 1 else (0,):
        step = core.grid_step("curve", g, h, 1, threshold, rate, 5, sign)
        np.testing.assert_allclose(step, curves.curve_step(g, h, threshold, rate, 5, sign), atol=1e-12)
        if sign:
            assert (sign * np.diff(step[1:, 0]) >= 0).all()
    step = core.grid_step("category", g, h, 1, threshold, rate, 5)
    np.testing.assert_allclose(step, curves.category_step(g, h, threshold, rate), atol=1e-12)
    g, h = random_sums(rng, 6 * 7, e)
    h += 1e-3  # beside lines without rows, two cuts would gain the same
    for n_levels in (4, 5, 16):
        step = core.grid_step("map", g, h, 7, threshold, rate, n_levels)
        _, expected = curves.map_step(g.reshape(6, 7, e), h.reshape(6, 7, e), threshold, rate, n_levels)
        np.testing.assert_allclose(step, expected.reshape(-1, e), atol=1e-12)
        assert len(np.unique(step, axis=0)) <= n_levels


def test_a_map_step_follows_a_fine_pattern_with_enough_levels() -> None:
    """Three stripes along an axis, of which four levels show two; the threshold ends further cuts."""
    sign = np.repeat([1.0, -1.0, 1.0], 2)[:, None] * np.sign(np.arange(6) - 2.5)
    g, h = 20 * sign.reshape(36, 1), np.full((36, 1), 10.0)
    few, many, dear = (
        stages().grid_step("map", g, h, 6, threshold, 1.0, n_levels)
        for threshold, n_levels in ((0.5, 4), (0.5, 16), (470.0, 16))
    )
    assert not (np.sign(few) == np.sign(g)).all()
    assert (np.sign(many) == np.sign(g)).all()
    np.testing.assert_array_equal(dear, few)


def test_a_map_step_finds_what_neither_axis_shows() -> None:
    g = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.full((3, 3), 5.0)).reshape(36, 1)
    h = np.full((36, 1), 10.0)
    assert not stages().grid_step("curve", g.reshape(6, 6).sum(0)[:, None], h[:6], 1, 0.5, 1.0, 5).any()
    step = stages().grid_step("map", g, h, 6, 0.5, 1.0, 5)
    assert (np.sign(step) == np.sign(g)).all()


def oracle_terms(sample: _core.Sample, pairs: list[tuple[int, int]], monotone: list[int]) -> list[curves.Term]:
    """Curves of all columns, then maps."""
    fine, coarse = [], []
    for x, n in zip(sample.x.T, N_CATEGORIES, strict=True):
        if n:
            code, of_map = np.where(np.isnan(x), 0, 1 + np.nan_to_num(x)).astype(int), np.arange(n + 2)
        else:
            cuts, of_map = curves.bins(x, sample.weight)
            code = curves.code(x, cuts)
        fine.append((code, len(of_map)))
        coarse.append((of_map[code], int(of_map.max()) + 1))
    terms = [
        curves.Term([code], [size], is_categorical=bool(n), sign=sign)
        for (code, size), n, sign in zip(fine, N_CATEGORIES, monotone, strict=True)
    ]
    return terms + [curves.Term([coarse[a][0], coarse[b][0]], [coarse[a][1], coarse[b][1]]) for a, b in pairs]


@pytest.mark.parametrize(
    ("n_classes", "monotone"), [(2, [0, 0, 0, 0]), (2, [0, 0, 1, 0]), (4, [0, 0, 0, 0]), (12, [0, 0, 0, 0])]
)
def test_boosting_is_that_of_the_oracle(n_classes: int, monotone: list[int]) -> None:
    X, y, weight = random_table(3, 700, n_classes)
    sample = sample_of(X, y, weight)
    rng, pairs = np.random.default_rng(0), [(0, 2), (0, 1), (2, 3)]
    p = softmax(0.3 * rng.normal(size=(sample.n_rows, n_classes)), axis=1)
    p = p[:, 1:].copy() if n_classes == 2 else p
    expected, chances = curves.boost(oracle_terms(sample, pairs, monotone), p, sample.y, sample.weight, 0.2, 3, (3, 4))
    boosted = [
        stages().boost_grids(sample, p, np.array(pairs, np.int32), np.array(monotone, np.int32), 0.2, 3, 3, 4, threads)
        for threads in (1, 3)
    ]
    tables, found = boosted[0]
    np.testing.assert_allclose(found, chances, atol=1e-4)
    assert sum(own.any() for own in expected) >= 5
    for own, other in zip(tables, expected, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-3)
    assert all((a == b).all() for a, b in zip(tables, boosted[1][0], strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_merging_is_that_of_the_oracle(seed: int) -> None:
    rng, e, price = np.random.default_rng(seed), [1, 3][seed % 2], [0.05, 1.0, 20.0][seed % 3]
    h = rng.gamma(1.0, 3.0, (8 * 9, e)) * (rng.random((8 * 9, 1)) < 0.8)
    table = rng.normal(size=(8 * 9, e)).round(1)
    np.testing.assert_allclose(stages().merge_grid(table, h, 9, price), curves.merged(table, h, [8, 9], price))
    np.testing.assert_allclose(stages().merge_grid(table, h, 1, price), curves.merged(table, h, [72], price))


@pytest.mark.parametrize("axes", ["both", "first", "second"])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_a_purified_map_has_no_main_effects_and_the_sum_stays(n_channels: int, axes: str) -> None:
    rng = np.random.default_rng(n_channels)
    table, weight = rng.normal(size=(6, 5, n_channels)), rng.gamma(1.0, 1.0, (6, 5))
    weight[2], weight[:, 3], weight[rng.random((6, 5)) < 0.2] = 0.0, 0.0, 0.0
    pure, first, second = stages().purify_grid(table.reshape(30, -1), weight.ravel(), 5, axes)
    pure = pure.reshape(table.shape)
    np.testing.assert_allclose(pure + first[:, None] + second[None], table, atol=1e-12)
    assert (np.abs((weight[:, :, None] * pure).sum(0)).max() < 1e-9) == (axes != "first")
    assert (np.abs((weight[:, :, None] * pure).sum(1)).max() < 1e-9) == (axes != "second")
    for own, other in zip((pure, first, second), curves.purified(table, weight, axes), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-8)


def parts_of(grown: dict[str, Any], g: int) -> tuple[Floats, Floats, Floats]:
    """Cuts of both axes, and values of a curve or map."""
    start, cells = grown["grid_cut_start"], grown["grid_cell_start"]
    first, second = (grown["grid_cut"][start[2 * g + k] : start[2 * g + k + 1]] for k in (0, 1))
    return first, second, grown["grid_value"][cells[g] : cells[g + 1]]


@pytest.fixture(scope="module", params=[2, 4])
def learned(request: pytest.FixtureRequest) -> tuple[_core.Sample, dict[str, Any]]:
    X, y, weight = random_table(5, 2500, request.param)
    sample = sample_of(X, y, weight)
    return sample, grow(sample)


def test_curves_come_first_and_values_are_centred(learned: tuple[_core.Sample, dict[str, Any]]) -> None:
    _, grown = learned
    column = grown["grid_column"]
    is_map = column[:, 1] >= 0
    assert 0 < is_map.sum() < len(column)
    assert (np.diff(is_map.astype(int)) >= 0).all()
    assert (np.diff(column[~is_map, 0]) > 0).all()
    np.testing.assert_allclose(grown["grid_value"].sum(axis=1), 0, atol=1e-12)
    losses = dict(grown["grid_log"])
    assert losses["curves"] < losses["rules"]


def test_curves_have_the_mean_zero_and_maps_no_main_effects(learned: tuple[_core.Sample, dict[str, Any]]) -> None:
    sample, grown = learned
    for g, (a, b) in enumerate(grown["grid_column"]):
        first, second, value = parts_of(grown, g)
        cell, n = axis_cell(sample.x[:, a], first, N_CATEGORIES[a])
        other, m = axis_cell(sample.x[:, b], second, N_CATEGORIES[b]) if b >= 0 else (np.zeros(len(cell), int), 1)
        weight = np.bincount(cell * m + other, weights=sample.weight, minlength=n * m).reshape(n, m, 1)
        effect = weight * value.reshape(n, m, -1)
        for axis in ((0, 1),) if b < 0 else (0, 1):
            assert np.abs(effect.sum(axis=axis)).max() < 1e-6 * sample.weight.sum()


def test_categories_that_were_not_seen_add_nothing(learned: tuple[_core.Sample, dict[str, Any]]) -> None:
    _, grown = learned
    n_seen = 0
    for g, (a, b) in enumerate(grown["grid_column"]):
        first, _second, value = parts_of(grown, g)
        lines = value.reshape(N_CATEGORIES[a] + 2 if N_CATEGORIES[a] else len(first) + 2, -1, value.shape[1])
        if N_CATEGORIES[a]:
            assert not lines[-1].any()
            n_seen += 1
        if b >= 0 and N_CATEGORIES[b]:
            assert not lines[:, -1].any()
            n_seen += 1
    assert n_seen > 0


def test_missing_values_that_training_had_not_add_nothing() -> None:
    X, y, weight = random_table(6, 1500, 2, gaps=0.0)
    grown = grow(sample_of(X, y, weight))
    assert len(grown["grid_column"]) > 0
    assert not grid_scores(grown, np.full((1, 4), np.nan)).any()


def by_column(sample: _core.Sample, column: int) -> _core.Sample:
    """The sample with the values of a column as groups."""
    return sample.with_groups(np.ascontiguousarray(np.nan_to_num(sample.x[:, column], nan=-1)))


@pytest.mark.parametrize("n_classes", [2, 4, 12])
@pytest.mark.parametrize("grouped", [False, True])
def test_threads_and_repeated_rows_change_no_bit(n_classes: int, grouped: bool) -> None:
    X, y, _ = random_table(7, 1500, n_classes)
    samples = sample_of(X, y, np.full(len(y), 2.0)), sample_of(np.r_[X, X], np.r_[y, y], np.ones(2 * len(y)))
    options: dict[str, Any] = {}
    if grouped:
        samples = by_column(samples[0], 1), by_column(samples[1], 1)
        options = {"curves_only": [0, 1, 0, 0], "last_stage_ignores_groups": True}
    once, twice = grow(samples[0], **options), grow(samples[1], n_threads=3, **options)
    assert any("last stage" in name for name, _ in once["grid_log"]) == grouped
    assert len(once["grid_column"]) > 0
    for name in GRIDS:
        assert np.array_equal(once[name], twice[name])
    assert once["grid_log"] == twice["grid_log"]


@pytest.mark.parametrize(("n_classes", "max_maps"), [(2, 25), (4, 3), (2, 0)])
def test_columns_that_no_rule_reads_come_after_all_others(n_classes: int, max_maps: int) -> None:
    sample = sample_of(*random_table(11, 3000, n_classes, gaps=0.0))
    late, other = sample.x[:, 0] + sample.x[:, 2] % 2, np.random.default_rng(0).normal(size=len(sample.x))
    stages = evidence_columns.stages(5, {4}, max_maps)
    logs = []
    for column in (late, other):
        wider = sample.with_columns(np.column_stack([sample.x, column]), np.append(N_CATEGORIES, np.int32(0)))
        grown = grow(wider, curves_only=[0, 0, 0, 0, 1], max_maps=max_maps)
        pairs = [(a, b) for a, b in grown["grid_column"].tolist() if b >= 0]
        assert set(pairs) <= {*stages[0][1], *stages[1][1]}
        assert len([pair for pair in pairs if 4 not in pair]) <= stages[0][2]
        assert len(pairs) <= stages[1][2]
        assert 4 not in grown["feature"]
        logs.append([(name, loss) for name, loss in grown["grid_log"] if "last stage" not in name])
        names = [name for name, _ in grown["grid_log"]]
        assert len(set(names)) == len(names) > len(logs[-1])
    assert logs[0] == logs[1]  # the first stage does not depend on the late column


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_last_stage_adds_a_constant_at_most_where_its_column_has_no_value(n_classes: int, gaps: float) -> None:
    sample = sample_of(*random_table(11, 3000, n_classes, gaps=0.0))
    rng = np.random.default_rng(0)
    late = rng.normal(size=3000)
    wave = np.sin(4 * late) > 0  # the last stage learns a map, with a main effect of the other column in it
    y = np.where(wave & (sample.x[:, 0] > 0.5), n_classes - 1, sample.y)
    late[rng.random(3000) < gaps] = np.nan
    n_categories = np.append(N_CATEGORIES, np.int32(0))
    with_late = sample_of(np.column_stack([sample.x, late]), y, sample.weight, n_categories)
    grown = grow(with_late, curves_only=[0, 0, 0, 0, 1])
    assert [0, 4] in grown["grid_column"].tolist()
    gone = np.column_stack([with_late.x[:, :4], np.full(len(late), np.nan)])
    early = evidence_columns.stages(5, {4}, 25)[0][2]
    alone = grow(with_late.with_columns(gone, n_categories), max_maps=early)
    added = grid_scores(grown, gone, n_categories)
    difference = added - grid_scores(alone, gone, n_categories)
    np.testing.assert_allclose(difference, np.broadcast_to(difference[0], difference.shape), atol=1e-9)


@pytest.mark.parametrize("ignores", [False, True])
def test_the_last_stage_may_be_validated_on_rows_of_all_groups(ignores: bool) -> None:
    """Groups have levels of their own: a curve of the groups helps rows of known groups, and no others."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 60, 4000)
    X = np.column_stack([rng.normal(size=4000), group.astype(float)])
    y = (X[:, 0] + 3 * rng.normal(size=60)[group] + rng.logistic(size=4000) > 0).astype(np.int32)
    none = np.zeros(2, np.int32)
    sample = by_column(sample_of(X, y, np.ones(4000), none), 1)
    grown = grow(sample, curves_only=[0, 1], last_stage_ignores_groups=ignores)
    losses = dict(grown["grid_log"])
    gain = losses["rules in the last stage"] - losses["curves in the last stage"]
    assert (gain > 0.2) == ignores
    assert ([1, -1] in grown["grid_column"].tolist()) == ignores


@pytest.mark.parametrize("sign", [1, -1])
def test_curves_of_constrained_columns_are_monotone_and_in_no_map(sign: int) -> None:
    rng = np.random.default_rng(8)
    X, y, weight = random_table(8, 2500, 2)
    X[:, 0] = rng.normal(size=len(X))
    y = (np.nan_to_num(X[:, 1]) + 3 * sign * (X[:, 0] > 1.2) + rng.normal(size=len(X)) > 1).astype(np.int32)
    grown = grow(sample_of(X, y, weight), monotone=[sign, 0, 0, 0])
    columns = grown["grid_column"]
    assert 0 not in columns[columns[:, 1] >= 0]
    (own,) = np.flatnonzero(columns[:, 0] == 0)
    _, _, value = parts_of(grown, int(own))
    assert (sign * np.diff(value[1:, 1]) >= 0).all()
    assert np.ptp(value[1:, 1]) > 0


def test_max_maps_bounds_maps() -> None:
    X, y, weight = random_table(9, 2500, 2)
    sample = sample_of(X, y, weight)
    free, one, none, neither = (grow(sample, max_maps=n)["grid_column"] for n in (25, 1, 0, -1))
    n_maps = [(own[:, 1] >= 0).sum() for own in (free, one, none)]
    assert 1 <= n_maps[0] <= 25
    assert n_maps[1:] == [1, 0]
    assert len(none) > 0
    assert len(neither) == 0
    single = grow(sample, max_conditions=1)["grid_column"]
    assert len(single) > 0
    assert (single[:, 1] < 0).all()
    with pytest.raises(ValueError, match="max_maps"):
        _core.RuleOptions(max_maps=-2)


def test_tables_of_less_than_a_thousand_rows_have_none() -> None:
    X, y, _ = random_table(10, 900, 2)
    grown = grow(sample_of(X, y, np.ones(len(y))))
    assert len(grown["grid_column"]) == 0
    assert grown["grid_log"] == []
    assert grown["grid_value"].shape == (0, 2)
    assert grown["grid_cut_start"].tolist() == [0]


def test_noise_gets_neither_curves_nor_maps() -> None:
    rng = np.random.default_rng(11)
    n_used = 0
    for _ in range(5):
        X = rng.normal(size=(2000, 4))
        grown = grow(sample_of(X, rng.integers(0, 2, 2000), np.ones(2000), np.zeros(4, np.int32)))
        n_used += len(grown["grid_column"]) > 0
    assert n_used <= 2


def test_the_best_of_many_columns_have_curves() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(1200, 300))
    y = (np.sin(9 * X[:, 123]) + 0.3 * rng.normal(size=1200) > 0).astype(np.int32)
    grown = grow(sample_of(X, y, np.ones(1200), np.zeros(300, np.int32)))
    assert 123 in grown["grid_column"][:, 0]
    assert len(grown["grid_column"]) <= 256 + 25
