"""RRL: a layer of AND and OR nodes over bits, and a linear layer that weighs the nodes.

After Z. Wang, W. Zhang, N. Liu and J. Wang, "Scalable rule-based representation learning for interpretable
classification", NeurIPS 2021, and "Learning interpretable rules for scalable data representation and classification",
TPAMI 2024, where the activations with alpha, beta and gamma come from.

A bit says that a feature lies above one of a few random cuts, or that it does not. A node has a weight between 0 and 1
for every bit and asks those whose weight is above a half: AND is 1 when all of them are, OR when any of them is. For
the gradient both are smooth, with ``g(u) = 1 - 1 / (1 - (alpha u)^beta)``::

    AND = (1 + sum_j g(1 - x_j) g(w_j))^-gamma        OR = 1 - (1 + sum_j g(x_j) g(w_j))^-gamma

Gradient grafting: the discrete network answers and has the loss, the gradient of its nodes is that of the smooth ones.
The loss is the cross-entropy of ``scores / temperature``, the temperature is learned as well, plus a penalty on squared
weights. Answers are those of the discrete network, so they can be read off the nodes.

Parameters are those of the FERL paper: 5 cuts a feature, 64 nodes of each kind ("5@64"), 80 epochs, batches of 128
rows, learning rate 0.002 (Adam), temperature 0.01, penalty 0.0001.

Simplifications. One logical layer, as in the paper; further layers, and their skip connections, are not there. A
feature of two values has one cut (all others would be copies of it). The learning rate does not fall. Nodes that say
the same are not merged. Grafting is done at the layer, as in the second paper, so that the votes' gradient sees
discrete nodes. Grafting of the whole network, as in the first, was tried on calibration rows of 27 sets: 75.2 % with
256 conditions in place of 77.0 % with 171; the authors of the FERL paper published 196 conditions on average.

The size is the number of conditions, which is what the paper counts: 201, and always 64 rules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_X_y

from ferl._util.arrays import Floats
from ferl_bench.descent import Adam, Floats32, batches, softmax, views, zeros_for
from ferl_bench.discretise import Thresholds
from ferl_bench.method import Method
from ferl_bench.threads import one_thread

N_CUTS = 5
N_NODES = 64
N_EPOCHS = 80
BATCH_ROWS = 128
LEARNING_RATE = 0.002
TEMPERATURE = 0.01
PENALTY = 1e-4
ALPHA, BETA = 0.999, 8  # gamma is 1

# -g(1): what a bit of 1 contributes.
_FULL = ALPHA**BETA / (1 - ALPHA**BETA)


def emphasis(u: Floats32) -> Floats32:
    """Return ``-g(u)``: 0 at 0, tiny below a half and about 125 at 1."""
    power = (ALPHA * u) ** BETA
    return np.asarray(power / (1 - power), dtype=u.dtype)


def smooth_and(x: Floats32, weights: Floats32) -> Floats32:
    """Return the smooth AND of the bits that `weights`, of shape (n_nodes, n_bits), ask; shape (n_rows, n_nodes)."""
    return np.asarray(1 / (1 + emphasis(1 - x) @ emphasis(weights).T))


def smooth_or(x: Floats32, weights: Floats32) -> Floats32:
    """Return the smooth OR, in the same form."""
    return np.asarray(1 - 1 / (1 + emphasis(x) @ emphasis(weights).T))


class LogicalNetwork:
    """The weights of the network, in one vector, and their gradient.

    Bits come in pairs, "above" and "not above", and an AND is the NOR of the partners of its bits. The nodes of both
    kinds are therefore one product: ``weights`` has the partners of what the AND nodes ask, then what the OR nodes ask.

    Parameters
    ----------
    n_bits, n_nodes, n_classes : int
        Sizes; there are `n_nodes` nodes of each kind.
    rng : Generator
        Draws the initial weights.
    """

    def __init__(self, n_bits: int, n_nodes: int, n_classes: int, rng: np.random.Generator) -> None:
        shapes = [(2 * n_nodes, n_bits), (n_classes, 2 * n_nodes), (n_classes,), (1,)]
        self.n_nodes = n_nodes
        self.vector = zeros_for(shapes)
        self.gradient = zeros_for(shapes)
        self.weights, self.votes, self.bias, self.log_temperature = views(self.vector, shapes)
        self._parts = views(self.gradient, shapes)
        self.weights[:] = 0.5 * rng.random(self.weights.shape)
        self.votes[:] = rng.uniform(-1, 1, self.votes.shape) / np.sqrt(2 * n_nodes)
        self.bias[:] = rng.uniform(-1, 1, self.bias.shape) / np.sqrt(2 * n_nodes)
        self.log_temperature[:] = np.log(TEMPERATURE)

    def nodes(self, bits: Floats32) -> Floats32:
        """Return the discrete nodes, 0 or 1: AND nodes first; shape (n_rows, 2 n_nodes)."""
        hit = bits @ (self.weights > 0.5).astype(np.float32).T > 0
        hit[:, : self.n_nodes] ^= True
        return hit.astype(np.float32)

    def scores(self, nodes: Floats32) -> Floats32:
        """Return the logits: votes of the nodes, divided by the temperature."""
        return np.asarray((nodes @ self.votes.T + self.bias) / np.exp(self.log_temperature))

    def differentiate(self, bits: Floats32, members: Floats32) -> None:
        """Write the grafted gradient of the loss of some rows into ``gradient``."""
        weights, votes, bias, log_temperature = self._parts
        nodes = self.nodes(bits)
        scores = self.scores(nodes)
        error = (softmax(scores) - members) / np.float32(len(bits))
        log_temperature[:] = -np.sum(error * scores)
        error /= np.exp(self.log_temperature)
        np.matmul(error.T, nodes, out=votes)
        votes += 2 * PENALTY * self.votes
        bias[:] = error.sum(axis=0)
        # The power 8, and the factors of its derivative, by squaring.
        u = ALPHA * self.weights
        square = u * u
        fourth = square * square
        rest = 1 - fourth * fourth
        nothing = 1 / (1 + _FULL * (bits @ (fourth * fourth / rest).T))  # 1 for AND nodes, 0 for OR nodes
        inner = error @ self.votes
        inner[:, self.n_nodes :] *= -1
        inner *= nothing
        inner *= nothing
        inner *= -_FULL
        np.matmul(inner.T, bits, out=weights)
        weights *= (BETA * ALPHA) * (fourth * square * u) / (rest * rest)
        weights += 2 * PENALTY * self.weights

    def clip(self) -> None:
        """Bring the weights back to [0, 1], the votes to [-1, 1]."""
        np.clip(self.weights, 0, 1, out=self.weights)
        np.clip(self.votes, -1, 1, out=self.votes)


class RRL(ClassifierMixin, BaseEstimator):
    """The classifier.

    Parameters
    ----------
    n_cuts : int, default=5
        Random cuts of each feature.
    n_nodes : int, default=64
        Number of AND nodes, and of OR nodes.
    n_epochs : int, default=80
        Passes over the rows.
    learning_rate : float, default=0.002
        Size of a step of Adam.
    seed : int, default=0
        Seed of cuts, initial weights and the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_conditions_ : int
        Number of bits that the nodes ask, over all nodes.
    """

    def __init__(
        self,
        n_cuts: int = N_CUTS,
        n_nodes: int = N_NODES,
        n_epochs: int = N_EPOCHS,
        learning_rate: float = LEARNING_RATE,
        seed: int = 0,
    ) -> None:
        self.n_cuts = n_cuts
        self.n_nodes = n_nodes
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.seed = seed

    def fit(self, X: Floats, y: NDArray[np.int64]) -> RRL:
        """Draw the cuts and train the network."""
        X, y = check_X_y(X, y)
        self.classes_, label = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(self.seed)
        self.thresholds_ = Thresholds.at_random(X, self.n_cuts, rng)
        bits, members = self._bits(X), np.eye(len(self.classes_), dtype=np.float32)[label]
        self.network_ = LogicalNetwork(bits.shape[1], self.n_nodes, len(self.classes_), rng)
        optimiser = Adam(self.network_.vector, self.learning_rate)
        with one_thread():
            for _ in range(self.n_epochs):
                for rows in batches(len(bits), BATCH_ROWS, rng):
                    self.network_.differentiate(bits[rows], members[rows])
                    optimiser.step(self.network_.gradient)
                    self.network_.clip()
        return self

    def _bits(self, X: Floats) -> Floats32:
        above = self.thresholds_.above(X)
        return np.hstack([above, ~above]).astype(np.float32)

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probabilities of the discrete network; shape (n_rows, n_classes)."""
        nodes = self.network_.nodes(self._bits(check_array(X)))
        return softmax(self.network_.scores(nodes).astype(np.float64))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_conditions_(self) -> int:
        """Number of bits that the nodes ask."""
        return int(np.count_nonzero(self.network_.weights > 0.5))


def fit(X: Floats, y: NDArray[np.int64], seed: int) -> RRL:
    """Fit with the parameters of the paper."""
    return RRL(n_epochs=N_EPOCHS, seed=seed).fit(X, y)


def size(fitted: RRL) -> int:
    """Return the number of conditions."""
    return fitted.n_conditions_


METHODS = (
    Method(
        name="RRL",
        fit=fit,
        size=size,
        parameters={
            "n_cuts": N_CUTS,
            "n_nodes": N_NODES,
            "n_epochs": N_EPOCHS,
            "batch_rows": BATCH_ROWS,
            "learning_rate": LEARNING_RATE,
            "temperature": TEMPERATURE,
            "penalty": PENALTY,
        },
        code=("ferl_bench/methods/rrl.py", "ferl_bench/descent.py", "ferl_bench/discretise.py"),
        paper={"accuracy": 77.95, "aurc": 13.89, "size": 201},
    ),
)
