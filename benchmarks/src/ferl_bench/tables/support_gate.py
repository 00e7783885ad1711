"""The support-gate table: the same models with and without gates, on test rows and far outside the training range."""

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
from ferl_bench.methods import ferl
from ferl_bench.protocol import Fold, make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = dict[str, float]

CODE = ("ferl_bench/tables/support_gate.py",)
N_OUTSIDE_SETS = 7  # as many as in the paper, which does not name them
N_OUTSIDE_FOLDS = 2
OUTSIDE = (1.0, 2.0)  # how far rows are moved, in ranges of each feature
GATES = {False: "unbounded", True: "bounded"}
MODELS = {f"FERL-{name}": ferl.MODELS[name] for name in ("wide", "deep")}
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
    "FERL-deep, unbounded": (82.00, 90.65, 1.31, 47.03, 23.19, 100.00, 100.00),
    "FERL-deep, bounded": (81.99, 90.65, 1.31, 99.29, 98.62, 99.67, 7.28),
}
WANTED = {"FERL-wide": (0.1, 99.5), "FERL-deep": (0.1, 98.0)}
"""Change of accuracy at most, ignorance AUROC at least."""
NOTES = (
    "Both rows of a model have the same fitted rules: gates act at inference only. In brackets: the paper's figure.",
    f"First three columns: all data sets and folds. The others: the first {N_OUTSIDE_SETS} sets without categories, in "
    f"alphabetical order, and {N_OUTSIDE_FOLDS} folds; test rows against the same rows moved outside, each feature "
    f"up or down at random by {OUTSIDE[0]:g} to {OUTSIDE[1]:g} times its range in the fitting part. The paper does not "
    "say how it moves rows.",
    "Firing: the share of the evidence that no gate withholds, one minus the support deficit; the total firing of the "
    "rules of a tree. Its AUROC: how well it tells moved rows; without gates it is always one.",
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


def _study(with_outside: bool) -> Study[dict[str, Figures]]:
    measure_all = partial(measure, with_outside=with_outside)
    return Study("toggling gates", measure_all, CODE, {"with_outside": with_outside})


def row_name(model: str, gate: bool) -> str:
    """Name of a row of the table."""
    return f"{model}, {GATES[gate]}"


def measure(data: DataSet, with_outside: bool) -> dict[str, Figures]:
    """Mean figures of one data set over folds, of every model with and without gates."""
    result: dict[str, list[Figures]] = {}
    for fold in make_folds(data.y):
        X, X_test = encode(data, fold.fitting, fold.test)
        for name, parameters in MODELS.items():
            fitted = ferl.fit(parameters, X, data.y[fold.fitting], fold.index)
            moved = move_outside(X, X_test, fold.index) if with_outside and fold.index < N_OUTSIDE_FOLDS else None
            for gate in GATES:
                model = fitted.reading(support_gate=gate)
                result.setdefault(row_name(name, gate), []).append(_measure_fold(data, fold, model, X_test, moved))
    return {
        name: {key: fmean(fold[key] for fold in folds if key in fold) for key in folds[0]}
        for name, folds in result.items()
    }


def _measure_fold(data: DataSet, fold: Fold, model: ferl.Classifier, X_test: Floats, moved: Floats | None) -> Figures:
    y_test = data.y[fold.test]
    sets = np.zeros((len(X_test), len(data.class_names)), dtype=bool)
    sets[:, model.classes_] = model.predict_set(X_test)
    figures = {
        "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)),
        "set_coverage": 100 * metrics.set_coverage(y_test, sets, np.arange(len(data.class_names))),
        "set_size": metrics.mean_set_size(sets),
    }
    if moved is None:
        return figures
    rows, is_moved = np.vstack([X_test, moved]), np.arange(2 * len(moved)) >= len(moved)
    firing = 1 - model.support_deficit(rows).sum(axis=1)
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
    figures: Mapping[str, Mapping[str, Figures]], failures: Mapping[str, str], facts: Mapping[str, object]
) -> Report:
    """Turn the figures of all data sets into the report."""
    names = [row_name(model, gate) for model in MODELS for gate in GATES]
    means = {
        name: {key: fmean(figure[name][key] for figure in figures.values() if key in figure[name]) for key in COLUMNS}
        for name in names
    }
    goals = [_goal(model, means) for model in MODELS]
    rows = [[name, *_cells(name, means[name])] for name in names]
    failed = [f"Failed on {name}: {message}" for name, message in failures.items()]
    header = ["Support gate", *(title for title, _ in COLUMNS.values())]
    bounded = row_name("FERL-deep", True)
    return Report(
        name="support_gate",
        title="Support gates: the same models with and without",
        facts=facts,
        sections=[Section("Bounded support", header, rows, [*NOTES, *goals, *failed])],
        data={
            "mean": means,
            "data_sets": {name: dict(item) for name, item in figures.items()},
            "failures": dict(failures),
        },
        headlines=[
            Headline(f"{bounded}: {COLUMNS[key][0]}, %", means[bounded][key], PAPER[bounded][list(COLUMNS).index(key)])
            for key in ("accuracy", "set_coverage", "firing_auroc", "ignorance_auroc")
        ],
        failures=failed,
    )


def _goal(model: str, means: Mapping[str, Figures]) -> str:
    bounded, unbounded = (means[row_name(model, gate)] for gate in (True, False))
    change, (most, least) = bounded["accuracy"] - unbounded["accuracy"], WANTED[model]
    return (
        f"{model}: accuracy changes by {change:+.2f} (wanted: at most {most:g} either way); ignorance AUROC with gates "
        f"{bounded['ignorance_auroc']:.2f} (at least {least:g})."
    )


def _cells(name: str, figures: Figures) -> list[str]:
    cells = [f"{figures[key]:{form}}" for key, (_, form) in COLUMNS.items()]
    if name not in PAPER:
        return cells
    forms = [form for _, form in COLUMNS.values()]
    return [f"{cell} [{paper:{form}}]" for cell, paper, form in zip(cells, PAPER[name], forms, strict=True)]


TABLE = Table(
    summary="The same models with and without support gates, on test rows and far outside.",
    run=run_support_gate,
    chapter="Ablations",
    minutes=5,
)
