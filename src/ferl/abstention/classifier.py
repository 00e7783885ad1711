"""RiskControlledFERL: answers only where a promised error rate can be kept."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from ferl._sklearn import HasMethods, Interval, StrOptions, fit_context
from ferl._tables import codes_of
from ferl._util.arrays import Floats
from ferl._wrapper import Wrapper, checked_labels, cross_fit, evidence_of, fitted_clone
from ferl.abstention.bounds import Ladder, bonferroni, clopper_pearson, fixed_sequence, least_answered_rows
from ferl.abstention.control import SIGNALS, Design, RiskControl, UnmetRiskWarning, raw_signal


class RiskControlledFERL(Wrapper):
    """A classifier that abstains so that its error rate among answered rows keeps a promise.

    "At most 5 % errors among the answers, with confidence 95 %": ``fit(X, y)``, then ``calibrate`` on rows that were
    not used for fitting. An estimator that is already fitted needs no ``fit``. ``control_`` tells the threshold, the
    share of rows answered, or that the wish cannot be met and what could be.

    Parameters
    ----------
    estimator : FERLClassifier, or a pipeline that ends in one, default=None
        The classifier. None: ``FERLClassifier()``.
    risk : float, default=0.05
        Largest error rate among answered rows.
    confidence : float, default=0.95
        Probability, over the draw of the calibration rows, with which the promise holds.
    signal : {"margin", "belief", "ignorance", "novelty", "learned"}, default="margin"
        What decides which rows are answered: the largest pignistic margin, the largest belief of the best class, the
        least ignorance, the least novelty; or a ranking learned from all of them.
    method : {"fixed_sequence", "bonferroni"}, default="fixed_sequence"
        How the threshold is found. "fixed_sequence" goes down from a start for as long as every test passes (Learn then
        Test); "bonferroni" tests a list of thresholds at an equal part of ``1 - confidence`` each.
    n_starts : int, default=1
        "fixed_sequence" only: number of starts among which ``1 - confidence`` is divided.
    n_thresholds : int, default=20
        "bonferroni" only: length of the list.
    cv : int or splitter, default=5
        Folds in ``fit``, to see how right the classifier is about rows it was not fitted on: starts, thresholds and the
        learned ranking come from there, and no calibration rows are spent on them.
    design_share : float, default=0.25
        The same for an estimator that was already fitted: share of the calibration rows that is set aside for it.
    abstain_label : object, default=None
        What :meth:`predict` gives where it abstains; not one of the labels. None gives None, in an array of objects.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of what is set aside.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    control_ : RiskControl
        The outcome of the calibration; print it.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Notes
    -----
    **Guarantee.** If calibration rows and new rows are drawn independently from one population, then with a probability
    of at least ``confidence`` over the draw of the calibration rows, the error rate of the population's answered rows
    is at most ``risk``. It holds for any classifier and any signal, with ties or without, and does not assume that the
    error rate falls with the signal. For a given threshold the number of errors among the answered rows is binomial,
    which makes each test exact; thresholds, their order and the ranking are fixed before calibration rows are looked
    at; and both methods keep the probability of any wrong promise below ``1 - confidence``.

    It is about the population, not about each class or each row, and it ends where the population changes.

    References
    ----------
    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.
    Geifman and El-Yaniv, "Selective classification for deep neural networks", 2017. Wiens, "A fixed sequence Bonferroni
    procedure for testing multiple endpoints", 2003. Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then Test",
    2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.abstention import RiskControlledFERL
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> controlled = RiskControlledFERL(FERLClassifier(random_state=0), risk=0.03, random_state=0)
    >>> controlled = controlled.fit(X[:250], y[:250]).calibrate(X[250:500], y[250:500])
    >>> print(controlled.control_)
    Promised: at most 3 % errors among answered rows, with 95 % confidence. Rows with margin of at least 0.4138 are
    answered: 240 of 250 calibration rows (96 %), 2 of them wrong (bound 2.6 %).
    >>> controlled.predict(X[505:511])
    array([1, 1, 1, None, 0, 1], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "risk": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "signal": [StrOptions({*SIGNALS, "learned"})],
        "method": [StrOptions({"fixed_sequence", "bonferroni"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "design_share": [Interval(Real, 0, 1, closed="neither")],
        "abstain_label": [object],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        risk: float = 0.05,
        confidence: float = 0.95,
        signal: str = "margin",
        method: str = "fixed_sequence",
        n_starts: int = 1,
        n_thresholds: int = 20,
        cv: Any = 5,
        design_share: float = 0.25,
        abstain_label: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.risk = risk
        self.confidence = confidence
        self.signal = signal
        self.method = method
        self.n_starts = n_starts
        self.n_thresholds = n_thresholds
        self.cv = cv
        self.design_share = design_share
        self.abstain_label = abstain_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier, and one without each fold to learn where its answers are right.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting. They do not enter the promise.

        Returns
        -------
        RiskControlledFERL
            The estimator itself.
        """
        self._forget("estimator_", "_is_prefit", "_fitted_design", "_design", "control_")
        self.estimator_ = fitted_clone(self._template(), X, y, sample_weight)
        labels = np.asarray(y).ravel()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        raws, wrongs = [], []
        folds = cross_fit(self._template(), X, labels, self.cv, stratified=True, seed=seed, sample_weight=sample_weight)
        for fold in folds:
            raws.append(raw_signal(fold.estimator, fold.rows, self.signal))
            wrongs.append(_wrong(fold.estimator, fold.rows, labels[fold.unseen]))
        self._fitted_design = (self.signal, Design.of(np.concatenate(raws), np.concatenate(wrongs)))
        return self

    def calibrate(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the threshold on rows the classifier was not fitted on.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        RiskControlledFERL
            The estimator itself; ``control_`` has the outcome. Warns with :class:`UnmetRiskWarning` when the wish
            cannot be met.
        """
        self._validate_params()
        self._take_fitted("calibrate")
        self._forget("_design", "control_")
        raw = raw_signal(self.estimator_, X, self.signal)
        wrong = _wrong(self.estimator_, X, checked_labels(y, len(raw)))
        design, tested = self._prepare(raw, wrong)
        self._refuse_few_rows(int(tested.sum()), len(raw))
        control = self._test(design, Ladder.of(design.signal(raw[tested]), wrong[tested]))
        self._design, self.control_ = design, control
        if not control.met:
            warnings.warn(str(control), UnmetRiskWarning, stacklevel=2)
        return self

    def _prepare(self, raw: Floats, wrong: NDArray[np.bool_]) -> tuple[Design, NDArray[np.bool_]]:
        """The design, and the rows that are left for the tests."""
        if not self._is_prefit_now:
            signal, design = self._fitted_design
            if signal != self.signal:
                raise ValueError(f"signal was {signal!r} in fit and is {self.signal!r} now. Call fit(X, y) again.")
            return design, np.ones(len(raw), dtype=bool)
        n_design = max(1, round(self.design_share * len(raw)))
        tested = np.ones(len(raw), dtype=bool)
        tested[check_random_state(self.random_state).permutation(len(raw))[:n_design]] = False
        return Design.of(raw[~tested], wrong[~tested]), tested

    @property
    def _is_prefit_now(self) -> bool:
        return bool(self.__dict__.get("_is_prefit", False))

    def _refuse_few_rows(self, n_tested: int, n_rows: int) -> None:
        delta = 1 - self.confidence
        share = delta if self.method == "fixed_sequence" else delta / self.n_thresholds
        needed = least_answered_rows(self.risk, share)
        if n_tested < needed:
            aside = f" (of {n_rows}, {n_rows - n_tested} are set aside by design_share={self.design_share})"
            raise ValueError(
                f"risk={self.risk:g} with confidence={self.confidence:g} needs at least {needed} calibration rows, "
                f"even if all answers are right; there are {n_tested}{aside if n_rows > n_tested else ''}. Pass more "
                "rows, or allow more risk or less confidence."
            )

    def _test(self, design: Design, ladder: Ladder) -> RiskControl:
        delta = 1 - self.confidence
        grid = design.grid(self.n_thresholds)
        if self.method == "bonferroni":
            threshold = bonferroni(ladder, grid, self.risk, delta)
        else:
            starts = design.starts(self.n_starts, ladder.n_rows, self.risk, delta)
            threshold = fixed_sequence(ladder, starts, self.risk, delta)
        met = threshold is not None
        chosen = np.inf if threshold is None else threshold
        n_answered, n_errors = (int(count) for count in ladder.counts(chosen))
        n_each, errors_each = ladder.counts(grid)
        bounds = clopper_pearson(errors_each, n_each, delta / len(grid))
        return RiskControl(
            risk=self.risk,
            confidence=self.confidence,
            met=met,
            signal=self.signal,
            method=self.method,
            threshold=float(chosen),
            n_rows=ladder.n_rows,
            n_answered=n_answered,
            n_errors=n_errors,
            bound=float(clopper_pearson(n_errors, n_answered, delta)),
            achievable_risk=float(bounds.min()),
            achievable_share=float(n_each[bounds.argmin()] / ladder.n_rows),
        )

    def confidence_signal(self, X: ArrayLike) -> Floats:
        """The number that is compared with ``control_.threshold``, shape (n_samples,); larger is more confident."""
        self._check_calibrated("confidence_signal")
        return self._design.signal(raw_signal(self.estimator_, X, self.control_.signal))

    def accept(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows are answered, bool of shape (n_samples,)."""
        self._check_calibrated("accept")
        return np.asarray(self.confidence_signal(X) >= self.control_.threshold)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of each answered row, shape (n_samples,); ``abstain_label`` for the others.

        Without an ``abstain_label`` the array holds objects, and None where there is no answer: no label is None,
        pandas and polars read it as missing, and metrics that do not know about abstention refuse it instead of
        counting it. For metrics, select by :meth:`accept` first.
        """
        self._check_calibrated("predict")
        labels = np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        answered = self.accept(X)
        if self.abstain_label is None:
            out = np.full(len(labels), None, dtype=object)
        else:
            out = np.full(len(labels), self.abstain_label, dtype=self._common_type())
        out[answered] = labels[answered]
        return out

    def predict_set(self, X: ArrayLike) -> NDArray[np.bool_]:
        """The label where it is answered and the whole frame elsewhere, bool of shape (n_samples, n_classes)."""
        self._check_calibrated("predict_set")
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray((np.arange(len(self.classes_)) == best[:, None]) | ~self.accept(X)[:, None])

    def _common_type(self) -> np.dtype[Any]:
        """A type that holds labels and ``abstain_label`` unchanged."""
        if self.abstain_label in self.classes_.tolist():
            raise ValueError(f"abstain_label is {self.abstain_label!r}, which is one of the labels. Choose another.")
        other = np.asarray(self.abstain_label).dtype
        alike = (other.kind in "US") == (self.classes_.dtype.kind in "US")
        return np.result_type(other, self.classes_.dtype) if alike else np.dtype(object)

    def _check_calibrated(self, step: str) -> None:
        if "control_" in self.__dict__:
            return
        before = "" if "estimator_" in self.__dict__ else "fit(X, y) and then "
        raise NotFittedError(
            f"{step} needs a threshold. Call {before}calibrate(X, y) first, on rows that were not used for fitting."
        )


def _wrong(estimator: Any, X: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which answers are wrong; a label the classifier does not know always is."""
    evidence = evidence_of(estimator, X)
    return np.asarray(evidence.probability.argmax(axis=1) != codes_of(labels, np.asarray(evidence.classes)))
