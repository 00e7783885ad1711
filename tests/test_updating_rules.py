"""partial_fit of rules: the conditions stay, the weights of evidence go on."""

from __future__ import annotations

import json
import pickle
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ferl import FERLClassifier, ModelFileError, load_model, save_model
from ferl._learn.rows import Block
from ferl._learn.update_rules import RIDGE, ScoredRows, stacked, with_learned_weights
from ferl._models.rule_model import RuleModel
from ferl.editing import edit
from law_examples import Table, assert_identical
from update_examples import with_gaps, world

Floats = NDArray[np.float64]


def world_of_three(rng: np.random.Generator, n: int) -> Table:
    """Five features, three classes that overlap."""
    X = rng.normal(size=(n, 5))
    score = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], 1.5 * X[:, 3] - 0.5, np.abs(X[:, 4]) - 1])
    return X, (score + 0.7 * rng.gumbel(size=score.shape)).argmax(axis=1)


WORLDS = {2: world, 3: world_of_three}


@lru_cache
def begun_bytes(n_classes: int, **options: Any) -> bytes:
    rng = np.random.default_rng(0)
    X, y = WORLDS[n_classes](rng, 300)
    return pickle.dumps(FERLClassifier(random_state=0, **options).partial_fit(with_gaps(X, 0, 0.05), y))


def begun(n_classes: int, **options: Any) -> FERLClassifier:
    """A model that has learned from one block, nobody else's."""
    model: FERLClassifier = pickle.loads(begun_bytes(n_classes, **options))
    return model


def assert_same_model(one: RuleModel, two: RuleModel) -> None:
    assert_identical(one.tree, two.tree)
    for name in ("rules.node", "rules.weight", "rules.ridge", "prior", "ranges"):
        np.testing.assert_array_equal(attrgetter(name)(one), attrgetter(name)(two), err_msg=name)
    assert (one.curvature is None) == (two.curvature is None)
    if one.curvature is not None and two.curvature is not None:
        np.testing.assert_array_equal(one.curvature.rules, two.curvature.rules)
        np.testing.assert_array_equal(one.curvature.classes, two.curvature.classes)


# ---------------------------------------------------------------------------------------------------------------------
# The weights
# ---------------------------------------------------------------------------------------------------------------------


def objective(before: RuleModel, X: Floats, codes: NDArray[Any], at: Floats) -> float:
    """Loss of a block, and the parabola around the weights before, by the definition."""
    anchor, known = stacked(before), before.curvature
    assert known is not None
    n_classes = anchor.shape[1]
    score = ScoredRows.by(before, X).firing @ at
    loss = np.log(np.exp(score).sum(axis=1)) - score[np.arange(len(X)), codes]
    moved = at - anchor
    classes = known.classes * (n_classes - 1) / np.trace(known.classes)
    parabola = np.einsum("jc,jk,kd,cd->", moved, known.rules, moved, classes)
    return float(loss.sum() + parabola / 2 + RIDGE / 2 * (moved**2).sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_the_minimum_of_loss_and_parabola(n_classes: int) -> None:
    model = begun(n_classes)
    before = model.model_
    X, y = WORLDS[n_classes](np.random.default_rng(1), 200)
    after = model.partial_fit(X, y).model_
    found = stacked(after)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    least = objective(before, X, y, found)
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1):
        step = rng.normal(size=found.shape) * size
        step -= step.mean(axis=1, keepdims=True)
        assert objective(before, X, y, found + step) > least
    shape = found.shape

    def value(flat: Floats) -> float:
        at = flat.reshape(shape)
        return objective(before, X, y, at - at.mean(axis=1, keepdims=True))

    other = minimize(value, found.ravel(), method="L-BFGS-B", options={"maxiter": 5})
    assert least <= other.fun + 1e-6


def test_curvature_is_that_of_all_rows() -> None:
    model = begun(3)
    first = model.model_.curvature
    X, y = world_of_three(np.random.default_rng(1), 200)
    model.partial_fit(X, y)
    second = model.model_.curvature
    assert first is not None
    assert second is not None
    p, firing = model.reading(support_gate=False).predict_proba(X), ScoredRows.by(model.model_, X).firing
    spread = (p * (1 - p)).sum(axis=1) / 2
    np.testing.assert_allclose(second.rules - first.rules, np.einsum("ij,i,ik->jk", firing, spread, firing), atol=1e-9)
    covariance = np.einsum("ic,cd->cd", p, np.eye(3)) - p.T @ p
    np.testing.assert_allclose(second.classes - first.classes, covariance, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ten_blocks_are_nearly_as_good_as_all_rows_at_once(n_classes: int) -> None:
    """With the same rules; the page has the figures."""
    rng = np.random.default_rng(0)
    blocks = [WORLDS[n_classes](rng, 300) for _ in range(10)]
    X, y = np.vstack([own for own, _ in blocks]), np.concatenate([own for _, own in blocks])
    A, a = WORLDS[n_classes](rng, 8000)
    model = FERLClassifier(random_state=0).partial_fit(*blocks[0])
    first = log_loss(a, model.predict_proba(A))
    for block in blocks[1:]:
        model.partial_fit(*block)
    last = log_loss(a, model.predict_proba(A))
    rules = ScoredRows.by(model.model_, X).firing[:, 1:], ScoredRows.by(model.model_, A).firing[:, 1:]
    refit = log_loss(a, LogisticRegression(C=1.0, max_iter=5000).fit(rules[0], y).predict_proba(rules[1]))
    assert last < first - 0.01
    assert abs(last - refit) < 0.005
    assert model.tree_.weight[0] == 3000


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_order_of_rows_and_rows_of_no_weight_change_no_bit(n_classes: int) -> None:
    one, two = begun(n_classes), begun(n_classes)
    X, y = WORLDS[n_classes](np.random.default_rng(1), 201)
    X = with_gaps(X, 1, 0.05)
    weight = np.random.default_rng(2).random(201) + 0.5
    weight[:50] = 0
    order = np.random.default_rng(3).permutation(201)
    one.partial_fit(X[50:], y[50:], sample_weight=weight[50:])
    two.partial_fit(X[order], y[order], sample_weight=weight[order])
    assert_same_model(one.model_, two.model_)
    assert one.drift_.z == pytest.approx(two.drift_.z)
    begun_again = FERLClassifier(random_state=0).partial_fit(X[order], y[order])
    assert_same_model(begun_again.model_, FERLClassifier(random_state=0).partial_fit(X, y).model_)


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    one, two = begun(3), begun(3)
    X, y = world_of_three(np.random.default_rng(1), 200)
    twice = np.random.default_rng(2).random(200) < 0.5
    one.partial_fit(X, y, sample_weight=1.0 + twice)
    two.partial_fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    assert_same_model(one.model_, two.model_)


def test_a_first_block_is_a_fit_that_keeps_its_curvature() -> None:
    X, y = world(np.random.default_rng(0), 300)
    weight = np.linspace(0.1, 1, 300)
    fitted = FERLClassifier(random_state=0).fit(X, y, weight)
    first = FERLClassifier(random_state=0).partial_fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(fitted.predict_proba(X), first.predict_proba(X))
    assert fitted.model_.curvature is None
    known = first.model_.curvature
    assert known is not None
    p = first.predict_proba(X)
    scaled = weight * 300 / weight.sum()
    assert known.rules[0, 0] == pytest.approx(scaled @ (2 * p[:, 0] * p[:, 1]))


def test_a_model_that_was_fitted_goes_on_from_the_rows_it_keeps() -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 400)
    block = world(rng, 300)
    fitted = FERLClassifier(random_state=0).fit(X, y)
    first = FERLClassifier(random_state=0).partial_fit(X, y)
    assert len(fitted.model_.neighbours.rows) == 400  # it keeps them all, so both know as much
    fitted.partial_fit(*block)
    first.partial_fit(*block)
    np.testing.assert_allclose(fitted.predict_proba(X), first.predict_proba(X), atol=1e-6)
    forgetful = FERLClassifier(n_exemplars=0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Begin with partial_fit, .* or fit with n_exemplars > 0"):
        forgetful.partial_fit(*block)
    begun_so = FERLClassifier(n_exemplars=0, random_state=0).partial_fit(X, y).partial_fit(*block)
    assert len(begun_so.tree_.profile.exemplar_row) == 0
    np.testing.assert_array_equal(begun_so.predict_proba(X), first.predict_proba(X))


# ---------------------------------------------------------------------------------------------------------------------
# All the rest
# ---------------------------------------------------------------------------------------------------------------------


def test_conditions_stay_and_ranges_widen() -> None:
    model = begun(2)
    old, seen = model.tree_, model.model_.ranges
    X, y = world(np.random.default_rng(1), 300)
    far = 3 * X
    withheld = model.support_deficit(far).sum()
    model.partial_fit(far, y)
    for name in ("parent", "feature", "trapezoid", "share"):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(old, name), err_msg=name)
    now = model.model_.ranges
    np.testing.assert_array_equal(now[:, 0], np.minimum(seen[:, 0], far.min(axis=0)))
    np.testing.assert_array_equal(now[:, 1], np.maximum(seen[:, 1], far.max(axis=0)))
    assert withheld > 0
    assert model.support_deficit(far).sum() == 0
    assert model.drift_.support > 0
    firing = model.tree_.fire(far, gated=False)
    np.testing.assert_allclose(model.tree_.class_weight - old.class_weight, firing.T @ np.eye(2)[y], atol=1e-9)


def test_kept_rows_cover_both_blocks() -> None:
    rng = np.random.default_rng(0)
    X, y = world(rng, 300)
    model = FERLClassifier(n_exemplars=50, random_state=0).partial_fit(X, y)
    B, b = world(rng, 300)
    B[:, 3] += 20
    before = model.novelty(B).mean()
    model.partial_fit(B, b)
    kept = {row.tobytes() for row in model.model_.neighbours.rows}
    assert len(kept) == 50
    assert kept & {row.tobytes() for row in X}
    assert kept & {row.tobytes() for row in B}
    assert model.novelty(B).mean() < before / 2
    assert (model.tree_.profile.exemplar[1:] == -1).all()


def test_mixed_tables_with_gaps_and_new_categories() -> None:
    rng = np.random.default_rng(1)

    def people(n: int, cities: list[str]) -> tuple[pd.DataFrame, NDArray[Any]]:
        x, city = rng.normal(size=n), rng.choice(cities, n)
        y = np.where(x + 2 * (city == "Rome") + rng.normal(scale=0.5, size=n) > 0.5, "yes", "no")
        gap = rng.random((2, n)) < 0.15
        return pd.DataFrame({"x": np.where(gap[0], np.nan, x), "city": np.where(gap[1], None, city)}), y

    A, B = people(400, ["Oslo", "Rome", "Bergen"]), people(300, ["Oslo", "Rome", "Atlantis"])
    for options in ({}, {"missing_conditions": True}, {"words": "triangles"}):
        model = FERLClassifier(random_state=0, **options).partial_fit(*A)
        before = log_loss(B[1], model.reading(support_gate=False).predict_proba(B[0]))
        model.partial_fit(*B)
        assert log_loss(B[1], model.reading(support_gate=False).predict_proba(B[0])) < before
        assert np.nanmax(model.tree_.profile.exemplar_row[:, 1]) <= 2  # a new category is not kept
        assert np.isfinite(model.novelty(B[0])).all()
        assert str(model.explain(B[0].iloc[0]))


def test_labels_to_come_are_learned_when_they_come() -> None:
    rng = np.random.default_rng(0)
    X, y = world_of_three(rng, 600)
    early = y < 2
    model = FERLClassifier(random_state=0).partial_fit(X[early], y[early], classes=[0, 1, 2])
    assert model.predict_proba(X)[:, 2].max() < 0.05
    for _ in range(3):
        model.partial_fit(*world_of_three(rng, 300))
    A, a = world_of_three(rng, 2000)
    p = model.predict_proba(A)
    assert p[:, 2].mean() == pytest.approx((a == 2).mean(), abs=0.05)
    assert p[a == 2, 2].mean() > p[a != 2, 2].mean() + 0.05


def test_a_monotone_constraint_still_holds() -> None:
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"monotonic_cst": [1, 0, -1, 0, 0], "support_gate": False, "random_state": 0}
    model = FERLClassifier(**options).partial_fit(*world(rng, 400))
    free = FERLClassifier(random_state=0, support_gate=False).fit(*world(rng, 400))
    block = world(rng, 400, flipped=0.8)
    model.partial_fit(*block)
    after = model.model_
    rows = np.repeat(rng.normal(size=(40, 5)), 60, axis=0)
    for own, column, sign in ((model, 0, 1), (model, 2, -1), (free, 0, 1)):
        if own is free:  # a constraint that is new binds as well
            own.set_params(monotonic_cst=[1, 0, 0, 0, 0]).partial_fit(*block)
        moved = rows.copy()
        moved[:, column] = np.tile(np.linspace(-4, 4, 60), 40)
        score = own.predict_proba(moved)[:, 1].reshape(40, 60)
        assert (sign * np.diff(score, axis=1)).min() > -1e-12
    np.testing.assert_allclose(after.rules.weight.sum(axis=1), 0, atol=1e-12)


def test_bounds_that_do_not_bind_change_nothing() -> None:
    model = begun(2).model_
    X, y = world(np.random.default_rng(1), 200)
    block = Block(X, y.astype(np.int32), np.ones(200))
    free = with_learned_weights(model, block, None)
    bounded = with_learned_weights(model, block, np.zeros(5, dtype=np.int32))
    np.testing.assert_allclose(bounded.rules.weight, free.rules.weight, atol=1e-4)
    np.testing.assert_allclose(bounded.prior, free.prior, atol=1e-4)


# ---------------------------------------------------------------------------------------------------------------------
# Drift
# ---------------------------------------------------------------------------------------------------------------------


def test_drift_is_noise_without_and_rises_with_it() -> None:
    calm, turned, moved = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = world(rng, 600)
        begun_so = pickle.dumps(FERLClassifier(random_state=0).partial_fit(X, y))
        for found, shift in ((calm, {}), (turned, {"flipped": 0.5}), (moved, {"moved": 6.0})):
            found.append(pickle.loads(begun_so).partial_fit(*world(rng, 600, **shift)).drift_)
    assert all(abs(own.z) < 3 and own.routing < 3 * own.routing_noise and own.support < 0.05 for own in calm)
    assert all(own.z > 4 and own.routing < 3 * own.routing_noise for own in turned)
    assert all(own.routing > 3 * own.routing_noise and own.support > 0.1 for own in moved)


# ---------------------------------------------------------------------------------------------------------------------
# Files, and what is refused
# ---------------------------------------------------------------------------------------------------------------------


def test_a_saved_model_goes_on_as_the_one_in_memory(tmp_path: Any) -> None:
    model = begun(3)
    block = world_of_three(np.random.default_rng(1), 200)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert_same_model(loaded.model_, model.model_)
    assert_same_model(model.partial_fit(*block).model_, loaded.partial_fit(*block).model_)
    save_model(model, tmp_path / "model.json")
    assert_same_model(load_model(tmp_path / "model.json").model_, model.model_)
    assert_same_model(pickle.loads(pickle.dumps(model)).model_, model.model_)
    save_model(FERLClassifier(random_state=0).fit(*block), tmp_path / "model.json")
    assert "curvature" not in json.loads((tmp_path / "model.json").read_text())["weights"]


@pytest.mark.parametrize(
    ("key", "row", "column", "value", "message"),
    [
        ("rules", 0, 0, "nan", r"curvature\.rules"),
        ("rules", 0, 1, 1.5, r"curvature\.rules: it must be symmetric"),
        ("rules", 1, 1, -1.0, r"curvature\.rules: it has the eigenvalue"),
        ("rules", 0, 0, 1e-9, r"curvature\.rules: it has the eigenvalue"),
        ("classes", 0, 0, 1e6, r"curvature\.classes: row 0 sums to"),
    ],
)
def test_a_file_with_an_impossible_curvature_is_refused(
    tmp_path: Any, key: str, row: int, column: int, value: Any, message: str
) -> None:
    save_model(begun(2), tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text())
    form["weights"]["curvature"][key][row][column] = value
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(20, 7)}, r"y holds 7, which is not among the classes 0, 1.*fit anew"),
        ({"X": np.zeros((20, 4))}, "4 features"),
        ({"X": np.full((20, 5), 1e200)}, "magnitude"),
        ({"sample_weight": np.zeros(20)}, "All sample weights are zero"),
    ],
)
def test_what_is_refused_leaves_the_model_as_it_was(change: dict[str, Any], message: str) -> None:
    model = begun(2)
    X, y = world(np.random.default_rng(1), 20)
    model.partial_fit(X, y)
    state = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(**({"X": X, "y": y} | change))
    assert pickle.dumps(model) == state


def test_rules_that_were_changed_by_hand_do_not_go_on() -> None:
    edited = edit(begun(2)).drop(1)
    with pytest.raises(ValueError, match=r"changed by hand .* Learn first and edit then"):
        edited.partial_fit(*world(np.random.default_rng(1), 20))


def test_one_row_one_class_and_rows_without_noise() -> None:
    model = begun(3)
    X, y = world_of_three(np.random.default_rng(1), 50)
    model.partial_fit(X[:1], y[:1])
    before = model.predict_proba(X)[:, 1].mean()
    model.partial_fit(X, np.ones(50, dtype=int))
    assert model.predict_proba(X)[:, 1].mean() > before
    lone = FERLClassifier(random_state=0).partial_fit(X, np.zeros(50, dtype=int))
    lone.partial_fit(X, np.zeros(50, dtype=int))
    assert (lone.predict_proba(X) == 1).all()
    crisp = FERLClassifier(random_state=0).partial_fit(X, X[:, 0] > 0)
    for _ in range(5):
        crisp.partial_fit(X, X[:, 0] > 0)
    assert np.abs(crisp.model_.rules.weight).max() < 100
