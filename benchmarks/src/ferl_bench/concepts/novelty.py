"""Novelty of concepts: FERL's against detectors without rules, all on the same concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.concepts.heads import TREE_SETTINGS, Budget, fit_wide
from ferl_bench.detectors import Score, isolation_forest, mahalanobis, nearest
from ferl_bench.methods.ferl import fit

Labels = NDArray[np.int64]

WIDE, FERL, RESIDUAL = "FERL-wide", "FERL-deep", "FERL-deep, residual"
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


def novelty_scores(X: Floats, y: Labels, rows: Floats, seed: int, budget: Budget) -> dict[str, Floats]:
    """Score rows by every detector, fitted on the concepts of known rows; higher is more novel."""
    wide = fit_wide(X, y, seed, budget.wide)
    tree = fit({**TREE_SETTINGS, "max_rules": budget.tree}, X, y, seed)
    result = {
        WIDE: wide.novelty(rows),
        FERL: tree.novelty(rows),
        RESIDUAL: tree.novelty(rows, measure="residual"),
    }
    for detector in (nearest, mahalanobis, isolation_forest):
        for name, score in detector(X, y, seed).items():
            result[name] = _in_blocks(score, rows)
    return result


def name_anomalies(kind: str, X: Floats, y: Labels, rows: Floats, names: Sequence[str], budget: Budget) -> Named:
    """Count which concept leads the attribution of each row."""
    parts = fit_wide(X, y, 0, budget.wide).novelty_attribution(rows)
    leading = Counter(parts.argmax(axis=1).tolist()).most_common(N_NAMED)
    return Named(kind, tuple(f"{names[concept]} ({n / len(rows):.0%})" for concept, n in leading))


def _in_blocks(score: Score, rows: Floats) -> Floats:
    return np.concatenate([score(rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)])
