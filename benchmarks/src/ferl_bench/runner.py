"""Runs jobs in parallel processes, and remembers each result as it comes."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ferl_bench.cache import Result, ResultFile, fingerprint
from ferl_bench.data import DataSet
from ferl_bench.method import Method
from ferl_bench.protocol import N_FOLDS, evaluate
from ferl_bench.threads import one_thread

OnResult = Callable[["Task", Result], None]


class Task(Protocol):
    """What the runner does: work on one data set whose result has an identity."""

    @property
    def data(self) -> DataSet:
        """The data set."""

    @property
    def weight(self) -> int:
        """A guess of the work, for the time left."""

    @property
    def key(self) -> str:
        """The fingerprint of the result."""

    def do(self) -> Result:
        """Work; may raise."""

    def result(self, measures: Mapping[str, float], error: str | None = None) -> Result:
        """Return a result of this task."""


@dataclass(frozen=True, eq=False)
class Job:
    """One method on one fold of one data set."""

    data: DataSet
    fold: int
    method: Method

    @property
    def weight(self) -> int:
        """A guess of the work, for the time left: the number of cells."""
        return self.data.n_rows * self.data.n_features

    @cached_property
    def key(self) -> str:
        """The fingerprint of the job's result."""
        return fingerprint(self.data, self.fold, self.method)

    def do(self) -> Result:
        """Fit and measure, on one thread."""
        with one_thread():
            return self.result(evaluate(self.data, self.fold, self.method))

    def result(self, measures: Mapping[str, float], error: str | None = None) -> Result:
        """Return a result of this job."""
        return Result(self.data.name, self.fold, self.method.name, measures, error)


def plan(data_sets: Iterable[DataSet], methods: Sequence[Method]) -> list[Job]:
    """Return every combination, the largest data sets first so that no long job is left over at the end."""
    ordered = sorted(data_sets, key=lambda data: (-data.n_rows * data.n_features, data.name))
    return [Job(data, fold, method) for data in ordered for fold in range(N_FOLDS) for method in methods]


def run(jobs: Sequence[Task], results: ResultFile, *, n_processes: int, console: Console) -> list[Result]:
    """Do the jobs whose result is not known yet.

    Parameters
    ----------
    jobs : sequence of Job or StudyJob
        The jobs.
    results : ResultFile
        Known results; new ones are added as they come, so that an interrupted run can be resumed.
    n_processes : int
        Number of processes; 1 means this one.
    console : Console
        Where messages and the progress bar go.

    Returns
    -------
    list of Result
        In the order of `jobs`. A method that raises gives a result with a message; it does not end the run.
    """
    known = {job: stored for job in jobs if (stored := results.get(job.key)) is not None}
    missing = [job for job in jobs if job not in known]
    if results.n_unreadable:
        console.print(f"{results.path.name}: {results.n_unreadable} unreadable line(s) ignored.")
    console.print(f"{len(jobs)} jobs: {len(known)} known from {results.path}, {len(missing)} to compute.")
    if missing:
        with _progress(console) as progress:
            task = progress.add_task("fitting", total=sum(job.weight for job in missing), done=0, jobs=len(missing))

            def on_result(job: Task, result: Result) -> None:
                results.add(job.key, result)
                known[job] = result
                done = progress.tasks[0].fields["done"] + 1
                progress.update(task, advance=job.weight, done=done, description=job.data.name)

            _compute(missing, n_processes, on_result)
    return [known[job] for job in jobs]


def run_job(job: Task) -> Result:
    """Do one job; an exception becomes a result that carries its message."""
    try:
        return job.do()
    except Exception as error:
        return _failure(job, f"{type(error).__name__}: {error}")


def _failure(job: Task, message: str) -> Result:
    return job.result({}, " ".join(message.split()))


def _compute(jobs: Sequence[Task], n_processes: int, on_result: OnResult) -> None:
    if min(n_processes, len(jobs)) == 1:
        for job in jobs:
            on_result(job, run_job(job))
        return
    waiting = deque(jobs)
    while waiting:
        for suspect in _compute_in_pool(waiting, n_processes, on_result):
            on_result(suspect, _run_alone(suspect))


def _compute_in_pool(waiting: deque[Task], n_processes: int, on_result: OnResult) -> list[Task]:
    """Work off `waiting`. When a worker dies, stop and return the jobs one of which killed it."""
    running: dict[Future[Result], Task] = {}
    with _workers(min(n_processes, len(waiting))) as pool:
        try:
            while waiting or running:
                # Two jobs for each process keep all of them busy, and few are under suspicion when one dies.
                while waiting and len(running) < 2 * n_processes:
                    running[pool.submit(run_job, waiting[0])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    on_result(running[future], future.result())
                    del running[future]
        except BrokenProcessPool:
            return list(running.values())
    return []


def _run_alone(job: Task) -> Result:
    """Do a job in a process of its own, so that only this job pays when the process dies."""
    with _workers(1) as pool:
        try:
            return pool.submit(run_job, job).result()
        except BrokenProcessPool:
            return _failure(job, "the process died: out of memory, or a crash in compiled code")


@contextmanager
def _workers(n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of processes; on an interrupt they are ended at once instead of finishing their jobs."""
    others = set(multiprocessing.active_children())
    # Spawned, not forked: a fork after threads were started can hang.
    pool = ProcessPoolExecutor(n_processes, multiprocessing.get_context("spawn"), _leave_interrupts_to_parent)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _progress(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        TextColumn("{task.fields[done]}/{task.fields[jobs]} jobs"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("{task.description}"),
        console=console,
    )
