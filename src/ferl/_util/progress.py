"""Progress bars for long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def rules_bar(max_rules: int, show: bool) -> Iterator[Callable[[int], object] | None]:
    """A bar of the rules grown so far; yields the function that moves it, or None when nothing is to be shown.

    The caller moves it once more when growth has ended, to the number of rules there are.

    Parameters
    ----------
    max_rules : int
        Where the bar ends; growth may stop before.
    show : bool
        Whether there is a bar at all.
    """
    if not show:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("growing rules"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("grow", total=max_rules)
        n_rules = 0

        def move(n: int) -> None:
            nonlocal n_rules
            n_rules = min(n, max_rules)
            progress.update(task, completed=n_rules)

        yield move
        progress.update(task, total=max(n_rules, 1), completed=max(n_rules, 1))  # growth may stop before max_rules


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
def epochs_bar(epochs: int, show: bool) -> Iterator[Callable[[int], object] | None]:
    """A bar of the epochs a network was trained for; yields the function that moves it, or None as above.

    Parameters
    ----------
    epochs : int
        Where the bar ends; training may stop before.
    show : bool
        Whether there is a bar at all.
    """
    if not show:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("training the detector"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("train", total=epochs)
        yield lambda epoch: progress.update(task, completed=epoch)


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
