"""A report in the terminal and in files: JSON for programs, Markdown for people, a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ferl_bench.headline import Headline


@dataclass(frozen=True)
class Section:
    """A titled table of text, with remarks under it.

    Attributes
    ----------
    title : str
        One line.
    header : sequence of str
        Column titles; the first column is aligned to the left, the others to the right.
    rows : sequence of sequence of str
        Cells. A shorter row is filled up with empty cells.
    notes : sequence of str
        Remarks.
    in_terminal : bool
        False for long tables that belong into the files only.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    in_terminal: bool = True


@dataclass(frozen=True)
class Report:
    """Everything a table of the benchmark has to say.

    Attributes
    ----------
    name : str
        Stem of the files.
    title : str
        One line.
    facts : mapping
        Versions, protocol, machine: what a reader needs to judge or repeat the figures.
    sections : sequence of Section
        The tables.
    data : mapping
        The unrounded figures, for the JSON file.
    draw : callable, optional
        ``draw(figure)`` paints on a matplotlib figure.
    headlines : sequence of Headline
        The figures the table is read for, for the page of all results.
    failures : sequence of str
        What could not be measured, a line each, for the same page.
    repeated : sequence of Section
        Sections that the same page repeats.
    """

    name: str
    title: str
    facts: Mapping[str, object]
    sections: Sequence[Section]
    data: Mapping[str, object] = field(default_factory=dict)
    draw: Callable[[Any], None] | None = None
    headlines: Sequence[Headline] = ()
    failures: Sequence[str] = ()
    repeated: Sequence[Section] = ()


@dataclass(frozen=True)
class Finding:
    """A section, its unrounded figures, and those to be read first."""

    section: Section
    data: Mapping[str, Any] = field(default_factory=dict)
    headlines: Sequence[Headline] = ()


Step = Callable[[str], None]
"""Shows what is being done."""


@contextmanager
def shown_steps(console: Console) -> Iterator[Step]:
    """One line that says what is being done, until all is done.

    It has no refresh thread: between two measurements one would be harmless, during one it would be part of it.
    """
    with Progress(TextColumn("{task.description}"), console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task("")
        yield lambda text: bar.update(task, description=text, refresh=True)


def show(report: Report, console: Console) -> None:
    """Print a report."""
    console.print()
    console.print(Text(report.title, style="bold"))
    for name, fact in report.facts.items():
        console.print(_indented(f"{name}: {fact}", style="dim"))
    for section in report.sections:
        if section.in_terminal:
            console.print(_rich_table(section))
            for note in section.notes:
                console.print(_indented(note))


def publish(
    report: Report,
    out: Path,
    console: Console,
    *,
    seconds: float = 0.0,
    conditions: Mapping[str, object] | None = None,
    docs: Path | None = None,
) -> None:
    """Write a report, then print it: in this order a closed terminal costs nothing.

    Parameters
    ----------
    report : Report
        The report.
    out : Path
        Folder for all of its files.
    console : Console
        Where it is printed.
    seconds : float, default=0
        How long it took.
    conditions : mapping, optional
        What it was run with (`Request.conditions`), for a run that wants to keep it.
    docs : Path, optional
        Folder that gets the page and the picture as well.
    """
    messages = [write(report, out, seconds=seconds, conditions=conditions)]
    if docs is not None:
        messages.append(f"Copied to {docs}: {', '.join(copy_pages(report.name, out, docs))}")
    show(report, console)
    for message in messages:
        console.print(message, markup=False)


def copy_pages(name: str, out: Path, docs: Path) -> list[str]:
    """Copy the page and the picture of a report, where there is one; return their names."""
    docs.mkdir(parents=True, exist_ok=True)
    pages = [page for page in (f"{name}.md", f"{name}.png") if (out / page).exists()]
    for page in pages:
        _replace(docs / page, (out / page).read_bytes())
    return pages


def write(report: Report, folder: Path, *, seconds: float = 0.0, conditions: Mapping[str, object] | None = None) -> str:
    """Write ``<name>.json``, ``<name>.md`` and, if there is a picture, ``<name>.png``; return what to tell the user."""
    content = {
        "title": report.title,
        "facts": dict(report.facts),
        "headlines": [headline.as_json() for headline in report.headlines],
        "run": {
            "day": datetime.now(UTC).date().isoformat(),
            "seconds": seconds,
            "conditions": dict(conditions or {}),
            "failures": list(report.failures),
            "repeated": [asdict(section) for section in report.repeated],
        },
        **report.data,
    }
    _replace(folder / f"{report.name}.json", (json.dumps(content, indent=2) + "\n").encode())
    _replace(folder / f"{report.name}.md", markdown(report).encode())
    written = [f"{report.name}.json", f"{report.name}.md"]
    if report.draw is not None:
        _replace(folder / f"{report.name}.png", _picture(report.draw))
        written.append(f"{report.name}.png")
    return f"Written to {folder}: {', '.join(written)}"


def markdown(report: Report) -> str:
    """Return a report as Markdown."""
    lines = [f"# {report.title}", "", *(f"- {name}: {fact}" for name, fact in report.facts.items()), ""]
    for section in report.sections:
        lines += [f"## {section.title}", "", *markdown_body(section)]
    return "\n".join(lines)


def markdown_body(section: Section) -> list[str]:
    """Return the lines of a section below its title: its table and its remarks."""
    remarks = [*(f"- {note}" for note in section.notes), ""] if section.notes else []
    return [*markdown_table(section), "", *remarks]


def _indented(line: str, style: str = "") -> Padding:
    return Padding(Text(line, style=style), (0, 0, 0, 2))


def _rich_table(section: Section) -> Table:
    table = Table(
        title=section.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for position, title in enumerate(section.header):
        table.add_column(title, justify="right" if position else "left", overflow="fold", no_wrap=not position)
    for row in section.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def markdown_table(section: Section) -> list[str]:
    """Return the lines of a section's table."""
    width = len(section.header)
    lines = [list(section.header), ["---"] + ["---:"] * (width - 1)]
    lines += [[cell.replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in section.rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _picture(draw: Callable[[Any], None]) -> bytes:
    # Without pyplot there is no window, no global state and no need of a display.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw(figure)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step; its folder is made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, text.encode())


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old or the new content, never a part of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
