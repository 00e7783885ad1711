"""Fits with other numbers in the learner of rules than those it was tuned to, for studies of defaults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def tuned(**changes: Any) -> Iterator[None]:
    """Let all fits inside have other numbers; ``cpp/rules/tuning.h`` has their names, and what each is for.

    They are those of the process, so fits of other threads have them too.

    Examples
    --------
    >>> from ferl import _core
    >>> with tuned(beam=4, random_starts=3):
    ...     print(_core.TUNING.beam)
    4
    >>> _core.TUNING.beam
    3
    """
    from ferl import _core

    before = {name: getattr(_core.TUNING, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(_core.TUNING, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(_core.TUNING, name, value)


@contextmanager
def with_constants(**constants: float) -> Iterator[None]:
    """Learn similar cases with other constants of ``ferl._learn.cases`` and ``case_distance`` meanwhile.

    Examples
    --------
    >>> from ferl._learn import case_distance, cases
    >>> with with_constants(LEAST_GAIN=2.0, N_ROUNDS=0):
    ...     print(cases.LEAST_GAIN, case_distance.N_ROUNDS)
    2.0 0
    >>> print(cases.LEAST_GAIN, case_distance.N_ROUNDS)
    1.0 3
    """
    from ferl._learn import case_distance, cases

    home = {name: cases if hasattr(cases, name) else case_distance for name in constants}
    before = {name: getattr(home[name], name) for name in constants}
    for name, value in constants.items():
        setattr(home[name], name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(home[name], name, value)
