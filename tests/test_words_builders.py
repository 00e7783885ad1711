"""Partitions from data: quantiles, widths, and MDLP against a slow version of itself."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ferl.words import (
    LinguisticVariable,
    PartitionError,
    arrange,
    mdlp_partition,
    quantile_partition,
    triangular_partition,
    width_partition,
    word_conditions,
)
from word_examples import (
    BUILDERS,
    INF,
    LAW,
    TEMPERATURE,
    columns,
    ends,
    near,
)

# ---------------------------------------------------------------------------------------------------------------------
# Builders
# ---------------------------------------------------------------------------------------------------------------------


def test_three_sets_have_the_breakpoints_of_the_method():
    X = np.random.default_rng(0).normal(size=(1001, 2))
    for j, variable in enumerate(quantile_partition(X, ["a", "b"])):
        q20, q40, q60, q80 = np.quantile(X[:, j], [0.2, 0.4, 0.6, 0.8], method="inverted_cdf")
        expected = [[-INF, -INF, q20, q40], [q20, q40, q60, q80], [q60, q80, INF, INF]]
        np.testing.assert_array_equal(ends(variable), expected)
        assert [one.name for one in variable.sets] == ["low", "medium", "high"]


def test_equal_widths_divide_the_range():
    variable = width_partition([[0.0], [1.0], [1.5], [2.0], [8.0], [9.0]], n_sets=5)[0]
    np.testing.assert_allclose(ends(variable)[1:-1], [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]])


@pytest.mark.parametrize("n_sets", [2, 3, 5])
def test_triangles_meet_in_quantiles(n_sets):
    x = np.random.default_rng(0).lognormal(size=(397, 1))
    variable = triangular_partition(x, n_sets=n_sets)[0]
    peaks = np.quantile(x, np.linspace(0.05, 0.95, n_sets), method="inverted_cdf")
    below = np.arange(n_sets) <= (n_sets - 1) / 2
    above = -np.quantile(-x, np.linspace(0.95, 0.05, n_sets), method="inverted_cdf")
    expected = np.where(below, peaks, above)
    np.testing.assert_array_equal([one.c if k == 0 else one.b for k, one in enumerate(variable.sets)], expected)
    for one, low, high in zip(variable.sets[1:-1], expected[:-2], expected[2:], strict=True):
        assert (one.a, one.d) == (low, high)
    tied = np.r_[np.zeros(90), np.arange(1.0, 11.0)][:, None]
    assert triangular_partition(tied) == quantile_partition(tied)


@BUILDERS
@LAW
@given(columns(), st.integers(2, 7))
def test_built_sets_sum_to_one_everywhere_and_none_is_empty(build, column, n_sets):
    variable = build(column[:, None], n_sets=n_sets)[0]
    distinct = np.unique(column)
    assert (variable is None) == (len(distinct) == 1)
    if variable is None:
        return
    assert len(variable.sets) <= min(n_sets, len(distinct))
    np.testing.assert_allclose(variable.membership(near(column)).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(variable.membership(near(ends(variable))).sum(axis=1), 1, rtol=1e-12)
    if build is quantile_partition:
        assert (variable.membership(distinct) > 0.999).any(axis=0).all()


@LAW
@given(columns(), st.integers(2, 7), st.sampled_from([0.0, 0.25, 0.5]), st.integers(0, 2**32 - 1))
def test_supervised_sets_sum_to_one_everywhere_and_none_is_empty(column, n_sets, softness, seed):
    y = (np.argsort(np.argsort(column)) * 3 // len(column)) ^ (np.random.default_rng(seed).random(len(column)) < 0.1)
    variable = mdlp_partition(column[:, None], y, max_sets=n_sets, softness=softness)[0]
    assert (variable is None) == (len(np.unique(column)) == 1)
    if variable is None:
        return
    assert len(variable.sets) <= n_sets
    np.testing.assert_allclose(variable.membership(near(column)).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(variable.membership(near(ends(variable))).sum(axis=1), 1, rtol=1e-12)
    assert (variable.membership(np.unique(column)).max(axis=0) >= 0.5).all()


TRANSFORMATIONS = {"cube": lambda x: x**3, "exponential": np.exp, "affine": lambda x: 3 * x - 7}


@pytest.mark.parametrize("transform", list(TRANSFORMATIONS.values()), ids=list(TRANSFORMATIONS))
@LAW
@given(st.lists(st.integers(-300, 300), min_size=1, max_size=60, unique=True), st.integers(2, 7))
def test_quantile_sets_follow_increasing_transformations(transform, values, n_sets):
    x = np.array(values)[:, None] / 100
    here, there = quantile_partition(x, n_sets=n_sets)[0], quantile_partition(transform(x), n_sets=n_sets)[0]
    assert (here is None) == (there is None)
    if here is not None:
        finite = np.isfinite(ends(here))
        np.testing.assert_array_equal(transform(ends(here)[finite]), ends(there)[finite])
        np.testing.assert_array_equal(ends(here)[~finite], ends(there)[~finite])


@LAW
@given(st.lists(st.integers(-300, 300), min_size=13, max_size=60, unique=True), st.integers(2, 7))
def test_quantile_sets_turn_around_with_the_feature(values, n_sets):
    x = np.array(values)[:, None] / 100
    here, there = quantile_partition(x, n_sets=n_sets)[0], quantile_partition(-x, n_sets=n_sets)[0]
    np.testing.assert_array_equal(-ends(there)[::-1, ::-1], ends(here))


weighted_columns = st.lists(st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4)), min_size=1, max_size=30)


@LAW
@given(weighted_columns, st.integers(2, 7), st.sampled_from([0.1, 1.0, 1 / 3]))
def test_a_weight_counts_rows_and_their_order_does_not_matter(rows, n_sets, scale):
    x, weight = np.array(rows).T
    assume(weight.any())
    y = (x > 0).astype(int) + (x % 2 == 0)
    again, order = np.repeat(np.arange(len(x)), weight.astype(int)), np.argsort(-weight)
    for build in (quantile_partition, width_partition):
        expected = build(x[again][:, None], n_sets=n_sets)
        assert build(x[:, None], n_sets=n_sets, sample_weight=weight) == expected
        assert build(x[order][:, None], n_sets=n_sets, sample_weight=weight[order]) == expected
        assert build(x[:, None], n_sets=n_sets, sample_weight=weight * scale) == expected
    expected = mdlp_partition(x[again][:, None], y[again], max_sets=n_sets)
    assert mdlp_partition(x[:, None], y, max_sets=n_sets, sample_weight=weight) == expected
    assert mdlp_partition(x[order][:, None], y[order], max_sets=n_sets, sample_weight=weight[order]) == expected


@pytest.mark.parametrize("n_sets", [2, 3, 7])
@BUILDERS
def test_two_values_have_two_sets_that_ramp_between_them(build, n_sets):
    variable = build([[0.0]] * 97 + [[5.0]] * 3, n_sets=n_sets)[0]
    np.testing.assert_array_equal(ends(variable), [[-INF, -INF, 0, 5], [0, 5, INF, INF]])


@pytest.mark.parametrize("n_sets", [3, 5])
@BUILDERS
def test_no_more_sets_than_values_and_each_value_is_full_in_its_own(build, n_sets):
    variable = build([[1.0]] * 50 + [[2.0]] * 2 + [[10.0]], n_sets=n_sets)[0]
    np.testing.assert_array_equal(ends(variable), [[-INF, -INF, 1, 2], [1, 2, 2, 10], [2, 10, INF, INF]])
    np.testing.assert_array_equal(variable.membership([1, 2, 10]), np.eye(3))


@pytest.mark.parametrize(
    ("counts", "ramps"),
    [
        ({0: 90, 1: 4, 2: 3, 3: 3}, [(0, 1)]),  # low, and what is above it
        ({-2: 3, -1: 3, 0: 90, 1: 2, 2: 2}, [(-1, 0), (0, 1)]),  # below, at and above the heavy value
        ({0: 3, 1: 3, 2: 4, 3: 90}, [(2, 3)]),
        ({0: 10, 1: 35, 2: 15, 3: 15, 4: 25}, [(1, 2), (3, 4)]),  # 30 % below the ramp is nearer to 45 than to 10
        ({0: 20, 1: 40, 2: 15, 3: 15, 4: 10}, [(0, 1), (2, 3)]),
        ({0: 19, 1: 50, 2: 1, 3: 15, 4: 15}, [(0, 1), (1, 3)]),
    ],
)
def test_heavy_values_leave_ramps_beside_them(counts, ramps):
    column = np.repeat(list(counts), list(counts.values())).astype(float)
    variable = quantile_partition(column[:, None])[0]
    assert [one.ends[:2] for one in variable.sets[1:]] == ramps
    assert [one.ends[2:] for one in variable.sets[:-1]] == ramps


@BUILDERS
def test_constant_and_missing_columns_have_no_variable_and_names_are_those_of_the_table(build):
    table = pd.DataFrame({"age": [1.0, 2, 3, 4], "same": 7.0, "gone": np.nan, " ": [1, 2, 3, np.nan]})
    age, same, gone, last = build(table)
    assert same is None
    assert gone is None
    assert (age.name, last.name) == ("age", "x3")
    assert last == LinguisticVariable("x3", build([[1], [2], [3]])[0].sets)
    assert build(table.drop(columns=[" ", "gone"]))[0] == build(pl.DataFrame({"age": [1, 2, 3, 4]}))[0]
    assert [v.name for v in build(np.eye(3))] == ["x0", "x1", "x2"]
    assert build(np.eye(2), ["line\nbreak", 7])[0].name == "line\ufffdbreak"


@pytest.mark.parametrize("build", [quantile_partition, width_partition])
def test_time_stamps_and_neighbouring_numbers_are_told_apart(build):
    stamps = 1.7e9 + np.arange(60) * 2.4e-7
    variable = build(stamps[:, None])[0]
    assert len(variable.sets) == 3
    assert (variable.membership(stamps).max(axis=0) == 1).all()
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0), 1 + 2**-51, 1 + 3 * 2**-52])
    memberships = build(neighbours[:, None])[0].membership(neighbours)
    np.testing.assert_array_equal(memberships.sum(axis=1), 1)
    for step in (0.0, 0.25):
        variable = mdlp_partition(neighbours[:2, None], [0, 1], softness=step)[0]
        np.testing.assert_array_equal(variable.membership(neighbours[:2]), np.eye(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_sets": 1}, r"'n_sets' parameter must be an int in the range \[2, 7\]. Got 1"),
        ({"n_sets": 8}, "Got 8"),
        ({"n_sets": 2.5}, "Got 2.5"),
        ({"feature_names": ["a"]}, "feature_names has 1 names; the table has 2 features"),
        ({"X": [1.0, 2.0]}, r"X has shape \(2,\)"),
        ({"X": np.empty((0, 2))}, r"shape=\(0, 2\)"),
        ({"X": [[1.0, INF], [1.0, 2.0]]}, "Feature 'x1' holds inf"),
        ({"X": [[1.0, -1e200], [1.0, 2.0]]}, r"Feature 'x1' holds 1e\+200.*Rescale"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
        ({"sample_weight": [1.0, -1.0]}, r"sample_weight\[1\] is -1.0"),
    ],
)
@BUILDERS
def test_builders_refuse_what_they_cannot_use(build, arguments, message):
    with pytest.raises(ValueError, match=message):
        build(**({"X": np.eye(2)} | arguments))


# ---------------------------------------------------------------------------------------------------------------------
# MDLP
# ---------------------------------------------------------------------------------------------------------------------


def entropy(labels: list[int]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


def slow_best_cut(rows: list[tuple[float, int]]) -> tuple[float, float, list, list] | None:
    """Profit, place and sides of the best of all cuts, from the definition; of equals the most central, the lowest."""
    n, labels = len(rows), [label for _, label in rows]
    found = []
    for low, high in pairwise(sorted({value for value, _ in rows})):
        left, right = [row for row in rows if row[0] <= low], [row for row in rows if row[0] >= high]
        sides = [[label for _, label in side] for side in (left, right)]
        gain = entropy(labels) - sum(len(side) / n * entropy(side) for side in sides)
        found.append((-round(n * gain, 9), abs(len(left) - len(right)), (low + high) / 2, left, right))
    if not found:
        return None
    _, _, cut, left, right = min(found, key=lambda candidate: candidate[:3])
    parts = [labels, [label for _, label in left], [label for _, label in right]]
    gain = entropy(labels) - sum(len(part) / n * entropy(part) for part in parts[1:])
    k, k1, k2 = (len(set(part)) for part in parts)
    delta = math.log2(3**k - 2) - (k * entropy(parts[0]) - k1 * entropy(parts[1]) - k2 * entropy(parts[2]))
    profit = n * gain - (math.log2(n - 1) + delta)
    return round(profit, 9), cut, left, right


def slow_mdlp(values: list[float], labels: list[int], max_cuts: int) -> list[float]:
    """Fayyad and Irani's recursion; with more cuts than allowed, the most profitable first."""
    open_parts = [slow_best_cut(sorted(zip(values, labels, strict=True)))]
    cuts: list[float] = []
    while len(cuts) < max_cuts:
        paying = [part for part in open_parts if part is not None and part[0] > 0]
        if not paying:
            break
        best = min(paying, key=lambda part: (-part[0], part[1]))
        cuts.append(best[1])
        open_parts.remove(best)
        open_parts += [slow_best_cut(best[2]), slow_best_cut(best[3])]
    return sorted(cuts)


def cuts_of(variable: LinguisticVariable | None) -> list[float]:
    return [] if variable is None else [(one.c + one.d) / 2 for one in variable.sets[:-1]]


@LAW
@given(st.data(), st.integers(2, 5), st.integers(2, 7))
def test_cuts_are_those_of_the_slow_version(data, n_classes, max_sets):
    # Blocks of a class with some noise, so that several cuts pay; integers, so that there are ties.
    values = data.draw(st.lists(st.integers(0, 40).map(float), min_size=2, max_size=60))
    noise = data.draw(st.lists(st.integers(0, 7 * n_classes), min_size=len(values), max_size=len(values)))
    labels = [(int(v) // 8 if z >= n_classes else z) % n_classes for v, z in zip(values, noise, strict=True)]
    found = mdlp_partition(np.array(values)[:, None], labels, max_sets=max_sets, fallback="drop", softness=0.25)[0]
    np.testing.assert_allclose(cuts_of(found), slow_mdlp(values, labels, max_sets - 1), rtol=1e-12)


def test_a_case_computed_by_hand():
    # AAAABBBB: the cut saves 8 bits and costs log2(7) + log2(3**2 - 2) - 2 * 1 = 3.61.
    X, y = np.arange(1.0, 9.0)[:, None], list("AAAABBBB")
    # Half-width: a quarter of the distance from 4.5 to 1 and to 8.
    expected = [[-INF, -INF, 3.625, 5.375], [3.625, 5.375, INF, INF]]
    np.testing.assert_array_equal(ends(mdlp_partition(X, y)[0]), expected)
    # ABAB: the best cuts, after the first and before the last row, save 1.25 bits and cost 4.23.
    assert mdlp_partition(X[:4], y=list("ABAB"), fallback="drop") == [None]
    assert cuts_of(mdlp_partition(X[:4], y=list("ABAB"))[0]) == [1.5]


def test_the_ramp_of_a_cut_looks_to_its_nearer_neighbour():
    X = np.array([0.0] + [1, 2, 3, 4, 5] * 4 + [9, 10, 11, 12] * 5 + [30, 31, 35, 40] * 5)[:, None]
    y = np.digitize(X[:, 0], [7, 21])
    for softness, half in ((0.25, [7 / 4, 14 / 4]), (0.5, [7 / 2, 14 / 2]), (0.0, [0, 0])):
        variable = mdlp_partition(X, y, softness=softness)[0]
        assert [(one.c, one.d) for one in variable.sets[:-1]] == [
            (7 - half[0], 7 + half[0]),
            (21 - half[1], 21 + half[1]),
        ]


def test_a_feature_that_tells_nothing_gets_its_best_cut_or_no_variable():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)  # two features that tell something only together
    best = mdlp_partition(X, y)
    assert [len(variable.sets) for variable in best] == [2, 2, 2]
    assert mdlp_partition(X, y, fallback="drop") == [None, None, None]
    one_class = mdlp_partition(X, np.zeros(200))
    np.testing.assert_allclose(cuts_of(one_class[0]), [np.median(X[:, 0])])  # nothing to tell: halves
    assert mdlp_partition(X[:1], [0]) == [None, None, None]


def test_missing_values_are_passed_over():
    X = np.array([[1, np.nan], [2, np.nan], [3, np.nan], [np.nan, np.nan], [8, np.nan], [9, np.nan], [10, np.nan]])
    variable, gone = mdlp_partition(X, [0, 0, 0, 1, 1, 1, 1])
    assert cuts_of(variable) == [5.5]
    assert gone is None


def test_small_weights_count_as_whole_rows_on_average():
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    assert mdlp_partition(X, y, sample_weight=np.full(20, 1e-3)) == mdlp_partition(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_sets": 8}, r"'max_sets' parameter must be an int in the range \[2, 7\]. Got 8"),
        ({"fallback": "none"}, "'fallback' parameter must be 'best_cut' or 'drop'. Got 'none'"),
        ({"softness": 0.6}, r"'softness' parameter must be a float in the range \[0, 0.5\]. Got 0.6"),
        ({"y": [0]}, r"y has shape \(1,\); it needs one label per row, shape \(2,\)"),
    ],
)
def test_mdlp_refuses_what_it_cannot_use(arguments, message):
    with pytest.raises(ValueError, match=message):
        mdlp_partition(**({"X": np.eye(2), "y": [0, 1]} | arguments))


# ---------------------------------------------------------------------------------------------------------------------
# Partitions
# ---------------------------------------------------------------------------------------------------------------------


def test_terms_list_every_word_of_every_feature():
    found = word_conditions([None, TEMPERATURE, None, TEMPERATURE])
    assert found.feature.dtype == np.int32
    assert found.feature.tolist() == [1] * 4 + [3] * 4
    assert found.word == ["normal", "fever", "not normal", "not fever"] * 2
    np.testing.assert_array_equal(found.trapezoid[:2], ends(TEMPERATURE))
    np.testing.assert_array_equal(found.trapezoid[2], TEMPERATURE.complement("normal").ends)
    assert found.trapezoid.flags.c_contiguous
    found = word_conditions([None, None])
    assert (found.feature.shape, found.feature.dtype, found.trapezoid.shape) == ((0,), np.int32, (0, 4))
    assert found.word == []


def test_a_complement_that_is_a_set_of_the_variable_is_not_listed_again():
    two = quantile_partition(np.arange(20.0)[:, None], n_sets=2)
    assert word_conditions(two).word == ["low", "high"]
    assert word_conditions(quantile_partition(np.arange(20.0)[:, None])).word == [
        "low",
        "medium",
        "high",
        "not low",
        "not high",
    ]


def test_variables_find_their_features_by_name():
    assert arrange([TEMPERATURE, None], ["age", "temperature"]) == [None, TEMPERATURE]
    with pytest.raises(PartitionError, match=r"'temperature' is not a feature.*most like it is 'Temperature'"):
        arrange([TEMPERATURE], ["age", "Temperature"])
    with pytest.raises(PartitionError, match="not a feature"):
        arrange([TEMPERATURE], [])
    with pytest.raises(PartitionError, match="Two variables are called 'temperature'"):
        arrange([TEMPERATURE, TEMPERATURE], ["temperature"])
