"""Concepts of training rows as a detector sees rows that are new to it.

A detector that has seen a row in training names its concepts better than it ever will again. A head fitted on such
concepts trusts them too much. So every training row is judged by a detector that was fitted without its fold; the
detector for new rows is then fitted on all of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from ferl.concepts.calibration import ConceptCalibrator
from ferl.concepts.detectors import ConceptDetector
from ferl.wrapping import cross_fit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenConcepts:
    """A detector for new rows, and what was seen of the training rows.

    Attributes
    ----------
    detector : ConceptDetector
        Fitted on all rows.
    probability : ndarray of shape (n_rows, n_concepts)
        Of the training rows, by detectors that have not seen them; not calibrated.
    splits : list of (ndarray, ndarray)
        Rows that each of those detectors was fitted on, and rows that it judged; empty without cross-fitting.
    """

    detector: ConceptDetector
    probability: Floats
    splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def see_concepts(
    detector: ConceptDetector, X: Any, concepts: Floats, y: NDArray[Any], cv: Any, seed: int
) -> SeenConcepts:
    """Fit a detector and judge the rows it is fitted on.

    Parameters
    ----------
    detector : ConceptDetector
        What to clone.
    X : array-like
        Rows.
    concepts : ndarray of shape (n_rows, n_concepts)
        Their concepts.
    y : ndarray of shape (n_rows,)
        Their classes; folds have equal shares of them.
    cv : int, cross-validation splitter, list of splits or None
        Folds. None: the rows are judged by the detector that has seen them.
    seed : int
        How rows are shuffled into folds.

    Returns
    -------
    SeenConcepts
    """
    splits = [] if detector.is_given and cv is None else folds(y, cv, seed)
    deployed = clone(detector).fit(X, concepts)
    if detector.is_given or not splits:
        return SeenConcepts(deployed, deployed.predict_proba(X), splits)
    probability = np.empty(concepts.shape)
    for fold in cross_fit(detector, X, concepts, splits, stratified=False, seed=seed):
        probability[fold.unseen] = fold.estimator.predict_proba(fold.rows)
    return SeenConcepts(deployed, probability, splits)


def folds(y: NDArray[Any], cv: Any, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The folds as pairs of row numbers; none where ``cv`` is None."""
    if cv is None:
        return []
    splitter = (
        StratifiedKFold(cv, shuffle=True, random_state=seed) if isinstance(cv, int | np.integer) else check_cv(cv)
    )
    n_most = int(np.unique(y, return_counts=True)[1].max())
    if isinstance(cv, int | np.integer) and n_most < cv:
        raise ValueError(f"cv={cv} folds, but no class has more than {n_most} rows. Use at most {n_most} folds.")
    with warnings.catch_warnings():
        # A class with fewer rows than folds: the folds are still well defined.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter.split(np.zeros((len(y), 1)), y))


def calibrate_seen(seen: SeenConcepts, concepts: Floats) -> tuple[ConceptCalibrator, Floats]:
    """The calibrator for new rows, and the calibrated concepts of the training rows.

    Each training row is calibrated by lines that were fitted without its fold: a line follows its own rows a little,
    and with a hundred concepts the head would notice.

    Parameters
    ----------
    seen : SeenConcepts
        The detector's probabilities.
    concepts : ndarray of shape (n_rows, n_concepts)
        What is true.

    Returns
    -------
    calibrator : ConceptCalibrator
        Fitted on all rows.
    calibrated : ndarray of shape (n_rows, n_concepts)
    """
    calibrator = ConceptCalibrator().fit(seen.probability, concepts)
    if not seen.splits:
        return calibrator, calibrator.transform(seen.probability)
    calibrated = np.empty(concepts.shape)
    for others, own in seen.splits:
        lines = ConceptCalibrator().fit(seen.probability[others], concepts[others])
        calibrated[own] = lines.transform(seen.probability[own])
    return calibrator, calibrated
