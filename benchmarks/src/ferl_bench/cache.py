"""Results on disk, one JSON object a line, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ferl_bench.data import DataSet
from ferl_bench.facts import code_digest, versions
from ferl_bench.method import Method
from ferl_bench.protocol import PROTOCOL_VERSION


@dataclass(frozen=True)
class Result:
    """What came out of one method on one fold of one data set: measures, or the message of what went wrong.

    Attributes
    ----------
    data_set, fold, method : str, int, str
        What it is a result of.
    measures : mapping of str to float
        The measures; empty when there is an error.
    error : str, optional
        What went wrong.
    seconds : float
        Wall time of all of it, fitting and measuring.
    limit_minutes : float, optional
        The fold was ended after so long, or not started because another fold of the data set was.
    budget_minutes : float, optional
        The fold was not started because the method had taken so long in all.
    """

    data_set: str
    fold: int
    method: str
    measures: Mapping[str, float]
    error: str | None = None
    seconds: float = 0.0
    limit_minutes: float | None = None
    budget_minutes: float | None = None

    @property
    def is_final(self) -> bool:
        """Whether it is worth keeping: a failure is not, its cause may be gone; a fold that was too slow is."""
        return self.error is None or self.limit_minutes is not None


def fingerprint(data: DataSet, fold: int, method: Method) -> str:
    """Return the identity of a result: equal fingerprints mean that computing it again would change nothing."""
    parts = {
        "code": code_digest(ours=method.is_ours, further=method.code),
        "data": data.digest,
        "fold": fold,
        "judged_on": method.judged_on,
        "method": method.name,
        "parameters": dict(method.parameters),
        "protocol": PROTOCOL_VERSION,
        "versions": versions(method.packages),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()


class ResultFile:
    """A file of results that only ever grows by whole lines.

    Parameters
    ----------
    path : Path
        The file; created with its folder when missing.
    fresh : bool, default=False
        Ignore what the file holds. It is kept: new lines come after the old ones and win.

    Attributes
    ----------
    n_unreadable : int
        Number of lines that were skipped because they are not results (cut short by a power failure, edited by hand).
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.n_unreadable = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stored: dict[str, Result] = {} if fresh or not path.exists() else self._read()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._close_last_line()

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def get(self, key: str) -> Result | None:
        """Return the stored result of a fingerprint; failures are not kept, see `Result.is_final`."""
        return self._stored.get(key)

    def add(self, key: str, result: Result) -> None:
        """Append a result; the whole line goes to the file in one write, so an interrupt cannot leave half of it."""
        line = json.dumps({"fingerprint": key, **_to_json(result)}) + "\n"
        os.write(self._descriptor, line.encode())
        if result.is_final:
            self._stored[key] = result

    def _read(self) -> dict[str, Result]:
        stored: dict[str, Result] = {}
        for line in self.path.read_bytes().splitlines():
            try:
                entry = json.loads(line)
                key, result = str(entry["fingerprint"]), _from_json(entry)
            except (ValueError, KeyError, TypeError):
                self.n_unreadable += bool(line.strip())
                continue
            if result.is_final:
                stored[key] = result
        return stored

    def _close_last_line(self) -> None:
        """End a line that was cut short, so that the next result starts on a line of its own."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")


def _to_json(result: Result) -> dict[str, Any]:
    entry: dict[str, Any] = {"data_set": result.data_set, "fold": result.fold, "method": result.method}
    entry |= {"measures": dict(result.measures)} if result.error is None else {"error": result.error}
    limit = {} if result.limit_minutes is None else {"limit_minutes": result.limit_minutes}
    return entry | limit | {"seconds": result.seconds}


def _from_json(entry: dict[str, Any]) -> Result:
    error = entry.get("error")
    measures = {str(name): float(value) for name, value in ({} if error else entry["measures"]).items()}
    # Lines of earlier versions have no time of their own; fitting is most of it.
    seconds = entry.get("seconds", measures.get("fit_seconds", 0.0) + measures.get("predict_seconds", 0.0))
    limit = None if entry.get("limit_minutes") is None else float(entry["limit_minutes"])
    return Result(
        str(entry["data_set"]), int(entry["fold"]), str(entry["method"]), measures, error, float(seconds), limit
    )
