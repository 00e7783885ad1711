"""Greedy rule list: what the paper's row "SamRuLe" is. Needs imodels, which ferl does not depend on.

The package's ``GreedyRuleListClassifier`` with its defaults: a stump of smallest Gini impurity is fitted to the rows;
the side with the larger share of the second class becomes a rule that answers with that share, the other side goes on
to the next stump, and after five rules, or where one class is left, the remaining rows give the default.

The paper names its row after SamRuLe (`ferl_bench.methods.samrule`). The authors' published results have a "sampled
greedy ablation, not SamRuLe" of imodels beside the real one, and print it under that name; its figures (71.20 %, AURC
19.59, 14 rules there; 70.53, 20.07 and 15 in the paper) are nearly those of the paper's row, which this row carries.

Simplifications: fitted to all rows, as we do not know the authors' sample, and SamRuLe's own would be larger than the
data. The package knows two classes; with more, one list is fitted for each class against the others and the shares are
divided by their sum. A row to which no list gives any share, for which scikit-learn's one-vs-rest has no probabilities
at all, gets equal ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.one_vs_rest import divide_by_sum
from ferl_bench.seeding import global_seed


class GreedyRuleLists:
    """The package's list for two classes; one for each class when there are more.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Labels.
    seed : int
        Seed of what breaks ties between stumps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    lists_ : list
        The list for the second of two classes, or that of each class.
    """

    def __init__(self, X: Floats, y: NDArray[np.int64], seed: int) -> None:
        self.classes_ = np.unique(y)
        wanted = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        with global_seed(seed):  # the package's stumps break ties by the global generator
            self.lists_ = [
                require("imodels").GreedyRuleListClassifier().fit(X, (y == one).astype(np.int64)) for one in wanted
            ]

    def predict_proba(self, X: Floats) -> Floats:
        """Return the shares of the classes where a row ends; of several lists, divided by their sum."""
        share = np.column_stack([one.predict_proba(X)[:, 1] for one in self.lists_])
        if len(self.classes_) == 2:
            return np.column_stack([1 - share[:, 0], share[:, 0]])
        return divide_by_sum(share)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the class of the largest share; of several, the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def size(fitted: GreedyRuleLists) -> int:
    """Return the number of rules of all lists, their defaults among them."""
    return sum(len(one.rules_) for one in fitted.lists_)


METHODS = (
    Method(
        name="Greedy rule list",
        fit=GreedyRuleLists,
        size=size,
        packages=("numpy", "scikit-learn", "imodels"),
        code=("ferl_bench/methods/rule_list.py", "ferl_bench/one_vs_rest.py", "ferl_bench/seeding.py"),
        paper={"accuracy": 70.53, "aurc": 20.07, "size": 15},
    ),
)
