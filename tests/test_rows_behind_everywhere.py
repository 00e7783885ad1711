"""All that reads the evidence of rules reads the rows behind an answer: the same 50 % from many rows and from few."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import javascript
from ferl import FERLClassifier, RuleEvidence
from ferl._judge.promises import SIGNALS
from ferl._tell.explanation import REMEDIES
from ferl._util.text import rows_text
from ferl.abstention import RiskControlledFERL, read_signal
from ferl.certified_cache import CertifiedCache
from ferl.conformal import ConformalFERL, nonconformity
from ferl.export import Scorecard
from ferl.plot import plot_decision_regions, plot_evidence
from ferl.report import report_html

MANY, FEW, FAR = [0.025], [8.05], [1e6]  # answers of 50 %, of 50 %, and of the class frequencies
WORDS = Path(__file__).parents[1] / "docs" / "glossary.md"


@lru_cache
def crowded_and_empty() -> tuple[np.ndarray, np.ndarray, FERLClassifier]:
    """3,000 rows around 0 and five around 8, with a change of class in both places, and a model of them."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(size=3000), random.normal(size=5) + 8])
    y = np.where(np.where(x < 4, x, 8 - x) + random.logistic(size=len(x)) / 3 > 0, "yes", "no")
    return x[:, None], y, FERLClassifier(random_state=0).fit(x[:, None], y)


def test_signals_of_risk_control_tell_the_two_answers_apart() -> None:
    _, _, model = crowded_and_empty()
    rows = [MANY, FEW, FAR]
    evidence = model.predict_evidence(rows)
    assert isinstance(evidence, RuleEvidence)
    ignorance, belief, margin = (read_signal(model, rows, name) for name in ("ignorance", "belief", "margin"))
    np.testing.assert_array_equal(ignorance, evidence.rows * 0 - evidence.ignorance)
    np.testing.assert_array_equal(belief, (1 - evidence.ignorance) * evidence.probability.max(axis=1))
    assert ignorance[0] > -0.01 > -0.1 > ignorance[1] > ignorance[2] == -1
    assert belief[0] > belief[1] + 0.05 > belief[2] == 0
    assert (margin[:2] < 0.05).all()  # the probability does not tell them apart


@pytest.mark.parametrize("signal", ["belief", "margin", "learned"])
def test_risk_control_abstains_first_where_its_signal_is_low(signal: str) -> None:
    X, y, model = crowded_and_empty()
    wrapper = RiskControlledFERL(model, risk=0.12, signal=signal, method="bonferroni", random_state=0).calibrate(
        X[::2], y[::2]
    )
    rows = np.concatenate([X[1::2], [MANY, FEW, FAR]])
    is_answered = np.array([label is not None for label in wrapper.predict(rows)])
    assert 0.3 < is_answered.mean() < 1
    assert not is_answered[-3:].any()
    if signal == "learned":
        assert not wrapper._design.counts[SIGNALS.index("ignorance")]  # clear answers lie where fewer rows are
    else:
        own = read_signal(model, rows, signal)
        assert own[is_answered].min() >= own[~is_answered].max()


def test_conformal_plausibility_is_that_of_rows_behind() -> None:
    X, y, model = crowded_and_empty()
    sets = ConformalFERL(model, nonconformity="plausibility").conformalize(X[::2], y[::2]).predict_set([MANY, FEW, FAR])
    score = nonconformity(model.predict_evidence([MANY, FEW, FAR]), "plausibility")
    assert score[1].max() < score[0].min() - 0.05  # every class is more plausible where few rows are behind the answer
    assert (score[2] == 0).all()
    assert (sets[1] >= sets[0]).all()
    assert sets[2].all()


def test_abstention_has_two_reasons() -> None:
    _, _, model = crowded_and_empty()
    sets = model.predict_set([MANY, FEW, FAR, [2.5]])
    assert sets.tolist() == [[True, True]] * 3 + [[False, True]]
    stories = [model.explain(row, counterfactual=False) for row in (MANY, FEW, FAR)]
    assert [story.abstains for story in stories] == [True] * 3
    said = [[key for key, remedy in REMEDIES.items() if remedy in str(story)] for story in stories]
    assert said[0] == ["doubt"]
    assert said[2] == ["novelty"]
    assert "no training row supports an answer" in stories[2].summary


def test_labels_of_rows_outside_the_range_are_no_drift_of_labels() -> None:
    """The answers there are the class frequencies, and no promise that labels could break."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    far = X[:200] + np.array([60.0, 0.0])  # where open gates would answer 1 with certainty
    model = FERLClassifier(random_state=0).fit(X, y)
    assert (model.predict_evidence(far).ignorance == 1).all()
    drift = model.partial_fit(far, random.integers(0, 2, 200)).drift_
    assert abs(drift.labels) < 0.02
    assert drift.z < 2
    assert drift.support > 0.9
    inside = FERLClassifier(random_state=0).fit(X, y).partial_fit(X[:200], 1 - y[:200]).drift_
    assert inside.labels > 0.5
    assert inside.z > 4


def test_a_scorecard_rests_on_the_same_rows_and_far_away_counts_the_frequencies() -> None:
    X, y, model = crowded_and_empty()
    card, rows = Scorecard(model), [MANY, FEW, FAR]
    found, expected = card.predict_evidence(rows), model.predict_evidence(rows)
    assert isinstance(found, RuleEvidence)
    for name in ("rows", "ignorance"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.belief, expected.belief, atol=1e-9)
    assert card.decision_function([FAR])[0] == pytest.approx(np.log((y == "yes").mean() / (y == "no").mean()), abs=1e-9)
    # The total is that of the lines of the table, of which the last holds for all larger values.
    assert card.total([FAR])[0] == pytest.approx(card.total([[X.max() + 1e-9]])[0])


def test_certificates_are_of_the_faded_answer() -> None:
    """Far away the label is that of the frequencies, and no step changes it; the cache answers as the model does."""
    X, y, model = crowded_and_empty()
    common = max(set(y), key=y.tolist().count)
    far = np.array([[1e6], [-1e6], [1e9]])
    assert (model.predict(far) == common).all()
    radius = model.certified_radius(far)
    assert (radius > 1e5).all()
    random = np.random.default_rng(1)
    for row, own in zip(far, radius, strict=True):
        near = row + random.uniform(-1, 1, size=(200, 1)) * min(own, 1e12) * (1 - 1e-9)
        assert (model.predict(near) == common).all()
    cache = CertifiedCache(model)
    rows = np.concatenate([X[:50], far, far * 1.001])
    np.testing.assert_array_equal(np.concatenate([cache.predict(row[None]) for row in rows]), model.predict(rows))


def test_the_page_counts_the_rows_that_python_counts() -> None:
    X, _, model = crowded_and_empty()
    rows = np.concatenate([X[::40], [MANY, FEW, [12.0], FAR]])
    found, expected = javascript.judge(model.model_, rows), model.predict_evidence(rows)
    for name in ("rows", "ignorance", "belief", "plausibility"):
        np.testing.assert_allclose(found[name], getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_report_has_the_rows_behind_the_answers_that_it_lists() -> None:
    X, y, model = crowded_and_empty()
    rows = np.concatenate([X[:200], [MANY, FEW, FAR]])
    page = report_html(model, rows, np.concatenate([y[:200], ["yes", "no", "no"]]))
    for row in (FEW, FAR):
        evidence = model.predict_evidence([row])
        told = f"ignorance {evidence.ignorance[0]:.2f}, rests on {rows_text(float(evidence.rows[0]))}"
        assert told in page


@pytest.mark.parametrize("row", [MANY, FEW, FAR])
def test_pictures_have_the_rows_behind(row: list[float]) -> None:
    model = crowded_and_empty()[2]
    ax, evidence = Figure().subplots(), model.predict_evidence([row])
    plot_evidence(model, row, ax=ax)
    assert ax.get_xlabel() == (
        f"mass of evidence (ignorance {evidence.ignorance[0]:.2f}; rests on {rows_text(float(evidence.rows[0]))})"
    )
    bars = {own.get_label(): own for own in ax.containers}
    assert [bar.get_width() for bar in bars["belief"]] == pytest.approx(evidence.belief[0])
    assert [bar.get_width() for bar in bars["plausibility"]] == pytest.approx([evidence.ignorance[0]] * 2)


def test_regions_fade_where_few_rows_are_behind() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 2)), random.normal(size=(5, 2)) + 8])
    y = random.integers(0, 2, len(X))
    model, ax = FERLClassifier(random_state=0).fit(X, y), Figure().subplots()
    plot_decision_regions(model, X, y, n_steps=30, ax=ax)
    image = np.asarray(ax.images[0].get_array()).reshape(-1, 3)
    left, right, bottom, top = ax.images[0].get_extent()
    across, up = np.meshgrid(np.linspace(left, right, 30), np.linspace(bottom, top, 30))
    ignorance = model.predict_evidence(np.column_stack([across.ravel(), up.ravel()])).ignorance
    away = (1 - image).max(axis=1)
    order = np.argsort(ignorance)
    assert away[order[:50]].min() > away[order[-50:]].max()


def test_doubt_ignorance_and_novelty_are_three_entries_of_the_glossary() -> None:
    text = WORDS.read_text(encoding="utf-8")
    entries = {own.splitlines()[0]: " ".join(own.splitlines()[1:]) for own in text.split("### ")[1:]}
    assert "classes are close" in entries["Doubt"]
    assert "second opinion" in entries["Doubt"]
    assert "how few training rows are similar" in entries["Ignorance"]
    assert "Collect similar rows" in entries["Ignorance"]
    assert "unlike" in entries["Novelty"]
    assert len({REMEDIES[name] for name in ("doubt", "ignorance", "novelty")}) == 3


def test_no_name_of_the_library_calls_ignorance_doubt() -> None:
    model: Any = crowded_and_empty()[2]
    story = model.explain(FEW, counterfactual=False)
    assert not hasattr(story, "doubt")
    assert sum(vars(story.ignorance_causes).values()) == pytest.approx(story.ignorance)
    assert story.ignorance_causes.main == "thin_support"
