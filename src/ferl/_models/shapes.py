"""Shapes of a model: one curve for each feature, and what is left for several features together.

Terms on one feature may cancel each other. What counts is their sum: a line with corners and steps over the values of a
number, or one weight of evidence for each category. Terms on several features are kept by these features.
The prior, all curves and all interactions add up to the scores of a row whose gates are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from ferl._models.model import Model, kept_by_model
from ferl._models.rule_model import RuleModel
from ferl._models.terms import CurvesAndMaps, Terms, cells_from_cuts
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._tables import Derived, add_up_derived, with_derived
from ferl._util.arrays import Bools, Floats


@dataclass(frozen=True, eq=False, repr=False)
class Summed:
    """Some terms of a model, read together; it does not hold the model, which keeps its shapes."""

    tree: FuzzyTree
    terms: tuple[Terms, ...]
    chosen: tuple[int, ...]
    n_features: int
    derived: tuple[Derived, ...]

    def at(self, values: dict[int, Floats]) -> Floats:
        """What the terms add to rows whose gates are open and that have these values, (n_rows, n_classes)."""
        nothing = np.full((len(next(iter(values.values()))), self.n_features), np.nan)
        for feature, item in values.items():
            if feature < self.n_features:
                nothing[:, feature] = item
        rows = with_derived(nothing, self.derived)
        for column, entry in values.items():
            rows[:, column] = entry
        return added_by(self.tree, self.terms, rows, self.chosen)


def added_by(tree: FuzzyTree, terms: Sequence[Terms], rows: Floats, chosen: Sequence[int]) -> Floats:
    """What some terms add to rows whose gates are open, shape (n_samples, n_classes)."""
    result, first, is_open = [], 0, np.ones(len(rows))
    for block in terms:
        block_terms = [term - first for term in chosen if first <= term < first + block.n_terms]
        if block_terms:
            result.append(block.contributions(tree, rows, is_open)[:, block_terms].sum(axis=1))
        first += block.n_terms
    return np.asarray(sum(result))


@dataclass(frozen=True, eq=False, repr=False)
class Shape:
    """What the terms on the same features add together.

    Attributes
    ----------
    features : tuple of int
        The features, in ascending order. A rule on whether a feature is missing counts for this feature. Evidence and
        parts of dates are separate columns, behind the features.
    rules : tuple of int
        Indices of the rules.
    pictures : tuple of int
        Indices of the curves and maps, among all of these.
    mean : ndarray of shape (n_classes,)
        Mean of the shape over the training rows.
    importance : float
        How far it moves two classes apart: the largest difference between the weights of two classes, after ``mean`` is
        taken off, averaged over the training rows that the model keeps. Two classes: the mean absolute difference of
        log-odds. A model that keeps no rows has the bound that the mean firings of the rules give.
    """

    features: tuple[int, ...]
    rules: tuple[int, ...]
    pictures: tuple[int, ...]
    mean: Floats
    importance: float


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Shape):
    """All terms on one feature, summed.

    Attributes
    ----------
    values : ndarray of shape (n_corners,)
        Numbers: where the line bends, ascending; before the first and behind the last corner it is level. Categories:
        their codes.
    evidence : ndarray of shape (n_corners, n_classes)
        Weight of evidence at each corner, linear in between; or the weight of each category.
    missing : ndarray of shape (n_classes,)
        Weight of evidence of a missing value.
    unseen : ndarray of shape (n_classes,), or None
        Weight of evidence of a category that is not in the training rows; None for numbers.
    seen : tuple of float
        Smallest and largest value in training; NaN where there was none.
    """

    values: Floats
    evidence: Floats
    missing: Floats
    unseen: Floats | None
    seen: tuple[float, float]

    @cached_property
    def feature(self) -> int:
        """The feature."""
        return self.features[0]

    @property
    def is_categorical(self) -> bool:
        """Whether values are categories."""
        return self.unseen is not None

    def at(self, values: Floats) -> Floats:
        """Weight of evidence of values (numbers, or codes of categories; NaN: missing), shape (n_values, n_classes)."""
        known = np.where(np.isnan(values), self.values[0], values)
        if self.unseen is not None:
            weights = np.vstack([self.evidence, self.unseen])[np.minimum(known, len(self.evidence)).astype(np.intp)]
        else:
            weights = np.stack([np.interp(known, self.values, item) for item in self.evidence.T], axis=1)
        return np.where(np.isnan(values)[:, None], self.missing, weights)


@dataclass(frozen=True, eq=False, repr=False)
class Interaction(Shape):
    """All terms on the same several features, summed.

    Attributes
    ----------
    corners : tuple of ndarray
        Of each feature: the numbers where a term bends or steps, ascending, or the codes of all categories. Between
        neighbouring corners of numbers the sum is linear in each feature.
    summed : Summed
        Reads these terms.
    """

    corners: tuple[Floats, ...]
    summed: Summed

    def at(self, *values: Floats) -> Floats:
        """Weight of evidence of rows, shape (n_rows, n_classes), from one array of values for each feature."""
        return self.summed.at(dict(zip(self.features, values, strict=True)))

    def grid(self, *values: Floats) -> Floats:
        """Weight of evidence of all combinations of values, by default the corners.

        Parameters
        ----------
        *values : ndarray of shape (n_values,)
            Numbers or codes of categories, one array for each feature.

        Returns
        -------
        ndarray of shape (n_values of the first feature, of the second, ..., n_classes)
        """
        axes = values or self.corners
        mesh = np.meshgrid(*axes, indexing="ij")
        return self.at(*(item.ravel() for item in mesh)).reshape(*mesh[0].shape, -1)


@dataclass(frozen=True, eq=False, repr=False)
class Shapes:
    """A model of rules as a prior, curves and interactions, the most important of each first.

    The prior plus the means of all shapes is the mean score of the training rows (``base``); shapes minus their means
    are the effects of values relative to it.
    """

    prior: Floats
    curves: tuple[Curve, ...]
    interactions: tuple[Interaction, ...]

    def __repr__(self) -> str:
        return f"<Shapes: {len(self.curves)} curves, {len(self.interactions)} interactions>"

    @property
    def all(self) -> tuple[Curve | Interaction, ...]:
        """Curves and interactions together, the most important first."""
        return tuple(sorted((*self.curves, *self.interactions), key=lambda shape: -shape.importance))

    @property
    def base(self) -> Floats:
        """Mean scores of the training rows, shape (n_classes,)."""
        return np.asarray(self.prior + sum(shape.mean for shape in self.all))

    def curve(self, feature: int) -> Curve | None:
        """The curve of a feature, or None if no rule uses this feature alone."""
        return next((curve for curve in self.curves if curve.feature == feature), None)


@kept_by_model
def read_shapes(model: RuleModel) -> Shapes:
    """The rules of a model, summed by the features that they use; computed once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(max_conditions=1, random_state=0).fit(X, y)
    >>> shapes = read_shapes(clf.model_)
    >>> parts = [curve.at(X[:1, curve.feature]) for curve in shapes.curves]
    >>> bool(abs(shapes.prior + sum(parts) - clf.decision_function(X[:1])).max() < 1e-12)
    True
    """
    terms_of: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for term, columns in enumerate(model.term_columns):
        if not columns:  # the vote of cases: no matter of single features
            continue
        features = tuple(sorted({model.reading_of(column) for column in columns}))
        # Two conditions on one column multiply, which is no line; such a rule stays apart.
        is_curve = len(features) == 1 and len(set(columns)) == len(columns)
        terms_of.setdefault((features, is_curve), []).append(term)
    kept, means = kept_rows(model), model.mean_contributions
    curves, others = [], []
    for (features, is_curve), terms in terms_of.items():
        rules = [term for term in terms if term < model.n_rules]
        pictures = [term - model.n_rules for term in terms if term >= model.n_rules]
        mean = np.asarray(means[terms].sum(axis=0))
        summed = Summed(model.tree, model.terms, tuple(terms), model.n_features, model.derived)
        corners = tuple(_corners(model, feature, rules, pictures) for feature in features)
        item = Shape(features, tuple(rules), tuple(pictures), mean, _importance(model, terms, mean, kept))
        if is_curve:
            curves.append(_curve(model, item, corners[0], summed))
        else:
            others.append(Interaction(**vars(item), corners=corners, summed=summed))
    return Shapes(
        model.prior,
        tuple(sorted(curves, key=lambda shape: (-shape.importance, shape.features))),
        tuple(sorted(others, key=lambda shape: (-shape.importance, shape.features))),
    )


def _importance(model: RuleModel, terms: list[int], mean: Floats, kept: Floats) -> float:
    if len(kept):
        return float(np.ptp(added_by(model.tree, model.terms, kept, terms) - mean, axis=1).mean())
    # A rule that fires fully for a share m of the rows lies 2 m (1 - m) from its mean on average, others less.
    rules = [term for term in terms if term < model.n_rules]
    firing, weight = mean_firing(model)[rules], model.rules.weight[rules]
    result = float((2 * firing * (1 - firing) * np.ptp(weight, axis=1)).sum())
    for term in terms[len(rules) :]:
        curves = model.terms[1]
        assert isinstance(curves, CurvesAndMaps)
        cells = curves.cells(term - model.n_rules)
        value, support = curves.value[cells], curves.support[cells]
        result += float(
            (np.ptp(value - model.mean_contributions[term], axis=1) * support).sum() / max(support.sum(), 1e-300)
        )
    return result


def _curve(model: RuleModel, shape: Shape, values: Floats, summed: Summed) -> Curve:
    feature = shape.features[0]
    is_categorical = feature in model.category_names
    unseen = [float(len(values))] if is_categorical else []
    weights = summed.at({feature: np.array([*values, *unseen, np.nan])})
    low, high = model.ranges[feature].tolist()
    return Curve(
        **vars(shape),
        values=values,
        evidence=weights[: len(values)],
        missing=weights[-1],
        unseen=weights[-2] if is_categorical else None,
        seen=(low, high) if low <= high else (np.nan, np.nan),
    )


@singledispatch
def feature_importances(model: Any) -> Floats:
    """How much each feature matters, as shares of one, shape (n_features,).

    Rules: how far the values of a feature move two classes apart, averaged over training rows (see :class:`Shape`). The
    effect of rules on several features is shared equally among them, as their weights are.

    Trees: the weighted Gini decrease of the feature's conditions. Every condition divides the training weight of the
    node above it into what fits and what does not; its decrease is the Gini impurity times weight of the node above,
    minus the same product for the two parts. The two sides of a learned split have equal decreases, so the shares equal
    scikit-learn's; a word of a compact tree counts by itself. A condition on a value being missing counts for its
    feature.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative, with sum one; all zero for a model without conditions, or of conditions that explain nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y).feature_importances_.round(2)
    array([0.  , 0.  , 0.56, 0.44])
    """
    raise TypeError(f"A {type(model).__name__} has no importances.")


@feature_importances.register
def _(model: RuleModel) -> Floats:
    result = np.zeros(model.n_features)
    for shape in read_shapes(model).all:
        for column in shape.features:
            result[model.feature_of(column)] += shape.importance / len(shape.features)
    return _shares(result)


@feature_importances.register
def _(model: TreeModel) -> Floats:
    by_column = np.zeros((1, model.n_features + len(model.derived)))
    np.add.at(by_column[0], model.tree.feature[1:], condition_decrease(model.tree)[1:])
    return _shares(add_up_derived(by_column, model.derived)[0])


def _shares(parts: Floats) -> Floats:
    total = parts.sum()
    return np.asarray(parts / total if total > 0 else np.zeros(len(parts)))


def condition_decrease(tree: FuzzyTree) -> Floats:
    """Decrease of impurity times weight by each node's own condition, shape (n_nodes,); 0 at the root."""
    above = tree.class_weight[np.maximum(tree.parent, 0)]
    rest = np.maximum(above - tree.class_weight, 0.0)
    decrease = _impurity(above) - _impurity(tree.class_weight) - _impurity(rest)
    decrease[0] = 0.0
    return np.maximum(decrease, 0.0)


def _impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight."""
    weight = class_weight.sum(axis=1)
    squares = (class_weight**2).sum(axis=1)
    return np.asarray(weight - np.divide(squares, weight, out=np.zeros(len(weight)), where=weight > 0))


def kept_rows(model: Model) -> Floats:
    """Training rows that the model keeps, shape (n_kept, n_columns).

    All of them where they are few. Otherwise rows that cover the others, so that unusual rows are more frequent here.
    """
    profile = model.tree.profile
    kept = profile.exemplar[0] if profile.has_exemplars else np.zeros(0, dtype=np.int32)
    return np.asarray(profile.exemplar_row[kept[kept >= 0]])


def _corners(model: RuleModel, feature: int, rules: Sequence[int], pictures: Sequence[int]) -> Floats:
    """Values of a feature at which these terms bend or step, or the codes of its categories; at least one."""
    if feature in model.category_names:
        return np.arange(len(model.category_names[feature]), dtype=np.float64)
    if model.column_kinds[feature].is_ordered:
        return np.arange(len(model.column_kinds[feature].order), dtype=np.float64)
    tree, result = model.tree, set()
    for node in (step for rule in rules for step in tree.path(int(model.rules.node[rule]))):
        if tree.feature[node] == feature:
            a, b, c, d = tree.trapezoid[node].tolist()
            # Beside an upright side the next number has no membership any more: the line falls in between.
            result |= {np.nextafter(a, -np.inf) if a == b else a, b, c, np.nextafter(d, np.inf) if c == d else d}
    if model.curves is not None:
        for term in pictures:
            columns = model.curves.term_columns[term]
            if feature in columns:  # the cell of a cut ends at it, the next one begins at the next number
                cuts = model.curves.cuts(term)[columns.index(feature)]
                result |= {*cuts.tolist(), *np.nextafter(cuts, np.inf).tolist()}
    bends = sorted(value for value in result if np.isfinite(value))
    return np.array(bends or [float(np.nan_to_num(model.ranges[feature, 0], posinf=0.0))])


def cell_edges(model: RuleModel, shape: Shape, axis: int, low: float, high: float, n_least: int = 0) -> Floats:
    """Edges of the cells of maps along a number, between two ends; with rules, evenly spaced edges are added."""
    assert model.curves is not None
    feature, result = shape.features[axis], [np.array([low, high])]
    for term in shape.pictures:
        columns = model.curves.term_columns[term]
        result += [model.curves.cuts(term)[columns.index(feature)]] if feature in columns else []
    if shape.rules:
        result.append(np.linspace(low, high, n_least + 1))
    edges = np.unique(np.concatenate(result))
    return np.asarray(edges[(edges >= low) & (edges <= high)])


def is_supported(model: RuleModel, shape: Shape, first: Floats, second: Floats) -> Bools:
    """Whether training rows lie in the cells of maps that hold values, shape (n_first, n_second)."""
    curves, result = model.curves, np.full((len(first), len(second)), not shape.pictures)
    values = dict(zip(shape.features, (first, second), strict=False))
    for term in shape.pictures:
        assert curves is not None
        columns, cuts = curves.term_columns[term], curves.cuts(term)
        cells = [
            cells_from_cuts(values[column], cut, int(curves.n_categories[column]))
            for column, cut in zip(columns, cuts, strict=True)
        ]
        has_rows = curves.support[curves.cells(term)].reshape(curves.shape(term))[np.ix_(*cells)] > 0
        result |= has_rows if columns[0] == shape.features[0] else has_rows.T
    return result


def mean_firing(model: RuleModel) -> Floats:
    """Mean firing of each rule over the training rows, shape (n_rules,)."""
    return model.rules.mean_activation(model.tree)
