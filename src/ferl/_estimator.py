"""What both classifiers share: how parameters and rows become a model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ferl._answers import Answers, AnyModel
from ferl._learn.drift import Drift
from ferl._learn.rows import Block, Facts, Rows, RowsInMemory
from ferl._learn.update import known_codes, rows_of_weight, settle_classes, warn_of_little_weight
from ferl._models.settings import Settings
from ferl._sklearn import (
    Interval,
    RemembersValidParameters,
    ShownAsCard,
    StrOptions,
    check_parameters,
    check_rows,
    fit_context,
    learn_labels,
    learn_table,
)
from ferl._tables import (
    NOTHING_SAID,
    Missing,
    TableDescription,
    group_numbers,
    plain_labels,
    refuse_missing_labels,
    weights_and_factors,
    with_derived,
)
from ferl._tell.notebook import card_html
from ferl._util.threads import n_threads

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "max_rules": [Interval(Integral, 1, None, closed="left"), None],
    "words": ["boolean", str, "array-like"],
    "n_sets": [Interval(Integral, 2, 7, closed="both")],
    "min_rule_worth": [Interval(Real, 0, None, closed="left"), None],
    "support_gate": ["boolean"],
    "gate_margin": [Interval(Real, 0, None, closed="neither")],
    "growth_rows": [Interval(Integral, 2, None, closed="left"), None],
    "n_exemplars": [Interval(Integral, 0, None, closed="left"), None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "missing_conditions": ["boolean"],
    "monotonic_cst": ["array-like", dict, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


@cache
def _parameter_names(cls: Any) -> tuple[str, ...]:
    """As scikit-learn finds them, which inspects the signature at every call, several times in a fit."""
    return tuple(super(FERLEstimator, cls)._get_param_names())


class FERLEstimator(Answers[AnyModel], ClassifierMixin, ShownAsCard, RemembersValidParameters):
    """The base of :class:`ferl.FERLClassifier` and :class:`ferl.FERLTreeClassifier`."""

    _settings_type: ClassVar[type[Settings]]
    _moved: ClassVar[dict[str, str]] = {}  # parameters of an earlier form, and what to write instead

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse moved parameters. A ``__new__`` of a subclass would be its signature: see ``_refuse_moved``."""
        cls._refuse_moved(*args, **parameters)
        return object.__new__(cls)

    @classmethod
    def _refuse_moved(cls, *args: Any, **parameters: Any) -> None:
        """Refuse parameters that another class has now, with the remedy."""
        for name in cls._moved.keys() & parameters.keys():
            raise TypeError(f"{cls.__name__} has no parameter {name!r}: {cls._moved[name]}")

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; one that has moved is refused with the remedy."""
        try:
            self._refuse_moved(**params)
        except TypeError as error:  # scikit-learn raises this for names that it does not find
            raise ValueError(str(error)) from None
        changed: Self = super().set_params(**params)
        return changed

    def _card_html(self) -> str:
        return card_html(self.model_) if hasattr(self, "model_") else ""

    def show(self, X: ArrayLike | None = None, y: ArrayLike | None = None, *, height: int = 760) -> Any:
        """Show the model in a notebook, with a form that predicts any row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows to judge; best rows that were not used for fitting. None: the form and the model alone.
        y : array-like of shape (n_samples,), default=None
            Their labels. None: metrics are left out.
        height : int, default=760
            Height of the frame in pixels.

        Returns
        -------
        ferl.report.Shown
            A notebook displays it; its ``html`` is the page of :func:`ferl.report.write_report`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> FERLClassifier(random_state=0).fit(X, y).show(height=500).html[:15]
        '<!doctype html>'
        """
        # By name: the report is a layer above, which most users of a classifier never load.
        return import_module("ferl.report").show(self, X, y, height=height)

    @abstractmethod
    def _learn(self, settings: Any, rows: Rows) -> AnyModel:
        """The model of rows, wherever they are."""

    @abstractmethod
    def _update(self, settings: Any, block: Block) -> tuple[AnyModel, Drift]:
        """The model after one more block, and how the block differs from the rows before."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        units: Mapping[str, str] | None = None,
        describe: Any = None,
    ) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers, dates and categories (text, booleans, categorical columns), with or without missing values: NumPy,
            pandas, polars, pyarrow.
        y : array-like of shape (n_samples,)
            Labels. The name of a Series is the target's name in sentences.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: weight 2 is the row twice. Weights that average less than one per given row are
            scaled up to one, whatever rows are equal; there, the row twice is two rows.
        units : mapping of str to str, default=None
            Units of numbers, by column: {"glucose": "mg/dl"}. For readers only.
        describe : TableDescription, mapping, str or path-like, default=None
            Description of the table, or a JSON or YAML file with it. Names, units and meanings of values are for
            readers; orders of categories and markers of missing values decide how columns are read. See
            docs/guide/tables.md.

        Returns
        -------
        self : estimator
            The fitted classifier itself.
        """
        return self._fit(X, y, sample_weight, description=TableDescription.of(describe, units))

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None = None,
        description: TableDescription = NOTHING_SAID,
        groups: Any = None,
    ) -> Self:
        settings = self._settings()
        settings.check()  # before the table is read, which may take long
        self._forget()
        try:
            rows = self._training_rows(X, y, sample_weight, classes, description, groups)
            return self._take(self._learn(settings, rows))
        except BaseException:
            self._forget()  # an interrupted or refused fit leaves no half-new, half-old model behind
            raise

    def _forget(self) -> None:
        for name in ("model_", "drift_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _settings(self) -> Any:
        return self._settings_type.of(self.get_params(deep=False))

    def _training_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None = None,
        description: TableDescription = NOTHING_SAID,
        groups: Any = None,
    ) -> Rows:
        """The rows to learn from, checked; subclasses override this for rows elsewhere."""
        table, schema, result, found_codes = learn_table(self, X, y, self.categorical_features, description)
        settled, codes = settle_classes(result, found_codes, classes)
        weight, unit = weights_and_factors(sample_weight, self.class_weight, settled, codes)
        lacks = np.isnan(table[weight > 0]).any(axis=0) if self.missing_conditions else np.zeros(0, dtype=bool)
        missing = tuple(np.flatnonzero(lacks).tolist())
        block = Block(with_derived(table, list(map(Missing, missing))), codes, weight)
        facts = Facts(schema, missing, settled, unit, has_groups=groups is not None)
        if groups is not None:
            block = replace(block, group=group_numbers(groups, len(codes)))
        return RowsInMemory.of_table(block, facts, n_threads(self.n_jobs))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows without growing anew.

        The first block grows the rules, as :meth:`fit` does. Later ones leave their conditions as they are and update
        what these sum up: class weights and distributions, the ranges where gates are open, means, variances,
        exemplars and weights of evidence. ``drift_`` describes how the block differs
        from the rows before; where it does, or where the first block was small, :meth:`fit` on all rows finds better
        conditions. See docs/guide/updating.md.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The block, with the columns of the first one. A category that the first one lacked goes where a missing
            value goes.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            First call: all labels, where the first block does not have them all. The others have weight 0 until they
            come. Later calls: may be left out, or must be the same.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. The first block's are scaled as in :meth:`fit`; later ones count as they are, so
            that a block can have less influence.

        Returns
        -------
        self : estimator
            The classifier itself. After an error it is the model it was before.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLTreeClassifier("deep", random_state=0).partial_fit(X[::2], y[::2])
        >>> clf.partial_fit(X[1::2], y[1::2]).tree_.class_weight[0]
        array([50., 50., 50.])
        >>> abs(clf.drift_.z) < 3
        True
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, and partial_fit sees a block. Pass a dict.'
            )
        if not self.__sklearn_is_fitted__():
            self._fit(X, y, sample_weight, classes)
            self._begin_updates(X, y, sample_weight, classes)
            self.drift_ = None
            return self
        check_parameters(self)
        settings = self._settings()
        settings.refuse()
        block = warn_of_little_weight(self._later_rows(X, y, sample_weight, classes))
        self.model_, self.drift_ = self._update(settings, block)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows whose label is right, as in scikit-learn; rows without a label are refused, as in fit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        float
        """
        refuse_missing_labels(y, self._fitted().classes.tolist())
        return float(super().score(X, plain_labels(y), sample_weight))

    def _begin_updates(self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None) -> None:
        """Keep what later blocks will need of the first one."""

    def _later_rows(
        self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None, as_given: bool = True
    ) -> Block:
        """Rows of some weight as the fitted model reads them, checked; ``as_given``: whether class weights stay."""
        rows, known = check_rows(self, X, is_training=True), self.classes_
        result, found_codes = learn_labels(self, y, rows.shape, known.tolist())
        codes = known_codes(result, found_codes, classes, known)
        weight, _ = weights_and_factors(sample_weight, self.class_weight, known, codes, as_given=as_given)
        return rows_of_weight(Block(rows, codes, weight))

    def _read_as(self, **given: Any) -> Self:
        """Another classifier that shares this fitted model and reads its evidence by other parameters."""
        check_is_fitted(self)
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        check_parameters(clone(self).set_params(**changes))
        other = copy(self)
        other.model_ = self.model_.read(replace(self.model_.reading, **changes))
        read: Self = other.set_params(**(other._fitted_parameters() | changes))
        return read

    def _fitted_parameters(self) -> dict[str, Any]:
        """The parameters; parameters that determined the fitted model have their values at the fit."""
        model = self._fitted()
        parameters: dict[str, Any] = self.get_params(deep=False)
        settled = {field.name: getattr(model.reading, field.name) for field in fields(model.reading)}
        presets = self._settings_type.presets(parameters)
        # A parameter that was None stays None where it still means the same.
        return parameters | {
            name: value for name, value in settled.items() if parameters[name] is not None or value != presets[name]
        }

    @classmethod
    def _get_param_names(cls) -> list[str]:
        result: list[str] = list(_parameter_names(cls))  # type: ignore[arg-type]  # classes can be hashed
        return result

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        # Not categorical, which scikit-learn means of tables of nothing but categories: its checks round all numbers.
        return tags
