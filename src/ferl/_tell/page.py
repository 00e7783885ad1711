"""A page is a list of sections of plain values; :mod:`ferl._tell.render` has its forms for readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Marked(str):
    """Text with marks, for media that have them; to all others it is the text alone.

    Parameters
    ----------
    *pieces : str
        What the text is made of, in order; pieces may be marked themselves.
    html : str, default=""
        What stands for the text in HTML: a drawing. Nothing in it is escaped.
    **marks : object
        ``title``: what it means, for those who point at it. ``term``: the word of the glossary that it is. ``tone``:
        how it looks, by names of the style sheet. ``link``: where it leads. ``name``: what links to it. Besides, of a
        cell: ``span``, the number of rows that it stands for, where the cells below are empty; ``key``, the number by
        which its column is sorted; ``scope``, "row" or "rowgroup" where it is the heading of one.
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
        What a wide table is called by those who cannot see it.
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
