"""Methods of the paper's frontier table that are not in this benchmark yet, with the paper's figures.

They have a row that says so, because a table that leaves them out would look complete.
"""

from __future__ import annotations

from collections.abc import Mapping

PAPER_ONLY: Mapping[str, Mapping[str, float]] = {
    "RRL": {"accuracy": 77.95, "aurc": 13.89, "size": 201},
    "RL-Net": {"accuracy": 74.81, "aurc": 20.80, "size": 195},
    "NeuRules": {"accuracy": 79.27, "aurc": 14.07, "size": 19},
}
