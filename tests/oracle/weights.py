"""Weights of evidence: from scores to masses, in closed form and by brute force.

A weight of evidence ``w > 0`` for a class is the simple mass function that gives ``1 - exp(-w)`` to the class and the
rest to the whole frame; a weight against it gives the same mass to its complement. Dempster's rule combines them
(Denoeux, 2019). Weights for one class add up, so that only the net weight of each class counts.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Masses(NamedTuple):
    """Belief, plausibility and pignistic probability of each class, and the mass of the whole frame."""

    belief: Floats
    plausibility: Floats
    pignistic: Floats
    ignorance: float


def net_weights(scores: Floats) -> Floats:
    """Scores less their mean: what speaks for a class where it is positive, against it where it is negative."""
    return scores - scores.mean()


def closed_form(scores: Floats) -> tuple[Floats, Floats, float]:
    """Belief, plausibility and ignorance of one row from its scores; for scores that do not overflow."""
    w = net_weights(scores)
    e = np.exp(-np.maximum(-w, 0.0))
    others = np.array([np.prod(np.delete(1 - e, c)) for c in range(len(w))])
    eta = 1 / (np.sum(e * np.expm1(np.maximum(w, 0.0))) + 1 - np.prod(1 - e))
    belief = eta * e * (np.expm1(np.maximum(w, 0.0)) + others)
    return belief, eta * np.exp(w), float(eta * np.exp(-np.maximum(-w, 0.0).sum()))


def brute_force(scores: Floats) -> Masses:
    """Masses by combining one simple mass function for each class over all subsets of the frame."""
    w, n = net_weights(scores), len(scores)
    frame = frozenset(range(n))
    combined = {frame: 1.0}
    for c, weight in enumerate(w):
        focal = frozenset([c]) if weight > 0 else frame - {c}
        mass = -np.expm1(-abs(weight))
        found: dict[frozenset[int], float] = {}
        for (left, a), (right, b) in product(combined.items(), ((focal, mass), (frame, 1 - mass))):
            found[left & right] = found.get(left & right, 0.0) + a * b
        combined = found
    total = 1 - combined.pop(frozenset(), 0.0)
    masses = {subset: mass / total for subset, mass in combined.items()}
    belief = np.array([masses.get(frozenset([c]), 0.0) for c in range(n)])
    plausibility = np.array([sum(m for s, m in masses.items() if c in s) for c in range(n)])
    pignistic = np.array([sum(m / len(s) for s, m in masses.items() if c in s) for c in range(n)])
    return Masses(belief, plausibility, pignistic, masses.get(frame, 0.0))


def softmax(scores: Floats) -> Floats:
    """Probabilities of scores, shape (n_rows, n_classes)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
