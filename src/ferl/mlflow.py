"""Models in MLflow: a flavour of their own that keeps no pickle, and answers with evidence wherever MLflow serves them.

``log_model`` and ``save_model`` write the JSON of :func:`ferl.save_model` beside MLflow's description. ``load_model``
gives the classifier back; ``mlflow.pyfunc.load_model`` gives what MLflow serves: a data frame in, a data frame of
answers out. Needs ``pip install "ferl[mlflow]"``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ferl
from ferl._judge.answers import Wanted, answer_columns
from ferl._judge.judgement import Rule, judge
from ferl._models.decision import Decision
from ferl._models.model import Model
from ferl._util.arrays import arrow
from ferl._util.text import shown
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "ferl"
_FILE = "model.json"
# What a request may ask for, with what it gets if it does not. MLflow tells the types of all of them by these values,
# and None has no type: "" is no class.
_PARAMETERS: dict[str, Any] = {"decision": "probable", "guess": False, "reasons": 0, "wished": ""}


def _mlflow() -> Any:
    """The package MLflow; without it an error with the command that installs it. Predictions do not need it."""
    try:
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(f'ferl.mlflow needs {error.name}: pip install "ferl[mlflow]"') from error
    return mlflow


def save_model(
    estimator: FERLClassifier,
    path: str | Path,
    *,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted classifier as an MLflow model.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    path : str or Path
        A folder, which must not exist yet.
    mlflow_model : mlflow.models.Model, default=None
        The description to add to; MLflow passes one when a model is logged.
    signature : mlflow.models.ModelSignature, default=None
        Columns of rows and answers. None: as they are in ``input_example``, if there is one.
    input_example : data frame, default=None
        Some rows, which MLflow keeps beside the model.
    pip_requirements : list of str, default=None
        What an environment that serves the model installs; [] is nothing. None: this version of ferl, with what the
        flavour needs.
    metadata : mapping, default=None
        More to keep in the description.

    Raises
    ------
    ModelFileError
        When the model holds what no file can.
    """
    mlflow = _mlflow()
    description = mlflow.models.Model() if mlflow_model is None else mlflow_model
    requirements = [f"ferl[mlflow]=={ferl.__version__}"] if pip_requirements is None else pip_requirements
    if signature is None and input_example is not None:
        answers = _Server(estimator).predict(input_example)
        signature = mlflow.models.infer_signature(input_example, answers, params=_PARAMETERS)
    description.add_flavor(FLAVOR_NAME, ferl_version=ferl.__version__, data=f"data/{_FILE}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        ferl.save_model(estimator, file)
        mlflow.pyfunc.save_model(
            path=str(path),
            loader_module="ferl.mlflow",
            data_path=str(file),
            mlflow_model=description,
            signature=signature,
            input_example=input_example,
            pip_requirements=requirements,
            metadata=None if metadata is None else dict(metadata),
        )


def log_model(
    estimator: FERLClassifier, name: str = "model", *, registered_model_name: str | None = None, **options: Any
) -> Any:
    """Log a fitted classifier in the active run of MLflow, or in a new one.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    name : str, default="model"
        Name of the logged model.
    registered_model_name : str, default=None
        Also make a version of this registered model.
    **options
        As in :func:`save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Where the model is: ``load_model(info.model_uri)`` reads it.
    """
    return _mlflow().models.Model.log(
        artifact_path=None,
        name=name,
        flavor=_This,
        registered_model_name=registered_model_name,
        estimator=estimator,
        **options,
    )


def load_model(model_uri: str | Path) -> FERLClassifier:
    """Read a classifier back, with the same answers to the last bit.

    Parameters
    ----------
    model_uri : str or Path
        A folder, or an address of MLflow such as ``runs:/ID/model`` or ``models:/NAME/1``.

    Returns
    -------
    FERLClassifier
        Fitted.

    Raises
    ------
    ValueError
        When the model there does not have ferl's flavour.
    ModelFileError
        When its file is damaged, or not in the folder of the model.
    """
    mlflow = _mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavours = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavours:
        raise ValueError(
            f"The model {model_uri} has the flavours {', '.join(sorted(flavours))}, not {FLAVOR_NAME!r}. "
            "Log it with ferl.mlflow.log_model, or load it with the module of one of its flavours."
        )
    return ferl.load_model(_file_of(folder, flavours[FLAVOR_NAME].get("data")))


def _file_of(folder: Path, data: Any) -> Path:
    """The file that a description names, which strangers may have written: one in the folder of the model."""
    if not isinstance(data, str) or not data:
        raise ferl.ModelFileError(
            f"The description of the model in {folder} names no file: 'data' of the flavour {FLAVOR_NAME!r} is "
            f"{shown(data)}. Log the model again with ferl.mlflow.log_model."
        )
    file = (folder / data).resolve()  # links are followed: they may lead elsewhere
    if not file.is_relative_to(folder.resolve()):
        raise ferl.ModelFileError(
            f"The description of the model in {folder} names the file {shown(data)}, which is not in this folder. "
            "It is not read; log the model again with ferl.mlflow.log_model."
        )
    return file


def _wanted(model: Model, params: Mapping[str, Any] | None) -> Wanted:
    """The parameters of a request; a ValueError names what is wrong with it."""
    asked = {**_PARAMETERS, **(params or {})}
    unknown = sorted(set(asked) - set(_PARAMETERS))
    if unknown:
        raise ValueError(f"Unknown parameter {shown(unknown[0])}; there are {', '.join(_PARAMETERS)}.")
    decision, guess, reasons, wished = (asked[name] for name in _PARAMETERS)
    if not isinstance(decision, str):
        raise ValueError(f'decision is {shown(decision)}; it must be text: "balanced", "0.3", or costs as JSON.')
    if not isinstance(guess, bool | np.bool_):
        raise ValueError(f"guess is {shown(guess)}; it must be true or false, not text or a number.")
    if not isinstance(reasons, int | np.integer) or isinstance(reasons, bool):
        raise ValueError(f"reasons is {shown(reasons)}; it must be a whole number.")
    if not 0 <= reasons <= model.n_features:
        raise ValueError(
            f"reasons is {shown(reasons)}; it must be from 0 to {model.n_features}, the number of features."
        )
    if reasons and model.kind != "rules":
        raise ValueError(f"reasons is {shown(reasons)}, and the model is a tree ({model.title}): rules have reasons.")
    label = _wished_label(model, int(reasons), wished)
    rule = Rule(Decision.read(decision, model.classes))
    return Wanted(every_class=True, rule=rule, guess=bool(guess), n_reasons=int(reasons), wished=label)


def _wished_label(model: Model, n_reasons: int, wished: Any) -> Any:
    """The label that a request names, itself or by its text; None: it names none."""
    if wished is None or wished == "":
        return None
    labels = model.classes.tolist()
    result = [label for label in labels if label == wished or str(label) == wished]
    if not result:
        raise ValueError(f"wished is {shown(wished)}; it must be one of the classes, {shown(labels)}.")
    if not n_reasons:
        raise ValueError(
            f"wished is {shown(wished)} and reasons is 0: wished is about reasons; set reasons to at least 1."
        )
    return result[0]


class _Server:
    """What MLflow serves: rows in, a table of answers out."""

    def __init__(self, classifier: FERLClassifier) -> None:
        self.classifier = classifier

    def get_raw_model(self) -> FERLClassifier:
        """Return the classifier: MLflow's name for it."""
        return self.classifier

    def predict(self, model_input: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return label, probability, set, ignorance, novelty, abstention; and of each class its probability and bounds.

        Rules have ``rows`` as well, about how many training rows the answer rests on.

        An abstaining row has no label and no probability, unless the parameter ``guess`` is true; ``abstention`` has
        the cause, and ``belief`` and ``plausibility`` are the bounds of the classes. ``decision`` is the parameter of
        :meth:`ferl.FERLClassifier.predict` as text: a name, a number, or costs as JSON, ``{"true": {"predicted":
        cost}}``. ``reasons`` is the number of columns with reasons for the label or, with ``wished``, with reasons
        against that class, as :func:`ferl.export.reason_codes` returns them.
        """
        model = self.classifier.model_
        wanted = _wanted(model, params)
        rows = self.classifier._rows(model_input)
        judged = judge(model, rows, wanted.rule, with_novelty=wanted.with_novelty)
        answers: pd.DataFrame = arrow().table(answer_columns(model, rows, judged, wanted)).to_pandas()
        return answers


def _load_pyfunc(path: str) -> _Server:
    """Read what MLflow serves; ``path`` is the file."""
    return _Server(ferl.load_model(path))


class _This:
    """The flavour, as MLflow's ``Model.log`` wants it: something with a function ``save_model``."""

    __name__ = "ferl.mlflow"
    save_model = staticmethod(save_model)
