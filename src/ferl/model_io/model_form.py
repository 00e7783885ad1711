"""A fitted FERLClassifier in model files: parameters, labels, columns, words, and the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl.classifier import FERLClassifier
from ferl.model_io.contents import FORMAT, LABEL_DTYPES, LABEL_TYPES, VERSION, Contents
from ferl.model_io.fields import Ints, ModelFileError, Part, as_list, as_numbers, as_written
from ferl.model_io.tree_form import tree_to_form
from ferl.partition import FuzzySet, LinguisticVariable
from ferl.quoting import shown


def model_to_form(estimator: FERLClassifier) -> dict[str, Any]:
    """A fitted classifier as lists, text and numbers of Python."""
    from ferl import __version__

    if type(estimator) is not FERLClassifier:
        raise TypeError(
            f"save_model got a {type(estimator).__name__}; a model file holds a FERLClassifier. Save the one inside, "
            "for example pipeline[-1], search.best_estimator_ or wrapper.estimator_."
        )
    check_is_fitted(estimator)
    parameters, notes = _parameters_to_form(estimator)
    words = estimator.partition_
    return {
        "format": FORMAT,
        "version": VERSION,
        "ferl": __version__,
        **({"notes": notes} if notes else {}),
        "estimator": "FERLClassifier",
        "parameters": parameters,
        "classes": _classes_to_form(estimator.classes_),
        "columns": estimator.columns_.to_dict(),
        "missing_features": list(estimator.missing_features_),
        "n_growth_rows": int(estimator.n_growth_rows_),
        "partition": None if words is None else [_variable_to_form(variable) for variable in words],
        "tree": tree_to_form(estimator.tree_),
    }


def estimator_of(contents: Contents) -> FERLClassifier:
    """A fitted classifier with the contents of a file: what fit leaves behind."""
    estimator = _estimator(contents.parameters)
    estimator.partition_ = _partition(contents.partition, estimator.variant == "compact", contents.n_levels)
    estimator.columns_ = contents.columns_
    estimator.n_features_in_ = len(contents.columns_.levels)
    if contents.columns_.names is not None:
        estimator.feature_names_in_ = np.array(contents.columns_.names, dtype=object)
    estimator.missing_features_ = contents.missing_features_
    estimator.n_growth_rows_ = contents.n_growth_rows
    estimator.classes_ = contents.classes_
    estimator.tree_ = contents.tree_
    return estimator


# ---------------------------------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------------------------------


def _parameters_to_form(estimator: FERLClassifier) -> tuple[dict[str, Any], list[str]]:
    parameters = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    notes = []
    if isinstance(estimator.random_state, np.random.RandomState):
        parameters["random_state"] = None
        notes.append("random_state was a RandomState; files keep integers only, so it is null.")
    if isinstance(estimator.class_weight, Mapping):  # labels need not be text, keys of JSON objects are
        pairs = estimator.class_weight.items()
        parameters["class_weight"] = [[_plain(label), _plain(weight)] for label, weight in pairs]
    if not isinstance(estimator.partition, str):
        parameters["partition"] = [_variable_to_form(variable) for variable in estimator.partition]
    return parameters, notes


def _plain(value: Any) -> Any:
    """A parameter in Python's own types."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "to_numpy"):
        return value.to_numpy().tolist()
    return value


def _estimator(form: Any) -> FERLClassifier:
    part = Part(form, "parameters", FERLClassifier._get_param_names())
    parameters = dict(part.value)
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    elif isinstance(parameters["class_weight"], dict):
        raise part.wrong("class_weight", "it must be a list of pairs of a label and its weight")
    if isinstance(parameters["partition"], list):
        parameters["partition"] = [_variable(own, "parameters.partition") for own in parameters["partition"]]
    if parameters["n_jobs"] == 0:
        raise part.wrong("n_jobs", "it must be null or a number other than 0")
    estimator = FERLClassifier(**parameters)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"parameters: {str(error)[:400]}") from error
    return estimator


def _class_weight(pairs: list[Any]) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in LABEL_TYPES:
            raise ModelFileError(f"parameters.class_weight has {shown(pair)}; it must be a label and its weight.")
        found[pair[0]] = float(as_numbers(pair[1:], "parameters.class_weight", 1, 0.0)[0])
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Labels, columns, words
# ---------------------------------------------------------------------------------------------------------------------


def _classes_to_form(classes: NDArray[Any]) -> dict[str, Any]:
    dtype = {"U": "str", "T": "object", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    if dtype not in LABEL_DTYPES or any(type(label) not in LABEL_TYPES for label in labels):
        raise ModelFileError(
            f"The labels are {shown(labels)}, of {classes.dtype}; files hold labels that are text, integers, floats or "
            "booleans. Fit with such labels."
        )
    return {"dtype": dtype, "labels": labels}


def _partition(form: Any, is_compact: bool, n_levels: Ints) -> list[LinguisticVariable | None] | None:
    if not is_compact:
        if form is not None:
            raise ModelFileError("partition is given, but only compact trees have words; it must be null.")
        return None
    found = [_variable(own, "partition") for own in as_list(form, "partition", len(n_levels))]
    for column, variable in enumerate(found):
        if variable is not None and n_levels[column]:
            raise ModelFileError(f"partition[{column}] has words for a feature that holds categories.")
    return found


def _variable_to_form(variable: LinguisticVariable | None) -> dict[str, Any] | None:
    if variable is None:
        return None
    return {
        "name": variable.name,
        "unit": variable.unit,
        "range": as_written(np.array(variable.range)),
        "words": [one.name for one in variable.sets],
        "trapezoids": as_written(np.array([one.ends for one in variable.sets])),
    }


def _variable(form: Any, where: str) -> LinguisticVariable | None:
    if form is None:
        return None
    part = Part(form, where, ("name", "unit", "range", "words", "trapezoids"))
    words = part.list("words")
    ends = part.matrix("trapezoids", len(words), 4, infinite=True)
    low, high = part.numbers("range", 2, infinite=True).tolist()
    try:
        sets = [FuzzySet(word, *own) for word, own in zip(words, ends.tolist(), strict=True)]
        return LinguisticVariable(part.value["name"], tuple(sets), part.value["unit"], (low, high))
    except ValueError as error:
        raise ModelFileError(f"{where}: {error}") from error
