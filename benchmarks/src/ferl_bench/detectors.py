"""Detectors of novel rows: each is fitted on known rows and returns a score, higher for more novel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.method import get_method
from ferl_bench.methods.ferl import COMPACT_TREE, MODELS, fit

Labels = NDArray[np.int64]
Score = Callable[[Floats], Floats]
Fit = Callable[[Floats, Labels, int], dict[str, Score]]
"""``fit(X, y, seed)`` returns scores by name: one model may offer several."""


def ferl(name: str, X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Novelty by nearest exemplar, the paper's residual, and ignorance, of one model."""
    model = fit(dict(get_method(name).parameters), X, y, seed)
    return {
        name: lambda rows: model.novelty(rows, measure="neighbour"),
        f"{name}, residual": lambda rows: model.novelty(rows, measure="residual"),
        f"{name}, ignorance": lambda rows: model.predict_evidence(rows).ignorance,
    }


def ferl_with_all_rows(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Novelty of a deep tree whose nodes keep every row that reaches them."""
    model = fit({**MODELS["deep"], "n_exemplars": len(X)}, X, y, seed)
    return {"FERL-deep, all rows kept": model.novelty}


def ferl_wide_with_all_rows(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Novelty of wide rules that keep every row."""
    model = fit({**MODELS["wide"], "n_exemplars": len(X)}, X, y, seed)
    return {"FERL-wide, all rows kept": model.novelty}


def nearest(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Mean Euclidean distance to the nearest 1, 5 and 10 training rows."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors().fit(X)

    def mean_distance(n: int, rows: Floats) -> Floats:
        return np.asarray(index.kneighbors(rows, min(n, len(X)))[0].mean(axis=1))

    return {f"{n}-NN": partial(mean_distance, n) for n in (1, 5, 10)}


def mahalanobis(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Distance from the nearest class mean, under one covariance within classes (Lee et al., 2018)."""
    means = {label: X[y == label].mean(axis=0) for label in np.unique(y)}
    residual = X - np.array([means[label] for label in y])
    # The pseudo-inverse: one-hot columns make the covariance singular.
    precision = np.linalg.pinv(residual.T @ residual / len(X), hermitian=True)

    def distance(rows: Floats) -> Floats:
        away = rows[:, None, :] - np.array(list(means.values()))
        return np.asarray(np.einsum("ncj,jk,nck->nc", away, precision, away).min(axis=1))

    return {"Mahalanobis": distance}


def isolation_forest(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """scikit-learn's, with its defaults."""
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=seed, n_jobs=1).fit(X)
    return {"Isolation forest": lambda rows: np.asarray(-forest.score_samples(rows))}


def softmax_entropy(X: Floats, y: Labels, seed: int) -> dict[str, Score]:
    """Entropy of the probabilities of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model: Any = LogisticRegression(max_iter=2000).fit(X, y)

    def entropy(rows: Floats) -> Floats:
        p = model.predict_proba(rows)
        return np.asarray(-np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1))

    return {"Softmax entropy": entropy}


DETECTORS: tuple[Fit, ...] = (
    partial(ferl, "FERL-wide"),
    ferl_wide_with_all_rows,
    partial(ferl, "FERL-deep"),
    ferl_with_all_rows,
    partial(ferl, "FERL-medium"),
    partial(ferl, "FERL-compact"),
    partial(ferl, COMPACT_TREE),
    nearest,
    mahalanobis,
    isolation_forest,
    softmax_entropy,
)
