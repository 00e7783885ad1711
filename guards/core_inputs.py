"""Write what ``guards/core_digests.cpp`` reads, and say what the installed core answers.

The golden models with their rows, and random tables to learn from, as plain binary arrays::

    python guards/core_inputs.py build/guards/inputs.bin > expected

The output has the digests of the golden models, by the compiled core that Python has. The driver prints the same lines.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from golden_vectors import load, names

LARGE = (3, True, 9000, 6000)  # as many rows as threads need to share the work of every stage among them
RULES = ("dempster", "cautious", "chain", "vote")  # in the order of the core


def write(file: BinaryIO, *values: Any) -> None:
    """Write arrays, text and numbers, each after the number of its entries."""
    for value in values:
        if isinstance(value, str):
            array = np.frombuffer(value.encode(), dtype=np.uint8)
        else:
            array = np.ascontiguousarray(np.atleast_1d(value)).ravel()
            array = array.astype(np.float64) if array.dtype == np.int64 else array
        file.write(np.uint64(array.size).tobytes() + array.tobytes())


def digest(*arrays: NDArray[Any]) -> str:
    """The digest that the driver makes of the same arrays of doubles."""
    values = np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    with np.errstate(over="ignore"):
        bits = bits + np.arange(1, bits.size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return f"{int((bits ^ (bits >> np.uint64(31))).sum()):016x}"


def write_model(file: BinaryIO, name: str, model: Model, rows: NDArray[np.float64]) -> str:
    """Write a model with its rows; returns the digest of what the core answers."""
    tree, scale = model.tree, np.where(model.tree.n_categories(rows.shape[1]) > 0, 0.0, 1.0)
    start, membership = np.zeros(tree.n_nodes + 1, dtype=np.int32), np.zeros(0)
    if tree.categories is not None:
        start, membership = tree.categories.start, tree.categories.membership
    write(file, "tree" if model.kind == "trees" else "weights", name)
    write(file, tree.parent, tree.feature, tree.trapezoid, tree.share, start, membership, tree.support)
    write(file, float(model.reading.gate_margin))
    n, n_classes = len(rows), len(model.classes)
    radius, ignorance, conflict = np.zeros(n), np.zeros(n), np.zeros(n)
    if model.kind == "trees":
        rule, gated = model.reading.combination, model.reading.support_gate
        write(file, tree.consequent, model.reliability, model.is_source)
        write(file, float(n_classes), float(RULES.index(rule)), float(gated), rows, scale)
        deficit, belief = np.zeros(rows.shape), np.zeros((n, n_classes))
        model.core.support_deficit(rows, 1, deficit)
        model.sources.combine(rows, 1, belief, ignorance, conflict)
        answers = [model.fire(rows), deficit, belief, ignorance, conflict]
        if rule in ("dempster", "vote"):
            model.sources.certified_radius(rows, belief.argmax(axis=1).astype(np.int32), scale, 1, radius)
            answers.append(radius)
        return digest(*answers)
    assert isinstance(model, RuleModel)
    model = replace(model, curves=None)  # which the driver does without
    rules, columns = model.rules, model.gated_columns
    write(file, rules.node, rules.weight, model.prior, model.base)
    write(file, rules.products, rules.ridge, model.row_curvature)
    write(file, float(model.n_fading), columns, model.ranges[columns])
    write(file, tree.n_categories(len(model.ranges))[columns], float(model.reading.gate_margin), rows, scale)
    scores, probability, support, n_rows = np.zeros((n, n_classes)), np.zeros((n, n_classes)), np.zeros(n), np.zeros(n)
    model.scores.scores(rows, 1, scores)
    model.scores.weigh(rows, model.rows_behind, 1, probability, conflict, support, n_rows)
    model.scores.certified_radius(rows, scores.argmax(axis=1).astype(np.int32), scale, 1, radius)
    return digest(scores, probability, conflict, support, n_rows, radius)


def write_table(file: BinaryIO, n_classes: int, weighted: bool, n: int, n_sampled: int) -> None:
    """Write a random table with categories, missing values, ties and equal rows."""
    rng = np.random.default_rng([n_classes, weighted, n])
    X = np.column_stack([rng.normal(size=(n, 4)), rng.integers(0, 5, n), rng.normal(size=n).round(1)])
    X = np.column_stack([X, rng.integers(0, 4, (n, 2))]).astype(float)
    score = X[:, 0] + np.abs(X[:, 1]) + (X[:, 6] == 2) + 0.4 * rng.normal(size=n)
    y = (np.argsort(np.argsort(score)) * n_classes // n).astype(np.int32)
    X[::7, 2], X[3::11, 6] = np.nan, np.nan
    X[-50:], y[-50:] = X[:50], y[:50]
    weight = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    write(file, "table", f"table {n} {n_classes} {'weighted' if weighted else 'plain'}")
    write(file, np.array([0, 0, 0, 0, 0, 0, 4, 4], dtype=np.int32), float(n_classes), float(n_sampled), X, y, weight)


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as inputs:
        for own in names():
            vectors = load(own)
            print(own, write_model(inputs, own, vectors.classifier.model_, vectors.rows))
        for table in ((2, False, 600, 400), (2, True, 600, 400), (3, True, 600, 400), (11, False, 600, 400), LARGE):
            write_table(inputs, *table)
