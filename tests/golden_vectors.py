"""The golden vectors: small models, rows that are hard to answer, and what the oracle answers.

``tests/golden/vectors`` holds two files for each model: ``NAME.model.json``, which :func:`ferl.save_model` wrote, so
that the vectors do not depend on fitting; and ``NAME.json`` with

- ``table``: the rows as a user has them, null where a value is missing;
- ``rows``: the same, encoded: numbers, codes of categories, indicators of missing values;
- ``answers``: by name, one entry for each row; ``label`` is the index of a class.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl import load_model
from ferl._estimator import FERLEstimator

FOLDER = Path(__file__).parent / "golden" / "vectors"
EXACT = ("set", "label")


@dataclass(frozen=True, eq=False)
class Vectors:
    """One model with its rows and what the oracle answers."""

    classifier: FERLEstimator
    table: Any
    rows: NDArray[np.float64]
    answers: dict[str, NDArray[Any]]


def names() -> list[str]:
    """Names of all models that have vectors."""
    return sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json") if ".model." not in path.name)


def load(name: str) -> Vectors:
    """The vectors of one model."""
    classifier = load_model(FOLDER / f"{name}.model.json")
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answers = {what: np.array(values) for what, values in stored["answers"].items()}
    table = as_table(classifier, stored["table"])
    return Vectors(classifier, table, np.array(stored["rows"], dtype=float), answers)


def as_table(classifier: FERLEstimator, rows: list[list[Any]]) -> Any:
    """Rows of JSON as the table that the model was fitted on: a data frame, or an array of numbers."""
    if not hasattr(classifier, "feature_names_in_"):
        return np.array(rows, dtype=float)
    kinds = [float if category is None else object for category in classifier.model_.schema.categories]
    frame = pd.DataFrame(rows, columns=classifier.feature_names_in_, dtype=object)
    return frame.astype(dict(zip(classifier.feature_names_in_, kinds, strict=True)))


def assert_answers(result: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]], tolerance: float) -> None:
    """The answers that were found are those expected: labels and sets exactly, numbers up to rounding."""
    for name, values in result.items():
        if name in EXACT:
            np.testing.assert_array_equal(values, expected[name], err_msg=name)
        else:
            np.testing.assert_allclose(values, expected[name], rtol=tolerance, atol=tolerance / 100, err_msg=name)
