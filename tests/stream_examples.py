"""Tables and comparisons for fits that do not see all rows at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from ferl._models.model import Model
from ferl._models.tree import FuzzyTree


def people(n_rows: int = 3000, seed: int = 0, n_classes: int = 3) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, text, booleans, integers; values missing; many equal rows; labels and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows).round(2)
    city = rng.choice(["Oslo", "Bergen", "Rome", "Atlantis"], n_rows, p=[0.5, 0.3, 0.19, 0.01])
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n_rows) < 0.1, np.nan, x),
            "size": rng.integers(0, 20, n_rows),
            "city": np.where(rng.random(n_rows) < 0.1, None, city),
            "member": rng.random(n_rows) < 0.4,
            "z": rng.normal(size=n_rows).round(1),
        }
    )
    score = np.nan_to_num(x) + (city == "Rome") - 0.1 * frame["size"] + rng.normal(scale=0.5, size=n_rows)
    y = np.array(["a", "b", "c"])[np.digitize(score, np.quantile(score, [0.4, 0.9][: n_classes - 1]))]
    return frame, y, rng.choice([0.0, 0.5, 1.0, 2.0, 0.3], n_rows)


def in_batches(size: int, X: Any, y: Any, weight: Any = None) -> list[tuple[Any, ...]]:
    cuts = [slice(i, i + size) for i in range(0, len(y), size)]
    take = (lambda item: X.iloc[item]) if isinstance(X, pd.DataFrame) else (lambda item: X[item])
    return [(take(cut), y[cut]) if weight is None else (take(cut), y[cut], weight[cut]) for cut in cuts]


def same_model(one: Model, other: Model) -> None:
    same_tree(one.tree, other.tree)
    for name in ("rules", "prior", "ranges", "curvature", "novelty_scale"):
        compare(name, getattr(one, name, None), getattr(other, name, None))
    assert type(one) is type(other)
    assert one.classes.tolist() == other.classes.tolist()
    assert one.schema == other.schema
    assert one.n_growth_rows == other.n_growth_rows
    assert one.derived == other.derived
    assert one.replaced == other.replaced


def same_tree(one: FuzzyTree, other: FuzzyTree) -> None:
    for field in fields(FuzzyTree):
        compare(field.name, getattr(one, field.name), getattr(other, field.name))


def compare(name: str, one: Any, other: Any) -> None:
    if hasattr(one, "__dataclass_fields__"):
        for field in fields(one):
            compare(f"{name}.{field.name}", getattr(one, field.name), getattr(other, field.name))
    else:
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=name)


CASES: dict[str, dict[str, Any]] = {
    "deep": {"kind": "deep"},
    "words": {"kind": "words"},
    "compact": {"kind": "compact"},
    "mdlp": {"kind": "compact", "words": "mdlp"},
    "sampled": {"kind": "deep", "growth_rows": 500},
    "sampled words": {"kind": "words", "growth_rows": 400},
    "sampled compact": {"kind": "compact", "growth_rows": 400},
    "balanced": {"kind": "medium", "class_weight": "balanced"},
    "class weights": {"kind": "deep", "class_weight": {"a": 0.3, "b": 2.0, "c": 1.7}, "growth_rows": 800},
    "missing": {"kind": "deep", "missing_conditions": True, "max_rules": 30},
    "integers as categories": {
        "kind": "deep",
        "categorical_features": ["size", "city", "member"],
        "growth_rows": 1000,
    },
    "no exemplars": {"kind": "deep", "n_exemplars": 0},
    "rules": {"kind": "rules", "max_rules": 20, "missing_conditions": True},
    "sampled rules": {
        "kind": "rules",
        "max_rules": 10,
        "growth_rows": 400,
        "n_exemplars": 40,
        "categorical_features": ["size", "city"],
    },
}
