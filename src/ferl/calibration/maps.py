"""Maps from evidence to evidence that move the committed part and leave the ignorance alone.

A row's evidence is ignorance ``I`` and a committed part ``1 - I``, which the beliefs divide in the shares
``q(c) = belief(c) / (1 - I)``. A map changes the shares. So whatever it does, belief <= pignistic <= plausibility still
holds, ignorance and conflict are what they were, and a row that nothing is known about stays one. (Changing the
pignistic probability itself would not do: sharpened below ``I / C`` it leaves no room for the ignorance.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from ferl.evidence import Evidence

Floats = NDArray[np.float64]

METHODS = ("temperature", "isotonic")
# Logarithms of smaller shares would say nothing more.
_LEAST_SHARE = 1e-12
_TEMPERATURES = (0.05, 20.0)
# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3


@dataclass(frozen=True)
class TemperatureMap:
    """Shares to the power ``1 / temperature``: above 1 the classes come closer, below 1 they part; labels stay."""

    temperature: float

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        logarithm = np.log(np.maximum(_shares(evidence), _LEAST_SHARE)) / self.temperature
        power = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return _with_shares(evidence, power / power.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Shares through one rising line for all classes, then divided by their sum; labels stay.

    Attributes
    ----------
    share, value : ndarray of shape (n_knots,)
        The line.
    """

    share: Floats
    value: Floats

    def __call__(self, evidence: Evidence) -> Evidence:
        """Apply the map."""
        shares = _shares(evidence)
        moved = (1 - _SLOPE) * np.interp(shares, self.share, self.value) + _SLOPE * shares
        return _with_shares(evidence, moved / moved.sum(axis=1, keepdims=True))


def fit_map(
    evidence: Evidence, codes: NDArray[np.intp], method: str, weight: Floats | None = None
) -> TemperatureMap | IsotonicMap:
    """Choose the map that suits these rows best.

    Parameters
    ----------
    evidence : Evidence
        Evidence of a classifier that was not fitted on the rows.
    codes : ndarray of int of shape (n_rows,)
        The rows' labels as columns; rows with -1, a label the classifier does not know, are left out.
    method : {"temperature", "isotonic"}
        Temperature: smallest log-loss of the pignistic probability. Isotonic: the rising line with the smallest Brier
        score, before the shares are divided by their sum.
    weight : ndarray of shape (n_rows,), optional
        What each row counts for.

    Returns
    -------
    TemperatureMap or IsotonicMap

    Examples
    --------
    An over-confident classifier: belief 0.9, and right in half of the cases.

    >>> import numpy as np
    >>> from ferl import Evidence
    >>> from ferl.calibration import fit_map
    >>> rows = Evidence(np.array([[0.9, 0.0]] * 4), np.full(4, 0.1), np.zeros(4), np.array(["a", "b"]))
    >>> fit_map(rows, np.array([0, 1, 0, 1]), "isotonic")(rows)[0].pignistic.round(2)
    array([[0.5, 0.5]])
    """
    weights = np.ones(len(codes)) if weight is None else weight
    known = (codes >= 0) & (weights > 0)
    if not known.any():
        raise ValueError(
            f"None of the {len(codes)} calibration rows has a label that the classifier was fitted on. Pass rows of "
            "its classes."
        )
    rows, labels, weights = evidence[known], codes[known], weights[known]
    if method == "temperature":
        return _fit_temperature(rows, labels, weights)
    return _fit_isotonic(rows, labels, weights)


def _fit_temperature(evidence: Evidence, codes: NDArray[np.intp], weight: Floats) -> TemperatureMap:
    own = (np.arange(len(codes)), codes)

    def log_loss(log_temperature: float) -> float:
        probability = TemperatureMap(float(np.exp(log_temperature)))(evidence).pignistic[own]
        return float(-np.average(np.log(np.maximum(probability, _LEAST_SHARE)), weights=weight))

    found = minimize_scalar(log_loss, bounds=np.log(_TEMPERATURES), method="bounded", options={"xatol": 1e-4})
    return TemperatureMap(float(np.exp(found.x)))


def _fit_isotonic(evidence: Evidence, codes: NDArray[np.intp], weight: Floats) -> IsotonicMap:
    n_classes = evidence.belief.shape[1]
    truth = np.arange(n_classes) == codes[:, None]
    committed = 1 - evidence.ignorance[:, None]
    if not (committed > _LEAST_SHARE).any():
        return IsotonicMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]))  # nothing is committed, nothing can be moved
    # With p = I/C + (1 - I) g the squared error of p is (1 - I)^2 times that of g against (truth - I/C) / (1 - I).
    target = (truth - (1 - committed) / n_classes) / np.maximum(committed, _LEAST_SHARE)
    importance = np.broadcast_to(weight[:, None] * committed**2, target.shape)
    used = importance.ravel() > _LEAST_SHARE
    line = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    line.fit(_shares(evidence).ravel()[used], target.ravel()[used], importance.ravel()[used])
    return IsotonicMap(np.asarray(line.X_thresholds_), np.asarray(line.y_thresholds_))


def _shares(evidence: Evidence) -> Floats:
    """How the beliefs divide the committed part; equally where there is none."""
    committed = evidence.belief.sum(axis=1, keepdims=True)
    equal = np.full(evidence.belief.shape, 1 / evidence.belief.shape[1])
    return np.asarray(np.divide(evidence.belief, committed, out=equal, where=committed > 0))


def _with_shares(evidence: Evidence, shares: Floats) -> Evidence:
    belief = shares * evidence.belief.sum(axis=1, keepdims=True)
    return Evidence(belief, evidence.ignorance, evidence.conflict, evidence.classes)
