"""Fits of the deep tree with every instruction set of the machine, in turns, on folds; small tables apart.

An instruction set is chosen once for each process, so each has a process of its own, which fits what it is sent. They
wait for each other: at any time one of them works.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl_bench.data import DataSet, encode
from ferl_bench.headline import goal
from ferl_bench.method import get_method
from ferl_bench.protocol import make_folds
from ferl_bench.race import race, verdict
from ferl_bench.render import Finding, Section, Step
from ferl_bench.threads import one_thread

OURS, PEER = "FERL-deep", "CART"
VARIABLE = "FERL_INSTRUCTION_SET"
INSTRUCTION_SETS = {"baseline": 0, "x86-64-v3": 3}
"""Names as the environment variable takes them, and how the core counts them. Trees have no loops in x86-64-v4."""
SMALL_ROWS = (150, 700)
"""Number of rows of what counts as a small table, before the fold is taken."""
TARGETS = {"all": 0.6, "small": 1.3}
SEED = 0


def available() -> list[str]:
    """Names of the instruction sets that the core can use here."""
    return [name for name, level in INSTRUCTION_SETS.items() if level <= _core.instruction_set()]


def instruction_section(data_sets: Sequence[DataSet], repeats: int, step: Step) -> Finding:
    """Time the fits of the first fold of each data set, with each instruction set and by the peer."""
    names = available()
    times: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        ask = {name: stack.enter_context(_fitter(OURS, name)) for name in names}
        ask[PEER] = stack.enter_context(_fitter(PEER, names[-1]))
        for number, data in enumerate(data_sets, start=1):
            step(f"instruction sets: {data.name} ({number} of {len(data_sets)})")
            rows = make_folds(data.y)[0].fitting
            (X,) = encode(data, rows)
            rounds = [{name: _seconds(there, X, data.y[rows]) for name, there in ask.items()} for _ in range(repeats)]
            times[data.name] = {name: median(own[name] for own in rounds) for name in ask}
    small = [data.name for data in data_sets if SMALL_ROWS[0] <= data.n_rows <= SMALL_ROWS[1]]
    groups = {"all": list(times), "small": small}
    sums = {key: {name: sum(times[one][name] for one in members) for name in ask} for key, members in groups.items()}
    ratios = {key: {name: own[name] / own[PEER] for name in names} for key, own in sums.items() if own[PEER] > 0}
    label = {"all": "sum", "small": f"sum of tables of {SMALL_ROWS[0]} to {SMALL_ROWS[1]} rows"}
    header = ["Data set", f"{PEER} ms", *(f"{name} ms" for name in names), *(f"{name} / {PEER}" for name in names)]
    body = [_row(name, own, names) for name, own in times.items()]
    body += [_row(label[key], sums[key], names) for key in ratios]
    best = names[-1]
    notes = [f"{label[key]}: {best} / {PEER} {verdict(ratios[key][best], TARGETS[key])}" for key in ratios]
    notes += [
        f"{label['all']}: baseline / {name} {sums['all']['baseline'] / sums['all'][name]:.2f}" for name in names[1:]
    ]
    goals = [goal(f"{OURS} / {PEER}, fit, {label[key]}", ratios[key][best], TARGETS[key]) for key in ratios]
    data_out = {"seconds": times, "sum_seconds": sums, "ratio_of_sums": ratios, "targets": TARGETS, "small": small}
    title = f"Fit of {OURS} on the fitting part of a fold, by instruction set"
    return Finding(Section(title, header, body, notes), data_out, goals)


def _row(name: str, seconds: dict[str, float], names: Sequence[str]) -> list[str]:
    own = [f"{1000 * seconds[one]:.1f}" for one in (PEER, *names)]
    return [name, *own, *(f"{seconds[one] / seconds[PEER]:.2f}" for one in names)]


def _seconds(there: Connection, X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    there.send((X, y))
    found: float | Exception = there.recv()
    if isinstance(found, Exception):
        raise found
    return found


@contextmanager
def _fitter(method: str, instruction_set: str) -> Iterator[Connection]:
    """A process with this instruction set that times fits of the tables it is sent."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = instruction_set  # a child has its parent's environment
    try:
        process = context.Process(target=_fit_what_comes, args=(there, method), daemon=True)
        process.start()
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
    there.close()
    try:
        yield here
    finally:
        here.close()  # which ends it
        process.join()


def _fit_what_comes(there: Connection, method: str) -> None:
    fit = get_method(method).fit

    def timed(X: Any, y: Any) -> float:
        return race({method: lambda: fit(X, y, SEED)}, 1)[method]  # after a warm-up

    with one_thread():
        while True:
            try:
                X, y = there.recv()
            except EOFError:
                return
            try:
                there.send(timed(X, y))
            except Exception as error:
                there.send(RuntimeError(f"{type(error).__name__}: {error}"))
