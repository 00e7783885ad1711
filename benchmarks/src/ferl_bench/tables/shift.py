"""The shift table: coverage, size and ignorance of prediction sets when the test rows move away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from ferl_bench.conformal import ALPHA
from ferl_bench.errors import BenchError
from ferl_bench.headline import Headline
from ferl_bench.render import Report, Section
from ferl_bench.shift import (
    LEVELS,
    MIN_CLASSES,
    MIN_ROWS,
    N_HALF_SETS,
    N_NOISE_SETS,
    N_SEEDS,
    Figures,
    above_the_middle,
    half_sets,
    noise_sets,
    numeric_sets,
    under_noise,
)
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

ByLevel = dict[float, Figures]
CODE = ("ferl_bench/shift.py", "ferl_bench/conformal.py")


@dataclass(frozen=True)
class Column:
    """A column: which figure, in which units, how it is written."""

    key: str
    title: str
    scale: float = 1.0
    form: str = ".2f"


COLUMNS = (
    Column("accuracy", "Acc %", 100, ".1f"),
    Column("ignorance", "Ignorance"),
    Column("ds_coverage", "DS cover %", 100, ".1f"),
    Column("ds_size", "DS size"),
    Column("global_coverage", "Global cover %", 100, ".1f"),
    Column("global_size", "Global size"),
    Column("textbook_coverage", "Textbook cover %", 100, ".1f"),
    Column("textbook_size", "Textbook size"),
    Column("native_coverage", "Native cover %", 100, ".1f"),
    Column("native_size", "Native size"),
)
# The paper's figures, in the units of the tables. Its global set may be empty.
PAPER_NOISE: dict[float, Figures] = {
    0.0: {"ds_coverage": 90.0, "ds_size": 1.35, "textbook_coverage": 90.0},
    1.0: {"accuracy": 50.2, "ds_coverage": 77.3, "ds_size": 4.10, "textbook_coverage": 55.0, "textbook_size": 1.09},
}
PAPER_HALVES: Figures = {"ds_coverage": 69.7, "ds_size": 1.36, "textbook_coverage": 66.7, "textbook_size": 1.03}
PAPER_WINS = "8 of 10"
LEAST_LEVEL = 0.5  # from here on the DS set is expected to cover more
NOTES = (
    "In brackets: the paper's figure. Its data sets are not named, so that the comparison is a rough one.",
    f"Level: multiple of each feature's standard deviation. Deep trees; means over data sets and {N_SEEDS} seeds.",
    f"DS: split conformal by plausibility. Global: by probability. Both by ferl.conformal at alpha = {ALPHA:g}, "
    "calibrated on rows that did not move; its sets are never empty. Textbook: by probability where sets may be empty, "
    "as the paper's global ones. Native: the evidence's own set, not calibrated.",
)


def run_shift(request: Request) -> Report:
    """Move the test rows of the data sets and read prediction sets.

    Raises
    ------
    BenchError
        None of the data sets can be used.
    """
    noise = request.study(Study("adding noise", under_noise, CODE), numeric_sets(request.data_sets))
    halves = request.study(Study("halving", above_the_middle, CODE), half_sets(request.data_sets))
    failures = {
        f"{name} ({doing})": reason
        for doing, part in (("adding noise", noise.failures), ("halving", halves.failures))
        for name, reason in part.items()
    }
    if not noise.figures and not halves.figures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise BenchError(
            f"no data set is numeric with at least {MIN_ROWS} rows and could be measured. {reasons}".strip()
        )
    chosen = [data.name for data in noise_sets(request.data_sets) if data.name in noise.figures]
    facts = request.facts(
        seeds=f"the first {N_SEEDS} folds",
        noise_on=f"{', '.join(chosen)}: of the numeric data sets with at least {MIN_ROWS} rows and {MIN_CLASSES} "
        f"classes the first {N_NOISE_SETS} in alphabetical order",
        half_range_on=f"{', '.join(halves.figures)}: of the numeric data sets with at least {MIN_ROWS} rows the first "
        f"{N_HALF_SETS}; the feature whose middle divides the rows most evenly is held out",
    )
    return make_report(noise.figures, chosen, halves.figures, failures, facts)


def make_report(
    noisy: Mapping[str, ByLevel],
    chosen: Sequence[str],
    halved: Mapping[str, Figures],
    failures: Mapping[str, str],
    facts: Mapping[str, object],
) -> Report:
    """Turn the figures of all data sets into the report."""
    seven = {name: noisy[name] for name in chosen}
    sections = []
    if seven:
        notes = [*NOTES, *_failed(failures), _verdict(seven)]
        sections.append(_noise_section(f"Noise on {len(seven)} data sets", seven, PAPER_NOISE, notes))
    if noisy:
        title = f"Noise on all {len(noisy)} numeric data sets with at least {MIN_ROWS} rows"
        sections.append(_noise_section(title, noisy, {}, [_verdict(noisy)]))
    if halved:
        sections.append(_half_section(halved))
    sections += [_level_section(level, noisy) for level in LEVELS if level] if noisy else []
    return Report(
        name="shift",
        title="Shift: prediction sets when the test rows move away from the training rows",
        facts=facts,
        sections=sections,
        data={
            "noise": {"data_sets": list(chosen), "mean": _means_json(seven), "paper": _as_fractions(PAPER_NOISE)},
            "noise_all": {"data_sets": list(noisy), "mean": _means_json(noisy)},
            "half_range": {"mean": _mean(list(halved.values())), "by_data_set": dict(halved)},
            "by_data_set": {name: {f"{level:g}": item[level] for level in LEVELS} for name, item in noisy.items()},
            "failures": dict(failures),
        },
        draw=(lambda figure: _draw(figure, seven)) if seven else None,
        headlines=_headlines(seven, halved),
        failures=_failed(failures),
    )


def _headlines(noisy: Mapping[str, ByLevel], halved: Mapping[str, Figures]) -> list[Headline]:
    """Coverage of the DS set where the paper states it; for the same coverage a smaller set is better."""
    means, halves = _means(noisy) if noisy else {}, _mean(list(halved.values()))
    cases = [(f"noise {level:g}", means.get(level, {}), paper) for level, paper in PAPER_NOISE.items()]
    return [
        Headline(f"DS set, {name}: coverage, %", 100 * item["ds_coverage"], paper["ds_coverage"], decimals=1)
        for name, item, paper in [*cases, ("half range", halves, PAPER_HALVES)]
        if item
    ]


def _failed(failures: Mapping[str, str]) -> list[str]:
    return [f"Failed on {name}: {message}" for name, message in failures.items()]


def _verdict(noisy: Mapping[str, ByLevel]) -> str:
    """Say at which levels the DS set covers more than the global one."""
    means, levels = _means(noisy), [level for level in LEVELS if level >= LEAST_LEVEL]
    n_more = {
        kind: sum(means[level]["ds_coverage"] > means[level][f"{kind}_coverage"] for level in levels)
        for kind in ("global", "textbook")
    }
    return (
        f"Of {len(levels)} levels from {LEAST_LEVEL:g} on, the DS set covers more than the global one at "
        f"{n_more['global']} (wanted: all) and more than the textbook's at {n_more['textbook']}."
    )


def _noise_section(
    title: str, noisy: Mapping[str, ByLevel], paper: Mapping[float, Figures], notes: Sequence[str]
) -> Section:
    means = _means(noisy)
    rows = [[f"{level:g}", *_cells(means[level], paper.get(level, {}))] for level in LEVELS]
    return Section(title, ["Level", *(column.title for column in COLUMNS)], rows, notes)


def _half_section(halved: Mapping[str, Figures]) -> Section:
    rows = [[f"{name}, x{item['feature']:.0f}", *_cells(item, {})] for name, item in halved.items()]
    rows.append(["Mean", *_cells(_mean(list(halved.values())), PAPER_HALVES)])
    wins = {
        kind: sum(item["ds_coverage"] > item[f"{kind}_coverage"] for item in halved.values())
        for kind in ("global", "textbook")
    }
    notes = [
        "Fitted and calibrated below the middle of the held-out feature's range, tested above it; the feature is not "
        "shown to the classifier. A class absent below is never covered.",
        f"The DS set covers more than the global one on {wins['global']} of {len(halved)} data sets, and more than the "
        f"textbook's on {wins['textbook']} [{PAPER_WINS}].",
    ]
    return Section("Half range", ["Data set, feature", *(column.title for column in COLUMNS)], rows, notes)


def _level_section(level: float, noisy: Mapping[str, ByLevel]) -> Section:
    rows = [[name, *_cells(item[level], {})] for name, item in noisy.items()]
    header = ["Data set", *(column.title for column in COLUMNS)]
    return Section(f"Noise of level {level:g}, by data set", header, rows, in_terminal=False)


def _cells(figures: Figures, paper: Figures) -> list[str]:
    cells = []
    for column in COLUMNS:
        text = f"{column.scale * figures[column.key]:{column.form}}"
        cells.append(text + (f" [{paper[column.key]:{column.form}}]" if column.key in paper else ""))
    return cells


def _means(noisy: Mapping[str, ByLevel]) -> ByLevel:
    return {level: _mean([item[level] for item in noisy.values()]) for level in LEVELS}


def _mean(figures: Sequence[Figures]) -> Figures:
    return {key: fmean(figure[key] for figure in figures) for key in figures[0]} if figures else {}


def _means_json(noisy: Mapping[str, ByLevel]) -> dict[str, Figures]:
    return {f"{level:g}": item for level, item in _means(noisy).items()} if noisy else {}


def _as_fractions(paper: Mapping[float, Figures]) -> dict[str, Figures]:
    scales = {column.key: column.scale for column in COLUMNS}
    return {f"{level:g}": {key: value / scales[key] for key, value in item.items()} for level, item in paper.items()}


LINES = (
    ("ds", "DS-conformal (plausibility)", "C0", "-"),
    ("global", "global conformal (probability)", "C1", "-"),
    ("textbook", "the same, empty sets allowed", "C1", ":"),
    ("native", "native, not calibrated", "C2", "--"),
)


def _draw(figure: Any, noisy: Mapping[str, ByLevel]) -> None:
    """Plot coverage and size against the level; a band is 1.96 standard errors over data sets."""
    left, right = figure.subplots(1, 2)
    for axes, measure, scale, title in ((left, "coverage", 100, "coverage, %"), (right, "size", 1, "mean set size")):
        for kind, name, colour, style in LINES:
            values = [[scale * item[level][f"{kind}_{measure}"] for item in noisy.values()] for level in LEVELS]
            middle = [fmean(value) for value in values]
            axes.plot(LEVELS, middle, style, color=colour, label=name, linewidth=1.5)
            if len(noisy) > 1 and style == "-":
                half = [1.96 * stdev(value) / len(value) ** 0.5 for value in values]
                band = [
                    [m - h for m, h in zip(middle, half, strict=True)],
                    [m + h for m, h in zip(middle, half, strict=True)],
                ]
                axes.fill_between(LEVELS, *band, color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("noise, standard deviations of each feature")
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    left.axhline(100 * (1 - ALPHA), color="grey", linewidth=1)
    right.plot(
        LEVELS, [_means(noisy)[level]["ignorance"] for level in LEVELS], color="black", linewidth=1, label="ignorance"
    )
    right.legend(fontsize="x-small")
    figure.suptitle(
        f"Prediction sets under noise, mean over {len(noisy)} data sets; bands: 1.96 standard errors", fontsize="medium"
    )


TABLE = Table(
    summary="What prediction sets do when the test rows move away from the training rows.",
    run=run_shift,
    chapter="Sets, novelty and proofs",
    minutes=1,
)
