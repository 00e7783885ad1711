"""The numbers of the what-if page are those of Python: random rows, every kind of model; some in a real browser."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import javascript
from browser import chromium, open_page
from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._sklearn import check_rows
from ferl.report import write_report
from ferl.report.page_form import numbers
from table_examples import fit_mixed, mixed_table, rows_beside
from tree_examples import tree_classifier

N_ROWS = 200
COMBINATIONS = ("dempster", "cautious", "chain", "vote")
JUDGE = """
const answers = JSON.parse(arguments[0]).map((row) => ferlPage.engine.judge(row.map(Number)));
return JSON.stringify(answers.map((own) => ({ ...own, firing: Array.from(own.firing) })));
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


def assert_same(found, model, rows):
    """What JavaScript says of rows is what Python says of them."""
    evidence = model.predict_evidence(rows)
    expected = {
        "belief": evidence.belief,
        "plausibility": evidence.plausibility,
        "ignorance": evidence.ignorance,
        "conflict": evidence.conflict,
        "novelty": model.novelty(rows),
        "noveltyByFeature": model.novelty_attribution(rows),
        "supportDeficit": model.support_deficit(rows),
    } | (of_a_tree(model, rows) if model.model_.kind == "trees" else of_wide_rules(model, rows))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert (found["set"] == evidence.prediction_set()).all()
    assert (model.classes_[found["label"]] == model.predict(rows)).all()


def of_a_tree(model, rows):
    return {
        "firing": model.model_.fire(check_rows(model, rows)),
        "pignistic": model.predict_proba(rows),
    }


def of_wide_rules(model, rows):
    encoded = check_rows(model, rows)
    return {
        "firing": model.tree_.fire(encoded, gated=False),
        "probability": model.predict_proba(rows),
        "scores": model.model_.decision_scores(encoded),
        "contributions": model.contributions(rows),
        "featureContributions": model.feature_contributions(rows),
    }


def assert_same_under_node(model, rows):
    encoded = check_rows(model, rows)[:, : model.n_features_in_]
    assert_same(javascript.judge(model.model_, encoded), model, rows)


def assert_same_in_page(browser, tmp_path, model, rows):
    open_page(browser, write_report(model, rows[:1], path=tmp_path / "report.html"))
    encoded = check_rows(model, rows)[:, : model.n_features_in_]
    found = json.loads(browser.execute_script(JUDGE, json.dumps(numbers(encoded))))
    assert_same(javascript.as_arrays(found), model, rows)


def far_and_near(X, seed=0):
    """Rows beside those of a table, at its edges, and far away; with holes."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(len(X), size=N_ROWS)] + rng.choice([0.0, 0.2, 3.0, 1e6], (N_ROWS, 1)) * rng.normal(
        size=(N_ROWS, X.shape[1])
    )
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[0], rows[1] = np.nan, X.max(axis=0)
    return rows


@pytest.mark.parametrize("variant", ["medium", "rules"])
def test_dates_and_ordered_categories_are_numbers_to_the_page(variant):
    rng = np.random.default_rng(0)
    day = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 90, 200), unit="D")
    sizes = pd.Categorical(rng.choice(["low", "mid", "high"], 200), ["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"day": day, "size": sizes})
    model = classifier(variant, random_state=0).fit(table, (day > "2019-02-10") ^ (sizes == "low"))
    table.loc[:3, "day"] = pd.NaT
    assert_same_under_node(model, table[:N_ROWS])


@pytest.mark.parametrize("variant", ["deep", "medium", "compact"])
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_numbers_of_every_variant_and_combination_are_those_of_python(variant, combination):
    X, y = load_iris(return_X_y=True)
    model = tree_classifier(variant, combination=combination, random_state=0).fit(X, y)
    assert_same_under_node(model, far_and_near(X))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing_conditions": True},
        {"n_exemplars": 0},
        {"n_exemplars": 0, "missing_conditions": True, "support_gate": False},
        {"kind": "compact", "missing_conditions": True},
        {"kind": "compact", "n_exemplars": 0},
        {"sources": "all", "discount": 2.0, "gate_margin": 0.3},
        {"sources": "all", "combination": "cautious"},
        {"band_scale": 0.0, "n_exemplars": 3},
    ],
    ids=str,
)
def test_categories_missing_and_unseen_values_are_read_as_in_python(options):
    table = mixed_table(np.random.default_rng(1), n_classes=3)
    model = fit_mixed(table, **options)
    assert_same_under_node(model, rows_beside(table, 1, N_ROWS))


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("options", [{}, {"missing_conditions": True, "gate_margin": 0.3}, {"support_gate": False}])
def test_rules_are_read_as_in_python(n_classes, options):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_classes=n_classes)
    model = fit_mixed(table, kind="rules", **options)
    assert_same_under_node(model, rows_beside(table, 1, N_ROWS))


def test_rules_on_numbers_are_read_as_in_python():
    X, y = load_iris(return_X_y=True)
    assert_same_under_node(FERLClassifier(random_state=0).fit(X, y), far_and_near(X))


def test_rules_that_learned_nothing_are_the_prior():
    model = FERLClassifier(random_state=0).fit(np.zeros((20, 2)), [0, 1, 1, 1] * 5)
    assert_same_under_node(model, np.array([[0.0, 0.0], [5.0, np.nan]]))


def test_a_rule_model_of_one_class_is_certain():
    model = FERLClassifier(random_state=0).fit(np.arange(20.0)[:, None], [1] * 20)
    assert_same_under_node(model, np.array([[0.0], [1e6], [np.nan]]))


def test_upright_words_and_values_on_their_edges():
    X = np.repeat(np.arange(6.0), 20)[:, None] * [1.0, -1.0]
    model = FERLTreeClassifier("compact", random_state=0).fit(X, (X[:, 0] > 2).astype(int))
    assert_same_under_node(model, np.vstack([X, X + 0.5, X - 1e-12]))


def test_a_tree_of_one_rule_answers_everywhere():
    model = FERLTreeClassifier("deep", random_state=0).fit(np.zeros((20, 2)), [0, 1] * 10)
    assert_same_under_node(model, np.array([[0.0, 0.0], [5.0, np.nan]]))


@pytest.mark.parametrize(
    "options",
    [
        {"missing_conditions": True},
        {"n_exemplars": 0, "combination": "chain"},
        {"kind": "compact", "missing_conditions": True},
        {"kind": "rules", "missing_conditions": True},
    ],
    ids=str,
)
def test_the_numbers_of_a_page_in_a_browser_are_those_of_python(browser, tmp_path, options):
    table = mixed_table(np.random.default_rng(1), n_classes=3)
    assert_same_in_page(browser, tmp_path, fit_mixed(table, **options), rows_beside(table, 1, N_ROWS))


def test_the_numbers_of_a_page_without_categories_in_a_browser_are_those_of_python(browser, tmp_path):
    X, y = load_iris(return_X_y=True)
    assert_same_in_page(browser, tmp_path, FERLTreeClassifier("deep", random_state=0).fit(X, y), far_and_near(X))
