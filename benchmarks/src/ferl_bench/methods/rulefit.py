"""RuleFit: a sparse logistic regression on rules from boosted trees. Needs imodels, which ferl does not depend on.

After J. H. Friedman and B. E. Popescu, "Predictive learning via rule ensembles", Annals of Applied Statistics 2(3),
2008: every node of a boosted forest of small trees is a rule, and a lasso on these rules and on the features themselves
keeps a few. At most 30 terms for each class, as in the authors' published results (accuracy 83.67, AURC 7.87, on their
folds). Number of terms, of trees (100) and their size are the package's defaults.

Simplifications. The package knows two classes; with more, one model is fitted for each class against the others and the
probabilities are divided by their sum, as scikit-learn does. The package makes a probability of the log-odds s by
softmax(1 - s, s), which answers with the second class only where it has more than 62 %; here it is the logistic
function of s, which the regression was fitted with.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.one_vs_rest import fit_two_or_each, models_of
from ferl_bench.seeding import global_seed

N_TERMS = 30
N_TREES = 100


class RuleFit(ClassifierMixin, BaseEstimator):
    """The package's classifier of two classes, with the probabilities of its logistic regression.

    Parameters
    ----------
    n_terms : int
        At most so many rules and linear terms.
    n_trees : int
        Number of boosted trees that rules are taken from.
    seed : int
        Seed of the trees and of the cross-validation.
    """

    def __init__(self, n_terms: int, n_trees: int, seed: int) -> None:
        self.n_terms = n_terms
        self.n_trees = n_trees
        self.seed = seed

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> RuleFit:
        """Grow the trees and choose among their rules."""
        self.classes_, counts = np.unique(y, return_counts=True)
        # Cross-validation chooses the strength of the lasso; of a class of one row it would leave a fold without.
        self.model_: Any = require("imodels").RuleFitClassifier(
            n_estimators=self.n_trees, max_rules=self.n_terms, cv=bool(counts.min() > 1), random_state=self.seed
        )
        with warnings.catch_warnings():
            # Of scikit-learn's regression: how the package names its penalty, and that 200 steps were too few.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", UserWarning)
            self.model_.fit(X, (y == self.classes_[1]).astype(np.int64))
        return self

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, 2)."""
        log_odds = self.model_._predict_continuous_output(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_terms_(self) -> int:
        """Number of rules, and of features with a weight of their own."""
        return int(np.count_nonzero(self.model_.coef))


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Fit one model, or one for each class when there are more than two."""
    with global_seed(seed):
        return fit_two_or_each(RuleFit(N_TERMS, N_TREES, seed), X, y)


def size(fitted: Any) -> int:
    """Return the number of rules and linear terms of all classes."""
    return sum(one.n_terms_ for one in models_of(fitted))


METHODS = (
    Method(
        name="RuleFit",
        fit=fit,
        size=size,
        parameters={"n_terms": N_TERMS, "n_trees": N_TREES},
        packages=("numpy", "scikit-learn", "imodels"),
        code=("ferl_bench/methods/rulefit.py", "ferl_bench/one_vs_rest.py", "ferl_bench/seeding.py"),
    ),
)
