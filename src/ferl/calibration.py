"""Evidence whose ignorance is not shared equally when it comes to betting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from ferl._judge.promises import IsotonicMap, TemperatureMap
from ferl._models.decision import AnyDecision, Decision
from ferl._models.evidence import BettingEvidence, Evidence
from ferl._sklearn import HasMethods, StrOptions, fit_context
from ferl._tables import checked_sample_weight, codes_of
from ferl._util.arrays import Floats, Ints
from ferl._util.text import listed
from ferl._wrapper import Wrapper, checked_labels, decided, drawn_seed, evidence_of, novelty_of

__all__ = ["BettingEvidence", "CalibratedFERL", "IsotonicMap", "TemperatureMap", "VennAbers", "fit_map"]

METHODS = ("temperature", "isotonic")
_TEMPERATURES = (0.05, 20.0)
# What an isotonic map tries for its sharing.
_SHARINGS = np.linspace(0.0, 1.0, 11)


def fit_map(evidence: Evidence, codes: Ints, method: str, weight: Floats | None = None) -> TemperatureMap | IsotonicMap:
    """Choose the map that suits these rows best.

    Parameters
    ----------
    evidence : Evidence
        Evidence of a classifier that was not fitted on the rows.
    codes : ndarray of int of shape (n_samples,)
        The rows' labels as columns; rows with -1, a label the classifier does not know, are left out.
    method : {"temperature", "isotonic"}
        Temperature: smallest log-loss of the probability. Isotonic: the rising line with the smallest Brier score,
        before the shares are divided by their sum, and the sharing with the smallest one after.
    weight : ndarray of shape (n_samples,), default=None
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
    # Sums depend on the order of the rows by rounding, and where a search ends depends on that: one order for all.
    keys = np.column_stack([*evidence.arrays().values(), codes, weights])[known]
    order = np.flatnonzero(known)[np.lexsort(keys.T)]
    return fit(evidence[order], codes[order], weights[order])


def _fit_temperature(evidence: Evidence, codes: Ints, weight: Floats) -> TemperatureMap:
    at_label = (np.arange(len(codes)), codes)

    def as_map(point: Floats) -> TemperatureMap:
        return TemperatureMap(float(np.exp(np.clip(point[0], *np.log(_TEMPERATURES)))), float(np.clip(point[1], 0, 1)))

    def log_loss(point: Floats) -> float:
        probability = as_map(point)(evidence).probability[at_label]
        return float(-np.average(np.log(np.maximum(probability, Evidence.least_share)), weights=weight))

    limits = [tuple(np.log(_TEMPERATURES)), (0.0, 1.0)]
    if not evidence.can_share:
        best = minimize_scalar(lambda item: log_loss(np.array([item, 1.0])), bounds=limits[0], method="bounded")
        return as_map(np.array([best.x, 1.0]))
    options = {"xatol": 1e-4, "fatol": 1e-9}
    result = minimize(log_loss, np.array([0.0, 0.5]), method="Nelder-Mead", bounds=limits, options=options)
    return as_map(result.x)


def _fit_isotonic(evidence: Evidence, codes: Ints, weight: Floats) -> IsotonicMap:
    truth = np.arange(evidence.belief.shape[1]) == codes[:, None]
    best, least = IsotonicMap(np.array([0.0, 1.0]), np.array([0.0, 1.0])), np.inf
    for sharing in _SHARINGS.tolist() if evidence.can_share else [1.0]:
        line = _fit_line(evidence, truth, weight, sharing)
        loss = float(np.average(((line(evidence).probability - truth) ** 2).sum(axis=1), weights=weight))
        if loss < least - 1e-12:
            best, least = line, loss
    return best


def _fit_line(evidence: Evidence, truth: NDArray[np.bool_], weight: Floats, sharing: float) -> IsotonicMap:
    """The best rising line for a sharing: what is not bet along it is ``J = I (1 - sharing)``, shared equally."""
    equal = evidence.ignorance[:, None] * (1 - sharing)
    bet = np.maximum(1 - equal, Evidence.least_share)
    # With p = J/C + (1 - J) g the squared error of p is (1 - J)^2 times the error of g against (truth - J/C) / (1 - J).
    target = (truth - equal / truth.shape[1]) / bet
    importance = np.broadcast_to(weight[:, None] * bet**2, target.shape)
    line = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    line.fit(evidence.shares.ravel(), target.ravel(), importance.ravel())
    return IsotonicMap(np.asarray(line.X_thresholds_), np.asarray(line.y_thresholds_), sharing)


@dataclass(frozen=True, eq=False)
class VennAbers:
    """Two probabilities of an event, of which one is calibrated whatever the scores are: inductive Venn-Abers [1]_.

    The probability is the isotonic regression of what happened on the score, over calibration rows and the new row:
    once as if the event did not happen, which gives the lower probability, and once as if it did, which gives the
    upper one.

    Attributes
    ----------
    score : ndarray of shape (n_scores,)
        Distinct scores of the calibration rows, ascending.
    share, weight : ndarray of shape (n_scores,)
        Share of the rows of each score for which the event happened, and their weight.

    Notes
    -----
    **Guarantee**, if calibration rows and the new row are exchangeable: call p the upper probability where the event
    happens and the lower one where it does not. Then the event has the probability p given p. It is unknown beforehand
    which of the two p is, but they are close together if there are many calibration rows.

    References
    ----------
    .. [1] Vovk and Petej, "Venn-Abers predictors", 2014. Vovk, Petej and Fedorova, "Large-scale probabilistic
       predictors with and without guarantees of validity", 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.calibration import VennAbers
    >>> known = VennAbers.of(np.array([0.2, 0.4, 0.6, 0.8]), np.array([False, True, False, True]))
    >>> known.interval(np.array([0.1, 0.5, 0.9])).round(2)
    array([[0.  , 0.5 ],
           [0.33, 0.67],
           [0.5 , 1.  ]])
    """

    score: Floats
    share: Floats
    weight: Floats

    @classmethod
    def of(cls, scores: Floats, happened: NDArray[np.bool_], weight: Floats | None = None) -> Self:
        """From the scores of calibration rows, and whether the event happened for each."""
        counts = np.ones(len(scores)) if weight is None else weight
        score, inverse = np.unique(scores[counts > 0], return_inverse=True)
        total = np.asarray(np.bincount(inverse, counts[counts > 0]), dtype=np.float64)
        return cls(score, np.bincount(inverse, (counts * happened)[counts > 0]) / total, total)

    def interval(self, scores: Floats) -> Floats:
        """Lower and upper probability of the event for rows of these scores, shape (n_samples, 2)."""
        # Rows between the same two calibration scores have the same interval, and so have rows of the same known score.
        place, known = np.searchsorted(self.score, scores), np.zeros(len(scores), dtype=bool)
        inside = place < len(self.score)
        known[inside] = self.score[place[inside]] == scores[inside]
        places, inverse = np.unique(2 * place + known, return_inverse=True)
        return np.array([self._at(p // 2, bool(p % 2)) for p in places.tolist()]).reshape(-1, 2)[inverse]

    def _at(self, place: int, known: bool) -> Sequence[float]:
        """Both probabilities of a row before the known score of a place, or at it."""
        below, above = self._pooled
        result = []
        for one in (0.0, 1.0):
            total = one + (self.share[place] * self.weight[place] if known else 0.0)
            weight = 1.0 + (self.weight[place] if known else 0.0)
            left, right = place, len(self.score) - place - known
            # The pool of the new row takes in its neighbours as long as these are out of order.
            while True:
                if left and below[left].share >= total / weight:
                    total, weight, left = below[left].joined(total, weight)
                elif right and above[right].share <= total / weight:
                    total, weight, right = above[right].joined(total, weight)
                else:
                    break
            result.append(total / weight)
        return result

    @cached_property
    def _pooled(self) -> tuple[list[_Pool], list[_Pool]]:
        """The last pool of the isotonic regression of the first n scores, for each n; and of the last n from above."""
        share, weight = self.share.tolist(), self.weight.tolist()
        return _last_pools(share, weight, 1), _last_pools(share[::-1], weight[::-1], -1)


class _Pool(NamedTuple):
    """Scores next to each other that share one probability, and the number of scores before them."""

    total: float
    weight: float
    before: int

    @property
    def share(self) -> float:
        return self.total / self.weight

    def joined(self, total: float, weight: float) -> tuple[float, float, int]:
        """The pool with more; and what comes before it."""
        return self.total + total, self.weight + weight, self.before


def _last_pools(share: list[float], weight: list[float], sign: int) -> list[_Pool]:
    """The last pool of the isotonic regression of the first n shares, for n = 0, 1, ...; ``sign``: -1, falling."""
    pools = [_Pool(0.0, 1.0, 0)]
    for before, (here, count) in enumerate(zip(share, weight, strict=True)):
        total, n = here * count, count
        while before and sign * (pools[before].share - total / n) >= 0:
            total, n, before = pools[before].joined(total, n)
        pools.append(_Pool(total, n, before))
    return pools


class CalibratedFERL(ClassifierMixin, Wrapper):
    """A classifier whose probabilities are moved towards the frequencies seen on rows it was not fitted on.

    ``fit(X, y)`` learns the map from rows left out fold by fold, and gives the classifier all rows. ``calibrate(X, y)``
    learns it from other rows instead; an estimator that is already fitted needs nothing else.

    Rules: the map moves the probability; the moved probability rests on the same training rows. Trees: the map moves
    beliefs and decides which classes share the ignorance (:mod:`ferl.calibration`). For both, ignorance and the label
    stay, and belief <= pignistic <= plausibility still holds. There is no guarantee: it is a fit.
    docs/results/calibration.md has what it gains. :meth:`predict_interval` has a guarantee, and gives two
    probabilities instead of one.

    Parameters
    ----------
    estimator : FERLClassifier, FERLTreeClassifier, or a pipeline that ends in one, default=None
        The classifier. None: ``FERLClassifier()``.
    method : {"temperature", "isotonic"}, default="temperature"
        How beliefs are moved: sharpened or flattened by one number, or along a rising line; see
        :func:`ferl.calibration.fit_map`.
    cv : int, splitter, "prefit" or None, default=5
        Folds in ``fit``. "prefit": ``estimator`` is fitted already, and ``fit`` is :meth:`calibrate`. None: ``fit``
        only fits, and :meth:`calibrate` must follow.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier, not calibrated; of one that was fitted already, a copy.
    map_ : TemperatureMap or IsotonicMap
        The map.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.calibration import CalibratedFERL
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> calibrated = CalibratedFERL(FERLClassifier(random_state=0), random_state=0).fit(X, y)
    >>> round(calibrated.map_.sharing, 1)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "method": [StrOptions(set(METHODS))],
        "cv": ["cv_object", StrOptions({"prefit"}), None],
        "random_state": ["random_state"],
    }

    map_: TemperatureMap | IsotonicMap

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "temperature",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the classifier, and learn the map from the rows of each fold.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, in the classifier and in the map.
        **fit_params : dict
            What else the classifier's ``fit`` takes (``units=``, ``describe=``), and ``groups``, which neither the
            folds of ``cv`` nor the inner validation of rules then divides; by scikit-learn's metadata routing where
            that is enabled.

        Returns
        -------
        CalibratedFERL
            The estimator itself.
        """
        if self.cv == "prefit":
            if fit_params:
                raise TypeError(f'cv="prefit" fits no classifier, which {listed(list(fit_params))} would be for.')
            return self.calibrate(X, y, sample_weight)
        routed = self._routed(sample_weight, fit_params)
        self._fit_inside(X, y, routed, "map_", "_venn")
        if self.cv is None:
            return self
        labels = np.asarray(y).ravel()
        parts, unseen = [], []
        for fold in self._cross_fit(X, labels, routed, drawn_seed(self.random_state)):
            parts.append(_aligned(evidence_of(fold.estimator, fold.rows), self.classes_))
            unseen.append(fold.unseen)
        rows = np.concatenate(unseen)
        weight = checked_sample_weight(sample_weight, len(labels))[rows]
        self._learned_about(self.estimator_)
        self.map_ = fit_map(Evidence.stack(parts), codes_of(labels[rows], self.classes_), self.method, weight)
        return self

    def calibrate(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from rows that the classifier was not fitted on.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        CalibratedFERL
            The estimator itself.
        """
        self._validate_params()
        self._take_fitted("calibrate")
        self._forget("map_", "_venn")
        evidence = evidence_of(self.estimator_, X)
        codes = codes_of(checked_labels(y, len(evidence)), self.classes_)
        weight = checked_sample_weight(sample_weight, len(codes))
        self._learned_about(self.estimator_)
        self.map_ = fit_map(evidence, codes, self.method, weight)
        counted = np.where(codes >= 0, weight, 0.0)  # as in the map
        columns = enumerate(evidence.probability.T)
        self._venn = [VennAbers.of(item, codes == code, counted) for code, item in columns]
        return self

    def predict_interval(self, X: ArrayLike) -> Floats:
        """Lower and upper probability of every class, shape (n_samples, n_classes, 2), by inductive Venn-Abers.

        One of the two is calibrated, for any classifier, if the rows of :meth:`calibrate` and new rows are
        exchangeable; see :class:`VennAbers`. It needs :meth:`calibrate`: with cross-validation several classifiers
        judge the rows, and there is no proof for them.

        Calibration rows of a label that the classifier was not fitted on are left out.

        Two classes: the probabilities of one class are one minus the probabilities of the other. With three or more
        classes, each class is judged against all others by itself. The guarantee is about each class, not about all of
        them together, and neither ends nor middles sum to one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
        """
        if "map_" in self.__dict__ and "_venn" not in self.__dict__:
            raise NotFittedError(
                "predict_interval needs rows that the classifier was not fitted on, and fit has used all. Call "
                "calibrate(X, y) on other rows."
            )
        self._check_learned("_venn", "predict_interval needs calibrated rows", "calibrate")
        scores = evidence_of(self.estimator_, X).probability
        if scores.shape[1] == 2:
            second = self._venn[1].interval(scores[:, 1])
            return np.stack([1 - second[:, ::-1], second], axis=1)
        return np.stack([item.interval(column) for item, column in zip(self._venn, scores.T, strict=True)], axis=1)

    def predict_evidence(self, X: ArrayLike) -> Evidence:
        """Calibrated evidence: the map moves beliefs and probabilities; ignorance and conflict stay.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Evidence
        """
        if self.cv is not None and "estimator_" not in self.__dict__:
            raise NotFittedError("Calibrated evidence needs a map. Call fit(X, y) first.")
        self._check_learned("map_", "Calibrated evidence needs a map", "calibrate")
        return self.map_(evidence_of(self.estimator_, X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Calibrated probability, shape (n_samples, n_classes)."""
        return self.predict_evidence(X).probability

    def predict(self, X: ArrayLike, *, decision: AnyDecision = "probable") -> NDArray[Any]:
        """Label of each row by the calibrated probabilities, shape (n_samples,).

        The most probable label comes from the classifier itself. Thresholds and costs use calibrated probabilities, as
        they assume.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        decision : {"probable", "balanced", "mild"}, float, array-like or mapping, default="probable"
            How the label is chosen; see :meth:`ferl.FERLClassifier.predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        evidence = self.predict_evidence(X)
        chosen = Decision.of(decision, self.classes_)
        return np.asarray(self.classes_[decided(self.estimator_, X, evidence, chosen)])

    def predict_set(self, X: ArrayLike, *, level: float | None = None) -> NDArray[np.bool_]:
        """Classes in the sets of the calibrated evidence, bool of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        level : float, default=None
            Rules: what the beliefs of a set must sum to; None: 2/3. Trees have no level.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
        """
        return self.predict_evidence(X).prediction_set(level)

    def novelty(self, X: ArrayLike) -> Floats:
        """Novelty by the classifier inside, shape (n_samples,)."""
        if "estimator_" not in self.__dict__:
            raise NotFittedError("novelty needs a fitted classifier. Call fit(X, y) first.")
        return novelty_of(self.estimator_, X)

    def __sklearn_is_fitted__(self) -> bool:
        return "map_" in self.__dict__


def _aligned(evidence: Evidence, classes: NDArray[Any]) -> Evidence:
    """The same evidence with a column for every class; a class that is absent from a fold has no support."""
    columns = np.searchsorted(classes, evidence.classes)

    def spread(values: Floats) -> Floats:
        wider = np.zeros((len(evidence), len(classes)))
        wider[:, columns] = values
        return wider

    arrays = {name: spread(item) for name, item in evidence.arrays().items() if item.ndim == 2}
    return replace(evidence, classes=classes, **arrays)
