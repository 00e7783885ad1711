"""HSTree: CART with hierarchical shrinkage. Needs the package imodels, which ferl does not depend on.

After A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, "Hierarchical shrinkage: improving the accuracy and
interpretability of tree-based methods", ICML 2022: the answer of a leaf is pulled towards those of the nodes above it,
the more the fewer rows they have. The tree is that of the row "CART".

The strength is chosen by the log-loss in 3-fold cross-validation on the fitting rows, over the package's list. The
package's own search, `HSTreeClassifierCV`, does the same but fails when a rare class is absent from a fold ("y_true and
y_prob contain different number of classes"), so the search is here and the shrinkage the package's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.protocol import log_loss

STRENGTHS = (0.0, 0.1, 1.0, 10.0, 50.0, 100.0, 500.0)
N_FOLDS = 3


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Grow CART and shrink it as cross-validation advises."""
    losses = np.zeros(len(STRENGTHS))
    for fitting, held_out in KFold(N_FOLDS, shuffle=True, random_state=seed).split(X):
        for number, strength in enumerate(STRENGTHS):
            shrunk = _shrunk(X[fitting], y[fitting], seed, strength)
            losses[number] += len(held_out) * log_loss(y[held_out], shrunk.predict_proba(X[held_out]), shrunk.classes_)
    return _shrunk(X, y, seed, STRENGTHS[int(losses.argmin())])


def _shrunk(X: NDArray[np.float64], y: NDArray[np.int64], seed: int, strength: float) -> Any:
    tree = DecisionTreeClassifier(random_state=seed)
    return require("imodels").HSTreeClassifier(estimator_=tree, reg_param=strength).fit(X, y)


def size(fitted: Any) -> int:
    """Return the number of leaves."""
    return int(fitted.estimator_.get_n_leaves())


METHODS = (
    Method(
        name="HSTree",
        fit=fit,
        size=size,
        parameters={"strengths": STRENGTHS, "n_folds": N_FOLDS},
        packages=("numpy", "scikit-learn", "imodels"),
        code=("ferl_bench/methods/hstree.py",),
    ),
)
