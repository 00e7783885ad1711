"""The study by data set: where FERL-deep and FERL-wide win and lose, and what that goes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log10
from statistics import fmean
from typing import Any

from scipy import stats

from ferl_bench.data import DataSet
from ferl_bench.headline import Headline
from ferl_bench.method import known_methods, packages_of
from ferl_bench.methods.ferl import WIDE
from ferl_bench.render import Report, Section
from ferl_bench.rows import Row, failure_notes, rows_json, run_notes
from ferl_bench.statistics import paired_difference, spearman
from ferl_bench.table import Request, Table

OURS, PEER = "FERL-deep", "Logistic regression"
SHOWN = (*WIDE, OURS, "FERL-medium", PEER, "FIGS")
OPPONENTS = (PEER, "CART", "FIGS", "Random forest", "XGBoost")
WIDE_OPPONENTS = (OURS, PEER, "RuleFit", "EBM", "Random forest", "XGBoost")
TRAITS = {"features": "Features", "rows": "Rows", "classes": "Classes"}
PAPER_GAPS: dict[str, float] = {
    "banana": 32.8,
    "vowel": 13.1,
    "ring": 12.5,
    "phoneme": 11.2,
    "glass": 10.2,
    "ecoli": 7.4,
    "satimage": 7.1,
    "magic": 6.9,
    "contraceptive": 2.7,
    "ionosphere": 2.3,
    "penbased": 2.0,
    "bupa": 1.4,
    "australian": 1.2,
    "wine": 1.1,
    "mammographic": 1.0,
    "crx": 0.3,
    "segment": 0.2,
    "pima": 0.0,
    "wisconsin": -0.9,
    "spectfheart": -1.1,
    "spambase": -1.2,
    "wdbc": -1.4,
    "german": -2.7,
    "balance": -3.7,
    "texture": -4.3,
    "saheart": -5.0,
    "optdigits": -5.2,
    "heart": -5.6,
    "vehicle": -7.7,
    "twonorm": -11.9,
}
"""FERL-deep minus logistic regression, points of accuracy."""
PAPER_CORRELATIONS = {"features": -0.37, "rows": 0.11, "classes": 0.09}
PAPER_RECORD, PAPER_P = (17, 1, 12), 0.31
PAPER_MEANS, PAPER_MANN_WHITNEY = {"two classes": 2.2, "more classes": 1.9}, 0.69
NOTES = (
    "Accuracy in percent, mean over folds; gap: FERL-deep minus logistic regression, in points; in brackets: the "
    "paper's. Sorted by ours.",
)


@dataclass(frozen=True)
class Gap:
    """By how much a method is more accurate than an opponent on a data set, and what the data set is like."""

    data_set: str
    points: float
    rows: int
    features: int
    classes: int


def run_study(request: Request) -> Report:
    """Measure the methods of the study and its opponents on every data set and fold."""
    methods = known_methods(list(dict.fromkeys((*SHOWN, *OPPONENTS, *WIDE_OPPONENTS))))
    rows = request.rows(methods)
    return make_report(rows, request.data_sets, request.facts(("scipy", *packages_of(methods))))


def gaps(rows: Mapping[str, Row], text: str, opponent: str, data_sets: Sequence[DataSet]) -> list[Gap]:
    """Return the gaps on the data sets that both could do, the largest first."""
    ours, theirs = rows[text].data_sets, rows[opponent].data_sets
    result = [
        Gap(
            data.name,
            100 * (ours[data.name]["accuracy"] - theirs[data.name]["accuracy"]),
            data.n_rows,
            data.n_features,
            len(data.class_names),
        )
        for data in data_sets
        if data.name in ours and data.name in theirs
    ]
    return sorted(result, key=lambda gap: -gap.points)


def make_report(rows: Sequence[Row], data_sets: Sequence[DataSet], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    by_name = {row.method.name: row for row in rows if row.data_sets}
    result = _all_gaps(by_name, OURS, OPPONENTS, data_sets)
    wide = _all_gaps(by_name, WIDE[0], WIDE_OPPONENTS, data_sets)
    main = result.get(PEER, [])
    absent = [f"{name} is not among the methods that could be run." for name in SHOWN if name not in by_name]
    return Report(
        name="study",
        title="By data set: where FERL-deep and FERL-wide win and lose",
        facts=facts,
        sections=[
            _data_set_section(main, by_name, [*NOTES, *absent, *run_notes(rows)]),
            _correlation_section(OURS, result),
            _class_section(OURS, result),
            _correlation_section(WIDE[0], wide),
            _class_section(WIDE[0], wide),
        ],
        data={
            "gaps": {name: [vars(gap) for gap in item] for name, item in result.items()},
            "correlations": {name: correlations(item) for name, item in result.items()},
            "wide_gaps": {name: [vars(gap) for gap in item] for name, item in wide.items()},
            "wide_correlations": {name: correlations(item) for name, item in wide.items()},
            **rows_json(rows),
        },
        draw=(lambda figure: _draw(figure, main)) if main else None,
        headlines=[*_headlines(main), *_wide_headlines(wide)],
        failures=failure_notes(rows),
    )


def _all_gaps(
    rows: Mapping[str, Row], text: str, opponents: Sequence[str], data_sets: Sequence[DataSet]
) -> dict[str, list[Gap]]:
    """Gaps to each of the opponents that could be measured."""
    result = {name: gaps(rows, text, name, data_sets) for name in opponents if {name, text} <= set(rows)}
    return {name: gap for name, gap in result.items() if gap}


def correlations(item: Sequence[Gap]) -> dict[str, dict[str, float | None]]:
    """Return Spearman's rank correlation of the gap with each trait, and its p-value; None where it is not defined."""
    result = {}
    for trait in TRAITS:
        rho, p = spearman([gap.points for gap in item], [getattr(gap, trait) for gap in item])
        result[trait] = {"rho": None if isnan(rho) else rho, "p_value": None if isnan(p) else p}
    return result


def _data_set_section(main: Sequence[Gap], rows: Mapping[str, Row], notes: Sequence[str]) -> Section:
    shown = [name for name in SHOWN if name in rows]
    body = []
    for gap in main:
        figures = [rows[name].data_sets.get(gap.data_set, {}).get("accuracy") for name in shown]
        paper = f" [{PAPER_GAPS[gap.data_set]:+.1f}]" if gap.data_set in PAPER_GAPS else ""
        traits = [str(gap.rows), str(gap.features), str(gap.classes)]
        cells = ["" if figure is None else f"{100 * figure:.1f}" for figure in figures]
        body.append([gap.data_set, *traits, *cells, f"{gap.points:+.1f}{paper}"])
    return Section("By data set", ["Data set", "Rows", "Features", "Classes", *shown, "Gap"], body, notes)


def _correlation_section(ours: str, result: Mapping[str, Sequence[Gap]]) -> Section:
    body = []
    for name, item in result.items():
        in_paper = (ours, name) == (OURS, PEER)
        cells = []
        for trait, figures in correlations(item).items():
            paper = f" [{PAPER_CORRELATIONS[trait]:+.2f}]" if in_paper else ""
            rho, p = figures["rho"], figures["p_value"]
            cells.append("" if rho is None or p is None else f"{rho:+.2f}{paper}, p {p:.2f}")
        test = paired_difference([gap.points for gap in item], [0.0] * len(item))
        record = f"{test.wins} / {test.ties} / {test.losses}"
        paper_record = f" [{' / '.join(map(str, PAPER_RECORD))}]" if in_paper else ""
        p_value = f"{test.p_value:.2g}" + (f" [{PAPER_P}]" if in_paper else "")
        interval = f"{test.mean:+.2f} [{test.low:+.2f}, {test.high:+.2f}]"
        body.append([name, interval, record + paper_record, p_value, *cells])
    header = ["Gap to", "Mean, 95 % interval", "Won / equal / lost", "Wilcoxon p", *TRAITS.values()]
    notes = [
        "Last columns: Spearman's rank correlation of the gap with the number of features, rows and classes, and its "
        "p-value. In brackets after them, the record and Wilcoxon's p: the paper's figure. The interval is the "
        "bootstrap's, over data sets."
    ]
    return Section(f"{ours}: what the gap goes with", header, body, notes)


def _class_section(ours: str, result: Mapping[str, Sequence[Gap]]) -> Section:
    body = []
    for name, item in result.items():
        in_paper = (ours, name) == (OURS, PEER)
        parts = {
            "two classes": [gap.points for gap in item if gap.classes == 2],
            "more classes": [gap.points for gap in item if gap.classes > 2],
        }
        cells = [_mean_cell(points, PAPER_MEANS[part], in_paper) for part, points in parts.items()]
        p = stats.mannwhitneyu(*parts.values()).pvalue if all(parts.values()) else None
        paper = f" [{PAPER_MANN_WHITNEY}]" if in_paper else ""
        body.append([name, *cells, "" if p is None else f"{p:.2f}{paper}"])
    return Section(f"{ours}: two classes and more", ["Gap to", "Two classes", "More classes", "Mann-Whitney p"], body)


def _mean_cell(points: Sequence[float], paper: float, has_paper: bool) -> str:
    if not points:
        return ""
    return f"{fmean(points):+.2f} (n {len(points)})" + (f" [{paper:+.1f}]" if has_paper else "")


def _headlines(main: Sequence[Gap]) -> list[Headline]:
    known = [gap for gap in main if gap.data_set in PAPER_GAPS]
    if not known:
        return []
    wins = sum(round(gap.points, 1) > 0 for gap in known)
    headlines = [
        Headline(
            "FERL-deep minus logistic regression, mean gap in points",
            fmean(gap.points for gap in known),
            fmean(PAPER_GAPS[gap.data_set] for gap in known),
        )
    ]
    if len(known) == len(PAPER_GAPS):
        headlines.append(Headline("Data sets won against logistic regression", wins, PAPER_RECORD[0], decimals=0))
    return headlines


def _wide_headlines(wide: Mapping[str, Sequence[Gap]]) -> list[Headline]:
    """The mean gap of wide rules to each rival: above zero is ahead."""
    return [
        Headline(f"{WIDE[0]}: mean gap in points", fmean(gap.points for gap in item), 0.0, name)
        for name, item in wide.items()
        if not name.startswith("FERL")
    ]


def _draw(figure: Any, main: Sequence[Gap]) -> None:
    """Plot the gap against the number of features, a mark for each data set, larger with more rows."""
    axes = figure.add_subplot()
    axes.axhline(0, color="grey", linewidth=1)
    for gap in main:
        mark = (gap.features, gap.points)
        axes.scatter(*mark, s=15 * log10(gap.rows), color="C0" if gap.points > 0 else "C1", zorder=3)
        axes.annotate(gap.data_set, mark, xytext=(4, 3), textcoords="offset points", fontsize="x-small")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("features (log scale)")
    axes.set_ylabel("accuracy, points above logistic regression")
    axes.set_title("FERL-deep against logistic regression, by data set", fontsize="medium")
    axes.grid(alpha=0.3)


TABLE = Table(
    summary="Where FERL-deep and FERL-wide win and lose, data set by data set, and what that goes with.",
    run=run_study,
    chapter="Answers",
    minutes=1,
)
