"""All tables together: the list of them, one run of them all, and the page that says where we stand."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table as RichTable

from ferl_bench.errors import BenchError
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline
from ferl_bench.protocol import DESCRIPTION
from ferl_bench.render import Report, Section, copy_pages, markdown_body, markdown_table, publish, write_text
from ferl_bench.rows import PAPER_DATA_SETS
from ferl_bench.table import CHAPTERS, Request, Table, all_tables

PAGE = "results.md"
PACKAGES = ("numpy", "scipy", "scikit-learn", "xgboost", "MAPIE")


@dataclass(frozen=True)
class Outcome:
    """What became of a table: its report, or the message of what went wrong, and how long it took.

    `day` is the day of a report that was kept from an earlier run.
    """

    table: Table
    seconds: float
    report: Report | None = None
    error: str | None = None
    day: str | None = None


def show_tables(console: Console) -> None:
    """Print every table with what it needs and about how long it takes."""
    tables = all_tables()
    listed = RichTable("Table", "What it shows", "Needs", "Minutes", box=None, pad_edge=False)
    for name, table in tables.items():
        listed.add_row(name, table.summary, _needs(table), f"{table.minutes:g}")
    console.print(listed)
    total = sum(table.minutes for table in tables.values() if not (table.needs_suite or table.has_sizes))
    console.print(
        f"\nMinutes: about, on the paper's 30 data sets with two idle cores and the extra 'rivals', each after the "
        f"tables above it (they share results); all but the learning curve and the suites together {total:g}, or "
        f"{total / 60:.1f} hours."
    )


def _needs(table: Table) -> str:
    needs = "--concepts" if table.needs_concepts else "the extra 'suite'" if table.needs_suite else "no data"
    needs = "the extra 'flights', --data" if table.has_sizes else needs
    needs = "--data, or a download" if table.has_folder else needs
    needs = "no data, or --data" if table.reads_data else needs
    source = "--data or --openml" if table.needs_data else needs
    repeats = f", --repetitions {table.repetitions}" if table.repetitions else ""
    return source + repeats + (", one process" if table.in_one_process else "")


def run_all(
    requests: Mapping[str, tuple[Table, Request]],
    out: Path,
    console: Console,
    *,
    source: str,
    docs: Path | None = None,
    keep: bool = False,
) -> list[str]:
    """Run tables one after the other; one that fails does not stop the others.

    Parameters
    ----------
    requests : mapping of str to (Table, Request)
        The tables by name, and what each is run with.
    out : Path
        Folder for results and reports, and for the page of all results.
    console : Console
        Where progress is shown.
    source : str
        The options that give the data sets, for the commands on the page.
    docs : Path, optional
        Folder that gets the pages as well.
    keep : bool, default=False
        Run no table whose report, of the same data sets and repetitions, is in `out`; the page of all results says of
        which day it is.

    Returns
    -------
    list of str
        Names of the tables that failed.
    """
    outcomes: dict[str, Outcome] = {}
    n_data_sets = max((len(request.data_sets) for _, request in requests.values()), default=0)
    start = perf_counter()
    for number, (name, (table, request)) in enumerate(requests.items(), start=1):
        console.rule(f"{number} of {len(requests)}: {name}")
        known = _kept(name, table, request, docs) if keep else None
        outcomes[name] = _attempt(name, table, request, docs) if known is None else known
        made = "" if known is None else f", kept from {known.day}"
        console.print(f"{name}: {_duration(outcomes[name].seconds)}{made}, {_duration(perf_counter() - start)} in all")
        # After every table: an interrupted run leaves a page of what is there.
        text = results_page(outcomes, source, n_data_sets=n_data_sets, n_wanted=len(requests))
        for folder in (out, docs):
            if folder is not None:
                write_text(folder / PAGE, text)
    for line in _missing(outcomes):
        console.print(f"Not measured: {line}", markup=False)
    for name, outcome in outcomes.items():
        if outcome.error is not None:
            console.print(f"{name} failed: {outcome.error}", markup=False, style="red")
    n_behind = sum(headline.is_behind for headline in _headlines(outcomes).values())
    console.print(
        f"{len(outcomes)} tables in {_duration(perf_counter() - start)}. {PAGE}: {len(_headlines(outcomes))} figures "
        f"compared, behind in {n_behind}."
    )
    return [name for name, outcome in outcomes.items() if outcome.error is not None]


def _kept(name: str, table: Table, request: Request, docs: Path | None) -> Outcome | None:
    """Return what an earlier run under the same conditions wrote of a table; None if nothing that can be read."""
    stem, out = name.replace("-", "_"), request.out
    try:
        stored = json.loads((out / f"{stem}.json").read_bytes())
        headlines = [Headline.from_json(entry) for entry in stored["headlines"]]
        run = stored["run"]
        if run["conditions"] != request.conditions():
            return None
        repeated = [Section(**section) for section in run["repeated"]]
        report = Report(
            stem, stored["title"], stored["facts"], (), headlines=headlines, failures=run["failures"], repeated=repeated
        )
        outcome = Outcome(table, float(run["seconds"]), report, day=str(run["day"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if docs is not None:
        copy_pages(stem, out, docs)
    return outcome


def _attempt(name: str, table: Table, request: Request, docs: Path | None) -> Outcome:
    start = perf_counter()
    try:
        report = table.run(request)
        seconds = perf_counter() - start
        publish(report, request.out, request.console, seconds=seconds, conditions=request.conditions(), docs=docs)
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        if not isinstance(error, BenchError):
            write_text(request.out / f"{name}.error.txt", traceback.format_exc())
            message += f" (traceback in {name}.error.txt)"
        return Outcome(table, perf_counter() - start, error=message)
    return Outcome(table, perf_counter() - start, report)


def results_page(
    outcomes: Mapping[str, Outcome], source: str, *, n_data_sets: int = PAPER_DATA_SETS, n_wanted: int | None = None
) -> str:
    """Return the page of all results.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        What became of each table, by name.
    source : str
        The options that give the data sets.
    n_data_sets : int
        How many data sets there are; with another number than the paper's its figures do not compare.
    n_wanted : int, optional
        How many tables were asked for, when not all of them are done yet.

    Returns
    -------
    str
        Markdown.
    """
    facts = {
        **versions(PACKAGES),
        "cores": n_cores(),
        "protocol": DESCRIPTION,
        "data sets": n_data_sets,
        "time": _duration(sum(one.seconds for one in outcomes.values())),
    }
    lines = [
        "# Results",
        "",
        f"Written by `ferl bench all {source}`; each table has a separate page and command. The page explains the "
        "units, the spread and the conditions of the figures.",
        "",
        *(f"- {name}: {fact}" for name, fact in facts.items()),
        "",
    ]
    if n_wanted is not None and len(outcomes) < n_wanted:
        lines += [f"**Not finished: {len(outcomes)} of {n_wanted} tables.**", ""]
    if n_data_sets != PAPER_DATA_SETS:
        lines += [
            f"**The paper's figures are over {PAPER_DATA_SETS} data sets, these over {n_data_sets}: not comparable.**",
            "",
        ]
    lines += _behind_section(outcomes)
    for chapter in CHAPTERS:
        of_chapter = {name: outcome for name, outcome in outcomes.items() if outcome.table.chapter == chapter}
        if of_chapter:
            lines += [f"## {chapter}", ""]
            for name, outcome in of_chapter.items():
                lines += _table_lines(name, outcome, source)
    return "\n".join([*lines, *_missing_section(outcomes)])


def _table_lines(name: str, outcome: Outcome, source: str) -> list[str]:
    command = f"ferl bench {name} {source}" if outcome.table.needs_data else f"ferl bench {name}"
    made = "" if outcome.day is None else f", on {outcome.day}"
    lines = [f"### {name}", "", outcome.table.summary, "", f"`{command}`, {_duration(outcome.seconds)}{made}. "]
    if outcome.report is None:
        return [*lines[:-1], f"{lines[-1]}**Failed: {outcome.error}**", ""]
    lines[-1] += f"[{outcome.report.title}]({outcome.report.name}.md)"
    if outcome.report.headlines:
        lines += ["", *_comparison(outcome.report.headlines)]
    for section in outcome.report.repeated:
        lines += ["", f"#### {section.title}", "", *markdown_body(section)[:-1]]
    return [*lines, ""]


def _behind_section(outcomes: Mapping[str, Outcome]) -> list[str]:
    headlines = _headlines(outcomes)
    behind = [[where[0], *headline.cells()] for where, headline in headlines.items() if headline.is_behind]
    lines = [
        "## Where ferl is behind",
        "",
        f"ferl is behind in {len(behind)} of {len(headlines)} compared figures.",
        "",
    ]
    if behind:
        lines += [*markdown_table(Section("", ["Table", "Figure", "Ours", "Theirs", "Whose"], behind)), ""]
    return lines


def _missing_section(outcomes: Mapping[str, Outcome]) -> list[str]:
    body = [f"- {line}" for line in _missing(outcomes)]
    return ["## Not measured", "", *(body or ["Everything was."]), ""]


def _missing(outcomes: Mapping[str, Outcome]) -> list[str]:
    """What could not be run: a rival that is not installed, a data set it cannot do. Tables share rivals."""
    missing: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        for line in outcome.report.failures if outcome.report is not None else ():
            missing.setdefault(line, []).append(name)
    return [f"{line} ({', '.join(tables)})" for line, tables in missing.items()]


def _comparison(headlines: Sequence[Headline]) -> list[str]:
    rows = [[*headline.cells(), "behind" if headline.is_behind else ""] for headline in headlines]
    return markdown_table(Section("", ["Figure", "Ours", "Theirs", "Whose", ""], rows))


def _headlines(outcomes: Mapping[str, Outcome]) -> dict[tuple[str, int], Headline]:
    return {
        (name, place): headline
        for name, outcome in outcomes.items()
        if outcome.report is not None
        for place, headline in enumerate(outcome.report.headlines)
    }


def _duration(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> from ferl_bench.overview import _duration
    >>> _duration(8), _duration(100), _duration(4000)
    ('8 s', '1.7 min', '1.1 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
