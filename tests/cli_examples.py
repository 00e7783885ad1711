"""Commands as a user types them, and small tables for them."""

from __future__ import annotations

import csv

import numpy as np
from typer.testing import CliRunner

from ferl._cli.app import app


def ferl(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result


def refused(*arguments):
    """What a command that is refused says, in one line."""
    stderr = ferl(*arguments, code=2).stderr
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1
    return stderr


def write_lines(path, *lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def write_table(path, columns, separator=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}


def noisy(n_rows, seed, kinds=("low", "mid", "high")):
    """A number, a category and a label that follows them, with noise."""
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=n_rows).round(4), rng.choice(["a", "b", "c"], n_rows)
    score = x + 0.8 * (group == "a") + rng.normal(scale=0.5, size=n_rows)
    edges = np.linspace(-0.6, 0.9, len(kinds) - 1)
    return {
        "x": x.tolist(),
        "group": group.tolist(),
        "kind": np.array(kinds)[np.searchsorted(edges, score)].tolist(),
    }
