"""Laws of evidence, each the name of a test."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris

import oracle
from ferl import Evidence, FERLTreeClassifier, FuzzyTree
from law_examples import (
    COMBINATIONS,
    LAW,
    RULES,
    SOURCES,
    Floats,
    Table,
    fit,
    rows_near,
    tables,
)
from tree_examples import bare_tree, judge

# ---------------------------------------------------------------------------------------------------------------------
# Evidence: laws of the masses
# ---------------------------------------------------------------------------------------------------------------------


def star(consequent: Floats) -> FuzzyTree:
    """One leaf per row of ``consequent``; leaf i fires with the value of feature i."""
    n = len(consequent)
    return hand_made(np.full(n, 0), consequent)


def chain(consequent: Floats) -> FuzzyTree:
    """One path; each node fires with its parent's firing times the value of its own feature."""
    return hand_made(np.arange(len(consequent)), consequent)


def hand_made(parent: NDArray[np.int64], consequent: Floats) -> FuzzyTree:
    """A tree whose node i + 1 has the given parent and consequent, and full membership at 1 of feature i."""
    n, n_classes = consequent.shape
    return bare_tree(
        parent=np.append(-1, parent).astype(np.int32),
        feature=np.arange(-1, n, dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf]] + [[0.0, 1.0, np.inf, np.inf]] * n),
        support=np.array([[0.0, 1.0]] * (n + 1)),
        class_weight=np.ones((n + 1, n_classes)),
        consequent=np.vstack([np.full(n_classes, 1 / n_classes), consequent]),
        gain=np.zeros(n + 1),
    )


def read(tree: FuzzyTree, X: Any, **options: Any) -> Evidence:
    return judge(tree, X, **options)


FIRINGS = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-300, 1e-17, 0.5, 1 - 1e-9]))


@st.composite
def pieces_of_evidence(draw: st.DrawFn, min_size: int = 1) -> tuple[Floats, Floats]:
    """Firings of some sources, and their distributions: sharp, flat or in between."""
    n, n_classes = draw(st.integers(min_size, 8)), draw(st.integers(1, 5))
    firing = np.array(draw(st.lists(FIRINGS, min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return firing, rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.05, 1.0, 100.0]))), size=n)


def grown_evidence(table: Table, seed: int, **options: Any) -> Evidence:
    model = fit(table, consequents="raw" if seed % 2 else "shrinkage")
    return judge(model.tree_, rows_near(table[0], seed), **options)


@COMBINATIONS
@SOURCES
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1), discount=st.sampled_from([0.0, 3.0]))
def test_masses_are_not_negative_and_sum_to_one(
    combination: str, sources: str, table: Table, seed: int, discount: float
) -> None:
    e = grown_evidence(table, seed, combination=combination, sources=sources, discount=discount)
    assert (e.belief >= 0).all()
    assert (e.ignorance >= 0).all()
    np.testing.assert_allclose(e.belief.sum(axis=1) + e.ignorance, 1.0, rtol=0, atol=1e-12)
    assert ((e.conflict >= 0) & (e.conflict <= 1)).all()


@COMBINATIONS
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
def test_belief_is_at_most_pignistic_is_at_most_plausibility(combination: str, table: Table, seed: int) -> None:
    e = grown_evidence(table, seed, combination=combination)
    assert (e.belief <= e.pignistic).all()
    assert (e.pignistic <= e.plausibility).all()
    np.testing.assert_allclose(e.pignistic.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@COMBINATIONS
@LAW
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
def test_interval_dominance_is_the_ignorance_margin_rule(combination: str, table: Table, seed: int) -> None:
    """{c : Pl(c) >= max Bel} = {c : m(c) >= max m - m(frame)}: a class may trail by as much as is open."""
    e = grown_evidence(table, seed, combination=combination)
    best = e.belief.max(axis=1, keepdims=True)
    by_margin = e.belief >= best - e.ignorance[:, None]
    tie = np.abs(e.plausibility - best) < 1e-12
    assert (tie | (e.prediction_set() == by_margin)).all()
    assert e.prediction_set()[np.arange(len(e)), e.pignistic.argmax(axis=1)].all()  # the label is in its set


@LAW
@given(pieces_of_evidence(min_size=2))
def test_more_evidence_never_adds_ignorance(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    so_far = np.tril(np.ones((len(firing), len(firing)))) * firing  # row k: the first k + 1 sources
    ignorance = read(star(consequent), so_far).ignorance
    assert (np.diff(ignorance) <= 1e-15).all()
    assert ignorance[0] == pytest.approx(1 - firing[0])


@LAW
@given(pieces_of_evidence(), st.integers(0, 2**32 - 1))
def test_the_order_of_sources_does_not_matter(pieces: tuple[Floats, Floats], seed: int) -> None:
    firing, consequent = pieces
    order = np.random.default_rng(seed).permutation(len(firing))
    for combination in RULES:
        one = read(star(consequent), firing, combination=combination)
        other = read(star(consequent[order]), firing[order], combination=combination)
        np.testing.assert_allclose(one.belief, other.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.ignorance, other.ignorance, rtol=0, atol=1e-10)


@LAW
@given(pieces_of_evidence())
def test_dempsters_rule_is_its_closed_form(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    sources = [oracle.Source(phi * p, 1 - phi) for phi, p in zip(firing, consequent, strict=True)]
    belief, ignorance, conflict = oracle.dempster(sources, consequent.shape[1])
    e = read(star(consequent), firing)
    np.testing.assert_allclose(e.belief[0], belief, rtol=0, atol=1e-10)
    np.testing.assert_allclose(e.ignorance, ignorance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(e.conflict, conflict, rtol=0, atol=1e-10)


@COMBINATIONS
@SOURCES
@LAW
@given(pieces=pieces_of_evidence())
def test_one_source_alone_gives_back_its_own_mass(
    combination: str, sources: str, pieces: tuple[Floats, Floats]
) -> None:
    (phi, *_), (p, *_) = pieces
    tolerance = 2e-12 if combination in ("cautious", "chain") else 1e-14  # these keep at least 1e-12 of ignorance
    for firing in (phi, 1.0):
        e = read(star(p[None]), firing, combination=combination, sources=sources)
        np.testing.assert_allclose(e.belief[0], firing * p, rtol=0, atol=tolerance)
        np.testing.assert_allclose(e.ignorance, 1 - firing, rtol=0, atol=tolerance)
        np.testing.assert_allclose(e.conflict, 0, atol=1e-14)


@COMBINATIONS
@SOURCES
def test_a_root_alone_gives_back_its_distribution(combination: str, sources: str) -> None:
    model = fit((np.zeros((10, 1)), np.arange(10) % 3), combination=combination, sources=sources, consequents="raw")
    assert model.n_rules_ == 1
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.4, 0.3, 0.3]], atol=1e-11)


@LAW
@given(pieces_of_evidence())
def test_repeating_a_source_changes_nothing_for_the_cautious_rule(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    one = read(star(consequent), firing, combination="cautious")
    twice = read(star(np.tile(consequent, (2, 1))), np.tile(firing, 2), combination="cautious")
    np.testing.assert_array_equal(one.belief, twice.belief)
    np.testing.assert_array_equal(one.ignorance, twice.ignorance)


@LAW
@given(pieces_of_evidence())
def test_chain_is_cautious_on_one_path_and_dempster_on_paths_of_one_node(pieces: tuple[Floats, Floats]) -> None:
    # Near 1 the cautious rules keep some ignorance. The nodes of a path speak as its end fires: here all fire alike.
    firing, consequent = np.clip(pieces[0], 1e-30, 0.999), pieces[1]
    alike = np.append(firing[:1], np.ones(len(firing) - 1))
    along = read(chain(consequent), alike, combination="chain")
    cautious = read(chain(consequent), alike, combination="cautious", sources="all")
    across = read(star(consequent), firing, combination="chain")
    dempster = read(star(consequent), firing)
    for one, other in ((along, cautious), (across, dempster)):
        np.testing.assert_allclose(one.belief, other.belief, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.ignorance, other.ignorance, rtol=0, atol=1e-10)


@COMBINATIONS
@SOURCES
@LAW
@given(table=tables())
def test_when_nothing_fires_the_answer_is_vacuous(combination: str, sources: str, table: Table) -> None:
    model = fit(table, combination=combination, sources=sources)
    if model.n_rules_ == 1:
        return  # a tree without conditions has no support to be outside of
    X, n_classes = table[0], len(model.classes_)
    far = np.vstack([X.max(axis=0) + 2 * np.ptp(X, axis=0) + 1, np.full(X.shape[1], -1e200)])
    e = model.predict_evidence(far)
    assert (e.belief == 0).all()
    assert (e.ignorance == 1).all()
    assert (e.conflict == 0).all()
    assert (e.plausibility == 1).all()
    assert (e.pignistic == 1 / n_classes).all()
    assert e.prediction_set().all()


@pytest.mark.parametrize("combination", ["dempster", "cautious", "chain", "vote"])
def test_tiny_firings_give_tiny_masses(combination: str) -> None:
    consequent = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    firing = np.array([1e-300, 3e-300, 2e-300])
    e = read(star(consequent), firing, combination=combination)
    each = firing[:, None] * consequent
    expected = each.max(axis=0) if combination == "cautious" else each.sum(axis=0)
    np.testing.assert_allclose(e.belief[0], expected, rtol=1e-12)
    assert e.ignorance == 1.0
    assert e.prediction_set().all()


@pytest.mark.parametrize("n_sources", [300, 301])
@pytest.mark.parametrize("firing", [1.0, 1 - 1e-9])
def test_hundreds_of_conflicting_sources_do_not_underflow(n_sources: int, firing: float) -> None:
    p = np.array([[1 - 1e-7, 1e-7], [1e-7, 1 - 1e-7]])[np.arange(n_sources) % 2]
    for tree in (star(p), chain(p)):
        # On the path all nodes fire together: the first feature sets the firing, the others are one.
        X = np.full(n_sources, firing) if tree.parent[-1] == 0 else np.append(firing, np.ones(n_sources - 1))
        e = read(tree, X, sources="all")
        belief, ignorance, conflict = oracle.dempster([oracle.Source(firing * q, 1 - firing) for q in p], 2)
        np.testing.assert_allclose(e.belief[0], belief, rtol=1e-9)
        np.testing.assert_allclose(e.ignorance, ignorance, rtol=0, atol=1e-12)
        assert e.conflict[0] == pytest.approx(1.0)
        assert conflict == pytest.approx(1.0)
    assert e.belief[0, 0] == pytest.approx(0.5 if n_sources == 300 else 1.0, abs=1e-6)


@LAW
@given(pieces_of_evidence())
def test_the_mean_of_the_dirichlet_is_the_pignistic_probability(pieces: tuple[Floats, Floats]) -> None:
    firing, consequent = pieces
    e = read(star(consequent), firing)
    mean = e.dirichlet / e.dirichlet.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, e.pignistic, rtol=0, atol=2e-9 if e.ignorance < 1e-9 else 1e-12)


@LAW
@given(tables(), st.floats(0.01, 1e4), st.floats(1.0, 100.0), st.integers(0, 2**32 - 1))
def test_discounting_more_never_takes_ignorance_away(table: Table, discount: float, factor: float, seed: int) -> None:
    options = [{"discount": value} for value in (0.0, discount, discount * factor)]
    none, some, more = (grown_evidence(table, seed, **o).ignorance for o in options)
    assert (none <= some + 1e-12).all()
    assert (some <= more + 1e-12).all()


def test_sources_that_exclude_each_other_entirely_say_nothing() -> None:
    # Two sides of no split: both fire fully, each certain of another class. Dempster's rule has no answer to that.
    whole = [-np.inf, -np.inf, np.inf, np.inf]
    tree = bare_tree(
        parent=np.array([-1, 0, 0], dtype=np.int32),
        feature=np.array([-1, 0, 0], dtype=np.int32),
        trapezoid=np.array([whole, whole, whole]),
        support=np.array([[0.0, 1.0]] * 3),
        class_weight=np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),
        consequent=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
        gain=np.zeros(3),
    )
    evidence = judge(tree, [[0.5]])
    assert (evidence.ignorance[0], evidence.conflict[0]) == (1.0, 1.0)
    np.testing.assert_array_equal(evidence.belief, [[0.0, 0.0]])


@pytest.mark.parametrize("value", [0.0, 2.0, -3.0, 1e300, 5e-324])
def test_upright_sides_of_a_trapezoid_include_their_ends(value: float) -> None:
    tree = bare_tree(
        parent=np.array([-1, 0, 0], dtype=np.int32),
        feature=np.array([-1, 0, 0], dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf], [value] * 4, [value, value, np.inf, np.inf]]),
        support=np.array([[value, value]] * 3),
        class_weight=np.ones((3, 2)),
        consequent=np.full((3, 2), 0.5),
        gain=np.zeros(3),
    )
    around = np.array([[np.nextafter(value, -np.inf)], [value], [np.nextafter(value, np.inf)]])
    np.testing.assert_array_equal(tree.fire(around, gated=False)[:, 1:], [[0, 0], [1, 1], [0, 1]])
    assert tree.fire(np.array([[value]]))[0, 1] == 1.0  # and a gate around one value is open there


@COMBINATIONS
@SOURCES
@LAW
@given(table=tables(), seed=st.integers(0, 99))
def test_evidence_is_continuous(combination: str, sources: str, table: Table, seed: int) -> None:
    """A step of one part in 10^12 changes no mass by more than a band so narrow, or a source so sure, can."""
    model = fit(table, combination=combination, sources=sources)
    random = np.random.default_rng(seed)
    rows = rows_at_corners(model.model_, table[0], random)
    far = rows + 1e-12 * np.ptp(table[0], axis=0) * random.choice([-1.0, 1.0], rows.shape)
    one, other = model.predict_evidence(rows), model.predict_evidence(far)
    before, after = model.model_.fire(rows), model.model_.fire(far)
    moved = np.abs(before - after).sum(axis=1)
    # Total conflict is where Dempster's rule itself has no limit; near it masses are divided by what is left.
    kept = 1 - np.maximum(one.conflict, other.conflict)
    is_tame = (moved < 1e-6) & (kept > 1e-3)
    if combination in ("cautious", "chain"):  # odds of a node that fires nearly fully move fast
        is_tame &= ((before == after) | (np.maximum(before, after) < 0.99)).all(axis=1)
    slope = 1000 / kept[is_tame] ** 2
    change = np.abs(one.belief - other.belief).max(axis=1)[is_tame]
    assert (change <= slope * moved[is_tame] + 1e-9).all()
    assert (np.abs(one.ignorance - other.ignorance)[is_tame] <= slope * moved[is_tame] + 1e-9).all()


def rows_at_corners(model: Any, X: Floats, random: np.random.Generator) -> Floats:
    """Rows, some of whose values are where a membership or a gate begins or ends."""
    rows = X[random.integers(len(X), size=30)].astype(float).copy()
    corners = [(j, end) for node, j in enumerate(model.tree.feature) for end in model.tree.trapezoid[node] if j >= 0]
    finite = [(j, end) for j, end in corners if np.isfinite(end)]
    for row in rows if finite else []:
        for index in random.integers(len(finite), size=2):
            j, end = finite[index]
            row[j] = end
    return rows


def test_a_path_that_begins_to_fire_says_little() -> None:
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("deep", combination="chain", random_state=0).fit(X, y)
    random = np.random.default_rng(0)
    for _ in range(40):
        rows = rows_at_corners(model.model_, X, random)
        steps = [model.predict_evidence(rows * (1 + sign * 2e-13)) for sign in (-1, 0, 1)]
        for one, other in pairwise(steps):
            assert np.abs(one.ignorance - other.ignorance).max() < 1e-6
            assert np.abs(one.belief - other.belief).max() < 1e-6
