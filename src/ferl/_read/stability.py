"""The stability dial: how the shape of a tree bounds the speed at which its answers change."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel
from ferl._read.certificate import certified_radius
from ferl._read.verdicts import steadiness_verdict
from ferl._util.arrays import Floats
from ferl._util.text import LONG, number_text, spoken

_MOST_PROOFS = 200  # rows whose radius is proven: a wide model may need a millisecond for each


@dataclass(frozen=True)
class StabilityReport:
    """How fast the answers of a model can change, and what in the model decides it.

    Attributes
    ----------
    n_sources : int
        K, the largest number of sources combined for one row.
    n_rows : int or None
        Number of rows K was observed on; None: the number of all sources, which no row can exceed.
    depth : int
        D, the largest number of conditions on a path.
    slope : float
        lambda, the steepest slope of a membership; infinite where a word has an upright side.
    lipschitz : float
        Constant of the soft vote, from the slopes along each path; much smaller than what K, D and lambda give.
    per_spread : float
        The most by which the probability of a class changes per spread (standard deviation over the training rows), if
        all numbers move by as many at once. Of trees that combine by vote; NaN of others, whose bound depends on the
        conflict.
    radius : float
        How far all numbers of a row may move before its label can change, in spreads, proven: the median over some of
        the rows that were given. NaN without rows, and where labels are not certified.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("compact", random_state=0).fit(X, y)
    >>> print(clf.stability_report(X))
    K                 4  sources combined (the most over 150 rows)
    D                 2  conditions on the longest path
    lambda        3.333  steepest slope of a membership
    D lambda      6.667  bounds the change of a firing
    2 K D lambda  53.33  of the masses before normalisation
    4 K D lambda  106.7  of the probabilities, times 1 / (1 - conflict)
    L             12.02  of the soft vote, from each path's own slopes
    Verdict: robust. Half of the rows keep their label, proven, while no number moves by more than 0.55 spreads.
    """

    n_sources: int
    n_rows: int | None
    depth: int
    slope: float
    lipschitz: float
    per_spread: float = math.nan
    radius: float = math.nan

    @property
    def verdict(self) -> str:
        """How steady the answers are, in a sentence."""
        return steadiness_verdict(self.per_spread, self.radius)


@dataclass(frozen=True)
class TreeStabilityReport(StabilityReport):
    """Constants of the paper's stability bound (Prop. 1), and what they are made of.

    All are about rows where the gates are open, and about the max-norm of the change of a row. A firing
    is a product of at most D memberships, so it changes at most D lambda times as fast as the row. The masses of a
    source then change, in sum, by twice that; those of K sources combined, before Dempster's normalisation, by at
    most 2 K D lambda; and probabilities, which are divided by the normaliser Z = 1 - conflict, by
    4 K D lambda / Z. (The paper leaves the factor open and lets it grow with the number of classes; 4 is enough for any
    number, because combining never enlarges the sum of differences of masses.)
    """

    @property
    def firing(self) -> float:
        """Constant of one firing: D lambda."""
        return self.depth * self.slope if self.depth else 0.0

    @property
    def masses(self) -> float:
        """Constant of the masses before normalisation, in L1-norm: 2 K D lambda."""
        return 2 * self.n_sources * self.firing

    @property
    def pignistic(self) -> float:
        """Constant of the pignistic probability, in L1-norm and where nothing is in conflict: 4 K D lambda.

        Where the conflict is at most k, divide it by 1 - k.
        """
        return 2 * self.masses

    def __str__(self) -> str:
        seen = "all sources, a bound for any row" if self.n_rows is None else f"the most over {self.n_rows} rows"
        lines = (
            ("K", f"{self.n_sources}", f"sources combined ({seen})"),
            ("D", f"{self.depth}", "conditions on the longest path"),
            ("lambda", _bound(self.slope), "steepest slope of a membership"),
            ("D lambda", _bound(self.firing), "bounds the change of a firing"),
            ("2 K D lambda", _bound(self.masses), "of the masses before normalisation"),
            ("4 K D lambda", _bound(self.pignistic), "of the probabilities, times 1 / (1 - conflict)"),
            ("L", _bound(self.lipschitz), "of the soft vote, from each path's own slopes"),
        )
        return f"{_table(lines)}\n{self.verdict}"


@dataclass(frozen=True)
class RuleStabilityReport(StabilityReport):
    """How fast the scores of wide rules can change, and in which direction: proven from the rules, not from rows.

    All is about rows where the gates are open. Outside the range of the training rows gates fade all scores towards
    zero, whatever the direction of a feature.

    Attributes
    ----------
    n_sources : int
        The largest number of rules that speak for one row.
    n_rows : int or None
        Number of rows that was observed on; None: the number of all rules, which no row can exceed.
    depth : int
        The largest number of conditions of a rule.
    slope : float
        The steepest slope of a membership; infinite where a word has an upright side.
    lipschitz : float
        The difference of any two scores changes at most this much times the largest change of a feature; the
        probabilities, in sum, at most half of it.
    slopes : ndarray of shape (n_features, n_classes, 2)
        Least and largest slope of the score of a class less that of any other class, per unit of a feature. Where
        the least is not negative, a larger value never makes the class less probable; where the largest is not
        positive, never more probable. Zeros: features that no rule asks. NaN: categories that a rule asks.
    names : tuple of str
        Names of the features.
    classes : tuple
        The labels.
    per_spread : float
        The most by which the probability of a class changes per spread (standard deviation over the training rows), if
        all numbers move by as many at once.
    radius : float
        How far all numbers of a row may move before its label can change, in spreads, proven: the median over some of
        the rows that were given. NaN without rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> names = ["mean radius", "mean texture"]
    >>> clf = FERLClassifier(max_rules=4, monotonic_cst=[-1, 0], random_state=0).fit(X[names], y)
    >>> clf.stability_report().direction("mean radius", 1)
    -1
    """

    slopes: Floats = field(default_factory=lambda: np.zeros((0, 0, 2)))
    names: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()

    def direction(self, feature: str, label: Any) -> int | None:
        """1 where larger values provably never make the label less probable, -1 never more; 0: it does not depend.

        None where nothing is proven, and for categories that a rule asks.

        Parameters
        ----------
        feature : str
            Name of the feature.
        label : object
            One of the classes.

        Returns
        -------
        int or None
        """
        if feature not in self.names:
            raise ValueError(f"There is no feature {feature!r}; the features are {list(self.names)}.")
        if label not in self.classes:
            raise ValueError(f"There is no class {label!r}; the classes are {list(self.classes)}.")
        low, high = self.slopes[self.names.index(feature), self.classes.index(label)]
        if low >= 0:
            return 1 if high > 0 else 0
        return -1 if high <= 0 else None

    def __str__(self) -> str:
        seen = "all rules, a bound for any row" if self.n_rows is None else f"the most over {self.n_rows} rows"
        lines = [
            ("K", f"{self.n_sources}", f"rules that speak ({seen})"),
            ("D", f"{self.depth}", "conditions of the longest rule"),
            ("lambda", _bound(self.slope), "steepest slope of a membership"),
            ("L", _bound(self.lipschitz), "of the difference of any two scores; half of it, of the probabilities"),
        ]
        told = self.classes[1:] if len(self.classes) == 2 else self.classes
        moves = {1: "less", -1: "more"}
        proven = [
            f"Proven: a higher {spoken(name)} never makes {spoken(label)} {moves[direction]} probable."
            for name in self.names
            for label in told
            if (direction := self.direction(name, label)) in moves
        ]
        return "\n".join([_table(lines), *proven, self.verdict])


def _bound(value: float) -> str:
    """A constant that bounds something: four digits, none of them behind a power of ten."""
    return f"{value:,.0f}" if 1e4 <= value < LONG else number_text(value)


def _table(lines: Iterable[tuple[str, str, str]]) -> str:
    """Symbols, numbers and meanings, one line each."""
    lines = list(lines)
    width = max(len(value) for _, value, _ in lines)
    return "\n".join(f"{name:12}  {value:>{width}}  {meaning}" for name, value, meaning in lines)


@singledispatch
def report_stability(model: Any, rows: Floats | None = None) -> StabilityReport:
    """Read the constants off a model.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns), default=None
        Rows over which the number of sources is counted. None: all sources.
    """
    raise TypeError(f"There is no stability report for a {type(model).__name__}.")


@report_stability.register
def _(model: TreeModel, rows: Floats | None = None) -> StabilityReport:
    constants = _constants(model, model, rows)
    return TreeStabilityReport(*constants, model.lipschitz, _vote_per_spread(model), _radius(model, rows))


@report_stability.register
def _(model: RuleModel, rows: Floats | None = None) -> StabilityReport:
    # Gates fade all rules at once; they silence no rule alone.
    constants, slopes = _constants(model, model.with_gates_open, rows), model.slope_bounds()
    per_spread = _score_per_spread(model, slopes)
    names, labels = tuple(model.feature_names()), tuple(model.labels)
    return RuleStabilityReport(*constants, model.lipschitz, per_spread, _radius(model, rows), slopes, names, labels)


def _constants(model: Model, opened: Model, rows: Floats | None) -> tuple[int, int | None, int, float]:
    """Number of sources, of rows, depth and slope; ``opened``: the model whose firings count."""
    speaks, tree = model.speaks, model.tree
    constants = int(tree.depth.max()), float(np.max(tree.slope))
    if rows is None:
        return int(speaks.sum()), None, *constants
    return int((opened.fire(rows)[:, speaks] > 0).sum(axis=1).max()), len(rows), *constants


def _radius(model: Model, rows: Floats | None) -> float:
    """Median over some rows of the radius in spreads that is proven."""
    if rows is None or model.unproven or not len(rows):
        return math.nan
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_PROOFS)).astype(np.intp)]
    return float(np.median(certified_radius(model, np.ascontiguousarray(some), "spread")))


def _vote_per_spread(model: TreeModel) -> float:
    """Change of a probability per spread: half the Lipschitz constant of the vote in spreads."""
    if model.reading.combination != "vote" or model.reading.sources != "leaves":
        return 0.0 if model.tree.n_nodes == 1 else math.nan
    slopes = model.path_slopes(total_spread(model.tree))
    return float(slopes.sum() / 2 if model.tree.word else slopes.max())


def _score_per_spread(model: RuleModel, slopes: Floats) -> float:
    """Change of a probability per spread.

    The difference of two scores changes by the sum of the slopes, and a probability by at most a quarter of the largest
    such difference.
    """
    spread = total_spread(model.tree)[: model.n_features, None]
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(np.abs(slopes).max(axis=2) * spread, posinf=np.inf)
    return float(moved.sum(axis=0).max(initial=0.0) / 4)
