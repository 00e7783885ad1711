"""Peak memory of one fit, measured in a process of its own because a process never forgets its peak.

Run as ``python -m ferl_bench.memory METHOD X.npy y.npy`` it prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DEEP_ON_ALL, WIDE_ON_ALL = "FERL-deep, growth_rows=None", "FERL-wide, growth_rows=None"
ON_ALL_ROWS = {DEEP_ON_ALL: "deep", WIDE_ON_ALL: "wide"}
"""Models that choose their conditions on all rows and not on a sample."""


def peak_multiple(method_name: str, X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Fit a method in a fresh process and compare the memory it needed on top of its input with that input.

    Parameters
    ----------
    method_name : str
        A registered method, or one of `ON_ALL_ROWS`.
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels.

    Returns
    -------
    float
        Growth of the resident memory's high-water mark during the fit, divided by the bytes of `X`.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "X.npy"), Path(folder, "y.npy")]
        # Made here and read there: making the data leaves freed memory behind, which the fit would then use for free.
        for path, array in zip(paths, (X, y), strict=True):
            np.save(path, array)
        command = [sys.executable, "-m", "ferl_bench.memory", method_name, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise RuntimeError(f"the measuring process failed: {last_line}")
    return float(json.loads(done.stdout)["extra_bytes"]) / X.nbytes


def measure(method_name: str, X_path: Path, y_path: Path) -> int:
    """Return the growth in bytes of this process's high-water mark during one fit."""
    fit = _fit_of(method_name)
    X, y = np.load(X_path), np.load(y_path)
    fit(X[:200].copy(), y[:200].copy(), 0)  # loads code that would otherwise count as memory of the fit
    forget_peak()
    before = peak_bytes()
    fit(X, y, 0)
    return peak_bytes() - before


def _fit_of(method_name: str) -> Callable[[NDArray[np.float64], NDArray[np.int64], int], object]:
    if method_name not in ON_ALL_ROWS:
        from ferl_bench.method import get_method

        return get_method(method_name).fit

    from ferl_bench.methods.ferl import MODELS, fit

    return partial(fit, {**MODELS[ON_ALL_ROWS[method_name]], "growth_rows": None})


def forget_peak() -> None:
    """Set the high-water mark back to the present size; where the system does not offer it, the mark stays."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the high-water mark of this process's resident memory."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    name, X_file, y_file = sys.argv[1:]
    print(json.dumps({"extra_bytes": measure(name, Path(X_file), Path(y_file))}))
