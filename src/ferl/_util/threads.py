"""Long work: on several threads, and with a progress bar."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from html import escape
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
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
    if n_jobs is None:  # the environment is read in a microsecond, a tenth of what one row takes
        return 1
    wanted = min(n_jobs, 1024) if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
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
    >>> squares = [0, 0, 0]
    >>> for_each(lambda k: squares.__setitem__(k, k * k), range(3), threads=2)
    >>> squares
    [0, 1, 4]
    """
    for _ in in_order(task, items, threads):
        pass


def in_order(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Results of ``work`` in the order of the items, worked on by threads.

    Unlike ``ThreadPoolExecutor.map`` it takes only a few items ahead of those that are needed, so that memory does not
    grow with their number. An error stops the work.

    Parameters
    ----------
    work : callable
        Called in threads; gains from them where it spends its time outside of Python.
    items : iterable
        What to work on.
    n_threads : int
        At most so many at a time; 1: in this thread.

    Returns
    -------
    iterator
        Results of ``work``.

    Examples
    --------
    >>> list(in_order(lambda number: number * number, range(5), 2))
    [0, 1, 4, 9, 16]
    """
    return map(work, items) if n_threads == 1 else _by_threads(work, items, n_threads)


def _by_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    pool = ThreadPoolExecutor(n_threads)
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


# ---------------------------------------------------------------------------------------------------------------------
# Progress bars
# ---------------------------------------------------------------------------------------------------------------------


def in_notebook() -> bool:
    """Whether the code runs in a notebook, which shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class NotebookBar:
    """A progress bar of a notebook, which needs neither a terminal nor widgets; it moves ten times a second at most."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._moved = 0.0

    def move(self, title: str, done: int, most: int, text: str, *, is_last: bool = False) -> None:
        """Show how much is done; ``most`` 0: nobody knows where the bar ends."""
        now = monotonic()
        if now - self._moved < 0.1 and not is_last:
            return
        notebook: Any = import_module("IPython.display")
        self._moved = now
        filled = f' value="{done}" max="{most}"' if most else ""
        drawn = notebook.HTML(f"<div>{escape(title)} <progress{filled}></progress> {escape(text)}</div>")
        if self._shown is None:
            self._shown = notebook.display(drawn, display_id=True)
        else:
            self._shown.update(drawn)


@contextmanager
def count_bar(title: str, most: int, show: bool) -> Iterator[Callable[[int], object] | None]:
    """A bar of the rules grown or the epochs trained so far; yields the function that moves it, or None without a bar.

    The caller moves it once more at the end, to the number of rules or epochs there are.

    Parameters
    ----------
    title : str
        What is going on.
    most : int
        Where the bar ends; the work may stop before.
    show : bool
        Whether there is a bar at all.
    """
    if not show:
        yield None
        return
    if in_notebook():
        bar = NotebookBar()
        most_done = 0

        def move(done: int) -> None:
            nonlocal most_done
            most_done = min(done, most)
            bar.move(title, most_done, most, f"{most_done:,} of at most {most:,}")

        yield move
        bar.move(title, 1, 1, f"{most_done:,}", is_last=True)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task(title, total=most)
        yield lambda done: progress.update(task, completed=min(done, most))
        done = max(int(progress.tasks[0].completed), 1)
        progress.update(task, total=done, completed=done)


@contextmanager
def rows_bar(n_rows: int | None, show: bool) -> Iterator[Callable[[str, int], object]]:
    """A bar of the rows read so far; yields a function of a title and the number of rows done.

    Parameters
    ----------
    n_rows : int or None
        How many there are; None where this is unknown.
    show : bool
        Whether there is a bar at all.
    """
    if not show:
        yield lambda title, done: None
        return
    if in_notebook():
        bars: dict[str, NotebookBar] = {}

        def count(title: str, done: int) -> None:
            bar = bars.setdefault(title, NotebookBar())
            bar.move(title, done, n_rows or 0, f"{done:,} rows", is_last=done == n_rows)

        yield count
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    rows = TextColumn("{task.completed:,} rows")
    columns = (TextColumn("{task.description}"), BarColumn(), rows, TimeRemainingColumn())
    with Progress(*columns) as progress:
        tasks: dict[str, Any] = {}

        def move(title: str, done: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=n_rows)
            progress.update(tasks[title], completed=done)

        yield move


@contextmanager
def file_bar(title: str, total: int) -> Iterator[Callable[[int], object]]:
    """A bar on standard error, where that is a terminal; yields the function that moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title, total=max(total, 1))
        yield lambda done: bar.update(task, completed=done)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within, products of matrices take one thread: several add up in another order, and wait for each other."""
    from threadpoolctl import threadpool_limits  # late: `ferl predict` does without it

    limit: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limit
