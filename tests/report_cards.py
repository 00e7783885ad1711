"""The rows that a report lists, read off its sections."""

from __future__ import annotations

import re

from ferl._tell.page import Section


def cards_of(section: Section) -> list[Section]:
    """The cards of the rows that a section lists, folded ones among them."""
    parts = [block for block in section.blocks if isinstance(block, Section)]
    return parts if section.look == "rows" else [card for part in parts for card in cards_of(part)]


def number_of(card: Section) -> int:
    """The number of the row that a card is about."""
    return int(re.match(r"Row (\d+) ", card.title)[1])
