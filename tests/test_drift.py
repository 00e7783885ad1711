"""Drift: how a block differs from the rows before, and how little where it does not."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._learn.consequents import consequents, own_trust
from ferl._models.novelty import usual_residual
from update_examples import world


def drifts(n_before: int, n_now: int, n_draws: int, options: dict[str, Any], **shift: float) -> list[Any]:
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        model = classifier(**{"kind": "deep", "random_state": 0} | options).fit(*world(rng, n_before))
        found.append(model.partial_fit(*world(rng, n_now, **shift)).drift_)
    return found


@pytest.mark.parametrize("options", [{}, {"kind": "medium"}, {"kind": "compact"}, {"consequents": "raw"}])
def test_without_drift_the_figures_are_noise(options: dict[str, Any]) -> None:
    found = drifts(600, 600, 12, options)
    assert sum(own.z > 2 for own in found) <= 1
    assert sum(own.routing > 3 * own.routing_noise for own in found) == 0
    assert max(own.support for own in found) < 0.05
    assert np.mean([own.novelty for own in found]) < 1.1
    shift = [abs(own.class_shift[1]) / own.class_noise[1] for own in found]
    assert sum(own > 2 for own in shift) <= 2
    assert np.mean(shift) == pytest.approx(np.sqrt(2 / np.pi), abs=0.45)


@pytest.mark.parametrize("options", [{}, {"kind": "medium"}, {"kind": "compact"}])
def test_each_drift_raises_its_own_figure(options: dict[str, Any]) -> None:
    labels = drifts(600, 600, 3, options, flipped=0.5)
    assert all(own.z > 4 for own in labels)
    assert all(own.routing < 3 * own.routing_noise for own in labels)
    moved = drifts(600, 600, 3, options, moved=6.0)
    assert all(own.routing > 3 * own.routing_noise for own in moved)
    assert all(own.support > 0.1 for own in moved)


def test_the_rows_a_tree_knows_are_no_news_to_it() -> None:
    """The same rows again: shares and labels agree exactly, up to the allowance for rows that are new."""
    X, y = world(np.random.default_rng(0), 400)
    model = FERLTreeClassifier("deep", max_rules=4, consequents="raw", random_state=0).fit(X, y)
    usual = usual_residual(model.tree_)
    drift = model.partial_fit(X, y).drift_
    assert drift.routing == pytest.approx(0, abs=1e-12)
    assert drift.support == 0
    assert drift.class_shift == pytest.approx({0: 0, 1: 0}, abs=1e-12)
    assert -0.02 < drift.labels < 0
    residual = model.fit(X, y).novelty(X, measure="residual").mean()
    assert drift.novelty == pytest.approx(residual / usual)
    assert 0.95 < drift.novelty < 1


def test_a_block_that_no_rule_covers_is_all_drift() -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 400)
    model = FERLTreeClassifier("compact", max_rules=2, random_state=0).fit(X, y)
    free = X[model.tree_.fire(X, gated=False)[:, model.tree_.leaves].max(axis=1) == 0]
    assert len(free) > 20
    drift = model.partial_fit(free, np.zeros(len(free), dtype=int)).drift_
    assert drift.routing > 0.5
    assert (drift.labels, drift.z) == (0.0, 0.0)  # nothing was said of them


def test_one_row_and_features_without_spread_give_finite_or_no_figures() -> None:
    frame = pd.DataFrame({"city": ["Oslo", "Rome"] * 20})
    model = FERLTreeClassifier("deep", random_state=0).partial_fit(frame, ["a", "b"] * 20)
    drift = model.partial_fit(frame[:1], ["b"]).drift_
    assert np.isnan(drift.novelty)
    assert 0 < drift.z <= 1
    assert drift.routing == pytest.approx(0.5)
    assert "novelty  nan" in repr(drift)


def test_a_feature_that_no_rule_tests_is_seen_in_novelty() -> None:
    rng = np.random.default_rng(0)
    model = FERLTreeClassifier("medium", max_rules=6, random_state=0).fit(*world(rng, 1000))
    X, y = world(rng, 500)
    X[:, 4] *= 3
    assert 4 not in model.tree_.feature
    drift = model.partial_fit(X, y).drift_
    assert drift.novelty - 5 * drift.novelty_error > 1
    assert drift.z < 3


def test_drift_reads_and_writes() -> None:
    (drift,) = drifts(300, 200, 1, {"kind": "medium"})
    text = repr(drift)
    assert text.startswith("<Drift: 200 rows>\nlabels ")
    first = [line.split()[0] for line in text.splitlines()[1:]]
    assert first == ["labels", "routing", "support", "novelty", "classes", "Verdict:"]
    form = drift.to_dict()
    assert form["verdict"] == drift.verdict == text.splitlines()[-1]
    assert form["z"] == drift.z == drift.labels / drift.labels_error
    assert json.loads(json.dumps(form))["class_shift"] == {"0": form["class_shift"][0], "1": form["class_shift"][1]}


@pytest.mark.parametrize("kind", ["raw", "laplace", "shrinkage"])
def test_trust_is_the_slope_of_the_consequents(kind: str) -> None:
    class_weight, parent = np.array([[10.0, 20.0], [8.0, 4.0], [2.0, 16.0]]), np.array([-1, 0, 0], dtype=np.int32)
    step = np.zeros((3, 2))
    step[1] = [0.01, -0.01]  # the root stays
    change = consequents(class_weight + step, parent, kind) - consequents(class_weight, parent, kind)
    assert change[1, 0] / (0.01 / 12) == pytest.approx(own_trust(class_weight, parent, kind)[1])


def test_few_rows_get_no_verdict_but_are_told_how_many_would_do() -> None:
    rng = np.random.default_rng(0)
    model = FERLClassifier(random_state=0).fit(*world(rng, 300))
    X, y = world(rng, 57)
    few = copy.deepcopy(model).partial_fit(X[:2], y[:2]).drift_
    assert few.verdict == "Verdict: 2 rows are too few to detect drift; 57 are enough."
    one = copy.deepcopy(model).partial_fit(X[:1] + 100, y[:1]).drift_
    outside = "Values lie outside the training range (100 % of the firing is withheld)."
    assert one.verdict == f"Verdict: 1 row is too few to detect drift; 57 are enough. {outside}"
    enough = copy.deepcopy(model).partial_fit(X, y).drift_
    assert enough.verdict == "Verdict: no sign of drift in 57 rows."
    flipped = copy.deepcopy(model).partial_fit(X[:56], 1 - y[:56]).drift_
    assert flipped.z > 4
    assert flipped.verdict.startswith("Verdict: drift in 56 rows: the rules fit the labels less well than before")
    # The noise of a handful is not known, whatever their figures say.
    assert one.signs
    assert copy.deepcopy(model).partial_fit(X[:9] + 100, y[:9]).drift_.verdict.startswith("Verdict: 9 rows are too few")
    assert copy.deepcopy(model).partial_fit(X[:10] + 100, y[:10]).drift_.verdict.startswith("Verdict: drift in 10 rows")
    # The number is that of the rule: three standard errors of a share are 20 points, or nearly so.
    assert 3 * 0.5 / np.sqrt(57) <= 0.2 < 3 * 0.5 / np.sqrt(56)
