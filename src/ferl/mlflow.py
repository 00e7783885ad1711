"""Models in MLflow: a flavour of their own that keeps no pickle, and answers with evidence wherever MLflow serves them.

``log_model`` and ``save_model`` write the JSON of :func:`ferl.save_model` beside MLflow's description. ``load_model``
gives the classifier back; ``mlflow.pyfunc.load_model`` gives what MLflow serves: a data frame in, a data frame of
answers out. Needs ``pip install "ferl[mlflow]"``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

try:
    import mlflow.artifacts
    import mlflow.models
    import mlflow.pyfunc
    import pandas as pd
    import pyarrow as pa
except ImportError as error:  # pragma: no cover - said to those who lack it
    raise ImportError(f'ferl.mlflow needs {error.name}: pip install "ferl[mlflow]"') from error

import ferl
from ferl._read.answers import Wanted, answer_columns, answer_names, reason_columns
from ferl.classifier import FERLClassifier

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "ferl"
_FILE = "model.json"
# What a request may ask for, with what it gets if it does not: MLflow wants the types of all of them.
_PARAMETERS: dict[str, Any] = {"decision": "probable", "guess": False, "reasons": 0}


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
        What an environment that serves the model installs. None: this version of ferl, with what the flavour needs.
    metadata : mapping, default=None
        More to keep in the description.

    Raises
    ------
    ModelFileError
        When the model holds what no file can.
    """
    description = mlflow_model or mlflow.models.Model()
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
            pip_requirements=pip_requirements or [f"ferl[mlflow]=={ferl.__version__}"],
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
    return mlflow.models.Model.log(
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
        When the model there is none of ferl's flavour.
    ModelFileError
        When its file is damaged.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavours = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavours:
        raise ValueError(
            f"The model {model_uri} has the flavours {', '.join(sorted(flavours))}, not {FLAVOR_NAME!r}. "
            "Log it with ferl.mlflow.log_model, or load it with the module of one of its flavours."
        )
    return ferl.load_model(folder / "data" / _FILE)


class _Server:
    """What MLflow serves: rows in, a table of answers out."""

    def __init__(self, classifier: FERLClassifier) -> None:
        self.classifier = classifier

    def get_raw_model(self) -> FERLClassifier:
        """Return the classifier: MLflow's name for it."""
        return self.classifier

    def predict(self, model_input: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return label, probability, set, ignorance, novelty, and probability, belief and plausibility of each class.

        An abstaining row has no label and no probability, unless the parameter ``guess`` says so; ``decision`` is that
        of :meth:`ferl.FERLClassifier.predict`, ``reasons`` asks for columns of reasons.
        """
        asked = {**_PARAMETERS, **(params or {})}
        unknown = sorted(set(asked) - set(_PARAMETERS))
        if unknown:
            raise ValueError(f"Unknown parameter {unknown[0]!r}; there are {', '.join(_PARAMETERS)}.")
        model, n_reasons = self.classifier.model_, int(asked["reasons"])
        rows = self.classifier._rows(model_input)
        wanted = Wanted(every_class=True, decision=str(asked["decision"]), guess=bool(asked["guess"]))
        names, columns = answer_names(model, wanted), answer_columns(model, rows, wanted)
        if n_reasons > 0:
            columns += reason_columns(model, rows, n_reasons)
            names += [f"reason_{number}" for number in range(1, n_reasons + 1)]
        answers: pd.DataFrame = pa.table(columns, names=names).to_pandas()
        return answers


def _load_pyfunc(path: str) -> _Server:
    """Read what MLflow serves; ``path`` is the file."""
    return _Server(ferl.load_model(path))


class _This:
    """The flavour, as MLflow's ``Model.log`` wants it: something with a function ``save_model``."""

    __name__ = "ferl.mlflow"
    save_model = staticmethod(save_model)
