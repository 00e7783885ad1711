"""Fuzzy-UCS with Dempster-Shafer inference: a population of fuzzy rules that evolves row by row. Needs numba.

After A. Orriols-Puig, J. Casillas and E. Bernado-Mansilla, "Fuzzy-UCS: a Michigan-style learning fuzzy-classifier
system for supervised learning", IEEE Transactions on Evolutionary Computation 13(2), 2009, with the inference of
H. Shiraishi, H. Ishibuchi and M. Nakata, "A class inference scheme with Dempster-Shafer theory for learning
fuzzy-classifier systems", ACM Transactions on Evolutionary Learning and Optimization, 2025, and its settings.

A rule asks for a set of terms of each feature (five triangles on [0, 1]) and remembers how much of each class it has
matched. A row updates all rules that match it. Those that speak for its class are its correct set: the most general
accurate one takes over more special ones, and now and then the best two have children; a rule that matches the row
fully is added where the correct set hardly does. Surplus rules are deleted, those of crowded places first.

A prediction combines the rules that match, as often as they have micro-rules, by Dempster's rule. The pignistic
probability decides. Prediction sets are by interval dominance: the classes whose plausibility reaches the largest
belief, as the paper reads sets off any belief function; the publication has no sets.

Where the publications leave room: rows are shuffled once and keep that order in all epochs. A new rule has the terms to
which a value belongs at all (two neighbours, mostly), or all terms with the probability of "don't care". Children are
subsumed by their parents alone. A tournament that several rules win has a random winner, and mutation draws among the
changes that a set of terms allows. A factor of Dempster's rule is at least 1e-12, so that full conflict is defined. A
row that no rule matches has no evidence, all its probabilities are equal, and the prediction is the first class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.errors import refuse_missing, require
from ferl_bench.method import Method

N_RULES = 2000
N_EPOCHS = 50
MIN_EXPERIENCE = 10.0
# As in the publication: ages in rows, experience in summed memberships.
SETTINGS = {
    "ga_age": 50.0,
    "tournament": 0.4,
    "crossover": 0.8,
    "mutation": 0.04,
    "dont_care": 0.33,
    "accurate_fitness": 0.99,
    "subsumer_experience": 50.0,
    "deletion_experience": 50.0,
    "deletion_fraction": 0.1,
}
TIE = 1e-12


def _compiled() -> tuple[Any, Any]:
    """Return the modules of the population and of the loop, once numba is known to be there."""
    require("numba", "numba")
    from ferl_bench import fuzzy_ucs_loop, fuzzy_ucs_population

    return fuzzy_ucs_population, fuzzy_ucs_loop


class FuzzyUCS:
    """Fuzzy-UCS with Dempster-Shafer inference.

    Parameters
    ----------
    n_rules : int, default=2000
        Largest number of micro-rules.
    n_epochs : int, default=50
        How often each row is shown.
    seed : int, default=0
        Seed of the order of the rows and of the evolution.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    population_ : ferl_bench.fuzzy_ucs_population.Population
        The rules.
    """

    def __init__(self, n_rules: int = N_RULES, n_epochs: int = N_EPOCHS, seed: int = 0) -> None:
        self.n_rules = n_rules
        self.n_epochs = n_epochs
        self.seed = seed

    def fit(self, X: Floats, y: NDArray[np.int64]) -> FuzzyUCS:
        """Evolve the rules."""
        refuse_missing(X, "FuzzyUCS")
        if self.n_rules < 1 or self.n_epochs < 1:
            raise ValueError(
                f"n_rules and n_epochs must be at least 1. Got {self.n_rules} and {self.n_epochs} instead."
            )
        population, loop = _compiled()
        self.classes_, label = np.unique(y, return_inverse=True)
        self.low_, high = X.min(axis=0), X.max(axis=0)
        self.width_ = np.where(high > self.low_, high - self.low_, 1.0)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(X))
        self.population_ = population.empty_population(self.n_rules, X.shape[1], len(self.classes_))
        parameters = population.Parameters(n_rules=self.n_rules, **SETTINGS)
        rows = self._scale(X)[order]
        loop.learn(rows, label[order].astype(np.int64), self.n_epochs, self.population_, parameters, rng)
        return self

    def masses(self, X: Floats) -> tuple[Floats, Floats]:
        """Return what Dempster's rule gives to each class, and to all together.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        classes : ndarray of shape (n_rows, n_classes)
        ignorance : ndarray of shape (n_rows,)
        """
        classes, ignorance = np.empty((len(X), len(self.classes_))), np.empty(len(X))
        _, loop = _compiled()
        loop.combine(self._scale(X), self.population_, MIN_EXPERIENCE, classes, ignorance)
        return classes, ignorance

    def predict_proba(self, X: Floats) -> Floats:
        """Return pignistic probabilities; shape (n_rows, n_classes)."""
        classes, ignorance = self.masses(X)
        return np.asarray(classes + ignorance[:, None] / len(self.classes_))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the class of the largest probability; of several, the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_set(self, X: Floats) -> NDArray[np.bool_]:
        """Return the classes whose plausibility reaches the largest belief; shape (n_rows, n_classes)."""
        classes, ignorance = self.masses(X)
        return np.asarray(classes + ignorance[:, None] >= classes.max(axis=1, keepdims=True) - TIE)

    @property
    def n_rules_(self) -> int:
        """Number of macro-rules that predictions are made of."""
        n_rules = int(self.population_.n_macro[0])
        return int(np.count_nonzero(self.population_.experience[:n_rules] > MIN_EXPERIENCE))

    def _scale(self, X: Floats) -> Floats:
        """Bring the fitting rows to [0, 1]; values beyond them are moved to the ends."""
        return np.ascontiguousarray(np.clip((X - self.low_) / self.width_, 0.0, 1.0))


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> FuzzyUCS:
    """Fit with the settings of the publication."""
    return FuzzyUCS(seed=seed).fit(X, y)


def size(fitted: FuzzyUCS) -> int:
    """Return the number of macro-rules that predictions are made of."""
    return fitted.n_rules_


def prediction_set(fitted: FuzzyUCS, X: Floats) -> NDArray[np.bool_]:
    """Return the sets of interval dominance."""
    return fitted.predict_set(X)


METHODS = (
    Method(
        name="Fuzzy-UCS (DS)",
        fit=fit,
        size=size,
        prediction_set=prediction_set,
        parameters={"n_rules": N_RULES, "n_epochs": N_EPOCHS, "min_experience": MIN_EXPERIENCE, **SETTINGS},
        packages=("numpy", "scikit-learn", "numba"),
        code=(
            "ferl_bench/methods/fuzzy_ucs.py",
            "ferl_bench/fuzzy_ucs_loop.py",
            "ferl_bench/fuzzy_ucs_population.py",
        ),
        paper={"accuracy": 78.59, "aurc": 17.08, "size": 1483},
    ),
)
