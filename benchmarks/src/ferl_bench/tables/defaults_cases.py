"""What the defaults of similar cases were chosen over, measured on training rows only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

if TYPE_CHECKING:
    from ferl import FERLClassifier
    from ferl._models.cases import Cases

# Each line changes one thing. Names in capitals are constants of ferl._learn.cases; "kept" thins the cases out.
CASES: dict[str, Any] = {"cases": True}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("with cases", {}),
    ("without cases", {"cases": False}),
    *((f"held at 0 by {n:g} rows", {"constants": {"RIDGE": n}}) for n in (0.5, 8.0)),
    *((f"held at 1 by {n:g} rows", {"constants": {"HOLD": n}}) for n in (2.0, 50.0)),
    *((f"gain of {n:g} standard errors", {"constants": {"LEAST_GAIN": n}}) for n in (0.0, 2.0)),
    *((f"half of the cases, {how}", {"kept": (how, 0.5)}) for how in ("at random", "condensed")),
    *((f"a tenth of the cases, {how}", {"kept": (how, 0.1)}) for how in ("at random", "condensed")),
)


def thinned(fitted: FERLClassifier, how: str, share: float) -> FERLClassifier:
    """Return the classifier with a share of its cases: random ones, or those that Hart's rule condenses them to."""
    from ferl._learn.cases import with_average

    model = fitted.model_
    if model.cases is None:
        return fitted
    n_kept = max(int(share * model.cases.n_cases), 2)
    kept = np.zeros(model.cases.n_cases, dtype=bool)
    kept[:n_kept] = True  # their order is random
    if how == "condensed":
        kept = condensed(model.cases, n_kept)
    fewer = model.cases.keep(kept)
    assert fewer is not None
    fitted.model_ = replace(model, cases=with_average(fewer))
    return fitted


def condensed(cases: Cases, n_kept: int) -> NDArray[np.bool_]:
    """Return which cases Hart's rule keeps: those that the nearest kept one does not predict; then random ones.

    P. Hart, The condensed nearest neighbor rule, 1968.
    """
    kept = np.zeros(cases.n_cases, dtype=bool)
    kept[0] = True
    for _ in range(20):
        before = int(kept.sum())
        for first in range(0, cases.n_cases, 256):  # in blocks: the rule one row at a time would take hours
            rows = np.arange(first, min(first + 256, cases.n_cases))
            own = cases.keep(kept)
            assert own is not None
            nearest = own.nearest(cases.row[rows], 1)[0][:, 0]
            wrong = rows[(own.label[nearest] != cases.label[rows]) & ~kept[rows]]
            kept[wrong[: n_kept - int(kept.sum())]] = True
            if kept.sum() >= n_kept:
                return kept
        if kept.sum() == before:
            break
    kept[np.flatnonzero(~kept)[: n_kept - int(kept.sum())]] = True
    return kept


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
