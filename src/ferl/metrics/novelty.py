"""Novelty: how well a score tells rows of unknown kinds from known ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl.metrics.sets import check_same_length, vector

Counts = NDArray[np.int64]


def novelty_auroc(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Probability that a novel row has a larger score than a known one; equal scores count one half.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; 0.5 is chance.

    Examples
    --------
    >>> from ferl.metrics import novelty_auroc
    >>> novelty_auroc([False, False, True, True], [0.1, 0.4, 0.4, 0.9])
    0.875
    """
    known, novel = _groups(is_novel, novelty)
    below = known.sum() - np.cumsum(known)
    return float(np.sum(novel * (2 * below + known)) / (2 * known.sum() * novel.sum()))


def novelty_aupr(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Average precision with the novel rows as positives ("AUPR-Out").

    The mean over the novel rows of the share of novel rows among all rows with at least their score.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; the share of novel rows is chance.

    Notes
    -----
    Rows of equal score enter in random order and the expectation over that order is returned. scikit-learn's
    ``average_precision_score`` lets them enter together; without ties the two agree.

    Examples
    --------
    >>> from ferl.metrics import novelty_aupr
    >>> round(novelty_aupr([False, True, False, True], [0.1, 0.3, 0.6, 0.9]), 4)
    0.8333
    """
    known, novel = _groups(is_novel, novelty)
    sizes = known + novel
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    novel_before = np.repeat(np.cumsum(novel) - novel, sizes)
    position = np.arange(1, sizes.sum() + 1) - before
    n, m = np.repeat(sizes, sizes), np.repeat(novel, sizes)
    # Given that a position in the group is a novel row's, the others are spread evenly over the remaining positions.
    expected = novel_before + 1 + (position - 1) * (m - 1) / np.maximum(n - 1, 1)
    return float(np.sum(m / n * expected / (before + position)) / novel.sum())


def rejection_at_acceptance(is_novel: ArrayLike, novelty: ArrayLike, acceptance: float = 0.95) -> float:
    """Share of novel rows above the threshold that accepts this share of the known rows.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.
    acceptance : float, default=0.95
        Share of known rows that must be accepted, between 0 and 1.

    Returns
    -------
    float
        A value in [0, 1].

    Notes
    -----
    The threshold is the lowest that accepts at least this share. Rows of equal score at the threshold are rejected at
    random, just so many that the share is met; this is the expectation.

    Examples
    --------
    >>> from ferl.metrics import rejection_at_acceptance
    >>> rejection_at_acceptance([False, False, True, True], [0.1, 0.4, 0.3, 0.9], acceptance=0.5)
    1.0
    >>> rejection_at_acceptance([False, False, True, True], [0.1, 0.4, 0.3, 0.9])
    0.5
    """
    if not 0 < acceptance <= 1:
        raise ValueError(f"acceptance must be above 0 and at most 1; got {acceptance!r}.")
    known, novel = _groups(is_novel, novelty)
    # Rounded: 5 % of 100 rows must not become 5.000000000000004, nor 4.999999999999996.
    allowed = round((1 - acceptance) * int(known.sum()), 9)
    rejected = np.cumsum(known)
    n_whole = int(np.searchsorted(rejected, allowed, side="right"))
    found = float(novel[:n_whole].sum())
    if n_whole < len(known):
        left = allowed - (int(rejected[n_whole - 1]) if n_whole else 0)
        found += float(novel[n_whole] * left / known[n_whole])
    return float(found / novel.sum())


def fpr95(is_novel: ArrayLike, novelty: ArrayLike) -> float:
    """Share of novel rows that are taken for known, at the threshold that accepts 95 % of the known rows.

    One minus `rejection_at_acceptance`; the name is that of the literature on out-of-distribution detection, where the
    known rows are the positives.

    Parameters
    ----------
    is_novel : array-like of bool of shape (n_samples,)
        Which rows are novel; at least one is and one is not.
    novelty : array-like of shape (n_samples,)
        One number per row, larger means more novel; only its order matters.

    Returns
    -------
    float
        A value in [0, 1]; low is good.

    Examples
    --------
    >>> from ferl.metrics import fpr95
    >>> fpr95([False, False, True, True], [0.1, 0.4, 0.3, 0.9])
    0.5
    """
    return 1 - rejection_at_acceptance(is_novel, novelty, 0.95)


def _groups(is_novel: ArrayLike, novelty: ArrayLike) -> tuple[Counts, Counts]:
    """Return the numbers of known and of novel rows at each distinct score, the largest first."""
    mask, score = vector(is_novel, "is_novel"), vector(novelty, "novelty").astype(np.float64)
    check_same_length(mask, "is_novel", score, "novelty")
    if not np.all((mask == 0) | (mask == 1)):
        raise ValueError(f"is_novel must be boolean; got {mask.dtype} with values other than 0 and 1.")
    if np.isnan(score).any():
        raise ValueError(f"novelty holds NaN in {int(np.isnan(score).sum())} of {score.size} rows.")
    mask = mask.astype(bool)
    if mask.all() or not mask.any():
        raise ValueError(f"{int(mask.sum())} of {mask.size} rows are novel; both novel and known rows are needed.")
    _, group = np.unique(-score, return_inverse=True)
    n_groups = int(group.max()) + 1
    return np.bincount(group[~mask], minlength=n_groups), np.bincount(group[mask], minlength=n_groups)
