"""Laws of explanations: parts add up, ignorance is split exactly, and no smaller change alters the label."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferl import FERLClassifier, FuzzyTree, _core
from ferl._models.nearest import Changes, nearest_changes
from ferl._models.tree_model import fired_sources
from ferl._tables import OneRow, read_row
from ferl._tell.explain import explain
from law_examples import COMBINATIONS, RULES, SOURCES, Floats, Table, fit, rows_near, tables
from oracle.line_search import Line
from table_examples import Mixed, fit_mixed, mixed_tables, rows_beside

TOLERANCE = 1e-7  # of a spread, between the proven distance and the change
FEW = settings(max_examples=25, deadline=None, database=None)
VARIANTS = st.sampled_from(["deep", "compact"])
OPTIONS = st.fixed_dictionaries(
    {
        "kind": VARIANTS,
        "discount": st.sampled_from([0.0, 4.0]),
        "support_gate": st.booleans(),
        "consequents": st.sampled_from(["shrinkage", "raw"]),
    }
)


def stories(model: FERLClassifier, rows: Floats, **options: Any) -> list[Any]:
    return [explain(model.model_, OneRow(row[None]), **options) for row in rows]


def mixed_models(table: Mixed, seed: int, **options: Any) -> tuple[FERLClassifier, pd.DataFrame]:
    return fit_mixed(table, missing_conditions=seed % 2 == 0, **options), rows_beside(table, seed, 8)


# ---------------------------------------------------------------------------------------------------------------------
# Belief
# ---------------------------------------------------------------------------------------------------------------------


def assert_parts_add_up(story: Any) -> None:
    parts = np.array([rule.belief for rule in story.rules]).reshape(-1, len(story.classes))
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(axis=0), story.belief, atol=1e-12)
    assert all(0 <= bel <= 1 + 1e-12 for rule in story.rules for bel in rule.belief_without)
    if len(story.rules) == 1:
        assert story.rules[0].belief_without == (0.0,) * len(story.classes)


@COMBINATIONS
@SOURCES
@FEW
@given(table=tables(), seed=st.integers(0, 99), options=OPTIONS)
def test_what_the_rules_give_adds_up_to_the_belief(combination, sources, table: Table, seed, options):
    model = fit(table, combination=combination, sources=sources, **options)
    for story in stories(model, rows_near(table[0], seed, 8), counterfactual=False):
        assert_parts_add_up(story)


@COMBINATIONS
@FEW
@given(table=mixed_tables(), seed=st.integers(0, 99))
def test_so_it_does_with_categories_and_missing_values(combination, table: Mixed, seed):
    model, rows = mixed_models(table, seed, combination=combination)
    for place in range(len(rows)):
        assert_parts_add_up(model.explain(rows.iloc[place], counterfactual=False))


@FEW
@given(table=tables(), seed=st.integers(0, 99), variant=VARIANTS, combination=st.sampled_from(["dempster", "chain"]))
def test_weights_of_evidence_determine_belief(table: Table, seed, variant, combination):
    """What the parts are shares of is the whole evidence: belief follows from the sums of the weights alone."""
    model = fit(table, kind=variant, combination=combination)
    rows = rows_near(table[0], seed, 12)
    firing = model.tree_.fire(rows)
    for own, belief in zip(firing, model.predict_evidence(rows).belief, strict=True):
        sources = fired_sources(model.model_, own)
        weight = np.log1p(sources.odds).sum(axis=0)
        if np.isfinite(weight).all() and (weight < 30).all():
            mass = np.expm1(weight)
            np.testing.assert_allclose(mass / (1 + mass.sum()), belief, atol=1e-9)


@pytest.mark.parametrize("combination", ["dempster", "cautious", "vote"])
@FEW
@given(table=tables(), seed=st.integers(0, 99))
def test_belief_without_a_rule_is_that_of_a_tree_where_it_is_silent(combination, table: Table, seed):
    """Against the core, told not to believe the rule's node at all."""
    model = fit(table, combination=combination, sources="all")
    tree, is_source = model.tree_, model.model_.is_source
    for row in rows_near(table[0], seed, 4):
        for rule in explain(model.model_, OneRow(row[None]), counterfactual=False).rules:
            believed = np.ones(tree.n_nodes)
            believed[rule.node] = 0.0
            belief, ignorance, conflict = np.empty((1, tree.n_classes)), np.empty(1), np.empty(1)
            sources = _core.Sources(tree.core, tree.consequent, believed, is_source, combination, True)
            sources.combine(row[None], 1, belief, ignorance, conflict)
            np.testing.assert_allclose(rule.belief_without, belief[0], atol=1e-9)


@FEW
@given(table=tables(), seed=st.integers(0, 99), variant=VARIANTS)
def test_belief_without_a_path_is_that_of_the_other_paths(table: Table, seed, variant):
    """Under "chain" a path shares nodes with others, so the core cannot be told to doubt it: here is the definition."""
    model = fit(table, combination="chain", kind=variant)
    tree, rows = model.tree_, rows_near(table[0], seed, 4)
    for row, firing in zip(rows, tree.fire(rows), strict=True):
        phi = np.minimum(firing, 1 - 1e-12)
        odds = {
            int(leaf): phi[leaf] / (1 - phi[leaf]) * np.max(tree.consequent[path_of(tree, leaf)], axis=0)
            for leaf in tree.leaves
            if firing[leaf] > 0
        }
        rules = explain(model.model_, OneRow(row[None]), counterfactual=False).rules
        assert {rule.node for rule in rules} == set(odds)
        for rule in rules:
            weight = sum((np.log1p(own) for leaf, own in odds.items() if leaf != rule.node), np.zeros(tree.n_classes))
            np.testing.assert_allclose(rule.belief_without, belief_of_weight(weight), atol=1e-9)


def path_of(tree: FuzzyTree, leaf: int) -> list[int]:
    """Nodes that speak on the way to a leaf: all but the root, unless there is no other."""
    return list(tree.path(int(leaf))) or [0]


def belief_of_weight(weight: Floats) -> Floats:
    """Belief from the weights of evidence, scaled so that large ones do not overflow."""
    most = weight.max()
    mass = np.exp(weight - most) - np.exp(-most)
    return np.asarray(mass / (np.exp(-most) + mass.sum()))


# ---------------------------------------------------------------------------------------------------------------------
# Ignorance
# ---------------------------------------------------------------------------------------------------------------------


@COMBINATIONS
@SOURCES
@FEW
@given(table=tables(), seed=st.integers(0, 99), options=OPTIONS)
def test_the_causes_of_ignorance_add_up_to_it(combination, sources, table: Table, seed, options):
    model = fit(table, combination=combination, sources=sources, **options)
    for story in stories(model, rows_near(table[0], seed, 8), counterfactual=False):
        parts = vars(story.ignorance_causes)
        assert min(parts.values()) >= 0
        assert sum(parts.values()) == pytest.approx(story.ignorance, abs=1e-12)
        if not options["support_gate"]:
            assert parts["lost_support"] == 0
        if options["discount"] == 0:
            assert parts["thin_support"] <= 1e-12
        if combination in ("vote", "cautious"):
            assert parts["conflict"] == 0


@FEW
@given(table=tables(), combination=st.sampled_from(RULES))
def test_far_outside_all_ignorance_is_lost_support(table: Table, combination):
    model = fit(table, combination=combination)
    if model.n_rules_ > 1:
        far = table[0].max(axis=0) + 100 * np.ptp(table[0], axis=0)
        (story,) = stories(model, far[None], counterfactual=False)
        assert story.ignorance == 1
        assert story.ignorance_causes.lost_support == pytest.approx(1 - story.ignorance_causes.weak_firing)
        assert story.ignorance_causes.main == "lost_support" or story.ignorance_causes.weak_firing > 0.5


# ---------------------------------------------------------------------------------------------------------------------
# Changes
# ---------------------------------------------------------------------------------------------------------------------


def nearest(model: FERLClassifier, one: OneRow) -> tuple[Any, Changes]:
    """The most probable class of a row, and the changes that alter it, whether or not it is an answer."""
    label = int(model.model_.evidence(one.values).probability[0].argmax())
    return model.classes_[label], nearest_changes(model.model_, one.values, label, one.unseen)


def labels_along(model: FERLClassifier, row: Floats, feature: int, values: Floats) -> Any:
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, feature] = values
    return model.predict(rows)


@COMBINATIONS
@settings(FEW, max_examples=20)
@given(table=tables(), seed=st.integers(0, 99), options=OPTIONS)
def test_the_nearest_change_alters_the_label_and_no_smaller_one_that_training_saw_does(
    combination, table: Table, seed, options
):
    model = fit(table, combination=combination, **options)
    X = table[0]
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    for row in rows_near(X, seed, 3):
        if np.abs(row).max() > 1e6 * np.abs(X).max():
            continue  # distances would be rounded
        label, changes = nearest(model, OneRow(row[None]))
        distances = [(change.is_silent, change.distance) for change in changes.found]
        assert distances == sorted(distances)
        found = {change.feature: change for change in changes.found}
        for feature in range(X.shape[1]):
            change = found.get(f"x{feature}")
            low, high = model.model_.training_range(feature)
            assert X[:, feature].min() <= low <= high <= X[:, feature].max()
            is_whole = model.model_.is_whole(feature)
            if change is None:  # nowhere that training saw, on a dense grid
                grid = np.unique(np.floor(np.linspace(low, high, 4001))) if is_whole else np.linspace(low, high, 4001)
                assert (labels_along(model, row, feature, grid) == label).all()
                continue
            assert low <= change.exact <= high
            assert low <= change.to <= high
            assert change.to == np.floor(change.to) or not is_whole
            assert f"x{feature}" not in changes.unproven
            at_change = labels_along(model, row, feature, np.array([change.to, change.exact]))
            assert (at_change != label).all()
            assert at_change[0] == change.label
            inside = change.proven * spread[feature] * (1 - 1e-9)
            both_sides = row[feature] + np.linspace(-inside, inside, 2001)
            both_sides = both_sides[(low <= both_sides) & (both_sides <= high)]
            assert not len(both_sides) or (labels_along(model, row, feature, both_sides) == label).all()
            assert abs(change.exact - row[feature]) <= abs(change.to - row[feature]) * (1 + 1e-12)


@FEW
@given(table=tables(), seed=st.integers(0, 99), combination=st.sampled_from(["dempster", "cautious", "vote"]))
def test_the_proof_goes_all_the_way(table: Table, seed, combination):
    """Between what is proven and the change lies no more than the tolerance, or what the numbers can resolve.

    The exception is a tie, or nearly one, on the way: where rules only begin to fire, say.
    """
    X = table[0]
    model = fit(table, combination=combination)
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    for row in rows_near(X, seed, 3):
        _, changes = nearest(model, OneRow(row[None]))
        for change in changes.found:
            unit = spread[int(change.feature[1:])]
            gap = abs(change.exact - change.value) - change.proven * unit
            if gap > 2 * TOLERANCE * unit + 16 * np.spacing(np.abs(change.exact) + np.abs(change.value)):
                assert nearly_ties(model, row, int(change.feature[1:]), change.proven * unit, unit)


def nearly_ties(model: FERLClassifier, row: Floats, feature: int, distance: float, unit: float) -> bool:
    """Whether two classes are closer than a proof can resolve where a feature has moved by a distance, up or down.

    On an interval as wide as the tolerance a membership varies by the slope of its ramp times the width; two classes
    whose lead is smaller than all of these together may change places on it, as far as a proof can see.
    """
    rows = np.repeat(row[None], 2, axis=0)
    rows[:, feature] += [-distance, distance]
    ordered = np.sort(model.predict_proba(rows), axis=1)
    tree = model.tree_
    sides = np.hstack([tree.core.rise, tree.core.fall])[tree.feature == feature]
    resolved = sides[:, [1, 4]].sum() * TOLERANCE * unit
    return bool((ordered[:, -1] - ordered[:, -2]).min() < 1e-9 + resolved)


@COMBINATIONS
@FEW
@given(table=mixed_tables(), seed=st.integers(0, 99))
def test_changes_of_categories_are_found_exactly_where_there_are_any(combination, table: Mixed, seed):
    model, rows = mixed_models(table, seed, combination=combination)
    for place in range(4):
        row = rows.iloc[[place]]
        label, changes = nearest(model, read_row(model.columns_, model.model_.derived, row))
        found = {change.feature: change for change in changes.found}
        for name in table.categories:
            levels = model.categories_[model.columns_.names.index(name)]
            others = pd.concat([row] * len(levels), ignore_index=True)
            others[name] = levels
            flips = levels[model.predict(others) != label].tolist() if not row[name].isna().item() else []
            assert (name in found) == bool(flips)
            assert name not in found or found[name].to in flips
        for name in table.numbers:
            if name in found:
                changed = row.copy()
                changed[name] = found[name].to
                assert model.predict(changed)[0] == found[name].label != label


# ---------------------------------------------------------------------------------------------------------------------
# The search of the core
# ---------------------------------------------------------------------------------------------------------------------


@COMBINATIONS
@settings(FEW, max_examples=15)
@given(table=tables(), seed=st.integers(0, 99), options=OPTIONS)
def test_the_core_finds_what_a_slow_search_finds_and_proves_no_more_than_is_true(combination, table, seed, options):
    model = fit(table, combination=combination, max_rules=6, **options).model_
    row = rows_near(table[0], seed, 1)
    columns = np.array(model.tree.tested_columns, dtype=np.int32)
    if np.abs(row).max() > 1e6 * np.abs(table[0]).max() or not len(columns):
        return  # distances would be rounded
    label = int(model.evidence(row).pignistic[0].argmax())
    width = 1e-4 * np.ptp(table[0], axis=0)[columns]
    at, proven = np.empty((len(columns), 2)), np.empty((len(columns), 2))
    model.sources.nearest_flips(row, label, columns, width, at, proven)
    for k, column in enumerate(columns.tolist()):

        def labels(values: Floats, column: int = column) -> Any:
            rows = np.repeat(row, np.size(values), axis=0)
            rows[:, column] = values
            return model.evidence(rows).pignistic.argmax(axis=1)

        line = Line(model, row[0], column, label)
        for side, outward in enumerate((-1, 1)):
            flip, up_to = line.first_flip(outward, width[k], lambda value: labels(value)[0])
            end = outward * min(1e3 * np.abs(table[0]).max(), outward * proven[k, side])
            assert (labels(np.linspace(row[0, column], end, 1001)) == label).all()
            # The slow search stops where it cannot prove; the core has proven as much, and found the same flip.
            assert outward * proven[k, side] >= outward * up_to - 2 * width[k]
            assert math.isinf(at[k, side]) or labels(at[k, side])[0] != label
            if flip == up_to or abs(flip - up_to) <= 2 * width[k]:
                assert at[k, side] == flip or abs(at[k, side] - flip) <= 2 * width[k]
