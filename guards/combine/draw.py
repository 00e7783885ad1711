"""Draws tables, parameters and steps: a case from its seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from combine.case import Case
from estimators import KINDS, TREES
from ferl.words import quantile_partition
from table_examples import Mixed, mixed_table


def draw_table(rng: np.random.Generator) -> Mixed:
    """Numbers with and without ties, categories of few and of many values, dates, gaps."""
    if rng.random() < 0.15:
        return draw_days(rng)
    n_classes = int(rng.choice([1, *[2] * 15, *[3] * 5, *[4] * 5]))
    table = mixed_table(
        rng,
        n=int(rng.choice([30, 60, 120, 200, 300])),
        n_numbers=int(rng.integers(1, 5)),
        n_categories=[(), (), (4,), (2, 5), (30,)][rng.integers(5)],
        n_classes=n_classes,
        missing=float(rng.choice([0.0, 0.0, 0.1, 0.4])),
    )
    frame, y, n = table.frame.copy(), table.y, len(table.y)
    if rng.random() < 0.5:  # of cells beside each other in turn: neighbours decide, and few rules do
        cell = np.floor(frame[table.numbers[:2]].fillna(0.0).to_numpy() * 1.5).sum(axis=1).astype(int)
        y = np.where(rng.random(n) < 0.05, rng.integers(n_classes, size=n), cell % n_classes)
        y[:n_classes] = np.arange(n_classes)
    for name in table.numbers[1:]:
        frame[name] = frame[name].round(int(rng.integers(0, 4)))
    frame["x0"] *= 10.0 ** (rng.choice([-140, -15, 15, 140]) if rng.random() < 0.1 else rng.integers(-3, 4))
    if rng.random() < 0.1:
        name, value = [("x9", 2.5), ("c9", "one")][rng.integers(2)]
        frame[name] = value
    if rng.random() < 0.3:
        seconds = rng.integers(0, 800 * 86_400, size=n) // (1 if rng.random() < 0.5 else 86_400) * 1.0
        days = pd.Series(pd.Timestamp("2021-05-03") + pd.to_timedelta(seconds, unit="s"))
        days = days.dt.tz_localize("UTC") if rng.random() < 0.3 else days
        frame["d0"] = days.mask(rng.random(n) < float(rng.choice([0.0, 0.1])))
        y = np.where(days.dt.dayofweek > 4, (y + 1) % n_classes, y) if rng.random() < 0.5 else y
    if rng.random() < 0.2:
        again = rng.integers(n, size=n // 3)  # rows that are equal, of classes that may differ
        frame.iloc[: len(again)] = frame.iloc[again].to_numpy(object)
        frame = frame.infer_objects()
    y[:n_classes] = np.arange(n_classes)
    labels = [y, np.array(["no", "yes", "perhaps", "never"])[y], y * 2.0][rng.integers(3)]
    return Mixed(frame, labels)


def draw_days(rng: np.random.Generator) -> Mixed:
    """Rows of few days that differ beyond what a number explains, so that days have evidence, and copies of days."""
    n, n_classes = int(rng.choice([300, 600, 1200])), int(rng.choice([2, 2, 3]))
    hour = rng.integers(0, 24 * int(rng.choice([30, 60])), size=n)
    at = pd.Series(pd.Timestamp("2021-05-03") + pd.to_timedelta(hour, unit="h"))
    frame = pd.DataFrame({"x0": rng.normal(size=n).round(2)})
    score = 3 * rng.normal(size=61)[hour // 24] + frame["x0"] + rng.logistic(size=n)
    if rng.random() < 0.5:
        frame["x1"] = at.dt.day.astype(float)
    if rng.random() < 0.3:
        frame["c0"] = pd.Series(np.array(["a", "b", "c"], object)[rng.integers(3, size=n)])
    frame["d0"] = at.mask(rng.random(n) < float(rng.choice([0.0, 0.1])))
    y = np.argsort(np.argsort(score.to_numpy())) * n_classes // n
    return Mixed(frame, [y, np.array(["no", "yes", "perhaps"])[y]][rng.integers(2)])


def draw_options(rng: np.random.Generator, kind: str, table: Mixed) -> dict[str, Any]:
    """Parameters of the classifier."""
    options: dict[str, Any] = {"random_state": int(rng.integers(1000)), "max_rules": int(rng.choice([1, 2, 6, 15]))}
    options["missing_conditions"] = bool(rng.random() < 0.3)
    options["support_gate"] = bool(rng.random() < 0.8)
    options["n_exemplars"] = int(rng.choice([0, 1, 20, 1024]))
    if options["support_gate"] and rng.random() < 0.3:
        options["gate_margin"] = float(rng.choice([0.1, 0.5, 3.0]))
    if rng.random() < 0.3:
        shares = {label: float(rng.choice([0.1, 0.4, 0.5, 1.0, 1.3, 3.0])) for label in np.unique(table.y).tolist()}
        options["class_weight"] = "balanced" if rng.random() < 0.4 else shares
    if rng.random() < 0.15 and "x1" in table.frame and table.frame["x1"].nunique() < 40:
        options["categorical_features"] = ["x1"]
    if rng.random() < 0.1:
        options["growth_rows"] = int(rng.choice([20, 50]))
    if kind in TREES:
        return options | draw_tree_options(rng, kind, table)
    options["max_conditions"] = int(rng.integers(1, 4))
    options["effort"] = int(rng.choice([1, 1, 2]))
    options["cases"] = bool(rng.random() < 0.6)
    if options["cases"]:
        options["n_cases"] = int(rng.choice([20_000, 20_000, 40, 3]))
    elif rng.random() < 0.3 and len(np.unique(table.y)) == 2:
        options["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    if rng.random() < 0.3:
        options["prune"] = float(rng.choice([0.0, 0.05]))
    if rng.random() < 0.2:
        options["max_rules"] = ["auto", None][rng.integers(2)]
    if kind == "words":
        options["words"] = [True, True, "quantile", "triangles", "width", "mdlp"][rng.integers(6)]
        options["n_sets"] = int(rng.integers(2, 8))
        if rng.random() < 0.2:
            options["words"] = own_words(table, options["n_sets"], options.get("categorical_features", ()))
    else:
        options["max_maps"] = [25, 0, None][rng.integers(3)]
    return options


def own_words(table: Mixed, n_sets: int, categories: Any = ()) -> list[Any]:
    """Words of every number and of no other column."""
    numbers = [name for name in table.numbers if name not in categories]
    made = dict(zip(numbers, quantile_partition(table.frame[numbers], n_sets=n_sets), strict=True))
    return [made.get(name) for name in table.frame.columns]


def draw_tree_options(rng: np.random.Generator, kind: str, table: Mixed) -> dict[str, Any]:
    """Parameters of trees alone."""
    options: dict[str, Any] = {"combination": str(rng.choice(["dempster", "vote", "cautious", "chain"]))}
    choices: dict[str, list[Any]] = {
        "sources": ["leaves", "all"],
        "discount": [0.1, 0.5],
        "consequents": ["laplace", "raw"],
        "max_depth": [1, 3],
        "min_coverage": [0.2],
        "min_leaf_weight": [0.5, 10.0],
    }
    if kind == "compact":
        choices |= {"n_sets": [2, 5], "criterion": ["cci"], "words": ["triangles", "width", "mdlp"]}
    else:
        choices |= {"band": ["median_mad"], "two_mode": [False], "n_banded_features": [None, 2], "ccp_alpha": [0.01]}
        choices |= {"criterion": ["entropy", "cci"], "band_scale": [0.0, 2.0]}
    options |= {name: own[rng.integers(len(own))] for name, own in choices.items() if rng.random() < 0.2}
    if kind != "compact" and rng.random() < 0.3 and len(np.unique(table.y)) == 2:
        options["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    return options


def draw(seed: int) -> Case:
    """A case, from its seed alone."""
    rng = np.random.default_rng([seed, 17])
    kind = str(rng.choice(["rules", *KINDS]))
    table = draw_table(rng)
    options = draw_options(rng, kind, table)
    n = len(table.y)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.4 else None
    weight = weight * rng.random(n).round(2) + 1.0 if weight is not None and rng.random() < 0.2 else weight
    groups = rng.integers(0, n // 6, size=n) if kind not in TREES and rng.random() < 0.3 else None
    steps, balanced = [], options.get("class_weight") == "balanced"
    if groups is None and not balanced and rng.random() < 0.3:
        steps.append("begun")
    possible = ["through a file"] + ["updated"] * (not balanced) + ["edited", "edited"] * (kind not in TREES)
    steps += rng.choice(possible, size=rng.choice([0, 0, 1, 2, 3])).tolist()
    return Case(seed, kind, options, table, weight, groups, tuple(steps))
