"""What the wrappers of a classifier share: how it is fitted or taken as it is, and how its evidence is read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from ferl._models.decision import Decision
from ferl._sklearn import LinkedToDocs, check_rows, routing_enabled, rows_of_parameters, take_rows
from ferl._tables import plain_labels, refuse_missing_labels
from ferl._util.arrays import Floats

if TYPE_CHECKING:
    from ferl._models.evidence import Evidence


class Wrapper(LinkedToDocs, MetaEstimatorMixin, BaseEstimator):
    """A classifier and something learned about its answers from rows it was not fitted on.

    ``fit`` fits a clone of ``estimator``. A wrapper whose ``estimator`` is fitted already needs no ``fit``: it takes
    the estimator as it is, in a copy, so that a later fit of the estimator changes nothing here. What was learned
    holds for the model it was learned about: where ``estimator_`` itself is fitted again, answers are refused.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier, for other libraries to wrap as well.
    """

    estimator: Any
    cv: Any
    estimator_: Any

    def _template(self) -> Any:
        from ferl.rules import FERLClassifier

        return FERLClassifier() if self.estimator is None else self.estimator

    def _take_fitted(self, step: str) -> None:
        """Make sure there is a fitted estimator; the error names the step that came too early."""
        is_given = self.__dict__.get("cv") == "prefit"
        if "estimator_" in self.__dict__ and not self.__dict__.get("_is_prefit", False) and not is_given:
            return
        try:
            check_is_fitted(self._template())
        except NotFittedError:
            if is_given:
                raise NotFittedError(
                    'cv="prefit" needs an estimator that is fitted already. Fit it first, or have it fitted here with '
                    "cv=5. (A clone is not fitted: for searches pass FrozenEstimator(estimator).)"
                ) from None
            raise NotFittedError(
                f"{step} needs a fitted classifier. Call fit(X, y) first, or give {type(self).__name__} an estimator "
                "that is already fitted."
            ) from None
        self.estimator_, self._is_prefit = frozen(self.estimator), True

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        return with_inputs_of(tags, self._template())

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in self.__dict__

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that the wrapper requests, and that its ``fit`` passes to the classifier and the splitter."""
        to_fit, to_split = (MethodMapping().add(caller="fit", callee=callee) for callee in ("fit", "split"))
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self._template(), method_mapping=to_fit)
        cv = self.__dict__.get("cv")
        return router.add(splitter=cv, method_mapping=to_split) if hasattr(cv, "split") else router

    def _routed(self, sample_weight: ArrayLike | None, given: dict[str, Any]) -> Routed:
        """What ``fit`` was given beside rows and labels, for the classifier's ``fit`` and for the splitter.

        Without scikit-learn's metadata routing: ``groups`` for the splitter, and for the inner validation of a
        classifier whose ``fit`` takes them; all else for the classifier.
        """
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routing_enabled():
            routed = process_routing(self, "fit", **weight, **given)
            return Routed(dict(routed.estimator.fit), dict(routed.splitter.split) if "splitter" in routed else {})
        to_split = {name: given.pop(name) for name in ("groups",) if name in given}
        template = self._template()
        last = template[-1] if isinstance(template, Pipeline) else template
        if to_split.get("groups") is not None and has_fit_parameter(last, "groups"):
            weight |= to_split
        if isinstance(template, Pipeline):  # weights and groups go to the last step
            weight = {f"{template.steps[-1][0]}__{name}": value for name, value in weight.items()}
        return Routed(weight | given, to_split)

    def _fit_inside(self, X: Any, y: Any, routed: Routed, *learned: str) -> None:
        """Fit a clone of the estimator; a fit that is refused leaves nothing behind of what was learned before."""
        self._forget("estimator_", "_is_prefit", *learned)
        self.estimator_ = unfitted(self._template()).fit(X, y, **routed.to_fit)

    def _cross_fit(self, X: Any, y: Any, routed: Routed, seed: int, *, stratified: bool = True) -> Iterator[FoldModel]:
        """Clones of the estimator, each fitted without one of the folds that ``cv`` stands for."""
        return cross_fit(self._template(), X, y, self.cv, stratified=stratified, seed=seed, routed=routed)

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _learned_about(self, *estimators: Any) -> None:
        """Remember the models of the fitted classifiers that something was learned about."""
        self._models = [(estimator, model_inside(estimator)) for estimator in estimators]

    def _check_learned(self, attribute: str, needs: str, step: str, rest: str = "") -> None:
        """Refuse an answer before the step that learns what it needs, and about another model than it was learned."""
        if attribute not in self.__dict__:
            before = "" if "estimator_" in self.__dict__ else "fit(X, y) and then "
            raise NotFittedError(f"{needs}. Call {before}{step}(X, y) first{rest}.")
        if any(model_inside(estimator) is not model for estimator, model in self._models):
            is_copy = self.__dict__.get("_is_prefit", False)
            first = "Fit the classifier that was given, of which estimator_ is a copy, and call" if is_copy else "Call"
            raise ValueError(
                f"The classifier inside was fitted again since {step}(X, y); nothing was calibrated about its new "
                f"model. {first} {step}(X, y) again."
            )

    @property
    def _inside(self) -> Any:
        """The fitted classifier; an error before the fit."""
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns."""
        return np.asarray(self._inside.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self._inside.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features, when the training table had names."""
        return np.asarray(self._inside.feature_names_in_)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class by the classifier inside, shape (n_samples, n_classes)."""
        return np.asarray(self._inside.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable label of each row, shape (n_samples,)."""
        best = self.predict_proba(X).argmax(axis=1)  # first: its error names the step that is missing
        return np.asarray(self.classes_[best])

    def predict_evidence(self, X: ArrayLike) -> Evidence:
        """Evidence of the classifier inside."""
        return evidence_of(self._inside, X)


def with_inputs_of(tags: Tags, estimator: Any) -> Tags:
    """Tags of a wrapper that takes the tables which the estimator inside takes."""
    inputs = get_tags(estimator).input_tags
    tags.input_tags.allow_nan, tags.input_tags.string = inputs.allow_nan, inputs.string
    return tags


@dataclass(frozen=True)
class Routed:
    """What a ``fit`` was given beside rows and labels.

    Attributes
    ----------
    to_fit : dict
        For the ``fit`` of the classifier inside.
    to_split : dict
        For the ``split`` of a splitter.
    """

    to_fit: dict[str, Any] = field(default_factory=dict)
    to_split: dict[str, Any] = field(default_factory=dict)


def unfitted(estimator: Any) -> Any:
    """A clone to be fitted; refused where edits by hand would be lost, which are no parameters.

    A classifier that stays fitted in the clone, inside a ``FrozenEstimator``, keeps its edits.
    """
    fresh = clone(estimator)
    kept = {"": fresh, **fresh.get_params()}
    for name, given in {"": estimator, **estimator.get_params()}.items():
        n_edits = _n_edits(given)
        if n_edits and not _n_edits(kept[name]):
            raise ValueError(
                f"The {type(given).__name__} was edited by hand ({n_edits} edits), and fit would learn anew without "
                "the edits. To keep them leave fit out: what calibrates takes a fitted classifier as it is "
                '(conformalize, calibrate, cv="prefit"). To learn anew pass sklearn.base.clone(classifier).'
            )
    return fresh


def _n_edits(estimator: Any) -> int:
    model = getattr(estimator, "__dict__", {}).get("model_")
    return len(getattr(model, "history", ()))


def frozen(estimator: Any) -> Any:
    """A fitted classifier as it is now, whatever the given one learns later."""
    # Models never change: a later fit gives the classifier another one. Steps of pipelines do change.
    return copy(estimator) if "model_" in vars(estimator) else deepcopy(estimator)


def model_inside(estimator: Any) -> Any:
    """The model of the classifier at the end of pipelines and wrappers."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    inside = vars(classifier).get("estimator_")
    return getattr(classifier, "model_", classifier) if inside is None else model_inside(inside)


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The classifier at the end of a pipeline and the rows as they reach it; another estimator and X themselves."""
    if not isinstance(estimator, Pipeline):
        return estimator, X
    return estimator[-1], (estimator[:-1].transform(X) if len(estimator) > 1 else X)


def evidence_of(estimator: Any, X: Any) -> Evidence:
    """Evidence of a fitted classifier or of the one at the end of a pipeline."""
    classifier, rows = last_step(estimator, X)
    if not hasattr(classifier, "predict_evidence"):
        raise TypeError(
            f"{type(classifier).__name__} has no predict_evidence; pass a FERLClassifier or FERLTreeClassifier, or a "
            "pipeline that ends in one."
        )
    evidence: Evidence = classifier.predict_evidence(rows)
    return evidence


def novelty_of(estimator: Any, X: Any) -> Floats:
    """Novelty of rows by a fitted classifier or by the one at the end of a pipeline."""
    classifier, rows = last_step(estimator, X)
    if not hasattr(classifier, "novelty"):
        raise TypeError(f"{type(classifier).__name__} has no novelty(X); choose a signal that does without it.")
    return np.asarray(classifier.novelty(rows), dtype=np.float64)


def table_of(estimator: Any, X: Any) -> Floats:
    """The rows as numbers, as the classifier at the end of pipelines and wrappers sees them."""
    classifier, rows = last_step(estimator, X)
    if "estimator_" in vars(classifier):
        return table_of(classifier.estimator_, rows)
    return check_rows(classifier, rows)


def decided(estimator: Any, X: Any, evidence: Evidence, decision: Decision) -> NDArray[np.intp]:
    """Index of each row's label in the classes of its evidence, by the classifier at the end of pipelines and wrappers.

    ``evidence`` is what the estimator has of the rows, calibrated where it calibrates.
    """
    classifier, rows = last_step(estimator, X)
    if "estimator_" in vars(classifier):
        return decided(classifier.estimator_, rows, evidence, decision)
    return decision.codes(classifier.model_, check_rows(classifier, rows), evidence)


def drawn_seed(random: Any) -> int:
    """A seed for folds or chances, from what ``random_state`` is, or from a generator that goes on."""
    return int(check_random_state(random).randint(2**31 - 1))


def checked_labels(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Labels of shape (n_samples,), none of them missing."""
    refuse_missing_labels(y)
    labels = column_or_1d(plain_labels(y))
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows and y {len(labels)} labels. Pass one label for each row of X.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"y contains NaN: {int(np.isnan(labels).sum())} labels are missing. Leave these rows out.")
    return np.asarray(labels)


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A classifier that has not seen some of the rows, and those rows: their numbers, and the rows themselves."""

    estimator: Any
    unseen: NDArray[np.intp]
    rows: Any


def cross_fit(
    estimator: Any, X: Any, y: NDArray[Any], cv: Any, *, stratified: bool, seed: int, routed: Routed | None = None
) -> Iterator[FoldModel]:
    """Fit a clone without each fold.

    Parameters
    ----------
    estimator : estimator
        What to clone.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Labels.
    cv : int, cross-validation splitter or list of splits
        Number of folds, or splits that leave every row out exactly once.
    stratified : bool
        With a number: whether folds have equal shares of the classes, or are drawn without looking at them; with
        ``groups`` each group is in one fold.
    seed : int
        With a number: how the rows are shuffled.
    routed : Routed, default=None
        Further arguments of ``fit`` and ``split``; from arguments with an entry for each row, each fit gets the entries
        of its rows.

    Yields
    ------
    FoldModel
    """
    table, _ = indexable(X, y)
    given = Routed() if routed is None else routed
    parts = folds_of(y, cv, stratified=stratified, seed=seed, **given.to_split)
    times = np.bincount(np.concatenate([unseen for _, unseen in parts]), minlength=len(y))
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise ValueError(
            f"cv={cv!r} leaves row {row} out {times[row]} times; every row must be left out exactly once, as KFold, "
            "StratifiedKFold and LeaveOneOut do."
        )
    for seen, unseen in parts:
        parameters = rows_of_parameters(table, params=given.to_fit, indices=seen)
        fitted = unfitted(estimator).fit(take_rows(table, seen), y[seen], **parameters)
        yield FoldModel(fitted, unseen, take_rows(table, unseen))


def folds_of(
    y: NDArray[Any], cv: Any, *, stratified: bool, seed: int, **to_split: Any
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The folds as pairs of row numbers: rows to fit on, and rows to judge."""
    splitter = cv
    if isinstance(cv, Integral):
        n_folds = int(cv)
        if len(y) < n_folds:
            raise ValueError(f"cv={cv} folds need at least {cv} rows; got n_samples={len(y)}. Use fewer folds.")
        largest = int(np.unique(y, return_counts=True)[1].max()) if stratified else n_folds
        if largest < n_folds:
            raise ValueError(f"cv={cv} folds, but no class has more than {largest} rows. Use at most {largest} folds.")
        kinds = (KFold, StratifiedKFold) if to_split.get("groups") is None else (GroupKFold, StratifiedGroupKFold)
        splitter = kinds[stratified](n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer rows than folds: the folds are still well defined.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(check_cv(splitter).split(np.zeros((len(y), 1)), y, **to_split))
