"""Moving the words of a fitted compact tree: the loss and its gradient, what moves and what stays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ferl import FERLClassifier, FERLTreeClassifier
from ferl.words import FuzzySet, LinguisticVariable, RefitResult, refit_partition
from ferl.words.refit import RampTable, RefitLoss, RefitRows, movement_bounds, read_ramps
from tree_examples import tree_classifier

Floats = NDArray[np.float64]
SEEDS = pytest.mark.parametrize("seed", range(4))

# All kinds of trees the loss can describe.
SETTINGS: list[dict[str, Any]] = [
    {},
    {"n_sets": 2},
    {"n_sets": 5, "max_depth": 3},
    {"sources": "leaves"},
    {"discount": 4.0},
    {"consequents": "raw"},
    {"words": "mdlp"},
    {"words": "width", "class_weight": "balanced"},
]


@dataclass
class Example:
    """A table of overlapping classes, and a compact tree of several rules on it."""

    X: Floats
    y: NDArray[Any]
    clf: FERLClassifier

    def refit(self, **options: Any) -> RefitResult:
        return refit_partition(self.clf, self.X, self.y, **options)


def make_example(seed: int, **parameters: Any) -> Example:
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 3
    y = rng.integers(n_classes, size=200)
    X = rng.normal(y[:, None] * rng.normal(size=4), 1.0)
    X[:, 2] = X[:, 2].round()  # many rows on the breakpoints
    clf = FERLTreeClassifier(
        "compact",
        criterion="consistent",
        **{"min_gain": 0.0, "min_rule_worth": 0.0, "random_state": seed, **parameters},
    )
    return Example(X, np.array(list("abcd"))[y], clf.fit(X, np.array(list("abcd"))[y]))


def library_loss(clf: FERLClassifier, X: Floats, y: NDArray[Any], weight: Floats | None = None) -> float:
    """Cross-entropy of ``predict_proba`` with the gates open."""
    opened = clf.reading(support_gate=False)
    probability = opened.predict_proba(X)[np.arange(len(X)), np.searchsorted(clf.classes_, y)]
    return -float(np.average(np.log(np.maximum(probability, 1e-12)), weights=weight))


def class_weights(example: Example) -> Floats | None:
    if example.clf.class_weight is None:
        return None
    _, code, count = np.unique(example.y, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[code])


def loss_of(example: Example) -> tuple[RefitLoss, RampTable, Floats]:
    """The loss, the ramps, and where they are in ranges of their features."""
    codes = np.searchsorted(example.clf.classes_, example.y).astype(np.int32)
    weight = np.ones(len(codes)) if example.clf.class_weight is None else class_weights(example)
    assert weight is not None
    rows = RefitRows(example.X, codes, weight)
    table = read_ramps(example.clf.tree_, example.clf.words_, np.ones(example.X.shape[1], dtype=bool))
    low, width = rows.low[table.feature][:, None], rows.width[table.feature][:, None]
    model = example.clf.model_
    believed = np.where(model.is_source, model.reliability, 0.0)
    return RefitLoss(model.tree, table, rows, believed), table, (table.ends - low) / width


def used_variables(result: RefitResult) -> list[LinguisticVariable]:
    found = [result.partition[j] for j in np.unique(result.tree.feature[1:])]
    assert all(variable is not None for variable in found)
    return [variable for variable in found if variable is not None]


# ---------------------------------------------------------------------------------------------------------------------
# The loss
# ---------------------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_loss_is_the_librarys_cross_entropy(seed: int, setting: dict[str, Any]) -> None:
    example = make_example(seed, **setting)
    expected = library_loss(example.clf, example.X, example.y, class_weights(example))
    assert example.refit(max_iter=0).cross_entropy_before == pytest.approx(expected, rel=1e-10)


@SEEDS
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_gradient_agrees_with_finite_differences(seed: int, setting: dict[str, Any]) -> None:
    loss, table, ends = loss_of(make_example(seed, **setting))
    rng, step = np.random.default_rng(seed), 1e-7
    bounds = movement_bounds(table, ends)
    # Inside the bounds and off the rows: there the loss is smooth.
    place = (bounds[..., 0] + rng.uniform(0.1, 0.9, ends.shape) * (bounds[..., 1] - bounds[..., 0])).ravel()
    numeric = [(loss(place + move)[0] - loss(place - move)[0]) / (2 * step) for move in step * np.eye(len(place))]
    assert len(place) > 0
    np.testing.assert_allclose(loss(place)[1], numeric, rtol=1e-5, atol=1e-6)


@SEEDS
def test_at_a_kink_the_gradient_is_the_steeper_descent(seed: int) -> None:
    loss, _, ends = loss_of(make_example(seed))  # breakpoints are values of the table
    place, step = ends.ravel(), 1e-8
    here, gradient = loss(place)
    for k, move in enumerate(step * np.eye(len(place))):
        down, up = (here - loss(place - move)[0]) / step, (loss(place + move)[0] - here) / step
        expected = min(-max(down, 0.0), min(up, 0.0))
        assert -abs(gradient[k]) == pytest.approx(expected, abs=1e-5)
        assert gradient[k] == pytest.approx(down, abs=1e-5) or gradient[k] == pytest.approx(min(up, 0.0), abs=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# What moves and what stays
# ---------------------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_refit_lowers_the_cross_entropy_and_says_by_how_much(seed: int, setting: dict[str, Any]) -> None:
    example = make_example(seed, **setting)
    weight, before = class_weights(example), library_loss(example.clf, example.X, example.y, class_weights(example))
    result = example.refit(max_iter=30)
    assert result.cross_entropy_after <= result.cross_entropy_before == pytest.approx(before, rel=1e-10)
    example.clf.model_ = result.estimator.model_
    # A discount believes the nodes by their weights, which are those of the moved words now.
    rel = 0.02 if "discount" in setting else 1e-6
    assert library_loss(example.clf, example.X, example.y, weight) == pytest.approx(result.cross_entropy_after, rel=rel)
    assert 0 < result.n_iterations <= 30


@SEEDS
@pytest.mark.parametrize("n_sets", [2, 3, 5])
def test_words_order_and_shared_ramps_are_kept(seed: int, n_sets: int) -> None:
    example = make_example(seed, n_sets=n_sets)
    result = example.refit()
    for old, new in zip(example.clf.words_, result.partition, strict=True):
        assert (old.name, old.unit, old.range) == (new.name, new.unit, new.range)
        assert [one.name for one in old.sets] == [one.name for one in new.sets]
        assert all(low.c < low.d and (low.c, low.d) == (high.a, high.b) for low, high in pairwise(new.sets))
        column = example.X[:, int(old.name[1:])]
        assert new.sets[0].membership(column.min()) == 1
        assert new.sets[-1].membership(column.max()) == 1
    assert {variable.name for variable in example.clf.words_} == {one.name for one in result.partition if one}


@SEEDS
def test_rules_consequents_and_the_estimator_stay(seed: int) -> None:
    example = make_example(seed)
    old, trapezoid = example.clf.tree_, example.clf.tree_.trapezoid.copy()
    new = example.refit().tree
    for name in ("parent", "feature", "consequent", "gain"):
        np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
    # Supports are those of the moved words.
    np.testing.assert_allclose(new.weight, new.fire(example.X, gated=False).sum(axis=0), rtol=1e-9)
    assert old.word == new.word
    assert example.clf.tree_ is old
    np.testing.assert_array_equal(old.trapezoid, trapezoid)


@SEEDS
def test_every_rule_uses_the_moved_set_and_complements_stay_complements(seed: int) -> None:
    result = make_example(seed).refit()
    tree = result.tree
    for node in range(1, tree.n_nodes):
        variable = result.partition[tree.feature[node]]
        assert variable is not None
        word = tree.word[node]
        expected = variable.complement(word[4:]) if word.startswith("not ") else variable[word]
        assert tuple(tree.trapezoid[node]) == expected.ends


def test_complements_are_among_the_examples() -> None:
    assert any(word.startswith("not ") for seed in range(4) for word in make_example(seed).clf.tree_.word)


@SEEDS
def test_features_without_rules_do_not_move(seed: int) -> None:
    example = make_example(seed, max_rules=1, max_depth=2)
    result = example.refit()
    unused = set(range(4)) - set(example.clf.tree_.feature.tolist())
    assert unused
    assert all(result.partition[j] == example.clf.words_[j] for j in unused)


@SEEDS
def test_no_steps_change_nothing(seed: int) -> None:
    example = make_example(seed)
    result = example.refit(max_iter=0)
    assert result.partition == example.clf.words_
    np.testing.assert_array_equal(result.tree.trapezoid, example.clf.tree_.trapezoid)
    np.testing.assert_array_equal(result.tree.support, example.clf.tree_.support)
    assert (result.drift, result.n_iterations, result.converged) == (0.0, 0, False)
    assert result.cross_entropy_after == result.cross_entropy_before


@SEEDS
def test_a_second_refit_gains_little(seed: int) -> None:
    example = make_example(seed)
    first = example.refit(max_iter=1000)
    example.clf.model_ = first.estimator.model_
    again = example.refit()
    assert first.converged
    # The loss has creases, along which a descent can be stuck a little early.
    gained = first.cross_entropy_before - first.cross_entropy_after
    assert again.cross_entropy_before - again.cross_entropy_after < 0.3 * gained


def test_the_best_cut_is_found() -> None:
    X = np.linspace(0, 1, 101)[:, None]
    y = (X[:, 0] > 0.62).astype(int)
    words = [LinguisticVariable("x0", (FuzzySet.falling("low", 0.3, 0.8), FuzzySet.rising("high", 0.3, 0.8)))]
    clf = tree_classifier("compact", words=words, consequents="raw").fit(X, y)
    result = refit_partition(clf, X, y)
    low = used_variables(result)[0]["low"]
    assert 0.5 < low.c < 0.625 < low.d < 0.75
    assert result.drift == pytest.approx((abs(low.c - 0.3) + abs(low.d - 0.8)) / 2)


def test_the_gates_follow_the_words() -> None:
    example = make_example(1)
    tree = example.refit().tree
    firing = tree.fire(example.X, gated=False)
    for node in range(1, tree.n_nodes):
        reached = example.X[firing[:, tree.parent[node]] > 1e-6, tree.feature[node]]
        assert tuple(tree.support[node]) == (reached.min(), reached.max())


def test_a_weight_of_two_is_the_row_twice() -> None:
    example = make_example(2)
    weight = np.where(np.arange(200) < 50, 2.0, np.where(np.arange(200) < 60, 0.0, 1.0))
    rows = np.repeat(np.arange(200), weight.astype(int))
    weighted = example.refit(sample_weight=weight)
    repeated = refit_partition(example.clf, example.X[rows], example.y[rows])
    assert weighted.cross_entropy_before == pytest.approx(repeated.cross_entropy_before)
    assert weighted.cross_entropy_after == pytest.approx(repeated.cross_entropy_after, rel=1e-3)


def test_the_scale_of_a_feature_does_not_matter() -> None:
    example = make_example(3)
    scaled = example.X * [1e-100, 1e100, 8.0, 1.0]
    clf = FERLTreeClassifier(**example.clf.get_params()).fit(scaled, example.y)
    there, here = refit_partition(clf, scaled, example.y), example.refit()
    assert there.cross_entropy_after == pytest.approx(here.cross_entropy_after, rel=1e-2)
    assert there.drift == pytest.approx(here.drift, rel=0.5)


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be refitted
# ---------------------------------------------------------------------------------------------------------------------


def categories(name: str) -> LinguisticVariable:
    return LinguisticVariable(name, [FuzzySet.crisp("no", 0), FuzzySet.crisp("yes", 1)])  # type: ignore[arg-type]


def expert_example(variable: LinguisticVariable, only: bool) -> tuple[FERLClassifier, Floats, NDArray[np.int64]]:
    """Two features that tell as much: one with the given words, one with ramps."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(2, size=120), rng.uniform(size=120)]).astype(float)
    y = ((X[:, 0] == 1) & (X[:, 1] > 0.35)).astype(int)
    ramps = LinguisticVariable("x1", (FuzzySet.falling("low", 0.1, 0.4), FuzzySet.rising("high", 0.1, 0.4)))
    words = [variable] if only else [variable, ramps]
    clf = tree_classifier("compact", words=words, min_gain=0.0, min_rule_worth=0.0).fit(X, y)
    return clf, X, y


OVERLAP = LinguisticVariable("x0", (FuzzySet.falling("no", 0.2, 0.9), FuzzySet.rising("yes", 0.1, 0.8)))
STEP = LinguisticVariable("x0", (FuzzySet.falling("no", 0.5), FuzzySet.rising("yes", 0.5)))


@pytest.mark.parametrize("variable", [categories("x0"), OVERLAP, STEP], ids=["categories", "overlap", "step"])
def test_sets_that_share_no_ramps_stay_and_are_named(variable: LinguisticVariable) -> None:
    clf, X, y = expert_example(variable, only=False)
    result = refit_partition(clf, X, y)
    assert set(clf.tree_.feature[1:]) == {0, 1}
    assert result.fixed == ("x0",)
    assert result.partition[0] == variable
    assert result.partition[1] != clf.words_[1]
    assert result.cross_entropy_after < result.cross_entropy_before
    assert result.cross_entropy_before == pytest.approx(
        -np.mean(np.log(clf.reading(support_gate=False).predict_proba(X)[np.arange(len(y)), y]))
    )


def test_nothing_to_move_is_no_error() -> None:
    clf, X, y = expert_example(categories("x0"), only=True)
    result = refit_partition(clf, X, y)
    assert (result.drift, result.n_iterations, result.converged, result.fixed) == (0.0, 0, True, ("x0",))
    assert result.partition == clf.words_


def test_a_tree_without_rules_stays_as_it_is() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    clf = tree_classifier("compact", min_gain=1e9).fit(X, y)
    result = refit_partition(clf, X, y)
    assert result.tree.n_nodes == 1
    assert (result.drift, result.fixed) == (0.0, ())
    assert result.cross_entropy_after == pytest.approx(np.log(2))


def test_a_feature_without_range_in_the_rows_stays() -> None:
    example = make_example(0)
    X = example.X.copy()
    X[:, 0] = 1.0
    X[:, 1] = 1e20 + 1e6 * X[:, 1]  # too far away for a number to divide its range
    result = refit_partition(example.clf, X, example.y)
    assert {"x0", "x1"} & set(result.fixed) == {"x0", "x1"} & {f"x{j}" for j in example.clf.tree_.feature[1:]}
    assert result.partition[:2] == example.clf.words_[:2]


def test_mistakes_are_named() -> None:
    example = make_example(0)
    X, y, clf = example.X, example.y, example.clf
    with pytest.raises(NotFittedError):
        refit_partition(FERLTreeClassifier("compact", criterion="consistent"), X, y)
    with pytest.raises(ValueError, match=r"is a deep tree, which learns its own splits.*FERLTreeClassifier"):
        refit_partition(FERLTreeClassifier("deep").fit(X, y), X, y)
    with pytest.raises(ValueError, match="X has 3 features, but FERLTreeClassifier is expecting 4"):
        refit_partition(clf, X[:, :3], y)
    with pytest.raises(ValueError, match="X has 200 rows and y 199 labels"):
        refit_partition(clf, X, y[1:])
    with pytest.raises(ValueError, match="y holds the label 'z'; the estimator was fitted on"):
        refit_partition(clf, X, np.where(np.arange(200) == 7, "z", y))
    with pytest.raises(ValueError, match="needs one label per row"):
        refit_partition(clf, X, y[:, None])
    with pytest.raises(ValueError, match="combination is 'vote'; words can be refitted for Dempster's rule only"):
        refit_partition(tree_classifier("compact", combination="vote").fit(X, y), X, y)
    for max_iter in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"max_iter is .*; it must be an int of at least 0"):
            refit_partition(clf, X, y, max_iter=max_iter)  # type: ignore[arg-type]
