"""The rivals that come from packages: each learns, says when it is not installed, and bears what the folds bring."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ferl_bench.errors import NotInstalledError
from ferl_bench.method import get_method
from ferl_bench.methods import ebm, rulefit

# Method, its package and the extra that brings it.
RIVALS = [
    ("FIGS", "imodels", "rivals"),
    ("Fuzzy-UCS (DS)", "numba", "numba"),
    ("Greedy rule list", "imodels", "rivals"),
    ("HSTree", "imodels", "rivals"),
    ("RuleFit", "imodels", "rivals"),
    ("SamRuLe", "numba", "numba"),
    ("EBM", "interpret", "rivals"),
    ("ex_fuzzy DeepFERL", "ex_fuzzy", "agpl"),
    ("ex_fuzzy DeepFERL, soft vote", "ex_fuzzy", "agpl"),
    ("ex_fuzzy FERL compact", "ex_fuzzy", "agpl"),
]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bag and ten trees are enough to learn these rows."""
    monkeypatch.setattr(ebm, "N_BAGS", 1)
    monkeypatch.setattr(rulefit, "N_TREES", 10)


ROWS = {"two classes": (0, 5), "labels with gaps": (0, 2, 5)}


def blobs(labels: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(labels, 60)
    return rng.normal(size=(len(y), 4)) * 0.9 + np.eye(6)[y][:, [0, 2, 5, 1]] * 3, y


@pytest.mark.parametrize("labels", ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize(("name", "package", "extra"), RIVALS, ids=[rival[0] for rival in RIVALS])
def test_rivals_learn_what_can_be_learned(name: str, package: str, extra: str, labels: tuple[int, ...]) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed: pip install './benchmarks[{extra}]'")
    X, y = blobs(labels)
    method = get_method(name)
    fitted = method.fit(X[::2], y[::2], 0)
    answers, probabilities = fitted.predict(X[1::2]), fitted.predict_proba(X[1::2])
    assert np.mean(answers == y[1::2]) > 0.8
    assert np.asarray(fitted.classes_).tolist() == list(labels)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    # The confidence in the tables is the largest probability: it has to be that of the answer.
    probability = probabilities[np.arange(len(answers)), np.searchsorted(labels, answers)]
    np.testing.assert_allclose(probability, probabilities.max(axis=1))
    if method.size is not None:
        assert method.size(fitted) >= len(labels)
    if method.prediction_set is not None:
        sets = method.prediction_set(fitted, X[1::2])
        assert sets.shape == probabilities.shape
        assert sets.any(axis=1).all()


# A scorecard leaves out features that tell the classes apart without an error, as those of `blobs` nearly do.
ABSENT = [*RIVALS, ("Scorecard", "optbinning", "scorecard")]


@pytest.mark.parametrize(("name", "package", "extra"), ABSENT, ids=[rival[0] for rival in ABSENT])
def test_an_absent_package_is_named_with_its_extra(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        NotInstalledError, match=rf"{package} is not installed \(pip install './benchmarks\[{extra}\]'\)"
    ):
        get_method(name).fit(*blobs((0, 5)), 0)


@pytest.mark.parametrize("name", ["FIGS", "HSTree", "RuleFit"])
def test_a_class_of_one_row_is_no_failure(name: str) -> None:
    """The package's own search for the strength of shrinkage fails on it; the row of the benchmark must not."""
    pytest.importorskip("imodels", reason="imodels is not installed: pip install './benchmarks[rivals]'")
    X, y = blobs((0, 2, 5))
    X, y = np.vstack([X, [[9.0, 9.0, 9.0, 9.0]]]), np.append(y, 4)
    fitted = get_method(name).fit(X, y, 0)
    assert fitted.predict_proba(X).shape == (181, 4)


@pytest.mark.parametrize("name", ["FIGS", "RuleFit"])
def test_a_rival_of_imodels_is_the_same_twice_and_leaves_the_global_generator_alone(name: str) -> None:
    pytest.importorskip("imodels", reason="imodels is not installed: pip install './benchmarks[rivals]'")
    X, y = load_breast_cancer(return_X_y=True)
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    one, other = (get_method(name).fit(X[::4], y[::4], 0).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_rulefit_keeps_at_most_thirty_terms_a_class_and_answers_by_its_own_regression() -> None:
    pytest.importorskip("imodels", reason="imodels is not installed: pip install './benchmarks[rivals]'")
    X, y = load_breast_cancer(return_X_y=True)
    method = get_method("RuleFit")
    fitted = method.fit(X[::2], y[::2], 0)
    assert method.size is not None
    assert 1 <= method.size(fitted) <= 30
    assert method.size(fitted) == len(fitted.model_.visualize())
    # The package's own probability of the second class is logistic(2 s - 1) of the log-odds s.
    odds = np.log(fitted.predict_proba(X[1::2])[:, 1] / fitted.predict_proba(X[1::2])[:, 0])
    package = fitted.model_.predict_proba(X[1::2])
    np.testing.assert_allclose(np.log(package[:, 1] / package[:, 0]), 2 * odds - 1, atol=1e-6)


def test_a_scorecard_counts_its_lines_and_has_one_card_for_each_of_three_classes() -> None:
    pytest.importorskip("optbinning", reason="optbinning is not installed: pip install './benchmarks[scorecard]'")
    method = get_method("Scorecard")
    assert method.size is not None
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    fitted = method.fit(X[::2], y[::2], 0)
    assert np.mean(fitted.predict(X[1::2]) == y[1::2]) > 0.85
    # A line of a card is a bin: rows of the same line in every feature have the same answer.
    lines = [fitted.bins_.get_binned_variable(name).splits for name in fitted.bins_.get_support(names=True)]
    assert method.size(fitted) == sum(len(cuts) + 1 for cuts in lines)
    places = np.column_stack([np.searchsorted(cuts, X[:, place], side="right") for place, cuts in enumerate(lines)])
    _, group = np.unique(places, axis=0, return_inverse=True)
    answers = fitted.predict_proba(X)[:, 1]
    assert all(np.ptp(answers[group.ravel() == one]) < 1e-12 for one in np.unique(group))
    three = np.digitize(X[:, 0], [12, 15])
    cards = method.fit(X, three, 0)
    assert cards.predict_proba(X).shape == (len(X), 3)
    assert method.size(cards) == sum(card.n_lines_ for card in cards.estimators_)


def test_shrinkage_pulls_pure_leaves_towards_the_nodes_above() -> None:
    pytest.importorskip("imodels", reason="imodels is not installed: pip install './benchmarks[rivals]'")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    cart, shrunk = get_method("CART").fit(X, y, 0), get_method("HSTree").fit(X, y, 0)
    assert cart.predict_proba(X).max(axis=1).min() == 1
    assert shrunk.predict_proba(X).max(axis=1).max() < 1
    assert shrunk.estimator_.get_n_leaves() == cart.get_n_leaves()


def test_both_readings_of_deep_ferl_are_of_the_same_tree() -> None:
    pytest.importorskip("ex_fuzzy", reason="ex_fuzzy is not installed: pip install './benchmarks[agpl]'")
    X, y = blobs((0, 2, 5))
    methods = [get_method(name) for name in ("ex_fuzzy DeepFERL", "ex_fuzzy DeepFERL, soft vote")]
    pignistic, soft = (method.fit(X, y, 0) for method in methods)
    assert pignistic.n_rules() == soft.n_rules()
    np.testing.assert_array_equal(pignistic.predict_set(X), soft.predict_set(X))
    assert not np.allclose(pignistic.predict_proba(X), soft.predict_proba(X))
