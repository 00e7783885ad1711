"""What each default of compact trees was chosen over, measured on training rows only."""

from __future__ import annotations

from typing import Any

from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

# Each line changes one thing, or two where it says so.
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("compact", {}),
    ("worth 0.035", {"min_rule_worth": 0.035}),
    ("worth 0.04", {"min_rule_worth": 0.04}),
    ("worth 0.055", {"min_rule_worth": 0.055}),
    ("gain 0.01", {"min_gain": 0.01}),
    ("gain 0.02", {"min_gain": 0.02}),
    ("patience=0", {"patience": 0}),
    ("2 sets", {"n_sets": 2}),
    ("4 sets", {"n_sets": 4}),
    ("5 sets", {"n_sets": 5}),
    ("width", {"partition": "width"}),
    ("MDLP", {"partition": "mdlp"}),
    ("MDLP, worth 0.04", {"partition": "mdlp", "min_rule_worth": 0.04}),
    ("MDLP, 5 sets", {"partition": "mdlp", "n_sets": 5}),
    ("cci", {"criterion": "cci"}),
    ("vote", {"combination": "vote"}),
    ("leaves only", {"sources": "leaves"}),
    ("raw", {"consequents": "raw"}),
)

# One seed: below the size at which rows are sampled, the words and their choice do not depend on it.
N_SEEDS = 1


def run_defaults_compact(request: Request) -> Report:
    """Measure each alternative on the calibration parts."""
    alternatives = [(label, {"variant": "compact", **change}) for label, change in CHANGES]
    return run_alternatives(
        request, Alternatives("defaults_compact", "Defaults of compact trees", alternatives, N_SEEDS)
    )


TABLE = Table(
    summary="What each default of compact trees was chosen over, on training rows only.",
    run=run_defaults_compact,
    chapter="Choices of defaults",
    minutes=2,
)
