"""Rows a second under onnxruntime, against ``predict_proba`` and ``novelty`` of Python in one run; one thread each.

Trees go to the leaves that a row reaches, rules compute all conditions. Rows go through the graph in batches, of
which small ones mostly pay for the operators, whatever their number of rows. Needs ``ferl[onnx]``.

    python examples/onnx_throughput.py [n_rows]
"""

import sys
import time

import numpy as np
import onnxruntime
from sklearn.datasets import make_classification

from ferl import FERLClassifier, FERLTreeClassifier
from ferl.onnx import to_onnx

BATCHES = (1, 250, 4000, 100_000)


def session_of(content: bytes) -> onnxruntime.InferenceSession:
    """A session of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options)


def best_time(work, times: int = 3) -> float:
    """Seconds of the processor, in the fastest of some runs: others on the machine do not count."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def report(name: str, n_rows: int, seconds: float) -> None:
    """One line: how long, how many rows a second."""
    print(f"{name:44} {seconds / n_rows * 1e6:8.2f} us a row  {n_rows / seconds:12,.0f} rows/s")


def race(clf: FERLClassifier | FERLTreeClassifier, rows: np.ndarray, measures: tuple) -> None:
    """One classifier in Python and in ONNX, without and with novelty."""
    n_rows = len(rows)
    print(f"{type(clf).__name__}, {clf.n_rules_} rules, {n_rows:,} x {rows.shape[1]} rows, one thread, best of three")
    report("Python, predict_proba", n_rows, best_time(lambda: clf.predict_proba(rows)))
    report("Python, novelty", n_rows, best_time(lambda: clf.novelty(rows)))
    probability = "probability" if isinstance(clf, FERLClassifier) else "pignistic"
    for novelty in measures:
        content = to_onnx(clf, novelty=novelty).SerializeToString()
        session = session_of(content)
        print(f"ONNX, novelty={novelty!r}: {len(content) / 1e6:.2f} MB")
        for batch in BATCHES:
            used = rows[: min(n_rows, 1000 * batch)]
            parts = np.array_split(used, -(-len(used) // batch))

            def judge(parts=parts, session=session) -> None:
                for part in parts:
                    session.run(None, {"X": part})

            report(f"  batches of {batch:,}", len(used), best_time(judge))
        result = session.run([probability], {"X": rows[:1000]})[0]
        print(f"  largest difference of a probability: {np.abs(result - clf.predict_proba(rows[:1000])).max():.1e}")


def main() -> None:
    """Fit a deep tree and rules, then race."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    X, y = make_classification(20_000 + n_rows, n_features=20, n_informative=10, n_classes=3, random_state=0)
    for kind, measures in ((FERLTreeClassifier, (False, "residual", "neighbour")), (FERLClassifier, (False,))):
        clf = kind(random_state=0, n_jobs=1).fit(X[:20_000], y[:20_000])
        race(clf, X[20_000:], measures)


if __name__ == "__main__":
    main()
