"""A page of sections, as plain text and in colours; :mod:`ferl._read.explanation.page` has the third form."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group


INDENT = "  "
MIN_WIDTH = 40


@dataclass(frozen=True)
class Table:
    """Cells under headings; the first column is text, the others are aligned to the right.

    Attributes
    ----------
    headings : tuple of str
        One for each column.
    rows : tuple of tuple of str
        The cells.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """Part of a page.

    Attributes
    ----------
    title : str
        What it is about.
    lines : tuple of str
        Sentences; each starts a line of its own.
    table : Table, optional
        Before the sentences.
    is_lead : bool
        Whether the sentences are the main message of the page.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    is_lead: bool = False


class Readable:
    """What has sections can be read: in a terminal, in a notebook, or anywhere."""

    _sections: Any  # list of Section; a property of those that inherit

    def to_text(self, width: int = 100) -> str:
        """Plain text, wrapped to ``width`` columns."""
        return as_text(self._sections, width)

    def to_html(self) -> str:
        """A fragment of HTML that needs nothing else; everything from the table is escaped."""
        return as_html(self._sections)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()

    def __rich__(self) -> Any:
        return as_rich(self._sections)


def as_text(sections: Sequence[Section], width: int = 100) -> str:
    """The page in plain text."""
    if width < MIN_WIDTH:
        raise ValueError(f"width is {width}; a page needs at least {MIN_WIDTH} columns.")
    blocks = []
    for section in sections:
        lines = [section.title] if section.title else []
        indent = INDENT if section.title else ""
        if section.table is not None:
            lines += [f"{indent}{line}" for line in _table_lines(section.table, width - len(indent))]
        for line in section.lines:
            lines += _wrapped(line, width, indent)
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def _wrapped(line: str, width: int, indent: str) -> list[str]:
    """A sentence in lines of at most this width; a number stays with its percent sign."""
    if len(indent) + len(line) <= width and line == line.strip() and "\t" not in line and "\n" not in line:
        return [indent + line] if line else []
    joined = line.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(joined, width, initial_indent=indent, subsequent_indent=indent + INDENT)
    return [own.replace("\N{NO-BREAK SPACE}%", " %") for own in lines]


def _table_lines(table: Table, width: int) -> list[str]:
    rows = [table.headings, *table.rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(table.headings))]
    while sum(widths) + 2 * (len(widths) - 1) > width:  # what is too wide is cut in the widest column
        widths[widths.index(max(widths))] -= 1
    return ["  ".join(_cell(text, widths[j], j == 0) for j, text in enumerate(row)) for row in rows]


def _cell(text: str, width: int, is_text: bool) -> str:
    cut = text if len(text) <= width else f"{text[: width - 1]}…"
    return cut.ljust(width) if is_text else cut.rjust(width)


def as_rich(sections: Sequence[Section]) -> Group:
    """The page for a terminal that rich draws. Nothing in it is read as markup."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Any] = []
    for section in sections:
        if parts:
            parts.append(Text(""))
        if section.title:
            parts.append(Text(section.title, style="bold cyan"))
        left = len(INDENT) if section.title else 0
        if section.table is not None:
            parts.append(Padding(_rich_table(section.table), (0, 0, 0, left)))
        style = "bold" if section.is_lead else ""
        parts += [Padding(Text(line, style=style), (0, 0, 0, left)) for line in section.lines]
    return Group(*parts)


def _rich_table(table: Table) -> Any:
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="dim")
    for index, heading in enumerate(table.headings):
        drawn.add_column(Text(heading), justify="right" if index else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    return drawn


# Colours come from the page around it (currentColor), so the fragment reads on light and on dark ground.
STYLE = """\
.ferl-story{font:14px/1.5 system-ui,sans-serif;max-width:60rem;overflow-wrap:anywhere}
.ferl-story h4{margin:1em 0 .2em;font-size:1em;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.ferl-story p{margin:.15em 0;padding-left:1em;text-indent:-1em}
.ferl-story .ferl-lead{font-weight:600;font-size:1.1em}
.ferl-story table{border-collapse:collapse;margin:.3em 0}
.ferl-story th,.ferl-story td{padding:.1em .8em .1em 0;text-align:right;background:none;color:inherit}
.ferl-story th{font-weight:400;opacity:.7}
.ferl-story th:first-child,.ferl-story td:first-child{text-align:left}"""


def as_html(sections: Sequence[Section]) -> str:
    """The page as a fragment that needs nothing else."""
    body = "".join(_section(section) for section in sections)
    return f'<div class="ferl-story"><style>{STYLE}</style>{body}</div>'


def _section(section: Section) -> str:
    title = f"<h4>{escape(section.title)}</h4>" if section.title else ""
    table = "" if section.table is None else _table(section.table)
    opening = '<p class="ferl-lead">' if section.is_lead else "<p>"
    return title + table + "".join(f"{opening}{escape(line)}</p>" for line in section.lines)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
