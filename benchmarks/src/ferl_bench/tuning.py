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
    """Learn similar cases with other constants of ``ferl._learn.cases`` meanwhile."""
    from ferl._learn import cases

    before = {name: getattr(cases, name) for name in constants}
    for name, value in constants.items():
        setattr(cases, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(cases, name, value)
