"""A generated table of any size with a known best accuracy: 20 numbers, 5 categorical columns, two classes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl._util.files import replacing

N_NUMBERS = 20
N_LEVELS = (4, 8, 16, 50, 200)
PART_ROWS = 250_000  # of a file
TARGET = "label"


def draw(part: int, n_rows: int) -> tuple[Floats, list[NDArray[np.int32]], NDArray[np.int8], float]:
    """Return numbers, category codes and labels of one part, and the best accuracy that any classifier has on it.

    The log-odds add up a line, a product, a wave, a condition, and what each category adds.
    """
    rng = np.random.default_rng([part, 1])
    X = rng.normal(size=(n_rows, N_NUMBERS))
    codes = [rng.integers(0, n_categories, n_rows).astype(np.int32) for n_categories in N_LEVELS]
    score = 1.2 * X[:, 0] + X[:, 1] * X[:, 2] + 1.5 * np.sin(2 * X[:, 3]) + np.where(X[:, 4] > 0, X[:, 5], -X[:, 6])
    for place, code in enumerate(codes):
        score += 0.7 * np.random.default_rng([place, 2]).normal(size=N_LEVELS[place])[code]
    probability = 1 / (1 + np.exp(-1.5 * score))
    y = (rng.random(n_rows) < probability).astype(np.int8)
    return X, codes, y, float(np.maximum(probability, 1 - probability).mean())


def write_parts(folder: Path, n_rows: int, step: Callable[[str], None]) -> Path:
    """Write the table as Parquet files of 250,000 rows, unless they are there; return their folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = folder / f"big-table-{n_rows}"
    place.mkdir(parents=True, exist_ok=True)
    for part in range(n_rows // PART_ROWS):
        path = place / f"part-{part:04d}.parquet"
        if path.exists():
            continue
        step(f"writing rows {part * PART_ROWS:,} to {(part + 1) * PART_ROWS:,}")
        X, codes, y, _ = draw(part, PART_ROWS)
        columns = {f"x{j}": pa.array(X[:, j].astype(np.float32)) for j in range(N_NUMBERS)}
        for j, code in enumerate(codes):
            names = pa.array([f"v{k}" for k in range(N_LEVELS[j])])
            columns[f"c{j}"] = pa.DictionaryArray.from_arrays(pa.array(code), names)
        columns[TARGET] = pa.array(y)
        with replacing(path) as beside:
            pq.write_table(pa.table(columns), beside)
    (place.parent / "big-table.json").write_text(json.dumps({"numbers": N_NUMBERS, "levels": N_LEVELS}))
    return place
