"""The partition-refit study: what it would gain to move the words of a compact tree after its rules are learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.cache import Result
from ferl_bench.headline import Headline
from ferl_bench.method import Method, get_method
from ferl_bench.methods.ferl import COMPACT_TREE, TREE_OF_WORDS, fit, size
from ferl_bench.protocol import N_FOLDS
from ferl_bench.render import Report, Section
from ferl_bench.rows import PAPER_DATA_SETS, make_row, require_some
from ferl_bench.table import Request, Table

if TYPE_CHECKING:
    from ferl import FERLClassifier

MAX_ITERATIONS = 300
PACKAGES = ("numpy", "scikit-learn", "scipy")


@dataclass(frozen=True)
class Column:
    """A column: which figure, in which units, how it is written, and the paper's mean and median in these units."""

    key: str
    title: str
    scale: float = 1.0
    form: str = ".3f"
    paper_mean: float | None = None
    paper_median: float | None = None


CHANGES = (
    Column("accuracy_change", "Acc change", 100, "+.2f", 0.96, 0.0),
    Column("ece_change", "ECE change", 1, "+.3f", -0.002),
    Column("drift", "Drift %", 100, ".2f", 1.3, 0.2),
)
LOSSES = (Column("cross_entropy_before", "Loss before"), Column("cross_entropy_after", "Loss after"))
STEPS = (Column("n_iterations", "Steps", 1, ".0f"), Column("converged", "Converged", 1, ".1f"))

Figures = dict[str, float]


def fit_refitted(max_iter: int, X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> FERLClassifier:
    """Fit a compact tree, then move its words on the same rows; how they moved is kept with the estimator."""
    from ferl.words import refit_partition

    result = refit_partition(fit(TREE_OF_WORDS, X, y, seed), X, y, max_iter=max_iter)
    result.estimator.refit_result_ = result
    return result.estimator


def _measures(fitted: Any) -> Figures:
    result = fitted.refit_result_
    return {
        "cross_entropy_before": result.cross_entropy_before,
        "cross_entropy_after": result.cross_entropy_after,
        "drift": result.drift,
        "n_iterations": float(result.n_iterations),
        "converged": float(result.converged),
    }


REFITTED = Method(
    name="FERL-compact, refitted",
    fit=partial(fit_refitted, MAX_ITERATIONS),
    size=size,
    parameters={**TREE_OF_WORDS, "max_iter": MAX_ITERATIONS},
    packages=PACKAGES,
    is_ours=True,
    measures=_measures,
)


def run_partition_refit(request: Request) -> Report:
    """Measure compact trees before and after their words were moved, on every data set and fold."""
    compact = get_method(COMPACT_TREE)
    results = request.results([compact, REFITTED])
    require_some([make_row(compact, results)])
    require_some([make_row(REFITTED, results)])
    facts = request.facts(
        PACKAGES, refit=f"L-BFGS-B on the cross-entropy of the fitting rows, at most {MAX_ITERATIONS} steps"
    )
    return make_report(compare(results, compact.name), [one for one in results if one.error is not None], facts)


def compare(results: Sequence[Result], compact: str) -> dict[str, list[Figures]]:
    """Return the figures of each fold, by data set; a data set counts when all of its folds could be measured."""
    known = {(one.method, one.data_set, one.fold): one.measures for one in results if one.error is None}
    compared: dict[str, list[Figures]] = {}
    for name in sorted({one.data_set for one in results}):
        pairs = [(known.get((compact, name, k)), known.get((REFITTED.name, name, k))) for k in range(N_FOLDS)]
        folds = [_changes(before, after) for before, after in pairs if before is not None and after is not None]
        if len(folds) == N_FOLDS:
            compared[name] = folds
    return compared


def _changes(before: Mapping[str, float], after: Mapping[str, float]) -> Figures:
    changes = {f"{key}_change": after[key] - before[key] for key in ("accuracy", "ece")}
    keys = [column.key for column in (*CHANGES, *LOSSES, *STEPS) if column.key not in changes]
    return {"accuracy": before["accuracy"], "ece": before["ece"], **changes, **{key: after[key] for key in keys}}


def make_report(
    compared: Mapping[str, Sequence[Figures]], failures: Sequence[Result], facts: Mapping[str, object]
) -> Report:
    """Turn the figures of all folds into the report."""
    means = {name: {key: fmean(fold[key] for fold in folds) for key in folds[0]} for name, folds in compared.items()}
    by_fold = {f"{name} {k}": fold for name, folds in compared.items() for k, fold in enumerate(folds)}
    return Report(
        name="partition_refit",
        title="Partition refit: compact trees before and after their words were moved, rules and consequents kept",
        facts=facts,
        sections=[
            _summary(means, _notes(means, failures)),
            _table("By data set", "Data set", means),
            _table("By fold", "Data set and fold", by_fold, in_terminal=False),
        ],
        data={
            "mean": {column.key: _centre(fmean, means, column) for column in (*CHANGES, *LOSSES)},
            "median": {column.key: _centre(median, means, column) for column in (*CHANGES, *LOSSES)},
            "paper": _paper(),
            "data_sets": [{"data_set": name, **figures} for name, figures in means.items()],
            "folds": {name: list(folds) for name, folds in compared.items()},
            "failures": [
                {"data_set": one.data_set, "fold": one.fold, "method": one.method, "error": one.error}
                for one in failures
            ],
        },
        draw=lambda figure: _draw(figure, means),
        headlines=[
            # The less there is to gain, the better the words were.
            Headline(
                "Accuracy to be gained by moving the words, points",
                100 * _centre(fmean, means, CHANGES[0]),
                0.96,
                more_is_better=False,
            )
        ],
        failures=[f"{one.method} on {one.data_set}, fold {one.fold}: {one.error}" for one in failures],
    )


def _centre(centre: Callable[[list[float]], float], means: Mapping[str, Figures], column: Column) -> float:
    return centre([figures[column.key] for figures in means.values()])


def _paper() -> dict[str, Figures]:
    """The paper's figures as fractions, like ours in the JSON file."""
    stated: dict[str, Figures] = {"mean": {}, "median": {}}
    for column in CHANGES:
        for name, value in (("mean", column.paper_mean), ("median", column.paper_median)):
            if value is not None:
                stated[name][column.key] = value / column.scale
    return stated


def _summary(means: Mapping[str, Figures], notes: Sequence[str]) -> Section:
    rows = []
    for column in (*CHANGES, *LOSSES):
        cells = [
            _written(_centre(centre, means, column), column) + ("" if paper is None else f" [{paper:{column.form}}]")
            for centre, paper in ((fmean, column.paper_mean), (median, column.paper_median))
        ]
        rows.append([column.title, *cells])
    return Section("What the refit changes", ["Over data sets", "Mean", "Median"], rows, notes)


def _written(value: float, column: Column) -> str:
    return f"{column.scale * value:{column.form}}"


def _notes(means: Mapping[str, Figures], failures: Sequence[Result]) -> list[str]:
    changes = [figures["accuracy_change"] for figures in means.values()]
    # Means of five folds cancel up to rounding only.
    better, worse = sum(change > 1e-9 for change in changes), sum(change < -1e-9 for change in changes)
    notes = [
        "In brackets: the paper's figure. Changes are on test rows; that of accuracy is in points.",
        "Drift: mean movement of a set's breakpoints, in % of the feature's range, over the sets of features in rules.",
        "Loss: cross-entropy on the fitting rows, gates open; what the refit minimises.",
        f"Accuracy rises on {better} of {len(changes)} data sets, falls on {worse}.",
        f"{fmean(figures['converged'] for figures in means.values()):.0%} of the refits converged; the others were "
        f"stopped after {MAX_ITERATIONS} steps.",
    ]
    if len(means) != PAPER_DATA_SETS:
        notes.append(f"The paper's figures are over {PAPER_DATA_SETS} data sets, these over {len(means)}.")
    if failures:
        first, n_failed = failures[0], len({one.data_set for one in failures})
        notes.append(f"Failed on {n_failed} data sets, first {first.data_set} fold {first.fold}: {first.error}")
    return notes


def _table(title: str, what: str, figures: Mapping[str, Figures], *, in_terminal: bool = True) -> Section:
    columns = (Column("accuracy", "Acc %", 100, ".2f"), *CHANGES, *LOSSES, *STEPS)
    rows = [[name, *(_written(item[column.key], column) for column in columns)] for name, item in figures.items()]
    return Section(title, [what, *(column.title for column in columns)], rows, in_terminal=in_terminal)


def _draw(figure: Any, means: Mapping[str, Figures]) -> None:
    """Plot the change of accuracy against the drift, a mark for each data set."""
    axes = figure.add_subplot()
    axes.axhline(0, color="grey", linewidth=1)
    for name, figures in means.items():
        mark = (100 * figures["drift"], 100 * figures["accuracy_change"])
        axes.scatter(*mark, s=25, color="C0", zorder=3)
        axes.annotate(name, mark, xytext=(4, 3), textcoords="offset points", fontsize="x-small")
    axes.set_xlabel("drift of the words, % of the feature's range")
    axes.set_ylabel("change of test accuracy, points")
    axes.set_title("What moving the words gains, by how far they moved", fontsize="medium")
    axes.grid(alpha=0.3)


TABLE = Table(
    summary="What moving the words of a compact tree after learning would gain.",
    run=run_partition_refit,
    chapter="Ablations",
    minutes=2,
)
