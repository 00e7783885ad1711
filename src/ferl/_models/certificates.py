"""How far a row may move before its label can change: radii that are proven."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._util.arrays import Floats

# Rounding of votes and of their sums is far below this.
_ROUNDING = 1e-12


def certified_radius(model: Model, rows: Floats, scale: ArrayLike | str | None = None, n_threads: int = 1) -> Floats:
    """Largest radius proven for each row: the local one, or the global one where that is larger.

    Parameters
    ----------
    model : Model
        One that combines by Dempster's rule or by vote.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    scale : array-like of shape (n_features,) or "spread", default=None
        Unit of each feature; 0 for one that does not move. None: all 1. "spread": the standard deviation of each over
        the training rows.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    refuse_uncertified(model)
    return proven_radius(model, rows, model.evidence(rows, n_threads), check_scale(model, scale), n_threads)


def proven_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """The larger of the two radii below, shape (n_samples,); parameters as there."""
    local = local_radius(model, rows, evidence, scale, n_threads)
    return np.asarray(np.fmax(local, global_radius(model, rows, evidence, scale, n_threads)))


def local_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """Radius by interval propagation: bounds on what every source can say in a box, and bisection on its size.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    evidence : Evidence
        The model's evidence on these rows.
    scale : ndarray of shape (n_columns,)
        Unit of each column.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples,)
        0 where the label has no margin, infinity where no movement changes it.
    """
    radius = np.empty(len(rows))
    label = evidence.probability.argmax(axis=1).astype(np.int32)
    model.prover.certified_radius(rows, label, scale, n_threads, radius)
    return radius


def global_radius(model: Model, rows: Floats, evidence: Evidence, scale: Floats, n_threads: int = 1) -> Floats:
    """Radius by the Lipschitz constant of the tree: ``margin / (2 L)``, as far as no gate begins to close.

    The paper's certificate (supplement, Prop. 3). It is about the vote of the leaves of a tree of learned splits; for
    anything else it is NaN. The paper caps it where a gate on the paths of the row would close; here gates on paths
    that the row could reach within the radius count too, because they also change the vote.

    Parameters
    ----------
    model, rows, evidence, scale, n_threads
        As in :func:`local_radius`.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    radius = lipschitz_radius(model, evidence, scale)
    if model.reading.support_gate and not np.isnan(radius).any():
        opened = np.empty(len(rows))
        model.core.open_radius(rows, scale, n_threads, opened)
        radius = np.minimum(radius, opened)
    return radius


def lipschitz_radius(model: Model, evidence: Evidence, scale: Floats) -> Floats:
    """``margin / (2 L)`` of each row, proven only as far as the gates stay open; NaN where it does not apply."""
    slope = model.vote_slope(scale)
    if model.tree.n_nodes == 1 or model.tree.n_classes == 1:
        return np.full(len(evidence), np.inf)
    if slope is None:
        return np.full(len(evidence), np.nan)
    ordered = np.sort(evidence.belief, axis=1)
    margin = np.maximum(ordered[:, -1] - ordered[:, -2] - _ROUNDING, 0.0)
    steepness = 4 * slope * (1 + _ROUNDING)
    return np.asarray(margin / steepness if steepness > 0 else np.where(margin > 0, np.inf, 0.0))


def refuse_uncertified(model: Model) -> None:
    """Raise an error where labels of the model cannot be proven to stay."""
    if model.unproven:
        raise ValueError(model.unproven)


def check_scale(model: Model, scale: ArrayLike | str | None) -> Floats:
    """Units of the columns, all 1 when None is given; 0 for categories, dates and derived columns, which stay."""
    n_features = model.n_features
    if isinstance(scale, str):
        if scale != "spread":
            raise ValueError(f'scale is {scale!r}; it must be "spread", one number per feature, or None.')
        scale = total_spread(model.tree)[:n_features]
    unit = np.ones(n_features) if scale is None else np.array(scale, dtype=np.float64)
    if unit.shape != (n_features,):
        raise ValueError(f"scale has shape {unit.shape}; it needs one number per feature, shape ({n_features},).")
    bad = ~np.isfinite(unit) | (unit < 0)
    if bad.any():
        f = int(np.argmax(bad))
        raise ValueError(f"scale[{f}] is {unit[f]}; units must be finite and not negative. Use 0 for a fixed feature.")
    unit[[*(j for j in model.category_names if j < n_features), *model.replaced]] = 0.0
    return np.concatenate([unit, np.zeros(len(model.derived))])
