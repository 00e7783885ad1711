"""Similar cases: the votes of the oracle, the laws of the term, and what every reading of a model makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import javascript
from ferl import FERLClassifier, load_model, save_model
from ferl._learn import case_distance
from ferl._learn import cases as learn_cases
from ferl._learn.case_distance import Vicinity, with_learned_distance
from ferl._learn.cases import HOLD, RIDGE, Judged, fitted_votes, with_more_cases
from ferl._learn.rows import Block
from ferl._models.cases import N_NEAREST, Cases
from ferl.editing import edit
from ferl.report.page_form import numbers, page_form
from law_examples import LAW
from oracle import cases as oracle_cases

Floats = NDArray[np.float64]


def rings(n: int = 300, seed: int = 0, classes: int = 2) -> tuple[Floats, NDArray[np.int64]]:
    """Rows in small clusters of one class each, which neighbours separate and few rules do."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-3, 3, (24, 3))
    own = rng.integers(24, size=n)
    return centres[own] + rng.normal(0, 0.15, (n, 3)), own % classes


def mixed(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """A table with categories, dates, gaps and many values, whose classes neighbours separate."""
    X, y = rings(n, seed)
    rng = np.random.default_rng(seed + 1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame["colour"] = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    frame["town"] = [f"t{k}" for k in rng.integers(30, size=n)]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(400, size=n), unit="D")
    return frame, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def clustered() -> tuple[FERLClassifier, Floats, NDArray[np.int64]]:
    X, y = rings()
    return FERLClassifier(cases=True, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def of_mixed() -> tuple[FERLClassifier, pd.DataFrame, NDArray[np.str_]]:
    X, y = mixed()
    return FERLClassifier(cases=True, random_state=0, missing_conditions=True).fit(X, y), X, y


# ---------------------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------------------


@st.composite
def case_sets(draw: st.DrawFn) -> tuple[Cases, Floats]:
    """Cases with gaps, categories, equal values and weights, and rows to judge, some of them cases themselves."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, n_classes = draw(st.integers(1, 60)), draw(st.integers(1, 6)), draw(st.integers(2, 4))
    n_categories = np.where(rng.random(d) < 0.3, 3, 0).astype(np.int32)
    grid = draw(st.sampled_from([0.5, 0.01, 1e-9]))

    def table(size: int) -> Floats:
        numbers = np.round(rng.normal(size=(size, d)) / grid) * grid
        rows = np.where(n_categories > 0, rng.integers(3, size=(size, d)), numbers)
        return np.asarray(np.where(rng.random((size, d)) < 0.1, np.nan, rows))

    cases = Cases(
        row=table(n),
        label=rng.integers(n_classes, size=n).astype(np.int32),
        weight=rng.choice([0.5, 1.0, 2.0, 7.0], size=n),
        place=np.arange(n),
        centre=rng.normal(size=d),
        per_unit=rng.choice([0.0, 0.3, 1.0, 20.0], size=d),
        n_categories=n_categories,
        strength=rng.uniform(0, 2, len(N_NEAREST)),
        usual=np.zeros(n_classes),
    )
    return cases, np.vstack([table(5), cases.row[:3], np.full((1, d), np.nan)])


def expected(cases: Cases, x: Floats, others_alone: bool = False) -> Floats:
    """What the oracle says that the cases add."""
    with np.errstate(divide="ignore"):
        unit = 1 / cases.per_unit
    distance = oracle_cases.distances(x, cases.row, cases.centre, unit, cases.n_categories > 0)
    is_equal = ((cases.row == x) | (np.isnan(cases.row) & np.isnan(x))).all(axis=1)
    kept = ~is_equal if others_alone else np.ones(len(distance), dtype=bool)
    if not kept.any():
        return np.zeros(len(cases.usual))
    strength = dict(zip(N_NEAREST, cases.strength.tolist(), strict=True))
    content = [row.tobytes() for row in np.where(np.isnan(cases.row), np.nan, cases.row + 0.0)[kept]]
    place = np.unique(np.array(content, dtype=object), return_inverse=True)[1]
    return oracle_cases.added(distance[kept], place, cases.label[kept], cases.weight[kept], cases.frequency, strength)


@LAW
@given(case_sets())
def test_the_core_adds_what_the_oracle_does(drawn: tuple[Cases, Floats]) -> None:
    cases, rows = drawn
    for others_alone in (False, True):
        found = cases.added(rows, others_alone)
        wanted = np.array([expected(cases, x, others_alone) for x in rows])
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@LAW
@given(case_sets())
def test_votes_sum_to_zero_and_do_not_depend_on_threads_or_batches(drawn: tuple[Cases, Floats]) -> None:
    cases, rows = drawn
    found = cases.added(rows)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-9)
    assert np.array_equal(found, cases.added(rows, n_threads=3))
    assert np.array_equal(found, np.vstack([cases.added(rows[k : k + 1]) for k in range(len(rows))]))


def test_the_nearest_cases_are_those_of_a_full_search() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5000, 7)) * [1, 1e-6, 1e6, 1, 1, 1, 1] + 1e5
    none, unit = np.zeros(7, dtype=np.int32), np.array([1, 1e6, 1e-6, 1, 1, 1, 1])
    cases = Cases(
        row=X,
        label=np.zeros(5000, dtype=np.int32),
        weight=np.ones(5000),
        place=np.arange(5000),
        centre=X.mean(axis=0),
        per_unit=unit,
        n_categories=none,
        strength=np.ones(4),
        usual=np.zeros(2),
    )
    rows = rng.normal(size=(50, 7)) * [1, 1e-6, 1e6, 1, 1, 1, 1] + 1e5
    index, distance = cases.nearest(rows, 31)
    every = np.array([(np.abs(X - x) * unit).sum(axis=1) / 7 for x in rows])
    assert np.array_equal(index, np.argsort(every, axis=1, kind="stable")[:, :31])
    np.testing.assert_allclose(distance, np.sort(every, axis=1)[:, :31], rtol=1e-12)


def test_strengths_minimise_the_penalised_loss() -> None:
    rng = np.random.default_rng(0)
    y, base = rng.integers(3, size=400).astype(np.int32), np.array([0.1, 0.0, -0.1])
    score = rng.normal(size=(400, 3)) + 1.5 * np.eye(3)[y]
    votes = rng.normal(size=(400, 2, 3)) + np.array([0.8, 0.0])[None, :, None] * np.eye(3)[y][:, None]
    weight = rng.choice([1.0, 2.0], size=400)
    choice, strength = fitted_votes(Judged(score, votes, y, weight), base)
    unit = weight * 400 / weight.sum()
    parts = [votes[:, 0], votes[:, 1]]
    scale, wanted, losses = oracle_cases.fitted_strength(score, base, parts, y, unit, RIDGE, HOLD)
    assert choice.scale == pytest.approx(scale, abs=2e-3)
    np.testing.assert_allclose(strength, wanted, atol=2e-3)
    before = oracle_cases.fitted_strength(score, base, [], y, unit, RIDGE, HOLD)[2]  # the best scale alone
    assert choice.gain == pytest.approx(np.average(before - losses, weights=weight), abs=1e-5)
    assert choice.is_used


@pytest.fixture(scope="module")
def crowded() -> Cases:
    """Cases with gaps, categories, weights and places of several classes; the last two of six columns are noise."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(120, 3)), rng.integers(3, size=120), rng.normal(size=(120, 2))])
    label = (X[:, 0] > 0).astype(np.int32) + (X[:, 3] == 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[100:] = X[:20]
    label[100:] = rng.integers(3, size=20)
    return Cases(
        row=X,
        label=label.astype(np.int32),
        weight=rng.choice([1.0, 2.0], size=120),
        place=np.arange(120),
        centre=np.zeros(6),
        per_unit=np.array([1.0, 0.5, 2.0, 1.0, 1.0, 3.0]),
        n_categories=np.array([0, 0, 0, 3, 0, 0], dtype=np.int32),
        strength=np.ones(4),
        usual=np.zeros(3),
    )


def test_the_loss_of_neighbours_and_its_slope_are_those_of_the_oracle(crowded: Cases) -> None:
    vicinity = Vicinity.of(crowded, np.ones(6), 30, 1)
    near = crowded.nearest_places(crowded.row[:30], case_distance.N_NEAR + 1)[0]
    every = np.tile(np.arange(crowded.n_cases), (30, 1))
    away = crowded.parts(crowded.row[:30], every)
    for i, x in enumerate(crowded.row[:30]):
        with np.errstate(invalid="ignore"):
            wanted = oracle_cases.distances(
                x, crowded.row, crowded.centre, 1 / crowded.per_unit, crowded.n_categories > 0
            )
        np.testing.assert_allclose(away[i].sum(axis=1), wanted, rtol=1e-12)

    def wanted_loss(at: Floats) -> float:
        return oracle_cases.neighbour_loss(
            away,
            crowded.place_of_case,
            crowded.label,
            crowded.weight,
            crowded.frequency,
            near,
            float(np.exp(at[0])),
            np.exp(at[1:]),
            case_distance.N_BEHIND,
            case_distance.HOLD_FACTORS,
        )

    at = np.random.default_rng(0).normal(0, 0.3, 7) + np.array([1.5, 0, 0, 0, 0, 0, 0])
    value, slope = vicinity.loss(at)
    assert value == pytest.approx(wanted_loss(at), rel=1e-12)
    steps = 1e-6 * np.eye(7)
    numeric = [(wanted_loss(at + step) - wanted_loss(at - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)


def test_the_learned_distance_counts_columns_that_matter(crowded: Cases) -> None:
    learned = with_learned_distance(crowded)
    factor = learned.per_unit / crowded.per_unit
    assert factor[[0, 3]].min() > 1.5 * factor[[1, 2, 4, 5]].max()
    assert np.array_equal(learned.per_unit, with_learned_distance(crowded, n_threads=3).per_unit)
    few = crowded.keep(np.arange(120) < 8)
    assert few is not None
    assert with_learned_distance(few) is few


def test_cases_learn_parity_which_no_single_column_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(1000, 10)).astype(float)
    y = X[:, :5].sum(axis=1).astype(int) % 2
    X = X + rng.normal(0, 0.1, X.shape)
    clf = FERLClassifier(cases=True, random_state=0).fit(X[:700], y[:700])
    assert clf.cases_ is not None
    assert clf.cases_.is_used
    assert clf.score(X[700:], y[700:]) > 0.95
    monkeypatch.setattr(case_distance, "N_ROUNDS", 0)
    assert FERLClassifier(cases=True, random_state=0).fit(X[:700], y[:700]).score(X[700:], y[700:]) < 0.85


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------


def test_cases_help_where_neighbours_decide(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    clf, X, y = clustered
    rows, labels = rings(400, seed=0)
    plain = FERLClassifier(random_state=0).fit(X, y)
    assert clf.cases_ is not None
    assert clf.cases_.is_used
    assert clf.n_cases_ == len(X)
    assert clf.score(rows[300:], labels[300:]) > plain.score(rows[300:], labels[300:])


def test_noise_gets_no_cases_and_the_same_model_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(2, size=200)
    tried, plain = (FERLClassifier(cases=own, random_state=0).fit(X, y) for own in (True, False))
    assert tried.cases_ is not None
    assert not tried.cases_.is_used
    assert plain.cases_ is None
    assert np.array_equal(tried.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match="keeps no cases: they are not used"):
        tried.similar(X)
    with pytest.raises(ValueError, match="fitted with cases=False"):
        plain.similar(X)


@pytest.mark.parametrize("table", [rings, mixed])
def test_row_order_threads_batches_and_copies_change_no_bit(table: Any) -> None:
    X, y = table(200)
    take = (lambda rows: X.iloc[rows]) if isinstance(X, pd.DataFrame) else (lambda rows: X[rows])
    order = np.random.default_rng(5).permutation(200)
    fits = [
        FERLClassifier(cases=True, random_state=0).fit(X, y),
        FERLClassifier(cases=True, random_state=0, n_jobs=2).fit(take(order), y[order]),
    ]
    answers = [clf.predict_proba(X) for clf in fits]
    assert fits[0].cases_ is not None
    assert fits[0].cases_.is_used
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], np.vstack([fits[0].predict_proba(take([k])) for k in range(200)]))
    twice = np.append(np.arange(200), np.arange(60))
    weight = np.where(np.arange(200) < 60, 2.0, 1.0)
    heavy = FERLClassifier(cases=True, random_state=0).fit(X, y, sample_weight=weight)
    copied = FERLClassifier(cases=True, random_state=0).fit(take(twice), y[twice])
    assert np.array_equal(heavy.predict_proba(X), copied.predict_proba(X))


def test_what_cases_add_is_continuous(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    """Halving the steps of a walk halves the largest change: there is no jump where neighbours change places."""
    clf, X, _ = clustered
    cases = clf.model_.cases
    assert cases is not None
    largest = []
    for n in (20_001, 80_001):
        walk = X[0] + np.linspace(0, 1, n)[:, None] * (X[7] - X[0])
        largest.append(np.abs(np.diff(cases.added(walk), axis=0)).max())
    assert largest[1] < 0.5 * largest[0]


def test_there_is_no_jump_beside_rows_that_contradict_each_other() -> None:
    rng = np.random.default_rng(0)
    X = np.unique(np.column_stack([rng.integers(0, 12, (500, 2)), rng.integers(3, size=500)]), axis=0).astype(float)
    cases = Cases(
        row=np.ascontiguousarray(X[:, :2]),
        label=X[:, 2].astype(np.int32),
        weight=rng.choice([1.0, 3.0], size=len(X)),
        place=np.arange(len(X)),
        centre=np.zeros(2),
        per_unit=np.ones(2),
        n_categories=np.zeros(2, dtype=np.int32),
        strength=np.ones(4),
        usual=np.zeros(3),
    )
    assert len(cases.by_place[0]) < cases.n_cases
    np.testing.assert_allclose(cases.added(X[:, :2]), cases.added(X[:, :2] + 1e-9), atol=1e-6)


@pytest.mark.parametrize("weights", [{"sample_weight": 3.0}, {"class_weight": {1: 5}}, {"class_weight": "balanced"}])
def test_weights_do_not_make_cases_of_noise(weights: dict[str, Any]) -> None:
    """A row that counted on both sides of inner validation would be its own case."""
    n_used = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 4)), (rng.random(300) < 0.15).astype(int)
        fit = {name: np.full(300, own) for name, own in weights.items() if name == "sample_weight"}
        given = {name: own for name, own in weights.items() if name != "sample_weight"}
        choice = FERLClassifier(cases=True, random_state=0, **given).fit(X, y, **fit).cases_
        assert choice is not None
        assert choice.gain < 0.05
        n_used += choice.is_used
    assert n_used <= 2


@pytest.mark.parametrize("heavy", [1e6, 1e9, 1e10, 1e12])
@pytest.mark.parametrize("cases", [False, True])
def test_a_row_that_outweighs_all_others_is_fitted(heavy: float, cases: bool) -> None:
    X, y = rings(150)
    weight = np.ones(150)
    weight[0] = heavy
    clf = FERLClassifier(cases=cases, random_state=0).fit(X, y, sample_weight=weight)
    assert clf.predict_proba(X[:1])[0, y[0]] > 0.9
    assert not clf.n_cases_  # one row judges nothing
    weight[::2] = heavy  # many heavy rows do
    again = FERLClassifier(cases=cases, random_state=0).fit(X, y, sample_weight=weight)
    assert np.isfinite(again.predict_proba(X)).all()


def test_the_same_cases_judge_two_parts_and_are_rows_of_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[dict[str, Any]], NDArray[np.int32]]] = []
    judge = learn_cases._judged_parts

    def noted(parts: list[dict[str, Any]], kept: NDArray[np.int32], *rest: Any) -> Any:
        seen.append((parts, kept))
        return judge(parts, kept, *rest)

    monkeypatch.setattr(learn_cases, "_judged_parts", noted)
    for n_classes, together in ((2, 2), (5, 1)):
        seen.clear()
        X, y = rings(240, classes=n_classes)
        choice = FERLClassifier(cases=True, random_state=0).fit(X, y).cases_
        assert [len(parts) for parts, _ in seen] == [together] * (6 // together)
        assert choice is not None
        assert choice.n_rows == sum(len(part["other"]) for parts, _ in seen for part in parts) == 240
        for parts, kept in seen:
            assert not np.intersect1d(kept, np.concatenate([part["other"] for part in parts])).size


def test_far_from_all_cases_nothing_is_added(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    clf, X, _ = clustered
    cases = clf.model_.cases
    assert cases is not None
    near, far = (np.abs(cases.added(X[:5] + away)).max() for away in (0.0, 1e6))
    assert near > 1
    assert far < 1e-3
    assert clf.predict_evidence(X[:1] + 1e6).ignorance[0] == 1
    np.testing.assert_allclose(clf.predict_proba(X[:1] + 1e6)[0], clf.model_.class_frequency, atol=1e-9)


def test_contributions_add_up_to_the_scores(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    scores = clf.decision_function(X)
    parts, by_feature = clf.contributions(X), clf.feature_contributions(X)
    assert parts.shape[1] == clf.model_.n_terms + 1
    assert by_feature.shape[1] == X.shape[1] + 2
    for own in (parts, by_feature):
        summed = own.sum(axis=1)
        np.testing.assert_allclose(summed[:, 1] - summed[:, 0], scores, atol=1e-12)
    np.testing.assert_array_equal(by_feature[:, -2], parts[:, -2])


def test_evidence_keeps_its_laws(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    evidence = clf.predict_evidence(X)
    assert (evidence.belief <= evidence.probability + 1e-15).all()
    assert (evidence.probability <= evidence.plausibility + 1e-15).all()
    np.testing.assert_allclose(evidence.belief.sum(axis=1) + evidence.ignorance, 1)
    np.testing.assert_array_equal(evidence.probability, clf.predict_proba(X))
    small, large = clf.predict_set(X, level=0.5), clf.predict_set(X, level=0.9)
    assert (small <= large).all()


def test_a_training_row_is_no_case_of_itself_while_it_is_learned_from(
    clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]],
) -> None:
    clf, X, y = clustered
    cases = clf.model_.cases
    assert cases is not None
    alone, itself = cases.added(X, others_alone=True), cases.added(X)
    towards = np.arange(len(y))
    assert (itself[towards, y] > alone[towards, y]).mean() > 0.9
    rotated = cases.keep(np.arange(len(X)) % 2 == 0)
    assert rotated is not None
    others = X[~np.isin(np.arange(len(X)), rotated.place)]
    np.testing.assert_array_equal(rotated.added(others), rotated.added(others, others_alone=True))


# ---------------------------------------------------------------------------------------------------------------------
# Readings
# ---------------------------------------------------------------------------------------------------------------------


def test_files_keep_every_bit(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any], tmp_path: Path) -> None:
    clf, X, _ = of_mixed
    save_model(clf, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert np.array_equal(clf.predict_proba(X), again.predict_proba(X))
    assert str(again.cases_) == str(clf.cases_)
    assert again.similar(X[:3]).case.tolist() == clf.similar(X[:3]).case.tolist()


def test_onnx_gives_the_same_answers(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    pytest.importorskip("onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx
    from onnx_examples import assert_answers, run, session_of

    clf, X, _ = of_mixed
    found = run(session_of(to_onnx(clf, contributions=True)), onnx_inputs(clf, X))
    assert_answers(found, clf, X)
    np.testing.assert_allclose(found["contributions"], clf.contributions(X), atol=1e-11)


def test_the_page_gives_the_same_answers(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    rows = clf.columns_.encode(X)[:40]
    found = javascript.judge(clf.model_, rows)
    evidence = clf.predict_evidence(X[:40])
    np.testing.assert_allclose(found["probability"], evidence.probability, atol=1e-11)
    np.testing.assert_allclose(found["ignorance"], evidence.ignorance, atol=1e-9)
    np.testing.assert_allclose(found["featureContributions"], clf.feature_contributions(X[:40]), atol=1e-11)


def test_one_prepared_row_has_the_same_bits(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    prepared, answers = clf.predictor(), clf.predict_proba(X)
    for k in range(5):
        assert np.array_equal(prepared.predict_proba(X.iloc[k].to_dict()), answers[k])


def test_later_rows_become_cases() -> None:
    X, y = rings(300)
    clf = FERLClassifier(cases=True, random_state=0).partial_fit(X[:200], y[:200])
    before = clf.n_cases_
    clf.partial_fit(X[200:], y[200:])
    assert (before, clf.n_cases_) == (200, 300)
    assert len(np.unique(clf.model_.cases.place)) == 300  # each has a number of its own
    bounded = FERLClassifier(cases=True, n_cases=150, random_state=0).partial_fit(X[:200], y[:200])
    assert bounded.n_cases_ == 150
    assert bounded.partial_fit(X[200:], y[200:]).n_cases_ == 150


def test_equal_rows_of_a_later_block_are_one_case(
    clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]],
) -> None:
    clf, X, y = clustered
    cases = clf.model_.cases
    assert cases is not None
    block = Block(X[:50], y[:50].astype(np.int32), np.ones(50))
    more = with_more_cases(cases, block, 1000)
    assert more.n_cases == cases.n_cases
    assert more.weight.sum() == cases.weight.sum() + 50


def test_there_is_no_proof_about_cases(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    clf, X, _ = clustered
    with pytest.raises(ValueError, match="no proof"):
        clf.certified_radius(X[:2])
    assert clf.lipschitz_ == np.inf
    assert "Proven" not in str(clf.stability_report(X))
    with pytest.raises(ValueError, match="cannot be held to a direction"):
        FERLClassifier(cases=True, monotonic_cst=[1, 0, 0]).fit(X, clf.predict(X))


def test_a_change_that_is_named_changes_the_label(
    clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]],
) -> None:
    clf, X, _ = clustered
    n_found = 0
    for k in range(12):
        for change in clf.explain(X[k]).changes:
            n_found += 1
            other = X[k].copy()
            other[int(change.feature[1:])] = change.exact
            assert clf.predict(other[None])[0] == change.label != clf.predict(X[k : k + 1])[0]
    assert n_found > 10


def test_a_case_that_is_struck_out_votes_no_more(
    clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]],
) -> None:
    clf, X, y = clustered
    nearest = clf.similar(X[:1], n=2)
    struck = edit(clf).strike(int(nearest.case[0, 0]))
    assert struck.similar(X[:1], n=1).case[0, 0] == nearest.case[0, 1]
    cases = clf.model_.cases
    assert cases is not None
    near, vote = clf.similar(X[:1], n=31), cases.added(X[:1])[0]
    label = near.label[0, 0]  # the class of the nearest case has a share in every vote
    assert near.adds[0][near.label[0] == label].sum() == pytest.approx(vote[label], abs=1e-9)
    assert struck.cost(X, y).n_changed >= 0
    plain = FERLClassifier(prune=2 * FERLClassifier().prune, random_state=0).fit(X, y)
    np.testing.assert_allclose(edit(clf).strike().predict_proba(X), plain.predict_proba(X), atol=1e-12)
    for wrong in ("12", 12.7, True, nearest.case[0]):
        with pytest.raises(ValueError, match="no number of a case"):
            edit(clf).strike(wrong)
    gone = edit(clf).strike(12).model_.tree.profile.exemplar_row
    assert not (gone == X[12]).all(axis=1).any()  # nor does the row stay for novelty
    assert not edit(clf).strike().cases_.is_used
    with pytest.raises(ValueError, match="There is no case 12345"):
        edit(clf).strike(12345)
    with pytest.raises(ValueError, match="follows no direction"):
        edit(clf).monotone(0, 1)


def test_a_forbidden_feature_counts_in_no_distance(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    for name in ("a", "colour", "town", "day"):
        other = X.copy()
        other[name] = X[name].to_numpy()[::-1]
        forbidden = edit(clf).forbid(name)
        assert np.array_equal(forbidden.predict_proba(X), forbidden.predict_proba(other)), name


def test_cases_of_tiny_units_can_be_saved(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=60)
    X = np.column_stack([x * 1e-160, x])
    clf = FERLClassifier(cases=True, random_state=0).fit(X, x > 0)
    assert clf.n_cases_ > 0
    save_model(clf, tmp_path / "model.json")
    assert (load_model(tmp_path / "model.json").predict_proba(X) == clf.predict_proba(X)).all()


def test_columns_that_do_not_count_change_no_bit(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, _ = of_mixed
    for name in ("a", "colour", "day"):
        forbidden = edit(clf).forbid(name)
        without = forbidden.predict_proba(X.assign(**{name: None}).astype({name: X[name].dtype}))
        assert np.array_equal(forbidden.predict_proba(X), without), name


def test_without_any_value_that_counts_no_case_is_similar(
    of_mixed: tuple[FERLClassifier, pd.DataFrame, Any], clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]
) -> None:
    clf, X, _ = of_mixed
    blind = edit(clf)
    for name in X:
        blind = blind.forbid(name)
    with pytest.raises(ValueError, match=r"No feature counts.*forbidden"):
        blind.similar(X[:1])
    np.testing.assert_allclose(blind.contributions(X[:5])[:, -2], 0.0, atol=1e-12)
    for model, row in ((blind, X[:1]), (clustered[0], np.full((1, 3), np.nan))):
        story = model.explain(row)
        assert story.similar is None
        assert not story.cases
        assert "most similar known rows were" not in str(story)
    ask = "({ page, row }) => ferlEngine(page).similar(row.map(Number), 5)"
    row = numbers(clf._rows(X[:1])[:, : X.shape[1]])[0]
    assert [len(javascript.run(ask, {"page": page_form(own.model_), "row": row})) for own in (blind, clf)] == [0, 5]


def test_similar_cases_as_text_frame_and_html(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    clf, X, y = of_mixed
    found = clf.similar(X[:3], n=4)
    assert (np.diff(found.distance, axis=1) >= 0).all()
    assert found.label.tolist() == [[y[case] for case in row] for row in found.case.tolist()]
    frame = found.to_frame()
    assert len(frame) == 12
    assert frame["town"].tolist() == X["town"].to_numpy()[found.case.ravel()].tolist()
    assert "class" in str(found)
    assert "<table" in found.to_html()
    with pytest.raises(ValueError, match="n is 0"):
        clf.similar(X, n=0)


def test_the_strip_of_cases_has_a_mark_for_each(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from ferl.plot import plot_similar

    clf, X, _ = clustered
    ax = plot_similar(clf, X[:4], n=6, ax=Figure().subplots())
    assert sum(len(own.get_offsets()) for own in ax.collections) == 24
    with pytest.raises(ValueError, match="room for 20"):
        plot_similar(clf, X[:30])


def test_explanations_have_a_line_on_cases(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any]) -> None:
    """The line counts the classes of the nearest cases, and effects with the vote lead to the odds of the row."""
    clf, X, _ = of_mixed
    for k in range(8):
        story = clf.explain(X.iloc[k], details=True)
        near, best = clf.similar(X.iloc[[k]], n=10), clf.predict(X.iloc[[k]])[0]
        assert story.cases[0].startswith(f"{(near.label == best).sum()} of the 10 most similar known rows were {best}")
        vote = clf.feature_contributions(X.iloc[[k]])[0, -2]
        effect = next(own.weight for own in story.effects if own.feature == "similar known cases")
        cases, side = clf.model_.cases, clf.classes_.tolist().index(best)
        assert cases is not None
        moved = vote - clf.model_.fading(clf._rows(X.iloc[[k]]))[0] * cases.usual
        assert effect == pytest.approx(moved[side] - moved[1 - side], abs=1e-9)
        assert "Similar known cases" in str(story)


def test_a_row_without_values_is_like_no_case(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    clf, X, _ = clustered
    story = clf.explain([np.nan] * X.shape[1])
    assert story.cases == ()
    assert "most similar known rows" not in str(story)


def test_a_card_refuses_cases(clustered: tuple[FERLClassifier, Floats, NDArray[np.int64]]) -> None:
    from ferl import export_text
    from ferl.export import export_scorecard, export_sql

    clf, _, _ = clustered
    for export in (export_scorecard, export_sql):
        with pytest.raises(ValueError, match="known cases"):
            export(clf)
    assert "cannot be computed by hand" in " ".join(export_text(clf).split())


def test_a_report_shows_cases(of_mixed: tuple[FERLClassifier, pd.DataFrame, Any], tmp_path: Path) -> None:
    from ferl.report import write_report

    clf, X, y = of_mixed
    write_report(clf, X[:60], y[:60], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "known cases" in page
    assert 'id="similar"' in page


def test_the_number_of_cases_is_bounded() -> None:
    X, y = rings(400)
    few = FERLClassifier(cases=True, n_cases=250, random_state=0).fit(X, y)
    assert few.n_cases_ == 250
    with pytest.warns(UserWarning, match="n_cases=5 has no effect: cases is False"):
        FERLClassifier(n_cases=5).fit(X, y)


def test_a_class_without_a_case_has_a_frequency() -> None:
    cases = replace(
        Cases(
            row=np.zeros((2, 1)),
            label=np.array([0, 0], dtype=np.int32),
            weight=np.ones(2),
            place=np.arange(2),
            centre=np.zeros(1),
            per_unit=np.ones(1),
            n_categories=np.zeros(1, dtype=np.int32),
            strength=np.ones(4),
            usual=np.zeros(3),
        )
    )
    assert (cases.frequency > 0).all()
    assert np.isfinite(cases.added(np.zeros((1, 1)))).all()
