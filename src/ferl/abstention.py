"""Answers with a promised error rate: the classifier abstains where it could not keep the promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import ceil, log
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from ferl._judge import PromiseError
from ferl._judge.promises import SIGNALS, RiskControl, evidence_signal
from ferl._models.decision import AnyDecision, Decision
from ferl._sklearn import HasMethods, Interval, StrOptions, fit_context
from ferl._tables import codes_of
from ferl._util.arrays import Bools, Floats
from ferl._wrapper import Wrapper, checked_labels, decided, drawn_seed, evidence_of, last_step, novelty_of

__all__ = [
    "RiskControl",
    "RiskControlledFERL",
    "UnmetRiskWarning",
    "clopper_pearson",
    "least_answered_rows",
    "risk_p_value",
]

# Starts and grids lie on shares of the design rows; a finer mesh would follow their noise.
_N_SHARES = 100
# A start is worth its part of delta only where it has a chance.
_ALMOST = 0.99  # as likely to pass as any: among such starts the lowest has the fewest tests before it
_LEAST_POWER = 0.1


class UnmetRiskWarning(UserWarning):
    """The wanted risk cannot be promised with these calibration rows: every row is abstained on."""


class RiskControlledFERL(Wrapper):
    """A classifier that abstains so that its error rate among answered rows keeps a promise.

    "At most 5 % errors among the answers, with confidence 95 %": ``fit(X, y)``, then ``calibrate`` on rows that were
    not used for fitting. An estimator that is already fitted needs no ``fit``. ``control_`` has the threshold and the
    share of answered rows or, if the requested risk cannot be guaranteed, the risk that could be.

    Parameters
    ----------
    estimator : FERLClassifier, FERLTreeClassifier, or a pipeline that ends in one, default=None
        The classifier. None: ``FERLClassifier()``.
    risk : float, default=0.05
        Largest error rate among answered rows.
    confidence : float, default=0.95
        Probability, over the draw of the calibration rows, with which the promise holds.
    signal : {"margin", "belief", "ignorance", "novelty", "learned"}, default="margin"
        What decides which rows are answered: the largest margin of probability between the two best classes, the
        largest belief of the best class, the least ignorance, the least novelty; or a monotone ranking that is learned
        from all of them. The margin ranks right answers best. The ignorance of rules ranks answers by the training rows
        behind them, whatever the probability: use it to leave out rows with little evidence, not rows with close
        classes.
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
    decision : {"probable", "balanced", "mild"}, float, array-like or mapping, default="probable"
        How labels are chosen; see :meth:`ferl.FERLClassifier.predict`. The promise is about these labels.
    abstain_label : object, default=None
        What :meth:`predict` gives where it abstains; not one of the labels. None gives None, in an array of objects.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of what is set aside.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier; of one that was fitted already, a copy.
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
    which makes each test exact. Thresholds, their order and the ranking are fixed before the calibration rows are used,
    and both methods keep the probability of any wrong promise below ``1 - confidence``.

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
        "decision": [object],
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
        decision: AnyDecision = "probable",
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
        self.decision = decision
        self.abstain_label = abstain_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the classifier, and one without each fold to learn where its answers are right.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting. They do not enter the promise.
        **fit_params : dict
            What else the classifier's ``fit`` takes (``units=``, ``describe=``), and ``groups``, which neither the
            folds of ``cv`` nor the inner validation of rules then divides; by scikit-learn's metadata routing where
            that is enabled.

        Returns
        -------
        RiskControlledFERL
            The estimator itself.
        """
        routed = self._routed(sample_weight, fit_params)
        self._fit_inside(X, y, routed, "_fitted_design", "_design", "control_")
        labels, decision = np.asarray(y).ravel(), Decision.of(self.decision, self.classes_)
        raws, wrongs = [], []
        for fold in self._cross_fit(X, labels, routed, drawn_seed(self.random_state)):
            raws.append(read_signal(fold.estimator, fold.rows, self.signal))
            wrongs.append(_wrong(fold.estimator, fold.rows, labels[fold.unseen], decision, self.classes_))
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
        raw = read_signal(self.estimator_, X, self.signal)
        decision = Decision.of(self.decision, self.classes_)
        wrong = _wrong(self.estimator_, X, checked_labels(y, len(raw)), decision, self.classes_)
        design, tested = self._prepare(raw, wrong)
        self._refuse_few_rows(int(tested.sum()), len(raw))
        control = self._test(design, Ladder.of(design.signal(raw[tested]), wrong[tested]))
        self._design, self.control_ = design, control
        self._learned_about(self.estimator_)
        if not control.met:
            warnings.warn(str(control), UnmetRiskWarning, stacklevel=2)
        return self

    def _prepare(self, raw: Floats, wrong: NDArray[np.bool_]) -> tuple[Design, NDArray[np.bool_]]:
        """The design, and the rows that are left for the tests."""
        if not self.__dict__.get("_is_prefit", False):
            signal, design = self._fitted_design
            if signal != self.signal:
                raise ValueError(f"signal was {signal!r} in fit and is {self.signal!r} now. Call fit(X, y) again.")
            return design, np.ones(len(raw), dtype=bool)
        n_design = max(1, round(self.design_share * len(raw)))
        tested = np.ones(len(raw), dtype=bool)
        tested[check_random_state(self.random_state).permutation(len(raw))[:n_design]] = False
        return Design.of(raw[~tested], wrong[~tested]), tested

    def _refuse_few_rows(self, n_tested: int, n_rows: int) -> None:
        delta = 1 - self.confidence
        share = delta if self.method == "fixed_sequence" else delta / self.n_thresholds
        needed = least_answered_rows(self.risk, share)
        if n_tested < needed:
            aside = f", since {n_rows - n_tested:,} of {n_rows:,} are set aside to place the first test"
            raise PromiseError(
                "{risk} with {confidence} needs at least {needed:,} calibration rows, even if all answers are right; "
                "there are {n_tested:,}{aside}. Add rows, or allow more {risk_name} or less {confidence_name}.",
                {"risk": self.risk, "confidence": self.confidence},
                needed=needed,
                n_tested=n_tested,
                aside=aside if n_rows > n_tested else "",
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
            decision=Decision.of(self.decision, self.classes_),
        )

    def confidence_signal(self, X: ArrayLike) -> Floats:
        """The number that is compared with ``control_.threshold``, shape (n_samples,); larger is more confident."""
        self._check_calibrated("confidence_signal")
        return self._design.signal(read_signal(self.estimator_, X, self.control_.signal))

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
        labels = np.asarray(self.classes_[self._codes(X)])
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
        best = self._codes(X)
        return np.asarray((np.arange(len(self.classes_)) == best[:, None]) | ~self.accept(X)[:, None])

    def _codes(self, X: ArrayLike) -> NDArray[np.intp]:
        """Labels as the promise is about them, by their index."""
        return decided(self.estimator_, X, self.predict_evidence(X), self.control_.decision)

    def _common_type(self) -> np.dtype[Any]:
        """A type that holds labels and ``abstain_label`` unchanged."""
        if self.abstain_label in self.classes_.tolist():
            raise ValueError(f"abstain_label is {self.abstain_label!r}, which is one of the labels. Choose another.")
        other = np.asarray(self.abstain_label).dtype
        alike = (other.kind in "US") == (self.classes_.dtype.kind in "US")
        return np.result_type(other, self.classes_.dtype) if alike else np.dtype(object)

    def _check_calibrated(self, step: str) -> None:
        rest = ", on rows that were not used for fitting"
        self._check_learned("control_", f"{step} needs a threshold", "calibrate", rest)


def _wrong(
    estimator: Any, X: Any, labels: NDArray[Any], decision: Decision, classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Which answers are wrong; a label the classifier does not know always is. ``classes``: of the decision."""
    evidence = evidence_of(estimator, X)
    known = np.asarray(evidence.classes)
    chosen = decision.among(np.searchsorted(classes, known).tolist())  # a fold may lack a class
    return np.asarray(decided(estimator, X, evidence, chosen) != codes_of(labels, known))


# ---------------------------------------------------------------------------------------------------------------------
# Tests of "the error rate among the rows above this threshold is at most the risk", for many thresholds
# ---------------------------------------------------------------------------------------------------------------------


def clopper_pearson(n_errors: ArrayLike, n_rows: ArrayLike, delta: float) -> Floats:
    """Upper bound of an error rate that holds with probability ``1 - delta``; exact for every number of rows.

    Parameters
    ----------
    n_errors, n_rows : array-like of int
        Number of errors, and number of independent rows that they were counted on.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    ndarray
        1 where there are no rows, or only errors.

    Examples
    --------
    >>> from ferl.abstention import clopper_pearson
    >>> round(float(clopper_pearson(0, 59, 0.05)), 4)
    0.0495
    """
    errors, rows = np.broadcast_arrays(np.asarray(n_errors, dtype=np.float64), np.asarray(n_rows, dtype=np.float64))
    right = rows - errors
    bound = special.betaincinv(errors + 1.0, np.maximum(right, 1.0), 1.0 - delta)
    return np.asarray(np.where(right > 0, bound, 1.0))


def risk_p_value(n_errors: ArrayLike, n_rows: ArrayLike, risk: float) -> Floats:
    """Probability of so few errors, or fewer, if the error rate were ``risk``.

    At most delta exactly where :func:`clopper_pearson` at delta is at most ``risk``.

    Parameters
    ----------
    n_errors, n_rows : array-like of int
        Number of errors, and number of independent rows that they were counted on.
    risk : float
        The error rate.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from ferl.abstention import risk_p_value
    >>> round(float(risk_p_value(0, 59, 0.05)), 4)
    0.0485
    """
    errors, rows = np.broadcast_arrays(np.asarray(n_errors, dtype=np.float64), np.asarray(n_rows, dtype=np.float64))
    right = rows - errors
    value = special.betainc(np.maximum(right, 1.0), errors + 1.0, 1.0 - risk)
    return np.asarray(np.where(right > 0, value, 1.0))


def least_answered_rows(risk: float, delta: float) -> int:
    """Number of answered calibration rows, all of them right, from which on the risk can be promised.

    Examples
    --------
    >>> from ferl.abstention import least_answered_rows
    >>> least_answered_rows(0.05, 0.05)
    59
    """
    return ceil(log(delta) / log(1 - risk))


@dataclass(frozen=True, eq=False)
class Ladder:
    """Calibration rows from the most confident down, equals together.

    Attributes
    ----------
    value : ndarray of shape (n_values,)
        Distinct values of the signal, descending. A threshold between a value and the next one answers the same rows as
        the value itself.
    n_answered, n_errors : ndarray of shape (n_values,)
        Rows with at least this value, and how many of them are wrong.
    """

    value: Floats
    n_answered: NDArray[np.int64]
    n_errors: NDArray[np.int64]

    @classmethod
    def of(cls, signal: Floats, wrong: NDArray[np.bool_]) -> Ladder:
        """Sort the rows."""
        negated, group, size = np.unique(-signal, return_inverse=True, return_counts=True)
        errors = np.bincount(group, weights=wrong, minlength=len(size))
        return cls(-negated, np.cumsum(size), np.cumsum(errors).astype(np.int64))

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self.n_answered[-1])

    def step(self, threshold: ArrayLike) -> NDArray[np.intp]:
        """Index of the smallest value that reaches each threshold; -1 where none does."""
        return np.asarray(np.searchsorted(-self.value, -np.asarray(threshold), side="right") - 1)

    def counts(self, threshold: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows answered at each threshold, and how many of them are wrong."""
        step = self.step(threshold)
        return np.where(step >= 0, self.n_answered[step], 0), np.where(step >= 0, self.n_errors[step], 0)


def bonferroni(ladder: Ladder, thresholds: Floats, risk: float, delta: float) -> float | None:
    """Lowest of the thresholds that passes its test at delta / number of thresholds; None if none does.

    Parameters
    ----------
    ladder : Ladder
        Calibration rows.
    thresholds : ndarray of shape (n_thresholds,)
        Candidates, chosen without looking at the calibration rows.
    risk, delta : float
        The promise.
    """
    n_answered, n_errors = ladder.counts(thresholds)
    passed = risk_p_value(n_errors, n_answered, risk) <= delta / len(thresholds)
    return float(thresholds[passed].min()) if passed.any() else None


def fixed_sequence(ladder: Ladder, starts: Floats, risk: float, delta: float) -> float | None:
    """Lowest threshold reached by going down from the starts for as long as every test on the way passes.

    *All* thresholds below the first start are tested in descending order, each at the level that the one before it
    hands on: a test that passes has cost nothing. Every start brings an equal share of delta along, so that there is
    a new beginning after a failure (the fallback procedure; with one start it is fixed-sequence testing). Between two
    calibration values nothing changes, so it is enough to stop at these values and at the starts.

    Parameters
    ----------
    ladder : Ladder
        Calibration rows.
    starts : ndarray of shape (n_starts,)
        Where to begin, chosen without looking at the calibration rows.
    risk, delta : float
        The promise.

    Returns
    -------
    float or None
        The threshold, minus infinity to answer everything; None if no test passes.
    """
    share = delta / len(starts)
    p_values = risk_p_value(ladder.n_errors, ladder.n_answered, risk)
    begins: dict[int, list[float]] = {}
    for start in np.sort(starts)[::-1].tolist():
        begins.setdefault(int(ladder.step(start)), []).append(start)
    level, reached = 0.0, None
    # Starts above every calibration value answer none of them and fail.
    for step in range(max(0, min(begins)), len(p_values)):
        # A start at the value itself is there when the value is tested, one below it is not.
        value = float(ladder.value[step])
        below = [start for start in begins.get(step, []) if start < value]
        level += share * (len(begins.get(step, [])) - len(below))
        if level > 0 and p_values[step] <= level:
            level, reached = level + share * len(below), value
        elif below and p_values[step] <= share:
            level, reached = share * len(below), below[0]
        else:
            level = 0.0
    # The interval of the lowest value has no lower end.
    return -np.inf if level > 0 else reached


# ---------------------------------------------------------------------------------------------------------------------
# Signals of confidence, and the rows that show where tests may begin
# ---------------------------------------------------------------------------------------------------------------------


def read_signal(estimator: Any, X: Any, name: str) -> Floats:
    """One signal of every row, shape (n_samples,); of a learned ranking all that it is made of, (n_samples, n_signals).

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, or a pipeline that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows.
    name : {"margin", "belief", "ignorance", "novelty", "learned"}
        Margin of the best class before the next; its belief; minus the ignorance; minus the novelty; all of them.
    """
    if name == "novelty":
        return -novelty_of(estimator, X)
    evidence = evidence_of(estimator, X)
    if name != "learned":
        return evidence_signal(evidence, name)
    columns = [evidence_signal(evidence, item) for item in SIGNALS if item != "novelty"]
    if hasattr(last_step(estimator, X)[0], "novelty"):
        # Novelty has a long tail; its order is what counts.
        columns.append(-np.log1p(np.maximum(novelty_of(estimator, X), 0.0)))
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Design:
    """Rows that neither the classifier was fitted on nor calibrate, and the ranking learned from them.

    Attributes
    ----------
    ranking : Pipeline or None
        The learned ranking; None for a signal that is used as it is.
    counts : ndarray of bool of shape (n_signals,)
        The signals that it is made of.
    ladder : Ladder
        The design rows.
    """

    ranking: Pipeline | None
    counts: Bools
    ladder: Ladder

    @classmethod
    def of(cls, raw: Floats, wrong: NDArray[np.bool_]) -> Design:
        """Learn a ranking if there is one to learn.

        Parameters
        ----------
        raw : ndarray of shape (n_samples,) or (n_samples, n_signals)
            From :func:`read_signal`, on rows that the classifier was not fitted on and that will not calibrate.
        wrong : ndarray of bool of shape (n_samples,)
            Which answers are wrong.
        """
        ranking, counts = None, np.ones(raw.shape[1:], dtype=np.bool_)
        is_learned = raw.ndim == 2 and bool(wrong.any()) and not wrong.all()
        while is_learned and counts.any():
            ranking = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.where(counts, raw, 0.0), ~wrong)
            falls = ranking[-1].coef_[0] < 0
            if not falls.any():
                break
            # Clear answers lie at the ends of features, where fewer rows are. A ranking that took few rows for a good
            # sign would put rows first that are unlike all training rows.
            ranking, counts = None, counts & ~falls
        return cls(ranking, counts, Ladder.of(_ranked(ranking, counts, raw), wrong))

    def signal(self, raw: Floats) -> Floats:
        """The number that is compared with the threshold, shape (n_samples,)."""
        return _ranked(self.ranking, self.counts, raw)

    def grid(self, n_thresholds: int) -> Floats:
        """Thresholds that answer equally spaced shares of the design rows, the last one all rows."""
        shares = np.arange(1, n_thresholds) / n_thresholds
        return np.append(_at_share(self.ladder, shares), -np.inf)

    def starts(self, n_starts: int, n_rows: int, risk: float, delta: float) -> Floats:
        """Where to begin going down: where the test is most likely to pass, and further down while there is hope.

        Going down costs nothing while tests pass, so the first start need not be near the threshold that is hoped for.

        Parameters
        ----------
        n_starts : int
            How many at most.
        n_rows : int
            Number of calibration rows to come.
        risk, delta : float
            The promise.
        """
        # No more starts than leave each of them a level that a test without errors can pass.
        while n_starts > 1 and least_answered_rows(risk, delta / n_starts) > n_rows:
            n_starts -= 1
        shares = np.arange(1, _N_SHARES + 1) / _N_SHARES
        thresholds = _at_share(self.ladder, shares)
        n_answered, n_errors = self.ladder.counts(thresholds)
        expected = np.maximum(np.rint(n_rows * n_answered / self.ladder.n_rows), 1).astype(int)
        power = _power(expected, (n_errors + 0.5) / (n_answered + 1), risk, delta / n_starts)
        first = int(np.flatnonzero(power >= _ALMOST * power.max()).max())
        hopeful = np.flatnonzero(power >= _LEAST_POWER * power.max())
        last = max(int(hopeful.max()), first)
        indices = np.unique(np.rint(np.linspace(first, last, n_starts)).astype(int))
        return np.unique(thresholds[indices])


def _ranked(ranking: Pipeline | None, counts: Bools, raw: Floats) -> Floats:
    """The learned ranking, or the first signal where there was nothing to learn from."""
    if raw.ndim == 1:
        return raw
    return raw[:, 0] if ranking is None else np.asarray(ranking.decision_function(np.where(counts, raw, 0.0)))


def _at_share(ladder: Ladder, shares: Floats) -> Floats:
    """The value at which at least each share of the rows is answered."""
    wanted = np.ceil(shares * ladder.n_rows - 1e-9)
    return np.asarray(ladder.value[np.searchsorted(ladder.n_answered, wanted)])


def _power(n_rows: NDArray[np.int64], error_rate: Floats, risk: float, delta: float) -> Floats:
    """Probability that the test passes, by the error rate of the design rows."""
    # The most errors that pass; -1 if none do. The search is over counts, of which the risk allows few.
    allowed = stats.binom.ppf(delta, n_rows, risk).astype(int)
    allowed = np.where(risk_p_value(np.maximum(allowed, 0), n_rows, risk) <= delta, allowed, allowed - 1)
    return np.asarray(stats.binom.cdf(allowed, n_rows, error_rate))
