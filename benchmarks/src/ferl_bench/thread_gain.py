"""What a second thread gains: the same work on one thread and on two, in turns, in one process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.methods.ferl import MODELS, classifier_of

ROUNDS = 5
YARDSTICK = "SHA-256 of two blocks, for comparison"


@dataclass(frozen=True)
class Gain:
    """Seconds of some work on one thread and on two: the least of several rounds, the one least disturbed."""

    one: float
    two: float

    @property
    def ratio(self) -> float:
        """How many times faster two threads are."""
        return self.one / self.two


def thread_gains(
    frame: Any,
    numbers: NDArray[np.float64],
    y: NDArray[Any],
    *,
    n_few: int,
    n_whole: int,
    n_small: int,
    n_predicted: int,
    seed: int = 0,
) -> dict[str, Gain]:
    """Time fits and answers on one thread and on two.

    Parameters
    ----------
    frame : data frame
        A table with categories.
    numbers : ndarray of shape (n_rows, n_features)
        Its numbers, in column order.
    y : ndarray of shape (n_rows,)
        Labels of both.
    n_few : int
        Rows of a smaller fit with categories.
    n_whole : int
        Rows of the fit whose splits are chosen on all of them.
    n_small : int
        Rows of a small fit of wide rules.
    n_predicted : int
        Rows to answer.
    seed : int
        Of the fits.

    Returns
    -------
    dict of str to Gain
        By what was timed; the last, `YARDSTICK`, is what this machine gives to work that shares nothing.
    """

    def fit(X: Any, labels: Any, n_jobs: int, model: str = "deep", **parameters: Any) -> Any:
        return classifier_of(MODELS[model], random_state=seed, n_jobs=n_jobs, **parameters).fit(X, labels)

    model = fit(numbers, y, 1)
    rows = np.asfortranarray(np.resize(numbers, (n_predicted, numbers.shape[1])))
    whole, whole_y = np.asfortranarray(numbers[:n_whole]), y[:n_whole]
    few, few_y = frame.iloc[:n_few], y[:n_few]
    n_numbers, n_categories = numbers.shape[1], frame.shape[1] - numbers.shape[1]
    mixed = f"{n_numbers} numbers and {n_categories} categories"
    work: Mapping[str, Callable[[int], object]] = {
        f"Fit, {len(y):,} rows, {n_numbers} numbers": lambda n: fit(numbers, y, n),
        f"Fit, {len(y):,} rows, {mixed}": lambda n: fit(frame, y, n),
        f"Fit, {n_few:,} rows, {mixed}": lambda n: fit(few, few_y, n),
        f"Fit, {n_whole:,} rows, splits chosen on all": lambda n: fit(whole, whole_y, n, growth_rows=None),
        f"Fit of wide rules, {n_whole:,} rows": lambda n: fit(whole, whole_y, n, model="wide"),
        f"Fit of wide rules, {n_small:,} rows": lambda n: fit(whole[:n_small], whole_y[:n_small], n, model="wide"),
        f"predict_proba, {n_predicted:,} rows": lambda n: model.set_params(n_jobs=n).predict_proba(rows),
        YARDSTICK: partial(_digest, [bytes([fill]) * 50_000_000 for fill in (1, 2)]),
    }
    return {name: _gain(task) for name, task in work.items()}


def _gain(task: Callable[[int], object]) -> Gain:
    seconds: dict[int, list[float]] = {1: [], 2: []}
    task(2)  # whatever is loaded or allocated at the first call
    for _ in range(ROUNDS):
        for n_threads, item in seconds.items():
            started = perf_counter()
            task(n_threads)
            item.append(perf_counter() - started)
    return Gain(min(seconds[1]), min(seconds[2]))


def _digest(blocks: list[bytes], n_threads: int) -> None:
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda block: hashlib.sha256(block).digest(), blocks))
