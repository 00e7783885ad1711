"""What the page reads off its engine besides answers: nearest changes and reason codes are those of Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import javascript
from estimators import classifier
from ferl import FERLClassifier
from ferl._models.nearest import nearest_changes
from ferl._sklearn import check_rows
from ferl._tell.reasons import read_reasons
from ferl.editing import edit
from ferl.report.content import summarise
from ferl.report.judged_table import JudgedTable
from ferl.report.page_form import numbers
from table_examples import fit_mixed, mixed_table, rows_beside

N_ROWS = 60
CHANGES = """
({ page, rows }) => {
  const engine = ferlEngine(page.model);
  return rows.map((row) => ferlChanges.nearest(engine, page.features, row.map(Number)));
}
"""
REASONS = """
({ page, rows, positive }) => {
  const engine = ferlEngine(page.model);
  return rows.map((row) => ferlChanges.reasons(engine, page.reasons, engine.judge(row.map(Number)), positive));
}
"""


def page_of(model):
    return summarise(model.model_, {}, JudgedTable(model.model_), "t", "r")["page"]


def found_by_page(model, encoded):
    return javascript.run(CHANGES, {"page": page_of(model), "rows": numbers(encoded[:, : model.n_features_in_])})


def changes_of_python(model, encoded):
    for row in encoded:
        evidence = model.evidence(row[None])
        yield nearest_changes(model, row[None], int(evidence.probability[0].argmax()), {}).found


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", [{}, {"support_gate": False, "missing_conditions": True}, {"max_conditions": 1}])
def test_nearest_changes_of_wide_rules_are_those_of_python(n_classes, options):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_numbers=3, n_classes=n_classes)
    model = FERLClassifier(random_state=0, **options).fit(table.frame, table.y)
    encoded = check_rows(model, rows_beside(table, 1, N_ROWS))
    names, n_changes = model.model_.feature_names(), 0
    for found, expected in zip(found_by_page(model, encoded), changes_of_python(model.model_, encoded), strict=True):
        assert sorted(names[own["j"]] for own in found) == sorted(own.feature for own in expected)
        told = [(own["isSilent"], own["distance"]) for own in found]
        assert told == sorted(told)
        by_name = {names[own["j"]]: own for own in found}
        for own in expected:
            other = by_name[own.feature]
            assert model.classes_[other["label"]] == own.label
            assert other["isSilent"] == own.is_silent
            if isinstance(own.to, float):
                low, high = model.model_.training_range(other["j"])
                assert low <= other["to"] <= high
                assert other["at"] == pytest.approx(own.exact, rel=1e-9, abs=1e-9)
                assert abs(other["to"] - other["at"]) <= 0.05 * abs(other["at"] - other["value"]) * (1 + 1e-9)
            n_changes += 1
    assert n_changes > N_ROWS


def test_changes_are_searched_along_features_that_similar_cases_alone_read():
    rng = np.random.default_rng(0)
    centre = rng.uniform(-3, 3, (24, 3))
    own = rng.integers(24, size=300)
    X, y = centre[own] + rng.normal(0, 0.15, (300, 3)), own % 2
    clf = FERLClassifier(cases=True, max_rules=1, max_maps=None, random_state=0).fit(X, y)
    model = edit(clf).drop(*clf.model_.numbers)  # the rules are gone, and the cases decide
    assert not len(model.model_.condition_columns)
    labels, n_found = model.predict(X), 0
    for row, label, found in zip(X, labels, found_by_page(model, X[:40]), strict=False):
        for change in found:
            other = row.copy()
            other[change["j"]] = change["to"]
            assert model.predict(other[None])[0] == model.classes_[change["label"]] != label
            n_found += 1
    n_expected = sum(len(own) for own in changes_of_python(model.model_, X[:40]))
    assert n_found >= 0.9 * n_expected > 10  # both try steps, of other widths


@pytest.mark.parametrize("options", [{"kind": "deep"}, {"kind": "medium", "combination": "cautious"}], ids=str)
def test_changes_of_trees_that_the_page_finds_alter_the_label_and_are_none_nearer_than_the_proven_ones(options):
    table = mixed_table(np.random.default_rng(2), n=300, n_numbers=3, n_classes=3)
    model = fit_mixed(table, **options)
    encoded = check_rows(model, rows_beside(table, 1, N_ROWS))
    names, n_changes, n_equal = model.model_.feature_names(), 0, 0
    pairs = zip(encoded, found_by_page(model, encoded), changes_of_python(model.model_, encoded), strict=True)
    for row, found, expected in pairs:
        label = model.model_.evidence(row[None]).probability[0].argmax()
        exact = {own.feature: own for own in expected}
        for own in found:
            changed = row.copy()
            changed[own["j"]] = own["to"]
            assert model.model_.evidence(changed[None]).probability[0].argmax() == own["label"] != label
            proven = exact[names[own["j"]]].proven
            assert own["distance"] >= proven * (1 - 1e-6)
            n_changes += 1
            n_equal += own["distance"] == pytest.approx(exact[names[own["j"]]].distance, rel=0.06)
    assert n_equal > 0.95 * n_changes > 0


@pytest.mark.parametrize("options", [{"words": "quantile"}, {"missing_conditions": True}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_reason_codes_of_the_page_are_those_of_python(n_classes, options):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_numbers=3, n_classes=n_classes)
    model = FERLClassifier(random_state=0, **options).fit(table.frame, table.y)
    encoded = check_rows(model, rows_beside(table, 1, N_ROWS))
    page, names = page_of(model), model.model_.feature_names()
    for positive in range(n_classes):
        task = {"page": page, "rows": numbers(encoded[:, : model.n_features_in_]), "positive": positive}
        expected = read_reasons(model.model_, encoded, 4, model.classes_.tolist()[positive])
        assert any(len(own) > 2 for own in expected)
        for found, own in zip(javascript.run(REASONS, task), expected, strict=True):
            assert [names[r["feature"]] for r in found] == [reason.name for reason in own]
            assert [r["lost"] for r in found] == pytest.approx([reason.lost for reason in own], abs=1e-9)
            assert [r["points"] for r in found] == pytest.approx([reason.points for reason in own], abs=1e-7)


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_the_page_offers_the_whole_numbers_that_python_offers_and_none_outside_training(variant):
    n = np.arange(400)
    frame = pd.DataFrame({"n": n % 40, "x": (n * 7 % 13) / 13})
    y = np.where((frame["n"] % 8 == 3) | (frame["n"] > 33), "odd", "even")
    model = classifier(variant, random_state=0).fit(frame, y)
    encoded = check_rows(model, pd.concat([frame.iloc[:40], pd.DataFrame({"n": [-5, 44, 50], "x": [0.5, 1.2, -0.1]})]))
    pairs = zip(found_by_page(model, encoded), changes_of_python(model.model_, encoded), strict=True)
    n_changes = 0
    for found, expected in pairs:
        told = [own["to"] for own in found if own["j"] == 0]
        assert told == [own.to for own in expected if own.feature == "n"]
        assert all(0 <= to <= 39 and to == int(to) for to in told)
        n_changes += len(told)
    assert n_changes > 20
