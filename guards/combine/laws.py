"""The list of laws, and how answers are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from combine.case import Case

ROUNDING = 1e-9
Law = Callable[[Case], Any]
LAWS: dict[str, tuple[Law, int]] = {}
NONE = "does not apply"


def law(every: int = 1) -> Callable[[Law], Law]:
    """A law that cases must keep; each one, or one in so many. It returns ``NONE`` where it does not apply."""

    def keep(function: Law) -> Law:
        LAWS[function.__name__] = (function, every)
        return function

    return keep


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """What a model answers, by name."""
    evidence = model.predict_evidence(rows)
    return {
        "label": model.predict(rows),
        "proba": model.predict_proba(rows),
        "belief": evidence.belief,
        "ignorance": evidence.ignorance,
        "set": model.predict_set(rows),
        "novelty": model.novelty(rows),
    }


def is_clear(model: Any, rows: Any) -> Any:
    """Which rows have a most probable class; where two are, rounding decides."""
    ranked = np.sort(np.pad(model.predict_proba(rows), ((0, 0), (1, 0))), axis=1)
    return ranked[:, -1] - ranked[:, -2] > ROUNDING


def assert_same(found: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    """The same bits."""
    for name, own in expected.items():
        np.testing.assert_array_equal(found[name], own, err_msg=f"{what}: {name}")
