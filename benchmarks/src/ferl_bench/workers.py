"""Processes that work off jobs, one at a time each: one that dies or takes too long costs its own job alone."""

from __future__ import annotations

import multiprocessing
import pickle
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import ceil
from multiprocessing.connection import Connection, wait
from time import monotonic, process_time
from typing import Generic, TypeVar

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

# Spawned, not forked: a fork after threads were started can hang.
_SPAWN = multiprocessing.get_context("spawn")

# By the clock a job may take this multiple of its limit: other work on the machine slows it down, and it may wait.
_WALL = 6


@dataclass(frozen=True)
class Ended:
    """In place of a result: why a job has none. `is_over` when it took longer than the limit."""

    message: str
    is_over: bool = False


DIED = Ended("the process died: out of memory, or a crash in compiled code")
OVER = Ended("over the limit", is_over=True)


class Worker(Generic[Job, Outcome]):
    """One process, and the job it works on.

    Parameters
    ----------
    do : callable
        ``do(job)`` in the process; a function of a module.
    limit : float, optional
        Seconds of processor time that a job may take, with all its threads; processes that it starts do not count.
    """

    def __init__(self, do: Callable[[Job], Outcome], limit: float | None = None) -> None:
        self._limit = limit
        self.connection, there = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(there, do, limit))
        self._process.start()
        there.close()
        self._is_ready = False
        self._since = 0.0
        self.job: Job | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it has started and has no job."""
        return self._is_ready and self.job is None

    def start(self, job: Job) -> None:
        """Hand it a job; the job's time begins."""
        content = pickle.dumps(job)
        self.job, self._since = job, monotonic()
        with suppress(OSError):  # a process that died while idle: `receive` finds its connection closed
            self.connection.send_bytes(content)

    @property
    def seconds_left(self) -> float | None:
        """How long the job may still take by the clock; None: no limit."""
        return None if self._limit is None else self._since + _WALL * self._limit - monotonic()

    def receive(self) -> Outcome | Ended | None:
        """Return what became of the job, or None for the first message, that the process has started."""
        try:
            message: Outcome | Ended | None = self.connection.recv()
        except (EOFError, OSError):
            if not self._is_ready:
                self._process.join()
                raise RuntimeError(f"a process ended with exit code {self._process.exitcode} without a job") from None
            self._process.join()
            return OVER if self._process.exitcode == -signal.SIGXCPU else DIED
        self._is_ready = True
        return message

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def work_off(
    jobs: Iterator[Job],
    do: Callable[[Job], Outcome],
    on_result: Callable[[Job, Outcome | Ended], None],
    *,
    n_processes: int,
    limit: float | None = None,
) -> None:
    """Do jobs in processes.

    Parameters
    ----------
    jobs : iterator
        The jobs; one is asked for when a process is free, so that it may depend on the results so far.
    do : callable
        ``do(job)`` returns what became of it; a function of a module.
    on_result : callable
        ``on_result(job, outcome)``, in this process.
    n_processes : int
        Number of processes.
    limit : float, optional
        Seconds of processor time that a job may take, with all its threads; processes that it starts do not count.
    """
    first = next(jobs, None)
    if first is None:
        return  # no process for nothing
    jobs = chain([first], jobs)
    workers: list[Worker[Job, Outcome]] = [Worker(do, limit) for _ in range(n_processes)]
    are_more = True
    try:
        while True:
            for worker in workers:
                if are_more and worker.is_idle:
                    job = next(jobs, None)
                    if job is None:
                        are_more = False
                    else:
                        worker.start(job)
            busy = [worker for worker in workers if worker.job is not None]
            if not are_more and not busy:
                return
            left = [max(0.0, worker.seconds_left) for worker in busy if worker.seconds_left is not None]
            heard = wait([worker.connection for worker in workers], min(left, default=None))
            for place, worker in enumerate(workers):
                outcome: Outcome | Ended | None = None
                if worker.connection in heard:
                    outcome = worker.receive()
                elif worker.job is not None and worker.seconds_left is not None and worker.seconds_left <= 0:
                    outcome = OVER
                if outcome is DIED or outcome is OVER:
                    worker.end()
                    workers[place] = Worker(do, limit)
                if worker.job is not None and outcome is not None:
                    job, worker.job = worker.job, None
                    on_result(job, outcome)
    finally:
        for worker in workers:
            worker.end()


def _allow(seconds: float) -> None:
    """Let the system end this process after so much more processor time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = ceil(process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (until if most == resource.RLIM_INFINITY else min(until, most), most))


def _serve(there: Connection, do: Callable[[Job], Outcome], limit: float | None) -> None:
    """Do jobs until the other end closes; an interrupt is the other end's to act on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a job that is ended leaves no dump of its memory
    there.send(None)
    while True:
        try:
            content = there.recv_bytes()
        except EOFError:
            return
        outcome: Outcome | Ended
        try:
            job: Job = pickle.loads(content)
        except Exception as error:
            outcome = Ended(f"{type(error).__name__}: {error}")
        else:
            if limit is not None:
                _allow(limit)
            outcome = do(job)
        try:
            there.send(outcome)
        except Exception as error:  # what cannot be pickled
            there.send(Ended(f"{type(error).__name__}: {error}"))
