"""Readings of compact trees: rules in words, pruning, the Lipschitz constant; and compact trees in scikit-learn."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ferl import FERLClassifier, FERLTreeClassifier, FuzzyTree, export_text, rules_frame
from ferl._learn.grow_trees import prune, pruning_path
from ferl._tell.statements import statements
from ferl.words import FuzzySet, LinguisticVariable, word_conditions
from law_examples import LAW, Floats, Table, tables
from tree_examples import bare_tree, tree_classifier


def fit(table: Table, weight: Floats | None = None, **options: Any) -> FERLClassifier:
    return tree_classifier("compact", random_state=0, **options).fit(*table, weight)


@parametrize_with_checks([tree_classifier("compact", random_state=0), FERLTreeClassifier("compact", criterion="cci")])
def test_scikit_learn_estimator_checks_pass(estimator: FERLClassifier, check: Any) -> None:
    check(estimator)


# ---------------------------------------------------------------------------------------------------------------------
# Rules in words
# ---------------------------------------------------------------------------------------------------------------------

DATASETS = pytest.mark.parametrize("dataset", [load_iris(), load_wine()], ids=["iris", "wine"])
N_SETS = pytest.mark.parametrize("n_sets", [2, 3, 7])
CONDITION = r"(?P<name>\S+(?: \S+)*?) is (?P<word>(?:not )?(?:very |fairly )?(?:low|medium|high))"
SENTENCE = re.compile(
    rf" *\d+\. if {CONDITION}(?: and {CONDITION})*".replace("?P<name>", "").replace("?P<word>", "")
    + r" then (\S+) with confidence (0\.\d{2,3}|1\.00)"
    + r"(?: \((?:\S+ 0\.\d\d, )*\S+ 0\.\d\d\))?, applies to \d+\.\d rows \(\d+%\)"
)


def printed(model: FERLClassifier, dataset: Any, **options: Any) -> tuple[list[str], list[str]]:
    """Rules, each on one line, and the lines of the legend; not how rules are combined, which is said of all trees."""
    names = {"feature_names": dataset.feature_names, "class_names": dataset.target_names.tolist()}
    rules, _, legend = export_text(model, **names, width=10_000, **options).partition("\nwhere\n")
    rules, _, combined = rules.rpartition("\n")
    assert combined.startswith("Rules are combined by Dempster's rule; ")
    return re.sub(r"\n +then", " then", rules).splitlines(), [line.strip() for line in legend.splitlines()]


@DATASETS
@N_SETS
def test_every_rule_is_an_english_sentence(dataset: Any, n_sets: int) -> None:
    model = fit((dataset.data, dataset.target), n_sets=n_sets)
    rules, _ = printed(model, dataset)
    assert len(rules) == model.model_.is_rule.sum() > 1
    for rule in rules:
        assert SENTENCE.fullmatch(rule), rule
    conditions = [
        re.findall(CONDITION, clause)
        for rule in rules
        for clause in re.split(" and |^.*? if ", rule)
        if " is " in clause
    ]
    assert all(name in dataset.feature_names for ((name, _),) in conditions)


@DATASETS
@N_SETS
def test_the_legend_explains_every_word_used_and_no_other_feature(dataset: Any, n_sets: int) -> None:
    model = fit((dataset.data, dataset.target), n_sets=n_sets)
    _, legend = printed(model, dataset)
    explained = dict(line.split(": ", 1) for line in legend)
    used = sorted(set(model.tree_.feature[1:].tolist()))
    assert list(explained) == [dataset.feature_names[j] for j in used]
    for j, meaning in zip(used, explained.values(), strict=True):
        words = [re.fullmatch(r"(.+?) (?:above|below|between|around) .+", one) for one in meaning.split(", ")]
        assert [match[1] for match in words if match] == [one.name for one in model.words_[j].sets]
        spoken = {word for feature, word in zip(model.tree_.feature, model.tree_.word, strict=True) if feature == j}
        assert {word.removeprefix("not ") for word in spoken} <= {match[1] for match in words if match}


@DATASETS
def test_wrapping_and_leaving_out_rules_changes_no_word(dataset: Any) -> None:
    model = fit((dataset.data, dataset.target))
    for width in (40, 80):
        text = export_text(model, feature_names=dataset.feature_names, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert text.split() == export_text(model, feature_names=dataset.feature_names, width=10_000).split()
    rules, legend = printed(model, dataset, max_rules=1)
    assert rules[1:] == [f"... and {model.model_.is_rule.sum() - 1} more rules"]
    assert legend


@LAW
@given(tables(), st.sampled_from(["quantile", "width", "mdlp"]), st.integers(2, 7))
def test_the_words_of_a_rule_multiplied_out_are_its_firing(table: Table, partition: str, n_sets: int) -> None:
    model = fit(table, words=partition, n_sets=n_sets, min_gain=0.001, min_rule_worth=0.001)
    X = table[0]
    firing = model.tree_.fire(X, gated=False)
    rules = statements(model.model_)
    assert sorted(rule.node for rule in rules) == np.flatnonzero(model.model_.is_rule).tolist()
    assert [rule.number for rule in rules] == list(range(1, len(rules) + 1))
    assert [rule.support for rule in rules] == sorted((rule.support for rule in rules), reverse=True)
    for rule in rules:
        product = np.ones(len(X))
        for condition in rule.conditions:
            variable, word = model.words_[condition.feature], condition.word
            means = variable.complement(word[4:]) if word.startswith("not ") else variable[word]
            product *= means.membership(X[:, condition.feature])
        np.testing.assert_allclose(product, firing[:, rule.node], rtol=0, atol=1e-12)


def test_the_words_of_an_expert_are_the_words_of_the_rules() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(35, 41, size=(200, 2))
    temperature = LinguisticVariable(
        "x1", (FuzzySet.falling("normal", 37.5, 38.0), FuzzySet.rising("fever", 37.5, 38.5)), "°C"
    )
    model = fit((X, np.where(X[:, 1] > 38, "ill", "well")), words=[temperature])
    text = export_text(model, feature_names=["pulse", "temperature"])
    assert set(model.tree_.feature[1:].tolist()) == {1}
    assert re.search(r"if temperature is (fever|not normal)\n +then ill with", text)
    assert text.endswith("where\n     temperature (°C): normal below 37.5..38.0, fever above 37.5..38.5")
    assert model.words_[0] is None


def test_a_tree_without_conditions_says_always_and_needs_no_legend() -> None:
    model = fit((np.zeros((9, 1)), np.arange(9) % 3))
    assert re.fullmatch(
        r"  1\. always\n     then 0 with confidence 0\.33 .*, applies to 9\.0 rows \(100%\)", export_text(model)
    )
    assert rules_frame(model)["conditions"].tolist() == [""]


# ---------------------------------------------------------------------------------------------------------------------
# Rules as data
# ---------------------------------------------------------------------------------------------------------------------


def columns_of(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {
        name: list(frame[name].to_numpy() if hasattr(frame[name], "to_numpy") else frame[name])
        for name in frame.columns
    }


@DATASETS
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_the_frame_has_one_row_for_each_rule_and_its_columns_add_up(dataset: Any, backend: str | None) -> None:
    model = fit((dataset.data, dataset.target))
    tree, names = model.tree_, dataset.target_names.tolist()
    native = rules_frame(model, feature_names=dataset.feature_names, class_names=names, backend=backend)
    assert type(native).__module__.split(".")[0] == (backend or "pandas")
    frame = columns_of(native)
    expected = ["number", "conditions", "label", "confidence", "support", "share", "n_conditions", "node", "is_leaf"]
    assert list(frame) == [*expected, *(f"p({name})" for name in names)]
    assert sorted(frame["node"]) == np.flatnonzero(model.model_.is_rule).tolist()
    p = np.column_stack([frame[f"p({name})"] for name in names])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(p, tree.consequent[frame["node"]])
    np.testing.assert_array_equal(frame["confidence"], p.max(axis=1))
    assert list(frame["label"]) == [names[c] for c in p.argmax(axis=1)]
    assert (np.diff(frame["support"]) <= 0).all()
    np.testing.assert_allclose(frame["share"], np.array(frame["support"]) / len(dataset.data), rtol=1e-12)
    assert list(frame["n_conditions"]) == tree.depth[frame["node"]].tolist()
    assert [text.count(" and ") + 1 for text in frame["conditions"]] == list(frame["n_conditions"])
    rules, _ = printed(model, dataset)
    for n, (conditions, label, rule) in enumerate(zip(frame["conditions"], frame["label"], rules, strict=True), 1):
        assert rule.lstrip().startswith(f"{n}. if {conditions} then {label} with confidence")


def test_the_frame_reads_learned_splits_as_well() -> None:
    iris = load_iris()
    model = FERLTreeClassifier("medium", max_rules=4, random_state=0).fit(iris.data, iris.target)
    frame = rules_frame(model, backend="pandas")
    assert len(frame) == model.n_rules_
    assert frame["label"].isin(model.classes_).all()
    np.testing.assert_allclose(frame["share"].sum(), 1.0)


@pytest.mark.parametrize("read", [export_text, rules_frame])
def test_readers_of_rules_say_what_is_wrong(read: Any) -> None:
    iris = load_iris()
    model = fit((iris.data, iris.target))
    with pytest.raises(NotFittedError):
        read(FERLTreeClassifier("compact"))
    with pytest.raises(TypeError, match=rf"{read.__name__} got a Pipeline.*pipeline\[-1\]"):
        read(make_pipeline(StandardScaler(), model))
    with pytest.raises(ValueError, match=r"feature_names has 2 names.*4 features"):
        read(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=r"class_names has 1 names; there are 3 classes"):
        read(model, class_names=["setosa"])


# ---------------------------------------------------------------------------------------------------------------------
# Pruning
# ---------------------------------------------------------------------------------------------------------------------


def node_names(tree: FuzzyTree) -> set[tuple[Any, ...]]:
    """Each node by the words on its path: the same in a tree and its subtrees."""
    return {tuple((int(tree.feature[o]), tree.word[o]) for o in tree.path(node)) for node in range(tree.n_nodes)}


@LAW
@given(tables(), st.sampled_from([3, 5]))
def test_the_pruning_path_ascends_to_the_root_alone_and_its_subtrees_are_nested(table: Table, n_sets: int) -> None:
    tree = fit(table, n_sets=n_sets, min_gain=0.001, min_rule_worth=0.001).tree_
    alphas, impurities = pruning_path(tree)
    assert alphas[0] == 0
    assert (np.diff(alphas) > 0).all()
    assert (
        np.diff(impurities[1:]) > -1e-12
    ).all()  # words may save less than nothing: the whole tree need not be purest
    subtrees = [tree, *(prune(tree, alpha) for alpha in alphas)]
    for larger, smaller in pairwise(subtrees):
        assert node_names(smaller) <= node_names(larger)
        assert len(smaller.leaves) <= len(larger.leaves)
    assert prune(tree, alphas[-1] + 1e-9).n_nodes == 1


@DATASETS
def test_a_larger_ccp_alpha_never_leaves_more_rules(dataset: Any) -> None:
    table, options = (dataset.data, dataset.target), {"min_gain": 0.001, "min_rule_worth": 0.001}
    path = tree_classifier("compact", random_state=0, **options).cost_complexity_pruning_path(*table)
    models = [fit(table, ccp_alpha=alpha, **options) for alpha in path.ccp_alphas]
    n_rules = [model.n_rules_ for model in models]
    assert (np.diff(path.ccp_alphas) > 0).all()
    assert (np.diff(n_rules) <= 0).all()
    assert n_rules[0] > 3
    assert models[-1].tree_.n_nodes == 1
    assert all(model.predict(dataset.data).shape == dataset.target.shape for model in models)


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_a_tree_keeps_the_words_of_the_nodes_it_keeps(table: Table, seed: int) -> None:
    tree = fit(table, min_gain=0.001, min_rule_worth=0.001).tree_
    kept = np.random.default_rng(seed).random(tree.n_nodes) < 0.7
    kept[0] = True
    for o in range(1, tree.n_nodes):
        kept[o] &= kept[tree.parent[o]]
    part = tree.keep(kept)
    assert part.word == tuple(np.array(tree.word)[kept].tolist())
    assert node_names(part) <= node_names(tree)
    np.testing.assert_array_equal(part.trapezoid, tree.trapezoid[kept])
    assert (part.gain[part.is_leaf] == 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# The Lipschitz constant
# ---------------------------------------------------------------------------------------------------------------------


def vote_of_all_nodes(tree: FuzzyTree, X: Floats) -> Floats:
    return np.asarray(tree.fire(X, gated=False)[:, 1:] @ tree.consequent[1:])


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_vote_of_all_nodes_is_lipschitz(table: Table, seed: int, n_sets: int) -> None:
    tree = fit(table, n_sets=n_sets, min_gain=0.001, min_rule_worth=0.001).tree_
    rng = np.random.default_rng(seed)
    X = table[0][rng.integers(len(table[0]), size=200)]
    reach = rng.choice([1e-6, 1e-3, 0.1, 1.0], size=(200, 1)) * np.ptp(table[0], axis=0)
    moved = X + reach * rng.normal(size=X.shape) * (rng.random(X.shape) < 0.5)  # one feature alone, often
    change = np.abs(vote_of_all_nodes(tree, moved) - vote_of_all_nodes(tree, X)).sum(axis=1)
    assert (change <= tree.lipschitz * np.abs(moved - X).max(axis=1) * (1 + 1e-9) + 1e-12).all()


def test_the_vote_of_all_nodes_is_lipschitz_where_the_words_of_every_node_sum_to_one() -> None:
    low, high, whole = [-np.inf, -np.inf, 0.0, 1.0], [0.0, 1.0, np.inf, np.inf], [-np.inf, -np.inf, np.inf, np.inf]
    wide_low, wide_high = [-np.inf, -np.inf, 0.0, 9.0], [0.0, 9.0, np.inf, np.inf]
    tree = bare_tree(
        parent=np.array([-1, 0, 1, 1, 0, 4, 4], dtype=np.int32),
        feature=np.array([-1, 0, 1, 1, 0, 1, 1], dtype=np.int32),
        trapezoid=np.array([whole, low, wide_low, wide_high, high, wide_low, wide_high]),
        support=np.array([[0.0, 9.0]] * 7),
        class_weight=np.ones((7, 2)),
        consequent=np.array([[0.5, 0.5]] + [[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3),
        gain=np.zeros(7),
        word=("", "low", "low", "high", "high", "low", "high"),
    )
    one, other = vote_of_all_nodes(tree, np.array([[0.0, 4.0], [1.0, 4.0]]))
    assert np.abs(other - one).sum() <= tree.lipschitz + 1e-12


# ---------------------------------------------------------------------------------------------------------------------
# Tables that nothing can be learned from
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "options"),
    [
        (np.full((9, 2), 7.0), np.arange(9) % 3, {}),
        (np.arange(20.0)[:, None], np.zeros(20, dtype=int), {}),
        (np.array([[1.0, 2.0]]), np.array([4]), {}),
        (np.arange(20.0)[:, None], np.arange(20) % 2, {"words": []}),
        (np.arange(20.0)[:, None], np.arange(20) // 10, {"min_leaf_weight": 100.0}),
    ],
    ids=["constant columns", "one class", "one row", "no words", "no word with enough weight"],
)
def test_without_a_usable_word_the_root_answers_for_all(
    X: Floats, y: NDArray[np.int64], options: dict[str, Any]
) -> None:
    model = fit((X, y), consequents="raw", **options)
    assert model.tree_.n_nodes == model.n_rules_ == 1
    classes, counts = np.unique(y, return_counts=True)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(counts / len(y), (len(X), 1)), atol=1e-12)
    assert (model.predict(X) == classes[counts.argmax()]).all()


# ---------------------------------------------------------------------------------------------------------------------
# What a reader would trip over
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_renaming_the_classes_renames_the_answers(load):
    X, y = load(return_X_y=True)
    model = tree_classifier("compact", random_state=0).fit(X, y)
    renamed = tree_classifier("compact", random_state=0).fit(X, y.max() - y)
    np.testing.assert_allclose(renamed.predict_proba(X), model.predict_proba(X)[:, ::-1], rtol=0, atol=1e-12)
    assert renamed.tree_.word == model.tree_.word
    np.testing.assert_array_equal(renamed.tree_.feature, model.tree_.feature)


@pytest.mark.parametrize("n_sets", [2, 3, 5])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_no_two_nodes_say_the_same(load, n_sets):
    X, y = load(return_X_y=True)
    tree = tree_classifier("compact", random_state=0, n_sets=n_sets, min_gain=0.0, min_rule_worth=0.0).fit(X, y).tree_
    said = [frozenset((tree.feature[q], tree.word[q]) for q in tree.path(o)) for o in range(1, tree.n_nodes)]
    assert len(set(said)) == len(said) > 3


def test_the_only_rule_loses_words_that_are_worth_nothing():
    X, y = load_wine(return_X_y=True)
    model = tree_classifier("compact", random_state=0, max_rules=1, min_rule_worth=10.0).fit(X, y)
    assert model.tree_.n_nodes == 2


def test_names_that_break_lines_are_printed_on_one():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a\n(cm)", "b\n(cm)", "c\t(cm)", "d\n\n"])
    text = export_text(tree_classifier("compact", random_state=0).fit(frame, y))
    assert "if c (cm) is" in text
    assert "c (cm): low below" in text


def test_class_names_that_read_the_same_are_refused():
    model = tree_classifier("compact", random_state=0).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="two of them read the same"):
        rules_frame(model, class_names=["a", "a", "b"])


def test_a_word_has_one_meaning_even_if_an_expert_chose_it_badly():
    sets = [FuzzySet.falling("not high", 1, 3), FuzzySet.rising("high", 2, 6)]
    assert word_conditions([LinguisticVariable("x", sets)]).word == ["not high", "high"]


def test_beginnings_of_rules_and_rules_together_are_all_the_evidence():
    X, y = load_iris(return_X_y=True)
    model = tree_classifier("compact", random_state=0, support_gate=False).fit(X, y)
    frame = rules_frame(model, inner=True)
    assert sorted(frame["node"]) == list(range(1, model.tree_.n_nodes))
    assert frame["is_leaf"].sum() == model.n_rules_ < len(frame)
    firing = model.tree_.fire(X, gated=False)[:, frame["node"]]
    p = frame[[f"p({c})" for c in model.classes_]].to_numpy()
    plausible = np.prod(1 - firing[:, :, None] * (1 - p), axis=1)
    np.testing.assert_array_equal(plausible.argmax(axis=1), model.predict(X))


def test_a_file_name_instead_of_words_is_told_how_to_be_read():
    with pytest.raises(ValueError, match=r"words is 'ward.yaml'.*load_partition"):
        tree_classifier("compact", words="ward.yaml").fit(*load_iris(return_X_y=True))


def test_the_whole_tree_is_the_first_point_of_the_pruning_path():
    X, y = load_iris(return_X_y=True)
    options = {"min_rule_worth": 0.001, "min_gain": 0.001, "random_state": 0}
    path = tree_classifier("compact", **options).cost_complexity_pruning_path(X, y)
    sizes = [
        tree_classifier("compact", ccp_alpha=alpha, **options).fit(X, y).tree_.n_nodes for alpha in path.ccp_alphas
    ]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[-1] == 1
