"""Fits with every instruction set of the machine, in turns; small tables apart.

An instruction set is chosen once for each process, so each has a separate process, which fits what it is sent. They
wait for each other: at any time one of them works.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl_bench.data import DataSet, encode
from ferl_bench.headline import GOAL, Headline, goal
from ferl_bench.method import get_method
from ferl_bench.protocol import make_folds
from ferl_bench.race import race, verdict
from ferl_bench.render import Finding, Section, Step
from ferl_bench.threads import one_thread

VARIABLE = "FERL_INSTRUCTION_SET"
LEVELS = {"baseline": 0, "x86-64-v3": 3, "x86-64-v4": 4}
"""Names as the environment variable takes them, and how the core counts them."""
GAINS = {"x86-64-v3": ("baseline", 1.6), "x86-64-v4": ("x86-64-v3", 1.0)}
"""How many times as fast as another instruction set one should be: else its loops would better not be there."""
SMALL_ROWS = (150, 700)
"""Number of rows of what counts as a small table, before the fold is taken."""
SEED = 0


@dataclass(frozen=True)
class Entry:
    """What is raced: fits of a method, on folds or on whole data sets, and what is wanted of them.

    Attributes
    ----------
    method : str
        Fitted with each instruction set.
    level : int
        Of the highest instruction set that the method has loops in.
    is_whole : bool
        Whether whole data sets are fitted; else the fitting part of the first fold of each.
    peer : str, optional
        A method that is fitted in turns with it.
    targets : dict
        The most that the time with the highest instruction set should be of the peer's: in sum ("all"), and in sum over
        small tables ("small").
    repeats : int, optional
        Rounds of each fit after a warm-up, where not those of the table; 0: one round, without a warm-up.
    """

    method: str
    level: int
    is_whole: bool
    peer: str | None = None
    targets: dict[str, float] = field(default_factory=dict)
    repeats: int | None = None

    @property
    def names(self) -> list[str]:
        """The instruction sets that the core can use here."""
        return [name for name, level in LEVELS.items() if level <= min(self.level, _level_of_machine())]


# The baseline takes half a minute for all wide rules, so they have one round.
ENTRIES = {
    "instruction sets, folds": Entry(
        "FERL-deep", level=3, is_whole=False, peer="CART", targets={"all": 0.6, "small": 1.3}
    ),
    "instruction sets, whole": Entry("FERL-deep", level=3, is_whole=True, peer="CART", targets={"all": 0.6}),
    "instruction sets, wide folds": Entry("FERL-wide", level=4, is_whole=False, repeats=0),
    "instruction sets, wide whole": Entry("FERL-wide", level=4, is_whole=True, repeats=0),
}


@cache
def _level_of_machine() -> int:
    """The highest instruction set that the core can use here, whatever this process was told to use."""
    ask = "from ferl import _core; print(_core.instruction_set())"
    free = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return int(subprocess.run([sys.executable, "-c", ask], env=free, capture_output=True, check=True, text=True).stdout)


def in_use() -> str:
    """The name of the instruction set that this process uses."""
    return [name for name, level in LEVELS.items() if level <= _core.instruction_set()][-1]


def instruction_sections(data_sets: Sequence[DataSet], repeats: int) -> dict[str, Callable[[Step], Finding]]:
    """The races, by their names."""
    return {name: partial(_section, entry, data_sets, repeats) for name, entry in ENTRIES.items()}


def _section(entry: Entry, data_sets: Sequence[DataSet], repeats: int, step: Step) -> Finding:
    """Time the fits of each data set, with each instruction set and by the peer."""
    times: dict[str, dict[str, float]] = {}
    repeats = repeats if entry.repeats is None else entry.repeats
    with ExitStack() as stack:
        ask = {name: stack.enter_context(_fitter(entry.method, name)) for name in entry.names}
        if entry.peer is not None:
            ask[entry.peer] = stack.enter_context(_fitter(entry.peer, entry.names[-1]))
        for number, data in enumerate(data_sets, start=1):
            step(f"instruction sets, {entry.method}: {data.name} ({number} of {len(data_sets)})")
            rows = np.arange(data.n_rows) if entry.is_whole else make_folds(data.y)[0].fitting
            (X,) = encode(data, rows)
            rounds = [
                {name: _seconds(there, X, data.y[rows], min(repeats, 1)) for name, there in ask.items()}
                for _ in range(max(repeats, 1))
            ]
            times[data.name] = {name: median(item[name] for item in rounds) for name in ask}
    small = [data.name for data in data_sets if SMALL_ROWS[0] <= data.n_rows <= SMALL_ROWS[1]]
    groups = {"all": list(times), "small": small}
    sums = {
        key: {name: sum(times[one][name] for one in members) for name in ask}
        for key, members in groups.items()
        if members
    }
    return _finding(entry, times, sums, small)


def _finding(
    entry: Entry, times: dict[str, dict[str, float]], sums: dict[str, dict[str, float]], small: list[str]
) -> Finding:
    names = entry.names
    label = {"all": "sum", "small": f"sum of tables of {SMALL_ROWS[0]} to {SMALL_ROWS[1]} rows"}
    if entry.peer is None:
        columns, pairs = names, [(name, "baseline") for name in names[1:]]
    else:
        columns, pairs = [entry.peer, *names], [(name, entry.peer) for name in names]
    header = ["Data set", *(f"{name} ms" for name in columns), *(f"{one} / {other}" for one, other in pairs)]

    def row(title: str, seconds: dict[str, float]) -> list[str]:
        ratios = [f"{seconds[one] / seconds[other]:.2f}" for one, other in pairs]
        return [title, *(f"{1000 * seconds[name]:.1f}" for name in columns), *ratios]

    notes: list[str] = []
    goals: list[Headline] = []
    where = "whole data sets" if entry.is_whole else "the fitting part of a fold"
    for key, most in entry.targets.items():
        if key in sums and entry.peer is not None:
            ratio = sums[key][names[-1]] / sums[key][entry.peer]
            notes.append(f"{label[key]}: {names[-1]} / {entry.peer} {verdict(ratio, most)}")
            goals.append(goal(f"{entry.method} / {entry.peer}, fit of {where}, {label[key]}", ratio, most))
    gains = {}
    for name in names[1:]:
        other, wanted = GAINS[name]
        gains[name] = gain = sums["all"][other] / sums["all"][name]
        met = "met" if gain >= wanted else "not met"
        notes.append(f"{label['all']}: {name} is {gain:.2f} times as fast as {other} (target >= {wanted:g}: {met})")
        goals.append(Headline(f"{entry.method}, fit of {where}: {other} / {name}", gain, wanted, GOAL))
    if entry.repeats == 0:
        notes.append("One round; no fit was warmed up by another one of the same table.")
    ratios = {key: {one: item[one] / item[other] for one, other in pairs} for key, item in sums.items()}
    data = {"seconds": times, "sum_seconds": sums, "ratio_of_sums": ratios, "targets": entry.targets, "small": small}
    title = f"Fit of {entry.method} on {where}, by instruction set"
    body = [row(name, item) for name, item in times.items()] + [row(label[key], item) for key, item in sums.items()]
    return Finding(Section(title, header, body, notes), data | {"gains": gains}, goals)


def _seconds(there: Connection, X: NDArray[np.float64], y: NDArray[np.int64], repeats: int) -> float:
    there.send((X, y, repeats))
    result: float | Exception = there.recv()
    if isinstance(result, Exception):
        raise result
    return result


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

    def timed(X: Any, y: Any, repeats: int) -> float:
        return race({method: lambda: fit(X, y, SEED)}, repeats)[method]

    with one_thread():
        fit(np.arange(20.0)[:, None], np.arange(20) % 2, SEED)  # what is imported at the first fit is not charged to it
        while True:
            try:
                X, y, repeats = there.recv()
            except EOFError:
                return
            try:
                there.send(timed(X, y, repeats))
            except Exception as error:
                there.send(RuntimeError(f"{type(error).__name__}: {error}"))
