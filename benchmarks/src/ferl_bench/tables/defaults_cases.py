"""What the defaults of similar cases were chosen over, measured on training rows only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

if TYPE_CHECKING:
    from ferl import FERLClassifier

# Each line changes one thing. Names in capitals are constants of ferl._learn.cases and case_distance; "kept" thins the
# cases out.
CASES: dict[str, Any] = {"cases": True}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("with cases", {}),
    ("without cases", {"cases": False}),
    ("distance as in novelty", {"constants": {"N_ROUNDS": 0}}),
    *((f"factors held at 1 by {n:g} rows", {"constants": {"HOLD_FACTORS": n}}) for n in (1.0, 10.0)),
    *((f"gain of {n:g} standard errors", {"constants": {"LEAST_GAIN": n}}) for n in (0.0, 2.0)),
    *((f"half of the cases, {how}", {"kept": (how, 0.5)}) for how in ("at random", "condensed")),
)


def thinned(fitted: FERLClassifier, how: str, share: float) -> FERLClassifier:
    """Return the classifier with a share of its cases: random ones, or those that are kept above n_cases."""
    from ferl._learn.cases import condensed, with_average

    model = fitted.model_
    if model.cases is None:
        return fitted
    n_kept = max(int(share * model.cases.n_cases), 2)
    is_first = np.arange(model.cases.n_cases) < n_kept  # their order is random
    fewer = condensed(model.cases, n_kept) if how == "condensed" else model.cases.keep(is_first)
    assert fewer is not None
    fitted.model_ = replace(model, cases=with_average(fewer))
    return fitted


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
