"""What the words of a compact tree mean."""

from __future__ import annotations

import copy
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl._model.tree import FuzzyTree
from ferl._tables import INDICATOR_CATEGORIES, Schema
from ferl._util.text import category_text, one_line, spoken

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


def word_meanings(estimator: FERLClassifier, names: Sequence[str], columns: Iterable[int] | None = None) -> list[str]:
    """One line for each column that rules ask, in the order of the columns; none for a tree without words.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    names : sequence of str
        Names of the columns, indicators of missing values among them.
    columns : iterable of int, optional
        Only these; by default all that the tree asks.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl._read.rules import word_meanings
    >>> iris = load_iris()
    >>> clf = FERLClassifier("compact", max_rules=2, random_state=0).fit(iris.data, iris.target)
    >>> for line in word_meanings(clf, ["sepal length", "sepal width", "petal length", "petal width"]):
    ...     print(line)
    sepal width: low below 2.7..3.0, medium between 2.7..3.0 and 3.1..3.4, high above 3.1..3.4
    petal length: low below 1.5..3.9, medium between 1.5..3.9 and 4.7..5.4, high above 4.7..5.4
    petal width: low below 0.2..1.1, medium between 0.2..1.1 and 1.5..1.9, high above 1.5..1.9
    """
    tree, partition = estimator.tree_, estimator.partition_
    if not tree.word or partition is None:
        return []
    asked = tree.feature[1:].tolist() if columns is None else columns
    variables = [(partition[column], names[column]) for column in sorted(set(asked))]
    return [variable.text(name) for variable, name in variables if variable is not None]


MAX_LISTED = 8  # categories of a condition
LEAST_LISTED = 0.005  # membership of a category that is named


@dataclass(frozen=True)
class Bound:
    """One side of a condition: a threshold and the half-width of the band around it.

    Attributes
    ----------
    theta, half_width : float
        The band.
    share : float
        Share of the bootstrap resamples whose best cut lies inside the band.
    """

    theta: float
    half_width: float
    share: float = math.nan

    def text(self, decimals: int | None = None, with_share: bool = False) -> str:
        """Threshold and half-width; by default with as many digits as the half-width gives meaning to."""
        digits = _digits(self.half_width) if decimals is None else decimals
        share = f" ({self.share:.0%})" if with_share and not math.isnan(self.share) else ""
        return f"{self.theta:.{digits}f} ±{self.half_width:.{digits}f}{share}"


def _digits(half_width: float) -> int:
    """Decimals that leave one significant digit of the half-width, two if it starts with 1 or 2."""
    if not half_width > 0:
        return 6
    place = math.floor(math.log10(half_width))
    return min(max(0, -place + (half_width < 3 * 10.0**place)), 12)


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature.

    To be called by a word; to be above ``lower``, below ``upper``, or both; or to be one of some categories, each with
    its membership.
    """

    feature: int
    lower: Bound | None
    upper: Bound | None
    word: str = ""
    categories: tuple[tuple[int, float], ...] = ()

    def text(
        self, name: str, decimals: int | None = None, with_share: bool = False, levels: Sequence[Any] | None = None
    ) -> str:
        """The condition as a reader says it; ``levels``: the names of categories."""
        if self.word:
            return f"{name} is {self.word}"
        if self.categories:
            return f"{name} in {{{listed_categories(self.categories, levels)}}}"
        lower, upper = (
            None if bound is None else bound.text(decimals, with_share) for bound in (self.lower, self.upper)
        )
        if lower is None:
            return f"{name} < {upper}"
        return f"{name} > {lower}" if upper is None else f"{lower} < {name} < {upper}"


def listed_categories(categories: tuple[tuple[int, float], ...], levels: Sequence[Any] | None) -> str:
    """Those that belong most first; with their membership, where it is not one."""
    ordered = sorted(categories, key=lambda own: -own[1])
    names = [category_text(code if levels is None else levels[code]) for code, _ in ordered]
    shown = [
        name if membership >= 0.995 else f"{name} ({membership:.2g})"
        for name, (_, membership) in zip(names, ordered, strict=True)
    ]
    if len(shown) <= MAX_LISTED:
        return ", ".join(shown)
    return f"{', '.join(shown[:MAX_LISTED])}, ... {len(shown) - MAX_LISTED} more"


@dataclass(frozen=True)
class Rule:
    """A path from the root to a leaf.

    Conditions on one feature are merged into one interval, with a band on either side: it fits fully where all of them
    do, and not at all where one of them does not. (Inside a band several bounds multiply; the tree has each of them.)
    """

    node: int
    """Where the path ends: a leaf, or for the beginning of a rule an inner node."""
    conditions: tuple[Condition, ...]
    consequent: NDArray[np.float64]
    support: float
    """Training weight behind the rule."""

    @property
    def label(self) -> int:
        """Place of the most probable class in ``classes_``."""
        return int(np.argmax(self.consequent))


def read_rules(tree: FuzzyTree, inner: bool = False) -> list[Rule]:
    """The rules of a tree, strongest support first; ``inner``: and their beginnings, which end at inner nodes."""
    ends = range(1, tree.n_nodes) if inner and tree.n_nodes > 1 else tree.leaves
    rules = [
        Rule(int(node), read_conditions(tree, int(node)), tree.consequent[node], float(tree.weight[node]))
        for node in ends
    ]
    return sorted(rules, key=lambda rule: -rule.support)


def read_conditions(tree: FuzzyTree, leaf: int) -> tuple[Condition, ...]:
    """What the path to a node asks, each feature once."""
    path = tree.path(leaf)
    if tree.word:
        return tuple(Condition(int(tree.feature[node]), None, None, tree.word[node]) for node in path)
    conditions: list[Condition] = []
    for feature in dict.fromkeys(int(tree.feature[node]) for node in path):  # in the order of the path
        nodes = [node for node in path if tree.feature[node] == feature]
        if tree.n_categories(feature + 1)[feature] > 0:
            conditions.append(Condition(feature, None, None, categories=_categories(tree, nodes)))
            continue
        sides = [(*tree.trapezoid[node], _share(tree, node)) for node in nodes]
        lower = _merged([(a, b, share) for a, b, _, _, share in sides if np.isfinite(a)], outward=-1)
        upper = _merged([(c, d, share) for _, _, c, d, share in sides if np.isfinite(d)], outward=1)
        conditions.append(Condition(feature, lower, upper))
    return tuple(conditions)


def _categories(tree: FuzzyTree, nodes: list[int]) -> tuple[tuple[int, float], ...]:
    """Categories that fit all of these conditions, each with its membership."""
    assert tree.categories is not None
    product = np.prod([np.nan_to_num(tree.categories.of(node)) for node in nodes], axis=0)
    return tuple((int(code), float(product[code])) for code in np.flatnonzero(product >= LEAST_LISTED))


def _share(tree: FuzzyTree, node: int) -> float:
    """Share of the resamples that agree with the band of a node's condition."""
    return math.nan if tree.cuts is None else float(tree.cuts.share[tree.parent[node]])


def _merged(bands: list[tuple[float, float, float]], outward: int) -> Bound | None:
    """One bound for all on one side of a feature; a band: its ends, and its share of resamples.

    It is full where all of them are, and zero where one of them is. The share is that of the band that is zero first.
    """
    if not bands:
        return None
    tightest = min if outward > 0 else max
    low, high = (tightest(band[end] for band in bands) for end in (0, 1))
    decisive = tightest(bands, key=lambda band: band[1] if outward > 0 else band[0])
    return Bound((low + high) / 2, (high - low) / 2, decisive[2])


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


@dataclass(frozen=True)
class TextStyle:
    """How rules are put into words: names, the whole training weight, digits, and whether bands tell their shares."""

    names: list[str]
    classes: list[Any]
    total: float
    levels: dict[int, Sequence[Any]]
    decimals: int | None = None
    shares: bool = False

    def conditions(self, rule: Rule) -> str:
        """What follows "if"."""
        return " and ".join(
            condition.text(
                self.names[condition.feature], self.decimals, self.shares, self.levels.get(condition.feature)
            )
            for condition in rule.conditions
        )

    def rule_lines(self, place: int, rule: Rule) -> list[str]:
        """A rule as a sentence of two lines."""
        conditions, share = self.conditions(rule), rule.consequent
        answer = f"{self.classes[rule.label]} with confidence {probability_text(share[rule.label])}"
        others = [c for c in np.argsort(-share, kind="stable") if c != rule.label and share[c] >= 0.005]
        if others:
            answer += f" ({', '.join(f'{self.classes[c]}: {probability_text(share[c])}' for c in others)})"
        return [
            f"{place:3d}. if {conditions}" if conditions else f"{place:3d}. always",
            f"     then {answer}, support {rule.support:.1f} ({rule.support / self.total:.0%})",
        ]


def column_names(estimator: FERLClassifier, given: Sequence[str] | None = None) -> list[str]:
    """Names of the columns that a tree reads: the features, and again those whose being missing it may ask for."""
    names = feature_names(estimator, given)
    return names + [names[j] for j in estimator.missing_features_]


def category_names(estimator: FERLClassifier) -> dict[int, Sequence[Any]]:
    """Categories of each categorical column that a tree reads, by its number."""
    known = enumerate(estimator.columns_.categories)
    levels: dict[int, Sequence[Any]] = {j: own.tolist() for j, own in known if own is not None and len(own)}
    n_features = len(estimator.columns_.categories)
    return levels | {n_features + k: INDICATOR_CATEGORIES for k in range(len(estimator.missing_features_))}


def export_text(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    decimals: int | None = None,
    max_rules: int | None = None,
    shares: bool = True,
    width: int = 100,
) -> str:
    """Rules of a fitted classifier as sentences, strongest support first.

    A threshold is printed with its band: inside ``2.46 ±0.09`` both sides of a split fire, in shares. The percentage
    behind it says how sure the band is: in which share of the bootstrap resamples the best cut lies inside it. What the
    words of a compact tree mean is said below its rules. Confidence is the share of the class behind a rule, smoothed
    towards those of the rules' common paths, so a pure rule does not claim certainty; the shares of other classes
    follow it. Support is the training weight behind a rule.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names : sequence of str, optional
        Names to print; by default those of the training table.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    decimals : int, optional
        Digits after the point of learned thresholds; by default as many as a band's half-width gives meaning to.
    max_rules : int, optional
        Print at most this many rules, and say how many are left out.
    shares : bool
        Print the share of resamples behind each band.
    width : int
        Longer lines are wrapped.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, export_text
    >>> iris = load_iris()
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> print(export_text(clf, feature_names=names, class_names=iris.target_names))
      1. if petal length > 2.46 ±0.09 (52%) and petal width < 1.68 ±0.06 (56%)
         then versicolor with confidence 0.89 (virginica: 0.10, setosa: 0.01), support 52.6 (35%)
      2. if petal length < 2.46 ±0.09 (52%)
         then setosa with confidence 0.98 (versicolor: 0.01, virginica: 0.01), support 50.0 (33%)
      3. if petal length > 2.46 ±0.09 (52%) and petal width > 1.68 ±0.06 (56%)
         then virginica with confidence 0.94 (versicolor: 0.05, setosa: 0.01), support 47.4 (32%)
    (%): share of resamples whose best cut lies inside the band
    """
    names, classes = checked_names(estimator, "export_text", feature_names, class_names)
    for name, value in (("decimals", decimals), ("max_rules", max_rules)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it must be at least 0, or None.")
    rules = read_rules(estimator.tree_)
    total = float(estimator.tree_.weight[0])
    shown = rules[:max_rules]
    style = TextStyle(names, classes, total, category_names(estimator), decimals, shares)
    lines = [line for n, rule in enumerate(shown, 1) for line in style.rule_lines(n, rule)]
    if len(shown) < len(rules):
        lines.append(f"... and {len(rules) - len(shown)} more rules")
    lines += _legend(estimator, shown, names, shares)
    return "\n".join(wrapped for line in lines for wrapped in _wrap(line, width))


def rules_frame(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    inner: bool = False,
    backend: str | None = None,
) -> Any:
    """Rules of a fitted classifier as a data frame with one row for each rule, strongest support first.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, optional
        As in :func:`export_text`.
    inner : bool
        List the beginnings of rules as well. In a compact tree they are sources of evidence of their own; together
        with the rules they are all that an answer is made of.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Whose data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Schema: ``conditions`` (what follows "if"), ``label``, ``confidence``, ``support`` (training weight),
        ``share`` (of the whole training weight), ``n_conditions``, ``node`` (its number in ``tree_``), ``is_leaf``
        (False for the beginning of a rule), and ``p(label)``, the share of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, rules_frame
    >>> iris = load_iris()
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> frame = rules_frame(clf, class_names=iris.target_names)
    >>> frame[["conditions", "label", "confidence"]].round(2)
                             conditions       label  confidence
    0  x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06  versicolor        0.89
    1                       x2 < 2.46 ±0.09      setosa        0.98
    2  x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06   virginica        0.94
    """
    names, classes = checked_names(estimator, "rules_frame", feature_names, class_names)
    rules = read_rules(estimator.tree_, inner)
    total = float(estimator.tree_.weight[0])
    style = TextStyle(names, classes, total, category_names(estimator))
    columns: dict[str, list[Any]] = {
        "conditions": [style.conditions(rule) for rule in rules],
        "label": [classes[rule.label] for rule in rules],
        "confidence": [float(rule.consequent[rule.label]) for rule in rules],
        "support": [rule.support for rule in rules],
        "share": [rule.support / total for rule in rules],
        "n_conditions": [len(rule.conditions) for rule in rules],
        "node": [rule.node for rule in rules],
        "is_leaf": [bool(estimator.tree_.is_leaf[rule.node]) for rule in rules],
        **{f"p({label})": [float(rule.consequent[c]) for rule in rules] for c, label in enumerate(classes)},
    }
    return data_frame(columns, backend)


def data_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Schema as a data frame of this backend; by default the first that is installed."""
    return nw.from_dict(columns, backend=backend or _installed_backend()).to_native()  # type: ignore[arg-type]


def _installed_backend() -> str:
    for name in ("pandas", "polars", "pyarrow"):
        if find_spec(name) is not None:
            return name
    raise ImportError("A data frame needs pandas, polars or pyarrow. Install one: pip install pandas")


def checked_names(
    estimator: FERLClassifier, caller: str, features: Sequence[str] | None, labels: Sequence[str] | None
) -> tuple[list[str], list[Any]]:
    """Names of features and classes for a reader; an error that names `caller` where they do not fit the estimator."""
    classes = checked_classes(estimator, caller, labels)
    return [in_sentence(name) for name in column_names(estimator, features)], classes


def checked_classes(estimator: Any, caller: str, labels: Sequence[str] | None) -> list[Any]:
    """Names of classes for a reader, of anything that answers with evidence."""
    if not hasattr(estimator, "predict_evidence"):
        raise TypeError(
            f"{caller} got a {type(estimator).__name__}; pass the fitted FERLClassifier inside it, for example "
            "pipeline[-1] or search.best_estimator_."
        )
    check_is_fitted(estimator)
    classes = list(estimator.classes_ if labels is None else labels)
    if len(classes) != len(estimator.classes_):
        raise ValueError(f"class_names has {len(classes)} names; there are {len(estimator.classes_)} classes.")
    if len({str(label) for label in classes}) != len(classes):
        raise ValueError(f"class_names are {[str(label) for label in classes]}; two of them read the same.")
    return classes


def in_sentence(name: str) -> str:
    """A name without what would break a line of text."""
    return one_line(name) or repr(name)


def _legend(estimator: FERLClassifier, rules: list[Rule], names: list[str], shares: bool) -> list[str]:
    """What the words of these rules mean, or the percentages behind their bands."""
    if not estimator.tree_.word or estimator.partition_ is None:
        has_bands = any(own.lower or own.upper for rule in rules for own in rule.conditions)
        has_shares = shares and estimator.tree_.cuts is not None and has_bands
        return ["(%): share of resamples whose best cut lies inside the band"] if has_shares else []
    asked = {condition.feature for rule in rules for condition in rule.conditions}
    lines = [f"     {line}" for line in word_meanings(estimator, names, asked)]
    return ["where", *lines] if lines else []


def probability_text(value: float) -> str:
    """Two decimals, or three where two would round to certainty."""
    return f"{value:.3f}" if 0.995 <= value < 1 else f"{value:.2f}"


def _wrap(line: str, width: int) -> list[str]:
    # A threshold stays together with its band, and the band with its share.
    kept = re.sub(r" (?=±|\(\d+%\))", "\u00a0", line)
    indent = len(line) - len(line.lstrip())
    wrapped = textwrap.wrap(kept.strip(), width - 8, break_long_words=False)
    lines = [" " * (8 if place else indent) + part for place, part in enumerate(wrapped)]
    return [part.replace("\u00a0", " ") for part in lines]


def with_names(estimator: FERLClassifier, names: Sequence[str] | None) -> FERLClassifier:
    """The estimator itself, or one with the same tree that calls its features by these names."""
    if names is None:
        return estimator
    checked = feature_names(estimator, names)
    named = copy.copy(estimator)
    named.columns_ = Schema(tuple(checked), estimator.columns_.categories)
    named.feature_names_in_ = np.array(checked, dtype=object)
    return named


class SimpleRules:
    """The rules of a model by the numbers of :func:`ferl.export_text`, with names as sentences say them.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.

    Attributes
    ----------
    number : dict
        Place of each leaf among the rules of :func:`ferl.export_text`, from 1.
    """

    def __init__(self, estimator: FERLClassifier) -> None:
        self._tree = estimator.tree_
        self._names = [spoken(name) for name in column_names(estimator)]
        self._levels = category_names(estimator)
        leaves = sorted(self._tree.leaves.tolist(), key=lambda leaf: -self._tree.weight[leaf])
        self.number = {leaf: place for place, leaf in enumerate(leaves, 1)}

    def text(self, node: int) -> str:
        """What follows "if" on the way to a node; "" at the root."""
        conditions = read_conditions(self._tree, node)
        return " and ".join(
            own.text(self._names[own.feature], levels=self._levels.get(own.feature)) for own in conditions
        )
