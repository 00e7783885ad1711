"""Edits by hand: drop or lock rules, set a weight, change curves and maps, forbid a feature; and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear
from sklearn.isotonic import isotonic_regression

from ferl._answers import model_of
from ferl._learn.cases import scaled_rules, with_average
from ferl._learn.rows import Block
from ferl._learn.update import constraint_of
from ferl._learn.update_rules import refitted
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import kept_rows, mean_firing
from ferl._models.terms import CurvesAndMaps
from ferl._models.tree import FuzzyTree
from ferl._tell.statements import rule_text
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import feature_index, shown
from ferl._util.threads import n_threads
from ferl.metrics.comparison import Cost, cost_of_change
from ferl.rules import FERLClassifier

__all__ = ["EditedFERL", "edit"]


def edit(estimator: FERLClassifier) -> EditedFERL:
    """A copy of a fitted classifier of rules, to be changed by hand.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, of rules. It stays as it is.

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
    accuracy 0.9366 -> 0.9331, log-loss 0.1459 -> 0.1581, AUC 0.9892 -> 0.9874; 9 of 284 rows get another label
    """
    model = model_of(estimator, "edit", RuleModel, "FERLClassifier")
    parameters = FERLClassifier().get_params()
    edited = EditedFERL(**{name: value for name, value in estimator._fitted_parameters().items() if name in parameters})
    edited.original_ = estimator
    return edited._take(model)


class EditedFERL(FERLClassifier):
    """A classifier whose rules, curves and maps were changed by hand; see :func:`edit`.

    Every edit returns a new classifier and leaves the old one as it is. Rules go by their numbers in
    :func:`ferl.export_text` and :func:`ferl.rules_frame` of the classifier that :func:`edit` was given, and keep them:
    where rules were dropped, their numbers are missing, in edits, texts and files alike. ``model_.history`` and the
    model file record every edit.

    It has the parameters of :class:`ferl.FERLClassifier`. ``fit`` learns a new model, without any edit.

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
            Whether the prior takes over their average over the training rows, so that classes stay as frequent as
            they were.

        Returns
        -------
        EditedFERL
        """
        model, chosen = self._fitted(), self._changeable(rules)
        return self._with(dropped(model, chosen, keep_average, {"edit": "drop", "keep_average": bool(keep_average)}))

    def lock(self, *terms: int | str | tuple[int | str, int | str]) -> Self:
        """Protect terms: later edits of them are refused with an error, and :meth:`refit` leaves their weights alone.

        Parameters
        ----------
        *terms : int, str or tuple
            Numbers of rules, from 1; the name of a feature, for its curve; two features (names, or numbers from 0),
            for their map.

        Returns
        -------
        EditedFERL
        """
        model = self._fitted()
        rules = [term for term in terms if not isinstance(term, str | tuple)]
        record: dict[str, Any] = {"edit": "lock", "rules": []}
        if rules or not terms:
            record["rules"] = [model.numbers[rule] for rule in self._indices(rules)]
        pictures = [self._picture(term) for term in terms if isinstance(term, str | tuple)]
        if pictures:
            record["pictures"] = [_picture_names(model, term) for term in pictures]
        return self._with(replace(model, history=(*model.history, record)))

    def set_weight(self, rule: int, weight: float | ArrayLike) -> Self:
        """Another weight of evidence for a rule.

        Parameters
        ----------
        rule : int
            Its number, from 1.
        weight : float or array-like of shape (n_classes,)
            Two classes: the log-odds of the second one. Three or more: a weight for each class; their mean is
            subtracted, which changes no probability.

        Returns
        -------
        EditedFERL
        """
        model, chosen = self._fitted(), self._changeable((rule,))
        centred_weight = centred(weight, len(model.classes))[None]
        return self._with(reweighted(model, chosen, centred_weight, model.prior, {"edit": "set_weight"}))

    def flatten(self, feature: int | str | tuple[int | str, int | str]) -> Self:
        """Without the curve of a feature, or without the map of two; the prior takes over their average.

        The rules on the feature alone are part of its curve and go with it. Rules and maps of the feature together with
        others stay; :meth:`forbid` drops them too.

        Parameters
        ----------
        feature : int, str or tuple of two of them
            Number of the feature, from 0, or its name; two features for their map.

        Returns
        -------
        EditedFERL
        """
        if isinstance(feature, tuple):
            model, term = self._fitted(), self._picture(feature)
            self._refuse_locked_pictures([term])
            return self._with(dropped(model, [], True, {"edit": "flatten"}, [term]))
        return self._without(feature, "flatten", alone=True)

    def smooth(self, feature: int | str | tuple[int | str, int | str], *, steps: int = 1) -> Self:
        """Smooth the curve of a feature, or the map of two: each cell becomes a mean with its neighbours.

        Means are weighted by the training rows in each cell, a neighbour counting half, so that the average over the
        training rows stays. Missing values and categories keep their values, and so do rules.

        Parameters
        ----------
        feature : int, str or tuple of two of them
            Number of the feature, from 0, or its name; two features for their map.
        steps : int, default=1
            How often; more steps make smoother curves.

        Returns
        -------
        EditedFERL
        """
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise ValueError(f"steps is {shown(steps)}; it must be a whole number of at least 1.")
        model, term = self._fitted(), self._picture(feature)
        self._refuse_locked_pictures([term])
        curves = with_picture(model, term, smoothed(model, term, int(steps)))
        record = {"edit": "smooth", "pictures": [_picture_names(model, term)], "steps": int(steps)}
        return self._with(_changed(model, record, curves=curves))

    def forbid(self, feature: int | str) -> Self:
        """Without all rules, curves and maps of a feature, which then adds nothing; the prior takes over their average.

        Parameters
        ----------
        feature : int or str
            Its number, from 0, or its name.

        Returns
        -------
        EditedFERL
        """
        return self._without(feature, "forbid", alone=False)

    def strike(self, *cases: int) -> Self:
        """Without some of the known cases, which then vote no more; :meth:`cost` counts the answers that changes.

        Parameters
        ----------
        *cases : int
            Their numbers, as :meth:`ferl.FERLClassifier.similar` returns them. None: all cases; the rules then count
            as much as without cases.

        Returns
        -------
        EditedFERL

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from ferl import FERLClassifier
        >>> from ferl.editing import edit
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = FERLClassifier(cases=True, random_state=0).fit(X[::2], y[::2])
        >>> nearest = clf.similar(X[:1], n=1).case[0, 0]
        >>> edit(clf).strike(nearest).n_cases_, clf.n_cases_
        (284, 285)
        """
        model = self._fitted()
        if model.cases is None:
            raise ValueError("The model has no known cases to strike out; cases_ has why.")
        numbers = [_case_number(case) for case in cases]
        unknown = sorted(set(numbers) - set(model.cases.place.tolist()))
        if unknown:
            raise ValueError(
                f"There is no case {unknown[0]}; similar(X) returns the numbers of cases. Equal rows of one class are "
                "one case, which has the number of the first of them."
            )
        record: dict[str, Any] = {"edit": "strike", "cases": numbers or "all"}
        gone = np.isin(model.cases.place, numbers) if numbers else np.ones(model.cases.n_cases, dtype=bool)
        tree, kept = _without_exemplars(model.tree, model.cases.row[gone]), model.cases.keep(~gone)
        if kept is not None:
            return self._with(_changed(model, record, tree=tree, cases=with_average(kept)))
        choice = model.case_choice
        scale = 1.0 if choice is None else choice.scale
        if scale != 1:
            self._refuse_locked(range(model.n_rules))
        alone = scaled_rules(model, 1 / scale)
        parts = {name: getattr(alone, name) for name in ("rules", "curves", "prior")}
        choice = choice and replace(choice, is_used=False, scale=1.0)
        return self._with(_changed(model, record, tree=tree, cases=None, case_choice=choice, **parts))

    def monotone(self, feature: int | str, sign: int) -> Self:
        """Make the log-odds of the second of two classes never fall, or never rise, as a feature grows.

        Every rule on the feature gets a weight of the right sign, so that the scores are proven to be monotone. Rules
        on the feature alone get the weights that come closest to the old curve; rules on several features that had the
        wrong sign get weight 0, and the prior takes over their average. The learned curve becomes the closest monotone
        one, and maps of the feature are removed. Outside the range of the training rows the feature counts as its
        nearest end in scores and probabilities; its gate takes away from belief alone.

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
        index = feature_index(feature, model.feature_names())
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
        if model.cases is not None:
            raise ValueError(
                "monotone would not hold: the vote of known cases follows no direction. Strike them out first: "
                "edit(clf).strike().monotone(...)."
            )
        if index in model.leaving_features:
            raise ValueError(
                f"{model.schema.label(index)} holds dates, of which rules read the parts; these have no direction. Use "
                "flatten or set_weight."
            )
        maps = pictures_on(model, index, alone=False)
        self._refuse_locked_pictures(maps)
        result = made_monotone(model, index, sign, locked_rules(model))
        return self._with(with_monotone_pictures(result, index, sign))

    def refit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, ridge: float | None = None
    ) -> Self:
        """Fit the weights again, so that the other rules make up for what was edited.

        Rules that are locked, and rules whose weight was set by hand, keep their weights; they count, as curves and
        maps do, while the weights of the others and the prior are fitted. Conditions stay as they are, and dropped
        rules stay away. Monotone constraints, by ``monotonic_cst`` or by :meth:`monotone`, hold for all weights that
        are fitted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to learn from, usually the training rows of the classifier.
        y : array-like of shape (n_samples,)
            Their labels; every class of the classifier must occur.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        ridge : float, default=None
            Ridge penalty on the weights, on the scale of standardised firings; a larger ridge gives weaker rules. None:
            the ridge that the fit chose for each rule.

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
        if ridge is not None and (isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= ridge <= 1e100):
            raise ValueError(f"ridge is {shown(ridge)}; it must be a number from 0 to 1e100, or None.")
        block = self._later_rows(X, y, sample_weight, None, as_given=False)
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
        model = self._fitted()
        return tuple(model.numbers[rule] for rule in sorted(locked_rules(model)))

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("original_", None)  # what is fitted anew has no edits

    # -----------------------------------------------------------------------------------------------------------------
    # Helpers
    # -----------------------------------------------------------------------------------------------------------------

    def _with(self, model: RuleModel) -> Self:
        """The same classifier with another model."""
        return copy(self)._take(model)

    def _without(self, feature: int | str, name: str, alone: bool) -> Self:
        model = self._fitted()
        index = feature_index(feature, model.feature_names())
        rules, pictures = rules_on(model, index, alone), pictures_on(model, index, alone)
        self._refuse_locked(rules)
        self._refuse_locked_pictures(pictures)
        record = {"edit": name, "feature": str(model.feature_names()[index])}
        result = dropped(model, rules, True, record, pictures)
        if model.cases is not None and not alone:  # the feature must not count in the distance of cases either
            counts = [model.feature_of(column) != index for column in range(len(model.cases.per_unit))]
            result = replace(result, cases=with_average(replace(model.cases, per_unit=model.cases.per_unit * counts)))
        return self._with(result)

    def _picture(self, feature: int | str | tuple[int | str, int | str]) -> int:
        """Index of the curve of a feature, or of the map of two."""
        model = self._fitted()
        given = feature if isinstance(feature, tuple) else (feature,)
        if len(given) > 2:
            raise ValueError(f"feature is {shown(feature)}; name one feature for its curve, or two for their map.")
        wanted = {feature_index(item, model.feature_names()) for item in given}
        for term, columns in enumerate(() if model.curves is None else model.curves.term_columns):
            if set(columns) == wanted:
                return term
        names = " and ".join(shown(model.feature_names()[item]) for item in sorted(wanted))
        what = "curve of" if len(wanted) == 1 else "map of"
        raise ValueError(f"There is no {what} {names} behind the rules; n_curves_ and n_maps_ count what there is.")

    def _refuse_locked_pictures(self, terms: Sequence[int]) -> None:
        model = self._fitted()
        locked = locked_pictures(model)
        for term in terms:
            names = _picture_names(model, term)
            if names in locked:
                what = "curve" if len(names) == 1 else "map"
                raise ValueError(
                    f"The {what} of {' and '.join(names)} is locked. Edit a classifier in which it is not."
                )

    def _indices(self, rules: Sequence[int]) -> list[int]:
        numbers = self._fitted().numbers
        if not rules:
            raise ValueError("Name at least one rule by its number.")
        for rule in rules:
            if isinstance(rule, bool) or not isinstance(rule, int | np.integer) or rule not in numbers:
                last = max(numbers, default=0)
                gone = ", but for those that were dropped" if len(numbers) < last else ""
                have = f"the rules have the numbers 1 to {last}{gone}" if numbers else "no rules are left"
                raise ValueError(f"rule is {shown(rule)}; {have}.")
        return sorted({numbers.index(int(rule)) for rule in rules})

    def _changeable(self, rules: Sequence[int]) -> list[int]:
        chosen = self._indices(rules)
        self._refuse_locked(chosen)
        return chosen

    def _refuse_locked(self, rules: Sequence[int]) -> None:
        held = sorted(set(rules) & locked_rules(self._fitted()))
        if held:
            raise ValueError(f"Rule {self._fitted().numbers[held[0]]} is locked. Edit a classifier in which it is not.")


# ---------------------------------------------------------------------------------------------------------------------
# Changes: from a model to another one, with a record of what was changed
# ---------------------------------------------------------------------------------------------------------------------


def dropped(
    model: RuleModel, rules: Sequence[int], to_prior: bool, record: dict[str, Any], pictures: Sequence[int] = ()
) -> RuleModel:
    """The model without some rules, curves and maps.

    Parameters
    ----------
    model : RuleModel
        The rules.
    rules : sequence of int
        Indices of the rules.
    to_prior : bool
        Whether their average over the training rows is added to the prior.
    record : dict
        Entry of the history.
    pictures : sequence of int, default=()
        Indices of the curves and maps, whose average is always added to the prior.

    Returns
    -------
    RuleModel
    """
    old, tree = model.rules, model.tree
    stays = np.ones(len(old.node), dtype=bool)
    stays[list(rules)] = False
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[0] = True
    for node in old.node[stays].tolist():
        kept[tree.path(node)] = True
    number = np.cumsum(kept) - 1
    prior = model.prior
    if to_prior:
        gone = mean_firing(model)[list(rules), None] * old.weight[list(rules)]
        prior = prior + gone.sum(axis=0)
    fewer = old.keep(stays, number[old.node[stays]].astype(np.int32))
    details = {
        "dropped": [model.numbers[rule] for rule in rules],
        "conditions": [_conditions(model, rule) for rule in rules],
    }
    curves = model.curves
    if pictures and curves is not None:
        details["pictures"] = [_picture_names(model, term) for term in pictures]
        prior = prior + curves.mean(tree)[list(pictures)].sum(axis=0)
        curves = curves.keep([term for term in range(curves.n_terms) if term not in pictures])
    return _changed(model, record | details, tree=tree.keep(kept), rules=fewer, prior=prior, curves=curves)


def reweighted(
    model: RuleModel, rules: Sequence[int], weight: Floats, prior: Floats, record: dict[str, Any]
) -> RuleModel:
    """The model with other weights of some rules, shape (n_rules, n_classes), and with another prior."""
    changed = model.rules.weight.copy()
    changed[list(rules)] = weight
    details = {
        "rules": [model.numbers[rule] for rule in rules],
        "conditions": [_conditions(model, rule) for rule in rules],
        "weights": weight.tolist(),
    }
    return _changed(model, record | details, rules=replace(model.rules, weight=changed), prior=prior)


def _case_number(case: Any) -> int:
    """The number of a case, refused where it is none."""
    if isinstance(case, bool) or not isinstance(case, Integral):
        raise ValueError(f"{shown(case)} is no number of a case; write strike(12, 57), or strike(*numbers) for a list.")
    return int(case)


def _without_exemplars(tree: FuzzyTree, rows: Floats) -> FuzzyTree:
    """The tree whose root no longer keeps some rows for novelty: rows that are struck out must not stay in files."""
    profile = tree.profile
    exemplar_row = profile.exemplar_row
    if not len(exemplar_row):
        return tree
    gone = {row.tobytes() for row in np.where(np.isnan(rows), np.nan, rows + 0.0)}
    stays = np.array(
        [row.tobytes() not in gone for row in np.where(np.isnan(exemplar_row), np.nan, exemplar_row + 0.0)]
    )
    exemplar = np.full((tree.n_nodes, int(stays.sum())), -1, dtype=np.int32)
    exemplar[0] = np.arange(exemplar.shape[1])
    return replace(tree, profile=replace(profile, exemplar=exemplar, exemplar_row=exemplar_row[stays]))


def _changed(model: RuleModel, record: dict[str, Any], **parts: Any) -> RuleModel:
    """The model with other parts, without what was learned about its old weights."""
    return replace(model, **parts, curvature=None, novelty_scale=None, history=(*model.history, record))


def pictures_on(model: RuleModel, feature: int, alone: bool) -> list[int]:
    """Indices of the curves and maps of a feature; ``alone``: of its curve."""
    result = enumerate(() if model.curves is None else model.curves.term_columns)
    return [term for term, columns in result if feature in columns and (not alone or len(columns) == 1)]


def _picture_names(model: RuleModel, term: int) -> list[str]:
    assert model.curves is not None
    return [str(model.feature_names()[column]) for column in model.curves.term_columns[term]]


def locked_pictures(model: RuleModel) -> list[list[str]]:
    """Features of the curves and maps that are locked."""
    locks = [record for record in model.history if record.get("edit") == "lock"]
    result = [pictures for record in locks if isinstance(pictures := record.get("pictures"), list)]
    return [names for item in result for names in item if isinstance(names, list)]


def with_picture(model: RuleModel, term: int, table: Floats) -> CurvesAndMaps:
    """The curves and maps with other values of one of them, ``table`` as from :meth:`CurvesAndMaps.table`."""
    assert model.curves is not None
    value = model.curves.value.copy()
    value[model.curves.cells(term)] = table.reshape(-1, value.shape[1])
    return replace(model.curves, value=value)


def smoothed(model: RuleModel, term: int, steps: int) -> Floats:
    """The values of a curve or map, each cell a mean with its neighbours along the axes of numbers.

    Neighbours exchange parts in proportion to the training weight in both, so that the mean over the rows stays.
    """
    curves = model.curves
    assert curves is not None
    table = curves.table(term).copy()
    weight = curves.support[curves.cells(term)].reshape(curves.shape(term)) + 1e-9
    for _ in range(steps):
        for axis, column in enumerate(curves.term_columns[term]):
            if curves.n_categories[column]:
                continue
            along, mass = np.moveaxis(table, axis, 0), np.moveaxis(weight, axis, 0)[..., None]
            flow = mass[1:-1] * mass[2:] / (mass[1:-1] + mass[2:]) / 2 * np.diff(along[1:], axis=0)
            along[1:-1] += flow / mass[1:-1]
            along[2:] -= flow / mass[2:]
    return np.asarray(table)


def with_monotone_pictures(model: RuleModel, feature: int, sign: int) -> RuleModel:
    """The model whose curve of a feature is the closest monotone one, and that has no map of the feature."""
    maps = [term for term in pictures_on(model, feature, alone=False) if term not in pictures_on(model, feature, True)]
    curves = model.curves
    for term in pictures_on(model, feature, alone=True):
        assert curves is not None
        table, weight = curves.table(term).copy(), curves.support[curves.cells(term)] + 1e-9
        line = table[1:, 1] - table[1:, 0]
        result = isotonic_regression(line, sample_weight=weight[1:], increasing=sign > 0)
        table[1:] = np.stack([-result / 2, result / 2], axis=1)
        curves = with_picture(replace(model, curves=curves), term, table)
    if curves is not None and maps:
        prior = model.prior + curves.mean(model.tree)[maps].sum(axis=0)
        kept = curves.keep([term for term in range(curves.n_terms) if term not in maps])
        return replace(model, curves=kept, prior=prior)
    return replace(model, curves=curves)


def locked_rules(model: RuleModel) -> frozenset[int]:
    """Indices of the rules that are locked."""
    return _rules_of_edits(model, ("lock",))


def held_rules(model: RuleModel) -> frozenset[int]:
    """Indices of the rules that a refit holds: locked rules, and rules whose weight was set by hand."""
    return _rules_of_edits(model, ("lock", "set_weight"))


def _rules_of_edits(model: RuleModel, edits: Sequence[str]) -> frozenset[int]:
    """Indices of the rules of some edits, from the history, which may come from a file that holds something else."""
    named = [record.get("rules") for record in model.history if record.get("edit") in edits]
    result = {number for numbers in named if isinstance(numbers, list) for number in numbers if type(number) is int}
    return frozenset(rule for rule, number in enumerate(model.numbers) if number in result)


def constraint_of_edits(model: RuleModel, constraint: Ints | None) -> Ints | None:
    """Sign of each column's monotone constraint: from the fit, or from a later edit.

    Parameters
    ----------
    model : RuleModel
        With its history.
    constraint : ndarray of shape (n_columns,) or None
        By which the model was fitted.

    Returns
    -------
    ndarray of shape (n_columns,) or None
    """
    names, n_columns = model.feature_names(), model.n_features + len(model.derived)
    result = np.zeros(n_columns, dtype=np.int32) if constraint is None else constraint.copy()
    for record in model.history:
        if record.get("edit") == "monotone" and record.get("feature") in names and record.get("sign") in (1, -1):
            result[names.index(record["feature"])] = record["sign"]
    return result if result.any() else None


def fitted_again(
    model: RuleModel, block: Block, constraint: Ints | None, ridge: float | None, n_threads: int
) -> RuleModel:
    """The model with new weights for all rules, except rules that are locked or were set by hand.

    Parameters
    ----------
    model : RuleModel
        The rules.
    block : Block
        Rows as the model reads them, all of some weight.
    constraint : ndarray of shape (n_columns,) or None
        Sign of each column's monotone constraint, by which the model was fitted.
    ridge : float or None
        What holds weights back; None: what did so in the fit.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    RuleModel
    """
    held = held_rules(model)
    used = model.rules.ridge if ridge is None else np.full(model.n_rules, float(ridge))
    result = refitted(model, block, held, constraint_of_edits(model, constraint), used, n_threads)
    record = {"edit": "refit", "n_rows": len(block.X), "held": [model.numbers[rule] for rule in sorted(held)]}
    if ridge is not None:
        record["ridge"] = float(ridge)
        result = replace(result, rules=replace(result.rules, ridge=used))
    return replace(result, history=(*model.history, record))


def rules_on(model: RuleModel, feature: int, alone: bool) -> list[int]:
    """Indices of the rules that use a feature; ``alone``: that use nothing else."""
    result = []
    for rule, node in enumerate(model.rules.node.tolist()):
        asked = {model.feature_of(int(model.tree.feature[step])) for step in model.tree.path(node)}
        if feature in asked and (not alone or len(asked) == 1):
            result.append(rule)
    return result


def centred(weight: Any, n_classes: int) -> Floats:
    """A weight of evidence for each class, with sum zero, from log-odds of the second of two classes or from weights.

    Parameters
    ----------
    weight : float or array-like of shape (n_classes,)
        What was given.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    try:
        given = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weight is {shown(weight)}; give numbers, one for each of {n_classes} classes.") from error
    if given.shape == () and n_classes == 2:
        given = np.array([-given / 2, given / 2])
    if given.shape != (n_classes,):
        scalar = " or one number, the log-odds of the second class" if n_classes == 2 else ""
        raise ValueError(f"weight has shape {given.shape}; give {n_classes} numbers, one for each class{scalar}.")
    if not (np.abs(given) <= _LARGEST_WEIGHT).all():
        raise ValueError(
            f"weight is {shown(weight)}; weights of evidence must be finite, at most {_LARGEST_WEIGHT:g} in magnitude. "
            "A weight of 40 is certainty already."
        )
    return np.asarray(given - given.mean())


_LARGEST_WEIGHT = 1e9  # sums of rules and what the prior takes over stay far below the largest number of a file


# ---------------------------------------------------------------------------------------------------------------------
# Monotone curves
# ---------------------------------------------------------------------------------------------------------------------


def made_monotone(model: RuleModel, feature: int, sign: int, locked: Iterable[int]) -> RuleModel:
    """The model of two classes whose log-odds of the second class never fall (or never rise) in a feature.

    Every rule on the feature gets a weight of the right sign, which proves the constraint for the whole score. The
    weights of the rules on the feature alone are chosen to come closest to the old curve. A rule on several features
    that had the wrong sign is silenced, and its average is added to the prior.

    Parameters
    ----------
    model : RuleModel
        The rules and two classes.
    feature : int
        The feature, a number.
    sign : {1, -1}
        1: log-odds of the second class never fall.
    locked : iterable of int
        Indices of rules that may not change.

    Returns
    -------
    RuleModel
    """
    weight, held = model.rules.weight, set(locked)
    asking = {rule: sign * _direction(model, rule, feature) for rule in rules_on(model, feature, alone=False)}
    rules = [rule for rule, way in asking.items() if way != 0]
    direction = np.array([asking[rule] for rule in rules])
    line = weight[rules, 1] - weight[rules, 0]
    agrees = _agrees(line, direction)
    for rule, agreed in zip(rules, agrees, strict=True):
        if rule in held and not agreed:
            raise ValueError(
                f"Rule {model.numbers[rule]} is locked and has the opposite direction: {_conditions(model, rule)}."
            )
    alone = np.isin(rules, rules_on(model, feature, alone=True))
    wished, shift = np.where(agrees, line, 0.0), 0.0
    if not agrees[alone].all():
        fixed = np.isin(rules, list(held))[alone]
        wished[alone], shift = _closest(model, np.array(rules)[alone].tolist(), line[alone], direction[alone], fixed)
    shift += float((mean_firing(model)[rules] * (line - wished))[~alone].sum())
    changed = np.flatnonzero(wished != line)
    new = np.stack([-wished[changed] / 2, wished[changed] / 2], axis=1)
    record = {"edit": "monotone", "feature": str(model.feature_names()[feature]), "sign": int(sign)}
    prior = model.prior + np.array([-shift / 2, shift / 2])
    level = replace(model, level_columns=tuple(sorted({*model.level_columns, feature})))  # a gate would break it
    return reweighted(level, [rules[k] for k in changed], new, prior, record)


def _agrees(line: Floats, direction: Floats) -> Bools:
    """Whether rules have weights of the right sign; a condition that rises and falls (NaN) may have none at all."""
    return np.asarray(np.where(np.isnan(direction), line == 0, line * np.nan_to_num(direction) >= 0))


def _direction(model: RuleModel, rule: int, feature: int) -> float:
    """1 if a rule fires more as a feature grows, -1 if it fires less, 0 if it does not depend on it, NaN: both."""
    result = set()
    for node in model.tree.path(int(model.rules.node[rule])):
        if model.tree.feature[node] == feature:  # not its indicator, which is about missing values alone
            a, _, _, d = model.tree.trapezoid[node]
            result |= ({1.0} if np.isfinite(a) else set()) | ({-1.0} if np.isfinite(d) else set())
    return result.pop() if len(result) == 1 else (np.nan if result else 0.0)


def _closest(model: RuleModel, rules: list[int], line: Floats, direction: Floats, fixed: Bools) -> tuple[Floats, float]:
    """Weights of the right signs whose curve, shifted by a constant, comes closest to the curve of the old weights.

    Weights that are ``fixed`` stay. The distance is measured on the training rows that the model keeps, or at the
    corners of the rules where it keeps none.
    """
    tree, nodes = model.tree, model.rules.node[rules]
    rows = kept_rows(model)
    if not len(rows):
        column = int(tree.feature[nodes[0]])
        values = tree.trapezoid[nodes].ravel()
        rows = np.full((int(np.isfinite(values).sum()), model.n_features + len(model.derived)), np.nan)
        rows[:, column] = values[np.isfinite(values)]
    firing = tree.fire(rows, gated=False)[:, nodes]
    rising, falling = direction > 0, direction < 0  # neither: a condition that rises and falls, which must be silent
    low = np.where(fixed, line, np.where(falling, -np.inf, 0.0)) - _TINY
    high = np.where(fixed, line, np.where(rising, np.inf, 0.0)) + _TINY
    design = np.column_stack([firing, np.ones(len(rows))])
    # A small ridge towards the old weights decides where rows leave them open.
    ridge = 1e-6 * np.eye(len(rules), len(rules) + 1)
    target = np.concatenate([firing @ line, 1e-6 * line])
    result = lsq_linear(np.vstack([design, ridge]), target, bounds=(np.append(low, -np.inf), np.append(high, np.inf)))
    solved = np.where(rising, np.maximum(result.x[:-1], 0.0), np.where(falling, np.minimum(result.x[:-1], 0.0), 0.0))
    return np.where(fixed, line, solved), float(result.x[-1])


_TINY = 1e-12  # bounds may not coincide


def _conditions(model: RuleModel, rule: int) -> str:
    return rule_text(model, int(model.rules.node[rule])) or "always"
