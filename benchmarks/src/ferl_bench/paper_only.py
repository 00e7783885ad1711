"""Methods of the paper's frontier table that are not in this benchmark yet, with the paper's figures.

They have a row that says so, because a table that leaves them out would look complete.
"""

from __future__ import annotations

from collections.abc import Mapping

PAPER_ONLY: Mapping[str, Mapping[str, float]] = {}
