"""Stochastic gradient descent for the small networks of the benchmark whose gradients are written by hand.

With a few thousand weights and batches of a few dozen rows the time of a step is the overhead of its calls, and NumPy's
is about half of that of an automatic differentiation package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats32 = NDArray[np.float32]
Rows = NDArray[np.intp]
_Float = TypeVar("_Float", np.float32, np.float64)


def views(vector: Floats32, shapes: Sequence[tuple[int, ...]]) -> list[Floats32]:
    """Return consecutive parts of a vector as arrays of the given shapes, which share its memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl_bench.descent import views
    >>> matrix, bias = views(np.arange(5, dtype=np.float32), [(2, 2), (1,)])
    >>> matrix.tolist(), bias.tolist()
    ([[0.0, 1.0], [2.0, 3.0]], [4.0])
    """
    ends = np.cumsum([prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes, strict=True)]


def zeros_for(shapes: Sequence[tuple[int, ...]]) -> Floats32:
    """Return a vector of zeros with room for arrays of these shapes."""
    return np.zeros(sum(prod(shape) for shape in shapes), dtype=np.float32)


class Adam:
    """Adam with its usual constants (0.9, 0.999, 1e-8), on one vector that holds all weights.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
        The weights; each step changes them in place.
    learning_rate : float
        Size of a step.
    """

    def __init__(self, weights: Floats32, learning_rate: float) -> None:
        self.weights = weights
        self.learning_rate = learning_rate
        self._mean = np.zeros_like(weights)
        self._square = np.zeros_like(weights)
        self._one = np.empty_like(weights)
        self._other = np.empty_like(weights)
        self._n_steps = 0

    def step(self, gradient: Floats32) -> None:
        """Move the weights against the gradient."""
        self._n_steps += 1
        one, other = self._one, self._other
        self._mean *= 0.9
        self._mean += np.multiply(gradient, 0.1, out=one)
        self._square *= 0.999
        np.multiply(gradient, gradient, out=one)
        self._square += np.multiply(one, 0.001, out=one)
        # The corrections of both means for their start at 0, in the two scalars.
        np.multiply(self._square, 1 / (1 - 0.999**self._n_steps), out=one)
        np.sqrt(one, out=one)
        one += 1e-8
        np.multiply(self._mean, self.learning_rate / (1 - 0.9**self._n_steps), out=other)
        self.weights -= np.divide(other, one, out=other)


def softmax(scores: NDArray[_Float]) -> NDArray[_Float]:
    """Return the softmax of each row."""
    exponentials: NDArray[_Float] = np.exp(scores - scores.max(axis=1, keepdims=True))
    exponentials /= exponentials.sum(axis=1, keepdims=True)
    return exponentials


def batches(n_rows: int, batch_rows: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Give the rows of one epoch in a random order, `batch_rows` at a time; the last batch can be smaller."""
    order = rng.permutation(n_rows)
    for start in range(0, n_rows, batch_rows):
        yield order[start : start + batch_rows]
