"""What each default of wide rules was chosen over, measured on training rows only."""

from __future__ import annotations

from typing import Any

from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

# Each line changes one thing. The default: at most 150 rules of 3 conditions, prune=0.0015, gate_margin=1.
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("wide", {}),
    *((f"max_rules={n_rules}", {"max_rules": n_rules}) for n_rules in (50, 25, 15, 10, 6)),
    *((f"prune={nats:g}", {"prune": nats}) for nats in (0.0, 0.001, 0.005, 0.01)),
    *((f"max_conditions={n_conditions}", {"max_conditions": n_conditions}) for n_conditions in (1, 2)),
    ("gate_margin=0.5", {"gate_margin": 0.5}),
    ("gate_margin=2", {"gate_margin": 2.0}),
    ("no gates", {"support_gate": False}),
)

N_SEEDS = 1


def run_defaults_wide(request: Request) -> Report:
    """Measure each alternative on the calibration parts."""
    alternatives = list(CHANGES)
    return run_alternatives(
        request, Alternatives("defaults_wide", "Defaults of wide rules", alternatives, N_SEEDS, reads_categories=True)
    )


TABLE = Table(
    summary="What each default of wide rules was chosen over, on training rows only.",
    run=run_defaults_wide,
    chapter="Choices of defaults",
    minutes=10,
)
