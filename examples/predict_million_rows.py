"""A million rows of CSV through ``ferl predict``, against pandas and scikit-learn's tree in the same run.

Both read the file, answer, and write a file: ``ferl predict`` a label, its probability, a set, ignorance and novelty;
pandas.read_csv, DecisionTreeClassifier.predict_proba and to_csv the probabilities. Each runs in a separate process,
so that the peak of its memory is its own; importing is part of its time. Needs pandas; takes half a minute.

    python examples/predict_million_rows.py [n_rows]
"""

import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLTreeClassifier, save_model

CART = """
import pickle, sys
import pandas as pd
model = pickle.load(open(sys.argv[1], "rb"))
rows = pd.read_csv(sys.argv[2])
pd.DataFrame(model.predict_proba(rows), columns=model.classes_).to_csv(sys.argv[3], index=False)
"""


def write_tables(folder: Path, n_rows: int) -> None:
    """Ten columns of numbers, and models of 20,000 of them."""
    X, y = make_classification(20_000, n_features=10, n_informative=8, n_classes=3, random_state=0)
    train = pd.DataFrame(X.round(6), columns=[f"x{j}" for j in range(10)])
    save_model(FERLTreeClassifier("deep", random_state=0).fit(train, y), folder / "model.json")
    cart = DecisionTreeClassifier(max_leaf_nodes=150, random_state=0).fit(train, y)
    (folder / "cart.pickle").write_bytes(pickle.dumps(cart))
    places = np.random.default_rng(0).integers(len(train), size=n_rows)
    moved = train.to_numpy()[places] + np.random.default_rng(1).normal(scale=0.01, size=(n_rows, 10))
    pd.DataFrame(moved.round(6), columns=train.columns).to_csv(folder / "new.csv", index=False)


def report(name: str, n_rows: int, arguments: list[str]) -> None:
    """Run a command; print its time, throughput, and peak memory."""
    program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL); "
    program += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    print(f"{name:34} {seconds:6.1f} s  {n_rows / seconds:10,.0f} rows/s  peak {int(done.stdout) / 1024:6,.0f} MB")


def main() -> None:
    """Run all five."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, n_rows)
        print(f"{n_rows:,} rows, {(folder / 'new.csv').stat().st_size / 1e6:.0f} MB of CSV")
        ferl = [sys.executable, "-m", "ferl._cli.app", "predict", str(folder / "model.json"), str(folder / "new.csv")]
        ferl += ["-o", str(folder / "out.csv")]
        cart = [sys.executable, "-c", CART, *(str(folder / item) for item in ("cart.pickle", "new.csv", "cart.csv"))]
        report("pandas + DecisionTreeClassifier", n_rows, cart)
        report("ferl predict, answers, no novelty", n_rows, [*ferl, "--only-answers", "--no-novelty"])
        report("ferl predict, answers", n_rows, [*ferl, "--only-answers"])
        report("ferl predict, all columns", n_rows, ferl)
        report("the same, one thread for the tree", n_rows, [*ferl, "--jobs", "1"])


if __name__ == "__main__":
    main()
