"""Runs jobs in parallel processes, and remembers each result as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ferl_bench.cache import Result, ResultFile, fingerprint
from ferl_bench.data import DataSet
from ferl_bench.limits import Ledger, Limited, Limits, ended
from ferl_bench.method import Method
from ferl_bench.protocol import N_FOLDS, evaluate
from ferl_bench.threads import one_thread
from ferl_bench.workers import Ended, work_off

OnResult = Callable[["Task", Result], None]


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """As shown while it is worked on."""


class Task(Limited, Protocol):
    """What the runner does: work on one data set whose result has an identity."""

    @property
    def data(self) -> Named:
        """The data set."""

    @property
    def key(self) -> str:
        """The fingerprint of the result."""

    def do(self) -> Result:
        """Work; may raise."""


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

    @property
    def budget_minutes(self) -> float | None:
        """What all folds of the method may take together."""
        return self.method.budget_minutes

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


def plan(
    data_sets: Iterable[DataSet], methods: Sequence[Method], limits: Limits | None = None, make: type[Job] = Job
) -> list[Job]:
    """Return every combination, the largest data sets first so that no long job is left over at the end.

    Methods with a budget come last, method by method with the smallest data sets first: as many as fit.
    """
    budget = (limits or Limits()).budget
    ordered = sorted(data_sets, key=lambda data: (-data.n_rows * data.n_features, data.name))
    without = [method for method in methods if budget(method.budget_minutes) is None]
    first = [make(data, fold, method) for data in ordered for fold in range(N_FOLDS) for method in without]
    slow = [method for method in methods if budget(method.budget_minutes) is not None]
    return first + [make(data, fold, method) for method in slow for data in ordered[::-1] for fold in range(N_FOLDS)]


def run(
    jobs: Sequence[Task], results: ResultFile, *, n_processes: int, console: Console, limits: Limits | None = None
) -> list[Result]:
    """Do the jobs whose result is not known yet.

    Parameters
    ----------
    jobs : sequence of Job or StudyJob
        The jobs.
    results : ResultFile
        Known results; new ones are added as they come, so that an interrupted run can be resumed.
    n_processes : int
        Number of processes; 1 means this one, unless there is a limit for a fold: a process can be ended, a fit in this
        one cannot.
    console : Console
        Where messages and the progress bar go.
    limits : Limits, optional
        What a fold and a method may take; nothing is limited by default.

    Returns
    -------
    list of Result
        In the order of `jobs`. A method that raises gives a result with a message; it does not end the run.
    """
    ledger = Ledger(limits or Limits())
    stored = {job: results.get(job.key) for job in jobs}
    known = {job: result for job, result in stored.items() if result is not None and ledger.is_valid(result)}
    for job, result in known.items():
        ledger.record(job, result)
    missing = [job for job in jobs if job not in known]
    if results.n_unreadable:
        console.print(f"{results.path.name}: {results.n_unreadable} unreadable line(s) ignored.")
    console.print(f"{len(jobs)} jobs: {len(known)} known from {results.path}, {len(missing)} to compute.")
    if missing:
        with _progress(console) as progress:
            task = progress.add_task("fitting", total=sum(job.weight for job in missing), done=0, jobs=len(missing))

            def on_result(job: Task, result: Result) -> None:
                known[job] = result
                done = progress.tasks[0].fields["done"] + 1
                progress.update(task, advance=job.weight, done=done, description=job.data.name)

            def on_done(job: Task, result: Result) -> None:
                results.add(job.key, result)
                ledger.record(job, result)
                on_result(job, result)

            def worth_starting() -> Iterator[Task]:
                # What is refused is not written down: whether it is depends on the limits of the run.
                for job in missing:
                    refused = ledger.refuse(job)
                    if refused is None:
                        yield job
                    else:
                        on_result(job, refused)

            _compute(worth_starting(), min(n_processes, len(missing)), ledger.limits, on_done)
    return [known[job] for job in jobs]


def run_job(job: Task) -> Result:
    """Do one job; an exception becomes a result that carries its message."""
    start = perf_counter()
    try:
        result = job.do()
    except Exception as error:
        result = _failure(job, f"{type(error).__name__}: {error}")
    return replace(result, seconds=perf_counter() - start)


def _failure(job: Task, message: str) -> Result:
    return job.result({}, " ".join(message.split()))


def _compute(jobs: Iterator[Task], n_processes: int, limits: Limits, on_result: OnResult) -> None:
    if n_processes == 1 and limits.fold_minutes is None:
        for job in jobs:
            on_result(job, run_job(job))
        return

    def on_outcome(job: Task, outcome: Result | Ended) -> None:
        if isinstance(outcome, Result):
            on_result(job, outcome)
        elif outcome.is_over and limits.fold_minutes is not None:
            on_result(job, ended(job, limits.fold_minutes))
        else:
            on_result(job, _failure(job, outcome.message))

    work_off(jobs, run_job, on_outcome, n_processes=n_processes, limit=limits.fold_seconds)


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
