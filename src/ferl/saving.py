"""Model files: a fitted classifier is written in one step, and read back with the same answers to the last bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ferl._estimator import FERLEstimator
from ferl._models.form import ModelFileError, Object, Sizes, Value, is_number, is_plain_text, json_text
from ferl._models.model import Model
from ferl._models.model_file import (
    LABEL_TYPES,
    model_to_form,
    parsed_model,
    read_model,
    variables_from_form,
    variables_to_form,
)
from ferl._models.settings import check_words
from ferl._util.files import replace_text
from ferl._util.text import shown
from ferl.rules import FERLClassifier
from ferl.trees import FERLTreeClassifier

_ESTIMATORS: dict[str, type[FERLEstimator[Any]]] = {"rules": FERLClassifier, "trees": FERLTreeClassifier}

__all__ = ["ModelFileError", "load_model", "save_model"]


def save_model(estimator: FERLEstimator[Any], path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file that :func:`load_model` reads back: JSON, no pickle.

    The loaded model gives the same answers to the last bit. The file is replaced as a whole: whoever reads it sees the
    old or the new one. docs/guide/model_file.md describes the format.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted. A ``random_state`` that is a RandomState is written as null: it has changed since.
    path : str or path-like
        The file.

    Raises
    ------
    ModelFileError
        When the model contains something that no file can hold, such as labels that are tuples.

    Notes
    -----
    The file holds the exemplars, which are training rows, unless the model was fitted with ``n_exemplars=0``; and it
    always holds the names of features and categories.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.json"
    ...     save_model(clf, path)
    ...     loaded = load_model(path)
    >>> bool((loaded.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    form = model_to_form(*_contents(estimator))
    try:
        text = json_text(form)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"A parameter of the model cannot be written: {error}.") from error
    # Never a file that cannot be read back: parameters may have changed since fit.
    _estimator(*parsed_model(text.encode()))
    replace_text(path, text)


def load_model(path: str | os.PathLike[str]) -> FERLEstimator[Any]:
    """Read a classifier from a file that :func:`save_model` or ``ferl fit`` wrote.

    The file is untrusted input: whatever it holds, reading it ends in a model or in an error. It runs no code, and
    takes memory in proportion to its size.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    FERLClassifier or FERLTreeClassifier
        Fitted.

    Raises
    ------
    ModelFileError
        When the file is not a usable model; the message names the field that is wrong.
    OSError
        When the file cannot be read.
    """
    model, parameters = read_model(path)
    try:
        return _estimator(model, parameters)
    except ModelFileError as error:
        raise ModelFileError(f"{Path(path).name}: {error}") from error


# ---------------------------------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------------------------------


def _contents(estimator: FERLEstimator[Any]) -> tuple[Model, dict[str, Any], list[str]]:
    """The model, the parameters that it was fitted with, and notes about them."""
    # A class with parameters of its own, a cluster's, is another thing than what would be read back.
    plain = [item for item in _ESTIMATORS.values() if isinstance(estimator, item)]
    if not plain or estimator.get_params().keys() != plain[0]().get_params().keys():
        raise TypeError(
            f"save_model got a {type(estimator).__name__}; a model file holds a FERLClassifier or a "
            "FERLTreeClassifier. Save the one inside, for example pipeline[-1], search.best_estimator_, "
            "wrapper.estimator_, or the to_local() of a cluster's."
        )
    return estimator._fitted(), *_parameters_to_form(estimator)


def _parameters_to_form(estimator: Any) -> tuple[dict[str, Any], list[str]]:
    parameters = {name: _plain(value) for name, value in estimator._fitted_parameters().items()}
    usual = type(estimator)().get_params()
    parameters = {name: value for name, value in parameters.items() if name not in _ADDED or value != usual[name]}
    notes = []
    if isinstance(estimator.random_state, np.random.RandomState):
        parameters["random_state"] = None
        notes.append("random_state was a RandomState; files keep integers only, so it is null.")
    if isinstance(estimator.class_weight, Mapping):  # labels need not be text, keys of JSON objects are
        pairs = estimator.class_weight.items()
        parameters["class_weight"] = [[_plain(label), _plain(weight)] for label, weight in pairs]
    if not isinstance(estimator.words, bool | str | None):
        parameters["words"] = variables_to_form(estimator.words)
    return parameters, notes


def _plain(value: Any) -> Any:
    """A parameter in Python's types."""
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


def _is_single(value: Any) -> bool:
    return value is None or type(value) in (bool, float, str) or (type(value) is int and -(2**63) <= value < 2**63)


def _are_features(value: Any) -> bool:
    """Whether a value lists features: all by name, all by index, or as a mask."""
    if type(value) is not list:
        return _is_single(value)
    kinds = set(map(type, value))
    return (
        kinds <= {bool}
        or (kinds <= {str} and all(map(is_plain_text, value)))
        or (kinds == {int} and all(0 <= index < 2**31 for index in value))
    )


def _are_signs(value: Any) -> bool:
    """Whether a value gives features, in order or by name, the way they may go."""
    if not isinstance(value, list | dict):
        return _is_single(value)
    if isinstance(value, dict) and not all(map(is_plain_text, value)):
        return False
    signs = value.values() if isinstance(value, dict) else value
    return all(type(sign) in (int, float) and sign in (-1, 0, 1) for sign in signs)


def _is_single_or_list(value: Any) -> bool:
    return type(value) is list or _is_single(value)


# What each parameter may be in a file; scikit-learn's declared constraints check the rest.
_SINGLE = Value(_is_single, "a number of at most 64 bits, text, true, false or null")
_COMPOUND = {
    "class_weight": Value(_is_single_or_list, "a list of pairs of a label and its weight"),
    "words": Value(_is_single_or_list, "a name, or a list of variables"),
    "categorical_features": Value(_are_features, "a list of names, of indices, or of true and false"),
    "monotonic_cst": Value(_are_signs, "a list, or an object by feature, of -1, 0 and 1"),
}
# Parameters that the first files did not have: they are written unless they have the default, which absence means.
_ADDED = frozenset({"effort", "max_maps"})


def _estimator(model: Model, written: dict[str, Any]) -> FERLEstimator[Any]:
    """A fitted classifier: what fit leaves behind."""
    wanted = _ESTIMATORS[model.kind]
    form = Object({name: _COMPOUND.get(name, _SINGLE) for name in wanted._get_param_names()}, _ADDED)
    result = form.read(written, "parameters", Sizes(0))
    parameters = {name: value for name, value in result.items() if name in written}
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    if isinstance(parameters["words"], list):
        parameters["words"] = variables_from_form(parameters["words"], "parameters.words")
    signs = parameters["monotonic_cst"]
    if isinstance(signs, list) and len(signs) != model.n_features:
        raise ModelFileError(
            f"parameters.monotonic_cst has {len(signs)} entries, and there are {model.n_features} features."
        )
    if parameters["n_jobs"] == 0:
        raise ModelFileError("parameters.n_jobs is 0; it must be null or a number other than 0.")
    try:
        estimator = wanted(**parameters)
        estimator._validate_params()
        check_words(parameters["words"])
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"parameters: {str(error)[:400]}") from error
    return estimator._take(model)


def _class_weight(pairs: list[Any]) -> dict[Any, float]:
    result: dict[Any, float] = {}
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in LABEL_TYPES:
            raise ModelFileError(f"parameters.class_weight has {shown(pair)}; it must be a label and its weight.")
        if pair[0] in result or (type(pair[0]) is str and not is_plain_text(pair[0])):
            raise ModelFileError(f"parameters.class_weight has {shown(pair[0])} twice, or it is not valid Unicode.")
        if not is_number(pair[1]) or pair[1] < 0:
            raise ModelFileError(
                f"parameters.class_weight has the weight {shown(pair[1])}; it must be a number from 0 on."
            )
        result[pair[0]] = pair[1]  # 5 stays 5, so that the file is the same when it is saved again
    return result
