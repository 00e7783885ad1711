"""Data sets small enough to know by heart, and a console that nobody looks at."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
from rich.console import Console


def write_csv(path: Path, header: str, rows: list[list[object]]) -> None:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def small_data_sets(tmp_path: Path) -> Path:
    """``blobs``: three numeric classes, one of them with two rows. ``mixed``: a number and a category, two classes."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    labels = ["a"] * 30 + ["b"] * 30 + ["rare"] * 2
    blobs: list[list[object]] = [[*rng.normal(ord(label[0]) % 7, 1.5, 2).round(3), label] for label in labels]
    write_csv(data / "blobs.csv", "x0,x1,class", blobs)
    colours = rng.choice(["red", "green", "blue"], 50)
    mixed: list[list[object]] = [[round(rng.normal(), 3), c, int(c == "red" or rng.random() < 0.2)] for c in colours]
    write_csv(data / "mixed.csv", "x0,x1,class", mixed)
    return data


def quiet() -> Console:
    return Console(file=StringIO(), width=200)
