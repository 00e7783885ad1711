"""Scorecard: a logistic regression on optimally binned features. Needs optbinning, which ferl does not depend on.

What a scorecard tool of a bank does: each feature is cut into bins by mixed-integer programming so that the information
value is largest (G. Navas-Palencia, "Optimal binning: mathematical programming formulation", 2020), each bin becomes
its weight of evidence, a logistic regression adds them up, and points are a scaling of that, which changes no answer.
All defaults are the packages'.

Simplifications. A scorecard is of two classes; with more, one is fitted for each class against the others and the
probabilities are divided by their sum, as scikit-learn does. The size counts the lines of the printed cards: the bins
of features whose coefficient is not zero. Not in the paper.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.one_vs_rest import fit_two_or_each, models_of


class Scorecard(ClassifierMixin, BaseEstimator):
    """The package's bins and a logistic regression on their weights of evidence; two classes."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Scorecard:
        """Cut the features and weigh the bins."""
        self.classes_ = np.unique(y)
        names = [f"x{place}" for place in range(X.shape[1])]
        self.bins_: Any = require("optbinning", "scorecard").BinningProcess(names)
        with warnings.catch_warnings():
            # The package calls scikit-learn and NumPy by names that they no longer like.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            weights = self.bins_.fit_transform(X, (y == self.classes_[1]).astype(np.int64))
        self.regression_ = LogisticRegression(max_iter=1000).fit(weights, y)
        return self

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, 2)."""
        return np.asarray(self.regression_.predict_proba(self.bins_.transform(X)))

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_lines_(self) -> int:
        """Number of bins that have points."""
        names = self.bins_.get_support(names=True)
        used = [name for name, weight in zip(names, self.regression_.coef_[0], strict=True) if weight != 0]
        return sum(len(self.bins_.get_binned_variable(name).splits) + 1 for name in used)


def fit(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Fit one scorecard, or one for each class when there are more than two; nothing in it is random."""
    return fit_two_or_each(Scorecard(), X, y)


def size(fitted: Any) -> int:
    """Return the number of lines of all cards."""
    return sum(one.n_lines_ for one in models_of(fitted))


METHODS = (
    Method(
        name="Scorecard",
        fit=fit,
        size=size,
        packages=("numpy", "scikit-learn", "optbinning"),
        code=("ferl_bench/methods/scorecard.py", "ferl_bench/one_vs_rest.py"),
    ),
)
