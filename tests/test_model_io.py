"""Model files: round trips to the last bit, and a file of each version that must keep loading."""

from __future__ import annotations

import copy
import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import ferl
from ferl import FERLClassifier, FERLTreeClassifier, ModelFileError, load_model, save_model
from ferl._models.form import Numbers, Sizes
from ferl.saving import json_text
from ferl.words import FuzzySet, LinguisticVariable
from model_examples import DATA, INF, LAW, assert_same, fitted, mixed_table, round_trip

# ---------------------------------------------------------------------------------------------------------------------
# Round trips
# ---------------------------------------------------------------------------------------------------------------------


PARAMETERS = [
    {},
    {"missing_conditions": True, "combination": "vote"},
    {"n_exemplars": 0, "discount": 0.5, "combination": "cautious"},
    {"n_exemplars": 5, "ccp_alpha": 0.01, "sources": "all", "combination": "chain"},
    {"max_rules": 1},
]
PARAMETERS_OF_WIDE = [
    {},
    {"missing_conditions": True, "max_conditions": 2, "prune": 0.0},
    {"n_exemplars": 0, "support_gate": False, "max_rules": 1},
    {"n_exemplars": 5, "gate_margin": 0.3, "max_rules": 20},
    {"words": "quantile", "missing_conditions": True},
]


@pytest.mark.parametrize(
    ("variant", "parameters"),
    [
        *((variant, own) for variant in ("deep", "medium", "compact") for own in PARAMETERS),
        *(("rules", own) for own in PARAMETERS_OF_WIDE),
    ],
    ids=str,
)
def test_a_loaded_model_answers_to_the_same_bits(tmp_path, variant, parameters):
    model = fitted(variant, **parameters)
    loaded = round_trip(model, tmp_path)
    rows, _ = mixed_table(60)
    rows[0][1] = "never seen"
    assert_same(model, loaded, rows)
    assert_same(loaded, pickle.loads(pickle.dumps(loaded)), rows)
    refitted = clone(loaded).fit(*mixed_table())
    assert refitted.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()


@pytest.mark.parametrize("variant", ["deep", "rules"])
def test_all_arrays_come_back_bit_by_bit(tmp_path, variant):
    model = fitted(variant)
    tree, loaded = model.tree_, round_trip(model, tmp_path).tree_
    pairs = [(getattr(tree, name), getattr(loaded, name)) for name in vars(tree) if name[0] != "_"]
    pairs = [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    for part in ("profile", "categories", *(["cuts"] if tree.cuts is not None else [])):
        pairs += [(value, getattr(getattr(loaded, part), name)) for name, value in vars(getattr(tree, part)).items()]
    assert len(pairs) >= 15
    for expected, found in pairs:
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.flags.c_contiguous
        # NaNs are all alike: nothing reads their payload.
        assert np.where(np.isnan(found), 0, found).tobytes() == np.where(np.isnan(expected), 0, expected).tobytes()
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@LAW
@given(st.lists(st.floats()))
def test_numbers_are_written_exactly(numbers):
    array = np.array(numbers, dtype=np.float64)
    array[np.isnan(array)] = np.nan
    form = Numbers((None,), infinite=True, missing=True)
    text = json_text(form.write(array))
    assert form.read(json.loads(text), "numbers", Sizes(0)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 2]),
        np.array([-3, 0, 7], dtype=np.int8),
        np.array([0.5, 1.0, 2.0]).astype(str),
        np.array(["a", "é\n", ""], dtype=object),
        np.array([1.0, 2.0, 3.0], dtype=np.float32),
        np.array([False, True, True]),
        np.array([2**63, 1, 2], dtype=np.uint64),
    ],
    ids=str,
)
def test_labels_keep_their_kind(tmp_path, labels):
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("medium", random_state=0).fit(X, labels[y])
    loaded = round_trip(model, tmp_path)
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert list(map(type, loaded.classes_.tolist())) == list(map(type, model.classes_.tolist()))


@pytest.mark.parametrize("options", [{"class_weight": {0: 1, 1: 5, 2: 2.5}}, {"gate_margin": 5}, {"prune": 0}], ids=str)
def test_a_file_that_is_saved_again_is_the_same(options, tmp_path):
    X, y = load_iris(return_X_y=True)
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    save_model(FERLClassifier(random_state=0, **options).fit(X, y), paths[0])
    save_model(load_model(paths[0]), paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_parameters_that_json_has_no_type_for(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    words = [
        LinguisticVariable(name, [FuzzySet.falling("low", 3, 4), FuzzySet.rising("high", 3, 4.5)], "cm") for name in X
    ]
    model = FERLClassifier(
        words=words,
        class_weight={0: 2.0, 2: np.float64(0.5)},
        max_conditions=np.int64(2),
        random_state=np.random.RandomState(0),
        categorical_features=np.zeros(4, dtype=bool),
        max_rules=15,
        min_rule_worth=0.05,
    ).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.words == words
    assert loaded.class_weight == {0: 2.0, 2: 0.5}
    assert loaded.random_state is None
    assert "RandomState" in json.loads((tmp_path / "model.json").read_text())["notes"][0]
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    monotone = FERLTreeClassifier("deep", monotonic_cst={X.columns[2]: 1}, random_state=0).fit(X, y == 2)
    assert round_trip(monotone, tmp_path).monotonic_cst == {X.columns[2]: 1}
    wide = FERLClassifier(monotonic_cst=[0, 0, 1, -1], random_state=0).fit(X, y == 2)
    assert round_trip(wide, tmp_path).monotonic_cst == [0, 0, 1, -1]


@pytest.mark.parametrize("table", ["one class", "no rule", "many classes"])
def test_models_of_odd_tables_come_back(tmp_path, table):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), np.full(200, np.nan), np.ones(200)])
    if table == "no rule":
        X[:, 0] = 3.0
    y = {"one class": np.zeros(200, dtype=int), "no rule": rng.integers(2, size=200)}.get(table)
    model = FERLClassifier(random_state=0).fit(X, rng.integers(25, size=200) if y is None else y)
    assert_same(model, round_trip(model, tmp_path), np.vstack([X[:9], np.full((1, 3), np.nan), X[:1] + 1e6]))


HISTORY = ({"edit": "drop", "rule": 3, "cost": {"rows": 60, "log_loss": [0.25, 0.5]}, "by": "é", "kept": None}, {})


@pytest.mark.parametrize("variant", ["medium", "rules"])
def test_the_history_of_a_model_is_kept(tmp_path, variant):
    edited = copy.copy(fitted(variant))
    edited.model_ = replace(edited.model_, history=HISTORY)
    loaded = round_trip(edited, tmp_path)
    assert loaded.model_.history == HISTORY
    assert pickle.loads(pickle.dumps(loaded)).model_.history == HISTORY
    assert loaded.reading(support_gate=False).model_.history == HISTORY
    for odd in ({"x": np.nan}, {"x": (1, 2)}, {1: "x"}, {"x": np.float64(1)}, {"x": "\ud800"}, "x"):
        edited.model_ = replace(edited.model_, history=({}, odd))
        with pytest.raises(ModelFileError, match=r"history\[1\]"):
            save_model(edited, tmp_path / "model.json")


def test_saving_twice_writes_the_same_file_and_follows_links(tmp_path):
    save_model(fitted(), tmp_path / "one.json")
    os.symlink("one.json", tmp_path / "link.json")
    before = (tmp_path / "one.json").read_bytes()
    save_model(load_model(tmp_path / "link.json"), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "one.json").read_bytes() == before


def test_what_cannot_be_saved_is_said_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with pytest.raises(NotFittedError):
        save_model(FERLTreeClassifier("deep"), path)
    with pytest.raises(TypeError, match=r"LogisticRegression.*pipeline"):
        save_model(LogisticRegression(), path)
    changed = copy.copy(fitted()).set_params(band="guess")
    with pytest.raises(ModelFileError, match="band"):
        save_model(changed, path)
    changed = copy.copy(fitted()).set_params(band_scale=INF)
    with pytest.raises(ModelFileError, match="parameter"):
        save_model(changed, path)
    with pytest.raises(FileNotFoundError):
        save_model(fitted(), tmp_path / "nowhere" / "model.json")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


# ---------------------------------------------------------------------------------------------------------------------
# Files of the repository
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "rules"])
def test_a_file_keeps_loading_with_its_answers(name):
    model = load_model(DATA / f"model_{name}.json")
    answers = json.loads((DATA / f"model_{name}_answers.json").read_text(encoding="utf-8"))
    np.testing.assert_array_equal(model.predict_proba(answers["rows"]), answers["probability"])
    if "novelty" in answers:
        np.testing.assert_allclose(model.novelty(answers["rows"]), answers["novelty"], rtol=1e-12)
    assert model.predict(answers["rows"]).tolist() == answers["label"]
    if "behind" in answers:
        evidence = model.predict_evidence(answers["rows"])
        np.testing.assert_allclose(evidence.rows, answers["behind"], rtol=1e-12)
        np.testing.assert_allclose(evidence.ignorance, answers["ignorance"], rtol=1e-12)


@pytest.mark.parametrize("name", ["tree", "rules"])
def test_a_file_is_written_again_as_it_was(tmp_path, name):
    before = (DATA / f"model_{name}.json").read_text(encoding="utf-8")
    assert json.loads(before)["version"] == 1
    save_model(load_model(DATA / f"model_{name}.json"), tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == before


def test_the_names_are_exported_lazily():
    assert {"save_model", "load_model", "ModelFileError"} <= set(ferl.__all__)
