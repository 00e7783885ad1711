"""Methods of the paper's frontier table that are not in this benchmark yet, with the paper's figures.

They have a row that says so, because a table that leaves them out would look complete. `published.PAPER_ROWS` names all
rows of the paper's table; a test sees to it that each is either here or a method.
"""

from __future__ import annotations

from collections.abc import Mapping

PAPER_ONLY: Mapping[str, Mapping[str, float]] = {}
