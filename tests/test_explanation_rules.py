"""Stories of rule models: parts add up to the scores, agree with removal, and lead the summary."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_iris

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, overview
from ferl._util.text import rows_text
from real_tables import real_table
from sentences import fitted
from table_examples import fit_mixed, mixed_table, rows_beside

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@lru_cache
def iris():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    return frame, FERLClassifier(random_state=0).fit(frame, np.array(["setosa", "versicolor", "virginica"])[y])


@lru_cache
def tumours():
    bunch = load_breast_cancer(as_frame=True)
    labels = np.array(["malignant", "benign"])[bunch.target]
    return bunch.data, FERLClassifier(random_state=0).fit(bunch.data, labels)


@lru_cache
def mixed(n_classes):
    table = mixed_table(np.random.default_rng(n_classes), n=200, n_classes=n_classes)
    model = fit_mixed(table, kind="rules", max_rules=30, missing_conditions=True)
    return model, rows_beside(table, 0, 40)


def rows_of_all_kinds():
    for n_classes in (2, 3, 5):
        model, rows = mixed(n_classes)
        for index in range(len(rows)):
            yield model, rows.iloc[[index]]


# ---------------------------------------------------------------------------------------------------------------------
# Weights that add up
# ---------------------------------------------------------------------------------------------------------------------


def test_parts_of_features_and_of_rules_add_up_to_the_scores():
    for model, row in rows_of_all_kinds():
        story = model.explain(row, counterfactual=False)
        balance, scores = story.balance, model.contributions(row)[0].sum(axis=0)
        np.testing.assert_allclose(balance.scores, scores, rtol=0, atol=1e-12)
        by_feature = np.array([part.weight for part in balance.features])
        np.testing.assert_allclose(balance.prior + by_feature.sum(axis=0), scores, rtol=0, atol=1e-12)
        usual = np.array([part.usual for part in balance.features])
        moved = balance.base + (by_feature - usual).sum(axis=0)
        np.testing.assert_allclose(moved, scores, rtol=0, atol=1e-12)
        moves = sum(balance.moves(part) for part in balance.features)
        assert balance.apart(balance.base) + moves == pytest.approx(balance.apart(balance.scores), abs=1e-12)
        by_rule = np.array([rule.weight for rule in story.rules]).reshape(-1, len(scores))
        np.testing.assert_allclose(balance.prior + by_rule.sum(axis=0), scores, rtol=0, atol=1e-12)


def test_parts_of_features_are_those_of_feature_contributions():
    for model, row in rows_of_all_kinds():
        balance = model.explain(row, counterfactual=False).balance
        expected = dict(zip(model.feature_names_in_, model.feature_contributions(row)[0], strict=False))
        for part in balance.features:
            np.testing.assert_allclose(part.weight, expected[part.feature], rtol=0, atol=1e-12)


def test_what_is_usual_is_the_mean_over_the_training_rows():
    frame, model = tumours()
    mean = dict(zip(frame.columns, model.feature_contributions(frame).mean(axis=0), strict=False))
    balance = model.explain(frame.iloc[3], counterfactual=False).balance
    for part in balance.features:
        np.testing.assert_allclose(part.usual, mean[part.feature], rtol=0, atol=1e-9)
    np.testing.assert_allclose(balance.base, model.contributions(frame).sum(axis=1).mean(axis=0), rtol=0, atol=1e-9)


def without(model, number):
    """The model without one of its rules."""
    weight = model.rules.weight.copy()
    weight[number] = 0.0
    return replace(model, rules=replace(model.rules, weight=weight))


def test_a_rule_agrees_with_its_removal_in_sign_and_in_order():
    for model, row in list(rows_of_all_kinds())[::9]:
        story, encoded = model.explain(row, counterfactual=False), model._rows(row)
        balance, index = story.balance, {int(node): k for k, node in enumerate(model.model_.rules.node)}
        moved = []
        for rule in story.rules:
            silent = without(model.model_, index[rule.node])
            np.testing.assert_allclose(
                rule.probability_without, silent.evidence(encoded).probability[0], rtol=1e-9, atol=1e-12
            )
            moved.append(balance.apart(balance.scores) - balance.apart(tuple(silent.decision_scores(encoded)[0])))
            assert moved[-1] == pytest.approx(balance.apart(rule.weight), abs=1e-12)
        assert np.abs(moved).tolist() == sorted(np.abs(moved), reverse=True)


def test_a_curve_says_what_the_row_loses_when_its_value_is_not_known():
    """Of rules with one condition: a missing value weighs what is usual."""
    X, y = load_iris(return_X_y=True)
    model = FERLClassifier(max_conditions=1, random_state=0).fit(X, y)
    for row in X[::30]:
        balance = model.explain(row, counterfactual=False).balance
        for part in balance.features:
            hidden = row.copy()
            hidden[int(part.feature[1:])] = np.nan
            scores = model.decision_function(hidden[None])[0]
            lost = np.array(balance.scores) - scores
            np.testing.assert_allclose(lost, np.subtract(part.weight, part.usual), rtol=0, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# What it says
# ---------------------------------------------------------------------------------------------------------------------


def test_the_summary_leads_with_the_probability_and_with_what_matters_most():
    frame, model = tumours()
    for index in range(0, 560, 40):
        story = model.explain(frame.iloc[index], counterfactual=False)
        if story.abstains:
            continue
        percent = 100 * max(story.probability)
        assert story.summary.startswith(f"{story.label} (")
        assert f"({percent:.0f} %)" in story.summary or "(more than 99 %)" in story.summary
        balance, sign = story.balance, 1 if story.label == "malignant" else -1
        speaking = [part for part in balance.features if sign * balance.moves(part) > 0]
        strongest = max(speaking, key=lambda part: abs(balance.moves(part)))
        assert f", because {strongest.feature} is " in story.summary


def test_two_classes_are_weighed_towards_the_second_and_several_towards_the_most_probable():
    frame, model = tumours()
    story = model.explain(frame.iloc[0], details=True)
    assert story.balance.compared == (1, 0)
    assert story.balance.apart(story.balance.scores) == pytest.approx(model.decision_function(frame.iloc[[0]])[0])
    assert "Effects on the odds of malignant, compared with the average training row" in str(story)
    flowers, irises = iris()
    story = irises.explain(flowers.iloc[83])
    order = np.argsort(story.probability)[::-1].tolist()
    assert list(story.balance.compared) == order[:2]
    other = story.against("setosa")
    assert other.balance.compared == (order[0], 0)
    moves = [abs(other.balance.moves(part)) for part in other.balance.features]
    assert moves == sorted(moves, reverse=True)
    with pytest.raises(ValueError, match="label is 'rose'; choose one of"):
        story.against("rose")
    with pytest.raises(ValueError, match="Rules of a tree have no weights"):
        FERLTreeClassifier("deep", random_state=0).fit(flowers, flowers["petal width"] > 1).explain(
            flowers.iloc[0]
        ).against(True)


def test_no_support_is_no_answer_and_names_the_features():
    frame, model = iris()
    row = frame.iloc[0].copy()
    row["petal length"] = 50.0
    story = model.explain(row, details=True)
    assert story.abstains
    assert story.label is story.changes is story.certified is None
    assert story.balance.support == 0
    assert story.summary == (
        "No answer: no training row supports an answer, because petal length is 50 while the training rows have 1 to "
        "6.9."
    )
    assert story.rows == 0
    assert "The answer rests on no training row." in str(story)
    assert "do not use the model here" in str(story)
    assert "Proven" not in str(story)
    row["petal length"] = 9.0
    weakened = model.explain(row, details=True)
    assert 0 < weakened.balance.support < 1
    assert f"All effects count by {weakened.balance.support:.2f}, since values lie outside" in str(weakened)
    assert weakened.ignorance_causes.lost_support > 0


def test_a_row_between_classes_gets_no_label_and_both_sides_are_named():
    frame, model = tumours()
    benign, malignant = (frame[model.predict(frame) == label].iloc[0] for label in model.classes_)
    between = pd.DataFrame([benign + share * (malignant - benign) for share in np.linspace(0, 1, 201)])
    nearest = int(np.abs(model.predict_proba(between)[:, 1] - 0.5).argmin())
    story = model.explain(between.iloc[nearest])
    assert story.abstains
    assert story.label is None
    assert story.summary.startswith("No answer, ")
    assert ", which supports malignant; " in story.summary
    assert ", which supports benign" in story.summary
    assert "What to do: get a second opinion, since no class is clearly ahead." in str(story)
    assert story.ignorance_causes.thin_support == pytest.approx(story.ignorance)


def test_a_probable_class_that_few_rows_are_behind_is_ignorance_and_not_doubt():
    bunch = load_breast_cancer(as_frame=True)
    model, rest = FERLClassifier(random_state=0).fit(bunch.data[::2], bunch.target[::2]), bunch.data[1::2]
    is_probable = model.predict_proba(rest).max(axis=1) > 0.8
    unfounded = np.flatnonzero(is_probable & model.predict_set(rest).all(axis=1)).tolist()
    stories = [model.explain(rest.iloc[index]) for index in unfounded]
    lost = [sum(own for _, own in story.lost_support) for story in stories]
    is_outside = [
        story.ignorance_causes.main == "lost_support" or own > 0.5 for story, own in zip(stories, lost, strict=True)
    ]
    assert 0 < sum(is_outside) < len(stories)
    for story, outside in zip(stories, is_outside, strict=True):
        assert story.label is None
        assert ("few training rows are like this row. The answer rests on " in story.summary) != outside
        assert ("count by " in story.summary) == outside
        told = story.to_text(500)
        novel = outside or story.novelty_rank >= 0.99 or sum(own for _, own in story.lost_support) >= 0.005
        assert ("What to do: do not use the model here; the row is unlike the training rows." in told) == novel
        assert ("What to do: collect rows like this one, since training has few of them." in told) != novel
        assert "get a second opinion" not in told


def test_causes_of_ignorance_add_up_and_gates_only_add_to_it():
    for model, row in rows_of_all_kinds():
        story = model.explain(row, counterfactual=False)
        evidence, support = model.predict_evidence(row), float(model.model_.supports(model._rows(row)).prod())
        assert story.ignorance_causes.lost_support >= 0
        assert story.ignorance_causes.thin_support >= 0
        assert story.ignorance_causes.weak_firing == story.ignorance_causes.conflict == 0
        assert story.ignorance_causes.lost_support + story.ignorance_causes.thin_support == pytest.approx(
            story.ignorance, abs=1e-12
        )
        if support == 1:
            assert story.ignorance_causes.lost_support == 0
        if support > 0:  # what is left of the ignorance with open gates
            assert story.ignorance_causes.thin_support == pytest.approx(1 / (1 + evidence.rows[0] / support), abs=1e-12)


def test_a_story_tells_the_rows_behind_the_answer_and_never_calls_them_precision():
    for model, row in rows_of_all_kinds():
        story, rows = model.explain(row, counterfactual=False, details=True), float(model.predict_evidence(row).rows[0])
        text = story.to_text(500)
        assert story.rows == story.to_dict()["rows"] == rows
        assert f"The answer rests on {rows_text(rows)}." in text
        assert "precise" not in text
        if not story.abstains and sum(story.in_set) == 1 and story.ignorance_causes.thin_support >= 0.1:
            assert story.summary.endswith(f" The answer rests on {rows_text(rows)}.")


def test_the_set_is_explained_by_the_beliefs_that_fall_short():
    for model, row in rows_of_all_kinds():
        story = model.explain(row, counterfactual=False)
        lines = story._prediction_set().lines
        assert bool(lines) == (sum(story.in_set) > 1)
        for told in re.findall(r"a belief of (.*) %, and a set needs 66.7 %", " ".join(lines)):
            ranked = np.sort(np.array(story.belief)[list(story.in_set)])
            short = ranked.sum() if ranked.sum() < 2 / 3 else ranked[1:].sum()
            assert float(told) == pytest.approx(100 * short, abs=0.051)
            assert short < 2 / 3


def test_the_story_agrees_with_the_readings_of_the_model():
    for model, row in rows_of_all_kinds():
        story, evidence = model.explain(row, counterfactual=False), model.predict_evidence(row)
        assert story.probability == tuple(model.predict_proba(row)[0])
        assert story.belief == tuple(evidence.belief[0])
        assert story.plausibility == tuple(evidence.plausibility[0])
        assert story.in_set == tuple(model.predict_set(row)[0])
        assert story.conflict == evidence.conflict[0]
        assert story.label == (None if story.abstains else model.predict(row)[0])


def test_no_class_is_called_impossible_or_proven_without_a_proof():
    for model, row in list(rows_of_all_kinds())[::5]:
        text = model.explain(row, counterfactual=False).to_text()
        assert "ruled out" not in text
        assert "excluded" not in text
        assert "e+0" not in text


def test_a_story_is_plain_json_text_and_html():
    for model, row in rows_of_all_kinds():
        story = model.explain(row, counterfactual=False, details=True)
        form = json.loads(json.dumps(story.to_dict(), allow_nan=False))
        assert form["balance"]["scores"] == list(story.balance.scores)
        assert [rule["weight"] for rule in form["rules"]] == [list(rule.weight) for rule in story.rules]
        assert max(map(len, story.to_text(60).splitlines())) <= 60
        assert story.to_html().startswith('<div class="ferl-story">')
        assert story.summary.endswith(".")
        assert "nan" not in story.to_text()
    console = Console(file=StringIO(), width=120, force_terminal=True, color_system="standard")
    console.print(story)
    assert "\x1b[1;36mEvidence" in console.file.getvalue()


def test_a_model_of_one_class_and_one_without_rules_have_stories():
    for X, y in (([[0.0], [1.0]] * 5, [1] * 10), ([[0.0]] * 10, [0, 1] * 5)):
        story = FERLClassifier(random_state=0).fit(X, y).explain([0.5])
        assert story.to_text()
        json.dumps(story.to_dict(), allow_nan=False)


# ---------------------------------------------------------------------------------------------------------------------
# What if
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_what_if_gives_the_answers_to_both_rows(variant):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    model = iris()[1] if variant == "rules" else classifier(variant, random_state=0).fit(frame, y)
    row = frame.iloc[70]
    found = model.what_if(row, {"petal width": 1.2, 2: None})
    other = row.copy()
    other[["petal width", "petal length"]] = [1.2, np.nan]
    assert found.before == model.explain(row, counterfactual=False)
    assert found.after == model.explain(other, counterfactual=False)
    assert found.summary.startswith(
        "If petal width were 1.2 instead of 1.8 and petal length were missing instead of 4.8, the answer would be"
    )
    assert ("Effects on the odds" in str(found)) == (variant == "rules")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["summary"] == found.summary


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_what_if_takes_the_dates_that_explanations_return(zone):
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2021-03-01", tz=zone) + pd.to_timedelta(rng.integers(0, 400, 300), unit="D")
    table = pd.DataFrame({"day": day, "x": rng.normal(size=300)})
    model = FERLTreeClassifier("deep", random_state=0).fit(table, (day > day.min() + pd.Timedelta(days=150)))
    n_changes = 0
    for k in range(20):
        row = table.iloc[k].to_dict()
        story = model.explain(row)
        for change in [own for own in story.changes or () if own.feature == "day"]:
            there = model.what_if(row, {"day": change.to}).after
            assert there.classes[int(np.argmax(there.probability))] == change.label != story.label
            n_changes += 1
    assert n_changes > 5


def test_what_if_takes_categories_and_refuses_what_is_no_feature():
    model, rows = mixed(2)
    row = rows.iloc[0]
    assert model.what_if(row, {"c0": "level 2"}).after.probability == tuple(
        model.predict_proba(rows.iloc[[0]].assign(c0="level 2"))[0]
    )
    assert "a category that training did not have" in str(model.what_if(row, {"c1": "never"}).after)
    with pytest.raises(ValueError, match=r"There is no feature 'c0 '\. Did you mean 'c0'\?"):
        model.what_if(row, {"c0 ": "level 1"})
    with pytest.raises(ValueError, match="changes is empty"):
        model.what_if(row, {})
    first = rows.columns[0]
    with pytest.raises(ValueError, match=rf"changes has '{first}' twice, as 0 and as '{first}'; give it one value"):
        model.what_if(row, {0: row[first], first: None})


def test_what_if_tells_abstention_by_the_row_and_not_by_the_name_of_a_label():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=300) > 0.5, "Yes", "No answer given")
    model = FERLClassifier(random_state=0).fit(X, y)
    found = model.what_if([0.99], {0: 0.01})
    no, yes = (own.summary for own in (found, model.what_if([0.01], {0: 0.99})))
    assert re.fullmatch(r"If .*, the answer would be No answer given \(.*\) instead of Yes \(.*\)\.", no)
    assert re.fullmatch(r"If .*, the answer would be Yes \(.*\) instead of No answer given \(.*\)\.", yes)
    ignorant = {"in_set": (True, True), "ignorance": 0.5}
    unsure, other = replace(found.after, **ignorant), replace(found.before, **ignorant)
    low, high = (rf"\({a} .* %, {b} .* %\)" for a, b in (("No answer given", "Yes"), ("Yes", "No answer given")))
    for before, after, said in (
        (found.before, unsure, rf"there would be no answer {low}; now it is Yes \(.* %\)"),
        (unsure, found.before, rf"the answer would be Yes \(.* %\); now there is no answer {low}"),
        (unsure, unsure, rf"there would still be no answer {low}"),
        (other, unsure, rf"there would still be no answer {low}; now there is no answer {high}"),
        (found.before, replace(unsure, ignorance=1), r"there would be no answer; now it is Yes \(.* %\)"),
    ):
        assert re.fullmatch(
            rf"If .* were .* instead of [\d.]+, {said}\.", replace(found, before=before, after=after).summary
        )


# ---------------------------------------------------------------------------------------------------------------------
# Importance
# ---------------------------------------------------------------------------------------------------------------------


def test_importances_are_shares_of_one_and_features_that_no_rule_asks_have_none():
    for n_classes in (2, 3, 5):
        model, _ = mixed(n_classes)
        importance = model.feature_importances_
        assert importance.sum() == pytest.approx(1)
        assert (importance >= 0).all()
        asked = {part.feature for part in model.explain([None] * len(importance)).balance.features}
        assert {name for name, own in zip(model.feature_names_in_, importance, strict=True) if own > 0} <= asked


def test_the_importance_of_curves_is_the_mean_distance_from_their_mean():
    X, y = load_breast_cancer(return_X_y=True)
    model = FERLClassifier(max_conditions=1, random_state=0, n_exemplars=len(X)).fit(X, y)
    parts = model.feature_contributions(X)[:, :-1]
    away = np.ptp(parts - parts.mean(axis=0), axis=2).mean(axis=0)
    np.testing.assert_allclose(model.feature_importances_, away / away.sum(), rtol=0, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# The model at a glance
# ---------------------------------------------------------------------------------------------------------------------


def test_the_overview_says_what_the_features_say_and_lists_all_rules():
    _, model = iris()
    page = overview(model)
    assert page.summary.startswith(f"{model.n_rules_} rules on all 4 features distinguish 3 classes; petal length")
    assert [rule.number for rule in page.rules] == list(range(1, model.n_rules_ + 1))
    np.testing.assert_allclose([rule.weight for rule in page.rules], np.ptp(model.evidence_weights_, axis=1))
    assert [share for _, share in page.importances] == sorted(model.feature_importances_, reverse=True)
    text = page.to_text(300)
    assert "The higher petal length, from 1 to 6.9, the more it supports virginica" in text
    assert "virginica: 33 % of the training rows. The strongest evidence for this class is petal length at 6.9." in text
    assert not re.search(r"[+-]\d", text.partition("\nClasses\n")[2])  # the curve alone has the weight
    assert all(profile.is_answered for profile in page.classes)


def test_the_overview_names_a_class_that_no_row_gets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.where(rng.random(300) < 0.04, "rare", "usual")
    page = overview(FERLClassifier(random_state=0).fit(X, y))
    assert [profile.is_answered for profile in page.classes] == [False, True]
    (warning,) = page.warnings
    assert re.search(r"(rare|it) is predicted for none of the training rows that the model keeps", warning)
    assert 'class_weight="balanced"' in warning
    assert warning in page.to_text(300)


def test_every_overview_of_wide_rules_is_text_html_and_json():
    for n_classes in (2, 3, 5):
        page = overview(mixed(n_classes)[0])
        assert json.loads(json.dumps(page.to_dict(), allow_nan=False))["summary"] == page.summary
        assert max(map(len, page.to_text(70).splitlines())) <= 70
        assert page.to_html().startswith('<div class="ferl-story">')
        assert "None" not in str(page)
    for X, y in (([[0.0], [1.0]] * 5, [1] * 10), ([[0.0]] * 10, [0, 1] * 5)):
        assert "no feature matters" in overview(FERLClassifier(random_state=0).fit(X, y)).summary


@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_what_if_leaves_the_values_that_stay_as_they_are(kind):
    clf, row = fitted("bank", kind), real_table("bank").frame.iloc[3]
    found = clf.what_if(row, {"debt_ratio": 0.7, "customer_since": pd.Timestamp("2016-02-01")})
    there = row.copy()
    there["debt_ratio"], there["customer_since"] = 0.7, pd.Timestamp("2016-02-01")
    np.testing.assert_array_equal(found.after.probability, clf.predict_proba(there.to_frame().T.infer_objects())[0])
    assert found.summary.startswith("default: If debt ratio were 0.7 instead of ")
    assert "customer since were 2016-02-01" in found.summary


# ---------------------------------------------------------------------------------------------------------------------
# Probability beside the range of support
# ---------------------------------------------------------------------------------------------------------------------


def test_no_probability_is_printed_outside_the_range_of_support_beside_it():
    for model, row in rows_of_all_kinds():
        story = model.explain(row, counterfactual=False)
        (evidence,) = [section for section in story.detail_sections if section.title == "Evidence"]
        for _, probability, support, _ in evidence.table.rows:
            low, _, high = support.removesuffix(" %").partition(" to ")
            assert float(low) <= float(probability.removesuffix(" %")) <= float(high)
