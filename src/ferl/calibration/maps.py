"""Maps from evidence to evidence that bring probabilities nearer to frequencies and leave the ignorance alone.

A row's evidence is ignorance ``I`` and a committed part ``1 - I``, which the beliefs divide in the shares
``q(c) = belief(c) / (1 - I)``. A map does two things. It moves the shares, by a temperature or along a rising line; and
it lets the ignorance bet: instead of equally among the C classes, a part of it, ``sharing``, is shared out as the moved
shares are. So the probability becomes

    p(c) = (1 - I) q(c) + I ((1 - sharing) / C + sharing q(c)).

Whatever a map does, ignorance and conflict are what they were, belief <= p <= plausibility holds, the label is the
same, and a row that nothing is known about keeps equal probabilities. In subjective logic the last factor is the base
rate. (Changing the probability itself, as temperature scaling does elsewhere, would not do: sharpened below ``I / C``
it leaves no room for the ignorance.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from ferl.calibration.evidence import BettingEvidence
from ferl.evidence import Evidence

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

METHODS = ("temperature", "isotonic")
# Logarithms of smaller shares would say nothing more.
_LEAST_SHARE = 1e-12
_TEMPERATURES = (0.05, 20.0)
# Steps of an isotonic map are flat; a slight slope keeps the order of classes and rows, and with it the label.
_SLOPE = 1e-3
# What an isotonic map tries for its sharing.
_SHARINGS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class TemperatureMap:
    """Shares to the power ``1 / temperature``: above 1 the classes come closer, below 1 they part."""

    temperature: float
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> BettingEvidence:
        """Apply the map."""
        logarithm = np.log(np.maximum(_shares(evidence), _LEAST_SHARE)) / self.temperature
        power = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return _with_shares(evidence, power / power.sum(axis=1, keepdims=True), self.sharing)


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Shares through one rising line for all classes, then divided by their sum.

    Attributes
    ----------
    share, value : ndarray of shape (n_knots,)
        The line.
    sharing : float
        Part of the ignorance that is shared out as the moved shares are.
    """

    share: Floats
    value: Floats
    sharing: float = 0.0

    def __call__(self, evidence: Evidence) -> BettingEvidence:
        """Apply the map."""
        shares = _shares(evidence)
        moved = (1 - _SLOPE) * np.interp(shares, self.share, self.value) + _SLOPE * shares
        return _with_shares(evidence, moved / moved.sum(axis=1, keepdims=True), self.sharing)


def fit_map(
    evidence: Evidence, codes: Codes, method: str, weight: Floats | None = None
) -> TemperatureMap | IsotonicMap:
    """Choose the map that suits these rows best.

    Parameters
    ----------
    evidence : Evidence
        Evidence of a classifier that was not fitted on the rows.
    codes : ndarray of int of shape (n_rows,)
        The rows' labels as columns; rows with -1, a label the classifier does not know, are left out.
    method : {"temperature", "isotonic"}
        Temperature: smallest log-loss of the probability. Isotonic: the rising line with the smallest Brier score,
        before the shares are divided by their sum, and the sharing with the smallest one after.
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
    fit = _fit_temperature if method == "temperature" else _fit_isotonic
    return fit(evidence[known], codes[known], weights[known])


def _fit_temperature(evidence: Evidence, codes: Codes, weight: Floats) -> TemperatureMap:
    own = (np.arange(len(codes)), codes)

    def as_map(point: Floats) -> TemperatureMap:
        return TemperatureMap(float(np.exp(np.clip(point[0], *np.log(_TEMPERATURES)))), float(np.clip(point[1], 0, 1)))

    def log_loss(point: Floats) -> float:
        probability = as_map(point)(evidence).pignistic[own]
        return float(-np.average(np.log(np.maximum(probability, _LEAST_SHARE)), weights=weight))

    limits = [tuple(np.log(_TEMPERATURES)), (0.0, 1.0)]
    options = {"xatol": 1e-4, "fatol": 1e-9}
    found = minimize(log_loss, np.array([0.0, 0.5]), method="Nelder-Mead", bounds=limits, options=options)
    return as_map(found.x)


def _fit_isotonic(evidence: Evidence, codes: Codes, weight: Floats) -> IsotonicMap:
    truth = np.arange(evidence.belief.shape[1]) == codes[:, None]
    best, least = IsotonicMap(np.array([0.0, 1.0]), np.array([0.0, 1.0])), np.inf
    for sharing in _SHARINGS.tolist():
        line = _fit_line(evidence, truth, weight, sharing)
        loss = float(np.average(((line(evidence).pignistic - truth) ** 2).sum(axis=1), weights=weight))
        if loss < least - 1e-12:
            best, least = line, loss
    return best


def _fit_line(evidence: Evidence, truth: NDArray[np.bool_], weight: Floats, sharing: float) -> IsotonicMap:
    """The best rising line for a sharing: what is not bet along it is ``J = I (1 - sharing)``, shared equally."""
    equal = evidence.ignorance[:, None] * (1 - sharing)
    bet = np.maximum(1 - equal, _LEAST_SHARE)
    # With p = J/C + (1 - J) g the squared error of p is (1 - J)^2 times that of g against (truth - J/C) / (1 - J).
    target = (truth - equal / truth.shape[1]) / bet
    importance = np.broadcast_to(weight[:, None] * bet**2, target.shape)
    line = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    line.fit(_shares(evidence).ravel(), target.ravel(), importance.ravel())
    return IsotonicMap(np.asarray(line.X_thresholds_), np.asarray(line.y_thresholds_), sharing)


def _shares(evidence: Evidence) -> Floats:
    """How the beliefs divide the committed part; equally where there is none."""
    committed = evidence.belief.sum(axis=1, keepdims=True)
    equal = np.full(evidence.belief.shape, 1 / evidence.belief.shape[1])
    return np.asarray(np.divide(evidence.belief, committed, out=equal, where=committed > 0))


def _with_shares(evidence: Evidence, shares: Floats, sharing: float) -> BettingEvidence:
    belief = shares * evidence.belief.sum(axis=1, keepdims=True)
    base_rate = (1 - sharing) / shares.shape[1] + sharing * shares
    return BettingEvidence(belief, evidence.ignorance, evidence.conflict, evidence.classes, base_rate)
