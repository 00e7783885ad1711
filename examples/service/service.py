"""A web service that answers with sets, reasons and novelty, and refuses what it does not understand.

Run it with a model file of rules::

    pip install fastapi uvicorn
    FERL_MODEL=model.json uvicorn --factory service:create_app

``/docs`` shows the schema, which is made from the model's table; ``load_test.py`` measures how long answers take.
"""

from __future__ import annotations

import os
from datetime import date
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from numpy.typing import NDArray
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, NaiveDatetime, create_model

from ferl import FERLClassifier, load_model
from ferl.export import reason_codes

MOST_ROWS = 1000
N_REASONS = 4
N_UNUSUAL = 3


def text_alone(value: Any) -> Any:
    """Refuse dates that are numbers: the checker of types would take them for seconds since 1970."""
    if isinstance(value, int | float):
        raise ValueError(f"{value} is a number; write a date as 2019-03-01, a time as 2019-03-01T12:30:00")
    return value


Number = Annotated[float, Field(allow_inf_nan=False)]  # null is a missing value
Day = Annotated[date, BeforeValidator(text_alone)]
Time = Annotated[NaiveDatetime, BeforeValidator(text_alone)]
Moment = Annotated[AwareDatetime, BeforeValidator(text_alone)]
TYPES = {Number: "float64", bool: "boolean", str: "string"}  # of pandas; all others are objects


class ClassSupport(BaseModel):
    """The evidence for one class."""

    label: bool | int | float | str
    probability: float = Field(ge=0, le=1)
    belief: float = Field(ge=0, le=1, description="The support of the class is at least this")
    plausibility: float = Field(ge=0, le=1, description="The support of the class is at most this")
    in_set: bool


class Reason(BaseModel):
    """What supported the most probable class against the second one, compared with the average training row."""

    name: str = Field(description="A feature, or a rule on several features")
    value: str
    weight: float = Field(description="Log-odds: 0.69 doubles the odds of the most probable class against the second")


class Unusual(BaseModel):
    """A feature whose value is unlike the values of the training rows."""

    feature: str
    value: bool | int | float | str | None
    novelty: float


class Answer(BaseModel):
    """The answer for one row."""

    label: bool | int | float | str | None = Field(description="null: all classes are in the set, the service abstains")
    prediction_set: list[bool | int | float | str]
    support: list[ClassSupport]
    ignorance: float = Field(ge=0, le=1, description="Large where few training rows are like the row")
    rows: float = Field(ge=0, description="About how many training rows the answer rests on")
    novelty: float = Field(description="0: like the training rows; large: unlike them")
    novelty_rank: float | None = Field(description="Share of the training rows that are less unusual; null: not known")
    reasons: list[Reason]
    unusual: list[Unusual]


class ModelCard(BaseModel):
    """What is served."""

    classes: list[bool | int | float | str]
    features: list[str]
    n_rules: int
    most_rows: int


def create_app(model: FERLClassifier | str | None = None) -> FastAPI:
    """Make the service of a model.

    Parameters
    ----------
    model : FERLClassifier or str, default=None
        Fitted, or a model file; None: the file that the environment variable FERL_MODEL names.

    Returns
    -------
    FastAPI
        The service.
    """
    path = os.environ.get("FERL_MODEL") if model is None else model
    if path is None:
        raise ValueError("No model to serve: set the environment variable FERL_MODEL to a model file of ferl.")
    clf = load_model(path) if isinstance(path, str) else path
    if not isinstance(clf, FERLClassifier):
        raise ValueError(f"The model is a {type(clf).__name__}; reasons need rules: fit a FERLClassifier.")
    types = column_types(clf)
    row_type: Any = create_model(
        "Row",
        __config__=ConfigDict(extra="forbid"),
        **{f"f{j}": (item | None, Field(default=None, alias=name)) for j, (name, item) in enumerate(types.items())},
    )
    app = FastAPI(title="ferl", description="Rules that justify their answers and say when not to trust them.")

    @app.exception_handler(RequestValidationError)
    def refusal(request: Request, error: RequestValidationError) -> JSONResponse:
        # Without the refused values: JSON has no infinity, and an answer that quotes one would fail itself.
        return JSONResponse(
            {"detail": [{name: item[name] for name in ("type", "loc", "msg")} for item in error.errors()]}, 422
        )

    @app.get("/model")
    def card() -> ModelCard:
        return ModelCard(classes=clf.classes_.tolist(), features=list(types), n_rules=clf.n_rules_, most_rows=MOST_ROWS)

    def answers(rows: list[row_type], reasons: int = N_REASONS) -> list[Answer]:
        if not 0 < len(rows) <= MOST_ROWS:
            raise HTTPException(413 if rows else 422, f"{len(rows)} rows; a request has 1 to {MOST_ROWS}.")
        return answer(clf, types, [row.model_dump(by_alias=True) for row in rows], reasons)

    def explanation(row: row_type) -> dict[str, str]:
        table = as_table(clf, types, [row.model_dump(by_alias=True)])
        read(clf, table)
        return {"text": str(clf.explain(table))}

    # The types are made at run time: FastAPI reads them here, since text cannot name them.
    n_reasons = Annotated[int, Query(ge=0, le=20, description="At most so many reasons for each row")]
    answers.__annotations__ = {"rows": list[row_type], "reasons": n_reasons, "return": list[Answer]}
    explanation.__annotations__ = {"row": row_type, "return": dict[str, str]}
    app.post("/answers")(answers)
    app.post("/explanation")(explanation)
    return app


def column_types(clf: FERLClassifier) -> dict[str, Any]:
    """Return the name of each feature and the type of its values."""
    names = [str(name) for name in getattr(clf, "feature_names_in_", [f"x{j}" for j in range(clf.n_features_in_)])]
    schema = clf.model_.schema
    result = [column_type(schema.kinds[j], known) for j, known in enumerate(schema.categories)]
    return dict(zip(names, result, strict=True))


def column_type(kind: Any, categories: NDArray[Any] | None) -> Any:
    """Return the type of the values of a column: numbers, dates, times, ordered words, or that of its categories."""
    if kind.is_date:
        return Moment if kind.is_zoned else Day if kind.name == "date" else Time
    known = list(kind.order) if kind.is_ordered else None if categories is None else categories.tolist()
    if known is None:
        return Number
    if not known:
        return bool | Number | str  # training had no value: the model takes any for a missing one
    if kind.is_ordered:
        return Literal[tuple(known)]
    if all(isinstance(item, bool) for item in known):
        return bool
    return str if isinstance(known[0], str) else Number


def read(clf: FERLClassifier, table: Any) -> Any:
    """Return the evidence of rows; what the library refuses is the fault of the request."""
    try:
        return clf.predict_evidence(table)
    except ValueError as error:
        raise HTTPException(422, str(error)) from error


def answer(clf: FERLClassifier, types: dict[str, Any], rows: list[dict[str, Any]], n_reasons: int) -> list[Answer]:
    """Answer some rows, which hold every feature."""
    table = as_table(clf, types, rows)
    evidence = read(clf, table)
    probability, sets = evidence.probability, evidence.prediction_set()
    unlike, rank = clf.novelty_attribution(table), clf.novelty_rank(table)
    names, classes = list(types), clf.classes_.tolist()
    order = np.argsort(-probability, axis=1, kind="stable")
    best = order[:, 0]
    reasons = reasons_for(clf, table, order, n_reasons)
    answered = []
    for i, row in enumerate(rows):
        odd = np.argsort(-unlike[i], kind="stable")[:N_UNUSUAL]
        answered.append(
            Answer(
                label=None if sets[i].all() and len(classes) > 1 else classes[best[i]],
                prediction_set=[label for label, inside in zip(classes, sets[i], strict=True) if inside],
                support=[
                    ClassSupport(
                        label=label,
                        probability=probability[i, c],
                        belief=evidence.belief[i, c],
                        plausibility=evidence.plausibility[i, c],
                        in_set=sets[i, c],
                    )
                    for c, label in enumerate(classes)
                ],
                ignorance=evidence.ignorance[i],
                rows=evidence.rows[i],
                novelty=unlike[i].sum(),
                novelty_rank=None if np.isnan(rank[i]) else rank[i],
                reasons=reasons[i],
                unusual=[
                    Unusual(feature=names[j], value=plain(row[names[j]]), novelty=unlike[i, j])
                    for j in odd
                    if unlike[i, j] > 0
                ],
            )
        )
    return answered


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.isoformat() if isinstance(value, date) else value


def reasons_for(clf: FERLClassifier, table: Any, order: NDArray[np.intp], n: int) -> list[list[Reason]]:
    """Return what supported the most probable class of each row most, against the second one."""
    result: list[list[Reason]] = [[] for _ in order]
    if not n or order.shape[1] < 2:  # a model of one class has no second one
        return result
    for best, second in np.unique(order[:, :2], axis=0):
        index = np.flatnonzero((order[:, :2] == (best, second)).all(axis=1))
        rows = table.iloc[index] if isinstance(table, pd.DataFrame) else [table[i] for i in index]
        pair = {"positive": clf.classes_[second], "rival": clf.classes_[best]}
        for i, codes in zip(index, reason_codes(clf, rows, n, **pair), strict=True):
            result[i] = [Reason(name=code.name, value=code.value, weight=code.lost) for code in codes]
    return result


def as_table(clf: FERLClassifier, types: dict[str, Any], rows: list[dict[str, Any]]) -> Any:
    """Return rows as the table that the model was fitted on had them: a list where its columns had no names."""
    if not hasattr(clf, "feature_names_in_"):
        return [[row[name] for name in types] for row in rows]
    if all(kind is Number for kind in types.values()):  # one block of numbers is read ten times faster than columns
        return pd.DataFrame(np.array([list(row.values()) for row in rows], dtype=float), columns=list(types))
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=TYPES.get(item, object)) for name, item in types.items()},
        copy=False,
    )
