"""Keeps numerical libraries on one thread, so that a method's time is its work and not the machine's core count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS and OpenMP use one thread."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


@contextmanager
def sleeping_threads() -> Iterator[None]:
    """Let threads of OpenMP in processes that are started meanwhile sleep while they wait for each other.

    By default they spin: on a machine with other work, LightGBM on two threads then takes ten times as long.
    """
    name = "OMP_WAIT_POLICY"
    before = os.environ.get(name)
    os.environ[name] = "passive"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
