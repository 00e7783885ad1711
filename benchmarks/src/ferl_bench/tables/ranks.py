"""The ranks table: Friedman's test, Nemenyi's diagram, and ours against every other method in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ferl_bench.common_sets import common_sets_section
from ferl_bench.critical_difference import critical_difference, plot_critical_difference
from ferl_bench.headline import Headline
from ferl_bench.method import Method, all_methods, packages_of
from ferl_bench.methods.ferl import WIDE
from ferl_bench.render import Report, Section
from ferl_bench.rows import Measure, Row, failure_notes, names_of, rows_json, run_notes
from ferl_bench.statistics import Difference, Friedman, friedman, holm, paired_difference
from ferl_bench.table import Request, Table

ALPHA = 0.05
MEASURES = ((Measure("accuracy", "Accuracy", 100), True), (Measure("aurc", "AURC", 100), False))
PAPER_RANKS = {"accuracy": 2.97, "aurc": 2.57}
PAPER_P = {"accuracy": 1e-12, "aurc": 6e-23}
PAPER_METHODS = 13
NOTES = (
    "Ranks of data-set means, 1 is best, equal ones share theirs. Folds of one data set are not independent "
    "observations, so that each data set counts once.",
)
PAIR_NOTES = (
    "Ours minus the other, means over data sets, in points; first brackets: 95 % bootstrap interval; last "
    "brackets: the difference of the paper's means. Won: data sets on which ours is better / equal / worse.",
    "p: Wilcoxon's signed-rank test, two-sided; Holm: corrected over the other methods of the table. The paper "
    "corrects accuracy only.",
)
# Two readings of the same trees: a rank must not count a tree twice.
VOTES = ("FERL-deep, vote", "ex_fuzzy DeepFERL, soft vote")
DEMPSTER = ("FERL-deep", "ex_fuzzy DeepFERL")
# Sizes of wide rules that only the frontier shows: a rank must not count nearly the same rules many times.
SIZES = ("FERL-wide, 25 rules", "FERL-wide, 6 rules")
ADDITIVE = (
    "EBM",
    "EBM (defaults)",
    "RuleFit",
    *WIDE,
    *SIZES,
)  # interpretable, and of another kind than what the paper ranks


@dataclass(frozen=True)
class Family:
    """Methods that are ranked among themselves, with one reading of each evidential tree.

    Attributes
    ----------
    title : str
        What they are.
    ours : str
        The method the others are compared with.
    others : tuple of str
        Methods and readings that are left out.
    only_interpretable : bool
        Whether to leave out what nobody can follow.
    note : str
        Which reading it is.
    """

    title: str
    ours: str
    others: tuple[str, ...]
    only_interpretable: bool
    note: str

    def of(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that belong to it."""
        kept = [row for row in rows if row.method.name not in self.others]
        return [row for row in kept if row.method.is_interpretable] if self.only_interpretable else kept


BY_DEMPSTER = "Deep trees answer by Dempster's rule, the default."
BY_VOTE = "Deep trees answer by the vote of their leaves; the paper does not say by which of the two it ranks."
RULES = "Trees, rules and logistic regression"  # the kinds that the paper ranks
FAMILIES = (
    Family(RULES, DEMPSTER[0], (*VOTES, *ADDITIVE), only_interpretable=True, note=BY_DEMPSTER),
    Family(f"{RULES}, by vote", VOTES[0], (*DEMPSTER, *ADDITIVE), only_interpretable=True, note=BY_VOTE),
    Family("Interpretable methods", WIDE[0], (*VOTES, *SIZES), only_interpretable=True, note=BY_DEMPSTER),
    Family("All methods", WIDE[0], (*VOTES, *SIZES), only_interpretable=False, note=BY_DEMPSTER),
)


@dataclass(frozen=True)
class Comparison:
    """Methods ranked by one measure.

    Attributes
    ----------
    ours : str
        The method the others are compared with.
    measure : Measure
        The measure.
    more_is_better : bool
        Its direction.
    test : Friedman
        Mean ranks and the test of their equality.
    pairs : dict
        Ours minus the other by its name, in the measure's units.
    holm : dict
        Corrected p-values of the pairs.
    paper : dict
        The paper's difference, for the methods it has.
    """

    ours: str
    measure: Measure
    more_is_better: bool
    test: Friedman
    pairs: dict[str, Difference]
    holm: dict[str, float]
    paper: dict[str, float]

    @property
    def critical(self) -> float:
        """By how much mean ranks must differ for Nemenyi's test."""
        return critical_difference(len(self.test.ranks), self.test.n_data_sets, ALPHA)

    def as_json(self) -> dict[str, object]:
        """Return a plain dict."""
        pairs = {name: {**vars(pair), "holm": self.holm[name]} for name, pair in self.pairs.items()}
        # Methods in the same order on every data set have an infinite F, which JSON does not know.
        f_statistic = self.test.f_statistic if isfinite(self.test.f_statistic) else None
        test = {**vars(self.test), "f_statistic": f_statistic}
        return {"test": test, "critical_difference": self.critical, "pairs": pairs, "paper": self.paper}


def run_ranks(request: Request, methods: Sequence[Method] | None = None) -> Report:
    """Rank every method (default: all registered ones) on every data set."""
    chosen = all_methods() if methods is None else list(methods)
    rows = request.rows(chosen)
    return make_report(rows, request.facts(("scipy", *packages_of(chosen)), **request.limits.describe()))


def compare(rows: Sequence[Row], ours: str) -> list[Comparison]:
    """Compare rows that have the same data sets, by every measure; in pairs, the method `ours` with the others."""
    names = sorted(rows[0].data_sets)
    result = []
    for measure, more in MEASURES:
        scores = {row.method.name: [row.data_sets[name][measure.key] for name in names] for row in rows}
        pairs = {
            name: paired_difference(_scaled(scores[ours], measure), _scaled(item, measure))
            for name, item in scores.items()
            if name != ours
        }
        adjusted = holm([pair.p_value for pair in pairs.values()])
        test = friedman(scores, more_is_better=more)
        corrected = dict(zip(pairs, adjusted, strict=True))
        paper = _paper_differences(rows, ours, measure.key)
        result.append(Comparison(ours, measure, more, test, pairs, corrected, paper))
    return result


def _paper_differences(rows: Sequence[Row], ours: str, key: str) -> dict[str, float]:
    stated = {row.method.name: row.method.paper[key] for row in rows if key in row.method.paper}
    return {name: stated[ours] - figure for name, figure in stated.items() if ours in stated and name != ours}


def complete_rows(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Return the rows with every data set, and a note for each of the others: a rank takes all methods."""
    names = set(names_of(rows))
    complete = [row for row in rows if set(row.data_sets) == names]
    left_out = [
        f"{row.method.name} is not ranked: measured on {len(row.data_sets)} of {len(names)} data sets"
        + (", compared on these at the end." if row.data_sets else ".")
        for row in rows
        if set(row.data_sets) != names
    ]
    return complete, left_out


def make_report(rows: Sequence[Row], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    complete, left_out = complete_rows(rows)
    compared: dict[str, list[Comparison]] = {}
    sections = []
    for family in FAMILIES:
        members = family.of(complete)
        if len(members) < 3 or len(members[0].data_sets) < 2 or family.ours not in {row.method.name for row in members}:
            continue
        compared[family.title] = comparisons = compare(members, family.ours)
        notes = [family.note, *NOTES, *left_out, *run_notes(rows)]
        sections.append(_rank_section(family.title, comparisons, notes))
        sections += [_pair_section(family.title, comparison) for comparison in comparisons]
    if not compared:
        sections.append(Section("Ranks", ["Too few methods or data sets"], [], [*left_out, *run_notes(rows)]))
    sections += common_sets_section(rows, WIDE[0], MEASURES)
    return Report(
        name="ranks",
        title="Ranks: Friedman, Nemenyi and Wilcoxon over data sets",
        facts=facts,
        sections=sections,
        data={
            "families": {family: {one.measure.key: one.as_json() for one in item} for family, item in compared.items()},
            **rows_json(rows),
        },
        draw=(lambda figure: _draw(figure, compared)) if compared else None,
        headlines=[
            headline
            for family, item in compared.items()
            for headline in _headlines(family, item, {row.method.name for row in rows if row.method.is_ours})
        ],
        failures=failure_notes(rows),
    )


def _rank_section(family: str, comparisons: Sequence[Comparison], notes: Sequence[str]) -> Section:
    names = list(comparisons[0].test.ranks)
    body = [[name] for name in names]
    header, tests = ["Method"], []
    for one in comparisons:
        test, ranks = one.test, one.test.ranks
        header += [f"{one.measure.title} rank", "Differs"]
        for row, name in zip(body, names, strict=True):
            differs = abs(ranks[name] - ranks[one.ours]) > one.critical
            row += [f"{ranks[name]:.2f}", "" if name == one.ours else "yes" if differs else "no"]
        tests.append(
            f"{one.measure.title}: Friedman's chi-square {test.statistic:.1f}, p {test.p_value:.1e}; Iman and "
            f"Davenport's F {test.f_statistic:.1f}, p {test.f_p_value:.1e}; critical difference {one.critical:.2f}. "
            f"The paper, {PAPER_METHODS} interpretable methods: FERL-deep {PAPER_RANKS[one.measure.key]:.2f}, "
            f"p {PAPER_P[one.measure.key]:.0e}."
        )
    differs_note = (
        f"Differs: whether the mean rank is further from {comparisons[0].ours}'s than the critical difference of "
        f"Nemenyi's test at {ALPHA:g}."
    )
    return Section(f"{family}: mean ranks", header, body, [*tests, differs_note, *notes])


def _pair_section(family: str, one: Comparison) -> Section:
    body = []
    for name, pair in sorted(one.pairs.items(), key=lambda item: item[1].mean):
        counts = (pair.wins, pair.ties, pair.losses)[:: 1 if one.more_is_better else -1]
        paper = f" [{one.paper[name]:+.2f}]" if name in one.paper else ""
        mean = f"{pair.mean:+.2f} [{pair.low:+.2f}, {pair.high:+.2f}]{paper}"
        p_values = [f"{pair.p_value:.2g}", f"{one.holm[name]:.2g}"]
        body.append([name, mean, f"{pair.deviation:.2f}", " / ".join(map(str, counts)), *p_values])
    header = ["Against", "Difference", "Std over sets", "Won", "p", "Holm"]
    return Section(f"{family}: {one.ours} in pairs, {one.measure.title} x100", header, body, PAIR_NOTES)


def _headlines(family: str, comparisons: Sequence[Comparison], ours: set[str]) -> list[Headline]:
    """Our mean rank against the best rival's: the aim is to be first among the interpretable."""
    result = []
    for one in comparisons:
        others = {name: rank for name, rank in one.test.ranks.items() if name not in ours}
        if not others:
            continue
        best = min(others, key=lambda name: others[name])
        what = f"{one.ours}: mean {one.measure.title} rank, {family[0].lower()}{family[1:]}"
        result.append(Headline(what, one.test.ranks[one.ours], others[best], best, more_is_better=False))
    return result


def _scaled(values: Sequence[float], measure: Measure) -> list[float]:
    return [measure.scale * value for value in values]


def _draw(figure: Any, compared: Mapping[str, Sequence[Comparison]]) -> None:
    """Demsar's diagrams of the interpretable methods in the default reading: the paper's kinds, and all."""
    shown = {family: item for family, item in compared.items() if family in (RULES, "Interpretable methods")}
    shown = shown or dict(compared)
    diagrams = [(family, one) for family, comparisons in shown.items() for one in comparisons]
    n_methods = max(len(one.test.ranks) for _, one in diagrams)
    figure.set_size_inches(8, len(diagrams) * (1.6 + 0.25 * n_methods))
    for ax, (family, one) in zip(figure.subplots(len(diagrams), 1), diagrams, strict=True):
        plot_critical_difference(one.test.ranks, one.test.n_data_sets, ALPHA, ax=ax)
        ax.set_title(f"{family}, {one.measure.title}", fontsize="medium", pad=45)


TABLE = Table(
    summary="Friedman's test, the critical-difference diagram, and Holm-corrected Wilcoxon tests.",
    run=run_ranks,
    chapter="Answers",
    minutes=1,
)
