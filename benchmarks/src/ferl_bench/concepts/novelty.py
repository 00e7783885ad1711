"""Novelty of concepts: FERL's against detectors without rules, all on the same concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl.concepts.estimator import HEAD_SETTINGS
from ferl_bench.detectors import Score, isolation_forest, mahalanobis, nearest
from ferl_bench.methods.ferl import fit

Labels = NDArray[np.int64]

FERL, RESIDUAL = "FERL-deep", "FERL-deep, residual"
N_NAMED = 3
_BLOCK = 256  # rows whose distances to all class means are in memory at once


@dataclass(frozen=True)
class Named:
    """The concepts that make a kind of images novel.

    Attributes
    ----------
    kind : str
        What the images show.
    concepts : tuple of str
        The concepts that lead the attribution most often, with the share of images.
    """

    kind: str
    concepts: tuple[str, ...]


def novelty_scores(X: Floats, y: Labels, rows: Floats, seed: int, most_rules: int) -> dict[str, Floats]:
    """Score rows by every detector, fitted on the concepts of known rows; higher is more novel."""
    model = _fit(X, y, seed, most_rules)
    found = {FERL: model.novelty(rows), RESIDUAL: model.novelty(rows, measure="residual")}
    for detector in (nearest, mahalanobis, isolation_forest):
        for name, score in detector(X, y, seed).items():
            found[name] = _in_blocks(score, rows)
    return found


def name_anomalies(kind: str, X: Floats, y: Labels, rows: Floats, names: Sequence[str], most_rules: int) -> Named:
    """Count which concept leads the attribution of each row."""
    parts = _fit(X, y, 0, most_rules).novelty_attribution(rows)
    leading = Counter(parts.argmax(axis=1).tolist()).most_common(N_NAMED)
    return Named(kind, tuple(f"{names[concept]} ({n / len(rows):.0%})" for concept, n in leading))


def _fit(X: Floats, y: Labels, seed: int, most_rules: int) -> Any:
    return fit({**HEAD_SETTINGS, "max_rules": most_rules}, X, y, seed)


def _in_blocks(score: Score, rows: Floats) -> Floats:
    return np.concatenate([score(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)])
