"""The frontier table: what accuracy, and what knowledge of its own limits, for how many rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

from ferl_bench.common_sets import common_sets_section
from ferl_bench.headline import GOAL, Headline, against_best, against_paper, against_partial
from ferl_bench.labels import label_marks
from ferl_bench.method import Method, all_methods, packages_of
from ferl_bench.methods.ferl import COMPACT_TREE
from ferl_bench.paper_rows import paper_rows_section
from ferl_bench.published import AUTHORS, PROTOCOL, SOURCE, Published
from ferl_bench.render import Report, Section
from ferl_bench.rows import (
    ANSWERS,
    SETS,
    Measure,
    Row,
    data_set_section,
    failure_notes,
    method_section,
    partial_rows,
    rows_json,
    run_notes,
)
from ferl_bench.table import Request, Table

BY_DATA_SET = ("accuracy", "aurc", "size")
BESIDE = (Measure("curves", "Curves", 1, 1), Measure("maps", "Maps", 1, 1))
OURS = ("FERL-wide", "FERL-wide with cases", "FERL-deep, vote", "FERL-deep", "FERL-medium", COMPACT_TREE)
GOALS: dict[str, dict[str, float]] = {
    "FERL-compact": {"accuracy": 80.0, "size": 6},
    "FERL-wide": {"accuracy": 87.0, "aurc": 5.6, "ece": 5.5, "size": 55},
    "FERL-wide with cases": {"accuracy": 87.9, "aurc": 5.45, "size": 40},
    **{
        f"FERL-wide, {n_rules} rules": {"accuracy": accuracy}
        for n_rules, accuracy in ((50, 86.8), (25, 86.0), (15, 85.0), (10, 83.7), (6, 80.8))
    },
}
"""What was wanted of wide and compact rules, in the units of the table; less is better but for the accuracy."""


TYPED = {
    "FERL-wide": "FERLClassifier()",
    "FERL-wide with cases": "cases=True",
    **{f"FERL-wide, {n_rules} rules": f"max_rules={n_rules}" for n_rules in (50, 25, 15, 10, 6)},
    "FERL-compact": "words=True",
    "FERL-deep": 'tree "deep"',
    "FERL-medium": 'tree "medium"',
}
"""What a user types for the methods of FERL in the picture; others of its methods are left out there."""
ADD_UP = {typed for name, typed in TYPED.items() if name == "FERL-wide" or name.startswith("FERL-wide, ")}


class Point(NamedTuple):
    """A method of the picture: its size, None without rules; its accuracy in percent; who made it."""

    name: str
    size: float | None
    accuracy: float
    is_ours: bool
    is_interpretable: bool


def run_frontier(request: Request, methods: Sequence[Method] | None = None) -> Report:
    """Measure every method (default: all registered ones) on every data set and fold."""
    chosen = all_methods() if methods is None else list(methods)
    rows = request.rows(chosen)
    facts = request.facts(packages_of(chosen), **request.limits.describe())
    return make_report(rows, facts)


def make_report(rows: Sequence[Row], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    answers = method_section("Answers", rows, (*ANSWERS[:-1], *BESIDE, ANSWERS[-1]), _answer_notes(rows), AUTHORS)
    with_sets = [row for row in rows if row.values("u65")]
    by_key = {measure.key: measure for measure in ANSWERS}
    beside = paper_rows_section(rows)
    return Report(
        name="frontier",
        title="Frontier: accuracy, selection and prediction sets against the number of rules",
        facts=facts,
        sections=[
            answers,
            *beside,
            *(section for ours in OURS[:2] for section in common_sets_section(rows, ours, _compared())),
            *([method_section("Prediction sets", with_sets, SETS, authors=AUTHORS)] if with_sets else []),
            *_published_section({row.method.name for row in rows}),
            *(data_set_section(rows, by_key[key]) for key in BY_DATA_SET),
        ],
        data=rows_json(rows),
        draw=lambda figure: _draw(figure, rows),
        headlines=_headlines(rows),
        failures=failure_notes(rows),
        repeated=beside,
    )


def _published_section(named: set[str]) -> list[Section]:
    """Return the authors' published results that have no row above."""
    shown = [measure for measure in ANSWERS if measure.key in ("accuracy", "aurc", "size")]
    body = [
        [one.row, *(_figure(one, measure) for measure in shown), one.what]
        for name, one in AUTHORS.items()
        if name not in named
    ]
    notes = [f"{SOURCE}; {PROTOCOL}. Their figures, not measured here."]
    header = ["Row there", *(measure.title for measure in shown), "What it is"]
    return [Section("The authors' published results that have no row above", header, body, notes)] if body else []


def _figure(one: Published, measure: Measure) -> str:
    return f"{one.figures[measure.key]:.{measure.decimals}f}" if measure.key in one.figures else ""


def _compared() -> list[tuple[Measure, bool]]:
    by_key = {measure.key: measure for measure in ANSWERS}
    return [(by_key["accuracy"], True), (by_key["aurc"], False)]


def _headlines(rows: Sequence[Row]) -> list[Headline]:
    by_key = {measure.key: measure for measure in ANSWERS}
    compared = _compared()
    further = [*compared, (by_key["ece"], False)]
    readable = [row for row in rows if row.method.is_ours or row.method.is_interpretable]
    opaque = [row for row in rows if row.method.is_ours or not row.method.is_interpretable]
    rivals = [
        headline
        for group in (readable, opaque)
        for reading in OURS[:4]
        for headline in against_best(group, reading, compared)
    ]
    partial = [headline for ours in OURS[:2] for headline in against_partial(rows, ours, compared)]
    return [*against_paper(rows, OURS, further), *_goals(rows), *rivals, *partial]


def _goals(rows: Sequence[Row]) -> list[Headline]:
    by_key = {measure.key: measure for measure in ANSWERS}
    return [
        Headline(
            f"{row.method.name}: {by_key[key].title}",
            by_key[key].scale * value,
            wanted,
            GOAL,
            more_is_better=key == "accuracy",
            decimals=by_key[key].decimals,
        )
        for row in rows
        for key, wanted in GOALS.get(row.method.name, {}).items()
        if (value := row.centre(key)) is not None
    ]


def _answer_notes(rows: Sequence[Row]) -> list[str]:
    return [
        "In brackets: the paper's figure, after a semicolon the one of the authors' published results; ±: standard "
        "deviation over data sets; means over data sets of fold means.",
        f"The authors' published results: {SOURCE}; {PROTOCOL}.",
        "Fit ms: processor time of one thread, median over data sets; `ferl bench speed` is the race.",
        "Curves, maps: what the rules of ferl leave unexplained, learned on tables of at least 1,000 rows; the picture "
        "counts them with the rules.",
        *run_notes(rows),
    ]


def _size(row: Row) -> float | None:
    """What there is to read: rules or leaves, and learned curves and maps."""
    size = row.centre("size")
    return None if size is None else size + (row.centre("curves") or 0.0) + (row.centre("maps") or 0.0)


def _draw(figure: Any, rows: Sequence[Row]) -> None:
    """Plot accuracy against size. Methods that do not have all data sets are left out."""
    few = partial_rows(rows)
    points = [
        Point(row.method.name, _size(row), 100 * accuracy, row.method.is_ours, row.method.is_interpretable)
        for row in rows
        if row not in few and (accuracy := row.centre("accuracy")) is not None
    ]
    draw_points(figure, points)


def draw_points(figure: Any, points: Sequence[Point]) -> None:
    """Plot accuracy against the number of rules, with the names that a user types for the methods of FERL.

    A line joins the sizes of rules that add up. Interpretable methods that have no rules are dotted lines.
    """
    axes = figure.add_subplot()
    marks: dict[str, tuple[float, float]] = {}
    levels: list[Any] = []
    for point in points:
        name = TYPED.get(point.name, "") if point.is_ours else point.name
        if point.size is None and point.is_interpretable:
            levels.append(_draw_level(axes, name, point.accuracy))
        elif point.size is not None and name:
            colour = "tab:red" if point.is_ours else "tab:blue" if point.is_interpretable else "tab:gray"
            marks[name] = (point.size, point.accuracy)
            axes.scatter(*marks[name], s=36, color=colour, zorder=3)
    added_up = sorted(mark for name, mark in marks.items() if name in ADD_UP)
    axes.plot([size for size, _ in added_up], [accuracy for _, accuracy in added_up], color="tab:red", linewidth=1)
    axes.set_xscale("log")
    if marks:
        # Whole decades and whole percents around the marks: a short axis would make noise look like a difference.
        sizes, accuracies = zip(*marks.values(), strict=True)
        axes.set_xlim(10 ** floor(log10(min(sizes))), 10 ** ceil(log10(max(sizes) + 1)))
        low, high = axes.get_ylim()
        axes.set_ylim(floor(min(low, *accuracies)) - 1, ceil(max(high, *accuracies)) + 1)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("rules or leaves, learned curves and maps (log scale)")
    axes.set_ylabel("accuracy, %")
    axes.set_title(
        "Mean accuracy of all data sets. Red: FERL; blue: interpretable; grey: ensembles.", fontsize="medium"
    )
    axes.grid(alpha=0.3)
    label_marks(axes, marks, list(marks.values()), levels)


def _draw_level(axes: Any, name: str, accuracy: float) -> Any:
    """Draw the accuracy of a method that has no rules, and return its name at the right end."""
    axes.axhline(accuracy, color="tab:blue", linewidth=1, linestyle=":", alpha=0.7)
    place = {"xycoords": ("axes fraction", "data"), "xytext": (-4, 2), "textcoords": "offset points", "ha": "right"}
    return axes.annotate(name, (1, accuracy), fontsize="small", color="tab:blue", **place)


TABLE = Table(
    summary="Accuracy, selection and prediction sets against the number of rules.",
    run=run_frontier,
    chapter="Answers",
    minutes=180,
)
