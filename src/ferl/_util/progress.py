"""Progress bars for long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task(title, total=most)
        yield lambda done: progress.update(task, completed=min(done, most))
        done = max(int(progress.tasks[0].completed), 1)
        progress.update(task, total=done, completed=done)


@contextmanager
def rows_bar(n_rows: int | None, show: bool) -> Iterator[Callable[[str, int], object]]:
    """A bar of the rows read so far; yields the function that is told what is done, and to how many rows.

    Parameters
    ----------
    n_rows : int or None
        How many there are; None: nobody knows.
    show : bool
        Whether there is a bar at all.
    """
    if not show:
        yield lambda title, done: None
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
