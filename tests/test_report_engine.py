"""The numbers of the what-if page are those of Python: random rows, every kind of model, in a real browser."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from browser import chromium, open_page
from ferl import FERLClassifier
from ferl._model.profile import Profile
from ferl._model.tree import FuzzyTree
from ferl._sklearn import check_rows
from ferl.report import write_report
from ferl.report.page_model import numbers
from table_examples import fit_mixed, mixed_table, rows_beside

N_ROWS = 200
COMBINATIONS = ("dempster", "cautious", "chain", "vote")
JUDGE = """
const names = ["belief", "plausibility", "pignistic", "set", "label", "ignorance", "conflict", "novelty",
               "noveltyByFeature", "supportDeficit"];
return JSON.stringify(JSON.parse(arguments[0]).map((row) => {
  const answer = ferlPage.engine.judge(row.map(Number));
  const firing = Array.from(answer.firing);
  return Object.fromEntries([["firing", firing], ...names.map((name) => [name, answer[name]])]);
}));
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


def judged(browser, model, rows):
    """What the page says of rows, as arrays."""
    encoded = check_rows(model, rows)[:, : model.n_features_in_]
    found = json.loads(browser.execute_script(JUDGE, json.dumps(numbers(encoded))))
    return {name: np.array([answer[name] for answer in found]) for name in found[0]}


def assert_same(browser, tmp_path, model, rows):
    path = write_report(model, rows[:1], path=tmp_path / "report.html")
    open_page(browser, path)
    found, evidence = judged(browser, model, rows), model.predict_evidence(rows)
    encoded = check_rows(model, rows)
    firing = model.tree_.fire(encoded, gated=model.support_gate, gate_margin=model.gate_margin)
    expected = {
        "firing": firing,
        "belief": evidence.belief,
        "plausibility": evidence.plausibility,
        "pignistic": evidence.pignistic,
        "ignorance": evidence.ignorance,
        "conflict": evidence.conflict,
        "novelty": model.novelty(rows),
        "noveltyByFeature": model.novelty_attribution(rows),
        "supportDeficit": model.support_deficit(rows),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].astype(float), value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert (found["set"] == evidence.prediction_set()).all()
    assert (model.classes_[found["label"]] == model.predict(rows)).all()


def far_and_near(X, seed=0):
    """Rows beside those of a table, at its edges, and far away; with holes."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(len(X), size=N_ROWS)] + rng.choice([0.0, 0.2, 3.0, 1e6], (N_ROWS, 1)) * rng.normal(
        size=(N_ROWS, X.shape[1])
    )
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[0], rows[1] = np.nan, X.max(axis=0)
    return rows


@pytest.mark.parametrize("variant", ["deep", "medium", "compact"])
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_numbers_of_every_variant_and_combination_are_those_of_python(browser, tmp_path, variant, combination):
    X, y = load_iris(return_X_y=True)
    model = FERLClassifier(variant, combination=combination, random_state=0).fit(X, y)
    assert_same(browser, tmp_path, model, far_and_near(X))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing_conditions": True},
        {"n_exemplars": 0},
        {"n_exemplars": 0, "missing_conditions": True, "support_gate": False},
        {"variant": "compact", "missing_conditions": True},
        {"variant": "compact", "n_exemplars": 0},
        {"sources": "all", "discount": 2.0, "gate_margin": 0.3},
        {"sources": "all", "combination": "cautious"},
        {"band_scale": 0.0, "n_exemplars": 3},
    ],
    ids=str,
)
def test_categories_missing_and_unseen_values_are_read_as_in_python(browser, tmp_path, options):
    table = mixed_table(np.random.default_rng(1), n_classes=3)
    model = fit_mixed(table, **options)
    assert_same(browser, tmp_path, model, rows_beside(table, 1, N_ROWS))


def chain_of_contradictions(n_categories):
    """A tree of one long path whose nodes are almost certain, of one class and the other in turn."""
    X = np.arange(8.0)[:, None]
    model = FERLClassifier(sources="all", discount=1e-10, random_state=0).fit(X, X[:, 0] > 3)
    parent = np.array([-1, *np.repeat(np.arange(0, 2 * n_categories, 2), 2)], dtype=np.int32)
    n = len(parent)
    left, right = [-np.inf, -np.inf, 0.0, 1.0], [0.0, 1.0, np.inf, np.inf]
    certain = np.eye(2)[np.arange(n) // 2 % 2]
    tree = FuzzyTree(
        parent=parent,
        feature=np.array([-1] + [0] * (n - 1), dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf]] + [left, right] * n_categories),
        support=np.tile([0.0, 8.0], (n, 1)),
        class_weight=1000 * certain,
        consequent=certain,
        gain=np.zeros(n),
        profile=Profile(np.zeros((n, 1)), np.ones((n, 1)), np.zeros((n, 1), dtype=np.int32), np.zeros((1, 1))),
        share=np.full(n, 0.5),
    )
    model.model_ = replace(model.model_, tree=tree)
    return model


def test_many_sources_in_conflict_do_not_underflow(browser, tmp_path):
    model = chain_of_contradictions(60)
    rows = np.array([[5.0], [0.5], [0.999], [-3.0], [12.0]])
    assert model.predict_evidence(rows).conflict[0] == 1
    assert_same(browser, tmp_path, model, rows)


def test_upright_words_and_values_on_their_edges(browser, tmp_path):
    X = np.repeat(np.arange(6.0), 20)[:, None] * [1.0, -1.0]
    model = FERLClassifier("compact", random_state=0).fit(X, (X[:, 0] > 2).astype(int))
    assert_same(browser, tmp_path, model, np.vstack([X, X + 0.5, X - 1e-12]))


def test_a_tree_of_one_rule_answers_everywhere(browser, tmp_path):
    model = FERLClassifier(random_state=0).fit(np.zeros((20, 2)), [0, 1] * 10)
    assert_same(browser, tmp_path, model, np.array([[0.0, 0.0], [5.0, np.nan]]))
