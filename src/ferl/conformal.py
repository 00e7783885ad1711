"""Prediction sets with a coverage guarantee, around any classifier of ferl."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from ferl._judge.conformity import (
    CUMULATIVE,
    SCORES,
    Group,
    Reference,
    chance_of,
    groups_of,
    never_empty,
    nonconformity,
    refuse_few_rows,
)
from ferl._models.decision import AnyDecision, Decision
from ferl._sklearn import HasMethods, Interval, StrOptions, fit_context
from ferl._tables import checked_groups, checked_sample_weight, codes_of
from ferl._util.arrays import Floats
from ferl._wrapper import Wrapper, checked_labels, decided, drawn_seed, evidence_of, table_of

__all__ = ["ConformalFERL", "nonconformity"]

_MOST_WEIGHT = 1e300  # of a new row, in units of the heaviest calibration row
# Parameters by which calibration rows were compared, and new rows must be.
_DECISIVE = ("cv", "nonconformity", "class_conditional", "randomised", "raps_penalty", "raps_free_classes")


def checked_alphas(alpha: float | Sequence[float]) -> list[float]:
    """One alpha or several, as a list of numbers strictly between 0 and 1."""
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if alphas.ndim != 1 or not alphas.size:
        raise ValueError(f"alpha must be a number or a list of numbers; got an array of shape {alphas.shape}.")
    for value in alphas.tolist():
        if not 0 < value < 1:
            raise ValueError(
                f"alpha is {value:g}; it must lie strictly between 0 and 1. It is the share of sets that may miss the "
                "true label: 0.1 for a coverage of 90 %."
            )
    return [float(value) for value in alphas]


class ConformalFERL(ClassifierMixin, Wrapper):
    """Prediction sets with a coverage guarantee, by split or cross-conformal prediction.

    The sets of :meth:`ferl.FERLClassifier.predict_set` come from evidence alone. These contain the true label of a
    new row with a probability of at least ``1 - alpha``, whatever the data are like and however good the classifier
    is; a better one gives smaller sets.

    Split (``cv=None``): ``fit(X, y)``, then ``conformalize`` on rows that were not used for fitting. An estimator that
    is already fitted needs no ``fit``. Cross-conformal (``cv=5``): ``fit(X, y)`` alone; each row calibrates the
    classifier that was fitted without its fold, so that no rows are given away.

    Parameters
    ----------
    estimator : FERLClassifier, FERLTreeClassifier, or a pipeline that ends in one, default=None
        The classifier. None: ``FERLClassifier()``.
    nonconformity : {"probability", "plausibility", "aps", "raps"}, default="probability"
        How badly a label fits a row; see :func:`ferl.conformal.nonconformity`.
    cv : int, splitter or None, default=None
        None: split conformal. A number: cross-conformal with this number of folds, drawn at random (within classes,
        when ``class_conditional``). A splitter must leave every row out exactly once; ``LeaveOneOut()`` is the
        jackknife+.
    class_conditional : bool, default=False
        Whether the guarantee holds for every class by itself (Mondrian conformal prediction), and not only on average
        over the classes. Sets are larger, and every class needs calibration rows.
    randomised : bool, default=False
        "aps" and "raps" only: count the class itself with a random share of its probability, which makes sets smaller.
        The share depends on ``random_state`` and the row's values only.
    raps_penalty : float, default=0.2
        "raps" only: what every rank beyond ``raps_free_classes`` adds to the score.
    raps_free_classes : int, default=1
        "raps" only: number of the most probable classes without penalty.
    allow_empty : bool, default=False
        Whether a set may be empty, when no label fits well enough. False: the row gets its most probable class (or
        classes, if several are equally probable), which can only raise coverage.
    few_rows : {"error", "include"}, default="error"
        What to do about too few calibration rows for the alpha wanted, in all or of a class: raise an error, or have
        the class in every set, which keeps the guarantee.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the random shares.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier, for other libraries to wrap as well; of one that was fitted already, a copy. In
        cross-conformal mode it was fitted on all rows and gives labels and probabilities, while the sets come from
        those in ``fold_estimators_``.
    fold_estimators_ : list of estimator
        Cross-conformal mode: the classifiers, each without a fold.
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns.
    n_calibration_rows_ : int
        Number of rows that calibrate.

    Notes
    -----
    **Guarantees**, under one assumption: calibration rows and new rows are exchangeable (drawn independently from one
    population, say). They are about the average over calibration sets and new rows, not about a given row.

    * Split: the set contains the true label with a probability of at least ``1 - alpha``. The threshold is the
      ``ceil((n + 1) (1 - alpha))``-th smallest of n calibration scores. Without ties among the scores, and with empty
      sets allowed, the probability is at most ``1 - alpha + 1 / (n + 1)``.
    * Split, class-conditional: the same among the rows of each class.
    * Split, with ``groups``: the same among the rows of each group, and with ``class_conditional`` of each class in
      each group. Each has another threshold, from its own calibration rows alone.
    * Cross-conformal with K folds: at least ``1 - 2 alpha - 2 (1 - alpha) (K - 1) / (n + K)``, and with n folds of one
      row ``1 - 2 alpha``; mostly it is close to ``1 - alpha``. (For sets of classes cross-conformal prediction and CV+
      are the same.) :meth:`guaranteed_coverage` gives the number.
    * With weights (``sample_weight`` in :meth:`conformalize` and :meth:`predict_set`): new rows may come from another
      population than the calibration rows, if the weight of each row is proportional to how much more likely it is in
      the new one, and the labels depend on the row in the same way in both.

    A calibration row whose label the classifier was not fitted on counts as fitting worse than any other; the
    guarantee then covers such rows as well.

    References
    ----------
    Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005. Vovk, "Cross-conformal predictors",
    2015. Barber, Candès, Ramdas and Tibshirani, "Predictive inference with the jackknife+", 2021. Tibshirani, Barber,
    Candès and Ramdas, "Conformal prediction under covariate shift", 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from ferl import FERLClassifier
    >>> from ferl.conformal import ConformalFERL
    >>> X, y = load_iris(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, test_size=30, random_state=0)
    >>> conformal = ConformalFERL(FERLClassifier(random_state=0)).fit(X[:70], y[:70]).conformalize(X[70:], y[70:])
    >>> conformal.predict_set(X_new[:2], alpha=0.1)
    array([[False, False,  True],
           [False,  True, False]])

    Without giving rows away, and for several alphas at once:

    >>> conformal = ConformalFERL(FERLClassifier(random_state=0), cv=5, random_state=0).fit(X, y)
    >>> conformal.predict_set(X_new, alpha=[0.05, 0.1, 0.2]).shape
    (30, 3, 3)
    >>> round(conformal.guaranteed_coverage(0.1), 3)
    0.742
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "nonconformity": [StrOptions(set(SCORES))],
        "cv": ["cv_object", None],
        "class_conditional": ["boolean"],
        "randomised": ["boolean"],
        "raps_penalty": [Interval(Real, 0, None, closed="left")],
        "raps_free_classes": [Interval(Integral, 0, None, closed="left")],
        "allow_empty": ["boolean"],
        "few_rows": [StrOptions({"error", "include"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        nonconformity: str = "probability",
        cv: Any = None,
        class_conditional: bool = False,
        randomised: bool = False,
        raps_penalty: float = 0.2,
        raps_free_classes: int = 1,
        allow_empty: bool = False,
        few_rows: str = "error",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.nonconformity = nonconformity
        self.cv = cv
        self.class_conditional = class_conditional
        self.randomised = randomised
        self.raps_penalty = raps_penalty
        self.raps_free_classes = raps_free_classes
        self.allow_empty = allow_empty
        self.few_rows = few_rows
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the classifier; in cross-conformal mode also one for each fold, which calibrates at once.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting. They do not enter the calibration.
        **fit_params : dict
            What else the classifier's ``fit`` takes (``units=``, ``describe=``), and ``groups``, which neither the
            folds of ``cv`` nor the inner validation of rules then divides; by scikit-learn's metadata routing where
            that is enabled.

        Returns
        -------
        ConformalFERL
            The estimator itself.
        """
        self._refuse_contradictions()
        routed = self._routed(sample_weight, fit_params)
        self._fit_inside(X, y, routed, "_compared")
        if self.cv is None:
            return self
        labels = np.asarray(y).ravel()
        codes = codes_of(labels, self.classes_)
        random = check_random_state(self.random_state)
        by_class, seed = self.class_conditional, drawn_seed(random)
        self._seed = drawn_seed(random)
        compared = []
        for fold in self._cross_fit(X, labels, routed, seed, stratified=by_class):
            scores = self._scores(fold.estimator, fold.rows)
            reference = Reference.of(scores, codes[fold.unseen], class_conditional=by_class)
            compared.append((fold.estimator, reference))
        self._keep(compared, is_weighted=False)
        self.fold_estimators_ = [estimator for estimator, _ in compared]
        return self

    def conformalize(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Calibrate on rows the classifier was not fitted on.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much more likely each row is in the population of new rows than here, up to a common factor; then
            :meth:`predict_set` needs the same for the new rows. None: the populations are the same.
        groups : array-like of shape (n_samples,), default=None
            The group of each row: a region, a device, a range of ages. The guarantee then holds within each group, and
            :meth:`predict_set` needs the groups of the new rows. A group must be known of a row without its label.

        Returns
        -------
        ConformalFERL
            The estimator itself.
        """
        if self.cv is not None:
            raise ValueError(
                f"cv={self.cv!r}: fit(X, y) has calibrated already, and conformalize would have nothing to do. Call "
                "predict_set, or set cv=None to calibrate on rows of their own."
            )
        self._validate_params()
        self._refuse_contradictions()
        self._take_fitted("conformalize")
        self._forget("_compared")
        self._seed = drawn_seed(self.random_state)
        scores = self._scores(self.estimator_, X)
        codes = codes_of(checked_labels(y, len(scores)), self.classes_)
        weight = checked_sample_weight(sample_weight, len(codes))
        self._unit = float(np.exp2(np.floor(np.log2(weight.max()))))  # sums of huge weights stay finite
        weight = weight / self._unit
        reference = Reference.of(scores, codes, weight, class_conditional=self.class_conditional)
        named = None if groups is None else checked_groups(groups, len(codes))
        self._keep([(self.estimator_, reference)], is_weighted=sample_weight is not None, groups=named)
        return self

    def _keep(
        self, compared: list[tuple[Any, Reference]], *, is_weighted: bool, groups: NDArray[Any] | None = None
    ) -> None:
        self._compared, self._is_weighted, self._group = compared, is_weighted, groups
        self._learned_about(*(estimator for estimator, _ in compared))
        self._settings = {name: getattr(self, name) for name in _DECISIVE}
        references = [reference for _, reference in compared]
        self.n_calibration_rows_ = sum(len(reference.codes) for reference in references)

    def _scores(self, estimator: Any, X: Any) -> Floats:
        """Score of every class of ``classes_``; infinite for those a fold's classifier has not seen."""
        evidence = evidence_of(estimator, X)
        scores = nonconformity(
            evidence,
            self.nonconformity,
            chance=chance_of(table_of(estimator, X), self._seed) if self.randomised else None,
            penalty=self.raps_penalty,
            free_classes=self.raps_free_classes,
        )
        if len(evidence.classes) == len(self.classes_):
            return scores
        columns = np.full((len(scores), len(self.classes_)), np.inf)
        columns[:, np.searchsorted(self.classes_, evidence.classes)] = scores
        return columns

    def predict(self, X: ArrayLike, *, decision: AnyDecision = "probable") -> NDArray[Any]:
        """Label of each row, shape (n_samples,). The sets do not depend on the decision, and may lack the label.

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
        chosen = Decision.of(decision, self.classes_)
        if chosen.is_usual:
            return np.asarray(self._inside.predict(X))
        return np.asarray(self.classes_[decided(self._inside, X, evidence_of(self._inside, X), chosen)])

    def predict_p_values(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Floats:
        """Conformal p-value of every class, shape (n_samples, n_classes).

        The share of calibration rows, the new row among them, that fit their label no better than the new row fits the
        class. If the class is the true one, the p-value is at most alpha with a probability of at most alpha (split).
        A class is in the set when its p-value exceeds alpha.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        sample_weight, groups : array-like of shape (n_samples,), default=None
            As in :meth:`predict_set`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._check_conformalized()
        scores = [self._scores(estimator, X) for estimator, _ in self._compared]
        self._refuse_other_form("sample_weight", self._is_weighted, sample_weight)
        weight = checked_sample_weight(sample_weight, len(scores[0]), may_be_zero=True)[:, None]
        if sample_weight is not None:  # in the unit of the calibration rows; beyond this limit nothing else counts
            with np.errstate(over="ignore"):
                weight = np.minimum(weight / self._unit, _MOST_WEIGHT)
        out = np.empty(scores[0].shape)
        for _, rows, references in self._parts(groups, len(out)):
            parts = [reference.compare(score[rows]) for score, reference in zip(scores, references, strict=True)]
            at_least, total = (sum(item) for item in zip(*parts, strict=True))
            above, below = at_least + weight[rows], total + weight[rows]
            out[rows] = np.divide(above, below, out=np.ones_like(out[rows]), where=below > 0)
        return out

    def _parts(self, groups: ArrayLike | None, n_rows: int) -> list[tuple[str, NDArray[np.bool_], list[Reference]]]:
        """New rows that are compared with the same calibration rows: their group, which they are, and what with."""
        self._refuse_other_form("groups", self._group is not None, groups)
        references = [reference for _, reference in self._compared]
        if self._group is None:
            return [("", np.ones(n_rows, dtype=bool), references)]
        named, result = checked_groups(groups, n_rows), []
        for fromkey in dict.fromkeys(named.tolist()):
            known = np.asarray(self._group == fromkey)
            result.append(
                (str(fromkey), np.asarray(named == fromkey), [reference.among(known) for reference in references])
            )
        return result

    def _refuse_other_form(self, name: str, was_given: bool, given: Any) -> None:
        """Refuse what calibration rows had and new rows have not, or the other way round."""
        if (given is not None) == was_given:
            return
        if self.cv is not None:
            raise ValueError(f"{name} is for split conformal sets; with cv={self.cv!r} leave it out, or set cv=None.")
        raise ValueError(
            f"conformalize was called {'with' if was_given else 'without'} {name}; predict_set must be, too: what "
            "calibration rows have and what new rows have belong together."
        )

    def predict_set(
        self,
        X: ArrayLike,
        alpha: float | Sequence[float] = 0.1,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.bool_]:
        """Sets that miss the true label with a probability of at most alpha.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        alpha : float or sequence of float, default=0.1
            How often a set may miss, between 0 and 1; several at once cost no more than one.
        sample_weight : array-like of shape (n_samples,), default=None
            Needed when :meth:`conformalize` was given weights, on the same scale. A row that is much more likely than
            all calibration rows can get the whole frame.
        groups : array-like of shape (n_samples,), default=None
            Needed when :meth:`conformalize` was given groups: the group of each row. A group with too few calibration
            rows, or none, is an error, or with ``few_rows="include"`` its sets hold all classes.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes), or (n_samples, n_classes, n_alphas) for several
        """
        alphas = checked_alphas(alpha)
        self._check_conformalized()
        p_values = self.predict_p_values(X, sample_weight, groups=groups)
        if self.few_rows == "error":
            compared = [
                item
                for name, _, references in self._parts(groups, len(p_values))
                for item in groups_of(references, self.classes_, name)
            ]
            for value in alphas:
                refuse_few_rows(compared, value, "set few_rows='include' to have such classes in every set")
        sets = np.asarray(p_values[:, :, None] > np.array(alphas))
        if not self.allow_empty and not sets.any(axis=1).all():
            sets = never_empty(sets, self.predict_proba(X))
        return sets[:, :, 0] if np.ndim(alpha) == 0 else sets

    def guaranteed_coverage(self, alpha: float = 0.1) -> float:
        """Least probability with which a set of :meth:`predict_set` contains the true label of a new row.

        Class-conditional: of the class with the weakest guarantee.

        Parameters
        ----------
        alpha : float, default=0.1
            As given to :meth:`predict_set`.

        Returns
        -------
        float
        """
        (value,) = checked_alphas(float(alpha))
        self._check_conformalized()
        if self.cv is None:
            return 1 - value
        compared: list[Group] = groups_of([reference for _, reference in self._compared], self.classes_)
        groups = [group for group in compared if group.n_rows and group.least_alpha <= value]
        return min((group.cross_conformal_coverage(value) for group in groups), default=1.0)

    def _refuse_contradictions(self) -> None:
        if self.randomised and self.nonconformity not in CUMULATIVE:
            raise ValueError(
                f"randomised=True is for nonconformity='aps' and 'raps'; it is {self.nonconformity!r}. Set one of them."
            )

    def _check_conformalized(self) -> None:
        if self.cv is not None and "_compared" not in self.__dict__:
            raise NotFittedError("predict_set needs calibrated rows. Call fit(X, y) first: with cv it also calibrates.")
        rest = ", on rows that were not used for fitting; or set cv=5 to have fit do both"
        step = "conformalize" if self.cv is None else "fit"
        self._check_learned("_compared", "predict_set needs calibrated scores", step, rest)
        for name, before in self._settings.items():
            if getattr(self, name) != before:
                raise ValueError(
                    f"{name} was {before!r} in {step} and is {getattr(self, name)!r} now; rows compared in two ways "
                    f"promise nothing. Call {step}(X, y) again."
                )
