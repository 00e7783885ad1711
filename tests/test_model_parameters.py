"""Parameters in model files: all are there, all are checked, and what was read is written again."""

from __future__ import annotations

import json
from functools import cache

import pytest

from ferl import ModelFileError, load_model
from ferl._estimator import FERLEstimator
from ferl._models.form import json_text
from ferl._models.model_file import model_to_form, parsed_model
from ferl.saving import _contents, _estimator
from model_examples import fitted

MODELS = {
    "deep": {"kind": "deep"},
    "medium": {"kind": "medium", "combination": "vote"},
    "compact": {"kind": "compact"},
    "words": {"kind": "words"},
    "rules": {"kind": "rules"},
    "rules in given words": {"kind": "rules", "words": "quantile"},
}
ODD_VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    "x",
    [],
    {},
    [1, "a", None],
    {"a": 1},
    [[]],
    [True],
    ["a"],
    [0, 1],
    10**400,
    1e300,
]


@cache
def text_of(name: str) -> str:
    return written(fitted(**({"max_rules": 3, "n_exemplars": 2} | MODELS[name])))


def written(model: FERLEstimator) -> str:
    """What save_model writes."""
    return json_text(model_to_form(*_contents(model)))


def read(text: str) -> FERLEstimator:
    """What load_model reads, without the file."""
    return _estimator(*parsed_model(text.encode()))


def document(name: str):
    return json.loads(text_of(name))


def load_form(form, folder) -> FERLEstimator:
    (folder / "model.json").write_text(json.dumps(form), encoding="utf-8")
    return load_model(folder / "model.json")


@pytest.mark.parametrize("name", MODELS)
def test_a_missing_parameter_is_named(tmp_path, name):
    for missing in document(name)["parameters"]:  # without those that the first files did not have
        form = document(name)
        del form["parameters"][missing]
        with pytest.raises(ModelFileError, match=rf"model\.json: parameters has no '{missing}'\."):
            load_form(form, tmp_path)


@pytest.mark.parametrize("name", MODELS)
def test_a_parameter_of_any_value_is_refused_or_written_again(name):
    for parameter in document(name)["parameters"]:
        form = document(name)
        for value in ODD_VALUES:
            form["parameters"][parameter] = value
            try:
                again = written(read(json.dumps(form)))
            except ModelFileError as error:
                assert parameter in str(error)  # noqa: PT017
                continue
            assert written(read(again)) == again


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("gate_margin", 10**400, "gate_margin"),
        ("max_rules", 2**63, "a number of at most 64 bits"),
        ("words", {"a": 1}, "a name, or a list of variables"),
        ("words", "guess", "quantile"),
        ("categorical_features", [1, "a"], "a list of names, of indices, or of true and false"),
        ("categorical_features", ["\ud800"], "a list of names"),
        ("monotonic_cst", [2, 0, 0, 0, 0], "of -1, 0 and 1"),
        ("monotonic_cst", [0, 1], "has 2 entries, and there are 5 features"),
        ("monotonic_cst", {"x": "up"}, "of -1, 0 and 1"),
        ("class_weight", {"no": 1}, "a list of pairs"),
        ("class_weight", [["no", 1], ["no", 2]], "twice"),
        ("prune", [0.5], "text, true, false or null"),
    ],
)
def test_what_no_parameter_can_be_is_refused(tmp_path, parameter, value, message):
    form = document("rules")
    form["parameters"][parameter] = value
    with pytest.raises(ModelFileError, match=message):
        load_form(form, tmp_path)


def test_lists_and_objects_that_are_parameters_come_back(tmp_path):
    for parameter, value in [
        ("categorical_features", [1, 2]),
        ("categorical_features", [False, True, True, False, False]),
        ("monotonic_cst", {"1": 1}),
        ("monotonic_cst", [0, 0, 0, 1, -1]),
    ]:
        form = document("deep")
        form["parameters"][parameter] = value
        assert getattr(load_form(form, tmp_path), parameter) == value
