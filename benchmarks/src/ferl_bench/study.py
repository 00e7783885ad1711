"""Measurements that take a data set as a whole: one function, its results kept and computed in parallel like folds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from ferl_bench.cache import Result
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.facts import code_digest, versions
from ferl_bench.protocol import PROTOCOL_VERSION
from ferl_bench.threads import one_thread

Figures = TypeVar("Figures", bound=Mapping[Any, Any])


@dataclass(frozen=True)
class Study(Generic[Figures]):
    """Something to measure on every data set.

    Attributes
    ----------
    name : str
        Identity in cached results, and the word in the progress bar.
    measure : callable
        ``measure(data_set)`` returns floats in mappings of any depth, whose keys are text, numbers, booleans or tuples
        of them. A module's function or a partial of one, so that processes find it.
    code : tuple of str
        Files that decide the result, each beginning with its package: ``ferl_bench/attack.py``.
    parameters : mapping
        What distinguishes this study from others of the same name.
    """

    name: str
    measure: Callable[[DataSet], Figures]
    code: tuple[str, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Studied(Generic[Figures]):
    """Figures of the data sets that could be measured, and messages of the others."""

    figures: dict[str, Figures]
    failures: dict[str, str]

    def require_some(self) -> Studied[Figures]:
        """Refuse to go on when nothing worked."""
        if not self.figures:
            name, message = next(iter(self.failures.items()))
            raise BenchError(f"every data set failed; the first, {name}: {message}")
        return self

    def merge(self, other: Studied[Figures]) -> Studied[Figures]:
        """Join two studies of different data sets, in alphabetical order."""
        figures = {**self.figures, **other.figures}
        return Studied({name: figures[name] for name in sorted(figures)}, {**self.failures, **other.failures})


@dataclass(frozen=True, eq=False)
class StudyJob(Generic[Figures]):
    """A study on one data set, for the runner."""

    data: DataSet
    study: Study[Figures]

    @property
    def weight(self) -> int:
        """A guess of the work, for the time left: the number of cells."""
        return self.data.n_rows * self.data.n_features

    @property
    def budget_minutes(self) -> None:
        """A study has no budget."""
        return None

    @cached_property
    def key(self) -> str:
        """The fingerprint of the result."""
        parts = {
            "code": code_digest(ours=True, further=self.study.code),
            "data": self.data.digest,
            "parameters": dict(self.study.parameters),
            "protocol": PROTOCOL_VERSION,
            "study": self.study.name,
            "versions": versions(),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()

    def do(self) -> Result:
        """Measure, on one thread."""
        with one_thread():
            return self.result(flatten(self.study.measure(self.data)))

    def result(self, measures: Mapping[str, float], error: str | None = None) -> Result:
        """Return a result of this job."""
        return Result(self.data.name, 0, self.study.name, measures, error)


def flatten(figures: Mapping[Any, Any]) -> dict[str, float]:
    """Write nested figures on one level; a key is the path to the figure, in JSON.

    Examples
    --------
    >>> from ferl_bench.study import flatten, unflatten
    >>> flat = flatten({("deep", True): {"ece": 0.1}, 0.5: {"ece": 0.2}})
    >>> flat
    {'[["deep", true], "ece"]': 0.1, '[0.5, "ece"]': 0.2}
    >>> unflatten(flat)
    {('deep', True): {'ece': 0.1}, 0.5: {'ece': 0.2}}
    """
    return {json.dumps(path): value for path, value in _leaves(figures, [])}


def unflatten(flat: Mapping[str, float]) -> dict[Any, Any]:
    """Undo `flatten`."""
    figures: dict[Any, Any] = {}
    for path, value in flat.items():
        *outer, last = (_key(part) for part in json.loads(path))
        place = figures
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = value
    return figures


def _leaves(figures: Mapping[Any, Any], path: list[Any]) -> list[tuple[list[Any], float]]:
    result = []
    for key, value in figures.items():
        here = [*path, key]
        result += _leaves(value, here) if isinstance(value, Mapping) else [(here, float(value))]
    return result


def _key(part: Any) -> Any:
    return tuple(_key(one) for one in part) if isinstance(part, list) else part
