"""Model files: round trips to the last bit, and the file of version 1 that must keep loading."""

from __future__ import annotations

import copy
import json
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import ferl
from ferl import FERLClassifier, ModelFileError, load_model, save_model
from ferl._model.fields import as_numbers, as_written
from ferl.partition import FuzzySet, LinguisticVariable
from ferl.saving import json_text
from model_examples import DATA, INF, LAW, assert_same, fitted, mixed_table, round_trip

# ---------------------------------------------------------------------------------------------------------------------
# Round trips
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["deep", "medium", "compact"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"missing_conditions": True, "combination": "vote"},
        {"n_exemplars": 0, "discount": 0.5, "combination": "cautious"},
        {"n_exemplars": 5, "ccp_alpha": 0.01, "sources": "all", "combination": "chain"},
        {"max_rules": 1},
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


def test_all_arrays_come_back_bit_by_bit(tmp_path):
    model = fitted("deep")
    tree, loaded = model.tree_, round_trip(model, tmp_path).tree_
    pairs = [(getattr(tree, name), getattr(loaded, name)) for name in vars(tree) if name[0] != "_"]
    pairs = [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    for part in ("profile", "cuts", "categories"):
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
    text = json_text(as_written(array))
    assert as_numbers(json.loads(text), "numbers", None, infinite=True, missing=True).tobytes() == array.tobytes()


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
    model = FERLClassifier("medium", random_state=0).fit(X, labels[y])
    loaded = round_trip(model, tmp_path)
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert list(map(type, loaded.classes_.tolist())) == list(map(type, model.classes_.tolist()))


def test_parameters_that_json_has_no_type_for(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    words = [
        LinguisticVariable(name, [FuzzySet.falling("low", 3, 4), FuzzySet.rising("high", 3, 4.5)], "cm") for name in X
    ]
    model = FERLClassifier(
        "compact",
        partition=words,
        class_weight={0: 2.0, 2: np.float64(0.5)},
        n_sets=np.int64(4),
        random_state=np.random.RandomState(0),
        categorical_features=np.zeros(4, dtype=bool),
    ).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.partition == words
    assert loaded.class_weight == {0: 2.0, 2: 0.5}
    assert loaded.random_state is None
    assert "RandomState" in json.loads((tmp_path / "model.json").read_text())["notes"][0]
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    monotone = FERLClassifier(monotonic_cst={X.columns[2]: 1}, random_state=0).fit(X, y == 2)
    assert round_trip(monotone, tmp_path).monotonic_cst == {X.columns[2]: 1}


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
        save_model(FERLClassifier(), path)
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
# Version 1
# ---------------------------------------------------------------------------------------------------------------------


def test_the_file_of_version_1_keeps_loading_with_its_answers():
    model = load_model(DATA / "model_v1.json")
    answers = json.loads((DATA / "model_v1_answers.json").read_text(encoding="utf-8"))
    np.testing.assert_array_equal(model.predict_proba(answers["rows"]), answers["probability"])
    np.testing.assert_allclose(model.novelty(answers["rows"]), answers["novelty"], rtol=1e-12)
    assert model.predict(answers["rows"]).tolist() == answers["label"]


def test_the_names_are_exported_lazily():
    assert {"save_model", "load_model", "ModelFileError"} <= set(ferl.__all__)
