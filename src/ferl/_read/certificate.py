"""How far a row may move before its label can change: radii that are proven, and the features that limit them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._read.verdicts import margin_verdict
from ferl._util.arrays import Floats
from ferl._util.text import number_text, spoken

_CERTIFIED = ("dempster", "vote")  # combinations of the sources of a tree

OWN_UNIT, SCALE_UNIT, SPREADS = "in its own unit", "in units of scale", "spreads"

# Rounding of votes and of their sums is far below this.
_ROUNDING = 1e-12
# A feature limits a radius if holding it still raises the radius by more than this share; bisection ends well below.
_NOTICEABLE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """How far one row may move, and which features set the limit.

    All radii are in the units of ``scale``: a radius r allows every feature f to change by ``r * scale[f]`` at once.

    Attributes
    ----------
    label : object
        The predicted label.
    runner_up : object
        The second most probable label; None if there is one class only.
    radius : float
        The label is the same at every row within this max-norm distance.
    global_radius : float
        What the Lipschitz constant of the whole tree proves, the paper's certificate; NaN where it does not apply.
    alone : ndarray of shape (n_features,)
        How far each feature may move while all others stay.
    held : ndarray of shape (n_features,)
        The radius if this feature stays while all others move.
    names : tuple of str
        Names of the features.
    unit : str
        What the radii count: "spreads", or, "in its own unit", the unit of each feature, or "in units of scale".
    spreads : float
        The radius in spreads, standard deviations of each feature over the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> print(clf.certificate(X.iloc[[70]]))
    The label stays 2 as long as no number moves by more than 0.02887 in its own unit; the next label is 1.
      petal width (cm)   may move 0.04977 alone; if it stays, the others may move 0.06876
      petal length (cm)  may move 0.1229 alone; if it stays, the others may move 0.03773
      sepal width (cm)   may move 0.2103 alone; if it stays, the others may move 0.03346
      sepal length (cm)  may move 0.6051 alone; if it stays, the others may move 0.03032
    Verdict: little margin. The label stays 2 while no number moves by more than 0.03 spreads.
    >>> round(clf.certificate(X.iloc[[70]], scale="spread").radius, 2)
    0.03
    """

    label: Any
    runner_up: Any
    radius: float
    global_radius: float
    alone: Floats
    held: Floats
    names: tuple[str, ...]
    unit: str = OWN_UNIT
    spreads: float = math.nan

    @property
    def verdict(self) -> str:
        """How safe the label is, in a sentence."""
        return margin_verdict(spoken(self.label), self.radius if math.isnan(self.spreads) else self.spreads)

    @property
    def limits(self) -> tuple[str, ...]:
        """Features whose bands limit the radius, the strongest first: without their movement it would be larger."""
        if math.isinf(self.radius):
            return ()
        order = np.argsort(-self.held, kind="stable")
        return tuple(self.names[f] for f in order if self.held[f] > self.radius * (1 + _NOTICEABLE))

    def __str__(self) -> str:
        label = spoken(self.label)
        if math.isinf(self.radius):
            return f"The label stays {label}, whatever the numbers.\n{self.verdict}"
        if self.radius == 0:
            return f"The label is {label} without a margin: nothing is certified.\n{self.verdict}"
        lines = [
            f"The label stays {label} as long as no number moves by more than {_distance(self.radius)} {self.unit}"
        ]
        lines[0] += f"; the next label is {spoken(self.runner_up)}." if self.runner_up is not None else "."
        if not math.isnan(self.global_radius):
            lines.append(f"By the Lipschitz constant alone it stays for {_distance(self.global_radius)}.")
        width = max((len(spoken(name)) for name in self.limits), default=0)
        for name in self.limits:
            f = self.names.index(name)
            alone, others = _distance(self.alone[f]), _distance(self.held[f])
            lines.append(f"  {spoken(name):{width}}  may move {alone} alone; if it stays, the others may move {others}")
        return "\n".join([*lines, self.verdict])


def _distance(radius: float) -> str:
    return "any distance" if math.isinf(radius) else number_text(radius)


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


def certify(model: Model, row: Floats, scale: ArrayLike | str | None = None) -> Certificate:
    """The certificate of one row.

    Parameters
    ----------
    model : Model
        One that combines by Dempster's rule or by vote.
    row : ndarray of shape (1, n_columns)
        The row as the model reads it.
    scale : array-like of shape (n_features,) or "spread", default=None
        Unit of each feature.

    Returns
    -------
    Certificate
    """
    refuse_uncertified(model)
    unit = check_scale(model, scale)
    evidence = model.evidence(row)

    def radius(moving: Floats) -> float:
        return float(local_radius(model, row, evidence, moving)[0])

    local = radius(unit)
    alone, held = np.full(len(unit), np.inf), np.full(len(unit), local)
    for f in model.tree.tested_columns:
        if not unit[f] > 0:
            continue
        only = np.zeros(len(unit))
        only[f] = unit[f]
        alone[f], held[f] = radius(only), radius(unit - only)
    order = np.argsort(-evidence.probability[0], kind="stable")
    n_features = model.n_features  # behind them, whether values are missing, which does not move
    proven = float(global_radius(model, row, evidence, unit)[0])
    in_spreads = check_scale(model, "spread")
    return Certificate(
        label=model.labels[order[0]],
        runner_up=model.labels[order[1]] if len(order) > 1 else None,
        radius=float(np.fmax(local, proven)),
        global_radius=proven,
        alone=alone[:n_features],
        held=held[:n_features],
        names=tuple(model.feature_names()),
        unit=OWN_UNIT if scale is None else SPREADS if isinstance(scale, str) else SCALE_UNIT,
        spreads=float(proven_radius(model, row, evidence, in_spreads)[0]),
    )


def refuse_uncertified(model: Model) -> None:
    """Raise an error where labels of the model cannot be proven to stay."""
    if model.unproven:
        raise ValueError(model.unproven)


def check_scale(model: Model, scale: ArrayLike | str | None) -> Floats:
    """Units of the columns that the tree reads, all 1 when None is given; 0 for categories, which do not move."""
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
    unit[[j for j in model.category_names if j < n_features]] = 0.0
    return np.concatenate([unit, np.zeros(len(model.missing_features))])
