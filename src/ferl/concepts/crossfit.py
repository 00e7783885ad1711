"""Concepts of training rows as a detector sees rows that are new to it.

A detector that has seen a row in training names its concepts better than it ever will again. A head fitted on such
concepts trusts them too much. So every training row is judged by a detector that was fitted without its fold; the
detector for new rows is then fitted on all of them, or is the mean of those of the folds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from ferl.concepts.detectors import ConceptDetector
from ferl.wrapping import cross_fit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FoldDetectors:
    """The detectors of the folds, answering together."""

    detectors: tuple[ConceptDetector, ...]

    def predict_proba(self, X: Any) -> Floats:
        """Mean probability of each concept, shape (n_rows, n_concepts)."""
        return np.asarray(np.mean([detector.predict_proba(X) for detector in self.detectors], axis=0))


@dataclass(frozen=True, eq=False)
class SeenConcepts:
    """A detector for new rows, and what was seen of the training rows.

    Attributes
    ----------
    detector : ConceptDetector or FoldDetectors
        Fitted on all rows, or those of the folds together.
    probability : ndarray of shape (n_rows, n_concepts)
        Of the training rows, by detectors that have not seen them; not calibrated.
    """

    detector: ConceptDetector | FoldDetectors
    probability: Floats


def see_concepts(
    detector: ConceptDetector,
    X: Any,
    concepts: Floats,
    y: NDArray[Any],
    cv: Any,
    seed: int,
    *,
    refit: bool = True,
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
    refit : bool
        Whether new rows are judged by a detector fitted on all rows, or by those of the folds together.

    Returns
    -------
    SeenConcepts
    """
    if detector.is_given or cv is None:
        if not refit and not detector.is_given:
            raise ValueError(
                "refit=False lets the detectors of the folds answer, and cv=None has no folds. Give cv=5, say, or "
                "leave refit=True."
            )
        alone = clone(detector).fit(X, concepts)
        return SeenConcepts(alone, alone.predict_proba(X))
    probability, fitted = np.empty(concepts.shape), []
    for fold in cross_fit(detector, X, concepts, folds(y, cv, seed), stratified=False, seed=seed):
        probability[fold.unseen] = fold.estimator.predict_proba(fold.rows)
        fitted.append(fold.estimator)
    return SeenConcepts(clone(detector).fit(X, concepts) if refit else FoldDetectors(tuple(fitted)), probability)


def folds(y: NDArray[Any], cv: Any, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The folds as pairs of row numbers: those to fit on, those to judge."""
    if isinstance(cv, int | np.integer):
        n_most = int(np.unique(y, return_counts=True)[1].max())
        if n_most < cv:
            raise ValueError(f"cv={cv} folds, but no class has more than {n_most} rows. Use at most {n_most} folds.")
        splitter = StratifiedKFold(cv, shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv)
    with warnings.catch_warnings():
        # A class with fewer rows than folds: the folds are still well defined.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter.split(np.zeros((len(y), 1)), y))
