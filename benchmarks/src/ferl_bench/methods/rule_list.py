"""Greedy rule list: what the paper's row "SamRuLe" is. Needs imodels, which ferl does not depend on.

The package's ``GreedyRuleListClassifier`` with its defaults: a stump of smallest Gini impurity is fitted to the rows;
the side with the larger share of the second class becomes a rule that answers with that share, the other side goes on
to the next stump, and after five rules, or where one class is left, the remaining rows give the default.

The paper names its row after SamRuLe (`ferl_bench.methods.samrule`). The authors' published results have a "sampled
greedy ablation, not SamRuLe" of imodels beside the real one, and print it under that name; its figures (71.20 %, AURC
19.59, 14 rules there; 70.53, 20.07 and 15 in the paper) are nearly those of the paper's row, which this row carries.

Simplifications: fitted to all rows, as we do not know the authors' sample, and SamRuLe's own would be larger than the
data. The package knows two classes; with more, one list is fitted for each class against the others and the shares are
divided by their sum, as scikit-learn does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier

from ferl._util.arrays import Floats
from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.seeding import global_seed


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> Any:
    """Fit the package's list with its defaults; one for each class when there are more than two."""
    own = require("imodels").GreedyRuleListClassifier()
    with global_seed(seed):  # the package's stumps break ties by the global generator
        return (own if len(np.unique(y)) == 2 else OneVsRestClassifier(own)).fit(X, y)


def size(fitted: Any) -> int:
    """Return the number of rules of all lists, their defaults among them."""
    lists = fitted.estimators_ if isinstance(fitted, OneVsRestClassifier) else [fitted]
    return sum(len(one.rules_) for one in lists)


METHODS = (
    Method(
        name="Greedy rule list",
        fit=fit,
        size=size,
        packages=("numpy", "scikit-learn", "imodels"),
        code=("ferl_bench/methods/rule_list.py", "ferl_bench/seeding.py"),
        paper={"accuracy": 70.53, "aurc": 20.07, "size": 15},
    ),
)
