"""FIGS: a sum of small trees that grow in competition. Needs the package imodels, which ferl does not depend on.

After Y. S. Tan, C. Singh, K. Nasseri, A. Agarwal and B. Yu, "Fast interpretable greedy-tree sums", arXiv:2201.11931,
2022. The package knows two classes; with more, one sum of trees is fitted for each class against the others and the
probabilities are divided by their sum, as scikit-learn does. Defaults of the package: at most 12 splits for each sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.one_vs_rest import fit_two_or_each, models_of
from ferl_bench.seeding import global_seed


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Fit the package's classifier with its defaults; one for each class when there are more than two."""
    figs = require("imodels").FIGSClassifier(random_state=seed)
    with global_seed(seed):  # the package breaks ties by the global generator, whatever its random_state
        return fit_two_or_each(figs, X, y)


def size(fitted: Any) -> int:
    """Return the number of leaves of all trees of all classes."""
    return sum(_n_leaves(tree) for one in models_of(fitted) for tree in one.trees_)


def _n_leaves(node: Any) -> int:
    return 1 if node.left is None else _n_leaves(node.left) + _n_leaves(node.right)


METHODS = (
    Method(
        name="FIGS",
        fit=fit,
        size=size,
        packages=("numpy", "scikit-learn", "imodels"),
        code=("ferl_bench/methods/figs.py", "ferl_bench/one_vs_rest.py", "ferl_bench/seeding.py"),
        paper={"accuracy": 80.63, "aurc": 15.22, "size": 28},
    ),
)
