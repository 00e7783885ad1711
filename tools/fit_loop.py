"""Fit one table again and again, for a profiler.

    python tools/fit_loop.py rules table.csv --seconds 5 --samples perf.data

The table's last column is the class. With --samples perf records this process once all imports are done, so that the
samples are those of fits.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
from os import getpid
from pathlib import Path
from time import process_time, sleep

import numpy as np

from ferl import FERLClassifier, FERLTreeClassifier
from ferl_bench.data import encode, load_csv


def main() -> None:
    """Fit, and print how long a fit takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=("rules", "deep", "medium", "compact"))
    parser.add_argument("table", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0, help="of processor time")
    parser.add_argument("--part", type=float, default=1.0, help="of the rows")
    parser.add_argument("--samples", type=Path, help="file for perf")
    given = parser.parse_args()
    data = load_csv(given.table)
    rows = np.arange(data.n_rows)[: int(given.part * data.n_rows)]
    (X,) = encode(data, rows)
    y = data.y[rows]
    options = {"random_state": 0, "n_jobs": 1}
    classifier = FERLClassifier(**options) if given.model == "rules" else FERLTreeClassifier(given.model, **options)
    classifier.fit(X, y)
    recorder = None
    if given.samples is not None:
        command = ["perf", "record", "-e", "cpu-clock", "-F", "2000", "--call-graph", "fp", "-o", str(given.samples)]
        recorder = subprocess.Popen([*command, "-p", str(getpid())])
        sleep(1)  # until perf has attached itself
    start, n_fits = process_time(), 0
    while process_time() - start < given.seconds:
        classifier.fit(X, y)
        n_fits += 1
    print(f"{1000 * (process_time() - start) / n_fits:.2f} ms a fit, {len(y):,} rows, {X.shape[1]} columns")
    if recorder is not None:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()


if __name__ == "__main__":
    main()
