"""A page is a list of sections of plain values; it has forms for readers in text, rich, HTML, LaTeX and JSON."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from ferl._util.text import plain

if TYPE_CHECKING:
    from rich.console import Group

INDENT = "  "
MIN_WIDTH = 40


class Marked(str):
    """Text with marks, for media that have them; to all others it is the text alone.

    Parameters
    ----------
    *pieces : str
        What the text is made of, in order; pieces may be marked themselves.
    html : str, default=""
        What stands for the text in HTML: a drawing. Nothing in it is escaped.
    **marks : object
        ``title``: the tooltip. ``term``: its entry in the glossary. ``tone``: its look, by names of the style sheet.
        ``link``: the target of a link. ``name``: the anchor that links refer to. Cells also take ``span``, the number
        of rows that the cell covers if the cells below are empty; ``key``, the number by which its column is sorted;
        ``scope``, "row" or "rowgroup" if the cell is the heading of one.
    """

    pieces: tuple[str, ...]
    html: str
    marks: dict[str, Any]

    def __new__(cls, *pieces: str, html: str = "", **marks: Any) -> Marked:
        made = super().__new__(cls, "".join(pieces))
        made.pieces, made.html, made.marks = pieces, html, marks
        return made


@dataclass(frozen=True)
class Table:
    """Cells under headings.

    Attributes
    ----------
    headings : tuple of str
        One for each column; empty: the table has none.
    rows : tuple of tuple of str
        The cells.
    align : str
        "l" or "r" for each column; "": text in the first column, numbers in the others.
    look : str
        How it looks, by names of the style sheet; "tiles" and "words" are lists of names with what belongs to them.
    title : str
        Name of a wide table for screen readers.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str = ""
    look: str = ""
    title: str = ""

    @property
    def sides(self) -> str:
        """The side to which each column is aligned."""
        n_columns = len(self.headings) if self.headings else max(map(len, self.rows), default=0)
        return self.align or "l" + "r" * (n_columns - 1)


@dataclass(frozen=True)
class Section:
    """Part of a page.

    Attributes
    ----------
    title : str
        What it is about; "": nothing is said above it.
    blocks : tuple
        What it holds, in order: sentences, each in a paragraph; tables; and sections, which are folded where the
        medium allows that.
    is_lead : bool
        Whether the sentences are the main message of the page.
    look : str
        Of a section inside another one: "" is folded, "open" could be; all others are not, and are names of the style
        sheet.
    name : str
        What links to it.
    """

    title: str
    blocks: tuple[Block, ...] = ()
    is_lead: bool = False
    look: str = ""
    name: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentences."""
        return tuple(block for block in self.blocks if isinstance(block, str))

    @property
    def table(self) -> Table:
        """The first table."""
        return next(block for block in self.blocks if isinstance(block, Table))


Block = str | Table | Section


# ---------------------------------------------------------------------------------------------------------------------
# Forms for readers
# ---------------------------------------------------------------------------------------------------------------------


class Readable:
    """What has sections can be read: in a terminal, in a notebook, or anywhere.

    A class that inherits has ``_sections``, a list of sections.
    """

    _width: ClassVar[int | None] = 100  # of printed lines; None: a sentence is a line, however long it is

    @cached_property
    def _sections(self) -> list[Section]:
        raise NotImplementedError

    def to_text(self, width: int | None = None) -> str:
        """Plain text, wrapped to ``width`` columns; without a width as ``print`` shows it."""
        return as_text(self._sections, self._width if width is None else width)

    def to_html(self) -> str:
        """A fragment of HTML that needs nothing else; everything from the table is escaped."""
        return as_html(self._sections)

    def to_latex(self) -> str:
        """LaTeX without a preamble; the document needs booktabs."""
        return as_latex(self._sections)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()

    def __rich__(self) -> Any:
        return as_rich(self._sections)


# ---------------------------------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------------------------------


def as_text(sections: Sequence[Section], width: int | None = 100) -> str:
    """The page in plain text; ``width`` None: lines are as long as their sentences."""
    if width is not None and width < MIN_WIDTH:
        raise ValueError(f"width is {width}; a page needs at least {MIN_WIDTH} columns.")
    return "\n\n".join("\n".join(_section_lines(section, width or 1_000_000, "")) for section in sections)


def _section_lines(section: Section, width: int, left: str) -> list[str]:
    lines = _wrapped(section.title, width, left) if section.title else []
    left += INDENT if section.title else ""
    for block in section.blocks:
        if isinstance(block, str):
            lines += _wrapped(block, width, left)
        elif isinstance(block, Section):
            lines += _section_lines(block, width, left)
        else:
            lines += [f"{left}{line}".rstrip() for line in _table_lines(block, width - len(left))]
    return lines


_JOINED = "\ue000"  # stands for a space at which no line ends
_KEPT_TOGETHER = re.compile(r" (?=%)|(?<=\([x/]) (?=\d)")


def _wrapped(line: str, width: int, left: str) -> list[str]:
    """A sentence in lines of at most this width; a number stays with its percent sign, and a factor with its sign."""
    if len(left) + len(line) <= width and line == line.strip() and "\t" not in line and "\n" not in line:
        return [left + line] if line else []
    joined = _KEPT_TOGETHER.sub(_JOINED, line)
    lines = textwrap.wrap(joined, width, initial_indent=left, subsequent_indent=left + INDENT)
    return [line.replace(_JOINED, " ") for line in lines]


def _table_lines(table: Table, width: int) -> list[str]:
    rows = [table.headings, *table.rows] if table.headings else table.rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > width:  # what is too wide is cut in the widest column
        widths[widths.index(max(widths))] -= 1
    return ["  ".join(map(_cell, row, widths, table.sides)) for row in rows]


def _cell(text: str, width: int, side: str) -> str:
    cut = text if len(text) <= width else f"{text[: width - 1]}…"
    return cut.ljust(width) if side == "l" else cut.rjust(width)


# ---------------------------------------------------------------------------------------------------------------------
# Rich
# ---------------------------------------------------------------------------------------------------------------------


def as_rich(sections: Sequence[Section]) -> Group:
    """The page for a terminal that rich draws. Nothing in it is read as markup."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = []
    for section in sections:
        parts += [Text("")] if parts else []
        parts += _rich_parts(section, 0)
    return Group(*parts)


@dataclass(frozen=True)
class _RichSentence:
    """A sentence in the lines of :func:`as_text`, as wide as the terminal."""

    text: str
    left: int
    style: str

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        from rich.text import Text

        width = max(options.max_width, MIN_WIDTH)
        yield Text("\n".join(_wrapped(self.text, width, " " * self.left)), style=self.style)


def _rich_parts(section: Section, left: int) -> list[Any]:
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Any] = [Text(" " * left + section.title, style="bold cyan")] if section.title else []
    left += len(INDENT) if section.title else 0
    for block in section.blocks:
        if isinstance(block, str):
            is_lead = section.is_lead or getattr(block, "marks", {}).get("tone") == "ferl-lead"
            parts.append(_RichSentence(block, left, "bold" if is_lead else ""))
        elif isinstance(block, Section):
            parts += _rich_parts(block, left)
        else:
            parts.append(Padding(_rich_table(block), (0, 0, 0, left)))
    return parts


def _rich_table(table: Table) -> Any:
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="dim", show_header=bool(table.headings))
    for side, heading in zip(table.sides, table.headings or [""] * len(table.sides), strict=True):
        drawn.add_column(Text(heading), justify="left" if side == "l" else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    return drawn


# ---------------------------------------------------------------------------------------------------------------------
# HTML
# ---------------------------------------------------------------------------------------------------------------------

# Colours come from the page around it (currentColor), so the fragment reads on light and on dark ground.
STYLE = """\
.ferl-story{font:14px/1.5 system-ui,sans-serif;max-width:60rem;overflow-wrap:anywhere}
.ferl-story h4{margin:1em 0 .2em;font-size:1em;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.ferl-story p{margin:.15em 0;padding-left:1em;text-indent:-1em}
.ferl-story .ferl-lead{font-weight:600;font-size:1.1em}
.ferl-story table{border-collapse:collapse;margin:.3em 0;font:inherit}
.ferl-story th,.ferl-story td{padding:.1em .8em .1em 0;text-align:left;background:none;color:inherit}
.ferl-story th{font-weight:400;opacity:.7}
.ferl-story .right{text-align:right}
.ferl-story .ferl-bars tr{background:none!important}
.ferl-story .ferl-bars td{vertical-align:middle;border:0}
.ferl-story .ferl-bars td:first-child{text-align:left}
.ferl-story .ferl-bars svg{display:block}
.ferl-story details{margin:.3em 0 0 1em}
.ferl-story summary{cursor:pointer;margin-left:-1em}
.ferl-story h3{margin:.8em 0 .2em;font-size:1em}"""


def as_html(sections: Sequence[Section]) -> str:
    """The page as a fragment that needs nothing else."""
    titled = ((f"<h4>{text_html(section.title)}</h4>" if section.title else "", section) for section in sections)
    body = "".join(title + blocks_html(item) for title, item in titled)
    return f'<div class="ferl-story"><style>{STYLE}</style>{body}</div>'


def blocks_html(section: Section) -> str:
    """What a section holds."""
    lead = " ferl-lead" if section.is_lead else ""
    return "".join(
        _part_html(block)
        if isinstance(block, Section)
        else _table_html(block)
        if isinstance(block, Table)
        else getattr(block, "html", "") or _element("p", block, lead)
        for block in section.blocks
    )


def _part_html(section: Section) -> str:
    """A section inside another one."""
    title, body = text_html(section.title), blocks_html(section)
    if section.look in ("", "open"):
        return f"<details{section.look and ' open'}><summary>{title}</summary>{body}</details>"
    return f'<div class="{section.look}">{title and f"<h3>{title}</h3>"}{body}</div>'


def text_html(text: str) -> str:
    """Text with the marks of its pieces."""
    if not isinstance(text, Marked):
        return escape(text)
    return text.html or "".join(map(piece_html, text.pieces))


def piece_html(text: str) -> str:
    """Marked text in a matching element, with the marks of its pieces."""
    return _element(_tag(text), text) if isinstance(text, Marked) and text.marks else text_html(text)


_ATTRIBUTES = {"span": "rowspan", "key": "data-key", "name": "id", "link": "href", "term": "data-term"}


def _tag(piece: Marked) -> str:
    if "term" in piece.marks:
        return "dfn"
    return "a" if "link" in piece.marks else "code" if piece.marks.get("tone") == "code" else "span"


def _element(tag: str, text: str, look: str = "") -> str:
    """Text inside an element that has its marks."""
    marks = getattr(text, "marks", {})
    look = f"{look} {marks.get('tone', '')}".strip()
    more = {"class": look} if look else {}
    more |= {_ATTRIBUTES.get(name, name): escape(str(mark)) for name, mark in marks.items() if name != "tone"}
    if "term" in marks:
        more |= {"tabindex": "0", "aria-describedby": f"term-{escape(marks['term'].replace(' ', '-'))}"}
    attributes = "".join(f' {name}="{mark}"' for name, mark in more.items())
    return f"<{tag}{attributes}>{text_html(text)}</{tag}>"


def _table_html(table: Table) -> str:
    if table.look in ("tiles", "words"):
        entries = (
            f"<dt>{piece_html(name)}</dt><dd>{''.join(map(piece_html, item))}</dd>" for name, *item in table.rows
        )
        return f'<dl class="{table.look}">{"".join(f"<div>{entry}</div>" for entry in entries)}</dl>'
    looks = ["right" if side == "r" else "" for side in table.sides]
    right = ' class="right"'
    heads = (
        f'<th scope="col"{look and right}>{piece_html(heading)}</th>'
        for heading, look in zip(table.headings, looks, strict=False)
    )
    head = f"<thead><tr>{''.join(heads)}</tr></thead>" if table.headings else ""
    below, rows = [0] * len(looks), []  # rows that a cell above stands for
    for cells in table.rows:
        row = ""
        for k, (cell, look) in enumerate(zip(cells, looks, strict=True)):
            marks = getattr(cell, "marks", {})
            row += "" if below[k] else _element("th" if "scope" in marks else "td", cell, look)
            below[k] = (below[k] or marks.get("span", 1)) - 1
        rows.append(f"<tr>{row}</tr>")
    look = f' class="{table.look}"' if table.look else ""
    markup = f"<table{look}>{head}<tbody>{''.join(rows)}</tbody></table>"
    named = f' tabindex="0" role="region" aria-label="{escape(table.title)}"'
    return f'<div class="scroll"{named}>{markup}</div>' if table.title else markup


# ---------------------------------------------------------------------------------------------------------------------
# LaTeX
# ---------------------------------------------------------------------------------------------------------------------

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{''}",
    "`": r"\textasciigrave{}",
    "'": r"{'}",  # two of them would become a quotation mark
    "-": r"{-}",  # and two of these a dash
    "±": r"\ensuremath{\pm}",
    "\u00a0": "~",
}


def escaped(text: str) -> str:
    r"""Text as LaTeX prints it, letter by letter.

    Examples
    --------
    >>> print(escaped(r"50% of $x_1 & {y}\z"))
    50\% of \$x\_1 \& \{y\}\textbackslash{}z
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex_table(columns: str, headings: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A table of cells that are LaTeX already; a row of one cell spans all columns, as the notes below the rows do.

    Parameters
    ----------
    columns : str
        What the environment tabular takes between ``@{}`` and ``@{}``.
    headings : sequence of str
        One for each column; empty: none.
    rows : iterable of sequence of str
        The cells.
    notes : sequence of str, default=()
        Lines below the table.

    Returns
    -------
    str
    """
    n_columns = len(re.sub(r"p\{[^}]*\}", "p", columns))

    def line(cells: Sequence[str]) -> str:
        spans = len(cells) == 1 < n_columns
        return (rf"\multicolumn{{{n_columns}}}{{@{{}}l@{{}}}}{{{cells[0]}}}" if spans else " & ".join(cells)) + r" \\"

    head = [line(headings), r"\midrule"] if headings else []
    below = [r"\midrule", *(line([note]) for note in notes)] if notes else []
    lines = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule", *head, *map(line, rows), *below]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def as_latex(sections: Sequence[Section]) -> str:
    """The page in LaTeX, without a preamble."""
    return "\n\n".join(part for section in sections for part in _latex_parts(section))


def _latex_parts(section: Section) -> list[str]:
    parts = [rf"\paragraph{{{escaped(section.title)}}}"] if section.title else []
    for block in section.blocks:
        if isinstance(block, str):
            parts.append(escaped(block))
        elif isinstance(block, Section):
            parts += _latex_parts(block)
        else:
            cells = [tuple(map(escaped, row)) for row in block.rows]
            parts.append(latex_table(block.sides, tuple(map(escaped, block.headings)), cells))
    return parts


# ---------------------------------------------------------------------------------------------------------------------
# JSON
# ---------------------------------------------------------------------------------------------------------------------


def as_plain(value: Any) -> Any:
    """A section, or any other value, in the types of JSON: objects by their fields, no number as None."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    return plain(value)
