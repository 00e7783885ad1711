"""Calls in processes of their own, with the time and the memory they take there."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from ferl_bench.memory import forget_peak, peak_bytes


@dataclass(frozen=True)
class Measured:
    """What a call gave, the seconds it took, and the most memory that its process had meanwhile, in bytes."""

    value: Any
    seconds: float
    peak: int


def subprocess_call(call: Callable[..., Any], *arguments: Any) -> Measured:
    """Run a function of a module in a fresh process.

    Parameters
    ----------
    call : callable
        Called as ``call(*arguments)``.
    *arguments : object
        What it is called with.

    Returns
    -------
    Measured
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(there, call, arguments))
    process.start()
    there.close()
    try:
        result = here.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"the measuring process ended with exit code {process.exitcode}") from None
    process.join()
    if isinstance(result, BaseException):
        raise result
    return Measured(*result)


def _measure(there: Connection, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        forget_peak()
        started = perf_counter()
        value = call(*arguments)
        there.send((value, perf_counter() - started, peak_bytes()))
    except Exception as error:
        there.send(RuntimeError(f"{type(error).__name__}: {error}"))
