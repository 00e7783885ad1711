"""Rules in words: the scan against the oracle, laws, words in the rules, an expert's words, rare classes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from core_stages import stages
from ferl import FERLClassifier, FERLTreeClassifier, export_text, load_model, save_model
from ferl.words import FuzzySet, LinguisticVariable, quantile_partition, word_conditions
from oracle import rules as oracle
from oracle.linguistic import Term
from table_examples import rare_category_table
from test_rules_core import Floats, Ints, grow, probabilities, random_table, residuals, same_bits, sample_of

INF = np.inf


def random_words(rng: np.random.Generator, X: Floats, n_categories: Ints) -> list[Term]:
    """Words of quantiles, upright ones, single values, and ranges of categories; the constant column has none."""
    found = word_conditions(quantile_partition(np.where(np.isnan(X), np.nan, X)[:, :3]))
    words = [
        Term(int(j), tuple(ends.tolist()))
        for j, ends, own in zip(found.feature, found.trapezoid, found.is_complement, strict=True)
        if not own
    ]
    cut = float(rng.choice(X[~np.isnan(X[:, 1]), 1]))
    words += [Term(1, (cut, cut, cut, cut)), Term(1, (-INF, -INF, cut, cut)), Term(1, (cut - 1, cut, cut + 1, cut + 3))]
    for column in np.flatnonzero(n_categories):
        for first in range(int(n_categories[column]) - 1):
            words += [Term(int(column), (first, first, first, first)), Term(int(column), (first, first, 8.0, 8.0))]
    return words


def arrays(words: list[Term]) -> tuple[Ints, Floats]:
    ends = np.array([own.trapezoid for own in words], np.float64).reshape(-1, 4)
    return np.array([own.feature for own in words], np.int32), ends


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sign", [0, 1])
def test_a_scan_finds_the_gain_of_the_best_word(seed: int, sign: int) -> None:
    X, y, weight, n_categories = random_table(seed)
    rng = np.random.default_rng(seed)
    n_classes = 2 if sign else int(rng.choice([2, 3, 6]))
    sample = sample_of(X, y % n_classes, weight, n_categories, n_classes)
    gradient, hessian = residuals(sample, n_classes, rng)
    base = rng.choice([0.0, 0.3, 1.0], sample.n_rows) if seed % 3 else np.ones(sample.n_rows)
    monotone = np.array([1, -1, 1, 0, 0, 0], np.int32) * sign
    words = random_words(rng, sample.x, n_categories)
    slopes = gradient[:, -1:] if sign else gradient
    found = stages().scan(sample, slopes, hessian, base, monotone, 0, arrays(words))
    gains = dict.fromkeys(range(X.shape[1]), 0.0)
    for node, gain in zip(found["rule_node"], found["gain"], strict=True):
        column, ends = int(found["feature"][node]), tuple(found["trapezoid"][node].tolist())
        assert Term(column, ends) in words
        gains[column] = gain
    for column, gain in gains.items():
        own = [word for word in words if word.feature == column]
        x, way = sample.x[:, column], int(monotone[column])
        expected = oracle.best_word(x, sample.weight, own, slopes, hessian, base, way)
        assert gain == pytest.approx(max(expected, 0.0), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_the_order_of_rows_nor_copies_for_weights_change_a_bit(seed: int) -> None:
    X, y, _, n_categories = random_table(seed, 400)
    rng = np.random.default_rng(seed)
    words = arrays(random_words(rng, X, n_categories))
    copies = rng.integers(1, 3, len(X))
    expected = grow(sample_of(X, y, copies.astype(float), n_categories), words=words)
    order = rng.permutation(np.repeat(np.arange(len(X)), copies))
    repeated = sample_of(X[order], y[order], None, n_categories)
    assert same_bits(grow(repeated, words=words), expected)
    assert same_bits(grow(repeated, words=words, n_threads=3), expected)


def test_no_word_at_all_leaves_the_prior() -> None:
    X, y, weight, n_categories = random_table(0)
    grown = grow(sample_of(X, y, weight, n_categories), words=arrays([Term(0, (90.0, 91.0, 92.0, 93.0))]))
    assert len(grown["rule_node"]) == 0
    assert grown["prior"].sum() == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="two arrays"):
        grow(sample_of(X, y, weight, n_categories), words=arrays([])[:1])
    with pytest.raises(ValueError, match="column must be one of X"):
        grow(sample_of(X, y, weight, n_categories), words=arrays([Term(6, (0.0, 1.0, 2.0, 3.0))]))


# ---------------------------------------------------------------------------------------------------------------------
# The classifier
# ---------------------------------------------------------------------------------------------------------------------


@parametrize_with_checks([FERLClassifier(words=True, random_state=0)])
def test_scikit_learn_estimator_checks_pass(estimator: FERLClassifier, check: Any) -> None:
    check(estimator)


@lru_cache
def customers() -> tuple[pd.DataFrame, Ints]:
    """Numbers and categories with missing values; age and region decide together."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 15, n).round(),
            "income": rng.lognormal(3, 1, n),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "noise": rng.choice(["a", "b"], n),
        }
    )
    score = (frame["age"] - 45) / 8 + 2.5 * (frame["region"] == "north") - np.log(frame["income"]) / 2
    y = (score + rng.normal(0, 0.7, n) > 0).to_numpy().astype(np.int32)
    return frame.mask(rng.random(frame.shape) < 0.05), y


@pytest.mark.parametrize("partition", ["quantile", "triangles", "width", "mdlp"])
def test_every_condition_is_a_word_of_its_feature(partition: str) -> None:
    X, y = customers()
    clf = FERLClassifier(words=partition, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.85
    words, tree = clf.words_, clf.tree_
    assert words is not None
    assert len(tree.word) == tree.n_nodes
    assert tree.cuts is None
    for node in range(1, tree.n_nodes):
        column, word = int(tree.feature[node]), tree.word[node]
        variable = words[column]
        if variable is None:  # categories are their own words
            assert set(word.removeprefix("not ").replace(",", " or").split(" or ")) <= {
                str(own).strip() for own in clf.categories_[column]
            }
            continue
        assert tuple(tree.trapezoid[node].tolist()) == variable[word].ends
    asked = {tree.word[node] for node in range(1, tree.n_nodes)}
    assert "north" in asked or "not north" in asked


def test_missing_values_categories_and_far_away_rows_are_answered_as_everywhere() -> None:
    X, y = customers()
    clf = FERLClassifier(words="quantile", random_state=0).fit(X, y)
    parts = clf.contributions(X[:50])
    np.testing.assert_allclose(np.diff(parts.sum(axis=1)).ravel(), clf.decision_function(X[:50]), atol=1e-12)
    rows = X[:3].assign(age=900.0)
    assert (clf.predict_evidence(rows).ignorance == 1).all()
    assert clf.predict_set(rows).all()
    nothing = X[:1].assign(age=np.nan, income=np.nan, region=None, noise=None)
    assert 0 < clf.predict_proba(nothing)[0, 1] < 1
    asked = FERLClassifier(words="quantile", missing_conditions=True, random_state=0).fit(X, y)
    assert asked.missing_features_ == (0, 1, 2, 3)
    assert asked.score(X, y) > 0.85


@pytest.mark.parametrize("n_sets", [2, 5, 7])
def test_features_have_as_many_words_as_asked_for(n_sets: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = FERLClassifier(words="quantile", n_sets=n_sets, max_rules=12, random_state=0).fit(X, y)
    assert {len(own.sets) for own in clf.words_} == {n_sets}
    assert clf.n_rules_ <= 12
    assert clf.score(X, y) > 0.92


def test_an_experts_words_are_used_and_features_without_words_are_not() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    length = LinguisticVariable(
        "petal length (cm)",
        [
            FuzzySet.falling("short", 2.0, 2.5),
            FuzzySet("middling", 2.0, 2.5, 4.7, 5.2),
            FuzzySet.rising("long", 4.7, 5.2),
        ],
        unit="cm",
    )
    sets = [FuzzySet.falling("thin", 1.65, 1.65), FuzzySet.rising("thick", 1.65, 1.65)]
    crisp = LinguisticVariable("petal width (cm)", sets)
    clf = FERLClassifier(words=[crisp, length], random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.92
    assert set(clf.tree_.feature[1:]) <= {2, 3}
    assert set(clf.tree_.word[1:]) <= {"short", "middling", "long", "thin", "thick"}
    assert clf.words_ == [None, None, length, crisp]
    assert clone(clf).words == [crisp, length]


def test_rows_order_and_weights_change_no_bit_of_a_fit_in_words() -> None:
    X, y = customers()
    rng = np.random.default_rng(1)
    copies = rng.integers(1, 3, len(y))
    order = rng.permutation(np.repeat(np.arange(len(y)), copies))
    make = FERLClassifier(words="mdlp", random_state=0)
    expected = clone(make).fit(X, y, copies).predict_proba(X)
    found = clone(make).set_params(n_jobs=3).fit(X.iloc[order], y[order]).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_scores_in_words_are_monotone_where_they_must_be() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=500) > 0).astype(int)
    clf = FERLClassifier(words="quantile", n_sets=5, monotonic_cst=[1, 0, 0], support_gate=False, random_state=0).fit(
        X, y
    )
    rows = np.repeat(X[:50], 40, axis=0)
    rows[:, 0] = np.tile(np.linspace(-4, 4, 40), 50)
    assert (np.diff(clf.decision_function(rows).reshape(50, 40), axis=1) >= -1e-12).all()
    assert 0 in clf.tree_.feature
    assert not {"low", "medium", "high"} & {clf.tree_.word[k] for k in np.flatnonzero(clf.tree_.feature == 0)}


def test_words_are_none_for_rules_triangles_for_few_and_quantiles_for_trees() -> None:
    X, y = load_iris(return_X_y=True)
    assert FERLClassifier().get_params()["words"] is False
    assert FERLClassifier(random_state=0).fit(X, y).words_ is None
    few = FERLClassifier(words=True, random_state=0).fit(X, y)
    given = FERLClassifier(words="triangles", max_rules=15, min_rule_worth=0.05, random_state=0).fit(X, y)
    np.testing.assert_array_equal(few.predict_proba(X), given.predict_proba(X))
    for criterion in ("consistent", "cci"):
        default = FERLTreeClassifier("compact", criterion=criterion, random_state=0).fit(X, y)
        given = FERLTreeClassifier("compact", criterion=criterion, words="quantile", random_state=0).fit(X, y)
        np.testing.assert_array_equal(default.predict_proba(X), given.predict_proba(X))
        assert default.words is None
    assert FERLTreeClassifier("deep", words="quantile", max_rules=3, random_state=0).fit(X, y).words_ is not None
    with pytest.raises(ValueError, match="words is 'deciles'; it must be 'quantile'"):
        FERLClassifier(words="deciles").fit(X, y)


def test_few_rules_in_words_learn_from_more_rows() -> None:
    X, y = load_iris(return_X_y=True)
    blocks = FERLClassifier(words=True, random_state=0).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert blocks.score(X, y) > 0.9


# ---------------------------------------------------------------------------------------------------------------------
# Compact: few rules in words
# ---------------------------------------------------------------------------------------------------------------------


@lru_cache
def rare_category_split() -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    X, y = rare_category_table(np.random.default_rng(0), 4000)
    return X[:3000], y[:3000], X[3000:], y[3000:]


def test_a_rare_class_behind_a_rare_category_is_ranked_by_few_rules_in_words() -> None:
    X, y, X_test, y_test = rare_category_split()
    clf = FERLClassifier(words=True, random_state=0).fit(X, y)
    assert clf.n_rules_ <= 6
    assert roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1]) >= 0.75
    assert {"refused", "granted"} & set(clf.tree_.word)
    tree = FERLTreeClassifier("compact", random_state=0).fit(X, y)  # what it is better than
    assert roc_auc_score(y_test, tree.predict_proba(X_test)[:, 1]) < 0.6


def test_compact_is_wide_in_triangles_with_a_worth_for_each_rule(tmp_path: Path) -> None:
    X, y, X_test, _ = rare_category_split()
    clf = FERLClassifier(words=True, random_state=0).fit(X, y)
    same = FERLClassifier(words="triangles", max_rules=15, min_rule_worth=0.05, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X_test), same.predict_proba(X_test))
    np.testing.assert_array_equal(clf.decision_function(X_test), same.decision_function(X_test))
    assert (clf.model_.kind, clf.get_params()["words"]) == ("rules", True)
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == clf.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X_test), clf.predict_proba(X_test))
    assert loaded.reading(support_gate=False).model_.kind == "rules"
    assert export_text(clf).count(" is ") >= clf.n_rules_


@pytest.mark.parametrize("worth", [0.0, 0.02, 0.2])
def test_rules_that_are_worth_more_are_fewer(worth: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = FERLClassifier(words=True, min_rule_worth=worth, random_state=0).fit(X, y)
    assert {0.0: 15, 0.02: 10, 0.2: 2}[worth] >= clf.n_rules_ > {0.0: 10, 0.02: 2, 0.2: 0}[worth]


@pytest.mark.parametrize(("max_conditions", "n_words"), [(1, 1), (2, 2)])
def test_of_two_opposite_words_rules_of_one_condition_need_one(max_conditions: int, n_words: int) -> None:
    X, y = load_iris(return_X_y=True)
    partition = [
        LinguisticVariable(f"x{j}", (FuzzySet.falling("low", *ends), FuzzySet.rising("high", *ends)))
        for j, ends in enumerate(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True))
    ]
    clf = FERLClassifier(words=partition, max_conditions=max_conditions, prune=0, random_state=0).fit(X, y)
    tree = clf.tree_
    asked = {(int(tree.feature[node]), *tree.trapezoid[node].tolist()) for node in range(1, tree.n_nodes)}
    assert max(sum(own[0] == j for own in asked) for j in range(4)) == n_words
    assert clf.score(X, y) > 0.9


def many_kinds(n_classes: int = 20, n_concepts: int = 12, n_rows: int = 400) -> tuple[Floats, Ints]:
    """Noisy probabilities of concepts, of which every class has some, and the last concept one class alone."""
    rng = np.random.default_rng(0)
    table = rng.random((n_classes, n_concepts)) < 0.4
    table[:, -1] = np.arange(n_classes) == 0
    y = np.arange(n_rows) % n_classes
    seen = 1 / (1 + np.exp(-rng.normal(2.0 * table[y] - 1, 1.2)))
    return seen, y.astype(np.int32)


def test_single_words_are_a_regression_whose_ridge_and_scale_were_validated() -> None:
    X, y = many_kinds()
    n_classes, d = int(y.max()) + 1, X.shape[1]
    words = (np.arange(d, dtype=np.int32), np.tile([0.0, 1.0, np.inf, np.inf], (d, 1)))
    grown = grow(sample_of(X, y), words=words, max_conditions=1, prune=0.0)
    # A word of one class in twenty has its rule, too.
    assert sorted(grown["feature"][1:].tolist()) == list(range(d))
    linear = [own for own in grown["choices"] if own[1] == grown["choices"][0][1]][:4]
    assert linear[0][4] > 1  # with so few rows of a class the ridge is strong, and makes all weights too small
    assert all(own[4] == 1 for own in grow(sample_of(X, y), words=words, max_conditions=2)["choices"])

    def objective(w: Floats, ridge: float) -> tuple[float, Floats]:
        v, b = w[n_classes:].reshape(d, n_classes), w[:n_classes]
        p = softmax(X @ v + b, axis=1)
        residual = p - np.eye(n_classes)[y]
        value = -np.log(p[np.arange(len(y)), y]).sum() + ridge / 2 * (v**2).sum()
        return value, np.concatenate([residual.sum(axis=0), (X.T @ residual + ridge * v).ravel()])

    # Weights are held as they are, not times the deviation of their word; a ridge of 12 is one of 1.
    score = np.zeros((len(X), n_classes))
    for _, _, _, ridge, scale in linear:
        found = minimize(objective, np.zeros((d + 1) * n_classes), (ridge / 12,), jac=True, method="L-BFGS-B")
        score += scale * (X @ found.x[n_classes:].reshape(d, n_classes) + found.x[:n_classes]) / len(linear)
    expected = softmax(score, axis=1)
    assert np.abs(probabilities(grown, X) - expected).max() < 0.02
