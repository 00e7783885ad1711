"""A page is a list of sections of plain values; :mod:`ferl._tell.render` has its forms for readers."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str = ""

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
    """

    title: str
    blocks: tuple[Block, ...] = ()
    is_lead: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentences."""
        return tuple(block for block in self.blocks if isinstance(block, str))

    @property
    def table(self) -> Table:
        """The first table."""
        return next(block for block in self.blocks if isinstance(block, Table))


Block = str | Table | Section
