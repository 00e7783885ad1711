"""Work on several things at a time, with the results in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_order(work: Callable[[Thing], Result], things: Iterable[Thing], n_threads: int) -> Iterator[Result]:
    """Results of ``work`` in the order of the things, worked on by threads.

    Unlike ``ThreadPoolExecutor.map`` it takes only a few things ahead of what is asked for, so that memory does not
    grow with their number. An error stops the work.

    Parameters
    ----------
    work : callable
        Called in threads; gains from them where it spends its time outside of Python.
    things : iterable
        What to work on.
    n_threads : int
        At most so many at a time; 1: in this thread.

    Yields
    ------
    object
        What ``work`` gave.

    Examples
    --------
    >>> list(in_order(lambda number: number * number, range(5), 2))
    [0, 1, 4, 9, 16]
    """
    if n_threads == 1:
        yield from map(work, things)
        return
    pool = ThreadPoolExecutor(n_threads)
    pending: deque[Future[Result]] = deque()
    try:
        for thing in things:
            pending.append(pool.submit(work, thing))
            if len(pending) > 2 * n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
