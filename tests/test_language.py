"""What is said to people deserves to be said: laws of all sentences about rules and answers, on tables people know.

A rule never reads as impossible; what is printed is the model; what a rule does agrees with what is left without it;
"proven" stands beside a proof; numbers have the digits that people write; and accuracy stands beside the baseline.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators import classifier
from ferl import export_text, overview, rules_frame
from printed_model import PrintedModel
from real_tables import TABLES, real_table, rows_to_judge
from sentences import (
    MODELS,
    NUMBER,
    badly_written,
    fitted,
    impossible_intervals,
    long_numbers,
    pages,
    pictures,
    stories,
    unproven_claims,
)

each_table = pytest.mark.parametrize("name", TABLES)
each_model = pytest.mark.parametrize("kind", MODELS)


# ---------------------------------------------------------------------------------------------------------------------
# Intervals
# ---------------------------------------------------------------------------------------------------------------------


def test_the_check_of_intervals_finds_impossible_ones():
    assert impossible_intervals("if 0.30 ±0.05 (84%) < dir < 0.29 ±0.16 (60%) and x > 2 ±1") != []
    assert impossible_intervals("if 0.30 ±0.05 (84%) < dir < 0.39 ±0.16 and 3.5..2") == ["3.5..2"]
    assert (
        impossible_intervals("dir around 0.5 (above 0.25..0.35 (84%), below 0.13..0.45 (60%), fits by at most 0.3)")
        != []
    )
    assert impossible_intervals("dir around 0.35 (0.25..0.45, fits by at most 0.31)") == []


@each_table
@each_model
def test_no_interval_is_impossible(name, kind):
    found = {source: impossible_intervals(text) for source, text in pages(name, kind).items()}
    assert not any(found.values()), found


def test_rules_whose_bands_overlap_are_told_by_what_fits_best():
    clf, table = fitted("hdma", "deep"), real_table("hdma")
    found = re.findall(
        rf"dir around {NUMBER} \(({NUMBER})\.\.({NUMBER}), fits by at most ([\d.]+)\)",
        pages("hdma", "deep")["rules_frame"],
    )
    assert len(found) > 10
    tree, frame = clf.tree_, rules_frame(clf)
    column = table.frame.columns.get_loc("dir")
    for node, conditions in zip(frame["node"], frame["conditions"], strict=True):
        if told := re.search(r"dir around .*?fits by at most ([\d.]+)\)", conditions):
            steps = [tree.trapezoid[k] for k in tree.path(node) if tree.feature[k] == column]
            grid = np.linspace(*table.frame["dir"].agg(["min", "max"]), 20_001)
            fits = np.prod([np.minimum(rise(grid, a, b), rise(-grid, -d, -c)) for a, b, c, d in steps], axis=0)
            assert float(told[1]) == pytest.approx(fits.max(), rel=0.06, abs=0.002)


def rise(x: Any, low: float, high: float) -> Any:
    return np.ones_like(x) if math.isinf(low) else np.clip((x - low) / (high - low), 0, 1)


# ---------------------------------------------------------------------------------------------------------------------
# What is printed is the model
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_model
def test_answers_can_be_worked_out_from_the_printed_text_alone(name, kind):
    clf, rows = fitted(name, kind), rows_to_judge(real_table(name), 1, 1000)
    printed = PrintedModel(export_text(clf, exact=True, width=1_000_000))
    assert printed.labels == [str(label) for label in clf.classes_]
    np.testing.assert_allclose(printed.probabilities(rows), clf.predict_proba(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "rules", "missing_conditions": True, "gate_margin": 0.5},
        {"kind": "rules", "words": "quantile", "support_gate": False},
        {"kind": "medium", "combination": "vote", "support_gate": False},
        {"kind": "medium", "combination": "cautious", "discount": 3.0},
        {"kind": "medium", "combination": "chain", "missing_conditions": True, "gate_margin": 0.3},
        {"kind": "medium", "sources": "all", "discount": 2.0},
    ],
)
def test_so_it_is_whatever_is_combined_and_gated(options):
    table = real_table("pbc")
    clf = classifier(random_state=0, **options).fit(table.frame, table.y)
    rows = rows_to_judge(table, 2, 300)
    printed = PrintedModel(export_text(clf, exact=True, width=1_000_000))
    np.testing.assert_allclose(printed.probabilities(rows), clf.predict_proba(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_dates_and_ordered_categories_are_printed_with_their_numbers(variant):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), unit="D")
    grades = pd.CategoricalDtype(["low", "mid", "high", "top"], ordered=True)
    frame = pd.DataFrame({"since": days, "grade": pd.Series(rng.choice(grades.categories, 400)).astype(grades)})
    y = (days.year >= 2021) & (frame["grade"].cat.codes >= 1) ^ (rng.random(400) < 0.1)
    clf = classifier(variant, random_state=0).fit(frame, y)
    printed = PrintedModel(export_text(clf, exact=True, width=1_000_000))
    assert "since" in printed.line("dates")
    assert "grade" in printed.line("orders")
    np.testing.assert_allclose(printed.probabilities(frame), clf.predict_proba(frame), rtol=0, atol=1e-9)


@each_model
def test_every_rule_that_speaks_is_in_the_list(kind):
    clf = fitted("pbc", kind)
    numbers = set(range(1, int(clf.model_.is_rule.sum()) + 1))
    assert set(rules_frame(clf)["number"]) == numbers
    assert {rule.number for rule in overview(clf).rules} == numbers
    assert {rule.number for story in stories("pbc", kind) for rule in story.rules} <= numbers


def test_the_exact_text_is_the_whole_model():
    clf = fitted("wine", "deep")
    for option in ({"decimals": 2}, {"max_rules": 3}):
        with pytest.raises(ValueError, match="exact=True prints the whole model"):
            export_text(clf, exact=True, **option)
    assert max(map(len, export_text(clf, exact=True, width=90).splitlines())) <= 90 + 40  # numbers are not divided


# ---------------------------------------------------------------------------------------------------------------------
# What a rule does
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@pytest.mark.parametrize("kind", ["deep", "compact"])
def test_rules_of_trees_stand_in_the_order_of_what_is_left_without_them(name, kind):
    for story in stories(name, kind):
        effects = [story.probability[story.best] - rule.probability_without[story.best] for rule in story.rules]
        assert np.abs(effects).tolist() == sorted(np.abs(effects).tolist(), reverse=True)
        section = next(own for own in story.detail_sections if own.title == "Rules that apply")
        for line, rule in zip(section.lines, story.rules[:6], strict=False):
            assert f"{rule.conditions}, then {rule.label} in " in line
            assert "Without it" not in line


@each_table
@pytest.mark.parametrize("kind", ["rules", "words"])
def test_what_wide_rules_add_agrees_with_what_is_left_without_them(name, kind):
    for story in stories(name, kind):
        towards, against = story.balance.compared
        adds = [story.balance.apart(rule.weight) for rule in story.rules]
        assert np.abs(adds).tolist() == sorted(np.abs(adds).tolist(), reverse=True)
        odds = math.log(story.probability[towards] / story.probability[against])
        for rule, own in zip(story.rules, adds, strict=True):
            left = math.log(rule.probability_without[towards] / rule.probability_without[against])
            assert odds - left == pytest.approx(own, abs=1e-6)
        if sum(story.in_set) == 1 and ", because " in story.summary:
            supporting = [
                part for part in story.balance.features if (story.balance.moves(part) > 0) == (story.best == towards)
            ]
            assert f", because {supporting[0].feature} is " in story.summary


# ---------------------------------------------------------------------------------------------------------------------
# Words that need a guarantee
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_model
def test_proven_is_said_of_what_is_proven(name, kind):
    assert not unproven_claims(pages(name, kind))


@each_table
@each_model
def test_stories_prove_what_they_say_and_no_answer_is_no_answer(name, kind):
    for story in stories(name, kind):
        text = str(story)
        if story.abstains:
            assert story.label is None
            assert story.summary.startswith("No answer")
            assert "Proven" not in text
        else:
            assert story.label == story.classes[story.best]
            assert ("Proven: the label stays" in text) == (0 < story.certified.radius < math.inf)
        assert text.index("probability") < text.index("support")
        assert "not in the set" in text or all(story.in_set)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------------------------------


def test_the_check_of_digits_finds_long_numbers():
    assert long_numbers("lvr is 0.555224, 71.28, 1234567, 0.01234 and 4.3000001") == ["0.555224", "4.3000001"]
    assert long_numbers("x above 1995.25..1996.75 and y > 1995.25 ±0.02") == []
    assert long_numbers("x above 10.0025..1000") == ["10.0025"]


@each_table
@each_model
def test_numbers_have_the_digits_that_people_write(name, kind):
    found = {source: badly_written(text) for source, text in pages(name, kind).items()}
    assert not any(found.values()), found


# ---------------------------------------------------------------------------------------------------------------------
# What a newcomer needs
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_model
def test_the_baseline_stands_beside_the_accuracy(name, kind):
    clf, table = fitted(name, kind), real_table(name)
    page = overview(clf, table.frame, table.y)
    labels, counts = np.unique(table.y, return_counts=True)
    share = 100 * counts.max() / len(table.y)
    text = page.to_text(10_000)
    assert f"Always predicting {labels[counts.argmax()]} would be right for {share:.1f} % of the training rows." in text
    accuracy = 100 * clf.score(table.frame, table.y)
    always = f"Always predicting {labels[counts.argmax()]} would be right for {share:.1f} % of them."
    assert f"Accuracy is {accuracy:.1f} % on {len(table.y)} rows. {always}" in text
    for label, n_rows, recall in page.accuracy.recalls:
        own = table.y == label
        assert n_rows == own.sum()
        assert recall == pytest.approx((clf.predict(table.frame)[own] == label).mean())


@each_model
def test_a_class_that_nothing_speaks_for_is_a_warning_with_a_remedy(kind):
    for name in TABLES:
        clf, table = fitted(name, kind), real_table(name)
        page = overview(clf)
        told = " ".join(page.warnings)
        for label in clf.classes_[~np.isin(clf.classes_, clf.predict(table.frame))]:
            assert re.search(rf"(favours {label}\b|{label} is predicted for none)", told)
        assert all('class_weight="balanced"' in warning for warning in page.warnings)
        assert all(warning in page.to_text(10_000) for warning in page.warnings)


def test_an_overview_needs_rows_and_their_labels():
    clf, table = fitted("wine", "rules"), real_table("wine")
    with pytest.raises(ValueError, match="y is None; give rows and their labels, or neither"):
        overview(clf, table.frame)
    with pytest.raises(ValueError, match="X has 178 rows and y has 3"):
        overview(clf, table.frame, table.y[:3])


# ---------------------------------------------------------------------------------------------------------------------
# The words of the table
# ---------------------------------------------------------------------------------------------------------------------

NAMES = re.compile(r"late_payments|debt_ratio|owns_home|customer_since")
LABELS = re.compile(r"(?:answering|saying|label stays|label is|odds of|probability of|for|class) [01]\b(?![\d.])")
DAYS = re.compile(r"(?<![\d.])1[6-9]\d{3}(?:\.\d+)?(?![\d.])")  # of the years 2013 to 2024, counted from 1970


@each_model
def test_a_described_table_is_told_in_its_words_everywhere(kind):
    found = {**pages("bank", kind), "pictures": pictures("bank", kind)}
    for source, text in found.items():
        for pattern in (NAMES, LABELS, DAYS):
            assert not pattern.search(text), (source, pattern.search(text))
        assert not impossible_intervals(text), source
        assert not badly_written(text), (source, badly_written(text))
    assert not unproven_claims(found)
    for word in ("repaid", "defaulted"):
        assert all(word in found[source] for source in ("overview", "explain", "what_if", "report"))
    assert re.search("label (stays|is) (repaid|defaulted)", found["certificate"])
    assert "default: " in found["what_if"]
    assert "Predicting default" in found["report"]


@pytest.mark.parametrize("name", ["hdma", "penguins"])
@each_model
def test_pictures_have_the_digits_that_people_write(name, kind):
    assert not badly_written(pictures(name, kind))
