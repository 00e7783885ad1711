"""A service for some minutes: fit, predict, explain, save, load and update, while memory must not grow.

::

    python examples/soak.py --minutes 3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone

from ferl import FERLClassifier, FERLTreeClassifier, load_model, save_model

MODELS = (
    FERLClassifier(),
    FERLTreeClassifier("deep"),
    FERLTreeClassifier("medium"),
    FERLClassifier(words=True),
)
WARM_UP = 5  # rounds after which caches are full
MOST_GROWTH_MB = 30.0


def memory_mb() -> float:
    """Memory of this process in use now."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not say how much memory a process uses")


def one_round(number: int, folder: Path) -> None:
    """All that a service does with a model, on rows of its own."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(400, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + 0.3 * rng.normal(size=400) > 0.8).astype(int)
    model = clone(MODELS[number % len(MODELS)]).set_params(max_rules=20, random_state=number).fit(X[:300], y[:300])
    save_model(model, folder / "model.json")
    loaded = load_model(folder / "model.json")
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    loaded.predict_evidence(X).prediction_set()
    loaded.novelty(X[:50])
    loaded.certified_radius(X[:5])
    loaded.explain(X[300])
    later = clone(MODELS[number % len(MODELS)]).set_params(max_rules=10, random_state=0)
    later.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])


def main(minutes: float) -> int:
    """Run the rounds; 1 where memory grew."""
    end, number, start = time.monotonic() + 60 * minutes, 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        while number <= WARM_UP or time.monotonic() < end:
            one_round(number, Path(name))
            number += 1
            if number == WARM_UP:
                start = memory_mb()
    grown = memory_mb() - start
    print(f"{number} rounds, memory {start:.0f} MB after {WARM_UP} rounds and {grown:+.1f} MB since")
    return int(grown > MOST_GROWTH_MB)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3.0)
    sys.exit(main(parser.parse_args().minutes))
