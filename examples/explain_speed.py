"""How long ``explain`` takes for one row of a model of about fifty rules: rules and a tree, numbers and mixed tables.

Run it with ``python examples/explain_speed.py``; times are those of the processor. The first row of a model takes
longer: texts of rules and the scale of novelty are made once.
"""

import time

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from ferl import FERLClassifier, FERLTreeClassifier

N_ROWS = 40


def tables():
    """Name, table and labels."""
    yield "tumours, 30 numbers, 2 classes", *load_breast_cancer(return_X_y=True, as_frame=True)
    yield "digits, 64 numbers, 10 classes", *load_digits(return_X_y=True, as_frame=True)
    X, y = make_classification(4000, 20, n_informative=12, n_classes=4, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)])
    for j in range(0, 6, 2):
        frame[f"x{j}"] = pd.cut(frame[f"x{j}"], 5, labels=list("abcde")).astype(str)
    yield (
        "mixed, 17 numbers and 3 categories, 4 classes",
        frame.mask(np.random.default_rng(0).random(X.shape) < 0.02),
        y,
    )


for name, X, y in tables():
    for kind in (FERLClassifier, FERLTreeClassifier):
        clf = kind(max_rules=50, random_state=0).fit(X, y)
        rows = [X.iloc[i] for i in range(0, len(X), len(X) // N_ROWS)][:N_ROWS]
        start = time.process_time()
        clf.explain(rows[0])
        first, taken = time.process_time() - start, []
        for row in rows:
            start = time.process_time()
            str(clf.explain(row))
            taken.append(1e3 * (time.process_time() - start))
        print(
            f"{name}, {kind.__name__}, {clf.n_rules_} rules: median {np.median(taken):.1f} ms, "
            f"slowest {max(taken):.1f} ms, first {1e3 * first:.0f} ms"
        )
