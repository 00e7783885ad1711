"""Random tables with all that tables have, the trees the core grows on them, and the oracle's view of the same rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

import oracle
from ferl import FERLClassifier, FERLTreeClassifier, FuzzyTree

Floats = NDArray[np.float64]

N_TABLES = 150  # random tables with ties, copies, weights
N_CONTINUOUS = 60  # random tables without ties


@dataclass(frozen=True, eq=False)
class Case:
    """A random training table, the tree the core made of it, and the oracle's view of the same rows."""

    X: Floats
    weight: Floats
    model: FERLClassifier
    options: oracle.GrowthOptions
    growth: oracle.Sample  # the rows splits are chosen on
    everything: oracle.Sample  # all distinct rows

    @property
    def tree(self) -> FuzzyTree:
        return self.model.tree_


def random_column(rng: np.random.Generator, n: int, others: list[Floats]) -> Floats:
    kind = rng.choice(["continuous", "small", "few", "constant", "copy", "mirrored", "offset"])
    if kind == "small":
        return rng.normal(size=n).round(1) * 1e-3
    if kind == "few":
        return rng.integers(0, rng.integers(2, 6), n).astype(float)
    if kind == "constant":
        return np.full(n, 7.0)
    if kind == "offset":
        return 1e7 + rng.integers(0, 9, n)
    if kind in ("copy", "mirrored") and others:
        return others[rng.integers(len(others))] * (1 if kind == "copy" else -1)
    return rng.normal(size=n)


def random_table(rng: np.random.Generator, *, tied: bool) -> tuple[Floats, NDArray[np.int64]]:
    n, d = int(rng.integers(70, 200)), int(rng.choice([1, 2, 3, 5, 8, 20, 50]))
    columns: list[Floats] = []
    for _ in range(d):
        columns.append(random_column(rng, n, columns) if tied else rng.normal(size=n))
    X = np.column_stack(columns)
    n_classes = int(rng.choice([2, 2, 2, 3, 3, 5, 10, 30] + [1] * tied))
    # Labels that some features explain, one of them from both sides (so that cuts fall in two places), and noise.
    a, b = rng.integers(d, size=2)
    standard = (X - X.mean(axis=0)) / np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    score = (
        standard[:, a] + np.abs(standard[:, b]) * rng.choice([0.0, 2.0]) + rng.choice([0.1, 0.7]) * rng.normal(size=n)
    )
    y = np.argsort(np.argsort(score, kind="stable")) * n_classes // n
    if tied and rng.random() < 0.4:
        again = rng.integers(0, n, n // 2)
        X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    return X, y


def random_weight(rng: np.random.Generator, n: int) -> Floats | None:
    kind = rng.choice(["none", "counts", "fractions", "zeros", "shares", "heavy"])
    if kind == "counts":
        return rng.integers(1, 4, n).astype(float)
    if kind == "fractions":
        return rng.uniform(0.3, 3.0, n)
    if kind == "zeros":
        return np.where(rng.random(n) < 0.2, 0.0, 1.0)
    if kind == "shares":
        return rng.dirichlet(np.ones(n))
    if kind == "heavy":  # beyond the cap on draws
        return rng.choice([1.0, 150.0], n, p=[0.9, 0.1])
    return None


def random_options(rng: np.random.Generator) -> dict[str, object]:
    return {
        "max_rules": int(rng.choice([2, 6, 12, 20])),
        "max_depth": int(rng.choice([2, 4, 12, 12])),
        # Not a round number: whether the sum of rows of weight one is at least 2.0 can depend on rounding.
        "min_leaf_weight": float(rng.choice([0.7, 1.3, 2.3, 5.1])),
        "min_gain": float(rng.choice([0.0, 0.0, 0.0, 0.003, 0.02])),
        "patience": int(rng.integers(0, 4)),
        "min_coverage": float(rng.choice([0.0, 0.0, 0.0, 0.0513, 0.2017])),
        "n_resamples": int(rng.choice([1, 7, 8, 9, 25])),
        "band": str(rng.choice(["mean_std", "mean_std", "median_mad"])),
        "band_scale": float(rng.choice([0.0, 0.5, 1.0, 1.0, 4.0])),
        "two_mode": bool(rng.random() < 0.75),
        "n_banded_features": [1, 1, 2, None][rng.integers(4)],
        "growth_rows": [None, None, 40][rng.integers(3)],
    }


def fit_case(X: Floats, y: NDArray[np.int64], weight: Floats | None, seed: int, **options: object) -> Case:
    model = FERLTreeClassifier(
        "deep", random_state=seed, **{"max_rules": 20, "max_depth": 12, "min_gain": 0.0, "criterion": "gini"} | options
    ).fit(X, y, weight)
    weight = np.ones(len(X)) if weight is None else weight
    codes = np.searchsorted(model.classes_, y).astype(np.int32)
    core_seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
    growth_options = oracle.GrowthOptions(
        **{field.name: getattr(model, field.name) for field in fields(oracle.GrowthOptions)}
    )

    def sample(n_rows: int) -> oracle.Sample:
        return oracle.take_sample(X, codes, weight, len(model.classes_), core_seed, n_rows, growth_options.n_resamples)

    return Case(X, weight, model, growth_options, sample(model.growth_rows or len(X)), sample(len(X)))


@cache
def tied_case(seed: int, criterion: str = "gini") -> Case:
    rng = np.random.default_rng([seed, 1])
    X, y = random_table(rng, tied=True)
    return fit_case(X, y, random_weight(rng, len(X)), seed, criterion=criterion, **random_options(rng))


@cache
def continuous_case(seed: int, criterion: str = "gini") -> Case:
    rng = np.random.default_rng([seed, 2])
    X, y = random_table(rng, tied=False)
    return fit_case(X, y, random_weight(rng, len(X)), seed, criterion=criterion, **random_options(rng))


def rows_to_judge(case: Case, seed: int, n: int) -> Floats:
    """Training rows, rows around them, rows outside the support, and rows far away."""
    rng = np.random.default_rng([seed, 3])
    X = case.X[rng.integers(len(case.X), size=n)]
    spread = np.ptp(case.X, axis=0)
    step = rng.choice([0.0, 0.05, 0.7, 1e6], size=(n, 1), p=[0.3, 0.4, 0.25, 0.05])
    return np.asarray(X + step * spread * rng.normal(size=X.shape))
