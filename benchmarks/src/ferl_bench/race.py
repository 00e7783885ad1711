"""Fair timing: the runners take turns inside one loop, so that whatever else the machine does hits all of them.

Processor time of this process, not the clock on the wall: the runners use one thread, for which both are the same on an
idle machine, and what else runs on a busy one is not charged to them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time

import numpy as np


def race(runners: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Time several calls in turn.

    Parameters
    ----------
    runners : mapping of str to callable
        What is timed, by name.
    repeats : int
        Number of rounds that count; one more comes first, to warm up. 0: one round, without a warm-up.

    Returns
    -------
    dict
        Median seconds of processor time by name.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(repeats + 1):
        for name, call in runners.items():
            times[name].append(_seconds(call))
    return {name: median(rounds[1:] or rounds) for name, rounds in times.items()}


def growth_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the least-squares slope of log time on log size: 1 is linear growth, 2 quadratic.

    Examples
    --------
    >>> from ferl_bench.race import growth_exponent
    >>> round(growth_exponent([10, 20, 40], [0.3, 1.2, 4.8]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def verdict(value: float, target: float) -> str:
    """Write a ratio beside the most that it should be.

    Examples
    --------
    >>> from ferl_bench.race import verdict
    >>> verdict(2.5, 3.0)
    '2.50 (target <= 3: met)'
    """
    return f"{value:.2f} (target <= {target:g}: {'met' if value <= target else 'not met'})"


def _seconds(call: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # a collection in the middle of a runner would be charged to it
    try:
        start = process_time()
        call()
        return process_time() - start
    finally:
        gc.enable()
