"""Sections that the pages of suites share: differences in pairs, ranks with their diagram, times, the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ferl_bench.critical_difference import critical_difference, plot_critical_difference
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.method import Method
from ferl_bench.render import Section
from ferl_bench.rows import Measure, Row, names_of
from ferl_bench.statistics import Friedman, friedman, holm, paired_difference
from ferl_bench.suites.second import MAX_ROWS

Compared = Sequence[tuple[Measure, bool]]
"""Measures, each with whether more of it is better."""
ALPHA = 0.05
PAIR_NOTES = (
    "One mean a data set and method. In brackets: 95 % bootstrap interval; won: data sets on which ours is better "
    "/ equal / worse; p: Wilcoxon's signed-rank test, two-sided; Holm: corrected over the rivals of a measure, without "
    "other methods of ours.",
)
RANK_NOTE = (
    "Ranks of data-set means, 1 is best, equal ones share theirs; methods that lack data sets are not ranked. Two mean "
    "ranks that differ by more than the critical difference differ by Nemenyi's test at 0.05."
)


def chosen(methods: Sequence[Method], names: Sequence[str]) -> list[Method]:
    """Return the methods of these names, in the order of the page; all for no names."""
    unknown = [name for name in names if name not in {method.name for method in methods}]
    if unknown:
        available = "; ".join(method.name for method in methods)
        raise BenchError(f"unknown method {', '.join(unknown)} in --methods; available: {available}")
    return [method for method in methods if not names or method.name in names]


def whole_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have every data set that any row has."""
    names = names_of(rows)
    return [row for row in rows if len(row.data_sets) == len(names)]


def on_common(rows: Sequence[Row]) -> list[Row]:
    """Return methods that have at least half of the tables, each on the tables that all of these have."""
    names = names_of(rows)
    often = [row for row in rows if 2 * len(row.data_sets) >= len(names)]
    shared = [name for name in names if all(name in row.data_sets for row in often)]
    return [row.on(shared) for row in often]


def pair_sections(rows: Sequence[Row], ours: str, compared: Compared) -> list[Section]:
    """Ours minus each method that has all tables, with signed-rank tests that Holm corrects over the rivals."""
    names = names_of(rows)
    whole = {row.method.name: row for row in whole_rows(rows)}
    if ours not in whole or len(whole) < 2 or len(names) < 2:
        return []
    body = []
    for measure, more in compared:
        scores = {
            name: [measure.scale * row.data_sets[one][measure.key] for one in names] for name, row in whole.items()
        }
        pairs = {name: paired_difference(scores[ours], own) for name, own in scores.items() if name != ours}
        rivals = [name for name in pairs if not whole[name].method.is_ours]
        corrected = dict(zip(rivals, holm([pairs[name].p_value for name in rivals]), strict=True)) if rivals else {}
        for name, pair in pairs.items():
            counts = (pair.wins, pair.ties, pair.losses)[:: 1 if more else -1]
            places = measure.decimals
            difference = f"{pair.mean:+.{places}f} [{pair.low:+.{places}f}, {pair.high:+.{places}f}]"
            won = " / ".join(map(str, counts))
            holms = f"{corrected[name]:.2g}" if name in corrected else ""
            body.append([name, measure.title, difference, won, f"{pair.p_value:.2g}", holms])
    header = ["Against", "Measure", "Ours minus theirs", "Won", "p", "Holm"]
    return [Section(f"{ours} in pairs", header, body, PAIR_NOTES)]


def rank(rows: Sequence[Row], compared: Compared) -> dict[str, Friedman]:
    """Rank the methods that have all tables, by each measure; empty for fewer than three methods or two tables."""
    whole, names = whole_rows(rows), names_of(rows)
    if len(whole) < 3 or len(names) < 2:
        return {}
    return {
        measure.title: friedman(
            {row.method.name: [row.data_sets[name][measure.key] for name in names] for row in whole},
            more_is_better=more,
        )
        for measure, more in compared
    }


def rank_sections(ranks: Mapping[str, Friedman], title: str = "Mean ranks") -> list[Section]:
    """Return the mean ranks, a line a method."""
    if not ranks:
        return []
    first = next(iter(ranks.values()))
    body = [[name, *(f"{test.ranks[name]:.2f}" for test in ranks.values())] for name in first.ranks]
    tests = [
        f"{title}: Friedman's chi-square {test.statistic:.1f}, p {test.p_value:.1e}; Iman and Davenport's F "
        f"{test.f_statistic:.1f}, p {test.f_p_value:.1e}."
        for title, test in ranks.items()
    ]
    critical = f"Critical difference: {critical_difference(len(first.ranks), first.n_data_sets, ALPHA):.2f}."
    return [Section(title, ["Method", *ranks], body, [RANK_NOTE, critical, *tests])]


def draw_ranks(figure: Any, ranks: Mapping[str, Friedman]) -> None:
    """Demšar's diagram of each measure."""
    n_methods = max(len(test.ranks) for test in ranks.values())
    figure.set_size_inches(8, len(ranks) * (1.6 + 0.25 * n_methods))
    for ax, (title, test) in zip(figure.subplots(len(ranks), 1, squeeze=False)[:, 0], ranks.items(), strict=True):
        plot_critical_difference(test.ranks, test.n_data_sets, ALPHA, ax=ax)
        ax.set_title(title, fontsize="medium", pad=45)


def time_section(rows: Sequence[Row], *ours: str) -> Section:
    """Return the fit times, each on the data sets that ours have as well."""
    own = [row for name in ours for row in rows if row.method.name == name]
    body = []
    for row in rows if own else ():
        names = [name for name in row.data_sets if all(name in one.data_sets for one in own)]
        theirs, *mine = (sum(one.data_sets[name]["fit_seconds"] for name in names) for one in (row, *own))
        if names:
            body.append([row.method.name, f"{len(names)}", f"{theirs:.2f}", *(f"{theirs / one:.2f}" for one in mine)])
    note = (
        "Sum over the data sets that a method and ours have of the median fit time of a fold, and divided by ours; one "
        "thread, in processor time; `ferl bench speed` is the race."
    )
    return Section(
        "Fit time", ["Method", "Sets", "Sum, s", *(f"Ratio to {one.method.name}" for one in own)], body, [note]
    )


def table_section(data_sets: Sequence[DataSet], packages: Mapping[str, str] | None = None) -> Section:
    """Return the tables' shapes, each with its package where it comes with one."""
    body = [
        [
            data.name,
            *([] if packages is None else [packages.get(data.name, "")]),
            f"{data.n_rows}",
            f"{data.numeric.shape[1]}",
            f"{data.categorical.shape[1]}",
            f"{len(data.class_names)}",
            f"{n_missing(data)}",
        ]
        for data in data_sets
    ]
    notes = [f"Tables of more than {MAX_ROWS:,} rows are a stratified sample of so many, seed 0."]
    package = [] if packages is None else ["Package"]
    header = ["Table", *package, "Rows", "Numbers", "Categories", "Classes", "Missing values"]
    return Section("The tables", header, body, notes)


def n_missing(data: DataSet) -> int:
    """Return the number of missing values."""
    return int((data.numeric != data.numeric).sum() + (data.categorical == None).sum())  # noqa: E711  # by element
