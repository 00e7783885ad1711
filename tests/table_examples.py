"""Random tables with categories and missing values, and rows to judge, for the tests of real tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ferl import FERLClassifier
from tree_examples import tree_classifier

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TABLE_LAW = settings(max_examples=40, deadline=None, database=None)


@dataclass(frozen=True, eq=False)
class Mixed:
    """A frame of numbers (x0, x1, ...) and categories (c0, c1, ...), with its labels."""

    frame: pd.DataFrame
    y: Labels

    @property
    def categories(self) -> list[str]:
        return [name for name in self.frame.columns if name.startswith("c")]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.frame.columns if name.startswith("x")]


def mixed_table(
    rng: np.random.Generator,
    n: int = 150,
    n_numbers: int = 2,
    n_categories: tuple[int, ...] = (4, 7),
    n_classes: int = 2,
    missing: float = 0.15,
) -> Mixed:
    """Labels that a number and the categories explain, with noise; each value is missing by the same chance."""
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=n) for j in range(n_numbers)}
    score = 0.6 * rng.normal(size=n) + (np.abs(columns["x0"]) if n_numbers else 0.0)
    for j, size in enumerate(n_categories):
        code = rng.integers(size, size=n)
        columns[f"c{j}"] = np.array([f"level {k}" for k in range(size)], dtype=object)[code]
        score = score + rng.normal(size=size)[code]
    y = np.argsort(np.argsort(score)) * n_classes // n
    frame = pd.DataFrame(columns)
    return Mixed(frame.mask(rng.random(frame.shape) < missing), y)


def rare_category_table(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, Labels]:
    """Applications for a loan: 12 % are denied, nearly all of the few without insurance; numbers say a little."""
    frame = pd.DataFrame(
        {
            "debt": rng.normal(0.33, 0.1, n).clip(0.0),
            "housing": rng.normal(0.25, 0.09, n).clip(0.0),
            "value": rng.normal(0.74, 0.18, n).clip(0.02),
            "credit": rng.choice(6, n, p=[0.56, 0.18, 0.06, 0.03, 0.08, 0.09]) + 1.0,
            "unemployment": rng.choice([1.8, 2.0, 3.2, 3.9, 5.3, 10.6], n),
            "insurance": rng.choice(["granted", "refused"], n, p=[0.98, 0.02]),
            "record": rng.choice(["clean", "bad"], n, p=[0.93, 0.07]),
            "family": rng.choice(["single", "married"], n, p=[0.4, 0.6]),
            "dwelling": rng.choice(["house", "flat"], n, p=[0.7, 0.3]),
        }
    )
    score = 7.0 * (frame["debt"] - 0.33) + 2.5 * (frame["value"] - 0.74) + 0.45 * (frame["credit"] - 2.2)
    score += 5.0 * (frame["insurance"] == "refused") + 1.6 * (frame["record"] == "bad")
    score += 0.5 * (frame["family"] == "single")
    score = score.to_numpy() + rng.logistic(size=n)
    return frame, (score > np.quantile(score, 0.88)).astype(np.int64)


@st.composite
def mixed_tables(draw: st.DrawFn, n_classes: tuple[int, ...] = (2, 3, 5)) -> Mixed:
    return mixed_table(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        n=draw(st.sampled_from([150, 80, 40])),
        n_numbers=draw(st.integers(0, 3)),
        n_categories=draw(st.sampled_from([(4,), (2, 5), (12, 3), (3, 3, 3), (40,)])),
        n_classes=draw(st.sampled_from(n_classes)),
        missing=draw(st.sampled_from([0.0, 0.1, 0.4])),
    )


def fit_mixed(table: Mixed, weight: Floats | None = None, **options: Any) -> FERLClassifier:
    model = tree_classifier(random_state=0, **({"max_rules": 15} | options))
    return model.fit(table.frame, table.y, weight)


@lru_cache
def wide_example(seed: int, n_classes: int) -> tuple[Mixed, FERLClassifier]:
    """A table of numbers and categories with missing values, and rules that were fitted on it."""
    table = mixed_table(np.random.default_rng(seed), n=300, n_numbers=3, n_classes=n_classes)
    return table, FERLClassifier(random_state=0, missing_conditions=True).fit(table.frame, table.y)


def rows_beside(table: Mixed, seed: int, n: int = 60) -> pd.DataFrame:
    """Training rows with other numbers, further values missing, categories never seen, and one row without values."""
    rng = np.random.default_rng(seed)
    rows = table.frame.iloc[rng.integers(len(table.frame), size=n)].reset_index(drop=True)
    for name in table.numbers:
        step = rng.choice([0.0, 0.1, 1.0, 5.0], size=n, p=[0.3, 0.4, 0.2, 0.1])
        rows[name] = rows[name] + step * rng.normal(size=n)
    rows = rows.mask(rng.random(rows.shape) < 0.2)
    for name in table.categories:
        rows.loc[rng.random(n) < 0.15, name] = "never seen"
    rows.loc[0] = pd.NA
    return rows.astype(table.frame.dtypes.to_dict())


def readings(model: FERLClassifier, rows: pd.DataFrame) -> dict[str, Floats]:
    """What a model says of rows."""
    evidence = model.predict_evidence(rows)
    return {
        "belief": evidence.belief,
        "ignorance": evidence.ignorance,
        "conflict": evidence.conflict,
        "deficit": model.support_deficit(rows),
        "neighbour": model.novelty_attribution(rows, measure="neighbour"),
        "residual": model.novelty_attribution(rows, measure="residual"),
    }


def assert_same_readings(
    one: FERLClassifier, other: FERLClassifier, rows: pd.DataFrame, other_rows: Any = None
) -> None:
    """The same bits, on the same rows or on those that correspond to them."""
    result = readings(other, rows if other_rows is None else other_rows)
    for name, value in readings(one, rows).items():
        assert value.tobytes() == result[name].tobytes(), name
