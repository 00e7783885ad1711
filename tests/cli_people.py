"""A table of people with gaps, text, ids and integers that are categories; a model of it, and rows to judge."""

from __future__ import annotations

import numpy as np
import pytest

from cli_examples import ferl, write_table

ROWS = 400
ANSWERS = ["label", "probability", "set", "ignorance", "rows", "novelty", "abstention"]


def people(n_rows: int = ROWS, seed: int = 0):
    """Names, numbers with holes, text, and integers that are categories."""
    rng = np.random.default_rng(seed)
    age, code = rng.integers(18, 90, n_rows), rng.choice([101, 202, 303], n_rows)
    city = rng.choice(["Oslo", "Bergen", "Rome, IT"], n_rows)
    x = rng.normal(size=n_rows).round(4)
    return {
        "name": [f"p{i}" for i in range(n_rows)],
        "age": ["" if i % 9 == 0 else str(age[i]) for i in range(n_rows)],
        "city": ["" if i % 11 == 0 else str(city[i]) for i in range(n_rows)],
        "code": [str(item) for item in code],
        "x": [str(item) for item in x],
        "y": np.where((x > 0) ^ (code == 101), "yes", "no").tolist(),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training table, a model of it, and a table to judge."""
    folder = tmp_path_factory.mktemp("models")
    write_table(folder / "train.csv", people())
    write_table(folder / "new.csv", {name: item for name, item in people(50, 1).items() if name != "y"})
    options = ["--target", "y", "--drop", "name", "--categorical", "code"]
    ferl("fit", folder / "train.csv", *options, "-o", folder / "model.json")
    return folder
