"""How safe a label is and how steady answers are: certificates, stability reports, and their verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ferl._models.certificates import (
    certified_radius,
    check_scale,
    global_radius,
    local_radius,
    proven_radius,
    refuse_uncertified,
)
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel
from ferl._tell.page import Readable, Section, Table
from ferl._util.arrays import Floats
from ferl._util.text import LONG, index_of, number_text, points_text, spoken

# In standard deviations; over thirty tables the median radius of a deep tree is a third.
LITTLE_MARGIN, WIDE_MARGIN = 0.1, 0.5
NOTICED = 0.1  # a change of a probability that people notice
STEADY, STEEP = 0.1, 0.01  # standard deviations that such a change takes at least
OWN_UNIT, SCALE_UNIT, DEVIATIONS = "in its own unit", "in units of scale", "standard deviations"
# A feature limits a radius if holding it still raises the radius by more than this share; bisection ends well below.
_NOTICEABLE = 1e-6
_MOST_PROOFS = 200  # rows whose radius is proven: rules may need a millisecond for each


@dataclass(frozen=True)
class Certificate(Readable):
    """How far one row may move, and which features set the limit.

    All radii are in the units of ``scale``: a radius r allows every feature f to change by ``r * scale[f]`` at once.

    Attributes
    ----------
    label : object
        The predicted label.
    runner_up : object
        The second most probable label; None if there is one class only.
    radius : float
        The label is the same at every row within this max-norm distance.
    global_radius : float
        What the Lipschitz constant of the whole tree proves, the paper's certificate; NaN where it does not apply.
    alone : ndarray of shape (n_features,)
        How far each feature may move while all others stay.
    held : ndarray of shape (n_features,)
        The radius if this feature stays while all others move.
    names : tuple of str
        Names of the features.
    unit : str
        Unit of the radii: "standard deviations"; "in its own unit", the unit of each feature; or "in units of scale".
    spreads : float
        The radius in standard deviations of each feature over the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> print(clf.certificate(X.iloc[[70]]))
    The label stays 2 as long as no number moves by more than 0.02886 in its own unit; the next label is 1.
      petal width (cm)   may move 0.04976 alone; if it stays, the others may move 0.06875
      petal length (cm)  may move 0.1229 alone; if it stays, the others may move 0.03773
      sepal width (cm)   may move 0.2103 alone; if it stays, the others may move 0.03346
      sepal length (cm)  may move 0.6051 alone; if it stays, the others may move 0.03031
    Verdict: little margin. The label stays 2 while no number moves by more than 0.03 standard deviations.
    >>> round(clf.certificate(X.iloc[[70]], scale="spread").radius, 2)
    0.03
    """

    label: Any
    runner_up: Any
    radius: float
    global_radius: float
    alone: Floats
    held: Floats
    names: tuple[str, ...]
    unit: str = OWN_UNIT
    spreads: float = math.nan

    _width: ClassVar[int | None] = None

    @property
    def verdict(self) -> str:
        """How safe the label is, in a sentence."""
        return margin_verdict(spoken(self.label), self.radius if math.isnan(self.spreads) else self.spreads)

    @property
    def limits(self) -> tuple[str, ...]:
        """Features whose bands limit the radius, the strongest first: without their movement it would be larger."""
        if math.isinf(self.radius):
            return ()
        order = np.argsort(-self.held, kind="stable")
        return tuple(self.names[f] for f in order if self.held[f] > self.radius * (1 + _NOTICEABLE))

    @cached_property
    def _sections(self) -> list[Section]:
        label = spoken(self.label)
        if math.isinf(self.radius):
            return [Section("", (f"The label stays {label}, whatever the numbers.", self.verdict))]
        if self.radius == 0:
            return [Section("", (f"The label is {label} without a margin: nothing is certified.", self.verdict))]
        far = f"The label stays {label} as long as no number moves by more than {_distance(self.radius)} {self.unit}"
        lines = [far + (f"; the next label is {spoken(self.runner_up)}." if self.runner_up is not None else ".")]
        if not math.isnan(self.global_radius):
            lines.append(f"By the Lipschitz constant alone it stays for {_distance(self.global_radius)}.")
        rows = []
        for name in self.limits:
            f = self.names.index(name)
            alone, others = _distance(self.alone[f]), _distance(self.held[f])
            text = f"may move {alone} alone; if it stays, the others may move {others}"
            rows.append((f"  {spoken(name)}", text))
        limits = [Table((), tuple(rows), "ll")] if rows else []
        return [Section("", (*lines, *limits, self.verdict))]


def _distance(radius: float) -> str:
    return "any distance" if math.isinf(radius) else number_text(rounded_down(radius, 4))


def certify(model: Model, row: Floats, scale: ArrayLike | str | None = None) -> Certificate:
    """The certificate of one row.

    Parameters
    ----------
    model : Model
        One that combines by Dempster's rule or by vote.
    row : ndarray of shape (1, n_columns)
        The row as the model reads it.
    scale : array-like of shape (n_features,) or "spread", default=None
        Unit of each feature.

    Returns
    -------
    Certificate
    """
    refuse_uncertified(model)
    unit = check_scale(model, scale)
    evidence = model.evidence(row)

    def radius(moving: Floats) -> float:
        return float(local_radius(model, row, evidence, moving)[0])

    local = radius(unit)
    alone, held = np.full(len(unit), np.inf), np.full(len(unit), local)
    for f in model.condition_columns.tolist():
        if not unit[f] > 0:
            continue
        only = np.zeros(len(unit))
        only[f] = unit[f]
        alone[f], held[f] = radius(only), radius(unit - only)
    order = np.argsort(-evidence.probability[0], kind="stable")
    n_features = model.n_features  # behind them, whether values are missing, which does not move
    proven = float(global_radius(model, row, evidence, unit)[0])
    in_spreads = check_scale(model, "spread")
    return Certificate(
        label=model.labels[order[0]],
        runner_up=model.labels[order[1]] if len(order) > 1 else None,
        radius=float(np.fmax(local, proven)),
        global_radius=proven,
        alone=alone[:n_features],
        held=held[:n_features],
        names=tuple(model.feature_names()),
        unit=OWN_UNIT if scale is None else DEVIATIONS if isinstance(scale, str) else SCALE_UNIT,
        spreads=float(proven_radius(model, row, evidence, in_spreads)[0]),
    )


@dataclass(frozen=True)
class StabilityReport(Readable):
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
        The most by which the probability of a class changes per standard deviation over the training rows, if
        all numbers move by the same number of standard deviations at once. NaN for trees that do not combine by vote,
        whose bound depends on the conflict.
    radius : float
        How far all numbers of a row may move before its label can change, proven, in standard deviations: the median
        over some of the rows that were given. NaN without rows, and where labels are not certified.

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
    D lambda      6.667  bounds the slope of a firing
    2 K D lambda  53.33  bounds the slope of the masses, before normalisation
    4 K D lambda  106.7  bounds the slope of the probabilities, times 1 / (1 - conflict)
    L             12.02  bounds the slope of the soft vote, from the slopes of each path
    Verdict: robust. Half of the rows provably keep their label if numbers move by at most 0.55 standard deviations.
    """

    n_sources: int
    n_rows: int | None
    depth: int
    slope: float
    lipschitz: float
    per_spread: float = math.nan
    radius: float = math.nan

    _width: ClassVar[int | None] = None

    @property
    def verdict(self) -> str:
        """How steady the answers are, in a sentence."""
        if self.n_rows is not None and math.isnan(self.radius) and not math.isfinite(self.per_spread):
            return "Verdict: nothing is proven for these rows."
        return steadiness_verdict(self.per_spread, self.radius)

    def _page(self, what: str, longest: str, more: list[tuple[str, float, str]], *proven: str) -> list[Section]:
        """Symbols, numbers and meanings, then what is proven and the verdict."""
        seen = f"the most over {self.n_rows} rows"
        if self.n_rows is None:
            seen = f"all {what.split()[0]}, a bound for any row"
        rows = [("K", f"{self.n_sources}", f"{what} ({seen})"), ("D", f"{self.depth}", longest)]
        bounds = [("lambda", self.slope, "steepest slope of a membership"), *more]
        rows += [(symbol, _bound(value), meaning) for symbol, value, meaning in bounds]
        lines = tuple((f"{symbol:12}", value, meaning) for symbol, value, meaning in rows)
        return [Section("", (Table((), lines, "lrl"), *proven, self.verdict))]


@dataclass(frozen=True)
class TreeStabilityReport(StabilityReport):
    """Constants of the paper's stability bound (Prop. 1), and what they are made of.

    All are about rows where the gates are open, and about the max-norm of the change of a row. A firing is a product of
    at most D memberships, so it changes at most D lambda times as fast as the row. The masses of a source then change,
    in sum, by twice that. The masses of K combined sources, before Dempster's normalisation, change by at most 2 K D
    lambda. Probabilities, which are divided by the normaliser Z = 1 - conflict, change by at most 4 K D lambda / Z.
    (The paper leaves the factor open and lets it grow with the number of classes; 4 is enough for any number, because
    combining never enlarges the sum of differences of masses.)
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

    @cached_property
    def _sections(self) -> list[Section]:
        bounds = [
            ("D lambda", self.firing, "bounds the slope of a firing"),
            ("2 K D lambda", self.masses, "bounds the slope of the masses, before normalisation"),
            ("4 K D lambda", self.pignistic, "bounds the slope of the probabilities, times 1 / (1 - conflict)"),
            ("L", self.lipschitz, "bounds the slope of the soft vote, from the slopes of each path"),
        ]
        return self._page("sources combined", "conditions on the longest path", bounds)


@dataclass(frozen=True)
class RuleStabilityReport(StabilityReport):
    """How fast the scores of rules can change, and in which direction: proven from the rules, not from rows.

    Slopes are valid where the gates are open. Outside the range of the training rows gates fade all scores towards the
    class frequencies, whatever the direction of a feature, so the proofs hold within the range. A feature under a
    monotone constraint fades no score, and its proofs hold for all values.

    Attributes
    ----------
    n_sources : int
        The largest number of rules that fire for one row.
    n_rows : int or None
        Number of rows behind this maximum; None: the number of all rules, which no row can exceed.
    depth : int
        The largest number of conditions of a rule.
    slope : float
        The steepest slope of a membership; infinite where a word has an upright side.
    lipschitz : float
        The difference of any two scores changes at most this much times the largest change of a feature; the
        probabilities, in sum, at most half of it.
    slopes : ndarray of shape (n_features, n_classes, 2)
        Least and largest slope of the score of a class minus the score of any other class, per unit of a feature. Where
        the least is not negative, a larger value never makes the class less probable; where the largest is not
        positive, never more probable. Zeros: features that no rule uses. NaN: categories that a rule uses.
    names : tuple of str
        Names of the features.
    classes : tuple
        The labels.
    reach : tuple of (float, float)
        For each feature between which values its directions hold; infinite ones where no gate fades scores.
    per_spread : float
        The most by which the probability of a class changes per standard deviation over the training rows, if
        all numbers move by the same number of standard deviations at once.
    radius : float
        How far all numbers of a row may move before its label can change, proven, in standard deviations: the median
        over some of the rows that were given. NaN without rows.

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
    reach: tuple[tuple[float, float], ...] = ()

    def direction(self, feature: str, label: Any) -> int | None:
        """1 where larger values provably never make the label less probable, -1 never more; 0: it does not depend.

        None where nothing is proven, and for categories that a rule uses. It holds for values within ``reach``,
        whatever the other features are.

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
        low, high = self.slopes[index_of(feature, self.names, "feature"), index_of(label, self.classes, "class")]
        if low >= 0:
            return 1 if high > 0 else 0
        return -1 if high <= 0 else None

    @cached_property
    def _sections(self) -> list[Section]:
        classes = self.classes[1:] if len(self.classes) == 2 else self.classes
        moves = {1: "less", -1: "more"}
        proven = [
            f"Proven: a higher {spoken(name)} never makes {spoken(label)} {moves[way]} probable{_between(low, high)}."
            for name, (low, high) in zip(self.names, self.reach, strict=True)
            for label in classes
            if (way := self.direction(name, label)) in moves
        ]
        bounds = [
            ("L", self.lipschitz, "bounds the slope of any difference of two scores; half of it, of any probability")
        ]
        return self._page("rules that apply", "conditions of the longest rule", bounds, *proven)


def _between(low: float, high: float) -> str:
    """Where something is proven, in words; nothing where that is everywhere."""
    return "" if math.isinf(low) and math.isinf(high) else f", from {number_text(low)} to {number_text(high)}"


def _bound(value: float) -> str:
    """A constant that bounds something: four digits, none of them behind a power of ten."""
    return f"{value:,.0f}" if 1e4 <= value < LONG else number_text(value)


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
    fading, everywhere = set(model.gated_columns[: model.n_fading].tolist()), (-math.inf, math.inf)
    reach = [(model.seen(f) if f in fading else None) or everywhere for f in range(model.n_features)]
    radius = _radius(model, rows)
    return RuleStabilityReport(*constants, model.lipschitz, per_spread, radius, slopes, names, labels, tuple(reach))


def _constants(model: Model, opened: Model, rows: Floats | None) -> tuple[int, int | None, int, float]:
    """Number of sources, of rows, depth and slope; ``opened``: the model whose firings count."""
    speaks, tree = model.is_rule, model.tree
    constants = int(tree.depth.max()), float(np.max(tree.slope))
    if rows is None:
        return int(speaks.sum()), None, *constants
    return int((opened.fire(rows)[:, speaks] > 0).sum(axis=1).max()), len(rows), *constants


def _radius(model: Model, rows: Floats | None) -> float:
    """Median over some rows of the radius in standard deviations that is proven."""
    if rows is None or model.unproven or not len(rows):
        return math.nan
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_PROOFS)).astype(np.intp)]
    return float(np.median(certified_radius(model, np.ascontiguousarray(some), "spread")))


def _vote_per_spread(model: TreeModel) -> float:
    """Change of a probability per standard deviation: half the Lipschitz constant of the vote."""
    if model.reading.combination != "vote" or model.reading.sources != "leaves":
        return 0.0 if model.tree.n_nodes == 1 else math.nan
    slopes = model.path_slopes(total_spread(model.tree))
    return float(slopes.sum() / 2 if model.tree.word else slopes.max())


def _score_per_spread(model: RuleModel, slopes: Floats) -> float:
    """Change of a probability per standard deviation.

    The difference of two scores changes by the sum of the slopes, and a probability by at most a quarter of the largest
    such difference.
    """
    spread = total_spread(model.tree)[: model.n_features, None]
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(np.abs(slopes).max(axis=2) * spread, posinf=np.inf)
    return float(moved.sum(axis=0).max(initial=0.0) / 4)


def rounded_down(value: float, digits: int) -> float:
    """The largest number of so many significant digits that a positive value reaches; rounding of the last bits aside.

    Examples
    --------
    >>> rounded_down(1.28, 2), rounded_down(0.3, 2)
    (1.2, 0.3)
    """
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.{digits}g}")


def deviations_text(distance: float) -> str:
    """A distance in standard deviations, with two significant digits, rounded down: what is proven stays proven.

    Examples
    --------
    >>> deviations_text(1.0), deviations_text(0.5), deviations_text(1.28)
    ('1 standard deviation', '0.5 standard deviations', '1.2 standard deviations')
    """
    text = f"{rounded_down(distance, 2):.2g}" if distance < 100 else f"{math.floor(distance)}"
    return f"{text} {'standard deviation' if text == '1' else 'standard deviations'}"


def margin_verdict(label: str, deviations: float) -> str:
    """How safe a label is, from the radius in standard deviations in which it is proven to stay.

    Parameters
    ----------
    label : str
        The label.
    deviations : float
        How far all numbers may move at once, in standard deviations over the training rows.

    Returns
    -------
    str

    Examples
    --------
    >>> margin_verdict("ill", 0.05)
    'Verdict: little margin. The label stays ill while no number moves by more than 0.05 standard deviations.'
    >>> margin_verdict("ill", 0.0)
    'Verdict: no margin. The smallest change may change the label from ill.'
    """
    if math.isinf(deviations):
        return f"Verdict: certain. The label stays {label} however far the numbers move."
    if deviations <= 0:
        return f"Verdict: no margin. The smallest change may change the label from {label}."
    word = "little" if deviations < LITTLE_MARGIN else "some" if deviations < WIDE_MARGIN else "wide"
    far = deviations_text(deviations)
    return f"Verdict: {word} margin. The label stays {label} while no number moves by more than {far}."


def steadiness_verdict(per_spread: float, radius: float = math.nan) -> str:
    """How steady answers are.

    Parameters
    ----------
    per_spread : float
        The most by which the probability of a class changes where all numbers move by one standard deviation, as if it
        changed evenly; NaN: not known.
    radius : float, default=nan
        How far all numbers of a row may move before its label can change, in standard deviations, the median over rows;
        NaN: no rows were given, or nothing can be proven of them.

    Returns
    -------
    str

    Examples
    --------
    >>> steadiness_verdict(0.5)[:95]
    'Verdict: steady. No probability changes by more than 10 points while no number moves by more th'
    >>> print(steadiness_verdict(0.5, radius=0.62))
    Verdict: robust. Half of the rows provably keep their label if numbers move by at most 0.62 standard deviations.
    """
    if not math.isnan(radius):
        word = "fragile" if radius < LITTLE_MARGIN else "fairly robust" if radius < WIDE_MARGIN else "robust"
        far = "however far the numbers move"
        if math.isfinite(radius):
            far = f"if numbers move by at most {deviations_text(radius)}"
        return f"Verdict: {word}. Half of the rows provably keep their label {far}."
    if math.isnan(per_spread) or math.isinf(per_spread):
        return "Verdict: nothing is proven for all rows at once. stability_report(X) may prove bounds for given rows."
    if per_spread == 0:
        return "Verdict: steady. No move of the numbers changes any probability."
    move = NOTICED / per_spread
    word = "steady" if move >= STEADY else "moderate" if move >= STEEP else "steep"
    return (
        f"Verdict: {word}. No probability changes by more than {points_text(NOTICED)} while no number moves by more "
        f"than {deviations_text(move)}, where all gates are open."
    )
