"""The criterion ablation: weighted Gini against the classification index, with the paper's subsets, and entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from scipy import stats

from ferl_bench.ablation import Line, ablation_report, run_lines
from ferl_bench.data import DataSet
from ferl_bench.headline import Headline
from ferl_bench.render import Report, Section
from ferl_bench.rows import Row
from ferl_bench.table import Request, Table

LINES = (
    Line("Gini", {}, {"accuracy": 83.23}),
    Line("CCI", {"criterion": "cci"}, {"accuracy": 82.52}),
    Line("Entropy", {"criterion": "entropy"}),
)
PAPER_SUBSETS = {"Two classes": (83.32, 82.45), "More classes": (83.09, 82.63), "All": (83.23, 82.52)}
PAPER_CORRELATION = -0.07
NOTES = (
    "CCI: the weight that the two children's majority classes classify better than the parent's, ties by Gini. "
    "The trees are grown anew under each criterion.",
    "Entropy: the paper does not have it. Conditions: features that a rule names, mean over the rules that fire for a "
    "row, by their firing.",
)
Figures = Mapping[str, float]


def run_criterion(request: Request) -> Report:
    """Measure all criteria on every data set and fold."""
    rows = run_lines(request, LINES)
    title = "Split criterion: weighted Gini against the classification index and entropy"
    report = ablation_report("criterion", title, rows, request.facts(), NOTES)
    means, correlation, section = subsets(rows, request.data_sets)
    return replace(
        report,
        sections=[section, *report.sections],
        data={"subsets": means, "correlation_with_classes": correlation, **report.data},
        headlines=[*report.headlines, *_headlines(means)],
    )


def subsets(rows: Sequence[Row], data_sets: Sequence[DataSet]) -> tuple[dict[str, Figures], float | None, Section]:
    """Compare the two on data sets with two classes, with more, and on all.

    Parameters
    ----------
    rows : sequence of Row
        Gini, then CCI; others are not compared here.
    data_sets : sequence of DataSet
        The data sets, for their numbers of classes.

    Returns
    -------
    means : dict
        Mean accuracy of both and their difference in points, by subset.
    correlation : float or None
        Pearson's correlation of the difference with the number of classes; None where either does not vary.
    section : Section
        The paper's table.
    """
    gini, cci = rows[:2]
    n_classes = {data.name: len(data.class_names) for data in data_sets}
    shared = [name for name in gini.data_sets if name in cci.data_sets]
    kept = {
        "Two classes": [name for name in shared if n_classes[name] == 2],
        "More classes": [name for name in shared if n_classes[name] > 2],
        "All": shared,
    }
    means: dict[str, Figures] = {}
    body = []
    for subset, names in kept.items():
        if names:
            first, second = (100 * fmean(row.data_sets[name]["accuracy"] for name in names) for row in (gini, cci))
            means[subset] = {"n": len(names), "gini": first, "cci": second, "difference": second - first}
            body.append([subset, str(len(names)), *_cells(first, second, PAPER_SUBSETS[subset])])
    gaps = [cci.data_sets[name]["accuracy"] - gini.data_sets[name]["accuracy"] for name in shared]
    correlation = _pearson(gaps, [n_classes[name] for name in shared])
    notes = ["CCI minus Gini, in points of accuracy. In brackets: the paper's figure."]
    if correlation is not None:
        notes.append(
            f"Pearson's r of the difference and the number of classes: {correlation:.2f} [{PAPER_CORRELATION}]."
        )
    section = Section("By number of classes", ["Data sets", "#", "Gini", "CCI", "Difference"], body, notes)
    return means, correlation, section


def _cells(gini: float, cci: float, paper: tuple[float, float]) -> list[str]:
    return [
        f"{gini:.2f} [{paper[0]:.2f}]",
        f"{cci:.2f} [{paper[1]:.2f}]",
        f"{cci - gini:+.2f} [{paper[1] - paper[0]:+.2f}]",
    ]


def _pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return float(stats.pearsonr(x, y).statistic)


def _headlines(means: Mapping[str, Figures]) -> list[Headline]:
    return [
        Headline(f"Gini, {subset.lower()}: Acc %", item["gini"], PAPER_SUBSETS[subset][0])
        for subset, item in means.items()
        if subset != "All"
    ]


TABLE = Table(
    summary="Trees grown by the weighted Gini decrease, the classification index and entropy.",
    run=run_criterion,
    chapter="Ablations",
    minutes=1,
)
