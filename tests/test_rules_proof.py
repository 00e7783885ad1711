"""Proofs about rules: nearest changes, certificates, slopes."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from ferl import FERLClassifier
from ferl._models.model import Model
from ferl._models.nearest import nearest_changes
from ferl_bench.attack import Attacker
from law_examples import Floats, Table, fit, rows_near, tables
from oracle import rules_proof as oracle
from table_examples import Mixed, fit_mixed, mixed_tables, rows_beside
from word_examples import crisp_words

FEW = settings(max_examples=20, deadline=None, database=None)
TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


@lru_cache
def real(name: str, **options: Any) -> tuple[Floats, FERLClassifier]:
    X, y = TABLES[name](return_X_y=True)
    return X, FERLClassifier(random_state=0, **options).fit(X[::2], y[::2])


# ---------------------------------------------------------------------------------------------------------------------
# Nearest changes
# ---------------------------------------------------------------------------------------------------------------------


def flips(model: Model, row: Floats, label: int, columns: list[int]) -> tuple[Floats, Floats]:
    at, proven = np.empty((len(columns), 2)), np.empty((len(columns), 2))
    model.prover.nearest_flips(row, label, np.array(columns, dtype=np.int32), np.zeros(len(columns)), at, proven)
    return at, proven


def assert_flips_are_those_of_the_oracle(model: FERLClassifier, row: Floats) -> int:
    """Every column that rules ask and that has a number; how many flips were compared."""
    own, n_compared = model.model_, 0
    label = int(oracle.labels(own, row)[0])
    columns = [f for f in own.tree.tested_columns if f not in own.category_names and not np.isnan(row[0, f])]
    at, proven = flips(own, row, label, columns)
    for k, column in enumerate(columns):
        for side, outward in enumerate((-1, 1)):
            expected = oracle.first_flip(own, row[0], label, column, outward)
            size = abs(row[0, column]) + np.ptp(own.ranges[column])
            if np.isinf(expected):
                assert at[k, side] == expected
                assert proven[k, side] == expected
                continue
            assert at[k, side] == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
            if proven[k, side] != pytest.approx(expected, rel=1e-9, abs=1e-9 * size):
                # Where gates close the lead itself fades to zero: proofs end a little before, at what is nearly a tie.
                there = row.copy()
                there[0, column] = proven[k, side]
                assert oracle.leads(own, there, label).min() < 1e-7
                assert proven[k, side] == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)
            assert outward * proven[k, side] <= outward * at[k, side]
            n_compared += 1
    return n_compared


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("support_gate", [True, False])
def test_the_nearest_change_of_a_feature_is_exact(name: str, support_gate: bool) -> None:
    X, model = real(name, support_gate=support_gate)
    rows = X[1::2][::31]
    n_compared = sum(assert_flips_are_those_of_the_oracle(model, row[None]) for row in rows)
    assert n_compared > 0


@FEW
@given(mixed_tables(), st.integers(0, 99))
def test_the_nearest_change_is_exact_beside_categories_and_missing_values(table: Mixed, seed: int) -> None:
    model = fit_mixed(table, kind="rules", missing_conditions=seed % 2 == 0)
    for row in model._rows(rows_beside(table, seed, 6)):
        assert_flips_are_those_of_the_oracle(model, row[None])


@pytest.mark.parametrize("name", TABLES)
def test_changes_alter_the_label_and_nothing_smaller_does(name: str) -> None:
    X, model = real(name)
    spread, n_found = np.sqrt(model.tree_.profile.total_variance), 0
    for row in X[1::2][::23]:
        label = int(model.predict_proba(row[None])[0].argmax())
        changes = nearest_changes(model.model_, row[None], label, {})
        assert changes.unproven == ()
        n_found += len(changes.found)
        for change in changes.found:
            column = model.model_.feature_names().index(change.feature)
            moved = np.repeat(row[None], 203, axis=0)
            moved[:201, column] += change.proven * spread[column] * np.linspace(-1, 1, 201) * (1 - 1e-9)
            moved[201:, column] = change.exact, change.to
            labels = model.predict(moved)
            assert (labels[:201] == model.classes_[label]).all()
            assert (labels[201:] != model.classes_[label]).all()
            assert labels[-1] == change.label
            assert abs(abs(change.exact - row[column]) / spread[column] - change.proven) < 1e-9
    assert n_found > 0


# ---------------------------------------------------------------------------------------------------------------------
# Certificates
# ---------------------------------------------------------------------------------------------------------------------


def assert_radii_are_exact(model: FERLClassifier, rows: Floats, scale: Floats, rtol: float) -> int:
    """All corners of a slightly smaller box have the label, not all of a slightly larger one; rows with a radius.

    Radii are told from below, to one part in 4,096.
    """
    own, n_finite = model.model_, 0
    radii, labels = model.certified_radius(rows, scale=scale), model.predict_proba(rows).argmax(axis=1)
    for row, label, radius in zip(rows, labels.tolist(), radii, strict=True):
        unit = np.where(np.isnan(row), 0.0, scale)
        if np.isinf(radius):
            assert oracle.keeps_label(own, row, label, 1e9 * unit)
            continue
        assert radius < 1e-9 or oracle.keeps_label(own, row, label, (1 - rtol) * radius * unit)
        assert not oracle.keeps_label(own, row, label, ((1 + rtol) * (1 + 2.0**-12) * radius + 1e-9) * unit)
        n_finite += radius > 1e-9
    return n_finite


@pytest.mark.parametrize("max_conditions", [1, 3])
def test_radii_are_those_of_trying_all_corners(max_conditions: int) -> None:
    n_finite = []

    @FEW
    @given(tables(), st.integers(0, 2**32 - 1))
    def compare(table: Table, seed: int) -> None:
        X, y = table[0][:, :3], table[1]
        model = fit((X, y), kind="rules", max_rules=7, max_conditions=max_conditions, support_gate=False)
        n_finite.append(assert_radii_are_exact(model, rows_near(X, seed, 4), np.ptp(X, axis=0) + 1e-9, 1e-6))

    compare()
    assert sum(n_finite) > 25


@FEW
@given(tables(), st.integers(0, 2**32 - 1))
def test_gates_end_the_radius_of_every_label_but_the_first(table: Table, seed: int) -> None:
    X, y = table[0][:, :2], table[1]
    model = fit((X, y), kind="rules", max_rules=7)
    rows = rows_near(X, seed, 4)
    # Labels vanish where the support times the lead does, shortly before the gates are closed.
    assert_radii_are_exact(model, rows, np.ptp(X, axis=0) + 1e-9, 1e-3)
    has_other = model.predict_proba(rows).argmax(axis=1) > 0
    assert np.isfinite(model.certified_radius(rows)[has_other]).all() or model.n_rules_ == 0


@FEW
@given(mixed_tables(), st.integers(0, 99))
def test_categories_and_missing_values_stay_while_numbers_move(table: Mixed, seed: int) -> None:
    model = fit_mixed(table, kind="rules", missing_conditions=seed % 2 == 0)
    frame = rows_beside(table, seed, 6)
    radius, rows, rng = model.certified_radius(frame), model._rows(frame), np.random.default_rng(seed)
    assert np.isinf(radius).all() or table.numbers
    moved = np.repeat(rows[:, None], 200, axis=1)
    steps = rng.choice([-1.0, 0.0, 1.0], (len(rows), 200, len(table.numbers)))
    steps[:, 100:] *= rng.random((len(rows), 100, len(table.numbers)))
    moved[:, :, : len(table.numbers)] += steps * np.minimum(radius, 1e9)[:, None, None] * (1 - 1e-9)
    probability = model.model_.evidence(moved.reshape(-1, rows.shape[1])).probability
    labels = model.classes_[probability.argmax(axis=1)].reshape(len(rows), 200)
    assert (labels == model.predict(frame)[:, None]).all()


def test_a_rule_that_asks_a_feature_twice_is_certified_too() -> None:
    X, fitted = real("breast_cancer", max_conditions=2)
    tree = fitted.tree_
    inner = np.flatnonzero(tree.depth == 2)
    assert len(inner)
    feature = tree.feature.copy()
    feature[inner] = feature[tree.parent[inner]]
    model = copy(fitted)
    model.model_ = replace(fitted.model_, tree=replace(tree, feature=feature))
    attacker, rng = Attacker(model, X.std(axis=0)), np.random.default_rng(0)
    radius = model.certified_radius(X[::25], scale=X.std(axis=0))
    assert (radius > 0.01).any()
    for row, own in zip(X[::25], radius, strict=True):
        assert not len(attacker.within(row, min(own, 1e9) * (1 - 1e-9), rng)[0])


# ---------------------------------------------------------------------------------------------------------------------
# Slopes
# ---------------------------------------------------------------------------------------------------------------------


def monotone_table(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)) * [1.0, 1e3, 1e-3]
    y = (X[:, 0] + np.abs(X[:, 1]) / 1e3 + 0.5 * rng.normal(size=120) > 0.5).astype(int)
    return X, y


@FEW
@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3), st.integers(1, 3))
def test_monotone_constraints_are_proven_from_the_rules(seed: int, signs: list[int], max_conditions: int) -> None:
    table = monotone_table(seed)
    model = fit(table, kind="rules", monotonic_cst=signs, max_conditions=max_conditions)
    report = model.stability_report()
    for feature, sign in enumerate(signs):
        proven = report.direction(f"x{feature}", 1)
        if sign:
            assert proven in (0, sign)
            assert report.direction(f"x{feature}", 0) in (0, -sign)
        if proven is not None:
            rows = np.repeat(table[0][:10], 50, axis=0)
            values = np.linspace(table[0][:, feature].min(), table[0][:, feature].max(), 50)
            rows[:, feature] = np.tile(values, 10)
            steps = np.diff(model.decision_function(rows).reshape(10, 50), axis=1)
            assert (proven * steps >= -1e-9).all()
            assert proven != 0 or np.abs(steps).max() < 1e-9


@FEW
@given(tables(), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_no_score_changes_faster_than_the_slopes_and_the_constant_allow(
    table: Table, seed: int, max_conditions: int
) -> None:
    model = fit(table, kind="rules", max_conditions=max_conditions, support_gate=False)
    report, rng = model.stability_report(), np.random.default_rng(seed)
    assert model.lipschitz_ == report.lipschitz
    start = rows_near(table[0], seed, 30)
    step = np.ptp(table[0], axis=0) * rng.choice([1e-4, 0.01, 0.3]) * rng.uniform(-1, 1, start.shape)

    def ahead(rows: Floats) -> Floats:
        scores = model.contributions(rows).sum(axis=1)
        return np.asarray(scores[:, :, None] - scores[:, None])

    change = np.abs(ahead(start + step) - ahead(start)).max(axis=(1, 2))
    moved = np.abs((start + step) - start)
    size = 1 + np.abs(model.evidence_weights_).sum()
    assert (change <= report.lipschitz * moved.max(axis=1) + 1e-12 * size).all()
    probability = np.abs(model.predict_proba(start + step) - model.predict_proba(start)).sum(axis=1)
    assert (probability <= report.lipschitz / 2 * moved.max(axis=1) + 1e-12 * size).all()
    for feature in range(start.shape[1]):
        alone = start.copy()
        alone[:, feature] += step[:, feature]
        rise = ahead(alone) - ahead(start)
        lowest, highest = report.slopes[feature].T
        way = (alone - start)[:, feature, None]
        for j in range(rise.shape[2]):
            others = np.arange(rise.shape[1]) != j
            bounds = np.sort(np.stack([way * lowest, way * highest]), axis=0)[:, :, others]
            assert (rise[:, others, j] >= bounds[0] - 1e-9 * size).all()
            assert (rise[:, others, j] <= bounds[1] + 1e-9 * size).all()


@pytest.mark.parametrize("kind", ["crisp", "quantile"])
def test_directions_of_words_are_proven_too(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    words = [crisp_words(f"x{f}", X[:, f]) for f in range(4)] if kind == "crisp" else kind
    model = FERLClassifier(words=words, support_gate=False, random_state=0).fit(X, y)
    report, n_proven = model.stability_report(), 0
    for feature, label in product(range(4), range(3)):
        proven = report.direction(f"x{feature}", label)
        if proven is None:
            continue
        rows = np.repeat(X[::15], 300, axis=0)
        rows[:, feature] = np.tile(np.linspace(X[:, feature].min(), X[:, feature].max(), 300), 10)
        steps = np.diff(model.predict_proba(rows)[:, label].reshape(10, 300), axis=1)
        assert (proven * steps >= -1e-9).all()
        n_proven += proven != 0
    assert n_proven > 1


def test_categories_that_a_rule_asks_have_no_direction() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "size": rng.normal(size=200)})
    clf = FERLClassifier(max_conditions=1, random_state=0).fit(table, table["colour"] == "red")
    report = clf.stability_report()
    assert report.direction("colour", True) is None
    assert report.direction("size", True) == 0  # no rule asks it
    assert np.isfinite(report.lipschitz)


def test_the_report_says_what_is_proven() -> None:
    table = monotone_table(0)
    model = fit(table, kind="rules", monotonic_cst=[1, 0, 0], support_gate=False)
    report = model.stability_report(table[0])
    assert report.n_rows == 120
    assert 1 <= report.n_sources <= model.n_rules_ == model.stability_report().n_sources
    assert report.direction("x0", 1) == 1
    assert "Proven: a higher x0 never makes 1 less probable." in str(report)
    assert report.direction("x1", 1) is None
    assert "x1" not in str(report)
    with pytest.raises(ValueError, match=r"no feature 'x9'\. The features are"):
        report.direction("x9", 1)
    with pytest.raises(ValueError, match=r"no class 7\. The classes are"):
        report.direction("x0", 7)
