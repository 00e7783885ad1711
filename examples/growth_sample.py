"""Accuracy and fit time against the number of rows that splits are chosen on, beside CART on all rows.

Run it with ``python examples/growth_sample.py``; it takes about a minute.
"""

import time

from sklearn.datasets import make_classification, make_hastie_10_2
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLTreeClassifier

N_TRAIN, N_TEST = 400_000, 20_000
PROBLEMS = {
    "make_hastie_10_2": make_hastie_10_2(N_TRAIN + N_TEST, random_state=0),
    "make_classification": make_classification(
        N_TRAIN + N_TEST, 20, n_informative=12, n_clusters_per_class=4, class_sep=0.8, random_state=0
    ),
}

for name, (X, y) in PROBLEMS.items():
    models = {"CART, 150 leaves": DecisionTreeClassifier(max_leaf_nodes=150, random_state=0)}
    for growth_rows in (10_000, 30_000, 50_000, 100_000, None):
        models[f"FERL-deep, {growth_rows or 'all'} rows"] = FERLTreeClassifier(
            "deep", growth_rows=growth_rows, random_state=0
        )
    models["FERL-deep, depth 12"] = FERLTreeClassifier("deep", max_depth=12, random_state=0)
    for label, model in models.items():
        start = time.perf_counter()
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
        seconds = time.perf_counter() - start
        print(f"{name:20s} {label:24s} {100 * model.score(X[N_TRAIN:], y[N_TRAIN:]):5.1f} %  fit {seconds:5.2f} s")
