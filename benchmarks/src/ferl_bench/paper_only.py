"""Methods of the paper's frontier table that are not in this benchmark yet, with the paper's figures.

They have a row that says so, because a table that leaves them out would look complete.
"""

from __future__ import annotations

from collections.abc import Mapping

PAPER_ONLY: Mapping[str, Mapping[str, float]] = {
    "FURIA": {"accuracy": 78.51, "aurc": 17.42, "size": 69},
    "Fuzzy-UCS (DS)": {"accuracy": 78.59, "aurc": 17.08, "size": 1483},
    "SamRuLe": {"accuracy": 70.53, "aurc": 20.07, "size": 15},
}
