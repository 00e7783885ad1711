"""Scorecards and reason codes: points that add up to what the model says."""

import csv
import gc
import io
import math
import pickle
import re
import shutil
import subprocess
import weakref

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

from ferl import FERLClassifier, FERLTreeClassifier
from ferl._tell import reasons
from ferl._tell.curves import read_score_table
from ferl.export import Scorecard, export_scorecard, reason_codes
from ferl.report.page_form import numbers, page_form
from javascript import run
from table_examples import TABLE_LAW, rows_beside, wide_example


def points_by_hand(frame, row, firing):
    """The total of a row, read off the frame line by line; ``firing``: how far it fits each rule."""
    total = 0.0
    for line in frame.to_dict("records"):
        if line["feature"] == "all rows":
            total += line["points"]
        elif line["feature"] not in row:  # a rule on several features, or in words
            total += line["points"] * firing[int(line["rules"]) - 1]
        else:
            total += points_of_line(line, row[line["feature"]])
    return total


def points_of_line(line, value):
    is_interval = not (math.isnan(line["from"]) and math.isnan(line["to"])) or line["when"] == "any number"
    if pd.isna(value):
        return line["points"] if line["when"] == "missing" else 0.0
    if isinstance(value, str):
        return line["points"] if line["when"] == value else 0.0
    if not is_interval:
        return 0.0
    low, high = (
        (-math.inf if math.isnan(line["from"]) else line["from"]),
        (math.inf if math.isnan(line["to"]) else line["to"]),
    )
    if not low <= value < high:
        return 0.0
    if math.isinf(low) or math.isinf(high):
        return line["points"]
    return line["points"] + (value - low) / (high - low) * (line["points_to"] - line["points"])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rounded", [False, True])
def test_the_evidence_of_a_fitted_classifier_is_that_of_its_points(n_classes, rounded):
    table, clf = wide_example(1, n_classes)
    card, inside = Scorecard(clf, rounded=rounded, points_to_double=2), clf.predict_evidence(table.frame)
    evidence = card.predict_evidence(table.frame)
    np.testing.assert_array_equal(evidence.probability, card.predict_proba(table.frame))
    np.testing.assert_array_equal(evidence.conflict, inside.conflict)
    assert (np.abs(evidence.belief - inside.belief).max() < 1e-9) == (not rounded)


@pytest.mark.parametrize("rounded", [False, True])
def test_the_lines_of_the_table_add_up_to_the_total(rounded):
    table, clf = wide_example(0, 2)
    card = Scorecard(clf, rounded=rounded)
    rows = table.frame.iloc[:60]
    firing = clf.tree_.fire(clf._rows(rows), gated=False)[:, clf.model_.rules.node]
    frame = export_scorecard(clf, rounded=rounded)
    found = [points_by_hand(frame, row, own) for row, own in zip(rows.to_dict("records"), firing, strict=True)]
    np.testing.assert_allclose(found, card.total(rows), rtol=0, atol=1e-9)
    if rounded:
        assert frame["points"].dtype.kind == frame["points_to"].dtype.kind == "i"


@pytest.mark.parametrize("rounded", [False, True])
def test_the_card_worked_out_by_hand_gives_the_total_of_any_value(rounded):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.uniform(10, 90, 500), "debt": rng.uniform(0, 50, 500)})
    X["home"] = rng.choice(["own", "rent"], 500)
    y = X["income"] - X["debt"] + 20 * (X["home"] == "own") + 10 * rng.normal(size=500) > 40
    clf = FERLClassifier(random_state=0).fit(X, y)
    card, values = Scorecard(clf, rounded=rounded), [-1e6, -50.0, 5.0, 40.0, 95.0, 200.0, 1e6, None]
    rows = pd.DataFrame([(income, debt, home) for income in values for debt in values for home in ("own", "rent")])
    rows.columns = X.columns
    rows = rows.astype({"income": float, "debt": float})
    firing = clf.tree_.fire(clf._rows(rows), gated=False)[:, clf.model_.rules.node]
    found = [points_by_hand(card.frame(), *own) for own in zip(rows.to_dict("records"), firing, strict=True)]
    np.testing.assert_allclose(found, card.total(rows), rtol=0, atol=1e-9)
    if not rounded:  # and so does the page
        task = {"model": page_form(clf.model_), "rows": numbers(clf._rows(rows))}
        added_up = "({ model, rows }) => rows.map((row) => ferlEngine(model).opened(row.map(Number)))"
        opened = np.array(run(added_up, task))
        np.testing.assert_allclose(card.neutral + card.unit * (opened[:, 1] - opened[:, 0]), found, rtol=0, atol=1e-9)
    far = rows[(rows["income"] == 1e6) & (rows["debt"] == 1e6)]
    np.testing.assert_allclose(card.predict_proba(far), clf.predict_proba(far), rtol=0, atol=1e-12)
    np.testing.assert_allclose(card.predict_proba(far)[:, 1], y.mean(), rtol=1e-9)
    assert (card.predict_evidence(far).ignorance == 1).all()


@TABLE_LAW
@given(st.sampled_from([(0, 2), (1, 3), (2, 5)]), st.integers(0, 2**31))
def test_points_that_are_not_rounded_mean_what_the_classifier_says(example, seed):
    table, clf = wide_example(*example)
    rows = rows_beside(table, seed)
    card = Scorecard(clf, base_points=500, base_odds=20, points_to_double=40)
    np.testing.assert_allclose(card.predict_proba(rows), clf.predict_proba(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(card.decision_function(rows), clf.decision_function(rows), rtol=0, atol=1e-11)
    assert (card.predict(rows) == clf.predict(rows)).all()


def test_base_points_have_base_odds_and_more_points_double_them():
    table, clf = wide_example(0, 2)
    card = Scorecard(clf, base_points=660, base_odds=15, points_to_double=25)
    total, probability = card.total(table.frame), card.predict_proba(table.frame)[:, 1]
    odds = probability / (1 - probability)
    np.testing.assert_allclose(total, 660 + 25 * np.log2(odds / 15), rtol=1e-9)


def test_points_can_speak_for_either_class():
    table, clf = wide_example(0, 2)
    first, second = (Scorecard(clf, positive=label, base_odds=1) for label in clf.classes_)
    np.testing.assert_allclose(first.total(table.frame) + second.total(table.frame), 1200)
    np.testing.assert_allclose(first.predict_proba(table.frame), second.predict_proba(table.frame), atol=1e-12)
    assert f"probability of {clf.classes_[0]}" in first.text()
    with pytest.raises(ValueError, match="positive is 'x'; the classes are"):
        Scorecard(clf, positive="x").text()
    with pytest.raises(ValueError, match="3 classes have points each"):
        Scorecard(wide_example(1, 3)[1], positive=0).text()


def test_rounded_points_are_a_classifier_that_says_what_rounding_costs():
    data = load_breast_cancer()
    X, y = data.data[1::2], data.target[1::2]
    clf = FERLClassifier(max_rules=10, random_state=0).fit(data.data[::2], data.target[::2])
    coarse = Scorecard(clf, rounded=True, points_to_double=1)
    assert is_classifier(coarse)
    before, after = clf.predict_proba(X), coarse.predict_proba(X)
    cost = coarse.cost(X, y)
    for found, probability in ((cost.before, before), (cost.after, after)):
        assert found.accuracy == accuracy_score(y, probability.argmax(axis=1))
        assert found.log_loss == pytest.approx(log_loss(y, probability))
        assert found.auc == pytest.approx(roc_auc_score(y, probability[:, 1]))
    assert cost.n_changed == (before.argmax(axis=1) != after.argmax(axis=1)).sum()
    assert np.abs(before - after).max() > 0.01
    fine = Scorecard(clf, rounded=True, points_to_double=1000)
    assert np.abs(before - fine.predict_proba(X)).max() < 0.005
    with pytest.raises(ValueError, match="none of the classes"):
        coarse.cost(X, y + 1)
    with pytest.raises(ValueError, match="one label for each row"):
        coarse.cost(X, y[1:])


def test_a_scorecard_fits_a_clone_and_can_be_cross_validated():
    X, y = load_iris(return_X_y=True)
    card = Scorecard(FERLClassifier(max_rules=5, random_state=0), rounded=True)
    with pytest.raises(NotFittedError, match="needs a fitted classifier"):
        card.total(X)
    assert cross_val_score(card, X, y, cv=3).mean() > 0.9
    assert clone(card).get_params()["rounded"]
    assert card.fit(X, y).total(X).shape == (150, 3)
    for name, value in (("base_odds", 0), ("points_to_double", -1), ("base_points", "many")):
        with pytest.raises(ValueError, match=name):
            Scorecard(card.estimator_, **{name: value}).frame()
    with pytest.raises(ValueError, match=r"Scorecard is for rules, .* Use FERLClassifier"):
        Scorecard(FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)).frame()


@pytest.mark.parametrize("example", [(0, 2), (1, 3)])
def test_all_forms_hold_the_same_lines(example, tmp_path):
    _, clf = wide_example(*example)
    card = Scorecard(clf, rounded=True)
    frame = card.frame()
    columns = [name for name in frame.columns if name.startswith("points") and not name.startswith("points_to")]
    assert len(columns) == (1 if example[1] == 2 else example[1])
    assert card.csv(tmp_path / "card.csv") is None
    written = list(csv.reader(io.StringIO((tmp_path / "card.csv").read_text(encoding="utf-8"))))
    assert written[0] == list(frame.columns)
    if example[1] == 2:
        assert {line[-1] for line in written[1:]} == {str(clf.classes_[1])}
    assert [line[:2] for line in written[1:]] == frame[["feature", "when"]].to_numpy().tolist()
    assert [int(line[4]) for line in written[1:]] == frame[columns[0]].tolist()
    assert card.csv() == (tmp_path / "card.csv").read_text(encoding="utf-8")
    text, latex = card.text(), card.latex()
    assert len(text.splitlines()) == 2 + len(frame) + (3 if example[1] == 2 else 2)  # heads, an empty line, meaning
    assert latex.count(r" \\") == 1 + len(frame) + (3 if example[1] == 2 else 2)
    assert latex.startswith(r"\begin{tabular}")


@pytest.mark.parametrize("against", ["average", "best"])
def test_reasons_are_what_cost_most_and_add_up(against):
    table, clf = wide_example(0, 2)
    rows = table.frame.iloc[:40]
    every = reason_codes(clf, rows, n=1000, against=against)
    few = reason_codes(clf, rows, n=3, against=against)
    assert len(every) == len(few) == len(rows)
    for own, first in zip(every, few, strict=True):
        assert first == own[:3]
        assert [reason.lost for reason in own] == sorted((reason.lost for reason in own), reverse=True)
        assert all(reason.lost > 0 and reason.points == pytest.approx(20 / math.log(2) * reason.lost) for reason in own)
    if against == "average":  # what is lost towards one class is won towards the other, and all of it is the score
        other = reason_codes(clf, rows, n=1000, positive=clf.classes_[0])
        towards, away = (np.array([sum(one.lost for one in own) for own in part]) for part in (every, other))
        average = clf.decision_function(table.frame).mean()
        np.testing.assert_allclose(average - clf.decision_function(rows), towards - away, rtol=0, atol=1e-6)


def test_reasons_name_values_and_rules():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.uniform(10, 90, 800).round(), "home": rng.choice(["own", "rent"], 800)})
    y = np.where(X["income"] + 20 * (X["home"] == "own") + 10 * rng.normal(size=800) > 60, "granted", "denied")
    clf = FERLClassifier(max_conditions=1, random_state=0).fit(X, y)
    poor = pd.DataFrame({"income": [12.0, None], "home": ["rent", "tent"]})
    first, _ = reason_codes(clf, poor, positive="granted")
    assert first[0].text.startswith("income is 12: ")
    assert "points below average" in first[0].text
    assert (first[1].name, first[1].value) == ("home", "rent")
    best = reason_codes(clf, poor, positive="granted", against="best")[1]
    assert {reason.value for reason in best} == {"missing", "a category that training did not have"}


# ---------------------------------------------------------------------------------------------------------------------
# Reason codes
# ---------------------------------------------------------------------------------------------------------------------

LETTERS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs", "Cc", "So")), min_size=1, max_size=300)


@settings(max_examples=15, deadline=None)
@given(
    names=st.lists(LETTERS, min_size=4, max_size=4, unique=True),
    seed=st.integers(0, 9),
    against=st.sampled_from(["average", "best"]),
)
def test_a_reason_is_a_short_sentence_on_one_feature_whatever_a_table_holds(names, seed, against):
    rng = np.random.default_rng(seed)
    long = [f"{names[0]} {k} " + "category of many words " * 20 for k in range(30)]
    frame = pd.DataFrame(
        {
            names[0]: rng.normal(size=300) * 10.0 ** rng.integers(-9, 9),
            names[1]: pd.Series(rng.choice(long, 300)).mask(rng.random(300) < 0.1),
            names[2]: rng.integers(0, 5, 300),
            names[3]: pd.Series(rng.choice(["a", "b, c and d", "e (f)"], 300)),
        }
    )
    log_odds = frame[names[0]].rank(pct=True) * 3 + 2 * (frame[names[3]] == "a") * (frame[names[2]] > 1) - 2
    y = np.where(rng.random(300) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
    clf = FERLClassifier(random_state=0).fit(frame, y)
    rows = frame[:20].copy()
    rows.iloc[0] = [None] * 4
    rows.iloc[1, 1] = "unknown " * 50
    found = reason_codes(clf, rows, n=9, against=against)
    assert any(found)
    for reasons_of_row in found:
        assert len({reason.name for reason in reasons_of_row}) == len(reasons_of_row)
        for reason in reasons_of_row:
            assert len(reason.text) <= 120
            assert len(reason.text.splitlines()) == 1
            assert re.search(r": (\d+ points|1 point|less than a point) below (average|the best)$", reason.text)
            assert not re.search(r"\(rule \d|fits by", reason.text)


def test_reasons_are_what_the_contributions_of_features_are_below_average():
    X, y = load_breast_cancer(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X, y)
    parts = clf.feature_contributions(X)[:, :-1]
    towards = parts[..., 1] - parts[..., 0]
    for row, found in zip(towards[:20] - towards.mean(axis=0), reason_codes(clf, X[:20], n=30), strict=True):
        assert [reason.lost for reason in found] == pytest.approx(sorted(-row[row < -1e-9], reverse=True), abs=1e-7)


def test_reasons_of_several_classes_need_the_class_that_was_wished_for():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="name the class that rows should have had"):
        reason_codes(clf, X)
    assert any(reason_codes(clf, X[:1], positive=2)[0])
    far = X[:1] + 1000
    assert reason_codes(clf, far, positive=2) == [()]
    for options, match in (
        ({"n": 0}, "n is 0"),
        ({"against": "x"}, "against is"),
        ({"points_to_double": 0}, "above 0"),
    ):
        with pytest.raises(ValueError, match=match):
            reason_codes(clf, X, positive=2, **options)


def test_reasons_against_a_rival_are_differences_of_the_evidence_for_both():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(random_state=0).fit(X, y)

    def won(positive, rival=None):
        """What each feature or rule adds for one class: what it cost where it cost, the opposite where it did not."""
        towards = reason_codes(clf, X[60:61], n=1000, positive=positive, rival=rival)[0]
        return {reason.name: -reason.lost for reason in towards}

    pair, other_way = won(2, 1), won(1, 2)
    assert pair
    assert not set(pair) & set(other_way)
    gained, lost = clf.decision_function(X[60:61])[0], clf.decision_function(X).mean(axis=0)
    expected = (gained[2] - lost[2]) - (gained[1] - lost[1])
    assert sum(pair.values()) - sum(other_way.values()) == pytest.approx(expected, abs=1e-6)
    for rival in (2, 7, "x"):
        with pytest.raises(ValueError, match=r"name a class other than positive, one of \[0, 1\]"):
            reason_codes(clf, X[:1], positive=2, rival=rival)
    two = FERLClassifier(max_rules=4, random_state=0).fit(X[50:], y[50:])
    assert reason_codes(two, X[60:70], rival=1) == reason_codes(two, X[60:70])


def test_a_model_keeps_what_reasons_are_read_from_and_nothing_keeps_the_model():
    X, y = load_digits(n_class=6, return_X_y=True)
    clf = FERLClassifier(max_rules=12, random_state=0).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        calls = []
        patch.setattr(reasons, "read_score_table", lambda *own: calls.append(1) or read_score_table(*own))
        first = [reason_codes(clf, X[:3], positive=label, against="best") for label in range(6)]
        assert [reason_codes(clf, X[:3], positive=label, against="best") for label in range(6)] == first
        names = [f"pixel {j}" for j in range(64)]
        renamed = reason_codes(clf, X[:3], positive=0, feature_names=names, against="best")
        assert len(calls) == 1
    assert [own.lost for own in renamed[0]] == [own.lost for own in first[0][0]]
    assert not any(own.name.startswith("x") for row in renamed for own in row)
    assert "cache" not in vars(pickle.loads(pickle.dumps(clf.model_)))
    alive = weakref.ref(clf.model_)
    del clf
    gc.collect()
    assert alive() is None


# ---------------------------------------------------------------------------------------------------------------------
# Binning tables, population stability, a page to print
# ---------------------------------------------------------------------------------------------------------------------


def loans(n=1200, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": (rng.uniform(10, 90, n) + shift).round(),
            "age": pd.Series(rng.integers(18, 80, n).astype(float)).mask(rng.random(n) < 0.1),
            "job": rng.choice([f"job {k}" for k in range(25)], n),
            "home": rng.choice(["own", "rent"], n),
        }
    )
    worth = 0.05 * (frame["income"] - 45) + 1.5 * (frame["home"] == "own") * (frame["income"] > 40) - 0.3
    return frame, np.where(rng.logistic(size=n) < worth, "repaid", "defaulted")


def loan_card(**options):
    X, y = loans()
    return Scorecard(FERLClassifier(random_state=0), **options).fit(X, y), X, y


def test_a_binning_table_counts_rows_and_events_and_has_their_weight_of_evidence():
    card, X, y = loan_card()
    found = card.binning(X, y, n_bins=6)
    assert found.event == "defaulted"
    frame = found.frame()
    for feature, own in frame.groupby("feature"):
        assert own["rows"].sum() == len(X)
        assert own["events"].sum() == (y == "defaulted").sum()
        np.testing.assert_allclose(own["event_rate"], own["events"] / own["rows"])
        others, events = (own["rows"] - own["events"] + 0.5), own["events"] + 0.5
        woe = np.log(others / others.sum() / (events / events.sum()))
        np.testing.assert_allclose(own["weight_of_evidence"], woe)
        iv = float(((others / others.sum() - events / events.sum()) * woe).sum())
        assert found.information_value[feature] == pytest.approx(iv)
        assert own["bin"].is_unique
        is_number = X[feature].dtype.kind == "f"
        for text, n in zip(own["bin"], own["rows"], strict=True):  # the bins are what they are called
            inside = X[feature].isna() if text == "missing" else X[feature].astype(str) == text
            if is_number and text != "missing":
                low, high = re.fullmatch(r"(?:above (\S+))?(?: to |up to )?(\S+)?", text).groups()
                inside = (X[feature] > float(low or -math.inf)) & (X[feature] <= float(high or math.inf))
            assert "other" in text or inside.sum() == n
    values = list(found.information_value.values())
    assert values == sorted(values, reverse=True)
    # Points are those of the contributions, beside the average row.
    parts = card.estimator_.feature_contributions(X)[:, :-1]
    towards = card.unit * (parts[..., 1] - parts[..., 0])
    for feature, own in frame.groupby("feature"):
        expected = (towards - towards.mean(axis=0))[:, X.columns.get_loc(feature)].sum()
        assert (own["rows"] * own["points"]).sum() == pytest.approx(expected, abs=1e-6)


def test_monotone_bins_have_event_rates_that_only_rise_or_only_fall():
    card, X, y = loan_card()
    plain, monotone = (card.binning(X, y, n_bins=10, monotone=own).frame() for own in (False, True))
    for feature in ("income", "age"):
        before, after = (own[(own["feature"] == feature) & (own["bin"] != "missing")] for own in (plain, monotone))
        steps = np.diff(after["event_rate"])
        assert (steps > 0).all() or (steps < 0).all()
        assert len(after) <= len(before)
        assert after["rows"].sum() == before["rows"].sum()
    assert (np.diff(plain[plain["feature"] == "age"]["event_rate"]) > 0).any()


def test_population_stability_is_small_for_the_same_population_and_names_what_moved():
    card, X, _ = loan_card()
    same, moved = card.psi(X, loans(seed=1)[0]), card.psi(X, loans(seed=2, shift=30)[0])
    assert same.psi < 0.1
    assert same.total.verdict == "stable"
    assert moved.psi > 0.25
    assert moved.features[0].name == "income"
    assert moved.features[0].verdict == "shifted"
    assert card.psi(X, X).psi == pytest.approx(0, abs=1e-12)
    for own in (*same.features, same.total):
        assert own.before.sum() == pytest.approx(1)
        assert own.later.sum() == pytest.approx(1)
    edges = np.quantile(card.total(X), np.arange(1, 10) / 10, method="inverted_cdf")
    shares = [np.bincount(np.searchsorted(edges, card.total(own)), minlength=10) + 0.5 for own in (X, loans(seed=1)[0])]
    before, later = (own / own.sum() for own in shares)
    assert same.psi == pytest.approx(float(((later - before) * np.log(later / before)).sum()))
    assert list(moved.frame()["name"])[:2] == ["total points", "income"]
    assert "PSI" in str(moved)


def test_mistakes_of_binning_and_stability_are_named():
    card, X, y = loan_card()
    for call, match in (
        (lambda: card.binning(X, y, n_bins=1), "n_bins is 1"),
        (lambda: card.binning(X, y[:-1]), "X has 1200 rows and y has 1199"),
        (lambda: card.binning(X, np.where(y == "repaid", "repaid", "lost")), "y must hold both classes"),
        (lambda: card.psi(X, X[:0]), "no rows|0 sample"),
        (lambda: card.psi(X, X, n_bins=0), "n_bins is 0"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    iris = Scorecard(FERLClassifier(random_state=0)).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="binning needs two classes"):
        iris.binning(*load_iris(return_X_y=True))
    assert iris.psi(load_iris().data, load_iris().data).psi == pytest.approx(0, abs=1e-12)


def test_lines_of_a_card_and_of_its_tables_are_at_most_160_characters_wide():
    X, y = loans()
    X = X.rename(columns={"job": "the job of the applicant as the applicant states it in the form " * 3})
    X[X.columns[2]] = X[X.columns[2]].map(lambda own: f"{own} " + "with a long description " * 6)
    card = Scorecard(FERLClassifier(random_state=0)).fit(X, y)
    for text in (card.text(), str(card.binning(X, y)), str(card.psi(X, X[:300]))):
        assert max(map(len, text.splitlines())) <= 160


def test_a_rule_on_two_features_is_named_by_both():
    card, _, _ = loan_card()
    frame = card.frame()
    pairs = frame[frame["feature"].str.contains(" and ")]
    assert len(pairs)
    assert all(set(name.split(" and ")) <= {"income", "age", "job", "home"} for name in pairs["feature"])
    assert pairs["rules"].str.fullmatch(r"\d*").all()


def test_a_card_prints_to_a_pdf(tmp_path):
    card, X, y = loan_card(rounded=True)
    card.html(tmp_path / "card.html", title="Loans <2026>", binning=card.binning(X, y))
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Loans &lt;2026&gt;" in page
    assert "@media print" in page
    assert "information value" in page
    assert "http" not in page
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("Chromium is not installed")
    out = tmp_path / "card.pdf"
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--print-to-pdf={out}",
        f"--user-data-dir={tmp_path}/profile",
    ]
    subprocess.run([*command, (tmp_path / "card.html").as_uri()], check=True, capture_output=True, timeout=120)
    assert out.read_bytes().startswith(b"%PDF")
    assert len(out.read_bytes()) > 10_000


def is_in(text, value):
    """Whether a value lies in a cell of a map: "up to 3", "above 3 to 5", "above 5", "missing", a category."""
    if pd.isna(value) or text == "missing":
        return pd.isna(value) and "missing" in text.split(", ")
    if isinstance(value, str):
        return value in re.split(", | or ", text)
    low, high = re.fullmatch(r"(?:above (\S+))?(?: to |up to )?(\S+)?", text.removesuffix(" or missing")).groups()
    return float(low or -math.inf) < value <= float(high or math.inf)


@pytest.mark.parametrize("rounded", [False, True])
def test_a_total_is_the_sum_of_the_lines_with_pairs_of_features_and_outside_the_range(rounded):
    card, X, _ = loan_card(rounded=rounded)
    rows = X[:60].copy()
    rows.iloc[0, :2] = [500.0, -3.0]
    rows.iloc[1, :3] = [None, None, None]
    frame, model = card.frame().to_dict("records"), card.estimator_.model_
    fits = model.rules.activation(model.tree, card.estimator_._rows(rows))
    n_pairs = 0
    for k, total in enumerate(card.total(rows)):
        row, expected = rows.iloc[k], 0.0
        for line in frame:
            names = line["feature"].split(" and ")
            if line["feature"] == "all rows":
                expected += line["points"]
            elif len(names) == 1:
                expected += points_of_line(line, row[names[0]])
            elif line["rules"]:
                expected += line["points"] * fits[k, int(line["rules"]) - 1]
            else:
                hits = all(is_in(text, row[name]) for text, name in zip(line["when"].split("; "), names, strict=True))
                expected += hits * line["points"]
                n_pairs += hits
        assert total == pytest.approx(expected, abs=1e-6)
    assert n_pairs
