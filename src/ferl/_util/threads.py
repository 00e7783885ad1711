"""How many threads to use, and how to."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
WORTH_THREADS = 1_000_000  # cells of a table, below which threads cost more than they save


def n_threads(n_jobs: int | None) -> int:
    """Number of threads for an ``n_jobs`` in scikit-learn's convention.

    Parameters
    ----------
    n_jobs : int or None
        None is one; -1 all cores, -2 all but one, and so on. Never more than the environment variable
        ``OMP_NUM_THREADS``, which joblib sets in its workers so that nested parallelism does not oversubscribe.

    Returns
    -------
    int

    Examples
    --------
    >>> n_threads(None)
    1
    """
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; use None for one thread, -1 for all cores, or a positive number of threads.")
    wanted = 1 if n_jobs is None else min(n_jobs, 1024) if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    # The variable may also hold a list for nested OpenMP regions, or an empty value; those set no limit here.
    return min(wanted, int(limit)) if limit.isdecimal() and int(limit) > 0 else wanted


def _cores() -> int:
    from joblib import cpu_count  # takes a tenth of a second to import

    return int(cpu_count())


def threads_for(n_cells: int, threads: int) -> int:
    """Number of threads for a pass over so many cells of a table: one, if they are few.

    Examples
    --------
    >>> threads_for(2_000, 2), threads_for(10_000_000, 2)
    (1, 2)
    """
    return threads if n_cells >= WORTH_THREADS else 1


def for_each(task: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Call a task for each item, on several threads if there are to be any; the first error in their order is raised.

    Examples
    --------
    >>> from ferl._util.threads import for_each
    >>> found = [0, 0, 0]
    >>> for_each(lambda k: found.__setitem__(k, k * k), range(3), threads=2)
    >>> found
    [0, 1, 4]
    """
    if threads == 1:
        for item in items:
            task(item)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(task, items):
            pass


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
