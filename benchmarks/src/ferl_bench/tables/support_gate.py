"""The support-gate table: the same trees with and without gates, on test rows and far outside the training range."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import fmean

import numpy as np

from ferl import metrics
from ferl._util.arrays import Floats
from ferl_bench.data import DataSet, encode
from ferl_bench.errors import BenchError
from ferl_bench.headline import Headline
from ferl_bench.methods.ferl import fit
from ferl_bench.protocol import Fold, make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = dict[str, float]

CODE = ("ferl_bench/tables/support_gate.py",)
N_OUTSIDE_SETS = 7  # as many as in the paper, which does not name them
N_OUTSIDE_FOLDS = 2
OUTSIDE = (1.0, 2.0)  # how far rows are moved, in ranges of each feature
GATES = {False: "Unbounded", True: "Bounded"}
COLUMNS = {
    "accuracy": ("Acc.", ".2f"),
    "set_coverage": ("Set cov.", ".2f"),
    "set_size": ("Size", ".2f"),
    "firing_auroc": ("Firing AUROC", ".2f"),
    "ignorance_auroc": ("Ign. AUROC", ".2f"),
    "firing_known": ("Firing, test rows", ".2f"),
    "firing_outside": ("Firing, outside", ".2f"),
}
PAPER = {
    False: (82.00, 90.65, 1.31, 47.03, 23.19, 100.00, 100.00),
    True: (81.99, 90.65, 1.31, 99.29, 98.62, 99.67, 7.28),
}
NOTES = (
    "FERL-deep. Both rows have the same fitted trees: gates act at inference only. In brackets: the paper's figure.",
    f"First three columns: all data sets and folds. The others: the first {N_OUTSIDE_SETS} sets without categories, in "
    f"alphabetical order, and {N_OUTSIDE_FOLDS} folds; test rows against the same rows moved outside, each feature "
    f"up or down at random by {OUTSIDE[0]:g} to {OUTSIDE[1]:g} times its range in the fitting part. The paper does not "
    "say how it moves rows.",
    "Firing AUROC: how well one minus the total firing of the rules tells moved rows; without gates the firings always "
    "sum to one, and only rounding is left.",
    "All but the size are percentages.",
)


def run_support_gate(request: Request) -> Report:
    """Compare the two on every data set."""
    outside = [data.name for data in request.data_sets if not data.categorical.shape[1]][:N_OUTSIDE_SETS]
    if not outside:
        raise BenchError(f"none of the {len(request.data_sets)} data sets is without categories")
    moved = [data for data in request.data_sets if data.name in outside]
    others = [data for data in request.data_sets if data.name not in outside]
    studied = request.study(_study(True), moved).merge(request.study(_study(False), others)).require_some()
    facts = request.facts(moved_outside=", ".join(name for name in outside if name in studied.figures))
    return make_report(studied.figures, studied.failures, facts)


def _study(with_outside: bool) -> Study[dict[bool, Figures]]:
    measure_both = partial(measure, with_outside=with_outside)
    return Study("toggling gates", measure_both, CODE, {"with_outside": with_outside})


def measure(data: DataSet, with_outside: bool) -> dict[bool, Figures]:
    """Mean figures of one data set over folds, with and without gates."""
    found: dict[bool, list[Figures]] = {gate: [] for gate in GATES}
    for fold in make_folds(data.y):
        for gate in GATES:
            found[gate].append(_measure_fold(data, fold, gate, with_outside and fold.index < N_OUTSIDE_FOLDS))
    return {
        gate: {key: fmean(own[key] for own in folds if key in own) for key in folds[0]} for gate, folds in found.items()
    }


def _measure_fold(data: DataSet, fold: Fold, gate: bool, with_outside: bool) -> Figures:
    X, X_test = encode(data, fold.fitting, fold.test)
    y_test = data.y[fold.test]
    model = fit({"variant": "deep", "support_gate": gate}, X, data.y[fold.fitting], fold.index)
    sets = np.zeros((len(X_test), len(data.class_names)), dtype=bool)
    sets[:, model.classes_] = model.predict_set(X_test)
    figures = {
        "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)),
        "set_coverage": 100 * metrics.set_coverage(y_test, sets, np.arange(len(data.class_names))),
        "set_size": metrics.mean_set_size(sets),
    }
    if not with_outside:
        return figures
    moved = move_outside(X, X_test, fold.index)
    rows, is_moved = np.vstack([X_test, moved]), np.arange(2 * len(moved)) >= len(moved)
    firing = model.tree_.fire(rows, gated=gate)[:, model.tree_.leaves].sum(axis=1)
    ignorance = model.predict_evidence(rows).ignorance
    return figures | {
        "firing_auroc": 100 * metrics.novelty_auroc(is_moved, -firing),
        "ignorance_auroc": 100 * metrics.novelty_auroc(is_moved, ignorance),
        "firing_known": 100 * float(firing[~is_moved].mean()),
        "firing_outside": 100 * float(firing[is_moved].mean()),
    }


def move_outside(X: Floats, rows: Floats, seed: int) -> Floats:
    """Rows moved in every feature, up or down at random, by one to two ranges of the feature in X."""
    rng = np.random.default_rng(seed)
    step = rng.uniform(*OUTSIDE, size=rows.shape) * rng.choice([-1.0, 1.0], size=rows.shape)
    return np.asarray(rows + step * np.ptp(X, axis=0))


def make_report(
    figures: Mapping[str, Mapping[bool, Figures]], failures: Mapping[str, str], facts: Mapping[str, object]
) -> Report:
    """Turn the figures of all data sets into the report."""
    means = {
        gate: {key: fmean(own[gate][key] for own in figures.values() if key in own[gate]) for key in COLUMNS}
        for gate in GATES
    }
    change = means[True]["accuracy"] - means[False]["accuracy"]
    goals = [
        f"Accuracy changes by {change:+.2f} (wanted: at most 0.1 either way).",
        f"Bounded: firing AUROC {means[True]['firing_auroc']:.2f} (wanted: at least 99), ignorance AUROC "
        f"{means[True]['ignorance_auroc']:.2f} (at least 98).",
    ]
    rows = [
        [GATES[gate], *(_cell(means[gate][key], form, paper) for (key, (_, form)), paper in _beside(gate))]
        for gate in GATES
    ]
    failed = [f"Failed on {name}: {message}" for name, message in failures.items()]
    header = ["Support gate", *(title for title, _ in COLUMNS.values())]
    return Report(
        name="support_gate",
        title="Support gates: the same trees with and without",
        facts=facts,
        sections=[Section("Bounded support", header, rows, [*NOTES, *goals, *failed])],
        data={
            "mean": {GATES[gate]: own for gate, own in means.items()},
            "data_sets": {name: {GATES[gate]: own[gate] for gate in GATES} for name, own in figures.items()},
            "failures": dict(failures),
        },
        headlines=[
            Headline(f"Bounded: {COLUMNS[key][0]}, %", means[True][key], PAPER[True][list(COLUMNS).index(key)])
            for key in ("accuracy", "set_coverage", "firing_auroc", "ignorance_auroc")
        ],
        failures=failed,
    )


def _beside(gate: bool) -> list[tuple[tuple[str, tuple[str, str]], float]]:
    return list(zip(COLUMNS.items(), PAPER[gate], strict=True))


def _cell(value: float, form: str, paper: float) -> str:
    return f"{value:{form}} [{paper:{form}}]"


TABLE = Table(
    summary="The same trees with and without support gates, on test rows and far outside.",
    run=run_support_gate,
    chapter="Ablations",
    minutes=1,
)
