"""Verdicts and scales: figures that end in a sentence, and novelty on the scale of the training rows."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from estimators import classifier
from ferl import FERLClassifier, ModelFileError, NoveltyDetector, load_model, save_model
from ferl._models.novelty import distances_from_others, quantiles, share_below
from ferl._tell.stability import margin_verdict, steadiness_verdict
from ferl.editing import edit
from table_examples import TABLE_LAW, wide_example

TREES = [{"kind": "deep"}, {"kind": "medium"}, {"kind": "compact"}]
MODELS = [{}, *TREES]


def model(parameters):
    return classifier(**({"kind": "rules"} | parameters), random_state=0)


def fitted(parameters, load=load_wine):
    X, y = load(return_X_y=True)
    return X, y, model(parameters).fit(X, y)


# ---------------------------------------------------------------------------------------------------------------------
# Novelty on the scale of the training rows
# ---------------------------------------------------------------------------------------------------------------------


@TABLE_LAW
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.integers(0, 100))
def test_a_quantile_is_the_least_value_that_so_many_reach(values, percent):
    value = np.array(values)
    found = quantiles(value, np.ones(len(value)))[percent]
    assert (value <= found).mean() >= percent / 100 - 1e-9
    assert (value < found).mean() <= percent / 100 + 1e-9
    rank = share_below(quantiles(value, np.ones(len(value))), np.array([found]))[0]
    assert (value < found).mean() >= rank - 1e-9


@pytest.mark.parametrize("parameters", MODELS)
def test_new_rows_of_the_same_source_are_spread_evenly_over_the_scale(parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=1600) > 0).astype(int)
    clf = model(parameters).fit(X[:600], y[:600])
    rank = clf.novelty_rank(X[600:])
    for level in (0.25, 0.5, 0.75, 0.9):
        assert abs((rank >= level).mean() - (1 - level)) < 0.08
    assert (clf.novelty_rank(X[600:] + 8) == 1).all()


def test_rows_that_a_large_table_does_not_keep_are_measured_when_it_is_fitted(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] > 0).astype(int)
    clf = FERLClassifier(random_state=0, n_exemplars=200).fit(X[:2000], y[:2000])
    assert clf.model_.novelty_scale is not None
    rank = clf.novelty_rank(X[2000:])
    assert abs((rank >= 0.5).mean() - 0.5) < 0.1
    # Kept rows are those that lie apart from the others; leaving them out makes the scale a little wide.
    assert 0.02 < (rank >= 0.9).mean() < 0.15
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.novelty_rank(X[2000:]), rank)
    # Files of before know less, and say less.
    form = json.loads((tmp_path / "model.json").read_text())
    del form["weights"]["novelty_scale"]
    (tmp_path / "old.json").write_text(json.dumps(form))
    old = load_model(tmp_path / "old.json")
    assert np.isnan(old.novelty_rank(X[:3])).all()
    assert old.explain(X[0]).novelty_rank is None
    assert "Novelty is " in str(old.explain(X[2500], details=True))
    form["weights"]["novelty_scale"] = np.arange(101)[::-1].tolist()
    (tmp_path / "wrong.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=r"weights\.novelty_scale"):
        load_model(tmp_path / "wrong.json")
    # Another block is measured with the rest, and what edits change is not told by old figures.
    clf.partial_fit(X[2000:], y[2000:])
    assert clf.model_.novelty_scale is not None
    assert np.isnan(edit(clf).drop(1).novelty_rank(X[:1])).all()


def test_the_distance_of_a_kept_row_is_that_to_another_row():
    _, _, clf = fitted({}, load_iris)
    neighbours = clf.model_.neighbours
    distance = distances_from_others(neighbours, neighbours.rows)
    assert (distance > 0).all()
    unit = neighbours.unit
    for k in (0, 7, 60):
        part = np.arange(len(neighbours.rows)) % 8 != k % 8
        nearest = (np.abs(neighbours.rows[part] - neighbours.rows[k]) / unit).mean(axis=1).min()
        assert distance[k] == pytest.approx(nearest / neighbours.usual)


def test_rows_that_occur_again_are_at_distance_zero():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("pqrst"), 900), "b": rng.choice(list("uvwxyz"), 900)})
    y = (X["a"].isin(["p", "q"]) ^ (rng.random(900) < 0.1)).astype(int)
    for parameters in ({}, {"kind": "deep"}):
        clf = model(parameters).fit(X, y)
        assert (clf.novelty_rank(X) < 1).all()
        assert (clf.novelty_rank(pd.DataFrame({"a": ["new"], "b": ["other"]})) == 1).all()


@pytest.mark.parametrize("parameters", MODELS)
def test_an_explanation_says_how_unusual_a_row_is(parameters):
    X, _, clf = fitted(parameters)
    odd = X[10].copy()
    odd[[0, 5, 9]] += 8 * X.std(axis=0)[[0, 5, 9]]
    story = clf.explain(odd, details=True)
    assert story.novelty_rank == clf.novelty_rank(odd[None])[0] == 1
    text = " ".join(str(story).split())
    assert "Very unusual: more unusual than all training rows that were compared (novelty" in text
    assert story.to_dict()["novelty"]["rank"] == 1
    mild = X[10] + 0.2 * X.std(axis=0)
    assert 0 <= clf.explain(mild).novelty_rank < 1
    assert clf.explain(mild, feature_names=[f"f{j}" for j in range(13)]).novelty_rank == clf.novelty_rank(mild[None])[0]


def test_a_model_without_rows_says_less():
    X, _, clf = fitted({"n_exemplars": 0})
    assert np.isnan(clf.novelty_rank(X[:2])).all()
    assert clf.explain(X[0]).novelty_rank is None


def test_an_edited_model_that_keeps_all_rows_knows_its_scale():
    table, clf = wide_example(0, 2)
    ranks = edit(clf).drop(1).novelty_rank(table.frame)
    assert not np.isnan(ranks).any()


# ---------------------------------------------------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [*MODELS, {"kind": "deep", "combination": "vote"}])
def test_a_certificate_names_its_unit_and_ends_in_a_verdict(parameters):
    X, _, clf = fitted(parameters)
    spread = X.std(axis=0)
    plain, spreads, given_scale = (clf.certificate(X[0], scale=own) for own in (None, "spread", spread))
    assert "in its own unit" in str(plain)
    assert f"{spreads.radius:.4g} standard deviations" in str(spreads)
    assert "in units of scale" in str(given_scale)
    assert spreads.radius == pytest.approx(given_scale.radius, rel=1e-6)
    np.testing.assert_allclose(clf.certified_radius(X[:3], scale="spread"), clf.certified_radius(X[:3], scale=spread))
    assert plain.spreads == spreads.spreads == spreads.radius
    for one in (plain, spreads, given_scale):
        assert str(one).splitlines()[-1] == one.verdict == margin_verdict("0", spreads.radius)
    with pytest.raises(ValueError, match="scale is 'other'"):
        clf.certified_radius(X, scale="other")


@pytest.mark.parametrize("parameters", [*MODELS, {"kind": "deep", "combination": "vote"}])
def test_a_stability_report_ends_in_a_verdict_that_holds(parameters):
    X, _, clf = fitted(parameters, load_breast_cancer)
    with_rows, without = clf.stability_report(X), clf.stability_report()
    assert str(with_rows).splitlines()[-1] == with_rows.verdict
    rows = X[np.linspace(0, len(X) - 1, 200).astype(int)]
    assert with_rows.radius == pytest.approx(np.median(clf.certified_radius(rows, scale="spread")))
    assert "Half of the rows provably keep their label" in with_rows.verdict
    assert str(without).splitlines()[-1] == without.verdict == steadiness_verdict(without.per_spread)
    if np.isnan(without.per_spread):
        assert "nothing is proven for all rows at once" in without.verdict
        return
    # The bound holds where gates are open: from row to row a little apart.
    open_gates = clf.reading(support_gate=False)
    step = 0.02 * X.std(axis=0) * np.random.default_rng(0).choice([-1, 1], size=X.shape)
    moved = np.abs(open_gates.predict_proba(X + step) - open_gates.predict_proba(X)).max()
    assert 0 < moved <= 0.02 * without.per_spread


def test_verdicts_grow_with_their_figures():
    words = [margin_verdict("a", own).split(".")[0] for own in (0.0, 0.05, 0.3, 2.0, np.inf)]
    ranks = ["no margin", "little margin", "some margin", "wide margin", "certain"]
    assert words == [f"Verdict: {word}" for word in ranks]
    words = [steadiness_verdict(1.0, own).split(".")[0] for own in (0.05, 0.3, 2.0)]
    assert words == ["Verdict: fragile", "Verdict: fairly robust", "Verdict: robust"]
    words = [steadiness_verdict(own).split(".")[0] for own in (0.0, 0.5, 5.0, 50.0)]
    assert words == ["Verdict: steady", "Verdict: steady", "Verdict: moderate", "Verdict: steep"]
    assert "nothing is proven" in steadiness_verdict(np.inf)
    assert "however far" in steadiness_verdict(1.0, np.inf)


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_a_drift_says_what_has_changed_and_nothing_where_nothing_has(variant):
    rng = np.random.default_rng(0)

    def block(n, shift=0.0, turned=0.0, scale=1.0):
        X = scale * rng.normal(size=(n, 4)) + shift
        y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0
        return X, np.where(rng.random(n) < turned, ~y, y)

    clf = classifier(variant, random_state=0).partial_fit(*block(1500), classes=[False, True])
    begun = clf.model_

    def verdict(**change):
        clf.model_ = begun
        return clf.partial_fit(*block(500, **change)).drift_.verdict

    assert verdict() == "Verdict: no sign of drift in 500 rows."
    turned, moved, wide = verdict(turned=0.4), verdict(shift=1.0), verdict(scale=2.5)
    assert "the rules fit the labels less well than before" in turned
    assert turned.endswith("Fit anew on recent rows.")
    assert "less frequent" in moved or "more frequent" in moved
    assert "values lie outside the training range" in wide
    assert "times as far from the middle of their rules" in wide


def test_a_detector_says_in_sentences_what_is_novel_and_whether_a_batch_has_drifted():
    data = load_iris(as_frame=True)
    X, y = data.data.assign(garden=np.where(data.target == 0, "north", "south")), data.target
    detector = NoveltyDetector(random_state=0).fit(X.iloc[::2], y.iloc[::2])
    odd = X.iloc[[1, 1, 1, 1]].copy()
    odd.iloc[0, 3], odd.iloc[2, 4] = 2.6, "west"
    first, second, third, _ = detector.explain(odd)
    assert first.startswith(
        "Novel (p = 0.013): more unusual than all 75 rows it was compared with; "
        "90 % of its novelty is from petal width (cm) 2.6"
    )
    assert second.startswith("Ordinary (p = ")
    assert "garden with a new category" in third or third.startswith("Ordinary")
    calm, moved = detector.drift(X.iloc[1::2]), detector.drift(odd.iloc[[0] * 40])
    assert calm.verdict.startswith("Verdict: no sign of drift. ")
    assert str(moved).startswith("Verdict: drift. 40 of 40 rows are unlike the training rows, where chance explains ")
    assert "comes from petal width (cm) (" in moved.verdict
    assert moved.p_value < 0.001 < calm.p_value
    assert sum(part for _, part in moved.features) == pytest.approx(1)
    # One novel row is no drift: it happens by chance as often as alpha says.
    assert detector.drift(odd.iloc[:1]).p_value == pytest.approx(detector.drift(odd.iloc[:1]).alpha)
    with pytest.raises(ValueError, match="at least one row"):
        detector.drift(X.iloc[:0])
