"""Laws of the evidence of rules: how many training rows an answer rests on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from ferl import FERLClassifier, load_model, save_model
from ferl.editing import edit
from ferl.streaming import fit_parquet

LEVELS = (0.1, 0.5, 2 / 3, 0.9, 0.99, 1.0)


def mixed_table(n: int, n_classes: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a category, missing values, and labels that depend on all of them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    kind = random.choice(list("abcd"), p=[0.6, 0.3, 0.08, 0.02], size=n)
    shift = random.normal(size=(4, n_classes))
    score = X[:, :3] @ random.normal(size=(3, n_classes)) + shift[np.searchsorted(list("abcd"), kind)]
    y = np.array([random.choice(n_classes, p=own) for own in np.exp(score) / np.exp(score).sum(1, keepdims=True)])
    X[random.random(X.shape) < 0.05] = np.nan
    return pd.DataFrame(X, columns=["x", "y", "z", "noise"]).assign(kind=kind), y


TWO, THREE, EIGHT = (mixed_table(700, k, k) for k in (2, 3, 8))


def sine_table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    X = random.uniform(-3, 3, size=(4000, 2))
    return X, (random.random(4000) < 0.5 + 0.45 * np.sin(8 * X[:, 0])).astype(int)  # too fast for rules


SINE = sine_table()
WEIGHT = np.random.default_rng(0).integers(1, 4, 700).astype(float)


def rules(**parameters: Any) -> FERLClassifier:
    return FERLClassifier(random_state=0, **parameters)


def in_blocks(n: int) -> FERLClassifier:
    X, y = TWO
    return rules().partial_fit(X[:n], y[:n]).partial_fit(X[n:], y[n:])


MODELS = {
    "two classes": lambda: (rules().fit(*TWO), TWO[0]),
    "three classes": lambda: (rules().fit(*THREE), THREE[0]),
    "eight classes": lambda: (rules().fit(*EIGHT), EIGHT[0]),
    "weights": lambda: (rules(class_weight="balanced").fit(*THREE, sample_weight=WEIGHT), THREE[0]),
    "words": lambda: (rules(words=True).fit(*TWO), TWO[0]),
    "no kept rows": lambda: (rules(n_exemplars=0).fit(*TWO), TWO[0]),
    "no gates": lambda: (rules(support_gate=False).fit(*TWO), TWO[0]),
    "monotone": lambda: (rules(monotonic_cst={"x": 1}).fit(*TWO), TWO[0]),
    "missing": lambda: (rules(missing_conditions=True).fit(*THREE), THREE[0]),
    "edited": lambda: (edit(rules().fit(*TWO)).drop(1, keep_average=True).forbid("kind"), TWO[0]),
    "curves": lambda: (rules().fit(*SINE), SINE[0]),
    "all at once": lambda: (
        edit(
            rules(
                words=True,
                monotonic_cst={"x": 1},
                missing_conditions=True,
                class_weight="balanced",
                support_gate=True,
            ).fit(*TWO, sample_weight=WEIGHT)
        ).drop(1, keep_average=True),
        TWO[0],
    ),
    "one class": lambda: (rules().fit(TWO[0], np.zeros(700)), TWO[0]),
    "updated": lambda: (
        rules().partial_fit(TWO[0][:400], TWO[1][:400]).partial_fit(TWO[0][400:], TWO[1][400:]),
        TWO[0],
    ),
}


@pytest.fixture(scope="module", params=list(MODELS))
def asked(request: pytest.FixtureRequest) -> tuple[FERLClassifier, Any]:
    """A model, and rows inside and far outside its training range."""
    model, rows = MODELS[request.param]()
    numbers = [column for column in rows if column != "kind"] if isinstance(rows, pd.DataFrame) else slice(None)
    far = rows.copy()
    if isinstance(far, pd.DataFrame):
        far[numbers] = far[numbers] * np.geomspace(1, 1e6, len(far))[:, None]
        return model, pd.concat([rows, far], ignore_index=True)
    return model, np.vstack([rows, rows * np.geomspace(1, 1e6, len(rows))[:, None]])


def test_masses_sum_to_one_and_enclose_the_probability(asked: tuple[FERLClassifier, Any]) -> None:
    model, rows = asked
    e = model.predict_evidence(rows)
    np.testing.assert_array_equal(e.probability, model.predict_proba(rows))
    np.testing.assert_allclose(e.belief.sum(axis=1) + e.ignorance, 1.0, rtol=0, atol=1e-12)
    assert (e.belief >= 0).all()
    assert (e.belief <= e.probability).all()
    assert (e.probability <= e.plausibility).all()
    assert ((e.ignorance >= 0) & (e.ignorance <= 1) & (e.conflict >= 0) & (e.conflict <= 1)).all()
    assert (e.rows >= 0).all()
    assert np.isfinite(e.rows).all()


def test_sets_are_nested_in_the_level_and_hold_the_label(asked: tuple[FERLClassifier, Any]) -> None:
    model, rows = asked
    e = model.predict_evidence(rows)
    sets = [e.prediction_set(level) for level in LEVELS]
    for smaller, larger in itertools.pairwise(sets):
        assert (larger | ~smaller).all()
    label = e.probability.argmax(axis=1)
    assert all(own[np.arange(len(label)), label].all() for own in sets)
    believed = np.where(sets[2], e.belief, 0.0).sum(axis=1)
    assert ((believed >= 2 / 3 - 1e-9) | sets[2].all(axis=1)).all()
    # Without its least probable classes a set does not reach the level.
    least = np.where(sets[2], e.probability, 2.0).min(axis=1, keepdims=True)
    fewer = np.where(e.probability > least, e.belief, 0.0).sum(axis=1)
    assert (fewer < 2 / 3).all()


def test_evidence_is_vacuous_exactly_where_no_support_is_left(asked: tuple[FERLClassifier, Any]) -> None:
    model, rows = asked
    e = model.predict_evidence(rows)
    if len(model.classes_) == 1:
        assert (e.ignorance == 0).all()
        return
    support = model.model_.supports(model._rows(rows)).prod(axis=1)
    np.testing.assert_array_equal(e.ignorance == 1, support == 0)
    np.testing.assert_array_equal(e.rows == 0, support == 0)
    vacuous = support == 0
    assert e.prediction_set()[vacuous].all()
    if not model.model_.level_columns:
        base = np.broadcast_to(model.model_.class_frequency, e.probability[vacuous].shape)
        np.testing.assert_allclose(e.probability[vacuous], base, rtol=1e-9)


def test_more_rows_of_the_same_kind_never_raise_ignorance(asked: tuple[FERLClassifier, Any]) -> None:
    model, rows = asked
    before, own = model.predict_evidence(rows), model.model_
    curves = None if own.curves is None else replace(own.curves, support=3 * own.curves.support)
    more = replace(
        own,
        rules=replace(own.rules, products=3 * own.rules.products),
        curves=curves,
        category_weight={column: 3 * weight for column, weight in own.category_weight.items()},
    )
    assert (more.evidence(model._rows(rows)).ignorance <= before.ignorance + 1e-15).all()


def test_threads_and_batches_change_no_bit(asked: tuple[FERLClassifier, Any]) -> None:
    model, rows = asked
    encoded = model._rows(rows)
    whole = model.model_.evidence(encoded, 1)
    threads = model.model_.evidence(encoded, 3)
    parts = [model.model_.evidence(encoded[first : first + 7]) for first in range(0, 70, 7)]
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, threads.arrays()[name])
        np.testing.assert_array_equal(array[:70], np.concatenate([part.arrays()[name] for part in parts]))


def test_files_keep_every_bit(asked: tuple[FERLClassifier, Any], tmp_path: Path) -> None:
    model, rows = asked
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").predict_evidence(rows)
    for name, array in model.predict_evidence(rows).arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"words": True},
        {"missing_conditions": True},
        {"monotonic_cst": {"x": 1}},
        {"class_weight": {0: 1, 1: 2, 2: 4}},
        {"words": True, "monotonic_cst": {"x": -1}, "missing_conditions": True, "class_weight": {0: 4, 1: 1, 2: 2}},
    ],
    ids=lambda options: "+".join(options) or "plain",
)
@pytest.mark.parametrize("table", [TWO, THREE], ids=["two classes", "three classes"])
def test_weight_2_is_the_row_twice(table: tuple[pd.DataFrame, np.ndarray], options: dict[str, Any]) -> None:
    X, y = table
    if "class_weight" in options:
        options = options | {"class_weight": {k: own for k, own in options["class_weight"].items() if k in y}}
    if "monotonic_cst" in options and y.max() > 1:
        pytest.skip("monotone constraints are for two classes")
    once = rules(**options).fit(X, y, sample_weight=WEIGHT).predict_evidence(X)
    index = np.repeat(np.arange(len(X)), WEIGHT.astype(int))
    again = rules(**options).fit(X.iloc[index], y[index]).predict_evidence(X)
    for name, array in once.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])


def test_evidence_is_continuous_in_numbers(asked: tuple[FERLClassifier, Any]) -> None:
    """Between two rows, and from a row to far outside: a step half as long moves the evidence half as far."""
    model, rows = asked
    if model.model_.curves is not None:
        pytest.skip("curves and maps are constant within their cells")
    encoded = model._rows(rows)
    numbers = [j for j in range(model.n_features_in_) if j not in model.model_.category_names]
    known = encoded[~np.isnan(encoded[:, numbers]).any(axis=1)]
    random = np.random.default_rng(0)
    for _ in range(6):
        start, end = known[random.choice(len(known) // 2, 2, replace=False)]
        path = np.repeat(start[None], 2, axis=0)
        path[1, numbers] = start[numbers] + random.choice([1.0, 3.0]) * (end[numbers] - start[numbers])
        jumps = []
        for n in (2000, 32000):
            along = path[0] + np.linspace(0, 1, n + 1)[:, None] * (path[1] - path[0])
            found = model.model_.evidence(along)
            jumps.append([np.abs(np.diff(own, axis=0)).max() for own in (found.belief, found.ignorance)])
        assert (np.array(jumps[1]) <= np.array(jumps[0]) / 8 + 1e-9).all()


def test_row_order_and_parquet_batches_change_no_bit(tmp_path: Path) -> None:
    X, y = TWO
    found = rules().fit(X, y).predict_evidence(X)
    order = np.random.default_rng(3).permutation(len(X))
    shuffled = rules().fit(X.iloc[order], y[order]).predict_evidence(X)
    pq.write_table(pa.Table.from_pandas(X.assign(label=y), preserve_index=False), tmp_path / "t.parquet")
    streamed = fit_parquet(tmp_path / "t.parquet", "label", estimator=rules(), batch_rows=64).predict_evidence(X)
    for name, array in found.arrays().items():
        np.testing.assert_array_equal(array, shuffled.arrays()[name])
        np.testing.assert_array_equal(array, streamed.arrays()[name])


def test_answers_from_many_rows_and_from_few_differ_in_ignorance_alone() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(3000, 2)), random.normal(size=(5, 2)) + 12])
    y = random.integers(2, size=len(X))
    y[-5:] = [0, 1, 0, 1, 1]
    e = rules().fit(X, y).predict_evidence([[0.0, 0.0], [12.0, 12.0]])
    assert np.abs(e.probability - 0.5).max() < 0.2
    assert e.rows[0] > 1000
    assert e.rows[1] < e.rows[0] / 5
    assert e.ignorance[1] > 5 * e.ignorance[0]


def test_thin_cells_of_curves_and_maps_have_few_rows_behind() -> None:
    model, X = rules().fit(*SINE), SINE[0]
    curves = model.model_.curves
    assert curves is not None
    support = curves.support[curves.cells_of(X)].min(axis=1)
    assert (model.predict_evidence(X).rows <= 1 + support).all()


def test_a_rare_category_has_few_rows_behind_it_whether_rules_name_it_or_not() -> None:
    X, y = TWO
    model = rules().fit(X, y)
    assert "kind" in [model.feature_names_in_[j] for j in model.model_.read_columns if j < 5]
    found, count = model.predict_evidence(X), X["kind"].map(X["kind"].value_counts()).to_numpy()
    assert (found.rows <= 1 + count).all()
    new = X.assign(kind="never seen")
    assert (model.predict_evidence(new).rows <= 1).all()


def test_later_blocks_are_behind_answers_as_well() -> None:
    X, y = TWO
    model = rules().partial_fit(X[:300], y[:300])
    before = model.model_.rules.products
    rows = model.predict_evidence(X).rows
    model.partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(model.model_.rules.products, in_blocks(300).model_.rules.products)
    assert model.model_.rules.products[0, 0] == before[0, 0] + 400
    assert np.median(model.predict_evidence(X).rows / rows) > 1.2


def test_a_dropped_rule_leaves_the_products_of_the_others() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = rules().fit(X, y)
    edited = edit(model).drop(2)
    kept = np.delete(np.arange(1 + model.n_rules_), 2)
    np.testing.assert_array_equal(edited.model_.rules.products, model.model_.rules.products[np.ix_(kept, kept)])


def test_fractions_of_weights_count_as_such() -> None:
    X, y = load_iris(return_X_y=True)
    halves = rules().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), sample_weight=np.tile([0.25, 1.75], len(X)))
    whole = rules().fit(X, y, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(halves.predict_evidence(X).rows, whole.predict_evidence(X).rows, rtol=1e-6)


@pytest.mark.parametrize("level", [0.0, -1.0, 1.1, np.nan, True, "high"])
def test_a_wrong_level_is_refused(level: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match="level is"):
        rules().fit(X, y).predict_evidence(X).prediction_set(level)
