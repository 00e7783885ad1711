"""SamRuLe: the optimal rule list of a sample that is large enough to bound how far it is from the best. Needs numba.

After L. Pellegrina and F. Vandin, "Scalable rule lists learning with sampling", KDD 2024. A rule asks one question of a
row; a list of at most five is optimal for its share of errors plus 1e-4 for each rule, by the branch and bound of
CORELS (`ferl_bench.rule_list_search`). Questions are four quantiles of each feature, in both directions.

The sample's size follows from the wanted accuracy of the estimate, `sample_size`. It is 23,000 to 35,000 rows, more
than any fold of the data sets here has: drawn with replacement, the sample is a bootstrap, and the method is CORELS on
it.

Simplifications: a list knows two classes, so that with more there is one for each class against the others. A list
answers with the share of a class among the sample's rows that a rule captures; the publication has labels only. After
`MAX_NODES` extended prefixes the best list so far is taken; `RuleList.is_proven` says whether it is optimal. A
tie of 64-bit hashes, which would lose a prefix, is taken for impossible.

The paper's row "SamRuLe" is not this method but a greedy list (`ferl_bench.methods.rule_list`): its authors' published
results have both, and print the greedy one under that name. So this row carries none of the paper's figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import e, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.errors import refuse_missing, require
from ferl_bench.method import Method
from ferl_bench.one_vs_rest import divide_by_sum

MAX_LENGTH = 5
N_CONDITIONS = 1
ALPHA = 1e-4
EPSILON = 1.0
THETA = 0.01
DELTA = 0.05
N_CUTS = 4
MAX_NODES = 5000


def _search() -> Any:
    """Return the compiled search, once numba is known to be there."""
    require("numba", "numba")
    from ferl_bench import rule_list_search

    return rule_list_search


def deviation(
    n_rows: int, n_questions: int, max_length: int = MAX_LENGTH, theta: float = THETA, delta: float = DELTA
) -> float:
    """Return how much more the list of a sample of `n_rows` may err than the best one, where that errs by `theta`."""
    omega = max_length * N_CONDITIONS * log(2 * e * n_questions / N_CONDITIONS) + 2
    a, b = log(2 / delta) / n_rows, (omega + log(2 / delta)) / n_rows
    return sqrt(3 * theta * a) + sqrt(2 * (theta + sqrt(3 * theta * a)) * b) + 2 * b


def sample_size(n_questions: int, epsilon: float = EPSILON, theta: float = THETA) -> int:
    """Return the smallest sample whose `deviation` is at most `epsilon * theta`.

    Examples
    --------
    >>> from ferl_bench.methods.samrule import sample_size
    >>> sample_size(100)
    29242
    """
    high = 1
    while deviation(high, n_questions, theta=theta) > epsilon * theta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if deviation(middle, n_questions, theta=theta) > epsilon * theta:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Questions:
    """Questions to one feature each, ``value <= cut`` or ``value > cut``, no two with the same answers."""

    column: NDArray[np.intp]
    cut: Floats
    is_above: NDArray[np.bool_]

    @classmethod
    def learn(cls, X: Floats, n_cuts: int = N_CUTS) -> Questions:
        """Cut each feature at its quantiles; a question that all fitting rows answer alike is left out."""
        shares = np.arange(1, n_cuts + 1) / (n_cuts + 1)
        result = [
            (column, cut, is_above)
            for column, values in enumerate(X.T)
            for cut in np.unique(np.quantile(values, shares, method="inverted_cdf"))
            if cut < values.max()
            for is_above in (False, True)
        ]
        all_questions = cls(
            np.array([one[0] for one in result], dtype=np.intp),
            np.array([one[1] for one in result], dtype=np.float64),
            np.array([one[2] for one in result], dtype=np.bool_),
        )
        kept = np.sort(np.unique(all_questions.answers(X), axis=1, return_index=True)[1])
        return cls(all_questions.column[kept], all_questions.cut[kept], all_questions.is_above[kept])

    def answers(self, X: Floats) -> NDArray[np.bool_]:
        """Return which rows answer which question with yes; shape (n_rows, n_questions)."""
        return np.asarray((X[:, self.column] > self.cut) == self.is_above)


@dataclass(frozen=True)
class RuleList:
    """A list of questions; the first that a row answers with yes decides.

    Attributes
    ----------
    order : ndarray of int of shape (length,)
        Indices of the questions.
    share : ndarray of shape (length + 1,)
        Share of the second class among the sample's rows that each captures; last, among those that none captures.
    objective : float
        Share of the sample's rows it errs on, plus `ALPHA` for each question.
    is_proven : bool
        Whether the search ended, so that no list of the sample is better.
    """

    order: NDArray[np.int64]
    share: Floats
    objective: float
    is_proven: bool

    @classmethod
    def learn(
        cls,
        answers: NDArray[np.bool_],
        is_positive: NDArray[np.bool_],
        max_length: int = MAX_LENGTH,
        alpha: float = ALPHA,
        max_nodes: int = MAX_NODES,
    ) -> RuleList:
        """Find the best list of a sample.

        Parameters
        ----------
        answers : ndarray of bool of shape (n_rows, n_questions)
            Answers of the sample's rows.
        is_positive : ndarray of bool of shape (n_rows,)
            Whether a row is of the second class.
        max_length : int, default=5
            Largest number of questions, at most 5.
        alpha : float, default=1e-4
            What a question costs, as a share of the rows.
        max_nodes : int, default=5000
            So many prefixes of lists are extended at most.

        Returns
        -------
        RuleList
        """
        search = _search()
        if not 1 <= max_length <= search.MAX_LENGTH:
            raise ValueError(f"max_length must be in the range [1, {search.MAX_LENGTH}]. Got {max_length} instead.")
        n_rows, n_questions = answers.shape
        if n_questions > search.MAX_RULES:
            raise ValueError(
                f"{n_questions} questions are more than the search takes ({search.MAX_RULES}); use fewer cuts."
            )
        order = np.empty(0, dtype=np.int64)
        objective, is_proven = min(is_positive.sum(), n_rows - is_positive.sum()), True
        if n_questions:
            order, objective, is_proven, _ = search.search(
                search.pack_bits(answers.T.copy()),
                search.pack_bits(is_positive),
                search.pack_bits(_unavoidable(answers, is_positive)),
                n_rows,
                max_length,
                alpha * n_rows,
                max_nodes,
            )
        first = _first_yes(answers, order)
        n_captured = np.bincount(first, minlength=len(order) + 1)
        share = np.bincount(first, is_positive, minlength=len(order) + 1) / np.maximum(n_captured, 1)
        share[n_captured == 0] = is_positive.mean()
        return cls(order, share, float(objective) / n_rows, bool(is_proven))

    def predict(self, answers: NDArray[np.bool_]) -> Floats:
        """Return the share of the second class where each row ends; shape (n_rows,)."""
        return np.asarray(self.share[_first_yes(answers, self.order)])


def _first_yes(answers: NDArray[np.bool_], order: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the place of the first question of the list that is answered with yes; the list's length for none."""
    asked = np.column_stack([answers[:, order], np.ones(len(answers), np.bool_)])
    return np.asarray(asked.argmax(axis=1))


def _unavoidable(answers: NDArray[np.bool_], is_positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the rows of the rarer class among rows with the same answers: every list errs on as many of them."""
    group = np.unique(np.packbits(answers, axis=1), axis=0, return_inverse=True)[1].ravel()
    n_positive = np.bincount(group, is_positive)
    is_rarer = 2 * n_positive < np.bincount(group)
    return np.asarray(is_positive == is_rarer[group])


class SamRuLe:
    """One optimal rule list of a sample for two classes, one for each class when there are more.

    Parameters
    ----------
    seed : int, default=0
        Seed of the sample.
    max_nodes : int, default=5000
        So many prefixes of a list are extended at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    lists_ : list of RuleList
        The list for the second of two classes, or that of each class.
    """

    def __init__(self, seed: int = 0, max_nodes: int = MAX_NODES) -> None:
        self.seed = seed
        self.max_nodes = max_nodes

    def fit(self, X: Floats, y: NDArray[np.int64]) -> SamRuLe:
        """Draw the sample and search."""
        refuse_missing(X, "SamRuLe")
        self.classes_, label = np.unique(y, return_inverse=True)
        self.questions_ = Questions.learn(X)
        n_rows = sample_size(max(len(self.questions_.cut), 1))
        sample = np.random.default_rng(self.seed).integers(len(X), size=n_rows)
        answers = self.questions_.answers(X)[sample]
        wanted = range(len(self.classes_)) if len(self.classes_) > 2 else [1]
        self.lists_ = [RuleList.learn(answers, label[sample] == one, max_nodes=self.max_nodes) for one in wanted]
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the shares of the classes where a row ends; of several lists, divided by their sum."""
        answers = self.questions_.answers(X)
        share = np.column_stack([one.predict(answers) for one in self.lists_])
        if len(self.classes_) == 2:
            return np.column_stack([1 - share[:, 0], share[:, 0]])
        return divide_by_sum(share)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the class of the largest share; of several, the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_rules_(self) -> int:
        """Number of questions of all lists."""
        return sum(len(one.order) for one in self.lists_)


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> SamRuLe:
    """Fit with the settings of the publication."""
    return SamRuLe(seed).fit(X, y)


def size(fitted: SamRuLe) -> int:
    """Return the number of rules of all lists, their defaults among them."""
    return fitted.n_rules_ + len(fitted.lists_)


def measures(fitted: SamRuLe) -> Mapping[str, float]:
    """Return the share of the lists that are proven to be optimal for their sample."""
    return {"proven_optimal": float(np.mean([one.is_proven for one in fitted.lists_]))}


METHODS = (
    Method(
        name="SamRuLe",
        fit=fit,
        size=size,
        measures=measures,
        parameters={
            "max_length": MAX_LENGTH,
            "alpha": ALPHA,
            "epsilon": EPSILON,
            "theta": THETA,
            "delta": DELTA,
            "n_cuts": N_CUTS,
            "max_nodes": MAX_NODES,
        },
        packages=("numpy", "scikit-learn", "numba"),
        code=("ferl_bench/methods/samrule.py", "ferl_bench/one_vs_rest.py", "ferl_bench/rule_list_search.py"),
    ),
)
