"""The fitted model is one frozen value: what is set on the classifier later does not change it, and it is made once."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ferl import FERLClassifier, FERLTreeClassifier, load_model, save_model
from ferl._models.settings import VARIANTS, RuleSettings, TreeReading, TreeSettings
from tree_examples import tree_classifier

X, Y = load_iris(return_X_y=True)
ELSEWHERE = np.vstack([X, X * 1.4, X - 2.0])
TREES = ["compact", "medium", "deep"]
OTHER_READINGS = [
    {"combination": "vote"},
    {"combination": "cautious"},
    {"combination": "chain"},
    {"sources": "all"},
    {"discount": 3.0},
    {"support_gate": False},
    {"gate_margin": 0.25},
]


def answers(model):
    evidence = model.predict_evidence(ELSEWHERE)
    return [evidence.belief, evidence.ignorance, evidence.conflict, model.novelty(ELSEWHERE)]


def assert_same(one, other):
    for left, right in zip(answers(one), answers(other), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("variant", TREES)
def test_parameters_set_after_the_fit_change_no_answer_until_the_next_fit(variant):
    fitted = tree_classifier(variant, random_state=0).fit(X, Y)
    changed = copy.copy(fitted).set_params(
        variant="deep" if variant == "compact" else "compact",
        combination="vote",
        sources="all",
        discount=2.0,
        support_gate=False,
        gate_margin=0.1,
    )
    assert_same(fitted, changed)
    assert changed.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()


@pytest.mark.parametrize("change", OTHER_READINGS, ids=str)
@pytest.mark.parametrize("variant", TREES)
def test_another_reading_is_that_of_a_fit_with_these_parameters_and_shares_the_tree(variant, change):
    fitted = tree_classifier(variant, random_state=0).fit(X, Y)
    before = answers(fitted)
    other = fitted.reading(**change)
    assert other.tree_ is fitted.tree_
    assert other.get_params().items() >= change.items()
    assert_same(other, tree_classifier(variant, random_state=0, **change).fit(X, Y))
    for left, right in zip(before, answers(fitted), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_file_holds_the_reading_of_the_model_and_not_parameters_that_were_set_later(tmp_path):
    fitted = FERLTreeClassifier("compact", random_state=0).fit(X, Y).set_params(variant="deep", combination="vote")
    save_model(fitted, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert_same(loaded, fitted)
    assert (loaded.model_.variant, loaded.combination, loaded.model_.reading.sources) == ("compact", "dempster", "all")
    voting = fitted.reading(combination="vote", sources="leaves")
    save_model(voting, tmp_path / "vote.json")
    assert_same(load_model(tmp_path / "vote.json"), voting)


def test_a_model_cannot_be_changed():
    model = FERLTreeClassifier("deep", random_state=0).fit(X, Y).model_
    with pytest.raises(FrozenInstanceError):
        model.classes = model.classes[::-1]
    with pytest.raises(AttributeError):
        FERLTreeClassifier("deep", random_state=0).fit(X, Y).tree_ = model.tree


def test_no_array_of_a_model_can_be_written_not_even_after_a_pickle():
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    for model in (fitted.model_, pickle.loads(pickle.dumps(fitted)).model_, copy.deepcopy(fitted).model_):
        for array in (model.classes, model.tree.consequent, model.tree.profile.mean, model.tree.cuts.share):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0


def test_a_reading_takes_numbers_of_numpy_and_can_be_saved(tmp_path):
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    other = fitted.reading(support_gate=np.bool_(False), discount=np.float32(0.5), gate_margin=np.int64(2))
    save_model(other, tmp_path / "model.json")
    assert_same(load_model(tmp_path / "model.json"), other)


def test_the_parameters_of_a_reading_are_those_of_its_model():
    fitted = FERLTreeClassifier("medium", random_state=0).fit(X, Y).set_params(combination="vote")
    other = fitted.reading(discount=1.0)
    assert (other.variant, other.combination, other.discount, other.sources) == ("medium", "dempster", 1.0, None)
    assert_same(other, FERLTreeClassifier(**other.get_params()).fit(X, Y))


def test_a_refused_fit_leaves_nothing_behind():
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.fit(X[:, :2], Y[:-1])
    assert not [name for name in vars(fitted) if name.endswith("_")]


def test_compiled_parts_are_made_once_and_shared_by_readings():
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    model = fitted.model_
    parts = model.core, model.sources, model.tree.exemplars
    fitted.predict_proba(X)
    fitted.novelty(X)
    fitted.explain(X[0])
    assert all(
        one is other for one, other in zip(parts, (model.core, model.sources, model.tree.exemplars), strict=True)
    )
    assert fitted.reading(combination="vote").model_.core is model.core
    renamed = model.with_names(list("abcd"))
    assert (renamed.core, renamed.sources) == (model.core, model.sources)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_pickles_carry_the_arrays_and_compile_them_again(copied):
    fitted = FERLTreeClassifier("deep", random_state=0).fit(X, Y)
    fitted.novelty(X)  # so that there is something compiled that cannot be carried
    other = copied(fitted)
    assert other.model_.core is not fitted.model_.core
    assert_same(other, fitted)


@pytest.mark.parametrize("variant", TREES)
def test_settings_resolve_every_none_that_a_variant_has_a_value_for(variant):
    parameters = FERLTreeClassifier(variant).get_params()
    settings = TreeSettings.of(parameters)
    assert {name: getattr(settings, name) for name in VARIANTS[variant]} == VARIANTS[variant]
    assert set(vars(settings)) == set(parameters)
    assert TreeSettings.of(parameters | {"max_rules": 7}) == replace(settings, max_rules=7)
    assert {field.name for field in fields(TreeReading)} <= set(parameters)


@pytest.mark.parametrize(
    ("words", "expected"),
    [(False, (None, 150, 0.0)), ("quantile", ("quantile", 150, 0.0)), (True, ("triangles", 15, 0.05))],
)
def test_settings_of_rules_depend_on_the_words(words, expected):
    parameters = FERLClassifier(words).get_params()
    settings = RuleSettings.of(parameters)
    assert (settings.words, settings.max_rules, settings.min_rule_worth) == expected
    assert set(vars(settings)) == set(parameters)
    assert RuleSettings.of(parameters | {"max_rules": 7}) == replace(settings, max_rules=7)
