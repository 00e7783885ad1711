"""The ood table: how well a class that was left out is told from those that were learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import metrics
from ferl._util.arrays import Floats
from ferl_bench.data import DataSet, encode
from ferl_bench.detectors import DETECTORS
from ferl_bench.errors import BenchError
from ferl_bench.headline import Headline
from ferl_bench.methods.ferl import COMPACT_TREE
from ferl_bench.protocol import make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = dict[str, dict[str, float]]
"""Measures by name, by detector."""

CODE = ("ferl_bench/tables/ood.py", "ferl_bench/detectors.py")
MIN_CLASSES = 3
MIN_ROWS = 10  # of a class that is left out
MEASURES = {"auroc": "AUROC", "aupr": "AUPR-Out", "fpr95": "FPR95", "rejected": "Rejected at 95 %"}
PAPER: dict[str, tuple[float, float]] = {
    "FERL-deep, residual": (77.66, 36.47),
    "FERL-medium, residual": (76.10, 31.82),
    f"{COMPACT_TREE}, residual": (67.41, 24.46),
    "10-NN": (77.38, 31.28),
    "Mahalanobis": (74.42, 30.69),
    "Isolation forest": (70.33, 25.45),
    "Softmax entropy": (54.18, 4.00),
}
"""AUROC and rejected share. The paper does not say how many neighbours its kNN looks at."""
TARGETS = {"FERL-wide": (85.5, 58.0), "FERL-deep, residual": (79.0, 39.0), "FERL-deep": (81.5, 46.0)}
NOTES = (
    "In brackets: the paper's figure. Means over data sets of the mean over left-out classes and folds; ± is the "
    "standard deviation over data sets.",
    "FERL-wide, -compact: distance to the nearest of at most 1024 kept rows, features scaled by the evidence they "
    "carry, plus half the entropy of the answer; the default novelty.",
    "FERL-deep, -medium, the paper's tree: distance to the nearest exemplar of the rules a row reaches, the default "
    "novelty. Residual: the paper's score, from means and variances alone. Ignorance: of the evidence; rules still "
    "fire on a class that was left out, so it says little here.",
    "AUPR-Out: novel rows are the positives. FPR95 and rejected: at the threshold that accepts 95 % of the known test "
    "rows, the share of novel rows accepted and rejected; they sum to 100.",
)


@dataclass(frozen=True)
class Problem:
    """A class left out of one fold: the known rows to fit on, and the test rows, some of them novel."""

    fold: int
    X: Floats
    y: NDArray[np.int64]
    X_test: Floats
    is_novel: NDArray[np.bool_]


def problems(data: DataSet) -> Iterator[Problem]:
    """Every class with enough rows, left out of every fold in turn."""
    for fold in make_folds(data.y):
        for label in np.flatnonzero(np.bincount(data.y) >= MIN_ROWS):
            known = fold.fitting[data.y[fold.fitting] != label]
            is_novel = data.y[fold.test] == label
            if is_novel.all() or not is_novel.any() or len(np.unique(data.y[known])) < 2:
                continue
            X, X_test = encode(data, known, fold.test)
            yield Problem(fold.index, X, data.y[known], X_test, is_novel)


def run_ood(request: Request) -> Report:
    """Leave out each class of every data set with at least three; those with two are left aside."""
    chosen = [data for data in request.data_sets if len(data.class_names) >= MIN_CLASSES]
    if not chosen:
        raise BenchError(f"none of the {len(request.data_sets)} data sets has at least {MIN_CLASSES} classes")
    studied = request.study(Study("leaving classes out", measure, CODE), chosen).require_some()
    facts = request.facts(
        left_out=f"each class with at least {MIN_ROWS} rows, from the fitting part of each fold",
        measured_on=f"{len(studied.figures)} data sets with at least {MIN_CLASSES} classes",
    )
    return make_report(studied.figures, studied.failures, facts)


def measure(data: DataSet) -> Figures:
    """Mean measures of every detector over left-out classes and folds, as percentages."""
    result: dict[str, dict[str, list[float]]] = {}
    for problem in problems(data):
        for fit in DETECTORS:
            for name, score in fit(problem.X, problem.y, problem.fold).items():
                for key, value in novelty_measures(problem.is_novel, score(problem.X_test)).items():
                    result.setdefault(name, {}).setdefault(key, []).append(100 * value)
    if not result:
        raise ValueError("no class can be left out")
    return {name: {key: fmean(values) for key, values in item.items()} for name, item in result.items()}


def novelty_measures(is_novel: NDArray[np.bool_], score: Floats) -> dict[str, float]:
    """Return the measures of a score that is higher for novel rows."""
    rejected = metrics.rejection_at_acceptance(is_novel, score)
    return {
        "auroc": metrics.novelty_auroc(is_novel, score),
        "aupr": metrics.novelty_aupr(is_novel, score),
        "fpr95": 1 - rejected,
        "rejected": rejected,
    }


def make_report(figures: Mapping[str, Figures], failures: Mapping[str, str], facts: Mapping[str, object]) -> Report:
    """Turn the figures of all data sets into the report."""
    names = list(next(iter(figures.values())))
    means = {name: {key: fmean(figure[name][key] for figure in figures.values()) for key in MEASURES} for name in names}
    goals = [
        f"{name}: {means[name]['auroc']:.1f} / {means[name]['rejected']:.1f} (wanted: {auroc:g} / {rejected:g})."
        for name, (auroc, rejected) in TARGETS.items()
        if name in means
    ]
    failed = [f"Failed on {name}: {message}" for name, message in failures.items()]
    return Report(
        name="ood",
        title="Near-OOD: classes left out of training",
        facts=facts,
        sections=[
            Section(
                "Leave one class out",
                ["Detector", *MEASURES.values()],
                [[name, *(_cell(name, key, figures) for key in MEASURES)] for name in names],
                [*NOTES, *goals, *failed],
            ),
            Section(
                "AUROC by data set",
                ["Data set", *names],
                [[data, *(f"{item[name]['auroc']:.1f}" for name in names)] for data, item in figures.items()],
                in_terminal=False,
            ),
        ],
        data={"mean": means, "data_sets": dict(figures), "paper": PAPER, "failures": dict(failures)},
        draw=lambda figure: _draw(figure, means),
        headlines=_headlines(means),
        failures=failed,
    )


def _headlines(means: Figures) -> list[Headline]:
    """Ours against the paper's residual and against its strongest opponent, the distance to the nearest row."""
    result = []
    for place, key in enumerate(("auroc", "rejected")):
        for name in ("FERL-wide", "FERL-deep"):
            ours, title = means[name][key], f"{name}: {MEASURES[key]}, %"
            result.append(Headline(title, ours, PAPER["FERL-deep, residual"][place], decimals=1))
            result.append(Headline(title, ours, means["1-NN"][key], "1-NN", decimals=1))
    return result


def _cell(name: str, key: str, figures: Mapping[str, Figures]) -> str:
    values = [figure[name][key] for figure in figures.values()]
    spread = f" ±{stdev(values):.1f}" if len(values) > 1 else ""
    printed = {"auroc": 0, "rejected": 1}
    paper = f" [{PAPER[name][printed[key]]:.1f}]" if name in PAPER and key in printed else ""
    return f"{fmean(values):.1f}{spread}{paper}"


def _draw(figure: Any, means: Figures) -> None:
    axes = figure.add_subplot()
    for name, item in means.items():
        is_ours = name.startswith("FERL")
        axes.plot(item["auroc"], item["rejected"], "o" if is_ours else "s", color="C0" if is_ours else "0.5")
        axes.annotate(name, (item["auroc"], item["rejected"]), textcoords="offset points", xytext=(5, 3), fontsize=7)
    axes.set_xlabel("AUROC, %")
    axes.set_ylabel("novel rows rejected where 95 % of known rows are accepted, %")
    axes.margins(x=0.2)
    axes.set_title("Telling a class that was left out", fontsize=10)


TABLE = Table(
    summary="Novelty of classes left out of training, against detectors without rules.",
    run=run_ood,
    chapter="Sets, novelty and proofs",
    minutes=8,
)
