"""Novelty: how unlike the training rows a row is, and which features make it so.

Two measures, both sums of one part for each feature:

- "neighbour": the distance to the nearest exemplar (a training row that was kept) of the rules a row reaches; of wide
  rules the distance to the nearest exemplar, in usual distances, plus half the entropy of the probabilities;
- "residual": the paper's, from means and variances alone: how far the row lies from the middle of its rules, in the
  features they do not test, plus nine times the support deficit.

``docs/guide/novelty.md`` compares them with each other and with detectors that have no rules.
"""

from __future__ import annotations

import numpy as np

from ferl._model.model import Model
from ferl._model.neighbours import ENTROPY_SHARE
from ferl._model.novelty_scale import share_below
from ferl._model.tree import LEAST_SHARE, FuzzyTree
from ferl._read.evidence import contributions, share_among_columns, supports
from ferl._tables import add_up_indicators
from ferl._util.arrays import Bools, Floats

MEASURES = ("neighbour", "residual")
LOST_MASS = 9.0  # what mass lost at closed gates counts: as if the row were three standard deviations away there


def novelty(model: Model, rows: Floats, measure: str | None = None, n_threads: int = 1) -> Floats:
    """Novelty of each row, shape (n_samples,); see :meth:`ferl.FERLClassifier.novelty`."""
    if chosen_measure(model, measure) == "residual":
        return np.asarray(_residual(model, rows, n_threads).sum(axis=1))
    if model.weights is not None:
        return _usual_distances(model, rows, 1, n_threads)[:, 0] + ENTROPY_SHARE * entropy(model, rows, n_threads)
    return _neighbour(model.tree, rows, 1, n_threads)[:, 0]


def novelty_attribution(model: Model, rows: Floats, measure: str | None = None, n_threads: int = 1) -> Floats:
    """Novelty by feature, shape (n_samples, n_features); see :meth:`ferl.FERLClassifier.novelty_attribution`."""
    if chosen_measure(model, measure) == "residual":
        parts = _residual(model, rows, n_threads)
    elif model.weights is not None:
        parts = _wide_parts(model, rows, n_threads)
    else:
        parts = neighbour_parts(model.tree, rows, n_threads)
    return add_up_indicators(parts, model.missing_features)


def entropy(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """Entropy of the probabilities that wide rules give, in nats, shape (n_samples,)."""
    out = np.empty(len(rows))
    model.scores.entropy(rows, n_threads, out)
    return out


def novelty_rank(model: Model, values: Floats) -> Floats:
    """Share of the training rows that are less novel, shape (n_samples,).

    Parameters
    ----------
    model : Model
        The model.
    values : ndarray of shape (n_samples,)
        Novelty of rows, by the default measure.

    Returns
    -------
    ndarray of shape (n_samples,)
        In whole percents, from 0 to 1; NaN where the model does not know how novel its training rows are.
    """
    scale = model.novelty_quantiles
    return np.full(len(values), np.nan) if scale is None else share_below(scale, values)


def _usual_distances(model: Model, rows: Floats, n_out: int, n_threads: int) -> Floats:
    """Distance to the nearest exemplar of a wide model, or what each column adds to it, in usual distances."""
    out = np.zeros((len(rows), n_out))
    model.neighbours.search.distance(rows, n_threads, out)
    with np.errstate(over="ignore"):  # a row that is so far away is infinitely novel
        return np.asarray(out / model.neighbours.usual)


def _wide_parts(model: Model, rows: Floats, n_threads: int) -> Floats:
    """Novelty of wide rules by column.

    The entropy is shared among columns. The share of the weights of evidence that gates withhold goes to the columns of
    these gates, the rest to columns in proportion to what they say of the row, for or against any class.
    """
    lost = lost_support(model, rows, n_threads)
    said = np.abs(share_among_columns(model, contributions(model, rows, n_threads))[:, :-1]).sum(axis=2)
    total = said.sum(axis=1, keepdims=True)
    share = np.divide(said, total, out=np.full_like(said, 1 / said.shape[1]), where=total > 0)  # nothing said: equally
    share = lost + (1 - lost.sum(axis=1, keepdims=True)) * share
    of_entropy = ENTROPY_SHARE * entropy(model, rows, n_threads)[:, None] * share
    return np.asarray(_usual_distances(model, rows, rows.shape[1], n_threads) + of_entropy)


def lost_support(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """Routing mass lost at closed gates by column; zero where the model has no gates."""
    lost = np.zeros(rows.shape)
    if model.weights is not None:
        lost[:, model.gated_columns] = _withheld(supports(model, rows))
    elif model.reading.support_gate:
        model.core.support_deficit(rows, n_threads, lost)
    return lost


def _withheld(openness: Floats) -> Floats:
    """One minus the product of some gates, shared among them by their logarithms, or among those that are closed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = -np.log(openness)
        closed = np.isinf(cost)
        cost = np.where(closed.any(axis=1, keepdims=True), closed, cost)
        share = np.where(cost > 0, cost / cost.sum(axis=1, keepdims=True), 0.0)
    return np.asarray(share * (1 - openness.prod(axis=1, keepdims=True)))


def neighbour_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """Distance to the nearest exemplar of the rules a row reaches, by feature.

    The distance is the mean over features of ``|x - exemplar| / unit``, where a feature's unit is its standard
    deviation inside rules.

    Parameters
    ----------
    tree : FuzzyTree
        With exemplars.
    X : ndarray of shape (n_samples, n_features)
        Rows.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    return _neighbour(tree, X, X.shape[1], n_threads)


def residual_parts(tree: FuzzyTree, X: Floats, n_threads: int = 1) -> Floats:
    """The paper's residual by feature.

    Over the leaves a row reaches, weighted by firing without gates: the mean over the leaf's free features (those not
    tested on its path) of ``(x - mean)^2 / variance``. For a leaf that tests all features they all count as free. A row
    that fits no leaf, which happens with words alone, is compared with the training rows as a whole.

    Parameters
    ----------
    tree : FuzzyTree
        With a profile.
    X : ndarray of shape (n_samples, n_features)
        Rows.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    out = np.zeros(X.shape)
    tree.core.residual(tree.profile.mean, precision(tree), X, n_threads, out)
    return out


def precision(tree: FuzzyTree) -> Floats:
    """What a squared distance from the mean of a node counts in the residual, shape (n_nodes, n_features)."""
    profile, free = tree.profile, _free_features(tree)
    variance = np.maximum(profile.variance, LEAST_SHARE * profile.total_variance)
    return np.asarray(free / variance / np.maximum(free.sum(axis=1, keepdims=True), 1))


def usual_residual(tree: FuzzyTree) -> float:
    """Mean of the paper's residual over new rows like those of training, from means and variances alone.

    The mean of n rows is the nearest to these, not to others: the squared distance of another one is larger by
    ``(n + 1) / (n - 1)`` on average.
    """
    profile, leaves = tree.profile, tree.leaves
    known = profile.weight_behind(tree.weight)
    parts = known * precision(tree) * profile.variance * (known + 1) / np.maximum(known - 1, 1.0)
    return float(parts[leaves].sum() / tree.weight[leaves].sum())


def total_spread(tree: FuzzyTree) -> Floats:
    """Standard deviation of each feature over all training rows, shape (n_features,); never 0."""
    return np.sqrt(tree.profile.total_variance)


def _neighbour(tree: FuzzyTree, X: Floats, n_out: int, n_threads: int) -> Floats:
    out = np.zeros((len(X), n_out))
    tree.exemplars.distance(X, n_threads, out)
    return out


def _residual(model: Model, rows: Floats, n_threads: int) -> Floats:
    return residual_parts(model.tree, rows, n_threads) + LOST_MASS * lost_support(model, rows, n_threads)


def chosen_measure(model: Model, measure: str | None) -> str:
    """The measure asked for, or the one that this model has."""
    has_exemplars = model.tree.profile.has_exemplars
    if measure is None:
        measure = "neighbour" if has_exemplars else "residual"
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it must be {' or '.join(map(repr, MEASURES))}, or None.")
    if measure == "neighbour" and not has_exemplars:
        raise ValueError(
            'measure="neighbour" compares with training rows, and this tree keeps none. Fit with n_exemplars > 0, or '
            'use measure="residual".'
        )
    return measure


def _free_features(tree: FuzzyTree) -> Bools:
    n_features = tree.profile.mean.shape[1]
    # Categories have no mean to be away from; where there is nothing else, no feature counts.
    numbers = tree.n_categories(n_features) == 0
    free = np.tile(numbers, (tree.n_nodes, 1))
    for leaf in tree.leaves:
        free[leaf, [tree.feature[node] for node in tree.path(int(leaf))]] = False
    free[~free.any(axis=1)] = numbers
    return free
