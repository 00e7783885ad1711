"""RL-Net: a rule list as a network. Rules are AND nodes with few bits, and the first that fires gives the answer.

After L. Dierckx, R. Veroneze and S. Nijssen, "RL-Net: interpretable rule learning with neural networks", PAKDD 2023.

A bit says that a feature lies above one of its nine deciles. A rule has a weight for every bit, times a gate between 0
and 1. A positive product asks for the bit, a negative one for its opposite, and the rule fires when nothing that it
asks is violated (by more than 1e-6 in sum). The gates are hard-concrete (C. Louizos, M. Welling and D. P. Kingma, ICLR
2018): a sigmoid of a learned location plus noise, stretched to [-0.1, 1.1] and clipped, so that they can be 0 exactly;
their mean probability of not being 0 is a penalty. A fixed layer ``relu(z_i - sum_{j < i} z_j)`` keeps the first rule
that fires, ``relu(1 - sum_j z_j)`` is the "else", and a linear layer without bias gives the scores of the classes.

The firing of a rule has no gradient; it is given that of ``1 - violation`` where the violation is at most 1 (a
straight-through estimator with its usual limit; without it nothing is learned here, 39 % on calibration rows of wine).
The loss is the cross-entropy of probabilities that are taken for scores, a softmax of a softmax, which makes the method
overconfident. A fifth of the rows chooses the epoch, by accuracy, the first one of several.

Parameters are those of the FERL paper: 20 rules, 3,000 epochs, batches of 5 % of the rows, penalty 0.001, learning rate
0.01 (Adam).

Simplifications. Labels are single, not sets. Training ends when the validation rows are all right, since no later epoch
could replace that one. Gates whose product with the weight is below 1e-6 are no condition.

The size is the number of conditions, which is what the paper counts (195); the rules are always 20 and an "else".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_X_y

from ferl._util.arrays import Floats
from ferl_bench.descent import Adam, Floats32, softmax, views, zeros_for
from ferl_bench.discretise import Thresholds
from ferl_bench.method import Method
from ferl_bench.threads import one_thread

N_CUTS = 9
N_RULES = 20
N_EPOCHS = 3000
BATCH_SHARE = 0.05
VALIDATION_SHARE = 0.2
LEARNING_RATE = 0.01
PENALTY = 1e-3
SHARPNESS = 2 / 3  # temperature of the gates
LOW, HIGH = -0.1, 1.1  # what the gates are stretched to before they are clipped
TOLERANCE = 1e-6


def stretched_gates(sigmoid: Floats32) -> Floats32:
    """Return the hard-concrete gates, in [0, 1], of values of the sigmoid."""
    return np.asarray(np.clip((HIGH - LOW) * sigmoid + LOW, 0, 1), dtype=np.float32)


def first_that_fires(fires: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the index of each row's first rule that fires; the number of rules where none does ("else")."""
    return np.asarray(np.where(fires.any(axis=1), fires.argmax(axis=1), fires.shape[1]))


def hierarchy(n_rules: int) -> Floats32:
    """Return the matrix M of the fixed layer ``relu(z M + (0, ..., 0, 1))``; shape (n_rules, n_rules + 1)."""
    earlier = np.triu(np.ones((n_rules, n_rules)), 1)
    return np.hstack([np.eye(n_rules) - earlier, -np.ones((n_rules, 1))]).astype(np.float32)


class RuleListNetwork:
    """The weights of the network, in one vector, and their gradient.

    Parameters
    ----------
    n_bits, n_rules, n_classes : int
        Sizes.
    rng : Generator
        Draws the initial weights.
    """

    def __init__(self, n_bits: int, n_rules: int, n_classes: int, rng: np.random.Generator) -> None:
        shapes = [(n_rules, n_bits), (n_rules, n_bits), (n_classes, n_rules + 1)]
        self.vector = zeros_for(shapes)
        self.gradient = zeros_for(shapes)
        self.weights, self.location, self.votes = views(self.vector, shapes)
        self._parts = views(self.gradient, shapes)
        self.weights[:] = rng.uniform(-1, 1, self.weights.shape) / np.sqrt(max(n_bits, 1))
        self.location[:] = 0.01 * rng.standard_normal(self.location.shape)
        self.votes[:] = rng.uniform(-1, 1, self.votes.shape) / np.sqrt(n_rules + 1)
        self._n_bits = n_bits
        self._hierarchy = hierarchy(n_rules)
        self._asks = np.empty((n_rules, 2 * n_bits), dtype=np.float32)
        self._sigmoid, self._products, self._one = (np.empty_like(self.weights) for _ in range(3))

    def products(self) -> Floats32:
        """Return the weights times their gates without noise; shape (n_rules, n_bits)."""
        sigmoid: Floats32 = np.reciprocal(1 + np.exp(-self.location))
        return np.multiply(self.weights, stretched_gates(sigmoid))

    def violation(self, both: Floats32, products: Floats32) -> Floats32:
        """Return the sum of what each rule asks in vain; shape (n_rows, n_rules).

        `both` holds the bits and their opposites. All terms are positive, so that a sum of nothing is 0 exactly.
        """
        negative, positive = self._asks[:, : self._n_bits], self._asks[:, self._n_bits :]
        np.maximum(products, 0, out=positive)
        np.subtract(positive, products, out=negative)
        return np.asarray(both @ self._asks.T)

    def differentiate(self, both: Floats32, members: Floats32, noise: Floats32) -> None:
        """Write the gradient of the loss of some rows into ``gradient``; `noise` has a logistic distribution."""
        weights, location, votes = self._parts
        sigmoid = np.add(noise, self.location, out=self._sigmoid)
        sigmoid *= -1 / SHARPNESS
        np.exp(sigmoid, out=sigmoid)
        sigmoid += 1
        np.reciprocal(sigmoid, out=sigmoid)
        gates = stretched_gates(sigmoid)
        products = np.multiply(self.weights, gates, out=self._products)
        violation = self.violation(both, products)
        kept = (violation < TOLERANCE).astype(np.float32) @ self._hierarchy
        kept[:, -1] += 1
        on = kept > 0
        kept *= on
        probability = softmax(kept @ self.votes.T)
        error = softmax(probability)
        error -= members
        error -= (error * probability).sum(axis=1, keepdims=True)
        error *= probability
        error /= len(both)
        np.matmul(error.T, kept, out=votes)
        inner = error @ self.votes
        inner *= on
        inner = inner @ self._hierarchy.T
        inner *= violation <= 1  # the limit of the straight-through estimator
        slope = np.matmul(inner.T, both[:, : self._n_bits], out=self._one)
        slope -= (products > 0) * inner.sum(axis=0)[:, None]
        np.multiply(slope, gates, out=weights)
        np.multiply(slope, self.weights, out=location)
        location *= (gates > 0) & (gates < 1)
        location *= (HIGH - LOW) / SHARPNESS
        np.subtract(1, sigmoid, out=slope)
        slope *= sigmoid
        location *= slope
        self._add_penalty(location)

    def _add_penalty(self, location: Floats32) -> None:
        """Add the gradient of the mean probability that a gate is not 0."""
        probability = np.add(self.location, -SHARPNESS * np.log(-LOW / HIGH), out=self._one)
        np.negative(probability, out=probability)
        np.exp(probability, out=probability)
        probability += 1
        np.reciprocal(probability, out=probability)
        slope = np.subtract(1, probability, out=self._sigmoid)
        slope *= probability
        slope *= PENALTY / slope.size
        location += slope


class RLNet(ClassifierMixin, BaseEstimator):
    """The classifier.

    Parameters
    ----------
    n_rules : int, default=20
        Number of rules, without the "else".
    n_epochs : int, default=3000
        Passes over the rows, at most.
    seed : int, default=0
        Seed of the validation rows, the initial weights, the gates and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    signs_ : ndarray of int8 of shape (n_rules, n_bits)
        1 where a rule asks for a bit, -1 where it asks for the opposite, 0 where it does not ask.
    votes_ : ndarray of shape (n_rules + 1, n_classes)
        Scores of the classes that each rule, and at last "else", gives.
    best_epoch_ : int
        The epoch that the validation rows chose, from 0.
    """

    def __init__(self, n_rules: int = N_RULES, n_epochs: int = N_EPOCHS, seed: int = 0) -> None:
        self.n_rules = n_rules
        self.n_epochs = n_epochs
        self.seed = seed

    def fit(self, X: Floats, y: NDArray[np.int64]) -> RLNet:
        """Train the network and keep the epoch that is best on the validation rows."""
        X, y = check_X_y(X, y, ensure_min_samples=2)
        self.classes_, label = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(X))
        n_validation = max(1, round(VALIDATION_SHARE * len(X)))
        validation, training = order[:n_validation], order[n_validation:]
        self.thresholds_ = Thresholds.at_quantiles(X, N_CUTS)
        bits = self.thresholds_.above(X)
        both = np.hstack([bits, ~bits]).astype(np.float32)
        members = np.eye(len(self.classes_), dtype=np.float32)[label]
        network = RuleListNetwork(bits.shape[1], self.n_rules, len(self.classes_), rng)
        optimiser = Adam(network.vector, LEARNING_RATE)
        fitting = both[training], members[training]
        best = -1.0
        with one_thread():
            for epoch in range(self.n_epochs):
                _run_epoch(network, optimiser, *fitting, rng)
                products = network.products()
                first = first_that_fires(network.violation(both[validation], products) < TOLERANCE)
                accuracy = float(np.mean(network.votes.argmax(axis=0)[first] == label[validation]))
                if accuracy > best:
                    best, self.best_epoch_ = accuracy, epoch
                    self.signs_ = (np.sign(products) * (abs(products) >= TOLERANCE)).astype(np.int8)
                    self.votes_ = network.votes.T.copy()
                if best == 1:
                    break
        return self

    def fires(self, X: Floats) -> NDArray[np.bool_]:
        """Return which rules have nothing to object; shape (n_rows, n_rules)."""
        bits = self.thresholds_.above(check_array(X)).astype(np.float32)
        objections = bits @ (self.signs_ < 0).T.astype(np.float32) + (1 - bits) @ (self.signs_ > 0).T.astype(np.float32)
        return np.asarray(objections == 0)

    def predict_proba(self, X: Floats) -> Floats:
        """Return the softmax of the scores of each row's first rule; shape (n_rows, n_classes)."""
        return softmax(self.votes_.astype(np.float64))[first_that_fires(self.fires(X))]

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_conditions_(self) -> int:
        """Number of bits and opposites that the rules ask for."""
        return int(np.count_nonzero(self.signs_))


def _run_epoch(
    network: RuleListNetwork, optimiser: Adam, both: Floats32, members: Floats32, rng: np.random.Generator
) -> None:
    """Pass once over the rows in a random order."""
    n_rows = len(both)
    batch_rows = max(1, round(BATCH_SHARE * n_rows))
    starts = range(0, n_rows, batch_rows)
    order = rng.permutation(n_rows)
    both, members = both[order], members[order]
    uniform = rng.random((len(starts), *network.weights.shape), dtype=np.float32)
    np.clip(uniform, 1e-6, 1 - 1e-6, out=uniform)
    noise = np.log(uniform / (1 - uniform))
    for step, start in enumerate(starts):
        rows = slice(start, start + batch_rows)
        network.differentiate(both[rows], members[rows], noise[step])
        optimiser.step(network.gradient)


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> RLNet:
    """Fit with the parameters of the paper."""
    return RLNet(n_epochs=N_EPOCHS, seed=seed).fit(X, y)


def size(fitted: RLNet) -> int:
    """Return the number of conditions."""
    return fitted.n_conditions_


METHODS = (
    Method(
        name="RL-Net",
        fit=fit,
        size=size,
        parameters={
            "n_cuts": N_CUTS,
            "n_rules": N_RULES,
            "n_epochs": N_EPOCHS,
            "batch_share": BATCH_SHARE,
            "validation_share": VALIDATION_SHARE,
            "learning_rate": LEARNING_RATE,
            "penalty": PENALTY,
        },
        code=("ferl_bench/methods/rl_net.py", "ferl_bench/descent.py", "ferl_bench/discretise.py"),
        paper={"accuracy": 74.81, "aurc": 20.80, "size": 195},
    ),
)
