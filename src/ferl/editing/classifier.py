"""EditedFERL: a classifier of wide rules that an expert has changed, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._learn.update import constraint_of
from ferl._models.rule_model import RuleModel
from ferl._util.text import shown
from ferl._util.threads import n_threads
from ferl.editing.changes import (
    centred,
    dropped,
    fitted_again,
    locked_rules,
    made_monotone,
    reweighted,
    rules_on,
)
from ferl.metrics.comparison import Cost, cost_of_change
from ferl.rules import FERLClassifier


def edit(estimator: FERLClassifier) -> EditedFERL:
    """A copy of a fitted classifier of wide rules, to be changed by hand.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, of wide rules. It stays as it is.

    Returns
    -------
    EditedFERL
        A classifier with the same answers. Each of its edits gives another classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.editing import edit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    >>> changed = edit(clf).forbid(22).drop(1, keep_average=True)
    >>> changed.n_rules_ < clf.n_rules_
    True
    >>> print(changed.cost(X[1::2], y[1::2]))
    accuracy 0.9366 -> 0.9331, log-loss 0.1458 -> 0.1581, AUC 0.9892 -> 0.9874; 9 of 284 rows get another label
    """
    model = model_of(estimator, "edit", RuleModel, "FERLClassifier")
    parameters = FERLClassifier().get_params()
    edited = EditedFERL(**{name: value for name, value in estimator._fitted_parameters().items() if name in parameters})
    edited.original_ = estimator
    return edited._take(model)


class EditedFERL(FERLClassifier):
    """A classifier of wide rules with changes made by hand; see :func:`edit`.

    Every edit returns a new classifier and leaves the old one as it is. Rules go by their numbers in
    :func:`ferl.export_text` and :func:`ferl.rules_frame` of the classifier that is edited: where rules were dropped,
    those behind them have moved up. What was done stands in ``model_.history`` and in the model file.

    Parameters are those of :class:`ferl.FERLClassifier`. ``fit`` learns anew, without any edit.

    Attributes
    ----------
    original_ : FERLClassifier
        The classifier that :func:`edit` was given.
    """

    original_: FERLClassifier

    def drop(self, *rules: int, keep_average: bool = False) -> Self:
        """Without these rules: what they added to the scores is gone.

        Parameters
        ----------
        *rules : int
            Their numbers, from 1.
        keep_average : bool, default=False
            Whether the prior takes over what they said of the training rows on average, so that classes stay as
            frequent as they were.

        Returns
        -------
        EditedFERL
        """
        model, chosen = self._fitted(), self._changeable(rules)
        return self._with(dropped(model, chosen, keep_average, {"edit": "drop", "keep_average": bool(keep_average)}))

    def lock(self, *rules: int) -> Self:
        """Protect rules: later edits of them are refused with an error, and :meth:`refit` leaves their weights alone.

        Parameters
        ----------
        *rules : int
            Their numbers, from 1.

        Returns
        -------
        EditedFERL
        """
        model, chosen = self._fitted(), self._indices(rules)
        record = {"edit": "lock", "rules": [rule + 1 for rule in chosen]}
        return self._with(replace(model, history=(*model.history, record)))

    def set_weight(self, rule: int, weight: float | ArrayLike) -> Self:
        """Another weight of evidence for a rule.

        Parameters
        ----------
        rule : int
            Its number, from 1.
        weight : float or array-like of shape (n_classes,)
            Of two classes: the log-odds of the second one. Otherwise a weight for each class; their mean is taken off,
            which changes no probability.

        Returns
        -------
        EditedFERL
        """
        model, chosen = self._fitted(), self._changeable((rule,))
        own = centred(weight, len(model.classes))[None]
        return self._with(reweighted(model, chosen, own, model.prior, {"edit": "set_weight"}))

    def flatten(self, feature: int | str) -> Self:
        """Without the curve of a feature: rules on it alone are gone, and the prior takes over their average.

        Rules that ask the feature together with others stay; :meth:`forbid` drops them too.

        Parameters
        ----------
        feature : int or str
            Its number, from 0, or its name.

        Returns
        -------
        EditedFERL
        """
        return self._without(feature, "flatten", alone=True)

    def forbid(self, feature: int | str) -> Self:
        """Without all rules that ask a feature, which then counts for nothing; the prior takes over their average.

        Parameters
        ----------
        feature : int or str
            Its number, from 0, or its name.

        Returns
        -------
        EditedFERL
        """
        return self._without(feature, "forbid", alone=False)

    def monotone(self, feature: int | str, sign: int) -> Self:
        """Make the log-odds of the second of two classes never fall, or never rise, as a feature grows.

        Every rule that asks the feature gets a weight of the right sign, so that the scores are proven to be monotone
        where the gates are open. Rules on the feature alone get those weights that come closest to the old curve; rules
        on several features that had the wrong sign fall silent, and the prior takes over their average.

        Parameters
        ----------
        feature : int or str
            Its number, from 0, or its name; a feature of numbers.
        sign : {1, -1}
            1: never fall, -1: never rise.

        Returns
        -------
        EditedFERL
        """
        model = self._fitted()
        index = self._feature(feature)
        if sign not in (1, -1):
            raise ValueError(f"sign is {sign!r}; it must be 1 (never fall) or -1 (never rise).")
        if len(model.classes) != 2:
            raise ValueError(
                f"monotone needs two classes; the model has {len(model.classes)}. Use flatten or set_weight."
            )
        if index in model.category_names:
            raise ValueError(
                f"{model.schema.label(index)} holds categories; they have no order. Use flatten or set_weight."
            )
        return self._with(made_monotone(model, index, sign, locked_rules(model)))

    def refit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, ridge: float | None = None
    ) -> Self:
        """Fit the weights again, so that the other rules make up for what was edited.

        Rules that are locked, and rules whose weight was set by hand, keep their weights; what they say counts while
        the weights of the others and the prior are fitted. Conditions stay as they are, as do rules that were dropped.
        Monotone constraints, by ``monotonic_cst`` or by :meth:`monotone`, hold for all weights that are fitted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to learn from: as a rule those that the classifier was fitted on.
        y : array-like of shape (n_samples,)
            Their labels, of every class that the classifier has learned.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        ridge : float, default=None
            What holds weights back, on the scale of standardised firings; more gives weaker rules. None: what the fit
            has found best, for each rule.

        Returns
        -------
        EditedFERL

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from ferl import FERLClassifier
        >>> from ferl.editing import edit
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
        >>> changed = edit(clf).lock(2).forbid(22)
        >>> again = changed.refit(X[::2], y[::2])
        >>> again.cost(X[::2], y[::2]).after.log_loss < changed.cost(X[::2], y[::2]).after.log_loss
        True
        """
        model = self._fitted()
        if ridge is not None and (isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= ridge < np.inf):
            raise ValueError(f"ridge is {shown(ridge)}; it must be a number of at least 0, or None.")
        block = self._later_rows(X, y, sample_weight, None)
        constraint = constraint_of(model, self._settings())
        return self._with(fitted_again(model, block, constraint, ridge, n_threads(self.n_jobs)))

    def cost(self, X: ArrayLike, y: ArrayLike) -> Cost:
        """What all edits together cost on given rows, against the classifier that :func:`edit` was given.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that the classifier was not fitted on.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        Cost
            Accuracy, log-loss and AUC (of two classes) before and after, and how many rows get another label.
        """
        if "original_" not in vars(self):
            raise ValueError("This classifier was fitted and not edited. Start with ferl.editing.edit(classifier).")
        return cost_of_change(self.classes_, y, self.original_.predict_proba(X), self.predict_proba(X))

    @property
    def locked_(self) -> tuple[int, ...]:
        """Numbers of the rules that are locked."""
        return tuple(rule + 1 for rule in sorted(locked_rules(self._fitted())))

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn anew, without any edit; as :meth:`ferl.FERLClassifier.fit`."""
        self.__dict__.pop("original_", None)
        fitted: Self = super().fit(X, y, sample_weight)
        return fitted

    # -----------------------------------------------------------------------------------------------------------------
    # Helpers
    # -----------------------------------------------------------------------------------------------------------------

    def _with(self, model: RuleModel) -> Self:
        """The same classifier with another model."""
        return copy(self)._take(model)

    def _without(self, feature: int | str, name: str, alone: bool) -> Self:
        model, index = self._fitted(), self._feature(feature)
        rules = rules_on(model, index, alone)
        self._refuse_locked(rules)
        return self._with(dropped(model, rules, True, {"edit": name, "feature": str(model.feature_names()[index])}))

    def _feature(self, feature: int | str) -> int:
        names = self._fitted().feature_names()
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"There is no feature {shown(feature)}; the features are {shown(names)}.")
            return names.index(feature)
        if not 0 <= feature < len(names):
            raise ValueError(f"feature is {feature}; there are features 0 to {len(names) - 1}.")
        return int(feature)

    def _indices(self, rules: Sequence[int]) -> list[int]:
        n_rules = self._fitted().n_rules
        if not rules:
            raise ValueError("Name at least one rule by its number.")
        for rule in rules:
            if isinstance(rule, bool) or not isinstance(rule, int | np.integer) or not 1 <= rule <= n_rules:
                raise ValueError(f"rule is {shown(rule)}; the rules have the numbers 1 to {n_rules}.")
        return sorted({int(rule) - 1 for rule in rules})

    def _changeable(self, rules: Sequence[int]) -> list[int]:
        chosen = self._indices(rules)
        self._refuse_locked(chosen)
        return chosen

    def _refuse_locked(self, rules: Sequence[int]) -> None:
        held = sorted(set(rules) & locked_rules(self._fitted()))
        if held:
            raise ValueError(f"Rule {held[0] + 1} is locked. Edit a classifier in which it is not.")
