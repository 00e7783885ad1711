"""Keeps numerical libraries on one thread, so that a method's time is its work and not the machine's core count."""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS and OpenMP use one thread."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
