"""Random tables with categories and missing values, and rows to judge, for the tests of real tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ferl import FERLClassifier

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TABLE_LAW = settings(max_examples=40, deadline=None, derandomize=True, database=None)


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
    model = FERLClassifier(random_state=0, **({"max_rules": 15} | options))
    return model.fit(table.frame, table.y, weight)


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
    found = readings(other, rows if other_rows is None else other_rows)
    for name, value in readings(one, rows).items():
        assert value.tobytes() == found[name].tobytes(), name
