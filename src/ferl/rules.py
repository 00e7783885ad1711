"""Rules: the tree read from the root to each leaf, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl.tree import FuzzyTree

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


@dataclass(frozen=True)
class Bound:
    """One side of a condition: a threshold and the half-width of the band around it."""

    theta: float
    half_width: float


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature: above ``lower``, below ``upper``, or both."""

    feature: int
    lower: Bound | None
    upper: Bound | None

    def text(self, name: str, decimals: int) -> str:
        """The condition as a reader says it."""

        def number(bound: Bound) -> str:
            return f"{bound.theta:.{decimals}f} ±{bound.half_width:.{decimals}f}"

        if self.lower is None and self.upper is not None:
            return f"{name} < {number(self.upper)}"
        if self.upper is None and self.lower is not None:
            return f"{name} > {number(self.lower)}"
        assert self.lower is not None
        assert self.upper is not None
        return f"{number(self.lower)} < {name} < {number(self.upper)}"


@dataclass(frozen=True)
class Rule:
    """A path from the root to a leaf.

    Several conditions on one feature are shown as one: the tightest bound on either side.
    """

    leaf: int
    conditions: tuple[Condition, ...]
    consequent: NDArray[np.float64]
    support: float
    """Training weight behind the rule."""

    @property
    def label(self) -> int:
        """Place of the most probable class in ``classes_``."""
        return int(np.argmax(self.consequent))


def read_rules(tree: FuzzyTree) -> list[Rule]:
    """The rules of a tree, strongest support first."""
    rules = [
        Rule(int(leaf), _conditions(tree, int(leaf)), tree.consequent[leaf], float(tree.weight[leaf]))
        for leaf in tree.leaves
    ]
    return sorted(rules, key=lambda rule: -rule.support)


def _conditions(tree: FuzzyTree, leaf: int) -> tuple[Condition, ...]:
    merged: dict[int, Condition] = {}
    for node in tree.path(leaf):
        feature = int(tree.feature[node])
        a, b, c, d = tree.trapezoid[node]
        lower = Bound((a + b) / 2, (b - a) / 2) if np.isfinite(a) else None
        upper = Bound((c + d) / 2, (d - c) / 2) if np.isfinite(d) else None
        before = merged.get(feature, Condition(feature, None, None))
        merged[feature] = Condition(feature, _tighter(before.lower, lower, max), _tighter(before.upper, upper, min))
    return tuple(merged.values())


def _tighter(one: Bound | None, other: Bound | None, choose: Any) -> Bound | None:
    bounds = [bound for bound in (one, other) if bound is not None]
    return choose(bounds, key=lambda bound: bound.theta) if bounds else None


def feature_names(estimator: FERLClassifier, given: Sequence[str] | None = None) -> list[str]:
    """Names of the features: those given, those of the training table, or x0, x1, ..."""
    if given is not None:
        if len(given) != estimator.n_features_in_:
            raise ValueError(
                f"feature_names has {len(given)} names; the estimator was fitted on "
                f"{estimator.n_features_in_} features."
            )
        return [str(name) for name in given]
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def export_text(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 2,
    max_rules: int | None = None,
) -> str:
    """Rules of a fitted classifier as plain text, strongest support first.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names : sequence of str, optional
        Names to print; by default those of the training table.
    decimals : int
        Digits after the point of thresholds.
    max_rules : int, optional
        Print at most this many rules, and say how many are left out.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, export_text
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y)
    >>> print(export_text(clf, feature_names=["sepal length", "sepal width", "petal length", "petal width"]))
      1. if petal length > 2.46 ±0.09 and petal width < 1.68 ±0.06
         then 1 0.89, 2 0.10, 0 0.01   (support 52.6, 35%)
      2. if petal length < 2.46 ±0.09
         then 0 0.98, 1 0.01, 2 0.01   (support 50.0, 33%)
      3. if petal length > 2.46 ±0.09 and petal width > 1.68 ±0.06
         then 2 0.94, 1 0.05, 0 0.01   (support 47.4, 32%)
    """
    check_is_fitted(estimator)
    names = _names(estimator, feature_names)
    rules = read_rules(estimator.tree_)
    total = float(estimator.tree_.weight[0])
    shown = rules[:max_rules]
    lines = [
        _rule_text(rule, place + 1, names, estimator.classes_, total, decimals) for place, rule in enumerate(shown)
    ]
    if len(shown) < len(rules):
        lines.append(f"... and {len(rules) - len(shown)} more rules")
    return "\n".join(lines)


_names = feature_names  # export_text has a parameter of that name


def _rule_text(rule: Rule, place: int, names: list[str], classes: NDArray[Any], total: float, decimals: int) -> str:
    conditions = " and ".join(condition.text(names[condition.feature], decimals) for condition in rule.conditions)
    order = [c for c in np.argsort(-rule.consequent, kind="stable") if c == rule.label or rule.consequent[c] >= 0.005]
    answer = ", ".join(f"{classes[c]} {rule.consequent[c]:.2f}" for c in order)
    head = f"{place:3d}. if {conditions}" if conditions else f"{place:3d}. always"
    return f"{head}\n     then {answer}   (support {rule.support:.1f}, {rule.support / total:.0%})"
