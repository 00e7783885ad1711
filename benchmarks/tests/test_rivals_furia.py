"""FURIA, against cases done by hand, brute force and the laws of its paper; and its table beside Weka."""

from __future__ import annotations

import json
import sys
from io import StringIO
from math import log2
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ferl_bench import compiled as compiling
from ferl_bench.data import load_folder
from ferl_bench.errors import BenchError, NotInstalledError
from ferl_bench.method import get_method
from ferl_bench.methods.furia import FURIA, FuzzyCondition, FuzzyRule, fuzzify, purest_support
from ferl_bench.render import markdown
from ferl_bench.ripper import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    Condition,
    OneClass,
    SortedRows,
    best_condition,
    exception_bits,
    listed_rows,
    merged,
    prune,
    rule_bits,
    subset_bits,
)
from ferl_bench.table import Request
from ferl_bench.tables import weka
from ferl_bench.weka_folds import weka_test_parts

INSTALLED = compiling._machine_code


@pytest.fixture(autouse=True)
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops run as Python: data are tiny here, and numba need not be installed."""
    monkeypatch.setattr(compiling, "_machine_code", lambda function: function)


def some_rows(seed: int, n: int = 90, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows with ties in four numbers and a category in the last column; classes overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 4)).round(1) + np.array([1.2, 0.0, -0.8, 0.0]) * y[:, None]
    return np.column_stack([X, (y + (rng.random(n) < 0.5) * rng.integers(0, 3, n)) % 3]), y


# ---------------------------------------------------------------------------------------------------------------------
# RIPPER: growing, pruning, description length
# ---------------------------------------------------------------------------------------------------------------------


def gain(positive: np.ndarray, covered: np.ndarray) -> float:
    p, t = positive[covered].sum(), covered.sum()
    return float(p * (log2((p + 1) / (t + 1)) - log2((positive.sum() + 1) / (len(positive) + 1))))


@pytest.mark.parametrize("seed", range(4))
def test_the_first_condition_has_the_largest_gain_of_all(seed: int) -> None:
    X, y = some_rows(seed, 40)
    positive = y == 1
    rows = SortedRows(X, categorical=[4])
    result = best_condition(rows.codes, rows.order, positive, rows.is_category, np.zeros(5, dtype=bool))
    kinds = [(column, kind) for column in range(4) for kind in (AT_MOST, AT_LEAST)] + [(4, EQUAL)]
    everything = [Condition(column, kind, bound) for column, kind in kinds for bound in np.unique(X[:, column])]
    best = max(gain(positive, one.covers(X[:, one.column])) for one in everything)
    rule = rows.grow((), positive, np.ones(40, dtype=bool))[0]
    assert result[0] == pytest.approx(best)
    assert gain(positive, rule.covers(X[:, rule.column])) == pytest.approx(best, abs=1e-5)
    assert result[1] == (positive & rule.covers(X[:, rule.column])).sum()


def test_compiled_loops_do_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install './benchmarks[numba]'")
    X, y = some_rows(1, 60)
    rows, kept = SortedRows(X, categorical=[4]), np.arange(60) % 3 > 0
    answers, models = [], []
    for machine_code in (lambda function: function, INSTALLED):
        monkeypatch.setattr(compiling, "_machine_code", machine_code)
        listed = listed_rows(rows.order, kept)
        answers.append((listed.tolist(), best_condition(rows.codes, listed, y == 2, rows.is_category, kept[:5])))
        models.append([rule.conditions for rule in FURIA(categorical=[4]).fit(X, y).rules_])
    assert answers[0] == answers[1]
    assert repr(models[0]) == repr(models[1])


def test_without_numba_a_fit_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    INSTALLED.cache_clear()
    monkeypatch.setattr(compiling, "_machine_code", INSTALLED)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(NotInstalledError, match=r"numba is not installed \(pip install './benchmarks\[numba\]'\)"):
        FURIA().fit(*some_rows(0))


def test_growth_stops_when_all_are_positive_nothing_gains_or_one_positive_row_is_left() -> None:
    rows = SortedRows(np.arange(6.0)[:, None])
    everything = np.ones(6, dtype=bool)
    assert rows.grow((), np.array([1, 1, 1, 0, 0, 0], dtype=bool), everything) == (Condition(0, AT_MOST, 2.0),)
    assert rows.grow((), everything, everything) == ()
    assert rows.grow((), np.array([1, 0, 0, 0, 0, 0], dtype=bool), everything) == ()
    assert SortedRows(np.zeros((6, 1))).grow((), np.arange(6) < 3, everything) == ()
    # On rows 1 to 5 alone, and within the rule x >= 1.
    part = np.arange(6) > 0
    assert rows.grow((), np.array([0, 1, 1, 0, 0, 0], dtype=bool), part) == (Condition(0, AT_MOST, 2.0),)
    start = (Condition(0, AT_LEAST, 1.0),)
    assert rows.grow(start, np.array([0, 1, 1, 0, 0, 0], dtype=bool), everything) == (
        *start,
        Condition(0, AT_MOST, 2.0),
    )


def test_pruning_keeps_the_shortest_beginning_that_is_right_most_often() -> None:
    """Ten rows, x <= 4 are positive: x <= 6 is right on 8, with x <= 4 on 10, with x <= 1 on 7."""
    rows, positive = SortedRows(np.arange(10.0)[:, None]), np.arange(10) <= 4
    rule = tuple(Condition(0, AT_MOST, bound) for bound in (6.0, 4.0, 1.0))
    everything = np.ones(10, dtype=bool)
    assert prune(rule, rows, positive, everything) == rule[:2]
    assert prune(rule[1:], rows, positive, everything) == rule[1:2]
    assert prune(rule, rows, positive, np.zeros(10, dtype=bool)) == rule
    # Right on 7 of 10, against (8 + 1) / (10 + 2) without conditions.
    assert prune(rule[:1], rows, np.arange(10) < 8, everything) == rule[:1]
    assert prune(rule[2:], rows, np.arange(10) < 8, everything) == ()


def test_description_lengths_are_those_done_by_hand() -> None:
    assert subset_bits(8, 2, 0.25) == pytest.approx(2 * 2 + 6 * log2(4 / 3))
    assert subset_bits(3, 3, 1.0) == 0
    assert subset_bits(3, 1, 0.0) == np.inf
    assert rule_bits(0, 20) == 0
    assert rule_bits(1, 4) == pytest.approx(0.5 * (2 + 3 * log2(4 / 3)))
    # Four of sixteen: log2 4 = 2, twice log2 2, and 4 * 2 + 12 * log2(4 / 3) to name them; half of it.
    assert rule_bits(4, 16) == pytest.approx(0.5 * (2 + 2 + 8 + 12 * log2(4 / 3)))
    # 10 rows are covered, 5 are not; 2 and 1 errors, of which a share of 0.5 is expected among the covered.
    many = log2(16) + subset_bits(10, 2, 1.5 / 10) + subset_bits(5, 1, 1 / 5)
    assert exception_bits(10, 5, 2, 1, 0.5) == pytest.approx(many)
    # 5 are covered, 10 are not: a share of 1 - 0.2 of the errors is expected among the latter.
    few = log2(16) + subset_bits(5, 2, 2 / 5) + subset_bits(10, 1, 0.8 * 3 / 10)
    assert exception_bits(5, 10, 2, 1, 0.2) == pytest.approx(few)
    assert exception_bits(0, 7, 0, 0, 0.5) == 3


def test_rules_of_one_class_are_found_and_idle_ones_are_not() -> None:
    """Two intervals of a number, and a second number of noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(300, 2))
    positive = ((X[:, 0] > 2) & (X[:, 0] < 4)) | (X[:, 0] > 8)
    rows = SortedRows(X)
    rules = OneClass(rows, positive, np.random.default_rng(0)).learn()
    covered = np.any([rows.covers(rule) for rule in rules], axis=0)
    assert np.mean(covered == positive) > 0.98
    assert len(rules) == 2
    assert {condition.column for rule in rules for condition in rule} == {0}


def test_later_conditions_of_the_same_column_and_kind_replace_earlier_ones() -> None:
    a, b, c, d = (
        Condition(*one) for one in ((0, AT_MOST, 5.0), (0, AT_LEAST, 1.0), (1, AT_MOST, 5.0), (0, AT_MOST, 3.0))
    )
    assert merged((a, b, c, d)) == (b, c, d)


# ---------------------------------------------------------------------------------------------------------------------
# Soft edges, stretching, answers
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_every_row_of_the_crisp_rule_is_a_full_member_of_the_fuzzy_one(seed: int) -> None:
    X, y = some_rows(seed)
    rows, positive = SortedRows(X, categorical=[4]), y == seed
    for rule in OneClass(rows, positive, np.random.default_rng(0)).learn():
        soft = FuzzyRule(0, fuzzify(rule, rows, positive), np.zeros(len(rule) + 1))
        membership = soft.memberships(X)[-1]
        assert np.all(membership[rows.covers(rule)] == 1)
        assert np.all(membership[~rows.covers(rule)] < 1)
        for condition, edge in zip(rule, soft.conditions, strict=True):
            assert edge.core == condition
            if condition.kind == EQUAL:
                assert np.isnan(edge.support)
            else:
                assert (edge.support > condition.bound) == (condition.kind == AT_MOST)
                assert edge.support in X[:, condition.column]


@pytest.mark.parametrize(("kind", "bound"), [(AT_MOST, -0.3), (AT_LEAST, 0.4)])
def test_the_edge_is_the_widest_of_the_purest(kind: int, bound: float) -> None:
    X, y = some_rows(5, 60, 2)
    rows, positive = SortedRows(X), y == 0
    among = X[:, 1] > -0.5
    condition = Condition(1, kind, X[np.abs(X[:, 1] - bound).argmin(), 1])
    values = X[among, 1]
    ends = [v for v in np.unique(values) if (v > condition.bound if kind == AT_MOST else v < condition.bound)]
    purity = {}
    for end in ends:
        membership = FuzzyCondition(condition, end).membership(values)
        purity[end] = membership[positive[among]].sum() / membership.sum()
    best = max(purity.values())
    widest = max((end for end in ends if purity[end] > best - 1e-12), key=lambda end: abs(end - condition.bound))
    assert purest_support(condition, rows, positive, among) == (pytest.approx(best), widest)


def test_an_edge_without_rows_beyond_ends_at_the_nearest_value_of_all_rows() -> None:
    rows, positive = SortedRows(np.arange(8.0)[:, None]), np.arange(8) < 3
    assert purest_support(Condition(0, AT_MOST, 3.0), rows, positive, np.arange(8) <= 3) == (0.75, 4.0)
    assert purest_support(Condition(0, AT_LEAST, 2.0), rows, positive, np.arange(8) == 3) == (0.0, 1.0)
    assert purest_support(Condition(0, AT_LEAST, 2.0), rows, positive, np.zeros(8, dtype=bool)) == (0.0, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_stretched_rule_never_covers_less(seed: int) -> None:
    X, y = some_rows(seed)
    model = FURIA(categorical=[4]).fit(X, y)
    other = some_rows(seed + 50)[0]
    assert model.rules_
    for rule in model.rules_:
        memberships = rule.memberships(other)
        assert np.all(np.diff(memberships, axis=0) <= 0)  # the rule cut earlier has every row at least as much
        stretched = rule.stretched_support(other)
        assert np.all(stretched[rule.support(other) > 0] > 0)
        np.testing.assert_array_equal(stretched > 0, memberships[1] > 0)


def by_hand() -> FURIA:
    """Class 0: x0 <= 1 (0 at 3) and x1 <= 0 (0 at 1), confidences .5 .6 .9. Class 1: x0 >= 8 (0 at 6), .4 .8."""
    model = FURIA()
    model.classes_, model.priors_ = np.array([10, 20]), np.array([0.6, 0.4])
    first = (FuzzyCondition(Condition(0, AT_MOST, 1.0), 3.0), FuzzyCondition(Condition(1, AT_MOST, 0.0), 1.0))
    second = (FuzzyCondition(Condition(0, AT_LEAST, 8.0), 6.0),)
    model.rules_ = [
        FuzzyRule(0, first, np.array([0.5, 0.6, 0.9])),
        FuzzyRule(1, second, np.array([0.4, 0.8])),
        FuzzyRule(1, second, np.array([0.4, 0.1])),
    ]
    return model


def test_scores_are_those_done_by_hand() -> None:
    """A row in both edges; of two rules, which are summed; of a stretched rule; and one that fails all at once."""
    X = np.array([[2.0, 0.5], [7.0, 0.0], [2.0, 5.0], [5.0, 0.0]])
    expected = [[0.9 * 0.5 * 0.5, 0], [0, (0.8 + 0.1) * 0.5], [0.6 * 0.5 * 2 / 4, 0], [0.6, 0.4]]
    np.testing.assert_allclose(by_hand()._scores(X), expected)
    np.testing.assert_array_equal(by_hand().predict(X), [10, 20, 10, 10])


def test_equal_scores_go_to_the_more_frequent_class() -> None:
    model = by_hand()
    both = (FuzzyCondition(Condition(0, AT_MOST, 1.0), 3.0),)
    model.rules_ = [FuzzyRule(label, both, np.array([0.5, 0.7])) for label in (0, 1)]
    assert model.predict(np.zeros((1, 2))).tolist() == [10]
    model.priors_ = np.array([0.4, 0.6])
    assert model.predict(np.zeros((1, 2))).tolist() == [20]


def test_a_confidence_is_the_share_of_its_class_drawn_to_the_prior() -> None:
    X, y = some_rows(2)
    model = FURIA().fit(X, y)
    for rule in model.rules_:
        membership = rule.memberships(X)[-1]
        prior = np.mean(y == rule.label)
        right = (membership * (y == rule.label)).sum()
        assert rule.confidences[-1] == pytest.approx((2 * prior + right) / (2 + membership.sum()))
        assert rule.confidences[0] == pytest.approx(prior)


def test_the_row_of_the_benchmark() -> None:
    X, y = some_rows(0, 120)
    method = get_method("FURIA")
    fitted, again = (method.fit(X[::2], 3 * y[::2], 7) for _ in range(2))
    np.testing.assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert fitted.classes_.tolist() == [0, 3, 6]
    assert np.mean(fitted.predict(X[1::2]) == 3 * y[1::2]) > 0.6
    assert method.size is not None
    assert method.size(fitted) == len(fitted.rules_) > 3
    assert method.paper == {"accuracy": 78.51, "aurc": 17.42, "size": 69}


def test_the_seed_draws_the_rows_for_pruning() -> None:
    X, y = some_rows(3, 100)
    seen = {repr([rule.conditions for rule in FURIA(seed).fit(X, y).rules_]) for seed in (0, 1, 2)}
    assert len(seen) > 1


@pytest.mark.parametrize("X", [np.zeros((12, 2)), np.arange(24.0).reshape(12, 2)])
def test_one_class_and_columns_of_one_value_leave_the_prior(X: np.ndarray) -> None:
    fitted = FURIA().fit(X, np.full(12, 4))
    assert (fitted.classes_.tolist(), fitted.rules_) == ([4], [])
    np.testing.assert_array_equal(fitted.predict_proba(X), np.ones((12, 1)))
    constant = FURIA().fit(np.zeros((12, 2)), np.repeat([0, 1], [4, 8]))
    np.testing.assert_allclose(constant.predict_proba(X), np.tile([1 / 3, 2 / 3], (12, 1)))


def test_missing_values_are_refused_with_their_number() -> None:
    with pytest.raises(ValueError, match="X has 1 missing values; FURIA takes complete rows, impute them first"):
        FURIA().fit(np.array([[np.nan], [1.0]]), np.array([0, 1]))


# ---------------------------------------------------------------------------------------------------------------------
# Beside Weka
# ---------------------------------------------------------------------------------------------------------------------


def test_wekas_folds_are_stratified_parts_of_all_rows() -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [53, 31, 19]))
    parts = weka_test_parts(y)
    assert sorted(np.concatenate(parts).tolist()) == list(range(103))
    assert [len(part) for part in parts] == [11] * 3 + [10] * 7
    counts = np.array([np.bincount(y[part], minlength=3) for part in parts])
    assert np.all(np.ptp(counts, axis=0) <= 1)
    assert [part.tolist() for part in weka_test_parts(y, seed=2)] != [part.tolist() for part in parts]


def test_wekas_folds_of_six_rows() -> None:
    """With seed 1 Java draws 3 3 1 0 0, which makes 4 2 0 1 5 3 of the rows; rows 0 and 1 change places by class."""
    parts = weka_test_parts(np.array([0, 1, 1, 0, 1, 0]), n_folds=3)
    assert [part.tolist() for part in parts] == [[4, 0], [2, 5], [1, 3]]


@pytest.fixture
def request_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Request:
    """``wine``: two numbers. ``german``: a number and a category. ``other``: not a set that Weka has a figure of."""
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for name in ("wine", "other"):
        lines = [f"{rng.normal(2 * k):.2f},{rng.normal():.2f},{k}" for k in [0, 1] * 25]
        (tmp_path / "data" / f"{name}.csv").write_text("\n".join(["x0,x1,class", *lines]) + "\n")
    lines = [f"{rng.normal():.2f},{'ab'[k]},{k}" for k in [0, 1] * 25]
    (tmp_path / "data" / "german.csv").write_text("\n".join(["x0,x1,class", *lines]) + "\n")
    monkeypatch.setitem(weka.PROGRAMS, "FURIA", weka.PROGRAMS["FURIA"]._replace(n_seeds=2))
    return Request(load_folder(tmp_path / "data"), tmp_path / "out", Console(file=StringIO(), width=200))


def test_the_table_has_wekas_figures_beside_ours(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weka, "require", lambda package, extra: None)  # the loops are not compiled here
    report = weka.run_weka(request_of)
    data = json.loads(json.dumps(report.data, allow_nan=False))["methods"]
    assert {method: sorted(item) for method, item in data.items()} == {
        name: ["german", "wine"] for name in weka.PROGRAMS
    }
    figures = data["FURIA"]["wine"]
    assert figures["weka"] == {"accuracy": 94.94, "size": 7}
    assert figures["lowest"] <= figures["accuracy"] <= figures["highest"] <= 100
    # The category is the class: one condition for each class, in a tree of two leaves.
    assert (data["FURIA"]["german"]["accuracy"], data["FURIA"]["german"]["size"]) == (100, 2)
    assert (data["C4.5"]["german"]["accuracy"], data["C4.5"]["german"]["size"]) == (100, 2)
    text = markdown(report)
    assert "| german | 74.10 | 100.00 | +25.90 | 100.00 | 100.00 | 100.00 | +25.90 | 9 | 2.0 |" in text
    assert "FURIA, within 2 points of Weka: " in text
    assert [line.whose for line in report.headlines] == ["the goal"] * 4


def test_the_table_does_without_numba_and_refuses_to_do_without_data(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    report = weka.run_weka(request_of)
    assert list(report.data["methods"]) == ["C4.5"]  # type: ignore[call-overload]
    assert report.failures == ["FURIA: numba is not installed (pip install './benchmarks[numba]')"]
    others = Request([data for data in request_of.data_sets if data.name == "other"], request_of.out, Console())
    with pytest.raises(BenchError, match="it takes some of australian, balance"):
        weka.run_weka(others)


def test_near_is_two_points_as_printed() -> None:
    published = weka.PROGRAMS["FURIA"].published
    figures = {"wine": {"accuracy": 92.94}, "glass": {"accuracy": 73.036}, "pima": {"accuracy": 78.172}}
    assert {name: published[name].accuracy for name in figures} == {"wine": 94.94, "glass": 71.03, "pima": 76.17}
    assert weka.n_near("FURIA", figures) == 2
