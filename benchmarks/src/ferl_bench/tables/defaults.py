"""What each default of the library was chosen over, measured on training rows only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.cache import Result
from ferl_bench.method import Method
from ferl_bench.methods.ferl import MODELS, fit, prediction_set, size
from ferl_bench.render import Report
from ferl_bench.rows import ANSWERS, LOG_LOSS, SETS, Row, failure_notes, make_row, method_section, require_some
from ferl_bench.table import Request, Table

N_SEEDS = 3

# Each line changes one thing of deep trees.
ALTERNATIVES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("deep", {}),
    ("max_depth=12", {"max_depth": 12}),
    ("max_depth=16", {"max_depth": 16}),
    ("median_mad", {"band": "median_mad"}),
    ("band_scale=0.8", {"band_scale": 0.8}),
    ("band_scale=1.2", {"band_scale": 1.2}),
    ("two_mode=False", {"two_mode": False}),
    ("2 banded", {"n_banded_features": 2}),
    ("3 banded", {"n_banded_features": 3}),
    ("all banded", {"n_banded_features": None}),
    ("16 resamples", {"n_resamples": 16}),
    ("48 resamples", {"n_resamples": 48}),
    ("leaf weight 1", {"min_leaf_weight": 1.0}),
    ("leaf weight 5", {"min_leaf_weight": 5.0}),
    ("shrinkage=2", {"shrinkage": 2.0}),
    ("shrinkage=10", {"shrinkage": 10.0}),
    ("laplace", {"consequents": "laplace"}),
    ("raw", {"consequents": "raw"}),
    ("cci", {"criterion": "cci"}),
    ("entropy", {"criterion": "entropy"}),
    ("vote", {"combination": "vote"}),
    ("cautious", {"combination": "cautious"}),
    ("chain", {"combination": "chain"}),
    ("all nodes", {"sources": "all"}),
    ("medium", {"variant": "medium"}),
    ("medium, depth 8", {"variant": "medium", "max_depth": 8}),
)


@dataclass(frozen=True)
class Alternatives:
    """Alternatives to compare, the default first, each over some seeds; whether they read categories as they are."""

    name: str
    title: str
    alternatives: Sequence[tuple[str, dict[str, Any]]]
    n_seeds: int
    reads_categories: bool = False


def _fit_shifted(
    parameters: dict[str, Any], repeat: int, X: NDArray[np.float64], y: NDArray[np.int64], seed: int
) -> Any:
    return fit(parameters, X, y, seed + 100 * repeat)


def _method(label: str, parameters: Mapping[str, Any], repeat: int, reads_categories: bool = False) -> Method:
    return Method(
        name=f"{label} #{repeat}",
        fit=partial(_fit_shifted, dict(parameters), repeat),
        size=size,
        prediction_set=prediction_set,
        parameters={**parameters, "repeat": repeat},
        is_ours=True,
        judged_on="calibration",
        reads_categories=reads_categories,
    )


def run_defaults(request: Request) -> Report:
    """Measure each alternative to a default of deep trees on the calibration parts, over several seeds."""
    alternatives = [(label, {**MODELS["deep"], **change}) for label, change in ALTERNATIVES]
    return run_alternatives(request, Alternatives("defaults", "Defaults of trees", alternatives, N_SEEDS))


def run_alternatives(request: Request, study: Alternatives) -> Report:
    """Measure alternatives on the calibration parts, each with several seeds."""
    repeats = range(study.n_seeds)
    methods = [
        _method(label, given, repeat, study.reads_categories)
        for label, given in study.alternatives
        for repeat in repeats
    ]
    results = request.results(methods)
    rows = [_row(label, study.n_seeds, results) for label, _ in study.alternatives]
    require_some(rows)
    answers = [replace(measure, spread=None) for measure in (*ANSWERS, LOG_LOSS)]
    note = "Means over data sets, folds and seeds. The first line is the default; each other line changes one thing."
    return Report(
        name=study.name,
        title=f"{study.title} and their alternatives, judged on the calibration parts (test rows are not looked at)",
        facts=request.facts(seeds=f"fold + 100 k, k < {study.n_seeds}"),
        sections=[
            method_section("Answers", rows, answers, [note]),
            method_section("Prediction sets", rows, SETS),
        ],
        data={row.method.name: {measure.key: row.centre(measure.key) for measure in (*answers, *SETS)} for row in rows},
        failures=failure_notes(rows),
    )


def _row(label: str, n_seeds: int, results: Sequence[Result]) -> Row:
    """The seeds of one alternative as one row: each seed's folds count like further folds."""
    repeats = [make_row(_method(label, {}, repeat), results) for repeat in range(n_seeds)]
    shared = set.intersection(*(set(row.data_sets) for row in repeats))
    means = {
        name: {key: float(np.mean([row.data_sets[name][key] for row in repeats])) for key in repeats[0].data_sets[name]}
        for name in sorted(shared)
    }
    failures = [failure for row in repeats for failure in row.failures]
    return Row(replace(repeats[0].method, name=label), means, failures)


TABLE = Table(
    summary="What each default was chosen over, measured on training rows only.",
    run=run_defaults,
    chapter="Choices of defaults",
    minutes=4,
)
