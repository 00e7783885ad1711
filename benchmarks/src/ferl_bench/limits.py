"""How long a fold and a method may take, and the book of what methods have taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isinf
from typing import Protocol

from ferl_bench.cache import Result

FOLD_MINUTES = 10.0
"""What the command gives a fold unless told otherwise."""


class Limited(Protocol):
    """A job whose method may have a budget."""

    @property
    def budget_minutes(self) -> float | None:
        """What all folds of its method may take together."""

    @property
    def weight(self) -> int:
        """A guess of the work."""

    def result(self, measures: Mapping[str, float], error: str | None = None) -> Result:
        """Return a result of this job."""


@dataclass(frozen=True)
class Limits:
    """What a run may take.

    Attributes
    ----------
    fold_minutes : float, optional
        A fold that takes more processor time, with all its threads, is ended. None: never.
    method_minutes : float, optional
        A method starts no new fold when its folds have taken so long in all, by the clock. None:
        `Method.budget_minutes` applies, which few methods have; infinity: no budget for any method.
    """

    fold_minutes: float | None = None
    method_minutes: float | None = None

    @property
    def fold_seconds(self) -> float | None:
        """The limit of a fold in seconds."""
        return None if self.fold_minutes is None else 60 * self.fold_minutes

    def budget(self, number: float | None) -> float | None:
        """Return the budget in minutes of a method whose own is given."""
        budget = number if self.method_minutes is None else self.method_minutes
        return None if budget is None or isinf(budget) else budget

    def describe(self) -> dict[str, str]:
        """Say it as facts of a report."""
        messages = {}
        if self.fold_minutes is not None:
            messages["time_limit"] = f"{self.fold_minutes:g} minutes of processor time a fold"
        if self.budget(None) is not None:
            messages["budget"] = f"{self.method_minutes:g} minutes a method"
        return messages


class Ledger:
    """What each method has taken, known results included, and on which data sets it was too slow.

    A run that goes on where another one stopped therefore decides as one long run would.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seconds: dict[str, float] = defaultdict(float)
        self._too_slow: dict[tuple[str, str], tuple[int, float]] = {}

    def is_valid(self, known: Result) -> bool:
        """Whether a known result answers this run's question: one that was ended had at least this run's time."""
        if known.limit_minutes is None:
            return True
        return self.limits.fold_minutes is not None and known.limit_minutes >= self.limits.fold_minutes

    def record(self, job: Limited, result: Result) -> None:
        """Take note of a result, known or new."""
        self._seconds[result.method] += result.seconds
        if result.limit_minutes is not None:
            place = result.method, result.data_set
            slow = (job.weight, result.limit_minutes)
            self._too_slow[place] = min(slow, self._too_slow.get(place, slow))

    def refuse(self, job: Limited) -> Result | None:
        """Return the result of a job that is not worth starting, or None.

        A data set counts only when all of its folds could be measured: after one that was ended, the others are spared.
        Fewer rows of a growing table are less work, and are tried.
        """
        blank = job.result({})
        weight, too_slow = self._too_slow.get((blank.method, blank.data_set), (0, None))
        if too_slow is not None and job.weight >= weight:
            message = f"not started: another fold of the data set took over {too_slow:g} minutes"
            return replace(job.result({}, message), limit_minutes=too_slow)
        budget = self.limits.budget(job.budget_minutes)
        if budget is not None and self._seconds[blank.method] >= 60 * budget:
            return replace(job.result({}, f"not started: {budget:g} minutes were over"), budget_minutes=budget)
        return None


def ended(job: Limited, minutes: float) -> Result:
    """Return the result of a job that was ended at the limit."""
    return replace(job.result({}, f"over {minutes:g} minutes"), limit_minutes=minutes, seconds=60 * minutes)
