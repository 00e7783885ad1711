"""The naive credal classifier: naive Bayes under every prior at once, and the classes that none of them rules out.

After M. Zaffalon, "Statistical inference of the naive credal classifier", ISIPTA 2001, and G. Corani and M. Zaffalon,
"Learning reliable classifiers from small or incomplete data sets: the naive credal classifier 2", JMLR 2008.

Counts are those of the imprecise Dirichlet model: ``n(c) + s t(c)`` and ``n(a, c) + s t(a, c)``, where the prior ``t``
is any that sums to one over the classes and, for every feature, to ``t(c)`` over its values. A class is in the set
unless another one is more probable under every such prior. That test is exact: it is a convex problem in one variable.

Simplifications: numbers are discretised by the MDL principle, as in the papers, but categories reach a method of this
benchmark one-hot encoded and so count as several features. Missing values, the second paper's subject, are not treated.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.discretise import Discretiser
from ferl_bench.method import Method

N_BISECTIONS = 40
# Counts are integers, so that ties under the least favourable prior are common; a tie is not dominance.
TIE = 1e-9


class NaiveCredalClassifier:
    """Naive Bayes with the imprecise Dirichlet model.

    Parameters
    ----------
    s : float
        Weight of the prior, in rows: how slowly the data outweigh it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    """

    def __init__(self, s: float = 2.0) -> None:
        self.s = s

    def fit(self, X: Floats, y: NDArray[np.int64]) -> NaiveCredalClassifier:
        """Discretise and count."""
        self.classes_, label = np.unique(y, return_inverse=True)
        self.discretiser_ = Discretiser.learn(X, y)
        self.class_counts_ = np.bincount(label).astype(np.float64)
        codes = self.discretiser_.codes(X)
        self.counts_ = tuple(
            _contingency(codes[:, column], label, (n_values, len(self.classes_)))
            for column, n_values in enumerate(self.discretiser_.n_values)
        )
        return self

    @property
    def n_parameters_(self) -> int:
        """Number of values of all features together: the lines of the model's table."""
        return sum(self.discretiser_.n_values)

    def predict_proba(self, X: Floats) -> Floats:
        """Return naive Bayes under the uniform prior, which is one of those the set is about."""
        n_classes = len(self.classes_)
        class_counts = self.class_counts_ + self.s / n_classes
        score = np.tile(np.log(class_counts), (len(X), 1))
        for seen, n_values in zip(self._seen(X), self.discretiser_.n_values, strict=True):
            score += np.log((seen + self.s / (n_classes * n_values)) / class_counts)
        probability = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(probability / probability.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the most probable class under the uniform prior."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_set(self, X: Floats) -> NDArray[np.bool_]:
        """Return the classes that no other class dominates; shape (n_rows, n_classes)."""
        n_classes = len(self.classes_)
        seen = np.array(self._seen(X)).reshape(-1, len(X), n_classes).transpose(1, 0, 2)
        remaining = np.ones((len(X), n_classes), dtype=np.bool_)
        for other in range(n_classes):
            for better in range(n_classes):
                if better != other:
                    remaining[:, other] &= ~(self._least_log_odds(seen, better, other) > TIE)
        return remaining

    def _seen(self, X: Floats) -> list[Floats]:
        """For each feature, how often its value in a row was seen with each class; arrays (n_rows, n_classes)."""
        codes = self.discretiser_.codes(X)
        return [counts[codes[:, column]] for column, counts in enumerate(self.counts_)]

    def _least_log_odds(self, seen: Floats, better: int, other: int) -> Floats:
        """Return the least log-odds of `better` against `other` over all priors, for each row.

        All of the prior goes to these two classes, in the shares ``1 - t`` and ``t``, none of it to the row's values
        with `better` and all of it to those with `other`. What is left is a function of ``t`` alone: with k features
        ``(k - 1) log(n' / n) + sum log(n_i / n'_i)``, n for `better` and n' for `other`. It is convex, since
        ``n'_i <= n'``. A value never seen with `better` makes it minus infinity.
        """
        k, s = seen.shape[1], self.s
        n_better, n_other = self.class_counts_[better], self.class_counts_[other]
        seen_better, seen_other = seen[:, :, better], seen[:, :, other]

        def slope(t: Floats) -> Floats:
            of_classes = (k - 1) * (1 / (n_other + s * t) + 1 / (n_better + s * (1 - t)))
            return np.asarray(of_classes - (1 / (seen_other + s * t[:, None])).sum(axis=1))

        low, high = np.zeros(len(seen)), np.ones(len(seen))
        for _ in range(N_BISECTIONS):
            middle = (low + high) / 2
            rising = slope(middle) > 0
            high, low = np.where(rising, middle, high), np.where(rising, low, middle)
        t = (low + high) / 2
        with np.errstate(divide="ignore"):
            odds = np.log(seen_better).sum(axis=1) - np.log(seen_other + s * t[:, None]).sum(axis=1)
        return np.asarray(odds + (k - 1) * np.log((n_other + s * t) / (n_better + s * (1 - t))))


def _contingency(codes: NDArray[np.intp], label: NDArray[np.intp], shape: tuple[int, int]) -> Floats:
    """Count the rows of each value and class."""
    cells = np.bincount(codes * shape[1] + label, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.float64)


def fit(s: float, X: Floats, y: NDArray[np.int64], seed: int) -> NaiveCredalClassifier:
    """Fit; nothing in it is random."""
    return NaiveCredalClassifier(s).fit(X, y)


def size(fitted: NaiveCredalClassifier) -> int:
    """Return the number of values of all features."""
    return fitted.n_parameters_


def prediction_set(fitted: NaiveCredalClassifier, X: Floats) -> NDArray[np.bool_]:
    """Return the classes that are not dominated."""
    return fitted.predict_set(X)


METHODS = (
    Method(
        name="NCC",
        fit=partial(fit, 2.0),
        size=size,
        prediction_set=prediction_set,
        parameters={"s": 2.0},
        code=(
            "ferl_bench/discretise.py",
            "ferl_bench/methods/ncc.py",
            "ferl/_learn/word_builders.py",
        ),
        paper={
            "accuracy": 77.97,
            "aurc": 12.07,
            "size": 290,
            "determinacy": 0.91,
            "set_coverage": 0.81,
            "set_size": 1.11,
            "u65": 0.79,
            "u80": 0.80,
        },
    ),
)
