"""What the defaults of similar cases were chosen over, measured on training rows only."""

from __future__ import annotations

from typing import Any

from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

# Each line changes one thing. Names in capitals are constants of ferl._learn.cases and case_distance. With one
# candidate for each case, a bounded set has the first of randomly ordered rows; by default, it is chosen among three
# times as many.
CASES: dict[str, Any] = {"cases": True}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("with cases", {}),
    ("without cases", {"cases": False}),
    ("distance as in novelty", {"constants": {"N_ROUNDS": 0}}),
    *((f"factors held at 1 by {n:g} rows", {"constants": {"HOLD_FACTORS": n}}) for n in (1.0, 10.0)),
    *((f"gain of {n:g} standard errors", {"constants": {"LEAST_GAIN": n}}) for n in (0.0, 2.0)),
    *(
        (f"at most {words} of the rows, {how}", {"case_share": share, **change})
        for words, share in (("a half", 1 / 2), ("an eighth", 1 / 8))
        for how, change in (("chosen", {}), ("at random", {"constants": {"CANDIDATES": 1}}))
    ),
)


def run_defaults_cases(request: Request) -> Report:
    """Measure each alternative on the calibration parts."""
    alternatives = [(label, {**CASES, **change}) for label, change in CHANGES]
    study = Alternatives("defaults_cases", "Defaults of similar cases", alternatives, 1, reads_categories=True)
    return run_alternatives(request, study)


TABLE = Table(
    summary="What the defaults of similar cases were chosen over, on training rows only.",
    run=run_defaults_cases,
    chapter="Choices of defaults",
    minutes=25,
)
