"""What is measured when a method learns from more and more rows of a table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from ferl_bench.cache import Result
from ferl_bench.facts import code_digest, versions
from ferl_bench.method import Method
from ferl_bench.protocol import log_loss
from ferl_bench.suites.growing import GrowingTable, load_growing
from ferl_bench.suites.learners import N_THREADS
from ferl_bench.suites.protocol import macro_auc

ROUNDS, ENOUGH_SECONDS = 3, 2.0
"""A fit is repeated so often for its processor time, unless the fits so far took this long together."""
_CODE = tuple(f"ferl_bench/suites/{file}.py" for file in ("growing", "growth", "protocol"))


@dataclass(frozen=True)
class Source:
    """Where a table is read, and what is known of it before a fit: its identity and how large it is."""

    name: str
    folder: Path | None
    digest: str
    n_columns: int


@dataclass(frozen=True, eq=False)
class GrowthJob:
    """One method on so many rows of one table, for the runner; the process that does it reads the table."""

    data: Source
    n_rows: int
    seed: int
    method: Method

    @property
    def weight(self) -> int:
        """A guess of the work, for the time left: the number of cells."""
        return self.n_rows * self.data.n_columns

    @property
    def budget_minutes(self) -> float | None:
        """What all fits of the method may take together."""
        return self.method.budget_minutes

    @cached_property
    def key(self) -> str:
        """The fingerprint of the result."""
        parts = {
            "code": code_digest(ours=self.method.is_ours, further=(*_CODE, *self.method.code)),
            "data": self.data.digest,
            "method": self.method.name,
            "rows": self.n_rows,
            "seed": self.seed,
            "versions": versions(self.method.packages),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def do(self) -> Result:
        """Fit and measure, on as many threads as any other method."""
        with threadpool_limits(limits=N_THREADS):
            table = load_growing(self.data.name, self.data.folder)
            return self.result(measure(table, self.n_rows, self.seed, self.method))

    def result(self, measures: Mapping[str, float], error: str | None = None) -> Result:
        """Return a result of this job."""
        return Result(self.data.name, self.seed, self.method.name, measures, error)


def measure(table: GrowingTable, n_rows: int, seed: int, method: Method) -> dict[str, float]:
    """Fit a method on rows of the training part and measure it on the test part.

    Parameters
    ----------
    table : GrowingTable
        The table.
    n_rows : int
        How many rows are drawn.
    seed : int
        Seed of the draw and of the method.
    method : Method
        Its ``fit`` takes the frame.

    Returns
    -------
    dict
        Measures by name. ``fit_seconds`` is the processor time of all threads: other work on the machine hardly changes
        it.
    """
    rows = table.draw(n_rows, seed)
    frame, y = table.frame.iloc[rows].reset_index(drop=True), table.y[rows]
    fitted, seconds = timed_fit(method, frame, y, seed)
    test = table.frame.iloc[table.test].reset_index(drop=True)
    answers = judge(table.y[table.test], fitted.predict_proba(test), np.asarray(fitted.classes_))
    statements = {} if method.measures is None else method.measures(fitted)
    return {**answers, **statements, "fit_seconds": seconds}


def judge(y: NDArray[np.int64], probability: NDArray[np.float64], classes: NDArray[np.int64]) -> dict[str, float]:
    """Return AUC (macro), log-loss, accuracy and, for two classes, the average precision of the second."""
    measured = {
        "auc": macro_auc(y, probability, classes),
        "log_loss": log_loss(y, probability, classes),
        "accuracy": float(np.mean(classes[probability.argmax(axis=1)] == y)),
    }
    if list(classes) == [0, 1]:
        measured["average_precision"] = float(average_precision_score(y, probability[:, 1]))
    return measured


def best_possible(table: GrowingTable) -> dict[str, float] | None:
    """Return the measures of the probabilities that the labels were drawn with, or None for a real table."""
    if table.truth is None:
        return None
    positive = table.truth[table.test]
    return judge(table.y[table.test], np.column_stack([1 - positive, positive]), np.array([0, 1]))


def timed_fit(method: Method, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> tuple[Any, float]:
    """Return the fitted method and the processor time of its fit; of short fits, the least of a few."""
    _warm_up(method)
    seconds: list[float] = []
    while len(seconds) < ROUNDS and sum(seconds) < ENOUGH_SECONDS:
        started = process_time()
        fitted = method.fit(frame, y, seed)
        seconds.append(process_time() - started)
    return fitted, min(seconds)


def _warm_up(method: Method) -> None:
    """Fit a few rows, once in a process: the first fit also loads code."""
    if method.name not in _WARM:
        x = np.arange(60.0)
        method.fit(pd.DataFrame({"x": x % 11, "z": x % 7}), (x % 2).astype(np.int64), 0)
        _WARM.add(method.name)


_WARM: set[str] = set()
