"""The learning curve: what more rows are worth, to FERL and to its rivals."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ferl_bench.cache import Result, ResultFile
from ferl_bench.errors import BenchError
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline
from ferl_bench.method import Method, packages_of
from ferl_bench.render import Report, Section
from ferl_bench.runner import run
from ferl_bench.suites.growing import LAST_MONTH, MANY_VALUES, load_growing, names_of
from ferl_bench.suites.growth import GrowthJob, Source, best_possible
from ferl_bench.suites.learners import METHODS, MOST_ROWS, N_THREADS, YARDSTICK
from ferl_bench.table import Request, Table
from ferl_bench.threads import sleeping_threads

ROWS = (1_000, 5_000, 20_000, 100_000, inf)
OURS = "FERL"
IDEAL = "Best possible"
TITLES = {"auc": "AUC", "average_precision": "Average precision"}
COLUMNS = {
    "auc": ("AUC", 1, 4),
    "average_precision": ("Avg. prec.", 1, 4),
    "log_loss": ("Log-loss", 1, 4),
    "accuracy": ("Acc %", 100, 2),
    "rules": ("Rules", 1, 0),
    "curves": ("Curves", 1, 0),
    "maps": ("Maps", 1, 0),
    "cases": ("Cases", 1, 0),
    "fit_seconds": ("Fit, CPU s", 1, 2),
    "ratio": ("Ratio", 1, 2),
}
"""Measures of the table of details: title, factor, decimals."""
SETBACK = 0.005
"""By so much a measure or the log-loss is worse than with fewer rows before the page says so."""
COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#999999")
NOTES = (
    "Training rows are drawn at random from the training part; with one seed, fewer rows are part of more rows. The "
    "column 'all' has the whole training part.",
    "Test rows are the same for all sizes: a fifth of the table, in flights-later the later months. Nothing is chosen "
    "by them.",
    f"flights-all has all columns that are known before the departure, flights-short is without "
    f"{', '.join(MANY_VALUES)}, flights-later learns from the months up to {LAST_MONTH} and is tested on the others.",
    "sine-10 and sine-20 are one column along which the probability goes up and down 10 and 20 times; spike is an "
    "amount of which 1 % is exactly 20, and most of these are positive.",
    "AUC: macro, one class against the others; log-loss in nats; ± is the standard deviation over seeds.",
    f"Fits have {N_THREADS} threads each; seconds are processor time of all threads, the least of three where fits are "
    f"short. Ratio: divided by the seconds of {YARDSTICK} on the same rows. Threads that wait sleep and cost nothing.",
    "FERL gets the frame as it comes. LightGBM and EBM get dates as hours, text as categories; logistic regression has "
    "standardised numbers and a column of 0 and 1 for each text. Preparing is part of the time.",
    "EBM has the defaults of its package. LightGBM has them but for the trees and min_child_weight=1: with its default "
    "of 0.001 the loss diverges on krkopt.",
    "A fit that exceeds the time limit is ended, and the method starts no larger one on that table.",
)


@dataclass(frozen=True)
class Point:
    """A method on so many rows of a table: means over the seeds, and their deviations."""

    n_rows: int
    method: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


@dataclass(frozen=True)
class Curves:
    """What was measured on one table."""

    name: str
    measure: str
    n_training: int
    ideal: Mapping[str, float] | None
    points: Sequence[Point] = ()

    def get(self, n_rows: int, method: str) -> Point | None:
        """Return the point of a method at a size, if it was measured."""
        return next((one for one in self.points if (one.n_rows, one.method) == (n_rows, method)), None)

    @property
    def sizes(self) -> list[int]:
        """The numbers of rows."""
        return sorted({one.n_rows for one in self.points})

    @property
    def methods(self) -> list[str]:
        """The methods, in their order."""
        return list(dict.fromkeys(one.method for one in self.points))


def run_learning_curve(request: Request) -> Report:
    """Measure methods on tables of growing size; the request may choose sizes, tables, methods and seeds."""
    methods = _chosen(request.methods)
    jobs, absent, about = _plan(request, methods)
    with sleeping_threads(), ResultFile(request.out / "results.jsonl", fresh=request.fresh) as cache:
        results = run(jobs, cache, n_processes=request.n_processes, console=request.console, limits=request.limits)
    result = _curves(jobs, results, about)
    if not result:
        raise BenchError(f"every fit failed; the first: {results[0].error}")
    facts = {
        **versions(packages_of(methods)),
        "cores": n_cores(),
        "load of the machine at the start": f"{os.getloadavg()[0]:.1f}",
        "threads": f"{N_THREADS} for every fit, {request.n_processes} fit(s) at a time",
        **{name.replace("_", " "): text for name, text in request.limits.describe().items()},
    }
    failures = [*absent, *_failures(jobs, results)]
    return Report(
        name="learning_curve",
        title="Learning curve: what more rows are worth",
        facts=facts,
        sections=[_overview(result, failures), _setbacks(result), *_ideals(result), *map(_details, result)],
        data={"curves": {item.name: _json(item) for item in result}},
        headlines=[headline for item in result for headline in _headlines(item)],
        failures=failures,
        draw=partial(draw, result),
    )


def _chosen(names: Sequence[str]) -> list[Method]:
    unknown = [name for name in names if name not in {method.name for method in METHODS}]
    if unknown:
        available = ", ".join(method.name for method in METHODS)
        raise BenchError(f"unknown method {', '.join(unknown)} in --methods; available: {available}")
    return [method for method in METHODS if not names or method.name in names]


def _plan(request: Request, methods: Sequence[Method]) -> tuple[list[GrowthJob], list[str], dict[str, Curves]]:
    """Return the jobs, what is not there, and for each table the curves without their points.

    A table that was named and is not there is a mistake; without names it is left out.
    """
    jobs: list[GrowthJob] = []
    absent, about = [], {}
    for name in names_of(request.names):
        try:
            table = load_growing(name, request.folder)
        except BenchError as error:
            if request.names:
                raise
            absent.append(f"{name}: {error}")
            continue
        source = Source(name, request.folder, table.digest, table.frame.shape[1])
        about[name] = Curves(name, table.measure, len(table.training), best_possible(table))
        for n_rows in table.sizes(request.sizes or ROWS):
            # All rows are the same rows for every seed.
            n_seeds = 1 if n_rows == len(table.training) else request.seeds or table.n_seeds
            able = [method for method in methods if n_rows <= MOST_ROWS.get(method.name, inf)]
            jobs += [GrowthJob(source, n_rows, seed, method) for method in able for seed in range(n_seeds)]
    return jobs, absent, about


def _curves(jobs: Sequence[GrowthJob], results: Sequence[Result], about: Mapping[str, Curves]) -> list[Curves]:
    """Gather results; a method counts at a size when all seeds were measured."""
    groups: dict[tuple[str, int, str], list[Result]] = defaultdict(list)
    for job, result in zip(jobs, results, strict=True):
        groups[job.data.name, job.n_rows, job.method.name].append(result)
    points: dict[str, list[Point]] = defaultdict(list)
    for (name, n_rows, method), item in groups.items():
        if all(one.error is None for one in item):
            figures = {key: [one.measures[key] for one in item] for key in item[0].measures}
            mean = {key: float(np.mean(values)) for key, values in figures.items()}
            deviation = {key: float(np.std(values, ddof=1)) for key, values in figures.items() if len(values) > 1}
            points[name].append(Point(n_rows, method, mean, deviation))
    return [replace(about[name], points=_with_ratios(item)) for name, item in points.items()]


def _with_ratios(points: Sequence[Point]) -> list[Point]:
    """Divide the time of each fit by the yardstick's on as many rows, where that was measured."""
    seconds = {point.n_rows: point.mean["fit_seconds"] for point in points if point.method == YARDSTICK}
    return [
        replace(point, mean={**point.mean, "ratio": point.mean["fit_seconds"] / seconds[point.n_rows]})
        if point.n_rows in seconds and point.method != YARDSTICK
        else point
        for point in points
    ]


def _failures(jobs: Sequence[GrowthJob], results: Sequence[Result]) -> list[str]:
    """A line for each method, table and reason, with the sizes it concerns."""
    sizes: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for job, result in zip(jobs, results, strict=True):
        if result.error is not None:
            sizes[job.method.name, job.data.name, result.error].append(job.n_rows)
    return [
        f"{method} on {', '.join(f'{n:,}' for n in sorted(set(item)))} rows of {name}: {error}"
        for (method, name, error), item in sizes.items()
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Sections
# ---------------------------------------------------------------------------------------------------------------------


def _overview(result: Sequence[Curves], failures: Sequence[str]) -> Section:
    """One line for a table and a method: the measure at each size."""
    labels = {item.name: [_label(item, n_rows) for n_rows in item.sizes] for item in result}
    header = sorted({label for item in labels.values() for label in item}, key=_order)
    body = []
    for item in result:
        place = dict(zip(labels[item.name], item.sizes, strict=True))
        for method in item.methods:
            cells = [item.get(place[label], method) if label in place else None for label in header]
            figures = ["" if cell is None else f"{cell.mean[item.measure]:.4f}" for cell in cells]
            body.append([f"{item.name}, {TITLES[item.measure]}", method, *figures])
    there = {method for item in result for method in item.methods}
    absent = [method.name for method in METHODS if method.name not in there]
    notes = [f"{name} gets at most {n:,} rows." for name, n in MOST_ROWS.items() if name in there]
    notes += [f"Not run: {', '.join(absent)}."] if absent else []
    return Section("More rows", ["Table", "Method", *header], body, [*NOTES, *notes, *failures])


def _label(curves: Curves, n_rows: int) -> str:
    return "all" if n_rows == curves.n_training else f"{n_rows:,}"


def _order(label: str) -> float:
    return inf if label == "all" else float(label.replace(",", ""))


def _setbacks(result: Sequence[Curves]) -> Section:
    """Where more rows made a method worse: in the measure of the table or in log-loss, beside its best smaller size."""
    body = []
    for item in result:
        for method in item.methods:
            points = [point for point in map(partial(item.get, method=method), item.sizes) if point is not None]
            for key, sign in ((item.measure, 1), ("log_loss", -1)):
                title, _, places = COLUMNS[key]
                for k, point in enumerate(points[1:], 1):
                    best = max(points[:k], key=lambda one: sign * one.mean[key])
                    if sign * (best.mean[key] - point.mean[key]) > SETBACK:
                        figures = [f"{one.n_rows:,}: {one.mean[key]:.{places}f}" for one in (best, point)]
                        body.append([item.name, method, title, *figures])
    note = f"A method is listed where it is worse by more than {SETBACK:g} than with fewer rows; means over the seeds."
    return Section("Where more rows are worse", ["Table", "Method", "Measure", "Fewer rows", "More rows"], body, [note])


def _ideals(result: Sequence[Curves]) -> list[Section]:
    """Tables that were made: each method at the last size beside the best possible figure."""
    made = [item for item in result if item.ideal is not None]
    if not made:
        return []
    methods = list(dict.fromkeys(method for item in made for method in item.methods))
    body = []
    for item in made:
        assert item.ideal is not None
        points = [item.get(item.sizes[-1], method) for method in methods]
        figures = ["" if point is None else f"{point.mean[item.measure]:.4f}" for point in points]
        body.append(
            [item.name, TITLES[item.measure], f"{item.sizes[-1]:,}", *figures, f"{item.ideal[item.measure]:.4f}"]
        )
    notes = [f"{IDEAL}: the probabilities that the labels were drawn with."]
    return [Section("Beside the best possible", ["Table", "Measure", "Rows", *methods, IDEAL], body, notes)]


def _details(curves: Curves) -> Section:
    """All measures of a table: accuracy where there are more than two classes, else AUC or average precision."""
    there = {key for point in curves.points for key in point.mean}
    hidden = {"average_precision"} if curves.measure == "auc" else set()
    hidden |= {"accuracy"} if "average_precision" in there else set()
    keys = [key for key in COLUMNS if key in there - hidden]
    body = [
        [point.method, f"{point.n_rows:,}", *(_cell(point, key) for key in keys)]
        for point in sorted(curves.points, key=lambda point: point.n_rows)
    ]
    if curves.ideal is not None:
        ideal = Point(0, IDEAL, curves.ideal, {})
        body.append([IDEAL, "", *(_cell(ideal, key) for key in keys)])
    return Section(curves.name, ["Method", "Rows", *(COLUMNS[key][0] for key in keys)], body)


def _cell(point: Point, key: str) -> str:
    if key not in point.mean:
        return ""
    _, factor, places = COLUMNS[key]
    spread = f" ± {point.deviation[key]:.{places}f}" if key in ("auc", "log_loss") and key in point.deviation else ""
    return f"{factor * point.mean[key]:.{places}f}{spread}"


def _headlines(curves: Curves) -> list[Headline]:
    """Ours beside LightGBM at every size, and beside the best possible."""
    result = []
    for n_rows in curves.sizes:
        ours, theirs = curves.get(n_rows, OURS), curves.get(n_rows, YARDSTICK)
        if ours is not None and theirs is not None:
            for key, more in ((curves.measure, True), ("log_loss", False)):
                what = f"{curves.name}, {n_rows:,} rows: {TITLES.get(key, 'log-loss')}"
                result.append(Headline(what, ours.mean[key], theirs.mean[key], YARDSTICK, more, decimals=3))
    return result


def _json(curves: Curves) -> dict[str, object]:
    points = [
        {"rows": one.n_rows, "method": one.method, "mean": dict(one.mean), "deviation": dict(one.deviation)}
        for one in curves.points
    ]
    return {
        "measure": curves.measure,
        "rows": curves.n_training,
        "points": points,
        "best_possible": None if curves.ideal is None else dict(curves.ideal),
    }


def draw(result: Sequence[Curves], figure: Any) -> None:
    """One panel for each table: its measure against the number of rows; one legend for all, beside no line."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    n_across = min(4, len(result))
    n_down = -(-len(result) // n_across)
    figure.set_size_inches(max(3.0 * n_across, 7.0), 2.6 * n_down + 0.8)
    panels = figure.subplots(n_down, n_across, squeeze=False).ravel()
    colours = {method.name: colour for method, colour in zip(METHODS, COLOURS, strict=True)}
    handles: dict[str, Any] = {}
    for axes, item in zip(panels, result, strict=False):
        for method in item.methods:
            line = [(point.n_rows, point.mean[item.measure]) for point in item.points if point.method == method]
            style = {"color": colours[method], "linewidth": 2.2 if method == OURS else 1.3, "markersize": 4}
            handles[method] = axes.plot(*zip(*sorted(line), strict=True), marker="o", **style)[0]
        if item.ideal is not None:
            handles[IDEAL] = axes.axhline(item.ideal[item.measure], color="black", linestyle=":", linewidth=1)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(min(700.0, 0.7 * item.sizes[0]), 450_000)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.set_title(item.name, fontsize=9)
        axes.set_ylabel(TITLES[item.measure], fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in panels[len(result) :]:
        axes.set_axis_off()
    figure.supxlabel("training rows", fontsize=8)
    n_columns = len(handles) if n_across == 4 else 4  # a narrow figure has two lines of names
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=n_columns, fontsize=8)


TABLE = Table(
    summary="AUC, log-loss, statements and time from 1,000 rows to all, beside LightGBM, EBM and logistic regression.",
    run=run_learning_curve,
    chapter="Answers",
    minutes=300,
    needs_data=False,
    has_sizes=True,
)
